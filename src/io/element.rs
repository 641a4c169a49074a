//! Element types in files: their text and their bytes.

use std::str::FromStr;

use num_complex::Complex;

use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Number};
use crate::io::digits::print_digits;

/// An [`Element`] that files can contain.
///
/// Elements can be read and written as text and as bytes.
pub trait FileElement: Element {
    /// The kind in a `.npy` header, one of `b i u f c`.
    ///
    /// The kind is `None` if numpy does not have the type (`bfloat16`).
    const NPY_KIND: Option<char>;

    /// Parses a text as a value.
    ///
    /// Integers are decimal. Floats are in decimal or scientific notation, or `nan`, `inf`, `-inf`. Complex numbers are
    /// written as `1+2j`. Values of `bool` are `true`, `false`, `0` or `1`. The result is `None` for any other text.
    ///
    /// A decimal number beyond the largest float results in an infinity. An integer that does not fit in the type
    /// results in `None`.
    ///
    /// ```
    /// use lacuna::io::FileElement;
    ///
    /// assert_eq!(f32::parse("0.1"), Some(0.1f32));
    /// assert_eq!(u8::parse("256"), None);
    /// assert_eq!(num_complex::Complex::<f64>::parse("1-2j"), Some(num_complex::Complex::new(1.0, -2.0)));
    /// ```
    fn parse(text: &str) -> Option<Self> {
        Self::parse_bytes(text.as_bytes())
    }

    /// Parses bytes as a value, like [`parse`](FileElement::parse).
    fn parse_bytes(text: &[u8]) -> Option<Self>;

    /// Appends the shortest text that [`parse`](FileElement::parse) reads as the same value.
    fn print(self, text: &mut Vec<u8>);

    /// Appends the text of an entry in a text file: `bool` as 0 or 1, complex as two numbers.
    fn print_entry(self, text: &mut Vec<u8>) {
        let start = text.len();
        self.print(text);
        if Self::DTYPE == DType::Float32 && !reads_back_by_f64(&text[start..], self) {
            text.truncate(start);
            self.to_number().float().unwrap_or(f64::NAN).print(text);
        }
    }

    /// Returns the value of `size_of::<Self>()` bytes.
    ///
    /// The result is `None` for a `bool` that is neither 0 nor 1.
    fn from_bytes(bytes: &[u8], big_endian: bool) -> Option<Self>;

    /// Appends the bytes of the value in little-endian order.
    fn to_bytes(self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(bytemuck::bytes_of(&self));
        if cfg!(target_endian = "big") {
            bytes[start..].reverse();
        }
    }
}

/// Reads an integer, a float or a complex number of any type, like [`FileElement::parse`].
///
/// ```
/// use lacuna::Number;
///
/// assert_eq!("18446744073709551616".parse::<Number>()?, Number::Integer(1 << 64));
/// assert_eq!("true".parse::<Number>()?, Number::Integer(1));
/// assert!("one".parse::<Number>().is_err());
/// # Ok::<(), lacuna::Error>(())
/// ```
impl FromStr for Number {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let integer = text.parse::<i128>().ok().map(Number::Integer);
        let logical = || bool::parse(text).map(Element::to_number);
        let real = || f64::parse(text).map(Number::Real);
        let complex = || Complex::<f64>::parse(text).map(|value| Number::Complex(value.re, value.im));
        let number = integer.or_else(logical).or_else(real).or_else(complex);
        number.ok_or_else(|| Error::Format {
            place: "the number".into(),
            message: format!("`{}` is not a number", text.escape_debug()),
        })
    }
}

impl FileElement for bool {
    const NPY_KIND: Option<char> = Some('b');

    fn parse_bytes(text: &[u8]) -> Option<Self> {
        match text {
            b"0" | b"false" | b"False" => Some(false),
            b"1" | b"true" | b"True" => Some(true),
            _ => None,
        }
    }

    fn print(self, text: &mut Vec<u8>) {
        text.extend_from_slice(if self { b"true" } else { b"false" });
    }

    fn print_entry(self, text: &mut Vec<u8>) {
        text.push(b'0' + u8::from(self));
    }

