//! Exact sums and means over axes, and their gradients.

use super::totals::{Finish, Small, Totals};
use super::{fold, gradient, spread};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Element, Float, Inexact, Real, Ring};
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of [`sum`] and [`nansum`].
#[derive(Clone, Copy)]
pub(super) struct Sum<const SKIPS_NAN: bool>;

impl<const SKIPS_NAN: bool> Op for Sum<SKIPS_NAN> {
    fn name(&self) -> &'static str {
        if SKIPS_NAN { op::nansum.name } else { op::sum.name }
    }
}

impl<T: Ring, const SKIPS_NAN: bool> Finish<T> for Sum<SKIPS_NAN> {
    type Total = T::Total;
    type Out = T::Sum;
    const SKIPS_NAN: bool = SKIPS_NAN;
    const DIVIDES: bool = false;

    fn finish(&self, total: &T::Total, _: u128) -> Outcome<T::Sum> {
        T::sum_of(total).ok_or(GroupError::Overflow(T::Sum::DTYPE.name()))
    }

    #[inline(always)]
    fn finish_fast(cell: Small<Self, T>, _: u128) -> Option<T::Sum> {
        T::quick_sum_of(cell)
    }
}

/// The descriptor of [`mean`] and [`nanmean`].
#[derive(Clone, Copy)]
pub(super) struct Mean<const SKIPS_NAN: bool>;

impl<const SKIPS_NAN: bool> Op for Mean<SKIPS_NAN> {
    fn name(&self) -> &'static str {
        if SKIPS_NAN { op::nanmean.name } else { op::mean.name }
    }
}

impl<T: Ring, const SKIPS_NAN: bool> Finish<T> for Mean<SKIPS_NAN> {
    type Total = T::Total;
    type Out = T::Mean;
    const SKIPS_NAN: bool = SKIPS_NAN;
    const DIVIDES: bool = true;

    fn counts(_: T) -> bool {
        true
    }

    fn finish(&self, total: &T::Total, count: u128) -> Outcome<T::Mean> {
        Ok(T::mean_of(total, count))
    }

    #[inline(always)]
    fn finish_fast(cell: Small<Self, T>, count: u128) -> Option<T::Mean> {
        T::quick_mean_of(cell, count)
    }
}

/// The descriptor of the gradients: each element that counts receives the gradient of its output element, or a
/// fraction.
#[derive(Clone, Copy)]
struct SumGradient {
    is_mean: bool,
    skips_nan: bool,
}

impl Op for SumGradient {
    fn name(&self) -> &'static str {
        match (self.is_mean, self.skips_nan) {
            (false, false) => op::sum_backward.name,
            (false, true) => op::nansum_backward.name,
            (true, false) => op::mean_backward.name,
            (true, true) => op::nanmean_backward.name,
        }
    }
}

/// Finds the number of elements of a group that count.
impl<T: Element> Holistic<T> for SumGradient {
    type Out = u128;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<u128> {
        let count = group.positions();
        if !self.skips_nan {
            return if self.is_mean && count == u128::MAX { Err(GroupError::Uncountable) } else { Ok(count) };
        }
        let is_fill_nan = group.unstored.fill.is_some_and(T::isnan);
        if self.is_mean && count == u128::MAX && !is_fill_nan {
            return Err(GroupError::Uncountable);
        }
        let unstored = if is_fill_nan { group.unstored.count(group.stored.len()) } else { 0 };
        Ok(count - unstored - group.stored.iter().filter(|value| value.isnan()).count() as u128)
    }
}

impl<T: Element, G: Float> Gradient<T, G> for SumGradient {
    fn of_element(&self, value: T, &count: &u128, _: usize, gradient: G) -> Option<G> {
        Some(match self.skips_nan && value.isnan() {
            true => G::ZERO,
            false if self.is_mean => gradient.over(count),
            false => gradient,
        })
    }
}

