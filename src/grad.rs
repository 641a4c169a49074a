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

pub use crate::ops::{
    abs_backward as abs, acos_backward as acos, add_backward as add, any_backward as any, asin_backward as asin,
    atan_backward as atan, broadcast_to_backward as broadcast_to, cbrt_backward as cbrt, clamp_backward as clamp,
    concat_backward as concat, cos_backward as cos, cosh_backward as cosh, diagonal_backward as diagonal,
    div_backward as div, einsum_backward as einsum, exp_backward as exp, exp_m1_backward as exp_m1,
    expand_dims_backward as expand_dims, flip_backward as flip, kron_backward as kron, ln_1p_backward as ln_1p,
    ln_backward as ln, log_softmax_backward as log_softmax, log2_backward as log2, log10_backward as log10,
    logsumexp_backward as logsumexp, matmul_backward as matmul, max_backward as max, maximum_backward as maximum,
    mean_backward as mean, median_backward as median, min_backward as min, minimum_backward as minimum,
    move_axis_backward as move_axis, mttkrp_backward as mttkrp, mul_backward as mul, nanmax_backward as nanmax,
    nanmean_backward as nanmean, nanmedian_backward as nanmedian, nanmin_backward as nanmin,
    nanprod_backward as nanprod, nanquantile_backward as nanquantile, nanstd_backward as nanstd,
    nansum_backward as nansum, nanvar_backward as nanvar, neg_backward as neg, norm_backward as norm,
    outer_backward as outer, pad_backward as pad, pow_backward as pow, powf_backward as powf, powi_backward as powi,
    prod_backward as prod, quantile_backward as quantile, recip_backward as recip, repeat_backward as repeat,
    roll_backward as roll, sin_backward as sin, sinh_backward as sinh, slice_backward as slice,
    softmax_backward as softmax, sqrt_backward as sqrt, square_backward as square, squeeze_backward as squeeze,
    stack_backward as stack, std_backward as std, sub_backward as sub, sum_backward as sum,
    take_axis_backward as take_axis, take_backward as take, tan_backward as tan, tanh_backward as tanh,
    tensordot_backward as tensordot, tile_backward as tile, topk_backward as topk, transpose_backward as transpose,
    tril_backward as tril, triu_backward as triu, ttm_backward as ttm, ttv_backward as ttv, var_backward as var,
    where_backward as where_,
};
