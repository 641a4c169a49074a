//! The sum of a diagonal, and its gradient.

use super::{sum, sum_backward};
use crate::base::error::Result;
use crate::element::{Float, Real, Ring};
use crate::ops::operand::{ErasedOperand, Operand};
use crate::ops::select::{diagonal, moved, select_with_backward};

/// Returns the exact sum of a diagonal of each matrix, rounded once.
///
/// *y* = Σ<sub>k</sub> *d*<sub>k</sub>, with the [`diagonal()`](crate::diagonal()) *d* at `offset`. The main diagonal
/// has the offset 0. A diagonal with a positive offset is above the main diagonal.
///
/// The sum follows the rules of [`sum`]. A sum of floats is rounded once. A sum of signed integers is an `i64`, and a
/// sum of unsigned integers or `bool` is a `u64`.
///
/// # Shapes
///
/// The last two axes of `x` are the axes of the matrices. `numpy.trace` uses the first two axes by default. The result
/// does not have the last two axes of `x`, so the result for a matrix has rank 0.
///
/// # Implicit values
///
/// A diagonal with a stored entry has a stored result. All other output elements hold the fill. The fill of the result
/// is the sum of a diagonal in which each position holds the fill of `x`. For [`x.stored()`](crate::Tensor::stored),
/// only stored entries count, and the fill of the result is 0.
///
/// # NaN
///
/// A NaN on the diagonal yields NaN, and infinities of both signs yield NaN. Infinities of one sign yield that infinity.
///
/// # Gradient
///
/// [`grad::trace`](crate::grad::trace).
///
/// # Errors
///
/// - `RankMismatch`: `x` has fewer than two axes. A diagonal outside the matrix has the sum 0 and does not return an
///   error;
/// - `Overflow`: the sum of integers does not fit in the type of the result. The error names the operation `sum`;
/// - `TooLarge`: the offsets of a CSR result need more than the larger of 1 GiB and 16 times the bytes of the indices
///   of the diagonals;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// O(entries of `x` · rank), or O(elements of the diagonals · rank) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, trace};
/// use lacuna::ndarray::arr2;
///
/// let x: CooTensor<i64> = CooTensor::from_dense(&arr2(&[[1, 2, 0], [3, 4, 5]]), 0)?;
/// assert_eq!(trace(&x, 0)?.item()?, 5);
/// assert_eq!(trace(&x, 1)?.item()?, 7);
/// assert_eq!(trace(&x, 0)?.to_dense()?, trace(&x.to_dense()?, 0)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.linalg.trace`](https://numpy.org/doc/stable/reference/generated/numpy.linalg.trace.html), as in
/// the array API standard.
#[doc(alias = "numpy.trace")]
#[doc(alias = "torch.trace")]
pub fn trace<X: Operand<Elem: Ring>>(x: &X, offset: isize) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
    X::restore(sum(&on_diagonal(&x.erased(), offset)?, -1)?)
}

/// Returns the gradient of [`trace`]: the gradient of the matrix on the diagonal, and 0 elsewhere.
///
/// *dx*<sub>k</sub> = *dy* at each position *k* of the diagonal of a matrix. Here, *dy* is the upstream gradient of the
/// matrix.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`trace`]. The gradient has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the gradient has the pattern of `x` (shared) and a fill of 0. Positions that `upstream` does not
/// store have the fill of `upstream`, or 0 if `upstream` is a stored view.
///
/// # NaN
///
/// Elements of `x` do not change the gradient. A NaN in `upstream` is copied.
///
/// # Gradient
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - `RankMismatch`: `x` has fewer than two axes;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// The cost of [`trace`], one lookup in `upstream` per entry of the diagonals, and O(entries of `x`). For arrays,
/// O(elements of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::{arr0, arr2};
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 0]]), 0)?;
/// let dx = grad::trace(&x, &arr0(0.5), 0)?;
/// assert_eq!(dx.values(), [0.5, 0.0, 0.0]); // the second position of the diagonal is not stored
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`trace`].
pub fn trace_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    offset: isize,
) -> Result<X::Reduced<U::Elem>> {
    let x = x.erased();
    let on_diagonal: ErasedOperand<'_, U::Elem> = sum_backward(&on_diagonal(&x, offset)?, upstream, -1)?.into();
    X::restore(select_with_backward(&x, &moved::on_diagonal(x.lengths(), offset)?, &on_diagonal)?)
}

/// Returns the diagonals of an operand, which count the same positions.
fn on_diagonal<'a, T: Ring>(x: &ErasedOperand<'_, T>, offset: isize) -> Result<ErasedOperand<'a, T>> {
    Ok(x.like(diagonal(x, offset)?))
}
