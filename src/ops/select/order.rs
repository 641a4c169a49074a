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

/// The positions of some axes in the reverse order.
///
/// *y*<sub>k</sub> = *x*<sub>n - 1 - k</sub> on each of the `axes`.
///
/// # Shapes
///
/// The result has the shape of `x`.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::flip`](crate::grad::flip).
///
/// # Errors
///
/// `AxisOutOfRange`, `AxisRepeated`: there is no such axis, or it is named twice.
///
/// # Complexity
///
/// O(nnz · rank) an axis; nothing is sorted. Of the first axes of CSR whole lanes are moved: O(nnz + lanes).
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

/// The gradient of [`flip()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`flip()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`flip()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The positions of an axis so many places on, those at its end at its start.
///
/// *y*<sub>k</sub> = *x*<sub>(k - places) mod n</sub> on the axis; a negative number of places goes back.
///
/// # Shapes
///
/// The result has the shape of `x`.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::roll`](crate::grad::roll).
///
/// # Errors
///
/// `AxisOutOfRange`: there is no such axis.
///
/// # Complexity
///
/// O(nnz · rank); nothing is sorted. Of the first axes of CSR whole lanes are moved: O(nnz + lanes).
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

/// The gradient of [`roll()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`roll()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`roll()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// More positions before and behind those of each axis, which hold the fill (those of an array hold zero).
///
/// *y*<sub>k</sub> = *x*<sub>k - before</sub> where that is a position of *x*. For another value set it as the fill
/// of a tensor first: [`with_fill`](Tensor::with_fill).
///
/// # Shapes
///
/// `widths` is one pair an axis, how many come before and how many behind; the axis is longer by both.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::pad`](crate::grad::pad).
///
/// # Errors
///
/// - `RankMismatch`: there are not as many pairs as axes;
/// - `AxisOverflow`, `AxisTooLong`: an axis gets longer than `usize` counts, or than the index type of `x` does;
/// - `TooLarge`: the lanes of CSR need more than the larger of 1 GiB and 16 times this tensor's bytes.
///
/// # Complexity
///
/// O(nnz) for each axis with positions before it; what changes nothing is shared, as the values are. CSR: and its
/// lanes.
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

/// The gradient of [`pad()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`pad()`], which is given the same arguments; the gradient has the
/// shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`pad()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The whole tensor several times along its axes.
///
/// *y*<sub>k</sub> = *x*<sub>k mod n</sub> on each axis.
///
/// # Shapes
///
/// `times` is how often the tensor comes along each axis. If these are fewer than axes, the first axes stay as they
/// are; if they are more, axes of length 1 come before those of `x`.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::tile`](crate::grad::tile).
///
/// # Errors
///
/// - `AxisOverflow`, `AxisTooLong`: an axis gets longer than `usize` counts, or than the index type of `x` does;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(entries of the result · rank); nothing is sorted.
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

/// The gradient of [`tile()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`tile()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`tile()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// Each position of an axis several times.
///
/// *y*<sub>k</sub> = *x*<sub>⌊k / times⌋</sub> on the axis.
///
/// # Shapes
///
/// The axis is `times` as long.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::repeat`](crate::grad::repeat).
///
/// # Errors
///
/// - `AxisOutOfRange`: there is no such axis;
/// - `AxisOverflow`, `AxisTooLong`: the axis gets longer than `usize` counts, or than the index type of `x` does;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(entries of the result · rank); nothing is sorted.
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
/// Definition: [`numpy.repeat`](https://numpy.org/doc/stable/reference/generated/numpy.repeat.html) with an axis
/// and one number for all; torch calls it `repeat_interleave`.
#[doc(alias = "repeat_interleave")]
pub fn repeat<X: Operand>(x: &X, times: usize, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &repeated(x.lengths(), times, axis)?)
}

/// The gradient of [`repeat()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`repeat()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`repeat()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
/// where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The tensor in a larger shape, axes of length 1 repeated.
///
/// *y*<sub>k</sub> = *x*<sub>0</sub> on an axis of length 1 and on a new one, *x*<sub>k</sub> on any other.
///
/// # Shapes
///
/// The axes of `x` are the last ones of `shape`; each of them has length 1, or the length that it has there.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::broadcast_to`](crate::grad::broadcast_to).
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `AxisTooLong`: an axis of `shape` does not fit the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of `x`. Unlike a view of an
///   array it has each entry as often as it stands there.
///
/// # Complexity
///
/// O(entries of the result · rank); nothing is sorted.
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

/// The gradient of [`broadcast_to()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`broadcast_to()`], which is given the same arguments; the
/// gradient has the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`broadcast_to()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The tensor without some axes of length 1.
///
/// # Shapes
///
/// The shape of `x` without the `axes`, each of which has length 1; [`Axes::all`] are all that have it.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::squeeze`](crate::grad::squeeze).
///
/// # Errors
///
/// - `AxisOutOfRange`, `AxisRepeated`: there is no such axis, or it is named twice;
/// - `AxisNotOne`: it has another length than 1;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(rank), all is shared; but for the last axis of CSR, which is O(nnz · rank + lanes).
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

