//! A counting sort of two-axis entries by the second axis; entries with equal coordinates on this axis stay in input
//! order.
//!
//! A long axis would scatter writes over the entire result. Entries are therefore first scattered into buckets by the
//! top bits of their coordinates, so few positions are written at a time. Each bucket fits in a cache and is sorted by
//! the lower bits. Additional memory is two bytes per entry, and one bucket.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::gather::Plain;

/// The number of top bits; the write positions of the buckets stay in the L1 cache. Debug builds use fewer bits, so
/// that tests with small inputs have several buckets.
const TOP: u32 = if cfg!(debug_assertions) { 2 } else { 8 };

/// The maximum number of entries for which the result is small enough for scattered writes. Debug builds also use a
/// smaller number.
const DIRECT: usize = if cfg!(debug_assertions) { 1 << 4 } else { 1 << 19 };

/// The number of entries processed together.
const BLOCK: usize = 1 << 8;

/// The estimated picoseconds per entry, to count and scatter it.
const PICOSECONDS: usize = 3000;

/// The length of the longest axis whose lower bits fit in two bytes.
pub(crate) const LONGEST: usize = 1 << (TOP + u16::BITS);

/// Entries with their coordinates on the second axis.
#[derive(Clone, Copy)]
pub(crate) struct ByLast<'a, I, T> {
    pub(crate) last: &'a [I],
    pub(crate) values: &'a [T],
}

/// Returns the first coordinates and the values of all entries, sorted by the second coordinates.
///
/// Second coordinates are below `ends.len()`. `first` writes the first coordinates from an entry on. `ends` must be
/// zeros and receives the index after the last entry of each second coordinate.
///
/// Each thread scatters a range of the entries to its own slots in all buckets, after the slots of earlier ranges. Then
/// each thread sorts some of the buckets.
pub(crate) fn transposed<I: Index, T: Plain>(
    entries: ByLast<'_, I, T>,
    first: impl Fn(usize, &mut [usize]) + Sync + Send,
    ends: &mut [usize],
) -> Allocated<(Vec<I>, Vec<T>)> {
    let (count, length) = (entries.last.len(), ends.len());
    if count <= DIRECT {
        return transposed_directly(entries, first, ends);
    }
    let bits = usize::BITS - length.saturating_sub(1).leading_zeros();
    let low = bits.saturating_sub(TOP);
    let counts = counts(entries.last, low, length.div_ceil(1 << low))?;
    let (mut coords, mut values) = (alloc::zeros(count)?, alloc::zeros(count)?);
    let mut lows = alloc::zeros(if low == 0 { 0 } else { count })?;
    let places = places(&counts)?;
    let slots = Slots { coords: &mut coords, values: &mut values, lows: &mut lows };
    let mut shares: Vec<BucketTask<'_, I, T>> =
        alloc::collect(counts.iter().map(|(range, _)| BucketTask::new(low, range)))?;
    // Slots are ordered by bucket and then by range, so slot `number` belongs to range `number % counts.len()`.
    for (number, slots) in slots.split(&places).enumerate() {
        alloc::push(&mut shares[number % counts.len()].buckets, slots)?;
    }
    threads::map_each(shares.into(), count, || (), |(), share| share.scatter(entries, &first));
    // The last range of a bucket ends where the bucket ends.
    let bucket_ends: Vec<usize> = alloc::collect(places.chunks(counts.len()).map(|parts| parts[parts.len() - 1]))?;
    let slots = Slots { coords: &mut coords, values: &mut values, lows: &mut lows };
    sort_all(slots, low, &bucket_ends, ends)?;
    Ok((coords, values))
}

/// [`transposed`] for few entries, whose result fits in a cache.
fn transposed_directly<I: Index, T: Plain>(
    entries: ByLast<'_, I, T>,
    first: impl Fn(usize, &mut [usize]),
    ends: &mut [usize],
) -> Allocated<(Vec<I>, Vec<T>)> {
    let (mut coords, mut values) = (alloc::zeros(entries.last.len())?, alloc::zeros(entries.last.len())?);
    entries.last.iter().for_each(|coord| ends[coord.to_usize()] += 1);
    // After this call `ends[c]` is the start of coordinate `c`. After the loop it is the end.
    starts_of(ends);
    for_each(0..entries.last.len(), entries, &first, |coord, first, value| {
        let place = &mut ends[coord];
        (coords[*place], values[*place]) = (I::from_usize(first), value);
        *place += 1;
    });
    Ok((coords, values))
}

