//! Matrix Market: text, one entry per line.

mod array;
mod banner;
mod body;
mod read;
mod write;

pub(crate) use banner::is_magic;
pub(crate) use read::read;
pub(crate) use write::write;
