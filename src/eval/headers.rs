//! Facts about the steps of an expression, computed on tensors without entries.

use super::Fault;
use super::call::unbound;
use super::kinds::without_entries;
use super::lower::Lowered;
use super::run::called;
use crate::base::error::{Error, ErrorKind};
use crate::dynamic::AnyValue;
use crate::lazy::call::{Arg, Call};
use crate::lazy::expression::OrderedStep;
use crate::ops::ShapeRule;

/// Returns whether the shape of a result depends on values: on computed group labels, or on distinct elements.
pub(super) fn is_by_value(call: &Call) -> bool {
    let has_labels = matches!(call.named("by"), Arg::Input(_) | Arg::Stored(_));
    has_labels || call.op.lengths() == ShapeRule::Unknown
}

/// Runs the steps on tensors without entries.
///
/// `seen` receives each step, and its value if types and shapes determine the value. `refused` decides whether the
/// error of an operation is returned. Steps that are `open` do not run.
pub(super) fn dry(
    lowered: &Lowered,
    bound: &dyn Fn(&str) -> Option<AnyValue>,
    open: &dyn Fn(&Call) -> bool,
    refused: &dyn Fn(Error) -> Result<(), Error>,
    seen: &mut dyn FnMut(&OrderedStep, Option<&AnyValue>),
) -> Result<(), Fault> {
    let mut values: Vec<Option<AnyValue>> = Vec::new();
    for step in &lowered.graph.steps {
        let places = lowered.places(step.number());
        let value = match (step.name(), step.call()) {
            (Some(name), _) => {
                let x = bound(name).ok_or_else(|| Fault::Wrong(unbound(name, places.call.clone())))?;
                without_entries(&x, x.shape()).map(AnyValue::from)
            }
            (None, Some(call)) if !open(call) => {
                let inputs: Option<Vec<&AnyValue>> = step.inputs.iter().map(|&at| values[at].as_ref()).collect();
                match inputs.map(|inputs| called(call, &inputs, places)) {
                    Some(Err(Fault::Run(error))) => refused(error).map(|()| None)?,
                    Some(found) => Some(found?),
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
    known(lowered, bound).map(drop)
}

/// Returns the value of each step on tensors without entries, if types, shapes and fills determine the value.
pub(super) fn known(
    lowered: &Lowered,
    bound: &dyn Fn(&str) -> Option<AnyValue>,
) -> Result<Vec<Option<AnyValue>>, Fault> {
    let open = |call: &Call| is_by_value(call) || call.op.stores;
    let refused = |error| if is_of_shapes(&error) { Err(error) } else { Ok(()) };
    let mut known = Vec::new();
    dry(lowered, bound, &open, &refused, &mut |_, value| known.push(value.cloned()))?;
    Ok(known)
}

/// Returns whether an error does not depend on values.
fn is_of_shapes(error: &Error) -> bool {
    match error {
        // The tensors of a dry run have no entries, so arrays of entries have other lengths.
        Error::LengthMismatch { .. } | Error::InRange { .. } | Error::Lazy { .. } => false,
        // The entries decide which positions have the fill.
        Error::Argument { operation: "matmul" | "tensordot" | "einsum", why } => !why.starts_with("the fill"),
        error => matches!(error.kind(), ErrorKind::Shape | ErrorKind::Type),
    }
}
