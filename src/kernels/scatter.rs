//! Scatter reduction: adds values to their output elements in storage order, without sorting.
//!
//! If the table of output elements exceeds the caches, entries are first scattered into buckets of neighbouring output
//! elements.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::fold::{Fold, unstored_state};
use crate::kernels::group::Unstored;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::Outcome;
use crate::kernels::output_bitmap::{StoredOutputs, marked_cells};

/// The maximum bytes of the table per entry. A larger table would take more memory than the entries.
const BYTES_PER_ENTRY: u128 = 10;
/// Tables up to this size stay in a cache. Debug builds use a smaller size, so that tests cover larger tables.
const CACHE_BYTES: usize = if cfg!(debug_assertions) { 1 << 17 } else { 1 << 24 };
/// The bytes of a bucket of output elements, which stay in a cache near the processor.
const PART_BYTES: usize = 1 << 16;
/// The maximum number of buckets into which entries are scattered in one step.
const PARTS: usize = 256;
/// The number of entries whose output elements are computed together.
const BLOCK: usize = 1 << 12;
/// The number of steps in which entries are bucketed. Each step copies its entries and visits all output elements.
const SHARES: usize = 4;
/// The estimated picoseconds per entry.
const PICOSECONDS: usize = 6000;

/// The operations of an accumulator. A result of false means that the sum does not fit in the accumulator.
pub(crate) struct Cell<C, A, J> {
    /// The accumulator without values.
    pub(crate) start: C,
    /// Adds a value.
    pub(crate) add: A,
    /// Merges the accumulator of the same output element in another table.
    pub(crate) join: J,
}

/// The accumulator of each output element, and the number of entries in it.
struct OutputAccumulators<C> {
    cells: Vec<C>,
    counts: Vec<usize>,
}

impl<C: Copy> OutputAccumulators<C> {
    /// The bytes per output element.
    const BYTES: usize = size_of::<C>() + size_of::<usize>();

    fn new(start: C, count: usize) -> Allocated<Self> {
        Ok(OutputAccumulators { cells: alloc::copies(start, count)?, counts: alloc::zeros(count)? })
    }

    fn add<T: Element>(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        values: &[T],
        add: &impl Fn(&mut C, T) -> bool,
    ) -> bool {
        // The flag is combined without a branch; after a failure the table is discarded.
        let mut is_held = true;
        for (number, &value) in numbers.zip(values) {
            self.counts[number] += 1;
            is_held &= add(&mut self.cells[number], value);
        }
        is_held
    }

    /// Merges the accumulators of another table.
    fn merge(&mut self, others: &Self, join: impl Fn(&mut C, C) -> bool) -> bool {
        self.counts.iter_mut().zip(&others.counts).for_each(|(count, other)| *count += other);
        self.cells.iter_mut().zip(&others.cells).fold(true, |is_held, (cell, &other)| is_held & join(cell, other))
    }
}

/// Returns the result of `finish` for each output element that has an entry, with its coordinates, in order.
///
/// `finish` receives the index of the output element, the accumulator and the number of entries. The result is `None`
/// if there are too many output elements, if an accumulator overflows, or if the result of an output element is
/// missing.
pub(crate) fn scatter<T: Element, C: Copy + Send + Sync, U: Copy + Send>(
    kept: &KeptAxes<'_>,
    values: &[T],
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool>,
    finish: &(dyn Fn(usize, C, usize) -> Outcome<U> + Sync),
) -> Allocated<Option<StoredOutputs<U>>> {
    let bytes = kept.cells().saturating_mul(OutputAccumulators::<C>::BYTES as u128);
    // Indices of output elements are stored in 32 bits while bucketed.
    if kept.lead || kept.cells() > u32::MAX.into() || bytes > BYTES_PER_ENTRY * values.len() as u128 {
        return Ok(None);
    }
    let count = kept.cells() as usize;
    let part = |entries: Range<usize>| {
        let mut table = OutputAccumulators::new(cell.start, count)?;
        let is_held = add_all(&mut table, kept, values, entries, &cell.add)?;
        Ok(is_held.then_some(table))
    };
    let mut parts = threads::map_parts(values.len(), PICOSECONDS, count, part).into_iter();
    let Some(mut all) = parts.next().transpose()?.flatten() else { return Ok(None) };
    // An accumulator is exact or reports false, so the number of tables does not matter.
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        if !all.merge(&part, &cell.join) {
            return Ok(None);
        }
    }
    let OutputAccumulators { cells, counts } = &all;
    marked_cells(counts, kept.cells_of_result(), &|cell| finish(cell, cells[cell], counts[cell]))
}

