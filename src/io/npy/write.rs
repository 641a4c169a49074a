//! Writing an array: its header, and its elements in blocks.

use std::io::Write;

use ndarray::{ArrayBase, Data, Dimension};

use super::header::MAGIC;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::convert::dense_bytes;
use crate::io::element::FileElement;
use crate::io::limits::{BLOCK, MAX_AXES};
use crate::io::options::WriteOptions;
use crate::io::values::{FileValues, values_of_slice};
use crate::pattern::AnyPattern;

/// Writes the bytes before the elements: magic, version, header.
pub(crate) fn write_header(writer: &mut dyn Write, descr: &str, shape: &[usize]) -> Result<()> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let tuple = match &lengths[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", lengths.join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple}, }}");
    // The elements begin at a multiple of 64 bytes; a line break ends the padding.
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&(text.len() as u16).to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the type of the values, as a header spells it.
pub(crate) fn descr_of(values: &dyn FileValues) -> Result<String> {
    let size = values.width();
    let order = if size == 1 { '|' } else { '<' };
    match values.npy_kind() {
        Some(kind) => Ok(format!("{order}{kind}{size}")),
        None => Err(Error::NotRepresentable {
            format: ".npy",
            what: format!("elements of type {}", values.dtype()),
            instead: "cast to float32, or write .mtx",
        }),
    }
}

/// Bytes that are written in blocks.
pub(crate) struct BlockWriter<'a> {
    writer: &'a mut dyn Write,
    bytes: Vec<u8>,
}

impl<'a> BlockWriter<'a> {
    pub(crate) fn new(writer: &'a mut dyn Write) -> Self {
        BlockWriter { writer, bytes: Vec::with_capacity(BLOCK + 16) }
    }

    /// Appends bytes with `append`, and writes full blocks. `append` must append less than one block.
    pub(crate) fn append(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        append(&mut self.bytes);
        if self.bytes.len() >= BLOCK {
            self.writer.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        Ok(self.writer.write_all(&self.bytes)?)
    }
}

/// The number of values that are appended at once: at most a block of bytes.
const RUN: usize = BLOCK / 16;

/// Writes the values of all entries, in blocks.
pub(crate) fn write_values(writer: &mut dyn Write, values: &dyn FileValues, count: usize) -> Result<()> {
    let mut blocks = BlockWriter::new(writer);
    for start in (0..count).step_by(RUN) {
        blocks.append(|bytes| values.append_bytes(start..count.min(start + RUN), bytes))?;
    }
    blocks.finish()
}

/// Writes the dense array of a tensor, without constructing the array.
pub(crate) fn write(
    writer: &mut dyn Write,
    pattern: &AnyPattern,
    values: &dyn FileValues,
    options: &WriteOptions,
) -> Result<()> {
    let (shape, held) = (pattern.shape(), pattern.index_bytes() + pattern.nnz() * values.width());
    begin(writer, values, shape, held, options)?;
    write_dense(writer, &positions(pattern)?, values, shape.checked_size().unwrap_or(0))
}

/// Writes an array of any layout, in row-major order.
pub(crate) fn write_array<T: FileElement, S: Data<Elem = T>, D: Dimension>(
    writer: &mut dyn Write,
    array: &ArrayBase<S, D>,
    options: &WriteOptions,
) -> Result<()> {
    begin(writer, &values_of_slice::<T>(&[]), &Shape::from(array.shape()), dense_bytes(array), options)?;
    if let Some(elements) = array.as_slice() {
        return write_values(writer, &values_of_slice(elements), elements.len());
    }
    let mut blocks = BlockWriter::new(writer);
    for element in array {
        blocks.append(|bytes| element.to_bytes(bytes))?;
    }
    blocks.finish()
}

/// Writes the bytes before the elements, unless the format cannot hold the elements, or the file would be too large for a
/// source of `held` bytes.
fn begin(
    writer: &mut dyn Write,
    values: &dyn FileValues,
    shape: &Shape,
    held: usize,
    options: &WriteOptions,
) -> Result<()> {
    let descr = descr_of(values)?;
    let limit = options.max_memory.unwrap_or_else(|| default_limit(held));
    let bytes = shape.wide_size().saturating_mul(values.width() as u128);
    guard::<u8>("the dense array", bytes, limit, "write .npz, or raise --max-memory")?;
    if shape.rank() > MAX_AXES {
        let what = format!("{} axes", shape.rank());
        return Err(Error::NotRepresentable { format: ".npy", what, instead: "reshape it to at most 64" });
    }
    write_header(writer, &descr, shape)
}

/// Writes `size` elements: values at the positions, and the fill elsewhere.
fn write_dense(writer: &mut dyn Write, positions: &[usize], values: &dyn FileValues, size: usize) -> Result<()> {
    let mut blocks = BlockWriter::new(writer);
    let (mut position, mut entry) = (0, 0);
    while position < size {
        let gap = positions.get(entry).map_or(size, |&at| at) - position;
        for _ in 0..gap {
            blocks.append(|bytes| values.append_fill(bytes))?;
        }
        position += gap;
        let run = positions[entry..].iter().take(RUN).zip(position..).take_while(|(at, expected)| *at == expected);
        let end = entry + run.count();
        blocks.append(|bytes| values.append_bytes(entry..end, bytes))?;
        (position, entry) = (position + end - entry, end);
    }
    blocks.finish()
}

/// Returns the flat index of each entry in the dense array.
fn positions(pattern: &AnyPattern) -> Allocated<Vec<usize>> {
    let mut positions = alloc::with_capacity(pattern.nnz())?;
    pattern.walk_range(0..pattern.nnz(), &mut |_, coords| {
        positions.push(crate::base::shape::ravel(coords, pattern.shape()));
        true
    });
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::values::values_of;
    use crate::tensor::coo::CooTensor;

    /// A writer that counts its calls.
    struct Calls(usize);

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn elements_are_written_in_blocks() {
        let mut calls = Calls(0);
        let count = 3 * BLOCK / 8 + 1;
        let x = CooTensor::from_dense(&ndarray::Array1::from_elem(count, 1.5f64), 0.0).unwrap();
        write_values(&mut calls, &values_of(x.sparse()), count).unwrap();
        assert_eq!(calls.0, 4);
    }
}
