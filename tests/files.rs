//! The tests of files, pictures, serialisation and the command line as one program.
//!
//! They are not part of `library.rs` as serde_json compares its values with numbers: where it is linked, `assert_eq!(x,
//! [])` and `1.into()` no longer say which type they mean.

mod cli;
#[cfg(feature = "io")]
mod corpora;
mod dynamic;
mod eval;
mod io;
mod io_arrow;
mod io_chunks;
mod io_chunks_room;
mod io_csv;
mod io_dataset;
mod io_faults;
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
mod spy;

/// Every one of so many places, or one of `step` where two element types stand for all: then little is to take long.
#[cfg(feature = "io")]
fn places(count: usize, step: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(if matches!(env!("LACUNA_TESTS").as_bytes(), b"two") { step } else { 1 })
}
