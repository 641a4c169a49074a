//! Comparison of the ranges of a tensor, read one at a time, with the facts that its files declare about all entries.
//!
//! If every byte has a checksum, a range is verified while it is read. Hashing all entries again would take as long as
//! reading.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::columns::Columns;
use super::dataset::Dataset;
use super::description::Extent;
use crate::base::error::Result;
use crate::dispatch;
use crate::dynamic::AnyTensor;

/// The ranges of axis 0 that were read, until the ranges cover the axis.
#[derive(Default)]
pub(crate) struct ReadRanges(Mutex<Ranges>);

#[derive(Default)]
struct Ranges {
    /// The end of each range and its entries, by its start.
    found: BTreeMap<usize, (usize, Extent)>,
    /// The sum of the lengths of the ranges.
    length: usize,
}

impl ReadRanges {
    /// Records the entries of some rows. Returns an error if all rows are recorded, and their entries differ from the
    /// declared facts.
    pub(crate) fn note(&self, dataset: &Dataset, rows: Range<usize>, part: &AnyTensor) -> Result<()> {
        let Some(recorded) = &dataset.described().extent else { return Ok(()) };
        // Entries of another type than the files have another hash.
        if dataset.are_checked() || rows.is_empty() || part.dtype() != dataset.own_dtype() {
            return Ok(());
        }
        let extent =
            dispatch!(part, x => Columns::of(x.sparse())?.within(dataset.shape(), rows.start).extent(0..x.nnz())?);
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ranges.with(rows, extent, dataset.shape()[0]) {
            Some(all) => recorded.check(&all),
            None => Ok(()),
        }
    }
}

impl Ranges {
    /// Adds a range. If the ranges now cover `0..length`, returns the facts about all entries and clears the ranges.
    fn with(&mut self, rows: Range<usize>, extent: Extent, length: usize) -> Option<Extent> {
        self.length = self.length.saturating_add(rows.len());
        if let Some((end, _)) = self.found.insert(rows.start, (rows.end, extent)) {
            self.length = self.length.saturating_sub(end - rows.start);
        }
        if self.length < length {
            return None;
        }
        let (mut all, mut at) = (Extent::default(), 0);
        while at < length {
            let (end, next) = self.found.get(&at)?;
            all.append(next)?;
            at = *end;
        }
        *self = Ranges::default();
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(hash: u64) -> Extent {
        Extent { entries: 1, hash, ends: Some((vec![hash], vec![hash])) }
    }

    #[test]
    fn ranges_are_compared_once_they_are_all_rows() {
        let mut ranges = Ranges::default();
        assert!(ranges.with(4..6, extent(4), 6).is_none() && ranges.with(0..3, extent(100), 6).is_none());
        // A range that is read again in parts.
        assert!(ranges.with(0..2, extent(1), 6).is_none());
        let all = ranges.with(2..4, extent(2), 6).unwrap();
        assert_eq!((all.entries, all.hash, all.ends), (3, 7, Some((vec![1], vec![4]))));
        assert!(ranges.found.is_empty() && ranges.with(0..6, extent(5), 6).is_some_and(|all| all.hash == 5));
    }
}
