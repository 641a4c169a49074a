//! The element types and their traits.
//!
//! [`Element`] is implemented by every type that a tensor may hold. [`Ring`] defines sums and means, [`Real`] an order
//! (all types except complex ones), and [`Float`] the types of medians and gradients. All traits are sealed, because
//! the guarantees of this crate are proved for each type separately. Arithmetic that every type supports is a method of
//! `Element`; `bool` adds with "or".
//!
//! Some operations are chosen at run time, such as merging duplicates or the lookup of `isin`. Methods for these
//! operations are in `Element`, and return `None` for types that do not support the operation
//! ([`smaller`](Element::smaller), [`to_integer`](Element::to_integer)). A trait bound would remove all options of
//! these operations for types without the trait.
//!
//! A requirement of an entire operation is a trait with a mathematical name. Types that depend only on the element
//! type, such as the type of means or the accumulator of sums, are associated types of these traits.

mod arithmetic;
pub(crate) mod complex;
pub(crate) mod complex_math;
mod dot;
mod dyadic;
mod exact;
mod factor;
mod interleaved;
#[macro_use]
mod floats;
pub(crate) mod accumulator_bytes;
#[cfg(feature = "half")]
mod half_types;
mod in_f64;
mod integer_total;
pub(crate) mod lanes;
pub(crate) mod math;
pub(crate) mod norm;
mod number;
mod pair;
pub(crate) mod products;
mod raw;
mod slices;
mod total;
mod types;
mod unary;

pub(crate) use accumulator_bytes::Saved;
pub use arithmetic::{Bits, Numeric, Remainder, Shift};
pub(crate) use arithmetic::{maximum, minimum, scaled, without_sign};
pub(crate) use dot::{Dot, Term};
pub(crate) use factor::ProductFactor;
pub(crate) use interleaved::{INTERLEAVED, Interleaved, RunResults};
pub use number::{DType, Number};
pub(crate) use raw::{RawSlice, RawVec, by_raw};
pub(crate) use slices::{Slices, max_magnitude};
pub(crate) use total::Accumulator;
pub(crate) use unary::InexactMap;
pub use unary::{ComplexElement, Inexact, Magnitude, Signed};

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hash::Hash;

use self::in_f64::ExactInF64;
use self::total::TotalResults;
use crate::base::sealed;

