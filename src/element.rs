//! The element types and what may be asked of them: the one place that spells numeric bounds.
//!
//! [`Element`] is every type that a tensor may hold, [`Real`] those with an order (all but the complex ones),
//! [`Float`] those that a median and its gradient come in. All three are sealed: the promises of this crate are
//! proved type by type.

use std::cmp::Ordering;
use std::convert::identity;
use std::fmt::{self, Debug};
use std::hash::Hash;

use num_complex::Complex;
use num_traits::{ToPrimitive, Zero};

/// A type of elements: `bool`, the integers of 8 to 64 bits, `f32`, `f64`, their complex numbers, and with the
/// feature `half` also `half::f16` and `half::bf16`.
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The type as a value.
    const DTYPE: DType;
    /// Zero, or `false`.
    const ZERO: Self;
    /// One, or `true`.
    const ONE: Self;

    /// What [`key`](Element::key) gives.
    type Key: Copy + Ord + Hash + Debug + Send + Sync;

    /// A key that two values share exactly when they are equal under `==`; `None` for NaN, which equals nothing.
    fn key(self) -> Option<Self::Key> {
        (!self.isnan()).then(|| self.key_or_nan())
    }

    /// The [`key`](Element::key) of a value that is not NaN, and for a NaN one that no other value has: so it can be
    /// asked for without a branch.
    fn key_or_nan(self) -> Self::Key;

    /// The value as an integer, for the integer types and `bool`; `None` for the others.
    fn to_integer(self) -> Option<i128>;

    /// Whether the two are one value: both NaN, or equal with equal signs of zero (per part for complex).
    ///
    /// ```
    /// use lacuna::Element;
    ///
    /// assert!(Element::same(f64::NAN, f64::NAN));
    /// assert!(!Element::same(0.0, -0.0));
    /// assert!(Element::same(7, 7));
    /// ```
    fn same(self, other: Self) -> bool;

    /// The sum, `None` where an integer type cannot hold it; `or` for `bool`. A NaN sum is the canonical NaN.
    fn checked_add(self, other: Self) -> Option<Self>;

    /// Whether the value is not zero: NaN is truthy, `-0.0` is not, complex is if either part is.
    fn is_truthy(self) -> bool {
        self != Self::ZERO
    }

    /// Whether the value (either part) is NaN.
    fn isnan(self) -> bool;

    /// Whether the value (either part) is an infinity.
    fn isinf(self) -> bool;

    /// Whether the value (both parts) is neither NaN nor infinite.
    fn isfinite(self) -> bool {
        !self.isnan() && !self.isinf()
    }

    /// Whether the imaginary part is zero; true for every type that has none.
    fn isreal(self) -> bool;

    /// The smaller one, the canonical NaN if either is NaN; `None` for a type without an order (complex).
    fn smaller(self, other: Self) -> Option<Self>;

    /// The greater one, the canonical NaN if either is NaN; `None` for a type without an order (complex).
    fn greater(self, other: Self) -> Option<Self>;

    /// The value without its type.
    fn to_number(self) -> Number;

    /// `number` in this type: integers must fit, and fractions, NaN and infinities fit no integer; floats are rounded
    /// to the nearest, and a finite number that would become infinite does not fit; `bool` takes 0 and 1; a complex
    /// number fits a type that has no imaginary part if its own is zero.
    fn from_number(number: Number) -> Option<Self>;
}

/// A type with an order: every [`Element`] but the complex ones.
pub trait Real: Element + PartialOrd {
    /// The type of a median: the floats keep theirs, integers and `bool` give `f64`.
    type Median: Float;

    /// The order of two values of which none is NaN; zeros of both signs are equal.
    fn order(self, other: Self) -> Ordering;

    /// Whether the value is `+inf`.
    fn isposinf(self) -> bool;

    /// Whether the value is `-inf`.
    fn isneginf(self) -> bool;

    /// The value in the type of a median.
    fn to_median(self) -> Self::Median;
}

/// A floating-point type: `f32`, `f64`, and with the feature `half` also `half::f16` and `half::bf16`.
pub trait Float: Real<Median = Self> {
    /// The canonical quiet NaN.
    const NAN: Self;

    /// `(a + b) / 2`, formed without overflow; a zero result is `+0.0`, a NaN one canonical.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(f64::MAX.midpoint_of(f64::MAX), f64::MAX);
    /// assert_eq!(1.0f32.midpoint_of(2.0), 1.5);
    /// ```
    fn midpoint_of(self, other: Self) -> Self;

    /// `self * numerator / count`, where half of a gradient (`numerator` 0.5) or all of it (1.0) is shared by `count`.
    fn share(self, numerator: f32, count: u64) -> Self;
}

