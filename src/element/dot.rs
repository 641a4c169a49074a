//! Accumulators of matrix products: sums of products, added in order.
//!
//! Each product and each sum of floats is rounded, for 16-bit floats as `f32`; no operations are fused. Integers keep
//! all digits, and `bool` adds with "or".

use num_complex::Complex;
use num_traits::{AsPrimitive, Num};

use super::arithmetic::{both, canonical};
use super::{Float, Ring};

/// A sum of products of elements.
pub trait Dot<T>: Copy + Send + Sync + 'static {
    /// The type of a product of elements.
    type Term: Copy + Send + Sync;

    /// The empty sum: `0.0` with a positive sign.
    const NOTHING: Self;

    /// Returns an element as a factor.
    #[must_use]
    fn term(value: T) -> Self::Term;

    /// Returns the product of two terms.
    #[must_use]
    fn times(a: Self::Term, b: Self::Term) -> Self::Term;

    /// Returns the sum with one more term.
    #[must_use]
    fn add(self, term: Self::Term) -> Self;

    /// Returns the sum with the product of two more elements.
    #[inline(always)]
    #[must_use]
    fn plus(self, left: T, right: T) -> Self {
        self.add(Self::times(Self::term(left), Self::term(right)))
    }

    /// Returns the sum followed by the sum `other`.
    #[must_use]
    fn join(self, other: Self) -> Self;

    /// Returns the sum as an element, with the canonical NaN; `None` if the sum does not fit in the integer type.
    fn value(self) -> Option<T>;
}

/// The product of one or more elements.
pub(crate) type Term<T> = <<T as Ring>::Dot as Dot<T>>::Term;

/// Floats, computed in [`Narrow::WideFloat`](super::floats::Narrow::WideFloat).
impl<T: Float<WideFloat = W>, W: Float + Num + From<T> + AsPrimitive<T>> Dot<T> for W {
    type Term = W;
    const NOTHING: Self = W::ZERO;

    #[inline(always)]
    fn term(value: T) -> W {
        <W as From<T>>::from(value)
    }

    #[inline(always)]
    fn times(a: W, b: W) -> W {
        a * b
    }

    #[inline(always)]
    fn add(self, term: W) -> Self {
        self + term
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn value(self) -> Option<T> {
        Some(canonical(self.as_()))
    }
}

impl<F: Float + Num> Dot<Complex<F>> for Complex<F> {
    type Term = Self;
    const NOTHING: Self = Complex { re: F::ZERO, im: F::ZERO };

    #[inline(always)]
    fn term(value: Self) -> Self {
        value
    }

    #[inline(always)]
    fn times(a: Self, b: Self) -> Self {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }

    #[inline(always)]
    fn add(self, term: Self) -> Self {
        self + term
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn value(self) -> Option<Self> {
        both(self.re, self.im)
    }
}

impl Dot<bool> for bool {
    type Term = bool;
    const NOTHING: bool = false;

    #[inline(always)]
    fn term(value: bool) -> bool {
        value
    }

    #[inline(always)]
    fn times(a: bool, b: bool) -> bool {
        a & b
    }

    #[inline(always)]
    fn add(self, term: bool) -> bool {
        self | term
    }

    #[inline(always)]
    fn join(self, other: bool) -> bool {
        self | other
    }

    #[inline(always)]
    fn value(self) -> Option<bool> {
        Some(self)
    }
}

/// Unsigned integers: a sum of more than 128 bits saturates, so no element type can hold it.
impl<T: Ring + Into<u128> + TryFrom<u128>> Dot<T> for u128 {
    type Term = u128;
    const NOTHING: Self = 0;

    #[inline(always)]
    fn term(value: T) -> u128 {
        value.into()
    }

    #[inline(always)]
    fn times(a: u128, b: u128) -> u128 {
        a.saturating_mul(b)
    }

    #[inline(always)]
    fn add(self, term: u128) -> Self {
        self.saturating_add(term)
    }

    #[inline(always)]
    fn plus(self, left: T, right: T) -> Self {
        let (left, right): (u128, u128) = (left.into(), right.into());
        self.saturating_add(left * right)
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    #[inline(always)]
    fn value(self) -> Option<T> {
        self.try_into().ok()
    }
}

/// A sum of signed integers.
///
/// The fields are the low 128 bits, and the number of overflows minus the number of underflows.
#[derive(Debug, Clone, Copy)]
pub struct Wrapped {
    low: i128,
    wraps: i64,
}

/// More overflows than a sum of terms can have. This number marks a term of more than 128 bits, which later terms
/// cannot cancel.
const LOST: i64 = 1 << 58;

impl Wrapped {
    #[inline(always)]
    fn with(self, more: i128, wraps: i64) -> Self {
        let (low, over) = self.low.overflowing_add(more);
        let once = if more < 0 { -1 } else { 1 };
        Wrapped { low, wraps: self.wraps + wraps + if over { once } else { 0 } }
    }
}

impl<T: Ring + Into<i128> + TryFrom<i128>> Dot<T> for Wrapped {
    /// The product; `None` if it has more than 128 bits.
    type Term = Option<i128>;
    const NOTHING: Self = Wrapped { low: 0, wraps: 0 };

