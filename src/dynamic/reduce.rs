//! Reductions of tensors whose types are known at run time only, and their gradients.
//!
//! Truth is reduced as `bool`; what has an order, in the widest type of a kind; sums and medians of floats in their own
//! type, because their rounding depends on it. Gradients that read no value are those of zeros.
//!
//! All of it is generic or `inline`, so that a program which uses none of it has none compiled.

use super::view::{View, on_both, seen};
use super::widen::{Beyond, Wide, narrowed, no_order, not_for, on_wide, rounded, truth, widened, zeros};
use super::{AnyTensor, Erased};
use crate::base::alloc;
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::element::{DType, Element};
use crate::ops::{self, Nanmedian, Norm, Quantile, Var};
use crate::pattern::CooPattern;
use crate::tensor::coo::CooTensor;

/// Runs a reduction of floats in their own type, and something else of other elements.
macro_rules! by_own_floats {
    ($view:expr, $seen:ident => $body:expr, $other:ident => $otherwise:expr) => {{
        let view = $view;
        match view.tensor {
            AnyTensor::Float32(x) => seen!(view, x.clone(), $seen => view.found($body)),
            AnyTensor::Float64(x) => seen!(view, x.clone(), $seen => view.found($body)),
            #[cfg(feature = "half")]
            AnyTensor::Float16(x) => seen!(view, x.clone(), $seen => view.found($body)),
            #[cfg(feature = "half")]
            AnyTensor::BFloat16(x) => seen!(view, x.clone(), $seen => view.found($body)),
            $other => $otherwise,
        }
    }};
}

/// Runs a reduction that rounds to the type of the floats: in their own type, of integers in that of their sums.
macro_rules! by_sums {
    ($view:expr, $seen:ident => $body:expr) => {
        by_own_floats!($view, $seen => $body, other => match other {
            AnyTensor::Complex64(x) => seen!($view, x.clone(), $seen => $view.found($body)),
            AnyTensor::Complex128(x) => seen!($view, x.clone(), $seen => $view.found($body)),
            integers => match Wide::of_sums(integers)? {
                Wide::Signed(x) => seen!($view, x, $seen => $view.found($body)),
                Wide::Unsigned(x) => seen!($view, x, $seen => $view.found($body)),
                _ => Err(no_order("a sum", integers)),
            },
        })
    };
}

/// Runs a reduction of floats in their own type.
macro_rules! by_floats {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {
        by_own_floats!($view, $seen => $body, other => Err(not_for($name, other, FLOATS)))
    };
}

/// What is said where there must be floats.
pub(super) const FLOATS: &str = "it is an operation on floats, which others are cast to beforehand";

/// Runs a reduction whose result is one of the elements, in the widest type of a kind.
macro_rules! by_order {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        match Wide::of(view.tensor)? {
            Wide::Truth(x) => seen!(view, x, $seen => view.found($body)),
            Wide::Signed(x) => view.found_among(seen!(view, x, $seen => $body)),
            Wide::Unsigned(x) => seen!(view, x, $seen => view.found($body)),
            Wide::Float(x) => view.found_floats(seen!(view, x, $seen => $body)),
            Wide::Complex(_) => Err(no_order($name, view.tensor)),
        }
    }};
}

/// Runs a reduction that gives medians, which floats have in their own type and others as `f64`.
macro_rules! by_medians {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        match view.tensor {
            AnyTensor::Float32(x) => seen!(view, x.clone(), $seen => view.found($body)),
            #[cfg(feature = "half")]
            AnyTensor::Float16(x) => seen!(view, x.clone(), $seen => view.found($body)),
            #[cfg(feature = "half")]
            AnyTensor::BFloat16(x) => seen!(view, x.clone(), $seen => view.found($body)),
            x => on_wide!(Wide::of(x)?, x => seen!(view, x, $seen => view.found($body)), _ => Err(no_order($name, x))),
        }
    }};
}

/// [`by_order!`] of floats alone.
macro_rules! by_float_order {
    ($view:expr, $name:literal, $seen:ident => $body:expr) => {{
        let view = $view;
        view.found_floats(seen!(view, view.floats($name)?, $seen => $body))
    }};
}

