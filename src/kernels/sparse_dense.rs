//! Matrix products with a dense right operand: each row of the result combines rows of the right operand.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{MatrixEntries, Missing, RowMap, first_overflow, shares};
use crate::kernels::panels::{PanelOrder, TableSize};
use crate::kernels::semiring::Semiring;

/// The estimated picoseconds per entry for the first column of the right operand, and for each further column.
const FIRST: usize = 2000;
const NEXT: usize = 150;

/// Returns the rows of the product of sparse entries and a dense right operand.
///
/// The result has `rows` rows; each matrix on the right has `inner` rows of `width` elements.
pub(crate) fn of_entries<T: Element, S: Semiring<T>>(
    op: S,
    left: MatrixEntries<'_, T>,
    (right, inner): (&[T], usize),
    (rows, width): (usize, usize),
    row_map: RowMap<'_>,
) -> Result<Vec<T>, Missing> {
    // If the left operand is repeated (broadcast), every row is assumed to take the same time.
    let offsets = left.rows.offsets;
    let entries = |row: usize| if rows + 1 == offsets.len() { offsets[row] + row } else { row };
    let ends = shares(rows, FIRST + NEXT * width, &entries);
    let table = TableSize { rows: inner, bytes_of_row: width * size_of::<T>() };
    let each = left.values.len() / (offsets.len() - 1).max(1);
    // The position in each row is also kept.
    let sums = (width * size_of::<S::Sum>() + size_of::<Range<usize>>()) * ends.len();
    let walk = if width > 1 { table.walk(each, sums) } else { None };
    shared_out(rows * width, &ends, width, &|first, slots| {
        let row_map = |row: usize| row_map(first + row);
        in_wide_vectors(
            #[inline(always)]
            || match walk {
                Some(walk) => by_panels(op, left, (right, inner), (slots, width), row_map, walk),
                None if width == 1 => Ok(of_one_column(op, left, right, slots, row_map)),
                None => Ok(each_row(slots, width, |row, slots| {
                    let (of_left, base) = row_map(row);
                    gathered(op, pairs(left, left.rows.range(of_left)), &right[base * width..], Results(slots))
                })),
            },
        )
    })
}

/// Returns the columns and values of entries.
#[inline(always)]
fn pairs<T: Copy>(left: MatrixEntries<'_, T>, range: Range<usize>) -> impl Iterator<Item = (usize, T)> + Clone {
    let (columns, values) = (&left.rows.columns[range.clone()], &left.values[range]);
    columns.iter().zip(values).map(|(&column, &value)| (column as usize, value))
}

/// Computes several rows of the result together. All rows use one panel of the right operand before the next panel.
///
/// A panel stays in a cache. The terms of each row are added in the same order as without panels.
#[inline(always)]
fn by_panels<T: Element, S: Semiring<T>>(
    op: S,
    left: MatrixEntries<'_, T>,
    (right, inner): (&[T], usize),
    (slots, width): (&mut [T], usize),
    row_map: impl Fn(usize) -> (usize, usize),
    walk: PanelOrder,
) -> Allocated<Option<usize>> {
    let (rows, mut first, mut missing) = (slots.len() / width, 0, None);
    let mut sums = alloc::copies(op.nothing(), walk.at_once.min(rows) * width)?;
    let mut rest = alloc::with_capacity(walk.at_once.min(rows))?;
    // Invariant: rows before `first` are written.
    while first < rows {
        // Only rows that use the same matrix share its panels.
        let base = row_map(first).1;
        let end = rows.min(first + walk.at_once);
        let turns = (first..end).map(&row_map).take_while(|row_map| row_map.1 == base);
        rest.clear();
        rest.extend(turns.map(|row_map| left.rows.range(row_map.0)));
        let sums = &mut sums[..rest.len() * width];
        sums.fill(op.nothing());
        // Columns increase within a row, so each panel continues where the panel before it stopped.
        for end in (0..inner).step_by(walk.panel).map(|start| start + walk.panel) {
            for (rest, sums) in rest.iter_mut().zip(sums.chunks_exact_mut(width)) {
                let count =
                    left.rows.columns[rest.clone()].iter().take_while(|&&column| (column as usize) < end).count();
                let met = rest.start..rest.start + count;
                gathered(op, pairs(left, met.clone()), &right[base * width..], Waiting(sums));
                rest.start = met.end;
            }
        }
        let found = finished(op, sums, &mut slots[first * width..][..sums.len()]);
        missing = missing.or(found.map(|place| first * width + place));
        // At least one row is processed, because `at_once` is never 0.
        first += rest.len();
    }
    Ok(missing)
}

