//! Signs, magnitudes, bounds, bits, and parts of complex numbers.

use super::{apply, chain_rule};
use crate::base::error::{Error, Result};
use crate::element::{Bits, ComplexElement, Float, Magnitude, Numeric, Real, Signed, math};
use crate::kernels::map::{CALL, Each};
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the negative of each element.
///
/// *y*<sub>i</sub> = −*x*<sub>i</sub>
///
/// Unsigned integers and `bool` do not have negatives, and do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN.
///
/// # Gradient
///
/// [`grad::neg`](crate::grad::neg()), only for floats: *dx*<sub>i</sub> = −*dy*<sub>i</sub>
///
/// # Errors
///
/// - `Overflow`: the negative of the smallest integer of a signed type does not fit the type;
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Error, neg};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3i8, -4], 0)?;
/// let y = neg(&x)?;
/// assert_eq!(y.values(), [-3, 4]);
/// assert_eq!(y.to_dense()?, neg(&x.to_dense()?)?);
/// let least = CooTensor::new([3], vec![vec![0, 2]], vec![3, i8::MIN], 0)?;
/// let refused = neg(&least).unwrap_err().to_string();
/// assert_eq!(refused, "neg at [2] does not fit int8; cast the operand first, for example to float64");
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use lacuna::{CooTensor, neg};
/// neg(&CooTensor::full([2], 1u8).unwrap());
/// ```
///
/// Definition: [`numpy.negative`](https://numpy.org/doc/stable/reference/generated/numpy.negative.html).
#[doc(alias = "negative")]
pub fn neg<X: Operand<Elem: Signed>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each::quick(op::neg.name, X::Elem::negated))
}

/// Returns the gradient of [`neg`](crate::neg()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · −1
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, neg, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::neg(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::neg(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| neg(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn neg_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &|_| -1.0, upstream)
}

/// Returns the magnitude of each element.
///
/// *y*<sub>i</sub> = |*x*<sub>i</sub>|
///
/// The magnitude of a complex number is a real number, and is within 1 unit in the last place. `bool` does not have a
/// magnitude, and does not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN. The magnitude of a complex number with an infinite part is infinite, even if the other
/// part is NaN.
///
/// # Gradient
///
/// [`grad::abs`](crate::grad::abs()), only for floats: *dx*<sub>i</sub> = *dy*<sub>i</sub> · sign *x*<sub>i</sub>
///
/// # Errors
///
/// - `Overflow`: the magnitude of the smallest integer of a signed type does not fit the type;
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Error, abs};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], -1)?;
/// assert_eq!(abs(&x)?.to_dense()?, arr1(&[3, 1, 4]).into_dyn());
/// assert_eq!(abs(&x)?.to_dense()?, abs(&x.to_dense()?)?);
/// assert_eq!(abs(&arr1(&[Complex::new(3.0, -4.0)]))?, arr1(&[5.0]));
/// let fill = CooTensor::full([2], i8::MIN)?;
/// let refused = abs(&fill).unwrap_err().to_string();
/// assert_eq!(refused, "abs at the fill does not fit int8; cast the operand first, for example to float64");
/// # Ok::<(), Error>(())
/// ```
///
/// Definition: [`numpy.absolute`](https://numpy.org/doc/stable/reference/generated/numpy.absolute.html).
#[doc(alias = "absolute")]
#[doc(alias = "fabs")]
#[doc(alias = "norm")]
pub fn abs<X: Operand<Elem: Magnitude>>(x: &X) -> Result<X::Mapped<<X::Elem as Magnitude>::Magnitude>> {
    apply(x, &Each::quick(op::abs.name, X::Elem::magnitude))
}

/// Returns the gradient of [`abs`](crate::abs()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · sign *x*<sub>i</sub>
///
/// The derivative at zero is 0.
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, abs, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::abs(&x, &upstream)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::abs(&x.to_dense()?, &upstream)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| abs(&arr0(at)).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn abs_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    chain_rule(x, &math::sign, upstream)
}

/// Returns the sign of each element: -1, 0 or 1.
///
/// *y*<sub>i</sub> = −1 if *x*<sub>i</sub> < 0, 0 if *x*<sub>i</sub> = 0, and 1 if *x*<sub>i</sub> > 0
///
/// Zeros of real types keep their sign. In contrast, `f64::signum` of a zero is ±1.
///
/// The sign of a complex number is *x*<sub>i</sub> / |*x*<sub>i</sub>|, and 0 for zero. Each part is within 2 units in
/// the last place. `bool` does not have a sign, and does not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN. If one part of a complex number is infinite, the other part counts as 0, even if it is
/// NaN. A complex number with two infinite parts, or with a part of NaN and no infinite part, yields NaN in both parts.
///
/// # Gradient
///
/// None: the result is constant almost everywhere, and complex numbers do not have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, sign};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let x = CooTensor::new([4], vec![vec![0, 2, 3]], vec![0.5, -0.0, -7.0], 0.0)?;
/// assert_eq!(sign(&x)?.to_dense()?, arr1(&[1.0, 0.0, -0.0, -1.0]).into_dyn());
/// assert_eq!(sign(&x)?.to_dense()?, sign(&x.to_dense()?)?);
/// assert_eq!(sign(&arr1(&[7u8, 0]))?, arr1(&[1, 0]));
/// assert_eq!(sign(&arr1(&[Complex::new(3.0, -4.0)]))?, arr1(&[Complex::new(0.6, -0.8)]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.sign`](https://numpy.org/doc/stable/reference/generated/numpy.sign.html) of numpy 2.
#[doc(alias = "signum")]
pub fn sign<X: Operand<Elem: Numeric>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each::quick(op::sign.name, |value: X::Elem| Some(value.sign())))
}

