//! Products of two sparse operands: first the pattern of the result, then its values.
//!
//! A row of the result is the union of the right rows that the entries of a left row select. First the columns of the
//! row are found, with one bit per column. Then the values are added in one accumulator per column. The memory is the
//! result plus one row of accumulators per thread.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{Missing, RowMap, RowMask, SparseRows, first_overflow, shares};
use crate::kernels::semiring::Semiring;

/// The estimated picoseconds per pair of entries, for the pattern and for the sums.
const MARK: usize = 2000;
const ADD: usize = 3000;

/// The number of left entries whose right rows are read together, so that their cache misses overlap.
const GROUP: usize = 128;

/// The two operands by rows. The right operand has `width` columns.
#[derive(Clone, Copy)]
pub(crate) struct RowOperands<'a> {
    pub(crate) left: SparseRows<'a>,
    pub(crate) right: SparseRows<'a>,
    pub(crate) width: usize,
    /// The number of rows of the result.
    pub(crate) rows: usize,
    pub(crate) row_map: RowMap<'a>,
    /// The positions that the result may have; `None` for all positions.
    pub(crate) mask: Option<RowMask<'a>>,
}

/// The reason why counting entries stops early.
enum Uncounted {
    Memory(AllocError),
    Enough,
}

impl From<AllocError> for Uncounted {
    fn from(error: AllocError) -> Self {
        Uncounted::Memory(error)
    }
}

/// The pattern of a product.
pub(crate) struct ProductPattern {
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
}

