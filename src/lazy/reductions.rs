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
use crate::element::{Element, Float, Numeric, Real, RealNumber, Ring};
use crate::ops::{self, GroupLabels, Nanmedian, Norm, Stream, Var, op};
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

/// Returns the implementation of a reduction of all elements.
macro_rules! reduced {
    ($X:ty, $out:ty, |$x:ident, $node:ident| $run:expr) => {
        Made {
            pieces: Some(|$node: &Node, feed| {
                let $x = &<$X>::fed(feed, false)?;
                Some($run.map(|found| Arc::new(<$X>::of_fed(found)) as Held))
            }),
            ..made!(<$X as Steps>::Of<$out>, |$node, inputs| {
                let $x = known::<$X>(&inputs[0]);
                $run.map(<$X>::reduced)
            })
        }
    };
}

/// Returns the implementation of a reduction of stored entries.
macro_rules! reduced_entries {
    ($P:ident, $T:ty, $out:ty, |$x:ident, $node:ident| $run:expr) => {
        Made {
            pieces: Some(|$node: &Node, feed| {
                let $x = &<Tensor<$P, $T>>::fed(feed, true)?;
                Some($run.map(|found| Arc::new(<Tensor<$P, $T>>::of_fed(found)) as Held))
            }),
            ..made!(Tensor<$P, $out>, |$node, inputs| {
                let $x = &known::<Tensor<$P, $T>>(&inputs[0]).stored();
                $run
            })
        }
    };
}
pub(super) use {reduced, reduced_entries};

/// Defines reductions: the options, the bound of the element type, the type of the result, and the gradient.
macro_rules! reductions {
    ($($name:ident($options:ty) [$bound:ident] -> $out:ty $(, $backward:ident)?;)*) => {
        /// The implementations for all elements.
        mod whole {$(
            pub(super) mod $name {
                use super::super::*;

                pub(in super::super) fn run<T: $bound, X: Steps<Elem = T>>() -> Made {
                    reduced!(X, $out, |x, node| ops::$name(x, <$options>::read(node.args())))
                }

                $(
                    pub(in super::super) fn back<T: Float, X: Steps<Elem = T>>() -> Made {
                        made!(X::Of<T>, |node, inputs| {
                            let [x, g] = [0, 1].map(|at| known::<X>(&inputs[at]));
                            ops::$backward(x, g, <$options>::read(node.args())).map(X::reduced)
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
                    reduced_entries!(P, T, $out, |x, node| ops::$name(x, <$options>::read(node.args())))
                }

                $(
                    pub(in super::super) fn back<P: Pattern, T: Float>() -> Made {
                        made!(Tensor<P, T>, |node, inputs| {
                            let [x, g] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
                            ops::$backward(&x.stored(), g, <$options>::read(node.args()))
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
            pub fn $name(&self, options: impl Into<$options>) -> Lazy<X::Of<$out>>
            where
                T: $bound,
            {
                let call = call_of(&op::$name, &[Arg::Input(0)], &options.into());
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
            pub fn $name(&self, options: impl Into<$options>) -> Lazy<Tensor<P, $out>>
            where
                T: $bound,
            {
                let call = call_of(&op::$name, &[Arg::Stored(0)], &options.into());
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
            pub fn $name(&self, options: impl Into<$options>) -> Lazy<X::Of<$out>>
            where
                T: $bound,
            {
                self.of.$name(self.labelled::<$options>(options.into()))
            }
        )*}

        /// # Reductions of stored entries by group label
        ///
        /// Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyGroupBy<LazyStored<P, T>> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()), by label.")]
            #[track_caller]
            pub fn $name(&self, options: impl Into<$options>) -> Lazy<Tensor<P, $out>>
            where
                T: $bound,
            {
                self.of.$name(self.labelled::<$options>(options.into()))
            }
        )*}
    };
    (@with $backward:ident $family:expr, $made:ident) => {
        Made { family: $family, ..$made }
    };
}

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

reductions! {
    any(Axes) [Element] -> bool, any_backward;
    all(Axes) [Element] -> bool;
    count_nonzero(Axes) [Element] -> u64;
    sum(Axes) [Ring] -> <T as Ring>::Sum, sum_backward;
    nansum(Axes) [Float] -> T, nansum_backward;
    mean(Axes) [Ring] -> <T as Ring>::Mean, mean_backward;
    nanmean(Axes) [Float] -> T, nanmean_backward;
    prod(Axes) [Ring] -> <T as Ring>::Sum, prod_backward;
    nanprod(Axes) [Float] -> T, nanprod_backward;
    var(Var) [Ring] -> <T as Ring>::Deviation, var_backward;
    std(Var) [Ring] -> <T as Ring>::Deviation, std_backward;
    nanvar(Var) [Float] -> T, nanvar_backward;
    nanstd(Var) [Float] -> T, nanstd_backward;
    min(Axes) [Real] -> T, min_backward;
    max(Axes) [Real] -> T, max_backward;
    nanmin(Axes) [Float] -> T, nanmin_backward;
    nanmax(Axes) [Float] -> T, nanmax_backward;
    argmin(Axes) [Real] -> u64;
    argmax(Axes) [Real] -> u64;
    nanargmin(Axes) [Float] -> u64;
    nanargmax(Axes) [Float] -> u64;
    norm(Norm) [Float] -> T, norm_backward;
    median(Nanmedian) [Real] -> <T as Real>::Median, median_backward;
    nanmedian(Nanmedian) [Real] -> <T as Real>::Median, nanmedian_backward;
}
