//! FROSTT's `.tns`: text without a header, one entry per line, with coordinates counted from 1 and then the value.

use std::io::{BufRead, Write};

use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{DType, Number};
use crate::io::entries::{Listing, TextFile, TextTensor};
use crate::io::fields::{Fields, LineResult, Scan};
use crate::io::limits::MAX_AXES;
use crate::io::lines::{TextLines, at_line};
use crate::io::options::ReadOptions;
use crate::io::print::write_entries;
use crate::io::values::FileValues;
use crate::pattern::AnyPattern;
use crate::pattern::IndexKind;
use crate::tensor::erased::Erased;

/// The byte that starts a comment.
const COMMENT: u8 = b'#';

/// The word that starts a comment with the shape. The entries may not be sufficient to determine the shape.
const SHAPE: &[u8] = b"shape:";

/// Reads a `.tns` file. Returns the contents and the number of bytes.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions, index: IndexKind) -> Result<(TextFile, u64)> {
    if options.only_header {
        return Err(Error::Format {
            place: "the header".into(),
            message: "a .tns file shows its type only with entries".into(),
        });
    }
    let mut lines = TextLines::new(reader, COMMENT);
    let header = TnsHeader::read(&mut lines, options.shape.clone())?;
    let index = match &header.shape {
        Some(shape) => {
            (index.check)(shape)?;
            IndexKind { width: index.for_shape(shape), ..index }
        }
        None => index,
    };
    let mut body = TensorBody { lines, header, options, index };
    let text = match options.dtype {
        Some(DType::UInt64) => body.read::<u64>(integer)?,
        Some(DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64) => body.read::<i64>(integer)?,
        Some(DType::UInt8 | DType::UInt16 | DType::UInt32) => body.read::<i64>(integer)?,
        _ => body.read::<f64>(|fields| fields.value())?,
    };
    Ok((text, body.lines.bytes()))
}

/// Reads the next word as an integer, which may be written as a float: `4.000`.
fn integer<T: Scan>(fields: &mut Fields<'_>) -> LineResult<T> {
    let as_float = || T::from_number(Number::Real(fields.clone().value().ok()?));
    match fields.clone().value::<T>().ok().or_else(as_float) {
        Some(value) => fields.next().map_or_else(|| Err("the line ends before its value".into()), |_| Ok(value)),
        None => fields.value(),
    }
}

/// The facts from the lines before the entries, or from the first entry if it is the first line.
#[derive(Debug, Default)]
struct TnsHeader {
    /// The lengths of the axes, if known.
    shape: Option<Shape>,
    rank: usize,
    /// The number of entries, if the file declares it.
    declared: Option<usize>,
    /// True if lines have only coordinates, as for a graph; then the values are 1.
    without_values: bool,
}

impl TnsHeader {
    /// Reads up to the first entry, which stays unread.
    fn read<R: BufRead>(lines: &mut TextLines<R>, asked: Option<Shape>) -> Result<TnsHeader> {
        let is_requested = asked.is_some();
        let mut shape = asked;
        while let Some(fields) = lines.next_line()? {
            if fields.is_blank_or_comment(COMMENT) {
                shape = shape.or_else(|| shape_comment(fields));
                continue;
            }
            let words = fields.count_words();
            let is_named = fields.clone().next() == Some(b"sptensor");
            let too_short = shape.as_ref().is_none_or(|shape| shape.rank() > 1);
            if is_named || (words == 1 && too_short) {
                return Self::of_dialect(lines, is_named, shape);
            }
            let header = Self::of_entry(shape, is_requested, words).map_err(|why| lines.error(why));
            lines.unread();
            return header;
        }
        match shape {
            Some(shape) => Ok(TnsHeader { rank: shape.rank(), shape: Some(shape), ..TnsHeader::default() }),
            None => Err(at_line(lines.line() + 1, "there is no entry to show the shape; name the shape with --shape")),
        }
    }

    /// Returns the header of a file that starts with its first entry, a line of `words` words.
    ///
    /// A shape comment is not enough to accept a line without a value: in files of other programs, the numbers in the
    /// comment may have another meaning.
    fn of_entry(shape: Option<Shape>, is_requested: bool, words: usize) -> LineResult<TnsHeader> {
        let rank = shape.as_ref().map_or(words - 1, |shape| shape.rank());
        if rank > MAX_AXES {
            return Err(format!("{rank} axes are more than {MAX_AXES}"));
        }
        if words == rank && !is_requested {
            return Err(format!(
                "{words} fields for {rank} axes; if there is no value column, name the shape with --shape"
            ));
        }
        if words != rank && words != rank + 1 {
            return Err(format!("the line has {words} fields, expected {rank} coordinates and a value"));
        }
        Ok(TnsHeader { shape, rank, declared: None, without_values: words == rank })
    }

