//! Text files, read in blocks of whole lines that several threads parse.

use std::io::{BufRead, ErrorKind, Read};

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::io::fields::{Fields, LineResult};

/// The bytes of a block; it is longer only where a line is. Small enough to stay in a cache with what is parsed of it.
const BLOCK: u64 = 1 << 18;

/// No line of numbers is longer than this, and no comment that anybody wrote.
const LONGEST_LINE: u64 = 1 << 20;

/// What is said of a line that is.
const TOO_LONG: &str = "the line is longer than 1048576 bytes";

/// The error at a line of a text file.
pub(crate) fn at_line(line: u64, message: impl Into<String>) -> Error {
    Error::Format { place: format!("line {line}"), message: message.into() }
}

/// A text file: its header is read line by line, its body block by block.
pub(crate) struct Lines<R> {
    reader: R,
    /// What starts a comment.
    comment: u8,
    /// The line that was given out last.
    buffer: Vec<u8>,
    /// Whether that line is to be given out again.
    is_unread: bool,
    line: u64,
    bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, comment: u8) -> Self {
        Lines { reader, comment, buffer: Vec::new(), is_unread: false, line: 0, bytes: 0 }
    }

    /// The number of the last line given out.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error at the last line given out.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        at_line(self.line, message)
    }

    /// The next line, or `None` at the end of the file.
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

    /// Gives the last line out again.
    pub(crate) fn unread(&mut self) {
        self.is_unread = true;
        self.line -= 1;
        self.bytes -= self.buffer.len() as u64;
    }

    /// Refuses a file that ends before its last entry.
    pub(crate) fn check_count(&self, listed: usize, declared: usize) -> Result<()> {
        if listed == declared {
            return Ok(());
        }
        Err(self.error(format!("{declared} entries are declared, the file ends after {listed}")))
    }

    /// Parses the rest of the file: `parse` runs on several blocks at once, `take` gets what they hold, in order.
    pub(crate) fn for_each_block<C: Send>(
        &mut self,
        parse: impl Fn(&mut Block<'_>) -> C + Sync + Send,
        mut take: impl FnMut(C, &Taken<'_>) -> Result<()>,
    ) -> Result<()> {
        let Lines { reader, comment, line, bytes, .. } = self;
        let comment = *comment;
        let mut unread = if self.is_unread { std::mem::take(&mut self.buffer) } else { Vec::new() };
        threads::pipeline(
            || next_block(reader, std::mem::take(&mut unread)),
            |text: Vec<u8>| Parsed::of(text, comment, &parse),
            |parsed| {
                *bytes += parsed.text.len() as u64;
                let Parsed { text, chunk, lines, refused } = parsed;
                let taken = Taken { text: &text, comment, before: *line, bytes: *bytes, refused: refused.is_some() };
                take(chunk, &taken)?;
                *line += lines;
                refused.map_or(Ok(()), |why| Err(at_line(*line, why)))
            },
        )
    }
}

/// A block that was parsed, up to the line that was refused.
pub(crate) struct Taken<'a> {
    text: &'a [u8],
    comment: u8,
    /// The lines before the block.
    pub(crate) before: u64,
    /// The bytes read, with those of this block.
    pub(crate) bytes: u64,
    /// Whether a line was refused after those that were parsed.
    refused: bool,
}

impl Taken<'_> {
    /// Refuses the first entry beyond those that are declared: `listed` came before this block, `parsed` are in it.
    pub(crate) fn check_count(&self, listed: usize, parsed: usize, declared: usize) -> Result<()> {
        let left = declared - listed;
        if parsed < left || (parsed == left && !self.refused) {
            return Ok(());
        }
        // Without one, the line that was refused is no entry, and what is wrong with it is told instead.
        let too_many = |line| Err(at_line(line, format!("one entry too many: {declared} are declared")));
        self.entry_lines().nth(left).map_or(Ok(()), too_many)
    }

    /// The line of an entry of this block.
    pub(crate) fn line_of(&self, entry: usize) -> u64 {
        self.entry_lines().nth(entry).unwrap_or(self.before)
    }

    /// The numbers of the lines that are neither blank nor a comment.
    fn entry_lines(&self) -> impl Iterator<Item = u64> {
        let lines = self.text.split_inclusive(|&byte| byte == b'\n').zip(self.before + 1..);
        let entries = lines.filter(|(line, _)| !Fields::new(line).is_blank_or_comment(self.comment));
        entries.map(|(_, number)| number)
    }
}

