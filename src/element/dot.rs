//! Sums of products, in the order in which they are added: what matrix products are made of.
//!
//! Floats round each product and each sum, 16-bit ones as `f32`, and nothing is fused. Integers keep every digit, `bool`
//! adds by "or".

use num_complex::Complex;

use super::Float;
use super::arithmetic::both;

/// A sum of products of two elements.
pub trait Dot<T>: Copy + Send + Sync + 'static {
    /// The sum of nothing: `0.0` without a sign.
    const NOTHING: Self;

    /// The sum with one product more.
    #[must_use]
    fn plus(self, left: T, right: T) -> Self;

    /// The sum with another one behind it.
    #[must_use]
    fn join(self, other: Self) -> Self;

    /// The sum as an element, if an integer type can hold it; a NaN is the canonical one.
    fn value(self) -> Option<T>;
}

/// The canonical NaN for any.
#[inline(always)]
fn canonical<T: Float>(value: T) -> T {
    if value.isnan() { T::NAN } else { value }
}

macro_rules! impl_floats {
    ($($type:ty, $wide:ty, $to_wide:expr, $to_narrow:expr;)*) => {$(
        impl Dot<$type> for $wide {
            const NOTHING: Self = 0.0;

            #[inline(always)]
            fn plus(self, left: $type, right: $type) -> Self {
                self + $to_wide(left) * $to_wide(right)
            }

            #[inline(always)]
            fn join(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn value(self) -> Option<$type> {
                Some(canonical($to_narrow(self)))
            }
        }
    )*};
}

impl_floats! {
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}
#[cfg(feature = "half")]
impl_floats! {
    half::f16, f32, f32::from, half::f16::from_f32;
    half::bf16, f32, f32::from, half::bf16::from_f32;
}

macro_rules! impl_complex {
    ($($part:ident),*) => {$(
        impl Dot<Complex<$part>> for Complex<$part> {
            const NOTHING: Self = Complex { re: 0.0, im: 0.0 };

            #[inline(always)]
            fn plus(self, left: Self, right: Self) -> Self {
                self + Complex {
                    re: left.re * right.re - left.im * right.im,
                    im: left.re * right.im + left.im * right.re,
                }
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
    )*};
}

impl_complex!(f32, f64);

impl Dot<bool> for bool {
    const NOTHING: bool = false;

    #[inline(always)]
    fn plus(self, left: bool, right: bool) -> bool {
        self | (left & right)
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

/// Integers of which 128 bits hold more products than there are entries; those of 64 bits without a sign stay at the
/// top once they reach it, which none of them can hold.
macro_rules! impl_integers {
    ($($type:ident $wide:ident),*) => {$(
        impl Dot<$type> for $wide {
            const NOTHING: Self = 0;

            #[inline(always)]
            fn plus(self, left: $type, right: $type) -> Self {
                self.saturating_add($wide::from(left) * $wide::from(right))
            }

            #[inline(always)]
            fn join(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn value(self) -> Option<$type> {
                self.try_into().ok()
            }
        }
    )*};
}

impl_integers!(i8 i128, i16 i128, i32 i128, u8 u128, u16 u128, u32 u128, u64 u128);

/// A sum of products of 64 bits with a sign: 128 bits of it, and how often these went over the top, less how often
/// under the bottom.
#[derive(Debug, Clone, Copy)]
pub struct Wrapped {
    low: i128,
    wraps: i64,
}

impl Wrapped {
    #[inline(always)]
    fn with(self, more: i128, wraps: i64) -> Self {
        let (low, over) = self.low.overflowing_add(more);
        let once = if more < 0 { -1 } else { 1 };
        Wrapped { low, wraps: self.wraps + wraps + if over { once } else { 0 } }
    }
}

impl Dot<i64> for Wrapped {
    const NOTHING: Self = Wrapped { low: 0, wraps: 0 };

    #[inline(always)]
    fn plus(self, left: i64, right: i64) -> Self {
        self.with(i128::from(left) * i128::from(right), 0)
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        self.with(other.low, other.wraps)
    }

    #[inline(always)]
    fn value(self) -> Option<i64> {
        if self.wraps == 0 { self.low.try_into().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_every_digit_on_the_way() {
        let one = |pairs: &[(i64, i64)]| pairs.iter().fold(Wrapped::NOTHING, |sum, &(a, b)| sum.plus(a, b));
        let (min, max) = (i64::MIN, i64::MAX);
        // 2^126 twice is more than 128 bits hold; what follows brings it back.
        let there = [(min, min), (min, min), (min, min)];
        let back = [(min, max), (min, max), (min, max), (min, 1), (min, 1), (min, 1), (7, 1)];
        assert_eq!(one(&there).value(), None);
        // 2^128 leaves a zero there.
        assert_eq!(one(&[(min, min); 4]).value(), None);
        assert_eq!(one(&[&there[..], &back[..]].concat()).value(), Some(7));
        assert_eq!(one(&back).join(one(&there)).value(), Some(7));
        let top = <u128 as Dot<u64>>::NOTHING.plus(u64::MAX, u64::MAX).plus(u64::MAX, u64::MAX);
        assert_eq!(<u128 as Dot<u64>>::value(top.plus(u64::MAX, u64::MAX)), None);
    }

    #[test]
    fn sums_of_floats_are_neither_fused_nor_signed_zeros() {
        let sum = 0.0f64.plus(1.0 + f64::EPSILON, 1.0 + f64::EPSILON).plus(-1.0, 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum, 0.0);
        assert_eq!(<f64 as Dot<f64>>::NOTHING.plus(0.0, -3.0).value().map(f64::to_bits), Some(0));
        assert_eq!(0.0f64.plus(f64::INFINITY, 0.0).value().map(f64::to_bits), Some(f64::NAN.to_bits()));
    }
}
