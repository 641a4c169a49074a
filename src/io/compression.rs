//! Compression of files.

use std::path::Path;

/// Returns whether the extension of a path is `.gz`.
pub(crate) fn names_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// How a file that is written is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// As the name of the file tells: by gzip where it ends in `.gz`; the members of an `.npz` are deflated, and all
    /// else is written as it is.
    #[default]
    Usual,
    /// Not at all, the members of an `.npz` neither; by gzip still where the name ends in `.gz`.
    None,
    /// By gzip, whatever the name; the members of an `.npz` are deflated.
    Gzip,
}

impl Compression {
    /// This one for a file of that name.
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
