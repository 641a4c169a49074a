//! Options for reading and writing: format, element type, fill, duplicates and limits.

use std::fmt;

use crate::base::error::{Error, Result};
use crate::base::limit::guard;
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::{Format, no_such};
use crate::element::{DType, Element, Number};
use crate::io::compression::Compression;
use crate::io::element::FileElement;
use crate::io::progress::Progress;
use crate::tensor::triplets::Duplicates;

/// The memory that every reader may use, for any file size: 64 MiB.
const FLOOR: u64 = 64 << 20;

/// The memory of a reader's buffers, as part of the limit for a tensor.
const BUFFERS: u64 = 2 << 20;

/// The bytes for sorting an entry: its key, its index, and its position.
const SORTING: usize = 32;

/// The order of the entries in a file. It determines the memory for reading, and the advice in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryOrder {
    /// All positions are listed; the fill determines which positions are stored.
    Dense,
    /// Strictly increasing in row-major order.
    Increasing,
    /// In any order, so that entries must be sorted.
    Any,
}

/// The options for reading a file.
///
/// By default, the file determines all properties of the tensor.
///
/// # Examples
///
/// ```
/// use lacuna::io::{FileFormat, ReadOptions, read_from};
/// use lacuna::{DType, Duplicates};
///
/// let text = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 3\n1 1 4\n";
/// let options = ReadOptions::default().dtype(DType::Float32).duplicates(Duplicates::Last);
/// let x = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options)?;
/// assert_eq!((x.nnz(), x.dtype()), (1, DType::Float32));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format of the tensor.
    ///
    /// The default is the format of the file: CSR for compressed layouts, otherwise COO. A compressed layout is read as
    /// COO if the offsets of the lanes would need more memory than the limit for the tensor.
    pub format: Option<Format>,
    /// The element type of the tensor.
    ///
    /// The elements of the file are converted. If an element cannot be converted, the reader returns an error.
    pub dtype: Option<DType>,
    /// The fill, as text in the element type of the result.
    ///
    /// For sparse layouts, the fill is the value of unstored positions. The default is zero. For dense layouts, the
    /// fill is the value that is not stored. The default is zero in `.npy`; in a Matrix Market array, all values are
    /// stored by default. If the file states a fill, the reader rejects this option. A file of pydata/sparse without
    /// `fill_value` requires this option.
    pub fill: Option<String>,
    /// The shape of the tensor, for files that do not state a shape, such as `.tns`.
    ///
    /// If the file states a shape, the two shapes must be equal.
    pub shape: Option<Shape>,
    /// The names of the columns of a Parquet table that does not describe a tensor.
    ///
    /// Name the columns of the coordinates first, one per axis, and then the column of the values. The default names
    /// are `indices_0`, `indices_1`, ... and `values`. Complex values are in two columns, `values.re` and `values.im`,
    /// which you name `values`.
    #[cfg(feature = "parquet")]
    pub columns: Option<Vec<String>>,
    /// The rule for repeated entries. By default, their values are added.
    pub duplicates: Duplicates,
    /// The memory limit in bytes.
    ///
    /// The option limits three sizes, each with its own default:
    ///
    /// - the inflated bytes of compressed input: the larger of 64 MiB and 64 times the file;
    /// - the tensor in memory: 64 MiB plus 16 bytes per inflated byte of the file, or 128 bytes per byte of a Parquet
    ///   file;
    /// - an `.npz` or a Parquet file from a stream: no limit.
    pub max_memory: Option<u64>,
    /// The callback that receives the number of bytes read so far.
    pub progress: Option<Progress>,
    /// True if only the header is read, as a tensor without entries.
    pub(crate) only_header: bool,
    /// True if an array stays an array, unless a fill or a format is set.
    #[cfg(feature = "dynamic")]
    pub(crate) keeps_arrays: bool,
}

