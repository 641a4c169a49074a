//! Steps that rank elements.

use super::Lazy;
use super::call::{Arg, Call, Options};
use super::node::{StepImpl, downcast};
use super::reductions::call_of;
use super::steps::{LazyStored, Steps, family, found, found_both, operand, step_impl};
use crate::element::Real;
use crate::ops::{self, Nanmedian, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the call of a ranking along an axis.
fn along(op: &'static ops::OpSpec, x: Arg, k: Option<usize>, axis: isize) -> Call {
    let k = k.map(|k| Arg::Integer(k as i128));
    Call::of(op, [x].into_iter().chain(k).chain([Arg::Integer(axis as i128)]))
}

fn k_and_axis(call: &Call) -> (usize, isize) {
    (call.count("k"), call.position("axis", -1))
}

/// # Ranking
///
/// Each method is documented at the function of the same name.
impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`topk`](crate::topk()).
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize) -> Lazy<X::Of<T>> {
        Lazy::step(along(&op::topk, Arg::Input(0), Some(k), axis), [&self.node], topk_step::<T, X>())
    }

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

/// Returns the elements of the largest values along an axis, as `topk` does.
fn elements<T: Real, X: Steps<Elem = T>>() -> StepImpl {
    step_impl!(X::Of<T>, |node, inputs| {
        let (k, axis) = k_and_axis(node.args());
        found::<X, _>(ops::topk(&operand::<X>(node, &inputs[0]), k, axis))
    })
}

/// Returns the implementation of `topk`, with the implementations that gradients use.
fn topk_step<T: Real, X: Steps<Elem = T>>() -> StepImpl {
    let family = family!(
        T, [X: Steps]
        topk => elements::<F, X::Of<F>>(),
        topk_backward => step_impl!(X::Of<F>, |node, inputs| {
            let (x, g) = (&operand::<X::Of<F>>(node, &inputs[0]), downcast::<X::Of<F>>(&inputs[1]));
            let (k, axis) = k_and_axis(node.args());
            found::<X::Of<F>, _>(ops::topk_backward(x, g, k, axis))
        }),
    );
    StepImpl { family, ..elements::<T, X>() }
}

impl<P: Pattern, T: Real> LazyStored<P, T> {
    /// Returns the step [`topk`](crate::topk()) of the stored entries.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 2]], vec![-5.0, -2.0, 3.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let best = lazy.stored().topk(1, 1);
    /// assert_eq!(best.collect()?.to_dense()?, ndarray::arr2(&[[-2.0], [3.0]]).into_dyn());
    /// assert_eq!(best.gradient(&lazy, &best).collect()?.values(), [0.0, -2.0, 3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize) -> Lazy<Tensor<P, T>> {
        Lazy::step(along(&op::topk, Arg::Stored(0), Some(k), axis), [&self.x.node], topk_step::<T, Tensor<P, T>>())
    }

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
        let call = along(&op::topk_index, Arg::Stored(0), Some(k), axis);
        let run = step_impl!((Tensor<P, T>, Tensor<P, u64>), |node, inputs| {
            let (k, axis) = k_and_axis(node.args());
            ops::topk_index(&downcast::<Tensor<P, T>>(&inputs[0]).stored(), k, axis)
        });
        Lazy::step(call, [&self.x.node], run)
    }

    /// Returns the step [`argsort`](crate::argsort()).
    ///
    /// Sparse tensors have this step only for stored entries.
    #[track_caller]
    pub fn argsort(&self, axis: isize) -> Lazy<Tensor<P, u64>> {
        let call = along(&op::argsort, Arg::Stored(0), None, axis);
        let run = step_impl!(Tensor<P, u64>, |node, inputs| {
            ops::argsort(&downcast::<Tensor<P, T>>(&inputs[0]).stored(), node.args().position("axis", -1))
        });
        Lazy::step(call, [&self.x.node], run)
    }
}
