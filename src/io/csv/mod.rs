//! Tables as text, `.csv`: a record an entry, with a column of labels for each axis and one of values.

mod labelled;
mod read;
mod write;

pub use labelled::{CsvColumns, Labelled};
pub use read::{read_csv, read_csv_from};
pub use write::{write_csv, write_csv_to};

/// No record of a table is longer than this.
const LONGEST_RECORD: usize = 1 << 20;

/// What some programs put before text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Text of a file as a message shows it: not all of it, and nothing that a terminal would obey.
fn shown(text: &[u8]) -> String {
    let start = &text[..text.len().min(80)];
    String::from_utf8_lossy(start).escape_debug().to_string()
}
