//! Scatter reduction of floats as integers: each value becomes two integers ([`Slices`]), added in one loop each.
//!
//! A loop updates one table with 8 bytes per output element. This table may fit in a cache even if a table with two
//! floats and a count per output element does not. Two threads run one loop each. The sum of the integers of all values
//! fits in 63 bits, so the loops do not test for overflow.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Slices;
use crate::kernels::coords;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::Outcome;
use crate::kernels::output_bitmap::{StoredOutputs, marked_cells};

/// The sum of an output element as two pairs of floats; the second pair is zero in most cases.
pub(crate) type Sum = [[f64; 2]; 2];

/// The maximum bytes of a table. A larger table does not fit in the last-level cache, so entries are bucketed by output
/// element instead.
const TABLE_BYTES: usize = 1 << 24;
/// The smallest number of entries per output element. With fewer entries, the table would take more memory than the
/// entries.
const ENTRIES_PER_OUTPUT: usize = 4;
/// The smallest number of values for which tables save time.
const FEW: usize = 1 << 12;
/// The sample size from which the magnitude of values is estimated; the sample has up to twice as many values.
const SAMPLED: usize = 1 << 10;
/// At most one of this number of values may be too large or too small for the integers. Such values are added
/// separately.
const RARE: usize = 64;
/// The number of values converted together.
const BLOCK: usize = 1 << 10;
/// The estimated picoseconds per entry.
const PICOSECONDS: usize = 2000;
/// The number of bits of an integer that always stay free, so that pairs of floats represent the sums exactly.
const FREE: i32 = 4;

/// The integers added to each output element by one loop.
struct SliceSums {
    table: Vec<i64>,
    /// The output elements with an entry, and the entries that the integers do not represent, as (output element,
    /// entry).
    ///
    /// Only the loop of the lower integers fills `marks` and `spilled`.
    marks: Vec<bool>,
    spilled: Vec<(usize, usize)>,
}

impl SliceSums {
    /// Adds integers to their output elements.
    #[inline(always)]
    fn add<const LOW: bool>(&mut self, cells: impl Iterator<Item = usize>, integers: &[i64]) {
        let (table, marks) = (&mut self.table[..], &mut self.marks[..]);
        for (cell, &integer) in cells.zip(integers) {
            // Wrapping cannot occur: `slices_of` keeps bits free for the sum of all values.
            table[cell] = table[cell].wrapping_add(integer);
            if LOW {
                marks[cell] = true;
            }
        }
    }

    /// [`add_block_of`](Self::add_block_of) for the lower or the higher integers; compiled once for all element types.
    fn add_block(&mut self, low: bool, kept: &KeptAxes<'_>, start: usize, numbers: &mut [usize], integers: &[i64]) {
        match low {
            true => self.add_block_of::<true>(kept, start, numbers, integers),
            false => self.add_block_of::<false>(kept, start, numbers, integers),
        }
    }

    /// Adds the integers of the entries from `start` on to their output elements; `numbers` is working memory.
    ///
    /// If there is a single kept axis, its coordinates are the indices of the output elements.
    fn add_block_of<const LOW: bool>(
        &mut self,
        kept: &KeptAxes<'_>,
        start: usize,
        numbers: &mut [usize],
        integers: &[i64],
    ) {
        let block = start..start + integers.len();
        match &kept.coords {
            coords::CoordSlices::U32(Few::One([only])) => {
                self.add::<LOW>(only[block].iter().map(|cell| cell.to_usize()), integers);
            }
            coords::CoordSlices::U64(Few::One([only])) => {
                self.add::<LOW>(only[block].iter().map(|cell| cell.to_usize()), integers);
            }
            _ => {
                kept.number(start, numbers);
                self.add::<LOW>(numbers.iter().copied(), integers);
            }
        }
    }

    /// Merges the integers of another range.
    fn merge(&mut self, other: &Self) -> Allocated<()> {
        self.table.iter_mut().zip(&other.table).for_each(|(sum, other)| *sum = sum.wrapping_add(*other));
        self.marks.iter_mut().zip(&other.marks).for_each(|(mark, other)| *mark |= other);
        alloc::reserve(&mut self.spilled, other.spilled.len())?;
        self.spilled.extend_from_slice(&other.spilled);
        Ok(())
    }
}

