//! The smaller and the larger of two elements, and their gradients. A fill of NaN, or of the smallest or largest
//! integer of its type, makes all results the same.

use super::backward::{Differentiable, Gradients, Unpaired, gradients};
use super::descriptors::{Maximum, Minimum};
use super::{Partner, moved};
use crate::base::error::Result;
use crate::element::{self, Element, Float, Number, Numeric, Real};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, UnpairedEntry, Zip};
use crate::ops::operand::Operand;

impl<T: Real> Zip<T, T> for Minimum {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(element::minimum(a, b))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() || is_last(fill, -1))
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() || is_last(fill, -1))
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }

    fn absorbing(&self, (min, _): (i128, i128)) -> Option<i128> {
        Some(min)
    }
}

/// Returns the smaller of two elements.
///
/// *z*<sub>k</sub> = min(*x*<sub>k</sub>, *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, the smallest integer of the type or `false`, all results with that fill are the
/// same. In this case, entries of only the other operand are not stored. For [stored views](crate::Stored), an entry of
/// only one operand is copied unchanged, and the result has the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The result is NaN if either element is NaN. `-0.0` is less than `0.0` (minimum of IEEE 754-2019).
///
/// # Gradient
///
/// [`grad::minimum`](crate::grad::minimum()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, minimum};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
/// let z = minimum(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 0.0), (vec![1], 2.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, minimum(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().minimum(&y)?.entries(), [(vec![0], 1.0), (vec![1], 2.0), (vec![2], 3.0)]);
/// assert!(x.minimum(2.0)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.minimum`](https://numpy.org/doc/stable/reference/generated/numpy.minimum.html).
#[doc(alias = "smaller")]
#[doc(alias = "numpy.minimum")]
#[doc(alias = "torch.minimum")]
pub fn minimum<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Minimum)
}

impl Differentiable for Minimum {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        shared(g, share_of(x < y, x == y))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        shared(g, share_of(y < x, x == y))
    }

    fn unpaired<T: Float + Numeric>() -> Unpaired<T> {
        [Some(|g| g), Some(|g| g)]
    }
}

/// Returns the gradients of [`minimum`](crate::minimum()).
///
/// The smaller element receives the upstream gradient. If both elements are equal, each element receives half of the
/// upstream gradient.
///
/// *dx* = *dz* if *x* < *y*, *dz* / 2 if *x* = *y*, otherwise 0; *dy* follows the same rule with *x* and *y* exchanged
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// If either element is NaN, both elements receive 0. Zeros of both signs are equal.
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
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![1, 2]], vec![3.0, -1.0], 0.0)?;
/// let (dx, dy) = grad::minimum(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[0.0, 10.0][..], &[10.0, 30.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.minimum`](https://docs.pytorch.org/docs/stable/generated/torch.minimum.html) and its gradient.
pub fn minimum_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Minimum, x, y, upstream)
}

impl<T: Real> Zip<T, T> for Maximum {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(element::maximum(a, b))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() || is_last(fill, 1))
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() || is_last(fill, 1))
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }

    fn absorbing(&self, (_, max): (i128, i128)) -> Option<i128> {
        Some(max)
    }
}

/// Returns the larger of two elements.
///
/// *z*<sub>k</sub> = max(*x*<sub>k</sub>, *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, the largest integer of the type or `true`, all results with that fill are the
/// same. In this case, entries of only the other operand are not stored. For [stored views](crate::Stored), an entry of
/// only one operand is copied unchanged, and the result has the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The result is NaN if either element is NaN. `0.0` is greater than `-0.0` (maximum of IEEE 754-2019).
///
/// # Gradient
///
/// [`grad::maximum`](crate::grad::maximum()).
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, maximum};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
/// let z = maximum(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 7.0), (vec![2], 3.0)]);
/// assert_eq!(z.to_dense()?, maximum(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().maximum(&y)?.entries(), [(vec![0], 1.0), (vec![1], 7.0), (vec![2], 3.0)]);
/// assert!(x.maximum(2.0)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.maximum`](https://numpy.org/doc/stable/reference/generated/numpy.maximum.html).
#[doc(alias = "greater")]
#[doc(alias = "numpy.maximum")]
#[doc(alias = "torch.maximum")]
pub fn maximum<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Maximum)
}

impl Differentiable for Maximum {
    fn to_left<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        shared(g, share_of(x > y, x == y))
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        shared(g, share_of(y > x, x == y))
    }

    fn unpaired<T: Float + Numeric>() -> Unpaired<T> {
        [Some(|g| g), Some(|g| g)]
    }
}

/// Returns the gradients of [`maximum`](crate::maximum()).
///
/// The larger element receives the upstream gradient. If both elements are equal, each element receives half of the
/// upstream gradient.
///
/// *dx* = *dz* if *x* > *y*, *dz* / 2 if *x* = *y*, otherwise 0; *dy* follows the same rule with *x* and *y* exchanged
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// If either element is NaN, both elements receive 0. Zeros of both signs are equal.
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
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![1, 2]], vec![3.0, -1.0], 0.0)?;
/// let (dx, dy) = grad::maximum(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 10.0][..], &[10.0, 0.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.maximum`](https://docs.pytorch.org/docs/stable/generated/torch.maximum.html) and its gradient.
pub fn maximum_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Maximum, x, y, upstream)
}

/// Returns whether the value is an integer, and its type does not have the integer `value + beyond`.
fn is_last<T: Element>(value: T, beyond: i128) -> bool {
    value.to_integer().is_some_and(|integer| T::from_number(Number::Integer(integer + beyond)).is_none())
}

/// Returns the weight of a gradient for an element that is preferred, or equal to the other element.
fn share_of<T: Float>(is_preferred: bool, is_equal: bool) -> T {
    T::from_f64(if is_preferred { 1.0 } else { 0.5 * f64::from(u8::from(is_equal)) })
}

/// Returns the gradient times a weight; `None` for a weight of 0, for any gradient.
fn shared<T: Float + Numeric>(gradient: T, share: T) -> Option<T> {
    if share == T::ONE {
        Some(gradient)
    } else if share == T::ZERO {
        None
    } else {
        gradient.checked_mul(share)
    }
}
