//! The fractions of the memory limit that values may take, and the errors at this limit.

use crate::base::error::{Error, Result};
use crate::base::limit;

/// The divisor of the memory for all chunks of input that are read at once. Results of earlier chunks are written at
/// the same time, and work makes copies.
pub(super) const INPUT: u64 = 8;

/// The bytes that a chunk of input may always take, if this is not more than the limit for all input that is read at
/// once. Pages are read entirely, and small chunks would share many pages.
pub(super) const MIN_READ: u64 = 2 << 20;

/// The divisor of the memory for the results of a step, in all chunks that are computed at once. Earlier and later
/// steps also need memory.
pub(super) const RESULT: u64 = 4;

/// The divisor of the memory for the accumulators of a reduction. The results of all reductions may take the same
/// number of bytes in addition.
pub(super) const STATES: u64 = 4;

/// The bytes that the result of a step may always take. These bytes are part of the additional memory for work.
const MIN_MEMORY: u64 = 4 << 20;

/// The advice for a value that is too large, and for a result that may take a fraction of the memory.
const INSTEAD: &str = "raise --max-memory (Chunks::memory), or compute a smaller result";
const OF_PART: &str =
    "raise --max-memory (Chunks::memory), of which a chunk of a step may use a quarter, or compute a smaller result";

/// The bytes that the user allows, and the bytes of computed values that are still needed.
pub(super) struct MemoryBudget {
    pub(super) memory: u64,
    pub(super) held: u64,
}

impl MemoryBudget {
    pub(super) fn left(&self) -> u64 {
        self.memory.saturating_sub(self.held)
    }

    /// Rejects `bytes` if these bytes and the held values exceed the limit. The error reports the sum, which is the
    /// necessary limit.
    pub(super) fn check(&self, what: &'static str, bytes: u128) -> Result<()> {
        let bytes = bytes.saturating_add(self.held.into());
        match bytes <= u128::from(self.memory) {
            true => Ok(()),
            false => Err(Error::TooLarge { what, bytes, limit: self.memory, instead: INSTEAD }),
        }
    }

    /// Returns the result of `work`, and limits results that may become too large. The limit is the remaining memory
    /// divided by `part`, and by the number of computations (`works`) that run at the same time.
    pub(super) fn bounded<T>(&self, part: u64, works: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let limit = (self.left() / part).max(MIN_MEMORY) / works;
        limit::within(Some(limit), work).map_err(|error| self.with_totals(error, limit, part))
    }

    /// Converts an error about the limit of one fraction: the new error reports the bytes of all fractions and of the
    /// held values.
    fn with_totals(&self, error: Error, own: u64, part: u64) -> Error {
        match error {
            Error::Lazy { operation, file, line, cause } => {
                Error::Lazy { operation, file, line, cause: Box::new(self.with_totals(*cause, own, part)) }
            }
            Error::TooLarge { what, bytes, limit, .. } if limit == own => {
                let bytes = bytes.saturating_mul(part.into()).saturating_add(self.held.into());
                let instead = if part > 1 { OF_PART } else { INSTEAD };
                Error::TooLarge { what, bytes, limit: self.memory, instead }
            }
            other => other,
        }
    }
}

/// Returns the size of a rejected result divided by its limit, rounded up.
pub(super) fn excess(error: &Error) -> Option<u128> {
    match error {
        Error::Lazy { cause, .. } => excess(cause),
        Error::TooLarge { bytes, limit, .. } => Some(bytes.div_ceil(u128::from(*limit).max(1))),
        _ => None,
    }
}
