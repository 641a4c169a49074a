//! The footer: columns, row groups, the positions of their pages, and texts by key. All facts in the footer are
//! compared with the file before they are trusted.

use std::io::{Read, SeekFrom};

use super::checks::{self, Check, EXTENSION};
use super::thrift::{Thrift, Wire};
use crate::base::alloc::{self, AllocError};
use crate::base::error::{Error, Result};
use crate::io::seekable::ReadSeek;

/// The bytes at the beginning and at the end of a file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// The maximum number of columns of a table.
const MAX_COLUMNS: usize = 1 << 16;

/// The maximum nesting depth of structures.
const DEEPEST: usize = 64;

/// The bytes that the names of all columns may have together.
const MAX_NAMED: usize = 4 << 20;

/// The storage type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Float,
    Double,
    /// Values of the given number of bytes.
    Bytes(u64),
    /// A type that is not numeric, by name.
    Other(&'static str),
}

impl Physical {
    fn of(number: i64, length: u64) -> Physical {
        match number {
            0 => Physical::Boolean,
            1 => Physical::Int32,
            2 => Physical::Int64,
            3 => Physical::Other("INT96"),
            4 => Physical::Float,
            5 => Physical::Double,
            6 => Physical::Other("BYTE_ARRAY"),
            7 => Physical::Bytes(length),
            _ => Physical::Other("of an unknown type"),
        }
    }

    /// Returns the bytes of a value; `None` for bits, and for types without a supported width.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Physical::Int32 | Physical::Float => Some(4),
            Physical::Int64 | Physical::Double => Some(8),
            Physical::Bytes(2) => Some(2),
            _ => None,
        }
    }
}

/// The meaning of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The meaning that the storage type implies.
    Plain,
    Integer {
        bits: u8,
        signed: bool,
    },
    Half,
    /// A meaning that is not numeric, by name.
    Other(&'static str),
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// The names from the outermost structure on, separated by points.
    pub(super) name: String,
    pub(super) physical: Physical,
    pub(super) meaning: Meaning,
    /// The definition level of an existing value: 0 if no value can be null.
    pub(super) deepest: u32,
    /// True if a row may have several values.
    pub(super) repeats: bool,
}

/// The position of a list of pages, or of a list of their bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The checksum of the list, if the footer has one.
    pub(super) crc: Option<u32>,
}

/// The pages of a column in a row group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chunk {
    pub(super) codec: i64,
    pub(super) values: u64,
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The position of the first page with values; a dictionary may precede it.
    pub(super) data: u64,
    /// The smallest and the largest value, in the bytes of the file.
    pub(super) bounds: Option<(u64, u64)>,
    /// The lists of pages and of their bounds.
    pub(super) offset_index: Option<List>,
    pub(super) column_index: Option<List>,
    /// True if the pages are in another file.
    is_remote: bool,
}

/// The rows of a row group.
#[derive(Debug, Clone, Default)]
pub(super) struct RowGroup {
    pub(super) rows: u64,
    pub(super) chunks: Vec<Chunk>,
}

/// The facts in the footer.
#[derive(Debug, Clone, Default)]
pub(super) struct Footer {
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    pub(super) groups: Vec<RowGroup>,
    /// True if the footer has a valid checksum; in this case all pages and lists also have checksums.
    pub(super) is_checked: bool,
    keys: Vec<(String, String)>,
}

impl Footer {
    /// Reads the footer of a file of `length` bytes.
    pub(super) fn read(stream: &mut dyn ReadSeek, length: u64) -> Result<Footer> {
        let bytes = footer_bytes(stream, length)?;
        let footer = Footer::parse(&bytes)?;
        footer.check(length)?;
        Ok(footer)
    }

