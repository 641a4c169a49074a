//! The limit in bytes for results that may be far larger than their input. Larger results are rejected.

use std::cell::Cell;

use crate::base::alloc;
use crate::base::error::{Error, Result};

/// 1 GiB. The default limit is never smaller.
const FLOOR: u64 = 1 << 30;

thread_local! {
    /// The limit for the work of this thread, instead of the default one.
    static ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Returns the default limit for an input of `input_bytes`: 1 GiB or 16 times the input, whichever is larger.
///
/// Inside [`within`], the limit of this thread applies instead.
pub(crate) fn default_limit(input_bytes: usize) -> u64 {
    ALLOWED.get().unwrap_or_else(|| FLOOR.max((input_bytes as u64).saturating_mul(16)))
}

/// Runs `work` with this limit. `None` means the default limit.
pub(crate) fn within<T>(limit: Option<u64>, work: impl FnOnce() -> T) -> T {
    let _before = RestoreLimit(ALLOWED.replace(limit));
    work()
}

/// The limit that applies again after this value is dropped.
struct RestoreLimit(Option<u64>);

impl Drop for RestoreLimit {
    fn drop(&mut self) {
        ALLOWED.set(self.0);
    }
}

/// Rejects `count` items of `T` above `limit` bytes.
pub(crate) fn guard<T>(what: &'static str, count: u128, limit: u64, instead: &'static str) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<T>() as u128);
    let addressable = u128::from(limit.min(isize::MAX as u64));
    if bytes <= addressable { Ok(()) } else { Err(Error::TooLarge { what, bytes, limit, instead }) }
}

/// Returns `count` copies of `value`. Rejects more than `limit` bytes, and returns an error if the allocation fails.
pub(crate) fn filled<T: Copy>(
    what: &'static str,
    value: T,
    count: u128,
    limit: u64,
    instead: &'static str,
) -> Result<Vec<T>> {
    guard::<T>(what, count, limit, instead)?;
    Ok(alloc::copies(value, count as usize)?)
}
