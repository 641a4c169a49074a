//! Selection, listing and insertion of entries of dynamically typed tensors.
//!
//! The entries are determined once for all element types. The values are gathered per type.

use super::map::{in_type_of, wide};
use super::routes::{in_type, on_upstream};
use super::view::{in_format, on_operands};
use super::widen::{not_for, truth_of, widened, zeros_of};
use super::{AnyArray, AnyOperand, AnyTensor, Erased};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::dispatch;
use crate::element::{DType, Element, Number};
use crate::ops;
use crate::ops::op;
use crate::pattern::AnyPattern;
use crate::tensor::Tensor;

/// Rejects a nonzero fill. `target` is a format without a fill.
fn check_zero(x: &AnyTensor, target: &'static str) -> Result<()> {
    match dispatch!(x, x => x.fill().is_truthy()) {
        true => Err(Error::FillNotZero { fill: x.fill().to_string(), target }),
        false => Ok(()),
    }
}

/// Returns the values of a mask at the entries of a tensor.
fn marks(operation: &'static str, x: &Erased<bool>, mask: AnyOperand<'_>) -> Result<Erased<bool>> {
    if mask.dtype() != DType::Bool {
        return Err(not_for(operation, mask, "the mask must be bool"));
    }
    if mask.shape() != *x.shape() {
        let (expected, found) = (x.shape().clone(), mask.shape());
        return Err(Error::ShapeMismatch { what: "the mask", expected, found });
    }
    let marks = widened::<bool>(mask.whole())?.at_entries(x.pattern())?;
    Ok(Tensor::from_valid(x.pattern().clone(), marks, false))
}

/// Returns the values of entries, given the number of each entry. Numbers after the numbers of the old entries denote
/// new entries.
fn numbered<T: Element>(x: &Erased<T>, ids: &Erased<u64>, new: &[Number]) -> Result<Erased<T>> {
    let value = |&id: &u64| match x.values().get(id as usize) {
        Some(&old) => old,
        None => wide(new[id as usize - x.nnz()]),
    };
    let values = alloc::collect(ids.values().iter().map(value))?;
    Ok(Tensor::from_valid(ids.pattern().clone(), values, x.fill()))
}

on_operands! {
    /// Returns the entries where `mask` is true: see [`Tensor::select`].
    ///
    /// The mask is a tensor or an array of `bool`, such as the result of a comparison or a predicate.
    ///
    /// # Errors
    ///
    /// - the errors of [`Tensor::select`];
    /// - `NoOperation`: the mask is not `bool`;
    /// - `ShapeMismatch`: the mask does not have the shape of the tensor;
    /// - `Argument`: the operand is an array.
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
        let x = self.sparse(op::select.name)?;
        let marks = marks(op::select.name, &zeros_of(x)?, mask.into())?.select(|is_marked| is_marked)?;
        let ids = entry_numbers(x)?;
        let kept = ids.stored().mask(marks.pattern())?;
        dispatch!(x, x => self.found(numbered(x, &kept, &[])))
    }

    /// Returns the gradient of `select` for the same mask: see [`grad::select`](crate::grad::select).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::select`](crate::grad::select);
    /// - `NoOperation`: the mask is not `bool`;
    /// - `ShapeMismatch`: the mask does not have the shape of the tensor;
    /// - `Argument`: the operand is an array.
    pub fn select_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let marks = marks(op::select_backward.name, &zeros_of(self.sparse(op::select_backward.name)?)?, mask.into())?;
        on_upstream!([Any] upstream, g => self.found(ops::select_backward(&marks, g, |is_marked| is_marked)))
    }

    /// Returns the gradient of `mask`: see [`grad::mask`](crate::grad::mask).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::mask`](crate::grad::mask);
    /// - `Argument`: the operand or `mask` is an array.
    pub fn mask_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let [zeros, mask] = zeros_of_both("mask_backward", [self, mask.into()])?;
        on_upstream!([Any] upstream, g => self.found(ops::mask_backward(&zeros.stored(), g, mask.pattern())))
    }

    /// Returns the gradient of `without`: see [`grad::without`](crate::grad::without).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::without`](crate::grad::without);
    /// - `Argument`: the operand or `mask` is an array.
    pub fn without_backward<'r>(
        &self,
        upstream: impl Into<AnyOperand<'r>>,
        mask: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let [zeros, mask] = zeros_of_both("without_backward", [self, mask.into()])?;
        on_upstream!([Any] upstream, g => self.found(ops::without_backward(&zeros.stored(), g, mask.pattern())))
    }
}

