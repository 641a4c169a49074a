//! Selection of the values at one rank, or at two neighbouring ranks, among numbers and NaNs.
//!
//! A long lane is not partitioned. A sample of its values is ranked. Two sampled values, a few ranks below and above
//! the expected rank, form a bracket around the wanted value. One pass counts the numbers and the values not above the
//! lower end of the bracket. The same pass copies the values inside the bracket, among which the value is selected. If
//! the bracket misses the value, one more pass copies the values on the missed side:
//!
//! ```text
//! rank   0 ... below ... | low, repeated | ... within ... | high, repeated | ... above ...
//! ```
//!
//! Passes do not branch on values. The kept values are selected by words of 64 test results. The result equals the
//! result of a full sort for every sample.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Real;
use crate::kernels::bits::{self, BITS};
use crate::kernels::rank::{RankPosition, Rule};

/// The smallest length of a lane that is sampled. For shorter lanes, a sample would cost as much time as it saves.
const SAMPLED: usize = 200;

/// Lanes of at least this length use a wider margin: about one bracket in 10^4 misses the value, instead of one in 20.
/// The sample of a long lane is larger, so that the bracket is still narrow: 3 % of 10^7 values.
const LONG: usize = 1 << 16;

/// The number of values filtered at a time; they stay in the L1 cache between counting and copying.
const BLOCK: usize = 1 << 10;

/// Numbers are rare if fewer than one value in `RARE` is a number.
const RARE: usize = 4;

/// The smallest number of values that are counted with SIMD. Fewer values are counted one by one.
const FEW: usize = 32;

/// The values at one or two ranks.
pub(crate) struct Ranked<T> {
    pub(crate) lower: T,
    pub(crate) upper: T,
    pub(crate) place: RankPosition,
}

/// A reusable buffer of values that pass a filter; its allocation grows to the largest number of values.
pub(crate) struct FilterBuffer<T> {
    values: Vec<T>,
    kept: usize,
}

impl<T: Real> FilterBuffer<T> {
    pub(crate) fn new() -> Self {
        FilterBuffer { values: Vec::new(), kept: 0 }
    }

    /// Appends the values that `keep` accepts to the values kept before.
    ///
    /// Each value is written, and the end advances only for kept values. A branch would be mispredicted too often.
    fn extend(&mut self, values: impl ExactSizeIterator<Item = T>, keep: impl Fn(T) -> bool) -> Allocated<()> {
        let free = self.free(values.len())?;
        // Invariant: `kept` is at most the number of values visited, so the write is in bounds.
        let mut kept = 0;
        for value in values {
            free[kept] = value;
            kept += usize::from(keep(value));
        }
        self.kept += kept;
        Ok(())
    }

    /// Replaces the kept values with the values that `keep` accepts, and returns them.
    pub(crate) fn refill(&mut self, values: &[T], keep: impl Fn(T) -> bool) -> Allocated<&mut [T]> {
        self.kept = 0;
        // Blocks limit the allocation if few values are kept.
        values.chunks(BLOCK).try_for_each(|block| self.extend(block.iter().copied(), &keep))?;
        Ok(self.kept())
    }

    /// [`refill`](FilterBuffer::refill) for few kept values: only kept values are written.
    fn refill_rare(&mut self, values: &[T], keep: impl Fn(T) -> bool + Copy) -> Allocated<&mut [T]> {
        self.kept = 0;
        self.extend_rare(values, keep)?;
        Ok(self.kept())
    }

    /// [`extend`](FilterBuffer::extend) for few kept values.
    fn extend_rare(&mut self, values: &[T], keep: impl Fn(T) -> bool + Copy) -> Allocated<()> {
        for block in values.chunks(BITS) {
            let word = in_wide_vectors(
                #[inline(always)]
                || bits::bitmask(block, keep),
            );
            // Most words are zero, so this branch is predictable.
            if word != 0 {
                let free = self.free(block.len())?;
                free.iter_mut().zip(bits::ones(word)).for_each(|(slot, at)| *slot = block[at]);
                self.kept += word.count_ones() as usize;
            }
        }
        Ok(())
    }

