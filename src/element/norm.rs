//! Accumulators of norms: exact sums of magnitudes and of squares, and the largest magnitude.

use super::accumulator_bytes::Saved;
use super::exact::{FloatFormat, Products};
use super::in_f64::ExactInF64;
use super::interleaved::{Interleaved, RunResults};
use super::pair::{self, Pair};
use super::total::{Accumulator, FloatTotal};

/// The number of magnitudes or squares computed together. The number is small, so that short slices fill blocks.
const BLOCK: usize = 64;

/// An exact sum of magnitudes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Magnitudes(pub(crate) FloatTotal);

impl<T: ExactInF64> Accumulator<T> for Magnitudes {
    fn add(&mut self, value: T) {
        self.0.add(value.in_f64().abs());
    }

    fn add_sparingly(&mut self, value: T) {
        self.0.add_sparingly(value.in_f64().abs());
    }

    fn add_times(&mut self, value: T, count: u128) {
        self.0.add_times(value.in_f64().abs(), count);
    }

    fn add_slice(&mut self, values: &[T]) {
        for values in values.chunks(BLOCK) {
            let mut magnitudes = [0.0; BLOCK];
            magnitudes.iter_mut().zip(values).for_each(|(magnitude, &value)| *magnitude = value.in_f64().abs());
            self.0.add_slice(&magnitudes[..values.len()]);
        }
    }

    fn merge(&mut self, other: &Self) {
        Accumulator::<f64>::merge(&mut self.0, &other.0);
    }

    fn grown(&self) -> usize {
        Accumulator::<f64>::grown(&self.0)
    }

    type Cell = Pair;

    fn add_to(cell: &mut Pair, value: T) -> bool {
        <FloatTotal as Accumulator<f64>>::add_to(cell, value.in_f64().abs())
    }

    fn join(cell: &mut Pair, other: Pair) -> bool {
        <FloatTotal as Accumulator<f64>>::join(cell, other)
    }

    #[inline(always)]
    fn cells_of(values: &[T], runs: &Interleaved) -> RunResults<Pair> {
        pair::sums_of(values, runs, |value| value.in_f64().abs())
    }

    fn add_cell(&mut self, cell: Pair) {
        Accumulator::<f64>::add_cell(&mut self.0, cell);
    }

    #[inline(always)]
    fn float(value: T) -> Option<f64> {
        Some(value.in_f64().abs())
    }

    #[inline(always)]
    fn cell_of(pair: Pair) -> Pair {
        pair
    }
}

/// An exact sum of squares.
///
/// The square of a value in the middle of the float range is the sum of two floats; other squares are added to digits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Squares {
    medium: FloatTotal,
    /// The digits of all other squares. They are allocated separately, because they are large and few sums need them.
    rest: Option<Box<Products>>,
}

/// Returns the square of a value as two floats, if the two floats represent it exactly. If the value is not finite, the
/// first float represents its square.
fn square(value: f64) -> Option<Pair> {
    pair::product(value, value)
}

impl Squares {
    fn add_rest(&mut self, value: f64, count: u128) {
        self.rest.get_or_insert_with(|| Box::new(Products::new())).add_product(value, value, count);
    }

    /// Returns the [`root`](Squares::root) of a small total, if the small total determines it.
    #[inline(always)]
    pub(crate) fn quick_root([high, low]: Pair) -> Option<f64> {
        let near = high + low;
        near.is_finite().then(|| near.sqrt())
    }

    /// Returns the square root of the sum. The sum is first rounded to the bits of an `f64`.
    pub(crate) fn root(&self) -> f64 {
        let near = self.medium.over(1, FloatFormat::F64);
        if self.rest.is_none() && near.is_finite() {
            return near.sqrt();
        }
        let mut digits = self.rest.as_deref().cloned().unwrap_or_else(Products::new);
        digits.merge(&self.medium.digits());
        digits.root()
    }
}

impl<T: ExactInF64> Accumulator<T> for Squares {
    fn add(&mut self, value: T) {
        match square(value.in_f64()) {
            Some(square) => square.into_iter().for_each(|part| Accumulator::<f64>::add(&mut self.medium, part)),
            None => self.add_rest(value.in_f64(), 1),
        }
    }

    fn add_times(&mut self, value: T, count: u128) {
        match square(value.in_f64()) {
            Some(square) => square.into_iter().for_each(|part| self.medium.add_times(part, count)),
            None => self.add_rest(value.in_f64(), count),
        }
    }

