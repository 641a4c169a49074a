//! Merging of entries: sorts them into row-major order and merges entries at one position.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::bits::{BITS, NonzeroBits};
use crate::kernels::coords::{AxisCoords, AxisCoordsMut, CoordSlices, by_slices, by_width, of_width, slices};
use crate::kernels::packing::Packing;
use crate::kernels::radix::{BLOCK, Buckets, Keys, count_runs, for_each_block, listed};
use crate::kernels::sort::{compare, first_decreasing, gather, row_major_order, starts_in_order};

/// The reason why entries are not merged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unmerged {
    /// The first position whose items cannot be merged.
    At(Vec<usize>),
    /// An allocation failed.
    AllocError(AllocError),
}

impl From<AllocError> for Unmerged {
    fn from(rejection: AllocError) -> Self {
        Unmerged::AllocError(rejection)
    }
}

/// Entries at different positions: their coordinates per axis, and one item per entry.
pub(crate) type Merged<T> = (Vec<AxisCoords>, Vec<T>);

/// A function that merges two items at one position; `None` if they cannot be merged.
type Merge<'a, T> = dyn Fn(T, T) -> Option<T> + Sync + 'a;

/// The coordinates of entries, without their integer type: code that merges items is not generic over this type.
trait ErasedCoords: Sync {
    /// [`Packing::new`].
    fn packing(&self) -> Option<Packing>;

    /// [`Packing::of_many`].
    fn packing_of_many(&self, count: usize) -> Option<Packing>;

    /// Returns whether the entries are in row-major order; duplicates are allowed.
    fn are_in_order(&self, count: usize) -> bool;

    /// Returns whether an entry has the same position as the entry before it.
    fn is_repeated(&self, entry: usize) -> bool;

    /// [`Packing::pack`].
    fn pack(&self, packing: &Packing, range: Range<usize>, from: u32, keys: &mut [u64]);

    /// Returns the order that sorts the entries; `None` if they are sorted.
    fn order(&self, count: usize) -> Allocated<Option<Vec<usize>>>;

    /// Returns copies of the coordinates in the given order, or in input order for `None`.
    fn gather(&self, order: Option<&[usize]>) -> Allocated<Vec<AxisCoords>>;

    /// Returns zeros for the coordinates of `count` entries.
    fn zeros(&self, count: usize) -> Allocated<Vec<AxisCoords>>;
}

impl<I: Index> ErasedCoords for Few<&[I]> {
    fn packing(&self) -> Option<Packing> {
        Packing::new(self)
    }

    fn packing_of_many(&self, count: usize) -> Option<Packing> {
        Packing::of_many(self, count)
    }

    fn are_in_order(&self, count: usize) -> bool {
        first_decreasing(self, count).is_none()
    }

    fn is_repeated(&self, entry: usize) -> bool {
        compare(self, entry - 1, entry).is_eq()
    }

    fn pack(&self, packing: &Packing, range: Range<usize>, from: u32, keys: &mut [u64]) {
        packing.pack(self, range, from, keys);
    }

    fn order(&self, count: usize) -> Allocated<Option<Vec<usize>>> {
        row_major_order(self, count)
    }

    fn gather(&self, order: Option<&[usize]>) -> Allocated<Vec<AxisCoords>> {
        let axis = |&axis: &&[I]| match order {
            Some(order) => gather(axis, order).map(AxisCoords::from),
            None => alloc::collect(axis.iter().copied()).map(AxisCoords::from),
        };
        self.iter().map(axis).collect()
    }

    fn zeros(&self, count: usize) -> Allocated<Vec<AxisCoords>> {
        self.iter().map(|_| AxisCoords::zeros(count, I::WIDTH)).collect()
    }
}

fn axes_of<'a>(coords: &'a CoordSlices<'_>) -> &'a dyn ErasedCoords {
    match coords {
        CoordSlices::U32(axes) => axes,
        CoordSlices::U64(axes) => axes,
    }
}

