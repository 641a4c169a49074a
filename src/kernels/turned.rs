//! Entries of two axes sorted by the second one, as counting sorts them: those that agree there come as they came.
//!
//! Places for all of a long axis would be written to all over the result. So entries are dealt first by the top bits of
//! their coordinates, to few places at a time, and each bucket, which a cache holds, is sorted by the bits below. All
//! that is held beside the result is two bytes an entry, and one bucket.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::gather::Plain;

/// Coordinates have so many top bits: the places that buckets are filled at stay in a first-level cache. Unoptimised
/// far fewer, so that tests, whose inputs are small, meet buckets.
const TOP: u32 = if cfg!(debug_assertions) { 2 } else { 8 };

/// Of no more entries than this the result is small enough to be written to all over; unoptimised of far fewer, too.
const DIRECT: usize = if cfg!(debug_assertions) { 1 << 4 } else { 1 << 19 };

/// The entries that are looked at together.
const BLOCK: usize = 1 << 10;

/// The longest axis whose lower bits fit two bytes.
pub(crate) const LONGEST: usize = 1 << (TOP + u16::BITS);

/// Entries by their coordinates on the second axis.
#[derive(Clone, Copy)]
pub(crate) struct ByLast<'a, I, T> {
    pub(crate) last: &'a [I],
    pub(crate) values: &'a [T],
}

/// The first coordinates and the values of all entries in the order of the second ones, which lie below `ends.len()`;
/// `first` writes the first coordinates from an entry on. Where the entries of each second coordinate end is written to
/// `ends`, which are zeros.
pub(crate) fn turned<I: Index, T: Plain>(
    entries: ByLast<'_, I, T>,
    first: impl Fn(usize, &mut [usize]) + Sync + Send,
    ends: &mut [usize],
) -> Allocated<(Vec<I>, Vec<T>)> {
    let (count, length) = (entries.last.len(), ends.len());
    let bits = usize::BITS - length.saturating_sub(1).leading_zeros();
    let top = bits.saturating_sub(TOP);
    let cuts = cuts(entries.last, top, length);
    let low = if count <= DIRECT { 0 } else { top };
    let (mut coords, mut values) = (alloc::zeros(count)?, alloc::zeros(count)?);
    let mut lows = alloc::zeros(if low == 0 { 0 } else { count })?;
    let (axis_ends, entry_ends): (Vec<_>, Vec<_>) = cuts.iter().copied().unzip();
    let low_ends: Few<usize> = entry_ends.iter().map(|&end| if low == 0 { 0 } else { end }).collect();
    let ends = threads::split_at_ends(ends, &axis_ends).into_iter();
    let slots = threads::split_at_ends(&mut coords, &entry_ends).into_iter();
    let slots = slots.zip(threads::split_at_ends(&mut values, &entry_ends));
    let slots = slots.zip(threads::split_at_ends(&mut lows, &low_ends));
    let starts = std::iter::once((0, 0)).chain(cuts.iter().copied());
    let shares = starts.zip(ends).zip(slots).map(|(((axis, entry), ends), ((coords, values), lows))| Share {
        low,
        start: axis,
        before: entry,
        ends,
        slots: Slots { coords, values, lows },
    });
    let sorted = threads::map_each(shares.collect(), count, || (), |(), share| share.sort(entries, &first));
    sorted.into_iter().collect::<Allocated<()>>()?;
    Ok((coords, values))
}

/// Where the shares of an axis of this length end, one a thread, and how many entries come before that: cut between
/// coordinates that differ in more than `low` bits, so that each has about as many entries.
fn cuts<I: Index>(last: &[I], low: u32, length: usize) -> Few<(usize, usize)> {
    let buckets = (length >> low) + 1;
    let counts = threads::map_parts(last.len(), 1000, buckets, |part| {
        let mut counts = vec![0; buckets];
        last[part].iter().for_each(|coord| counts[coord.to_usize() >> low] += 1);
        counts
    });
    let (shares, mut bucket, mut before) = (counts.len(), 0, 0);
    let cut = |share: usize| {
        while bucket < buckets && before < (share + 1) * last.len() / shares {
            before += counts.iter().map(|counts| counts[bucket]).sum::<usize>();
            bucket += 1;
        }
        (if share + 1 == shares { length } else { length.min(bucket << low) }, before)
    };
    (0..shares).map(cut).collect()
}

/// Places in the result, and for the lower bits of what stands there.
struct Slots<'a, I, T> {
    coords: &'a mut [I],
    values: &'a mut [T],
    lows: &'a mut [u16],
}

/// A range of the second axis, and the places of its entries.
struct Share<'a, I, T> {
    /// The lower bits, by which a bucket is sorted.
    low: u32,
    start: usize,
    /// The entries before the range.
    before: usize,
    ends: &'a mut [usize],
    slots: Slots<'a, I, T>,
}

