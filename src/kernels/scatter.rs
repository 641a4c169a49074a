//! Values added up in the cells that they fall into, in the order in which they are stored: nothing is sorted.
//!
//! Cells that no cache holds are worked on part by part: of a share of the entries those of one part after the other.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::cells::{CellMap, number};
use crate::kernels::fold::Kept;
use crate::kernels::op::{Fault, Outcome};
use crate::kernels::sort::Arrays;

/// Cells are a table of up to 40 bytes each: with fewer entries for each it would outgrow what the entries take.
const ENTRIES_A_CELL: u128 = 4;
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

/// What fell into a cell, and how many entries that were.
type Counted<C> = (C, usize);

/// What `finish` makes of all cells that hold a value, by their numbers, and of how many each holds; with their
/// coordinates, in order.
/// Nothing, where there are too many cells for that, where one does not hold what was added, and where one has no
/// result.
pub(crate) fn scatter<T: Element, I: Index, C: Copy + Send + Sync, U>(
    kept: &Kept<'_, I>,
    values: &[T],
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool>,
    finish: impl Fn(usize, C, usize) -> Outcome<U>,
) -> Allocated<Option<Arrays<I, U>>> {
    // The numbers of cells are dealt out in 32 bits.
    if kept.lead || kept.cells() > u32::MAX.into() || kept.cells().saturating_mul(ENTRIES_A_CELL) > values.len() as u128
    {
        return Ok(None);
    }
    let count = kept.lengths.iter().product();
    let part = |entries: Range<usize>| {
        let mut cells = alloc::copies((cell.start, 0), count)?;
        let is_held = add_all(&mut cells, kept, values, entries, &cell.add)?;
        Ok(is_held.then_some(cells))
    };
    let mut parts = threads::map_parts(values.len(), PICOSECONDS, count, part).into_iter();
    let Some(mut all) = parts.next().transpose()?.flatten() else { return Ok(None) };
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        if !merge(&mut all, &part, &cell.join) {
            return Ok(None);
        }
    }
    into_arrays(&all, kept.lengths, finish)
}

/// Takes in what fell into the cells elsewhere.
fn merge<C: Copy>(cells: &mut [Counted<C>], others: &[Counted<C>], join: impl Fn(&mut C, C) -> bool) -> bool {
    cells.iter_mut().zip(others).fold(true, |is_held, ((cell, count), &(other, more))| {
        *count += more;
        is_held & join(cell, other)
    })
}

/// The coordinates of the cells that hold an entry, and what `finish` makes of them; nothing, where one has no result.
fn into_arrays<I: Index, C: Copy, U>(
    cells: &[Counted<C>],
    lengths: &[usize],
    finish: impl Fn(usize, C, usize) -> Outcome<U>,
) -> Allocated<Option<Arrays<I, U>>> {
    let mut map = CellMap::empty(cells.len())?;
    let mut results = alloc::with_capacity(cells.iter().filter(|cell| cell.1 > 0).count())?;
    for (number, &(cell, count)) in cells.iter().enumerate().filter(|(_, cell)| cell.1 > 0) {
        map.set(number, false);
        match finish(number, cell, count) {
            Ok(result) => results.push(result),
            Err(Fault::Memory(refused)) => return Err(refused),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some((map.into_arrays(lengths)?.0, results)))
}

/// Adds the values of some entries to their cells, whose numbers are row-major within the kept axes.
fn add_all<T: Element, I: Index, C>(
    cells: &mut [Counted<C>],
    kept: &Kept<'_, I>,
    values: &[T],
    entries: Range<usize>,
    add: &impl Fn(&mut C, T) -> bool,
) -> Allocated<bool> {
    let width = (PART_BYTES / size_of::<Counted<C>>()).max(cells.len().div_ceil(PARTS)).next_power_of_two();
    if cells.len() <= 2 * width {
        return Ok(add_directly(cells, kept, values, entries, add));
    }
    let mut dealt = Dealt::new(cells.len(), width, entries.len())?;
    let mut is_held = true;
    for start in entries.clone().step_by(dealt.capacity()) {
        let count = dealt.deal(kept, values, start..entries.end.min(start + dealt.capacity()));
        let numbers = dealt.cells[..count].iter().map(|&number| number as usize);
        is_held &= add_to_cells(cells, numbers, &dealt.values, add);
    }
    Ok(is_held)
}

/// Adds the values of some entries one after the other.
fn add_directly<T: Element, I: Index, C>(
    cells: &mut [Counted<C>],
    kept: &Kept<'_, I>,
    values: &[T],
    entries: Range<usize>,
    add: &impl Fn(&mut C, T) -> bool,
) -> bool {
    let mut numbers = [0; BLOCK];
    entries.clone().step_by(BLOCK).fold(true, |is_held, start| {
        let end = entries.end.min(start + BLOCK);
        let numbers = &mut numbers[..end - start];
        number(kept.coords, kept.lengths, start, numbers);
        is_held & add_to_cells(cells, numbers.iter().copied(), &values[start..end], add)
    })
}

fn add_to_cells<T: Element, C>(
    cells: &mut [Counted<C>],
    numbers: impl Iterator<Item = usize>,
    values: &[T],
    add: &impl Fn(&mut C, T) -> bool,
) -> bool {
    let mut is_held = true;
    for (number, &value) in numbers.zip(values) {
        let (cell, count) = &mut cells[number];
        *count += 1;
        is_held &= add(cell, value);
    }
    is_held
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
    fn deal<I: Index>(&mut self, kept: &Kept<'_, I>, values: &[T], entries: Range<usize>) -> usize {
        let (ends, shift) = (&mut self.ends, self.shift);
        ends.fill(0);
        let blocks = || entries.clone().step_by(BLOCK).map(|start| start..entries.end.min(start + BLOCK));
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            number(kept.coords, kept.lengths, block.start, numbers);
            numbers.iter().for_each(|number| ends[number >> shift] += 1);
        }
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        for block in blocks() {
            let numbers = &mut self.numbers[..block.len()];
            number(kept.coords, kept.lengths, block.start, numbers);
            for (&number, &value) in numbers.iter().zip(&values[block]) {
                let end = &mut ends[number >> shift];
                (self.cells[*end], self.values[*end]) = (number as u32, value);
                *end += 1;
            }
        }
        entries.len()
    }
}
