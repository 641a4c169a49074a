//! An archive as a list of arrays. Members are read by name, with one limit for all members together.

use std::any::Any;
use std::io::{BufReader, Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use super::directory;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::limit::guard;
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::no_such;
use crate::element::{DType, Element, Number};
use crate::io::element::FileElement;
use crate::io::fields::quote;
use crate::io::limits::BLOCK;
use crate::io::npy::{BinarySource, Header, NpyType, push_up_to};
use crate::io::options::{EntryOrder, ReadOptions};
use crate::io::seekable::ReadSeek;
use crate::pattern::AxisCoords;
use crate::pattern::CoordLists;

/// The advice for an archive above its limit.
const TRUSTED: &str = "raise --max-memory (ReadOptions::max_memory) if you trust the file";

/// Returns the error of a member.
pub(super) fn at_member(name: &str, message: impl Into<String>) -> Error {
    Error::Format { place: format!("member {name}.npy"), message: message.into() }
}

/// The buffer size for the comparison of names, which reads only a few bytes per position.
const FEW: usize = 512;

/// An archive whose members together may inflate to `limit` bytes.
pub(super) struct Archive<'r> {
    zip: ZipArchive<BufReader<&'r mut dyn ReadSeek>>,
    limit: u64,
    /// The length of the archive.
    bytes: u64,
    pub(super) inflated: u64,
    /// The bytes of the archive that are in memory.
    held: u64,
    /// The bytes of indices that are wider in memory than in the file.
    widened: u64,
}

/// A member that is being read. Its inflated bytes are counted. The zip crate reads at most the declared size of the
/// member.
struct MemberReader<'a, R> {
    reader: R,
    inflated: &'a mut u64,
}

impl<R: Read> Read for MemberReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        *self.inflated += count as u64;
        Ok(count)
    }
}

impl<'r> Archive<'r> {
    pub(super) fn open(reader: &'r mut dyn ReadSeek, held: u64, options: &ReadOptions) -> Result<Self> {
        let bytes = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let mut zip = open(BufReader::with_capacity(FEW, reader))?;
        let (start, has_repeated, names) = (zip.central_directory_start(), zip.has_duplicate_names(), names(&mut zip));
        let mut reader = zip.into_inner();
        if has_repeated {
            let name = directory::repeated_name(&mut reader, start)?.unwrap_or_default();
            return Err(rejection(format!("two members have the same name, `{}`", quote(&name))));
        }
        directory::check_names(&mut reader, names)?;
        let zip = open(BufReader::with_capacity(BLOCK, reader.into_inner()))?;
        Ok(Archive { zip, limit: options.inflated_limit(bytes), bytes, inflated: 0, held, widened: 0 })
    }

