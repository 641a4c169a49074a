//! Elements at positions with one index list per axis, and their gradient by scatter-add.

use ndarray::{ArrayD, ArrayViewD};

use super::dense::gather as gather_slices;
use super::indices::Take;
use super::request::Request;
use super::{Select, Selected, StepLimits, select_with, select_with_backward};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::take::{AxisSlices, scatter_add};
use crate::ops::operand::Operand;
use crate::pattern::AnyPattern;
use crate::plan::take::{TakeResult, pointwise};

/// Returns the elements at positions, with one list of indices per axis.
///
/// *y*<sub>k</sub> = *x*<sub>*i*<sub>k</sub>, *j*<sub>k</sub>, …</sub> for the lists *i*, *j*, …, and each position *k*
/// of a list. A negative index counts from the end, as in [`take()`](crate::take()). In contrast,
/// [`take_axis`](crate::take_axis) selects entire slices at indices of one axis.
///
/// # Shapes
///
/// There is one list per axis of `x`. All lists have the same shape, and the result has this shape. Lists of rank 1
/// therefore result in a vector. Each list converts to [`Take`], which also has the options for indices out of range.
/// For a tensor of rank 0, the result is the tensor. The result has the format, the index type and the element type of
/// `x`. For an array, the result is an array.
///
/// # Implicit values
///
/// The result has the fill of `x`. The result stores a position exactly if `x` stores the selected element. A stored
/// zero stays stored.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs.
///
/// # Gradient
///
/// [`grad::gather`](crate::grad::gather).
///
/// # Errors
///
/// - `RankMismatch`: the number of lists differs from the rank of `x`;
/// - `ShapeMismatch`: the lists have different shapes;
/// - `LengthMismatch`: a list is a mask, and its length differs from the length of the axis;
/// - `PositionOutOfRange`: an index is outside `-n..n` for an axis of length `n`, and the list does not wrap or clip.
///   The error reports the first such index of the first such axis;
/// - `TakeFromEmpty`: the lists are not empty, and an axis has length 0;
/// - `AxisTooLong`: an axis of the lists is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the inputs. This happens only
///   if a list is a range or a broadcast view, or has very many rows of length zero.
///
/// # Complexity
///
/// For *k* positions in a COO tensor with *n* entries, the cost is O(*k* · (rank + log *n*)), or O(*k* · rank · log
/// *n*) for adversarial entries. For CSR, the cost is O(*k* · (rank + log columns)), plus the offsets of the result.
/// For arrays, the cost is O(*k* · rank).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, gather};
/// use lacuna::ndarray::arr1;
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
///
/// let y = gather(&x, [[0, 1, 0], [1, -1, 0]])?; // (0, 1), (1, 2) and (0, 0)
/// assert_eq!(y.to_dense()?, arr1(&[2.0, 4.0, 0.0]).into_dyn());
/// assert_eq!(y.to_dense()?, gather(&x.to_dense()?, [[0, 1, 0], [1, -1, 0]])?);
/// assert_eq!(y.nnz(), 2);
///
/// let refused = gather(&x, [[0, 2], [0, 0]]).unwrap_err();
/// assert_eq!(refused.to_string(), "indices[1] = 2 is out of range for 2 elements; use .wrap() or .clip()");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: numpy's [integer array
/// indexing](https://numpy.org/doc/stable/user/basics.indexing.html#integer-array-indexing), without broadcasting.
#[doc(alias = "index")]
#[doc(alias = "getitem")]
#[doc(alias = "gather_nd")]
#[doc(alias = "vindex")]
pub fn gather<'a, X: Operand, J: Position>(
    x: &X,
    positions: impl IntoIterator<Item = impl Into<Take<'a, J>>>,
) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &PointwiseTake::new(x.lengths(), positions)?)
}

/// Returns the gradient of [`gather`], summed at the selected positions.
///
/// *dx*<sub>p</sub> = the sum of *dy*<sub>k</sub> over all positions *k* of the lists that select the position *p* of
/// `x`, where *dy* is `upstream`
///
/// The terms are added from left to right, in the row-major order of the lists and in the type of the upstream
/// gradient. A gradient of zero is `+0.0`. The gradient depends only on the pattern of `x`, not on its values.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the lists. The result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. An entry that was not selected
/// receives 0. Gradients for unstored positions of `x` are dropped.
///
/// # NaN
///
/// A NaN gradient of a position that is selected once is bitwise unchanged. A sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`gather`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a partial sum of integers does not fit the element type.
///
/// # Complexity
///
/// The cost of [`gather`], one lookup in `upstream` per position of the lists, and O(entries of `x`), or O(elements of
/// `x`) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::{arr1, arr2};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr1(&[0.5, 10.0, 0.25]);
/// let dx = grad::gather(&x, &upstream, [[0, 0, 0], [1, 0, 1]])?;
/// assert_eq!(dx.values(), [0.75, 0.0, 0.0]); // 10.0 belongs to an unstored position
/// assert!(dx.shares_pattern_with(&x));
///
/// let dense = grad::gather(&x.to_dense()?, &upstream, [[0, 0, 0], [1, 0, 1]])?;
/// assert_eq!(dense, arr2(&[[10.0, 0.75, 0.0], [0.0, 0.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "scatter_add")]
#[doc(alias = "vjp")]
pub fn gather_backward<'a, X: Operand, J: Position, U: Operand>(
    x: &X,
    upstream: &U,
    positions: impl IntoIterator<Item = impl Into<Take<'a, J>>>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &PointwiseTake::new(x.lengths(), positions)?, upstream)
}