    #[inline(always)]
    fn term(value: T) -> Option<i128> {
        Some(value.into())
    }

    #[inline(always)]
    fn times(a: Option<i128>, b: Option<i128>) -> Option<i128> {
        // Zero times a product that is too long is zero.
        if a == Some(0) || b == Some(0) { Some(0) } else { a?.checked_mul(b?) }
    }

    #[inline(always)]
    fn add(self, term: Option<i128>) -> Self {
        match term {
            Some(term) => self.with(term, 0),
            None => Wrapped { wraps: LOST, ..self },
        }
    }

    #[inline(always)]
    fn plus(self, left: T, right: T) -> Self {
        let (left, right): (i128, i128) = (left.into(), right.into());
        self.with(left * right, 0)
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self.with(other.low, other.wraps)
    }

    #[inline(always)]
    fn value(self) -> Option<T> {
        if self.wraps == 0 { self.low.try_into().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot<T: Ring>(pairs: &[(T, T)]) -> Option<T> {
        pairs.iter().fold(T::Dot::NOTHING, |sum, &(a, b)| sum.plus(a, b)).value()
    }

    #[test]
    fn integers_keep_every_digit_on_the_way() {
        let one = |pairs: &[(i64, i64)]| {
            pairs.iter().fold(<Wrapped as Dot<i64>>::NOTHING, |sum, &(a, b)| Dot::<i64>::plus(sum, a, b))
        };
        let (min, max) = (i64::MIN, i64::MAX);
        // Twice 2^126 exceeds 128 bits; the later terms bring the sum back into range.
        let there = [(min, min), (min, min), (min, min)];
        let back = [(min, max), (min, max), (min, max), (min, 1), (min, 1), (min, 1), (7, 1)];
        assert_eq!(dot(&there), None);
        // The low 128 bits of 2^128 are zero.
        assert_eq!(dot(&[(min, min); 4]), None);
        assert_eq!(dot(&[&there[..], &back[..]].concat()), Some(7));
        let joined = Dot::<i64>::join(one(&back), one(&there));
        assert_eq!(Dot::<i64>::value(joined), Some(7));
        assert_eq!(dot(&[(u64::MAX, u64::MAX); 3]), None);
        assert_eq!(dot(&[(100i8, 100), (-100, 100), (7, -3)]), Some(-21));
    }

    /// A product of four factors is zero if one factor is zero. Otherwise it has more than 128 bits, even after a later
    /// factor.
    #[test]
    fn long_products_are_nothing_beside_a_zero_and_lost_else() {
        fn product<T: Ring>(values: [T; 4]) -> Term<T> {
            values.into_iter().map(T::Dot::term).reduce(T::Dot::times).unwrap()
        }
        let (signed, unsigned) = (product([i64::MIN; 4]), product([u64::MAX; 4]));
        let sum = <Wrapped as Dot<i64>>::NOTHING;
        let lost = Dot::<i64>::join(Dot::<i64>::add(sum, signed), Dot::<i64>::add(sum, signed));
        assert_eq!([Dot::<i64>::value(lost), Dot::<i64>::value(Dot::<i64>::plus(lost, -1, 1))], [None; 2]);
        assert_eq!(Dot::<u64>::value(Dot::<u64>::add(0u128, unsigned)), None);
        assert_eq!(<Wrapped as Dot<i64>>::times(signed, Some(0)), Some(0));
        assert_eq!(<Wrapped as Dot<i64>>::times(Some(0), signed), Some(0));
        assert_eq!(<u128 as Dot<u64>>::times(unsigned, 0), 0);
    }

    #[test]
    fn sums_of_floats_are_neither_fused_nor_signed_zeros() {
        let sum = dot(&[(1.0 + f64::EPSILON, 1.0 + f64::EPSILON), (-1.0, 1.0 + 2.0 * f64::EPSILON)]);
        assert_eq!(sum, Some(0.0));
        assert_eq!(dot(&[(0.0, -3.0)]).map(f64::to_bits), Some(0));
        assert_eq!(dot(&[(-3.0f32, 0.0)]).map(f32::to_bits), Some(0));
        assert_eq!(dot(&[(f64::INFINITY, 0.0)]).map(f64::to_bits), Some(f64::NAN.to_bits()));
        assert_eq!(dot(&[(true, false), (true, true)]), Some(true));
    }
}
