//! The names of files: which of them is a standard stream, and how one is told.

use std::path::Path;

/// Whether a path stands for a standard stream.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of a file in a sentence: a line break, or what a terminal obeys, is escaped.
pub(crate) fn shown(path: &Path) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    path.to_string_lossy().chars().map(escaped).collect()
}
