//! Words and numbers of text, line by line: a cursor that reads each byte once.

use num_complex::Complex;

use crate::element::DType;
use crate::io::element::{FileElement, parse_number};

/// Why a line is refused; the caller knows its number.
pub(crate) type LineResult<T> = std::result::Result<T, String>;

/// A text from the cursor on. The cursor never stands on a blank, and moves to the next line only when told to.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Fields { rest: skip_blanks(text) }
    }

    /// Whether the text is at its end.
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether nothing is left of the line but, it may be, a comment that starts with `comment`.
    pub(crate) fn is_blank_or_comment(&self, comment: u8) -> bool {
        self.rest.first().is_none_or(|&byte| byte == b'\n' || byte == comment)
    }

    /// Moves to the next line.
    pub(crate) fn skip_line(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        self.advance(end);
    }

    /// How many words are left of the line.
    pub(crate) fn count_words(mut self) -> usize {
        std::iter::from_fn(|| self.next()).count()
    }

    /// The next word of the line.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.advance(end);
        (!word.is_empty()).then_some(word)
    }

    /// The next word, which must be there: `what` it is.
    pub(crate) fn word(&mut self, what: &str) -> LineResult<&'a [u8]> {
        self.next().ok_or_else(|| format!("the line ends before {what}"))
    }

    /// The next word as a number that is not negative: `what` it is.
    pub(crate) fn count(&mut self, what: &str) -> LineResult<usize> {
        let word = self.word(what)?;
        let text = std::str::from_utf8(word).unwrap_or("");
        text.parse().map_err(|_| format!("{what} is `{}`, not {}", quote(word), expected_count(text)))
    }

    /// The next word as a 1-based index up to `length`, counted from 0: `what` it is.
    pub(crate) fn index(&mut self, what: &str, length: usize) -> LineResult<usize> {
        let (number, digits) = leading_digits(self.rest);
        match number {
            Some(index) if index >= 1 && index <= length as u64 && self.is_word(digits) => {
                self.advance(digits);
                Ok(index as usize - 1)
            }
            _ => {
                let word = quote(self.word(what)?);
                let is_too_great = number.is_some_and(|index| index > length as u64);
                // Where nothing tells the shape, hardly an index is too great.
                Err(match length as u64 > u32::MAX.into() && !is_too_great {
                    true => format!("{what} `{word}` is not a number from 1 up"),
                    false => format!("{what} {word} is out of bounds for 1..={length}"),
                })
            }
        }
    }

    /// The next word as a value.
    pub(crate) fn value<T: Scan>(&mut self) -> LineResult<T> {
        match T::scan(self.rest) {
            Some((value, length)) if self.is_word(length) => {
                self.advance(length);
                Ok(value)
            }
            _ => Err(refused_value::<T>(self.word("its value")?)),
        }
    }

    /// Moves to the next line; refuses words that are left on this one.
    pub(crate) fn end(&mut self) -> LineResult<()> {
        match self.next() {
            None => {
                self.skip_line();
                Ok(())
            }
            Some(word) => Err(format!("`{}` is one word too many", quote(word))),
        }
    }

    /// Whether a word of so many bytes ends there.
    fn is_word(&self, length: usize) -> bool {
        self.rest.get(length).is_none_or(u8::is_ascii_whitespace)
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = skip_blanks(&self.rest[bytes..]);
    }
}

/// The text after the blanks that it starts with; the end of a line is none.
fn skip_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\x0c', rest @ ..] = text {
        text = rest;
    }
    text
}

/// What is wrong with a word that is no value of type `T`.
fn refused_value<T: FileElement>(word: &[u8]) -> String {
    let (shown, dtype) = (quote(word), T::DTYPE);
    let is_number = std::str::from_utf8(word).is_ok_and(|word| parse_number(word).is_some());
    match dtype {
        _ if is_number => format!("the value `{shown}` does not fit {dtype}"),
        DType::Int64 => format!("`{shown}` is not an int64"),
        _ => format!("`{shown}` is not a {dtype}"),
    }
}

/// What a count should have been, for the message.
fn expected_count(text: &str) -> &'static str {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { "a number below 2^64" } else { "a number from 0 up" }
}

/// A word of a file, fit for a message: cut short, and with odd bytes escaped.
pub(crate) fn quote(word: &[u8]) -> String {
    let shown = word[..word.len().min(40)].escape_ascii().to_string();
    if word.len() > 40 { format!("{shown}…") } else { shown }
}

