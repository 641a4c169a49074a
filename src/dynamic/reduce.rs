//! Reductions of dynamically typed tensors, and their gradients.
//!
//! Predicates on truth run on `bool`. Reductions that only need an order run in the widest type of a kind. Sums and
//! medians of floats run in the type of the floats, because their rounding depends on the type. Gradients that read no
//! values run on zeros.
//!
//! All functions are generic or `inline`. A program that does not use them compiles none of them.

use ndarray::ArrayD;

use super::types::Complex;
use super::view::on_operands;
use super::widen::{Beyond, Wide, narrowed, no_order, not_for, on_wide, rounded, truth, widened, zeros};
use super::{AnyArray, AnyOperand, AnyTensor, AnyValue};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{DType, Element};
use crate::ops::{self, Nanmedian, Norm, Quantile, RunTimeOperand, RunTimeResult, Var};

/// Runs a reduction of floats in their own type, and other code for other elements.
macro_rules! by_own_floats {
    ($view:expr, $seen:ident => $body:expr, $otherwise:expr) => {{
        let view = $view;
        /// Runs the reduction on elements of one type.
        macro_rules! on {
            ($own:ty) => {{
                let $seen = &widened::<$own>(view)?;
                view.found($body)
            }};
        }
        match view.dtype() {
            DType::Float32 => on!(f32),
            DType::Float64 => on!(f64),
            #[cfg(feature = "half")]
            DType::Float16 => on!(super::types::f16),
            #[cfg(feature = "half")]
            DType::BFloat16 => on!(super::types::bf16),
            _ => $otherwise,
        }
    }};
}

/// Runs a reduction that rounds to the type of the floats. Floats and complex numbers run in their own type, integers
/// in the type of their sums.
macro_rules! by_sums {
    ($view:expr, $seen:ident => $body:expr) => {{
        let view = $view;
        by_own_floats!(view, $seen => $body, match view.dtype() {
            DType::Complex64 => {
                let $seen = &widened::<Complex<f32>>(view)?;
                view.found($body)
            }
            DType::Complex128 => {
                let $seen = &widened::<Complex<f64>>(view)?;
                view.found($body)
            }
            _ => match &Wide::of_sums(view)? {
                Wide::Signed($seen) => view.found($body),
                Wide::Unsigned($seen) => view.found($body),
                _ => Err(no_order("a sum", view)),
            },
        })
    }};
}

/// Runs a reduction of floats in their own type.
macro_rules! by_floats {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        by_own_floats!(view, $seen => $body, Err(not_for($name, view, FLOATS)))
    }};
}

/// The reason in the error for elements that are not floats.
pub(super) const FLOATS: &str = "it is an operation on floats, which others are cast to beforehand";

/// Runs a reduction whose result is one of the elements, in the widest type of a kind.
macro_rules! by_order {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        match &Wide::of(view)? {
            Wide::Truth($seen) => view.found($body),
            Wide::Signed($seen) => view.found_among($body),
            Wide::Unsigned($seen) => view.found($body),
            Wide::Float($seen) => view.found_floats($body),
            Wide::Complex(_) => Err(no_order($name, view)),
        }
    }};
}

/// Runs code in the widest type of a kind, for all elements except complex numbers.
macro_rules! by_wide {
    ($view:expr, $name:expr, $seen:ident => $body:expr) => {{
        let view = $view;
        on_wide!(&Wide::of(view)?, $seen => $body, _ => Err(no_order($name, view)))
    }};
}

/// Runs a reduction that returns medians. Floats have medians in their own type, other elements have medians of `f64`.
macro_rules! by_medians {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        match view.dtype() {
            DType::Float32 => {
                let $seen = &widened::<f32>(view)?;
                view.found($body)
            }
            #[cfg(feature = "half")]
            DType::Float16 => {
                let $seen = &widened::<super::types::f16>(view)?;
                view.found($body)
            }
            #[cfg(feature = "half")]
            DType::BFloat16 => {
                let $seen = &widened::<super::types::bf16>(view)?;
                view.found($body)
            }
            _ => by_wide!(view, $name, $seen => view.found($body)),
        }
    }};
}

/// Runs a reduction of floats whose result is one of the elements, in `f64`.
macro_rules! by_float_order {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        let $seen = &view.floats($name)?;
        view.found_floats($body)
    }};
}

