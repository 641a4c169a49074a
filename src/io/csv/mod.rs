//! Tables as text, `.csv`: a record per entry, with a column of labels per axis and a column of values.

mod labelled;
mod read;
mod write;

pub use labelled::{CsvColumns, Labelled};
pub use read::{read_csv, read_csv_from};
pub use write::{write_csv, write_csv_to};

/// The maximum length of a record in bytes.
const LONGEST_RECORD: usize = 1 << 20;

/// The byte order mark that some programs write before UTF-8 text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the beginning of a text for a message, with control characters escaped.
fn shown(text: &[u8]) -> String {
    let start = &text[..text.len().min(80)];
    String::from_utf8_lossy(start).escape_debug().to_string()
}
