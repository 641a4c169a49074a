//! Maps: one function applied to every element.

use std::convert::Infallible;

use num_complex::Complex;

use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::complex::{rounded, wide};
use crate::element::lanes::InLanes;
use crate::element::{Element, Float, Inexact, InexactMap};

/// An elementwise function of values of type `T`.
pub trait Map<T: Element> {
    /// The type of the results.
    type Out: Element;
    /// The reason why a value does not have a result; [`Infallible`] if every value has one.
    type Fault: Into<Overflow>;

    /// Writes the result of each value to the same position of `results`.
    fn block(&self, values: &[T], results: &mut [Self::Out]) -> Result<(), Self::Fault>;
}

/// The first value whose result does not fit in its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The name of the operation.
    pub(crate) operation: &'static str,
    /// The index of the value.
    pub(crate) at: usize,
}

impl From<Infallible> for Overflow {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A map whose results may not fit in the type, run as a SIMD loop.
pub(crate) struct Each<F> {
    pub(crate) operation: &'static str,
    /// The estimated time per value, for values in a cache.
    pub(crate) picoseconds: usize,
    pub(crate) f: F,
}

impl<F> Each<F> {
    /// Returns a map whose function needs a few instructions.
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

/// A function of real numbers, or its derivative.
pub(crate) type Function<'a> = &'a (dyn Fn(f64) -> f64 + Sync);

/// The estimated picoseconds per call of a [`Function`].
pub(crate) const CALL: usize = 10_000;

/// A map that calls a function per value, in `f64`; the result is rounded once.
pub(crate) struct FunctionMap<'a>(pub(crate) Function<'a>);

impl<T: Float> Map<T> for FunctionMap<'_> {
    type Out = T;
    type Fault = Infallible;

    fn block(&self, values: &[T], results: &mut [T]) -> Result<(), Infallible> {
        threads::map_into(values, results, CALL, |value| T::from_f64(self.0(value.to_f64())));
        Ok(())
    }
}

/// The block length of [`InLanes`]: a fraction of the smallest cache, so that a second pass reads the block from this
/// cache.
const LANES: usize = 1 << 10;

/// The estimated picoseconds per value of [`InLanes`].
const LANE: usize = 2_000;

/// A map that evaluates a function in SIMD lanes, in `f64`; the result is rounded once.
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
    /// Evaluates the SIMD form for all values, then calls the full function for values that the SIMD form does not
    /// cover.
    fn piece<T: Float>(&self, values: &[T], results: &mut [T]) {
        let has_all = in_wide_vectors(
            #[inline(always)]
            || {
                let (lanes, mut has_all) = (*self, true);
                // The loop does not branch, so a value outside the domain of the SIMD form yields an arbitrary result
                // here. `has_all` is false if such a value exists.
                for (result, &value) in results.iter_mut().zip(values) {
                    has_all &= lanes.has(value.to_f64());
                    *result = T::from_f64((lanes.f)(value.to_f64()));
                }
                has_all
            },
        );
        if !has_all {
            // Each value outside the domain is recomputed, so no arbitrary result remains.
            let missing = results.iter_mut().zip(values).filter(|(_, value)| !self.has(value.to_f64()));
            missing.for_each(|(result, value)| *result = T::from_f64((self.whole)(value.to_f64())));
        }
    }
}

/// A map of floats of every type, computed in `f64`.
pub(crate) trait FloatMap {
    /// Writes the result of each value.
    fn of_floats<T: Float>(&self, values: &[T], results: &mut [T]);
}

/// A map of floats that needs a few instructions.
pub(crate) struct Quick<F>(pub(crate) F);

impl<F: Fn(f64) -> f64 + Copy + Sync> FloatMap for Quick<F> {
    fn of_floats<T: Float>(&self, values: &[T], results: &mut [T]) {
        let f = |value: T| Some(T::from_f64(self.0(value.to_f64())));
        // Every float has a result.
        let _ = Each::quick("", f).block(values, results);
    }
}

impl FloatMap for FunctionMap<'_> {
    fn of_floats<T: Float>(&self, values: &[T], results: &mut [T]) {
        let Ok(()) = self.block(values, results);
    }
}

impl<F: Fn(f64) -> f64 + Copy + Sync> FloatMap for InLanes<F> {
    fn of_floats<T: Float>(&self, values: &[T], results: &mut [T]) {
        let Ok(()) = self.block(values, results);
    }
}

/// A map of floats and of complex numbers, computed in `f64`; each part of a result is rounded once.
pub(crate) struct ByKind<R> {
    pub(crate) real: R,
    pub(crate) complex: fn(Complex<f64>) -> Complex<f64>,
}

impl<R: FloatMap> InexactMap for ByKind<R> {
    fn of_floats<F: Float>(&self, values: &[F], results: &mut [F]) {
        self.real.of_floats(values, results);
    }

    fn of_complex<F: Float>(&self, values: &[Complex<F>], results: &mut [Complex<F>]) {
        let f = self.complex;
        threads::map_into(values, results, 4 * CALL, |value| rounded(f(wide(value))));
    }
}

impl<T: Inexact, R: FloatMap> Map<T> for ByKind<R> {
    type Out = T;
    type Fault = Infallible;

    fn block(&self, values: &[T], results: &mut [T]) -> Result<(), Infallible> {
        T::map_by(self, values, results);
        Ok(())
    }
}

/// Multiplies the gradient of each result by the derivative at its value, in `f64`, rounded once.
///
/// A zero gradient yields +0.0 for every derivative.
pub(crate) fn multiply_by_slopes<T: Float, G: Float>(values: &[T], gradients: &mut [G], slope: Function<'_>) {
    threads::chunks_into(values, gradients, 2 * CALL, |values, gradients| {
        for (gradient, &value) in gradients.iter_mut().zip(values) {
            // The test comes first: zero times an infinite or NaN derivative would be NaN.
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

    /// The longest input is split among several threads, and several threads find a failing value.
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
