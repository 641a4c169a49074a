//! `.parquet`: a table with one row per entry (coordinates and value), or a folder of such tables.
//!
//! Footers, page headers and pages are read here; the crate `parquet` only encodes them. For any bytes, a reader must
//! not panic, and must not allocate memory for entries that only a header claims. For a damaged value, the reader must
//! return an error and not another value (`docs/decisions/0017-parquet.md`).

#[cfg(feature = "arrow")]
mod arrow;
mod checks;
mod chunks;
mod columns;
mod dataset;
mod dataset_writer;
mod decode;
mod description;
mod entry_buffer;
mod folder;
mod footer;
mod index;
mod json;
mod layout;
mod manifest;
mod page;
mod read;
mod records;
mod row_selection;
mod slice;
mod thrift;
mod trailer;
mod verify;
mod write;

pub use chunks::Pieces;
pub(crate) use columns::Columns;
pub use dataset::Dataset;
pub use dataset_writer::DatasetWriter;
pub(crate) use dataset_writer::names_folder;
pub(crate) use footer::MAGIC;
pub(crate) use read::{read_file, read_stream};
pub(crate) use records::Records;
pub(crate) use slice::read_slice;
pub(crate) use verify::ReadRanges;
pub(crate) use write::write;
