//! The mark of public traits that other crates cannot implement.

/// A type for which this crate implements its own traits: its own, or a foreign type.
pub trait Sealed {}
