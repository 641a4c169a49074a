//! Sums of products, whose order the caller fixes: every step is rounded, and nothing is fused.

use num_complex::Complex;

use super::total::{Accumulator, IntegerTotal};
use super::{Element, Float};

/// An element as a factor, and sums of products of factors.
///
/// A sum starts from zero, which is `+0.0` of floats; so it is never `-0.0`. Sums of integers are exact, those of 16-bit
/// floats are formed in `f32`, and of `bool` a product is "and", a sum "or".
pub trait Terms: Element {
    /// A factor, and a product of some.
    type Term: Copy + Send + Sync;
    /// A sum of terms.
    type Running: Copy + Default + Send + Sync;

    /// The value as a factor.
    fn term(self) -> Self::Term;

    /// The product of two.
    fn times(a: Self::Term, b: Self::Term) -> Self::Term;

    /// The sum with one more term.
    fn plus(sum: Self::Running, term: Self::Term) -> Self::Running;

    /// The sum of two sums.
    fn join(a: Self::Running, b: Self::Running) -> Self::Running;

    /// The sum in the type of its elements, if it fits; a NaN is the canonical one.
    fn of_terms(sum: Self::Running) -> Option<Self>;

    /// The product of two elements as the sum that it is alone.
    #[inline(always)]
    fn lone_product(self, other: Self) -> Option<Self> {
        Self::of_terms(Self::plus(Self::Running::default(), Self::times(self.term(), other.term())))
    }
}

impl Terms for bool {
    type Term = bool;
    type Running = bool;

    fn term(self) -> bool {
        self
    }

    fn times(a: bool, b: bool) -> bool {
        a & b
    }

    fn plus(sum: bool, term: bool) -> bool {
        sum | term
    }

    fn join(a: bool, b: bool) -> bool {
        a | b
    }

    fn of_terms(sum: bool) -> Option<bool> {
        Some(sum)
    }
}

/// The exact sum of integers; none as soon as a term has more than 128 bits.
#[derive(Clone, Copy)]
pub struct WholeSum(Option<IntegerTotal>);

impl Default for WholeSum {
    fn default() -> Self {
        WholeSum(Some(IntegerTotal::default()))
    }
}

impl WholeSum {
    fn plus(self, term: Option<i128>) -> Self {
        let (Some(mut total), Some(term)) = (self.0, term) else { return WholeSum(None) };
        total.add_term(term);
        WholeSum(Some(total))
    }

    fn join(self, other: Self) -> Self {
        let (Some(mut total), Some(other)) = (self.0, other.0) else { return WholeSum(None) };
        Accumulator::<i64>::merge(&mut total, &other);
        WholeSum(Some(total))
    }
}

macro_rules! terms_of_integers {
    ($($type:ty),*) => {$(
        impl Terms for $type {
            type Term = Option<i128>;
            type Running = WholeSum;

            fn term(self) -> Option<i128> {
                Some(self.into())
            }

            fn times(a: Option<i128>, b: Option<i128>) -> Option<i128> {
                // What is too long is nothing beside a zero.
                if a == Some(0) || b == Some(0) { Some(0) } else { a?.checked_mul(b?) }
            }

            fn plus(sum: WholeSum, term: Option<i128>) -> WholeSum {
                sum.plus(term)
            }

            fn join(a: WholeSum, b: WholeSum) -> WholeSum {
                a.join(b)
            }

            fn of_terms(sum: WholeSum) -> Option<$type> {
                sum.0?.value()?.try_into().ok()
            }
        }
    )*};
}

terms_of_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! terms_of_floats {
    ($($type:ty, $wide:ty, $to_wide:expr, $to_narrow:expr;)*) => {$(
        impl Terms for $type {
            type Term = $wide;
            type Running = $wide;

            #[inline(always)]
            fn term(self) -> $wide {
                $to_wide(self)
            }

            #[inline(always)]
            fn times(a: $wide, b: $wide) -> $wide {
                a * b
            }

            #[inline(always)]
            fn plus(sum: $wide, term: $wide) -> $wide {
                sum + term
            }

            #[inline(always)]
            fn join(a: $wide, b: $wide) -> $wide {
                a + b
            }

            #[inline(always)]
            fn of_terms(sum: $wide) -> Option<$type> {
                Some(if sum.is_nan() { <$type as Float>::NAN } else { $to_narrow(sum) })
            }
        }
    )*};
}

terms_of_floats! {
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}
#[cfg(feature = "half")]
terms_of_floats! {
    half::f16, f32, f32::from, half::f16::from_f32;
    half::bf16, f32, f32::from, half::bf16::from_f32;
}

macro_rules! terms_of_complex {
    ($($part:ty),*) => {$(
        impl Terms for Complex<$part> {
            type Term = Self;
            type Running = Self;

            #[inline(always)]
            fn term(self) -> Self {
                self
            }

            #[inline(always)]
            fn times(a: Self, b: Self) -> Self {
                Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
            }

            #[inline(always)]
            fn plus(sum: Self, term: Self) -> Self {
                sum + term
            }

            #[inline(always)]
            fn join(a: Self, b: Self) -> Self {
                a + b
            }

            #[inline(always)]
            fn of_terms(sum: Self) -> Option<Self> {
                Some(Complex { re: <$part>::of_terms(sum.re)?, im: <$part>::of_terms(sum.im)? })
            }
        }
    )*};
}

terms_of_complex!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn dot<T: Terms>(pairs: &[(T, T)]) -> Option<T> {
        T::of_terms(pairs.iter().fold(T::Running::default(), |sum, (a, b)| T::plus(sum, T::times(a.term(), b.term()))))
    }

    #[test]
    fn sums_of_integers_are_exact_and_fit_or_do_not() {
        assert_eq!(
            dot(&[(i64::MIN, i64::MIN), (i64::MIN, i64::MIN), (i64::MIN, i64::MAX), (i64::MIN, i64::MAX)]),
            None
        );
        assert_eq!(dot(&[(100i8, 100), (-100, 100), (7, -3)]), Some(-21));
        let most = i64::MIN;
        let four = [(most, most), (most, most), (most, i64::MAX), (most, i64::MAX), (most, 1), (most, 1)];
        assert_eq!(dot(&four), Some(0));
        assert_eq!(dot(&[(u64::MAX, u64::MAX)]), None);
        let long = u64::times(u64::MAX.term(), u64::MAX.term());
        assert_eq!([u64::times(long, Some(0)), u64::times(Some(0), long)], [Some(0); 2]);
    }

    #[test]
    fn a_zero_sum_has_no_sign_and_a_nan_is_canonical() {
        assert_eq!(dot(&[(0.0, -3.0)]).map(f64::to_bits), Some(0));
        assert_eq!(dot(&[(0.0, f64::INFINITY)]).map(f64::to_bits), Some(f64::NAN.to_bits()));
        assert_eq!((-3.0f32).lone_product(0.0).map(f32::to_bits), Some(0));
        assert_eq!(dot(&[(true, false), (true, true)]), Some(true));
    }
}
