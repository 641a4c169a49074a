//! The formulas of gradients. Differentiating a formula results in the gradient of a gradient.

use std::f64::consts::{LN_2, LN_10};
use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

use super::{ForwardStep, RuleArg, StepBuilder};
use crate::element::Number;
use crate::lazy::call::Arg;
use crate::lazy::node::Node;
use crate::ops::{OpSpec, op};

impl ForwardStep<'_> {
    /// Returns the gradient of an elementwise function, if the function has a formula.
    pub(super) fn of_one(&self, forward: &'static OpSpec, x: Term, g: Term) -> Term {
        let exponent = self.call.number("exponent");
        match exponent {
            Some(exponent) => self.of_power(forward, &x, &g, exponent),
            None => of_function(forward, x, g),
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
                let Some(below) = x.whole().and_then(|x| x.kind.element(below)) else { return none };
                (below, real)
            }
            Number::Complex(..) => return none,
        };
        let power = x.node.clone().and_then(|x| self.graph.call(forward, [x, RuleArg::Plain(below)]));
        g.mul_nonzero(&(Term { graph: self.graph, node: power.map(RuleArg::Whole) } * factor))
    }
}

/// A value in a formula. If a step of the formula does not have an implementation, the value is `None`.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) graph: StepBuilder,
    pub(super) node: Option<RuleArg>,
}

impl StepBuilder {
    pub(super) fn zeros(self, like: &Arc<Node>) -> Term {
        let zeros = self.call(&op::zeros_like, [RuleArg::Whole(Arc::clone(like))]);
        Term { graph: self, node: zeros.map(RuleArg::Whole) }
    }
}

impl Term {
    pub(super) fn done(self) -> Option<Arc<Node>> {
        self.node?.node().cloned()
    }

    pub(super) fn with(&self, op: &'static OpSpec, other: Option<RuleArg>) -> Self {
        let step = self.node.clone().zip(other).and_then(|(left, right)| self.graph.call(op, [left, right]));
        Term { graph: self.graph, node: step.map(RuleArg::Whole) }
    }

    fn of(&self, op: &'static OpSpec) -> Self {
        let step = self.node.clone().and_then(|x| self.graph.call(op, [x]));
        Term { graph: self.graph, node: step.map(RuleArg::Whole) }
    }

    pub(super) fn dense(&self) -> Self {
        self.of(&op::dense)
    }

    pub(super) fn with_number(&self, op: &'static OpSpec, number: f64) -> Self {
        self.with(op, self.whole().and_then(|node| node.kind.element(number)).map(RuleArg::Plain))
    }

    /// Returns a gradient times a derivative. If the gradient is zero, the product is zero, even if the derivative is
    /// NaN or infinite.
    pub(super) fn mul_nonzero(&self, derivative: &Self) -> Self {
        self.with(&op::mul_nonzero, derivative.node.clone())
    }

    /// Returns the step, or the step whose stored entries the term is.
    pub(super) fn whole(&self) -> Option<&Arc<Node>> {
        self.node.as_ref().and_then(RuleArg::node)
    }

    pub(super) fn is_array(&self) -> bool {
        self.whole().is_some_and(|node| node.kind.format() == "array")
    }

    /// Returns whether the value is a number.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.node, Some(RuleArg::Plain(_)))
    }
}

impl Sub for Term {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.with(&op::sub, other.node)
    }
}

impl Mul for Term {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.with(&op::mul, other.node)
    }
}

impl Add<f64> for Term {
    type Output = Self;

    fn add(self, number: f64) -> Self {
        self.with_number(&op::add, number)
    }
}

impl Mul<f64> for Term {
    type Output = Self;

    fn mul(self, number: f64) -> Self {
        self.with_number(&op::mul, number)
    }
}

/// Defines the functions of terms, and the gradients of functions by the formulas of the table.
macro_rules! functions {
    ($($family:ident {$(
        #[$sentence:meta] $name:ident $element:tt $kinds:tt $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*})*) => {
        #[allow(dead_code)] // formulas use a part of them
        impl Term {$($(
            pub(super) fn $name(&self) -> Self {
                self.of(&op::$name)
            }
        )*)*}

        /// Returns the gradient of an elementwise function for the upstream gradient `g`, if it has a formula.
        fn of_function(forward: &'static OpSpec, x: Term, g: Term) -> Term {
            let formula: fn(Term, Term) -> Term = match forward {
                $($($($(forward if forward.is(&op::$name) => $formula,)?)?)*)*
                _ => |_, g| Term { node: None, ..g },
            };
            formula(x, g)
        }
    };
}

crate::__functions! { functions }

/// Returns the gradient of the operand with this index of an arithmetic operation on `x` and `y`.
///
/// `mul_nonzero` keeps a zero upstream gradient zero. Division by a number divides the gradient directly, which rounds
/// only once.
pub(super) fn of_arithmetic(op: &'static OpSpec, number: usize, x: Term, y: Term, g: Term) -> Term {
    match op {
        op if op.is(&op::add) => g * 1.0,
        op if op.is(&op::sub) => g * if number == 0 { 1.0 } else { -1.0 },
        op if op.is(&op::mul) => g.mul_nonzero(if number == 0 { &y } else { &x }),
        op if op.is(&op::div) && number == 0 && y.is_number() => g.with(&op::div, y.node),
        op if op.is(&op::div) && number == 0 => g.mul_nonzero(&y.recip()),
        op if op.is(&op::div) && x.is_array() => g.mul_nonzero(&x).mul_nonzero(&y.square().recip()) * -1.0,
        op if op.is(&op::div) => g.mul_nonzero(&(x * y.square().recip() * -1.0)),
        _ => Term { node: None, ..g },
    }
}
