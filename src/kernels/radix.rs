//! Sorting entries by a key of at most 64 bits, together with an item that each of them carries.
//!
//! The entries are dealt into buckets by the top bits of their keys, and each bucket, small enough for a cache, is
//! sorted by itself. Items travel with their keys: fetching them afterwards, in the order found, would cost more than
//! all else.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::threads;

/// The keys that are formed at once.
pub(crate) const BLOCK: usize = 1 << 10;

/// Buckets have about 2^this entries, whose words fit the first-level cache.
const BUCKET: u32 = 12;

/// At most 2^this buckets: more places to write to than a processor translates addresses for cost more than they save.
const MOST_BUCKETS: u32 = 12;

/// A bucket of more entries is dealt into buckets of its own: so a few top bits that most keys share cost one more
/// pass, shared out over the threads, and no bucket outgrows a second-level cache.
const LARGE: usize = 1 << 16;

/// The bits of a word that are sorted at once.
const DIGIT: u32 = 8;

/// So many bits are sorted digit by digit. Of more only the top ones are, but for `TELLING` of them the entries of a
/// bucket mostly differ there, and the few that do not are compared.
const ALL_DIGITS: u32 = 3 * DIGIT;
const TELLING: u32 = 2 * DIGIT;

/// Fewer words than this are compared: the counts of all digits would take longer than they do.
const FEW: usize = 1 << 8;

/// Writes the keys of a range of entries.
pub(crate) type Keys<'a> = dyn Fn(Range<usize>, &mut [u64]) + Sync + 'a;

/// Writes the keys of a range of entries, of which the bits below a number of them need not be right.
pub(crate) type KeysFrom<'a> = dyn Fn(Range<usize>, u32, &mut [u64]) + Sync + 'a;

/// The item of each entry, from a list of them.
pub(crate) fn listed<T: Copy + Sync>(items: &[T]) -> impl Fn(usize) -> T + Sync + '_ {
    move |entry| items[entry]
}

/// Calls `visit` with the first entry of each block of a range and the keys of the block.
///
/// `keys` is a trait object, called once per block. So the compiler instantiates sorting once per type of items.
pub(crate) fn for_each_block(range: Range<usize>, keys: &Keys<'_>, visit: &mut dyn FnMut(usize, &[u64])) {
    let mut block = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(range.end - start)];
        keys(start..start + block.len(), block);
        visit(start, block);
    }
}

/// Entries in buckets, which are in order; in the end all entries are.
pub(crate) struct Buckets<T> {
    pub(crate) keys: Vec<u64>,
    pub(crate) items: Vec<T>,
    /// Where each bucket ends.
    pub(crate) ends: Vec<usize>,
    /// The lower bits of the keys, which differ within a bucket.
    low_bits: u32,
    /// The lowest bits, which are sorted but make no other key.
    tag: u32,
}

/// The places in one bucket that are filled by one thread.
struct Places<'a, T> {
    keys: &'a mut [u64],
    items: &'a mut [T],
    filled: usize,
}

/// What one thread deals: a range of entries, into places of its own in each bucket.
type Share<'a, T> = (Range<usize>, Vec<Places<'a, T>>);

/// How many keys of a range fall into each bucket.
fn bucket_sizes(range: Range<usize>, buckets: usize, low_bits: u32, keys: &Keys<'_>) -> Vec<usize> {
    let mut sizes = vec![0; buckets];
    for_each_block(range, keys, &mut |_, keys| {
        for &key in keys {
            sizes[(key >> low_bits) as usize] += 1;
        }
    });
    sizes
}

/// The entries of each part, and how many of them fall into each bucket.
type Parts = Few<(Range<usize>, Vec<usize>)>;

/// `count` entries in as many parts as pay.
fn parts_of(count: usize, buckets: usize, low_bits: u32, keys: &KeysFrom<'_>) -> Parts {
    let top = |range: Range<usize>, block: &mut [u64]| keys(range, low_bits, block);
    threads::map_parts(count, 3000, buckets, |range| (range.clone(), bucket_sizes(range, buckets, low_bits, &top)))
}

