//! Writing: to a path or a stream, tensors of static or dynamic types.

use std::io::{BufWriter, Write};
use std::path::Path;

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
use crate::tensor::erased::SparseRef;

/// Writes a tensor to the file at `path`, in the format that its extension names; all or nothing. A `.gz` after the
/// extension asks for gzip.
///
/// With the feature `parquet`, a path that ends in a separator, or a `.parquet` that is a folder, becomes a folder of
/// tables: see [`DatasetWriter`](crate::io::DatasetWriter).
///
/// # Errors
///
/// - `Io`: the file cannot be written;
/// - `Format`: the extension names no format;
/// - `NotRepresentable`: the format cannot hold the tensor; one that can is named;
/// - `TooLarge`: the dense file would have more bytes than [`WriteOptions::max_memory`].
///
/// An error leaves no file behind, and one that was there as it was.
#[doc(alias = "mmwrite")]
#[doc(alias = "save_npz")]
#[doc(alias = "save")]
pub fn write(path: impl AsRef<Path>, tensor: &impl FileTensor, options: &WriteOptions) -> Result<()> {
    write_file(path.as_ref(), tensor, options)
}

/// Writes a file; not generic, so that it is compiled only with the library.
fn write_file(path: &Path, tensor: &dyn FileTensor, options: &WriteOptions) -> Result<()> {
    let format =
        FileFormat::from_path(path).ok_or_else(|| unknown_format("the extension names none; name it with write_to"))?;
    let options = WriteOptions { compression: options.compression.for_path(path), ..options.clone() };
    #[cfg(feature = "parquet")]
    if format == FileFormat::Parquet && parquet::names_folder(path) {
        let mut writer = parquet::DatasetWriter::create(path, &options)?;
        tensor.push_to(&mut writer)?;
        return writer.finish();
    }
    save(path, |file| write_stream(file, format, tensor, &options))
}

/// Writes a tensor to a stream, compressed as [`WriteOptions::compression`] says.
///
/// # Errors
///
/// Those of [`write()`]; what was written before the error stays.
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
    // The first of several errors is reported: the others follow from it.
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

/// The tensors that a file can hold: of either format, of types known at compile time, and [`AnyTensor`]. The trait is
/// sealed.
pub trait FileTensor: Sealed {
    /// Writes the tensor; the caller compresses the bytes, or not.
    #[doc(hidden)]
    fn write_plain(&self, writer: &mut dyn Write, format: FileFormat, options: &WriteOptions) -> Result<()>;

    /// Pushes the tensor as a chunk.
    #[cfg(feature = "parquet")]
    #[doc(hidden)]
    fn push_to(&self, writer: &mut parquet::DatasetWriter) -> Result<()>;
}

#[cfg(feature = "parquet")]
impl parquet::DatasetWriter {
    /// Writes the entries of `piece` behind those that were pushed before.
    ///
    /// # Errors
    ///
    /// - `ShapeMismatch`, `TypesDiffer`, `FillsDiffer`: the piece is of another shape, element type or fill than the
    ///   first one; `NotSorted`: its first entry does not come behind the last one; then the piece is not there, and
    ///   others may be pushed;
    /// - `Io`, `OutOfMemory`: writing failed; then there is no going on.
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
