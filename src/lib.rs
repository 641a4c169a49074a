//! Sparse tensors.

mod axes;
mod convert;
mod coo;
mod csr;
mod element;
mod error;
mod format;
mod index;
#[cfg(feature = "io")]
pub mod io;
mod kernels;
mod limit;
mod ops;
mod parallel;
mod pattern;
mod shape;
mod tensor;
mod triplets;

pub use axes::Axes;
pub use convert::{PaddleCsr, TorchCsr};
pub use coo::CooTensor;
pub use csr::CsrTensor;
pub use element::{DType, Element, Float, Number, Real};
pub use error::{Error, Result};
pub use index::{Index, Position};
pub use pattern::{CooPattern, CsrPattern, Pattern};
pub use shape::Shape;
pub use tensor::Tensor;
pub use triplets::{Duplicates, Triplets};
