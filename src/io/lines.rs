//! Text files, read in blocks of whole lines that several threads parse.

use std::io::{BufRead, ErrorKind, Read};

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::threads::pipeline::pipeline;
use crate::io::fields::{Fields, LineResult};

/// The size of a block in bytes; only a long line makes a block larger. A block and its parsed entries fit in a cache.
const BLOCK: u64 = 1 << 18;

/// The maximum length of a line in bytes, beyond any line of numbers and any usual comment.
const LONGEST_LINE: u64 = 1 << 20;

/// The message for a line that is too long.
const TOO_LONG: &str = "the line is longer than 1048576 bytes";

/// Returns the error at a line of a text file.
pub(crate) fn at_line(line: u64, message: impl Into<String>) -> Error {
    Error::Format { place: format!("line {line}"), message: message.into() }
}

/// A text file: its header is read line by line, its body block by block.
pub(crate) struct TextLines<R> {
    reader: R,
    /// The byte that starts a comment.
    comment: u8,
    /// The last returned line.
    buffer: Vec<u8>,
    /// True if the last line is to be returned again.
    is_unread: bool,
    line: u64,
    bytes: u64,
}

impl<R: BufRead> TextLines<R> {
    pub(crate) fn new(reader: R, comment: u8) -> Self {
        TextLines { reader, comment, buffer: Vec::new(), is_unread: false, line: 0, bytes: 0 }
    }

    /// Returns the number of the last returned line.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns an error at the last returned line.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        at_line(self.line, message)
    }

    /// Returns the next line, or `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<Fields<'_>>> {
        if !std::mem::take(&mut self.is_unread) {
            self.buffer.clear();
            read_line(&mut self.reader, &mut self.buffer)?;
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.bytes += self.buffer.len() as u64;
        self.line += 1;
        match ends_in_too_long_a_line(&self.buffer) {
            true => Err(self.error(TOO_LONG)),
            false => Ok(Some(Fields::new(&self.buffer))),
        }
    }

    /// Returns the last line again at the next read.
    pub(crate) fn unread(&mut self) {
        self.is_unread = true;
        self.line -= 1;
        self.bytes -= self.buffer.len() as u64;
    }

    /// Rejects a file that ends before its last entry.
    pub(crate) fn check_count(&self, listed: usize, declared: usize) -> Result<()> {
        if listed == declared {
            return Ok(());
        }
        Err(self.error(format!("the file declares {declared} entries, but ends after {listed}")))
    }

    /// Parses the remaining lines. `parse` runs on several blocks at once, and `take` receives the results in order.
    pub(crate) fn for_each_block<C: Send>(
        &mut self,
        parse: impl Fn(&mut LineBlock<'_>) -> C + Sync + Send,
        mut take: impl FnMut(C, &ParsedLines<'_>) -> Result<()>,
    ) -> Result<()> {
        let TextLines { reader, comment, line, bytes, .. } = self;
        let comment = *comment;
        let mut unread = if self.is_unread { std::mem::take(&mut self.buffer) } else { Vec::new() };
        pipeline(
            || next_block(reader, std::mem::take(&mut unread)),
            |text: Vec<u8>| Parsed::of(text, comment, &parse),
            |parsed| {
                *bytes += parsed.text.len() as u64;
                let Parsed { text, chunk, lines, rejection } = parsed;
                let taken =
                    ParsedLines { text: &text, comment, before: *line, bytes: *bytes, rejection: rejection.is_some() };
                take(chunk, &taken)?;
                *line += lines;
                rejection.map_or(Ok(()), |why| Err(at_line(*line, why)))
            },
        )
    }
}

/// A parsed block, up to a rejected line.
pub(crate) struct ParsedLines<'a> {
    text: &'a [u8],
    comment: u8,
    /// The number of lines before the block.
    pub(crate) before: u64,
    /// The bytes read so far, including this block.
    pub(crate) bytes: u64,
    /// True if a line after the parsed lines was rejected.
    rejection: bool,
}

impl ParsedLines<'_> {
    /// Rejects the first entry beyond the declared number. `listed` entries are before this block, and `parsed` entries
    /// are in this block.
    pub(crate) fn check_count(&self, listed: usize, parsed: usize, declared: usize) -> Result<()> {
        let left = declared - listed;
        if parsed < left || (parsed == left && !self.rejection) {
            return Ok(());
        }
        // If this line does not exist, the rejected line is not an entry, and its own error is reported.
        let too_many = |line| Err(at_line(line, format!("more entries than the {declared} declared")));
        self.entry_lines().nth(left).map_or(Ok(()), too_many)
    }

    /// Returns the line of an entry of this block.
    pub(crate) fn line_of(&self, entry: usize) -> u64 {
        self.entry_lines().nth(entry).unwrap_or(self.before)
    }

    /// Returns the numbers of the lines that are neither blank nor a comment.
    fn entry_lines(&self) -> impl Iterator<Item = u64> {
        let lines = self.text.split_inclusive(|&byte| byte == b'\n').zip(self.before + 1..);
        let entries = lines.filter(|(line, _)| !Fields::new(line).is_blank_or_comment(self.comment));
        entries.map(|(_, number)| number)
    }
}

