//! The gradients of operations that are not themselves gradients.

use std::sync::Arc;

use super::{ForwardStep, RuleArg, operands, part};
use crate::base::axes::{Axes, normalize_axis};
use crate::lazy::call::{Arg, Call};
use crate::lazy::node::{Gradients, Node};
use crate::ops::{Gradient, OpSpec, ShapeRule, op};

impl ForwardStep<'_> {
    /// Returns the gradients of an operation, by the rule in its row.
    pub(super) fn first(&self, upstream: &Arc<Node>) -> Gradients {
        let (g, graph) = (|| RuleArg::Whole(Arc::clone(upstream)), self.graph);
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
                Some(dtype) => graph.call(&op::cast, [g(), RuleArg::Plain(Arg::Word(dtype.name()))])?,
                None => Arc::clone(upstream),
            },
            // A reshape keeps the order of the elements, so the upstream gradient is reshaped back.
            Gradient::Reshaped => graph.call(&op::reshape_as, [g(), RuleArg::Whole(Arc::clone(x.as_ref()?))])?,
            // The operand is a diagonal of the result, so it receives that diagonal of the upstream gradient.
            Gradient::Diagonal => graph.call(&op::diagonal, [g(), self.named("offset")])?,
        };
        self.to(self.call.arg(0).input()?, graph.on_pattern(&x?, &back))
    }

    /// Returns a gradient in the format of an operand.
    fn in_format(&self, x: &Arc<Node>, upstream: &Arc<Node>) -> Option<Arc<Node>> {
        let g = RuleArg::Whole(Arc::clone(upstream));
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
        let upstream = ("upstream", RuleArg::Whole(Arc::clone(upstream)));
        let inputs = operands(self.call);
        if back.place_of("wrt").is_none() {
            return self.to(*inputs.first()?, self.graph.call(back, self.arguments(back, &[upstream])));
        }
        let wrt = |number: usize| ("wrt", RuleArg::Plain(Arg::Integer(number as i128)));
        if let ShapeRule::Joined | ShapeRule::Stacked = self.call.op.lengths() {
            return self.joined(back, upstream.1);
        }
        let is_operand = |parameter: &&str| matches!(*parameter, "x" | "y" | "yes" | "no");
        let mut own = self.call.op.names().filter(is_operand).map(|name| self.call.named(name).input());
        // A number does not receive a gradient, so only the other operand receives one.
        if let Some(number) = own.clone().position(|input| input.is_some()).filter(|_| own.any(|input| input.is_none()))
        {
            let found = self.graph.call(back, self.arguments(back, &[upstream, wrt(number)]));
            return self.to(*inputs.first()?, found);
        }
        let mut gradients = self.none();
        if self.node.kind.is_dynamic() {
            // A dynamically typed operation returns one gradient.
            for (number, input) in inputs.into_iter().enumerate() {
                let args = self.arguments(back, &[upstream.clone(), wrt(number)]);
                gradients[input] = Some(self.graph.call(back, args)?);
            }
            return Some(gradients);
        }
        let both = self.graph.call(back, self.arguments(back, &[upstream]))?;
        for (number, input) in inputs.into_iter().enumerate() {
            gradients[input] = Some(part(&both, number, Some(&self.node.inputs[input]))?);
        }
        Some(gradients)
    }

    /// Returns the gradients of a concatenation. The operands are consecutive parts of the result, so each operand
    /// receives its part of the upstream gradient.
    fn joined(&self, back: &'static OpSpec, upstream: RuleArg) -> Gradients {
        let mut gradients = Vec::with_capacity(self.node.inputs.len());
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
            gradients.push(Some(self.graph.step(Call::of(back, args), inputs)?));
        }
        Some(gradients)
    }

    /// Returns the gradients of a matrix product of stored entries, with or without a mask.
    ///
    /// Each operand receives the product of the upstream gradient with the other operand. Only the semiring
    /// `plus_times` has gradients.
    fn products(&self, upstream: &Arc<Node>) -> Gradients {
        let semiring = self.call.named("semiring");
        let is_sum = matches!(semiring, Arg::Absent) || self.call.text_of("semiring") == Some("\"plus_times\"".into());
        if !is_sum {
            return None;
        }
        // A masked product is computed only at its own entries, so the upstream gradient counts only at these entries.
        let upstream = match self.call.named("mask") {
            Arg::Absent => Arc::clone(upstream),
            _ => self.graph.on_pattern(self.node, upstream)?,
        };
        let (x, y) = (self.named("x"), self.named("y"));
        let stored = |gradients: &RuleArg| match gradients.node() {
            Some(node) if node.kind.format() != "array" => RuleArg::Stored(Arc::clone(node)),
            _ => gradients.clone(),
        };
        let hint = RuleArg::Plain(Arg::Hint(Box::new(semiring.clone())));
        let back = |wrt: Arg| {
            let args =
                [stored(&x), stored(&y), RuleArg::Whole(Arc::clone(&upstream)), RuleArg::Plain(wrt), hint.clone()];
            self.graph.call(&op::matmul_backward, args)
        };
        let both = if self.node.kind.is_dynamic() { None } else { Some(back(Arg::Absent)?) };
        let mut gradients = self.none();
        for (number, parameter) in ["x", "y"].into_iter().enumerate() {
            let input = self.call.named(parameter).input()?;
            gradients[input] = Some(match &both {
                Some(both) => part(both, number, Some(&self.node.inputs[input]))?,
                // A dynamically typed operation returns one gradient.
                None => back(Arg::Integer(number as i128))?,
            });
        }
        Some(gradients)
    }

    /// Returns the gradients of a product with one factor per position of an axis.
    ///
    /// The tensor receives the upstream gradient times the factors. A factor receives the sum of the upstream gradient
    /// times the elements that it scales.
    fn scaled(&self, upstream: &Arc<Node>) -> Gradients {
        let (graph, x, factors) = (self.graph, self.named("x"), self.named("factors"));
        let (of, g) = match &x {
            // A view ignores unstored positions, so the fill does not contribute to the sums.
            RuleArg::Stored(x) => {
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
        let wide = graph.call(&op::expand_dims, [RuleArg::Whole(wide), RuleArg::Plain(behind)])?;
        let dx = graph.term(&graph.on_pattern(&of, &g)?).mul_nonzero(&graph.term(&wide)).done()?;
        let others = Axes::from((0..rank).filter(|&other| other != axis).collect::<Vec<_>>());
        let products = graph.term(&g).mul_nonzero(&graph.term(&of));
        let sums = graph.call(&op::sum, [products.node?, RuleArg::Plain(Arg::Axes(others))])?;
        let mut gradients = self.none();
        gradients[self.call.arg(0).input()?] = Some(dx);
        gradients[self.call.named("factors").input()?] = Some(graph.on_pattern(factors.node()?, &sums)?);
        Some(gradients)
    }
}
