//! Compression of files.

use std::path::Path;

/// Returns whether the extension of a path is `.gz`.
pub(crate) fn names_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The compression of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// The compression that the file name implies.
    ///
    /// A file whose name ends in `.gz` is compressed with gzip. The members of an `.npz` are deflated, and Parquet
    /// files are compressed with zstd. Other files are not compressed.
    #[default]
    Usual,
    /// No compression, also for the members of an `.npz` and for Parquet files.
    ///
    /// A file whose name ends in `.gz` is still compressed with gzip.
    None,
    /// Gzip for any file name, except for `.npz` and Parquet.
    ///
    /// The members of an `.npz` are deflated, and Parquet files are compressed with zstd.
    Gzip,
}

impl Compression {
    /// Returns gzip if the file name ends in `.gz`, otherwise this compression.
    ///
    /// ```
    /// use lacuna::io::Compression;
    ///
    /// assert_eq!(Compression::Usual.for_path("x.mtx.gz"), Compression::Gzip);
    /// assert_eq!(Compression::None.for_path("x.mtx"), Compression::None);
    /// ```
    pub fn for_path(self, path: impl AsRef<Path>) -> Compression {
        if names_gzip(path.as_ref()) { Compression::Gzip } else { self }
    }
}