impl View<'_> {
    /// Integers that are among those of the tensor, or the least or the greatest of the type.
    #[inline]
    pub(super) fn found_among(self, result: Result<Erased<i64>>) -> Result<AnyTensor> {
        self.found_integers(&result?, Beyond::Saturates)
    }

    /// Integers in the type of the tensor.
    #[inline]
    pub(super) fn found_integers(self, x: &Erased<i64>, beyond: Beyond) -> Result<AnyTensor> {
        match self.tensor.dtype() {
            DType::Int8 => self.found(narrowed::<i8>(x, beyond)),
            DType::Int16 => self.found(narrowed::<i16>(x, beyond)),
            DType::Int32 => self.found(narrowed::<i32>(x, beyond)),
            DType::UInt8 => self.found(narrowed::<u8>(x, beyond)),
            DType::UInt16 => self.found(narrowed::<u16>(x, beyond)),
            DType::UInt32 => self.found(narrowed::<u32>(x, beyond)),
            _ => self.found(Ok(x.clone())),
        }
    }

    /// Floats in the type of the tensor.
    #[inline]
    pub(super) fn found_floats(self, result: Result<Erased<f64>>) -> Result<AnyTensor> {
        self.found_floats_as(result, self.tensor.dtype())
    }

    /// Floats in a type of floats.
    #[inline]
    pub(super) fn found_floats_as(self, result: Result<Erased<f64>>, dtype: DType) -> Result<AnyTensor> {
        match dtype {
            DType::Float32 => self.found(rounded::<f32>(&result?, |nan| nan as f32)),
            #[cfg(feature = "half")]
            DType::Float16 => self.found(rounded(&result?, |nan| super::types::f16::from_f32(nan as f32))),
            #[cfg(feature = "half")]
            DType::BFloat16 => self.found(rounded(&result?, |nan| super::types::bf16::from_f32(nan as f32))),
            _ => self.found(result),
        }
    }

    /// The tensor as `f64`, if it has floats.
    #[inline]
    pub(super) fn floats(self, operation: &'static str) -> Result<Erased<f64>> {
        match self.tensor.dtype() {
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => widened(self.tensor),
            _ => Err(not_for(operation, self.tensor, FLOATS)),
        }
    }
}

/// Runs code on an upstream gradient of each type.
macro_rules! on_upstream {
    ($upstream:expr, $g:ident => $body:expr) => {
        super::on_type!($upstream, g => { let $g = g; $body })
    };
}

/// Runs code on an upstream gradient of floats.
macro_rules! on_floats {
    ($upstream:expr, $g:ident => $body:expr) => {
        match $upstream {
            AnyTensor::Float32(g) => {
                let $g = g;
                $body
            }
            AnyTensor::Float64(g) => {
                let $g = g;
                $body
            }
            #[cfg(feature = "half")]
            AnyTensor::Float16(g) => {
                let $g = g;
                $body
            }
            #[cfg(feature = "half")]
            AnyTensor::BFloat16(g) => {
                let $g = g;
                $body
            }
            other => Err(no_floats(other)),
        }
    };
}

pub(super) use {on_floats, on_upstream};

/// The list of methods.
macro_rules! reductions {
    ($($name:ident($options:ident) = |$view:ident, $given:ident| $body:expr;)*) => {
        on_both! {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()), and where the element type does not have it.")]
            #[inline]
            pub fn $name(&self, options: impl Into<$options>) -> Result<AnyTensor> {
                self.view().$name(&options.into())
            }
        )*}

        impl View<'_> {$(
            #[inline]
            fn $name(self, $given: &$options) -> Result<AnyTensor> {
                let $view = self;
                $body
            }
        )*}
    };
}