/// Returns the exact sum over the given axes, rounded once.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over the reduced axes.
///
/// The sum of floats is exact and is rounded once to the element type. The sum is bitwise identical for any order of
/// the elements, any format and any number of threads. No intermediate sum overflows. For example, `[MAX, MAX, -MAX]`
/// has the sum `MAX`. No digit is lost. For example, `[1e100, 1.0, -1e100]` has the sum 1.0. A sum of zero is `+0.0`.
/// The sum of signed integers is an `i64`. The sum of unsigned integers or `bool` is a `u64`.
///
#[doc = page!(reduction)]
/// The fill of the result is the sum of a group in which each position holds the fill. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is 0.
///
/// # NaN
///
/// If a group has a NaN, or infinities of both signs, the sum is NaN. If all infinities of a group have the same sign,
/// the sum is this infinity. [`nansum`] skips NaNs.
///
/// # Gradient
///
/// [`grad::sum`](crate::grad::sum()).
///
#[doc = page!(errors)]
/// - `Overflow`: a sum of integers does not fit in 64 bits. The error reports the output element.
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count as a finite
///   number other than 0.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{Axes, CooTensor, sum};
/// use ndarray::arr1;
///
/// // 1e100 1 -1e100
/// // .     2  .
/// let (rows, columns) = (vec![0, 0, 0, 1], vec![0, 1, 2, 1]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1e100, 1.0, -1e100, 2.0f64], 0.0)?;
/// assert_eq!(sum(&x, 1)?.to_dense()?, arr1(&[1.0, 2.0]).into_dyn());
/// assert_eq!(sum(&x, 1)?.to_dense()?, sum(&x.to_dense()?, 1)?);
/// assert_eq!(sum(&x, Axes::all())?.get(&[])?, 3.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`math.fsum`](https://docs.python.org/3/library/math.html#math.fsum), over axes as in
/// [`numpy.sum`](https://numpy.org/doc/stable/reference/generated/numpy.sum.html).
#[doc(alias = "numpy.sum")]
#[doc(alias = "torch.sum")]
#[doc(alias = "fsum")]
#[doc(alias = "add.reduce")]
pub fn sum<X: Operand<Elem: Ring>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
    fold(x, Totals(Sum::<false>), &axes.into())
}

/// Returns the exact sum over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over the positions of the
/// reduced axes where *x*<sub>k,r</sub> is not NaN.
///
/// The sum is exact and rounded once, as in [`sum`].
///
#[doc = page!(reduction)]
/// The fill of the result is the sum of a group in which each position holds the fill. If the fill of `x` is NaN, this
/// sum is 0. For [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is 0.
///
/// # NaN
///
/// NaNs are skipped. A complex number is NaN if either part is NaN. A group with only NaN has the sum 0. Infinities of
/// both signs yield NaN.
///
/// # Gradient
///
/// [`grad::nansum`](crate::grad::nansum()), only for floats.
///
#[doc = page!(errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count as a finite
///   number other than 0.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nansum};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0], vec![0, 1]], vec![f64::NAN, 3.0], f64::NAN)?;
/// assert_eq!(nansum(&x, 1)?.to_dense()?, arr1(&[3.0, 0.0]).into_dyn());
/// assert_eq!(nansum(&x, 1)?.to_dense()?, nansum(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nansum`](https://numpy.org/doc/stable/reference/generated/numpy.nansum.html).
#[doc(alias = "numpy.nansum")]
#[doc(alias = "torch.nansum")]
pub fn nansum<X: Operand<Elem: Inexact>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Totals(Sum::<true>), &axes.into())
}

/// Returns the mean over the given axes: the exact sum divided by the count.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub> / *n*, for *k* over the kept axes and *r* over the *n* positions
/// of the reduced axes.
///
/// The sum is exact, and the quotient is rounded once. The mean of equal floats is therefore this float, and the mean
/// of floats lies between the smallest and the largest element. For example, `[MAX, MAX]` has the mean `MAX`. For
/// floats and complex numbers, the result has the type of the elements. For integers and `bool`, the result has `f64`
/// elements.
///
#[doc = page!(reduction)]
/// The fill of the result is the mean of a group in which each position holds the fill. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count in the sum and in the count, and the fill of the
/// result is NaN.
///
/// # NaN
///
/// If a group has a NaN or infinities of both signs, or is empty, the mean is NaN. [`nanmean`] skips NaNs.
///
/// # Gradient
///
/// [`grad::mean`](crate::grad::mean()).
///
#[doc = page!(errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, mean};
/// use ndarray::arr1;
///
/// // 3 . 6
/// // . 1 .
/// let (rows, columns) = (vec![0, 0, 1], vec![0, 2, 1]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, 1.0], 0.0)?;
/// assert_eq!(mean(&x, 1)?.to_dense()?, arr1(&[3.0, 1.0 / 3.0]).into_dyn());
/// assert_eq!(mean(&x, 1)?.to_dense()?, mean(&x.to_dense()?, 1)?);
/// assert_eq!(mean(&x.stored(), 1)?.values(), [4.5, 1.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`statistics.fmean`](https://docs.python.org/3/library/statistics.html#statistics.fmean), over axes
/// as in [`numpy.mean`](https://numpy.org/doc/stable/reference/generated/numpy.mean.html).
#[doc(alias = "numpy.mean")]
#[doc(alias = "torch.mean")]
pub fn mean<X: Operand<Elem: Ring>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<<X::Elem as Ring>::Mean>> {
    fold(x, Totals(Mean::<false>), &axes.into())
}

