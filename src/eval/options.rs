//! Conversion of arguments to options of operations, and selection of one of several results.

use super::Fault;
use super::call::Call;
use super::run::{at, tensor_of, wrong};
use super::value::Value;
use crate::base::error::Result as Checked;
use crate::base::index::check_axes;
use crate::base::shape::Shape;
use crate::dynamic::{AnyMatmul, AnyOperand, AnyTensor, AnyValue};
use crate::element::DType;
use crate::ops::{Nanmedian, Norm, Quantile, QuantileMethod, TakeMode, Var};
use crate::tensor::coo::CooTensor;

pub(super) fn var_of(call: &Call, axis: usize) -> Result<Var, Fault> {
    Ok(Var::over(call.axes(axis, axis + 3)?).ddof(call.integer(axis + 2, Some(0))?))
}

pub(super) fn median_of(call: &Call, axis: usize) -> Result<Nanmedian, Fault> {
    let options = Nanmedian::over(call.axes(axis, axis + 3)?);
    Ok(if call.word(axis + 2, &["mean", "lower"])? == 1 { options.lower() } else { options })
}

pub(super) fn mode_of(call: &Call, place: usize) -> Result<TakeMode, Fault> {
    Ok([TakeMode::Raise, TakeMode::Wrap, TakeMode::Clip][call.word(place, &["raise", "wrap", "clip"])?])
}

pub(super) fn quantile_of(call: &Call, axis: usize) -> Result<Quantile, Fault> {
    use QuantileMethod::{Higher, Linear, Lower, Midpoint, Nearest};
    let method = call.word(axis + 2, &["linear", "lower", "higher", "midpoint", "nearest"])?;
    let method = [Linear, Lower, Higher, Midpoint, Nearest][method];
    Ok(Quantile::over(call.axes(axis, axis + 3)?).method(method))
}

pub(super) fn norm_of(call: &Call, axis: usize) -> Result<Norm, Fault> {
    let norm = Norm::over(call.axes(axis, axis + 3)?);
    match call.real_or(axis + 2, 2.0)? {
        1.0 => Ok(norm.one()),
        2.0 => Ok(norm),
        f64::INFINITY => Ok(norm.infinity()),
        other => wrong(&call.at, format!("ord is 1, 2 or inf, not {other}")),
    }
}

/// Returns one of two gradients, selected by the argument at `place`.
pub(super) fn one_of_two(call: &Call, place: usize, both: Checked<(AnyValue, AnyValue)>) -> Result<Value, Fault> {
    let is_right = match call.integer(place, Some(0))? {
        0 => false,
        1 => true,
        other => return wrong(&call.at, format!("wrt is 0 or 1, not {other}")),
    };
    call.done(both.map(|(dx, dy)| if is_right { dy } else { dx }))
}

/// Returns the gradient of one of two operands. If one operand is a view of stored entries, both are read as views.
pub(super) fn of_two(
    call: &Call,
    gradients: fn(AnyOperand<'_>, AnyOperand<'_>, AnyOperand<'_>) -> Checked<(AnyValue, AnyValue)>,
) -> Result<Value, Fault> {
    let (x, y, upstream) = (beside(call, 0, 1)?, beside(call, 1, 0)?, call.whole(2)?);
    let is_view = |place: usize| call.given(place).map(|given| matches!(given.value, Value::Stored(_)));
    let (x, y) = (AnyOperand::from(&x), AnyOperand::from(&y));
    let both = match is_view(0)? || is_view(1)? {
        true => gradients(x.stored(), y.stored(), upstream),
        false => gradients(x, y, upstream),
    };
    one_of_two(call, 3, both)
}

/// Returns one of several gradients, selected by the argument at `place`.
pub(super) fn one_of(call: &Call, place: usize, all: Checked<Vec<AnyValue>>) -> Result<Value, Fault> {
    let mut all = at(&call.at, all)?;
    let wrt: usize = call.integer(place, Some(0))?;
    match wrt < all.len() {
        true => Ok(all.swap_remove(wrt).into()),
        false => wrong(&call.at, format!("wrt is the number of one of {} tensors", all.len())),
    }
}

/// Computes the gradients of a list of operands along an axis, from the upstream gradient.
type GradientsOfList = fn(isize, AnyOperand<'_>, &[AnyOperand<'_>]) -> Checked<Vec<AnyValue>>;

/// Returns the gradient of one of a list of operands, selected by the argument `wrt`.
pub(super) fn of_list(call: &Call, gradients: GradientsOfList) -> Result<Value, Fault> {
    let (operands, wrt): (_, usize) = (call.operands(0)?, call.integer(3, Some(0))?);
    if wrt >= operands.len() {
        return wrong(&call.at, format!("wrt is the number of one of {} tensors", operands.len()));
    }
    let all = gradients(call.integer(2, Some(0))?, call.whole(1)?, &operands);
    call.done(all.map(|mut all| all.swap_remove(wrt)))
}

/// Returns a tensor that a constructor makes. If 32-bit indices fit the shape, the tensor is made with them and then
/// converted to 64-bit indices. This halves the memory for indices during construction.
pub(super) fn made(
    shape: &Shape,
    narrow: impl FnOnce() -> Checked<CooTensor<f64>>,
    wide: impl FnOnce() -> Checked<CooTensor<f64, u64>>,
) -> Checked<AnyTensor> {
    match check_axes::<u32>(shape).is_ok() {
        true => Ok(narrow()?.with_index::<u64>()?.into()),
        false => Ok(wide()?.into()),
    }
}

/// Returns an operand of a gradient. A number becomes a value like the other operand, with this number at its elements.
/// If the gradient of the number is requested, the number becomes a tensor of rank 0.
pub(super) fn beside(call: &Call, place: usize, other: usize) -> Result<AnyValue, Fault> {
    let is_asked = call.integer::<usize>(3, Some(0))? == place;
    match (&call.given(place)?.value, call.given(other)?.value.operand()) {
        (Value::Number(number), Some(x)) if !is_asked => {
            let number = number.in_type(x.dtype()).or_else(|message| wrong(&call.given(place)?.at, message))?;
            at(&call.at, x.constant(number))
        }
        _ => choice(call, place, other),
    }
}

/// Returns an operand. A number becomes a tensor of rank 0, in the element type of the other operand.
pub(super) fn choice(call: &Call, place: usize, other: usize) -> Result<AnyValue, Fault> {
    let given = call.given(place)?;
    let Value::Number(number) = &given.value else { return Ok(call.moving(place)?.to_value()) };
    let other = &call.given(other)?.value;
    let dtype = match (other, other.operand()) {
        (_, Some(operand)) => operand.dtype(),
        (Value::Number(other), _) if number.dtype() != other.dtype() => DType::Float64,
        _ => number.dtype(),
    };
    tensor_of(number, dtype, &given.at).map(Into::into)
}

/// Returns a product, with the mask at `place` if one is given. The flag after the mask selects its complement.
pub(super) fn multiplied<'c>(call: &'c Call, options: AnyMatmul<'c>, place: usize) -> Result<Value, Fault> {
    let options = match (call.is_given(place), call.flag(place + 1)?) {
        (true, false) => options.mask(call.tensor(place)?),
        (true, true) => options.without(call.tensor(place)?),
        (false, true) => return wrong(&call.at, "complement=… is that of a mask"),
        (false, false) => options,
    };
    call.done(call.moving(0)?.matmul_with(call.moving(1)?, options))
}
