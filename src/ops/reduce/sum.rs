//! Exact sums and means over axes, and their gradients.

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{ABREAST, Abreast, Accumulator, Element, Float, Known, Real, Ring, Saved};
use crate::kernels::fold::{Fold, Kept, fold_lanes, gaps_state};
use crate::kernels::group::Gaps;
use crate::kernels::holistic::{Gradient, Group, Holistic};
use crate::kernels::op::{Fault, Op, Outcome, Outcomes};
use crate::kernels::scatter::{Cell, scatter};
use crate::kernels::short_lanes;
use crate::kernels::sliced;
use crate::kernels::sort::Arrays;
use crate::ops::operand::Operand;

/// The small total of what something is made of.
type Small<F, T> = <<F as Finish<T>>::Total as Accumulator<T>>::Cell;

/// What is made of a total.
pub(super) trait Finish<T: Ring>: Op + 'static {
    type Total: Accumulator<T>;
    type Out: Element;
    /// Whether NaNs are left out.
    const SKIPS_NAN: bool;
    /// Whether it matters how many elements there are.
    const DIVIDES: bool = false;

    /// Whether it makes a difference how often the value was repeated, so that the number must be known.
    fn counts(value: T) -> bool {
        value.is_truthy() && value.isfinite()
    }

    fn finish(&self, total: &Self::Total, count: u128) -> Outcome<Self::Out>;

    /// [`finish`](Finish::finish) of a small total, if that is enough to know it.
    #[inline(always)]
    fn finish_quickly(_cell: Small<Self, T>, _count: u128) -> Option<Self::Out> {
        None
    }
}

/// The fold of an operation that is made of a total.
#[derive(Clone, Copy)]
pub(super) struct Totals<F>(pub(super) F);

impl<F: Op> Op for Totals<F> {
    const NAME: &'static str = F::NAME;
}

/// The total so far.
#[derive(Clone)]
pub(super) struct Total<A> {
    sum: A,
    /// How many elements were left out.
    skipped: u128,
    /// Whether how often a value was repeated makes a difference.
    counts: bool,
}

impl<A: Saved> Saved for Total<A> {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.sum.save(bytes);
        self.skipped.save(bytes);
        self.counts.save(bytes);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        Some(Total { sum: A::load(bytes)?, skipped: u128::load(bytes)?, counts: bool::load(bytes)? })
    }
}

/// The picoseconds that it takes to add a value.
const PICOSECONDS: usize = 900;

impl<T: Ring, F: Finish<T>> Fold<T> for Totals<F> {
    type State = Total<F::Total>;
    type Out = F::Out;

    fn start(&self) -> Self::State {
        Total { sum: F::Total::default(), skipped: 0, counts: false }
    }

    fn step(&self, state: &mut Self::State, value: T) {
        match F::SKIPS_NAN && value.isnan() {
            true => state.skipped += 1,
            false => state.sum.add(value),
        }
    }

    fn repeat(&self, state: &mut Self::State, value: T, count: u128) {
        if F::SKIPS_NAN && value.isnan() {
            state.skipped = state.skipped.saturating_add(count);
            return;
        }
        state.counts |= F::counts(value);
        state.sum.add_times(value, count);
    }

    fn merge(&self, state: &mut Self::State, other: &Self::State) {
        state.sum.merge(&other.sum);
        state.skipped = state.skipped.saturating_add(other.skipped);
        state.counts |= other.counts;
    }

    /// Counts end at `u128::MAX`, as the extents of groups do: what is more is not known.
    fn finish(&self, state: &Self::State, count: u128) -> Outcome<F::Out> {
        match state.counts && count == u128::MAX {
            true => Err(Fault::Uncountable),
            false => self.0.finish(&state.sum, count.saturating_sub(state.skipped)),
        }
    }

