//! Pages: their headers, their inflated bytes, and their values.

use std::io::Read;
use std::ops::Range;

use super::checks::{Check, DAMAGED, EXTENSION, crc};
use super::decode;
use super::footer::{Column, Physical};
use super::thrift::{Thrift, Wire};
use crate::base::alloc;
use crate::base::error::{Error, Result};

/// A page, and the rows in it.
#[derive(Debug, Clone)]
pub(super) struct PageRows {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) rows: Range<usize>,
}

/// The number of bytes to which any page may inflate, and the additional bytes per byte of the page.
const FLOOR: u64 = 16 << 20;
const RATIO: u64 = 64;

/// The kinds of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Values,
    Dictionary,
    /// Like [`PageKind::Values`], with levels that are not compressed.
    Levelled,
    /// An index page, or an unknown page.
    Other,
}

/// The header of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageHeader {
    kind: PageKind,
    inflated: u64,
    /// The number of bytes after the header.
    pub(super) bytes: u64,
    pub(super) values: u64,
    encoding: i64,
    nulls: u64,
    /// The bytes of the levels before the values of a [`PageKind::Levelled`] page.
    levels: (u64, u64),
    is_compressed: bool,
    /// The checksum of the bytes after the header.
    crc: Option<u32>,
    /// True if the header matches its own checksum; `None` if it does not have a checksum.
    holds: Option<bool>,
}

impl PageHeader {
    /// Reads a header, and returns it with its number of bytes.
    pub(super) fn read(bytes: &[u8]) -> Option<(PageHeader, usize)> {
        let mut thrift = Thrift::new(bytes);
        let (mut kind, mut inflated, mut length, mut page) = (None, None, None, None);
        let (mut crc, mut check) = (None, None);
        thrift.fields(|thrift, number, wire| {
            match (number, wire) {
                (1, Wire::Integer) => kind = Some(thrift.integer()?),
                (2, Wire::Integer) => inflated = Some(thrift.count()?),
                (3, Wire::Integer) => length = Some(thrift.count()?),
                (4, Wire::Integer) => crc = Some(thrift.integer()? as u32),
                (5, Wire::Struct) => page = Some(read_details(thrift, PageKind::Values)?),
                (7, Wire::Struct) => page = Some(read_details(thrift, PageKind::Dictionary)?),
                (8, Wire::Struct) => page = Some(read_details(thrift, PageKind::Levelled)?),
                (EXTENSION, Wire::Binary) => check = Check::read(thrift)?,
                _ => {}
            }
            Some(())
        })?;
        let mut header = page.unwrap_or(PageHeader::of(PageKind::Other));
        (header.inflated, header.bytes) = (inflated?, length?);
        (header.crc, header.holds) = (crc, check.map(|check| check.holds(&bytes[..thrift.at()])));
        let same =
            matches!((kind?, header.kind), (0, PageKind::Values) | (2, PageKind::Dictionary) | (3, PageKind::Levelled));
        if !same {
            header.kind = PageKind::Other;
        }
        Some((header, thrift.at()))
    }

    fn of(kind: PageKind) -> PageHeader {
        let (inflated, bytes, values, encoding, nulls, levels) = (0, 0, 0, -1, 0, (0, 0));
        let (is_compressed, crc, holds) = (true, None, None);
        PageHeader { kind, inflated, bytes, values, encoding, nulls, levels, is_compressed, crc, holds }
    }

    pub(super) fn is_dictionary(&self) -> bool {
        self.kind == PageKind::Dictionary
    }

    /// Returns the bytes of the levels before the compressed bytes.
    fn levels_bytes(&self) -> u64 {
        if self.kind == PageKind::Levelled { self.levels.0.saturating_add(self.levels.1) } else { 0 }
    }

    /// Returns the number of values; 0 for a page without values.
    pub(super) fn data_values(&self) -> u64 {
        if matches!(self.kind, PageKind::Values | PageKind::Levelled) { self.values } else { 0 }
    }
}

fn read_details(thrift: &mut Thrift<'_>, kind: PageKind) -> Option<PageHeader> {
    let mut page = PageHeader::of(kind);
    let levelled = kind == PageKind::Levelled;
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (1, Wire::Integer) => page.values = thrift.count()?,
            (2, Wire::Integer) if levelled => page.nulls = thrift.count()?,
            (4, Wire::Integer) if levelled => page.encoding = thrift.integer()?,
            (2, Wire::Integer) => page.encoding = thrift.integer()?,
            (5, Wire::Integer) if levelled => page.levels.0 = thrift.count()?,
            (6, Wire::Integer) if levelled => page.levels.1 = thrift.count()?,
            (7, Wire::False) if levelled => page.is_compressed = false,
            _ => {}
        }
        Some(())
    })?;
    Some(page)
}

