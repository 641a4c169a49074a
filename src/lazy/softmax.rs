//! Softmax as steps.

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step_impl};
use crate::base::axes::Axes;
use crate::element::Float;
use crate::ops::{self, OpSpec, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the implementation of a softmax of arrays, or of stored entries.
fn run<X: Steps<Elem: Float>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (x, axes) = (&operand::<X>(node, &inputs[0]), node.args().axes());
        let is_log = node.args().op.is(&op::log_softmax);
        found::<X, _>(if is_log { ops::log_softmax(x, axes) } else { ops::softmax(x, axes) })
    })
}

/// Returns the implementation of the gradient of [`run`].
fn back<X: Steps<Elem: Float>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (x, g, axes) = (&operand::<X>(node, &inputs[0]), downcast::<X>(&inputs[1]), node.args().axes());
        let is_log = node.args().op.is(&op::log_softmax_backward);
        found::<X, _>(if is_log { ops::log_softmax_backward(x, g, axes) } else { ops::softmax_backward(x, g, axes) })
    })
}

/// Returns the step of a softmax of an array, or of the stored entries of a tensor.
#[track_caller]
fn step<X: Steps<Elem: Float>>(op: &'static OpSpec, x: &Lazy<X>, of: Arg, axes: Axes) -> Lazy<X> {
    let family = family!(
        X::Elem, [X: Steps]
        softmax => run::<X::Of<F>>(),
        log_softmax => run::<X::Of<F>>(),
        softmax_backward => back::<X::Of<F>>(),
        log_softmax_backward => back::<X::Of<F>>(),
    );
    Lazy::step(Call::of(op, [of, Arg::Axes(axes)]), [&x.node], StepImpl { family, ..run::<X>() })
}

/// # Softmax of stored entries
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Float> LazyStored<P, T> {
    methods! {
        "Returns the step [`softmax`](crate::softmax())." => softmax(x, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
            step(&op::softmax, &x.x, Arg::Stored(0), axes.into())
        }
        "Returns the step [`log_softmax`](crate::log_softmax())." =>
        log_softmax(x, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
            step(&op::log_softmax, &x.x, Arg::Stored(0), axes.into())
        }
    }
}

/// # Softmax of arrays
///
/// Each method is documented at the function of the same name.
impl<T: Float> Lazy<ArrayD<T>> {
    methods! {
        "Returns the step [`softmax`](crate::softmax())." => softmax(x, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
            step(&op::softmax, x, Arg::Input(0), axes.into())
        }
        "Returns the step [`log_softmax`](crate::log_softmax())." =>
        log_softmax(x, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
            step(&op::log_softmax, x, Arg::Input(0), axes.into())
        }
    }
}
