//! Files: Matrix Market (`.mtx`), `.npy` and `.npz`, read and written.
//!
//! [`read`] gives an [`AnyTensor`], whose format and element type are those of the file unless [`ReadOptions`] ask for
//! others; [`write()`] takes one. [`dispatch!`](crate::dispatch!) runs generic code on it.
//!
//! | file | read | written |
//! | --- | --- | --- |
//! | `.mtx` | coordinate and array; all fields and symmetries; vectors and tensors too | matrices with a fill of zero |
//! | `.npy` | any rank, both byte orders, C and Fortran order | the dense array, below a limit |
//! | `.npz` | scipy's csr, csc, coo; pydata/sparse's COO and GCXS | scipy's for a matrix with a fill of zero, else pydata's |
//!
//! Text and `.npy` files may be compressed with gzip (`.mtx.gz`, `.npy.gz`): a reader knows by the first bytes, a writer by
//! the extension or by [`WriteOptions::compression`].
//!
//! A reader trusts nothing in a header: memory grows with the bytes that arrive, never with a number that is claimed,
//! and what is wrong is an [`Error::Format`] that names the line, or the member and field.
//! A writer to a path is all or nothing: it writes aside and renames.
//!
//! # Examples
//!
//! ```
//! use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read_from, write_to};
//!
//! let text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 3 nan\n";
//! let x = read_from(text.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())?;
//! assert_eq!((x.nnz(), *x.shape() == [3, 3]), (3, true));
//!
//! let mut archive = Vec::new();
//! write_to(&mut archive, FileFormat::Npz, &x, &WriteOptions::default())?;
//! let back = read_from(&archive[..], FileFormat::Npz, &ReadOptions::default())?;
//! assert!(back.same_as(&x));
//! # Ok::<(), lacuna::Error>(())
//! ```

mod any;
mod element;
mod gzip;
mod lines;
mod mtx;
mod npy;
mod npz;
mod options;
mod progress;
mod save;

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::Path;

use progress::Watched;

#[doc(hidden)]
pub use any::types;
pub use any::{AnyFormat, AnyTensor, Format};
pub use element::{FileElement, parse_number};
pub use options::{Compression, ReadOptions, WriteOptions};
pub use progress::Progress;
pub use save::save;

use crate::error::{Error, Result};

/// The most axes that a file may have, as numpy has it: each entry costs memory for each axis.
pub(crate) const MOST_AXES: usize = 64;

/// The bytes that are read or written at once.
const BLOCK: usize = 1 << 16;

/// The bytes that are looked at to tell what a stream is.
const HEAD: u64 = 4096;

/// The formats of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Matrix Market, `.mtx`.
    MatrixMarket,
    /// A dense array of numpy, `.npy`.
    Npy,
    /// An archive of arrays, `.npz`, as scipy and pydata/sparse lay it out.
    Npz,
}

impl FileFormat {
    /// All of them.
    pub const ALL: [FileFormat; 3] = [FileFormat::MatrixMarket, FileFormat::Npy, FileFormat::Npz];

    /// The extension of such files: `mtx`, `npy`, `npz`.
    pub const fn name(self) -> &'static str {
        match self {
            FileFormat::MatrixMarket => "mtx",
            FileFormat::Npy => "npy",
            FileFormat::Npz => "npz",
        }
    }

    /// The format of that extension, in either case.
    ///
    /// ```
    /// use lacuna::io::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_name("NPZ"), Some(FileFormat::Npz));
    /// assert_eq!(FileFormat::from_name("csv"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<FileFormat> {
        FileFormat::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// The format that the extension of a path names. A `.gz` after it is looked through, but for `.npz`, which is
    /// compressed by itself.
    ///
    /// ```
    /// use lacuna::io::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_path("x.mtx.gz"), Some(FileFormat::MatrixMarket));
    /// assert_eq!(FileFormat::from_path("x.npz.gz"), None);
    /// ```
    pub fn from_path(path: impl AsRef<Path>) -> Option<FileFormat> {
        let path = path.as_ref();
        let of = |path: &Path| FileFormat::from_name(path.extension()?.to_str()?);
        match gzip::names_gzip(path) {
            false => of(path),
            true => of(Path::new(path.file_stem()?)).filter(|&format| format != FileFormat::Npz),
        }
    }

    /// The format that the first bytes of a file tell. Those of gzip tell none; [`read_from`] looks behind them.
    ///
    /// ```
    /// use lacuna::io::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_first_bytes(b"%%MatrixMarket matrix"), Some(FileFormat::MatrixMarket));
    /// assert_eq!(FileFormat::from_first_bytes(b"1 2 3"), None);
    /// ```
    pub fn from_first_bytes(bytes: &[u8]) -> Option<FileFormat> {
        let word = bytes.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or(b"");
        match bytes {
            _ if mtx::is_magic(word) => Some(FileFormat::MatrixMarket),
            _ if bytes.starts_with(npy::MAGIC) => Some(FileFormat::Npy),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(FileFormat::Npz),
            _ => None,
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads the file at `path`, in the format that its extension names or else its first bytes tell. Whether it is
/// compressed with gzip, the first bytes tell.
///
/// # Errors
///
/// - `Io`: the file cannot be read;
/// - `Format`: it is not what its format demands; the line, or the member and field, is named;
/// - `TooLarge`: it would take more memory than [`ReadOptions::max_memory`] allows;
/// - those of [`Triplets::coalesce`](crate::Triplets::coalesce) and of [`AnyTensor::cast`], as the options ask for.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyTensor> {
    let (named, file) = (FileFormat::from_path(&path), File::open(&path)?);
    let can_seek = file.metadata()?.is_file();
    let mut reader = BufReader::with_capacity(BLOCK, Watched::new(file, &options.progress));
    let head = reader.fill_buf()?;
    let format = named.or(FileFormat::from_first_bytes(head));
    if can_seek && format == Some(FileFormat::Npz) && !gzip::is_gzip(head) {
        return npz::read(reader, 0, options);
    }
    read_stream(&mut reader, named, "neither the extension nor the first bytes tell it", options)
}

/// Reads a stream in the format named, or for `None` in the one that its first bytes tell. Whether it is compressed with
/// gzip, the first bytes tell. An `.npz` archive is read to its end first, because its table stands there.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_from(reader: impl Read, format: impl Into<Option<FileFormat>>, options: &ReadOptions) -> Result<AnyTensor> {
    let mut reader = BufReader::with_capacity(BLOCK, Watched::new(reader, &options.progress));
    read_stream(&mut reader, format.into(), "the first bytes do not tell it", options)
}

