//! The mark of public traits that other crates cannot implement.

/// A type of this crate, or a foreign type for which this crate implements its own traits.
pub trait Sealed {}
