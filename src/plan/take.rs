//! Which entries a take chooses, and the pattern that they make.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position, capped_product, check_axes};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::gather::marked;
use crate::kernels::lanes::accumulate;
use crate::kernels::sort::{compare, gather};
use crate::kernels::take::{AlongAxis, Amount, TakeMode, Taken, stored_items};
use crate::pattern::{Pattern, zero_offsets};
use crate::plan::selected::{Selected, Sources};

/// Where a take goes.
pub(crate) struct Target<'a> {
    /// The shape of the result.
    pub(crate) shape: &'a Shape,
    /// The lengths of the index array.
    pub(crate) indices: &'a [usize],
    /// The bytes of a value of the result.
    pub(crate) value_bytes: usize,
    /// The most bytes that the result and the lists beside it may need.
    pub(crate) limit: u64,
}

impl Target<'_> {
    /// Refuses more entries than the limit allows, each with `axes` index arrays of type `I`, its value and `lists`
    /// numbers beside it; the offsets of the result are charged before.
    fn admit<I>(&self, amount: Amount, axes: usize, lists: usize, offsets: &[usize]) -> Result<usize> {
        let entry_bytes = axes * size_of::<I>() + self.value_bytes + lists * size_of::<usize>();
        let listed = amount.listed * size_of::<Taken>() + size_of_val(offsets);
        let bytes = amount.entries.saturating_mul(entry_bytes as u128).saturating_add(listed as u128);
        match bytes <= u128::from(self.limit) {
            true => Ok(amount.entries as usize),
            false => {
                let instead = "take fewer at a time";
                Err(Error::TooLarge { what: "the taken entries", bytes, limit: self.limit, instead })
            }
        }
    }
}

/// The bytes of working lists that an item of an index array needs at most, by flattened positions: its place in their
/// order, and itself with its entry in the list of a thread, of which a half may be free, and in that of all.
pub(crate) const FLATTENED_BYTES: usize = 7 * size_of::<usize>();
/// The same along an axis: its place in the order of the positions, and where its position starts there.
pub(crate) const ALONG_BYTES: usize = 4 * size_of::<usize>();

