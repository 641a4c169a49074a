//! What a part of an expression comes to.

use std::ops::Range;

use super::literal::Literal;
use crate::dynamic::{AnyTensor, View};

/// The value of a node.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Tensor(AnyTensor),
    /// The entries of a tensor alone.
    Stored(AnyTensor),
    Number(Literal),
    Text(String),
    List(Vec<Value>),
}

/// A value, and the bytes of the expression that it came from.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) value: Value,
    pub(super) at: Range<usize>,
}

impl Value {
    /// What it is, in an error.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Stored(_) => "the entries of a tensor",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
        }
    }

    /// The tensor, or its entries, that it is.
    pub(super) fn view(&self) -> Option<View<'_>> {
        match self {
            Value::Tensor(tensor) => Some(View { tensor, stored: false }),
            Value::Stored(tensor) => Some(View { tensor, stored: true }),
            _ => None,
        }
    }
}
