//! Conversions between the formats, to and from dense arrays and matrices of other crates, and between axis orders and
//! shapes.

mod batched;
mod coo_csr;
mod dense;
mod foreign;
mod layout;
pub(crate) use dense::{
    check_ndarray_shape, check_result, copied, dense_array, dense_bytes, elements_of, once_on_each,
};
pub(crate) use layout::permutation;

#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sprs")]
mod sprs;

pub use batched::{PaddleCsr, TorchCsr};
