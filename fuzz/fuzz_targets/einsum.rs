//! Any text as an einsum over small operands, which are named before a colon: it has a result or an error, the same for
//! tensors of both formats and for arrays.
#![no_main]

use lacuna::{CooTensor, Error, einsum};
use libfuzzer_sys::fuzz_target;

/// What names are bound to.
fn bound(name: char) -> Option<CooTensor<f64>> {
    let tensor = |shape: &[usize], coords: &[&[u32]], values: &[f64]| {
        let coords = coords.iter().map(|axis| axis.to_vec()).collect();
        Some(CooTensor::new(shape, coords, values.to_vec(), 0.0).unwrap())
    };
    match name {
        'x' => tensor(&[2, 3], &[&[0, 1, 1], &[1, 0, 2]], &[2.5, -0.0, 0.1]),
        'y' => tensor(&[3, 2], &[&[0, 2, 2], &[1, 0, 1]], &[0.3, 1e200, -7.0]),
        'z' => tensor(&[3], &[&[2]], &[-1e200]),
        'q' => tensor(&[2, 2], &[&[0, 0, 1], &[0, 1, 1]], &[1.0, 2.0, 4.0]),
        't' => tensor(&[2, 1, 2], &[&[0, 0, 1], &[0, 0, 0], &[0, 1, 0]], &[5.0, 0.7, 0.0]),
        'w' => tensor(&[2], &[&[1]], &[f64::INFINITY]),
        'e' => tensor(&[0, 2], &[&[], &[]], &[]),
        's' => tensor(&[], &[], &[3.0]),
        _ => None,
    }
}

/// The bits of a number, of which one NaN stands for all.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (names, spec) = text.split_once(':').unwrap_or(("xy", &text));
    let operands: Vec<CooTensor<f64>> = names.chars().filter_map(bound).take(4).collect();
    let lanes: Vec<_> = operands.iter().map(|x| x.to_csr().unwrap()).collect();
    let arrays: Vec<_> = operands.iter().map(|x| x.to_dense().unwrap()).collect();
    let of_coo = einsum(spec, &operands.iter().collect::<Vec<_>>());
    let of_csr = einsum(spec, &lanes.iter().collect::<Vec<_>>());
    let of_arrays = einsum(spec, &arrays.iter().collect::<Vec<_>>());
    match (of_coo, of_csr, of_arrays) {
        (Ok(coo), Ok(csr), Ok(array)) => {
            let dense = coo.to_dense().unwrap();
            assert!(dense.iter().zip(&array).all(|(a, b)| bits(*a) == bits(*b)), "{dense} is not {array}");
            assert!(csr.to_coo().unwrap().same_as(&coo));
        }
        (Err(one), Err(other), Ok(_)) => {
            assert!(matches!(one, Error::NonFinite { .. }) && one == other, "{one} is not {other}");
        }
        (Err(one), Err(other), Err(dense)) => {
            assert!(
                one == other && (one == dense || matches!(one, Error::NonFinite { .. })),
                "{one}, {other}, {dense}"
            );
        }
        (coo, csr, array) => panic!("{coo:?}, {csr:?}, {array:?}"),
    }
});
