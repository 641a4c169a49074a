//! Entries of a text file, and the tensors constructed from these entries.

use std::any::Any;
use std::io::BufRead;
use std::mem::take;

use num_complex::Complex;

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::dynamic::AnyTensor;
use crate::element::{DType, Element};
use crate::io::fields::{Fields, LineResult};
use crate::io::line_numbers::LineNumbers;
use crate::io::lines::{LineBlock, TextLines};
use crate::io::options::{EntryOrder, ReadOptions, holds};
use crate::pattern::AnyPattern;
use crate::pattern::{CoordLists, IndexKind};
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;
use crate::tensor::triplets::{Duplicates, Unsorted};

/// The list of entries in a text file, one entry per line: coordinates counted from 1, then a value.
pub(crate) struct Listing<'a> {
    /// The lengths of the axes.
    pub(crate) lengths: &'a [usize],
    /// The names of the coordinates in errors; a coordinate without a name is called `index`.
    pub(crate) names: &'static [&'static str],
    /// The number of entries, if the file declares it.
    pub(crate) declared: Option<usize>,
    pub(crate) options: &'a ReadOptions,
    pub(crate) index: IndexKind,
}

impl Listing<'_> {
    /// Reads the remaining lines. `value` reads the value of a line, after the coordinates of the line are appended.
    pub(crate) fn read<T: Element>(
        &self,
        lines: &mut TextLines<impl BufRead>,
        value: impl Fn(&FileEntries<T>, &mut Fields<'_>) -> LineResult<T> + Sync + Send,
    ) -> Result<FileEntries<T>> {
        let mut entries = FileEntries::new(self.lengths.len(), self.index.width);
        let declared = self.declared.unwrap_or(usize::MAX);
        lines.for_each_block(
            |block| self.parse(block, &value),
            |block: Allocated<FileEntries<T>>, taken| {
                let block = block?;
                taken.check_count(entries.values.len(), block.values.len(), declared)?;
                entries.reserve_declared(declared, taken.bytes)?;
                entries.append(block, taken.before)?;
                entries.check_memory(self.options, taken.bytes)
            },
        )?;
        lines.check_count(entries.values.len(), self.declared.unwrap_or(entries.values.len()))?;
        Ok(entries)
    }

    /// Returns the entries of a block.
    fn parse<T: Element>(
        &self,
        block: &mut LineBlock<'_>,
        value: impl Fn(&FileEntries<T>, &mut Fields<'_>) -> LineResult<T>,
    ) -> Allocated<FileEntries<T>> {
        let rank = self.lengths.len();
        let mut entries = FileEntries::new(rank, self.index.width);
        let mut pushed = Ok(());
        // Each coordinate takes at least two bytes, including the blank or the line end after it. The last line may
        // lack a line end, and an invalid line may have few coordinates.
        entries.reserve_exact(block.count_lines().min(block.len().div_ceil((2 * rank).max(1)) + 1))?;
        block.for_each_line(|fields, line| {
            for (axis, &length) in self.lengths.iter().enumerate() {
                let name = self.names.get(axis).copied().unwrap_or("index");
                let coord = fields.index(name, length)?;
                pushed = pushed.and_then(|()| entries.coords.push(axis, coord));
            }
            let value = value(&entries, fields)?;
            fields.end()?;
            entries.origin.note(entries.values.len(), line);
            entries.values.push(value);
            Ok(())
        });
        pushed?;
        entries.increasing = entries.coords.increase(entries.values.len());
        Ok(entries)
    }
}

/// Entries in the order of the file. The arrays grow with the lines that are read, not with the number that a header
/// declares.
pub(crate) struct FileEntries<T> {
    pub(crate) coords: CoordLists,
    pub(crate) values: Vec<T>,
    /// The positions of the entries in the file.
    pub(crate) origin: LineNumbers,
    /// True if the entries increase strictly in row-major order.
    increasing: bool,
}

impl<T: Element> FileEntries<T> {
    pub(crate) fn new(rank: usize, width: Width) -> Self {
        FileEntries {
            coords: CoordLists::new(rank, width),
            values: Vec::new(),
            origin: LineNumbers::default(),
            increasing: true,
        }
    }

    /// Rejects entries that take more memory than is allowed for `bytes` bytes of text.
    pub(crate) fn check_memory(&self, options: &ReadOptions, bytes: u64) -> Result<()> {
        let limit = options.tensor_budget(bytes, 0);
        let order = if self.increasing { EntryOrder::Increasing } else { EntryOrder::Any };
        options.guard_entries::<T>(self.values.len(), self.coords.rank() * self.coords.width().bytes(), order, limit)
    }

    /// Reserves memory for exactly `count` more entries.
    pub(crate) fn reserve_exact(&mut self, count: usize) -> Allocated<()> {
        self.coords.reserve_exact(count)?;
        alloc::reserve_exact(&mut self.values, count)
    }

    /// Appends an entry. The caller must have reserved memory with `reserve_exact`. If the entry is out of order, the
    /// caller must also call [`unordered`](FileEntries::unordered).
    pub(crate) fn push(&mut self, coords: [usize; 2], value: T) -> Allocated<()> {
        let mut axes = (0..self.coords.rank()).zip(coords);
        axes.try_for_each(|(axis, coord)| self.coords.push(axis, coord))?;
        self.values.push(value);
        Ok(())
    }

    /// Marks the entries as not in row-major order.
    pub(crate) fn unordered(&mut self) {
        self.increasing = false;
    }

    /// Records the first entry, in row-major order, that a conversion to `dtype` rejects. After sorting, the positions
    /// in the file are not known any more. `listed` maps an entry to its index in the file.
    pub(crate) fn note_rejected(&mut self, dtype: Option<DType>, listed: impl Fn(&Self, usize) -> usize) {
        let Some(dtype) = dtype.filter(|&dtype| dtype != T::DTYPE && !self.increasing) else { return };
        let holds = holds(dtype);
        let at = |entry: usize| self.coords.coords(entry);
        let mut first: Option<(Vec<usize>, usize)> = None;
        for entry in (0..self.values.len()).filter(|&entry| !holds(self.values[entry].to_number())) {
            if first.as_ref().is_none_or(|(coords, _)| at(entry).lt(coords.iter().copied())) {
                first = Some((at(entry).collect(), entry));
            }
        }
        if let Some((coords, entry)) = first {
            let value = self.values[entry].to_number();
            self.origin.note_rejected(listed(self, entry), coords, value.to_string());
        }
    }

    /// Reserves memory for all `declared` entries, as soon as the `bytes` of text read so far allow this size. Without
    /// the reservation, growing arrays are copied repeatedly.
    pub(crate) fn reserve_declared(&mut self, declared: usize, bytes: u64) -> Allocated<()> {
        let entry = (self.coords.rank() * self.coords.width().bytes() + size_of::<T>()) as u64;
        let missing = declared.saturating_sub(self.values.len());
        if missing > 0 && (declared as u64).saturating_mul(entry) <= bytes.saturating_mul(16) {
            self.reserve_exact(missing)?;
        }
        Ok(())
    }

    /// Appends the entries of the next block; `lines` is the number of lines before the block.
    pub(crate) fn append(&mut self, next: FileEntries<T>, lines: u64) -> Allocated<()> {
        self.origin.append(&next.origin, self.values.len(), lines);
        if let (Some(last), false) = (self.values.len().checked_sub(1), next.values.is_empty()) {
            self.increasing &= self.coords.coords(last).lt(next.coords.coords(0));
        }
        self.increasing &= next.increasing;
        self.coords.append(next.coords)?;
        alloc::extend(&mut self.values, &next.values)
    }

    /// Returns the tensor of these entries.
    pub(crate) fn into_tensor(mut self, shape: Shape, duplicates: Duplicates) -> Result<Erased<T>> {
        self.values.shrink_to_fit();
        let (width, coords) = (self.coords.width(), self.coords.into_coords());
        if !self.increasing {
            return Unsorted::new(shape, coords, self.values, T::ZERO)?.coalesce(duplicates);
        }
        let pattern = AnyPattern::valid_coo(shape, self.values.len(), width, coords);
        Ok(Tensor::from_valid(pattern, self.values, T::ZERO))
    }
}

impl<T: Element> FileEntries<T>
where
    TextTensor: From<Erased<T>>,
{
    /// Returns the contents of the file; `as_listed` maps the entries in an error to entries of the file.
    pub(crate) fn into_text(
        mut self,
        shape: Shape,
        duplicates: Duplicates,
        as_listed: impl FnOnce(Error) -> Error,
    ) -> Result<TextFile> {
        let (origin, increasing) = (take(&mut self.origin), self.increasing);
        let tensor = self.into_tensor(shape, duplicates).map_err(|error| origin.repeated(as_listed(error)))?;
        let origin = if increasing { origin } else { origin.sorted() };
        Ok(TextFile { pattern: tensor.pattern().clone(), tensor: tensor.into(), origin })
    }
}

/// The contents of a text file: the tensor, and the known positions of its entries in the file.
pub(crate) struct TextFile {
    pub(crate) tensor: TextTensor,
    /// The pattern of the tensor.
    pub(crate) pattern: AnyPattern,
    pub(crate) origin: LineNumbers,
}

/// A tensor of a text file, in one of the few element types of text.
pub(crate) enum TextTensor {
    Real(Erased<f64>),
    Integer(Erased<i64>),
    Unsigned(Erased<u64>),
    Complex(Erased<Complex<f64>>),
}

impl TextTensor {
    /// Returns the tensor with elements of type `T`, by a checked conversion. If the tensor already has this type, it
    /// is moved.
    pub(crate) fn into_typed<T: Element>(self) -> Result<Erased<T>> {
        fn cast<V: Element, T: Element>(tensor: Erased<V>) -> Result<Erased<T>> {
            if T::DTYPE != V::DTYPE {
                return tensor.cast();
            }
            let tensor: Box<dyn Any> = Box::new(tensor);
            Ok(*tensor.downcast().expect("one element type has one name"))
        }
        match self {
            TextTensor::Real(tensor) => cast(tensor),
            TextTensor::Integer(tensor) => cast(tensor),
            TextTensor::Unsigned(tensor) => cast(tensor),
            TextTensor::Complex(tensor) => cast(tensor),
        }
    }
}

impl From<Erased<f64>> for TextTensor {
    fn from(tensor: Erased<f64>) -> Self {
        TextTensor::Real(tensor)
    }
}

impl From<Erased<i64>> for TextTensor {
    fn from(tensor: Erased<i64>) -> Self {
        TextTensor::Integer(tensor)
    }
}

impl From<Erased<u64>> for TextTensor {
    fn from(tensor: Erased<u64>) -> Self {
        TextTensor::Unsigned(tensor)
    }
}

impl From<Erased<Complex<f64>>> for TextTensor {
    fn from(tensor: Erased<Complex<f64>>) -> Self {
        TextTensor::Complex(tensor)
    }
}

impl From<TextTensor> for AnyTensor {
    fn from(tensor: TextTensor) -> Self {
        match tensor {
            TextTensor::Real(tensor) => tensor.into(),
            TextTensor::Integer(tensor) => tensor.into(),
            TextTensor::Unsigned(tensor) => tensor.into(),
            TextTensor::Complex(tensor) => tensor.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: &[u32], increasing: bool) -> FileEntries<f64> {
        let mut entries = FileEntries::new(1, Width::U32);
        rows.iter().for_each(|&row| entries.coords.push(0, row as usize).unwrap());
        entries.values.resize(rows.len(), 1.0);
        entries.increasing = increasing;
        entries
    }

    /// Blank and short lines must not reserve memory for entries. The limit is one entry per `2 * rank` bytes.
    #[test]
    fn a_block_reserves_as_many_entries_as_it_can_list() {
        let options = ReadOptions::default();
        let reserved = |text: &str, rank: usize| {
            let listing = Listing {
                lengths: &vec![9; rank],
                names: &[],
                declared: None,
                options: &options,
                index: IndexKind::narrowest(),
            };
            let value = |_: &FileEntries<f64>, fields: &mut Fields<'_>| fields.value();
            let entries = listing.parse(&mut LineBlock::new(text.as_bytes(), b'%'), value).unwrap();
            (entries.values.len(), entries.values.capacity())
        };
        assert_eq!(reserved(&"\n".repeat(100), 3), (0, 100_usize.div_ceil(6) + 1));
        assert_eq!(reserved(&"1 2 3 0.12345678\n".repeat(600), 3), (600, 600));
        assert_eq!(reserved("1 0.12345678\n2 1", 1), (2, 2));
        assert_eq!(reserved("", 2), (0, 0));
    }

    #[test]
    fn room_for_all_that_is_declared_is_made_once_the_bytes_allow_it() {
        // An entry needs 2 * 4 + 8 bytes of memory, and each byte of text allows 16 bytes.
        let reserved = |declared, bytes| {
            let mut entries = FileEntries::<f64>::new(2, Width::U32);
            entries.values.push(1.0);
            entries.reserve_declared(declared, bytes).unwrap();
            entries.coords.capacity_on(1)
        };
        assert_eq!([reserved(1000, 999), reserved(1000, 1000), reserved(1, 1000)], [0, 999, 0]);
    }

    /// A file of ordered blocks is ordered only if each block begins after the end of the previous block.
    #[test]
    fn blocks_are_in_order_among_each_other_or_not() {
        for (first, second, together) in [
            (&[1, 2][..], &[3, 4][..], true),
            (&[3, 4], &[1, 2], false),
            (&[1, 2], &[2, 3], false),
            (&[1, 2], &[], true),
            (&[], &[1, 2], true),
        ] {
            let mut entries = block(first, true);
            entries.append(block(second, true), 0).unwrap();
            assert_eq!(entries.increasing, together, "{first:?} {second:?}");
            let rows = entries.coords.into_coords()[0].view::<u32>().to_vec();
            assert_eq!(rows, [first, second].concat());
        }
        let mut entries = block(&[1, 2], true);
        entries.append(block(&[5, 4], false), 0).unwrap();
        assert!(!entries.increasing);
    }
}
