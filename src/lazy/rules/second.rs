//! The gradients of gradients.

use std::sync::Arc;

use super::formulas::{Term, of_arithmetic};
use super::{ForwardStep, RuleArg, StepBuilder, operands};
use crate::base::axes::Axes;
use crate::element::Number;
use crate::lazy::call::Arg;
use crate::lazy::gradient::all;
use crate::lazy::joins;
use crate::lazy::node::{Gradients, Node};
use crate::ops::{OpSpec, Second, ShapeRule, op};
use crate::plan::reduction::Reduction;

impl ForwardStep<'_> {
    /// Returns the gradients of a gradient operation. `number` is the index of the operand whose gradient the operation
    /// computes, and `came` is the upstream gradient.
    pub(super) fn second(&self, forward: &'static OpSpec, number: Option<usize>, came: &Arc<Node>) -> Gradients {
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
                    true => (&op::sum, RuleArg::Whole(own)),
                    false => (forward, x.like(own)),
                };
                graph.call(op, self.arguments(op, &[("x", own)]))?
            }
            // The gradient multiplies by a piecewise constant factor, so the incoming gradient is multiplied by the
            // same factor. The derivative of the factor is 0, so the operand does not receive a gradient.
            Second::Again => {
                let came = ("upstream", RuleArg::Whole(Arc::clone(came)));
                graph.call(self.call.op, self.arguments(self.call.op, &[came]))?
            }
            // Each element receives the upstream gradient times a weight. The upstream gradient therefore receives the
            // weighted sum of the incoming gradient.
            Second::Weights => {
                let own = graph.at_entries(self.named("x").node()?, came)?;
                let ones = (graph.zeros(&self.node.inputs[upstream?]) + 1.0).done()?;
                let args = self.arguments(self.call.op, &[("upstream", RuleArg::Whole(ones))]);
                let weights = graph.term(&graph.call(self.call.op, args)?);
                // An element without a weight contributes nothing, even if the incoming gradient is NaN.
                let products = weights.mul_nonzero(&graph.term(&own)).node?;
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
        let replaced = ForwardStep { node: &node, work: self.work, call: self.call, graph: self.graph };
        // The operand is replaced by its position, because the same value may also be another operand.
        let mut args: Vec<RuleArg> = replaced.arguments(forward, &[]);
        let mut forward = if forward.is(&op::mul) { &op::mul_nonzero } else { forward };
        if let Some(semiring) = self.call.hint() {
            // The product reads only stored entries.
            forward = &op::matmul_with;
            args = args.into_iter().filter_map(|arg| arg.node().cloned().map(RuleArg::Whole)).collect();
            args.push(RuleArg::Plain(semiring.clone()));
        }
        let result = self.graph.call(forward, args)?;
        let upstream = self.call.named("upstream").input()?;
        let g = &self.node.inputs[upstream];
        let work = result.work()?;
        let of = ForwardStep { node: &result, work, call: &work.call, graph: StepBuilder(work.family) };
        let mut found = of.first(g)?;
        let mut gradients = self.none();
        for (&to, from) in own.iter().zip(operands(&work.call)) {
            gradients[to] = if to == place { None } else { found[from].take() };
        }
        gradients[upstream] = Some(self.graph.on_pattern(g, &result)?);
        Some(gradients)
    }

    /// Returns the gradients of a gradient operation, by differentiating the formula of the gradient.
    fn through_formula(&self, forward: &'static OpSpec, number: usize, came: &Arc<Node>) -> Gradients {
        let kinds: Vec<bool> = self.node.inputs.iter().map(|input| input.kind.format() == "array").collect();
        let is_mixed = kinds[..kinds.len().saturating_sub(1)].windows(2).any(|two| two[0] != two[1]);
        if is_mixed && forward.is(&op::mul) {
            return self.product(forward, number, came);
        }
        // A number combined with an operand is not an input.
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
                let lengths = RuleArg::Plain(Arg::counts(shape));
                upstream = self.graph.call(&op::broadcast_to, [RuleArg::Whole(upstream), lengths])?;
            }
            (None, true) if self.call.named("upstream").input().is_some() => {
                let g = &self.node.inputs[self.call.named("upstream").input()?];
                let ones = RuleArg::Plain(g.kind.element(1.0)?);
                let ones = self.graph.call(&op::number_like, [RuleArg::Whole(Arc::clone(g)), ones])?;
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
            ShapeRule::Joined | ShapeRule::Stacked => self.part_of_joined(forward),
            // The selected operand receives the upstream gradient. The other operand receives 0.
            ShapeRule::Choice => {
                let (zeros, is_yes) = (self.graph.zeros(g.node.as_ref()?.node()?), number == 0);
                let (yes, no) = if is_yes { (g, zeros) } else { (zeros, g) };
                self.graph.call(&op::where_, [self.named("condition"), yes.node?, no.node?])
            }
            ShapeRule::Reduced => self.of_reduction(forward),
            ShapeRule::Among => self.of_shares(forward),
            _ if self.call.op.place_of("y").is_some() => self.of_two(forward, number),
            _ => self.of_one(forward, self.term("x"), g).done(),
        }
    }

    /// Returns the gradient of one operand of a concatenation: its slice of the upstream gradient.
    fn part_of_joined(&self, forward: &'static OpSpec) -> Option<Arc<Node>> {
        let Arg::List(tensors) = self.call.named("tensors") else { return None };
        let shape = |arg: &Arg| self.node.inputs.get(arg.input()?)?.shape.as_ref();
        let shapes = tensors.iter().map(shape).collect::<Option<Vec<_>>>()?;
        let slices = joins::slices(self.call, forward, &shapes).ok()?;
        self.graph.call(&op::slice, [self.named("upstream"), RuleArg::Plain(Arg::Slices(slices.into()))])
    }

    /// Returns the gradient of a variance, a standard deviation, a norm of order 2 or a `logsumexp`, with upstream
    /// gradient `dy`.
    ///
    /// In a group of n elements with mean m, the gradient of `var` is `2 (x - m) dy / (n - ddof)`. The gradient of
    /// `std` is `(x - m) dy / ((n - ddof) std)`, the gradient of `norm` is `x dy / norm`, and the gradient of
    /// `logsumexp` is `exp(x - logsumexp) dy`.
    ///
    /// Variances and standard deviations that ignore NaN do not have a formula for views or by group labels, because n
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
        let is_grouped = self.call.axes().labels().is_some() || !matches!(self.call.named("by"), Arg::Absent);
        let is_nan = !forward.is(&op::var) && !forward.is(&op::std);
        if is_nan || is_grouped || matches!(x, RuleArg::Stored(_)) {
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
                let counts = graph.term(&counts).with_number(&op::sub, ddof);
                let over = over.with_number(&op::mul, scale).mul_nonzero(&counts.recip());
                self.spread(of, &over)?.mul_nonzero(&deviations).done()
            }
        }
    }

    /// Returns a gradient of the result of a reduction at the entries of the operand. Each element receives the
    /// gradient of its group.
    fn spread(&self, of: &Arc<Node>, gradient: &Term) -> Option<Term> {
        let others = [("x", RuleArg::Whole(Arc::clone(of))), ("upstream", gradient.node.clone()?)];
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
            Some(graph.term(&graph.spread(&RuleArg::Whole(Arc::clone(of)), gradient, Axes::none())?))
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
    /// If one operand is a view of stored entries, the other operand must be a view of the same known shape. For
    /// dynamically typed operands one view is enough.
    fn of_two(&self, forward: &'static OpSpec, number: usize) -> Option<Arc<Node>> {
        let [x, y, g] = ["x", "y", "upstream"].map(|name| self.term(name));
        let is_view = |term: &Term| matches!(term.node, Some(RuleArg::Stored(_)));
        if let (Some(left), Some(right), true) = (x.whole(), y.whole(), is_view(&x) || is_view(&y)) {
            // A tensor combined with stored entries is read as its stored entries. An array is not.
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
        of_arithmetic(forward, number, x, y, g).done()
    }

    /// Returns the gradient of one operand of an arithmetic operation on two views of stored entries.
    ///
    /// A sum stores the entries of both operands, so each entry receives the upstream gradient of its result. A product
    /// stores only common entries, so an entry of only one operand does not receive a gradient.
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
                let over = self.graph.call(&op::recip, [RuleArg::Stored(self.filled(y)?)])?;
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

    /// Returns the product of a gradient and a factor, on the pattern of an operand. Positions that only one of the two
    /// values stores are 0.
    fn met(&self, of: &Arc<Node>, gradient: Arc<Node>, factor: &Arc<Node>) -> Option<Arc<Node>> {
        let factors = [RuleArg::Stored(gradient), RuleArg::Stored(Arc::clone(factor))];
        let product = self.graph.call(&op::mul_nonzero, factors)?;
        self.graph.on_pattern(of, &self.filled(&product)?)
    }

    /// Returns a tensor with a fill of 0. Gradients have a fill of 0, and two views with different fills cannot be
    /// combined.
    fn filled(&self, of: &Arc<Node>) -> Option<Arc<Node>> {
        let zero = RuleArg::Plain(of.kind.element(0.0)?);
        self.graph.call(&op::with_fill, [RuleArg::Whole(Arc::clone(of)), zero])
    }
}
