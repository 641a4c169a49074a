//! The integer element types, and `bool`.

use std::cmp::Ordering;

use super::dot::Wrapped;
use super::factor::SaturatingInteger;
use super::integer_total::IntegerTotal;
use super::{DType, Element, Number, RawSlice, RawVec, Real, Ring, sealed};

/// Methods of types without NaN, infinity and imaginary part.
macro_rules! always_plain {
    () => {
        fn isnan(self) -> bool {
            false
        }

        fn isinf(self) -> bool {
            false
        }

        fn isreal(self) -> bool {
            true
        }

        fn same(self, other: Self) -> bool {
            self == other
        }

        fn key_or_nan(self) -> Self::Key {
            self
        }

        fn to_integer(self) -> Option<i128> {
            Some(self.into())
        }

        fn smaller(self, other: Self) -> Option<Self> {
            Some(self.min(other))
        }

        fn greater(self, other: Self) -> Option<Self> {
            Some(self.max(other))
        }

        fn to_number(self) -> Number {
            Number::Integer(self.into())
        }

        fn as_implicit(self) -> Self {
            self
        }
    };
}

/// The order of a type without NaN and infinity.
macro_rules! plain_order {
    ($lowest:expr, $highest:expr) => {
        type Median = f64;
        const LOWEST: Self = $lowest;
        const HIGHEST: Self = $highest;

        fn order(self, other: Self) -> Ordering {
            self.cmp(&other)
        }

        fn isposinf(self) -> bool {
            false
        }

        fn isneginf(self) -> bool {
            false
        }
    };
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    const ZERO: Self = false;
    const ONE: Self = true;
    type Key = bool;

    always_plain!();

    fn raw(values: &[Self]) -> RawSlice<'_> {
        values.into()
    }

    fn from_raw(raw: RawVec) -> Vec<Self> {
        raw.into()
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        Some(self | other)
    }

    fn checked_mul(self, other: Self) -> Option<Self> {
        Some(self & other)
    }

    fn from_number(number: Number) -> Option<Self> {
        match number.integer()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// The sums of integers and of `bool`, of type `$sum`.
macro_rules! plain_sums {
    ($sum:ident, $dot:ty) => {
        type Sum = $sum;
        type Dot = $dot;
        type Mean = f64;
        type Deviation = f64;
        type Total = IntegerTotal;
        const PARTS: usize = 1;

        fn wide_parts(self) -> [f64; 2] {
            [self.to_f64(), 0.0]
        }

        fn wide_mean_of(total: &IntegerTotal, count: u128) -> [f64; 2] {
            [total.mean(count), 0.0]
        }

        type Factor = SaturatingInteger;

        fn factor(self) -> SaturatingInteger {
            SaturatingInteger::of(self.into())
        }

        fn product_of(factor: SaturatingInteger) -> Option<$sum> {
            factor.value()?.try_into().ok()
        }

        fn sum_of(total: &IntegerTotal) -> Option<$sum> {
            total.value()?.try_into().ok()
        }

        fn mean_of(total: &IntegerTotal, count: u128) -> f64 {
            total.mean(count)
        }
    };
}

impl Ring for bool {
    plain_sums!(u64, bool);
}

impl Real for bool {
    plain_order!(false, true);

    fn to_median(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn to_f64(self) -> f64 {
        self.to_median()
    }
}

macro_rules! impl_integer {
    ($($type:ident $bits:ident $dtype:ident $sum:ident $dot:ident),*) => {$(
        impl Ring for $type {
            plain_sums!($sum, $dot);
        }

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            type Key = $type;

            always_plain!();

            fn raw(values: &[Self]) -> RawSlice<'_> {
                bytemuck::cast_slice::<Self, $bits>(values).into()
            }

            fn from_raw(raw: RawVec) -> Vec<Self> {
                bytemuck::cast_vec::<$bits, Self>(raw.into())
            }

            #[inline(always)]
            fn checked_add(self, other: Self) -> Option<Self> {
                $type::checked_add(self, other)
            }

            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                $type::checked_mul(self, other)
            }

            fn from_number(number: Number) -> Option<Self> {
                $type::try_from(number.integer()?).ok()
            }
        }

        impl Real for $type {
            plain_order!($type::MIN, $type::MAX);

            fn to_median(self) -> f64 {
                self as f64
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

impl_integer!(i8 u8 Int8 i64 Wrapped, i16 u16 Int16 i64 Wrapped, i32 u32 Int32 i64 Wrapped, i64 u64 Int64 i64 Wrapped);
impl_integer!(u8 u8 UInt8 u64 u128, u16 u16 UInt16 u64 u128, u32 u32 UInt32 u64 u128, u64 u64 UInt64 u64 u128);

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
