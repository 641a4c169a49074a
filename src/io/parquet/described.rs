//! What a table says of its tensor: the texts under `lacuna` and `binsparse`, and the manifest of a folder.

use std::fmt::Write;

use super::json::{self, Json};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::element::{DType, Element};
use crate::io::MOST_AXES;
use crate::io::element::FileElement;
use crate::io::options::ReadOptions;

/// What is said of entries that follow each other in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extent {
    pub(super) entries: u64,
    /// The sum of the [`Hashes`] of all entries, so that parts are added up.
    pub(super) hash: u64,
    /// The coordinates of the first entry and of the last one, where there is any.
    pub(super) ends: Option<(Vec<u64>, Vec<u64>)>,
}

/// What is said of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Described {
    pub(super) shape: Shape,
    /// `None` where nothing but the columns tells it.
    pub(super) dtype: Option<DType>,
    /// The bytes of the fill, the most significant first; `None` where it is not said.
    pub(super) fill: Option<Vec<u8>>,
    pub(super) extent: Option<Extent>,
}

/// The error of what is said.
pub(super) fn at_key(key: &str, message: impl Into<String>) -> Error {
    Error::Format { place: format!("key {key}"), message: message.into() }
}

impl Described {
    /// What stands under `lacuna`. Of what says no checksum nothing is compared.
    pub(super) fn of_lacuna(json: &Json, place: &str) -> Result<Described> {
        let described = Described::of_members(json, place)?;
        match json.get("checksum") {
            Some(said) if said.text() != Some(&described.checksum()) => Err(at_key(place, DAMAGED)),
            _ => Ok(described),
        }
    }

    /// The members that `lacuna` and a manifest share.
    pub(super) fn of_members(json: &Json, place: &str) -> Result<Described> {
        let header = Described::of_header(json, place)?;
        let extent = Extent::of(json, header.shape.rank(), place)?;
        Ok(Described { extent: Some(extent), ..header })
    }

    /// Of these, what is not about the entries.
    pub(super) fn of_header(json: &Json, place: &str) -> Result<Described> {
        let said = |name: &str| json.get(name).ok_or_else(|| at_key(place, format!("no {name}")));
        match said("version")?.number() {
            Some(1) => {}
            _ => return Err(at_key(place, "its version is not 1: a later lacuna wrote it")),
        }
        let shape = shape_of(said("shape")?, place)?;
        let dtype = said("dtype")?.text().and_then(DType::from_name);
        let dtype = dtype.ok_or_else(|| at_key(place, "its dtype is no element type"))?;
        let fill = said("fill")?.text().and_then(bytes_of);
        let fill = fill.ok_or_else(|| at_key(place, "its fill is no value in hexadecimal digits"))?;
        Ok(Described { shape, dtype: Some(dtype), fill: Some(fill), extent: None })
    }

    /// The checksum of what is said, however it is laid out.
    pub(super) fn checksum(&self) -> String {
        let mut text = String::new();
        self.write_members(&mut text);
        checksum(&text)
    }

    /// What stands under `binsparse`, from another program.
    pub(super) fn of_binsparse(text: &str) -> Result<Described> {
        let json = parsed(text, "binsparse")?;
        let inner = json.get("binsparse").unwrap_or(&json);
        let shape = inner.get("shape").ok_or_else(|| at_key("binsparse", "no shape"))?;
        let shape = shape_of(shape, "binsparse")?;
        // The value itself would be an array of its own, which a table has no place for.
        if inner.get("fill") == Some(&Json::Truth(true)) {
            return Err(at_key("binsparse", "it names a fill that is nowhere said: no key `lacuna`"));
        }
        Ok(Described { shape, dtype: None, fill: None, extent: None })
    }

    /// The text under `lacuna`.
    pub(super) fn to_lacuna(&self) -> String {
        let mut text = String::from("{\"version\":1");
        self.write_members(&mut text);
        let _ = write!(text, ",\"checksum\":\"{}\"}}", self.checksum());
        text
    }

    /// Writes these members.
    pub(super) fn write_members(&self, text: &mut String) {
        let shape = json::list(self.shape.iter().map(|&length| length as u64));
        let dtype = self.dtype.map_or("", DType::name);
        let fill: String = self.fill.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(text, ",\"shape\":{shape},\"dtype\":\"{dtype}\",\"fill\":\"{fill}\"");
        self.extent.iter().for_each(|extent| extent.write_members(text));
    }

    /// The text under `binsparse`: a sparse level of all axes over the elements.
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

    /// Refuses a fill that is asked for where one is said.
    pub(super) fn refuse_fill(&self, options: &ReadOptions) -> Result<()> {
        match &options.fill {
            Some(asked) if self.fill.is_some() => {
                Err(at_key("lacuna", format!("the file names its fill; the fill `{asked}` cannot be asked for")))
            }
            _ => Ok(()),
        }
    }

    /// The fill in words.
    pub(super) fn fill_text(&self) -> String {
        let dtype = self.dtype.unwrap_or(DType::Bool);
        let fill = dispatch_dtype!(dtype, T => self.fill::<T>().ok().flatten().map(T::to_number), else => None);
        fill.map_or_else(String::new, |fill| fill.to_string())
    }

