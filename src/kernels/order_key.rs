//! Integers in the order of values.

use crate::element::{Number, Real};

/// Returns an integer key; a larger key is closer to the extreme. The key of NaN is above all other keys, or below all
/// keys if NaN is skipped.
#[inline(always)]
pub(crate) fn key_of<const IS_MAX: bool, const SKIPS_NAN: bool, T: Real>(value: T) -> i64 {
    let key = match value.to_number() {
        // The smallest integer maps to `i64::MIN`. Types have at most 64 bits, so the difference fits in 64 bits.
        Number::Integer(integer) => (integer - min_integer::<T>() + i128::from(i64::MIN)) as i64,
        Number::Real(real) if real.is_nan() => return if SKIPS_NAN { i64::MIN } else { i64::MAX },
        Number::Real(real) => in_order(real.to_bits() as i64),
        Number::Complex(..) => i64::MIN,
    };
    if IS_MAX { key } else { !key }
}

/// Returns the value of a key, if it has one.
#[inline(always)]
pub(crate) fn of_key<const IS_MAX: bool, const SKIPS_NAN: bool, T: Real>(key: i64) -> Option<T> {
    let straight = if IS_MAX { key } else { !key };
    T::from_number(match T::LOWEST.to_number() {
        Number::Integer(min) => Number::Integer(i128::from(straight) - i128::from(i64::MIN) + min),
        Number::Real(_) if SKIPS_NAN && key == i64::MIN => return None,
        Number::Real(_) if key == i64::MAX => Number::Real(f64::NAN),
        Number::Real(_) => Number::Real(f64::from_bits(in_order(straight) as u64)),
        Number::Complex(..) => return None,
    })
}

/// Converts the bits of a float to an integer in the order of the floats, and back. Negative floats count downward.
#[inline(always)]
fn in_order(bits: i64) -> i64 {
    // For a negative float all bits except the sign are flipped. The sign stays, so the function is its own inverse.
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[inline(always)]
fn min_integer<T: Real>() -> i128 {
    if let Number::Integer(min) = T::LOWEST.to_number() { min } else { 0 }
}
