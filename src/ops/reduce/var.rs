//! Variances and standard deviations over axes, and their gradients.

use std::ops::Range;

use super::{gradient, holistic};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::threads;
use crate::element::{Accumulator, Float, INTERLEAVED, Interleaved, Real, Ring, RunResults};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::passes::Pass;
use crate::ops::op;
use crate::ops::operand::Operand;

/// The options of variances, standard deviations and their gradients.
///
/// [`var`], [`std()`], [`nanvar`], [`nanstd`] and their gradients accept these options. Plain axes convert to this
/// type.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Var};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![2.0f64, 6.0], 0.0)?;
/// assert_eq!(x.var(0)?.get(&[])?, 6.0); // of 0, 2, 6, 0
/// assert_eq!(x.var(Var::over(0).ddof(1))?.get(&[])?, 8.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Var {
    /// The reduced axes.
    pub axes: Axes,
    /// The number that is subtracted from the number of elements to get the divisor.
    pub ddof: u64,
}

impl Var {
    /// Returns options for the variance over `axes`, with a `ddof` of 0.
    pub fn over(axes: impl Into<Axes>) -> Self {
        Var { axes: axes.into(), ddof: 0 }
    }

    /// Sets `ddof`, the number that is subtracted from the number of elements.
    ///
    /// The sum of squares is divided by the number of elements minus `ddof`. A `ddof` of 1 estimates the variance of a
    /// population from a sample.
    #[doc(alias = "correction")]
    pub fn ddof(self, ddof: u64) -> Self {
        Var { ddof, ..self }
    }

    /// Keeps the reduced axes with length 1.
    #[doc(alias = "keepdims")]
    pub fn keep_dims(self) -> Self {
        Var { axes: self.axes.keep_dims(), ..self }
    }
}

impl<A: Into<Axes>> From<A> for Var {
    fn from(axes: A) -> Self {
        Var::over(axes)
    }
}

impl From<&Var> for Var {
    fn from(options: &Var) -> Self {
        options.clone()
    }
}

/// The statistics of a group: the mean of both parts, and the exact sum of squares over the divisor, rounded once.
struct Spread<M> {
    mean: [f64; 2],
    variance: M,
    divisor: u128,
}

/// Returns the exact sum that `add` computes for values, on several threads if there are many.
#[inline(always)]
pub(super) fn shared_total<T: Sync, U, A: Accumulator<U>>(values: &[T], add: impl Fn(&mut A, &[T]) + Sync) -> A {
    if !threads::are_shared(values.len(), PICOSECONDS) {
        let mut total = A::default();
        add(&mut total, values);
        return total;
    }
    let sum = |part: Range<usize>| {
        let mut total = A::default();
        add(&mut total, &values[part]);
        total
    };
    let mut parts = threads::map_parts(values.len(), PICOSECONDS, 0, sum).into_iter();
    let first = parts.next().unwrap_or_default();
    parts.fold(first, |mut total, part| {
        total.merge(&part);
        total
    })
}

/// The cost of a value, in picoseconds.
const PICOSECONDS: usize = 1_500;

/// The number of squares that are computed together.
const BLOCK: usize = 32;

/// Returns the exact sum of values, and their number.
#[inline(always)]
fn sum_of<T: Ring>(values: &[T], skips_nan: bool) -> (T::Total, u128) {
    let count = match skips_nan {
        true => values.iter().filter(|value| !value.isnan()).count(),
        false => values.len(),
    };
    let total = shared_total::<T, T, T::Total>(
        values,
        #[inline(always)]
        move |total, values| match skips_nan {
            true => values.iter().filter(|value| !value.isnan()).for_each(|&value| total.add(value)),
            false => total.add_slice(values),
        },
    );
    (total, count as u128)
}

/// Returns the square of the difference of a part of a value and its mean.
#[inline(always)]
fn square<T: Ring>(value: T, part: usize, mean: f64) -> f64 {
    (value.wide_parts()[part] - mean) * (value.wide_parts()[part] - mean)
}

/// Returns the exact sum of the squared differences of values and their mean.
#[inline(always)]
fn squares_of<T: Ring>(values: &[T], skips_nan: bool, part: usize, mean: f64) -> <f64 as Ring>::Total {
    shared_total::<T, f64, <f64 as Ring>::Total>(
        values,
        // The captures are moved into the closure: otherwise they would be read from memory again for each value.
        #[inline(always)]
        move |squares, values| {
            for values in values.chunks(BLOCK) {
                let mut block = [0.0; BLOCK];
                for (block, &value) in block.iter_mut().zip(values) {
                    *block = if skips_nan && value.isnan() { 0.0 } else { square(value, part, mean) };
                }
                Accumulator::<f64>::add_slice(squares, &block[..values.len()]);
            }
        },
    )
}

