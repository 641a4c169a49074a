//! Elements at positions (`take`), and the scatter-add for its gradient.
//!
//! An index is split into coordinates from the last axis to the first, by divisions with a nonnegative remainder:
//!
//! ```text
//! for each axis, last to first:   coord = index mod length,   index = floor(index / length)
//! ```
//!
//! `-1` therefore becomes the last coordinate of every axis, and adding the size of the tensor to an index does not
//! change its coordinates. Wrapping and negative indices therefore do not need the number of positions, which may
//! exceed 128 bits for many long axes.
//!
//! The scatter-add starts without values. The first contribution is stored unchanged, and later contributions are added
//! to it. Partial sums merge in the order of their contributions. A position without contributions is 0.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::{Index, Position};
use crate::base::threads;
use crate::element::{Element, without_sign};
use crate::kernels::gather::gather_values;
use crate::kernels::sort;

/// Handling of positions outside of the tensor in [`take`](crate::take()): an option of [`Take`](crate::Take).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TakeMode {
    /// Accepts `-n..n` for `n` elements; negative positions count from the end, and all other positions return an
    /// error.
    #[default]
    Raise,
    /// Wraps around: the remainder by `n`, which is never negative.
    Wrap,
    /// Uses the nearest position: 0 for negative positions (they do not count from the end), and the last position for
    /// `n` and above.
    Clip,
}

/// Returns the first of `items` that is outside `-size..size`.
pub(crate) fn first_outside<J: Position>(items: &[J], size: u128) -> Option<usize> {
    // An item has at most 64 bits, so every size of at least 2^64 contains all items.
    let size = size.min(1 << 64) as i128;
    let outside = |item: &J| {
        let item = item.to_i128();
        (item < -size) | (item >= size)
    };
    // The loop does not branch, so it can use SIMD; the position is searched only if an item is outside.
    if !items.iter().fold(false, |any, item| any | outside(item)) {
        return None;
    }
    items.iter().position(outside)
}

/// Returns the index of `item`, before the split into coordinates. With `Raise`, the caller has checked the item.
fn index_of<J: Position>(item: J, size: u128, mode: TakeMode) -> i128 {
    match mode {
        TakeMode::Raise | TakeMode::Wrap => item.to_i128(),
        TakeMode::Clip => item.to_i128().clamp(0, size.min(1 << 64) as i128 - 1),
    }
}

/// Returns the quotient and the nonnegative remainder.
#[inline]
fn divide(index: i128, length: usize) -> (i128, usize) {
    if 0 <= index && index < length as i128 {
        return (0, index as usize);
    }
    // Division of 64-bit integers is faster than of 128-bit integers, and almost every index fits in 64 bits.
    match (i64::try_from(index), i64::try_from(length)) {
        (Ok(index), Ok(length)) => (index.div_euclid(length).into(), index.rem_euclid(length) as usize),
        _ => (index.div_euclid(length as i128), index.rem_euclid(length as i128) as usize),
    }
}

/// Writes the coordinates of `index` within `lengths`, which are all nonzero; multiples of the size are dropped.
fn split(mut index: i128, lengths: &[usize], coords: &mut [usize]) {
    for (coord, &length) in coords.iter_mut().zip(lengths).rev() {
        (index, *coord) = divide(index, length);
    }
}

/// Returns the positions of `items` among `length` positions.
pub(crate) fn positions<J: Position>(items: &[J], length: usize, mode: TakeMode) -> Allocated<Vec<usize>> {
    threads::map(items, 1500, |item| divide(index_of(item, length as u128, mode), length).1)
}

/// From this number of items and of searched entries on, items are searched in the order of their positions, because
/// the entries do not fit in a cache.
const MANY_ITEMS: usize = 1 << 14;
const MANY_ENTRIES: usize = 1 << 17;

/// Returns each of `items` at a stored position, by its index, with the entry that `find` returns for its coordinates.
///
/// `size` is the number of positions within `lengths`, or `u128::MAX` if there are more. `find` searches among
/// `searched` entries.
pub(crate) fn stored_items<J: Position>(
    items: &[J],
    lengths: &[usize],
    size: u128,
    mode: TakeMode,
    searched: usize,
    find: impl Fn(&[usize]) -> Option<usize> + Send + Sync,
) -> Allocated<Vec<(usize, usize)>> {
    let coords_of = |item: usize, coords: &mut [usize]| split(index_of(items[item], size, mode), lengths, coords);
    let order = || position_order(items, size, mode);
    search_items([items.len(), lengths.len()], searched, order, coords_of, find)
}

