//! Real numbers with all digits, and their products, differences, quotients and roots.
//!
//! An exact sum is an integer times a power of two. Differences and products of such numbers are exact. A quotient is
//! rounded once, to a float type.

use super::exact::FloatFormat;

/// The number of bits of a digit.
const BITS: usize = 32;
/// The number of digits of a quotient.
const QUOTIENT: usize = 4;

/// A real number: an integer times 2<sup>`exponent`</sup>.
///
/// The integer is the list of its digits, from the last digit to the first. The first and the last digit are not zero,
/// and zero does not have digits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dyadic {
    digits: Vec<u32>,
    exponent: i32,
    is_negative: bool,
}

impl Dyadic {
    /// Returns a number from its digits, which may be zero.
    pub(super) fn new(mut digits: Vec<u32>, exponent: i32, is_negative: bool) -> Self {
        let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
        digits.truncate(len);
        let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
        digits.drain(..zeros);
        let exponent = if digits.is_empty() { 0 } else { exponent + (zeros * BITS) as i32 };
        Dyadic { is_negative: is_negative && !digits.is_empty(), digits, exponent }
    }

    /// Returns an integer.
    pub(crate) fn integer(value: i128) -> Self {
        let magnitude = value.unsigned_abs();
        Dyadic::new((0..4).map(|at| (magnitude >> (at * BITS)) as u32).collect(), 0, value < 0)
    }

    /// Returns whether the number is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Returns 1 or -1, or NaN for zero.
    pub(crate) fn sign(&self) -> f64 {
        match (self.is_zero(), self.is_negative) {
            (true, _) => f64::NAN,
            (false, true) => -1.0,
            (false, false) => 1.0,
        }
    }

    /// Returns the number with the other sign.
    fn negated(self) -> Self {
        Dyadic { is_negative: !self.is_negative && !self.is_zero(), ..self }
    }

    /// Returns the exact product.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut digits = vec![0; self.digits.len() + other.digits.len()];
        for (at, &left) in self.digits.iter().enumerate() {
            let mut carry = 0;
            for (to, &right) in digits[at..].iter_mut().zip(&other.digits) {
                let total = u64::from(left) * u64::from(right) + u64::from(*to) + carry;
                (*to, carry) = (total as u32, total >> BITS);
            }
            digits[at + other.digits.len()] = carry as u32;
        }
        Dyadic::new(digits, self.exponent + other.exponent, self.is_negative != other.is_negative)
    }

    /// Returns the exact sum.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self.is_zero(), other.is_zero()) {
            (true, _) => return other.clone(),
            (_, true) => return self.clone(),
            _ => {}
        }
        let last = self.exponent.min(other.exponent);
        let end = |number: &Self| (number.exponent - last) as usize / BITS + number.digits.len() + 2;
        let mut sums = vec![0i64; end(self).max(end(other))];
        for number in [self, other] {
            let place = (number.exponent - last) as usize;
            for (at, &digit) in number.digits.iter().enumerate() {
                let shifted = u64::from(digit) << (place % BITS);
                let sign = if number.is_negative { -1 } else { 1 };
                sums[place / BITS + at] += sign * (shifted & 0xffff_ffff) as i64;
                sums[place / BITS + at + 1] += sign * (shifted >> BITS) as i64;
            }
        }
        let is_negative = sums.iter().rev().find(|&&sum| sum != 0).is_some_and(|&sum| sum < 0);
        let (sign, mut carried) = (if is_negative { -1 } else { 1 }, 0);
        let carry = |sum: i64| {
            let total = sign * sum + carried;
            carried = total >> BITS;
            total as u32
        };
        Dyadic::new(sums.into_iter().map(carry).collect(), last, is_negative)
    }

    /// Returns the exact difference.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.clone().negated())
    }

    /// Returns the quotient, rounded to a float type. A zero is `+0.0`, and a division by zero yields NaN.
    pub(crate) fn over(&self, divisor: &Self, kind: FloatFormat) -> f64 {
        if divisor.is_zero() {
            return f64::NAN;
        }
        let Some(BinaryQuotient { integer, exponent, is_exact }) = self.divided(divisor) else { return 0.0 };
        let is_negative = self.is_negative != divisor.is_negative;
        // The rounding accepts fewer bits than the quotient has. The last bit is 1 if any later bit is 1.
        let rest = integer & 3 != 0 || !is_exact;
        with_sign(kind.nearest(integer >> 2 << 1 | u128::from(rest), exponent + 1), is_negative)
    }

    /// Returns the quotient by the square root of a number, rounded to a float type. A zero is `+0.0`, and a division
    /// by zero yields NaN.
    ///
    /// `square` is not negative.
    pub(crate) fn over_root(&self, square: &Self, kind: FloatFormat) -> f64 {
        if square.is_zero() {
            return f64::NAN;
        }
        let Some(BinaryQuotient { integer, exponent, is_exact }) = self.times(self).divided(square) else { return 0.0 };
        // The exponent of a square is even.
        let odd = exponent & 1;
        let even = integer >> odd;
        let root = even.isqrt();
        let is_exact = is_exact && even << odd == integer && root * root == even;
        let integer = root << 1 | u128::from(!is_exact);
        with_sign(kind.nearest(integer, (exponent + odd) / 2 - 1), self.is_negative)
    }

    /// Returns the magnitude of the quotient of two numbers; `None` if it is zero. The divisor is not zero.
    ///
    /// The first bit of the dividend is made the second bit of its first digit, and the first bit of the divisor is made
    /// the first bit of its first digit. The quotient then has 127 or 128 bits.
    fn divided(&self, divisor: &Self) -> Option<BinaryQuotient> {
        let down = self.digits.last()?.leading_zeros() as i32 - 1;
        let up = divisor.digits.last()?.leading_zeros() as usize;
        let (mut dividend, mut last) = match down {
            -1 => (shifted(&self.digits, BITS - 1), self.exponent - (BITS as i32 - 1)),
            down => (shifted(&self.digits, down as usize), self.exponent - down),
        };
        let divisor_digits = shifted(&divisor.digits, up);
        let count = divisor_digits.len() + QUOTIENT;
        let (dropped, missing) = (dividend.len().saturating_sub(count), count.saturating_sub(dividend.len()));
        let mut is_exact = dividend.drain(..dropped).all(|digit| digit == 0);
        dividend.splice(..0, std::iter::repeat_n(0, missing));
        last += (dropped as i32 - missing as i32) * BITS as i32;
        let integer = divide(&mut dividend, &divisor_digits);
        is_exact &= dividend.iter().all(|&digit| digit == 0);
        Some(BinaryQuotient { integer, exponent: last - (divisor.exponent - up as i32), is_exact })
    }
}

