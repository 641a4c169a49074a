//! The operations of run-time types give what their typed forms give, and refuse what a type lacks.

use lacuna::dynamic::{AnyFormat, AnyTensor};
use lacuna::{Axes, CooTensor, Element, Error, Float, Isin, Nanmedian, Number, Pattern, Real, Result, Take, Tensor};
use num_complex::Complex;

/// Five entries, two of them zeros, with a fill of one.
fn tensor<T: Element>() -> CooTensor<T, u64> {
    let coords = vec![vec![0, 0, 1, 2, 2], vec![0, 2, 1, 0, 1]];
    let x = CooTensor::new([3, 3], coords, vec![T::ONE, T::ZERO, T::ONE, T::ZERO, T::ZERO], T::ONE).unwrap();
    x.with_index().unwrap()
}

/// A cell for each row, of which one is the fill.
fn upstream<T: Element>() -> CooTensor<T, u64> {
    CooTensor::new([3], vec![vec![0, 2]], vec![T::ONE, T::ZERO], T::ONE).unwrap().with_index().unwrap()
}

#[track_caller]
fn assert_same(found: Result<AnyTensor>, expected: Result<impl Into<AnyTensor>>) {
    let (found, expected) = (found.unwrap(), expected.unwrap().into());
    assert!(found.same_as(&expected), "{found:?} is not {expected:?}");
}

/// What every type has.
fn check<P: Pattern, T: Element>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
    Tensor<P, bool>: Into<AnyTensor>,
    Tensor<P, u64>: Into<AnyTensor>,
{
    let (any, g) = (x.clone().into(), upstream::<T>());
    let (coo, csr) = (AnyTensor::from(g.clone()), AnyTensor::from(g.to_csr().unwrap()));
    assert_same(any.any(1), x.any(1));
    assert_same(any.stored().any(Axes::all()), x.stored().any(Axes::all()));
    assert_same(any.count_nonzero(1), x.count_nonzero(1));
    assert_same(any.isin([Number::Integer(1), Number::Real(0.5)], true), x.isin(Isin::of(T::ONE).invert()));
    assert_same(any.stored().isin([], false), x.stored().isin([]));
    assert_same(any.isnan(), x.isnan());
    assert_same(any.stored().isfinite(), x.stored().isfinite());
    assert_same(any.take([8i64, -9]), x.take([8i64, -9]));
    assert_same(any.take_axis(Take::at([2i64, 4]).wrap(), -1), x.take_axis(Take::at([2i64, 4]).wrap(), -1));
    assert_same(any.prune(), x.prune());
    for upstream in [coo, csr] {
        assert_same(any.any_backward(&upstream, 1), x.any_backward(&g, 1));
        assert_same(any.take_backward(&upstream, [0i64, 1, 8]), x.take_backward(&g, [0i64, 1, 8]));
        assert_same(any.take_axis_backward(&upstream, 1i64, 0), x.take_axis_backward(&g, 1i64, 0));
    }
}

/// What types with an order have besides, with an upstream gradient of the type `G`.
fn check_real<P: Pattern, T: Real, G: Float>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
    Tensor<P, bool>: Into<AnyTensor>,
    Tensor<P, u64>: Into<AnyTensor>,
    Tensor<P, G>: Into<AnyTensor>,
    Tensor<P, T::Median>: Into<AnyTensor>,
{
    check(x);
    let (any, g) = (x.clone().into(), upstream::<G>());
    let upstream = AnyTensor::from(g.clone());
    let lower = Nanmedian::over(1).lower();
    assert_same(any.isposinf(), x.isposinf());
    assert_same(any.nanmedian(&lower), x.nanmedian(&lower));
    assert_same(any.stored().nanmedian(1), x.stored().nanmedian(1));
    assert_same(any.nanmedian_backward(&upstream, &lower), x.nanmedian_backward(&g, &lower));
    assert_same(any.stored().nanmedian_backward(&upstream, 1), x.stored().nanmedian_backward(&g, 1));
}

#[test]
fn each_gives_what_its_typed_form_gives() {
    check_real::<_, _, f32>(&tensor::<bool>());
    check_real::<_, _, f32>(&tensor::<i8>().to_csr().unwrap());
    check_real::<_, _, f64>(&tensor::<u64>());
    check_real::<_, _, f64>(&tensor::<f32>().to_csr().unwrap());
    check(&tensor::<Complex<f32>>());
}

#[test]
fn what_a_type_lacks_is_an_error() {
    let complex = AnyTensor::from(tensor::<Complex<f64>>());
    let whole = AnyTensor::from(upstream::<i64>());
    for refused in [complex.nanmedian(1), complex.isneginf(), complex.nanmedian_backward(&whole, 1)] {
        assert!(matches!(refused, Err(Error::NoOrder { dtype: "complex128", .. })), "{refused:?}");
    }
    let refused = AnyTensor::from(tensor::<f64>()).nanmedian_backward(&whole, 1);
    assert!(matches!(refused, Err(Error::NotRepresentable { .. })), "{refused:?}");
}

/// The sums of narrow integers are those of the type, as in the typed form: they were formed in 64 bits.
#[test]
fn a_sum_of_narrow_gradients_overflows_as_the_typed_one_does() {
    let g = CooTensor::new([3], vec![vec![0, 1, 2]], vec![100i8, 100, -100], 0).unwrap().with_index().unwrap();
    let refused = AnyTensor::from(tensor::<f64>()).take_backward(&AnyTensor::from(g), [0i64, 0, 0]);
    assert!(matches!(refused, Err(Error::SumOverflow { dtype: "int8", .. })), "{refused:?}");
}

/// Of a type that is wide already nothing is copied, and no value is read where only the pattern counts.
#[test]
fn gradients_share_the_pattern() {
    let x = tensor::<f64>();
    let dx = AnyTensor::from(x.clone()).any_backward(&AnyTensor::from(upstream::<f64>()), 1).unwrap();
    let AnyTensor::Float64(AnyFormat::Coo(dx)) = dx else { panic!("{dx:?}") };
    assert!(dx.shares_pattern_with(&x));
}