    fn from_bytes(bytes: &[u8], _: bool) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

/// Implements the trait for number types, with the functions that parse and print a number.
macro_rules! impl_number {
    ($kind:expr, $parse:ident $print:ident: $($type:ty)*) => {$(
        impl FileElement for $type {
            const NPY_KIND: Option<char> = $kind;

            fn parse_bytes(text: &[u8]) -> Option<Self> {
                $parse(text)
            }

            fn print(self, text: &mut Vec<u8>) {
                $print(self, text);
            }

            fn from_bytes(bytes: &[u8], big_endian: bool) -> Option<Self> {
                let bytes = bytes.try_into().ok()?;
                Some(if big_endian { Self::from_be_bytes(bytes) } else { Self::from_le_bytes(bytes) })
            }
        }
    )*};
}

impl_number!(Some('i'), parse_integer print_integer: i8 i16 i32 i64);
impl_number!(Some('u'), parse_integer print_integer: u8 u16 u32 u64);
impl_number!(Some('f'), parse_float print_float: f32 f64);
#[cfg(feature = "half")]
impl_number!(Some('f'), parse_half print_half: half::f16);
#[cfg(feature = "half")]
impl_number!(None, parse_half print_half: half::bf16);

#[inline]
fn parse_integer<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[inline]
fn print_integer<T: Into<i128>>(value: T, text: &mut Vec<u8>) {
    let value: i128 = value.into();
    if value < 0 {
        text.push(b'-');
    }
    print_digits(text, value.unsigned_abs() as u64);
}

#[inline]
fn parse_float<T: crate::Float + fast_float2::FastFloat>(text: &[u8]) -> Option<T> {
    fast_float2::parse(text).ok().map(canonical_nan)
}

#[inline]
fn print_float<T: Element + zmij::Float>(value: T, text: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let word = if value.isnan() { "nan" } else { buffer.format(value) };
    text.extend_from_slice(word.as_bytes());
}

/// Parses a finite number. A number that does not fit in the type results in an infinity.
#[cfg(feature = "half")]
fn parse_half<T: crate::Float>(text: &[u8]) -> Option<T> {
    f64::parse_bytes(text).map(T::from_f64)
}

#[cfg(feature = "half")]
fn print_half<T: Into<f32>>(value: T, text: &mut Vec<u8>) {
    value.into().print(text);
}

/// Returns whether a text results in the same number after reading as `f64` and rounding to `T`. Files are read this
/// way. The shortest digits of an `f32` may then be read as the midpoint between the `f32` and a neighbor.
fn reads_back_by_f64<T: Element>(text: &[u8], number: T) -> bool {
    f64::parse_bytes(text).and_then(|read| T::from_number(Number::Real(read))).is_some_and(|read| read.same(number))
}

/// Returns the canonical NaN for a NaN, otherwise the value. In text there is only one NaN, without a sign.
fn canonical_nan<T: crate::Float>(value: T) -> T {
    if value.isnan() { T::NAN } else { value }
}

impl<F: FileElement + num_traits::Float> FileElement for Complex<F>
where
    Complex<F>: Element,
{
    const NPY_KIND: Option<char> = Some('c');

    fn parse_bytes(text: &[u8]) -> Option<Self> {
        let (re, im) = split_complex(text);
        let part = |text: &[u8]| match text {
            b"" => Some(F::ZERO),
            text => F::parse_bytes(text),
        };
        let unit = |text: &[u8]| match text {
            b"+" => Some(F::ONE),
            b"-" => Some(-F::ONE),
            text => part(text),
        };
        (im.is_some() || !re.is_empty()).then_some(())?;
        Some(Complex::new(
            part(re)?,
            match im {
                None => F::ZERO,
                Some(b"") => F::ONE,
                Some(im) => unit(im)?,
            },
        ))
    }

    fn print(self, text: &mut Vec<u8>) {
        self.re.print(text);
        text.push(if self.im.is_sign_negative() && !self.im.is_nan() { b'-' } else { b'+' });
        self.im.abs().print(text);
        text.push(b'j');
    }

    fn print_entry(self, text: &mut Vec<u8>) {
        self.re.print_entry(text);
        text.push(b' ');
        self.im.print_entry(text);
    }

    fn from_bytes(bytes: &[u8], big_endian: bool) -> Option<Self> {
        let (re, im) = bytes.split_at_checked(size_of::<F>())?;
        Some(Complex::new(F::from_bytes(re, big_endian)?, F::from_bytes(im, big_endian)?))
    }

    fn to_bytes(self, bytes: &mut Vec<u8>) {
        self.re.to_bytes(bytes);
        self.im.to_bytes(bytes);
    }
}

/// Returns the text of the real part and, if there is a `j`, the text of the imaginary part with its sign.
fn split_complex(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let text = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")")).unwrap_or(text);
    let Some(body) = text.strip_suffix(b"j").or_else(|| text.strip_suffix(b"i")) else {
        return (text, None);
    };
    let is_split = |at: &usize| matches!(body[*at], b'+' | b'-') && *at > 0 && !matches!(body[at - 1], b'e' | b'E');
    match (0..body.len()).rev().find(is_split) {
        Some(at) => (&body[..at], Some(&body[at..])),
        None => (b"", Some(body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed<T: FileElement>(value: T) -> String {
        let mut text = Vec::new();
        value.print(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn text_reads_back_bit_for_bit() {
        for value in [0.1, -0.0, f64::MIN_POSITIVE / 8.0, f64::MAX, 1e23, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(f64::parse(&printed(value)).unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(
            (printed(f64::NAN), printed(-f64::NAN), printed(f64::INFINITY)),
            ("nan".into(), "nan".into(), "inf".into())
        );
        assert_eq!(printed(i64::MIN), "-9223372036854775808");
    }

    #[test]
    fn truth_has_three_names_in_each_way() {
        assert!(["0", "false", "False"].iter().all(|word| bool::parse(word) == Some(false)));
        assert!(["1", "true", "True"].iter().all(|word| bool::parse(word) == Some(true)));
        assert!(["", "2", "FALSE", "0.0", "tru"].iter().all(|word| bool::parse(word).is_none()));
    }

    #[cfg(feature = "half")]
    #[test]
    fn text_just_above_a_tie_rounds_up_in_the_half_types_as_a_cast_does() {
        use half::{bf16, f16};
        assert_eq!(f16::parse("1.0004882812501"), Some(f16::from_f32(1.0009766)));
        assert_eq!(f16::parse("-1.0004882812501"), Some(f16::from_f32(-1.0009766)));
        assert_eq!(f16::parse("1.00048828125"), Some(f16::ONE));
        // The nearest f32 is already odd, and is next to the tie. The number 1.00146484375 is a tie that is rounded up.
        assert_eq!(f16::parse("1.0004883766"), Some(f16::from_f32(1.0009766)));
        assert_eq!(f16::parse("1.0014647603"), Some(f16::from_f32(1.0009766)));
        assert_eq!(bf16::parse("1.00390625000001"), Some(bf16::from_f32(1.0078125)));
        assert_eq!((f16::parse("65519.999"), f16::parse("65520")), (Some(f16::MAX), Some(f16::INFINITY)));
        assert_eq!((f16::parse("-1e9"), bf16::parse("1e300")), (Some(f16::NEG_INFINITY), Some(bf16::INFINITY)));
        assert_eq!(f16::parse("-0").map(f16::to_bits), Some(0x8000));
    }

    #[test]
    fn complex_text() {
        let c = |re, im| Some(Complex::<f64>::new(re, im));
        assert_eq!(Complex::parse("1+2j"), c(1.0, 2.0));
        assert_eq!(Complex::parse("(1e-3-2e+5j)"), c(1e-3, -2e5));
        assert_eq!(Complex::parse("-2.5j"), c(0.0, -2.5));
        assert_eq!(Complex::parse("j"), c(0.0, 1.0));
        assert_eq!(Complex::parse("3-j"), c(3.0, -1.0));
        assert_eq!(Complex::parse("-inf"), c(f64::NEG_INFINITY, 0.0));
        assert_eq!(Complex::parse("1-infj"), c(1.0, f64::NEG_INFINITY));
        assert_eq!(Complex::<f64>::parse(""), None);
        assert_eq!(Complex::<f64>::parse("1+2"), None);
        assert_eq!(Complex::<f64>::parse("()"), None);
    }
}