impl fmt::Debug for ReadOptions {
    /// Shows the options that a user may set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReadOptions");
        shown.field("format", &self.format).field("dtype", &self.dtype).field("fill", &self.fill);
        shown.field("shape", &self.shape);
        #[cfg(feature = "parquet")]
        shown.field("columns", &self.columns);
        shown.field("duplicates", &self.duplicates).field("max_memory", &self.max_memory);
        shown.field("progress", &self.progress).finish()
    }
}

impl ReadOptions {
    /// Sets the format of the tensor.
    pub fn format(self, format: Format) -> Self {
        ReadOptions { format: Some(format), ..self }
    }

    /// Sets the element type, to which the elements of the file are converted.
    ///
    /// If an element cannot be converted, the reader returns an error.
    pub fn dtype(self, dtype: DType) -> Self {
        ReadOptions { dtype: Some(dtype), ..self }
    }

    /// Sets the fill, as text: the value of unstored positions.
    pub fn fill(self, fill: impl Into<String>) -> Self {
        ReadOptions { fill: Some(fill.into()), ..self }
    }

    /// Sets the shape of the tensor, or checks the shape that the file states.
    pub fn shape(self, shape: impl Into<Shape>) -> Self {
        ReadOptions { shape: Some(shape.into()), ..self }
    }

