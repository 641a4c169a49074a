//! What every operation is: a small value with a name.

use crate::base::alloc::AllocError;

/// An operation, as a value: a member of one of the families [`Fold`](super::fold::Fold),
/// [`Holistic`](super::holistic::Holistic), [`Map`](super::map::Map).
pub trait Op: Copy + Send + Sync {
    /// Its name, for errors.
    const NAME: &'static str;
}

/// The result of one group.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// Why an operation has no result for one group. The driver adds which operation and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It would number or count more positions than `u64` holds.
    Uncountable,
    /// An integer type does not hold the result.
    Overflow,
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
