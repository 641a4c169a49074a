//! Products of a dynamically typed tensor with dense factors. A factor that is a tensor is converted to an array. If
//! the operation on static types returns an array, the result is an array.

use ndarray::{Array, ArrayD, Dimension, Ix1};

use super::array::AnyArray;
use super::routes::{in_type, on_upstream};
use super::select::narrow;
use super::view::on_operands;
use super::widen::{OverflowRule, no_order, widened, zeros_of};
use super::zip::check_types;
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::dispatch;
use crate::element::{Element, Float, Number};
use crate::ops::op;
use crate::ops::{self, ErasedResult, Operand};
use crate::tensor::Tensor;

/// Returns a factor as an array; rejects a factor whose rank is not `D`.
fn dense<T: Element, D: Dimension>(what: &'static str, factor: AnyOperand<'_>) -> Result<Array<T, D>> {
    let found = factor.rank();
    let wrong = |_| Error::RankMismatch { what, expected: D::NDIM.unwrap_or(found), found };
    widened::<T>(factor)?.dense()?.into_owned().into_dimensionality().map_err(wrong)
}

fn all_dense<T: Element>(factors: &[AnyOperand<'_>]) -> Result<Vec<ArrayD<T>>> {
    factors.iter().map(|&factor| dense("a factor", factor)).collect()
}

/// Returns the gradient of a factor. If the factor is a tensor, the gradient is on its pattern.
fn of_factor<T: Float>(factor: AnyOperand<'_>, gradient: ArrayD<T>) -> Result<AnyValue> {
    let Some(tensor) = factor.tensor() else { return Ok(AnyArray::from(gradient).into()) };
    let pattern = zeros_of(tensor)?.pattern().clone();
    let values = gradient.erased().at_entries(&pattern)?;
    factor.found(Ok(Tensor::from_valid(pattern, values, T::ZERO)))
}

/// Returns the gradients of an operand and of its factors.
fn gradients<T: Float>(
    x: AnyOperand<'_>,
    dx: impl Into<ErasedResult<T>>,
    factors: &[AnyOperand<'_>],
    of_factors: Vec<ArrayD<T>>,
) -> Result<Vec<AnyValue>> {
    let of_factors = factors.iter().zip(of_factors).map(|(&factor, gradient)| of_factor(factor, gradient));
    std::iter::once(x.found(Ok(dx))).chain(of_factors).collect()
}

on_operands! {
    /// Multiplies the unfolded tensor by the Khatri-Rao product of factors.
    ///
    /// See [`mttkrp()`](crate::mttkrp()).
    ///
    /// # Errors
    ///
    /// - the errors of [`mttkrp()`](crate::mttkrp());
    /// - `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2, 3], 0)?;
    /// let any = AnyTensor::from(x.clone());
    /// let dense = lacuna::mttkrp(&x, 0, &[&x.to_dense()?])?;
    /// assert_eq!(any.mttkrp(0, &[(&any).into()])?, dense.into());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn mttkrp<'r>(&self, mode: impl Position, factors: &[AnyOperand<'r>]) -> Result<AnyArray> {
        let mode = narrow(mode.to_i128());
        check_types(op::mttkrp.name, &[&[self], factors].concat())?;
        in_type!([Product] self.dtype(), T => {
            let arrays = all_dense::<T>(factors)?;
            let found = ops::mttkrp(&widened::<T>(self)?, mode, &arrays.iter().collect::<Vec<_>>());
            self.narrowed::<T>(found, OverflowRule::Overflows(op::mttkrp.name))
        })
    }

    /// Returns the gradients of the tensor and of all factors of `mttkrp`.
    ///
    /// See [`grad::mttkrp`](crate::grad::mttkrp).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::mttkrp`](crate::grad::mttkrp);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn mttkrp_backward<'r>(
        &self,
        mode: impl Position,
        factors: &[AnyOperand<'r>],
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<Vec<AnyValue>> {
        let (mode, upstream) = (narrow(mode.to_i128()), upstream.into());
        check_types(op::mttkrp_backward.name, &[&[self, upstream], factors].concat())?;
        on_upstream!([OwnFloat] upstream, g => {
            let (arrays, g) = (all_dense(factors)?, g.dense()?);
            let arrays: Vec<_> = arrays.iter().collect();
            let (dx, of_factors) = ops::mttkrp_backward(&widened(self)?, mode, &arrays, &g)?;
            gradients(self, dx, factors, of_factors)
        })
    }

    /// Multiplies each lane along an axis by a matrix: see [`ttm()`](crate::ttm()).
    ///
    /// # Errors
    ///
    /// - the errors of [`ttm()`](crate::ttm());
    /// - `RankMismatch`: the matrix does not have two axes;
    /// - `TypesDiffer`: the element types differ.
    pub fn ttm<'r>(&self, matrix: impl Into<AnyOperand<'r>>, axis: impl Position) -> Result<AnyArray> {
        let (matrix, axis) = (matrix.into(), narrow(axis.to_i128()));
        check_types(op::ttm.name, &[self, matrix])?;
        in_type!([Product] self.dtype(), T => {
            let found = ops::ttm(&widened::<T>(self)?, &dense("the matrix", matrix)?, axis);
            self.narrowed::<T>(found, OverflowRule::Overflows(op::ttm.name))
        })
    }

    /// Returns the gradients of both operands of `ttm`: see [`grad::ttm`](crate::grad::ttm).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::ttm`](crate::grad::ttm);
    /// - `RankMismatch`: the matrix does not have two axes;
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn ttm_backward<'r>(
        &self,
        matrix: impl Into<AnyOperand<'r>>,
        axis: impl Position,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyValue)> {
        let (matrix, upstream, axis) = (matrix.into(), upstream.into(), narrow(axis.to_i128()));
        check_types(op::ttm_backward.name, &[self, matrix, upstream])?;
        on_upstream!([OwnFloat] upstream, g => {
            let (dx, dm) = ops::ttm_backward(&widened(self)?, &dense("the matrix", matrix)?, axis, &g.dense()?)?;
            Ok((self.found(Ok(dx))?, of_factor(matrix, dm)?))
        })
    }

    /// Returns the weighted mean along an axis, rounded once: see [`average`](crate::average()).
    ///
    /// # Errors
    ///
    /// - the errors of [`average`](crate::average());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOrder`: the elements are complex.
    pub fn average<'r>(&self, weights: impl Into<AnyOperand<'r>>, axis: impl Position) -> Result<AnyTensor> {
        let (weights, axis) = (weights.into(), narrow(axis.to_i128()));
        check_types(op::average.name, &[self, weights])?;
        in_type!([OwnFloat Truth Signed Unsigned] self.dtype(), T => {
            let weights = dense::<T, Ix1>("the weights", weights)?;
            self.found(ops::average(&widened::<T>(self)?, &weights, axis))
        }, else => Err(no_order(op::average.name, self)))
    }

    /// Returns the gradient of `average` with respect to the operand: see [`grad::average`](crate::grad::average).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::average`](crate::grad::average);
    /// - `TypesDiffer`: the element type of the weights differs;
    /// - `NoOrder`: the elements are complex;
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn average_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        weights: impl Into<AnyOperand<'r>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let (upstream, weights, axis) = (upstream.into(), weights.into(), narrow(axis.to_i128()));
        check_types(op::average_backward.name, &[self, weights])?;
        in_type!([Truth Signed Unsigned Float] self.dtype(), T => {
            let (x, weights) = (widened::<T>(self)?, dense::<T, Ix1>("the weights", weights)?);
            on_upstream!([OwnFloat] upstream, g => self.found(ops::average_backward(&x, g, &weights, axis)))
        }, else => Err(no_order(op::average_backward.name, self)))
    }

    /// Returns the dot product of each lane along an axis with a vector: see [`ttv()`](crate::ttv()).
    ///
    /// # Errors
    ///
    /// - the errors of [`ttv()`](crate::ttv());
    /// - `RankMismatch`: the vector does not have one axis;
    /// - `TypesDiffer`: the element types differ.
    pub fn ttv<'r>(&self, vector: impl Into<AnyOperand<'r>>, axis: impl Position) -> Result<AnyArray> {
        let (vector, axis) = (vector.into(), narrow(axis.to_i128()));
        check_types(op::ttv.name, &[self, vector])?;
        in_type!([Product] self.dtype(), T => {
            let found = ops::ttv(&widened::<T>(self)?, &dense("the vector", vector)?, axis);
            self.narrowed::<T>(found, OverflowRule::Overflows(op::ttv.name))
        })
    }

    /// Returns the gradients of both operands of `ttv`: see [`grad::ttv`](crate::grad::ttv).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::ttv`](crate::grad::ttv);
    /// - `RankMismatch`: the vector does not have one axis;
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats.
    pub fn ttv_backward<'r>(
        &self,
        vector: impl Into<AnyOperand<'r>>,
        axis: impl Position,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyValue)> {
        let (vector, upstream, axis) = (vector.into(), upstream.into(), narrow(axis.to_i128()));
        check_types(op::ttv_backward.name, &[self, vector, upstream])?;
        on_upstream!([OwnFloat] upstream, g => {
            let (dx, dv) = ops::ttv_backward(&widened(self)?, &dense("the vector", vector)?, axis, &g.dense()?)?;
            Ok((self.found(Ok(dx))?, of_factor(vector, dv)?))
        })
    }
}

