//! Writing: to a path or a stream, tensors of static or dynamic types.

use std::io::{BufWriter, Write};
use std::path::Path;

use ndarray::{ArrayBase, Data, Dimension};

use crate::base::error::Result;
use crate::base::sealed::Sealed;
use crate::dispatch;
use crate::dynamic::AnyTensor;
use crate::io::compression::Compression;
use crate::io::element::FileElement;
use crate::io::file_format::{FileFormat, unknown_format};
use crate::io::limits::BLOCK;
use crate::io::options::WriteOptions;
#[cfg(feature = "parquet")]
use crate::io::parquet;
use crate::io::progress::Watched;
use crate::io::save::save;
use crate::io::values::values_of;
use crate::io::{gzip, mtx, npy, npz, tns};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::erased::SparseRef;

/// Writes a tensor or an array to the file at `path`, in the format of its extension.
///
/// Formats other than `.npy` store only the elements of an array that are not 0. `-0.0` is stored.
///
/// If the extension is followed by `.gz`, the file is compressed with gzip. The file appears only if writing succeeds.
///
/// With the feature `parquet`, the tensor is written as a folder of tables if the path ends in a separator. The same
/// applies if the path names an existing folder with the extension `.parquet`. See
/// [`DatasetWriter`](crate::io::DatasetWriter).
///
/// # Errors
///
/// - `Io`: the file cannot be written;
/// - `Format`: the extension does not name a format;
/// - `NotRepresentable`: the format does not support the tensor. The error names an alternative;
/// - `TooLarge`: the dense file would be larger than [`WriteOptions::max_memory`];
/// - `OutOfMemory`: an allocation fails.
///
/// After an error, no new file exists, and an existing file is unchanged.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{ReadOptions, WriteOptions, read_coo, write};
///
/// # let path = std::env::temp_dir().join(format!("lacuna-write-{}.npy", std::process::id()));
/// let scores = ndarray::arr1(&[0.5, 0.0, 2.0]);
/// write(&path, &scores, &WriteOptions::default())?; // numpy: np.load
/// let x: CooTensor<f64> = read_coo(&path, &ReadOptions::default())?;
/// assert_eq!(x.to_dense()?, scores.into_dyn());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "mmwrite")]
#[doc(alias = "save_npz")]
#[doc(alias = "save")]
pub fn write(path: impl AsRef<Path>, tensor: &impl FileTensor, options: &WriteOptions) -> Result<()> {
    write_file(path.as_ref(), tensor, options)
}

/// Writes a file. The function is not generic, so it is compiled only with the library.
fn write_file(path: &Path, tensor: &dyn FileTensor, options: &WriteOptions) -> Result<()> {
    let format =
        FileFormat::from_path(path).ok_or_else(|| unknown_format("the extension does not name one; use write_to"))?;
    let options = WriteOptions { compression: options.compression.for_path(path), ..options.clone() };
    #[cfg(feature = "parquet")]
    if format == FileFormat::Parquet && parquet::names_folder(path) {
        let mut writer = parquet::DatasetWriter::create(path, &options)?;
        tensor.push_to(&mut writer)?;
        return writer.finish();
    }
    save(path, |file| write_stream(file, format, tensor, &options))
}

/// Writes a tensor to a stream.
///
/// [`WriteOptions::compression`] sets the compression.
///
/// # Errors
///
/// The errors of [`write()`]. The stream keeps the bytes that were written before the error.
pub fn write_to(
    mut writer: impl Write,
    format: FileFormat,
    tensor: &impl FileTensor,
    options: &WriteOptions,
) -> Result<()> {
    write_stream(&mut writer, format, tensor, options)
}

fn write_stream(
    writer: &mut dyn Write,
    format: FileFormat,
    tensor: &dyn FileTensor,
    options: &WriteOptions,
) -> Result<()> {
    let mut target = Watched::new(writer, &options.progress);
    let written = write_watched(&mut target, format, tensor, options);
    // If there are several errors, the first error is reported, because it causes the later errors.
    target.failure().map_or(written, Err)
}

fn write_watched(
    target: &mut dyn Write,
    format: FileFormat,
    tensor: &dyn FileTensor,
    options: &WriteOptions,
) -> Result<()> {
    let mut writer = BufWriter::with_capacity(BLOCK, target);
    if options.compression == Compression::Gzip && !format.is_archive() {
        let mut deflater = gzip::deflater(&mut writer);
        tensor.write_plain(&mut deflater, format, options)?;
        deflater.finish()?;
    } else {
        tensor.write_plain(&mut writer, format, options)?;
    }
    Ok(writer.flush()?)
}

