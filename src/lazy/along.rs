//! Differences and scans along an axis as steps.

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step_impl};
use crate::element::{Float, Numeric, Ring};
use crate::ops::{self, OpSpec, op};
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

/// Returns the implementation of a scan that arrays of any type have.
fn scan<X: Steps<Elem: Ring>>() -> StepImpl {
    step_impl!(X::Of<<X::Elem as Ring>::Sum>, |node, inputs| {
        let (x, axis) = (&operand::<X>(node, &inputs[0]), node.args().position("axis", 0));
        let is_sum = node.args().op.is(&op::cumsum);
        found::<X, _>(if is_sum { ops::cumsum(x, axis) } else { ops::cumprod(x, axis) })
    })
}

/// Returns the implementation of a scan that ignores NaN.
fn nan_scan<X: Steps<Elem: Float>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (x, axis) = (&operand::<X>(node, &inputs[0]), node.args().position("axis", 0));
        let is_sum = node.args().op.is(&op::nancumsum);
        found::<X, _>(if is_sum { ops::nancumsum(x, axis) } else { ops::nancumprod(x, axis) })
    })
}

/// Returns the implementation of the gradients of [`scan`] and [`nan_scan`].
fn scan_back<X: Steps<Elem: Float>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (x, g) = (&operand::<X>(node, &inputs[0]), downcast::<X>(&inputs[1]));
        let axis = node.args().position("axis", 0);
        found::<X, _>(match node.args().op {
            op if op.is(&op::cumsum_backward) => ops::cumsum_backward(x, g, axis),
            op if op.is(&op::cumprod_backward) => ops::cumprod_backward(x, g, axis),
            op if op.is(&op::nancumsum_backward) => ops::nancumsum_backward(x, g, axis),
            _ => ops::nancumprod_backward(x, g, axis),
        })
    })
}

/// Returns the step of a scan of an array, or of the stored entries of a tensor.
#[track_caller]
fn scanned<X: Steps, Y: Steps>(
    op: &'static OpSpec,
    x: &Lazy<X>,
    (of, axis): (Arg, isize),
    step_impl: StepImpl,
) -> Lazy<Y> {
    let family = family!(
        X::Elem, [X: Steps]
        cumsum => scan::<X::Of<F>>(),
        cumprod => scan::<X::Of<F>>(),
        nancumsum => nan_scan::<X::Of<F>>(),
        nancumprod => nan_scan::<X::Of<F>>(),
        cumsum_backward => scan_back::<X::Of<F>>(),
        cumprod_backward => scan_back::<X::Of<F>>(),
        nancumsum_backward => scan_back::<X::Of<F>>(),
        nancumprod_backward => scan_back::<X::Of<F>>(),
    );
    Lazy::step(Call::of(op, [of, Arg::Integer(axis as i128)]), [&x.node], StepImpl { family, ..step_impl })
}

/// # Scans of stored entries
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Ring> LazyStored<P, T> {
    methods! {
        "Returns the step [`cumsum`](crate::cumsum())." => cumsum(x, axis: isize) -> Lazy<Tensor<P, T::Sum>> {
            scanned(&op::cumsum, &x.x, (Arg::Stored(0), axis), scan::<Tensor<P, T>>())
        }
        "Returns the step [`cumprod`](crate::cumprod())." => cumprod(x, axis: isize) -> Lazy<Tensor<P, T::Sum>> {
            scanned(&op::cumprod, &x.x, (Arg::Stored(0), axis), scan::<Tensor<P, T>>())
        }
        "Returns the step [`nancumsum`](crate::nancumsum())." =>
        nancumsum(x, axis: isize) [Float] -> Lazy<Tensor<P, T>> {
            scanned(&op::nancumsum, &x.x, (Arg::Stored(0), axis), nan_scan::<Tensor<P, T>>())
        }
        "Returns the step [`nancumprod`](crate::nancumprod())." =>
        nancumprod(x, axis: isize) [Float] -> Lazy<Tensor<P, T>> {
            scanned(&op::nancumprod, &x.x, (Arg::Stored(0), axis), nan_scan::<Tensor<P, T>>())
        }
    }
}

/// # Scans of arrays
///
/// Each method is documented at the function of the same name.
impl<T: Ring> Lazy<ArrayD<T>> {
    methods! {
        "Returns the step [`cumsum`](crate::cumsum())." => cumsum(x, axis: isize) -> Lazy<ArrayD<T::Sum>> {
            scanned(&op::cumsum, x, (Arg::Input(0), axis), scan::<ArrayD<T>>())
        }
        "Returns the step [`cumprod`](crate::cumprod())." => cumprod(x, axis: isize) -> Lazy<ArrayD<T::Sum>> {
            scanned(&op::cumprod, x, (Arg::Input(0), axis), scan::<ArrayD<T>>())
        }
        "Returns the step [`nancumsum`](crate::nancumsum())." => nancumsum(x, axis: isize) [Float] -> Lazy<ArrayD<T>> {
            scanned(&op::nancumsum, x, (Arg::Input(0), axis), nan_scan::<ArrayD<T>>())
        }
        "Returns the step [`nancumprod`](crate::nancumprod())." =>
        nancumprod(x, axis: isize) [Float] -> Lazy<ArrayD<T>> {
            scanned(&op::nancumprod, x, (Arg::Input(0), axis), nan_scan::<ArrayD<T>>())
        }
    }
}
