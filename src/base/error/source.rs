//! Errors of reading and writing, and errors that travel through [`std::io`].

use std::fmt;
use std::sync::Arc;

use super::Error;

/// What an [`Error::Io`] comes from, shared so that errors can be cloned. Two are equal if they say the same.
#[derive(Debug, Clone)]
pub struct IoSource(Arc<std::io::Error>);

impl IoSource {
    /// The error as it came.
    pub fn io_error(&self) -> &std::io::Error {
        &self.0
    }
}

impl PartialEq for IoSource {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind() == other.0.kind() && self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for IoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for IoSource {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

#[cfg(feature = "io")]
impl Error {
    /// The same error, which names the file if it is one of reading or writing and names none yet.
    pub(crate) fn in_file(self, file: &std::path::Path) -> Self {
        match self {
            Error::Io { kind, message, path: None, source } if !file.as_os_str().is_empty() => {
                Error::Io { kind, message, path: Some(file.to_path_buf()), source }
            }
            error => error,
        }
    }
}

/// An error that travelled through [`std::io`] comes out as it went in; any other is an [`Error::Io`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        error.downcast::<Error>().unwrap_or_else(|error| Error::Io {
            kind: error.kind(),
            message: error.to_string(),
            path: None,
            source: Some(IoSource(Arc::new(error))),
        })
    }
}

/// For readers and writers that [`std::io`] calls: the error is inside, and [`Error::from`] takes it out again.
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
