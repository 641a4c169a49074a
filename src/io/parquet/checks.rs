//! Checksums of all bytes except the values: of the header of each page, of the lists of pages, and of the footer.
//!
//! Parquet has a CRC-32 of the bytes of a page, and no other checksum. lacuna adds more checksums in field 32767 of a
//! structure, which the format reserves for extensions. Other readers skip this field:
//!
//! - in the header of a page: [`MARK`], and the CRC-32 of all bytes of the header before that number;
//! - in the footer: [`MARK`]; for each column of each row group the CRC-32 of its column index and of its offset index,
//!   0 for a missing list; the CRC-32 of all bytes of the footer before that number.
//!
//! Each number has eight hexadecimal digits, because some readers decode the bytes of a skipped field as UTF-8. Only
//! the end of the structure follows.

use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page};
use parquet::errors::{ParquetError, Result as Written};

use super::thrift::{Thrift, ThriftWriter};

/// The number of the field for extensions of a structure.
pub(super) const EXTENSION: i64 = 32767;

/// The first bytes of an extension of lacuna.
const MARK: &[u8; 6] = b"lacuna";

/// The number of digits of a checksum.
const DIGITS: usize = 8;

/// The error message for a footer that differs from the footer that was written.
pub(super) const DAMAGED: &str = "its checksum does not match its bytes; the file is damaged";

/// Returns the CRC-32 of bytes, as in gzip and Parquet.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Returns a checksum in hexadecimal digits.
pub(super) fn digits(crc: u32) -> String {
    format!("{crc:08x}")
}

/// Parses a checksum from hexadecimal digits in lower case.
fn number(digits: &[u8]) -> Option<u32> {
    let digit = |&digit: &u8| (digit as char).to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    digits.iter().map(digit).try_fold(0, |number: u32, digit| Some(number << 4 | digit?))
}

/// A checksum of the preceding bytes of a structure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    /// The bytes between the mark and the checksum.
    recorded: &'a [u8],
    /// The checksum; `None` if its bytes are not digits.
    crc: Option<u32>,
    end: usize,
}

impl<'a> Check<'a> {
    /// Reads an extension; the inner option is `None` for an extension of another program.
    #[allow(clippy::option_option)]
    pub(super) fn read(thrift: &mut Thrift<'a>) -> Option<Option<Check<'a>>> {
        let own = thrift.binary()?.strip_prefix(MARK).and_then(|rest| rest.split_last_chunk::<DIGITS>());
        let end = thrift.at();
        Some(own.map(|(recorded, digits)| Check { recorded, crc: number(digits), end }))
    }

    /// Returns whether the checksum matches a structure, and is the last field of the structure.
    pub(super) fn holds(&self, structure: &[u8]) -> bool {
        self.end + 1 == structure.len() && Some(crc(&structure[..self.end - DIGITS])) == self.crc
    }

    /// Returns the checksums of the lists of `chunks` column chunks, two per column chunk.
    pub(super) fn of_lists(&self, chunks: usize) -> Option<Vec<[u32; 2]>> {
        let (pairs, rest) = self.recorded.as_chunks::<{ 2 * DIGITS }>();
        (pairs.len() == chunks && rest.is_empty()).then_some(())?;
        pairs.iter().map(|pair| Some([number(&pair[..DIGITS])?, number(&pair[DIGITS..])?])).collect()
    }
}

/// Ends a structure with the bytes `recorded` and a checksum of all preceding bytes.
pub(super) fn checked(structure: ThriftWriter, recorded: &[u8]) -> Vec<u8> {
    let mut structure = structure;
    structure.binary(EXTENSION, &[&MARK[..], recorded, &[0; DIGITS]].concat());
    let before = structure.0.len() - DIGITS;
    let digits = digits(crc(&structure.0[..before]));
    structure.0[before..].copy_from_slice(digits.as_bytes());
    structure.end();
    structure.0
}

/// Returns the header of a page of values.
pub(super) fn page_header(page: &CompressedPage) -> Written<Vec<u8>> {
    let encoding = match (page.compressed_page(), page.encoding()) {
        (Page::DataPage { .. }, Encoding::PLAIN) => 0,
        (Page::DataPage { .. }, Encoding::RLE) => 3,
        (Page::DataPage { .. }, Encoding::DELTA_BINARY_PACKED) => 5,
        _ => return Err(ParquetError::General("a page of another kind than requested".into())),
    };
    let length = |bytes: usize| i32::try_from(bytes).map(i64::from);
    let too_long = |_| ParquetError::General("a page is longer than 2 GiB".into());
    let (inflated, bytes) = (length(page.uncompressed_size()), length(page.compressed_size()));
    let (inflated, bytes) = (inflated.map_err(too_long)?, bytes.map_err(too_long)?);
    let mut output = ThriftWriter::default();
    // The page type 0 is a page of values.
    output.integers(&[0, inflated, bytes, i64::from(crc(page.data()) as i32)]);
    output.begin_struct();
    // No value is null, so the page does not have levels; the encoding of levels would be RLE (3).
    output.integers(&[i64::from(page.num_values()), encoding, 3, 3]);
    output.end();
    Ok(checked(output, &[]))
}
