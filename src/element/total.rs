//! Exact accumulators for the sums and means of each element type.

use std::array::from_fn;

use num_complex::Complex;
use smallvec::SmallVec;

use super::accumulator_bytes::Saved;
use super::dyadic::Dyadic;
use super::exact::{Exact, FloatFormat, Products};
use super::factor::Scaled;
use super::in_f64::ExactInF64;
use super::interleaved::{INTERLEAVED, Interleaved, RunResults};
use super::pair::{self, Pair, PairSums, add_to_pair, is_mid_range, times, two_product, two_sum};
use super::{Element, Float, Ring};
use crate::base::machine::in_wide_vectors;

/// An exact sum of values of type `T`, added in any order.
pub trait Accumulator<T>: Clone + Default + Send + Sync + Saved {
    /// Adds a value.
    fn add(&mut self, value: T);

    /// Adds a value with as little memory as possible. The addition takes more time.
    fn add_sparingly(&mut self, value: T) {
        self.add(value);
    }

    /// Adds a value `count` times.
    fn add_times(&mut self, value: T, count: u128);

    /// Adds all values of a slice.
    fn add_slice(&mut self, values: &[T]);

    /// Adds the sum of another accumulator.
    fn merge(&mut self, other: &Self);

    /// Returns the bytes allocated outside of the accumulator itself.
    fn grown(&self) -> usize {
        0
    }

    /// A small total, initially zero, in which almost all sums fit.
    type Cell: Copy + Default + PartialEq + Send + Sync;

    /// Adds a value to a small total. Returns false if the sum does not fit in the small total, which is then unusable.
    fn add_to(cell: &mut Self::Cell, value: T) -> bool;

    /// Adds another small total; returns false as in [`add_to`](Accumulator::add_to).
    fn join(cell: &mut Self::Cell, other: Self::Cell) -> bool;

    /// Returns the small totals of eight runs of values, and whether they determine results. The caller does not add
    /// more values to these totals.
    #[inline(always)]
    fn cells_of(values: &[T], runs: &Interleaved) -> RunResults<Self::Cell>
    where
        T: Copy,
    {
        let mut cells = [Self::Cell::default(); INTERLEAVED];
        let add =
            |cell: &mut Self::Cell, run: &[T]| run.iter().fold(true, |held, &value| held & Self::add_to(cell, value));
        let are_held = from_fn(|run| add(&mut cells[run], &values[runs.run(run)]));
        (cells, are_held)
    }

    /// Adds the value of a small total.
    fn add_cell(&mut self, cell: Self::Cell);

    /// Returns a value as a float; `None` for types whose sums are not sums of single floats.
    #[inline(always)]
    fn float(_value: T) -> Option<f64> {
        None
    }

    /// Returns the [`float`](Self::float) of a value, or NaN.
    #[inline(always)]
    fn float_or_nan(value: T) -> f64 {
        Self::float(value).unwrap_or(f64::NAN)
    }

    #[inline(always)]
    fn cell_of(_pair: [f64; 2]) -> Self::Cell {
        Self::Cell::default()
    }
}

/// The results of exact sums, and the factors of products.
///
/// The code is the same for all types with this accumulator.
pub trait TotalResults<T: Ring>: Accumulator<T> {
    /// Returns each part of a value as the nearest `f64`, and 0 for a missing part.
    fn parts(value: T) -> [f64; 2];

    /// Returns the total as a sum, if it fits in the type of sums.
    fn sum(&self) -> Option<T::Sum>;

    /// Returns the total divided by a count.
    fn mean(&self, count: u128) -> T::Mean;

    /// Returns the parts of the total divided by a count, as the nearest `f64`.
    fn wide_mean(&self, count: u128) -> [f64; 2];

    /// Returns a value as a factor.
    fn factor(value: T) -> T::Factor;

    /// Returns the product in the type of sums, if it fits in that type.
    fn product(factor: T::Factor) -> Option<T::Sum>;

    /// Returns the correctly rounded sum, if the small total determines it.
    #[inline(always)]
    fn quick_sum(cell: Self::Cell) -> Option<T::Sum> {
        let mut total = Self::default();
        total.add_cell(cell);
        total.sum()
    }

    /// Returns the correctly rounded mean, if the small total and the count determine it.
    #[inline(always)]
    fn quick_mean(cell: Self::Cell, count: u128) -> Option<T::Mean> {
        let mut total = Self::default();
        total.add_cell(cell);
        Some(total.mean(count))
    }

