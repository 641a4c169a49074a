//! Traits of operations that only some element types support: signs, magnitudes, powers and parts.

use num_complex::Complex;

use super::{Element, Float, Real, math};

/// A type with negative numbers: signed integers, floats and complex numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not have negative numbers, which this operation requires",
    note = "signed integers, floats and complex numbers do; convert first: `x.cast::<i64>()?`"
)]
pub trait Signed: Element {
    /// Returns the negated number, or `None` if it does not fit in the integer type.
    ///
    /// A NaN becomes the canonical NaN.
    fn negated(self) -> Option<Self>;
}

/// A type with magnitudes: all types except `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not have a magnitude, which this operation requires",
    note = "numbers do; convert first: `x.cast::<u8>()?`"
)]
pub trait Magnitude: Element {
    /// The type of magnitudes.
    ///
    /// For complex numbers, this is the type of the parts. For other numbers, this is the type itself.
    type Magnitude: Real;

    /// Returns the magnitude, or `None` if it does not fit in the integer type.
    ///
    /// A NaN becomes the canonical NaN.
    fn magnitude(self) -> Option<Self::Magnitude>;
}

/// A type of ordered numbers: integers and floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of ordered numbers, which this operation requires",
    note = "integers of 8 to 64 bits and floats are; convert `bool` first, `x.cast::<u8>()?`, and for complex numbers \
            take a part: `x.real()?`, `x.abs()?`"
)]
pub trait RealNumber: Real {
    /// Returns the sign of the number: -1, 0 or 1.
    ///
    /// A zero keeps its sign, and a NaN becomes the canonical NaN.
    fn sign(self) -> Self;

    /// Returns the square, or `None` if it does not fit in the integer type.
    ///
    /// A NaN becomes the canonical NaN.
    fn squared(self) -> Option<Self> {
        self.checked_mul(self)
    }

    /// Returns `self` to the power of `exponent`.
    ///
    /// For integers, the result is `None` if the power does not fit in the type, or if `exponent` is negative.
    fn raised(self, exponent: i32) -> Option<Self>;

    /// Returns `self` to the power of `exponent`.
    ///
    /// For integers, the result is `None` if the power does not fit in the type, or if `exponent` is negative.
    fn to_power(self, exponent: Self) -> Option<Self> {
        // Powers of integers other than 0, 1 and -1 overflow far below 100; for 0, 1 and -1 only the parity matters.
        let exponent = exponent.to_integer()?;
        self.raised(if exponent > 100 { 100 + (exponent % 2) as i32 } else { exponent.max(-1) as i32 })
    }
}

/// A complex type: `Complex<f32>` or `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a complex type, which this operation requires",
    note = "`Complex<f32>` and `Complex<f64>` are"
)]
pub trait ComplexElement: Element {
    /// The type of the parts.
    type Part: Float;

    /// Returns the real and the imaginary part.
    fn parts(self) -> (Self::Part, Self::Part);

    /// Returns the number with these parts.
    fn of_parts(re: Self::Part, im: Self::Part) -> Self;
}

impl<T: Float> Signed for T {
    fn negated(self) -> Option<Self> {
        Some(T::from_f64(-self.to_f64()))
    }
}

impl<T: Float> Magnitude for T {
    type Magnitude = Self;

    fn magnitude(self) -> Option<Self> {
        Some(T::from_f64(self.to_f64().abs()))
    }
}

impl<T: Float> RealNumber for T {
    fn sign(self) -> Self {
        T::from_f64(math::sign(self.to_f64()))
    }

    fn squared(self) -> Option<Self> {
        Some(T::from_f64(self.to_f64() * self.to_f64()))
    }

    fn raised(self, exponent: i32) -> Option<Self> {
        Some(T::from_f64(math::pow(self.to_f64(), exponent.into())))
    }

    fn to_power(self, exponent: Self) -> Option<Self> {
        Some(T::from_f64(math::pow(self.to_f64(), exponent.to_f64())))
    }
}

impl<F: Float> ComplexElement for Complex<F>
where
    Complex<F>: Element,
{
    type Part = F;

    fn parts(self) -> (F, F) {
        (self.re, self.im)
    }

    fn of_parts(re: F, im: F) -> Self {
        Complex { re, im }
    }
}

impl<F: Float> Signed for Complex<F>
where
    Complex<F>: Element,
{
    fn negated(self) -> Option<Self> {
        Some(Complex { re: self.re.negated()?, im: self.im.negated()? })
    }
}

impl<F: Float> Magnitude for Complex<F>
where
    Complex<F>: Element,
{
    type Magnitude = F;

    fn magnitude(self) -> Option<F> {
        Some(F::from_f64(math::hypot(self.re.to_f64(), self.im.to_f64())))
    }
}
