//! Sums of products by index labels, as steps.

use std::any::Any;
use std::borrow::Borrow;
use std::sync::Arc;

use super::Lazy;
use super::call::{Arg, Call, Typed};
use super::node::{Family, StepImpl, downcast};
use super::steps::{family, step, step_impl};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::Ring;
use crate::ops::{self, Einsum, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Multiplies and sums lazy tensors by index labels: the step [`einsum`](crate::einsum()).
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::einsum;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?;
/// let gram = einsum("ki,kj->ij", &[x.lazy(), x.lazy()]);
/// assert_eq!(gram.shape(), Some(&[2, 2][..]));
/// assert_eq!(gram.collect()?, lacuna::einsum("ki,kj->ij", &[&x, &x])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn einsum<'a, P: Pattern, T: Ring>(
    spec: impl Into<Einsum<'a>>,
    tensors: &[impl Borrow<Lazy<Tensor<P, T>>>],
) -> Lazy<Tensor<P, T>> {
    let spec = Arg::Typed(Arc::new(EinsumSpec(spec.into().into_owned())));
    let inputs = tensors.iter().map(|tensor| Arc::clone(&tensor.borrow().node)).collect();
    let call = Call::of(&op::einsum, [spec, Arg::List((0..tensors.len()).map(Arg::Input).collect())]);
    Lazy::of(Arc::new(step(call, inputs, StepImpl { family: family::<P, T>(), ..summed::<P, T>() })))
}

/// The labels of a sum of products, and the order of the products.
#[derive(Debug, PartialEq)]
struct EinsumSpec(Einsum<'static>);

impl Typed for EinsumSpec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    /// Returns the labels as text; `None` if an order of the products is given, or if the labels need escapes.
    fn to_text(&self) -> Option<String> {
        let is_plain = self.0.order.is_none() && !self.0.spec.contains('"');
        (is_plain && !self.0.spec.contains(char::is_control)).then(|| format!("\"{}\"", self.0.spec))
    }
}

fn spec_of(call: &Call) -> &Einsum<'static> {
    &call.data::<EinsumSpec>("spec").expect("the labels of a sum").0
}

/// Returns the shape of a sum of products of operands of these shapes.
pub(super) fn shape_of(call: &Call, operands: &[&Shape]) -> Result<Option<Shape>> {
    let lengths: Vec<&[usize]> = operands.iter().map(|shape| &***shape).collect();
    match call.named("spec") {
        // In an expression the labels are text.
        Arg::Text(labels) => Einsum::from(&**labels).shape(&lengths).map(Some),
        _ => spec_of(call).shape(&lengths).map(Some),
    }
}

fn summed<P: Pattern, T: Ring>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        ops::einsum(spec_of(node.args()), &inputs.iter().map(downcast).collect::<Vec<&Tensor<P, T>>>())
    })
}

fn family<P: Pattern, T: Ring>() -> Option<Family> {
    family!(
        T, [P: Pattern]
        einsum => summed::<P, F>(),
        einsum_backward => step_impl!(Vec<Tensor<P, F>>, |node, inputs| {
            let Some((upstream, operands)) = inputs.split_last() else { return Err(Error::NoTensor) };
            let operands: Vec<&Tensor<P, F>> = operands.iter().map(downcast).collect();
            ops::einsum_backward(spec_of(node.args()), &operands, downcast::<Tensor<P, F>>(upstream))
        }),
        tensordot => over_axes::<P, F>(),
        tensordot_backward => step_impl!((Tensor<P, F>, Tensor<P, F>), |node, inputs| {
            let [x, y, g] = [0, 1, 2].map(|at| downcast::<Tensor<P, F>>(&inputs[at]));
            let [left, right] = ["left", "right"].map(|side| node.args().integers::<isize>(side));
            ops::tensordot_backward(x, y, left, right, g)
        }),
    )
}

fn over_axes<P: Pattern, T: Ring>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        let [x, y] = [0, 1].map(|at| downcast::<Tensor<P, T>>(&inputs[at]));
        let [left, right] = ["left", "right"].map(|side| node.args().integers::<isize>(side));
        ops::tensordot(x, y, left, right)
    })
}

impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {
    /// Returns the step [`tensordot`](crate::tensordot()): the product over pairs of axes.
    ///
    /// ```
    /// use lacuna::{CooTensor, tensordot};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let gram = lazy.tensordot(&lazy, [1], [1]);
    /// assert_eq!(gram.collect()?, tensordot(&x, &x, [1], [1])?);
    /// assert_eq!(gram.gradient(&lazy, &gram).collect()?.values(), [16.0, 54.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn tensordot(&self, other: &Self, left: impl AsRef<[isize]>, right: impl AsRef<[isize]>) -> Self {
        let [left, right] = [left.as_ref(), right.as_ref()].map(Arg::integers);
        let call = Call::of(&op::tensordot, [Arg::Input(0), Arg::Input(1), left, right]);
        let step_impl = StepImpl { family: family::<P, T>(), ..over_axes::<P, T>() };
        Lazy::step(call, [&self.node, &other.node], step_impl)
    }
}