/// Calls `visit` with the second coordinate, the first coordinate and the value of each entry of a range, in order.
fn for_each<I: Index, T: Plain>(
    range: Range<usize>,
    entries: ByLast<'_, I, T>,
    first: &impl Fn(usize, &mut [usize]),
    mut visit: impl FnMut(usize, usize, T),
) {
    let mut block = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let part = start..range.end.min(start + BLOCK);
        let block = &mut block[..part.len()];
        first(start, block);
        for ((coord, &first), &value) in entries.last[part.clone()].iter().zip(&*block).zip(&entries.values[part]) {
            visit(coord.to_usize(), first, value);
        }
    }
}

/// Returns ranges of the entries, one per thread, and their number of entries per bucket.
fn counts<I: Index>(last: &[I], low: u32, buckets: usize) -> Allocated<Few<(Range<usize>, Vec<usize>)>> {
    let counts = threads::map_parts(last.len(), PICOSECONDS, buckets, |part| {
        let mut counts = alloc::zeros(buckets)?;
        last[part.clone()].iter().for_each(|coord| counts[coord.to_usize() >> low] += 1);
        Ok((part, counts))
    });
    counts.into_iter().collect()
}

/// Returns the end of the slots of each range within each bucket, bucket by bucket.
fn places(counts: &[(Range<usize>, Vec<usize>)]) -> Allocated<Vec<usize>> {
    let buckets = counts.first().map_or(0, |(_, counts)| counts.len());
    let (mut places, mut end) = (alloc::with_capacity(buckets * counts.len())?, 0);
    // Within a bucket, ranges follow each other in order, which keeps the sort stable.
    for bucket in 0..buckets {
        for (_, counts) in counts {
            end += counts[bucket];
            places.push(end);
        }
    }
    Ok(places)
}

/// Slots for entries of the result, and for the lower bits of their coordinates.
struct Slots<'a, I, T> {
    coords: &'a mut [I],
    values: &'a mut [T],
    /// Empty if buckets are not sorted.
    lows: &'a mut [u16],
}

impl<'a, I, T> Slots<'a, I, T> {
    /// Splits the slots at `ends`.
    fn split(self, ends: &[usize]) -> impl Iterator<Item = Slots<'a, I, T>> {
        let Slots { mut coords, mut values, mut lows } = self;
        let mut start = 0;
        ends.iter().map(move |&end| {
            let length = end - std::mem::replace(&mut start, end);
            let lows_length = length.min(lows.len());
            Slots {
                coords: coords.split_off_mut(..length).unwrap_or_default(),
                values: values.split_off_mut(..length).unwrap_or_default(),
                lows: lows.split_off_mut(..lows_length).unwrap_or_default(),
            }
        })
    }
}

/// A range of the entries, and its slots in each bucket.
struct BucketTask<'a, I, T> {
    /// The number of lower bits, by which a bucket is sorted.
    low: u32,
    range: Range<usize>,
    buckets: Vec<Slots<'a, I, T>>,
}

impl<I: Index, T: Plain> BucketTask<'_, I, T> {
    fn new(low: u32, range: &Range<usize>) -> Self {
        BucketTask { low, range: range.clone(), buckets: Vec::new() }
    }

    /// Writes each entry to the next slot of its bucket.
    fn scatter(mut self, entries: ByLast<'_, I, T>, first: &impl Fn(usize, &mut [usize])) {
        let (mut next, mask) = (vec![0; self.buckets.len()], (1 << self.low) - 1);
        for_each(self.range.clone(), entries, first, |coord, first, value| {
            // The slots were counted from the same coordinates, so `place` stays in bounds.
            let (slots, place) = (&mut self.buckets[coord >> self.low], &mut next[coord >> self.low]);
            (slots.coords[*place], slots.values[*place]) = (I::from_usize(first), value);
            // Coordinates are below `LONGEST`, so the lower bits fit in two bytes. If there are no lower bits, `lows`
            // is empty.
            if let Some(slot) = slots.lows.get_mut(*place) {
                *slot = (coord & mask) as u16;
            }
            *place += 1;
        });
    }
}