/// The gradient of [`squeeze()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`squeeze()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`squeeze()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The tensor with new axes of length 1.
///
/// # Shapes
///
/// The `axes` are those of the result that are new; a negative one counts from the end of the result.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::expand_dims`](crate::grad::expand_dims).
///
/// # Errors
///
/// - `AxisOutOfRange`, `AxisRepeated`: the result has no such axis, or it is named twice;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// O(rank), and the zeros of an axis of COO; behind the last axis of CSR it is O(nnz · rank + lanes).
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

/// The gradient of [`expand_dims()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`expand_dims()`], which is given the same arguments; the gradient
/// has the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`expand_dims()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// The axes in the reverse order: of a matrix rows as columns.
///
/// For any other order of the axes see `permute_axes`.
///
/// # Shapes
///
/// The shape of `x` from its last axis to its first one.
///
#[doc = said!(moved)]
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
/// O(nnz · (rank + log nnz)); O(nnz · rank) where only axes of length 1 move. CSR: and its lanes.
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

/// The gradient of [`transpose()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`transpose()`], which is given the same arguments; the gradient
/// has the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`transpose()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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

/// One axis at another place, the others in their order.
///
/// # Shapes
///
/// The lengths of `x` with that of axis `from` at place `to` of the result; a negative number counts from the end.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::move_axis`](crate::grad::move_axis).
///
/// # Errors
///
/// - `AxisOutOfRange`: there is no such axis, or no such place;
/// - `TooLarge`: the new lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of `x`.
///
/// # Complexity
///
/// That of [`transpose()`].
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

/// The gradient of [`move_axis()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`move_axis()`], which is given the same arguments; the gradient
/// has the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`move_axis()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
/// `SumOverflow` where a sum of integers does not fit its type.
///
/// # Complexity
///
/// That of the forward pass, a look-up in `upstream` for each entry of its result, and O(nnz).
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
    /// See [`flip()`](crate::flip()).
    ///
    /// # Errors
    ///
    /// Those of [`flip()`](crate::flip()).
    pub fn flip(&self, axes: impl Into<Axes>) -> Result<Self> {
        flip(self, axes)
    }

    /// See [`roll()`](crate::roll()).
    ///
    /// # Errors
    ///
    /// Those of [`roll()`](crate::roll()).
    pub fn roll(&self, places: isize, axis: impl Position) -> Result<Self> {
        roll(self, places, axis)
    }

    /// See [`pad()`](crate::pad()).
    ///
    /// # Errors
    ///
    /// Those of [`pad()`](crate::pad()).
    pub fn pad(&self, widths: impl AsRef<[(usize, usize)]>) -> Result<Self> {
        pad(self, widths)
    }

    /// See [`tile()`](crate::tile()).
    ///
    /// # Errors
    ///
    /// Those of [`tile()`](crate::tile()).
    pub fn tile(&self, times: impl AsRef<[usize]>) -> Result<Self> {
        tile(self, times)
    }

    /// See [`repeat()`](crate::repeat()).
    ///
    /// # Errors
    ///
    /// Those of [`repeat()`](crate::repeat()).
    pub fn repeat(&self, times: usize, axis: impl Position) -> Result<Self> {
        repeat(self, times, axis)
    }

    /// See [`broadcast_to()`](crate::broadcast_to()).
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_to()`](crate::broadcast_to()).
    pub fn broadcast_to(&self, shape: impl Into<Shape>) -> Result<Self> {
        broadcast_to(self, shape)
    }

    /// See [`squeeze()`](crate::squeeze()).
    ///
    /// # Errors
    ///
    /// Those of [`squeeze()`](crate::squeeze()).
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Result<Self> {
        squeeze(self, axes)
    }

    /// See [`expand_dims()`](crate::expand_dims()).
    ///
    /// # Errors
    ///
    /// Those of [`expand_dims()`](crate::expand_dims()).
    pub fn expand_dims(&self, axes: impl Into<Axes>) -> Result<Self> {
        expand_dims(self, axes)
    }

    /// See [`transpose()`](crate::transpose()).
    ///
    /// # Errors
    ///
    /// Those of [`transpose()`](crate::transpose()).
    pub fn transpose(&self) -> Result<Self> {
        transpose(self)
    }

    /// See [`move_axis()`](crate::move_axis()).
    ///
    /// # Errors
    ///
    /// Those of [`move_axis()`](crate::move_axis()).
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

/// Maximum number of new axes. A range of axes needs no memory, so a longer range is out of range.
const MOST_NEW: usize = 1 << 10;

pub(crate) fn expanded(lengths: &[usize], axes: impl Into<Axes>) -> Result<Moves> {
    let axes = axes.into();
    let new = axes.normalize(lengths.len() + axes.count().unwrap_or(0).min(MOST_NEW))?;
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