    /// Returns space for `count` values after the kept values.
    fn free(&mut self, count: usize) -> Allocated<&mut [T]> {
        let end = self.kept + count;
        if self.values.len() < end {
            let missing = end - self.values.len();
            alloc::reserve(&mut self.values, missing)?;
            self.values.resize(end, T::ZERO);
        }
        Ok(&mut self.values[self.kept..end])
    }

    fn kept(&mut self) -> &mut [T] {
        &mut self.values[..self.kept]
    }
}

/// Returns the values of a lane at the ranks of a rule, or `None` for a lane without numbers.
pub(crate) fn ranked_in_lane<T: Real>(
    lane: &[T],
    rule: Rule,
    buffer: &mut FilterBuffer<T>,
) -> Allocated<Option<Ranked<T>>> {
    let bracket = if lane.len() < SAMPLED { Bracket::Unknown } else { bracket(lane, rule.part(), buffer)? };
    let (low, high) = match bracket {
        Bracket::Ends(low, high) => (low, high),
        Bracket::Unknown => return Ok(ranked_of_numbers(buffer.refill(lane, |value| !value.isnan())?, rule)),
        Bracket::Rare => return Ok(ranked_of_numbers(buffer.refill_rare(lane, |value| !value.isnan())?, rule)),
    };
    let Counts { to_low, numbers } = filter_in_parts(lane, low, high, buffer)?;
    if numbers == 0 {
        return Ok(None);
    }
    let place = rule.place(numbers as u128);
    let mut filtered = FilteredLane { lane, low, high, to_low, buffer };
    // The second rank may be outside the range that holds the first; then it is selected separately.
    let (lower, upper) = filtered.at_ranks(place.low as usize, place.high as usize)?;
    let upper = match upper {
        Some(upper) => upper,
        None => filtered.at_ranks(place.high as usize, place.high as usize)?.0,
    };
    Ok(Some(Ranked { lower, upper, place }))
}

/// Returns the values of `numbers` at the ranks of a rule. No value may be NaN. The order of `numbers` changes.
fn ranked_of_numbers<T: Real>(numbers: &mut [T], rule: Rule) -> Option<Ranked<T>> {
    if numbers.is_empty() {
        return None;
    }
    let place = rule.place(numbers.len() as u128);
    let (lower, upper) = select_two(numbers, place.low as usize, place.high as usize);
    Some(Ranked { lower, upper, place })
}

/// Returns the numbers at rank `low` and at rank `high`, which is `low` or `low + 1`.
pub(crate) fn select_two<T: Real>(numbers: &mut [T], low: usize, high: usize) -> (T, T) {
    let (_, &mut lower, rest) = numbers.select_nth_unstable_by(low, |a, b| a.order(*b));
    // After the selection all numbers of higher rank are in `rest`, and the smallest has rank `low + 1`.
    let next = if high == low { None } else { rest.iter().copied().reduce(smaller) };
    (lower, next.unwrap_or(lower))
}

pub(crate) fn smaller<T: Real>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// The result of sampling a lane.
enum Bracket<T> {
    /// Two values. The wanted values are very probably between these two values, or equal to them.
    Ends(T, T),
    /// Fewer than one value in [`RARE`] is a number.
    Rare,
    /// No information.
    Unknown,
}