/// Sorts each bucket by the lower bits, and writes the end of each coordinate of the axis.
fn sort_all<I: Index, T: Plain>(
    slots: Slots<'_, I, T>,
    low: u32,
    bucket_ends: &[usize],
    ends: &mut [usize],
) -> Allocated<()> {
    // If there are no lower bits, each bucket has one coordinate and is already sorted.
    if low == 0 {
        ends.copy_from_slice(bucket_ends);
        return Ok(());
    }
    let count = slots.coords.len();
    let starts = std::iter::once(0).chain(bucket_ends.iter().copied());
    let buckets = slots.split(bucket_ends).zip(ends.chunks_mut(1 << low)).zip(starts);
    let buckets = buckets.map(|((slots, ends), start)| Bucket { slots, ends, start }).collect();
    let sorted = threads::map_each(buckets, count, Default::default, |spare, bucket| bucket.sort(spare));
    sorted.into_iter().collect()
}

/// Entries whose coordinates differ only in the lower bits.
struct Bucket<'a, I, T> {
    slots: Slots<'a, I, T>,
    /// The ends of all coordinates of the bucket.
    ends: &'a mut [usize],
    /// The number of entries before the bucket.
    start: usize,
}

impl<I: Index, T: Plain> Bucket<'_, I, T> {
    /// Sorts by the lower bits; `spare` holds a copy of the bucket.
    fn sort(self, spare: &mut (Vec<I>, Vec<T>)) -> Allocated<()> {
        let Bucket { slots: Slots { coords, values, lows }, ends, start } = self;
        lows.iter().for_each(|&low| ends[usize::from(low)] += 1);
        // After this call `ends[low]` is the start of `low` within the bucket. After the loop below it is the end.
        starts_of(ends);
        spare.0.clear();
        spare.1.clear();
        alloc::reserve(&mut spare.0, coords.len())?;
        alloc::reserve(&mut spare.1, values.len())?;
        spare.0.extend_from_slice(coords);
        spare.1.extend_from_slice(values);
        for ((&low, &coord), &value) in lows.iter().zip(&spare.0).zip(&spare.1) {
            let place = &mut ends[usize::from(low)];
            (coords[*place], values[*place]) = (coord, value);
            *place += 1;
        }
        // Ends within the bucket become ends within the result.
        ends.iter_mut().for_each(|end| *end += start);
        Ok(())
    }
}

/// Converts counts to starts.
fn starts_of(counts: &mut [usize]) {
    let mut start = 0;
    for count in counts {
        (*count, start) = (start, start + *count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks rows of `width` columns with entries where `is_there` is true.
    fn check(rows: usize, width: usize, is_there: impl Fn(usize, usize) -> bool) {
        let all = (0..rows * width).map(|at| (at / width, at % width));
        let entries: Vec<(usize, usize)> = all.filter(|&(row, column)| is_there(row, column)).collect();
        let last: Vec<u32> = entries.iter().map(|&(_, column)| column as u32).collect();
        let values: Vec<u64> = (0..entries.len() as u64).collect();
        let first = |start: usize, rows: &mut [usize]| {
            rows.iter_mut().zip(&entries[start..]).for_each(|(row, entry)| *row = entry.0);
        };
        let mut ends = vec![0; width];
        let found = transposed(ByLast { last: &last, values: &values }, first, &mut ends).unwrap();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&entry| entries[entry].1);
        let rows: Vec<u32> = order.iter().map(|&entry| entries[entry].0 as u32).collect();
        assert_eq!(found, (rows, order.iter().map(|&entry| entry as u64).collect()));
        assert!(
            ends.iter()
                .enumerate()
                .all(|(column, &end)| end == last.iter().filter(|&&at| at as usize <= column).count())
        );
    }

    #[test]
    fn entries_of_all_widths_and_numbers_are_sorted() {
        for width in [1, 2, 255, 256, 257, 300, 1_000, 4_099] {
            for rows in [0, 1, 3, 20] {
                check(rows, width, |row, column| (row * 7 + column * 5) % 11 < 3);
                check(rows, width, |_, column| column == width - 1);
                check(rows, width, |_, column| column == 0);
            }
        }
    }

    #[test]
    fn many_entries_are_shared_out_and_sorted() {
        check(40, 5_000, |row, column| (row * 7 + column * 5) % 11 < 3);
        check(900, 700, |row, column| (row * 7 + column * 5) % 11 < 3);
        // All entries are in one bucket: the last or the first bucket.
        check(20_000, 300, |_, column| column >= 299);
        check(20_000, 300, |_, column| column < 1);
    }
}
