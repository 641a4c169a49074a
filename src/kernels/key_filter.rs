//! A filter in front of a set of keys, for values of which most are no members: two bits of one word for each key.
//!
//! A value whose bits are not both set is no member, and its line of the [`KeySet`] is not read. Asking the filter is
//! eight multiplications, look-ups and shifts at once where there are vectors of 512 bits, and its words, two bytes a
//! member, stay in a nearer cache than the lines. Where many values are members it would only be one question more: some
//! values are asked first, and a block of which much passes is followed by blocks that are not filtered.

use std::hash::Hash;

use crate::base::alloc::{self, Allocated};
use crate::element::Element;
use crate::kernels::hash::{GOLDEN, hash_by};
use crate::kernels::key_set::{KeySet, Questions};

/// Bits a key, rounded up to a power of two of words: some two in a hundred values pass that are no members.
const BITS_A_KEY: usize = 12;

/// From so many values on a filter is thought of. Unoptimised far fewer, so that tests meet it.
const MANY_VALUES: usize = if cfg!(debug_assertions) { 64 } else { 1 << 13 };

/// Values that are asked to find out whether members are rare.
const SAMPLE: usize = 64;

/// Members among so many values above which a filter loses, of a set in the second cache and of a larger one.
const RARE: [usize; 2] = [1, 24];

/// Values for each key from which on a filter of a set in the second cache is worth making.
const VALUES_A_KEY: usize = 8;

/// Values that are filtered at a time.
const BLOCK: usize = 512;

/// Blocks that are not filtered after one of which much passed.
const PAUSE: usize = 15;

/// Two bits for each key.
pub(crate) struct Filter {
    words: Vec<u64>,
    /// What leaves of a hash the number of its word.
    shift: u32,
    /// Values of a block of which no more should pass.
    most: usize,
}

impl Filter {
    /// The filter of a set, if it will pay for these values. Without memory for it there is none.
    pub(crate) fn before<T: Element>(keys: &KeySet<T>, values: &[T]) -> Option<Filter> {
        let few = if keys.is_large() { 0 } else { keys.most().saturating_mul(VALUES_A_KEY) };
        let is_cheap = values.len() >= MANY_VALUES.max(keys.most()).max(few);
        (is_cheap && are_rare(keys, values)).then(|| Filter::new(keys).ok()).flatten()
    }

    fn new<T: Element>(keys: &KeySet<T>) -> Allocated<Filter> {
        let words = (keys.most() * BITS_A_KEY / 64).next_power_of_two().max(2);
        // Besides those two in a hundred pass.
        let most = (RARE[usize::from(keys.is_large())] + 3) * BLOCK / SAMPLE;
        let mut filter = Filter { words: alloc::zeros(words)?, shift: 64 - words.trailing_zeros(), most };
        for key in keys.iter() {
            let hash = hash(key);
            let [one, other] = filter.bits(hash);
            filter.words[(hash >> filter.shift) as usize] |= 1 << one | 1 << other;
        }
        Ok(filter)
    }

    /// The two bits of a hash in its word: of the digits below those that number the word.
    #[inline(always)]
    fn bits(&self, hash: u64) -> [u64; 2] {
        let digits = hash >> (self.shift - 12);
        [digits & 63, digits >> 6 & 63]
    }

    /// Whether the key of each value is one of the set, or with `invert` whether it is not.
    #[inline(always)]
    pub(crate) fn answer<T: Element>(&self, keys: Questions<'_, T>, values: &[T], invert: bool, answers: &mut [bool]) {
        let (mut passed, mut pause) = ([0; BLOCK], 0);
        for (values, answers) in values.chunks(BLOCK).zip(answers.chunks_mut(BLOCK)) {
            if pause > 0 {
                pause -= 1;
                keys.answer(values, invert, answers);
                continue;
            }
            self.pass(values, answers);
            let count = positions(answers, &mut passed);
            keys.answer_some(values, &passed[..count], answers);
            answers.iter_mut().for_each(|answer| *answer ^= invert);
            pause = if count > self.most { PAUSE } else { 0 };
        }
    }

    /// Whether each value may be a member.
    #[inline(always)]
    fn pass<T: Element>(&self, values: &[T], passed: &mut [bool]) {
        // The compiler makes gathers of look-ups whose places it knows to be there.
        let Some(last) = self.words.len().checked_sub(1) else { return };
        for (&value, passed) in values.iter().zip(passed) {
            let hash = hash(value.key_or_nan());
            let [one, other] = self.bits(hash);
            let word = self.words[((hash >> self.shift) as usize).min(last)];
            *passed = word >> one & word >> other & 1 == 1;
        }
    }
}

/// Whether few of some values are members.
fn are_rare<T: Element>(keys: &KeySet<T>, values: &[T]) -> bool {
    let (most, keys) = (RARE[usize::from(keys.is_large())], keys.questions());
    let some = values.iter().step_by((values.len() / SAMPLE).max(1)).take(SAMPLE);
    some.filter(|&&value| keys.contains(value)).count() <= most
}

/// The positions of what is true, which is mostly little.
#[inline(always)]
fn positions(answers: &[bool], positions: &mut [u16; BLOCK]) -> usize {
    let mut count = 0;
    for (eight, answers) in answers.chunks(8).enumerate() {
        if answers.iter().fold(false, |any, &answer| any | answer) {
            for (at, &answer) in answers.iter().enumerate() {
                positions[count % BLOCK] = (eight * 8 + at) as u16;
                count += usize::from(answer);
            }
        }
    }
    count
}

/// A hash of products that keep their lower half: vectors multiply so. Its upper bits depend on all of the key.
#[inline(always)]
fn hash<K: Hash>(key: K) -> u64 {
    hash_by(key, 0, |state, word| (state ^ word).wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked through a filter and without one, which is there whether it pays or not.
    fn check<T: Element>(members: &[T], values: &[T]) -> Filter {
        let set = KeySet::new(members).unwrap().unwrap();
        let filter = Filter::new(&set).unwrap();
        let [mut expected, mut found] = [false, false].map(|answer| vec![answer; values.len()]);
        for invert in [false, true] {
            set.questions().answer(values, invert, &mut expected);
            filter.answer(set.questions(), values, invert, &mut found);
            assert_eq!(found, expected, "{}", T::DTYPE);
        }
        filter
    }

    fn passed<T: Element>(filter: &Filter, values: &[T]) -> usize {
        let mut passed = vec![false; values.len()];
        filter.pass(values, &mut passed);
        passed.into_iter().filter(|&passed| passed).count()
    }

    /// Members pass, of others hardly any: whatever the type, and however they lie.
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

    /// Blocks that mostly pass, a pause, and blocks after it, of which some hold members and others none.
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
        let many = (set.most() * if set.is_large() { 1 } else { VALUES_A_KEY }).max(MANY_VALUES) as i64;
        assert!(is_filtered((0..many).map(|number| -number - 1).collect()));
        assert!(!is_filtered((0..many - 1).map(|number| -number - 1).collect()));
        assert!(!is_filtered((0..many).map(|number| members[number as usize % members.len()]).collect()));
        let one_in_eight =
            |number: i64| if number / 64 % 8 == 0 { members[number as usize % members.len()] } else { -number - 1 };
        assert_eq!(is_filtered((0..many).map(one_in_eight).collect()), set.is_large());
    }
}
