//! Elements at positions, flattened or along an axis, and their gradients by scatter-add.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use crate::axes::normalize_axis;
use crate::convert::{check_ndarray_shape, dense_array};
use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::index::{Index, Position, check_axes};
use crate::kernels::sort::{compare, gather};
pub use crate::kernels::take::TakeMode;
use crate::kernels::take::{Slices, Taken, along_axis, find, first_outside, positions, scatter_add, stored_items};
use crate::limit::{default_limit, guard};
use crate::ops::indices::{Indices, owned_bytes};
use crate::ops::upstream::{Upstream, at_entries, check_shape};
use crate::parallel;
use crate::pattern::{CooPattern, CsrPattern, Pattern, coords_as_slices};
use crate::shape::{Shape, checked_product, unravel};
use crate::tensor::Tensor;

/// What [`take`] and [`take_axis`] take: tensors of both formats, and `ndarray` arrays and views.
///
/// In scope (it is in the [prelude](crate::prelude)), it gives arrays the methods that tensors have of their own:
///
/// ```
/// use lacuna::prelude::*;
/// use lacuna::TakeMode;
/// use ndarray::{arr1, arr2};
///
/// let dense = arr2(&[[1, 2], [3, 4]]);
/// assert_eq!(dense.take([-1, 0], TakeMode::Raise)?, arr1(&[4, 1]).into_dyn());
/// assert_eq!(dense.iter().take(1).count(), 1);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub trait TakeOp {
    /// What [`take`] and [`take_axis`] give: the same kind; for arrays, an array that owns its elements.
    type Output;
    /// What the gradients give: the same kind with the elements of the upstream gradient.
    type Gradient<G: Element>;

    /// See [`take`].
    ///
    /// # Errors
    ///
    /// Those of [`take`].
    fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self::Output>;

    /// See [`take_axis`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis`].
    fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Output>;

    /// See [`take_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_backward`].
    fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>>;

    /// See [`take_axis_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis_backward`].
    fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>>;
}

/// The elements at flattened (row-major) positions.
///
/// *y*<sub>k</sub> = *x*<sub>p(*i*<sub>k</sub>)</sub>, where p counts negative indices from the end
/// ([`TakeMode::Raise`]), goes round ([`Wrap`](TakeMode::Wrap)) or to the nearest position ([`Clip`](TakeMode::Clip)).
///
/// # Shapes
///
/// `x` of any shape is read as a list of all its positions; the result has the shape of `indices`, of any rank from 0
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
/// [`take_backward`].
///
/// # Errors
///
/// - `PositionOutOfRange`: under `Raise`, an index is outside `-n..n` for `n` elements; the first one is named;
/// - `TakeFromEmpty`: there are indices, in any mode, and `x` has no element;
/// - `AxisTooLong`: an axis of `indices` does not fit the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the inputs, which happens only where
///   the index array is a broadcast view, or has vastly many rows of length zero.
///
/// # Complexity
///
/// O(k · (rank + log nnz)) for k indices, at worst O(k · rank · log nnz) on entries made for it; O(k · log columns) for
/// CSR, and its offsets; O(k) for contiguous arrays, O(k · rank) for others.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, TakeMode, take};
/// use ndarray::{arr1, arr2};
///
/// // . 2 .
/// // 0 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 0.0, 4.0], 0.0)?;
///
/// let y = take(&x, [1, 3, 0, -1], TakeMode::Raise)?;
/// assert_eq!(y.to_dense()?, arr1(&[2.0, 0.0, 0.0, 4.0]).into_dyn());
/// assert_eq!(y.to_dense()?, take(&x.to_dense()?, [1, 3, 0, -1], TakeMode::Raise)?);
/// assert_eq!(y.nnz(), 3); // the stored zero stays stored
///
/// let square = take(&x, &arr2(&[[1u8, 1], [0, 5]]), TakeMode::Raise)?;
/// assert_eq!(square.to_dense()?, arr2(&[[2.0, 2.0], [0.0, 4.0]]).into_dyn());
///
/// let refused = take(&x, [0, 6], TakeMode::Raise).unwrap_err();
/// assert_eq!(refused.to_string(), "position 6 is out of range for 6 elements, index 1");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// A float is no position:
///
/// ```compile_fail
/// # use lacuna::{CooTensor, TakeMode, take};
/// let x = CooTensor::full([3], 0.0)?;
/// take(&x, [1.0], TakeMode::Raise)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) without an axis.
pub fn take<'a, X: TakeOp, J: Position>(
    x: &X,
    indices: impl Into<Indices<'a, J>>,
    mode: TakeMode,
) -> Result<X::Output> {
    x.take(indices, mode)
}