impl<T: Copy + Zeroable + Send + Sync> Buckets<T> {
    /// Deals `count` entries; `keys` writes the keys of a range of them, which have so many `bits`; those below the bit
    /// that it is told need not be right. The lowest `tag` ones are sorted by, but keys that differ there only count as
    /// one.
    ///
    /// Each thread deals a part of the entries, in order, into places of its own: equal keys stay in input order.
    pub(crate) fn deal(
        count: usize,
        bits: u32,
        tag: u32,
        keys: &KeysFrom<'_>,
        item: impl Fn(usize) -> T + Sync,
    ) -> Allocated<Self> {
        let wanted = (usize::BITS - count.leading_zeros()).saturating_sub(BUCKET).min(MOST_BUCKETS);
        let low_bits = bits.saturating_sub(wanted).clamp(tag, u64::BITS - 1);
        let buckets = 1 << (bits - low_bits);
        let parts = parts_of(count, buckets, low_bits, keys);
        let (all_keys, items) = (alloc::zeros(count)?, alloc::zeros(count)?);
        let mut all = Buckets { keys: all_keys, items, ends: Vec::with_capacity(buckets), low_bits, tag };
        let shares = all.share_out(&parts, buckets);
        let whole = |range: Range<usize>, block: &mut [u64]| keys(range, 0, block);
        threads::map_each(shares, count, || (), |(), share| fill(share, low_bits, &whole, &item));
        Ok(all)
    }

    /// The places of each part in each bucket, where its entries come behind those of the parts before it.
    fn share_out(&mut self, parts: &[(Range<usize>, Vec<usize>)], buckets: usize) -> Few<Share<'_, T>> {
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
            shares[at % parts.len()].1.push(Places { keys, items, filled: 0 });
        }
        shares
    }

    /// Sorts every bucket, and with that all entries; equal keys stay in input order.
    ///
    /// The lowest bits, so many as are `settled`, need not be looked at: entries that agree on the others come in
    /// order. Gives the number of different keys in each bucket.
    pub(crate) fn sort(&mut self, settled: u32) -> Allocated<Few<usize>> {
        let (count, low_bits, tag) = (self.keys.len(), self.low_bits, self.tag);
        let keys = threads::split_at_ends(&mut self.keys, &self.ends);
        let buckets = keys.into_iter().zip(threads::split_at_ends(&mut self.items, &self.ends)).collect();
        let sort = |scratch: &mut Scratch<T>, (keys, items): (&mut [u64], &mut [T])| {
            if low_bits > settled && !keys.is_sorted() {
                match keys.len() > LARGE {
                    true => sort_large(keys, items, settled, low_bits)?,
                    false => scratch.sort(keys, items, settled..low_bits)?,
                }
            }
            Ok(count_runs(keys, tag))
        };
        threads::map_each(buckets, count, Scratch::new, sort).into_iter().collect()
    }
}

/// Sorts a large bucket, whose keys agree above their `low_bits`.
fn sort_large<T: Copy + Zeroable + Send + Sync>(
    keys: &mut [u64],
    items: &mut [T],
    settled: u32,
    low_bits: u32,
) -> Allocated<()> {
    // Bits that no two keys differ in make no buckets.
    let differing = keys.iter().fold(0, |differing, key| differing | (key ^ keys[0]));
    let low_bits = low_bits.min(u64::BITS - differing.leading_zeros());
    let above = keys[0] >> low_bits << low_bits;
    let low = |range: Range<usize>, _: u32, block: &mut [u64]| {
        block.iter_mut().zip(&keys[range]).for_each(|(low, key)| *low = key ^ above);
    };
    let mut inner = Buckets::deal(keys.len(), low_bits, 0, &low, listed(items))?;
    inner.sort(settled)?;
    keys.iter_mut().zip(&inner.keys).for_each(|(key, low)| *key = above | low);
    items.copy_from_slice(&inner.items);
    Ok(())
}

/// Writes each entry of a share to the next place in its bucket.
fn fill<T>((range, mut buckets): Share<'_, T>, low_bits: u32, keys: &Keys<'_>, item: impl Fn(usize) -> T) {
    for_each_block(range, keys, &mut |start, keys| {
        for (&key, entry) in keys.iter().zip(start..) {
            let places = &mut buckets[(key >> low_bits) as usize];
            places.keys[places.filled] = key;
            places.items[places.filled] = item(entry);
            places.filled += 1;
        }
    });
}

/// How many runs of equal ones `keys` falls into, their lowest `tag` bits left out.
pub(crate) fn count_runs(keys: &[u64], tag: u32) -> usize {
    let differ = |(key, next): &(&u64, &u64)| *key >> tag != *next >> tag;
    usize::from(!keys.is_empty()) + keys.iter().zip(keys.iter().skip(1)).filter(differ).count()
}

/// What a thread needs to sort one bucket after another.
struct Scratch<T> {
    words: Vec<u64>,
    spare: Vec<u64>,
    items: Vec<T>,
}

impl<T: Copy> Scratch<T> {
    fn new() -> Self {
        Scratch { words: Vec::new(), spare: Vec::new(), items: Vec::new() }
    }

