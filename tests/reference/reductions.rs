//! Reductions of a group, each the plainest reading of its definition: the group is a list of its values with their
//! positions, and `None` stands for an error.

use num_bigint::{BigInt, BigUint, Sign};
use num_complex::Complex;

use super::dense::{Dense, Groups, Sparse, groups, ravel, reduced_coords, reduced_shape, unravel};
use super::exact::{F64, Real, Summed, SummedFloat, quotient, total};
use super::scalar::{RealScalar, Scalar};
use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::{BTreeMap, BTreeSet};

/// The elements of a group with their row-major positions in it.
pub type Group<T> = [(u64, T)];

/// Returns one value per group of an array.
pub fn reduce<T: Scalar, U: Scalar>(
    x: &Dense<T>,
    axes: &[usize],
    keep_dims: bool,
    of: impl Fn(&Group<T>) -> Option<U>,
) -> Option<Dense<U>> {
    reduce_groups(x, &groups(&x.shape, axes, keep_dims), of)
}

/// Returns one value per given group.
pub fn reduce_groups<T: Scalar, U: Scalar>(
    x: &Dense<T>,
    groups: &Groups,
    of: impl Fn(&Group<T>) -> Option<U>,
) -> Option<Dense<U>> {
    let of_cell = |cell: &Vec<usize>| of(&group_at(x, cell));
    Some(Dense::new(&groups.shape, groups.cells.iter().map(of_cell).collect::<Option<_>>()?))
}

/// Returns one value per group that has an entry, computed from only the entries.
pub fn reduce_stored<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    axes: &[usize],
    keep_dims: bool,
    of: impl Fn(&Group<T>) -> Option<U>,
    fill: U,
) -> Option<Sparse<U>> {
    let mut groups = std::collections::BTreeMap::<Vec<usize>, Vec<(u64, T)>>::new();
    let lengths: Vec<usize> = axes.iter().map(|&axis| x.shape[axis]).collect();
    for (at, &value) in &x.entries {
        let within: Vec<usize> = axes.iter().map(|&axis| at[axis]).collect();
        let entry = (ravel(&within, &lengths) as u64, value);
        groups.entry(reduced_coords(at, axes, keep_dims)).or_default().push(entry);
    }
    let entries = groups.into_iter().map(|(cell, group)| Some((cell, of(&group)?))).collect::<Option<_>>()?;
    Some(Sparse::new(&reduced_shape(&x.shape, axes, keep_dims), entries, fill))
}

/// The cells of labels that no position has, if these hold another value than what is not stored with another label.
pub fn cells_of_nothing<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    groups: &Groups,
    of: impl Fn(&Group<T>) -> Option<U>,
) -> Vec<Vec<usize>> {
    let of_gaps = |count: usize| of(&(0..count as u64).map(|position| (position, x.fill)).collect::<Vec<_>>());
    let counts: BTreeSet<usize> = groups.cells.iter().map(Vec::len).collect();
    let is_nothing = |count: usize| match (of_gaps(count), of_gaps(0)) {
        (Some(gaps), Some(nothing)) => gaps.bits_equal(nothing),
        _ => false,
    };
    if counts.iter().filter(|&&count| count > 0).all(|&count| is_nothing(count)) {
        return Vec::new();
    }
    let all = Dense::new(&groups.shape, groups.cells.iter().map(Vec::len).collect());
    all.coords().into_iter().filter(|at| all.get(at) == 0).collect()
}

/// Returns one value per given group that has an entry, computed from only the entries.
pub fn reduce_stored_groups<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    groups: &Groups,
    of: impl Fn(&Group<T>) -> Option<U>,
    fill: U,
) -> Option<Sparse<U>> {
    let mut results = std::collections::BTreeMap::new();
    for (cell, positions) in groups.cells.iter().enumerate() {
        let places = positions.iter().map(|&position| unravel(position as u128, &x.shape));
        let group = places.enumerate().filter_map(|(at, place)| Some((at as u64, *x.entries.get(&place)?)));
        let group: Vec<(u64, T)> = group.collect();
        if !group.is_empty() {
            results.insert(unravel(cell as u128, &groups.shape), of(&group)?);
        }
    }
    Some(Sparse::new(&groups.shape, results, fill))
}

fn values<T: Copy>(group: &Group<T>) -> Vec<T> {
    group.iter().map(|(_, value)| *value).collect()
}

/// The group without its NaNs.
fn numbers<T: Scalar>(group: &Group<T>) -> Vec<(u64, T)> {
    group.iter().copied().filter(|(_, value)| !value.is_nan()).collect()
}

