//! Differences along an axis as steps.

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step_impl};
use crate::element::{Float, Numeric};
use crate::ops::{self, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

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
    let call = Call::of(&op::diff, [of, Arg::Integer(n as i128), Arg::Integer(axis as i128)]);
    Lazy::step(call, [&x.node], StepImpl { family, ..differences::<X>() })
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