    /// The fill as an element.
    pub(super) fn fill<T: FileElement>(&self) -> Result<Option<T>> {
        let Some(bytes) = &self.fill else { return Ok(None) };
        match T::from_bytes(bytes, true) {
            Some(fill) => Ok(Some(fill)),
            None => Err(at_key("lacuna", format!("its fill is no {}", T::DTYPE))),
        }
    }
}

/// The bytes of an element, the most significant first, of a complex one those of the real part before the others.
pub(super) fn fill_bytes<T: FileElement>(fill: T) -> Vec<u8> {
    let mut bytes = Vec::new();
    fill.to_bytes(&mut bytes);
    let part = bytes.len() / parts_of(T::DTYPE);
    bytes.chunks_mut(part.max(1)).for_each(<[u8]>::reverse);
    bytes
}

/// The name that binsparse has for a type.
fn binsparse_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bint8",
        DType::Complex64 => "complex[float32]",
        DType::Complex128 => "complex[float64]",
        other => other.name(),
    }
}

impl Extent {
    /// Compares the entries that were found with these, which were said.
    pub(super) fn check(&self, found: &Extent) -> Result<()> {
        let message = match self.entries == found.entries {
            _ if self == found => return Ok(()),
            false => format!("{} of {} are there", found.entries, self.entries),
            true if self.ends != found.ends => "the first or the last one is not what the file says".into(),
            true => "their checksum is not what the file says: some byte is damaged".into(),
        };
        Err(Error::Format { place: "the entries".into(), message })
    }

    /// Compares the rows of a table with the entries that are said.
    pub(super) fn check_rows(&self, rows: u64) -> Result<()> {
        match self.entries == rows {
            true => Ok(()),
            false => self.check(&Extent { entries: rows, ..Extent::default() }),
        }
    }

    pub(super) fn of(json: &Json, rank: usize, place: &str) -> Result<Extent> {
        let wrong = |name: &str| at_key(place, format!("its {name} is not what it should be"));
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

    /// Whether the next entries all come behind these, in row-major order.
    pub(super) fn is_before(&self, next: &Extent) -> bool {
        match (&self.ends, &next.ends) {
            (Some((_, last)), Some((first, end))) => last < first && first <= end,
            (None, Some((first, end))) => first <= end,
            (_, None) => true,
        }
    }

    /// Puts what is said of the next entries behind these; `None` where they are too many.
    pub(super) fn append(&mut self, next: &Extent) -> Option<()> {
        self.entries = self.entries.checked_add(next.entries)?;
        self.hash = self.hash.wrapping_add(next.hash);
        self.ends = match (self.ends.take(), next.ends.clone()) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (mine, others) => mine.or(others),
        };
        Some(())
    }
}

/// The hashes of entries, to which their columns are added one after the other: first the coordinates, then the parts
/// of the values.
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

    /// All of them.
    pub(super) fn each(&self) -> &[u64] {
        &self.0
    }

    /// The sum of all, which are forgotten.
    pub(super) fn take(&mut self) -> u64 {
        let sum = self.0.iter().fold(0, |sum: u64, &hash| sum.wrapping_add(hash));
        self.0.clear();
        sum
    }
}

/// The checksum of a text: a mix of its bytes, eight at a time, and of their number.
pub(super) fn checksum(text: &str) -> String {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let words = text.as_bytes().chunks(8).map(word).chain([text.len() as u64]);
    format!("{:016x}", words.fold(SEED, |hash, word| mix(hash ^ word)))
}

/// The error of a checksum that is not that of what it is said of.
pub(super) const DAMAGED: &str = "its checksum is not that of what it says: some byte is damaged";

/// What the hash of an entry begins with.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Each bit of the result depends on each of the number.
fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// The columns that the values of a type take.
pub(super) fn parts_of(dtype: DType) -> usize {
    if matches!(dtype, DType::Complex64 | DType::Complex128) { 2 } else { 1 }
}

/// Whether the coordinates of an axis are written in 32 bits.
pub(super) fn is_narrow(length: usize) -> bool {
    length as u64 <= 1 << 32
}

/// A text as JSON.
pub(super) fn parsed(text: &str, place: &str) -> Result<Json> {
    Json::parse(text).ok_or_else(|| at_key(place, "it is not JSON"))
}

fn shape_of(json: &Json, place: &str) -> Result<Shape> {
    let lengths = json.numbers().ok_or_else(|| at_key(place, "its shape is no list of lengths"))?;
    if lengths.len() > MOST_AXES {
        return Err(at_key(place, format!("{} axes are more than {MOST_AXES}", lengths.len())));
    }
    let fits = |&length: &u64| usize::try_from(length).map_err(|_| at_key(place, format!("{length} is too long")));
    lengths.iter().map(fits).collect()
}

/// The bytes that pairs of digits say.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [a, b] => Some((char::from(*a).to_digit(16)? << 4 | char::from(*b).to_digit(16)?) as u8),
        _ => None,
    };
    (digits.len() <= 32).then_some(())?;
    pairs.map(byte).collect()
}
