//! Quantiles as steps.

use std::sync::Arc;

use super::Lazy;
use super::call::{Arg, Options};
use super::node::{Family, Held, Made, Node, known};
use super::reductions::{call_of, reduced, reduced_entries};
use super::steps::{LazyStored, Steps, family, made};
use crate::element::{Element, Float, Numeric, Real, RealNumber};
use crate::ops::{self, Quantile, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the argument `q`.
fn q_of(node: &Node) -> f64 {
    node.args().real("q").unwrap_or(f64::NAN)
}

macro_rules! quantiles {
    ($($name:ident, $backward:ident;)*) => {$(
        mod $name {
            use super::*;

            pub(super) fn whole<T: Real, X: Steps<Elem = T>>() -> Made {
                reduced!(X, T::Median, |x, node| ops::$name(x, q_of(node), Quantile::read(node.args())))
            }

            pub(super) fn stored<P: Pattern, T: Real>() -> Made {
                reduced_entries!(P, T, T::Median, |x, node| ops::$name(x, q_of(node), Quantile::read(node.args())))
            }

            fn whole_back<T: Float, X: Steps<Elem = T>>() -> Made {
                made!(X::Of<T>, |node, inputs| {
                    let [x, g] = [0, 1].map(|at| known::<X>(&inputs[at]));
                    ops::$backward(x, g, q_of(node), Quantile::read(node.args())).map(X::reduced)
                })
            }

            fn stored_back<P: Pattern, T: Float>() -> Made {
                made!(Tensor<P, T>, |node, inputs| {
                    let [x, g] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
                    ops::$backward(&x.stored(), g, q_of(node), Quantile::read(node.args()))
                })
            }

            pub(super) fn family_of_whole<T: Element, X: Steps<Elem = T>>() -> Option<Family> {
                family!(T, [X: Steps] X, |call, _inputs| match call.op {
                    op if op.is(&op::$name) => Some(whole::<F, X::Of<F>>()),
                    op if op.is(&op::$backward) => Some(whole_back::<F, X::Of<F>>()),
                    _ => None,
                })
            }

            pub(super) fn family_of_stored<P: Pattern, T: Element>() -> Option<Family> {
                family!(T, [P: Pattern] P, |call, _inputs| match call.op {
                    op if op.is(&op::$name) => Some(stored::<P, F>()),
                    op if op.is(&op::$backward) => Some(stored_back::<P, F>()),
                    _ => None,
                })
            }
        }

        /// # Quantiles
        ///
        /// The method is documented at the function of the same name.
        impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, q: f64, options: impl Into<Quantile>) -> Lazy<X::Of<T::Median>> {
                let call = call_of(&op::$name, &[Arg::Input(0), Arg::Real(q)], &options.into());
                let made = Made { family: $name::family_of_whole::<T, X>(), ..$name::whole::<T, X>() };
                Lazy::step(call, [&self.node], made)
            }
        }

        /// # Quantiles of stored entries
        ///
        /// The method is documented at the function of the same name.
        impl<P: Pattern, T: Real> LazyStored<P, T> {
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, q: f64, options: impl Into<Quantile>) -> Lazy<Tensor<P, T::Median>> {
                let call = call_of(&op::$name, &[Arg::Stored(0), Arg::Real(q)], &options.into());
                let made = Made { family: $name::family_of_stored::<P, T>(), ..$name::stored::<P, T>() };
                Lazy::step(call, [&self.x.node], made)
            }
        }
    )*};
}

quantiles! {
    quantile, quantile_backward;
    nanquantile, nanquantile_backward;
}
