//! The reference: every operation again, dense, slow and obvious.
//!
//! Nothing here knows the library. Each function is the plainest reading of a definition: full
//! sorts, nested loops, one cell after another. Results are final: they are meant to be compared
//! bit for bit (see [`dense::first_difference`]), with these rules for NaN and zero:
//!
//! - what only *moves* a value (`take`, the gradient of `any`, a lone entry that is coalesced, a
//!   lone contribution to a scattered sum) keeps its bits, NaN payload included; a gradient keeps no sign of zero;
//! - what *computes* a value gives the canonical NaN where it gives NaN;
//! - a median that is zero is `+0.0`.
//!
//! Wrong use (a shape that does not fit, an axis out of range) panics: only the errors that the
//! library promises for bad *values* are returned as values.

// Every test includes this folder, and none uses all of it.
#![allow(dead_code, unreachable_pub)]

pub mod complex;
pub mod dense;
pub mod exact;
pub mod gradients;
pub mod moves;
pub mod ops;
pub mod product;
pub mod reductions;
pub mod scalar;
pub mod softmax;
pub mod structure;
pub mod terms;
pub mod unary;
pub mod weighted;
pub mod zip;
