//! The rules of gradients. A rule reads the call of a step, and builds the calls that compute the gradients of its
//! inputs.

use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

use super::call::{Arg, Call};
use super::gradient::all;
use super::node::{Body, Family, Gradients, Made, Node, Work};
use super::steps::step;
use super::value::Kind;
use crate::base::axes::{Axes, normalize_axis};
use crate::element::{DType, Number};
use crate::ops::{Gradient, Lengths, OpSpec, Second, op};
use crate::plan::reduction::Reduction;

/// An operand or an argument of a step that a rule builds.
#[derive(Clone)]
enum Given {
    Whole(Arc<Node>),
    Stored(Arc<Node>),
    Plain(Arg),
    List(Vec<Given>),
}

impl Given {
    /// Returns a node in the form of this operand: as a view of stored entries, or as the value itself.
    fn like(&self, node: Arc<Node>) -> Self {
        if let Given::Stored(_) = self { Given::Stored(node) } else { Given::Whole(node) }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        if let Given::Whole(node) | Given::Stored(node) = self { Some(node) } else { None }
    }

    fn arg(self, inputs: &mut Vec<Arc<Node>>) -> Arg {
        match self {
            Given::Whole(node) => {
                inputs.push(node);
                Arg::Input(inputs.len() - 1)
            }
            Given::Stored(node) => {
                inputs.push(node);
                Arg::Stored(inputs.len() - 1)
            }
            Given::Plain(arg) => arg,
            Given::List(items) => Arg::List(items.into_iter().map(|item| item.arg(inputs)).collect()),
        }
    }
}

/// Returns the gradients of the inputs of a step, from the upstream gradient. Returns `None` if the step does not have
/// a gradient.
pub(super) fn rule(node: &Arc<Node>, upstream: &Arc<Node>) -> Gradients {
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
    let step = Step { node: of, work, call: &work.call, graph: Graph(work.family) };
    match work.call.op.forward() {
        None if number.is_some() => None,
        None => step.first(upstream),
        Some(forward) => step.second(forward, number, upstream),
    }
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
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
struct Graph(Option<Family>);

impl Graph {
    fn call(self, op: &'static OpSpec, given: impl IntoIterator<Item = Given>) -> Option<Arc<Node>> {
        let mut inputs = Vec::new();
        let args: Vec<Arg> = given.into_iter().map(|given| given.arg(&mut inputs)).collect();
        self.step(Call::of(op, args), inputs)
    }

    fn step(self, call: Call, inputs: Vec<Arc<Node>>) -> Option<Arc<Node>> {
        let own = self.0.and_then(|family| family(&call, &inputs));
        let made = own.or_else(|| inputs.iter().find_map(|input| input.kind.kit(&call, &inputs)))?;
        Some(Arc::new(step(call, inputs, Made { family: made.family.or(self.0), ..made })))
    }

    /// Returns a gradient on the pattern of its operand. `gradient` does not have the reduced `axes`, so it is
    /// broadcast over them.
    fn spread(self, x: &Given, gradient: &Arc<Node>, axes: Axes) -> Option<Arc<Node>> {
        let args = [x.clone(), Given::Whole(Arc::clone(gradient)), Given::Plain(Arg::Axes(axes))];
        self.call(&op::any_backward, args)
    }

    /// Returns a gradient on the pattern of its operand. A dynamically typed gradient is also cast to the element type
    /// of the operand.
    fn on_pattern(self, x: &Arc<Node>, gradient: &Arc<Node>) -> Option<Arc<Node>> {
        if x.kind.is_dynamic() {
            return self.call(&op::gradient_of, [x, gradient].map(|node| Given::Whole(Arc::clone(node))));
        }
        self.spread(&Given::Whole(Arc::clone(x)), gradient, Axes::none())
    }

    /// Returns the upstream gradient of a gradient of `x`, only at the stored entries of `x`. The gradient does not
    /// depend on other positions, because it stores nothing there. An array stays unchanged.
    fn at_entries(self, x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
        match x.kind.format() {
            "array" => Some(Arc::clone(upstream)),
            _ => self.on_pattern(x, upstream),
        }
    }

    fn term(self, node: &Arc<Node>) -> Term {
        Term { graph: self, node: Some(Given::Whole(Arc::clone(node))) }
    }
}

/// Returns the sum of two gradients.
pub(super) fn sum(left: &Arc<Node>, right: &Arc<Node>) -> Option<Arc<Node>> {
    let family = |node: &Arc<Node>| node.work().and_then(|work| work.family);
    Graph(family(left).or(family(right)))
        .call(&op::add, [Given::Whole(Arc::clone(left)), Given::Whole(Arc::clone(right))])
}

/// Returns the gradient of a value with respect to itself: the upstream gradient on the pattern of the value.
pub(super) fn own(x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
    Graph(None).at_entries(x, upstream)
}

/// Returns the gradient of a value that the result does not depend on: zeros on the pattern of the value.
pub(super) fn zeros(x: &Arc<Node>) -> Option<Arc<Node>> {
    Graph(None).call(&op::zeros_like, [Given::Whole(Arc::clone(x))])
}

/// The parameters that receive gradients.
const OPERANDS: &[&str] = &["x", "y", "yes", "no", "l", "r", "matrix", "vector", "factors", "tensors"];

/// The parameters that select which elements receive a gradient. They receive nothing, and this is not an error.
const CHOICES: &[&str] = &["x", "condition", "mask", "like", "upstream"];

/// Returns whether a call reads an input only as a parameter, such as positions. No gradient goes through a parameter.
pub(super) fn is_parameter(call: &Call, input: usize) -> bool {
    let reads = |arg: &Arg| Call::of(call.op, [arg.clone()]).inputs().contains(&input);
    let own = call.op.names().zip(call.args()).filter(|(_, arg)| reads(arg));
    own.into_iter().all(|(parameter, _)| !OPERANDS.contains(&parameter) && !CHOICES.contains(&parameter))
}

/// Returns the inputs of a call that receive gradients. The results of a gradient operation are in this order.
pub(super) fn operands(call: &Call) -> Vec<usize> {
    let is_pattern = call.op.place_of("l").is_some() && call.op.forward().unwrap_or(call.op).lengths() == Lengths::Dots;
    let is_pattern = is_pattern && call.op.name.starts_with("pattern");
    let is_operand = |parameter: &str| OPERANDS.contains(&parameter) && !(is_pattern && parameter == "x");
    let own = call.op.names().zip(call.args()).filter(|(parameter, _)| is_operand(parameter));
    own.flat_map(|(_, arg)| Call::of(call.op, [arg.clone()]).inputs()).collect()
}

/// The step that is differentiated.
struct Step<'a> {
    node: &'a Arc<Node>,
    work: &'a Work,
    call: &'a Call,
    graph: Graph,
}

