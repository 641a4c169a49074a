//! Logical or of slices and of lanes: the fast ways.

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::bits::{self, BITS};

/// Whether any of `values` is truthy: leaves at the first one that is.
pub(crate) fn any_of<T: Element>(mut values: impl Iterator<Item = T>) -> bool {
    values.any(T::is_truthy)
}

/// [`any_of`] a slice, of which so many are tested before the outcome is looked at: without a branch on each.
pub(crate) fn any_of_slice<T: Element>(values: &[T]) -> bool {
    const TOGETHER: usize = 256;
    let any = |block: &[T]| {
        in_wide_vectors(
            #[inline(always)]
            || block.iter().fold(false, |any, value| any | value.is_truthy()),
        )
    };
    threads::any_chunk(values, 25 * size_of::<T>(), |chunk| chunk.chunks(TOGETHER).any(any))
}

/// The lanes that are looked at together.
const LANES: usize = 64;
/// If they have at most so many values, all are tested; more are left at the first truthy one of each lane.
///
/// At ten values a lane, the branch is mispredicted.
const TESTED: usize = 64 * LANES;

/// Whether any value is truthy, for each lane that stores one.
pub(crate) fn any_of_lanes<T: Element>(offsets: &[usize], values: &[T], truths: &mut [bool]) {
    let mut slots = truths.iter_mut();
    for first in (0..offsets.len() - 1).step_by(LANES) {
        any_of_block(&offsets[first..offsets.len().min(first + LANES + 1)], values, &mut slots);
    }
}

/// Whether any value is truthy, for each of a few lanes that stores one.
fn any_of_block<'a, T: Element>(offsets: &[usize], values: &[T], truths: &mut impl Iterator<Item = &'a mut bool>) {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let stored = offsets.windows(2).filter(|ends| ends[0] < ends[1]).zip(truths);
    if last - first > TESTED {
        stored.for_each(|(ends, truth)| *truth = any_of(values[ends[0]..ends[1]].iter().copied()));
        return;
    }
    let mut words = [0; TESTED / BITS + 1];
    in_wide_vectors(
        #[inline(always)]
        || {
            let starts = (first..last).step_by(BITS);
            words.iter_mut().zip(starts).for_each(|(word, start)| *word = bits::truths(&values[start..]));
        },
    );
    for (ends, truth) in stored {
        let (word, bit, length) = ((ends[0] - first) / BITS, (ends[0] - first) % BITS, ends[1] - ends[0]);
        *truth = match length < BITS {
            true => (words[word] >> bit | words[word + 1] << 1 << (BITS - 1 - bit)) & ((1 << length) - 1) != 0,
            false => any_of(values[ends[0]..ends[1]].iter().copied()),
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
            // The first value of a lane and the last one are truthy now and then.
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