impl<'a> AnyOperand<'a> {
    /// Returns integers that are elements of the operand, or the smallest or largest integer of its type.
    #[inline]
    pub(super) fn found_among(self, result: Result<impl Into<RunTimeResult<i64>>>) -> Result<AnyValue> {
        self.found_integers(result, Beyond::Saturates)
    }

    /// Returns integers in the type of the operand.
    #[inline]
    pub(super) fn found_integers(
        self,
        result: Result<impl Into<RunTimeResult<i64>>>,
        beyond: Beyond,
    ) -> Result<AnyValue> {
        let x = result?.into();
        match self.dtype() {
            DType::Int8 => self.found(narrowed::<i8>(&x, beyond)),
            DType::Int16 => self.found(narrowed::<i16>(&x, beyond)),
            DType::Int32 => self.found(narrowed::<i32>(&x, beyond)),
            DType::UInt8 => self.found(narrowed::<u8>(&x, beyond)),
            DType::UInt16 => self.found(narrowed::<u16>(&x, beyond)),
            DType::UInt32 => self.found(narrowed::<u32>(&x, beyond)),
            _ => self.found(Ok(x)),
        }
    }

    /// Returns floats in the type of the operand.
    #[inline]
    pub(super) fn found_floats(self, result: Result<impl Into<RunTimeResult<f64>>>) -> Result<AnyValue> {
        self.found_floats_as(result, self.dtype())
    }

    /// Returns floats in the type `dtype`.
    #[inline]
    pub(super) fn found_floats_as(
        self,
        result: Result<impl Into<RunTimeResult<f64>>>,
        dtype: DType,
    ) -> Result<AnyValue> {
        let x = result?.into();
        match dtype {
            DType::Float32 => self.found(rounded::<f32>(x, |nan| nan as f32)),
            #[cfg(feature = "half")]
            DType::Float16 => self.found(rounded(x, |nan| super::types::f16::from_f32(nan as f32))),
            #[cfg(feature = "half")]
            DType::BFloat16 => self.found(rounded(x, |nan| super::types::bf16::from_f32(nan as f32))),
            _ => self.found(Ok(x)),
        }
    }

    /// Returns the operand as `f64`, if its elements are floats.
    #[inline]
    pub(super) fn floats(self, operation: &'static str) -> Result<RunTimeOperand<'a, f64>> {
        match self.dtype() {
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => widened(self),
            _ => Err(not_for(operation, self, FLOATS)),
        }
    }
}

/// Runs code on an upstream gradient of each type.
macro_rules! on_upstream {
    ($upstream:expr, $g:ident => $body:expr) => {{
        let upstream: $crate::dynamic::AnyOperand<'_> = $upstream.into();
        $crate::dispatch_dtype!(upstream.dtype(), G => {
            let $g = &$crate::dynamic::widen::widened::<G>(upstream)?;
            $body
        }, else => Err($crate::dynamic::no_such(upstream.dtype())))
    }};
}

/// Runs code on an upstream gradient of floats.
macro_rules! on_floats {
    ($upstream:expr, $g:ident => $body:expr) => {{
        let upstream: $crate::dynamic::AnyOperand<'_> = $upstream.into();
        /// Runs the code on gradients of one type.
        macro_rules! on_gradient {
            ($own:ty) => {{
                let $g = &$crate::dynamic::widen::widened::<$own>(upstream)?;
                $body
            }};
        }
        match upstream.dtype() {
            DType::Float32 => on_gradient!(f32),
            DType::Float64 => on_gradient!(f64),
            #[cfg(feature = "half")]
            DType::Float16 => on_gradient!($crate::dynamic::types::f16),
            #[cfg(feature = "half")]
            DType::BFloat16 => on_gradient!($crate::dynamic::types::bf16),
            _ => Err($crate::dynamic::reduce::no_floats(upstream)),
        }
    }};
}

pub(super) use {on_floats, on_upstream};

/// Defines the methods of reductions.
macro_rules! reductions {
    ($($name:ident($options:ident) = |$view:ident, $given:ident| $body:expr;)*) => {
        on_operands! {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()), and where the element type does not have it.")]
            pub fn $name(&self, options: impl Into<$options>) -> Result<AnyTensor> {
                ReductionsByType::$name(self, &options.into())
            }
        )*}

        /// The reductions. Each is compiled once, and not per type of the given options.
        struct ReductionsByType;

