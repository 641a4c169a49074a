//! The operations, one file each with its gradient: check, call a kernel, wrap.
//!
//! Each is a free function and a method, and one trait says what it takes and gives: tensors of both formats, and
//! `ndarray` arrays and views of any layout.

mod any;
mod classify;
mod dense;
mod elementwise;
mod indices;
mod isin;
mod nanmedian;
mod reduce;
mod take;
mod upstream;

pub use any::{AnyOp, any, any_backward};
pub use classify::{
    ClassifyOp, isfinite, isfinite_into, isinf, isinf_into, isnan, isnan_into, isneginf, isneginf_into, isposinf,
    isposinf_into, isreal, isreal_into,
};
pub use elementwise::{Answers, Elementwise};
pub use indices::Indices;
pub use isin::{IsinKind, IsinOp, IsinOptions, TestElements, isin, isin_into, isin_with};
pub use nanmedian::{
    EvenCount, MedianGradient, NanmedianBackwardOptions, NanmedianOp, NanmedianOptions, NanmedianStoredOp, nanmedian,
    nanmedian_backward, nanmedian_backward_with, nanmedian_index, nanmedian_index_with, nanmedian_stored,
    nanmedian_stored_backward, nanmedian_stored_backward_with, nanmedian_stored_index, nanmedian_stored_index_with,
    nanmedian_stored_with, nanmedian_with,
};
pub use take::{TakeMode, TakeOp, take, take_axis, take_axis_backward, take_backward, take_into};
pub use upstream::Upstream;
