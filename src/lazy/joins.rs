//! Joins of several tensors as steps.

use std::borrow::Borrow;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::gradient::{at_entries_of, through};
use super::node::{Asked, Form, Held, Node, known};
use super::text::{Text, list_of, said};
use super::unary::step_of;
use super::{Lazy, shares};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::ops::{self, slice_of};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Lazy tensors one behind the other along an axis: the step [`concat`](crate::concat()).
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::concat;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// let joined = concat(0, &[x.lazy(), x.lazy() * 2.0]);
/// assert_eq!(joined.collect()?, lacuna::concat(0, &[&x, &(&x * 2.0)])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn concat<P: Pattern, T: Element>(axis: isize, tensors: &[impl Borrow<Lazy<Tensor<P, T>>>]) -> Lazy<Tensor<P, T>> {
    let shape = move |shapes: &[&Shape]| {
        let first = shapes.first().ok_or(Error::NoTensor)?;
        let axis = normalize_axis(axis as i128, first.rank())?;
        ops::joined_shape(axis, shapes.iter().map(|shape| &***shape)).map(Some)
    };
    let part = Part { axis, is_new: false };
    joined("concat", part, tensors, shape, move |tensors| ops::concat(axis, tensors))
}

/// Lazy tensors of one shape side by side on a new axis: the step [`stack`](crate::stack()).
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::stack;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// let stacked = stack(-1, &[&x.lazy(), &x.lazy()]);
/// assert_eq!(stacked.collect()?, lacuna::stack(-1, &[&x, &x])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn stack<P: Pattern, T: Element>(axis: isize, tensors: &[impl Borrow<Lazy<Tensor<P, T>>>]) -> Lazy<Tensor<P, T>> {
    let shape = move |shapes: &[&Shape]| {
        let first = shapes.first().ok_or(Error::NoTensor)?;
        let axis = normalize_axis(axis as i128, first.rank() + 1)?;
        ops::stacked_shape(axis, shapes.iter().map(|shape| &***shape)).map(Some)
    };
    let part = Part { axis, is_new: true };
    joined("stack", part, tensors, shape, move |tensors| ops::stack(axis, tensors))
}

/// Lazy tensors as the blocks of a matrix, by rows: [`block`](crate::block()), which is a step [`concat`](concat()) of such steps.
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::block;
///
/// let x = CooTensor::new([1, 2], vec![vec![0], vec![1]], vec![5.0], 0.0)?;
/// let lazy = x.lazy();
/// let blocks = block(&[&[&lazy, &lazy], &[&lazy, &lazy]]);
/// assert_eq!(blocks.collect()?, lacuna::block(&[&[&x, &x], &[&x, &x]])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn block<P: Pattern, T: Element>(rows: &[&[&Lazy<Tensor<P, T>>]]) -> Lazy<Tensor<P, T>> {
    let mut whole = Vec::with_capacity(rows.len());
    for row in rows {
        whole.push(concat(-1, row));
    }
    concat(-2, &whole)
}

/// Where the tensors stand in the result.
#[derive(Clone, Copy)]
struct Part {
    axis: isize,
    /// Whether the axis is one that the tensors have not.
    is_new: bool,
}

impl Part {
    /// The gradient of tensor `number` as it is written: the tensors are the inputs behind the first one, and the
    /// upstream gradient is behind them.
    fn text(self, number: usize, count: usize) -> Text {
        let name = if self.is_new { "stack_backward" } else { "concat_backward" };
        let tensors = list_of(count + 1).replacen("%0, ", "", 1);
        let arguments = said!(self.axis).map(|axis| format!("{axis}, wrt={number}"));
        Text::call(name, &[&tensors, &format!("%{}", count + 1)], arguments)
    }

