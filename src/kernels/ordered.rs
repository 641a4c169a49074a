//! Medians in several passes for a dynamically typed input: values arrive as bytes and are converted to ordered keys.
//!
//! The caller counts the keys.

use crate::element::accumulator_bytes::values_of;
use crate::element::{Number, Real};
use crate::kernels::order_key::{key_of, of_key};
use crate::kernels::rank::Rule;

/// The order of values, and the ranks to find.
pub trait RankSearch: Send + Sync {
    /// Returns the keys of values given as bytes; `None` if the bytes are not values of the type.
    fn keys(&self, values: &[u8]) -> Option<Vec<u64>>;

    /// Returns whether a key is the key of NaN.
    fn is_nan(&self, key: u64) -> bool;

    /// Returns the value of unstored positions.
    fn fill_key(&self) -> FillKey;

    /// Returns whether NaNs are ignored; otherwise a NaN makes the result of its group NaN.
    fn skips_nan(&self) -> bool;

    /// Returns the two middle ranks among `numbers` numbers. `numbers` must be at least 1.
    fn ranks(&self, numbers: u128) -> [u128; 2];

    /// Returns the number of 16-bit words, from the highest on, that distinguish all keys.
    fn words(&self) -> u32;

    /// Returns the key with the given high words; the other words are 0 in `words`.
    fn complete(&self, words: u64) -> u64;
}

/// The value of unstored positions, as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillKey {
    /// Unstored positions are ignored or do not exist.
    Absent,
    /// The fill is NaN.
    Nan,
    /// The fill is a number; all keys from the first to the last represent the same number.
    Number(u64, u64),
}

/// The median or quantile of values of type `T`.
pub(crate) struct Middles<T> {
    pub(crate) rule: Rule,
    pub(crate) skips_nan: bool,
    pub(crate) implicit: Option<T>,
}

/// Returns the number of low bits that are 0 in keys of integers. Integers are in the high bits of keys.
fn unused_bits<T: Real>() -> u32 {
    if is_float::<T>() { 0 } else { u64::BITS - 8 * size_of::<T>() as u32 }
}

fn is_float<T: Real>() -> bool {
    matches!(T::LOWEST.to_number(), Number::Real(_))
}

/// Returns a key with the order of the values; the key of NaN is 0.
pub(crate) fn key_of_value<T: Real>(value: T) -> u64 {
    // Flipping the top bit maps the order of signed keys to the order of unsigned keys.
    ((key_of::<true, true, T>(value) ^ i64::MIN) as u64) << unused_bits::<T>()
}

/// Returns the value of a key.
pub(crate) fn value_of<T: Real>(key: u64) -> Option<T> {
    of_key::<true, true, T>((key >> unused_bits::<T>()) as i64 ^ i64::MIN)
}

impl<T: Real> RankSearch for Middles<T> {
    fn keys(&self, values: &[u8]) -> Option<Vec<u64>> {
        Some(values_of::<T>(values)?.into_iter().map(key_of_value).collect())
    }

    fn is_nan(&self, key: u64) -> bool {
        is_float::<T>() && key == 0
    }

    fn fill_key(&self) -> FillKey {
        match self.implicit {
            None => FillKey::Absent,
            Some(implicit) if implicit.isnan() => FillKey::Nan,
            Some(implicit) => {
                // Zeros of both signs are equal, so the range covers the keys of both.
                let other = T::from_number(Number::Real(-0.0)).filter(|_| implicit == T::ZERO).unwrap_or(implicit);
                let [implicit, zero, other] =
                    [implicit, if implicit == T::ZERO { T::ZERO } else { implicit }, other].map(key_of_value);
                FillKey::Number(implicit.min(zero).min(other), implicit.max(zero).max(other))
            }
        }
    }

    fn skips_nan(&self) -> bool {
        self.skips_nan
    }

    fn ranks(&self, numbers: u128) -> [u128; 2] {
        // `place` requires at least one number; for 0 numbers both ranks are 0.
        let place = self.rule.place(numbers.max(1));
        [place.low, place.high]
    }

    fn words(&self) -> u32 {
        words::<T>()
    }

    fn complete(&self, words: u64) -> u64 {
        complete::<T>(words)
    }
}

/// Returns the number of 16-bit words, from the highest on, that distinguish all keys.
///
/// Floats are ordered by their `f64` keys, and narrower floats use only the first bits of the fraction.
pub(crate) fn words<T: Real>() -> u32 {
    match (is_float::<T>(), size_of::<T>() as u32) {
        // Indexed by the logarithm of the bytes: 1 or 2 bytes (half types), 4 bytes (`f32`), 8 bytes (`f64`).
        (true, bytes) => [2, 2, 3, 4][bytes.ilog2() as usize],
        (false, bytes) => bytes.div_ceil(2),
    }
}

/// Returns the key with these high words. The bits of negative floats are inverted, so their other words are all ones.
pub(crate) fn complete<T: Real>(key: u64) -> u64 {
    // If all words are given, the shift is 64, and there are no more bits to set.
    let rest = u64::MAX.checked_shr(16 * words::<T>()).unwrap_or(0);
    if is_float::<T>() && key >> 63 == 0 { key | rest } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rank::EvenCount;

    fn check<T: Real>(values: &[T]) {
        let order = Middles { rule: Rule::Middle(EvenCount::Mean), skips_nan: true, implicit: None::<T> };
        let keys = order.keys(crate::element::accumulator_bytes::bytes_of(values)).unwrap();
        assert!(keys.is_sorted(), "{values:?}: {keys:x?}");
        for (&key, &value) in keys.iter().zip(values) {
            // NaN is ignored and never a middle value.
            assert!(value_of::<T>(key).map_or(value.isnan(), |found| found.same(value)), "{value:?}");
            let rest = u64::MAX.checked_shr(16 * order.words()).unwrap_or(0);
            assert!(order.is_nan(key) || order.complete(key & !rest) == key, "{value:?}: {key:x}");
            assert_eq!(order.is_nan(key), value.isnan());
        }
    }

    #[test]
    fn keys_have_the_order_of_values() {
        check(&[false, true]);
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[0, 1, u16::MAX]);
        check(&[i32::MIN, -70000, 0, 1, i32::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[f64::NAN, f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, f64::MAX, f64::INFINITY]);
        check(&[f32::NAN, f32::NEG_INFINITY, f32::MIN, -0.1, -1e-45, -0.0, 0.0, 1e-45, 0.1, f32::MAX, f32::INFINITY]);
        #[cfg(feature = "half")]
        {
            use half::{bf16, f16};
            check(&[f16::NAN, f16::NEG_INFINITY, f16::MIN, f16::from_bits(0x8001), f16::from_bits(1), f16::MAX]);
            check(&[bf16::NAN, bf16::NEG_INFINITY, bf16::MIN, bf16::from_bits(0x8001), bf16::from_bits(1), bf16::MAX]);
        }
    }

    #[test]
    fn both_zeros_are_one_number() {
        for fill in [0.0, -0.0] {
            let order = Middles { rule: Rule::Middle(EvenCount::Mean), skips_nan: true, implicit: Some(fill) };
            let zeros = order.keys(crate::element::accumulator_bytes::bytes_of(&[-0.0, 0.0])).unwrap();
            assert_eq!(order.fill_key(), FillKey::Number(zeros[0], zeros[1]));
        }
    }
}
