//! The names of files: which of them is a standard stream, and how one is told.

use std::path::Path;

/// Whether a path stands for a standard stream.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a path stands for a file or a folder, and not for a stream, a pipe or a device, whose bytes come once.
pub(crate) fn can_be_read_again(path: &Path) -> bool {
    !is_stream(path) && path.metadata().is_ok_and(|found| found.is_file() || found.is_dir())
}

/// The name of a file in a sentence: a line break, or what a terminal obeys, is escaped.
pub(crate) fn shown(path: &Path) -> String {
    escaped(path.to_string_lossy().chars())
}

/// The beginning of a word of a file, in a sentence.
pub(crate) fn shown_word(word: &str) -> String {
    const MOST: usize = 40;
    escaped(word.chars().take(MOST)) + if word.chars().nth(MOST).is_some() { "…" } else { "" }
}

fn escaped(characters: impl Iterator<Item = char>) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    characters.map(escape).collect()
}
