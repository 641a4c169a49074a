//! Sums of products that a string names, as steps.

use std::borrow::Borrow;
use std::sync::Arc;

use super::gradient::linear_in_each;
use super::node::{Form, Held, Node, known};
use super::rewrite::Facts;
use super::text::{Text, list_of, said};
use super::unary::{rule_of_all, same, step, step_of};
use super::{Lazy, Value};
use crate::base::error::Error;
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
    let spec = said_of(&options);
    let text = Text::call(
        "einsum",
        &[&spec.clone().unwrap_or_default(), &list_of(tensors.len())],
        spec.clone().map(|_| String::new()),
    );
    let product = step_of("einsum", arguments, inputs, Form::Own, shape, run).written(text);
    rule_of_all!(product, T, [P: Pattern], (options: Einsum<'static>, told: String, spec: Option<String>), |[inputs @ .., g]| {
        let sum = options.clone();
        let run = move |values: &[Held]| {
            let Some((upstream, operands)) = values.split_last() else { return Err(Error::NoTensor) };
            let operands: Vec<&Tensor<P, F>> = operands.iter().map(known).collect();
            ops::einsum_backward(&options, &operands, known::<Tensor<P, F>>(upstream))
        };
        let nodes: Vec<Arc<Node>> = inputs.iter().chain([g]).map(Arc::clone).collect();
        let count = inputs.len();
        let operands = [spec.clone().unwrap_or_default(), list_of(count), format!("%{count}")];
        let operands = operands.each_ref().map(String::as_str);
        let backward = Text::gradients("einsum_backward", &operands, spec.map(|_| String::new()), count);
        let all: Lazy<Vec<Tensor<P, F>>> =
            step_of("einsum_backward", told, nodes.clone(), Form::Own, |_| Ok(None), run).written(backward);
        let given = (0..count).map(|place| Some(part(&all, place).node)).collect();
        linear_in_each::<Tensor<P, F>, Tensor<P, F>, Tensor<P, F>>(given, &nodes, move |_, of| {
            let operands: Vec<Lazy<Tensor<P, F>>> = of.iter().map(|node| Lazy::of(Arc::clone(node))).collect();
            einsum(sum.clone(), &operands).node
        })
    })
}

impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {
    /// The step [`tensordot`](crate::tensordot()): the product over pairs of axes.
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
        let axes = [left.as_ref(), right.as_ref()].map(<[isize]>::to_vec);
        let (used, told) = (axes.clone(), format!("{axes:?}"));
        let shape = |[x, y]: [&Shape; 2]| ops::tensordot_shape([x, y], [&axes[0], &axes[1]]).map(Some);
        let run = move |inputs: &[Held]| {
            let [x, y] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
            ops::tensordot(x, y, &used[0], &used[1])
        };
        let product = step("tensordot", told.clone(), [&self.node, &other.node], Form::Own, shape, run)
            .written(Text::call("tensordot", &["%0", "%1"], said!(axes[0], axes[1])));
        rule_of_all!(product, T, [P: Pattern], (axes: [Vec<isize>; 2], told: String), |[x, y, g]| {
            let pairs = axes.clone();
            let text = Text::gradients("tensordot_backward", &["%0", "%1", "%2"], said!(axes[0], axes[1]), 2);
            let run = move |inputs: &[Held]| {
                let [x, y, g] = [0, 1, 2].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::tensordot_backward(x, y, &axes[0], &axes[1], g)
            };
            let both: Lazy<(Tensor<P, F>, Tensor<P, F>)> =
                step("tensordot_backward", told, [x, y, g], Form::Own, |[x, ..]| same(x), run)
                    .written(text)
                    .known(Facts::gradients_of(&[0, 1]));
            let (dx, dy) = both.parts();
            let (given, of) = (vec![Some(dx.node), Some(dy.node)], [x, y, g].map(Arc::clone));
            linear_in_each::<Tensor<P, F>, Tensor<P, F>, Tensor<P, F>>(given, &of, move |_, of| {
                let [x, y] = [0, 1].map(|at| Lazy::<Tensor<P, F>>::of(Arc::clone(&of[at])));
                x.tensordot(&y, &pairs[0], &pairs[1]).node
            })
        })
    }
}

/// The sum as it is written, which names no order.
fn said_of(options: &Einsum<'_>) -> Option<String> {
    let is_plain = options.order.is_none() && !options.spec.contains(['"', '%']);
    (is_plain && !options.spec.contains(char::is_control)).then(|| format!("\"{}\"", options.spec))
}

/// One of several gradients.
#[track_caller]
pub(super) fn part<V: Value>(all: &Lazy<Vec<V>>, number: usize) -> Lazy<V> {
    let run = move |all: &[Held]| Ok(known::<Vec<V>>(&all[0])[number].clone());
    step("part", number.to_string(), [&all.node], Form::Own, |_| Ok(None), run).written(Text::Part(number))
}