/// A take at flattened positions: of each item the entry that it names, if one is stored there.
pub(crate) fn flattened<P: Pattern, J: Position>(
    pattern: &P,
    items: &[J],
    mode: TakeMode,
    target: &Target<'_>,
) -> Result<Selected<P>> {
    check_axes::<P::Index>(target.shape)?;
    let (lengths, size) = (pattern.shape(), pattern.shape().wide_size());
    let searched = pattern.lane_offsets().map_or(pattern.nnz(), |offsets| pattern.nnz() / offsets.len());
    let stored = stored_items(items, lengths, size, mode, searched, |coords| pattern.find(coords))?;
    let places = alloc::collect(stored.iter().map(|&(item, _)| item))?;
    let sources = alloc::collect(stored.into_iter().map(|(_, entry)| entry))?;
    let coords = coords_of(&places, target.shape)?;
    let pattern = P::from_coords(target.shape.clone(), places.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// A take along an axis: of each item the entries with its position there.
pub(crate) fn along<P: Pattern>(
    pattern: &P,
    axis: usize,
    positions: &[usize],
    target: &Target<'_>,
) -> Result<Selected<P>> {
    check_axes::<P::Index>(target.shape)?;
    match pattern.lane_offsets() {
        Some(offsets) if axis + 1 == pattern.shape().rank() => columns(pattern, offsets, positions, target),
        Some(offsets) if pattern.shape().rank() == 2 => lanes(pattern, offsets, positions, target),
        _ if is_table_worth(pattern, axis, positions) => increasing(pattern, axis, positions, target),
        _ => coordinates(pattern, axis, positions, target),
    }
}

/// Whether positions increase, as those of a mask do, on an axis that is no longer than what is there anyway.
fn is_table_worth<P: Pattern>(pattern: &P, axis: usize, positions: &[usize]) -> bool {
    pattern.shape()[axis] <= pattern.nnz().saturating_add(positions.len())
        && positions.windows(2).all(|pair| pair[0] < pair[1])
}

/// [`along`] any axis with positions that increase: each entry is taken once at most, and all stay in order.
fn increasing<P: Pattern>(pattern: &P, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<Selected<P>> {
    let mut items = alloc::copies(usize::MAX, pattern.shape()[axis])?;
    positions.iter().enumerate().for_each(|(item, &position)| items[position] = item);
    let along = pattern.shared_axis(axis)?;
    let item = |coord: &P::Index| items[coord.to_usize()];
    let kept = marked(pattern.nnz(), |range, marks| {
        marks.iter_mut().zip(&along[range]).for_each(|(mark, coord)| *mark = item(coord) != usize::MAX);
    })?;
    let sources = Sources::List(kept);
    let kept_items = threads::map(&sources.of(&along)?, 1000, |coord| item(&coord))?;
    let gathered = |axes: std::ops::Range<usize>| {
        axes.map(|axis| sources.of(&pattern.shared_axis(axis)?)).collect::<Allocated<Vec<_>>>()
    };
    let mut coords = gathered(0..axis)?;
    coords.extend(coords_of(&kept_items, target.indices)?);
    coords.extend(gathered(axis + 1..pattern.shape().rank())?);
    let pattern = P::from_coords(target.shape.clone(), kept_items.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources })
}

/// [`along`] any axis, by the coordinates on all of them.
fn coordinates<P: Pattern>(pattern: &P, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<Selected<P>> {
    let axes = (0..pattern.shape().rank()).map(|axis| pattern.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
    let runs = runs_of(&axes[..axis], pattern.nnz())?;
    let along = AlongAxis::new(&axes[axis], &runs, positions, pattern.shape()[axis])?;
    let amount = along.amount();
    let count = target.admit::<P::Index>(amount, target.shape.rank(), 2, &[])?;
    let (mut sources, mut items) = (alloc::with_capacity(count)?, alloc::with_capacity(count)?);
    along.for_each(amount, |taken| {
        sources.extend(taken.entries.clone());
        items.extend(taken.entries.clone().map(|_| taken.item));
    })?;
    let gathered = |axes: &[_]| -> Allocated<Vec<_>> {
        axes.iter().map(|axis: &std::borrow::Cow<'_, [P::Index]>| gather(axis, &sources).map(Buffer::from)).collect()
    };
    let mut coords = gathered(&axes[..axis])?;
    coords.extend(coords_of(&items, target.indices)?);
    coords.extend(gathered(&axes[axis + 1..])?);
    let pattern = P::from_coords(target.shape.clone(), sources.len(), coords, target.limit)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// [`along`] the only axis of the lanes: whole lanes.
fn lanes<P: Pattern>(pattern: &P, offsets: &[usize], positions: &[usize], target: &Target<'_>) -> Result<Selected<P>> {
    let entries = |&lane: &usize| offsets[lane]..offsets[lane + 1];
    let count =
        |part: std::ops::Range<usize>| positions[part].iter().map(|lane| entries(lane).len() as u128).sum::<u128>();
    let total = threads::map_parts(positions.len(), 2000, 0, count).into_iter().sum();
    let mut ends = zero_offsets(target.shape, target.limit)?;
    // A start for each lane is no list of the entries.
    let amount = Amount { entries: total, listed: 0 };
    target.admit::<P::Index>(amount, 1, 0, &ends)?;
    let starts = threads::map(positions, 2000, |lane| offsets[lane])?;
    threads::map_into(positions, &mut ends[1..], 2000, |lane| entries(&lane).len());
    accumulate(&mut ends);
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    let columns = sources.of(&pattern.shared_axis(1)?)?;
    Ok(Selected { pattern: P::from_lanes(target.shape.clone(), ends, columns)?, sources })
}

/// [`along`] the last axis: columns of each lane.
fn columns<P: Pattern>(
    pattern: &P,
    offsets: &[usize],
    positions: &[usize],
    target: &Target<'_>,
) -> Result<Selected<P>> {
    let axis = pattern.shape().rank() - 1;
    // The lane and the column of the cell where an item of a lane goes: one index leaves the last axis of the lanes as
    // the new columns, an index array brings its own columns and as many lanes to each lane as it has.
    let width = target.shape.columns();
    let cell = |taken: &Taken| match target.indices.is_empty() {
        true => (taken.run / width, taken.run % width),
        false => (taken.run * (positions.len() / width) + taken.item / width, taken.item % width),
    };
    let mut ends = zero_offsets(target.shape, target.limit)?;
    let coords = pattern.axis_coords(axis)?;
    let along = AlongAxis::new(&coords, offsets, positions, pattern.shape().columns())?;
    let amount = along.amount();
    let count = target.admit::<P::Index>(amount, 1, 1, &ends)?;
    let (mut sources, mut columns) = (alloc::with_capacity(count)?, alloc::with_capacity(count)?);
    along.for_each(amount, |taken| {
        let (lane, column) = cell(taken);
        ends[lane + 1] += taken.entries.len();
        sources.extend(taken.entries.clone());
        columns.extend(taken.entries.clone().map(|_| P::Index::from_usize(column)));
    })?;
    accumulate(&mut ends);
    let pattern = P::from_lanes(target.shape.clone(), ends.into(), columns.into())?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// The coordinates within `lengths` of row-major positions that exist; all axes of length 1 share their zeros.
fn coords_of<I: Index>(positions: &[usize], lengths: &[usize]) -> Allocated<Vec<Buffer<I>>> {
    let inner = |axis: usize| capped_product(&lengths[axis + 1..]);
    let coords = |axis: usize| match (inner(axis), lengths[axis]) {
        (1, length) if axis > 0 => threads::map(positions, 1500, |position| I::from_usize(position % length)),
        (1, _) => threads::map(positions, 1500, I::from_usize),
        (inner, length) => threads::map(positions, 1500, |position| I::from_usize(position / inner % length)),
    };
    let zeros = Buffer::from(alloc::zeros(positions.len())?);
    let axis = |axis: usize| if lengths[axis] == 1 { Ok(zeros.clone()) } else { coords(axis).map(Buffer::from) };
    (0..lengths.len()).map(axis).collect()
}

/// Where the entries that agree on these axes start, and the number of all entries.
pub(crate) fn runs_of<I: Index, A: AsRef<[I]>>(axes: &[A], count: usize) -> Allocated<Vec<usize>> {
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

    /// Offsets and entries each had the whole limit: twice as much was asked for as was allowed.
    #[test]
    fn offsets_leave_the_entries_what_the_limit_has_beside_them() {
        let shape = Shape::from([9, 1]);
        let target = Target { shape: &shape, indices: &[1], value_bytes: 1, limit: 100 };
        let admitted = |entries, lists, offsets: &[usize]| {
            target.admit::<u32>(Amount { entries, listed: 0 }, 1, lists, offsets).is_ok()
        };
        assert!(admitted(4, 0, &[0; 10]) && !admitted(5, 0, &[0; 10]) && !admitted(0, 0, &[0; 13]));
        assert!(admitted(7, 1, &[]) && !admitted(8, 1, &[]));
    }

    /// The bytes that are refused where `positions` are taken along an axis, of values of one byte within `limit`.
    fn refused_within<P: Pattern>(limit: u64, pattern: &P, axis: usize, positions: &[usize]) -> Option<u128> {
        let mut shape = pattern.shape().to_vec();
        shape[axis] = positions.len();
        let target = Target { shape: &shape.into(), indices: &[positions.len()], value_bytes: 1, limit };
        match along(pattern, axis, positions, &target).err()? {
            Error::TooLarge { what: "the taken entries", bytes, .. } => Some(bytes),
            other => panic!("{other:?}"),
        }
    }

    /// The same within 64 KiB.
    fn refused<P: Pattern>(pattern: &P, axis: usize, positions: &[usize]) -> u128 {
        refused_within(1 << 16, pattern, axis, positions).unwrap()
    }

    #[test]
    fn entries_are_counted_with_the_lists_beside_them() {
        let (zeros, every): (Vec<u32>, Vec<u32>) = (vec![0; 1 << 10], (0..1 << 10).collect());
        let row = CooPattern::new([1, 1 << 10], 1 << 10, vec![zeros.clone(), every.clone()]).unwrap();
        let column = CooPattern::new([1 << 10, 1], 1 << 10, vec![every.clone(), zeros.clone()]).unwrap();
        let lane = CsrPattern::new([1, 1 << 10], vec![0, 1 << 10], every).unwrap();
        let lanes = CsrPattern::new([1 << 10, 1], (0..=1 << 10).collect(), zeros).unwrap();
        // Indices, a value, and but for whole lanes the lists beside them: where an entry comes from, and of COO the
        // item that takes it.
        let (each, each_of_csr) = (2 * 4 + 1 + 2 * 8, 4 + 1 + 8);
        let each_of_lanes = 4 + 1;
        let often = [0; 1 << 10];
        assert_eq!(refused(&row, 0, &often) >> 20, each);
        assert_eq!(refused(&column, 1, &often) >> 20, each);
        assert_eq!(refused(&lane, 0, &often) >> 20, each_of_lanes);
        assert_eq!(refused(&lanes, 1, &often) >> 20, each_of_csr);
    }

    /// The list of what a run gives, 32 bytes an item, was neither counted nor asked for in a way that can be refused:
    /// 3.7 GB for a result below the limit.
    #[test]
    fn lists_of_items_are_counted() {
        let one = CsrPattern::<u32>::new([1, 1], vec![0, 1], vec![0]).unwrap();
        let listed = size_of::<Taken>() as u128;
        let offsets = 2 * size_of::<usize>() as u128;
        assert_eq!(refused(&one, 1, &[0; 1500]), 1500 * (4 + 1 + 8 + listed) + offsets);
        assert_eq!(refused(&one.to_coo().unwrap(), 1, &[0; 1500]), 1500 * (2 * 4 + 1 + 2 * 8 + listed));
    }

    #[test]
    fn what_fills_the_limit_is_taken() {
        let lane = CsrPattern::<u32>::new([1, 4], vec![0, 4], vec![0, 1, 2, 3]).unwrap();
        let bytes = 12 * (4 + 1) + 4 * size_of::<usize>() as u64;
        assert_eq!(refused_within(bytes, &lane, 0, &[0; 3]), None);
        assert_eq!(refused_within(bytes - 1, &lane, 0, &[0; 3]), Some(bytes.into()));
        let row = lane.to_coo().unwrap();
        let bytes = 12 * (2 * 4 + 1 + 2 * 8) + 3 * size_of::<Taken>() as u64;
        assert_eq!(refused_within(bytes, &row, 0, &[0; 3]), None);
        assert_eq!(refused_within(bytes - 1, &row, 0, &[0; 3]), Some(bytes.into()));
    }
}
