//! Exact sums of floats: every digit of the sum is kept, and the result is rounded once.
//!
//! A finite `f64` is an integer times 2<sup>-1074</sup>. The accumulator is an integer of about 2000 bits, in digits of
//! 32 bits with additional bits for carries. Each addition changes a few digits, and carries are propagated only when
//! the additional bits may be exhausted. The sum of the digits does not depend on the order of the values.
//!
//! Products of two `f64` values have an accumulator of twice the size, [`Products`].

use super::accumulator_bytes::{Saved, byte, split};
use super::dyadic::Dyadic;

/// The exponent of the last bit of the smallest `f64`.
const MIN_EXPONENT: i32 = -1074;
/// The number of bits of a digit.
const BITS: usize = 32;
/// The number of additions before carries must be propagated. Each addition adds less than 2<sup>32</sup> to a digit.
const ADDITIONS: u32 = 1 << 30;

/// An exact sum of 2<sup>128</sup> values of type `f64`.
pub(super) type Exact = Digits<72, 0>;
/// An exact sum of 2<sup>128</sup> products of two values of type `f64`.
pub(super) type Products = Digits<140, 34>;

/// An exact sum: an integer times 2<sup>-1074 - 32 `BELOW`</sup>, and the sum of all values that are not finite.
#[derive(Debug, Clone)]
pub(super) struct Digits<const DIGITS: usize, const BELOW: usize> {
    digits: [i64; DIGITS],
    /// The number of additions since carries were last propagated.
    additions: u32,
    /// The sum of all values that are not finite: 0, an infinity or NaN.
    special: f64,
}

impl<const DIGITS: usize, const BELOW: usize> Digits<DIGITS, BELOW> {
    /// The exponent of the last bit.
    const LAST: i32 = MIN_EXPONENT - (BITS * BELOW) as i32;

    pub(super) fn new() -> Self {
        Digits { digits: [0; DIGITS], additions: 0, special: 0.0 }
    }

    /// Adds a value.
    pub(super) fn add(&mut self, value: f64) {
        match parts(value) {
            Some((integer, exponent)) => self.add_scaled(integer.into(), exponent),
            None => self.special += value,
        }
    }

    /// Adds a value `count` times.
    pub(super) fn add_times(&mut self, value: f64, count: u128) {
        let Some((integer, exponent)) = parts(value) else {
            self.special += if count > 0 { value } else { 0.0 };
            return;
        };
        for limb in 0..4 {
            let part = (count >> (limb * BITS)) as u32;
            self.add_scaled(i128::from(integer) * i128::from(part), exponent + (limb * BITS) as i32);
        }
    }

    /// Adds the product of two finite values `count` times.
    pub(super) fn add_product(&mut self, a: f64, b: f64, count: u128) {
        let (Some((a, a_exponent)), Some((b, b_exponent))) = (parts(a), parts(b)) else { return };
        let (product, exponent) = (i128::from(a) * i128::from(b), a_exponent + b_exponent);
        for limb in 0..4 {
            let low = product >> (limb * BITS) & 0xffff_ffff;
            let digit = if limb == 3 { product >> (3 * BITS) } else { low };
            for place in 0..4 {
                let part = (count >> (place * BITS)) as u32;
                self.add_scaled(digit * i128::from(part), exponent + ((limb + place) * BITS) as i32);
            }
        }
    }

    /// Adds the integer `high * 2^128 + low`.
    pub(super) fn add_integer(&mut self, high: i128, low: u128) {
        for (limb, part) in [low as u64, (low >> 64) as u64, high as u64].into_iter().enumerate() {
            self.add_scaled(part.into(), 64 * limb as i32);
        }
        self.add_scaled(high >> 64, 192);
    }

