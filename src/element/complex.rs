//! The complex element types.

use num_complex::Complex;
use num_traits::Zero;

use super::arithmetic::both;
use super::factor::ScaledComplex;
use super::total::{ComplexTotal, Rounded};
use super::{DType, Element, Float, Number, RawSlice, RawVec, Ring, sealed};

macro_rules! impl_complex {
    ($($part:ident $bits:ident $dtype:ident),*) => {$(
        impl sealed::Sealed for Complex<$part> {}

        impl Ring for Complex<$part> {
            type Sum = Self;
            type Mean = Self;
            type Deviation = $part;
            type Dot = Self;
            type Total = ComplexTotal;
            const PARTS: usize = 2;

            fn wide_parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }

            fn wide_mean_of(total: &ComplexTotal, count: u128) -> [f64; 2] {
                let Complex { re, im } = f64::parts_over(total, count);
                [re, im]
            }

            type Factor = ScaledComplex;

            fn factor(self) -> ScaledComplex {
                ScaledComplex::of(Complex { re: self.re.into(), im: self.im.into() })
            }

            fn product_of(factor: ScaledComplex) -> Option<Self> {
                let Complex { re, im } = factor.value($part::KIND);
                Some(Complex { re: $part::from_f64(re), im: $part::from_f64(im) })
            }

            fn sum_of(total: &ComplexTotal) -> Option<Self> {
                Some($part::parts_over(total, 1))
            }

            fn mean_of(total: &ComplexTotal, count: u128) -> Self {
                $part::parts_over(total, count)
            }
        }

        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            type Key = (<$part as Element>::Key, <$part as Element>::Key);

            fn raw(values: &[Self]) -> RawSlice<'_> {
                bytemuck::cast_slice::<Self, [$bits; 2]>(values).into()
            }

            fn from_raw(raw: RawVec) -> Vec<Self> {
                bytemuck::cast_vec::<[$bits; 2], Self>(raw.into())
            }

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
                self.im.is_zero()
            }

            fn to_number(self) -> Number {
                Number::Complex(self.re.into(), self.im.into())
            }

            fn as_implicit(self) -> Self {
                Complex { re: self.re.as_implicit(), im: self.im.as_implicit() }
            }

            fn from_number(number: Number) -> Option<Self> {
                let (re, im) = number.parts();
                Some(Complex { re: $part::from_number(re)?, im: $part::from_number(Number::Real(im))? })
            }
        }
    )*};
}

impl_complex!(f32 u32 Complex64, f64 u64 Complex128);
