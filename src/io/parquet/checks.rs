//! Checksums of what lies around the values: of the header of each page, of the lists of pages, and of the footer.
//!
//! Parquet has a CRC-32 of the bytes of a page, and none of anything else. Each of the others stands in field 32767 of
//! its structure, which the format reserves for extensions and other readers skip:
//!
//! - of the header of a page: [`MARK`], and the CRC-32 of all bytes of the header before that number;
//! - of the footer: [`MARK`]; for each column of each row group the CRC-32 of its column index and of its offset index, 0
//!   for a list that is not there; the CRC-32 of all bytes of the footer before that number.
//!
//! Numbers are of 32 bits, the lowest byte first. Nothing but the end of the structure follows.

use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page};
use parquet::errors::{ParquetError, Result as Written};

use super::thrift::{Output, Thrift};

/// The number of the field that structures have for extensions.
pub(super) const EXTENSION: i64 = 32767;

/// The first bytes of an extension of lacuna.
const MARK: &[u8; 6] = b"lacuna";

/// The bytes of a checksum.
const CRC: usize = size_of::<u32>();

/// The error of a footer that is not the one that was written.
pub(super) const DAMAGED: &str = "its checksum is not that of its bytes: some byte is damaged";

/// The CRC-32 that gzip and Parquet have.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// A checksum of the bytes of a structure before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    /// The bytes between the mark and the checksum.
    said: &'a [u8],
    crc: u32,
    end: usize,
}

impl<'a> Check<'a> {
    /// Reads an extension; none where it is another program's.
    #[allow(clippy::option_option)]
    pub(super) fn read(thrift: &mut Thrift<'a>) -> Option<Option<Check<'a>>> {
        let ours = thrift.binary()?.strip_prefix(MARK).and_then(|rest| rest.split_last_chunk());
        let end = thrift.at();
        Some(ours.map(|(said, crc)| Check { said, crc: u32::from_le_bytes(*crc), end }))
    }

    /// Whether it is that of this structure, which it is the last field of.
    pub(super) fn holds(&self, structure: &[u8]) -> bool {
        self.end + 1 == structure.len() && crc(&structure[..self.end - CRC]) == self.crc
    }

    /// The checksums of the lists of so many chunks, two each.
    pub(super) fn of_lists(&self, chunks: usize) -> Option<impl Iterator<Item = [u32; 2]> + 'a> {
        let (pairs, rest) = self.said.as_chunks::<{ 2 * CRC }>();
        (pairs.len() == chunks && rest.is_empty()).then_some(())?;
        Some(pairs.iter().map(|pair| {
            let [a, b, c, d, e, f, g, h] = *pair;
            [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes)
        }))
    }
}

/// Ends a structure with what is `said` and a checksum of all before it.
pub(super) fn checked(structure: Output, said: &[u8]) -> Vec<u8> {
    let mut structure = structure;
    structure.binary(EXTENSION, &[&MARK[..], said, &[0; CRC]].concat());
    let before = structure.0.len() - CRC;
    let crc = crc(&structure.0[..before]).to_le_bytes();
    structure.0[before..].copy_from_slice(&crc);
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
