//! The common trait of operations, and the reasons why they fail.

use crate::base::alloc::AllocError;

/// An operation as a value, in one of the families [`Fold`](super::fold::Fold), [`Holistic`](super::holistic::Holistic)
/// and [`Map`](super::map::Map).
pub trait Op: Copy + Send + Sync {
    /// Returns the name for error messages.
    fn name(&self) -> &'static str;
}

/// The result of one group, or the reason why it has none.
pub(crate) type Outcome<T> = Result<T, GroupError>;

/// The reason why an operation does not have a result for one group. The driver adds the operation and the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupError {
    /// The result type cannot hold a position or a count of the group.
    Uncountable,
    /// The group does not have an element to return.
    Empty,
    /// The result does not fit the integer type of this name.
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
        // Callers that process a range of groups add its start to `group` afterwards.
        FailedGroup { fault: self, group }
    }
}