/// The slices at positions of one axis.
///
/// *y*<sub>a,k,b</sub> = *x*<sub>a,p(*i*<sub>k</sub>),b</sub> for *a* over the axes before `axis` and *b* over those
/// after it, with p as in [`take`].
///
/// # Shapes
///
/// The shape of `x` with `axis` replaced by the axes of `indices`: one index removes it, an index array of rank 2 puts
/// two axes in its place. A negative axis counts from the end. On CSR the axis is the last one or, of a matrix, the
/// first. The result has the format, the index type and the element type of `x`.
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
/// [`take_axis_backward`].
///
/// # Errors
///
/// - `AxisOutOfRange`: there is no such axis; on rank 0, there is none at all;
/// - `PositionOutOfRange`: under `Raise`, an index is outside `-n..n` for an axis of length `n`;
/// - `TakeFromEmpty`: there are indices, in any mode, and the axis has length 0;
/// - `AxisTooLong`: an axis of `indices` does not fit the index type of `x`;
/// - `CsrAxes`: CSR was asked for another axis; the message spells the call that works;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the inputs.
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
/// use lacuna::{CooTensor, TakeMode, take_axis};
/// use ndarray::{Axis, arr2};
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
///
/// let y = take_axis(&x, [2, 1, 2], -1, TakeMode::Raise)?;
/// assert_eq!(y.to_dense()?, arr2(&[[0.0, 2.0, 0.0], [4.0, 0.0, 4.0]]).into_dyn());
/// assert_eq!(y.to_dense()?, x.to_dense()?.select(Axis(1), &[2, 1, 2]));
///
/// let row = take_axis(&x, -1, 0, TakeMode::Raise)?;
/// assert_eq!(row.entries(), [(vec![0], 3.0), (vec![2], 4.0)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take`](https://numpy.org/doc/stable/reference/generated/numpy.take.html) with an axis.
pub fn take_axis<'a, X: TakeOp, J: Position>(
    x: &X,
    indices: impl Into<Indices<'a, J>>,
    axis: isize,
    mode: TakeMode,
) -> Result<X::Output> {
    x.take_axis(indices, axis, mode)
}

/// The gradient of [`take`]: every position receives the sum of the gradients of the cells that took it.
///
/// *dx*<sub>p</sub> = Σ<sub>k: p(*i*<sub>k</sub>) = p</sub> *dy*<sub>k</sub>
///
/// The terms are added in the row-major order of the index array, from left to right, in the type of the upstream
/// gradient. The first one is stored as it is, not added to 0, so a lone `-0.0` stays one. It asks for no value of
/// `x`, only for its pattern.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `indices`; the result has the shape of `x`.
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
/// use lacuna::{CooTensor, TakeMode, take_backward};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr1(&[0.5, 10.0, 0.25]);
/// let dx = take_backward(&x, [1, 0, 1], &upstream, TakeMode::Raise)?;
/// assert_eq!(dx.values(), [0.75, 0.0, 0.0]); // 10.0 went to a position that is not stored
/// assert!(dx.shares_pattern_with(&x));
///
/// let dense = take_backward(&x.to_dense()?, [1, 0, 1], &upstream, TakeMode::Raise)?;
/// assert_eq!(dense, ndarray::arr2(&[[10.0, 0.75, 0.0], [0.0, 0.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.take`](https://docs.pytorch.org/docs/stable/generated/torch.take.html) and its gradient; numpy
/// spells the sum [`add.at`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.at.html).
pub fn take_backward<'a, X: TakeOp, J: Position, U: Upstream>(
    x: &X,
    indices: impl Into<Indices<'a, J>>,
    upstream: &U,
    mode: TakeMode,
) -> Result<X::Gradient<U::Elem>> {
    x.take_backward(indices, upstream, mode)
}

