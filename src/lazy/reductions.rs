//! Reductions as steps: one row per operation, with its gradient.

use std::sync::Arc;

use ndarray::ArrayD;

use super::Lazy;
use super::call::{Arg, Call, Options};
use super::kit::is;
use super::node::{Body, Family, Held, Made, Node, known};
use super::steps::{LazyStored, Steps, family, made};
use crate::base::axes::Axes;
use crate::base::error::Error;
use crate::base::grouping::Grouping;
use crate::base::index::Position;
use crate::element::accumulator_bytes::values_of;
use crate::element::{Element, Float, Numeric, Real, RealNumber, Ring};
use crate::ops::{self, GroupLabels, Nanmedian, Norm, Quantile, Stream, Var, accumulators, op, result_of};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// A lazy value with group labels for the positions of an axis, as in [`GroupBy`](crate::GroupBy).
#[must_use = "labels do nothing until something is reduced by them"]
#[derive(Debug, Clone)]
pub struct LazyGroupBy<S> {
    of: S,
    /// `None` if the labels were rejected. Then `of` carries the error.
    grouping: Option<Arc<Grouping>>,
}

impl<S> LazyGroupBy<S> {
    /// Returns the options with the group labels.
    fn labelled<O: Options>(&self, mut options: O) -> O {
        if let Some(grouping) = &self.grouping {
            *options.axes_mut() = options.axes().grouped(Arc::clone(grouping));
        }
        options
    }
}

impl<X: Steps> Lazy<X> {
    /// Groups the positions of an axis by label, for reductions over that axis.
    ///
    /// The lengths of the axes must be known. See [`group_by`](crate::group_by()).
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3, 2], vec![vec![0, 1, 2], vec![0, 1, 0]], vec![5.0, 4.0, 1.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let sums = lazy.group_by(0, &[0, 1, 0]).sum(0);
    /// assert_eq!(sums.collect()?, x.group_by(0, &[0, 1, 0])?.sum(0)?);
    /// assert_eq!(sums.gradient(&lazy, &sums).collect()?.values(), [6.0, 4.0, 6.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn group_by<'a, J: Position>(&self, axis: isize, labels: impl Into<GroupLabels<'a, J>>) -> LazyGroupBy<Self> {
        let open = || Error::Argument { operation: "group_by", why: "the lengths of the axes are not known".into() };
        let known = self.node.shape.as_ref().ok_or_else(open);
        match known.and_then(|shape| labels.into().group(axis, shape)) {
            Ok(grouping) => LazyGroupBy { of: self.clone(), grouping: Some(grouping) },
            Err(error) => {
                let error = self.node.refusal().cloned().unwrap_or(error);
                let node = Node::new::<X>("group_by", Body::Refused(error.clone()), None);
                LazyGroupBy { of: Lazy::refused(node, error), grouping: None }
            }
        }
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Groups the positions of an axis by label, for reductions of stored entries.
    #[track_caller]
    pub fn group_by<'a, J: Position>(&self, axis: isize, labels: impl Into<GroupLabels<'a, J>>) -> LazyGroupBy<Self> {
        let LazyGroupBy { of, grouping } = self.x.group_by(axis, labels);
        LazyGroupBy { of: of.stored(), grouping }
    }
}

/// Returns how a step reads an operand in chunks.
pub(super) fn stream(node: &Node) -> Stream {
    let op = node.op().filter(|_| node.work().is_some_and(|work| work.from_pieces.is_some()));
    op.map_or(Stream::Whole, |op| op.stream)
}

/// Returns the call of a reduction, or of its gradient.
pub(super) fn call_of(op: &'static ops::OpSpec, operands: &[Arg], options: &impl Options) -> Call {
    Call::of(op, operands.iter().cloned().chain(options.args()))
}

/// Returns the accumulator of a reduction, if its row has one.
macro_rules! accumulator {
    ([whole] $T:ty, $name:ident, $options:ident) => {
        None
    };
    ([passes] $T:ty, $name:ident, $options:ident) => {
        None
    };
    ($stream:tt $T:ty, $name:ident, $options:ident) => {
        Some(|call: &Call, gap: Option<&[u8]>| {
            let gap = gap.and_then(values_of::<$T>).and_then(|gap| gap.first().copied());
            accumulators::$name::<$T>(&<$options>::read(call), gap)
        })
    };
}

/// Returns the argument `q` of a quantile.
fn real(node: &Node, parameter: &str) -> f64 {
    node.args().real(parameter).unwrap_or(f64::NAN)
}

