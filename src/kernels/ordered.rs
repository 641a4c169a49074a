//! Medians in passes, of a type that nobody else needs to know: values come in as bytes, go out as keys that have their
//! order, and are counted elsewhere.

use crate::element::saved::values_of;
use crate::element::{Number, Real};
use crate::kernels::extreme::{key_of, of_key};
use crate::kernels::rank::Rule;

/// The order of values, and which of them are asked for.
pub trait Ordered: Send + Sync {
    /// The keys of values, whose bytes stand side by side; none where they are no values.
    fn keys(&self, values: &[u8]) -> Option<Vec<u64>>;

    /// Whether a key is that of a NaN.
    fn is_nan(&self, key: u64) -> bool;

    /// The value of what is not stored.
    fn gap(&self) -> Gap;

    /// Whether NaNs are left out; else one leaves a group without a value.
    fn skips_nan(&self) -> bool;

    /// The ranks in the middle of so many numbers, of which there is one.
    fn ranks(&self, numbers: u128) -> [u128; 2];

    /// How many words of 16 bits, from the highest on, tell all keys apart.
    fn words(&self) -> u32;

    /// The key with these words, the others of which are 0.
    fn complete(&self, words: u64) -> u64;
}

/// What is not stored, in the order of what is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// It does not count.
    Absent,
    /// It is NaN.
    Nan,
    /// It is a number, as are the keys from the first to the last, which are the same number.
    Level(u64, u64),
}

/// The medians of a type.
pub(crate) struct Middles<T> {
    pub(crate) rule: Rule,
    pub(crate) skips_nan: bool,
    pub(crate) gap: Option<T>,
}

/// The integers are as wide as they are, from the highest bit on: their last words are 0.
fn spare<T: Real>() -> u32 {
    if is_float::<T>() { 0 } else { u64::BITS - 8 * size_of::<T>() as u32 }
}

fn is_float<T: Real>() -> bool {
    matches!(T::LOWEST.to_number(), Number::Real(_))
}

/// A number that has the order of values: 0 of a NaN.
pub(crate) fn key_of_value<T: Real>(value: T) -> u64 {
    ((key_of::<true, true, T>(value) ^ i64::MIN) as u64) << spare::<T>()
}

/// The value with a key.
pub(crate) fn value_of<T: Real>(key: u64) -> Option<T> {
    of_key::<true, true, T>((key >> spare::<T>()) as i64 ^ i64::MIN)
}

impl<T: Real> Ordered for Middles<T> {
    fn keys(&self, values: &[u8]) -> Option<Vec<u64>> {
        Some(values_of::<T>(values)?.into_iter().map(key_of_value).collect())
    }

    fn is_nan(&self, key: u64) -> bool {
        is_float::<T>() && key == 0
    }

    fn gap(&self) -> Gap {
        match self.gap {
            None => Gap::Absent,
            Some(gap) if gap.isnan() => Gap::Nan,
            Some(gap) => {
                // Zeros of both signs are one number.
                let other = T::from_number(Number::Real(-0.0)).filter(|_| gap == T::ZERO).unwrap_or(gap);
                let [gap, zero, other] = [gap, if gap == T::ZERO { T::ZERO } else { gap }, other].map(key_of_value);
                Gap::Level(gap.min(zero).min(other), gap.max(zero).max(other))
            }
        }
    }

    fn skips_nan(&self) -> bool {
        self.skips_nan
    }

    fn ranks(&self, numbers: u128) -> [u128; 2] {
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

/// How many words of 16 bits, from the highest on, tell all keys apart. Floats are ordered as those of 64 bits, of whose
/// fractions they have the first bits.
pub(crate) fn words<T: Real>() -> u32 {
    match (is_float::<T>(), size_of::<T>() as u32) {
        (true, bytes) => [2, 2, 3, 4][bytes.ilog2() as usize],
        (false, bytes) => bytes.div_ceil(2),
    }
}

/// The key with these words, the others of which are 0. Of a float below 0 all bits are turned.
pub(crate) fn complete<T: Real>(key: u64) -> u64 {
    let rest = u64::MAX.checked_shr(16 * words::<T>()).unwrap_or(0);
    if is_float::<T>() && key >> 63 == 0 { key | rest } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rank::EvenCount;

    fn check<T: Real>(values: &[T]) {
        let order = Middles { rule: Rule::Middle(EvenCount::Mean), skips_nan: true, gap: None::<T> };
        let keys = order.keys(crate::element::saved::bytes_of(values)).unwrap();
        assert!(keys.is_sorted(), "{values:?}: {keys:x?}");
        for (&key, &value) in keys.iter().zip(values) {
            // One that is left out is never in the middle.
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
            let order = Middles { rule: Rule::Middle(EvenCount::Mean), skips_nan: true, gap: Some(fill) };
            let zeros = order.keys(crate::element::saved::bytes_of(&[-0.0, 0.0])).unwrap();
            assert_eq!(order.gap(), Gap::Level(zeros[0], zeros[1]));
        }
    }
}
