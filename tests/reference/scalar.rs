//! The element types, and the few questions that the reference asks of one element.

use std::cmp::Ordering;
use std::fmt::Debug;

use num_complex::Complex;

#[cfg(feature = "half")]
use half::{bf16, f16};

/// Any element: `bool`, the integers, the floats, and complex numbers.
pub trait Scalar: Copy + PartialEq + Debug + 'static {
    /// Zero; `false` for `bool`; `+0.0` in each part.
    fn zero() -> Self;

    /// Returns one; `true` for `bool`.
    fn one() -> Self;

    /// Returns whether the value is NaN; for complex numbers, whether either part is.
    fn is_nan(self) -> bool;

    /// Returns whether the value is an infinity of either sign; for complex numbers, whether either part is.
    fn is_inf(self) -> bool;

    /// Returns whether the value is neither NaN nor an infinity; for complex numbers, whether both parts are.
    fn is_finite(self) -> bool;

    /// Returns whether the imaginary part is zero of either sign; `true` for types without imaginary parts.
    fn is_real(self) -> bool;

    /// Returns whether the value differs from zero: NaN does, `-0.0` does not, a complex number does if either part
    /// does.
    fn truthy(self) -> bool;

    /// Both NaN, or equal with equal signs of zero; for complex, part by part.
    fn same(self, other: Self) -> bool;

    /// Equality as a set sees it: NaN is equal to nothing, `-0.0` to `0.0`.
    fn member_eq(self, other: Self) -> bool;

    /// The plain bits, NaN payloads as they are; a complex number is `re << 64 | im`.
    fn to_canon_bits(self) -> u128;

    /// The value with each NaN part replaced by the canonical NaN.
    fn canonical(self) -> Self;

    /// `self + other`: or for `bool`, `None` where an integer overflows, the plain float sum.
    fn checked_add(self, other: Self) -> Option<Self>;

    /// `self < other`, or `None` if the type has no order (complex).
    fn less(self, other: Self) -> Option<bool>;

    /// Returns whether two results have the same bits.
    fn bits_equal(self, other: Self) -> bool {
        self.to_canon_bits() == other.to_canon_bits()
    }
}

/// An element with an order: everything but complex.
pub trait RealScalar: Scalar {
    /// The type of a median: the float itself, `f64` for integers and `bool`.
    type Median: GradScalar;

    /// The order of two numbers, `-0.0` equal to `0.0`.
    ///
    /// # Panics
    ///
    /// If either is NaN.
    fn order(self, other: Self) -> Ordering;

    /// The value as a median: converted, zero as `+0.0`, NaN as the canonical NaN.
    fn to_median(self) -> Self::Median;

    /// The mean of the two middle values as a median.
    ///
    /// `(a + b) / 2`, or `a / 2 + b / 2` where that sum of two finite numbers overflows. 16-bit
    /// floats do it in `f32` and round once, integers and `bool` convert both to `f64` first.
    fn mean_of_two(self, other: Self) -> Self::Median;

    /// Returns whether the value is `+inf`.
    fn is_pos_inf(self) -> bool;

    /// Returns whether the value is `-inf`.
    fn is_neg_inf(self) -> bool;
}

/// A float that gradients and medians are made of: `f32`, `f64`, `f16`, `bf16`.
///
/// The 16-bit types compute each share in `f32`, from the exact gradient to the one rounding at the
/// end. Every result has canonical NaNs.
pub trait GradScalar: Scalar {
    /// The one NaN that a computation may give.
    fn canonical_nan() -> Self;

    /// `self * 0.5`.
    fn halved(self) -> Self;

    /// `self / n`, with `n` rounded to the float type that computes.
    fn share(self, n: usize) -> Self;

    /// `(self * 0.5) / n`, in this order.
    fn half_share(self, n: usize) -> Self;
}

/// `bool` and integers: nothing is NaN, infinite or imaginary.
macro_rules! exact_scalar {
    ($type:ty, $zero:expr, $one:expr, $bits:expr, $add:expr, $to_f64:expr) => {
        impl Scalar for $type {
            fn zero() -> Self {
                $zero
            }
            fn one() -> Self {
                $one
            }
            fn is_nan(self) -> bool {
                false
            }
            fn is_inf(self) -> bool {
                false
            }
            fn is_finite(self) -> bool {
                true
            }
            fn is_real(self) -> bool {
                true
            }
            fn truthy(self) -> bool {
                self != $zero
            }
            fn same(self, other: Self) -> bool {
                self == other
            }
            fn member_eq(self, other: Self) -> bool {
                self == other
            }
            fn to_canon_bits(self) -> u128 {
                $bits(self)
            }
            fn canonical(self) -> Self {
                self
            }
            fn checked_add(self, other: Self) -> Option<Self> {
                $add(self, other)
            }
            fn less(self, other: Self) -> Option<bool> {
                Some(self < other)
            }
        }

        impl RealScalar for $type {
            type Median = f64;

            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
            fn to_median(self) -> f64 {
                $to_f64(self)
            }
            fn mean_of_two(self, other: Self) -> f64 {
                ($to_f64(self) + $to_f64(other)) / 2.0
            }
            fn is_pos_inf(self) -> bool {
                false
            }
            fn is_neg_inf(self) -> bool {
                false
            }
        }
    };
}