/// Returns the entries in row-major order, with the items at each position merged.
///
/// Items are merged from left to right in input order. The error is the first position where `merge` returns `None`.
/// Owned arrays are reused for the result.
pub(crate) fn merged<T: Copy + Zeroable + Send + Sync>(
    coords: Cow<'_, [AxisCoords]>,
    items: Cow<'_, [T]>,
    merge: &Merge<'_, T>,
) -> Result<Merged<T>, Unmerged> {
    let (count, slices) = (items.len(), slices(&coords));
    let axes = axes_of(&slices);
    let Some(packing) = axes.packing_of_many(count) else {
        return merged_by_groups(axes, &items, merge);
    };
    // Sorted entries are merged without buckets: duplicates are neighbours.
    if axes.are_in_order(count) {
        return merged_in_order(&packing, axes, count, listed(&items), merge);
    }
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| axes.pack(&packing, range, from, keys);
    let mut buckets = Buckets::scatter(count, packing.bits(), 0, &keys, listed(&items))?;
    let spans = Spans::of_buckets(&mut buckets)?;
    let total = spans.total();
    let coords = match coords {
        Cow::Borrowed(_) => axes.zeros(total)?,
        Cow::Owned(coords) => coords.into_iter().map(|axis| shrunk(axis, total)).collect::<Allocated<_>>()?,
    };
    // The number of positions is the number of entries, so no items are merged, and the sorted arrays are the result.
    if total == count {
        return Ok((unpacked(&packing, &buckets.keys, coords)?, buckets.items));
    }
    let keys = |range: Range<usize>, keys: &mut [u64]| keys.copy_from_slice(&buckets.keys[range]);
    merge_runs(&packing, spans, (coords, reused(items, total)?), &keys, listed(&buckets.items), merge)
}

/// Unpacks the coordinates of all `keys` into `coords`.
fn unpacked(packing: &Packing, keys: &[u64], coords: Vec<AxisCoords>) -> Allocated<Vec<AxisCoords>> {
    let Some(first) = coords.first() else { return Ok(coords) };
    of_width!(first.width(), I => {
        let coords = coords.into_iter().map(AxisCoords::into_vec::<I>).collect::<Allocated<_>>()?;
        Ok(packing.unpack_all(keys, coords).into_iter().map(AxisCoords::from).collect())
    })
}

/// Returns the positions of `count` entries in row-major order, and for each whether any entry there is nonzero.
pub(crate) fn any_merged(coords: &CoordSlices<'_>, count: usize, truths: &dyn NonzeroBits) -> Allocated<Merged<bool>> {
    let (axes, words) = (axes_of(coords), truth_words(count, truths)?);
    let words = &words[..];
    let is_truthy = |entry: usize| words[entry / BITS] >> (entry % BITS) & 1 == 1;
    let or: &Merge<'_, bool> = &|a, b| Some(a | b);
    let merged = match axes.packing() {
        Some(packing) if axes.are_in_order(count) => merged_in_order(&packing, axes, count, is_truthy, or),
        // A key has an unused bit for the truth value, so the sort does not move items.
        Some(packing) if packing.bits() < u64::BITS => return any_sorted(&packing, axes, count, is_truthy),
        _ => {
            let truths = alloc::collect((0..count).map(is_truthy))?;
            merged_by_groups(axes, &truths, or)
        }
    };
    or_merged(merged)
}

/// Returns one bit per entry, set for a nonzero value.
fn truth_words(count: usize, truths: &dyn NonzeroBits) -> Allocated<Few<u64>> {
    if count > BITS {
        let write = |range: Range<usize>, words: &mut [u64]| truths.words(range.start * BITS, words);
        return threads::filled(count.div_ceil(BITS), 300 * BITS, write).map(Few::Many);
    }
    let mut word = [0];
    truths.words(0, &mut word);
    Ok(Few::One(word))
}

/// Returns the result of merging by `or`, which never fails.
fn or_merged(merged: Result<Merged<bool>, Unmerged>) -> Allocated<Merged<bool>> {
    match merged {
        Ok(merged) => Ok(merged),
        Err(Unmerged::AllocError(rejection)) => Err(rejection),
        Err(Unmerged::At(_)) => unreachable!("an or has a result everywhere"),
    }
}

/// [`any_merged`] with the truth value in the lowest bit of each key; the sort carries no items.
fn any_sorted(
    packing: &Packing,
    axes: &dyn ErasedCoords,
    count: usize,
    is_truthy: impl Fn(usize) -> bool + Sync + Send,
) -> Allocated<Merged<bool>> {
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| {
        // The key is shifted up by one bit. To have correct bits from `from` on, the shifted key needs correct bits of
        // the key from `from - 1` on.
        axes.pack(packing, range.clone(), from.saturating_sub(1), keys);
        let truth = |entry| u64::from(from == 0 && is_truthy(entry));
        keys.iter_mut().zip(range).for_each(|(key, entry)| *key = *key << 1 | truth(entry));
    };
    let mut buckets = Buckets::scatter(count, packing.bits() + 1, 1, &keys, |_| ())?;
    let spans = Spans::of_buckets(&mut buckets)?;
    let output = (axes.zeros(spans.total())?, alloc::zeros(spans.total())?);
    let tagged = &buckets.keys;
    let keys = |range: Range<usize>, keys: &mut [u64]| {
        keys.iter_mut().zip(&tagged[range]).for_each(|(key, tagged)| *key = tagged >> 1);
    };
    or_merged(merge_runs(packing, spans, output, &keys, |entry| tagged[entry] & 1 == 1, &|a, b| Some(a | b)))
}

