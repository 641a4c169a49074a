//! Einsum and softmax of tensors whose types are known at run time only.
//!
//! Einsum runs on floats and complex numbers in their own type, which rounds each step; on narrow integers in 64 bits.
//! Softmax runs in `f64`, as its typed form does.

use super::reduce::{no_floats, on_floats};
use super::types::Complex;
use super::view::{View, on_both};
use super::widen::{Beyond, widened};
use super::zip::{brought, check_types, common_format};
use super::{AnyTensor, Erased};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Float, Ring};
use crate::ops::{self, Einsum};

/// The tensors in one type and in the format that all of them have, or in coordinates.
fn of_type<T: Element>(tensors: &[&AnyTensor]) -> Result<Vec<Erased<T>>> {
    let format = common_format(tensors);
    tensors.iter().map(|tensor| brought(&widened(tensor)?, format)).collect()
}

fn forward<T: Ring>(spec: &Einsum<'_>, tensors: &[&AnyTensor]) -> Result<Erased<T>> {
    let all = of_type::<T>(tensors)?;
    ops::einsum(spec, &all.iter().collect::<Vec<_>>())
}

fn backward<T: Float>(spec: &Einsum<'_>, tensors: &[&AnyTensor], upstream: &Erased<T>) -> Result<Vec<AnyTensor>> {
    let all = of_type::<T>(tensors)?;
    let gradients = ops::einsum_backward(spec, &all.iter().collect::<Vec<_>>(), upstream)?;
    gradients.into_iter().zip(tensors).map(|(gradient, tensor)| tensor.view().found(Ok(gradient))).collect()
}

/// What shows in which format a result is: a tensor in coordinates, if there is one.
fn shown<'a>(tensors: &[&'a AnyTensor]) -> Result<View<'a>> {
    let format = common_format(tensors);
    let shown = tensors.iter().find(|tensor| tensor.format() == format);
    let none = || Error::Argument { operation: "einsum", why: "there are no operands".into() };
    Ok(shown.ok_or_else(none)?.view())
}

impl AnyTensor {
    /// The sum of products that a string names: see [`einsum()`](crate::einsum()).
    ///
    /// Of tensors in different formats the result is in coordinates.
    ///
    /// # Errors
    ///
    /// Those of [`einsum()`](crate::einsum()); `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![1]], vec![7u8], 0)?.with_index::<u64>()?);
    /// assert_eq!(AnyTensor::einsum("i,j->ij", &[&x, &x])?.shape()[..], [2, 2]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[inline]
    pub fn einsum<'a>(spec: impl Into<Einsum<'a>>, tensors: &[&AnyTensor]) -> Result<AnyTensor> {
        check_types("einsum", tensors)?;
        let (view, spec) = (shown(tensors)?, &spec.into());
        match view.tensor.dtype() {
            DType::Bool => view.found(forward::<bool>(spec, tensors)),
            DType::UInt64 => view.found(forward::<u64>(spec, tensors)),
            #[cfg(feature = "half")]
            DType::Float16 => view.found(forward::<half::f16>(spec, tensors)),
            #[cfg(feature = "half")]
            DType::BFloat16 => view.found(forward::<half::bf16>(spec, tensors)),
            DType::Float32 => view.found(forward::<f32>(spec, tensors)),
            DType::Float64 => view.found(forward::<f64>(spec, tensors)),
            DType::Complex64 => view.found(forward::<Complex<f32>>(spec, tensors)),
            DType::Complex128 => view.found(forward::<Complex<f64>>(spec, tensors)),
            _ => view.found_integers(&forward::<i64>(spec, tensors)?, Beyond::Overflows("einsum")),
        }
    }

    /// The gradient of `einsum` for each tensor: see [`einsum_backward`](crate::einsum_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`einsum_backward`](crate::einsum_backward()); `TypesDiffer`, and where the element type is none of
    /// floats.
    #[inline]
    pub fn einsum_backward<'a>(
        upstream: &AnyTensor,
        spec: impl Into<Einsum<'a>>,
        tensors: &[&AnyTensor],
    ) -> Result<Vec<AnyTensor>> {
        check_types("einsum_backward", &[tensors, &[upstream]].concat())?;
        let spec = &spec.into();
        on_floats!(upstream, g => backward(spec, tensors, g))
    }
}

on_both! {
    /// The softmax among stored entries: see [`softmax()`](crate::softmax()).
    ///
    /// # Errors
    ///
    /// Those of [`softmax()`](crate::softmax()), and where the elements are no floats.
    #[inline]
    pub fn softmax(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.view().softmax(&axes.into())
    }

    /// Its logarithm: see [`log_softmax`](crate::log_softmax()).
    ///
    /// # Errors
    ///
    /// Those of [`log_softmax`](crate::log_softmax()), and where the elements are no floats.
    #[inline]
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.view().log_softmax(&axes.into())
    }

    /// The gradient of `softmax`: see [`softmax_backward`](crate::softmax_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`softmax_backward`](crate::softmax_backward()), and where the elements are no floats.
    #[inline]
    pub fn softmax_backward(&self, upstream: &AnyTensor, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.view().softmax_backward(upstream, &axes.into())
    }

    /// The gradient of `log_softmax`: see [`log_softmax_backward`](crate::log_softmax_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`log_softmax_backward`](crate::log_softmax_backward()), and where the elements are no floats.
    #[inline]
    pub fn log_softmax_backward(&self, upstream: &AnyTensor, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.view().log_softmax_backward(upstream, &axes.into())
    }
}

impl View<'_> {
    fn softmax(self, axes: &Axes) -> Result<AnyTensor> {
        let x = self.floats("softmax")?;
        self.found_floats(if self.stored { ops::softmax(&x.stored(), axes) } else { ops::softmax(&x, axes) })
    }

    fn log_softmax(self, axes: &Axes) -> Result<AnyTensor> {
        let x = self.floats("log_softmax")?;
        self.found_floats(if self.stored { ops::log_softmax(&x.stored(), axes) } else { ops::log_softmax(&x, axes) })
    }

    fn softmax_backward(self, upstream: &AnyTensor, axes: &Axes) -> Result<AnyTensor> {
        let x = self.floats("softmax_backward")?;
        on_floats!(upstream, g => self.found(match self.stored {
            true => ops::softmax_backward(&x.stored(), g, axes),
            false => ops::softmax_backward(&x, g, axes),
        }))
    }

    fn log_softmax_backward(self, upstream: &AnyTensor, axes: &Axes) -> Result<AnyTensor> {
        let x = self.floats("log_softmax_backward")?;
        on_floats!(upstream, g => self.found(match self.stored {
            true => ops::log_softmax_backward(&x.stored(), g, axes),
            false => ops::log_softmax_backward(&x, g, axes),
        }))
    }
}
