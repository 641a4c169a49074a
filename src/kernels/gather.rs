//! Gathers items at positions, one by one or in runs, and lists the positions that pass a test.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Element, RawSlice, RawVec, by_raw};

/// Items that are moved without being read: values and coordinates.
pub(crate) trait Plain: Copy + Zeroable + Send + Sync {}
impl<T: Copy + Zeroable + Send + Sync> Plain for T {}

/// Returns the items in the given order.
pub(crate) fn gather<T: Plain>(items: &[T], order: &[usize]) -> Allocated<Vec<T>> {
    threads::map(order, 1500, |entry| items[entry])
}

/// Returns the values in the given order. Values are moved as bits by code that is compiled once per width.
pub(crate) fn gather_values<T: Element>(values: &[T], order: &[usize]) -> Allocated<Vec<T>> {
    gather_raw(T::raw(values), order).map(T::from_raw)
}

fn gather_raw(values: RawSlice<'_>, order: &[usize]) -> Allocated<RawVec> {
    by_raw!(values, own => gather(own, order).map(RawVec::from))
}

/// Returns the items of runs, one run after the other.
///
/// `starts` has the start of each run among `items`. `ends` has the start of each run in the result, and the end of the
/// last run.
pub(crate) fn gather_runs<T: Plain>(items: &[T], starts: &[usize], ends: &[usize]) -> Allocated<Vec<T>> {
    map_runs(ends, |run| (&items[starts[run]..], |item| item))
}

/// Returns the mapped items of runs, one run after the other.
///
/// `run` returns the items from the start of a run on, and the function for its items. `ends` has the start of each run
/// in the result, and the end of the last run.
pub(crate) fn map_runs<'a, T: Plain + 'a, F: Fn(T) -> T>(
    ends: &[usize],
    run: impl Fn(usize) -> (&'a [T], F) + Sync,
) -> Allocated<Vec<T>> {
    let (runs, count) = (ends.len().saturating_sub(1), ends.last().copied().unwrap_or(0));
    let mut gathered = alloc::zeros(count)?;
    // Threads split the items, not the runs: one run may be longer than all other runs together.
    let part_ends = threads::map_parts(count, 300 + runs.saturating_mul(2000) / count.max(1), 0, |part| part.end);
    threads::map_slices(&mut gathered, &part_ends, |part, mut slots| {
        let mut at = part_ends[part] - slots.len();
        // `number` is the last run that starts at or before `at`, so item `at` belongs to this run.
        let mut number = ends.partition_point(|&end| end <= at).saturating_sub(1);
        in_wide_vectors(
            #[inline(always)]
            || {
                while !slots.is_empty() {
                    // Invariant: `slots` starts at item `at`, and all runs before `number` are written.
                    let length = slots.len().min(ends[number + 1] - at);
                    let (items, of) = run(number);
                    copy(slots, &items[at - ends[number]..], length, of);
                    slots = &mut std::mem::take(&mut slots)[length..];
                    (at, number) = (at + length, number + 1);
                }
            },
        );
    });
    Ok(gathered)
}

/// The number of items moved at once, for runs of any length. Items beyond the run are overwritten later.
const SHORT: usize = 16;

/// The longest run copied in chunks of `SHORT`. Longer runs use a plain loop, which becomes a `memcpy` call if the
/// items do not change.
const LONG: usize = 512;

/// Moves the first `length` items, and possibly some items after them.
#[inline(always)]
fn copy<T: Copy>(slots: &mut [T], items: &[T], length: usize, of: impl Fn(T) -> T) {
    if length > LONG {
        slots[..length].iter_mut().zip(items).for_each(|(slot, &item)| *slot = of(item));
        return;
    }
    // Invariant: `done` is a multiple of `SHORT`, and the first `done` slots are written.
    let mut done = 0;
    while let (Some(first), Some(wide)) =
        (slots[done..].first_chunk_mut::<SHORT>(), items[done..].first_chunk::<SHORT>())
    {
        *first = wide.map(&of);
        done += SHORT;
        if done >= length {
            return;
        }
    }
    // Near the end of the slots or items, fewer than `SHORT` items remain and are copied one by one.
    slots[done..length].iter_mut().zip(&items[done..length]).for_each(|(slot, &item)| *slot = of(item));
}

/// The number of indices marked together.
const BLOCK: usize = 512;

/// Returns the numbers below `count` that stay marked. `mark` receives the range of a block, with all marks set.
pub(crate) fn marked(count: usize, mark: impl Fn(Range<usize>, &mut [bool]) + Sync + Send) -> Allocated<Vec<usize>> {
    marked_before(count, 0, mark)
}

/// Returns the [`marked`] numbers, followed by `zeros` zeros.
///
/// The numbers are counted before they are listed, so the list has the exact length.
pub(crate) fn marked_before(
    count: usize,
    zeros: usize,
    mark: impl Fn(Range<usize>, &mut [bool]) + Sync + Send,
) -> Allocated<Vec<usize>> {
    let blocks = |part: Range<usize>, visit: &mut dyn FnMut(usize, &[bool])| {
        let mut marks = [true; BLOCK];
        for start in part.clone().step_by(BLOCK) {
            let marks = &mut marks[..BLOCK.min(part.end - start)];
            marks.fill(true);
            mark(start..start + marks.len(), marks);
            visit(start, marks);
        }
    };
    // First pass: each part counts its marks. The second pass calls `mark` with the same ranges.
    let parts = threads::map_parts(count, 2000, 0, |part| {
        let mut found = 0;
        blocks(part.clone(), &mut |_, marks| found += marks.iter().map(|&mark| usize::from(mark)).sum::<usize>());
        (part, found)
    });
    let mut total = 0;
    let add = |(_, found): &(Range<usize>, usize)| {
        total += found;
        total
    };
    let ends: Vec<usize> = parts.iter().map(add).collect();
    let mut numbers = alloc::zeros(total + zeros)?;
    // The ends do not include the added zeros, so the tail stays zero.
    threads::map_slices(&mut numbers, &ends, |part, slots| {
        let mut listed = 0;
        blocks(parts[part].0.clone(), &mut |start, marks| listed += list(start, marks, &mut slots[listed..]));
    });
    Ok(numbers)
}

/// Writes the marked numbers from `start` on, and returns their count.
fn list(start: usize, marks: &[bool], slots: &mut [usize]) -> usize {
    let mut found = 0;
    // Each number is written and kept only if marked. A branch on random marks would be mispredicted.
    for (at, &mark) in marks.iter().enumerate() {
        if let Some(slot) = slots.get_mut(found) {
            *slot = start + at;
        }
        found += usize::from(mark);
    }
    found
}

/// The positions `first, first + step, …` below `end`, and the index of a coordinate among them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepPositions {
    first: usize,
    end: usize,
    /// The inverse of the odd part of the step modulo 2^64, its factors of two, and the largest quotient.
    ///
    /// A product and a rotation test whether a distance is a multiple of the step. A division would take ten times as
    /// long.
    inverse: u64,
    twos: u32,
    max_quotient: u64,
}