        impl ReductionsByType {$(
            #[inline]
            fn $name($view: AnyOperand<'_>, $given: &$options) -> Result<AnyValue> {
                $body
            }
        )*}
    };
}

reductions! {
    any(Axes) = |view, axes| view.found(ops::any(&truth(view)?, axes));
    all(Axes) = |view, axes| view.found(ops::all(&truth(view)?, axes));
    count_nonzero(Axes) = |view, axes| view.found(ops::count_nonzero(&truth(view)?, axes));
    sum(Axes) = |view, axes| by_sums!(view, x => ops::sum(x, axes));
    mean(Axes) = |view, axes| by_sums!(view, x => ops::mean(x, axes));
    nansum(Axes) = |view, axes| by_floats!(view, "nansum", x => ops::nansum(x, axes));
    nanmean(Axes) = |view, axes| by_floats!(view, "nanmean", x => ops::nanmean(x, axes));
    prod(Axes) = |view, axes| by_sums!(view, x => ops::prod(x, axes));
    nanprod(Axes) = |view, axes| by_floats!(view, "nanprod", x => ops::nanprod(x, axes));
    norm(Norm) = |view, options| by_floats!(view, "norm", x => ops::norm(x, options));
    var(Var) = |view, options| by_sums!(view, x => ops::var(x, options));
    std(Var) = |view, options| by_sums!(view, x => ops::std(x, options));
    nanvar(Var) = |view, options| by_floats!(view, "nanvar", x => ops::nanvar(x, options));
    nanstd(Var) = |view, options| by_floats!(view, "nanstd", x => ops::nanstd(x, options));
    min(Axes) = |view, axes| by_order!(view, "min", x => ops::min(x, axes));
    max(Axes) = |view, axes| by_order!(view, "max", x => ops::max(x, axes));
    nanmin(Axes) = |view, axes| by_float_order!(view, "nanmin", x => ops::nanmin(x, axes));
    nanmax(Axes) = |view, axes| by_float_order!(view, "nanmax", x => ops::nanmax(x, axes));
    argmin(Axes) = |view, axes| by_wide!(view, "argmin", x => view.found(ops::argmin(x, axes)));
    argmax(Axes) = |view, axes| by_wide!(view, "argmax", x => view.found(ops::argmax(x, axes)));
    nanargmin(Axes) = |view, axes| view.found(ops::nanargmin(&view.floats("nanargmin")?, axes));
    nanargmax(Axes) = |view, axes| view.found(ops::nanargmax(&view.floats("nanargmax")?, axes));
    median(Nanmedian) = |view, options| by_medians!(view, "median", x => ops::median(x, options));
    nanmedian(Nanmedian) = |view, options| by_medians!(view, "nanmedian", x => ops::nanmedian(x, options));
}

on_operands! {
    /// Returns the median and its position: see [`nanmedian_index`](crate::nanmedian_index()).
    ///
    /// # Errors
    ///
    /// - the errors of [`nanmedian_index`](crate::nanmedian_index());
    /// - `NoOrder`: the elements are complex.
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Result<(AnyTensor, AnyTensor)> {
        let (view, options) = (self, options.into());
        let index = by_wide!(view, "nanmedian_index", x => {
            ops::nanmedian_index(x, &options).and_then(|(_, index)| view.found(Ok(index)))
        })?;
        Ok((view.nanmedian(&options)?, index))
    }
}

/// Defines the methods of gradients.
macro_rules! gradients {
    ($($name:ident($options:ident) = |$view:ident, $upstream:ident, $given:ident| $body:expr;)*) => {
        on_operands! {$(
            /// Returns the gradient of the reduction: see [`grad`](crate::grad).
            ///
            /// # Errors
            ///
            /// The errors of the function in [`grad`](crate::grad), and an error if an element type does not have the
            /// operation.
            pub fn $name<'u>(
                &self,
                upstream: impl Into<AnyOperand<'u>>,
                options: impl Into<$options>,
            ) -> Result<AnyTensor> {
                GradientsByType::$name(self, upstream.into(), &options.into())
            }
        )*}

        /// The gradients. Each is compiled once, and not per type of the given options.
        struct GradientsByType;

        impl GradientsByType {$(
            #[inline]
            fn $name($view: AnyOperand<'_>, $upstream: AnyOperand<'_>, $given: &$options) -> Result<AnyValue> {
                $body
            }
        )*}
    };
}

