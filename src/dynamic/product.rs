//! Products of two tensors whose types are known at run time only.

use super::view::{AnyStored, View};
use super::widen::{Beyond, is_integer, widened};
use super::zip::{Right, brought, check_types, common_format};
use super::{AnyTensor, Erased};
use crate::base::error::{Error, Result};
use crate::element::{DType, Ring};
use crate::ops::matmul_entries;

/// The product of matrices. Floats run in their own type, in which each sum is rounded; integers are exact.
pub(super) fn matmul(left: View<'_>, right: Right<'_>) -> Result<AnyTensor> {
    let (y, is_view) = match right {
        Right::Tensor(y) => (y, false),
        Right::Stored(AnyStored { tensor: y }) => (y, true),
        Right::Number(_) => {
            let why = "a number has no rows and columns; mul multiplies by it".into();
            return Err(Error::Argument { operation: "matmul", why });
        }
    };
    let tensors = [left.tensor, y];
    check_types("matmul", &tensors)?;
    let format = common_format(&tensors);
    let x = if left.tensor.format() == format { left.tensor } else { &left.tensor.clone().into_format(format)? };
    let view = View { tensor: x, stored: left.stored || is_view };
    /// Runs it on elements of one type, which hold those of both.
    macro_rules! on {
        ($type:ty) => {
            product::<$type>(view, &brought(&widened(y)?, format)?)
        };
    }
    match x.dtype() {
        DType::Bool => view.found(on!(bool)),
        DType::UInt64 => view.found(on!(u64)),
        dtype if is_integer(dtype) => view.found_integers(&on!(i64)?, Beyond::OverflowsOfTwo("matmul")),
        DType::Float32 => view.found(on!(f32)),
        #[cfg(feature = "half")]
        DType::Float16 => view.found(on!(super::types::f16)),
        #[cfg(feature = "half")]
        DType::BFloat16 => view.found(on!(super::types::bf16)),
        DType::Complex64 => view.found(on!(super::types::Complex<f32>)),
        DType::Complex128 => view.found(on!(super::types::Complex<f64>)),
        _ => view.found(on!(f64)),
    }
}

fn product<T: Ring>(view: View<'_>, y: &Erased<T>) -> Result<Erased<T>> {
    matmul_entries(&widened(view.tensor)?, y, view.stored).map_err(|error| view.of_type(error))
}
