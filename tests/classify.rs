//! `isposinf`, `isneginf`, `isinf`, `isnan`, `isfinite`, `isreal` and `signbit` against the reference.

use crate::generators::{Drawn, endless, huge, sparse};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::ops;
use crate::reference::scalar::RealScalar;
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{CooTensor, CsrTensor, Error, isfinite, isinf, isnan, isneginf, isposinf, isreal, signbit};
use lacuna::{isfinite_into, isinf_into, isnan_into, isneginf_into, isposinf_into, isreal_into, signbit_into};
use ndarray::{Array, Array2, Axis, Slice, arr1, arr2};
use num_complex::Complex;
use proptest::prelude::*;

/// Checks each predicate against the reference, in every form: function and method; COO, CSR and arrays of any layout;
/// into an existing buffer.
macro_rules! agree_with_the_reference {
    ($x:expr, $($test:ident $into:ident),*) => {$({
        let x = $x;
        let expected = ops::$test(&x.to_dense());
        let (tensor, compressed) = (coo(x), csr_as::<_, u64>(x));
        for found in [$test(&tensor).unwrap(), tensor.$test().unwrap()] {
            assert_tensor(&found, &expected, &x.coords());
            assert!(found.shares_pattern_with(&tensor));
        }
        for found in [$test(&compressed).unwrap(), compressed.$test().unwrap()] {
            assert_tensor(&found, &expected, &x.coords());
            assert!(found.shares_pattern_with(&compressed));
        }
        for_each_layout(&x.to_dense(), |_, view| {
            assert_array(&$test(&view).unwrap(), &expected);
            assert_array(&view.$test().unwrap(), &expected);
            for_each_out(&x.shape, |out| {
                $into(&view, out).unwrap();
                assert_array(&out.to_owned(), &expected);
            });
        });
        let mut out = CooTensor::full(&*x.shape, true).unwrap();
        for _ in 0..2 {
            $into(&tensor, &mut out).unwrap();
            assert_tensor(&out, &expected, &x.coords());
            assert!(out.shares_pattern_with(&tensor));
        }
        let mut out = compressed.isreal().unwrap();
        $into(&compressed, &mut out).unwrap();
        assert_tensor(&out, &expected, &x.coords());
    })*};
}

fn all_formats_equal_the_dense_result<T: Both + Drawn>() {
    check(sparse::<T>(), |x| {
        agree_with_the_reference!(&x, isinf isinf_into, isnan isnan_into, isfinite isfinite_into, isreal isreal_into);
    });
}

fn signed_tests_equal_the_dense_result<T: Both + Drawn + lacuna::Real + RealScalar>() {
    check(sparse::<T>(), |x| {
        agree_with_the_reference!(&x, isposinf isposinf_into, isneginf isneginf_into, signbit signbit_into);
    });
}

/// Shapes of more positions than memory, and than any integer, holds are answered by what they store.
#[test]
fn shapes_without_a_dense_form_are_answered_by_what_they_store() {
    check(prop_oneof![huge::<f64>(), endless::<f64>()], |x| {
        let of_one = |value: f64| ops::isnan(&Dense::new(&[], vec![value])).data[0];
        let entries = x.entries.iter().map(|(at, &value)| (at.clone(), of_one(value))).collect();
        let expected = Sparse::new(&x.shape, entries, of_one(x.fill));
        assert_entries(&isnan(&coo_as::<_, usize>(&x)).unwrap(), &expected);
    });
}

for_all_types!(all_formats_equal_the_dense_result);
for_real_types!(signed_tests_equal_the_dense_result);

// ---- the cases that other libraries get wrong, by name ----

/// The answers for the stored values and, last, for the fill: by COO, by CSR, and for the values by arrays.
macro_rules! assert_answers {
    ($values:expr, $fill:expr, $($test:ident: $expected:expr),* $(,)?) => {$({
        let (values, expected) = ($values, $expected);
        let count = values.len();
        let columns: Vec<u32> = (0..count as u32).collect();
        let x = CooTensor::new([count + 1], vec![columns.clone()], values.to_vec(), $fill).unwrap();
        assert_eq!($test(&x).unwrap().values(), &expected[..count], stringify!($test));
        assert_eq!(x.$test().unwrap().fill(), expected[count], stringify!($test));
        let x = CsrTensor::new([1, count + 1], vec![0, count], columns, values.to_vec(), $fill).unwrap();
        assert_eq!($test(&x).unwrap().values(), &expected[..count], stringify!($test));
        assert_eq!(x.$test().unwrap().fill(), expected[count], stringify!($test));
        assert_eq!(arr1(&values).$test().unwrap(), arr1(&expected[..count]), stringify!($test));
    })*};
}

