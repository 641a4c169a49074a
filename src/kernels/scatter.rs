//! Values added up in the cells that they fall into, in the order in which they are stored: nothing is sorted.
//!
//! Cells that no cache holds are worked on part by part: of a share of the entries those of one part after the other.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::cells::{StoredCells, marked_cells};
use crate::kernels::fold::{Fold, Kept, gaps_state};
use crate::kernels::group::Gaps;
use crate::kernels::op::Outcome;

/// The bytes of the table for each entry: with more it would outgrow what the entries take.
const BYTES_AN_ENTRY: u128 = 10;
/// Tables of so many bytes stay in a cache; unoptimised of far fewer, so that tests meet larger ones.
const CACHE_BYTES: usize = if cfg!(debug_assertions) { 1 << 17 } else { 1 << 24 };
/// So many bytes of cells stay in a cache near the processor.
const PART_BYTES: usize = 1 << 16;
/// The parts that entries are dealt out to at once.
const PARTS: usize = 256;
/// The entries whose cells are numbered together.
const BLOCK: usize = 1 << 12;
/// A share of the entries is dealt out at a time, which is copied: each share goes through all cells.
const SHARES: usize = 4;
/// The picoseconds that an entry takes.
const PICOSECONDS: usize = 6000;

/// How the cells of a fold take values in. No is the answer where a cell does not hold what was added.
pub(crate) struct Cell<C, A, J> {
    /// A cell into which nothing fell.
    pub(crate) start: C,
    /// Adds a value.
    pub(crate) add: A,
    /// Adds what fell into the same cell elsewhere.
    pub(crate) join: J,
}

/// What fell into each cell, and how many entries that were.
struct Table<C> {
    cells: Vec<C>,
    counts: Vec<usize>,
}

impl<C: Copy> Table<C> {
    /// The bytes that a cell takes.
    const BYTES: usize = size_of::<C>() + size_of::<usize>();

    fn new(start: C, count: usize) -> Allocated<Self> {
        Ok(Table { cells: alloc::copies(start, count)?, counts: alloc::zeros(count)? })
    }

    fn add<T: Element>(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        values: &[T],
        add: &impl Fn(&mut C, T) -> bool,
    ) -> bool {
        let mut is_held = true;
        for (number, &value) in numbers.zip(values) {
            self.counts[number] += 1;
            is_held &= add(&mut self.cells[number], value);
        }
        is_held
    }

    /// Takes in what fell into the cells elsewhere.
    fn merge(&mut self, others: &Self, join: impl Fn(&mut C, C) -> bool) -> bool {
        self.counts.iter_mut().zip(&others.counts).for_each(|(count, other)| *count += other);
        self.cells.iter_mut().zip(&others.cells).fold(true, |is_held, (cell, &other)| is_held & join(cell, other))
    }
}

/// What `finish` makes of all cells that hold a value, by their numbers, and of how many each holds; with their
/// coordinates, in order.
/// Nothing, where there are too many cells for that, where one does not hold what was added, and where one has no
/// result.
pub(crate) fn scatter<T: Element, C: Copy + Send + Sync, U: Copy + Send>(
    kept: &Kept<'_>,
    values: &[T],
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool>,
    finish: &(dyn Fn(usize, C, usize) -> Outcome<U> + Sync),
) -> Allocated<Option<StoredCells<U>>> {
    let bytes = kept.cells().saturating_mul(Table::<C>::BYTES as u128);
    // The numbers of cells are dealt out in 32 bits.
    if kept.lead || kept.cells() > u32::MAX.into() || bytes > BYTES_AN_ENTRY * values.len() as u128 {
        return Ok(None);
    }
    let count = kept.cells() as usize;
    let part = |entries: Range<usize>| {
        let mut table = Table::new(cell.start, count)?;
        let is_held = add_all(&mut table, kept, values, entries, &cell.add)?;
        Ok(is_held.then_some(table))
    };
    let mut parts = threads::map_parts(values.len(), PICOSECONDS, count, part).into_iter();
    let Some(mut all) = parts.next().transpose()?.flatten() else { return Ok(None) };
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        if !all.merge(&part, &cell.join) {
            return Ok(None);
        }
    }
    let Table { cells, counts } = &all;
    marked_cells(counts, kept.cells_of_result(), &|cell| finish(cell, cells[cell], counts[cell]))
}

/// [`scatter`] of a fold, of which a cell is less than a state: `state` makes one of it.
pub(crate) fn scatter_states<T: Element, F: Fold<T>, C: Copy + Send + Sync>(
    op: F,
    kept: &Kept<'_>,
    values: &[T],
    gaps: &Gaps<T>,
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool>,
    state: impl Fn(C) -> F::State + Sync,
) -> Allocated<Option<StoredCells<F::Out>>> {
    scatter(kept, values, cell, &|number, cell, count| {
        let gaps = kept.gaps(gaps, number);
        let mut all = gaps_state(op, count, &gaps);
        op.merge(&mut all, &state(cell));
        op.finish(&all, gaps.positions(count))
    })
}

/// Adds the values of some entries to their cells, whose numbers are row-major within the kept axes.
fn add_all<T: Element, C: Copy>(
    table: &mut Table<C>,
    kept: &Kept<'_>,
    values: &[T],
    entries: Range<usize>,
    add: &impl Fn(&mut C, T) -> bool,
) -> Allocated<bool> {
    let count = table.cells.len();
    if count.saturating_mul(Table::<C>::BYTES) <= CACHE_BYTES {
        return Ok(add_directly(table, kept, values, entries, add));
    }
    let width = (PART_BYTES / Table::<C>::BYTES).max(count.div_ceil(PARTS)).next_power_of_two();
    let mut dealt = Dealt::new(count, width, entries.len())?;
    let mut is_held = true;
    for start in entries.clone().step_by(dealt.capacity()) {
        let count = dealt.deal(kept, values, start..entries.end.min(start + dealt.capacity()));
        let numbers = dealt.cells[..count].iter().map(|&number| number as usize);
        is_held &= table.add(numbers, &dealt.values, add);
    }
    Ok(is_held)
}

/// Adds the values of some entries one after the other.
fn add_directly<T: Element, C: Copy>(
    table: &mut Table<C>,
    kept: &Kept<'_>,
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

/// Entries dealt out to the parts that their cells lie in.
struct Dealt<T> {
    numbers: Vec<usize>,
    cells: Vec<u32>,
    values: Vec<T>,
    /// Where the entries of each part end.
    ends: Vec<usize>,
    shift: u32,
}

impl<T: Element> Dealt<T> {
    /// Capacity for a share of `entries` at a time, whose cells, `count` of them, are in parts of `width`.
    fn new(count: usize, width: usize, entries: usize) -> Allocated<Self> {
        let share = entries.div_ceil(SHARES).max(BLOCK);
        Ok(Dealt {
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

    /// Deals out some entries; how many that are.
    fn deal(&mut self, kept: &Kept<'_>, values: &[T], entries: Range<usize>) -> usize {
        let (ends, shift) = (&mut self.ends, self.shift);
        ends.fill(0);
        let blocks = || entries.clone().step_by(BLOCK).map(|start| start..entries.end.min(start + BLOCK));
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            kept.number(block.start, numbers);
            numbers.iter().for_each(|number| ends[number >> shift] += 1);
        }
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            kept.number(block.start, numbers);
            for (&number, &value) in numbers.iter().zip(&values[block]) {
                let end = &mut ends[number >> shift];
                (self.cells[*end], self.values[*end]) = (number as u32, value);
                *end += 1;
            }
        }
        entries.len()
    }
}
