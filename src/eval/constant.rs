//! Tensors and arrays that are written in an expression.

use super::Fault;
use super::arithmetic::tensor_of;
use super::fault::{at, wrong};
use super::running::Running;
use crate::dynamic::{AnyArray, AnyValue};
use crate::pattern::Format;

/// Evaluates `tensor(dtype, format, shape, fill, indices, values)`.
pub(super) fn tensor(call: &Running<'_>) -> Result<AnyValue, Fault> {
    let (dtype, shape) = (call.dtype()?, call.shape());
    let format = if call.call().word("format") == "csr" { Format::Csr } else { Format::Coo };
    let indices = match call.list("indices") {
        Ok([]) => Vec::new(),
        _ => call.coordinates("indices", shape.rank())?,
    };
    if let Some(twice) = repeated(&indices) {
        let message = format!("position {twice:?} is repeated; with_entries uses the last value");
        return wrong(&call.at_of("indices"), message);
    }
    let values = call.numbers("values", dtype, indices.len())?;
    let entries: Vec<_> = indices.into_iter().zip(values).collect();
    let fill = tensor_of(&call.number_opt("fill")?, dtype, &call.at_of("fill"))?;
    let empty = at(call.at(), fill.broadcast_to(shape))?;
    call.done(empty.with_entries(&entries).and_then(|x| x.into_format(format)))
}

/// Returns a position that occurs more than once in the list, if there is one.
fn repeated(indices: &[Vec<usize>]) -> Option<&Vec<usize>> {
    let mut sorted: Vec<&Vec<usize>> = indices.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Evaluates `array(dtype, shape, values)`: an array of these elements in row-major order.
pub(super) fn array(call: &Running<'_>) -> Result<AnyValue, Fault> {
    let (dtype, shape, count) = (call.dtype()?, call.shape(), call.list("values")?.len());
    if shape.wide_size() != count as u128 {
        return wrong(&call.at_of("values"), format!("found {count} numbers for an array of shape {shape}"));
    }
    let values = call.numbers("values", dtype, count)?;
    call.done(AnyArray::of_all(dtype, &shape, &values))
}
