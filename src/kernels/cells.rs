//! A map of the cells of a result, two bits each: whether an entry falls there, and whether a truthy one does.
//!
//! Against sorting the entries by cell it reads each of them once, in the order in which they are stored.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::{Index, Width, capped_product};
use crate::base::threads;
use crate::kernels::bits::{self, BITS, Truths};
use crate::kernels::coords::{AxisCoords, CoordSlices, of_width};
use crate::kernels::fold::Kept;
use crate::kernels::op::{Fault, Outcome};

/// The cells of a word.
const CELLS: usize = 32;
/// The bits of a word that say whether an entry falls into a cell; those above them say whether one is truthy.
const STORED: u64 = 0x5555_5555_5555_5555;

/// Cells that an entry falls into, in order.
pub struct StoredCells<U> {
    /// The coordinates of the cells on each axis.
    pub(crate) coords: Vec<AxisCoords>,
    pub(crate) results: Vec<U>,
}

/// A mark of a cell: whether an entry fell there, or how many did.
pub(crate) trait Mark: Sync {
    /// Whether an entry fell there.
    fn is_set(&self) -> bool;
}

impl Mark for bool {
    fn is_set(&self) -> bool {
        *self
    }
}

impl Mark for usize {
    fn is_set(&self) -> bool {
        *self > 0
    }
}

/// What falls into each cell.
pub(crate) struct CellMap {
    words: Vec<u64>,
}

impl CellMap {
    /// Whether a map of so many cells is small beside so many entries: at most eight bytes each.
    pub(crate) fn pays(cells: u128, entries: usize) -> bool {
        // Without an entry an axis of length 0 may stand beside vast ones, whose lengths are never to be multiplied.
        entries > 0 && cells <= CELLS as u128 * entries as u128
    }

    /// The map of `count` entries, of which `truths` tells whether they are truthy.
    pub(crate) fn of_truths(kept: &Kept<'_>, count: usize, truths: &Truths<'_>) -> Allocated<Self> {
        match &kept.coords {
            CoordSlices::U32(coords) => CellMap::of_coords(coords, kept.lengths, count, truths, kept.in_runs),
            CoordSlices::U64(coords) => CellMap::of_coords(coords, kept.lengths, count, truths, kept.in_runs),
        }
    }

    fn of_coords<I: Index>(
        coords: &[&[I]],
        lengths: &[usize],
        count: usize,
        truths: &Truths<'_>,
        in_runs: bool,
    ) -> Allocated<Self> {
        let cells = lengths.iter().product::<usize>();
        let part = |range: Range<usize>| {
            let mut map = CellMap::empty(cells)?;
            let marked = if in_runs { map.mark_runs(coords, lengths, truths, range.clone()) } else { 0 };
            map.mark(coords, lengths, truths, range.start + marked..range.end);
            Ok(map)
        };
        let parts = threads::map_parts(count, 800, cells / CELLS, part).into_iter();
        let merged = |all: Allocated<CellMap>, part: Allocated<CellMap>| {
            let mut all = all?;
            all.merge(&part?);
            Ok(all)
        };
        parts.reduce(merged).unwrap_or(CellMap::empty(0))
    }

    fn mark<I: Index>(&mut self, coords: &[&[I]], lengths: &[usize], truths: &Truths<'_>, range: Range<usize>) {
        bits::for_each_word(truths, range, |mut word, entries| {
            // The lowest bit is that of the next entry.
            let mut set = |cell: usize| {
                self.set(cell, word & 1 == 1);
                word >>= 1;
            };
            match *coords {
                [only] => only[entries].iter().for_each(|cell| set(cell.to_usize())),
                [first, second] => {
                    let coords = first[entries.clone()].iter().zip(&second[entries]);
                    coords.for_each(|(row, column)| set(row.to_usize() * lengths[1] + column.to_usize()));
                }
                _ => entries.for_each(|entry| set(cell_of(coords, lengths, entry))),
            }
        });
    }

    /// Marks each run of entries with one cell at once, and says how many entries that were: all but the last few.
    ///
    /// Marks of one word wait for each other: so there are fewer of them where entries in a row fall into a cell.
    fn mark_runs<I: Index>(
        &mut self,
        coords: &[&[I]],
        lengths: &[usize],
        truths: &Truths<'_>,
        range: Range<usize>,
    ) -> usize {
        let marked = range.len() / BITS * BITS;
        bits::for_each_word(truths, range.start..range.start + marked, |word, Range { start, .. }| {
            // The very last block may have no entry after it: there each entry is a run.
            let changes = |axis: &&[I]| axis[start..].first_chunk().map_or(u64::MAX, bits::changes);
            let ends = coords.iter().map(changes).fold(1 << (BITS - 1), |ends, changes| ends | changes);
            let truths = bits::any_of_runs(word, ends);
            bits::ones(ends).for_each(|end| self.set(cell_of(coords, lengths, start + end), truths >> end & 1 == 1));
        });
        marked
    }

