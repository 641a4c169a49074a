//! The elements of lanes in increasing order.

use super::scan::{ScanAxis, backward_or, forward_or, in_lanes};
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::index::{Index, Position};
use crate::base::limit::default_limit;
use crate::element::{Float, Real};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::Group;
use crate::kernels::op::Outcomes;
use crate::kernels::sort_values::{self, sorted_positions};
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::pattern::{AxisCoords, of_width};
use crate::plan::row_major::row_major;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
#[allow(unused_imports)] // for the pages
use crate::tensor::stored::Stored;

/// Returns the elements along an axis in increasing order.
///
/// Equal elements keep their order, and zeros of both signs are equal. [`argsort`](crate::argsort()) returns the
/// positions in the same order.
///
/// # Shapes
///
/// The result has the shape and the element type of `x`.
///
/// # Implicit values
///
/// Unstored positions count, and their value is the fill. In each lane, the entries below the fill come first, then the
/// unstored positions, and then the entries above the fill. An entry that equals the fill remains stored, and keeps its
/// order among the unstored positions. The result has the fill of `x`, and each lane has as many entries as in `x`. The
/// pattern of the result depends on the values of `x`.
///
/// For [`x.stored()`](Stored), only the values of stored entries change places: the values of a lane increase from entry
/// to entry. The result has the pattern of `x` (shared) and the fill of `x`.
///
/// # NaN
///
/// NaNs come last, in the order of their positions. If the fill is NaN, the unstored positions are among the NaNs. The
/// bits of elements do not change.
///
/// # Gradient
///
/// [`grad::sort`](crate::grad::sort), for stored views and arrays. The sorted form of a sparse tensor that is not a
/// stored view does not have a gradient, because its pattern depends on values.
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `TooLarge`: `x` is a broadcast array, and the result needs more than the larger of 1 GiB and 16 times the bytes of the
///   array before broadcasting;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// Here *nnz* is the number of stored entries of `x`, and *rank* is the number of axes. A sparse operand takes
/// O(nnz · (rank + log nnz)), and an array of *n* elements takes O(n log n).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, sort};
/// use lacuna::ndarray::arr2;
///
/// // 3 . -1 .
/// // . 8  . 5
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 3]);
/// let x = CooTensor::new([2, 4], vec![rows, columns], vec![3.0, -1.0, 8.0, 5.0], 0.0)?;
/// let y = sort(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr2(&[[-1.0, 0.0, 0.0, 3.0], [0.0, 0.0, 5.0, 8.0]]).into_dyn());
/// assert_eq!(y.to_dense()?, sort(&x.to_dense()?, 1)?);
///
/// let y = x.stored().sort(1)?;
/// assert_eq!(y.values(), [-1.0, 3.0, 5.0, 8.0]);
/// assert!(y.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.sort`](https://numpy.org/doc/stable/reference/generated/numpy.sort.html), stable.
#[doc(alias = "numpy.sort")]
#[doc(alias = "torch.sort")]
pub fn sort<X: Operand<Elem: Real>>(x: &X, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    forward_or(x, op::sort.name, axis, sorted_lane, sort_whole)
}

/// Returns the gradient of [`sort()`]: each element receives the upstream gradient at its position in the sorted lane.
///
/// `x` is an array or a stored view.
///
#[doc = page!(scan_gradient)]
///
/// # NaN
///
/// A NaN of `x` also receives the gradient at its position. The bits of a gradient do not change, but a zero becomes
/// `+0.0`.
///
/// # Gradient
///
/// This gradient does not have a gradient.
///
#[doc = page!(scan_gradient_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([5], vec![vec![0, 2, 3]], vec![3.0, 1.0, 2.0], 0.0)?;
/// // the sorted values 1, 2, 3 are at the positions 0, 2, 3
/// let dx = grad::sort(&x.stored(), &arr1(&[10.0, 9.0, 20.0, 30.0, 9.0]), 0)?;
/// assert_eq!(dx.values(), [30.0, 10.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.sort`](https://docs.pytorch.org/docs/stable/generated/torch.sort.html) and its gradient.
pub fn sort_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    let no_whole = "a sorted tensor does not have a gradient, because its pattern depends on values; x.stored() skips \
                    unstored positions";
    backward_or(x, upstream, op::sort.name, axis, sort_values::gradients, no_whole)
}

/// Writes the sorted values of a lane.
fn sorted_lane<T: Real>(lane: &[T], sorted: &mut [T]) -> Outcomes<()> {
    sort_values::sort(lane, sorted);
    Ok(())
}

/// Sorts the lanes of a whole tensor, whose unstored positions hold the fill.
fn sort_whole<T: Real>(scan: ScanAxis, x: SparseRef<'_, T>) -> Result<Erased<T>> {
    let groups = scan.groups(x.pattern())?;
    let sort = |_, lane: &[T], sorted: &mut [T]| sorted_lane(lane, sorted);
    let sorted = in_lanes(x.values(), &groups, &sort).map_err(|failed| scan.rejection(failed, |_| None))?;
    let unstored = Unstored { fill: Some(x.fill()), extent: x.shape()[scan.axis] as u128 };
    let positions = |group, stored: &[T], positions: &mut [usize]| {
        let position = |within| x.pattern().coord(groups.entry(group, within), scan.axis) as u128;
        let sorted = &sorted[groups.starts()[group]..][..stored.len()];
        sorted_positions(&Group { stored, unstored, position: &position }, sorted, x.fill(), positions);
        Ok(())
    };
    let positions = in_lanes(x.values(), &groups, &positions).map_err(|failed| scan.rejection(failed, |_| None))?;
    moved(x, scan.axis, &groups.in_stored_order(positions)?, groups.in_stored_order(sorted)?)
}

/// Returns the tensor with other positions along an axis, and other values. All entries stay in their lanes.
fn moved<T: Real>(x: SparseRef<'_, T>, axis: usize, positions: &[usize], values: Vec<T>) -> Result<Erased<T>> {
    let (pattern, limit) = (x.pattern(), default_limit(x.stored_bytes()));
    let moved = of_width!(pattern.width(), I => {
        AxisCoords::from(alloc::collect(positions.iter().map(|&position| I::from_usize(position)))?)
    });
    let shape = x.shape().clone();
    if let Some(offsets) = pattern.lane_offsets().filter(|_| axis + 1 == x.rank()) {
        return Ok(Tensor::from_valid(pattern.of_lanes(shape, offsets.clone(), moved)?, values, x.fill()));
    }
    let mut coords = pattern.axes()?;
    coords[axis] = moved;
    let (coords, values) = match row_major(&coords, 0, T::raw(&values))? {
        Some((coords, values)) => (coords, T::from_raw(values)),
        None => (coords, values),
    };
    Ok(Tensor::from_valid(pattern.of_coords(shape, values.len(), coords, limit)?, values, x.fill()))
}
