//! A filter for queries of a set of keys, with two bits of one word per key. It is used if most values are not in the
//! set.
//!
//! If a value's bits are not both set, its key is not in the set, and its line of the [`KeySet`] is not read. With
//! AVX-512, eight values are queried at the same time. The words take about two bytes per key, so they fit in a faster
//! cache than the lines.
//!
//! If many values are in the set, the filter is only an additional query. A sample of the values is therefore queried
//! first. After a block with many hits, some blocks are not filtered.

use std::hash::Hash;

use crate::base::alloc::{self, Allocated};
use crate::element::Element;
use crate::kernels::hash::{GOLDEN, hash_by};
use crate::kernels::key_set::{KeySet, KeySetView};

/// The number of bits per key. The number of words is then rounded up to a power of two. About 2 % of values that are
/// not in the set pass the filter.
const BITS_PER_KEY: usize = 12;

/// The smallest number of values for a filter. Unoptimized builds use a smaller number, so that tests cover the filter.
const MANY_VALUES: usize = if cfg!(debug_assertions) { 64 } else { 1 << 13 };

/// The number of values queried to find out whether hits are rare.
const SAMPLE: usize = 64;

/// The largest number of hits in the sample for which a filter saves time: for a set in the L2 cache, and for a larger
/// set.
const RARE: [usize; 2] = [1, 24];

/// The smallest number of values per key for which a filter of a set in the L2 cache saves time.
const VALUES_PER_KEY: usize = 8;

/// The number of values filtered at a time.
const BLOCK: usize = 512;

/// The number of unfiltered blocks after a block with many hits.
const PAUSE: usize = 15;

/// Two bits for each key.
pub(crate) struct Filter {
    words: Vec<u64>,
    /// The right shift of a hash that results in the index of its word.
    shift: u32,
    /// The largest number of values of a block that should pass.
    max_passed: usize,
}

impl Filter {
    /// Returns the filter of a set if it saves time for these values. Returns `None` if its allocation fails.
    pub(crate) fn before<T: Element>(keys: &KeySet<T>, values: &[T]) -> Option<Filter> {
        let few = if keys.is_large() { 0 } else { keys.max_keys().saturating_mul(VALUES_PER_KEY) };
        let is_cheap = values.len() >= MANY_VALUES.max(keys.max_keys()).max(few);
        (is_cheap && are_rare(keys, values)).then(|| Filter::new(keys).ok()).flatten()
    }

    fn new<T: Element>(keys: &KeySet<T>) -> Allocated<Filter> {
        let words = (keys.max_keys() * BITS_PER_KEY / 64).next_power_of_two().max(2);
        // The number includes the 2 % of values that pass without being in the set.
        let max_passed = (RARE[usize::from(keys.is_large())] + 3) * BLOCK / SAMPLE;
        let mut filter = Filter { words: alloc::zeros(words)?, shift: 64 - words.trailing_zeros(), max_passed };
        for key in keys.iter() {
            let hash = hash(key);
            let [one, other] = filter.bits(hash);
            // Bits are only set, so the order of keys does not matter and no key is missed.
            filter.words[(hash >> filter.shift) as usize] |= 1 << one | 1 << other;
        }
        Ok(filter)
    }

    /// Returns the positions of the two bits of a hash in its word, from the bits of the hash below the index of the
    /// word.
    #[inline(always)]
    fn bits(&self, hash: u64) -> [u64; 2] {
        let digits = hash >> (self.shift - 12);
        [digits & 63, digits >> 6 & 63]
    }

    /// Writes whether the key of each value is in the set, or with `invert` whether it is not.
    #[inline(always)]
    pub(crate) fn test_into<T: Element>(
        &self,
        keys: KeySetView<'_, T>,
        values: &[T],
        invert: bool,
        answers: &mut [bool],
    ) {
        let (mut passed, mut pause) = ([0; BLOCK], 0);
        for (values, answers) in values.chunks(BLOCK).zip(answers.chunks_mut(BLOCK)) {
            if pause > 0 {
                pause -= 1;
                keys.test_into(values, invert, answers);
                continue;
            }
            // `answers` first marks the values that pass. The set is queried only for these values.
            self.pass(values, answers);
            let count = positions(answers, &mut passed);
            keys.test_some_into(values, &passed[..count], answers);
            // A value that did not pass has the answer false, so the inversion is correct for all values.
            answers.iter_mut().for_each(|answer| *answer ^= invert);
            pause = if count > self.max_passed { PAUSE } else { 0 };
        }
    }

    /// Writes whether each value may be in the set.
    #[inline(always)]
    fn pass<T: Element>(&self, values: &[T], passed: &mut [bool]) {
        // With the minimum, the compiler knows that the index exists, and can use gather instructions.
        let Some(last) = self.words.len().checked_sub(1) else { return };
        for (&value, passed) in values.iter().zip(passed) {
            let hash = hash(value.key_or_nan());
            let [one, other] = self.bits(hash);
            let word = self.words[((hash >> self.shift) as usize).min(last)];
            *passed = word >> one & word >> other & 1 == 1;
        }
    }
}

/// Returns whether few values of a sample are in the set.
fn are_rare<T: Element>(keys: &KeySet<T>, values: &[T]) -> bool {
    let (max_passed, keys) = (RARE[usize::from(keys.is_large())], keys.view());
    let some = values.iter().step_by((values.len() / SAMPLE).max(1)).take(SAMPLE);
    some.filter(|&&value| keys.contains(value)).count() <= max_passed
}