/// [`scatter`] for a smaller accumulator; `state` converts it to the accumulator of the streaming reduction.
pub(crate) fn scatter_states<T: Element, F: Fold<T>, C: Copy + Send + Sync>(
    op: F,
    kept: &KeptAxes<'_>,
    values: &[T],
    unstored: &Unstored<T>,
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool>,
    state: impl Fn(C) -> F::State + Sync,
) -> Allocated<Option<StoredOutputs<F::Out>>> {
    scatter(kept, values, cell, &|number, cell, count| {
        // Unstored positions are added once per output element, after all entries.
        let unstored = kept.unstored(unstored, number);
        let mut all = unstored_state(op, count, &unstored);
        op.merge(&mut all, &state(cell));
        op.finish(&all, unstored.positions(count))
    })
}

/// Adds the values of some entries to their output elements, which are row-major indices within the kept axes.
fn add_all<T: Element, C: Copy>(
    table: &mut OutputAccumulators<C>,
    kept: &KeptAxes<'_>,
    values: &[T],
    entries: Range<usize>,
    add: &impl Fn(&mut C, T) -> bool,
) -> Allocated<bool> {
    let count = table.cells.len();
    if count.saturating_mul(OutputAccumulators::<C>::BYTES) <= CACHE_BYTES {
        return Ok(add_directly(table, kept, values, entries, add));
    }
    // The width is a power of two, so that a shift of the index of an output element results in its bucket.
    let width = (PART_BYTES / OutputAccumulators::<C>::BYTES).max(count.div_ceil(PARTS)).next_power_of_two();
    let mut scattered = ScatteredEntries::new(count, width, entries.len())?;
    let mut is_held = true;
    for start in entries.clone().step_by(scattered.capacity()) {
        let count = scattered.scatter(kept, values, start..entries.end.min(start + scattered.capacity()));
        // After bucketing, neighbouring entries update neighbouring accumulators.
        let numbers = scattered.cells[..count].iter().map(|&number| number as usize);
        is_held &= table.add(numbers, &scattered.values, add);
    }
    Ok(is_held)
}

/// Adds the values of some entries one after another.
fn add_directly<T: Element, C: Copy>(
    table: &mut OutputAccumulators<C>,
    kept: &KeptAxes<'_>,
    values: &[T],
    entries: Range<usize>,
    add: &impl Fn(&mut C, T) -> bool,
) -> bool {
    let mut numbers = [0; BLOCK];
    entries.clone().step_by(BLOCK).fold(true, |is_held, start| {
        let end = entries.end.min(start + BLOCK);
        let numbers = &mut numbers[..end - start];
        kept.number(start, numbers);
        is_held & table.add(numbers.iter().copied(), &values[start..end], add)
    })
}

/// Entries scattered into buckets by output element.
struct ScatteredEntries<T> {
    numbers: Vec<usize>,
    cells: Vec<u32>,
    values: Vec<T>,
    /// The index after the last entry of each bucket.
    ends: Vec<usize>,
    shift: u32,
}

impl<T: Element> ScatteredEntries<T> {
    /// Returns buffers for a part of `entries` at a time; each bucket has `width` of the `count` output elements.
    fn new(count: usize, width: usize, entries: usize) -> Allocated<Self> {
        let share = entries.div_ceil(SHARES).max(BLOCK);
        Ok(ScatteredEntries {
            numbers: alloc::zeros(BLOCK)?,
            cells: alloc::zeros(share)?,
            values: alloc::zeros(share)?,
            ends: alloc::zeros(count.div_ceil(width))?,
            shift: width.trailing_zeros(),
        })
    }

    fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Scatters some entries into buckets and returns their number.
    fn scatter(&mut self, kept: &KeptAxes<'_>, values: &[T], entries: Range<usize>) -> usize {
        let (ends, shift) = (&mut self.ends, self.shift);
        ends.fill(0);
        // The first pass counts the entries per bucket, and the second pass writes the entries.
        let blocks = || entries.clone().step_by(BLOCK).map(|start| start..entries.end.min(start + BLOCK));
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            kept.number(block.start, numbers);
            numbers.iter().for_each(|number| ends[number >> shift] += 1);
        }
        // Counts become starts. After the second pass, each start has become the end of its bucket.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            kept.number(block.start, numbers);
            for (&number, &value) in numbers.iter().zip(&values[block]) {
                let end = &mut ends[number >> shift];
                // The index is below 2^32, as `scatter` checks the number of output elements.
                (self.cells[*end], self.values[*end]) = (number as u32, value);
                *end += 1;
            }
        }
        entries.len()
    }
}
