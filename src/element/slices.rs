//! Floats as pairs of integers, whose sums are exact in any order.
//!
//! The first integer is the nearest multiple of a unit. The second integer is the nearest multiple, for the remainder,
//! of a unit that is about 2<sup>50</sup> times smaller. If the remainder is then 0, the two integers represent the
//! value exactly. A sum of integers needs two independent additions per value. A sum as two floats needs about twelve
//! dependent operations per value.

use super::exact::power;
use super::pair::{Pair, two_sum};

/// The number of bits of an integer if no bits are kept free.
const BITS: i32 = 51;
/// The range of exponents for slices: units and sums of slices are far from both ends of the float range.
const EXPONENTS: (i32, i32) = (-800, 900);

/// The conversion of values up to a magnitude into integers.
#[derive(Clone, Copy)]
pub(crate) struct Slices {
    bound: f64,
    units: [f64; 2],
    /// The shifts: adding a value to a shift rounds the value to a multiple of the unit.
    shifts: [f64; 2],
}

impl Slices {
    /// Returns the conversion of values with magnitudes of at least up to `max_magnitude`.
    ///
    /// The integers leave `free` of 51 bits free. Sums of 2<sup>12+`free`</sup> integers fit in 63 bits; sums of
    /// 2<sup>2+`free`</sup> integers are exact floats. Returns `None` if `max_magnitude` is not finite or near the end
    /// of the range.
    #[inline(always)]
    pub(crate) fn new(max_magnitude: f64, free: i32) -> Option<Self> {
        let exponent = ((max_magnitude.to_bits() >> 52 & 0x7ff) as i32 - 1022).max(EXPONENTS.0);
        let high = exponent - BITS + free;
        let units = [power(high), power(high - BITS - 1 + free)];
        // The factor 1.5 keeps the exponent of the shift constant for values of both signs.
        let shifts = units.map(|unit| unit * (1.5 * power(52)));
        (exponent <= EXPONENTS.1).then(|| Slices { bound: power(exponent), units, shifts })
    }

    /// Returns the two integers of a value, and whether they represent the value exactly. The result is false for NaN
    /// and for values above the bound.
    #[inline(always)]
    pub(crate) fn of(&self, value: f64) -> ([i64; 2], bool) {
        let Slices { bound, shifts: [high, low], .. } = *self;
        let (near, integer) = rounded(value, high);
        let rest = value - near;
        let (near, lower) = rounded(rest, low);
        ([integer, lower], (value.abs() <= bound) & (near == rest))
    }

    /// Returns two pairs of floats that represent the sums of integers exactly. In most cases the second pair is zero.
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

    /// Returns the pair that represents the sums of at most 2<sup>2+`free`</sup> integers exactly.
    #[inline(always)]
    pub(crate) fn pair(&self, sums: [i64; 2]) -> Pair {
        [sums[0] as f64 * self.units[0], sums[1] as f64 * self.units[1]]
    }
}

/// Returns the nearest multiple of the last bit of `shift`, and its factor.
#[inline(always)]
fn rounded(value: f64, shift: f64) -> (f64, i64) {
    let shifted = value + shift;
    (shifted - shift, shifted.to_bits().wrapping_sub(shift.to_bits()) as i64)
}

/// Returns the largest magnitude, or NaN if any value is NaN.
///
/// Magnitudes have the order of their bits, so SIMD can compute the maximum of the bits.
#[inline(always)]
pub(crate) fn max_magnitude(values: impl Iterator<Item = f64>) -> f64 {
    f64::from_bits(
        values.fold(0, |max_magnitude, value| max_magnitude.max(value.abs().to_bits().cast_signed())).cast_unsigned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::exact::{Exact, FloatFormat};

    fn exactly(values: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = Exact::new();
        values.into_iter().for_each(|value| sum.add(value));
        sum.over(1, FloatFormat::F64)
    }

    /// Tests values whose last bit is the lower unit, or one bit below the lower unit.
    #[test]
    fn integers_are_the_whole_value_or_say_no() {
        for exponent in [-799, -300, 0, 52, 800] {
            for free in [0, 4, 7, 12, 16] {
                let max_magnitude = power(exponent) * 0.999;
                let slices = Slices::new(max_magnitude, free).unwrap();
                let last = slices.units[1];
                for value in [
                    max_magnitude,
                    power(exponent),
                    last,
                    last * 3.0,
                    slices.units[0] * 0.5,
                    max_magnitude * 1e-7 - last,
                ]
                .into_iter()
                .flat_map(|value| [value, -value])
                {
                    let ([high, low], is_whole) = slices.of(value);
                    let found = exactly(slices.pairs([high, low]).into_iter().flatten());
                    assert!(high.unsigned_abs() <= 1 << (BITS - free) && low.unsigned_abs() <= 1 << (BITS - free));
                    assert_eq!(found == value, is_whole, "{value:e} of {max_magnitude:e}");
                    assert!(is_whole || value.abs() < max_magnitude * 1e-6);
                }
                for value in [last * 0.5, last * 1.5, power(exponent) * 1.001, f64::MAX, f64::INFINITY, f64::NAN] {
                    assert!(!slices.of(value).1 && !slices.of(-value).1, "{value:e} of {max_magnitude:e}");
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
        assert_eq!(max_magnitude([1.0, -3.0, 2.0].into_iter()), 3.0);
        assert!(max_magnitude([1.0, f64::NAN, f64::INFINITY].into_iter()).is_nan());
    }

    /// Tests the maximum number of values for each number of free bits, with the maximum magnitude.
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

    /// Tests a sum that is one unit larger than a float can count, for both units.
    #[test]
    fn sums_of_many_bits_are_in_four_floats() {
        let slices = Slices::new(1.0, 4).unwrap();
        for sums in [[(1 << 53) + 1, 0], [0, (1 << 53) + 1], [-(1 << 62) - 1, (1 << 62) + 1]] {
            let halves = |number: usize| {
                let sum: i64 = sums[number];
                [(sum - sum % 8) as f64 * slices.units[number], (sum % 8) as f64 * slices.units[number]]
            };
            // The exact sum is compared, because rounding the total would hide an error.
            let all = [0, 1].into_iter().flat_map(halves);
            let found = slices.pairs(sums).into_iter().flatten().map(|part| -part);
            assert_eq!(exactly(all.chain(found)), 0.0);
        }
    }
}
