//! The float element types, except the half types.

use num_traits::{AsPrimitive, Float as _, NumCast};

use super::arithmetic::{canonical, maximum, minimum};
use super::exact::FloatFormat;
use super::factor::Scaled;
use super::raw::MIXED_UP;
use super::total::FloatTotal;
use super::{DType, Element, Float, Number, Numeric, RawSlice, RawVec, Real, Remainder, Ring, sealed};

/// Implements the traits for a float type: its name, its bits, its key type, its one, and its key.
macro_rules! impl_float {
    ($type:ty, $dtype:ident, $bits:ident, $key_type:ty, $one:expr, $key:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = <$type>::from_bits(0);
            const ONE: Self = $one;
            type Key = $key_type;

            fn raw(values: &[Self]) -> RawSlice<'_> {
                RawSlice::$bits(bytemuck::cast_slice(values))
            }

            fn from_raw(raw: RawVec) -> Vec<Self> {
                let RawVec::$bits(values) = raw else { unreachable!("{MIXED_UP}") };
                bytemuck::cast_vec(values)
            }

            fn if_float<V: crate::element::FloatVisitor>(visitor: V) -> Option<V::Out> {
                Some(visitor.visit::<Self>())
            }

            fn key_or_nan(self) -> $key_type {
                $key(self)
            }

            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }

            #[inline(always)]
            fn checked_add(self, other: Self) -> Option<Self> {
                Some(canonical(self + other))
            }

            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                Some(canonical(self * other))
            }

            fn smaller(self, other: Self) -> Option<Self> {
                Some(minimum(self, other))
            }

            fn greater(self, other: Self) -> Option<Self> {
                Some(maximum(self, other))
            }

            #[inline(always)]
            fn isnan(self) -> bool {
                self.is_nan()
            }

            fn isinf(self) -> bool {
                self.is_infinite()
            }

            fn to_number(self) -> Number {
                Number::Real(self.into())
            }

            fn from_number(number: Number) -> Option<Self> {
                of_number(number)
            }
        }

        impl Ring for $type {
            type Sum = Self;
            type Mean = Self;
            type Deviation = Self;
            type Dot = <Self as Narrow>::WideFloat;
            type Total = FloatTotal;
            type Factor = Scaled;
        }

        impl Real for $type {
            type Median = Self;
            const LOWEST: Self = Self::NEG_INFINITY;
            const HIGHEST: Self = Self::INFINITY;

            fn to_median(self) -> Self {
                self
            }
        }

        impl Float for $type {
            const NAN: Self = <$type>::NAN;

            fn next_toward(self, target: Self) -> Self {
                if self.isnan() || target.isnan() {
                    return <Self as Float>::NAN;
                }
                if self == target {
                    return target;
                }
                if self == Self::ZERO {
                    let smallest = <$type>::from_bits(1);
                    return if target > self { smallest } else { -smallest };
                }
                // The bits without the sign are in the order of the magnitudes.
                let grows = (target > self) == (self > Self::ZERO);
                <$type>::from_bits(if grows { self.to_bits() + 1 } else { self.to_bits() - 1 })
            }
        }

        impl Numeric for $type {
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                Some(canonical(self - other))
            }

            #[inline(always)]
            fn checked_div(self, other: Self) -> Option<Self> {
                Some(canonical(self / other))
            }

            #[inline(always)]
            fn checked_neg(self) -> Option<Self> {
                Some(canonical(-self))
            }

            fn sign(self) -> Self {
                <Self as Float>::from_f64($crate::element::math::sign(self.into()))
            }

            fn squared(self) -> Option<Self> {
                let wide: f64 = self.into();
                Some(<Self as Float>::from_f64(wide * wide))
            }

            fn raised(self, exponent: i32) -> Option<Self> {
                Some(<Self as Float>::from_f64($crate::element::math::pow(self.into(), exponent.into())))
            }

            fn to_power(self, exponent: Self) -> Option<Self> {
                Some(<Self as Float>::from_f64($crate::element::math::pow(self.into(), exponent.into())))
            }
        }

        impl Remainder for $type {
            #[inline(always)]
            fn checked_rem(self, other: Self) -> Option<Self> {
                Some(canonical(self % other))
            }

            #[inline(always)]
            fn checked_div_floor(self, other: Self) -> Option<Self> {
                Some(<Self as Float>::from_f64($crate::element::math::div_floor(self.into(), other.into())))
            }

            #[inline(always)]
            fn checked_rem_floor(self, other: Self) -> Option<Self> {
                Some(<Self as Float>::from_f64($crate::element::math::rem_floor(self.into(), other.into())))
            }
        }
    };
}