    /// Returns the text of a key.
    pub(super) fn key(&self, name: &str) -> Option<&str> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
    }

    /// Returns the index of the column with the given name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Footer> {
        let (mut footer, mut elements, mut out_of_memory) = (Footer::default(), Vec::new(), None);
        let mut check = None;
        let (mut rows, mut thrift) = (None, Thrift::new(bytes));
        let parsed = thrift.fields(|thrift, number, wire| match (number, wire) {
            (2, Wire::List) => thrift.structs(|thrift| {
                (elements.len() < MAX_COLUMNS).then_some(())?;
                elements.push(SchemaNode::read(thrift)?);
                Some(())
            }),
            (3, Wire::Integer) => thrift.count().map(|count| rows = Some(count)),
            (4, Wire::List) => thrift.structs(|thrift| {
                let group = read_group(thrift, &mut out_of_memory)?;
                alloc::push(&mut footer.groups, group).map_err(|error| out_of_memory = Some(error)).ok()
            }),
            (5, Wire::List) => thrift.structs(|thrift| {
                footer.keys.extend(read_key(thrift)?);
                Some(())
            }),
            (EXTENSION, Wire::Binary) => Check::read(thrift).map(|found| check = found),
            _ => Some(()),
        });
        if let Some(error) = out_of_memory {
            return Err(error.into());
        }
        let (Some(()), Some(rows)) = (parsed, rows) else {
            return Err(rejection(format!("byte {} of {} is not valid Parquet metadata", thrift.at(), bytes.len())));
        };
        check.map_or(Ok(()), |check| footer.compare(&check, bytes))?;
        let columns = flatten(&elements).ok_or_else(|| rejection("its schema is not a tree of columns"))?;
        Ok(Footer { columns, rows, ..footer })
    }

    /// Compares the bytes of the footer with its checksum, and stores the checksums of the lists.
    fn compare(&mut self, check: &Check<'_>, bytes: &[u8]) -> Result<()> {
        let chunks = self.groups.iter().map(|group| group.chunks.len()).sum();
        let of_lists = check.of_lists(chunks).filter(|_| check.holds(bytes));
        let of_lists = of_lists.ok_or_else(|| rejection(checks::DAMAGED))?;
        for (chunk, crcs) in self.groups.iter_mut().flat_map(|group| &mut group.chunks).zip(of_lists) {
            for (list, crc) in [&mut chunk.column_index, &mut chunk.offset_index].into_iter().zip(crcs) {
                list.iter_mut().for_each(|list| list.crc = Some(crc));
            }
        }
        self.is_checked = true;
        Ok(())
    }

    /// Compares the footer with itself and the length of the file.
    fn check(&self, length: u64) -> Result<()> {
        let (mut rows, mut bytes) = (0u64, 0u64);
        for (number, group) in self.groups.iter().enumerate() {
            let wrong = |what: String| Err(rejection(format!("row group {number}: {what}")));
            if group.chunks.len() != self.columns.len() {
                return wrong(format!("found {} of {} columns", group.chunks.len(), self.columns.len()));
            }
            for (chunk, column) in group.chunks.iter().zip(&self.columns) {
                if !column.repeats && chunk.values != group.rows {
                    return wrong(format!("{} values for {} rows, {}", chunk.values, group.rows, quoted(&column.name)));
                }
                let inside = chunk.start.checked_add(chunk.bytes).is_some_and(|end| end <= length);
                if !inside || chunk.is_remote {
                    return wrong(format!("the pages of {} are not in the file", quoted(&column.name)));
                }
                // Columns must not share bytes. With shared bytes, a short file could be read as a long file.
                bytes = bytes.saturating_add(chunk.bytes);
                if bytes > length {
                    return wrong(format!("the columns have more bytes than the file ({length})"));
                }
            }
            rows = rows.saturating_add(group.rows);
        }
        match rows == self.rows {
            true => Ok(()),
            false => Err(rejection(format!("{} rows, but its row groups have {rows}", self.rows))),
        }
    }
}

/// Returns a name in quotes, with control characters escaped.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}

/// Returns the error of a footer.
pub(super) fn rejection(message: impl Into<String>) -> Error {
    Error::Format { place: "the footer".into(), message: message.into() }
}

