//! `.npz`: archives of arrays, in the layouts of scipy.sparse and of pydata/sparse.

mod archive;
mod deflate;
mod directory;
mod read;
mod write;

pub(crate) use read::{is_archive, read_file, read_stream};
pub(crate) use write::write;
