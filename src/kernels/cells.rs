//! A map of the cells of a result, two bits each: whether an entry falls there, and whether a truthy one does.
//!
//! Against sorting the entries by cell it reads each of them once, in the order in which they are stored.

use std::ops::Range;

use crate::element::Element;
use crate::index::Index;
use crate::parallel;

/// The cells of a word.
const CELLS: usize = 32;
/// The bits of a word that say whether an entry falls into a cell; those above them say whether one is truthy.
const STORED: u64 = 0x5555_5555_5555_5555;

/// What falls into each cell.
pub(crate) struct CellMap {
    words: Vec<u64>,
}

impl CellMap {
    /// Whether a map of so many cells is small beside so many entries: at most a bit for each of their bytes.
    pub(crate) fn pays(cells: u128, entries: usize) -> bool {
        cells <= CELLS as u128 * entries as u128
    }

    /// The map of `values` whose cell is given by their coordinates, row-major within `lengths`.
    pub(crate) fn of_values<T: Element, I: Index>(coords: &[&[I]], lengths: &[usize], values: &[T]) -> Self {
        let cells = lengths.iter().product::<usize>();
        let part = |range: Range<usize>| {
            let mut map = CellMap { words: vec![0; cells.div_ceil(CELLS)] };
            map.mark(coords, lengths, values, range);
            map
        };
        let parts = parallel::map_parts(values.len(), cells / CELLS, part);
        parts.into_iter().reduce(CellMap::merge).unwrap_or(CellMap { words: Vec::new() })
    }

    fn mark<T: Element, I: Index>(&mut self, coords: &[&[I]], lengths: &[usize], values: &[T], range: Range<usize>) {
        let values = &values[range.clone()];
        match *coords {
            [only] => {
                only[range].iter().zip(values).for_each(|(cell, value)| self.set(cell.to_usize(), value.is_truthy()));
            }
            [first, second] => {
                let coords = first[range.clone()].iter().zip(&second[range]);
                for ((row, column), value) in coords.zip(values) {
                    self.set(row.to_usize() * lengths[1] + column.to_usize(), value.is_truthy());
                }
            }
            _ => {
                for (entry, value) in range.zip(values) {
                    let next = |cell, (axis, length): (&&[I], &usize)| cell * length + axis[entry].to_usize();
                    self.set(coords.iter().zip(lengths).fold(0, next), value.is_truthy());
                }
            }
        }
    }

    fn set(&mut self, cell: usize, is_truthy: bool) {
        self.words[cell / CELLS] |= (1 | u64::from(is_truthy) << 1) << (2 * (cell % CELLS));
    }

    fn merge(mut self, other: Self) -> Self {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self
    }

    /// How many cells an entry falls into.
    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|word| (word & STORED).count_ones() as usize).sum()
    }

    /// Calls `visit` with each of these cells, in order, and whether it is truthy.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, bool)) {
        for (at, &word) in self.words.iter().enumerate() {
            let mut stored = word & STORED;
            while stored != 0 {
                let bit = stored.trailing_zeros();
                visit(at * CELLS + bit as usize / 2, word >> (bit + 1) & 1 == 1);
                stored &= stored - 1;
            }
        }
    }

    /// Their coordinates within `lengths`, and whether each is truthy.
    pub(crate) fn into_arrays<I: Index>(self, lengths: &[usize]) -> (Vec<Vec<I>>, Vec<bool>) {
        let count = self.len();
        let (mut coords, mut truths) = (vec![Vec::with_capacity(count); lengths.len()], Vec::with_capacity(count));
        let Some((columns, leading)) = coords.split_last_mut() else {
            return (coords, truths);
        };
        let width = lengths[lengths.len() - 1];
        let mut row = vec![I::default(); leading.len()];
        let (mut start, mut number) = (0, 0);
        self.for_each(|cell, is_truthy| {
            // Most cells stand in the row of the one before: only another row is divided into coordinates.
            if cell - start >= width {
                number += (cell - start) / width;
                start = number * width;
                unravel(number, &lengths[..lengths.len() - 1], &mut row);
            }
            leading.iter_mut().zip(&row).for_each(|(axis, &coord)| axis.push(coord));
            columns.push(I::from_usize(cell - start));
            truths.push(is_truthy);
        });
        (coords, truths)
    }
}

/// The coordinates of row-major `number` within `lengths`.
fn unravel<I: Index>(mut number: usize, lengths: &[usize], coords: &mut [I]) {
    for (coord, length) in coords.iter_mut().zip(lengths).rev() {
        *coord = I::from_usize(number % length);
        number /= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_in_order_with_their_truth() {
        let (rows, columns) = ([2u32, 0, 2, 2], [39u32, 3, 0, 39]);
        let map = CellMap::of_values(&[&rows, &columns], &[3, 40], &[0.0, -0.0, f64::NAN, 5.0]);
        assert_eq!(map.len(), 3);
        let (coords, truths) = map.into_arrays::<u32>(&[3, 40]);
        assert_eq!(coords, [vec![0, 2, 2], vec![3, 0, 39]]);
        assert_eq!(truths, [false, true, true]);
    }

    #[test]
    fn maps_of_parts_merge_into_the_map_of_all() {
        let columns: Vec<u32> = (0..900).map(|entry| entry * 7 % 500).collect();
        let values: Vec<bool> = (0..900).map(|entry| entry % 3 == 0).collect();
        let map_of = |range: Range<usize>| {
            let mut map = CellMap { words: vec![0; 500_usize.div_ceil(CELLS)] };
            map.mark(&[&columns], &[500], &values, range);
            map
        };
        let merged = map_of(0..400).merge(map_of(400..900));
        assert_eq!(merged.words, map_of(0..900).words);
        assert!(merged.words != map_of(0..400).words && merged.words != map_of(400..900).words);
    }

    #[test]
    fn one_axis_and_three_axes_are_mapped_as_two_are() {
        let (a, b, c) = ([1u64, 0, 1], [0u64, 4, 4], [6u64, 0, 5]);
        let (coords, truths) =
            CellMap::of_values(&[&a, &b, &c], &[2, 5, 7], &[0u8, 0, 3]).into_arrays::<u64>(&[2, 5, 7]);
        assert_eq!(coords, [vec![0, 1, 1], vec![4, 0, 4], vec![0, 6, 5]]);
        assert_eq!(truths, [false, false, true]);
        let (coords, truths) = CellMap::of_values(&[&c], &[7], &[true, false, false]).into_arrays::<u64>(&[7]);
        assert_eq!((coords, truths), (vec![vec![0, 5, 6]], vec![false, false, true]));
    }
}
