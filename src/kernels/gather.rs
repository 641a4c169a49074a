//! Items at places that come one by one or in runs, and the places that pass a test.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Element, RawSlice, RawVec, by_raw};

/// What is moved without being looked at: values and coordinates alike.
pub trait Plain: Copy + Zeroable + Send + Sync {}
impl<T: Copy + Zeroable + Send + Sync> Plain for T {}

/// The items in the order given.
pub(crate) fn gather<T: Plain>(items: &[T], order: &[usize]) -> Allocated<Vec<T>> {
    threads::map(order, 1500, |entry| items[entry])
}

/// The values in the order given. Values are moved as bits, which is compiled once for each width.
pub(crate) fn gather_values<T: Element>(values: &[T], order: &[usize]) -> Allocated<Vec<T>> {
    gather_raw(T::raw(values), order).map(T::from_raw)
}

fn gather_raw(values: RawSlice<'_>, order: &[usize]) -> Allocated<RawVec> {
    by_raw!(values, own => gather(own, order).map(RawVec::from))
}

/// The items of runs, one run after the other: where each starts among `items`, and, one more, where each begins among
/// what is gathered and the last one ends.
pub(crate) fn gather_runs<T: Plain>(items: &[T], starts: &[usize], ends: &[usize]) -> Allocated<Vec<T>> {
    map_runs(ends, |run| (&items[starts[run]..], |item| item))
}

/// What becomes of the items of runs: `run` gives the items from the start of one on, and what each of them becomes;
/// `ends` has where each begins among what is gathered, and the last one ends.
pub(crate) fn map_runs<'a, T: Plain + 'a, F: Fn(T) -> T>(
    ends: &[usize],
    run: impl Fn(usize) -> (&'a [T], F) + Sync,
) -> Allocated<Vec<T>> {
    let (runs, count) = (ends.len().saturating_sub(1), ends.last().copied().unwrap_or(0));
    let mut gathered = alloc::zeros(count)?;
    // Shared out by items: a run may be longer than all others together.
    let part_ends = threads::map_parts(count, 300 + runs.saturating_mul(2000) / count.max(1), 0, |part| part.end);
    threads::map_slices(&mut gathered, &part_ends, |part, mut slots| {
        let mut at = part_ends[part] - slots.len();
        let mut number = ends.partition_point(|&end| end <= at).saturating_sub(1);
        in_wide_vectors(
            #[inline(always)]
            || {
                while !slots.is_empty() {
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

/// So many items are moved at once, whether a run has as many or not: what is too much is written over.
const SHORT: usize = 16;

/// Longer runs are worth a plain loop, which is a call where items stay as they are.
const LONG: usize = 512;

/// Moves the first `length` items, and maybe some behind them.
#[inline(always)]
fn copy<T: Copy>(slots: &mut [T], items: &[T], length: usize, of: impl Fn(T) -> T) {
    if length > LONG {
        slots[..length].iter_mut().zip(items).for_each(|(slot, &item)| *slot = of(item));
        return;
    }
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
    slots[done..length].iter_mut().zip(&items[done..length]).for_each(|(slot, &item)| *slot = of(item));
}

/// The numbers that are looked at together.
const BLOCK: usize = 512;

/// The numbers below `count` that `mark` leaves marked; it is given the range of a block, with every mark set.
pub(crate) fn marked(count: usize, mark: impl Fn(Range<usize>, &mut [bool]) + Sync + Send) -> Allocated<Vec<usize>> {
    marked_before(count, 0, mark)
}

/// [`marked`] numbers, and so many zeros behind them.
///
/// They are counted before they are listed, so the list is as long as it has to be.
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
    threads::map_slices(&mut numbers, &ends, |part, slots| {
        let mut listed = 0;
        blocks(parts[part].0.clone(), &mut |start, marks| listed += list(start, marks, &mut slots[listed..]));
    });
    Ok(numbers)
}

/// Writes the numbers from `start` on that are marked; how many they are.
fn list(start: usize, marks: &[bool], slots: &mut [usize]) -> usize {
    let mut found = 0;
    // Written each time and kept where marked: as good as random, a branch would be mispredicted.
    for (at, &mark) in marks.iter().enumerate() {
        if let Some(slot) = slots.get_mut(found) {
            *slot = start + at;
        }
        found += usize::from(mark);
    }
    found
}

/// The positions `first, first + step, …` below `end`, and where a coordinate stands among them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    first: usize,
    end: usize,
    /// The inverse of the odd part of the step among the 64-bit numbers, the twos in it, and the greatest quotient: a
    /// product and a rotation tell a multiple, and a division would take ten times as long.
    inverse: u64,
    twos: u32,
    most: u64,
}

impl Steps {
    pub(crate) fn new(first: usize, end: usize, step: usize) -> Self {
        let twos = step.trailing_zeros();
        let odd = (step >> twos) as u64;
        // Each round of Newton's doubles the bits that are right, of which three are from the start.
        let inverse = (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Steps { first, end, inverse, twos, most: u64::MAX / step as u64 }
    }

    /// The quotient, if the coordinate is one of the positions.
    fn quotient(&self, coord: usize) -> u64 {
        (coord.wrapping_sub(self.first) as u64).wrapping_mul(self.inverse).rotate_right(self.twos)
    }

    /// Which of the positions the coordinate is; it is known to be one.
    pub(crate) fn place(&self, coord: usize) -> usize {
        self.quotient(coord) as usize
    }

    /// Takes the mark from coordinates that are none of the positions.
    pub(crate) fn mark<I: Index>(&self, coords: &[I], marks: &mut [bool]) {
        let Steps { first, end, .. } = *self;
        if self.most == u64::MAX {
            let inside = |coord: usize| (first <= coord) & (coord < end);
            marks.iter_mut().zip(coords).for_each(|(mark, coord)| *mark &= inside(coord.to_usize()));
            return;
        }
        let inside = |coord: usize| (first <= coord) & (coord < end) & (self.quotient(coord) <= self.most);
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
                let steps = Steps::new(first, 1 << 22, step);
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
        // Two runs, each of which several threads share.
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