    /// Returns the variances or standard deviations of [`Ring::quick_spreads_of`].
    #[inline(always)]
    fn quick_spreads(
        _values: &[T],
        _runs: &Interleaved,
        _counts: [u128; INTERLEAVED],
        _ddof: u64,
        _is_root: bool,
    ) -> RunResults<T::Deviation> {
        ([T::Deviation::ZERO; INTERLEAVED], [false; INTERLEAVED])
    }
}

/// The exact sum of floats.
///
/// Two floats are nearly always enough to represent the sum.
///
/// The remainder is allocated separately, because accumulators of small groups are often moved.
#[derive(Debug, Clone, Default)]
pub struct FloatTotal {
    pair: Pair,
    rest: Option<Box<Rest>>,
}

/// The part of the exact sum that does not fit in the pair, as floats. Values with very different exponents need more
/// floats.
#[derive(Debug, Clone, Default)]
struct Rest {
    few: Floats,
    /// All digits, used when floats would take more memory or more time.
    all: Option<Box<Exact>>,
}

/// Floats whose sum is the value. The first ones are stored without an allocation.
type Floats = SmallVec<[f64; 4]>;

/// The maximum number of floats in [`Floats`]. The digits take twice as much memory as this number of floats.
const MAX_FLOATS: usize = 32;

/// The number of values added in parallel lanes.
const LANES: usize = 16;
/// The smallest number of values that are added in parallel lanes.
const MANY: usize = 4 * LANES;
/// The number of values added before the loss is tested.
const BLOCK: usize = 64 * LANES;

impl FloatTotal {
    /// Adds values one after another.
    fn add_few<T: ExactInF64>(&mut self, values: &[T]) {
        let (mut pair, mut lost) = (self.pair, 0.0);
        values.iter().for_each(|&value| lost += add_to_pair(&mut pair, value.in_f64()).abs());
        // A NaN counts as a loss.
        if lost == 0.0 {
            self.pair = pair;
        } else {
            self.add_exactly(values);
        }
    }

    /// Adds a value to the pair and the floats after it.
    ///
    /// Returns false, without changes, if the sum does not fit in the floats.
    ///
    /// An addition loses at most 2<sup>-53</sup> of the value of a float. The next float stores the loss. Floats after
    /// the pair therefore do not overflow.
    #[cold]
    fn add_to_floats(&mut self, value: f64) -> bool {
        let mut pair = self.pair;
        let lost = add_to_pair(&mut pair, value);
        let is_finite = pair.iter().chain([&lost]).all(|float| float.is_finite());
        let rest = self.rest.get_or_insert_default();
        if !is_finite || rest.all.is_some() || rest.few.len() >= MAX_FLOATS {
            return false;
        }
        let last = rest.few.iter_mut().fold(lost, |lost, float| {
            let (sum, lost) = two_sum(*float, lost);
            *float = sum;
            lost
        });
        if last != 0.0 {
            rest.few.push(last);
        }
        self.pair = pair;
        true
    }

    /// Adds values, and all floats of the sum, to the digits.
    #[cold]
    fn add_exactly<T: ExactInF64>(&mut self, values: &[T]) {
        let (pair, rest) = (std::mem::take(&mut self.pair), self.rest.get_or_insert_default());
        let few = std::mem::take(&mut rest.few);
        let all = rest.all.get_or_insert_with(|| Box::new(Exact::new()));
        let floats = pair.into_iter().chain(few);
        floats.chain(values.iter().map(|&value| value.in_f64())).for_each(|value| all.add(value));
    }

    /// Returns the digits, prepared for the next addition.
    fn all(&mut self) -> &mut Exact {
        let rest = self.rest.get_or_insert_default();
        rest.all.get_or_insert_with(|| Box::new(Exact::new()))
    }

    /// Adds a block of at most [`BLOCK`] values; their number is a multiple of [`LANES`].
    fn add_block<T: ExactInF64>(&mut self, sums: &mut PairSums<LANES>, values: &[T]) {
        let before = *sums;
        let is_exact = in_wide_vectors(
            #[inline(always)]
            || add_all(sums, values),
        );
        if !is_exact {
            *sums = before;
            self.add_exactly(values);
        }
    }

    /// Returns the total as a single list of digits.
    pub(super) fn digits(&self) -> Exact {
        let rest = self.rest.as_deref();
        let mut digits = rest.and_then(|rest| rest.all.as_deref()).map_or_else(Exact::new, Exact::clone);
        let few = rest.map_or(&[][..], |rest| &rest.few);
        self.pair.iter().chain(few).for_each(|&value| digits.add(value));
        digits
    }

    /// Returns the total with all digits; a total that is not finite is an error.
    pub(super) fn number(&self) -> Result<Dyadic, f64> {
        self.digits().number()
    }