    fn slice(&self, state: &mut Self::State, values: &[T]) {
        if F::SKIPS_NAN {
            return values.iter().for_each(|&value| self.step(state, value));
        }
        if values.len() < MANY {
            return state.sum.add_slice(values);
        }
        let part = |part: Range<usize>| {
            let mut sum = F::Total::default();
            sum.add_slice(&values[part]);
            sum
        };
        threads::map_parts(values.len(), PICOSECONDS, 0, part).iter().for_each(|sum| state.sum.merge(sum));
    }

    #[inline(always)]
    fn of_abreast(&self, values: &[T], runs: &Abreast, gaps: &Gaps<T>) -> Known<F::Out> {
        let (mut results, mut are_known) = ([F::Out::ZERO; ABREAST], [false; ABREAST]);
        if F::SKIPS_NAN || !adds_nothing(gaps, gaps.positions(0)) {
            return (results, are_known);
        }
        let (cells, are_held) = F::Total::cells_of(values, runs);
        for run in 0..ABREAST {
            if are_held[run]
                && let Some(result) = F::finish_quickly(cells[run], gaps.positions(runs.sizes[run]))
            {
                (results[run], are_known[run]) = (result, true);
            }
        }
        (results, are_known)
    }

    fn lanes(&self, offsets: &[usize], values: &[T], gaps: &Gaps<T>, results: &mut [F::Out]) -> Outcomes<()> {
        let is_quick = !F::SKIPS_NAN
            && Self::sums_slices::<T>()
            && adds_nothing(gaps, gaps.positions(0))
            && short_lanes::are_short(offsets);
        let slowly = |offsets: &[usize], results: &mut [F::Out]| fold_lanes(*self, offsets, values, gaps, results);
        if !is_quick {
            return slowly(offsets, results);
        }
        let quickly = |pair, size| F::finish_quickly(F::Total::cell_of(pair), gaps.positions(size));
        in_wide_vectors(
            #[inline(always)]
            || short_lanes::sums_of_lanes(offsets, values, results, Self::float::<T>, quickly, slowly),
        )
    }

    /// Where there are few cells no entries are grouped; a sum that a small total does not hold is left to the groups.
    fn by_coords<I: Index>(
        &self,
        kept: &Kept<'_, I>,
        values: &[T],
        gaps: &Gaps<T>,
    ) -> Allocated<Option<Arrays<I, F::Out>>> {
        if F::SKIPS_NAN {
            return Ok(None);
        }
        let start = Small::<F, T>::default();
        let finish = |number, [cell, more]: [Small<F, T>; 2], count, others: &[(usize, usize)]| {
            let gaps = kept.gaps(gaps, number);
            let positions = gaps.positions(count);
            if others.is_empty()
                && more == start
                && adds_nothing(&gaps, positions)
                && let Some(result) = F::finish_quickly(cell, positions)
            {
                return Ok(result);
            }
            let mut state = gaps_state(*self, count, &gaps);
            state.sum.add_cell(cell);
            state.sum.add_cell(more);
            others.iter().for_each(|&(_, entry)| state.sum.add(values[entry]));
            self.finish(&state, positions)
        };
        if Self::sums_slices::<T>() && gaps.fill.map_or(!F::DIVIDES, |fill| !fill.is_truthy()) {
            // How many entries a cell has makes no difference there.
            let finish =
                |number, pairs: sliced::Sum, others: &[_]| finish(number, pairs.map(F::Total::cell_of), 1, others);
            if let Some(found) = sliced::scatter(kept, values, Self::float::<T>, finish)? {
                return Ok(Some(found));
            }
        }
        let finish = |number, cell, count| finish(number, [cell, start], count, &[]);
        scatter(kept, values, Cell { start, add: F::Total::add_to, join: F::Total::join }, finish)
    }
}

impl<F> Totals<F> {
    /// Whether sums are those of floats, and pairs mostly tell the result.
    #[inline(always)]
    fn sums_slices<T: Ring>() -> bool
    where
        F: Finish<T>,
    {
        F::Total::float(T::ZERO).is_some() && F::finish_quickly(Small::<F, T>::default(), 1).is_some()
    }