/// Writes the positions of true answers, usually few. Returns their number.
#[inline(always)]
fn positions(answers: &[bool], positions: &mut [u16; BLOCK]) -> usize {
    let mut count = 0;
    for (eight, answers) in answers.chunks(8).enumerate() {
        if answers.iter().fold(false, |any, &answer| any | answer) {
            for (at, &answer) in answers.iter().enumerate() {
                // Each position is written and kept only if true. At each write `count` is below `BLOCK`.
                positions[count % BLOCK] = (eight * 8 + at) as u16;
                count += usize::from(answer);
            }
        }
    }
    count
}

/// Returns a hash, computed by products of which only the lower half is kept, as in SIMD multiplication. The upper bits
/// depend on the entire key.
#[inline(always)]
fn hash<K: Hash>(key: K) -> u64 {
    hash_by(key, 0, |state, word| (state ^ word).wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares queries with and without a filter, also for values for which a filter does not save time.
    fn check<T: Element>(members: &[T], values: &[T]) -> Filter {
        let set = KeySet::new(members).unwrap().unwrap();
        let filter = Filter::new(&set).unwrap();
        let [mut expected, mut found] = [false, false].map(|answer| vec![answer; values.len()]);
        for invert in [false, true] {
            set.view().test_into(values, invert, &mut expected);
            filter.test_into(set.view(), values, invert, &mut found);
            assert_eq!(found, expected, "{}", T::DTYPE);
        }
        filter
    }

    fn passed<T: Element>(filter: &Filter, values: &[T]) -> usize {
        let mut passed = vec![false; values.len()];
        filter.pass(values, &mut passed);
        passed.into_iter().filter(|&passed| passed).count()
    }

    /// Tests that all keys of the set and few other values pass, for any type and distribution.
    #[test]
    fn little_passes_that_is_no_member() {
        let ids: Vec<u64> = (0..20_000).collect();
        for step in [1, 8, 4096, 1 << 20, 1 << 32, 1 << 44, 0x9e37_79b9_7f4a_7c15] {
            let [members, others] =
                [0, 1].map(|odd| ids.iter().map(|&id| (2 * id + odd).wrapping_mul(step)).collect::<Vec<u64>>());
            let filter = check(&members, &others);
            assert_eq!(passed(&filter, &members), 20_000);
            assert!(passed(&filter, &others) < 2000, "{step}: {}", passed(&filter, &others));
        }
        let floats: Vec<f64> = ids.iter().map(|&id| id as f64 * 0.5).collect();
        let [whole, half] = [0, 1].map(|from| floats.iter().skip(from).step_by(2).copied().collect::<Vec<_>>());
        assert!(passed(&check(&whole, &half), &half) < 1000);
        let [narrow, others] = [&whole, &half].map(|floats| floats.iter().map(|&x| x as f32).collect::<Vec<_>>());
        assert!(passed(&check(&narrow, &others), &others) < 1000);
        let complex = |x: &f64| num_complex::Complex::new(*x, 1.0 - *x);
        let [pairs, others] = [&whole, &half].map(|floats| floats.iter().map(complex).collect::<Vec<_>>());
        assert!(passed(&check(&pairs, &others), &others) < 1000);
        check(&[true], &[false, true]);
        check(&(0..200).collect::<Vec<u8>>(), &(0..=255).collect::<Vec<u8>>());
    }

    /// Tests blocks with many hits, then a pause, then blocks with and without hits.
    #[test]
    fn answers_are_right_before_in_and_after_a_pause() {
        let members: Vec<i64> = (0..1000).collect();
        let many = (BLOCK * (PAUSE + 3)) as i64;
        check(&members, &(0..many).map(|at| at % 1000).collect::<Vec<_>>());
        check(&members, &(0..many).map(|at| if at < BLOCK as i64 { at } else { -at }).collect::<Vec<_>>());
        check(&members, &(0..many).map(|at| at % 1500 - 300).chain([5]).collect::<Vec<_>>());
        check(&members, &[]);
    }

    #[test]
    fn nan_is_no_member_and_zeros_are_one() {
        let values = [0.0, -0.0, f64::NAN, -f64::NAN, 2.0, 1.0];
        check(&[-0.0, 1.0, f64::NAN], &values);
        check(&[f64::INFINITY], &values);
    }

    #[test]
    fn there_is_a_filter_for_many_values_of_which_few_are_members() {
        let members: Vec<i64> = (0..1000).map(|number| number * number).collect();
        filters_of(&members[..100]);
        filters_of(&members);
    }

    fn filters_of(members: &[i64]) {
        let set = KeySet::new(members).unwrap().unwrap();
        let is_filtered = |values: Vec<i64>| Filter::before(&set, &values).is_some();
        let many = (set.max_keys() * if set.is_large() { 1 } else { VALUES_PER_KEY }).max(MANY_VALUES) as i64;
        assert!(is_filtered((0..many).map(|number| -number - 1).collect()));
        assert!(!is_filtered((0..many - 1).map(|number| -number - 1).collect()));
        assert!(!is_filtered((0..many).map(|number| members[number as usize % members.len()]).collect()));
        let one_in_eight =
            |number: i64| if number / 64 % 8 == 0 { members[number as usize % members.len()] } else { -number - 1 };
        assert_eq!(is_filtered((0..many).map(one_in_eight).collect()), set.is_large());
    }
}