impl RowOperands<'_> {
    /// Returns the number of pairs in all rows before each row, plus one per row, and the total at the end.
    pub(crate) fn work(&self) -> Allocated<Vec<usize>> {
        let mut work = alloc::with_capacity(self.rows + 1)?;
        work.push(0);
        let mut sum = 0usize;
        for row in 0..self.rows {
            let (of_left, base) = (self.row_map)(row);
            let lengths = self.left.range(of_left).map(|entry| {
                let range = self.right.range(base + self.left.columns[entry] as usize);
                range.len()
            });
            // Adding 1 per row gives rows without pairs a cost. Saturation affects only the division of work.
            sum = lengths.fold(sum.saturating_add(1), usize::saturating_add);
            work.push(sum);
        }
        Ok(work)
    }

    /// Calls `visit` with each row of the result, the first entry of its left row, and the range of right entries for
    /// each left entry.
    ///
    /// `touch` reads a right entry, to load it into the cache.
    #[inline(always)]
    fn for_each_row<E: From<AllocError>>(
        &self,
        rows: Range<usize>,
        touch: impl Fn(usize) -> u64,
        mut visit: impl FnMut(usize, usize, &[(usize, usize)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut named, mut group) = (Vec::new(), Vec::new());
        let mut next = rows.start;
        // Invariant: rows before `next` are visited.
        while next < rows.end {
            let first = next;
            named.clear();
            group.clear();
            // A group has at least one row, so the loop ends.
            while next < rows.end && named.len() < GROUP {
                let (of_left, base) = (self.row_map)(next);
                let entries = self.left.range(of_left);
                alloc::reserve(&mut named, entries.len())?;
                named.extend(self.left.columns[entries.clone()].iter().map(|&column| {
                    let range = self.right.range(base + column as usize);
                    (range.start, range.end)
                }));
                alloc::push(&mut group, (entries.start, named.len()))?;
                next += 1;
            }
            // These reads do not depend on each other, so their cache misses overlap. `black_box` keeps them.
            let full = named.iter().filter(|(start, end)| start < end);
            black_box(full.map(|&(start, _)| touch(start)).fold(0, |all, one| all ^ one));
            // Invariant: `start` is the first range of the row in `named`.
            let mut start = 0;
            for (row, &(entry, end)) in group.iter().enumerate() {
                visit(first + row, entry, &named[start..end])?;
                start = end;
            }
        }
        Ok(())
    }

    /// Calls `visit` with the marked columns of each row of the result, in order; `visit` must clear the marks.
    #[inline(always)]
    fn for_each_place<E: From<AllocError>>(
        &self,
        rows: Range<usize>,
        mut visit: impl FnMut(&mut ColumnMarks) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut marks = ColumnMarks::new(self.width)?;
        let touch = |entry: usize| u64::from(self.right.columns[entry]);
        self.for_each_row(rows, touch, |row, _, named| {
            // A row with an empty mask is empty, so its columns are not marked.
            let masked = self.mask.map(|mask| (&mask.rows.columns[mask.rows.range(row)], mask.is_complement));
            if !matches!(masked, Some(([], false))) {
                named.iter().for_each(|&(start, end)| marks.mark(&self.right.columns[start..end]));
            }
            match masked {
                Some((columns, false)) => marks.keep(columns)?,
                Some((columns, true)) => marks.remove(columns),
                None => {}
            }
            visit(&mut marks)
        })
    }

    /// Returns the number of entries of the result, if it is at most `limit`; the pattern is not stored.
    ///
    /// Counting stops above the limit, so a rejected product does not take longer than an accepted product.
    pub(crate) fn count(&self, work: &[usize], limit: usize) -> Allocated<Option<usize>> {
        let counted = AtomicUsize::new(0);
        let shares = self.on_shares(work, |rows| {
            let mut columns = Vec::new();
            let counted = self.for_each_place(rows, |marks| {
                columns.clear();
                marks.take(&mut columns)?;
                // The total only increases, so each part stops soon after the limit is exceeded.
                match counted.fetch_add(columns.len(), Relaxed) > limit {
                    true => Err(Uncounted::Enough),
                    false => Ok(()),
                }
            });
            match counted {
                Err(Uncounted::Memory(error)) => Err(error),
                Ok(()) | Err(Uncounted::Enough) => Ok(()),
            }
        });
        shares.map(|_: Vec<()>| Some(counted.into_inner()).filter(|&count| count <= limit))
    }

    /// Returns the pattern of the result.
    pub(crate) fn places(&self, work: &[usize]) -> Allocated<ProductPattern> {
        let parts = self.on_shares(work, |rows| {
            let (mut ends, mut columns) = (alloc::with_capacity(rows.len())?, Vec::new());
            self.for_each_place(rows, |marks| {
                marks.take(&mut columns)?;
                ends.push(columns.len());
                Allocated::Ok(())
            })?;
            Ok((ends, columns))
        })?;
        let (ends, columns): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let mut offsets = alloc::with_capacity(self.rows + 1)?;
        offsets.push(0);
        // Ends count from the start of a part; the entries of earlier parts are added.
        for ends in ends {
            let before = offsets.last().copied().unwrap_or(0);
            offsets.extend(ends.into_iter().map(|end| before + end));
        }
        Ok(ProductPattern { offsets, columns: alloc::concat(columns)? })
    }

    /// Calls `f` for ranges of rows with equal work, one per thread.
    fn on_shares<U: Send>(
        &self,
        work: &[usize],
        f: impl Fn(Range<usize>) -> Allocated<U> + Sync + Send,
    ) -> Allocated<Vec<U>> {
        let ends = shares(self.rows, MARK, &|row| work[row]);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let shares = starts.zip(&ends).map(|(start, &end)| start..end).collect();
        let all = work.last().copied().unwrap_or(0);
        threads::map_each(shares, all, || (), |(): &mut (), rows| f(rows)).into_iter().collect()
    }
}

/// Marks in three levels: one bit per column, one bit per nonzero word of the first level, and one bit per nonzero word
/// of the second level.
///
/// The columns are found in order without reading the zero words between them.
struct ColumnMarks {
    columns: Vec<u64>,
    words: Vec<u64>,
    blocks: Vec<u64>,
    count: usize,
}