/// Returns the mean over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub> / *m*, for *k* over the kept axes and *r* over the *m* positions
/// of the reduced axes where *x*<sub>k,r</sub> is not NaN.
///
/// The sum is exact, and the quotient is rounded once.
///
#[doc = page!(reduction)]
/// The fill of the result is the fill of `x`, or NaN if the groups are empty. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is NaN.
///
/// # NaN
///
/// NaNs are skipped in the sum and in the count. A complex number is NaN if either part is NaN. A group with only NaN
/// yields NaN.
///
/// # Gradient
///
/// [`grad::nanmean`](crate::grad::nanmean()), only for floats.
///
#[doc = page!(errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count and are not
///   NaN.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, nanmean};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![f64::NAN, 3.0, 7.0], f64::NAN)?;
/// assert_eq!(nanmean(&x, 1)?.to_dense()?, arr1(&[3.0, 7.0]).into_dyn());
/// assert_eq!(nanmean(&x, 1)?.to_dense()?, nanmean(&x.to_dense()?, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmean`](https://numpy.org/doc/stable/reference/generated/numpy.nanmean.html).
#[doc(alias = "numpy.nanmean")]
#[doc(alias = "torch.nanmean")]
pub fn nanmean<X: Operand<Elem: Inexact>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    fold(x, Totals(Mean::<true>), &axes.into())
}

/// Returns the gradient of [`sum`]: each entry receives the gradient of its group.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub>
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// A gradient of `-0.0` becomes `+0.0`. All other gradients are unchanged.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`sum()`] except `Overflow` and `Uncountable`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![0.0, 3.0, 4.0], 0.0)?;
/// let dx = grad::sum(&x, &arr1(&[0.5, -2.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, -2.0, -2.0]);
/// assert!(dx.shares_pattern_with(&x));
/// let dense = grad::sum(&x.to_dense()?, &arr1(&[0.5, -2.0]), 1)?;
/// assert!(dx.entries().iter().all(|(at, gradient)| dense[at.as_slice()] == *gradient));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`sum`].
pub fn sum_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    spread(x, upstream, &axes.into())
}

/// Returns the gradient of [`nansum`]: the upstream gradient, and 0 for NaN.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> if *x*<sub>k,r</sub> is not NaN, otherwise 0
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is NaN, the elements of the group that are not NaN receive NaN. A NaN element
/// receives 0.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nansum()`] except `Uncountable`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, f64::NAN, 4.0], 0.0)?;
/// let dx = grad::nansum(&x, &arr1(&[0.5, -2.0]), 1)?;
/// assert_eq!(dx.values(), [0.5, 0.0, -2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`nansum`].
pub fn nansum_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, SumGradient { is_mean: false, skips_nan: true }, upstream, &axes.into())
}

/// Returns the gradient of [`mean`]: the upstream gradient divided by the group size.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> / *n*, rounded once, where *n* is the number of positions of the group. For
/// [`x.stored()`](crate::Tensor::stored), *n* is the number of entries of the group.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is NaN, each element of the group receives NaN. NaN elements do not change the
/// gradient.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`mean()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 4], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, 3.0, 4.0], 0.0)?;
/// let dx = grad::mean(&x, &arr1(&[0.5, -2.0]), 1)?;
/// assert_eq!(dx.values(), [0.125, -0.5, -0.5]);
/// assert_eq!(grad::mean(&x.stored(), &arr1(&[0.5, -2.0]), 1)?.values(), [0.5, -1.0, -1.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`mean`].
pub fn mean_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, SumGradient { is_mean: true, skips_nan: false }, upstream, &axes.into())
}

/// Returns the gradient of [`nanmean`], divided among the elements that are not NaN.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> / *m*, rounded once, if *x*<sub>k,r</sub> is not NaN, otherwise 0. Here *m* is
/// the number of elements of the group that are not NaN.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is NaN, the elements of the group that are not NaN receive NaN. A NaN element
/// receives 0.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanmean()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, f64::NAN, 4.0], 0.0)?;
/// let dx = grad::nanmean(&x, &arr1(&[3.0, -2.0]), 1)?;
/// assert_eq!(dx.values(), [1.0, 0.0, -1.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`nanmean`].
pub fn nanmean_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    gradient(x, SumGradient { is_mean: true, skips_nan: true }, upstream, &axes.into())
}
