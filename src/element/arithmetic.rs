//! Binary arithmetic on elements, per type.
//!
//! Results are final: every NaN is the canonical NaN, a 16-bit float is computed as `f32` and rounded once, and no
//! operations are fused. `None` means that the result does not fit in the integer type, or that an integer is divided
//! by zero.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use num_complex::Complex;

use super::{Element, Float, Real};

/// A type with subtraction and division: every [`Element`] except `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support subtraction and division, which this operation requires",
    note = "every element type except `bool` does; for `bool` use `bit_xor`, or cast it: `x.cast::<i32>()?`"
)]
pub trait Numeric: Element {
    /// Returns the difference.
    #[doc(hidden)]
    fn checked_sub(self, other: Self) -> Option<Self>;

    /// Returns the quotient: truncated toward zero for integers, by Smith's method as in numpy for complex numbers.
    #[doc(hidden)]
    fn checked_div(self, other: Self) -> Option<Self>;

    /// Returns the negated number.
    #[doc(hidden)]
    #[inline(always)]
    fn checked_neg(self) -> Option<Self> {
        Self::ZERO.checked_sub(self)
    }

    /// Returns the sign of the number: -1, 0 or 1, or a complex number with a magnitude of 1.
    ///
    /// A real zero keeps its sign, and a NaN becomes the canonical NaN.
    fn sign(self) -> Self;

    /// Returns the square, or `None` if it does not fit in the integer type.
    ///
    /// A NaN becomes the canonical NaN.
    fn squared(self) -> Option<Self> {
        self.checked_mul(self)
    }

    /// Returns `self` to the power of `exponent`.
    ///
    /// For integers, the result is `None` if the power does not fit in the type, or if `exponent` is negative.
    fn raised(self, exponent: i32) -> Option<Self>;

    /// Returns `self` to the power of `exponent`.
    ///
    /// For integers, the result is `None` if the power does not fit in the type, or if `exponent` is negative.
    fn to_power(self, exponent: Self) -> Option<Self> {
        // Powers of integers other than 0, 1 and -1 overflow far below 100; for 0, 1 and -1 only the parity matters.
        let exponent = exponent.to_integer()?;
        self.raised(if exponent > 100 { 100 + (exponent % 2) as i32 } else { exponent.max(-1) as i32 })
    }
}

/// A type with remainders: integers and floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support remainders, which this operation requires",
    note = "integers of 8 to 64 bits and floats do"
)]
pub trait Remainder: Numeric + Real {
    /// Returns the remainder of division truncated toward zero; it has the sign of `self`.
    #[doc(hidden)]
    fn checked_rem(self, other: Self) -> Option<Self>;

    /// Returns the nonnegative remainder.
    #[doc(hidden)]
    #[inline(always)]
    fn checked_rem_euclid(self, other: Self) -> Option<Self> {
        let rest = self.checked_rem(other)?;
        match rest < Self::ZERO {
            false => Some(rest),
            // Add the magnitude of the divisor. The magnitude of the smallest integer does not fit in the type, so
            // subtract the negative divisor instead.
            true if other < Self::ZERO => rest.checked_sub(other),
            true => rest.checked_add(other),
        }
    }

    /// Returns the quotient rounded down to an integer.
    #[doc(hidden)]
    #[inline(always)]
    fn checked_div_floor(self, other: Self) -> Option<Self> {
        let quotient = self.checked_div(other)?;
        let rest = self.checked_rem(other)?;
        if has_other_sign(rest, other) { quotient.checked_sub(Self::ONE) } else { Some(quotient) }
    }

    /// Returns the remainder of division rounded down; it has the sign of `other`.
    #[doc(hidden)]
    #[inline(always)]
    fn checked_rem_floor(self, other: Self) -> Option<Self> {
        let rest = self.checked_rem(other)?;
        if has_other_sign(rest, other) { rest.checked_add(other) } else { Some(rest) }
    }
}

/// Returns whether a remainder is not zero and has another sign than its divisor.
#[inline(always)]
fn has_other_sign<T: Real>(rest: T, divisor: T) -> bool {
    rest.is_truthy() && (rest < T::ZERO) != (divisor < T::ZERO)
}

/// A type with shifts of bits: the integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support shifts, which this operation requires",
    note = "integers of 8 to 64 bits do; cast `bool` first: `x.cast::<u8>()?`"
)]
pub trait Shift: Bits + Numeric {
    /// Returns the number times 2 to the power of `count`. `None` if it does not fit, or if `count` is negative.
    #[doc(hidden)]
    fn checked_shift_left(self, count: Self) -> Option<Self>;

    /// Returns the number divided by 2 to the power of `count`, rounded down. `None` if `count` is negative.
    #[doc(hidden)]
    fn checked_shift_right(self, count: Self) -> Option<Self>;
}

/// A type with bitwise operations: `bool` and the integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support bitwise operations, which this operation requires",
    note = "`bool` and integers of 8 to 64 bits do"
)]
pub trait Bits:
    Real + Eq + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// Returns the value with any NaN replaced by the canonical NaN.
#[inline(always)]
pub(super) fn canonical<T: Float>(value: T) -> T {
    if value.isnan() { T::NAN } else { value }
}

/// Returns the complex number with two computed parts.
#[inline(always)]
pub(super) fn both<T: Float>(re: T, im: T) -> Option<Complex<T>> {
    Some(Complex { re: canonical(re), im: canonical(im) })
}

/// Returns a gradient for propagation: every zero becomes positive.
#[inline(always)]
pub(crate) fn without_sign<T: Element>(gradient: T) -> T {
    if gradient.is_truthy() { gradient } else { T::ZERO }
}

/// Returns a gradient times a derivative; a zero gradient yields zero for every derivative.
#[inline(always)]
pub(crate) fn scaled<T: Element>(gradient: T, derivative: T) -> Option<T> {
    if gradient.is_truthy() { gradient.checked_mul(derivative) } else { Some(T::ZERO) }
}

/// Returns the smaller value: NaN if either is NaN, and `-0.0` below `0.0` (minimum of IEEE 754-2019).
#[inline(always)]
pub(crate) fn minimum<T: Real>(a: T, b: T) -> T {
    if a.isnan() | b.isnan() {
        return nan_of(a, b);
    }
    // If both are equal, a value with a sign is selected.
    if (b < a) | ((b == a) & !b.same(b.as_implicit())) { b } else { a }
}

/// Returns the larger value: NaN if either is NaN, and `0.0` above `-0.0` (maximum of IEEE 754-2019).
#[inline(always)]
pub(crate) fn maximum<T: Real>(a: T, b: T) -> T {
    if a.isnan() | b.isnan() {
        return nan_of(a, b);
    }
    // If both are equal, a value without a sign is selected.
    if (b > a) | ((b == a) & b.same(b.as_implicit())) { b } else { a }
}

/// Returns the canonical NaN, given that one value is NaN.
#[inline(always)]
fn nan_of<T: Real>(a: T, b: T) -> T {
    if a.isnan() { a.as_implicit() } else { b.as_implicit() }
}
