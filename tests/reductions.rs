//! Sums, means, extremes, positions and variances against the reference, on every format and layout, with their
//! gradients.

use crate::generators::{Drawn, DrawnGrad, reductions};
use crate::reference::dense::Sparse;
use crate::reference::exact::{Summed, SummedFloat, total};
use crate::reference::reductions::{self as reference, Spread};
use crate::reference::scalar::{RealScalar, Scalar};
use crate::support::*;
use lacuna::num_complex::Complex;
use lacuna::{
    Axes, CooPattern, CooTensor, CsrTensor, Error, Float, Norm, Real, Result, Ring, Tensor, Var, all, argmax, argmin,
    grad, max, mean, min, nanargmax, nanargmin, nanmax, nanmean, nanmin, nanstd, nansum, nanvar, norm, std, sum, var,
};
use ndarray::{ArrayD, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Debug;

// ---- the dense promise and the structure promise ----

fn sums_equal_the_dense_result<T>()
where
    T: Both + Drawn + Summed + Ring<Sum = <T as Summed>::Sum, Mean = <T as Summed>::Mean>,
    <T as Summed>::Sum: Both,
    <T as Summed>::Mean: Both,
{
    check(reductions::<T, f64>(), |case| {
        check_reduction!(&case, all, std::convert::identity, reference::all, true);
        check_reduction!(&case, sum, std::convert::identity, reference::sum, T::sum_from(&T::zero().parts()).unwrap());
        check_reduction!(&case, mean, std::convert::identity, reference::mean, T::mean_from(&T::zero().parts(), 0));
    });
}

for_all_types!(sums_equal_the_dense_result);

/// Returns the minimum or maximum of an empty stored view: NaN, or the value at the other end.
fn none_of<T: Real>(other_end: T) -> T {
    T::from_number(lacuna::Number::Real(f64::NAN)).unwrap_or(other_end)
}

fn orders_equal_the_dense_result<T>()
where
    T: Both + Drawn + Real<Median = <T as Spread>::Spread, Deviation = <T as Spread>::Spread> + Spread,
    <T as Spread>::Spread: Both,
{
    check((reductions::<T, f64>(), 0..3u64), |(case, ddof)| {
        let with_ddof = |axes| Var::over(axes).ddof(ddof);
        let no_spread = <T as Spread>::Spread::narrow(f64::NAN);
        check_reduction!(&case, min, std::convert::identity, reference::min, none_of(T::HIGHEST));
        check_reduction!(&case, max, std::convert::identity, reference::max, none_of(T::LOWEST));
        check_reduction!(&case, argmin, std::convert::identity, reference::argmin, u64::MAX);
        check_reduction!(&case, argmax, std::convert::identity, reference::argmax, u64::MAX);
        check_reduction!(&case, var, with_ddof, |group| reference::var(group, ddof.into()), no_spread);
        check_reduction!(&case, std, with_ddof, |group| reference::std(group, ddof.into()), no_spread);
    });
}

for_real_types!(orders_equal_the_dense_result);

/// The variance of complex numbers is that of their real parts and that of their imaginary parts.
#[test]
fn variances_of_complex_numbers_equal_the_dense_result() {
    check((reductions::<Complex<f32>, f64>(), 0..3u64), |(case, ddof)| {
        let with_ddof = |axes| Var::over(axes).ddof(ddof);
        check_reduction!(&case, var, with_ddof, |group| reference::complex_var(group, ddof.into()), f32::NAN);
        check_reduction!(&case, std, with_ddof, |group| reference::complex_std(group, ddof.into()), f32::NAN);
    });
}

/// A complex number is left out if either part is NaN.
fn complex_forms_without_nan_equal_the_dense_result<T>()
where
    T: Both + Drawn + lacuna::Inexact + Summed<Sum = T, Mean = T>,
{
    check(reductions::<T, f64>(), |case| {
        let nan = reference::mean::<T>(&[]).unwrap();
        check_reduction!(&case, nansum, std::convert::identity, reference::nansum, T::zero());
        check_reduction!(&case, nanmean, std::convert::identity, reference::nanmean, nan);
    });
}

#[test]
fn forms_without_nan_of_complex_numbers_equal_the_dense_result() {
    complex_forms_without_nan_equal_the_dense_result::<Complex<f64>>();
    complex_forms_without_nan_equal_the_dense_result::<Complex<f32>>();
}

fn forms_without_nan_equal_the_dense_result<T>()
where
    T: Both + Drawn + Float + SummedFloat + Spread<Spread = T>,
{
    check((reductions::<T, f64>(), 0..3u64), |(case, ddof)| {
        let with_ddof = |axes| Var::over(axes).ddof(ddof);
        let nan = T::narrow(f64::NAN);
        check_reduction!(&case, nansum, std::convert::identity, reference::nansum, T::zero());
        check_reduction!(&case, nanmean, std::convert::identity, reference::nanmean, nan);
        check_reduction!(&case, nanmin, std::convert::identity, reference::nanmin, nan);
        check_reduction!(&case, nanmax, std::convert::identity, reference::nanmax, nan);
        check_reduction!(&case, nanargmin, std::convert::identity, reference::nanargmin, u64::MAX);
        check_reduction!(&case, nanargmax, std::convert::identity, reference::nanargmax, u64::MAX);
        check_reduction!(&case, nanvar, with_ddof, |group| reference::nanvar(group, ddof.into()), nan);
        check_reduction!(&case, nanstd, with_ddof, |group| reference::nanstd(group, ddof.into()), nan);
    });
}

stamp!(forms_without_nan_equal_the_dense_result: float64 = f64; half float16 = half::f16);

/// As the reference has them: 0 is infinity.
const ORDERS: [u8; 3] = [1, 2, 0];

fn of_order(order: u8, axes: impl Into<Axes>) -> Norm {
    match order {
        1 => Norm::over(axes).one(),
        2 => Norm::over(axes),
        _ => Norm::over(axes).infinity(),
    }
}

fn norms_equal_the_dense_result<T: Both + Drawn + Float + SummedFloat>() {
    check(reductions::<T, f64>(), |case| {
        for order in ORDERS {
            check_reduction!(
                &case,
                norm,
                |axes: Axes| of_order(order, axes),
                |group| reference::norm(group, order),
                T::zero()
            );
        }
    });
}

stamp!(norms_equal_the_dense_result: float64 = f64; beside float32 = f32; half float16 = half::f16);

// ---- the gradient promise ----

fn gradients_equal_the_dense_ones<T, G>()
where
    T: Both + Drawn + Real + Spread,
    G: Both + DrawnGrad + Float + SummedFloat,
{
    check((reductions::<T, G>(), 0..3u64), |(case, ddof)| {
        let with_ddof = |axes| Var::over(axes).ddof(ddof);
        let same = std::convert::identity::<Axes>;
        check_gradient!(&case, sum, same, |group, g| reference::sum_shares(group, g, false, false));
        check_gradient!(&case, mean, same, |group, g| reference::sum_shares(group, g, true, false));
        check_gradient!(&case, min, same, |group, g| { reference::equal_shares(group, g, reference::min(group)) });
        check_gradient!(&case, max, same, |group, g| { reference::equal_shares(group, g, reference::max(group)) });
        check_gradient!(&case, var, with_ddof, |group, g| {
            reference::spread_shares(group, g, ddof.into(), false, false)
        });
        check_gradient!(&case, std, with_ddof, |group, g| {
            reference::spread_shares(group, g, ddof.into(), true, false)
        });
    });
}

#[test]
fn gradients_of_floats_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<f64, f64>();
}

