//! The header of an array: a Python dictionary, of which a few forms are accepted.

use super::source::BinarySource;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::DType;
use crate::io::fields::quote;
use crate::io::limits::MAX_AXES;

/// The first bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum length of a header in bytes: headers of numpy have a few hundred bytes.
const LONGEST_HEADER: u64 = 1 << 20;

/// The kind of elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NpyType {
    /// Numbers.
    Number(DType),
    /// Strings of the given number of bytes, such as `|S3`.
    Bytes(usize),
    /// Strings of the given number of code points, four bytes each, such as `<U3`.
    Unicode(usize),
}

/// The header of an array.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) kind: NpyType,
    pub(crate) big_endian: bool,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Shape,
}

impl Header {
    /// Reads the magic, the version and the header of an array.
    pub(crate) fn read(source: &mut BinarySource<'_>) -> Result<Header> {
        if source.exactly::<6>("magic")? != *MAGIC {
            return Err(source.error("magic", "these are not the first bytes of a .npy array"));
        }
        let [major, minor] = source.exactly("version")?;
        let length = match major {
            1 => u64::from(u16::from_le_bytes(source.exactly("header length")?)),
            2 | 3 => u64::from(u32::from_le_bytes(source.exactly("header length")?)),
            _ => return Err(source.error("version", format!("{major}.{minor} is not one of 1.0, 2.0, 3.0"))),
        };
        if length > LONGEST_HEADER {
            return Err(source.error("header length", format!("{length} is above {LONGEST_HEADER}")));
        }
        let text = source.text("header", length)?;
        let text = String::from_utf8(text).map_err(|_| source.error("header", "is not text"))?;
        Dict { rest: &text }.header().map_err(|(field, message)| source.error(field, message))
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self, source: &BinarySource<'_>) -> Result<usize> {
        let size = self.shape.checked_size();
        size.ok_or_else(|| source.error("field shape", format!("{} has 2^64 elements or more", self.shape)))
    }

    /// Returns the element type, if the elements are numbers.
    pub(crate) fn dtype(&self, source: &BinarySource<'_>) -> Result<DType> {
        match self.kind {
            NpyType::Number(dtype) => Ok(dtype),
            _ => Err(source.error("field descr", "the elements are strings, not numbers")),
        }
    }
}

/// The text of a header: a Python dictionary of three entries. Errors name the field.
struct Dict<'a> {
    rest: &'a str,
}

type FieldResult<T> = std::result::Result<T, (&'static str, String)>;

impl<'a> Dict<'a> {
    fn header(&mut self) -> FieldResult<Header> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect("header", '{')?;
        while !self.accept('}') {
            let key = self.string("header")?;
            self.expect("header", ':')?;
            match key {
                "descr" => descr = Some(parse_descr(self.descr()?)?),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err(("header", format!("has an unknown key `{}`", quote(key.as_bytes())))),
            }
            if !self.accept(',') {
                self.expect("header", '}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(("header", format!("has data after its end: `{}`", quote(self.rest.trim().as_bytes()))));
        }
        let (kind, big_endian) = descr.ok_or(("field descr", "is missing".to_string()))?;
        let fortran_order = fortran_order.ok_or(("field fortran_order", "is missing".to_string()))?;
        let shape = shape.ok_or(("field shape", "is missing".to_string()))?;
        Ok(Header { kind, big_endian, fortran_order, shape })
    }

    fn accept(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, field: &'static str, symbol: char) -> FieldResult<()> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err((field, format!("expected `{symbol}` at `{}`", quote(self.rest.as_bytes()))))
    }

    fn string(&mut self, field: &'static str) -> FieldResult<&'a str> {
        let mark = if self.accept('"') { '"' } else { '\'' };
        if mark == '\'' {
            self.expect(field, '\'')?;
        }
        let (text, rest) =
            self.rest.split_once(mark).ok_or((field, "has a string without a closing quote".to_string()))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> FieldResult<&'a str> {
        if self.rest.trim_start().starts_with('[') {
            return Err(("field descr", "the elements are records, not numbers".into()));
        }
        self.string("field descr")
    }

    /// Returns the word up to the next symbol.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn boolean(&mut self) -> FieldResult<bool> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            word => Err(("field fortran_order", format!("`{}` is neither True nor False", quote(word.as_bytes())))),
        }
    }

    fn tuple(&mut self) -> FieldResult<Shape> {
        let mut lengths = Vec::new();
        self.expect("field shape", '(')?;
        while !self.accept(')') {
            // Python 2 writes an L after a long integer.
            let word = self.word();
            let length = word.strip_suffix('L').unwrap_or(word).parse::<usize>();
            lengths.push(length.map_err(|_| ("field shape", format!("`{}` is not a length", quote(word.as_bytes()))))?);
            if lengths.len() > MAX_AXES {
                return Err(("field shape", format!("has more than {MAX_AXES} axes")));
            }
            if !self.accept(',') {
                self.expect("field shape", ')')?;
                if let [length] = lengths[..] {
                    let message = format!("`({length})` is a number in Python; write one axis as `({length},)`");
                    return Err(("field shape", message));
                }
                break;
            }
        }
        Ok(lengths.into())
    }
}

/// Returns the kind of elements, and whether their bytes are big-endian.
fn parse_descr(descr: &str) -> FieldResult<(NpyType, bool)> {
    let rejection = |why: &str| ("field descr", format!("`{}`: {why}", quote(descr.as_bytes())));
    let mut chars = descr.chars();
    let big_endian = match chars.next() {
        Some('<' | '|') => false,
        Some('>') => true,
        _ => return Err(rejection("the byte order is not one of < > |")),
    };
    let kind = chars.next().unwrap_or(' ');
    if kind == 'O' {
        return Err(rejection("pickled objects are not supported"));
    }
    let size: usize = chars.as_str().parse().map_err(|_| rejection("the size is not a number"))?;
    let number = number_of(kind, size).map(NpyType::Number);
    let text = match kind {
        'S' => Some(NpyType::Bytes(size)),
        'U' => Some(NpyType::Unicode(size)),
        _ => None,
    };
    let kind = number.or(text).ok_or_else(|| rejection("not an element type of this library"))?;
    Ok((kind, big_endian))
}

/// Returns the element type for a kind and a size in bytes.
fn number_of(kind: char, size: usize) -> Option<DType> {
    use DType::*;
    let of_size = |types: [DType; 4]| [1, 2, 4, 8].iter().position(|&bytes| bytes == size).map(|at| types[at]);
    match (kind, size) {
        ('b', 1) => Some(Bool),
        ('i', _) => of_size([Int8, Int16, Int32, Int64]),
        ('u', _) => of_size([UInt8, UInt16, UInt32, UInt64]),
        ('f', 2) => Some(Float16),
        ('f', 4) => Some(Float32),
        ('f', 8) => Some(Float64),
        ('c', 8) => Some(Complex64),
        ('c', 16) => Some(Complex128),
        _ => None,
    }
}