/// [`merged`] for sorted entries.
fn merged_in_order<T: Copy + Zeroable + Send + Sync>(
    packing: &Packing,
    axes: &dyn ErasedCoords,
    count: usize,
    item: impl Fn(usize) -> T + Sync,
    merge: &Merge<'_, T>,
) -> Result<Merged<T>, Unmerged> {
    let keys = |range: Range<usize>, keys: &mut [u64]| axes.pack(packing, range, 0, keys);
    let spans = Spans::in_order(count, &keys, &|entry| axes.is_repeated(entry));
    let output = (axes.zeros(spans.total())?, alloc::zeros(spans.total())?);
    merge_runs(packing, spans, output, &keys, item, merge)
}

/// Returns an array for `count` items. The given array is reused if it is owned.
fn reused<T: Copy + Zeroable>(array: Cow<'_, [T]>, count: usize) -> Allocated<Vec<T>> {
    match array {
        Cow::Borrowed(_) => alloc::zeros(count),
        Cow::Owned(mut array) => {
            array.truncate(count);
            array.shrink_to_fit();
            Ok(array)
        }
    }
}

/// [`reused`] for coordinates.
fn shrunk(coords: AxisCoords, count: usize) -> Allocated<AxisCoords> {
    by_width!(coords, own => reused(Cow::Owned(own.into_vec()?), count).map(AxisCoords::from))
}

/// [`merged`] for coordinates that do not fit in one key.
fn merged_by_groups<T: Copy + Zeroable + Send + Sync>(
    axes: &dyn ErasedCoords,
    items: &[T],
    merge: &Merge<'_, T>,
) -> Result<Merged<T>, Unmerged> {
    let order = axes.order(items.len())?;
    let coords = axes.gather(order.as_deref())?;
    let items = match order {
        Some(order) => gather(items, &order)?,
        None => alloc::collect(items.iter().copied())?,
    };
    // The sort is stable, so items of one position are neighbours in input order.
    let starts = starts_of(&coords, items.len())?;
    match starts.len() - 1 == items.len() {
        true => Ok((coords, items)),
        false => merge_sorted(&coords, &items, &starts, merge),
    }
}

/// Returns the starts of the runs of equal entries, then the number of entries. Entries must be sorted.
fn starts_of(coords: &[AxisCoords], count: usize) -> Allocated<Vec<usize>> {
    by_slices!(coords, own => starts_in_order(&own, count))
}

/// [`merged`] for sorted entries whose runs of equal entries start at `starts`.
fn merge_sorted<T: Copy + Send + Sync>(
    coords: &[AxisCoords],
    items: &[T],
    starts: &[usize],
    merge: &Merge<'_, T>,
) -> Result<Merged<T>, Unmerged> {
    let runs = starts.windows(2).map(|ends| ends[0]..ends[1]);
    let position = |entry: usize| coords.iter().map(|axis| axis.at(entry)).collect::<Vec<_>>();
    let mut merged = alloc::with_capacity(runs.len())?;
    for run in runs.clone() {
        // A run holds at least one entry, so its first item exists.
        let mut rest = items[run.start + 1..run.end].iter().copied();
        let item = rest.try_fold(items[run.start], merge);
        merged.push(item.ok_or_else(|| Unmerged::At(position(run.start)))?);
    }
    let firsts = alloc::collect(runs.map(|run| run.start))?;
    Ok((coords.iter().map(|axis| axis.gather(&firsts)).collect::<Allocated<_>>()?, merged))
}

/// Sorted entries in parts that do not split a run of equal entries.
struct Spans {
    entries: Few<Range<usize>>,
    /// The number of runs up to the end of each part.
    ends: Few<usize>,
}

impl Spans {
    fn new(entries: Few<Range<usize>>, runs: Few<usize>) -> Self {
        let mut ends = runs;
        // Counts per part become running totals.
        (1..ends.len()).for_each(|part| ends[part] += ends[part - 1]);
        Spans { entries, ends }
    }

    /// Sorts the buckets, each of which is a part.
    fn of_buckets<T: Copy + Zeroable + Send + Sync>(buckets: &mut Buckets<T>) -> Allocated<Self> {
        let runs = buckets.sort(0)?;
        let starts = std::iter::once(&0).chain(&buckets.ends);
        Ok(Spans::new(starts.zip(&buckets.ends).map(|(&start, &end)| start..end).collect(), runs))
    }

