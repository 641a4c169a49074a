//! Maps: one function of every element.

use std::convert::Infallible;

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::lanes::InLanes;
use crate::element::{Element, Float};

/// A function of single values of type `T`.
pub trait Map<T: Element> {
    /// The type of its results.
    type Out: Element;
    /// That a value has no result; [`Infallible`] where each has one.
    type Fault: Into<Overflow>;

    /// The results of `values`, in order, written to as many places.
    fn block(&self, values: &[T], results: &mut [Self::Out]) -> Result<(), Self::Fault>;
}

/// The first of some values whose result does not fit its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The operation.
    pub(crate) operation: &'static str,
    /// Which value it is.
    pub(crate) at: usize,
}

impl From<Infallible> for Overflow {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A map that may have no result: a loop in wide vectors.
pub(crate) struct Each<F> {
    pub(crate) operation: &'static str,
    /// What a value takes, in a cache.
    pub(crate) picoseconds: usize,
    pub(crate) f: F,
}

impl<F> Each<F> {
    /// Of a few instructions.
    pub(crate) fn quick(operation: &'static str, f: F) -> Self {
        Each { operation, picoseconds: 400, f }
    }
}

impl<T: Element, U: Element, F: Fn(T) -> Option<U> + Copy + Sync> Map<T> for Each<F> {
    type Out = U;
    type Fault = Overflow;

    fn block(&self, values: &[T], results: &mut [U]) -> Result<(), Overflow> {
        match threads::try_map_into(values, results, self.picoseconds, self.f) {
            None => Ok(()),
            Some(at) => Err(Overflow { operation: self.operation, at }),
        }
    }
}

/// A function of real numbers: of a value, or the slope there.
pub(crate) type Function<'a> = &'a (dyn Fn(f64) -> f64 + Sync);

/// The picoseconds that a [`Function`] takes, more or less.
pub(crate) const CALL: usize = 10_000;

/// The map by a function that calls others: in `f64`, rounded once.
pub(crate) struct Called<'a>(pub(crate) Function<'a>);

impl<T: Float> Map<T> for Called<'_> {
    type Out = T;
    type Fault = Infallible;

    fn block(&self, values: &[T], results: &mut [T]) -> Result<(), Infallible> {
        threads::map_into(values, results, CALL, |value| T::from_f64(self.0(value.to_f64())));
        Ok(())
    }
}

/// What [`InLanes`] reads at once, and again where it has not all of it: a part of the smallest cache.
const LANES: usize = 1 << 10;

/// The picoseconds of a lane.
const LANE: usize = 2_000;

/// The map by a function in lanes: in `f64`, rounded once.
impl<T: Float, F: Fn(f64) -> f64 + Copy + Sync> Map<T> for InLanes<F> {
    type Out = T;
    type Fault = Infallible;

    fn block(&self, values: &[T], results: &mut [T]) -> Result<(), Infallible> {
        threads::chunks_into(values, results, LANE, |values, results| {
            values
                .chunks(LANES)
                .zip(results.chunks_mut(LANES))
                .for_each(|(values, results)| self.piece(values, results));
        });
        Ok(())
    }
}

impl<F: Fn(f64) -> f64 + Copy> InLanes<F> {
    /// All by the loop, and then by a call those that it has not.
    fn piece<T: Float>(&self, values: &[T], results: &mut [T]) {
        let has_all = in_wide_vectors(
            #[inline(always)]
            || {
                let (lanes, mut has_all) = (*self, true);
                for (result, &value) in results.iter_mut().zip(values) {
                    has_all &= lanes.has(value.to_f64());
                    *result = T::from_f64((lanes.f)(value.to_f64()));
                }
                has_all
            },
        );
        if !has_all {
            let missing = results.iter_mut().zip(values).filter(|(_, value)| !self.has(value.to_f64()));
            missing.for_each(|(result, value)| *result = T::from_f64((self.whole)(value.to_f64())));
        }
    }
}

/// Multiplies the gradient of each result by the slope at its value: in `f64`, rounded once. A gradient of zero gives
/// +0.0, whatever the slope is.
pub(crate) fn multiply_by_slopes<T: Float, G: Float>(values: &[T], gradients: &mut [G], slope: Function<'_>) {
    threads::chunks_into(values, gradients, 2 * CALL, |values, gradients| {
        for (gradient, &value) in gradients.iter_mut().zip(values) {
            *gradient = match gradient.is_truthy() {
                true => G::from_f64(gradient.to_f64() * slope(value.to_f64())),
                false => G::ZERO,
            };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough for several threads, each of which finds one of its own.
    #[test]
    fn the_first_value_without_a_result_is_named() {
        let abs = Each::quick("abs", i8::checked_abs);
        for (count, failing) in [(1, vec![0]), (70, vec![69]), (9_000_000, vec![8_999_999, 4_000_001, 5_000_000])] {
            let mut values = vec![-3; count];
            let mut results = vec![0; count];
            assert_eq!((abs.block(&values, &mut results), results[count - 1]), (Ok(()), 3));
            failing.iter().for_each(|&at| values[at] = i8::MIN);
            let at = *failing.iter().min().unwrap();
            assert_eq!(abs.block(&values, &mut results), Err(Overflow { operation: "abs", at }));
        }
    }
}
