//! The gradients. The function `grad::NAME` is the gradient of the function `NAME`.
//!
//! The upstream gradient is the second argument, and the other arguments are those of the function. A gradient of a
//! sparse tensor has the pattern of the tensor and a fill of 0. Its element type is that of the upstream gradient. The
//! page [`gradients`](crate::documents::gradients) states all rules.
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

pub use crate::ops::binary_gradients::*;
pub use crate::ops::grad::*;
pub use crate::ops::{
    any_backward as any, broadcast_to_backward as broadcast_to, concat_backward as concat,
    diagonal_backward as diagonal, einsum_backward as einsum, expand_dims_backward as expand_dims,
    flip_backward as flip, kron_backward as kron, log_softmax_backward as log_softmax, logsumexp_backward as logsumexp,
    matmul_backward as matmul, max_backward as max, mean_backward as mean, median_backward as median,
    min_backward as min, move_axis_backward as move_axis, mttkrp_backward as mttkrp, nanmax_backward as nanmax,
    nanmean_backward as nanmean, nanmedian_backward as nanmedian, nanmin_backward as nanmin,
    nanprod_backward as nanprod, nanquantile_backward as nanquantile, nanstd_backward as nanstd,
    nansum_backward as nansum, nanvar_backward as nanvar, norm_backward as norm, outer_backward as outer,
    pad_backward as pad, prod_backward as prod, quantile_backward as quantile, repeat_backward as repeat,
    roll_backward as roll, slice_backward as slice, softmax_backward as softmax, squeeze_backward as squeeze,
    stack_backward as stack, std_backward as std, sum_backward as sum, take_axis_backward as take_axis,
    take_backward as take, tensordot_backward as tensordot, tile_backward as tile, topk_backward as topk,
    transpose_backward as transpose, tril_backward as tril, triu_backward as triu, ttm_backward as ttm,
    ttv_backward as ttv, var_backward as var, where_backward as where_,
};
