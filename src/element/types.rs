//! The integer element types, and `bool`.

use super::arithmetic::{Bits, Numeric, Remainder, Shift};
use super::dot::Wrapped;
use super::factor::SaturatingInteger;
use super::integer_total::IntegerTotal;
use super::raw::MIXED_UP;
use super::unary::{Magnitude, Signed};
use super::{DType, Element, Number, RawSlice, RawVec, Real, Ring, sealed};

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    const ZERO: Self = false;
    const ONE: Self = true;
    type Key = bool;

    fn raw(values: &[Self]) -> RawSlice<'_> {
        RawSlice::Bool(values)
    }

    fn from_raw(raw: RawVec) -> Vec<Self> {
        let RawVec::Bool(values) = raw else { unreachable!("{MIXED_UP}") };
        values
    }

    fn key_or_nan(self) -> bool {
        self
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        Some(self | other)
    }

    fn checked_mul(self, other: Self) -> Option<Self> {
        Some(self & other)
    }

    fn to_number(self) -> Number {
        Number::Integer(self.into())
    }

    fn from_number(number: Number) -> Option<Self> {
        match number.integer()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Ring for bool {
    type Sum = u64;
    type Mean = f64;
    type Deviation = f64;
    type Dot = bool;
    type Total = IntegerTotal;
    type Factor = SaturatingInteger;
}

impl Real for bool {
    type Median = f64;
    const LOWEST: Self = false;
    const HIGHEST: Self = true;

    fn to_median(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl Bits for bool {}

/// Implements the traits for integer types: their bits, their name, the types of their sums, and `Signed` for types
/// that implement it.
macro_rules! impl_integer {
    ($($type:ident $bits:ident $dtype:ident $sum:ident $dot:ident $($Signed:ident)?),*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            type Key = $type;

            fn raw(values: &[Self]) -> RawSlice<'_> {
                RawSlice::$bits(bytemuck::cast_slice(values))
            }

            fn from_raw(raw: RawVec) -> Vec<Self> {
                let RawVec::$bits(values) = raw else { unreachable!("{MIXED_UP}") };
                bytemuck::cast_vec(values)
            }

            fn key_or_nan(self) -> $type {
                self
            }

            #[inline(always)]
            fn checked_add(self, other: Self) -> Option<Self> {
                $type::checked_add(self, other)
            }

            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                $type::checked_mul(self, other)
            }

            fn to_number(self) -> Number {
                Number::Integer(self.into())
            }

            fn from_number(number: Number) -> Option<Self> {
                $type::try_from(number.integer()?).ok()
            }
        }

        impl Ring for $type {
            type Sum = $sum;
            type Mean = f64;
            type Deviation = f64;
            type Dot = $dot;
            type Total = IntegerTotal;
            type Factor = SaturatingInteger;
        }

        impl Real for $type {
            type Median = f64;
            const LOWEST: Self = $type::MIN;
            const HIGHEST: Self = $type::MAX;

            fn to_median(self) -> f64 {
                self as f64
            }
        }

        impl Bits for $type {}

        impl Numeric for $type {
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                $type::checked_sub(self, other)
            }

            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                $type::checked_div(self, other)
            }

            fn sign(self) -> Self {
                (self > 0) as Self - (self < Self::ZERO) as Self
            }

            fn raised(self, exponent: i32) -> Option<Self> {
                self.checked_pow(exponent.try_into().ok()?)
            }
        }

        impl Remainder for $type {
            #[inline(always)]
            fn checked_rem(self, other: Self) -> Option<Self> {
                // The remainder of a division by -1 is 0, also for `MIN`, although the quotient of `MIN` overflows.
                (other != 0).then(|| self.wrapping_rem(other))
            }
        }

        impl Shift for $type {
            #[inline(always)]
            fn checked_shift_left(self, count: Self) -> Option<Self> {
                if self == 0 && count >= Self::ZERO {
                    return Some(self);
                }
                let count = u32::try_from(count).ok()?;
                // Bits that leave the type are missing after the shift back.
                self.checked_shl(count).filter(|shifted| shifted >> count == self)
            }

            #[inline(always)]
            fn checked_shift_right(self, count: Self) -> Option<Self> {
                if count < Self::ZERO {
                    return None;
                }
                // A count of the width or more leaves only copies of the sign.
                let count = u32::try_from(count).unwrap_or(Self::BITS);
                Some(self.checked_shr(count).unwrap_or(if self < Self::ZERO { !0 } else { 0 }))
            }
        }

        impl Magnitude for $type {
            type Magnitude = Self;

            fn magnitude(self) -> Option<Self> {
                if self < Self::ZERO { self.checked_neg() } else { Some(self) }
            }
        }

        $(impl $Signed for $type {
            fn negated(self) -> Option<Self> {
                self.checked_neg()
            }
        })?
    )*};
}

impl_integer! {
    i8 U8 Int8 i64 Wrapped Signed,
    i16 U16 Int16 i64 Wrapped Signed,
    i32 U32 Int32 i64 Wrapped Signed,
    i64 U64 Int64 i64 Wrapped Signed,
    u8 U8 UInt8 u64 u128,
    u16 U16 UInt16 u64 u128,
    u32 U32 UInt32 u64 u128,
    u64 U64 UInt64 u64 u128
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::element::Float;

    #[test]
    fn the_midpoint_neither_overflows_nor_keeps_a_negative_zero() {
        assert_eq!(f64::MAX.midpoint_of(f64::MAX), f64::MAX);
        assert_eq!(f64::MAX.midpoint_of(-f64::MAX).to_bits(), 0);
        assert_eq!((-0.0f32).midpoint_of(-0.0).to_bits(), 0);
        assert_eq!(f64::INFINITY.midpoint_of(f64::INFINITY), f64::INFINITY);
        assert_eq!(f64::INFINITY.midpoint_of(f64::NEG_INFINITY).to_bits(), f64::NAN.to_bits());
    }

    #[test]
    fn numbers_fit_or_do_not() {
        assert_eq!(u64::from_number(Number::Real(18446744073709551616.0)), None);
        assert_eq!(u64::from_number(Number::Integer(u64::MAX.into())), Some(u64::MAX));
        assert_eq!(i8::from_number(Number::Real(1.5)), None);
        assert_eq!(i8::from_number(Number::Real(f64::NAN)), None);
        assert_eq!(f32::from_number(Number::Real(1e300)), None);
        assert_eq!(f32::from_number(Number::Real(f64::INFINITY)), Some(f32::INFINITY));
        assert_eq!(f64::from_number(Number::Complex(1.0, 2.0)), None);
        assert_eq!(bool::from_number(Number::Integer(2)), None);
    }

    #[test]
    fn keys_follow_equality() {
        assert_eq!((-0.0f64).key(), 0.0f64.key());
        assert_eq!(f64::NAN.key(), None);
        assert_eq!(Complex::new(1.0f32, f32::NAN).key(), None);
        assert_eq!(Complex::new(-0.0f32, 1.0).key(), Complex::new(0.0f32, 1.0).key());
    }
}
