//! The gradients of the operations: `grad::NAME` is the gradient of `NAME`.
//!
//! The arguments of a gradient function are the operand, the upstream gradient, and the other arguments of the
//! operation: `grad::sum(&x, &dy, axes)`. If an operation has several operands, the upstream gradient is the last
//! argument: `grad::mul(&x, &y, &dz)`. The first argument of `grad::`[`concat()`] and `grad::`[`stack()`] is the
//! upstream gradient.
//!
//! A gradient with respect to a sparse tensor has the pattern of the tensor and a fill of 0. The element type of the
//! gradient is the element type of the upstream gradient. The page [`gradients`](crate::documents::gradients) states
//! all rules.
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
