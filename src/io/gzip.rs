//! gzip: streams are inflated up to a limit, and deflated to the same bytes each time.

use std::io::{BufRead, ErrorKind, Read, Result, Write};

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::base::error::Error;
use crate::io::file_format::FileFormat;
use crate::io::options::ReadOptions;

/// The first bytes of gzip data.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Returns whether data begin like gzip data.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Returns the error for an archive inside gzip data. Inflating twice would bypass the limit.
pub(crate) fn archive_error(format: FileFormat) -> Error {
    let name = format.name();
    let message = format!("an .{name} file inside gzip data is not supported; run gunzip first");
    Error::Format { place: "the archive".into(), message }
}

/// Returns a writer that compresses its bytes. The caller must finish the writer. The gzip header does not contain a
/// time or a name.
pub(crate) fn deflater<W: Write>(writer: W) -> GzEncoder<W> {
    GzEncoder::new(writer, flate2::Compression::default())
}

/// The inflated bytes of gzip data: all members one after another, up to the limit. Zeros after a member are padding,
/// as in gzip.
pub(crate) struct Inflater<'a, R> {
    /// `None` after the last member.
    decoder: Option<GzDecoder<CountingReader<R>>>,
    /// The known number of compressed bytes.
    length: u64,
    inflated: u64,
    options: &'a ReadOptions,
    /// True after an error. After an error nothing more is read.
    failed: bool,
}

impl<'a, R: BufRead> Inflater<'a, R> {
    /// Returns the inflater of at least `length` compressed bytes.
    pub(crate) fn new(reader: R, length: u64, options: &'a ReadOptions) -> Self {
        let decoder = Some(GzDecoder::new(CountingReader { reader, bytes: 0, failed: false }));
        Inflater { decoder, length, inflated: 0, options, failed: false }
    }

    fn inflate(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buffer);
            let counted = decoder.get_mut();
            match read {
                Err(error) if counted.failed => return Err(error),
                Err(error) => return Err(corrupt(&error, counted.bytes).into()),
                Ok(0) if !buffer.is_empty() => {
                    let next = counted.skip_zeros()?;
                    if next.is_some_and(|byte| byte != MAGIC[0]) {
                        let message = "the gzip data are followed by other data".into();
                        return Err(at_byte(counted.bytes, message).into());
                    }
                    let counted = self.decoder.take().map(GzDecoder::into_inner).filter(|_| next.is_some());
                    self.decoder = counted.map(GzDecoder::new);
                }
                Ok(count) => {
                    self.inflated += count as u64;
                    check_limit(self.inflated, self.options.inflated_limit(self.length.max(counted.bytes)))?;
                    return Ok(count);
                }
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Read for Inflater<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.failed {
            return Err(ErrorKind::InvalidData.into());
        }
        let read = self.inflate(buffer);
        self.failed = read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted);
        read
    }
}

/// Rejects data that inflate beyond the limit.
fn check_limit(inflated: u64, limit: u64) -> Result<()> {
    if inflated <= limit {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "the inflated file",
        bytes: inflated.into(),
        limit,
        instead: "raise --max-memory (ReadOptions::max_memory) if you trust the file",
    }
    .into())
}

/// Returns the error for gzip data that are damaged or truncated after `bytes` bytes.
fn corrupt(error: &std::io::Error, bytes: u64) -> Error {
    let message = match error.kind() {
        ErrorKind::UnexpectedEof => "the gzip data are truncated".into(),
        _ => error.to_string(),
    };
    at_byte(bytes, message)
}

fn at_byte(bytes: u64, message: String) -> Error {
    Error::Format { place: format!("gzip data, after {bytes} bytes"), message }
}

/// A reader that counts the bytes read, and records whether the wrapped reader failed.
struct CountingReader<R> {
    reader: R,
    bytes: u64,
    failed: bool,
}

impl<R: BufRead> CountingReader<R> {
    /// Skips zeros, and returns the byte after the zeros, if any.
    fn skip_zeros(&mut self) -> Result<Option<u8>> {
        loop {
            let bytes = self.fill_buf()?;
            let (found, next) = (bytes.len(), bytes.iter().position(|byte| *byte != 0));
            let byte = next.map(|at| bytes[at]);
            self.consume(next.unwrap_or(found));
            if byte.is_some() || found == 0 {
                return Ok(byte);
            }
        }
    }
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let filled = self.reader.fill_buf();
        self.failed = filled.is_err();
        filled
    }

    fn consume(&mut self, count: usize) {
        self.bytes += count as u64;
        self.reader.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut deflater = deflater(Vec::new());
        deflater.write_all(text).unwrap();
        deflater.finish().unwrap()
    }

    /// A second read after the end of a decoder would continue with the next member.
    #[test]
    fn after_a_wrong_checksum_there_is_nothing_more_to_read() {
        let mut bytes = member(b"first");
        let checksum = bytes.len() - 8;
        bytes[checksum] ^= 1;
        bytes.extend(member(b"second"));
        let options = ReadOptions::default();
        let (mut inflater, mut text) = (Inflater::new(&bytes[..], 0, &options), Vec::new());
        assert!(inflater.read_to_end(&mut text).is_err());
        assert_eq!(text, b"first");
        for _ in 0..3 {
            assert_eq!(inflater.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
