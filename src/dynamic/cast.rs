//! Casts between dynamic types.

use super::AnyTensor;
use crate::base::alloc;
use crate::base::error::Result;
use crate::element::{DType, Element, Number};
use crate::pattern::AnyPattern;
use crate::tensor::erased::Erased;
use crate::tensor::{Tensor, number_in};

/// The values of a tensor as numbers without a type. A cast through numbers is not compiled for each pair of types.
pub(super) trait Numbers {
    fn count(&self) -> usize;
    fn number(&self, entry: usize) -> Number;
    fn fill_number(&self) -> Number;
    fn number_type(&self) -> DType;
    fn any_pattern(&self) -> AnyPattern;
}

impl<T: Element> Numbers for Erased<T> {
    fn count(&self) -> usize {
        self.nnz()
    }

    fn number(&self, entry: usize) -> Number {
        self.values()[entry].to_number()
    }

    fn fill_number(&self) -> Number {
        self.fill().to_number()
    }

    fn number_type(&self) -> DType {
        T::DTYPE
    }

    fn any_pattern(&self) -> AnyPattern {
        self.pattern().clone()
    }
}

/// Returns the tensor with elements of type `T`.
pub(super) fn cast_numbers<T: Element>(from: &dyn Numbers) -> Result<AnyTensor> {
    let fill = number_in(from.fill_number(), from.number_type(), || "the fill".into())?;
    let value = |entry| number_in(from.number(entry), from.number_type(), || format!("entry {entry}"));
    let values: Vec<T> = alloc::try_collect((0..from.count()).map(value))?;
    Ok(Tensor::from_valid(from.any_pattern(), values, fill).into())
}
