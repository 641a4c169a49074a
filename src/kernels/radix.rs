//! Sorting of entries by a key of at most 64 bits, each with one item.
//!
//! Entries are first scattered into buckets by the top bits of their keys. Each bucket fits in a cache and is sorted
//! separately. Items move together with their keys, because gathering the items after the sort would be the most
//! expensive step.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::threads;

/// The number of keys computed at once.
pub(crate) const BLOCK: usize = 1 << 10;

/// Buckets have about 2^`BUCKET` entries, whose words fit in the L1 cache.
const BUCKET: u32 = 12;

/// There are at most 2^`MAX_BUCKET_BITS` buckets. With more buckets, address translation would cost more time than
/// buckets save.
const MAX_BUCKET_BITS: u32 = 12;

/// A larger bucket is scattered into its own buckets. If most keys have the same top bits, this costs one more parallel
/// pass, but all buckets fit in the L2 cache.
const LARGE: usize = 1 << 16;

/// The number of bits sorted per pass.
const DIGIT: u32 = 8;

/// Up to `ALL_DIGITS` bits are sorted digit by digit. If there are more bits, only the top `FIRST_BITS` bits are sorted
/// by digits. Entries of a bucket usually differ in these bits, and ties are sorted by comparison.
const ALL_DIGITS: u32 = 3 * DIGIT;
const FIRST_BITS: u32 = 2 * DIGIT;

/// The smallest number of words that are sorted by digits. Fewer words are sorted by comparison, because counting all
/// digits has a fixed cost.
const FEW: usize = 1 << 8;

/// A function that writes the keys of a range of entries.
pub(crate) type Keys<'a> = dyn Fn(Range<usize>, &mut [u64]) + Sync + 'a;

/// A function that writes the keys of a range of entries; bits below the given one may be wrong.
pub(crate) type KeysFrom<'a> = dyn Fn(Range<usize>, u32, &mut [u64]) + Sync + 'a;

/// Returns a function that reads the item of each entry from a list.
pub(crate) fn listed<T: Copy + Sync>(items: &[T]) -> impl Fn(usize) -> T + Sync + '_ {
    move |entry| items[entry]
}

/// Calls `visit` with the first entry of each block of a range and the keys of the block.
///
/// `keys` is a trait object, called once per block. Sorting is therefore instantiated once per type of items.
pub(crate) fn for_each_block(range: Range<usize>, keys: &Keys<'_>, visit: &mut dyn FnMut(usize, &[u64])) {
    let mut block = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(range.end - start)];
        keys(start..start + block.len(), block);
        visit(start, block);
    }
}

/// Entries in ordered buckets; after sorting, all entries are in order.
pub(crate) struct Buckets<T> {
    pub(crate) keys: Vec<u64>,
    pub(crate) items: Vec<T>,
    /// The index after the last entry of each bucket.
    pub(crate) ends: Vec<usize>,
    /// The number of low bits of the keys, which differ within a bucket.
    low_bits: u32,
    /// The number of lowest bits that are sorted but do not distinguish keys.
    tag: u32,
}

/// The slots of one thread in one bucket.
struct BucketSlots<'a, T> {
    keys: &'a mut [u64],
    items: &'a mut [T],
    filled: usize,
}

/// The work of one thread: a range of entries, and its own slots in each bucket.
type Share<'a, T> = (Range<usize>, Vec<BucketSlots<'a, T>>);

/// Returns the number of keys of a range per bucket.
fn bucket_sizes(range: Range<usize>, buckets: usize, low_bits: u32, keys: &Keys<'_>) -> Vec<usize> {
    let mut sizes = vec![0; buckets];
    for_each_block(range, keys, &mut |_, keys| {
        for &key in keys {
            sizes[(key >> low_bits) as usize] += 1;
        }
    });
    sizes
}

/// The entries of each part, and their number per bucket.
type Parts = Few<(Range<usize>, Vec<usize>)>;

/// Splits `count` entries into parts, at most one per thread.
fn parts_of(count: usize, buckets: usize, low_bits: u32, keys: &KeysFrom<'_>) -> Parts {
    let top = |range: Range<usize>, block: &mut [u64]| keys(range, low_bits, block);
    threads::map_parts(count, 3000, buckets, |range| (range.clone(), bucket_sizes(range, buckets, low_bits, &top)))
}

