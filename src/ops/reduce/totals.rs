//! Folds of totals: sums, and the results that are computed from them.

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Accumulator, Element, INTERLEAVED, Interleaved, Ring, RunResults, Saved};
use crate::kernels::fold::{Fold, fold_lanes, unstored_state};
use crate::kernels::group::Unstored;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::{GroupError, Op, Outcome, Outcomes};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::scatter::{Cell, scatter};
use crate::kernels::scatter_slices;
use crate::kernels::short_lanes;

/// The small total of an operation.
pub(super) type Small<F, T> = <<F as Finish<T>>::Total as Accumulator<T>>::Cell;

/// An operation whose result is computed from a total.
pub(super) trait Finish<T: Ring>: Op + 'static {
    type Total: Accumulator<T>;
    type Out: Element;
    /// True if NaN is skipped.
    const SKIPS_NAN: bool;
    /// True if the number of elements matters.
    const DIVIDES: bool = false;

    /// Returns whether the number of repetitions of the value matters, so that it must be known.
    fn counts(value: T) -> bool {
        value.is_truthy() && value.isfinite()
    }

    fn finish(&self, total: &Self::Total, count: u128) -> Outcome<Self::Out>;

    /// Returns the result of [`finish`](Finish::finish) from a small total, if that determines it.
    #[inline(always)]
    fn finish_fast(_cell: Small<Self, T>, _count: u128) -> Option<Self::Out> {
        None
    }
}

/// The fold of an operation whose result is computed from a total.
#[derive(Clone, Copy)]
pub(super) struct Totals<F>(pub(super) F);

impl<F: Op> Op for Totals<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

/// The accumulator: the total so far.
#[derive(Clone)]
pub(super) struct Total<A> {
    sum: A,
    /// The number of skipped elements.
    skipped: u128,
    /// True if the number of repetitions of a value matters.
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

/// Minimum number of values that are distributed over threads.
const MANY: usize = 1 << 16;
/// The cost of adding a value, in picoseconds.
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

    fn step_sparingly(&self, state: &mut Self::State, value: T) {
        match F::SKIPS_NAN && value.isnan() {
            true => state.skipped += 1,
            false => state.sum.add_sparingly(value),
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

    /// Counts saturate at `u128::MAX`, like the extents of groups: a larger count is not known.
    fn finish(&self, state: &Self::State, count: u128) -> Outcome<F::Out> {
        match state.counts && count == u128::MAX {
            true => Err(GroupError::Uncountable),
            false => self.0.finish(&state.sum, count.saturating_sub(state.skipped)),
        }
    }

    fn grown(&self, state: &Self::State) -> usize {
        state.sum.grown()
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
    fn of_interleaved(&self, values: &[T], runs: &Interleaved, unstored: &Unstored<T>) -> RunResults<F::Out> {
        let (mut results, mut are_known) = ([F::Out::ZERO; INTERLEAVED], [false; INTERLEAVED]);
        if F::SKIPS_NAN || !adds_nothing(unstored, unstored.positions(0)) {
            return (results, are_known);
        }
        let (cells, are_held) = F::Total::cells_of(values, runs);
        for run in 0..INTERLEAVED {
            if are_held[run]
                && let Some(result) = F::finish_fast(cells[run], unstored.positions(runs.sizes[run]))
            {
                (results[run], are_known[run]) = (result, true);
            }
        }
        (results, are_known)
    }

    fn lanes(&self, offsets: &[usize], values: &[T], unstored: &Unstored<T>, results: &mut [F::Out]) -> Outcomes<()> {
        let is_quick = !F::SKIPS_NAN
            && Self::sums_slices::<T>()
            && adds_nothing(unstored, unstored.positions(0))
            && short_lanes::are_short(offsets);
        let slow = |offsets: &[usize], results: &mut [F::Out]| fold_lanes(*self, offsets, values, unstored, results);
        if !is_quick {
            return slow(offsets, results);
        }
        let fast = |pair, size| F::finish_fast(F::Total::cell_of(pair), unstored.positions(size));
        in_wide_vectors(
            #[inline(always)]
            || short_lanes::sums_of_lanes(offsets, values, results, F::Total::float_or_nan, fast, slow),
        )
    }

    /// Avoids grouping the entries if there are few output elements. A sum that does not fit in a small total is
    /// computed from the groups.
    fn by_coords(
        &self,
        kept: &KeptAxes<'_>,
        values: &[T],
        unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<F::Out>>> {
        if F::SKIPS_NAN {
            return Ok(None);
        }
        let start = Small::<F, T>::default();
        let finish = |number, [cell, more]: [Small<F, T>; 2], count, others: &[(usize, usize)]| {
            let unstored = kept.unstored(unstored, number);
            let positions = unstored.positions(count);
            if others.is_empty()
                && more == start
                && adds_nothing(&unstored, positions)
                && let Some(result) = F::finish_fast(cell, positions)
            {
                return Ok(result);
            }
            let mut state = unstored_state(*self, count, &unstored);
            state.sum.add_cell(cell);
            state.sum.add_cell(more);
            others.iter().for_each(|&(_, entry)| state.sum.add(values[entry]));
            self.finish(&state, positions)
        };
        if Self::sums_slices::<T>() && unstored.fill.map_or(!F::DIVIDES, |fill| !fill.is_truthy()) {
            // The number of entries of an output element does not matter here.
            let finish = |number, pairs: scatter_slices::Sum, others: &[_]| {
                finish(number, pairs.map(F::Total::cell_of), 1, others)
            };
            if let Some(found) = scatter_slices::scatter(kept, values, F::Total::float_or_nan, &finish)? {
                return Ok(Some(found));
            }
        }
        let finish = |number, cell, count| finish(number, [cell, start], count, &[]);
        scatter(kept, values, Cell { start, add: F::Total::add_to, join: F::Total::join }, &finish)
    }
}

impl<F> Totals<F> {
    /// Returns whether sums are sums of floats, and pairs usually determine the result.
    #[inline(always)]
    fn sums_slices<T: Ring>() -> bool
    where
        F: Finish<T>,
    {
        F::Total::float(T::ZERO).is_some() && F::finish_fast(Small::<F, T>::default(), 1).is_some()
    }
}

/// Returns whether the unstored positions of a group with `count` positions do not change a sum.
fn adds_nothing<T: Element>(unstored: &Unstored<T>, count: u128) -> bool {
    count != u128::MAX && unstored.fill.is_none_or(|fill| !fill.is_truthy())
}
