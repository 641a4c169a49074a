//! Norms over axes, and their gradient.

use super::{fold, gradient};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::norm::{Magnitudes, MaxMagnitude, Squares};
use crate::element::{Accumulator, Float};
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
#[cfg(feature = "lazy")]
use crate::kernels::partial::{Partial, partial};
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::totals::{Finish, Totals};

/// The order of a norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NormOrder {
    /// The sum of the magnitudes.
    One,
    /// The root of the sum of the squares.
    #[default]
    Two,
    /// The largest magnitude.
    Infinity,
}

/// The options of [`norm`] and [`grad::norm`](crate::grad::norm()).
///
/// Plain axes convert to this type.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Norm};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0, -4.0], 0.0)?;
/// assert_eq!(x.norm(0)?.get(&[])?, 5.0);
/// assert_eq!(x.norm(Norm::over(0).one())?.get(&[])?, 7.0);
/// assert_eq!(x.norm(Norm::over(0).infinity())?.get(&[])?, 4.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Norm {
    /// The reduced axes.
    pub axes: Axes,
    /// The order of the norm.
    pub order: NormOrder,
}

impl Norm {
    /// Returns options for the root of the sum of squares over `axes`.
    pub fn over(axes: impl Into<Axes>) -> Self {
        Norm { axes: axes.into(), order: NormOrder::default() }
    }

    /// Selects the sum of the magnitudes.
    #[doc(alias = "l1")]
    pub fn one(self) -> Self {
        Norm { order: NormOrder::One, ..self }
    }

    /// Selects the largest magnitude.
    #[doc(alias = "max")]
    pub fn infinity(self) -> Self {
        Norm { order: NormOrder::Infinity, ..self }
    }

    /// Keeps the reduced axes with length 1.
    #[doc(alias = "keepdims")]
    pub fn keep_dims(self) -> Self {
        Norm { axes: self.axes.keep_dims(), ..self }
    }
}

impl<A: Into<Axes>> From<A> for Norm {
    fn from(axes: A) -> Self {
        Norm::over(axes)
    }
}

impl From<&Norm> for Norm {
    fn from(options: &Norm) -> Self {
        options.clone()
    }
}

/// The descriptor of the sum of the magnitudes.
#[derive(Clone, Copy)]
struct One;

impl Op for One {
    fn name(&self) -> &'static str {
        op::norm.name
    }
}

impl<T: Float> Finish<T> for One {
    type Total = Magnitudes;
    type Out = T;
    const SKIPS_NAN: bool = false;

    fn finish(&self, total: &Magnitudes, _: u128) -> Outcome<T> {
        Ok(T::mean_of(&total.0, 1))
    }

    #[inline(always)]
    fn finish_fast(cell: <Magnitudes as Accumulator<T>>::Cell, _: u128) -> Option<T> {
        T::quick_mean_of(cell, 1)
    }
}

/// The descriptor of the root of the sum of the squares.
#[derive(Clone, Copy)]
struct Two;

impl Op for Two {
    fn name(&self) -> &'static str {
        op::norm.name
    }
}

impl<T: Float> Finish<T> for Two {
    type Total = Squares;
    type Out = T;
    const SKIPS_NAN: bool = false;

    fn finish(&self, total: &Squares, _: u128) -> Outcome<T> {
        Ok(T::from_f64(total.root()))
    }

    #[inline(always)]
    fn finish_fast(cell: <Squares as Accumulator<T>>::Cell, _: u128) -> Option<T> {
        Squares::quick_root(cell).map(T::from_f64)
    }
}

/// The descriptor of the largest magnitude.
#[derive(Clone, Copy)]
struct Infinity;

impl Op for Infinity {
    fn name(&self) -> &'static str {
        op::norm.name
    }
}

impl<T: Float> Finish<T> for Infinity {
    type Total = MaxMagnitude;
    type Out = T;
    const SKIPS_NAN: bool = false;

    fn counts(_: T) -> bool {
        false
    }