/// The gradient of [`take_axis`]: every position receives the sum of the gradients of the cells that took it.
///
/// *dx*<sub>a,p,b</sub> = Σ<sub>k: p(*i*<sub>k</sub>) = p</sub> *dy*<sub>a,k,b</sub>
///
/// The terms are added in the row-major order of the forward result, as in [`take_backward`], which also says what
/// happens to implicit values and to NaN.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `take_axis(x, indices, axis, mode)`; the result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x` the result has its pattern (shared) and a fill of 0.
///
/// # NaN
///
/// A lone gradient is handed on bit for bit; a sum that is NaN is the canonical NaN.
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
/// use lacuna::{CsrTensor, TakeMode, take_axis_backward};
/// use ndarray::arr2;
///
/// // . 2 .
/// // 3 . 4
/// let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr2(&[[0.5, 0.25, 1.0], [8.0, 4.0, 2.0]]);
/// let dx = take_axis_backward(&x, [2, 1, 2], &upstream, -1, TakeMode::Raise)?;
/// assert_eq!(dx.values(), [0.25, 0.0, 10.0]);
/// assert!(dx.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`torch.index_select`](https://docs.pytorch.org/docs/stable/generated/torch.index_select.html) and its
/// gradient.
pub fn take_axis_backward<'a, X: TakeOp, J: Position, U: Upstream>(
    x: &X,
    indices: impl Into<Indices<'a, J>>,
    upstream: &U,
    axis: isize,
    mode: TakeMode,
) -> Result<X::Gradient<U::Elem>> {
    x.take_axis_backward(indices, upstream, axis, mode)
}

/// What is taken, whatever from.
struct Request<'a, J> {
    operation: &'static str,
    indices: Indices<'a, J>,
    /// Counted from the front; `None` takes flattened positions.
    axis: Option<usize>,
    mode: TakeMode,
    /// The shape of the result.
    shape: Shape,
}

impl<'a, J: Position> Request<'a, J> {
    fn new(
        operation: &'static str,
        x: &Shape,
        indices: Indices<'a, J>,
        axis: Option<isize>,
        mode: TakeMode,
    ) -> Result<Self> {
        let axis = axis.map(|axis| normalize_axis(axis, x.rank())).transpose()?;
        let shape = match axis {
            None => indices.shape().clone(),
            Some(axis) => [&x[..axis], indices.shape(), &x[axis + 1..]].concat().into(),
        };
        Ok(Request { operation, indices, axis, mode, shape })
    }

    /// Refuses `items` that name nothing among `size` positions.
    fn check(&self, items: &[J], size: u128) -> Result<()> {
        if size == 0 && !items.is_empty() {
            return Err(Error::TakeFromEmpty { count: items.len() });
        }
        let outsider = if self.mode == TakeMode::Raise { first_outside(items, size) } else { None };
        match outsider {
            None => Ok(()),
            Some(at) => Err(Error::PositionOutOfRange { position: items[at].to_i128(), size, at }),
        }
    }

    /// The positions that the items name among `length` of them, each with `item_bytes` of work to follow.
    fn positions(&self, length: usize, item_bytes: usize) -> Result<Vec<usize>> {
        let items = self.indices.items(size_of::<J>() + size_of::<usize>() + item_bytes)?;
        self.check(&items, length as u128)?;
        Ok(positions(&items, length, self.mode))
    }
}

/// A pattern from which entries can be taken.
trait TakeEntries: Pattern {
    /// The lengths over which a flattened position is split to be found.
    fn split_lengths(&self) -> Vec<usize>;

    /// How many entries a position is searched among, on the average.
    fn searched(&self) -> usize;

    /// What finds the entry at coordinates within these lengths.
    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync;

    /// The pattern of `shape` that stores the positions given, flattened and in increasing order.
    fn from_positions(shape: Shape, stored: &[usize], limit: u64) -> Result<Self>;

