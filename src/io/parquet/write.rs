//! Writing a table: the crate `parquet` encodes pages, and checksums are added here.

use std::io::Write;
use std::mem::take;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Kind, ZstdLevel};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};

use super::columns::{ColumnBits, Columns};
use super::description::{Description, Extent, is_narrow};
use super::layout;
use super::{checks, trailer};
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::element::DType;
use crate::io::compression;
use crate::io::options::WriteOptions;

/// The numbers of rows of a row group, and of a page.
pub(super) const GROUP: usize = 1 << 20;
pub(super) const PAGE: usize = 20 << 10;

/// The divisor of the allowed memory for the rows of a group, and the bytes that these rows may always take.
const PART: u64 = 4;
const MIN_BYTES: u64 = 8 << 20;

/// Writes a tensor as a table.
pub(crate) fn write(writer: &mut dyn Write, columns: &Columns<'_>, options: &WriteOptions) -> Result<()> {
    let mut table = TableWriter::new(columns.described.clone(), Settings::of(&columns.described, options))?;
    let (group, mut from) = (options.rows_of_group(), 0);
    while from < columns.rows {
        let rows = from..columns.rows.min(from + group);
        from = rows.end;
        table.put(columns, rows)?;
        table.end_group(writer)?;
    }
    table.finish(writer).map(|_| ())
}

impl WriteOptions {
    /// Returns the number of entries of a row group.
    pub(super) fn rows_of_group(&self) -> usize {
        self.group_entries.unwrap_or(GROUP).clamp(1, GROUP)
    }

    /// Returns the number of entries of a row group of `columns` columns, which is in memory until it is full.
    pub(super) fn rows_of_group_within(&self, memory: Option<u64>, columns: usize) -> usize {
        let (Some(memory), None) = (memory, self.group_entries) else { return self.rows_of_group() };
        // Incompressible data take eight bytes per row, in a buffer that grows by doubling.
        let bytes_of_row = 2 * size_of::<u64>() * columns.max(1);
        let rows = (memory / PART).max(MIN_BYTES) / bytes_of_row as u64;
        usize::try_from(rows).unwrap_or(GROUP).clamp(PAGE, GROUP)
    }
}

/// The encoding and the compression of columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    indices: Encoding,
    values: Encoding,
    /// The level of zstd; `None` without compression.
    level: Option<i32>,
}

impl Settings {
    pub(super) fn of(described: &Description, options: &WriteOptions) -> Settings {
        let values = match dtype_of(described) {
            DType::Bool => Encoding::RLE,
            // Values repeat in real matrices. zstd detects this only if the bytes of a value are contiguous.
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Encoding::PLAIN,
            DType::Complex64 | DType::Complex128 => Encoding::PLAIN,
            _ => Encoding::DELTA_BINARY_PACKED,
        };
        let level = if options.compression == compression::Compression::None { None } else { Some(3) };
        Settings { indices: Encoding::DELTA_BINARY_PACKED, values, level }
    }
}

/// A table that is written one row group at a time.
pub(super) struct TableWriter {
    file: SerializedFileWriter<Pipe>,
    pipe: Pipe,
    /// The number of bytes that left the pipe.
    written: u64,
    described: Description,
    extent: Extent,
    /// The columns of the incomplete row group, and its number of rows.
    group: Vec<Encoder>,
    rows: usize,
}

impl TableWriter {
    pub(super) fn new(described: Description, settings: Settings) -> Result<TableWriter> {
        let pipe = Pipe::default();
        let schema = Arc::new(schema(&described).map_err(failed)?);
        let properties = Arc::new(properties(&described, settings).map_err(failed)?);
        let file = SerializedFileWriter::new(pipe.clone(), schema, properties).map_err(failed)?;
        Ok(TableWriter { file, pipe, written: 0, described, extent: Extent::default(), group: Vec::new(), rows: 0 })
    }

    /// Returns the number of entries so far.
    pub(super) fn entries(&self) -> u64 {
        self.extent.entries
    }

    /// Returns the number of entries in the incomplete row group.
    pub(super) fn waiting(&self) -> usize {
        self.rows
    }

    /// Adds rows to the row group, all columns at once.
    pub(super) fn put(&mut self, of: &Columns<'_>, rows: Range<usize>) -> Result<()> {
        if self.group.is_empty() {
            let columns = self.file.schema_descr().columns().iter();
            self.group = columns.map(|column| Encoder::new(column, self.file.properties())).collect();
        }
        let (rank, dtype) = (self.described.shape.rank(), dtype_of(&self.described));
        let columns = self.group.iter_mut().zip(&of.columns).enumerate().collect();
        let work = rows.len().saturating_mul(of.columns.len());
        let put = threads::map_each(
            columns,
            work,
            || (),
            |(), (number, (encoder, column))| {
                let wider = (number >= rank).then_some(dtype);
                encoder.put(column.as_ref(), rows.clone(), wider)
            },
        );
        put.into_iter().collect::<Result<()>>()?;
        let _ = self.extent.append(&of.extent(rows.clone())?);
        self.rows += rows.len();
        Ok(())
    }

