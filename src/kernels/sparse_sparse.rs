//! Products of entries with entries: where they come to, and then what.
//!
//! A row of the result unites the rows of the right operand that the entries of a row on the left name. Its columns are
//! found first, by a bit for each column, and the values are added up in one number for each column after that: so
//! nothing is ever held but the result and one row of numbers for each thread.

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{Missing, Rows, Turn, first_overflow, shares};
use crate::kernels::semiring::Semiring;

/// What a pair of entries that meet costs in the search for columns, and in the sums, in picoseconds.
const MARK: usize = 2000;
const ADD: usize = 3000;

/// Fewer columns of a row than one of so many words of bits are sorted; more are read off the bits.
const WORDS_PER_COLUMN: usize = 16;

/// Two operands by rows, of which the right one has `width` columns.
#[derive(Clone, Copy)]
pub(crate) struct Meeting<'a> {
    pub(crate) left: Rows<'a>,
    pub(crate) right: Rows<'a>,
    pub(crate) width: usize,
    /// The rows of the result.
    pub(crate) rows: usize,
    pub(crate) turn: Turn<'a>,
}

/// Where the entries of a product are.
pub(crate) struct Places {
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
}

impl Meeting<'_> {
    /// For each row of the result how many pairs meet in all rows before it, one more for each row; behind the last for
    /// all.
    pub(crate) fn work(&self) -> Allocated<Vec<usize>> {
        let mut work = alloc::with_capacity(self.rows + 1)?;
        work.push(0);
        let mut sum = 0usize;
        for row in 0..self.rows {
            let (of_left, base) = (self.turn)(row);
            let lengths = self.left.range(of_left).map(|entry| {
                let range = self.right.range(base + self.left.columns[entry] as usize);
                range.len()
            });
            sum = lengths.fold(sum.saturating_add(1), usize::saturating_add);
            work.push(sum);
        }
        Ok(work)
    }

    /// Calls `visit` with the columns of each row of the right operand that a row of the result unites.
    #[inline(always)]
    fn united(&self, row: usize, mut visit: impl FnMut(usize, std::ops::Range<usize>)) {
        let (of_left, base) = (self.turn)(row);
        for entry in self.left.range(of_left) {
            visit(entry, self.right.range(base + self.left.columns[entry] as usize));
        }
    }

    /// How many entries the result has: their places are not kept.
    pub(crate) fn count(&self, work: &[usize]) -> Allocated<u128> {
        let counts = self.on_shares(work, |rows, marks| {
            let mut count = 0u128;
            for row in rows {
                self.united(row, |_, range| marks.mark(&self.right.columns[range]));
                count += marks.fresh.len() as u128;
                marks.clear();
            }
            Ok(count)
        })?;
        Ok(counts.into_iter().sum())
    }

    /// The places of the result.
    pub(crate) fn places(&self, work: &[usize]) -> Allocated<Places> {
        let parts = self.on_shares(work, |rows, marks| {
            let (mut lengths, mut columns) = (alloc::with_capacity(rows.len())?, Vec::new());
            for row in rows {
                self.united(row, |_, range| marks.mark(&self.right.columns[range]));
                alloc::reserve(&mut columns, marks.fresh.len())?;
                lengths.push(marks.fresh.len());
                marks.take_in_order(&mut columns);
            }
            Ok((lengths, columns))
        })?;
        let (lengths, columns): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let mut offsets = alloc::with_capacity(self.rows + 1)?;
        offsets.push(0);
        let mut end = 0;
        offsets.extend(lengths.iter().flatten().map(|length| {
            end += length;
            end
        }));
        Ok(Places { offsets, columns: alloc::concat(columns)? })
    }

    /// `f` of shares of the rows, one a thread, of equal work, each with its own marks.
    fn on_shares<U: Send>(
        &self,
        work: &[usize],
        f: impl Fn(std::ops::Range<usize>, &mut Marks) -> Allocated<U> + Sync + Send,
    ) -> Allocated<Vec<U>> {
        let ends = shares(self.rows, MARK, &|row| work[row]);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let shares: Vec<_> = starts.zip(&ends).map(|(start, &end)| start..end).collect();
        let all = work.last().copied().unwrap_or(0);
        let of_share = |(): &mut (), rows| f(rows, &mut Marks::new(self.width)?);
        threads::map_each(shares, all, || (), of_share).into_iter().collect()
    }
}

