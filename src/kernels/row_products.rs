//! A single pass over elements. Each element adds to a row of the result: its value times one row of each factor.
//!
//! The factors are multiplied in order. Each row is summed in the order of the elements, for any number of threads.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Dot, Ring, Term};
use crate::kernels::dots::{Factor, NoDot};
use crate::kernels::panels::Numbers;

/// The input of the pass.
pub(crate) struct RowProducts<'a, T> {
    pub(crate) values: &'a [T],
    /// The rows of each factor, and the row that each element uses. There is at least one factor.
    pub(crate) factors: &'a [Factor<'a, T>],
    /// The row of the result to which each element adds.
    pub(crate) into: Numbers<'a>,
    /// True if the rows in `into` do not decrease.
    pub(crate) in_order: bool,
    /// The number of rows of the result.
    pub(crate) rows: usize,
    /// The length of the rows of the result and of the factors.
    pub(crate) width: usize,
}

/// The number of elements whose rows are looked up at a time.
const BLOCK: usize = 256;

/// Returns the sums, row after row; the error is the first sum that does not fit in the type.
pub(crate) fn sums_of_rows<T: Ring>(walk: &RowProducts<'_, T>) -> Result<Vec<T>, NoDot> {
    let mut sums = alloc::copies(T::Dot::NOTHING, walk.rows * walk.width)?;
    let ends = walk.ends_of_parts();
    let in_items: Vec<usize> = ends.iter().map(|row| row * walk.width).collect();
    // Each thread has its own rows of the result, so each sum is computed by one thread.
    let added = threads::map_slices(&mut sums, &in_items, |part, sums| {
        let first = if part == 0 { 0 } else { ends[part - 1] };
        walk.add_to(sums, first..ends[part])
    });
    added.into_iter().collect::<Allocated<()>>()?;
    found(&sums)
}

/// The position of the upstream gradient: one value per element, or a factor.
#[derive(Clone, Copy)]
pub(crate) enum Upstream<'a, T> {
    Elements(&'a [T]),
    Factor(usize),
}

/// [`sums_of_rows`] without products with a zero upstream gradient, whose other factors may not be finite.
pub(crate) fn sums_without_zeros<T: Ring>(
    walk: &RowProducts<'_, T>,
    upstream: Upstream<'_, T>,
) -> Result<Vec<T>, NoDot> {
    let mut sums = alloc::copies(T::Dot::NOTHING, walk.rows * walk.width)?;
    let mut numbers = vec![0; walk.factors.len()];
    for (element, &value) in walk.values.iter().enumerate() {
        let looked_up = walk.factors.iter().zip(&mut numbers);
        looked_up.for_each(|((_, number), slot)| number(element, std::slice::from_mut(slot)));
        let item = |factor: usize, column: usize| walk.factors[factor].0.row(numbers[factor])[column];
        // A product with a zero upstream gradient is skipped, because zero times infinity is NaN.
        let counts = |column: usize| match upstream {
            Upstream::Elements(gradients) => gradients[element].is_truthy(),
            Upstream::Factor(factor) => item(factor, column).is_truthy(),
        };
        let row = walk.row(element) * walk.width;
        for column in (0..walk.width).filter(|&column| counts(column)) {
            let factors = (0..walk.factors.len()).map(|factor| T::Dot::term(item(factor, column)));
            sums[row + column] = sums[row + column].add(factors.fold(T::Dot::term(value), T::Dot::times));
        }
    }
    found(&sums)
}

/// Returns the sums as elements; the error is the first sum that does not fit in the type.
fn found<T: Ring>(sums: &[T::Dot]) -> Result<Vec<T>, NoDot> {
    let mut found = alloc::zeros(sums.len())?;
    match threads::try_map_into(sums, &mut found, 1000, T::Dot::value) {
        None => Ok(found),
        Some(at) => Err(NoDot::Overflow(at)),
    }
}

