//! The causes of errors of reading and writing.

use std::fmt;
use std::sync::Arc;

/// The cause of an [`Error::Io`](super::Error::Io), shared so that errors can be cloned.
///
/// Two causes are equal if their kinds and messages are equal.
#[derive(Debug, Clone)]
pub struct IoSource(Arc<std::io::Error>);

impl IoSource {
    pub(super) fn new(error: std::io::Error) -> Self {
        IoSource(Arc::new(error))
    }

    /// Returns the original error.
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
