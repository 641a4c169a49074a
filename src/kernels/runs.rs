//! Logical or over the last axes of entries in row-major order: those of a cell stand side by side, in a *run*.
//!
//! Sixty-four entries at a time: their coordinates are compared with those of the entries after them, which marks the
//! last entry of each run, and the values between two marks are reduced in a word. A run may go on in the next block,
//! to which whether it is true so far is carried over.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::kernels::bits::{self, BITS, Truths, WORDS};
use crate::kernels::cells::StoredCells;
use crate::kernels::coords::{AxisCoords, CoordSlices};
use crate::kernels::packing::split_axes;

/// The coordinates of each run of `count` entries, and whether any of them is truthy; `coords` are those of the axes
/// that are kept.
pub(crate) fn any_of_runs(coords: &CoordSlices<'_>, count: usize, truths: &Truths<'_>) -> Allocated<StoredCells<bool>> {
    match coords {
        CoordSlices::U32(coords) => any_by_coords(coords, count, truths),
        CoordSlices::U64(coords) => any_by_coords(coords, count, truths),
    }
}

fn any_by_coords<I: Index>(coords: &[&[I]], count: usize, truths: &Truths<'_>) -> Allocated<StoredCells<bool>> {
    let part = |entries: Range<usize>| {
        let blocks = entries.start.div_ceil(BITS)..entries.end.div_ceil(BITS);
        Ok(Part { ends: mark_ends(coords, count, blocks.clone())?, start: blocks.start * BITS })
    };
    let parts = threads::map_parts(count, 500, 0, part).into_iter().collect::<Allocated<Few<_>>>()?;
    let slots: Few<usize> = parts
        .iter()
        .scan(0, |end, part| {
            *end += part.ends.iter().map(|ends| ends.count_ones() as usize).sum::<usize>();
            Some(*end)
        })
        .collect();
    let total = slots.last().copied().unwrap_or(0);
    let mut found = alloc::zeros(total)?;
    let mut kept: Vec<Vec<I>> = coords.iter().map(|_| alloc::zeros(total)).collect::<Allocated<_>>()?;
    let places = threads::split_at_ends(&mut found, &slots).into_iter().zip(split_axes(&mut kept, &slots));
    let shares = parts.iter().zip(places).collect();
    let fill = |(): &mut (), (part, (found, kept)): (&Part, _)| part.fill(coords, truths, found, kept);
    let left = threads::map_each(shares, count, || (), fill);
    carry_over(&mut found, &slots, &left);
    Ok(StoredCells { coords: kept.into_iter().map(AxisCoords::from).collect(), results: found })
}

/// A run that goes on in the next parts is true if it is so in any of them: `left` tells for each part whether what
/// lies behind the last end in it is true, `slots` where its truths end.
fn carry_over(truths: &mut [bool], slots: &[usize], left: &[bool]) {
    let mut carried = false;
    for (truths, &left) in threads::split_at_ends(truths, slots).into_iter().zip(left) {
        match truths.first_mut() {
            Some(first) => {
                *first |= carried;
                carried = left;
            }
            None => carried |= left,
        }
    }
}

/// Some of the entries, in blocks.
struct Part {
    start: usize,
    /// For each block, which entries are the last ones of a run.
    ends: Vec<u64>,
}

/// The last entries of runs, a word for each block; there are `count` entries in all.
fn mark_ends<I: Index>(coords: &[&[I]], count: usize, blocks: Range<usize>) -> Allocated<Vec<u64>> {
    let mut words = alloc::zeros(blocks.len())?;
    in_wide_vectors(
        #[inline(always)]
        || {
            for (word, block) in words.iter_mut().zip(blocks) {
                let start = block * BITS;
                for axis in coords {
                    *word |= bits::first_changes(&axis[start..]);
                }
                // The very last entry has none after it.
                if count - start <= BITS {
                    *word |= 1 << (count - start - 1);
                }
            }
        },
    );
    Ok(words)
}

