//! Medians that NaNs take part in and quantiles against the reference, on every format and layout, with their
//! gradients.

use crate::generators::{Drawn, reductions};
use crate::reference::exact::{F64, Real, SummedFloat};
use crate::reference::reductions::{self as reference, Spread};
use crate::support::*;
use lacuna::{
    Axes, CooPattern, CooTensor, Error, Float, Nanmedian, Quantile, QuantileMethod, Tensor, grad, median, nanquantile,
    quantile,
};
use ndarray::{ArrayD, arr0, arr1};
use proptest::prelude::*;
use proptest::sample::select;

const METHODS: [(QuantileMethod, &str); 5] = [
    (QuantileMethod::Linear, "linear"),
    (QuantileMethod::Lower, "lower"),
    (QuantileMethod::Higher, "higher"),
    (QuantileMethod::Midpoint, "midpoint"),
    (QuantileMethod::Nearest, "nearest"),
];

/// A part of the way: the ends, the middle, and any; and a method.
fn asked() -> impl Strategy<Value = (f64, (QuantileMethod, &'static str))> {
    let parts = prop_oneof![select(vec![0.0, 1.0, 0.5, 0.25, 0.1, 1.0 / 3.0, 1e-300, 5e-324]), 0.0..=1.0f64];
    (parts, select(METHODS.to_vec()))
}

fn every_format_equals_the_reference<T>()
where
    T: Both + Drawn + lacuna::Real<Median = <T as Spread>::Spread> + Spread,
    <T as Spread>::Spread: Both + Float,
{
    check((reductions::<T, f64>(), asked(), any::<bool>()), |(case, (q, (method, name)), lower)| {
        let (none, options) = (<T as Spread>::Spread::NAN, |axes| Quantile::over(axes).method(method));
        let middle = if lower { "lower" } else { "linear" };
        let even = |axes| if lower { Nanmedian::over(axes).lower() } else { Nanmedian::over(axes) };
        check_reduction!(&case, quantile(q), options, |group| reference::quantile(group, q, name, false), none);
        check_reduction!(&case, nanquantile(q), options, |group| reference::quantile(group, q, name, true), none);
        check_reduction!(&case, median, even, |group| reference::quantile(group, 0.5, middle, false), none);
    });
}

stamp!(every_format_equals_the_reference: int8 = i8, float64 = f64; beside uint64 = u64, float32 = f32;
    half float16 = half::f16);

fn gradients_equal_the_dense_ones<T, G>()
where
    T: Both + Drawn + lacuna::Real + Spread,
    G: Both + crate::generators::DrawnGrad + Float + SummedFloat,
{
    check((reductions::<T, G>(), asked(), any::<bool>()), |(case, (q, (method, name)), first)| {
        let options = |axes| match first {
            true => Quantile::over(axes).method(method).first(),
            false => Quantile::over(axes).method(method),
        };
        check_gradient!(&case, quantile(q), options, |group, g| {
            reference::quantile_shares(group, g, q, name, false, first)
        });
        check_gradient!(&case, nanquantile(q), options, |group, g| {
            reference::quantile_shares(group, g, q, name, true, first)
        });
        let options = |axes| if first { Nanmedian::over(axes).first() } else { Nanmedian::over(axes) };
        check_gradient!(&case, median, options, |group, g| {
            reference::quantile_shares(group, g, 0.5, "linear", false, first)
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

/// Floats of all magnitudes and the ends of the range.
fn hostile() -> impl Strategy<Value = f64> {
    let ends = select(vec![f64::MAX, -f64::MAX, 5e-324, -5e-324, 0.0, -0.0, 1e300, -1e-300, f64::INFINITY]);
    prop_oneof![4 => -1e3..1e3f64, 2 => ends, 4 => any::<u64>().prop_map(f64::from_bits)]
}

/// A value between two floats of any magnitudes is correctly rounded, in each type.
#[test]
fn what_lies_between_is_rounded_once() {
    fn holds<T: Float + SummedFloat>(a: f64, b: f64, weight: f64) {
        let (a, b) = (<T as Float>::from_f64(a), <T as Float>::from_f64(b));
        let expected = T::narrow(Real::between(a.wide(), b.wide(), weight, T::KIND));
        assert!(a.between(b, weight).bits_equal(expected), "{a:?} {b:?} {weight:e}");
    }
    let weights = prop_oneof![4 => 0.0..1.0f64, 1 => select(vec![0.5, 5e-324, 1e-200, 1.0 - f64::EPSILON / 2.0])];
    check((hostile(), hostile(), weights, 0..4u32), |(a, b, weight, near)| {
        // Some pairs are neighbours, or nearly.
        let b = if near == 0 { f64::from_bits(a.to_bits() ^ 3) } else { b };
        holds::<f64>(a, b, weight);
        holds::<f32>(a, b, weight);
        #[cfg(feature = "half")]
        holds::<half::bf16>(a, b, weight);
    });
}

/// A tensor of one entry among as many positions as the shape has.
/// Between 1 and a neighbour, a tenth of the way: half a unit and 2^-107 above 1. Two floats keep the half alone, which
/// would be rounded down.
#[test]
fn what_two_floats_cannot_tell_is_asked_of_all_digits() {
    let x = arr1(&[1.0, 1.0 + 5.0 * f64::EPSILON]);
    assert_eq!(quantile(&x, 0.1, 0).unwrap()[[]], 1.0 + f64::EPSILON);
}

fn lone(shape: &[usize], value: f64, fill: f64) -> CooTensor<f64, u64> {
    let coords = vec![vec![0]; shape.len()];
    Tensor::from_parts(CooPattern::new(shape, 1, coords).unwrap(), vec![value], fill).unwrap()
}

/// Ranks among more positions than any integer of 64 bits counts.
#[test]
fn vast_groups_have_quantiles_at_both_ends() {
    let shape = [1 << 40, 1 << 40, 1 << 20];
    let at = |x: &CooTensor<f64, u64>, q: f64| x.quantile(q, Axes::all()).unwrap().get(&[]).unwrap();
    let x = lone(&shape, 7.0, 1.0);
    assert_eq!([0.0, 0.5, 1.0 - f64::EPSILON].map(|q| at(&x, q)), [1.0; 3]);
    assert_eq!(at(&x, 1.0), 7.0);
    let least = lone(&shape, -7.0, 1.0);
    assert_eq!(
        (at(&least, 0.0), at(&least, 1e-40), at(&least, 1.0)),
        (-7.0, 1.0 - 8.0 * (1.0 - 1e-40 * 2f64.powi(100)), 1.0)
    );
    assert_eq!(at(&lone(&[1], 7.0, 1.0), 0.3), 7.0);
    assert_eq!(x.median(Axes::all()).unwrap().get(&[]).unwrap(), 1.0);
    let shares = grad::quantile(&x, &arr0(2.0), 1.0, Axes::all()).unwrap();
    assert_eq!(shares.values(), [2.0]);
}

/// The last rank, 2^53 + 1, is no float: rounded before it is multiplied it gives 1.5 here, and 0.5 of the way from 0
/// to 1 instead of a unit more.
#[test]
fn the_rank_in_a_vast_group_is_rounded_once() {
    let pattern = CooPattern::new([(1 << 53) + 2], 2, vec![vec![3, 7]]).unwrap();
    let x: CooTensor<f64, u64> = Tensor::from_parts(pattern, vec![0.0, -1.0], 1.0).unwrap();
    let part = 1.5 / 2f64.powi(53);
    assert_eq!(x.quantile(part, 0).unwrap().get(&[]).unwrap(), 0.5 + f64::EPSILON);
}

#[test]
fn extents_beyond_128_bits_are_refused_where_they_count() {
    let shape = [usize::MAX; 3];
    let refused = |found: lacuna::Result<CooTensor<f64, u64>>, name| {
        assert!(matches!(found, Err(Error::Uncountable { operation }) if operation == name), "{found:?}");
    };
    refused(lone(&shape, 7.0, 0.0).quantile(0.5, Axes::all()), "quantile");
    refused(lone(&shape, 7.0, 0.0).nanquantile(0.5, Axes::all()), "nanquantile");
    assert_eq!(lone(&shape, 7.0, 0.0).median(Axes::all()).unwrap().get(&[]).unwrap(), 0.0);
    assert_eq!(lone(&shape, 7.0, f64::NAN).nanquantile(0.5, Axes::all()).unwrap().get(&[]).unwrap(), 7.0);
    assert!(lone(&shape, 7.0, f64::NAN).quantile(0.5, Axes::all()).unwrap().get(&[]).unwrap().is_nan());
    assert_eq!(lone(&shape, 7.0, 0.0).stored().quantile(0.5, Axes::all()).unwrap().values(), [7.0]);
}

#[test]
fn parts_outside_of_the_way_are_refused() {
    let x = arr1(&[1.0, 2.0]);
    for q in [-0.1, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY, -5e-324] {
        let error = quantile(&x, q, 0).unwrap_err();
        assert!(matches!(error, Error::Argument { operation: "quantile", .. }), "{error}");
        assert!(grad::nanquantile(&x, &arr0(1.0), q, 0).is_err());
    }
    assert_eq!(quantile(&x, -0.0, 0).unwrap()[[]], 1.0);
    assert!(quantile(&ArrayD::<f64>::zeros(vec![0]), 0.5, 0).unwrap()[[]].is_nan());
}

/// Both infinities and what is between them.
#[test]
fn infinities_stand_at_the_ends() {
    let (inf, x) = (f64::INFINITY, arr1(&[f64::NEG_INFINITY, 1.0, f64::INFINITY]));
    let at = |q: f64| quantile(&x, q, 0).unwrap()[[]];
    assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(at), [-inf, -inf, 1.0, inf, inf]);
    assert_eq!(quantile(&arr1(&[-inf, inf]), 0.9, 0).unwrap()[[]].to_bits(), f64::NAN.to_bits());
    assert_eq!(quantile(&arr1(&[-f64::MAX, f64::MAX]), 0.75, 0).unwrap()[[]], f64::MAX / 2.0);
}

/// A long lane is bracketed by a sample, at whatever part of the way.
#[test]
fn long_lanes_have_the_quantiles_of_a_sort() {
    let mut values: Vec<f64> = (0..100_003u64).map(|at| (at * 2_654_435_761 % 99_991) as f64).collect();
    let array = arr1(&values);
    values.sort_by(f64::total_cmp);
    for q in [0.0f64, 1e-5, 0.01, 0.5, 0.99999, 1.0] {
        let rank = q * 100_002.0;
        let (low, high) = (values[rank.floor() as usize], values[rank.ceil() as usize]);
        let expected = Real::between(low, high, rank.fract(), F64);
        assert_eq!(quantile(&array, q, 0).unwrap()[[]], expected);
    }
}
