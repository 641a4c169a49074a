//! Minimum and maximum of values, and their positions.

use std::convert::identity;
use std::ops::Range;

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{INTERLEAVED, Interleaved, Number, Real, RunResults};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::Group;

/// Returns whether `value` is more extreme than `found`. -0.0 is less than +0.0. Neither value may be NaN.
pub(crate) fn is_beyond<const IS_MAX: bool, T: Real>(value: T, found: T) -> bool {
    let (less, more) = if IS_MAX { (found, value) } else { (value, found) };
    less < more || (less == more && !less.same(more) && more.same(more.as_implicit()))
}

/// Returns the more extreme value: a NaN if one value is NaN, and `found` if the values are equal.
pub(crate) fn beyond<const IS_MAX: bool, T: Real>(value: T, found: T) -> T {
    if found.isnan() || !(value.isnan() || is_beyond::<IS_MAX, T>(value, found)) { found } else { value }
}

/// The number of values compared at once.
const LANES: usize = 16;

/// Returns the extreme of some values, or `None` for an empty slice. Returns NaN if a value is NaN and NaN is not
/// skipped.
///
/// Comparisons treat zeros of both signs as equal. Their signs are read only if the extreme is a zero.
pub(crate) fn extreme<const IS_MAX: bool, T: Real>(values: &[T], skips_nan: bool) -> Option<T> {
    let mut numbers = values.iter().copied().filter(|value| !(skips_nan && value.isnan()));
    let first = numbers.next()?;
    // Comparisons with NaN are false, so a NaN after `first` is never found. `has_nan` is true if there is a NaN.
    let (found, has_nan) = in_wide_vectors(
        #[inline(always)]
        || beyond_all::<IS_MAX, T>(values, first),
    );
    if has_nan && !skips_nan {
        return values.iter().copied().find(|value| value.isnan());
    }
    if found != T::ZERO {
        return Some(found);
    }
    // Only zeros are equal to `found` here. The second pass chooses the sign.
    let zeros = values.iter().copied().filter(|&value| value == found);
    zeros.reduce(|found, zero| if is_beyond::<IS_MAX, T>(zero, found) { zero } else { found })
}

/// Returns [`extreme`] of many values, with several threads if there are enough values.
pub(crate) fn extreme_of_many<const IS_MAX: bool, T: Real>(values: &[T], skips_nan: bool) -> Option<T> {
    if !threads::are_shared(values.len(), PICOSECONDS) {
        return extreme::<IS_MAX, T>(values, skips_nan);
    }
    let part = |part: Range<usize>| extreme::<IS_MAX, T>(&values[part], skips_nan);
    let parts = threads::map_parts(values.len(), PICOSECONDS, 0, part).into_iter().flatten();
    // `beyond` is associative, so the result does not depend on the number of parts.
    parts.reduce(|found, value| beyond::<IS_MAX, T>(value, found))
}

/// Returns the index of the first value that passes a test. Several threads may search.
fn position<T: Copy + Sync>(values: &[T], test: impl Fn(T) -> bool + Sync) -> Option<usize> {
    let has_one = |values: &[T]| {
        in_wide_vectors(
            #[inline(always)]
            || values.iter().fold(false, |found, &value| found | test(value)),
        )
    };
    // Each block is tested without a branch per value. Only the first block with a passing value is searched again.
    let first = |part: Range<usize>| {
        let mut blocks = part.clone().step_by(BLOCK).map(|start| start..part.end.min(start + BLOCK));
        let block = blocks.find(|block| has_one(&values[block.clone()]))?;
        let within = values[block.clone()].iter().position(|&value| test(value))?;
        Some(block.start + within)
    };
    // The parts are in order, so the first index found is the smallest index.
    threads::map_parts(values.len(), PICOSECONDS, 0, first).into_iter().flatten().next()
}

/// The number of values tested together.
const BLOCK: usize = 1 << 10;

/// The picoseconds per value.
const PICOSECONDS: usize = 400;

/// Returns the extreme of `first` and all values, up to the sign of a zero, and whether a value is NaN.
#[inline(always)]
fn beyond_all<const IS_MAX: bool, T: Real>(values: &[T], first: T) -> (T, bool) {
    let (mut found, mut has_nan) = ([first; LANES], [false; LANES]);
    let (lanes, last) = values.as_chunks::<LANES>();
    // Invariant: `found[lane]` is the extreme of `first` and the values of this lane so far.
    for values in lanes {
        for lane in 0..LANES {
            found[lane] = preferred::<IS_MAX, T>(values[lane], found[lane]);
            has_nan[lane] |= values[lane].isnan();
        }
    }
    let found =
        found.into_iter().chain(last.iter().copied()).fold(first, |found, value| preferred::<IS_MAX, T>(value, found));
    (found, has_nan.contains(&true) || last.iter().any(|value| value.isnan()))
}