/// Returns whether all values are truthy.
pub fn all<T: Scalar>(group: &Group<T>) -> Option<bool> {
    Some(group.iter().all(|(_, value)| value.truthy()))
}

/// The sum.
pub fn sum<T: Summed>(group: &Group<T>) -> Option<T::Sum> {
    T::sum_from(&total(&values(group)))
}

/// The mean.
pub fn mean<T: Summed>(group: &Group<T>) -> Option<T::Mean> {
    Some(T::mean_from(&total(&values(group)), group.len() as u128))
}

/// The sum of numbers.
pub fn nansum<T: Summed>(group: &Group<T>) -> Option<T::Sum> {
    sum(&numbers(group))
}

/// The mean of numbers.
pub fn nanmean<T: Summed>(group: &Group<T>) -> Option<T::Mean> {
    mean(&numbers(group))
}

/// Returns whether `a` comes before `b`; -0.0 comes before +0.0.
fn is_less<T: RealScalar>(a: T, b: T) -> bool {
    a.less(b) == Some(true) || (a == b && !a.same(b) && b.same(T::zero()))
}

/// The least.
pub fn min<T: RealScalar>(group: &Group<T>) -> Option<T> {
    if let Some((_, nan)) = group.iter().find(|(_, value)| value.is_nan()) {
        return Some(nan.canonical());
    }
    values(group).into_iter().reduce(|a, b| if is_less(b, a) { b } else { a })
}

/// The greatest.
pub fn max<T: RealScalar>(group: &Group<T>) -> Option<T> {
    if let Some((_, nan)) = group.iter().find(|(_, value)| value.is_nan()) {
        return Some(nan.canonical());
    }
    values(group).into_iter().reduce(|a, b| if is_less(a, b) { b } else { a })
}

/// The least number, NaN of none.
pub fn nanmin<T: SummedFloat + RealScalar>(group: &Group<T>) -> Option<T> {
    Some(min(&numbers(group)).unwrap_or(T::narrow(f64::NAN)))
}

/// The greatest number, NaN of none.
pub fn nanmax<T: SummedFloat + RealScalar>(group: &Group<T>) -> Option<T> {
    Some(max(&numbers(group)).unwrap_or(T::narrow(f64::NAN)))
}

/// The position of the first NaN, or else of the first element equal to `extreme`.
fn first<T: RealScalar>(group: &Group<T>, extreme: Option<T>) -> Option<u64> {
    let is_found = |value: T| extreme.is_some_and(|extreme| value == extreme || (value.is_nan() && extreme.is_nan()));
    group.iter().find(|(_, value)| is_found(*value)).map(|(position, _)| *position)
}

/// The position of the least.
pub fn argmin<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    first(group, min(group))
}

/// The position of the greatest.
pub fn argmax<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    first(group, max(group))
}

/// The position of the least number, `u64::MAX` of none.
pub fn nanargmin<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    Some(argmin(&numbers(group)).unwrap_or(u64::MAX))
}

/// The position of the greatest number, `u64::MAX` of none.
pub fn nanargmax<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    Some(argmax(&numbers(group)).unwrap_or(u64::MAX))
}

/// A real element whose variance is of type `Spread`.
pub trait Spread: Summed + RealScalar {
    /// The type of the variance.
    type Spread: SummedFloat;

    /// The value as an `f64`.
    fn nearest(self) -> f64;
}

macro_rules! spread_plain {
    ($($type:ty),*) => {$(
        impl Spread for $type {
            type Spread = f64;
            fn nearest(self) -> f64 {
                i128::from(self) as f64
            }
        }
    )*};
}

spread_plain!(bool, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! spread_floats {
    ($($type:ty),*) => {$(
        impl Spread for $type {
            type Spread = $type;
            fn nearest(self) -> f64 {
                self.wide()
            }
        }
    )*};
}

spread_floats!(f32, f64);
#[cfg(feature = "half")]
spread_floats!(half::f16, half::bf16);

/// The exact sum of the squares of the rounded differences to the mean in `f64`, and that mean.
fn squares<T: Spread>(group: &Group<T>) -> (Real, f64) {
    let mean = total(&values(group))[0].over(group.len() as u128, F64);
    let square = |value: T| (value.nearest() - mean) * (value.nearest() - mean);
    (Real::sum(values(group).into_iter().map(|value| Real::of(square(value)))), mean)
}

/// The variance.
pub fn var<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    Some(T::Spread::rounded(&squares(group).0, (group.len() as u128).saturating_sub(ddof)))
}