/// Returns each of `count` items at a stored position, by its index, with the entry that `find` returns for its
/// coordinates. `positions` has the coordinates of all items on each axis.
pub(crate) fn stored_points(
    positions: &[Vec<usize>],
    count: usize,
    searched: usize,
    find: impl Fn(&[usize]) -> Option<usize> + Send + Sync,
) -> Allocated<Vec<(usize, usize)>> {
    let coords_of = |item: usize, coords: &mut [usize]| {
        coords.iter_mut().zip(positions).for_each(|(coord, own)| *coord = own[item]);
    };
    let order = || sort::row_major_order(positions, count);
    search_items([count, positions.len()], searched, order, coords_of, find)
}

/// Searches `count` items of a rank. Many items are searched in the order of their positions, which `order` returns.
fn search_items(
    [count, rank]: [usize; 2],
    searched: usize,
    order: impl FnOnce() -> Allocated<Option<Vec<usize>>>,
    coords_of: impl Fn(usize, &mut [usize]) + Send + Sync,
    find: impl Fn(&[usize]) -> Option<usize> + Send + Sync,
) -> Allocated<Vec<(usize, usize)>> {
    let scratch = || vec![0; rank];
    let search = |coords: &mut Vec<usize>, item: usize| {
        coords_of(item, coords);
        find(coords).map(|entry| (item, entry))
    };
    let order = if count >= MANY_ITEMS && searched >= MANY_ENTRIES { order()? } else { None };
    let Some(order) = order else { return threads::filter_map_range(count, scratch, search) };
    let mut found = threads::filter_map_range(count, scratch, |coords, rank| search(coords, order[rank]))?;
    drop(order);
    // The results are moved from the order of positions to the order of items.
    let mut entries = alloc::copies(None, count)?;
    found.drain(..).for_each(|(item, entry)| entries[item] = Some(entry));
    found.extend(entries.into_iter().enumerate().filter_map(|(item, entry)| Some((item, entry?))));
    Ok(found)
}

/// Returns the order of the positions of `items`; `None` if they are sorted or `size` exceeds 64 bits.
fn position_order<J: Position>(items: &[J], size: u128, mode: TakeMode) -> Allocated<Option<Vec<usize>>> {
    let Ok(size) = usize::try_from(size) else { return Ok(None) };
    sort::row_major_order(&[positions(items, size, mode)?], items.len())
}

/// Returns the entry at `target` among `count` sorted entries; `coord` returns a coordinate of an entry.
///
/// This is one binary search for all axes. All entries in the search range agree with `target` on the leading axes on
/// which both ends of the range agree with `target`. These axes are not compared again. The cost is rank plus logarithm
/// instead of their product, except for adversarial entries.
pub(crate) fn find(count: usize, target: &[usize], coord: impl Fn(usize, usize) -> usize) -> Option<usize> {
    let (mut start, mut end) = (0, count);
    let (mut agree_below, mut agree_above) = (0, 0);
    // Invariant: the entry, if it exists, is in `start..end`. Entries there agree with `target` on the axes before
    // `known`.
    while start < end {
        let middle = start + (end - start) / 2;
        let known = agree_below.min(agree_above);
        let differs = |axis: &usize| coord(*axis, middle) != target[*axis];
        let Some(axis) = (known..target.len()).find(differs) else { return Some(middle) };
        if coord(axis, middle) < target[axis] {
            (start, agree_below) = (middle + 1, axis);
        } else {
            (end, agree_above) = (middle, axis);
        }
    }
    None
}

/// The source of each element of a take along an axis of a row-major array.
///
/// The array has `outer` blocks of `length` slices of `inner` elements; the slices at `positions` are taken.
pub(crate) struct AxisSlices {
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
    pub(crate) positions: Vec<usize>,
}

impl AxisSlices {
    /// Returns the number of elements taken.
    pub(crate) fn len(&self) -> usize {
        self.outer * self.positions.len() * self.inner
    }

