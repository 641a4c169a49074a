//! Reading tables as tensors with labels.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use csv_core::ReadRecordResult;

use super::labelled::{CsvColumns, Labelled};
use super::record::{LONGEST_RECORD, MARK, quote_bytes};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::io::element::FileElement;
use crate::io::entries::FileEntries;
use crate::io::fields::quote;
use crate::io::gzip;
use crate::io::labels::Labels;
use crate::io::limits::{BLOCK, MAX_AXES};
use crate::io::lines::at_line;
use crate::io::options::{ReadOptions, parse_fill};
use crate::io::progress::Watched;
use crate::pattern::IndexKind;
use crate::tensor::erased::Erased;

/// The number of records between two checks of the memory.
const BETWEEN_LOOKS: usize = 1 << 10;

/// Reads the `.csv` file at `path` as a tensor with labels.
///
/// Each record after the first record is an entry, at the indices of its labels.
///
/// The first record names the columns. A new label gets the next index of its axis, so the same file always results in
/// the same indices. [`Labels`] converts between labels and indices. Fields may be quoted as in RFC 4180; a quoted
/// field may contain delimiters and line ends. A file that is compressed with gzip is inflated.
///
/// The options `duplicates`, `fill`, `shape`, `max_memory` and `progress` apply. An axis of `shape` may be longer than
/// the number of its labels. Records at the same position are summed, unless `duplicates` sets another rule.
///
/// # Errors
///
/// - `Io`: the file cannot be read;
/// - `Format`: the file has one of the faults below. The error names a line;
/// - `RankMismatch`: the rank of the option `shape` differs from the number of columns with labels;
/// - `AxisTooLong`: an axis has too many labels for `I`;
/// - `TooLarge`: the tensor or its labels need more memory than [`ReadOptions::max_memory`] allows;
/// - the errors of [`Triplets::coalesce`](crate::Triplets::coalesce), such as `OutOfMemory`.
///
/// `Format` reports these faults:
///
/// - the file is empty;
/// - a column is missing, or its name is repeated;
/// - a record has more or fewer fields than the first record;
/// - a label is not UTF-8;
/// - a value is not of type `T`;
/// - an axis has more labels than the option `shape` allows;
/// - a record is longer than 1 MiB;
/// - a quote is never closed, or text follows a closing quote;
/// - two records have the same position under [`Duplicates::Error`](crate::Duplicates::Error);
/// - more than 64 columns with labels are named.
///
/// # Examples
///
/// ```
/// use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/titanic.csv");
/// let columns = CsvColumns::new(["class", "sex", "age", "survived"]).value("people");
/// let table: Labelled<i64> = read_csv(path, &columns, &ReadOptions::default())?;
///
/// assert_eq!(table.get(&["crew", "male", "adult", "yes"])?, 192);
/// assert_eq!(table.coords(&["crew", "male", "adult", "yes"])?, [3, 0, 0, 1]);
/// assert_eq!(table.labels[0].label(3), Some("crew"));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "pandas.read_csv")]
pub fn read_csv<T: FileElement, I: Index>(
    path: impl AsRef<Path>,
    columns: &CsvColumns,
    options: &ReadOptions,
) -> Result<Labelled<T, I>> {
    let path = path.as_ref();
    let read = || {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut reader = BufReader::with_capacity(BLOCK, Watched::new(file, &options.progress));
        Labelled::typed(read_stream(&mut reader, length, columns, options, IndexKind::of::<I>())?)
    };
    read().map_err(|error: Error| error.in_file(path))
}

/// Reads a stream as a tensor with labels, like [`read_csv`].
///
/// # Errors
///
/// The errors of [`read_csv`].
///
/// ```
/// use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv_from};
///
/// let text = "who,what,\"how many\"\nAda,tea,2\nBob,\"tea, iced\",1\nAda,tea,3\n";
/// let columns = CsvColumns::new(["who", "what"]).value("how many");
/// let table: Labelled<f64> = read_csv_from(text.as_bytes(), &columns, &ReadOptions::default())?;
/// assert_eq!(table.tensor.entries(), [(vec![0, 0], 5.0), (vec![1, 1], 1.0)]);
/// assert_eq!(table.labels[1].label(1), Some("tea, iced"));
///
/// let refused = read_csv_from::<f64, u32>("who,what\nAda\n".as_bytes(), &columns, &ReadOptions::default());
/// assert!(refused.unwrap_err().to_string().starts_with("line 1: there is no column `how many`"));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn read_csv_from<T: FileElement, I: Index>(
    reader: impl Read,
    columns: &CsvColumns,
    options: &ReadOptions,
) -> Result<Labelled<T, I>> {
    let mut reader = BufReader::with_capacity(BLOCK, Watched::new(reader, &options.progress));
    Labelled::typed(read_stream(&mut reader, 0, columns, options, IndexKind::of::<I>())?)
}

