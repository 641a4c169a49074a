//! Products with elements of a dense operand that are not finite. The product of such an element and an implicit zero
//! is NaN.

use crate::base::alloc::{self, Allocated};
use crate::element::Element;
use crate::kernels::matrix::{MatrixEntries, RowMap, SparseRows};

/// Returns the canonical NaN for a value that is not finite.
fn nan_of<T: Element>(value: T) -> T {
    T::ZERO.checked_mul(value).unwrap_or(T::ZERO)
}

/// The number of elements that are not finite in one column of one matrix of the right operand.
struct Bad<T> {
    matrix: usize,
    column: usize,
    count: usize,
    nan: T,
}

/// Returns the columns with elements that are not finite, for matrices of `inner` rows.
fn bad_columns<T: Element>(right: &[T], inner: usize, width: usize) -> Allocated<Vec<Bad<T>>> {
    let mut found: Vec<Bad<T>> = Vec::new();
    for (matrix, elements) in right.chunks_exact(inner * width).enumerate() {
        // Invariant: `found` is sorted by matrix, then by column.
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

/// Writes NaN to output elements for which an unstored position on the left is multiplied by a right element that is
/// not finite.
pub(crate) fn spread_nan_from_right<T: Element>(
    left: MatrixEntries<'_, T>,
    right: &[T],
    (inner, width): (usize, usize),
    row_map: RowMap<'_>,
    result: &mut [T],
) -> Allocated<()> {
    let bad = bad_columns(right, inner, width)?;
    for (row, slots) in result.chunks_exact_mut(width).enumerate() {
        let (of_left, base) = row_map(row);
        let (columns, _) = left.row(of_left);
        // `base / inner` is the index of the right matrix. Its columns are adjacent in `bad`.
        let first = bad.partition_point(|bad| bad.matrix < base / inner);
        for bad in bad[first..].iter().take_while(|bad| bad.matrix == base / inner) {
            let met = |column: &&u32| !right[(base + **column as usize) * width + bad.column].isfinite();
            // If the number of entries at such elements is smaller than the number of such elements in the column, at
            // least one element is multiplied by an unstored position.
            if columns.iter().filter(met).count() < bad.count {
                slots[bad.column] = bad.nan;
            }
        }
    }
    Ok(())
}

/// Writes NaN to output elements for which an unstored position on the right is multiplied by a left element that is
/// not finite.
pub(crate) fn spread_nan_from_left<T: Element>(
    left: &[T],
    right: SparseRows<'_>,
    (inner, width): (usize, usize),
    row_map: RowMap<'_>,
    result: &mut [T],
) -> Allocated<()> {
    let mut counts = alloc::zeros::<usize>(width)?;
    for (row, slots) in result.chunks_exact_mut(width).enumerate() {
        let (of_left, base) = row_map(row);
        let elements = &left[of_left * inner..][..inner];
        let Some(&first) = elements.iter().find(|element| !element.isfinite()) else { continue };
        counts.fill(0);
        // `counts[column]` is the number of entries in the column that are multiplied by an element that is not finite.
        let mut all = 0;
        for (at, _) in elements.iter().enumerate().filter(|(_, element)| !element.isfinite()) {
            all += 1;
            right.columns[right.range(base + at)].iter().for_each(|&column| counts[column as usize] += 1);
        }
        // If the count is smaller than `all`, an unstored position of the column is multiplied by such an element.
        let short = slots.iter_mut().zip(&counts).filter(|(_, count)| **count < all);
        short.for_each(|(slot, _)| *slot = nan_of(first));
    }
    Ok(())
}
