//! Sorting entries by a key: they are dealt into buckets by the top bits of their keys, and each bucket, small enough for
//! a cache, is sorted by itself.

use std::ops::Range;

use crate::parallel;

/// The keys that are formed at once.
const BLOCK: usize = 1 << 10;

/// Buckets have about 2^this entries, whose words fit the first-level cache.
const BUCKET: u32 = 12;

/// At most 2^this buckets: more places to write to than a processor translates addresses for cost more than they save.
const MOST_BUCKETS: u32 = 12;

/// What the sorting of entries gives.
pub(crate) struct Sorted {
    /// The entries by increasing key, those of one key in input order.
    pub(crate) order: Vec<usize>,
    /// Where each run of equal keys starts in that order, and where the last one ends; nothing if not asked for.
    pub(crate) starts: Vec<usize>,
}

/// Sorts `count` entries; `keys` writes the keys of a range of them. `with_runs` asks for the runs of equal keys.
pub(crate) fn sort_by_key(
    count: usize,
    keys: impl Fn(Range<usize>, &mut [u64]) + Sync + Send,
    with_runs: bool,
) -> Sorted {
    let greatest = |range| {
        let mut greatest = 0;
        for_each_block(range, &keys, |_, keys| greatest = keys.iter().fold(greatest, |most, &key| key.max(most)));
        greatest
    };
    let greatest = parallel::map_parts(count, 0, greatest).into_iter().fold(0, u64::max);
    let layout = Layout::new(count, greatest);
    match layout.low_bits + layout.entry_bits <= u64::BITS {
        true => sort_words::<u64>(count, &layout, keys, with_runs),
        false => sort_words::<u128>(count, &layout, keys, with_runs),
    }
}

/// Calls `visit` with the first entry of each block of a range and the keys of the block.
fn for_each_block(range: Range<usize>, keys: impl Fn(Range<usize>, &mut [u64]), mut visit: impl FnMut(usize, &[u64])) {
    let mut block = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(range.end - start)];
        keys(start..start + block.len(), block);
        visit(start, block);
    }
}

/// How a key and the number of its entry are cut: `bucket | low` is the key, `low | entry` the word that is sorted.
struct Layout {
    bucket_bits: u32,
    low_bits: u32,
    entry_bits: u32,
}

impl Layout {
    fn new(count: usize, greatest: u64) -> Self {
        let key_bits = u64::BITS - greatest.leading_zeros();
        let entry_bits = usize::BITS - count.leading_zeros();
        let bucket_bits = entry_bits.saturating_sub(BUCKET).min(MOST_BUCKETS).min(key_bits);
        Layout { bucket_bits, low_bits: key_bits - bucket_bits, entry_bits }
    }

    fn bucket(&self, key: u64) -> usize {
        key.checked_shr(self.low_bits).unwrap_or(0) as usize
    }
}

/// The low bits of a key above the number of its entry: what no two entries have alike.
trait Word: Copy + Default + Ord + Send + Sync {
    /// Of a key whose top bits do not fit, those fall off: its bucket tells them.
    fn new(key: u64, entry: usize, entry_bits: u32) -> Self;
    fn low(self, entry_bits: u32) -> u64;
    fn entry(self, entry_bits: u32) -> usize;
}

macro_rules! impl_word {
    ($($type:ident),*) => {$(
        impl Word for $type {
            fn new(key: u64, entry: usize, entry_bits: u32) -> Self {
                $type::from(key).checked_shl(entry_bits).unwrap_or(0) | entry as $type
            }

            fn low(self, entry_bits: u32) -> u64 {
                self.checked_shr(entry_bits).unwrap_or(0) as u64
            }

            fn entry(self, entry_bits: u32) -> usize {
                (self & !$type::MAX.checked_shl(entry_bits).unwrap_or(0)) as usize
            }
        }
    )*};
}

impl_word!(u64, u128);

/// The words of a range of entries, bucket after bucket.
struct Part<W> {
    words: Vec<W>,
    /// Where each bucket ends.
    ends: Vec<usize>,
}

