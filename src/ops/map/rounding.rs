//! Rounding to integers.

use super::apply;
use super::quick;
use crate::base::error::Result;
use crate::element::Float;
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the integer nearest to each element; a tie rounds to the even integer.
///
/// *y*<sub>i</sub> = the integer *n* with the smallest |*x*<sub>i</sub> − *n*|
///
/// The rule for ties follows numpy, PyTorch and IEEE 754. `f64::round`, which is also the method of `ndarray` arrays,
/// rounds a tie away from zero.
///
/// # NaN
///
/// NaN yields NaN. Infinities and stored zeros are unchanged.
///
#[doc = page!(rounding)]
/// ```
/// use lacuna::{CooTensor, round};
///
/// let x = CooTensor::new([6], vec![vec![0, 1, 2, 3]], vec![-1.5, -0.5, 0.5, 2.5], 3.5)?;
/// let y = round(&x)?;
/// assert_eq!((y.values(), y.fill()), (&[-2.0, -0.0, 0.0, 2.0][..], 4.0));
/// assert_eq!(y.to_dense()?, round(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "rint")]
#[doc(alias = "round_ties_even")]
pub fn round<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &quick(&op::round, f64::round_ties_even))
}

/// Returns the largest integer that is at most each element.
///
/// *y*<sub>i</sub> = ⌊*x*<sub>i</sub>⌋
///
/// # NaN
///
/// NaN yields NaN. Infinities and stored zeros are unchanged.
///
#[doc = page!(rounding)]
/// ```
/// use lacuna::{CooTensor, floor};
///
/// let x = CooTensor::new([6], vec![vec![0, 1, 2, 3]], vec![-1.5, -0.5, 0.5, 2.5], 3.5)?;
/// let y = floor(&x)?;
/// assert_eq!((y.values(), y.fill()), (&[-2.0, -1.0, 0.0, 2.0][..], 3.0));
/// assert_eq!(y.to_dense()?, floor(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn floor<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &quick(&op::floor, f64::floor))
}

/// Returns the smallest integer that is at least each element.
///
/// *y*<sub>i</sub> = ⌈*x*<sub>i</sub>⌉
///
/// # NaN
///
/// NaN yields NaN. Infinities and stored zeros are unchanged.
///
#[doc = page!(rounding)]
/// ```
/// use lacuna::{CooTensor, ceil};
///
/// let x = CooTensor::new([6], vec![vec![0, 1, 2, 3]], vec![-1.5, -0.5, 0.5, 2.5], 3.5)?;
/// let y = ceil(&x)?;
/// assert_eq!((y.values(), y.fill()), (&[-1.0, -0.0, 1.0, 3.0][..], 4.0));
/// assert_eq!(y.to_dense()?, ceil(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn ceil<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &quick(&op::ceil, f64::ceil))
}

/// Returns each element truncated toward zero.
///
/// *y*<sub>i</sub> = sign(*x*<sub>i</sub>) ⌊|*x*<sub>i</sub>|⌋
///
/// # NaN
///
/// NaN yields NaN. Infinities and stored zeros are unchanged.
///
#[doc = page!(rounding)]
/// ```
/// use lacuna::{CooTensor, trunc};
///
/// let x = CooTensor::new([6], vec![vec![0, 1, 2, 3]], vec![-1.5, -0.5, 0.5, 2.5], 3.5)?;
/// let y = trunc(&x)?;
/// assert_eq!((y.values(), y.fill()), (&[-1.0, -0.0, 0.0, 2.0][..], 3.0));
/// assert_eq!(y.to_dense()?, trunc(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "fix")]
pub fn trunc<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    apply(x, &quick(&op::trunc, f64::trunc))
}
