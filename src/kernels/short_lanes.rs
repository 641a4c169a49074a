//! Sums of short lanes by differences of running sums.
//!
//! Each value becomes two integers ([`Slices`]). Running sums of these integers start at the beginning of each block.
//! The sum of a lane is the running sum at its end minus the running sum at its start. No branch depends on the length
//! of a lane.

use crate::element::{Slices, max_magnitude};
use crate::kernels::op::{FailedGroup, Outcomes};

/// The maximum number of entries per block; sums of this many integers are exact floats.
const BATCH: usize = 1 << 9;
/// The number of free bits that the sum of a block needs.
const ROOM: i32 = 7;
/// The maximum average length of short lanes. Longer lanes are summed by SIMD loops instead.
const LONG: usize = 64;

/// Returns whether lanes are short enough on average for [`sums_of_lanes`].
pub(crate) fn are_short(offsets: &[usize]) -> bool {
    let entries = offsets[offsets.len() - 1] - offsets[0];
    entries <= LONG * (offsets.len() - 1)
}

/// Writes the results of the lanes that have a value.
///
/// `fast` computes a result from the sum and the size of a lane. `slow` receives the offsets of lanes and a slot for
/// each result; it computes lanes that `fast` leaves unknown, and blocks that the integers do not represent exactly.
#[inline(always)]
pub(crate) fn sums_of_lanes<T: Copy, U: Copy>(
    offsets: &[usize],
    values: &[T],
    results: &mut [U],
    float: impl Fn(T) -> f64,
    fast: impl Fn([f64; 2], usize) -> Option<U>,
    slow: impl Fn(&[usize], &mut [U]) -> Outcomes<()>,
) -> Outcomes<()> {
    let mut sums = RunningSums::new();
    let (mut lane, mut results) = (0, results);
    // Invariant: lanes before `lane` are written, and `results` starts at the first lane after them.
    while lane + 1 < offsets.len() {
        let lanes = &offsets[lane..offsets.len().min(lane + BATCH)];
        let fitting = lanes.partition_point(|&offset| offset - lanes[0] <= BATCH);
        // At least one lane is processed, so the loop ends even if the lane is longer than a block.
        let lanes = &lanes[..fitting.max(2)];
        let stored = lanes.windows(2).filter(|ends| ends[0] < ends[1]).count();
        let (block, rest) = std::mem::take(&mut results).split_at_mut(stored);
        let entries = &values[lanes[0]..lanes[lanes.len() - 1]];
        let slices = if entries.len() <= BATCH { sums.add(entries, &float) } else { None };
        match slices {
            Some(slices) => sums.write(lanes, slices, block, &fast, &slow),
            None => slow(lanes, block),
        }
        // A failure counts lanes from the start of the block.
        .map_err(|failure| FailedGroup { group: lane + failure.group, ..failure })?;
        (lane, results) = (lane + lanes.len() - 1, rest);
    }
    Ok(())
}

/// Running sums of the integers of a block.
struct RunningSums {
    /// The sum of the integers before each value, and the sum of all integers.
    before: [[i64; 2]; BATCH + 1],
}

impl RunningSums {
    #[inline(always)]
    fn new() -> Self {
        RunningSums { before: [[0; 2]; BATCH + 1] }
    }

    /// Adds up the integers of some values; returns `None` if the integers do not represent a value exactly.
    #[inline(always)]
    fn add<T: Copy>(&mut self, values: &[T], float: impl Fn(T) -> f64) -> Option<Slices> {
        let slices = Slices::new(max_magnitude(values.iter().map(|&value| float(value))), ROOM)?;
        let sums = &mut self.before[1..=values.len()];
        let mut spilled = 0;
        // The values of this loop do not depend on each other, so it can use SIMD; the next loop forms running sums.
        for (integers, &value) in sums.iter_mut().zip(values) {
            let (both, is_whole) = slices.of(float(value));
            *integers = both;
            spilled |= u64::from(!is_whole);
        }
        let mut sum = [0i64; 2];
        for integers in sums {
            // Wrapping cannot occur for represented values: `ROOM` bits are free for the sum of a block.
            sum = [sum[0].wrapping_add(integers[0]), sum[1].wrapping_add(integers[1])];
            *integers = sum;
        }
        (spilled == 0).then_some(slices)
    }