fn bracket<T: Real>(lane: &[T], part: f64, buffer: &mut FilterBuffer<T>) -> Allocated<Bracket<T>> {
    let is_long = lane.len() >= LONG;
    let draws = lane.len().isqrt() * if is_long { 8 } else { 1 };
    let stride = lane.len() / draws;
    // One value is read per stretch of the lane, at an offset from a fixed pseudo-random sequence. A periodic lane
    // therefore cannot distort the sample.
    let within = |draw: usize| ((u64::from((draw as u32).wrapping_mul(0x9e37_79b9)) * stride as u64) >> 32) as usize;
    // `within` is below `stride`, so each draw is inside its own stretch and inside the lane.
    buffer.kept = 0;
    buffer.extend((0..draws).map(|draw| lane[draw * stride + within(draw)]), |value| !value.isnan())?;
    let sample = buffer.kept();
    if sample.len() * RARE < draws {
        return Ok(Bracket::Rare);
    }
    // The standard deviation of the rank in the sample is at most half the square root of the sample size.
    let margin = sample.len().isqrt() * if is_long { 2 } else { 1 };
    if sample.len() <= 2 * margin {
        return Ok(Bracket::Unknown);
    }
    let last = sample.len() - 1;
    let middle = ((sample.len() as f64 * part) as usize).min(last);
    let (low, high) = (middle.saturating_sub(margin), (middle + margin).min(last));
    let (below, &mut high, _) = sample.select_nth_unstable_by(high, |a, b| a.order(*b));
    // The margin is at least 1, so `low` is before `high` and inside `below`.
    let (_, &mut low, _) = below.select_nth_unstable_by(low, |a, b| a.order(*b));
    Ok(Bracket::Ends(low, high))
}

/// The number of numbers in a lane, and of numbers not above the lower end of a bracket.
#[derive(Clone, Copy, Default)]
struct Counts {
    to_low: usize,
    numbers: usize,
}

/// Counts the values of a lane, and keeps the values strictly between `low` and `high`.
fn filter_bracket<T: Real>(lane: &[T], low: T, high: T, buffer: &mut FilterBuffer<T>) -> Allocated<Counts> {
    let mut counts = Counts::default();
    // Each block is read three times while it is in the L1 cache.
    for block in lane.chunks(BLOCK) {
        counts.to_low += count_in_block(block, |value| value <= low);
        counts.numbers += count_in_block(block, |value| !value.isnan());
        buffer.extend_rare(block, |value| (low < value) & (value < high))?;
    }
    Ok(counts)
}

/// Returns the number of values of a block that `is` accepts.
///
/// The counters have the width of the values, so a SIMD register of values matches a register of counters.
fn count_in_block<T: Real>(block: &[T], is: impl Fn(T) -> bool) -> usize {
    in_wide_vectors(
        #[inline(always)]
        || match size_of::<T>() {
            8 => block.iter().map(|&value| u64::from(is(value))).sum::<u64>() as usize,
            // A block has at most `BLOCK` values, so a 32-bit count cannot overflow.
            _ => block.iter().map(|&value| u32::from(is(value))).sum::<u32>() as usize,
        },
    )
}

/// Returns the number of values of a lane that `is` accepts.
pub(crate) fn count<T: Real>(lane: &[T], is: impl Fn(T) -> bool + Sync + Send) -> usize {
    // Parallel execution and SIMD have a fixed cost that is too high for short lanes.
    if lane.len() < FEW {
        return lane.iter().map(|&value| usize::from(is(value))).sum();
    }
    let blocks = |part: Range<usize>| lane[part].chunks(BLOCK).map(|block| count_in_block(block, &is)).sum::<usize>();
    threads::map_parts(lane.len(), 500, 0, blocks).into_iter().sum()
}

/// Returns the first index in a lane with `value`, found block by block without a branch per value.
pub(crate) fn first_equal<T: Real>(lane: &[T], value: T) -> Option<usize> {
    const BLOCK: usize = 64;
    let start = lane.chunks(BLOCK).position(|block| count_in_block(block, |other| other == value) > 0)? * BLOCK;
    let within = lane[start..].iter().position(|&other| other == value)?;
    Some(start + within)
}

