//! The supertrait of public traits that other crates cannot implement.

/// A type for which this crate implements its sealed traits: a type of this crate or of another crate.
pub trait Sealed {}