/// Reads a stream of at least `length` bytes.
fn read_stream<T: FileElement>(
    reader: &mut dyn BufRead,
    length: u64,
    columns: &CsvColumns,
    options: &ReadOptions,
    index: IndexKind,
) -> Result<TableRead<T>> {
    let (head, mut reader) = peek(reader, 2)?;
    if !gzip::is_gzip(&head) {
        return read_plain(&mut reader, columns, options, index);
    }
    let mut inflated = BufReader::with_capacity(BLOCK, gzip::Inflater::new(reader, length, options));
    read_plain(&mut inflated, columns, options, index)
}

/// Reads an uncompressed stream, and skips a byte order mark at its start.
fn read_plain<T: FileElement>(
    reader: &mut dyn BufRead,
    columns: &CsvColumns,
    options: &ReadOptions,
    index: IndexKind,
) -> Result<TableRead<T>> {
    let (head, mut reader) = peek(reader, MARK.len())?;
    reader.consume(if head == MARK { MARK.len() } else { 0 });
    TableEntries::read(RecordReader::new(reader, columns.delimiter), columns, options, index)
}

/// Returns the first bytes of a stream, and the stream including these bytes.
fn peek(reader: &mut dyn BufRead, count: usize) -> Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::new();
    reader.take(count as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

/// The tensor of a table, and the labels of its axes.
type TableRead<T> = (Erased<T>, Vec<Labels>);

/// The entries and labels read so far.
struct TableEntries<'a, T> {
    options: &'a ReadOptions,
    index: IndexKind,
    entries: FileEntries<T>,
    labels: Vec<Labels>,
}

impl<'a, T: FileElement> TableEntries<'a, T> {
    fn read<R: BufRead>(
        mut records: RecordReader<R>,
        columns: &CsvColumns,
        options: &'a ReadOptions,
        index: IndexKind,
    ) -> Result<TableRead<T>> {
        let rank = columns.axes.len();
        if rank > MAX_AXES {
            return Err(at_line(1, format!("{rank} axes are more than {MAX_AXES}")));
        }
        if let Some(shape) = options.shape.as_ref().filter(|shape| shape.rank() != rank) {
            return Err(Error::RankMismatch { what: "the requested shape", expected: rank, found: shape.rank() });
        }
        if !records.next()? {
            return Err(at_line(1, "the file is empty; the first record must have the column names"));
        }
        let header = ColumnIndices::find(&records, columns).map_err(|why| at_line(records.start, why))?;
        let labels = (0..rank).map(|_| Labels::default()).collect();
        let mut table = TableEntries { options, index, entries: FileEntries::new(rank, index.width), labels };
        // Entries are in the order of the records, not in row-major order.
        table.entries.unordered();
        while records.next()? {
            table.take(&records, &header)?;
            if table.entries.values.len().is_multiple_of(BETWEEN_LOOKS) {
                table.check_memory(records.bytes)?;
            }
        }
        table.check_memory(records.bytes)?;
        table.finish()
    }

    /// Appends a record.
    fn take<R>(&mut self, records: &RecordReader<R>, header: &ColumnIndices) -> Result<()> {
        let reject = |why| at_line(records.start, why);
        if records.len() != header.width {
            return Err(reject(format!(
                "the record has {} fields, but the first record has {}",
                records.len(),
                header.width
            )));
        }
        let value = match header.value {
            None => T::ONE,
            Some(column) => parse(records.field(column)).map_err(reject)?,
        };
        for (axis, &column) in header.axes.iter().enumerate() {
            let number = self.number(axis, records.field(column), reject)?;
            self.entries.coords.push(axis, number)?;
        }
        self.entries.origin.note(self.entries.values.len(), records.start);
        Ok(alloc::push(&mut self.entries.values, value)?)
    }

