//! Reading: from a path or a stream, as a tensor of dynamic or static types.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::ops::Range;
use std::path::Path;

use ndarray::SliceInfoElem;

use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::dispatch;
#[cfg(feature = "dynamic")]
use crate::dynamic::{AnyArray, AnyValue};
use crate::dynamic::{AnyTensor, Format};
use crate::io::element::FileElement;
use crate::io::entries::TextFile;
use crate::io::file_format::{FileFormat, unknown_format};
use crate::io::limits::BLOCK;
use crate::io::options::ReadOptions;
#[cfg(feature = "parquet")]
use crate::io::parquet;
use crate::io::progress::Watched;
use crate::io::{gzip, mtx, npy, npz, tns};
use crate::ops::{moved, planned_select};
use crate::pattern::IndexKind;
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;

/// The number of bytes that are read to detect the format of a stream.
const HEAD: u64 = 4096;

/// Reads the file at `path` as a tensor.
///
/// The extension names the format. Without a known extension, the first bytes of the file determine the format. The
/// first bytes also show whether the file is compressed with gzip. With the feature `parquet`, `path` may be a folder
/// of tables.
///
/// # Errors
///
/// - `Io`: the file cannot be read;
/// - `Format`: the file violates its format; the error names the line, or the member and field;
/// - `ShapeMismatch`: the shape of the tensor differs from [`ReadOptions::shape`];
/// - `TooLarge`: the tensor needs more memory than [`ReadOptions::max_memory`] allows;
/// - `OutOfMemory`, or `Io` of that kind: an allocation fails;
/// - the errors of [`Triplets::coalesce`](crate::Triplets::coalesce), if the entries are not in row-major order;
/// - the errors of [`AnyTensor::cast`], if [`ReadOptions::dtype`] is set.
#[doc(alias = "mmread")]
#[doc(alias = "load_npz")]
#[doc(alias = "load")]
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyTensor> {
    read_any(path.as_ref(), options)
}

/// Reads a file. The function is not generic, so it is compiled only with the library.
fn read_any(path: &Path, options: &ReadOptions) -> Result<AnyTensor> {
    Content::of_path(path, options, IndexKind::narrowest())?.into_any(options)
}

/// Reads the file at `path` as an operand of expressions.
///
/// A `.npy` file is an array, unless the options name a fill or a format. Any other file is the tensor that [`read`]
/// returns.
///
/// # Errors
///
/// The errors of [`read`].
///
/// # Examples
///
/// ```
/// use lacuna::dynamic::AnyValue;
/// use lacuna::io::{ReadOptions, read_operand};
///
/// let array = read_operand("tests/data/titanic.npy", &ReadOptions::default())?;
/// assert!(matches!(array, AnyValue::Array(_)));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[cfg(feature = "dynamic")]
pub fn read_operand(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyValue> {
    let options = ReadOptions { keeps_arrays: true, ..options.clone() };
    Content::of_path(path.as_ref(), &options, IndexKind::narrowest())?.into_value(&options)
}

/// Reads a stream as an operand of expressions, as [`read_operand`] does for a file.
///
/// If `format` is `None`, the first bytes determine the format.
///
/// # Errors
///
/// The errors of [`read_from`].
#[cfg(feature = "dynamic")]
pub fn read_operand_from(
    mut reader: impl Read,
    format: impl Into<Option<FileFormat>>,
    options: &ReadOptions,
) -> Result<AnyValue> {
    let options = ReadOptions { keeps_arrays: true, ..options.clone() };
    content_from(&mut reader, format.into(), &options)?.into_value(&options)
}

/// Returns the tensor that [`read`] would return, without its entries.
///
/// Shape, element type, fill and format come from the header of the file at `path`. The entries are neither read nor
/// checked. [`ReadOptions::progress`] is not called.
///
/// # Errors
///
/// - `Io`: the file cannot be read;
/// - `Format`: the header violates its format, or the format does not have a header (`.tns`);
/// - the errors of [`read`] that an option causes.
///
/// # Examples
///
/// ```
/// use lacuna::io::{ReadOptions, read_header};
///
/// let friends = read_header("tests/data/karate.mtx", &ReadOptions::default())?;
/// assert_eq!((friends.shape().to_vec(), friends.nnz()), (vec![34, 34], 0));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn read_header(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyTensor> {
    read_any(path.as_ref(), &ReadOptions { only_header: true, progress: None, ..options.clone() })
}