/// Reads the rest of the last line in `buffer`, but not more than the longest.
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

/// The next whole lines, behind those that were read already; `None` at the end of the file.
fn next_block(reader: &mut impl BufRead, mut block: Vec<u8>) -> Result<Option<Vec<u8>>> {
    alloc::reserve(&mut block, BLOCK as usize + (1 << 10))?;
    reader.take(BLOCK).read_to_end(&mut block)?;
    if !last_line(&block).is_empty() {
        read_line(reader, &mut block)?;
    }
    Ok((!block.is_empty()).then_some(block))
}

/// What stands behind the last end of a line.
fn last_line(text: &[u8]) -> &[u8] {
    text.rsplit(|&byte| byte == b'\n').next().unwrap_or(text)
}

/// Whether the last line is as long as none may be.
fn ends_in_too_long_a_line(text: &[u8]) -> bool {
    let is_long = |line: &[u8]| line.len() as u64 >= LONGEST_LINE;
    is_long(text) && is_long(last_line(text))
}

/// Whole lines of a file, to be parsed.
pub(crate) struct Block<'a> {
    text: &'a [u8],
    comment: u8,
    /// The lines up to and including the one that was refused.
    lines: u64,
    refused: Option<String>,
}

impl<'a> Block<'a> {
    /// Whole lines, of which none was parsed yet.
    pub(crate) fn new(text: &'a [u8], comment: u8) -> Self {
        Block { text, comment, lines: 0, refused: None }
    }

    /// The bytes of the block.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// How many lines it has; the last one may have no end.
    pub(crate) fn count_lines(&self) -> usize {
        // By so few bytes that a byte counts them: sums of bytes become vectors.
        let count = |text: &[u8]| text.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
        let ends: usize = self.text.chunks(u8::MAX.into()).map(|text| usize::from(count(text))).sum();
        ends + usize::from(!last_line(self.text).is_empty())
    }

    /// Calls `visit` with each line that is neither blank nor a comment and its number, until it refuses one. It reads
    /// the line to its [`end`](Fields::end) before it keeps anything of it.
    pub(crate) fn for_each_line(&mut self, mut visit: impl FnMut(&mut Fields<'_>, u64) -> LineResult<()>) {
        let mut fields = Fields::new(self.text);
        while !fields.is_done() && self.refused.is_none() {
            self.lines += 1;
            if fields.is_blank_or_comment(self.comment) {
                fields.skip_line();
            } else {
                self.refused = visit(&mut fields, self.lines).err();
            }
        }
    }
}

/// A block, and what was parsed of it.
struct Parsed<C> {
    text: Vec<u8>,
    chunk: C,
    lines: u64,
    refused: Option<String>,
}

impl<C> Parsed<C> {
    fn of(text: Vec<u8>, comment: u8, parse: impl Fn(&mut Block<'_>) -> C) -> Self {
        let too_long = ends_in_too_long_a_line(&text);
        let whole = text.len() - if too_long { last_line(&text).len() } else { 0 };
        let mut block = Block::new(&text[..whole], comment);
        let chunk = parse(&mut block);
        let Block { mut lines, mut refused, .. } = block;
        if too_long && refused.is_none() {
            lines += 1;
            refused = Some(TOO_LONG.into());
        }
        Parsed { text, chunk, lines, refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not a list that grows with what is read, and not one of another order of magnitude.
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
            let block = Block::new(text.as_bytes(), b'%');
            (block.len(), block.count_lines())
        };
        assert_eq!([count(""), count("\n"), count("a"), count("a\nb\n")], [(0, 0), (1, 1), (1, 1), (4, 2)]);
        // More than a byte counts.
        assert_eq!(count(&("\n".repeat(600) + "a")), (601, 601));
    }
}