#[test]
fn narrow_gradients_of_integers_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<i8, f32>();
}

#[test]
fn gradients_of_forms_without_nan_equal_the_dense_ones() {
    check((reductions::<f64, f64>(), 0..3u64), |(case, ddof)| {
        let with_ddof = |axes| Var::over(axes).ddof(ddof);
        let same = std::convert::identity::<Axes>;
        check_gradient!(&case, nansum, same, |group, g| reference::sum_shares(group, g, false, true));
        check_gradient!(&case, nanmean, same, |group, g| reference::sum_shares(group, g, true, true));
        check_gradient!(&case, nanmin, same, |group, g| {
            reference::equal_shares(group, g, reference::nanmin(group))
        });
        check_gradient!(&case, nanmax, same, |group, g| {
            reference::equal_shares(group, g, reference::nanmax(group))
        });
        check_gradient!(&case, nanvar, with_ddof, |group, g| {
            reference::spread_shares(group, g, ddof.into(), false, true)
        });
        check_gradient!(&case, nanstd, with_ddof, |group, g| {
            reference::spread_shares(group, g, ddof.into(), true, true)
        });
    });
}

#[test]
fn gradients_of_norms_equal_the_dense_ones() {
    check(reductions::<f64, f64>(), |case| {
        for order in ORDERS {
            check_gradient!(&case, norm, |axes: Axes| of_order(order, axes), |group, g| {
                reference::norm_shares(group, g, order)
            });
        }
    });
}

