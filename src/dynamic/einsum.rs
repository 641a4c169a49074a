//! Einsum, related products and softmax of dynamically typed tensors.
//!
//! Einsum runs on floats and complex numbers in their own type, because each step is rounded. Integers with fewer bits
//! run in 64 bits. Softmax runs in `f64`, as for static types.

use super::routes::{in_type, on_upstream};
use super::select::all_of;
use super::view::{AnyStored, OperandResult, on_operands};
use super::widen::{OverflowRule, widened};
use super::zip::{brought_operand, check_types, common_format};
use super::{AnyOperand, AnyTensor, AnyValue};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::ops::op;
use crate::ops::{self, Einsum, ErasedOperand, Pairs};

/// Returns the operands in one type. Tensors are converted to their common format, or to coordinates if the formats
/// differ.
pub(super) fn of_type<'a, T: Element>(operands: &[AnyOperand<'a>]) -> Result<Vec<ErasedOperand<'a, T>>> {
    let format = common_format(operands);
    operands.iter().map(|&operand| brought_operand(widened(operand)?, format)).collect()
}

/// Returns the operands. If one operand is a stored view, all tensors become stored views.
pub(super) fn of_one_view<'a>(operands: &[AnyOperand<'a>]) -> Vec<AnyOperand<'a>> {
    let is_stored = operands.iter().any(|operand| operand.is_stored());
    operands.iter().map(|&operand| if is_stored { operand.stored() } else { operand }).collect()
}

fn forward(spec: &Einsum<'_>, operands: &[AnyOperand<'_>]) -> Result<AnyValue> {
    let operands = of_one_view(operands);
    let view = shown(op::einsum.name, &operands)?;
    in_type!([Product] view.dtype(), T => {
        let all = of_type::<T>(&operands)?;
        let found = ops::einsum(spec, &all.iter().collect::<Vec<_>>());
        view.narrowed::<T>(found, OverflowRule::Overflows(op::einsum.name))
    })
}

fn backward(upstream: AnyOperand<'_>, spec: &Einsum<'_>, operands: &[AnyOperand<'_>]) -> Result<Vec<AnyValue>> {
    let operands = of_one_view(operands);
    check_types(op::einsum_backward.name, &[&operands[..], &[upstream]].concat())?;
    on_upstream!([OwnFloat] upstream, g => {
        let all = of_type(&operands)?;
        let gradients = ops::einsum_backward(spec, &all.iter().collect::<Vec<_>>(), g)?;
        gradients.into_iter().zip(&operands).map(|(gradient, operand)| operand.found(Ok(gradient))).collect()
    })
}

impl<'a> AnyOperand<'a> {
    /// Returns the sum of products that a string describes: see [`einsum()`](crate::einsum()).
    ///
    /// # Errors
    ///
    /// - the errors of [`einsum()`](crate::einsum());
    /// - `TypesDiffer`: the element types differ.
    #[inline]
    pub fn einsum<'s>(spec: impl Into<Einsum<'s>>, operands: &[AnyOperand<'a>]) -> Result<AnyValue> {
        forward(&spec.into(), operands)
    }

    /// Returns the gradient of `einsum` for each operand: see [`grad::einsum`](crate::grad::einsum).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::einsum`](crate::grad::einsum);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    #[inline]
    pub fn einsum_backward<'s>(
        upstream: AnyOperand<'_>,
        spec: impl Into<Einsum<'s>>,
        operands: &[AnyOperand<'a>],
    ) -> Result<Vec<AnyValue>> {
        backward(upstream, &spec.into(), operands)
    }
}

/// Returns an operand with the format of the result: a tensor in coordinate format, if there is one. Rejects operands
/// of different element types.
pub(super) fn shown<'a>(operation: &'static str, operands: &[AnyOperand<'a>]) -> Result<AnyOperand<'a>> {
    check_types(operation, operands)?;
    let format = common_format(operands);
    let shown = operands.iter().find(|operand| operand.format() == Some(format)).or(operands.first());
    let none = || Error::Argument { operation: op::einsum.name, why: "there are no operands".into() };
    shown.copied().ok_or_else(none)
}

impl AnyTensor {
    /// Returns the sum of products that a string describes: see [`einsum()`](crate::einsum()).
    ///
    /// If the formats of the tensors differ, the result is in coordinate format.
    ///
    /// # Errors
    ///
    /// - the errors of [`einsum()`](crate::einsum());
    /// - `TypesDiffer`: the element types differ.
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
        forward(&spec.into(), &all_of(tensors)).map(AnyTensor::of)
    }

    /// Returns the gradient of `einsum` for each tensor: see [`grad::einsum`](crate::grad::einsum).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::einsum`](crate::grad::einsum);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    #[inline]
    pub fn einsum_backward<'a>(
        upstream: &AnyTensor,
        spec: impl Into<Einsum<'a>>,
        tensors: &[&AnyTensor],
    ) -> Result<Vec<AnyTensor>> {
        backward(upstream.into(), &spec.into(), &all_of(tensors)).map(OperandResult::of)
    }
}