    /// The pattern of a take along `axis`, and for each of its entries the one that it takes; there are at most `most`.
    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)>;
}

/// Where a take along an axis goes.
struct Target<'a> {
    operation: &'static str,
    /// The lengths of the index array.
    lengths: &'a [usize],
    /// The shape of the result.
    shape: &'a Shape,
    /// The bytes of one entry.
    entry_bytes: usize,
    limit: u64,
}

impl Target<'_> {
    /// The most entries that the limit allows.
    fn most(&self) -> u128 {
        u128::from(self.limit) / self.entry_bytes as u128
    }

    /// Refuses a result of `entries`, more than that.
    fn refuse(&self, entries: u128) -> Error {
        let bytes = entries.saturating_mul(self.entry_bytes as u128);
        Error::TooLarge { what: "the taken entries", bytes, limit: self.limit, instead: "take fewer at a time" }
    }
}

/// The entries taken, one after the other.
fn sources_of(taken: &[Taken]) -> Vec<usize> {
    taken.iter().flat_map(|taken| taken.entries.clone()).collect()
}

/// `of` for each of the entries taken.
fn for_entries<U: Copy>(taken: &[Taken], of: impl Fn(&Taken) -> U) -> impl Iterator<Item = U> {
    taken.iter().flat_map(move |taken| std::iter::repeat_n(of(taken), taken.entries.len()))
}

/// The coordinates within `lengths` of row-major positions that exist.
fn coords_of<I: Index>(positions: &[usize], lengths: &[usize]) -> Vec<Arc<Vec<I>>> {
    let inner = |axis: usize| checked_product(&lengths[axis + 1..]).unwrap_or(usize::MAX);
    let coords = |axis: usize| match (inner(axis), lengths[axis]) {
        (1, length) if axis > 0 => parallel::map(positions, |position| I::from_usize(position % length)),
        (1, _) => parallel::map(positions, I::from_usize),
        (inner, length) => parallel::map(positions, |position| I::from_usize(position / inner % length)),
    };
    (0..lengths.len()).map(|axis| Arc::new(coords(axis))).collect()
}

impl<I: Index> TakeEntries for CooPattern<I> {
    fn split_lengths(&self) -> Vec<usize> {
        self.shape().to_vec()
    }

    fn searched(&self) -> usize {
        self.nnz()
    }

    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync {
        let axes = coords_as_slices(self.shared_coords());
        move |coords| find(&axes, self.nnz(), coords)
    }

    fn from_positions(shape: Shape, stored: &[usize], _: u64) -> Result<Self> {
        let coords = coords_of(stored, &shape);
        Ok(CooPattern::from_valid(shape, stored.len(), coords))
    }

    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let axes = coords_as_slices(self.shared_coords());
        let runs = runs_of(&axes[..axis], self.nnz());
        let taken = along_axis(axes[axis], &runs, positions, self.shape()[axis], target.most());
        let taken = taken.map_err(|entries| target.refuse(entries))?;
        let sources = sources_of(&taken);
        let items: Vec<usize> = for_entries(&taken, |taken| taken.item).collect();
        let gathered = |axes: &[&[I]]| axes.iter().map(|axis| Arc::new(gather(axis, &sources))).collect::<Vec<_>>();
        let mut coords = gathered(&axes[..axis]);
        coords.extend(coords_of(&items, target.lengths));
        coords.extend(gathered(&axes[axis + 1..]));
        Ok((CooPattern::from_valid(target.shape.clone(), sources.len(), coords), sources))
    }
}

/// The offsets of the entries that agree on all of `axes`.
fn runs_of<I: Index>(axes: &[&[I]], count: usize) -> Vec<usize> {
    if axes.is_empty() {
        return vec![0, count];
    }
    let opens = |&entry: &usize| entry == 0 || compare(axes, entry - 1, entry).is_ne();
    (0..count).filter(opens).chain([count]).collect()
}

impl<I: Index> TakeEntries for CsrPattern<I> {
    fn split_lengths(&self) -> Vec<usize> {
        vec![self.lanes(), self.shape().columns()]
    }

