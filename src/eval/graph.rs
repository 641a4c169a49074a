//! Expressions as graphs of steps, which an engine may compute in chunks.

use super::arithmetic::tensor_of;
use super::fault::CallPositions;
use super::lower::{Lowered, Outcome};
use super::running::Running;
use super::{Fault, headers, run};
use crate::base::error::Error;
use crate::dynamic::{AnyValue, StreamFold, StreamOptions};
use crate::lazy::Lazy;
use crate::lazy::call::{Arg, Call, Options};
use crate::lazy::expression::{OrderedStep, ValueFacts};
use crate::ops::{Nanmedian, Norm, Quantile, Stream, Var};

/// A value that a name of an expression is bound to, with a header.
///
/// The header is a tensor with the element type, the shape and the fill of the value. The header does not need entries.
///
/// ```
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::eval::{Bound, Expression};
/// use lacuna::{CooTensor, lazy::Chunks};
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![-3.0], 0.0)?.with_index::<u64>()?;
/// let header = AnyTensor::from(CooTensor::<f64>::full([2], 0.0)?.with_index::<u64>()?);
/// let value = AnyTensor::from(x).lazy(); // or a scan of a file
/// let graph = Expression::parse("abs(x) + 1")?.graph(|_| Some(Bound::later(value.clone(), header.clone())))?;
/// assert_eq!(graph.collect()?.into_tensor()?.into_coo::<f64, u64>()?.to_vec(&[])?, [1.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bound {
    value: Lazy<AnyValue>,
    header: AnyValue,
}

impl Bound {
    /// Returns a binding to a value that is computed or read later.
    pub fn later(value: Lazy<AnyValue>, header: impl Into<AnyValue>) -> Self {
        Bound { value, header: header.into() }
    }
}

impl<V: Into<AnyValue>> From<V> for Bound {
    fn from(value: V) -> Self {
        let value = value.into();
        Bound { value: value.lazy(), header: value }
    }
}

/// Returns the graphs of the results of an expression.
#[track_caller]
pub(super) fn graphs(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<Bound>) -> Result<Vec<Lazy<AnyValue>>, Fault> {
    let known = headers::infer(lowered, &|name| bound(name).map(|bound| bound.header))?;
    let mut steps: Vec<Lazy<AnyValue>> = Vec::with_capacity(known.len());
    for (step, header) in lowered.graph.steps.iter().zip(&known) {
        let found = match (step.name(), step.call()) {
            (Some(name), _) => bound(name).map(|bound| bound.value),
            (None, Some(call)) => {
                let inputs: Vec<&Lazy<AnyValue>> = step.inputs.iter().map(|&input| &steps[input]).collect();
                let operands: Vec<Option<&AnyValue>> = step.inputs.iter().map(|&input| known[input].as_ref()).collect();
                let shape = header.as_ref().map(AnyValue::shape);
                Some(on_headers(step, call, &inputs, &operands, &ValueFacts { shape, facts: None }))
            }
            (None, None) => None,
        };
        steps.push(found.ok_or(Fault::Run(Error::NoTensor))?);
    }
    results_of(lowered, &steps)
}

/// Returns the results among the steps of an expression. A number becomes a tensor.
pub(super) fn results_of(lowered: &Lowered, steps: &[Lazy<AnyValue>]) -> Result<Vec<Lazy<AnyValue>>, Fault> {
    let result = |outcome: &Outcome| match outcome {
        Outcome::Step(at) => Ok(steps[*at].clone()),
        Outcome::Number(number) => Ok(AnyValue::from(tensor_of(number, number.dtype(), &(0..0))?).lazy()),
    };
    lowered.results.iter().map(result).collect()
}

/// Returns a step with the facts that the headers of its inputs determine.
#[track_caller]
pub(super) fn on_headers(
    step: &OrderedStep,
    call: &Call,
    inputs: &[&Lazy<AnyValue>],
    operands: &[Option<&AnyValue>],
    known: &ValueFacts,
) -> Lazy<AnyValue> {
    let headers: Option<Vec<&AnyValue>> = operands.iter().copied().collect();
    let places = CallPositions::default();
    // Labels that are computed are not in a header.
    let bound = headers.filter(|_| matches!(call.named("by"), Arg::Absent | Arg::List(_)));
    let bound = bound.and_then(|headers| Some(Running::new(call, &headers, &places).ok()?.into_call()));
    let fold = bound.as_ref().and_then(fold_of);
    let call = bound.unwrap_or_else(|| call.clone());
    let step_impl = step.on(call, inputs, known, run::step_impl());
    match fold {
        Some(fold) => step_impl.folding(fold),
        None => step_impl,
    }
}

/// Returns the streaming reduction of a call, if the operation supports chunks and the call does not have group labels.
fn fold_of(call: &Call) -> Option<StreamFold> {
    let op = Some(call.op).filter(|op| op.stream != Stream::Whole)?;
    let options = match (call.real("q"), ["ord", "ddof", "even"].map(|option| op.place_of(option).is_some())) {
        (Some(q), _) => StreamOptions::Quantile(q, Quantile::read(call)),
        (None, [true, ..]) => StreamOptions::Norm(Norm::read(call)),
        (None, [_, true, _]) => StreamOptions::Var(Var::read(call)),
        (None, [.., true]) => StreamOptions::Nanmedian(Nanmedian::read(call)),
        (None, _) => StreamOptions::Axes(call.axes()),
    };
    let fold = StreamFold { op, options, is_stored: call.is_stored() };
    fold.options.axes().labels().is_none().then_some(fold)
}
