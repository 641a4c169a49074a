//! One serialized element. In human-readable formats, floats are numbers or strings; all other elements are unchanged.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::element::{DType, Element, Number};

/// An element.
#[derive(Clone, Copy)]
pub(super) struct SerialElement<T>(pub(super) T);

/// Elements, one after another.
pub(super) struct SerialElements<'a, T>(pub(super) &'a [T]);

/// Returns the elements of items.
pub(super) fn items<T>(items: Vec<SerialElement<T>>) -> Vec<T> {
    items.into_iter().map(|item| item.0).collect()
}

/// Returns whether elements are written as [`FloatPart`]s: their type has values that are not finite numbers.
fn in_parts<T: Element>(human: bool) -> bool {
    use DType::{BFloat16, Complex64, Complex128, Float16, Float32, Float64};
    human && matches!(T::DTYPE, Float16 | BFloat16 | Float32 | Float64 | Complex64 | Complex128)
}

impl<T: Element + Serialize> Serialize for SerialElements<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match in_parts::<T>(serializer.is_human_readable()) {
            true => serializer.collect_seq(self.0.iter().map(|&value| SerialElement(value))),
            false => self.0.serialize(serializer),
        }
    }
}

impl<T: Element + Serialize> Serialize for SerialElement<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = |number| match T::DTYPE {
            DType::Float64 | DType::Complex128 => FloatPart::Wide(number),
            _ => FloatPart::Narrow(number as f32),
        };
        match self.0.to_number() {
            Number::Real(number) if in_parts::<T>(serializer.is_human_readable()) => part(number).serialize(serializer),
            Number::Complex(re, im) if in_parts::<T>(serializer.is_human_readable()) => {
                (part(re), part(im)).serialize(serializer)
            }
            _ => self.0.serialize(serializer),
        }
    }
}

impl<'de, T: Element + Deserialize<'de>> Deserialize<'de> for SerialElement<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !in_parts::<T>(deserializer.is_human_readable()) {
            return T::deserialize(deserializer).map(SerialElement);
        }
        let number = match T::DTYPE {
            DType::Complex64 | DType::Complex128 => {
                let (re, im) = <(FloatPart, FloatPart)>::deserialize(deserializer)?;
                Number::Complex(re.number(), im.number())
            }
            _ => Number::Real(FloatPart::deserialize(deserializer)?.number()),
        };
        let rejection = || D::Error::invalid_value(unexpected(number), &Fitting(PhantomData::<T>));
        T::from_number(number).map(SerialElement).ok_or_else(rejection)
    }
}

/// Returns the unexpected value for the error, if another number was expected.
fn unexpected(number: Number) -> Unexpected<'static> {
    match number {
        Number::Real(number) => Unexpected::Float(number),
        _ => Unexpected::Other("a complex number"),
    }
}

/// The expected value in errors: a number that can be converted to a type.
struct Fitting<T>(PhantomData<T>);

impl<T: Element> serde::de::Expected for Fitting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", T::DTYPE)
    }
}

/// A float, or the real or the imaginary part of a complex number, with as many digits as its type needs.
enum FloatPart {
    Narrow(f32),
    Wide(f64),
}

impl FloatPart {
    fn number(&self) -> f64 {
        match *self {
            FloatPart::Narrow(number) => number.into(),
            FloatPart::Wide(number) => number,
        }
    }
}

impl Serialize for FloatPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            _ if self.number().is_nan() => serializer.serialize_str("nan"),
            _ if self.number() == f64::INFINITY => serializer.serialize_str("inf"),
            _ if self.number() == f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            FloatPart::Narrow(number) => serializer.serialize_f32(number),
            FloatPart::Wide(number) => serializer.serialize_f64(number),
        }
    }
}

impl<'de> Deserialize<'de> for FloatPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor).map(FloatPart::Wide)
    }
}

/// Accepts numbers, and the names of numbers that are not finite.
struct PartVisitor;

impl Visitor<'_> for PartVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or one of nan, inf, -inf")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        let is_word = !text.contains(|c: char| c.is_ascii_digit());
        match text.parse::<f64>() {
            Ok(number) if is_word => Ok(number),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}
