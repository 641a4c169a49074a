//! Conversions between the offsets of lanes and the lane of each entry.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::few::Few;
use crate::base::index::{Index, Width};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{INTERLEAVED, Interleaved, RunResults};
use crate::kernels::bits::{self, BITS};
use crate::kernels::coords::{AxisCoords, AxisCoordsMut, by_width};
use crate::kernels::op::Outcomes;

/// Writes the start of each lane into `starts`, which must be zeros. There is one more start than lanes.
///
/// `lane` returns the lane of an entry and does not decrease over the `count` entries. Threads split the entries, and
/// each writes the lanes that start among its entries.
pub(crate) fn mark_starts(starts: &mut [usize], count: usize, lane: impl Fn(usize) -> usize + Sync + Send) {
    let parts = threads::map_parts(count, 1000, 0, |entries| entries);
    let after = |end: usize| if end == 0 { 0 } else { lane(end - 1) + 1 };
    let ends: Few<usize> = parts.iter().map(|entries| after(entries.end)).collect();
    // All lanes after the last entry start at the end of the entries.
    let (starts, rest) = starts.split_at_mut(ends.last().copied().unwrap_or(0));
    rest.fill(count);
    threads::map_slices(starts, &ends, |part, starts| {
        let (base, entries) = (if part == 0 { 0 } else { ends[part - 1] }, parts[part].clone());
        // In reverse order the first entry of a lane is written last, so no comparison is needed. The written number is
        // the start plus 1. Zero marks a lane without entries, which has the start of the next lane.
        for entry in entries.clone().rev() {
            // A lane that starts in an earlier part belongs to that part.
            let Some(start) = lane(entry).checked_sub(base).and_then(|lane| starts.get_mut(lane)) else { break };
            *start = entry + 1;
        }
        // Invariant: `next` is one more than the start of the lane after `start`.
        starts.iter_mut().rev().fold(entries.end + 1, |next, start| {
            let found = if *start == 0 { next } else { *start };
            *start = found - 1;
            found
        });
    });
}

/// The number of slots written at once, for lanes of any length. Slots after the lane are overwritten later.
const SHORT: usize = 16;

/// Returns `of` the lane of each entry. `stride` lanes count as one.
pub(crate) fn spread<T: Copy + Zeroable + Send>(
    offsets: &[usize],
    stride: usize,
    of: impl Fn(usize) -> T + Sync + Send,
) -> Allocated<Vec<T>> {
    let count = offsets.last().copied().unwrap_or(0);
    threads::filled(count, 500, |range, slots| spread_range(offsets, stride, range.start, slots, &of))
}

/// Writes [`spread`] over the entries from `start` on.
pub(crate) fn spread_range<T: Copy>(
    offsets: &[usize],
    stride: usize,
    start: usize,
    slots: &mut [T],
    of: impl Fn(usize) -> T,
) {
    if slots.is_empty() {
        return;
    }
    // The last offset that is at most `start` belongs to the lane of the entry `start`, because that lane is not empty.
    let mut lane = (offsets.partition_point(|&offset| offset <= start) - 1) / stride;
    let mut done = 0;
    while done < slots.len() {
        // Invariant: the first `done` slots are written, and the next slot belongs to `lane` or a later lane.
        let end = slots.len().min(offsets[(lane + 1) * stride] - start);
        fill_first(&mut slots[done..], end - done, of(lane));
        (done, lane) = (end, lane + 1);
    }
}

/// Fills the first `count` slots, and possibly some slots after them.
fn fill_first<T: Copy>(slots: &mut [T], count: usize, item: T) {
    match slots.first_chunk_mut::<SHORT>() {
        Some(first) => {
            *first = [item; SHORT];
            if count > SHORT {
                slots[SHORT..count].fill(item);
            }
        }
        None => slots[..count].fill(item),
    }
}

/// Converts the number of entries of each lane, after a zero, to the offsets of the lanes.
pub(crate) fn accumulate(counts: &mut [usize]) {
    let mut total = 0;
    for count in counts {
        total += *count;
        *count = total;
    }
}

/// Returns the number of kept entries before each offset. `kept` is in order.
pub(crate) fn offsets_among(kept: &[usize], offsets: &[usize]) -> Allocated<Vec<usize>> {
    let picoseconds = 1000 + kept.len().saturating_mul(1000) / offsets.len().max(1);
    threads::filled(offsets.len(), picoseconds, |range, slots| {
        let first = offsets.get(range.start).copied().unwrap_or(0);
        let mut before = kept.partition_point(|&entry| entry < first);
        // Invariant: `before` is the number of kept entries before the previous offset. Offsets do not decrease.
        for (slot, &offset) in slots.iter_mut().zip(&offsets[range]) {
            before += kept[before..].iter().take_while(|&&entry| entry < offset).count();
            *slot = before;
        }
    })
}

