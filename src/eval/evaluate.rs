//! Evaluation of expressions: by the plan of the graph, or step by step to report an error.

use super::Fault;
use super::arithmetic::tensor_of;
use super::call::unbound;
use super::fault::wrong;
use super::graph::{Bound, graphs};
use super::lower::{Lowered, Outcome};
use super::run::called;
use crate::base::error::Error;
use crate::dynamic::AnyValue;
use crate::lazy::expression::{self, Ordered, is_of_a_step};

/// Computes the results of an expression.
pub(super) fn evaluate(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<Vec<AnyValue>, Fault> {
    let graphs = graphs(lowered, &|name| bound(name).map(Bound::from))?;
    match expression::values(&graphs) {
        Ok(found) => Ok(found),
        // Running the steps in order reports the error with its position in the text.
        Err(error) if is_of_a_step(&error) => in_order(lowered, bound),
        Err(error) => Err(Fault::Run(error)),
    }
}

/// Computes the results step by step, without recursion.
fn in_order(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<Vec<AnyValue>, Fault> {
    let Ordered { steps, .. } = &lowered.graph;
    let mut uses = vec![0_usize; steps.len()];
    steps.iter().flat_map(|step| &step.inputs).for_each(|&input| uses[input] += 1);
    let mut is_result = vec![false; steps.len()];
    lowered.results.iter().for_each(|result| {
        if let Outcome::Step(step) = result {
            is_result[*step] = true;
        }
    });
    let mut values: Vec<Option<AnyValue>> = Vec::with_capacity(steps.len());
    for step in steps {
        let places = lowered.places(step.number());
        let value = match (step.name(), step.call()) {
            (Some(name), _) => bound(name).ok_or_else(|| Fault::Wrong(unbound(name, places.call.clone())))?,
            (None, Some(call)) => {
                let inputs: Vec<&AnyValue> = step.inputs.iter().filter_map(|&at| values[at].as_ref()).collect();
                called(call, &inputs, places)?
            }
            (None, None) => return wrong(&places.call, "this does not have a value"),
        };
        values.push(Some(value));
        for &input in &step.inputs {
            uses[input] -= 1;
            if uses[input] == 0 && !is_result[input] {
                values[input] = None;
            }
        }
    }
    let value = |outcome: &Outcome| match outcome {
        Outcome::Step(at) => values[*at].clone().ok_or(Fault::Run(Error::NoTensor)),
        Outcome::Number(number) => tensor_of(number, number.dtype(), &(0..0)).map(Into::into),
    };
    lowered.results.iter().map(value).collect()
}
