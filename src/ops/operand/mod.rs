//! The operands of operations.
//!
//! An operation erases the type of the pattern or dimension of its operand, runs on the erased operand, and restores
//! the type in the result.

mod array;
mod erased;
mod sparse;

pub(super) use crate::base::sealed;

use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Dimension};

use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::Pattern;
use crate::tensor::erased::Erased;

#[cfg(feature = "lazy")]
pub(crate) use erased::ValueStream;
pub(crate) use erased::{DenseOperand, ErasedOperand, ErasedResult, SparseOperand};
pub(in crate::ops) use erased::{all_elements, positions};
pub(in crate::ops) use sparse::Sparse;

/// An operand of an operation: a sparse tensor, a stored view, or an `ndarray` array.
///
/// A sparse tensor is in COO or CSR format. An array or an array view may have any layout. The trait is sealed.
///
/// Reductions and maps of a [stored view](crate::Stored) read only stored entries. Indexing and shape manipulation of a
/// stored view use the entire tensor. As an upstream gradient, a stored view is 0 at unstored positions.
///
/// # Examples
///
/// A function over all operands:
///
/// ```
/// use lacuna::{CooTensor, Operand, any, isnan};
///
/// fn rows_with_a_gap<X: Operand<Elem = f64>>(x: &X) -> lacuna::Result<X::Reduced<bool>>
/// where
///     X::Mapped<bool>: Operand<Elem = bool, Reduced<bool> = X::Reduced<bool>>,
/// {
///     any(&isnan(x)?, -1)
/// }
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![f64::NAN, 1.0], 0.0)?;
/// assert_eq!(rows_with_a_gap(&x)?.to_dense()?, rows_with_a_gap(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of lacuna",
    label = "not a tensor, a stored view or an `ndarray` array",
    note = "operands are `CooTensor`, `CsrTensor`, `x.stored()`, and `ndarray` arrays and views, with element types \
            that implement `lacuna::Element`",
    note = "pass a reference, `&x`; convert a number or a `Vec` to an array with `ndarray::arr0` or `arr1`"
)]
pub trait Operand: Sized + sealed::Sealed {
    // The hidden methods have names that arrays do not use. The `ndarray` methods belong to the type that an array
    // dereferences to. A trait method with the same name would hide them from importers of this trait.

    /// The type of the elements.
    type Elem: Element;

    /// A result of any shape, with elements of type `U`: a tensor of the same format, or an array of any rank.
    type Reduced<U>;

    /// A result of the same shape, with elements of type `U`.
    type Mapped<U: Element>;

    /// A product with a right operand: a tensor of the format of this operand if both are sparse, otherwise an array.
    type Product<Y: Operand>;

    /// A product with a sparse operand on the left, of pattern `P`.
    #[doc(hidden)]
    type ProductWith<P: Pattern, U>;

    /// The lengths of the axes.
    fn lengths(&self) -> &[usize];

    /// Returns this operand without the static type of its pattern or dimension.
    #[doc(hidden)]
    fn erased(&self) -> ErasedOperand<'_, Self::Elem>;

    /// Runs the function for a tensor or the function for an array, and returns the result with its static type.
    ///
    /// A program compiles the other function only for operands of both kinds.
    #[doc(hidden)]
    fn by_kind<U>(
        &self,
        of_tensor: impl FnOnce(&SparseOperand<'_, Self::Elem>) -> Result<Erased<U>>,
        of_array: impl FnOnce(&ArrayViewD<'_, Self::Elem>) -> Result<ArrayD<U>>,
    ) -> Result<Self::Reduced<U>>;

    /// Does the same as [`by_kind`](Operand::by_kind) for a result of the same shape.
    #[doc(hidden)]
    fn mapped_by_kind<U: Element>(
        &self,
        of_tensor: impl FnOnce(&SparseOperand<'_, Self::Elem>) -> Result<Erased<U>>,
        of_array: impl ArrayMap<Self::Elem, U>,
    ) -> Result<Self::Mapped<U>>;

    /// Rejects a result with an axis that is too long for the index type of this operand.
    #[doc(hidden)]
    fn check_result_shape(_: &Shape) -> Result<()> {
        Ok(())
    }

    /// Returns a result of an operation on the erased operand with its static type.
    #[doc(hidden)]
    fn restore<U>(found: ErasedResult<U>) -> Result<Self::Reduced<U>>;

    /// Returns a product of this operand and an operand on the right with its static type.
    #[doc(hidden)]
    fn restore_product<Y: Operand>(found: ErasedResult<Self::Elem>) -> Result<Self::Product<Y>>;

    /// Returns a product of a sparse operand on the left and this operand with its static type.
    #[doc(hidden)]
    fn restore_product_with<P: Pattern, U>(found: ErasedResult<U>) -> Result<Self::ProductWith<P, U>>;
}

/// A function of arrays of any dimension type, whose result has the same shape.
///
/// The loops over strided arrays of a known rank are faster than those over arrays of any rank.
pub trait ArrayMap<T, U> {
    /// Returns the result for an array.
    fn of<D: Dimension>(self, x: ArrayView<'_, T, D>) -> Result<Array<U, D>>;
}

/// Returns the axes of `shape` along which an operand with these lengths repeats its elements.
pub(in crate::ops) fn repeated_axes(lengths: &[usize], shape: &Shape) -> Vec<usize> {
    let added = shape.rank() - lengths.len();
    (0..shape.rank()).filter(|&axis| axis < added || lengths[axis - added] != shape[axis]).collect()
}
