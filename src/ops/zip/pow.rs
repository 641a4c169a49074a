//! Powers of two operands, and their gradients.

use super::backward::{Differentiable, Gradients, gradients};
use super::descriptors::Pow;
use super::{Partner, fitting};
use crate::base::error::Result;
use crate::element::{Float, Number, Numeric, math};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

impl<T: Numeric> Zip<T, T> for Pow {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.to_power(b))
    }

    /// The float 1 to any power is 1. For integers, a negative power is an error, and for complex numbers, an infinite
    /// power is NaN.
    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill == T::ONE && matches!(fill.to_number(), Number::Real(_)))
    }

    /// Any element to the power of 0 is 1.
    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        if fill.is_truthy() { FillEffect::Counts } else { FillEffect::Annihilated }
    }
}

/// Returns the left operand to the power of the right operand.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub><sup>*y*<sub>k</sub></sup>
///
/// Floats are computed in `f64` and rounded once. Results are bitwise identical on every machine. The square of a float
/// is correctly rounded. Any element to the power of 0 is 1. The float 1 to any power is 1. If all elements have the
/// same exponent, use [`powi`](crate::powi()) or [`powf`](crate::powf()).
///
/// A complex power is e<sup>*y* ln *x*</sup> with the principal logarithm, computed in `f64` and rounded once. If *y* is
/// an integer *n* with at most two digits, the power is computed by repeated squaring. Its error is then at most
/// (1 + |*n*|) · 2<sup>−53</sup> · |*z*|. Otherwise the error is at most 3 · (1 + |*y* ln *x*|) · 2<sup>−53</sup> ·
/// |*z*|. The complex zero to a power with a positive real part is 0.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
///
/// If only one operand has an entry at a position, the other operand contributes its fill. The result stores the union
/// of both patterns. The fill of the result is the power of both fills. A fill of zero is `+0.0`.
///
/// If the fill of *y* is 0, all results with that fill are 1: entries of only *x* are not stored. If *x* has float
/// elements and a fill of 1, entries of only *y* are not stored. For complex elements, this fill does not count as an
/// exception, because 1 to an infinite power is NaN. For [stored views](crate::Stored), the result has the
/// common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The result is NaN if either element is NaN, with two exceptions. NaN to the power of 0 is 1, and 1 to the power of
/// NaN is 1. A finite negative float to a finite power that is not an integer is NaN.
///
/// A complex power is NaN in both parts if *x* is 0 and *y* is neither 0 nor a number with a positive real part. Other
/// infinite and NaN parts follow from the formula.
///
/// # Gradient
///
/// [`grad::pow`](crate::grad::pow()), only for floats.
///
/// # Errors
///
/// - `Overflow`: a result or the fill of the result does not fit the integer type, or an integer has a negative
///   exponent;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, pow};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![2.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 1.0)?;
/// let z = pow(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 2.0), (vec![1], 49.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, pow(&x.to_dense()?, &y.to_dense()?)?);
/// assert!(x.pow(3.0)?.shares_pattern_with(&x));
/// let i = Complex::new(0.0, 1.0);
/// assert_eq!(pow(&arr1(&[i]), Complex::new(2.0, 0.0))?[0], Complex::new(-1.0, 0.0));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.power`](https://numpy.org/doc/stable/reference/generated/numpy.power.html).
#[doc(alias = "numpy.power")]
#[doc(alias = "power")]
#[doc(alias = "torch.pow")]
pub fn pow<X: Operand<Elem: Numeric>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Pow)
}

impl Differentiable for Pow {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_pow(x.into(), y.into())))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_exponent(x.into(), y.into())))
    }
}

/// Returns the gradients of [`pow`](crate::pow()).
///
/// *dx* = *dz* · (*y* · *x*<sup>*y* − 1</sup>), *dy* = *dz* · (*z* · ln *x*)
///
/// Each derivative is computed in `f64` and rounded once to the element type. If *y* is 0, the derivative for *x* is 0.
/// If *x* is 0 and *y* ≥ 0, the derivative for *y* is 0.
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in either element yields NaN, except for *dx* if *y* is 0, and for *dy* if *x* is 1. For a negative base, *dy*
/// is NaN. An upstream gradient of zero yields `+0.0` for both operands, for any elements.
///
/// # Gradient
#[doc = page!(no_second_gradient)]
/// # Errors
#[doc = page!(gradient_errors)]
/// # Complexity
#[doc = page!(gradient_complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
///
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![1.0, 3.0], 1.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 1]], vec![5.0, 2.0], 1.0)?;
/// let (dx, dy) = grad::pow(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!(dx.values(), [50.0, 120.0]);
/// assert_eq!(dy.values()[0], 0.0); // the logarithm of 1
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.pow`](https://docs.pytorch.org/docs/stable/generated/torch.pow.html).
pub fn pow_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Pow, x, y, upstream)
}