/// The gradient is what the function changes by, along each element.
#[test]
fn gradients_are_central_differences() {
    let values = [0.5, -1.25, 3.0, 2.0, 0.75, -0.5];
    let x = CooTensor::new([2, 4], vec![vec![0, 0, 0, 1, 1, 1], vec![0, 1, 3, 0, 2, 3]], values.to_vec(), 0.0).unwrap();
    let upstream = arr1(&[0.75, -2.0]);
    let step = 1e-6;
    let check = |f: &dyn Fn(&CooTensor<f64>) -> CooTensor<f64>, given: CooTensor<f64>| {
        for entry in 0..values.len() {
            let moved = |by: f64| {
                let mut x = x.clone();
                x.values_mut().unwrap()[entry] += by;
                f(&x).to_dense().unwrap().iter().zip(&upstream).map(|(y, g)| y * g).sum::<f64>()
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!((slope - given.values()[entry]).abs() < 1e-7, "{slope} {given:?} {entry}");
        }
    };
    let options = || Var::over(1).ddof(1);
    check(&|x| x.sum(1).unwrap(), grad::sum(&x, &upstream, 1).unwrap());
    check(&|x| x.mean(1).unwrap(), grad::mean(&x, &upstream, 1).unwrap());
    check(&|x| x.max(1).unwrap(), grad::max(&x, &upstream, 1).unwrap());
    check(&|x| x.min(1).unwrap(), grad::min(&x, &upstream, 1).unwrap());
    check(&|x| x.var(options()).unwrap(), grad::var(&x, &upstream, options()).unwrap());
    check(&|x| x.std(options()).unwrap(), grad::std(&x, &upstream, options()).unwrap());
    check(&|x| x.nanstd(1).unwrap(), grad::nanstd(&x, &upstream, 1).unwrap());
    check(&|x| x.norm(1).unwrap(), grad::norm(&x, &upstream, 1).unwrap());
    check(&|x| x.norm(Norm::over(1).one()).unwrap(), grad::norm(&x, &upstream, Norm::over(1).one()).unwrap());
    check(&|x| x.median(1).unwrap(), grad::median(&x, &upstream, 1).unwrap());
    check(&|x| x.quantile(0.9, 1).unwrap(), grad::quantile(&x, &upstream, 0.9, 1).unwrap());
    let positive = x.clone().with_fill(1.5);
    check(&|x| x.clone().with_fill(1.5).prod(1).unwrap(), grad::prod(&positive, &upstream, 1).unwrap());
    let stored = |x: &CooTensor<f64>| x.stored().mean(1).unwrap();
    check(&stored, grad::mean(&x.stored(), &upstream, 1).unwrap());
    check(&|x| x.stored().var(1).unwrap(), grad::var(&x.stored(), &upstream, 1).unwrap());
}

// ---- hostile sums ----

/// Floats of all magnitudes, pairs that cancel, the ends of the range.
fn hostile() -> impl Strategy<Value = f64> {
    let scaled = (-1.0..1.0f64, -1074..1000i32).prop_map(|(value, power)| value * 2f64.powi(power));
    let ends = proptest::sample::select(vec![f64::MAX, -f64::MAX, 5e-324, -5e-324, 0.0, -0.0, 1e300, -1e300, 1e-300]);
    let special = proptest::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    prop_oneof![8 => -1e3..1e3f64, 4 => scaled, 4 => ends, 1 => any::<u64>().prop_map(f64::from_bits), 1 => special]
}

/// Lists of one or the other kind of floats, of lengths on both sides of what is added side by side and block by block.
fn lists() -> impl Strategy<Value = Vec<f64>> {
    let lengths = prop_oneof![0..40usize, 1000..1050usize, 2040..2100usize];
    let tame = vec(-1e3..1e3f64, 2100);
    let wild = vec(hostile(), 2100);
    let mixed = (vec(-1.0..1.0f64, 2100), vec((any::<proptest::sample::Index>(), hostile()), 0..4)).prop_map(
        |(mut list, changes)| {
            changes.into_iter().for_each(|(at, value)| *at.get_mut(&mut list) = value);
            list
        },
    );
    let cancelling = vec(hostile(), 1050).prop_map(|list| {
        let negated: Vec<f64> = list.iter().rev().map(|value| -value).collect();
        [list, negated].concat()
    });
    (prop_oneof![tame, wild, mixed, cancelling], lengths).prop_map(|(mut list, length)| {
        list.truncate(length);
        list
    })
}

/// However the values come, in whatever order, their sum and mean are those of the real numbers.
#[test]
fn sums_of_hostile_floats_are_exact() {
    check(lists(), |list| {
        let real = total(&list);
        let (expected, expected_mean) = (f64::sum_from(&real).unwrap(), f64::mean_from(&real, list.len() as u128));
        let check = |sum: f64, mean: f64| {
            assert!(sum.bits_equal(expected), "{sum:e} is not {expected:e}");
            assert!(mean.bits_equal(expected_mean), "{mean:e} is not {expected_mean:e}");
        };
        let array = arr1(&list);
        check(sum(&array, 0).unwrap()[[]], mean(&array, 0).unwrap()[[]]);
        let every_other = array.slice(ndarray::s![..;-1]);
        check(sum(&every_other, 0).unwrap()[[]], mean(&every_other, 0).unwrap()[[]]);
        let row = CsrTensor::new([1, list.len()], vec![0, list.len()], (0..list.len() as u32).collect(), list, 1.0);
        let row = row.unwrap();
        let cell = |x: Result<CsrTensor<f64>>| *x.unwrap().to_dense().unwrap().first().unwrap();
        check(cell(row.sum(1)), cell(row.mean(1)));
        check(cell(row.to_coo().unwrap().sum(1).map(|x| x.to_csr().unwrap())), expected_mean);
    });
}

/// Squares that neither overflow nor are lost, in every way that rows and cells are summed.
#[test]
fn norms_of_hostile_floats_are_exact() {
    check(lists(), |list| {
        let group: Vec<(u64, f64)> = list.iter().map(|&value| (0, value)).collect();
        for order in ORDERS {
            let expected = reference::norm(&group, order).unwrap();
            let check = |found: f64| assert!(found.bits_equal(expected), "{found:e} is not {expected:e}");
            check(norm(&arr1(&list), of_order(order, 0)).unwrap()[[]]);
            let column = CooTensor::new(
                [list.len(), 1],
                vec![(0..list.len() as u32).collect(), vec![0; list.len()]],
                list.clone(),
                0.0,
            );
            let cell = |x: &CooTensor<f64>| *x.to_dense().unwrap().first().unwrap();
            check(cell(&column.as_ref().unwrap().norm(of_order(order, 0)).unwrap()));
            check(cell(&column.unwrap().permute_axes([1, 0]).unwrap().norm(of_order(order, 1)).unwrap()));
        }
    });
    assert_eq!(norm(&arr1(&[3e300, 4e300]), 0).unwrap()[[]], 5e300);
    assert_eq!(norm(&arr1(&[5e-324, 5e-324]), 0).unwrap()[[]], 5e-324);
    assert_eq!(norm(&arr1(&[5e-324; 4]), 0).unwrap()[[]], 1e-323);
    assert_eq!(norm(&arr1(&[f64::MAX, f64::MAX]), 0).unwrap()[[]], f64::INFINITY);
}

/// The narrow types go through `f64`, and are rounded once.
#[test]
fn sums_of_hostile_narrow_floats_are_exact() {
    let values =
        prop_oneof![any::<u32>().prop_map(f32::from_bits), -1e3..1e3f32, (-1e3..1e3f32).prop_map(|x| x * 1e-40)];
    check(vec(values, 0..60), |list| {
        let real = total(&list);
        let array = arr1(&list);
        assert!(sum(&array, 0).unwrap()[[]].bits_equal(f32::sum_from(&real).unwrap()));
        assert!(mean(&array, 0).unwrap()[[]].bits_equal(f32::mean_from(&real, list.len() as u128)));
    });
}

/// The entries of rows of 80 positions, of lengths on both sides of 16 and 64.
fn rows<T: Both>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Vec<(u64, T)>>> {
    let length = prop_oneof![4 => 0..14usize, 3 => 14..19usize, 1 => 30..34usize, 1 => 62..67usize, 1 => Just(80)];
    let row = (vec(value, 80), length, 0..80u64).prop_map(|(values, length, start)| {
        let start = start.min(80 - length as u64);
        (start..).zip(values).take(length).collect()
    });
    vec(row, 0..20)
}

fn assert_same_rows<T: Debug, U: Both>(
    name: &str,
    found: Vec<U>,
    groups: &[Vec<(u64, T)>],
    of: impl Fn(&Vec<(u64, T)>) -> Option<U>,
) {
    assert_eq!(found.len(), groups.len());
    for (found, group) in found.into_iter().zip(groups) {
        let expected = of(group).unwrap();
        assert!(found.bits_equal(expected), "{name}: {found:?} is not {expected:?} of {group:?}");
    }
}

/// Checks that rows in blocks of eight equal the definition for each row, with and without unstored positions.
fn assert_rows_are_those_of_the_reference<T>(rows: &[Vec<(u64, T)>], fill: T, ddof: u64)
where
    T: Both + Float + SummedFloat + Summed<Sum = T, Mean = T> + Spread<Spread = T> + RealScalar,
{
    let offsets = rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    let offsets: Vec<usize> = [0].into_iter().chain(offsets).collect();
    let (columns, values) = rows.iter().flatten().map(|&(column, value)| (column as u32, value)).unzip();
    let x: CsrTensor<T> = CsrTensor::new([rows.len(), 80], offsets, columns, values, fill).unwrap();
    let coo = x.to_coo().unwrap();
    let with_gaps = |row: &Vec<(u64, T)>| -> Vec<(u64, T)> {
        let at = |place| row.iter().find(|(column, _)| *column == place).map_or(fill, |&(_, value)| value);
        (0..80).map(|place| (place, at(place))).collect()
    };
    let stored: Vec<Vec<(u64, T)>> = rows.iter().filter(|row| !row.is_empty()).cloned().collect();
    let whole: Vec<Vec<(u64, T)>> = stored.iter().map(with_gaps).collect();
    let gaps = (stored.len() < rows.len()).then(|| with_gaps(&Vec::new()));
    macro_rules! assert_rows {
        ($op:ident, $options:expr, $of:expr) => {{
            let assert_same = |found: &[_], groups| assert_same_rows(stringify!($op), found.to_vec(), groups, $of);
            let assert_whole = |found: &[_], fill| {
                assert_same(found, &whole);
                // A result of only unstored positions is a fill, whose zero has no sign.
                let expected = gaps.as_ref().and_then($of).map(lacuna::Element::as_implicit);
                assert!(expected.is_none_or(|expected| expected.bits_equal(fill)), "{fill:?} is not {expected:?}");
            };
            let (of_csr, of_coo) = ($op(&x, $options).unwrap(), $op(&coo, $options).unwrap());
            assert_whole(of_csr.values(), of_csr.fill());
            assert_whole(of_coo.values(), of_coo.fill());
            assert_same($op(&x.stored(), $options).unwrap().values(), &stored);
        }};
    }
    assert_rows!(sum, 1, |group: &Vec<_>| reference::sum(group));
    assert_rows!(mean, 1, |group: &Vec<_>| reference::mean(group));
    assert_rows!(var, Var::over(1).ddof(ddof), |group: &Vec<_>| reference::var(group, ddof.into()));
    assert_rows!(std, Var::over(1).ddof(ddof), |group: &Vec<_>| reference::std(group, ddof.into()));
    assert_rows!(min, 1, |group: &Vec<_>| reference::min(group));
    assert_rows!(max, 1, |group: &Vec<_>| reference::max(group));
    assert_rows!(argmin, 1, |group: &Vec<_>| reference::argmin(group));
    assert_rows!(argmax, 1, |group: &Vec<_>| reference::argmax(group));
}

#[test]
fn rows_of_floats_are_those_of_the_reference() {
    let tame = || prop_oneof![4 => -1e3..1e3f64, 2 => (-9..9i32).prop_map(f64::from), 1 => Just(-0.0)];
    let fill = || prop_oneof![6 => Just(0.0), 1 => Just(-0.0), 1 => hostile()];
    check((rows(tame()), fill(), 0..4u64), |(rows, fill, ddof)| {
        assert_rows_are_those_of_the_reference(&rows, fill, ddof);
    });
    let wild = prop_oneof![20 => tame(), 1 => hostile()];
    check((rows(wild), fill(), 0..4u64), |(rows, fill, ddof)| {
        assert_rows_are_those_of_the_reference(&rows, fill, ddof);
    });
}

#[test]
fn rows_of_narrow_floats_are_those_of_the_reference() {
    let value =
        prop_oneof![20 => -1e3..1e3f32, 9 => (-9..9i16).prop_map(f32::from), 1 => hostile().prop_map(|x| x as f32)];
    check((rows(value), 0..4u64), |(rows, ddof)| assert_rows_are_those_of_the_reference(&rows, 0.0f32, ddof));
}

// ---- edges, by name ----

/// A tensor of one entry among as many positions as the shape has.
fn lone(shape: &[usize], value: f64, fill: f64) -> CooTensor<f64, u64> {
    let coords = vec![vec![0]; shape.len()];
    Tensor::from_parts(CooPattern::new(shape, 1, coords).unwrap(), vec![value], fill).unwrap()
}

#[test]
fn sums_that_overflow_on_the_way_come_back() {
    let max = f64::MAX;
    assert_eq!(sum(&arr1(&[max, max, -max]), 0).unwrap()[[]], max);
    assert_eq!(mean(&arr1(&[max, max]), 0).unwrap()[[]], max);
    assert_eq!(sum(&arr1(&[1e100, 1.0, -1e100]), 0).unwrap()[[]], 1.0);
    assert_eq!(sum(&arr1(&[-0.0f64, -0.0]), 0).unwrap()[[]].to_bits(), 0);
    assert_eq!(sum(&arr1(&[max, max]), 0).unwrap()[[]], f64::INFINITY);
}

/// numpy fails this for 45 of the counts below 60.
#[test]
fn the_mean_of_a_constant_is_the_constant() {
    for count in 1..200 {
        for value in [0.1, 1.0 / 3.0, 1e300, 5e-324, f64::MAX] {
            assert_eq!(mean(&ArrayD::from_elem(vec![count], value), 0).unwrap()[[]], value);
            assert_eq!(CooTensor::full([count], value).unwrap().mean(0).unwrap().get(&[]).unwrap(), value);
        }
    }
}

/// Gaps count by their number, however many they are.
#[test]
fn gaps_are_summed_by_their_number() {
    let x = lone(&[1 << 40, 1 << 20], 0.5, 0.1);
    let expected = f64::sum_from(&total(&[0.5])).unwrap() + ((1u128 << 60) - 1) as f64 * 0.1;
    let found = x.sum(Axes::all()).unwrap().get(&[]).unwrap();
    assert!((found - expected).abs() <= expected * 1e-15);
    assert_eq!(x.mean(Axes::all()).unwrap().get(&[]).unwrap(), 0.1);
    assert_eq!(x.norm(Norm::over(Axes::all()).one()).unwrap().get(&[]).unwrap(), found);
    let root = x.norm(Axes::all()).unwrap().get(&[]).unwrap();
    assert!((root - 0.1 * 2f64.powi(30)).abs() <= root * 1e-15);
    let vast = lone(&[1 << 40, 1 << 40, 1 << 20], 1e-200, 1e-200).norm(Axes::all()).unwrap().get(&[]).unwrap();
    assert!((vast - 1e-200 * 2f64.powi(50)).abs() <= vast * 1e-15);
    assert_eq!(lone(&[1 << 40], 7.0, 0.0).sum(0).unwrap().get(&[]).unwrap(), 7.0);
    assert_eq!(lone(&[1 << 40], 7.0, f64::NAN).nanmean(0).unwrap().get(&[]).unwrap(), 7.0);
}

/// An extent that no integer holds makes no difference to a sum of zeros, and all to another.
#[test]
fn extents_beyond_128_bits_are_refused_where_they_count() {
    let shape = [usize::MAX; 3];
    assert_eq!(lone(&shape, 7.0, 0.0).sum(Axes::all()).unwrap().get(&[]).unwrap(), 7.0);
    assert_eq!(lone(&shape, 7.0, f64::INFINITY).sum(Axes::all()).unwrap().get(&[]).unwrap(), f64::INFINITY);
    let refused = lone(&shape, 7.0, 1.0).sum(Axes::all());
    assert!(matches!(refused, Err(Error::Uncountable { operation: "sum" })), "{refused:?}");
    assert!(matches!(lone(&shape, 7.0, 0.0).mean(Axes::all()), Err(Error::Uncountable { operation: "mean" })));
    assert!(matches!(lone(&shape, 7.0, 0.0).var(Axes::all()), Err(Error::Uncountable { operation: "var" })));
    assert!(matches!(lone(&shape, 7.0, 0.0).argmax(Axes::all()), Err(Error::Uncountable { operation: "argmax" })));
    assert_eq!(lone(&shape, -7.0, 0.0).norm(Axes::all()).unwrap().get(&[]).unwrap(), 7.0);
    assert!(matches!(lone(&shape, 7.0, 1.0).norm(Axes::all()), Err(Error::Uncountable { operation: "norm" })));
    assert!(grad::norm(&lone(&shape, 7.0, 1.0), &ndarray::arr0(1.0), Axes::all()).is_err());
    assert_eq!(lone(&shape, 7.0, -9.0).norm(Norm::over(Axes::all()).infinity()).unwrap().get(&[]).unwrap(), 9.0);
    assert_eq!(lone(&shape, 7.0, 0.0).max(Axes::all()).unwrap().get(&[]).unwrap(), 7.0);
    assert_eq!(lone(&shape, 7.0, f64::NAN).nanmean(Axes::all()).unwrap().get(&[]).unwrap(), 7.0);
}

/// The cell whose sum does not fit is named, in every format and layout.
#[test]
fn sums_of_integers_that_do_not_fit_name_their_cell() {
    let x = arr2(&[[1, 2], [i64::MAX, 1], [i64::MIN, -1]]);
    let named = |found: Result<String>, cell: &[usize]| match found {
        Err(Error::Overflow { operation: "sum", coords: Some(found), dtype: "int64" }) => assert_eq!(found, cell),
        other => panic!("{other:?}"),
    };
    let sparse = CooTensor::from_dense(&x, 0).unwrap();
    named(sum(&x, 1).map(|_| String::new()), &[1]);
    named(sum(&x.t(), 0).map(|_| String::new()), &[1]);
    named(sparse.sum(1).map(|_| String::new()), &[1]);
    named(sparse.to_csr().unwrap().sum(Axes::from(1).keep_dims()).map(|_| String::new()), &[1, 0]);
    named(sparse.permute_axes([1, 0]).unwrap().sum(0).map(|_| String::new()), &[1]);
    let fill = CooTensor::full([3, 1 << 20], i64::MAX).unwrap().sum(1).unwrap_err();
    assert_eq!(fill.to_string(), "sum at the fill does not fit int64; cast the operand first, for example to float64");
    assert_eq!(sparse.sum(0).unwrap().values(), [0, 2]);
}

/// An empty group has no least element; where there is no group there is nothing to refuse.
#[test]
fn extremes_of_nothing_are_errors_that_name_the_axis() {
    let x = CooTensor::full([2, 0, 3], 1.0f64).unwrap();
    let empty = |operation| Error::EmptyGroup { operation, axis: 1 };
    assert_eq!(x.min([1, 2]).unwrap_err(), empty("min"));
    assert_eq!(x.max([0, 1]).unwrap_err(), empty("max"));
    assert_eq!(x.argmin(1).unwrap_err(), empty("argmin"));
    assert_eq!(argmax(&ArrayD::<f64>::zeros(vec![2, 0]), 1).unwrap_err(), empty("argmax"));
    assert_eq!(min(&ArrayD::<f64>::zeros(vec![2, 0]), 1).unwrap_err(), empty("min"));
    assert_eq!(x.min(0).unwrap().shape(), [0, 3]);
    assert_eq!(x.stored().max(1).unwrap().fill().to_bits(), f64::NAN.to_bits());
    assert_eq!(CooTensor::full([2, 0], 1u8).unwrap().stored().min(1).unwrap().fill(), u8::MAX);
    assert!(x.nanmin(1).unwrap().fill().is_nan());
}

#[test]
fn zeros_are_ordered_by_their_sign() {
    for (values, least, greatest) in [([0.0f64, -0.0], -0.0f64, 0.0f64), ([-0.0, 0.0], -0.0, 0.0)] {
        assert_eq!(min(&arr1(&values), 0).unwrap()[[]].to_bits(), least.to_bits());
        assert_eq!(max(&arr1(&values), 0).unwrap()[[]].to_bits(), greatest.to_bits());
        let many: Vec<f64> = values.iter().copied().cycle().take(100).collect();
        assert_eq!(min(&arr1(&many), 0).unwrap()[[]].to_bits(), least.to_bits());
        assert_eq!(argmax(&arr1(&values), 0).unwrap()[[]], 0);
    }
}

/// A fill that is computed is no negative zero, as that of elementwise operations is none.
#[test]
fn a_computed_fill_has_no_sign() {
    let x = coo(&Sparse::new(&[3, 2], [(vec![0, 0], -0.0f64)].into(), -0.0));
    for found in [x.min(1), x.max(1), x.prod(Axes::none()), x.nanmax(1), x.nanprod(Axes::none())].map(Result::unwrap) {
        assert_eq!((found.values()[0].to_bits(), found.fill().to_bits()), ((-0.0f64).to_bits(), 0));
    }
    let tiny = lone(&[2, 3], 1.0, -1e-200).to_csr().unwrap();
    assert_eq!(tiny.prod(1).unwrap().fill().to_bits(), 0);
    // One label of two positions, one of three: products of both signs, and no sign.
    let by = lone(&[5, 2], 1.0, -0.0).prod(Axes::by(0, &[0, 0, 1, 1, 1])).unwrap();
    assert_eq!(by.fill().to_bits(), 0);
}

/// A view broadcast along what goes counts each element as often as it stands there, and reads it once.
#[test]
fn repeated_elements_are_summed_by_their_number() {
    let row = arr1(&[0.1, -0.0, 3.0]);
    let vast = row.broadcast((1 << 40, 3)).unwrap();
    let times = |value: f64| value * (1u64 << 40) as f64;
    assert_eq!(sum(&vast, 0).unwrap(), arr1(&[times(0.1), 0.0, times(3.0)]).into_dyn());
    assert_eq!(mean(&vast, 0).unwrap(), arr1(&[0.1, 0.0, 3.0]).into_dyn());
    assert_eq!(max(&vast, [0, 1]).unwrap()[[]], 3.0);
}

/// Long slices are shared out, and merged to the same bits.
#[test]
fn long_sums_are_the_same_at_any_number_of_threads() {
    let values: Vec<f64> = (0..700_000u64).map(|at| ((at * 2_654_435_761) % 1_000_003) as f64 * 1e-3 - 500.0).collect();
    let array = arr1(&values);
    let row = CsrTensor::new([1, 700_000], vec![0, 700_000], (0..700_000u32).collect(), values, 0.0).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let sums = [sum(&array, 0).unwrap()[[]], row.sum(1).unwrap().values()[0], row.var(1).unwrap().values()[0]];
            sums.map(f64::to_bits)
        })
    };
    let one = run(1);
    assert_eq!(one[0], one[1]);
    assert_eq!((one, one), (run(2), run(5)));
}