    /// Rejects entries if the coordinates and their sorting take more memory than the bytes read allow.
    pub(super) fn guard_entries<T>(&self, count: usize, shape: &Shape, options: &ReadOptions) -> Result<()> {
        let coords = shape.rank() * Width::of_lengths(shape).bytes();
        options.guard_entries::<T>(count, coords, EntryOrder::Any, options.tensor_budget(self.inflated, self.held))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Reads one member: its header, then its data with `read`.
    fn member<U>(&mut self, name: &str, read: impl FnOnce(&mut BinarySource<'_>, &Header) -> Result<U>) -> Result<U> {
        let (mut read, mut found) = (Some(read), None);
        self.with_member(name, &mut |source, header| {
            if let Some(read) = read.take() {
                found = Some(read(source, header)?);
            }
            Ok(())
        })?;
        Ok(found.expect("a member is read"))
    }

    /// Reads one member. The function is not generic, so it is compiled only once.
    fn with_member(
        &mut self,
        name: &str,
        read: &mut dyn FnMut(&mut BinarySource<'_>, &Header) -> Result<()>,
    ) -> Result<()> {
        let file = self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => at_member(name, "is missing"),
            error => at_member(name, error.to_string()),
        })?;
        let bytes = self.inflated.saturating_add(file.size());
        guard::<u8>("the inflated archive", bytes.into(), self.limit, TRUSTED)?;
        // If a member is longer than the archive, it is compressed or its declared size is wrong.
        let expected = file.size().min(self.bytes);
        let mut counted = MemberReader { reader: file, inflated: &mut self.inflated };
        let mut source = BinarySource::new(&mut counted, format!("member {name}.npy")).expecting(expected);
        let header = Header::read(&mut source)?;
        read(&mut source, &header)
    }

    /// Returns the elements of a one-dimensional member.
    pub(super) fn values<T: FileElement>(&mut self, name: &str) -> Result<Vec<T>> {
        self.member(name, |source, header| {
            if header.shape.rank() != 1 {
                return Err(source.error("field shape", format!("{} is not of rank 1", header.shape)));
            }
            let count = header.count(source)?;
            let mut values = alloc::with_capacity(source.expected_of::<T>(count))?;
            source.for_each(count, header.big_endian, |value| Ok(push_up_to(&mut values, value, count)?))?;
            source.end()?;
            Ok(values)
        })
    }

    /// Returns the non-negative integers of a member, in lists of at least this width. `rows` returns the number of
    /// lists for the shape of the member.
    pub(super) fn counts(
        &mut self,
        name: &str,
        width: Width,
        rows: impl FnOnce(&Shape) -> Result<usize>,
    ) -> Result<CoordLists> {
        let (limit, before) = (self.limit, self.widened);
        let (counts, widened) = self.member(name, |source, header| {
            let dtype = header.dtype(source)?;
            let rows = rows(&header.shape)?;
            let count = header.count(source)?;
            let widened = before.saturating_add((count as u64).saturating_mul(width.bytes() as u64));
            guard::<u8>("the indices of the archive", widened.into(), limit, TRUSTED)?;
            let counts = dispatch_dtype!(dtype, T => {
                let length = source.expected_of::<T>(count).checked_div(rows).unwrap_or(0);
                read_counts::<T>(source, header, count, CoordLists::with_capacity(rows, width, length)?)
            }, else => Err(no_such(dtype)))?;
            source.end()?;
            Ok((counts, widened))
        })?;
        self.widened = widened;
        Ok(counts)
    }

    /// Returns the non-negative integers of a one-dimensional member.
    pub(super) fn list(&mut self, name: &str, width: Width) -> Result<AxisCoords> {
        let counts = self.counts(name, width, |shape| match shape.rank() {
            1 => Ok(1),
            _ => Err(at_member(name, format!("its shape {shape} is not of rank 1"))),
        })?;
        Ok(counts.into_coords().into_iter().next().unwrap_or(AxisCoords::empty(width)))
    }

    /// Returns the non-negative integers of a one-dimensional member as `u64`.
    pub(super) fn numbers(&mut self, name: &str) -> Result<Vec<u64>> {
        Ok(self.list(name, Width::U64)?.into_vec()?)
    }

    /// Returns the element type of the data, and the number of elements that its header declares.
    pub(super) fn data(&mut self) -> Result<(DType, usize)> {
        self.member("data", |source, header| Ok((header.dtype(source)?, header.count(source)?)))
    }

    /// Returns the name of the layout in lower case, from the member `format`, otherwise from the names of other
    /// members.
    pub(super) fn layout(&mut self) -> Result<Vec<u8>> {
        if self.has("format") {
            return self.text("format");
        }
        let markers = [("coords", "coo"), ("row", "coo"), ("compressed_axes", "gcxs")];
        match markers.into_iter().find(|(member, _)| self.has(member)) {
            Some((_, layout)) => Ok(layout.into()),
            None => {
                let names: Vec<String> = self.zip.file_names_raw().take(8).map(quote).collect();
                let message = "is missing, and no other member shows the layout; the first members are";
                Err(at_member("format", format!("{message} [{}]", names.join(", "))))
            }
        }
    }

    /// Reads a short text.
    fn text(&mut self, name: &str) -> Result<Vec<u8>> {
        self.member(name, |source, header| {
            let (width, size) = match header.kind {
                NpyType::Bytes(count) => (1, count),
                NpyType::Unicode(count) => (4, count),
                NpyType::Number(dtype) => {
                    return Err(source.error("field descr", format!("{dtype} is not a string type")));
                }
            };
            if header.shape.saturating_size() != 1 || size > 16 {
                return Err(source.error("field shape", "is not one short string"));
            }
            let mut bytes = Vec::new();
            source.for_each::<u8>(width * size, false, |byte| {
                bytes.push(byte);
                Ok(())
            })?;
            source.end()?;
            let text = match header.kind {
                NpyType::Unicode(_) => {
                    utf8(&bytes, header.big_endian).ok_or_else(|| source.error("data", "is not text"))?
                }
                _ => bytes,
            };
            // numpy pads strings with zeros.
            let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            Ok(text[..end].to_ascii_lowercase())
        })
    }

    /// Returns the fill, if the archive has a fill.
    pub(super) fn fill(&mut self) -> Result<Option<ArchiveFill>> {
        if !self.has("fill_value") {
            return Ok(None);
        }
        self.member("fill_value", |source, header| {
            let dtype = header.dtype(source)?;
            if header.shape.saturating_size() != 1 {
                return Err(source.error("field shape", format!("{} is not one value", header.shape)));
            }
            dispatch_dtype!(dtype, T => {
                let mut fill = T::ZERO;
                source.for_each::<T>(1, header.big_endian, |value| {
                    fill = value;
                    Ok(())
                })?;
                source.end()?;
                Ok(Some(ArchiveFill { number: fill.to_number(), exact: Box::new(fill) }))
            }, else => Err(no_such(dtype)))
        })
    }
}

/// Returns an error of the archive.
pub(super) fn rejection(message: String) -> Error {
    Error::Format { place: "the archive".into(), message }
}

fn open<R: Read + Seek>(reader: R) -> Result<ZipArchive<R>> {
    ZipArchive::new(reader).map_err(|error| match error {
        ZipError::Io(error) => Error::from(error),
        error => rejection(error.to_string()),
    })
}

/// Returns the names of the members in the directory, and the positions of their own headers. A member whose header
/// cannot be read is skipped here, and is rejected when it is read.
fn names(zip: &mut ZipArchive<impl Read + Seek>) -> Vec<(u64, Vec<u8>)> {
    let count = zip.len();
    let own = |at| zip.by_index_raw(at).ok().map(|member| (member.header_start(), member.name_raw().to_vec()));
    (0..count).filter_map(own).collect()
}

/// Reads non-negative integers into lists of equal length.
fn read_counts<T: FileElement>(
    source: &mut BinarySource<'_>,
    header: &Header,
    count: usize,
    mut counts: CoordLists,
) -> Result<CoordLists> {
    check_integers::<T>(source, count)?;
    let rows = counts.rank();
    let length = count.checked_div(rows).unwrap_or(0);
    let (mut read, mut row) = (0, 0);
    let mut negative = None;
    source.for_each::<T>(count, header.big_endian, |value| {
        let value = value.to_integer().unwrap_or(-1);
        if value < 0 && negative.is_none() {
            negative = Some((read, value));
        }
        counts.push_up_to(row, usize::try_from(value).unwrap_or(0), length)?;
        read += 1;
        row = match header.fortran_order {
            true => (row + 1) % rows,
            false => row + usize::from(counts.len(row) == length),
        };
        Ok(())
    })?;
    let rejection = |(at, value)| Err(source.error(&format!("element {at}"), format!("{value} is negative")));
    negative.map_or(Ok(counts), rejection)
}

/// Rejects elements that are not integers. Empty lists may have any type: numpy writes the shape of a scalar as an
/// array of float64 without elements.
fn check_integers<T: FileElement>(source: &BinarySource<'_>, count: usize) -> Result<()> {
    match count > 0 && (T::ZERO.to_integer().is_none() || T::DTYPE == DType::Bool) {
        true => Err(source.error("field descr", format!("{} is not an integer type", T::DTYPE))),
        false => Ok(()),
    }
}

/// Converts code points of four bytes each to UTF-8.
fn utf8(bytes: &[u8], big_endian: bool) -> Option<Vec<u8>> {
    let point = |bytes: &[u8]| u32::from_bytes(bytes, big_endian).and_then(char::from_u32);
    bytes.chunks(4).map(point).collect::<Option<String>>().map(String::into_bytes)
}

/// The fill of an archive, whose type may differ from the type of the data.
pub(super) struct ArchiveFill {
    pub(super) number: Number,
    /// The element itself: a [`Number`] keeps the bits of a NaN only for `f64`.
    exact: Box<dyn Any>,
}

impl ArchiveFill {
    /// Returns the fill in the type of the data.
    pub(super) fn typed<T: FileElement>(&self) -> Result<T> {
        let rejection =
            || at_member("fill_value", format!("{} does not fit the data's type, {}", self.number, T::DTYPE));
        self.exact.downcast_ref().copied().or_else(|| T::from_number(self.number)).ok_or_else(rejection)
    }
}
