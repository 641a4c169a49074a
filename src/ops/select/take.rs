//! Elements at positions, flattened or along an axis, and their gradients by scatter-add.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, DataMut, Dimension};

use super::dense::{take_dense, take_dense_into};
use super::indices::Take;
use super::request::Request;
use super::{Select, Selected, StepLimits};
use super::{select_with, select_with_backward};
use crate::base::error::Result;
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::kernels::take::scatter_add;
use crate::ops::operand::Operand;
use crate::pattern::AnyPattern;
use crate::plan::moves::{MoveStep, StepRange};
use crate::plan::take::{ALONG_BYTES, FLATTENED_BYTES, TakeResult, along, flattened};

/// Returns the elements at flat (row-major) positions.
///
/// *y*<sub>k</sub> = *x*<sub>p(*i*<sub>k</sub>)</sub> for the indices *i* in `positions` and each position *k* of
/// `positions`. The function p maps a negative index to a position counted from the end. An option of [`Take`] changes
/// p: an index that is out of range wraps around ([`wrap`](Take::wrap)) or moves to the nearest position
/// ([`clip`](Take::clip)).
///
/// # Shapes
///
/// `x` has any shape, and is read as the list of all its positions. The number of positions of a sparse `x` may exceed
/// every integer type. The result has the shape of `positions`, which may have any rank. The result has the format, the
/// index type and the element type of `x`. For an array, the result is an array.
///
/// # Implicit values
///
/// The result has the fill of `x`. The result stores a position exactly if `x` stores the taken element. A stored zero
/// stays stored, and a fill stays unstored.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs.
///
/// # Gradient
///
/// [`grad::take`](crate::grad::take).
///
/// # Errors
///
/// - `LengthMismatch`: `positions` is a mask, and its length differs from the number of elements;
/// - `PositionOutOfRange`: an index is outside `-n..n` for `n` elements, and `positions` does not wrap or clip. The
///   error reports the first such index;
/// - `TakeFromEmpty`: `positions` is not empty, in any mode, and `x` is empty;
/// - `AxisTooLong`: an axis of `positions` is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the inputs. This happens only
///   if `positions` is a range or a broadcast view, or has very many rows of length zero.
///
/// # Complexity
///
/// For *k* indices into a COO tensor with *n* entries, the cost is O(*k* · (rank + log *n*)), or O(*k* · rank · log
/// *n*) for adversarial entries. For CSR, the cost is O(*k* · (rank + log columns)), plus the offsets of the result.
/// For an array, the cost is O(*k*) if the array is contiguous, otherwise O(*k* · rank).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, take};
/// use ndarray::{arr1, arr2};
///
/// // . 2 .
/// // 0 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 0.0, 4.0], 0.0)?;
///
/// let y = take(&x, [1, 3, 0, -1])?;
/// assert_eq!(y.to_dense()?, arr1(&[2.0, 0.0, 0.0, 4.0]).into_dyn());
/// assert_eq!(y.to_dense()?, take(&x.to_dense()?, [1, 3, 0, -1])?);
/// assert_eq!(y.nnz(), 3); // the stored zero stays stored
///
/// let square = take(&x, &arr2(&[[1u8, 1], [0, 5]]))?;
/// assert_eq!(square.to_dense()?, arr2(&[[2.0, 2.0], [0.0, 4.0]]).into_dyn());
///
/// let refused = take(&x, [0, 6]).unwrap_err();
/// assert_eq!(refused.to_string(), "indices[1] = 6 is out of range for 6 elements; use .wrap() or .clip()");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// A float is not a position:
///
/// ```compile_fail
/// # use lacuna::{CooTensor, take};
/// let x = CooTensor::full([3], 0.0)?;
/// take(&x, [1.0])?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) without an axis.
#[doc(alias = "numpy.take")]
#[doc(alias = "torch.take")]
pub fn take<'a, X: Operand, J: Position>(x: &X, positions: impl Into<Take<'a, J>>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &Request::new(x.lengths(), positions.into(), None)?)
}