    fn searched(&self) -> usize {
        self.nnz() / self.lanes().max(1)
    }

    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync {
        |coords| {
            let (lane, column) = (coords[0], coords[1]);
            let within = self.lane(lane).binary_search_by(|index| index.to_usize().cmp(&column)).ok()?;
            Some(self.offsets()[lane] + within)
        }
    }

    fn from_positions(shape: Shape, stored: &[usize], limit: u64) -> Result<Self> {
        let width = shape.columns();
        let columns = parallel::map(stored, |position| I::from_usize(position % width));
        CsrPattern::from_lanes(shape, stored.iter().map(|position| position / width), Arc::new(columns), limit)
    }

    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let rank = self.shape().rank();
        match axis {
            _ if axis + 1 == rank => self.take_columns(positions, target),
            0 if rank == 2 => self.take_lanes(positions, target),
            _ => {
                let upstream = if target.operation == "take_axis" { "" } else { "&upstream, " };
                let instead = format!("x.to_coo().{}(indices, {upstream}{axis}, mode)", target.operation);
                Err(Error::CsrAxes { operation: target.operation, axes: vec![axis], rank, instead })
            }
        }
    }
}

impl<I: Index> CsrPattern<I> {
    fn take_lanes(&self, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let entries = |&lane: &usize| self.offsets()[lane]..self.offsets()[lane + 1];
        let total = positions.iter().map(|lane| entries(lane).len() as u128).sum();
        if total > target.most() {
            return Err(target.refuse(total));
        }
        let sources: Vec<usize> = positions.iter().flat_map(entries).collect();
        let columns = Arc::new(gather(self.columns(), &sources));
        let lanes = positions.iter().enumerate();
        let lanes = lanes.flat_map(|(item, lane)| std::iter::repeat_n(item, entries(lane).len()));
        Ok((CsrPattern::from_lanes(target.shape.clone(), lanes, columns, target.limit)?, sources))
    }

    fn take_columns(&self, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let length = self.shape().columns();
        let taken = along_axis(self.columns(), self.offsets(), positions, length, target.most());
        let taken = taken.map_err(|entries| target.refuse(entries))?;
        // The lane and the column of the cell where an item of a lane goes: one index leaves the last axis of the
        // lanes as the new columns, an index array brings its own columns and as many lanes to each lane as it has.
        // A lane that does not fit is not read: its offsets are refused first.
        let width = target.shape.columns();
        let cell = |taken: &Taken| match target.lengths.is_empty() {
            true => (taken.run / width, taken.run % width),
            false => {
                (taken.run.wrapping_mul(positions.len() / width).wrapping_add(taken.item / width), taken.item % width)
            }
        };
        let columns = for_entries(&taken, |taken| I::from_usize(cell(taken).1)).collect();
        let lanes = for_entries(&taken, |taken| cell(taken).0);
        let pattern = CsrPattern::from_lanes(target.shape.clone(), lanes, Arc::new(columns), target.limit)?;
        Ok((pattern, sources_of(&taken)))
    }
}

/// The pattern of what is taken, and for each of its entries the one that it takes; `x_bytes` are those of the input,
/// `value_bytes` those of a value of the result.
fn take_entries<P: TakeEntries, J: Position>(
    pattern: &P,
    request: &Request<'_, J>,
    x_bytes: usize,
    value_bytes: usize,
) -> Result<(P, Vec<usize>)> {
    let shape = &request.shape;
    check_axes::<P::Index>(shape)?;
    let limit = default_limit(x_bytes.saturating_add(request.indices.owned_bytes()));
    let entry_bytes = shape.rank() * size_of::<P::Index>() + value_bytes + size_of::<Taken>();
    if let Some(axis) = request.axis {
        let positions = request.positions(pattern.shape()[axis], 0)?;
        let (operation, lengths) = (request.operation, &**request.indices.shape());
        return pattern.take_along(axis, &positions, &Target { operation, lengths, shape, entry_bytes, limit });
    }
    let items = request.indices.items(size_of::<J>() + entry_bytes)?;
    let size = pattern.shape().wide_size();
    request.check(&items, size)?;
    let lengths = pattern.split_lengths();
    let stored = stored_items(&items, &lengths, size, request.mode, pattern.searched(), pattern.finder());
    let (stored, sources): (Vec<_>, Vec<_>) = stored.into_iter().unzip();
    Ok((P::from_positions(shape.clone(), &stored, limit)?, sources))
}