/// Returns zeros on the patterns of two tensors.
fn zeros_of_both(operation: &'static str, [x, mask]: [AnyOperand<'_>; 2]) -> Result<[Erased<bool>; 2]> {
    Ok([zeros_of(x.sparse(operation)?)?, zeros_of(mask.sparse(operation)?)?])
}

/// Returns a tensor whose values are the numbers of its entries.
fn entry_numbers(x: &AnyTensor) -> Result<Erased<u64>> {
    let pattern = x.pattern();
    let numbers = alloc::collect((0..pattern.nnz()).map(|entry| entry as u64))?;
    Ok(Tensor::from_valid(pattern, numbers, 0))
}

/// # Entries
impl AnyTensor {
    /// Returns the coordinates of the nonzero elements: see [`Tensor::nonzero`].
    ///
    /// The result has a row per element, in row-major order, and a column per axis.
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::nonzero`].
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
        check_zero(self, "the coordinates of nonzero elements")?;
        let found = truth_of(self)?.select(|is_truthy| is_truthy)?;
        let (rank, count) = (self.rank(), found.nnz());
        let axes = found.pattern().axes()?;
        let size = count.checked_mul(rank).ok_or(Error::AxisOverflow { axis: 0 })?;
        let coords = alloc::collect((0..size).map(|at| axes[at % rank].at(at / rank) as u64))?;
        Ok(dense_array(&Shape::from([count, rank]), coords).into())
    }

    /// Returns the tensor with given entries inserted: see [`Tensor::with_entries`].
    ///
    /// # Errors
    ///
    /// - the errors of [`Tensor::with_entries`];
    /// - `Cast`: a number cannot be converted to the element type.
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
        dispatch!(self, x => in_format(&numbered(x, &ids, &new)?, self.format(), self.stored_bytes()))
    }

    /// Returns the square matrix with this vector on a diagonal: see [`CooTensor::diag`](crate::CooTensor::diag).
    ///
    /// The matrix stores exactly the entries of the vector.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the tensor is not a vector;
    /// - `FillNotZero`: some positions are unstored, and the fill is not zero;
    /// - `AxisOverflow`: the number of rows does not fit in `usize`;
    /// - `TooLarge`: CSR offsets would need more than the larger of 1 GiB and 16 times the bytes of the tensor.
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
        dispatch!(self, x => in_format(&on_zero(x, pattern), self.format(), self.stored_bytes()))
    }
}

/// Returns the values on another pattern, with the fill 0.
fn on_zero<T: Element>(x: &Erased<T>, pattern: AnyPattern) -> Erased<T> {
    Tensor::from_shared(pattern, x.shared_values().clone(), T::ZERO)
}

impl AnyTensor {
    /// Returns the pattern in either format.
    pub(crate) fn pattern(&self) -> AnyPattern {
        dispatch!(self, x => x.pattern().clone())
    }

    /// Returns a tensor of the given shape that stores only the first entry, if there is one.
    pub(crate) fn first_in(&self, shape: &Shape) -> Result<AnyTensor> {
        let (own, count) = (self.pattern(), self.nnz().min(1));
        let of_axis = |axis| (0..count).map(|entry| own.coord(entry, axis) as u64).collect::<Vec<_>>();
        let coords = (0..shape.rank()).map(|axis| of_axis(axis).into()).collect();
        let pattern = AnyPattern::valid_coo(shape.clone(), count, Width::U64, coords);
        dispatch!(self, x => {
            let first = Tensor::from_shared(pattern, x.shared_values().slice(0..count), x.fill());
            in_format(&first, self.format(), 0)
        })
    }
}