/// Returns whether a number is NaN, by its bits.
///
/// LLVM does not distinguish NaNs. With `is_nan`, LLVM removes the code that replaces the NaN of a square root by the
/// canonical NaN.
pub(super) fn has_bits_of_nan(wide: f64) -> bool {
    wide.to_bits() << 1 > f64::INFINITY.to_bits() << 1
}

/// The arithmetic of a float type, and a single rounding to its nearest value.
///
/// A second rounding could turn other values into ties.
///
/// The names of the items are long because generic code of users can reach them through [`Float`].
pub trait Narrow: Copy + 'static {
    /// The type of arithmetic: `f32` for 16-bit floats, otherwise the type itself.
    type WideFloat: Float + num_traits::Float + From<Self> + AsPrimitive<Self>;

    /// The float format to which totals are rounded.
    const ROUNDING: FloatFormat;

    /// Returns the nearest value to an `f64`.
    fn nearest_to_f64(wide: f64) -> Self;

    /// Returns the nearest value to an integer.
    fn nearest_to_integer(integer: i128) -> Self;
}

impl Narrow for f32 {
    type WideFloat = f32;
    const ROUNDING: FloatFormat = FloatFormat::F32;

    fn nearest_to_f64(wide: f64) -> f32 {
        wide as f32
    }

    fn nearest_to_integer(integer: i128) -> f32 {
        integer as f32
    }
}

impl Narrow for f64 {
    type WideFloat = f64;
    const ROUNDING: FloatFormat = FloatFormat::F64;

    fn nearest_to_f64(wide: f64) -> f64 {
        wide
    }

    fn nearest_to_integer(integer: i128) -> f64 {
        integer as f64
    }
}

/// Returns a number as a float; `None` if it has an imaginary part, or if a finite number would become infinite.
pub(super) fn of_number<T: Float>(number: Number) -> Option<T> {
    let (narrow, was_infinite) = match number.real()? {
        Number::Integer(integer) => (T::nearest_to_integer(integer), false),
        Number::Real(real) => (T::from_f64(real), real.is_infinite()),
        Number::Complex(..) => return None,
    };
    (was_infinite || !narrow.isinf()).then_some(narrow)
}

/// Returns half of the sum of two values, computed in `WideFloat` without overflow.
pub(super) fn midpoint<T: Float>(a: T, b: T) -> T {
    let [a, b] = [a, b].map(<T::WideFloat as From<T>>::from);
    let (sum, two) = (a + b, T::WideFloat::ONE + T::WideFloat::ONE);
    let halved = if sum.is_infinite() && a.is_finite() && b.is_finite() { a / two + b / two } else { sum / two };
    let middle: T = halved.as_();
    middle.as_implicit()
}

/// Returns `value * part / count`, computed in `WideFloat`.
pub(super) fn share<T: Float>(value: T, part: f64, count: u64) -> T {
    // Conversions to floats never fail.
    let part = <T::WideFloat as NumCast>::from(part).unwrap_or(T::WideFloat::NAN);
    let count = <T::WideFloat as NumCast>::from(count).unwrap_or(T::WideFloat::NAN);
    canonical((<T::WideFloat as From<T>>::from(value) * part / count).as_())
}

// Adding 0 maps both zeros to one key. A comparison would compile to a branch.
impl_float!(f32, Float32, U32, u32, 1.0, |value: f32| (value + 0.0).to_bits());
impl_float!(f64, Float64, U64, u64, 1.0, |value: f64| (value + 0.0).to_bits());
