//! Softmax as steps.

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{Family, Made, known};
use super::steps::{LazyStored, family, made};
use crate::base::axes::Axes;
use crate::element::{Element, Float, Numeric, RealNumber};
use crate::ops::{self, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Defines the implementations of a function and of its gradient, for stored entries or for arrays.
macro_rules! shares {
    ($([$($generics:tt)*] $X:ty, $seen:ident, |$x:ident| $view:expr, $run:ident, $back:ident;)*) => {$(
        fn $run<$($generics)*>(is_log: bool) -> Made {
            match is_log {
                false => made!($X, |node, inputs| {
                    let $x = known::<$X>(&inputs[0]);
                    ops::softmax($view, node.args().axes())
                }),
                true => made!($X, |node, inputs| {
                    let $x = known::<$X>(&inputs[0]);
                    ops::log_softmax($view, node.args().axes())
                }),
            }
        }

        fn $back<$($generics)*>(is_log: bool) -> Made {
            match is_log {
                false => made!($X, |node, inputs| {
                    let $x = known::<$X>(&inputs[0]);
                    ops::softmax_backward($view, known::<$X>(&inputs[1]), node.args().axes())
                }),
                true => made!($X, |node, inputs| {
                    let $x = known::<$X>(&inputs[0]);
                    ops::log_softmax_backward($view, known::<$X>(&inputs[1]), node.args().axes())
                }),
            }
        }
    )*};
}

shares! {
    [P: Pattern, T: Float] Tensor<P, T>, entries, |x| &x.stored(), of_entries, of_entries_back;
    [T: Float] ArrayD<T>, whole, |x| x, of_arrays, of_arrays_back;
}

/// Returns whether an operation is the second of two, which is the logarithm; `None` if it is neither.
fn is_log(op: &'static ops::OpSpec, of: [&'static ops::OpSpec; 2]) -> Option<bool> {
    of.iter().position(|other| op.is(other)).map(|at| at == 1)
}

const FUNCTIONS: [&ops::OpSpec; 2] = [&op::softmax, &op::log_softmax];
const GRADIENTS: [&ops::OpSpec; 2] = [&op::softmax_backward, &op::log_softmax_backward];

fn family_of_entries<P: Pattern, T: Element>() -> Option<Family> {
    family!(T, [P: Pattern] P, |call, _inputs| {
        let of = is_log(call.op, FUNCTIONS).map(of_entries::<P, F>);
        of.or_else(|| is_log(call.op, GRADIENTS).map(of_entries_back::<P, F>))
    })
}

fn family_of_arrays<T: Element>() -> Option<Family> {
    family!(T, [T: Element] T, |call, _inputs| {
        let of = is_log(call.op, FUNCTIONS).map(of_arrays::<F>);
        of.or_else(|| is_log(call.op, GRADIENTS).map(of_arrays_back::<F>))
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
        let made = Made { family: family_of_entries::<P, T>(), ..of_entries::<P, T>(false) };
        Lazy::step(call_of(&op::softmax, Arg::Stored(0), axes.into()), [&self.x.node], made)
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<Tensor<P, T>> {
        let made = Made { family: family_of_entries::<P, T>(), ..of_entries::<P, T>(true) };
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
        let made = Made { family: family_of_arrays::<T>(), ..of_arrays::<T>(false) };
        Lazy::step(call_of(&op::softmax, Arg::Input(0), axes.into()), [&self.node], made)
    }

    /// Returns the step [`log_softmax`](crate::log_softmax()).
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Lazy<ArrayD<T>> {
        let made = Made { family: family_of_arrays::<T>(), ..of_arrays::<T>(true) };
        Lazy::step(call_of(&op::log_softmax, Arg::Input(0), axes.into()), [&self.node], made)
    }
}
