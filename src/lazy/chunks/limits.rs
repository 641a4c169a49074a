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

/// Refuses so many bytes above the memory.
pub(super) fn check(what: &'static str, bytes: u128, memory: u64) -> Result<()> {
    check_part(what, bytes, 1, memory)
}

/// Refuses so many bytes above a part of the memory. The error tells what all parts take, so that its numbers are those
/// to name.
pub(super) fn check_part(what: &'static str, bytes: u128, part: u64, memory: u64) -> Result<()> {
    let bytes = bytes.saturating_mul(part.into());
    match bytes <= u128::from(memory) {
        true => Ok(()),
        false => Err(Error::TooLarge { what, bytes, limit: memory, instead: INSTEAD }),
    }
}

/// What `work` gives, of which a result that could explode may take a part of the memory, or its share of that where it
/// is one of so many works.
pub(super) fn bounded<T>(part: u64, works: u64, memory: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let limit = (memory / part).max(LEAST) / works;
    limit::within(Some(limit), work).map_err(|error| told(error, limit, part, memory))
}

/// An error at the limit of a part of the memory, with what all parts take.
fn told(error: Error, own: u64, part: u64, memory: u64) -> Error {
    match error {
        Error::Lazy { operation, file, line, cause } => {
            Error::Lazy { operation, file, line, cause: Box::new(told(*cause, own, part, memory)) }
        }
        Error::TooLarge { what, bytes, limit, .. } if limit == own => {
            let instead = if part > 1 { OF_PART } else { INSTEAD };
            Error::TooLarge { what, bytes: bytes.saturating_mul(part.into()), limit: memory, instead }
        }
        other => other,
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