/// [`filter_bracket`], in parallel for long lanes.
fn filter_in_parts<T: Real>(lane: &[T], low: T, high: T, buffer: &mut FilterBuffer<T>) -> Allocated<Counts> {
    buffer.kept = 0;
    if lane.len() < LONG {
        return filter_bracket(lane, low, high, buffer);
    }
    let parts = threads::map_parts(lane.len(), 1000, 0, |part| {
        let mut own = FilterBuffer::new();
        Ok((filter_bracket(&lane[part], low, high, &mut own)?, own))
    });
    // Counts are sums and the kept values are selected by rank, so the number of parts does not matter.
    let mut counts = Counts::default();
    for part in parts {
        let (part, mut own) = part?;
        counts.to_low += part.to_low;
        counts.numbers += part.numbers;
        buffer.extend(own.kept().iter().copied(), |_| true)?;
    }
    Ok(counts)
}

/// A lane filtered with a bracket; `buffer` holds the values strictly between its ends.
struct FilteredLane<'a, T> {
    lane: &'a [T],
    low: T,
    high: T,
    to_low: usize,
    buffer: &'a mut FilterBuffer<T>,
}

impl<T: Real> FilteredLane<'_, T> {
    /// Returns the numbers at the ranks `first` and `second`. `second` must be `first` or `first + 1`.
    ///
    /// The second number is `None` if it is in another range of the sorted lane. The two ends of the bracket are values
    /// of the lane. The kept values are overwritten only if no later call needs them.
    fn at_ranks(&mut self, first: usize, second: usize) -> Allocated<(T, Option<T>)> {
        let (low, high) = (self.low, self.high);
        // Sorted lane: values below `low`, `low` repeated, kept values, `high` repeated, values above `high`.
        let to_within = self.to_low + self.buffer.kept;
        Ok(if first < self.to_low {
            // Ranks `below..to_low` have the value `low`.
            let below = count(self.lane, |value| value < low);
            match first < below {
                true => select_in(self.buffer.refill(self.lane, |value| value < low)?, first, second),
                false => (low, (second < self.to_low).then_some(low)),
            }
        } else if first < to_within {
            select_in(self.buffer.kept(), first - self.to_low, second - self.to_low)
        } else {
            let to_high = count(self.lane, |value| value <= high);
            match first < to_high {
                true => (high, (second < to_high).then_some(high)),
                false => {
                    let above = self.buffer.refill(self.lane, |value| value > high)?;
                    select_in(above, first - to_high, second - to_high)
                }
            }
        })
    }
}

