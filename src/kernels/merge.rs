//! Entries in any order brought into row-major order, those of one position merged into one.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::packing::{Packing, split_axes};
use crate::kernels::radix::{BLOCK, Buckets, count_runs, for_each_block};
use crate::kernels::sort::{Arrays, compare, first_decreasing, gather, gather_axes, row_major_order, starts_in_order};

/// Why entries are not merged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unmerged {
    /// The first position whose items cannot be merged.
    At(Vec<usize>),
    /// The machine has no memory for the work.
    AllocError(AllocError),
}

impl From<AllocError> for Unmerged {
    fn from(refused: AllocError) -> Self {
        Unmerged::AllocError(refused)
    }
}

/// The entries in row-major order, with `merge` of the items at each position, from left to right in input order; or
/// the first position where it gives nothing. Arrays that are owned may hold the result in the end.
pub(crate) fn merged<I: Index, T: Copy + Zeroable + Send + Sync>(
    coords: Vec<Cow<'_, [I]>>,
    items: Cow<'_, [T]>,
    merge: impl Fn(T, T) -> Option<T> + Sync + Send,
) -> Result<Arrays<I, T>, Unmerged> {
    let count = items.len();
    let Some(packing) = Packing::of_many(&coords, count) else {
        return merged_by_groups(&coords, &items, merge);
    };
    if first_decreasing(&coords, count).is_none() {
        return merged_in_order(&packing, &coords, count, |entry| items[entry], merge);
    }
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| packing.pack(&coords, range, from, keys);
    let mut buckets = Buckets::deal(count, packing.bits(), 0, keys, |entry| items[entry])?;
    let spans = Spans::of_buckets(&mut buckets)?;
    let total = spans.total();
    let coords = coords.into_iter().map(|axis| reused(axis, total)).collect::<Allocated<_>>()?;
    if total == count {
        return Ok((packing.unpack_all(&buckets.keys, coords), buckets.items));
    }
    let keys = |range: Range<usize>, keys: &mut [u64]| keys.copy_from_slice(&buckets.keys[range]);
    merge_runs(&packing, spans, (coords, reused(items, total)?), keys, |entry| buckets.items[entry], merge)
}

/// The positions at which `count` entries stand, in row-major order, and for each whether any entry there `is_truthy`.
pub(crate) fn any_merged<I: Index>(
    coords: &[&[I]],
    count: usize,
    is_truthy: impl Fn(usize) -> bool + Sync + Send,
) -> Allocated<Arrays<I, bool>> {
    let or = |a, b| Some(a | b);
    let merged = match Packing::new(coords) {
        Some(packing) if first_decreasing(coords, count).is_none() => {
            merged_in_order(&packing, coords, count, is_truthy, or)
        }
        Some(packing) if packing.bits() < u64::BITS => return any_sorted(&packing, coords, count, is_truthy),
        _ => {
            let truths = alloc::collect((0..count).map(is_truthy))?;
            merged(coords.iter().map(|&axis| Cow::from(axis)).collect(), truths.into(), or)
        }
    };
    or_merged(merged)
}

/// What was merged by an `or`, which fails nowhere.
fn or_merged<I: Index>(merged: Result<Arrays<I, bool>, Unmerged>) -> Allocated<Arrays<I, bool>> {
    match merged {
        Ok(merged) => Ok(merged),
        Err(Unmerged::AllocError(refused)) => Err(refused),
        Err(Unmerged::At(_)) => unreachable!("an or has a result everywhere"),
    }
}

/// [`any_merged`] where the truth is the lowest bit of a key, which has nothing to carry then.
fn any_sorted<I: Index>(
    packing: &Packing,
    coords: &[&[I]],
    count: usize,
    is_truthy: impl Fn(usize) -> bool + Sync + Send,
) -> Allocated<Arrays<I, bool>> {
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| {
        packing.pack(coords, range.clone(), from.saturating_sub(1), keys);
        let truth = |entry| u64::from(from == 0 && is_truthy(entry));
        keys.iter_mut().zip(range).for_each(|(key, entry)| *key = *key << 1 | truth(entry));
    };
    let mut buckets = Buckets::deal(count, packing.bits() + 1, 1, keys, |_| ())?;
    let spans = Spans::of_buckets(&mut buckets)?;
    let output = (packing.zeros(spans.total())?, alloc::zeros(spans.total())?);
    let tagged = &buckets.keys;
    let keys = |range: Range<usize>, keys: &mut [u64]| {
        keys.iter_mut().zip(&tagged[range]).for_each(|(key, tagged)| *key = tagged >> 1);
    };
    or_merged(merge_runs(packing, spans, output, keys, |entry| tagged[entry] & 1 == 1, |a, b| Some(a | b)))
}