/// Returns the elements along an axis at positions, with one position per element of the result.
///
/// The element of the result at the coordinates (…, *k*, …) is the element of `x` at (…, *p*, …). Here *p* is the
/// element of `positions` at (…, *k*, …). Only the coordinate on the axis differs. The positions of
/// [`argsort`](crate::argsort()) of an array therefore result in [`sort`](crate::sort()) of the array. A negative
/// position counts from the end.
///
/// # Shapes
///
/// `positions` has the rank of `x`, and the lengths of `x` on all axes but `axis`. The result has the shape of
/// `positions`, and the format, the index type and the element type of `x`. `positions` converts to [`Take`], which also
/// has the options for positions out of range.
///
/// # Implicit values
///
/// The result has the fill of `x`. The result stores a position exactly if `x` stores the selected element. A stored
/// zero stays stored.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs.
///
/// # Gradient
///
/// [`grad::take_along_axis`](crate::grad::take_along_axis).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `RankMismatch`: the rank of `positions` differs from the rank of `x`;
/// - `ShapeMismatch`: on an axis other than `axis`, the length of `positions` differs from the length of `x`;
/// - `PositionOutOfRange`: a position is outside `-n..n` for an axis of length `n`, and `positions` does not wrap or
///   clip. The error reports the first such position;
/// - `TakeFromEmpty`: `positions` has elements, and the axis has length 0;
/// - `AxisTooLong`: an axis of the result is too long for the index type of `x`;
/// - `TooLarge`: `positions` is a range or a broadcast view, and the result needs more than the larger of 1 GiB and 16
///   times the bytes of the inputs.
///
/// # Complexity
///
/// The complexity of [`gather`], with one position of a list per element of `positions`. The coordinates of all
/// positions are in memory during the call: 8 · rank bytes per position.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, argsort, sort, take_along_axis};
/// use lacuna::ndarray::arr2;
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let y = take_along_axis(&x, &arr2(&[[1], [-1]]), 1)?;
/// assert_eq!(y.to_dense()?, arr2(&[[2.0], [4.0]]).into_dyn());
///
/// let dense = x.to_dense()?;
/// assert_eq!(take_along_axis(&dense, &arr2(&[[1], [-1]]), 1)?, y.to_dense()?);
/// assert_eq!(take_along_axis(&dense, &argsort(&dense, 1)?, 1)?, sort(&dense, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.take_along_axis`](https://numpy.org/doc/stable/reference/generated/numpy.take_along_axis.html),
/// without broadcasting.
#[doc(alias = "torch.gather")]
pub fn take_along_axis<'a, X: Operand, J: Position>(
    x: &X,
    positions: impl Into<Take<'a, J>>,
    axis: impl Position,
) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &PointwiseTake::along(x.lengths(), positions.into(), axis)?)
}

/// Returns the gradient of [`take_along_axis`], summed at the selected positions.
///
/// The gradient of an element is the sum of all elements of `upstream` whose position selects the element.
///
/// The terms are added from left to right, in row-major order of `positions` and in the type of the upstream gradient. A
/// gradient of zero is `+0.0`. The gradient depends only on the pattern of `x`, not on its values.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `positions`. The result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. An entry that was not selected
/// receives 0. Gradients for unstored positions of `x` are dropped.
///
/// # NaN
///
/// A NaN gradient of an element that is selected once is bitwise unchanged. A sum that is NaN is the canonical NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`take_along_axis`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a partial sum of integers does not fit the element type.
///
/// # Complexity
///
/// The cost of [`take_along_axis`], one lookup in `upstream` per position, and O(entries of `x`), or O(elements of `x`)
/// for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let (positions, upstream) = (arr2(&[[1, 1], [0, 1]]), arr2(&[[0.5, 0.25], [10.0, 7.0]]));
/// let dx = grad::take_along_axis(&x, &upstream, &positions, 1)?;
/// assert_eq!(dx.values(), [0.75, 10.0, 0.0]); // 7.0 belongs to an unstored position
///
/// let dense = grad::take_along_axis(&x.to_dense()?, &upstream, &positions, 1)?;
/// assert_eq!(dense, arr2(&[[0.0, 0.75, 0.0], [10.0, 7.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "scatter_add")]
pub fn take_along_axis_backward<'a, X: Operand, J: Position, U: Operand>(
    x: &X,
    upstream: &U,
    positions: impl Into<Take<'a, J>>,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &PointwiseTake::along(x.lengths(), positions.into(), axis)?, upstream)
}

