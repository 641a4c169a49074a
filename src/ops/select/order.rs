//! Reordering, repeating and padding along axes, and adding, removing and permuting axes.

use super::Select;
use super::moves::Moves;
use super::{select_with, select_with_backward};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::convert::permutation;
use crate::element::Element;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the elements in reverse order along the given axes.
///
/// *y*<sub>k</sub> = *x*<sub>n - 1 - k</sub> on each of the `axes`, for an axis of length *n*.
///
/// # Shapes
///
/// The result has the shape of `x`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::flip`](crate::grad::flip).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have one of the `axes`;
/// - `AxisRepeated`: an axis appears twice;
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting.
///
/// # Complexity
///
/// O(entries of `x` · rank) per axis, without sorting. Along any axis of CSR except the last, entire lanes move, and
/// the cost is O(entries + lanes).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, flip};
/// use lacuna::ndarray::s;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![5, 6], 0)?;
/// let y = flip(&x, 1)?;
/// assert_eq!(y.entries(), [(vec![0, 0], 5), (vec![1, 2], 6)]);
/// assert_eq!(y.to_dense()?, x.to_dense()?.slice(s![.., ..;-1]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.flip`](https://numpy.org/doc/stable/reference/generated/numpy.flip.html).
#[doc(alias = "reverse")]
#[doc(alias = "fliplr")]
#[doc(alias = "flipud")]
#[doc(alias = "invert_axis")]
pub fn flip<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &flipped(x.lengths(), axes)?)
}

/// Returns the gradient of [`flip()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`flip()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`flip()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`flip()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![5.0, 6.0], 0.0)?;
/// assert_eq!(grad::flip(&x, &arr1(&[0.5, 0.25, 1.0]), 0)?.values(), [1.0, 0.25]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn flip_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &flipped(x.lengths(), axes)?, upstream)
}

/// Returns the elements shifted along an axis, with wrap-around at the ends.
///
/// *y*<sub>k</sub> = *x*<sub>(k - places) mod n</sub> on the axis of length *n*. A negative `places` shifts toward the
/// start of the axis.
///
/// # Shapes
///
/// The result has the shape of `x`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::roll`](crate::grad::roll).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting.
///
/// # Complexity
///
/// O(entries of `x` · rank), without sorting. Along any axis of CSR except the last, entire lanes move, and the cost is
/// O(entries + lanes).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, roll};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::from_dense(&arr1(&[1, 2, 0, 4]), 0)?;
/// assert_eq!(roll(&x, 1, 0)?.to_dense()?, arr1(&[4, 1, 2, 0]).into_dyn());
/// assert_eq!(roll(&x, -9, 0)?.to_dense()?, arr1(&[2, 0, 4, 1]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.roll`](https://numpy.org/doc/stable/reference/generated/numpy.roll.html) with an axis.
#[doc(alias = "shift")]
#[doc(alias = "rotate")]
pub fn roll<X: Operand>(x: &X, places: isize, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &rolled(x.lengths(), places, axis)?)
}

/// Returns the gradient of [`roll()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`roll()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`roll()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`roll()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, 6.0], 0.0)?;
/// assert_eq!(grad::roll(&x, &arr1(&[0.5, 0.25, 1.0]), 1, 0)?.values(), [0.25, 0.5]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn roll_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    places: isize,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &rolled(x.lengths(), places, axis)?, upstream)
}

