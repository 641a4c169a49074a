//! Softmax as steps.

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{Family, Made, known};
use super::steps::{LazyStored, Steps, family, found, made, operand};
use crate::base::axes::Axes;
use crate::element::Float;
use crate::ops::{self, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the implementation of a softmax of arrays, or of stored entries.
fn run<X: Steps<Elem: Float>>(is_log: bool) -> Made {
    match is_log {
        false => made!(X::Of<X::Elem>, |node, inputs| {
            found::<X, _>(ops::softmax(&operand::<X>(node, &inputs[0]), node.args().axes()))
        }),
        true => made!(X::Of<X::Elem>, |node, inputs| {
            found::<X, _>(ops::log_softmax(&operand::<X>(node, &inputs[0]), node.args().axes()))
        }),
    }
}

/// Returns the implementation of the gradient of [`run`].
fn back<X: Steps<Elem: Float>>(is_log: bool) -> Made {
    match is_log {
        false => made!(X::Of<X::Elem>, |node, inputs| {
            let (x, g) = (&operand::<X>(node, &inputs[0]), known::<X>(&inputs[1]));
            found::<X, _>(ops::softmax_backward(x, g, node.args().axes()))
        }),
        true => made!(X::Of<X::Elem>, |node, inputs| {
            let (x, g) = (&operand::<X>(node, &inputs[0]), known::<X>(&inputs[1]));
            found::<X, _>(ops::log_softmax_backward(x, g, node.args().axes()))
        }),
    }
}

fn family<X: Steps>() -> Option<Family> {
    family!(
        X::Elem, [X: Steps]
        softmax => run::<X::Of<F>>(false),
        log_softmax => run::<X::Of<F>>(true),
        softmax_backward => back::<X::Of<F>>(false),
        log_softmax_backward => back::<X::Of<F>>(true),
    )
}

/// Returns the step of a softmax of an array, or of the stored entries of a tensor.
#[track_caller]
fn step<X: Steps<Elem: Float>>(x: &Lazy<X>, of: Arg, is_log: bool, axes: Axes) -> Lazy<X> {
    let op = if is_log { &op::log_softmax } else { &op::softmax };
    let made = Made { family: family::<X>(), ..run::<X>(is_log) };
    Lazy::step(Call::of(op, [of, Arg::Axes(axes)]), [&x.node], made)
}

/// # Softmax of stored entries
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Float> LazyStored<P, T> {
    /// Returns the step [`softmax`](crate::softmax()).
    #[track_caller]
    pub fn softmax(&self, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
        step(&self.x, Arg::Stored(0), false, axes.into())
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
        step(&self.x, Arg::Stored(0), true, axes.into())
    }
}

/// # Softmax of arrays
///
/// Each method is documented at the function of the same name.
impl<T: Float> Lazy<ArrayD<T>> {
    /// Returns the step [`softmax`](crate::softmax()).
    #[track_caller]
    pub fn softmax(&self, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
        step(self, Arg::Input(0), false, axes.into())
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
        step(self, Arg::Input(0), true, axes.into())
    }
}
