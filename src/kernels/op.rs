//! The common trait of operations, and the reasons why they fail.

use crate::base::alloc::AllocError;

/// An operation as a value, in one of the families [`Fold`](super::fold::Fold), [`Holistic`](super::holistic::Holistic)
/// and [`Map`](super::map::Map).
pub trait Op: Copy + Send + Sync {
    /// Returns the name for error messages.
    fn name(&self) -> &'static str;
}

/// The result of one group, or the reason why the group does not have a result.
pub(crate) type Outcome<T> = Result<T, GroupError>;

/// The reason why an operation does not have a result for one group. The driver adds the operation and the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupError {
    /// A position or a count of the group does not fit in the result type.
    Uncountable,
    /// The group does not have an element to return.
    Empty,
    /// The result does not fit in the integer type of this name.
    Overflow(&'static str),
    /// An integer would be divided by zero.
    DivisionByZero,
    /// An allocation failed.
    Memory(AllocError),
}

impl From<AllocError> for GroupError {
    fn from(failure: AllocError) -> Self {
        GroupError::Memory(failure)
    }
}

/// The results of all groups, or the first failure.
pub(crate) type Outcomes<T> = Result<T, FailedGroup>;

/// A group without a result, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FailedGroup {
    pub(crate) fault: GroupError,
    pub(crate) group: usize,
}

impl From<AllocError> for FailedGroup {
    fn from(failure: AllocError) -> Self {
        // A failed allocation does not belong to a group, so the index is meaningless here.
        FailedGroup { fault: failure.into(), group: 0 }
    }
}

impl GroupError {
    /// Returns the fault together with the index of its group.
    pub(crate) fn of(self, group: usize) -> FailedGroup {
        // Callers that process a range of groups later add the start of the range to `group`.
        FailedGroup { fault: self, group }
    }
}