    #[inline(always)]
    fn float<T: Ring>(value: T) -> f64
    where
        F: Finish<T>,
    {
        F::Total::float(value).unwrap_or(f64::NAN)
    }
}

/// Whether the gaps of a group of so many positions make no difference to a sum.
fn adds_nothing<T: Element>(gaps: &Gaps<T>, count: u128) -> bool {
    count != u128::MAX && gaps.fill.is_none_or(|fill| !fill.is_truthy())
}

/// Fewer values are never shared out.
const MANY: usize = 1 << 16;

/// The descriptor of [`sum`] and [`nansum`].
#[derive(Clone, Copy)]
struct Sum<const SKIPS_NAN: bool>;

impl<const SKIPS_NAN: bool> Op for Sum<SKIPS_NAN> {
    const NAME: &'static str = if SKIPS_NAN { "nansum" } else { "sum" };
}

impl<T: Ring, const SKIPS_NAN: bool> Finish<T> for Sum<SKIPS_NAN> {
    type Total = T::Total;
    type Out = T::Sum;
    const SKIPS_NAN: bool = SKIPS_NAN;
    const DIVIDES: bool = false;

    fn finish(&self, total: &T::Total, _: u128) -> Outcome<T::Sum> {
        T::sum_of(total).ok_or(Fault::Overflow(T::Sum::DTYPE.name()))
    }

    #[inline(always)]
    fn finish_quickly(cell: Small<Self, T>, _: u128) -> Option<T::Sum> {
        T::quick_sum_of(cell)
    }
}

/// The descriptor of [`mean`] and [`nanmean`].
#[derive(Clone, Copy)]
struct Mean<const SKIPS_NAN: bool>;

impl<const SKIPS_NAN: bool> Op for Mean<SKIPS_NAN> {
    const NAME: &'static str = if SKIPS_NAN { "nanmean" } else { "mean" };
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
    fn finish_quickly(cell: Small<Self, T>, count: u128) -> Option<T::Mean> {
        T::quick_mean_of(cell, count)
    }
}

/// The descriptor of the gradients: each element that counts receives that of its cell, or its share of it.
#[derive(Clone, Copy)]
struct Shares<const MEAN: bool, const SKIPS_NAN: bool>;

impl<const MEAN: bool, const SKIPS_NAN: bool> Op for Shares<MEAN, SKIPS_NAN> {
    const NAME: &'static str = match (MEAN, SKIPS_NAN) {
        (false, false) => "sum_backward",
        (false, true) => "nansum_backward",
        (true, false) => "mean_backward",
        (true, true) => "nanmean_backward",
    };
}

/// Finds how many elements of a group count.
impl<T: Element, const MEAN: bool, const SKIPS_NAN: bool> Holistic<T> for Shares<MEAN, SKIPS_NAN> {
    type Out = u128;
    type Scratch = ();

    fn looks_at_positions(&self) -> bool {
        false
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<u128> {
        let count = group.positions();
        if !SKIPS_NAN {
            return if MEAN && count == u128::MAX { Err(Fault::Uncountable) } else { Ok(count) };
        }
        let gaps = if group.gaps.fill.is_some_and(T::isnan) { group.gaps.count(group.stored.len()) } else { 0 };
        Ok(count - gaps - group.stored.iter().filter(|value| value.isnan()).count() as u128)
    }
}

impl<T: Element, G: Float, const MEAN: bool, const SKIPS_NAN: bool> Gradient<T, G> for Shares<MEAN, SKIPS_NAN> {
    fn give<'a>(&self, values: &[T], received: &mut [G], place: impl Fn(usize) -> (&'a u128, usize, G)) {
        for (at, (value, received)) in values.iter().zip(received).enumerate() {
            let (&count, _, gradient) = place(at);
            *received = match SKIPS_NAN && value.isnan() {
                true => G::ZERO,
                false if MEAN => gradient.over(count),
                false => gradient,
            };
        }
    }
}

