//! Facts about the steps of an expression, computed on tensors without entries.

use super::Fault;
use super::call::unbound;
use super::fault::CallPositions;
use super::kinds::without_entries;
use super::lower::Lowered;
use super::run::called;
use crate::base::error::{Error, ErrorKind};
use crate::dynamic::AnyValue;
use crate::element::{DType, Number};
use crate::lazy::call::{Arg, Call};
use crate::lazy::expression::OrderedStep;
use crate::ops::{ShapeRule, op};

/// Returns whether the shape of a result depends on values: on computed group labels, on a mask, or on distinct
/// elements.
pub(super) fn is_by_value(call: &Call, inputs: &[Option<&AnyValue>]) -> bool {
    let has_labels = matches!(call.named("by"), Arg::Input(_) | Arg::Stored(_));
    let is_bool = |input: usize| inputs.get(input).copied().flatten().is_some_and(|x| x.dtype() == DType::Bool);
    let has_mask = call.op.place_of("axis").is_some() && call.named("indices").input().is_some_and(is_bool);
    has_labels || has_mask || call.op.lengths() == ShapeRule::Unknown
}

/// Returns the error of a call if types and shapes are its cause.
type Reject<'a> = dyn Fn(&Call, &[&AnyValue], Error) -> Result<(), Error> + 'a;

/// Runs the steps on tensors without entries.
///
/// `seen` receives each step, and its value if types and shapes determine the value. `rejection` determines whether the
/// error of a call is returned. Steps that are `open` do not run.
pub(super) fn dry(
    lowered: &Lowered,
    bound: &dyn Fn(&str) -> Option<AnyValue>,
    open: &dyn Fn(&Call, &[Option<&AnyValue>]) -> bool,
    rejection: &Reject<'_>,
    seen: &mut dyn FnMut(&OrderedStep, Option<&AnyValue>),
) -> Result<(), Fault> {
    let mut values: Vec<Option<AnyValue>> = Vec::new();
    for step in &lowered.graph.steps {
        let places = lowered.places(step.number());
        let inputs: Vec<Option<&AnyValue>> = step.inputs.iter().map(|&at| values[at].as_ref()).collect();
        let value = match (step.name(), step.call()) {
            (Some(name), _) => {
                let x = bound(name).ok_or_else(|| Fault::Wrong(unbound(name, places.call.clone())))?;
                without_entries(&x, x.shape()).map(AnyValue::from)
            }
            (None, Some(call)) if !open(call, &inputs) => {
                match inputs.into_iter().collect::<Option<Vec<&AnyValue>>>() {
                    Some(inputs) => match called(call, &inputs, places) {
                        Err(Fault::Run(error)) => rejection(call, &inputs, error).map(|()| None)?,
                        found => Some(found?),
                    },
                    None => None,
                }
            }
            _ => None,
        };
        seen(step, value.as_ref());
        values.push(value);
    }
    Ok(())
}

/// Returns an error if types and shapes are enough to reject the expression.
pub(super) fn check(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<(), Fault> {
    infer(lowered, bound).map(drop)
}

/// Returns the value of each step on tensors without entries, if types, shapes and fills determine the value.
pub(super) fn infer(
    lowered: &Lowered,
    bound: &dyn Fn(&str) -> Option<AnyValue>,
) -> Result<Vec<Option<AnyValue>>, Fault> {
    let open = |call: &Call, inputs: &[Option<&AnyValue>]| is_by_value(call, inputs) || call.op.stores;
    let rejection = |call: &Call, inputs: &[&AnyValue], error| match is_of_shapes(&error, call, inputs) {
        true => Err(error),
        false => Ok(()),
    };
    let mut infer = Vec::new();
    dry(lowered, bound, &open, &rejection, &mut |_, value| infer.push(value.cloned()))?;
    Ok(infer)
}

/// Returns whether the error of a call does not depend on values.
fn is_of_shapes(error: &Error, call: &Call, inputs: &[&AnyValue]) -> bool {
    let products = [op::matmul.name, op::tensordot.name, op::einsum.name];
    match error {
        // The tensors of a dry run do not have entries, so arrays of entries have other lengths.
        Error::LengthMismatch { .. } | Error::InRange { .. } | Error::Lazy { .. } => false,
        // The entries determine which positions have the fill.
        Error::Argument { operation, .. } if products.contains(operation) => !is_of_fills(error, call, inputs),
        error => matches!(error.kind(), ErrorKind::Shape | ErrorKind::Type),
    }
}

/// Returns whether a call does not have this error if every fill is zero.
fn is_of_fills(error: &Error, call: &Call, inputs: &[&AnyValue]) -> bool {
    let with_zeros = |&input: &&AnyValue| match input {
        AnyValue::Tensor(x) => x.with_fill(Number::Integer(0)).map(AnyValue::Tensor),
        AnyValue::Array(_) => Ok(input.clone()),
    };
    let Ok(inputs) = inputs.iter().map(with_zeros).collect::<Result<Vec<AnyValue>, Error>>() else { return false };
    let found = called(call, &inputs.iter().collect::<Vec<_>>(), &CallPositions::default());
    !matches!(found, Err(Fault::Run(other)) if other == *error)
}
