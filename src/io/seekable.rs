//! Sources that must support seeking, because a list of their parts is at the end.

use std::io::{Read, Seek};

/// A file, or bytes in memory.
pub(super) trait ReadSeek: Read + Seek {}
impl<R: Read + Seek> ReadSeek for R {}
