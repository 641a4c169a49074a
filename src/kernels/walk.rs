//! One walk over elements, each of which adds to a row of the result: its value times a row of each factor, one factor
//! after the other. A row is summed in the order of the elements, at any number of threads.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Dot, Ring, Term};
use crate::kernels::dots::{NoDot, Rows};
use crate::kernels::panels::Numbers;

/// What is walked.
pub(crate) struct Walk<'a, T> {
    pub(crate) values: &'a [T],
    /// The rows of each factor, and which of them an element takes; at least one factor.
    pub(crate) factors: &'a [(Rows<'a, T>, Numbers<'a>)],
    /// Which row of the result an element adds to.
    pub(crate) into: Numbers<'a>,
    /// Whether these do not decrease.
    pub(crate) in_order: bool,
    /// The number of rows of the result.
    pub(crate) rows: usize,
    /// The length of the rows, of the factors too.
    pub(crate) width: usize,
}

/// So many elements are numbered at a time.
const BLOCK: usize = 256;

/// The sums, row after row; the first that does not fit the type is told.
pub(crate) fn sums_of_rows<T: Ring>(walk: &Walk<'_, T>) -> Result<Vec<T>, NoDot> {
    let mut sums = alloc::copies(T::Dot::NOTHING, walk.rows * walk.width)?;
    let ends = walk.ends_of_parts();
    let in_items: Vec<usize> = ends.iter().map(|row| row * walk.width).collect();
    let added = threads::map_slices(&mut sums, &in_items, |part, sums| {
        let first = if part == 0 { 0 } else { ends[part - 1] };
        walk.add_to(sums, first..ends[part])
    });
    added.into_iter().collect::<Allocated<()>>()?;
    let mut found = alloc::zeros(sums.len())?;
    match threads::try_map_into(&sums, &mut found, 1000, T::Dot::value) {
        None => Ok(found),
        Some(at) => Err(NoDot::Overflow(at)),
    }
}

impl<T: Ring> Walk<'_, T> {
    /// The row of an element.
    fn row(&self, element: usize) -> usize {
        let mut row = [0];
        (self.into)(element, &mut row);
        row[0]
    }

    /// Where the rows of each thread end: as many elements for each, if they are in the order of the rows.
    fn ends_of_parts(&self) -> Vec<usize> {
        let count = self.values.len();
        let picoseconds = self.width.saturating_mul(400 * self.factors.len()).saturating_add(4000);
        let parts = threads::map_parts(count, picoseconds, 0, |part| part.end);
        let end = |(part, &end): (usize, &usize)| match (part + 1 == parts.len(), self.in_order) {
            (true, _) => self.rows,
            (_, true) => self.row(end),
            (_, false) => self.rows / parts.len() * (part + 1),
        };
        parts.iter().enumerate().map(end).collect()
    }

    /// The elements that may belong to some rows.
    fn elements(&self, rows: &Range<usize>) -> Range<usize> {
        let from = |row: usize| {
            let (mut start, mut end) = (0, self.values.len());
            while start < end {
                let middle = start + (end - start) / 2;
                if self.row(middle) < row { start = middle + 1 } else { end = middle }
            }
            start
        };
        if self.in_order && rows.len() < self.rows { from(rows.start)..from(rows.end) } else { 0..self.values.len() }
    }

    /// Adds what belongs to some rows to their sums.
    fn add_to(&self, sums: &mut [T::Dot], rows: Range<usize>) -> Allocated<()> {
        let elements = self.elements(&rows);
        let mut numbers = alloc::zeros((self.factors.len() + 1) * BLOCK)?;
        let mut scratch = alloc::with_capacity(self.width)?;
        for start in elements.clone().step_by(BLOCK) {
            let count = BLOCK.min(elements.end - start);
            let (into, of_factors) = numbers.split_at_mut(BLOCK);
            (self.into)(start, &mut into[..count]);
            for ((_, number), numbers) in self.factors.iter().zip(of_factors.chunks_mut(BLOCK)) {
                number(start, &mut numbers[..count]);
            }
            let block = Block { values: &self.values[start..start + count], into, of_factors };
            self.add_block(&block, sums, &rows, &mut scratch);
        }
        Ok(())
    }

    fn add_block(&self, block: &Block<'_, T>, sums: &mut [T::Dot], rows: &Range<usize>, scratch: &mut Vec<Term<T>>) {
        in_wide_vectors(
            #[inline(always)]
            || {
                for (at, &value) in block.values.iter().enumerate().filter(|(at, _)| rows.contains(&block.into[*at])) {
                    let first = (block.into[at] - rows.start) * self.width;
                    let sums = &mut sums[first..first + self.width];
                    let row = |factor: usize| self.factors[factor].0.row(block.of_factors[factor * BLOCK + at]);
                    match self.factors.len() {
                        1 => add_one(sums, T::Dot::term(value), row(0)),
                        2 => add_two(sums, T::Dot::term(value), row(0), row(1)),
                        count => add_some(sums, T::Dot::term(value), (0..count).map(row), scratch),
                    }
                }
            },
        );
    }
}

/// Some elements, and the numbers of their rows.
struct Block<'a, T> {
    values: &'a [T],
    into: &'a [usize],
    of_factors: &'a [usize],
}

#[inline(always)]
fn add_one<T: Ring>(sums: &mut [T::Dot], value: Term<T>, a: &[T]) {
    for (sum, a) in sums.iter_mut().zip(a) {
        *sum = sum.add(T::Dot::times(value, T::Dot::term(*a)));
    }
}

#[inline(always)]
fn add_two<T: Ring>(sums: &mut [T::Dot], value: Term<T>, a: &[T], b: &[T]) {
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        let product = T::Dot::times(value, T::Dot::term(*a));
        *sum = sum.add(T::Dot::times(product, T::Dot::term(*b)));
    }
}

fn add_some<'a, T: Ring>(
    sums: &mut [T::Dot],
    value: Term<T>,
    rows: impl Iterator<Item = &'a [T]>,
    scratch: &mut Vec<Term<T>>,
) {
    scratch.clear();
    scratch.resize(sums.len(), value);
    for row in rows {
        scratch.iter_mut().zip(row).for_each(|(term, &factor)| *term = T::Dot::times(*term, T::Dot::term(factor)));
    }
    sums.iter_mut().zip(scratch).for_each(|(sum, term)| *sum = sum.add(*term));
}