reduces! {
    /// The exact sum over the axes given, rounded once.
    ///
    /// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over the reduced ones.
    ///
    /// The sum of floats is the real number, rounded once to the element type: no order of the elements, no format and
    /// no number of threads changes a bit of it, nothing overflows on the way (`[MAX, MAX, -MAX]` has the sum `MAX`),
    /// and `[1e100, 1.0, -1e100]` has the sum 1.0. A zero is `+0.0`. Signed integers give `i64`, unsigned ones and
    /// `bool` `u64`.
    #[doc(alias = "numpy.sum")]
    #[doc(alias = "torch.sum")]
    #[doc(alias = "fsum")]
    #[doc(alias = "add.reduce")]
    fn sum<Ring>(x, axes: Axes) -> <X::Elem as Ring>::Sum = x.by_fold(Totals(Sum::<false>), &axes);
    /// The fill of the result is that of `x` times the number of positions of a group. Of
    /// [`x.stored()`](crate::Tensor::stored) the entries count alone, and the fill of the result is 0.
    =>
    /// A NaN gives NaN, and so do infinities of both signs; those of one sign give it. [`nansum`] leaves NaNs out.
    =>
    /// [`sum_backward`].
    =>
    /// - `Overflow`: a sum of integers does not fit 64 bits; the cell is named;
    /// - `Uncountable`: a group has 2<sup>128</sup> positions or more, and a fill that is neither 0, NaN nor infinite.
    =>
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
    ;

    /// The exact sum over the axes given, of the elements that are not NaN.
    ///
    /// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub> over all *r* with *x*<sub>k,r</sub> ≠ NaN; exact and rounded
    /// once, as [`sum`].
    #[doc(alias = "numpy.nansum")]
    #[doc(alias = "torch.nansum")]
    fn nansum<Float>(x, axes: Axes) -> X::Elem = x.by_fold(Totals(Sum::<true>), &axes);
    /// The fill of the result is that of `x` times the number of positions of a group, 0 where it is NaN. Of
    /// [`x.stored()`](crate::Tensor::stored) the entries count alone, and the fill of the result is 0.
    =>
    /// NaNs are left out; a group of nothing else has the sum 0. Infinities of both signs give NaN.
    =>
    /// [`nansum_backward`].
    =>
    /// - `Uncountable`: as of [`sum`].
    =>
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
    ;

    /// The mean over the axes given: the exact sum over the number of elements, rounded once.
    ///
    /// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub> / *n*, for *k* over the kept axes and *r* over the *n*
    /// positions of the reduced ones.
    ///
    /// So the mean of a constant is that constant, a mean lies between the least and the greatest element, and
    /// `[MAX, MAX]` has the mean `MAX`. Floats and complex numbers keep their type, integers and `bool` give `f64`.
    #[doc(alias = "numpy.mean")]
    #[doc(alias = "torch.mean")]
    #[doc(alias = "average")]
    fn mean<Ring>(x, axes: Axes) -> <X::Elem as Ring>::Mean = x.by_fold(Totals(Mean::<false>), &axes);
    /// The fill of the result is the fill of `x` as a mean. Of [`x.stored()`](crate::Tensor::stored) the entries count
    /// alone, in sum and number, and the fill of the result is NaN.
    =>
    /// A NaN gives NaN, and so do infinities of both signs, and no elements at all. [`nanmean`] leaves NaNs out.
    =>
    /// [`mean_backward`].
    =>
    /// - `Uncountable`: a group has 2<sup>128</sup> positions or more, and some of them are not stored.
    =>
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
    ;

    /// The mean over the axes given, of the elements that are not NaN: their exact sum over their number, rounded once.
    ///
    /// *y*<sub>k</sub> = Σ<sub>r</sub> *x*<sub>k,r</sub> / *m* over the *m* positions *r* with *x*<sub>k,r</sub> ≠ NaN.
    #[doc(alias = "numpy.nanmean")]
    #[doc(alias = "torch.nanmean")]
    fn nanmean<Float>(x, axes: Axes) -> X::Elem = x.by_fold(Totals(Mean::<true>), &axes);
    /// The fill of the result is the fill of `x`. Of [`x.stored()`](crate::Tensor::stored) the entries count alone, and
    /// the fill of the result is NaN.
    =>
    /// NaNs are left out, of the sum and of the number; a group of nothing else gives NaN.
    =>
    /// [`nanmean_backward`].
    =>
    /// - `Uncountable`: as of [`mean`].
    =>
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
    ;
}

