//! Operands combined with numbers, and the selection of one of several results.

use super::Fault;
use super::arithmetic::tensor_of;
use super::fault::{at, wrong};
use super::running::Running;
use crate::base::error::Result as Checked;
use crate::base::index::check_axes;
use crate::base::shape::Shape;
use crate::dynamic::{AnyMatmul, AnyOperand, AnyTensor, AnyValue, RightOperand, zip};
use crate::element::DType;
use crate::ops::TakeMode;
use crate::tensor::coo::CooTensor;

type Found = Result<AnyValue, Fault>;

/// Returns the handling of positions that are out of range.
pub(super) fn mode_of(call: &Running<'_>) -> TakeMode {
    match call.call().word("mode") {
        "wrap" => TakeMode::Wrap,
        "clip" => TakeMode::Clip,
        _ => TakeMode::Raise,
    }
}

/// Returns the gradient of one of two operands, which the argument `wrt` selects.
pub(super) fn one_of_two(call: &Running<'_>, both: Checked<(AnyValue, AnyValue)>) -> Found {
    let is_right = match call.count("wrt") {
        0 => false,
        1 => true,
        other => return wrong(call.at(), format!("wrt must be 0 or 1, found {other}")),
    };
    call.done(both.map(|(dx, dy)| if is_right { dy } else { dx }))
}

/// Computes a binary operation. At least one operand must be a tensor or an array.
pub(super) fn zipped(call: &Running<'_>) -> Found {
    let name = call.op().name;
    zipped_by(call, |left, right, is_swapped| zip(name, left, right, is_swapped))
}

/// Computes a binary operation by a function. At least one operand must be a tensor or an array.
pub(super) fn zipped_by(
    call: &Running<'_>,
    zip: impl Fn(AnyOperand<'_>, RightOperand<'_>, bool) -> Checked<AnyValue>,
) -> Found {
    let number = |parameter, dtype| Ok::<_, Fault>(RightOperand::Number(call.number(parameter, dtype)?));
    let result = match (call.maybe("x")?, call.maybe("y")?) {
        (Some(x), Some(y)) => zip(x, RightOperand::Operand(y), false),
        (Some(x), None) => zip(x, number("y", x.dtype())?, false),
        (None, Some(y)) => zip(y, number("x", y.dtype())?, true),
        (None, None) => return call.seen(if call.literal("y").is_some() { "x" } else { "y" }).map(|x| x.to_value()),
    };
    call.done(result)
}

/// Returns the gradient of one of two operands. If one operand is a view of stored entries, both are read as views.
pub(super) fn of_two(
    call: &Running<'_>,
    gradients: fn(AnyOperand<'_>, AnyOperand<'_>, AnyOperand<'_>) -> Checked<(AnyValue, AnyValue)>,
) -> Found {
    let (x, y, upstream) =
        (gradient_operand(call, ["x", "y"], 0)?, gradient_operand(call, ["y", "x"], 1)?, call.whole("upstream")?);
    let (x, y) = (AnyOperand::from(&x), AnyOperand::from(&y));
    let both = match call.is_stored("x") || call.is_stored("y") {
        true => gradients(x.stored(), y.stored(), upstream),
        false => gradients(x, y, upstream),
    };
    one_of_two(call, both)
}

/// Returns the gradient of one of several operands, which the argument `wrt` selects.
pub(super) fn one_of(call: &Running<'_>, all: Checked<Vec<AnyValue>>) -> Found {
    let (mut all, wrt) = (at(call.at(), all)?, call.count("wrt"));
    match wrt < all.len() {
        true => Ok(all.swap_remove(wrt)),
        false => wrong(call.at(), format!("wrt must be the index of one of {} tensors, from 0", all.len())),
    }
}

/// Computes the gradients of a list of operands along an axis, from the upstream gradient.
type GradientsOfList = fn(isize, AnyOperand<'_>, &[AnyOperand<'_>]) -> Checked<Vec<AnyValue>>;

/// Returns the gradient of one of a list of operands, which the argument `wrt` selects.
pub(super) fn of_list(call: &Running<'_>, gradients: GradientsOfList) -> Found {
    let (operands, wrt) = (call.operands("tensors")?, call.count("wrt"));
    if wrt >= operands.len() {
        return wrong(call.at(), format!("wrt must be the index of one of {} tensors, from 0", operands.len()));
    }
    one_of(call, gradients(call.position("axis"), call.whole("upstream")?, &operands))
}

/// Returns the tensor of a constructor. If 32-bit indices are sufficient for the shape, the tensor is constructed with
/// 32-bit indices and then converted to 64-bit indices. This halves the memory for indices during construction.
pub(super) fn with_narrow_index(
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
fn gradient_operand(call: &Running<'_>, [own, other]: [&str; 2], number: usize) -> Found {
    match (call.literal(own), call.maybe(other)?) {
        (Some(_), Some(x)) if call.count("wrt") != number => {
            let number = call.number(own, x.dtype())?;
            at(call.at(), x.constant(number))
        }
        _ => choice(call, own, other),
    }
}

/// Returns an operand. A number becomes a tensor of rank 0, in the element type of the other operand.
pub(super) fn choice(call: &Running<'_>, own: &str, other: &str) -> Found {
    let Some(number) = call.literal(own) else { return Ok(call.moving(own)?.to_value()) };
    let dtype = match (call.maybe(other)?, call.literal(other)) {
        (Some(operand), _) => operand.dtype(),
        (_, Some(other)) if number.dtype() != other.dtype() => DType::Float64,
        _ => number.dtype(),
    };
    tensor_of(&number, dtype, &call.at_of(own)).map(Into::into)
}

/// Returns a product, with the mask if one is given. The flag `complement` selects the complement of the mask.
pub(super) fn multiplied<'c>(call: &Running<'c>, options: AnyMatmul<'c>) -> Found {
    let options = match (call.is_given("mask"), call.call().flag("complement")) {
        (true, false) => options.mask(call.tensor("mask")?),
        (true, true) => options.without(call.tensor("mask")?),
        (false, true) => return wrong(call.at(), "complement=… requires a mask"),
        (false, false) => options,
    };
    call.done(call.moving("x")?.matmul_with(call.moving("y")?, options))
}
