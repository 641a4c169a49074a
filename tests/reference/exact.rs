//! Sums and means as real numbers: a value is an integer times 2^-1074, the sum one of any length, and the one rounding
//! is the definition of rounding.

use num_bigint::{BigInt, Sign};
use num_complex::Complex;

use super::scalar::Scalar;

/// A real number times 2^1074, or what is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Real {
    /// A finite one.
    Finite(BigInt),
    /// An infinity, by its sign.
    Infinite(bool),
    /// No number.
    Nan,
}

impl Real {
    /// An `f64`.
    pub fn of(value: f64) -> Self {
        if value.is_nan() {
            return Real::Nan;
        }
        if value.is_infinite() {
            return Real::Infinite(value > 0.0);
        }
        let bits = value.abs().to_bits();
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        let integer = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let magnitude = BigInt::from(integer) << exponent.saturating_sub(1);
        Real::Finite(if value < 0.0 { -magnitude } else { magnitude })
    }

    /// An integer.
    pub fn integer(value: i128) -> Self {
        Real::Finite(BigInt::from(value) << 1074)
    }

    /// The sum of several.
    pub fn sum(values: impl IntoIterator<Item = Real>) -> Self {
        values.into_iter().fold(Real::Finite(BigInt::ZERO), |sum, value| match (sum, value) {
            (Real::Finite(a), Real::Finite(b)) => Real::Finite(a + b),
            (Real::Nan, _) | (_, Real::Nan) => Real::Nan,
            (Real::Infinite(a), Real::Infinite(b)) if a != b => Real::Nan,
            (Real::Infinite(a), _) | (_, Real::Infinite(a)) => Real::Infinite(a),
        })
    }

    /// The integer that it is, if that fits.
    pub fn to_integer(&self) -> Option<i128> {
        let Real::Finite(scaled) = self else { return None };
        i128::try_from(scaled >> 1074).ok()
    }

    /// The number over `n`, rounded to the nearest float of so many bits, ties to even, whose last bit is between
    /// 2^`least` and 2^`most`; as an `f64`. A zero is positive.
    pub fn over(&self, n: u128, (bits, least, most): (i32, i32, i32)) -> f64 {
        let scaled = match self {
            _ if n == 0 => return f64::NAN,
            Real::Nan => return f64::NAN,
            Real::Infinite(positive) => return if *positive { f64::INFINITY } else { f64::NEG_INFINITY },
            Real::Finite(scaled) => scaled,
        };
        quotient(scaled, &(BigInt::from(n) << 1074), (bits, least, most))
    }

    /// The number so far on the way from one `f64` to another.
    pub fn between(a: f64, b: f64, weight: f64, kind: (i32, i32, i32)) -> f64 {
        match (Real::of(a), Real::of(b), Real::of(weight)) {
            (Real::Finite(a), Real::Finite(b), Real::Finite(weight)) => {
                quotient(&((&a << 1074u32) + (b - &a) * weight), &(BigInt::from(1) << 2148), kind)
            }
            _ => a + b,
        }
    }
}

/// A number over another one, which is positive, rounded as [`Real::over`] has it.
pub fn quotient(number: &BigInt, below: &BigInt, (bits, least, most): (i32, i32, i32)) -> f64 {
    if number.sign() == Sign::NoSign {
        return 0.0;
    }
    let above = BigInt::from(number.magnitude().clone());
    let shifted = |value: &BigInt, by: i32| if by > 0 { value << by as u32 } else { value.clone() };
    // The power of two of its first bit.
    let mut first = above.bits() as i32 - below.bits() as i32;
    if shifted(&above, -first) < shifted(below, first) {
        first -= 1;
    }
    let last = (first - bits + 1).max(least);
    let (dividend, divisor) = (shifted(&above, -last), shifted(below, last));
    let (mut integer, rest): (BigInt, BigInt) = (&dividend / &divisor, (&dividend % &divisor) * 2);
    if rest > divisor || (rest == divisor && integer.bit(0)) {
        integer += 1;
    }
    let magnitude = if last > most || integer.bits() as i32 + last > bits + most {
        f64::INFINITY
    } else {
        let mut value = u64::try_from(integer).unwrap() as f64;
        (0..last).for_each(|_| value *= 2.0);
        (last..0).for_each(|_| value *= 0.5);
        value
    };
    if number.sign() == Sign::Minus && magnitude != 0.0 { -magnitude } else { magnitude }
}

