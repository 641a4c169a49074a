//! Algorithms on slices, independent of tensors, shapes and error types.
//!
//! The traits of the operation families are in `fold`, `holistic`, `map`, `semiring` and `zip`. Sorting of entries is
//! in `packing` (keys), `radix` (buckets) and `sort` (row-major order). Products are named by their operands:
//! `sparse_sparse`, `sparse_dense` and `dense_sparse`.

pub(crate) mod any;
pub(crate) mod bits;
pub(crate) mod coords;
pub(crate) mod covariance;
pub(crate) mod dense_sparse;
pub(crate) mod dots;
pub(crate) mod extreme;
pub(crate) mod fold;
pub(crate) mod gather;
pub(crate) mod group;
pub(crate) mod hash;
pub(crate) mod holistic;
pub(crate) mod isin;
pub(crate) mod join;
pub(crate) mod kept_axes;
pub(crate) mod key_filter;
pub(crate) mod key_set;
pub(crate) mod lanes;
pub(crate) mod lookup;
pub(crate) mod map;
pub(crate) mod matrix;
pub(crate) mod median;
pub(crate) mod merge;
pub(crate) mod nonfinite;
pub(crate) mod op;
pub(crate) mod order_key;
pub(crate) mod ordered;
pub(crate) mod output_bitmap;
pub(crate) mod packing;
pub(crate) mod pairs;
pub(crate) mod panels;
pub(crate) mod partial;
pub(crate) mod passes;
pub(crate) mod prod;
pub(crate) mod product_backward;
pub(crate) mod radix;
pub(crate) mod random;
pub(crate) mod rank;
pub(crate) mod ranked;
pub(crate) mod row_products;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod scatter_fold;
pub(crate) mod scatter_slices;
pub(crate) mod select;
pub(crate) mod semiring;
pub(crate) mod short_lanes;
pub(crate) mod softmax;
pub(crate) mod sort;
pub(crate) mod sort_values;
pub(crate) mod sparse_dense;
pub(crate) mod sparse_sparse;
pub(crate) mod spread;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod take;
pub(crate) mod take_dense;
pub(crate) mod transpose;
pub(crate) mod zip;
