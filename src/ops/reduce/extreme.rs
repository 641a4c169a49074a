//! The minimum and the maximum over axes, and their gradients.

use std::array::from_fn;

use super::{fold, gradient};
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Float, Interleaved, Real, RunResults};
use crate::kernels::extreme::{beyond, extreme_of_many, extremes_interleaved, missing};
use crate::kernels::fold::Fold;
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::order_key::{key_of, of_key};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::scatter::{Cell, scatter_states};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of the extremes: the maximum or the minimum, with or without NaN.
#[derive(Clone, Copy)]
pub(super) struct Extreme<const IS_MAX: bool, const SKIPS_NAN: bool>;

impl<const IS_MAX: bool, const SKIPS_NAN: bool> Op for Extreme<IS_MAX, SKIPS_NAN> {
    fn name(&self) -> &'static str {
        match (IS_MAX, SKIPS_NAN) {
            (false, false) => op::min.name,
            (true, false) => op::max.name,
            (false, true) => op::nanmin.name,
            (true, true) => op::nanmax.name,
        }
    }
}

/// The accumulator is the extreme so far; `None` before the first element.
impl<T: Real, const IS_MAX: bool, const SKIPS_NAN: bool> Fold<T> for Extreme<IS_MAX, SKIPS_NAN> {
    type State = Option<T>;
    type Out = T;

    fn start(&self) -> Option<T> {
        None
    }

    fn step(&self, state: &mut Option<T>, value: T) {
        if SKIPS_NAN && value.isnan() {
            return;
        }
        *state = Some(state.map_or(value, |found| beyond::<IS_MAX, T>(value, found)));
    }

    fn repeat(&self, state: &mut Option<T>, value: T, count: u128) {
        if count > 0 {
            self.step(state, value);
        }
    }

    fn merge(&self, state: &mut Option<T>, other: &Option<T>) {
        if let Some(other) = *other {
            self.step(state, other);
        }
    }

    fn finish(&self, state: &Option<T>, _: u128) -> Outcome<T> {
        match *state {
            Some(found) if found.isnan() => Ok(found.as_implicit()),
            Some(found) => Ok(found),
            None if SKIPS_NAN => self.of_no_entry(),
            None => Err(GroupError::Empty),
        }
    }

    fn of_no_entry(&self) -> Outcome<T> {
        Ok(missing::<T>().unwrap_or(if IS_MAX { T::LOWEST } else { T::HIGHEST }))
    }

    /// The sign of a zero depends on the other zeros and on the fill, so a zero is not known here.
    #[inline(always)]
    fn of_interleaved(&self, values: &[T], runs: &Interleaved, unstored: &Unstored<T>) -> RunResults<T> {
        let (found, are_known) = extremes_interleaved::<IS_MAX, T>(values, runs, unstored);
        (found.map(|(found, _)| found), from_fn(|run| are_known[run] & (found[run].0 != T::ZERO)))
    }

    /// Avoids grouping the entries if there are few output elements: the result has the largest key of the elements.
    fn by_coords(
        &self,
        kept: &KeptAxes<'_>,
        values: &[T],
        unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<T>>> {
        let add = |key: &mut i64, value| {
            *key = (*key).max(key_of::<IS_MAX, SKIPS_NAN, T>(value));
            true
        };
        let join = |key: &mut i64, other| {
            *key = (*key).max(other);
            true
        };
        let cell = Cell { start: i64::MIN, add, join };
        scatter_states(*self, kept, values, unstored, cell, of_key::<IS_MAX, SKIPS_NAN, T>)
    }

    fn slice(&self, state: &mut Option<T>, values: &[T]) {
        if let Some(found) = extreme_of_many::<IS_MAX, T>(values, SKIPS_NAN) {
            self.step(state, found);
        }
    }
}

/// The descriptor of the gradients.
#[derive(Clone, Copy)]
struct ExtremeGradient {
    is_max: bool,
    skips_nan: bool,
}

impl Op for ExtremeGradient {
    fn name(&self) -> &'static str {
        match (self.is_max, self.skips_nan) {
            (false, false) => op::min_backward.name,
            (true, false) => op::max_backward.name,
            (false, true) => op::nanmin_backward.name,
            (true, true) => op::nanmax_backward.name,
        }
    }
}