/// Returns the tensor extended by positions that hold the fill, on each axis.
///
/// New positions of an array hold zero.
///
/// *y*<sub>k</sub> = *x*<sub>k − before</sub> if *k* − before is a position of *x*, where before is the first number of
/// the pair of the axis. To pad with another value, set the fill of the tensor first: [`with_fill`](Tensor::with_fill).
///
/// # Shapes
///
/// `widths` has one pair per axis: the number of new positions before and after the existing positions. The length of
/// the axis grows by both numbers.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::pad`](crate::grad::pad).
///
/// # Errors
///
/// - `RankMismatch`: the number of pairs differs from the number of axes;
/// - `AxisOverflow`: the length of an axis of the result does not fit in `usize`;
/// - `AxisTooLong`: an axis of the result is too long for the index type of `x`;
/// - `TooLarge`: the lanes of CSR or the elements of an array exceed both 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(entries of `x`) per axis with new positions before the existing positions, plus O(lanes) for CSR. A sparse result
/// shares the values of `x` and all unchanged coordinates.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, pad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5], -1)?;
/// assert_eq!(pad(&x, [(1, 2)])?.to_dense()?, arr1(&[-1, -1, 5, -1, -1]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.pad`](https://numpy.org/doc/stable/reference/generated/numpy.pad.html) in the mode
/// `constant`, with the fill.
#[doc(alias = "numpy.pad")]
pub fn pad<X: Operand>(x: &X, widths: impl AsRef<[(usize, usize)]>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &padded(x.lengths(), widths)?)
}

/// Returns the gradient of [`pad()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`pad()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`pad()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`pad()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::pad(&x, &arr1(&[1.0, 2.0, 4.0]), [(1, 0)])?.values(), [4.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn pad_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    widths: impl AsRef<[(usize, usize)]>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &padded(x.lengths(), widths)?, upstream)
}

/// Returns the tensor repeated along its axes, as a sequence of entire copies.
///
/// *y*<sub>k</sub> = *x*<sub>k mod n</sub> on each axis, for an axis of length *n* in *x*.
///
/// # Shapes
///
/// `times` is the number of copies along each axis. If `times` has fewer items than `x` has axes, the first axes are
/// unchanged. If `times` has more items, `x` gets axes of length 1 before its first axis.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::tile`](crate::grad::tile).
///
/// # Errors
///
/// - `AxisOverflow`: the length of an axis of the result does not fit in `usize`;
/// - `AxisTooLong`: an axis of the result is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(entries of the result · rank), without sorting.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, tile};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5], 0)?;
/// assert_eq!(tile(&x, [2, 2])?.to_dense()?, arr2(&[[0, 5, 0, 5], [0, 5, 0, 5]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.tile`](https://numpy.org/doc/stable/reference/generated/numpy.tile.html).
#[doc(alias = "torch.tile")]
pub fn tile<X: Operand>(x: &X, times: impl AsRef<[usize]>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &tiled(x.lengths(), times)?)
}

/// Returns the gradient of [`tile()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`tile()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`tile()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a sum of integers does not fit the element type.
///
/// # Complexity
///
/// The cost of [`tile()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::tile(&x, &arr1(&[1.0, 2.0, 4.0, 8.0]), [2])?.values(), [10.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn tile_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    times: impl AsRef<[usize]>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &tiled(x.lengths(), times)?, upstream)
}

/// Returns the tensor with each position of an axis repeated.
///
/// *y*<sub>k</sub> = *x*<sub>⌊k / times⌋</sub> at each position *k* of the axis.
///
/// # Shapes
///
/// The length of the axis is multiplied by `times`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::repeat`](crate::grad::repeat).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `AxisOverflow`: the length of the axis of the result does not fit in `usize`;
/// - `AxisTooLong`: the axis of the result is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(entries of the result · rank), without sorting.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, repeat};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5], 0)?;
/// assert_eq!(repeat(&x, 3, 0)?.to_dense()?, arr1(&[0, 0, 0, 5, 5, 5]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.repeat`](https://numpy.org/doc/stable/reference/generated/numpy.repeat.html) with an axis and
/// one number for all positions. PyTorch calls this function `repeat_interleave`.
#[doc(alias = "repeat_interleave")]
pub fn repeat<X: Operand>(x: &X, times: usize, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &repeated(x.lengths(), times, axis)?)
}

/// Returns the gradient of [`repeat()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`repeat()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`repeat()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a sum of integers does not fit the element type.
///
/// # Complexity
///
/// The cost of [`repeat()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::repeat(&x, &arr1(&[1.0, 2.0, 4.0, 8.0]), 2, 0)?.values(), [12.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn repeat_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    times: usize,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &repeated(x.lengths(), times, axis)?, upstream)
}

