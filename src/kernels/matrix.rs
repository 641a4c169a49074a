//! What kernels of matrix products take: entries by rows, and which rows meet.

use std::ops::Range;

use crate::base::alloc::AllocError;
use crate::base::few::Few;
use crate::base::threads;

/// The places of entries by rows, which are numbered over all matrices of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Where the entries of each row begin; behind the last one, where they end.
    pub(crate) offsets: &'a [usize],
    /// The column of each entry, increasing within a row.
    pub(crate) columns: &'a [u32],
}

impl Rows<'_> {
    /// The entries of a row.
    #[inline(always)]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }
}

/// The columns that rows of the result may have, or those that they may not have.
#[derive(Clone, Copy)]
pub(crate) struct Mask<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) is_complement: bool,
}

/// The entries of an operand.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'a, T> {
    pub(crate) rows: Rows<'a>,
    pub(crate) values: &'a [T],
}

impl<'a, T> Entries<'a, T> {
    /// The columns and the values of a row.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> (&'a [u32], &'a [T]) {
        let range = self.rows.range(row);
        (&self.rows.columns[range.clone()], &self.values[range])
    }
}

/// Of each row of the result the row of the left operand that makes it, and the row of the right one that is the first
/// of its matrix.
pub(crate) type Turn<'a> = &'a (dyn Fn(usize) -> (usize, usize) + Sync);

/// Why a product is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The first place of the result, row-major, which its type cannot hold.
    Overflow(usize),
    /// The machine did not give the memory.
    Memory(AllocError),
}

impl From<AllocError> for Missing {
    fn from(refused: AllocError) -> Self {
        Missing::Memory(refused)
    }
}

/// The first of all places where a result is missing, each of another share.
pub(crate) fn first_overflow(places: Few<Option<usize>>) -> Result<(), Missing> {
    places.into_iter().flatten().min().map_or(Ok(()), |place| Err(Missing::Overflow(place)))
}

/// The ends of the shares that rows are handed out in, one a thread: of equal work, which `before` tells for all rows
/// before one, where each unit takes so many picoseconds.
pub(crate) fn shares(rows: usize, picoseconds: usize, before: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let ends = |part: Range<usize>| first_row(rows, part.end, before);
    // Fn(usize) is no Sync: the parts are counted first, and each end is one search.
    let parts = threads::map_parts(before(rows), picoseconds, 0, |part| part);
    let mut ends: Vec<usize> = parts.into_iter().map(ends).collect();
    if let Some(last) = ends.last_mut() {
        *last = rows;
    }
    ends
}

/// The first row with so much work before it.
fn first_row(rows: usize, work: usize, before: &dyn Fn(usize) -> usize) -> usize {
    let (mut low, mut high) = (0, rows);
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