/// Runs a gradient that reads values in the widest type of a kind.
macro_rules! by_values {
    ($view:expr, $name:literal, $upstream:expr, $seen:ident, $g:ident => $body:expr) => {{
        let view = $view;
        let wide = Wide::of(view)?;
        if matches!(wide, Wide::Complex(_)) {
            return Err(no_order($name, view));
        }
        on_floats!($upstream, $g => on_wide!(&wide, $seen => view.found($body), _ => Err(no_order($name, view))))
    }};
}

/// Runs a gradient that reads floats.
macro_rules! by_float_values {
    ($view:expr, $name:literal, $upstream:expr, $seen:ident, $g:ident => $body:expr) => {{
        let view = $view;
        let $seen = &view.floats($name)?;
        on_floats!($upstream, $g => view.found($body))
    }};
}

on_operands! {
    /// Returns the largest elements along an axis: see [`topk`](crate::topk()).
    ///
    /// # Errors
    ///
    /// - the errors of [`topk`](crate::topk());
    /// - `NoOrder`: the elements are complex.
    pub fn topk(&self, k: usize, axis: impl Position) -> Result<AnyTensor> {
        let view = self;
        by_order!(view, "topk", x => ops::topk(x, k, axis))
    }

    /// Returns the largest elements along an axis, and their positions: see [`topk_index`](crate::topk_index()).
    ///
    /// # Errors
    ///
    /// - the errors of [`topk_index`](crate::topk_index());
    /// - `NoOrder`: the elements are complex.
    pub fn topk_index(&self, k: usize, axis: impl Position) -> Result<(AnyTensor, AnyTensor)> {
        let index = by_wide!(self, "topk_index", x => {
            ops::topk_index(x, k, axis).and_then(|(_, index)| self.found(Ok(index)))
        })?;
        Ok((self.topk(k, axis)?, index))
    }

    /// Returns the gradient of `topk`: see [`grad::topk`](crate::grad::topk).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::topk`](crate::grad::topk);
    /// - `NoOrder`: the elements are complex;
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn topk_backward<'u>(
        &self,
        upstream: impl Into<AnyOperand<'u>>,
        k: usize,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let view = self;
        by_values!(view, "topk_backward", upstream, x, g => ops::topk_backward(x, g, k, axis))
    }

    /// Returns the distinct values and their counts: see [`unique`](crate::unique()).
    ///
    /// Both results are arrays of rank 1.
    ///
    /// # Errors
    ///
    /// - the errors of [`unique`](crate::unique());
    /// - `NoOrder`: the elements are complex.
    pub fn unique(&self) -> Result<(AnyArray, AnyArray)> {
        let (values, counts) = by_wide!(self, "unique", x => {
            ops::unique(x).map(|(values, counts)| (AnyArray::from(in_a_row(values)), in_a_row(counts)))
        })?;
        Ok((values.cast(self.dtype())?.into(), AnyArray::from(counts).into()))
    }

    /// Returns the positions of elements along an axis, in increasing order: see [`argsort`](crate::argsort()).
    ///
    /// # Errors
    ///
    /// - the errors of [`argsort`](crate::argsort());
    /// - `NoOrder`: the elements are complex.
    pub fn argsort(&self, axis: impl Position) -> Result<AnyTensor> {
        by_wide!(self, "argsort", x => self.found(ops::argsort(x, axis)))
    }
}

/// Defines the methods of quantiles and of their gradients.
macro_rules! quantiles {
    ($($name:ident $text:literal $backward:ident $backward_text:literal;)*) => {
        on_operands! {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()), and where the element type does not have it.")]
            pub fn $name(&self, q: f64, options: impl Into<Quantile>) -> Result<AnyTensor> {
                let (view, options) = (self, options.into());
                by_medians!(view, $text, x => ops::$name(x, q, &options))
            }

            #[doc = concat!("See [`grad::", stringify!($name), "`](crate::grad::", stringify!($name), ").")]
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`grad::", stringify!($name), "`](crate::grad::", stringify!($name),
                "), and an error if an element type does not have the operation.")]
            pub fn $backward<'u>(
                &self,
                upstream: impl Into<AnyOperand<'u>>,
                q: f64,
                options: impl Into<Quantile>,
            ) -> Result<AnyTensor> {
                let (view, options) = (self, options.into());
                by_values!(view, $backward_text, upstream, x, g => ops::$backward(x, g, q, &options))
            }
        )*}
    };
}

