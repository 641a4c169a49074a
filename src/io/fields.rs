//! Words and numbers of text, line by line. A cursor reads each byte once.

use num_complex::Complex;

use crate::element::{DType, Number};
use crate::io::digits::leading_digits;
use crate::io::element::FileElement;

/// A result of parsing a line: the error is the reason why the line is rejected. The caller knows the number of the
/// line.
pub(crate) type LineResult<T> = std::result::Result<T, String>;

/// A text from the cursor on. The cursor is never at a blank, and moves to the next line only on request.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Fields { rest: skip_blanks(text) }
    }

    /// Returns whether the cursor is at the end of the text.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns whether the rest of the line is empty, or a comment that starts with `comment`.
    #[inline]
    pub(crate) fn is_blank_or_comment(&self, comment: u8) -> bool {
        self.rest.first().is_none_or(|&byte| byte == b'\n' || byte == comment)
    }

    /// Moves to the next line.
    pub(crate) fn skip_line(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        self.advance(end);
    }

    /// Returns the number of words left on the line.
    pub(crate) fn count_words(mut self) -> usize {
        std::iter::from_fn(|| self.next()).count()
    }

    /// Returns the next word of the line.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.advance(end);
        (!word.is_empty()).then_some(word)
    }

    /// Returns the next word. The error for a missing word names it `what`.
    pub(crate) fn word(&mut self, what: &str) -> LineResult<&'a [u8]> {
        self.next().ok_or_else(|| format!("the line ends before {what}"))
    }

    /// Reads the next word as a number that is not negative. Errors name the number `what`.
    pub(crate) fn count(&mut self, what: &str) -> LineResult<usize> {
        let word = self.word(what)?;
        let text = std::str::from_utf8(word).unwrap_or("");
        text.parse().map_err(|_| format!("{what} `{}` is not {}", quote(word), expected_count(text)))
    }

    /// Reads the next word as an index from 1 to `length`, and returns it counted from 0. Errors name the index `what`.
    #[inline]
    pub(crate) fn index(&mut self, what: &str, length: usize) -> LineResult<usize> {
        let (number, digits) = leading_digits(self.rest);
        match number {
            Some(index) if index >= 1 && index <= length as u64 && self.is_word(digits) => {
                self.advance(digits);
                Ok(index as usize - 1)
            }
            _ => Err(self.index_error(what, length, number)),
        }
    }

    /// Returns the error for a word that is not an index; `number` is the number that the word starts with.
    #[cold]
    fn index_error(&mut self, what: &str, length: usize, number: Option<u64>) -> String {
        let word = match self.word(what) {
            Ok(word) => word,
            Err(why) => return why,
        };
        let (shown, digits) = (quote(word), word.strip_prefix(b"-").unwrap_or(word));
        let is_integer = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let is_too_great = number.is_some_and(|index| index > length as u64);
        // If the shape is not known, the bound is so large that the message does not state it.
        let is_bounded = length as u64 <= u32::MAX.into();
        match is_integer && (is_bounded || is_too_great) {
            true => format!("{what} {shown} is out of bounds for 1..={length}"),
            false => format!("{what} `{shown}` is not a number from 1 up"),
        }
    }

    /// Reads the next word as a value.
    #[inline]
    pub(crate) fn value<T: Scan>(&mut self) -> LineResult<T> {
        match T::scan(self.rest) {
            Some((value, length)) if self.is_word(length) => {
                self.advance(length);
                Ok(value)
            }
            _ => Err(T::rejection(self)),
        }
    }

    /// Returns the error for a word that is not a value of type `T`.
    #[cold]
    fn value_error<T: FileElement>(&mut self) -> String {
        self.word("its value").map_or_else(|why| why, word_error::<T>)
    }

    /// Moves to the next line; rejects words that are left on this line.
    #[inline]
    pub(crate) fn end(&mut self) -> LineResult<()> {
        match self.rest {
            [] => Ok(()),
            [b'\n', rest @ ..] => {
                self.rest = skip_blanks(rest);
                Ok(())
            }
            _ => Err(self.one_word_too_many()),
        }
    }

    #[cold]
    fn one_word_too_many(&mut self) -> String {
        format!("unexpected `{}` at the end of the line", quote(self.next().unwrap_or_default()))
    }

    /// Returns whether the word ends after `length` bytes.
    #[inline]
    fn is_word(&self, length: usize) -> bool {
        self.rest.get(length).is_none_or(u8::is_ascii_whitespace)
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        self.rest = skip_blanks(&self.rest[bytes..]);
    }
}

/// Returns the text after its leading blanks; a line end is not a blank.
#[inline]
fn skip_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\x0c', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Returns the error for a word that is not a value of type `T`.
fn word_error<T: FileElement>(word: &[u8]) -> String {
    let (shown, dtype) = (quote(word), T::DTYPE);
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse::<Number>().ok());
    match dtype {
        _ if number.is_some_and(|number| T::from_number(number).is_none()) => {
            format!("the value `{shown}` does not fit {dtype}")
        }
        DType::Int64 => format!("`{shown}` is not an int64"),
        _ => format!("`{shown}` is not a {dtype}"),
    }
}

/// Returns the description of a valid count, for a message.
fn expected_count(text: &str) -> &'static str {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { "a number below 2^64" } else { "a number from 0 up" }
}

/// Returns a word of a file for a message: truncated, and with special bytes escaped.
pub(crate) fn quote(word: &[u8]) -> String {
    let shown = word[..word.len().min(40)].escape_ascii().to_string();
    if word.len() > 40 { format!("{shown}…") } else { shown }
}

/// A type of values in text files.
pub(crate) trait Scan: FileElement {
    /// Reads the value at the start of a text, and returns it with its number of bytes.
    fn scan(text: &[u8]) -> Option<(Self, usize)>;