#[inline(always)]
fn preferred<const IS_MAX: bool, T: Real>(value: T, found: T) -> T {
    if if IS_MAX { value > found } else { value < found } { value } else { found }
}

/// Returns the extremes of runs of values and their unstored positions, with the first entry of each extreme.
///
/// A result is known if the run does not contain NaN and the extreme is more extreme than the fill.
#[inline(always)]
pub(crate) fn extremes_interleaved<const IS_MAX: bool, T: Real>(
    values: &[T],
    runs: &Interleaved,
    unstored: &Unstored<T>,
) -> RunResults<(T, usize)> {
    let (mut first, mut places, mut has_nan) = ([T::ZERO; INTERLEAVED], [0; INTERLEAVED], [false; INTERLEAVED]);
    for run in 0..INTERLEAVED {
        // An empty run also has a valid start. Its result is ignored.
        first[run] = values[runs.starts[run]];
    }
    let mut found = first;
    runs.for_each(
        values,
        identity,
        first,
        #[inline(always)]
        |place, values| {
            for run in 0..INTERLEAVED {
                // The comparison is strict, so `places` keeps the first position of the extreme.
                let is_beyond = if IS_MAX { values[run] > found[run] } else { values[run] < found[run] };
                found[run] = if is_beyond { values[run] } else { found[run] };
                places[run] = if is_beyond { place } else { places[run] };
                has_nan[run] |= values[run].isnan();
            }
        },
    );
    let (mut extremes, mut are_known) = ([(T::ZERO, 0); INTERLEAVED], [false; INTERLEAVED]);
    for run in 0..INTERLEAVED {
        // If the fill equals the extreme, an unstored position may precede it in the group. The result is known only if
        // the extreme is strictly more extreme than the fill.
        let beats_fill = match unstored.fill {
            Some(fill) if unstored.count(runs.sizes[run]) > 0 => {
                if IS_MAX {
                    found[run] > fill
                } else {
                    found[run] < fill
                }
            }
            _ => true,
        };
        extremes[run] = (found[run], runs.starts[run] + places[run]);
        are_known[run] = beats_fill & !has_nan[run];
    }
    (extremes, are_known)
}

impl<T: Real> Group<'_, T> {
    /// Returns the position of the first NaN, otherwise of the first element equal to the extreme. Returns `None` for a
    /// group without elements.
    pub(crate) fn extreme_position(&self, is_max: bool, skips_nan: bool) -> Option<u64> {
        // The fill is compared only if the group has unstored positions.
        let fill = self
            .unstored
            .fill
            .filter(|fill| self.unstored.count(self.stored.len()) > 0 && !(skips_nan && fill.isnan()));
        let stored = match is_max {
            true => extreme_of_many::<true, T>(self.stored, skips_nan),
            false => extreme_of_many::<false, T>(self.stored, skips_nan),
        };
        let preferred: fn(T, T) -> T = if is_max { preferred::<true, T> } else { preferred::<false, T> };
        let both = [stored, fill].into_iter().flatten();
        let found = both.reduce(|a, b| if b.isnan() { b } else { preferred(b, a) })?;
        let is_found = |value: T| value == found || (found.isnan() && value.isnan());
        let stored = position(self.stored, is_found).map(|within| self.place(within));
        let first_unstored = fill.filter(|&fill| is_found(fill)).map(|_| self.first_unstored());
        // The extreme may be both a stored value and the fill. The smaller position is the result.
        stored.into_iter().chain(first_unstored).min()
    }
}

/// Returns the missing value of a type: NaN if the type has one.
pub(crate) fn missing<T: Real>() -> Option<T> {
    T::from_number(Number::Real(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the extremes of parts with the extreme of all values: NaN, zeros of both signs, equal values.
    #[test]
    fn extremes_of_parts_are_those_of_all() {
        let mut values: Vec<f64> = (0..100_000).map(|at| f64::from(at * 7919 % 1000) - 500.0).collect();
        for (place, value) in [(99_999, 499.0), (3, -0.0), (70_000, 0.0), (60_001, f64::NAN)] {
            values[place] = value;
            let same = |a: Option<f64>, b: Option<f64>| a.map(f64::to_bits) == b.map(f64::to_bits);
            assert!(same(extreme_of_many::<true, f64>(&values, false), extreme::<true, f64>(&values, false)));
            assert!(same(extreme_of_many::<false, f64>(&values, true), extreme::<false, f64>(&values, true)));
            let zeros: Vec<f64> = values.iter().map(|value| value.min(0.0)).collect();
            assert!(same(extreme_of_many::<true, f64>(&zeros, true), extreme::<true, f64>(&zeros, true)));
        }
        for sought in [-500.0, 499.0, 0.5, -0.25] {
            values[99_000] = 0.5;
            assert_eq!(position(&values, |value| value == sought), values.iter().position(|&value| value == sought));
        }
        assert_eq!(extreme_of_many::<true, f64>(&vec![f64::NAN; 100_000], true), None);
    }
}