    /// Sets the names of the columns of a Parquet table.
    ///
    /// Name the columns of the coordinates first, one per axis, and then the column of the values. For complex values,
    /// name the column without `.re` and `.im`.
    #[cfg(feature = "parquet")]
    pub fn columns<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        ReadOptions { columns: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the rule for repeated entries.
    pub fn duplicates(self, duplicates: Duplicates) -> Self {
        ReadOptions { duplicates, ..self }
    }

    /// Sets the memory limit in bytes.
    pub fn max_memory(self, bytes: u64) -> Self {
        ReadOptions { max_memory: Some(bytes), ..self }
    }

    /// Sets the callback that receives the number of bytes read so far.
    pub fn progress(self, progress: Progress) -> Self {
        ReadOptions { progress: Some(progress), ..self }
    }

    /// Returns the bytes that `bytes` of compressed input may inflate to.
    pub(crate) fn inflated_limit(&self, bytes: u64) -> u64 {
        self.max_memory.unwrap_or_else(|| FLOOR.max(bytes.saturating_mul(64)))
    }

    /// Returns the bytes that a tensor read from `bytes` of input may take in memory.
    pub(crate) fn tensor_limit(&self, bytes: u64) -> u64 {
        self.max_memory.unwrap_or_else(|| FLOOR.saturating_add(bytes.saturating_mul(16)))
    }

    /// Returns the bytes that a tensor may take if `held` other bytes are in memory at the same time. A limit set by
    /// the user is not reduced.
    pub(crate) fn tensor_budget(&self, bytes: u64, held: u64) -> u64 {
        let taken = self.max_memory.map_or(held.saturating_add(BUFFERS), |_| 0);
        self.tensor_limit(bytes).saturating_sub(taken)
    }

    /// Rejects `count` entries if they need more than `limit` bytes. The coordinates of an entry take `coords` bytes. A
    /// limit set by the user applies only to the tensor. The default limit also applies to the work: sorting entries,
    /// or values in another type.
    pub(crate) fn guard_entries<T>(&self, count: usize, coords: usize, order: EntryOrder, limit: u64) -> Result<()> {
        self.guard_entries_of(size_of::<T>(), count, coords, order, limit)
    }

    /// Runs [`guard_entries`](ReadOptions::guard_entries) for values of `value` bytes each.
    pub(crate) fn guard_entries_of(
        &self,
        value: usize,
        count: usize,
        coords: usize,
        order: EntryOrder,
        limit: u64,
    ) -> Result<()> {
        let sorting = if order == EntryOrder::Any { SORTING + value } else { 0 };
        let bytes = match self.max_memory {
            Some(_) => coords.saturating_add(value),
            None => coords.saturating_add(value + self.value_size().max(sorting)),
        };
        let instead = match order {
            EntryOrder::Dense => "raise --max-memory, or for a dense file name its most frequent value with --fill",
            EntryOrder::Increasing | EntryOrder::Any => "raise --max-memory (ReadOptions::max_memory)",
        };
        guard::<u8>("the tensor of this file", count.saturating_mul(bytes) as u128, limit, instead)
    }

    /// Returns the bytes of a value in the requested type; 0 if no type is requested.
    fn value_size(&self) -> usize {
        self.dtype.map_or(0, |dtype| dispatch_dtype!(dtype, T => size_of::<T>(), else => 0))
    }

    /// Returns the fill for a file of `T`: the value of this type that equals the requested fill exactly. Returns
    /// `None` if no value of the type equals the fill.
    ///
    /// # Errors
    ///
    /// `Format`: the text is not a value of the result's type.
    pub(crate) fn fill_in<T: Element>(&self) -> Result<Option<T>> {
        let Some(text) = &self.fill else {
            return Ok(Some(T::ZERO));
        };
        let dtype = self.dtype.unwrap_or(T::DTYPE);
        let found = T::from_number(number_of(dtype, text)?);
        Ok(found.filter(|found| is_number_of(dtype, text, found.to_number())))
    }

    /// Returns these options with the given element type and format.
    pub(crate) fn typed(self, dtype: DType, format: Format) -> Self {
        ReadOptions { dtype: Some(dtype), format: Some(format), ..self }
    }

    /// Rejects a size above the limit set by the user, if any.
    pub(crate) fn check_memory(&self, what: &'static str, bytes: u128) -> Result<()> {
        match self.max_memory {
            Some(limit) if bytes > u128::from(limit) => {
                Err(Error::TooLarge { what, bytes, limit, instead: "raise --max-memory (ReadOptions::max_memory)" })
            }
            _ => Ok(()),
        }
    }
}

/// Parses a fill.
pub(crate) fn parse_fill<T: FileElement>(text: &str) -> Result<T> {
    T::parse(text).ok_or_else(|| Error::Format {
        place: "the fill".into(),
        message: format!("`{text}` is not a value of type {}", T::DTYPE),
    })
}

/// Parses a text as a value of the given type.
fn number_of(dtype: DType, text: &str) -> Result<Number> {
    dispatch_dtype!(dtype, T => parse_fill::<T>(text).map(Element::to_number), else => Err(no_such(dtype)))
}

/// Returns whether a text denotes the given number in the given type.
fn is_number_of(dtype: DType, text: &str, number: Number) -> bool {
    dispatch_dtype!(dtype, T => {
        let same = |fill: T| T::from_number(number).is_some_and(|found| found.same(fill));
        parse_fill::<T>(text).is_ok_and(same)
    }, else => false)
}

/// Returns the check whether a type has a value for a number.
pub(crate) fn holds(dtype: DType) -> fn(Number) -> bool {
    dispatch_dtype!(dtype, T => |number| T::from_number(number).is_some(), else => |_| true)
}

/// The options for writing a file.
///
/// # Examples
///
/// ```
/// use lacuna::io::{AnyTensor, Compression, FileFormat, ReadOptions, WriteOptions, read_from, write_to};
/// use lacuna::CooTensor;
///
/// let x = AnyTensor::from(CooTensor::new([2, 2], vec![vec![1], vec![0]], vec![7i64], 0)?.with_index::<u64>()?);
/// let options = WriteOptions::default().compression(Compression::Gzip);
/// let mut bytes = Vec::new();
/// write_to(&mut bytes, FileFormat::MatrixMarket, &x, &options)?;
/// assert!(bytes.starts_with(&[0x1f, 0x8b]));
/// assert!(read_from(&bytes[..], FileFormat::MatrixMarket, &ReadOptions::default())?.same_as(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The maximum number of bytes of a dense file, `.npy`.
    ///
    /// The default is the larger of 1 GiB and 16 times the bytes of the tensor.
    pub max_memory: Option<u64>,
    /// The compression of the file.
    pub compression: Compression,
    /// The number of entries after which a part of a Parquet folder ends. The default is 16 Mi.
    ///
    /// A part consists of complete row groups, so a part may have more entries.
    #[cfg(feature = "parquet")]
    pub part_entries: Option<usize>,
    /// The number of entries of a Parquet row group. The default and the maximum are 1 Mi.
    ///
    /// [`Dataset::pieces`](crate::io::Dataset::pieces) holds at most one row group in memory at a time.
    #[cfg(feature = "parquet")]
    pub group_entries: Option<usize>,
    /// The callback that receives the number of bytes written so far.
    pub progress: Option<Progress>,
}

