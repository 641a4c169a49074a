//! The form of records: their longest length, and the mark before the first one.

/// The maximum length of a record in bytes.
pub(super) const LONGEST_RECORD: usize = 1 << 20;

/// The byte order mark that some programs write before UTF-8 text.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the beginning of a text for a message, with control characters escaped.
pub(super) fn quote_bytes(text: &[u8]) -> String {
    let start = &text[..text.len().min(80)];
    String::from_utf8_lossy(start).escape_debug().to_string()
}
