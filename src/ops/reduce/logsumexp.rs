//! Logarithms of sums of exponentials over axes, and their gradient.

use super::var::shared_total;
use super::{gradient, holistic};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::math::{exp, ln};
use crate::element::{Accumulator, Float, Ring};
use crate::kernels::extreme::extreme_of_many;
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::passes::Pass;
use crate::ops::op;
use crate::ops::operand::Operand;

type Total = <f64 as Ring>::Total;

/// The number of exponentials that are computed before they are added.
const BLOCK: usize = 32;

/// The largest element of a group, and the sum of the exponentials of the differences from the largest element.
#[derive(Clone, Copy, Debug)]
struct Exponentials {
    largest: f64,
    /// The exact sum, rounded once. NaN if the largest element is not finite.
    sum: f64,
}

impl Exponentials {
    fn of<T: Float>(group: &Group<'_, T>) -> Outcome<Self> {
        let unstored = counted(&group.unstored, group.stored.len())?;
        let found = Self::of_largest(largest_of(group.stored), unstored, |largest| Some(sum_of(group.stored, largest)));
        Ok(found.expect("all values are there"))
    }

    /// Computes the same from values that are read again in each pass; `None` if a value is missing.
    fn streamed<T: Float>(pass: &Pass<'_, T>, unstored: &Unstored<T>) -> Outcome<Option<Self>> {
        let (mut largest, mut stored) = (f64::NEG_INFINITY, 0);
        let takes_chunks = pass(&mut |values| {
            largest = larger(largest, largest_of(values));
            stored += values.len();
        });
        if !takes_chunks {
            return Ok(None);
        }
        Ok(Self::of_largest(largest, counted(unstored, stored)?, |largest| {
            let mut sum = Total::default();
            pass(&mut |values| Accumulator::<f64>::merge(&mut sum, &sum_of(values, largest))).then_some(sum)
        }))
    }

    /// Computes the sum from the largest stored element and from unstored positions; `None` if a value is missing.
    fn of_largest(stored: f64, unstored: Option<(f64, u128)>, sum_of: impl Fn(f64) -> Option<Total>) -> Option<Self> {
        let largest = unstored.map_or(stored, |(fill, _)| larger(stored, fill));
        if !largest.is_finite() {
            return Some(Exponentials { largest, sum: f64::NAN });
        }
        let mut sum = sum_of(largest)?;
        if let Some((fill, count)) = unstored {
            sum.add_times(exp(fill - largest), count);
        }
        Some(Exponentials { largest, sum: f64::mean_of(&sum, 1) })
    }

    /// Returns the logarithm of the sum of the exponentials of the elements. A zero is `+0.0`.
    fn logarithm<T: Float>(self) -> T {
        let value = if self.largest.is_finite() { self.largest + ln(self.sum) } else { self.largest };
        T::from_f64(value).as_implicit()
    }
}

/// Returns the larger number, or NaN if either number is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Returns the largest value, or NaN if there is a NaN; negative infinity for no values.
fn largest_of<T: Float>(values: &[T]) -> f64 {
    extreme_of_many::<true, T>(values, false).map_or(f64::NEG_INFINITY, T::to_f64)
}

/// Returns the exact sum of the exponentials of the differences of values from the largest element.
fn sum_of<T: Float>(values: &[T], largest: f64) -> Total {
    shared_total::<T, f64, Total>(values, move |sum, values| {
        for values in values.chunks(BLOCK) {
            let mut block = [0.0; BLOCK];
            // Differences are at most 0, so no exponential overflows.
            block.iter_mut().zip(values).for_each(|(block, &value)| *block = exp(value.to_f64() - largest));
            Accumulator::<f64>::add_slice(sum, &block[..values.len()]);
        }
    })
}

/// Returns the fill and the number of unstored positions, if they count, for a group with `stored` entries.
fn counted<T: Float>(unstored: &Unstored<T>, stored: usize) -> Outcome<Option<(f64, u128)>> {
    let counted = unstored.fill.map(|fill| (fill.to_f64(), unstored.count(stored))).filter(|&(_, count)| count > 0);
    match counted.is_some_and(|(fill, _)| fill.is_finite()) && unstored.extent == u128::MAX {
        true => Err(GroupError::Uncountable),
        false => Ok(counted),
    }
}

