//! Products and quotients, and their gradients.

use super::backward::{Differentiable, Gradients, gradients};
use super::descriptors::{Div, Mul, MulNonzero};
use super::{Partner, fitting, is_wholly_nan};
use crate::base::error::Result;
use crate::element::{self, Element, Float, Numeric};
use crate::kernels::op::{GroupError, Outcome};
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

impl<T: Element> Zip<T, T> for Mul {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_mul(b))
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        times(fill, other)
    }

    fn right_fill_effect(&self, other: Option<T>, fill: T) -> FillEffect {
        times(fill, other)
    }
}

/// Returns the product of two operands, element by element.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> · *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
///
/// If both fills are zero, the result stores the common entries. An unstored zero times a finite element is zero. An
/// unstored zero times an element that is not finite returns an error, because `0 * inf` is NaN. If only one fill is
/// zero and the other fill is finite, the result stores the entries of the operand with the zero fill. Other entries of
/// the other operand are not stored, and must be finite. Integers and `bool` are always finite. For `bool`, `*` is
/// `and`.
///
/// If the fill of an operand is NaN, all results with that fill are NaN: entries of only the other operand are not
/// stored. With any other fill, the result stores the union of both patterns. For [stored views](crate::Stored), the
/// result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN times any element is NaN, including zero. For complex numbers, both parts are NaN.
///
/// # Gradient
///
/// [`grad::mul`](crate::grad::mul()).
///
/// # Errors
///
/// - `Overflow`: an integer result or the fill of the result does not fit the element type;
/// - `NonFinite`: an element that is not finite is multiplied by an unstored zero of a tensor, and both fills are
///   finite. The error reports the coordinates of the element;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, mul};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
/// let z = mul(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![1], 14.0)]);
/// assert_eq!(z.to_dense()?, mul(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().mul(&y)?.entries(), [(vec![1], 14.0)]);
/// assert!(x.mul(2.0)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.multiply`](https://numpy.org/doc/stable/reference/generated/numpy.multiply.html).
#[doc(alias = "multiply")]
#[doc(alias = "times")]
#[doc(alias = "hadamard")]
#[doc(alias = "numpy.multiply")]
#[doc(alias = "torch.mul")]
pub fn mul<X: Operand<Elem: Element>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Mul)
}

impl Differentiable for Mul {
    fn to_left<T: Float + Numeric>(g: T, _: T, y: T) -> Option<T> {
        g.checked_mul(y)
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, _: T) -> Option<T> {
        g.checked_mul(x)
    }
}

/// Returns the gradients of [`mul`](crate::mul()): the upstream gradient times the other operand.
///
/// *dx* = *dz* · *y*, *dy* = *dz* · *x*
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// NaN in *y* yields NaN in *dx*, and NaN in *x* yields NaN in *dy*. An upstream gradient of zero yields `+0.0` for
/// both operands, for any elements.
///
/// # Gradient
#[doc = page!(second_gradient)]
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
/// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 0.0)?;
/// let (dx, dy) = grad::mul(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[0.0, 80.0][..], &[60.0, 0.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.mul`](https://docs.pytorch.org/docs/stable/generated/torch.mul.html).
pub fn mul_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Mul, x, y, upstream)
}

impl<T: Element> Zip<T, T> for MulNonzero {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(element::scaled(a, b))
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        if fill.is_truthy() { times(fill, other) } else { FillEffect::Annihilated }
    }

    /// A zero on the left times a fill of NaN is zero.
    fn right_fill_effect(&self, other: Option<T>, fill: T) -> FillEffect {
        if fill.isnan() { FillEffect::Counts } else { times(fill, other) }
    }
}

/// Returns the product of two operands, or 0 if the left element is zero.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> · *y*<sub>k</sub> if *x*<sub>k</sub> ≠ 0, otherwise 0
///
/// Gradients use this product: an upstream gradient of zero yields zero for any derivative.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
///
/// If the fill of *x* is zero, entries of only *y* are not stored. Otherwise the pattern is the same as for [`mul`],
/// except that all entries of *x* are stored if the fill of *y* is NaN. For [stored views](crate::Stored), the result
/// has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN times any element is NaN, and a nonzero element times NaN is NaN. Zero times NaN is `+0.0`.
///
/// # Gradient
///
/// [`grad::mul`](crate::grad::mul()), the gradient of [`mul`].
///
/// # Errors
///
/// - `Overflow`: an integer result or the fill of the result does not fit the element type;
/// - `NonFinite`: an element of *x* that is not finite is multiplied by an unstored zero of *y*, and both fills are
///   finite;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, mul_nonzero};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![0.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![0, 1, 2]], vec![f64::INFINITY, 2.0, f64::NAN], 0.0)?;
/// let z = mul_nonzero(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 0.0), (vec![1], 14.0)]);
/// assert_eq!(z.to_dense()?, mul_nonzero(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `numpy.where(x != 0, x * y, 0)`.
pub fn mul_nonzero<X: Operand<Elem: Element>, Y: Partner<X, Elem = X::Elem>>(
    x: &X,
    y: Y,
) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, MulNonzero)
}

