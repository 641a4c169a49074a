//! The bridge between the library, the reference and the generators.

// Every test includes this folder, and none uses all of it.
#![allow(dead_code, unreachable_pub, unused_imports)]

mod compare;
mod exports;
#[macro_use]
mod folds;
#[macro_use]
mod properties;
mod share;
#[macro_use]
mod reduced;

pub use compare::*;
pub(crate) use exports::*;
pub use properties::*;
pub use reduced::*;
pub use share::*;