/// Writes the result of [`take`] of an array into an existing array.
///
/// The function avoids the allocation of a result.
///
/// The elements are the same as in the result of [`take`]. This function does not accept sparse tensors, because the
/// stored positions of a sparse result are known only after the take.
///
/// # Shapes
///
/// `out` has exactly the shape of `positions`, and any layout.
///
/// # Implicit values
///
/// `x` and `out` are arrays, which do not have implicit values.
///
/// # NaN
///
/// Values are bitwise unchanged.
///
/// # Gradient
///
/// [`grad::take`](crate::grad::take).
///
/// # Errors
///
/// - the errors of [`take`];
/// - `ShapeMismatch`: `out` does not have the shape of `positions`.
///
/// After `PositionOutOfRange`, some elements of `out` may have changed. After any other error, `out` is unchanged.
///
/// # Complexity
///
/// O(*k*) for *k* indices, without allocations, if `x`, `out` and the index array are contiguous in row-major order.
/// Otherwise, the complexity of [`take`].
///
/// # Examples
///
/// ```
/// use lacuna::{take, take_into};
/// use ndarray::arr1;
///
/// let x = arr1(&[10.0, 20.0, 30.0]);
/// let mut out = arr1(&[0.0; 2]);
/// for indices in [[0, -1], [2, 1]] {
///     take_into(&x, &indices, &mut out)?;
///     assert_eq!(out.clone().into_dyn(), take(&x, indices)?);
/// }
/// let refused = take_into(&x, [0, 1, 2], &mut out).unwrap_err();
/// assert_eq!(refused.to_string(), "the result must have shape [3], found [2]");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) with `out`.
#[doc(alias = "numpy.take")]
#[doc(alias = "out")]
pub fn take_into<'a, T: Element, J: Position>(
    x: &ArrayBase<impl Data<Elem = T>, impl Dimension>,
    positions: impl Into<Take<'a, J>>,
    out: &mut ArrayBase<impl DataMut<Elem = T>, impl Dimension>,
) -> Result<()> {
    let request = Request::new(x.shape(), positions.into(), None)?;
    take_dense_into(x.view().into_dyn(), &request, out.view_mut().into_dyn())
}

/// Returns the slices at positions of one axis.
///
/// *y*<sub>a,k,b</sub> = *x*<sub>a,p(*i*<sub>k</sub>),b</sub> for the indices *i* in `positions` and each position *k*
/// of `positions`. Here, *a* is a position on the axes before `axis`, and *b* is a position on the axes after `axis`.
/// The function p is the function of [`take`], for positions on the axis.
///
/// # Shapes
///
/// In the shape of the result, the axes of `positions` replace `axis`. A single index removes the axis. An index array
/// of rank 2 replaces the axis by two axes. A negative axis counts from the end. The result has the format, the index
/// type and the element type of `x`.
///
/// # Implicit values
///
/// The result has the fill of `x`. The result stores a position exactly if `x` stores the taken element.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs.
///
/// # Gradient
///
/// [`grad::take_axis`](crate::grad::take_axis).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis, for example because its rank is 0;
/// - `LengthMismatch`: `positions` is a mask, and its length differs from the length of the axis;
/// - `PositionOutOfRange`: an index is outside `-n..n` for an axis of length `n`, and `positions` does not wrap or
///   clip;
/// - `TakeFromEmpty`: `positions` is not empty, in any mode, and the axis has length 0;
/// - `AxisTooLong`: an axis of `positions` is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the inputs. For a sparse
///   tensor, up to 16 bytes of working lists per entry of the result also count.
///
/// Indices are always checked against the axis, even if another axis has length 0 and the result is empty. In numpy,
/// the check depends on which axis has length 0.
///
/// # Complexity
///
/// For *k* indices, *n* entries of `x` and *m* entries of the result, the cost is at most O(*n* + *k* + *m* · (rank +
/// log *k*)). Along the first axis, or an axis with many entries per index, each index is searched among the entries.
/// This search costs O(*k* · log *n* + *m* · rank). Time and memory do not grow with the length of an axis, except for
/// the offsets of CSR. For arrays, the cost is O(elements of the result).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, take_axis};
/// use ndarray::{Axis, arr2};
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
///
/// let y = take_axis(&x, [2, 1, 2], -1)?;
/// assert_eq!(y.to_dense()?, arr2(&[[0.0, 2.0, 0.0], [4.0, 0.0, 4.0]]).into_dyn());
/// assert_eq!(y.to_dense()?, x.to_dense()?.select(Axis(1), &[2, 1, 2]));
///
/// let row = take_axis(&x, -1, 0)?;
/// assert_eq!(row.entries(), [(vec![0], 3.0), (vec![2], 4.0)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) with an axis.
#[doc(alias = "index_select")]
#[doc(alias = "torch.index_select")]
#[doc(alias = "select")]
#[doc(alias = "numpy.take")]
#[doc(alias = "slice")]
#[doc(alias = "iloc")]
pub fn take_axis<'a, X: Operand, J: Position>(
    x: &X,
    positions: impl Into<Take<'a, J>>,
    axis: impl Position,
) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &Request::new(x.lengths(), positions.into(), Some(axis.to_i128()))?)
}

