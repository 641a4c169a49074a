//! Reading Matrix Market text as a tensor.

use hashbrown::HashSet;
use std::io::BufRead;

use num_complex::Complex;

use super::array;
use super::banner::{Banner, COMMENT, Field, MatrixLayout, Symmetry};
use super::body::{MatrixBody, MatrixValue};
use crate::base::alloc::{self, AllocError};
use crate::base::error::{Error, Result};
use crate::element::{DType, Element};
use crate::io::entries::{FileEntries, Listing, TextFile, TextTensor};
use crate::io::fields::{Fields, LineResult};
use crate::io::line_numbers::one_based;
use crate::io::lines::TextLines;
use crate::io::options::ReadOptions;
use crate::pattern::IndexKind;
use crate::tensor::erased::Erased;
use crate::tensor::triplets::Duplicates;

/// Reads a Matrix Market file. Returns the contents and the number of bytes.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions, index: IndexKind) -> Result<(TextFile, u64)> {
    let mut lines = TextLines::new(reader, COMMENT);
    let banner = Banner::read(&mut lines)?;
    let (shape, declared) = banner.read_sizes(&mut lines)?;
    (index.check)(&shape)?;
    let index = IndexKind { width: index.for_shape(&shape), ..index };
    let mut body = MatrixBody { lines, banner, shape, declared, options, index };
    let text = match banner.field {
        Field::Real => body.read::<f64>(|fields| fields.value())?,
        Field::Pattern => body.read::<f64>(|_| Ok(1.0))?,
        Field::Integer if options.dtype == Some(DType::UInt64) => body.read::<u64>(|fields| fields.value())?,
        Field::Integer => body.read::<i64>(|fields| fields.value())?,
        Field::Unsigned => body.read::<u64>(|fields| fields.value())?,
        Field::Complex => body.read::<Complex<f64>>(|fields| fields.value())?,
    };
    Ok((text, body.lines.bytes()))
}

