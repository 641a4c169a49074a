//! Sums and differences, and their gradients.

use super::backward::{Differentiable, Gradients, Unpaired, gradients};
use super::descriptors::{Add, Sub};
use super::{Partner, fitting, is_wholly_nan, moved};
use crate::base::error::Result;
use crate::element::{Element, Float, Numeric};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, UnpairedEntry, Zip};
use crate::ops::operand::Operand;

impl<T: Element> Zip<T, T> for Add {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_add(b))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(is_wholly_nan(fill))
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(is_wholly_nan(fill))
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }
}

/// Returns the sum of two operands.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> + *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, all results with that fill are NaN: entries of only the other operand are not
/// stored. For [stored views](crate::Stored), an entry of only one operand is copied unchanged, and the result has the
/// common fill. A broadcast sparse row or column does not add entries: the result has only the entries of the other
/// operand. If the other operand is an array, the result also has only the entries of the view.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN plus any element is NaN. A complex sum is computed part by part, so only a fill with NaN in both parts makes all
/// results the same.
///
/// # Gradient
///
/// [`grad::add`](crate::grad::add()).
///
/// # Errors
///
/// - `Overflow`: an integer result or the fill of the result does not fit the element type;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, add};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
/// let z = add(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 9.0), (vec![2], 3.0)]);
/// assert_eq!(z.to_dense()?, add(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().add(&y)?.entries(), [(vec![0], 1.0), (vec![1], 9.0), (vec![2], 3.0)]);
/// assert!(x.add(2.0)?.shares_pattern_with(&x));
/// assert_eq!((&x + &y).entries(), z.entries()); // panics where `add` has an error
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.add`](https://numpy.org/doc/stable/reference/generated/numpy.add.html).
#[doc(alias = "plus")]
#[doc(alias = "numpy.add")]
#[doc(alias = "torch.add")]
pub fn add<X: Operand<Elem: Element>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Add)
}

impl Differentiable for Add {
    fn to_left<T: Float + Numeric>(g: T, _: T, _: T) -> Option<T> {
        Some(g)
    }

    fn to_right<T: Float + Numeric>(g: T, _: T, _: T) -> Option<T> {
        Some(g)
    }

    fn unpaired<T: Float + Numeric>() -> Unpaired<T> {
        [Some(|g| g), Some(|g| g)]
    }
}

/// Returns the gradients of [`add`](crate::add()): the upstream gradient for both operands.
///
/// *dx* = *dz*, *dy* = *dz*
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// Gradients are passed on unchanged, except that a zero is `+0.0`.
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
/// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
/// let (dx, dy) = grad::add(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[30.0][..]));
/// assert!(dx.shares_pattern_with(&x));
/// // the gradient of a broadcast row has the sums of the columns
/// let (_, drow) = grad::add(&ndarray::arr2(&[[1.0; 3]; 2]), &x, &ndarray::arr2(&[[1.0, 2.0, 3.0],
/// [10.0, 20.0, 30.0]]))?; assert_eq!(drow.values(), [11.0, 22.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.add`](https://docs.pytorch.org/docs/stable/generated/torch.add.html).
pub fn add_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Add, x, y, upstream)
}

impl<T: Numeric> Zip<T, T> for Sub {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_sub(b))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(is_wholly_nan(fill))
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(is_wholly_nan(fill))
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        match entry {
            UnpairedEntry::Left(value) => Ok(value),
            UnpairedEntry::Right(value) => fitting(value.checked_neg()),
        }
    }
}

/// Returns the difference of two operands.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> − *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, all results with that fill are NaN: entries of only the other operand are not
/// stored. For [stored views](crate::Stored), an entry of only the left operand is copied unchanged, and an entry of
/// only the right operand is negated. The result has the common fill. A broadcast sparse row or column does not add
/// entries: the result has only the entries of the other operand. If the other operand is an array, the result also has
/// only the entries of the view.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN minus any element is NaN, and any element minus NaN is NaN. For complex numbers, see [`add`].
///
/// # Gradient
///
/// [`grad::sub`](crate::grad::sub()).
///
/// # Errors
///
/// - `Overflow`: an integer result or the fill of the result does not fit the element type;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, sub};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
/// let z = sub(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 5.0), (vec![2], -3.0)]);
/// assert_eq!(z.to_dense()?, sub(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().sub(&y)?.entries(), [(vec![0], 1.0), (vec![1], 5.0), (vec![2], -3.0)]);
/// assert!(x.sub(2.0)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, sub};
///
/// let x = CooTensor::full([2], true)?;
/// sub(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.subtract`](https://numpy.org/doc/stable/reference/generated/numpy.subtract.html).
#[doc(alias = "minus")]
#[doc(alias = "subtract")]
#[doc(alias = "numpy.subtract")]
#[doc(alias = "torch.sub")]
pub fn sub<X: Operand<Elem: Numeric>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Sub)
}

impl Differentiable for Sub {
    fn to_left<T: Float + Numeric>(g: T, _: T, _: T) -> Option<T> {
        Some(g)
    }

    fn to_right<T: Float + Numeric>(g: T, _: T, _: T) -> Option<T> {
        g.checked_neg()
    }

    fn unpaired<T: Float + Numeric>() -> Unpaired<T> {
        [Some(|g| g), Some(|g| g.checked_neg().unwrap_or(g))]
    }
}

/// Returns the gradients of [`sub`](crate::sub()): the upstream gradient, and its negative.
///
/// *dx* = *dz*, *dy* = −*dz*
///
/// # Shapes
#[doc = page!(gradient_shapes)]
/// # Implicit values
#[doc = page!(gradient_implicit)]
/// # NaN
///
/// Gradients are passed on unchanged or negated, except that a zero is `+0.0`.
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
/// let y = CooTensor::new([3], vec![vec![2]], vec![4.0], 0.0)?;
/// let (dx, dy) = grad::sub(&x, &y, &ndarray::arr1(&[10.0, 20.0, 30.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 20.0][..], &[-30.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.sub`](https://docs.pytorch.org/docs/stable/generated/torch.sub.html).
pub fn sub_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    gradients(Sub, x, y, upstream)
}