impl<T: Copy + Zeroable + Send + Sync> Buckets<T> {
    /// Scatters `count` entries into buckets.
    ///
    /// `keys` writes keys of `bits` bits; bits below its argument `from` may be wrong. The lowest `tag` bits are
    /// sorted, but keys that differ only in these bits count as equal.
    ///
    /// Each thread scatters a part of the entries, in order, into its own slots, so equal keys stay in input order.
    pub(crate) fn scatter(
        count: usize,
        bits: u32,
        tag: u32,
        keys: &KeysFrom<'_>,
        item: impl Fn(usize) -> T + Sync,
    ) -> Allocated<Self> {
        let wanted = (usize::BITS - count.leading_zeros()).saturating_sub(BUCKET).min(MAX_BUCKET_BITS);
        let low_bits = bits.saturating_sub(wanted).clamp(tag, u64::BITS - 1);
        // The top `bits - low_bits` bits select the bucket, so every key has a bucket.
        let buckets = 1 << (bits - low_bits);
        let parts = parts_of(count, buckets, low_bits, keys);
        let (all_keys, items) = (alloc::zeros(count)?, alloc::zeros(count)?);
        let mut all = Buckets { keys: all_keys, items, ends: Vec::with_capacity(buckets), low_bits, tag };
        let shares = all.share_out(&parts, buckets);
        let whole = |range: Range<usize>, block: &mut [u64]| keys(range, 0, block);
        threads::map_each(shares, count, || (), |(), share| fill(share, low_bits, &whole, &item));
        Ok(all)
    }

    /// Returns the slots of each part in each bucket. Within a bucket, the slots are in the order of the parts.
    fn share_out(&mut self, parts: &[(Range<usize>, Vec<usize>)], buckets: usize) -> Few<Share<'_, T>> {
        // `ends` increase over buckets and, within a bucket, over parts, so slots do not overlap.
        let mut end = 0;
        let mut ends = Vec::with_capacity(buckets * parts.len());
        for bucket in 0..buckets {
            for (_, sizes) in parts {
                end += sizes[bucket];
                ends.push(end);
            }
            self.ends.push(end);
        }
        let keys = threads::split_at_ends(&mut self.keys, &ends);
        let items = threads::split_at_ends(&mut self.items, &ends);
        let mut shares: Few<_> = parts.iter().map(|(range, _)| (range.clone(), Vec::with_capacity(buckets))).collect();
        for (at, (keys, items)) in keys.into_iter().zip(items).enumerate() {
            shares[at % parts.len()].1.push(BucketSlots { keys, items, filled: 0 });
        }
        shares
    }

    /// Sorts every bucket and thereby all entries; equal keys stay in input order.
    ///
    /// Bits below `settled` are ignored: entries that agree on the other bits are already in order.
    ///
    /// Returns the number of different keys in each bucket.
    pub(crate) fn sort(&mut self, settled: u32) -> Allocated<Few<usize>> {
        let (count, low_bits, tag) = (self.keys.len(), self.low_bits, self.tag);
        let keys = threads::split_at_ends(&mut self.keys, &self.ends);
        let buckets = keys.into_iter().zip(threads::split_at_ends(&mut self.items, &self.ends)).collect();
        let sort = |scratch: &mut RadixScratch<T>, (keys, items): (&mut [u64], &mut [T])| {
            if low_bits > settled && !keys.is_sorted() {
                match keys.len() > LARGE {
                    true => sort_large(keys, items, settled, low_bits)?,
                    false => scratch.sort(keys, items, settled..low_bits)?,
                }
            }
            Ok(count_runs(keys, tag))
        };
        threads::map_each(buckets, count, RadixScratch::new, sort).into_iter().collect()
    }
}

/// Sorts a large bucket. Its keys have the same bits from `low_bits` on.
fn sort_large<T: Copy + Zeroable + Send + Sync>(
    keys: &mut [u64],
    items: &mut [T],
    settled: u32,
    low_bits: u32,
) -> Allocated<()> {
    // Bits that agree in all keys would create empty buckets.
    let differing = keys.iter().fold(0, |differing, key| differing | (key ^ keys[0]));
    let low_bits = low_bits.min(u64::BITS - differing.leading_zeros());
    // `above` holds the common bits; XOR with it leaves the low bits of each key.
    let above = keys[0] >> low_bits << low_bits;
    let low = |range: Range<usize>, _: u32, block: &mut [u64]| {
        block.iter_mut().zip(&keys[range]).for_each(|(low, key)| *low = key ^ above);
    };
    let mut inner = Buckets::scatter(keys.len(), low_bits, 0, &low, listed(items))?;
    inner.sort(settled)?;
    keys.iter_mut().zip(&inner.keys).for_each(|(key, low)| *key = above | low);
    items.copy_from_slice(&inner.items);
    Ok(())
}