/// Writes the elements of a product with a vector, and returns the first element that does not fit in the type.
#[inline(always)]
fn of_one_column<T: Element, S: Semiring<T>>(
    op: S,
    left: MatrixEntries<'_, T>,
    right: &[T],
    slots: &mut [T],
    row_map: impl Fn(usize) -> (usize, usize),
) -> Option<usize> {
    let mut first = None;
    // Terms are added in the order of the entries, as for several columns.
    for (row, slot) in slots.iter_mut().enumerate() {
        let (of_left, base) = row_map(row);
        let ((columns, values), right) = (left.row(of_left), &right[base..]);
        let mut sum = op.nothing();
        for (&column, &value) in columns.iter().zip(values) {
            sum = op.plus(sum, value, right[column as usize]);
        }
        match op.value(sum) {
            Some(value) => *slot = value,
            None => first = first.or(Some(row)),
        }
    }
    first
}

/// Returns the rows of the product of two dense operands; rows of the left operand have `inner` elements.
pub(crate) fn of_arrays<T: Element, S: Semiring<T>>(
    op: S,
    (left, inner): (&[T], usize),
    right: &[T],
    (rows, width): (usize, usize),
    row_map: RowMap<'_>,
) -> Result<Vec<T>, Missing> {
    let ends = shares(rows, (FIRST + NEXT * width).saturating_mul(inner.max(1)), &|row| row);
    shared_out(rows * width, &ends, width, &|first, slots| {
        in_wide_vectors(
            #[inline(always)]
            || {
                Ok(each_row(slots, width, |row, slots| {
                    let (of_left, base) = row_map(first + row);
                    let pairs = left[of_left * inner..][..inner].iter().copied().enumerate();
                    gathered(op, pairs, &right[base * width..], Results(slots))
                }))
            },
        )
    })
}

/// A function that writes the rows of a part, given its first row, and returns the first element without a result.
type Fill<'a, T> = &'a (dyn Fn(usize, &mut [T]) -> Allocated<Option<usize>> + Sync);

/// Returns `count` items written by `fill`, part by part; the error is the first element without a result.
fn shared_out<T: Element>(count: usize, ends: &[usize], width: usize, fill: Fill<'_, T>) -> Result<Vec<T>, Missing> {
    let mut items = alloc::zeros(count)?;
    let places = ends.iter().map(|end| end * width).collect::<Vec<_>>();
    let overflows = threads::map_slices(&mut items, &places, |part, slots| {
        let first = if part == 0 { 0 } else { ends[part - 1] };
        // `fill` counts from the start of its part.
        fill(first, slots).map(|place| place.map(|place| first * width + place))
    });
    first_overflow(overflows.into_iter().collect::<Allocated<Few<_>>>()?)?;
    Ok(items)
}

/// Calls `fill` for each row and returns the first element without a result.
#[inline(always)]
fn each_row<T>(slots: &mut [T], width: usize, mut fill: impl FnMut(usize, &mut [T]) -> Option<usize>) -> Option<usize> {
    let mut first = None;
    for (row, slots) in slots.chunks_exact_mut(width).enumerate() {
        if let Some(place) = fill(row, slots) {
            first = first.or(Some(row * width + place));
        }
    }
    first
}

/// Writes the sums as elements and returns the first element that does not fit in the type.
#[inline(always)]
fn finished<T: Element, S: Semiring<T>>(op: S, sums: &[S::Sum], slots: &mut [T]) -> Option<usize> {
    let mut first = None;
    for (place, (slot, &sum)) in slots.iter_mut().zip(sums).enumerate() {
        match op.value(sum) {
            Some(value) => *slot = value,
            None => first = first.or(Some(place)),
        }
    }
    first
}

/// The destination of the sums of a row, and their initial values.
trait RowSums<T: Element, S: Semiring<T>> {
    fn width(&self) -> usize;

    /// Returns the initial sums of `WIDTH` columns from `start` on.
    fn begun<const WIDTH: usize>(&self, op: S, start: usize) -> [S::Sum; WIDTH];

    /// Stores the sums and returns the first element without a result.
    fn take<const WIDTH: usize>(&mut self, op: S, start: usize, sums: [S::Sum; WIDTH]) -> Option<usize>;
}

/// Sums that are complete after one call.
struct Results<'a, T>(&'a mut [T]);

impl<T: Element, S: Semiring<T>> RowSums<T, S> for Results<'_, T> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn begun<const WIDTH: usize>(&self, op: S, _start: usize) -> [S::Sum; WIDTH] {
        [op.nothing(); WIDTH]
    }

    #[inline(always)]
    fn take<const WIDTH: usize>(&mut self, op: S, start: usize, sums: [S::Sum; WIDTH]) -> Option<usize> {
        finished(op, &sums, &mut self.0[start..][..WIDTH]).map(|place| start + place)
    }
}

/// Partial sums that receive more terms later.
struct Waiting<'a, U>(&'a mut [U]);