    /// Adds `integer * 2^exponent`, with an integer of at most 96 bits and sign, and an exponent of at least `LAST`.
    fn add_scaled(&mut self, integer: i128, exponent: i32) {
        let place = (exponent - Self::LAST) as usize;
        let (first, shifted) = (place / BITS, integer << (place % BITS));
        self.digits[first] += low_digit(shifted);
        self.digits[first + 1] += low_digit(shifted >> BITS);
        self.digits[first + 2] += low_digit(shifted >> (2 * BITS));
        self.digits[first + 3] += (shifted >> (3 * BITS)) as i64;
        self.additions += 1;
        if self.additions >= ADDITIONS {
            self.carry();
        }
    }

    /// Adds another sum. All its bits must be at or above the last bit of this sum.
    pub(super) fn merge<const N: usize, const LESS: usize>(&mut self, other: &Digits<N, LESS>) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        self.digits[BELOW - LESS..].iter_mut().zip(&other.digits).for_each(|(digit, other)| *digit += other);
        self.special += other.special;
        self.additions = 1;
    }

    /// Propagates carries, so that all digits except the last are in `0..2^32`.
    fn carry(&mut self) {
        let mut carried = 0;
        for digit in &mut self.digits[..DIGITS - 1] {
            let total = *digit + carried;
            *digit = total & 0xffff_ffff;
            carried = total >> BITS;
        }
        self.digits[DIGITS - 1] += carried;
        self.additions = 0;
    }

    /// Returns the sum divided by `count`, rounded to a float type. A zero is `+0.0`, and a division by zero yields
    /// NaN.
    pub(super) fn over(&self, count: u128, kind: FloatFormat) -> f64 {
        if count == 0 {
            return f64::NAN;
        }
        if self.special != 0.0 {
            return self.special;
        }
        let mut magnitude = self.clone();
        let is_negative = magnitude.make_positive();
        let (integer, exponent) = if count == 1 { magnitude.leading() } else { magnitude.quotient(count) };
        let magnitude = kind.nearest(integer, exponent);
        if is_negative && magnitude != 0.0 { -magnitude } else { magnitude }
    }

    /// Returns the square root of a sum that is not negative; the sum is first rounded to the bits of an `f64`.
    pub(super) fn root(mut self) -> f64 {
        if self.special != 0.0 {
            return self.special.sqrt();
        }
        self.carry();
        let (integer, exponent) = self.leading();
        let odd = exponent & 1;
        match parts(((integer << odd) as f64).sqrt()) {
            Some((root, last)) => FloatFormat::F64.nearest(root.unsigned_abs().into(), last + (exponent - odd) / 2),
            None => f64::NAN,
        }
    }

    /// Returns the sum with all digits; a sum that is not finite is an error.
    pub(super) fn number(&self) -> Result<Dyadic, f64> {
        if self.special != 0.0 {
            return Err(self.special);
        }
        let mut magnitude = self.clone();
        let is_negative = magnitude.make_positive();
        Ok(Dyadic::new(magnitude.digits.iter().map(|&digit| digit as u32).collect(), Self::LAST, is_negative))
    }

    /// Returns a few values that add up to the sum, if it has few digits or is not finite.
    pub(super) fn few(&self) -> Option<Vec<f64>> {
        if self.special != 0.0 {
            return Some(vec![self.special]);
        }
        let mut magnitude = self.clone();
        let sign = if magnitude.make_positive() { -1.0 } else { 1.0 };
        let mut digits = magnitude.digits.iter().enumerate().filter(|(_, digit)| **digit != 0);
        let value = |(at, digit): (usize, &i64)| {
            let exponent = Self::LAST + (at * BITS) as i32;
            let is_held = exponent >= MIN_EXPONENT && exponent + BITS as i32 <= 1023;
            is_held.then(|| sign * scale(*digit as f64, exponent))
        };
        let values = digits.by_ref().take(4).map(value).collect();
        if digits.next().is_none() { values } else { None }
    }

    /// Replaces the sum by its magnitude, with all carries propagated; returns whether it was negative.
    fn make_positive(&mut self) -> bool {
        self.carry();
        let is_negative = self.digits[DIGITS - 1] < 0;
        if is_negative {
            self.digits.iter_mut().for_each(|digit| *digit = -*digit);
            self.carry();
        }
        is_negative
    }

    /// Returns the leading bits and the exponent of the last bit.
    ///
    /// There are more leading bits than a float type has. The last bit is 1 if any remaining bit is 1.
    fn leading(&self) -> (u128, i32) {
        let Some(last) = self.digits.iter().rposition(|&digit| digit != 0) else { return (0, 0) };
        let digit = |back: usize| last.checked_sub(back).map_or(0, |at| self.digits[at] as u128);
        let top = digit(0) << (2 * BITS) | digit(1) << BITS | digit(2);
        let rest = self.digits[..last.saturating_sub(2)].iter().any(|&digit| digit != 0);
        (top << 1 | u128::from(rest), Self::LAST + (last as i32 - 2) * BITS as i32 - 1)
    }

    /// Returns [`leading`](Exact::leading) of the sum divided by `count`, by long division.
    fn quotient(&self, count: u128) -> (u128, i32) {
        let (mut top, mut remainder, mut rest) = (0u128, 0u128, false);
        let mut exponent = Self::LAST + (DIGITS * BITS) as i32;
        // The division continues with digits below the last digit, because sums of the smallest values are divided as
        // well.
        for &digit in self.digits.iter().rev().chain(&[0; 4]) {
            let divided = divide_digit(&mut remainder, digit as u32, count);
            if top >> 80 == 0 {
                top = top << BITS | u128::from(divided);
                exponent -= BITS as i32;
            } else {
                rest |= divided != 0;
            }
        }
        (top << 1 | u128::from(rest || remainder != 0), exponent - 1)
    }
}