/// Finds the extreme of a group, and the number of elements that are equal to it; no element is equal to NaN.
impl<T: Real> Holistic<T> for ExtremeGradient {
    type Out = (T, u128);
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<(T, u128)> {
        let unstored = group.unstored.count(group.stored.len());
        let found = match self.is_max {
            true => extreme_of_group::<true, T>(group, self.skips_nan),
            false => extreme_of_group::<false, T>(group, self.skips_nan),
        };
        let Some(found) = found else { return Ok((T::ZERO, 0)) };
        let stored = group.stored.iter().filter(|&&value| value == found).count() as u128;
        Ok((found, stored + if group.unstored.fill == Some(found) { unstored } else { 0 }))
    }
}

/// Returns the extreme of the stored elements of a group and its fill, or `None` if no element counts.
fn extreme_of_group<const IS_MAX: bool, T: Real>(group: &Group<'_, T>, skips_nan: bool) -> Option<T> {
    let stored = extreme_of_many::<IS_MAX, T>(group.stored, skips_nan);
    let has_unstored = group.unstored.count(group.stored.len()) > 0;
    let fill = group.unstored.fill.filter(|fill| has_unstored && !(skips_nan && fill.isnan()));
    match (stored, fill) {
        (Some(stored), Some(fill)) => Some(beyond::<IS_MAX, T>(fill, stored)),
        (stored, fill) => stored.or(fill),
    }
}

impl<T: Real, G: Float> Gradient<T, G> for ExtremeGradient {
    fn of_element(&self, value: T, &(found, count): &(T, u128), _: usize, gradient: G) -> Option<G> {
        (value == found).then(|| gradient.over(count))
    }
}

/// Returns the smallest element over the given axes.
///
#[doc = page!(extreme_order)]
///
#[doc = page!(reduction)]
#[doc = page!(extreme_fill)]
///
/// # NaN
///
/// If a group has a NaN, the result is NaN. [`nanmin`] skips NaNs.
///
/// # Gradient
///
/// [`grad::min`](crate::grad::min()).
///
#[doc = page!(errors)]
/// - `EmptyGroup`: a reduced axis has length 0, and the result has at least one element. A stored view does not return
///   this error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, min};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = min(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[0.0, -2.0]).into_dyn());
/// assert_eq!(y.to_dense()?, min(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.min`](https://numpy.org/doc/stable/reference/generated/numpy.min.html).
#[doc(alias = "numpy.min")]
pub fn min<X: Operand<Elem: Real>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Extreme::<false, false>, &axes.into())
}

/// Returns the gradient of [`min`], divided among the elements equal to the minimum.
///
#[doc = page!(extreme_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
#[doc = page!(extreme_gradient_nan)]
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`min()`] except `EmptyGroup`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 3.0, 0.0], 0.0)?;
/// let dx = grad::min(&x, &arr1(&[1.0, 4.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, 0.5, 2.0]); // half of row 1 belongs to an unstored position
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.amin`](https://docs.pytorch.org/docs/stable/generated/torch.amin.html), which also divides the gradient
/// equally among equal elements.
pub fn min_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, ExtremeGradient { is_max: false, skips_nan: false }, upstream, &axes.into())
}

/// Returns the largest element over the given axes.
///
#[doc = page!(extreme_order)]
///
#[doc = page!(reduction)]
#[doc = page!(extreme_fill)]
///
/// # NaN
///
/// If a group has a NaN, the result is NaN. [`nanmax`] skips NaNs.
///
/// # Gradient
///
/// [`grad::max`](crate::grad::max()).
///
#[doc = page!(errors)]
/// - `EmptyGroup`: a reduced axis has length 0, and the result has at least one element. A stored view does not return
///   this error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, max};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = max(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[6.0, 0.0]).into_dyn());
/// assert_eq!(y.to_dense()?, max(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.max`](https://numpy.org/doc/stable/reference/generated/numpy.max.html).
#[doc(alias = "numpy.max")]
pub fn max<X: Operand<Elem: Real>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Extreme::<true, false>, &axes.into())
}

