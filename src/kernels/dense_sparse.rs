//! Products of a dense left operand with a sparse right operand. Each entry adds its products to the output columns.

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{MatrixEntries, Missing, RowMap, first_overflow};
use crate::kernels::semiring::Semiring;

/// The number of left rows multiplied with the entries at a time.
const LANES: usize = 8;

/// The shape of a product: `count` matrices of `rows` rows. A left row has `inner` elements, an output row `width`.
#[derive(Clone, Copy)]
pub(crate) struct ProductLengths {
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) width: usize,
}

/// Returns the rows of the product of a dense operand with the entries of the right operand.
pub(crate) fn of_array<T: Element, S: Semiring<T>>(
    op: S,
    left: &[T],
    right: MatrixEntries<'_, T>,
    lengths: ProductLengths,
    row_map: RowMap<'_>,
) -> Result<Vec<T>, Missing> {
    // A single row is processed without other rows.
    match lengths.rows {
        1 => by_lanes::<1, _, _>(op, left, right, lengths, row_map),
        _ => by_lanes::<LANES, _, _>(op, left, right, lengths, row_map),
    }
}

fn by_lanes<const COUNT: usize, T: Element, S: Semiring<T>>(
    op: S,
    left: &[T],
    right: MatrixEntries<'_, T>,
    lengths: ProductLengths,
    row_map: RowMap<'_>,
) -> Result<Vec<T>, Missing> {
    let ProductLengths { count, rows, inner, width } = lengths;
    let mut items = alloc::zeros(count * rows * width)?;
    let mut blocks = alloc::with_capacity(count * rows.div_ceil(COUNT))?;
    for (matrix, slots) in items.chunks_exact_mut(rows * width).enumerate() {
        let numbered = slots.chunks_mut(COUNT * width).enumerate();
        // A block has rows of only one matrix, so all its rows are multiplied by the same right matrix. The last block
        // may be shorter.
        blocks.extend(numbered.map(|(block, slots)| (matrix * rows + block * COUNT, slots)));
    }
    // Blocks are independent, so the result does not depend on the number of threads.
    let work = blocks.len().saturating_mul(right.values.len() / 2 + inner + width);
    let places = threads::map_each(blocks.into(), work, TransposedBlock::default, |scratch, (first, slots)| {
        let (of_left, base) = row_map(first);
        let rows = &left[of_left * inner..][..slots.len() / width * inner];
        scratch.prepare(op.nothing(), rows, (COUNT, inner, width))?;
        // A single row already has the transposed layout.
        let lanes = if COUNT == 1 { rows } else { &scratch.left };
        in_wide_vectors(
            #[inline(always)]
            || scattered::<COUNT, _, _>(op, lanes, &mut scratch.sums, right, base),
        );
        Ok(scratch.write(op, COUNT, slots).map(|place| first * width + place))
    });
    first_overflow(places.into_iter().collect::<Allocated<_>>()?)?;
    Ok(items)
}

/// The rows of a block of the left operand, transposed, and the sums of its output rows, also transposed.
struct TransposedBlock<T, U> {
    left: Vec<T>,
    sums: Vec<U>,
}

impl<T, U> Default for TransposedBlock<T, U> {
    fn default() -> Self {
        TransposedBlock { left: Vec::new(), sums: Vec::new() }
    }
}

impl<T: Element, U: Copy> TransposedBlock<T, U> {
    fn prepare(&mut self, nothing: U, rows: &[T], (lanes, inner, width): (usize, usize, usize)) -> Allocated<()> {
        self.sums.clear();
        alloc::reserve_exact(&mut self.sums, lanes * width)?;
        self.sums.resize(lanes * width, nothing);
        if lanes == 1 {
            return Ok(());
        }
        self.left.clear();
        alloc::reserve_exact(&mut self.left, lanes * inner)?;
        self.left.resize(lanes * inner, T::ZERO);
        // Unused lanes repeat an existing row. A semiring therefore multiplies only pairs of elements that belong to
        // the product.
        for (lane, row) in rows.chunks_exact(inner.max(1)).cycle().take(lanes).enumerate() {
            // Layout: element `k` of row `lane` is at `k * lanes + lane`, so one entry reads adjacent elements.
            self.left.iter_mut().skip(lane).step_by(lanes).zip(row).for_each(|(slot, &element)| *slot = element);
        }
        Ok(())
    }

    /// Writes the sums row by row. Returns the first position without a value.
    fn write<S: Semiring<T, Sum = U>>(&self, op: S, lanes: usize, slots: &mut [T]) -> Option<usize> {
        let (width, mut first) = (self.sums.len() / lanes, None);
        // `slots` does not have rows for unused lanes, so the results of repeated rows are not written.
        for (lane, slots) in slots.chunks_exact_mut(width).enumerate() {
            for (place, (slot, &sum)) in slots.iter_mut().zip(self.sums[lane..].iter().step_by(lanes)).enumerate() {
                match op.value(sum) {
                    Some(value) => *slot = value,
                    None => first = first.or(Some(lane * width + place)),
                }
            }
        }
        first
    }
}

/// Adds the products of all lanes with the entries of a matrix whose first row is `base`.
#[inline(always)]
fn scattered<const COUNT: usize, T: Element, S: Semiring<T>>(
    op: S,
    lanes: &[T],
    sums: &mut [S::Sum],
    right: MatrixEntries<'_, T>,
    base: usize,
) {
    let rows = right.rows.offsets[base..].windows(2);
    // `lanes` has `inner` chunks, so the loop ends at the last row of this matrix.
    for (ends, lanes) in rows.zip(lanes.chunks_exact(COUNT)) {
        let (columns, values) = (&right.rows.columns[ends[0]..ends[1]], &right.values[ends[0]..ends[1]]);
        for (&column, &value) in columns.iter().zip(values) {
            // Each sum receives its terms in increasing order of rows, as in a sequential product.
            let sums = &mut sums.as_chunks_mut::<COUNT>().0[column as usize];
            for (sum, &lane) in sums.iter_mut().zip(lanes) {
                *sum = op.plus(*sum, lane, value);
            }
        }
    }
}
