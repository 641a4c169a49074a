//! The operations, by families. Each operation checks its arguments, plans, calls a kernel and wraps the result.
//!
//! An operation is a small descriptor, a page, and a free function over every [`Operand`]; one list defines the
//! methods.

mod map;
mod methods;
mod operand;
mod product;
mod reduce;
mod select;
pub(crate) mod table;
mod zip;

#[cfg(feature = "dynamic")]
pub(crate) use self::zip::chosen;
#[cfg(feature = "dynamic")]
pub(crate) use self::zip::where_run_time;
pub use self::zip::{Choice, Factors, Partner, Tolerance, allclose, scale, where_, where_backward, zip_with};
pub use self::zip::{
    add_backward, div_backward, maximum_backward, minimum_backward, mul_backward, pow_backward, sub_backward,
};
#[cfg(any(feature = "dynamic", feature = "lazy"))]
pub(crate) use self::zip::{backward, descriptors};
pub(crate) use self::zip::{grad as binary_gradients, scale_nonzero};
pub use map::{
    Answers, Isin, IsinKind, isfinite, isfinite_into, isin, isin_into, isinf, isinf_into, isnan, isnan_into, isneginf,
    isneginf_into, isposinf, isposinf_into, isreal, isreal_into,
};
pub use map::{
    abs, abs_backward, acos, acos_backward, asin, asin_backward, atan, atan_backward, cbrt, cbrt_backward, ceil, clamp,
    clamp_backward, conj, cos, cos_backward, cosh, cosh_backward, exp, exp_backward, exp_m1, exp_m1_backward, floor,
    imag, ln, ln_1p, ln_1p_backward, ln_backward, log2, log2_backward, log10, log10_backward, neg, neg_backward, not,
    powf, powf_backward, powi, powi_backward, real, recip, recip_backward, round, sign, sin, sin_backward, sinh,
    sinh_backward, sqrt, sqrt_backward, square, square_backward, tan, tan_backward, tanh, tanh_backward, trunc,
};
pub use methods::Operations;
pub use operand::Operand;
#[cfg(feature = "dynamic")]
pub(crate) use operand::{DenseView, RunTimeOperand, RunTimeResult, SparseView};
#[cfg(feature = "dynamic")]
pub(crate) use product::matmul_with_entries;
pub use product::{
    Einsum, einsum, einsum_backward, kron, kron_backward, log_softmax, log_softmax_backward, mttkrp, mttkrp_backward,
    outer, outer_backward, softmax, softmax_backward, tensordot, tensordot_backward, ttm, ttm_backward, ttv,
    ttv_backward,
};
pub use product::{Matmul, Semiring, matmul, matmul_backward, matmul_with};
pub(crate) use product::{Pairs, SEMIRINGS, check_factors, dots_at, dots_at_backward, tensordot_shape, ways};
#[cfg(feature = "lazy")]
pub(crate) use reduce::accumulators;
pub(crate) use reduce::fed::{Fed, States};
pub use reduce::{
    EvenCount, MedianGradient, Nanmedian, Var, all, any, any_backward, argmax, argmin, count_nonzero, max,
    max_backward, mean, mean_backward, min, min_backward, nanargmax, nanargmin, nanmax, nanmax_backward, nanmean,
    nanmean_backward, nanmedian, nanmedian_backward, nanmedian_index, nanmin, nanmin_backward, nanstd, nanstd_backward,
    nansum, nansum_backward, nanvar, nanvar_backward, std, std_backward, sum, sum_backward, var, var_backward,
};
pub use reduce::{GroupBy, GroupLabels, argsort, group_by, topk, topk_backward, topk_index, unique};
pub use reduce::{
    Norm, NormOrder, Quantile, QuantileMethod, logsumexp, logsumexp_backward, median, median_backward, nanprod,
    nanprod_backward, nanquantile, nanquantile_backward, norm, norm_backward, prod, prod_backward, quantile,
    quantile_backward,
};
pub(crate) use select::{
    Request, Select, diagonal_of, diagonal_pattern, diagonal_side, joined_shape, moved, planned_select, slice_of,
    stacked_shape,
};
pub use select::{
    Take, TakeMode, block, broadcast_to, broadcast_to_backward, concat, concat_backward, diagonal, diagonal_backward,
    expand_dims, expand_dims_backward, flip, flip_backward, move_axis, move_axis_backward, pad, pad_backward, repeat,
    repeat_backward, roll, roll_backward, slice, slice_backward, squeeze, squeeze_backward, stack, stack_backward,
    take, take_axis, take_axis_backward, take_backward, take_into, tile, tile_backward, transpose, transpose_backward,
    tril, tril_backward, triu, triu_backward,
};
pub(crate) use table::folds::result_of;
pub use table::{CommandKind, CommandSpec};
pub(crate) use table::{Gradient, Lengths, OpSpec, Parameter, ParameterKind, Second, Split, Stream, op};

/// The gradients of families, by the names of their functions.
pub(crate) mod grad {
    pub use super::map::grad::*;
}

/// Exports the elementwise functions of two operands.
macro_rules! functions {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        pub use self::zip::{$($name),*};

        /// The elementwise functions of two operands.
        pub(crate) mod binary {
            pub use super::{$($name),*};
        }
    };
}

crate::__binary! { functions }
