//! The largest elements along an axis, and all elements in order.

use super::ranked::Ranking;
use super::ranked::{rank, rank_backward};
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::Real;
use crate::kernels::extreme::missing;
use crate::ops::op;
use crate::ops::operand::Operand;

/// The position for a missing element.
const NO_POSITION: u64 = u64::MAX;

/// Returns the value of a rank without an element.
fn nothing<T: Real>() -> T {
    missing().unwrap_or(T::ZERO)
}

/// Returns the element at a rank. This is a function, because a closure would be compiled again per operand.
fn element<T: Real>(found: Option<(T, u64)>) -> T {
    found.map_or(nothing(), |(element, _)| element)
}

/// Returns the element at a rank, and its position.
fn both<T: Real>(found: Option<(T, u64)>) -> (T, u64) {
    found.unwrap_or((nothing(), NO_POSITION))
}

/// Returns the position of the element at a rank.
fn position<T: Real>(found: Option<(T, u64)>) -> u64 {
    found.map_or(NO_POSITION, |(_, position)| position)
}

/// Returns the `k` largest elements along an axis, in decreasing order.
///
/// *y*<sub>…j…</sub> is the element of rank *j* among the elements *x*<sub>…r…</sub> that are not NaN. Ranks start at
/// 0. Equal elements are ranked by position. Zeros of both signs are equal.
///
/// # Shapes
///
/// The result has the shape of `x`, with length `k` on the axis, and the format, index type and element type of `x`.
///
/// # Implicit values
///
/// Unstored positions count with the fill as their value. A group with an entry stores `k` results; all other groups
/// hold the fill. For [`x.stored()`](crate::Tensor::stored), a group stores one result per entry, at most `k`. All
/// other positions of the result are unstored, and the fill is the fill of `x`.
///
/// # NaN
///
/// NaNs are skipped. If a group has fewer than `k` numbers, NaN follows the numbers. In a stored view, NaN is stored
/// only for entries that are NaN. Elements are bitwise unchanged.
///
/// # Gradient
///
/// [`grad::topk`](crate::grad::topk()).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `Argument`: `x` is not a stored view, the axis has fewer than `k` positions, and the element type does not have
///   NaN;
/// - `FillVaries`: `x` is a tensor and not a stored view, the axis has fewer than `k` positions, and a group does not
///   have entries. This group would hold the fill, followed by NaN;
/// - `AxisTooLong`: `x` is sparse, and `k` does not fit in the index type;
/// - `TooLarge`: the computation needs more than the larger of 1 GiB and 16 times the bytes of `x`;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// Here *nnz* is the number of stored entries of `x`, and *groups* is the number of groups with an entry. A sparse `x`
/// takes O(nnz + groups · k log k). If the axis is not the last axis, lacuna also sorts the entries and the results. An
/// array takes O(elements + groups · k log k), where *groups* counts all groups.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, topk};
/// use ndarray::arr2;
///
/// // 3 .  6 7
/// // . . -1 .
/// let (rows, columns) = (vec![0, 0, 0, 1], vec![0, 2, 3, 2]);
/// let x = CooTensor::new([2, 4], vec![rows, columns], vec![3.0, 6.0, 7.0, -1.0], 0.0)?;
/// let y = topk(&x, 2, 1)?;
/// assert_eq!(y.to_dense()?, arr2(&[[7.0, 6.0], [0.0, 0.0]]).into_dyn());
/// assert_eq!(y.to_dense()?, topk(&x.to_dense()?, 2, 1)?);
/// assert_eq!(x.stored().topk(2, 1)?.entries(), [(vec![0, 0], 7.0), (vec![0, 1], 6.0), (vec![1, 0], -1.0)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.topk`](https://docs.pytorch.org/docs/stable/generated/torch.topk.html), except that NaNs are
/// skipped.
#[doc(alias = "torch.topk")]
#[doc(alias = "largest")]
#[doc(alias = "partition")]
#[doc(alias = "nlargest")]
pub fn topk<X: Operand<Elem: Real>>(x: &X, k: usize, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    let ranking = Ranking::new(op::topk.name, x.lengths(), (axis, Some(k)), false)?;
    X::restore(rank(x, &ranking, element)?)
}

