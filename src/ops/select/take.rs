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

/// The elements at flattened (row-major) positions.
///
/// *y*<sub>k</sub> = *x*<sub>p(*i*<sub>k</sub>)</sub>, where p counts negative indices from the end, or by an option of
/// [`Take`] goes round ([`wrap`](Take::wrap)) or to the nearest position ([`clip`](Take::clip)).
///
/// # Shapes
///
/// `x` of any shape is read as a list of all its positions; the result has the shape of `positions`, of any rank from 0
/// up. The size of `x` is never formed: it may exceed every integer. The result has the format, the index type and the
/// element type of `x`; an array gives an array, whatever the layouts.
///
/// # Implicit values
///
/// The result has the fill of `x`, and stores a cell exactly where the position taken is stored: a stored zero stays
/// stored, and a fill that is taken is not.
///
/// # NaN
///
/// Values are copied bit for bit, payloads of NaNs included.
///
/// # Gradient
///
/// [`grad::take`](crate::grad::take).
///
/// # Errors
///
/// - `PositionOutOfRange`: an index is outside `-n..n` for `n` elements; the first one is named;
/// - `TakeFromEmpty`: there are indices, in any mode, and `x` has no element;
/// - `AxisTooLong`: an axis of `positions` does not fit the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the inputs, which happens only where
///   the index array is a broadcast view, or has vastly many rows of length zero.
///
/// # Complexity
///
/// O(k · (rank + log nnz)) for k indices, at worst O(k · rank · log nnz) on entries made for it; O(k · (rank + log
/// columns)) for CSR, and its offsets; O(k) for contiguous arrays, O(k · rank) for others.
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
/// assert_eq!(refused.to_string(), "position 6 is out of range for 6 elements, index 1");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// A float is no position:
///
/// ```compile_fail
/// # use lacuna::{CooTensor, take};
/// let x = CooTensor::full([3], 0.0)?;
/// take(&x, [1.0])?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) without an axis.
#[doc(alias = "gather")]
#[doc(alias = "numpy.take")]
#[doc(alias = "torch.take")]
pub fn take<'a, X: Operand, J: Position>(x: &X, positions: impl Into<Take<'a, J>>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &Request::new(x.lengths(), positions.into(), None)?)
}

/// [`take`] of an array into an array that is there already, whose memory is spared being found and cleared.
///
/// *y*<sub>k</sub> = *x*<sub>p(*i*<sub>k</sub>)</sub>, as in [`take`]. Of a sparse tensor the positions that are stored
/// are known only when they have been taken, so there is no such form.
///
/// # Shapes
///
/// `out` has exactly the shape of `positions`, in any layout.
///
/// # Implicit values
///
/// None: both are arrays.
///
/// # NaN
///
/// Values are copied bit for bit.
///
/// # Gradient
///
/// [`grad::take`](crate::grad::take).
///
/// # Errors
///
/// Those of [`take`], and `ShapeMismatch` where `out` has another shape than `positions`. After `PositionOutOfRange`
/// the elements of `out` may have been written over, after any other error they are as they were.
///
/// # Complexity
///
/// O(k) for k indices, without memory where `x` and `out` are in row-major order; as [`take`] otherwise.
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

/// The slices at positions of one axis.
///
/// *y*<sub>a,k,b</sub> = *x*<sub>a,p(*i*<sub>k</sub>),b</sub> for *a* over the axes before `axis` and *b* over those
/// after it, with p as in [`take`].
///
/// # Shapes
///
/// The shape of `x` with `axis` replaced by the axes of `positions`: one index removes it, an index array of rank 2
/// puts two axes in its place. A negative axis counts from the end. The result has the format, the index type and the
/// element type of `x`.
///
/// # Implicit values
///
/// The result has the fill of `x`, and stores a cell exactly where the position taken is stored.
///
/// # NaN
///
/// Values are copied bit for bit, payloads of NaNs included.
///
/// # Gradient
///
/// [`grad::take_axis`](crate::grad::take_axis).
///
/// # Errors
///
/// - `AxisOutOfRange`: there is no such axis; on rank 0, there is none at all;
/// - `PositionOutOfRange`: an index is outside `-n..n` for an axis of length `n`;
/// - `TakeFromEmpty`: there are indices, in any mode, and the axis has length 0;
/// - `AxisTooLong`: an axis of `positions` does not fit the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the inputs; of a sparse tensor with up to
///   16 bytes of lists for each entry taken.
///
/// Indices are checked against the axis whatever the other axes are, also where one of them has length 0 and the
/// result no element (numpy looks at them or not, depending on which axis that is).
///
/// # Complexity
///
/// For k indices and a result of m entries: O(nnz + k + m · (rank + log k)) at most; along the first axis, or any other
/// with many entries an index, the items search the entries instead: O(k · log nnz + m · rank). No work and no memory
/// grows with the length of an axis, but for CSR's offsets. For arrays O(elements of the result).
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

/// The gradient of [`take`]: every position receives the sum of the gradients of the cells that took it.
///
/// *dx*<sub>p</sub> = Σ<sub>k: p(*i*<sub>k</sub>) = p</sub> *dy*<sub>k</sub>
///
/// The terms are added in the row-major order of the index array, from left to right, in the type of the upstream
/// gradient. A zero that is received has no sign. The gradient depends on the pattern of `x`, and on none of its values.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `positions`; the result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x` the result has its pattern (shared) and a fill of 0; an entry that was never taken is 0. Where
/// `upstream` stores nothing it gives its fill. What is taken from positions that are not stored goes nowhere.
///
/// # NaN
///
/// A lone gradient is handed on bit for bit; a sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations.
///
/// # Errors
///
/// Those of [`take`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type, whatever is added afterwards: the first in the order of the index
/// array is named. (`bool` gradients are summed by or.)
///
/// # Complexity
///
/// That of [`take`], a look-up in `upstream` for each cell, and O(nnz) (arrays: O(elements)) for the result.
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
/// assert_eq!(dx.values(), [0.75, 0.0, 0.0]); // 10.0 went to a position that is not stored
/// assert!(dx.shares_pattern_with(&x));
///
/// let dense = grad::take(&x.to_dense()?, &upstream, [1, 0, 1])?;
/// assert_eq!(dense, ndarray::arr2(&[[10.0, 0.75, 0.0], [0.0, 0.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.take`](https://docs.pytorch.org/docs/stable/generated/torch.take.html) and its gradient; numpy
/// spells the sum [`add.at`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.at.html).
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

/// The gradient of [`take_axis`]: every position receives the sum of the gradients of the cells that took it.
///
/// *dx*<sub>a,p,b</sub> = Σ<sub>k: p(*i*<sub>k</sub>) = p</sub> *dy*<sub>a,k,b</sub>
///
/// The terms are added in the row-major order of the forward result, as in
/// [`grad::take`](crate::grad::take), which also says what happens to implicit values and to NaN.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `take_axis(x, positions, axis)`; the result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x` the result has its pattern (shared) and a fill of 0.
///
/// # NaN
///
/// A lone gradient is handed on bit for bit; a sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations.
///
/// # Errors
///
/// Those of [`take_axis`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type: the first in the order of the forward result is named.
///
/// # Complexity
///
/// That of [`take_axis`], a look-up in `upstream` for each entry of the forward result, and O(nnz) (arrays:
/// O(elements)) for the result.
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
