//! Functions along an axis as steps.

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step_impl};
use crate::element::{Element, Float, Numeric, Real, Ring};
use crate::ops::{self, OpSpec, op, result_of};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the call of a function along an axis.
pub(super) fn call_of(op: &'static OpSpec, x: Arg, count: Option<usize>, axis: isize) -> Call {
    let count = count.map(|count| Arg::Integer(count as i128));
    Call::of(op, [x].into_iter().chain(count).chain([Arg::Integer(axis as i128)]))
}

/// Returns the order and the axis of a difference.
fn order_and_axis(call: &Call) -> (usize, isize) {
    (call.order(), call.position("axis", -1))
}

/// Returns the implementation of differences.
fn differences<X: Steps<Elem: Numeric>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (n, axis) = order_and_axis(node.args());
        found::<X, _>(ops::diff(&operand::<X>(node, &inputs[0]), n, axis))
    })
}

/// Returns the implementation of the gradient of [`differences`].
fn differences_back<X: Steps<Elem: Float + Numeric>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (n, axis) = order_and_axis(node.args());
        found::<X, _>(ops::diff_backward(&operand::<X>(node, &inputs[0]), downcast::<X>(&inputs[1]), n, axis))
    })
}

/// Returns the step of the differences of an array, a tensor or its stored entries.
#[track_caller]
fn diff<X: Steps<Elem: Numeric>>(x: &Lazy<X>, of: Arg, n: usize, axis: isize) -> Lazy<X::Of<X::Elem>> {
    let family = family!(
        X::Elem, [X: Steps]
        diff => differences::<X::Of<F>>(),
        diff_backward => differences_back::<X::Of<F>>(),
    );
    Lazy::step(call_of(&op::diff, of, Some(n), axis), [&x.node], StepImpl { family, ..differences::<X>() })
}

/// # Steps along an axis
///
/// Each method is documented at the function of the same name.
impl<T: Numeric, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "Returns the step [`diff`](crate::diff())." => diff(x, n: usize, axis: isize) -> Lazy<X::Of<T>> {
            diff(x, Arg::Input(0), n, axis)
        }
    }
}

/// # Steps along an axis
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Numeric> LazyStored<P, T> {
    methods! {
        "Returns the step [`diff`](crate::diff()) of the stored entries." =>
        diff(x, n: usize, axis: isize) -> Lazy<Tensor<P, T>> {
            diff(&x.x, Arg::Stored(0), n, axis)
        }
    }
}

/// Defines the steps of the functions along an axis, from their rows.
macro_rules! along {
    ([] $(
        $name:ident($($count:ident)?) $parameters:literal [$bound:ident -> $out:ident] $route:tt
        [$($backward:ident($($given:ident)?) $back_route:ident $second:ident)?] $methods:ident $sentence:literal $set:tt;
    )*) => {
        /// The implementations.
        mod runs {$(
            pub(super) mod $name {
                use super::super::*;

                fn run<T: $bound, X: Steps<Elem = T>>() -> StepImpl {
                    step_impl!(X::Of<result_of!($out T)>, |node, inputs| {
                        let (x, call) = (&operand::<X>(node, &inputs[0]), node.args());
                        found::<X, _>(ops::$name(x, $(call.count(stringify!($count)),)? call.position("axis", -1)))
                    })
                }

                $(fn back<T: Float, X: Steps<Elem = T>>() -> StepImpl {
                    step_impl!(X::Of<T>, |node, inputs| {
                        let (x, g, call) = (&operand::<X>(node, &inputs[0]), downcast::<X>(&inputs[1]), node.args());
                        let axis = call.position("axis", -1);
                        found::<X, _>(ops::$backward(x, g, $(call.count(stringify!($given)),)? axis))
                    })
                })?

                /// Returns the implementation with the implementations that gradients use, if there are any.
                pub(in super::super) fn step_impl<T: $bound, X: Steps<Elem = T>>() -> StepImpl {
                    let family = None$(.or(
                        family!(T, [X: Steps] $name => run::<F, X::Of<F>>(), $backward => back::<F, X::Of<F>>())
                    ))?;
                    StepImpl { family, ..run::<T, X>() }
                }
            }
        )*}

        /// # Functions along an axis
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            methods! {$(
                concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $count: usize)?, axis: isize) [$bound] -> Lazy<X::Of<result_of!($out T)>> {
                    let call = call_of(&op::$name, Arg::Input(0), None$(.or(Some($count)))?, axis);
                    Lazy::step(call, [&x.node], runs::$name::step_impl::<T, X>())
                }
            )*}
        }

        /// # Functions of stored entries along an axis
        ///
        /// Each method is documented at the function of the same name.
        ///
        /// ```
        /// use lacuna::CooTensor;
        ///
        /// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 2]], vec![-5.0, -2.0, 3.0], 0.0)?;
        /// let lazy = x.lazy();
        /// let best = lazy.stored().topk(1, 1);
        /// assert_eq!(best.collect()?.to_dense()?, ndarray::arr2(&[[-2.0], [3.0]]).into_dyn());
        /// assert_eq!(best.gradient(&lazy, &best).collect()?.values(), [0.0, -2.0, 3.0]);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            methods! {$(
                concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $count: usize)?, axis: isize) [$bound] -> Lazy<Tensor<P, result_of!($out T)>> {
                    let call = call_of(&op::$name, Arg::Stored(0), None$(.or(Some($count)))?, axis);
                    Lazy::step(call, [&x.x.node], runs::$name::step_impl::<T, Tensor<P, T>>())
                }
            )*}
        }
    };
}

crate::__along! { (along) }