/// Returns the tensor broadcast to a larger shape.
///
/// On an axis of length 1 and on a new axis, *y*<sub>k</sub> = *x*<sub>0</sub>. On any other axis, *y*<sub>k</sub> =
/// *x*<sub>k</sub>. Here, *k* is a position of the axis in the result.
///
/// # Shapes
///
/// The axes of `x` are the last axes of `shape`. Each axis of `x` has length 1 or the same length in `shape`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::broadcast_to`](crate::grad::broadcast_to).
///
/// # Errors
///
/// - `NotBroadcastable`: `x` cannot be broadcast to `shape`;
/// - `AxisTooLong`: an axis of `shape` is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`. Unlike a view of an
///   array, the result stores each repeated entry.
///
/// # Complexity
///
/// O(entries of the result · rank), without sorting.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, broadcast_to};
///
/// let x = CooTensor::new([2, 1], vec![vec![1], vec![0]], vec![5], 0)?;
/// let y = broadcast_to(&x, [2, 3])?;
/// assert_eq!(y.to_dense()?, x.to_dense()?.broadcast(vec![2, 3]).unwrap());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.broadcast_to`](https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html).
#[doc(alias = "expand")]
#[doc(alias = "broadcast")]
pub fn broadcast_to<X: Operand>(x: &X, shape: impl Into<Shape>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &broadcast(x.lengths(), shape)?)
}

/// Returns the gradient of [`broadcast_to()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`broadcast_to()`] for the same arguments. The gradient has the
/// shape of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`broadcast_to()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `SumOverflow`: a sum of integers does not fit the element type.
///
/// # Complexity
///
/// The cost of [`broadcast_to()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::broadcast_to(&x, &arr2(&[[1.0, 2.0], [4.0, 8.0]]), [2, 2])?.values(), [10.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn broadcast_to_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    shape: impl Into<Shape>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &broadcast(x.lengths(), shape)?, upstream)
}

/// Returns the tensor without the given axes, which have length 1.
///
/// # Shapes
///
/// The result has the shape of `x` without the `axes`, each of which has length 1. [`Axes::all`] selects every axis of
/// length 1.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::squeeze`](crate::grad::squeeze).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have one of the `axes`;
/// - `AxisRepeated`: an axis appears twice;
/// - `AxisNotOne`: the length of one of the `axes` is not 1;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(rank) for a sparse `x`, because all arrays are shared. The removal of the last axis of CSR is O(entries · rank +
/// lanes).
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, squeeze};
///
/// let x = CooTensor::new([1, 3, 1], vec![vec![0], vec![2], vec![0]], vec![5], 0)?;
/// assert_eq!(squeeze(&x, -1)?.shape(), [1, 3]);
/// assert_eq!(squeeze(&x, Axes::all())?.entries(), [(vec![2], 5)]);
/// assert_eq!(squeeze(&x, -1)?.to_dense()?, squeeze(&x.to_dense()?, -1)?);
/// assert_eq!(squeeze(&x, 1).unwrap_err().to_string(), "axis 1 has length 3, not 1");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.squeeze`](https://numpy.org/doc/stable/reference/generated/numpy.squeeze.html).
#[doc(alias = "remove_axis")]
pub fn squeeze<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &squeezed(x.lengths(), axes)?)
}

/// Returns the gradient of [`squeeze()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`squeeze()`] for the same arguments. The gradient has the shape
/// of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`squeeze()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`squeeze()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([1, 2], vec![vec![0], vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::squeeze(&x, &arr1(&[1.0, 2.0]), 0)?.values(), [2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn squeeze_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &squeezed(x.lengths(), axes)?, upstream)
}

