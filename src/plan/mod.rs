//! What an operation does to a pattern, before any value is read: which entries meet, which are chosen, and the pattern
//! of the result.
//!
//! A plan knows patterns and shapes, never an element type, so it is compiled once for each index type.

pub(crate) mod beside;
pub(crate) mod group;
pub(crate) mod join;
pub(crate) mod moves;
pub(crate) mod overlap;
pub(crate) mod product;
pub(crate) mod product_rows;
pub(crate) mod reduction;
pub(crate) mod selected;
pub(crate) mod take;
pub(crate) mod united;