/// Writes each entry of a part to the next slot of its bucket.
fn fill<T>((range, mut buckets): Share<'_, T>, low_bits: u32, keys: &Keys<'_>, item: impl Fn(usize) -> T) {
    for_each_block(range, keys, &mut |start, keys| {
        for (&key, entry) in keys.iter().zip(start..) {
            // The slots were counted from the same keys, so `filled` never exceeds their number.
            let places = &mut buckets[(key >> low_bits) as usize];
            places.keys[places.filled] = key;
            places.items[places.filled] = item(entry);
            places.filled += 1;
        }
    });
}

/// Returns the number of runs of equal keys, ignoring their lowest `tag` bits.
pub(crate) fn count_runs(keys: &[u64], tag: u32) -> usize {
    let differ = |(key, next): &(&u64, &u64)| *key >> tag != *next >> tag;
    usize::from(!keys.is_empty()) + keys.iter().zip(keys.iter().skip(1)).filter(differ).count()
}

/// The working memory of a thread, reused for each bucket.
struct RadixScratch<T> {
    words: Vec<u64>,
    spare: Vec<u64>,
    items: Vec<T>,
}

impl<T: Copy> RadixScratch<T> {
    fn new() -> Self {
        RadixScratch { words: Vec::new(), spare: Vec::new(), items: Vec::new() }
    }

    /// Sorts the entries of a bucket by a range of key bits. The bits above the range must be equal in all keys.
    fn sort(&mut self, keys: &mut [u64], items: &mut [T], bits: Range<u32>) -> Allocated<()> {
        self.reserve(keys.len())?;
        // Items of size 0 are sorted without an index.
        let entry_bits = if size_of::<T>() == 0 { 0 } else { usize::BITS - keys.len().leading_zeros() };
        // A word contains the key bits above the entry index, if both fit in 64 bits.
        let fits = bits.end - bits.start + entry_bits <= u64::BITS;
        match fits {
            true => sort_fields(&mut self.words, &mut self.spare, keys, &bits, entry_bits),
            false => sort_numbers(&mut self.words, keys, &bits),
        }
        let entry = |word: u64| (word & ((1 << entry_bits) - 1)) as usize;
        self.items.extend(self.words.iter().map(|&word| items[entry(word)]));
        items.copy_from_slice(&self.items);
        // The words contain all key bits that differ, so the keys are restored from the words without a gather.
        if fits && bits.start == 0 {
            let above = keys[0] >> bits.end << bits.end;
            keys.iter_mut().zip(&self.words).for_each(|(key, word)| *key = above | word >> entry_bits);
            return Ok(());
        }
        self.spare.clear();
        self.spare.extend(self.words.iter().map(|&word| keys[entry(word)]));
        keys.copy_from_slice(&self.spare);
        Ok(())
    }

    /// Reserves memory for `count` entries in each array; arrays are reused for all buckets.
    fn reserve(&mut self, count: usize) -> Allocated<()> {
        let RadixScratch { words, spare, items } = self;
        words.clear();
        spare.clear();
        items.clear();
        alloc::reserve(words, count)?;
        alloc::reserve(spare, count)?;
        alloc::reserve(items, count)
    }
}

/// Sorts words that contain the relevant key bits above the entry index.
fn sort_fields(words: &mut Vec<u64>, spare: &mut Vec<u64>, keys: &[u64], bits: &Range<u32>, entry_bits: u32) {
    let field = |key: u64| key << (u64::BITS - bits.end) >> (u64::BITS - bits.end) >> bits.start;
    let numbers = (0..keys.len() as u64).map(|entry| if entry_bits == 0 { 0 } else { entry });
    words.extend(keys.iter().zip(numbers).map(|(&key, entry)| field(key) << entry_bits | entry));
    sort_words(words, spare, entry_bits..entry_bits + bits.end - bits.start);
}

/// Sorts entry indices, for keys that do not fit in a word together with an index.
fn sort_numbers(words: &mut Vec<u64>, keys: &[u64], bits: &Range<u32>) {
    words.extend(0..keys.len() as u64);
    words.sort_unstable_by_key(|&entry| (keys[entry as usize] >> bits.start, entry));
}

