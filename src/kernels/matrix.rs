//! Inputs of matrix product kernels: entries by rows, and the pairs of rows that are multiplied.

use std::ops::Range;

use crate::base::alloc::AllocError;
use crate::base::few::Few;
use crate::base::threads;

/// The pattern of entries by rows; rows are counted over all matrices of a batch.
#[derive(Clone, Copy)]
pub(crate) struct SparseRows<'a> {
    /// The index of the first entry of each row, then the number of entries.
    pub(crate) offsets: &'a [usize],
    /// The column of each entry, increasing within a row.
    pub(crate) columns: &'a [u32],
}

impl SparseRows<'_> {
    /// Returns the indices of the entries of a row.
    #[inline(always)]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }
}

/// The columns that rows of the result may have, or with `is_complement` the columns that they may not have.
#[derive(Clone, Copy)]
pub(crate) struct RowMask<'a> {
    pub(crate) rows: SparseRows<'a>,
    pub(crate) is_complement: bool,
}

/// The entries of an operand: pattern and values.
#[derive(Clone, Copy)]
pub(crate) struct MatrixEntries<'a, T> {
    pub(crate) rows: SparseRows<'a>,
    pub(crate) values: &'a [T],
}

impl<'a, T> MatrixEntries<'a, T> {
    /// Returns the columns and the values of a row.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> (&'a [u32], &'a [T]) {
        let range = self.rows.range(row);
        (&self.rows.columns[range.clone()], &self.values[range])
    }
}

/// Maps a row of the result to its left row and to the first row of the matrix on the right.
pub(crate) type RowMap<'a> = &'a (dyn Fn(usize) -> (usize, usize) + Sync);

/// The reason why a product does not have a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The row-major position of the first element that does not fit in the type.
    Overflow(usize),
    /// An allocation failed.
    Memory(AllocError),
}

impl From<AllocError> for Missing {
    fn from(rejection: AllocError) -> Self {
        Missing::Memory(rejection)
    }
}

/// Returns an error for the smallest position, given the first overflow of each part.
pub(crate) fn first_overflow(places: Few<Option<usize>>) -> Result<(), Missing> {
    // The smallest position of all parts is the first overflow of the result, for any number of parts.
    places.into_iter().flatten().min().map_or(Ok(()), |place| Err(Missing::Overflow(place)))
}

/// Returns the row at which the part of each thread ends, for parts of equal work.
///
/// `before` returns the work units before a row; a unit takes `picoseconds`.
pub(crate) fn shares(rows: usize, picoseconds: usize, before: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let ends = |part: Range<usize>| first_row(rows, part.end, before);
    // `before` is not `Sync`, so the work is split first and each end is then found by one search.
    let parts = threads::map_parts(before(rows), picoseconds, 0, |part| part);
    let mut ends: Vec<usize> = parts.into_iter().map(ends).collect();
    // Last rows without work are not in any range of work, so the last part includes these rows.
    if let Some(last) = ends.last_mut() {
        *last = rows;
    }
    ends
}

/// Returns the first row with at least `work` units before it.
fn first_row(rows: usize, work: usize, before: &dyn Fn(usize) -> usize) -> usize {
    let (mut low, mut high) = (0, rows);
    // Invariant: rows below `low` have less than `work` before them; row `high`, if it exists, has at least `work`.
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) < work { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shared_by_their_work() {
        let offsets = [0, 10, 10, 11, 12, 40];
        let first = |work| first_row(5, work, &|row| offsets[row]);
        assert_eq!([0, 1, 10, 11, 12, 13, 40].map(first), [0, 1, 1, 3, 4, 5, 5]);
        assert_eq!(shares(0, 1000, &|_| 0), [0]);
        assert_eq!(shares(5, 1000, &|row| offsets[row]), [5]);
    }
}
