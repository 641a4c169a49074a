//! What backward functions give, as formulas of their arguments: gradients of gradients are the gradients of these. One
//! table, which graphs compute by and expressions read.

use std::ops::{Add, Mul};
use std::sync::Arc;

use super::node::Node;
use super::unary::Steps;
use super::{Lazy, Value};
use crate::base::axes::Axes;
use crate::element::{Float, Numeric, RealNumber};
use crate::ops::{Norm, NormOrder, Var};
use crate::plan::reduction::Reduction;

/// What stands in a formula: a value, at which functions and operators are those of graphs.
#[derive(Clone)]
pub(super) struct Term<Y>(Lazy<Y>);

impl<Y: Value> Term<Y> {
    pub(super) fn of(node: &Arc<Node>) -> Self {
        Term(Lazy::of(Arc::clone(node)))
    }
}

macro_rules! operators {
    ($($op:ident $method:ident),*) => {$(
        impl<F: Float + Numeric, Y: Steps<Elem = F, Of<F> = Y>> $op for Term<Y> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: Self) -> Self {
                Term(self.0.$method(&other.0))
            }
        }

        impl<F: Float + Numeric, Y: Steps<Elem = F, Of<F> = Y>> $op<f64> for Term<Y> {
            type Output = Self;

            #[track_caller]
            fn $method(self, number: f64) -> Self {
                Term(self.0.$method(F::from_f64(number)))
            }
        }
    )*};
}

operators!(Add add, Mul mul);

/// A gradient times a derivative, which counts nothing where the gradient is zero.
#[track_caller]
fn mul_nonzero<F: Float + Numeric, Y: Steps<Elem = F, Of<F> = Y>>(gradient: Term<Y>, derivative: Term<Y>) -> Term<Y> {
    Term(gradient.0.mul_nonzero(&derivative.0))
}

macro_rules! functions {
    ($($name:ident),*) => {$(
        #[track_caller]
        fn $name<F: Float + Numeric + RealNumber, Y: Steps<Elem = F, Of<F> = Y>>(x: Term<Y>) -> Term<Y> {
            Term(x.0.$name())
        }
    )*};
}

functions!(square, sqrt, cbrt, exp, sin, cos, tan, sinh, cosh, tanh, recip);

/// The table: the backward function, and what it gives to each operand.
macro_rules! formulas {
    ($make:ident) => {
        $make! {
            (x, upstream)
            neg neg_backward: upstream * -1.0;
            square square_backward: mul_nonzero(upstream, x * 2.0);
            sqrt sqrt_backward: mul_nonzero(upstream, recip(sqrt(x) * 2.0));
            cbrt cbrt_backward: mul_nonzero(upstream, recip(square(cbrt(x)) * 3.0));
            exp exp_backward: mul_nonzero(upstream, exp(x));
            exp_m1 exp_m1_backward: mul_nonzero(upstream, exp(x));
            ln ln_backward: mul_nonzero(upstream, recip(x));
            ln_1p ln_1p_backward: mul_nonzero(upstream, recip(x + 1.0));
            log2 log2_backward: mul_nonzero(upstream, recip(x * 0.6931471805599453));
            log10 log10_backward: mul_nonzero(upstream, recip(x * 2.302585092994046));
            sin sin_backward: mul_nonzero(upstream, cos(x));
            cos cos_backward: mul_nonzero(upstream, sin(x) * -1.0);
            tan tan_backward: mul_nonzero(upstream, square(tan(x)) + 1.0);
            asin asin_backward: mul_nonzero(upstream, recip(sqrt(square(x) * -1.0 + 1.0)));
            acos acos_backward: mul_nonzero(upstream, recip(sqrt(square(x) * -1.0 + 1.0) * -1.0));
            atan atan_backward: mul_nonzero(upstream, recip(square(x) + 1.0));
            sinh sinh_backward: mul_nonzero(upstream, cosh(x));
            cosh cosh_backward: mul_nonzero(upstream, sinh(x));
            tanh tanh_backward: mul_nonzero(upstream, square(tanh(x)) * -1.0 + 1.0);
            recip recip_backward: mul_nonzero(upstream, recip(square(x) * -1.0));
            (x, y, upstream)
            add add_backward: upstream * 1.0, upstream * 1.0;
            sub sub_backward: upstream * 1.0, upstream * -1.0;
            mul mul_backward: mul_nonzero(upstream, y), mul_nonzero(upstream, x);
            div div_backward: mul_nonzero(upstream, recip(y)), mul_nonzero(upstream, x * recip(square(y)) * -1.0);
        }
    };
}

