//! Einsum, its like and softmax of tensors whose types are known at run time only.
//!
//! Einsum runs on floats and complex numbers in their own type, which rounds each step; on narrow integers in 64 bits.
//! Softmax runs in `f64`, as its typed form does.

use super::reduce::{no_floats, on_floats};
use super::types::Complex;
use super::view::{AnyStored, View, all_seen, on_both};
use super::widen::{Beyond, widened};
use super::zip::{brought, check_types, common_format};
use super::{AnyTensor, Erased};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::element::{DType, Element};
use crate::ops::{self, Einsum, Operand, Pairs};

/// The tensors in one type and in the format that all of them have, or in coordinates.
pub(super) fn of_type<T: Element>(tensors: &[&AnyTensor]) -> Result<Vec<Erased<T>>> {
    let format = common_format(tensors);
    tensors.iter().map(|tensor| brought(&widened(tensor)?, format)).collect()
}

fn forward(spec: &Einsum<'_>, tensors: &[&AnyTensor], stored: bool) -> Result<AnyTensor> {
    by_products!("einsum", tensors, T => all_seen!(stored, of_type::<T>(tensors)?, all => ops::einsum(spec, &all)))
}

fn backward(upstream: &AnyTensor, spec: &Einsum<'_>, tensors: &[&AnyTensor], stored: bool) -> Result<Vec<AnyTensor>> {
    check_types("einsum_backward", &[tensors, &[upstream]].concat())?;
    on_floats!(upstream, g => {
        let gradients = all_seen!(stored, of_type(tensors)?, all => ops::einsum_backward(spec, &all, g))?;
        gradients.into_iter().zip(tensors).map(|(gradient, tensor)| tensor.view().found(Ok(gradient))).collect()
    })
}

/// The gradients of both operands of a product.
macro_rules! both_gradients {
    ($name:literal, $view:expr, $other:expr, $upstream:expr, |$x:ident, $y:ident, $g:ident| $gradients:expr) => {{
        let (View { tensor, stored }, other): (View<'_>, &AnyTensor) = ($view, $other);
        check_types($name, &[tensor, other, $upstream])?;
        on_floats!($upstream, $g => {
            let (dx, dy) = all_seen!(stored, of_type(&[tensor, other])?, all => {
                let ($x, $y) = (all[0], all[1]);
                $gradients
            })?;
            Ok((tensor.view().found(Ok(dx))?, other.view().found(Ok(dy))?))
        })
    }};
}

/// Runs a product on elements of the type of some tensors; narrow integers in 64 bits.
macro_rules! by_products {
    ($name:expr, $tensors:expr, $type:ident => $body:expr) => {{
        let tensors: &[&AnyTensor] = $tensors;
        check_types($name, tensors)?;
        by_products!($name, as shown(tensors)?, $type => $body)
    }};
    ($name:expr, as $view:expr, $type:ident => $body:expr) => {{
        let view: View<'_> = $view;
        macro_rules! on {
            ($own:ty) => {{
                type $type = $own;
                $body
            }};
        }
        match view.tensor.dtype() {
            DType::Bool => view.found(on!(bool)),
            DType::UInt64 => view.found(on!(u64)),
            #[cfg(feature = "half")]
            DType::Float16 => view.found(on!(half::f16)),
            #[cfg(feature = "half")]
            DType::BFloat16 => view.found(on!(half::bf16)),
            DType::Float32 => view.found(on!(f32)),
            DType::Float64 => view.found(on!(f64)),
            DType::Complex64 => view.found(on!(Complex<f32>)),
            DType::Complex128 => view.found(on!(Complex<f64>)),
            _ => view.found_integers(&on!(i64)?, Beyond::Overflows($name)),
        }
    }};
}

pub(super) use by_products;

/// What shows in which format a result is: a tensor in coordinates, if there is one.
pub(super) fn shown<'a>(tensors: &[&'a AnyTensor]) -> Result<View<'a>> {
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
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![1]], vec![7u8], 0)?);
    /// assert_eq!(AnyTensor::einsum("i,j->ij", &[&x, &x])?.shape()[..], [2, 2]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[inline]
    pub fn einsum<'a>(spec: impl Into<Einsum<'a>>, tensors: &[&AnyTensor]) -> Result<AnyTensor> {
        forward(&spec.into(), tensors, false)
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
        backward(upstream, &spec.into(), tensors, false)
    }
}

fn tensors<'a>(views: &[AnyStored<'a>]) -> Vec<&'a AnyTensor> {
    views.iter().map(AnyStored::tensor).collect()
}