    /// Returns the total as two floats, if they represent it.
    pub(super) fn as_pair(&self) -> Option<Pair> {
        self.rest.is_none().then_some(self.pair)
    }

    /// Returns the total divided by `count`, rounded to a float type, as an `f64`.
    pub(super) fn over(&self, count: u128, kind: FloatFormat) -> f64 {
        let quickly = if self.rest.is_none() { pair::over(self.pair, count, kind) } else { None };
        quickly.unwrap_or_else(|| self.digits().over(count, kind))
    }
}

/// Returns `a + (b - a) * weight`, correctly rounded, as an `f64`; if one value is infinite, the sum of both values.
pub(super) fn between(a: f64, b: f64, weight: f64, kind: FloatFormat) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a + b;
    }
    quickly_between(a, b, weight, kind).unwrap_or_else(|| {
        let mut digits = Products::new();
        [(a, 1.0), (a, -weight), (b, weight)]
            .into_iter()
            .for_each(|(value, factor)| digits.add_product(value, factor, 1));
        digits.over(1, kind)
    })
}

/// Returns the result of [`between`] if two floats determine it.
fn quickly_between(a: f64, b: f64, weight: f64, kind: FloatFormat) -> Option<f64> {
    let is_held = |value: f64| is_mid_range(value) || value == 0.0;
    if !(is_held(a) && is_held(b) && weight > 1e-50) {
        return None;
    }
    let (difference, difference_error) = two_sum(b, -a);
    let (product, product_error) = two_product(difference, weight);
    let (sum, sum_error) = two_sum(a, product);
    let rest = sum_error + (product_error + difference_error * weight);
    let is_exact = [sum_error, product_error, difference_error] == [0.0; 3];
    // Each term of `rest` is at most 2^-52 times the two values, and has a relative error of 2^-53.
    let tolerance = if is_exact { 0.0 } else { (a.abs() + b.abs()) * 2f64.powi(-100) };
    let near = sum + (rest - tolerance);
    if near == sum + (rest + tolerance) { kind.round(near, is_exact) } else { None }
}

/// Adds values to parallel sums, and returns whether the sums are still exact.
#[inline(always)]
fn add_all<T: ExactInF64>(sums: &mut PairSums<LANES>, values: &[T]) -> bool {
    let mut lost = [0.0; LANES];
    values.as_chunks::<LANES>().0.iter().for_each(|values| sums.add(&values.map(T::in_f64), &mut lost));
    lost.iter().all(|&lost| lost == 0.0)
}

impl<T: ExactInF64> Accumulator<T> for FloatTotal {
    fn add(&mut self, value: T) {
        self.add_few(&[value]);
    }

    fn add_sparingly(&mut self, value: T) {
        let mut pair = self.pair;
        let value = value.in_f64();
        if add_to_pair(&mut pair, value) == 0.0 {
            self.pair = pair;
        } else if !self.add_to_floats(value) {
            self.add_exactly(&[value]);
        }
    }

    fn add_times(&mut self, value: T, count: u128) {
        let value = value.in_f64();
        if value == 0.0 || count == 0 {
            return;
        }
        match times(value, count) {
            Some((product, error)) => self.add_few(&[product, error]),
            None => self.all().add_times(value, count),
        }
    }

    fn add_slice(&mut self, values: &[T]) {
        if values.len() < MANY {
            return self.add_few(values);
        }
        let (lanes, last) = values.as_chunks::<LANES>();
        let mut sums = PairSums::ZERO;
        lanes.as_flattened().chunks(BLOCK).for_each(|values| self.add_block(&mut sums, values));
        self.add_few(&sums.high);
        self.add_few(&sums.low);
        self.add_few(last);
    }

    fn grown(&self) -> usize {
        let Some(rest) = &self.rest else { return 0 };
        let floats = if rest.few.spilled() { rest.few.capacity() * size_of::<f64>() } else { 0 };
        size_of::<Rest>() + floats + if rest.all.is_some() { size_of::<Exact>() } else { 0 }
    }

    fn merge(&mut self, other: &Self) {
        self.add_few(&other.pair);
        if let Some(other) = &other.rest {
            other.few.iter().for_each(|&value| self.add_sparingly(value));
            other.all.iter().for_each(|other| self.all().merge(other));
        }
    }

    type Cell = Pair;

