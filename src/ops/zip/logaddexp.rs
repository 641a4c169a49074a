//! The logarithm of the sum of two exponentials, and its gradients.

use super::Partner;
use super::backward::{Differentiable, Gradients, gradients};
use super::descriptors::Logaddexp;
use crate::base::error::Result;
use crate::element::{Float, Numeric, math};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

impl<T: Float> Zip<T, T> for Logaddexp {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(T::from_f64(math::logaddexp(a.into(), b.into())))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the logarithm of the sum of the exponentials of two elements.
///
/// *z*<sub>k</sub> = ln(e<sup>*x*<sub>k</sub></sup> + e<sup>*y*<sub>k</sub></sup>)
///
/// The exponentials do not overflow. A result of at least 1 is within 2 units in the last place. A result near 0 can
/// have fewer correct digits, because intermediate results are rounded. Results are bitwise identical on every machine.
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
/// NaN in either element yields NaN. If an element is negative infinity, the result is the other element. This is
/// because negative infinity is the logarithm of 0.
///
/// # Gradient
///
/// [`grad::logaddexp`](crate::grad::logaddexp()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, logaddexp};
///
/// let nothing = f64::NEG_INFINITY;
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![0.5, 3.0], nothing)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![3.0, 2.0], nothing)?;
/// let z = logaddexp(&x, &y)?;
/// assert_eq!(z.values(), [0.5, 3.0 + std::f64::consts::LN_2, 2.0]);
/// assert_eq!(z.to_dense()?, logaddexp(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.logaddexp`](https://numpy.org/doc/stable/reference/generated/numpy.logaddexp.html).
#[doc(alias = "numpy.logaddexp")]
#[doc(alias = "torch.logaddexp")]
pub fn logaddexp<X: Operand<Elem: Float>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Logaddexp)
}

impl Differentiable for Logaddexp {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_logaddexp(x.into(), y.into())))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(T::from_f64(math::slope_of_logaddexp(y.into(), x.into())))
    }
}

/// Returns the gradients of [`logaddexp`](crate::logaddexp()).
///
/// *dx* = *dz* / (1 + e<sup>*y* − *x*</sup>), *dy* = *dz* / (1 + e<sup>*x* − *y*</sup>)
///
/// Each derivative is computed in `f64` and rounded once to the element type. If both elements are equal, each element
/// receives half of the upstream gradient, even if the elements are infinite.
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in either element yields NaN for both operands. An upstream gradient of zero yields `+0.0` for both operands,
/// for any elements.
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
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![1.0, 900.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 2]], vec![1.0, 2.0], 0.0)?;
/// let (dx, dy) = grad::logaddexp(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!(dx.values(), [5.0, 20.0]);
/// assert_eq!(dy.values()[0], 5.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus;
/// [`torch.logaddexp`](https://docs.pytorch.org/docs/stable/generated/torch.logaddexp.html).
pub fn logaddexp_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Logaddexp, x, y, upstream)
}
