//! The byte limit above which a result that could explode is refused.

use std::cell::Cell;

use crate::base::alloc;
use crate::base::error::{Error, Result};

/// One GiB: below this nothing is refused.
const FLOOR: u64 = 1 << 30;

thread_local! {
    /// The limit in place of the default one, for what this thread works on.
    static ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The default limit for an input of `input_bytes`: the larger of 1 GiB and 16 times the input, unless this thread works
/// [`within`] another one.
pub(crate) fn default_limit(input_bytes: usize) -> u64 {
    ALLOWED.get().unwrap_or_else(|| FLOOR.max((input_bytes as u64).saturating_mul(16)))
}

/// What `work` gives with this limit in place of the default one, or with the default one.
pub(crate) fn within<T>(limit: Option<u64>, work: impl FnOnce() -> T) -> T {
    let _before = Before(ALLOWED.replace(limit));
    work()
}

/// The limit that holds again when this goes.
struct Before(Option<u64>);

impl Drop for Before {
    fn drop(&mut self) {
        ALLOWED.set(self.0);
    }
}

/// Refuses `count` items of `T` above `limit` bytes.
pub(crate) fn guard<T>(what: &'static str, count: u128, limit: u64, instead: &'static str) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<T>() as u128);
    let addressable = u128::from(limit.min(isize::MAX as u64));
    if bytes <= addressable { Ok(()) } else { Err(Error::TooLarge { what, bytes, limit, instead }) }
}

/// `count` copies of `value`; refuses more than `limit` bytes, and more than the machine gives.
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
