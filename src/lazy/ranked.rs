//! Steps that rank elements.

use super::call::{Arg, Options};
use super::node::{StepImpl, downcast};
use super::reductions::call_of;
use super::steps::{LazyStored, Steps, found_both, operand, step_impl};
use super::{Lazy, along};
use crate::element::Real;
use crate::ops::{self, Nanmedian, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// # Ranking
///
/// Each method is documented at the function of the same name.
impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`nanmedian_index`](crate::nanmedian_index()): the medians and their positions.
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    #[track_caller]
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Lazy<(X::Of<T::Median>, X::Of<u64>)> {
        let call = call_of(&op::nanmedian_index, &[Arg::Input(0)], &options.into());
        Lazy::step(call, [&self.node], medians_and_places::<T, X>())
    }
}

/// Returns the implementation of `nanmedian_index`: the medians and their positions.
fn medians_and_places<T: Real, X: Steps<Elem = T>>() -> StepImpl {
    step_impl!((X::Of<T::Median>, X::Of<u64>), |node, inputs| {
        let x = operand::<X>(node, &inputs[0]);
        found_both::<X, X, _, _>(ops::nanmedian_index(&x, Nanmedian::read(node.args())))
    })
}

impl<P: Pattern, T: Real> LazyStored<P, T> {
    /// Returns the step [`nanmedian_index`](crate::nanmedian_index()) of the stored entries.
    ///
    /// The results are the medians and their positions.
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    #[track_caller]
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Lazy<(Tensor<P, T::Median>, Tensor<P, u64>)> {
        let call = call_of(&op::nanmedian_index, &[Arg::Stored(0)], &options.into());
        Lazy::step(call, [&self.x.node], medians_and_places::<T, Tensor<P, T>>())
    }

    /// Returns the step [`topk_index`](crate::topk_index()): the elements and their positions.
    #[track_caller]
    pub fn topk_index(&self, k: usize, axis: isize) -> Lazy<(Tensor<P, T>, Tensor<P, u64>)> {
        let call = along::call_of(&op::topk_index, Arg::Stored(0), Some(k), axis);
        let run = step_impl!((Tensor<P, T>, Tensor<P, u64>), |node, inputs| {
            let (k, axis) = (node.args().count("k"), node.args().position("axis", -1));
            ops::topk_index(&downcast::<Tensor<P, T>>(&inputs[0]).stored(), k, axis)
        });
        Lazy::step(call, [&self.x.node], run)
    }
}