    /// Returns the index of a label on an axis: the next index if the label is new.
    fn number(&mut self, axis: usize, label: &[u8], reject: impl Fn(String) -> Error) -> Result<usize> {
        let label =
            str::from_utf8(label).map_err(|_| reject(format!("the label `{}` is not UTF-8", quote_bytes(label))))?;
        let labels = &mut self.labels[axis];
        let number = labels.number_or_next(label)?;
        match self.options.shape.as_ref().map(|shape| shape[axis]) {
            Some(length) if number >= length => Err(reject(format!(
                "the label `{}` does not fit an axis of length {length}",
                quote_bytes(label.as_bytes())
            ))),
            Some(_) => Ok(number),
            // An existing label passed the check when it was added.
            None => (self.index.check)(&Shape::from([number + 1])).map(|()| number),
        }
    }

    fn check_memory(&self, bytes: u64) -> Result<()> {
        let held: u64 = self.labels.iter().map(Labels::held_bytes).sum();
        self.options.check_memory("the labels", held.into())?;
        self.entries.check_memory(self.options, bytes)
    }

    fn finish(mut self) -> Result<TableRead<T>> {
        let lengths = || self.labels.iter().map(Labels::len).collect();
        let shape = self.options.shape.clone().unwrap_or_else(lengths);
        (self.index.check)(&shape)?;
        let origin = std::mem::take(&mut self.entries.origin);
        let tensor = self.entries.into_tensor(shape, self.options.duplicates).map_err(|error| match &error {
            Error::Duplicate { first, second, .. } => match (origin.line(*first), origin.line(*second)) {
                (Some(first), Some(second)) => at_line(second, format!("the labels are the same as on line {first}")),
                _ => error,
            },
            _ => error,
        })?;
        let fill = self.options.fill.as_deref().map_or(Ok(T::ZERO), parse_fill)?;
        Ok((tensor.with_fill(fill), self.labels))
    }
}

/// Parses a value. The error is a message.
fn parse<T: FileElement>(text: &[u8]) -> std::result::Result<T, String> {
    T::parse_bytes(text.trim_ascii())
        .ok_or_else(|| format!("`{}` is not a value of type {}", quote_bytes(text), T::DTYPE))
}

/// The indices of the columns.
struct ColumnIndices {
    axes: Vec<usize>,
    value: Option<usize>,
    /// The number of columns.
    width: usize,
}

impl ColumnIndices {
    fn find<R>(records: &RecordReader<R>, columns: &CsvColumns) -> std::result::Result<ColumnIndices, String> {
        let find = |name: &String| {
            let mut found = (0..records.len()).filter(|&column| records.field(column) == name.as_bytes());
            match (found.next(), found.next()) {
                (Some(column), None) => Ok(column),
                (Some(_), Some(_)) => Err(format!("there are two columns `{}`", quote_bytes(name.as_bytes()))),
                (None, _) => Err(format!("there is no column `{}`; {}", quote_bytes(name.as_bytes()), names(records))),
            }
        };
        let axes = columns.axes.iter().map(find).collect::<std::result::Result<_, _>>()?;
        Ok(ColumnIndices { axes, value: columns.value.as_ref().map(find).transpose()?, width: records.len() })
    }
}

/// Lists the first column names for a message.
fn names<R>(records: &RecordReader<R>) -> String {
    let names: Vec<String> =
        (0..records.len().min(8)).map(|column| format!("`{}`", quote_bytes(records.field(column)))).collect();
    let more = if records.len() > names.len() { ", …" } else { "" };
    format!("there are {}{more}", names.join(", "))
}

/// The records of a table, one at a time.
struct RecordReader<R> {
    reader: R,
    core: csv_core::Reader,
    /// The fields of the record, without anything between them, and the end of each field.
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
    quotes: Quotes,
    /// The line on which the record begins, and the line that is read next.
    start: u64,
    line: u64,
    bytes: u64,
}

impl<R> RecordReader<R> {
    fn new(reader: R, delimiter: u8) -> Self {
        let mut core = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        let (mut text, mut ends) = (vec![0; 1 << 10], vec![0; 1 << 6]);
        // After a blank line, the parser does not look for a byte order mark. Otherwise it treats a mark without text
        // as the end.
        core.read_record(b"\n", &mut text, &mut ends);
        let quotes = Quotes { delimiter, place: RecordState::Start, opened: 1 };
        RecordReader { reader, core, text, ends, count: 0, quotes, start: 1, line: 1, bytes: 0 }
    }

    /// Returns the number of fields in the record.
    fn len(&self) -> usize {
        self.count
    }