/// The lanes with an entry: their number up to the end of each row, the index of each lane in its row, and its result.
pub(crate) struct Reduced<U> {
    pub(crate) row_ends: Vec<usize>,
    pub(crate) columns: AxisCoords,
    pub(crate) results: Vec<U>,
}

/// Reduces some lanes. The arguments are the index of the first lane, their offsets, and a slot for each lane with an
/// entry.
pub(crate) type ReduceLanes<'a, U, E> = dyn Fn(usize, &[usize], &mut [U]) -> Result<(), E> + Sync + 'a;

/// Reduces the lanes with an entry. A row has `width` lanes, and `bits` is the width of the columns.
///
/// `reduce` receives the index of the first of some lanes, their offsets, and a slot for each lane with an entry. Lanes
/// are read block by block, so that their offsets are loaded once. Each thread reads a part of the lanes.
///
/// The lanes with an entry are not counted first. Their number is at most the number of lanes and at most the number of
/// entries. Unused slots are removed at the end.
pub(crate) fn reduce_stored<U: Zeroable + Copy + Send, E: From<AllocError> + Send>(
    offsets: &[usize],
    width: usize,
    bits: Width,
    reduce: &ReduceLanes<'_, U, E>,
) -> Result<Reduced<U>, E> {
    let parts = parts_of(offsets);
    let ends = room_of(offsets, &parts);
    let most = ends.last().copied().unwrap_or(0);
    let (mut columns, mut results) = (AxisCoords::zeros(most, bits)?, alloc::zeros(most)?);
    let shares = columns.split_mut(&ends)?.into_iter();
    let shares = shares.zip(threads::split_at_ends(&mut results, &ends)).zip(parts);
    let work = offsets.len() + offsets[offsets.len() - 1];
    let done = threads::map_each(
        shares.collect(),
        work,
        || (),
        |(), ((columns, results), lanes)| reduce_part(offsets, width, lanes, columns, results, reduce),
    );
    let mut row_ends = alloc::with_capacity((offsets.len() - 1).checked_div(width).unwrap_or(0))?;
    let (mut stored, mut start) = (0, 0);
    // Invariant: the results of all parts before are in `..stored`, and the slots of this part start at `start`.
    for (part, end) in done.into_iter().zip(ends) {
        let (rows, count) = part?;
        for end in rows {
            row_ends.push(stored + end);
        }
        // The results move to the front, so no later part is overwritten.
        if stored < start {
            by_width!(&mut columns, own => own.make_mut()?.copy_within(start..start + count, stored));
            results.copy_within(start..start + count, stored);
        }
        (stored, start) = (stored + count, end);
    }
    results.truncate(stored);
    Ok(Reduced { row_ends, columns: columns.truncated(stored)?, results })
}

/// Returns chunks of the lanes, with similar sums of lanes and entries.
fn parts_of(offsets: &[usize]) -> Few<Range<usize>> {
    let lanes = offsets.len() - 1;
    let work = |lane: usize| offsets[lane] + lane;
    // Returns the first lane with at least this work before it.
    let lane_at = |sought: usize| {
        let (mut low, mut high) = (0, lanes);
        while low < high {
            let middle = low.midpoint(high);
            if work(middle) < sought { low = middle + 1 } else { high = middle }
        }
        low
    };
    threads::map_parts(work(lanes), 500, 0, |part| lane_at(part.start)..lane_at(part.end))
}

/// Returns the end of the slots of each part: one slot per lane or per entry, whichever number is smaller.
fn room_of(offsets: &[usize], parts: &Few<Range<usize>>) -> Few<usize> {
    let most = |lanes: &Range<usize>| lanes.len().min(offsets[lanes.end] - offsets[lanes.start]);
    let mut ends: Few<usize> = parts.iter().map(most).collect();
    accumulate(&mut ends);
    ends
}

/// The number of lanes processed together.
///
/// While these lanes are reduced, the processor prefetches the offsets of the next lanes, but only a short distance
/// ahead.
const LANES: usize = 4 * BITS;

/// Reduces one part for [`reduce_stored`]. Returns the number of stored lanes up to each row end in the part, and their
/// total.
fn reduce_part<U, E: From<AllocError>>(
    offsets: &[usize],
    width: usize,
    lanes: Range<usize>,
    mut columns: AxisCoordsMut<'_>,
    results: &mut [U],
    reduce: &ReduceLanes<'_, U, E>,
) -> Result<(Vec<usize>, usize), E> {
    let (mut row_ends, mut at, mut lane) = (Vec::new(), 0, lanes.start);
    // Invariant: `at` lanes before `lane` have an entry, and their results are written.
    while lane < lanes.end {
        let column = lane % width;
        // A block ends at the end of its row at the latest, so its columns increase.
        let end = lanes.end.min(lane + LANES.min(width - column));
        let block = &offsets[lane..=end];
        let stored = list_columns(block, column, &mut columns, at);
        reduce(lane, block, &mut results[at..at + stored])?;
        (at, lane) = (at + stored, end);
        if lane % width == 0 {
            alloc::push(&mut row_ends, at)?;
        }
    }
    Ok((row_ends, at))
}