/// Returns the tensor with new axes of length 1.
///
/// # Shapes
///
/// The `axes` are the new axes of the result. A negative axis counts from the end of the result.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::expand_dims`](crate::grad::expand_dims).
///
/// # Errors
///
/// - `AxisOutOfRange`: the result does not have one of the `axes`;
/// - `AxisRepeated`: an axis appears twice;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(rank) for a sparse `x`, plus the zero coordinates of a new axis of COO. A new axis after the last axis of CSR is
/// O(entries · rank + lanes).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, expand_dims};
///
/// let x = CooTensor::new([3], vec![vec![2]], vec![5], 0)?;
/// assert_eq!(expand_dims(&x, 0)?.entries(), [(vec![0, 2], 5)]);
/// assert_eq!(expand_dims(&x, [0, -1])?.shape(), [1, 3, 1]);
/// assert_eq!(expand_dims(&x, 0)?.to_dense()?, expand_dims(&x.to_dense()?, 0)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.expand_dims`](https://numpy.org/doc/stable/reference/generated/numpy.expand_dims.html).
#[doc(alias = "unsqueeze")]
#[doc(alias = "insert_axis")]
#[doc(alias = "newaxis")]
pub fn expand_dims<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &expanded(x.lengths(), axes)?)
}

/// Returns the gradient of [`expand_dims()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`expand_dims()`] for the same arguments. The gradient has the
/// shape of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`expand_dims()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`expand_dims()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::expand_dims(&x, &arr2(&[[1.0], [2.0]]), 1)?.values(), [2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn expand_dims_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &expanded(x.lengths(), axes)?, upstream)
}

/// Returns the tensor with its axes in reverse order.
///
/// The rows of a matrix become columns. For any other order of the axes, see
/// [`permute_axes`](crate::CooTensor::permute_axes).
///
/// # Shapes
///
/// The result has the lengths of `x` in reverse order.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::transpose`](crate::grad::transpose).
///
/// # Errors
///
/// `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(*n* · (rank + log *n*)) for *n* entries, or O(*n* · rank) if only axes of length 1 move. CSR adds O(lanes).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, transpose};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![5, 6], 0)?;
/// let y = transpose(&x)?;
/// assert_eq!(y.entries(), [(vec![0, 1], 6), (vec![2, 0], 5)]);
/// assert_eq!(y.to_dense()?, x.to_dense()?.reversed_axes());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.transpose`](https://numpy.org/doc/stable/reference/generated/numpy.transpose.html) without
/// axes.
#[doc(alias = "t")]
#[doc(alias = "T")]
#[doc(alias = "reversed_axes")]
pub fn transpose<X: Operand>(x: &X) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &transposed(x.lengths())?)
}

/// Returns the gradient of [`transpose()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`transpose()`] for the same arguments. The gradient has the shape
/// of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`transpose()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`transpose()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([1, 2], vec![vec![0], vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::transpose(&x, &arr2(&[[1.0], [2.0]]))?.values(), [2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn transpose_backward<X: Operand, U: Operand>(x: &X, upstream: &U) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &transposed(x.lengths())?, upstream)
}

/// Moves one axis to another position; the other axes keep their order.
///
/// # Shapes
///
/// The result has the lengths of `x`, with the length of axis `from` at index `to`. A negative number counts from the
/// end.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::move_axis`](crate::grad::move_axis).
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis `from` or `to`;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// The complexity of [`transpose()`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, move_axis};
///
/// let x = CooTensor::new([2, 3, 4], vec![vec![1], vec![2], vec![3]], vec![5], 0)?;
/// assert_eq!(move_axis(&x, 0, -1)?.shape(), [3, 4, 2]);
/// assert_eq!(move_axis(&x, 0, -1)?.entries(), [(vec![2, 3, 1], 5)]);
/// assert_eq!(move_axis(&x, 0, -1)?.to_dense()?, move_axis(&x.to_dense()?, 0, -1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.moveaxis`](https://numpy.org/doc/stable/reference/generated/numpy.moveaxis.html) of one
/// axis.
#[doc(alias = "moveaxis")]
#[doc(alias = "movedim")]
pub fn move_axis<X: Operand>(x: &X, from: impl Position, to: impl Position) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &moved(x.lengths(), from, to)?)
}

