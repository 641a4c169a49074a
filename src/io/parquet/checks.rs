//! Checksums of what lies around the values: of the header of each page, of the lists of pages, and of the footer.
//!
//! Parquet has a CRC-32 of the bytes of a page, and none of anything else. Each of the others stands in field 32767 of
//! its structure, which the format reserves for extensions and other readers skip:
//!
//! - of the header of a page: [`MARK`], and the CRC-32 of all bytes of the header before that number;
//! - of the footer: [`MARK`]; for each column of each row group the CRC-32 of its column index and of its offset index, 0
//!   for a list that is not there; the CRC-32 of all bytes of the footer before that number.
//!
//! Each number is eight hexadecimal digits: some readers take the bytes of a field that they skip for UTF-8. Nothing but the
//! end of the structure follows.

use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page};
use parquet::errors::{ParquetError, Result as Written};

use super::thrift::{Output, Thrift};

/// The number of the field that structures have for extensions.
pub(super) const EXTENSION: i64 = 32767;

/// The first bytes of an extension of lacuna.
const MARK: &[u8; 6] = b"lacuna";

/// The digits of a checksum.
const DIGITS: usize = 8;

/// The error of a footer that is not the one that was written.
pub(super) const DAMAGED: &str = "its checksum is not that of its bytes: some byte is damaged";

/// The CRC-32 that gzip and Parquet have.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// A checksum as it is written.
pub(super) fn digits(crc: u32) -> String {
    format!("{crc:08x}")
}

/// The checksum that these digits are, in lower case as they are written.
fn number(digits: &[u8]) -> Option<u32> {
    let digit = |&digit: &u8| (digit as char).to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    digits.iter().map(digit).try_fold(0, |number: u32, digit| Some(number << 4 | digit?))
}

/// A checksum of the bytes of a structure before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    /// The bytes between the mark and the checksum.
    said: &'a [u8],
    /// None of bytes that are no digits.
    crc: Option<u32>,
    end: usize,
}

impl<'a> Check<'a> {
    /// Reads an extension; none where it is another program's.
    #[allow(clippy::option_option)]
    pub(super) fn read(thrift: &mut Thrift<'a>) -> Option<Option<Check<'a>>> {
        let ours = thrift.binary()?.strip_prefix(MARK).and_then(|rest| rest.split_last_chunk::<DIGITS>());
        let end = thrift.at();
        Some(ours.map(|(said, digits)| Check { said, crc: number(digits), end }))
    }

    /// Whether it is that of this structure, which it is the last field of.
    pub(super) fn holds(&self, structure: &[u8]) -> bool {
        self.end + 1 == structure.len() && Some(crc(&structure[..self.end - DIGITS])) == self.crc
    }

    /// The checksums of the lists of so many chunks, two each.
    pub(super) fn of_lists(&self, chunks: usize) -> Option<Vec<[u32; 2]>> {
        let (pairs, rest) = self.said.as_chunks::<{ 2 * DIGITS }>();
        (pairs.len() == chunks && rest.is_empty()).then_some(())?;
        pairs.iter().map(|pair| Some([number(&pair[..DIGITS])?, number(&pair[DIGITS..])?])).collect()
    }
}

/// Ends a structure with what is `said` and a checksum of all before it.
pub(super) fn checked(structure: Output, said: &[u8]) -> Vec<u8> {
    let mut structure = structure;
    structure.binary(EXTENSION, &[&MARK[..], said, &[0; DIGITS]].concat());
    let before = structure.0.len() - DIGITS;
    let digits = digits(crc(&structure.0[..before]));
    structure.0[before..].copy_from_slice(digits.as_bytes());
    structure.end();
    structure.0
}

/// The header of a page of values.
pub(super) fn page_header(page: &CompressedPage) -> Written<Vec<u8>> {
    let encoding = match (page.compressed_page(), page.encoding()) {
        (Page::DataPage { .. }, Encoding::PLAIN) => 0,
        (Page::DataPage { .. }, Encoding::RLE) => 3,
        (Page::DataPage { .. }, Encoding::DELTA_BINARY_PACKED) => 5,
        _ => return Err(ParquetError::General("a page of another kind than were asked for".into())),
    };
    let length = |bytes: usize| i32::try_from(bytes).map(i64::from);
    let too_long = |_| ParquetError::General("a page is longer than 2 GiB".into());
    let (inflated, bytes) = (length(page.uncompressed_size()), length(page.compressed_size()));
    let (inflated, bytes) = (inflated.map_err(too_long)?, bytes.map_err(too_long)?);
    let mut output = Output::default();
    // The kind of pages with values is 0.
    output.integers(&[0, inflated, bytes, i64::from(crc(page.data()) as i32)]);
    output.begin_struct();
    // No value can be missing: there are no levels, which runs (3) would hold.
    output.integers(&[i64::from(page.num_values()), encoding, 3, 3]);
    output.end();
    Ok(checked(output, &[]))
}
