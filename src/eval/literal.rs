//! Number literals, which are exact until they are converted to an element type.

use std::any::Any;
use std::sync::Arc;

use super::number_text;
use crate::dispatch_dtype;
use crate::element::{DType, Element, Number};
use crate::io::FileElement;
use crate::lazy::call::{Arg, Typed};

/// A number of an expression. The text is parsed again in the final element type, so that the number is rounded only
/// once.
#[derive(Debug, Clone)]
pub(super) struct Literal {
    number: Number,
    text: Option<String>,
    is_bool: bool,
}

/// Returns the value of a constant, such as `nan`. A constant is a name that has a value even if it is not bound.
pub(super) fn constant(name: &str) -> Option<Literal> {
    let of = |number| Literal { number, text: None, is_bool: false };
    Some(match name {
        "true" => Literal::from(true),
        "false" => Literal::from(false),
        "inf" => of(Number::Real(f64::INFINITY)),
        "nan" => of(Number::Real(f64::NAN)),
        _ => return None,
    })
}

impl Literal {
    /// Parses a number without a sign. A number that ends with `j` is imaginary.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(imaginary) = text.strip_suffix('j') {
            return Some(f64::parse(imaginary)?.into()).map(|Literal { number, .. }| Literal {
                number: Number::Complex(0.0, number.float().unwrap_or(f64::NAN)),
                text: None,
                is_bool: false,
            });
        }
        let number =
            text.parse().map(Number::Integer).or_else(|_| f64::parse(text).map(Number::Real).ok_or(())).ok()?;
        Some(Literal { number, text: Some(text.to_string()), is_bool: false })
    }

    pub(super) fn number(&self) -> Number {
        self.number
    }

    /// Returns the number as an integer, if it is an integer. `true` and `false` are not integers.
    pub(super) fn integer(&self) -> Option<i128> {
        match self.number {
            Number::Integer(integer) if !self.is_bool => Some(integer),
            _ => None,
        }
    }

    /// Returns whether the number is `true` or `false`.
    pub(super) fn is_bool(&self) -> bool {
        self.is_bool
    }

    /// Returns the number as a truth value, if it is a value of `bool`.
    pub(super) fn truth(&self) -> Option<bool> {
        bool::from_number(self.number)
    }

    pub(super) fn negated(&self) -> Option<Self> {
        let number = match self.number {
            _ if self.is_bool => return None,
            Number::Integer(integer) => Number::Integer(integer.checked_neg()?),
            Number::Real(real) => Number::Real(-real),
            Number::Complex(re, im) => Number::Complex(-re, -im),
        };
        let text = self.text.as_ref().map(|text| match text.strip_prefix('-') {
            Some(positive) => positive.to_string(),
            None => format!("-{text}"),
        });
        Some(Literal { number, text, is_bool: false })
    }

    /// Returns the number in an element type. A float type rounds the number, and other types require the exact number.
    pub(super) fn in_type(&self, dtype: DType) -> Result<Number, String> {
        let rejection = || format!("{} is not a value of type {dtype}", self.source_text());
        let value = dispatch_dtype!(dtype, T => self.value::<T>().map(Element::to_number), else => None);
        value.ok_or_else(rejection)
    }

    fn value<T: FileElement>(&self) -> Option<T> {
        let is_integer = T::ZERO.to_integer().is_some();
        match (&self.text, self.number) {
            // Every double of 2^53 or more is an integer, even if the decimal number is not.
            (Some(text), Number::Real(real)) if is_integer && text.contains(['.', 'e', 'E']) => {
                const EXACT: f64 = 9_007_199_254_740_992.0;
                T::from_number(self.number).filter(|_| real.abs() < EXACT)
            }
            (Some(text), number) if !is_integer => {
                let is_finite = number.float().is_some_and(f64::is_finite);
                T::parse(text).filter(|value| is_finite && value.isfinite())
            }
            _ => T::from_number(self.number),
        }
    }

    /// Returns the element type of the number, if no tensor determines the type.
    pub(super) fn dtype(&self) -> DType {
        match self.number {
            _ if self.is_bool => DType::Bool,
            Number::Integer(integer) if i64::try_from(integer).is_ok() => DType::Int64,
            Number::Integer(_) => DType::UInt64,
            Number::Real(_) => DType::Float64,
            Number::Complex(..) => DType::Complex128,
        }
    }

    /// Returns the number as text, with its sign. A complex number is written by its imaginary part.
    pub(super) fn written(&self) -> String {
        match (self.number, &self.text) {
            (Number::Real(real), None) if real.is_nan() => "nan".into(),
            // Text without a real part is read as a zero with the sign of the imaginary part.
            (Number::Complex(re, im), None) if re == 0.0 && re.is_sign_negative() == im.is_sign_negative() => {
                format!("{im:?}j")
            }
            (Number::Complex(..), None) => format!("({})", self.source_text()),
            _ => self.source_text(),
        }
    }

    /// Returns the number as text. A number of the expression has its original text.
    pub(super) fn source_text(&self) -> String {
        match (&self.text, self.is_bool) {
            (Some(text), _) => text.clone(),
            (None, true) => (self.number == Number::Integer(1)).to_string(),
            (None, false) => number_text(self.number),
        }
    }
}

impl Typed for Literal {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        let are_same = |other: Number| match (self.number, other) {
            (Number::Integer(one), Number::Integer(other)) => one == other,
            (Number::Real(one), Number::Real(other)) => one.to_bits() == other.to_bits(),
            (Number::Complex(re, im), Number::Complex(other_re, other_im)) => {
                (re.to_bits(), im.to_bits()) == (other_re.to_bits(), other_im.to_bits())
            }
            _ => false,
        };
        let is_alike =
            |other: &Self| self.is_bool == other.is_bool && self.text == other.text && are_same(other.number);
        other.as_any().downcast_ref().is_some_and(is_alike)
    }

    fn to_text(&self) -> Option<String> {
        Some(self.written())
    }

    fn number(&self) -> Option<Number> {
        Some(self.number)
    }
}

impl From<Literal> for Arg {
    fn from(number: Literal) -> Self {
        Arg::Typed(Arc::new(number))
    }
}

impl From<bool> for Literal {
    fn from(truth: bool) -> Self {
        Literal { number: Number::Integer(truth.into()), text: None, is_bool: true }
    }
}

impl From<f64> for Literal {
    fn from(real: f64) -> Self {
        Number::Real(real).into()
    }
}

impl From<Number> for Literal {
    fn from(number: Number) -> Self {
        Literal { number, text: None, is_bool: false }
    }
}
