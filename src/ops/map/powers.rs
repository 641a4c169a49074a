//! Powers, roots, exponentials and logarithms.

use std::f64::consts::{LN_2, LN_10};

use super::apply;
use super::chain_rule;
use crate::base::error::{Error, Result};
use crate::element::{Float, Inexact, Numeric, Real, complex_math, lanes, math};
use crate::kernels::map::{ByKind, CALL, Each, FunctionMap, Quick};
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the square of each element.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub>²
///
/// The square of a float is rounded once. The real part of a complex square is computed as (Re *x*<sub>i</sub> − Im
/// *x*<sub>i</sub>)(Re *x*<sub>i</sub> + Im *x*<sub>i</sub>), which does not cancel. Each part of a complex square is
/// within 2 units in the last place, and a real part of zero is `+0.0`. `bool` does not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN. For complex numbers, each part follows from the formula.
///
/// # Gradient
///
/// [`grad::square`](crate::grad::square()), only for floats: *dx*<sub>i</sub> = *dy*<sub>i</sub> · 2 *x*<sub>i</sub>
///
/// # Errors
///
/// - `Overflow`: the square of an integer does not fit the element type;
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, square};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
/// assert_eq!(square(&x)?.to_dense()?, arr1(&[9, 0, 16]).into_dyn());
/// assert_eq!(square(&x)?.to_dense()?, square(&x.to_dense()?)?);
/// let refused = square(&arr1(&[15u8, 16])).unwrap_err().to_string();
/// assert_eq!(refused, "square at [1] does not fit uint8; cast the operand first, for example to float64");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.square`](https://numpy.org/doc/stable/reference/generated/numpy.square.html).
pub fn square<X: Operand<Elem: Numeric>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each::quick(op::square.name, X::Elem::squared))
}

/// Returns the gradient of [`square`](crate::square()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 2 *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, square, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::square(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::square(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| square(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn square_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 2.0 * x, upstream)
}

/// Returns the square root of each element.
///
/// *y*<sub>i</sub> = √*x*<sub>i</sub>
///
/// The result for a float is correctly rounded.
///
/// The root of a complex number has a real part of at least 0, and its imaginary part has the sign of Im
/// *x*<sub>i</sub>. Each part is within 2 units in the last place.
///
/// # NaN
///
/// NaN and floats below zero yield NaN; the float `-0.0` yields `-0.0`. Complex numbers with an infinite or NaN part
/// yield the values of `csqrt` in Annex G of C99.
///
#[doc = page!(inexact)]
/// ```
/// use lacuna::{CooTensor, sqrt};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(sqrt(&x)?.to_dense()?, sqrt(&x.to_dense()?)?);
/// assert_eq!(sqrt(&arr1(&[4.0f32, 0.0]))?, arr1(&[2.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn sqrt<X: Operand<Elem: Inexact>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &ByKind { real: Quick(f64::sqrt), complex: complex_math::sqrt })
}

/// Returns the gradient of [`sqrt`](crate::sqrt()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (2 √*x*<sub>i</sub>)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, sqrt, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::sqrt(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::sqrt(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| sqrt(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn sqrt_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x: f64| 0.5 / x.sqrt(), upstream)
}

/// Returns the cube root of each element.
///
/// *y*<sub>i</sub> = ∛*x*<sub>i</sub>
///
/// The result is correctly rounded.
///
/// # NaN
///
/// NaN yields NaN; numbers below zero have a cube root.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, cbrt};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(cbrt(&x)?.to_dense()?, cbrt(&x.to_dense()?)?);
/// assert_eq!(cbrt(&arr1(&[-8.0, 27.0]))?, arr1(&[-2.0, 3.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn cbrt<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::cbrt))
}

/// Returns the gradient of [`cbrt`](crate::cbrt()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (3 (∛*x*<sub>i</sub>)²)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, cbrt, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::cbrt(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::cbrt(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| cbrt(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn cbrt_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    let slope = |x: f64| {
        let root = math::cbrt(x);
        1.0 / (3.0 * (root * root))
    };
    chain_rule(x, &slope, upstream)
}

/// Returns the reciprocal of each element.
///
/// *y*<sub>i</sub> = 1 / *x*<sub>i</sub>
///
/// The result for a float is correctly rounded. For complex numbers, each part of the result is within 2 units in the
/// last place.
///
/// # NaN
///
/// NaN yields NaN; the float zero yields the infinity with the same sign. The complex zero yields NaN in both parts, as
/// in numpy. A complex number with one infinite part and one finite part yields 0. Other complex numbers with an
/// infinite or NaN part yield NaN.
///
#[doc = page!(inexact)]
/// ```
/// use lacuna::{CooTensor, recip};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(recip(&x)?.to_dense()?, recip(&x.to_dense()?)?);
/// assert_eq!(recip(&arr1(&[4.0, f64::INFINITY]))?, arr1(&[0.25, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "reciprocal")]
pub fn recip<X: Operand<Elem: Inexact>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &ByKind { real: Quick(|x| 1.0 / x), complex: complex_math::recip })
}