    fn add_slice(&mut self, values: &[T]) {
        for values in values.chunks(BLOCK) {
            let mut squares = [[0.0; 2]; BLOCK];
            for (made, &value) in squares.iter_mut().zip(values) {
                match square(value.in_f64()) {
                    Some(square) => *made = square,
                    None => self.add_rest(value.in_f64(), 1),
                }
            }
            self.medium.add_slice(squares[..values.len()].as_flattened());
        }
    }

    fn merge(&mut self, other: &Self) {
        Accumulator::<f64>::merge(&mut self.medium, &other.medium);
        if let Some(other) = &other.rest {
            self.rest.get_or_insert_with(|| Box::new(Products::new())).merge(other);
        }
    }

    fn grown(&self) -> usize {
        Accumulator::<f64>::grown(&self.medium) + if self.rest.is_some() { size_of::<Products>() } else { 0 }
    }

    type Cell = Pair;

    fn add_to(cell: &mut Pair, value: T) -> bool {
        let add = |part| <FloatTotal as Accumulator<f64>>::add_to(cell, part);
        square(value.in_f64()).is_some_and(|square| square.map(add) == [true; 2])
    }

    fn join(cell: &mut Pair, other: Pair) -> bool {
        <FloatTotal as Accumulator<f64>>::join(cell, other)
    }

    #[inline(always)]
    fn cells_of(values: &[T], runs: &Interleaved) -> RunResults<Pair> {
        pair::squares_of(values, runs)
    }

    fn add_cell(&mut self, cell: Pair) {
        Accumulator::<f64>::add_cell(&mut self.medium, cell);
    }
}

impl Saved for Magnitudes {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.0.save(bytes);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        FloatTotal::load(bytes).map(Magnitudes)
    }
}

/// Each value alone determines whether its square is added to digits, so the bytes are canonical.
impl Saved for Squares {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.medium.save(bytes);
        self.rest.is_some().save(bytes);
        self.rest.iter().for_each(|rest| rest.save(bytes));
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let medium = FloatTotal::load(bytes)?;
        let rest = if bool::load(bytes)? { Some(Box::new(Products::load(bytes)?)) } else { None };
        Some(Squares { medium, rest })
    }
}

impl Saved for MaxMagnitude {
    fn save(&self, bytes: &mut Vec<u8>) {
        Some(self.0).save(bytes);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let max_magnitude = Option::<f64>::load(bytes)??;
        (!max_magnitude.is_sign_negative()).then_some(MaxMagnitude(max_magnitude))
    }
}

/// The largest magnitude so far, or NaN if any value is NaN.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MaxMagnitude(pub(crate) f64);

impl<T: ExactInF64> Accumulator<T> for MaxMagnitude {
    fn add(&mut self, value: T) {
        let magnitude = value.in_f64().abs();
        // `max` ignores NaN, so it is not used.
        self.0 = if magnitude <= self.0 || self.0.is_nan() { self.0 } else { magnitude };
    }

    fn add_times(&mut self, value: T, count: u128) {
        if count > 0 {
            self.add(value);
        }
    }

    fn add_slice(&mut self, values: &[T]) {
        values.iter().for_each(|&value| self.add(value));
    }

    fn merge(&mut self, other: &Self) {
        Accumulator::<f64>::add(self, other.0);
    }

    type Cell = f64;

    fn add_to(cell: &mut f64, value: T) -> bool {
        let mut max_magnitude = MaxMagnitude(*cell);
        max_magnitude.add(value);
        *cell = max_magnitude.0;
        true
    }

    fn join(cell: &mut f64, other: f64) -> bool {
        <MaxMagnitude as Accumulator<f64>>::add_to(cell, other)
    }

    fn add_cell(&mut self, cell: f64) {
        Accumulator::<f64>::add(self, cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `grown` must count all allocations. NaNs also allocate digits, and these must count toward the memory limit.
    #[test]
    fn what_states_take_besides_their_place_is_told() {
        fn grown<A: Accumulator<f64>>(values: &[f64]) -> usize {
            let mut total = A::default();
            total.add_slice(values);
            total.grown()
        }
        let apart = grown::<FloatTotal>(&[f64::NAN]);
        assert!(apart >= size_of::<super::super::exact::Exact>());
        assert_eq!([grown::<Magnitudes>(&[1.0, -2.5]), grown::<Squares>(&[1.0, -2.5])], [0; 2]);
        assert_eq!(grown::<Magnitudes>(&[1e300, 1e-300, f64::NAN]), apart);
        assert_eq!(grown::<Squares>(&[1e300]), size_of::<Products>());
        assert_eq!(grown::<Squares>(&[1e-200, f64::NAN]), apart + size_of::<Products>());
        assert!(size_of::<Squares>() < 100);
    }
}