/// The descriptor of [`logsumexp`].
#[derive(Clone, Copy)]
struct LogSumExp;

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        op::logsumexp.name
    }
}

impl<T: Float> Holistic<T> for LogSumExp {
    type Out = T;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<T> {
        Exponentials::of(group).map(Exponentials::logarithm)
    }

    fn of_streamed(&self, pass: &Pass<'_, T>, unstored: &Unstored<T>) -> Outcome<Option<T>> {
        Ok(Exponentials::streamed(pass, unstored)?.map(Exponentials::logarithm))
    }
}

/// The descriptor of the gradient.
#[derive(Clone, Copy)]
struct Weights;

impl Op for Weights {
    fn name(&self) -> &'static str {
        op::logsumexp_backward.name
    }
}

impl<T: Float> Holistic<T> for Weights {
    type Out = Exponentials;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<Exponentials> {
        Exponentials::of(group)
    }
}

impl<T: Float, G: Float> Gradient<T, G> for Weights {
    fn of_element(&self, value: T, found: &Exponentials, _: usize, gradient: G) -> Option<G> {
        let weight = exp(value.to_f64() - found.largest) / found.sum;
        Some(G::from_f64(weight * gradient.to_f64()))
    }
}

/// Returns the logarithm of the sum of the exponentials over the given axes.
///
/// *y*<sub>k</sub> = *m* + ln Σ<sub>r</sub> exp(*x*<sub>k,r</sub> − *m*), where *m* is the largest element of the
/// group, for *k* over the kept axes and *r* over the reduced axes.
///
/// Each difference, exponential and logarithm is computed in `f64`. The sum of the exponentials is exact and rounded
/// once to `f64`. Then the result is rounded to the element type. The differences are at most 0, so no exponential
/// overflows. The result is bitwise identical for any order of the elements, any format and any number of threads. A
/// result of zero is `+0.0`.
///
#[doc = page!(reduction)]
/// The fill of the result is the fill of `x` plus the logarithm of the number of positions of a group. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is negative infinity.
///
/// # NaN
///
/// If a group has a NaN, the result is NaN. Otherwise, if the group has positive infinity, the result is positive
/// infinity. An empty group, or a group with only negative infinities, yields negative infinity.
///
/// # Gradient
///
/// [`grad::logsumexp`](crate::grad::logsumexp).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count as a finite
///   number.
///
/// # Complexity
///
/// The complexity of [`var`](crate::var()). Both functions read each group twice.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, logsumexp};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1000.0, 1000.0, 5.0], 0.0)?;
/// let y = logsumexp(&x, 1)?;
/// assert_eq!(y.get(&[0])?, 1000.0 + 2f64.ln());
/// assert_eq!(y.to_dense()?, logsumexp(&x.to_dense()?, 1)?);
/// assert_eq!(logsumexp(&x.stored(), 1)?.get(&[1])?, 5.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition:
/// [`scipy.special.logsumexp`](https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.logsumexp.html).
#[doc(alias = "scipy.special.logsumexp")]
#[doc(alias = "torch.logsumexp")]
pub fn logsumexp<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    holistic(x, LogSumExp, &axes.into())
}

/// Returns the gradient of [`logsumexp`]: softmax times the upstream gradient.
///
/// *dx*<sub>k,r</sub> = exp(*x*<sub>k,r</sub> − *m*) / *s* · *dy*<sub>k</sub>, where *m* is the largest element of the
/// group and *s* = Σ<sub>r</sub> exp(*x*<sub>k,r</sub> − *m*). Each operation is rounded to `f64`.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, if the forward
/// result of a group is not finite, each element of the group receives NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`logsumexp`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The same as [`grad::var`](crate::grad::var).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 4], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![0.0, 3.0, 3.0], 0.0)?;
/// let upstream = arr1(&[8.0, 1.0]);
/// assert_eq!(grad::logsumexp(&x, &upstream, 1)?.values()[0], 2.0); // four equal elements
/// assert_eq!(grad::logsumexp(&x.stored(), &upstream, 1)?.values(), [8.0, 0.5, 0.5]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`logsumexp`].
pub fn logsumexp_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, Weights, upstream, &axes.into())
}
