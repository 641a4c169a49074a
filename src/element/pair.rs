//! Sums of floats that are represented exactly by two floats.

use super::exact::FloatFormat;
use super::in_f64::ExactInF64;
use super::interleaved::{INTERLEAVED, Interleaved, RunResults};

/// Returns the sum as the nearest float and its rounding error; if the sum is not finite, neither is the error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rounded_b = sum - a;
    (sum, (a - (sum - rounded_b)) + (b - rounded_b))
}

/// Returns the product as the nearest float and its rounding error; factors must not be near the ends of the float
/// range.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let (product, (a_high, a_low), (b_high, b_low)) = (a * b, halves(a), halves(b));
    (product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

/// Splits a float into a sum of two floats with half as many bits.
#[inline(always)]
fn halves(value: f64) -> (f64, f64) {
    let scaled = value * 134_217_729.0; // 2^27 + 1
    let high = scaled - (scaled - value);
    (high, value - high)
}

/// Returns whether products of a value and a count are far from both ends of the float range.
#[inline(always)]
pub(super) fn is_mid_range(value: f64) -> bool {
    (1e-200 <= value.abs()) & (value.abs() < 1e250)
}

/// Returns `count` times a value as two floats, if they represent it exactly.
#[inline]
pub(super) fn times(value: f64, count: u128) -> Option<(f64, f64)> {
    (count >> 53 == 0 && is_mid_range(value)).then(|| two_product(value, count as u64 as f64))
}

/// A quotient as the nearest float.
struct Quotient {
    near: f64,
    /// True if `near` is known to be the nearest float.
    is_certain: bool,
    /// True if `near` equals the quotient.
    is_exact: bool,
}

/// Returns `(sum + error) / count`, if the true error differs from `error` by at most `lost`. A `count` of NaN does not
/// have a quotient.
#[inline(always)]
fn divide(sum: f64, error: f64, lost: f64, count: f64) -> Quotient {
    let inverse = 1.0 / count;
    let quotient = sum * inverse;
    let (product, product_error) = two_product(quotient, count);
    let remainder = ((sum - product) - product_error) + error;
    // The remainder is rounded three times, and the correction twice. Each error is 2^-53 relative to at most 2^-50 of
    // the sum.
    let (correction, tolerance) = (remainder * inverse, quotient.abs() * 2f64.powi(-100) + 2.0 * lost * inverse);
    let near = quotient + (correction - tolerance);
    let is_certain = (is_mid_range(sum) | (sum == 0.0)) & (near == quotient + (correction + tolerance));
    Quotient { near, is_certain, is_exact: (remainder == 0.0) & (error == 0.0) & (lost == 0.0) }
}

/// Returns a count as a float, or NaN if the count is 0 or is not exact as a float.
#[inline(always)]
fn divisor(count: u128) -> f64 {
    if count == 0 || count >> 53 != 0 { f64::NAN } else { count as u64 as f64 }
}

/// Returns the sum of a pair divided by `count`, rounded to a float type, if a quotient of floats determines it.
#[inline(always)]
pub(super) fn over([high, low]: Pair, count: u128, kind: FloatFormat) -> Option<f64> {
    let (sum, error) = two_sum(high, low);
    if count == 1 {
        return kind.round(sum, error == 0.0);
    }
    quotient([sum, error], divisor(count), kind)
}

/// Returns a pair divided by a float, rounded to a float type, if floats determine the quotient. The first float of the
/// pair is the nearest to its sum.
pub(super) fn over_float(pair: Pair, divisor: f64, kind: FloatFormat) -> Option<f64> {
    // Quotients are then far from both ends of the float range.
    let is_mid_size = (1e-40..1e40).contains(&divisor);
    if is_mid_size { quotient(two_sum(pair[0], pair[1]).into(), divisor, kind) } else { None }
}

#[inline(always)]
fn quotient([sum, error]: Pair, divisor: f64, kind: FloatFormat) -> Option<f64> {
    let Quotient { near, is_certain, is_exact } = divide(sum, error, 0.0, divisor);
    match is_certain {
        true => kind.round(near, is_exact),
        false if kind == FloatFormat::F64 => by_remainder(sum, error, divisor),
        false => None,
    }
}

/// Returns `(sum + error) / count` as the nearest float, ties to even; `None` if floats do not represent the remainder
/// exactly.
///
/// Means of values of similar magnitude are often halfway between two floats.
#[inline(never)]
fn by_remainder(sum: f64, error: f64, count: f64) -> Option<f64> {
    let quotient = sum / count;
    let (product, product_error) = two_product(quotient, count);
    // The remainder of a correctly rounded quotient is a float.
    let (remainder, lost) = two_sum((sum - product) - product_error, error);
    if !(is_mid_range(sum) & (lost == 0.0)) {
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

/// Two floats whose sum is the value; the first is the nearest to it.
pub(super) type Pair = [f64; 2];

/// Adds a value to a pair. Returns the part of the sum that does not fit in the pair, or 0.
#[inline(always)]
pub(super) fn add_to_pair([high, low]: &mut Pair, value: f64) -> f64 {
    let (sum, error) = two_sum(*high, value);
    let (rest, lost) = two_sum(*low, error);
    (*high, *low) = (sum, rest);
    lost
}

/// Parallel sums of two floats each.
#[derive(Clone, Copy)]
pub(super) struct PairSums<const N: usize> {
    pub(super) high: [f64; N],
    pub(super) low: [f64; N],
}

impl<const N: usize> PairSums<N> {
    pub(super) const ZERO: Self = PairSums { high: [0.0; N], low: [0.0; N] };

    /// Adds a value to each sum, and the loss of each addition to `lost`. A NaN also counts as a loss.
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

/// The sum of each run, and the maximum loss.
struct Sums {
    pairs: PairSums<INTERLEAVED>,
    lost: [f64; INTERLEAVED],
}

impl Sums {
    /// Returns the sums of runs, or of the squares of their differences from `means`.
    #[inline(always)]
    fn of<T: Copy, const SQUARED: bool>(
        values: &[T],
        runs: &Interleaved,
        float: impl Fn(T) -> f64,
        means: [f64; INTERLEAVED],
    ) -> Self {
        let (mut pairs, mut lost) = (PairSums::ZERO, [0.0; INTERLEAVED]);
        runs.for_each(
            values,
            float,
            means,
            #[inline(always)]
            |_, mut values| {
                if SQUARED {
                    for run in 0..INTERLEAVED {
                        values[run] = (values[run] - means[run]) * (values[run] - means[run]);
                    }
                }
                pairs.add(&values, &mut lost);
            },
        );
        Sums { pairs, lost }
    }

    /// Returns the pairs, and whether they represent the sums exactly.
    #[inline(always)]
    fn known(&self) -> RunResults<Pair> {
        let (mut found, mut are_held) = ([[0.0; 2]; INTERLEAVED], [false; INTERLEAVED]);
        for run in 0..INTERLEAVED {
            found[run] = [self.pairs.high[run], self.pairs.low[run]];
            are_held[run] = self.lost[run] == 0.0;
        }
        (found, are_held)
    }

    /// Returns the sums divided by counts.
    #[inline(always)]
    fn over(&self, counts: &[f64; INTERLEAVED]) -> Quotients {
        let (PairSums { high, low }, lost) = (&self.pairs, &self.lost);
        let mut quotients =
            Quotients { near: [0.0; INTERLEAVED], are_certain: [false; INTERLEAVED], are_exact: [false; INTERLEAVED] };
        for run in 0..INTERLEAVED {
            let (sum, error) = two_sum(high[run], low[run]);
            let quotient = divide(sum, error, lost[run], counts[run]);
            quotients.near[run] = quotient.near;
            quotients.are_certain[run] = quotient.is_certain;
            quotients.are_exact[run] = quotient.is_exact;
        }
        quotients
    }
}

/// The quotients of eight runs.
struct Quotients {
    near: [f64; INTERLEAVED],
    are_certain: [bool; INTERLEAVED],
    are_exact: [bool; INTERLEAVED],
}

/// Returns the sums of eight runs, and whether pairs represent the sums exactly.
#[inline(always)]
pub(super) fn sums_of<T: Copy>(values: &[T], runs: &Interleaved, float: impl Fn(T) -> f64) -> RunResults<Pair> {
    Sums::of::<T, false>(values, runs, float, [0.0; INTERLEAVED]).known()
}

/// Returns the product of two values as two floats, if they represent it exactly. If the product is not finite, the
/// first float represents it.
#[inline(always)]
pub(super) fn product(a: f64, b: f64) -> Option<Pair> {
    match has_square(a) & has_square(b) {
        true => Some(two_product(a, b).into()),
        false if a.is_finite() && b.is_finite() => None,
        false => Some([a * b, 0.0]),
    }
}

/// Returns whether two floats represent the square of a value exactly.
#[inline(always)]
pub(super) fn has_square(value: f64) -> bool {
    (value == 0.0) | ((1e-140 <= value.abs()) & (value.abs() < 1e140))
}

/// Returns the sums of squares of eight runs as the nearest floats, and whether pairs determine these floats.
///
/// Pairs may determine the nearest float of a sum without representing the sum exactly.
#[inline(always)]
pub(super) fn squares_of<T: ExactInF64>(values: &[T], runs: &Interleaved) -> RunResults<Pair> {
    let (mut pairs, mut lost) = (PairSums::ZERO, [0.0; INTERLEAVED]);
    runs.for_each(
        values,
        T::in_f64,
        [0.0; INTERLEAVED],
        #[inline(always)]
        |_, values| {
            let (mut squares, mut errors) = ([0.0; INTERLEAVED], [0.0; INTERLEAVED]);
            for run in 0..INTERLEAVED {
                (squares[run], errors[run]) = two_product(values[run], values[run]);
                lost[run] += if has_square(values[run]) { 0.0 } else { f64::INFINITY };
            }
            pairs.add(&squares, &mut lost);
            pairs.add(&errors, &mut lost);
        },
    );
    let (mut found, mut are_certain) = ([[0.0; 2]; INTERLEAVED], [false; INTERLEAVED]);
    for run in 0..INTERLEAVED {
        let (sum, error) = two_sum(pairs.high[run], pairs.low[run]);
        // The rounding error of the sum of the losses is smaller than this sum. The error of the sum is rounded once
        // more.
        let tolerance = if lost[run] == 0.0 { 0.0 } else { 2.0 * lost[run] + sum * 2f64.powi(-100) };
        let near = sum + (error - tolerance);
        (found[run][0], are_certain[run]) = (near, near == sum + (error + tolerance));
    }
    (found, are_certain)
}

/// Returns the variances of eight runs, rounded to a float type, as `f64`, and whether pairs determine them.
///
/// Each count includes zeros that are not stored in the run. The sum of squares is divided by the count minus `ddof`.
/// Pairs may determine a variance without representing the sums exactly.
#[inline(always)]
pub(super) fn variances_of<T: ExactInF64>(
    values: &[T],
    runs: &Interleaved,
    counts: &[u128; INTERLEAVED],
    ddof: u64,
    kind: FloatFormat,
) -> RunResults<f64> {
    let (mut whole, mut divisors) = ([0.0; INTERLEAVED], [0.0; INTERLEAVED]);
    for run in 0..INTERLEAVED {
        (whole[run], divisors[run]) = (divisor(counts[run]), divisor(counts[run].saturating_sub(ddof.into())));
    }
    let Quotients { near: mut means, are_certain, .. } =
        Sums::of::<T, false>(values, runs, T::in_f64, [0.0; INTERLEAVED]).over(&whole);
    for run in 0..INTERLEAVED {
        means[run] = if are_certain[run] { means[run] } else { f64::NAN };
    }
    let mut squares = Sums::of::<T, true>(values, runs, T::in_f64, means);
    let (mut products, mut errors) = ([0.0; INTERLEAVED], [0.0; INTERLEAVED]);
    for run in 0..INTERLEAVED {
        let (square, zeros) = (means[run] * means[run], whole[run] - runs.sizes[run] as f64);
        let is_held = is_mid_range(square) | (means[run] == 0.0) | (zeros == 0.0);
        let (product, error) = two_product(square, zeros);
        (products[run], errors[run]) = (if is_held { product } else { f64::NAN }, error);
    }
    squares.pairs.add(&products, &mut squares.lost);
    squares.pairs.add(&errors, &mut squares.lost);
    let Quotients { near: mut found, mut are_certain, are_exact } = squares.over(&divisors);
    for run in 0..INTERLEAVED {
        let rounded = kind.round(found[run], are_exact[run]);
        are_certain[run] &= rounded.is_some();
        found[run] = rounded.unwrap_or(0.0);
    }
    (found, are_certain)
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
        assert!(
            found.is_none_or(|found| found == exact.over(count, FloatFormat::F64)),
            "{pair:?} / {count}: {found:?}"
        );
        assert!(over(pair, count, FloatFormat::F64).is_none_or(|found| found == exact.over(count, FloatFormat::F64)));
        found.is_some()
    }

    /// Tests sums whose quotient is a float, is halfway between two floats, or is near a float or a midpoint.
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

    /// Tests rows whose sum of squares does not fit in two floats. A last small square moves the sum away from a
    /// midpoint.
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
            let runs = Interleaved { starts: std::array::from_fn(|run| run * 10), sizes: [10; INTERLEAVED] };
            let (found, are_certain) = squares_of(&values, &runs);
            for run in (0..INTERLEAVED).filter(|&run| are_certain[run]) {
                let mut exact = Exact::new();
                let squares = values[runs.run(run)].iter().map(|&value| two_product(value, value));
                squares.flat_map(|(square, error)| [square, error]).for_each(|part| exact.add(part));
                assert_eq!(found[run], [exact.over(1, FloatFormat::F64), 0.0], "{:?}", &values[runs.run(run)]);
                told += 1;
            }
        }
        assert!(told > 10_000, "{told}");
        // The first row has a square that is out of range. In the second row, the sum of all values except the last is
        // halfway between two floats.
        for row in [&[1e200, 1.0][..], &[2f64.powi(27), 1.0, 1.0, 2f64.powi(-60)]] {
            let (_, are_certain) =
                squares_of(row, &Interleaved { starts: [0; INTERLEAVED], sizes: [row.len(); INTERLEAVED] });
            assert_eq!(are_certain, [false; INTERLEAVED], "{row:?}");
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
