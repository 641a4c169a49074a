//! `.npy`: one dense array, and the members of an `.npz` archive.

mod header;
mod read;
mod source;
mod write;

pub(crate) use header::{Header, Kind};
#[cfg(feature = "dynamic")]
pub(crate) use read::read_array;
pub(crate) use read::{push_up_to, read};
pub(crate) use source::Source;
pub(crate) use write::{Blocks, descr_of, write, write_header, write_values};

/// The first bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The bytes that are read or written at once.
const BLOCK: usize = 1 << 16;