/// Entries of a matrix at the positions `kept`, with values whose sums need more than one float, and one that needs all
/// digits.
fn scattered(rows: usize, columns: usize, kept: impl Iterator<Item = usize>, fill: f64) -> CooTensor<f64> {
    let kept: Vec<usize> = kept.collect();
    let coords = |of: &dyn Fn(usize) -> usize| kept.iter().map(|&at| of(at) as u32).collect::<Vec<_>>();
    let value = |at: &usize| match at % columns {
        77 => [1e100, 1.0, -1e100][at / columns % 3],
        78 => [f64::INFINITY, 2.0][at / columns % 2],
        _ => (at * 7919 % 10_007) as f64 * 1e-3 - 5.0,
    };
    let values = kept.iter().map(value).collect();
    CooTensor::new([rows, columns], vec![coords(&|at| at / columns), coords(&|at| at % columns)], values, fill).unwrap()
}

/// Few cells are a table that entries are added to, directly or partitioned out to its parts; other entries are
/// grouped. What they give is the same as that of the rows of the transpose, on any number of threads.
#[test]
fn cells_in_a_table_are_those_of_groups() {
    let of = |x: &CooTensor<f64>, y: &CooTensor<f64>| {
        assert!(x.sum(0).unwrap().same_as(&y.sum(1).unwrap()));
        assert!(x.mean(0).unwrap().same_as(&y.mean(1).unwrap()));
        assert!(x.max(0).unwrap().same_as(&y.max(1).unwrap()));
        assert_eq!(x.count_nonzero(0).unwrap(), y.count_nonzero(1).unwrap());
        assert_eq!(x.all(0).unwrap(), y.all(1).unwrap());
        assert_eq!(x.stored().count_nonzero(0).unwrap(), y.stored().count_nonzero(1).unwrap());
        assert_eq!(x.stored().all(0).unwrap(), y.stored().all(1).unwrap());
        assert!(x.stored().mean(0).unwrap().same_as(&y.stored().mean(1).unwrap()));
        assert!(x.to_csr().unwrap().sum(0).unwrap().to_coo().unwrap().same_as(&y.sum(1).unwrap()));
    };
    for (rows, columns) in [(3, 100), (4, 100), (5, 100), (9, 40_000)] {
        for (x, threads) in [
            (scattered(rows, columns, 0..rows * columns, 0.0), 1),
            (scattered(rows, columns, (0..rows * columns).filter(|at| at % 11 != 3), 0.1), 3),
            (scattered(rows, columns, (0..rows * columns).filter(|at| at % columns != 77), f64::NAN), 3),
        ] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| of(&x, &x.permute_axes([1, 0]).unwrap()));
        }
    }
}

