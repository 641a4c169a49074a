//! Writing tensors with labels as tables.

use std::io::{BufWriter, Write};
use std::path::Path;

use super::labelled::{CsvColumns, Labelled};
use super::record::{LONGEST_RECORD, MARK};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::io::compression::Compression;
use crate::io::element::FileElement;
use crate::io::gzip;
use crate::io::labels::Labels;
use crate::io::limits::{BLOCK, MAX_AXES};
use crate::io::options::WriteOptions;
use crate::io::progress::Watched;
use crate::io::save::save;
use crate::tensor::erased::SparseRef;

/// Writes a table with labels to the `.csv` file at `path`.
///
/// Each entry is a record with its labels and its value, in the named columns. If the extension is followed by `.gz`,
/// the file is compressed with gzip. The file appears only if writing succeeds.
///
/// [`read_csv`](crate::io::read_csv) reads the same elements at the same labels. `read_csv` numbers the labels again,
/// in the order of their first use. Labels without entries are lost.
///
/// # Errors
///
/// - `Io`: the file cannot be written;
/// - `Argument`: `columns` does not have one name per axis, has a repeated name, or does not name a column;
/// - `Argument`: the tensor has more than 64 axes, or an entry does not have a label on each axis;
/// - `Argument`: the delimiter is a quote or a line end;
/// - `NotRepresentable`: the fill is not zero, or a record is longer than 1 MiB;
/// - `NotRepresentable`: a value is not 1, and `columns` does not name a column of values.
///
/// After an error, no new file exists, and an existing file is unchanged.
///
/// # Examples
///
/// ```
/// use lacuna::io::{CsvColumns, Labelled, ReadOptions, WriteOptions, read_csv_from, write_csv};
///
/// let text = "city,day,n\nRoma,1,5\n\"Oslo, Norge\",1,7\n";
/// let columns = CsvColumns::new(["city", "day"]).value("n");
/// let table: Labelled<i64> = read_csv_from(text.as_bytes(), &columns, &ReadOptions::default())?;
/// let path = std::env::temp_dir().join("lacuna-write-csv-example.csv");
/// write_csv(&path, &table, &columns, &WriteOptions::default())?;
/// assert_eq!(std::fs::read_to_string(&path)?, text);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "to_csv")]
pub fn write_csv<T: FileElement, I: Index>(
    path: impl AsRef<Path>,
    table: &Labelled<T, I>,
    columns: &CsvColumns,
    options: &WriteOptions,
) -> Result<()> {
    let path = path.as_ref();
    let options = WriteOptions { compression: options.compression.for_path(path), ..options.clone() };
    save(path, |file| write_csv_to(file, table, columns, &options))
}

/// Writes a table with labels to a stream, like [`write_csv`].
///
/// [`WriteOptions::compression`] sets the compression.
///
/// # Errors
///
/// The errors of [`write_csv`]. The stream keeps the bytes that were written before the error.
pub fn write_csv_to<T: FileElement, I: Index>(
    writer: impl Write,
    table: &Labelled<T, I>,
    columns: &CsvColumns,
    options: &WriteOptions,
) -> Result<()> {
    let table = &LabelledTable { x: table.tensor.sparse(), labels: &table.labels };
    check(table, columns)?;
    let mut target = Watched::new(writer, &options.progress);
    let written = write_watched(&mut target, table, columns, options);
    // If there are several errors, the first error is reported, because it causes the later errors.
    target.failure().map_or(written, Err)
}

/// A table without the type of its coordinates.
struct LabelledTable<'a, T> {
    x: SparseRef<'a, T>,
    labels: &'a [Labels],
}

fn write_watched<T: FileElement>(
    target: &mut dyn Write,
    table: &LabelledTable<'_, T>,
    columns: &CsvColumns,
    options: &WriteOptions,
) -> Result<()> {
    let mut writer = BufWriter::with_capacity(BLOCK, target);
    if options.compression == Compression::Gzip {
        let mut deflater = gzip::deflater(&mut writer);
        write_records(&mut deflater, table, columns)?;
        deflater.finish()?;
    } else {
        write_records(&mut writer, table, columns)?;
    }
    Ok(writer.flush()?)
}

