//! The exact totals that sums and means of each type of elements come from.

use std::array::from_fn;

use num_complex::Complex;
use smallvec::SmallVec;

use super::Float;
use super::abreast::{ABREAST, Abreast, Known};
use super::exact::{Exact, Kind, Products};
use super::floats::Wide;
use super::pair::{self, Pair, Pairs, add_to_pair, is_amid, times, two_product, two_sum};
use super::saved::{Saved, byte, split};
use crate::base::machine::in_wide_vectors;

/// An exact sum of values of type `T`, which come in any order.
pub trait Accumulator<T>: Clone + Default + Send + Sync + Saved {
    /// Adds a value.
    fn add(&mut self, value: T);

    /// Adds a value, and takes no more memory than it must, though more time.
    fn add_sparingly(&mut self, value: T) {
        self.add(value);
    }

    /// Adds so many times the same value.
    fn add_times(&mut self, value: T, count: u128);

    /// Adds each of some values.
    fn add_slice(&mut self, values: &[T]);

    /// Adds all that another total holds.
    fn merge(&mut self, other: &Self);

    /// The bytes that it takes besides its place.
    fn grown(&self) -> usize {
        0
    }

    /// A small total, which starts as zeros and holds nearly all sums.
    type Cell: Copy + Default + PartialEq + Send + Sync;

    /// Adds a value to a small total. If that cannot hold the sum, the answer is no, and the small total is of no more
    /// use.
    fn add_to(cell: &mut Self::Cell, value: T) -> bool;

    /// Adds all that another small total holds, with the answer of [`add_to`](Accumulator::add_to).
    fn join(cell: &mut Self::Cell, other: Self::Cell) -> bool;

    /// The small totals of runs among values, where these tell what is made of the sums; nothing is added to them.
    #[inline(always)]
    fn cells_of(values: &[T], runs: &Abreast) -> Known<Self::Cell>
    where
        T: Copy,
    {
        let mut cells = [Self::Cell::default(); ABREAST];
        let add =
            |cell: &mut Self::Cell, run: &[T]| run.iter().fold(true, |held, &value| held & Self::add_to(cell, value));
        let are_held = from_fn(|run| add(&mut cells[run], &values[runs.run(run)]));
        (cells, are_held)
    }

    /// Adds what a small total holds.
    fn add_cell(&mut self, cell: Self::Cell);

    /// A value as a float, and a small total of two floats; none where sums are not those of single floats.
    #[inline(always)]
    fn float(_value: T) -> Option<f64> {
        None
    }

    /// The [`float`](Self::float) of a value, NaN if it has none.
    #[inline(always)]
    fn float_or_nan(value: T) -> f64 {
        Self::float(value).unwrap_or(f64::NAN)
    }

    #[inline(always)]
    fn cell_of(_pair: [f64; 2]) -> Self::Cell {
        Self::Cell::default()
    }
}

/// The exact sum of floats: two of them as long as they hold it, which is nearly always; else what two do not hold,
/// apart, as the state of a small group is moved about.
#[derive(Debug, Clone, Default)]
pub struct FloatTotal {
    pair: Pair,
    rest: Option<Box<Rest>>,
}

/// The floats that a pair lacks for the exact sum. Values whose exponents are spread need more of them.
#[derive(Debug, Clone, Default)]
struct Rest {
    few: Floats,
    /// All digits, once the floats would take more memory or more time.
    all: Option<Box<Exact>>,
}

/// Floats that are added to a sum. The first ones take no memory of their own.
type Floats = SmallVec<[f64; 4]>;

/// The most such floats: all digits take twice as much.
const MOST_FLOATS: usize = 32;

/// The values that are added side by side.
const LANES: usize = 16;
/// Fewer values are added one after the other.
const MANY: usize = 4 * LANES;
/// The values that are added before it is looked at whether anything was lost.
const BLOCK: usize = 64 * LANES;

impl FloatTotal {
    /// Adds values one after the other.
    fn add_few<T: Wide>(&mut self, values: &[T]) {
        let (mut pair, mut lost) = (self.pair, 0.0);
        values.iter().for_each(|&value| lost += add_to_pair(&mut pair, value.in_f64()).abs());
        // A NaN is lost as well.
        if lost == 0.0 {
            self.pair = pair;
        } else {
            self.add_exactly(values);
        }
    }