/// Sums that skip NaNs are those of groups and accumulators: without a NaN they are the same, whatever way a sum takes.
#[test]
fn sums_by_integers_are_those_of_accumulators() {
    let value = |at: usize| {
        let bits = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        f64::from_bits((1000 + bits % 40) << 52 | (bits & 1) << 63 | bits >> 12)
    };
    let scales: [fn(usize) -> f64; 3] =
        [|_| 1.0, |at| if at % 997 == 5 { 1e300 } else { 1.0 }, |at| 10f64.powi((at % 300) as i32 - 150)];
    for (rows, columns, scale) in scales.into_iter().flat_map(|scale| [(20_000, 3, scale), (300, 200, scale)]) {
        let kept: Vec<usize> = (0..rows * columns).filter(|at| at % 7 != 3).collect();
        let coords = |of: &dyn Fn(usize) -> usize| kept.iter().map(|&at| of(at) as u32).collect::<Vec<_>>();
        let coords = vec![coords(&|at| at / columns), coords(&|at| at % columns)];
        let values = kept.iter().map(|&at| value(at) * scale(at)).collect();
        let x = CooTensor::<f64>::new([rows, columns], coords, values, 0.0).unwrap();
        for axis in [0, 1] {
            assert!(x.sum(axis).unwrap().same_as(&x.nansum(axis).unwrap()));
            assert!(x.mean(axis).unwrap().same_as(&x.nanmean(axis).unwrap()));
            let narrow = x.map_values(|value| value as f32).unwrap();
            assert!(narrow.sum(axis).unwrap().same_as(&narrow.nansum(axis).unwrap()));
            let csr = x.to_csr().unwrap();
            assert!(csr.stored().sum(axis).unwrap().same_as(&csr.stored().nansum(axis).unwrap()));
        }
    }
}