quantiles! {
    quantile "quantile" quantile_backward "quantile_backward";
    nanquantile "nanquantile" nanquantile_backward "nanquantile_backward";
}

gradients! {
    any_backward(Axes) = |view, upstream, axes| {
        let zeros = zeros(view)?;
        on_upstream!(upstream, g => view.found(ops::any_backward(&zeros, g, axes)))
    };
    sum_backward(Axes) = |view, upstream, axes| {
        let zeros = zeros_of_reals(view, "sum_backward")?;
        on_floats!(upstream, g => view.found(ops::sum_backward(&zeros, g, axes)))
    };
    mean_backward(Axes) = |view, upstream, axes| {
        let zeros = zeros_of_reals(view, "mean_backward")?;
        on_floats!(upstream, g => view.found(ops::mean_backward(&zeros, g, axes)))
    };
    nansum_backward(Axes) = |view, upstream, axes|
        by_float_values!(view, "nansum_backward", upstream, x, g => ops::nansum_backward(x, g, axes));
    nanmean_backward(Axes) = |view, upstream, axes|
        by_float_values!(view, "nanmean_backward", upstream, x, g => ops::nanmean_backward(x, g, axes));
    min_backward(Axes) = |view, upstream, axes|
        by_values!(view, "min_backward", upstream, x, g => ops::min_backward(x, g, axes));
    max_backward(Axes) = |view, upstream, axes|
        by_values!(view, "max_backward", upstream, x, g => ops::max_backward(x, g, axes));
    nanmin_backward(Axes) = |view, upstream, axes|
        by_float_values!(view, "nanmin_backward", upstream, x, g => ops::nanmin_backward(x, g, axes));
    nanmax_backward(Axes) = |view, upstream, axes|
        by_float_values!(view, "nanmax_backward", upstream, x, g => ops::nanmax_backward(x, g, axes));
    var_backward(Var) = |view, upstream, options|
        by_values!(view, "var_backward", upstream, x, g => ops::var_backward(x, g, options));
    std_backward(Var) = |view, upstream, options|
        by_values!(view, "std_backward", upstream, x, g => ops::std_backward(x, g, options));
    nanvar_backward(Var) = |view, upstream, options|
        by_float_values!(view, "nanvar_backward", upstream, x, g => ops::nanvar_backward(x, g, options));
    nanstd_backward(Var) = |view, upstream, options|
        by_float_values!(view, "nanstd_backward", upstream, x, g => ops::nanstd_backward(x, g, options));
    prod_backward(Axes) = |view, upstream, axes|
        by_values!(view, "prod_backward", upstream, x, g => ops::prod_backward(x, g, axes));
    nanprod_backward(Axes) = |view, upstream, axes|
        by_float_values!(view, "nanprod_backward", upstream, x, g => ops::nanprod_backward(x, g, axes));
    norm_backward(Norm) = |view, upstream, options|
        by_float_values!(view, "norm_backward", upstream, x, g => ops::norm_backward(x, g, options));
    median_backward(Nanmedian) = |view, upstream, options|
        by_values!(view, "median_backward", upstream, x, g => ops::median_backward(x, g, options));
    nanmedian_backward(Nanmedian) = |view, upstream, options|
        by_values!(view, "nanmedian_backward", upstream, x, g => ops::nanmedian_backward(x, g, options));
}

/// Returns zeros in place of an operand; rejects complex numbers.
#[inline]
fn zeros_of_reals<'a>(view: AnyOperand<'a>, operation: &'static str) -> Result<RunTimeOperand<'a, bool>> {
    match view.dtype() {
        DType::Complex64 | DType::Complex128 => Err(no_order(operation, view)),
        _ => zeros(view),
    }
}

/// Returns an array of rank 1.
fn in_a_row<T: Element>(values: Vec<T>) -> ArrayD<T> {
    dense_array(&Shape::from([values.len()]), values)
}

/// Returns the error for an upstream gradient whose elements are not floats.
pub(super) fn no_floats<'a>(upstream: impl Into<AnyOperand<'a>>) -> Error {
    Error::NotRepresentable {
        format: "this gradient",
        what: format!("an upstream gradient of type {}", upstream.into().dtype()),
        instead: "give one of floats",
    }
}