/// Returns the gradient of [`move_axis()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`move_axis()`] for the same arguments. The gradient has the shape
/// of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`move_axis()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`move_axis()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([1, 2], vec![vec![0], vec![1]], vec![5.0], 0.0)?;
/// assert_eq!(grad::move_axis(&x, &arr2(&[[1.0], [2.0]]), 0, 1)?.values(), [2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn move_axis_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    from: impl Position,
    to: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &moved(x.lengths(), from, to)?, upstream)
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns the elements in reverse order along axes: see [`flip()`](crate::flip()).
    ///
    /// # Errors
    ///
    /// The errors of [`flip()`](crate::flip()).
    pub fn flip(&self, axes: impl Into<Axes>) -> Result<Self> {
        flip(self, axes)
    }

    /// Returns the elements shifted along an axis: see [`roll()`](crate::roll()).
    ///
    /// # Errors
    ///
    /// The errors of [`roll()`](crate::roll()).
    pub fn roll(&self, places: isize, axis: impl Position) -> Result<Self> {
        roll(self, places, axis)
    }

    /// Returns the tensor padded with its fill: see [`pad()`](crate::pad()).
    ///
    /// # Errors
    ///
    /// The errors of [`pad()`](crate::pad()).
    pub fn pad(&self, widths: impl AsRef<[(usize, usize)]>) -> Result<Self> {
        pad(self, widths)
    }

    /// Returns copies of the tensor along its axes: see [`tile()`](crate::tile()).
    ///
    /// # Errors
    ///
    /// The errors of [`tile()`](crate::tile()).
    pub fn tile(&self, times: impl AsRef<[usize]>) -> Result<Self> {
        tile(self, times)
    }

    /// Returns each position of an axis repeated: see [`repeat()`](crate::repeat()).
    ///
    /// # Errors
    ///
    /// The errors of [`repeat()`](crate::repeat()).
    pub fn repeat(&self, times: usize, axis: impl Position) -> Result<Self> {
        repeat(self, times, axis)
    }

    /// Returns the tensor broadcast to a shape: see [`broadcast_to()`](crate::broadcast_to()).
    ///
    /// # Errors
    ///
    /// The errors of [`broadcast_to()`](crate::broadcast_to()).
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Result<Self> {
        broadcast_to(self, shape)
    }

    /// Returns the tensor without axes of length 1: see [`squeeze()`](crate::squeeze()).
    ///
    /// # Errors
    ///
    /// The errors of [`squeeze()`](crate::squeeze()).
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Result<Self> {
        squeeze(self, axes)
    }

    /// Returns the tensor with new axes of length 1: see [`expand_dims()`](crate::expand_dims()).
    ///
    /// # Errors
    ///
    /// The errors of [`expand_dims()`](crate::expand_dims()).
    pub fn expand_dims(&self, axes: impl Into<Axes>) -> Result<Self> {
        expand_dims(self, axes)
    }

    /// Returns the tensor with its axes in reverse order: see [`transpose()`](crate::transpose()).
    ///
    /// # Errors
    ///
    /// The errors of [`transpose()`](crate::transpose()).
    pub fn transpose(&self) -> Result<Self> {
        transpose(self)
    }

    /// Moves one axis to another position: see [`move_axis()`](crate::move_axis()).
    ///
    /// # Errors
    ///
    /// The errors of [`move_axis()`](crate::move_axis()).
    pub fn move_axis(&self, from: impl Position, to: impl Position) -> Result<Self> {
        move_axis(self, from, to)
    }
}

pub(crate) fn flipped(lengths: &[usize], axes: impl Into<Axes>) -> Result<Moves> {
    let axes = axes.into().normalize(lengths.len())?;
    Ok(axes.into_iter().fold(Moves::of(lengths), Moves::reverse))
}

pub(crate) fn rolled(lengths: &[usize], places: isize, axis: impl Position) -> Result<Moves> {
    let axis = normalize_axis(axis.to_i128(), lengths.len())?;
    let places = (places as i128).checked_rem_euclid(lengths[axis] as i128).unwrap_or(0);
    Ok(Moves::of(lengths).rotate(axis, places as usize))
}

pub(crate) fn padded(lengths: &[usize], widths: impl AsRef<[(usize, usize)]>) -> Result<Moves> {
    let widths = widths.as_ref();
    match widths.len() == lengths.len() {
        true => Moves::of(lengths).pad(widths),
        false => {
            let (expected, found) = (lengths.len(), widths.len());
            Err(Error::RankMismatch { what: "the list of widths", expected, found })
        }
    }
}

