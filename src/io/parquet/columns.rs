//! A tensor as columns of bits, so that what writes them knows no types.

use std::borrow::Cow;
use std::ops::Range;

use super::described::{self, Described, Extent, fill_bytes};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::io::MOST_AXES;
use crate::io::element::FileElement;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// A column.
pub(super) trait Bits {
    /// The bits of those rows.
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>>;
}

impl Bits for Vec<u64> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        alloc::collect(self[rows].iter().copied())
    }
}

impl<B: Bits + ?Sized> Bits for Box<B> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        (**self).bits(rows)
    }
}

impl<I: Index> Bits for Cow<'_, [I]> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        alloc::collect(self[rows].iter().map(|coord| coord.to_usize() as u64))
    }
}

/// A part of the values.
struct Part<'a, T> {
    values: &'a [T],
    part: usize,
}

impl<T: FileElement> Bits for Part<'_, T> {
    fn bits(&self, rows: Range<usize>) -> Allocated<Vec<u64>> {
        let width = size_of::<T>() / described::parts_of(T::DTYPE);
        let (mut bytes, mut wide) = (Vec::with_capacity(16), [0; 8]);
        alloc::collect(self.values[rows].iter().map(|value| {
            bytes.clear();
            value.to_bytes(&mut bytes);
            wide[..width].copy_from_slice(&bytes[self.part * width..][..width]);
            u64::from_le_bytes(wide)
        }))
    }
}

/// A tensor as columns: those of the axes, then those of the values.
pub(crate) struct Columns<'a> {
    pub(super) described: Described,
    pub(super) columns: Vec<Box<dyn Bits + 'a>>,
    pub(super) rows: usize,
    /// Whether some position is not stored, so that the fill is one of the tensor that it is a piece of.
    pub(crate) tells_fill: bool,
}

impl<'a> Columns<'a> {
    pub(crate) fn of<P: Pattern, T: FileElement>(x: &'a Tensor<P, T>) -> Result<Self> {
        if x.rank() > MOST_AXES {
            let what = format!("{} axes", x.rank());
            return Err(Error::NotRepresentable { format: ".parquet", what, instead: "reshape it to at most 64" });
        }
        let mut columns: Vec<Box<dyn Bits + 'a>> = Vec::new();
        for axis in 0..x.rank() {
            columns.push(Box::new(x.pattern().axis_coords(axis)?));
        }
        let values = x.values();
        columns.extend((0..described::parts_of(T::DTYPE)).map(|part| Box::new(Part { values, part }) as Box<dyn Bits>));
        let (shape, fill) = (x.shape().clone(), Some(fill_bytes(x.fill())));
        let described = Described { shape, dtype: Some(T::DTYPE), fill, extent: Some(Extent::default()) };
        Ok(Columns { described, columns, rows: x.nnz(), tells_fill: true })
    }

    /// The coordinates of the first entry and of the last one, where there is any.
    pub(super) fn ends(&self) -> Allocated<Option<(Vec<u64>, Vec<u64>)>> {
        let Some(last) = self.rows.checked_sub(1) else { return Ok(None) };
        let axes = &self.columns[..self.described.shape.rank()];
        let at = |row: usize| axes.iter().map(|axis| Ok(axis.bits(row..row + 1)?[0])).collect::<Allocated<_>>();
        Ok(Some((at(0)?, at(last)?)))
    }
}
