//! Plans: the effect of an operation on patterns, computed before values are read.
//!
//! A plan contains the pairs of entries at equal positions, or the selected entries, and the pattern of the result.
//!
//! Plans depend on patterns and shapes. Values are only moved as bits, so plans are compiled once for all element
//! types.

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
