//! Medians that propagate NaN, quantiles with and without NaN, and their gradients.

use super::{gradient, holistic};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::element::{Float, Real};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Gradient, GradientInputs, Group, Holistic};
use crate::kernels::median::{
    MedianGradient, MedianGradientRule, MedianQuery, RankWeights, median_of_one, write_gradients,
};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::ordered::{Middles, RankSearch, value_of};
use crate::kernels::passes::Pass;
use crate::kernels::rank::Rule;
use crate::kernels::select::FilterBuffer;
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::Nanmedian;

pub use crate::kernels::rank::QuantileMethod;

/// The options of [`quantile`] and [`nanquantile`].
///
/// The gradients of these functions have the same options. Plain axes convert to this type.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Quantile, QuantileMethod};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0, 8.0f64], 0.0)?;
/// assert_eq!(x.quantile(0.75, 0)?.get(&[])?, 4.25); // of 0, 0, 3, 8
/// assert_eq!(x.quantile(0.75, Quantile::over(0).method(QuantileMethod::Lower))?.get(&[])?, 3.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Quantile {
    /// The reduced axes.
    pub axes: Axes,
    /// The rule for a quantile between two elements.
    pub method: QuantileMethod,
    /// The rule for the elements that receive the gradient.
    pub rule: MedianGradient,
}

impl Quantile {
    /// Returns options for the quantile over `axes`.
    ///
    /// A quantile between two elements is interpolated linearly. Equal elements share the gradient.
    pub fn over(axes: impl Into<Axes>) -> Self {
        Quantile { axes: axes.into(), method: QuantileMethod::default(), rule: MedianGradient::default() }
    }

    /// Sets the rule for a quantile between two elements.
    #[doc(alias = "interpolation")]
    pub fn method(self, method: QuantileMethod) -> Self {
        Quantile { method, ..self }
    }

    /// Keeps the reduced axes with length 1.
    #[doc(alias = "keepdims")]
    pub fn keep_dims(self) -> Self {
        Quantile { axes: self.axes.keep_dims(), ..self }
    }

    /// Passes the gradient only to the elements at the ranks of the quantile.
    ///
    /// Elements at all other ranks receive 0, even if they are equal to an element at the ranks of the quantile.
    pub fn first(self) -> Self {
        Quantile { rule: MedianGradient::First, ..self }
    }
}

impl<A: Into<Axes>> From<A> for Quantile {
    fn from(axes: A) -> Self {
        Quantile::over(axes)
    }
}

impl From<&Quantile> for Quantile {
    fn from(options: &Quantile) -> Self {
        options.clone()
    }
}

/// The descriptor of medians and quantiles.
#[derive(Clone, Copy)]
pub(super) struct QuantileRanks {
    pub(super) rule: Rule,
    pub(super) skips_nan: bool,
}

impl Op for QuantileRanks {
    fn name(&self) -> &'static str {
        match (self.rule, self.skips_nan) {
            (Rule::Middle(_), false) => op::median.name,
            (Rule::Middle(_), true) => op::nanmedian.name,
            (Rule::At(..), false) => op::quantile.name,
            (Rule::At(..), true) => op::nanquantile.name,
        }
    }
}

impl QuantileRanks {
    /// Returns the descriptor of [`median`].
    pub(super) fn median(options: &Nanmedian) -> Self {
        QuantileRanks { rule: Rule::Middle(options.even), skips_nan: false }
    }

    /// Returns the descriptor of [`nanmedian`](crate::nanmedian()).
    pub(super) fn nanmedian(options: &Nanmedian) -> Self {
        QuantileRanks { rule: Rule::Middle(options.even), skips_nan: true }
    }

    fn memo_key(self) -> MedianQuery {
        MedianQuery { rule: self.rule, skips_nan: self.skips_nan }
    }
}

impl<T: Real> Holistic<T> for QuantileRanks {
    type Out = T::Median;
    type Scratch = FilterBuffer<T>;

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) -> FilterBuffer<T> {
        FilterBuffer::new()
    }

    fn of(&self, group: &Group<'_, T>, buffer: &mut FilterBuffer<T>) -> Outcome<T::Median> {
        self.memo_key().value(group, buffer)
    }

    fn of_one(&self, value: T, _: &mut FilterBuffer<T>) -> Outcome<T::Median> {
        Ok(median_of_one(value))
    }

    fn of_streamed(&self, pass: &Pass<'_, T>, unstored: &Unstored<T>) -> Outcome<Option<T::Median>> {
        self.memo_key().streamed(pass, unstored)
    }

    fn middles(&self, implicit: Option<T>) -> Option<Box<dyn RankSearch>> {
        let middles = Middles { rule: self.rule, skips_nan: self.skips_nan, implicit };
        matches!(self.rule, Rule::Middle(_)).then(|| Box::new(middles) as Box<dyn RankSearch>)
    }

    fn of_key(&self, key: u64) -> Option<T> {
        value_of(key)
    }
}

