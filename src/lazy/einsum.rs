//! Sums of products that a string names, as steps.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Lazy;
use super::node::{Form, Held, Node, known};
use super::unary::{step, step_of};
use crate::base::shape::Shape;
use crate::element::{Float, FloatVisitor, Numeric, RealNumber, Ring};
use crate::ops::{self, Einsum};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Lazy tensors multiplied and summed as a string says: the step [`einsum`](crate::einsum()).
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
    let options = spec.into().into_owned();
    let arguments = format!("{:?}, {:?}", options.spec, options.order);
    let (used, told) = (options.clone(), arguments.clone());
    let inputs = tensors.iter().map(|tensor| Arc::clone(&tensor.borrow().node)).collect();
    let shape = |shapes: &[&Shape]| {
        let lengths: Vec<&[usize]> = shapes.iter().map(|shape| &***shape).collect();
        options.shape(&lengths).map(Some)
    };
    let run = move |inputs: &[Held]| ops::einsum(&used, &inputs.iter().map(known).collect::<Vec<&Tensor<P, T>>>());
    step_of("einsum", arguments, inputs, Form::Own, shape, run).with_rule(move |asked| {
        let (inputs, upstream) = (asked.inputs.to_vec(), Arc::clone(asked.upstream));
        T::if_float(Rule::<P> { options: options.clone(), told: told.clone(), inputs, upstream, of: PhantomData })
    })
}

/// What makes the gradients of all operands.
struct Rule<P> {
    options: Einsum<'static>,
    told: String,
    inputs: Vec<Arc<Node>>,
    upstream: Arc<Node>,
    of: PhantomData<fn() -> P>,
}

impl<P: Pattern> FloatVisitor for Rule<P> {
    type Out = Vec<Option<Arc<Node>>>;

    #[track_caller]
    fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
        let options = self.options;
        let run = move |values: &[Held]| {
            let Some((upstream, operands)) = values.split_last() else { return Err(ops::no_tensor()) };
            let operands: Vec<&Tensor<P, F>> = operands.iter().map(known).collect();
            ops::einsum_backward(&options, &operands, known::<Tensor<P, F>>(upstream))
        };
        let nodes = self.inputs.iter().chain([&self.upstream]).map(Arc::clone).collect();
        let all: Lazy<Vec<Tensor<P, F>>> = step_of("einsum_backward", self.told, nodes, Form::Own, |_| Ok(None), run);
        let one = |number: usize| {
            let run = move |all: &[Held]| Ok(known::<Vec<Tensor<P, F>>>(&all[0])[number].clone());
            let gradient: Lazy<Tensor<P, F>> =
                step("part", number.to_string(), [&all.node], Form::Own, |_| Ok(None), run);
            Some(gradient.node)
        };
        (0..self.inputs.len()).map(one).collect()
    }
}