/// The standard deviation.
pub fn std<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    let variance = squares(group).0.over((group.len() as u128).saturating_sub(ddof), F64);
    Some(T::Spread::rounded(&Real::of(variance.sqrt()), 1))
}

/// The exact sum of the squares of both parts about the mean in `f64`.
fn complex_squares(group: &Group<Complex<f32>>) -> Real {
    let parts: [Vec<f64>; 2] = [|z: Complex<f32>| z.re, |z: Complex<f32>| z.im]
        .map(|part| group.iter().map(|(_, value)| f64::from(part(*value))).collect());
    let squares = parts.map(|part| {
        let mean = total(&part)[0].over(part.len() as u128, F64);
        Real::sum(part.into_iter().map(|value| Real::of((value - mean) * (value - mean))))
    });
    Real::sum(squares)
}

/// The variance of complex numbers.
pub fn complex_var(group: &Group<Complex<f32>>, ddof: u128) -> Option<f32> {
    Some(f32::rounded(&complex_squares(group), (group.len() as u128).saturating_sub(ddof)))
}

/// The standard deviation of complex numbers.
pub fn complex_std(group: &Group<Complex<f32>>, ddof: u128) -> Option<f32> {
    let variance = complex_squares(group).over((group.len() as u128).saturating_sub(ddof), F64);
    Some(f32::rounded(&Real::of(variance.sqrt()), 1))
}

/// The variance of the numbers.
pub fn nanvar<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    var(&numbers(group), ddof)
}

/// The standard deviation of the numbers.
pub fn nanstd<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    std(&numbers(group), ddof)
}

/// The numbers in order, with their places; no numbers if there is a NaN that counts.
fn in_order<T: RealScalar>(group: &Group<T>, skips_nan: bool) -> Vec<(usize, T)> {
    let mut placed: Vec<(usize, T)> = group.iter().map(|(_, value)| *value).enumerate().collect();
    if !skips_nan && placed.iter().any(|(_, value)| value.is_nan()) {
        return Vec::new();
    }
    placed.retain(|(_, value)| !value.is_nan());
    placed.sort_by(|a, b| a.1.order(b.1));
    placed
}

/// The two ranks about a quantile of `n` numbers, and how far it is from the first to the second.
fn ranks(n: usize, q: f64, method: &str) -> (usize, usize, f64) {
    let h = q * (n - 1) as f64;
    let (low, high) = (h.floor() as usize, h.ceil() as usize);
    match method {
        "linear" => (low, high, h - h.floor()),
        "lower" => (low, low, 0.0),
        "higher" => (high, high, 0.0),
        "midpoint" if low < high => (low, high, 0.5),
        "midpoint" => (low, low, 0.0),
        _ => (h.round_ties_even() as usize, h.round_ties_even() as usize, 0.0),
    }
}

/// The quantile at `q`, with or without the NaNs.
pub fn quantile<T: Spread>(group: &Group<T>, q: f64, method: &str, skips_nan: bool) -> Option<T::Spread> {
    let sorted = in_order(group, skips_nan);
    if sorted.is_empty() {
        return Some(T::Spread::narrow(f64::NAN));
    }
    let (low, high, t) = ranks(sorted.len(), q, method);
    let high = if t == 0.0 { low } else { high };
    let between = Real::between(sorted[low].1.nearest(), sorted[high].1.nearest(), t, T::Spread::KIND);
    Some(T::Spread::narrow(between))
}

/// The shares of a quantile: of those equal to the two values, or of the ones at the two ranks.
pub fn quantile_shares<T: Spread, G: SummedFloat>(
    group: &Group<T>,
    g: G,
    q: f64,
    method: &str,
    skips_nan: bool,
    first: bool,
) -> Vec<G> {
    let mut given = vec![G::narrow(0.0); group.len()];
    let sorted = in_order(group, skips_nan);
    if sorted.is_empty() {
        return given;
    }
    let (low, high, t) = ranks(sorted.len(), q, method);
    let is_one = t == 0.0 || (!first && sorted[low].1 == sorted[high].1);
    for (rank, part) in if is_one { vec![(low, 1.0)] } else { vec![(low, 1.0 - t), (high, t)] } {
        let receives = |other: usize| if first { other == rank } else { sorted[other].1 == sorted[rank].1 };
        let receivers: Vec<usize> = (0..sorted.len()).filter(|&other| receives(other)).collect();
        for &receiver in &receivers {
            given[sorted[receiver].0] = part_of(g, part, receivers.len());
        }
    }
    given
}

