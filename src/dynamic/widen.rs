//! Conversion of operands to wider element types. An operation is compiled only for the wider types, not for every
//! element type.

use ndarray::{CowArray, Dimension, IxDyn};

use super::array::on_array;
use super::types::Complex;
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{DType, Element, Float, Number};
use crate::ops::{DenseOperand, ErasedOperand, ErasedResult, SparseOperand};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseCow;
use crate::{dispatch, dispatch_dtype};

/// An element type in which operations run.
pub(super) trait RunType: Element {
    /// Returns a result in the type of the operand.
    #[inline]
    fn narrowed(result: ErasedResult<Self>, operand: AnyOperand<'_>, _: OverflowRule) -> Result<AnyValue> {
        operand.found(Ok(result))
    }
}

impl RunType for bool {}
impl RunType for u64 {}
impl RunType for f32 {}
impl RunType for Complex<f32> {}
#[cfg(feature = "half")]
impl RunType for super::types::f16 {}
#[cfg(feature = "half")]
impl RunType for super::types::bf16 {}

impl RunType for i64 {
    #[inline]
    fn narrowed(result: ErasedResult<i64>, operand: AnyOperand<'_>, overflow_rule: OverflowRule) -> Result<AnyValue> {
        operand.found_integers(Ok(result), overflow_rule)
    }
}

/// The result for a complex operand has the type of its parts.
impl RunType for f64 {
    #[inline]
    fn narrowed(result: ErasedResult<f64>, operand: AnyOperand<'_>, _: OverflowRule) -> Result<AnyValue> {
        match operand.dtype() {
            DType::Complex64 => operand.found(rounded::<f32>(result, |nan| nan as f32)),
            _ => operand.found_floats(Ok(result)),
        }
    }
}

impl RunType for Complex<f64> {
    #[inline]
    fn narrowed(result: ErasedResult<Self>, operand: AnyOperand<'_>, _: OverflowRule) -> Result<AnyValue> {
        if operand.dtype() != DType::Complex64 {
            return operand.found(Ok(result));
        }
        let narrow = |value: Complex<f64>| Complex::new(value.re as f32, value.im as f32);
        operand.found(changed(result, narrow, |fill| {
            let Complex { re, im } = narrow(fill);
            Complex::new(of_rounded_fill(re, fill.re), of_rounded_fill(im, fill.im))
        }))
    }
}

/// Returns the condition of a choice. Rejects operands of other types than `bool`.
pub(super) fn condition<'a>(operation: &'static str, x: AnyOperand<'a>) -> Result<ErasedOperand<'a, bool>> {
    match x.dtype() {
        DType::Bool => widened(x.whole()),
        _ => Err(not_for(operation, x, "the condition must be bool")),
    }
}

/// Returns the operand in a type in which all its values fit. If the operand already has this type, it is not copied.
pub(super) fn widened<'a, U: Element>(x: impl Into<AnyOperand<'a>>) -> Result<ErasedOperand<'a, U>> {
    let array = match x.into() {
        AnyOperand::Tensor(x) => return Ok(widened_tensor(x)?.into()),
        AnyOperand::Stored(x) => {
            return Ok(SparseOperand::of(SparseCow::Owned(widened_tensor(x)?), false).into());
        }
        AnyOperand::Array(array) => array,
    };
    let whole = array.whole().cloned();
    let array: CowArray<'a, U, IxDyn> = match array.view() {
        Some(same) => same.into(),
        None => on_array!(array, x => {
            dense_array(&x.shape().into(), alloc::collect(x.iter().map(|&value| wider(value)))?).into()
        }),
    };
    Ok(ErasedOperand::Array(DenseOperand { array, whole }))
}

/// Returns the tensor in a type in which all its values fit. If the tensor already has this type, it is not copied.
pub(super) fn widened_tensor<U: Element>(x: &AnyTensor) -> Result<Erased<U>> {
    fn of<T: Element, U: Element>(x: &Erased<T>) -> Result<Erased<U>> {
        if T::DTYPE == U::DTYPE {
            return Ok(super::retyped(&mut Some(x.clone())));
        }
        let values = alloc::collect(x.values().iter().map(|&value| wider(value)))?;
        Ok(Tensor::from_valid(x.pattern().clone(), values, wider(x.fill())))
    }
    dispatch!(x, x => of(x))
}

