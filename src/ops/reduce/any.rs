//! Logical or over axes, and its surrogate gradient.

use super::{fold, spread};
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::Element;
use crate::kernels::any::{any_of_lanes, any_of_slice};
use crate::kernels::bits::{NonzeroBits, NonzeroBitsOf};
use crate::kernels::fold::{Fold, fold_lanes};
use crate::kernels::group::Unstored;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::merge::any_merged;
use crate::kernels::op::{Op, Outcome, Outcomes};
use crate::kernels::output_bitmap::{CellMap, StoredOutputs};
use crate::kernels::runs::any_of_runs;
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of [`any()`].
#[derive(Clone, Copy)]
pub(super) struct Any;

impl Op for Any {
    fn name(&self) -> &'static str {
        op::any.name
    }
}

impl<T: Element> Fold<T> for Any {
    type State = bool;
    type Out = bool;

    fn start(&self) -> bool {
        false
    }

    fn step(&self, any: &mut bool, value: T) {
        *any |= value.is_truthy();
    }

    fn repeat(&self, any: &mut bool, value: T, _: u128) {
        *any |= value.is_truthy();
    }

    fn merge(&self, any: &mut bool, other: &bool) {
        *any |= other;
    }

    fn finish(&self, any: &bool, _: u128) -> Outcome<bool> {
        Ok(*any)
    }

    fn is_settled(&self, any: &bool) -> bool {
        *any
    }

    fn slice(&self, any: &mut bool, values: &[T]) {
        *any |= any_of_slice(values);
    }

    fn lanes(&self, offsets: &[usize], values: &[T], unstored: &Unstored<T>, results: &mut [bool]) -> Outcomes<()> {
        if unstored.fill.is_some_and(T::is_truthy) {
            return fold_lanes(*self, offsets, values, unstored, results);
        }
        any_of_lanes(offsets, values, results);
        Ok(())
    }

    fn by_coords(
        &self,
        kept: &KeptAxes<'_>,
        values: &[T],
        unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<bool>>> {
        if unstored.fill.is_some_and(T::is_truthy) {
            return Ok(None);
        }
        any_of_cells(kept, values.len(), &NonzeroBitsOf(values)).map(Some)
    }
}

/// Returns the output elements that some of `count` entries belong to, and whether any of these entries is truthy.
fn any_of_cells(kept: &KeptAxes<'_>, count: usize, truths: &dyn NonzeroBits) -> Allocated<StoredOutputs<bool>> {
    if kept.lead {
        any_of_runs(&kept.coords, count, truths)
    } else if CellMap::pays(kept.cells(), count) {
        CellMap::of_truths(kept, count, truths)?.into_outputs(kept.lengths, kept.coords.width())
    } else {
        let (coords, results) = any_merged(&kept.coords, count, truths)?;
        Ok(StoredOutputs { coords, results })
    }
}

/// Returns whether any element is nonzero, over the given axes.
///
/// *y*<sub>k</sub> = ⋁<sub>r</sub> (*x*<sub>k,r</sub> ≠ 0), for *k* over the kept axes and *r* over the reduced
/// axes.
///
/// # Shapes
///
/// The given axes are removed, or have length 1 with [`Axes::keep_dims`]. With [`Axes::all`], the result has rank 0.
/// With [`Axes::none`], each element is a group. The result has the format and index type of `x`, and `bool` elements.
///
/// # Implicit values
///
/// A group consists of the positions that are reduced into one output element. A group with a stored entry has a stored
/// result, even if the result is `false`. All other output elements hold the fill. The fill counts only in groups with
/// unstored positions. The fill of the result is `true` if the fill of `x` is nonzero and the groups are not empty,
/// otherwise `false`. If no axis is reduced, the result shares the pattern of `x`.
///
/// For [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is `false`.
///
/// # NaN
///
/// NaN counts as nonzero, and `-0.0` counts as zero. A complex number is nonzero if either part is nonzero.
///
/// # Gradient
///
/// [`grad::any`](crate::grad::any()) is a surrogate, because logical or does not have a useful derivative.
///
#[doc = page!(errors)]
///
/// # Complexity
///
/// Here *nnz* is the number of stored entries of `x`, and *rank* is the number of axes. The number of rows of a CSR
/// tensor is *lanes*. A COO tensor takes O(nnz · rank) if the kept axes come first, or if there are at most 32 output
/// elements per entry. Otherwise, a COO tensor takes O(nnz · (rank + log nnz)). A CSR tensor takes O(nnz + lanes) if
/// the kept axes come first, and otherwise the time of a COO tensor. An array takes O(number of elements). A reduction
/// over all axes or of a long CSR lane stops soon after the first nonzero value.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, any};
/// use ndarray::arr1;
///
/// // 0 . .
/// // . 3 .
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![0, 1]], vec![0.0, 3.0], 0.0)?;
///
/// let rows = any(&x, -1)?;
/// assert_eq!(rows.to_dense()?, arr1(&[false, true]).into_dyn());
/// assert_eq!(rows.nnz(), 2); // the stored zero of row 0 gives a stored `false`
///
/// let dense = x.to_dense()?;
/// assert_eq!(any(&x, 0)?.to_dense()?, any(&dense, 0)?);
/// assert_eq!(any(&x, Axes::all())?.get(&[])?, true);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.any`](https://numpy.org/doc/stable/reference/generated/numpy.any.html).
#[doc(alias = "numpy.any")]
#[doc(alias = "torch.any")]
#[doc(alias = "logical_or")]
pub fn any<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<bool>> {
    fold(x, Any, &axes.into())
}

/// Returns the surrogate gradient of [`any()`]: the gradient of each entry's group.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub>, where *dy* is the upstream gradient, for *k* over the kept axes and *r* over
/// the reduced axes.
///
/// Logical or is constant almost everywhere, so the derivative of `any` is zero or does not exist. The surrogate is the
/// gradient of [`sum`](crate::sum()). The gradient of a loss therefore reaches the entries. The surrogate reads only
/// the pattern of `x`, not the values.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `any(x, axes)`, including axes that are kept with length 1. The result has the
/// shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. Positions that `upstream` does not
/// store have the fill of `upstream`, or 0 if `upstream` is a stored view. Entries of `upstream` for groups without an
/// entry of `x` are dropped.
///
/// # NaN
///
/// A gradient of `-0.0` becomes `+0.0`. All other gradients are unchanged.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`any()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`any()`]. If `upstream` is sparse with *m* entries, the cost also includes O(*m*), and at most O(rank ·
/// log *m*) per output element.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::{arr1, arr2};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![0.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr1(&[0.5, -2.0]);
/// let dx = grad::any(&x, &upstream, 1)?;
/// assert_eq!(dx.values(), [0.5, -2.0, -2.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::any(&x.to_dense()?, &upstream, 1)?;
/// assert_eq!(dense, arr2(&[[0.5, 0.5, 0.5], [-2.0, -2.0, -2.0]]).into_dyn());
/// assert!(dx.entries().iter().all(|(at, gradient)| dense[at.as_slice()] == *gradient));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: a rule of lacuna. The rule is the gradient of
/// [`numpy.sum`](https://numpy.org/doc/stable/reference/generated/numpy.sum.html) over the same axes.
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn any_backward<X: Operand, U: Operand>(x: &X, upstream: &U, axes: impl Into<Axes>) -> Result<X::Reduced<U::Elem>> {
    spread(x, upstream, &axes.into())
}
