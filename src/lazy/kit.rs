//! The typed implementations of the operations that gradients use, by the kinds of the operands.

use std::any::Any;
use std::sync::Arc;

use ndarray::ArrayD;

use super::call::Call;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::steps::{Steps, constant, family, step_impl};
use super::value::{Kind, Value};
use super::{lengths, maps, operators, reductions, zips};
use crate::base::alloc;
use crate::base::error::Result;
use crate::convert::dense_array;
use crate::element::{Element, Float, Numeric};
use crate::ops::moved::Moves;
use crate::ops::{self, OpSpec, Split, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Moves the elements of a value. The moves depend on the lengths of its axes.
pub(super) fn choose<X: Steps>(value: &ErasedValue, moves: &dyn Fn(&[usize]) -> Result<Moves>) -> Result<ErasedValue> {
    let x = downcast::<X>(value);
    Ok(Arc::new(ops::select_with(x, &moves(x.lengths())?).map(X::reduced)?))
}

/// Returns the implementation of all moves.
pub(super) fn mover<X: Steps>() -> StepImpl {
    StepImpl::new(<X::Of<X::Elem>>::KIND, |node, inputs| {
        choose::<X>(&inputs[0], &|lengths| lengths::moves(node.args(), lengths))
    })
}

/// Returns the implementation of the gradients of all moves; `None` for another operation.
fn mover_back<X: Steps>(forward: &'static OpSpec) -> Option<StepImpl> {
    let step_impl = step_impl!(X::Of<X::Elem>, |node, inputs| {
        let (x, call) = (downcast::<X>(&inputs[0]), node.args().forward());
        ops::select_with_backward(x, &lengths::moves(&call, x.lengths())?, downcast::<X>(&inputs[1])).map(X::reduced)
    });
    (forward.split == Split::Moved).then_some(step_impl)
}

/// Returns whether an input has values of type `X`.
pub(super) fn is<X: Value>(input: &Arc<Node>) -> bool {
    <dyn Kind as Any>::type_id(input.kind) == <dyn Kind as Any>::type_id(X::KIND)
}

/// Returns the implementation for tensors or arrays of floats.
fn of_floats<F, X>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl>
where
    F: Float + Numeric,
    X: Steps<Elem = F, Of<F> = X>,
{
    if !inputs.first().is_some_and(is::<X>) {
        return None;
    }
    if call.op.split == Split::Moved {
        return Some(mover::<X>());
    }
    if call.op.is(&op::number_like) {
        return Some(step_impl!(X, |node, inputs| constant(downcast::<X>(&inputs[0]), node.args().element("number"))));
    }
    let back = call.op.forward().and_then(mover_back::<X>);
    back.or_else(|| maps::find_impl::<F, X>(call))
        .or_else(|| reductions::find_impl::<F, X>(call, inputs))
        .or_else(|| zips::find_impl::<F, X>(call, inputs))
}

/// Returns the implementation for tensors, if their elements are floats.
pub(super) fn of_tensors<P: Pattern, T: Element>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl> {
    family!(T, [P: Pattern] |call, inputs| match call.op {
        op if op.is(&op::zeros_like) => Some(zeros_of_tensor::<P, F>()),
        op if op.is(&op::dense) => Some(step_impl!(ArrayD<F>, |_, inputs| downcast::<Tensor<P, F>>(&inputs[0]).to_dense())),
        op if op.is(&op::with_fill) => Some(maps::filled::<P, F>()),
        _ => operators::find_impl::<P, F>(call, inputs).or_else(|| of_floats::<F, Tensor<P, F>>(call, inputs)),
    })?(call, inputs)
}

/// Returns the implementation for arrays, if their elements are floats.
pub(super) fn of_arrays<T: Element>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl> {
    family!(
        T,
        [] | call,
        inputs
            | match call.op {
                _ if !inputs.iter().all(is::<ArrayD<F>>) => None,
                op if op.is(&op::zeros_like) => Some(step_impl!(ArrayD<F>, |_, inputs| {
                    let x = downcast::<ArrayD<F>>(&inputs[0]);
                    Ok(dense_array(&x.shape().into(), alloc::zeros(x.len())?))
                })),
                _ => of_floats::<F, ArrayD<F>>(call, inputs),
            }
    )?(call, inputs)
}

/// Returns the implementation of `zeros_like`: zeros on the pattern of a tensor.
pub(super) fn zeros_of_tensor<P: Pattern, T: Element>() -> StepImpl {
    step_impl!(Tensor<P, T>, |_, inputs| {
        downcast::<Tensor<P, T>>(&inputs[0]).clone().with_fill(T::ZERO).map_values(|_| T::ZERO)
    })
}