    fn finish(&self, total: &MaxMagnitude, _: u128) -> Outcome<T> {
        Ok(T::from_f64(total.0))
    }

    #[inline(always)]
    fn finish_fast(cell: <MaxMagnitude as Accumulator<T>>::Cell, _: u128) -> Option<T> {
        Some(T::from_f64(cell))
    }
}

/// Returns the accumulator of the norm that the options choose.
#[cfg(feature = "lazy")]
pub(super) fn accumulator<T: Float>(options: &Norm) -> Box<dyn Partial> {
    match options.order {
        NormOrder::One => partial::<T, _>(Totals(One)),
        NormOrder::Two => partial::<T, _>(Totals(Two)),
        NormOrder::Infinity => partial::<T, _>(Totals(Infinity)),
    }
}

/// The descriptor of the gradient.
#[derive(Clone, Copy)]
struct NormGradient(NormOrder);

impl Op for NormGradient {
    fn name(&self) -> &'static str {
        op::norm_backward.name
    }
}

/// Returns the total of all elements of a group.
fn total<T: Float, A: Accumulator<T>>(group: &Group<'_, T>) -> A {
    let mut total = A::default();
    total.add_slice(group.stored);
    if let (Some(fill), count @ 1..) = (group.unstored.fill, group.unstored.count(group.stored.len())) {
        total.add_times(fill, count);
    }
    total
}

/// Finds the norm, and the number of elements with the largest magnitude. Neither is needed if only signs matter.
impl<T: Float> Holistic<T> for NormGradient {
    type Out = (f64, u128);
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<(f64, u128)> {
        match self.0 {
            NormOrder::One => Ok((0.0, 0)),
            NormOrder::Two => {
                let has_unstored = group.unstored.count(group.stored.len()) > 0;
                let counts = has_unstored && group.unstored.fill.is_some_and(<Two as Finish<T>>::counts);
                match counts && group.unstored.extent == u128::MAX {
                    true => Err(GroupError::Uncountable),
                    false => Ok((total::<T, Squares>(group).root(), 0)),
                }
            }
            NormOrder::Infinity => {
                let MaxMagnitude(max_magnitude) = total(group);
                let is_max = |value: T| value.to_f64().abs() == max_magnitude;
                let stored = group.stored.iter().filter(|&&value| is_max(value)).count();
                let unstored =
                    if group.unstored.fill.is_some_and(is_max) { group.unstored.count(group.stored.len()) } else { 0 };
                Ok((max_magnitude, stored as u128 + unstored))
            }
        }
    }
}

impl<T: Float, G: Float> Gradient<T, G> for NormGradient {
    fn of_element(&self, value: T, &(norm, count): &(f64, u128), _: usize, gradient: G) -> Option<G> {
        let value = value.to_f64();
        let sign = if value > 0.0 { 1.0 } else { -1.0 };
        match self.0 {
            _ if value == 0.0 && self.0 != NormOrder::Two => None,
            NormOrder::One if value.is_nan() => Some(G::NAN),
            NormOrder::One => Some(G::from_f64(sign * gradient.to_f64())),
            NormOrder::Two if norm == 0.0 => None,
            NormOrder::Two => Some(G::from_f64(value / norm * gradient.to_f64())),
            NormOrder::Infinity if value.abs() == norm => Some(G::from_f64(sign * gradient.to_f64()).over(count)),
            NormOrder::Infinity => None,
        }
    }
}