    fn field(&self, column: usize) -> &[u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[column]]
    }
}

impl<R: BufRead> RecordReader<R> {
    /// Reads the next record; returns false at the end.
    fn next(&mut self) -> Result<bool> {
        // The bytes of the record written to `text`, and the bytes read from the input.
        let (mut text, mut read) = (0, 0);
        self.count = 0;
        self.quotes.place = RecordState::Start;
        loop {
            let input = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                input => input?,
            };
            let is_end = input.is_empty();
            let (outcome, taken, written, ended) =
                self.core.read_record(input, &mut self.text[text..], &mut self.ends[self.count..]);
            let mut input = &input[..taken];
            if read == 0 {
                // The end of the previous record, and blank lines.
                let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                self.line += ends_of_lines(&input[..blank]);
                self.start = self.line;
                input = &input[blank..];
            }
            self.quotes.check(&input[..input.len().min(LONGEST_RECORD - read)], self.line)?;
            self.line += ends_of_lines(input);
            read += input.len();
            self.bytes += taken as u64;
            self.reader.consume(taken);
            (text, self.count) = (text + written, self.count + ended);
            if read > LONGEST_RECORD || (is_end && self.quotes.is_open()) {
                return Err(self.endless(is_end));
            }
            match outcome {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => grow(&mut self.text)?,
                ReadRecordResult::OutputEndsFull => grow(&mut self.ends)?,
            }
        }
    }
}

impl<R> RecordReader<R> {
    /// Returns the error for a record that is too long, or for a quote that is open at the end of the file.
    #[cold]
    fn endless(&self, is_end: bool) -> Error {
        let opened = self.quotes.opened;
        match (self.quotes.is_open(), is_end) {
            (true, true) => at_line(opened, "the quote on this line is never closed"),
            (true, false) => {
                let message = format!("the quote on this line is not closed within {LONGEST_RECORD} bytes");
                at_line(opened, message)
            }
            (false, _) => at_line(self.start, format!("the record is longer than {LONGEST_RECORD} bytes")),
        }
    }
}

/// The position of the parser within a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordState {
    /// Before a field.
    Start,
    /// In a field without quotes.
    Bare,
    /// Between two quotes.
    Quoted,
    /// After a quote that closes a field, unless another quote follows.
    Closed,
}

/// The state of the quotes of a record. The parser of fields accepts any quotes, so the quotes are checked here.
#[derive(Debug)]
struct Quotes {
    delimiter: u8,
    place: RecordState,
    /// The line of the last opening quote.
    opened: u64,
}

impl Quotes {
    fn is_open(&self) -> bool {
        self.place == RecordState::Quoted
    }

    /// Checks the next text of the record, which begins on line `line`. Rejects text after a closing quote.
    fn check(&mut self, text: &[u8], mut line: u64) -> Result<()> {
        if matches!(self.place, RecordState::Start | RecordState::Bare) && !text.contains(&b'"') {
            self.place = text.last().map_or(self.place, |&last| self.after(last));
            return Ok(());
        }
        for &byte in text {
            self.place = match (self.place, byte) {
                (RecordState::Quoted, b'"') => RecordState::Closed,
                (RecordState::Quoted, _) | (RecordState::Closed, b'"') => RecordState::Quoted,
                (RecordState::Start, b'"') => {
                    self.opened = line;
                    RecordState::Quoted
                }
                (RecordState::Closed, _) if self.after(byte) == RecordState::Bare => {
                    return Err(after_quote(byte, line));
                }
                _ => self.after(byte),
            };
            line += u64::from(byte == b'\n');
        }
        Ok(())
    }

    /// Returns the position after a byte outside quotes.
    fn after(&self, byte: u8) -> RecordState {
        if byte == self.delimiter || matches!(byte, b'\r' | b'\n') { RecordState::Start } else { RecordState::Bare }
    }
}

/// Returns the error for text after the closing quote of a field. The message shows only one byte, because the buffer
/// may end after this byte.
#[cold]
fn after_quote(byte: u8, line: u64) -> Error {
    let found = quote(&[byte]);
    at_line(line, format!("`{found}` follows the closing quote of a field; double a quote within a field"))
}

fn ends_of_lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Doubles the length of a buffer.
fn grow<T: Copy + Default>(items: &mut Vec<T>) -> Result<()> {
    alloc::reserve_exact(items, items.len())?;
    items.resize(2 * items.len(), T::default());
    Ok(())
}
