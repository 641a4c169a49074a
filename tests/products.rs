//! Products against the reference, on every format and layout, with their gradients.

use std::convert::identity;

use crate::generators::{Drawn, DrawnGrad, reductions};
use crate::reference::exact::{Summed, SummedFloat};
use crate::reference::reductions::{self as reference, Multiplied, Spread};
use crate::reference::scalar::Scalar;
use crate::support::*;
use lacuna::num_complex::Complex;
use lacuna::{Axes, CooPattern, CooTensor, CsrTensor, Error, Float, Result, Ring, Tensor, grad, nanprod, prod};
use ndarray::{ArrayD, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;

fn integers_equal_the_dense_result<T>()
where
    T: Both + Drawn + Summed + Ring<Sum = <T as Summed>::Sum>,
    <T as Summed>::Sum: Both,
{
    check(reductions::<T, f64>(), |case| {
        check_reduction!(&case, prod, identity, reference::prod_of_integers, <T as Summed>::Sum::one());
    });
}

#[test]
fn products_of_integers_equal_the_dense_result() {
    integers_equal_the_dense_result::<bool>();
    integers_equal_the_dense_result::<i8>();
    integers_equal_the_dense_result::<u64>();
}

fn numbers_equal_the_dense_result<T: Both + Drawn + Multiplied + Ring<Sum = T>>() {
    check(reductions::<T, f64>(), |case| check_reduction!(&case, prod, identity, reference::prod, T::one()));
}

stamp!(numbers_equal_the_dense_result: float64 = f64, complex64 = lacuna::num_complex::Complex<f32>;
    beside float32 = f32; half float16 = half::f16);

#[test]
fn products_without_nan_equal_the_dense_result() {
    check(reductions::<f64, f64>(), |case| check_reduction!(&case, nanprod, identity, reference::nanprod, 1.0));
    check(reductions::<Complex<f32>, f64>(), |case| {
        check_reduction!(&case, nanprod, identity, reference::nanprod, Complex::ONE);
    });
}

fn gradients_equal_the_dense_ones<T, G>()
where
    T: Both + Drawn + lacuna::Real + Spread,
    G: Both + DrawnGrad + Float + SummedFloat + Multiplied,
{
    check(reductions::<T, G>(), |case| {
        check_gradient!(&case, prod, identity::<Axes>, |group, g| reference::prod_shares(group, g, false));
    });
}

#[test]
fn gradients_of_floats_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<f64, f64>();
    check(reductions::<f64, f64>(), |case| {
        check_gradient!(&case, nanprod, identity::<Axes>, |group, g| reference::prod_shares(group, g, true));
    });
}

#[test]
fn narrow_gradients_of_integers_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<i8, f32>();
}

/// Factors whose products are rounded, at any places among up to 150.
fn factors() -> impl Strategy<Value = (Vec<(usize, f64)>, f64, usize)> {
    let factor = || prop_oneof![9 => 0.5..2.0f64, 1 => -1e300..1e300f64, 1 => Just(1e-310), 1 => Just(0.0)];
    (vec((0..150usize, factor()), 0..40), factor(), 1..150usize).prop_map(|(mut entries, fill, extent)| {
        entries.retain(|(at, _)| *at < extent);
        entries.sort_by_key(|(at, _)| *at);
        entries.dedup_by_key(|(at, _)| *at);
        (entries, fill, extent)
    })
}

/// Gaps of any lengths, between entries and behind the last one.
#[test]
fn gaps_stand_in_the_tree_as_elements_do() {
    check(factors(), |(entries, fill, extent)| {
        let coords = entries.iter().map(|(at, _)| *at as u32).collect();
        let values = entries.iter().map(|(_, value)| *value).collect();
        let x = CooTensor::new([extent], vec![coords], values, fill).unwrap();
        let dense = x.to_dense().unwrap();
        let group: Vec<(u64, f64)> = dense.iter().enumerate().map(|(at, &value)| (at as u64, value)).collect();
        let expected = reference::prod(&group).unwrap();
        for found in [prod(&x, 0).unwrap().get(&[]).unwrap(), prod(&dense, 0).unwrap()[[]]] {
            assert!(found.bits_equal(expected), "{found:e} is not {expected:e}");
        }
        let upstream = ndarray::arr0(0.7);
        let ones = x.clone().with_fill(1.0);
        assert_eq!(x.stored().prod(0).unwrap().values(), ones.prod(0).unwrap().values());
        let (of_entries, of_ones) = (grad::prod(&x.stored(), &upstream, 0), grad::prod(&ones, &upstream, 0));
        assert!(of_entries.unwrap().same_as(&of_ones.unwrap()));
        let shares = reference::prod_shares(&group, 0.7, false);
        let given = grad::prod(&x, &upstream, 0).unwrap();
        given.for_each_entry(|at, found| {
            let expected = shares[at[0]];
            assert!(found.bits_equal(expected), "{found:e} is not {expected:e} at {at:?}");
        });
    });
}

/// A tensor of one entry among as many positions as the shape has.
fn lone(shape: &[usize], value: f64, fill: f64) -> CooTensor<f64, u64> {
    let coords = shape.iter().map(|length| vec![*length as u64 / 2]).collect();
    Tensor::from_parts(CooPattern::new(shape, 1, coords).unwrap(), vec![value], fill).unwrap()
}

fn whole(x: &CooTensor<f64, u64>) -> f64 {
    x.prod(Axes::all()).unwrap().get(&[]).unwrap()
}

