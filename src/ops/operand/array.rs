//! `ndarray` arrays and views as operands.

use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use crate::base::error::Result;
use crate::element::Element;
use crate::ops::operand::{ArrayMap, ErasedOperand, ErasedResult, Operand, SparseOperand, sealed};
use crate::pattern::Pattern;
use crate::tensor::erased::Erased;

impl<S: ndarray::RawData, D> sealed::Sealed for ArrayBase<S, D> {}

impl<S: Data<Elem: Element>, D: Dimension> Operand for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Reduced<U> = ArrayD<U>;
    type Mapped<U: Element> = Array<U, D>;
    type Product<Y: Operand> = ArrayD<S::Elem>;
    type ProductWith<P: Pattern, U> = ArrayD<U>;

    fn lengths(&self) -> &[usize] {
        self.shape()
    }

    fn erased(&self) -> ErasedOperand<'_, S::Elem> {
        self.view().into_dyn().into()
    }

    fn restore<U>(found: ErasedResult<U>) -> Result<ArrayD<U>> {
        Ok(found.into_array())
    }

    fn by_kind<U>(
        &self,
        _: impl FnOnce(&SparseOperand<'_, S::Elem>) -> Result<Erased<U>>,
        of_array: impl FnOnce(&ArrayViewD<'_, S::Elem>) -> Result<ArrayD<U>>,
    ) -> Result<ArrayD<U>> {
        of_array(&self.view().into_dyn())
    }

    fn mapped_by_kind<U: Element>(
        &self,
        _: impl FnOnce(&SparseOperand<'_, S::Elem>) -> Result<Erased<U>>,
        of_array: impl ArrayMap<S::Elem, U>,
    ) -> Result<Array<U, D>> {
        of_array.of(self.view())
    }

    fn restore_product<Y: Operand>(found: ErasedResult<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }

    fn restore_product_with<P: Pattern, U>(found: ErasedResult<U>) -> Result<ArrayD<U>> {
        Ok(found.into_array())
    }
}