reductions! {
    any(Axes) = |view, axes| seen!(view, truth(view.tensor)?, x => view.found(ops::any(x, axes)));
    all(Axes) = |view, axes| seen!(view, truth(view.tensor)?, x => view.found(ops::all(x, axes)));
    count_nonzero(Axes) =
        |view, axes| seen!(view, truth(view.tensor)?, x => view.found(ops::count_nonzero(x, axes)));
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
    argmin(Axes) = |view, axes| on_wide!(Wide::of(view.tensor)?,
        x => seen!(view, x, x => view.found(ops::argmin(x, axes))), _ => Err(no_order("argmin", view.tensor)));
    argmax(Axes) = |view, axes| on_wide!(Wide::of(view.tensor)?,
        x => seen!(view, x, x => view.found(ops::argmax(x, axes))), _ => Err(no_order("argmax", view.tensor)));
    nanargmin(Axes) =
        |view, axes| seen!(view, view.floats("nanargmin")?, x => view.found(ops::nanargmin(x, axes)));
    nanargmax(Axes) =
        |view, axes| seen!(view, view.floats("nanargmax")?, x => view.found(ops::nanargmax(x, axes)));
    median(Nanmedian) = |view, options| by_medians!(view, "median", x => ops::median(x, options));
    nanmedian(Nanmedian) = |view, options| by_medians!(view, "nanmedian", x => ops::nanmedian(x, options));
}

on_both! {
    /// The median and where it stands: see [`nanmedian_index`](crate::nanmedian_index()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index`](crate::nanmedian_index()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Result<(AnyTensor, AnyTensor)> {
        let (view, options) = (self.view(), options.into());
        let index = on_wide!(Wide::of(view.tensor)?,
            x => seen!(view, x, x => ops::nanmedian_index(x, &options).and_then(|(_, index)| view.found(Ok(index)))),
            _ => Err(no_order("nanmedian_index", view.tensor)))?;
        Ok((view.nanmedian(&options)?, index))
    }
}

/// The list of gradients.
macro_rules! gradients {
    ($($name:ident($options:ident) = |$view:ident, $upstream:ident, $given:ident| $body:expr;)*) => {
        on_both! {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()), and where an element type does not have it.")]
            #[inline]
            pub fn $name(&self, upstream: &AnyTensor, options: impl Into<$options>) -> Result<AnyTensor> {
                self.view().$name(upstream, &options.into())
            }
        )*}

        impl View<'_> {$(
            #[inline]
            fn $name(self, $upstream: &AnyTensor, $given: &$options) -> Result<AnyTensor> {
                let $view = self;
                $body
            }
        )*}
    };
}

/// Runs a gradient that reads values in the widest type of a kind.
macro_rules! by_values {
    ($view:expr, $name:literal, $upstream:expr, $seen:ident, $g:ident => $body:expr) => {{
        let view = $view;
        let wide = Wide::of(view.tensor)?;
        if matches!(wide, Wide::Complex(_)) {
            return Err(no_order($name, view.tensor));
        }
        on_floats!($upstream, $g => on_wide!(&wide, x => seen!(view, x.clone(), $seen => view.found($body)),
            _ => Err(no_order($name, view.tensor))))
    }};
}

/// Runs a gradient that reads floats.
macro_rules! by_float_values {
    ($view:expr, $name:literal, $upstream:expr, $seen:ident, $g:ident => $body:expr) => {{
        let view = $view;
        let x = view.floats($name)?;
        on_floats!($upstream, $g => seen!(view, x.clone(), $seen => view.found($body)))
    }};
}

/// A tensor of rank 1 that stores these values.
fn in_a_row<T: Element>(values: Vec<T>) -> Result<AnyTensor> {
    let coords = alloc::collect((0..values.len()).map(|at| at as u64))?;
    let pattern = CooPattern::new([values.len()], values.len(), vec![coords])?;
    Ok(CooTensor::<T, u64>::from_parts(pattern, values, T::ZERO)?.into())
}

