//! The fraction of slow cases that are tested.

/// Returns `count` if only two element types are tested, as in a plain `cargo test`; otherwise 1. One case in that
/// number is tested.
pub(crate) const fn one_of(count: usize) -> usize {
    if matches!(env!("LACUNA_TESTS").as_bytes(), b"two") { count } else { 1 }
}
