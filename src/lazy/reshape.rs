//! Reshaping as a step: another shape with the same elements in row-major order.

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{StepImpl, downcast};
use super::steps::{family, step_impl};
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::op;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;

/// A format whose tensors are reshaped without copying values.
#[doc(hidden)]
pub trait Reshapes: Pattern {
    fn reshaped<T: Element>(x: &Tensor<Self, T>, shape: Shape) -> Result<Tensor<Self, T>>;
}

impl<I: Index> Reshapes for CooPattern<I> {
    fn reshaped<T: Element>(x: &Tensor<Self, T>, shape: Shape) -> Result<Tensor<Self, T>> {
        x.reshape(shape)
    }
}

impl<I: Index> Reshapes for CsrPattern<I> {
    fn reshaped<T: Element>(x: &Tensor<Self, T>, shape: Shape) -> Result<Tensor<Self, T>> {
        x.reshape(shape)
    }
}

impl<P: Reshapes, T: Element> Lazy<Tensor<P, T>> {
    /// Returns the step [`reshape`](crate::CooTensor::reshape): the same elements in another shape.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, 5.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let flat = lazy.reshape([6]).square();
    /// assert_eq!(flat.collect()?, x.reshape([6])?.square()?);
    /// assert_eq!(flat.gradient(&lazy, &flat).collect()?.values(), [54.0, 250.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let call = Call::of(&op::reshape, [Arg::Input(0), Arg::counts(&shape.into())]);
        Lazy::step(call, [&self.node], reshaped::<P, T>())
    }

    /// Returns this tensor in the shape of another tensor.
    ///
    /// The shape may be unknown until the program runs.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, 5.0], 0.0)?;
    /// let [flat, like] = ["flat", "like"].map(|name| Lazy::<CooTensor<f64>>::input(name, [None, None]));
    /// let program = compile(&flat.reshape_as(&like))?;
    /// assert_eq!(program.run([flat.is(&x.reshape([1, 6])?), like.is(&x)])?, x);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape_as(&self, like: &Self) -> Self {
        let call = Call::of(&op::reshape_as, [Arg::Input(0), Arg::Input(1)]);
        Lazy::step(call, [&self.node, &like.node], reshaped::<P, T>())
    }
}

/// Returns the implementation of `reshape` and `reshape_as`, with the implementations that gradients use.
fn reshaped<P: Reshapes, T: Element>() -> StepImpl {
    let run = step_impl!(Tensor<P, T>, |node, inputs| {
        let like = inputs.get(1).map(|like| downcast::<Tensor<P, T>>(like).shape().clone());
        P::reshaped(downcast::<Tensor<P, T>>(&inputs[0]), like.unwrap_or_else(|| node.args().shape()))
    });
    StepImpl { family: family!(T, [P: Reshapes] reshape_as => reshaped::<P, F>()), ..run }
}