impl ColumnMarks {
    fn new(width: usize) -> Allocated<Self> {
        let [columns, words, blocks] = [width.div_ceil(1 << 6), width.div_ceil(1 << 12), width.div_ceil(1 << 18)];
        Ok(ColumnMarks {
            columns: alloc::zeros(columns)?,
            words: alloc::zeros(words)?,
            blocks: alloc::zeros(blocks)?,
            count: 0,
        })
    }

    #[inline(always)]
    fn mark(&mut self, columns: &[u32]) {
        // An upper bound: a column may be marked several times.
        self.count += columns.len();
        for column in columns.iter().map(|&column| column as usize) {
            let word = &mut self.columns[column >> 6];
            // A nonzero word is already marked in the upper levels.
            if *word == 0 {
                self.words[column >> 12] |= 1 << (column >> 6 & 63);
                self.blocks[column >> 18] |= 1 << (column >> 12 & 63);
            }
            *word |= 1 << (column & 63);
        }
    }

    /// Clears the marks of some columns.
    fn remove(&mut self, columns: &[u32]) {
        columns.iter().for_each(|&column| self.columns[column as usize >> 6] &= !(1 << (column & 63)));
    }

    /// Clears the marks of all columns except the given ones.
    fn keep(&mut self, columns: &[u32]) -> Allocated<()> {
        let is_marked = |column: &u32| self.columns[*column as usize >> 6] >> (column & 63) & 1 == 1;
        let kept = alloc::collect_some(columns.iter().copied().filter(is_marked))?;
        self.clear();
        self.mark(&kept);
        Ok(())
    }

    /// Clears all marks.
    fn clear(&mut self) {
        self.count = 0;
        // The upper levels have a bit for every nonzero word, so all other words are already zero.
        for block in 0..self.blocks.len() {
            for words in ones(block, &mut self.blocks) {
                ones(words, &mut self.words).for_each(|word| self.columns[word] = 0);
            }
        }
    }

    /// Appends the marked columns in increasing order, and clears the marks.
    #[inline(always)]
    fn take(&mut self, found: &mut Vec<u32>) -> Allocated<()> {
        // The reserved capacity is an upper bound, so `extend` below does not allocate.
        alloc::reserve(found, std::mem::take(&mut self.count).min(self.columns.len() << 6))?;
        for block in 0..self.blocks.len() {
            for words in ones(block, &mut self.blocks) {
                for word in ones(words, &mut self.words) {
                    found.extend(ones(word, &mut self.columns).map(|column| column as u32));
                }
            }
        }
        Ok(())
    }
}

/// Returns the indices of the bits of a word, and clears the word.
#[inline(always)]
fn ones(word: usize, words: &mut [u64]) -> impl Iterator<Item = usize> + use<> {
    let mut bits = std::mem::take(&mut words[word]);
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| word << 6 | bits.trailing_zeros() as usize);
        // Clears the lowest set bit.
        bits &= bits.wrapping_sub(1);
        bit
    })
}