fn take_sparse<P: TakeEntries, T: Element, J: Position>(
    x: &Tensor<P, T>,
    indices: Indices<'_, J>,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<Tensor<P, T>> {
    let request = Request::new("take_axis", x.shape(), indices, axis, mode)?;
    let (pattern, sources) = take_entries(x.pattern(), &request, x.stored_bytes(), size_of::<T>())?;
    Ok(Tensor::from_valid(pattern, gather(x.values(), &sources), x.fill()))
}

fn take_backward_sparse<P: TakeEntries, T: Element, J: Position, U: Upstream>(
    x: &Tensor<P, T>,
    indices: Indices<'_, J>,
    upstream: &U,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<Tensor<P, U::Elem>> {
    let request = Request::new("take_axis_backward", x.shape(), indices, axis, mode)?;
    check_shape(upstream, &request.shape)?;
    let (cells, sources) = take_entries(x.pattern(), &request, x.stored_bytes(), size_of::<U::Elem>())?;
    let gradients = at_entries(upstream, &cells);
    let values = scatter_add(x.nnz(), sources.into_iter().zip(gradients))
        .map_err(|entry| sum_overflow::<U::Elem>(entry_coords(x.pattern(), entry)))?;
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

fn sum_overflow<G: Element>(coords: Vec<usize>) -> Error {
    Error::SumOverflow { coords, dtype: G::DTYPE.name() }
}

/// The coordinates of one entry, for a message.
fn entry_coords<P: Pattern>(pattern: &P, entry: usize) -> Vec<usize> {
    let mut found = Vec::new();
    pattern.walk(|number, coords| {
        found = coords.to_vec();
        number < entry
    });
    found
}

/// The positions to be taken of a dense array of `shape` as slices: a flattened take is one along the only axis.
fn slices<'p>(shape: &[usize], axis: Option<usize>, positions: &'p [usize]) -> Slices<'p> {
    let size = |lengths: &[usize]| lengths.iter().product();
    match axis {
        None => Slices { outer: 1, length: size(shape), inner: 1, positions },
        Some(axis) => {
            let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
            Slices { outer, length: shape[axis], inner, positions }
        }
    }
}

/// The number of positions that a request counts on a dense array.
fn dense_length(shape: &[usize], axis: Option<usize>) -> usize {
    axis.map_or_else(|| shape.iter().product(), |axis| shape[axis])
}

fn take_dense<T: Element, J: Position>(
    x: ArrayViewD<'_, T>,
    indices: Indices<'_, J>,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<ArrayD<T>> {
    let request = Request::new("take_axis", &Shape::from(x.shape()), indices, axis, mode)?;
    let positions = request.positions(dense_length(x.shape(), request.axis), size_of::<T>())?;
    check_taken::<T>(&request.shape, owned_bytes(&x).saturating_add(request.indices.owned_bytes()))?;
    if request.shape.is_empty_space() {
        return Ok(dense_array(&request.shape, Vec::new()));
    }
    let slices = slices(x.shape(), request.axis, &positions);
    let items = match x.as_slice() {
        Some(items) => slices.gather(items),
        None if x.len() <= slices.len() => slices.gather(&x.iter().copied().collect::<Vec<_>>()),
        None => gather_scattered(&x, &slices),
    };
    Ok(dense_array(&request.shape, items))
}

/// The elements taken from an array of any layout, one by one.
fn gather_scattered<T: Element>(x: &ArrayViewD<'_, T>, slices: &Slices<'_>) -> Vec<T> {
    let scratch = || vec![0; x.ndim()];
    parallel::filter_map_range(slices.len(), scratch, |coords, taken| {
        unravel(slices.source(taken), x.shape(), coords);
        Some(x[&coords[..]])
    })
}

