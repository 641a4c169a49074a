//! Trigonometric and hyperbolic functions.

use super::gradients::gradients;
use crate::base::error::Result;
use crate::element::{Float, math};
use crate::kernels::map::FunctionMap;
use crate::ops::operand::Operand;

/// Returns the sine of each element, in radians.
///
/// *y*<sub>i</sub> = sin *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::sin))
}

/// Returns the cosine of each element, in radians.
///
/// *y*<sub>i</sub> = cos *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::cos))
}

/// Returns the tangent of each element, in radians.
///
/// *y*<sub>i</sub> = tan *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and infinities yield NaN.
///
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::tan))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::asin))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::acos))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::atan))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::sinh))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::cosh))
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
#[doc = said!(float)]
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
    x.by_map(&FunctionMap(&math::tanh))
}

gradients! {
    fn sin_backward of sin() = math::cos, "cos *x*<sub>i</sub>";
    fn cos_backward of cos() = |x| -math::sin(x), "−sin *x*<sub>i</sub>";
    fn tan_backward of tan() = |x| 1.0 + square_of(math::tan(x)), "(1 + tan² *x*<sub>i</sub>)";
    fn asin_backward of asin() = |x| 1.0 / half_chord(x), "1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    fn acos_backward of acos() = |x| -1.0 / half_chord(x), "−1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    fn atan_backward of atan() = |x| 1.0 / (1.0 + x * x), "1 / (1 + *x*<sub>i</sub>²)";
    fn sinh_backward of sinh() = math::cosh, "cosh *x*<sub>i</sub>";
    fn cosh_backward of cosh() = math::sinh, "sinh *x*<sub>i</sub>";
    fn tanh_backward of tanh() = |x| square_of(1.0 / math::cosh(x)), "1 / cosh² *x*<sub>i</sub>";
}

fn square_of(x: f64) -> f64 {
    x * x
}

/// Returns half the length of the chord of the unit circle at `x`.
fn half_chord(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}