macro_rules! compute {
    (
        ($x:ident, $upstream:ident)
        $($name:ident $backward:ident: $formula:expr;)*
        ($left:ident, $right:ident, $of_both:ident)
        $($operation:ident $back:ident: $to_left:expr, $to_right:expr;)*
    ) => {
        /// What a function of one element gives back, if it is smooth.
        #[track_caller]
        #[allow(clippy::approx_constant)] // as texts have them
        pub(super) fn of_one<F, Y>(name: &str, $x: Term<Y>, $upstream: Term<Y>) -> Option<Lazy<Y>>
        where
            F: Float + Numeric + RealNumber,
            Y: Steps<Elem = F, Of<F> = Y>,
        {
            let formula = match name {
                $(stringify!($name) => $formula,)*
                _ => return None,
            };
            Some(formula.0)
        }

        /// What an operation gives back to its operand on the left, and to that on the right; none of what is no
        /// arithmetic.
        #[track_caller]
        pub(super) fn of_two<F, Y>(name: &str, place: usize, [$left, $right, $of_both]: [Term<Y>; 3]) -> Option<Lazy<Y>>
        where
            F: Float + Numeric + RealNumber,
            Y: Steps<Elem = F, Of<F> = Y>,
        {
            let name = if name == "mul_nonzero" { "mul" } else { name };
            let formula = match (name, place) {
                $((stringify!($operation), 0) => $to_left, (stringify!($operation), 1) => $to_right,)*
                _ => return None,
            };
            Some(formula.0)
        }
    };
}

#[cfg(all(feature = "eval", not(test)))]
macro_rules! tell {
    (
        ($($of_one:ident),*) $($name:ident $backward:ident: $formula:expr;)*
        ($($of_two:ident),*) $($operation:ident $back:ident: $to_left:expr, $to_right:expr;)*
    ) => {
        /// The formulas in the language of expressions, by the names of the backward functions.
        pub(crate) const TEXTS: &[(&str, &[&str])] = &[
            $((stringify!($backward), &[stringify!($formula)]),)*
            $((stringify!($back), &[stringify!($to_left), stringify!($to_right)]),)*
        ];
    };
}

formulas!(compute);
#[cfg(all(feature = "eval", not(test)))] // as `eval`, which reads them
formulas!(tell);

/// What variances and deviations give back, as a formula; none where the numbers of elements differ, as by labels.
#[track_caller]
pub(super) fn of_deviations<F, X>(name: &str, x: &Lazy<X>, g: &Lazy<X>, options: &Var) -> Option<Lazy<X>>
where
    F: Float + Numeric + RealNumber,
    X: Steps<Elem = F, Of<F> = X>,
{
    let (axes, shape) = (&options.axes, x.node.shape.as_ref()?);
    if axes.grouping().is_some() {
        return None;
    }
    let count = Reduction::new(shape, axes).ok()?.extent() as f64 - options.ddof as f64;
    let spread = |of: &Lazy<X>| x.any_backward(of, axes);
    let deviations = x.any_backward(x, Axes::none()) - spread(&x.mean(axes));
    Some(match name {
        "std_backward" => {
            let over_std = g.mul_nonzero(x.std(options.clone()).recip());
            spread(&over_std).mul_nonzero(deviations) * F::from_f64(1.0 / count)
        }
        _ => spread(g).mul_nonzero(deviations) * F::from_f64(2.0 / count),
    })
}

/// What roots of sums of squares give back, as a formula; none of other norms.
#[track_caller]
pub(super) fn of_norm<F, X>(x: &Lazy<X>, g: &Lazy<X>, norm: &Lazy<X>, options: &Norm) -> Option<Lazy<X>>
where
    F: Float + Numeric,
    X: Steps<Elem = F, Of<F> = X>,
{
    let spread = || x.any_backward(&g.mul_nonzero(norm.recip()), &options.axes);
    (options.order == NormOrder::Two).then(|| spread().mul_nonzero(x.any_backward(x, Axes::none())))
}

/// What shares give back, as a formula of the operand, its shares and the upstream gradient.
#[track_caller]
pub(super) fn of_shares<F, X>(name: &str, x: &Lazy<X>, shares: &Lazy<X>, upstream: &Lazy<X>, axes: &Axes) -> Lazy<X>
where
    F: Float + Numeric,
    X: Steps<Elem = F, Of<F> = X>,
{
    let at_entries = |of: &Lazy<X>| x.any_backward(of, Axes::none());
    let sums = |of: &Lazy<X>| x.any_backward(&of.sum(axes), axes);
    let (shares, upstream) = (at_entries(shares), at_entries(upstream));
    if name == "log_softmax" {
        return &upstream - sums(&upstream).mul_nonzero(shares);
    }
    let parts = upstream.mul_nonzero(&shares);
    &parts - sums(&parts).mul_nonzero(shares)
}