macro_rules! floats {
    ($($name:ident: $type:ident, $signalling:expr, $negative:expr;)*) => {$(
        #[test]
        fn $name() {
            let infinity = $type::INFINITY;
            let payloads = [$type::NAN, $type::from_bits($signalling), $type::from_bits($negative)];
            assert_answers!(payloads, -$type::NAN,
                isposinf: [false; 4], isneginf: [false; 4], isinf: [false; 4],
                isnan: [true; 4], isfinite: [false; 4], isreal: [true; 4],
            );
            assert_answers!([infinity, -infinity, $type::MAX, $type::MIN], infinity,
                isposinf: [true, false, false, false, true],
                isneginf: [false, true, false, false, false],
                isinf: [true, true, false, false, true],
                isnan: [false; 5],
                isfinite: [false, false, true, true, false],
                isreal: [true; 5],
            );
            assert_answers!([0.0, -0.0, $type::from_bits(1), 1.5], -infinity,
                isposinf: [false; 5],
                isneginf: [false, false, false, false, true],
                isinf: [false, false, false, false, true],
                isnan: [false; 5],
                isfinite: [true, true, true, true, false],
                isreal: [true; 5],
            );
        }
    )*};
}

floats! {
    float32: f32, 0x7f80_0001, 0xffc0_beef;
    float64: f64, 0x7ff0_0000_0000_0001, 0xfff8_0000_dead_beef;
}

macro_rules! integers {
    ($($name:ident: $type:ident;)*) => {$(
        #[test]
        fn $name() {
            assert_answers!([0, 1, $type::MIN, $type::MAX], $type::MAX - 1,
                isposinf: [false; 5], isneginf: [false; 5], isinf: [false; 5],
                isnan: [false; 5], isfinite: [true; 5], isreal: [true; 5],
            );
        }
    )*};
}

integers! { int8: i8; int16: i16; int32: i32; int64: i64; uint8: u8; uint16: u16; uint32: u32; uint64: u64; }

#[test]
fn boolean() {
    assert_answers!([false, true], true,
        isposinf: [false; 3], isneginf: [false; 3], isinf: [false; 3],
        isnan: [false; 3], isfinite: [true; 3], isreal: [true; 3],
    );
}

macro_rules! complexes {
    ($($name:ident: $part:ident;)*) => {$(
        #[test]
        fn $name() {
            let (infinity, nan) = ($part::INFINITY, $part::NAN);
            let c = Complex::<$part>::new;
            assert_answers!([c(1.0, 0.0), c(1.0, -0.0), c(nan, -0.0), c(1.0, nan), c(0.0, 2.0)], c(infinity, 0.0),
                isreal: [true, true, true, false, false, true],
                isnan: [false, false, true, true, false, false],
                isinf: [false, false, false, false, false, true],
                isfinite: [true, true, false, false, true, false],
            );
            assert_answers!([c(-infinity, nan), c(nan, infinity), c(0.0, -infinity), c(nan, nan)], c(-nan, 1.0),
                isreal: [false; 5],
                isnan: [true, true, false, true, true],
                isinf: [true, true, true, false, false],
                isfinite: [false; 5],
            );
        }
    )*};
}

complexes! { complex64: f32; complex128: f64; }

#[cfg(feature = "half")]
#[test]
fn float16_and_bfloat16() {
    use half::{bf16, f16};
    assert_answers!([f16::INFINITY, f16::NEG_INFINITY, f16::MAX, f16::from_bits(0x7c01)], f16::NEG_ZERO,
        isposinf: [true, false, false, false, false], isneginf: [false, true, false, false, false],
        isinf: [true, true, false, false, false], isnan: [false, false, false, true, false],
        isfinite: [false, false, true, false, true], isreal: [true; 5],
    );
    assert_answers!([bf16::INFINITY, bf16::NEG_INFINITY, bf16::MIN, bf16::from_bits(0xff81)], bf16::NEG_ZERO,
        isposinf: [true, false, false, false, false], isneginf: [false, true, false, false, false],
        isinf: [true, true, false, false, false], isnan: [false, false, false, true, false],
        isfinite: [false, false, true, false, true], isreal: [true; 5],
    );
}

#[test]
fn empty_tensors_and_rank_0_have_an_answer() {
    assert!(isnan(&CooTensor::full([0, 3], f64::NAN).unwrap()).unwrap().fill());
    assert_eq!(isnan(&CsrTensor::full([], f32::NAN).unwrap()).unwrap().get(&[]), Ok(true));
    assert_eq!(isfinite(&arr2::<f32, 0>(&[])).unwrap().dim(), (0, 0));
    let scalar = CooTensor::new([], vec![], vec![f64::NEG_INFINITY], 0.0).unwrap();
    assert_eq!(scalar.isneginf().unwrap().get(&[]), Ok(true));
}

#[test]
fn the_dimension_type_and_the_layout_of_an_array_stay() {
    let x = arr2(&[[1.0, f64::NAN, 3.0], [4.0, 5.0, f64::NAN]]);
    let found: Array2<bool> = x.t().isnan().unwrap();
    assert_eq!(found, arr2(&[[false, false], [true, false], [false, true]]));
    assert_eq!(found.strides(), [1, 3]);
    let backward = x.slice_axis(Axis(0), Slice::new(0, None, -1));
    assert_eq!(backward.isnan().unwrap(), arr2(&[[false, false, true], [false, true, false]]));
    assert_eq!(
        x.row(0).broadcast((2, 3)).unwrap().isnan().unwrap(),
        arr2(&[[false, true, false], [false, true, false]])
    );
}