/// The buffers that a page is read into. The buffers are reused for the next pages, because writing to new memory is
/// expensive.
#[derive(Default)]
pub(super) struct PageBuffers {
    inflated: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    pub(super) values: Vec<u64>,
}

impl PageBuffers {
    /// Returns whether the buffers have the size of usual pages.
    pub(super) fn is_small(&self) -> bool {
        self.inflated.capacity() <= 1 << 20 && self.values.capacity() <= 1 << 17
    }
}

/// Pages of a column in one row group.
pub(super) struct Pages<'c> {
    pub(super) column: &'c Column,
    /// The location of the pages, for errors.
    pub(super) place: String,
    pub(super) codec: i64,
    /// True if each header has a checksum; `None` if this is unknown.
    pub(super) are_checked: Option<bool>,
}

impl Pages<'_> {
    /// Rejects a header that differs from the header that was written.
    pub(super) fn check_header(&self, header: &PageHeader) -> Result<()> {
        let is_whole = match (self.are_checked, header.holds) {
            (Some(true), holds) => holds == Some(true) && header.crc.is_some(),
            (_, None) => true,
            // If headers have checksums but the footer does not, the footer is damaged.
            (are_checked, Some(holds)) => holds && are_checked.is_none(),
        };
        if is_whole { Ok(()) } else { Err(self.rejection(format!("the header of a page: {DAMAGED}"))) }
    }

    /// Reads the values of a page, or of a dictionary, into `room`; `body` has the bytes after the header.
    pub(super) fn read(
        &self,
        header: &PageHeader,
        body: &[u8],
        dictionary: Option<&[u64]>,
        room: &mut PageBuffers,
    ) -> Result<()> {
        if header.crc.is_some_and(|recorded| recorded != crc(body)) {
            return Err(self.rejection(format!("a page: {DAMAGED}")));
        }
        let levels = header.levels_bytes();
        let split = usize::try_from(levels).ok().and_then(|levels| body.split_at_checked(levels));
        let Some((levels, body)) = split else { return Err(self.rejection("its levels are longer than the page")) };
        let PageBuffers { inflated, zstd, values } = room;
        values.clear();
        let inflated = self.inflate(header, body, inflated, zstd)?;
        match header.kind {
            PageKind::Dictionary => self.read_dictionary(header, inflated, values),
            PageKind::Values => self.read_values(header, self.without_levels(header, inflated)?, dictionary, values),
            PageKind::Levelled => {
                self.check_levels(header, levels)?;
                self.read_values(header, inflated, dictionary, values)
            }
            PageKind::Other => Ok(()),
        }
    }

    /// Returns the number of inflated bytes of a page, as its header declares.
    pub(super) fn inflated_bytes(&self, header: &PageHeader) -> u64 {
        if self.codec == 0 || !header.is_compressed { header.bytes } else { header.inflated }
    }

    /// Returns the error of a page.
    pub(super) fn rejection(&self, message: impl Into<String>) -> Error {
        Error::Format { place: self.place.clone(), message: message.into() }
    }

    fn inflate<'b>(
        &self,
        header: &PageHeader,
        body: &'b [u8],
        room: &'b mut Vec<u8>,
        zstd: &mut Option<zstd::bulk::Decompressor<'static>>,
    ) -> Result<&'b [u8]> {
        if self.codec == 0 || !header.is_compressed {
            return Ok(body);
        }
        let length = header.inflated.saturating_sub(header.levels_bytes());
        let most = FLOOR.saturating_add(RATIO.saturating_mul(body.len() as u64));
        if length > most {
            let bytes = u128::from(length);
            let instead = "the page is too large for its compressed bytes; the file may be damaged";
            return Err(Error::TooLarge { what: "an inflated page", bytes, limit: most, instead });
        }
        let length = length as usize;
        let found = match self.codec {
            2 => gzip(body, length, room)?,
            1 | 6 | 7 => {
                alloc::reserve(room, length.saturating_sub(room.len()))?;
                room.resize(length, 0);
                inflate_block(self.codec, body, room, zstd)?
            }
            codec => return Err(self.rejection(format!("it is compressed by {}", codec_name(codec)))),
        };
        match found == Some(length) {
            true => Ok(&room[..]),
            false => Err(self.rejection("a page does not inflate to the size in its header")),
        }
    }

    fn read_dictionary(&self, header: &PageHeader, bytes: &[u8], values: &mut Vec<u64>) -> Result<()> {
        let count = usize::try_from(header.values).unwrap_or(usize::MAX);
        // Each value takes at least one bit.
        if count / 8 > bytes.len() || matches!(self.column.physical, Physical::Other(_)) {
            return Err(self.rejection("its dictionary is shorter than stated in its header"));
        }
        alloc::reserve(values, count)?;
        match decode::plain(self.column.physical, bytes, count, values) {
            Some(()) if matches!(header.encoding, 0 | 2) => Ok(()),
            _ => Err(self.rejection("its dictionary is shorter than stated in its header")),
        }
    }

    /// Returns the bytes after the definition levels; rejects a null value.
    fn without_levels<'b>(&self, header: &PageHeader, bytes: &'b [u8]) -> Result<&'b [u8]> {
        if self.column.deepest == 0 {
            return Ok(bytes);
        }
        let split = bytes.split_at_checked(4).and_then(|(length, rest)| {
            let length = u32::from_le_bytes(length.try_into().ok()?);
            rest.split_at_checked(length as usize)
        });
        let Some((levels, rest)) = split else { return Err(self.rejection("the levels of a page are truncated")) };
        self.check_levels(header, levels)?;
        Ok(rest)
    }

    fn check_levels(&self, header: &PageHeader, levels: &[u8]) -> Result<()> {
        let deepest = self.column.deepest;
        if deepest == 0 {
            return Ok(());
        }
        let (width, count) = (32 - deepest.leading_zeros(), header.values as usize);
        let mut missing = header.nulls > 0;
        let levels = decode::runs(levels, width as u8, count, |level, _| missing |= level != u64::from(deepest));
        match (levels, missing) {
            (Some(()), false) => Ok(()),
            (Some(()), true) => Err(self.rejection("a value is missing (null); write the file without such rows")),
            (None, _) => Err(self.rejection("the levels of a page are truncated")),
        }
    }

    /// Reads the values of a page, which are not null. The caller has checked the number of values.
    fn read_values(
        &self,
        header: &PageHeader,
        bytes: &[u8],
        dictionary: Option<&[u64]>,
        values: &mut Vec<u64>,
    ) -> Result<()> {
        let (physical, count) = (self.column.physical, header.values as usize);
        alloc::reserve(values, count)?;
        let decoded = match header.encoding {
            0 => decode::plain(physical, bytes, count, values),
            2 | 8 => look_up(dictionary, bytes, count, values),
            3 if physical == Physical::Boolean => bytes.get(4..).and_then(|bytes| {
                decode::runs(bytes, 1, count, |value, times| values.extend(std::iter::repeat_n(value, times)))
            }),
            5 => decode::differences(physical, bytes, count, values),
            9 => decode::split(physical, bytes, count, values),
            other => return Err(self.rejection(format!("its encoding {other} is unknown"))),
        };
        decoded.ok_or_else(|| self.rejection(format!("a page does not hold the {count} values in its header")))
    }
}

