//! How much of what takes long is asked.

/// One of so many where two element types stand for all, as `cargo test` has it by itself, and else each.
pub(crate) const fn one_of(count: usize) -> usize {
    if matches!(env!("LACUNA_TESTS").as_bytes(), b"two") { count } else { 1 }
}