/// Returns the bytes of the footer, which is at the end of the file.
fn footer_bytes(stream: &mut dyn ReadSeek, length: u64) -> Result<Vec<u8>> {
    let Some(end) = length.checked_sub(8).filter(|&end| end >= 4) else {
        return Err(rejection(format!("{length} bytes are too few")));
    };
    let mut tail = [0; 8];
    stream.seek(SeekFrom::Start(end))?;
    stream.read_exact(&mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    match &magic {
        MAGIC => {}
        b"PARE" => return Err(rejection("the file is encrypted")),
        _ => return Err(rejection("the file does not end with PAR1; it is truncated, or not a Parquet file")),
    }
    let claimed = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end.checked_sub(claimed).filter(|&start| start >= 4) else {
        return Err(rejection(format!("its length of {claimed} bytes exceeds the file")));
    };
    stream.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    Read::take(stream, claimed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A node of the schema.
struct SchemaNode {
    name: String,
    children: u64,
    physical: Physical,
    meaning: Meaning,
    repetition: i64,
}

impl SchemaNode {
    fn read(thrift: &mut Thrift<'_>) -> Option<SchemaNode> {
        let (mut kind, mut length, mut converted) = (None, 0, None);
        let mut element = SchemaNode {
            name: String::new(),
            children: 0,
            physical: Physical::Other("a structure"),
            meaning: Meaning::Plain,
            repetition: 0,
        };
        thrift.fields(|thrift, number, wire| {
            match (number, wire) {
                (1, Wire::Integer) => kind = Some(thrift.integer()?),
                (2, Wire::Integer) => length = thrift.count()?,
                (3, Wire::Integer) => element.repetition = thrift.integer()?,
                (4, Wire::Binary) => element.name = text(thrift)?,
                (5, Wire::Integer) => element.children = thrift.count()?,
                (6, Wire::Integer) => converted = Some(thrift.integer()?),
                (10, Wire::Struct) => element.meaning = read_meaning(thrift)?,
                _ => {}
            }
            Some(())
        })?;
        if let Some(kind) = kind {
            element.physical = Physical::of(kind, length);
        }
        if let (Meaning::Plain, Some(converted)) = (element.meaning, converted) {
            element.meaning = of_converted(converted);
        }
        Some(element)
    }
}

fn text(thrift: &mut Thrift<'_>) -> Option<String> {
    thrift.binary().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Reads a union. The number of its only field determines the meaning.
fn read_meaning(thrift: &mut Thrift<'_>) -> Option<Meaning> {
    const NAMES: [&str; 17] = [
        "",
        "STRING",
        "MAP",
        "LIST",
        "ENUM",
        "DECIMAL",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "",
        "INTEGER",
        "null",
        "JSON",
        "BSON",
        "UUID",
        "FLOAT16",
        "VARIANT",
    ];
    let mut meaning = Meaning::Plain;
    thrift.fields(|thrift, number, _| {
        let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number).copied());
        meaning = match name {
            Some("INTEGER") => read_integer(thrift)?,
            Some("FLOAT16") => Meaning::Half,
            Some(name) => Meaning::Other(name),
            None => Meaning::Other("of an unknown logical type"),
        };
        Some(())
    })?;
    Some(meaning)
}

fn read_integer(thrift: &mut Thrift<'_>) -> Option<Meaning> {
    let (mut bits, mut signed) = (0, true);
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (1, Wire::Byte) => bits = thrift.byte()?,
            (2, Wire::False) => signed = false,
            _ => {}
        }
        Some(())
    })?;
    Some(Meaning::Integer { bits, signed })
}

/// Returns the meaning that older writers store as a number.
fn of_converted(number: i64) -> Meaning {
    match number {
        11..=14 => Meaning::Integer { bits: 8 << (number - 11), signed: false },
        15..=18 => Meaning::Integer { bits: 8 << (number - 15), signed: true },
        5 => Meaning::Other("DECIMAL"),
        6 => Meaning::Other("DATE"),
        7..=10 => Meaning::Other("a time"),
        _ => Meaning::Other("not numbers"),
    }
}

fn read_key(thrift: &mut Thrift<'_>) -> Option<Option<(String, String)>> {
    let (mut key, mut value) = (None, None);
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (1, Wire::Binary) => key = thrift.binary().map(Some)?,
            (2, Wire::Binary) => value = thrift.binary().map(Some)?,
            _ => {}
        }
        Some(())
    })?;
    // Other programs store their schemas here; only the keys of lacuna and binsparse are kept.
    let own = key.filter(|key| [&b"lacuna"[..], b"binsparse"].contains(key));
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(own.map(|key| (owned(key), owned(value.unwrap_or_default()))))
}

fn read_group(thrift: &mut Thrift<'_>, out_of_memory: &mut Option<AllocError>) -> Option<RowGroup> {
    let (mut chunks, mut rows) = (Vec::new(), None);
    thrift.fields(|thrift, number, wire| match (number, wire) {
        (1, Wire::List) => thrift.structs(|thrift| {
            let chunk = read_chunk(thrift)?;
            alloc::push(&mut chunks, chunk).map_err(|error| *out_of_memory = Some(error)).ok()
        }),
        (3, Wire::Integer) => thrift.count().map(|count| rows = Some(count)),
        _ => Some(()),
    })?;
    Some(RowGroup { rows: rows?, chunks })
}