/// Returns the value in a type in which it fits.
fn wider<T: Element, U: Element>(value: T) -> U {
    let number = value.to_number();
    // A NaN keeps its bits, because a stored view may only move the NaN.
    let own: Option<&dyn std::any::Any> = if let Number::Real(real) = &number { Some(real) } else { None };
    let own = own.and_then(|own| own.downcast_ref::<U>()).copied();
    own.or_else(|| U::from_number(number)).unwrap_or(U::ZERO)
}

/// Returns a result with `change` applied to each value, and `of_fill` to the fill.
pub(super) fn changed<T: Element, U: Element>(
    x: ErasedResult<T>,
    change: impl Fn(T) -> U,
    of_fill: impl Fn(T) -> U,
) -> Result<ErasedResult<U>> {
    Ok(match x {
        ErasedResult::Tensor(x) => {
            let values = alloc::collect(x.values().iter().map(|&value| change(value)))?;
            Tensor::from_valid(x.pattern().clone(), values, of_fill(x.fill())).into()
        }
        ErasedResult::Array(x) => {
            dense_array(&x.shape().into(), alloc::collect(x.iter().map(|&value| change(value)))?).into()
        }
    })
}

/// Rounds floats to a narrower type. `of_nan` keeps the bits of a NaN that was only moved.
pub(super) fn rounded<G: Float>(x: ErasedResult<f64>, of_nan: fn(f64) -> G) -> Result<ErasedResult<G>> {
    let round = |value: f64| if value.is_nan() { of_nan(value) } else { G::from_f64(value) };
    changed(x, round, |fill| of_rounded_fill(round(fill), fill))
}

/// Returns a fill after rounding. A fill that rounds to zero is a computed zero, which is positive.
fn of_rounded_fill<G: Float>(rounded: G, fill: f64) -> G {
    if rounded == G::ZERO && fill != 0.0 { G::ZERO } else { rounded }
}

/// The treatment of an integer that does not fit in a narrower type.
#[derive(Clone, Copy)]
pub(super) enum OverflowRule {
    /// Returns an overflow error of the named operation. The entries are checked before the fill.
    Overflows(&'static str),
    /// Returns an overflow error of the named operation. The fill is checked before the entries, as in binary
    /// operations.
    OverflowsOfTwo(&'static str),
    /// Returns the smallest or largest integer of the narrower type. The wider integer is the identity of `min` or
    /// `max`.
    Saturates,
}

/// Returns integers in a narrower type.
pub(super) fn narrowed<T: Element>(x: &ErasedResult<i64>, overflow_rule: OverflowRule) -> Result<ErasedResult<T>> {
    let narrow = |value: i64, coords: &dyn Fn() -> Option<Vec<usize>>| {
        let number = Number::Integer(value.into());
        T::from_number(number).map_or_else(|| out_of_range(number, overflow_rule, coords), Ok)
    };
    let x = match x {
        ErasedResult::Tensor(x) => x,
        ErasedResult::Array(x) => {
            let element = |(at, &value): (IxDyn, &i64)| narrow(value, &|| Some(at.slice().to_vec()));
            let elements = alloc::try_collect(x.indexed_iter().map(element))?;
            return Ok(dense_array(&x.shape().into(), elements).into());
        }
    };
    let pattern = x.pattern();
    let fill = || match narrow(x.fill(), &|| None) {
        // No position has the fill.
        Err(_) if pattern.shape().wide_size() <= pattern.nnz() as u128 => Ok(T::ZERO),
        fill => fill,
    };
    if let OverflowRule::OverflowsOfTwo(_) = overflow_rule {
        fill()?;
    }
    let value = |(entry, &value): (usize, &i64)| narrow(value, &|| pattern.coords_of(entry));
    let values: Vec<T> = alloc::try_collect(x.values().iter().enumerate().map(value))?;
    let fill = fill()?;
    Ok(Tensor::from_valid(pattern.clone(), values, fill).into())
}

fn out_of_range<T: Element>(
    number: Number,
    overflow_rule: OverflowRule,
    coords: &dyn Fn() -> Option<Vec<usize>>,
) -> Result<T> {
    let dtype = T::DTYPE;
    let (min, max) = bounds(dtype);
    match (overflow_rule, number) {
        (OverflowRule::Saturates, Number::Integer(integer)) => {
            Ok(T::from_number(Number::Integer(integer.clamp(min, max))).unwrap_or(T::ZERO))
        }
        (OverflowRule::Overflows(operation) | OverflowRule::OverflowsOfTwo(operation), _) => {
            Err(Error::Overflow { operation, coords: coords(), dtype: dtype.name() })
        }
        _ => Ok(T::ZERO),
    }
}

/// Returns the smallest and the largest integer of a type.
pub(super) fn bounds(dtype: DType) -> (i128, i128) {
    let bits = |signed: bool, bits: u32| match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    match dtype {
        DType::Int8 => bits(true, 8),
        DType::Int16 => bits(true, 16),
        DType::Int32 => bits(true, 32),
        DType::Int64 => bits(true, 64),
        DType::UInt8 => bits(false, 8),
        DType::UInt16 => bits(false, 16),
        DType::UInt32 => bits(false, 32),
        DType::UInt64 => bits(false, 64),
        _ => (0, 1),
    }
}

/// Returns whether a type is an integer type; `bool` is not.
pub(super) fn is_integer(dtype: DType) -> bool {
    dtype != DType::Bool && dispatch_dtype!(dtype, T => T::ZERO.to_integer().is_some(), else => false)
}

/// Returns whether each value is truthy.
pub(super) fn truth<'a>(x: impl Into<AnyOperand<'a>>) -> Result<ErasedOperand<'a, bool>> {
    let x = x.into();
    if x.dtype() == DType::Bool {
        return widened(x);
    }
    match x {
        AnyOperand::Tensor(tensor) | AnyOperand::Stored(tensor) => {
            Ok(SparseOperand::of(SparseCow::Owned(truth_of(tensor)?), !x.is_stored()).into())
        }
        AnyOperand::Array(x) => on_array!(x, x => {
            Ok(dense_array(&x.shape().into(), alloc::collect(x.iter().map(|value| value.is_truthy()))?).into())
        }),
    }
}