/// `g * part / n`, each step in the type of the gradient, `f32` for the 16-bit floats.
fn part_of<G: SummedFloat>(g: G, part: f64, n: usize) -> G {
    let wide = g.wide();
    let narrow = || f64::from(wide as f32 * part as f32 / n as f32);
    let given = if G::KIND == F64 { wide * part / n as f64 } else { narrow() };
    let rounded = G::rounded(&Real::of(given), 1);
    // A zero keeps its sign.
    if rounded.wide() == 0.0 { G::narrow(0f64.copysign(given)) } else { rounded }
}

/// The gradient of a reduction: `share` tells what the elements of a group receive, by their places in it.
pub fn backward<T: Scalar, G: SummedFloat>(
    x: &Dense<T>,
    axes: &[usize],
    keep_dims: bool,
    upstream: &Dense<G>,
    share: impl Fn(&Group<T>, G) -> Vec<G>,
) -> Dense<G> {
    share_in_groups(x, &groups(&x.shape, axes, keep_dims), upstream, share)
}

/// Returns the gradient that the elements of the given groups receive.
pub fn share_in_groups<T: Scalar, G: SummedFloat>(
    x: &Dense<T>,
    groups: &Groups,
    upstream: &Dense<G>,
    share: impl Fn(&Group<T>, G) -> Vec<G>,
) -> Dense<G> {
    let mut gradient = Dense::full(&x.shape, G::narrow(0.0));
    for (cell, positions) in groups.cells.iter().enumerate().filter(|(cell, _)| upstream.data[*cell].truthy()) {
        let group: Vec<(u64, T)> = positions.iter().enumerate().map(|(at, &from)| (at as u64, x.data[from])).collect();
        for (given, &position) in share(&group, upstream.data[cell]).into_iter().zip(positions) {
            gradient.data[position] = given;
        }
    }
    gradient
}

/// `g / n`, rounded once; a zero keeps its sign.
fn over<G: SummedFloat>(g: G, n: usize) -> G {
    if g.truthy() { G::rounded(&Real::of(g.wide()), n as u128) } else { g }
}

/// The shares of a sum, or of a mean; with or without the NaNs.
pub fn sum_shares<T: Scalar, G: SummedFloat>(group: &Group<T>, g: G, is_mean: bool, skips_nan: bool) -> Vec<G> {
    let count = if skips_nan { numbers(group).len() } else { group.len() };
    let share = |value: T| match skips_nan && value.is_nan() {
        true => G::narrow(0.0),
        false if is_mean => over(g, count),
        false => g,
    };
    group.iter().map(|(_, value)| share(*value)).collect()
}

/// The shares of those equal to `extreme`.
pub fn equal_shares<T: RealScalar, G: SummedFloat>(group: &Group<T>, g: G, extreme: Option<T>) -> Vec<G> {
    let is_equal = |value: T| extreme.is_some_and(|extreme| value == extreme);
    let count = group.iter().filter(|(_, value)| is_equal(*value)).count();
    group.iter().map(|(_, value)| if is_equal(*value) { over(g, count) } else { G::narrow(0.0) }).collect()
}

/// The shares of a variance, or of a standard deviation; with or without the NaNs.
pub fn spread_shares<T: Spread, G: SummedFloat>(
    group: &Group<T>,
    g: G,
    ddof: u128,
    is_root: bool,
    skips_nan: bool,
) -> Vec<G> {
    let counted = if skips_nan { numbers(group) } else { group.to_vec() };
    let (squares, mean) = squares(&counted);
    let divisor = (counted.len() as u128).saturating_sub(ddof);
    let root = squares.over(divisor, F64).sqrt();
    let share = |value: T| {
        let given = 2.0 * (value.nearest() - mean) * g.wide() / if divisor == 0 { f64::NAN } else { divisor as f64 };
        // A deviation of 0 has no slope, and the gradient of 0 as a norm of 0 has.
        let is_flat = is_root && root == 0.0;
        let given = if is_root && !is_flat { given / (2.0 * root) } else { given };
        let given = if is_flat { 0.0 } else { given };
        let rounded = G::rounded(&Real::of(given), 1);
        // A zero keeps its sign.
        if rounded.wide() == 0.0 { G::narrow(0f64.copysign(given)) } else { rounded }
    };
    let share = |value: T| if skips_nan && value.is_nan() { G::narrow(0.0) } else { share(value) };
    group.iter().map(|(_, value)| share(*value)).collect()
}

