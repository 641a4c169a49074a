//! Folds: reductions whose state after some values is all that the values after them need to know.

use crate::base::alloc::Allocated;
use crate::base::index::Index;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::group::{Gaps, Groups};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::sort::Arrays;

/// A fold over values of type `T`.
///
/// Merging is associative and commutative, and a step the same as merging with the state of one value: so a group may
/// be cut anywhere, and gone through in any order.
pub trait Fold<T: Element>: Op {
    /// What is known of the values so far.
    type State: Copy + Send + Sync;
    /// The result of a group.
    type Out: Element;

    /// The state of no value.
    fn start(&self) -> Self::State;

    /// The state after one more value.
    fn step(&self, state: Self::State, value: T) -> Self::State;

    /// The state after `count` more values, all of them `value`.
    fn repeat(&self, state: Self::State, value: T, count: u128) -> Self::State;

    /// The state of the values of both.
    fn merge(&self, a: Self::State, b: Self::State) -> Self::State;

    /// The result of a group of `count` values.
    fn finish(&self, state: Self::State, count: u128) -> Outcome<Self::Out>;

    /// Whether no value changes the state any more, so that the others need not be read.
    fn is_settled(&self, _: Self::State) -> bool {
        false
    }

    /// The state of a slice.
    fn slice(&self, values: &[T]) -> Self::State {
        values.iter().fold(self.start(), |state, &value| self.step(state, value))
    }

    /// The results of the lanes that hold a value, in order: all of these offsets whose lane is not empty.
    fn lanes(&self, offsets: &[usize], values: &[T], gaps: &Gaps<T>, results: &mut [Self::Out]) -> Outcome<()> {
        fold_lanes(*self, offsets, values, gaps, results)
    }

    /// A faster way for all cells that hold a value, with their coordinates, in order; `gap` is the value of their
    /// other positions.
    fn by_coords<I: Index>(
        &self,
        _kept: &Kept<'_, I>,
        _values: &[T],
        _gap: Option<T>,
    ) -> Allocated<Option<Arrays<I, Self::Out>>> {
        Ok(None)
    }
}

/// The coordinates of entries on the kept axes; there is at least one.
pub struct Kept<'a, I> {
    pub(crate) coords: &'a [&'a [I]],
    /// The lengths of these axes.
    pub(crate) lengths: &'a [usize],
    /// Whether the entries of a cell stand side by side: these axes lead.
    pub(crate) lead: bool,
    /// Whether entries side by side often fall into one cell: the last axis goes.
    pub(crate) in_runs: bool,
}

/// The state of the gaps of a group with `stored` entries.
fn gaps_state<T: Element, F: Fold<T>>(op: F, stored: usize, gaps: &Gaps<T>) -> F::State {
    match (gaps.fill, gaps.count(stored)) {
        (Some(fill), count @ 1..) => op.repeat(op.start(), fill, count),
        _ => op.start(),
    }
}

/// The result of a group of which nothing is stored.
pub(crate) fn fold_gaps<T: Element, F: Fold<T>>(op: F, gaps: &Gaps<T>) -> Outcome<F::Out> {
    op.finish(gaps_state(op, 0, gaps), gaps.positions(0))
}

/// The results of all groups, if each has one. Where the gaps settle the result no value is read.
pub(crate) fn fold_groups<T: Element, F: Fold<T>>(
    op: F,
    groups: &Groups,
    values: &[T],
    gaps: &Gaps<T>,
) -> Outcome<Vec<F::Out>> {
    let finished = |group: usize, stored: &dyn Fn() -> F::State| {
        let state = gaps_state(op, groups.size(group), gaps);
        let state = if op.is_settled(state) { state } else { op.merge(state, stored()) };
        op.finish(state, gaps.positions(groups.size(group)))
    };
    let (blank, scratch) = (F::Out::ZERO, || ());
    match groups.in_order(values) {
        Some(slice) => threads::try_map_heavy(groups.len(), values.len(), blank, scratch, |(), group| {
            finished(group, &|| op.slice(slice(group)))
        }),
        None => threads::try_map_heavy(groups.len(), values.len(), blank, scratch, |(), group| {
            let gathered = || groups.entries(group).map(|entry| values[entry]);
            finished(group, &|| fold_until_settled(op, gathered()))
        }),
    }
}

/// The results of lanes that hold a value, one after the other.
pub(crate) fn fold_lanes<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
    results: &mut [F::Out],
) -> Outcome<()> {
    let stored = offsets.windows(2).filter(|ends| ends[0] < ends[1]);
    stored.zip(results).try_for_each(|(ends, result)| {
        let values = &values[ends[0]..ends[1]];
        let state = gaps_state(op, values.len(), gaps);
        let state = if op.is_settled(state) { state } else { op.merge(state, op.slice(values)) };
        *result = op.finish(state, gaps.positions(values.len()))?;
        Ok(())
    })
}

/// The results of groups of one value each.
pub(crate) fn fold_singly<T: Element, F: Fold<T>>(op: F, values: &[T]) -> Outcome<Vec<F::Out>> {
    let finished = |(): &mut (), entry: usize| op.finish(op.step(op.start(), values[entry]), 1);
    threads::try_map_heavy(values.len(), values.len(), F::Out::ZERO, || (), finished)
}

/// The state of some values, those left out that cannot change it.
pub(crate) fn fold_until_settled<T: Element, F: Fold<T>>(op: F, values: impl Iterator<Item = T>) -> F::State {
    let mut state = op.start();
    for value in values {
        state = op.step(state, value);
        if op.is_settled(state) {
            break;
        }
    }
    state
}
