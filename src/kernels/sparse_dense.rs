//! Products with a dense operand on the right, of which each row of the result gathers rows.

use crate::base::alloc;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{Entries, Missing, Turn, first_overflow, shares};
use crate::kernels::semiring::Semiring;

/// What an entry costs beside one column of the right operand, and each one more, in picoseconds.
const FIRST: usize = 2000;
const NEXT: usize = 150;

/// The rows of the result, which has so many, of the entries of the left operand and the rows of the right one, which
/// are `width` long.
pub(crate) fn of_entries<T: Element, S: Semiring<T>>(
    op: S,
    left: Entries<'_, T>,
    right: &[T],
    (rows, width): (usize, usize),
    turn: Turn<'_>,
) -> Result<Vec<T>, Missing> {
    // Where the left operand is repeated the rows count alike.
    let offsets = left.rows.offsets;
    let entries = |row: usize| if rows + 1 == offsets.len() { offsets[row] + row } else { row };
    let ends = shares(rows, FIRST + NEXT * width, &entries);
    shared_out(rows * width, &ends, width, &|first, slots| {
        in_wide_vectors(
            #[inline(always)]
            || {
                if width == 1 {
                    return of_one_column(op, left, right, slots, |row| turn(first + row));
                }
                each_row(slots, width, |row, slots| {
                    let (of_left, base) = turn(first + row);
                    let (columns, values) = left.row(of_left);
                    let pairs = columns.iter().zip(values).map(|(&column, &value)| (column as usize, value));
                    gathered(op, pairs, &right[base * width..], slots)
                })
            },
        )
    })
}

/// The elements of the result of a vector; the first one that its type cannot hold.
#[inline(always)]
fn of_one_column<T: Element, S: Semiring<T>>(
    op: S,
    left: Entries<'_, T>,
    right: &[T],
    slots: &mut [T],
    turn: impl Fn(usize) -> (usize, usize),
) -> Option<usize> {
    let mut first = None;
    for (row, slot) in slots.iter_mut().enumerate() {
        let (of_left, base) = turn(row);
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

/// The rows of the result of two dense operands; those of the left one are `inner` long.
pub(crate) fn of_arrays<T: Element, S: Semiring<T>>(
    op: S,
    (left, inner): (&[T], usize),
    right: &[T],
    (rows, width): (usize, usize),
    turn: Turn<'_>,
) -> Result<Vec<T>, Missing> {
    let ends = shares(rows, (FIRST + NEXT * width).saturating_mul(inner.max(1)), &|row| row);
    shared_out(rows * width, &ends, width, &|first, slots| {
        in_wide_vectors(
            #[inline(always)]
            || {
                each_row(slots, width, |row, slots| {
                    let (of_left, base) = turn(first + row);
                    let pairs = left[of_left * inner..][..inner].iter().copied().enumerate();
                    gathered(op, pairs, &right[base * width..], slots)
                })
            },
        )
    })
}

/// So many items, which `fill` writes share by share; it is told the first row of its share, and says the first place
/// in it that has no result.
fn shared_out<T: Element>(
    count: usize,
    ends: &[usize],
    width: usize,
    fill: &(dyn Fn(usize, &mut [T]) -> Option<usize> + Sync),
) -> Result<Vec<T>, Missing> {
    let mut items = alloc::zeros(count)?;
    let places = ends.iter().map(|end| end * width).collect::<Vec<_>>();
    let overflows = threads::map_slices(&mut items, &places, |part, slots| {
        let first = if part == 0 { 0 } else { ends[part - 1] };
        fill(first, slots).map(|place| first * width + place)
    });
    first_overflow(overflows)?;
    Ok(items)
}

/// Lets `fill` write each row; the first place without a result.
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

/// A row of the result: the rows of the right operand at the numbers, each times its value, one after the other.
#[inline(always)]
fn gathered<T: Element, S: Semiring<T>>(
    op: S,
    pairs: impl Iterator<Item = (usize, T)> + Clone,
    right: &[T],
    slots: &mut [T],
) -> Option<usize> {
    let width = slots.len();
    let (mut at, mut first) = (0, None);
    while at < width {
        let place = match width - at {
            32.. => block::<32, _, _>(op, pairs.clone(), right, at, (&mut at, slots)),
            16.. => block::<16, _, _>(op, pairs.clone(), right, at, (&mut at, slots)),
            4.. => block::<4, _, _>(op, pairs.clone(), right, at, (&mut at, slots)),
            _ => block::<1, _, _>(op, pairs.clone(), right, at, (&mut at, slots)),
        };
        first = first.or(place);
    }
    first
}

/// So many columns of a row of the result, from `start` on, which stay in registers; `at` goes behind them.
#[inline(always)]
fn block<const WIDTH: usize, T: Element, S: Semiring<T>>(
    op: S,
    pairs: impl Iterator<Item = (usize, T)>,
    right: &[T],
    start: usize,
    (at, slots): (&mut usize, &mut [T]),
) -> Option<usize> {
    let width = slots.len();
    let mut sums = [op.nothing(); WIDTH];
    for (row, value) in pairs {
        let others = &right[row * width + start..][..WIDTH];
        for (sum, &other) in sums.iter_mut().zip(others) {
            *sum = op.plus(*sum, value, other);
        }
    }
    *at += WIDTH;
    let mut first = None;
    for (place, (slot, &sum)) in slots[start..*at].iter_mut().zip(&sums).enumerate() {
        match op.value(sum) {
            Some(value) => *slot = value,
            None => first = first.or(Some(start + place)),
        }
    }
    first
}
