//! Every element type but the half ones: the one place that spells numeric bounds.

use std::cmp::Ordering;
use std::convert::identity;

use num_complex::Complex;
use num_traits::Zero;

use super::abreast::{ABREAST, Abreast, Known};
use super::arithmetic::both;
use super::dot::Wrapped;
use super::exact::Kind;
use super::factor::{Scaled, ScaledComplex, Whole};
use super::pair::{self, Pair};
use super::total::{ComplexTotal, FloatTotal, IntegerTotal, Rounded};
use super::{DType, Element, Float, Number, Real, Ring, sealed};

/// What the types without NaN, infinity and imaginary part say of them.
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

/// The order of a type that has neither NaN nor infinity.
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

        type Factor = Whole;

        fn factor(self) -> Whole {
            Whole::of(self.into())
        }

        fn product_of(factor: Whole) -> Option<$sum> {
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
    ($($type:ident $dtype:ident $sum:ident $dot:ident),*) => {$(
        impl sealed::Sealed for $type {}

        impl Ring for $type {
            plain_sums!($sum, $dot);
        }

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            type Key = $type;

            always_plain!();

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

impl_integer!(i8 Int8 i64 Wrapped, i16 Int16 i64 Wrapped, i32 Int32 i64 Wrapped, i64 Int64 i64 Wrapped);
impl_integer!(u8 UInt8 u64 u128, u16 UInt16 u64 u128, u32 UInt32 u64 u128, u64 UInt64 u64 u128);

/// A float type: its names, its bits, the type that its arithmetic is done in, and its key.
macro_rules! impl_float {
    ($type:ty, $dtype:ident, $kind:ident, $bits:ty, $zero:expr, $one:expr, $wide:ty, $to_wide:expr, $to_narrow:expr, $key:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            type Key = $bits;

            fn if_float<V: crate::element::FloatVisitor>(visitor: V) -> Option<V::Out> {
                Some(visitor.visit::<Self>())
            }

            fn key_or_nan(self) -> $bits {
                $key(self)
            }

            fn to_integer(self) -> Option<i128> {
                None
            }

            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }

            #[inline(always)]
            fn checked_add(self, other: Self) -> Option<Self> {
                let sum = self + other;
                Some(if sum.is_nan() { <Self as Float>::NAN } else { sum })
            }

            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                let product = self * other;
                Some(if product.is_nan() { <Self as Float>::NAN } else { product })
            }

            fn smaller(self, other: Self) -> Option<Self> {
                let smaller = if other < self { other } else { self };
                Some(if self.is_nan() || other.is_nan() { <Self as Float>::NAN } else { smaller })
            }

            fn greater(self, other: Self) -> Option<Self> {
                let greater = if other > self { other } else { self };
                Some(if self.is_nan() || other.is_nan() { <Self as Float>::NAN } else { greater })
            }

            fn isnan(self) -> bool {
                self.is_nan()
            }

            fn isinf(self) -> bool {
                self.is_infinite()
            }

            fn isreal(self) -> bool {
                true
            }

            fn to_number(self) -> Number {
                Number::Real(f64::from(self))
            }

            fn as_implicit(self) -> Self {
                // Of both zeros the sum with +0 is +0.
                if self.is_nan() { <Self as Float>::NAN } else { self + <Self as Element>::ZERO }
            }

            fn from_number(number: Number) -> Option<Self> {
                let (narrow, was_infinite) = match number.real()? {
                    Number::Integer(integer) => (<Self as Narrow>::narrow_integer(integer), false),
                    Number::Real(real) if real.is_nan() => (<Self as Float>::NAN, false),
                    Number::Real(real) => (<Self as Narrow>::narrow(real), real.is_infinite()),
                    Number::Complex(..) => return None,
                };
                (was_infinite || !narrow.is_infinite()).then_some(narrow)
            }
        }

        impl Ring for $type {
            type Sum = Self;
            type Mean = Self;
            type Deviation = Self;
            type Dot = $wide;
            type Total = FloatTotal;
            const PARTS: usize = 1;

            fn wide_parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }

            fn wide_mean_of(total: &FloatTotal, count: u128) -> [f64; 2] {
                [f64::rounded(total, count), 0.0]
            }

            type Factor = Scaled;

            fn factor(self) -> Scaled {
                Scaled::of(self.into())
            }

            fn product_of(factor: Scaled) -> Option<Self> {
                Some(<Self as Float>::from_f64(factor.value(Self::KIND)))
            }

            fn sum_of(total: &FloatTotal) -> Option<Self> {
                Some(Self::rounded(total, 1))
            }

            fn mean_of(total: &FloatTotal, count: u128) -> Self {
                Self::rounded(total, count)
            }

            #[inline(always)]
            fn quick_sum_of(pair: Pair) -> Option<Self> {
                Self::quickly(pair, 1)
            }

            #[inline(always)]
            fn quick_mean_of(pair: Pair, count: u128) -> Option<Self> {
                Self::quickly(pair, count)
            }

            #[inline(always)]
            fn quick_spreads_of(
                values: &[Self],
                runs: &Abreast,
                counts: [u128; ABREAST],
                ddof: u64,
                is_root: bool,
            ) -> Known<Self> {
                let kind = if is_root { Kind::F64 } else { Self::KIND };
                let (variances, are_known) = pair::variances_of(values, runs, &counts, ddof, kind);
                let mut found = [Self::ZERO; ABREAST];
                for run in 0..ABREAST {
                    let variance = variances[run];
                    found[run] = <Self as Float>::from_f64(if is_root { variance.sqrt() } else { variance });
                }
                (found, are_known)
            }
        }

        impl Rounded for $type {
            const KIND: Kind = Kind::$kind;
        }

        impl Real for $type {
            type Median = Self;
            const LOWEST: Self = Self::NEG_INFINITY;
            const HIGHEST: Self = Self::INFINITY;

            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or(Ordering::Equal)
            }

            fn isposinf(self) -> bool {
                self == Self::INFINITY
            }

            fn isneginf(self) -> bool {
                self == Self::NEG_INFINITY
            }

            fn to_median(self) -> Self {
                self
            }

            fn to_f64(self) -> f64 {
                self.into()
            }
        }

        impl Float for $type {
            const NAN: Self = <$type>::NAN;

            fn from_f64(wide: f64) -> Self {
                if has_bits_of_nan(wide) { <Self as Float>::NAN } else { <Self as Narrow>::narrow(wide) }
            }

            fn midpoint_of(self, other: Self) -> Self {
                let (a, b): ($wide, $wide) = ($to_wide(self), $to_wide(other));
                let sum = a + b;
                let halved =
                    if sum.is_infinite() && a.is_finite() && b.is_finite() { a / 2.0 + b / 2.0 } else { sum / 2.0 };
                let middle: Self = $to_narrow(halved);
                if middle.is_nan() {
                    <Self as Float>::NAN
                } else if middle == Self::ZERO {
                    Self::ZERO
                } else {
                    middle
                }
            }

            fn between(self, other: Self, weight: f64) -> Self {
                <Self as Float>::from_f64(super::total::between(self.into(), other.into(), weight, Self::KIND))
            }

            fn share(self, part: f64, count: u64) -> Self {
                let shared: $wide = $to_wide(self) * (part as $wide) / count as $wide;
                if shared.is_nan() { <Self as Float>::NAN } else { $to_narrow(shared) }
            }
        }
    };
}

