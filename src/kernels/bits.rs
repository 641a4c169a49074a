//! Sixty-four answers in a word: what a loop over entries compares, without a branch on what it finds.

use std::ops::Range;

use crate::base::machine::in_wide_vectors;
use crate::element::Element;

/// The answers of a word.
pub(crate) const BITS: usize = 64;

/// `f` of every number below 64, the lowest in the lowest bit.
///
/// Sums of weights instead of shifted bits: that is what compilers make vector instructions of.
#[inline(always)]
fn word(f: impl Fn(usize) -> bool) -> u64 {
    (0..BITS).map(|at| if f(at) { 1 << at } else { 0 }).sum()
}

/// Which of the first 64 values are truthy; as many as there are.
#[inline(always)]
pub(crate) fn truths<T: Element>(values: &[T]) -> u64 {
    which(values, T::is_truthy)
}

/// Writes which of the values from an entry on are truthy, into as many words as it is given. Code that reads
/// coordinates sees no more of the values than this.
pub(crate) type Truths<'a> = dyn Fn(usize, &mut [u64]) + Sync + 'a;

/// The words that are written at once: the values of these entries are still in the cache where their coordinates are
/// read.
pub(crate) const WORDS: usize = 16;

/// The [`Truths`] of values.
pub(crate) fn truths_of<T: Element>(values: &[T]) -> impl Fn(usize, &mut [u64]) + Sync + '_ {
    |start, words| {
        in_wide_vectors(
            #[inline(always)]
            || {
                for (word, values) in words.iter_mut().zip(values[start..].chunks(BITS)) {
                    *word = truths(values);
                }
            },
        );
    }
}

/// Calls `visit` with the truths of 64 entries of a range after the other, of fewer in the end, and with these entries.
/// Bits of entries behind the range say nothing.
pub(crate) fn for_each_word(truths: &Truths<'_>, range: Range<usize>, mut visit: impl FnMut(u64, Range<usize>)) {
    let mut words = [0; WORDS];
    for start in range.clone().step_by(WORDS * BITS) {
        let count = range.end - start;
        let words = &mut words[..WORDS.min(count.div_ceil(BITS))];
        truths(start, words);
        for (&word, start) in words.iter().zip((start..).step_by(BITS)) {
            visit(word, start..range.end.min(start + BITS));
        }
    }
}

/// Which of the first 64 values `is` says yes to; as many as there are.
#[inline(always)]
pub(crate) fn which<T: Copy>(values: &[T], is: impl Fn(T) -> bool) -> u64 {
    match values.first_chunk::<BITS>() {
        Some(values) => word(|at| is(values[at])),
        None => values.iter().rev().fold(0, |word, &value| word << 1 | u64::from(is(value))),
    }
}

/// Which items differ from the one after them; the last one is told the one after it only.
#[inline(always)]
pub(crate) fn changes<I: PartialEq>(items: &[I; BITS + 1]) -> u64 {
    word(|at| items[at] != items[at + 1])
}

/// [`changes`] of the first 65 items, or of as many as there are.
#[inline(always)]
pub(crate) fn first_changes<I: PartialEq>(items: &[I]) -> u64 {
    match items.first_chunk() {
        Some(items) => changes(items),
        None => items.windows(2).rev().fold(0, |word, pair| word << 1 | u64::from(pair[0] != pair[1])),
    }
}

/// For each run of bits, which ends where `ends` has a one, whether there is a one in `bits`: said in its last bit.
///
/// To the ones below the end of each run its bits below the end are added: the sum is carried into the end if there is
/// one among them, and no further. What the other bits of the answer say means nothing.
pub(crate) fn any_of_runs(bits: u64, ends: u64) -> u64 {
    (bits & !ends).wrapping_add(!ends) | bits
}

/// The places of the ones, from the lowest up.
#[inline(always)]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    // Counted first: beside other lists a loop then knows its end.
    (0..word.count_ones()).map(move |_| {
        let place = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_a_bit_of_its_own() {
        for at in 0..BITS {
            let mut values = [0.0; BITS];
            values[at] = f64::NAN;
            assert_eq!(truths(&values), 1 << at);
            let mut items = [7u32; BITS + 1];
            items[..=at].fill(3);
            assert_eq!(changes(&items), 1 << at);
            assert_eq!(first_changes(&[&items[..], &[9, 8]].concat()), 1 << at);
            assert_eq!(first_changes(&items[..=at]), 0);
            assert_eq!(first_changes(&items[..at + 2.min(BITS + 1 - at)]), 1 << at);
        }
        assert_eq!(truths(&[-0.0f32; BITS]), 0);
        assert_eq!(truths(&[true; BITS + 9]), u64::MAX);
        assert_eq!(truths(&[1, 0, 0, -1, 0]), 0b1001);
        assert_eq!(truths::<i8>(&[]), 0);
        assert_eq!(ones(0x8000_0000_0000_0025).collect::<Vec<_>>(), [0, 2, 5, 63]);
    }

    #[test]
    fn a_run_is_true_if_one_of_its_bits_is() {
        let mut numbers = 1u64;
        for _ in 0..1000 {
            numbers = numbers.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let (bits, ends) = (numbers & numbers << 7 & numbers >> 9, (numbers.rotate_left(29) & numbers) | 1 << 63);
            let mut start = 0;
            for end in ones(ends) {
                let expected = (start..=end).any(|at| bits >> at & 1 == 1);
                assert_eq!(any_of_runs(bits, ends) >> end & 1 == 1, expected);
                start = end + 1;
            }
        }
    }
}