/// [`merged`] of entries in order.
fn merged_in_order<I: Index, A: AsRef<[I]> + Sync, T: Copy + Zeroable + Send + Sync>(
    packing: &Packing,
    coords: &[A],
    count: usize,
    item: impl Fn(usize) -> T + Sync + Send,
    merge: impl Fn(T, T) -> Option<T> + Sync + Send,
) -> Result<Arrays<I, T>, Unmerged> {
    let keys = |range: Range<usize>, keys: &mut [u64]| packing.pack(coords, range, 0, keys);
    let spans = Spans::in_order(count, keys, |entry| compare(coords, entry - 1, entry).is_eq());
    let output = (packing.zeros(spans.total())?, alloc::zeros(spans.total())?);
    merge_runs(packing, spans, output, keys, item, merge)
}

/// An array to write `count` items into: this one, if it is owned.
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

/// [`merged`] where coordinates are too large for one key.
fn merged_by_groups<I: Index, T: Copy + Zeroable + Send + Sync>(
    coords: &[Cow<'_, [I]>],
    items: &[T],
    merge: impl Fn(T, T) -> Option<T>,
) -> Result<Arrays<I, T>, Unmerged> {
    let (coords, items) = match row_major_order(coords, items.len())? {
        Some(order) => (gather_axes(coords, &order)?, gather(items, &order)?),
        None => {
            let coords = coords.iter().map(|axis| alloc::collect(axis.iter().copied())).collect::<Allocated<_>>()?;
            (coords, alloc::collect(items.iter().copied())?)
        }
    };
    let starts = starts_in_order(&coords, items.len())?;
    match starts.len() - 1 == items.len() {
        true => Ok((coords, items)),
        false => merge_sorted(&coords, &items, &starts, merge),
    }
}

/// [`merged`] of entries in order, whose runs of equal ones start at `starts`.
fn merge_sorted<I: Index, T: Copy + Send + Sync>(
    coords: &[Vec<I>],
    items: &[T],
    starts: &[usize],
    merge: impl Fn(T, T) -> Option<T>,
) -> Result<Arrays<I, T>, Unmerged> {
    let runs = starts.windows(2).map(|ends| ends[0]..ends[1]);
    let position = |entry: usize| coords.iter().map(|axis| axis[entry].to_usize()).collect::<Vec<_>>();
    let mut merged = alloc::with_capacity(runs.len())?;
    for run in runs.clone() {
        let mut rest = items[run.start + 1..run.end].iter().copied();
        let item = rest.try_fold(items[run.start], &merge);
        merged.push(item.ok_or_else(|| Unmerged::At(position(run.start)))?);
    }
    let firsts = alloc::collect(runs.map(|run| run.start))?;
    Ok((gather_axes(coords, &firsts)?, merged))
}

/// Entries in order, in parts that cut no run of equal ones.
struct Spans {
    entries: Few<Range<usize>>,
    /// How many runs there are up to the end of each part.
    ends: Few<usize>,
}

impl Spans {
    fn new(entries: Few<Range<usize>>, runs: Few<usize>) -> Self {
        let mut ends = runs;
        (1..ends.len()).for_each(|part| ends[part] += ends[part - 1]);
        Spans { entries, ends }
    }

    /// Sorts the buckets, each of which is a part.
    fn of_buckets<T: Copy + Zeroable + Send + Sync>(buckets: &mut Buckets<T>) -> Allocated<Self> {
        let runs = buckets.sort(0)?;
        let starts = std::iter::once(&0).chain(&buckets.ends);
        Ok(Spans::new(starts.zip(&buckets.ends).map(|(&start, &end)| start..end).collect(), runs))
    }

    /// Parts of entries that come in order, one a thread.
    fn in_order(
        count: usize,
        keys: impl Fn(Range<usize>, &mut [u64]) + Sync + Send,
        is_repeated: impl Fn(usize) -> bool + Sync + Send,
    ) -> Self {
        let opens = |entry: &usize| *entry == 0 || !is_repeated(*entry);
        // A part begins with the first run that does; one that none begins in belongs to the part before it.
        let openings = threads::map_parts(count, 3000, 0, |mut part| part.find(opens));
        let starts: Few<usize> = openings.into_iter().flatten().chain([count]).collect();
        let entries: Few<Range<usize>> = starts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        let runs = threads::map_each(
            entries.clone(),
            count,
            || (),
            |(), range| {
                let (mut runs, mut last) = (0, None);
                for_each_block(range, &keys, |_, keys| {
                    runs += count_runs(keys, 0) - usize::from(last == keys.first().copied());
                    last = keys.last().copied();
                });
                runs
            },
        );
        Spans::new(entries, runs)
    }

    /// The number of runs.
    fn total(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

/// What one thread writes: the runs of a span of entries.
struct Share<'a, I, T> {
    span: Range<usize>,
    coords: Vec<&'a mut [I]>,
    items: &'a mut [T],
}

/// Merges the runs of equal keys into `output`.
fn merge_runs<I: Index, T: Copy + Zeroable + Send + Sync>(
    packing: &Packing,
    spans: Spans,
    (mut coords, mut items): Arrays<I, T>,
    keys: impl Fn(Range<usize>, &mut [u64]) + Sync + Send,
    item: impl Fn(usize) -> T + Sync + Send,
    merge: impl Fn(T, T) -> Option<T> + Sync + Send,
) -> Result<Arrays<I, T>, Unmerged> {
    let count = spans.entries.last().map_or(0, |span| span.end);
    let pieces = split_axes(&mut coords, &spans.ends).into_iter();
    let places = pieces.zip(threads::split_at_ends(&mut items, &spans.ends));
    let shares = spans.entries.into_iter().zip(places).map(|(span, (coords, items))| Share { span, coords, items });
    let write = |block: &mut _, share: Share<'_, I, T>| share.write(packing, block, &keys, &item, &merge);
    let written = threads::map_each(shares.collect(), count, || [0; BLOCK], write);
    let written: Result<(), u64> = written.into_iter().collect();
    written.map(|()| (coords, items)).map_err(|key| Unmerged::At(packing.position(key)))
}

impl<I: Index, T: Copy> Share<'_, I, T> {
    /// Writes the first of each run, and merges the others into it; fails with the key where that fails.
    fn write(
        mut self,
        packing: &Packing,
        block: &mut [u64; BLOCK],
        keys: impl Fn(Range<usize>, &mut [u64]),
        item: impl Fn(usize) -> T,
        merge: impl Fn(T, T) -> Option<T>,
    ) -> Result<(), u64> {
        let (mut runs, mut last) = (0, 0);
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
                // The keys of runs are fewer than the entries so far: they overwrite what has been read.
                block[runs - before] = key;
                self.items[runs] = item;
                (runs, last) = (runs + 1, key);
            }
            packing.unpack(&block[..runs - before], &mut self.coords, before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Merges the numbers of entries in a way that tells their order.
    fn trail(merged: u64, entry: u64) -> Option<u64> {
        Some(merged.wrapping_mul(31).wrapping_add(entry))
    }

    /// Of each position in order what its entries merge to, and whether a third entry stands there.
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

    /// Small coordinates, and those that fit no key.
    fn check(coords: &[Vec<u64>], count: usize) {
        let expected = expected(coords, count);
        let entries: Vec<u64> = (0..count as u64).collect();
        for shift in [0, 46] {
            let coords: Vec<Vec<u64>> =
                coords.iter().map(|axis| axis.iter().map(|coord| coord << shift).collect()).collect();
            let owned = merged(coords.iter().cloned().map(Cow::from).collect(), entries.clone().into(), trail);
            let borrowed = merged(coords.iter().map(Cow::from).collect(), Cow::from(&entries), trail);
            assert_eq!(owned, borrowed);
            let (merged_coords, items) = owned.unwrap();
            assert!(items.iter().eq(expected.values().map(|(merged, _)| merged)));
            for (axis, merged) in merged_coords.iter().enumerate() {
                assert!(merged.iter().copied().eq(expected.keys().map(|position| position[axis] << shift)));
            }
            assert_eq!(merged_coords.len(), coords.len());
            let coords: Vec<&[u64]> = coords.iter().map(Vec::as_slice).collect();
            let truths = expected.values().map(|&(_, truth)| truth).collect();
            assert_eq!(any_merged(&coords, count, |entry| entry % 3 == 0), Ok((merged_coords, truths)));
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
            // Two runs, one of which goes on through most parts.
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
            let coords = coords.iter().map(Cow::from).collect();
            assert_eq!(merged::<u64, u8>(coords, vec![0; 5].into(), |_, _| None), Err(Unmerged::At(position)));
        }
    }
}
