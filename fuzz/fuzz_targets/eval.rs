//! Any text as an expression over small tensors and arrays: it has a value or an error, the same for tensors of both
//! formats, and an error shows a place that is there. What has a value has it in ranges of one position too.
#![no_main]

use lacuna::dynamic::{AnyArray, AnyTensor, AnyValue, Format};
use lacuna::eval::{Bound, Expression, Fault};
use lacuna::lazy::Chunks;
use lacuna::ndarray::{ArrayD, arr1, arr2};
use lacuna::num_complex::Complex;
use lacuna::{CooTensor, Element, dispatch_dtype};
use libfuzzer_sys::fuzz_target;

fn tensor<T: Element>(shape: &[usize], at: &[&[u32]], values: &[T], fill: T) -> AnyTensor {
    let coords = (0..shape.len()).map(|axis| at.iter().map(|coords| coords[axis]).collect()).collect();
    AnyTensor::from(CooTensor::new(shape, coords, values.to_vec(), fill).unwrap().with_index::<u64>().unwrap())
}

fn array<T: Element>(array: ArrayD<T>) -> AnyValue {
    AnyArray::from(array).into()
}

/// What names are bound to.
fn bound(name: &str, format: Format) -> Option<AnyValue> {
    let nan = f64::NAN;
    let tensor = match name {
        "a" => return Some(array(arr2(&[[1.5, -0.0, nan], [0.0, -2.0, 8.0]]).into_dyn())),
        "r" => return Some(array(arr1(&[0.5, 0.0, -1.0]).into_dyn())),
        "o" => return Some(array(arr1(&[3_i64]).into_dyn())),
        "x" => tensor(&[2, 3], &[&[0, 1], &[1, 0], &[1, 2]], &[2.5, -0.0, nan], 0.0),
        "y" => tensor(&[2, 3], &[&[0, 1], &[0, 2]], &[f64::INFINITY, 3.0], 0.0),
        "z" => tensor(&[3], &[&[2]], &[-1.0], nan),
        "f" => tensor(&[2, 3], &[&[1, 1]], &[0.1f32], -0.0),
        "i" => tensor(&[3], &[&[0], &[1]], &[i64::MIN, 7], 2),
        "n" => tensor(&[2, 2], &[&[0, 1], &[1, 1]], &[-128i8, 3], 0),
        "u" => tensor(&[2, 2], &[&[0, 0]], &[u64::MAX], 1),
        "b" => tensor(&[3], &[&[1]], &[true], false),
        "c" => tensor(&[2], &[&[1]], &[Complex::new(1.0f32, f32::NAN)], Complex::new(0.0, 0.0)),
        "e" => tensor(&[0, 2], &[], &[] as &[f64], 0.0),
        "s" => tensor(&[], &[&[]], &[3.0], 0.0),
        "t" => tensor(&[2, 1, 2], &[&[0, 0, 1], &[1, 0, 0]], &[5u8, 255], 0),
        _ => return None,
    };
    Some(tensor.into_format(format).unwrap().into())
}

/// The value in ranges.
fn in_ranges(text: &str) -> Result<AnyValue, Fault> {
    let graph = Expression::parse(text)?.graph(|name| bound(name, Format::Coo).map(Bound::from))?;
    Ok(graph.on(Chunks::memory(1 << 30).positions(1)).collect()?)
}

/// The type and the elements of an array.
fn elements(x: &AnyArray) -> String {
    let (dtype, values) = dispatch_dtype!(x.dtype(), T => {
        (x.dtype(), x.view::<T>().unwrap().iter().map(|value| format!("{value:?}")).collect::<Vec<_>>())
    }, else => unreachable!());
    format!("{dtype}: {values:?}")
}

/// Whether a value is another one, of the same kind, in whatever format.
fn is_same(found: &AnyValue, expected: &AnyValue) -> bool {
    match (found, expected) {
        (AnyValue::Tensor(found), AnyValue::Tensor(expected)) => {
            found.clone().into_format(expected.format()).unwrap().same_as(expected)
        }
        (AnyValue::Array(found), AnyValue::Array(expected)) => {
            (found.shape(), elements(found)) == (expected.shape(), elements(expected))
        }
        _ => false,
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let run = |format| Expression::parse(&text)?.evaluate(|name| bound(name, format));
    for fault in [run(Format::Coo), run(Format::Csr)].iter().filter_map(|result| result.as_ref().err()) {
        assert!(!fault.to_string().is_empty());
        if let Fault::Wrong(wrong) = fault {
            assert!(wrong.place().start <= wrong.place().end && wrong.place().end <= text.len());
            assert!(text.is_char_boundary(wrong.place().start) && text.is_char_boundary(wrong.place().end));
        }
    }
    match (run(Format::Coo), run(Format::Csr)) {
        (Ok(coo), Ok(csr)) => {
            let found = in_ranges(&text).unwrap_or_else(|fault| panic!("{text} in ranges: {fault}"));
            assert!(is_same(&csr, &coo), "{text}: {coo:?} is not {csr:?}");
            assert!(is_same(&found, &coo), "{text} in ranges: {found:?} is not {coo:?}");
        }
        (Err(Fault::Wrong(one)), Err(Fault::Wrong(other))) => assert_eq!(one, other),
        (Err(_), Err(_)) => {}
        (one, other) => panic!("{text}: {one:?} and {other:?}"),
    }
});
