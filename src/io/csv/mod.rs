//! Tables as text, `.csv`: one record per entry, one column of labels per axis, and one column of values.

mod labelled;
mod read;
mod record;
mod write;

pub use labelled::{CsvColumns, Labelled};
pub use read::{read_csv, read_csv_from};
pub use write::{write_csv, write_csv_to};
