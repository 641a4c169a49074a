//! Partial reductions of a dynamically typed input: values arrive as bytes, and accumulators are returned as bytes to
//! be merged.

use crate::base::alloc::{self, Allocated};
use crate::element::accumulator_bytes::values_of;
use crate::element::{Element, Saved};
use crate::kernels::fold::Fold;
use crate::kernels::ordered::RankSearch;

/// The accumulators of a streaming reduction for several groups.
pub trait Partial: Send + Sync {
    /// Returns an empty accumulator list for the same reduction.
    fn again(&self) -> Box<dyn Partial>;

    /// Extends the list to `groups` groups. New groups do not have a value.
    fn resize(&mut self, groups: usize) -> Allocated<()>;

    /// Adds values, given as bytes, to the groups of the same index in `groups`.
    ///
    /// Returns false if the bytes are not values of the type, or if a group does not exist.
    #[must_use]
    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool;

    /// Merges a saved accumulator into a group. Returns false if the bytes are not an accumulator.
    #[must_use]
    fn merge(&mut self, group: usize, state: &[u8]) -> bool;

    /// Appends the saved accumulator of a group. The caller must not request the group again.
    fn take(&mut self, group: usize, bytes: &mut Vec<u8>);

    /// Removes the first groups and frees their memory.
    fn drop_first(&mut self, groups: usize);

    /// Returns an estimate of the bytes of all groups.
    fn bytes(&self) -> usize;
}

/// The way in which values are reduced.
pub enum Reducer {
    /// By an accumulator.
    Fold(Box<dyn Partial>),
    /// By the order of the values.
    Median(Box<dyn RankSearch>),
}

impl Reducer {
    /// Returns the accumulator without groups, if the reduction is a streaming reduction.
    pub fn partial(&self) -> Option<Box<dyn Partial>> {
        if let Reducer::Fold(partial) = self { Some(partial.again()) } else { None }
    }

    /// Returns the order of the values, if the reduction is a median.
    pub fn order(&self) -> Option<&dyn RankSearch> {
        if let Reducer::Median(order) = self { Some(&**order) } else { None }
    }
}

struct Accumulators<T: Element, F: Fold<T>> {
    op: F,
    states: Vec<F::State>,
}

/// Returns a reduction without groups.
pub(crate) fn partial<T: Element, F: Fold<T>>(op: F) -> Box<dyn Partial> {
    Box::new(Accumulators::<T, F> { op, states: Vec::new() })
}

/// Loads an accumulator that occupies all of the bytes.
pub(crate) fn state_of<T: Element, F: Fold<T>>(_: F, mut bytes: &[u8]) -> Option<F::State> {
    F::State::load(&mut bytes).filter(|_| bytes.is_empty())
}

impl<T: Element, F: Fold<T>> Partial for Accumulators<T, F> {
    fn again(&self) -> Box<dyn Partial> {
        partial::<T, F>(self.op)
    }

    fn resize(&mut self, groups: usize) -> Allocated<()> {
        // This function does not remove groups, so a smaller number does not change the list.
        let more = groups.saturating_sub(self.states.len());
        alloc::reserve(&mut self.states, more)?;
        self.states.resize(groups.max(self.states.len()), self.op.start());
        Ok(())
    }

    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool {
        let Some(values) = values_of::<T>(values).filter(|values| values.len() == groups.len()) else { return false };
        // Invariant: `start` is the number of values already added; values and groups have equal length.
        let mut start = 0;
        // Consecutive values of one group are added as one slice, which is faster than single values.
        groups.chunk_by(|one, other| one == other).all(|run| {
            let taken = &values[start..start + run.len()];
            start += run.len();
            self.states.get_mut(run[0]).map(|state| self.op.slice(state, taken)).is_some()
        })
    }

    fn merge(&mut self, group: usize, state: &[u8]) -> bool {
        // If the bytes have another type or the group does not exist, accumulators do not change.
        let known = state_of(self.op, state).zip(self.states.get_mut(group));
        known.map(|(other, state)| self.op.merge(state, &other)).is_some()
    }

    fn take(&mut self, group: usize, bytes: &mut Vec<u8>) {
        self.states.get(group).into_iter().for_each(|state| state.save(bytes));
    }

    fn drop_first(&mut self, groups: usize) {
        self.states.drain(..groups.min(self.states.len()));
        self.states.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<F::State>()
    }
}