on_both! {
    /// The greatest elements along an axis: see [`topk`](crate::topk()).
    ///
    /// # Errors
    ///
    /// Those of [`topk`](crate::topk()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn topk(&self, k: usize, axis: impl Position) -> Result<AnyTensor> {
        let view = self.view();
        by_order!(view, "topk", x => ops::topk(x, k, axis))
    }

    /// Where the greatest elements along an axis stand: see [`topk_index`](crate::topk_index()).
    ///
    /// # Errors
    ///
    /// Those of [`topk_index`](crate::topk_index()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn topk_index(&self, k: usize, axis: impl Position) -> Result<(AnyTensor, AnyTensor)> {
        let view = self.view();
        let index = on_wide!(Wide::of(view.tensor)?,
            x => seen!(view, x, x => ops::topk_index(x, k, axis).and_then(|(_, index)| view.found(Ok(index)))),
            _ => Err(no_order("topk_index", view.tensor)))?;
        Ok((self.topk(k, axis)?, index))
    }

    /// The gradient of `topk`: see [`topk_backward`](crate::topk_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`topk_backward`](crate::topk_backward()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn topk_backward(&self, upstream: &AnyTensor, k: usize, axis: impl Position) -> Result<AnyTensor> {
        let view = self.view();
        by_values!(view, "topk_backward", upstream, x, g => ops::topk_backward(x, g, k, axis))
    }

    /// The distinct values, and how often each stands there: see [`unique`](crate::unique()).
    ///
    /// Both have rank 1, and store all elements.
    ///
    /// # Errors
    ///
    /// Those of [`unique`](crate::unique()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn unique(&self) -> Result<(AnyTensor, AnyTensor)> {
        let view = self.view();
        let (values, counts) = on_wide!(Wide::of(view.tensor)?,
            x => seen!(view, x, x => {
                ops::unique(x).and_then(|(values, counts)| Ok((in_a_row(values)?, in_a_row(counts)?)))
            }),
            _ => Err(no_order("unique", view.tensor)))?;
        let format = view.tensor.format();
        Ok((values.cast(view.tensor.dtype())?.into_format(format)?, counts.into_format(format)?))
    }

    /// In which order elements along an axis increase: see [`argsort`](crate::argsort()).
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](crate::argsort()), and `NoOrder`: the elements are complex.
    #[inline]
    pub fn argsort(&self, axis: impl Position) -> Result<AnyTensor> {
        let view = self.view();
        on_wide!(Wide::of(view.tensor)?, x => seen!(view, x, x => view.found(ops::argsort(x, axis))),
            _ => Err(no_order("argsort", view.tensor)))
    }
}

/// The list of quantiles and of their gradients.
macro_rules! quantiles {
    ($($name:ident $text:literal $backward:ident $backward_text:literal;)*) => {
        on_both! {$(
            #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()), and where the element type does not have it.")]
            #[inline]
            pub fn $name(&self, q: f64, options: impl Into<Quantile>) -> Result<AnyTensor> {
                let (view, options) = (self.view(), options.into());
                by_medians!(view, $text, x => ops::$name(x, q, &options))
            }

            #[doc = concat!("See [`", stringify!($backward), "`](crate::", stringify!($backward), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($backward), "`](crate::", stringify!($backward),
                "()), and where an element type does not have it.")]
            #[inline]
            pub fn $backward(
                &self,
                upstream: &AnyTensor,
                q: f64,
                options: impl Into<Quantile>,
            ) -> Result<AnyTensor> {
                let (view, options) = (self.view(), options.into());
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
        let zeros = zeros(view.tensor)?;
        on_upstream!(upstream, g => view.found(ops::any_backward(&zeros, g, axes)))
    };
    sum_backward(Axes) = |view, upstream, axes| {
        let zeros = zeros_of_reals(view, "sum_backward")?;
        on_floats!(upstream, g => view.found(ops::sum_backward(&zeros, g, axes)))
    };
    mean_backward(Axes) = |view, upstream, axes| {
        let zeros = zeros_of_reals(view, "mean_backward")?;
        on_floats!(upstream, g => seen!(view, zeros.clone(), x => view.found(ops::mean_backward(x, g, axes))))
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

/// Zeros on the pattern of a tensor of real numbers.
#[inline]
fn zeros_of_reals(view: View<'_>, operation: &'static str) -> Result<Erased<bool>> {
    match view.tensor.dtype() {
        DType::Complex64 | DType::Complex128 => Err(no_order(operation, view.tensor)),
        _ => zeros(view.tensor),
    }
}

/// The error for an upstream gradient of a type that has no such gradient.
pub(super) fn no_floats(upstream: &AnyTensor) -> Error {
    Error::NotRepresentable {
        format: "this gradient",
        what: format!("an upstream gradient of type {}", upstream.dtype()),
        instead: "give one of floats",
    }
}
