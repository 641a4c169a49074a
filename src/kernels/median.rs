//! Medians and quantiles of groups of numbers, the position of the lower middle value, and their gradients.
//!
//! A median does not have a short accumulator: all values are needed until the ranks are known. If the unstored
//! positions count, the fill is a pivot. One pass counts the stored numbers below and above the fill. The counts
//! determine whether the value at a rank is below the fill, equal to the fill, or above the fill. For most sparse
//! groups, this pass is enough. If the value is below or above the fill, it is selected from the numbers of this side
//! only:
//!
//! ```text
//! rank     0 ...  below  ...  below + level + unstored  ...
//! value    stored < fill  |  fill, stored or not  |  stored > fill
//! ```
//!
//! Nothing is sorted, and unstored positions are never written to memory.

use crate::base::alloc::Allocated;
use crate::element::{Float, Real};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{GradientInputs, Group};
use crate::kernels::op::{GroupError, Outcome};
use crate::kernels::passes::Census;
use crate::kernels::passes::Pass;
use crate::kernels::rank::{RankPosition, Rule};
use crate::kernels::select::{FilterBuffer, Ranked, count, first_equal, ranked_in_lane, select_two, smaller};

/// The rule for the elements that receive the gradient of a median.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MedianGradient {
    /// All elements equal to a middle value, with equal weights.
    #[default]
    Spread,
    /// Only the elements at the middle ranks, ranked by value and then by position.
    First,
}

/// The value to compute for each group.
#[derive(Clone, Copy)]
pub(crate) struct MedianQuery {
    pub(crate) rule: Rule,
    /// True if NaNs are ignored; otherwise a NaN makes the result of its group NaN.
    pub(crate) skips_nan: bool,
}

/// The contribution of unstored positions to the order of a group.
impl<T: Real> Unstored<T> {
    /// Returns the fill and the number of unstored positions, if they exist and the fill is not NaN.
    fn numbers(&self, stored: usize) -> Option<(T, u128)> {
        let fill = self.fill.filter(|fill| !fill.isnan())?;
        Some((fill, self.count(stored))).filter(|(_, count)| *count > 0)
    }

    /// Returns the number of unstored positions whose value satisfies `is`.
    ///
    /// The sum with `stored` saturates at 2^64 - 1.
    fn count_numbers(&self, stored: usize, is: impl Fn(T) -> bool) -> u64 {
        let counted = self.numbers(stored).filter(|&(fill, _)| is(fill));
        counted.map_or(0, |(_, count)| count.min((u64::MAX - stored as u64).into()) as u64)
    }
}

impl<T: Real> Ranked<T> {
    fn value(&self) -> T::Median {
        self.place.value(self.lower.to_median(), self.upper.to_median())
    }
}

/// Returns the median of one value: the value itself, except for the sign of zero and the payload of NaN.
pub(crate) fn median_of_one<T: Real>(value: T) -> T::Median {
    value.to_median().midpoint_of(value.to_median())
}

impl MedianQuery {
    /// Returns the value of a group, or NaN for a group without a value.
    pub(crate) fn value<T: Real>(self, group: &Group<'_, T>, buffer: &mut FilterBuffer<T>) -> Outcome<T::Median> {
        Ok(self.ranked(group, buffer)?.map_or(T::Median::NAN, |ranked| ranked.value()))
    }

    /// Returns the value of a group that is streamed in several passes; `None` if a pass does not deliver all values.
    pub(crate) fn streamed<T: Real>(self, pass: &Pass<'_, T>, unstored: &Unstored<T>) -> Outcome<Option<T::Median>> {
        let Some(census) = Census::of(pass)? else { return Ok(None) };
        let stored = census.numbers.saturating_add(census.nans) as usize;
        let (implicit, fill) = (unstored.numbers(stored), unstored.fill);
        let is_fill_nan = fill.is_some_and(T::isnan) && unstored.count(stored) > 0;
        // The sum saturates: with at most 2^64 stored values, positions beyond `u128::MAX` do not change that the
        // middle rank is the fill.
        let numbers = implicit.map_or(0, |(_, count)| count).saturating_add(census.numbers.into());
        if numbers == 0 || !self.skips_nan && (is_fill_nan || census.nans > 0) {
            return Ok(Some(T::Median::NAN));
        }
        if implicit.is_some() && unstored.extent == u128::MAX && matches!(self.rule, Rule::At(..)) {
            return Err(GroupError::Uncountable);
        }
        let place = self.rule.place(numbers);
        let found = census.at([place.low, place.high], implicit, pass)?;
        Ok(found.map(|[low, high]| place.value(low.to_median(), high.to_median())))
    }