/// An element type of tensors.
///
/// The element types are `bool`, the integers of 8 to 64 bits, `f32`, `f64` and their complex numbers. The feature
/// `half` adds `half::f16` and `half::bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    note = "element types are `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`, and \
            with the feature `half` also `f16` and `bf16`"
)]
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static + ElementBytes + sealed::Sealed {
    // A default body applies to all types, or only to integers and `bool`. In the second case all other types override
    // it.

    /// The element type as a value.
    const DTYPE: DType;
    /// Zero, or `false`.
    const ZERO: Self;
    /// One, or `true`.
    const ONE: Self;

    /// The type of [`key`](Element::key).
    type Key: Copy + Ord + Hash + Debug + Send + Sync;

    /// Returns the key of a value, or `None` for NaN.
    ///
    /// The keys of two values are equal if and only if the values are equal under `==`.
    fn key(self) -> Option<Self::Key> {
        (!self.isnan()).then(|| self.key_or_nan())
    }

    /// Returns the [`key`](Element::key), or for NaN a key that no other value has.
    ///
    /// The function does not branch.
    fn key_or_nan(self) -> Self::Key;

    /// Returns the value as an integer for integer types and `bool`; `None` for other types.
    fn to_integer(self) -> Option<i128> {
        match self.to_number() {
            Number::Integer(integer) => Some(integer),
            Number::Real(_) | Number::Complex(..) => None,
        }
    }

    /// Returns whether both values are NaN, or are equal with equal signs of zero.
    ///
    /// Both parts of complex numbers are compared in this way.
    ///
    /// ```
    /// use lacuna::Element;
    ///
    /// assert!(Element::same(f64::NAN, f64::NAN));
    /// assert!(!Element::same(0.0, -0.0));
    /// assert!(Element::same(7, 7));
    /// ```
    fn same(self, other: Self) -> bool {
        self == other
    }

    /// Returns the sum, or `None` if the sum does not fit in the integer type.
    ///
    /// `bool` adds with "or". If the sum is NaN, the result is the canonical NaN.
    fn checked_add(self, other: Self) -> Option<Self>;

    /// Returns the product, or `None` if the product does not fit in the integer type.
    ///
    /// `bool` multiplies with "and". If the product is NaN, the result is the canonical NaN.
    fn checked_mul(self, other: Self) -> Option<Self>;

    /// Returns whether the value is truthy, which means nonzero.
    ///
    /// NaN is truthy, and `-0.0` is not truthy. A complex number is truthy if either part is truthy.
    fn is_truthy(self) -> bool {
        self != Self::ZERO
    }

    /// Returns whether the value (or either part) is NaN.
    fn isnan(self) -> bool {
        false
    }

    /// Returns whether the value (or either part) is infinite.
    fn isinf(self) -> bool {
        false
    }

    /// Returns whether the value (or both parts) is neither NaN nor infinite.
    fn isfinite(self) -> bool {
        !self.isnan() && !self.isinf()
    }

    /// Returns whether the imaginary part is zero; true for types without an imaginary part.
    fn isreal(self) -> bool {
        true
    }

    /// Returns the smaller value, where `-0.0` is below `0.0`.
    ///
    /// Returns the canonical NaN if either value is NaN, and `None` for complex types, which do not have an order.
    fn smaller(self, other: Self) -> Option<Self> {
        Some(if other.key_or_nan() < self.key_or_nan() { other } else { self })
    }

    /// Returns the larger value, where `-0.0` is below `0.0`.
    ///
    /// Returns the canonical NaN if either value is NaN, and `None` for complex types, which do not have an order.
    fn greater(self, other: Self) -> Option<Self> {
        Some(if other.key_or_nan() > self.key_or_nan() { other } else { self })
    }

    /// Returns the value as a computed fill.
    ///
    /// A zero becomes `+0.0`, a NaN becomes the canonical NaN, and other values are unchanged. For complex numbers,
    /// this rule applies to each part.
    fn as_implicit(self) -> Self {
        // Adding zero replaces each NaN by the canonical NaN, and `-0.0 + 0.0` is `0.0`.
        self.checked_add(Self::ZERO).unwrap_or(self)
    }

    /// Returns the value as a number without its type.
    fn to_number(self) -> Number;

    /// Converts `number` to this type, or returns `None` if `number` does not fit.
    ///
    /// A number fits in an integer type if it is an integer in the range of the type. The type `bool` holds the numbers
    /// 0 and 1. Floats are rounded to nearest, and a finite number that would become infinite does not fit in the type.
    /// A complex number fits in a real type if its imaginary part is zero.
    fn from_number(number: Number) -> Option<Self>;

    /// Returns the values as plain bits, for code that only moves them.
    #[doc(hidden)]
    fn raw(values: &[Self]) -> RawSlice<'_>;

    /// Returns the values with these bits.
    #[doc(hidden)]
    fn from_raw(raw: RawVec) -> Vec<Self>;

    /// Returns the result of the visitor, if the type is a floating-point type.
    #[doc(hidden)]
    fn if_float<V: FloatVisitor>(_: V) -> Option<V::Out> {
        None
    }
}

/// Code that is compiled only for float types, but called for any element type.
#[doc(hidden)]
pub trait FloatVisitor {
    /// The type of the result.
    type Out;

    /// Returns the result for type `F`.
    fn visit<F: Float + Numeric>(self) -> Self::Out;
}

/// A type with sums and means: implemented by every [`Element`].
///
/// Sums are computed exactly and then rounded once. Sums are therefore bitwise identical for any order, format and
/// number of threads.
pub trait Ring: Element {
    /// The type of sums.
    ///
    /// Floats and complex numbers keep their type, signed integers use `i64`, and unsigned integers and `bool` use
    /// `u64`.
    type Sum: Element;
    /// The type of means.
    ///
    /// Floats and complex numbers keep their type, and integers and `bool` use `f64`.
    type Mean: Element;

