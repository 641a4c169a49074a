//! The tests of files, pictures, serialisation and the command line as one program.
//!
//! They are not part of `library.rs` as serde_json compares its values with numbers: where it is linked, `assert_eq!(x,
//! [])` and `1.into()` no longer say which type they mean.

mod cli;
#[cfg(feature = "io")]
mod corpora;
mod dynamic;
mod eval;
#[cfg(feature = "cli")]
#[path = "support/exports.rs"]
mod exports;
mod io;
mod io_arrow;
mod io_chunks;
mod io_chunks_room;
mod io_csv;
mod io_dataset;
mod io_faults;
mod io_flips;
mod io_full_disk;
mod io_gzip;
mod io_hostile;
mod io_npz;
mod io_parquet;
mod io_progress;
mod io_text;
mod io_tns;
mod lazy_outside;
mod serde;
#[cfg(feature = "io")]
#[path = "support/share.rs"]
mod share;
mod spy;
