//! The numbers at two neighbouring ranks among values that are streamed several times and are never all in memory.
//!
//! The first pass counts the numbers by the first 16 bits of their keys. The counts determine these bits for the keys
//! at the ranks. The next pass reads only numbers whose keys start with these bits. It counts them by 16 more bits, or
//! collects them if they are few.

use crate::base::alloc::{self, Allocated};
use crate::element::Real;
use crate::kernels::op::Outcome;
use crate::kernels::ordered::{complete, key_of_value, value_of, words};

/// Passes all values of one group in chunks. The values are computed again for each pass. Returns false if some values
/// could not be computed.
pub(crate) type Pass<'a, T> = dyn Fn(&mut dyn FnMut(&[T])) -> bool + 'a;

/// The number of key bits that each pass determines.
const BITS: u32 = 16;

/// The largest number of keys that are collected in memory.
const FEW: u64 = 1 << 19;

/// The counts of the first pass.
pub(crate) struct Census {
    pub(crate) numbers: u64,
    pub(crate) nans: u64,
    /// The number of values per first 16 bits of the key.
    bins: Vec<u64>,
}

/// Equal numbers that are not streamed: the values of unstored positions.
#[derive(Clone, Copy)]
struct Equal {
    key: u64,
    count: u128,
}

/// A rank to find.
#[derive(Clone, Copy)]
struct RankTarget {
    /// The known first bits of the key at the rank, and their number.
    prefix: u64,
    known: u32,
    /// The rank among the numbers whose keys start with `prefix`, and the number of streamed values among these.
    rank: u128,
    count: u64,
}

impl Census {
    /// Counts all values; returns `None` if the pass does not deliver all values.
    pub(crate) fn of<T: Real>(pass: &Pass<'_, T>) -> Allocated<Option<Self>> {
        let mut census = Census { numbers: 0, nans: 0, bins: alloc::zeros(1 << BITS)? };
        let takes_chunks = pass(&mut |values| {
            for &value in values {
                match value.isnan() {
                    true => census.nans += 1,
                    false => census.bins[(key_of_value(value) >> (u64::BITS - BITS)) as usize] += 1,
                }
            }
        });
        census.numbers = census.bins.iter().sum();
        Ok(takes_chunks.then_some(census))
    }

    /// Returns the numbers at two ranks among the counted numbers and the equal numbers in `unstored`.
    ///
    /// Returns `None` if a pass does not deliver all values.
    pub(crate) fn at<T: Real>(
        self,
        ranks: [u128; 2],
        unstored: Option<(T, u128)>,
        pass: &Pass<'_, T>,
    ) -> Outcome<Option<[T; 2]>> {
        let equal = unstored.map(|(value, count)| Equal { key: key_of_value(value), count });
        let start = |rank| RankTarget { prefix: 0, known: 0, rank, count: self.numbers };
        let mut targets = ranks.map(|rank| start(rank).within(&self.bins, equal).or_equal(equal));
        // Every pass adds 16 known bits to each open target or completes its key, so the loop ends.
        while targets.iter().any(|target| target.known < BITS * words::<T>()) {
            let Some(narrowed) = narrowed(targets, equal, pass)? else { return Ok(None) };
            targets = narrowed;
        }
        // A key is complete after `words` words. The sign determines the remaining bits.
        let [low, high] = targets.map(|target| value_of(complete::<T>(target.prefix << (u64::BITS - target.known))));
        Ok(low.zip(high).map(|(low, high)| [low, high]))
    }
}

impl RankTarget {
    /// Returns whether a key starts with the known bits of the target.
    fn holds(&self, key: u64) -> bool {
        self.known == 0 || key >> (u64::BITS - self.known) == self.prefix
    }

    /// Returns the bin and the number of unstreamed values, if their key starts with the known bits.
    fn equals(&self, equal: Option<Equal>) -> Option<(usize, u128)> {
        let Equal { key, count } = equal.filter(|equal| self.holds(equal.key))?;
        Some((self.bin(key), count))
    }

    /// Returns the bin of a key that starts with the known bits.
    fn bin(&self, key: u64) -> usize {
        (key << self.known >> (u64::BITS - BITS)) as usize
    }

