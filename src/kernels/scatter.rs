//! Values added up in the cells that they fall into, in the order in which they are stored: nothing is sorted.
//!
//! Cells that no cache holds are worked on part by part: of a block of entries those of one part after the other.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::cells::{CellMap, number};
use crate::kernels::fold::{Fold, Kept};
use crate::kernels::group::Gaps;
use crate::kernels::op::{Fault, Outcome};
use crate::kernels::sort::Arrays;

/// Cells are a table of up to 40 bytes each: with fewer entries for each it would outgrow what the entries take.
const ENTRIES_A_CELL: u128 = 4;
/// So many bytes of cells stay in the second cache.
const PART_BYTES: usize = 1 << 18;
/// The parts that entries are dealt out to at once.
const PARTS: usize = 256;
/// The entries whose cells are numbered together.
const BLOCK: usize = 1 << 12;
/// The picoseconds that an entry takes.
const PICOSECONDS: usize = 6000;

/// What fell into each cell.
struct Scattered<C> {
    map: CellMap,
    cells: Vec<C>,
}

/// How the cells of a fold take values in. No is the answer where a cell does not hold what was added.
pub(crate) struct Cell<C, A, J, S> {
    /// A cell into which nothing fell.
    pub(crate) start: C,
    /// Adds a value.
    pub(crate) add: A,
    /// Adds what fell into the same cell elsewhere.
    pub(crate) join: J,
    /// The state that the cell stands for.
    pub(crate) state: S,
}

/// The results of a fold for all cells that hold a value, with their coordinates, in order. Nothing, where there are too
/// many cells for that, where one does not hold what was added, and where one has no result.
pub(crate) fn fold_scattered<T: Element, I: Index, F: Fold<T>, C: Copy + Send + Sync>(
    op: F,
    kept: &Kept<'_, I>,
    values: &[T],
    gaps: &Gaps<T>,
    cell: Cell<C, impl Fn(&mut C, T) -> bool + Sync + Send, impl Fn(&mut C, C) -> bool, impl Fn(C) -> F::State>,
) -> Allocated<Option<Arrays<I, F::Out>>> {
    if kept.lead || kept.cells().saturating_mul(ENTRIES_A_CELL) > values.len() as u128 {
        return Ok(None);
    }
    let add = |(sum, count): &mut (C, usize), value| {
        *count += 1;
        (cell.add)(sum, value)
    };
    let join = |(sum, count): &mut (C, usize), (other, more): (C, usize)| {
        *count += more;
        (cell.join)(sum, other)
    };
    let finish = |at, (sum, count)| {
        let (mut state, gaps) = ((cell.state)(sum), kept.gaps(gaps, at));
        if let (Some(fill), gaps @ 1..) = (gaps.fill, gaps.count(count)) {
            op.repeat(&mut state, fill, gaps);
        }
        op.finish(&state, gaps.positions(count))
    };
    match scatter(kept, values, (cell.start, 0), add, join)? {
        Some(scattered) => scattered.into_arrays(kept.lengths, finish),
        None => Ok(None),
    }
}

