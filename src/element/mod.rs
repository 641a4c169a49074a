//! The element types and what may be asked of them.
//!
//! [`Element`] is every type that a tensor may hold, [`Ring`] what sums and means of them are, [`Real`] those with an
//! order (all but the complex ones), [`Float`] those that medians and gradients come in. All are sealed: the promises
//! of this crate are proved type by type. Arithmetic that every type has (`bool` adds by "or") is a method of
//! `Element`.
//!
//! What some types cannot do is a method of `Element` all the same, with `None` where they cannot
//! ([`smaller`](Element::smaller), [`to_integer`](Element::to_integer)), if it is asked for by a choice made at run
//! time: how duplicates merge, by which way `isin` looks members up. A bound would take the choice away from the other
//! types. What a type must be able to do for an operation to exist at all is a trait with the mathematical name, and a
//! type that belongs to the element alone (that of its means, an accumulator of its sums) is an associated type of
//! that trait.

mod abreast;
mod arithmetic;
mod complex;
mod dot;
mod exact;
mod factor;
#[macro_use]
mod floats;
#[cfg(feature = "half")]
mod half_types;
pub(crate) mod lanes;
pub(crate) mod math;
pub(crate) mod norm;
mod number;
mod pair;
mod raw;
pub(crate) mod saved;
mod slices;
mod total;
mod types;
mod unary;

pub(crate) use abreast::{ABREAST, Abreast, Known};
pub use arithmetic::{Bits, Numeric, Remainder};
pub(crate) use arithmetic::{maximum, minimum, scaled, without_sign};
pub(crate) use dot::{Dot, Term};
pub(crate) use factor::Factor;
pub use number::{DType, Number};
pub(crate) use raw::{RawSlice, RawVec, by_raw};
pub(crate) use saved::Saved;
pub(crate) use slices::{Slices, greatest};
pub(crate) use total::Accumulator;
pub use unary::{ComplexElement, Magnitude, RealNumber, Signed};

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hash::Hash;

/// A type of elements: `bool`, the integers of 8 to 64 bits, `f32`, `f64`, their complex numbers, and with the
/// feature `half` also `half::f16` and `half::bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element of a tensor",
    note = "elements are `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`, and with \
            the feature `half` also `f16` and `bf16`"
)]
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

    /// The product, `None` where an integer type cannot hold it; `and` for `bool`. A NaN product is the canonical NaN.
    fn checked_mul(self, other: Self) -> Option<Self>;

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

    /// The smaller one, `-0.0` below `0.0`, the canonical NaN if either is NaN; `None` for a type without an order
    /// (complex).
    fn smaller(self, other: Self) -> Option<Self>;

    /// The greater one, the canonical NaN if either is NaN; `None` for a type without an order (complex).
    fn greater(self, other: Self) -> Option<Self>;

    /// As a computed implicit value: a zero without a sign, and the canonical NaN, per part.
    fn as_implicit(self) -> Self;

    /// The value without its type.
    fn to_number(self) -> Number;

    /// `number` in this type: integers must fit, and fractions, NaN and infinities fit no integer; floats are rounded
    /// to the nearest, and a finite number that would become infinite does not fit; `bool` takes 0 and 1; a complex
    /// number fits a type that has no imaginary part if its own is zero.
    fn from_number(number: Number) -> Option<Self>;

    /// The values as plain bits, by which they are moved.
    #[doc(hidden)]
    fn raw(values: &[Self]) -> RawSlice<'_>;

    /// The values whose bits these are.
    #[doc(hidden)]
    fn from_raw(raw: RawVec) -> Vec<Self>;

    /// What the visitor says of the type, if it is one of floats.
    #[doc(hidden)]
    fn if_float<V: FloatVisitor>(_: V) -> Option<V::Out> {
        None
    }
}

/// What is compiled for a type of floats only, and asked for where the type is any element.
#[doc(hidden)]
pub trait FloatVisitor {
    /// What it gives.
    type Out;

    /// For the type.
    fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out;
}

/// A type with sums and means: every [`Element`].
///
/// Sums are exact and then rounded once; so neither order nor format nor threads change a bit of them.
pub trait Ring: Element {
    /// The type of sums: floats and complex numbers keep theirs, signed integers give `i64`, unsigned ones and `bool`
    /// `u64`.
    type Sum: Element;
    /// The type of means: floats and complex numbers keep theirs, integers and `bool` give `f64`.
    type Mean: Element;

    /// The type of variances and deviations: floats keep theirs, complex numbers give that of their parts, integers and
    /// `bool` give `f64`.
    type Deviation: Float;

    /// How many parts there are: the real one, and of complex numbers the imaginary one.
    #[doc(hidden)]
    const PARTS: usize;

    /// The parts as the nearest `f64`, 0 for one that there is not.
    #[doc(hidden)]
    fn wide_parts(self) -> [f64; 2];

    /// The parts of the total over a count, as the nearest `f64`.
    #[doc(hidden)]
    fn wide_mean_of(total: &Self::Total, count: u128) -> [f64; 2];

    /// What holds a sum exactly.
    #[doc(hidden)]
    type Total: total::Accumulator<Self>;

    /// What products are made of.
    #[doc(hidden)]
    type Factor: factor::Factor;

    /// The value as a factor.
    #[doc(hidden)]
    fn factor(self) -> Self::Factor;

    /// What a sum of products is built up in, in the order in which they come.
    #[doc(hidden)]
    type Dot: dot::Dot<Self>;

