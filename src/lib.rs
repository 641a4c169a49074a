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
pub use coo::CooTensor;
pub use csr::CsrTensor;
pub use element::{DType, Element, Float, Number, Real};
pub use error::{Error, Result};
pub use index::{Index, Position};
pub use ops::{AnyOp, Upstream, any, any_backward};
pub use ops::{
    EvenCount, MedianGradient, NanmedianBackwardOptions, NanmedianOp, NanmedianOptions, NanmedianStoredOp, nanmedian,
    nanmedian_backward, nanmedian_backward_with, nanmedian_index, nanmedian_index_with, nanmedian_stored,
    nanmedian_stored_backward, nanmedian_stored_backward_with, nanmedian_stored_index, nanmedian_stored_index_with,
    nanmedian_stored_with, nanmedian_with,
};
pub use pattern::{CooPattern, CsrPattern, Pattern};
pub use shape::Shape;
pub use tensor::Tensor;
pub use triplets::{Duplicates, Triplets};

/// The traits that give `ndarray` arrays the methods that tensors have: `use lacuna::prelude::*;`.
///
/// None of them collides with a method of iterators:
///
/// ```
/// use lacuna::prelude::*;
/// use ndarray::arr2;
///
/// let dense = arr2(&[[0, 2], [0, 0]]);
/// assert_eq!(dense.any(1)?, ndarray::arr1(&[true, false]).into_dyn());
/// assert!(dense.iter().any(|&element| element == 2));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub mod prelude {
    pub use crate::ops::AnyOp;
    pub use crate::ops::{NanmedianOp, NanmedianStoredOp};
}