    /// Returns the values at the ranks, if the group has numbers; `buffer` is working memory for selection.
    fn ranked<T: Real>(self, group: &Group<'_, T>, buffer: &mut FilterBuffer<T>) -> Outcome<Option<Ranked<T>>> {
        let Group { stored, unstored, .. } = group;
        let is_fill_nan = unstored.fill.is_some_and(T::isnan) && unstored.count(stored.len()) > 0;
        // Without `skips_nan`, a group with a NaN, stored or as the fill, does not have a value.
        if !self.skips_nan && (is_fill_nan || count(stored, T::isnan) > 0) {
            return Ok(None);
        }
        Ok(match unstored.numbers(stored.len()) {
            None => ranked_in_lane(stored, self.rule, buffer)?,
            // If the number of positions does not fit in `u128`, the middle rank is the fill, because less than half of
            // the values are stored.
            Some(_) if unstored.extent == u128::MAX && matches!(self.rule, Rule::At(..)) => {
                return Err(GroupError::Uncountable);
            }
            Some((fill, unstored_count)) => Some(ranked_about(stored, fill, unstored_count, self.rule, buffer)?),
        })
    }
}

/// Returns the values at the ranks of a group with `unstored` positions that hold the number `fill`.
fn ranked_about<T: Real>(
    stored: &[T],
    fill: T,
    unstored_count: u128,
    rule: Rule,
    buffer: &mut FilterBuffer<T>,
) -> Allocated<Ranked<T>> {
    // NaN fails all three tests, so the three counts sum to the stored numbers.
    let below = count(stored, |value| value < fill);
    let above = count(stored, |value| value > fill);
    let level = count(stored, |value| value == fill);
    // Ranks `start..end` have the value of the fill: stored values equal to the fill, and all unstored positions.
    let (start, end) = (below as u128, below as u128 + level as u128 + unstored_count);
    let place = rule.place(end + above as u128);
    let RankPosition { low, high, .. } = place;
    let (lower, upper) = if high < start {
        select_two(buffer.refill(stored, |value| value < fill)?, low as usize, high as usize)
    } else if low >= end {
        select_two(buffer.refill(stored, |value| value > fill)?, (low - end) as usize, (high - end) as usize)
    } else {
        // The two ranks are neighbours, and one rank is in `start..end`. The other rank is in this range or next to it.
        let values = stored.iter().copied();
        let below = || values.clone().filter(|&value| value < fill).reduce(greater);
        let above = || values.clone().filter(|&value| value > fill).reduce(smaller);
        // Rank `start - 1` is the maximum below the fill, and rank `end` is the minimum above the fill.
        let lower = if low < start { below() } else { None };
        let upper = if high >= end { above() } else { None };
        (lower.unwrap_or(fill), upper.unwrap_or(fill))
    };
    Ok(Ranked { lower, upper, place })
}

fn greater<T: Real>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