impl Part {
    /// Writes for each run that ends here whether it is true, as far as it lies here, and its coordinates; gives back
    /// whether what lies behind the last end is true.
    ///
    /// All in one loop, not one for each array, which would look for the ends each time.
    fn fill<I: Index>(
        &self,
        coords: &[&[I]],
        truths: &Truths<'_>,
        found: &mut [bool],
        mut kept: Vec<&mut [I]>,
    ) -> bool {
        let (mut words, mut filled, mut is_true_so_far) = ([0; WORDS], 0, false);
        in_wide_vectors(
            #[inline(always)]
            || {
                for (ends, start) in self.ends.chunks(WORDS).zip((self.start..).step_by(WORDS * BITS)) {
                    truths(start, &mut words[..ends.len()]);
                    for ((&ends, &word), start) in ends.iter().zip(&words).zip((start..).step_by(BITS)) {
                        let slots = filled..filled + ends.count_ones() as usize;
                        let word = word | u64::from(is_true_so_far);
                        let of_runs = bits::any_of_runs(word, ends);
                        for (end, found) in bits::ones(ends).zip(&mut found[slots.clone()]) {
                            *found = of_runs >> end & 1 == 1;
                        }
                        for (axis, kept) in coords.iter().zip(&mut kept) {
                            for (end, coord) in bits::ones(ends).zip(&mut kept[slots.clone()]) {
                                *coord = axis[start + end];
                            }
                        }
                        filled = slots.end;
                        // What lies above the last end belongs to a run that goes on.
                        is_true_so_far =
                            word.checked_shr(u64::BITS - ends.leading_zeros()).is_some_and(|rest| rest != 0);
                    }
                }
            },
        );
        is_true_so_far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bits::truths_of;
    use crate::kernels::coords::slices;

    /// Runs of the given lengths, of which every third is true by one value, against chunks.
    fn check(lengths: &[usize], width: usize, truthy: impl Fn(usize, usize) -> bool) {
        let runs = || lengths.iter().enumerate();
        let rows: Vec<u32> = runs().flat_map(|(run, &length)| vec![(run / width) as u32; length]).collect();
        let columns: Vec<u32> = runs().flat_map(|(run, &length)| vec![(run % width) as u32; length]).collect();
        let values: Vec<f32> = runs()
            .flat_map(|(run, &length)| (0..length).map(move |at| (run, at)))
            .map(|(run, at)| f32::from(u8::from(truthy(run, at))))
            .collect();
        let coords = [rows, columns].map(AxisCoords::from);
        let found = any_of_runs(&slices(&coords), values.len(), &truths_of(&values)).unwrap();
        let StoredCells { coords: found, results: truths } = found;
        let stored: Vec<usize> = runs().filter(|(_, length)| **length > 0).map(|(run, _)| run).collect();
        assert_eq!(found[0].view::<u32>(), stored.iter().map(|run| (run / width) as u32).collect::<Vec<_>>());
        assert_eq!(found[1].view::<u32>(), stored.iter().map(|run| (run % width) as u32).collect::<Vec<_>>());
        let expected: Vec<bool> = stored.iter().map(|&run| (0..lengths[run]).any(|at| truthy(run, at))).collect();
        assert_eq!(truths, expected);
    }

    fn check_all_lengths() {
        for lengths in [
            vec![],
            vec![1],
            vec![63],
            vec![64],
            vec![65],
            vec![64, 64],
            vec![63, 1, 64, 1],
            vec![1; 200],
            vec![300, 1, 0, 40, 24, 128, 5],
            vec![10; 20_000],
            vec![1_000, 150_000, 3, 100_000],
            vec![400_000],
        ] {
            check(&lengths, 7, |_, _| false);
            check(&lengths, 1000, |run, at| run % 3 == 0 && at == 0);
            check(&lengths, 3, |run, at| run % 3 == 1 && at + 1 == lengths[run]);
            check(&lengths, 2, |run, at| (run + at * 31) % 97 == 5);
        }
    }

    #[test]
    fn runs_of_all_lengths_are_reduced() {
        check_all_lengths();
    }

    #[test]
    fn a_true_rest_is_carried_to_the_next_end_and_no_further() {
        let mut truths = [false; 4];
        carry_over(&mut truths, &[1, 1, 2, 4], &[true, false, false, true]);
        assert_eq!(truths, [false, true, false, false]);
    }

    /// A run of 400 000 entries spans whole parts of eight, in which nothing ends.
    #[cfg(feature = "rayon")]
    #[test]
    fn runs_that_span_the_parts_of_many_threads_are_reduced() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        pool.install(check_all_lengths);
    }
}
