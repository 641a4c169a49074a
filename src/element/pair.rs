//! Sums of floats that two floats hold without an error.

use super::abreast::{ABREAST, Abreast, Known};
use super::exact::Kind;
use super::floats::Wide;

/// The sum of two floats: the nearest float, and what the sum is more than that. Where either is not finite, nor the
/// second is.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rounded_b = sum - a;
    (sum, (a - (sum - rounded_b)) + (b - rounded_b))
}

/// The product of two floats: the nearest float, and what the product is more than that. No factor is near an end of
/// the range.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let (product, (a_high, a_low), (b_high, b_low)) = (a * b, halves(a), halves(b));
    (product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

/// A float as the sum of two that have half as many bits.
#[inline(always)]
fn halves(value: f64) -> (f64, f64) {
    let scaled = value * 134_217_729.0; // 2^27 + 1
    let high = scaled - (scaled - value);
    (high, value - high)
}

/// Whether products of a value and of counts are far from both ends of the range.
#[inline(always)]
pub(super) fn is_amid(value: f64) -> bool {
    (1e-200 <= value.abs()) & (value.abs() < 1e250)
}

/// So many times a value, in two floats, where these hold it.
#[inline]
pub(super) fn times(value: f64, count: u128) -> Option<(f64, f64)> {
    (count >> 53 == 0 && is_amid(value)).then(|| two_product(value, count as u64 as f64))
}

/// A quotient as the nearest float.
struct Quotient {
    near: f64,
    /// Whether it can be told that it is the nearest.
    is_told: bool,
    /// Whether it is the quotient itself.
    is_exact: bool,
}

/// `(sum + error) / count`, where the error may be `lost` more or less; a count of NaN has no quotient.
#[inline(always)]
fn divide(sum: f64, error: f64, lost: f64, count: f64) -> Quotient {
    let inverse = 1.0 / count;
    let quotient = sum * inverse;
    let (product, product_error) = two_product(quotient, count);
    let remainder = ((sum - product) - product_error) + error;
    // The remainder is rounded thrice, and the correction twice, at 2^-53 of what is itself no more than 2^-50 of the
    // sum.
    let (correction, doubt) = (remainder * inverse, quotient.abs() * 2f64.powi(-100) + 2.0 * lost * inverse);
    let near = quotient + (correction - doubt);
    let is_told = (is_amid(sum) | (sum == 0.0)) & (near == quotient + (correction + doubt));
    Quotient { near, is_told, is_exact: (remainder == 0.0) & (error == 0.0) & (lost == 0.0) }
}

/// A count as a float, NaN where that is not exact, and of 0, which nothing is divided by.
#[inline(always)]
fn divisor(count: u128) -> f64 {
    if count == 0 || count >> 53 != 0 { f64::NAN } else { count as u64 as f64 }
}

/// What a pair holds over `count`, as the nearest value of a type of floats, in `f64`, if a quotient of floats tells
/// it.
#[inline(always)]
pub(super) fn over([high, low]: Pair, count: u128, kind: Kind) -> Option<f64> {
    let (sum, error) = two_sum(high, low);
    if count == 1 {
        return kind.round(sum, error == 0.0);
    }
    let Quotient { near, is_told, is_exact } = divide(sum, error, 0.0, divisor(count));
    match is_told {
        true => kind.round(near, is_exact),
        false if kind == Kind::F64 => by_remainder(sum, error, divisor(count)),
        false => None,
    }
}

/// `(sum + error) / count` as the nearest float, of two that are as near the even one: means of values of one magnitude
/// often lie between two floats. Nothing, where floats do not hold the remainder.
#[inline(never)]
fn by_remainder(sum: f64, error: f64, count: f64) -> Option<f64> {
    let quotient = sum / count;
    let (product, product_error) = two_product(quotient, count);
    // A float holds the remainder of a quotient that is rounded to the nearest one.
    let (remainder, lost) = two_sum((sum - product) - product_error, error);
    if !(is_amid(sum) & (lost == 0.0)) {
        return None;
    }
    let next = if remainder > 0.0 { quotient.next_up() } else { quotient.next_down() };
    let half = (next - quotient).abs() * 0.5 * count;
    match remainder.abs() {
        remainder if remainder < half => Some(quotient),
        remainder if remainder == half => Some(if quotient.to_bits() & 1 == 0 { quotient } else { next }),
        remainder if remainder < 3.0 * half => Some(next),
        _ => None,
    }
}

/// Two floats, the nearest to a sum first, that hold it.
pub(super) type Pair = [f64; 2];

/// Adds a value to a pair, and gives what is lost of the sum, which is 0 where nothing is.
#[inline(always)]
pub(super) fn add_to_pair([high, low]: &mut Pair, value: f64) -> f64 {
    let (sum, error) = two_sum(*high, value);
    let (rest, lost) = two_sum(*low, error);
    (*high, *low) = (sum, rest);
    lost
}

/// Sums side by side, each in two floats.
#[derive(Clone, Copy)]
pub(super) struct Pairs<const N: usize> {
    pub(super) high: [f64; N],
    pub(super) low: [f64; N],
}

impl<const N: usize> Pairs<N> {
    pub(super) const ZERO: Self = Pairs { high: [0.0; N], low: [0.0; N] };

    /// Adds a value to each, and to `lost` what is lost by that; a NaN is lost as well.
    #[inline(always)]
    pub(super) fn add(&mut self, values: &[f64; N], lost: &mut [f64; N]) {
        for lane in 0..N {
            let (high, error) = two_sum(self.high[lane], values[lane]);
            let (low, more) = two_sum(self.low[lane], error);
            (self.high[lane], self.low[lane]) = (high, low);
            lost[lane] += more.abs();
        }
    }
}

/// What was added up of each run, and what was lost at most.
struct Sums {
    pairs: Pairs<ABREAST>,
    lost: [f64; ABREAST],
}

impl Sums {
    /// The sums of runs, or of their squares less `means`.
    #[inline(always)]
    fn of<T: Copy, const SQUARED: bool>(
        values: &[T],
        runs: &Abreast,
        float: impl Fn(T) -> f64,
        means: [f64; ABREAST],
    ) -> Self {
        let (mut pairs, mut lost) = (Pairs::ZERO, [0.0; ABREAST]);
        runs.for_each(
            values,
            float,
            means,
            #[inline(always)]
            |_, mut values| {
                if SQUARED {
                    for run in 0..ABREAST {
                        values[run] = (values[run] - means[run]) * (values[run] - means[run]);
                    }
                }
                pairs.add(&values, &mut lost);
            },
        );
        Sums { pairs, lost }
    }

    /// The pairs, and whether they hold the sums.
    #[inline(always)]
    fn known(&self) -> Known<Pair> {
        let (mut found, mut are_held) = ([[0.0; 2]; ABREAST], [false; ABREAST]);
        for run in 0..ABREAST {
            found[run] = [self.pairs.high[run], self.pairs.low[run]];
            are_held[run] = self.lost[run] == 0.0;
        }
        (found, are_held)
    }

    /// The sums over counts.
    #[inline(always)]
    fn over(&self, counts: &[f64; ABREAST]) -> Quotients {
        let (Pairs { high, low }, lost) = (&self.pairs, &self.lost);
        let mut quotients = Quotients { near: [0.0; ABREAST], are_told: [false; ABREAST], are_exact: [false; ABREAST] };
        for run in 0..ABREAST {
            let (sum, error) = two_sum(high[run], low[run]);
            let quotient = divide(sum, error, lost[run], counts[run]);
            quotients.near[run] = quotient.near;
            quotients.are_told[run] = quotient.is_told;
            quotients.are_exact[run] = quotient.is_exact;
        }
        quotients
    }
}

/// Quotients of runs abreast.
struct Quotients {
    near: [f64; ABREAST],
    are_told: [bool; ABREAST],
    are_exact: [bool; ABREAST],
}

/// The sums of runs abreast, if pairs hold them.
#[inline(always)]
pub(super) fn sums_of<T: Copy>(values: &[T], runs: &Abreast, float: impl Fn(T) -> f64) -> Known<Pair> {
    Sums::of::<T, false>(values, runs, float, [0.0; ABREAST]).known()
}

/// Whether two floats hold the square of a value.
#[inline(always)]
pub(super) fn has_square(value: f64) -> bool {
    (value == 0.0) | ((1e-140 <= value.abs()) & (value.abs() < 1e140))
}

/// The sums of squares of runs abreast as the nearest floats, where pairs tell these: they need not hold the sums.
#[inline(always)]
pub(super) fn squares_of<T: Wide>(values: &[T], runs: &Abreast) -> Known<Pair> {
    let (mut pairs, mut lost) = (Pairs::ZERO, [0.0; ABREAST]);
    runs.for_each(
        values,
        T::in_f64,
        [0.0; ABREAST],
        #[inline(always)]
        |_, values| {
            let (mut squares, mut errors) = ([0.0; ABREAST], [0.0; ABREAST]);
            for run in 0..ABREAST {
                (squares[run], errors[run]) = two_product(values[run], values[run]);
                lost[run] += if has_square(values[run]) { 0.0 } else { f64::INFINITY };
            }
            pairs.add(&squares, &mut lost);
            pairs.add(&errors, &mut lost);
        },
    );
    let (mut found, mut are_told) = ([[0.0; 2]; ABREAST], [false; ABREAST]);
    for run in 0..ABREAST {
        let (sum, error) = two_sum(pairs.high[run], pairs.low[run]);
        // What was lost is rounded as it is added up, by less than as much again, and the error once more.
        let doubt = if lost[run] == 0.0 { 0.0 } else { 2.0 * lost[run] + sum * 2f64.powi(-100) };
        let near = sum + (error - doubt);
        (found[run][0], are_told[run]) = (near, near == sum + (error + doubt));
    }
    (found, are_told)
}

/// The variances of runs abreast, each of `counts` values, zeros beside the run included: the sums of squares over what
/// is left of the counts without `ddof`, as the nearest value of a type of floats, in `f64`, where pairs tell it. They
/// need not hold the sums.
#[inline(always)]
pub(super) fn variances_of<T: Wide>(
    values: &[T],
    runs: &Abreast,
    counts: &[u128; ABREAST],
    ddof: u64,
    kind: Kind,
) -> Known<f64> {
    let (mut whole, mut divisors) = ([0.0; ABREAST], [0.0; ABREAST]);
    for run in 0..ABREAST {
        (whole[run], divisors[run]) = (divisor(counts[run]), divisor(counts[run].saturating_sub(ddof.into())));
    }
    let Quotients { near: mut means, are_told, .. } =
        Sums::of::<T, false>(values, runs, T::in_f64, [0.0; ABREAST]).over(&whole);
    for run in 0..ABREAST {
        means[run] = if are_told[run] { means[run] } else { f64::NAN };
    }
    let mut squares = Sums::of::<T, true>(values, runs, T::in_f64, means);
    let (mut products, mut errors) = ([0.0; ABREAST], [0.0; ABREAST]);
    for run in 0..ABREAST {
        let (square, zeros) = (means[run] * means[run], whole[run] - runs.sizes[run] as f64);
        let is_held = is_amid(square) | (means[run] == 0.0) | (zeros == 0.0);
        let (product, error) = two_product(square, zeros);
        (products[run], errors[run]) = (if is_held { product } else { f64::NAN }, error);
    }
    squares.pairs.add(&products, &mut squares.lost);
    squares.pairs.add(&errors, &mut squares.lost);
    let Quotients { near: mut found, mut are_told, are_exact } = squares.over(&divisors);
    for run in 0..ABREAST {
        let rounded = kind.round(found[run], are_exact[run]);
        are_told[run] &= rounded.is_some();
        found[run] = rounded.unwrap_or(0.0);
    }
    (found, are_told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::exact::Exact;

    fn check(pair: Pair, count: u128) -> bool {
        let mut exact = Exact::new();
        pair.into_iter().for_each(|part| exact.add(part));
        let (sum, error) = two_sum(pair[0], pair[1]);
        let found = by_remainder(sum, error, divisor(count));
        assert!(found.is_none_or(|found| found == exact.over(count, Kind::F64)), "{pair:?} / {count}: {found:?}");
        assert!(over(pair, count, Kind::F64).is_none_or(|found| found == exact.over(count, Kind::F64)));
        found.is_some()
    }

    /// Sums of which the quotient is a float, lies between two, and a little off either.
    #[test]
    fn quotients_between_two_floats_are_told_by_the_remainder() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        let mut told = 0;
        for round in 0..5_000 {
            bits = bits.wrapping_mul(0xd129_0d3b_3c4f_1b5d).wrapping_add(round);
            let count = [2, 3, 7, 10, 40, 64, 1000, 12_345, (1 << 40) + 1, (1 << 53) - 1][round as usize % 10];
            let mantissa = if round % 3 == 0 { 0 } else { bits >> 12 };
            let mut near = f64::from_bits((1023 + bits % 60) << 52 | mantissa);
            near = if bits & 1 << 40 == 0 { near } else { -near };
            let half = (near.next_up() - near) * 0.5;
            for part in [0.0, 0.5, 1.0, -1.0, 2.0, -2.0] {
                let (high, low) = two_product(near, count as f64);
                let rest = low + half * part * count as f64;
                for rest in [rest, rest * (1.0 + 2f64.powi(-40)), rest.next_up(), rest.next_down()] {
                    told += usize::from(check([high, rest], count));
                }
            }
        }
        assert!(told > 100_000, "{told}");
    }

    /// Rows of squares that fill more than two floats, and beside them one that moves a sum off the middle of two.
    #[test]
    fn sums_of_squares_are_the_nearest_floats_or_not_told() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        let mut told = 0;
        for round in 0..3000u64 {
            let mut value = |at: u64| {
                bits = bits.wrapping_mul(0xd129_0d3b_3c4f_1b5d).wrapping_add(at);
                let tie = [2f64.powi(26), 1.0, 2f64.powi(-30), 2f64.powi(-60)][at as usize % 4];
                let spread = bits % if round % 2 == 0 { 4 } else { 200 };
                if round % 3 == 0 { tie } else { f64::from_bits((1023 + spread) << 52 | bits >> 12) }
            };
            let values: Vec<f64> = (0..80).map(&mut value).collect();
            let runs = Abreast { starts: std::array::from_fn(|run| run * 10), sizes: [10; ABREAST] };
            let (found, are_told) = squares_of(&values, &runs);
            for run in (0..ABREAST).filter(|&run| are_told[run]) {
                let mut exact = Exact::new();
                let squares = values[runs.run(run)].iter().map(|&value| two_product(value, value));
                squares.flat_map(|(square, error)| [square, error]).for_each(|part| exact.add(part));
                assert_eq!(found[run], [exact.over(1, Kind::F64), 0.0], "{:?}", &values[runs.run(run)]);
                told += 1;
            }
        }
        assert!(told > 10_000, "{told}");
        // No square of the first; of the second the sum without the last lies in the middle of two floats.
        for row in [&[1e200, 1.0][..], &[2f64.powi(27), 1.0, 1.0, 2f64.powi(-60)]] {
            let (_, are_told) = squares_of(row, &Abreast { starts: [0; ABREAST], sizes: [row.len(); ABREAST] });
            assert_eq!(are_told, [false; ABREAST], "{row:?}");
        }
    }

    #[test]
    fn what_no_float_divides_is_left_to_others() {
        for (pair, count) in
            [([1.0, 0.0], 0), ([1.0, 0.0], 1 << 54), ([f64::MAX, 1.0], 3), ([1e-300, 0.0], 3), ([f64::NAN, 0.0], 2)]
        {
            let (sum, error) = two_sum(pair[0], pair[1]);
            assert_eq!(by_remainder(sum, error, divisor(count)), None);
        }
    }
}