    /// Adds a value to the pair and to the floats after it. Returns false, and changes nothing, if these do not hold the
    /// sum.
    ///
    /// A float loses at most 2<sup>-53</sup> of itself in an addition, which the next float takes: so no float after the
    /// pair overflows.
    #[cold]
    fn add_to_floats(&mut self, value: f64) -> bool {
        let mut pair = self.pair;
        let lost = add_to_pair(&mut pair, value);
        let is_finite = pair.iter().chain([&lost]).all(|float| float.is_finite());
        let rest = self.rest.get_or_insert_default();
        if !is_finite || rest.all.is_some() || rest.few.len() >= MOST_FLOATS {
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

    /// Adds values, and all floats of the sum, to all digits.
    #[cold]
    fn add_exactly<T: Wide>(&mut self, values: &[T]) {
        let (pair, rest) = (std::mem::take(&mut self.pair), self.rest.get_or_insert_default());
        let few = std::mem::take(&mut rest.few);
        let all = rest.all.get_or_insert_with(|| Box::new(Exact::new()));
        let floats = pair.into_iter().chain(few);
        floats.chain(values.iter().map(|&value| value.in_f64())).for_each(|value| all.add(value));
    }

    /// All digits, with room for what is added next.
    fn all(&mut self) -> &mut Exact {
        let rest = self.rest.get_or_insert_default();
        rest.all.get_or_insert_with(|| Box::new(Exact::new()))
    }

    /// Adds a block of at most [`BLOCK`] values, a multiple of [`LANES`].
    fn add_block<T: Wide>(&mut self, sums: &mut Pairs<LANES>, values: &[T]) {
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

    /// The total as a single list of digits.
    pub(super) fn digits(&self) -> Exact {
        let rest = self.rest.as_deref();
        let mut digits = rest.and_then(|rest| rest.all.as_deref()).map_or_else(Exact::new, Exact::clone);
        let few = rest.map_or(&[][..], |rest| &rest.few);
        self.pair.iter().chain(few).for_each(|&value| digits.add(value));
        digits
    }

    /// The total over `count`, as the nearest value of a type of floats, in `f64`.
    pub(super) fn over(&self, count: u128, kind: Kind) -> f64 {
        let quickly = if self.rest.is_none() { pair::over(self.pair, count, kind) } else { None };
        quickly.unwrap_or_else(|| self.digits().over(count, kind))
    }
}

/// The real number `a + (b - a) * weight`, rounded once, in `f64`; the sum of both where one is infinite.
pub(super) fn between(a: f64, b: f64, weight: f64, kind: Kind) -> f64 {
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

/// [`between`] where two floats are enough to know it.
fn quickly_between(a: f64, b: f64, weight: f64, kind: Kind) -> Option<f64> {
    let is_held = |value: f64| is_amid(value) || value == 0.0;
    if !(is_held(a) && is_held(b) && weight > 1e-50) {
        return None;
    }
    let (difference, difference_error) = two_sum(b, -a);
    let (product, product_error) = two_product(difference, weight);
    let (sum, sum_error) = two_sum(a, product);
    let rest = sum_error + (product_error + difference_error * weight);
    let is_exact = [sum_error, product_error, difference_error] == [0.0; 3];
    // Each term of the rest is rounded at 2^-53 of what is itself no more than 2^-52 of the two values.
    let doubt = if is_exact { 0.0 } else { (a.abs() + b.abs()) * 2f64.powi(-100) };
    let near = sum + (rest - doubt);
    if near == sum + (rest + doubt) { kind.round(near, is_exact) } else { None }
}

/// Adds values to sums side by side, and says whether nothing was lost.
#[inline(always)]
fn add_all<T: Wide>(sums: &mut Pairs<LANES>, values: &[T]) -> bool {
    let mut lost = [0.0; LANES];
    values.as_chunks::<LANES>().0.iter().for_each(|values| sums.add(&values.map(T::in_f64), &mut lost));
    lost.iter().all(|&lost| lost == 0.0)
}

impl<T: Wide> Accumulator<T> for FloatTotal {
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
        let mut sums = Pairs::ZERO;
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

    /// What is not finite stays alone: the pair was finite if it is now without a value that is not.
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
    fn cells_of(values: &[T], runs: &Abreast) -> Known<Pair> {
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

/// The exact sum of integers, in 256 bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegerTotal {
    low: u128,
    high: i128,
}

impl IntegerTotal {
    fn add_wide(&mut self, value: i128) {
        self.add_parts(value as u128, value >> 127);
    }

    fn add_parts(&mut self, low: u128, high: i128) {
        let (sum, carries) = self.low.overflowing_add(low);
        self.low = sum;
        self.high = self.high.wrapping_add(high).wrapping_add(i128::from(carries));
    }

    /// The total, if it fits.
    pub(super) fn value(self) -> Option<i128> {
        let low = self.low as i128;
        (self.high == low >> 127).then_some(low)
    }

    /// The total over `count`, as the nearest `f64`.
    pub(super) fn mean(self, count: u128) -> f64 {
        let mut digits = Exact::new();
        digits.add_integer(self.high, self.low);
        digits.over(count, Kind::F64)
    }
}

impl<T: Copy + Into<i128>> Accumulator<T> for IntegerTotal {
    fn add(&mut self, value: T) {
        self.add_wide(value.into());
    }

    fn add_times(&mut self, value: T, count: u128) {
        let value: i128 = value.into();
        // 64 bits times 32 fit 128; times 64 those of an unsigned one do not.
        self.add_wide(value * i128::from(count as u32));
        for shift in [32, 64, 96] {
            let product = value * i128::from((count >> shift) as u32);
            self.add_parts((product as u128) << shift, product >> (128 - shift));
        }
    }

    /// Fewer than 2<sup>63</sup> values of 64 bits fit 128.
    fn add_slice(&mut self, values: &[T]) {
        self.add_wide(values.iter().fold(0, |sum: i128, &value| sum.wrapping_add(value.into())));
    }

    fn merge(&mut self, other: &Self) {
        self.add_parts(other.low, other.high);
    }

    type Cell = i128;

    #[inline(always)]
    fn add_to(sum: &mut i128, value: T) -> bool {
        *sum = sum.wrapping_add(value.into());
        true
    }

    fn join(sum: &mut i128, other: i128) -> bool {
        *sum = sum.wrapping_add(other);
        true
    }

    fn add_cell(&mut self, sum: i128) {
        self.add_wide(sum);
    }
}

/// The exact sums of both parts of complex numbers.
#[derive(Debug, Clone, Default)]
pub struct ComplexTotal {
    re: FloatTotal,
    im: FloatTotal,
}

impl<T: Wide> Accumulator<Complex<T>> for ComplexTotal {
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

/// All digits, whichever way the sum is held.
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

/// The number of bytes, and these, the least first: no more than tell the number and its sign.
impl Saved for IntegerTotal {
    fn save(&self, bytes: &mut Vec<u8>) {
        let mut wide = [0; 32];
        wide[..16].copy_from_slice(&self.low.to_le_bytes());
        wide[16..].copy_from_slice(&self.high.to_le_bytes());
        let count = (1..=wide.len()).rev().find(|&count| !is_sign(&wide[..count])).unwrap_or(0);
        bytes.push(count as u8);
        bytes.extend_from_slice(&wide[..count]);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let count = usize::from(byte(bytes)?);
        let given = split(bytes, count)?;
        let sign = if given.last().is_some_and(|&last| last >> 7 == 1) { 0xff } else { 0 };
        let mut wide = [sign; 32];
        wide.get_mut(..count)?.copy_from_slice(given);
        let (low, high) = wide.split_at(16);
        let total = IntegerTotal {
            low: u128::from_le_bytes(low.try_into().ok()?),
            high: i128::from_le_bytes(high.try_into().ok()?),
        };
        (!is_sign(given)).then_some(total)
    }
}

/// Whether the last byte tells nothing that the sign of those before it does not.
fn is_sign(bytes: &[u8]) -> bool {
    match *bytes {
        [.., before, last] => last == if before >> 7 == 1 { 0xff } else { 0 },
        [only] => only == 0,
        [] => false,
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

/// A type of floats that totals are rounded to.
pub(super) trait Rounded: Float {
    const KIND: Kind;

    /// The total over `count`.
    fn rounded(total: &FloatTotal, count: u128) -> Self {
        Self::from_f64(total.over(count, Self::KIND))
    }

    /// The sum that a pair holds over `count`, where that is enough to know it.
    #[inline(always)]
    fn quickly(pair: Pair, count: u128) -> Option<Self> {
        pair::over(pair, count, Self::KIND).map(Self::from_f64)
    }

    /// Both parts of the total over `count`.
    fn parts_over(total: &ComplexTotal, count: u128) -> Complex<Self> {
        Complex { re: Self::rounded(&total.re, count), im: Self::rounded(&total.im, count) }
    }
}

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
        digits.over(1, Kind::F64)
    }

    /// Values whose exponents lie within so many of that of 1, some of which take others away again.
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
                assert_eq!(found.over(1, Kind::F64).to_bits(), expected.to_bits(), "{values:?}");
                let (left, right) = values.split_at(values.len() / 3);
                let mut merged = total(left);
                Accumulator::<f64>::merge(&mut merged, &total(right));
                assert_eq!(merged.over(1, Kind::F64).to_bits(), expected.to_bits(), "{values:?} in two");
                let mut sliced = total(left);
                right.chunks(11).for_each(|values| sliced.add_slice(values));
                assert_eq!(sliced.over(1, Kind::F64).to_bits(), expected.to_bits(), "{values:?} in slices");
            }
        }
        for values in [
            &[1e300, 1e-300, f64::MAX, f64::MAX, -f64::MAX, 3e-310][..],
            &[1.0, 1e-200, f64::INFINITY, 1e-300],
            &[1e200, 1.0, 1e-200, f64::NAN, 5.0],
            &[f64::INFINITY, 1.0, f64::NEG_INFINITY],
            &[5e-324, -5e-324, 1e308, 1e-10, -1e308, -1e-10],
        ] {
            let (found, expected) = (total(values).over(1, Kind::F64), exactly(values));
            assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{values:?}");
        }
    }

    /// Once two floats did not hold a sum all digits were there, 600 bytes for each cell.
    #[test]
    fn sums_take_the_memory_that_their_exponents_ask_for() {
        let grown = |exponents| Accumulator::<f64>::grown(&total(&spread(7, 200, exponents)));
        assert_eq!(Accumulator::<f64>::grown(&total(&[1.0, 2.5, -3e10])), 0);
        let [few, some, many] = [50, 150, 400].map(grown);
        assert!(few > 0 && few < 100 && some < 150 && many < 350, "{few} {some} {many}");
        assert!(grown(1000) >= size_of::<Exact>());
    }
}