/// Returns the gradient of [`recip`](crate::recip()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · −1 / *x*<sub>i</sub>²
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, recip, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::recip(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::recip(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| recip(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn recip_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| -((1.0 / x) * (1.0 / x)), upstream)
}

/// Raises each element to the power of an integer.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
///
/// The power of a float is within 1 unit in the last place of the exact power. Results are bitwise identical on every
/// machine. The square of a float is rounded once. The powers of complex numbers are those of [`pow`](crate::pow()).
/// `bool` does not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN, except that NaN to the power of 0 is 1. For complex numbers, see
/// [`pow`](crate::pow()).
///
/// # Gradient
///
/// [`grad::powi`](crate::grad::powi()), only for floats: *dx*<sub>i</sub> = *dy*<sub>i</sub> · exponent ·
/// *x*<sub>i</sub><sup>exponent − 1</sup>
///
/// # Errors
///
/// - `Overflow`: the power of an integer does not fit the element type;
/// - `Argument`: the elements are integers and the exponent is negative;
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, powi};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
/// assert_eq!(powi(&x, 3)?.to_dense()?, arr1(&[27, 0, -64]).into_dyn());
/// assert_eq!(powi(&x, 3)?.to_dense()?, powi(&x.to_dense()?, 3)?);
/// assert_eq!(powi(&arr1(&[2.0, 0.5]), -2)?, arr1(&[0.25, 4.0]));
/// let refused = powi(&x, -1).unwrap_err().to_string();
/// assert_eq!(refused, "powi: integers do not support the exponent -1; cast to a float type first");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.power`](https://numpy.org/doc/stable/reference/generated/numpy.power.html).
#[doc(alias = "power")]
pub fn powi<X: Operand<Elem: Numeric>>(x: &X, exponent: i32) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each { operation: op::powi.name, picoseconds: CALL, f: power_of::<X::Elem>(exponent)? })
}

/// Returns the gradient of [`powi`](crate::powi()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · exponent · *x*<sub>i</sub><sup>exponent − 1</sup>
///
/// The derivative of the power with exponent 0 is 0 everywhere.
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, powi, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::powi(&x, &upstream, 3)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::powi(&x.to_dense()?, &upstream, 3)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| powi(&arr0(at), 3).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn powi_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    exponent: i32,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| math::slope_of_pow(x, exponent.into()), upstream)
}

/// Raises each element to the power of a number.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
///
/// For an integer exponent, use [`powi`](crate::powi), which also accepts integer elements. For the exponent 2, use
/// [`square`](crate::square).
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN, except that NaN to the power of 0 is 1. Finite numbers below zero to a finite power that is not an
/// integer yield NaN. The power NaN yields NaN, except that 1 to the power of NaN is 1.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, powf};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(powf(&x, 1.5)?.to_dense()?, powf(&x.to_dense()?, 1.5)?);
/// assert_eq!(powf(&arr1(&[4.0, 0.0]), 1.5)?, arr1(&[8.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "power")]
pub fn powf<X: Operand<Elem: Float>>(x: &X, exponent: X::Elem) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&|x| math::pow(x, exponent.to_f64())))
}

/// Returns the gradient of [`powf`](crate::powf()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · exponent · *x*<sub>i</sub><sup>exponent − 1</sup>
///
/// The derivative of the power with exponent 0 is 0 everywhere.
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, powf, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::powf(&x, &upstream, 1.5)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::powf(&x.to_dense()?, &upstream, 1.5)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| powf(&arr0(at), 1.5).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn powf_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    exponent: X::Elem,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| math::slope_of_pow(x, exponent.to_f64()), upstream)
}

/// Returns the exponential of each element.
///
/// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup>
///
/// The result for a float is within 1 unit in the last place.
///
/// For a complex number *a* + *b*i, the result is e<sup>*a*</sup> (cos *b* + i sin *b*). Each part is within 3 units in
/// the last place.
///
/// # NaN
///
/// NaN yields NaN; `-inf` yields 0. Complex numbers with an infinite or NaN part yield the values of `cexp` in Annex G
/// of C99.
///
#[doc = page!(inexact)]
/// ```
/// use lacuna::{CooTensor, exp};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(exp(&x)?.to_dense()?, exp(&x.to_dense()?)?);
/// assert_eq!(exp(&arr1(&[0.0, f32::NEG_INFINITY]))?, arr1(&[1.0, 0.0]));
/// let turned = exp(&arr1(&[Complex::new(0.0, std::f64::consts::PI)]))?;
/// assert!((turned[0] + 1.0).norm() < 1e-15);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn exp<X: Operand<Elem: Inexact>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &ByKind { real: lanes::exp(), complex: complex_math::exp })
}

/// Returns the gradient of [`exp`](crate::exp()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · e<sup>*x*<sub>i</sub></sup>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, exp, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::exp(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::exp(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| exp(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn exp_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::exp, upstream)
}

/// Returns 2 to the power of each element.
///
/// *y*<sub>i</sub> = 2<sup>*x*<sub>i</sub></sup>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN; `-inf` yields 0.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, exp2};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// assert_eq!(exp2(&x)?.to_dense()?, exp2(&x.to_dense()?)?);
/// assert_eq!(exp2(&arr1(&[3.0, f64::NEG_INFINITY]))?, arr1(&[8.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn exp2<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::exp2))
}