/// A function that returns the result of an output element from its index, its sum and the entries to add separately.
type Finish<'a, U> = dyn Fn(usize, Sum, &[(usize, usize)]) -> Outcome<U> + Sync + 'a;

/// Returns the result of `finish` for each output element that has an entry, with its coordinates, in order.
///
/// The result is `None` for too few entries, for too many output elements, or if the result of an output element is
/// missing. The result is also `None` if the integers cannot represent too many values.
pub(crate) fn scatter<T: Copy + Sync, U: Copy + Send>(
    kept: &KeptAxes<'_>,
    values: &[T],
    float: impl Fn(T) -> f64 + Sync,
    finish: &Finish<'_, U>,
) -> Allocated<Option<StoredOutputs<U>>> {
    let most = (TABLE_BYTES / size_of::<i64>()).min(values.len() / ENTRIES_PER_OUTPUT);
    if kept.lead || values.len() < FEW || kept.cells() > most as u128 {
        return Ok(None);
    }
    let Some(slices) = slices_of(values, &float)? else { return Ok(None) };
    let Some([high, low]) = (Scatter { kept, values, float, slices }).add_all()? else { return Ok(None) };
    let mut spilled = low.spilled;
    spilled.sort_unstable();
    // `spilled` is sorted by output element, so the entries of one output element are contiguous.
    marked_cells(&low.marks, kept.cells_of_result(), &|cell| {
        let first = spilled.partition_point(|&(other, _)| other < cell);
        let count = spilled[first..].iter().take_while(|&&(other, _)| other == cell).count();
        finish(cell, slices.pairs([high.table[cell], low.table[cell]]), &spilled[first..first + count])
    })
}

/// Returns the conversion of values to integers, if it represents almost all of a sample.
///
/// A few values with a very large magnitude are ignored.
fn slices_of<T: Copy>(values: &[T], float: impl Fn(T) -> f64) -> Allocated<Option<Slices>> {
    let step = (values.len() / SAMPLED).max(1);
    let mut sample: Vec<f64> = alloc::collect(values.iter().step_by(step).map(|&value| float(value).abs()))?;
    // The magnitude at this rank ignores the largest values of the sample.
    let at = sample.len() - 1 - sample.len() / (2 * RARE);
    let usual = *sample.select_nth_unstable_by(at, f64::total_cmp).1;
    let bits = (usize::BITS - values.len().leading_zeros()) as i32;
    // The free bits cover the sum of all values, so 64-bit sums cannot overflow.
    let slices = Slices::new(4.0 * usual, FREE.max(bits - 12));
    Ok(slices.filter(|slices| sample.iter().filter(|&&value| !slices.of(value).1).count() <= sample.len() / RARE))
}

/// Values that are scattered to output elements.
struct Scatter<'a, T, F> {
    kept: &'a KeptAxes<'a>,
    values: &'a [T],
    float: F,
    slices: Slices,
}

