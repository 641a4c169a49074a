//! The entries that `take` selects, and their pattern.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position, Width, capped_product};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::gather::marked;
use crate::kernels::lanes::accumulate;
use crate::kernels::sort::compare;
use crate::kernels::take::{AlongAxis, TakeMode, TakeSize, TakenRun, stored_items, stored_points};
use crate::pattern::{AnyPattern, AxisCoords, by_slices, by_width, of_width, zero_offsets};
use crate::plan::selection::{Selected, Sources};

/// The result of a take, and its memory limit.
pub(crate) struct TakeResult<'a> {
    /// The shape of the result.
    pub(crate) shape: &'a Shape,
    /// The shape of the index array.
    pub(crate) indices: &'a [usize],
    /// The bytes per value of the result.
    pub(crate) value_bytes: usize,
    /// The maximum bytes of the result and its working lists.
    pub(crate) limit: u64,
}

impl TakeResult<'_> {
    /// Returns the number of entries, or an error if their memory exceeds the limit.
    ///
    /// Each entry needs coordinates, a value, and `lists` indices in working lists. The offsets of the result also
    /// count.
    fn admit(&self, take_size: TakeSize, index_bytes: usize, lists: usize, offsets: &[usize]) -> Result<usize> {
        let entry_bytes = index_bytes + self.value_bytes + lists * size_of::<usize>();
        let listed = take_size.listed * size_of::<TakenRun>() + size_of_val(offsets);
        let bytes = take_size.entries.saturating_mul(entry_bytes as u128).saturating_add(listed as u128);
        match bytes <= u128::from(self.limit) {
            true => Ok(take_size.entries as usize),
            false => {
                let instead = "take fewer positions at a time";
                Err(Error::TooLarge { what: "the taken entries", bytes, limit: self.limit, instead })
            }
        }
    }
}

/// The maximum bytes of working lists per item of an index array, for flattened positions.
///
/// These bytes are used for the index in sorted order, and for a pair of item and entry in two lists. Half of the
/// capacity of a list per thread may be unused. The second list combines the lists of all threads.
pub(crate) const FLATTENED_BYTES: usize = 7 * size_of::<usize>();
/// The maximum bytes of working lists per item along an axis: the index in the order of positions, and the start of the
/// position in this order.
pub(crate) const ALONG_BYTES: usize = 4 * size_of::<usize>();

/// Plans a take at flattened positions: for each item the entry at its position, if stored.
pub(crate) fn flattened<J: Position>(
    pattern: &AnyPattern,
    items: &[J],
    mode: TakeMode,
    target: &TakeResult<'_>,
) -> Result<Selected> {
    let (lengths, size) = (pattern.shape(), pattern.shape().wide_size());
    let stored = stored_items(items, lengths, size, mode, searched(pattern), |coords| pattern.find(coords))?;
    of_stored(pattern, stored, target)
}

/// Plans a take at positions with one coordinate per axis: for each of `count` items the entry at its position, if
/// stored.
pub(crate) fn pointwise(
    pattern: &AnyPattern,
    positions: &[Vec<usize>],
    count: usize,
    target: &TakeResult<'_>,
) -> Result<Selected> {
    let stored = stored_points(positions, count, searched(pattern), |coords| pattern.find(coords))?;
    of_stored(pattern, stored, target)
}

/// Returns the number of entries among which an element is searched.
fn searched(pattern: &AnyPattern) -> usize {
    pattern.lane_offsets().map_or(pattern.nnz(), |offsets| pattern.nnz() / offsets.len())
}