    /// Reads the header of the dialects that declare the rank, the lengths and, after the word `sptensor`, the number
    /// of entries.
    fn of_dialect<R: BufRead>(lines: &mut TextLines<R>, is_named: bool, asked: Option<Shape>) -> Result<TnsHeader> {
        if !is_named {
            lines.unread();
        }
        let rank = header_counts(lines, 1, "the number of axes")?[0];
        if rank > MAX_AXES {
            return Err(lines.error(format!("{rank} axes are more than {MAX_AXES}")));
        }
        let lengths = header_counts(lines, rank, "a length")?;
        let declared = if is_named { Some(header_counts(lines, 1, "the number of entries")?[0]) } else { None };
        let found = Shape::from(lengths);
        match asked {
            Some(expected) if expected != found => {
                Err(Error::ShapeMismatch { what: "the header of the file", expected, found })
            }
            _ => Ok(TnsHeader { rank, shape: Some(found), declared, without_values: false }),
        }
    }
}

/// Returns the shape in a comment `# shape: 3 4 5`; `None` for any other comment.
fn shape_comment(mut fields: Fields<'_>) -> Option<Shape> {
    if fields.next() != Some(&[COMMENT]) || fields.next() != Some(SHAPE) {
        return None;
    }
    let mut lengths = Vec::new();
    while fields.clone().next().is_some() && lengths.len() <= MAX_AXES {
        lengths.push(fields.count("a length").ok()?);
    }
    (lengths.len() <= MAX_AXES).then(|| lengths.into())
}

/// Reads the next line of a header, which has exactly `count` numbers.
fn header_counts<R: BufRead>(lines: &mut TextLines<R>, count: usize, what: &str) -> Result<Vec<usize>> {
    while let Some(mut fields) = lines.next_line()? {
        if !fields.is_blank_or_comment(COMMENT) {
            let counts = (0..count).map(|_| fields.count(what)).collect::<LineResult<Vec<_>>>();
            let counts = counts.and_then(|counts| fields.end().map(|()| counts));
            return counts.map_err(|why| lines.error(why));
        }
    }
    Err(lines.error(format!("the file ends before {what}")))
}

/// The body of a file, after the header.
struct TensorBody<'a, R> {
    lines: TextLines<R>,
    header: TnsHeader,
    options: &'a ReadOptions,
    index: IndexKind,
}

impl<R: BufRead> TensorBody<'_, R> {
    fn read<T: Scan>(&mut self, value: impl Fn(&mut Fields<'_>) -> LineResult<T> + Sync + Send) -> Result<TextFile>
    where
        TextTensor: From<Erased<T>>,
    {
        let TnsHeader { rank, declared, without_values, .. } = self.header;
        let lengths = self.header.shape.clone().unwrap_or_else(|| vec![self.index.longest; rank].into());
        let (options, index) = (self.options, self.index);
        let listing = Listing { lengths: &lengths, names: &[], declared, options, index };
        let mut entries = listing.read(&mut self.lines, |_, fields| match without_values {
            true => Ok(T::ONE),
            false => value(fields),
        })?;
        let shape = self.header.shape.take().unwrap_or_else(|| entries.coords.bounding_shape());
        entries.note_rejected(options.dtype, |_, entry| entry);
        entries.into_text(shape, options.duplicates, |error| error)
    }
}

/// Writes a tensor with a fill of zero. The shape is written as a comment if the entries do not determine it.
pub(crate) fn write(writer: &mut dyn Write, pattern: &AnyPattern, values: &dyn FileValues) -> Result<()> {
    if !values.is_fill_zero() {
        let what = format!("the fill {}, because its unstored positions are zeros", values.fill());
        return Err(Error::NotRepresentable { format: ".tns", what, instead: "write .npz" });
    }
    if matches!(values.dtype(), DType::Complex64 | DType::Complex128) {
        let what = format!("elements of type {}", values.dtype());
        return Err(Error::NotRepresentable { format: ".tns", what, instead: "write .npz" });
    }
    let shape = pattern.shape();
    if shape.rank() > MAX_AXES {
        let what = format!("{} axes", shape.rank());
        return Err(Error::NotRepresentable { format: ".tns", what, instead: "reshape it to at most 64" });
    }
    if shape.rank() == 0 || pattern.nnz() == 0 || bounding_lengths(pattern) != **shape {
        let lengths: String = shape.iter().map(|length| format!(" {length}")).collect();
        writeln!(writer, "# shape:{lengths}")?;
    }
    write_entries(writer, pattern, values)
}

/// Returns the smallest lengths of axes that contain all entries.
fn bounding_lengths(pattern: &AnyPattern) -> Vec<usize> {
    let mut lengths = vec![0; pattern.shape().rank()];
    pattern.walk_range(0..pattern.nnz(), &mut |_, coords| {
        lengths.iter_mut().zip(coords).for_each(|(length, &coord)| *length = (coord + 1).max(*length));
        true
    });
    lengths
}
