//! The least and the greatest of some values, and where it stands.

use std::convert::identity;
use std::ops::Range;

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{ABREAST, Abreast, Known, Number, Real};
use crate::kernels::group::Gaps;
use crate::kernels::holistic::Group;

/// Whether `value` is to be preferred: -0.0 is less than +0.0, and nothing is NaN.
pub(crate) fn is_beyond<const GREATEST: bool, T: Real>(value: T, found: T) -> bool {
    let (less, more) = if GREATEST { (found, value) } else { (value, found) };
    less < more || (less == more && !less.same(more) && more.same(more.as_implicit()))
}

/// The one of both that is to be preferred: a NaN before all numbers, `found` if they are equal.
pub(crate) fn beyond<const GREATEST: bool, T: Real>(value: T, found: T) -> T {
    if found.isnan() || !(value.isnan() || is_beyond::<GREATEST, T>(value, found)) { found } else { value }
}

/// The values that are compared side by side.
const LANES: usize = 16;

/// The extreme of some values, any NaN if there is one that is not to be skipped; none of no value.
///
/// Zeros of both signs are equal to a comparison: their signs are looked at where the extreme is a zero.
pub(crate) fn extreme<const GREATEST: bool, T: Real>(values: &[T], skips_nan: bool) -> Option<T> {
    let mut numbers = values.iter().copied().filter(|value| !(skips_nan && value.isnan()));
    let first = numbers.next()?;
    let (found, has_nan) = in_wide_vectors(
        #[inline(always)]
        || beyond_all::<GREATEST, T>(values, first),
    );
    if has_nan && !skips_nan {
        return values.iter().copied().find(|value| value.isnan());
    }
    if found != T::ZERO {
        return Some(found);
    }
    let zeros = values.iter().copied().filter(|&value| value == found);
    zeros.reduce(|found, zero| if is_beyond::<GREATEST, T>(zero, found) { zero } else { found })
}

/// [`extreme`] of values that may be worth several threads.
pub(crate) fn extreme_of_many<const GREATEST: bool, T: Real>(values: &[T], skips_nan: bool) -> Option<T> {
    if !threads::are_shared(values.len(), PICOSECONDS) {
        return extreme::<GREATEST, T>(values, skips_nan);
    }
    let part = |part: Range<usize>| extreme::<GREATEST, T>(&values[part], skips_nan);
    let parts = threads::map_parts(values.len(), PICOSECONDS, 0, part).into_iter().flatten();
    parts.reduce(|found, value| beyond::<GREATEST, T>(value, found))
}

/// The number of the first value that passes a test, of which several threads may look for one.
fn position<T: Copy + Sync>(values: &[T], test: impl Fn(T) -> bool + Sync) -> Option<usize> {
    let has_one = |values: &[T]| {
        in_wide_vectors(
            #[inline(always)]
            || values.iter().fold(false, |found, &value| found | test(value)),
        )
    };
    let first = |part: Range<usize>| {
        let mut blocks = part.clone().step_by(BLOCK).map(|start| start..part.end.min(start + BLOCK));
        let block = blocks.find(|block| has_one(&values[block.clone()]))?;
        let within = values[block.clone()].iter().position(|&value| test(value))?;
        Some(block.start + within)
    };
    threads::map_parts(values.len(), PICOSECONDS, 0, first).into_iter().flatten().next()
}

/// The values of which one is looked for together.
const BLOCK: usize = 1 << 10;

/// What a value takes.
const PICOSECONDS: usize = 400;

/// What is beyond `first` and all the values, up to the sign of a zero, and whether one of them is NaN.
#[inline(always)]
fn beyond_all<const GREATEST: bool, T: Real>(values: &[T], first: T) -> (T, bool) {
    let (mut found, mut has_nan) = ([first; LANES], [false; LANES]);
    let (lanes, last) = values.as_chunks::<LANES>();
    for values in lanes {
        for lane in 0..LANES {
            found[lane] = preferred::<GREATEST, T>(values[lane], found[lane]);
            has_nan[lane] |= values[lane].isnan();
        }
    }
    let found = found
        .into_iter()
        .chain(last.iter().copied())
        .fold(first, |found, value| preferred::<GREATEST, T>(value, found));
    (found, has_nan.contains(&true) || last.iter().any(|value| value.isnan()))
}

#[inline(always)]
fn preferred<const GREATEST: bool, T: Real>(value: T, found: T) -> T {
    if if GREATEST { value > found } else { value < found } { value } else { found }
}

