//! A bitmap of the output elements of a reduction. Each element has two bits: whether it has an entry, and whether an
//! entry is nonzero.
//!
//! A `cell` is the flat index of an output element. Unlike a sort by flat index, the bitmap reads each entry once, in
//! stored order.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::{Index, Width, capped_product};
use crate::base::threads;
use crate::kernels::bits::{self, BITS, NonzeroBits};
use crate::kernels::coords::{AxisCoords, CoordSlices, of_width};
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::{GroupError, Outcome};

/// The number of output elements in a word.
const CELLS: usize = 32;
/// The number of entries whose marks are written at once. Their values are still in the cache when the coordinates are
/// read.
const BLOCK: usize = 1 << 10;
/// The bits of a word that are set if an output element has an entry. The next higher bit is set if an entry is
/// nonzero.
const STORED: u64 = 0x5555_5555_5555_5555;

/// Output elements with an entry, in row-major order.
pub(crate) struct StoredOutputs<U> {
    /// The coordinates of the output elements on each axis.
    pub(crate) coords: Vec<AxisCoords>,
    pub(crate) results: Vec<U>,
}

/// A mark of an output element: whether it has an entry, or the number of its entries.
pub(crate) trait Mark: Sync {
    /// Returns whether the output element has an entry.
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

/// The bits of all output elements.
pub(crate) struct CellMap {
    words: Vec<u64>,
}

impl CellMap {
    /// Returns whether the bitmap is small compared with the entries: at most eight bytes per entry.
    pub(crate) fn pays(cells: u128, entries: usize) -> bool {
        // If there are no entries, one axis may have length 0 and other axes may be huge. These lengths must not be
        // multiplied.
        entries > 0 && cells <= CELLS as u128 * entries as u128
    }

    /// Returns the bitmap of `count` entries, whose values `truths` tests.
    pub(crate) fn of_truths(kept: &KeptAxes<'_>, count: usize, truths: &dyn NonzeroBits) -> Allocated<Self> {
        match &kept.coords {
            CoordSlices::U32(coords) => CellMap::of_coords(coords, kept.lengths, count, truths, kept.in_runs),
            CoordSlices::U64(coords) => CellMap::of_coords(coords, kept.lengths, count, truths, kept.in_runs),
        }
    }

    fn of_coords<I: Index>(
        coords: &[&[I]],
        lengths: &[usize],
        count: usize,
        truths: &dyn NonzeroBits,
        in_runs: bool,
    ) -> Allocated<Self> {
        // `pays` is true, so the product is at most 32 times the number of entries and does not overflow.
        let cells = lengths.iter().product::<usize>();
        let part = |range: Range<usize>| {
            let mut map = CellMap::empty(cells)?;
            let marked = if in_runs { map.mark_runs(coords, lengths, truths, range.clone()) } else { 0 };
            map.mark(coords, lengths, truths, range.start + marked..range.end);
            Ok(map)
        };
        // Merging is a bitwise or, so the result does not depend on the number of parts.
        let parts = threads::map_parts(count, 800, cells / CELLS, part).into_iter();
        let merged = |all: Allocated<CellMap>, part: Allocated<CellMap>| {
            let mut all = all?;
            all.merge(&part?);
            Ok(all)
        };
        parts.reduce(merged).unwrap_or(CellMap::empty(0))
    }

    fn mark<I: Index>(&mut self, coords: &[&[I]], lengths: &[usize], truths: &dyn NonzeroBits, range: Range<usize>) {
        let mut marks = [0; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let entries = start..range.end.min(start + BLOCK);
            let marks = &mut marks[..entries.len()];
            truths.marks(start, marks);
            match *coords {
                [only] => self.set_all(marks, only[entries].iter().map(|cell| cell.to_usize())),
                [first, second] => {
                    let coords = first[entries.clone()].iter().zip(&second[entries]);
                    let cells = coords.map(|(row, column)| row.to_usize() * lengths[1] + column.to_usize());
                    self.set_all(marks, cells);
                }
                _ => self.set_all(marks, entries.map(|entry| cell_of(coords, lengths, entry))),
            }
        }
    }

    /// Adds the mark of each entry to its cell.
    #[inline(always)]
    fn set_all(&mut self, marks: &[u8], cells: impl Iterator<Item = usize>) {
        let words = &mut self.words[..];
        for (&mark, cell) in marks.iter().zip(cells) {
            // A mark has the two bits of an output element. Bits are never cleared, so the order of entries does not
            // matter.
            words[cell / CELLS] |= u64::from(mark) << (2 * (cell % CELLS));
        }
    }

    /// Marks each run of entries of one output element at once. Returns the number of entries marked: all except the
    /// last few.
    ///
    /// A write to a word must wait for the previous write to the same word. Marking runs needs fewer writes.
    fn mark_runs<I: Index>(
        &mut self,
        coords: &[&[I]],
        lengths: &[usize],
        truths: &dyn NonzeroBits,
        range: Range<usize>,
    ) -> usize {
        let marked = range.len() / BITS * BITS;
        bits::for_each_word(truths, range.start..range.start + marked, |word, Range { start, .. }| {
            // The last block may not have an entry after it. In this case each entry counts as its own run.
            let changes = |axis: &&[I]| axis[start..].first_chunk().map_or(u64::MAX, bits::changes);
            // Invariant: the last entry of a block ends a run, so no run crosses two words of `truths`.
            let ends = coords.iter().map(changes).fold(1 << (BITS - 1), |ends, changes| ends | changes);
            let truths = bits::any_of_runs(word, ends);
            bits::ones(ends).for_each(|end| self.set(cell_of(coords, lengths, start + end), truths >> end & 1 == 1));
        });
        marked
    }

