//! Entries that are read, with the lists of their coordinates and values.

use std::ops::Range;

use super::description::{self, Extent, Hashes};
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::recycle;
use crate::io::element::FileElement;
use crate::pattern::CoordLists;

/// A receiver of values of any type, so that reading is compiled only once.
pub(super) trait ValueSink {
    /// Adds a part of the values from `row` on. The first part constructs the values, and the second part completes
    /// them.
    fn put(&mut self, part: usize, row: usize, bits: &[u64], max_len: usize) -> Allocated<()>;

    /// Returns the bytes of a value.
    fn width(&self) -> usize;
}

pub(super) struct ValueBuffer<T>(pub(super) Vec<T>);

impl<T> Default for ValueBuffer<T> {
    fn default() -> Self {
        ValueBuffer(Vec::new())
    }
}

impl<T: FileElement> ValueSink for ValueBuffer<T> {
    fn put(&mut self, part: usize, row: usize, bits: &[u64], max_len: usize) -> Allocated<()> {
        let width = size_of::<T>() / description::parts_of(T::DTYPE);
        if part == 0 {
            recycle::reserve_up_to(&mut self.0, bits.len(), max_len)?;
            let mut bytes = [0; 16];
            self.0.extend(bits.iter().map(|bits| {
                bytes[..8].copy_from_slice(&bits.to_le_bytes());
                // The other part of a complex number is 0 until it is read.
                bytes[width..].fill(0);
                T::from_bytes(&bytes[..size_of::<T>()], false).unwrap_or(T::ZERO)
            }));
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(16);
        for (value, bits) in self.0[row..].iter_mut().zip(bits) {
            bytes.clear();
            value.to_bytes(&mut bytes);
            bytes[width..].copy_from_slice(&bits.to_le_bytes()[..width]);
            *value = T::from_bytes(&bytes, false).unwrap_or(T::ZERO);
        }
        Ok(())
    }

    fn width(&self) -> usize {
        size_of::<T>()
    }
}

/// Entries that have been read.
pub(super) struct EntryBuffer<'s> {
    pub(super) coords: CoordLists,
    sink: &'s mut dyn ValueSink,
    /// The maximum number of entries.
    max_len: usize,
    /// The number of entries in complete row groups.
    pub(super) count: usize,
    /// The hashes of entries; `None` without a checksum of exactly these entries, as for a box.
    hashes: Option<Hashes>,
    /// The range of a box on axis 0, if the range is smaller than the axis.
    first_axis: Option<Range<usize>>,
    pub(super) hash: u64,
    /// The hash of each entry, if requested.
    pub(super) each: Option<Vec<u64>>,
}

impl<'s> EntryBuffer<'s> {
    pub(super) fn new(shape: &[usize], max_len: usize, sink: &'s mut dyn ValueSink) -> Self {
        let (coords, hashes) = (CoordLists::new(shape.len(), Width::of_lengths(shape)), Some(Hashes::default()));
        EntryBuffer { coords, sink, max_len, count: 0, hashes, first_axis: None, hash: 0, each: None }
    }

    /// Returns an empty list for the entries of a box. Files do not have a checksum of exactly these entries, and
    /// entries outside the box may be among them.
    pub(super) fn of_box(shape: &[usize], ranges: &[Range<usize>], sink: &'s mut dyn ValueSink) -> Self {
        let first_axis = ranges.first().filter(|range| **range != (0..shape[0])).cloned();
        EntryBuffer { hashes: None, first_axis, ..EntryBuffer::new(shape, 0, sink) }
    }

    /// Removes the entries outside the box on axis 0, so that their other columns are not read. Returns the positions
    /// of the kept entries among the rows read from this row group.
    pub(super) fn keep_first_axis(&mut self) -> Option<Range<usize>> {
        let places = self.coords.inside(0, self.count, self.first_axis.as_ref()?);
        self.coords.retain_range(0, self.count, &places);
        Some(places)
    }

    fn hash(&mut self, row: usize, values: &[u64]) -> Allocated<()> {
        self.hashes.as_mut().map_or(Ok(()), |hashes| hashes.add(row, values))
    }

    pub(super) fn put_coords(&mut self, axis: usize, row: usize, values: &[u64]) -> Result<()> {
        self.hash(row, values)?;
        self.coords.reserve(axis, values.len(), self.max_len)?;
        Ok(self.coords.extend(axis, values)?)
    }

    pub(super) fn put_values(&mut self, part: usize, row: usize, values: &[u64]) -> Result<()> {
        self.hash(row, values)?;
        Ok(self.sink.put(part, self.count + row, values, self.max_len)?)
    }

    pub(super) fn finish_group(&mut self, rows: usize) {
        self.count += rows;
        let Some(hashes) = &mut self.hashes else { return };
        self.each.iter_mut().for_each(|each| each.extend_from_slice(hashes.each()));
        self.hash = self.hash.wrapping_add(hashes.take());
    }

    /// Returns the bytes of a value.
    pub(super) fn width(&self) -> usize {
        self.sink.width()
    }

    /// Raises the maximum number of entries by `more`.
    pub(super) fn expect(&mut self, more: usize) {
        self.max_len = self.max_len.saturating_add(more);
    }

    /// Returns the facts about the entries after the first `count` entries, which have the hash `hash`.
    pub(super) fn extent_from(&self, (count, hash): (usize, u64)) -> Extent {
        let at = |entry: usize| self.coords.coords(entry).map(|coord| coord as u64).collect();
        let ends = (self.count > count).then(|| (at(count), at(self.count - 1)));
        Extent { entries: (self.count - count) as u64, hash: self.hash.wrapping_sub(hash), ends }
    }
}
