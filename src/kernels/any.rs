//! Fast paths of logical or over slices and lanes.

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::bits::{self, BITS};

/// Returns whether any of `values` is nonzero or NaN. Stops at the first nonzero value.
pub(crate) fn any_of<T: Element>(mut values: impl Iterator<Item = T>) -> bool {
    values.any(T::is_truthy)
}

/// Returns [`any_of`] a slice. Tests blocks without a branch per value.
pub(crate) fn any_of_slice<T: Element>(values: &[T]) -> bool {
    const BATCH: usize = 256;
    let any = |block: &[T]| {
        // The loop does not exit early, so it compiles to SIMD; the caller stops between blocks.
        in_wide_vectors(
            #[inline(always)]
            || block.iter().fold(false, |any, value| any | value.is_truthy()),
        )
    };
    threads::any_chunk(values, 25 * size_of::<T>(), |chunk| chunk.chunks(BATCH).any(any))
}

/// The number of lanes processed together.
const LANES: usize = 64;
/// The largest number of values in a block of lanes for which all values are tested.
///
/// In larger blocks, each lane is read up to its first nonzero value. With about ten values per lane, the branch at
/// this value would often be mispredicted.
const TESTED: usize = 64 * LANES;
/// The maximum number of undecided lanes that are read further one by one.
///
/// Most stored values are nonzero, so the first value decides most lanes.
const MAX_UNDECIDED: usize = LANES / 8;

/// Writes for each lane with a stored entry whether any value is nonzero.
pub(crate) fn any_of_lanes<T: Element>(offsets: &[usize], values: &[T], truths: &mut [bool]) {
    let mut filled = 0;
    in_wide_vectors(
        #[inline(always)]
        || {
            for first in (0..offsets.len() - 1).step_by(LANES) {
                let offsets = &offsets[first..offsets.len().min(first + LANES + 1)];
                let stored = bits::first_changes(offsets);
                // Invariant: `truths[..filled]` holds the results of all stored lanes before `first`.
                let truths = &mut truths[filled..][..stored.count_ones() as usize];
                filled += truths.len();
                let undecided = begin_truthy(offsets, stored, values, truths);
                // If many lanes are undecided, testing all values of the block costs less than mispredicted branches.
                if undecided > MAX_UNDECIDED && offsets[offsets.len() - 1] - offsets[0] <= TESTED {
                    any_of_block(offsets, stored, values, truths);
                } else if undecided > 0 {
                    any_of_each(offsets, stored, values, truths);
                }
            }
        },
    );
}

/// Writes whether the first value of each lane in `stored` is nonzero. Returns the number of lanes that need more
/// values.
#[inline(always)]
fn begin_truthy<T: Element>(offsets: &[usize], stored: u64, values: &[T], truths: &mut [bool]) -> usize {
    let mut undecided = 0;
    for (truth, lane) in truths.iter_mut().zip(bits::ones(stored)) {
        // Each bit of `stored` is a lane with an entry, so `offsets[lane]` is the index of a value.
        *truth = values[offsets[lane]].is_truthy();
        undecided += usize::from(!*truth & (offsets[lane + 1] - offsets[lane] > 1));
    }
    undecided
}

/// Completes `truths` for the lanes whose first value is zero.
fn any_of_each<T: Element>(offsets: &[usize], stored: u64, values: &[T], truths: &mut [bool]) {
    for (truth, lane) in truths.iter_mut().zip(bits::ones(stored)) {
        *truth = *truth || any_of(values[offsets[lane]..offsets[lane + 1]].iter().copied());
    }
}

