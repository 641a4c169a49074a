//! Files: Matrix Market (`.mtx`), FROSTT (`.tns`), `.npy` and `.npz`, read and written.
//!
//! [`read`] gives an [`AnyTensor`], whose format and element type are those of the file unless [`ReadOptions`] ask for
//! others; [`write()`] takes one. [`dispatch!`](crate::dispatch!) runs generic code on it.
//!
//! | file | read | written |
//! | --- | --- | --- |
//! | `.mtx` | coordinate and array; all fields and symmetries; vectors and tensors too | matrices with a fill of zero |
//! | `.tns` | any rank, with the shape given, found or kept in a comment; values may be left out | any rank with a fill of zero |
//! | `.npy` | any rank, both byte orders, C and Fortran order | the dense array, below a limit |
//! | `.npz` | scipy's csr, csc, coo; pydata/sparse's COO and GCXS | scipy's for a matrix with a fill of zero, else pydata's |
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
mod entries;
mod fields;
mod lines;
mod mtx;
mod npy;
mod npz;
mod options;
mod print;
mod save;
mod tns;

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::Path;

#[doc(hidden)]
pub use any::types;
pub use any::{AnyFormat, AnyTensor, Format};
pub use element::{FileElement, parse_number};
pub use options::{ReadOptions, WriteOptions};
pub use save::save;

use crate::error::{Error, Result};

/// The most axes that a file may have, as numpy has it: each entry costs memory for each axis.
pub(crate) const MOST_AXES: usize = 64;

/// The formats of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Matrix Market, `.mtx`.
    MatrixMarket,
    /// FROSTT's sparse tensors as text, `.tns`.
    Tns,
    /// A dense array of numpy, `.npy`.
    Npy,
    /// An archive of arrays, `.npz`, as scipy and pydata/sparse lay it out.
    Npz,
}

impl FileFormat {
    /// All of them.
    pub const ALL: [FileFormat; 4] = [FileFormat::MatrixMarket, FileFormat::Tns, FileFormat::Npy, FileFormat::Npz];

    /// The extension of such files: `mtx`, `tns`, `npy`, `npz`.
    pub const fn name(self) -> &'static str {
        match self {
            FileFormat::MatrixMarket => "mtx",
            FileFormat::Tns => "tns",
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

    /// The format that the extension of a path names.
    pub fn from_path(path: impl AsRef<Path>) -> Option<FileFormat> {
        FileFormat::from_name(path.as_ref().extension()?.to_str()?)
    }

    /// The format that the first bytes of a file tell.
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

/// Reads the file at `path`, in the format that its extension names or else its first bytes tell.
///
/// # Errors
///
/// - `Io`: the file cannot be read;
/// - `Format`: it is not what its format demands; the line, or the member and field, is named;
/// - `TooLarge`: it would take more memory than [`ReadOptions::max_memory`] allows;
/// - those of [`Triplets::coalesce`](crate::Triplets::coalesce) and of [`AnyTensor::cast`], as the options ask for.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyTensor> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(&path)?);
    match FileFormat::from_path(&path).or(FileFormat::from_first_bytes(reader.fill_buf()?)) {
        Some(FileFormat::Npz) => npz::read(reader, options),
        Some(format) => read_buffered(reader, format, options),
        None => {
            Err(unknown_format("neither the extension nor the first bytes tell it; name it with --from, read_from"))
        }
    }
}

/// Reads a stream in the format named. An `.npz` archive is read to its end first, because its table stands there.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_from(reader: impl Read, format: FileFormat, options: &ReadOptions) -> Result<AnyTensor> {
    read_buffered(BufReader::with_capacity(1 << 16, reader), format, options)
}

fn read_buffered(mut reader: impl BufRead, format: FileFormat, options: &ReadOptions) -> Result<AnyTensor> {
    match format {
        FileFormat::MatrixMarket => {
            let (tensor, bytes) = mtx::read::<u64>(reader, options)?;
            options.finish(tensor.into(), Format::Coo, bytes)
        }
        FileFormat::Tns => {
            let (tensor, bytes) = tns::read::<u64>(reader, options)?;
            options.finish(tensor.into(), Format::Coo, bytes)
        }
        FileFormat::Npy => npy::read(reader, options),
        FileFormat::Npz => {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            npz::read(Cursor::new(bytes), options)
        }
    }
}

/// The error for a file whose format is unknown: `message`, with the extensions that are known.
fn unknown_format(message: &str) -> Error {
    let names = FileFormat::ALL.map(FileFormat::name).join(", .");
    Error::Format { place: "the format".into(), message: format!("{message} (known are .{names})") }
}

/// Writes a tensor to the file at `path`, in the format that its extension names; all or nothing.
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
    save(path, |file| write_to(file, format, tensor, options))
}

/// Writes a tensor to a stream.
///
/// # Errors
///
/// Those of [`write()`]; what was written before the error stays.
pub fn write_to(writer: impl Write, format: FileFormat, tensor: &AnyTensor, options: &WriteOptions) -> Result<()> {
    let mut writer = BufWriter::new(writer);
    match format {
        FileFormat::MatrixMarket => mtx::write(&mut writer, tensor)?,
        FileFormat::Tns => tns::write(&mut writer, tensor)?,
        FileFormat::Npy => npy::write(&mut writer, tensor, options)?,
        FileFormat::Npz => npz::write(&mut writer, tensor)?,
    }
    Ok(writer.flush()?)
}
