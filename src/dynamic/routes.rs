//! Routes: the types in which operations on dynamically typed operands run.
//!
//! A route is named in the row of a reduction in the table of operations. The same routes serve an operand in memory
//! and an operand that arrives in chunks. Both kinds of operands have two methods: `view` returns the operand with its
//! element type, and `read` converts the elements and runs a reduction.

use super::AnyOperand;
use super::widen::{truth, widened};
use crate::base::error::Result;
use crate::element::Element;
use crate::ops::ErasedOperand;

/// Converts an operand to the type in which a reduction runs.
pub(super) type Widen<T> = for<'x> fn(AnyOperand<'x>) -> Result<ErasedOperand<'x, T>>;

/// Converts an operand to a type in which all its values fit.
pub(super) fn wide<T: Element>(x: AnyOperand<'_>) -> Result<ErasedOperand<'_, T>> {
    widened(x)
}

/// Converts each value of an operand to whether it is nonzero.
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

/// Runs code with the type in which an operation runs on elements of the type `$dtype`. Each listed name adds element
/// types:
///
/// - `Truth`, `Signed`, `Unsigned`, `Float` and `Complex`: a kind, in its widest type;
/// - `OwnFloat`, `OwnComplex`: a kind, in the type itself;
/// - `Sum`: the integers and `bool`, in the type of their sums;
/// - `Product`: all types, in the type of their products; this type is wider only for integers;
/// - `Any`: all types, in the type itself.
///
/// Other element types run the `else` branch.
macro_rules! in_type {
    ([$($word:ident)*] $dtype:expr, $T:ident => $body:expr) => {
        in_type!([$($word)*] $dtype, $T => $body, else => Err($crate::dynamic::no_such($dtype)))
    };
    ([] $dtype:expr, $T:ident => $body:expr, else => $otherwise:expr) => {
        $otherwise
    };
    ([Any] $dtype:expr, $T:ident => $body:expr, else => $otherwise:expr) => {
        $crate::dispatch_dtype!($dtype, $T => $body, else => $otherwise)
    };
    ([Product] $($rest:tt)*) => {
        in_type!([Truth Signed Unsigned OwnFloat OwnComplex] $($rest)*)
    };
    ([Truth $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [Bool => bool] [$($next)*] $($rest)*)
    };
    ([Signed Unsigned $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 => i64, UInt64 => u64] [$($next)*] $($rest)*)
    };
    ([Signed $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [Int8 Int16 Int32 Int64 => i64] [$($next)*] $($rest)*)
    };
    ([Float $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [Float16 BFloat16 Float32 Float64 => f64] [$($next)*] $($rest)*)
    };
    ([Complex $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [Complex64 Complex128 => $crate::dynamic::types::Complex<f64>] [$($next)*] $($rest)*)
    };
    ([OwnFloat $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [
            Float32 => f32, Float64 => f64,
            #[cfg(feature = "half")] Float16 => $crate::dynamic::types::f16,
            #[cfg(feature = "half")] BFloat16 => $crate::dynamic::types::bf16
        ] [$($next)*] $($rest)*)
    };
    ([OwnComplex $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [
            Complex64 => $crate::dynamic::types::Complex<f32>, Complex128 => $crate::dynamic::types::Complex<f64>
        ] [$($next)*] $($rest)*)
    };
    ([Sum $($next:ident)*] $($rest:tt)*) => {
        in_type!(@ [
            Int8 Int16 Int32 Int64 => i64, Bool UInt8 UInt16 UInt32 UInt64 => u64
        ] [$($next)*] $($rest)*)
    };
    (@ [$($(#[$when:meta])? $($Type:ident)* => $type:ty),*] $next:tt
     $dtype:expr, $T:ident => $body:expr, else => $otherwise:expr) => {
        match $dtype {
            $($(#[$when])? $($crate::DType::$Type)|* => {
                type $T = $type;
                $body
            })*
            _ => in_type!($next $dtype, $T => $body, else => $otherwise),
        }
    };
}

/// Runs code on an upstream gradient, converted to the type in which the gradient runs.
macro_rules! on_upstream {
    ($types:tt $upstream:expr, $g:ident => $body:expr) => {{
        let upstream: $crate::dynamic::AnyOperand<'_> = $upstream.into();
        in_type!($types upstream.dtype(), G => {
            let $g = &$crate::dynamic::widen::widened::<G>(upstream)?;
            $body
        }, else => Err($crate::dynamic::widen::no_floats(upstream)))
    }};
}

/// Runs a reduction or its gradient by a route. `$op` names the operation in errors.
///
/// A reduction reads `$from`, which is an operand with the methods `view` and `read`; `$body` reduces `$x`:
///
/// - `truth`: whether elements are nonzero;
/// - `sums`: floats and complex numbers in their own type, integers in the type of their sums;
/// - `floats`: floats in their own type;
/// - `inexact`: floats and complex numbers in their own type;
/// - `medians`: floats in their own type, others in the widest type of a kind;
/// - `order`: in the widest type of a kind, and the result is one of the elements;
/// - `float_order`: floats as `f64`, and the result is one of the elements;
/// - `wide`: in the widest type of a kind, and the result has a type of its own;
/// - `float_wide`: floats as `f64`, and the result has a type of its own.
///
/// For a gradient, `$body` computes the gradient of `$x` from the upstream gradient `$g`:
///
/// - `any_zeros`: on zeros in place of the operand, for upstream gradients of any type;
/// - `real_zeros`: on zeros in place of an operand without complex numbers, for floats;
/// - `values`: in the widest type of a kind, for floats;
/// - `float_values`: floats as `f64`, for floats.
macro_rules! by {
    (truth $from:ident, $op:expr, $x:ident => $body:expr) => {
        $from.view().found($from.read($crate::dynamic::routes::truths, |$x| $body))
    };
    (sums $($rest:tt)*) => {
        by!(@found [OwnFloat OwnComplex Sum] no_order $($rest)*)
    };
    (floats $($rest:tt)*) => {
        by!(@found [OwnFloat] not_floats $($rest)*)
    };
    (inexact $($rest:tt)*) => {
        by!(@found [OwnFloat OwnComplex] not_floats $($rest)*)
    };
    (medians $($rest:tt)*) => {
        by!(@found [OwnFloat Truth Signed Unsigned] no_order $($rest)*)
    };
    (order $($rest:tt)*) => {
        by!(@found_among [Truth Signed Unsigned Float] no_order $($rest)*)
    };
    (float_order $($rest:tt)*) => {
        by!(@found_among [Float] not_floats $($rest)*)
    };
    (wide $($rest:tt)*) => {
        by!(@found [Truth Signed Unsigned Float] no_order $($rest)*)
    };
    (float_wide $($rest:tt)*) => {
        by!(@found [Float] not_floats $($rest)*)
    };
    (any_zeros $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &$crate::dynamic::widen::zeros($view)?;
        on_upstream!([Any] $upstream, $g => $view.found($body))
    }};
    (real_zeros $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &$crate::dynamic::widen::zeros_of_reals($view, $op.name)?;
        on_upstream!([OwnFloat] $upstream, $g => $view.found($body))
    }};
    (values $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {
        in_type!([Truth Signed Unsigned Float] $view.dtype(), T => {
            let $x = &$crate::dynamic::widen::widened::<T>($view)?;
            on_upstream!([OwnFloat] $upstream, $g => $view.found($body))
        }, else => Err($crate::dynamic::widen::no_order($op.name, $view)))
    };
    (float_values $view:ident, $upstream:ident, $op:expr, $x:ident, $g:ident => $body:expr) => {{
        let $x = &$view.floats($op.name)?;
        on_upstream!([OwnFloat] $upstream, $g => $view.found($body))
    }};
    (@$found:ident $types:tt $rejection:ident $from:ident, $op:expr, $x:ident => $body:expr) => {
        in_type!($types $from.view().dtype(), T => {
            $from.view().$found($from.read($crate::dynamic::routes::wide::<T>, |$x| $body))
        }, else => Err($crate::dynamic::widen::$rejection($op.name, $from.view())))
    };
}

pub(super) use {by, in_type, on_upstream};
