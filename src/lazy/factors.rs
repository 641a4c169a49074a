//! Matrix products of tensors and arrays.

use ndarray::ArrayD;

use super::call::{Arg, Call};
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::steps::{Steps, family, found, found_both, step_impl};
use super::{Lazy, Value};
use crate::element::{Element, Float, Ring};
use crate::ops::{self, ErasedOperand, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The right operand of a lazy tensor in [`Lazy::matmul`]: a tensor or an array.
///
/// A tensor must have the format of the left operand. The trait is sealed.
pub trait Factor<P: Pattern, T: Element>: Value {
    #[doc(hidden)]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self>;
}

impl<P: Pattern, T: Ring> Factor<P, T> for Tensor<P, T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        multiplied(x, y)
    }
}

impl<P: Pattern, T: Ring> Factor<P, T> for ArrayD<T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        multiplied(x, y)
    }
}

/// The right operand of a lazy array in [`Lazy::matmul`]: an array or a tensor.
///
/// The trait is sealed.
pub trait ArrayFactor<T: Ring>: Value {
    #[doc(hidden)]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>>;
}

impl<T: Ring> ArrayFactor<T> for ArrayD<T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        multiplied(x, y)
    }
}

impl<P: Pattern, T: Ring> ArrayFactor<T> for Tensor<P, T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        multiplied(x, y)
    }
}

/// Returns the step of a matrix product.
#[track_caller]
fn multiplied<T: Ring, X, Y, Z>(x: &Lazy<X>, y: &Lazy<Y>) -> Lazy<Z>
where
    X: Steps<Elem = T>,
    Y: Steps<Elem = T>,
    Z: Steps<Elem = T>,
{
    let call = Call::of(&op::matmul, [Arg::Input(0), Arg::Input(1)]);
    let family = family!(
        T, [X: Steps, Y: Steps, Z: Steps]
        matmul => product::<X::Of<F>, Y::Of<F>, Z::Of<F>>(),
        matmul_backward => product_back::<X::Of<F>, Y::Of<F>, Z::Of<F>>(),
    );
    Lazy::step(call, [&x.node, &y.node], StepImpl { family, ..product::<X, Y, Z>() })
}

/// Returns the implementation of a matrix product.
fn product<X: Steps<Elem: Ring>, Y: Steps<Elem = X::Elem>, Z: Steps<Elem = X::Elem>>() -> StepImpl {
    step_impl!(Z::Of<X::Elem>, |_, inputs| {
        found::<Z, _>(ops::matmul(&downcast::<X>(&inputs[0]).erased(), &downcast::<Y>(&inputs[1]).erased()))
    })
}

/// Returns the implementation of the gradients of a matrix product of all elements, or of stored entries.
pub(super) fn product_back<X, Y, Z>() -> StepImpl
where
    X: Steps<Elem: Float>,
    Y: Steps<Elem = X::Elem>,
    Z: Steps<Elem = X::Elem>,
{
    step_impl!((X::Of<X::Elem>, Y::Of<X::Elem>), |node, inputs| {
        let (x, y) = (factor::<X>(node, inputs, 0), factor::<Y>(node, inputs, 1));
        found_both::<X, Y, _, _>(ops::matmul_backward(&x, &y, downcast::<Z>(&inputs[2])))
    })
}

/// Returns all positions of a factor, or its stored entries if the call reads only stored entries.
fn factor<'a, X: Steps>(node: &Node, inputs: &'a [ErasedValue], number: usize) -> ErasedOperand<'a, X::Elem> {
    let x = downcast::<X>(&inputs[number]);
    if let Arg::Stored(_) = node.args().arg(number) { x.stored_operand() } else { x.erased() }
}

impl<T: Ring> Lazy<ArrayD<T>> {
    /// Returns the step [`matmul`](crate::matmul()).
    ///
    /// The right operand is an array or a tensor.
    ///
    /// ```
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr2;
    ///
    /// let features = Lazy::from(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
    /// let weights = Lazy::from(arr2(&[[1.0], [10.0]]).into_dyn());
    /// let scores = features.matmul(&weights);
    /// assert_eq!(scores.collect()?, arr2(&[[21.0], [43.0]]).into_dyn());
    /// assert_eq!(scores.gradient(&weights, &scores).collect()?, arr2(&[[150.0], [214.0]]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<Y: ArrayFactor<T>>(&self, other: &Lazy<Y>) -> Self {
        Y::product_of_array(self, other)
    }
}
