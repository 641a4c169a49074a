//! Steps of expressions: calls that run on values.

use std::sync::Arc;

use super::Fault;
use super::arithmetic::tensor_of;
use super::fault::{CallPositions, wrong};
use super::literal::Literal;
use super::running::Running;
use super::table::function;
use crate::base::axes::Axes;
use crate::base::error::{Error, Result as Checked};
use crate::dynamic::{AnyOperand, AnyValue};
use crate::element::DType;
use crate::lazy::any::AnyKind;
use crate::lazy::call::Call;
use crate::lazy::expression::{self, ErasedValue, StepImpl};
use crate::ops::{OpSpec, op};

type Found<T> = Result<T, Fault>;

/// The kind of the values of expressions: gradients use the functions of expressions.
pub(super) static EXPRESSION: AnyKind =
    AnyKind { kit: |call| has(call.op).then(step_impl), element: |number| Some(Literal::from(number).into()) };

/// Returns the implementation of a step of an expression.
pub(super) fn step_impl() -> StepImpl {
    expression::step_impl(&EXPRESSION, |node, inputs| {
        let inputs: Vec<&AnyValue> = inputs.iter().map(expression::downcast).collect();
        run_call(node.args(), &inputs).map(|found| Arc::new(found) as ErasedValue)
    })
}

/// Returns the value of a call of a graph.
fn run_call(call: &Call, inputs: &[&AnyValue]) -> Checked<AnyValue> {
    called(call, inputs, &CallPositions::default()).map_err(|fault| match fault {
        Fault::Run(error) => error,
        // If types depend on values, a type error is reported as an error of the step.
        Fault::Wrong(wrong) => Error::Argument { operation: call.op.name, why: wrong.message().to_string() },
    })
}

/// Returns whether expressions can compute an operation.
fn has(op: &'static OpSpec) -> bool {
    function(op.name).is_some() || op.is(&op::gradient_of) || op.is(&op::number_like)
}

/// Computes the value of a call, from the values of its inputs.
pub(super) fn called(call: &Call, inputs: &[&AnyValue], places: &CallPositions) -> Found<AnyValue> {
    let running = Running::new(call, inputs, places)?;
    match call.op {
        op if op.is(&op::gradient_of) => gradient_of(&running),
        op if op.is(&op::number_like) => number_like(&running),
        op => match function(op.name) {
            Some(function) => (function.run)(&running),
            None => wrong(&places.call, format!("there is no function {}", op.name)),
        },
    }
}

/// Returns the gradient of an operand with respect to itself: the upstream gradient on the pattern and in the element
/// type of the operand.
fn gradient_of(call: &Running<'_>) -> Found<AnyValue> {
    let (x, upstream) = (call.moving("x")?.to_value(), call.moving("upstream")?.to_value());
    if !is_float(x.dtype()) {
        return wrong(call.at(), format!("{} is not differentiable; cast it to a float type", x.dtype()));
    }
    let found = upstream.cast(x.dtype());
    call.done(found.and_then(|upstream| AnyOperand::from(&x).any_backward(&upstream, Axes::none())))
}

/// Returns a number as a tensor, with the shape and the element type of an operand.
fn number_like(call: &Running<'_>) -> Found<AnyValue> {
    let x = call.moving("x")?;
    let one = tensor_of(&call.number_opt("number")?, x.dtype(), call.at())?;
    call.done(one.broadcast_to(x.shape()))
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}
