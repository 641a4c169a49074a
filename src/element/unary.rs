//! Traits of operations that only some element types support: signs, magnitudes, powers and parts.

use num_complex::Complex;

use super::{Element, Float, Numeric, Real, Ring, math};

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

/// A type of floats or of complex numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of floats or complex numbers, which this operation requires",
    note = "write the literals as floats, `1.0`, or convert first: `x.cast::<f64>()?`"
)]
pub trait Inexact: Numeric + Ring<Sum = Self, Mean = Self> {
    /// Writes the result of each value by the form of a map for the kind of the type.
    #[doc(hidden)]
    fn map_by<M: InexactMap>(map: &M, values: &[Self], results: &mut [Self]);
}

/// A map with a form for floats and a form for complex numbers.
#[doc(hidden)]
pub trait InexactMap {
    /// Writes the result of each float.
    fn of_floats<F: Float>(&self, values: &[F], results: &mut [F]);

    /// Writes the result of each complex number.
    fn of_complex<F: Float>(&self, values: &[Complex<F>], results: &mut [Complex<F>]);
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

impl<T: Float> Inexact for T {
    fn map_by<M: InexactMap>(map: &M, values: &[Self], results: &mut [Self]) {
        map.of_floats(values, results);
    }
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