    /// Returns a bitmap of output elements without entries.
    pub(crate) fn empty(cells: usize) -> Allocated<Self> {
        Ok(CellMap { words: alloc::zeros(cells.div_ceil(CELLS))? })
    }

    /// Returns the bitmap of the set marks, with no nonzero entries.
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
        // One write sets both bits. Bits are never cleared, so the order of entries does not matter.
        self.words[cell / CELLS] |= (1 | u64::from(is_truthy) << 1) << (2 * (cell % CELLS));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Returns the coordinates of the output elements with an entry, in order, and whether each has a nonzero entry.
    ///
    /// The threads split the words, and with them each array.
    pub(crate) fn into_outputs(self, lengths: &[usize], width: Width) -> Allocated<StoredOutputs<bool>> {
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
        Ok(StoredOutputs { coords: (0..lengths.len()).map(axis).collect::<Allocated<_>>()?, results: truths })
    }

    /// Returns chunks of the words, and the end of each chunk in the list of all output elements with an entry.
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

    /// Writes whether each output element of some words has a nonzero entry.
    fn write_truths(&self, words: Range<usize>, slots: &mut [bool]) {
        let mut slots = slots.iter_mut();
        self.for_each(words, |_, is_truthy| {
            if let Some(slot) = slots.next() {
                *slot = is_truthy;
            }
        });
    }

    /// Writes the coordinates of the output elements of some words on one axis.
    fn write_axis<I: Index>(&self, words: Range<usize>, lengths: &[usize], axis: usize, coords: &mut [I]) {
        let is_last = axis + 1 == lengths.len();
        // `width` adjacent output elements have the same coordinate. On the last axis, the coordinate increases by one
        // per element instead. A division is needed only for an element after these `width` elements.
        let width = if is_last { lengths[axis] } else { capped_product(&lengths[axis + 1..]) };
        let (mut start, mut shared) = (0, 0);
        let mut slots = coords.iter_mut();
        self.for_each(words, |cell, _| {
            // Invariant: `start` is a multiple of `width`, and `start <= cell`, since `cell` increases.
            if cell - start >= width {
                let number = cell / width;
                (start, shared) = (number * width, number % lengths[axis]);
            }
            if let Some(slot) = slots.next() {
                *slot = I::from_usize(if is_last { cell - start } else { shared });
            }
        });
    }

    /// Calls `visit` for each output element with an entry in some words, in order, and whether an entry is nonzero.
    fn for_each(&self, words: Range<usize>, mut visit: impl FnMut(usize, bool)) {
        for (&word, first) in self.words[words.clone()].iter().zip((words.start * CELLS..).step_by(CELLS)) {
            bits::ones(word & STORED).for_each(|bit| visit(first + bit / 2, word >> (bit + 1) & 1 == 1));
        }
    }
}

/// Returns the coordinates and results of the output elements with a set mark, in order. `None` if a result is missing.
pub(crate) fn marked_cells<M: Mark, U: Copy + Send>(
    marks: &[M],
    (lengths, width): (&[usize], Width),
    result: &(dyn Fn(usize) -> Outcome<U> + Sync),
) -> Allocated<Option<StoredOutputs<U>>> {
    let parts = threads::map_parts(marks.len(), 5000, 0, |cells| {
        let mut results = alloc::with_capacity(marks[cells.clone()].iter().filter(|mark| mark.is_set()).count())?;
        for cell in cells.filter(|&cell| marks[cell].is_set()) {
            match result(cell) {
                Ok(result) => results.push(result),
                Err(GroupError::Memory(rejection)) => return Err(rejection),
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
    let coords = CellMap::of_marks(marks)?.into_outputs(lengths, width)?.coords;
    Ok(Some(StoredOutputs { coords, results }))
}

/// Returns the flat index within `lengths` of the output element of an entry.
fn cell_of<I: Index>(coords: &[&[I]], lengths: &[usize], entry: usize) -> usize {
    coords.iter().zip(lengths).fold(0, |cell, (axis, length)| cell * length + axis[entry].to_usize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bits::NonzeroBitsOf;

    /// Compares both methods of marking entries with a map of the standard library.
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
                let map = CellMap::of_coords(&coords, lengths, count, &NonzeroBitsOf(&values), in_runs).unwrap();
                let StoredOutputs { coords: found, results: truths } = map.into_outputs(lengths, Width::U64).unwrap();
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
            map.mark(&[&columns], &[500], &NonzeroBitsOf(&values), range);
            map
        };
        let mut merged = map_of(0..400);
        merged.merge(&map_of(400..900));
        assert_eq!(merged.words, map_of(0..900).words);
        assert!(merged.words != map_of(0..400).words && merged.words != map_of(400..900).words);
    }
}