impl Step<'_> {
    fn given(&self, arg: &Arg) -> Given {
        match arg {
            Arg::Input(number) => Given::Whole(Arc::clone(&self.node.inputs[*number])),
            Arg::Stored(number) => Given::Stored(Arc::clone(&self.node.inputs[*number])),
            Arg::List(items) => Given::List(items.iter().map(|item| self.given(item)).collect()),
            arg => Given::Plain(arg.clone()),
        }
    }

    fn named(&self, parameter: &str) -> Given {
        let given = self.given(self.call.named(parameter));
        match given {
            // The gradient of an elementwise function is only at entries, so it is the same for a view of stored
            // entries.
            Given::Stored(x) if self.call.op.is_function() => Given::Whole(x),
            given => given,
        }
    }

    /// Returns the arguments of an operation: `others`, and the arguments of the step with the same names.
    fn arguments(&self, op: &'static OpSpec, others: &[(&str, Given)]) -> Vec<Given> {
        let of = |parameter: &str| {
            let other = others.iter().find(|(name, _)| *name == parameter);
            other.map_or_else(|| self.named(parameter), |(_, given)| given.clone())
        };
        op.names().map(of).collect()
    }

    /// Returns gradients with a gradient for only this input.
    fn to(&self, input: usize, gradient: Option<Arc<Node>>) -> Gradients {
        let mut given = self.none();
        given[input] = Some(gradient?);
        Some(given)
    }

    fn none(&self) -> Vec<Option<Arc<Node>>> {
        self.node.inputs.iter().map(|_| None).collect()
    }

    /// Returns the gradients of an operation, by the rule in its row.
    fn first(&self, upstream: &Arc<Node>) -> Gradients {
        let (g, graph) = (|| Given::Whole(Arc::clone(upstream)), self.graph);
        let x = self.call.arg(0).input().map(|at| Arc::clone(&self.node.inputs[at]));
        let back = match self.call.op.gradient() {
            Gradient::None => return None,
            Gradient::Zero => return Some(self.none()),
            Gradient::Backward(back) => return self.backward(back, upstream),
            // The result is the gradient at the entries of `x`, so other positions do not pass a gradient.
            Gradient::Upstream => {
                let of = self.call.arg(1).input()?;
                let own = graph.on_pattern(x.as_ref()?, upstream)?;
                return self.to(of, graph.on_pattern(&self.node.inputs[of], &own));
            }
            Gradient::Products => return self.products(upstream),
            Gradient::Scaled => return self.scaled(upstream),
            // Each entry keeps its value, so it receives its own upstream gradient.
            Gradient::Entries => self.in_format(x.as_ref()?, upstream)?,
            // A cast keeps each element, so the upstream gradient is cast back.
            Gradient::Cast => match x.as_ref()?.kind.dtype() {
                Some(dtype) => graph.call(&op::cast, [g(), Given::Plain(Arg::Word(dtype.name()))])?,
                None => Arc::clone(upstream),
            },
            // A reshape keeps the order of the elements, so the upstream gradient is reshaped back.
            Gradient::Reshaped => graph.call(&op::reshape_as, [g(), Given::Whole(Arc::clone(x.as_ref()?))])?,
            // The operand is a diagonal of the result, so it receives that diagonal of the upstream gradient.
            Gradient::Diagonal => graph.call(&op::diagonal, [g(), self.named("offset")])?,
        };
        self.to(self.call.arg(0).input()?, graph.on_pattern(&x?, &back))
    }

    /// Returns a gradient in the format of an operand.
    fn in_format(&self, x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
        let g = Given::Whole(Arc::clone(upstream));
        match (x.kind.format(), upstream.kind.format()) {
            ("coo", "csr") => self.graph.call(&op::to_coo, [g]),
            ("csr", "coo") => self.graph.call(&op::to_csr, [g]),
            _ => Some(Arc::clone(upstream)),
        }
    }

    /// Returns the gradients that a separate operation computes, such as `sum_backward` for `sum`.
    ///
    /// The operation receives the arguments of the step and the upstream gradient. If several operands have gradients,
    /// `wrt` selects one of them.
    fn backward(&self, back: &'static OpSpec, upstream: &Arc<Node>) -> Gradients {
        let upstream = ("upstream", Given::Whole(Arc::clone(upstream)));
        let inputs = operands(self.call);
        if back.place_of("wrt").is_none() {
            return self.to(*inputs.first()?, self.graph.call(back, self.arguments(back, &[upstream])));
        }
        let wrt = |number: usize| ("wrt", Given::Plain(Arg::Integer(number as i128)));
        if let Lengths::Joined | Lengths::Stacked = self.call.op.lengths() {
            return self.joined(back, upstream.1);
        }
        let is_operand = |parameter: &&str| matches!(*parameter, "x" | "y" | "yes" | "no");
        let mut own = self.call.op.names().filter(is_operand).map(|name| self.call.named(name).input());
        // A number does not receive a gradient, so only the other operand does.
        if let Some(number) = own.clone().position(|input| input.is_some()).filter(|_| own.any(|input| input.is_none()))
        {
            let found = self.graph.call(back, self.arguments(back, &[upstream, wrt(number)]));
            return self.to(*inputs.first()?, found);
        }
        let mut given = self.none();
        if self.node.kind.is_dynamic() {
            // A dynamically typed operation returns one gradient.
            for (number, input) in inputs.into_iter().enumerate() {
                let args = self.arguments(back, &[upstream.clone(), wrt(number)]);
                given[input] = Some(self.graph.call(back, args)?);
            }
            return Some(given);
        }
        let both = self.graph.call(back, self.arguments(back, &[upstream]))?;
        for (number, input) in inputs.into_iter().enumerate() {
            given[input] = Some(part(&both, number, Some(&self.node.inputs[input]))?);
        }
        Some(given)
    }

    /// Returns the gradients of a concatenation. The operands are consecutive parts of the result, so each operand
    /// receives its part of the upstream gradient.
    fn joined(&self, back: &'static OpSpec, upstream: Given) -> Gradients {
        let mut given = Vec::with_capacity(self.node.inputs.len());
        for number in 0..self.node.inputs.len() {
            // The operand is the first input, because its gradient has the pattern of the first input.
            let mut inputs = vec![Arc::clone(&self.node.inputs[number])];
            let mut item = |at: usize| {
                inputs.extend((at != number).then(|| Arc::clone(&self.node.inputs[at])));
                Arg::Input(if at == number { 0 } else { inputs.len() - 1 })
            };
            let tensors = Arg::List((0..self.node.inputs.len()).map(&mut item).collect());
            let upstream = upstream.clone().arg(&mut inputs);
            let args = [tensors, upstream, self.call.named("axis").clone(), Arg::Integer(number as i128)];
            given.push(Some(self.graph.step(Call::of(back, args), inputs)?));
        }
        Some(given)
    }

    /// Returns the gradients of a matrix product of stored entries, with or without a mask.
    ///
    /// Each operand receives the product of the upstream gradient with the other operand. Only the semiring
    /// `plus_times` has gradients.
    fn products(&self, upstream: &Arc<Node>) -> Gradients {
        let semiring = self.call.named("semiring");
        let is_sum = matches!(semiring, Arg::Absent) || self.call.said_of("semiring") == Some("\"plus_times\"".into());
        if !is_sum {
            return None;
        }
        // A masked product is computed only at its own entries, so the upstream gradient counts only there.
        let upstream = match self.call.named("mask") {
            Arg::Absent => Arc::clone(upstream),
            _ => self.graph.on_pattern(self.node, upstream)?,
        };
        let (x, y) = (self.named("x"), self.named("y"));
        let stored = |given: &Given| match given.node() {
            Some(node) if node.kind.format() != "array" => Given::Stored(Arc::clone(node)),
            _ => given.clone(),
        };
        let hint = Given::Plain(Arg::Hint(Box::new(semiring.clone())));
        let back = |wrt: Arg| {
            let args = [stored(&x), stored(&y), Given::Whole(Arc::clone(&upstream)), Given::Plain(wrt), hint.clone()];
            self.graph.call(&op::matmul_backward, args)
        };
        let both = if self.node.kind.is_dynamic() { None } else { Some(back(Arg::Absent)?) };
        let mut given = self.none();
        for (number, parameter) in ["x", "y"].into_iter().enumerate() {
            let input = self.call.named(parameter).input()?;
            given[input] = Some(match &both {
                Some(both) => part(both, number, Some(&self.node.inputs[input]))?,
                // A dynamically typed operation returns one gradient.
                None => back(Arg::Integer(number as i128))?,
            });
        }
        Some(given)
    }

    /// Returns the gradients of a product with one factor per position of an axis.
    ///
    /// The tensor receives the upstream gradient times the factors. A factor receives the sum of the upstream gradient
    /// times the elements that it scales.
    fn scaled(&self, upstream: &Arc<Node>) -> Gradients {
        let (graph, x, factors) = (self.graph, self.named("x"), self.named("factors"));
        let (of, g) = match &x {
            // A view ignores unstored positions, so the fill does not contribute to the sums.
            Given::Stored(x) => {
                let own = graph.on_pattern(x, x)?;
                let g = graph.on_pattern(&own, upstream)?;
                (own, g)
            }
            x => (Arc::clone(x.node()?), Arc::clone(upstream)),
        };
        let (Some(rank), false) = (of.shape.as_ref().map(|shape| shape.rank()), of.kind.is_dynamic()) else {
            return self.backward(&op::scale_backward, upstream);
        };
        let axis = normalize_axis(self.call.position("axis", 0) as i128, rank).ok()?;
        let wide = match factors.node()?.kind.format() {
            "array" => Arc::clone(factors.node()?),
            _ => graph.call(&op::dense, [factors.clone()])?,
        };
        let behind = Arg::Axes(Axes::from((1..rank - axis).collect::<Vec<_>>()));
        let wide = graph.call(&op::expand_dims, [Given::Whole(wide), Given::Plain(behind)])?;
        let dx = graph.term(&graph.on_pattern(&of, &g)?).mul_nonzero(&graph.term(&wide)).done()?;
        let others = Axes::from((0..rank).filter(|&other| other != axis).collect::<Vec<_>>());
        let products = graph.term(&g).mul_nonzero(&graph.term(&of));
        let sums = graph.call(&op::sum, [products.node?, Given::Plain(Arg::Axes(others))])?;
        let mut given = self.none();
        given[self.call.arg(0).input()?] = Some(dx);
        given[self.call.named("factors").input()?] = Some(graph.on_pattern(factors.node()?, &sums)?);
        Some(given)
    }

    /// Returns the gradients of a gradient operation. `number` is the index of the operand whose gradient the operation
    /// computes, and `came` is the upstream gradient.
    fn second(&self, forward: &'static OpSpec, number: Option<usize>, came: &Arc<Node>) -> Gradients {
        // One of several results has a number, and a call that returns one gradient names the operand.
        let number = number.or_else(|| self.call.wrt()).unwrap_or(0);
        let upstream = self.call.named("upstream").input();
        let graph = self.graph;
        let found = match self.call.op.second {
            Second::Formula => return self.through_formula(forward, number, came),
            Second::Product => return self.product(forward, number, came),
            // A number does not receive a gradient.
            _ if upstream.is_none() => return Some(self.none()),
            // The transpose of a linear gradient is the operation itself. The surrogate gradient of `any` is the
            // gradient of a sum.
            Second::Linear => {
                let x = self.named("x");
                let own = graph.at_entries(x.node()?, came)?;
                let (op, own) = match forward.is(&op::any) {
                    true => (&op::sum, Given::Whole(own)),
                    false => (forward, x.like(own)),
                };
                graph.call(op, self.arguments(op, &[("x", own)]))?
            }
            // The gradient multiplies by a piecewise constant factor, so the incoming gradient is multiplied by the
            // same factor. The derivative of the factor is 0, so the operand receives nothing.
            Second::Again => {
                let came = ("upstream", Given::Whole(Arc::clone(came)));
                graph.call(self.call.op, self.arguments(self.call.op, &[came]))?
            }
            // Each element receives the upstream gradient times a weight. The upstream gradient therefore receives the
            // weighted sum of the incoming gradient.
            Second::Shares => {
                let own = graph.at_entries(self.named("x").node()?, came)?;
                let ones = (graph.zeros(&self.node.inputs[upstream?]) + 1.0).done()?;
                let args = self.arguments(self.call.op, &[("upstream", Given::Whole(ones))]);
                let shares = graph.term(&graph.call(self.call.op, args)?);
                // An element without a weight contributes nothing, even if the incoming gradient is NaN.
                let products = shares.mul_nonzero(&graph.term(&own)).node?;
                graph.call(&op::sum, self.arguments(&op::sum, &[("x", products)]))?
            }
        };
        self.to(upstream?, graph.on_pattern(&self.node.inputs[upstream?], &found))
    }

    /// Returns the gradients of a gradient of an operation that is linear in each operand.
    ///
    /// The incoming gradient replaces the operand with index `number` in the operation. The upstream gradient receives
    /// the result, and the other operands receive their gradients of this result. The rule is exact, because the
    /// operation is linear in the replaced operand.
    fn product(&self, forward: &'static OpSpec, number: usize, came: &Arc<Node>) -> Gradients {
        let own = operands(self.call);
        let place = *own.get(number)?;
        let mut node = self.node.again(self.node.inputs.clone(), None);
        node.inputs[place] = self.graph.at_entries(&self.node.inputs[place], came)?;
        let node = Arc::new(node);
        let replaced = Step { node: &node, work: self.work, call: self.call, graph: self.graph };
        // The operand is replaced by its position, because the same value may also be another operand.
        let mut args: Vec<Given> = replaced.arguments(forward, &[]);
        let mut forward = if forward.is(&op::mul) { &op::mul_nonzero } else { forward };
        if let Some(semiring) = self.call.hint() {
            // The product reads only stored entries.
            forward = &op::matmul_with;
            args = args.into_iter().filter_map(|arg| arg.node().cloned().map(Given::Whole)).collect();
            args.push(Given::Plain(semiring.clone()));
        }
        let result = self.graph.call(forward, args)?;
        let upstream = self.call.named("upstream").input()?;
        let g = &self.node.inputs[upstream];
        let work = result.work()?;
        let of = Step { node: &result, work, call: &work.call, graph: Graph(work.family) };
        let mut found = of.first(g)?;
        let mut given = self.none();
        for (&to, from) in own.iter().zip(operands(&work.call)) {
            given[to] = if to == place { None } else { found[from].take() };
        }
        given[upstream] = Some(self.graph.on_pattern(g, &result)?);
        Some(given)
    }

    /// Returns the gradients of a gradient operation, by differentiating the formula of the gradient.
    fn through_formula(&self, forward: &'static OpSpec, number: usize, came: &Arc<Node>) -> Gradients {
        let kinds: Vec<bool> = self.node.inputs.iter().map(|input| input.kind.format() == "array").collect();
        let is_mixed = kinds[..kinds.len().saturating_sub(1)].windows(2).any(|two| two[0] != two[1]);
        if is_mixed && forward.is(&op::mul) {
            return self.product(forward, number, came);
        }
        // A number beside an operand is no input.
        let two =
            [("y", ["x", "y"]), ("no", ["yes", "no"])].into_iter().find(|(two, _)| forward.place_of(two).is_some());
        let place = match two {
            Some((_, two)) => self.call.named(two.get(number)?).input()?,
            None => *operands(self.call).get(number)?,
        };
        let formula = self.formula(forward, number)?;
        let mut upstream = self.graph.at_entries(&self.node.inputs[place], came)?;
        // The formula of a binary operation has the broadcast shape of both operands. The gradient has the shape of one
        // operand, so the incoming gradient is broadcast.
        match (&formula.shape, two.is_some() && !self.call.is_stored()) {
            (Some(shape), _) if upstream.shape.as_ref() != Some(shape) => {
                let lengths = Given::Plain(Arg::counts(shape));
                upstream = self.graph.call(&op::broadcast_to, [Given::Whole(upstream), lengths])?;
            }
            (None, true) if self.call.named("upstream").input().is_some() => {
                let g = &self.node.inputs[self.call.named("upstream").input()?];
                let ones = Given::Plain(g.kind.element(1.0)?);
                let ones = self.graph.call(&op::number_like, [Given::Whole(Arc::clone(g)), ones])?;
                upstream = (self.graph.term(&upstream) * self.graph.term(&ones)).done()?;
            }
            _ => {}
        }
        let by: Vec<&Arc<Node>> = self.node.inputs.iter().collect();
        let mut found = all(&formula, &upstream, &by, true, &mut |_, _| {}).ok()?;
        Some(self.node.inputs.iter().map(|node| found.remove(&node.id)).collect())
    }

    fn term(&self, parameter: &str) -> Term {
        Term { graph: self.graph, node: Some(self.named(parameter)) }
    }

    /// Returns the formula of the gradient of an operand, from the operands and the upstream gradient.
    fn formula(&self, forward: &'static OpSpec, number: usize) -> Option<Arc<Node>> {
        let g = self.term("upstream");
        match forward.lengths() {
            Lengths::Joined | Lengths::Stacked => self.part_of_joined(forward),
            // The selected operand receives the upstream gradient. The other operand receives 0.
            Lengths::Choice => {
                let (zeros, is_yes) = (self.graph.zeros(g.node.as_ref()?.node()?), number == 0);
                let (yes, no) = if is_yes { (g, zeros) } else { (zeros, g) };
                self.graph.call(&op::where_, [self.named("condition"), yes.node?, no.node?])
            }
            Lengths::Reduced => self.of_reduction(forward),
            Lengths::Among => self.of_shares(forward),
            _ if self.call.op.place_of("y").is_some() => self.of_two(forward, number),
            _ => self.of_one(forward, self.term("x"), g).done(),
        }
    }

    /// Returns the gradient of one operand of a concatenation: its slice of the upstream gradient.
    fn part_of_joined(&self, forward: &'static OpSpec) -> Option<Arc<Node>> {
        let Arg::List(tensors) = self.call.named("tensors") else { return None };
        let shape = |arg: &Arg| self.node.inputs.get(arg.input()?)?.shape.as_ref();
        let shapes = tensors.iter().map(shape).collect::<Option<Vec<_>>>()?;
        let slices = super::joins::slices(self.call, forward, &shapes).ok()?;
        self.graph.call(&op::slice, [self.named("upstream"), Given::Plain(Arg::Slices(slices.into()))])
    }

    /// Returns the gradient of a variance, a standard deviation, a norm of order 2 or a `logsumexp`, with upstream
    /// gradient `dy`.
    ///
    /// In a group of n elements with mean m, the gradient of `var` is `2 (x - m) dy / (n - ddof)`. The gradient of
    /// `std` is `(x - m) dy / ((n - ddof) std)`, the gradient of `norm` is `x dy / norm`, and the gradient of `logsumexp`
    /// is `exp(x - logsumexp) dy`.
    ///
    /// Variances and standard deviations that ignore NaN, of views or by group labels have no formula, because n
    /// differs between groups.
    fn of_reduction(&self, forward: &'static OpSpec) -> Option<Arc<Node>> {
        let (x, g, graph) = (self.named("x"), self.term("upstream"), self.graph);
        let of = x.node()?;
        let own = || Some(graph.term(&graph.on_pattern(of, of)?));
        let again = |op: &'static OpSpec| Some(graph.term(&graph.call(op, self.arguments(op, &[]))?));
        if forward.place_of("ord").is_some() {
            let is_two = matches!(self.call.named("ord"), Arg::Absent);
            let over = g.mul_nonzero(&again(forward)?.recip());
            return is_two.then(|| self.spread(of, &over)?.mul_nonzero(&own()?).done())?;
        }
        if forward.is(&op::logsumexp) {
            let weights = (own()? - self.spread(of, &again(forward)?)?).exp();
            return self.spread(of, &g)?.mul_nonzero(&weights).done();
        }
        let is_grouped = self.call.axes().grouping().is_some() || !matches!(self.call.named("by"), Arg::Absent);
        let is_nan = !forward.is(&op::var) && !forward.is(&op::std);
        if is_nan || is_grouped || matches!(x, Given::Stored(_)) {
            return None;
        }
        let deviations = own()? - self.spread(of, &again(&op::mean)?)?;
        let over = match forward.is(&op::std) {
            true => g.mul_nonzero(&again(forward)?.recip()),
            false => g,
        };
        let scale = if forward.is(&op::std) { 1.0 } else { 2.0 };
        let ddof = self.call.number("ddof").and_then(Number::float).unwrap_or(0.0);
        match &of.shape {
            Some(shape) if !of.kind.is_dynamic() => {
                let count = Reduction::new(shape, &self.call.axes()).ok()?.extent() as f64 - ddof;
                (self.spread(of, &over)?.mul_nonzero(&deviations) * (scale / count)).done()
            }
            _ => {
                let ones = graph.zeros(of) + 1.0;
                let counts = graph.call(&op::sum, self.arguments(&op::sum, &[("x", ones.node?)]))?;
                let counts = graph.term(&counts).beside(&op::sub, ddof);
                let over = over.beside(&op::mul, scale).mul_nonzero(&counts.recip());
                self.spread(of, &over)?.mul_nonzero(&deviations).done()
            }
        }
    }

    /// Returns a gradient of the result of a reduction at the entries of the operand. Each element receives the
    /// gradient of its group.
    fn spread(&self, of: &Arc<Node>, gradient: &Term) -> Option<Term> {
        let others = [("x", Given::Whole(Arc::clone(of))), ("upstream", gradient.node.clone()?)];
        let args = self.arguments(&op::any_backward, &others);
        Some(self.graph.term(&self.graph.call(&op::any_backward, args)?))
    }

    /// Returns the gradient of `softmax` or `log_softmax`, with upstream gradient `dy`.
    ///
    /// With the weights p of the softmax, the gradient of `softmax` is `p dy - p sum(p dy)`. The gradient of
    /// `log_softmax` is `dy - p sum(dy)`.
    fn of_shares(&self, forward: &'static OpSpec) -> Option<Arc<Node>> {
        let (x, graph) = (self.named("x"), self.graph);
        let of = x.node()?;
        let at = |gradient: &Arc<Node>| {
            Some(graph.term(&graph.spread(&Given::Whole(Arc::clone(of)), gradient, Axes::none())?))
        };
        let sums = |of_sum: &Term| {
            let sum = graph.call(&op::sum, self.arguments(&op::sum, &[("x", of_sum.node.clone()?)]))?;
            self.spread(of, &graph.term(&sum))
        };
        let weights = at(&graph.call(&op::softmax, self.arguments(&op::softmax, &[]))?)?;
        let upstream = at(self.named("upstream").node()?)?;
        if forward.is(&op::log_softmax) {
            return (upstream.clone() - sums(&upstream)?.mul_nonzero(&weights)).done();
        }
        let parts = upstream.mul_nonzero(&weights);
        (parts.clone() - sums(&parts)?.mul_nonzero(&weights)).done()
    }

    /// Returns the gradient of one operand of an arithmetic operation.
    ///
    /// If one operand is a view of stored entries, the other must be a view of the same known shape. Of dynamically typed
    /// operands one view is enough.
    fn of_two(&self, forward: &'static OpSpec, number: usize) -> Option<Arc<Node>> {
        let [x, y, g] = ["x", "y", "upstream"].map(|name| self.term(name));
        let is_view = |term: &Term| matches!(term.node, Some(Given::Stored(_)));
        if let (Some(left), Some(right), true) = (x.whole(), y.whole(), is_view(&x) || is_view(&y)) {
            // A tensor beside stored entries is read as its stored entries. An array is not.
            let are_views = left.kind.is_dynamic() || (is_view(&x) && is_view(&y));
            let are_alike = left.kind.is_dynamic() || (left.shape.is_some() && left.shape == right.shape);
            return (are_views && are_alike).then(|| self.of_views(forward, number, [left, right]))?;
        }
        let operand = if number == 0 { &x } else { &y };
        // The gradient of an array is an array, even if the other operand is a tensor.
        let g = match operand.is_array() && !g.is_array() {
            true if forward.is(&op::add) || forward.is(&op::sub) => g.dense(),
            true => return None,
            false => g,
        };
        of_arithmetic(forward.name, number, x, y, g).done()
    }

    /// Returns the gradient of one operand of an arithmetic operation on two views of stored entries.
    ///
    /// A sum stores the entries of both operands, so each entry receives the upstream gradient of its result. A product
    /// stores only common entries, so an entry of only one operand receives nothing.
    fn of_views(&self, forward: &'static OpSpec, number: usize, [x, y]: [&Arc<Node>; 2]) -> Option<Arc<Node>> {
        let g = self.named("upstream").node().cloned()?;
        let (own, other) = if number == 0 { (x, y) } else { (y, x) };
        let at_own = self.graph.on_pattern(own, &g)?;
        match forward {
            op if op.is(&op::add) => Some(at_own),
            op if op.is(&op::sub) && number == 0 => Some(at_own),
            op if op.is(&op::sub) => (self.graph.term(&at_own) * -1.0).done(),
            op if op.is(&op::mul) => self.met(own, at_own, &self.filled(other)?),
            op if op.is(&op::div) => {
                let over = self.graph.call(&op::recip, [Given::Stored(self.filled(y)?)])?;
                let to_x = self.met(x, self.graph.on_pattern(x, &g)?, &over)?;
                if number == 0 {
                    return Some(to_x);
                }
                let product = self.met(y, to_x, &self.filled(x)?)?;
                (self.graph.term(&self.met(y, product, &over)?) * -1.0).done()
            }
            _ => None,
        }
    }

    /// Returns the product of a gradient and a factor, on the pattern of an operand. Positions that only one of both
    /// stores are 0.
    fn met(&self, of: &Arc<Node>, gradient: Arc<Node>, factor: &Arc<Node>) -> Option<Arc<Node>> {
        let factors = [Given::Stored(gradient), Given::Stored(Arc::clone(factor))];
        let product = self.graph.call(&op::mul_nonzero, factors)?;
        self.graph.on_pattern(of, &self.filled(&product)?)
    }

    /// Returns a tensor with a fill of 0. Gradients have a fill of 0, and two views with different fills cannot be
    /// combined.
    fn filled(&self, of: &Arc<Node>) -> Option<Arc<Node>> {
        let zero = Given::Plain(of.kind.element(0.0)?);
        self.graph.call(&op::with_fill, [Given::Whole(Arc::clone(of)), zero])
    }

    /// Returns the gradient of an elementwise function, if the function has a formula.
    fn of_one(&self, forward: &'static OpSpec, x: Term, g: Term) -> Term {
        let exponent = self.call.number("exponent");
        match exponent {
            Some(exponent) => self.of_power(forward, &x, &g, exponent),
            None => of_function(forward.name, x, g),
        }
    }

    /// Returns the gradient of a power: the upstream gradient times `n x^(n - 1)`. The power with exponent 0 is
    /// constant, so its derivative is 0, even at `x = 0`.
    fn of_power(&self, forward: &'static OpSpec, x: &Term, g: &Term, exponent: Number) -> Term {
        let none = Term { graph: self.graph, node: None };
        let (below, factor) = match exponent {
            Number::Integer(0) => (Arg::element(0_i32), 0.0),
            Number::Integer(integer) => match integer.checked_sub(1).and_then(|below| i32::try_from(below).ok()) {
                Some(below) => (Arg::element(below), integer as f64),
                None => return none,
            },
            Number::Real(real) => {
                let below = if real == 0.0 { 0.0 } else { real - 1.0 };
                let kind = x.node.as_ref().and_then(Given::node).map(|node| node.kind);
                match kind.and_then(|kind| kind.element(below)) {
                    Some(below) => (below, real),
                    None => return none,
                }
            }
            Number::Complex(..) => return none,
        };
        let power = x.node.clone().and_then(|x| self.graph.call(forward, [x, Given::Plain(below)]));
        g.mul_nonzero(&(Term { graph: self.graph, node: power.map(Given::Whole) } * factor))
    }
}