/// A byte for the sign or a value that is not finite, the index of the first nonzero digit, and the number of digits.
///
/// The digits from the first to the last nonzero digit follow.
impl<const DIGITS: usize, const BELOW: usize> Saved for Digits<DIGITS, BELOW> {
    fn save(&self, bytes: &mut Vec<u8>) {
        let special = SPECIALS.iter().position(|special| special.to_bits() == self.special.to_bits());
        if self.special != 0.0 {
            return bytes.extend([special.unwrap_or(SPECIALS.len()) as u8, 0, 0]);
        }
        let mut magnitude = self.clone();
        let is_negative = magnitude.make_positive();
        let digits = &magnitude.digits;
        let first = digits.iter().position(|&digit| digit != 0).unwrap_or(0);
        let end = digits.iter().rposition(|&digit| digit != 0).map_or(first, |last| last + 1);
        bytes.extend([u8::from(is_negative) * NEGATIVE, first as u8, (end - first) as u8]);
        digits[first..end].iter().for_each(|&digit| bytes.extend((digit as u32).to_le_bytes()));
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let (sign, first, count) = (byte(bytes)?, usize::from(byte(bytes)?), usize::from(byte(bytes)?));
        let mut found = Self::new();
        if sign != NEGATIVE && sign != 0 {
            let special =
                if usize::from(sign) == SPECIALS.len() { f64::NAN } else { *SPECIALS.get(usize::from(sign))? };
            found.special = special;
            return ((first, count) == (0, 0)).then_some(found);
        }
        // The last digit is reserved for carries of later merges.
        let places = found.digits[..DIGITS - 1].get_mut(first..first + count)?;
        let encoded = split(bytes, count * size_of::<u32>())?.as_chunks().0;
        places.iter_mut().zip(encoded).for_each(|(place, digit)| *place = u32::from_le_bytes(*digit).into());
        let is_canonical = match &*places {
            [] => first == 0 && sign == 0,
            [one] => *one != 0,
            [first, .., last] => *first != 0 && *last != 0,
        };
        if sign == NEGATIVE {
            found.digits.iter_mut().for_each(|digit| *digit = -*digit);
            found.carry();
        }
        is_canonical.then_some(found)
    }
}