/// The descriptor of the gradients of medians and quantiles.
#[derive(Clone, Copy)]
pub(super) struct QuantileGradient(pub(super) MedianGradientRule);

impl Op for QuantileGradient {
    fn name(&self) -> &'static str {
        match (self.0.query.rule, self.0.query.skips_nan) {
            (Rule::Middle(_), false) => op::median_backward.name,
            (Rule::Middle(_), true) => op::nanmedian_backward.name,
            (Rule::At(..), false) => op::quantile_backward.name,
            (Rule::At(..), true) => op::nanquantile_backward.name,
        }
    }
}

impl<T: Real> Holistic<T> for QuantileGradient {
    type Out = RankWeights<T>;
    type Scratch = FilterBuffer<T>;

    fn needs_positions(&self) -> bool {
        self.0.rule == MedianGradient::First
    }

    fn scratch(&self) -> FilterBuffer<T> {
        FilterBuffer::new()
    }

    fn of(&self, group: &Group<'_, T>, buffer: &mut FilterBuffer<T>) -> Outcome<RankWeights<T>> {
        group.shares(self.0, buffer)
    }
}

impl<T: Real, G: Float> Gradient<T, G> for QuantileGradient {
    fn of_element(&self, value: T, found: &RankWeights<T>, within: usize, gradient: G) -> Option<G> {
        found.of(within, value, gradient)
    }

    fn write_gradients(&self, values: &[T], received: &mut [G], inputs: &GradientInputs<'_, RankWeights<T>, G>) {
        write_gradients(values, received, inputs);
    }
}

/// Returns the median over the given axes.
///
/// If a group has a NaN, the result is NaN. Otherwise, the result is the same as for [`nanmedian`](crate::nanmedian()).
///
/// *y*<sub>k</sub> = (*s*<sub>⌊(n−1)/2⌋</sub> + *s*<sub>⌊n/2⌋</sub>) / 2, where *s*<sub>0</sub> ≤ … ≤ *s*<sub>n−1</sub>
/// are the *n* elements *x*<sub>k,r</sub> of a group. The index *k* runs over the kept axes, and *r* over the reduced
/// axes.
///
/// The types, the options and the rule for the two middle values are the same as for [`nanmedian`](crate::nanmedian()).
/// With [`Nanmedian::lower`], `median` returns the same values as `torch.median`.
///
#[doc = page!(reduction)]
#[doc = page!(quantile_fill)]
///
/// # NaN
///
/// If a group has a NaN, as an entry or as the fill of an unstored position, the result is NaN. An empty group yields
/// NaN. If the two middle values are −∞ and ∞, the median is NaN, except with [`Nanmedian::lower`].
///
/// # Gradient
///
/// [`grad::median`](crate::grad::median()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
///
/// # Complexity
///
/// The same as [`nanmedian`](crate::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, median};
/// use ndarray::arr1;
///
/// // 1  .  5
/// // 2  4  8
/// let (rows, columns) = (vec![0, 0, 1, 1, 1], vec![0, 2, 0, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1.0, 5.0, 2.0, 4.0, 8.0], 0.0)?;
/// assert_eq!(median(&x, 1)?.to_dense()?, arr1(&[1.0, 4.0]).into_dyn());
/// assert_eq!(median(&x, 1)?.to_dense()?, median(&x.to_dense()?, 1)?);
/// assert!(median(&x.with_fill(f64::NAN), 1)?.get(&[0])?.is_nan());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.median`](https://numpy.org/doc/stable/reference/generated/numpy.median.html).
#[doc(alias = "numpy.median")]
#[doc(alias = "torch.median")]
pub fn median<X: Operand<Elem: Real>>(
    x: &X,
    options: impl Into<Nanmedian>,
) -> Result<X::Reduced<<X::Elem as Real>::Median>> {
    let options = options.into();
    holistic(x, QuantileRanks::median(&options), &options.axes)
}