/// Returns the plan for items at stored positions, each with its entry.
fn of_stored(pattern: &AnyPattern, stored: Vec<(usize, usize)>, target: &TakeResult<'_>) -> Result<Selected> {
    let places = alloc::collect(stored.iter().map(|&(item, _)| item))?;
    let sources = alloc::collect(stored.into_iter().map(|(_, entry)| entry))?;
    let coords = coords_of(&places, target.shape, pattern.width_for(target.shape))?;
    let pattern = pattern.of_coords(target.shape.clone(), places.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// Plans a take along an axis: for each item the entries at its position on the axis.
pub(crate) fn along(
    pattern: &AnyPattern,
    axis: usize,
    positions: &[usize],
    target: &TakeResult<'_>,
) -> Result<Selected> {
    match pattern.lane_offsets() {
        Some(offsets) if axis + 1 == pattern.shape().rank() => columns(pattern, offsets, positions, target),
        Some(offsets) if pattern.shape().rank() == 2 => lanes(pattern, offsets, positions, target),
        _ if is_table_worth(pattern, axis, positions) => increasing(pattern, axis, positions, target),
        _ => coordinates(pattern, axis, positions, target),
    }
}

/// Returns whether positions increase, as for a mask, and the axis is not longer than the existing arrays.
fn is_table_worth(pattern: &AnyPattern, axis: usize, positions: &[usize]) -> bool {
    pattern.shape()[axis] <= pattern.nnz().saturating_add(positions.len())
        && positions.windows(2).all(|pair| pair[0] < pair[1])
}

/// Plans [`along`] an axis with increasing positions. Each entry is taken at most once, and the order does not change.
fn increasing(pattern: &AnyPattern, axis: usize, positions: &[usize], target: &TakeResult<'_>) -> Result<Selected> {
    let mut items = alloc::copies(usize::MAX, pattern.shape()[axis])?;
    positions.iter().enumerate().for_each(|(item, &position)| items[position] = item);
    let (kept, kept_items) = by_width!(&pattern.axis(axis)?, own => kept_items(own, &items))?;
    let sources = Sources::List(kept);
    let gathered = |axes: std::ops::Range<usize>| {
        axes.map(|axis| sources.of_coords(&pattern.axis(axis)?)).collect::<Allocated<Vec<_>>>()
    };
    let mut coords = gathered(0..axis)?;
    coords.extend(coords_of(&kept_items, target.indices, pattern.width_for(target.shape))?);
    coords.extend(gathered(axis + 1..pattern.shape().rank())?);
    let pattern = pattern.of_coords(target.shape.clone(), kept_items.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources })
}

/// Returns the entries at positions of items, and the item of each entry. `items` maps a position to its item.
fn kept_items<I: Index>(along: &[I], items: &[usize]) -> Allocated<(Vec<usize>, Vec<usize>)> {
    let item = |coord: I| items[coord.to_usize()];
    let kept = marked(along.len(), |range, marks| {
        marks.iter_mut().zip(&along[range]).for_each(|(mark, &coord)| *mark = item(coord) != usize::MAX);
    })?;
    let kept_items = threads::map(&kept, 1500, |entry| item(along[entry]))?;
    Ok((kept, kept_items))
}

/// Plans [`along`] any axis, by the coordinates on all axes.
fn coordinates(pattern: &AnyPattern, axis: usize, positions: &[usize], target: &TakeResult<'_>) -> Result<Selected> {
    let (axes, width) = (pattern.axes()?, pattern.width_for(target.shape));
    let runs = runs_of(&axes[..axis], pattern.nnz())?;
    let (sources, items) = by_width!(&axes[axis], own => {
        let along = AlongAxis::new(own, &runs, positions, pattern.shape()[axis])?;
        taken_items(&along, |take_size| target.admit(take_size, target.shape.rank() * width.bytes(), 2, &[]))?
    });
    let gathered = |axes: &[AxisCoords]| axes.iter().map(|axis| axis.gather(&sources)).collect::<Allocated<Vec<_>>>();
    let mut coords = gathered(&axes[..axis])?;
    coords.extend(coords_of(&items, target.indices, width)?);
    coords.extend(gathered(&axes[axis + 1..])?);
    let pattern = pattern.of_coords(target.shape.clone(), sources.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// Returns the taken entries, and the item of each entry.
fn taken_items<I: Index>(
    along: &AlongAxis<'_, I>,
    admit: impl FnOnce(TakeSize) -> Result<usize>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let take_size = along.take_size();
    let count = admit(take_size)?;
    let (mut sources, mut items) = (alloc::with_capacity(count)?, alloc::with_capacity(count)?);
    along.for_each(take_size, |taken| {
        sources.extend(taken.entries.clone());
        items.extend(taken.entries.clone().map(|_| taken.item));
    })?;
    Ok((sources, items))
}

/// Plans [`along`] the only axis of the lanes, by moving entire lanes.
fn lanes(pattern: &AnyPattern, offsets: &[usize], positions: &[usize], target: &TakeResult<'_>) -> Result<Selected> {
    let entries = |&lane: &usize| offsets[lane]..offsets[lane + 1];
    let count =
        |part: std::ops::Range<usize>| positions[part].iter().map(|lane| entries(lane).len() as u128).sum::<u128>();
    let total = threads::map_parts(positions.len(), 2000, 0, count).into_iter().sum();
    let mut ends = zero_offsets(target.shape, target.limit)?;
    // The list has one start per lane, not per entry.
    let take_size = TakeSize { entries: total, listed: 0 };
    target.admit(take_size, pattern.width_for(target.shape).bytes(), 0, &ends)?;
    let starts = threads::map(positions, 2000, |lane| offsets[lane])?;
    threads::map_into(positions, &mut ends[1..], 2000, |lane| entries(&lane).len());
    accumulate(&mut ends);
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    let columns = sources.of_coords(&pattern.axis(1)?)?;
    Ok(Selected { pattern: pattern.of_lanes(target.shape.clone(), ends, columns)?, sources })
}

/// Plans [`along`] the last axis, by moving columns within each lane.
fn columns(pattern: &AnyPattern, offsets: &[usize], positions: &[usize], target: &TakeResult<'_>) -> Result<Selected> {
    let axis = pattern.shape().rank() - 1;
    let coords = pattern.axis(axis)?.in_width(pattern.width_for(target.shape))?;
    let mut ends = zero_offsets(target.shape, target.limit)?;
    let (sources, columns) = by_width!(&coords, own => {
        let along = AlongAxis::new(own, offsets, positions, pattern.shape().columns())?;
        let (sources, columns) = taken_columns(&along, positions.len(), target, &mut ends)?;
        (sources, columns.into())
    });
    accumulate(&mut ends);
    let pattern = pattern.of_lanes(target.shape.clone(), ends.into(), columns)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// Returns the entries taken per lane and their new columns; `ends` counts the entries of the new lanes.
fn taken_columns<I: Index>(
    along: &AlongAxis<'_, I>,
    items: usize,
    target: &TakeResult<'_>,
    ends: &mut [usize],
) -> Result<(Vec<usize>, Vec<I>)> {
    // The new lane and column of an item in a lane. If the index is a single number, the last axis of the lanes becomes
    // the new columns. An index array has its own columns, and each lane becomes one lane per lane of the index array.
    let width = target.shape.columns();
    let cell = |taken: &TakenRun| match target.indices.is_empty() {
        true => (taken.run / width, taken.run % width),
        false => (taken.run * (items / width) + taken.item / width, taken.item % width),
    };
    let take_size = along.take_size();
    let count = target.admit(take_size, size_of::<I>(), 1, ends)?;
    let (mut sources, mut columns) = (alloc::with_capacity(count)?, alloc::with_capacity(count)?);
    along.for_each(take_size, |taken| {
        let (lane, column) = cell(taken);
        ends[lane + 1] += taken.entries.len();
        sources.extend(taken.entries.clone());
        columns.extend(taken.entries.clone().map(|_| I::from_usize(column)));
    })?;
    Ok((sources, columns))
}

/// Returns the coordinates within `lengths` of valid row-major positions; axes of length 1 share one array of zeros.
fn coords_of(positions: &[usize], lengths: &[usize], width: Width) -> Allocated<Vec<AxisCoords>> {
    of_width!(width, I => coords_within::<I>(positions, lengths))
}

fn coords_within<I: Index>(positions: &[usize], lengths: &[usize]) -> Allocated<Vec<AxisCoords>> {
    let inner = |axis: usize| capped_product(&lengths[axis + 1..]);
    let coords = |axis: usize| match (inner(axis), lengths[axis]) {
        (1, length) if axis > 0 => threads::map(positions, 1500, |position| I::from_usize(position % length)),
        (1, _) => threads::map(positions, 1500, I::from_usize),
        (inner, length) => threads::map(positions, 1500, |position| I::from_usize(position / inner % length)),
    };
    let zeros = AxisCoords::zeros(positions.len(), I::WIDTH)?;
    let axis = |axis: usize| if lengths[axis] == 1 { Ok(zeros.clone()) } else { coords(axis).map(AxisCoords::from) };
    (0..lengths.len()).map(axis).collect()
}

/// Returns the start of each run of entries that agree on these axes, then the number of entries.
pub(crate) fn runs_of(axes: &[AxisCoords], count: usize) -> Allocated<Vec<usize>> {
    by_slices!(axes, own => runs_among(&own, count))
}

fn runs_among<I: Index>(axes: &[&[I]], count: usize) -> Allocated<Vec<usize>> {
    if axes.is_empty() {
        return Ok(vec![0, count]);
    }
    let mut runs = Vec::new();
    let opens = |&entry: &usize| entry == 0 || compare(axes, entry - 1, entry).is_ne();
    (0..count).filter(opens).chain([count]).try_for_each(|start| alloc::push(&mut runs, start))?;
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{CooPattern, CsrPattern};

    /// Offsets and entries must share one limit.
    #[test]
    fn offsets_leave_the_entries_what_the_limit_has_beside_them() {
        let shape = Shape::from([9, 1]);
        let target = TakeResult { shape: &shape, indices: &[1], value_bytes: 1, limit: 100 };
        let admitted = |entries, lists, offsets: &[usize]| {
            target.admit(TakeSize { entries, listed: 0 }, 4, lists, offsets).is_ok()
        };
        assert!(admitted(4, 0, &[0; 10]) && !admitted(5, 0, &[0; 10]) && !admitted(0, 0, &[0; 13]));
        assert!(admitted(7, 1, &[]) && !admitted(8, 1, &[]));
    }

    /// Returns the rejected bytes when `positions` are taken along an axis, for values of one byte within `limit`.
    fn error_within(limit: u64, pattern: &AnyPattern, axis: usize, positions: &[usize]) -> Option<u128> {
        let mut shape = pattern.shape().to_vec();
        shape[axis] = positions.len();
        let target = TakeResult { shape: &shape.into(), indices: &[positions.len()], value_bytes: 1, limit };
        match along(pattern, axis, positions, &target).err()? {
            Error::TooLarge { what: "the taken entries", bytes, .. } => Some(bytes),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the rejected bytes within 64 KiB.
    fn rejection(pattern: &AnyPattern, axis: usize, positions: &[usize]) -> u128 {
        error_within(1 << 16, pattern, axis, positions).unwrap()
    }

    #[test]
    fn entries_are_counted_with_the_lists_beside_them() {
        let (zeros, every): (Vec<u32>, Vec<u32>) = (vec![0; 1 << 10], (0..1 << 10).collect());
        let row = CooPattern::new([1, 1 << 10], 1 << 10, vec![zeros.clone(), every.clone()]).unwrap();
        let column = CooPattern::new([1 << 10, 1], 1 << 10, vec![every.clone(), zeros.clone()]).unwrap();
        let lane = CsrPattern::new([1, 1 << 10], vec![0, 1 << 10], every).unwrap();
        let lanes = CsrPattern::new([1 << 10, 1], (0..=1 << 10).collect(), zeros).unwrap();
        // Bytes per entry: coordinates, a value, and working lists. The working lists have the source entry, and in COO
        // also the item. Moves of entire lanes do not use working lists.
        let (each, each_of_csr) = (2 * 4 + 1 + 2 * 8, 4 + 1 + 8);
        let each_of_lanes = 4 + 1;
        let often = [0; 1 << 10];
        assert_eq!(rejection(row.any(), 0, &often) >> 20, each);
        assert_eq!(rejection(column.any(), 1, &often) >> 20, each);
        assert_eq!(rejection(lane.any(), 0, &often) >> 20, each_of_lanes);
        assert_eq!(rejection(lanes.any(), 1, &often) >> 20, each_of_csr);
    }

    /// The list of items per run (32 bytes per item) must count toward the limit, and its allocation must be able to
    /// fail.
    #[test]
    fn lists_of_items_are_counted() {
        let one = CsrPattern::<u32>::new([1, 1], vec![0, 1], vec![0]).unwrap();
        let listed = size_of::<TakenRun>() as u128;
        let offsets = 2 * size_of::<usize>() as u128;
        assert_eq!(rejection(one.any(), 1, &[0; 1500]), 1500 * (4 + 1 + 8 + listed) + offsets);
        assert_eq!(rejection(one.to_coo().unwrap().any(), 1, &[0; 1500]), 1500 * (2 * 4 + 1 + 2 * 8 + listed));
    }

    #[test]
    fn what_fills_the_limit_is_taken() {
        let lane = CsrPattern::<u32>::new([1, 4], vec![0, 4], vec![0, 1, 2, 3]).unwrap();
        let bytes = 12 * (4 + 1) + 4 * size_of::<usize>() as u64;
        assert_eq!(error_within(bytes, lane.any(), 0, &[0; 3]), None);
        assert_eq!(error_within(bytes - 1, lane.any(), 0, &[0; 3]), Some(bytes.into()));
        let row = lane.to_coo().unwrap();
        let bytes = 12 * (2 * 4 + 1 + 2 * 8) + 3 * size_of::<TakenRun>() as u64;
        assert_eq!(error_within(bytes, row.any(), 0, &[0; 3]), None);
        assert_eq!(error_within(bytes - 1, row.any(), 0, &[0; 3]), Some(bytes.into()));
    }
}
