//! The distance and the angle of points in a plane, and their gradients.

use super::Partner;
use super::backward::{Differentiable, Gradients, gradients};
use super::descriptors::{Atan2, Hypot};
use crate::base::error::Result;
use crate::element::{Float, Numeric, math};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

impl<T: Float> Zip<T, T> for Hypot {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(T::from_f64(math::hypot(a.into(), b.into())))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isinf())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isinf())
    }
}

/// Returns the square root of the sum of the squares of two elements.
///
/// *z*<sub>k</sub> = √(*x*<sub>k</sub>² + *y*<sub>k</sub>²)
///
/// The result is within 1 unit in the last place. The squares do not overflow. Results are bitwise identical on every
/// machine.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is infinite, all results with that fill are infinite, so entries of only the other operand
/// are not stored. For [stored views](crate::Stored), the result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// An infinite element yields infinity, even if the other element is NaN. Otherwise, NaN in either element yields NaN.
///
/// # Gradient
///
/// [`grad::hypot`](crate::grad::hypot()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, hypot};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-3.0, 5.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![0, 2]], vec![4.0, 2.0], 0.0)?;
/// let z = hypot(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 5.0), (vec![1], 5.0), (vec![2], 2.0)]);
/// assert_eq!(z.to_dense()?, hypot(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.hypot`](https://numpy.org/doc/stable/reference/generated/numpy.hypot.html).
#[doc(alias = "numpy.hypot")]
#[doc(alias = "torch.hypot")]
pub fn hypot<X: Operand<Elem: Float>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Hypot)
}

impl Differentiable for Hypot {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_hypot(x.into(), y.into())))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_hypot(y.into(), x.into())))
    }
}

/// Returns the gradients of [`hypot`](crate::hypot()).
///
/// *dx* = *dz* · (*x* / *z*), *dy* = *dz* · (*y* / *z*)
///
/// Each derivative is computed in `f64` and rounded once to the element type. At the point (0, 0), both derivatives
/// are 0.
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in either element yields NaN for both operands. The gradient of an infinite element is NaN. An upstream gradient
/// of zero yields `+0.0` for both operands, for any elements.
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
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![-3.0, 5.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 2]], vec![4.0, 2.0], 0.0)?;
/// let (dx, dy) = grad::hypot(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!(dx.values(), [-6.0, 20.0]);
/// assert_eq!(dy.values(), [8.0, 30.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.hypot`](https://docs.pytorch.org/docs/stable/generated/torch.hypot.html).
pub fn hypot_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Hypot, x, y, upstream)
}

impl<T: Float> Zip<T, T> for Atan2 {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(T::from_f64(math::atan2(a.into(), b.into())))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the angle of a point whose ordinate is the left operand, in radians.
///
/// *z*<sub>k</sub> = the angle from −π to π between the positive horizontal axis and the point with the abscissa
/// *y*<sub>k</sub> and the ordinate *x*<sub>k</sub>
///
/// The order of the operands is as in numpy. The result is within 2 units in the last place. Results are bitwise
/// identical on every machine.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, all results with that fill are NaN: entries of only the other operand are not
/// stored. For [stored views](crate::Stored), the result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN in either element yields NaN. The angle of two zeros is ±0 if *y* is +0.0, and ±π if *y* is −0.0; the sign is
/// the sign of *x*.
///
/// # Gradient
///
/// [`grad::atan2`](crate::grad::atan2()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, atan2};
/// use std::f64::consts::{FRAC_PI_2, PI};
///
/// let y = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 0.0], 0.0)?;
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![-2.0, 2.0], 0.0)?;
/// let angle = atan2(&y, &x)?;
/// assert_eq!(angle.entries(), [(vec![0], FRAC_PI_2), (vec![1], PI), (vec![2], 0.0)]);
/// assert_eq!(angle.to_dense()?, atan2(&y.to_dense()?, &x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.arctan2`](https://numpy.org/doc/stable/reference/generated/numpy.arctan2.html).
#[doc(alias = "arctan2")]
#[doc(alias = "numpy.arctan2")]
#[doc(alias = "torch.atan2")]
pub fn atan2<X: Operand<Elem: Float>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Atan2)
}

impl Differentiable for Atan2 {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slopes_of_atan2(x.into(), y.into()).0))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slopes_of_atan2(x.into(), y.into()).1))
    }
}

/// Returns the gradients of [`atan2`](crate::atan2()).
///
/// *dx* = *dz* · *y* / (*x*² + *y*²), *dy* = −*dz* · *x* / (*x*² + *y*²)
///
/// Each derivative is computed in `f64` and rounded once to the element type. At the point (0, 0), both derivatives
/// are 0.
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in either element yields NaN for both operands. If only *y* is infinite, *dx* is NaN and *dy* is 0. If only *x*
/// is infinite, *dx* is 0 and *dy* is NaN. If both elements are infinite, both gradients are NaN. An upstream gradient
/// of zero yields `+0.0` for both operands, for any elements.
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
/// let y = CooTensor::new([3], vec![vec![0, 1]], vec![0.0, 2.0], 0.0)?;
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![4.0, 5.0], 0.0)?;
/// let (dy, dx) = grad::atan2(&y, &x, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!(dy.values(), [2.5, 0.0]);
/// assert_eq!(dx.values(), [0.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.atan2`](https://docs.pytorch.org/docs/stable/generated/torch.atan2.html).
pub fn atan2_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Atan2, x, y, upstream)
}
