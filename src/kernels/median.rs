//! Medians and quantiles of groups of numbers, where the first middle value stands, and the gradient that stands beside
//! them.
//!
//! The partial form: the state is the values met so far; a value updates it by joining them; two states merge by
//! concatenation; the finish leaves the NaNs out and selects the values at two ranks. Nothing shorter decides a median,
//! but where a fill counts it is a pivot that comes for free: one pass counts the stored numbers below and above it,
//! which says on which side of it such a value stands, or that it is the fill itself, as it is in most sparse
//! groups. Only a value inside one side costs a selection, and that of the numbers of this side only:
//!
//! ```text
//! rank     0 ...  below  ...  below + level + gaps  ...
//! value    stored < fill  |  fill, stored or not  |  stored > fill
//! ```
//!
//! Nothing is sorted, and a position that is not stored is never written out.

use crate::base::alloc::Allocated;
use crate::element::{Float, Real};
use crate::kernels::fed::Pass;
use crate::kernels::group::Gaps;
use crate::kernels::holistic::{Given, Group};
use crate::kernels::op::{Fault, Outcome};
use crate::kernels::passes::Census;
use crate::kernels::rank::{Place, Rule};
use crate::kernels::select::{Ranked, Sieve, count, first_equal, ranked_in_lane, select_two, smaller};

/// Who receives the gradient of a median.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MedianGradient {
    /// All elements equal to a middle value, in equal shares.
    #[default]
    Spread,
    /// The elements at the middle ranks only, ranked by value and then by position.
    First,
}

/// What is asked of each group.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    pub(crate) rule: Rule,
    /// Whether NaNs are left out; else one leaves a group without a value.
    pub(crate) skips_nan: bool,
}

/// What the gaps of a group add to the order of its elements.
impl<T: Real> Gaps<T> {
    /// The number that the gaps beside `stored` entries hold, and how many they are.
    fn numbers(&self, stored: usize) -> Option<(T, u128)> {
        let fill = self.fill.filter(|fill| !fill.isnan())?;
        Some((fill, self.count(stored))).filter(|(_, count)| *count > 0)
    }

    /// How many gaps beside `stored` entries hold a number for which `is` holds; with those no more than 2^64 - 1.
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

/// The median of one value: itself, but for the sign of zero and the payload of NaN.
pub(crate) fn median_of_one<T: Real>(value: T) -> T::Median {
    value.to_median().midpoint_of(value.to_median())
}

impl Question {
    /// The value of a group, NaN where there is none.
    pub(crate) fn value<T: Real>(self, group: &Group<'_, T>, sieve: &mut Sieve<T>) -> Outcome<T::Median> {
        Ok(self.ranked(group, sieve)?.map_or(T::Median::NAN, |ranked| ranked.value()))
    }

    /// The value of a group whose values come anew for each pass; none where one is missing.
    pub(crate) fn poured<T: Real>(self, pass: &Pass<'_, T>, gaps: &Gaps<T>) -> Outcome<Option<T::Median>> {
        let Some(census) = Census::of(pass)? else { return Ok(None) };
        let stored = census.numbers.saturating_add(census.nans) as usize;
        let (unstored, fill) = (gaps.numbers(stored), gaps.fill);
        let gaps_are_nan = fill.is_some_and(T::isnan) && gaps.count(stored) > 0;
        let numbers = unstored.map_or(0, |(_, count)| count).saturating_add(census.numbers.into());
        if numbers == 0 || !self.skips_nan && (gaps_are_nan || census.nans > 0) {
            return Ok(Some(T::Median::NAN));
        }
        if unstored.is_some() && gaps.extent == u128::MAX && matches!(self.rule, Rule::At(..)) {
            return Err(Fault::Uncountable);
        }
        let place = self.rule.place(numbers);
        let found = census.at([place.low, place.high], unstored, pass)?;
        Ok(found.map(|[low, high]| place.value(low.to_median(), high.to_median())))
    }

