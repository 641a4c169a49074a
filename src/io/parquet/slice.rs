//! Reading a box of a table: row groups and pages without entries in the box are skipped.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::entry_buffer::{EntryBuffer, ValueBuffer};
use super::footer::{Chunk, Column, Footer, Physical, quoted};
use super::layout::{self, TableLayout};
use super::page::PageRows;
use super::read::{OpenedTable, SelectedBy, TRUSTED, WORTH, tensor_of};
use super::row_selection::RowSelection;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::limit::guard;
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::{AnyTensor, Format, no_such};
use crate::io::element::FileElement;
use crate::io::options::ReadOptions;
use crate::pattern::CoordLists;

/// The smallest and the largest coordinate of a page, and its number of rows.
pub(super) type BoundedPage = ([u64; 2], u64);

/// Reads the entries within `ranges`, one range per axis, as a tensor of this box.
pub(crate) fn read_slice(
    mut reader: impl Read + Seek,
    ranges: &[Range<usize>],
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let stream = &mut reader;
    let length = stream.seek(SeekFrom::End(0))?;
    let footer = Footer::read(stream, length)?;
    let mut layout = TableLayout::of(&footer, options)?;
    options.check_shape(&layout.described.shape)?;
    check_ranges(&layout.described.shape, ranges)?;
    let tensor = dispatch_dtype!(layout.dtype, T => {
        let mut values = ValueBuffer::<T>::default();
        let mut entries = EntryBuffer::of_box(&layout.described.shape, ranges, &mut values);
        OpenedTable::new(stream, &footer, &layout, length, options).read_box(ranges, &mut entries)?;
        let (coords, values) = within(&layout.described.shape, ranges, entries.coords, values.0);
        layout.described.shape = ranges.iter().map(Range::len).collect();
        tensor_of(&layout.described, layout.is_lacuna, Some(coords), values, options)
    }, else => Err(no_such(layout.dtype)))?;
    let options = ReadOptions { shape: None, ..options.clone() };
    options.finish(tensor, Format::Coo, length.saturating_mul(WORTH))
}

impl OpenedTable<'_> {
    /// Returns for each selected row of a row group whether it is in the ranges of some axes. If `axes` is empty, the
    /// list is empty.
    pub(super) fn rows_within(
        &mut self,
        number: usize,
        axes: &[usize],
        ranges: &[Range<usize>],
        picked: &RowSelection,
    ) -> Result<Vec<bool>> {
        let limit = self.options.tensor_limit(self.worth.saturating_mul(WORTH));
        guard::<bool>("the list of selected rows", picked.count() as u128, limit, TRUSTED)?;
        let mut kept = Vec::new();
        for &axis in axes {
            self.read_axis(number, axis, picked, &mut |row, coord| {
                let is_in = usize::try_from(coord).is_ok_and(|coord| ranges[axis].contains(&coord));
                match kept.get_mut(row) {
                    Some(kept) => *kept &= is_in,
                    None => alloc::push(&mut kept, is_in)?,
                }
                Ok(())
            })?;
        }
        Ok(kept)
    }

    /// Calls `visit` with each selected row of a row group, by its index among the selected rows, and its coordinate on
    /// an axis.
    pub(super) fn read_axis(
        &mut self,
        number: usize,
        axis: usize,
        picked: &RowSelection,
        visit: &mut dyn FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let column = self.layout.axes[axis];
        self.read_column(number, column, picked, &mut |row, coords| {
            (row..).zip(coords.iter()).try_for_each(|(row, &coord)| visit(row, coord))
        })
    }
}

/// Rejects ranges that are not valid for a shape.
pub(super) fn check_ranges(shape: &Shape, ranges: &[Range<usize>]) -> Result<()> {
    if ranges.len() != shape.rank() {
        return Err(Error::RankMismatch { what: "the list of ranges", expected: shape.rank(), found: ranges.len() });
    }
    for (axis, (range, &length)) in ranges.iter().zip(shape.iter()).enumerate() {
        if range.start > range.end || range.end > length {
            return Err(Error::SliceOutOfRange { index: range.start.max(range.end) as isize, axis, length });
        }
    }
    Ok(())
}