/// Whether a number is NaN, asked of its bits. To LLVM one NaN is as good as another: of a square root it leaves out
/// what would put the canonical one in the place of any, if it is asked by `is_nan`.
pub(super) fn has_bits_of_nan(wide: f64) -> bool {
    wide.to_bits() << 1 > f64::INFINITY.to_bits() << 1
}

/// Rounding to the nearest value of a float type, once: a second rounding on the way would make ties of what are none.
pub(super) trait Narrow {
    fn narrow(wide: f64) -> Self;
    fn narrow_integer(integer: i128) -> Self;
}

macro_rules! impl_narrow {
    ($($type:ident),*) => {$(
        impl Narrow for $type {
            fn narrow(wide: f64) -> $type {
                wide as $type
            }

            fn narrow_integer(integer: i128) -> $type {
                integer as $type
            }
        }
    )*};
}

impl_narrow!(f32, f64);

// Adding 0 makes one key of both zeros without a branch, as which a comparison is compiled.
impl_float!(f32, Float32, F32, u32, 0.0, 1.0, f32, identity, identity, |value: f32| (value + 0.0).to_bits());
impl_float!(f64, Float64, F64, u64, 0.0, 1.0, f64, identity, identity, |value: f64| (value + 0.0).to_bits());

macro_rules! impl_complex {
    ($($part:ident $dtype:ident),*) => {$(
        impl sealed::Sealed for Complex<$part> {}

        impl Ring for Complex<$part> {
            type Sum = Self;
            type Mean = Self;
            type Deviation = $part;
            type Dot = Self;
            type Total = ComplexTotal;
            const PARTS: usize = 2;

            fn wide_parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }

            fn wide_mean_of(total: &ComplexTotal, count: u128) -> [f64; 2] {
                let Complex { re, im } = f64::parts_over(total, count);
                [re, im]
            }

            type Factor = ScaledComplex;

            fn factor(self) -> ScaledComplex {
                ScaledComplex::of(Complex { re: self.re.into(), im: self.im.into() })
            }

            fn product_of(factor: ScaledComplex) -> Option<Self> {
                let Complex { re, im } = factor.value($part::KIND);
                Some(Complex { re: $part::from_f64(re), im: $part::from_f64(im) })
            }

            fn sum_of(total: &ComplexTotal) -> Option<Self> {
                Some($part::parts_over(total, 1))
            }

            fn mean_of(total: &ComplexTotal, count: u128) -> Self {
                $part::parts_over(total, count)
            }
        }

        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            type Key = (<$part as Element>::Key, <$part as Element>::Key);

            fn key_or_nan(self) -> Self::Key {
                (self.re.key_or_nan(), self.im.key_or_nan())
            }

            fn to_integer(self) -> Option<i128> {
                None
            }

            fn same(self, other: Self) -> bool {
                Element::same(self.re, other.re) && Element::same(self.im, other.im)
            }

            fn checked_add(self, other: Self) -> Option<Self> {
                let (re, im) = (Element::checked_add(self.re, other.re)?, Element::checked_add(self.im, other.im)?);
                Some(Complex { re, im })
            }

            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                both(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
            }

            fn smaller(self, _: Self) -> Option<Self> {
                None
            }

            fn greater(self, _: Self) -> Option<Self> {
                None
            }

            fn isnan(self) -> bool {
                self.re.isnan() || self.im.isnan()
            }

            fn isinf(self) -> bool {
                self.re.isinf() || self.im.isinf()
            }

            fn isreal(self) -> bool {
                self.im.is_zero()
            }

            fn to_number(self) -> Number {
                Number::Complex(self.re.into(), self.im.into())
            }

            fn as_implicit(self) -> Self {
                Complex { re: self.re.as_implicit(), im: self.im.as_implicit() }
            }

            fn from_number(number: Number) -> Option<Self> {
                let (re, im) = number.parts();
                Some(Complex { re: $part::from_number(re)?, im: $part::from_number(Number::Real(im))? })
            }
        }
    )*};
}

impl_complex!(f32 Complex64, f64 Complex128);

#[cfg(test)]
mod tests {
    use super::*;

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