/// Returns each element clamped to two bounds.
///
/// *y*<sub>i</sub> = min(max(*x*<sub>i</sub>, low), high)
///
/// Zeros of both signs are equal, and stored zeros within the bounds keep their sign. Complex numbers are not ordered,
/// and do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN.
///
/// # Gradient
///
/// [`grad::clamp`](crate::grad::clamp()), only for floats: *dx*<sub>i</sub> = *dy*<sub>i</sub> if low ≤ *x*<sub>i</sub>
/// ≤ high, otherwise 0 · *dy*<sub>i</sub>
///
/// # Errors
///
/// - `Argument`: the lower bound is above the upper bound, or a bound is NaN;
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, clamp};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3.0, -4.0], 0.5)?;
/// assert_eq!(clamp(&x, -1.0, 1.0)?.to_dense()?, arr1(&[1.0, 0.5, -1.0]).into_dyn());
/// assert_eq!(clamp(&x, -1.0, 1.0)?.to_dense()?, clamp(&x.to_dense()?, -1.0, 1.0)?);
/// let refused = clamp(&x, 2.0, 1.0).unwrap_err();
/// assert_eq!(refused.to_string(), "clamp: the lower bound 2.0 is above the upper bound 1.0");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.clip`](https://numpy.org/doc/stable/reference/generated/numpy.clip.html), which accepts bounds
/// in any order.
#[doc(alias = "clip")]
pub fn clamp<X: Operand<Elem: Real>>(x: &X, low: X::Elem, high: X::Elem) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each::quick(op::clamp.name, within(low, high)?))
}

/// Returns the gradient of [`clamp`](crate::clamp()): the upstream gradient times the derivative.
///
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> if low ≤ *x*<sub>i</sub> ≤ high, otherwise 0 · *dy*<sub>i</sub>
///
/// If [`clamp`](crate::clamp()) rejects the bounds, this function returns the same `Argument` error.
///
#[doc = page!(gradient)]
/// ```
/// use lacuna::{CooTensor, clamp, grad};
/// use ndarray::{arr0, arr1};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
/// let upstream = arr1(&[2.0, 1.0, -1.0]);
/// let dx = grad::clamp(&x, &upstream, 0.1, 0.3)?;
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::clamp(&x.to_dense()?, &upstream, 0.1, 0.3)?;
/// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
///
/// // Twice the derivative of the function.
/// let f = |at: f64| clamp(&arr0(at), 0.1, 0.3).map(ndarray::Array0::into_scalar);
/// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
/// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "vjp")]
pub fn clamp_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    low: X::Elem,
    high: X::Elem,
) -> Result<X::Mapped<U::Elem>> {
    let (low, high) = checked_bounds(low.to_f64(), high.to_f64())?;
    let slope = move |x: f64| if x.is_nan() { x } else { f64::from(u8::from((low..=high).contains(&x))) };
    chain_rule(x, &slope, upstream)
}

/// Returns each element with all bits inverted; for `bool`, the negation.
///
/// *y*<sub>i</sub> = ¬*x*<sub>i</sub>
///
/// Floats and complex numbers do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// Integers and `bool` do not have NaN.
///
/// # Gradient
///
/// None: integers and `bool` do not have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, not};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![true, false], false)?;
/// assert_eq!(not(&x)?.to_dense()?, arr1(&[false, true, true]).into_dyn());
/// assert_eq!(not(&x)?.to_dense()?, not(&x.to_dense()?)?);
/// assert_eq!(not(&arr1(&[0u8, 1]))?, arr1(&[255, 254]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.invert`](https://numpy.org/doc/stable/reference/generated/numpy.invert.html).
#[doc(alias = "logical_not")]
#[doc(alias = "bitwise_not")]
#[doc(alias = "invert")]
pub fn not<X: Operand<Elem: Bits>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &Each::quick(op::not.name, |value: X::Elem| Some(!value)))
}