    /// Writes the row group, if it has any rows.
    pub(super) fn end_group(&mut self, writer: &mut dyn Write) -> Result<()> {
        self.rows = 0;
        let columns = take(&mut self.group);
        if columns.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        for column in columns {
            let (pages, closed) = column.close().map_err(failed)?;
            group.append_column(&pages, closed).map_err(failed)?;
            let bytes = self.pipe.take();
            writer.write_all(&bytes)?;
            self.written += bytes.len() as u64;
        }
        group.close().map(|_| ()).map_err(failed)
    }

    /// Replaces the fill that the description began with.
    pub(super) fn set_fill(&mut self, fill: Option<Vec<u8>>) {
        self.described.fill = fill;
    }

    /// Ends the table, and returns the facts about its entries.
    pub(super) fn finish(mut self, writer: &mut dyn Write) -> Result<Extent> {
        let described = Description { extent: Some(self.extent.clone()), ..self.described };
        for (key, text) in [("lacuna", described.to_lacuna()), ("binsparse", described.to_binsparse())] {
            self.file.append_key_value_metadata(KeyValue::new(key.into(), text));
        }
        self.file.close().map_err(failed)?;
        writer.write_all(&trailer::checked_end(&self.pipe.take(), self.written)?)?;
        Ok(self.extent)
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("extent", &self.extent).finish_non_exhaustive()
    }
}

/// Returns the element type of a table to write, which is always known.
fn dtype_of(described: &Description) -> DType {
    described.dtype.unwrap_or(DType::Bool)
}

/// A column of a row group, whose pages are in memory.
struct Encoder {
    writer: ColumnWriter<'static>,
    pages: Pipe,
    rows: usize,
}

impl Encoder {
    fn new(column: &ColumnDescPtr, properties: &WriterPropertiesPtr) -> Encoder {
        let pages = Pipe::default();
        let paged = Box::new(Paged(TrackedWrite::new(pages.clone())));
        Encoder { writer: get_column_writer(Arc::clone(column), Arc::clone(properties), paged), pages, rows: 0 }
    }

    /// Adds rows of a column. `wider` is the type of the values if they are wider in the file. Rows are passed page by
    /// page, because the crate checks for the end of a page only once per batch.
    fn put(&mut self, column: &dyn ColumnBits, rows: Range<usize>, wider: Option<DType>) -> Result<()> {
        let mut start = rows.start;
        while start < rows.end {
            let page = start..rows.end.min(start + PAGE - self.rows % PAGE);
            (start, self.rows) = (page.end, self.rows + page.len());
            let mut bits = column.bits(page)?;
            if let Some(dtype) = wider {
                widen(dtype, &mut bits);
            }
            write_batch(&mut self.writer, &bits).map_err(failed)?;
        }
        Ok(())
    }

    fn close(self) -> Written<(Bytes, ColumnCloseResult)> {
        let closed = self.writer.close()?;
        Ok((self.pages.take().into(), closed))
    }
}

/// The writer that receives the pages of a column from the crate.
struct Paged(TrackedWrite<Pipe>);

impl PageWriter for Paged {
    fn write_page(&mut self, page: CompressedPage) -> Written<PageWriteSpec> {
        let (header, start) = (checks::page_header(&page)?, self.0.bytes_written());
        self.0.write_all(&header)?;
        self.0.write_all(page.data())?;
        let mut spec = PageWriteSpec::new();
        (spec.page_type, spec.num_values) = (page.page_type(), page.num_values());
        spec.uncompressed_size = page.uncompressed_size() + header.len();
        spec.compressed_size = page.compressed_size() + header.len();
        (spec.offset, spec.bytes_written) = (start as u64, (self.0.bytes_written() - start) as u64);
        Ok(spec)
    }

    fn close(&mut self) -> Written<()> {
        Ok(self.0.flush()?)
    }
}

/// The target of the crate: bytes that the owner of the real writer passes to it. The real writer does not need to be
/// `Send`.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn take(&self) -> Vec<u8> {
        take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn failed(error: ParquetError) -> Error {
    std::io::Error::other(error).into()
}