/// Returns the move that prepends axes of length 1 until there are `rank` axes.
fn with_rank(lengths: &[usize], rank: usize) -> Moves {
    let new = rank.saturating_sub(lengths.len());
    Moves::of(lengths).axes((0..new).map(|_| None).chain((0..lengths.len()).map(Some)).collect())
}

pub(crate) fn tiled(lengths: &[usize], times: impl AsRef<[usize]>) -> Result<Moves> {
    let times = times.as_ref();
    let moves = with_rank(lengths, times.len());
    let axes = (0..moves.shape().rank()).rev();
    // The last axis is tiled first, so that the steps with the most entries repeat whole runs.
    axes.zip(times.iter().rev()).try_fold(moves, |moves, (axis, &times)| moves.tile(axis, times))
}

pub(crate) fn repeated(lengths: &[usize], times: usize, axis: impl Position) -> Result<Moves> {
    Moves::of(lengths).each(normalize_axis(axis.to_i128(), lengths.len())?, times)
}

pub(crate) fn broadcast(lengths: &[usize], shape: impl Into<Shape>) -> Result<Moves> {
    let shape = shape.into();
    let moves = with_rank(lengths, shape.rank());
    let mut pairs = moves.shape().iter().zip(shape.iter());
    if moves.shape().rank() != shape.rank() || !pairs.all(|(&from, to)| from == 1 || from == *to) {
        return Err(Error::NotBroadcastable { left: lengths.into(), how: "to", right: shape });
    }
    (0..shape.rank()).rev().try_fold(moves, |moves, axis| match moves.shape()[axis] == shape[axis] {
        true => Ok(moves),
        false => moves.tile(axis, shape[axis]),
    })
}

pub(crate) fn squeezed(lengths: &[usize], axes: impl Into<Axes>) -> Result<Moves> {
    let axes = axes.into();
    let gone = match axes == Axes::all().with_keep_dims(axes.keeps_dims()) {
        true => (0..lengths.len()).filter(|&axis| lengths[axis] == 1).collect(),
        false => axes.normalize(lengths.len())?,
    };
    if let Some(&axis) = gone.iter().find(|&&axis| lengths[axis] != 1) {
        return Err(Error::AxisNotOne { axis, length: lengths[axis] });
    }
    Ok(Moves::of(lengths).axes((0..lengths.len()).filter(|axis| !gone.contains(axis)).map(Some).collect()))
}

/// Maximum number of new axes.
///
/// A range of axes does not need memory, so a longer range is out of range.
const MAX_NEW: usize = 1 << 10;

pub(crate) fn expanded(lengths: &[usize], axes: impl Into<Axes>) -> Result<Moves> {
    let axes = axes.into();
    let new = axes.normalize(lengths.len() + axes.count().unwrap_or(0).min(MAX_NEW))?;
    let mut old = 0..lengths.len();
    let axis = |axis: usize| if new.contains(&axis) { None } else { old.next() };
    Ok(Moves::of(lengths).axes((0..lengths.len() + new.len()).map(axis).collect()))
}

pub(crate) fn transposed(lengths: &[usize]) -> Result<Moves> {
    Ok(Moves::of(lengths).axes((0..lengths.len()).rev().map(Some).collect()))
}

pub(crate) fn moved(lengths: &[usize], from: impl Position, to: impl Position) -> Result<Moves> {
    let from = normalize_axis(from.to_i128(), lengths.len())?;
    let to = normalize_axis(to.to_i128(), lengths.len())?;
    let mut axes: Vec<_> = (0..lengths.len()).filter(|&axis| axis != from).map(Some).collect();
    axes.insert(to, Some(from));
    Ok(Moves::of(lengths).axes(axes))
}

/// Returns the move of `permute_axes`.
pub(crate) fn permuted(lengths: &[usize], axes: &[isize]) -> Result<Moves> {
    let axes = permutation(axes, lengths.len())?;
    Ok(Moves::of(lengths).axes(axes.into_iter().map(Some).collect()))
}