/// Adds all values to their cells, which begin as `start` and whose numbers are row-major within the kept axes; then `join`
/// adds up the cells of several threads. Nothing, where either says that a cell does not hold its sum.
fn scatter<T: Element, I: Index, C: Copy + Send + Sync>(
    kept: &Kept<'_, I>,
    values: &[T],
    start: C,
    add: impl Fn(&mut C, T) -> bool + Sync + Send,
    join: impl Fn(&mut C, C) -> bool,
) -> Allocated<Option<Scattered<C>>> {
    let count = kept.lengths.iter().product();
    let part = |entries: Range<usize>| {
        let mut scattered = Scattered { map: CellMap::empty(count)?, cells: alloc::copies(start, count)? };
        let is_held = scattered.add_all(kept, values, entries, &add)?;
        Ok(is_held.then_some(scattered))
    };
    let mut parts = threads::map_parts(values.len(), PICOSECONDS, count, part).into_iter();
    let Some(mut all) = parts.next().transpose()?.flatten() else { return Ok(None) };
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        if !all.merge(part, &join) {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

impl<C: Copy> Scattered<C> {
    /// The cells that something fell into, by their coordinates within `lengths`, and what `finish` makes of them;
    /// nothing, where one has no result.
    fn into_arrays<I: Index, U>(
        self,
        lengths: &[usize],
        finish: impl Fn(usize, C) -> Outcome<U>,
    ) -> Allocated<Option<Arrays<I, U>>> {
        let stored = self.map.stored()?.into_iter().map(|cell| finish(cell, self.cells[cell]));
        match alloc::try_collect(stored) {
            Ok(results) => Ok(Some((self.map.into_arrays(lengths)?.0, results))),
            Err(Fault::Memory(refused)) => Err(refused),
            Err(_) => Ok(None),
        }
    }

    /// Takes in what fell into the cells elsewhere.
    fn merge(&mut self, other: Self, join: impl Fn(&mut C, C) -> bool) -> bool {
        let cells = self.cells.iter_mut().zip(&other.cells);
        let is_held = cells.fold(true, |is_held, (cell, &other)| is_held & join(cell, other));
        self.map.merge(&other.map);
        is_held
    }

    fn add_all<T: Element, I: Index>(
        &mut self,
        kept: &Kept<'_, I>,
        values: &[T],
        entries: Range<usize>,
        add: &impl Fn(&mut C, T) -> bool,
    ) -> Allocated<bool> {
        let width = (PART_BYTES / size_of::<C>()).max(self.cells.len().div_ceil(PARTS)).next_power_of_two();
        if self.cells.len() <= 2 * width {
            return Ok(self.add_directly(kept, values, entries, add));
        }
        let mut dealt = Dealt::new(self.cells.len(), width, entries.len())?;
        let mut is_held = true;
        for start in entries.clone().step_by(dealt.capacity()) {
            dealt.deal(kept, values, start..entries.end.min(start + dealt.capacity()));
            dealt.for_each(|cell, value| is_held &= self.add(cell, value, add));
        }
        Ok(is_held)
    }

    /// Adds the values of some entries one after the other.
    fn add_directly<T: Element, I: Index>(
        &mut self,
        kept: &Kept<'_, I>,
        values: &[T],
        entries: Range<usize>,
        add: &impl Fn(&mut C, T) -> bool,
    ) -> bool {
        let mut numbers = [0; BLOCK];
        let mut is_held = true;
        for start in entries.clone().step_by(BLOCK) {
            let end = entries.end.min(start + BLOCK);
            let numbers = &mut numbers[..end - start];
            number(kept.coords, kept.lengths, start, numbers);
            for (&cell, &value) in numbers.iter().zip(&values[start..end]) {
                is_held &= self.add(cell, value, add);
            }
        }
        is_held
    }

    #[inline(always)]
    fn add<T>(&mut self, cell: usize, value: T, add: &impl Fn(&mut C, T) -> bool) -> bool {
        self.map.set(cell, false);
        add(&mut self.cells[cell], value)
    }
}

/// Entries dealt out to the parts that their cells lie in.
struct Dealt<T> {
    numbers: Vec<usize>,
    cells: Vec<usize>,
    values: Vec<T>,
    /// Where the entries of each part end.
    ends: Vec<usize>,
    shift: u32,
}

impl<T: Element> Dealt<T> {
    /// Room for a share of `entries` at a time, whose cells, `count` of them, are in parts of `width`.
    fn new(count: usize, width: usize, entries: usize) -> Allocated<Self> {
        let share = (entries / 16).clamp(BLOCK, 1 << 20);
        Ok(Dealt {
            numbers: alloc::zeros(share)?,
            cells: alloc::zeros(share)?,
            values: alloc::zeros(share)?,
            ends: alloc::zeros(count.div_ceil(width))?,
            shift: width.trailing_zeros(),
        })
    }

    fn capacity(&self) -> usize {
        self.cells.len()
    }

    fn deal<I: Index>(&mut self, kept: &Kept<'_, I>, values: &[T], entries: Range<usize>) {
        let numbers = &mut self.numbers[..entries.len()];
        number(kept.coords, kept.lengths, entries.start, numbers);
        self.ends.fill(0);
        numbers.iter().for_each(|number| self.ends[number >> self.shift] += 1);
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        for (&number, &value) in numbers.iter().zip(&values[entries]) {
            let end = &mut self.ends[number >> self.shift];
            (self.cells[*end], self.values[*end]) = (number, value);
            *end += 1;
        }
    }

    /// The entries dealt out last, part after part.
    fn for_each(&self, mut visit: impl FnMut(usize, T)) {
        let count = self.ends.last().copied().unwrap_or(0);
        self.cells[..count].iter().zip(&self.values).for_each(|(&cell, &value)| visit(cell, value));
    }
}
