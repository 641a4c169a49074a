//! Pseudo-random numbers that depend only on a seed and a position, in any order of calls.

/// Returns the bits of `number` mixed by the finalizer of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns pseudo-random bits for a position under a seed.
pub(crate) fn bits(seed: u64, place: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The rounds of the Feistel network. Four rounds yield a pseudo-random permutation. Two additional rounds cost little
/// time.
const ROUNDS: u64 = 6;

/// A permutation of the numbers below a size: a Feistel network of an even number of bits, repeated until the result is
/// below the size.
pub(crate) struct Permutation {
    size: u128,
    half: u32,
    seed: u64,
}

impl Permutation {
    /// Returns the permutation of `size` numbers; `size` must not be 0 and must be below 2^127.
    pub(crate) fn new(size: u128, seed: u64) -> Self {
        let bits = u128::BITS - (size - 1).leading_zeros();
        Permutation { size, half: bits.div_ceil(2), seed }
    }

    /// Returns the number at a position below the size.
    pub(crate) fn at(&self, place: u128) -> u128 {
        let mut number = self.network(place);
        // The network permutes at most four times as many numbers as `size`. Its cycle returns to a number below
        // `size`, so the loop ends after a few steps.
        while number >= self.size {
            number = self.network(number);
        }
        number
    }

    fn network(&self, number: u128) -> u128 {
        let mask = ((1u128 << self.half) - 1) as u64;
        // Both halves have `half` bits.
        let (mut left, mut right) = ((number >> self.half) as u64, number as u64 & mask);
        for round in 0..ROUNDS {
            let key = bits(self.seed, round);
            // Each round is invertible, so the network is a permutation.
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (u128::from(left) << self.half) | u128::from(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for size in [1, 2, 3, 10, 64, 1000, 4097] {
            for seed in [0, 1, u64::MAX] {
                let permutation = Permutation::new(size, seed);
                let mut numbers: Vec<u128> = (0..size).map(|place| permutation.at(place)).collect();
                assert!(size < 64 || !numbers.is_sorted());
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..size));
            }
        }
    }

    #[test]
    fn wide_sizes_are_permuted() {
        for size in [1u128 << 60, (1 << 64) + 1, (1 << 126) + 5] {
            let permutation = Permutation::new(size, 7);
            assert!((0..100).all(|place| permutation.at(place) < size && permutation.at(place) != place));
        }
    }
}
