//! Floats as pairs of integers: those of a set of values add up as integers do, in any order and without an error.
//!
//! Of each value the nearest multiple of a unit is taken, and of the rest that of a unit some fifty binades lower. Both
//! are integers of few bits; where nothing is left, they are the value. So a sum takes two plain additions a value,
//! where two floats that hold it take a dozen that wait for each other.

use super::exact::power;
use super::pair::{Pair, two_sum};

/// The bits of a slice if no room is left above them.
const BITS: i32 = 51;
/// The exponents that slices are made of: neither a unit nor a sum of slices is near an end of the range.
const EXPONENTS: (i32, i32) = (-800, 900);

/// How values up to a magnitude are sliced.
#[derive(Clone, Copy)]
pub(crate) struct Slices {
    bound: f64,
    units: [f64; 2],
    /// To what is added to one of these a unit is the last bit.
    shifts: [f64; 2],
}

impl Slices {
    /// For values up to `greatest`, and a little more. Their integers leave so many bits of 51 free: sums of
    /// 2<sup>12 + `free`</sup> of them fit 63 bits, those of 2<sup>2 + `free`</sup> are floats. Nothing, where
    /// `greatest` is not finite or near the end of the range.
    #[inline(always)]
    pub(crate) fn new(greatest: f64, free: i32) -> Option<Self> {
        let exponent = ((greatest.to_bits() >> 52 & 0x7ff) as i32 - 1022).max(EXPONENTS.0);
        let high = exponent - BITS + free;
        let units = [power(high), power(high - BITS - 1 + free)];
        // 1.5 keeps the exponent of the shift, whatever the sign of what is added.
        let shifts = units.map(|unit| unit * (1.5 * power(52)));
        (exponent <= EXPONENTS.1).then(|| Slices { bound: power(exponent), units, shifts })
    }

    /// The two integers of a value, and whether they are all of it: not of one above the bound, nor of NaN.
    #[inline(always)]
    pub(crate) fn of(&self, value: f64) -> ([i64; 2], bool) {
        let Slices { bound, shifts: [high, low], .. } = *self;
        let (near, integer) = rounded(value, high);
        let rest = value - near;
        let (near, lower) = rounded(rest, low);
        ([integer, lower], (value.abs() <= bound) & (near == rest))
    }

    /// Two pairs that hold what sums of integers stand for; mostly the first alone does, and the other one is zero.
    #[inline(always)]
    pub(crate) fn pairs(&self, sums: [i64; 2]) -> [Pair; 2] {
        let [high, low] = self.units;
        if sums.iter().all(|sum| sum.unsigned_abs() <= 1 << 53) {
            return [self.pair(sums), [0.0; 2]];
        }
        let halves = |sum: i64, unit: f64| [(sum >> 32) as f64 * (unit * power(32)), (sum as u32) as f64 * unit];
        let [a, b] = halves(sums[0], high);
        let [c, d] = halves(sums[1], low);
        let (sum, error) = two_sum(a, b);
        [[sum, error], [c, d]]
    }

    /// The pair that holds sums of 2<sup>2 + `free`</sup> integers.
    #[inline(always)]
    pub(crate) fn pair(&self, sums: [i64; 2]) -> Pair {
        [sums[0] as f64 * self.units[0], sums[1] as f64 * self.units[1]]
    }
}

/// The nearest multiple of the last bit of `shift`, and how many times that is.
#[inline(always)]
fn rounded(value: f64, shift: f64) -> (f64, i64) {
    let shifted = value + shift;
    (shifted - shift, shifted.to_bits().wrapping_sub(shift.to_bits()) as i64)
}

/// The greatest magnitude; NaN if there is one. Magnitudes stand in the order of their bits, of which vectors take a
/// maximum.
#[inline(always)]
pub(crate) fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    f64::from_bits(values.fold(0, |greatest, value| greatest.max(value.abs().to_bits().cast_signed())).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::exact::{Exact, Kind};

    fn exactly(values: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = Exact::new();
        values.into_iter().for_each(|value| sum.add(value));
        sum.over(1, Kind::F64)
    }

    /// Values whose last bits are those of the lower unit, and one bit below.
    #[test]
    fn integers_are_the_whole_value_or_say_no() {
        for exponent in [-799, -300, 0, 52, 800] {
            for free in [0, 4, 7, 12, 16] {
                let greatest = power(exponent) * 0.999;
                let slices = Slices::new(greatest, free).unwrap();
                let last = slices.units[1];
                for value in
                    [greatest, power(exponent), last, last * 3.0, slices.units[0] * 0.5, greatest * 1e-7 - last]
                        .into_iter()
                        .flat_map(|value| [value, -value])
                {
                    let ([high, low], is_whole) = slices.of(value);
                    let found = exactly(slices.pairs([high, low]).into_iter().flatten());
                    assert!(high.unsigned_abs() <= 1 << (BITS - free) && low.unsigned_abs() <= 1 << (BITS - free));
                    assert_eq!(found == value, is_whole, "{value:e} of {greatest:e}");
                    assert!(is_whole || value.abs() < greatest * 1e-6);
                }
                for value in [last * 0.5, last * 1.5, power(exponent) * 1.001, f64::MAX, f64::INFINITY, f64::NAN] {
                    assert!(!slices.of(value).1 && !slices.of(-value).1, "{value:e} of {greatest:e}");
                }
            }
        }
    }

    #[test]
    fn zeros_and_the_smallest_values_have_slices_and_what_overflows_has_none() {
        let slices = Slices::new(0.0, 4).unwrap();
        assert_eq!(slices.of(-0.0), ([0; 2], true));
        assert!(!slices.of(5e-324).1);
        for value in [f64::MAX, f64::INFINITY, f64::NAN, 1e300] {
            assert!(Slices::new(value, 4).is_none());
        }
        assert_eq!(greatest([1.0, -3.0, 2.0].into_iter()), 3.0);
        assert!(greatest([1.0, f64::NAN, f64::INFINITY].into_iter()).is_nan());
    }

    /// As many as the free bits promise, of the greatest magnitude there is.
    #[test]
    fn pairs_hold_the_sums_that_were_promised() {
        for free in [0, 4, 7] {
            let value = std::f64::consts::FRAC_PI_4;
            let slices = Slices::new(value, free).unwrap();
            let ([high, low], _) = slices.of(value);
            for (count, few) in [(1i64 << (2 + free), true), (1 << (12 + free), false)] {
                let sums = [high * (count - 1), low * (count - 1)];
                let expected = exactly((1..count).map(|_| value));
                assert_eq!(exactly(slices.pairs(sums).into_iter().flatten()), expected);
                assert!(!few || exactly(slices.pair(sums)) == expected);
            }
        }
    }

    /// One more than a float counts to, of both units.
    #[test]
    fn sums_of_many_bits_are_in_four_floats() {
        let slices = Slices::new(1.0, 4).unwrap();
        for sums in [[(1 << 53) + 1, 0], [0, (1 << 53) + 1], [-(1 << 62) - 1, (1 << 62) + 1]] {
            let halves = |number: usize| {
                let sum: i64 = sums[number];
                [(sum - sum % 8) as f64 * slices.units[number], (sum % 8) as f64 * slices.units[number]]
            };
            // Down to the lower unit, which one rounding of all would hide.
            let all = [0, 1].into_iter().flat_map(halves);
            let found = slices.pairs(sums).into_iter().flatten().map(|part| -part);
            assert_eq!(exactly(all.chain(found)), 0.0);
        }
    }
}