impl AnyOperand<'_> {
    /// Returns the elements as an array.
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::to_dense`].
    pub fn to_array(self) -> Result<AnyArray> {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => dispatch!(x, x => Ok(x.to_dense()?.into())),
            AnyOperand::Array(x) => Ok(x.clone()),
        }
    }
}

on_operands! {
    /// Multiplies each entry by a dot product of rows of two dense factors.
    ///
    /// See [`Stored::sddmm`](crate::Stored::sddmm).
    ///
    /// # Errors
    ///
    /// - the errors of [`Stored::sddmm`](crate::Stored::sddmm);
    /// - `TypesDiffer`: the element types differ;
    /// - `Argument`: the operand is an array.
    pub fn sddmm<'r>(
        &self,
        l: impl Into<AnyOperand<'r>>,
        r: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let (x, l, r) = (self.sparse(op::sddmm.name)?, l.into(), r.into());
        check_types(op::sddmm.name, &[self, l, r])?;
        let pattern = zeros_of(x)?.pattern().clone();
        let dots = in_type!([Product] x.dtype(), T => {
            let (l, r) = (dense::<T, _>("a factor", l)?, dense("a factor", r)?);
            let dots = ops::dots_at(&pattern, &l.view(), &r.view());
            x.view().narrowed::<T>(dots, OverflowRule::Overflows(op::sddmm.name))
        })?;
        let dots = dots.into_tensor()?.with_fill(x.fill())?;
        Ok(x.stored().mul(dots.stored())?.with_fill(Number::Integer(0))?.into())
    }

    /// Returns the gradients of the entries and of both factors of `sddmm`.
    ///
    /// See [`grad::sddmm`](crate::grad::sddmm).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::sddmm`](crate::grad::sddmm);
    /// - `TypesDiffer`: the element types differ;
    /// - `NotRepresentable`: the elements are not floats;
    /// - `Argument`: the operand is an array.
    pub fn sddmm_backward<'r>(
        &self,
        l: impl Into<AnyOperand<'r>>,
        r: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<Vec<AnyValue>> {
        let (x, factors, upstream) = (self.sparse(op::sddmm_backward.name)?, [l.into(), r.into()], upstream.into());
        check_types(op::sddmm_backward.name, &[self, factors[0], factors[1], upstream])?;
        on_upstream!([OwnFloat] upstream, g => {
            let dense = all_dense(&factors)?;
            let own: Erased<_> = super::widen::widened_tensor(x)?;
            let (dx, dl, dr) = ops::sddmm_backward(&own.stored(), &dense[0], &dense[1], g)?;
            gradients(self, dx, &factors, vec![dl, dr])
        })
    }
}