/// Values of 16 bits that lie about the smallest, about 1 and about the greatest, and sums of which many lie in the
/// middle of two.
#[cfg(feature = "half")]
#[test]
fn sums_of_narrow_floats_are_those_of_accumulators() {
    fn check_rows<T: Float>(exponents: [i32; 3]) {
        let (rows, columns) = (6000, 4);
        let value = |at: usize| {
            let bits = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let power = 2f64.powi(exponents[at / columns % 3] + (bits % 12) as i32);
            let parts = if at.is_multiple_of(5) { 1.0 } else { (bits >> 8 & 0xff) as f64 / 64.0 };
            T::from_f64(if bits & 0x10_0000 == 0 { power * parts } else { -power * parts })
        };
        let values: Vec<T> = (0..rows * columns).map(value).collect();
        let lanes = (0..=rows).map(|row| row * columns).collect();
        let x = CsrTensor::new(
            [rows, columns],
            lanes,
            (0..columns as u32).cycle().take(values.len()).collect(),
            values,
            T::ZERO,
        );
        let x = x.unwrap();
        for axis in [0, 1] {
            assert!(x.sum(axis).unwrap().same_as(&x.nansum(axis).unwrap()));
            assert!(x.mean(axis).unwrap().same_as(&x.nanmean(axis).unwrap()));
            assert!(x.var(axis).unwrap().same_as(&x.nanvar(axis).unwrap()));
            assert!(x.std(axis).unwrap().same_as(&x.nanstd(axis).unwrap()));
        }
    }
    check_rows::<half::f16>([-26, -6, 5]);
    check_rows::<half::bf16>([-136, -6, 116]);
}

