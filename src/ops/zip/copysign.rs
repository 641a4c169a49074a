//! The magnitude of one operand with the sign of the other, and its gradients.

use super::Partner;
use super::backward::{Differentiable, Gradients, gradients};
use super::descriptors::Copysign;
use crate::base::error::Result;
use crate::element::{Float, Numeric};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

/// Returns 1 or -1 with the sign of a value. A NaN does not have a sign here, so its sign is 1.
#[inline(always)]
fn sign_of<T: Float>(value: T) -> f64 {
    if value.isnan() { 1.0 } else { 1f64.copysign(value.into()) }
}

impl<T: Float> Zip<T, T> for Copysign {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        let magnitude: f64 = a.into();
        Ok(T::from_f64(magnitude.copysign(sign_of(b))))
    }

    /// A magnitude of NaN yields NaN. A magnitude of 0 yields 0, of either sign.
    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() || !fill.is_truthy())
    }
}

/// Returns the magnitude of the left operand with the sign of the right operand.
///
/// *z*<sub>k</sub> = |*x*<sub>k</sub>| if *y*<sub>k</sub> is positive or +0.0, and −|*x*<sub>k</sub>| if
/// *y*<sub>k</sub> is negative or −0.0
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
/// If *x* has a fill of 0 or NaN, entries of only *y* are not stored. In this case, the fill of the result is `+0.0` or
/// NaN. Otherwise the result stores the union of both patterns: if only one operand has an entry at a position, the
/// other operand contributes its fill. For [stored views](crate::Stored), the result has the common entries and the
/// common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN in *x* yields NaN. NaN in *y* counts as positive for any sign bit, because lacuna does not distinguish NaNs.
/// numpy and PyTorch read the sign bit of a NaN.
///
/// # Gradient
///
/// [`grad::copysign`](crate::grad::copysign()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, copysign};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, -7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![0, 2]], vec![-2.0, -3.0], 0.0)?;
/// let z = copysign(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], -1.0), (vec![1], 7.0)]);
/// assert_eq!(z.to_dense()?, copysign(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().copysign(&y)?.entries(), [(vec![0], -1.0)]);
/// assert_eq!(x.copysign(-0.0)?.values(), [-1.0, -7.0]);
/// assert_eq!(x.copysign(-f64::NAN)?.values(), [1.0, 7.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.copysign`](https://numpy.org/doc/stable/reference/generated/numpy.copysign.html), except for the
/// sign of NaN.
#[doc(alias = "numpy.copysign")]
#[doc(alias = "torch.copysign")]
pub fn copysign<X: Operand<Elem: Float>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Copysign)
}

impl Differentiable for Copysign {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        match x {
            x if x.isnan() => Some(T::NAN),
            x if !x.is_truthy() => None,
            x if sign_of(x) == sign_of(y) => Some(g),
            _ => g.checked_neg(),
        }
    }

    fn to_right<T: Float + Numeric>(_: T, _: T, _: T) -> Option<T> {
        None
    }
}

/// Returns the gradients of [`copysign`](crate::copysign()): plus or minus the upstream gradient, and 0.
///
/// *dx* = *dz* · sign *x* · sign *y*, where the sign of *y* is 1 or −1; *dy* = 0
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in *x* yields NaN in *dx*, and NaN in *y* counts as positive. An upstream gradient of zero yields `+0.0` for all
/// elements.
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
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, -3.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 1]], vec![-1.0, -1.0], 0.0)?;
/// let (dx, dy) = grad::copysign(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[-10.0, 20.0][..], &[0.0, 0.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.copysign`](https://docs.pytorch.org/docs/stable/generated/torch.copysign.html) and its gradient,
/// except at infinity, where the gradient of PyTorch is NaN.
pub fn copysign_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Copysign, x, y, upstream)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the bits of a result. Every NaN has the bits of the canonical NaN.
    fn assert_bits(a: f64, b: f64, expected: f64) {
        let found = Zip::<f64, f64>::apply(&Copysign, a, b).unwrap();
        assert_eq!(found.to_bits(), expected.to_bits(), "{a} {b}");
    }

    #[test]
    fn zeros_infinities_and_nan() {
        for a in [0.0, -0.0, 2.5, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 2.0] {
            for b in [0.0, 1.0, f64::INFINITY, f64::NAN, -f64::NAN] {
                assert_bits(a, b, a.abs());
            }
            for b in [-0.0, -1.0, f64::NEG_INFINITY] {
                assert_bits(a, b, -a.abs());
            }
        }
        for b in [-1.0, 0.0, f64::NAN] {
            assert_bits(-f64::NAN, b, <f64 as Float>::NAN);
        }
    }

    #[test]
    fn gradients_at_zeros_infinities_and_nan() {
        let to_left = |x: f64, y: f64| Copysign::to_left(3.0, x, y);
        assert_eq!([to_left(0.0, 1.0), to_left(-0.0, -1.0)], [None, None]);
        assert_eq!([to_left(f64::NEG_INFINITY, -0.0), to_left(-2.0, 0.0)], [Some(3.0), Some(-3.0)]);
        assert_eq!(to_left(-2.0, -f64::NAN), Some(-3.0));
        assert!(to_left(f64::NAN, 1.0).is_some_and(f64::is_nan));
        assert_eq!(Copysign::to_right(3.0, 2.0, f64::NAN), None);
    }
}