/// The descriptor of `gather` and `take_along_axis`: the shape of the lists, and the positions on each axis, which exist.
pub(crate) struct PointwiseTake {
    shape: Shape,
    positions: Vec<Vec<usize>>,
}

impl PointwiseTake {
    pub(crate) fn new<'a, J: Position>(
        x: &[usize],
        positions: impl IntoIterator<Item = impl Into<Take<'a, J>>>,
    ) -> Result<Self> {
        let lists: Vec<Take<'a, J>> = positions.into_iter().map(Into::into).collect();
        if lists.len() != x.len() {
            return Err(Error::RankMismatch { what: "the positions", expected: x.len(), found: lists.len() });
        }
        let shape = lists.first().map_or_else(|| Shape::from([]), |first| first.shape().clone());
        let on_axis = |(list, &length): (Take<'a, J>, &usize)| {
            if *list.shape() != shape {
                let (expected, found) = (shape.clone(), list.shape().clone());
                return Err(Error::ShapeMismatch { what: "the positions of each axis", expected, found });
            }
            Request::new(&[length], list, None)?.positions(length, 0)
        };
        let positions = lists.into_iter().zip(x).map(on_axis).collect::<Result<_>>()?;
        Ok(PointwiseTake { shape, positions })
    }

    /// Returns the descriptor of positions along one axis. Each position has its own coordinates on the other axes.
    pub(crate) fn along<J: Position>(x: &[usize], take: Take<'_, J>, axis: impl Position) -> Result<Self> {
        let axis = normalize_axis(axis.to_i128(), x.len())?;
        let shape = along_shape(x, take.shape(), axis)?;
        // Each position has a coordinate on each axis.
        let item_bytes = x.len().saturating_mul(size_of::<usize>());
        let of_axis = Request::new(&[x[axis]], take, None)?.positions(x[axis], item_bytes)?;
        let count = of_axis.len();
        let mut positions = (0..x.len())
            .map(|other| {
                let step: usize = shape[other + 1..].iter().product();
                // Without positions, no coordinate is computed, and a step of 0 divides nothing.
                let coords = |at: usize| at / step % shape[other];
                if other == axis { Ok(Vec::new()) } else { alloc::collect((0..count).map(coords)) }
            })
            .collect::<Allocated<Vec<_>>>()?;
        positions[axis] = of_axis;
        Ok(PointwiseTake { shape, positions })
    }

    /// Returns the number of positions, which is 1 without axes.
    fn count(&self) -> usize {
        self.positions.first().map_or(1, Vec::len)
    }

    /// Returns the sources of the elements in the result for an array of shape `x`.
    fn slices(&self, x: &Shape) -> Allocated<AxisSlices> {
        let flat = |_: &mut (), item: usize| {
            Some(self.positions.iter().zip(x.iter()).fold(0, |flat, (own, length)| flat * length + own[item]))
        };
        let positions = threads::filter_map_range(self.count(), || (), flat)?;
        Ok(AxisSlices { outer: 1, length: x.iter().product(), inner: 1, positions })
    }
}

impl Select for PointwiseTake {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn held_bytes(&self) -> usize {
        self.positions.iter().map(|own| size_of_val(&own[..])).sum()
    }

    fn plan(&self, x: &AnyPattern, StepLimits { value_bytes, limit }: StepLimits) -> Result<Selected> {
        let target = TakeResult { shape: &self.shape, indices: &self.shape, value_bytes, limit };
        pointwise(x, &self.positions, self.count(), &target)
    }

    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>> {
        check_result::<T>(&self.shape, dense_bytes(&x).saturating_add(self.held_bytes()))?;
        Ok(dense_array(&self.shape, gather_slices(&x, &self.slices(&Shape::from(x.shape()))?)?))
    }

    fn dense_sums<G: Element>(&self, x: &Shape, gradients: &[G]) -> Result<std::result::Result<Vec<G>, usize>> {
        Ok(scatter_add(x.iter().product(), self.slices(x)?.sources().zip(gradients.iter().copied()))?)
    }
}

/// Returns the shape of a result along an axis, which is the shape of the positions. On all other axes, the positions
/// have the lengths of the operand.
pub(crate) fn along_shape(x: &[usize], positions: &Shape, axis: usize) -> Result<Shape> {
    if positions.rank() != x.len() {
        return Err(Error::RankMismatch { what: "the positions", expected: x.len(), found: positions.rank() });
    }
    let expected: Shape =
        x.iter().enumerate().map(|(at, &own)| if at == axis { positions[axis] } else { own }).collect();
    match expected == *positions {
        true => Ok(expected),
        false => Err(Error::ShapeMismatch { what: "the positions", expected, found: positions.clone() }),
    }
}
