//! Operations of expressions that operands of static types do not have.

use super::{AnyArray, AnyOperand, AnyTensor, AnyValue};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::convert::{check_ndarray_shape, dense_array};
use crate::dispatch_dtype;
use crate::element::{DType, Element, Number};

impl AnyArray {
    /// Returns an array of the elements, which are in row-major order.
    pub(crate) fn of_all(dtype: DType, shape: &Shape, elements: &[Number]) -> Result<Self> {
        fn array_of<T: Element>(shape: &Shape, elements: &[Number]) -> Result<AnyArray> {
            check_ndarray_shape(shape)?;
            let elements = alloc::collect(elements.iter().map(|&element| T::from_number(element).unwrap_or(T::ZERO)))?;
            Ok(dense_array(shape, elements).into())
        }
        dispatch_dtype!(dtype, T => array_of::<T>(shape, elements), else => Err(super::no_such(dtype)))
    }
}

impl AnyOperand<'_> {
    /// Returns the tensor or array as a value, which shares the elements.
    pub(crate) fn to_value(self) -> AnyValue {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => x.clone().into(),
            AnyOperand::Array(x) => x.clone().into(),
        }
    }

    /// Returns the operand with a number at every position. A tensor keeps its pattern.
    pub(crate) fn constant(self, number: Number) -> Result<AnyValue> {
        fn full<T: Element>(x: &AnyArray, number: Number) -> Result<AnyValue> {
            let elements = alloc::copies(T::from_number(number).unwrap_or(T::ZERO), x.len())?;
            Ok(AnyArray::from(dense_array(&x.shape().into(), elements)).into())
        }
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => {
                let zeros = x.isin([], false)?.cast(x.dtype())?;
                Ok(zeros.stored().add(number)?.with_fill(number)?.into())
            }
            AnyOperand::Array(x) => {
                dispatch_dtype!(x.dtype(), T => full::<T>(x, number), else => Err(super::no_such(x.dtype())))
            }
        }
    }

    /// Returns ones at the stored entries of a tensor, and zeros elsewhere.
    fn ones(self) -> Result<AnyTensor> {
        let x = self.sparse("pattern_sddmm")?;
        let zeros = x.isin([], false)?.cast(x.dtype())?;
        zeros.stored().add(Number::Integer(1))
    }

    /// Returns the dot products of rows of two dense factors, at the stored entries.
    pub(crate) fn pattern_sddmm(self, l: AnyOperand<'_>, r: AnyOperand<'_>) -> Result<AnyValue> {
        self.ones()?.view().sddmm(l, r)
    }

    /// Returns the gradients of both factors of `pattern_sddmm`.
    pub(crate) fn pattern_sddmm_backward(
        self,
        l: AnyOperand<'_>,
        r: AnyOperand<'_>,
        upstream: AnyOperand<'_>,
    ) -> Result<(AnyValue, AnyValue)> {
        let mut all = self.ones()?.view().sddmm_backward(l, r, upstream)?;
        match (all.pop(), all.pop()) {
            (Some(dr), Some(dl)) => Ok((dl, dr)),
            _ => Err(Error::NoTensor),
        }
    }
}