/// # Sums of products of entries
impl AnyStored<'_> {
    /// The sum of products of what is stored: see [`einsum()`](crate::einsum()).
    ///
    /// # Errors
    ///
    /// Those of [`einsum()`](crate::einsum()); `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::{AnyStored, AnyTensor};
    ///
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![1]], vec![7u8], 3)?);
    /// assert!(AnyTensor::einsum("i,i->", &[&x, &x]).is_err()); // the fill is not zero
    /// let dot = AnyStored::einsum("i,i->", &[x.stored(), x.stored()])?;
    /// assert_eq!(dot.into_coo::<u8, u64>()?.item()?, 49);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[inline]
    pub fn einsum<'a>(spec: impl Into<Einsum<'a>>, views: &[AnyStored<'_>]) -> Result<AnyTensor> {
        forward(&spec.into(), &tensors(views), true)
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
        views: &[AnyStored<'_>],
    ) -> Result<Vec<AnyTensor>> {
        backward(upstream, &spec.into(), &tensors(views), true)
    }
}

on_both! {
    /// All products of an element of each tensor: see [`outer()`](crate::outer()).
    ///
    /// # Errors
    ///
    /// Those of [`outer()`](crate::outer()); `TypesDiffer`: the element types differ.
    #[inline]
    pub fn outer(&self, other: &AnyTensor) -> Result<AnyTensor> {
        self.view().pairs("outer", other, Pairs::Outer)
    }

    /// The Kronecker product: see [`kron()`](crate::kron()).
    ///
    /// # Errors
    ///
    /// Those of [`kron()`](crate::kron()); `TypesDiffer`: the element types differ.
    #[inline]
    pub fn kron(&self, other: &AnyTensor) -> Result<AnyTensor> {
        self.view().pairs("kron", other, Pairs::Kron)
    }

    /// The sum of products over pairs of axes: see [`tensordot()`](crate::tensordot()).
    ///
    /// # Errors
    ///
    /// Those of [`tensordot()`](crate::tensordot()); `TypesDiffer`: the element types differ.
    #[inline]
    pub fn tensordot(&self, other: &AnyTensor, left: &[isize], right: &[isize]) -> Result<AnyTensor> {
        self.view().tensordot(other, left, right)
    }

    /// The gradients of both operands of `outer`: see [`outer_backward`](crate::outer_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`outer_backward`](crate::outer_backward()); `TypesDiffer`, and where the elements are no floats.
    #[inline]
    pub fn outer_backward(&self, other: &AnyTensor, upstream: &AnyTensor) -> Result<(AnyTensor, AnyTensor)> {
        both_gradients!("outer_backward", self.view(), other, upstream, |x, y, g| ops::outer_backward(x, y, g))
    }

    /// The gradients of both operands of `kron`: see [`kron_backward`](crate::kron_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`kron_backward`](crate::kron_backward()); `TypesDiffer`, and where the elements are no floats.
    #[inline]
    pub fn kron_backward(&self, other: &AnyTensor, upstream: &AnyTensor) -> Result<(AnyTensor, AnyTensor)> {
        both_gradients!("kron_backward", self.view(), other, upstream, |x, y, g| ops::kron_backward(x, y, g))
    }

    /// The gradients of both operands of `tensordot`: see [`tensordot_backward`](crate::tensordot_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`tensordot_backward`](crate::tensordot_backward()); `TypesDiffer`, and where the elements are no
    /// floats.
    #[inline]
    pub fn tensordot_backward(
        &self,
        other: &AnyTensor,
        upstream: &AnyTensor,
        left: &[isize],
        right: &[isize],
    ) -> Result<(AnyTensor, AnyTensor)> {
        both_gradients!("tensordot_backward", self.view(), other, upstream, |x, y, g| {
            ops::tensordot_backward(x, y, left, right, g)
        })
    }

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
    fn pairs(self, name: &'static str, other: &AnyTensor, form: Pairs) -> Result<AnyTensor> {
        let tensors = [self.tensor, other];
        by_products!(name, &tensors, T => {
            all_seen!(self.stored, of_type::<T>(&tensors)?, all => all[0].by_pairs(all[1], form))
        })
    }

    fn tensordot(self, other: &AnyTensor, left: &[isize], right: &[isize]) -> Result<AnyTensor> {
        let tensors = [self.tensor, other];
        by_products!("tensordot", &tensors, T => {
            all_seen!(self.stored, of_type::<T>(&tensors)?, all => ops::tensordot(all[0], all[1], left, right))
        })
    }

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