impl<W: Word> Part<W> {
    fn deal(range: Range<usize>, layout: &Layout, keys: impl Fn(Range<usize>, &mut [u64])) -> Self {
        let mut next = vec![0; (1 << layout.bucket_bits) + 1];
        for_each_block(range.clone(), &keys, |_, keys| keys.iter().for_each(|&key| next[layout.bucket(key) + 1] += 1));
        (1..next.len()).for_each(|bucket| next[bucket] += next[bucket - 1]);
        let mut words = vec![W::default(); range.len()];
        for_each_block(range, keys, |start, keys| {
            for (&key, entry) in keys.iter().zip(start..) {
                let place = &mut next[layout.bucket(key)];
                words[*place] = W::new(key, entry, layout.entry_bits);
                *place += 1;
            }
        });
        next.pop();
        Part { words, ends: next }
    }

    fn bucket(&self, bucket: usize) -> &[W] {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        &self.words[start..self.ends[bucket]]
    }
}

fn sort_words<W: Word>(
    count: usize,
    layout: &Layout,
    keys: impl Fn(Range<usize>, &mut [u64]) + Sync + Send,
    with_runs: bool,
) -> Sorted {
    let buckets = 1 << layout.bucket_bits;
    let parts = parallel::map_parts(count, buckets, |range| Part::<W>::deal(range, layout, &keys));
    let ends: Vec<usize> = (0..buckets).map(|bucket| parts.iter().map(|part| part.ends[bucket]).sum()).collect();
    let mut order = vec![0; count];
    let starts = parallel::map_slices(&mut order, &ends, |bucket, places| {
        let mut words: Vec<W> = Vec::with_capacity(places.len());
        parts.iter().for_each(|part| words.extend_from_slice(part.bucket(bucket)));
        words.sort_unstable();
        places.iter_mut().zip(&words).for_each(|(place, word)| *place = word.entry(layout.entry_bits));
        if with_runs { starts_of(&words, ends[bucket] - words.len(), layout.entry_bits) } else { Vec::new() }
    });
    drop(parts);
    let mut starts = starts.concat();
    if with_runs {
        starts.push(count);
    }
    Sorted { order, starts }
}

/// Where the runs of equal keys start in sorted words, the first of which has the number `base`.
fn starts_of<W: Word>(words: &[W], base: usize, entry_bits: u32) -> Vec<usize> {
    let low = |at: usize| words[at].low(entry_bits);
    (0..words.len()).filter(|&at| at == 0 || low(at - 1) != low(at)).map(|at| base + at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, the same in every run.
    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 31
        }
    }

    fn check(keys: &[u64]) {
        let sorted = sort_by_key(keys.len(), |range, block| block.copy_from_slice(&keys[range]), true);
        let mut expected: Vec<usize> = (0..keys.len()).collect();
        expected.sort_by_key(|&entry| keys[entry]);
        assert_eq!(sorted.order, expected);
        let opens = |at: &usize| *at == 0 || keys[expected[*at]] != keys[expected[*at - 1]];
        let starts: Vec<usize> = (0..keys.len()).filter(opens).chain([keys.len()]).collect();
        assert_eq!(sorted.starts, starts);
    }

    #[test]
    fn keys_of_all_sizes_are_sorted_and_equal_ones_stay_in_input_order() {
        let mut next = numbers(1);
        for count in [0, 1, 2, 100, 5_000, 70_000, 150_000] {
            for bits in [0, 1, 7, 20, 40, 63, 64] {
                let keys: Vec<u64> = (0..count).map(|_| next().checked_shr(64 - bits).unwrap_or(0)).collect();
                check(&keys);
            }
        }
    }

    #[test]
    fn skewed_and_ordered_keys_are_sorted() {
        let mut next = numbers(2);
        check(&(0..100_000).map(|_| if next().is_multiple_of(10) { next() } else { next() % 5 }).collect::<Vec<_>>());
        check(&(0..100_000).rev().collect::<Vec<_>>());
        check(&(0..100_000).map(|entry| u64::MAX - entry / 3).collect::<Vec<_>>());
        check(&[u64::MAX; 1_000]);
    }
}
