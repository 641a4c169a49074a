//! Positions of the minimum and the maximum over axes.

use std::array::from_fn;

use super::holistic;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Float, Interleaved, Real, RunResults};
use crate::kernels::extreme::extremes_interleaved;
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The position for a missing element.
const NO_POSITION: u64 = u64::MAX;

/// The descriptor of the positions of extremes.
#[derive(Clone, Copy)]
struct ExtremePosition {
    is_max: bool,
    skips_nan: bool,
}

impl Op for ExtremePosition {
    fn name(&self) -> &'static str {
        match (self.is_max, self.skips_nan) {
            (false, false) => op::argmin.name,
            (true, false) => op::argmax.name,
            (false, true) => op::nanargmin.name,
            (true, true) => op::nanargmax.name,
        }
    }
}

impl<T: Real> Holistic<T> for ExtremePosition {
    type Out = u64;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        true
    }

    fn scratch(&self) {}

    fn has_interleaved(&self) -> bool {
        true
    }

    #[inline(always)]
    fn of_interleaved(
        &self,
        values: &[T],
        runs: &Interleaved,
        unstored: &Unstored<T>,
        position: &(dyn Fn(usize) -> u128 + Sync),
        blank: u64,
    ) -> RunResults<u64> {
        let (found, are_known) = match self.is_max {
            true => extremes_interleaved::<true, T>(values, runs, unstored),
            false => extremes_interleaved::<false, T>(values, runs, unstored),
        };
        (from_fn(|run| if are_known[run] { position(found[run].1) as u64 } else { blank }), are_known)
    }

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<u64> {
        match group.extreme_position(self.is_max, self.skips_nan) {
            Some(position) => Ok(position),
            None if self.skips_nan => Ok(NO_POSITION),
            None => Err(GroupError::Empty),
        }
    }

    fn of_no_entry(&self) -> Outcome<u64> {
        Ok(NO_POSITION)
    }
}

/// Returns the position of the smallest element over the given axes.
///
#[doc = page!(position)]
///
#[doc = page!(reduction)]
#[doc = page!(position_fill)]
///
/// # NaN
///
/// If a group has a NaN, the result is the position of the first NaN. [`nanargmin`] skips NaNs.
///
/// # Gradient
///
/// The result does not have a gradient, because a position is constant almost everywhere.
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions.
/// - `EmptyGroup`: a reduced axis has length 0, and the result has at least one element. A stored view does not return
///   this error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, argmin};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = argmin(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[1u64, 2]).into_dyn());
/// assert_eq!(y.to_dense()?, argmin(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.argmin`](https://numpy.org/doc/stable/reference/generated/numpy.argmin.html), over any axes.
#[doc(alias = "numpy.argmin")]
pub fn argmin<X: Operand<Elem: Real>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
    holistic(x, ExtremePosition { is_max: false, skips_nan: false }, &axes.into())
}

/// Returns the position of the largest element over the given axes.
///
#[doc = page!(position)]
///
#[doc = page!(reduction)]
#[doc = page!(position_fill)]
///
/// # NaN
///
/// If a group has a NaN, the result is the position of the first NaN. [`nanargmax`] skips NaNs.
///
/// # Gradient
///
/// The result does not have a gradient, because a position is constant almost everywhere.
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions.
/// - `EmptyGroup`: a reduced axis has length 0, and the result has at least one element. A stored view does not return
///   this error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, argmax};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = argmax(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[2u64, 0]).into_dyn());
/// assert_eq!(y.to_dense()?, argmax(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.argmax`](https://numpy.org/doc/stable/reference/generated/numpy.argmax.html), over any axes.
#[doc(alias = "numpy.argmax")]
pub fn argmax<X: Operand<Elem: Real>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
    holistic(x, ExtremePosition { is_max: true, skips_nan: false }, &axes.into())
}

/// Returns the position of the smallest element over the given axes, ignoring NaN.
///
#[doc = page!(position)]
///
#[doc = page!(reduction)]
#[doc = page!(position_fill)]
///
/// # NaN
///
/// NaN elements are skipped. A group with only NaN yields `u64::MAX`.
///
/// # Gradient
///
/// The result does not have a gradient, because a position is constant almost everywhere.
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions.
///
/// For an empty group, the function returns `u64::MAX` instead of an error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nanargmin};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = nanargmin(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[1u64, 2]).into_dyn());
/// assert_eq!(y.to_dense()?, nanargmin(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanargmin`](https://numpy.org/doc/stable/reference/generated/numpy.nanargmin.html), over any
/// axes.
#[doc(alias = "numpy.nanargmin")]
pub fn nanargmin<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
    holistic(x, ExtremePosition { is_max: false, skips_nan: true }, &axes.into())
}

/// Returns the position of the largest element over the given axes, ignoring NaN.
///
#[doc = page!(position)]
///
#[doc = page!(reduction)]
#[doc = page!(position_fill)]
///
/// # NaN
///
/// NaN elements are skipped. A group with only NaN yields `u64::MAX`.
///
/// # Gradient
///
/// The result does not have a gradient, because a position is constant almost everywhere.
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions.
///
/// For an empty group, the function returns `u64::MAX` instead of an error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nanargmax};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = nanargmax(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[2u64, 0]).into_dyn());
/// assert_eq!(y.to_dense()?, nanargmax(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanargmax`](https://numpy.org/doc/stable/reference/generated/numpy.nanargmax.html), over any
/// axes.
#[doc(alias = "numpy.nanargmax")]
pub fn nanargmax<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
    holistic(x, ExtremePosition { is_max: true, skips_nan: true }, &axes.into())
}