impl StepPositions {
    pub(crate) fn new(first: usize, end: usize, step: usize) -> Self {
        let twos = step.trailing_zeros();
        let odd = (step >> twos) as u64;
        // Each Newton iteration doubles the number of correct bits. An odd number is its own inverse modulo 8, so 5
        // iterations turn 3 correct bits into 96.
        let inverse = (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
        StepPositions { first, end, inverse, twos, max_quotient: u64::MAX / step as u64 }
    }

    /// Returns the distance from `first` divided by the step. If the distance is not a multiple of the step, the result
    /// is greater than `max_quotient`.
    fn quotient(&self, coord: usize) -> u64 {
        (coord.wrapping_sub(self.first) as u64).wrapping_mul(self.inverse).rotate_right(self.twos)
    }

    /// Returns the index of a coordinate among the positions. The coordinate must be one of the positions.
    pub(crate) fn place(&self, coord: usize) -> usize {
        self.quotient(coord) as usize
    }

    /// Clears the marks of coordinates that are not among the positions.
    pub(crate) fn mark<I: Index>(&self, coords: &[I], marks: &mut [bool]) {
        let StepPositions { first, end, .. } = *self;
        // `max_quotient` is `u64::MAX` only for step 1. For step 1 the range test is enough.
        if self.max_quotient == u64::MAX {
            let inside = |coord: usize| (first <= coord) & (coord < end);
            marks.iter_mut().zip(coords).for_each(|(mark, coord)| *mark &= inside(coord.to_usize()));
            return;
        }
        // The distance of a coordinate before `first` wraps around. The range test rejects this coordinate for any
        // quotient.
        let inside = |coord: usize| (first <= coord) & (coord < end) & (self.quotient(coord) <= self.max_quotient);
        marks.iter_mut().zip(coords).for_each(|(mark, coord)| *mark &= inside(coord.to_usize()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_tell_their_positions_from_all_others() {
        for step in (1..40).chain([64, 96, 1 << 20, (1 << 20) + 7, usize::MAX / 3]) {
            for first in [0, 1, 5, 1 << 21] {
                let steps = StepPositions::new(first, 1 << 22, step);
                let coords: Vec<u64> = (0..200).chain([first as u64 + step as u64 * 3 % (1 << 20), 1 << 22]).collect();
                let mut marks = vec![true; coords.len()];
                steps.mark(&coords, &mut marks);
                for (&coord, mark) in coords.iter().zip(marks) {
                    let coord = coord as usize;
                    assert_eq!(mark, coord >= first && coord < 1 << 22 && (coord - first).is_multiple_of(step));
                    assert!(!mark || steps.place(coord) == (coord - first) / step);
                }
            }
        }
    }

    #[test]
    fn marked_numbers_are_listed_in_order() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 300_000] {
            let odd = |range: Range<usize>, marks: &mut [bool]| {
                range.zip(marks).for_each(|(number, mark)| *mark &= number % 2 == 1);
            };
            assert_eq!(marked(count, odd), Ok((0..count).filter(|number| number % 2 == 1).collect()));
        }
    }

    #[test]
    fn runs_are_gathered_one_after_the_other() {
        let items: Vec<u32> = (0..700).collect();
        assert_eq!(gather_runs(&items, &[7, 0, 50], &[0, 2, 2, 5]), Ok(vec![7, 8, 50, 51, 52]));
        assert_eq!(gather_runs(&items, &[], &[0]), Ok(vec![]));
        for length in (0..90).chain([LONG - 1, LONG, LONG + 1, 697]) {
            let expected = [items[3..3 + length].to_vec(), items[..2].to_vec()].concat();
            assert_eq!(gather_runs(&items, &[3, 0], &[0, length, length + 2]), Ok(expected));
        }
        // Several threads split each of the two runs.
        let items: Vec<u64> = (0..300_000).collect();
        let expected = [&items[5..], &items[..200_000]].concat();
        assert_eq!(gather_runs(&items, &[5, 0], &[0, 299_995, 499_995]), Ok(expected));
        let items: Vec<u32> = (0..700).collect();
        let starts: Vec<usize> = (0..100_000).map(|run| run * 7 % 90).collect();
        let ends: Vec<usize> = (0..=100_000).map(|run| run * 3).collect();
        let expected = starts.iter().flat_map(|&start| items[start..start + 3].to_vec()).collect();
        assert_eq!(gather_runs(&items, &starts, &ends), Ok(expected));
    }
}