/// Returns the norm over the given axes.
///
/// The norm is the root of the sum of squares, unless [`Norm`] selects another order.
///
/// *y*<sub>k</sub> = √(Σ<sub>r</sub> *x*<sub>k,r</sub>²), for *k* over the kept axes and *r* over the reduced axes.
/// With [`Norm::one`], the norm is Σ<sub>r</sub> |*x*<sub>k,r</sub>|. With [`Norm::infinity`], the norm is
/// max<sub>r</sub> |*x*<sub>k,r</sub>|.
///
/// The squares and the sum of the squares are exact. This sum is rounded to 53 bits with an unlimited exponent. The
/// root of the sum is computed in `f64`, and then rounded to the element type. No square overflows or underflows. For
/// example, the norm of `[3e300, 4e300]` is `5e300`. The sum of magnitudes is exact and rounded once. The result is
/// therefore bitwise identical for any order of the elements, any format and any number of threads.
///
#[doc = page!(reduction)]
/// The fill of the result is the norm of a group in which each position holds the fill. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is 0.
///
/// # NaN
///
/// A NaN in a group yields NaN. Otherwise an infinity of either sign yields positive infinity. The norm of an empty
/// group is 0.
///
/// # Gradient
///
/// [`grad::norm`](crate::grad::norm()).
///
#[doc = page!(errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count as a finite
///   number other than 0. With [`Norm::infinity`], the function does not return this error.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, Norm, norm};
/// use ndarray::arr1;
///
/// // 3 . -4
/// // . 1e-200 .
/// let (rows, columns) = (vec![0, 0, 1], vec![0, 2, 1]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, -4.0, 1e-200], 0.0)?;
/// assert_eq!(norm(&x, 1)?.to_dense()?, arr1(&[5.0, 1e-200]).into_dyn());
/// assert_eq!(norm(&x, 1)?.to_dense()?, norm(&x.to_dense()?, 1)?);
/// assert_eq!(norm(&x, Norm::over(1).one())?.values(), [7.0, 1e-200]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.linalg.norm`](https://numpy.org/doc/stable/reference/generated/numpy.linalg.norm.html) of
/// vectors, over any axes.
#[doc(alias = "numpy.linalg.norm")]
#[doc(alias = "torch.linalg.vector_norm")]
pub fn norm<X: Operand<Elem: Float>>(x: &X, options: impl Into<Norm>) -> Result<X::Reduced<X::Elem>> {
    let options = options.into();
    match options.order {
        NormOrder::One => fold(x, Totals(One), &options.axes),
        NormOrder::Two => fold(x, Totals(Two), &options.axes),
        NormOrder::Infinity => fold(x, Totals(Infinity), &options.axes),
    }
}

/// Returns the gradient of [`norm`].
///
/// *dx*<sub>k,r</sub> = *x*<sub>k,r</sub> / *y*<sub>k</sub> · *dy*<sub>k</sub>, where *y*<sub>k</sub> is the norm in
/// `f64`. Each operation is rounded to `f64`. If *y*<sub>k</sub> is 0, *dx*<sub>k,r</sub> is 0.
///
/// With [`Norm::one`], *dx*<sub>k,r</sub> is *dy*<sub>k</sub> times the sign of *x*<sub>k,r</sub>, and 0 if
/// *x*<sub>k,r</sub> is 0. With [`Norm::infinity`], the *m* elements of the group with the largest magnitude receive
/// the gradient for [`Norm::one`] divided by *m*, rounded once. All other elements of the group receive 0.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, a NaN in a group
/// yields NaN for each element of the group. An infinite element receives NaN, because infinity divided by infinity is
/// NaN. With [`Norm::one`], a NaN yields NaN only for its own position. With [`Norm::infinity`], each element of a
/// group with NaN receives 0.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient for the default order.
/// With [`Norm::one`] and [`Norm::infinity`], this gradient does not have a gradient.
///
/// # Errors
///
/// - the errors of [`norm()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// With [`Norm::one`], the function does not return `Uncountable`.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, Norm, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![3.0, -4.0, 0.0], 0.0)?;
/// let upstream = arr1(&[10.0, 1.0]);
/// assert_eq!(grad::norm(&x, &upstream, 1)?.values(), [6.0, -8.0, 0.0]);
/// assert_eq!(grad::norm(&x, &upstream, Norm::over(1).one())?.values(), [10.0, -10.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`norm`]. At 0, the subgradient is 0, as in
/// [`torch.linalg.vector_norm`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html).
pub fn norm_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Norm>,
) -> Result<X::Reduced<U::Elem>> {
    let options = options.into();
    gradient(x, NormGradient(options.order), upstream, &options.axes)
}
