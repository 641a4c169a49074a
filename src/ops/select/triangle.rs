//! Triangles and diagonals of matrices, and of batches of them.

use super::Select;
use super::moves::Moves;
use super::{select_with, select_with_backward};
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the lower triangle of each matrix: the elements on or below a diagonal.
///
/// *y*<sub>i,j</sub> = *x*<sub>i,j</sub> if *j* - *i* ≤ `offset`, otherwise 0. The main diagonal has the offset 0. A
/// diagonal with a positive offset is above the main diagonal.
///
/// # Shapes
///
/// The last two axes of `x` are the axes of the matrices. The result has the shape of `x`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::tril`](crate::grad::tril).
///
/// # Errors
///
/// - `RankMismatch`: `x` has fewer than two axes;
/// - `FillNotZero`: the fill of `x` is not zero, so the result would need two fills;
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting.
///
/// # Complexity
///
/// O(entries of `x` · rank). If no entry is removed, the result shares all arrays with a sparse `x`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, tril};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 4]]), 0)?;
/// assert_eq!(tril(&x, 0)?.to_dense()?, arr2(&[[1, 0], [3, 4]]).into_dyn());
/// assert_eq!(tril(&x, -1)?.to_dense()?, tril(&x.to_dense()?, -1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.tril`](https://numpy.org/doc/stable/reference/generated/numpy.tril.html).
#[doc(alias = "lower_triangle")]
pub fn tril<X: Operand>(x: &X, offset: isize) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &lower(x.lengths(), offset)?)
}

/// Returns the gradient of [`tril()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`tril()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`tril()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`tril()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 4]]), 0)?;
/// let dx = grad::tril(&x, &arr2(&[[0.5, 8.0], [0.25, 2.0]]), 0)?;
/// assert_eq!(dx.values(), [0.5, 0.0, 0.25, 2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn tril_backward<X: Operand, U: Operand>(x: &X, upstream: &U, offset: isize) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &lower(x.lengths(), offset)?, upstream)
}

/// Returns the upper triangle of each matrix: the elements on or above a diagonal.
///
/// *y*<sub>i,j</sub> = *x*<sub>i,j</sub> if *j* - *i* ≥ `offset`, otherwise 0. The main diagonal has the offset 0. A
/// diagonal with a positive offset is above the main diagonal.
///
/// # Shapes
///
/// The last two axes of `x` are the axes of the matrices. The result has the shape of `x`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::triu`](crate::grad::triu).
///
/// # Errors
///
/// The errors of [`tril()`].
///
/// # Complexity
///
/// O(entries of `x` · rank). If no entry is removed, the result shares all arrays with a sparse `x`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, triu};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 4]]), 0)?;
/// assert_eq!(triu(&x, 1)?.to_dense()?, arr2(&[[0, 2], [0, 0]]).into_dyn());
/// assert_eq!(triu(&x, 1)?.to_dense()?, triu(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.triu`](https://numpy.org/doc/stable/reference/generated/numpy.triu.html).
#[doc(alias = "upper_triangle")]
pub fn triu<X: Operand>(x: &X, offset: isize) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &upper(x.lengths(), offset)?)
}

/// Returns the gradient of [`triu()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`triu()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`triu()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`triu()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 4]]), 0)?;
/// let dx = grad::triu(&x, &arr2(&[[0.5, 8.0], [0.25, 2.0]]), 1)?;
/// assert_eq!(dx.values(), [0.0, 8.0, 0.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn triu_backward<X: Operand, U: Operand>(x: &X, upstream: &U, offset: isize) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &upper(x.lengths(), offset)?, upstream)
}

/// Returns a diagonal of each matrix, as the last axis of the result.
///
/// *y*<sub>k</sub> = *x*<sub>k + max(−o, 0), k + max(o, 0)</sub> for the offset *o* and each position *k* of the
/// diagonal. The main diagonal has the offset 0. A diagonal with a positive offset is above the main diagonal.
///
/// # Shapes
///
/// The last two axes of `x` are the axes of the matrices. `numpy.diagonal` and `torch.diagonal` use the first two axes
/// by default. In the result, one axis with the length of the diagonal replaces the last two axes of `x`.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::diagonal`](crate::grad::diagonal).
///
/// # Errors
///
/// `RankMismatch`: `x` has fewer than two axes. A diagonal outside the matrix has length 0 and does not return an
/// error.
///
/// # Complexity
///
/// O(entries of `x` · rank), or O(elements of the result · rank) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, diagonal};
/// use lacuna::ndarray::{arr1, arr2};
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2, 0], [3, 4, 5]]), 0)?;
/// assert_eq!(diagonal(&x, 0)?.to_dense()?, arr2(&[[1, 2, 0], [3, 4, 5]]).diag().into_dyn());
/// assert_eq!(diagonal(&x, 1)?.to_dense()?, arr1(&[2, 5]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.linalg.diagonal`](https://numpy.org/doc/stable/reference/generated/numpy.linalg.diagonal.html),
/// as in the array API standard.
#[doc(alias = "diag")]
pub fn diagonal<X: Operand>(x: &X, offset: isize) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &on_diagonal(x.lengths(), offset)?)
}

/// Returns the gradient of [`diagonal()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`diagonal()`] for the same arguments. The gradient has the shape
/// of `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`diagonal()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`diagonal()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::{arr1, arr2};
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 0]]), 0)?;
/// let dx = grad::diagonal(&x, &arr1(&[0.5, 8.0]), 0)?;
/// assert_eq!(dx.values(), [0.5, 0.0, 0.0]); // 8.0 belongs to an unstored position
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn diagonal_backward<X: Operand, U: Operand>(x: &X, upstream: &U, offset: isize) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &on_diagonal(x.lengths(), offset)?, upstream)
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns the lower triangle of each matrix: see [`tril()`](crate::tril()).
    ///
    /// # Errors
    ///
    /// The errors of [`tril()`](crate::tril()).
    pub fn tril(&self, offset: isize) -> Result<Self> {
        tril(self, offset)
    }

    /// Returns the upper triangle of each matrix: see [`triu()`](crate::triu()).
    ///
    /// # Errors
    ///
    /// The errors of [`triu()`](crate::triu()).
    pub fn triu(&self, offset: isize) -> Result<Self> {
        triu(self, offset)
    }

    /// Returns a diagonal of each matrix: see [`diagonal()`](crate::diagonal()).
    ///
    /// # Errors
    ///
    /// The errors of [`diagonal()`](crate::diagonal()).
    pub fn diagonal(&self, offset: isize) -> Result<Self> {
        diagonal(self, offset)
    }
}

/// Rejects a shape that does not have rows and columns.
fn matrices(lengths: &[usize]) -> Result<Moves> {
    match lengths.len() {
        found @ ..2 => Err(Error::RankMismatch { what: "a tensor of matrices", expected: 2, found }),
        _ => Ok(Moves::of(lengths)),
    }
}

pub(crate) fn lower(lengths: &[usize], offset: isize) -> Result<Moves> {
    Ok(matrices(lengths)?.band("a triangle", i128::MIN, offset as i128))
}

pub(crate) fn upper(lengths: &[usize], offset: isize) -> Result<Moves> {
    Ok(matrices(lengths)?.band("a triangle", offset as i128, i128::MAX))
}

pub(crate) fn on_diagonal(lengths: &[usize], offset: isize) -> Result<Moves> {
    let moves = matrices(lengths)?;
    let [.., rows, columns] = **moves.shape() else { return Ok(moves) };
    let (below, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
    let length = rows.saturating_sub(below).min(columns.saturating_sub(right));
    Ok(moves.diagonal(offset as i128, length))
}