/// [`select_two`] for a rank `second` that may be past the end.
fn select_in<T: Real>(numbers: &mut [T], first: usize, second: usize) -> (T, Option<T>) {
    let last = second.min(numbers.len() - 1);
    let (lower, upper) = select_two(numbers, first, last);
    (lower, (second == last).then_some(upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rank::QuantileMethod;

    /// Returns pseudo-random numbers, the same in every run.
    fn noise(count: usize) -> impl Iterator<Item = u64> {
        let mut state = 88_172_645_463_325_252u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 20
        };
        (0..count).map(move |_| next())
    }

    fn sorted_numbers<T: Real>(lane: &[T]) -> Vec<T> {
        let mut numbers: Vec<T> = lane.iter().copied().filter(|value| !value.isnan()).collect();
        numbers.sort_by(|a, b| a.order(*b));
        numbers
    }

    /// Checks the middle values, and values at and near both ends.
    #[track_caller]
    fn check<T: Real>(lane: &[T], buffer: &mut FilterBuffer<T>) {
        let numbers = sorted_numbers(lane);
        for part in [0.0, 0.01, 0.5, 0.93, 1.0] {
            let rule = Rule::At(part, QuantileMethod::Linear);
            let Some(Ranked { lower, upper, place }) = ranked_in_lane(lane, rule, buffer).unwrap() else {
                return assert!(numbers.is_empty());
            };
            assert_eq!(place, rule.place(numbers.len() as u128));
            assert_eq!((lower, upper), (numbers[place.low as usize], numbers[place.high as usize]));
        }
    }

    /// Checks lanes of one length, with one to many distinct values, with no, some, most and only NaNs, sorted and
    /// unsorted.
    fn check_lanes_of(length: usize) {
        let (mut buffer, mut narrow) = (FilterBuffer::new(), FilterBuffer::new());
        for distinct in [1, 2, 3, 20, 1 << 40] {
            for nans in [0, 10, 50, 99, 100] {
                let one = |bits: u64| if bits / 7 % 100 < nans { f64::NAN } else { (bits % distinct) as f64 - 1.0 };
                let mut lane: Vec<f64> = noise(length).map(one).collect();
                check(&lane, &mut buffer);
                check(&lane.iter().map(|&value| value as f32).collect::<Vec<f32>>(), &mut narrow);
                lane.sort_by(f64::total_cmp);
                check(&lane, &mut buffer);
                lane.reverse();
                check(&lane, &mut buffer);
            }
        }
        check(&noise(length).map(|bits| bits as u8).collect::<Vec<u8>>(), &mut FilterBuffer::new());
        check(&noise(length).map(|bits| bits as i64).collect::<Vec<i64>>(), &mut FilterBuffer::new());
        check(&noise(length).map(|bits| bits % 3 == 0).collect::<Vec<bool>>(), &mut FilterBuffer::new());
    }

    #[test]
    fn lanes_of_every_length_have_the_middle_values_of_a_sort() {
        (0..40).for_each(check_lanes_of);
        [SAMPLED - 1, SAMPLED, SAMPLED + 1, 999, 1000, BLOCK, 2 * BLOCK + 1, 5000].into_iter().for_each(check_lanes_of);
    }

    #[test]
    fn long_lanes_and_shared_ones_have_the_middle_values_of_a_sort() {
        [LONG - 1, LONG, 2 * LONG + 3].into_iter().for_each(check_lanes_of);
        let lane: Vec<f64> = noise(10 * LONG).map(|bits| if bits % 9 == 0 { f64::NAN } else { bits as f64 }).collect();
        check(&lane, &mut FilterBuffer::new());
    }

    #[test]
    fn lanes_of_rare_numbers_have_the_middle_values_of_a_sort() {
        for length in [SAMPLED, 1000, 5000, LONG + 3] {
            for every in [RARE - 1, RARE + 1, 40, 3 * length] {
                let lane = noise(length).enumerate();
                let lane = lane.map(|(at, bits)| if at % every == every / 2 { bits as f64 } else { f64::NAN });
                check(&lane.collect::<Vec<_>>(), &mut FilterBuffer::new());
            }
        }
    }

    /// Tests lanes whose sampled values are all larger, or all smaller, than the other values, so the bracket misses
    /// the wanted value.
    #[test]
    fn a_bracket_that_misses_costs_time_only() {
        for length in [1000, LONG + 7] {
            for (drawn, others) in [(1e9, 0.0), (-1e9, 0.0)] {
                let mut lane: Vec<f64> = noise(length).map(|bits| (bits % 100_000) as f64 + others).collect();
                let mut at: Vec<f64> = (0..length).map(|place| place as f64).collect();
                let places = bracket_places(&mut at);
                places.iter().for_each(|&place| lane[place] += drawn);
                let Bracket::Ends(low, high) = bracket(&lane, 0.5, &mut FilterBuffer::new()).unwrap() else {
                    panic!("a full lane")
                };
                let middle = sorted_numbers(&lane)[length / 2];
                assert!(middle < low || middle > high);
                check(&lane, &mut FilterBuffer::new());
                lane.pop();
                check(&lane, &mut FilterBuffer::new());
            }
        }
    }

    /// Returns the sampled positions of a lane whose values are their positions.
    fn bracket_places(lane: &mut [f64]) -> Vec<usize> {
        let mut buffer = FilterBuffer::new();
        bracket(lane, 0.5, &mut buffer).unwrap();
        buffer.kept().iter().map(|&place| place as usize).collect()
    }

    #[test]
    fn every_rank_is_found_with_every_bracket() {
        let nan = f64::NAN;
        let lane = [3.0, 1.0, nan, 4.0, 1.0, 5.0, 9.0, nan, 2.0, 6.0, 5.0, 3.0, 5.0, -0.0, 0.0, 9.0];
        let numbers = sorted_numbers(&lane);
        for (at, &low) in numbers.iter().enumerate() {
            for &high in &numbers[at..] {
                for rank in 0..numbers.len() {
                    for next in [rank, rank + 1] {
                        let mut buffer = FilterBuffer::new();
                        let counts = filter_in_parts(&lane, low, high, &mut buffer).unwrap();
                        assert_eq!(counts.numbers, numbers.len());
                        let mut filtered =
                            FilteredLane { lane: &lane, low, high, to_low: counts.to_low, buffer: &mut buffer };
                        let (lower, upper) = filtered.at_ranks(rank, next).unwrap();
                        assert_eq!(lower, numbers[rank]);
                        if let Some(&expected) = numbers.get(next) {
                            assert_eq!(upper.unwrap_or_else(|| filtered.at_ranks(next, next).unwrap().0), expected);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_sieve_keeps_what_passes_and_nothing_before() {
        let mut buffer = FilterBuffer::new();
        assert_eq!(buffer.refill(&[1, 2, 3, 4], |value| value % 2 == 0).unwrap(), [2, 4]);
        assert_eq!(buffer.refill(&[5, 6], |_| true).unwrap(), [5, 6]);
        buffer.extend([7, 8, 9].into_iter(), |value| value > 7).unwrap();
        assert_eq!(buffer.kept(), [5, 6, 8, 9]);
        assert!(buffer.refill(&[], |_| true).unwrap().is_empty());
    }

    #[test]
    fn the_first_of_equal_values_is_found_in_any_block() {
        let mut lane = vec![f64::NAN; 300];
        assert_eq!(first_equal(&lane, 0.0), None);
        for place in [299, 128, 127, 64, 63, 0] {
            lane[place] = -0.0;
            assert_eq!(first_equal(&lane, 0.0), Some(place));
        }
        assert_eq!(count(&lane, |value| value == 0.0), 6);
        assert_eq!(count(&vec![1u8; 5 * LONG], |value| value == 1), 5 * LONG);
    }

    /// Tests the bracket itself. A bracket that misses the middle, or contains most of the lane, costs a second pass
    /// but does not change the result, so other tests do not detect it.
    #[test]
    fn brackets_are_narrow_and_hold_the_middle() {
        let mut buffer = FilterBuffer::new();
        for length in [SAMPLED, 1000, LONG - 1, LONG, 10 * LONG] {
            let (draws, deviations) = if length < LONG { (1, 2.0) } else { (8, 4.0) };
            let draws = length.isqrt() * draws;
            let share = deviations / (draws as f64).sqrt();
            let rising: Vec<f64> = (0..length).map(|at| at as f64).collect();
            let random: Vec<f64> = noise(length).map(|bits| bits as f64).collect();
            // The period equals the stride of the sample, so the first values of all stretches are equal.
            let stride = length / draws;
            let periodic: Vec<f64> = (0..length).map(|at| (at % stride) as f64 + at as f64 * 1e-9).collect();
            for lane in [rising, random, periodic] {
                let numbers = sorted_numbers(&lane);
                let Bracket::Ends(low, high) = bracket(&lane, 0.5, &mut buffer).unwrap() else { panic!("a full lane") };
                let within = lane.iter().filter(|&&value| low <= value && value <= high).count() as f64;
                let expected = share * length as f64;
                assert!(low <= numbers[(length - 1) / 2] && numbers[length / 2] <= high, "{length}: {low} {high}");
                assert!((0.4 * expected..2.5 * expected).contains(&within), "{length}: {within} of {expected}");
            }
        }
    }
}
