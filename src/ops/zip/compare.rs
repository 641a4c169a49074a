//! Comparisons. Complex numbers do not have an order, so `less` and similar functions do not compile:
//!
//! ```compile_fail,E0277
//! use lacuna::{CooTensor, less};
//!
//! let x = CooTensor::full([2], lacuna::num_complex::Complex::new(1.0, 0.0))?;
//! less(&x, &x)?;
//! # Ok::<(), lacuna::Error>(())
//! ```

use super::Partner;
use super::descriptors::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
use crate::base::error::Result;
use crate::element::{Element, Real};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

/// Defines the comparisons by their operators. A fill of NaN makes all results the same.
macro_rules! comparisons {
    ($($op:ident<$bound:ident> $sign:tt)*) => {$(
        impl<T: $bound> Zip<T, T> for $op {
            type Out = bool;

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<bool> {
                Ok(a $sign b)
            }

            fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
                FillEffect::annihilated_if(fill.isnan())
            }

            fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
                FillEffect::annihilated_if(fill.isnan())
            }
        }
    )*};
}

comparisons! {
    Equal<Element> ==
    NotEqual<Element> !=
    Less<Real> <
    LessEqual<Real> <=
    Greater<Real> >
    GreaterEqual<Real> >=
}

/// Returns whether two elements are equal.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> = *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is false. Zeros of both signs are equal. Complex numbers are equal if both parts are equal.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = equal(&x, &y)?;
/// assert_eq!(z.values(), [false, true, false]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.equal(2.0)?.values(), [false, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.equal`](https://numpy.org/doc/stable/reference/generated/numpy.equal.html).
#[doc(alias = "numpy.equal")]
#[doc(alias = "torch.eq")]
pub fn equal<X: Operand<Elem: Element>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Equal)
}

/// Returns whether two elements differ.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> ≠ *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is true. Zeros of both signs are equal. Complex numbers are equal if both parts are equal.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, not_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = not_equal(&x, &y)?;
/// assert_eq!(z.values(), [true, false, true]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, not_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().not_equal(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.not_equal(2.0)?.values(), [true, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.not_equal`](https://numpy.org/doc/stable/reference/generated/numpy.not_equal.html).
#[doc(alias = "numpy.not_equal")]
#[doc(alias = "torch.ne")]
pub fn not_equal<X: Operand<Elem: Element>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, NotEqual)
}

/// Returns whether the left element is smaller.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> < *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is false. Zeros of both signs are equal. Complex numbers do not compile, because they are not
/// ordered.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, less};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = less(&x, &y)?;
/// assert_eq!(z.values(), [false, false, true]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, less(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().less(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.less(2.0)?.values(), [true, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.less`](https://numpy.org/doc/stable/reference/generated/numpy.less.html).
#[doc(alias = "numpy.less")]
#[doc(alias = "torch.lt")]
pub fn less<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Less)
}

/// Returns whether the left element is smaller or equal.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> ≤ *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is false. Zeros of both signs are equal. Complex numbers do not compile, because they are not
/// ordered.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, less_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = less_equal(&x, &y)?;
/// assert_eq!(z.values(), [false, true, true]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, less_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().less_equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.less_equal(2.0)?.values(), [true, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.less_equal`](https://numpy.org/doc/stable/reference/generated/numpy.less_equal.html).
#[doc(alias = "numpy.less_equal")]
#[doc(alias = "torch.le")]
pub fn less_equal<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, LessEqual)
}

/// Returns whether the left element is larger.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> > *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is false. Zeros of both signs are equal. Complex numbers do not compile, because they are not
/// ordered.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, greater};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = greater(&x, &y)?;
/// assert_eq!(z.values(), [true, false, false]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, greater(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().greater(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.greater(2.0)?.values(), [false, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.greater`](https://numpy.org/doc/stable/reference/generated/numpy.greater.html).
#[doc(alias = "numpy.greater")]
#[doc(alias = "torch.gt")]
pub fn greater<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Greater)
}

/// Returns whether the left element is larger or equal.
///
/// *z*<sub>k</sub> = (*x*<sub>k</sub> ≥ *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(compared)]
#[doc = page!(implicit)]
/// # NaN
///
/// A comparison with NaN is false. Zeros of both signs are equal. Complex numbers do not compile, because they are not
/// ordered.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, greater_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = greater_equal(&x, &y)?;
/// assert_eq!(z.values(), [true, true, false]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, greater_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().greater_equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.greater_equal(2.0)?.values(), [false, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.greater_equal`](https://numpy.org/doc/stable/reference/generated/numpy.greater_equal.html).
#[doc(alias = "numpy.greater_equal")]
#[doc(alias = "torch.ge")]
pub fn greater_equal<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, GreaterEqual)
}
