//! Softmax as steps.

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{Family, Made, known};
use super::steps::{LazyStored, Steps, family, found, made, operand};
use crate::base::axes::Axes;
use crate::element::{Float, Numeric, RealNumber};
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

/// Returns whether an operation is the second of two, which is the logarithm; `None` if it is neither.
fn is_log(op: &'static ops::OpSpec, of: [&'static ops::OpSpec; 2]) -> Option<bool> {
    of.iter().position(|other| op.is(other)).map(|at| at == 1)
}

const FUNCTIONS: [&ops::OpSpec; 2] = [&op::softmax, &op::log_softmax];
const GRADIENTS: [&ops::OpSpec; 2] = [&op::softmax_backward, &op::log_softmax_backward];

fn family<X: Steps>() -> Option<Family> {
    family!(X::Elem, [X: Steps] X, |call, _inputs| {
        let of = is_log(call.op, FUNCTIONS).map(run::<X::Of<F>>);
        of.or_else(|| is_log(call.op, GRADIENTS).map(back::<X::Of<F>>))
    })
}

fn call_of(op: &'static ops::OpSpec, x: Arg, axes: Axes) -> Call {
    Call::of(op, [x, Arg::Axes(axes)])
}

/// # Softmax of stored entries
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Float> LazyStored<P, T> {
    /// Returns the step [`softmax`](crate::softmax()).
    #[track_caller]
    pub fn softmax(&self, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
        let made = Made { family: family::<Tensor<P, T>>(), ..run::<Tensor<P, T>>(false) };
        Lazy::step(call_of(&op::softmax, Arg::Stored(0), axes.into()), [&self.x.node], made)
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
        let made = Made { family: family::<Tensor<P, T>>(), ..run::<Tensor<P, T>>(true) };
        Lazy::step(call_of(&op::log_softmax, Arg::Stored(0), axes.into()), [&self.x.node], made)
    }
}

/// # Softmax of arrays
///
/// Each method is documented at the function of the same name.
impl<T: Float> Lazy<ArrayD<T>> {
    /// Returns the step [`softmax`](crate::softmax()).
    #[track_caller]
    pub fn softmax(&self, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
        let made = Made { family: family::<ArrayD<T>>(), ..run::<ArrayD<T>>(false) };
        Lazy::step(call_of(&op::softmax, Arg::Input(0), axes.into()), [&self.node], made)
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
        let made = Made { family: family::<ArrayD<T>>(), ..run::<ArrayD<T>>(true) };
        Lazy::step(call_of(&op::log_softmax, Arg::Input(0), axes.into()), [&self.node], made)
    }
}