/// Reads a stream, inflated where it is gzip; `untold` says why no format is known.
fn read_stream(
    reader: &mut dyn BufRead,
    named: Option<FileFormat>,
    untold: &str,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let (head, mut reader) = peek(reader)?;
    if !gzip::is_gzip(&head) {
        return read_plain(&mut reader, named.or(FileFormat::from_first_bytes(&head)), untold, options);
    }
    let mut inflated = BufReader::with_capacity(BLOCK, gzip::Inflater::new(reader, options));
    let (head, mut inflated) = peek(&mut inflated)?;
    match named.or(FileFormat::from_first_bytes(&head)) {
        Some(FileFormat::Npz) => Err(gzip::refused_archive()),
        format => read_plain(&mut inflated, format, untold, options),
    }
}

/// The first bytes of a stream, and the stream with them.
fn peek(reader: &mut dyn BufRead) -> Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::new();
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

/// Reads a stream that is not compressed.
fn read_plain(
    reader: &mut dyn BufRead,
    format: Option<FileFormat>,
    untold: &str,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    match format {
        Some(FileFormat::MatrixMarket) => mtx::read(reader, options),
        Some(FileFormat::Npy) => npy::read(reader, options),
        Some(FileFormat::Npz) => {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            bytes.shrink_to_fit();
            let held = bytes.len() as u64;
            npz::read(Cursor::new(bytes), held, options)
        }
        None => Err(unknown_format(&format!("{untold}; name it with --from, read_from"))),
    }
}

/// The error for a file whose format is unknown: `message`, with the extensions that are known.
fn unknown_format(message: &str) -> Error {
    let names = FileFormat::ALL.map(FileFormat::name).join(", .");
    Error::Format { place: "the format".into(), message: format!("{message} (known are .{names})") }
}

/// Writes a tensor to the file at `path`, in the format that its extension names; all or nothing. A `.gz` after the
/// extension asks for gzip.
///
/// # Errors
///
/// - `Io`: the file cannot be written;
/// - `Format`: the extension names no format;
/// - `NotRepresentable`: the format cannot hold the tensor; one that can is named;
/// - `TooLarge`: the dense file would have more bytes than [`WriteOptions::max_memory`].
///
/// An error leaves no file behind, and one that was there as it was.
pub fn write(path: impl AsRef<Path>, tensor: &AnyTensor, options: &WriteOptions) -> Result<()> {
    let format = FileFormat::from_path(&path)
        .ok_or_else(|| unknown_format("the extension names none; name it with write_to"))?;
    let options = WriteOptions { compression: options.compression.for_path(&path), ..options.clone() };
    save(path, |file| write_to(file, format, tensor, &options))
}

/// Writes a tensor to a stream, compressed as [`WriteOptions::compression`] says.
///
/// # Errors
///
/// Those of [`write()`]; what was written before the error stays.
pub fn write_to(writer: impl Write, format: FileFormat, tensor: &AnyTensor, options: &WriteOptions) -> Result<()> {
    let mut target = Watched::new(writer, &options.progress);
    let written = write_watched(&mut target, format, tensor, options);
    // Of several errors the first is told: the others follow from it.
    target.failure().map_or(written, Err)
}

fn write_watched(target: impl Write, format: FileFormat, tensor: &AnyTensor, options: &WriteOptions) -> Result<()> {
    let mut writer = BufWriter::with_capacity(BLOCK, target);
    if options.compression == Compression::Gzip && format != FileFormat::Npz {
        let mut deflater = gzip::deflater(&mut writer);
        write_plain(&mut deflater, format, tensor, options)?;
        deflater.finish()?;
    } else {
        write_plain(&mut writer, format, tensor, options)?;
    }
    Ok(writer.flush()?)
}

/// Writes a tensor that is compressed elsewhere, or not.
fn write_plain(
    mut writer: &mut dyn Write,
    format: FileFormat,
    tensor: &AnyTensor,
    options: &WriteOptions,
) -> Result<()> {
    match format {
        FileFormat::MatrixMarket => mtx::write(&mut writer, tensor),
        FileFormat::Npy => npy::write(&mut writer, tensor, options),
        FileFormat::Npz => npz::write(writer, tensor, options),
    }
}
