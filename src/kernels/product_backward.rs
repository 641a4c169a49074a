//! Gradients of matrix products.
//!
//! The gradient of the left operand at (i, k) sums upstream · right over row i of upstream and row k of right. This sum
//! is computed in eight partial sums by column. The gradient of the right operand at (k, j) is the sum of left ·
//! upstream, in row order. Products with a zero upstream gradient are skipped, because a factor that is not finite
//! would yield NaN.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Dot, Element, Float};
use crate::kernels::dots::PartialSums;
use crate::kernels::matrix::{MatrixEntries, shares};
use crate::kernels::zip::all_finite;

/// The estimated picoseconds per product.
const STEP: usize = 1000;

/// A batch of matrices by rows: entries, or all elements.
#[derive(Clone, Copy)]
pub(crate) enum MatrixBatch<'a, T> {
    Entries(MatrixEntries<'a, T>),
    Array(&'a [T]),
}

impl<'a, T> MatrixBatch<'a, T> {
    fn values(&self) -> &'a [T] {
        match self {
            MatrixBatch::Entries(entries) => entries.values,
            MatrixBatch::Array(elements) => elements,
        }
    }
}

/// The upstream gradient. Unstored positions have the value `fill`.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamBatch<'a, T> {
    pub(crate) side: MatrixBatch<'a, T>,
    pub(crate) fill: T,
    /// True if an element is not finite.
    pub(crate) is_unbounded: bool,
}

/// The batch of matrices to multiply: `count` results of `rows` by `width`, and the matrix of each operand per result.
#[derive(Clone, Copy)]
pub(crate) struct ProductBatch<'a> {
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) width: usize,
    pub(crate) left: &'a (dyn Fn(usize) -> usize + Sync),
    pub(crate) right: &'a (dyn Fn(usize) -> usize + Sync),
}

/// A row of the upstream gradient with all its elements.
struct UpstreamRow<'a, T> {
    upstream: UpstreamBatch<'a, T>,
    elements: Vec<T>,
    written: Option<usize>,
}

impl<'a, T: Element> UpstreamRow<'a, T> {
    fn new(upstream: UpstreamBatch<'a, T>, width: usize) -> Allocated<Self> {
        let width = if matches!(upstream.side, MatrixBatch::Array(_)) { 0 } else { width };
        Ok(UpstreamRow { upstream, elements: alloc::copies(upstream.fill, width)?, written: None })
    }

    /// Returns all elements of a row.
    fn at(&mut self, row: usize, width: usize) -> &[T] {
        let entries = match self.upstream.side {
            MatrixBatch::Array(elements) => return &elements[row * width..][..width],
            MatrixBatch::Entries(entries) => entries,
        };
        // Invariant: `elements` holds the fill except at the entries of the row in `written`.
        if let Some(before) = self.written.replace(row) {
            entries.row(before).0.iter().for_each(|&column| self.elements[column as usize] = self.upstream.fill);
        }
        let (columns, values) = entries.row(row);
        columns.iter().zip(values).for_each(|(&column, &value)| self.elements[column as usize] = value);
        &self.elements
    }
}

