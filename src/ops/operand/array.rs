//! `ndarray` arrays and views as operands.

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension};

use crate::base::error::Result;
use crate::element::Element;
use crate::ops::operand::{ErasedOperand, ErasedResult, Operand, sealed};
use crate::pattern::Pattern;

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

    fn restore_mapped<U: Element>(found: ErasedResult<U>) -> Result<Array<U, D>> {
        Ok(found.into_array().into_dimensionality().expect("a map keeps the shape"))
    }

    fn restore_product<Y: Operand>(found: ErasedResult<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }

    fn restore_product_with<P: Pattern, U>(found: ErasedResult<U>) -> Result<ArrayD<U>> {
        Ok(found.into_array())
    }
}
