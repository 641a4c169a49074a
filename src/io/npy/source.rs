//! Binary sources that count their bytes, with errors that name the position in the source.

use std::io::{ErrorKind, Read};

use crate::base::alloc::{self};
use crate::base::error::{Error, Result};
use crate::io::element::FileElement;
use crate::io::limits::BLOCK;

/// A binary source that counts the bytes read, and whose errors name the part that was read.
///
/// The reader is not a type parameter: reading is already monomorphized per element type.
pub(crate) struct BinarySource<'r> {
    reader: &'r mut dyn Read,
    /// The name of the source: `member data.npy`, or empty for a separate file.
    name: String,
    bytes: u64,
    /// The number of bytes that are known to follow; 0 if the number is not known.
    expected: u64,
}

impl<'r> BinarySource<'r> {
    pub(crate) fn new(reader: &'r mut dyn Read, name: impl Into<String>) -> Self {
        BinarySource { reader, name: name.into(), bytes: 0, expected: 0 }
    }

    /// Returns the same source, for which the caller knows that `expected` bytes follow.
    pub(crate) fn expecting(self, expected: u64) -> Self {
        BinarySource { expected, ..self }
    }

    /// Returns how many of `count` elements are known to follow. Memory for these elements can be reserved at once.
    pub(crate) fn expected_of<T>(&self, count: usize) -> usize {
        count.min(usize::try_from(self.expected / size_of::<T>() as u64).unwrap_or(usize::MAX))
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the error at a part of this source.
    pub(crate) fn error(&self, part: &str, message: impl Into<String>) -> Error {
        let place = if self.name.is_empty() { part.into() } else { format!("{}, {part}", self.name) };
        Error::Format { place, message: message.into() }
    }

    /// Reads bytes until `buffer` is full or the source ends, and returns the number of bytes.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        self.bytes += filled as u64;
        Ok(filled)
    }

    /// Returns the error of a failed read. If the bytes of an archive caused the failure, the error names the member. A
    /// separate file is not an archive.
    fn failure(&self, error: std::io::Error) -> Error {
        use ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof, Unsupported};
        match Error::from(error) {
            Error::Io { kind: InvalidData | InvalidInput | Other | UnexpectedEof | Unsupported, message, .. }
                if !self.name.is_empty() =>
            {
                self.error("data", message)
            }
            error => error,
        }
    }

    /// Reads exactly `N` bytes of `part`.
    pub(super) fn exactly<const N: usize>(&mut self, part: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        match self.fill(&mut bytes)? {
            found if found == N => Ok(bytes),
            found => Err(self.error(part, format!("ends after {found} of {N} bytes"))),
        }
    }

    /// Reads `length` bytes of text; the buffer grows as bytes arrive.
    pub(super) fn text(&mut self, part: &str, length: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let read = (&mut *self.reader).take(length).read_to_end(&mut text);
        read.map_err(|error| self.failure(error))?;
        self.bytes += text.len() as u64;
        if (text.len() as u64) < length {
            return Err(self.error(part, format!("ends after {} of {length} bytes", text.len())));
        }
        Ok(text)
    }

    /// Rejects bytes after the last element.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(self.error("data", "there are more bytes than the shape requires")),
        }
    }

    /// Calls `visit` with each of `count` elements.
    pub(crate) fn for_each<T: FileElement>(
        &mut self,
        count: usize,
        big_endian: bool,
        mut visit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.blocks(count, size_of::<T>(), &mut |bytes| {
            for (at, bytes) in bytes.chunks_exact(size_of::<T>()).enumerate() {
                let Some(value) = T::from_bytes(bytes, big_endian) else { return Ok(Some(at)) };
                visit(value)?;
            }
            Ok(None)
        })
    }

    /// Calls `visit` with the bytes of elements of `size` bytes each, until `count` elements are read. `visit` returns
    /// the index of an invalid element, if any.
    fn blocks(
        &mut self,
        count: usize,
        size: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<Option<usize>>,
    ) -> Result<()> {
        let mut buffer: Vec<u8> = alloc::zeros(BLOCK)?;
        let mut read = 0;
        while read < count {
            let wanted = (BLOCK / size).min(count - read);
            let found = self.fill(&mut buffer[..wanted * size])? / size;
            if let Some(at) = visit(&buffer[..found * size])? {
                return Err(self.error(&format!("element {}", read + at), "a bool must be 0 or 1"));
            }
            read += found;
            if found < wanted {
                return Err(self.error("data", format!("ends after {read} of {count} elements")));
            }
        }
        Ok(())
    }
}