    /// Returns the start of each slice taken, in the order of the result.
    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        // If blocks are empty, their number may be too large to loop over.
        let outer = if self.inner == 0 || self.positions.is_empty() { 0 } else { self.outer };
        (0..outer).flat_map(move |block| {
            self.positions.iter().map(move |position| (block * self.length + position) * self.inner)
        })
    }

    /// Returns the elements taken, by their index in the array.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts().flat_map(|start| start..start + self.inner)
    }

    /// Returns the index in the array of an element of the result.
    pub(crate) fn source(&self, taken: usize) -> usize {
        // A result index is (block, item, element) in row-major order.
        let (slice, element) = (taken / self.inner, taken % self.inner);
        let (block, item) = (slice / self.positions.len(), slice % self.positions.len());
        (block * self.length + self.positions[item]) * self.inner + element
    }

    /// Returns the elements taken from `data`.
    pub(crate) fn gather<T: Element>(&self, data: &[T]) -> Allocated<Vec<T>> {
        if self.inner == 1 && self.outer == 1 {
            return gather_values(data, &self.positions);
        }
        let mut taken = alloc::with_capacity(self.len())?;
        match self.inner {
            1 => taken.extend(self.starts().map(|start| data[start])),
            _ => self.starts().for_each(|start| taken.extend_from_slice(&data[start..start + self.inner])),
        }
        Ok(taken)
    }
}

/// An item of an index array, and the entries of one run at its position.
pub(crate) struct TakenRun {
    pub(crate) run: usize,
    pub(crate) item: usize,
    pub(crate) entries: Range<usize>,
}

/// The maximum number of entries per item for which the entries of a run look up their items. If there are more
/// entries, each item searches the run.
const ENTRIES_PER_SEARCH: usize = 32;

/// The size of a take along an axis: its number of entries, and the maximum number of items listed for one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TakeSize {
    pub(crate) entries: u128,
    pub(crate) listed: usize,
}

/// A take along an axis; its entries are counted before they are written.
pub(crate) struct AlongAxis<'a, I> {
    /// The coordinates of the entries on the axis.
    coords: &'a [I],
    /// The offsets of runs. The entries of a run agree on all axes before the axis. Coordinates within a run do not
    /// decrease, so equal coordinates are contiguous.
    runs: &'a [usize],
    /// The positions of the items.
    positions: &'a [usize],
    /// The items by position, for runs whose entries look up their items.
    items: Option<ItemsByPosition>,
}

impl<'a, I: Index> AlongAxis<'a, I> {
    /// Returns the take of `positions`. All positions must be below `length`.
    pub(crate) fn new(coords: &'a [I], runs: &'a [usize], positions: &'a [usize], length: usize) -> Allocated<Self> {
        let mut take = AlongAxis { coords, runs, positions, items: None };
        // The index by position is only built if a run needs it.
        if !(0..runs.len() - 1).all(|run| take.is_searched(run)) {
            take.items = Some(ItemsByPosition::new(positions, length, coords.len())?);
        }
        Ok(take)
    }

    fn is_searched(&self, run: usize) -> bool {
        self.positions.len() <= (self.runs[run + 1] - self.runs[run]) / ENTRIES_PER_SEARCH
    }

    /// Calls `found` with items and the entries of a run at their position.
    fn of_run(&self, run: usize, found: impl FnMut(&[usize], Range<usize>)) {
        match &self.items {
            Some(items) if !self.is_searched(run) => self.scatter(run, items, found),
            _ => self.search(run, found),
        }
    }

    /// Searches the entries of each item.
    fn search(&self, run: usize, mut found: impl FnMut(&[usize], Range<usize>)) {
        let start = self.runs[run];
        let coords = &self.coords[start..self.runs[run + 1]];
        for (item, &position) in self.positions.iter().enumerate() {
            // Coordinates within a run do not decrease, so both binary searches are valid.
            let from = coords.partition_point(|coord| coord.to_usize() < position);
            let count = coords[from..].partition_point(|coord| coord.to_usize() == position);
            if count > 0 {
                found(&[item], start + from..start + from + count);
            }
        }
    }

    /// Looks up the items of each coordinate.
    fn scatter(&self, run: usize, items: &ItemsByPosition, mut found: impl FnMut(&[usize], Range<usize>)) {
        let (mut from, mut below) = (self.runs[run], 0);
        for equal in self.coords[from..self.runs[run + 1]].chunk_by(|a, b| a == b) {
            let position = equal[0].to_usize();
            // Coordinates increase from one group to the next, so the search continues from the number found before.
            below = items.below(position, below);
            found(items.at(position, below), from..from + equal.len());
            from += equal.len();
        }
    }

    pub(crate) fn take_size(&self) -> TakeSize {
        let mut take_size = TakeSize { entries: 0, listed: 0 };
        for run in 0..self.runs.len() - 1 {
            let mut listed = 0;
            self.of_run(run, |items, entries| {
                listed += items.len();
                take_size.entries = take_size.entries.saturating_add(items.len() as u128 * entries.len() as u128);
            });
            take_size.listed = take_size.listed.max(listed);
        }
        take_size
    }

