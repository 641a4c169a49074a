//! The inputs of programs.

use std::ops::Range;

use super::arithmetic::tensor_of;
use super::{Argument, ExpressionNode, Id, NodeKind, Wrong};
use crate::dynamic::{AnyTensor, AnyValue};
use crate::element::{DType, Number};
use crate::pattern::Format;

/// An input of a [`Program`](super::Program).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The name by which the input is bound.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The format in which the steps read the input.
    pub format: Format,
    /// True if the input is an array.
    pub is_array: bool,
    /// The lengths of the axes. `None` allows any length.
    pub lengths: Vec<Option<usize>>,
}

impl Input {
    /// Returns whether a value has the element type and the lengths.
    pub(super) fn fits(&self, x: &AnyValue) -> bool {
        let shape = x.shape();
        let mut lengths = self.lengths.iter().zip(shape.iter());
        let fit = |(given, found): (&Option<usize>, &usize)| given.is_none_or(|given| given == *found);
        self.dtype == x.dtype() && self.lengths.len() == shape.rank() && lengths.all(fit)
    }

    /// Returns the element type and the lengths as text, for errors.
    pub(super) fn description(&self) -> String {
        let length = |length: &Option<usize>| length.map_or("?".into(), |length| length.to_string());
        format!("{} [{}]", self.dtype, self.lengths.iter().map(length).collect::<Vec<_>>().join(", "))
    }
}

/// Returns the input of a call such as `input("x", "float64", "csr", [2, "?"])`.
pub(super) fn input_of(nodes: &[ExpressionNode], arguments: &[Argument], at: &Range<usize>) -> Result<Input, Wrong> {
    let wrong = |message: &str| Wrong::new(at.clone(), message);
    let kinds: Vec<&NodeKind> =
        arguments.iter().filter(|given| given.name.is_none()).map(|given| &nodes[given.value].kind).collect();
    let [NodeKind::Text(name), NodeKind::Text(dtype), NodeKind::Text(format), NodeKind::List(lengths)] = kinds[..]
    else {
        return Err(wrong("expected an input such as input(\"x\", \"float64\", \"csr\", [2, \"?\"])"));
    };
    let length = |id: &Id| match &nodes[*id].kind {
        NodeKind::Text(open) if open == "?" => Ok(None),
        NodeKind::Number(number) => match number.integer().and_then(|length| usize::try_from(length).ok()) {
            Some(length) => Ok(Some(length)),
            None => Err(Wrong::new(nodes[*id].at.clone(), "expected a length")),
        },
        _ => Err(Wrong::new(nodes[*id].at.clone(), "expected a length: an integer or \"?\"")),
    };
    Ok(Input {
        name: name.clone(),
        dtype: DType::from_name(dtype).ok_or_else(|| wrong("unknown element type"))?,
        format: match format.as_str() {
            "coo" | "array" => Format::Coo,
            "csr" => Format::Csr,
            _ => return Err(wrong("expected a format: \"coo\", \"csr\" or \"array\"")),
        },
        is_array: format == "array",
        lengths: lengths.iter().map(length).collect::<Result<_, _>>()?,
    })
}

/// Returns a tensor without entries for an input; `None` if a length is open.
#[doc(hidden)]
pub fn header(input: &Input) -> Option<AnyTensor> {
    let lengths: Vec<usize> = input.lengths.iter().copied().collect::<Option<_>>()?;
    let zero = tensor_of(&Number::Integer(0).into(), input.dtype, &(0..0)).ok()?;
    zero.broadcast_to(lengths).ok()?.into_format(input.format).ok()
}
