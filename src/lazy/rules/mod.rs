//! The rules of gradients. A rule reads the call of a step, and builds the calls that compute the gradients of its
//! inputs.

mod first;
mod formulas;
mod second;

use std::sync::Arc;

use self::formulas::Term;
use crate::base::axes::Axes;
use crate::lazy::call::{Arg, Call};
use crate::lazy::node::{Body, Family, Gradients, Node, StepImpl, Work};
use crate::lazy::steps::{is_float, step};
use crate::lazy::value::Kind;
use crate::ops::{OpSpec, Parameter, ParameterKind, op};

/// An operand or an argument of a step that a rule builds.
#[derive(Clone)]
enum RuleArg {
    Whole(Arc<Node>),
    Stored(Arc<Node>),
    Plain(Arg),
    List(Vec<RuleArg>),
}

impl RuleArg {
    /// Returns a node in the form of this operand: as a view of stored entries, or as the value itself.
    fn like(&self, node: Arc<Node>) -> Self {
        if let RuleArg::Stored(_) = self { RuleArg::Stored(node) } else { RuleArg::Whole(node) }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        if let RuleArg::Whole(node) | RuleArg::Stored(node) = self { Some(node) } else { None }
    }

    fn arg(self, inputs: &mut Vec<Arc<Node>>) -> Arg {
        let of = if let RuleArg::Stored(_) = self { Arg::Stored } else { Arg::Input };
        match self {
            RuleArg::Whole(node) | RuleArg::Stored(node) => {
                inputs.push(node);
                of(inputs.len() - 1)
            }
            RuleArg::Plain(arg) => arg,
            RuleArg::List(items) => Arg::List(items.into_iter().map(|item| item.arg(inputs)).collect()),
        }
    }
}

/// Returns the gradients of the inputs of a step, from the upstream gradient. Returns `None` if the step does not have
/// a gradient.
pub(in crate::lazy) fn rule(node: &Arc<Node>, upstream: &Arc<Node>) -> Gradients {
    // A result that is not a float, such as the result of `any`, does not propagate a gradient.
    if upstream.kind.dtype().is_some_and(|dtype| !is_float(dtype)) {
        return None;
    }
    let (number, of) = match (&node.body, &node.inputs[..]) {
        (Body::Part(number), [of]) => part_of(of, *number),
        _ => (None, node),
    };
    let work = of.work()?;
    if let Some(rule) = &work.rule {
        return rule(&of.inputs, upstream);
    }
    let step = ForwardStep { node: of, work, call: &work.call, graph: StepBuilder(work.family) };
    match work.call.op.forward() {
        None if number.is_some() => None,
        None => step.first(upstream),
        Some(forward) => step.second(forward, number, upstream),
    }
}

/// Returns the step that computes a value, and the index of the value among several results.
fn part_of(node: &Arc<Node>, number: usize) -> (Option<usize>, &Arc<Node>) {
    match (&node.body, &node.inputs[..]) {
        (Body::Part(before), [of]) => part_of(of, before + number),
        _ => (Some(number), node),
    }
}

/// Builds steps, with the implementations of the differentiated step, or of the kinds of the operands.
#[derive(Clone, Copy)]
struct StepBuilder(Option<Family>);

impl StepBuilder {
    fn call(self, op: &'static OpSpec, args: impl IntoIterator<Item = RuleArg>) -> Option<Arc<Node>> {
        let mut inputs = Vec::new();
        let args: Vec<Arg> = args.into_iter().map(|arg| arg.arg(&mut inputs)).collect();
        self.step(Call::of(op, args), inputs)
    }

    fn step(self, call: Call, inputs: Vec<Arc<Node>>) -> Option<Arc<Node>> {
        let own = self.0.and_then(|family| family(&call, &inputs));
        let step_impl = own.or_else(|| inputs.iter().find_map(|input| input.kind.kit(&call, &inputs)))?;
        Some(Arc::new(step(call, inputs, StepImpl { family: step_impl.family.or(self.0), ..step_impl })))
    }

    /// Returns a gradient on the pattern of its operand. `gradient` does not have the reduced `axes`, so it is
    /// broadcast over them.
    fn spread(self, x: &RuleArg, gradient: &Arc<Node>, axes: Axes) -> Option<Arc<Node>> {
        let args = [x.clone(), RuleArg::Whole(Arc::clone(gradient)), RuleArg::Plain(Arg::Axes(axes))];
        self.call(&op::any_backward, args)
    }

    /// Returns a gradient on the pattern of its operand. A dynamically typed gradient is also cast to the element type
    /// of the operand.
    fn on_pattern(self, x: &Arc<Node>, gradient: &Arc<Node>) -> Option<Arc<Node>> {
        if x.kind.is_dynamic() {
            return self.call(&op::gradient_of, [x, gradient].map(|node| RuleArg::Whole(Arc::clone(node))));
        }
        self.spread(&RuleArg::Whole(Arc::clone(x)), gradient, Axes::none())
    }

    /// Returns the upstream gradient of a gradient of `x`, only at the stored entries of `x`. The gradient of `x` does
    /// not have entries at other positions, so it does not depend on them. An array stays unchanged.
    fn at_entries(self, x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
        match x.kind.format() {
            "array" => Some(Arc::clone(upstream)),
            _ => self.on_pattern(x, upstream),
        }
    }