    /// Calls `take` with the entries of each item, in row-major order of the result.
    pub(crate) fn for_each(&self, take_size: TakeSize, mut take: impl FnMut(&TakenRun)) -> Allocated<()> {
        // `take_size.listed` is the maximum per run, so the list never grows.
        let mut list = alloc::with_capacity(take_size.listed)?;
        for run in 0..self.runs.len() - 1 {
            self.of_run(run, |items, entries| {
                list.extend(items.iter().map(|&item| TakenRun { run, item, entries: entries.clone() }));
            });
            // A search already visits the items in order.
            if !self.is_searched(run) {
                threads::sort(&mut list, |a, b| a.item.cmp(&b.item));
            }
            list.drain(..).for_each(|taken| take(&taken));
        }
        Ok(())
    }
}

/// The items of an index array, by position.
struct ItemsByPosition {
    /// The items ordered by position; items with the same position are ordered by index.
    order: Vec<usize>,
    /// The positions of items, increasing and unique.
    named: Vec<usize>,
    /// The start of the items of each such position in `order`, then the number of items.
    starts: Vec<usize>,
    /// The number of item positions below each position, if the axis is not longer than the number of items and
    /// entries.
    counts_below: Option<Vec<usize>>,
}

impl ItemsByPosition {
    fn new(positions: &[usize], length: usize, entries: usize) -> Allocated<Self> {
        let order = sort::row_major_order(&[positions], positions.len())?;
        let order = order.map_or_else(|| alloc::collect(0..positions.len()), Ok)?;
        let opens = |&rank: &usize| rank == 0 || positions[order[rank - 1]] != positions[order[rank]];
        let mut starts = alloc::collect_some((0..order.len()).filter(opens))?;
        let named = alloc::collect(starts.iter().map(|&rank| positions[order[rank]]))?;
        alloc::push(&mut starts, order.len())?;
        let is_short = length <= positions.len().saturating_add(entries);
        let counts_below = is_short.then(|| counts_below(&named, length)).transpose()?;
        Ok(ItemsByPosition { order, named, starts, counts_below })
    }

    /// Returns the number of item positions below `position`; at least `known`.
    fn below(&self, position: usize, known: usize) -> usize {
        match &self.counts_below {
            Some(counts) => counts[position],
            None => gallop(&self.named, known, position),
        }
    }

    /// Returns the items at `position`, where `below` is the number of item positions below it.
    fn at(&self, position: usize, below: usize) -> &[usize] {
        match self.named.get(below) {
            Some(&named) if named == position => &self.order[self.starts[below]..self.starts[below + 1]],
            _ => &[],
        }
    }
}

/// Returns, for each number below `length`, how many of the increasing `numbers` are below it.
fn counts_below(numbers: &[usize], length: usize) -> Allocated<Vec<usize>> {
    let mut counts = alloc::with_capacity(length)?;
    // Invariant: `counts` covers all numbers up to the previous item of `numbers`.
    for (below, &number) in numbers.iter().enumerate() {
        counts.resize(number + 1, below);
    }
    counts.resize(length, numbers.len());
    Ok(counts)
}

/// Returns how many of the increasing `numbers` are below `bound`, by a galloping search. At least `known` numbers must
/// be below `bound`.
fn gallop(numbers: &[usize], known: usize, bound: usize) -> usize {
    let (mut low, mut step) = (known, 1);
    // Invariant: the first `low` numbers are below `bound`.
    while numbers.get(low + step - 1).is_some_and(|&number| number < bound) {
        low += step;
        step *= 2;
    }
    // The number at `high`, if it exists, is not below `bound`.
    let high = numbers.len().min(low + step - 1);
    low + numbers[low..high].partition_point(|&number| number < bound)
}