impl<M: Float> Spread<M> {
    fn of<T: Ring>(group: &Group<'_, T>, skips_nan: bool, ddof: u64) -> Outcome<Self> {
        let unstored = counted(&group.unstored, skips_nan, group.stored.len())?;
        let squares = |part, mean| Some(squares_of(group.stored, skips_nan, part, mean));
        let spread = Spread::of_sums(sum_of(group.stored, skips_nan), unstored, ddof, squares);
        Ok(spread.expect("all values are there"))
    }

    /// Computes the statistics of values that are read again in each pass; `None` if a value is missing.
    fn streamed<T: Ring>(
        pass: &Pass<'_, T>,
        unstored: &Unstored<T>,
        skips_nan: bool,
        ddof: u64,
    ) -> Outcome<Option<Self>> {
        let (mut total, mut count, mut stored) = (T::Total::default(), 0, 0);
        let takes_chunks = pass(&mut |values| {
            let (more, numbers) = sum_of(values, skips_nan);
            total.merge(&more);
            (count, stored) = (count + numbers, stored + values.len());
        });
        if !takes_chunks {
            return Ok(None);
        }
        let unstored = counted(unstored, skips_nan, stored)?;
        Ok(Spread::of_sums((total, count), unstored, ddof, |part, mean| {
            let mut squares = <f64 as Ring>::Total::default();
            let mut add = |values: &[T]| {
                Accumulator::<f64>::merge(&mut squares, &squares_of(values, skips_nan, part, mean));
            };
            pass(&mut add).then_some(squares)
        }))
    }

    /// Computes the statistics from the sum and the number of values and from unstored positions; `None` if the squares
    /// of a part are missing.
    fn of_sums<T: Ring>(
        (mut total, mut count): (T::Total, u128),
        unstored: Option<(T, u128)>,
        ddof: u64,
        squares_of: impl Fn(usize, f64) -> Option<<f64 as Ring>::Total>,
    ) -> Option<Self> {
        if let Some((fill, unstored)) = unstored {
            total.add_times(fill, unstored);
            count += unstored;
        }
        let (mean, mut squares) = (T::wide_mean_of(&total, count), <f64 as Ring>::Total::default());
        for (part, mean) in mean.into_iter().enumerate().take(T::PARTS) {
            Accumulator::<f64>::merge(&mut squares, &squares_of(part, mean)?);
            if let Some((fill, unstored @ 1..)) = unstored {
                squares.add_times(square(fill, part, mean), unstored);
            }
        }
        let divisor = count.saturating_sub(ddof.into());
        Some(Spread { mean, variance: M::mean_of(&squares, divisor), divisor })
    }
}

/// Returns the fill and the number of unstored positions that count, for a group with `stored` entries.
fn counted<T: Ring>(unstored: &Unstored<T>, skips_nan: bool, stored: usize) -> Outcome<Option<(T, u128)>> {
    let fill = unstored.fill.filter(|fill| !(skips_nan && fill.isnan()));
    let counted = fill.map(|fill| (fill, unstored.count(stored)));
    match counted.is_some_and(|(_, count)| count > 0) && unstored.extent == u128::MAX {
        true => Err(GroupError::Uncountable),
        false => Ok(counted),
    }
}

/// The descriptor of variances, or of their roots.
#[derive(Clone, Copy)]
struct Variance {
    is_root: bool,
    skips_nan: bool,
    ddof: u64,
}

impl Op for Variance {
    fn name(&self) -> &'static str {
        match (self.is_root, self.skips_nan) {
            (false, false) => op::var.name,
            (true, false) => op::std.name,
            (false, true) => op::nanvar.name,
            (true, true) => op::nanstd.name,
        }
    }
}

impl<T: Ring> Holistic<T> for Variance {
    type Out = T::Deviation;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn has_interleaved(&self) -> bool {
        !self.skips_nan
    }