/// Writes [`list_stored`] from the position `at` on, in either width.
fn list_columns(offsets: &[usize], first: usize, columns: &mut AxisCoordsMut<'_>, at: usize) -> usize {
    match columns {
        AxisCoordsMut::U32(columns) => list_stored(offsets, first, &mut columns[at..]),
        AxisCoordsMut::U64(columns) => list_stored(offsets, first, &mut columns[at..]),
    }
}

/// Writes the indices of the lanes with an entry, and returns their number. The first lane has the index `first`.
fn list_stored<I: Index>(offsets: &[usize], first: usize, columns: &mut [I]) -> usize {
    let mut stored = 0;
    in_wide_vectors(
        #[inline(always)]
        || {
            for start in (0..offsets.len() - 1).step_by(BITS) {
                // A lane has an entry exactly if its offset differs from the next one.
                let word = bits::first_changes(&offsets[start..]);
                let slots = &mut columns[stored..][..word.count_ones() as usize];
                let number = |lane: usize| I::from_usize(first + start + lane);
                match slots.len() {
                    BITS => slots.iter_mut().enumerate().for_each(|(lane, slot)| *slot = number(lane)),
                    _ => slots.iter_mut().zip(bits::ones(word)).for_each(|(slot, lane)| *slot = number(lane)),
                }
                stored += slots.len();
            }
        },
    );
    stored
}

/// The longest run that is reduced together with other runs.
const LONG: usize = 64;

/// Returns the first nonempty lane from `lane` on, and its offsets.
#[inline(always)]
fn next_stored(offsets: &[usize], mut lane: usize) -> Option<(usize, [usize; 2])> {
    while let Some(&[start, end]) = offsets.get(lane..lane + 2).and_then(<[usize]>::first_chunk) {
        if start < end {
            return Some((lane, [start, end]));
        }
        lane += 1;
    }
    None
}