/// Returns the sum of the contributions to each of `count` positions, in the order of the contributions.
///
/// A position without contributions is `+0.0`. A position whose only contributions are zeros is also `+0.0`.
///
/// The error is the position of the first sum that does not fit in the type.
pub(crate) fn scatter_add<G: Element>(
    count: usize,
    contributions: impl Iterator<Item = (usize, G)>,
) -> Allocated<Result<Vec<G>, usize>> {
    let mut sums: Vec<G> = alloc::zeros(count)?;
    let mut received: Vec<bool> = alloc::zeros(count)?;
    for (position, gradient) in contributions {
        sums[position] = match std::mem::replace(&mut received[position], true) {
            true => match sums[position].checked_add(gradient) {
                Some(sum) => sum,
                None => return Ok(Err(position)),
            },
            false => without_sign(gradient),
        };
    }
    Ok(Ok(sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coords_of(index: i128, lengths: &[usize]) -> Vec<usize> {
        let mut coords = vec![0; lengths.len()];
        split(index, lengths, &mut coords);
        coords
    }

    #[test]
    fn an_index_splits_without_the_size() {
        assert_eq!(coords_of(7, &[2, 5]), [1, 2]);
        assert_eq!(coords_of(-1, &[2, 5]), [1, 4]);
        assert_eq!(coords_of(-11, &[2, 5]), [1, 4]);
        assert_eq!(coords_of(-1, &[usize::MAX; 32]), [usize::MAX - 1; 32]);
        assert_eq!(coords_of(u64::MAX.into(), &[usize::MAX; 3]), [0, 1, 0]);
        assert_eq!(coords_of(i64::MIN.into(), &[]), [0usize; 0]);
    }

    #[test]
    fn the_first_outsider_is_found_on_both_sides() {
        assert_eq!(first_outside(&[0, 4, -5], 5), None);
        assert_eq!(first_outside(&[0, 5, -6], 5), Some(1));
        assert_eq!(first_outside(&[-6i8], 5), Some(0));
        assert_eq!(first_outside(&[u64::MAX], u128::from(u64::MAX)), Some(0));
        assert_eq!(first_outside(&[u64::MAX], 1 << 64), None);
        assert_eq!(first_outside(&[i64::MIN], u128::MAX), None);
    }

    #[test]
    fn every_entry_is_found_and_nothing_else() {
        let lengths = [3, 2, 4];
        let stored: Vec<i128> = vec![0, 1, 3, 8, 9, 10, 15, 16, 23];
        let entries: Vec<Vec<usize>> = stored.iter().map(|&index| coords_of(index, &lengths)).collect();
        let axes: Vec<Vec<usize>> = (0..3).map(|axis| entries.iter().map(|at| at[axis]).collect()).collect();
        for index in 0..24 {
            let expected = stored.iter().position(|&at| at == index);
            let found = find(stored.len(), &coords_of(index, &lengths), |axis, entry| axes[axis][entry]);
            assert_eq!(found, expected);
        }
        assert_eq!((find(1, &[], |_, _| 0), find(0, &[], |_, _| 0)), (Some(0), None));
    }

    #[test]
    fn galloping_counts_what_is_below() {
        let numbers: Vec<usize> = (0..40).map(|number| 3 * number).collect();
        for bound in 0..125 {
            let below = numbers.iter().filter(|&&number| number < bound).count();
            assert_eq!(counts_below(&numbers, 125).unwrap()[bound], below);
            (0..=below).for_each(|known| assert_eq!(gallop(&numbers, known, bound), below));
        }
        assert_eq!(gallop(&[], 0, 7), 0);
    }

    #[test]
    fn a_search_a_table_and_a_gallop_take_the_same_entries() {
        // Two runs of 40 entries, with each coordinate twice.
        let coords: Vec<u32> = (0..80).map(|entry| entry % 40 / 2).collect();
        let positions = [3, 19, 3, 0];
        let taken = |positions: &[usize], length| {
            let mut all = Vec::new();
            let along = AlongAxis::new(&coords, &[0, 40, 80], positions, length).unwrap();
            let take_size = along.take_size();
            along.for_each(take_size, |taken| all.push((taken.run, taken.item, taken.entries.clone()))).unwrap();
            assert_eq!(take_size.entries, all.iter().map(|(.., entries)| entries.len() as u128).sum());
            all
        };
        let expected = [(0, 0, 6..8), (0, 1, 38..40), (0, 2, 6..8), (0, 3, 0..2)];
        let again = expected.clone().map(|(_, item, entries)| (1, item, entries.start + 40..entries.end + 40));
        assert_eq!(taken(&positions, 20), [expected, again].concat());
        assert_eq!(taken(&positions, 1 << 40), taken(&positions, 20));
        assert_eq!(taken(&positions[1..2], 20), [(0, 0, 38..40), (1, 0, 78..80)]);
    }

    #[test]
    fn the_lists_of_a_take_are_known_before_they_are_made() {
        let coords: Vec<u32> = (0..80).map(|entry| entry % 40 / 2).collect();
        let take_size = |runs: &[usize]| AlongAxis::new(&coords, runs, &[3, 19, 3, 0], 20).unwrap().take_size();
        // Sixteen entries, and a list of four items per run.
        assert_eq!(take_size(&[0, 40, 80]), TakeSize { entries: 16, listed: 4 });
        assert_eq!(take_size(&[0]), TakeSize { entries: 0, listed: 0 });
    }
}