/// Returns the gradient of [`max`], divided among the elements equal to the maximum.
///
#[doc = page!(extreme_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
#[doc = page!(extreme_gradient_nan)]
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`max()`] except `EmptyGroup`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 3.0, 0.0], 0.0)?;
/// let dx = grad::max(&x, &arr1(&[1.0, 4.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, 0.5, 2.0]); // half of row 1 belongs to an unstored position
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.amax`](https://docs.pytorch.org/docs/stable/generated/torch.amax.html), which also divides the gradient
/// equally among equal elements.
pub fn max_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, ExtremeGradient { is_max: true, skips_nan: false }, upstream, &axes.into())
}

/// Returns the smallest element over the given axes, ignoring NaN.
///
#[doc = page!(extreme_order)]
///
#[doc = page!(reduction)]
#[doc = page!(extreme_fill)]
///
/// # NaN
///
/// NaN elements are skipped. A group with only NaN yields NaN.
///
/// # Gradient
///
/// [`grad::nanmin`](crate::grad::nanmin()).
///
#[doc = page!(errors)]
///
/// An empty group does not return an error, because its minimum is NaN.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nanmin};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = nanmin(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[0.0, -2.0]).into_dyn());
/// assert_eq!(y.to_dense()?, nanmin(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmin`](https://numpy.org/doc/stable/reference/generated/numpy.nanmin.html).
#[doc(alias = "numpy.nanmin")]
pub fn nanmin<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Extreme::<false, true>, &axes.into())
}

/// Returns the gradient of [`nanmin`], divided among the elements equal to the minimum.
///
#[doc = page!(extreme_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
#[doc = page!(extreme_gradient_nan)]
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanmin()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 3.0, 0.0], 0.0)?;
/// let dx = grad::nanmin(&x, &arr1(&[1.0, 4.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, 0.5, 2.0]); // half of row 1 belongs to an unstored position
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.amin`](https://docs.pytorch.org/docs/stable/generated/torch.amin.html), which also divides the gradient
/// equally among equal elements.
pub fn nanmin_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, ExtremeGradient { is_max: false, skips_nan: true }, upstream, &axes.into())
}

/// Returns the largest element over the given axes, ignoring NaN.
///
#[doc = page!(extreme_order)]
///
#[doc = page!(reduction)]
#[doc = page!(extreme_fill)]
///
/// # NaN
///
/// NaN elements are skipped. A group with only NaN yields NaN.
///
/// # Gradient
///
/// [`grad::nanmax`](crate::grad::nanmax()).
///
#[doc = page!(errors)]
///
/// An empty group does not return an error, because its maximum is NaN.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nanmax};
/// use ndarray::arr1;
///
/// // 3 .  6
/// // . -1 -2
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
/// let y = nanmax(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[6.0, 0.0]).into_dyn());
/// assert_eq!(y.to_dense()?, nanmax(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmax`](https://numpy.org/doc/stable/reference/generated/numpy.nanmax.html).
#[doc(alias = "numpy.nanmax")]
pub fn nanmax<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Extreme::<true, true>, &axes.into())
}

/// Returns the gradient of [`nanmax`], divided among the elements equal to the maximum.
///
#[doc = page!(extreme_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
#[doc = page!(extreme_gradient_nan)]
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanmax()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 3.0, 0.0], 0.0)?;
/// let dx = grad::nanmax(&x, &arr1(&[1.0, 4.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, 0.5, 2.0]); // half of row 1 belongs to an unstored position
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.amax`](https://docs.pytorch.org/docs/stable/generated/torch.amax.html), which also divides the gradient
/// equally among equal elements.
pub fn nanmax_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, ExtremeGradient { is_max: true, skips_nan: true }, upstream, &axes.into())
}