gives_back! {
    /// The gradient of [`sum`]: every entry receives the gradient of the cell that it was summed into.
    ///
    /// *dx*<sub>k,r</sub> = *dy*<sub>k</sub>
    fn sum_backward<Real> of sum(x, upstream, axes: Axes) = x.by_spread(upstream, &axes);
    /// Gradients are handed on as they are.
    =>
    /// ```
    /// use lacuna::{CooTensor, sum_backward};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![0.0, 3.0, 4.0], 0.0)?;
    /// let dx = sum_backward(&x, &arr1(&[0.5, -2.0]), 1)?;
    /// assert_eq!(dx.values(), [0.5, -2.0, -2.0]);
    /// assert!(dx.shares_pattern_with(&x));
    /// let dense = sum_backward(&x.to_dense()?, &arr1(&[0.5, -2.0]), 1)?;
    /// assert!(dx.entries().iter().all(|(at, gradient)| dense[at.as_slice()] == *gradient));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the derivative of [`sum`].
    ;

    /// The gradient of [`nansum`]: every entry that is not NaN receives the gradient of its cell, a NaN 0.
    ///
    /// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> where *x*<sub>k,r</sub> ≠ NaN, else 0
    fn nansum_backward<Float> of nansum(x, upstream, axes: Axes) = x.by_gradient(Shares::<false, true>, upstream,
        &axes);
    /// A NaN gradient gives NaN; an element that was left out receives 0.
    =>
    /// ```
    /// use lacuna::{CooTensor, nansum_backward};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, f64::NAN, 4.0], 0.0)?;
    /// let dx = nansum_backward(&x, &arr1(&[0.5, -2.0]), 1)?;
    /// assert_eq!(dx.values(), [0.5, 0.0, -2.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the derivative of [`nansum`].
    ;

    /// The gradient of [`mean`]: every entry receives its share of the gradient of its cell.
    ///
    /// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> / *n*, rounded once
    ///
    /// Of [`x.stored()`](crate::Tensor::stored) *n* is the number of entries of the group.
    fn mean_backward<Real> of mean(x, upstream, axes: Axes) = x.by_gradient(Shares::<true, false>, upstream, &axes);
    /// A NaN gradient gives NaN; an element that was left out receives 0.
    =>
    /// ```
    /// use lacuna::{CooTensor, mean_backward};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 4], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, 3.0, 4.0], 0.0)?;
    /// let dx = mean_backward(&x, &arr1(&[0.5, -2.0]), 1)?;
    /// assert_eq!(dx.values(), [0.125, -0.5, -0.5]);
    /// assert_eq!(mean_backward(&x.stored(), &arr1(&[0.5, -2.0]), 1)?.values(), [0.5, -1.0, -1.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the derivative of [`mean`].
    ;

    /// The gradient of [`nanmean`]: every entry that is not NaN receives its share of the gradient of its cell.
    ///
    /// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> / *m* where *x*<sub>k,r</sub> ≠ NaN, rounded once, else 0; *m* elements of
    /// the group are not NaN.
    fn nanmean_backward<Float> of nanmean(x, upstream, axes: Axes) = x.by_gradient(Shares::<true, true>, upstream,
        &axes);
    /// A NaN gradient gives NaN; an element that was left out receives 0.
    =>
    /// ```
    /// use lacuna::{CooTensor, nanmean_backward};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![1.0, f64::NAN, 4.0], 0.0)?;
    /// let dx = nanmean_backward(&x, &arr1(&[3.0, -2.0]), 1)?;
    /// assert_eq!(dx.values(), [1.0, 0.0, -1.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Source: the derivative of [`nanmean`].
    ;
}
