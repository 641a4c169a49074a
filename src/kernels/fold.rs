//! Streaming reductions: an accumulator has all information about the values so far.

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Element, INTERLEAVED, Interleaved, RunResults, Saved};
use crate::kernels::group::{Groups, Unstored, UnstoredByGroup};
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::lanes::results_of;
use crate::kernels::op::{Op, Outcome, Outcomes};
use crate::kernels::output_bitmap::StoredOutputs;

/// A streaming reduction over values of type `T`.
///
/// Merging is associative and commutative. Adding a value equals merging with the accumulator of this value. A group
/// can therefore be split at any entry and read in any order.
pub(crate) trait Fold<T: Element>: Op + 'static {
    /// The accumulator of the values so far.
    type State: Clone + Send + Sync + Saved;
    /// The result of a group.
    type Out: Element;

    /// Returns an accumulator without values.
    fn start(&self) -> Self::State;

    /// Adds one value.
    fn step(&self, state: &mut Self::State, value: T);

    /// Adds one value with as little memory as possible, even if it takes more time.
    fn step_sparingly(&self, state: &mut Self::State, value: T) {
        self.step(state, value);
    }

    /// Adds `count` copies of `value`.
    fn repeat(&self, state: &mut Self::State, value: T, count: u128);

    /// Adds the values of another accumulator.
    fn merge(&self, state: &mut Self::State, other: &Self::State);

    /// Returns the result of a group of `count` values.
    fn finish(&self, state: &Self::State, count: u128) -> Outcome<Self::Out>;

    /// Returns the fill of the result of a stored view: the result of a group without entries.
    fn of_no_entry(&self) -> Outcome<Self::Out> {
        self.finish(&self.start(), 0)
    }

    /// Returns whether no further value can change the accumulator. If true, the remaining values are not read.
    fn is_settled(&self, _: &Self::State) -> bool {
        false
    }

    /// Returns the bytes that an accumulator takes in addition to its own size.
    fn grown(&self, _: &Self::State) -> usize {
        0
    }

    /// Adds a slice of values.
    fn slice(&self, state: &mut Self::State, values: &[T]) {
        values.iter().for_each(|&value| self.step(state, value));
    }

    /// Returns the results of runs of values that are computed together. The fast path may leave results unknown.
    #[inline(always)]
    fn of_interleaved(&self, _values: &[T], _runs: &Interleaved, _unstored: &Unstored<T>) -> RunResults<Self::Out> {
        ([Self::Out::ZERO; INTERLEAVED], [false; INTERLEAVED])
    }

    /// Writes the results of the nonempty lanes in order. An error has the index of the lane among all lanes.
    fn lanes(
        &self,
        offsets: &[usize],
        values: &[T],
        unstored: &Unstored<T>,
        results: &mut [Self::Out],
    ) -> Outcomes<()> {
        fold_lanes(*self, offsets, values, unstored, results)
    }

    /// Returns all output elements with an entry, in order, if a fast path exists. [`KeptAxes::unstored`] has the
    /// unstored positions.
    fn by_coords(
        &self,
        _kept: &KeptAxes<'_>,
        _values: &[T],
        _unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<Self::Out>>> {
        Ok(None)
    }
}

/// Returns the accumulator of the unstored positions of a group with `stored` entries.
pub(crate) fn unstored_state<T: Element, F: Fold<T>>(op: F, stored: usize, unstored: &Unstored<T>) -> F::State {
    let mut state = op.start();
    if let (Some(fill), count @ 1..) = (unstored.fill, unstored.count(stored)) {
        op.repeat(&mut state, fill, count);
    }
    state
}

/// Returns the result of a group without entries. The result is a fill, so a zero is positive.
pub(crate) fn fold_unstored<T: Element, F: Fold<T>>(op: F, unstored: &Unstored<T>) -> Outcome<F::Out> {
    match unstored.fill {
        Some(_) => op.finish(&unstored_state(op, 0, unstored), unstored.positions(0)).map(F::Out::as_implicit),
        None => op.of_no_entry(),
    }
}

/// Returns the result of a group of `size` entries. `add` adds the entries. They are skipped if the unstored positions
/// determine the result.
fn fold_group<T: Element, F: Fold<T>>(
    op: F,
    size: usize,
    unstored: &Unstored<T>,
    add: impl FnOnce(&mut F::State),
) -> Outcome<F::Out> {
    // The unstored positions are added first, because they may determine the result. Merging is commutative.
    let mut state = unstored_state(op, size, unstored);
    if !op.is_settled(&state) {
        add(&mut state);
    }
    op.finish(&state, unstored.positions(size))
}