/// A value that text files hold.
pub(crate) trait Scan: FileElement {
    /// The value that the text starts with, and the bytes that it takes.
    fn scan(text: &[u8]) -> Option<(Self, usize)>;
}

impl Scan for f64 {
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let (value, length) = fast_float2::parse_partial(text).ok()?;
        // Text has one NaN only, whatever sign stands before it.
        Some((if f64::is_nan(value) { f64::NAN } else { value }, length))
    }
}

impl Scan for u64 {
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let unsigned = text.strip_prefix(b"+").unwrap_or(text);
        let (value, digits) = leading_digits(unsigned);
        Some((value?, digits + text.len() - unsigned.len()))
    }
}

impl Scan for i64 {
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let Some(magnitude) = text.strip_prefix(b"-") else {
            let (value, length) = u64::scan(text)?;
            return Some((value.try_into().ok()?, length));
        };
        let (value, digits) = leading_digits(magnitude);
        Some((0i64.checked_sub_unsigned(value?)?, digits + 1))
    }
}

/// Two words: the real part and the imaginary one.
impl Scan for Complex<f64> {
    fn scan(text: &[u8]) -> Option<(Self, usize)> {
        let (re, first) = f64::scan(text)?;
        let rest = skip_blanks(&text[first..]);
        let gap = text.len() - first - rest.len();
        let (im, second) = f64::scan(rest).filter(|_| gap > 0)?;
        Some((Complex::new(re, im), first + gap + second))
    }
}

/// The number that the decimal digits at the start of `text` say, and how many there are; `None` where there is none,
/// or where it is 2^64 or more.
fn leading_digits(text: &[u8]) -> (Option<u64>, usize) {
    let (mut value, mut count) = (0, 0);
    if let Some(chunk) = text.first_chunk() {
        (value, count) = digits_of_eight(u64::from_le_bytes(*chunk));
        if count < 8 {
            return ((count > 0).then_some(value), count);
        }
    }
    let mut number = Some(value);
    for byte in &text[count..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.and_then(|number| number.checked_mul(10)?.checked_add(digit.into()));
        count += 1;
    }
    (number.filter(|_| count > 0), count)
}

/// [`leading_digits`] of eight bytes at once, the first one in the lowest place.
///
/// A byte is no digit if it overflows past `0x7f` with `0x46` added, or underflows with `0x30` taken off; carries and
/// borrows spoil only what comes after the first such byte. The digits before it are moved to the end, so that zeros
/// stand before them, and added up pairwise.
fn digits_of_eight(bytes: u64) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = bytes.wrapping_sub(0x30 * EACH);
    let odd = (bytes.wrapping_add(0x46 * EACH) | values) & (0x80 * EACH);
    let count = odd.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    let digits = values << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_up_to_the_first_byte_that_is_none() {
        for number in (0..20).map(|digits| 12_345_678_901_234_567_890u64 / 10u64.pow(digits)) {
            for after in ["", " ", "\n 77777777", "x999", ".5", "\u{ff}12345678"] {
                let text = format!("{number}{after}");
                assert_eq!(leading_digits(text.as_bytes()), (Some(number), number.to_string().len()), "{text:?}");
            }
        }
        for (text, digits) in [("", 0), ("x1234567", 0), ("-1", 0), ("18446744073709551616", 20)] {
            assert_eq!(leading_digits(text.as_bytes()), (None, digits), "{text:?}");
        }
        assert_eq!(leading_digits(b"18446744073709551615"), (Some(u64::MAX), 20));
        assert_eq!(leading_digits(b"00000000000000000000000000001 "), (Some(1), 29));
    }

    #[test]
    fn every_byte_after_every_count_of_digits_ends_the_number() {
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for count in 1..8 {
                let mut text = b"98765432"[..count].to_vec();
                let expected = std::str::from_utf8(&text).unwrap().parse().unwrap();
                text.extend([byte; 8]);
                assert_eq!(leading_digits(&text), (Some(expected), count), "{text:?}");
            }
        }
    }

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
    fn a_complex_value_is_two_words() {
        assert_eq!(Complex::scan(b"1 -2.5\n"), Some((Complex::new(1.0, -2.5), 6)));
        assert_eq!(Complex::<f64>::scan(b"1\n2"), None);
        assert_eq!(Complex::<f64>::scan(b"1-2"), None);
    }
}
