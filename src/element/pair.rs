//! Sums of floats that two floats hold without an error.

use std::ops::Range;

use super::exact::Kind;

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
#[inline]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let halves = |value: f64| {
        let scaled = value * 134_217_729.0; // 2^27 + 1
        let high = scaled - (scaled - value);
        (high, value - high)
    };
    let (product, (a_high, a_low), (b_high, b_low)) = (a * b, halves(a), halves(b));
    (product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

/// Whether products of a value and of counts are far from both ends of the range.
#[inline]
pub(super) fn is_amid(value: f64) -> bool {
    (1e-200..1e250).contains(&value.abs())
}

/// So many times a value, in two floats, where these hold it.
#[inline]
pub(super) fn times(value: f64, count: u128) -> Option<(f64, f64)> {
    (count >> 53 == 0 && is_amid(value)).then(|| two_product(value, count as f64))
}

/// The nearest float to `(sum + error) / count`, if that can be told, and whether it is the quotient itself.
#[inline]
fn divide(sum: f64, error: f64, count: u128) -> Option<(f64, bool)> {
    if count == 0 || count >> 53 != 0 || !(is_amid(sum) || sum == 0.0) {
        return None;
    }
    let count = count as f64;
    let quotient = sum / count;
    let (product, product_error) = two_product(quotient, count);
    let remainder = ((sum - product) - product_error) + error;
    // The remainder is rounded thrice, at 2^-53 of what is itself no more than 2^-52 of the sum.
    let (correction, doubt) = (remainder / count, quotient.abs() * 2f64.powi(-100));
    let near = quotient + (correction - doubt);
    (near == quotient + (correction + doubt)).then_some((near, remainder == 0.0 && error == 0.0))
}

/// What a pair holds over `count`, as the nearest value of a type of floats, in `f64`, if a quotient of floats tells
/// it.
#[inline(always)]
pub(super) fn over([high, low]: Pair, count: u128, kind: Kind) -> Option<f64> {
    let (sum, error) = two_sum(high, low);
    let (near, is_exact) = if count == 1 { (sum, error == 0.0) } else { divide(sum, error, count)? };
    kind.round(near, is_exact)
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

/// So many neighbours are added in a tree, whether there are as many or not: no branch to predict.
const WIDTH: usize = 16;

/// The sum of some neighbours, if a pair holds it.
#[inline(always)]
pub(super) fn sum_of<T: Copy + Into<f64>>(values: &[T], neighbours: Range<usize>) -> Option<Pair> {
    match neighbours.len() {
        ..=WIDTH => held(in_tree(first_of(values, neighbours))),
        _ => in_order(&values[neighbours]),
    }
}

/// The sum of values one after the other, if a pair holds it.
#[inline(always)]
fn in_order<T: Copy + Into<f64>>(values: &[T]) -> Option<Pair> {
    let mut pair = [0.0; 2];
    let lost = values.iter().fold(0.0, |lost, &value| lost + add_to_pair(&mut pair, value.into()).abs());
    held((pair, lost))
}

/// A pair of which nothing was lost. A NaN is lost as well.
#[inline(always)]
fn held((pair, lost): (Pair, f64)) -> Option<Pair> {
    (lost == 0.0).then_some(pair)
}

/// At most [`WIDTH`] neighbours, and zeros behind them. As many are read, if there are as many.
#[inline(always)]
fn first_of<T: Copy + Into<f64>>(values: &[T], neighbours: Range<usize>) -> [f64; WIDTH] {
    let mut first = [0.0; WIDTH];
    let count = neighbours.len();
    match values[neighbours.start..].first_chunk::<WIDTH>() {
        Some(values) => {
            for at in 0..WIDTH {
                first[at] = if at < count { values[at].into() } else { 0.0 };
            }
        }
        None => first.iter_mut().zip(&values[neighbours]).for_each(|(first, &value)| *first = value.into()),
    }
    first
}

/// Pairs side by side, and what was lost in them.
#[derive(Clone, Copy)]
struct Pairs<const N: usize> {
    high: [f64; N],
    low: [f64; N],
    lost: [f64; N],
}

#[inline(always)]
fn in_tree(values: [f64; WIDTH]) -> (Pair, f64) {
    let leaves: Pairs<WIDTH> = Pairs { high: values, low: [0.0; WIDTH], lost: [0.0; WIDTH] };
    let Pairs { high, low, lost } = halved::<2, 1>(halved::<4, 2>(halved::<8, 4>(halved::<WIDTH, 8>(leaves))));
    ([high[0], low[0]], lost[0])
}

/// The sums of the pairs of both halves.
#[inline(always)]
fn halved<const N: usize, const M: usize>(pairs: Pairs<N>) -> Pairs<M> {
    let mut sums = Pairs { high: [0.0; M], low: [0.0; M], lost: [0.0; M] };
    for at in 0..M {
        let (high, error) = two_sum(pairs.high[at], pairs.high[at + M]);
        let (low, lost) = two_sum(pairs.low[at], pairs.low[at + M]);
        let (low, more) = two_sum(low, error);
        (sums.high[at], sums.low[at]) = (high, low);
        sums.lost[at] = (lost.abs() + more.abs()) + (pairs.lost[at] + pairs.lost[at + M]);
    }
    sums
}