/// Returns the columns in the schema of the file.
fn schema(described: &Description) -> Written<Type> {
    let axes = described.shape.iter().enumerate().map(|(axis, &length)| {
        let (kind, bits) = if is_narrow(length) { (Kind::INT32, 32) } else { (Kind::INT64, 64) };
        field(&layout::axis_name(axis), kind, Some(LogicalType::integer(bits, false)))
    });
    let (kind, logical) = value_type(dtype_of(described));
    let parts = layout::part_names(dtype_of(described), layout::VALUES);
    let parts = parts.iter().map(|name| field(name, kind, logical.clone()));
    let fields = axes.chain(parts).collect::<Written<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

fn field(name: &str, kind: Kind, logical: Option<LogicalType>) -> Written<Arc<Type>> {
    let length = if kind == Kind::FIXED_LEN_BYTE_ARRAY { 2 } else { -1 };
    let builder = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
    builder.with_length(length).with_logical_type(logical).build().map(Arc::new)
}

fn value_type(dtype: DType) -> (Kind, Option<LogicalType>) {
    let integer = |bits, signed| Some(LogicalType::integer(bits, signed));
    match dtype {
        DType::Bool => (Kind::BOOLEAN, None),
        DType::Int8 => (Kind::INT32, integer(8, true)),
        DType::Int16 => (Kind::INT32, integer(16, true)),
        DType::Int32 => (Kind::INT32, None),
        DType::Int64 => (Kind::INT64, None),
        DType::UInt8 => (Kind::INT32, integer(8, false)),
        DType::UInt16 => (Kind::INT32, integer(16, false)),
        DType::UInt32 => (Kind::INT32, integer(32, false)),
        DType::UInt64 => (Kind::INT64, integer(64, false)),
        DType::Float16 => (Kind::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)),
        DType::BFloat16 | DType::Float32 | DType::Complex64 => (Kind::FLOAT, None),
        DType::Float64 | DType::Complex128 => (Kind::DOUBLE, None),
    }
}

fn properties(described: &Description, settings: Settings) -> Written<WriterProperties> {
    let rank = described.shape.rank();
    let compression = match settings.level {
        Some(level) => Compression::ZSTD(ZstdLevel::try_new(level)?),
        None => Compression::UNCOMPRESSED,
    };
    let sorted = (0..rank).map(|axis| SortingColumn { column_idx: axis as i32, descending: false, nulls_first: false });
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("lacuna ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(compression)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(PAGE)
        .set_max_row_group_row_count(None)
        .set_sorting_columns(Some(sorted.collect()));
    for axis in 0..rank {
        let path = ColumnPath::new(vec![layout::axis_name(axis)]);
        builder = builder.set_column_encoding(path, settings.indices);
    }
    for name in layout::part_names(dtype_of(described), layout::VALUES) {
        let path = ColumnPath::new(vec![name]);
        builder = builder.set_column_encoding(path.clone(), settings.values);
        // Bounds of floats exclude NaN, so readers must not use these bounds to skip rows.
        builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    Ok(builder.build())
}

fn missing_column() -> ParquetError {
    ParquetError::General("the schema has fewer columns than the tensor".into())
}

/// Converts the bits of values to the wider type that the file stores.
pub(super) fn widen(dtype: DType, bits: &mut [u64]) {
    match dtype {
        DType::Int8 => bits.iter_mut().for_each(|bits| *bits = i64::from(*bits as i8) as u64),
        DType::Int16 => bits.iter_mut().for_each(|bits| *bits = i64::from(*bits as i16) as u64),
        DType::BFloat16 => bits.iter_mut().for_each(|bits| *bits <<= 16),
        _ => {}
    }
}

fn write_batch(writer: &mut ColumnWriter<'_>, bits: &[u64]) -> Written<()> {
    fn typed<T>(bits: &[u64], value: impl Fn(u64) -> T) -> Vec<T> {
        bits.iter().map(|&bits| value(bits)).collect()
    }
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => writer.write_batch(&typed(bits, |bits| bits != 0), None, None),
        ColumnWriter::Int32ColumnWriter(writer) => writer.write_batch(&typed(bits, |bits| bits as i32), None, None),
        ColumnWriter::Int64ColumnWriter(writer) => writer.write_batch(&typed(bits, |bits| bits as i64), None, None),
        ColumnWriter::FloatColumnWriter(writer) => {
            writer.write_batch(&typed(bits, |bits| f32::from_bits(bits as u32)), None, None)
        }
        ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(&typed(bits, f64::from_bits), None, None),
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            let halves =
                typed(bits, |bits| FixedLenByteArray::from(ByteArray::from((bits as u16).to_le_bytes().to_vec())));
            writer.write_batch(&halves, None, None)
        }
        _ => return Err(missing_column()),
    }
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_groups_follow_the_memory_and_the_bytes_of_a_row() {
        let (any, of_100) = (WriteOptions::default(), WriteOptions::default().group_entries(100));
        let rows = |memory, columns| any.rows_of_group_within(memory, columns);
        assert_eq!([rows(None, 41), rows(Some(256 << 20), 3), rows(Some(u64::MAX), 66)], [GROUP; 3]);
        assert_eq!(rows(Some(32 << 20), 3), (8 << 20) / 48);
        assert_eq!([rows(Some(0), 41), rows(Some(32 << 20), 41)], [PAGE; 2]);
        assert_eq!(of_100.rows_of_group_within(Some(0), 3), 100);
    }
}