impl<T: Copy + Sync, F: Fn(T) -> f64 + Sync> Scatter<'_, T, F> {
    /// Returns the sums of the higher and the lower integers of all values.
    fn add_all(&self) -> Allocated<Option<[SliceSums; 2]>> {
        let cells = self.kept.cells() as usize;
        let parts = threads::map_parts(self.values.len(), PICOSECONDS, cells, |part| part);
        // There are two loops per range, so the number of ranges is half the number of threads.
        let ranges = parts.chunks(2).map(|parts| parts[0].start..parts[parts.len() - 1].end);
        let loops = ranges.flat_map(|range| [(true, range.clone()), (false, range)]).collect();
        let add = |is_low, range| if is_low { self.add::<true>(cells, range) } else { self.add::<false>(cells, range) };
        let done = threads::map_each(loops, self.values.len(), || (), |(), (is_low, range)| add(is_low, range));
        // Even results are sums of lower integers, odd results are sums of higher integers. The order of integer
        // additions does not matter.
        let (mut low, mut high) = (None, None);
        for (number, added) in done.into_iter().enumerate() {
            let Some(added) = added? else { return Ok(None) };
            let all: &mut Option<SliceSums> = if number % 2 == 0 { &mut low } else { &mut high };
            match all {
                Some(all) => all.merge(&added)?,
                None => *all = Some(added),
            }
        }
        Ok(high.zip(low).map(|(high, low)| [high, low]))
    }

    /// Adds the lower or higher integers of a range to their output elements.
    ///
    /// The result is `None` if too many values are not represented.
    fn add<const LOW: bool>(&self, cells: usize, range: Range<usize>) -> Allocated<Option<SliceSums>> {
        let marks = alloc::zeros(if LOW { cells } else { 0 })?;
        let mut added = SliceSums { table: alloc::zeros(cells)?, marks, spilled: Vec::new() };
        let (mut numbers, mut integers) = ([0; BLOCK], [0; BLOCK]);
        for start in range.clone().step_by(BLOCK) {
            let block = start..range.end.min(start + BLOCK);
            let (numbers, integers) = (&mut numbers[..block.len()], &mut integers[..block.len()]);
            let are_whole = self.slice::<LOW>(&self.values[block.clone()], integers);
            added.add_block(LOW, self.kept, start, numbers, integers);
            // Only the loop of the lower integers collects such entries, so each is collected once.
            if LOW && !are_whole && !self.spill(&mut added.spilled, numbers, start)? {
                return Ok(None);
            }
        }
        Ok(Some(added))
    }

    /// Writes one integer per value, 0 for values that are not represented; returns false if there are such values.
    fn slice<const LOW: bool>(&self, values: &[T], integers: &mut [i64]) -> bool {
        let slices = self.slices;
        in_wide_vectors(
            #[inline(always)]
            || {
                let mut spilled = 0;
                for (integer, &value) in integers.iter_mut().zip(values) {
                    let (both, is_whole) = slices.of((self.float)(value));
                    *integer = if is_whole { both[usize::from(LOW)] } else { 0 };
                    spilled |= u64::from(!is_whole);
                }
                spilled == 0
            },
        )
    }

    /// Collects the entries from `start` on that the integers do not represent; returns false if there are too many
    /// such entries.
    #[cold]
    fn spill(&self, spilled: &mut Vec<(usize, usize)>, numbers: &mut [usize], start: usize) -> Allocated<bool> {
        self.kept.number(start, numbers);
        for (&cell, entry) in numbers.iter().zip(start..) {
            if !self.slices.of((self.float)(self.values[entry])).1 {
                alloc::push(spilled, (cell, entry))?;
            }
        }
        Ok(spilled.len() <= self.values.len() / RARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Accumulator, Ring};
    use crate::kernels::coords::{AxisCoords, slices};

    type Total = <f64 as Ring>::Total;

    /// Compares the sums of the table with exact sums, and returns the number of separate entries, or `None` without a
    /// table.
    fn check(lengths: &[usize], values: &[f64], cell_of: impl Fn(usize) -> usize) -> Option<usize> {
        let coord = |axis: usize, entry| cell_of(entry) / lengths[axis + 1..].iter().product::<usize>() % lengths[axis];
        let axes = (0..lengths.len()).map(|axis| (0..values.len()).map(|at| coord(axis, at) as u32).collect());
        let axes: Vec<Vec<u32>> = axes.collect();
        let coords: Vec<AxisCoords> = axes.into_iter().map(AxisCoords::from).collect();
        let kept = KeptAxes { coords: slices(&coords), lengths, lead: false, in_runs: false, extents: None };
        let finish = |_, pairs: Sum, others: &[(usize, usize)]| {
            let mut total = Total::default();
            pairs.into_iter().for_each(|pair| Accumulator::<f64>::add_cell(&mut total, pair));
            others.iter().for_each(|&(_, entry)| total.add(values[entry]));
            Ok((f64::sum_of(&total).unwrap().to_bits(), others.len()))
        };
        let StoredOutputs { coords: found, results } = scatter(&kept, values, |value| value, &finish).unwrap()?;
        let mut expected = std::collections::BTreeMap::<usize, Total>::new();
        values.iter().enumerate().for_each(|(at, &value)| expected.entry(cell_of(at)).or_default().add(value));
        let sums: Vec<u64> = expected.values().map(|total| f64::sum_of(total).unwrap().to_bits()).collect();
        assert_eq!(results.iter().map(|result| result.0).collect::<Vec<_>>(), sums);
        let cells = (0..found[0].len()).map(|at| number_of(&found, lengths, at));
        assert!(cells.eq(expected.keys().copied()));
        Some(results.iter().map(|result| result.1).sum())
    }

    fn number_of(coords: &[AxisCoords], lengths: &[usize], at: usize) -> usize {
        coords.iter().zip(lengths).fold(0, |cell, (axis, length)| cell * length + axis.at(at))
    }

    /// Returns a value with random bits and both signs, near 1.
    fn value(at: usize) -> f64 {
        let bits = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let value = f64::from_bits(1022 << 52 | bits >> 12);
        if bits.is_multiple_of(3) { -value } else { value }
    }

    fn check_all() {
        for (count, cells) in [(FEW, 1), (5000, 7), (40_000, 9000), (300_000, 50)] {
            let values: Vec<f64> = (0..count).map(value).collect();
            assert_eq!(check(&[cells], &values, |at| at * 31 % cells), Some(0));
            assert_eq!(
                check(&[2, cells], &values, |at| if cells > 2000 { at % cells } else { at * 7 % (2 * cells) }),
                {
                    let is_table = count >= 4 * 2 * cells;
                    is_table.then_some(0)
                }
            );
        }
    }

    /// Each output element has entries in only one thread.
    #[cfg(feature = "rayon")]
    #[test]
    fn cells_of_one_range_are_stored() {
        let values: Vec<f64> = (0..600_000).map(value).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        assert_eq!(pool.install(|| check(&[50], &values, |at| at / 12_000)), Some(0));
    }

    #[test]
    fn sums_of_cells_are_exact() {
        check_all();
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn sums_of_cells_are_exact_on_many_threads() {
        for threads in [2, 3, 8] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(check_all);
        }
    }

    /// Tests the sum of many values of one sign, which needs more than the minimum number of free bits.
    #[test]
    fn many_values_of_one_cell_have_room() {
        assert_eq!(check(&[1], &vec![1.999; 300_000], |_| 0), Some(0));
    }

    /// Zeros, cancelling values and output elements without other values are stored. Values that are too large, too
    /// small or not finite are added separately.
    #[test]
    fn values_that_spill_are_added_by_themselves() {
        let mut values: Vec<f64> = (0..20_000).map(|at| [1.5, -1.5, 0.0, -0.0][at / 500 % 4]).collect();
        assert_eq!(check(&[500], &values, |at| at % 500), Some(0));
        let hostile = [1e300, -1e300, 5e-324, 1e-40, f64::INFINITY, f64::NAN, 7.0 + 2f64.powi(-50), f64::MAX, 100.0];
        hostile.iter().enumerate().for_each(|(at, &value)| values[at * 501 + 3] = value);
        assert_eq!(check(&[500], &values, |at| at % 500), Some(8));
        // None of these values is in the sample.
        let unseen = (0..values.len()).filter(|at| at % 20 == 1 && at % (values.len() / SAMPLED) > 0);
        unseen.collect::<Vec<_>>().into_iter().for_each(|at| values[at] = 1e300);
        assert_eq!(check(&[500], &values, |at| at % 500), None);
    }

    #[test]
    fn few_entries_many_cells_and_a_sample_of_nothing_usual_make_no_table() {
        let values: Vec<f64> = (0..FEW).map(value).collect();
        assert_eq!(check(&[FEW / 4], &values, |at| at / 4), Some(0));
        assert_eq!(check(&[FEW / 4 + 1], &values, |at| at / 4), None);
        assert_eq!(check(&[1], &values[1..], |_| 0), None);
        for unusual in [f64::NAN, f64::INFINITY, f64::MAX] {
            assert_eq!(check(&[1], &vec![unusual; FEW], |_| 0), None);
        }
        let wide: Vec<f64> = (0..FEW).map(|at| 10f64.powi(at as i32 % 200 - 100)).collect();
        assert_eq!(check(&[1], &wide, |_| 0), None);
    }
}