/// [`any_of_each`] by one bit per value, without a branch.
#[inline(always)]
fn any_of_block<T: Element>(offsets: &[usize], stored: u64, values: &[T], truths: &mut [bool]) {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    // The lanes have at most `TESTED` values. The last word stays 0, so `words[word + 1]` always exists.
    let mut words = [0; TESTED / BITS + 1];
    let starts = (first..last).step_by(BITS);
    words.iter_mut().zip(starts).for_each(|(word, start)| *word = bits::truths(&values[start..]));
    for (truth, lane) in truths.iter_mut().zip(bits::ones(stored)) {
        let (start, end) = (offsets[lane], offsets[lane + 1]);
        let (word, bit, length) = ((start - first) / BITS, (start - first) % BITS, end - start);
        // The bits of a lane may cross two words. For `bit == 0` the two shifts discard the second word.
        *truth = match length < BITS {
            true => (words[word] >> bit | words[word + 1] << 1 << (BITS - 1 - bit)) & ((1 << length) - 1) != 0,
            false => any_of(values[start..end].iter().copied()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lengths: impl Iterator<Item = usize>) {
        let mut offsets = vec![0];
        lengths.for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let count = offsets[offsets.len() - 1];
        for rare in [1, 2, 5, 70, 1_000_000_007] {
            // Some lanes have a nonzero first or last value.
            let mut values: Vec<f32> =
                (0..count).map(|entry| if entry % rare == rare / 2 { 1.0 } else { -0.0 }).collect();
            offsets
                .iter()
                .step_by(7)
                .for_each(|&start| values.get_mut(start).into_iter().for_each(|value| *value = 2.0));
            offsets[1..]
                .iter()
                .step_by(11)
                .for_each(|&end| values[..end].last_mut().into_iter().for_each(|value| *value = 2.0));
            let lanes = offsets.windows(2).filter(|ends| ends[0] < ends[1]);
            let expected: Vec<bool> =
                lanes.map(|ends| values[ends[0]..ends[1]].iter().any(|&value| value != 0.0)).collect();
            let mut truths = vec![false; expected.len()];
            any_of_lanes(&offsets, &values, &mut truths);
            assert_eq!(truths, expected);
        }
    }

    /// Tests numbers of lanes that begin with a zero, up to one more than the threshold. All other lanes are empty.
    #[test]
    fn lanes_that_begin_with_zeros_are_looked_at_to_their_end() {
        for undecided in [0, 1, MAX_UNDECIDED - 1, MAX_UNDECIDED, MAX_UNDECIDED + 1, LANES] {
            for length in [1, 2, 10, 200] {
                let lane = |lane: usize| match lane % 3 {
                    0 => vec![],
                    1 => vec![0.0; length],
                    _ => [vec![0.0; length - 1], vec![1.0]].concat(),
                };
                let full = [vec![3.0; length], vec![1.0]].concat();
                let lanes: Vec<Vec<f64>> =
                    (0..3 * LANES).map(|at| if at % LANES < undecided { lane(at) } else { full.clone() }).collect();
                let ends = lanes.iter().scan(0, |end, lane| {
                    *end += lane.len();
                    Some(*end)
                });
                let offsets: Vec<usize> = [0].into_iter().chain(ends).collect();
                let expected: Vec<bool> = lanes
                    .iter()
                    .filter(|lane| !lane.is_empty())
                    .map(|lane| lane.iter().any(|&value| value != 0.0))
                    .collect();
                let mut truths = vec![false; expected.len()];
                any_of_lanes(&offsets, &lanes.concat(), &mut truths);
                assert_eq!(truths, expected, "{undecided} {length}");
            }
        }
    }

    #[test]
    fn lanes_of_all_lengths_are_tested_alike() {
        check([].into_iter());
        check([0, 0, 3, 0, 1].into_iter());
        check((0..1000).map(|lane| lane * 7 % 13));
        check((0..200).map(|lane| 62 + lane % 5));
        check((0..150).map(|lane| if lane == 70 { 5000 } else { lane % 3 }));
        check((0..50_000).map(|lane| lane % 9));
        check([0, 200_000, 0, 3].into_iter());
        (LANES - 2..=LANES + 2).for_each(|lanes| check((0..lanes).map(|lane| lane % 3)));
    }
}
