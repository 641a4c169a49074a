//! The complex element types.

use num_complex::Complex;

use super::arithmetic::{Numeric, both};
use super::factor::ScaledComplex;
use super::raw::MIXED_UP;
use super::total::{ComplexTotal, Rounded, TotalResults};
use super::unary::{Inexact, InexactMap};
use super::{DType, Element, Float, Number, RawSlice, RawVec, Ring, complex_math, sealed};

/// A type of the parts of complex elements: `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "`Complex<{Self}>` is not an element type of tensors",
    note = "the complex element types are `Complex<f32>` and `Complex<f64>`"
)]
pub(super) trait ComplexPart: Float + num_traits::Float + bytemuck::Pod {
    /// The complex type as a value.
    const DTYPE: DType;

    /// Returns complex numbers as plain bits.
    fn raw(values: &[Complex<Self>]) -> RawSlice<'_>;

    /// Returns the complex numbers with these bits.
    fn from_raw(raw: RawVec) -> Vec<Complex<Self>>;
}

impl ComplexPart for f32 {
    const DTYPE: DType = DType::Complex64;

    fn raw(values: &[Complex<f32>]) -> RawSlice<'_> {
        RawSlice::Pair32(bytemuck::cast_slice(values))
    }

    fn from_raw(raw: RawVec) -> Vec<Complex<f32>> {
        let RawVec::Pair32(values) = raw else { unreachable!("{MIXED_UP}") };
        bytemuck::cast_vec(values)
    }
}

impl ComplexPart for f64 {
    const DTYPE: DType = DType::Complex128;

    fn raw(values: &[Complex<f64>]) -> RawSlice<'_> {
        RawSlice::Pair64(bytemuck::cast_slice(values))
    }

    fn from_raw(raw: RawVec) -> Vec<Complex<f64>> {
        let RawVec::Pair64(values) = raw else { unreachable!("{MIXED_UP}") };
        bytemuck::cast_vec(values)
    }
}

impl<F: ComplexPart> sealed::Sealed for Complex<F> {}

impl<F: ComplexPart> Ring for Complex<F> {
    type Sum = Self;
    type Mean = Self;
    type Deviation = F;
    type Dot = Self;
    type Total = ComplexTotal;
    type Factor = ScaledComplex;
    const PARTS: usize = 2;
}

impl<F: ComplexPart> TotalResults<Complex<F>> for ComplexTotal {
    fn parts(value: Complex<F>) -> [f64; 2] {
        [value.re.in_f64(), value.im.in_f64()]
    }

    fn sum(&self) -> Option<Complex<F>> {
        Some(F::parts_over(self, 1))
    }

    fn mean(&self, count: u128) -> Complex<F> {
        F::parts_over(self, count)
    }

    fn wide_mean(&self, count: u128) -> [f64; 2] {
        let Complex { re, im } = f64::parts_over(self, count);
        [re, im]
    }

    fn factor(value: Complex<F>) -> ScaledComplex {
        ScaledComplex::of(Complex { re: value.re.in_f64(), im: value.im.in_f64() })
    }

    fn product(factor: ScaledComplex) -> Option<Complex<F>> {
        let Complex { re, im } = factor.value(F::ROUNDING);
        Some(Complex { re: F::from_f64(re), im: F::from_f64(im) })
    }
}

impl<F: ComplexPart> Element for Complex<F> {
    const DTYPE: DType = <F as ComplexPart>::DTYPE;
    const ZERO: Self = Complex { re: F::ZERO, im: F::ZERO };
    const ONE: Self = Complex { re: F::ONE, im: F::ZERO };
    type Key = (F::Key, F::Key);

    fn raw(values: &[Self]) -> RawSlice<'_> {
        <F as ComplexPart>::raw(values)
    }

    fn from_raw(raw: RawVec) -> Vec<Self> {
        <F as ComplexPart>::from_raw(raw)
    }

    fn key_or_nan(self) -> Self::Key {
        (self.re.key_or_nan(), self.im.key_or_nan())
    }

    fn same(self, other: Self) -> bool {
        self.re.same(other.re) && self.im.same(other.im)
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        both(self.re + other.re, self.im + other.im)
    }

    #[inline(always)]
    fn checked_mul(self, other: Self) -> Option<Self> {
        both(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
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
        self.im == F::ZERO
    }

    fn to_number(self) -> Number {
        Number::Complex(self.re.in_f64(), self.im.in_f64())
    }

    fn from_number(number: Number) -> Option<Self> {
        let (re, im) = number.parts();
        Some(Complex { re: F::from_number(re)?, im: F::from_number(Number::Real(im))? })
    }
}

impl<F: ComplexPart> Numeric for Complex<F> {
    #[inline(always)]
    fn checked_sub(self, other: Self) -> Option<Self> {
        both(self.re - other.re, self.im - other.im)
    }

    #[inline(always)]
    fn checked_div(self, other: Self) -> Option<Self> {
        // The division is scaled by the larger part of the divisor, so squares of the parts do not overflow.
        if other.re.abs() >= other.im.abs() {
            if other.re == F::ZERO {
                return both(self.re / other.re.abs(), self.im / other.re.abs());
            }
            let ratio = other.im / other.re;
            let scale = F::ONE / (other.re + other.im * ratio);
            both((self.re + self.im * ratio) * scale, (self.im - self.re * ratio) * scale)
        } else {
            let ratio = other.re / other.im;
            let scale = F::ONE / (other.re * ratio + other.im);
            both((self.re * ratio + self.im) * scale, (self.im * ratio - self.re) * scale)
        }
    }

    #[inline(always)]
    fn checked_neg(self) -> Option<Self> {
        both(-self.re, -self.im)
    }

    fn sign(self) -> Self {
        rounded(complex_math::sign(wide(self)))
    }

    fn squared(self) -> Option<Self> {
        Some(rounded(complex_math::square(wide(self))))
    }

    fn raised(self, exponent: i32) -> Option<Self> {
        let exponent = Complex { re: exponent.into(), im: 0.0 };
        Some(rounded(complex_math::pow(wide(self), exponent)))
    }

    fn to_power(self, exponent: Self) -> Option<Self> {
        Some(rounded(complex_math::pow(wide(self), wide(exponent))))
    }
}

impl<F: ComplexPart> Inexact for Complex<F> {
    fn map_by<M: InexactMap>(map: &M, values: &[Self], results: &mut [Self]) {
        map.of_complex(values, results);
    }
}

/// Returns a complex number with parts of `f64`.
#[inline(always)]
pub(crate) fn wide<F: Float>(value: Complex<F>) -> Complex<f64> {
    Complex { re: value.re.in_f64(), im: value.im.in_f64() }
}

/// Returns a complex number with each part rounded once. A NaN becomes the canonical NaN.
#[inline(always)]
pub(crate) fn rounded<F: Float>(value: Complex<f64>) -> Complex<F> {
    Complex { re: F::from_f64(value.re), im: F::from_f64(value.im) }
}