/// The product of integers, which must fit.
pub fn prod_of_integers<T: Summed>(group: &Group<T>) -> Option<T::Sum> {
    let product: BigInt = group.iter().map(|(_, value)| whole(*value)).product();
    T::sum_from(&[Real::Finite(product << 1074)])
}

/// An integer.
fn whole<T: Summed>(value: T) -> BigInt {
    let Real::Finite(scaled) = &value.parts()[0] else { panic!("an integer") };
    scaled >> 1074u32
}

/// The product of floats or of complex numbers by the tree over all positions, of which some may be left out.
pub fn prod<T: Multiplied>(group: &Group<T>) -> Option<T> {
    let mut factors = vec![None; group.last().map_or(0, |(at, _)| *at as usize + 1)];
    group.iter().for_each(|(at, value)| factors[*at as usize] = Some(value.to_parts()));
    Some(product(&factors).map_or(T::one(), T::from_parts))
}

/// The product without the NaNs, each of which is a 1 in its place.
pub fn nanprod<T: Multiplied>(group: &Group<T>) -> Option<T> {
    prod(&group.iter().map(|&(at, value)| (at, if value.is_nan() { T::one() } else { value })).collect::<Vec<_>>())
}

/// The gradient of a product: the product of all blocks beside each element, from the top down, and the gradient.
pub fn prod_shares<T: Spread, G: SummedFloat + Multiplied>(group: &Group<T>, g: G, skips_nan: bool) -> Vec<G> {
    let is_skipped = |value: T| skips_nan && value.is_nan();
    let one_or = |value: T| if is_skipped(value) { 1.0 } else { value.nearest() };
    let factors: Vec<Factor> = values(group).into_iter().map(|value| Some(one_or(value).to_parts())).collect();
    let of = |at: usize| match is_skipped(group[at].1) {
        true => G::narrow(0.0),
        false => G::from_parts(times(&beside(&factors, at), &g.to_parts())),
    };
    (0..group.len()).map(of).collect()
}

/// Half of the least power of two that is as many, at least.
fn half_of(count: usize) -> usize {
    count.next_power_of_two() / 2
}

/// The factor at a position, if there is one.
type Factor = Option<[Wide; 2]>;

fn product(factors: &[Factor]) -> Factor {
    match factors {
        [] => None,
        [one] => one.clone(),
        _ => {
            let (left, right) = factors.split_at(half_of(factors.len()));
            match (product(left), product(right)) {
                (Some(left), Some(right)) => Some(times(&left, &right)),
                (left, right) => left.or(right),
            }
        }
    }
}

/// The product of all but one.
fn beside(factors: &[Factor], at: usize) -> [Wide; 2] {
    let (mut around, mut rest, mut at) = (1.0.to_parts(), factors, at);
    while rest.len() > 1 {
        let half = half_of(rest.len());
        let (left, right) = rest.split_at(half);
        let other = product(if at < half { right } else { left });
        around = other.map_or(around.clone(), |other| times(&around, &other));
        (rest, at) = if at < half { (left, at) } else { (right, at - half) };
    }
    around
}

/// `*` of complex numbers; of real ones, whose second part is none, that of the first.
fn times([a, b]: &[Wide; 2], [c, d]: &[Wide; 2]) -> [Wide; 2] {
    match (b, d) {
        (Wide::None, Wide::None) => [a.times(c), Wide::None],
        _ => [a.times(c).plus(b.times(d).negated()), a.times(d).plus(b.times(c))],
    }
}

/// A float of 53 bits with any exponent.
#[derive(Clone, Debug)]
pub enum Wide {
    /// An integer times a power of two.
    Finite(BigInt, i64),
    /// Zero, an infinity or NaN.
    Special(f64),
    /// No part.
    None,
}

impl Wide {
    fn of(value: f64) -> Self {
        match Real::of(value) {
            Real::Finite(scaled) if value != 0.0 => Wide::Finite(scaled, -1074),
            _ => Wide::Special(value),
        }
    }

    /// Rounded to 53 bits, ties to even.
    fn rounded(integer: BigInt, exponent: i64) -> Self {
        let drop = integer.bits().saturating_sub(53) as u32;
        let (kept, rest) = (integer.magnitude() >> drop, integer.magnitude() % (BigUint::from(1u8) << drop));
        let half = (BigUint::from(1u8) << drop) >> 1;
        let up = drop > 0 && (rest > half || (rest == half && kept.bit(0)));
        let magnitude = BigInt::from(kept + u8::from(up));
        let signed = if integer.sign() == Sign::Minus { -magnitude } else { magnitude };
        Wide::Finite(signed, exponent + i64::from(drop))
    }