/// Returns the gradient of the left operand: at its entries, or at all positions of an array.
pub(crate) fn of_left<T: Float>(
    left: MatrixBatch<'_, T>,
    right: MatrixBatch<'_, T>,
    upstream: UpstreamBatch<'_, T>,
    walk: ProductBatch<'_>,
    (matrices, counts_unstored): (usize, bool),
) -> Allocated<Vec<T>> {
    // If all values are finite, a product with a zero gradient is zero and does not need to be skipped.
    let skips_zeros = !all_finite(right.values());
    let turns = turns_by_left(walk, matrices)?;
    let rows = matrices * walk.rows;
    let place = |row: usize| match left {
        MatrixBatch::Entries(entries) => entries.rows.offsets[row],
        MatrixBatch::Array(_) => row * walk.inner,
    };
    let mut gradient = alloc::zeros(place(rows))?;
    let ends = shares(rows, STEP.saturating_mul(walk.width.min(64)), &place);
    let cuts: Vec<usize> = ends.iter().map(|&end| place(end)).collect();
    let written = threads::map_slices(&mut gradient, &cuts, |part, slots| {
        let (mut row_of, mut lanes) = (UpstreamRow::new(upstream, walk.width)?, Vec::new());
        let start = if part == 0 { 0 } else { ends[part - 1] };
        let first = place(start);
        for row in start..ends[part] {
            let slots = &mut slots[place(row) - first..place(row + 1) - first];
            lanes.clear();
            alloc::reserve(&mut lanes, slots.len())?;
            lanes.resize(slots.len(), PartialSums::new());
            // Results of one left matrix are added in increasing order, so the sum does not depend on the number of
            // threads.
            for &turn in turns.of(row / walk.rows) {
                let gradients = row_of.at(turn * walk.rows + row % walk.rows, walk.width);
                let others = Others { right, base: (walk.right)(turn) * walk.inner, gradients, skips_zeros };
                let bad = if counts_unstored && upstream.is_unbounded { others.not_finite() } else { 0 };
                match left {
                    MatrixBatch::Entries(entries) => {
                        let columns = entries.row(row).0.iter().map(|&column| column as usize);
                        others.add(columns, &mut lanes, bad);
                    }
                    MatrixBatch::Array(_) => others.add(0..walk.inner, &mut lanes, bad),
                }
            }
            slots.iter_mut().zip(&lanes).for_each(|(slot, lanes)| *slot = lanes.total().unwrap_or(T::NAN));
        }
        Ok(())
    });
    written.into_iter().collect::<Allocated<()>>()?;
    Ok(gradient)
}

/// The results that each left matrix contributes to, in increasing order.
struct Turns {
    starts: Vec<usize>,
    turns: Vec<usize>,
}

impl Turns {
    fn of(&self, matrix: usize) -> &[usize] {
        &self.turns[self.starts[matrix]..self.starts[matrix + 1]]
    }
}

fn turns_by_left(walk: ProductBatch<'_>, matrices: usize) -> Allocated<Turns> {
    let mut turns = alloc::collect(0..walk.count)?;
    // The sort is stable, so the results of one matrix stay in increasing order.
    turns.sort_by_key(|&turn| (walk.left)(turn));
    let mut starts = alloc::zeros(matrices + 1)?;
    turns.iter().for_each(|&turn| starts[(walk.left)(turn) + 1] += 1);
    // Counts become starts.
    (0..matrices).for_each(|matrix| starts[matrix + 1] += starts[matrix]);
    Ok(Turns { starts, turns })
}

/// A row of gradients, and the rows of one matrix of the right operand.
struct Others<'a, T> {
    right: MatrixBatch<'a, T>,
    base: usize,
    gradients: &'a [T],
    /// True if zero gradients are skipped, which makes a difference for values that are not finite.
    skips_zeros: bool,
}

