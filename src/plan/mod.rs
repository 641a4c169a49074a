//! What an operation does to a pattern, before any value is read: which entries meet, which are chosen, and the pattern
//! of the result.
//!
//! A plan knows patterns and shapes, and of values only the bits that it moves, so it is compiled once.

pub(crate) mod beside;
pub(crate) mod group;
pub(crate) mod join;
pub(crate) mod moves;
pub(crate) mod overlap;
pub(crate) mod product;
pub(crate) mod product_rows;
pub(crate) mod reduction;
pub(crate) mod row_major;
pub(crate) mod selected;
pub(crate) mod take;
pub(crate) mod united;