/// Returns the gradient of [`take`], summed at the taken positions.
///
/// *dx*<sub>q</sub> = the sum of *dy*<sub>k</sub> over all *k* with p(*i*<sub>k</sub>) = *q*, where *dy* is `upstream`,
/// and *i* and p are as in [`take`]
///
/// The terms are added from left to right, in the row-major order of the index array and in the type of the upstream
/// gradient. A gradient of zero is `+0.0`. The gradient depends only on the pattern of `x`, not on its values.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `positions`. The result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. An entry that was not taken receives
/// 0. Positions that `upstream` does not store have the fill of `upstream`. Gradients for unstored positions of `x` are
/// dropped.
///
/// # NaN
///
/// The NaN gradient of an element that is taken once keeps its payload. A sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`take`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a partial sum of integers does not fit the element type, even if the complete sum does. The error
///   reports the first such sum in the order of the index array. `bool` gradients are combined with "or".
///
/// # Complexity
///
/// The cost of [`take`], one lookup in `upstream` per index, and O(entries of `x`), or O(elements of `x`) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr1(&[0.5, 10.0, 0.25]);
/// let dx = grad::take(&x, &upstream, [1, 0, 1])?;
/// assert_eq!(dx.values(), [0.75, 0.0, 0.0]); // 10.0 belongs to an unstored position
/// assert!(dx.shares_pattern_with(&x));
///
/// let dense = grad::take(&x.to_dense()?, &upstream, [1, 0, 1])?;
/// assert_eq!(dense, ndarray::arr2(&[[10.0, 0.75, 0.0], [0.0, 0.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.take`](https://docs.pytorch.org/docs/stable/generated/torch.take.html) and its gradient. In
/// numpy, the sum is [`add.at`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.at.html).
#[doc(alias = "scatter_add")]
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn take_backward<'a, X: Operand, J: Position, U: Operand>(
    x: &X,
    upstream: &U,
    positions: impl Into<Take<'a, J>>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &Request::new(x.lengths(), positions.into(), None)?, upstream)
}

/// Returns the gradient of [`take_axis`], summed at the taken positions.
///
/// *dx*<sub>a,q,b</sub> = the sum of *dy*<sub>a,k,b</sub> over all *k* with p(*i*<sub>k</sub>) = *q*, where *dy* is
/// `upstream`, and *a*, *b*, *i* and p are as in [`take_axis`]
///
/// The terms are added from left to right, in the row-major order of the forward result and in the type of the upstream
/// gradient. A gradient of zero is `+0.0`.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `take_axis(x, positions, axis)`. The result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. Positions that `upstream` does not
/// store have the fill of `upstream`. Gradients for unstored positions of `x` are dropped.
///
/// # NaN
///
/// The NaN gradient of an element that is taken once keeps its payload. A sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`take_axis`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a partial sum of integers does not fit the element type. The error reports the first such sum in
///   the order of the forward result.
///
/// # Complexity
///
/// The cost of [`take_axis`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`), or
/// O(elements of `x`) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, grad};
/// use ndarray::arr2;
///
/// // . 2 .
/// // 3 . 4
/// let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr2(&[[0.5, 0.25, 1.0], [8.0, 4.0, 2.0]]);
/// let dx = grad::take_axis(&x, &upstream, [2, 1, 2], -1)?;
/// assert_eq!(dx.values(), [0.25, 0.0, 10.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = grad::take_axis(&x.to_dense()?, &upstream, [2, 1, 2], -1)?;
/// assert_eq!(dense, arr2(&[[0.0, 0.25, 1.5], [0.0, 4.0, 10.0]]).into_dyn());
/// assert!(dx.entries().iter().all(|(at, gradient)| dense[at.as_slice()] == *gradient));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.index_select`](https://docs.pytorch.org/docs/stable/generated/torch.index_select.html) and its
/// gradient.
#[doc(alias = "index_add")]
#[doc(alias = "scatter_add")]
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn take_axis_backward<'a, X: Operand, J: Position, U: Operand>(
    x: &X,
    upstream: &U,
    positions: impl Into<Take<'a, J>>,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &Request::new(x.lengths(), positions.into(), Some(axis.to_i128()))?, upstream)
}

impl<J: Position> Select for Request<'_, J> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn held_bytes(&self) -> usize {
        self.take.owned_bytes()
    }

    fn plan(&self, x: &AnyPattern, room: StepLimits) -> Result<Selected> {
        let StepLimits { value_bytes, limit } = room;
        let target = TakeResult { shape: &self.shape, indices: self.take.shape(), value_bytes, limit };
        if let Some(axis) = self.axis {
            if let Some((first, count)) = self.take.range_within(x.shape()[axis]) {
                let mut cuts: Vec<_> = x.shape().iter().map(|&length| StepRange::whole(length)).collect();
                cuts[axis] = StepRange::new(first, 1, count);
                return MoveStep::Cut(cuts).plan(x, &self.shape, room);
            }
            return along(x, axis, &self.positions(x.shape()[axis], ALONG_BYTES)?, &target);
        }
        let items = self.take.items(size_of::<J>() + value_bytes + FLATTENED_BYTES)?;
        self.check(&items, x.shape().wide_size())?;
        flattened(x, &items, self.take.mode, &target)
    }

    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>> {
        take_dense(x, self)
    }

    fn dense_sums<G: Element>(&self, x: &Shape, gradients: &[G]) -> Result<std::result::Result<Vec<G>, usize>> {
        let plan = self.dense_plan(x)?;
        Ok(scatter_add(x.iter().product(), plan.sources().zip(gradients.iter().copied()))?)
    }
}