impl<T: Real> Group<'_, T> {
    /// Returns the median and the position of the first element equal to the lower middle value, `u64::MAX` if this
    /// element does not exist.
    pub(crate) fn median_and_position(
        &self,
        query: MedianQuery,
        buffer: &mut FilterBuffer<T>,
    ) -> Outcome<(T::Median, u64)> {
        Ok(match query.ranked(self, buffer)? {
            None => (T::Median::NAN, u64::MAX),
            Some(middles) => (middles.value(), self.first_equal(middles.lower)),
        })
    }

    /// Returns the position of the first element equal to `value`, which the group contains.
    fn first_equal(&self, value: T) -> u64 {
        let stored = first_equal(self.stored, value).map_or(u64::MAX, |within| self.place(within));
        let implicit = if self.unstored_equal_to(value) > 0 { self.first_unstored() } else { u64::MAX };
        stored.min(implicit)
    }

    /// Returns the first unstored position: entries before this position are at positions 0, 1, 2 and so on.
    pub(crate) fn first_unstored(&self) -> u64 {
        let (mut packed, mut end) = (0, self.stored.len());
        // Invariant: the position of each of the first `packed` entries equals its index, and this does not hold from
        // `end` on.
        while packed < end {
            let within = packed + (end - packed) / 2;
            match self.place(within) == within as u64 {
                true => packed = within + 1,
                false => end = within,
            }
        }
        packed as u64
    }

    /// Returns the weights of the gradient per element; the weight of an unstored position is dropped.
    pub(crate) fn shares(&self, rule: MedianGradientRule, buffer: &mut FilterBuffer<T>) -> Outcome<RankWeights<T>> {
        let MedianGradientRule { query, rule, spread_nan } = rule;
        let Some(Ranked { lower, upper, place }) = query.ranked(self, buffer)? else {
            // The group does not have a value: its gradient is lost, or divided among all its positions.
            let positions = u64::try_from(self.unstored.positions(self.stored.len())).unwrap_or(u64::MAX);
            let (receivers, number) =
                if spread_nan { (Receivers::All, positions) } else { (Receivers::Ranked, NO_RECEIVERS) };
            return Ok(RankWeights { receivers, values: [T::ZERO; 2], numbers: [number; 2], parts: [1.0; 2] });
        };
        // Under `Spread`, equal middle values have one set of receivers, so their weights sum to 1.
        let are_two = place.weight > 0.0 && (rule == MedianGradient::First || lower != upper);
        let number = |value: T, rank: u128| match rule {
            MedianGradient::Spread => self.count_equal(value),
            MedianGradient::First => self.at_rank(value, rank as u64),
        };
        let low = number(lower, place.low);
        let receivers = match rule {
            MedianGradient::Spread => Receivers::Equal,
            MedianGradient::First => Receivers::Ranked,
        };
        Ok(match are_two {
            true => {
                let parts = [1.0 - place.weight, place.weight];
                RankWeights { receivers, values: [lower, upper], numbers: [low, number(upper, place.high)], parts }
            }
            false => RankWeights { receivers, values: [lower; 2], numbers: [low; 2], parts: [1.0; 2] },
        })
    }

    fn unstored_equal_to(&self, value: T) -> u64 {
        self.unstored.count_numbers(self.stored.len(), |fill| fill == value)
    }

    /// Returns the number of elements equal to `value`.
    fn count_equal(&self, value: T) -> u64 {
        count(self.stored, |element| element == value) as u64 + self.unstored_equal_to(value)
    }

    /// Returns the index of the stored element at `rank`, ordered by value and position, where `value` is its value.
    ///
    /// Returns `NO_RECEIVERS` if the element at `rank` is unstored. The number of unstored positions before an entry is
    /// its position minus its index.
    fn at_rank(&self, value: T, rank: u64) -> u64 {
        let unstored_below = self.unstored.count_numbers(self.stored.len(), |fill| fill < value);
        let below = count(self.stored, |element| element < value) as u64 + unstored_below;
        let is_fill_equal = self.unstored_equal_to(value) > 0;
        let equal = self.stored.iter().enumerate().filter(|&(_, &element)| element == value);
        // Ranks increase with the index, so only the first rank that is not below `rank` can equal `rank`.
        let mut ranked = equal.enumerate().map(|(equal_before, (within, _))| {
            let unstored_before = if is_fill_equal { self.place(within) - within as u64 } else { 0 };
            (below + equal_before as u64 + unstored_before, within)
        });
        match ranked.find(|&(candidate, _)| candidate >= rank) {
            Some((found, within)) if found == rank => within as u64,
            _ => NO_RECEIVERS,
        }
    }
}

/// The index of no element.
const NO_RECEIVERS: u64 = u64::MAX;

/// The rule for dividing the gradient of a median or quantile among elements.
#[derive(Clone, Copy)]
pub(crate) struct MedianGradientRule {
    pub(crate) query: MedianQuery,
    pub(crate) rule: MedianGradient,
    /// True if the elements of a group without a number divide its gradient; otherwise the gradient is lost.
    pub(crate) spread_nan: bool,
}

/// The elements of a group that receive a part of its gradient.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Receivers {
    /// The elements that equal a middle value from which the result is computed.
    Equal,
    /// The elements at the ranks.
    Ranked,
    All,
}