/// Reads the remaining part of the last line in `buffer`, up to the maximum length.
fn read_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> Result<()> {
    let before = last_line(buffer).len() as u64;
    let mut left = LONGEST_LINE.saturating_sub(before) as usize;
    while left > 0 {
        let read = match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let read = &read[..read.len().min(left)];
        let taken = read.iter().position(|&byte| byte == b'\n').map_or(read.len(), |end| end + 1);
        alloc::extend(buffer, &read[..taken])?;
        let is_whole = taken == 0 || buffer.ends_with(b"\n");
        reader.consume(taken);
        left -= taken;
        if is_whole {
            break;
        }
    }
    Ok(())
}

/// Reads the next whole lines, and appends these to the lines in `block`. Returns `None` at the end of the file.
fn next_block(reader: &mut impl BufRead, mut block: Vec<u8>) -> Result<Option<Vec<u8>>> {
    alloc::reserve(&mut block, BLOCK as usize + (1 << 10))?;
    reader.take(BLOCK).read_to_end(&mut block)?;
    if !last_line(&block).is_empty() {
        read_line(reader, &mut block)?;
    }
    Ok((!block.is_empty()).then_some(block))
}

/// Returns the text after the last line end.
fn last_line(text: &[u8]) -> &[u8] {
    text.rsplit(|&byte| byte == b'\n').next().unwrap_or(text)
}

/// Returns whether the last line reaches the maximum length.
fn ends_in_too_long_a_line(text: &[u8]) -> bool {
    let is_long = |line: &[u8]| line.len() as u64 >= LONGEST_LINE;
    is_long(text) && is_long(last_line(text))
}

/// Whole lines of a file, to be parsed.
pub(crate) struct LineBlock<'a> {
    text: &'a [u8],
    comment: u8,
    /// The number of parsed lines, including the rejected line.
    lines: u64,
    rejection: Option<String>,
}

impl<'a> LineBlock<'a> {
    /// Returns a block of complete lines, which are not parsed yet.
    pub(crate) fn new(text: &'a [u8], comment: u8) -> Self {
        LineBlock { text, comment, lines: 0, rejection: None }
    }

    /// Returns the number of bytes of the block.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the number of lines; the last line may end without a line end.
    pub(crate) fn count_lines(&self) -> usize {
        // A count per chunk fits in a `u8`, because chunks are short. Sums of `u8` are compiled to SIMD.
        let count = |text: &[u8]| text.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
        let ends: usize = self.text.chunks(u8::MAX.into()).map(|text| usize::from(count(text))).sum();
        ends + usize::from(!last_line(self.text).is_empty())
    }

    /// Calls `visit` with each line that is neither blank nor a comment, and its number, until `visit` rejects a line.
    /// `visit` reads a line to its [`end`](Fields::end) before it stores anything of the line.
    pub(crate) fn for_each_line(&mut self, mut visit: impl FnMut(&mut Fields<'_>, u64) -> LineResult<()>) {
        let mut fields = Fields::new(self.text);
        while !fields.is_done() && self.rejection.is_none() {
            self.lines += 1;
            if fields.is_blank_or_comment(self.comment) {
                fields.skip_line();
            } else {
                self.rejection = visit(&mut fields, self.lines).err();
            }
        }
    }
}

/// A block, and the result of parsing it.
struct Parsed<C> {
    text: Vec<u8>,
    chunk: C,
    lines: u64,
    rejection: Option<String>,
}

impl<C> Parsed<C> {
    fn of(text: Vec<u8>, comment: u8, parse: impl Fn(&mut LineBlock<'_>) -> C) -> Self {
        let too_long = ends_in_too_long_a_line(&text);
        let whole = text.len() - if too_long { last_line(&text).len() } else { 0 };
        let mut block = LineBlock::new(&text[..whole], comment);
        let chunk = parse(&mut block);
        let LineBlock { mut lines, mut rejection, .. } = block;
        if too_long && rejection.is_none() {
            lines += 1;
            rejection = Some(TOO_LONG.into());
        }
        Parsed { text, chunk, lines, rejection }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffer does not grow while a block is read, and is not much larger than the block.
    #[test]
    fn a_block_holds_itself_and_the_rest_of_its_last_line() {
        let block = next_block(&mut &b"1 2\n3 4"[..], b"0\n".to_vec()).unwrap().unwrap();
        assert_eq!(block, b"0\n1 2\n3 4");
        let wanted = BLOCK as usize + (1 << 10);
        assert!((wanted..2 * wanted).contains(&block.capacity()), "{}", block.capacity());
    }

    #[test]
    fn lines_are_counted_with_or_without_an_end() {
        let count = |text: &str| {
            let block = LineBlock::new(text.as_bytes(), b'%');
            (block.len(), block.count_lines())
        };
        assert_eq!([count(""), count("\n"), count("a"), count("a\nb\n")], [(0, 0), (1, 1), (1, 1), (4, 2)]);
        // The count does not fit in a `u8`.
        assert_eq!(count(&("\n".repeat(600) + "a")), (601, 601));
    }
}