    /// A sum that is not finite is stored only in the first float. The result is false if a sum of finite values is
    /// lost.
    #[inline(always)]
    fn add_to(pair: &mut Pair, value: T) -> bool {
        let (before, value) = (pair[0], value.in_f64());
        if add_to_pair(pair, value) == 0.0 {
            return true;
        }
        *pair = [before + value, 0.0];
        !(before.is_finite() && value.is_finite())
    }

    fn join(pair: &mut Pair, other: Pair) -> bool {
        let add = <FloatTotal as Accumulator<f64>>::add_to;
        add(pair, other[0]) & add(pair, other[1])
    }

    #[inline(always)]
    fn cells_of(values: &[T], runs: &Interleaved) -> RunResults<Pair> {
        pair::sums_of(values, runs, T::in_f64)
    }

    fn add_cell(&mut self, pair: Pair) {
        self.add_few(&pair);
    }

    #[inline(always)]
    fn float(value: T) -> Option<f64> {
        Some(value.in_f64())
    }

    #[inline(always)]
    fn cell_of(pair: Pair) -> Pair {
        pair
    }
}

impl<T: Float> TotalResults<T> for FloatTotal {
    fn parts(value: T) -> [f64; 2] {
        [value.in_f64(), 0.0]
    }

    fn sum(&self) -> Option<T> {
        Some(T::rounded(self, 1))
    }

    fn mean(&self, count: u128) -> T {
        T::rounded(self, count)
    }

    fn wide_mean(&self, count: u128) -> [f64; 2] {
        [f64::rounded(self, count), 0.0]
    }

    fn factor(value: T) -> Scaled {
        Scaled::of(value.in_f64())
    }

    fn product(factor: Scaled) -> Option<T> {
        Some(T::from_f64(factor.value(T::ROUNDING)))
    }

    #[inline(always)]
    fn quick_sum(pair: Pair) -> Option<T> {
        T::quickly(pair, 1)
    }

    #[inline(always)]
    fn quick_mean(pair: Pair, count: u128) -> Option<T> {
        T::quickly(pair, count)
    }

    #[inline(always)]
    fn quick_spreads(
        values: &[T],
        runs: &Interleaved,
        counts: [u128; INTERLEAVED],
        ddof: u64,
        is_root: bool,
    ) -> RunResults<T> {
        let kind = if is_root { FloatFormat::F64 } else { T::ROUNDING };
        let (variances, are_known) = pair::variances_of(values, runs, &counts, ddof, kind);
        let mut found = [T::ZERO; INTERLEAVED];
        for run in 0..INTERLEAVED {
            let variance = variances[run];
            found[run] = T::from_f64(if is_root { variance.sqrt() } else { variance });
        }
        (found, are_known)
    }
}

/// The exact sums of the real and imaginary parts of complex numbers.
#[derive(Debug, Clone, Default)]
pub struct ComplexTotal {
    re: FloatTotal,
    im: FloatTotal,
}

impl<T: ExactInF64> Accumulator<Complex<T>> for ComplexTotal {
    fn add(&mut self, value: Complex<T>) {
        self.re.add(value.re);
        self.im.add(value.im);
    }

    fn add_sparingly(&mut self, value: Complex<T>) {
        self.re.add_sparingly(value.re);
        self.im.add_sparingly(value.im);
    }

    fn add_times(&mut self, value: Complex<T>, count: u128) {
        self.re.add_times(value.re, count);
        self.im.add_times(value.im, count);
    }

    fn add_slice(&mut self, values: &[Complex<T>]) {
        values.iter().for_each(|&value| self.add(value));
    }

    fn grown(&self) -> usize {
        Accumulator::<T>::grown(&self.re) + Accumulator::<T>::grown(&self.im)
    }

    fn merge(&mut self, other: &Self) {
        Accumulator::<f64>::merge(&mut self.re, &other.re);
        Accumulator::<f64>::merge(&mut self.im, &other.im);
    }

    type Cell = [Pair; 2];

    fn add_to([re, im]: &mut [Pair; 2], value: Complex<T>) -> bool {
        let re = <FloatTotal as Accumulator<T>>::add_to(re, value.re);
        re & <FloatTotal as Accumulator<T>>::add_to(im, value.im)
    }

    fn join([re, im]: &mut [Pair; 2], other: [Pair; 2]) -> bool {
        let join = <FloatTotal as Accumulator<f64>>::join;
        join(re, other[0]) & join(im, other[1])
    }

    fn add_cell(&mut self, [re, im]: [Pair; 2]) {
        let add = <FloatTotal as Accumulator<f64>>::add_cell;
        add(&mut self.re, re);
        add(&mut self.im, im);
    }
}

