//! Limits of reading and writing, the same for all file formats.

/// The maximum number of axes of a file, as in numpy: each entry takes memory per axis.
pub(super) const MAX_AXES: usize = 64;

/// The bytes that are read or written at once.
pub(super) const BLOCK: usize = 1 << 16;
