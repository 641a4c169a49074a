//! What values may take of the memory that a user named, and errors that tell that.

use crate::base::error::{Error, Result};
use crate::base::limit;

/// Of the memory, the part that what is read at once may take: what was made of the ranges before is written beside it,
/// and work takes copies.
pub(super) const INPUT: u64 = 8;

/// What a range may take as it is read in any case, if it is no larger part of the memory: pages are read as a whole,
/// and small ranges would share many.
pub(super) const LEAST_READ: u64 = 2 << 20;

/// Of the memory, the part that a step may make of the ranges that are computed at once: the steps before and behind it
/// have theirs.
pub(super) const RESULT: u64 = 4;

/// Of the memory, the part that the states of a fold may take at once, and another one of that size for the results of
/// all folds.
pub(super) const STATES: u64 = 4;

/// What a step may make in any case: it has room in what work takes besides.
const LEAST: u64 = 4 << 20;

/// What to do about what is too large, and about a result that has a part only.
const INSTEAD: &str = "raise --max-memory (Chunks::memory), or ask for what is smaller";
const OF_PART: &str =
    "raise --max-memory (Chunks::memory), a quarter of which a step may make of a range, or ask for what is smaller";

/// The bytes that a user allows, and how many of them values take that were found and are still needed.
pub(super) struct Room {
    pub(super) memory: u64,
    pub(super) held: u64,
}

impl Room {
    pub(super) fn left(&self) -> u64 {
        self.memory.saturating_sub(self.held)
    }

    /// Refuses so many bytes beside what is held. The error tells what both take, so that its numbers are those to name.
    pub(super) fn check(&self, what: &'static str, bytes: u128) -> Result<()> {
        let bytes = bytes.saturating_add(self.held.into());
        match bytes <= u128::from(self.memory) {
            true => Ok(()),
            false => Err(Error::TooLarge { what, bytes, limit: self.memory, instead: INSTEAD }),
        }
    }

    /// What `work` gives, of which a result that could explode may take a part of what is left, or its share of that
    /// where it is one of so many works.
    pub(super) fn bounded<T>(&self, part: u64, works: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let limit = (self.left() / part).max(LEAST) / works;
        limit::within(Some(limit), work).map_err(|error| self.told(error, limit, part))
    }

    /// An error at the limit of a part of what is left, with what all parts take, and what is held.
    fn told(&self, error: Error, own: u64, part: u64) -> Error {
        match error {
            Error::Lazy { operation, file, line, cause } => {
                Error::Lazy { operation, file, line, cause: Box::new(self.told(*cause, own, part)) }
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

/// How many times as much as it may take a refused result would take, rounded up.
pub(super) fn excess(error: &Error) -> Option<u128> {
    match error {
        Error::Lazy { cause, .. } => excess(cause),
        Error::TooLarge { bytes, limit, .. } => Some(bytes.div_ceil(u128::from(*limit).max(1))),
        _ => None,
    }
}
