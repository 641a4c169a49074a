//! Plans: the effect of an operation on patterns, computed before values are read.
//!
//! A plan contains the entries that meet or are selected, and the pattern of the result.
//!
//! Plans depend on patterns and shapes; values are only moved as bits. Plans are therefore compiled once.

pub(crate) mod broadcast_match;
pub(crate) mod broadcast_union;
pub(crate) mod group;
pub(crate) mod join;
pub(crate) mod moves;
pub(crate) mod overlap;
pub(crate) mod product;
pub(crate) mod product_rows;
pub(crate) mod reduction;
pub(crate) mod row_major;
pub(crate) mod selection;
pub(crate) mod take;
