//! Expressions as graphs of steps, which an engine may compute in chunks.

use super::call::Call;
use super::lower::{Lowered, Outcome};
use super::value::{Placed, Value};
use super::{Fault, cuts, explain, run};
use crate::base::error::Error;
use crate::dynamic::AnyValue;
use crate::lazy::Lazy;
use crate::lazy::call::{Arg, Call as Step};
use crate::lazy::expression::{Facts, OrderedStep};
use crate::ops::op;

/// A value that a name of an expression is bound to, with a header.
///
/// The header is a tensor with the element type, the shape and the fill of the value. The header need not have the
/// entries.
///
/// ```
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::eval::{Bound, Expression};
/// use lacuna::{CooTensor, lazy::Chunks};
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![-3.0], 0.0)?.with_index::<u64>()?;
/// let header = AnyTensor::from(CooTensor::<f64>::full([2], 0.0)?.with_index::<u64>()?);
/// let value = AnyTensor::from(x).lazy(); // or the scan of a file
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

/// Returns the graph of the first result of an expression.
#[track_caller]
pub(super) fn graph(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<Bound>) -> Result<Lazy<AnyValue>, Fault> {
    let known = explain::known(lowered, &|name| bound(name).map(|bound| bound.header))?;
    let mut steps: Vec<Lazy<AnyValue>> = Vec::with_capacity(known.len());
    for (at, step) in lowered.graph.steps.iter().enumerate() {
        let found = match (step.name(), step.call()) {
            (Some(name), _) => bound(name).map(|bound| bound.value),
            (None, Some(call)) => {
                let inputs: Vec<&Lazy<AnyValue>> = step.inputs.iter().map(|&input| &steps[input]).collect();
                let operands: Vec<Option<&AnyValue>> = step.inputs.iter().map(|&input| known[input].as_ref()).collect();
                Some(on_headers(step, call, &inputs, &operands, known[at].as_ref()))
            }
            (None, None) => None,
        };
        steps.push(found.ok_or(Fault::Run(Error::NoTensor))?);
    }
    match lowered.results.first() {
        Some(Outcome::Step(at)) => Ok(steps.swap_remove(*at)),
        Some(Outcome::Number(number)) => {
            let number = run::tensor_of(number, number.dtype(), &(0..0))?;
            Ok(AnyValue::from(number).lazy())
        }
        None => Err(Fault::Run(Error::NoTensor)),
    }
}

/// Returns a step with the facts that the headers of its inputs determine.
#[track_caller]
fn on_headers(
    step: &OrderedStep,
    call: &Step,
    inputs: &[&Lazy<AnyValue>],
    operands: &[Option<&AnyValue>],
    known: Option<&AnyValue>,
) -> Lazy<AnyValue> {
    let parameters = parameters(call);
    // The arguments, as far as the headers determine them.
    let values: Option<Vec<&AnyValue>> = operands.iter().copied().collect();
    let on_values = values.and_then(|values| {
        let value = |(at, arg)| run::value_of(arg, &values, &(0..0)).map(|value| value.map(|value| (at, value)));
        let values = call.args().iter().enumerate().map(value).collect::<Result<Vec<_>, Fault>>().ok()?;
        let placed = |value: Option<(usize, Value)>| value.map(|(_, value)| Placed { value, at: 0..0 });
        Some(Call { name: call.op.name, at: 0..0, values: values.into_iter().map(placed).collect() })
    });
    let shape = known.map(|known| known.shape()).or_else(|| cuts::shape_of(on_values.as_ref()?));
    let is_each = !parameters.is_empty() && cuts::is_each(call.op, &parameters);
    let shares = on_values.as_ref().filter(|_| shape.is_some()).and_then(|call| cuts::of_call(call, &parameters));
    let call = sliced(call, on_values.as_ref()).unwrap_or_else(|| call.clone());
    let made = step.on(call, inputs, Facts { shape, shares, is_each }, run::made());
    match on_values.and_then(|call| cuts::fold(&call)) {
        Some(fold) => made.folding(fold),
        None => made,
    }
}

/// Returns the call of a slice with explicit positions, which depend on the header of the operand.
fn sliced(call: &Step, on_values: Option<&Call>) -> Option<Step> {
    let on_values = on_values.filter(|_| call.op.is(&op::slice) && !call.is_stored())?;
    let slices = on_values.slices(1, on_values.moving(0).ok()?).ok()?;
    Some(call.with("slices", Arg::Slices(slices.into())))
}

/// Returns the index of the parameter of each input of a call.
fn parameters(call: &Step) -> Vec<usize> {
    let inputs = |(at, arg): (usize, &Arg)| Step::of(call.op, [arg.clone()]).inputs().into_iter().map(move |_| at);
    call.args().iter().enumerate().flat_map(inputs).collect()
}