fn rejection(why: String) -> Error {
    Error::Argument { operation: "write_csv", why }
}

/// Rejects a table that a reader would read as a different table.
fn check<T: FileElement>(table: &LabelledTable<'_, T>, columns: &CsvColumns) -> Result<()> {
    let (rank, x) = (table.x.shape().rank(), &table.x);
    if columns.axes.len() != rank || table.labels.len() != rank || rank > MAX_AXES {
        let (named, labelled) = (columns.axes.len(), table.labels.len());
        return Err(rejection(format!(
            "{named} column names and {labelled} lists of labels for {rank} axes; pass one of each per axis, at most \
             {MAX_AXES}"
        )));
    }
    let names: Vec<&String> = columns.axes.iter().chain(&columns.value).collect();
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(rejection(format!("two columns have the name {:?}", names[at])));
    }
    if names.is_empty() || matches!(columns.delimiter, b'"' | b'\n' | b'\r') {
        return Err(rejection(
            "a table must have a column, and the delimiter must not be a quote or a line break".into(),
        ));
    }
    let rejected = |what: String, instead| Err(Error::NotRepresentable { format: ".csv", what, instead });
    if !x.fill().same(T::ZERO) {
        return rejected(
            format!("the fill {}, because its unstored positions are zeros", x.fill().to_number()),
            "leave these out with with_fill(0), or write .npz",
        );
    }
    match x.values().iter().find(|value| columns.value.is_none() && !value.same(T::ONE)) {
        Some(value) => {
            rejected(format!("the value {} without a value column", value.to_number()), "name one with value()")
        }
        None => Ok(()),
    }
}

fn write_records<T: FileElement>(
    writer: &mut dyn Write,
    table: &LabelledTable<'_, T>,
    columns: &CsvColumns,
) -> Result<()> {
    let mut record = Record { text: Vec::new(), delimiter: columns.delimiter };
    columns.axes.iter().chain(&columns.value).for_each(|name| record.push(name.as_bytes()));
    record.write(writer)?;
    let (mut outcome, mut value) = (Ok(()), Vec::new());
    table.x.pattern().walk_range(0..table.x.nnz(), &mut |entry, coords| {
        outcome = labels_of(table.labels, coords, &mut |label| record.push(label.as_bytes()));
        if columns.value.is_some() {
            value.clear();
            table.x.values()[entry].print(&mut value);
            record.push(&value);
        }
        outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| record.write(writer));
        outcome.is_ok()
    });
    outcome
}

/// Passes the labels of a position to `visit`.
fn labels_of(labels: &[Labels], coords: &[usize], visit: &mut dyn FnMut(&str)) -> Result<()> {
    for (axis, (labels, &coord)) in labels.iter().zip(coords).enumerate() {
        let none = || rejection(format!("axis {axis} has no label for position {coord}, which has an entry"));
        visit(labels.label(coord).ok_or_else(none)?);
    }
    Ok(())
}

/// A record under construction.
struct Record {
    text: Vec<u8>,
    delimiter: u8,
}

impl Record {
    /// Appends a field, with quotes if necessary. An empty field has quotes, because an empty record would be a blank
    /// line.
    fn push(&mut self, field: &[u8]) {
        if !self.text.is_empty() {
            self.text.push(self.delimiter);
        }
        let is_special = |byte: &u8| *byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        if !field.is_empty() && !field.iter().any(is_special) && !field.starts_with(MARK) {
            self.text.extend_from_slice(field);
            return;
        }
        self.text.push(b'"');
        for &byte in field {
            self.text.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
        }
        self.text.push(b'"');
    }

    /// Writes the record, and begins the next record.
    fn write(&mut self, writer: &mut dyn Write) -> Result<()> {
        self.text.push(b'\n');
        if self.text.len() > LONGEST_RECORD {
            let what = format!("a record of {} bytes, above {LONGEST_RECORD}", self.text.len());
            return Err(Error::NotRepresentable { format: ".csv", what, instead: "shorten its labels" });
        }
        writer.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}