/// Defines the steps of reductions, from their rows.
macro_rules! reductions {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt $stream:tt
        [$($backward:ident($($given:ident)?) $back_bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        /// The implementations for all elements.
        mod whole {$(
            pub(super) mod $name {
                use super::super::*;

                pub(in super::super) fn run<T: $bound, X: Steps<Elem = T>>() -> Made {
                    Made {
                        pieces: Some(|node: &Node, feed| {
                            let x = &X::fed(feed, false)?;
                            let found = ops::$name(x, $(real(node, stringify!($q)),)? <$options>::read(node.args()));
                            Some(found.map(|found| Arc::new(X::of_fed(found)) as Held))
                        }),
                        accumulator: accumulator!($stream T, $name, $options),
                        ..made!(X::Of<result_of!($out T)>, |node, inputs| {
                            let x = known::<X>(&inputs[0]);
                            ops::$name(x, $(real(node, stringify!($q)),)? <$options>::read(node.args())).map(X::reduced)
                        })
                    }
                }

                $(
                    pub(in super::super) fn back<T: Float, X: Steps<Elem = T>>() -> Made {
                        made!(X::Of<T>, |node, inputs| {
                            let [x, g] = [0, 1].map(|at| known::<X>(&inputs[at]));
                            let options = <$options>::read(node.args());
                            ops::$backward(x, g, $(real(node, stringify!($given)),)? options).map(X::reduced)
                        })
                    }

                    pub(in super::super) fn family<T: Element, X: Steps<Elem = T>>() -> Option<Family> {
                        family!(T, [X: Steps] X, |call, _inputs| match call.op {
                            _ if call.is_stored() => None,
                            op if op.is(&op::$name) => Some(run::<F, X::Of<F>>()),
                            op if op.is(&op::$backward) => Some(back::<F, X::Of<F>>()),
                            _ => None,
                        })
                    }
                )?
            }
        )*}

        /// The implementations for stored entries.
        mod stored {$(
            pub(super) mod $name {
                use super::super::*;

                pub(in super::super) fn run<P: Pattern, T: $bound>() -> Made {
                    Made {
                        pieces: Some(|node: &Node, feed| {
                            let x = &<Tensor<P, T>>::fed(feed, true)?;
                            let found = ops::$name(x, $(real(node, stringify!($q)),)? <$options>::read(node.args()));
                            Some(found.map(|found| Arc::new(<Tensor<P, T>>::of_fed(found)) as Held))
                        }),
                        accumulator: accumulator!($stream T, $name, $options),
                        ..made!(Tensor<P, result_of!($out T)>, |node, inputs| {
                            let x = &known::<Tensor<P, T>>(&inputs[0]).stored();
                            ops::$name(x, $(real(node, stringify!($q)),)? <$options>::read(node.args()))
                        })
                    }
                }

                $(
                    pub(in super::super) fn back<P: Pattern, T: Float>() -> Made {
                        made!(Tensor<P, T>, |node, inputs| {
                            let [x, g] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
                            let options = <$options>::read(node.args());
                            ops::$backward(&x.stored(), g, $(real(node, stringify!($given)),)? options)
                        })
                    }

                    pub(in super::super) fn family<P: Pattern, T: Element>() -> Option<Family> {
                        family!(T, [P: Pattern] P, |call, _inputs| match call.op {
                            _ if !call.is_stored() => None,
                            op if op.is(&op::$name) => Some(run::<P, F>()),
                            op if op.is(&op::$backward) => Some(back::<P, F>()),
                            _ => None,
                        })
                    }
                )?
            }
        )*}

        /// # Reductions
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, $($q: f64,)? options: impl Into<$options>) -> Lazy<X::Of<result_of!($out T)>>
            where
                T: $bound,
            {
                let call = call_of(&op::$name, &[Arg::Input(0) $(, Arg::Real($q))?], &options.into());
                let made = whole::$name::run::<T, X>();
                $(let made = reductions!(@with $backward whole::$name::family::<T, X>(), made);)?
                Lazy::step(call, [&self.node], made)
            }

        )*}

        /// # Reductions of stored entries
        ///
        /// Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyStored<P, T> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, $($q: f64,)? options: impl Into<$options>) -> Lazy<Tensor<P, result_of!($out T)>>
            where
                T: $bound,
            {
                let call = call_of(&op::$name, &[Arg::Stored(0) $(, Arg::Real($q))?], &options.into());
                let made = stored::$name::run::<P, T>();
                $(let made = reductions!(@with $backward stored::$name::family::<P, T>(), made);)?
                Lazy::step(call, [&self.x.node], made)
            }

        )*}

        /// # Reductions by group label
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> LazyGroupBy<Lazy<X>> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()), by label.")]
            #[track_caller]
            pub fn $name(&self, $($q: f64,)? options: impl Into<$options>) -> Lazy<X::Of<result_of!($out T)>>
            where
                T: $bound,
            {
                self.of.$name($($q,)? self.labelled::<$options>(options.into()))
            }
        )*}

        /// # Reductions of stored entries by group label
        ///
        /// Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyGroupBy<LazyStored<P, T>> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()), by label.")]
            #[track_caller]
            pub fn $name(&self, $($q: f64,)? options: impl Into<$options>) -> Lazy<Tensor<P, result_of!($out T)>>
            where
                T: $bound,
            {
                self.of.$name($($q,)? self.labelled::<$options>(options.into()))
            }
        )*}
    };
    (@with $backward:ident $family:expr, $made:ident) => {
        Made { family: $family, ..$made }
    };
}

crate::__folds! { (reductions) }

/// Returns the implementation of an operation that many gradients use.
pub(super) fn made<T, X>(call: &Call, inputs: &[Arc<Node>]) -> Option<Made>
where
    T: Float + Numeric + RealNumber,
    X: Steps<Elem = T, Of<T> = X>,
{
    match call.op {
        op if op.is(&op::any_backward) => match inputs.get(1)? {
            g if is::<X>(g) => Some(whole::any::back::<T, X>()),
            g if is::<ArrayD<T>>(g) => Some(made!(X, |node, inputs| {
                let (x, g) = (known::<X>(&inputs[0]), known::<ArrayD<T>>(&inputs[1]));
                ops::any_backward(x, g, node.args().axes()).map(X::reduced)
            })),
            _ => None,
        },
        _ if call.is_stored() => None,
        op if op.is(&op::sum) => Some(whole::sum::run::<T, X>()),
        op if op.is(&op::sum_backward) => Some(whole::sum::back::<T, X>()),
        op if op.is(&op::mean) => Some(whole::mean::run::<T, X>()),
        op if op.is(&op::mean_backward) => Some(whole::mean::back::<T, X>()),
        _ => None,
    }
}