/// An integer; its bits are those of the same width, zero-extended.
macro_rules! integer_scalar {
    ($($type:ty as $unsigned:ty),*) => {$(
        exact_scalar!(
            $type,
            0,
            1,
            |x: $type| u128::from(x as $unsigned),
            <$type>::checked_add,
            |x: $type| x as f64
        );
    )*};
}

exact_scalar!(bool, false, true, u128::from, |a: bool, b: bool| Some(a || b), |x: bool| f64::from(u8::from(x)));
integer_scalar!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);
integer_scalar!(u8 as u8, u16 as u16, u32 as u32, u64 as u64);

/// A float, whose zero, one and trip to the type that computes are named.
macro_rules! float_scalar {
    ($type:ty, $zero:expr, $one:expr, $wide:ty, $widen:expr, $narrow:expr) => {
        impl Scalar for $type {
            fn zero() -> Self {
                $zero
            }
            fn one() -> Self {
                $one
            }
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }
            fn is_inf(self) -> bool {
                <$type>::is_infinite(self)
            }
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
            fn is_real(self) -> bool {
                true
            }
            fn truthy(self) -> bool {
                self != $zero
            }
            fn same(self, other: Self) -> bool {
                let both_nan = <$type>::is_nan(self) && <$type>::is_nan(other);
                both_nan || self == other && self.is_sign_negative() == other.is_sign_negative()
            }
            fn member_eq(self, other: Self) -> bool {
                self == other
            }
            fn to_canon_bits(self) -> u128 {
                u128::from(self.to_bits())
            }
            fn canonical(self) -> Self {
                if <$type>::is_nan(self) { <$type>::NAN } else { self }
            }
            fn checked_add(self, other: Self) -> Option<Self> {
                Some(self + other)
            }
            fn less(self, other: Self) -> Option<bool> {
                Some(self < other)
            }
        }

        impl RealScalar for $type {
            type Median = $type;

            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other).expect("NaN has no order")
            }
            fn to_median(self) -> $type {
                if self == $zero { $zero } else { self.canonical() }
            }
            fn mean_of_two(self, other: Self) -> $type {
                let (a, b): ($wide, $wide) = ($widen(self), $widen(other));
                let overflows = a.is_finite() && b.is_finite() && (a + b).is_infinite();
                let mean = if overflows { a / 2.0 + b / 2.0 } else { (a + b) / 2.0 };
                $narrow(mean).to_median()
            }
            fn is_pos_inf(self) -> bool {
                self == <$type>::INFINITY
            }
            fn is_neg_inf(self) -> bool {
                self == <$type>::NEG_INFINITY
            }
        }

        impl GradScalar for $type {
            fn canonical_nan() -> Self {
                <$type>::NAN
            }
            fn halved(self) -> Self {
                $narrow($widen(self) * 0.5).canonical()
            }
            fn share(self, n: usize) -> Self {
                $narrow($widen(self) / (n as $wide)).canonical()
            }
            fn half_share(self, n: usize) -> Self {
                $narrow($widen(self) * 0.5 / (n as $wide)).canonical()
            }
        }
    };
}

float_scalar!(f32, 0.0, 1.0, f32, std::convert::identity, std::convert::identity);
float_scalar!(f64, 0.0, 1.0, f64, std::convert::identity, std::convert::identity);
#[cfg(feature = "half")]
float_scalar!(f16, f16::ZERO, f16::ONE, f32, f16::to_f32, f16::from_f32);
#[cfg(feature = "half")]
float_scalar!(bf16, bf16::ZERO, bf16::ONE, f32, bf16::to_f32, bf16::from_f32);

/// A complex number answers part by part.
macro_rules! complex_scalar {
    ($($part:ty),*) => {$(
        impl Scalar for Complex<$part> {
            fn zero() -> Self {
                Complex::new(0.0, 0.0)
            }
            fn one() -> Self {
                Complex::new(1.0, 0.0)
            }
            fn is_nan(self) -> bool {
                self.re.is_nan() || self.im.is_nan()
            }
            fn is_inf(self) -> bool {
                self.re.is_infinite() || self.im.is_infinite()
            }
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
            fn is_real(self) -> bool {
                self.im == 0.0
            }
            fn truthy(self) -> bool {
                self.re.truthy() || self.im.truthy()
            }
            fn same(self, other: Self) -> bool {
                self.re.same(other.re) && self.im.same(other.im)
            }
            fn member_eq(self, other: Self) -> bool {
                self.re == other.re && self.im == other.im
            }
            fn to_canon_bits(self) -> u128 {
                self.re.to_canon_bits() << 64 | self.im.to_canon_bits()
            }
            fn canonical(self) -> Self {
                Complex::new(self.re.canonical(), self.im.canonical())
            }
            fn checked_add(self, other: Self) -> Option<Self> {
                Some(self + other)
            }
            fn less(self, _: Self) -> Option<bool> {
                None
            }
        }
    )*};
}

complex_scalar!(f32, f64);
