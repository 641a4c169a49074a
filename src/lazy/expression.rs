//! Graphs of dynamically typed values, built and read by expressions.

use std::sync::Arc;

use super::any::AnyKind;
use super::call::{Arg, Call};
pub(crate) use super::engine::is_of_a_step;
use super::gradient::{MissingGradient, all};
use super::node::{Body, ChunkedInput, Form, Work, downcast_owned, reachable};
pub(crate) use super::node::{ErasedValue, Facts, Node, StepImpl, downcast};
use super::plan::{Plan, numbered};
use super::steps::step;
use super::{Lazy, lengths, rules};
use crate::base::shape::Shape;
use crate::dynamic::{AnyValue, StreamFold, StreamInput};
use crate::ops::{Split, op};
use crate::plan::reduction::Reduction;

/// Returns an input of a graph. The type and shape of the input are known when it is bound.
pub(crate) fn input(name: &str, kind: &'static AnyKind) -> Arc<Node> {
    let body = Body::Input { name: name.into(), lengths: Vec::new() };
    Arc::new(Node::of_kind(kind, "input", body, None))
}

/// Returns the step of a call on inputs of open shape.
pub(crate) fn called(call: Call, inputs: Vec<Arc<Node>>, step_impl: StepImpl) -> Arc<Node> {
    Arc::new(step(call, inputs, step_impl))
}

impl Lazy<AnyValue> {
    /// Returns this step with a streaming reduction, for an operand that arrives in chunks. No other graph may share
    /// the step yet. An array arrives in chunks only if the chunks may arrive in any order.
    pub(crate) fn folding(self, fold: StreamFold) -> Self {
        let operand = self.node.inputs.first().and_then(|operand| operand.shape.as_ref());
        let reduction = operand.and_then(|shape| Reduction::new(shape, fold.options.axes()).ok());
        // If the result has one element, every chunk belongs to this element, for any order of the axes.
        let may_take_chunks =
            |reduction: Reduction| reduction.takes_chunks() || reduction.result_shape().wide_size() == 1;
        let takes_chunks = reduction.is_some_and(may_take_chunks);
        self.with_work(|work| {
            work.takes_chunks = takes_chunks;
            work.reduce_chunks = Some(Arc::new(move |_, feed| {
                let pattern = feed.pattern.downcast_ref()?;
                let parts =
                    |entries, take: &mut dyn FnMut(&AnyValue)| (feed.run)(entries, &mut |part| take(downcast(part)));
                let ChunkedInput { is_streamed, max_bytes, picoseconds, .. } = *feed;
                let streamed = StreamInput {
                    pattern,
                    none: downcast(feed.none),
                    parts: &parts,
                    is_streamed,
                    max_bytes,
                    picoseconds,
                };
                Some(fold.run(streamed).map(|found| Arc::new(found) as ErasedValue))
            }));
        })
    }
}

/// Computes the value of a step from the values of its inputs.
type Run = fn(&Node, &[ErasedValue]) -> crate::base::error::Result<ErasedValue>;

/// Returns the implementation of a step from a function of its inputs.
pub(crate) fn step_impl(kind: &'static AnyKind, run: Run) -> StepImpl {
    StepImpl::new(kind, run)
}

/// The gradient of a result, or the step without a gradient.
pub(crate) type Found = Result<Option<Arc<Node>>, Box<MissingGradient>>;

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
pub(crate) fn no_gradient(by: &Arc<Node>, step_impl: StepImpl) -> Option<Arc<Node>> {
    let zero = by.kind.element(0.0)?;
    let zeros = called(Call::of(&op::number_like, [Arg::Input(0), zero]), vec![Arc::clone(by)], step_impl);
    rules::own(by, &zeros)
}

/// Returns the numbers of all nodes that a node needs, except the nodes that `is_known` accepts and all nodes that only
/// these nodes need.
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
        f.write_str(&self.node.description())
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

    /// Returns this input as a node of a graph that is explained and not run.
    pub(crate) fn as_input(&self, value_facts: &ValueFacts) -> Lazy<AnyValue> {
        let mut node = self.node.again(Vec::new(), value_facts.shape.clone());
        node.facts = value_facts.facts;
        Lazy::of(Arc::new(node))
    }

    /// Returns this step with other inputs. `value_facts` are the facts about the result that the headers of the inputs
    /// determine.
    #[track_caller]
    pub(crate) fn on(
        &self,
        call: Call,
        inputs: &[&Lazy<AnyValue>],
        value_facts: &ValueFacts,
        step_impl: StepImpl,
    ) -> Lazy<AnyValue> {
        let inputs: Vec<Arc<Node>> = inputs.iter().map(|input| Arc::clone(&input.node)).collect();
        let shapes: Option<Vec<&Shape>> = inputs.iter().map(|input| input.shape.as_ref()).collect();
        let shape = match inputs.iter().find_map(|input| input.rejection()) {
            Some(error) => Err(error.clone()),
            // The step itself reports incompatible shapes.
            None => Ok(shapes.and_then(|shapes| {
                value_facts.shape.clone().or_else(|| lengths::of_call(&call, &shapes).ok().flatten())
            })),
        };
        let are_operands = call.are_operands();
        let is_each = call.op.split == Split::Each && call.op.keeps_pattern && are_operands.iter().all(|is| *is);
        let form = if is_each && !are_operands.is_empty() { Form::Each } else { Form::Own };
        let work = Work::new(form, call, Arc::new(step_impl.run));
        let name = work.call.op.name;
        let mut node = work.node(name, step_impl.kind, inputs, shape);
        node.facts = value_facts.facts;
        Lazy::of(Arc::new(node))
    }
}

/// The facts about a value that types, shapes and fills determine.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueFacts {
    pub(crate) shape: Option<Shape>,
    pub(crate) facts: Option<Facts>,
}

/// Computes the values of a graph on the threads of this machine, from the rewritten graph.
pub(crate) fn values(results: &[Lazy<AnyValue>]) -> crate::base::error::Result<Vec<AnyValue>> {
    let plan = Plan::rewritten(&nodes(results))?;
    Ok(plan.run(plan.bound(Vec::new())?)?.into_iter().map(downcast_owned).collect())
}

/// Returns the steps of a graph, and how they run, as text.
pub(crate) fn explain(results: &[Lazy<AnyValue>]) -> crate::base::error::Result<String> {
    Ok(Plan::rewritten(&nodes(results))?.explain())
}

fn nodes(results: &[Lazy<AnyValue>]) -> Vec<Arc<Node>> {
    results.iter().map(|result| Arc::clone(&result.node)).collect()
}
