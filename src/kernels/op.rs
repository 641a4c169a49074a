//! What every operation is: a small value with a name.

use crate::base::alloc::AllocError;

/// An operation, as a value: a member of one of the families [`Fold`](super::fold::Fold),
/// [`Holistic`](super::holistic::Holistic), [`Map`](super::map::Map).
pub trait Op: Copy + Send + Sync {
    /// The name, for errors.
    fn name(&self) -> &'static str;
}

/// The result of one group.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// Why an operation has no result for one group. The driver adds which operation and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It would number or count more positions than its result holds.
    Uncountable,
    /// There is no element that it could give.
    Empty,
    /// An integer type, which has this name, does not hold the result.
    Overflow(&'static str),
    /// It would divide an integer by zero.
    DivisionByZero,
    /// The machine did not give the memory.
    Memory(AllocError),
}

impl From<AllocError> for Fault {
    fn from(refused: AllocError) -> Self {
        Fault::Memory(refused)
    }
}

/// The results of groups, if each has one.
pub(crate) type Outcomes<T> = Result<T, Refused>;

/// A group without a result, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub(crate) fault: Fault,
    pub(crate) group: usize,
}

impl From<AllocError> for Refused {
    fn from(refused: AllocError) -> Self {
        Refused { fault: refused.into(), group: 0 }
    }
}

impl Fault {
    /// The fault of a group.
    pub(crate) fn of(self, group: usize) -> Refused {
        Refused { fault: self, group }
    }
}