impl<T: Numeric> Zip<T, T> for Div {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_div(b).ok_or_else(|| {
            if b.is_truthy() { GroupError::Overflow(T::DTYPE.name()) } else { GroupError::DivisionByZero }
        })
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        // At an unstored position of the divisor, its fill would be the divisor.
        match other {
            None if !fill.is_truthy() => FillEffect::AnnihilatedIfFinite,
            _ => FillEffect::annihilated_if(is_wholly_nan(fill)),
        }
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the quotient of two operands; integers are truncated toward zero.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> / *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
#[doc = page!(quotient_fill)]
#[doc = page!(implicit)]
/// # NaN
///
/// NaN divided by any element, any element divided by NaN, `0 / 0` and `inf / inf` are NaN. A complex quotient is
/// computed by Smith's method, as in numpy. A complex fill of *x* makes all results with that fill NaN only if both
/// parts are NaN.
///
/// # Gradient
///
/// [`grad::div`](crate::grad::div()).
///
/// # Errors
///
/// - `Overflow`: an integer result or the fill of the result does not fit the element type;
/// - `DivisionByZero`: an integer element or an integer fill is divided by zero;
/// - `NonFinite`: an unstored zero of *x* is divided by an element of *y* that is zero or NaN. Only a broadcast sparse
///   *y* that stores every position leads to this error;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, div};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![6.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 4.0], 1.0)?;
/// let z = div(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 6.0), (vec![1], 3.5), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, div(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().div(y.clone().with_fill(0.0).stored())?.entries(), [(vec![1], 3.5)]);
/// assert!(f64::is_nan(x.div(&y.with_fill(0.0))?.fill()));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.divide`](https://numpy.org/doc/stable/reference/generated/numpy.divide.html), except that
/// quotients of integers are integers.
#[doc(alias = "divide")]
#[doc(alias = "true_divide")]
#[doc(alias = "numpy.divide")]
#[doc(alias = "torch.div")]
pub fn div<X: Operand<Elem: Numeric>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Div)
}

impl Differentiable for Div {
    fn to_left<T: Float + Numeric>(g: T, _: T, y: T) -> Option<T> {
        g.checked_div(y)
    }

    fn to_right<T: Float + Numeric>(g: T, x: T, y: T) -> Option<T> {
        g.checked_mul(x.checked_div(y)?.checked_div(y)?)?.checked_neg()
    }
}

/// Returns the gradients of [`div`](crate::div()).
///
/// *dx* = *dz* / *y*, *dy* = −(*dz* · ((*x* / *y*) / *y*)), where each quotient and each product is rounded
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// If *y* is zero, the gradients are NaN or infinite. NaN in *y* yields NaN for both operands, and NaN in *x* yields
/// NaN in *dy*. An upstream gradient of zero yields `+0.0` for both operands, for any elements.
///
/// # Gradient
#[doc = page!(second_gradient)]
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
/// let y = CooTensor::new([3], vec![vec![1, 2]], vec![4.0, 5.0], 1.0)?;
/// let (dx, dy) = grad::div(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!(dx.values(), [10.0, 5.0]);
/// assert_eq!(dy.values(), [-3.75, 0.0]); // of 3 / 4 / 4, and of 0 / 5 / 5
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus, in the order of
/// [`torch.div`](https://docs.pytorch.org/docs/stable/generated/torch.div.html).
pub fn div_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Div, x, y, upstream)
}

/// Returns the effect of the factor `fill` on entries without a partner; `other` is the fill of their operand.
fn times<T: Element>(fill: T, other: Option<T>) -> FillEffect {
    let is_zero = !fill.is_truthy();
    if fill.isnan() || (is_zero && fill.to_integer().is_some()) {
        FillEffect::Annihilated
    } else if is_zero && other.is_none_or(Element::isfinite) {
        FillEffect::AnnihilatedIfFinite
    } else {
        FillEffect::Counts
    }
}
