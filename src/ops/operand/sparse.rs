//! Tensors and stored views as operands.

use ndarray::{ArrayD, ArrayViewD};

use crate::base::error::Result;
use crate::base::index::check_axes;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::operand::{ArrayMap, ErasedOperand, ErasedResult, Operand, SparseOperand, sealed};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;
use crate::tensor::stored::Stored;

/// A sparse operand: a tensor, or a stored view of a tensor.
pub(in crate::ops) trait Sparse: sealed::Sealed {
    /// The pattern.
    type Pattern: Pattern;
    /// The type of the values.
    type Value: Element;

    /// Returns the pattern of the tensor.
    fn pattern(&self) -> &Self::Pattern;

    /// Returns the operand without the static type of its pattern.
    fn sparse_operand(&self) -> SparseOperand<'_, Self::Value>;
}

impl<P: Pattern, T: Element> Sparse for Tensor<P, T> {
    type Pattern = P;
    type Value = T;

    fn pattern(&self) -> &P {
        Tensor::pattern(self)
    }

    fn sparse_operand(&self) -> SparseOperand<'_, T> {
        SparseOperand::new(self.sparse(), true)
    }
}

impl<P: Pattern, T: Element> Sparse for Stored<'_, P, T> {
    type Pattern = P;
    type Value = T;

    fn pattern(&self) -> &P {
        self.tensor().pattern()
    }

    fn sparse_operand(&self) -> SparseOperand<'_, T> {
        SparseOperand::new(self.tensor().sparse(), false)
    }
}

/// Implements [`Operand`] for a sparse type. A blanket implementation would show a private trait on the public page. It
/// would also keep the compiler from listing the operand types in errors.
macro_rules! sparse_operand {
    ($($operand:ty),*) => {$(
        impl<P: Pattern, T: Element> Operand for $operand {
            type Elem = T;
            type Reduced<U> = Tensor<P, U>;
            type Mapped<U: Element> = Tensor<P, U>;
            type Product<Y: Operand> = Y::ProductWith<P, T>;
            type ProductWith<Q: Pattern, U> = Tensor<Q, U>;

            fn lengths(&self) -> &[usize] {
                Sparse::pattern(self).shape()
            }

            fn erased(&self) -> ErasedOperand<'_, T> {
                self.sparse_operand().into()
            }

            fn check_result_shape(shape: &Shape) -> Result<()> {
                check_axes::<P::Index>(shape)
            }

            fn restore<U>(found: ErasedResult<U>) -> Result<Tensor<P, U>> {
                Tensor::from_erased(found.into_tensor())
            }

            fn by_kind<U>(
                &self,
                of_tensor: impl FnOnce(&SparseOperand<'_, T>) -> Result<Erased<U>>,
                _: impl FnOnce(&ArrayViewD<'_, T>) -> Result<ArrayD<U>>,
            ) -> Result<Tensor<P, U>> {
                Tensor::from_erased(of_tensor(&self.sparse_operand())?)
            }

            fn mapped_by_kind<U: Element>(
                &self,
                of_tensor: impl FnOnce(&SparseOperand<'_, T>) -> Result<Erased<U>>,
                _: impl ArrayMap<T, U>,
            ) -> Result<Tensor<P, U>> {
                Tensor::from_erased(of_tensor(&self.sparse_operand())?)
            }

            fn restore_product<Y: Operand>(found: ErasedResult<T>) -> Result<Y::ProductWith<P, T>> {
                Y::restore_product_with::<P, T>(found)
            }

            fn restore_product_with<Q: Pattern, U>(found: ErasedResult<U>) -> Result<Tensor<Q, U>> {
                Tensor::from_erased(found.into_tensor())
            }
        }
    )*};
}

sparse_operand!(Tensor<P, T>, Stored<'_, P, T>);