    /// Returns the target narrowed to the bin that contains the rank; the largest key if no bin contains the rank.
    fn within(self, bins: &[u64], equal: Option<Equal>) -> RankTarget {
        let (mut rank, equals) = (self.rank, self.equals(equal));
        // Invariant: `rank` is relative to the first number of `bin`.
        for (bin, &count) in bins.iter().enumerate() {
            let all = equals.filter(|(at, _)| *at == bin).map_or(0, |(_, count)| count).saturating_add(count.into());
            if rank < all {
                return RankTarget { prefix: self.prefix << BITS | bin as u64, known: self.known + BITS, rank, count };
            }
            rank -= all;
        }
        RankTarget { known: u64::BITS, prefix: u64::MAX, ..self }
    }

    /// Returns the target with its complete key, if only the unstreamed numbers start with the known bits.
    fn or_equal(self, equal: Option<Equal>) -> RankTarget {
        match equal.filter(|equal| self.count == 0 && self.holds(equal.key)) {
            Some(Equal { key, .. }) => RankTarget { prefix: key, known: u64::BITS, ..self },
            None => self,
        }
    }

    /// Returns whether both targets have the same known bits.
    fn is_as(&self, other: &RankTarget) -> bool {
        (self.prefix, self.known) == (other.prefix, other.known)
    }

    /// Returns whether all streamed numbers with the known bits fit in memory.
    fn is_few(&self) -> bool {
        self.count <= FEW
    }

    /// Returns the target after a pass.
    fn after(self, found: &mut PassResult, equal: Option<Equal>) -> RankTarget {
        match found {
            PassResult::Nothing => self,
            PassResult::Keys(keys) => self.among(keys, equal),
            PassResult::Bins(bins) => self.within(bins, equal).or_equal(equal),
        }
    }

    /// Returns the target with the key at the rank, given all streamed keys with the known bits.
    fn among(self, keys: &mut [u64], equal: Option<Equal>) -> RankTarget {
        let found = |key| RankTarget { prefix: key, known: u64::BITS, ..self };
        let equal = equal.filter(|equal| self.holds(equal.key));
        let (key, count) = equal.map_or((0, 0), |equal| (equal.key, equal.count));
        // Sorted order: `below` keys, then `count` equal unstreamed keys, then the other keys.
        let below = keys.iter().filter(|&&own| own < key).count() as u128;
        let rank = match self.rank {
            rank if rank < below || count == 0 => rank,
            rank if rank - below < count => return found(key),
            rank => rank - count,
        };
        // The rank is within the keys, except if the pass delivered fewer values than the earlier pass counted.
        match usize::try_from(rank).ok().filter(|rank| *rank < keys.len()) {
            Some(rank) => found(*keys.select_nth_unstable(rank).1),
            None => found(u64::MAX),
        }
    }
}

/// The result of a pass for one target.
enum PassResult {
    /// Nothing: the key is known.
    Nothing,
    Keys(Vec<u64>),
    Bins(Vec<u64>),
}

impl PassResult {
    fn new<T: Real>(target: &RankTarget) -> Allocated<PassResult> {
        Ok(match target {
            target if target.known >= BITS * words::<T>() => PassResult::Nothing,
            target if target.is_few() => PassResult::Keys(alloc::with_capacity(target.count as usize)?),
            _ => PassResult::Bins(alloc::zeros(1 << BITS)?),
        })
    }
}