    fn term(self, node: &Arc<Node>) -> Term {
        Term { graph: self, node: Some(RuleArg::Whole(Arc::clone(node))) }
    }
}

/// Returns the sum of two gradients.
pub(in crate::lazy) fn sum(left: &Arc<Node>, right: &Arc<Node>) -> Option<Arc<Node>> {
    let family = |node: &Arc<Node>| node.work().and_then(|work| work.family);
    StepBuilder(family(left).or(family(right)))
        .call(&op::add, [RuleArg::Whole(Arc::clone(left)), RuleArg::Whole(Arc::clone(right))])
}

/// Returns the gradient of a value with respect to itself: the upstream gradient on the pattern of the value.
pub(in crate::lazy) fn own(x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
    StepBuilder(None).at_entries(x, upstream)
}

/// Returns the gradient of a value that the result does not depend on: zeros on the pattern of the value.
pub(in crate::lazy) fn zeros(x: &Arc<Node>) -> Option<Arc<Node>> {
    StepBuilder(None).call(&op::zeros_like, [RuleArg::Whole(Arc::clone(x))])
}

/// Returns whether a call reads an input only as data, such as positions. Data do not receive gradients.
pub(in crate::lazy) fn is_parameter(call: &Call, input: usize) -> bool {
    let mut own = call.op.parameters().zip(call.args()).filter(|(_, arg)| arg.inputs().contains(&input));
    own.all(|(parameter, _)| !parameter.is_operand())
}

/// Returns the inputs of a call that receive gradients. The results of a gradient operation are in this order.
pub(in crate::lazy) fn operands(call: &Call) -> Vec<usize> {
    let is_pattern = call.op.is(&op::pattern_sddmm) || call.op.is(&op::pattern_sddmm_backward);
    let is_operand = |own: &Parameter| own.kind == ParameterKind::Operand && !(is_pattern && own.name == "x");
    let own = call.op.parameters().zip(call.args()).filter(|(own, _)| is_operand(own));
    own.flat_map(|(_, arg)| arg.inputs()).collect()
}

/// The step that is differentiated.
struct ForwardStep<'a> {
    node: &'a Arc<Node>,
    work: &'a Work,
    call: &'a Call,
    graph: StepBuilder,
}

impl ForwardStep<'_> {
    fn rule_arg(&self, arg: &Arg) -> RuleArg {
        match arg {
            Arg::Input(number) => RuleArg::Whole(Arc::clone(&self.node.inputs[*number])),
            Arg::Stored(number) => RuleArg::Stored(Arc::clone(&self.node.inputs[*number])),
            Arg::List(items) => RuleArg::List(items.iter().map(|item| self.rule_arg(item)).collect()),
            arg => RuleArg::Plain(arg.clone()),
        }
    }

    fn named(&self, parameter: &str) -> RuleArg {
        let rule_arg = self.rule_arg(self.call.named(parameter));
        match rule_arg {
            // The gradient of an elementwise function is only at entries, so it is the same for a view of stored
            // entries.
            RuleArg::Stored(x) if self.call.op.is_function() => RuleArg::Whole(x),
            rule_arg => rule_arg,
        }
    }

    /// Returns the arguments of an operation: `others`, and the arguments of the step with the same names.
    fn arguments(&self, op: &'static OpSpec, others: &[(&str, RuleArg)]) -> Vec<RuleArg> {
        let of = |parameter: &str| {
            let other = others.iter().find(|(name, _)| *name == parameter);
            other.map_or_else(|| self.named(parameter), |(_, rule_arg)| rule_arg.clone())
        };
        op.names().map(of).collect()
    }

    /// Returns gradients with a gradient for only this input.
    fn to(&self, input: usize, gradient: Option<Arc<Node>>) -> Gradients {
        let mut gradients = self.none();
        gradients[input] = Some(gradient?);
        Some(gradients)
    }

    fn none(&self) -> Vec<Option<Arc<Node>>> {
        self.node.inputs.iter().map(|_| None).collect()
    }
}

/// The format of several results of one kind.
const LIST: &str = "list";

/// Returns one of several results of a step. The result has the shape of `input`, whose gradient it is.
pub(in crate::lazy) fn part(of: &Arc<Node>, number: usize, input: Option<&Arc<Node>>) -> Option<Arc<Node>> {
    let is_list = |kind: &dyn Kind| kind.format() == LIST;
    // The results of the step are one value and a list with all other values.
    if number > 0 && !is_list(of.kind) && of.kind.kind_of_part(1).is_some_and(is_list) {
        return one_of(&one_of(of, 1, None)?, number - 1, input);
    }
    one_of(of, number, input)
}

fn one_of(of: &Arc<Node>, number: usize, input: Option<&Arc<Node>>) -> Option<Arc<Node>> {
    let kind = of.kind.kind_of_part(number)?;
    let shape = input.map_or_else(|| of.shape.clone(), |input| input.shape.clone());
    let mut node = Node::of_kind(kind, of.name, Body::Part(number), shape);
    node.inputs = vec![Arc::clone(of)];
    Some(Arc::new(node))
}
