//! From one form of a tensor to another: between the formats, to and from dense arrays and other crates' matrices,
//! and to another order or grouping of the axes.

mod batched;
mod coo_csr;
mod dense;
pub(crate) use dense::{check_ndarray_shape, dense_array};
mod layout;

#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sprs")]
mod sprs;
