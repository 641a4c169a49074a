//! The float element types, except the half types.

use std::cmp::Ordering;
use std::convert::identity;

use super::abreast::{ABREAST, Abreast, Known};
use super::exact::FloatFormat;
use super::factor::Scaled;
use super::in_f64::ExactInF64;
use super::pair::{self, Pair};
use super::total::{FloatTotal, Rounded};
use super::{DType, Element, Float, Number, RawSlice, RawVec, Real, Ring, sealed};

/// Implements the traits for a float type: its names, its bits, the type of its arithmetic, and its key.
macro_rules! impl_float {
    ($type:ty, $dtype:ident, $kind:ident, $bits:ty, $zero:expr, $one:expr, $wide:ty, $to_wide:expr, $to_narrow:expr,
     $key:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            type Key = $bits;

            fn raw(values: &[Self]) -> RawSlice<'_> {
                bytemuck::cast_slice::<Self, $bits>(values).into()
            }

            fn from_raw(raw: RawVec) -> Vec<Self> {
                bytemuck::cast_vec::<$bits, Self>(raw.into())
            }

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
                let is_below = other < self || (other == self && other.is_sign_negative());
                let smaller = if is_below { other } else { self };
                Some(if self.is_nan() || other.is_nan() { <Self as Float>::NAN } else { smaller })
            }

            fn greater(self, other: Self) -> Option<Self> {
                let is_above = other > self || (other == self && other.is_sign_positive());
                let greater = if is_above { other } else { self };
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
                // Adding +0 turns both zeros into +0.
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
                [self.in_f64(), 0.0]
            }

            fn wide_mean_of(total: &FloatTotal, count: u128) -> [f64; 2] {
                [f64::rounded(total, count), 0.0]
            }

            type Factor = Scaled;

            fn factor(self) -> Scaled {
                Scaled::of(self.in_f64())
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
                let kind = if is_root { FloatFormat::F64 } else { Self::KIND };
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
            const KIND: FloatFormat = FloatFormat::$kind;
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
                self.in_f64()
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
                <Self as Float>::from_f64(super::total::between(self.in_f64(), other.in_f64(), weight, Self::KIND))
            }

            fn share(self, part: f64, count: u64) -> Self {
                let shared: $wide = $to_wide(self) * (part as $wide) / count as $wide;
                if shared.is_nan() { <Self as Float>::NAN } else { $to_narrow(shared) }
            }
        }
    };
}

/// Returns whether a number is NaN, by its bits.
///
/// LLVM treats all NaNs alike. With `is_nan` it removes the code that replaces the NaN of a square root by the
/// canonical one.
pub(super) fn has_bits_of_nan(wide: f64) -> bool {
    wide.to_bits() << 1 > f64::INFINITY.to_bits() << 1
}

/// Rounding to the nearest value of a float type, exactly once; a second rounding could turn other values into ties.
pub(super) trait Narrow {
    fn narrow(wide: f64) -> Self;
    fn narrow_integer(integer: i128) -> Self;
}

impl Narrow for f32 {
    fn narrow(wide: f64) -> f32 {
        wide as f32
    }

    fn narrow_integer(integer: i128) -> f32 {
        integer as f32
    }
}

impl Narrow for f64 {
    fn narrow(wide: f64) -> f64 {
        wide
    }

    fn narrow_integer(integer: i128) -> f64 {
        integer as f64
    }
}

// Adding 0 maps both zeros to one key. A comparison would compile to a branch.
impl_float!(f32, Float32, F32, u32, 0.0, 1.0, f32, identity, identity, |value: f32| (value + 0.0).to_bits());
impl_float!(f64, Float64, F64, u64, 0.0, 1.0, f64, identity, identity, |value: f64| (value + 0.0).to_bits());