fn all_stored<'a>(views: &[AnyStored<'a>]) -> Vec<AnyOperand<'a>> {
    views.iter().map(AnyOperand::from).collect()
}

/// # Sums of products of entries
impl AnyStored<'_> {
    /// Returns the sum of products of stored entries: see [`einsum()`](crate::einsum()).
    ///
    /// # Errors
    ///
    /// - the errors of [`einsum()`](crate::einsum());
    /// - `TypesDiffer`: the element types differ.
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
        forward(&spec.into(), &all_stored(views)).map(AnyTensor::of)
    }

    /// Returns the gradient of `einsum` for each tensor: see [`grad::einsum`](crate::grad::einsum).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::einsum`](crate::grad::einsum);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    #[inline]
    pub fn einsum_backward<'a>(
        upstream: &AnyTensor,
        spec: impl Into<Einsum<'a>>,
        views: &[AnyStored<'_>],
    ) -> Result<Vec<AnyTensor>> {
        backward(upstream.into(), &spec.into(), &all_stored(views)).map(OperandResult::of)
    }
}

on_operands! {
    /// Returns the products of all pairs of elements: see [`outer()`](crate::outer()).
    ///
    /// # Errors
    ///
    /// - the errors of [`outer()`](crate::outer());
    /// - `TypesDiffer`: the element types differ.
    pub fn outer<'r>(&self, other: impl Into<AnyOperand<'r>>) -> Result<AnyTensor> {
        PairProduct::Of(Pairs::Outer).forward(op::outer.name, self, other.into())
    }

    /// Returns the Kronecker product: see [`kron()`](crate::kron()).
    ///
    /// # Errors
    ///
    /// - the errors of [`kron()`](crate::kron());
    /// - `TypesDiffer`: the element types differ.
    pub fn kron<'r>(&self, other: impl Into<AnyOperand<'r>>) -> Result<AnyTensor> {
        PairProduct::Of(Pairs::Kron).forward(op::kron.name, self, other.into())
    }

    /// Returns the sum of products over pairs of axes: see [`tensordot()`](crate::tensordot()).
    ///
    /// # Errors
    ///
    /// - the errors of [`tensordot()`](crate::tensordot());
    /// - `TypesDiffer`: the element types differ.
    pub fn tensordot<'r>(
        &self,
        other: impl Into<AnyOperand<'r>>,
        left: &[isize],
        right: &[isize],
    ) -> Result<AnyTensor> {
        PairProduct::Dots(left, right).forward(op::tensordot.name, self, other.into())
    }

    /// Returns the gradients of both operands of `outer`: see [`grad::outer`](crate::grad::outer).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::outer`](crate::grad::outer);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn outer_backward<'r>(
        &self,
        other: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        PairProduct::Of(Pairs::Outer).backward(op::outer_backward.name, self, other.into(), upstream.into())
    }

    /// Returns the gradients of both operands of `kron`: see [`grad::kron`](crate::grad::kron).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::kron`](crate::grad::kron);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn kron_backward<'r>(
        &self,
        other: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        PairProduct::Of(Pairs::Kron).backward(op::kron_backward.name, self, other.into(), upstream.into())
    }

    /// Returns the gradients of both operands of `tensordot`: see [`grad::tensordot`](crate::grad::tensordot).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::tensordot`](crate::grad::tensordot);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn tensordot_backward<'r>(
        &self,
        other: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
        left: &[isize],
        right: &[isize],
    ) -> Result<(AnyTensor, AnyTensor)> {
        let product = PairProduct::Dots(left, right);
        product.backward(op::tensordot_backward.name, self, other.into(), upstream.into())
    }

    /// Returns the softmax over axes, for arrays and stored entries: see [`softmax()`](crate::softmax()).
    ///
    /// # Errors
    ///
    /// - the errors of [`softmax()`](crate::softmax());
    /// - `NoOperation`: the elements are not floats.
    pub fn softmax(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.found_floats(ops::softmax(&self.floats(op::softmax.name)?, axes))
    }

    /// Returns the logarithm of the softmax: see [`log_softmax`](crate::log_softmax()).
    ///
    /// # Errors
    ///
    /// - the errors of [`log_softmax`](crate::log_softmax());
    /// - `NoOperation`: the elements are not floats.
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
        self.found_floats(ops::log_softmax(&self.floats(op::log_softmax.name)?, axes))
    }

    /// Returns the gradient of `softmax`: see [`grad::softmax`](crate::grad::softmax).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::softmax`](crate::grad::softmax);
    /// - `NoOperation`: the elements are not floats;
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn softmax_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        axes: impl Into<Axes>,
    ) -> Result<AnyTensor> {
        let (x, axes) = (self.floats(op::softmax_backward.name)?, axes.into());
        on_upstream!([OwnFloat] upstream, g => self.found(ops::softmax_backward(&x, g, &axes)))
    }

    /// Returns the gradient of `log_softmax`: see [`grad::log_softmax`](crate::grad::log_softmax).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::log_softmax`](crate::grad::log_softmax);
    /// - `NoOperation`: the elements are not floats;
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn log_softmax_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        axes: impl Into<Axes>,
    ) -> Result<AnyTensor> {
        let (x, axes) = (self.floats(op::log_softmax_backward.name)?, axes.into());
        on_upstream!([OwnFloat] upstream, g => self.found(ops::log_softmax_backward(&x, g, &axes)))
    }
}