/// Returns the gradient of [`median`], divided among the middle elements.
///
/// *dx*<sub>k,r</sub> is the same as in [`grad::nanmedian`](crate::grad::nanmedian()), for groups without NaN. The
/// options of [`Nanmedian`] select the elements that receive a gradient.
///
#[doc = page!(gradient)]
/// Unstored positions count among the elements equal to a middle value, and their part of the gradient is dropped.
///
/// # NaN
///
/// In a group with a NaN, each element receives 0. With [`Nanmedian::spread_nan`], each element of a group with a NaN
/// receives an equal part of the gradient.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// The errors of [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Complexity
///
/// The same as [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1, 1], vec![0, 2, 0, 1]], vec![1.0, 5.0, f64::NAN, 4.0], 0.0)?;
/// let dx = grad::median(&x, &arr1(&[10.0, 6.0]), 1)?;
/// assert_eq!(dx.values(), [10.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: the rule of [`grad::nanmedian`](crate::grad::nanmedian()).
pub fn median_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Nanmedian>,
) -> Result<X::Reduced<U::Elem>> {
    let Nanmedian { axes, even, rule, spread_nan } = options.into();
    let query = MedianQuery { rule: Rule::Middle(even), skips_nan: false };
    gradient(x, QuantileGradient(MedianGradientRule { query, rule, spread_nan }), upstream, &axes)
}

/// Rejects a `q` that is not from 0 to 1.
fn checked<O: Op>(op: O, q: f64) -> Result<O> {
    if (0.0..=1.0).contains(&q) {
        return Ok(op);
    }
    Err(Error::Argument { operation: op.name(), why: format!("q = {q:?} is not from 0 to 1") })
}

/// Returns the quantile at `q` over the given axes.
///
/// *y*<sub>k</sub> = *s*<sub>⌊h⌋</sub> + (*s*<sub>⌈h⌉</sub> − *s*<sub>⌊h⌋</sub>) *t*, where *h* = *q* (*n* − 1) is the
/// rank and *t* = *h* − ⌊*h*⌋. Here *s*<sub>0</sub> ≤ … ≤ *s*<sub>n−1</sub> are the *n* elements *x*<sub>k,r</sub> of a
/// group. The index *k* runs over the kept axes, and *r* over the reduced axes. `q` is from 0 to 1.
///
#[doc = page!(quantile_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(quantile_fill)]
///
/// # NaN
///
/// If a group has a NaN or is empty, the result is NaN. [`nanquantile`] skips NaN. A quantile between −∞ and ∞ is NaN.
///
/// # Gradient
///
/// [`grad::quantile`](crate::grad::quantile()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Argument`: `q` is not from 0 to 1.
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count and are not
///   NaN.
///
/// # Complexity
///
/// The same as [`nanmedian`](crate::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Quantile, QuantileMethod, quantile};
///
/// let x = CooTensor::new([5], vec![vec![1, 2]], vec![3.0, 8.0f64], 0.0)?;
/// assert_eq!(quantile(&x, 0.875, 0)?.get(&[])?, 5.5); // of 0, 0, 0, 3, 8
/// let nearest = Quantile::over(0).method(QuantileMethod::Nearest);
/// assert_eq!(quantile(&x, 0.9, nearest)?.get(&[])?, 8.0);
/// let dense = quantile(&x.to_dense()?, 0.875, 0)?;
/// assert_eq!(quantile(&x, 0.875, 0)?.to_dense()?, dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.quantile`](https://numpy.org/doc/stable/reference/generated/numpy.quantile.html). numpy rounds
/// intermediate results.
#[doc(alias = "numpy.quantile")]
#[doc(alias = "percentile")]
pub fn quantile<X: Operand<Elem: Real>>(
    x: &X,
    q: f64,
    options: impl Into<Quantile>,
) -> Result<X::Reduced<<X::Elem as Real>::Median>> {
    let Quantile { axes, method, .. } = options.into();
    holistic(x, checked(QuantileRanks { rule: Rule::At(q, method), skips_nan: false }, q)?, &axes)
}

