//! The gradients. The function `grad::NAME` is the gradient of the function `NAME`.
//!
//! The upstream gradient follows the operand, and the arguments of the function follow the upstream gradient:
//! `grad::sum(&x, &dy, axes)`. If a function has several operands, the upstream gradient is the last argument:
//! `grad::mul(&x, &y, &dz)`. The first argument of [`concat()`] and [`stack()`] is the upstream gradient.
//!
//! A gradient of a sparse tensor has the pattern of the tensor and a fill of 0. Its element type is the element type of
//! the upstream gradient. The page [`gradients`](crate::documents::gradients) states all rules.
//!
//! ```
//! use lacuna::{CooTensor, any, grad};
//! use ndarray::arr1;
//!
//! let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 0.0], 0.0)?;
//! assert_eq!(any(&x, 1)?.values(), [true, false]);
//! let dx = grad::any(&x, &arr1(&[0.5, 2.0]), 1)?;
//! assert_eq!(dx.values(), [0.5, 2.0]);
//! # Ok::<(), lacuna::Error>(())
//! ```

pub use crate::ops::grad::*;
