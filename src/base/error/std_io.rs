//! Errors of reading and writing, and errors that pass through [`std::io`].

use super::Error;
use super::source::IoSource;

#[cfg(feature = "io")]
impl Error {
    /// Returns the same error with the name of the file. Only [`Error::Io`] without a file name changes.
    pub(crate) fn in_file(self, file: &std::path::Path) -> Self {
        match self {
            Error::Io { kind, message, path: None, source } if !file.as_os_str().is_empty() => {
                Error::Io { kind, message, path: Some(file.to_path_buf()), source }
            }
            error => error,
        }
    }
}

/// Returns an [`Error`] that passed through [`std::io`] unchanged. Any other error becomes an [`Error::Io`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        error.downcast::<Error>().unwrap_or_else(|error| Error::Io {
            kind: error.kind(),
            message: error.to_string(),
            path: None,
            source: Some(IoSource::new(error)),
        })
    }
}

/// Wraps the error for readers and writers that [`std::io`] calls. [`Error::from`] unwraps it.
///
/// ```
/// use lacuna::Error;
///
/// let error = Error::Format { place: "line 3".into(), message: "it ends early".into() };
/// assert_eq!(Error::from(std::io::Error::from(error.clone())), error);
/// ```
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { kind, .. } => *kind,
            Error::TooLarge { .. } => std::io::ErrorKind::QuotaExceeded,
            Error::OutOfMemory { .. } => std::io::ErrorKind::OutOfMemory,
            _ => std::io::ErrorKind::InvalidData,
        };
        std::io::Error::new(kind, error)
    }
}