impl<T: Element, S: Semiring<T>> RowSums<T, S> for Waiting<'_, S::Sum> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn begun<const WIDTH: usize>(&self, op: S, start: usize) -> [S::Sum; WIDTH] {
        self.0[start..].first_chunk().copied().unwrap_or([op.nothing(); WIDTH])
    }

    #[inline(always)]
    fn take<const WIDTH: usize>(&mut self, _: S, start: usize, sums: [S::Sum; WIDTH]) -> Option<usize> {
        self.0[start..][..WIDTH].copy_from_slice(&sums);
        None
    }
}

/// Adds rows of the right operand, each times its value, to the sums of a row, in the order of `pairs`.
///
/// Returns the first element without a result.
#[inline(always)]
fn gathered<T: Element, S: Semiring<T>>(
    op: S,
    pairs: impl Iterator<Item = (usize, T)> + Clone,
    right: &[T],
    mut sums: impl RowSums<T, S>,
) -> Option<usize> {
    let (width, mut at, mut first) = (sums.width(), 0, None);
    // Columns before `at` are done. Blocks of columns are independent, so their width does not change a result.
    while at < width {
        let place = match width - at {
            32.. => block::<32, _, _>(op, pairs.clone(), right, (&mut at, &mut sums)),
            16.. => block::<16, _, _>(op, pairs.clone(), right, (&mut at, &mut sums)),
            4.. => block::<4, _, _>(op, pairs.clone(), right, (&mut at, &mut sums)),
            _ => block::<1, _, _>(op, pairs.clone(), right, (&mut at, &mut sums)),
        };
        first = first.or(place);
    }
    first
}

/// Computes `WIDTH` columns of a row with sums in registers, and moves `at` past them.
#[inline(always)]
fn block<const WIDTH: usize, T: Element, S: Semiring<T>>(
    op: S,
    pairs: impl Iterator<Item = (usize, T)>,
    right: &[T],
    (at, row): (&mut usize, &mut impl RowSums<T, S>),
) -> Option<usize> {
    let (width, start) = (row.width(), *at);
    let mut sums: [S::Sum; WIDTH] = row.begun(op, start);
    // All terms of these columns are added in the order of `pairs`.
    for (row, value) in pairs {
        let others = &right[row * width + start..][..WIDTH];
        for (sum, &other) in sums.iter_mut().zip(others) {
            *sum = op.plus(*sum, value, other);
        }
    }
    *at += WIDTH;
    row.take(op, start, sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::matrix::SparseRows;
    use crate::kernels::semiring::PlusTimes;

    /// Computes rows of several lengths, of two matrices, with 32, 4 and one column at a time, with and without panels.
    fn both_ways<T: Element + crate::element::Ring>(
        of: impl Fn(usize) -> T,
        walk: PanelOrder,
    ) -> [(Vec<T>, Option<usize>); 2] {
        let (rows, inner, width) = (30, 40, 37);
        let columns = |row: usize| (0..inner).filter(move |column| (row * 7 + column * 5) % 11 < row % 12);
        let offsets: Vec<usize> = (0..=rows).map(|end| (0..end).map(|row| columns(row).count()).sum()).collect();
        let columns: Vec<u32> = (0..rows).flat_map(|row| columns(row).map(|column| column as u32)).collect();
        let values: Vec<T> = (0..columns.len()).map(&of).collect();
        let right: Vec<T> = (0..2 * inner * width).map(|at| of(at * 3 + 1)).collect();
        let left = MatrixEntries { rows: SparseRows { offsets: &offsets, columns: &columns }, values: &values };
        let row_map = |row: usize| (row, row / 17 * inner);
        let (mut plain, mut panels) = (vec![T::ZERO; rows * width], vec![T::ZERO; rows * width]);
        let missing = each_row(&mut plain, width, |row, slots| {
            let (of_left, base) = row_map(row);
            gathered(PlusTimes, pairs(left, left.rows.range(of_left)), &right[base * width..], Results(slots))
        });
        let found = by_panels(PlusTimes, left, (&right, inner), (&mut panels, width), row_map, walk);
        [(plain, missing), (panels, found.unwrap())]
    }

    #[test]
    fn panels_add_terms_in_their_order() {
        for (panel, at_once) in [(1, 1), (7, 4), (13, 17), (40, 30), (100, 100)] {
            let walk = PanelOrder { panel, at_once };
            let of = |at: usize| (at % 23) as f64 * 1e15_f64.powi(at as i32 % 5 - 2) - 0.3;
            let [(plain, _), (panels, missing)] = both_ways(of, walk);
            assert!(plain.iter().zip(&panels).all(|(plain, panels)| plain.to_bits() == panels.to_bits()));
            assert_eq!(missing, None);
            // The first element whose sum does not fit in `i8`.
            let [plain, panels] = both_ways(|at| (at % 7) as i8, walk);
            assert!(plain.1.is_some() && plain == panels);
        }
    }
}
