//! `.npy`: one dense array, and the members of an `.npz` archive.

use std::io::{ErrorKind, Read, Write};
use std::mem::replace;

use crate::dispatch_dtype;
use crate::element::DType;
use crate::error::{Error, Result};
use crate::io::MOST_AXES;
use crate::io::any::{AnyTensor, Format, no_such};
use crate::io::element::FileElement;
use crate::io::fields::quote;
use crate::io::options::{Order, ReadOptions, WriteOptions, wrap};
use crate::limit::{default_limit, guard};
use crate::pages::{self, Granted};
use crate::pattern::Pattern;
use crate::shape::{Shape, step};
use crate::tensor::Tensor;
use crate::triplets::Triplets;

/// The first bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read: numpy's own are a few hundred bytes.
const LONGEST_HEADER: u64 = 1 << 20;

/// The bytes that are read or written at once.
const BLOCK: usize = 1 << 16;

/// A binary source that counts what was read and says in its errors where that was.
pub(crate) struct Source<R> {
    reader: R,
    /// What the reader is: `member data.npy`, or nothing for a file of its own.
    name: String,
    bytes: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(reader: R, name: impl Into<String>) -> Self {
        Source { reader, name: name.into(), bytes: 0 }
    }

    /// The bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The error at a part of this source.
    pub(crate) fn error(&self, part: &str, message: impl Into<String>) -> Error {
        let place = if self.name.is_empty() { part.into() } else { format!("{}, {part}", self.name) };
        Error::Format { place, message: message.into() }
    }

    /// Fills `buffer`, or as much of it as there is.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        self.bytes += filled as u64;
        Ok(filled)
    }

    /// A failure to read: one that the archive's bytes are to blame for names the member. A file of its own has no
    /// such bytes.
    fn failure(&self, error: std::io::Error) -> Error {
        use ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof, Unsupported};
        match Error::from(error) {
            Error::Io { kind: InvalidData | InvalidInput | Other | UnexpectedEof | Unsupported, message }
                if !self.name.is_empty() =>
            {
                self.error("data", message)
            }
            error => error,
        }
    }

    /// Exactly `N` bytes of `part`.
    fn exactly<const N: usize>(&mut self, part: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        match self.fill(&mut bytes)? {
            found if found == N => Ok(bytes),
            found => Err(self.error(part, format!("ends after {found} of {N} bytes"))),
        }
    }

    /// Reads `length` bytes of text; the buffer grows as they arrive.
    fn text(&mut self, part: &str, length: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut text);
        read.map_err(|error| self.failure(error))?;
        self.bytes += text.len() as u64;
        if (text.len() as u64) < length {
            return Err(self.error(part, format!("ends after {} of {length} bytes", text.len())));
        }
        Ok(text)
    }

    /// Refuses bytes that are left.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(self.error("data", "there are more bytes than the shape has elements")),
        }
    }

    /// Calls `visit` with each of `count` elements.
    pub(crate) fn for_each<T: FileElement>(
        &mut self,
        count: usize,
        big_endian: bool,
        mut visit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut buffer: Vec<u8> = pages::zeros(BLOCK)?;
        let per_block = BLOCK / size_of::<T>();
        let mut read = 0;
        while read < count {
            let wanted = per_block.min(count - read);
            let found = self.fill(&mut buffer[..wanted * size_of::<T>()])?;
            for bytes in buffer[..found].chunks_exact(size_of::<T>()) {
                let value = T::from_bytes(bytes, big_endian);
                let value =
                    value.ok_or_else(|| self.error(&format!("element {read}"), "neither 0 nor 1, so no bool"))?;
                visit(value)?;
                read += 1;
            }
            if found < wanted * size_of::<T>() {
                return Err(self.error("data", format!("ends after {read} of {count} elements")));
            }
        }
        Ok(())
    }
}

/// What the elements of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers.
    Number(DType),
    /// Texts of so many bytes, as `|S3` has them.
    Bytes(usize),
    /// Texts of so many code points of four bytes each, as `<U3` has them.
    Unicode(usize),
}

/// The header of an array.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) big_endian: bool,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Shape,
}