impl<T: Float> Others<'_, T> {
    fn not_finite(&self) -> usize {
        match self.right {
            MatrixBatch::Entries(_) => self.gradients.iter().filter(|gradient| !gradient.isfinite()).count(),
            MatrixBatch::Array(_) => 0,
        }
    }

    #[inline(always)]
    fn dense_dot(&self, row: &[T], lanes: &mut PartialSums<T>) {
        if !self.skips_zeros {
            return lanes.add_rows(self.gradients, row);
        }
        let pairs = self.gradients.iter().zip(row).enumerate().filter(|(_, (gradient, _))| gradient.is_truthy());
        pairs.for_each(|(column, (&gradient, &value))| lanes.add(column, gradient, value));
    }

    #[inline(always)]
    fn sparse_dot(&self, (columns, values): (&[u32], &[T]), lanes: &mut PartialSums<T>, bad: usize) {
        // `met` counts gradients that are not finite and are multiplied by an entry. The other `bad - met` gradients
        // are multiplied by an unstored zero.
        let mut met = 0;
        for (&column, &value) in columns.iter().zip(values) {
            let gradient = self.gradients[column as usize];
            if !self.skips_zeros || gradient.is_truthy() {
                lanes.add(column as usize, gradient, value);
            }
            if bad > 0 && !gradient.isfinite() {
                met += 1;
            }
        }
        // A gradient that is not finite times an unstored zero is NaN.
        if met < bad {
            lanes.add(0, T::ZERO, T::NAN);
        }
    }

    /// Adds the products with the given rows. `bad` is the number of gradients that are not finite.
    fn add(&self, rows: impl Iterator<Item = usize>, lanes: &mut [PartialSums<T>], bad: usize) {
        in_wide_vectors(
            #[inline(always)]
            || {
                for (row, lanes) in rows.zip(lanes) {
                    match self.right {
                        MatrixBatch::Array(elements) => {
                            let width = self.gradients.len();
                            self.dense_dot(&elements[(self.base + row) * width..][..width], lanes);
                        }
                        MatrixBatch::Entries(entries) => self.sparse_dot(entries.row(self.base + row), lanes, bad),
                    }
                }
            },
        );
    }
}

/// Returns the gradient of the right operand: at its entries, or at all positions of an array.
pub(crate) fn of_right<T: Float>(
    left: MatrixBatch<'_, T>,
    right: MatrixBatch<'_, T>,
    upstream: UpstreamBatch<'_, T>,
    walk: ProductBatch<'_>,
    (matrices, counts_unstored): (usize, bool),
) -> Allocated<Vec<T>> {
    let rows = matrices * walk.inner;
    let place = |row: usize| match right {
        MatrixBatch::Entries(entries) => entries.rows.offsets[row],
        MatrixBatch::Array(_) => row * walk.width,
    };
    let mut gradient = alloc::zeros(place(rows))?;
    let ends = shares(rows, STEP.saturating_mul(walk.rows.min(64)), &place);
    let cuts: Vec<usize> = ends.iter().map(|&end| place(end)).collect();
    let skips_zeros = !all_finite(left.values());
    let written = threads::map_slices(&mut gradient, &cuts, |part, slots| {
        let rows = if part == 0 { 0 } else { ends[part - 1] }..ends[part];
        let share = RowTask { left, right, walk, first: place(rows.start), rows };
        let mut row_of = UpstreamRow::new(upstream, walk.width)?;
        // There is one accumulator per element of this part. Parts do not overlap, so one thread computes each sum.
        let mut sums = alloc::copies(T::Dot::NOTHING, slots.len())?;
        match skips_zeros {
            true => share.visit(&mut row_of, |at, value, gradient| {
                if gradient.is_truthy() {
                    sums[at] = sums[at].plus(value, gradient);
                }
            }),
            false => share.visit(&mut row_of, |at, value, gradient| sums[at] = sums[at].plus(value, gradient)),
        }
        slots.iter_mut().zip(&sums).for_each(|(slot, sum)| *slot = sum.value().unwrap_or(T::NAN));
        if counts_unstored && upstream.is_unbounded && matches!(left, MatrixBatch::Entries(_)) {
            share.at_unstored_positions(&mut row_of, slots)?;
        }
        Ok(())
    });
    written.into_iter().collect::<Allocated<()>>()?;
    Ok(gradient)
}

/// A range of rows of the right operand, over all matrices, and the index of the first output element of the range.
struct RowTask<'a, T> {
    left: MatrixBatch<'a, T>,
    right: MatrixBatch<'a, T>,
    walk: ProductBatch<'a>,
    rows: Range<usize>,
    first: usize,
}