#[test]
fn a_buffer_of_another_shape_is_refused_and_stays() {
    let x = CooTensor::new([4], vec![vec![1]], vec![f64::NAN], 0.0).unwrap();
    let mut out = CooTensor::new([5], vec![vec![2]], vec![false], true).unwrap();
    let before = out.clone();
    let error = isnan_into(&x, &mut out).unwrap_err();
    let shapes = |expected: &[usize], found: &[usize]| Error::ShapeMismatch {
        what: "the result",
        expected: expected.into(),
        found: found.into(),
    };
    assert_eq!(error, shapes(&[4], &[5]));
    assert_eq!(out, before);
    let mut out = arr2(&[[true, true]]);
    assert_eq!(isnan_into(&arr2(&[[1.0], [2.0]]), &mut out), Err(shapes(&[2, 1], &[1, 2])));
    assert_eq!(out, arr2(&[[true, true]]));
}

/// The buffer of the values is the same one, whatever pattern it was for.
#[test]
fn a_tensor_is_refilled_in_place() {
    let one = CooTensor::new([4], vec![vec![1]], vec![f64::NAN], 0.0).unwrap();
    let three = CooTensor::new([4], vec![vec![0, 1, 3]], vec![1.0, 2.0, f64::NAN], f64::NAN).unwrap();
    let mut out = three.isnan().unwrap();
    let buffer = out.values().as_ptr();
    for x in [&one, &three, &one] {
        isnan_into(x, &mut out).unwrap();
        assert_eq!(out, x.isnan().unwrap());
        assert!(std::ptr::eq(out.values().as_ptr(), buffer));
    }
}

/// If a tensor is refilled, tensors that share its values keep the old values.
#[test]
fn refilling_a_tensor_changes_no_other() {
    let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![1.0, 2.0, f64::NAN], f64::NAN).unwrap();
    let mut out = x.isfinite().unwrap();
    let kept = out.clone();
    isnan_into(&x, &mut out).unwrap();
    assert_eq!(out, x.isnan().unwrap());
    assert_eq!((kept.values(), kept.fill()), (&[true, true, false][..], false));
}

/// Values by the hundred thousand are shared out among threads.
#[test]
fn many_values_have_the_same_answers() {
    let value = |at: usize| [f64::NAN, 1.0, f64::INFINITY, f64::NEG_INFINITY, 0.0][at % 5];
    let x = Array::from_shape_fn((500, 400), |(row, column)| value(row * 400 + column));
    let expect = |which: fn(f64) -> bool| x.map(|&element| which(element));
    let entries = (0..200_000u32).collect();
    let tensor = CooTensor::new([200_000], vec![entries], x.iter().copied().collect(), 0.0).unwrap();
    assert_eq!(x.isnan().unwrap(), expect(f64::is_nan));
    assert_eq!(x.t().isnan().unwrap(), expect(f64::is_nan).reversed_axes());
    assert_eq!(x.isinf().unwrap(), expect(f64::is_infinite));
    assert_eq!(x.isfinite().unwrap(), expect(f64::is_finite));
    assert_eq!(tensor.isposinf().unwrap().values(), expect(|element| element == f64::INFINITY).as_slice().unwrap());
    assert_eq!(tensor.isneginf().unwrap().values(), expect(|element| element == f64::NEG_INFINITY).as_slice().unwrap());
}

/// A view that was broadcast to 2^40 positions ended the program.
#[test]
fn answers_out_of_proportion_are_refused() {
    let one = ndarray::arr0(f64::NAN);
    let vast = one.broadcast(1 << 40).unwrap();
    let refused =
        |answer: lacuna::Result<_>| matches!(answer, Err(lacuna::Error::TooLarge { bytes: 0x100_0000_0000, .. }));
    assert!(refused(vast.isnan()) && refused(vast.isposinf()) && refused(vast.isin(1.0)));
}

/// A view of what is stored has no fill to ask about: that of the answers is `false`, or stays where it is a `bool`.
#[test]
fn stored_views_are_asked_about_their_entries() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![f64::NAN, 1.0], f64::NAN).unwrap();
    let found = x.stored().isnan().unwrap();
    assert_eq!((found.values(), found.fill()), (&[true, false][..], false));
    assert!(found.shares_pattern_with(&x) && x.isnan().unwrap().fill());
    let flags = CsrTensor::new([1, 2], vec![0, 1], vec![0], vec![true], true).unwrap();
    assert!(!flags.isnan().unwrap().fill() && flags.stored().isnan().unwrap().fill());
    assert_eq!(x.stored().isin([1.0]).unwrap().values(), [false, true]);
}