    /// Something of the same kind and sign.
    fn sample(&self) -> f64 {
        match self {
            Wide::Finite(integer, _) => {
                if integer.sign() == Sign::Minus {
                    -1.0
                } else {
                    1.0
                }
            }
            Wide::Special(value) => *value,
            Wide::None => panic!("no part"),
        }
    }

    fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Wide::Finite(a, x), Wide::Finite(b, y)) => Wide::rounded(a * b, x + y),
            _ => Wide::Special(self.sample() * other.sample()),
        }
    }

    fn plus(self, other: Self) -> Self {
        match (&self, &other) {
            (Wide::Finite(a, x), Wide::Finite(b, y)) => {
                let least = *x.min(y);
                let sum = (a << (x - least) as u32) + (b << (y - least) as u32);
                if sum.sign() == Sign::NoSign { Wide::Special(0.0) } else { Wide::rounded(sum, least) }
            }
            (Wide::Special(zero), Wide::Finite(..)) if *zero == 0.0 => other,
            (Wide::Finite(..), Wide::Special(zero)) if *zero == 0.0 => self,
            _ => Wide::Special(self.sample() + other.sample()),
        }
    }

    fn negated(self) -> Self {
        match self {
            Wide::Finite(integer, exponent) => Wide::Finite(-integer, exponent),
            Wide::Special(value) => Wide::Special(-value),
            Wide::None => Wide::None,
        }
    }

    /// In a type of floats; a zero keeps its sign.
    fn narrow(&self, kind: (i32, i32, i32)) -> f64 {
        match self {
            Wide::Finite(integer, exponent) => {
                let (up, down) = (exponent.max(&0).unsigned_abs(), exponent.min(&0).unsigned_abs());
                // Far behind both ends it makes no difference how far.
                let (up, down) = (up.min(5000), if down > 5000 { 5000 + integer.bits() } else { down });
                quotient(&(integer << up), &(BigInt::from(1) << down), kind).copysign(self.sample())
            }
            _ => self.sample(),
        }
    }
}

/// A float, or a complex number.
pub trait Multiplied: Scalar {
    /// The real part, and the imaginary one if there is any.
    fn to_parts(self) -> [Wide; 2];

    /// The number of these parts.
    fn from_parts(parts: [Wide; 2]) -> Self;
}

macro_rules! multiplied {
    ($($type:ty),*) => {$(
        impl Multiplied for $type {
            fn to_parts(self) -> [Wide; 2] {
                [Wide::of(self.wide()), Wide::None]
            }
            fn from_parts([number, _]: [Wide; 2]) -> Self {
                Self::narrow(number.narrow(Self::KIND))
            }
        }
    )*};
}

multiplied!(f32, f64);
#[cfg(feature = "half")]
multiplied!(half::f16, half::bf16);

macro_rules! multiplied_complex {
    ($($part:ty),*) => {$(
        impl Multiplied for Complex<$part> {
            fn to_parts(self) -> [Wide; 2] {
                [Wide::of(self.re.wide()), Wide::of(self.im.wide())]
            }
            fn from_parts([re, im]: [Wide; 2]) -> Self {
                let narrow = |part: Wide| <$part>::narrow(part.narrow(<$part>::KIND));
                Complex { re: narrow(re), im: narrow(im) }
            }
        }
    )*};
}

multiplied_complex!(f32, f64);

/// The norm in `f64` before it is narrowed: `order` is 1, 2, or anything else for infinity.
fn wide_norm<T: SummedFloat>(group: &Group<T>, order: u8) -> f64 {
    let numbers: Vec<f64> = group.iter().map(|(_, value)| value.wide().abs()).collect();
    if let Some(special) = numbers.iter().copied().filter(|value| !value.is_finite()).reduce(|a, b| a + b) {
        return special;
    }
    if order != 2 {
        return numbers.into_iter().fold(0.0, f64::max);
    }
    let square = |value: f64| match Real::of(value) {
        Real::Finite(scaled) => &scaled * &scaled,
        _ => panic!("finite"),
    };
    let sum: BigInt = numbers.into_iter().map(square).sum();
    if sum.sign() == Sign::NoSign {
        return 0.0;
    }
    let Wide::Finite(integer, exponent) = Wide::rounded(sum, -2148) else { panic!("finite") };
    let odd = exponent.rem_euclid(2);
    let root = (u64::try_from(integer << odd as u32).unwrap() as f64).sqrt();
    let Wide::Finite(root, last) = Wide::of(root) else { panic!("finite") };
    Wide::Finite(root, last + (exponent - odd) / 2).narrow(F64)
}