/// Reads the part of a tensor within `ranges`, with one range per axis.
///
/// The result is the same as a slice of the tensor that [`read`] returns. The coordinates of the result are relative to
/// the start of each range.
///
/// In a `.parquet` file, a row group or a page is skipped if its bounds show that all its entries are outside the
/// ranges. lacuna compares each page that it reads with the checksum of the page, if there is one. Any other file is
/// first read in full.
///
/// # Errors
///
/// - the errors of [`read`];
/// - `RankMismatch`: the number of ranges differs from the rank of the tensor;
/// - `SliceOutOfRange`: a range is out of the range of its axis.
///
/// # Examples
///
/// ```
/// use lacuna::io::{ReadOptions, read_slice};
///
/// let corner = read_slice("tests/data/karate.mtx", &[0..3, 0..34], &ReadOptions::default())?;
/// assert_eq!((corner.shape().to_vec(), corner.nnz()), (vec![3, 34], 35));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn read_slice(path: impl AsRef<Path>, ranges: &[Range<usize>], options: &ReadOptions) -> Result<AnyTensor> {
    read_any_slice(path.as_ref(), ranges, options)
}

fn read_any_slice(path: &Path, ranges: &[Range<usize>], options: &ReadOptions) -> Result<AnyTensor> {
    #[cfg(feature = "parquet")]
    if path.is_dir() {
        return parquet::Dataset::open(path, options)?.read_slice(ranges);
    }
    #[cfg(feature = "parquet")]
    if is_parquet(path).map_err(|error| error.in_file(path))? {
        let reader = Watched::new(File::open(path)?, &options.progress);
        return parquet::read_slice(reader, ranges, options).map_err(|error| error.in_file(path));
    }
    let end = |range: &Range<usize>| isize::try_from(range.end).unwrap_or(isize::MAX);
    let start = |range: &Range<usize>| isize::try_from(range.start).unwrap_or(isize::MAX);
    let slices: Vec<SliceInfoElem> = ranges
        .iter()
        .map(|range| SliceInfoElem::Slice { start: start(range), end: Some(end(range)), step: 1 })
        .collect();
    let x = read_any(path, options)?;
    let slice = moved::sliced(x.shape(), &slices)?;
    let limit = default_limit(x.stored_bytes());
    dispatch!(&x, x => Ok(planned_select(x.sparse(), &slice, limit)?.into()))
}

/// Returns whether a file is a Parquet table, by its extension, otherwise by its first bytes.
#[cfg(feature = "parquet")]
fn is_parquet(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut head)?;
    let format = FileFormat::from_path(path).or(FileFormat::from_first_bytes(&head));
    Ok(format == Some(FileFormat::Parquet))
}

/// Reads a stream as a tensor.
///
/// If `format` is `None`, the first bytes determine the format. The first bytes also show whether the stream is
/// compressed with gzip. An `.npz` archive or a Parquet file is first read to its end, because its directory is there.
///
/// # Errors
///
/// The errors of [`read`].
pub fn read_from(
    mut reader: impl Read,
    format: impl Into<Option<FileFormat>>,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    read_any_from(&mut reader, format.into(), options)
}

fn read_any_from(reader: &mut dyn Read, format: Option<FileFormat>, options: &ReadOptions) -> Result<AnyTensor> {
    content_from(reader, format, options)?.into_any(options)
}