    /// Returns parts of sorted entries, one per thread.
    fn in_order(count: usize, keys: &Keys<'_>, is_repeated: &(dyn Fn(usize) -> bool + Sync)) -> Self {
        let opens = |entry: &usize| *entry == 0 || !is_repeated(*entry);
        // A part begins at the first run that starts in its range. If no run starts in a range, the range belongs to
        // the previous part.
        let openings = threads::map_parts(count, 3000, 0, |mut part| part.find(opens));
        let starts: Few<usize> = openings.into_iter().flatten().chain([count]).collect();
        let entries: Few<Range<usize>> = starts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        let runs = threads::map_each(
            entries.clone(),
            count,
            || (),
            |(), range| {
                let (mut runs, mut last) = (0, None);
                // `last` is the final key of the previous block: a run that crosses the block boundary is counted once.
                for_each_block(range, keys, &mut |_, keys| {
                    runs += count_runs(keys, 0) - usize::from(last == keys.first().copied());
                    last = keys.last().copied();
                });
                runs
            },
        );
        Spans::new(entries, runs)
    }

    /// Returns the number of runs.
    fn total(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

/// The work of one thread: the runs of a range of entries, and the output for them.
struct MergeTask<'a, T> {
    span: Range<usize>,
    coords: Vec<AxisCoordsMut<'a>>,
    items: &'a mut [T],
}

/// Merges the runs of equal keys into `output`.
fn merge_runs<T: Copy + Zeroable + Send + Sync>(
    packing: &Packing,
    spans: Spans,
    (mut coords, mut items): Merged<T>,
    keys: &Keys<'_>,
    item: impl Fn(usize) -> T + Sync,
    merge: &Merge<'_, T>,
) -> Result<Merged<T>, Unmerged> {
    let count = spans.entries.last().map_or(0, |span| span.end);
    let pieces = split_axes(&mut coords, &spans.ends)?.into_iter();
    let places = pieces.zip(threads::split_at_ends(&mut items, &spans.ends));
    let shares = spans.entries.into_iter().zip(places).map(|(span, (coords, items))| MergeTask { span, coords, items });
    let write = |block: &mut _, share: MergeTask<'_, T>| share.write(packing, block, keys, &item, merge);
    let written = threads::map_each(shares.collect(), count, || [0; BLOCK], write);
    let written: Result<(), u64> = written.into_iter().collect();
    // Parts are in order and each reports its first failure, so the first error is the smallest position.
    written.map(|()| (coords, items)).map_err(|key| Unmerged::At(packing.position(key)))
}

/// Splits the arrays of all axes at `ends`; each part has one slice per axis.
fn split_axes<'a>(coords: &'a mut [AxisCoords], ends: &[usize]) -> Allocated<Few<Vec<AxisCoordsMut<'a>>>> {
    let mut pieces: Few<Vec<_>> = ends.iter().map(|_| Vec::with_capacity(coords.len())).collect();
    for axis in coords {
        pieces.iter_mut().zip(axis.split_mut(ends)?).for_each(|(piece, slice)| piece.push(slice));
    }
    Ok(pieces)
}