/// Returns the entries of the box, with coordinates counted from its corner. If an axis is not sliced, a coordinate
/// beyond the axis is kept. The constructor of the tensor then rejects this coordinate.
pub(super) fn within<T: FileElement>(
    shape: &[usize],
    ranges: &[Range<usize>],
    mut coords: CoordLists,
    mut values: Vec<T>,
) -> (CoordLists, Vec<T>) {
    let is_cut = |&axis: &usize| ranges[axis] != (0..shape[axis]);
    let cut: Vec<usize> = (0..ranges.len()).filter(is_cut).collect();
    if let [axis] = *cut {
        // On the first axis, entries outside the range are at the beginning and at the end.
        keep(coords.inside(axis, 0, &ranges[axis]), &mut coords, &mut values);
    }
    let mut are_all_inside = true;
    for &axis in &cut {
        are_all_inside &= coords.count_from(axis, &ranges[axis]);
    }
    if !are_all_inside {
        let mut kept = 0;
        for entry in 0..values.len() {
            if cut.iter().all(|&axis| coords.at(axis, entry) < ranges[axis].len()) {
                coords.overwrite(kept, entry);
                values[kept] = values[entry];
                kept += 1;
            }
        }
        keep(0..kept, &mut coords, &mut values);
    }
    (coords, values)
}

/// Removes all other entries.
pub(super) fn keep<T>(kept: Range<usize>, coords: &mut CoordLists, values: &mut Vec<T>) {
    (0..coords.rank()).for_each(|axis| coords.retain_range(axis, 0, &kept));
    values.truncate(kept.end);
    values.drain(..kept.start);
}

impl OpenedTable<'_> {
    /// Reads the rows that may be in the box, and appends the entries.
    pub(super) fn read_box(&mut self, ranges: &[Range<usize>], entries: &mut EntryBuffer<'_>) -> Result<()> {
        let picked = self.picked(ranges)?;
        let rows = picked.iter().flatten().map(Range::len).sum();
        self.guard_rows(entries.count.saturating_add(rows), entries.width(), 0)?;
        entries.expect(rows);
        let mut picked = picked.into_iter().enumerate().filter(|(_, picked)| !picked.is_empty());
        picked.try_for_each(|(number, picked)| {
            self.read_group(number, picked.into_iter().collect(), SelectedBy::Bounds, entries)
        })
    }

    /// Rejects selected rows with coordinates outside the bounds that the file declares for their row group or page.
    /// Because of wrong bounds, needed rows may have been skipped.
    pub(super) fn check_bounds(
        &mut self,
        number: usize,
        axis: usize,
        picked: &RowSelection,
        (coords, from): (&CoordLists, usize),
    ) -> Result<()> {
        let (group, column) = (&self.footer.groups[number], self.layout.axes[axis]);
        let chunk = &group.chunks[column];
        let name = quoted(&self.footer.columns[column].name);
        let check = |(min, max): (u64, u64), entries: Range<usize>| {
            coords.first_outside(axis, entries, (min, max)).map_or(Ok(()), |coord| {
                let message = format!("it has the coordinate {coord}, outside its stated range from {min} to {max}");
                Err(Error::Format { place: format!("row group {number}, column {name}"), message })
            })
        };
        chunk.bounds.map_or(Ok(()), |bounds| check(bounds, from..coords.len(axis)))?;
        let Some(pages) = self.page_list(chunk, group.rows as usize)? else { return Ok(()) };
        let Some(bounds) = self.page_bounds(chunk, pages.len())? else { return Ok(()) };
        pages.iter().zip(bounds).try_for_each(|(page, bounds)| {
            let mut runs = picked.within(&page.rows);
            runs.try_for_each(|(first, rows)| check(bounds, from + first..from + first + rows.len()))
        })
    }

    /// Returns the rows of each row group that may be in the box.
    pub(super) fn picked(&mut self, ranges: &[Range<usize>]) -> Result<Vec<Vec<Range<usize>>>> {
        (0..self.footer.groups.len()).map(|number| self.picked_of(number, ranges)).collect()
    }

    fn picked_of(&mut self, number: usize, ranges: &[Range<usize>]) -> Result<Vec<Range<usize>>> {
        let (footer, layout) = (self.footer, self.layout);
        let group = &footer.groups[number];
        let rows = group.rows as usize;
        let mut picked = Vec::from_iter((rows > 0).then_some(0..rows));
        for ((range, &length), &column) in ranges.iter().zip(&*layout.described.shape).zip(&layout.axes) {
            let (chunk, column) = (&group.chunks[column], &footer.columns[column]);
            let range = (range, length);
            if chunk.bounds.is_some_and(|bounds| !meets(column, bounds, range)) {
                return Ok(Vec::new());
            }
            // The lists of pages are not read for a row group that is already skipped.
            if !picked.is_empty()
                && let Some(pages) = self.pages_in(chunk, column, rows, range)?
            {
                picked = both(&picked, &pages);
            }
        }
        Ok(picked)
    }

    /// Returns the smallest and the largest coordinate on an axis of each page of a row group, and its number of rows;
    /// `None` if the file does not list them.
    pub(super) fn pages_along(&mut self, number: usize, axis: usize) -> Result<Option<Vec<BoundedPage>>> {
        let (group, column) = (&self.footer.groups[number], self.layout.axes[axis]);
        let chunk = &group.chunks[column];
        let Some(pages) = self.page_list(chunk, group.rows as usize)? else { return Ok(None) };
        let Some(bounds) = self.page_bounds(chunk, pages.len())? else { return Ok(None) };
        let page = |((min, max), page): ((u64, u64), PageRows)| ([min, max], page.rows.len() as u64);
        Ok(Some(bounds.into_iter().zip(pages).map(page).collect()))
    }

    /// Returns the rows of the pages that may hold coordinates of `range`; `None` if the file does not list them.
    fn pages_in(
        &mut self,
        chunk: &Chunk,
        column: &Column,
        rows: usize,
        range: (&Range<usize>, usize),
    ) -> Result<Option<Vec<Range<usize>>>> {
        let Some(pages) = self.page_list(chunk, rows)? else { return Ok(None) };
        let Some(bounds) = self.page_bounds(chunk, pages.len())? else { return Ok(None) };
        let kept = pages.iter().zip(bounds).filter(|(_, bounds)| meets(column, *bounds, range));
        Ok(Some(kept.map(|(page, _)| page.rows.clone()).collect()))
    }
}

