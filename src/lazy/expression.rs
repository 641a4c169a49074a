//! Graphs of dynamically typed values, built and read by expressions.

use std::sync::Arc;

use super::call::Call;
use super::gradient::all;
use super::node::{Body, Held, Made, Node, Work, known, reachable};
use super::plan::numbered;
use super::shares::Shares;
use super::steps::step;
use super::value::Value;
use super::{Form, Lazy, rules};
use crate::base::error::Error;
use crate::base::shape::Shape;
use crate::dynamic::AnyValue;
use crate::ops::op;

/// Returns an input of a graph. The type and the shape are known when the input is bound.
pub(crate) fn input(name: &str) -> Arc<Node> {
    let body = Body::Input { name: name.into(), lengths: Vec::new() };
    Arc::new(Node::new::<AnyValue>("input", body, None))
}

/// Returns the step of a call on inputs of open shape.
pub(crate) fn called(call: Call, inputs: Vec<Arc<Node>>) -> Arc<Node> {
    Arc::new(step(call, inputs, made()))
}

/// Returns the implementation of all operations on dynamically typed values.
pub(crate) fn made() -> Made {
    Made {
        kind: AnyValue::KIND,
        run: |node, inputs| {
            let inputs: Vec<&AnyValue> = inputs.iter().map(known).collect();
            crate::eval::run_call(node.args(), &inputs).map(|found| Arc::new(found) as Held)
        },
        pieces: None,
        family: None,
    }
}

/// The gradient of a result, or the number and the error of the step without a gradient.
pub(crate) type Found = std::result::Result<Option<Arc<Node>>, (u64, Error)>;

/// Returns the gradient of a result with respect to one of its inputs; `None` if the result does not depend on the
/// input.
pub(crate) fn gradient(result: &Arc<Node>, upstream: &Arc<Node>, by: &Arc<Node>) -> Found {
    if result.id == by.id {
        return Ok(rules::own(by, upstream));
    }
    all(result, upstream, &[by], false).map(|mut found| found.remove(&by.id))
}

/// Returns the gradient with respect to an input that the result does not depend on: zeros.
pub(crate) fn no_gradient(by: &Arc<Node>, zero: super::call::Arg) -> Option<Arc<Node>> {
    let zeros = called(Call::of(&op::number_like, [super::call::Arg::Input(0), zero]), vec![Arc::clone(by)]);
    rules::own(by, &zeros)
}

/// Returns the numbers of all nodes that some nodes need, themselves included.
pub(crate) fn numbers(of: &[Arc<Node>]) -> Vec<u64> {
    reachable(of, |_| false).into_iter().map(|node| node.id).collect()
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
    pub(crate) fn on(&self, call: Call, inputs: &[&Lazy<AnyValue>], facts: Facts) -> Lazy<AnyValue> {
        let inputs: Vec<Arc<Node>> = inputs.iter().map(|input| Arc::clone(&input.node)).collect();
        let shape = match inputs.iter().find_map(|input| input.refusal()) {
            Some(error) => Err(error.clone()),
            None => Ok(facts.shape.filter(|_| inputs.iter().all(|input| input.shape.is_some()))),
        };
        let work = Work {
            run: Arc::new(made().run),
            form: if facts.is_each { Form::Each } else { Form::Own },
            family: None,
            from_pieces: None,
            is_fed: false,
            rule: None,
            // A step without a rule needs its entire inputs.
            shares: Some(facts.shares.unwrap_or_else(|| Arc::new(|_, _| None))),
            call,
        };
        let name = work.call.op.name;
        Lazy::of(Arc::new(work.node(name, AnyValue::KIND, inputs, shape)))
    }
}

/// The facts about the result of a step.
pub(crate) struct Facts {
    pub(crate) shape: Option<Shape>,
    pub(crate) shares: Option<Shares>,
    /// True if the operation is elementwise and returns the common pattern of its inputs.
    pub(crate) is_each: bool,
}