    /// Sorts the entries of a bucket by a range of the bits of their keys, which agree on those above.
    fn sort(&mut self, keys: &mut [u64], items: &mut [T], bits: Range<u32>) -> Allocated<()> {
        self.reserve(keys.len())?;
        // Items without a size need not be found again.
        let entry_bits = if size_of::<T>() == 0 { 0 } else { usize::BITS - keys.len().leading_zeros() };
        let fits = bits.end - bits.start + entry_bits <= u64::BITS;
        match fits {
            true => sort_fields(&mut self.words, &mut self.spare, keys, &bits, entry_bits),
            false => sort_numbers(&mut self.words, keys, &bits),
        }
        let entry = |word: u64| (word & ((1 << entry_bits) - 1)) as usize;
        self.items.extend(self.words.iter().map(|&word| items[entry(word)]));
        items.copy_from_slice(&self.items);
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

    /// Room for so many entries in each of the arrays, which are the same for all buckets.
    fn reserve(&mut self, count: usize) -> Allocated<()> {
        let Scratch { words, spare, items } = self;
        words.clear();
        spare.clear();
        items.clear();
        alloc::reserve(words, count)?;
        alloc::reserve(spare, count)?;
        alloc::reserve(items, count)
    }
}

/// Sorts words of the bits that count, above the number of the entry.
fn sort_fields(words: &mut Vec<u64>, spare: &mut Vec<u64>, keys: &[u64], bits: &Range<u32>, entry_bits: u32) {
    let field = |key: u64| key << (u64::BITS - bits.end) >> (u64::BITS - bits.end) >> bits.start;
    let numbers = (0..keys.len() as u64).map(|entry| if entry_bits == 0 { 0 } else { entry });
    words.extend(keys.iter().zip(numbers).map(|(&key, entry)| field(key) << entry_bits | entry));
    sort_words(words, spare, entry_bits..entry_bits + bits.end - bits.start);
}

/// Sorts the numbers of the entries, where a word does not hold both.
fn sort_numbers(words: &mut Vec<u64>, keys: &[u64], bits: &Range<u32>) {
    words.extend(0..keys.len() as u64);
    words.sort_unstable_by_key(|&entry| (keys[entry as usize] >> bits.start, entry));
}

/// Sorts `words`, which come in the order of the bits below `bits` and have none above.
///
/// The top digits go one after another, the lowest first; entries that agree on them are compared, so the worst case
/// is that of a sort by comparison.
fn sort_words(words: &mut Vec<u64>, spare: &mut Vec<u64>, bits: Range<u32>) {
    if words.len() < FEW {
        return words.sort_unstable();
    }
    spare.resize(words.len(), 0);
    let width = bits.end - bits.start;
    let first = if width <= ALL_DIGITS { bits.start } else { bits.end - TELLING };
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

/// Writes `words` into `sorted` in the order of the digit at `shift`, those with the same digit in the order they have.
fn sort_by_digit(words: &[u64], sorted: &mut [u64], shift: u32) {
    let digit = |word: u64| (word >> shift) as usize % (1 << DIGIT);
    let mut next = [0; 1 << DIGIT];
    words.iter().for_each(|&word| next[digit(word)] += 1);
    let mut start = 0;
    for place in &mut next {
        (*place, start) = (start, start + *place);
    }
    for &word in words {
        let place = &mut next[digit(word)];
        sorted[*place] = word;
        *place += 1;
    }
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

    /// Sorts by all but the lowest `settled` bits.
    fn check_settled(keys: &[u64], settled: u32) {
        let greatest = keys.iter().fold(0, |greatest, &key| key.max(greatest));
        let bits = u64::BITS - greatest.leading_zeros();
        let write = |range: Range<usize>, from: u32, block: &mut [u64]| {
            // What need not be right is wrong.
            block.iter_mut().zip(&keys[range]).for_each(|(block, key)| *block = key ^ ((1 << from) - 1));
        };
        let mut buckets = Buckets::deal(keys.len(), bits, 0, &write, |entry| entry).unwrap();
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
            // The last ones leave no bits for the number of an entry beside its key.
            for (high, settled) in [(1, 4), (3, 20), (12, 20), (20, 20), (44, 20), (58, 6)] {
                let mut keys: Vec<u64> = (0..count).map(|_| next() >> (64 - settled)).collect();
                keys.sort_unstable();
                keys.iter_mut().for_each(|key| *key |= next() >> (64 - high) << settled);
                check_settled(&keys, settled);
                // Most entries in one bucket.
                keys.iter_mut().skip(9).for_each(|key| *key &= (4 << settled) - 1);
                check_settled(&keys, settled);
            }
        }
    }
}
