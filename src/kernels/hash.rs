//! Hashes of keys by words of 64 bits.

use std::hash::{Hash, Hasher};

/// 2<sup>64</sup> divided by the golden ratio, rounded to an odd number. Multiplication by this number spreads nearby
/// keys.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the hash of a key: `mix` combines `start` with each word of the key, one after the other.
#[inline(always)]
pub(crate) fn hash_by<K: Hash>(key: K, start: u64, mix: impl Fn(u64, u64) -> u64) -> u64 {
    let mut mixed = Mixed { state: start, mix };
    key.hash(&mut mixed);
    mixed.finish()
}

struct Mixed<F> {
    state: u64,
    mix: F,
}

impl<F: Fn(u64, u64) -> u64> Hasher for Mixed<F> {
    fn write(&mut self, bytes: &[u8]) {
        // Keys of one byte use this function, because the default `write_u8` passes a slice of one byte.
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline(always)]
    fn write_u16(&mut self, word: u16) {
        // Narrow words are widened: each word of a key is one call of `mix`.
        self.write_u64(word.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.state = (self.mix)(self.state, word);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.state
    }
}
