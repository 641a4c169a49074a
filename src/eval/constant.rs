//! Tensors and arrays that are written in an expression.

use super::Fault;
use super::call::Call;
use super::run::{at, tensor_of, wrong};
use super::value::Value;
use crate::dynamic::AnyArray;
use crate::element::DType;
use crate::pattern::Format;

/// Evaluates `tensor(dtype, format, shape, fill, indices, values)`.
pub(super) fn tensor(call: &Call) -> Result<Value, Fault> {
    let Some(dtype) = DType::from_name(call.text(0)?) else {
        return wrong(&call.given(0)?.at, format!("there is no element type {}", call.text(0)?));
    };
    let format = [Format::Coo, Format::Csr][call.word(1, &["coo", "csr"])?];
    let (shape, fill) = (call.shape(2)?, call.given(3)?);
    let Value::Number(number) = &fill.value else {
        return wrong(&fill.at, format!("this is {}, and not a number", fill.value.kind()));
    };
    let indices = match &call.given(4)?.value {
        Value::List(none) if none.is_empty() => Vec::new(),
        _ => call.coordinates(4, shape.rank())?,
    };
    if let Some(twice) = repeated(&indices) {
        return wrong(
            &call.at_of(4),
            format!("position {twice:?} stands here twice; with_entries takes the last of them"),
        );
    }
    let values = call.numbers(5, dtype, indices.len())?;
    let entries: Vec<_> = indices.into_iter().zip(values).collect();
    let empty = at(&call.at, tensor_of(number, dtype, &fill.at)?.broadcast_to(shape))?;
    call.done(empty.with_entries(&entries).and_then(|x| x.into_format(format)))
}

/// Returns a position that occurs more than once in the list, if there is one.
fn repeated(indices: &[Vec<usize>]) -> Option<&Vec<usize>> {
    let mut sorted: Vec<&Vec<usize>> = indices.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Evaluates `array(dtype, shape, values)`: an array of these elements in row-major order.
pub(super) fn array(call: &Call) -> Result<Value, Fault> {
    let Some(dtype) = DType::from_name(call.text(0)?) else {
        return wrong(&call.given(0)?.at, format!("there is no element type {}", call.text(0)?));
    };
    let (shape, given) = (call.shape(1)?, call.given(2)?);
    let count = match &given.value {
        Value::List(items) => items.len(),
        other => return wrong(&given.at, format!("this is {}, and not a list of numbers", other.kind())),
    };
    if shape.wide_size() != count as u128 {
        return wrong(&given.at, format!("these are {count} numbers for an array of shape {shape}"));
    }
    let values = call.numbers(2, dtype, count)?;
    call.done(AnyArray::of_all(dtype, &shape, &values))
}