/// The format of several results of one kind.
const LIST: &str = "list";

/// Returns one of several results of a step. The result has the shape of `input`, whose gradient it is.
pub(super) fn part(of: &Arc<Node>, number: usize, input: Option<&Arc<Node>>) -> Option<Arc<Node>> {
    let is_list = |kind: &dyn Kind| kind.format() == LIST;
    // The step has one result, and a list of the other results.
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

/// A value in a formula. If a step of the formula does not have an implementation, the value is `None`.
#[derive(Clone)]
struct Term {
    graph: Graph,
    node: Option<Given>,
}

impl Graph {
    fn zeros(self, like: &Arc<Node>) -> Term {
        let zeros = self.call(&op::zeros_like, [Given::Whole(Arc::clone(like))]);
        Term { graph: self, node: zeros.map(Given::Whole) }
    }
}

impl Term {
    fn done(self) -> Option<Arc<Node>> {
        self.node?.node().cloned()
    }

    fn with(&self, op: &'static OpSpec, other: Option<Given>) -> Self {
        let step = self.node.clone().zip(other).and_then(|(left, right)| self.graph.call(op, [left, right]));
        Term { graph: self.graph, node: step.map(Given::Whole) }
    }

    fn beside(&self, op: &'static OpSpec, number: f64) -> Self {
        let kind = self.node.as_ref().and_then(Given::node).map(|node| node.kind);
        self.with(op, kind.and_then(|kind| kind.element(number)).map(Given::Plain))
    }

    /// Returns a gradient times a derivative. If the gradient is zero, the product is zero, even if the derivative is
    /// NaN or infinite.
    fn mul_nonzero(&self, derivative: &Self) -> Self {
        self.with(&op::mul_nonzero, derivative.node.clone())
    }

    /// Returns the step, or the step whose stored entries the term is.
    fn whole(&self) -> Option<&Arc<Node>> {
        self.node.as_ref().and_then(Given::node)
    }

    fn is_array(&self) -> bool {
        self.node.as_ref().and_then(Given::node).is_some_and(|node| node.kind.format() == "array")
    }

    /// Returns whether the value is a number.
    fn is_number(&self) -> bool {
        matches!(self.node, Some(Given::Plain(_)))
    }
}

macro_rules! operators {
    ($($op:ident $method:ident),*) => {$(
        impl $op for Term {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.with(&op::$method, other.node)
            }
        }

        impl $op<f64> for Term {
            type Output = Self;

            fn $method(self, number: f64) -> Self {
                self.beside(&op::$method, number)
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul);

macro_rules! functions {
    ($($name:ident),*) => {
        impl Term {$(
            fn $name(&self) -> Self {
                let step = self.node.clone().and_then(|x| self.graph.call(&op::$name, [x]));
                Term { graph: self.graph, node: step.map(Given::Whole) }
            }
        )*}
    };
}

functions!(square, sqrt, cbrt, exp, sin, cos, tan, sinh, cosh, tanh, recip, dense);

/// Defines the gradients of elementwise functions of `x`, and of arithmetic on `x` and `y` for each operand.
macro_rules! formulas {
    (
        |$x:ident, $g:ident| $($name:ident: $formula:expr;)*
        |$left:ident, $right:ident, $of_both:ident| $($operation:ident: $to_left:expr, $to_right:expr;)*
    ) => {
        /// Returns the gradient of a smooth elementwise function: the upstream gradient times the derivative.
        #[allow(clippy::approx_constant)] // as decimal texts have them
        fn of_function(name: &str, $x: Term, $g: Term) -> Term {
            match name {
                $(stringify!($name) => $formula,)*
                _ => Term { node: None, ..$g },
            }
        }

        /// Returns the gradient of the operand with this index of an arithmetic operation.
        fn of_arithmetic(name: &str, number: usize, $left: Term, $right: Term, $of_both: Term) -> Term {
            match (name, number) {
                $((stringify!($operation), 0) => $to_left, (stringify!($operation), 1) => $to_right,)*
                _ => Term { node: None, ..$of_both },
            }
        }
    };
}

// `mul_nonzero` keeps a zero upstream gradient zero. Division by a number divides the gradient directly, which rounds
// only once.
formulas! {
    |x, g|
    neg: g * -1.0;
    square: g.mul_nonzero(&(x * 2.0));
    sqrt: g.mul_nonzero(&(x.sqrt() * 2.0).recip());
    cbrt: g.mul_nonzero(&(x.cbrt().square() * 3.0).recip());
    exp: g.mul_nonzero(&x.exp());
    exp_m1: g.mul_nonzero(&x.exp());
    ln: g.mul_nonzero(&x.recip());
    ln_1p: g.mul_nonzero(&(x + 1.0).recip());
    log2: g.mul_nonzero(&(x * 0.6931471805599453).recip());
    log10: g.mul_nonzero(&(x * 2.302585092994046).recip());
    sin: g.mul_nonzero(&x.cos());
    cos: g.mul_nonzero(&(x.sin() * -1.0));
    tan: g.mul_nonzero(&(x.tan().square() + 1.0));
    asin: g.mul_nonzero(&(x.square() * -1.0 + 1.0).sqrt().recip());
    acos: g.mul_nonzero(&((x.square() * -1.0 + 1.0).sqrt() * -1.0).recip());
    atan: g.mul_nonzero(&(x.square() + 1.0).recip());
    sinh: g.mul_nonzero(&x.cosh());
    cosh: g.mul_nonzero(&x.sinh());
    tanh: g.mul_nonzero(&(x.tanh().square() * -1.0 + 1.0));
    recip: g.mul_nonzero(&(x.square() * -1.0).recip());
    |x, y, g|
    add: g * 1.0, g * 1.0;
    sub: g * 1.0, g * -1.0;
    mul: g.mul_nonzero(&y), g.mul_nonzero(&x);
    div: if y.is_number() { g.with(&op::div, y.node) } else { g.mul_nonzero(&y.recip()) },
        match x.is_array() {
            true => g.mul_nonzero(&x).mul_nonzero(&y.square().recip()) * -1.0,
            false => g.mul_nonzero(&(x * y.square().recip() * -1.0)),
        };
}
