//! Triangles and diagonals of matrices, and of batches of them.

use super::Select;
use super::moves::Moves;
use super::{select_with, select_with_backward};
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The lower triangle of each matrix: what is not above a diagonal, and zero elsewhere.
///
/// *y*<sub>i,j</sub> = *x*<sub>i,j</sub> where *j* - *i* ≤ `offset`, else 0. An offset of 0 is the main diagonal, a
/// positive one is above it.
///
/// # Shapes
///
/// The last two axes of `x` are those of the matrices. The result has the shape of `x`.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::tril`](crate::grad::tril).
///
/// # Errors
///
/// - `RankMismatch`: `x` has fewer than two axes;
/// - `FillNotZero`: the fill of `x` is not zero, so that what is above would be zero and what is not stored below
///   would not.
///
/// # Complexity
///
/// O(nnz · rank). Where nothing is left out the result shares all with `x`.
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

/// The gradient of [`tril()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`tril()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`tril()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
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

/// The upper triangle of each matrix: what is not below a diagonal, and zero elsewhere.
///
/// *y*<sub>i,j</sub> = *x*<sub>i,j</sub> where *j* - *i* ≥ `offset`, else 0. An offset of 0 is the main diagonal, a
/// positive one is above it.
///
/// # Shapes
///
/// The last two axes of `x` are those of the matrices. The result has the shape of `x`.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::triu`](crate::grad::triu).
///
/// # Errors
///
/// Those of [`tril()`].
///
/// # Complexity
///
/// O(nnz · rank). Where nothing is left out the result shares all with `x`.
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

/// The gradient of [`triu()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`triu()`], which is given the same arguments; the gradient has
/// the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`triu()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and `SumOverflow`
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

/// A diagonal of each matrix, as the last axis.
///
/// *y*<sub>k</sub> = *x*<sub>k + max(-o, 0), k + max(o, 0)</sub> for the offset *o*: 0 is the main diagonal, a
/// positive one is above it.
///
/// # Shapes
///
/// The last two axes of `x` (numpy and torch: the first two, unless others are named) are those of the matrices;
/// one axis as long as the diagonal takes their place.
///
#[doc = said!(moved)]
///
/// # Gradient
///
/// [`grad::diagonal`](crate::grad::diagonal).
///
/// # Errors
///
/// `RankMismatch`: `x` has fewer than two axes. A diagonal beside the matrix has length 0 and is no error.
///
/// # Complexity
///
/// O(nnz · rank).
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
/// Definition:
/// [`numpy.linalg.diagonal`](https://numpy.org/doc/stable/reference/generated/numpy.linalg.diagonal.html) of the
/// array API standard.
#[doc(alias = "diag")]
pub fn diagonal<X: Operand>(x: &X, offset: isize) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &on_diagonal(x.lengths(), offset)?)
}

/// The gradient of [`diagonal()`]: every position receives the sum of the gradients of those that hold it.
///
#[doc = said!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`diagonal()`], which is given the same arguments; the gradient
/// has the shape of `x`.
///
#[doc = said!(moved_gradient_values)]
///
/// # Errors
///
/// Those of [`diagonal()`]; `ShapeMismatch` where `upstream` has another shape than the forward result; and
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
/// use lacuna::ndarray::{arr1, arr2};
///
/// let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 0]]), 0)?;
/// let dx = grad::diagonal(&x, &arr1(&[0.5, 8.0]), 0)?;
/// assert_eq!(dx.values(), [0.5, 0.0, 0.0]); // 8.0 went to a position that is not stored
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn diagonal_backward<X: Operand, U: Operand>(x: &X, upstream: &U, offset: isize) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &on_diagonal(x.lengths(), offset)?, upstream)
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// See [`tril()`](crate::tril()).
    ///
    /// # Errors
    ///
    /// Those of [`tril()`](crate::tril()).
    pub fn tril(&self, offset: isize) -> Result<Self> {
        tril(self, offset)
    }

    /// See [`triu()`](crate::triu()).
    ///
    /// # Errors
    ///
    /// Those of [`triu()`](crate::triu()).
    pub fn triu(&self, offset: isize) -> Result<Self> {
        triu(self, offset)
    }

    /// See [`diagonal()`](crate::diagonal()).
    ///
    /// # Errors
    ///
    /// Those of [`diagonal()`](crate::diagonal()).
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