/// Bits, exponent of the last bit of the smallest float and of the greatest.
pub const F64: (i32, i32, i32) = (53, -1074, 971);

/// An element with sums.
pub trait Summed: Scalar {
    /// The type of sums.
    type Sum: Scalar;
    /// The type of means.
    type Mean: Scalar;

    /// The real and, if there is one, the imaginary part.
    fn parts(self) -> Vec<Real>;

    /// A sum from its parts; none if it does not fit.
    fn sum_from(parts: &[Real]) -> Option<Self::Sum>;

    /// A mean from the parts of the sum.
    fn mean_from(parts: &[Real], n: u128) -> Self::Mean;
}

/// A float.
pub trait SummedFloat: Summed<Sum = Self, Mean = Self> {
    /// The type as [`Real::over`] takes it.
    const KIND: (i32, i32, i32);

    /// The value as an `f64`.
    fn wide(self) -> f64;

    /// An `f64` that the type holds.
    fn narrow(wide: f64) -> Self;

    /// A number over `n`, rounded once.
    fn rounded(number: &Real, n: u128) -> Self {
        Self::narrow(number.over(n, Self::KIND))
    }
}

macro_rules! summed_integers {
    ($($type:ty: $sum:ty),*) => {$(
        impl Summed for $type {
            type Sum = $sum;
            type Mean = f64;
            fn parts(self) -> Vec<Real> {
                vec![Real::integer(self.into())]
            }
            fn sum_from(parts: &[Real]) -> Option<$sum> {
                parts[0].to_integer()?.try_into().ok()
            }
            fn mean_from(parts: &[Real], n: u128) -> f64 {
                parts[0].over(n, F64)
            }
        }
    )*};
}

summed_integers!(bool: u64, i8: i64, i16: i64, i32: i64, i64: i64, u8: u64, u16: u64, u32: u64, u64: u64);

macro_rules! summed_floats {
    ($($type:ty: $kind:expr, $narrow:expr;)*) => {$(
        impl Summed for $type {
            type Sum = $type;
            type Mean = $type;
            fn parts(self) -> Vec<Real> {
                vec![Real::of(self.wide())]
            }
            fn sum_from(parts: &[Real]) -> Option<$type> {
                Some(Self::rounded(&parts[0], 1))
            }
            fn mean_from(parts: &[Real], n: u128) -> $type {
                Self::rounded(&parts[0], n)
            }
        }
        impl SummedFloat for $type {
            const KIND: (i32, i32, i32) = $kind;
            fn wide(self) -> f64 {
                self.into()
            }
            fn narrow(wide: f64) -> $type {
                $narrow(wide).canonical()
            }
        }
    )*};
}

summed_floats! {
    f64: F64, |wide| wide;
    f32: (24, -149, 104), |wide| wide as f32;
}

#[cfg(feature = "half")]
summed_floats! {
    half::f16: (11, -24, 5), half::f16::from_f64;
    half::bf16: (8, -133, 120), half::bf16::from_f64;
}

macro_rules! summed_complex {
    ($($part:ty),*) => {$(
        impl Summed for Complex<$part> {
            type Sum = Self;
            type Mean = Self;
            fn parts(self) -> Vec<Real> {
                vec![Real::of(self.re.into()), Real::of(self.im.into())]
            }
            fn sum_from(parts: &[Real]) -> Option<Self> {
                Some(Self::mean_from(parts, 1))
            }
            fn mean_from(parts: &[Real], n: u128) -> Self {
                Complex { re: <$part>::rounded(&parts[0], n), im: <$part>::rounded(&parts[1], n) }
            }
        }
    )*};
}

summed_complex!(f32, f64);

/// The sum of values, part by part.
pub fn total<T: Summed>(values: &[T]) -> Vec<Real> {
    let parts = T::zero().parts().len();
    (0..parts).map(|part| Real::sum(values.iter().map(|value| value.parts()[part].clone()))).collect()
}