/// The magnitude of a quotient: at least an integer times 2<sup>`exponent`</sup>, and less than the next integer.
struct BinaryQuotient {
    integer: u128,
    exponent: i32,
    /// True if the quotient is the integer times the power.
    is_exact: bool,
}

/// Returns a magnitude with a sign. Zero does not have a sign.
fn with_sign(magnitude: f64, is_negative: bool) -> f64 {
    if is_negative && magnitude != 0.0 { -magnitude } else { magnitude }
}

/// Returns the digits of an integer times 2<sup>`bits`</sup>, for less than 32 bits. The first digit is not zero.
fn shifted(digits: &[u32], bits: usize) -> Vec<u32> {
    let mut carried = 0;
    let mut found: Vec<u32> = Vec::with_capacity(digits.len() + 1);
    for &digit in digits {
        let wide = u64::from(digit) << bits | carried;
        found.push(wide as u32);
        carried = wide >> BITS;
    }
    if carried != 0 {
        found.push(carried as u32);
    }
    found
}

/// Divides digits by fewer digits, and leaves the remainder in their place. Returns the quotient.
///
/// The first bit of the divisor is 1, and the quotient has at most [`QUOTIENT`] digits: this is algorithm D of Knuth.
fn divide(dividend: &mut [u32], divisor: &[u32]) -> u128 {
    let (count, mut quotient) = (divisor.len(), 0);
    let first = u64::from(divisor[count - 1]);
    for at in (0..QUOTIENT).rev() {
        let part = &mut dividend[at..=at + count];
        let leading = u64::from(part[count]) << BITS | u64::from(part[count - 1]);
        // The estimate from the first digits is at most 2 above the digit.
        let mut digit = (leading / first).min(0xffff_ffff);
        let mut high = subtract(part, divisor, digit);
        while high < 0 {
            digit -= 1;
            high += add(part, divisor);
        }
        part[count] = high as u32;
        quotient = quotient << BITS | u128::from(digit);
    }
    quotient
}

/// Subtracts the product of digits and a digit, except from the first digit. Returns the first digit less what it owes.
fn subtract(from: &mut [u32], digits: &[u32], factor: u64) -> i64 {
    let (mut carry, mut borrow) = (0, 0);
    for (own, &digit) in from.iter_mut().zip(digits) {
        let product = factor * u64::from(digit) + carry;
        carry = product >> BITS;
        let less = i64::from(*own) - i64::from(product as u32) - borrow;
        *own = less as u32;
        borrow = i64::from(less < 0);
    }
    i64::from(from[digits.len()]) - carry as i64 - borrow
}

/// Adds digits, except to the first digit. Returns the carry.
fn add(to: &mut [u32], digits: &[u32]) -> i64 {
    let mut carry = 0;
    for (own, &digit) in to.iter_mut().zip(digits) {
        let sum = u64::from(*own) + u64::from(digit) + carry;
        (*own, carry) = (sum as u32, sum >> BITS);
    }
    carry as i64
}