/// The extremes of runs among values and, behind them, of so many gaps, with the entry that each stands at first. Known
/// is what is no NaN, and no gap.
#[inline(always)]
pub(crate) fn extremes_abreast<const GREATEST: bool, T: Real>(
    values: &[T],
    runs: &Abreast,
    gaps: &Gaps<T>,
) -> Known<(T, usize)> {
    let (mut first, mut places, mut has_nan) = ([T::ZERO; ABREAST], [0; ABREAST], [false; ABREAST]);
    for run in 0..ABREAST {
        first[run] = values[runs.starts[run]];
    }
    let mut found = first;
    runs.for_each(
        values,
        identity,
        first,
        #[inline(always)]
        |place, values| {
            for run in 0..ABREAST {
                let is_beyond = if GREATEST { values[run] > found[run] } else { values[run] < found[run] };
                found[run] = if is_beyond { values[run] } else { found[run] };
                places[run] = if is_beyond { place } else { places[run] };
                has_nan[run] |= values[run].isnan();
            }
        },
    );
    let (mut extremes, mut are_known) = ([(T::ZERO, 0); ABREAST], [false; ABREAST]);
    for run in 0..ABREAST {
        let beats_gaps = match gaps.fill {
            Some(fill) if gaps.count(runs.sizes[run]) > 0 => {
                if GREATEST {
                    found[run] > fill
                } else {
                    found[run] < fill
                }
            }
            _ => true,
        };
        extremes[run] = (found[run], runs.starts[run] + places[run]);
        are_known[run] = beats_gaps & !has_nan[run];
    }
    (extremes, are_known)
}

/// An integer that is the greater, the further a value is beyond others; a NaN is beyond all, or where it is to be
/// skipped below all.
#[inline(always)]
pub(crate) fn key_of<const GREATEST: bool, const SKIPS_NAN: bool, T: Real>(value: T) -> i64 {
    let key = match value.to_number() {
        Number::Integer(integer) => (integer - least_integer::<T>() + i128::from(i64::MIN)) as i64,
        Number::Real(real) if real.is_nan() => return if SKIPS_NAN { i64::MIN } else { i64::MAX },
        Number::Real(real) => in_order(real.to_bits() as i64),
        Number::Complex(..) => i64::MIN,
    };
    if GREATEST { key } else { !key }
}

/// The value that has the key, if one has.
#[inline(always)]
pub(crate) fn of_key<const GREATEST: bool, const SKIPS_NAN: bool, T: Real>(key: i64) -> Option<T> {
    let straight = if GREATEST { key } else { !key };
    T::from_number(match T::LOWEST.to_number() {
        Number::Integer(least) => Number::Integer(i128::from(straight) - i128::from(i64::MIN) + least),
        Number::Real(_) if SKIPS_NAN && key == i64::MIN => return None,
        Number::Real(_) if key == i64::MAX => Number::Real(f64::NAN),
        Number::Real(_) => Number::Real(f64::from_bits(in_order(straight) as u64)),
        Number::Complex(..) => return None,
    })
}

/// The bits of a float as an integer in the order of the floats, and back: those of a negative one count downwards.
#[inline(always)]
fn in_order(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[inline(always)]
fn least_integer<T: Real>() -> i128 {
    if let Number::Integer(least) = T::LOWEST.to_number() { least } else { 0 }
}

impl<T: Real> Group<'_, T> {
    /// The position of the first NaN, or else of the first element equal to the extreme; none of no element.
    pub(crate) fn extreme_position(&self, is_greatest: bool, skips_nan: bool) -> Option<u64> {
        let fill = self.gaps.fill.filter(|fill| self.gaps.count(self.stored.len()) > 0 && !(skips_nan && fill.isnan()));
        let (extreme, preferred): (fn(&[T], bool) -> Option<T>, fn(T, T) -> T) = match is_greatest {
            true => (extreme_of_many::<true, T>, preferred::<true, T>),
            false => (extreme_of_many::<false, T>, preferred::<false, T>),
        };
        let stored = extreme(self.stored, skips_nan);
        let both = [stored, fill].into_iter().flatten();
        let found = both.reduce(|a, b| if b.isnan() { b } else { preferred(b, a) })?;
        let is_found = |value: T| value == found || (found.isnan() && value.isnan());
        let stored = position(self.stored, is_found).map(|within| self.place(within));
        let gap = fill.filter(|&fill| is_found(fill)).map(|_| self.first_gap());
        stored.into_iter().chain(gap).min()
    }
}

/// What a type has for a missing value: NaN, if there is one.
pub(crate) fn missing<T: Real>() -> Option<T> {
    T::from_number(Number::Real(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many values, of which several threads have parts, against all of them at once: NaNs, both zeros, equal ones.
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