    /// Returns the error for words that are not a value of this type.
    fn rejection(fields: &mut Fields<'_>) -> String {
        fields.value_error::<Self>()
    }
}

impl Scan for f64 {
    #[inline]
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let (value, length) = fast_float2::parse_partial(text).ok()?;
        if let Some(b'd' | b'D' | b'q' | b'Q' | b'+' | b'-') = text.get(length)
            && let Some(found) = scan_fortran(text, length)
        {
            return Some(found);
        }
        // In text there is only one NaN, without a sign.
        Some((if f64::is_nan(value) { f64::NAN } else { value }, length))
    }
}

/// Reads a number with an exponent as Fortran writes it, after a significand of `significand` bytes. The exponent
/// follows a `D` or a `Q`; an exponent of three digits may follow only its sign (`1.5-100`).
#[cold]
fn scan_fortran(text: &[u8], significand: usize) -> Option<(f64, usize)> {
    let (significand, rest) = text.split_at(significand);
    let is_plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-');
    let exponent = rest.strip_prefix(b"d").or_else(|| rest.strip_prefix(b"D"));
    let exponent = exponent.or_else(|| rest.strip_prefix(b"q")).or_else(|| rest.strip_prefix(b"Q"));
    let (has_letter, exponent) = (exponent.is_some(), exponent.unwrap_or(rest));
    let signs = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
    let digits = exponent[signs..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_valid = if has_letter { digits > 0 } else { digits == 3 && significand.contains(&b'.') };
    if !is_valid || !significand.iter().all(is_plain) {
        return None;
    }
    let exponent = &exponent[..signs + digits];
    let value = fast_float2::parse([significand, b"e", exponent].concat()).ok()?;
    Some((value, significand.len() + usize::from(has_letter) + exponent.len()))
}

impl Scan for u64 {
    #[inline]
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let unsigned = text.strip_prefix(b"+").unwrap_or(text);
        let (value, digits) = leading_digits(unsigned);
        Some((value?, digits + text.len() - unsigned.len()))
    }
}

impl Scan for i64 {
    #[inline]
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let Some(magnitude) = text.strip_prefix(b"-") else {
            let (value, length) = u64::scan(text)?;
            return Some((value.try_into().ok()?, length));
        };
        let (value, digits) = leading_digits(magnitude);
        Some((0i64.checked_sub_unsigned(value?)?, digits + 1))
    }
}

/// Reads two words: the real part and the imaginary part.
impl Scan for Complex<f64> {
    #[inline]
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let (re, first) = f64::scan(text)?;
        let rest = skip_blanks(&text[first..]);
        let gap = text.len() - first - rest.len();
        let (im, second) = f64::scan(rest).filter(|_| gap > 0)?;
        Some((Complex::new(re, im), first + gap + second))
    }

    #[cold]
    fn rejection(fields: &mut Fields<'_>) -> String {
        match fields.value::<f64>() {
            Err(why) => why,
            Ok(_) if fields.clone().next().is_none() => "the line ends before its imaginary part".into(),
            Ok(_) => fields.value_error::<f64>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_at_their_limits() {
        assert_eq!(i64::scan(b"-9223372036854775808"), Some((i64::MIN, 20)));
        assert_eq!(i64::scan(b"9223372036854775807 "), Some((i64::MAX, 19)));
        assert_eq!(i64::scan(b"+7"), Some((7, 2)));
        assert_eq!(u64::scan(b"+18446744073709551615"), Some((u64::MAX, 21)));
        for text in ["-9223372036854775809", "9223372036854775808", "-", "+", "--1", "+-1", ""] {
            assert_eq!(i64::scan(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn exponents_of_fortran_are_those_of_an_e() {
        for (text, value) in [
            ("1.5D+00", 1.5),
            ("-2.5d-1", -0.25),
            ("1D3", 1000.0),
            ("+.5Q02", 50.0),
            ("0.1234567890123456D-02", 0.001234567890123456),
            ("1.7976931348623157D+308", f64::MAX),
            ("1.5D+400", f64::INFINITY),
            ("0.1-100", 1e-101),
            ("-1.25+003", -1250.0),
        ] {
            assert_eq!(f64::scan(text.as_bytes()), Some((value, text.len())), "{text}");
            assert_eq!(Fields::new(format!("{text} x").as_bytes()).value(), Ok(value), "{text}");
        }
        assert_eq!(Complex::scan(b"1.5D+00 -2.5d-1"), Some((Complex::new(1.5, -0.25), 15)));
        for text in
            ["1.5D", "1.5D+", "1.5e2D1", "infD1", "nan-100", "1-100", "1.5-10", "1.5-1000", "1.5+-100", "D1", "1.5DD1"]
        {
            assert!(Fields::new(text.as_bytes()).value::<f64>().is_err(), "{text}");
        }
    }

    #[test]
    fn words_of_more_than_forty_bytes_are_cut_short() {
        assert_eq!(quote(b"a\xff\n"), "a\\xff\\n");
        assert_eq!(quote(&[b'7'; 40]), "7".repeat(40));
        assert_eq!(quote(&[b'7'; 41]), format!("{}…", "7".repeat(40)));
        assert_eq!(quote(&[b'7'; 90]), format!("{}…", "7".repeat(40)));
    }

    #[test]
    fn a_complex_value_is_two_words() {
        assert_eq!(Complex::scan(b"1 -2.5\n"), Some((Complex::new(1.0, -2.5), 6)));
        assert_eq!(Complex::<f64>::scan(b"1\n2"), None);
        assert_eq!(Complex::<f64>::scan(b"1-2"), None);
    }
}