/// Returns the results of all groups, if each has one.
pub(crate) fn fold_groups<T: Element, F: Fold<T>>(
    op: F,
    groups: &Groups,
    values: &[T],
    unstored: &UnstoredByGroup<'_, T>,
) -> Outcomes<Vec<F::Out>> {
    if unstored.extents.is_none() {
        // Adjacent short groups are reduced together, which saves more than the copy costs.
        return fold_runs(op, groups.starts(), &groups.side_by_side(values)?, &unstored.unstored);
    }
    threads::try_map_heavy(
        groups.len(),
        values.len(),
        F::Out::ZERO,
        || (),
        |(), group| {
            // Groups differ in size, so each group is computed with its own unstored positions.
            let gathered = groups.entries(group).map(|entry| values[entry]);
            let add = |state: &mut F::State| fold_until_settled(op, state, gathered);
            fold_group(op, groups.size(group), &unstored.of(group), add).map_err(|fault| fault.of(group))
        },
    )
}

/// Returns the results of adjacent nonempty groups.
pub(crate) fn fold_runs<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    values: &[T],
    unstored: &Unstored<T>,
) -> Outcomes<Vec<F::Out>> {
    let mut results = alloc::zeros(offsets.len() - 1)?;
    share_runs(offsets, &mut results, &|offsets, results| op.lanes(offsets, values, unstored, results))?;
    Ok(results)
}

/// Reduces the runs between some offsets into one slot per run.
pub(crate) type ReduceRuns<'a, U> = dyn Fn(&[usize], &mut [U]) -> Outcomes<()> + Sync + 'a;

/// Splits adjacent nonempty groups among threads. `reduce` receives the offsets of some groups and a slot for each.
pub(crate) fn share_runs<U: Send>(offsets: &[usize], results: &mut [U], reduce: &ReduceRuns<'_, U>) -> Outcomes<()> {
    // Only offsets of groups with a slot are used.
    let ends = ends_of_parts(&offsets[..=results.len()]);
    let done = threads::map_slices(results, &ends, |part, results| {
        // A part ends at a group, so no group is split. `first` is the index of the first group of the part.
        let first = ends[part] - results.len();
        reduce(&offsets[first..=ends[part]], results).map_err(|failure| failure.fault.of(first + failure.group))
    });
    done.into_iter().collect()
}

/// Returns the runs at which parts end. Each part has enough work for a thread.
fn ends_of_parts(offsets: &[usize]) -> Vec<usize> {
    let count = offsets.len() - 1;
    let parts = threads::map_parts(offsets[count] - offsets[0], PICOSECONDS, 0, |part| part.end);
    // A part ends at the first group that starts at or after the end of the part. The first offset is 0, so offsets and
    // entries have the same origin.
    let mut ends: Vec<usize> =
        parts.iter().map(|&end| offsets[..count].partition_point(|&start| start < end)).collect();
    // A group longer than a part has several equal ends.
    ends.dedup();
    ends
}

/// The time per entry of a run, in picoseconds.
const PICOSECONDS: usize = 1000;

/// Writes the results of nonempty lanes one after the other.
pub(crate) fn fold_lanes<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    values: &[T],
    unstored: &Unstored<T>,
    results: &mut [F::Out],
) -> Outcomes<()> {
    in_wide_vectors(
        #[inline(always)]
        || {
            results_of(
                offsets,
                results,
                #[inline(always)]
                |runs| op.of_interleaved(values, runs, unstored),
                |lane, entries| fold_lane(op, &values[entries], unstored).map_err(|fault| fault.of(lane)),
            )
        },
    )
}

/// Returns the result of a lane. The function is not inlined into the fast path.
fn fold_lane<T: Element, F: Fold<T>>(op: F, values: &[T], unstored: &Unstored<T>) -> Outcome<F::Out> {
    fold_group(op, values.len(), unstored, |state| op.slice(state, values))
}

/// Returns the results of groups of one value each.
pub(crate) fn fold_singly<T: Element, F: Fold<T>>(op: F, values: &[T]) -> Outcomes<Vec<F::Out>> {
    let finished = |(): &mut (), entry: usize| {
        let mut state = op.start();
        op.step(&mut state, values[entry]);
        op.finish(&state, 1).map_err(|fault| fault.of(entry))
    };
    threads::try_map_heavy(values.len(), values.len(), F::Out::ZERO, || (), finished)
}

/// Adds values until no further value can change the accumulator.
pub(crate) fn fold_until_settled<T: Element, F: Fold<T>>(
    op: F,
    state: &mut F::State,
    values: impl IntoIterator<Item = T>,
) {
    for value in values {
        op.step(state, value);
        if op.is_settled(state) {
            break;
        }
    }
}