/// Returns whether values within these bounds may be in a range of an axis with `length` positions. The result is also
/// true for coordinates out of range and for invalid bounds, because reading the values reports these errors.
fn meets(column: &Column, (min, max): (u64, u64), (range, length): (&Range<usize>, usize)) -> bool {
    let sign = if column.physical == Physical::Int64 { 1 << 63 } else { 1 << 31 };
    let is_negative = layout::is_signed(column) && (min | max) & sign != 0;
    let is_none = min > max || min >= length as u64;
    is_negative || is_none || min < range.end as u64 && range.start as u64 <= max
}

/// Returns the rows that are in both lists of ranges, each of which is in order.
fn both(left: &[Range<usize>], right: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut shared: Vec<Range<usize>> = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let rows = a.start.max(b.start)..a.end.min(b.end);
        if a.end < b.end {
            left.next()
        } else {
            right.next()
        };
        match shared.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => shared.push(rows),
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn ranges_in_both_lists() {
        assert_eq!(both(&[0..10], &[2..4, 4..5, 8..12]), [2..5, 8..10]);
        assert_eq!(both(&[0..2, 5..9], &[1..6]), [1..2, 5..6]);
        assert_eq!(both(&[0..2], &[2..6]), Vec::<Range<usize>>::new());
    }

    #[test]
    fn bounds_of_coordinates_below_zero_leave_nothing_out() {
        let column = |physical, signed| {
            let meaning = super::super::footer::Meaning::Integer { bits: 32, signed };
            Column { name: String::new(), physical, meaning, deepest: 0, repeats: false }
        };
        let signed = column(Physical::Int32, true);
        let meets = |column: &Column, bounds, range: &Range<usize>| meets(column, bounds, (range, 1 << 32));
        assert!(meets(&signed, (u64::from(u32::MAX), 5), &(0..1)));
        assert!(!meets(&signed, (3, 5), &(0..3)) && meets(&signed, (3, 5), &(0..4)));
        assert!(meets(&signed, (5, 3), &(0..1)) && meets(&signed, (1 << 32, 1 << 33), &(0..1)));
        let unsigned = column(Physical::Int32, false);
        assert!(!meets(&unsigned, (1 << 31, u64::from(u32::MAX)), &(0..1 << 31)));
        assert!(meets(&unsigned, (1 << 31, u64::from(u32::MAX)), &(0..(1 << 31) + 1)));
    }
}
