//! Reductions of dynamically typed tensors, and their gradients.
//!
//! Reductions that only test whether elements are nonzero run on `bool`. Reductions that only need an order run in the
//! widest type of a kind. Sums and medians of floats run in the type of the floats, because their rounding depends on
//! the type. Gradients that do not read values run on zeros.
//!
//! All functions are generic or `inline`, so a program compiles only the functions that it uses.

use ndarray::ArrayD;

use super::routes::{by, in_type, on_upstream};
use super::view::on_operands;
use super::widen::{OverflowRule, RunType, narrowed, no_order, not_floats, rounded, widened};
use super::{AnyArray, AnyOperand, AnyTensor, AnyValue};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{DType, Element};
use crate::ops::{self, ErasedOperand, ErasedResult, Nanmedian, Norm, Quantile, Var, linked, op};

impl<'a> AnyOperand<'a> {
    /// Returns a result in the type of the operand.
    #[inline]
    pub(super) fn narrowed<T: RunType>(
        self,
        result: Result<impl Into<ErasedResult<T>>>,
        overflow_rule: OverflowRule,
    ) -> Result<AnyValue> {
        T::narrowed(result?.into(), self, overflow_rule)
    }

    /// Returns elements of the operand, or the smallest or largest integer of its type.
    #[inline]
    pub(super) fn found_among<T: RunType>(self, result: Result<ErasedResult<T>>) -> Result<AnyValue> {
        self.narrowed(result, OverflowRule::Saturates)
    }

    /// Returns integers in the type of the operand.
    #[inline]
    pub(super) fn found_integers(
        self,
        result: Result<impl Into<ErasedResult<i64>>>,
        overflow_rule: OverflowRule,
    ) -> Result<AnyValue> {
        let x = result?.into();
        match self.dtype() {
            DType::Int8 => self.found(narrowed::<i8>(&x, overflow_rule)),
            DType::Int16 => self.found(narrowed::<i16>(&x, overflow_rule)),
            DType::Int32 => self.found(narrowed::<i32>(&x, overflow_rule)),
            DType::UInt8 => self.found(narrowed::<u8>(&x, overflow_rule)),
            DType::UInt16 => self.found(narrowed::<u16>(&x, overflow_rule)),
            DType::UInt32 => self.found(narrowed::<u32>(&x, overflow_rule)),
            _ => self.found(Ok(x)),
        }
    }

    /// Returns floats in the type of the operand.
    #[inline]
    pub(super) fn found_floats(self, result: Result<impl Into<ErasedResult<f64>>>) -> Result<AnyValue> {
        self.found_floats_as(result, self.dtype())
    }

    /// Returns floats in the type `dtype`.
    #[inline]
    pub(super) fn found_floats_as(
        self,
        result: Result<impl Into<ErasedResult<f64>>>,
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
    pub(super) fn floats(self, operation: &'static str) -> Result<ErasedOperand<'a, f64>> {
        match self.dtype() {
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => widened(self),
            _ => Err(not_floats(operation, self)),
        }
    }
}

/// Defines the methods of the reductions and of their gradients, from their rows.
macro_rules! reductions {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) $result:tt [$route:ident] $stream:tt
        [$($backward:ident($($given:ident)?) $bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        on_operands! {
            $(
                #[doc = concat!($sentence, "\n\nSee ", linked!($name), ".\n\n# Errors\n")]
                #[doc = concat!("- the errors of ", linked!($name), ";")]
                /// - `NoOrder`, `NoOperation`: the element type does not have the operation.
                pub fn $name(&self, $($q: f64,)? options: impl Into<$options>) -> Result<AnyTensor> {
                    ReductionsByType::$name(self, $($q,)? &options.into())
                }
            )*
            $($(
                #[doc = concat!("Returns the gradient of ", linked!($name), ".\n")]
                #[doc = concat!("See ", linked!($name in grad), ".\n\n# Errors\n")]
                #[doc = concat!("- the errors of ", linked!($name in grad), ";")]
                /// - `NoOrder`, `NoOperation`, `NotRepresentable`: an element type does not have the operation.
                pub fn $backward<'u>(
                    &self,
                    upstream: impl Into<AnyOperand<'u>>,
                    $($given: f64,)?
                    options: impl Into<$options>,
                ) -> Result<AnyTensor> {
                    ReductionsByType::$backward(self, upstream.into(), $($given,)? &options.into())
                }
            )?)*
        }

        /// The reductions and their gradients. Each is compiled once, and not per type of the given options.
        struct ReductionsByType;

        impl ReductionsByType {$(
            #[inline]
            fn $name(view: AnyOperand<'_>, $($q: f64,)? options: &$options) -> Result<AnyValue> {
                by!($route view, op::$name, x => ops::$name(x, $($q,)? options))
            }

            $(
                #[inline]
                fn $backward(
                    view: AnyOperand<'_>,
                    upstream: AnyOperand<'_>,
                    $($given: f64,)?
                    options: &$options,
                ) -> Result<AnyValue> {
                    by!($back_route view, upstream, op::$backward, x, g => {
                        ops::$backward(x, g, $($given,)? options)
                    })
                }
            )?
        )*}
    };
}

crate::__folds! { (reductions) }

/// Defines the methods of the functions along an axis and of their gradients, from their rows.
macro_rules! along {
    ([] $(
        $name:ident($($count:ident)?) $parameters:literal $result:tt [$route:ident]
        [$($backward:ident($($given:ident)?) $back_route:ident $second:ident)?] $methods:ident $sentence:literal $set:tt;
    )*) => {
        on_operands! {
            $(
                #[doc = concat!($sentence, "\n\nSee ", linked!($name), ".\n\n# Errors\n")]
                #[doc = concat!("- the errors of ", linked!($name), ";")]
                /// - `NoOrder`, `NoOperation`: the element type does not have the operation.
                pub fn $name(&self, $($count: usize,)? axis: impl Position) -> Result<AnyTensor> {
                    let view = self;
                    by!($route view, op::$name, x => ops::$name(x, $($count,)? axis))
                }
            )*
            $($(
                #[doc = concat!("Returns the gradient of ", linked!($name), ".\n")]
                #[doc = concat!("See ", linked!($name in grad), ".\n\n# Errors\n")]
                #[doc = concat!("- the errors of ", linked!($name in grad), ";")]
                /// - `NoOrder`, `NoOperation`, `NotRepresentable`: an element type does not have the operation.
                pub fn $backward<'u>(
                    &self,
                    upstream: impl Into<AnyOperand<'u>>,
                    $($given: usize,)?
                    axis: impl Position,
                ) -> Result<AnyTensor> {
                    let (view, upstream) = (self, upstream.into());
                    by!($back_route view, upstream, op::$backward, x, g => ops::$backward(x, g, $($given,)? axis))
                }
            )?)*
        }
    };
}