/// Saves the digits for every internal form of the sum.
impl Saved for FloatTotal {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.digits().save(bytes);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let digits = Exact::load(bytes)?;
        let mut total = FloatTotal::default();
        match digits.few() {
            Some(values) => total.add_few(&values),
            None => *total.all() = digits,
        }
        Some(total)
    }
}

impl Saved for ComplexTotal {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.re.save(bytes);
        self.im.save(bytes);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        Some(ComplexTotal { re: FloatTotal::load(bytes)?, im: FloatTotal::load(bytes)? })
    }
}

/// A float type that totals are rounded to.
pub(super) trait Rounded: Float {
    /// Returns the total divided by `count`.
    fn rounded(total: &FloatTotal, count: u128) -> Self {
        Self::from_f64(total.over(count, Self::ROUNDING))
    }

    /// Returns the sum of a pair divided by `count`, if the pair determines the result.
    #[inline(always)]
    fn quickly(pair: Pair, count: u128) -> Option<Self> {
        pair::over(pair, count, Self::ROUNDING).map(Self::from_f64)
    }

    /// Returns both parts of the total divided by `count`.
    fn parts_over(total: &ComplexTotal, count: u128) -> Complex<Self> {
        Complex { re: Self::rounded(&total.re, count), im: Self::rounded(&total.im, count) }
    }
}

impl<T: Float> Rounded for T {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::random::bits;

    fn total(values: &[f64]) -> FloatTotal {
        let mut total = FloatTotal::default();
        values.iter().for_each(|&value| total.add_sparingly(value));
        total
    }

    fn exactly(values: &[f64]) -> f64 {
        let mut digits = Exact::new();
        values.iter().for_each(|&value| digits.add(value));
        digits.over(1, FloatFormat::F64)
    }

    /// Returns values whose exponents are within `exponents` of the exponent of 1; some of them cancel earlier ones.
    fn spread(seed: u64, count: usize, exponents: u64) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        for at in 0..count as u64 {
            let [sign, exponent, fraction] = [0, 1, 2].map(|part| bits(seed, 3 * at + part));
            let exponent = 1023 + exponent % (2 * exponents + 1) - exponents;
            let value = f64::from_bits((exponent << 52) | (fraction >> 12) | (sign & (1 << 63)));
            let earlier = (fraction % 5 == 0).then(|| values.get(fraction as usize % values.len().max(1))).flatten();
            values.push(earlier.map_or(value, |&earlier| -earlier));
        }
        values
    }

    #[test]
    fn sums_in_floats_are_those_in_all_digits() {
        for seed in 0..400 {
            for exponents in [1, 30, 100, 300, 1000, 1022] {
                let values = spread(seed, 1 + seed as usize % 90, exponents);
                let expected = exactly(&values);
                let found = total(&values);
                assert_eq!(found.over(1, FloatFormat::F64).to_bits(), expected.to_bits(), "{values:?}");
                let (left, right) = values.split_at(values.len() / 3);
                let mut merged = total(left);
                Accumulator::<f64>::merge(&mut merged, &total(right));
                assert_eq!(merged.over(1, FloatFormat::F64).to_bits(), expected.to_bits(), "{values:?} in two");
                let mut sliced = total(left);
                right.chunks(11).for_each(|values| sliced.add_slice(values));
                assert_eq!(sliced.over(1, FloatFormat::F64).to_bits(), expected.to_bits(), "{values:?} in slices");
            }
        }
        for values in [
            &[1e300, 1e-300, f64::MAX, f64::MAX, -f64::MAX, 3e-310][..],
            &[1.0, 1e-200, f64::INFINITY, 1e-300],
            &[1e200, 1.0, 1e-200, f64::NAN, 5.0],
            &[f64::INFINITY, 1.0, f64::NEG_INFINITY],
            &[5e-324, -5e-324, 1e308, 1e-10, -1e308, -1e-10],
        ] {
            let (found, expected) = (total(values).over(1, FloatFormat::F64), exactly(values));
            assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{values:?}");
        }
    }

    /// If two floats are not enough, sums of values with different exponents must not allocate all digits (600 bytes
    /// per sum) at once.
    #[test]
    fn sums_take_the_memory_that_their_exponents_ask_for() {
        let grown = |exponents| Accumulator::<f64>::grown(&total(&spread(7, 200, exponents)));
        assert_eq!(Accumulator::<f64>::grown(&total(&[1.0, 2.5, -3e10])), 0);
        let [few, some, many] = [50, 150, 400].map(grown);
        assert!(few > 0 && few < 100 && some < 150 && many < 350, "{few} {some} {many}");
        assert!(grown(1000) >= size_of::<Exact>());
    }
}