/// The special sum for each byte: 0 (finite), `inf` and `-inf`. The next byte means NaN.
const SPECIALS: [f64; 3] = [0.0, f64::INFINITY, f64::NEG_INFINITY];
/// The byte of a negative sum.
const NEGATIVE: u8 = 0xff;

/// Divides one more digit of the dividend and returns a digit of the quotient.
fn divide_digit(remainder: &mut u128, digit: u32, count: u128) -> u32 {
    if count >> 96 == 0 {
        let dividend = *remainder << BITS | u128::from(digit);
        *remainder = dividend % count;
        return (dividend / count) as u32;
    }
    // Larger counts need a division bit by bit, because the dividend has one bit more than 128.
    (0..BITS).rev().fold(0, |quotient, bit| {
        let is_wider = *remainder >> 127 == 1;
        *remainder = *remainder << 1 | u128::from(digit >> bit & 1);
        let fits = is_wider || *remainder >= count;
        if fits {
            *remainder = remainder.wrapping_sub(count);
        }
        quotient << 1 | u32::from(fits)
    })
}

/// A float type: its significand and its range.
///
/// The fields are the number of bits of the significand, and the last-bit exponents of the smallest and largest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatFormat {
    bits: u32,
    min_exponent: i32,
    max_exponent: i32,
}

impl FloatFormat {
    pub(super) const F64: FloatFormat = FloatFormat { bits: 53, min_exponent: MIN_EXPONENT, max_exponent: 971 };
    pub(super) const F32: FloatFormat = FloatFormat { bits: 24, min_exponent: -149, max_exponent: 104 };
    #[cfg(feature = "half")]
    pub(super) const F16: FloatFormat = FloatFormat { bits: 11, min_exponent: -24, max_exponent: 5 };
    #[cfg(feature = "half")]
    pub(super) const BF16: FloatFormat = FloatFormat { bits: 8, min_exponent: -133, max_exponent: 120 };

    /// Returns the value nearest to a number whose nearest `f64` is `near`. Returns `None` if `near` does not determine
    /// the value.
    ///
    /// `is_exact` is true if `near` is the number itself.
    #[inline]
    pub(super) fn round(self, near: f64, is_exact: bool) -> Option<f64> {
        match self.bits {
            // Adding +0 removes the sign of zero.
            53 => Some(near + 0.0),
            24 => {
                // If `near` is halfway between two values, the result depends on the number itself.
                let is_halfway = near.to_bits() & 0x1fff_ffff == 0x1000_0000;
                let is_normal = near.abs() >= f64::from(f32::MIN_POSITIVE) || (near == 0.0 && is_exact);
                (is_normal && (is_exact || !is_halfway)).then(|| f64::from(near as f32) + 0.0)
            }
            _ => self.round_by_shift(near, is_exact),
        }
    }

    /// [`round`](FloatFormat::round) to fewer bits, including subnormal values.
    ///
    /// Adding and subtracting a float whose last bit equals the last bit of the result rounds to this bit.
    #[inline(always)]
    fn round_by_shift(self, near: f64, is_exact: bool) -> Option<f64> {
        let limit = power(self.bits as i32 + self.max_exponent);
        let within = if near.abs() < limit { near } else { 0.0 };
        let exponent = (within.to_bits() >> 52 & 0x7ff) as i32 - 1022;
        let last = power((exponent - self.bits as i32).max(self.min_exponent));
        // The factor 1.5 keeps the exponent of the shift constant for values of both signs.
        let shift = last * (1.5 * power(52));
        let rounded = (within + shift) - shift;
        let is_halfway = (within - rounded).abs() == 0.5 * last;
        let is_beyond = (near.abs() >= limit) | (rounded.abs() >= limit);
        let found = if is_beyond { f64::INFINITY.copysign(near) } else { rounded };
        (!near.is_nan() & (is_exact | !is_halfway)).then_some(found)
    }

