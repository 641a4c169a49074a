//! Writing an array: its header, and its elements in blocks.

use std::io::Write;

use super::{BLOCK, MAGIC};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::io::MOST_AXES;
use crate::io::element::FileElement;
use crate::io::options::WriteOptions;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Writes the bytes before the elements: magic, version, header.
pub(crate) fn write_header(writer: &mut (impl Write + ?Sized), descr: &str, shape: &[usize]) -> Result<()> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let tuple = match &lengths[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", lengths.join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple}, }}");
    // The elements begin at a multiple of 64 bytes; the line ends the padding.
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&(text.len() as u16).to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    Ok(())
}

/// How a header spells a type.
pub(crate) fn descr_of<T: FileElement>() -> Result<String> {
    let size = size_of::<T>();
    let order = if size == 1 { '|' } else { '<' };
    match T::NPY_KIND {
        Some(kind) => Ok(format!("{order}{kind}{size}")),
        None => Err(Error::NotRepresentable {
            format: ".npy",
            what: format!("elements of type {}", T::DTYPE),
            instead: "cast to float32, or write .mtx",
        }),
    }
}

/// Writes elements, in blocks.
pub(crate) fn write_values<T: FileElement>(
    writer: &mut (impl Write + ?Sized),
    values: impl IntoIterator<Item = T>,
) -> Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK + 16);
    for value in values {
        value.to_bytes(&mut bytes);
        if bytes.len() >= BLOCK {
            writer.write_all(&bytes)?;
            bytes.clear();
        }
    }
    writer.write_all(&bytes)?;
    Ok(())
}

/// Writes the dense array that a tensor means, without building it.
pub(crate) fn write<P: Pattern, T: FileElement>(
    writer: &mut impl Write,
    x: &Tensor<P, T>,
    options: &WriteOptions,
) -> Result<()> {
    let descr = descr_of::<T>()?;
    let limit = options.max_memory.unwrap_or_else(|| default_limit(x.stored_bytes()));
    guard::<T>("the dense array", x.shape().wide_size(), limit, "write .npz, or raise --max-memory")?;
    if x.rank() > MOST_AXES {
        let what = format!("{} axes", x.rank());
        return Err(Error::NotRepresentable { format: ".npy", what, instead: "reshape it to at most 64" });
    }
    write_header(writer, &descr, x.shape())?;
    let positions = positions(x.pattern())?;
    let size = x.shape().checked_size().unwrap_or(0);
    let mut stored = positions.iter().zip(x.values()).peekable();
    let elements = (0..size).map(|position| match stored.next_if(|(at, _)| **at == position) {
        Some((_, &value)) => value,
        None => x.fill(),
    });
    write_values(writer, elements)
}

/// Where the entries are in the dense array.
fn positions<P: Pattern>(pattern: &P) -> Allocated<Vec<usize>> {
    let mut positions = alloc::with_capacity(pattern.nnz())?;
    pattern.walk(|_, coords| {
        positions.push(crate::base::shape::ravel(coords, pattern.shape()));
        true
    });
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often it is called.
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
        write_values(&mut calls, vec![1.5f64; 3 * BLOCK / 8 + 1]).unwrap();
        assert_eq!(calls.0, 4);
    }
}