    /// The values at the ranks, if the group has them; the sieve is for the numbers to select among.
    fn ranked<T: Real>(self, group: &Group<'_, T>, sieve: &mut Sieve<T>) -> Outcome<Option<Ranked<T>>> {
        let Group { stored, gaps, .. } = group;
        let gaps_are_nan = gaps.fill.is_some_and(T::isnan) && gaps.count(stored.len()) > 0;
        if !self.skips_nan && (gaps_are_nan || count(stored, T::isnan) > 0) {
            return Ok(None);
        }
        Ok(match gaps.numbers(stored.len()) {
            None => ranked_in_lane(stored, self.rule, sieve)?,
            // Of the middle more positions than can be counted make no difference, as fewer are stored.
            Some(_) if gaps.extent == u128::MAX && matches!(self.rule, Rule::At(..)) => return Err(Fault::Uncountable),
            Some((fill, unstored)) => Some(ranked_about(stored, fill, unstored, self.rule, sieve)?),
        })
    }
}

/// The values at the ranks of a group with `unstored` positions that hold the number `fill`.
fn ranked_about<T: Real>(
    stored: &[T],
    fill: T,
    unstored: u128,
    rule: Rule,
    sieve: &mut Sieve<T>,
) -> Allocated<Ranked<T>> {
    let below = count(stored, |value| value < fill);
    let above = count(stored, |value| value > fill);
    let level = count(stored, |value| value == fill);
    let (start, end) = (below as u128, below as u128 + level as u128 + unstored);
    let place = rule.place(end + above as u128);
    let Place { low, high, .. } = place;
    let (lower, upper) = if high < start {
        select_two(sieve.refill(stored, |value| value < fill)?, low as usize, high as usize)
    } else if low >= end {
        select_two(sieve.refill(stored, |value| value > fill)?, (low - end) as usize, (high - end) as usize)
    } else {
        // The ranks are neighbours: one of them outside of the level run is at its edge.
        let values = stored.iter().copied();
        let below = || values.clone().filter(|&value| value < fill).reduce(greater);
        let above = || values.clone().filter(|&value| value > fill).reduce(smaller);
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
    /// The median, and the position of the first element equal to the lower middle value; `u64::MAX` for none.
    pub(crate) fn median_and_position(&self, asked: Question, sieve: &mut Sieve<T>) -> Outcome<(T::Median, u64)> {
        Ok(match asked.ranked(self, sieve)? {
            None => (T::Median::NAN, u64::MAX),
            Some(middles) => (middles.value(), self.first_equal(middles.lower)),
        })
    }

    /// The position of the first element equal to `value`, which one of them is.
    fn first_equal(&self, value: T) -> u64 {
        let stored = first_equal(self.stored, value).map_or(u64::MAX, |within| self.place(within));
        let unstored = if self.gaps_equal_to(value) > 0 { self.first_gap() } else { u64::MAX };
        stored.min(unstored)
    }

    /// The first position that is not stored: until there the entries stand at the positions 0, 1, 2 and so on.
    pub(crate) fn first_gap(&self) -> u64 {
        let (mut packed, mut end) = (0, self.stored.len());
        while packed < end {
            let within = packed + (end - packed) / 2;
            match self.place(within) == within as u64 {
                true => packed = within + 1,
                false => end = within,
            }
        }
        packed as u64
    }

    /// Who receives the gradient of the value; the share of a gap is nobody's.
    pub(crate) fn shares(&self, rule: ShareRule, sieve: &mut Sieve<T>) -> Outcome<Shares<T>> {
        let ShareRule { asked, rule, spread_nan } = rule;
        let Some(Ranked { lower, upper, place }) = asked.ranked(self, sieve)? else {
            let positions = u64::try_from(self.gaps.positions(self.stored.len())).unwrap_or(u64::MAX);
            let (receivers, number) =
                if spread_nan { (Receivers::All, positions) } else { (Receivers::Ranked, NOBODY) };
            return Ok(Shares { receivers, values: [T::ZERO; 2], numbers: [number; 2], parts: [1.0; 2] });
        };
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
                Shares { receivers, values: [lower, upper], numbers: [low, number(upper, place.high)], parts }
            }
            false => Shares { receivers, values: [lower; 2], numbers: [low; 2], parts: [1.0; 2] },
        })
    }

    fn gaps_equal_to(&self, value: T) -> u64 {
        self.gaps.count_numbers(self.stored.len(), |fill| fill == value)
    }

    /// How many elements are equal to `value`.
    fn count_equal(&self, value: T) -> u64 {
        count(self.stored, |element| element == value) as u64 + self.gaps_equal_to(value)
    }

    /// The element at `rank` by value and position, whose value is `value`; nobody where that is a gap.
    ///
    /// Before an entry there are as many gaps as its position exceeds its number.
    fn at_rank(&self, value: T, rank: u64) -> u64 {
        let gaps_below = self.gaps.count_numbers(self.stored.len(), |fill| fill < value);
        let below = count(self.stored, |element| element < value) as u64 + gaps_below;
        let gaps_are_equal = self.gaps_equal_to(value) > 0;
        let equal = self.stored.iter().enumerate().filter(|&(_, &element)| element == value);
        let mut ranked = equal.enumerate().map(|(equal_before, (within, _))| {
            let gaps_before = if gaps_are_equal { self.place(within) - within as u64 } else { 0 };
            (below + equal_before as u64 + gaps_before, within)
        });
        match ranked.find(|&(candidate, _)| candidate >= rank) {
            Some((found, within)) if found == rank => within as u64,
            _ => NOBODY,
        }
    }
}

