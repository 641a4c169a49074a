//! The description of a tensor in a table: the texts of the keys `lacuna` and `binsparse`, and the manifest of a
//! folder.

use std::fmt::Write;

use super::json::{self, Json};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::element::{DType, Element};
use crate::io::element::FileElement;
use crate::io::limits::MAX_AXES;
use crate::io::options::ReadOptions;

/// Facts about consecutive entries in row-major order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extent {
    pub(super) entries: u64,
    /// The sum of the [`Hashes`] of all entries, so that the hashes of parts can be added.
    pub(super) hash: u64,
    /// The coordinates of the first and the last entry, if there are entries.
    pub(super) ends: Option<(Vec<u64>, Vec<u64>)>,
}

/// The description of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Description {
    pub(super) shape: Shape,
    /// The element type; `None` if only the columns determine the type.
    pub(super) dtype: Option<DType>,
    /// The bytes of the fill, most significant byte first; `None` if the fill is not declared.
    pub(super) fill: Option<Vec<u8>>,
    pub(super) extent: Option<Extent>,
}

/// Returns the error of a description under a key.
pub(super) fn at_key(key: &str, message: impl Into<String>) -> Error {
    Error::Format { place: format!("key {key}"), message: message.into() }
}

impl Description {
    /// Parses the value of `lacuna`. A checksum is compared only if the value has one.
    pub(super) fn of_lacuna(json: &Json, place: &str) -> Result<Description> {
        let described = Description::of_members(json, place)?;
        match json.get("checksum") {
            Some(recorded) if recorded.text() != Some(&described.checksum()) => Err(at_key(place, DAMAGED)),
            _ => Ok(described),
        }
    }

    /// Parses the members that `lacuna` and a manifest share.
    pub(super) fn of_members(json: &Json, place: &str) -> Result<Description> {
        let header = Description::of_header(json, place)?;
        let extent = Extent::of(json, header.shape.rank(), place)?;
        Ok(Description { extent: Some(extent), ..header })
    }

    /// Parses the shared members, except for the members about the entries.
    pub(super) fn of_header(json: &Json, place: &str) -> Result<Description> {
        let recorded = |name: &str| json.get(name).ok_or_else(|| at_key(place, format!("no {name}")));
        match recorded("version")?.number() {
            Some(1) => {}
            _ => return Err(at_key(place, "its version is not 1; a later version of lacuna wrote it")),
        }
        let shape = shape_of(recorded("shape")?, place)?;
        let dtype = recorded("dtype")?.text().and_then(DType::from_name);
        let dtype = dtype.ok_or_else(|| at_key(place, "its dtype is not an element type"))?;
        let fill = recorded("fill")?.text().and_then(bytes_of);
        let fill = fill.ok_or_else(|| at_key(place, "its fill is not a value in hexadecimal digits"))?;
        Ok(Description { shape, dtype: Some(dtype), fill: Some(fill), extent: None })
    }

    /// Returns the checksum of the description, which does not depend on the layout of its text.
    pub(super) fn checksum(&self) -> String {
        let mut text = String::new();
        self.write_members(&mut text);
        checksum(&text)
    }

    /// Parses the text of `binsparse` in a file of another program.
    pub(super) fn of_binsparse(text: &str) -> Result<Description> {
        let json = parsed(text, "binsparse")?;
        let inner = json.get("binsparse").unwrap_or(&json);
        let shape = inner.get("shape").ok_or_else(|| at_key("binsparse", "no shape"))?;
        let shape = shape_of(shape, "binsparse")?;
        // In binsparse, the value of a fill is a separate array, which a table cannot contain.
        if inner.get("fill") == Some(&Json::Truth(true)) {
            return Err(at_key("binsparse", "it has a fill, but the key `lacuna` with its value is missing"));
        }
        Ok(Description { shape, dtype: None, fill: None, extent: None })
    }

    /// Returns the text of `lacuna`.
    pub(super) fn to_lacuna(&self) -> String {
        let mut text = String::from("{\"version\":1");
        self.write_members(&mut text);
        let _ = write!(text, ",\"checksum\":\"{}\"}}", self.checksum());
        text
    }

    /// Writes the members that `lacuna` and a manifest share.
    pub(super) fn write_members(&self, text: &mut String) {
        let shape = json::list(self.shape.iter().map(|&length| length as u64));
        let dtype = self.dtype.map_or("", DType::name);
        let fill: String = self.fill.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(text, ",\"shape\":{shape},\"dtype\":\"{dtype}\",\"fill\":\"{fill}\"");
        self.extent.iter().for_each(|extent| extent.write_members(text));
    }

