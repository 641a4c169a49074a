//! Predicts from types, shapes and fills which nodes of an expression evaluate to arrays, and which to tensors.
//!
//! Each node runs on small operands: tensors without entries and arrays of ones, with axes of at most two positions. An
//! operation decides on the kind of its result by the kinds and fills of its operands, and by which axes it repeats.

use super::literal::Literal;
use super::run::{Machine, tensor_of};
use super::value::Value;
use super::{Node, grad};
use crate::base::shape::Shape;
use crate::dynamic::{AnyArray, AnyTensor, AnyValue};
use crate::element::Number;
use crate::pattern::Format;

/// More elements are not small.
const MOST: usize = 1 << 12;

/// The kinds of the nodes before one.
pub(super) struct Kinds<'a> {
    machine: Machine<'a>,
}

impl<'a> Kinds<'a> {
    /// The kinds of no node yet, with the small value of each name.
    pub(super) fn new(nodes: &'a [Node], bound: &'a dyn Fn(&str) -> Option<AnyValue>) -> Self {
        Kinds { machine: Machine::new(nodes, vec![usize::MAX; nodes.len()], bound) }
    }

    /// Returns whether the next node evaluates to an array, from its known type and shape; none if these do not decide.
    pub(super) fn next(&mut self, node: &Node, known: Option<&Value>) -> Option<bool> {
        let small = known.and_then(|known| self.small(node, known));
        let is_array = match &small {
            Some(Value::Array(_)) => Some(true),
            Some(Value::Tensor(_)) => Some(false),
            _ => None,
        };
        self.machine.values.push(small);
        is_array
    }

    /// A small value of the same kind as that of a node.
    fn small(&mut self, node: &Node, known: &Value) -> Option<Value> {
        let inputs = grad::inputs(&node.kind);
        let values = inputs.iter().map(|&input| self.machine.values[input].as_ref()).collect::<Option<Vec<_>>>()?;
        let Some(shape) = known.operand().map(|operand| small_shape(&operand.shape())) else {
            return self.machine.value(node).ok();
        };
        let (of_arrays, of_tensors): (Vec<&Value>, Vec<&Value>) =
            values.into_iter().flat_map(operands).partition(|value| matches!(value, Value::Array(_)));
        // A tensor of one position counts as a number with an array if the position is stored.
        let is_single = |value: &&Value| value.operand().is_some_and(|x| x.shape().iter().all(|&length| length == 1));
        let (has_arrays, is_mixed) = (!of_arrays.is_empty(), !of_arrays.is_empty() && !of_tensors.is_empty());
        if is_mixed && of_tensors.iter().any(is_single) {
            return None;
        }
        match self.machine.value(node).ok() {
            Some(Value::Array(x)) => ones(&Value::Array(x), &shape),
            Some(Value::Tensor(x)) => without_entries(&x.into(), shape).map(Value::Tensor),
            Some(Value::Stored(x)) => without_entries(&x.into(), shape).map(Value::Stored),
            // Positions and lengths are not those of small operands.
            _ if is_mixed => None,
            _ if has_arrays => ones(known, &shape),
            _ => match known {
                Value::Tensor(x) => without_entries(&x.clone().into(), shape).map(Value::Tensor),
                other => Some(other.clone()),
            },
        }
    }
}

/// The tensors and arrays that a value is or lists.
fn operands(value: &Value) -> Vec<&Value> {
    match value {
        Value::List(items) => items.iter().flat_map(operands).collect(),
        value => value.operand().map(|_| value).into_iter().collect(),
    }
}

fn small_shape(shape: &Shape) -> Shape {
    shape.iter().map(|&length| length.min(2)).collect()
}

/// An array of ones of the type of a value.
fn ones(like: &Value, shape: &Shape) -> Option<Value> {
    let size = usize::try_from(shape.wide_size()).ok().filter(|&size| size <= MOST)?;
    let elements = vec![Number::Integer(1); size];
    AnyArray::of_all(like.operand()?.dtype(), shape, &elements).ok().map(Value::Array)
}

/// A small value of the same kind.
pub(super) fn small(x: &AnyValue) -> Option<AnyValue> {
    let shape = small_shape(&x.shape());
    match x {
        AnyValue::Tensor(_) => without_entries(x, shape).map(AnyValue::Tensor),
        AnyValue::Array(array) => match ones(&Value::Array(array.clone()), &shape)? {
            Value::Array(array) => Some(array.into()),
            _ => None,
        },
    }
}

/// A tensor of the same type, format and fill that stores nothing. It may replace an array too, so that no elements
/// are computed.
pub(super) fn without_entries(x: &AnyValue, shape: Shape) -> Option<AnyTensor> {
    let (fill, format) = match x {
        AnyValue::Tensor(x) => (x.fill(), x.format()),
        AnyValue::Array(_) => (Number::Integer(0), Format::Coo),
    };
    let fill = tensor_of(&Literal::from(fill), x.dtype(), &(0..0)).ok()?;
    fill.broadcast_to(shape).ok()?.into_format(format).ok()
}