/// A table of cells was built where there were up to 32 of them for an entry: forty bytes each.
#[test]
fn many_cells_are_no_table() {
    let x = scattered(1000, 1 << 20, (0..1000 << 20).step_by(40_009), 0.0);
    assert_eq!(x.sum(0).unwrap().nnz(), x.permute_axes([1, 0]).unwrap().sum(1).unwrap().nnz());
}

/// A tensor whose coordinates take 64 bits.
fn wide<T: lacuna::Element>(shape: &[usize], coords: Vec<Vec<u64>>, values: Vec<T>, fill: T) -> CooTensor<T, u64> {
    Tensor::from_parts(CooPattern::new(shape.to_vec(), values.len(), coords).unwrap(), values, fill).unwrap()
}

/// A count of up to 2^64 times an unsigned value of 64 bits does not fit 128 bits with a sign: the sum was another one,
/// without an error, and the mean was below 0.
#[test]
fn the_greatest_integers_repeated_are_summed_exactly() {
    let greatest = u64::MAX;
    let rows = wide(&[2, (1 << 63) + 1], vec![vec![0, 0, 0], vec![0, 1, 2]], vec![greatest; 3], greatest);
    assert!(matches!(rows.sum(1), Err(Error::Overflow { .. })));
    assert!(rows.mean(1).unwrap().same_as(&wide(&[2], vec![vec![0]], vec![2f64.powi(64)], 2f64.powi(64))));
    let square = wide(&[u32::MAX as usize; 2], vec![vec![0], vec![0]], vec![5], greatest);
    assert_eq!(square.mean(Axes::all()).unwrap().item().unwrap(), 2f64.powi(64));
    assert_eq!(square.mean(0).unwrap().fill(), 2f64.powi(64));
}