    #[inline(always)]
    fn of_interleaved(
        &self,
        values: &[T],
        runs: &Interleaved,
        unstored: &Unstored<T>,
        _: &(dyn Fn(usize) -> u128 + Sync),
        blank: T::Deviation,
    ) -> RunResults<T::Deviation> {
        if unstored.fill.is_some_and(T::is_truthy) {
            return ([blank; INTERLEAVED], [false; INTERLEAVED]);
        }
        T::quick_spreads_of(values, runs, runs.sizes.map(|size| unstored.positions(size)), self.ddof, self.is_root)
    }

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<T::Deviation> {
        Ok(match self.is_root {
            true => T::Deviation::from_f64(Spread::<f64>::of(group, self.skips_nan, self.ddof)?.variance.sqrt()),
            false => Spread::of(group, self.skips_nan, self.ddof)?.variance,
        })
    }

    fn of_streamed(&self, pass: &Pass<'_, T>, unstored: &Unstored<T>) -> Outcome<Option<T::Deviation>> {
        Ok(match self.is_root {
            true => {
                let spread = Spread::<f64>::streamed(pass, unstored, self.skips_nan, self.ddof)?;
                spread.map(|spread| T::Deviation::from_f64(spread.variance.sqrt()))
            }
            false => Spread::streamed(pass, unstored, self.skips_nan, self.ddof)?.map(|spread| spread.variance),
        })
    }
}

/// The findings of a group for its gradients: its mean, the divisor, and for a root twice that root.
#[derive(Clone, Copy, Debug)]
struct GroupSpread {
    mean: f64,
    divisor: f64,
    twice_root: f64,
}

/// The descriptor of the gradients.
#[derive(Clone, Copy)]
struct VarGradient {
    is_root: bool,
    skips_nan: bool,
    ddof: u64,
}

impl Op for VarGradient {
    fn name(&self) -> &'static str {
        match (self.is_root, self.skips_nan) {
            (false, false) => op::var_backward.name,
            (true, false) => op::std_backward.name,
            (false, true) => op::nanvar_backward.name,
            (true, true) => op::nanstd_backward.name,
        }
    }
}

impl<T: Real> Holistic<T> for VarGradient {
    type Out = GroupSpread;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<GroupSpread> {
        let spread = Spread::<f64>::of(group, self.skips_nan, self.ddof)?;
        let divisor = if spread.divisor == 0 { f64::NAN } else { spread.divisor as f64 };
        let twice_root = if self.is_root { 2.0 * spread.variance.sqrt() } else { 1.0 };
        Ok(GroupSpread { mean: spread.mean[0], divisor, twice_root })
    }
}

impl<T: Real, G: Float> Gradient<T, G> for VarGradient {
    fn of_element(&self, value: T, found: &GroupSpread, _: usize, gradient: G) -> Option<G> {
        if self.skips_nan && value.isnan() {
            return None;
        }
        let given = 2.0 * (value.to_f64() - found.mean) * gradient.to_f64() / found.divisor;
        Some(if found.twice_root == 0.0 { G::ZERO } else { G::from_f64(given / found.twice_root) })
    }
}

/// Returns the variance over the given axes.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> (*x*<sub>k,r</sub> − *m*<sub>k</sub>)² / (*n* − `ddof`), for *k* over the kept axes
/// and *r* over the reduced axes. The mean of the group is *m*<sub>k</sub>, and *n* is the number of its elements.
///
#[doc = page!(var_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(var_fill)]
///
/// # NaN
///
/// If a group has a NaN, an infinity, or at most `ddof` elements, the result is NaN. [`nanvar`] skips NaN.
///
/// # Gradient
///
/// [`grad::var`](crate::grad::var()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, Var, var};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0f64, 9.0], 0.0)?;
/// let y = var(&x, Var::over(0).ddof(1))?;
/// assert_eq!(y.get(&[])?, 18.0);
/// assert_eq!(y.to_dense()?, var(&x.to_dense()?, Var::over(0).ddof(1))?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.var`](https://numpy.org/doc/stable/reference/generated/numpy.var.html).
#[doc(alias = "numpy.var")]
pub fn var<X: Operand<Elem: Ring>>(x: &X, options: impl Into<Var>) -> Result<X::Reduced<<X::Elem as Ring>::Deviation>> {
    let options = options.into();
    holistic(x, Variance { is_root: false, skips_nan: false, ddof: options.ddof }, &options.axes)
}