/// Returns the gradient of [`exp2`](crate::exp2()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 2<sup>*x*<sub>i</sub></sup> ln 2
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, grad, exp2};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::exp2(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::exp2(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| exp2(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn exp2_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| std::f64::consts::LN_2 * math::exp2(x), upstream)
}

/// Returns the exponential of each element minus 1, accurate near zero.
///
/// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup> − 1
///
/// The function keeps a fill of zero.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN; `-inf` yields -1.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, exp_m1};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(exp_m1(&x)?.to_dense()?, exp_m1(&x.to_dense()?)?);
/// assert_eq!(exp_m1(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn exp_m1<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &lanes::exp_m1())
}

/// Returns the gradient of [`exp_m1`](crate::exp_m1()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · e<sup>*x*<sub>i</sub></sup>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, exp_m1, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::exp_m1(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::exp_m1(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| exp_m1(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn exp_m1_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::exp, upstream)
}

/// Returns the natural logarithm of each element.
///
/// *y*<sub>i</sub> = ln *x*<sub>i</sub>
///
/// The logarithm of zero is `-inf`, so a fill of zero becomes `-inf`. [`ln_1p`] keeps a fill of zero, and `x.stored()`
/// keeps any fill.
///
/// The result for a float is within 1 unit in the last place.
///
/// The logarithm of a complex number has the real part ln |*x*<sub>i</sub>|, and its imaginary part is the angle of
/// *x*<sub>i</sub>, from −π to π. Each part is within 3 units in the last place, also near the unit circle.
///
/// # NaN
///
/// NaN and floats below zero yield NaN. Complex numbers with an infinite or NaN part yield the values of `clog` in Annex
/// G of C99.
///
#[doc = page!(inexact)]
/// ```
/// use lacuna::{CooTensor, ln};
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(ln(&x)?.to_dense()?, ln(&x.to_dense()?)?);
/// assert_eq!(ln(&ndarray::arr1(&[Complex::new(0.0, 1.0)]))?[0], Complex::new(0.0, std::f64::consts::FRAC_PI_2));
/// assert_eq!(x.with_fill(0.0).stored().ln()?.fill(), 0.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "log")]
pub fn ln<X: Operand<Elem: Inexact>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &ByKind { real: FunctionMap(&math::ln), complex: complex_math::ln })
}

/// Returns the gradient of [`ln`](crate::ln()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, ln, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::ln(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::ln(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| ln(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn ln_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / x, upstream)
}

/// Returns the natural logarithm of 1 plus each element, accurate near zero.
///
/// *y*<sub>i</sub> = ln(1 + *x*<sub>i</sub>)
///
/// The function keeps a fill of zero.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below -1 yield NaN; -1 yields `-inf`.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, ln_1p};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(ln_1p(&x)?.to_dense()?, ln_1p(&x.to_dense()?)?);
/// assert_eq!(ln_1p(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "log1p")]
pub fn ln_1p<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &lanes::ln_1p())
}

/// Returns the gradient of [`ln_1p`](crate::ln_1p()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (1 + *x*<sub>i</sub>)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, ln_1p, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::ln_1p(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::ln_1p(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| ln_1p(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn ln_1p_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / (1.0 + x), upstream)
}

/// Returns the base-2 logarithm of each element.
///
/// *y*<sub>i</sub> = log<sub>2</sub> *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN; zero yields `-inf`.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, log2};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(log2(&x)?.to_dense()?, log2(&x.to_dense()?)?);
/// assert_eq!(log2(&arr1(&[8.0, 0.5]))?, arr1(&[3.0, -1.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log2<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::log2))
}

/// Returns the gradient of [`log2`](crate::log2()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (*x*<sub>i</sub> ln 2)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, log2, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::log2(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::log2(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| log2(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn log2_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / (x * LN_2), upstream)
}

/// Returns the base-10 logarithm of each element.
///
/// *y*<sub>i</sub> = log<sub>10</sub> *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN; zero yields `-inf`.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, log10};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(log10(&x)?.to_dense()?, log10(&x.to_dense()?)?);
/// assert_eq!(log10(&arr1(&[100.0, 1.0]))?, arr1(&[2.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log10<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::log10))
}

/// Returns the gradient of [`log10`](crate::log10()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (*x*<sub>i</sub> ln 10)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, log10, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::log10(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::log10(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| log10(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn log10_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / (x * LN_10), upstream)
}

/// Returns the function that raises a value to `exponent`, or an error if the type does not have such powers.
fn power_of<T: Numeric>(exponent: i32) -> Result<impl Fn(T) -> Option<T> + Copy + Sync> {
    if exponent < 0 && T::ZERO.to_integer().is_some() {
        let why = format!("integers do not support the exponent {exponent}; cast to a float type first");
        return Err(Error::Argument { operation: op::powi.name, why });
    }
    Ok(move |value: T| value.raised(exponent))
}