/// Returns the gradient of [`quantile`], divided among the elements at the ranks.
///
#[doc = page!(quantile_gradient)]
///
#[doc = page!(gradient)]
/// At most 2<sup>64</sup> − 1 unstored positions count among the elements equal to *a* or *b*, and their part of the
/// gradient is dropped.
///
/// # NaN
///
/// In a group with a NaN, each element receives 0.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`quantile`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `Uncountable`: with [`Quantile::first`], a group has more than 2<sup>64</sup> − 1 positions.
///
/// # Complexity
///
/// The same as [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([5], vec![vec![1, 2]], vec![3.0, 8.0], 0.0)?;
/// let dx = grad::quantile(&x, &arr0(4.0), 0.8125, 0)?;
/// assert_eq!(dx.values(), [3.0, 1.0]); // a quarter of the way from 3 to 8
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: the rule of [`grad::nanmedian`](crate::grad::nanmedian()).
pub fn quantile_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    q: f64,
    options: impl Into<Quantile>,
) -> Result<X::Reduced<U::Elem>> {
    let Quantile { axes, method, rule } = options.into();
    let query = MedianQuery { rule: Rule::At(q, method), skips_nan: false };
    let op = checked(QuantileGradient(MedianGradientRule { query, rule, spread_nan: false }), q)?;
    gradient(x, op, upstream, &axes)
}

/// Returns the quantile at `q` over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = *s*<sub>⌊h⌋</sub> + (*s*<sub>⌈h⌉</sub> − *s*<sub>⌊h⌋</sub>) *t*, where *h* = *q* (*m* − 1) is the
/// rank and *t* = *h* − ⌊*h*⌋. Here *s*<sub>0</sub> ≤ … ≤ *s*<sub>m−1</sub> are the *m* elements *x*<sub>k,r</sub> of a
/// group that are not NaN. The index *k* runs over the kept axes, and *r* over the reduced axes. `q` is from 0 to 1.
///
#[doc = page!(quantile_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(quantile_fill)]
///
/// # NaN
///
/// NaN elements are skipped. A group with only NaN, and an empty group, yield NaN. A quantile between −∞ and ∞ is NaN.
///
/// # Gradient
///
/// [`grad::nanquantile`](crate::grad::nanquantile()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Argument`: `q` is not from 0 to 1.
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count and are not
///   NaN.
///
/// # Complexity
///
/// The same as [`nanmedian`](crate::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Quantile, QuantileMethod, nanquantile};
///
/// let x = CooTensor::new([5], vec![vec![1, 2]], vec![3.0, 8.0f64], 0.0)?;
/// assert_eq!(nanquantile(&x, 0.875, 0)?.get(&[])?, 5.5); // of 0, 0, 0, 3, 8
/// let nearest = Quantile::over(0).method(QuantileMethod::Nearest);
/// assert_eq!(nanquantile(&x, 0.9, nearest)?.get(&[])?, 8.0);
/// let dense = nanquantile(&x.to_dense()?, 0.875, 0)?;
/// assert_eq!(nanquantile(&x, 0.875, 0)?.to_dense()?, dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanquantile`](https://numpy.org/doc/stable/reference/generated/numpy.nanquantile.html). numpy
/// rounds intermediate results.
#[doc(alias = "numpy.nanquantile")]
#[doc(alias = "percentile")]
pub fn nanquantile<X: Operand<Elem: Real>>(
    x: &X,
    q: f64,
    options: impl Into<Quantile>,
) -> Result<X::Reduced<<X::Elem as Real>::Median>> {
    let Quantile { axes, method, .. } = options.into();
    holistic(x, checked(QuantileRanks { rule: Rule::At(q, method), skips_nan: true }, q)?, &axes)
}

/// Returns the gradient of [`nanquantile`], divided among the elements at the ranks.
///
#[doc = page!(quantile_gradient)]
///
#[doc = page!(gradient)]
/// At most 2<sup>64</sup> − 1 unstored positions count among the elements equal to *a* or *b*, and their part of the
/// gradient is dropped.
///
/// # NaN
///
/// A NaN receives 0. In a group with only NaN, each element receives 0.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanquantile`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `Uncountable`: with [`Quantile::first`], a group has more than 2<sup>64</sup> − 1 positions.
///
/// # Complexity
///
/// The same as [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([5], vec![vec![1, 2]], vec![3.0, 8.0], 0.0)?;
/// let dx = grad::nanquantile(&x, &arr0(4.0), 0.8125, 0)?;
/// assert_eq!(dx.values(), [3.0, 1.0]); // a quarter of the way from 3 to 8
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: the rule of [`grad::nanmedian`](crate::grad::nanmedian()).
pub fn nanquantile_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    q: f64,
    options: impl Into<Quantile>,
) -> Result<X::Reduced<U::Elem>> {
    let Quantile { axes, method, rule } = options.into();
    let query = MedianQuery { rule: Rule::At(q, method), skips_nan: true };
    let op = checked(QuantileGradient(MedianGradientRule { query, rule, spread_nan: false }), q)?;
    gradient(x, op, upstream, &axes)
}
