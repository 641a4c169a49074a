//! Folds: reductions whose state after some values is all that the values after them need to know.

use crate::base::alloc::Allocated;
use crate::base::index::Index;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::group::{Gaps, Groups};
use crate::kernels::op::{Fault, Op, Outcome};
use crate::kernels::sort::Arrays;

/// A fold over values of type `T`.
///
/// Merging is associative and commutative, and a step the same as merging with the state of one value: so a group may be
/// cut anywhere, and gone through in any order.
pub trait Fold<T: Element>: Op {
    /// What is known of the values so far.
    type State: Copy + Send + Sync;
    /// The result of a group.
    type Out: Copy + Send + Sync;

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

    /// A faster way for all lanes that hold a value, in order; `gap` is the value of their other positions.
    fn by_lanes(&self, _offsets: &[usize], _values: &[T], _gap: Option<T>) -> Allocated<Option<Vec<Self::Out>>> {
        Ok(None)
    }

    /// A faster way for all cells that hold a value, with their coordinates, in order; `gap` is the value of their other
    /// positions.
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

/// The result of a group, of which `state` is that of the stored values.
pub(crate) fn finish<T: Element, F: Fold<T>>(
    op: F,
    mut state: F::State,
    stored: usize,
    gaps: &Gaps<T>,
) -> Outcome<F::Out> {
    if let (Some(fill), count @ 1..) = (gaps.fill, gaps.count(stored)) {
        state = op.repeat(state, fill, count);
    }
    op.finish(state, gaps.positions(stored))
}

/// The results of all groups, or the first group that has none.
pub(crate) fn fold_groups<T: Element, F: Fold<T>>(
    op: F,
    groups: &Groups,
    values: &[T],
    gaps: &Gaps<T>,
) -> Result<Vec<F::Out>, (usize, Fault)> {
    let finished = |group, state| finish(op, state, groups.size(group), gaps).map_err(|fault| (group, fault));
    let results = match groups.in_order(values) {
        Some(slice) => {
            threads::map_heavy(groups.len(), values.len(), || (), |(), group| finished(group, op.slice(slice(group))))
        }
        None => threads::map_heavy(
            groups.len(),
            values.len(),
            || (),
            |(), group| finished(group, fold_until_settled(op, groups.entries(group).map(|entry| values[entry]))),
        ),
    };
    results.into_iter().collect()
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