/// Returns the gradient of [`var()`].
///
/// *dx*<sub>k,r</sub> = 2 (*x*<sub>k,r</sub> − *m*<sub>k</sub>) *dy*<sub>k</sub> / (*n* − `ddof`), where
/// *m*<sub>k</sub> is the mean of the group and *n* is the number of elements of the group. Each operation is rounded
/// to `f64`.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, a NaN in a group, or
/// a group of at most `ddof` elements, yields NaN for each element of the group. If the mean of a group is infinite,
/// the finite elements of the group receive an infinite gradient, and the infinite elements receive NaN.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`var()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2], vec![vec![0, 1]], vec![1.0, 5.0], 0.0)?;
/// let dx = grad::var(&x, &arr0(3.0), 0)?;
/// let dense = grad::var(&x.to_dense()?, &arr0(3.0), 0)?;
/// assert_eq!(dx.to_dense()?, dense);
/// assert_eq!(dx.values()[0], -dx.values()[1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`var()`].
pub fn var_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Var>,
) -> Result<X::Reduced<U::Elem>> {
    let options = options.into();
    gradient(x, VarGradient { is_root: false, skips_nan: false, ddof: options.ddof }, upstream, &options.axes)
}

/// Returns the standard deviation over the given axes.
///
/// *y*<sub>k</sub> = √(Σ<sub>r</sub> (*x*<sub>k,r</sub> − *m*<sub>k</sub>)² / (*n* − `ddof`)), for *k* over the kept
/// axes and *r* over the reduced axes. The mean of the group is *m*<sub>k</sub>, and *n* is the number of its elements.
///
#[doc = page!(var_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(var_fill)]
///
/// # NaN
///
/// If a group has a NaN, an infinity, or at most `ddof` elements, the result is NaN. [`nanstd`] skips NaN.
///
/// # Gradient
///
/// [`grad::std`](crate::grad::std()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, Var, std};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0f64, 9.0], 0.0)?;
/// let y = std(&x, Var::over(0).ddof(1))?;
/// assert_eq!(y.get(&[])?, 18f64.sqrt());
/// assert_eq!(y.to_dense()?, std(&x.to_dense()?, Var::over(0).ddof(1))?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.std`](https://numpy.org/doc/stable/reference/generated/numpy.std.html).
#[doc(alias = "numpy.std")]
pub fn std<X: Operand<Elem: Ring>>(x: &X, options: impl Into<Var>) -> Result<X::Reduced<<X::Elem as Ring>::Deviation>> {
    let options = options.into();
    holistic(x, Variance { is_root: true, skips_nan: false, ddof: options.ddof }, &options.axes)
}

/// Returns the gradient of [`std()`].
///
/// *dx*<sub>k,r</sub> is the gradient of [`grad::var`](crate::grad::var()), divided by 2 *y*<sub>k</sub>, where
/// *y*<sub>k</sub> is the standard deviation in `f64`. Each operation is rounded to `f64`. If the standard deviation of
/// a group is 0, each element of the group receives 0.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, if the forward
/// result is NaN, each element of the group receives NaN.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`std()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2], vec![vec![0, 1]], vec![1.0, 5.0], 0.0)?;
/// let dx = grad::std(&x, &arr0(3.0), 0)?;
/// let dense = grad::std(&x.to_dense()?, &arr0(3.0), 0)?;
/// assert_eq!(dx.to_dense()?, dense);
/// assert_eq!(dx.values()[0], -dx.values()[1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`std()`].
pub fn std_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Var>,
) -> Result<X::Reduced<U::Elem>> {
    let options = options.into();
    gradient(x, VarGradient { is_root: true, skips_nan: false, ddof: options.ddof }, upstream, &options.axes)
}

/// Returns the variance over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = Σ<sub>r</sub> (*x*<sub>k,r</sub> − *m*<sub>k</sub>)² / (*n* − `ddof`), for *k* over the kept axes
/// and *r* over the positions of the elements that are not NaN. The mean of these elements is *m*<sub>k</sub>, and *n*
/// is the number of these elements.
///
#[doc = page!(nanvar_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(var_fill)]
///
/// # NaN
///
/// NaN elements are skipped in the mean, the sum and the count. An infinity yields NaN. A group with at most `ddof`
/// elements that are not NaN yields NaN.
///
/// # Gradient
///
/// [`grad::nanvar`](crate::grad::nanvar()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count and are not
///   NaN.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, Var, nanvar};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0f64, 9.0], 0.0)?;
/// let y = nanvar(&x, Var::over(0).ddof(1))?;
/// assert_eq!(y.get(&[])?, 18.0);
/// assert_eq!(y.to_dense()?, nanvar(&x.to_dense()?, Var::over(0).ddof(1))?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanvar`](https://numpy.org/doc/stable/reference/generated/numpy.nanvar.html).
#[doc(alias = "numpy.nanvar")]
pub fn nanvar<X: Operand<Elem: Float>>(
    x: &X,
    options: impl Into<Var>,
) -> Result<X::Reduced<<X::Elem as Ring>::Deviation>> {
    let options = options.into();
    holistic(x, Variance { is_root: false, skips_nan: true, ddof: options.ddof }, &options.axes)
}

