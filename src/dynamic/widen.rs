//! Fewer types than tensors have: what keeps an operation on two tensors from being compiled for each pair of types.

use super::cast::{AnyPattern, Numbers};
use super::types::Complex;
use super::{AnyFormat, AnyTensor, retyped};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::dispatch;
use crate::element::{DType, Element};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// A tensor in the widest type of its kind, which holds its values exactly and orders them alike.
pub(super) enum Wide {
    /// `bool`, of which a stored view keeps the fill.
    Truth(AnyFormat<bool>),
    /// The signed integers, and the unsigned ones that `i64` holds.
    Signed(AnyFormat<i64>),
    /// `u64`.
    Unsigned(AnyFormat<u64>),
    /// The floats.
    Float(AnyFormat<f64>),
    /// The complex numbers.
    Complex(AnyFormat<Complex<f64>>),
}

/// Runs code on a widened tensor; a complex one takes the other branch.
macro_rules! on_wide {
    ($wide:expr, $x:ident => $body:expr, $complex:pat => $otherwise:expr) => {
        match $wide {
            Wide::Truth(AnyFormat::Coo($x)) => $body,
            Wide::Truth(AnyFormat::Csr($x)) => $body,
            Wide::Signed(AnyFormat::Coo($x)) => $body,
            Wide::Signed(AnyFormat::Csr($x)) => $body,
            Wide::Unsigned(AnyFormat::Coo($x)) => $body,
            Wide::Unsigned(AnyFormat::Csr($x)) => $body,
            Wide::Float(AnyFormat::Coo($x)) => $body,
            Wide::Float(AnyFormat::Csr($x)) => $body,
            Wide::Complex($complex) => $otherwise,
        }
    };
}

pub(super) use on_wide;

impl Wide {
    /// The tensor widened.
    #[inline]
    pub(super) fn of(x: &AnyTensor) -> Result<Wide> {
        Ok(match x.dtype() {
            DType::Bool => Wide::Truth(widened(x)?),
            DType::UInt64 => Wide::Unsigned(widened(x)?),
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Wide::Float(widened(x)?),
            DType::Complex64 | DType::Complex128 => Wide::Complex(widened(x)?),
            _ => Wide::Signed(widened(x)?),
        })
    }
}

/// The tensor in a type that holds all its values; where it has that type already, nothing is copied.
fn widened<U: Element>(x: &AnyTensor) -> Result<AnyFormat<U>> {
    fn of<P: Pattern, T: Element, U: Element>(x: &Tensor<P, T>) -> Result<Tensor<P, U>> {
        if T::DTYPE == U::DTYPE {
            return Ok(retyped(&mut Some(x.clone())));
        }
        let widen = |value: T| U::from_number(value.to_number()).unwrap_or(U::ZERO);
        let values = alloc::collect(x.values().iter().map(|&value| widen(value)))?;
        Ok(Tensor::from_valid(x.pattern().clone(), values, widen(x.fill())))
    }
    dispatch!(x, x => of(x).map(AnyFormat::from))
}

/// Whether each value is truthy.
pub(super) fn truth(x: &AnyTensor) -> Result<AnyFormat<bool>> {
    if let AnyTensor::Bool(x) = x {
        return Ok(x.clone());
    }
    dispatch!(x, x => x.map_values(Element::is_truthy).map(AnyFormat::from))
}

/// Zeros on the pattern of a tensor, for the gradients that read no value of it.
pub(super) fn zeros(x: &AnyTensor) -> Result<AnyFormat<bool>> {
    let numbers: &dyn Numbers = dispatch!(x, x => x);
    let values = alloc::zeros(numbers.count())?;
    Ok(match numbers.any_pattern() {
        AnyPattern::Coo(pattern) => Tensor::from_valid(pattern, values, false).into(),
        AnyPattern::Csr(pattern) => Tensor::from_valid(pattern, values, false).into(),
    })
}

/// The error for an operation that complex numbers do not have.
pub(super) fn no_order(operation: &'static str, x: &AnyTensor) -> Error {
    Error::NoOrder { operation, dtype: x.dtype().name() }
}