/// Sorts `words`, which are already ordered by the bits below `bits`. Their bits above `bits` are 0.
///
/// The top digits are sorted one after another, the lowest digit first. Ties are sorted by comparison, so the worst
/// case is the worst case of a comparison sort.
fn sort_words(words: &mut Vec<u64>, spare: &mut Vec<u64>, bits: Range<u32>) {
    if words.len() < FEW {
        return words.sort_unstable();
    }
    spare.resize(words.len(), 0);
    let width = bits.end - bits.start;
    let first = if width <= ALL_DIGITS { bits.start } else { bits.end - FIRST_BITS };
    // Invariant: `words` are sorted by the bits from `first` to `shift`, stable for equal bits.
    for shift in (first..bits.end).step_by(DIGIT as usize) {
        sort_by_digit(words, spare, shift);
        std::mem::swap(words, spare);
    }
    if first > bits.start {
        words
            .chunk_by_mut(|a, b| a >> first == b >> first)
            .filter(|ties| ties.len() > 1)
            .for_each(<[u64]>::sort_unstable);
    }
}

/// Writes `words` into `sorted`, ordered by the digit at `shift`; words with the same digit keep their order.
fn sort_by_digit(words: &[u64], sorted: &mut [u64], shift: u32) {
    let digit = |word: u64| (word >> shift) as usize % (1 << DIGIT);
    let mut next = [0; 1 << DIGIT];
    words.iter().for_each(|&word| next[digit(word)] += 1);
    let mut start = 0;
    for place in &mut next {
        (*place, start) = (start, start + *place);
    }
    // Invariant: `next[d]` is the next free slot of digit `d`, and it stays below the first slot of digit `d + 1`.
    for &word in words {
        let place = &mut next[digit(word)];
        sorted[*place] = word;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudo-random numbers, the same in every run.
    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 31
        }
    }

    /// Sorts by all bits except the lowest `settled`.
    fn check_settled(keys: &[u64], settled: u32) {
        let max = keys.iter().fold(0, |max, &key| key.max(max));
        let bits = u64::BITS - max.leading_zeros();
        let write = |range: Range<usize>, from: u32, block: &mut [u64]| {
            // Bits that may be wrong are inverted.
            block.iter_mut().zip(&keys[range]).for_each(|(block, key)| *block = key ^ ((1 << from) - 1));
        };
        let mut buckets = Buckets::scatter(keys.len(), bits, 0, &write, |entry| entry).unwrap();
        let runs = buckets.sort(settled).unwrap();
        let mut expected: Vec<usize> = (0..keys.len()).collect();
        expected.sort_by_key(|&entry| keys[entry].checked_shr(settled));
        assert_eq!(buckets.items, expected);
        assert!(buckets.keys.iter().eq(expected.iter().map(|&entry| &keys[entry])));
        assert_eq!(runs.iter().sum::<usize>(), buckets.keys.chunk_by(|a, b| a == b).count());
        assert_eq!((runs.len(), buckets.ends.last()), (buckets.ends.len(), Some(&keys.len())));
    }

    fn check(keys: &[u64]) {
        check_settled(keys, 0);
    }

    #[test]
    fn keys_of_all_sizes_are_sorted_and_equal_ones_stay_in_input_order() {
        let mut next = numbers(1);
        for count in [0, 1, 2, FEW - 1, FEW, 5_000, 70_000, 150_000] {
            for bits in [0, 1, 7, 20, 24, 25, 40, 63, 64] {
                check(&(0..count).map(|_| next().checked_shr(64 - bits).unwrap_or(0)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn skewed_and_ordered_keys_are_sorted() {
        let mut next = numbers(2);
        check(&(0..100_000).map(|_| if next().is_multiple_of(10) { next() } else { next() % 5 }).collect::<Vec<_>>());
        check(&(0..100_000).map(|_| ((next() % 50) << 40) | (next() % 3)).collect::<Vec<_>>());
        check(&(0..100_000).rev().collect::<Vec<_>>());
        check(&(0..100_000).map(|entry| u64::MAX - entry / 3).collect::<Vec<_>>());
        check(&[u64::MAX; 1_000]);
    }

    #[test]
    fn settled_bits_are_not_looked_at() {
        let mut next = numbers(3);
        for count in [300, 100_000] {
            // In the last cases, the word of a key does not have enough bits for an entry index.
            for (high, settled) in [(1, 4), (3, 20), (12, 20), (20, 20), (44, 20), (58, 6)] {
                let mut keys: Vec<u64> = (0..count).map(|_| next() >> (64 - settled)).collect();
                keys.sort_unstable();
                keys.iter_mut().for_each(|key| *key |= next() >> (64 - high) << settled);
                check_settled(&keys, settled);
                // Puts most entries into one bucket.
                keys.iter_mut().skip(9).for_each(|key| *key &= (4 << settled) - 1);
                check_settled(&keys, settled);
            }
        }
    }
}