/// A bit for each column, and the columns whose bit is set.
struct Marks {
    bits: Vec<u64>,
    fresh: Vec<u32>,
}

impl Marks {
    fn new(width: usize) -> Allocated<Self> {
        Ok(Marks { bits: alloc::zeros(width.div_ceil(64))?, fresh: alloc::with_capacity(width)? })
    }

    #[inline(always)]
    fn mark(&mut self, columns: &[u32]) {
        for &column in columns {
            let (word, bit) = (&mut self.bits[column as usize / 64], 1 << (column % 64));
            if *word & bit == 0 {
                *word |= bit;
                // There is room for each column once.
                self.fresh.push(column);
            }
        }
    }

    fn clear(&mut self) {
        self.fresh.iter().for_each(|&column| self.bits[column as usize / 64] = 0);
        self.fresh.clear();
    }

    /// Puts the marked columns behind others, in increasing order, and clears the marks; there is room for them.
    fn take_in_order(&mut self, columns: &mut Vec<u32>) {
        let (Some(&least), Some(&most)) = (self.fresh.iter().min(), self.fresh.iter().max()) else { return };
        let words = least as usize / 64..most as usize / 64 + 1;
        if words.len() / WORDS_PER_COLUMN < self.fresh.len() {
            for word in words {
                let mut bits = std::mem::take(&mut self.bits[word]);
                while bits != 0 {
                    columns.push(word as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
            self.fresh.clear();
        } else {
            self.fresh.sort_unstable();
            columns.extend_from_slice(&self.fresh);
            self.clear();
        }
    }
}

/// The values at the places of a product.
pub(crate) fn values<T: Element, S: Semiring<T>>(
    op: S,
    (left, right): (&[T], &[T]),
    meeting: &Meeting<'_>,
    (places, work): (&Places, &[usize]),
) -> Result<Vec<T>, Missing> {
    let mut values = alloc::zeros(places.columns.len())?;
    let ends = shares(meeting.rows, ADD, &|row| work[row]);
    let cuts = ends.iter().map(|&end| places.offsets[end]).collect::<Vec<_>>();
    let overflows = threads::map_slices(&mut values, &cuts, |part, slots| {
        let rows = if part == 0 { 0 } else { ends[part - 1] }..ends[part];
        let mut sums = alloc::copies(op.nothing(), meeting.width)?;
        let (mut rest, mut first) = (slots, None);
        for row in rows {
            let range = places.offsets[row]..places.offsets[row + 1];
            let (slots, others) = rest.split_at_mut(range.len());
            rest = others;
            add_row(op, (left, right), meeting, row, &mut sums);
            let place = take_row(op, &places.columns[range.clone()], &mut sums, slots);
            first = first.or(place.map(|place| range.start + place));
        }
        Ok(first)
    });
    first_overflow(overflows.into_iter().collect::<Allocated<_>>()?)?;
    Ok(values)
}

/// Adds up a row of the result.
#[inline(always)]
fn add_row<T: Element, S: Semiring<T>>(
    op: S,
    (left, right): (&[T], &[T]),
    meeting: &Meeting<'_>,
    row: usize,
    sums: &mut [S::Sum],
) {
    meeting.united(row, |entry, range| {
        let value = left[entry];
        for (&column, &other) in meeting.right.columns[range.clone()].iter().zip(&right[range]) {
            let sum = &mut sums[column as usize];
            *sum = op.plus(*sum, value, other);
        }
    });
}

/// Takes the sums of a row out; the first place without a value.
#[inline(always)]
fn take_row<T: Element, S: Semiring<T>>(op: S, columns: &[u32], sums: &mut [S::Sum], slots: &mut [T]) -> Option<usize> {
    let mut first = None;
    for (place, (&column, slot)) in columns.iter().zip(slots).enumerate() {
        match op.value(std::mem::replace(&mut sums[column as usize], op.nothing())) {
            Some(value) => *slot = value,
            None => first = first.or(Some(place)),
        }
    }
    first
}
