//! Reductions as steps: one row per operation, with its gradient.

use std::sync::Arc;

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call, Options};
use super::kit::is;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step_impl};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::accumulator_bytes::values_of;
use crate::element::{Element, Float, Inexact, Numeric, Real, Ring};
use crate::ops::{
    self, ErasedOperand, ErasedResult, Nanmedian, Norm, Quantile, Stream, Var, accumulators, op, result_of,
};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns how a step reads an operand in chunks.
pub(super) fn stream(node: &Node) -> Stream {
    let op = node.op().filter(|_| node.work().is_some_and(|work| work.reduce_chunks.is_some()));
    op.map_or(Stream::Whole, |op| op.stream)
}

/// Returns the call of a reduction, or of its gradient.
pub(super) fn call_of(op: &'static ops::OpSpec, operands: &[Arg], options: &impl Options) -> Call {
    Call::of(op, operands.iter().cloned().chain(options.args()))
}

/// Returns the accumulator of a reduction, if its row has an accumulator. With `@`, the elements of this kind must also
/// satisfy the bound.
macro_rules! accumulator {
    (@any Element $($row:tt)*) => { accumulator!($($row)*) };
    (@any Ring $($row:tt)*) => { accumulator!($($row)*) };
    (@real Real $($row:tt)*) => { accumulator!($($row)*) };
    (@float Float $($row:tt)*) => { accumulator!($($row)*) };
    (@float Inexact $($row:tt)*) => { accumulator!($($row)*) };
    (@inexact Inexact $($row:tt)*) => { accumulator!($($row)*) };
    (@$elements:ident $($row:tt)*) => { None };
    ([whole] $($row:tt)*) => { None };
    ([passes] $($row:tt)*) => { None };
    ($stream:tt $T:ty, $name:ident, $options:ident) => {
        Some(|call: &Call, implicit: Option<&[u8]>| {
            let implicit = implicit.and_then(values_of::<$T>).and_then(|implicit| implicit.first().copied());
            accumulators::$name::<$T>(&<$options>::read(call), implicit)
        })
    };
}
pub(super) use accumulator;

/// Returns the argument `q` of a quantile.
fn real(call: &Call, parameter: &str) -> f64 {
    call.real(parameter).unwrap_or(f64::NAN)
}

/// Defines the steps of reductions, from their rows.
macro_rules! reductions {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt $stream:tt
        [$($backward:ident($($given:ident)?) $back_bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        /// The implementations, for all positions and for stored entries.
        mod runs {$(
            pub(super) mod $name {
                use super::super::*;

                fn of<T: $bound>(x: &ErasedOperand<'_, T>, call: &Call) -> Result<ErasedResult<result_of!($out T)>> {
                    ops::$name(x, $(real(call, stringify!($q)),)? <$options>::read(call))
                }

                pub(in super::super) fn run<T: $bound, X: Steps<Elem = T>>() -> StepImpl {
                    StepImpl {
                        reduce_chunks: Some(|node: &Node, feed| {
                            let reduced = X::in_chunks(feed, node.args().is_stored(), |x| of(x, node.args()))?;
                            Some(found::<X, _>(reduced).map(|found| Arc::new(found) as ErasedValue))
                        }),
                        accumulator: accumulator!($stream T, $name, $options),
                        ..step_impl!(X::Of<result_of!($out T)>, |node, inputs| {
                            found::<X, _>(of(&operand::<X>(node, &inputs[0]), node.args()))
                        })
                    }
                }

                $(pub(in super::super) fn back<T: Float, X: Steps<Elem = T>>() -> StepImpl {
                    step_impl!(X::Of<T>, |node, inputs| {
                        let (x, g, call) = (&operand::<X>(node, &inputs[0]), downcast::<X>(&inputs[1]), node.args());
                        found::<X, _>(ops::$backward(x, g, $(real(call, stringify!($given)),)? <$options>::read(call)))
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

        /// # Reductions
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            methods! {$(
                concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $q: f64)?, options: impl Into<$options>) [$bound] -> Lazy<X::Of<result_of!($out T)>> {
                    let call = call_of(&op::$name, &[Arg::Input(0) $(, Arg::Real($q))?], &options.into());
                    Lazy::step(call, [&x.node], runs::$name::step_impl::<T, X>())
                }
            )*}
        }

        /// # Reductions of stored entries
        ///
        /// Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            methods! {$(
                concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $q: f64)?, options: impl Into<$options>) [$bound] -> Lazy<Tensor<P, result_of!($out T)>> {
                    let call = call_of(&op::$name, &[Arg::Stored(0) $(, Arg::Real($q))?], &options.into());
                    Lazy::step(call, [&x.x.node], runs::$name::step_impl::<T, Tensor<P, T>>())
                }
            )*}
        }
    };
}

crate::__folds! { (reductions) }

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`grad::any`](crate::grad::any()).
    ///
    /// Each element receives the upstream gradient of the group of the element.
    ///
    /// The result of [`any`](Lazy::any) is `bool`, and an upstream gradient is a float. [`gradient`](Lazy::gradient)
    /// therefore does not compute this step.
    ///
    /// ```
    /// use lacuna::{CooTensor, grad};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![true; 3], false)?;
    /// let upstream = CooTensor::new([2], vec![vec![0, 1]], vec![0.5, 0.25], 0.0)?;
    /// let dx = x.lazy().any_gradient(&upstream.lazy(), 1);
    /// assert_eq!(dx.collect()?.values(), [0.5, 0.25, 0.25]);
    /// assert_eq!(dx.collect()?, grad::any(&x, &upstream, 1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn any_gradient<G: Float>(&self, upstream: &Lazy<X::Of<G>>, axes: impl Into<Axes>) -> Lazy<X::Of<G>> {
        let call = call_of(&op::any_backward, &[Arg::Input(0), Arg::Input(1)], &axes.into());
        let run = step_impl!(X::Of<G>, |node, inputs| {
            let (x, g) = (downcast::<X>(&inputs[0]), downcast::<X::Of<G>>(&inputs[1]));
            ops::any_backward(x, g, node.args().axes()).map(X::reduced)
        });
        Lazy::step(call, [&self.node, &upstream.node], run)
    }
}

/// Returns the implementation of an operation that many gradients use.
pub(super) fn find_impl<T, X>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl>
where
    T: Float + Numeric,
    X: Steps<Elem = T, Of<T> = X>,
{
    match call.op {
        op if op.is(&op::any_backward) => match inputs.get(1)? {
            g if is::<X>(g) => Some(runs::any::back::<T, X>()),
            g if is::<ArrayD<T>>(g) => Some(step_impl!(X, |node, inputs| {
                let (x, g) = (downcast::<X>(&inputs[0]).erased(), downcast::<ArrayD<T>>(&inputs[1]));
                found::<X, _>(ops::any_backward(&x, g, node.args().axes()))
            })),
            _ => None,
        },
        _ if call.is_stored() => None,
        op if op.is(&op::sum) => Some(runs::sum::run::<T, X>()),
        op if op.is(&op::sum_backward) => Some(runs::sum::back::<T, X>()),
        op if op.is(&op::mean) => Some(runs::mean::run::<T, X>()),
        op if op.is(&op::mean_backward) => Some(runs::mean::back::<T, X>()),
        _ => None,
    }
}
