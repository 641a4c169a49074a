//! Routes: the types in which reductions of dynamically typed operands run.
//!
//! A route is a word in the row of a reduction. The same routes serve an operand in memory and an operand that arrives
//! in chunks. Both have the methods `view`, which returns the operand with its element type, and `read`, which converts
//! the elements and runs a reduction.

use super::AnyOperand;
use super::widen::{truth, widened};
use crate::base::error::Result;
use crate::element::Element;
use crate::ops::ErasedOperand;

/// Converts an operand to the type in which a reduction runs.
pub(super) type Widen<T> = for<'x> fn(AnyOperand<'x>) -> Result<ErasedOperand<'x, T>>;

/// Converts an operand to a type that holds all its values.
pub(super) fn wide<T: Element>(x: AnyOperand<'_>) -> Result<ErasedOperand<'_, T>> {
    widened(x)
}

/// Converts an operand to whether each value is nonzero.
pub(super) fn truths(x: AnyOperand<'_>) -> Result<ErasedOperand<'_, bool>> {
    truth(x)
}

impl<'a> AnyOperand<'a> {
    #[inline]
    pub(super) fn view(&self) -> AnyOperand<'a> {
        *self
    }

    /// Runs a reduction on the converted operand.
    #[inline]
    pub(super) fn read<T: Element, R>(
        &self,
        widen: Widen<T>,
        run: impl FnOnce(&ErasedOperand<'a, T>) -> Result<R>,
    ) -> Result<R> {
        run(&widen(*self)?)
    }
}

/// Runs a reduction by a route. `$from` is an operand with the methods `view` and `read`, `$op` names the operation in
/// errors, and `$body` reduces `$x`.
///
/// - `truth`: whether elements are nonzero;
/// - `sums`: floats and complex numbers in their own type, integers in the type of their sums;
/// - `floats`: floats in their own type;
/// - `medians`: floats in their own type, others in the widest type of a kind;
/// - `order`: in the widest type of a kind, and the result is one of the elements;
/// - `float_order`: floats as `f64`, and the result is one of the elements;
/// - `wide`: in the widest type of a kind, and the result has a type of its own;
/// - `float_wide`: floats as `f64`, and the result has a type of its own.
macro_rules! by {
    (truth $from:ident, $op:expr, $x:ident => $body:expr) => {
        $from.view().found($from.read($crate::dynamic::routes::truths, |$x| $body))
    };
    (sums $from:ident, $op:expr, $x:ident => $body:expr) => {
        by!(@own $from, $x => $body, match $from.view().dtype() {
            DType::Complex64 => by!(@in $crate::dynamic::types::Complex<f32>, $from, $x => $body),
            DType::Complex128 => by!(@in $crate::dynamic::types::Complex<f64>, $from, $x => $body),
            DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => by!(@in i64, $from, $x => $body),
            _ => by!(@in u64, $from, $x => $body),
        })
    };
    (floats $from:ident, $op:expr, $x:ident => $body:expr) => {
        by!(@own $from, $x => $body, Err(by!(@no_floats $from, $op)))
    };
    (medians $from:ident, $op:expr, $x:ident => $body:expr) => {
        by!(@own $from, $x => $body, match $from.view().dtype() {
            DType::Bool => by!(@in bool, $from, $x => $body),
            DType::UInt64 => by!(@in u64, $from, $x => $body),
            DType::Complex64 | DType::Complex128 => Err(no_order($op.name, $from.view())),
            _ => by!(@in i64, $from, $x => $body),
        })
    };
    (order $from:ident, $op:expr, $x:ident => $body:expr) => {
        match $from.view().dtype() {
            DType::Bool => by!(@in bool, $from, $x => $body),
            DType::UInt64 => by!(@in u64, $from, $x => $body),
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => {
                $from.view().found_floats($from.read($crate::dynamic::routes::wide::<f64>, |$x| $body))
            }
            DType::Complex64 | DType::Complex128 => Err(no_order($op.name, $from.view())),
            _ => $from.view().found_among($from.read($crate::dynamic::routes::wide::<i64>, |$x| $body)),
        }
    };
    (float_order $from:ident, $op:expr, $x:ident => $body:expr) => {
        match $from.view().dtype() {
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => {
                $from.view().found_floats($from.read($crate::dynamic::routes::wide::<f64>, |$x| $body))
            }
            _ => Err(by!(@no_floats $from, $op)),
        }
    };
    (wide $from:ident, $op:expr, $x:ident => $body:expr) => {
        match $from.view().dtype() {
            DType::Bool => by!(@in bool, $from, $x => $body),
            DType::UInt64 => by!(@in u64, $from, $x => $body),
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => by!(@in f64, $from, $x => $body),
            DType::Complex64 | DType::Complex128 => Err(no_order($op.name, $from.view())),
            _ => by!(@in i64, $from, $x => $body),
        }
    };
    (float_wide $from:ident, $op:expr, $x:ident => $body:expr) => {
        match $from.view().dtype() {
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => by!(@in f64, $from, $x => $body),
            _ => Err(by!(@no_floats $from, $op)),
        }
    };
    // Floats in their own type, and another route for other elements.
    (@own $from:ident, $x:ident => $body:expr, $otherwise:expr) => {
        match $from.view().dtype() {
            DType::Float32 => by!(@in f32, $from, $x => $body),
            DType::Float64 => by!(@in f64, $from, $x => $body),
            #[cfg(feature = "half")]
            DType::Float16 => by!(@in $crate::dynamic::types::f16, $from, $x => $body),
            #[cfg(feature = "half")]
            DType::BFloat16 => by!(@in $crate::dynamic::types::bf16, $from, $x => $body),
            _ => $otherwise,
        }
    };
    (@in $T:ty, $from:ident, $x:ident => $body:expr) => {
        $from.view().found($from.read($crate::dynamic::routes::wide::<$T>, |$x| $body))
    };
    (@no_floats $from:ident, $op:expr) => {
        $crate::dynamic::widen::not_for($op.name, $from.view(), $crate::dynamic::reduce::FLOATS)
    };
}

/// Runs the gradient of a reduction by a route. `$body` computes the gradient of `$x` from the upstream gradient `$g`.
///
/// - `any_zeros`: on zeros in place of the operand, for upstream gradients of any type;
/// - `real_zeros`: on zeros in place of an operand without complex numbers, for floats;
/// - `values`: in the widest type of a kind, for floats;
/// - `float_values`: floats as `f64`, for floats.
macro_rules! back {
    (any_zeros $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &zeros($view)?;
        on_upstream!($upstream, $g => $view.found($body))
    }};
    (real_zeros $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &zeros_of_reals($view, $op.name)?;
        on_floats!($upstream, $g => $view.found($body))
    }};
    (values $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let wide = Wide::of($view)?;
        if matches!(wide, Wide::Complex(_)) {
            return Err(no_order($op.name, $view));
        }
        on_floats!($upstream, $g => on_wide!(&wide, $x => $view.found($body), _ => Err(no_order($op.name, $view))))
    }};
    (float_values $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &$view.floats($op.name)?;
        on_floats!($upstream, $g => $view.found($body))
    }};
}

pub(super) use {back, by};