impl<T: Float> RowTask<'_, T> {
    /// Calls `visit` with each output element of the range, a left element and a gradient to multiply, in row order.
    #[inline(always)]
    fn visit(&self, row_of: &mut UpstreamRow<'_, T>, mut visit: impl FnMut(usize, T, T)) {
        let ProductBatch { count, rows, inner, width, .. } = self.walk;
        for turn in 0..count {
            let (of_left, base) = ((self.walk.left)(turn), (self.walk.right)(turn) * inner);
            // The rows of this matrix that are in the range, relative to its first row.
            let within = self.rows.start.max(base) - base..self.rows.end.clamp(base, base + inner) - base;
            if within.is_empty() {
                continue;
            }
            for row in 0..rows {
                let at = of_left * rows + row;
                let gradients = row_of.at(turn * rows + row, width);
                match self.left {
                    MatrixBatch::Array(elements) => {
                        for k in within.clone() {
                            self.visit_row(base + k, elements[at * inner + k], gradients, &mut visit);
                        }
                    }
                    MatrixBatch::Entries(entries) => {
                        let (columns, values) = entries.row(at);
                        // Columns increase within a row, so the entries in the range are contiguous.
                        let start = columns.partition_point(|&column| (column as usize) < within.start);
                        let pairs = columns[start..].iter().zip(&values[start..]);
                        for (&k, &value) in pairs.take_while(|(column, _)| (**column as usize) < within.end) {
                            self.visit_row(base + k as usize, value, gradients, &mut visit);
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn visit_row(&self, row: usize, value: T, gradients: &[T], visit: &mut impl FnMut(usize, T, T)) {
        match self.right {
            MatrixBatch::Array(_) => {
                // Row `row` is in the range, so its first output element is not before `self.first`.
                let first = row * gradients.len() - self.first;
                gradients.iter().enumerate().for_each(|(at, &gradient)| visit(first + at, value, gradient));
            }
            MatrixBatch::Entries(entries) => {
                let range = entries.rows.range(row);
                let places = range.start - self.first..range.end - self.first;
                let columns = &entries.rows.columns[range];
                places.zip(columns).for_each(|(at, &column)| visit(at, value, gradients[column as usize]));
            }
        }
    }

    /// Sets output elements to NaN if a gradient that is not finite is multiplied by an unstored position of the left
    /// operand.
    fn at_unstored_positions(&self, row_of: &mut UpstreamRow<'_, T>, slots: &mut [T]) -> Allocated<()> {
        let ProductBatch { count, rows, inner, width, .. } = self.walk;
        // `met` counts, per output element, the gradients that are not finite and are multiplied by a left entry.
        let mut met: Vec<usize> = alloc::zeros(slots.len())?;
        self.visit(row_of, |at, _, gradient| met[at] += usize::from(!gradient.isfinite()));
        let matrices = self.rows.end.div_ceil(inner.max(1));
        // `all` counts, per matrix and column, all gradients that are not finite.
        let mut all: Vec<usize> = alloc::zeros(matrices.saturating_mul(width))?;
        for turn in (0..count).filter(|&turn| (self.walk.right)(turn) < matrices) {
            let all = &mut all[(self.walk.right)(turn) * width..][..width];
            for row in 0..rows {
                let gradients = row_of.at(turn * rows + row, width);
                all.iter_mut().zip(gradients).for_each(|(all, gradient)| *all += usize::from(!gradient.isfinite()));
            }
        }
        for row in self.rows.clone() {
            let all = &all[row / inner * width..][..width];
            let mut settle = |at: usize, column: usize| {
                // If the count is smaller than `all`, at least one such gradient is multiplied by an unstored zero.
                if met[at] < all[column] {
                    slots[at] = T::NAN;
                }
            };
            match self.right {
                MatrixBatch::Array(_) => {
                    (0..width).for_each(|column| settle(row * width - self.first + column, column));
                }
                MatrixBatch::Entries(entries) => {
                    let range = entries.rows.range(row);
                    range.for_each(|entry| settle(entry - self.first, entries.rows.columns[entry] as usize));
                }
            }
        }
        Ok(())
    }
}