    /// The part of tensor `number` in a result, as slices.
    fn slices(self, number: usize, shapes: &[&Shape]) -> Result<Vec<SliceInfoElem>> {
        let own = shapes[number].rank();
        let axis = normalize_axis(self.axis as i128, own + usize::from(self.is_new))?;
        let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; own];
        if self.is_new {
            slices.insert(axis, SliceInfoElem::Index(number as isize));
        } else {
            let start: usize = shapes[..number].iter().map(|shape| shape[axis]).sum();
            let length = shapes.iter().map(|shape| shape[axis]).sum();
            slices[axis] = slice_of(start..start + shapes[number][axis], length, 1);
        }
        Ok(slices)
    }
}

#[track_caller]
fn joined<P: Pattern, T: Element>(
    name: &'static str,
    part: Part,
    tensors: &[impl Borrow<Lazy<Tensor<P, T>>>],
    shape: impl FnOnce(&[&Shape]) -> Result<Option<Shape>>,
    join: impl Fn(&[&Tensor<P, T>]) -> Result<Tensor<P, T>> + Send + Sync + 'static,
) -> Lazy<Tensor<P, T>> {
    let inputs = tensors.iter().map(|tensor| Arc::clone(&tensor.borrow().node)).collect();
    let run = move |inputs: &[Held]| join(&inputs.iter().map(known::<Tensor<P, T>>).collect::<Vec<_>>());
    let text = Text::call(name, &[&list_of(tensors.len())], said!(part.axis));
    let joined = step_of(name, part.axis.to_string(), inputs, Form::Own, shape, run).written(text);
    let joined = joined.with_shares(shares::joined(part.axis, part.is_new));
    joined.with_rule(move |asked| {
        let gradient = |number| {
            let of = OfPart { number, part, inputs: asked.inputs, upstream: asked.upstream };
            T::if_float(Rule::<P>(of, std::marker::PhantomData))
        };
        (0..asked.inputs.len()).map(|number| gradient(number).map(Some)).collect()
    })
}

/// What the gradient of one of the tensors is made of.
struct OfPart<'a> {
    number: usize,
    part: Part,
    inputs: &'a [Arc<Node>],
    upstream: &'a Arc<Node>,
}

struct Rule<'a, P>(OfPart<'a>, std::marker::PhantomData<fn() -> P>);

impl<P: Pattern> FloatVisitor for Rule<'_, P> {
    type Out = Arc<Node>;

    /// The part of the gradient, on the pattern of the tensor; of the others only the lengths count.
    #[track_caller]
    fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
        let OfPart { number, part, inputs, upstream } = self.0;
        // The tensor itself comes first, whose pattern the result has.
        let mut nodes = vec![Arc::clone(&inputs[number])];
        nodes.extend(inputs.iter().cloned());
        nodes.push(Arc::clone(upstream));
        let run = move |inputs: &[Held]| {
            let [x, tensors @ .., g] = inputs else { return Err(Error::NoTensor) };
            let shapes: Vec<&Shape> = tensors.iter().map(|tensor| known::<Tensor<P, F>>(tensor).shape()).collect();
            let g = known::<Tensor<P, F>>(g).slice(part.slices(number, &shapes)?)?;
            known::<Tensor<P, F>>(x).any_backward(&g, Axes::none())
        };
        let shape = |shapes: &[&Shape]| Ok(shapes.first().map(|&shape| shape.clone()));
        let arguments = format!("{number}, {}, {}", part.axis, part.is_new);
        let step = step_of::<Tensor<P, F>>("part_backward", arguments, nodes, Form::OfFirst, shape, run);
        let step = step.written(part.text(number, inputs.len()));
        // As a formula, it is that part of the upstream gradient.
        let step = step.with_rule(move |asked| {
            let [x, tensors @ .., g] = asked.inputs else { return None };
            let shapes = tensors.iter().map(|tensor| tensor.shape.as_ref()).collect::<Option<Vec<_>>>()?;
            let slices = part.slices(number, &shapes).ok()?;
            let back = at_entries_of::<Tensor<P, F>, _>(x, Lazy::<Tensor<P, F>>::of(Arc::clone(asked.upstream)));
            let part = Lazy::<Tensor<P, F>>::of(Arc::clone(g)).slice(slices);
            through(&part.node, &Asked { upstream: &back.node, ..asked })
        });
        Arc::clone(&step.node)
    }
}