impl<T: Ring> RowProducts<'_, T> {
    /// Returns the row of the result for an element.
    fn row(&self, element: usize) -> usize {
        let mut row = [0];
        (self.into)(element, &mut row);
        row[0]
    }

    /// Returns the end of the rows of each thread. If the elements are sorted, they are divided evenly. Otherwise the
    /// rows are divided evenly.
    fn ends_of_parts(&self) -> Vec<usize> {
        let count = self.values.len();
        let picoseconds = self.width.saturating_mul(400 * self.factors.len()).saturating_add(4000);
        let parts = threads::map_parts(count, picoseconds, 0, |part| part.end);
        // The last part ends at the last row, so all rows are covered.
        let end = |(part, &end): (usize, &usize)| match (part + 1 == parts.len(), self.in_order) {
            (true, _) => self.rows,
            (_, true) => self.row(end),
            (_, false) => self.rows / parts.len() * (part + 1),
        };
        parts.iter().enumerate().map(end).collect()
    }

    /// Returns the elements that may belong to some rows.
    fn elements(&self, rows: &Range<usize>) -> Range<usize> {
        let from = |row: usize| {
            let (mut start, mut end) = (0, self.values.len());
            // Invariant: elements before `start` belong to rows before `row`, and elements from `end` on do not.
            while start < end {
                let middle = start + (end - start) / 2;
                if self.row(middle) < row { start = middle + 1 } else { end = middle }
            }
            start
        };
        if self.in_order && rows.len() < self.rows { from(rows.start)..from(rows.end) } else { 0..self.values.len() }
    }

    /// Adds the elements of some rows to their sums.
    fn add_to(&self, sums: &mut [T::Dot], rows: Range<usize>) -> Allocated<()> {
        let elements = self.elements(&rows);
        let mut numbers = alloc::zeros((self.factors.len() + 1) * BLOCK)?;
        for start in elements.clone().step_by(BLOCK) {
            // The buffer holds the rows of the result for a block, then one block of rows per factor.
            let count = BLOCK.min(elements.end - start);
            let (into, of_factors) = numbers.split_at_mut(BLOCK);
            (self.into)(start, &mut into[..count]);
            for ((_, number), numbers) in self.factors.iter().zip(of_factors.chunks_mut(BLOCK)) {
                number(start, &mut numbers[..count]);
            }
            let block =
                ElementBlock { values: &self.values[start..start + count], into: &into[..count], width: self.width };
            let factors: Few<_> = self.factors.iter().zip(of_factors.as_chunks().0).map(looked_up).collect();
            in_wide_vectors(
                #[inline(always)]
                || match factors[..] {
                    [a] => block.add(&[a], sums, &rows),
                    [a, b] => block.add(&[a, b], sums, &rows),
                    _ => block.add(&factors, sums, &rows),
                },
            );
        }
        Ok(())
    }
}

/// The items of a factor, and the rows that the elements of a block use.
type BroadcastLookup<'a, T> = (&'a [T], &'a [usize; BLOCK]);

fn looked_up<'a, T>(((rows, _), numbers): (&Factor<'a, T>, &'a [usize; BLOCK])) -> BroadcastLookup<'a, T> {
    (rows.items, numbers)
}

/// A block of elements, and the rows of the result to which they add.
struct ElementBlock<'a, T> {
    values: &'a [T],
    into: &'a [usize],
    width: usize,
}