/// The element types as values, with numpy's names.
///
/// ```
/// use lacuna::{DType, Element};
///
/// assert_eq!(<f64 as Element>::DTYPE, DType::Float64);
/// assert_eq!(DType::Complex64.name(), "complex64");
/// assert_eq!(DType::from_name("uint8"), Some(DType::UInt8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// `bool`
    Bool,
    /// `i8`
    Int8,
    /// `i16`
    Int16,
    /// `i32`
    Int32,
    /// `i64`
    Int64,
    /// `u8`
    UInt8,
    /// `u16`
    UInt16,
    /// `u32`
    UInt32,
    /// `u64`
    UInt64,
    /// `half::f16`
    Float16,
    /// `half::bf16`
    BFloat16,
    /// `f32`
    Float32,
    /// `f64`
    Float64,
    /// `Complex<f32>`
    Complex64,
    /// `Complex<f64>`
    Complex128,
}

impl DType {
    /// All of them, in the order of their declaration.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::Int8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::UInt8,
        DType::UInt16,
        DType::UInt32,
        DType::UInt64,
        DType::Float16,
        DType::BFloat16,
        DType::Float32,
        DType::Float64,
        DType::Complex64,
        DType::Complex128,
    ];

    /// The name that numpy uses (and `bfloat16`, which numpy has not).
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Int8 => "int8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::UInt8 => "uint8",
            DType::UInt16 => "uint16",
            DType::UInt32 => "uint32",
            DType::UInt64 => "uint64",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
            DType::Complex64 => "complex64",
            DType::Complex128 => "complex128",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number without its element type, wide enough for every one of them: what conversions go through.
///
/// Two numbers are compared by exact value, whatever their kinds, never through a rounding:
///
/// ```
/// use lacuna::Number;
///
/// assert!(Number::Integer(1 << 53) == Number::Real(9007199254740992.0));
/// assert!(Number::Integer((1 << 53) + 1) != Number::Real(9007199254740992.0));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// An integer or, as 0 and 1, a `bool`.
    Integer(i128),
    /// A floating-point number.
    Real(f64),
    /// A complex number.
    Complex(f64, f64),
}

impl Number {
    /// The real part as a number, and the imaginary part.
    fn parts(self) -> (Number, f64) {
        match self {
            Number::Complex(re, im) => (Number::Real(re), im),
            real => (real, 0.0),
        }
    }

    /// The real number, unless there is an imaginary part.
    fn real(self) -> Option<Number> {
        let (re, im) = self.parts();
        (im == 0.0).then_some(re)
    }

    /// The integer, if this is one.
    pub fn integer(self) -> Option<i128> {
        match self.real()? {
            Number::Integer(integer) => Some(integer),
            Number::Real(real) if real.trunc() == real => real.to_i128(),
            _ => None,
        }
    }

    /// The nearest `f64` of a number without an imaginary part.
    pub fn float(self) -> Option<f64> {
        match self.real()? {
            Number::Integer(integer) => Some(integer as f64),
            Number::Real(real) => Some(real),
            Number::Complex(..) => None,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        let ((re, im), (other_re, other_im)) = (self.parts(), other.parts());
        let equal_re = match (re, other_re) {
            (Number::Real(a), Number::Real(b)) => a == b,
            (a, b) => a.integer().is_some() && a.integer() == b.integer(),
        };
        equal_re && im == other_im
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Integer(integer) => write!(f, "{integer}"),
            Number::Real(real) => write!(f, "{real:?}"),
            Number::Complex(re, im) => {
                write!(f, "{re:?}{}{:?}j", if im.is_sign_negative() { "-" } else { "+" }, im.abs())
            }
        }
    }
}

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
    };
}

/// The order of a type that has neither NaN nor infinity.
macro_rules! plain_order {
    () => {
        type Median = f64;

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

    fn from_number(number: Number) -> Option<Self> {
        match number.integer()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Real for bool {
    plain_order!();

    fn to_median(self) -> f64 {
        f64::from(u8::from(self))
    }
}

macro_rules! impl_integer {
    ($($type:ident $dtype:ident),*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            type Key = $type;

            always_plain!();

            fn checked_add(self, other: Self) -> Option<Self> {
                $type::checked_add(self, other)
            }

            fn from_number(number: Number) -> Option<Self> {
                $type::try_from(number.integer()?).ok()
            }
        }

        impl Real for $type {
            plain_order!();

            fn to_median(self) -> f64 {
                self as f64
            }
        }
    )*};
}

impl_integer!(i8 Int8, i16 Int16, i32 Int32, i64 Int64, u8 UInt8, u16 UInt16, u32 UInt32, u64 UInt64);

/// A float type: its name, its bits, the type that its arithmetic is done in, and its key.
macro_rules! impl_float {
    ($type:ty, $dtype:ident, $bits:ty, $zero:expr, $one:expr, $wide:ty, $to_wide:expr, $to_narrow:expr, $key:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            type Key = $bits;

            fn key_or_nan(self) -> $bits {
                $key(self)
            }

            fn to_integer(self) -> Option<i128> {
                None
            }

            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }

            fn checked_add(self, other: Self) -> Option<Self> {
                let sum = self + other;
                Some(if sum.is_nan() { <Self as Float>::NAN } else { sum })
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

            fn from_number(number: Number) -> Option<Self> {
                let (narrow, was_infinite) = match number.real()? {
                    Number::Integer(integer) => (<Self as Narrow>::narrow_integer(integer), false),
                    Number::Real(real) => (<Self as Narrow>::narrow(real), real.is_infinite()),
                    Number::Complex(..) => return None,
                };
                (was_infinite || !narrow.is_infinite()).then_some(narrow)
            }
        }

        impl Real for $type {
            type Median = Self;

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
        }

        impl Float for $type {
            const NAN: Self = <$type>::NAN;

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

            fn share(self, numerator: f32, count: u64) -> Self {
                let shared: $wide = $to_wide(self) * <$wide>::from(numerator) / count as $wide;
                if shared.is_nan() { <Self as Float>::NAN } else { $to_narrow(shared) }
            }
        }
    };
}