/// The number of no element.
const NOBODY: u64 = u64::MAX;

/// How the gradient of a median or a quantile is shared.
#[derive(Clone, Copy)]
pub(crate) struct ShareRule {
    pub(crate) asked: Question,
    pub(crate) rule: MedianGradient,
    /// Whether the elements of a group without a number share its gradient, which else is lost.
    pub(crate) spread_nan: bool,
}

/// Which elements of a group receive a share of its gradient.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Receivers {
    /// Those equal to a value that the result was made of.
    Equal,
    /// Those at its ranks.
    Ranked,
    All,
}

/// What the elements of a group receive of its gradient, in one part or two, which go to those equal to `values`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares<T> {
    receivers: Receivers,
    values: [T; 2],
    /// For each part how many elements share it, or of those at its rank the number within the group.
    numbers: [u64; 2],
    /// Where there is one part only it stands here twice.
    parts: [f64; 2],
}

impl<T: Real> Shares<T> {
    /// Whether elements equal to `value` may receive a share; no branch.
    fn concerns(&self, value: T) -> bool {
        (value == self.values[0]) | (value == self.values[1]) | (self.receivers == Receivers::All)
    }

    /// What the element `within` its group, which holds `value`, receives of `gradient`.
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

/// Writes what the elements `values` receive; who receives nothing keeps what stands there.
pub(crate) fn give<T: Real, G: Float>(values: &[T], received: &mut [G], given: &Given<'_, Shares<T>, G>) {
    const BLOCK: usize = 64;
    let blocks = values.chunks(BLOCK).zip(received.chunks_mut(BLOCK)).zip((0..).step_by(BLOCK));
    for ((values, received), start) in blocks {
        // Most blocks hold no middle value. A branch on each value would be mispredicted at every other NaN.
        let concerns = |any, (at, &value): (usize, &T)| any | given.at(start + at).0.concerns(value);
        if !values.iter().enumerate().fold(false, concerns) {
            continue;
        }
        for (at, (&value, item)) in values.iter().zip(received).enumerate() {
            let (shares, within, gradient) = given.at(start + at);
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
        let gaps = Gaps { fill: Some(fill), extent };
        let asked = Question { rule: Rule::Middle(EvenCount::Mean), skips_nan: true };
        asked.value(&Group { stored, gaps, position: &|_| 0 }, &mut Sieve::new()).unwrap()
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
        let first_gap = |positions: &[u128]| {
            let position = |within: usize| positions[within];
            let gaps = Gaps { fill: Some(1), extent: 100 };
            Group { stored: &vec![1; positions.len()], gaps, position: &position }.first_gap()
        };
        assert_eq!(first_gap(&[]), 0);
        assert_eq!(first_gap(&[1, 2]), 0);
        assert_eq!(first_gap(&[0, 1, 3, 4]), 2);
        assert_eq!(first_gap(&[0, 1, 2, 3]), 4);
    }
}
