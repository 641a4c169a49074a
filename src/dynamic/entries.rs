//! Entries chosen, listed and put in, of tensors whose types are known at run time only.
//!
//! Which entries these are is found once for all element types; the values are gathered type by type.

use super::map::{in_type_of, wide};
use super::reduce::on_upstream;
use super::view::{in_format, on_operands};
use super::widen::{not_for, truth_of, widened, zeros_of};
use super::{AnyArray, AnyOperand, AnyTensor, Erased, on_type};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::dispatch;
use crate::element::{DType, Element, Number};
use crate::ops::{self, Operand};
use crate::pattern::AnyPattern;
use crate::tensor::Tensor;

/// Refuses a fill that is not zero, of positions that `target` does not hold.
fn check_zero(x: &AnyTensor, target: &'static str) -> Result<()> {
    match dispatch!(x, x => x.fill().is_truthy()) {
        true => Err(Error::FillNotZero { fill: x.fill().to_string(), target }),
        false => Ok(()),
    }
}

/// Which entries of a tensor stand where a mask holds.
fn marks(operation: &'static str, x: &Erased<bool>, mask: AnyOperand<'_>) -> Result<Erased<bool>> {
    if mask.dtype() != DType::Bool {
        return Err(not_for(operation, mask, "the mask is bool"));
    }
    if mask.shape() != *x.shape() {
        let (expected, found) = (x.shape().clone(), mask.shape());
        return Err(Error::ShapeMismatch { what: "the mask", expected, found });
    }
    let marks = widened::<bool>(mask.whole())?.at_entries(x.pattern())?;
    Ok(Tensor::from_valid(x.pattern().clone(), marks, false))
}

/// The values of old entries and of new ones, by the numbers that both have.
fn numbered<T: Element>(x: &Erased<T>, ids: &Erased<u64>, new: &[Number]) -> Result<Erased<T>> {
    let value = |&id: &u64| match x.values().get(id as usize) {
        Some(&old) => old,
        None => wide(new[id as usize - x.nnz()]),
    };
    let values = alloc::collect(ids.values().iter().map(value))?;
    Ok(Tensor::from_valid(ids.pattern().clone(), values, x.fill()))
}

on_operands! {
    /// The entries that stand where `mask`, a tensor of `bool`, holds: see [`Tensor::select`]. A test of values is such
    /// a mask.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::select`]; `NoOperation`: the mask is not `bool`; `ShapeMismatch`: it has another shape.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::{CooTensor, Number};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![3.0, -1.0, 8.0], 0.0)?;
    /// let any = AnyTensor::from(x.clone());
    /// let selected = any.select(&any.greater(Number::Integer(1))?)?;
    /// assert_eq!(selected, x.select(|value| value > 1.0)?.into());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn select<'r>(&self, mask: impl Into<AnyOperand<'r>>) -> Result<AnyTensor> {
        let x = self.sparse("select")?;
        let marks = marks("select", &zeros_of(x)?, mask.into())?.select(|is_marked| is_marked)?;
        let ids = entry_numbers(x)?;
        let kept = ids.stored().mask(marks.pattern())?;
        on_type!(x, x => self.found(numbered(x, &kept, &[])))
    }

    /// The gradient of `select`, for the same mask: see [`Tensor::select_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::select_backward`], and of `select`.
    pub fn select_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let marks = marks("select_backward", &zeros_of(self.sparse("select_backward")?)?, mask.into())?;
        on_upstream!(upstream, g => self.found(marks.select_backward(g, |is_marked| is_marked)))
    }

    /// The gradient of `mask`: see [`Stored::mask_backward`](crate::Stored::mask_backward).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::mask_backward`](crate::Stored::mask_backward).
    pub fn mask_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let name = "mask_backward";
        let (zeros, mask) = (zeros_of(self.sparse(name)?)?, zeros_of(mask.into().sparse(name)?)?);
        on_upstream!(upstream, g => self.found(zeros.stored().mask_backward(g, mask.pattern())))
    }

    /// The gradient of `without`: see [`Stored::without_backward`](crate::Stored::without_backward).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::without_backward`](crate::Stored::without_backward).
    pub fn without_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let name = "without_backward";
        let (zeros, mask) = (zeros_of(self.sparse(name)?)?, zeros_of(mask.into().sparse(name)?)?);
        on_upstream!(upstream, g => self.found(zeros.stored().without_backward(g, mask.pattern())))
    }
}

