//! Between the offsets of lanes and the lane of each entry.

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::threads;

/// Writes where the entries of each lane start into `starts`, which are zeros and one more than there are lanes.
///
/// `lane` says the lane of an entry; it does not decrease over the `count` entries. The entries are shared out, and
/// with them the lanes: each thread writes those that start among its entries.
pub(crate) fn mark_starts(starts: &mut [usize], count: usize, lane: impl Fn(usize) -> usize + Sync + Send) {
    let parts = threads::map_parts(count, 0, |entries| entries);
    let after = |end: usize| if end == 0 { 0 } else { lane(end - 1) + 1 };
    let mut ends: Vec<usize> = parts.iter().map(|entries| after(entries.end)).collect();
    ends.push(starts.len());
    threads::map_slices(starts, &ends, |part, starts| {
        let base = if part == 0 { 0 } else { ends[part - 1] };
        // Behind the last entry all lanes start where the entries end.
        let Some(entries) = parts.get(part).cloned() else { return starts.fill(count) };
        // Backwards the first entry of a lane is the last one written: nothing is compared. What is written is one
        // more, to be told from the zero of a lane without entries, which starts where the lane behind it does.
        for entry in entries.clone().rev() {
            // A lane that started among the entries of the part before is its own.
            let Some(start) = lane(entry).checked_sub(base).and_then(|lane| starts.get_mut(lane)) else { break };
            *start = entry + 1;
        }
        starts.iter_mut().rev().fold(entries.end + 1, |next, start| {
            let found = if *start == 0 { next } else { *start };
            *start = found - 1;
            found
        });
    });
}

/// So many slots are written at once, whether the lane has as many entries or not: what is too much is written over.
const SHORT: usize = 16;

/// `of` the lane of each entry, where `stride` lanes count as one.
pub(crate) fn spread<T: Copy + Zeroable + Send>(
    offsets: &[usize],
    stride: usize,
    of: impl Fn(usize) -> T + Sync + Send,
) -> Allocated<Vec<T>> {
    let count = offsets.last().copied().unwrap_or(0);
    threads::filled(count, |range, slots| spread_range(offsets, stride, range.start, slots, &of))
}

/// [`spread`] over the entries from `start` on.
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
    let mut lane = (offsets.partition_point(|&offset| offset <= start) - 1) / stride;
    let mut done = 0;
    while done < slots.len() {
        let end = slots.len().min(offsets[(lane + 1) * stride] - start);
        fill_first(&mut slots[done..], end - done, of(lane));
        (done, lane) = (end, lane + 1);
    }
}

/// Fills the first `count` slots, and maybe some behind them.
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

/// Turns the number of entries of each lane, behind a zero, into the offsets of the lanes.
pub(crate) fn accumulate(counts: &mut [usize]) {
    let mut total = 0;
    for count in counts {
        total += *count;
        *count = total;
    }
}

/// How many lanes store an entry.
pub(crate) fn count_stored(offsets: &[usize]) -> usize {
    offsets.windows(2).filter(|ends| ends[0] < ends[1]).count()
}

/// The lanes that store an entry, each by its number among the `width` of a row.
pub(crate) fn stored_lanes<I: Index>(offsets: &[usize], width: usize) -> Allocated<Vec<I>> {
    let mut stored = alloc::zeros(count_stored(offsets))?;
    let (mut at, mut lane) = (0, 0);
    for ends in offsets.windows(2) {
        // Written for each lane, kept for those that store: no branch to predict.
        if let Some(slot) = stored.get_mut(at) {
            *slot = I::from_usize(lane);
        }
        at += usize::from(ends[0] < ends[1]);
        // Counted, not divided: a division for each lane would take longer than all else.
        lane = if lane + 1 == width { 0 } else { lane + 1 };
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let stored: Vec<u32> =
                (0..counts.len()).filter(|&lane| counts[lane] > 0).map(|lane| lane as u32 % 3).collect();
            assert_eq!(stored_lanes::<u32>(&offsets, 3), Ok(stored));
        }
    }
}