fn read_chunk(thrift: &mut Thrift<'_>) -> Option<Chunk> {
    let (mut chunk, mut found) = (Chunk::default(), false);
    let (mut offsets, mut bounds) = ((None, None), (None, None));
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (1, Wire::Binary) => chunk.is_remote = !thrift.binary()?.is_empty(),
            (3, Wire::Struct) => found = read_chunk_metadata(thrift, &mut chunk).map(|()| true)?,
            (4, Wire::Integer) => offsets.0 = Some(thrift.count()?),
            (5, Wire::Integer) => offsets.1 = Some(thrift.count()?),
            (6, Wire::Integer) => bounds.0 = Some(thrift.count()?),
            (7, Wire::Integer) => bounds.1 = Some(thrift.count()?),
            _ => {}
        }
        Some(())
    })?;
    let list = |(start, bytes)| List { start, bytes, crc: None };
    chunk.offset_index = offsets.0.zip(offsets.1).map(list);
    chunk.column_index = bounds.0.zip(bounds.1).map(list);
    found.then_some(chunk)
}

fn read_chunk_metadata(thrift: &mut Thrift<'_>, chunk: &mut Chunk) -> Option<()> {
    let (mut codec, mut values, mut bytes, mut data, mut dictionary) = (None, None, None, None, None);
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (4, Wire::Integer) => codec = Some(thrift.integer()?),
            (5, Wire::Integer) => values = Some(thrift.count()?),
            (7, Wire::Integer) => bytes = Some(thrift.count()?),
            (9, Wire::Integer) => data = Some(thrift.count()?),
            (11, Wire::Integer) => dictionary = Some(thrift.count()?),
            (12, Wire::Struct) => chunk.bounds = read_bounds(thrift)?,
            _ => {}
        }
        Some(())
    })?;
    (chunk.codec, chunk.values, chunk.bytes, chunk.data) = (codec?, values?, bytes?, data?);
    // Some writers declare a dictionary at position 0, which is the beginning of the file.
    chunk.start = dictionary.filter(|&at| at > 0).map_or(chunk.data, |at| at.min(chunk.data));
    Some(())
}

#[allow(clippy::option_option)]
fn read_bounds(thrift: &mut Thrift<'_>) -> Option<Option<(u64, u64)>> {
    let (mut min, mut max) = (None, None);
    thrift.fields(|thrift, number, wire| {
        match (number, wire) {
            (5, Wire::Binary) => max = raw(thrift.binary()?),
            (6, Wire::Binary) => min = raw(thrift.binary()?),
            _ => {}
        }
        Some(())
    })?;
    Some(min.zip(max))
}

/// Returns the bits of a value of at most eight bytes.
pub(super) fn raw(bytes: &[u8]) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

/// Returns the columns of a tree that is stored as a list, each node before its children.
fn flatten(elements: &[SchemaNode]) -> Option<Vec<Column>> {
    let (root, rest) = elements.split_first()?;
    let mut columns = Vec::new();
    // The open structures: the number of remaining children, the length of the name, and the levels.
    let mut open = vec![(root.children, 0, 0, false)];
    let (mut name, mut named) = (String::new(), 0);
    for element in rest {
        while open.last()?.0 == 0 {
            open.pop();
        }
        let (left, length, deepest, repeats) = open.last_mut()?;
        *left -= 1;
        name.truncate(*length);
        let (deepest, repeats) = (*deepest + u32::from(element.repetition != 0), *repeats || element.repetition == 2);
        if *length > 0 {
            name.push('.');
        }
        name.push_str(&element.name);
        // The name of a structure is part of the names of all its columns.
        named += name.len();
        (open.len() < DEEPEST && named < MAX_NAMED).then_some(())?;
        if element.children > 0 {
            open.push((element.children, name.len(), deepest, repeats));
        } else {
            let SchemaNode { physical, meaning, .. } = *element;
            columns.push(Column { name: name.clone(), physical, meaning, deepest, repeats });
        }
    }
    open.iter().all(|&(left, ..)| left == 0).then_some(columns)
}
