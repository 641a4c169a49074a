//! Element types as values, and numbers without an element type.

use std::fmt;

use num_traits::ToPrimitive;

/// An element type as a value, with numpy's names.
///
/// ```
/// use lacuna::{DType, Element};
///
/// assert_eq!(<f64 as Element>::DTYPE, DType::Float64);
/// assert_eq!(DType::Complex64.name(), "complex64");
/// assert_eq!(DType::from_name("uint8"), Some(DType::UInt8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "dtype")]
pub enum DType {
    /// `bool`
    Bool,
    /// `i8`
    Int8,
    /// `i16`
    Int16,
    /// `i32`
    Int32,
    /// `i64`
    Int64,
    /// `u8`
    UInt8,
    /// `u16`
    UInt16,
    /// `u32`
    UInt32,
    /// `u64`
    UInt64,
    /// `half::f16`
    Float16,
    /// `half::bf16`
    BFloat16,
    /// `f32`
    Float32,
    /// `f64`
    Float64,
    /// `Complex<f32>`
    Complex64,
    /// `Complex<f64>`
    Complex128,
}

impl DType {
    /// All element types, in the order of declaration.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::Int8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::UInt8,
        DType::UInt16,
        DType::UInt32,
        DType::UInt64,
        DType::Float16,
        DType::BFloat16,
        DType::Float32,
        DType::Float64,
        DType::Complex64,
        DType::Complex128,
    ];

    /// Returns the name in numpy.
    ///
    /// The name of `half::bf16`, which numpy does not have, is `bfloat16`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Int8 => "int8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::UInt8 => "uint8",
            DType::UInt16 => "uint16",
            DType::UInt32 => "uint32",
            DType::UInt64 => "uint64",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
            DType::Complex64 => "complex64",
            DType::Complex128 => "complex128",
        }
    }

    /// Returns the type with the given name, if there is such a type.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number of any element type, for conversions between types.
///
/// A number is wide enough for all element types.
///
/// Two numbers are compared by exact value and never rounded, even if their kinds differ:
///
/// ```
/// use lacuna::Number;
///
/// assert!(Number::Integer(1 << 53) == Number::Real(9007199254740992.0));
/// assert!(Number::Integer((1 << 53) + 1) != Number::Real(9007199254740992.0));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// An integer, or a `bool` as 0 or 1.
    Integer(i128),
    /// A floating-point number.
    Real(f64),
    /// A complex number.
    Complex(f64, f64),
}

impl Number {
    /// Returns the real part as a number, and the imaginary part.
    pub(super) fn parts(self) -> (Number, f64) {
        match self {
            Number::Complex(re, im) => (Number::Real(re), im),
            real => (real, 0.0),
        }
    }

    /// Returns the real number, `None` if the imaginary part is not zero.
    pub(super) fn real(self) -> Option<Number> {
        let (re, im) = self.parts();
        (im == 0.0).then_some(re)
    }

    /// Returns the number as an integer, or `None` if the number is not an integer.
    ///
    /// The number may be of any kind: `Number::Real(2.0)` is the integer 2.
    pub fn integer(self) -> Option<i128> {
        match self.real()? {
            Number::Integer(integer) => Some(integer),
            Number::Real(real) if real.trunc() == real => real.to_i128(),
            _ => None,
        }
    }

    /// Returns the nearest `f64`, or `None` if the imaginary part is not zero.
    pub fn float(self) -> Option<f64> {
        match self.real()? {
            Number::Integer(integer) => Some(integer as f64),
            Number::Real(real) => Some(real),
            Number::Complex(..) => None,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        let ((re, im), (other_re, other_im)) = (self.parts(), other.parts());
        let equal_re = match (re, other_re) {
            (Number::Real(a), Number::Real(b)) => a == b,
            (a, b) => a.integer().is_some() && a.integer() == b.integer(),
        };
        equal_re && im == other_im
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Integer(integer) => write!(f, "{integer}"),
            Number::Real(real) => write!(f, "{real:?}"),
            Number::Complex(re, im) => {
                write!(f, "{re:?}{}{:?}j", if im.is_sign_negative() { "-" } else { "+" }, im.abs())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_what_they_are_and_not_by_their_type() {
        use Number::{Complex, Integer, Real};
        for (a, b) in [
            (Integer(2), Integer(2)),
            (Integer(2), Real(2.0)),
            (Real(0.0), Real(-0.0)),
            (Real(1.5), Complex(1.5, 0.0)),
            (Integer(-3), Complex(-3.0, 0.0)),
        ] {
            assert_eq!([a == b, b == a], [true; 2], "{a} {b}");
        }
        for (a, b) in [
            (Integer(2), Integer(3)),
            (Integer(2), Real(2.5)),
            (Integer(9_007_199_254_740_993), Real(9_007_199_254_740_992.0)),
            (Real(1.5), Real(2.5)),
            (Real(f64::NAN), Real(f64::NAN)),
            (Real(1.5), Complex(1.5, 1.0)),
            (Complex(1.0, 2.0), Complex(1.0, 3.0)),
            (Complex(1.0, 2.0), Complex(3.0, 2.0)),
        ] {
            assert_eq!([a == b, b == a], [false; 2], "{a} {b}");
        }
    }
}