/// A product of two operands.
#[derive(Clone, Copy)]
enum PairProduct<'a> {
    /// All pairs of elements.
    Of(Pairs),
    /// Sums of products over these axes of the left and of the right operand.
    Dots(&'a [isize], &'a [isize]),
}

impl PairProduct<'_> {
    fn forward(self, name: &'static str, left: AnyOperand<'_>, right: AnyOperand<'_>) -> Result<AnyValue> {
        let operands = of_one_view(&[left, right]);
        let view = shown(name, &operands)?;
        in_type!([Product] view.dtype(), T => {
            let all = of_type::<T>(&operands)?;
            let found = match self {
                PairProduct::Of(form) => ops::pairs(&all[0], &all[1], form),
                PairProduct::Dots(left, right) => ops::tensordot(&all[0], &all[1], left, right),
            };
            view.narrowed::<T>(found, OverflowRule::Overflows(name))
        })
    }

    /// Returns the gradients of both operands.
    #[inline]
    fn backward(
        self,
        name: &'static str,
        left: AnyOperand<'_>,
        right: AnyOperand<'_>,
        upstream: AnyOperand<'_>,
    ) -> Result<(AnyValue, AnyValue)> {
        let operands = of_one_view(&[left, right]);
        check_types(name, &[operands[0], operands[1], upstream])?;
        on_upstream!([OwnFloat] upstream, g => {
            let all = of_type(&operands)?;
            let (dx, dy) = match self {
                PairProduct::Of(Pairs::Outer) => ops::outer_backward(&all[0], &all[1], g)?,
                PairProduct::Of(Pairs::Kron) => ops::kron_backward(&all[0], &all[1], g)?,
                PairProduct::Dots(left, right) => ops::tensordot_backward(&all[0], &all[1], left, right, g)?,
            };
            Ok((operands[0].found(Ok(dx))?, operands[1].found(Ok(dy))?))
        })
    }
}