impl<R: BufRead> MatrixBody<'_, R> {
    fn read<T: MatrixValue>(
        &mut self,
        value: impl Fn(&mut Fields<'_>) -> LineResult<T> + Sync + Send,
    ) -> Result<TextFile>
    where
        TextTensor: From<Erased<T>>,
    {
        match self.banner.layout {
            _ if self.options.only_header => {
                let none = FileEntries::<T>::new(self.shape.rank(), self.index.width);
                none.into_text(self.shape.clone(), Duplicates::Sum, |error| error)
            }
            MatrixLayout::Coordinate => self.read_coordinates(value),
            MatrixLayout::Array => array::read(self, value),
        }
    }

    /// Reads one entry per line.
    fn read_coordinates<T: MatrixValue>(
        &mut self,
        value: impl Fn(&mut Fields<'_>) -> LineResult<T> + Sync + Send,
    ) -> Result<TextFile>
    where
        TextTensor: From<Erased<T>>,
    {
        let (symmetry, options, index) = (self.banner.symmetry, self.options, self.index);
        let listing =
            Listing { lengths: &self.shape, names: &["row", "column"], declared: Some(self.declared), options, index };
        let mut entries = listing.read(&mut self.lines, |entries, fields| {
            let value = value(fields)?;
            check_symmetry(entries, value, symmetry)?;
            Ok(value)
        })?;
        if symmetry == Symmetry::General {
            entries.note_rejected(options.dtype, |_, entry| entry);
            return entries.into_text(self.shape.clone(), options.duplicates, |error| error);
        }
        check_triangles(&entries)?;
        let listed = entries.values.len();
        let names_repeated = options.duplicates == Duplicates::Error;
        let mirrored = if names_repeated { alloc::collect_some(off_diagonal(&entries))? } else { Vec::new() };
        mirror(&mut entries, symmetry)?;
        entries.check_memory(options, self.lines.bytes())?;
        entries.note_rejected(options.dtype, |entries, entry| match entry.checked_sub(listed) {
            // Mirror images follow the listed entries, in the same order.
            Some(image) => off_diagonal(entries).nth(image).unwrap_or(entry),
            None => entry,
        });
        entries.into_text(self.shape.clone(), options.duplicates, |error| as_listed(error, listed, &mirrored))
    }
}

/// Returns the indices of the entries that have a mirror image.
fn off_diagonal<T: Element>(entries: &FileEntries<T>) -> impl Iterator<Item = usize> {
    (0..entries.values.len()).filter(|&entry| entries.coords.at(0, entry) != entries.coords.at(1, entry))
}

/// Replaces mirror images in an error by the `mirrored` entries of the file. Mirror images follow the `listed` entries.
fn as_listed(error: Error, listed: usize, mirrored: &[usize]) -> Error {
    match error {
        Error::Duplicate { mut coords, first, second } if first >= listed => {
            coords.reverse();
            Error::Duplicate { coords, first: mirrored[first - listed], second: mirrored[second - listed] }
        }
        error => error,
    }
}

/// Rejects `value` at the coordinates read last, if the symmetry does not allow it.
fn check_symmetry<T: MatrixValue>(entries: &FileEntries<T>, value: T, symmetry: Symmetry) -> LineResult<()> {
    if matches!(symmetry, Symmetry::General | Symmetry::Symmetric) {
        return Ok(());
    }
    match entries.coords.last(0) == entries.coords.last(1) {
        true => value.check_diagonal(symmetry),
        false => value.check_mirror(symmetry),
    }
}

/// Rejects a symmetric file that lists an entry and its mirror image: the entry would be counted twice.
fn check_triangles<T: Element>(entries: &FileEntries<T>) -> Result<()> {
    let pairs = || (0..entries.values.len()).map(|entry| (entries.coords.at(0, entry), entries.coords.at(1, entry)));
    if !pairs().any(|(row, column)| row > column) {
        return Ok(());
    }
    let is_above = |(row, column): &(usize, usize)| row < column;
    let mut above = HashSet::new();
    for pair in pairs().filter(is_above) {
        above.try_reserve(1).map_err(|_| AllocError::of::<(usize, usize)>(above.len() + 1))?;
        above.insert(pair);
    }
    match pairs().position(|(row, column)| row > column && above.contains(&(column, row))) {
        None => Ok(()),
        Some(below) => Err(both_triangles(entries, below)),
    }
}

/// Returns the error for the entry `below`, whose mirror image the file also lists. The error names the line of the
/// later entry.
fn both_triangles<T: Element>(entries: &FileEntries<T>, below: usize) -> Error {
    let at = |entry: usize| [0, 1].map(|axis| entries.coords.at(axis, entry));
    let [row, column] = at(below);
    let above = (0..entries.values.len()).find(|&entry| at(entry) == [column, row]).unwrap_or(below);
    let (first, second) = (above.min(below), above.max(below));
    let entry = one_based(&at(second));
    let (place, behind) = match (entries.origin.line(first), entries.origin.line(second)) {
        (Some(first), Some(second)) => (format!("line {second}"), format!(" {entry} on line {first}")),
        _ => (format!("entry {entry}"), String::new()),
    };
    let message = format!("the file is symmetric, but also has the mirror image of this entry{behind}");
    Error::Format { place, message }
}

/// Adds the mirror image of every entry that is not on the diagonal.
fn mirror<T: MatrixValue>(entries: &mut FileEntries<T>, symmetry: Symmetry) -> Result<()> {
    let listed = entries.values.len();
    entries.reserve_exact(off_diagonal(entries).count())?;
    entries.unordered();
    for entry in 0..listed {
        let (row, column, value) = (entries.coords.at(0, entry), entries.coords.at(1, entry), entries.values[entry]);
        if row != column {
            entries.push([column, row], value.mirrored(symmetry))?;
        }
    }
    Ok(())
}