crate::__along! { (along) }

on_operands! {
    /// Returns the median and its position: see [`nanmedian_index`](crate::nanmedian_index()).
    ///
    /// # Errors
    ///
    /// - the errors of [`nanmedian_index`](crate::nanmedian_index());
    /// - `NoOrder`: the elements are complex.
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Result<(AnyTensor, AnyTensor)> {
        let (view, options) = (self, options.into());
        let index = by!(wide view, op::nanmedian_index, x => {
            ops::nanmedian_index(x, &options).map(|(_, index)| index)
        })?;
        Ok((view.nanmedian(&options)?, index))
    }
}

on_operands! {
    /// Returns the largest elements along an axis, and their positions.
    ///
    /// See [`topk_index`](crate::topk_index()).
    ///
    /// # Errors
    ///
    /// - the errors of [`topk_index`](crate::topk_index());
    /// - `NoOrder`: the elements are complex.
    pub fn topk_index(&self, k: usize, axis: impl Position) -> Result<(AnyTensor, AnyTensor)> {
        let view = self;
        let index = by!(wide view, op::topk_index, x => ops::topk_index(x, k, axis).map(|(_, index)| index))?;
        Ok((self.topk(k, axis)?, index))
    }

    /// Returns the covariances of all pairs of variables, each rounded once: see [`cov`](crate::cov()).
    ///
    /// # Errors
    ///
    /// - the errors of [`cov`](crate::cov());
    /// - `NoOrder`: the elements are complex.
    pub fn cov(&self, axis: impl Position, ddof: u64) -> Result<AnyArray> {
        in_type!([OwnFloat Truth Signed Unsigned] self.dtype(), T => {
            Ok(AnyArray::from(ops::cov(&widened::<T>(self)?, axis, ddof)?).into())
        }, else => Err(no_order(op::cov.name, self)))
    }

    /// Returns the correlations of all pairs of variables, each rounded once: see [`corrcoef`](crate::corrcoef()).
    ///
    /// # Errors
    ///
    /// - the errors of [`corrcoef`](crate::corrcoef());
    /// - `NoOrder`: the elements are complex.
    pub fn corrcoef(&self, axis: impl Position) -> Result<AnyArray> {
        in_type!([OwnFloat Truth Signed Unsigned] self.dtype(), T => {
            Ok(AnyArray::from(ops::corrcoef(&widened::<T>(self)?, axis)?).into())
        }, else => Err(no_order(op::corrcoef.name, self)))
    }

    /// Returns the exact sum of a diagonal of each matrix, rounded once: see [`trace`](crate::trace()).
    ///
    /// # Errors
    ///
    /// The errors of [`trace`](crate::trace()).
    pub fn trace(&self, offset: isize) -> Result<AnyTensor> {
        let view = self;
        by!(sums view, op::trace, x => ops::trace(x, offset))
    }

    /// Returns the gradient of `trace`: see [`grad::trace`](crate::grad::trace).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::trace`](crate::grad::trace);
    /// - `NotRepresentable`, `NoOperation`: an element type does not have the operation.
    pub fn trace_backward<'u>(&self, upstream: impl Into<AnyOperand<'u>>, offset: isize) -> Result<AnyTensor> {
        let (view, upstream) = (self, upstream.into());
        by!(real_zeros view, upstream, op::trace, x, g => ops::trace_backward(x, g, offset))
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
        let (values, counts) = in_type!([Truth Signed Unsigned Float] self.dtype(), T => {
            let (values, counts) = ops::unique(&widened::<T>(self)?)?;
            (AnyArray::from(in_a_row(values)), in_a_row(counts))
        }, else => return Err(no_order(op::unique.name, self)));
        Ok((values.cast(self.dtype())?.into(), AnyArray::from(counts).into()))
    }
}

/// Returns an array of rank 1.
fn in_a_row<T: Element>(values: Vec<T>) -> ArrayD<T> {
    dense_array(&Shape::from([values.len()]), values)
}
