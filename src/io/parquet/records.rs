//! Entries as records of equal width, for temporary files that a graph needs while it is computed.

use std::ops::Range;

use super::columns::Columns;
use super::dataset::Dataset;
use super::description::{Description, is_narrow, parts_of};
use super::entry_buffer::{ValueBuffer, ValueSink};
use super::read::tensor_of;
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::dynamic::{AnyTensor, no_such};
use crate::element::DType;
use crate::io::options::ReadOptions;
use crate::pattern::CoordLists;
use crate::{dispatch, dispatch_dtype};

/// The form of entries as records: the coordinates, then the parts of the value. Each column takes only the bytes that
/// its largest number needs.
pub(crate) struct Records {
    described: Description,
    /// The bytes of a record that each column takes.
    places: Vec<Range<usize>>,
}

impl Records {
    /// Returns the form of records for the chunks of a dataset.
    pub(crate) fn of(dataset: &Dataset) -> Result<Records> {
        let described = dispatch!(&dataset.header()?, x => Columns::of(x.sparse())?.described);
        let dtype = described.dtype.unwrap_or(DType::Bool);
        let (parts, width) = (parts_of(dtype), dispatch_dtype!(dtype, T => size_of::<T>(), else => 16));
        let axes = described.shape.iter().map(|&length| if is_narrow(length) { 4 } else { 8 });
        let mut places: Vec<Range<usize>> = Vec::new();
        for width in axes.chain(std::iter::repeat_n(width / parts, parts)) {
            let start = places.last().map_or(0, |place| place.end);
            places.push(start..start + width);
        }
        Ok(Records { described, places })
    }

    /// Returns the bytes of a record.
    pub(crate) fn width(&self) -> usize {
        self.places.last().map_or(1, |place| place.end)
    }

    /// Returns the records of a chunk, one after another.
    pub(crate) fn of_piece(&self, piece: &AnyTensor) -> Result<Vec<u8>> {
        let columns = dispatch!(piece, x => Columns::of(x.sparse())?);
        let mut records = alloc::zeros::<u8>(columns.rows.saturating_mul(self.width()))?;
        for (column, place) in columns.columns.iter().zip(&self.places) {
            let bits = column.bits(0..columns.rows)?;
            for (record, bits) in records.chunks_exact_mut(self.width()).zip(bits) {
                record[place.clone()].copy_from_slice(&bits.to_le_bytes()[..place.len()]);
            }
        }
        Ok(records)
    }

    /// Returns the coordinate of a record on an axis.
    pub(crate) fn coord(&self, record: &[u8], axis: usize) -> usize {
        number(&record[self.places[axis].clone()]) as usize
    }

    /// Returns the tensor of the records in a range of an axis. On this axis, the tensor has only the positions of the
    /// range.
    pub(crate) fn tensor(&self, records: &[u8], axis: usize, range: &Range<usize>) -> Result<AnyTensor> {
        let picked = || records.chunks_exact(self.width()).filter(|record| range.contains(&self.coord(record, axis)));
        let column = |place: &Range<usize>| alloc::collect_some(picked().map(|record| number(&record[place.clone()])));
        let (axes, parts) = self.places.split_at(self.described.shape.rank());
        let mut coords = CoordLists::new(axes.len(), Width::of_lengths(&self.described.shape));
        for (axis, place) in axes.iter().enumerate() {
            let listed = column(place)?;
            coords.reserve(axis, listed.len(), listed.len())?;
            coords.extend(axis, &listed)?;
        }
        coords.count_from(axis, range);
        let mut lengths = self.described.shape.to_vec();
        lengths[axis] = range.len();
        let described = Description { shape: Shape::from(lengths), ..self.described.clone() };
        let dtype = described.dtype.unwrap_or(DType::Bool);
        dispatch_dtype!(dtype, T => {
            let (mut values, count) = (ValueBuffer::<T>::default(), coords.len(axis));
            for (part, place) in parts.iter().enumerate() {
                values.put(part, 0, &column(place)?, count)?;
            }
            tensor_of(&described, true, Some(coords), values.0, &ReadOptions::default())
        }, else => Err(no_such(dtype)))
    }
}

/// Returns the number in a few bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