/// The norm.
pub fn norm<T: SummedFloat>(group: &Group<T>, order: u8) -> Option<T> {
    let magnitudes = || Real::sum(group.iter().map(|(_, value)| Real::of(value.wide().abs())));
    Some(T::rounded(&if order == 1 { magnitudes() } else { Real::of(wide_norm(group, order)) }, 1))
}

/// The largest element of a group, and the exact sum of the exponentials of the differences from it, rounded once.
fn exponentials<T: SummedFloat>(group: &Group<T>) -> (f64, f64) {
    let is_nan = group.iter().any(|(_, value)| value.wide().is_nan());
    let largest = group.iter().map(|(_, value)| value.wide()).fold(f64::NEG_INFINITY, f64::max);
    let largest = if is_nan { f64::NAN } else { largest };
    let exponential = |value: T| Real::of(libm::exp(value.wide() - largest));
    (largest, Real::sum(values(group).into_iter().map(exponential)).over(1, F64))
}

/// The logarithm of the sum of the exponentials.
pub fn logsumexp<T: SummedFloat>(group: &Group<T>) -> Option<T> {
    let (largest, sum) = exponentials(group);
    let found = if largest.is_finite() { largest + libm::log(sum) } else { largest };
    Some(T::rounded(&Real::of(found), 1))
}

/// The weights of the elements in a sum of exponentials, times the upstream gradient.
pub fn weights<T: SummedFloat, G: SummedFloat>(group: &Group<T>, g: G) -> Vec<G> {
    let (largest, sum) = exponentials(group);
    let weight = |value: T| {
        let given = libm::exp(value.wide() - largest) / sum * g.wide();
        let rounded = G::rounded(&Real::of(given), 1);
        if rounded.wide() == 0.0 { G::narrow(0f64.copysign(given)) } else { rounded }
    };
    values(group).into_iter().map(weight).collect()
}

/// The shares of a norm.
pub fn norm_shares<T: SummedFloat, G: SummedFloat>(group: &Group<T>, g: G, order: u8) -> Vec<G> {
    let norm = wide_norm(group, order);
    let count = group.iter().filter(|(_, value)| value.wide().abs() == norm).count();
    let signed = |value: f64| match value {
        _ if value.is_nan() => G::narrow(f64::NAN),
        0.0 => G::narrow(0.0),
        _ => G::narrow(if value > 0.0 { g.wide() } else { -g.wide() }),
    };
    let share = |value: f64| match order {
        1 => signed(value),
        2 if norm == 0.0 => G::narrow(0.0),
        2 => {
            let given = value / norm * g.wide();
            let rounded = G::rounded(&Real::of(given), 1);
            if rounded.wide() == 0.0 { G::narrow(0f64.copysign(given)) } else { rounded }
        }
        _ if value.abs() == norm && value != 0.0 => over(signed(value), count),
        _ => G::narrow(0.0),
    };
    group.iter().map(|(_, value)| share(value.wide())).collect()
}

/// The `k` greatest of a group, without the NaNs, from the greatest down; of equal ones the first position first.
pub fn topk<T: RealScalar>(group: &Group<T>, k: usize) -> Vec<(u64, T)> {
    let mut ranked = numbers(group);
    ranked.sort_by(|(_, a), (_, b)| order(*b, *a));
    ranked.truncate(k);
    ranked
}

fn order<T: RealScalar>(a: T, b: T) -> std::cmp::Ordering {
    match (a.less(b), b.less(a)) {
        (Some(true), _) => Less,
        (_, Some(true)) => Greater,
        _ => Equal,
    }
}

/// A group in increasing order, NaNs last, equal elements in the order of their positions.
pub fn sorted<T: RealScalar>(group: &Group<T>) -> Vec<(u64, T)> {
    let mut ranked = numbers(group);
    ranked.sort_by(|(_, a), (_, b)| order(*a, *b));
    ranked.extend(group.iter().filter(|(_, value)| value.is_nan()));
    ranked
}

