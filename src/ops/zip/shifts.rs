//! Shifts of integers. The number of bits is an operand.

use super::descriptors::{ShiftLeft, ShiftRight};
use super::{Partner, fitting};
use crate::base::error::Result;
use crate::element::Shift;
use crate::kernels::op::Outcome;
use crate::kernels::zip::Zip;
use crate::ops::operand::Operand;

impl<T: Shift> Zip<T, T> for ShiftLeft {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_shift_left(b))
    }
}

/// Returns the left operand times 2 to the power of the right operand.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> · 2<sup>*y*<sub>k</sub></sup>
///
/// The bits of *x*<sub>k</sub> move to the left by *y*<sub>k</sub> places. Zero remains zero for every *y*<sub>k</sub>
/// of at least 0.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// For [stored views](crate::Stored), the result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The elements are integers, which do not have NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `Overflow`: a result or the fill of the result does not fit the integer type, or an element of *y* is negative;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, shift_left};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-5, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![3, 2], 1)?;
/// let z = shift_left(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], -10), (vec![1], 56), (vec![2], 0)]);
/// assert_eq!(z.to_dense()?, shift_left(&x.to_dense()?, &y.to_dense()?)?);
/// assert!(x.shift_left(2)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.left_shift`](https://numpy.org/doc/stable/reference/generated/numpy.left_shift.html), except
/// that results that do not fit and negative elements of *y* are errors.
#[doc(alias = "numpy.left_shift")]
#[doc(alias = "torch.bitwise_left_shift")]
pub fn shift_left<X: Operand<Elem: Shift>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, ShiftLeft)
}

impl<T: Shift> Zip<T, T> for ShiftRight {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_shift_right(b))
    }
}

/// Returns the left operand divided by 2 to the power of the right, rounded down.
///
/// *z*<sub>k</sub> = ⌊*x*<sub>k</sub> / 2<sup>*y*<sub>k</sub></sup>⌋
///
/// The bits of *x*<sub>k</sub> move to the right by *y*<sub>k</sub> places. If *y*<sub>k</sub> is at least the number
/// of bits of the type, the result is 0, or −1 for a negative *x*<sub>k</sub>.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// For [stored views](crate::Stored), the result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The elements are integers, which do not have NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `Overflow`: an element or a fill of *y* is negative;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, shift_right};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-5, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![3, 2], 1)?;
/// let z = shift_right(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], -3), (vec![1], 0), (vec![2], 0)]);
/// assert_eq!(z.to_dense()?, shift_right(&x.to_dense()?, &y.to_dense()?)?);
/// assert!(x.shift_right(2)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.right_shift`](https://numpy.org/doc/stable/reference/generated/numpy.right_shift.html), except
/// that negative elements of *y* are errors.
#[doc(alias = "numpy.right_shift")]
#[doc(alias = "torch.bitwise_right_shift")]
pub fn shift_right<X: Operand<Elem: Shift>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, ShiftRight)
}