    /// The type of variances and standard deviations.
    ///
    /// Floats keep their type, complex numbers use the type of their parts, and integers and `bool` use `f64`.
    type Deviation: Float;

    /// The number of parts: 2 for complex numbers, otherwise 1.
    #[doc(hidden)]
    const PARTS: usize = 1;

    /// Returns each part as the nearest `f64`, and 0 for a missing part.
    #[doc(hidden)]
    fn wide_parts(self) -> [f64; 2] {
        Self::Total::parts(self)
    }

    /// Returns the parts of the total divided by a count, as the nearest `f64`.
    #[doc(hidden)]
    fn wide_mean_of(total: &Self::Total, count: u128) -> [f64; 2] {
        total.wide_mean(count)
    }

    /// The accumulator that holds a sum exactly.
    #[doc(hidden)]
    type Total: total::TotalResults<Self>;

    /// The type of factors of products.
    #[doc(hidden)]
    type Factor: factor::ProductFactor;

    /// Returns the value as a factor.
    #[doc(hidden)]
    fn factor(self) -> Self::Factor {
        Self::Total::factor(self)
    }

    /// The accumulator for sums of products, added in order.
    #[doc(hidden)]
    type Dot: dot::Dot<Self>;

    /// Returns the product in the type of sums, if it fits in that type.
    #[doc(hidden)]
    fn product_of(factor: Self::Factor) -> Option<Self::Sum> {
        Self::Total::product(factor)
    }

    /// Returns the total as a sum, if it fits in the type of sums.
    #[doc(hidden)]
    fn sum_of(total: &Self::Total) -> Option<Self::Sum> {
        total.sum()
    }

    /// Returns the total divided by a count.
    #[doc(hidden)]
    fn mean_of(total: &Self::Total, count: u128) -> Self::Mean {
        total.mean(count)
    }

    /// Returns the correctly rounded sum, if the small total determines it.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_sum_of(cell: Cell<Self>) -> Option<Self::Sum> {
        Self::Total::quick_sum(cell)
    }

    /// Returns the correctly rounded mean, if the small total and the count determine it.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_mean_of(cell: Cell<Self>, count: u128) -> Option<Self::Mean> {
        Self::Total::quick_mean(cell, count)
    }

    /// Returns variances or standard deviations of eight runs of values, if a few floats determine them.
    ///
    /// Each count includes zeros that are not stored in the run.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_spreads_of(
        values: &[Self],
        runs: &Interleaved,
        counts: [u128; INTERLEAVED],
        ddof: u64,
        is_root: bool,
    ) -> RunResults<Self::Deviation> {
        Self::Total::quick_spreads(values, runs, counts, ddof, is_root)
    }
}

/// The small total of an element type.
pub(crate) type Cell<T> = <<T as Ring>::Total as Accumulator<T>>::Cell;

/// A type with an order: every [`Element`] except complex numbers.
///
/// Operations that require an order, such as `max`, `median` and `unique`, therefore do not compile for complex
/// numbers:
///
/// ```compile_fail,E0277
/// # use {lacuna::{CooTensor, max}, num_complex::Complex};
/// max(&CooTensor::full([2], Complex::new(0.0, 1.0)).unwrap(), 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not have an order, which this operation requires",
    note = "`bool`, integers of 8 to 64 bits and floats do; for complex numbers, take `re`, `im` or `norm()` first"
)]
pub trait Real: Ring + PartialOrd {
    /// The type of medians.
    ///
    /// Floats keep their type, and integers and `bool` use `f64`.
    type Median: Float;

    /// The smallest value; `-inf` for floats.
    const LOWEST: Self;
    /// The largest value; `inf` for floats.
    const HIGHEST: Self;

    /// Compares two values that are not NaN; zeros of both signs are equal.
    fn order(self, other: Self) -> Ordering {
        self.partial_cmp(&other).unwrap_or(Ordering::Equal)
    }

    /// Returns whether the value is `+inf`.
    fn isposinf(self) -> bool {
        self.isinf() && self == Self::HIGHEST
    }