    /// A map of so many cells into which nothing falls.
    pub(crate) fn empty(cells: usize) -> Allocated<Self> {
        Ok(CellMap { words: alloc::zeros(cells.div_ceil(CELLS))? })
    }

    /// The map of the cells whose mark is set, none of them truthy.
    fn of_marks<M: Mark>(marks: &[M]) -> Allocated<Self> {
        let mut map = CellMap::empty(marks.len())?;
        for (word, marks) in map.words.iter_mut().zip(marks.chunks(CELLS)) {
            let mut bits = 0;
            for mark in marks.iter().rev() {
                bits = bits << 2 | u64::from(mark.is_set());
            }
            *word = bits;
        }
        Ok(map)
    }

    pub(crate) fn set(&mut self, cell: usize, is_truthy: bool) {
        self.words[cell / CELLS] |= (1 | u64::from(is_truthy) << 1) << (2 * (cell % CELLS));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The coordinates within `lengths` of the cells that an entry falls into, in order, and whether each is truthy.
    ///
    /// The words are shared out, and with them each array.
    pub(crate) fn into_cells(self, lengths: &[usize], width: Width) -> Allocated<StoredCells<bool>> {
        let (parts, ends) = self.stored_by_parts();
        let total = ends.last().copied().unwrap_or(0);
        let mut truths = alloc::zeros(total)?;
        threads::map_slices(&mut truths, &ends, |part, slots| self.write_truths(parts[part].clone(), slots));
        let axis = |axis| {
            of_width!(width, I => {
                let mut coords: Vec<I> = alloc::zeros(total)?;
                threads::map_slices(&mut coords, &ends, |part, coords| {
                    self.write_axis(parts[part].clone(), lengths, axis, coords);
                });
                Ok(AxisCoords::from(coords))
            })
        };
        Ok(StoredCells { coords: (0..lengths.len()).map(axis).collect::<Allocated<_>>()?, results: truths })
    }

    /// The words in parts, and where the cells stored in each of them end in a list of all.
    fn stored_by_parts(&self) -> (Vec<Range<usize>>, Vec<usize>) {
        let count = |words: &[u64]| words.iter().map(|word| (word & STORED).count_ones() as usize).sum::<usize>();
        let counted = threads::map_parts(self.words.len(), 5000, 0, |words| (count(&self.words[words.clone()]), words));
        let mut end = 0;
        let sum = |(count, words)| {
            end += count;
            (words, end)
        };
        counted.into_iter().map(sum).unzip()
    }

    /// What is stored in the cells of some words.
    fn write_truths(&self, words: Range<usize>, slots: &mut [bool]) {
        let mut slots = slots.iter_mut();
        self.for_each(words, |_, is_truthy| {
            if let Some(slot) = slots.next() {
                *slot = is_truthy;
            }
        });
    }

    /// The coordinates on one axis of the cells of some words.
    fn write_axis<I: Index>(&self, words: Range<usize>, lengths: &[usize], axis: usize, coords: &mut [I]) {
        let is_last = axis + 1 == lengths.len();
        // So many cells in a row share their coordinate, or count it up on the last axis: only what lies beyond them is
        // divided.
        let width = if is_last { lengths[axis] } else { capped_product(&lengths[axis + 1..]) };
        let (mut start, mut shared) = (0, 0);
        let mut slots = coords.iter_mut();
        self.for_each(words, |cell, _| {
            if cell - start >= width {
                let number = cell / width;
                (start, shared) = (number * width, number % lengths[axis]);
            }
            if let Some(slot) = slots.next() {
                *slot = I::from_usize(if is_last { cell - start } else { shared });
            }
        });
    }

    /// Calls `visit` with each cell of some words that an entry falls into, in order, and whether it is truthy.
    fn for_each(&self, words: Range<usize>, mut visit: impl FnMut(usize, bool)) {
        for (&word, first) in self.words[words.clone()].iter().zip((words.start * CELLS..).step_by(CELLS)) {
            bits::ones(word & STORED).for_each(|bit| visit(first + bit / 2, word >> (bit + 1) & 1 == 1));
        }
    }
}

/// The coordinates within `lengths` of the cells whose mark is set, in order, and their results; nothing, where one has
/// none.
pub(crate) fn marked_cells<M: Mark, U: Copy + Send>(
    marks: &[M],
    (lengths, width): (&[usize], Width),
    result: &(dyn Fn(usize) -> Outcome<U> + Sync),
) -> Allocated<Option<StoredCells<U>>> {
    let parts = threads::map_parts(marks.len(), 5000, 0, |cells| {
        let mut results = alloc::with_capacity(marks[cells.clone()].iter().filter(|mark| mark.is_set()).count())?;
        for cell in cells.filter(|&cell| marks[cell].is_set()) {
            match result(cell) {
                Ok(result) => results.push(result),
                Err(Fault::Memory(refused)) => return Err(refused),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(results))
    });
    let mut results = Vec::new();
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        alloc::reserve_exact(&mut results, part.len())?;
        results.extend(part);
    }
    let coords = CellMap::of_marks(marks)?.into_cells(lengths, width)?.coords;
    Ok(Some(StoredCells { coords, results }))
}

/// The row-major number within `lengths` of the cell of an entry.
fn cell_of<I: Index>(coords: &[&[I]], lengths: &[usize], entry: usize) -> usize {
    coords.iter().zip(lengths).fold(0, |cell, (axis, length)| cell * length + axis[entry].to_usize())
}

/// Writes the row-major numbers within `lengths` of the entries from `start` on.
pub(crate) fn number<I: Index>(coords: &[&[I]], lengths: &[usize], start: usize, numbers: &mut [usize]) {
    let Some((first, others)) = coords.split_first() else { return numbers.fill(0) };
    numbers.iter_mut().zip(&first[start..]).for_each(|(number, coord)| *number = coord.to_usize());
    for (axis, length) in others.iter().zip(lengths.iter().skip(1)) {
        for (number, coord) in numbers.iter_mut().zip(&axis[start..]) {
            *number = *number * length + coord.to_usize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bits::truths_of;

    /// Entries into cells by runs and one by one, against a map of the standard library.
    fn check(lengths: &[usize], cell_of: impl Fn(usize) -> usize, count: usize) {
        let coord = |axis: usize, entry| cell_of(entry) / lengths[axis + 1..].iter().product::<usize>() % lengths[axis];
        let coords: Vec<Vec<u32>> =
            (0..lengths.len()).map(|axis| (0..count).map(|entry| coord(axis, entry) as u32).collect()).collect();
        let coords: Vec<&[u32]> = coords.iter().map(Vec::as_slice).collect();
        for rare in [1, 3, 40, 1_000_000_007] {
            let values: Vec<f32> = (0..count).map(|entry| if entry % rare == rare / 2 { 1.0 } else { -0.0 }).collect();
            let mut expected = std::collections::BTreeMap::new();
            values
                .iter()
                .enumerate()
                .for_each(|(at, &value)| *expected.entry(cell_of(at)).or_default() |= value != 0.0);
            for in_runs in [false, true] {
                let map = CellMap::of_coords(&coords, lengths, count, &truths_of(&values), in_runs).unwrap();
                let StoredCells { coords: found, results: truths } = map.into_cells(lengths, Width::U64).unwrap();
                assert_eq!(truths, expected.values().copied().collect::<Vec<bool>>());
                for (axis, found) in found.iter().enumerate() {
                    let inner = lengths[axis + 1..].iter().product::<usize>();
                    let expected = expected.keys().map(|cell| (cell / inner % lengths[axis]) as u64);
                    assert_eq!(found.view::<u64>(), expected.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn cells_come_in_order_with_their_truth() {
        check(&[7], |entry| entry * 5 % 7, 4);
        check(&[3, 40], |entry| entry * 119 % 120, 90);
        check(&[2, 5, 7], |entry| entry * 11 % 70, 63);
        check(&[2, 5, 7], |entry| entry / 9 % 70, 66);
        check(&[1, 500], |entry| entry / 100 % 500, 64 * 3);
        check(&[10], |_| 3, 64 * 3 + 1);
        check(&[40, 30], |entry| entry / 5, 6000);
        check(&[5], |_| 0, 0);
    }

    #[test]
    fn many_words_and_entries_are_shared_out() {
        check(&[3000, 1500], |entry| entry * 31 % 4_500_000, 200_000);
        check(&[50, 400], |entry| entry / 10, 200_000);
    }

    #[test]
    fn maps_of_parts_merge_into_the_map_of_all() {
        let columns: Vec<u32> = (0..900).map(|entry| entry * 7 % 500).collect();
        let values: Vec<bool> = (0..900).map(|entry| entry % 3 == 0).collect();
        let map_of = |range: Range<usize>| {
            let mut map = CellMap { words: vec![0; 500_usize.div_ceil(CELLS)] };
            map.mark(&[&columns], &[500], &truths_of(&values), range);
            map
        };
        let mut merged = map_of(0..400);
        merged.merge(&map_of(400..900));
        assert_eq!(merged.words, map_of(0..900).words);
        assert!(merged.words != map_of(0..400).words && merged.words != map_of(400..900).words);
    }
}
