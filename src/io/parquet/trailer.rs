//! The end of a written file: the lists of pages and the footer, with their checksums.

use super::checks::{checked, crc, digits};
use super::footer::{Chunk, Footer, List, MAGIC, rejection};
use super::thrift::ThriftWriter;
use crate::base::error::Result;

/// Returns the end of a file, from `start` on, with checksums: the lists of pages and the footer.
pub(super) fn checked_end(end: &[u8], start: u64) -> Result<Vec<u8>> {
    let broken = || rejection("the written file does not have a footer");
    let (rest, [length @ .., _, _, _, _]) = end.split_last_chunk::<8>().ok_or_else(broken)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (lists, footer) = rest.len().checked_sub(length).map(|at| rest.split_at(at)).ok_or_else(broken)?;
    let mut recorded = Vec::new();
    for chunk in Footer::parse(footer)?.groups.iter().flat_map(|group| &group.chunks) {
        for list in chunk.lists() {
            let crc = list.map_or(Some(0), |list| list.within(lists, start).map(crc)).ok_or_else(broken)?;
            recorded.extend(digits(crc).into_bytes());
        }
    }
    let [footer @ .., 0] = footer else { return Err(broken()) };
    let footer = checked(ThriftWriter(footer.to_vec()), &recorded);
    let length = u32::try_from(footer.len()).map_err(|_| rejection("the footer is longer than 4 GiB"))?;
    Ok([lists, &footer, &length.to_le_bytes(), MAGIC].concat())
}

impl List {
    /// Returns the bytes of the list, out of the bytes of a file from `start` on.
    fn within<'b>(&self, bytes: &'b [u8], start: u64) -> Option<&'b [u8]> {
        let first = usize::try_from(self.start.checked_sub(start)?).ok()?;
        bytes.get(first..)?.get(..usize::try_from(self.bytes).ok()?)
    }
}

impl Chunk {
    /// Returns the column index and the offset index.
    fn lists(&self) -> [Option<&List>; 2] {
        [self.column_index.as_ref(), self.offset_index.as_ref()]
    }
}