    /// Returns whether the value is `-inf`.
    fn isneginf(self) -> bool {
        self.isinf() && self == Self::LOWEST
    }

    /// Returns whether the value is below zero or `-0.0`.
    ///
    /// The result is false for NaN.
    fn signbit(self) -> bool {
        (self < Self::ZERO) | ((self == Self::ZERO) & !self.same(Self::ZERO))
    }

    /// Returns the value in the type of medians.
    fn to_median(self) -> Self::Median;

    /// Returns the nearest `f64`.
    fn to_f64(self) -> f64 {
        self.to_median().in_f64()
    }
}

/// A floating-point type: `f32`, `f64`, and with the feature `half` also `half::f16` and `half::bf16`.
///
/// Operations that require a float type, such as `norm`, `exp` and `nansum`, do not compile for integers:
///
/// ```compile_fail,E0277
/// # use lacuna::{CooTensor, norm};
/// norm(&CooTensor::full([2], 1).unwrap(), 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point type, which this operation requires",
    note = "write the literals as floats, `1.0`, or convert first: `x.cast::<f64>()?`"
)]
pub trait Float:
    Real<Median = Self>
    + Ring<Sum = Self, Mean = Self, Deviation = Self, Total = total::FloatTotal, Factor = factor::Scaled>
    + Numeric
    + Into<f64>
    + in_f64::ExactInF64
    + floats::Narrow
{
    /// The canonical quiet NaN.
    const NAN: Self;

    /// Returns the nearest number of this type, correctly rounded.
    ///
    /// A NaN becomes the canonical NaN.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1);
    /// assert_eq!(f32::from_f64(1e300), f32::INFINITY);
    /// ```
    fn from_f64(wide: f64) -> Self {
        if floats::has_bits_of_nan(wide) { Self::NAN } else { Self::nearest_to_f64(wide) }
    }

    /// Returns the next number of this type toward `target`, or `target` if both are equal.
    ///
    /// If either number is NaN, the result is the canonical NaN.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(1.0f32.next_toward(2.0), 1.0 + f32::EPSILON);
    /// ```
    fn next_toward(self, target: Self) -> Self;

    /// Returns `(self + other) / 2` without overflow.
    ///
    /// If the result is zero, it is `+0.0`. If the result is NaN, it is the canonical NaN.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(f64::MAX.midpoint_of(f64::MAX), f64::MAX);
    /// assert_eq!(1.0f32.midpoint_of(2.0), 1.5);
    /// ```
    fn midpoint_of(self, other: Self) -> Self {
        floats::midpoint(self, other)
    }

    /// Returns `self + (other - self) * weight`, correctly rounded.
    ///
    /// `weight` must be from 0 to 1. If the result is zero, it is `+0.0`. If either value is infinite, the result is
    /// the sum of both values, for any `weight`.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(1.0f64.between(2.0, 0.25), 1.25);
    /// assert_eq!((-f64::MAX).between(f64::MAX, 0.5), 0.0);
    /// ```
    fn between(self, other: Self, weight: f64) -> Self {
        Self::from_f64(total::between(self.in_f64(), other.in_f64(), weight, Self::ROUNDING))
    }

    /// Returns `self / count`, correctly rounded.
    fn over(self, count: u128) -> Self {
        if self == Self::ZERO && count > 0 {
            return self;
        }
        let mut total = Self::Total::default();
        total.add(self);
        Self::mean_of(&total, count)
    }

    /// Returns `self * part / count`.
    ///
    /// If `count` elements share the fraction `part` of a gradient equally, each element receives this number.
    fn share(self, part: f64, count: u64) -> Self {
        floats::share(self, part, count)
    }
}

/// Types whose zero consists of zero bits.
///
/// Values can be read as bytes. Bytes can be converted to values after a check.
pub trait ElementBytes: bytemuck::Zeroable + bytemuck::NoUninit + bytemuck::CheckedBitPattern {}
impl<T: bytemuck::Zeroable + bytemuck::NoUninit + bytemuck::CheckedBitPattern> ElementBytes for T {}