    /// Returns the text of `binsparse`: a sparse level of all axes over the elements.
    pub(super) fn to_binsparse(&self) -> String {
        let rank = self.shape.rank();
        let mut types: Vec<String> = (0..rank)
            .map(|axis| {
                let kind = if is_narrow(self.shape[axis]) { "uint32" } else { "uint64" };
                format!("\"indices_{axis}\":\"{kind}\"")
            })
            .collect();
        let name = self.dtype.map_or("", binsparse_type);
        types.push(format!("\"values\":\"{name}\",\"fill_value\":\"{name}\""));
        let level = "{\"level_desc\":\"element\"}";
        let level = match rank {
            0 => level.to_string(),
            _ => format!("{{\"level_desc\":\"sparse\",\"rank\":{rank},\"level\":{level}}}"),
        };
        format!(
            "{{\"binsparse\":{{\"version\":\"0.1\",\"format\":{{\"custom\":{{\"level\":{level}}}}},\"shape\":{},\
             \"number_of_stored_values\":{},\"data_types\":{{{}}},\"fill\":true}}}}",
            json::list(self.shape.iter().map(|&length| length as u64)),
            self.extent.as_ref().map_or(0, |extent| extent.entries),
            types.join(",")
        )
    }

    /// Rejects a requested fill if the file declares a fill.
    pub(super) fn reject_fill(&self, options: &ReadOptions) -> Result<()> {
        match &options.fill {
            Some(asked) if self.fill.is_some() => {
                Err(at_key("lacuna", format!("the file has its own fill, not the requested fill `{asked}`")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the fill in textual form.
    pub(super) fn fill_text(&self) -> String {
        let dtype = self.dtype.unwrap_or(DType::Bool);
        let fill = dispatch_dtype!(dtype, T => self.fill::<T>().ok().flatten().map(T::to_number), else => None);
        fill.map_or_else(String::new, |fill| fill.to_string())
    }

    /// Returns the fill as an element.
    pub(super) fn fill<T: FileElement>(&self) -> Result<Option<T>> {
        let Some(bytes) = &self.fill else { return Ok(None) };
        match T::from_bytes(bytes, true) {
            Some(fill) => Ok(Some(fill)),
            None => Err(at_key("lacuna", format!("its fill is not a value of type {}", T::DTYPE))),
        }
    }
}

/// Returns the bytes of an element, most significant byte first; the real part of a complex number precedes the
/// imaginary part.
pub(super) fn fill_bytes<T: FileElement>(fill: T) -> Vec<u8> {
    let mut bytes = Vec::new();
    fill.to_bytes(&mut bytes);
    let part = bytes.len() / parts_of(T::DTYPE);
    bytes.chunks_mut(part.max(1)).for_each(<[u8]>::reverse);
    bytes
}

/// Returns the name of a type in binsparse.
fn binsparse_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bint8",
        DType::Complex64 => "complex[float32]",
        DType::Complex128 => "complex[float64]",
        other => other.name(),
    }
}

impl Extent {
    /// Compares the entries that were found with these declared entries.
    pub(super) fn check(&self, found: &Extent) -> Result<()> {
        let message = match self.entries == found.entries {
            _ if self == found => return Ok(()),
            false => format!("found {} of {}", found.entries, self.entries),
            true if self.ends != found.ends => {
                "the first or the last entry differs from the description of the file".into()
            }
            true => "their checksum differs from the description of the file; the file is damaged".into(),
        };
        Err(Error::Format { place: "the entries".into(), message })
    }

    /// Compares the number of rows of a table with the declared number of entries.
    pub(super) fn check_rows(&self, rows: u64) -> Result<()> {
        match self.entries == rows {
            true => Ok(()),
            false => self.check(&Extent { entries: rows, ..Extent::default() }),
        }
    }

    pub(super) fn of(json: &Json, rank: usize, place: &str) -> Result<Extent> {
        let wrong = |name: &str| at_key(place, format!("its {name} is invalid"));
        let entries = json.get("entries").and_then(Json::number).ok_or_else(|| wrong("entries"))?;
        let digits = json.get("entries_hash").and_then(Json::text).filter(|digits| digits.len() == 16);
        let hash = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let hash = hash.ok_or_else(|| wrong("entries_hash"))?;
        let end = |name: &str| {
            let coords = json.get(name).and_then(Json::numbers);
            coords.filter(|coords| coords.len() == rank || entries == 0).ok_or_else(|| wrong(name))
        };
        let ends = (end("first")?, end("last")?);
        Ok(Extent { entries, hash, ends: (entries > 0).then_some(ends) })
    }

    pub(super) fn write_members(&self, text: &mut String) {
        let none = Default::default();
        let (first, last) = self.ends.as_ref().unwrap_or(&none);
        let [first, last] = [first, last].map(|coords| json::list(coords.iter().copied()));
        let (entries, hash) = (self.entries, self.hash);
        let _ =
            write!(text, ",\"entries\":{entries},\"entries_hash\":\"{hash:016x}\",\"first\":{first},\"last\":{last}");
    }

    /// Returns whether the next entries all follow these entries in row-major order.
    pub(super) fn is_before(&self, next: &Extent) -> bool {
        match (&self.ends, &next.ends) {
            (Some((_, last)), Some((first, end))) => last < first && first <= end,
            (None, Some((first, end))) => first <= end,
            (_, None) => true,
        }
    }

    /// Appends the facts about the next entries; `None` if there are too many entries.
    pub(super) fn append(&mut self, next: &Extent) -> Option<()> {
        self.entries = self.entries.checked_add(next.entries)?;
        self.hash = self.hash.wrapping_add(next.hash);
        self.ends = match (self.ends.take(), next.ends.clone()) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (own, others) => own.or(others),
        };
        Some(())
    }
}

/// The hashes of entries. Columns are added one after another: first the coordinates, then the parts of the values.
#[derive(Debug, Default)]
pub(super) struct Hashes(Vec<u64>);

impl Hashes {
    /// Adds the numbers of a column from `row` on.
    pub(super) fn add(&mut self, row: usize, numbers: &[u64]) -> Allocated<()> {
        let end = row + numbers.len();
        if end > self.0.len() {
            let more = end - self.0.len();
            alloc::reserve(&mut self.0, more)?;
            self.0.resize(end, SEED);
        }
        self.0[row..].iter_mut().zip(numbers).for_each(|(hash, &number)| *hash = mix(*hash ^ number));
        Ok(())
    }

    /// Returns all hashes.
    pub(super) fn each(&self) -> &[u64] {
        &self.0
    }

    /// Returns the sum of all hashes, and clears the hashes.
    pub(super) fn take(&mut self) -> u64 {
        let sum = self.0.iter().fold(0, |sum: u64, &hash| sum.wrapping_add(hash));
        self.0.clear();
        sum
    }
}

/// Returns the checksum of a text: a mix of its bytes, eight at a time, and of its length.
pub(super) fn checksum(text: &str) -> String {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let words = text.as_bytes().chunks(8).map(word).chain([text.len() as u64]);
    format!("{:016x}", words.fold(SEED, |hash, word| mix(hash ^ word)))
}

/// The error message for a wrong checksum.
pub(super) const DAMAGED: &str = "its checksum does not match its contents; the file is damaged";

/// The initial hash of an entry.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a number: each bit of the result depends on each bit of the number.
fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Returns the number of columns for the values of a type.
pub(super) fn parts_of(dtype: DType) -> usize {
    if matches!(dtype, DType::Complex64 | DType::Complex128) { 2 } else { 1 }
}

/// Returns whether the coordinates of an axis are written in 32 bits.
pub(super) fn is_narrow(length: usize) -> bool {
    length as u64 <= 1 << 32
}

/// Parses a text as JSON.
pub(super) fn parsed(text: &str, place: &str) -> Result<Json> {
    Json::parse(text).ok_or_else(|| at_key(place, "it is not JSON"))
}

fn shape_of(json: &Json, place: &str) -> Result<Shape> {
    let lengths = json.numbers().ok_or_else(|| at_key(place, "its shape is not a list of lengths"))?;
    if lengths.len() > MAX_AXES {
        return Err(at_key(place, format!("{} axes are more than {MAX_AXES}", lengths.len())));
    }
    let fits = |&length: &u64| usize::try_from(length).map_err(|_| at_key(place, format!("{length} is too long")));
    lengths.iter().map(fits).collect()
}

/// Parses pairs of hexadecimal digits as bytes.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [a, b] => Some((char::from(*a).to_digit(16)? << 4 | char::from(*b).to_digit(16)?) as u8),
        _ => None,
    };
    (digits.len() <= 32).then_some(())?;
    pairs.map(byte).collect()
}
