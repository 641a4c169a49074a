//! Steps that scale entries, or select entries by a pattern.

use super::call::{Arg, Call};
use super::kit::is;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, found, operand, step_impl};
use super::{Lazy, LazyPattern};
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::ops::{self, ErasedOperand, Operand, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the step of `scale`, for all elements or for stored entries.
#[track_caller]
fn scale<X: Steps, Y: Steps<Elem = X::Elem>>(
    x: &Lazy<X>,
    of: Arg,
    axis: isize,
    factors: &Lazy<Y>,
) -> Lazy<X::Of<X::Elem>> {
    let call = Call::of(&op::scale, [of, Arg::Integer(axis as i128), Arg::Input(1)]);
    let family = family!(X::Elem, [X: Steps, Y: Steps] |call, inputs| match call.op {
        op if op.is(&op::scale) => Some(scaled::<X::Of<F>, Y::Of<F>>()),
        op if op.is(&op::any_backward) && is::<Y::Of<F>>(&inputs[0]) && is::<X::Of<F>>(&inputs[1]) => {
            Some(step_impl!(Y::Of<F>, |node, inputs| {
                let (x, g) = (downcast::<Y::Of<F>>(&inputs[0]).erased(), downcast::<X::Of<F>>(&inputs[1]));
                found::<Y::Of<F>, _>(ops::any_backward(&x, g, node.args().axes()))
            }))
        }
        _ => None,
    });
    Lazy::step(call, [&x.node, &factors.node], StepImpl { family, ..scaled::<X, Y>() })
}

/// Returns the implementation of `scale`, for all elements or for stored entries.
fn scaled<X: Steps, Y: Steps<Elem = X::Elem>>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let axis = node.args().position("axis", 0);
        let x = operand::<X>(node, &inputs[0]);
        found::<X, _>(match downcast::<Y>(&inputs[1]).erased() {
            ErasedOperand::Array(factors) => ops::scale(&x, axis, factors.array.view()),
            ErasedOperand::Sparse(factors) => ops::scale(&x, axis, &factors.sparse().to_erased()),
        })
    })
}

/// # Products with one factor per position of an axis
///
/// The method is documented at the function of the same name.
impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`scale`](crate::scale()).
    ///
    /// The factors are an array or a tensor of rank 1.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let weights = Lazy::from(arr1(&[10.0, 100.0]).into_dyn());
    /// let z = x.scale(0, &weights);
    /// assert_eq!(z.collect()?.values(), [30.0, 500.0]);
    /// assert_eq!(z.gradient(&weights, &z).collect()?, arr1(&[90.0, 2500.0]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn scale<Y: Steps<Elem = T>>(&self, axis: isize, factors: &Lazy<Y>) -> Lazy<X::Of<T>> {
        scale(self, Arg::Input(0), axis, factors)
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Returns the step [`scale`](crate::scale()) of the stored entries.
    ///
    /// The fill is unchanged.
    #[track_caller]
    pub fn scale<Y: Steps<Elem = T>>(&self, axis: isize, factors: &Lazy<Y>) -> Lazy<Tensor<P, T>> {
        scale(&self.x, Arg::Stored(0), axis, factors)
    }

    /// Returns the step [`mask`](crate::Stored::mask): the entries at positions that `mask` stores.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let other = CooTensor::new([3], vec![vec![1, 2]], vec![1.0, 1.0], 0.0)?.lazy();
    /// assert_eq!(x.stored().mask(&other.pattern()).collect()?.values(), [5.0]);
    /// assert_eq!(x.stored().without(&other.pattern()).collect()?.values(), [3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn mask<U: Element>(&self, mask: &LazyPattern<P, U>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::mask, [Arg::Stored(0), Arg::Input(1)]);
        Lazy::step(call, [&self.x.node, &mask.x.node], masked::<P, T>())
    }

    /// Returns the step [`without`](crate::Stored::without): the entries at positions that `mask` does not store.
    #[track_caller]
    pub fn without<U: Element>(&self, mask: &LazyPattern<P, U>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::without, [Arg::Stored(0), Arg::Input(1)]);
        Lazy::step(call, [&self.x.node, &mask.x.node], masked::<P, T>())
    }
}

/// Returns the implementation of `mask` or `without`, and of the gradient.
fn masked<P: Pattern, T: Element>() -> StepImpl {
    let family = family!(
        T, [P: Pattern]
        mask => masked::<P, F>(),
        without => masked::<P, F>(),
        mask_backward => masked_back::<P, F>(),
        without_backward => masked_back::<P, F>(),
    );
    let run = step_impl!(Tensor<P, T>, |node, inputs| {
        let x = downcast::<Tensor<P, T>>(&inputs[0]).stored();
        let mask = pattern_of::<P>(node, 1, &inputs[1])?;
        if node.args().op.is(&op::mask) { x.mask(&mask) } else { x.without(&mask) }
    });
    StepImpl { family, ..run }
}

/// Returns the implementation of the gradient of [`masked`].
fn masked_back<P: Pattern, T: Element>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        let (x, g) = (downcast::<Tensor<P, T>>(&inputs[0]), downcast::<Tensor<P, T>>(&inputs[1]));
        let mask = pattern_of::<P>(node, 2, &inputs[2])?;
        match node.args().op.is(&op::mask_backward) {
            true => ops::mask_backward(&x.stored(), g, &mask),
            false => ops::without_backward(&x.stored(), g, &mask),
        }
    })
}

/// Returns the pattern of a mask, which is the input with this index. The elements of the mask may have any type, and
/// are ignored.
pub(super) fn pattern_of<P: Pattern>(node: &Node, input: usize, mask: &ErasedValue) -> Result<P> {
    let mask = node.inputs[input].kind.by_chunks().map(|kind| kind.pattern(mask));
    mask.as_ref().and_then(|mask| mask.downcast_ref()).cloned().ok_or(Error::NoTensor)
}