/// Returns the values at the positions of a product.
pub(crate) fn values<T: Element, S: Semiring<T>>(
    op: S,
    (left, right): (&[T], &[T]),
    operands: &RowOperands<'_>,
    (places, work): (&ProductPattern, &[usize]),
) -> Result<Vec<T>, Missing> {
    let mut values = alloc::zeros(places.columns.len())?;
    let ends = shares(operands.rows, ADD, &|row| work[row]);
    let cuts = ends.iter().map(|&end| places.offsets[end]).collect::<Vec<_>>();
    let overflows = threads::map_slices(&mut values, &cuts, |part, slots| {
        let rows = if part == 0 { 0 } else { ends[part - 1] }..ends[part];
        // Invariant between rows: all sums are `nothing` and no column is wanted.
        let mut sums = alloc::copies(op.nothing(), operands.width)?;
        let mut is_wanted: Vec<bool> = alloc::zeros(if operands.mask.is_some() { operands.width } else { 0 })?;
        let (mut rest, mut first) = (slots, None);
        let touch = |entry: usize| u64::from(operands.right.columns[entry]) ^ u64::from(right[entry] == T::ZERO);
        operands.for_each_row::<AllocError>(rows, touch, |row, entry, named| {
            let range = places.offsets[row]..places.offsets[row + 1];
            let (slots, others) = std::mem::take(&mut rest).split_at_mut(range.len());
            rest = others;
            let columns = &places.columns[range.clone()];
            if operands.mask.is_some() {
                if columns.is_empty() {
                    return Ok(());
                }
                columns.iter().for_each(|&column| is_wanted[column as usize] = true);
            }
            for (&value, &(start, end)) in left[entry..].iter().zip(named) {
                let others = (&operands.right.columns[start..end], &right[start..end]);
                match operands.mask {
                    None => add(op, value, others, &mut sums),
                    Some(_) => add_wanted(op, value, others, (&is_wanted, &mut sums)),
                }
            }
            if operands.mask.is_some() {
                columns.iter().for_each(|&column| is_wanted[column as usize] = false);
            }
            let place = take_row(op, columns, &mut sums, slots);
            first = first.or(place.map(|place| range.start + place));
            Ok(())
        })?;
        Ok(first)
    });
    first_overflow(overflows.into_iter().collect::<Allocated<_>>()?)?;
    Ok(values)
}

/// Adds a row of the right operand, times a value, to the sums.
#[inline(always)]
fn add<T: Element, S: Semiring<T>>(op: S, value: T, (columns, others): (&[u32], &[T]), sums: &mut [S::Sum]) {
    for (&column, &other) in columns.iter().zip(others) {
        let sum = &mut sums[column as usize];
        *sum = op.plus(*sum, value, other);
    }
}

/// Adds a row of the right operand, times a value, to the sums of columns where the result has entries.
#[inline(always)]
fn add_wanted<T: Element, S: Semiring<T>>(
    op: S,
    value: T,
    (columns, others): (&[u32], &[T]),
    (is_wanted, sums): (&[bool], &mut [S::Sum]),
) {
    for (&column, &other) in columns.iter().zip(others).filter(|(column, _)| is_wanted[**column as usize]) {
        let sum = &mut sums[column as usize];
        *sum = op.plus(*sum, value, other);
    }
}

/// Moves the sums of a row to `slots` and returns the first position without a result.
#[inline(always)]
fn take_row<T: Element, S: Semiring<T>>(op: S, columns: &[u32], sums: &mut [S::Sum], slots: &mut [T]) -> Option<usize> {
    let mut first = None;
    for (place, (&column, slot)) in columns.iter().zip(slots).enumerate() {
        // The sum is reset, so that the next row starts from `nothing`.
        match op.value(std::mem::replace(&mut sums[column as usize], op.nothing())) {
            Some(value) => *slot = value,
            None => first = first.or(Some(place)),
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_ends_where_there_are_too_many() {
        let (offsets, one) = ((0..=1 << 20).collect::<Vec<usize>>(), vec![0; 1 << 20]);
        let columns: Vec<u32> = (0..1 << 20).collect();
        let operands = RowOperands {
            left: SparseRows { offsets: &offsets, columns: &one },
            right: SparseRows { offsets: &[0, 1 << 20], columns: &columns },
            width: 1 << 20,
            rows: 1 << 20,
            row_map: &|row| (row, 0),
            mask: None,
        };
        // Counting all 2^40 entries would be far too slow.
        assert_eq!(operands.count(&operands.work().unwrap(), 1 << 21), Ok(None));
        let few = RowOperands { rows: 3, ..operands };
        assert_eq!(few.count(&few.work().unwrap(), 3 << 20), Ok(Some(3 << 20)));
        assert_eq!(few.count(&few.work().unwrap(), (3 << 20) - 1), Ok(None));
    }
}
