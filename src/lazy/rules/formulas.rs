//! The formulas of gradients, which are differentiated for the gradients of gradients.

use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

use super::{Given, Graph, Step};
use crate::element::Number;
use crate::lazy::call::Arg;
use crate::lazy::node::Node;
use crate::ops::{OpSpec, op};

impl Step<'_> {
    /// Returns the gradient of an elementwise function, if the function has a formula.
    pub(super) fn of_one(&self, forward: &'static OpSpec, x: Term, g: Term) -> Term {
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

/// A value in a formula. If a step of the formula does not have an implementation, the value is `None`.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) graph: Graph,
    pub(super) node: Option<Given>,
}

impl Graph {
    pub(super) fn zeros(self, like: &Arc<Node>) -> Term {
        let zeros = self.call(&op::zeros_like, [Given::Whole(Arc::clone(like))]);
        Term { graph: self, node: zeros.map(Given::Whole) }
    }
}

impl Term {
    pub(super) fn done(self) -> Option<Arc<Node>> {
        self.node?.node().cloned()
    }

    pub(super) fn with(&self, op: &'static OpSpec, other: Option<Given>) -> Self {
        let step = self.node.clone().zip(other).and_then(|(left, right)| self.graph.call(op, [left, right]));
        Term { graph: self.graph, node: step.map(Given::Whole) }
    }

    pub(super) fn beside(&self, op: &'static OpSpec, number: f64) -> Self {
        let kind = self.node.as_ref().and_then(Given::node).map(|node| node.kind);
        self.with(op, kind.and_then(|kind| kind.element(number)).map(Given::Plain))
    }

    /// Returns a gradient times a derivative. If the gradient is zero, the product is zero, even if the derivative is
    /// NaN or infinite.
    pub(super) fn mul_nonzero(&self, derivative: &Self) -> Self {
        self.with(&op::mul_nonzero, derivative.node.clone())
    }

    /// Returns the step, or the step whose stored entries the term is.
    pub(super) fn whole(&self) -> Option<&Arc<Node>> {
        self.node.as_ref().and_then(Given::node)
    }

    pub(super) fn is_array(&self) -> bool {
        self.node.as_ref().and_then(Given::node).is_some_and(|node| node.kind.format() == "array")
    }

    /// Returns whether the value is a number.
    pub(super) fn is_number(&self) -> bool {
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
            pub(super) fn $name(&self) -> Self {
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
        pub(super) fn of_arithmetic(name: &str, number: usize, $left: Term, $right: Term, $of_both: Term) -> Term {
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