impl WriteOptions {
    /// Sets the maximum number of bytes of a dense file, `.npy`.
    pub fn max_memory(self, bytes: u64) -> Self {
        WriteOptions { max_memory: Some(bytes), ..self }
    }

    /// Sets the number of entries after which a part of a Parquet folder ends.
    #[cfg(feature = "parquet")]
    pub fn part_entries(self, count: usize) -> Self {
        WriteOptions { part_entries: Some(count), ..self }
    }

    /// Sets the number of entries of a Parquet row group.
    #[cfg(feature = "parquet")]
    pub fn group_entries(self, count: usize) -> Self {
        WriteOptions { group_entries: Some(count), ..self }
    }

    /// Sets the compression.
    pub fn compression(self, compression: Compression) -> Self {
        WriteOptions { compression, ..self }
    }

    /// Sets the callback that receives the number of bytes written so far.
    pub fn progress(self, progress: Progress) -> Self {
        WriteOptions { progress: Some(progress), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of 10 entries of `f32` on three axes, as the error reports the bytes.
    fn bytes(options: &ReadOptions, order: EntryOrder) -> u128 {
        match options.guard_entries::<f32>(10, 3 * 8, order, 9) {
            Err(crate::Error::TooLarge { bytes, limit: 9, .. }) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_limit_that_was_asked_for_is_one_for_the_tensor_and_any_other_for_the_work_as_well() {
        let plain = ReadOptions::default();
        let typed = |dtype| ReadOptions { dtype: Some(dtype), ..ReadOptions::default() };
        for (options, dense, sorted) in [
            (&plain, 10 * (3 * 8 + 4), 10 * (3 * 8 + 4 + 32 + 4)),
            (&typed(DType::Float64), 10 * (3 * 8 + 4 + 8), 10 * (3 * 8 + 4 + 32 + 4)),
            (&typed(DType::Complex128), 10 * (3 * 8 + 4 + 16), 10 * (3 * 8 + 4 + 32 + 4)),
        ] {
            assert_eq!([EntryOrder::Dense, EntryOrder::Increasing].map(|order| bytes(options, order)), [dense; 2]);
            assert_eq!(bytes(options, EntryOrder::Any), sorted);
        }
        let limited = ReadOptions { max_memory: Some(1 << 30), ..typed(DType::Complex128) };
        assert_eq!(bytes(&limited, EntryOrder::Any), 10 * (3 * 8 + 4));
        assert!(plain.guard_entries::<f32>(10, 3 * 8, EntryOrder::Dense, 280).is_ok());
        assert!(plain.guard_entries::<f32>(10, 3 * 8, EntryOrder::Dense, 279).is_err());
        assert!(plain.guard_entries::<f32>(usize::MAX, usize::MAX, EntryOrder::Any, u64::MAX - 1).is_err());
    }

    #[test]
    fn what_is_held_already_leaves_a_smaller_budget() {
        let plain = ReadOptions::default();
        assert_eq!(plain.tensor_limit(100), (64 << 20) + 1600);
        assert_eq!(plain.tensor_budget(100, 500), (62 << 20) + 1100);
        assert_eq!(plain.tensor_budget(0, u64::MAX), 0);
        assert_eq!([plain.inflated_limit(100), plain.inflated_limit(2 << 20)], [64 << 20, 128 << 20]);
        let limited = ReadOptions { max_memory: Some(7), ..ReadOptions::default() };
        assert_eq!([limited.tensor_limit(100), limited.tensor_budget(100, 500), limited.inflated_limit(100)], [7; 3]);
    }
}