impl Header {
    /// Reads the magic, the version and the header of an array.
    pub(crate) fn read<R: Read>(source: &mut Source<R>) -> Result<Header> {
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

    /// The number of elements.
    pub(crate) fn count<R: Read>(&self, source: &Source<R>) -> Result<usize> {
        let size = self.shape.checked_size();
        size.ok_or_else(|| source.error("field shape", format!("{} has more than 2^64 elements", self.shape)))
    }

    /// The element type, where the elements are numbers.
    pub(crate) fn dtype<R: Read>(&self, source: &Source<R>) -> Result<DType> {
        match self.kind {
            Kind::Number(dtype) => Ok(dtype),
            _ => Err(source.error("field descr", "the elements are texts, not numbers")),
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
            return Err(("header", format!("goes on after its end: `{}`", quote(self.rest.trim().as_bytes()))));
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
        Err((field, format!("`{symbol}` is expected at `{}`", quote(self.rest.as_bytes()))))
    }

    fn string(&mut self, field: &'static str) -> FieldResult<&'a str> {
        let mark = if self.accept('"') { '"' } else { '\'' };
        if mark == '\'' {
            self.expect(field, '\'')?;
        }
        let (text, rest) = self.rest.split_once(mark).ok_or((field, "has a text without an end".to_string()))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> FieldResult<&'a str> {
        if self.rest.trim_start().starts_with('[') {
            return Err(("field descr", "the elements are records, not numbers".into()));
        }
        self.string("field descr")
    }

    /// The word up to the next symbol.
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
            // Python 2 wrote an L after a long integer.
            let word = self.word();
            let length = word.strip_suffix('L').unwrap_or(word).parse::<usize>();
            lengths.push(length.map_err(|_| ("field shape", format!("`{}` is no length", quote(word.as_bytes()))))?);
            if lengths.len() > MOST_AXES {
                return Err(("field shape", format!("has more than {MOST_AXES} axes")));
            }
            if !self.accept(',') {
                self.expect("field shape", ')')?;
                break;
            }
        }
        Ok(lengths.into())
    }
}

/// The kind of element and whether its bytes are big-endian.
fn parse_descr(descr: &str) -> FieldResult<(Kind, bool)> {
    let refused = |why: &str| ("field descr", format!("`{}`: {why}", quote(descr.as_bytes())));
    let mut chars = descr.chars();
    let big_endian = match chars.next() {
        Some('<' | '|') => false,
        Some('>') => true,
        _ => return Err(refused("the byte order is not one of < > |")),
    };
    let kind = chars.next().unwrap_or(' ');
    if kind == 'O' {
        return Err(refused("pickled objects are not read"));
    }
    let size: usize = chars.as_str().parse().map_err(|_| refused("the size is no number"))?;
    let number = number_of(kind, size).map(Kind::Number);
    let text = match kind {
        'S' => Some(Kind::Bytes(size)),
        'U' => Some(Kind::Unicode(size)),
        _ => None,
    };
    let kind = number.or(text).ok_or_else(|| refused("no element type of this library"))?;
    Ok((kind, big_endian))
}

/// The element type of a kind and a size in bytes.
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

/// Reads a `.npy` file as a tensor: what is not the same as the fill is stored.
pub(crate) fn read(reader: impl Read, options: &ReadOptions) -> Result<AnyTensor> {
    let mut source = Source::new(reader, "");
    let header = Header::read(&mut source)?;
    let dtype = header.dtype(&source)?;
    let tensor =
        dispatch_dtype!(dtype, T => read_dense::<T>(&mut source, &header, options), else => Err(no_such(dtype)))?;
    source.end()?;
    options.finish(tensor, Format::Coo, source.bytes())
}

fn read_dense<T: FileElement>(
    source: &mut Source<impl Read>,
    header: &Header,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let unstored = options.fill_in::<T>()?;
    let count = header.count(source)?;
    let rank = header.shape.rank();
    let (mut is_stored, mut values, mut bytes) = (Bits::default(), Vec::new(), 0);
    source.for_each::<T>(count, header.big_endian, |value| {
        bytes += size_of::<T>() as u64;
        let stored = !unstored.is_some_and(|unstored| value.same(unstored));
        is_stored.push(stored)?;
        if stored {
            options.guard_entries::<T>(values.len() + 1, rank, Order::Dense, options.tensor_room(bytes, 0))?;
            push_up_to(&mut values, value, count)?;
        }
        Ok(())
    })?;
    let (coords, values) = in_row_major_order(header, &is_stored, &values)?;
    let triplets = Triplets::from_arrays_with_index(header.shape.clone(), coords, values)?;
    Ok(wrap(triplets.coalesce(options.duplicates)?))
}

/// The coordinates and the values of the elements that are stored, in row-major order, out of the order of the file.
fn in_row_major_order<T: Copy>(header: &Header, is_stored: &Bits, values: &[T]) -> Granted<(Vec<Vec<u64>>, Vec<T>)> {
    // Saturating, for the long axes of an array without elements, whose strides nobody uses.
    let step_over = |stride: &mut usize, &length: &usize| Some(replace(stride, stride.saturating_mul(length)));
    let strides: Vec<usize> = header.shape.iter().scan(1, step_over).collect();
    let before = is_stored.counts()?;
    let mut coords: Vec<Vec<u64>> = header.shape.iter().map(|_| pages::room(values.len())).collect::<Granted<_>>()?;
    let mut ordered = pages::room(values.len())?;
    let mut position = vec![0; header.shape.rank()];
    for index in 0..is_stored.count {
        let at = match header.fortran_order {
            true => position.iter().zip(&strides).map(|(coord, stride)| coord * stride).sum(),
            false => index,
        };
        if let Some(entry) = is_stored.entry(at, &before) {
            coords.iter_mut().zip(&position).for_each(|(axis, &coord)| axis.push(coord as u64));
            ordered.push(values[entry]);
        }
        step(&mut position, &header.shape);
    }
    Ok((coords, ordered))
}

/// One bit for each element of a dense array: the coordinates of those that are stored are formed once they are counted.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) -> Granted<()> {
        if self.count.is_multiple_of(64) {
            pages::push(&mut self.words, 0)?;
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.count % 64);
        }
        self.count += 1;
        Ok(())
    }

    /// How many bits are set before each word.
    fn counts(&self) -> Granted<Vec<usize>> {
        let mut set = 0;
        pages::collect(self.words.iter().map(|word| {
            set += word.count_ones() as usize;
            set - word.count_ones() as usize
        }))
    }

    /// How many bits are set before that one, if it is set; `before` are the [`Bits::counts`].
    fn entry(&self, at: usize, before: &[usize]) -> Option<usize> {
        let (word, bit) = (self.words[at / 64], 1 << (at % 64));
        (word & bit != 0).then(|| before[at / 64] + (word & (bit - 1)).count_ones() as usize)
    }
}