/// The number of cells behind an axis without positions was counted as a product that does not fit, which is a panic
/// where overflows are looked for.
#[test]
fn axes_without_positions_stand_beside_the_longest_ones() {
    let long = u32::MAX as usize;
    for shape in [vec![0, long, long, long, 3], vec![long, long, long, long, 0]] {
        let x = CooTensor::<f64>::new(shape.clone(), vec![vec![]; 5], vec![], 0.0).unwrap();
        for axis in (0..5).filter(|&axis| shape[axis] != 0) {
            let kept: Vec<usize> = (0..5).filter(|&other| other != axis).map(|other| shape[other]).collect();
            assert_eq!(x.sum(axis as isize).unwrap().shape()[..], kept);
            assert_eq!(x.stored().mean(axis as isize).unwrap().shape()[..], kept);
            assert_eq!(x.norm(axis as isize).unwrap().shape()[..], kept);
        }
    }
    let half = 1 << 31;
    let x = CsrTensor::<f64>::new([0, half, half, half, 3], vec![0], vec![], vec![], 0.0).unwrap();
    assert_eq!(x.repeat(2, 0).unwrap().shape()[..], [0, half, half, half, 3]);
    assert_eq!(lacuna::concat(0, &[&x, &x]).unwrap().shape()[..], [0, half, half, half, 3]);
    let x = CsrTensor::<f64>::new([half, half, 0, half, 3], vec![0], vec![], vec![], 0.0).unwrap();
    assert_eq!(
        x.slice(ndarray::s![5.., 7.., .., .., ..].as_ref()).unwrap().shape()[..],
        [half - 5, half - 7, 0, half, 3]
    );
}

/// A share of 2^128 positions or more was one of 2^128.
#[test]
fn shares_of_what_cannot_be_counted_are_refused() {
    let x = wide(&[(1 << 63) - 1; 3], vec![vec![0]; 3], vec![1.0], 1.0);
    let upstream = ndarray::arr0(1.0);
    for shares in [grad::mean(&x, &upstream, Axes::all()), grad::nanmean(&x, &upstream, Axes::all())] {
        assert!(matches!(shares, Err(Error::Uncountable { .. })), "{shares:?}");
    }
}