    /// Returns `integer * 2^exponent` as an `f64`, rounded to the nearest value of the type, ties to even.
    pub(super) fn nearest(self, integer: u128, exponent: i32) -> f64 {
        if integer == 0 {
            return 0.0;
        }
        let length = (128 - integer.leading_zeros()) as i32;
        let last = (exponent + length - self.bits as i32).max(self.min_exponent);
        let rounded = match last - exponent {
            drop @ ..=0 => integer << -drop,
            drop @ 1..=127 => {
                let (kept, rest) = (integer >> drop, integer << (128 - drop));
                kept + u128::from(rest > 1 << 127 || (rest == 1 << 127 && kept & 1 == 1))
            }
            _ => 0,
        };
        if last > self.max_exponent || (last == self.max_exponent && rounded >> self.bits != 0) {
            return f64::INFINITY;
        }
        scale(rounded as f64, last)
    }
}

/// Returns `value * 2^exponent`, for exact arguments with an exact result.
fn scale(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    value * power(half) * power(exponent - half)
}

/// Returns 2 to the power of `exponent`, which must be in the range of normal floats.
#[inline(always)]
pub(super) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

fn low_digit(wide: i128) -> i64 {
    (wide & 0xffff_ffff) as i64
}

/// Returns a finite value as an integer and the exponent of its last bit.
fn parts(value: f64) -> Option<(i64, i32)> {
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (integer, exponent) = match field {
        0x7ff => return None,
        0 => (fraction, MIN_EXPONENT),
        _ => (fraction | 1 << 52, field - 1 + MIN_EXPONENT),
    };
    Some((if value.is_sign_negative() { -integer } else { integer }, exponent))
}

#[cfg(all(test, feature = "half"))]
mod tests {
    use super::*;

    fn exactly(values: &[f64], kind: FloatFormat) -> f64 {
        let mut sum = Exact::new();
        values.iter().for_each(|&value| sum.add(value));
        sum.over(1, kind)
    }

    /// Compares the rounding of a number, of its neighbours, and of all nearby numbers that round to it with the
    /// rounding of all digits.
    fn check(number: f64, kind: FloatFormat) {
        for near in [number, number.next_up(), number.next_down()].into_iter().flat_map(|near| [near, -near]) {
            assert_eq!(kind.round(near, true).map(f64::to_bits), Some(exactly(&[near], kind).to_bits()), "{near:e}");
            let little = near.abs().max(1e-290) * 2f64.powi(-56);
            let [below, above] = [-little, little].map(|little| exactly(&[near, little], kind).to_bits());
            assert_eq!(kind.round(near, false).map(f64::to_bits), (below == above).then_some(above), "{near:e}");
        }
    }

    /// Tests the first, the last and some other numbers of each exponent. Also tests midpoints, also between subnormal
    /// values, and numbers that are rounded to midpoints or overflow.
    #[test]
    fn few_bits_are_rounded_as_all_digits_are() {
        for kind in [FloatFormat::F16, FloatFormat::BF16] {
            let max = (1u64 << kind.bits) - 1;
            for last in kind.min_exponent - 3..=kind.max_exponent + 2 {
                for integer in [0, 1, 2, 3, 37, 84, 85, max / 2, max - 1, max] {
                    for part in [0.0, 0.25, 0.5, 0.75, 1.0 - 2f64.powi(-30)] {
                        check((integer as f64 + part) * power(last), kind);
                    }
                }
            }
            assert_eq!(kind.round(f64::INFINITY, false), Some(f64::INFINITY));
            assert_eq!(kind.round(-f64::MAX, false), Some(f64::NEG_INFINITY));
            assert_eq!(kind.round(f64::NAN, false), None);
        }
    }
}
