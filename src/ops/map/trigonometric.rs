//! Trigonometric and hyperbolic functions.

use super::{apply, chain_rule};
use crate::base::error::Result;
use crate::element::{Float, math};
use crate::kernels::map::FunctionMap;
use crate::ops::operand::Operand;

/// Returns the sine of each element, an angle in radians.
///
/// *y*<sub>i</sub> = sin *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, sin};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(sin(&x)?.to_dense()?, sin(&x.to_dense()?)?);
/// assert_eq!(sin(&arr1(&[0.0, -0.0]))?, arr1(&[0.0, -0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn sin<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::sin))
}

/// Returns the gradient of [`sin`](crate::sin()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · cos *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, sin, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::sin(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::sin(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| sin(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn sin_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::cos, upstream)
}

/// Returns the normalized sinc of each element: sin(πx) / (πx), and 1 at 0.
///
/// *y*<sub>i</sub> = sin(π *x*<sub>i</sub>) / (π *x*<sub>i</sub>), and 1 if *x*<sub>i</sub> = 0
///
/// The result is within 3 units in the last place. At integers other than 0, the result is exactly 0. In contrast, numpy
/// rounds π *x*<sub>i</sub> before the sine.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, sinc};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// assert_eq!(sinc(&x)?.to_dense()?, sinc(&x.to_dense()?)?);
/// assert_eq!(sinc(&arr1(&[0.0, 1.0, -2.0]))?, arr1(&[1.0, 0.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.sinc`](https://numpy.org/doc/stable/reference/generated/numpy.sinc.html).
pub fn sinc<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::sinc))
}

/// Returns the gradient of [`sinc`](crate::sinc()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · (cos(π *x*<sub>i</sub>) − *y*<sub>i</sub>) / *x*<sub>i</sub>, and 0 at
/// *x*<sub>i</sub> = 0
///
/// The derivative is accurate also near 0.
///
#[doc = page!(gradient_once)]
/// ```
/// use lacuna::{CooTensor, sinc, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::sinc(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::sinc(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| sinc(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn sinc_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::slope_of_sinc, upstream)
}

/// Returns the cosine of each element, an angle in radians.
///
/// *y*<sub>i</sub> = cos *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, cos};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(cos(&x)?.to_dense()?, cos(&x.to_dense()?)?);
/// assert_eq!(cos(&arr1(&[0.0, -0.0]))?, arr1(&[1.0, 1.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn cos<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::cos))
}

/// Returns the gradient of [`cos`](crate::cos()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · −sin *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, cos, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::cos(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::cos(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| cos(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn cos_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| -math::sin(x), upstream)
}

/// Returns the tangent of each element, an angle in radians.
///
/// *y*<sub>i</sub> = tan *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, tan};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(tan(&x)?.to_dense()?, tan(&x.to_dense()?)?);
/// assert_eq!(tan(&arr1(&[0.0]))?, arr1(&[0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn tan<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::tan))
}

/// Returns the gradient of [`tan`](crate::tan()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · (1 + tan² *x*<sub>i</sub>)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, tan, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::tan(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::tan(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| tan(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn tan_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 + square_of(math::tan(x)), upstream)
}

/// Returns the arc sine of each element, between −π/2 and π/2.
///
/// *y*<sub>i</sub> = arcsin *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers outside of −1 to 1 yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, asin};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(asin(&x)?.to_dense()?, asin(&x.to_dense()?)?);
/// assert_eq!(asin(&arr1(&[0.0, 1.0]))?, arr1(&[0.0, std::f64::consts::FRAC_PI_2]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arcsin")]
pub fn asin<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::asin))
}

/// Returns the gradient of [`asin`](crate::asin()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, asin, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::asin(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::asin(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| asin(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn asin_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / half_chord(x), upstream)
}

/// Returns the arc cosine of each element, between 0 and π.
///
/// *y*<sub>i</sub> = arccos *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers outside of −1 to 1 yield NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, acos};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(acos(&x)?.to_dense()?, acos(&x.to_dense()?)?);
/// assert_eq!(acos(&arr1(&[1.0, -1.0]))?, arr1(&[0.0, std::f64::consts::PI]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arccos")]
pub fn acos<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::acos))
}

/// Returns the gradient of [`acos`](crate::acos()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · −1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, acos, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::acos(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::acos(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| acos(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn acos_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| -1.0 / half_chord(x), upstream)
}

/// Returns the arc tangent of each element, between −π/2 and π/2.
///
/// *y*<sub>i</sub> = arctan *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN; the infinities yield ±π/2.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, atan};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(atan(&x)?.to_dense()?, atan(&x.to_dense()?)?);
/// assert_eq!(atan(&arr1(&[0.0, f64::INFINITY]))?, arr1(&[0.0, std::f64::consts::FRAC_PI_2]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arctan")]
pub fn atan<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::atan))
}