/// Returns whether each value of a tensor is truthy.
pub(super) fn truth_of(x: &AnyTensor) -> Result<Erased<bool>> {
    if let AnyTensor::Bool(x) = x {
        return Ok(x.clone());
    }
    dispatch!(x, x => x.clone().map_values(Element::is_truthy))
}

/// Returns zeros in place of an operand, for gradients that do not read its values.
pub(super) fn zeros<'a>(x: impl Into<AnyOperand<'a>>) -> Result<ErasedOperand<'a, bool>> {
    match x.into() {
        AnyOperand::Tensor(x) => Ok(zeros_of(x)?.into()),
        AnyOperand::Stored(x) => Ok(SparseOperand::of(SparseCow::Owned(zeros_of(x)?), false).into()),
        AnyOperand::Array(x) => {
            let shape = Shape::from(x.shape());
            Ok(dense_array(&shape, alloc::zeros(x.len())?).into())
        }
    }
}

/// Returns zeros on the pattern of a tensor.
pub(super) fn zeros_of(x: &AnyTensor) -> Result<Erased<bool>> {
    let pattern = x.pattern();
    let values = alloc::zeros(pattern.nnz())?;
    Ok(Tensor::from_valid(pattern, values, false))
}

/// Returns zeros in place of an operand; rejects complex numbers.
#[inline]
pub(super) fn zeros_of_reals<'a>(view: AnyOperand<'a>, operation: &'static str) -> Result<ErasedOperand<'a, bool>> {
    match view.dtype() {
        DType::Complex64 | DType::Complex128 => Err(no_order(operation, view)),
        _ => zeros(view),
    }
}

/// Returns the error for an operation that complex numbers do not support.
pub(super) fn no_order<'a>(operation: &'static str, x: impl Into<AnyOperand<'a>>) -> Error {
    Error::NoOrder { operation, dtype: x.into().dtype().name() }
}

/// Returns the error for an operation that the element type does not support.
pub(super) fn not_for<'a>(operation: &'static str, x: impl Into<AnyOperand<'a>>, instead: &'static str) -> Error {
    Error::NoOperation { operation, dtype: x.into().dtype().name(), instead }
}

/// Returns the error for elements that are not floats.
pub(super) fn not_floats(operation: &'static str, x: AnyOperand<'_>) -> Error {
    not_for(operation, x, "cast the operand to a float type first")
}

/// Returns the error for an upstream gradient whose elements are not floats.
pub(super) fn no_floats(upstream: AnyOperand<'_>) -> Error {
    Error::NotRepresentable {
        format: "this gradient",
        what: format!("an upstream gradient of type {}", upstream.dtype()),
        instead: "cast it to a float type",
    }
}