/// Writes the coordinates of `keys` on all axes, from index `at` on.
fn unpack(packing: &Packing, keys: &[u64], coords: &mut [AxisCoordsMut<'_>], at: usize) {
    for (axis, coords) in coords.iter_mut().enumerate() {
        match coords {
            AxisCoordsMut::U32(own) => packing.unpack_axis(axis, keys, &mut own[at..]),
            AxisCoordsMut::U64(own) => packing.unpack_axis(axis, keys, &mut own[at..]),
        }
    }
}

impl<T: Copy> MergeTask<'_, T> {
    /// Writes the first entry of each run, and merges the other entries of the run into it. The error is the key where
    /// merging fails.
    fn write(
        mut self,
        packing: &Packing,
        block: &mut [u64; BLOCK],
        keys: &Keys<'_>,
        item: impl Fn(usize) -> T,
        merge: &Merge<'_, T>,
    ) -> Result<(), u64> {
        let (mut runs, mut last) = (0, 0);
        // Invariant: `runs` runs are written, and `last` is the key of the last written run.
        for start in self.span.clone().step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(self.span.end - start)];
            keys(start..start + block.len(), block);
            let before = runs;
            for at in 0..block.len() {
                let (key, item) = (block[at], item(start + at));
                if runs > 0 && key == last {
                    self.items[runs - 1] = merge(self.items[runs - 1], item).ok_or(key)?;
                    continue;
                }
                // A block has at most as many runs as entries read so far, so a run key overwrites a key that is no
                // longer needed.
                block[runs - before] = key;
                self.items[runs] = item;
                (runs, last) = (runs + 1, key);
            }
            unpack(packing, &block[..runs - before], &mut self.coords, before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bits::NonzeroBitsOf;
    use std::collections::BTreeMap;

    /// Merges the indices of entries. The result depends on their order.
    fn trail(merged: u64, entry: u64) -> Option<u64> {
        Some(merged.wrapping_mul(31).wrapping_add(entry))
    }

    /// Returns the expected merge result per position, and whether an entry with an index divisible by 3 is at the
    /// position.
    fn expected(coords: &[Vec<u64>], count: usize) -> BTreeMap<Vec<u64>, (u64, bool)> {
        let mut expected = BTreeMap::new();
        for entry in 0..count {
            let position: Vec<u64> = coords.iter().map(|axis| axis[entry]).collect();
            let third = entry % 3 == 0;
            let merge =
                |(merged, truth): &mut _| (*merged, *truth) = (trail(*merged, entry as u64).unwrap(), *truth | third);
            expected.entry(position).and_modify(merge).or_insert((entry as u64, third));
        }
        expected
    }

    /// Checks small coordinates, and coordinates that do not fit in one key.
    fn check(coords: &[Vec<u64>], count: usize) {
        let (expected, rank) = (expected(coords, count), coords.len());
        let entries: Vec<u64> = (0..count as u64).collect();
        for shift in [0, 46] {
            let coords: Vec<Vec<u64>> =
                coords.iter().map(|axis| axis.iter().map(|coord| coord << shift).collect()).collect();
            let coords: Vec<AxisCoords> = coords.into_iter().map(AxisCoords::from).collect();
            let borrowed = merged(Cow::Borrowed(&coords), Cow::from(&entries), &trail).unwrap();
            let thirds: Vec<bool> = (0..count).map(|entry| entry % 3 == 0).collect();
            let truths = any_merged(&slices(&coords), count, &NonzeroBitsOf(&thirds)).unwrap();
            let (merged_coords, items) = merged(Cow::Owned(coords), entries.clone().into(), &trail).unwrap();
            assert!((&merged_coords, &items) == (&borrowed.0, &borrowed.1));
            assert!(items.iter().eq(expected.values().map(|(merged, _)| merged)));
            for (axis, merged) in merged_coords.iter().enumerate() {
                let merged = merged.view::<u64>().iter().copied();
                assert!(merged.eq(expected.keys().map(|position| position[axis] << shift)));
            }
            assert_eq!(merged_coords.len(), rank);
            assert!(truths.0 == merged_coords);
            assert!(truths.1.iter().eq(expected.values().map(|(_, truth)| truth)));
        }
    }

    #[test]
    fn entries_meet_in_input_order() {
        for count in [0, 1, 5, 3 * BLOCK, 150_000] {
            let scattered = |seed: u64, length: u64| -> Vec<u64> {
                (0..count as u64)
                    .map(|entry| (entry + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33)
                    .map(|n| n % length)
                    .collect()
            };
            check(&[scattered(1, 90), scattered(2, 700)], count);
            check(&[scattered(1, 900), scattered(2, 7000), scattered(3, 2)], count);
            check(&[vec![7; count], vec![0; count]], count);
            check(&[(0..count as u64).map(|entry| entry / 7).collect(), vec![3; count]], count);
            check(&[(0..count as u64).rev().collect(), vec![3; count]], count);
            // Two runs, the second of which spans most parts.
            check(&[(0..count as u64).map(|entry| entry / 10).map(|tenth| u64::from(tenth > 3)).collect()], count);
        }
        check(&[], 3);
        check(&[], 0);
    }

    #[test]
    fn the_first_position_that_fails_is_named() {
        let coords = [vec![5u64, 2, 9, 2, 9], vec![1, 3, 0, 3, 0]];
        let in_order = [vec![1u64, 2, 2, 9, 9], vec![1, 3, 3, 0, 0]];
        let large = coords.clone().map(|axis| axis.into_iter().map(|coord| coord << 50).collect::<Vec<_>>());
        for (coords, position) in [(&coords, vec![2, 3]), (&in_order, vec![2, 3]), (&large, vec![2 << 50, 3 << 50])] {
            let coords: Vec<AxisCoords> = coords.iter().cloned().map(AxisCoords::from).collect();
            let rejection = merged::<u8>(coords.into(), vec![0; 5].into(), &|_, _| None).err();
            assert_eq!(rejection, Some(Unmerged::At(position)));
        }
    }
}