/// Writes the results of nonempty lanes. `fast` computes eight at a time.
///
/// `slow` computes the results that `fast` leaves unknown, from the index of the lane and its entries.
#[inline(always)]
pub(crate) fn results_of<U: Copy>(
    offsets: &[usize],
    results: &mut [U],
    fast: impl Fn(&Interleaved) -> RunResults<U>,
    slow: impl Fn(usize, Range<usize>) -> Outcomes<U>,
) -> Outcomes<()> {
    let mut next = 0;
    for results in results.chunks_mut(INTERLEAVED) {
        let (mut runs, mut lanes) = (Interleaved::default(), [(0, [0; 2]); INTERLEAVED]);
        // `results` has one slot per nonempty lane, so each slot finds its lane. Unused runs keep the size 0.
        for (run, found) in lanes[..results.len()].iter_mut().enumerate() {
            let Some((lane, ends)) = next_stored(offsets, next) else { break };
            let size = ends[1] - ends[0];
            (runs.starts[run], runs.sizes[run]) = (ends[0], if size > LONG { 0 } else { size });
            (*found, next) = ((lane, ends), lane + 1);
        }
        let (found, are_known) = fast(&runs);
        // A long run has the size 0 in `fast`, so `slow` computes its result.
        for (run, result) in results.iter_mut().enumerate() {
            let (lane, [start, end]) = lanes[run];
            let is_known = are_known[run] & (runs.sizes[run] > 0);
            *result = if is_known { found[run] } else { slow(lane, start..end)? };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::thread;

    fn check(lanes: &[usize], count: usize) {
        let mut starts = vec![0; count + 1];
        mark_starts(&mut starts, lanes.len(), |entry| lanes[entry]);
        let expected: Vec<usize> = (0..=count).map(|lane| lanes.partition_point(|&at| at < lane)).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn every_lane_starts_at_its_first_entry() {
        check(&[], 0);
        check(&[], 3);
        check(&[0, 0, 2, 2, 2, 5], 7);
        check(&[3], 4);
        let many: Vec<usize> = (0..200_000).map(|entry| entry / 7 * 3).collect();
        check(&many, 90_000);
        check(&vec![5; 200_000], 100_000);
        let few: Vec<usize> = (0..200_000).map(|entry| entry / 150_000).collect();
        check(&few, 2);
    }

    /// Tests that another thread is used only for many entries, not for many lanes after the last entry.
    #[test]
    fn few_starts_are_marked_on_this_thread() {
        let callers = Mutex::new(Vec::new());
        mark_starts(&mut [0; 5], 3, |entry| {
            callers.lock().unwrap().push(thread::current().id());
            entry
        });
        let here = thread::current().id();
        assert!(callers.into_inner().unwrap().iter().all(|&caller| caller == here));
    }

    #[test]
    fn every_entry_is_given_its_lane() {
        for counts in [vec![], vec![0, 0], vec![3, 0, 1], vec![0, 40, 0, 0, 17, 16, 15, 1], vec![7; 20_000]] {
            let ends = counts.iter().scan(0, |end, count: &usize| {
                *end += count;
                Some(*end)
            });
            let offsets: Vec<usize> = [0].into_iter().chain(ends).collect();
            let expected: Vec<usize> = (0..counts.len()).flat_map(|lane| vec![lane; counts[lane]]).collect();
            assert_eq!(spread(&offsets, 1, |lane| lane), Ok(expected.clone()));
            for start in (0..expected.len()).step_by(1 + expected.len() / 9) {
                let mut rest = vec![9; expected.len() - start];
                spread_range(&offsets, 1, start, &mut rest, |lane| lane);
                assert_eq!(rest, expected[start..]);
            }
            if counts.len().is_multiple_of(4) {
                let pairs: Vec<usize> = expected.iter().map(|lane| lane / 2).collect();
                assert_eq!(spread(&offsets, 2, |lane| lane), Ok(pairs));
            }
        }
    }

    #[test]
    fn kept_entries_are_counted_before_each_offset() {
        assert_eq!(offsets_among(&[], &[0, 0, 4]), Ok(vec![0, 0, 0]));
        assert_eq!(offsets_among(&[1, 2, 7], &[0, 2, 2, 8]), Ok(vec![0, 1, 1, 3]));
        let kept: Vec<usize> = (0..100_000).filter(|entry| entry % 3 == 0).collect();
        let offsets: Vec<usize> = (0..=50_000).map(|lane| 2 * lane).collect();
        let expected = offsets.iter().map(|offset| offset.div_ceil(3)).collect();
        assert_eq!(offsets_among(&kept, &offsets), Ok(expected));
    }

    /// Compares [`reduce_stored`] with a loop over all lanes. Each result is the sum of the indices of its entries.
    fn assert_reduced(counts: &[usize], width: usize) {
        let mut offsets = vec![0];
        counts.iter().for_each(|count| offsets.push(offsets[offsets.len() - 1] + count));
        let sum = |ends: &[usize]| (ends[0]..ends[1]).sum::<usize>();
        let start = offsets.clone();
        let reduce = |first: usize, offsets: &[usize], results: &mut [usize]| {
            assert_eq!(offsets[0], start[first]);
            let stored = offsets.windows(2).filter(|ends| ends[0] < ends[1]);
            assert_eq!(stored.clone().count(), results.len());
            results.iter_mut().zip(stored).for_each(|(result, ends)| *result = sum(ends));
            Ok::<(), AllocError>(())
        };
        let found = reduce_stored(&offsets, width, Width::U32, &reduce).unwrap();
        let stored = || (0..counts.len()).filter(|&lane| counts[lane] > 0);
        assert_eq!(found.columns.view::<u32>(), stored().map(|lane| (lane % width) as u32).collect::<Vec<_>>());
        assert_eq!(found.results, stored().map(|lane| sum(&offsets[lane..lane + 2])).collect::<Vec<_>>());
        let in_row = |row: &[usize]| row.iter().filter(|&&count| count > 0).count();
        let ends = counts.chunks(width).scan(0, |end, row| {
            *end += in_row(row);
            Some(*end)
        });
        assert_eq!(found.row_ends, ends.collect::<Vec<_>>());
    }

    #[test]
    fn stored_lanes_are_reduced_row_by_row() {
        assert_reduced(&[], 1);
        assert_reduced(&[0, 3, 0, 1], 4);
        assert_reduced(&[0, 3, 0, 1, 1, 0], 2);
        assert_reduced(&vec![0; 3000], 1000);
        let many: Vec<usize> = (0..150_000).map(|lane| lane * 7 % 5 / 2).collect();
        [1, 3, 50, 50_000, 150_000].into_iter().for_each(|width| assert_reduced(&many, width));
        let mut skewed = vec![0; 200_000];
        skewed[120_000] = 300_000;
        assert_reduced(&skewed, 200_000);
    }

    #[test]
    fn the_first_lane_that_fails_is_the_error() {
        let offsets: Vec<usize> = (0..=400_000).collect();
        let reduce = |_: usize, offsets: &[usize], _: &mut [u8]| match offsets[0] / 100_000 {
            0 => Ok(()),
            failed => Err(AllocError::of::<u8>(failed)),
        };
        let found = reduce_stored(&offsets, 400_000, Width::U32, &reduce);
        assert_eq!(found.map(|_| ()), Err(AllocError::of::<u8>(1)));
    }
}