    /// The product, which is of the type of sums, if it fits.
    #[doc(hidden)]
    fn product_of(factor: Self::Factor) -> Option<Self::Sum>;

    /// The total as a sum, if it has one.
    #[doc(hidden)]
    fn sum_of(total: &Self::Total) -> Option<Self::Sum>;

    /// The total over a count.
    #[doc(hidden)]
    fn mean_of(total: &Self::Total, count: u128) -> Self::Mean;

    /// The total that is small, if that is enough to know it.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_sum_of(cell: Cell<Self>) -> Option<Self::Sum> {
        let mut total = Self::Total::default();
        total.add_cell(cell);
        Self::sum_of(&total)
    }

    /// The total that is small over a count, if that is enough to know it.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_mean_of(cell: Cell<Self>, count: u128) -> Option<Self::Mean> {
        let mut total = Self::Total::default();
        total.add_cell(cell);
        Some(Self::mean_of(&total, count))
    }

    /// The variances of runs among values, or their roots, where a few floats are enough to know them; each is of so
    /// many values, zeros beside the run included.
    #[doc(hidden)]
    #[inline(always)]
    fn quick_spreads_of(
        _values: &[Self],
        _runs: &Abreast,
        _counts: [u128; ABREAST],
        _ddof: u64,
        _is_root: bool,
    ) -> Known<Self::Deviation> {
        ([Self::Deviation::ZERO; ABREAST], [false; ABREAST])
    }
}

/// The small total of a type.
pub(crate) type Cell<T> = <<T as Ring>::Total as Accumulator<T>>::Cell;

/// A type with an order: every [`Element`] but the complex ones.
///
/// So extremes, their positions, medians, quantiles, ranks and `unique` of complex numbers do not compile:
///
/// ```compile_fail,E0277
/// # use {lacuna::{CooTensor, max}, num_complex::Complex};
/// max(&CooTensor::full([2], Complex::new(0.0, 1.0)).unwrap(), 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no order, which this asks for",
    note = "`bool`, integers of 8 to 64 bits and floats have one; of complex numbers take `re`, `im` or `norm()` first"
)]
pub trait Real: Ring + PartialOrd {
    /// The type of medians: the floats keep theirs, integers and `bool` give `f64`.
    type Median: Float;

    /// The value that no other is below: `-inf` of floats.
    const LOWEST: Self;
    /// The value that no other is above: `inf` of floats.
    const HIGHEST: Self;

    /// The order of two values of which none is NaN; zeros of both signs are equal.
    fn order(self, other: Self) -> Ordering;

    /// Whether the value is `+inf`.
    fn isposinf(self) -> bool;

    /// Whether the value is `-inf`.
    fn isneginf(self) -> bool;

    /// The value in the type of medians.
    fn to_median(self) -> Self::Median;

    /// The nearest `f64`.
    fn to_f64(self) -> f64;
}

/// A floating-point type: `f32`, `f64`, and with the feature `half` also `half::f16` and `half::bf16`.
///
/// What asks for one, as norms, functions such as `exp`, and reductions without NaN do, does not compile on integers:
///
/// ```compile_fail,E0277
/// # use lacuna::{CooTensor, norm};
/// norm(&CooTensor::full([2], 1).unwrap(), 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no floating-point type, which this asks for",
    note = "write the literals as floats, `1.0`, or convert beforehand: `x.cast::<f64>()?`"
)]
pub trait Float:
    Real<Median = Self>
    + Ring<Sum = Self, Mean = Self, Deviation = Self, Total = total::FloatTotal, Factor = factor::Scaled>
    + Into<f64>
    + floats::Wide
{
    /// The canonical quiet NaN.
    const NAN: Self;

    /// The nearest number of this type, rounded once; a NaN is the canonical one.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1);
    /// assert_eq!(f32::from_f64(1e300), f32::INFINITY);
    /// ```
    fn from_f64(wide: f64) -> Self;

    /// `(a + b) / 2`, formed without overflow; a zero result is `+0.0`, a NaN one canonical.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(f64::MAX.midpoint_of(f64::MAX), f64::MAX);
    /// assert_eq!(1.0f32.midpoint_of(2.0), 1.5);
    /// ```
    fn midpoint_of(self, other: Self) -> Self;

    /// `self + (other - self) * weight` as a real number, rounded once, for a weight from 0 to 1; a zero result is
    /// `+0.0`. Beside an infinity it is the sum of both.
    ///
    /// ```
    /// use lacuna::Float;
    ///
    /// assert_eq!(1.0f64.between(2.0, 0.25), 1.25);
    /// assert_eq!((-f64::MAX).between(f64::MAX, 0.5), 0.0);
    /// ```
    fn between(self, other: Self, weight: f64) -> Self;

    /// `self / count`, rounded once.
    fn over(self, count: u128) -> Self {
        if self == Self::ZERO && count > 0 {
            return self;
        }
        let mut total = Self::Total::default();
        total.add(self);
        Self::mean_of(&total, count)
    }

    /// `self * part / count`, where part of a gradient (0.5 for half of it, 1.0 for all) is shared by `count`.
    fn share(self, part: f64, count: u64) -> Self;
}

mod sealed {
    /// Bits that are all zero are the zero of each type; its bytes can be read, and written where they are checked.
    pub trait Sealed: bytemuck::Zeroable + bytemuck::NoUninit + bytemuck::CheckedBitPattern {}
}