/// Groups whose positions no integer of 64 bits counts.
#[test]
fn vast_gaps_are_products_of_squares() {
    let shape = [1 << 40, 1 << 40, 1 << 20];
    assert_eq!(whole(&lone(&shape, 7.0, 1.0)), 7.0);
    assert_eq!(whole(&lone(&shape, 7.0, -1.0)), -7.0);
    assert_eq!(whole(&lone(&shape, -7.0, 0.0)).to_bits(), (-0.0f64).to_bits());
    assert_eq!(whole(&lone(&shape, 7.0, 2.0)), f64::INFINITY);
    assert_eq!(whole(&lone(&shape, -7.0, 0.9)).to_bits(), (-0.0f64).to_bits());
    assert!(whole(&lone(&shape, f64::INFINITY, 0.0)).is_nan());
    assert_eq!(whole(&lone(&shape, 0.0, 2.0)), 0.0);
    let nearly = 1.0 + f64::EPSILON;
    let found = whole(&lone(&[1 << 52], 0.5, nearly));
    assert!((found - 0.5 * std::f64::consts::E).abs() < 1e-6, "{found}");
    let dx = grad::prod(&lone(&[1 << 52], 0.5, nearly), &ndarray::arr0(1.0), 0).unwrap();
    assert!((dx.values()[0] - std::f64::consts::E).abs() < 1e-6);
    let refused = lone(&[usize::MAX; 3], 7.0, 1.0).prod(Axes::all());
    assert!(matches!(refused, Err(Error::Uncountable { operation: "prod" })), "{refused:?}");
    assert!(grad::prod(&lone(&[usize::MAX; 3], 7.0, 1.0), &ndarray::arr0(1.0), Axes::all()).is_err());
}

#[test]
fn nothing_overflows_on_the_way() {
    let x = arr1(&[f64::MAX, f64::MAX, 1.0 / f64::MAX, 5e-324, 2f64.powi(1000), 2f64.powi(74)]);
    assert_eq!(prod(&x, 0).unwrap()[[]].to_bits(), (f64::MAX * (1.0 / f64::MAX) * f64::MAX).to_bits());
    assert_eq!(prod(&arr1(&[1e-200f64, -1e-200]), 0).unwrap()[[]].to_bits(), (-0.0f64).to_bits());
    let z = Complex::new(1e300, 1e-300);
    assert_eq!(prod(&arr1(&[z]), 0).unwrap()[[]], z);
    assert_eq!(prod(&arr1(&[z, Complex::new(0.0, 1.0)]), 0).unwrap()[[]], Complex::new(-1e-300, 1e300));
}

/// The cell whose product does not fit is named; a zero wins whatever the others are.
#[test]
fn products_of_integers_that_do_not_fit_name_their_cell() {
    let x = arr2(&[[1, 2, 3], [i64::MAX, 2, 1], [i64::MAX, 2, 0]]);
    let sparse = CooTensor::from_dense(&x, 1).unwrap();
    for found in [prod(&x, 1).map(|_| ()), sparse.prod(1).map(|_| ()), sparse.to_csr().unwrap().prod(1).map(|_| ())] {
        let Err(Error::Overflow { operation: "prod", coords, dtype: "int64" }) = found else { panic!("{found:?}") };
        assert_eq!(coords, Some(vec![1]));
    }
    assert_eq!(prod(&arr1(&[i64::MAX, i64::MAX, 0]), 0).unwrap()[[]], 0);
    assert_eq!(prod(&arr1(&[i64::MIN, 1]), 0).unwrap()[[]], i64::MIN);
    assert_eq!(prod(&arr1(&[-(1i64 << 62), -2]), 0).unwrap_err().to_string().split(' ').next(), Some("prod"));
    assert_eq!(prod(&arr1(&[u64::MAX, 1]), 0).unwrap()[[]], u64::MAX);
    assert_eq!(CooTensor::full([1 << 30], -1i8).unwrap().prod(0).unwrap().get(&[]).unwrap(), 1);
    assert!(CooTensor::full([64], 2u8).unwrap().prod(0).is_err());
    assert_eq!(prod(&ArrayD::<bool>::from_elem(vec![0], false), 0).unwrap()[[]], 1u64);
}

/// Long groups are the same at any number of threads, in rows that stand side by side and in columns that do not.
#[test]
fn long_products_are_those_of_every_format() {
    let (rows, columns) = (40_000u32, 3u32);
    let values: Vec<f64> =
        (0..rows * columns).map(|at| 0.5 + f64::from(at.wrapping_mul(2_654_435_761) >> 12) * 1e-6).collect();
    let array = ArrayD::from_shape_vec(vec![rows as usize, columns as usize], values.clone()).unwrap();
    let indices = (0..rows * columns).map(|at| at % columns).collect();
    let offsets = (0..=rows as usize).map(|row| row * columns as usize).collect();
    let csr: CsrTensor<f64> = CsrTensor::new([rows as usize, columns as usize], offsets, indices, values, 1.0).unwrap();
    let (by_columns, upstream) = (prod(&array, 0).unwrap(), arr1(&[0.3, 0.2, 0.1]));
    assert_eq!(csr.prod(0).unwrap().to_dense().unwrap(), by_columns);
    assert_eq!(prod(&array.t(), 1).unwrap(), by_columns);
    let found: Result<Vec<f64>> = grad::prod(&csr, &upstream, 0).map(|dx| dx.values().to_vec());
    assert_eq!(found.unwrap(), grad::prod(&array, &upstream, 0).unwrap().into_raw_vec_and_offset().0);
}
