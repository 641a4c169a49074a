//! Names of files: which names are standard streams, and how names are printed.

use std::path::Path;

/// Returns whether a path names a standard stream.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns whether a path is a file or a folder. The bytes of a stream, a pipe or a device can be read only once.
pub(crate) fn can_be_read_again(path: &Path) -> bool {
    !is_stream(path) && path.metadata().is_ok_and(|found| found.is_file() || found.is_dir())
}

/// Returns the name of a file for a message: control characters are escaped, such as line breaks.
pub(crate) fn shown(path: &Path) -> String {
    escaped(path.to_string_lossy().chars())
}

/// Returns the beginning of a word from a file, for a message.
pub(crate) fn shown_word(word: &str) -> String {
    const MOST: usize = 40;
    escaped(word.chars().take(MOST)) + if word.chars().nth(MOST).is_some() { "…" } else { "" }
}

fn escaped(characters: impl Iterator<Item = char>) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    characters.map(escape).collect()
}