/// Returns the gradient of [`nanvar()`].
///
/// *dx*<sub>k,r</sub> = 2 (*x*<sub>k,r</sub> − *m*<sub>k</sub>) *dy*<sub>k</sub> / (*n* − `ddof`), where
/// *m*<sub>k</sub> is the mean and *n* the number of the elements of the group that are not NaN. Each operation is
/// rounded to `f64`. A NaN element receives 0.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, a group with at most
/// `ddof` elements that are not NaN yields NaN for these elements. If the mean of a group is infinite, the finite
/// elements of the group receive an infinite gradient, and the infinite elements receive NaN.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanvar()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2], vec![vec![0, 1]], vec![1.0, 5.0], 0.0)?;
/// let dx = grad::nanvar(&x, &arr0(3.0), 0)?;
/// let dense = grad::nanvar(&x.to_dense()?, &arr0(3.0), 0)?;
/// assert_eq!(dx.to_dense()?, dense);
/// assert_eq!(dx.values()[0], -dx.values()[1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`nanvar()`].
pub fn nanvar_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Var>,
) -> Result<X::Reduced<U::Elem>> {
    let options = options.into();
    gradient(x, VarGradient { is_root: false, skips_nan: true, ddof: options.ddof }, upstream, &options.axes)
}

/// Returns the standard deviation over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = √(Σ<sub>r</sub> (*x*<sub>k,r</sub> − *m*<sub>k</sub>)² / (*n* − `ddof`)), for *k* over the kept
/// axes and *r* over the positions of the elements that are not NaN. The mean of these elements is *m*<sub>k</sub>, and
/// *n* is the number of these elements.
///
#[doc = page!(nanvar_numbers)]
///
#[doc = page!(reduction)]
#[doc = page!(var_fill)]
///
/// # NaN
///
/// NaN elements are skipped in the mean, the sum and the count. An infinity yields NaN. A group with at most `ddof`
/// elements that are not NaN yields NaN.
///
/// # Gradient
///
/// [`grad::nanstd`](crate::grad::nanstd()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group has at least 2<sup>128</sup> − 1 positions, and its unstored positions count and are not
///   NaN.
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, Var, nanstd};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3.0f64, 9.0], 0.0)?;
/// let y = nanstd(&x, Var::over(0).ddof(1))?;
/// assert_eq!(y.get(&[])?, 18f64.sqrt());
/// assert_eq!(y.to_dense()?, nanstd(&x.to_dense()?, Var::over(0).ddof(1))?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanstd`](https://numpy.org/doc/stable/reference/generated/numpy.nanstd.html).
#[doc(alias = "numpy.nanstd")]
pub fn nanstd<X: Operand<Elem: Float>>(
    x: &X,
    options: impl Into<Var>,
) -> Result<X::Reduced<<X::Elem as Ring>::Deviation>> {
    let options = options.into();
    holistic(x, Variance { is_root: true, skips_nan: true, ddof: options.ddof }, &options.axes)
}

/// Returns the gradient of [`nanstd()`].
///
/// *dx*<sub>k,r</sub> is the gradient of [`grad::nanvar`](crate::grad::nanvar()), divided by 2 *y*<sub>k</sub>, where
/// *y*<sub>k</sub> is the standard deviation in `f64`. Each operation is rounded to `f64`. If the standard deviation of
/// a group is 0, each element of the group receives 0. A NaN element also receives 0.
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, if the forward
/// result is NaN, each element of the group that is not NaN receives NaN.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanstd()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
#[doc = page!(gradient_complexity)]
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2], vec![vec![0, 1]], vec![1.0, 5.0], 0.0)?;
/// let dx = grad::nanstd(&x, &arr0(3.0), 0)?;
/// let dense = grad::nanstd(&x.to_dense()?, &arr0(3.0), 0)?;
/// assert_eq!(dx.to_dense()?, dense);
/// assert_eq!(dx.values()[0], -dx.values()[1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`nanstd()`].
pub fn nanstd_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Var>,
) -> Result<X::Reduced<U::Elem>> {
    let options = options.into();
    gradient(x, VarGradient { is_root: true, skips_nan: true, ddof: options.ddof }, upstream, &options.axes)
}