fn content_from(reader: &mut dyn Read, format: Option<FileFormat>, options: &ReadOptions) -> Result<Content> {
    let mut reader = BufReader::with_capacity(BLOCK, Watched::new(reader, &options.progress));
    let unknown = "the first bytes do not show it";
    Content::of_stream(&mut reader, (0, format, unknown), options, IndexKind::narrowest())
}

/// Reads the file at `path` as a tensor in coordinate format, of static types.
///
/// The element type and the format in the options are ignored. Text is read directly into coordinates of type `I`, so
/// `u32` coordinates never need the memory of wider coordinates.
///
/// # Errors
///
/// - the errors of [`read`];
/// - `AxisTooLong`: an axis is too long for `I`.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{ReadOptions, read_coo};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.mtx");
/// let friends: CooTensor<bool> = read_coo(path, &ReadOptions::default())?;
/// assert_eq!((friends.nnz(), friends.get(&[0, 33])?), (156, false));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "mmread")]
#[doc(alias = "load_npz")]
pub fn read_coo<T: FileElement, I: Index>(path: impl AsRef<Path>, options: &ReadOptions) -> Result<CooTensor<T, I>> {
    let options = options.clone().typed(T::DTYPE, Format::Coo);
    match Content::of_path(path.as_ref(), &options, IndexKind::of::<I>())? {
        Content::Text(tensor, _) => Tensor::from_erased(options.finish_typed::<T>(tensor)?),
        Content::Other(tensor) => tensor.into_coo(),
        #[cfg(feature = "dynamic")]
        Content::Array(array) => array.from_dense()?.into_coo(),
    }
}

/// Reads the file at `path` as a tensor in compressed format, of static types.
///
/// The element type and the format in the options are ignored.
///
/// # Errors
///
/// - the errors of [`read_coo`];
/// - `TooLarge`: the offsets of the lanes need more memory than [`ReadOptions::max_memory`] allows.
///
/// # Examples
///
/// ```
/// use lacuna::CsrTensor;
/// use lacuna::io::{ReadOptions, read_csr};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate_csr.npz");
/// let friends: CsrTensor<f64> = read_csr(path, &ReadOptions::default())?;
/// assert_eq!(friends.lane_values(11), [1.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "mmread")]
#[doc(alias = "load_npz")]
pub fn read_csr<T: FileElement, I: Index>(path: impl AsRef<Path>, options: &ReadOptions) -> Result<CsrTensor<T, I>> {
    let options = options.clone().typed(T::DTYPE, Format::Csr);
    match Content::of_path(path.as_ref(), &options, IndexKind::of::<I>())? {
        Content::Text(tensor, bytes) => {
            let tensor = options.finish_typed::<T>(tensor)?;
            let limit = options.tensor_budget(bytes, tensor.stored_bytes() as u64);
            Tensor::from_erased(tensor.in_format(Format::Csr, limit)?)
        }
        Content::Other(tensor) => tensor.into_csr(),
        #[cfg(feature = "dynamic")]
        Content::Array(array) => array.from_dense()?.into_csr(),
    }
}

/// The contents of a file.
///
/// - Text: the entries, and the number of bytes of the file;
/// - Other: a finished tensor;
/// - Array: a dense array.
enum Content {
    Text(TextFile, u64),
    Other(AnyTensor),
    #[cfg(feature = "dynamic")]
    Array(AnyArray),
}

impl Content {
    fn into_any(self, options: &ReadOptions) -> Result<AnyTensor> {
        match self {
            Content::Text(text, bytes) => options.finish_text(text, bytes),
            Content::Other(tensor) => Ok(tensor),
            #[cfg(feature = "dynamic")]
            Content::Array(array) => array.from_dense(),
        }
    }

    /// Returns the value of an operand.
    #[cfg(feature = "dynamic")]
    fn into_value(self, options: &ReadOptions) -> Result<AnyValue> {
        match self {
            Content::Array(array) => Ok(array.into()),
            tensor => tensor.into_any(options).map(Into::into),
        }
    }

