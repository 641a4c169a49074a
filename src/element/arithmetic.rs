//! Binary arithmetic on elements, per type.
//!
//! Results are final: a NaN is the canonical one, a 16-bit float is computed as `f32` and rounded once, and nothing is
//! fused. `None` means that an integer type cannot hold the result, or that an integer is divided by zero.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use num_complex::Complex;

use super::{Element, Float, Real};

/// A type with subtraction and division: every [`Element`] except `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` neither subtracts nor divides, which this asks for",
    note = "every element type but `bool` does; of `bool` take `bit_xor`, or cast it: `x.cast::<i32>()?`"
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
    fn checked_neg(self) -> Option<Self>;
}

/// A type with remainders: integers and floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no remainders, which this asks for",
    note = "integers of 8 to 64 bits and floats have them"
)]
pub trait Remainder: Numeric + Real {
    /// Returns the remainder of division truncated toward zero; it has the sign of `self`.
    #[doc(hidden)]
    fn checked_rem(self, other: Self) -> Option<Self>;

    /// Returns the nonnegative remainder.
    #[doc(hidden)]
    fn checked_rem_euclid(self, other: Self) -> Option<Self>;
}

/// A type with bitwise operations: `bool` and the integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bits to combine, which this asks for",
    note = "`bool` and integers of 8 to 64 bits have"
)]
pub trait Bits:
    Real + Eq + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl Bits for bool {}
impl Bits for i8 {}
impl Bits for i16 {}
impl Bits for i32 {}
impl Bits for i64 {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}

macro_rules! impl_integers {
    ($($type:ident),*) => {$(
        impl Numeric for $type {
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                $type::checked_sub(self, other)
            }

            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                $type::checked_div(self, other)
            }

            #[inline(always)]
            fn checked_neg(self) -> Option<Self> {
                $type::checked_neg(self)
            }
        }

        impl Remainder for $type {
            #[inline(always)]
            fn checked_rem(self, other: Self) -> Option<Self> {
                // The remainder by -1 is 0, also for `MIN`, whose quotient overflows.
                (other != 0).then(|| self.wrapping_rem(other))
            }

            #[inline(always)]
            fn checked_rem_euclid(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_rem_euclid(other))
            }
        }
    )*};
}

impl_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Returns the value with any NaN replaced by the canonical NaN.
#[inline(always)]
fn computed<T: Float>(value: T) -> Option<T> {
    Some(if value.isnan() { T::NAN } else { value })
}

macro_rules! impl_floats {
    ($($type:ty, $wide:ty, $to_wide:expr, $to_narrow:expr;)*) => {$(
        impl Numeric for $type {
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                computed(self - other)
            }

            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                computed(self / other)
            }

            #[inline(always)]
            fn checked_neg(self) -> Option<Self> {
                computed(-self)
            }
        }

        impl Remainder for $type {
            #[inline(always)]
            fn checked_rem(self, other: Self) -> Option<Self> {
                computed(self % other)
            }

            #[inline(always)]
            fn checked_rem_euclid(self, other: Self) -> Option<Self> {
                let (a, b): ($wide, $wide) = ($to_wide(self), $to_wide(other));
                let rest = a % b;
                computed($to_narrow(if rest < 0.0 { rest + b.abs() } else { rest }))
            }
        }
    )*};
}

impl_floats! {
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}
#[cfg(feature = "half")]
impl_floats! {
    half::f16, f32, f32::from, half::f16::from_f32;
    half::bf16, f32, f32::from, half::bf16::from_f32;
}

macro_rules! impl_complex {
    ($($part:ident),*) => {$(
        impl Numeric for Complex<$part> {
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                both(self.re - other.re, self.im - other.im)
            }

            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                // The division is scaled by the larger part of the divisor, so that no square overflows.
                if other.re.abs() >= other.im.abs() {
                    if other.re == 0.0 {
                        return both(self.re / other.re.abs(), self.im / other.re.abs());
                    }
                    let ratio = other.im / other.re;
                    let scale = 1.0 / (other.re + other.im * ratio);
                    both((self.re + self.im * ratio) * scale, (self.im - self.re * ratio) * scale)
                } else {
                    let ratio = other.re / other.im;
                    let scale = 1.0 / (other.re * ratio + other.im);
                    both((self.re * ratio + self.im) * scale, (self.im * ratio - self.re) * scale)
                }
            }

            #[inline(always)]
            fn checked_neg(self) -> Option<Self> {
                both(-self.re, -self.im)
            }
        }
    )*};
}

impl_complex!(f32, f64);

/// Returns the complex number of two computed parts.
#[inline(always)]
pub(super) fn both<T: Float>(re: T, im: T) -> Option<Complex<T>> {
    Some(Complex { re: computed(re)?, im: computed(im)? })
}

/// Returns a gradient as it is propagated: zero has no sign.
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
