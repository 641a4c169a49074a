//! Slices in, slices out: the algorithms, which know no tensor, no shape and no error.

pub(crate) mod any;
pub(crate) mod bits;
pub(crate) mod cells;
pub(crate) mod fold;
pub(crate) mod group;
pub(crate) mod holistic;
pub(crate) mod isin;
pub(crate) mod join;
pub(crate) mod key_set;
pub(crate) mod lanes;
pub(crate) mod lookup;
pub(crate) mod map;
pub(crate) mod median;
pub(crate) mod merge;
pub(crate) mod op;
pub(crate) mod packing;
pub(crate) mod radix;
pub(crate) mod runs;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod spread;
pub(crate) mod take;
pub(crate) mod take_dense;
pub(crate) mod zip;