/// A tensor with each line sorted, the elements that are not stored too. An entry stays one, at its rank.
pub fn sorted_lines<T: RealScalar>(x: &Sparse<T>, axis: usize) -> Sparse<T> {
    let (dense, mut lines) = (x.to_dense(), BTreeMap::<Vec<usize>, Vec<(u64, T)>>::new());
    for at in dense.coords() {
        let mut line = at.clone();
        let place = std::mem::replace(&mut line[axis], 0);
        lines.entry(line).or_default().push((place as u64, dense.get(&at)));
    }
    let mut entries = BTreeMap::new();
    for (mut line, group) in lines {
        for (rank, (place, value)) in sorted(&group).into_iter().enumerate() {
            line[axis] = place as usize;
            if x.entries.contains_key(&line) {
                line[axis] = rank;
                entries.insert(line.clone(), value);
            }
        }
    }
    Sparse::new(&x.shape, entries, x.fill)
}

/// A list for each group along an axis, laid out along it; `None` in the place of what a list lacks.
pub fn lists<T: Scalar, U: Copy>(
    x: &Dense<T>,
    axis: usize,
    length: usize,
    of: impl Fn(&Group<T>) -> Vec<U>,
) -> (Vec<usize>, Vec<Option<U>>) {
    let mut shape = x.shape.clone();
    shape[axis] = length;
    let groups = groups(&x.shape, &[axis], true);
    let lists: Vec<Vec<U>> = groups.cells.iter().map(|cell| of(&group_at(x, cell))).collect();
    let mut laid = Vec::new();
    for position in 0..super::dense::size(&shape) {
        let mut coords = unravel(position as u128, &shape);
        let rank = std::mem::replace(&mut coords[axis], 0);
        laid.push(lists[ravel(&coords, &groups.shape) as usize].get(rank).copied());
    }
    (shape, laid)
}

fn group_at<T: Scalar>(x: &Dense<T>, cell: &[usize]) -> Vec<(u64, T)> {
    cell.iter().enumerate().map(|(at, &position)| (at as u64, x.data[position])).collect()
}

/// The results of the entries of each line along an axis; the first entry without a result, if there is one.
pub fn along<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    axis: usize,
    fill: U,
    of: impl Fn(&Group<T>) -> Vec<Option<U>>,
) -> Result<Sparse<U>, Vec<usize>> {
    let mut lines = BTreeMap::<Vec<usize>, Vec<(u64, T)>>::new();
    for (at, &value) in &x.entries {
        let mut line = at.clone();
        line.remove(axis);
        lines.entry(line).or_default().push((at[axis] as u64, value));
    }
    let mut entries = BTreeMap::new();
    for (line, group) in lines {
        for ((place, _), found) in group.iter().zip(of(&group)) {
            let mut at = line.clone();
            at.insert(axis, *place as usize);
            match found {
                Some(found) => entries.insert(at, found),
                None => return Err(at),
            };
        }
    }
    Ok(Sparse::new(&x.shape, entries, fill))
}

/// A reduction of the first elements of a line, for each number of elements.
pub fn prefixes<T: Scalar, U>(of: impl Fn(&Group<T>) -> Option<U>) -> impl Fn(&Group<T>) -> Vec<Option<U>> {
    move |group| (1..=group.len()).map(|count| of(&group[..count])).collect()
}

/// The products of the first elements of a line, from left to right, each rounded once with an exponent of any size.
pub fn products<T: Multiplied>(group: &Group<T>) -> Vec<Option<T>> {
    let mut product: Factor = None;
    let mut next = |value: T| {
        product = Some(product.as_ref().map_or(value.to_parts(), |product| times(product, &value.to_parts())));
        product.clone().map(T::from_parts)
    };
    group.iter().map(|&(_, value)| next(value)).collect()
}

/// The gradients of running sums: the exact sums of the upstream gradients from each element on.
pub fn sum_gradients<G: SummedFloat>(upstream: &[G]) -> Vec<G> {
    (0..upstream.len()).map(|at| G::sum_from(&total(&upstream[at..])).expect("floats do not overflow")).collect()
}

/// The gradients of running products of real numbers: the sum over all later results of the product of the other
/// elements of the result.
pub fn product_gradients(elements: &[f64], upstream: &[f64]) -> Vec<f64> {
    let others = |last: usize, at: usize| (0..=last).filter(move |&other| other != at).map(|other| elements[other]);
    let term = |last: usize, at: usize| upstream[last] * others(last, at).product::<f64>();
    (0..elements.len()).map(|at| (at..elements.len()).map(|last| term(last, at)).sum()).collect()
}
