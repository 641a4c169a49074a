//! `.npy`: one dense array, and the members of an `.npz` archive.

mod header;
mod read;
mod source;
mod write;

pub(crate) use header::{Header, MAGIC, NpyType};
#[cfg(feature = "dynamic")]
pub(crate) use read::read_array;
pub(crate) use read::{push_up_to, read};
pub(crate) use source::BinarySource;
pub(crate) use write::{BlockWriter, descr_of, write, write_array, write_header, write_values};
