//! A tensor as columns of bits, so that writers do not depend on types.

use std::ops::Range;

use super::description::{self, Description, Extent, Hashes, fill_bytes};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::io::element::FileElement;
use crate::io::limits::MAX_AXES;
use crate::pattern::{AxisCoords, by_width};
use crate::tensor::erased::SparseRef;

/// The number of rows that are hashed at once: they fit a cache.
const HASHED: usize = 1 << 11;

/// The approximate time for hashing a number, in picoseconds.
const PICOSECONDS: usize = 3_000;

/// A column.
pub(super) trait ColumnBits: Sync {
    /// Returns the bits of the given rows.
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>>;
}

impl ColumnBits for AxisCoords {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        by_width!(self, own => alloc::collect(own[rows].iter().map(|coord| coord.to_usize() as u64)))
    }
}

/// The coordinates on axis 0 of a chunk that begins at the given position of the axis.
struct OffsetAxis<'a>(u64, Box<dyn ColumnBits + 'a>);

impl ColumnBits for OffsetAxis<'_> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        let mut bits = self.1.bits(rows)?;
        bits.iter_mut().for_each(|coord| *coord += self.0);
        Ok(bits)
    }
}

/// A part of the values: the values themselves, or their real or imaginary parts.
struct ValueColumn<'a, T> {
    values: &'a [T],
    part: usize,
}

impl<T: FileElement> ColumnBits for ValueColumn<'_, T> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        let width = size_of::<T>() / description::parts_of(T::DTYPE);
        let (part, is_little) = (self.part * width..(self.part + 1) * width, cfg!(target_endian = "little"));
        alloc::collect(self.values[rows].iter().map(|value| {
            let (mut wide, bytes) = ([0; 8], &bytemuck::bytes_of(value)[part.clone()]);
            if is_little {
                wide[..width].copy_from_slice(bytes);
            } else {
                wide[8 - width..].copy_from_slice(bytes);
            }
            u64::from_ne_bytes(wide)
        }))
    }
}

/// A tensor as columns: first the axes, then the values.
pub(crate) struct Columns<'a> {
    pub(super) described: Description,
    pub(super) columns: Vec<Box<dyn ColumnBits + 'a>>,
    pub(super) rows: usize,
    /// True if some position is unstored, so that this fill is the fill of the complete tensor.
    pub(crate) has_fill: bool,
}

impl<'a> Columns<'a> {
    pub(crate) fn of<T: FileElement>(x: SparseRef<'a, T>) -> Result<Self> {
        if x.rank() > MAX_AXES {
            let what = format!("{} axes", x.rank());
            return Err(Error::NotRepresentable { format: ".parquet", what, instead: "reshape it to at most 64" });
        }
        let mut columns: Vec<Box<dyn ColumnBits + 'a>> = Vec::new();
        for axis in 0..x.rank() {
            columns.push(Box::new(x.pattern().axis(axis)?));
        }
        let values = x.values();
        columns.extend(
            (0..description::parts_of(T::DTYPE))
                .map(|part| Box::new(ValueColumn { values, part }) as Box<dyn ColumnBits>),
        );
        let (shape, fill) = (x.shape().clone(), Some(fill_bytes(x.fill())));
        let described = Description { shape, dtype: Some(T::DTYPE), fill, extent: Some(Extent::default()) };
        Ok(Columns { described, columns, rows: x.nnz(), has_fill: true })
    }

    /// Returns the columns as a chunk of a tensor of this shape; `start` is the first position of the chunk on axis 0.
    pub(crate) fn within(mut self, shape: &Shape, start: usize) -> Self {
        self.described.shape = shape.clone();
        if let (true, false) = (start > 0, shape.is_empty()) {
            let column = self.columns.remove(0);
            self.columns.insert(0, Box::new(OffsetAxis(start as u64, column)));
        }
        self
    }

    /// Returns the facts about the given rows.
    pub(super) fn extent(&self, rows: Range<usize>) -> Result<Extent> {
        let hashes = threads::map_parts(rows.len(), PICOSECONDS * self.columns.len(), 0, |part| {
            self.hash(rows.start + part.start..rows.start + part.end)
        });
        let hash = hashes.into_iter().try_fold(0, |sum: u64, hash| Ok::<_, Error>(sum.wrapping_add(hash?)))?;
        let ends = self.ends_of(&rows)?;
        Ok(Extent { entries: rows.len() as u64, hash, ends })
    }

    /// Returns the sum of the hashes of the given rows.
    fn hash(&self, rows: Range<usize>) -> Allocated<u64> {
        let (mut hashes, mut sum) = (Hashes::default(), 0_u64);
        for start in rows.clone().step_by(HASHED) {
            let rows = start..rows.end.min(start + HASHED);
            for column in &self.columns {
                hashes.add(0, &column.bits(rows.clone())?)?;
            }
            sum = sum.wrapping_add(hashes.take());
        }
        Ok(sum)
    }

    /// Returns the coordinates of the first and the last entry, if there are entries.
    pub(super) fn ends(&self) -> Allocated<Option<(Vec<u64>, Vec<u64>)>> {
        self.ends_of(&(0..self.rows))
    }

    fn ends_of(&self, rows: &Range<usize>) -> Allocated<Option<(Vec<u64>, Vec<u64>)>> {
        let axes = &self.columns[..self.described.shape.rank()];
        let at = |row: usize| axes.iter().map(|axis| Ok(axis.bits(row..row + 1)?[0])).collect::<Allocated<_>>();
        if rows.is_empty() { Ok(None) } else { Ok(Some((at(rows.start)?, at(rows.end - 1)?))) }
    }
}
