//! The lists of pages, and of the smallest and largest values in pages.

use std::io::{Read, SeekFrom};
use std::sync::Arc;

use super::checks::{DAMAGED, crc};
use super::footer::{Chunk, List, raw};
use super::page::PageRows;
use super::read::OpenedTable;
use super::thrift::{Thrift, Wire};
use crate::base::error::{Error, Result};

impl OpenedTable<'_> {
    /// Returns the pages of a column chunk with `rows` rows; `None` if the file does not have a valid list.
    pub(super) fn page_list(&mut self, chunk: &Chunk, rows: usize) -> Result<Option<Vec<PageRows>>> {
        let Some(bytes) = self.index_bytes(chunk.offset_index)? else { return Ok(None) };
        Ok(parse_pages(&bytes).and_then(|pages| with_ends(pages, chunk, rows)))
    }

    /// Returns the smallest and largest value of each of `count` pages; `None` if the file does not have a valid list.
    pub(super) fn page_bounds(&mut self, chunk: &Chunk, count: usize) -> Result<Option<Vec<(u64, u64)>>> {
        let Some(bytes) = self.index_bytes(chunk.column_index)? else { return Ok(None) };
        Ok(parse_bounds(&bytes).filter(|bounds| bounds.len() == count))
    }

    fn index_bytes(&mut self, list: Option<List>) -> Result<Option<Arc<Vec<u8>>>> {
        let inside = |list: &List| list.start.checked_add(list.bytes).is_some_and(|end| end <= self.length);
        let Some(List { start, bytes: length, crc: recorded }) = list.filter(inside) else { return Ok(None) };
        if let Some(bytes) = self.lists.get(&(start, length)) {
            return Ok(Some(Arc::clone(bytes)));
        }
        // The total length of separate lists is less than the length of the file, so lists are kept in memory. In a
        // hostile file, all lists could be the same long list, so the total length is limited.
        self.listed = self.listed.saturating_add(length);
        if self.listed > self.length {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.stream.seek(SeekFrom::Start(start))?;
        Read::take(&mut *self.stream, length).read_to_end(&mut bytes)?;
        if recorded.is_some_and(|recorded| recorded != crc(&bytes)) {
            return Err(Error::Format { place: format!("the list of pages at byte {start}"), message: DAMAGED.into() });
        }
        let bytes = Arc::new(bytes);
        self.lists.insert((start, length), Arc::clone(&bytes));
        Ok(Some(bytes))
    }
}

/// Returns the position, the bytes, and the first row of each page.
fn parse_pages(bytes: &[u8]) -> Option<Vec<(u64, u64, u64)>> {
    let mut pages = Vec::new();
    Thrift::new(bytes).fields(|thrift, number, wire| match (number, wire) {
        (1, Wire::List) => thrift.structs(|thrift| {
            let (mut start, mut bytes, mut row) = (None, None, None);
            thrift.fields(|thrift, number, wire| {
                match (number, wire) {
                    (1, Wire::Integer) => start = Some(thrift.count()?),
                    (2, Wire::Integer) => bytes = Some(thrift.count()?),
                    (3, Wire::Integer) => row = Some(thrift.count()?),
                    _ => {}
                }
                Some(())
            })?;
            pages.push((start?, bytes?, row?));
            Some(())
        }),
        _ => Some(()),
    })?;
    Some(pages)
}

/// Returns the pages with their rows, if the pages are in the column chunk, one after another, from row 0 on.
fn with_ends(pages: Vec<(u64, u64, u64)>, chunk: &Chunk, rows: usize) -> Option<Vec<PageRows>> {
    let ends = pages.iter().skip(1).map(|&(.., row)| row).chain([rows as u64]);
    let (mut from, mut row) = (chunk.start, 0);
    let mut found = Vec::with_capacity(pages.len());
    for (&(start, bytes, first), end) in pages.iter().zip(ends) {
        let inside = start >= from && start.checked_add(bytes)? <= chunk.start.checked_add(chunk.bytes)?;
        (inside && first == row && first < end && end <= rows as u64).then_some(())?;
        found.push(PageRows { start, bytes, rows: first as usize..end as usize });
        (from, row) = (start + bytes, end);
    }
    // A list without pages would skip all rows.
    (row == rows as u64).then_some(found)
}

fn parse_bounds(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (mut min, mut max) = (Vec::new(), Vec::new());
    Thrift::new(bytes).fields(|thrift, number, wire| {
        let list = match (number, wire) {
            (2, Wire::List) => &mut min,
            (3, Wire::List) => &mut max,
            _ => return Some(()),
        };
        let (kind, count) = thrift.list()?;
        (count == 0 || kind == Wire::Binary).then_some(())?;
        for _ in 0..count {
            list.push(raw(thrift.binary()?)?);
        }
        Some(())
    })?;
    (min.len() == max.len()).then(|| min.into_iter().zip(max).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_pages_names_every_row() {
        let mut chunk = Chunk::default();
        (chunk.start, chunk.bytes) = (100, 50);
        let found = |pages: &[(u64, u64, u64)], rows| with_ends(pages.to_vec(), &chunk, rows).map(|pages| pages.len());
        assert_eq!(found(&[(100, 20, 0), (120, 30, 7)], 10), Some(2));
        assert_eq!(found(&[], 0), Some(0));
        assert_eq!(found(&[], 10), None);
        assert_eq!(found(&[(100, 20, 1)], 10), None);
        assert_eq!(found(&[(100, 20, 0), (110, 30, 7)], 10), None);
        assert_eq!(found(&[(100, 20, 0), (120, 31, 7)], 10), None);
    }
}