impl<I: Index, T: Plain> Share<'_, I, T> {
    fn sort(mut self, entries: ByLast<'_, I, T>, first: &impl Fn(usize, &mut [usize])) -> Allocated<()> {
        match self.low {
            0 => {
                count(entries.last, self.start, 0, self.ends);
                starts_of(self.ends);
                deal(entries, first, (self.start, 0), self.ends, &mut self.slots);
            }
            low => {
                let mut next = vec![0; self.ends.len().div_ceil(1 << low)];
                count(entries.last, self.start, low, &mut next);
                starts_of(&mut next);
                deal(entries, first, (self.start, low), &mut next, &mut self.slots);
                self.sort_buckets(&next)?;
            }
        }
        self.ends.iter_mut().for_each(|end| *end += self.before);
        Ok(())
    }

    /// Sorts each bucket by the lower bits, where buckets end there.
    fn sort_buckets(&mut self, bucket_ends: &[usize]) -> Allocated<()> {
        let Slots { coords, values, lows } = &mut self.slots;
        let (mut spare, mut start) = ((Vec::new(), Vec::new()), 0);
        for (ends, &end) in self.ends.chunks_mut(1 << self.low).zip(bucket_ends) {
            let (bucket, lows) = (start..end, &lows[start..end]);
            lows.iter().for_each(|&low| ends[usize::from(low)] += 1);
            starts_of(ends);
            spare.0.clear();
            spare.1.clear();
            alloc::reserve(&mut spare.0, bucket.len())?;
            alloc::reserve(&mut spare.1, bucket.len())?;
            spare.0.extend_from_slice(&coords[bucket.clone()]);
            spare.1.extend_from_slice(&values[bucket.clone()]);
            let (coords, values) = (&mut coords[bucket.clone()], &mut values[bucket]);
            for ((&low, &coord), &value) in lows.iter().zip(&spare.0).zip(&spare.1) {
                let place = &mut ends[usize::from(low)];
                (coords[*place], values[*place]) = (coord, value);
                *place += 1;
            }
            ends.iter_mut().for_each(|place| *place += start);
            start = end;
        }
        Ok(())
    }
}

/// Counts the coordinates of a range of the axis that starts at `start`, those that differ in `low` bits only as one.
fn count<I: Index>(last: &[I], start: usize, low: u32, counts: &mut [usize]) {
    for coord in last {
        // One before the range is far behind it.
        if let Some(count) = counts.get_mut(coord.to_usize().wrapping_sub(start) >> low) {
            *count += 1;
        }
    }
}

/// Turns counts into where each of what was counted starts.
fn starts_of(counts: &mut [usize]) {
    let mut start = 0;
    for count in counts {
        (*count, start) = (start, start + *count);
    }
}

/// Writes each entry of the range to the next place of its bucket, and moves that on.
fn deal<I: Index, T: Plain>(
    entries: ByLast<'_, I, T>,
    first: &impl Fn(usize, &mut [usize]),
    (start, low): (usize, u32),
    next: &mut [usize],
    slots: &mut Slots<'_, I, T>,
) {
    let (mut block, mask) = ([0; BLOCK], (1 << low) - 1);
    for at in (0..entries.last.len()).step_by(BLOCK) {
        let part: Range<usize> = at..entries.last.len().min(at + BLOCK);
        let block = &mut block[..part.len()];
        first(at, block);
        for ((coord, &first), &value) in entries.last[part.clone()].iter().zip(&*block).zip(&entries.values[part]) {
            let coord = coord.to_usize().wrapping_sub(start);
            let Some(place) = next.get_mut(coord >> low) else { continue };
            (slots.coords[*place], slots.values[*place]) = (I::from_usize(first), value);
            if let Some(slot) = slots.lows.get_mut(*place) {
                *slot = (coord & mask) as u16;
            }
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `width` columns, of which `is_there` says which hold an entry.
    fn check(rows: usize, width: usize, is_there: impl Fn(usize, usize) -> bool) {
        let all = (0..rows * width).map(|at| (at / width, at % width));
        let entries: Vec<(usize, usize)> = all.filter(|&(row, column)| is_there(row, column)).collect();
        let last: Vec<u32> = entries.iter().map(|&(_, column)| column as u32).collect();
        let values: Vec<u64> = (0..entries.len() as u64).collect();
        let first = |start: usize, rows: &mut [usize]| {
            rows.iter_mut().zip(&entries[start..]).for_each(|(row, entry)| *row = entry.0);
        };
        let mut ends = vec![0; width];
        let found = turned(ByLast { last: &last, values: &values }, first, &mut ends).unwrap();
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
        // All entries in one bucket, at the end and at the start.
        check(20_000, 300, |_, column| column >= 299);
        check(20_000, 300, |_, column| column < 1);
    }
}