/// Appends to a list of at most `most` items: its room grows with what has arrived, and never beyond that.
pub(crate) fn push_up_to<T>(items: &mut Vec<T>, item: T, most: usize) -> Granted<()> {
    if items.len() == items.capacity() {
        let room = (items.len() / 2).max(1024).min(most.saturating_sub(items.len())).max(1);
        pages::reserve_exact(items, room)?;
    }
    items.push(item);
    Ok(())
}

/// Writes the bytes before the elements: magic, version, header.
pub(crate) fn write_header(writer: &mut impl Write, descr: &str, shape: &[usize]) -> Result<()> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let tuple = match &lengths[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", lengths.join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple}, }}");
    // The elements begin at a multiple of 64 bytes; the line ends the padding.
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&(text.len() as u16).to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    Ok(())
}

/// How a header spells a type.
pub(crate) fn descr_of<T: FileElement>() -> Result<String> {
    let size = size_of::<T>();
    let order = if size == 1 { '|' } else { '<' };
    match T::NPY_KIND {
        Some(kind) => Ok(format!("{order}{kind}{size}")),
        None => Err(Error::NotRepresentable {
            format: ".npy",
            what: format!("elements of type {}", T::DTYPE),
            instead: "cast to float32, or write .mtx",
        }),
    }
}

/// Writes elements, in blocks.
pub(crate) fn write_values<T: FileElement>(writer: &mut impl Write, values: impl IntoIterator<Item = T>) -> Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK + 16);
    for value in values {
        value.to_bytes(&mut bytes);
        if bytes.len() >= BLOCK {
            writer.write_all(&bytes)?;
            bytes.clear();
        }
    }
    writer.write_all(&bytes)?;
    Ok(())
}

/// Writes the dense array that a tensor means, without building it.
pub(crate) fn write<P: Pattern, T: FileElement>(
    writer: &mut impl Write,
    x: &Tensor<P, T>,
    options: &WriteOptions,
) -> Result<()> {
    let descr = descr_of::<T>()?;
    let limit = options.max_memory.unwrap_or_else(|| default_limit(x.stored_bytes()));
    guard::<T>("the dense array", x.shape().wide_size(), limit, "write .npz, or raise --max-memory")?;
    if x.rank() > MOST_AXES {
        let what = format!("{} axes", x.rank());
        return Err(Error::NotRepresentable { format: ".npy", what, instead: "reshape it to at most 64" });
    }
    write_header(writer, &descr, x.shape())?;
    let positions = positions(x.pattern());
    let size = x.shape().checked_size().unwrap_or(0);
    let mut stored = positions.iter().zip(x.values()).peekable();
    let elements = (0..size).map(|position| match stored.next_if(|(at, _)| **at == position) {
        Some((_, &value)) => value,
        None => x.fill(),
    });
    write_values(writer, elements)
}

/// Where the entries are in the dense array.
fn positions<P: Pattern>(pattern: &P) -> Vec<usize> {
    let mut positions = Vec::with_capacity(pattern.nnz());
    pattern.walk(|_, coords| {
        positions.push(crate::shape::ravel(coords, pattern.shape()));
        true
    });
    positions
}
