//! The operations, by families: check, plan, call a kernel, wrap.
//!
//! Each is a small descriptor, a page, and a free function over every [`Operand`]; one list gives the methods.

mod map;
mod methods;
mod operand;
mod reduce;
mod select;

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
pub use reduce::{
    EvenCount, MedianGradient, Nanmedian, any, any_backward, count_nonzero, nanmedian, nanmedian_backward,
    nanmedian_index,
};
pub use select::{Take, TakeMode, take, take_axis, take_axis_backward, take_backward, take_into};