impl<T: Ring> ElementBlock<'_, T> {
    /// True if the sums of 16 columns fit in the registers.
    const IS_NARROW: bool = size_of::<T::Dot>() <= 8;

    /// Returns whether runs of elements with the same row are long enough, on average, that searching for runs saves
    /// time.
    #[inline(always)]
    fn has_runs(&self) -> bool {
        let ends = self.into.iter().zip(self.into.iter().skip(1)).filter(|(row, next)| row != next).count();
        Self::IS_NARROW && ends <= self.into.len() / 4
    }

    /// Adds the elements of some rows to their sums.
    #[inline(always)]
    fn add(&self, factors: &[BroadcastLookup<'_, T>], sums: &mut [T::Dot], rows: &Range<usize>) {
        match factors.len() {
            0..=2 if !self.has_runs() => self.add_each(factors, sums, rows),
            _ => self.add_runs(factors, sums, rows),
        }
    }

    /// Adds the elements of some rows to their sums, for one or two factors.
    #[inline(always)]
    fn add_each(&self, factors: &[BroadcastLookup<'_, T>], sums: &mut [T::Dot], rows: &Range<usize>) {
        for (element, (&value, &row)) in self.values.iter().zip(self.into).enumerate().take(BLOCK) {
            // Elements of other rows belong to other threads.
            if rows.contains(&row) {
                let sums = &mut sums[(row - rows.start) * self.width..][..self.width];
                add_element(value, element, factors, sums, (self.width, 0));
            }
        }
    }

    /// Adds the elements of some rows to their sums, in runs of elements with one row.
    #[inline(always)]
    fn add_runs(&self, factors: &[BroadcastLookup<'_, T>], sums: &mut [T::Dot], rows: &Range<usize>) {
        let mut start = 0;
        // Invariant: elements before `start` are added.
        while let Some(&row) = self.into.get(start) {
            let count = self.into[start..].iter().take_while(|&&other| other == row).count();
            if rows.contains(&row) {
                let sums = &mut sums[(row - rows.start) * self.width..][..self.width];
                self.add_run(start..start + count, factors, sums);
            }
            start += count;
        }
    }

    /// Adds a run of elements to the sums of their row.
    #[inline(always)]
    fn add_run(&self, run: Range<usize>, factors: &[BroadcastLookup<'_, T>], sums: &mut [T::Dot]) {
        let mut at = 0;
        // Columns before `at` are done; each column adds the elements of the run in order.
        while at < self.width {
            at += match self.width - at {
                16.. if Self::IS_NARROW => self.add_columns::<16>(run.clone(), factors, &mut sums[at..], at),
                1 => self.add_columns::<1>(run.clone(), factors, &mut sums[at..], at),
                _ if factors.len() <= 2 => self.add_rest(run.clone(), factors, &mut sums[at..], at),
                4.. => self.add_columns::<4>(run.clone(), factors, &mut sums[at..], at),
                _ => self.add_columns::<1>(run.clone(), factors, &mut sums[at..], at),
            };
        }
    }

    /// Adds elements to `WIDTH` sums of their row, from a column on; the sums stay in registers.
    #[inline(always)]
    fn add_columns<const WIDTH: usize>(
        &self,
        run: Range<usize>,
        factors: &[BroadcastLookup<'_, T>],
        sums: &mut [T::Dot],
        start: usize,
    ) -> usize {
        let Some(slots) = sums.first_chunk_mut::<WIDTH>() else { return WIDTH };
        let mut sums = *slots;
        for element in run {
            // A term is the value times one item per factor, from left to right.
            let mut terms = [T::Dot::term(self.values[element]); WIDTH];
            for (items, numbers) in factors {
                let row = &items[numbers[element] * self.width + start..][..WIDTH];
                terms.iter_mut().zip(row).for_each(|(term, &item)| *term = T::Dot::times(*term, T::Dot::term(item)));
            }
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum = sum.add(term));
        }
        *slots = sums;
        WIDTH
    }

    /// Adds elements to the sums of their row from a column on, for one or two factors.
    #[inline(always)]
    fn add_rest(
        &self,
        run: Range<usize>,
        factors: &[BroadcastLookup<'_, T>],
        sums: &mut [T::Dot],
        start: usize,
    ) -> usize {
        for element in run {
            add_element(self.values[element], element, factors, sums, (self.width, start));
        }
        sums.len()
    }
}

/// Adds an element of a block to the sums of its row from a column on, for one or two factors.
#[inline(always)]
fn add_element<T: Ring>(
    value: T,
    element: usize,
    factors: &[BroadcastLookup<'_, T>],
    sums: &mut [T::Dot],
    (width, start): (usize, usize),
) {
    let (value, count) = (T::Dot::term(value), sums.len());
    let row = |at: usize| &factors[at].0[factors[at].1[element] * width + start..][..count];
    match factors.len() {
        1 => add_one(sums, value, row(0)),
        _ => add_two(sums, value, row(0), row(1)),
    }
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

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::kernels::dots::DenseRows;

    const ROWS: usize = 12;

    /// Returns the sums of 600 elements, added one by one.
    fn plain<T: Ring>(values: &[T], factors: &[Vec<T>], into: impl Fn(usize) -> usize, width: usize) -> Vec<Option<T>> {
        let mut sums = vec![T::Dot::NOTHING; ROWS * width];
        for (at, &value) in values.iter().enumerate() {
            for column in 0..width {
                let items = factors.iter().enumerate().map(|(f, items)| items[of_factor(f, at) * width + column]);
                let term = items.fold(T::Dot::term(value), |term, item| T::Dot::times(term, T::Dot::term(item)));
                let sum = &mut sums[into(at) * width + column];
                *sum = sum.add(term);
            }
        }
        sums.into_iter().map(T::Dot::value).collect()
    }

    fn of_factor(factor: usize, element: usize) -> usize {
        element * (factor + 3) % ROWS
    }

    /// Checks elements that add to rows in runs of the given length, sorted or not.
    fn check<T: Ring>(of: impl Fn(usize) -> T, run: usize, in_order: bool) {
        let into = |at: usize| if in_order { (at / run).min(ROWS - 1) } else { at / run * 5 % ROWS };
        let values: Vec<T> = (0..600).map(&of).collect();
        for (count, width) in [(1, 1), (1, 21), (2, 1), (2, 2), (2, 16), (2, 39), (3, 1), (3, 22), (5, 23)] {
            let factors: Vec<Vec<T>> =
                (0..count).map(|f| (0..ROWS * width).map(|at| of(at * (f + 7) + 1)).collect()).collect();
            let number = |f: usize| {
                move |start: usize, numbers: &mut [usize]| {
                    numbers.iter_mut().zip(start..).for_each(|(number, at)| *number = of_factor(f, at));
                }
            };
            let numbers: Vec<_> = (0..count).map(number).collect();
            let rows = factors.iter().zip(&numbers);
            let rows: Vec<Factor<'_, T>> =
                rows.map(|(items, number)| (DenseRows { items, width }, number as Numbers<'_>)).collect();
            let into_rows = |start: usize, numbers: &mut [usize]| {
                numbers.iter_mut().zip(start..).for_each(|(number, at)| *number = into(at));
            };
            let walk = RowProducts { values: &values, factors: &rows, into: &into_rows, in_order, rows: ROWS, width };
            let expected = plain(&values, &factors, into, width);
            match expected.iter().position(Option::is_none) {
                Some(at) => assert_eq!(sums_of_rows(&walk), Err(NoDot::Overflow(at)), "{count} {width} {run}"),
                None => {
                    let found = sums_of_rows(&walk).unwrap().into_iter().map(Some).collect::<Vec<_>>();
                    assert_eq!(found, expected, "{count} {width} {run}");
                    // Rows divided between two threads.
                    let mut parts = vec![T::Dot::NOTHING; ROWS * width];
                    let (low, high) = parts.split_at_mut(5 * width);
                    walk.add_to(low, 0..5).unwrap();
                    walk.add_to(high, 5..ROWS).unwrap();
                    assert_eq!(parts.into_iter().map(T::Dot::value).collect::<Vec<_>>(), expected, "{count} {width}");
                }
            }
        }
    }

    #[test]
    fn elements_are_added_in_order_in_runs_and_one_by_one() {
        for (run, in_order) in [(1, false), (3, false), (4, false), (7, false), (50, true), (64, true), (300, true)] {
            let of = |at: usize| (at * 37 % 101) as f64 / 7.0 - 6.1;
            check(of, run, in_order);
            check(|at| of(at) as f32, run, in_order);
            check(|at| Complex::new(of(at), of(at + 2)), run, in_order);
            check(|at| (at % 3) as i64 - 1, run, in_order);
            check(|at| (at % 5) as i8, run, in_order);
            check(|at| at % 3 == 0, run, in_order);
        }
    }
}