/// Returns the targets after one more pass; `None` if the pass does not deliver all values.
fn narrowed<T: Real>(
    targets: [RankTarget; 2],
    equal: Option<Equal>,
    pass: &Pass<'_, T>,
) -> Allocated<Option<[RankTarget; 2]>> {
    let [low, high] = &targets;
    // Targets with the same known bits share one result, so values are counted once for both targets.
    let mut found =
        [PassResult::new::<T>(low)?, if high.is_as(low) { PassResult::Nothing } else { PassResult::new::<T>(high)? }];
    let takes_chunks = pass(&mut |values| {
        for key in values.iter().filter(|value| !value.isnan()).map(|&value| key_of_value(value)) {
            for (target, found) in targets.iter().zip(&mut found).filter(|(target, _)| target.holds(key)) {
                match found {
                    PassResult::Nothing => {}
                    // The capacity is the number counted in the earlier pass. If a pass delivers more values, they are
                    // ignored without an allocation.
                    PassResult::Keys(keys) if keys.len() == keys.capacity() => {}
                    PassResult::Keys(keys) => keys.push(key),
                    PassResult::Bins(bins) => bins[target.bin(key)] += 1,
                }
            }
        }
    });
    let [of_low, of_high] = &mut found;
    let high = if high.is_as(low) { high.after(of_low, equal) } else { high.after(of_high, equal) };
    Ok(takes_chunks.then(|| [low.after(of_low, equal), high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the numbers at all pairs of ranks against a sorted list.
    fn check<T: Real>(values: &[T], unstored: Option<(T, u128)>) {
        let pass = |take: &mut dyn FnMut(&[T])| {
            values.chunks(3).for_each(take);
            true
        };
        let mut sorted: Vec<T> = values.iter().copied().filter(|value| !value.isnan()).collect();
        unstored.iter().for_each(|&(value, count)| sorted.extend((0..count).map(|_| value)));
        sorted.sort_by_key(|&value| key_of_value(value));
        for low in 0..sorted.len() {
            let high = (low + 1).min(sorted.len() - 1);
            let census = Census::of(&pass).unwrap().unwrap();
            assert_eq!(census.numbers + census.nans, values.len() as u64);
            let found = census.at([low as u128, high as u128], unstored, &pass).unwrap().unwrap();
            assert!(found[0].same(sorted[low]) && found[1].same(sorted[high]), "{low} of {values:?} and {unstored:?}");
        }
    }

    #[test]
    fn ranks_are_those_of_a_sorted_list() {
        check(&[3.0, f64::NAN, -1.0, 3.0, 0.25, -0.0, 1e300, f64::NEG_INFINITY, 3.0000001], None);
        check(&[3.0, f64::NAN, -1.0, 3.0, 0.25, 1e300, f64::NEG_INFINITY, 3.0000001], Some((0.5, 4)));
        check(&[2.5f32, -1.0, 2.5, 7.0, -3.0], Some((2.5, 3)));
        check(&[0.0, -1.0, -0.0, 1.0, -0.0], Some((0.0, 2)));
        check(&[0.0, -1.0, 0.0, 1.0], Some((-0.0, 2)));
        check(&[7u64, u64::MAX, 0, 7, 1 << 40, (1 << 40) + 1], Some((7, 2)));
        check(&[-5i8, 5, 0, -128, 127], Some((-6, 1)));
        check(&[true, false, true], Some((false, 3)));
    }

    #[test]
    fn a_middle_that_comes_with_no_pass_is_known_after_the_first_one() {
        let passes = std::cell::Cell::new(0);
        let pass = |take: &mut dyn FnMut(&[f64])| {
            passes.set(passes.get() + 1);
            take(&[3.5, -2.0, 7.0]);
            true
        };
        let found = Census::of(&pass).unwrap().unwrap().at([50, 51], Some((0.0, 100)), &pass).unwrap().unwrap();
        assert_eq!((found, passes.get()), ([0.0; 2], 1));
    }

    /// Tests more numbers than the limit in memory. Their keys differ only in the last bits, so every pass is needed.
    #[test]
    fn many_numbers_that_begin_alike_take_a_pass_for_each_word() {
        let values: Vec<f64> = (0..3 * FEW).map(|at| f64::from_bits(1.0f64.to_bits() + at * 7 % (3 * FEW))).collect();
        let passes = std::cell::Cell::new(0);
        let pass = |take: &mut dyn FnMut(&[f64])| {
            passes.set(passes.get() + 1);
            values.chunks(1000).for_each(take);
            true
        };
        let census = Census::of(&pass).unwrap().unwrap();
        let middle = u128::from(3 * FEW / 2);
        let found = census.at([middle, middle + 1], None, &pass).unwrap().unwrap();
        let expected = [0, 1].map(|more| f64::from_bits(1.0f64.to_bits() + middle as u64 + more));
        assert_eq!(found, expected);
        assert_eq!(passes.get(), 4);
        let missing = |take: &mut dyn FnMut(&[f64])| !pass(take);
        assert!(Census::of(&missing).unwrap().is_none());
    }
}
