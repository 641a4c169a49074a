//! Text files, read in blocks of whole lines: what the text formats have in common.

use std::io::{BufRead, Read};

use crate::error::{Error, Result};

/// The bytes read at once; a block is longer only where a line is.
const BLOCK: u64 = 1 << 20;

/// The error at a line of a text file.
pub(crate) fn at_line(line: u64, message: impl Into<String>) -> Error {
    Error::Format { place: format!("line {line}"), message: message.into() }
}

/// A text file: its header is read line by line, its body block by block.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    line: u64,
    bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Lines { reader, buffer: Vec::new(), line: 0, bytes: 0 }
    }

    /// The number of the last line given out.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line, or `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<Fields<'_>>> {
        self.buffer.clear();
        self.bytes += self.reader.read_until(b'\n', &mut self.buffer)? as u64;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        Ok(Some(Fields::new(&self.buffer, self.line)))
    }

    /// Calls `visit` with each line to come that is neither blank nor a comment.
    pub(crate) fn for_each_entry(&mut self, mut visit: impl FnMut(Fields<'_>) -> Result<()>) -> Result<()> {
        while self.next_block()? {
            let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
            for line in text.split(|&byte| byte == b'\n') {
                self.line += 1;
                let fields = Fields::new(line, self.line);
                if !fields.is_blank_or_comment() {
                    visit(fields)?;
                }
            }
        }
        Ok(())
    }

    /// Fills the buffer with whole lines; `false` at the end of the file.
    fn next_block(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.reader.by_ref().take(BLOCK).read_to_end(&mut self.buffer)?;
        if self.buffer.last().is_some_and(|&byte| byte != b'\n') {
            self.reader.read_until(b'\n', &mut self.buffer)?;
        }
        self.bytes += self.buffer.len() as u64;
        Ok(!self.buffer.is_empty())
    }
}

/// What is left of a line: words between blanks.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Fields<'a> {
    fn new(line: &'a [u8], number: u64) -> Self {
        Fields { rest: line.trim_ascii(), line: number }
    }

    /// An error at this line.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        at_line(self.line, message)
    }

    /// Whether there is nothing to read here.
    pub(crate) fn is_blank_or_comment(&self) -> bool {
        self.rest.is_empty() || self.rest[0] == b'%'
    }

    /// The next word.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_ascii_start();
        (!word.is_empty()).then_some(word)
    }

    /// The next word, which must be there: `what` it is.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a [u8]> {
        self.next().ok_or_else(|| self.error(format!("the line ends before {what}")))
    }

    /// The next word as a number that is not negative: `what` it is.
    pub(crate) fn count(&mut self, what: &str) -> Result<usize> {
        let word = self.word(what)?;
        let text = std::str::from_utf8(word).unwrap_or("");
        text.parse().map_err(|_| self.error(format!("{what} is `{}`, not {}", quote(word), expected_count(text))))
    }

    /// The next word as a 1-based index below or at `length`, counted from 0: `what` it is.
    pub(crate) fn index(&mut self, what: &str, length: usize) -> Result<u64> {
        let word = self.word(what)?;
        let parsed = parse_index(word);
        match parsed.filter(|&index| index >= 1 && index <= length as u64) {
            Some(index) => Ok(index - 1),
            None => Err(self.error(format!("{what} {} is out of bounds for 1..={length}", quote(word)))),
        }
    }

    /// Refuses words that are left.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("`{}` is one word too many", quote(word)))),
        }
    }
}

/// What a count should have been, for the message.
fn expected_count(text: &str) -> &'static str {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { "a number below 2^64" } else { "a number from 0 up" }
}

/// A decimal number without a sign; `None` where it does not fit.
fn parse_index(word: &[u8]) -> Option<u64> {
    word.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// A word of a file, fit for a message: cut short, and with odd bytes escaped.
pub(crate) fn quote(word: &[u8]) -> String {
    let shown = word[..word.len().min(40)].escape_ascii().to_string();
    if word.len() > 40 { format!("{shown}…") } else { shown }
}
