//! Concatenation of tensors as steps.

use std::borrow::Borrow;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::call::{Arg, Call};
use super::node::{ErasedValue, StepImpl, downcast};
use super::steps::{family, step, step_impl};
use super::{Lazy, Value};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Element, Float};
use crate::ops::{self, OpSpec, ShapeRule, op, slice_of};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Concatenates lazy tensors along an axis: the step [`concat`](crate::concat()).
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
    joined(&op::concat, axis, tensors)
}

/// Stacks lazy tensors of the same shape along a new axis: the step [`stack`](crate::stack()).
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
    joined(&op::stack, axis, tensors)
}

/// Concatenates lazy tensors as the blocks of a matrix, by rows, like [`block`](crate::block()).
///
/// Each row is a step [`concat`](concat()) along the last axis. The result is a step `concat` of the rows along the
/// axis before the last.
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

/// Returns the slices of the upstream gradient that belong to one operand of a concatenation.
///
/// `call` is the call of the gradient, and `shapes` are the shapes of all operands.
pub(super) fn slices(call: &Call, forward: &OpSpec, shapes: &[&Shape]) -> Result<Vec<SliceInfoElem>> {
    let (number, is_new) = (call.wrt().unwrap_or(0), forward.lengths() == ShapeRule::Stacked);
    let own = shapes[number].rank();
    let axis = normalize_axis(call.position("axis", 0) as i128, own + usize::from(is_new))?;
    let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; own];
    if is_new {
        slices.insert(axis, SliceInfoElem::Index(number as isize));
    } else {
        let start: usize = shapes[..number].iter().map(|shape| shape[axis]).sum();
        let length = shapes.iter().map(|shape| shape[axis]).sum();
        slices[axis] = slice_of(start..start + shapes[number][axis], length, 1);
    }
    Ok(slices)
}

/// Returns the step that joins tensors along an axis.
#[track_caller]
fn joined<P: Pattern, T: Element>(
    op: &'static OpSpec,
    axis: isize,
    tensors: &[impl Borrow<Lazy<Tensor<P, T>>>],
) -> Lazy<Tensor<P, T>> {
    let inputs = tensors.iter().map(|tensor| Arc::clone(&tensor.borrow().node)).collect();
    let listed = Arg::List((0..tensors.len()).map(Arg::Input).collect());
    let call = Call::of(op, [listed, Arg::Integer(axis as i128)]);
    let family = family!(
        T, [P: Pattern]
        concat => together::<P, F>(),
        stack => together::<P, F>(),
        concat_backward => part_back::<P, F>(),
        stack_backward => part_back::<P, F>(),
    );
    Lazy::of(Arc::new(step(call, inputs, StepImpl { family, ..together::<P, T>() })))
}

/// Returns all values of some inputs.
fn all<V: Value>(inputs: &[ErasedValue]) -> Vec<&V> {
    inputs.iter().map(downcast::<V>).collect()
}

/// Returns the implementation of `concat` and `stack`.
fn together<P: Pattern, T: Element>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        let (axis, tensors) = (node.args().position("axis", 0), all::<Tensor<P, T>>(inputs));
        if node.args().op.is(&op::stack) { ops::stack(axis, &tensors) } else { ops::concat(axis, &tensors) }
    })
}

/// Returns the implementation of the gradient of one operand, on its pattern. The other operands only provide lengths.
fn part_back<P: Pattern, T: Float>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        let (call, all) = (node.args(), all::<Tensor<P, T>>(inputs));
        let tensors = match call.named("tensors") {
            Arg::List(tensors) => tensors.iter().filter_map(Arg::input).map(|at| all[at].shape()).collect(),
            _ => Vec::new(),
        };
        let forward = call.op.forward().unwrap_or(call.op);
        let (Some(x), Some(g)) = (all.first(), all.last()) else { return Err(Error::NoTensor) };
        ops::any_backward(*x, &g.slice(slices(call, forward, &tensors)?)?, Axes::none())
    })
}
