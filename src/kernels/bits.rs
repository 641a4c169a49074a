//! Results of 64 comparisons in one word, computed without a branch per entry.

use std::ops::Range;

use crate::base::machine::in_wide_vectors;
use crate::element::Element;

/// The number of results in a word.
pub(crate) const BITS: usize = 64;

/// Returns `f` of each number below 64, with the result of 0 in the lowest bit.
///
/// Sums of weights, unlike shifted bits, compile to SIMD.
#[inline(always)]
fn word(f: impl Fn(usize) -> bool) -> u64 {
    (0..BITS).map(|at| if f(at) { 1 << at } else { 0 }).sum()
}

/// Returns one bit for each of the first 64 values, set if the value is nonzero. There may be fewer values.
#[inline(always)]
pub(crate) fn truths<T: Element>(values: &[T]) -> u64 {
    bitmask(values, T::is_truthy)
}

/// Nonzero tests of values of any type. Code that also reads coordinates uses values only through this trait, so it is
/// not compiled per type of values.
pub(crate) trait NonzeroBits: Sync {
    /// Writes a bit for each value from an entry on, set if the value is nonzero. The length of the slice is the number
    /// of words.
    fn words(&self, start: usize, words: &mut [u64]);

    /// Writes a mark for each value from an entry on: 3 if the value is nonzero, otherwise 1.
    fn marks(&self, start: usize, marks: &mut [u8]);
}

/// The number of words written at once. Their values are still in the cache when the coordinates are read.
pub(crate) const WORDS: usize = 16;

/// The [`NonzeroBits`] of values.
pub(crate) struct NonzeroBitsOf<'a, T>(pub(crate) &'a [T]);

impl<T: Element> NonzeroBits for NonzeroBitsOf<'_, T> {
    fn words(&self, start: usize, words: &mut [u64]) {
        let values = &self.0[start..];
        in_wide_vectors(
            #[inline(always)]
            || {
                for (word, values) in words.iter_mut().zip(values.chunks(BITS)) {
                    *word = truths(values);
                }
            },
        );
    }

    fn marks(&self, start: usize, marks: &mut [u8]) {
        let values = &self.0[start..];
        in_wide_vectors(
            #[inline(always)]
            || {
                for (mark, value) in marks.iter_mut().zip(values) {
                    *mark = 1 | u8::from(value.is_truthy()) << 1;
                }
            },
        );
    }
}

/// Calls `visit` with the bits of 64 entries at a time, and the entries. The last word may have fewer entries.
///
/// Bits of entries after the range are undefined.
pub(crate) fn for_each_word(truths: &dyn NonzeroBits, range: Range<usize>, mut visit: impl FnMut(u64, Range<usize>)) {
    let mut words = [0; WORDS];
    for start in range.clone().step_by(WORDS * BITS) {
        let count = range.end - start;
        // Each word covers at least one entry of the range.
        let words = &mut words[..WORDS.min(count.div_ceil(BITS))];
        truths.words(start, words);
        for (&word, start) in words.iter().zip((start..).step_by(BITS)) {
            visit(word, start..range.end.min(start + BITS));
        }
    }
}

/// Returns one bit for each of the first 64 values, set if `is` accepts the value. There may be fewer values.
#[inline(always)]
pub(crate) fn bitmask<T: Copy>(values: &[T], is: impl Fn(T) -> bool) -> u64 {
    match values.first_chunk::<BITS>() {
        Some(values) => word(|at| is(values[at])),
        // In reverse order, each value shifts the bits of the later values up. The first value is therefore the lowest
        // bit.
        None => values.iter().rev().fold(0, |word, &value| word << 1 | u64::from(is(value))),
    }
}

/// Returns one bit for each item except the last, set if the item differs from the next item.
#[inline(always)]
pub(crate) fn changes<I: PartialEq>(items: &[I; BITS + 1]) -> u64 {
    word(|at| items[at] != items[at + 1])
}

/// Returns [`changes`] of the first 65 items. There may be fewer items.
#[inline(always)]
pub(crate) fn first_changes<I: PartialEq>(items: &[I]) -> u64 {
    match items.first_chunk() {
        Some(items) => changes(items),
        None => items.windows(2).rev().fold(0, |word, pair| word << 1 | u64::from(pair[0] != pair[1])),
    }
}

/// Returns for each run of bits whether `bits` has a one in the run. The result is in the last bit of the run.
///
/// A run ends where `ends` has a one. The other bits of the result are undefined.
pub(crate) fn any_of_runs(bits: u64, ends: u64) -> u64 {
    // Ones are added to all bits of a run before its end. The sum carries into the end if `bits` has a one before the
    // end. The end is 0 in both addends, so a carry does not leave the run. `| bits` adds the bit of the end itself.
    (bits & !ends).wrapping_add(!ends) | bits
}

/// Returns the positions of the ones, in increasing order.
#[inline(always)]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    // The count of ones gives zipped loops a known length.
    (0..word.count_ones()).map(move |_| {
        let place = word.trailing_zeros() as usize;
        // Clears the lowest one.
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
