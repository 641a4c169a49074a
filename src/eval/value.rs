//! The values of the nodes of an expression.

use std::ops::Range;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::literal::Literal;
use crate::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue};

/// The value of a node.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Tensor(AnyTensor),
    /// A view of the stored entries of a tensor.
    Stored(AnyTensor),
    Array(AnyArray),
    Number(Literal),
    Text(String),
    List(Vec<Value>),
    /// One slice per axis, as stored in a graph.
    Slices(Arc<[SliceInfoElem]>),
}

/// A value, and its byte range in the expression.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) value: Value,
    pub(super) at: Range<usize>,
}

impl Value {
    /// Returns the kind of the value, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Stored(_) => "the entries of a tensor",
            Value::Array(_) => "an array",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Slices(_) => "an index",
        }
    }

    /// Returns the value as an operand, if it is a tensor, a view or an array.
    pub(super) fn operand(&self) -> Option<AnyOperand<'_>> {
        match self {
            Value::Tensor(tensor) => Some(AnyOperand::Tensor(tensor)),
            Value::Stored(tensor) => Some(AnyOperand::Stored(tensor)),
            Value::Array(array) => Some(AnyOperand::Array(array)),
            _ => None,
        }
    }
}

impl From<AnyTensor> for Value {
    fn from(tensor: AnyTensor) -> Self {
        Value::Tensor(tensor)
    }
}

impl From<AnyArray> for Value {
    fn from(array: AnyArray) -> Self {
        Value::Array(array)
    }
}

impl From<AnyValue> for Value {
    fn from(value: AnyValue) -> Self {
        match value {
            AnyValue::Tensor(tensor) => Value::Tensor(tensor),
            AnyValue::Array(array) => Value::Array(array),
        }
    }
}