/// Returns the elements of [`topk`] and their positions on the axis.
///
/// The operand is an array or a stored view.
///
/// # Shapes
///
/// Both results have the shape of the result of [`topk`]. The positions are `u64`.
///
/// # Implicit values
///
/// Only stored entries have positions, so the function returns an error for a sparse tensor that is not a stored view.
/// For `x.stored()`, each group stores one result per entry, at most `k`. The fill of the elements is the fill of `x`,
/// and the fill of the positions is `u64::MAX`.
///
/// # NaN
///
/// NaNs are skipped, as in [`topk`]. A NaN of the result has the position `u64::MAX`.
///
/// # Gradient
///
/// [`grad::topk`](crate::grad::topk()) of the elements. Positions are constant almost everywhere.
///
/// # Errors
///
/// - the errors of [`topk`];
/// - `Argument`: `x` is a sparse tensor that is not a stored view.
///
/// # Complexity
///
/// The complexity of [`topk`].
///
/// # Examples
///
/// ```
/// use lacuna::topk_index;
/// use ndarray::{arr1, arr2};
///
/// let x = arr2(&[[3.0, 6.0], [f64::NAN, 7.0]]);
/// let (values, positions) = topk_index(&x, 1, 0)?;
/// assert_eq!(values, arr2(&[[3.0, 7.0]]).into_dyn());
/// assert_eq!(positions, arr2(&[[0, 1]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.topk`](https://docs.pytorch.org/docs/stable/generated/torch.topk.html), except that NaNs are
/// skipped.
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn topk_index<X: Operand<Elem: Real>>(
    x: &X,
    k: usize,
    axis: impl Position,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<u64>)> {
    let ranking = Ranking::new(op::topk_index.name, x.lengths(), (axis, Some(k)), true)?;
    let (elements, positions) = rank(x, &ranking, both)?.unzip()?;
    Ok((X::restore(elements)?, X::restore(positions)?))
}

/// Returns the positions along an axis, in increasing order of the elements.
///
/// The operand is an array or a stored view.
///
/// Equal elements keep their order. Zeros of both signs are equal.
///
/// # Shapes
///
/// The result has the shape of `x`, and `u64` elements.
///
/// # Implicit values
///
/// Only stored entries have positions, so the function returns an error for a sparse tensor that is not a stored view.
/// For `x.stored()`, the first results of a group are the positions of the stored entries. All other positions of the
/// result are unstored, and the fill is `u64::MAX`.
///
/// # NaN
///
/// NaNs come last, in the order of their positions.
///
/// # Gradient
///
/// None: positions are constant almost everywhere.
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `Argument`: `x` is a sparse tensor that is not a stored view;
/// - `TooLarge`: the computation needs more than the larger of 1 GiB and 16 times the bytes of `x`, for example for a
///   broadcast array;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// O(n log n) for each group of *n* elements, or of *n* entries in a stored view. If the axis is not the last axis,
/// lacuna also sorts the entries of a stored view.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, argsort};
/// use ndarray::{arr1, arr2};
///
/// assert_eq!(argsort(&arr1(&[3.0, f64::NAN, -1.0]), 0)?, arr1(&[2, 0, 1]).into_dyn());
/// // 7 . 3
/// // . 5 .
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![7, 3, 5], 0)?;
/// assert_eq!(x.stored().argsort(1)?.entries(), [(vec![0, 0], 2), (vec![0, 1], 0), (vec![1, 0], 1)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.argsort`](https://numpy.org/doc/stable/reference/generated/numpy.argsort.html), stable.
#[doc(alias = "numpy.argsort")]
#[doc(alias = "order")]
pub fn argsort<X: Operand<Elem: Real>>(x: &X, axis: impl Position) -> Result<X::Reduced<u64>> {
    let ranking = Ranking::new(op::argsort.name, x.lengths(), (axis, None), true)?;
    X::restore(rank(x, &ranking, position)?)
}

/// Returns the gradient of [`topk`]: *dy* for each selected element, otherwise 0.
///
/// Each element that [`topk`] selects receives the upstream gradient of its rank. All other elements receive 0.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`topk`]. The gradient has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. Gradients for unstored positions of
/// `x` are dropped. Positions that `upstream` does not store have the fill of `upstream`, or 0 if `upstream` is a
/// stored view.
///
/// # NaN
///
/// NaNs are never selected. Gradients are passed on unchanged, but a gradient of zero is `+0.0`.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`topk`], except `FillVaries`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the result of [`topk`].
///
/// # Complexity
///
/// The cost of [`topk`], and one lookup in `upstream` per entry of the result of [`topk`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([1, 4], vec![vec![0, 0], vec![1, 2]], vec![3.0, -6.0], 0.0)?;
/// let dx = grad::topk(&x, &arr2(&[[10.0, 20.0]]), 2, 1)?; // of 3, and of the first 0
/// assert_eq!(dx.values(), [10.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.topk`](https://docs.pytorch.org/docs/stable/generated/torch.topk.html) and its gradient.
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn topk_backward<X: Operand<Elem: Real>, U: Operand>(
    x: &X,
    upstream: &U,
    k: usize,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    rank_backward(x, &Ranking::new(op::topk_backward.name, x.lengths(), (axis, Some(k)), false)?, upstream)
}