/// The weights of the gradient of a group, in one part or two; `receivers` selects the elements of each part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankWeights<T> {
    receivers: Receivers,
    values: [T; 2],
    /// For each part, the number of elements that divide the part; for [`Receivers::Ranked`], the index of the
    /// receiver.
    numbers: [u64; 2],
    /// The weight of each part; a single part is stored twice.
    parts: [f64; 2],
}

impl<T: Real> RankWeights<T> {
    /// Returns whether an element equal to `value` may receive a part, without a branch.
    fn concerns(&self, value: T) -> bool {
        (value == self.values[0]) | (value == self.values[1]) | (self.receivers == Receivers::All)
    }

    /// Returns the gradient of the element at index `within` with the given `value`, from the gradient of its group.
    pub(crate) fn of<G: Float>(&self, within: usize, value: T, gradient: G) -> Option<G> {
        match self.receivers {
            Receivers::Equal => {
                let receives = self.values.iter().position(|&middle| value == middle);
                receives.map(|which| gradient.share(self.parts[which], self.numbers[which]))
            }
            Receivers::Ranked => {
                let receives = self.numbers.iter().position(|&number| number == within as u64);
                receives.map(|which| gradient.share(self.parts[which], 1))
            }
            Receivers::All => Some(gradient.share(1.0, self.numbers[0])),
        }
    }
}

/// Writes the gradients of `values`. Elements that do not receive a gradient keep the value in `received`.
pub(crate) fn write_gradients<T: Real, G: Float>(
    values: &[T],
    received: &mut [G],
    inputs: &GradientInputs<'_, RankWeights<T>, G>,
) {
    const BLOCK: usize = 64;
    let blocks = values.chunks(BLOCK).zip(received.chunks_mut(BLOCK)).zip((0..).step_by(BLOCK));
    for ((values, received), start) in blocks {
        // Most blocks do not contain a middle value. A branch per value would be mispredicted at every second NaN.
        let concerns = |any, (at, &value): (usize, &T)| any | inputs.at(start + at).0.concerns(value);
        if !values.iter().enumerate().fold(false, concerns) {
            continue;
        }
        for (at, (&value, item)) in values.iter().zip(received).enumerate() {
            let (shares, within, gradient) = inputs.at(start + at);
            if let Some(share) = shares.of(within, value, gradient) {
                *item = share;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rank::EvenCount;

    fn median(stored: &[f64], fill: f64, extent: u128) -> f64 {
        let unstored = Unstored { fill: Some(fill), extent };
        let query = MedianQuery { rule: Rule::Middle(EvenCount::Mean), skips_nan: true };
        query.value(&Group { stored, unstored, position: &|_| 0 }, &mut FilterBuffer::new()).unwrap()
    }

    #[test]
    fn the_fill_is_a_pivot_with_two_sides_and_two_edges() {
        assert_eq!(median(&[-3.0, -2.0, -1.0], 0.0, 4), -1.5); // both below
        assert_eq!(median(&[-3.0, -2.0, -1.0, 5.0, 6.0], 0.0, 6), -0.5); // one below, one level
        assert_eq!(median(&[-3.0, 0.0, 5.0], 0.0, 5), 0.0); // both level
        assert_eq!(median(&[-3.0, 3.0, 5.0], 0.0, 4), 1.5); // one level, one above
        assert_eq!(median(&[4.0, 3.0, 5.0], 0.0, 4), 3.5); // both above
        assert_eq!(median(&[4.0, f64::NAN, -5.0], f64::NAN, 9), -0.5); // no pivot
        assert_eq!(median(&[1.0; 3], 0.0, u64::MAX.into()), 0.0);
        assert_eq!(median(&[1.0; 3], 0.0, u128::MAX), 0.0);
    }

    #[test]
    fn the_first_gap_is_found_by_bisection() {
        let first_unstored = |positions: &[u128]| {
            let position = |within: usize| positions[within];
            let unstored = Unstored { fill: Some(1), extent: 100 };
            Group { stored: &vec![1; positions.len()], unstored, position: &position }.first_unstored()
        };
        assert_eq!(first_unstored(&[]), 0);
        assert_eq!(first_unstored(&[1, 2]), 0);
        assert_eq!(first_unstored(&[0, 1, 3, 4]), 2);
        assert_eq!(first_unstored(&[0, 1, 2, 3]), 4);
    }
}
