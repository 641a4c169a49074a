//! Graphs of dynamically typed values, built and read by expressions.

use std::sync::Arc;

use super::any::OfAny;
use super::call::{Arg, Call};
use super::gradient::{Refusal, all};
use super::node::{Body, Form, Work, reachable};
pub(crate) use super::node::{Held, Made, Node, known};
use super::plan::numbered;
use super::shares::Shares;
use super::steps::step;
use super::{Lazy, rules};
use crate::base::shape::Shape;
use crate::dynamic::AnyValue;
use crate::ops::op;

/// Returns an input of a graph. Its type and shape are known when it is bound.
pub(crate) fn input(name: &str, kind: &'static OfAny) -> Arc<Node> {
    let body = Body::Input { name: name.into(), lengths: Vec::new() };
    Arc::new(Node::of_kind(kind, "input", body, None))
}

/// Returns the step of a call on inputs of open shape.
pub(crate) fn called(call: Call, inputs: Vec<Arc<Node>>, made: Made) -> Arc<Node> {
    Arc::new(step(call, inputs, made))
}

/// Computes the value of a step from the values of its inputs.
type Run = fn(&Node, &[Held]) -> crate::base::error::Result<Held>;

/// Returns the implementation of a step from a function of its inputs.
pub(crate) fn made(kind: &'static OfAny, run: Run) -> Made {
    Made { kind, run, pieces: None, accumulator: None, family: None }
}

/// The gradient of a result, or the step that has none.
pub(crate) type Found = Result<Option<Arc<Node>>, Box<Refusal>>;

/// Returns the gradient of a result by one of its inputs; `None` if the result does not depend on the input. `found` is
/// called with each step and the gradient of each of its inputs.
pub(crate) fn gradient(
    result: &Arc<Node>,
    upstream: &Arc<Node>,
    by: &Arc<Node>,
    found: &mut dyn FnMut(&Arc<Node>, &Arc<Node>),
) -> Found {
    if result.id == by.id {
        return Ok(rules::own(by, upstream));
    }
    all(result, upstream, &[by], false, found).map(|mut found| found.remove(&by.id))
}

/// Returns zeros as the gradient by an input.
pub(crate) fn no_gradient(by: &Arc<Node>, made: Made) -> Option<Arc<Node>> {
    let zero = by.kind.element(0.0)?;
    let zeros = called(Call::of(&op::number_like, [Arg::Input(0), zero]), vec![Arc::clone(by)], made);
    rules::own(by, &zeros)
}

/// Returns the numbers of all nodes that a node needs, but for those that `is_known` accepts and all before these.
pub(crate) fn numbers(of: &Arc<Node>, is_known: &dyn Fn(u64) -> bool) -> Vec<u64> {
    let found = reachable(std::slice::from_ref(of), |node| is_known(node.id));
    found.into_iter().map(|node| node.id).filter(|&number| !is_known(number)).collect()
}

/// Returns the number of a node, which is larger than the numbers of its inputs.
pub(crate) fn number(node: &Node) -> u64 {
    node.id
}

/// The nodes that some results need, with inputs before results. Common subexpressions are one node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ordered {
    pub(crate) steps: Vec<OrderedStep>,
    pub(crate) results: Vec<usize>,
}

/// A node, and the indices of its inputs among the earlier nodes.
#[derive(Clone)]
pub(crate) struct OrderedStep {
    node: Arc<Node>,
    pub(crate) inputs: Vec<usize>,
}

impl std::fmt::Debug for OrderedStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.node.told())
    }
}

impl Ordered {
    pub(crate) fn new(results: &[Arc<Node>]) -> Self {
        let (steps, slots) = numbered(reachable(results, Node::is_kept));
        let steps = steps.into_iter().map(|step| OrderedStep { node: step.node, inputs: step.inputs }).collect();
        Ordered { steps, results: results.iter().map(|node| slots[&node.id]).collect() }
    }
}

impl OrderedStep {
    pub(crate) fn number(&self) -> u64 {
        self.node.id
    }

    /// Returns the name of the input, if the node is an input.
    pub(crate) fn name(&self) -> Option<&str> {
        if let Body::Input { name, .. } = &self.node.body { Some(name) } else { None }
    }

    /// Returns the call, if the node is the result of a call.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.node.call()
    }

    /// Returns this step with other inputs, and with the facts that the headers of the inputs determine.
    #[track_caller]
    pub(crate) fn on(&self, call: Call, inputs: &[&Lazy<AnyValue>], facts: Facts, made: Made) -> Lazy<AnyValue> {
        let inputs: Vec<Arc<Node>> = inputs.iter().map(|input| Arc::clone(&input.node)).collect();
        let shape = match inputs.iter().find_map(|input| input.refusal()) {
            Some(error) => Err(error.clone()),
            None => Ok(facts.shape.filter(|_| inputs.iter().all(|input| input.shape.is_some()))),
        };
        let work = Work {
            run: Arc::new(made.run),
            form: if facts.is_each { Form::Each } else { Form::Own },
            family: None,
            from_pieces: None,
            accumulator: None,
            is_fed: false,
            rule: None,
            // A step without a rule needs its entire inputs.
            shares: Some(facts.shares.unwrap_or_else(|| Arc::new(|_, _| None))),
            call,
        };
        let name = work.call.op.name;
        Lazy::of(Arc::new(work.node(name, made.kind, inputs, shape)))
    }
}

/// The facts about the result of a step.
pub(crate) struct Facts {
    pub(crate) shape: Option<Shape>,
    pub(crate) shares: Option<Shares>,
    /// True if the operation is elementwise and returns the common pattern of its inputs.
    pub(crate) is_each: bool,
}
