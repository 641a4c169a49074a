//! Logical or over the last axes of sorted entries: entries of one output element form a *run*.
//!
//! Entries are processed in blocks of 64. A comparison of each entry with the next entry marks the last entry of each
//! run. The truth values between two marks are reduced within a word. A run may continue in the next block, so its
//! truth value so far is carried over.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::kernels::bits::{self, BITS, NonzeroBits, WORDS};
use crate::kernels::coords::{AxisCoords, CoordSlices};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::packing::split_axes;

/// Returns the coordinates of each run of `count` entries, and whether any entry of the run is nonzero.
///
/// `coords` are the coordinates on the kept axes.
pub(crate) fn any_of_runs(
    coords: &CoordSlices<'_>,
    count: usize,
    truths: &dyn NonzeroBits,
) -> Allocated<StoredOutputs<bool>> {
    match coords {
        CoordSlices::U32(coords) => any_by_coords(coords, count, truths),
        CoordSlices::U64(coords) => any_by_coords(coords, count, truths),
    }
}

fn any_by_coords<I: Index>(coords: &[&[I]], count: usize, truths: &dyn NonzeroBits) -> Allocated<StoredOutputs<bool>> {
    let part = |entries: Range<usize>| {
        // Parts start at block boundaries, so each block belongs to exactly one part.
        let blocks = entries.start.div_ceil(BITS)..entries.end.div_ceil(BITS);
        Ok(EntryRange { ends: mark_ends(coords, count, blocks.clone())?, start: blocks.start * BITS })
    };
    let parts = threads::map_parts(count, 500, 0, part).into_iter().collect::<Allocated<Few<_>>>()?;
    // Slots are assigned by the number of runs that end in each part.
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
    let fill = |(): &mut (), (part, (found, kept)): (&EntryRange, _)| part.fill(coords, truths, found, kept);
    let left = threads::map_each(shares, count, || (), fill);
    carry_over(&mut found, &slots, &left);
    Ok(StoredOutputs { coords: kept.into_iter().map(AxisCoords::from).collect(), results: found })
}

/// Combines the truth values of runs that continue in later parts.
///
/// `left` holds, per part, the truth value of the entries after its last run end. `slots` holds the end of each part.
fn carry_over(truths: &mut [bool], slots: &[usize], left: &[bool]) {
    // Invariant: `carried` is the truth value so far of the run that is open at the start of the part.
    let mut carried = false;
    for (truths, &left) in threads::split_at_ends(truths, slots).into_iter().zip(left) {
        match truths.first_mut() {
            Some(first) => {
                *first |= carried;
                carried = left;
            }
            // No run ends in this part, so the open run continues.
            None => carried |= left,
        }
    }
}

/// A range of entries, in blocks.
struct EntryRange {
    start: usize,
    /// One word per block: the bits of entries that are the last of a run.
    ends: Vec<u64>,
}

/// Returns the marks of the last entries of runs, one word per block; there are `count` entries in all.
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
                // The last of all entries does not have a next entry, so its mark is set separately.
                if count - start <= BITS {
                    *word |= 1 << (count - start - 1);
                }
            }
        },
    );
    Ok(words)
}

impl EntryRange {
    /// Writes the truth value and the coordinates of each run that ends in this part.
    ///
    /// The truth value covers only the entries of this part. Returns the truth value of the entries after the last run
    /// end. All arrays are written in one loop, so that the run ends are searched only once.
    fn fill<I: Index>(
        &self,
        coords: &[&[I]],
        truths: &dyn NonzeroBits,
        found: &mut [bool],
        mut kept: Vec<&mut [I]>,
    ) -> bool {
        let (mut words, mut filled, mut is_true_so_far) = ([0; WORDS], 0, false);
        in_wide_vectors(
            #[inline(always)]
            || {
                for (ends, start) in self.ends.chunks(WORDS).zip((self.start..).step_by(WORDS * BITS)) {
                    truths.words(start, &mut words[..ends.len()]);
                    for ((&ends, &word), start) in ends.iter().zip(&words).zip((start..).step_by(BITS)) {
                        // Runs end in order, so their slots follow each other.
                        let slots = filled..filled + ends.count_ones() as usize;
                        // The lowest bit belongs to the open run; setting it adds the truth value carried over.
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
                        // Bits above the last run end belong to a run that continues in the next block.
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
    use crate::kernels::bits::NonzeroBitsOf;
    use crate::kernels::coords::slices;

    /// Checks runs of the given lengths. Every third run has one nonzero value.
    fn check(lengths: &[usize], width: usize, truthy: impl Fn(usize, usize) -> bool) {
        let runs = || lengths.iter().enumerate();
        let rows: Vec<u32> = runs().flat_map(|(run, &length)| vec![(run / width) as u32; length]).collect();
        let columns: Vec<u32> = runs().flat_map(|(run, &length)| vec![(run % width) as u32; length]).collect();
        let values: Vec<f32> = runs()
            .flat_map(|(run, &length)| (0..length).map(move |at| (run, at)))
            .map(|(run, at)| f32::from(u8::from(truthy(run, at))))
            .collect();
        let coords = [rows, columns].map(AxisCoords::from);
        let found = any_of_runs(&slices(&coords), values.len(), &NonzeroBitsOf(&values)).unwrap();
        let StoredOutputs { coords: found, results: truths } = found;
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

    /// A run of 400 000 entries spans entire parts of eight threads, in which no run ends.
    #[cfg(feature = "rayon")]
    #[test]
    fn runs_that_span_the_parts_of_many_threads_are_reduced() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        pool.install(check_all_lengths);
    }
}