/// The tensors that can be written to files.
///
/// These are [`Tensor`] in both formats, [`AnyTensor`], and arrays of `ndarray`.
///
/// The trait is sealed.
pub trait FileTensor: Sealed {
    /// Writes the tensor; the caller may compress the bytes.
    #[doc(hidden)]
    fn write_plain(&self, writer: &mut dyn Write, format: FileFormat, options: &WriteOptions) -> Result<()>;

    /// Pushes the tensor as a chunk.
    #[cfg(feature = "parquet")]
    #[doc(hidden)]
    fn push_to(&self, writer: &mut parquet::DatasetWriter) -> Result<()>;
}

#[cfg(feature = "parquet")]
impl parquet::DatasetWriter {
    /// Writes the entries of `piece` after the entries that were pushed before.
    ///
    /// # Errors
    ///
    /// - `ShapeMismatch`: the shape differs from the shape of the first chunk;
    /// - `TypesDiffer`: the element type differs from the type of the first chunk;
    /// - `FillsDiffer`: the chunk has an unstored position, and its fill differs from the fill of the earlier chunks;
    /// - `NotSorted`: the first entry of the chunk does not follow the last entry of the earlier chunks;
    /// - `NotRepresentable`: the rank is above 64;
    /// - `Io`: the file cannot be written;
    /// - `OutOfMemory`: an allocation fails;
    /// - `Argument`: an earlier call failed while it was writing.
    ///
    /// If writing fails, the writer rejects further chunks with `Argument`. If a chunk is rejected before it is
    /// written, you can push another chunk.
    pub fn push(&mut self, piece: &impl FileTensor) -> Result<()> {
        piece.push_to(self)
    }
}

impl FileTensor for AnyTensor {
    fn write_plain(&self, writer: &mut dyn Write, format: FileFormat, options: &WriteOptions) -> Result<()> {
        dispatch!(self, x => x.write_plain(writer, format, options))
    }

    #[cfg(feature = "parquet")]
    fn push_to(&self, writer: &mut parquet::DatasetWriter) -> Result<()> {
        dispatch!(self, x => x.push_to(writer))
    }
}

impl<P: Pattern, T: FileElement> FileTensor for Tensor<P, T> {
    fn write_plain(&self, writer: &mut dyn Write, format: FileFormat, options: &WriteOptions) -> Result<()> {
        write_as(writer, format, self.sparse(), options)
    }

    #[cfg(feature = "parquet")]
    fn push_to(&self, writer: &mut parquet::DatasetWriter) -> Result<()> {
        writer.push_columns(&parquet::Columns::of(self.sparse())?)
    }
}

// Formats that list entries store only the elements that are not 0.
impl<T: FileElement, S: Data<Elem = T>, D: Dimension> FileTensor for ArrayBase<S, D> {
    fn write_plain(&self, writer: &mut dyn Write, format: FileFormat, options: &WriteOptions) -> Result<()> {
        match format {
            FileFormat::Npy => npy::write_array(writer, self, options),
            _ => CooTensor::<T, u64>::from_dense_with_index(self, T::ZERO)?.write_plain(writer, format, options),
        }
    }

    #[cfg(feature = "parquet")]
    fn push_to(&self, writer: &mut parquet::DatasetWriter) -> Result<()> {
        CooTensor::<T, u64>::from_dense_with_index(self, T::ZERO)?.push_to(writer)
    }
}

/// Writes a tensor in a file format. All formats except the archive are the same for COO and CSR.
fn write_as<T: FileElement>(
    writer: &mut dyn Write,
    format: FileFormat,
    x: SparseRef<'_, T>,
    options: &WriteOptions,
) -> Result<()> {
    let (pattern, values) = (x.pattern(), values_of(x));
    match format {
        FileFormat::MatrixMarket => mtx::write(writer, pattern, &values),
        FileFormat::Tns => tns::write(writer, pattern, &values),
        FileFormat::Npy => npy::write(writer, pattern, &values, options),
        FileFormat::Npz => npz::write(writer, pattern, &values, options),
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => parquet::write(writer, &parquet::Columns::of(x)?, options),
    }
}

impl Sealed for AnyTensor {}
