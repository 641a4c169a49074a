//! The operations, by families: check, plan, call a kernel, wrap.
//!
//! Each is a small descriptor, a page, and a free function over every [`Operand`]; one list gives the methods.

mod map;
mod methods;
mod operand;
mod reduce;
mod select;
mod zip;

pub use self::zip::{
    Choice, Partner, add, add_backward, bit_and, bit_or, bit_xor, div, div_backward, equal, greater, greater_equal,
    less, less_equal, maximum, minimum, mul, mul_backward, not_equal, rem, rem_euclid, scale, sub, sub_backward,
    where_, zip_with,
};
pub use map::{
    Answers, Isin, IsinKind, isfinite, isfinite_into, isin, isin_into, isinf, isinf_into, isnan, isnan_into, isneginf,
    isneginf_into, isposinf, isposinf_into, isreal, isreal_into,
};
pub use methods::Operations;
pub use operand::Operand;
pub use reduce::{
    EvenCount, MedianGradient, Nanmedian, any, any_backward, count_nonzero, nanmedian, nanmedian_backward,
    nanmedian_index,
};
pub use select::{Take, TakeMode, take, take_axis, take_axis_backward, take_backward, take_into};
