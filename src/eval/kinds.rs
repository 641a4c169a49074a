//! Prediction, from types, shapes and fills, of whether a node of an expression evaluates to an array or to a tensor.
//!
//! Each node runs on small operands: tensors without entries and arrays of ones, with axes of at most two positions.
//! The kind of the result of an operation depends on the kinds and fills of its operands, and on the axes that it
//! repeats.

use super::arithmetic::tensor_of;
use super::fault::CallPositions;
use super::literal::Literal;
use super::run::called;
use crate::base::shape::Shape;
use crate::dynamic::{AnyArray, AnyTensor, AnyValue};
use crate::element::Number;
use crate::lazy::expression::OrderedStep;
use crate::pattern::Format;

/// The largest number of elements of a small array.
const MAX_SMALL: usize = 1 << 12;

/// Small values of the steps so far, which have the kinds of the steps.
pub(super) struct Kinds<'a> {
    values: Vec<Option<AnyValue>>,
    bound: &'a dyn Fn(&str) -> Option<AnyValue>,
}

impl<'a> Kinds<'a> {
    /// Returns an empty list of kinds. `bound` returns the small value of a name.
    pub(super) fn new(bound: &'a dyn Fn(&str) -> Option<AnyValue>) -> Self {
        Kinds { values: Vec::new(), bound }
    }

    /// Returns whether the next step evaluates to an array, from its known type and shape; `None` if these do not
    /// determine it.
    pub(super) fn next(&mut self, step: &OrderedStep, known: Option<&AnyValue>) -> Option<bool> {
        let small = known.and_then(|known| self.small(step, known));
        let is_array = small.as_ref().map(|small| matches!(small, AnyValue::Array(_)));
        self.values.push(small);
        is_array
    }

    /// Returns a small value of the same kind as the value of a step.
    fn small(&self, step: &OrderedStep, known: &AnyValue) -> Option<AnyValue> {
        if let Some(name) = step.name() {
            return (self.bound)(name);
        }
        let inputs = step.inputs.iter().map(|&input| self.values[input].as_ref()).collect::<Option<Vec<_>>>()?;
        let shape = small_shape(&known.shape());
        let (of_arrays, of_tensors): (Vec<&AnyValue>, Vec<&AnyValue>) =
            inputs.iter().partition(|value| matches!(value, AnyValue::Array(_)));
        // A tensor of one position counts as a number with an array if the position is stored.
        let is_single = |value: &&AnyValue| value.shape().iter().all(|&length| length == 1);
        let (has_arrays, is_mixed) = (!of_arrays.is_empty(), !of_arrays.is_empty() && !of_tensors.is_empty());
        if is_mixed && of_tensors.iter().any(is_single) {
            return None;
        }
        match called(step.call()?, &inputs, &CallPositions::default()).ok() {
            Some(x @ AnyValue::Array(_)) => ones(&x, &shape),
            Some(x @ AnyValue::Tensor(_)) => without_entries(&x, shape).map(AnyValue::Tensor),
            // Positions and lengths in arguments may not be valid for small operands.
            None if is_mixed => None,
            None if has_arrays => ones(known, &shape),
            None => match known {
                AnyValue::Tensor(_) => without_entries(known, shape).map(AnyValue::Tensor),
                AnyValue::Array(_) => None,
            },
        }
    }
}

fn small_shape(shape: &Shape) -> Shape {
    shape.iter().map(|&length| length.min(2)).collect()
}

/// Returns an array of ones with the element type of a value, if the array is small.
fn ones(like: &AnyValue, shape: &Shape) -> Option<AnyValue> {
    let size = usize::try_from(shape.wide_size()).ok().filter(|&size| size <= MAX_SMALL)?;
    let elements = vec![Number::Integer(1); size];
    AnyArray::of_all(like.dtype(), shape, &elements).ok().map(AnyValue::Array)
}

/// Returns a small value of the same kind.
pub(super) fn small(x: &AnyValue) -> Option<AnyValue> {
    let shape = small_shape(&x.shape());
    match x {
        AnyValue::Tensor(_) => without_entries(x, shape).map(AnyValue::Tensor),
        AnyValue::Array(_) => ones(x, &shape),
    }
}

/// Returns a tensor without entries, with the same type, format and fill. An array also becomes such a tensor, so that
/// no elements are computed.
pub(super) fn without_entries(x: &AnyValue, shape: Shape) -> Option<AnyTensor> {
    let (fill, format) = match x {
        AnyValue::Tensor(x) => (x.fill(), x.format()),
        AnyValue::Array(_) => (Number::Integer(0), Format::Coo),
    };
    let fill = tensor_of(&Literal::from(fill), x.dtype(), &(0..0)).ok()?;
    fill.broadcast_to(shape).ok()?.into_format(format).ok()
}
