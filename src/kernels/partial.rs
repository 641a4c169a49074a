//! Folds in parts, of a type that nobody else needs to know: values come in as bytes, and what is known of them goes
//! out as bytes, to be merged elsewhere.

use crate::base::alloc::{self, Allocated};
use crate::element::saved::values_of;
use crate::element::{Element, Saved};
use crate::kernels::fold::Fold;

/// The states of a fold of some groups.
pub trait Partial: Send + Sync {
    /// The same fold of no group.
    fn again(&self) -> Box<dyn Partial>;

    /// Makes room for so many groups. Those that are new have no value.
    fn resize(&mut self, groups: usize) -> Allocated<()>;

    /// Takes values in, whose bytes stand side by side, each of the group of that number. False where they are none, or
    /// a group is not there.
    #[must_use]
    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool;

    /// Takes in what is known of other values of a group. False where the bytes are no state.
    #[must_use]
    fn merge(&mut self, group: usize, state: &[u8]) -> bool;

    /// Appends what is known of a group, which is not asked for again.
    fn take(&mut self, group: usize, bytes: &mut Vec<u8>);

    /// Leaves the first groups out, and gives their memory back.
    fn drop_first(&mut self, groups: usize);

    /// The bytes that all groups take, more or less.
    fn bytes(&self) -> usize;
}

struct States<T: Element, F: Fold<T>> {
    op: F,
    states: Vec<F::State>,
}

/// A fold of no group.
pub(crate) fn partial<T: Element, F: Fold<T>>(op: F) -> Box<dyn Partial> {
    Box::new(States::<T, F> { op, states: Vec::new() })
}

/// The state that all of the bytes are.
pub(crate) fn state_of<T: Element, F: Fold<T>>(_: F, mut bytes: &[u8]) -> Option<F::State> {
    F::State::load(&mut bytes).filter(|_| bytes.is_empty())
}

impl<T: Element, F: Fold<T>> Partial for States<T, F> {
    fn again(&self) -> Box<dyn Partial> {
        partial::<T, F>(self.op)
    }

    fn resize(&mut self, groups: usize) -> Allocated<()> {
        let more = groups.saturating_sub(self.states.len());
        alloc::reserve(&mut self.states, more)?;
        self.states.resize(groups.max(self.states.len()), self.op.start());
        Ok(())
    }

    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool {
        let Some(values) = values_of::<T>(values).filter(|values| values.len() == groups.len()) else { return false };
        let mut start = 0;
        groups.chunk_by(|one, other| one == other).all(|run| {
            let taken = &values[start..start + run.len()];
            start += run.len();
            self.states.get_mut(run[0]).map(|state| self.op.slice(state, taken)).is_some()
        })
    }

    fn merge(&mut self, group: usize, state: &[u8]) -> bool {
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