    fn of_path(path: &Path, options: &ReadOptions, index: IndexKind) -> Result<Self> {
        Self::of_file(path, options, index).map_err(|error| error.in_file(path))
    }

    fn of_file(path: &Path, options: &ReadOptions, index: IndexKind) -> Result<Self> {
        #[cfg(feature = "parquet")]
        if path.is_dir() {
            return parquet::Dataset::open(path, options)?.read().map(Content::Other);
        }
        let (named, file) = (FileFormat::from_path(path), File::open(path)?);
        let metadata = file.metadata()?;
        let mut reader = BufReader::with_capacity(BLOCK, Watched::new(file, &options.progress));
        let head = reader.fill_buf()?;
        let format = named.or(FileFormat::from_first_bytes(head));
        if metadata.is_file() && !gzip::is_gzip(head) {
            match format {
                Some(FileFormat::Npz) => {
                    let head = head[..head.len().min(HEAD as usize)].to_vec();
                    return npz::read_file(&head, reader.into_inner(), options).map(Content::Other);
                }
                #[cfg(feature = "parquet")]
                Some(FileFormat::Parquet) => {
                    return parquet::read_file(reader.into_inner(), options).map(Content::Other);
                }
                _ => {}
            }
        }
        let length = if metadata.is_file() { metadata.len() } else { 0 };
        let unknown = "neither the extension nor the first bytes show it";
        Self::of_stream(&mut reader, (length, named, unknown), options, index)
    }

    /// Reads a stream of at least `length` bytes, and inflates gzip data.
    ///
    /// `unknown` is the message for an unknown format.
    fn of_stream(
        reader: &mut dyn BufRead,
        (length, named, unknown): (u64, Option<FileFormat>, &str),
        options: &ReadOptions,
        index: IndexKind,
    ) -> Result<Self> {
        let (head, mut reader) = peek(reader)?;
        if !gzip::is_gzip(&head) {
            return Self::of_plain(
                &mut reader,
                (named.or(FileFormat::from_first_bytes(&head)), unknown),
                options,
                index,
            );
        }
        let mut inflated = BufReader::with_capacity(BLOCK, gzip::Inflater::new(reader, length, options));
        let (head, mut inflated) = peek(&mut inflated)?;
        match named.or(FileFormat::from_first_bytes(&head)) {
            Some(format) if format.is_archive() => Err(gzip::archive_error(format)),
            format => Self::of_plain(&mut inflated, (format, unknown), options, index),
        }
    }

    /// Reads an uncompressed stream.
    fn of_plain(
        reader: &mut dyn BufRead,
        (format, unknown): (Option<FileFormat>, &str),
        options: &ReadOptions,
        index: IndexKind,
    ) -> Result<Self> {
        let text = |(tensor, bytes)| Content::Text(tensor, bytes);
        match format {
            Some(FileFormat::MatrixMarket) => mtx::read(reader, options, index).map(text),
            Some(FileFormat::Tns) => tns::read(reader, options, index).map(text),
            #[cfg(feature = "dynamic")]
            Some(FileFormat::Npy) if options.keeps_arrays && options.fill.is_none() && options.format.is_none() => {
                npy::read_array(&mut &mut *reader, options).map(Content::Array)
            }
            Some(FileFormat::Npy) => npy::read(&mut &mut *reader, options).map(Content::Other),
            Some(FileFormat::Npz) => {
                let (head, mut reader) = peek(reader)?;
                npz::read_stream(&head, &mut reader, options).map(Content::Other)
            }
            #[cfg(feature = "parquet")]
            Some(FileFormat::Parquet) => parquet::read_stream(reader, options).map(Content::Other),
            None => {
                Err(unknown_format(&format!("{unknown}; name it with --from (read_from); read tables with read_csv")))
            }
        }
    }
}

/// Returns the first bytes of a stream, and the stream including these bytes.
fn peek(reader: &mut dyn BufRead) -> Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::new();
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}
