//! Slices in, slices out: the algorithms, which know no tensor, no shape and no error.

pub(crate) mod group;
pub(crate) mod sort;
