//! The plan of an expression as text. No value is computed.

use super::Fault;
use super::graph::{on_headers, results_of};
use super::headers::{dry, is_by_value};
use super::kinds::{Kinds, small};
use super::lower::Lowered;
use crate::dynamic::AnyValue;
use crate::lazy::Lazy;
use crate::lazy::expression::{self, Facts, ValueFacts};
use crate::pattern::Format;

/// Returns one line per step, with the steps that run together. Errors of operations are ignored, except errors of
/// element types.
pub(super) fn explain(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<String, Fault> {
    let small = |name: &str| bound(name).and_then(|x| small(&x));
    let mut kinds = Kinds::new(&small);
    let mut steps: Vec<Lazy<AnyValue>> = Vec::new();
    let mut headers: Vec<Option<AnyValue>> = Vec::new();
    dry(lowered, bound, &is_by_value, &|_, _, _| Ok(()), &mut |step, header| {
        let known = value_facts(header, kinds.next(step, header));
        let inputs: Vec<&Lazy<AnyValue>> = step.inputs.iter().map(|&input| &steps[input]).collect();
        let operands: Vec<Option<&AnyValue>> = step.inputs.iter().map(|&input| headers[input].as_ref()).collect();
        let explained = match step.call() {
            Some(call) => on_headers(step, call, &inputs, &operands, &known),
            None => step.as_input(&known),
        };
        headers.push(header.cloned());
        steps.push(explained);
    })?;
    Ok(expression::explain(&results_of(lowered, &steps)?)?)
}

/// Returns the facts about a value, from a value without entries.
fn value_facts(header: Option<&AnyValue>, is_array: Option<bool>) -> ValueFacts {
    let Some(header) = header else { return ValueFacts::default() };
    let format = match (is_array, header) {
        (Some(true), _) => Some("dense"),
        (Some(false), AnyValue::Tensor(x)) => Some(if x.format() == Format::Coo { "coo" } else { "csr" }),
        _ => None,
    };
    ValueFacts { shape: Some(header.shape()), facts: Some(Facts { dtype: header.dtype(), format }) }
}