/// Returns the gradient of [`atan`](crate::atan()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (1 + *x*<sub>i</sub>²)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, atan, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::atan(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::atan(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| atan(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn atan_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / (1.0 + x * x), upstream)
}

/// Returns the hyperbolic sine of each element.
///
/// *y*<sub>i</sub> = (e<sup>*x*<sub>i</sub></sup> − e<sup>−*x*<sub>i</sub></sup>) / 2
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN yields NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, sinh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(sinh(&x)?.to_dense()?, sinh(&x.to_dense()?)?);
/// assert_eq!(sinh(&arr1(&[0.0, -0.0]))?, arr1(&[0.0, -0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn sinh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::sinh))
}

/// Returns the gradient of [`sinh`](crate::sinh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · cosh *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, sinh, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::sinh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::sinh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| sinh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn sinh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::cosh, upstream)
}

/// Returns the hyperbolic cosine of each element.
///
/// *y*<sub>i</sub> = (e<sup>*x*<sub>i</sub></sup> + e<sup>−*x*<sub>i</sub></sup>) / 2
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN yields NaN.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, cosh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(cosh(&x)?.to_dense()?, cosh(&x.to_dense()?)?);
/// assert_eq!(cosh(&arr1(&[0.0]))?, arr1(&[1.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn cosh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::cosh))
}

/// Returns the gradient of [`cosh`](crate::cosh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · sinh *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, cosh, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::cosh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::cosh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| cosh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn cosh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::sinh, upstream)
}

/// Returns the hyperbolic tangent of each element.
///
/// *y*<sub>i</sub> = sinh *x*<sub>i</sub> / cosh *x*<sub>i</sub>
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN yields NaN; the infinities yield ±1.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, tanh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(tanh(&x)?.to_dense()?, tanh(&x.to_dense()?)?);
/// assert_eq!(tanh(&arr1(&[0.0, f64::INFINITY]))?, arr1(&[0.0, 1.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn tanh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::tanh))
}

/// Returns the gradient of [`tanh`](crate::tanh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / cosh² *x*<sub>i</sub>
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, tanh, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::tanh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::tanh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| tanh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn tanh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| square_of(1.0 / math::cosh(x)), upstream)
}

/// Returns the inverse hyperbolic sine of each element.
///
/// *y*<sub>i</sub> = arsinh *x*<sub>i</sub>
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN yields NaN; infinities are unchanged.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, asinh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// assert_eq!(asinh(&x)?.to_dense()?, asinh(&x.to_dense()?)?);
/// assert_eq!(asinh(&arr1(&[-0.0, f64::INFINITY]))?, arr1(&[-0.0, f64::INFINITY]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arcsinh")]
pub fn asinh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::asinh))
}

/// Returns the gradient of [`asinh`](crate::asinh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / √(1 + *x*<sub>i</sub>²)
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, grad, asinh};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::asinh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::asinh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| asinh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn asinh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / math::hypot(x, 1.0), upstream)
}

/// Returns the inverse hyperbolic cosine of each element.
///
/// *y*<sub>i</sub> = arcosh *x*<sub>i</sub>, which is at least 0
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN and numbers below 1 yield NaN, so a fill of 0 becomes NaN. Infinity yields infinity.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, acosh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.25, 1.5], 1.0)?;
/// assert_eq!(acosh(&x)?.to_dense()?, acosh(&x.to_dense()?)?);
/// assert_eq!(acosh(&arr1(&[1.0, f64::INFINITY]))?, arr1(&[0.0, f64::INFINITY]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arccosh")]
pub fn acosh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::acosh))
}

/// Returns the gradient of [`acosh`](crate::acosh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / (√(*x*<sub>i</sub> − 1) √(*x*<sub>i</sub> + 1))
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, grad, acosh};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.25, 1.5], 1.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::acosh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::acosh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| acosh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(1.25 + 1e-6)? - f(1.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn acosh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()), upstream)
}

/// Returns the inverse hyperbolic tangent of each element.
///
/// *y*<sub>i</sub> = artanh *x*<sub>i</sub>
///
/// The result is within 2 units in the last place.
///
/// # NaN
///
/// NaN and numbers outside of −1 to 1 yield NaN; ±1 yields an infinity of the same sign.
///
#[doc = page!(float)]
/// ```
/// use lacuna::{CooTensor, atanh};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// assert_eq!(atanh(&x)?.to_dense()?, atanh(&x.to_dense()?)?);
/// assert_eq!(atanh(&arr1(&[-0.0, 1.0]))?, arr1(&[-0.0, f64::INFINITY]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "arctanh")]
pub fn atanh<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &FunctionMap(&math::atanh))
}

/// Returns the gradient of [`atanh`](crate::atanh()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · 1 / ((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, grad, atanh};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::atanh(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::atanh(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| atanh(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn atanh_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|x| 1.0 / ((1.0 - x) * (1.0 + x)), upstream)
}

fn square_of(x: f64) -> f64 {
    x * x
}

/// Returns half the length of the chord of the unit circle at `x`.
fn half_chord(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}