/// Rounding to the nearest value of a float type, once: a second rounding on the way would make ties of what are none.
trait Narrow {
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
impl_float!(f32, Float32, u32, 0.0, 1.0, f32, identity, identity, |value: f32| (value + 0.0).to_bits());
impl_float!(f64, Float64, u64, 0.0, 1.0, f64, identity, identity, |value: f64| (value + 0.0).to_bits());

#[cfg(feature = "half")]
mod half_types {
    use super::*;
    use half::{bf16, f16};

    /// `near` or its neighbour on the side of the exact magnitude, whichever is odd, unless `near` is exact.
    ///
    /// An odd last bit stands for "and something more", so that rounding the result to fewer bits rounds the exact
    /// number. (`half` itself drops the lower half of an `f64` before it rounds.)
    fn odd(near: f32, exact_to_near: Ordering) -> f32 {
        match exact_to_near {
            Ordering::Less if near.to_bits() & 1 == 0 => f32::from_bits(near.to_bits() - 1),
            Ordering::Greater if near.to_bits() & 1 == 0 => f32::from_bits(near.to_bits() + 1),
            _ => near,
        }
    }

    macro_rules! impl_narrow_by_f32 {
        ($($type:ident),*) => {$(
            impl Narrow for $type {
                fn narrow(wide: f64) -> $type {
                    let near = wide as f32;
                    let order = wide.abs().partial_cmp(&f64::from(near).abs());
                    $type::from_f32(odd(near, order.unwrap_or(Ordering::Equal)))
                }

                fn narrow_integer(integer: i128) -> $type {
                    let near = integer as f32;
                    $type::from_f32(odd(near, integer.unsigned_abs().cmp(&(near.abs() as u128))))
                }
            }
        )*};
    }

    impl_narrow_by_f32!(f16, bf16);

    /// The bits of a number, where both zeros have those of `0.0`.
    fn key(bits: u16) -> u16 {
        if bits << 1 == 0 { 0 } else { bits }
    }

    impl_float!(f16, Float16, u16, f16::ZERO, f16::ONE, f32, f32::from, f16::from_f32, |value: f16| key(
        value.to_bits()
    ));
    impl_float!(bf16, BFloat16, u16, bf16::ZERO, bf16::ONE, f32, f32::from, bf16::from_f32, |value: bf16| key(
        value.to_bits()
    ));
}

macro_rules! impl_complex {
    ($($part:ident $dtype:ident),*) => {$(
        impl sealed::Sealed for Complex<$part> {}

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

            fn from_number(number: Number) -> Option<Self> {
                let (re, im) = number.parts();
                Some(Complex { re: $part::from_number(re)?, im: $part::from_number(Number::Real(im))? })
            }
        }
    )*};
}

impl_complex!(f32 Complex64, f64 Complex128);

mod sealed {
    /// Bits that are all zero are the zero of each type.
    pub trait Sealed: bytemuck::Zeroable {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_what_they_are_and_not_by_their_type() {
        use Number::{Complex, Integer, Real};
        for (a, b) in [
            (Integer(2), Integer(2)),
            (Integer(2), Real(2.0)),
            (Real(0.0), Real(-0.0)),
            (Real(1.5), Complex(1.5, 0.0)),
            (Integer(-3), Complex(-3.0, 0.0)),
        ] {
            assert_eq!([a == b, b == a], [true; 2], "{a} {b}");
        }
        for (a, b) in [
            (Integer(2), Integer(3)),
            (Integer(2), Real(2.5)),
            (Integer(9_007_199_254_740_993), Real(9_007_199_254_740_992.0)),
            (Real(1.5), Real(2.5)),
            (Real(f64::NAN), Real(f64::NAN)),
            (Real(1.5), Complex(1.5, 1.0)),
            (Complex(1.0, 2.0), Complex(1.0, 3.0)),
            (Complex(1.0, 2.0), Complex(3.0, 2.0)),
        ] {
            assert_eq!([a == b, b == a], [false; 2], "{a} {b}");
        }
    }

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