/// Decodes indices into the dictionary, and appends the values.
fn look_up(dictionary: Option<&[u64]>, bytes: &[u8], count: usize, values: &mut Vec<u64>) -> Option<()> {
    let dictionary = dictionary?;
    let Some((&width, bytes)) = bytes.split_first() else { return (count == 0).then_some(()) };
    let mut inside = true;
    decode::runs(bytes, width, count, |number, times| match dictionary.get(number as usize) {
        Some(&value) => values.extend(std::iter::repeat_n(value, times)),
        None => inside = false,
    })?;
    inside.then_some(())
}

fn codec_name(codec: i64) -> String {
    match codec {
        3 => "LZO, which is not supported".into(),
        4 => "Brotli, which is not supported; write the file with zstd".into(),
        5 => "the older LZ4, which is not supported; write the file with zstd".into(),
        other => format!("the unknown codec {other}"),
    }
}

/// Inflates gzip up to `length` bytes, plus one byte that shows excess data. Returns the number of bytes.
fn gzip(body: &[u8], length: usize, inflated: &mut Vec<u8>) -> Result<Option<usize>> {
    inflated.clear();
    let mut reader = flate2::read::MultiGzDecoder::new(body).take(length as u64 + 1);
    match reader.read_to_end(inflated) {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == std::io::ErrorKind::OutOfMemory => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// Inflates a block into `inflated`, and returns the number of inflated bytes.
fn inflate_block(
    codec: i64,
    body: &[u8],
    inflated: &mut [u8],
    zstd: &mut Option<zstd::bulk::Decompressor<'static>>,
) -> Result<Option<usize>> {
    Ok(match codec {
        1 => snap::raw::Decoder::new().decompress(body, inflated).ok(),
        7 => lz4_flex::block::decompress_into(body, inflated).ok(),
        _ => {
            let zstd = match zstd {
                Some(zstd) => zstd,
                None => zstd.insert(zstd::bulk::Decompressor::new()?),
            };
            zstd.decompress_to_buffer(body, inflated).ok()
        }
    })
}