/// Refuses a dense result that no `ndarray` can hold, or that is out of proportion to the input.
fn check_taken<T>(shape: &Shape, input_bytes: usize) -> Result<()> {
    check_ndarray_shape(shape)?;
    guard::<T>("the dense result", shape.wide_size(), default_limit(input_bytes), "take fewer at a time")
}

fn take_backward_dense<J: Position, U: Upstream>(
    shape: &Shape,
    x_bytes: usize,
    indices: Indices<'_, J>,
    upstream: &U,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<ArrayD<U::Elem>> {
    let request = Request::new("take_axis_backward", shape, indices, axis, mode)?;
    check_shape(upstream, &request.shape)?;
    let positions = request.positions(dense_length(shape, request.axis), 0)?;
    check_taken::<U::Elem>(shape, x_bytes)?;
    check_taken::<U::Elem>(&request.shape, x_bytes.saturating_add(request.indices.owned_bytes()))?;
    let slices = slices(shape, request.axis, &positions);
    let contributions = slices.sources().zip(upstream.in_order());
    let sums = scatter_add(shape.checked_size().unwrap_or(0), contributions).map_err(|position| {
        let mut coords = vec![0; shape.rank()];
        unravel(position, shape, &mut coords);
        sum_overflow::<U::Elem>(coords)
    })?;
    Ok(dense_array(shape, sums))
}

/// The same lines for each format, as each gives its own kind back.
macro_rules! impl_take {
    ($tensor:ident) => {
        impl<T: Element, I: Index> TakeOp for $tensor<T, I> {
            type Output = $tensor<T, I>;
            type Gradient<G: Element> = $tensor<G, I>;

            fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self> {
                take_sparse(self, indices.into(), None, mode)
            }

            fn take_axis<'a, J: Position>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                axis: isize,
                mode: TakeMode,
            ) -> Result<Self> {
                take_sparse(self, indices.into(), Some(axis), mode)
            }

            fn take_backward<'a, J: Position, U: Upstream>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                upstream: &U,
                mode: TakeMode,
            ) -> Result<Self::Gradient<U::Elem>> {
                take_backward_sparse(self, indices.into(), upstream, None, mode)
            }

            fn take_axis_backward<'a, J: Position, U: Upstream>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                upstream: &U,
                axis: isize,
                mode: TakeMode,
            ) -> Result<Self::Gradient<U::Elem>> {
                take_backward_sparse(self, indices.into(), upstream, Some(axis), mode)
            }
        }
    };
}

impl_take!(CooTensor);
impl_take!(CsrTensor);

impl<S: Data<Elem: Element>, D: Dimension> TakeOp for ArrayBase<S, D> {
    type Output = ArrayD<S::Elem>;
    type Gradient<G: Element> = ArrayD<G>;

    fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self::Output> {
        take_dense(self.view().into_dyn(), indices.into(), None, mode)
    }

    fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Output> {
        take_dense(self.view().into_dyn(), indices.into(), Some(axis), mode)
    }

    fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>> {
        take_backward_dense(&self.shape().into(), owned_bytes(self), indices.into(), upstream, None, mode)
    }

    fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>> {
        take_backward_dense(&self.shape().into(), owned_bytes(self), indices.into(), upstream, Some(axis), mode)
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// The elements at flattened positions: see [`take`].
    ///
    /// # Errors
    ///
    /// Those of [`take`].
    pub fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self>
    where
        Self: TakeOp<Output = Self>,
    {
        TakeOp::take(self, indices, mode)
    }

    /// The slices at positions of one axis: see [`take_axis`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis`].
    pub fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self>
    where
        Self: TakeOp<Output = Self>,
    {
        TakeOp::take_axis(self, indices, axis, mode)
    }

    /// The gradient of `take`: see [`take_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_backward`].
    pub fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: TakeOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        TakeOp::take_backward(self, indices, upstream, mode)
    }

    /// The gradient of `take_axis`: see [`take_axis_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis_backward`].
    pub fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: TakeOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        TakeOp::take_axis_backward(self, indices, upstream, axis, mode)
    }
}