    /// Writes the results of the lanes that have a value, and calls `slow` for lanes that `fast` leaves unknown.
    ///
    /// A frequent unknown result is a mean halfway between two floats.
    #[inline(always)]
    fn write<U>(
        &self,
        offsets: &[usize],
        slices: Slices,
        results: &mut [U],
        fast: impl Fn([f64; 2], usize) -> Option<U>,
        slow: impl Fn(&[usize], &mut [U]) -> Outcomes<()>,
    ) -> Outcomes<()> {
        let lanes = offsets.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]);
        for (place, (lane, ends)) in results.iter_mut().zip(lanes) {
            // Offsets are relative to the block, which has at most `BATCH` entries; `min` only removes a bounds
            // check.
            let [start, end] = [0, 1].map(|at| self.before[(ends[at] - offsets[0]).min(BATCH)]);
            let sums = [end[0].wrapping_sub(start[0]), end[1].wrapping_sub(start[1])];
            match fast(slices.pair(sums), ends[1] - ends[0]) {
                Some(result) => *place = result,
                None => slow(ends, std::slice::from_mut(place))
                    .map_err(|failure| FailedGroup { group: lane + failure.group, ..failure })?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Accumulator, Ring};
    use crate::kernels::op::GroupError;
    use std::cell::Cell;

    /// Compares the sums of lanes with exact sums, and returns the number of lanes that `slow` computed.
    fn check(offsets: &[usize], values: &[f64]) -> usize {
        let exact = |ends: &[usize]| {
            let mut total = <f64 as Ring>::Total::default();
            values[ends[0]..ends[1]].iter().for_each(|&value| total.add(value));
            f64::sum_of(&total).unwrap()
        };
        let sums = |offsets: &[usize]| {
            offsets.windows(2).filter(|ends| ends[0] < ends[1]).map(exact).map(f64::to_bits).collect::<Vec<_>>()
        };
        let left = Cell::new(0);
        let slow = |offsets: &[usize], results: &mut [u64]| {
            left.set(left.get() + results.len());
            results.copy_from_slice(&sums(offsets));
            Ok(())
        };
        let expected = sums(offsets);
        let mut results = vec![1; expected.len()];
        let fast = |[high, low]: [f64; 2], _| Some((high + low + 0.0).to_bits());
        sums_of_lanes(offsets, values, &mut results, |value| value, fast, slow).unwrap();
        assert_eq!(results, expected);
        left.get()
    }

    fn offsets(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
        let ends = sizes.scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        [0].into_iter().chain(ends).collect()
    }

    /// Returns values with random bits and both signs, near 1.
    fn values(count: usize) -> Vec<f64> {
        let bits = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let value = |bits: u64| f64::from_bits((1022 | (bits & 1) << 11) << 52 | bits >> 12);
        (0..count as u64).map(|at| value(bits(at))).collect()
    }

    #[test]
    fn runs_of_all_lengths_are_summed() {
        let values = values(40_000);
        assert_eq!(check(&[0], &[]), 0);
        assert_eq!(check(&offsets([0; 3000].into_iter()), &[]), 0);
        assert_eq!(check(&offsets((0..4000).map(|lane| lane * 7 % 11)), &values), 0);
        assert_eq!(check(&offsets((0..3000).map(|lane| usize::from(lane % 700 == 699))), &values), 0);
        assert_eq!(check(&offsets([BATCH, 1, BATCH - 1, 0, BATCH].into_iter()), &values), 0);
        assert_eq!(check(&offsets([3, BATCH + 1, 5, 5000, 0, 2].into_iter()), &values), 2);
        // With one sign the sum has its maximum magnitude.
        let alike: Vec<f64> = values.iter().map(|value| value.abs() * 0.5 + 0.5).collect();
        assert_eq!(check(&offsets([BATCH; 40].into_iter()), &alike), 0);
    }

    /// Tests that a block is passed to `slow` if a value is not finite, or too small relative to the largest value.
    #[test]
    fn blocks_that_integers_do_not_hold_are_left() {
        let offsets = offsets([8; 640].into_iter());
        for hostile in [1e300, 1e-300, 5e-324, f64::INFINITY, f64::NAN, f64::MAX, -1e17] {
            let mut values = values(5120);
            values[2000] = hostile;
            assert_eq!(check(&offsets, &values), BATCH / 8);
        }
        let mut values = values(5120);
        values.fill(-0.0);
        assert_eq!(check(&offsets, &values), 0);
    }

    #[test]
    fn the_lane_that_fails_is_named_by_its_number() {
        let slow = |offsets: &[usize], _: &mut [u8]| match offsets[0] {
            start @ 1024.. => Err(GroupError::Empty.of((2000 - start) / 2)),
            _ => Ok(()),
        };
        let offsets: Vec<usize> = (0..=1500).map(|lane| 2 * lane).collect();
        let found = sums_of_lanes(&offsets, &[1.0; 3000], &mut [0; 1500], |value| value, |_, _| None, slow);
        assert_eq!(found, Err(GroupError::Empty.of(1000)));
    }

    /// Tests that lanes without a result of `fast` are passed to `slow` one by one.
    #[test]
    fn lanes_that_are_not_told_quickly_leave_their_block_as_it_is() {
        let offsets = offsets((0..300).map(|lane| lane % 4));
        let (lanes, asked) = (offsets.windows(2).filter(|ends| ends[0] < ends[1]).count(), Cell::new(0));
        let fast = |_, size| (size != 2).then_some(size);
        let slow = |offsets: &[usize], results: &mut [usize]| {
            asked.set(asked.get() + results.len());
            assert_eq!((offsets.len(), offsets[1] - offsets[0]), (2, 2));
            results.copy_from_slice(&[20]);
            Ok(())
        };
        let mut results = vec![0; lanes];
        sums_of_lanes(&offsets, &[1.0; 450], &mut results, |value| value, fast, slow).unwrap();
        assert!(results.chunks(3).all(|sizes| sizes == [1, 20, 3]));
        assert_eq!(asked.get(), 75);
    }

    #[test]
    fn long_lanes_are_not_short() {
        assert!(are_short(&[0]) && are_short(&[5, 5]) && are_short(&[7, 7 + LONG]) && are_short(&[0, 0, 2 * LONG]));
        assert!(!are_short(&[7, 8 + LONG]));
    }
}
