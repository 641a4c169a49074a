//! File formats, and their detection from names and first bytes.

use std::fmt;
use std::path::Path;

use crate::base::error::Error;
use crate::io::compression::names_gzip;
use crate::io::{mtx, npy, npz};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Matrix Market, `.mtx`.
    MatrixMarket,
    /// FROSTT's textual format of sparse tensors, `.tns`.
    Tns,
    /// A dense array of numpy, `.npy`.
    Npy,
    /// An archive of arrays in the layout of scipy or pydata/sparse, `.npz`.
    Npz,
    /// A table with one row per entry, `.parquet`, or a folder of such tables.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl FileFormat {
    /// All formats.
    #[cfg(not(feature = "parquet"))]
    pub const ALL: [FileFormat; 4] = [FileFormat::MatrixMarket, FileFormat::Tns, FileFormat::Npy, FileFormat::Npz];

    /// All formats.
    #[cfg(feature = "parquet")]
    pub const ALL: [FileFormat; 5] =
        [FileFormat::MatrixMarket, FileFormat::Tns, FileFormat::Npy, FileFormat::Npz, FileFormat::Parquet];

    /// Returns the extension: `mtx`, `tns`, `npy`, `npz` or `parquet`.
    pub const fn name(self) -> &'static str {
        match self {
            FileFormat::MatrixMarket => "mtx",
            FileFormat::Tns => "tns",
            FileFormat::Npy => "npy",
            FileFormat::Npz => "npz",
            #[cfg(feature = "parquet")]
            FileFormat::Parquet => "parquet",
        }
    }

    /// Returns the format with the given extension, in upper or lower case.
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

    /// Returns whether such files contain compressed data, with an index at their end. These files are read at any
    /// position. A stream is first read to its end, and gzip data are rejected.
    pub(crate) fn is_archive(self) -> bool {
        !matches!(self, FileFormat::MatrixMarket | FileFormat::Tns | FileFormat::Npy)
    }

    /// Returns the format that the extension of a path names.
    ///
    /// A `.gz` after the extension is ignored. The endings `.npz.gz` and `.parquet.gz` do not name a format, because
    /// these formats have their own compression. With the feature `parquet`, a path that ends in a separator names a
    /// folder of tables.
    ///
    /// ```
    /// use lacuna::io::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_path("x.mtx.gz"), Some(FileFormat::MatrixMarket));
    /// assert_eq!(FileFormat::from_path("x.npz.gz"), None);
    /// ```
    pub fn from_path(path: impl AsRef<Path>) -> Option<FileFormat> {
        let path = path.as_ref();
        #[cfg(feature = "parquet")]
        if path.to_string_lossy().ends_with(std::path::is_separator) {
            return Some(FileFormat::Parquet);
        }
        let of = |path: &Path| FileFormat::from_name(path.extension()?.to_str()?);
        match names_gzip(path) {
            false => of(path),
            true => of(Path::new(path.file_stem()?)).filter(|format| !format.is_archive()),
        }
    }

    /// Returns the format that the first bytes of a file indicate.
    ///
    /// The first bytes of gzip data do not indicate a format. [`read_from`](crate::io::read_from) therefore inflates
    /// gzip data first.
    ///
    /// ```
    /// use lacuna::io::FileFormat;
    ///
    /// assert_eq!(FileFormat::from_first_bytes(b"%%MatrixMarket matrix"), Some(FileFormat::MatrixMarket));
    /// assert_eq!(FileFormat::from_first_bytes(b"1 2 3"), None);
    /// ```
    pub fn from_first_bytes(bytes: &[u8]) -> Option<FileFormat> {
        let word = bytes.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or(b"");
        if mtx::is_magic(word) {
            Some(FileFormat::MatrixMarket)
        } else if let Some(format) = of_parquet(bytes) {
            Some(format)
        } else if bytes.starts_with(npy::MAGIC) {
            Some(FileFormat::Npy)
        } else {
            npz::is_archive(bytes).then_some(FileFormat::Npz)
        }
    }
}

#[cfg(feature = "parquet")]
fn of_parquet(bytes: &[u8]) -> Option<FileFormat> {
    bytes.starts_with(crate::io::parquet::MAGIC).then_some(FileFormat::Parquet)
}

#[cfg(not(feature = "parquet"))]
fn of_parquet(_: &[u8]) -> Option<FileFormat> {
    None
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the error for a file of unknown format: `message`, followed by the known extensions.
pub(crate) fn unknown_format(message: &str) -> Error {
    let names = FileFormat::ALL.map(FileFormat::name).join(", .");
    Error::Format { place: "the format".into(), message: format!("{message} (known formats: .{names})") }
}
