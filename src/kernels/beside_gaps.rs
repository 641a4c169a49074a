//! The slow rule of products for elements of a dense operand that are not finite: times an implicit zero they are NaN.

use crate::base::alloc::{self, Allocated};
use crate::element::Element;
use crate::kernels::matrix::{Entries, Rows, Turn};

/// The canonical NaN, of a value that is not finite.
fn nan_of<T: Element>(value: T) -> T {
    T::ZERO.checked_mul(value).unwrap_or(T::ZERO)
}

/// How many elements of a column, of a matrix of the right operand, are not finite.
struct Bad<T> {
    matrix: usize,
    column: usize,
    count: usize,
    nan: T,
}

/// The columns with such elements of matrices of `inner` rows.
fn bad_columns<T: Element>(right: &[T], inner: usize, width: usize) -> Allocated<Vec<Bad<T>>> {
    let mut found: Vec<Bad<T>> = Vec::new();
    for (matrix, elements) in right.chunks_exact(inner * width).enumerate() {
        for column in 0..width {
            let mut elements = elements[column..].iter().step_by(width).filter(|element| !element.isfinite());
            if let Some(&first) = elements.next() {
                let bad = Bad { matrix, column, count: 1 + elements.count(), nan: nan_of(first) };
                alloc::push(&mut found, bad)?;
            }
        }
    }
    Ok(found)
}

/// Makes NaN what a row of the left operand has no entry for, where the right one is not finite.
pub(crate) fn right_of_gaps<T: Element>(
    left: Entries<'_, T>,
    right: &[T],
    (inner, width): (usize, usize),
    turn: Turn<'_>,
    result: &mut [T],
) -> Allocated<()> {
    let bad = bad_columns(right, inner, width)?;
    for (row, slots) in result.chunks_exact_mut(width).enumerate() {
        let (of_left, base) = turn(row);
        let (columns, _) = left.row(of_left);
        let first = bad.partition_point(|bad| bad.matrix < base / inner);
        for bad in bad[first..].iter().take_while(|bad| bad.matrix == base / inner) {
            let met = |column: &&u32| !right[(base + **column as usize) * width + bad.column].isfinite();
            if columns.iter().filter(met).count() < bad.count {
                slots[bad.column] = bad.nan;
            }
        }
    }
    Ok(())
}

/// Makes NaN what a column of the right operand has no entry for, where the left one is not finite.
pub(crate) fn left_of_gaps<T: Element>(
    left: &[T],
    right: Rows<'_>,
    (inner, width): (usize, usize),
    turn: Turn<'_>,
    result: &mut [T],
) -> Allocated<()> {
    let mut counts = alloc::zeros::<usize>(width)?;
    for (row, slots) in result.chunks_exact_mut(width).enumerate() {
        let (of_left, base) = turn(row);
        let elements = &left[of_left * inner..][..inner];
        let Some(&first) = elements.iter().find(|element| !element.isfinite()) else { continue };
        counts.fill(0);
        let mut all = 0;
        for (at, _) in elements.iter().enumerate().filter(|(_, element)| !element.isfinite()) {
            all += 1;
            right.columns[right.range(base + at)].iter().for_each(|&column| counts[column as usize] += 1);
        }
        let short = slots.iter_mut().zip(&counts).filter(|(_, count)| **count < all);
        short.for_each(|(slot, _)| *slot = nan_of(first));
    }
    Ok(())
}