/// Returns the complex conjugate of each element.
///
/// *y*<sub>i</sub> = Re *x*<sub>i</sub> − i Im *x*<sub>i</sub>
///
/// Types without an imaginary part do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// A part that is NaN yields the canonical NaN.
///
/// # Gradient
///
/// None: only floats have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, conj};
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0, 2.0)], Complex::ZERO)?;
/// assert_eq!(conj(&x)?.values(), [Complex::new(1.0, -2.0)]);
/// assert_eq!(conj(&x)?.to_dense()?, conj(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.conj`](https://numpy.org/doc/stable/reference/generated/numpy.conj.html).
#[doc(alias = "conjugate")]
pub fn conj<X: Operand<Elem: ComplexElement>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(
        x,
        &Each::quick(op::conj.name, |value: X::Elem| {
            let (re, im) = value.parts();
            Some(X::Elem::of_parts(canonical(re), im.negated()?))
        }),
    )
}

/// Returns the real part of each element.
///
/// *y*<sub>i</sub> = Re *x*<sub>i</sub>
///
/// Types without an imaginary part do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// A NaN yields the canonical NaN.
///
/// # Gradient
///
/// None: only floats have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, real};
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0f32, 2.0)], Complex::ZERO)?;
/// assert_eq!(real(&x)?.values(), [1.0]);
/// assert_eq!(real(&x)?.to_dense()?, real(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.real`](https://numpy.org/doc/stable/reference/generated/numpy.real.html).
pub fn real<X: Operand<Elem: ComplexElement>>(x: &X) -> Result<X::Mapped<<X::Elem as ComplexElement>::Part>> {
    apply(x, &Each::quick(op::real.name, |value: X::Elem| Some(canonical(value.parts().0))))
}

/// Returns the imaginary part of each element.
///
/// *y*<sub>i</sub> = Im *x*<sub>i</sub>
///
/// Types without an imaginary part do not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// A NaN yields the canonical NaN.
///
/// # Gradient
///
/// None: only floats have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, imag};
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0f32, 2.0)], Complex::ZERO)?;
/// assert_eq!(imag(&x)?.values(), [2.0]);
/// assert_eq!(imag(&x)?.to_dense()?, imag(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.imag`](https://numpy.org/doc/stable/reference/generated/numpy.imag.html).
pub fn imag<X: Operand<Elem: ComplexElement>>(x: &X) -> Result<X::Mapped<<X::Elem as ComplexElement>::Part>> {
    apply(x, &Each::quick(op::imag.name, |value: X::Elem| Some(canonical(value.parts().1))))
}

/// Returns the angle of each element in the complex plane, between −π and π.
///
/// *y*<sub>i</sub> = atan2(Im *x*<sub>i</sub>, Re *x*<sub>i</sub>)
///
/// The angle is in radians and is computed in `f64`, within 2 units in the last place. Results are bitwise identical on
/// every machine. The sign of an imaginary part of zero selects between −π and π. Types without an imaginary part do
/// not compile.
///
#[doc = page!(shapes)]
/// # NaN
///
/// NaN in either part yields the canonical NaN.
///
/// # Gradient
///
/// None: only floats have gradients.
///
/// # Errors
///
#[doc = page!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, angle};
/// use num_complex::Complex;
/// use std::f64::consts::{FRAC_PI_4, PI};
///
/// let x = CooTensor::new([3], vec![vec![1, 2]], vec![Complex::new(2.0, -2.0), Complex::new(-1.0, 0.0)], Complex::ZERO)?;
/// assert_eq!(angle(&x)?.values(), [-FRAC_PI_4, PI]);
/// assert_eq!(angle(&x)?.to_dense()?, angle(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.angle`](https://numpy.org/doc/stable/reference/generated/numpy.angle.html) of complex numbers.
#[doc(alias = "arg")]
#[doc(alias = "phase")]
pub fn angle<X: Operand<Elem: ComplexElement>>(x: &X) -> Result<X::Mapped<<X::Elem as ComplexElement>::Part>> {
    let angle_of = |value: X::Elem| {
        let (re, im) = value.parts();
        Some(Float::from_f64(math::atan2(im.into(), re.into())))
    };
    apply(x, &Each { operation: op::angle.name, picoseconds: CALL, f: angle_of })
}

/// Returns the same number; NaN becomes the canonical NaN.
fn canonical<T: Float>(value: T) -> T {
    if value.isnan() { T::NAN } else { value }
}

/// Returns the bounds, or an error if the lower bound is above the upper bound or either is NaN.
fn checked_bounds<T: Real>(low: T, high: T) -> Result<(T, T)> {
    if low <= high {
        return Ok((low, high));
    }
    let (low, high) = (low.to_number(), high.to_number());
    let why = format!("the lower bound {low} is above the upper bound {high}");
    Err(Error::Argument { operation: op::clamp.name, why })
}

/// Returns the function that clamps a value to the bounds.
fn within<T: Real>(low: T, high: T) -> Result<impl Fn(T) -> Option<T> + Copy + Sync> {
    let (low, high) = checked_bounds(low, high)?;
    Ok(move |value: T| {
        let bounded = if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        };
        Some(if value.isnan() { value.as_implicit() } else { bounded })
    })
}
