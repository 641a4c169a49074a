//! The supertrait of public traits that other crates cannot implement.

/// A type that implements sealed traits of this crate.
pub trait Sealed {}