/// The entries of a tensor by their numbers.
fn entry_numbers(x: &AnyTensor) -> Result<Erased<u64>> {
    let pattern: AnyPattern = dispatch!(x, x => x.pattern().clone());
    let numbers = alloc::collect((0..pattern.nnz()).map(|entry| entry as u64))?;
    Ok(Tensor::from_valid(pattern, numbers, 0))
}

/// # Entries
impl AnyTensor {
    /// The coordinates of the elements that are not zero, one row an element, in row-major order: see
    /// [`Tensor::nonzero`].
    ///
    /// The result has as many columns as the tensor has axes.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::nonzero`].
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 0.0, 8.0], 0.0)?;
    /// let found = AnyTensor::from(x).nonzero()?;
    /// assert_eq!(found, lacuna::ndarray::arr2(&[[0u64, 0], [1, 1]]).into_dyn().into());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn nonzero(&self) -> Result<AnyArray> {
        check_zero(self, "the list of what is not zero")?;
        let found = truth_of(self)?.select(|is_truthy| is_truthy)?;
        let (rank, count) = (self.rank(), found.nnz());
        let axes = found.pattern().axes()?;
        let size = count.checked_mul(rank).ok_or(Error::AxisOverflow { axis: 0 })?;
        let coords = alloc::collect((0..size).map(|at| axes[at % rank].at(at / rank) as u64))?;
        Ok(dense_array(&Shape::from([count, rank]), coords).into())
    }

    /// The same tensor with other entries put in: see [`Tensor::with_entries`].
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::with_entries`]; `Cast`: a number is no value of the element type.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::{CooTensor, Number};
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![3, 8], 0)?;
    /// let y = AnyTensor::from(x.clone()).with_entries(&[([0, 1], Number::Integer(4))])?;
    /// assert_eq!(y, x.with_entries([([0, 1], 4)])?.into());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn with_entries<C: AsRef<[usize]>>(&self, entries: &[(C, Number)]) -> Result<AnyTensor> {
        let new = entries.iter().map(|(_, number)| in_type_of(self.dtype(), *number)).collect::<Result<Vec<_>>>()?;
        let first = self.nnz() as u64;
        let put = entries.iter().zip(first..).map(|((coords, _), id)| (coords.as_ref(), id));
        let ids = entry_numbers(self)?.with_entries(put)?;
        on_type!(self, x => in_format(&numbered(x, &ids, &new)?, self.format(), self.stored_bytes()))
    }

    /// The square matrix with this vector on a diagonal: see [`CooTensor::diag`](crate::CooTensor::diag).
    ///
    /// What the vector stores is stored.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: this is no vector;
    /// - `FillNotZero`: not all of it is stored, and what is not is not zero;
    /// - `AxisOverflow`, and `TooLarge` of compressed offsets.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![0, 1]], vec![5, 6], 0)?);
    /// assert_eq!(x.diag(1)?, CooTensor::diag(vec![5, 6], 1)?.into());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn diag(&self, offset: isize) -> Result<AnyTensor> {
        ops::diagonal_side(self.shape(), offset)?;
        if self.nnz() < self.shape()[0] {
            check_zero(self, "a diagonal")?;
        }
        let pattern = ops::diagonal_pattern(zeros_of(self)?.pattern(), offset, default_limit(self.stored_bytes()))?;
        on_type!(self, x => in_format(&on_zero(x, pattern), self.format(), self.stored_bytes()))
    }
}

/// The values on another pattern, with a fill of zero.
fn on_zero<T: Element>(x: &Erased<T>, pattern: AnyPattern) -> Erased<T> {
    Tensor::from_shared(pattern, x.shared_values().clone(), T::ZERO)
}
