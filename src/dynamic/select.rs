//! Indexing, shape manipulation and concatenation of dynamically typed tensors, and their gradients.
//!
//! The positions are planned once for all element types. The values are gathered per type.

use ndarray::{ArrayD, Axis, SliceInfoElem};

use super::routes::{in_type, on_upstream};
use super::view::{OperandResult, in_format, on_operands};
use super::widen::{condition, widened, widened_tensor, zeros, zeros_of};
use super::zip::{brought, brought_operand, check_types, common_format};
use super::{AnyArray, AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::alloc;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::convert::{check_ndarray_shape, copied, dense_array};
use crate::dispatch;
use crate::element::Element;
use crate::ops::op;
use crate::ops::{self, ErasedOperand, ErasedResult, PointwiseTake, Select, Take, linked, moved};
use crate::pattern::Format;
use crate::tensor::Tensor;

/// Returns the elements that a descriptor selects.
#[inline]
pub(crate) fn chosen(x: AnyOperand<'_>, op: &moved::Moves) -> Result<AnyValue> {
    in_type!([Any] x.dtype(), T => x.found(ops::select_with(&widened::<T>(x)?, op)))
}

/// Returns the gradient of [`chosen`].
#[inline]
pub(crate) fn chosen_backward(x: AnyOperand<'_>, upstream: AnyOperand<'_>, op: &moved::Moves) -> Result<AnyValue> {
    if let Some(tensor) = x.tensor() {
        dispatch!(tensor, x => op.check_fill(x.fill()))?;
    }
    let zeros = zeros(x)?;
    on_upstream!([Any] upstream, g => x.found(ops::select_with_backward(&zeros, op, g)))
}

/// Defines the methods of shape manipulation and their gradients.
macro_rules! moves {
    ($($name:ident($($arg:ident: $type:ty),*) = $moves:ident, $backward:ident;)*) => {
        on_operands! {$(
            #[doc = concat!("Returns the result of [`", stringify!($name), "()`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "()`](crate::", stringify!($name), "()).")]
            pub fn $name(&self $(, $arg: $type)*) -> Result<AnyTensor> {
                chosen(self, &moved::$moves(&self.shape(), $($arg),*)?)
            }

            #[doc = concat!("Returns the gradient of `", stringify!($name), "`: see ", linked!($name in grad),
                ".\n\n# Errors\n\nThe errors of ", linked!($name in grad), ".")]
            pub fn $backward<'u>(&self, upstream: impl Into<AnyOperand<'u>> $(, $arg: $type)*) -> Result<AnyTensor> {
                chosen_backward(self, upstream.into(), &moved::$moves(&self.shape(), $($arg),*)?)
            }
        )*}
    };
}

moves! {
    slice(slices: &[SliceInfoElem]) = sliced, slice_backward;
    flip(axes: impl Into<Axes>) = flipped, flip_backward;
    roll(places: isize, axis: impl Position) = rolled, roll_backward;
    pad(widths: &[(usize, usize)]) = padded, pad_backward;
    tile(times: &[usize]) = tiled, tile_backward;
    repeat(times: usize, axis: impl Position) = repeated, repeat_backward;
    broadcast_to(shape: impl Into<Shape>) = broadcast, broadcast_to_backward;
    squeeze(axes: impl Into<Axes>) = squeezed, squeeze_backward;
    expand_dims(axes: impl Into<Axes>) = expanded, expand_dims_backward;
    transpose() = transposed, transpose_backward;
    move_axis(from: impl Position, to: impl Position) = moved, move_axis_backward;
    tril(offset: isize) = lower, tril_backward;
    triu(offset: isize) = upper, triu_backward;
    diagonal(offset: isize) = on_diagonal, diagonal_backward;
}

on_operands! {
    /// Returns the tensor with its axes in another order: see [`permute_axes`](crate::CooTensor::permute_axes).
    ///
    /// # Errors
    ///
    /// The errors of [`permute_axes`](crate::CooTensor::permute_axes).
    pub fn permute_axes(&self, axes: &[isize]) -> Result<AnyTensor> {
        chosen(self, &moved::permuted(&self.shape(), axes)?)
    }

    /// Returns the gradient of [`permute_axes`](crate::CooTensor::permute_axes).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::transpose`](crate::grad::transpose) and of
    /// [`permute_axes`](crate::CooTensor::permute_axes).
    pub fn permute_axes_backward<'u>(
        &self,
        upstream: impl Into<AnyOperand<'u>>,
        axes: &[isize],
    ) -> Result<AnyTensor> {
        chosen_backward(self, upstream.into(), &moved::permuted(&self.shape(), axes)?)
    }

    /// Returns the same elements in another shape: see [`reshape`](crate::CooTensor::reshape).
    ///
    /// # Errors
    ///
    /// The errors of [`reshape`](crate::CooTensor::reshape).
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<AnyTensor> {
        let shape = shape.into();
        let Some(x) = self.tensor() else { return reshaped_array(self, &shape) };
        let pattern = zeros_of(x)?.pattern().to_coo()?.reshape(shape)?;
        dispatch!(x, x => self.found(Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()))))
    }

    /// Returns the elements at flat indices: see [`take`](crate::take()).
    ///
    /// # Errors
    ///
    /// The errors of [`take`](crate::take()).
    pub fn take<'p, J: Position>(&self, positions: impl Into<Take<'p, J>>) -> Result<AnyTensor> {
        let positions = positions.into();
        in_type!([Any] self.dtype(), T => self.found(ops::take(&widened::<T>(self)?, positions)))
    }

    /// Returns the slices at positions of one axis: see [`take_axis`](crate::take_axis()).
    ///
    /// # Errors
    ///
    /// The errors of [`take_axis`](crate::take_axis()).
    pub fn take_axis<'p, J: Position>(
        &self,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let positions = positions.into();
        in_type!([Any] self.dtype(), T => self.found(ops::take_axis(&widened::<T>(self)?, positions, axis)))
    }

    /// Returns the elements at positions, with one list of indices per axis.
    ///
    /// See [`gather`](crate::gather()).
    ///
    /// # Errors
    ///
    /// The errors of [`gather`](crate::gather()).
    pub fn gather<'p, J: Position>(
        &self,
        positions: impl IntoIterator<Item = impl Into<Take<'p, J>>>,
    ) -> Result<AnyTensor> {
        let op = PointwiseTake::new(&self.shape(), positions)?;
        in_type!([Any] self.dtype(), T => self.found(ops::select_with(&widened::<T>(self)?, &op)))
    }

    /// Returns the gradient of `gather`: see [`grad::gather`](crate::grad::gather).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::gather`](crate::grad::gather).
    pub fn gather_backward<'p, J: Position>(
        &self,
        upstream: impl Into<AnyOperand<'p>>,
        positions: impl IntoIterator<Item = impl Into<Take<'p, J>>>,
    ) -> Result<AnyTensor> {
        let (zeros, op) = (zeros(self)?, PointwiseTake::new(&self.shape(), positions)?);
        on_upstream!([Any] upstream, g => self.found(ops::select_with_backward(&zeros, &op, g)))
    }

    /// Returns the elements along an axis at positions: see [`take_along_axis`](crate::take_along_axis()).
    ///
    /// # Errors
    ///
    /// The errors of [`take_along_axis`](crate::take_along_axis()).
    pub fn take_along_axis<'p, J: Position>(
        &self,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let op = PointwiseTake::along(&self.shape(), positions.into(), axis)?;
        in_type!([Any] self.dtype(), T => self.found(ops::select_with(&widened::<T>(self)?, &op)))
    }

    /// Returns the gradient of `take_along_axis`: see [`grad::take_along_axis`](crate::grad::take_along_axis).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::take_along_axis`](crate::grad::take_along_axis).
    pub fn take_along_axis_backward<'p, J: Position>(
        &self,
        upstream: impl Into<AnyOperand<'p>>,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let (zeros, op) = (zeros(self)?, PointwiseTake::along(&self.shape(), positions.into(), axis)?);
        on_upstream!([Any] upstream, g => self.found(ops::select_with_backward(&zeros, &op, g)))
    }

    /// Returns the gradient of `take`: see [`grad::take`](crate::grad::take).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::take`](crate::grad::take).
    pub fn take_backward<'p, J: Position>(
        &self,
        upstream: impl Into<AnyOperand<'p>>,
        positions: impl Into<Take<'p, J>>,
    ) -> Result<AnyTensor> {
        let (zeros, positions) = (zeros(self)?, positions.into());
        on_upstream!([Any] upstream, g => self.found(ops::take_backward(&zeros, g, positions)))
    }

    /// Returns the gradient of `take_axis`: see [`grad::take_axis`](crate::grad::take_axis).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::take_axis`](crate::grad::take_axis).
    pub fn take_axis_backward<'p, J: Position>(
        &self,
        upstream: impl Into<AnyOperand<'p>>,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let (zeros, positions) = (zeros(self)?, positions.into());
        on_upstream!([Any] upstream, g => self.found(ops::take_axis_backward(&zeros, g, positions, axis)))
    }
}

impl AnyTensor {
    /// Concatenates tensors of the same element type along an axis: see [`concat()`](crate::concat()).
    ///
    /// If the formats of the tensors differ, the result is in coordinate format.
    ///
    /// # Errors
    ///
    /// - the errors of [`concat()`](crate::concat());
    /// - `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![1]], vec![7u8], 0)?);
    /// assert_eq!(AnyTensor::concat(0, &[&x, &x])?.shape()[..], [4]);
    /// assert_eq!(AnyTensor::stack(0, &[&x, &x])?.shape()[..], [2, 2]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[inline]
    pub fn concat(axis: impl Position, tensors: &[&AnyTensor]) -> Result<AnyTensor> {
        AnyOperand::concat(axis, &all_of(tensors)).map(OperandResult::of)
    }

    /// Stacks tensors of the same shape and element type along a new axis: see [`stack`](crate::stack()).
    ///
    /// # Errors
    ///
    /// - the errors of [`stack`](crate::stack());
    /// - `TypesDiffer`: the element types differ.
    #[inline]
    pub fn stack(axis: impl Position, tensors: &[&AnyTensor]) -> Result<AnyTensor> {
        AnyOperand::stack(axis, &all_of(tensors)).map(OperandResult::of)
    }

    /// Returns the gradient of `concat` for each tensor: see [`grad::concat`](crate::grad::concat).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::concat`](crate::grad::concat).
    #[inline]
    pub fn concat_backward(
        upstream: &AnyTensor,
        axis: impl Position,
        tensors: &[&AnyTensor],
    ) -> Result<Vec<AnyTensor>> {
        AnyOperand::concat_backward(upstream.into(), axis, &all_of(tensors)).map(OperandResult::of)
    }

    /// Returns the gradient of `stack` for each tensor: see [`grad::stack`](crate::grad::stack).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::stack`](crate::grad::stack).
    #[inline]
    pub fn stack_backward(upstream: &AnyTensor, axis: impl Position, tensors: &[&AnyTensor]) -> Result<Vec<AnyTensor>> {
        AnyOperand::stack_backward(upstream.into(), axis, &all_of(tensors)).map(OperandResult::of)
    }
}

impl<'a> AnyOperand<'a> {
    /// Concatenates operands of the same element type along an axis: see [`concat()`](crate::concat()).
    ///
    /// If all operands are arrays, the result is an array. Otherwise the result is a tensor that stores every element
    /// of the arrays, and that has the fill of the tensors.
    ///
    /// # Errors
    ///
    /// - the errors of [`concat()`](crate::concat());
    /// - `TypesDiffer`: the element types differ.
    #[inline]
    pub fn concat(axis: impl Position, operands: &[AnyOperand<'a>]) -> Result<AnyValue> {
        joined(op::concat.name, operands, JoinKind::Concat, axis.to_i128())
    }

    /// Stacks operands of the same shape and element type along a new axis: see [`stack`](crate::stack()).
    ///
    /// # Errors
    ///
    /// - the errors of [`stack`](crate::stack());
    /// - `TypesDiffer`: the element types differ.
    #[inline]
    pub fn stack(axis: impl Position, operands: &[AnyOperand<'a>]) -> Result<AnyValue> {
        joined(op::stack.name, operands, JoinKind::Stack, axis.to_i128())
    }

    /// Returns the gradient of `concat` for each operand: see [`grad::concat`](crate::grad::concat).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::concat`](crate::grad::concat).
    #[inline]
    pub fn concat_backward(
        upstream: AnyOperand<'_>,
        axis: impl Position,
        operands: &[AnyOperand<'a>],
    ) -> Result<Vec<AnyValue>> {
        joined_backward(upstream, operands, JoinKind::Concat, axis.to_i128())
    }

    /// Returns the gradient of `stack` for each operand: see [`grad::stack`](crate::grad::stack).
    ///
    /// # Errors
    ///
    /// The errors of [`grad::stack`](crate::grad::stack).
    #[inline]
    pub fn stack_backward(
        upstream: AnyOperand<'_>,
        axis: impl Position,
        operands: &[AnyOperand<'a>],
    ) -> Result<Vec<AnyValue>> {
        joined_backward(upstream, operands, JoinKind::Stack, axis.to_i128())
    }
}

on_operands! {
    /// Returns the differences of neighbours along an axis: see [`diff`](crate::diff()).
    ///
    /// # Errors
    ///
    /// - the errors of [`diff`](crate::diff());
    /// - `NoOperation`: the elements are `bool`.
    pub fn diff(&self, n: usize, axis: impl Position) -> Result<AnyTensor> {
        ops::check_order(n)?;
        let axis = normalize_axis(axis.to_i128(), self.rank())?;
        let whole = chosen(self, &moved::unmoved(&self.shape()))?;
        (0..n.min(self.shape()[axis])).try_fold(whole, |found, _| {
            let [upper, lower] = halves(AnyOperand::from(&found), axis)?;
            let [upper, lower] = [&upper, &lower].map(|half| like(self, half));
            upper.sub(lower).map_err(ops::in_diff)
        })
    }

    /// Returns the gradient of `diff`: see [`grad::diff`](crate::grad::diff).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::diff`](crate::grad::diff);
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn diff_backward<'u>(
        &self,
        upstream: impl Into<AnyOperand<'u>>,
        n: usize,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let zeros = zeros(self)?;
        on_upstream!([OwnFloat] upstream, g => self.found(ops::diff_backward(&zeros, g, n, axis)))
    }
}

/// Returns the operand without its first position of an axis, and without the last one.
fn halves(x: AnyOperand<'_>, axis: usize) -> Result<[AnyValue; 2]> {
    let [upper, lower] = moved::halves(&x.shape(), axis).map(|moves| chosen(x, &moves));
    Ok([upper?, lower?])
}

/// Returns a result as an operand that counts the same positions as `x`.
fn like<'a>(x: AnyOperand<'_>, found: &'a AnyValue) -> AnyOperand<'a> {
    if x.is_stored() { AnyOperand::from(found).stored() } else { found.into() }
}

on_operands! {
    /// Returns one of two elements, by a condition of type `bool`: see [`where_`](crate::where_()).
    ///
    /// # Errors
    ///
    /// - the errors of [`where_`](crate::where_());
    /// - `NoOperation`: the condition is not `bool`;
    /// - `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = AnyTensor::from(CooTensor::new([2], vec![vec![1]], vec![-7i8], 0)?);
    /// let is_negative = x.less(lacuna::Number::Integer(0))?;
    /// assert_eq!(is_negative.where_(&x.neg()?, &x)?, x.abs()?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn where_<'r>(
        &self,
        yes: impl Into<AnyOperand<'r>>,
        no: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        let (yes, no) = (yes.into().whole(), no.into().whole());
        check_types(op::where_.name, &[yes, no])?;
        let condition = condition(op::where_.name, self)?;
        let format = common_format(&[self, yes, no]);
        let condition = brought_operand(condition, format)?;
        let bytes = [self, yes, no].iter().fold(0usize, |bytes, one| bytes.saturating_add(one.held_bytes()));
        in_type!([Any] yes.dtype(), T => {
            let (one, other) = (brought_operand(widened::<T>(yes)?, format)?, brought_operand(widened(no)?, format)?);
            found_in(ops::where_run_time(&condition, &one, &other)?, format, bytes)
        })
    }
}

on_operands! {
    /// Returns the stored entries at positions that `mask` stores: see [`Stored::mask`](crate::Stored::mask).
    ///
    /// # Errors
    ///
    /// - the errors of [`Stored::mask`](crate::Stored::mask);
    /// - `Argument`: the operand or `mask` is an array.
    pub fn mask<'r>(&self, mask: impl Into<AnyOperand<'r>>) -> Result<AnyTensor> {
        let (x, mask) = (self.sparse("mask")?, zeros_of(mask.into().sparse("mask")?)?);
        dispatch!(x, x => self.found(x.stored().mask(mask.pattern())))
    }

    /// Returns the stored entries at positions that `mask` does not store.
    ///
    /// See [`Stored::without`](crate::Stored::without).
    ///
    /// # Errors
    ///
    /// - the errors of [`Stored::without`](crate::Stored::without);
    /// - `Argument`: the operand or `mask` is an array.
    pub fn without<'r>(&self, mask: impl Into<AnyOperand<'r>>) -> Result<AnyTensor> {
        let (x, mask) = (self.sparse("without")?, zeros_of(mask.into().sparse("without")?)?);
        dispatch!(x, x => self.found(x.stored().without(mask.pattern())))
    }
}

/// A kind of concatenation: along an axis, or along a new axis.
#[derive(Clone, Copy)]
enum JoinKind {
    Concat,
    Stack,
}

/// Returns tensors as operands.
pub(super) fn all_of<'a>(tensors: &[&'a AnyTensor]) -> Vec<AnyOperand<'a>> {
    tensors.iter().map(|&tensor| tensor.into()).collect()
}

/// Operands of one kind.
enum OneKind<T> {
    Arrays(Vec<ArrayD<T>>),
    Tensors(Vec<Erased<T>>),
}

/// Returns the operands as arrays, if all are arrays. Otherwise an array becomes a tensor that stores every element,
/// with the fill of the first tensor.
fn of_one_kind<T: Element>(operands: &[AnyOperand<'_>]) -> Result<OneKind<T>> {
    let Some(first) = operands.iter().find_map(|operand| operand.tensor()) else {
        let array = |&operand: &AnyOperand<'_>| Ok(widened::<T>(operand)?.dense()?.into_owned());
        return Ok(OneKind::Arrays(operands.iter().map(array).collect::<Result<_>>()?));
    };
    let (format, fill) = (common_format(operands), widened_tensor::<T>(first)?.fill());
    let tensor = |&operand: &AnyOperand<'_>| match widened::<T>(operand)? {
        ErasedOperand::Sparse(x) => brought(&x.sparse().to_erased(), format),
        ErasedOperand::Array(x) => x.all_stored(format, fill),
    };
    Ok(OneKind::Tensors(operands.iter().map(tensor).collect::<Result<_>>()?))
}

/// Returns a result; a tensor is returned in the given format.
fn found_in<T: Element>(found: ErasedResult<T>, format: Format, bytes: usize) -> Result<AnyValue> {
    Ok(match found {
        ErasedResult::Tensor(found) => in_format(&found, format, bytes)?.into(),
        ErasedResult::Array(found) => AnyArray::from(found).into(),
    })
}

#[inline]
fn joined(operation: &'static str, operands: &[AnyOperand<'_>], join: JoinKind, axis: i128) -> Result<AnyValue> {
    check_types(operation, operands)?;
    let Some(&first) = operands.first() else {
        return Err(Error::NoTensor);
    };
    let (format, axis) = (common_format(operands), narrow(axis));
    let bytes = operands.iter().fold(0usize, |bytes, operand| bytes.saturating_add(operand.held_bytes()));
    in_type!([Any] first.dtype(), T => {
        let found: ErasedResult<T> = match (of_one_kind::<T>(operands)?, join) {
            (OneKind::Tensors(all), JoinKind::Concat) => ops::concat(axis, &all)?.into(),
            (OneKind::Tensors(all), JoinKind::Stack) => ops::stack(axis, &all)?.into(),
            (OneKind::Arrays(all), join) => joined_arrays(&all, join, axis)?.into(),
        };
        found_in(found, format, bytes)
    })
}

/// Concatenates arrays.
fn joined_arrays<T: Element>(arrays: &[ArrayD<T>], join: JoinKind, axis: i64) -> Result<ArrayD<T>> {
    let rank = arrays[0].ndim() + usize::from(matches!(join, JoinKind::Stack));
    let axis = normalize_axis(i128::from(axis), rank)?;
    let (views, shapes) = (arrays.iter().map(|array| array.view()), arrays.iter().map(|array| array.shape()));
    let (shape, views): (Shape, Vec<_>) = match join {
        JoinKind::Concat => (ops::joined_shape(axis, shapes)?, views.collect()),
        JoinKind::Stack => {
            (ops::stacked_shape(axis, shapes)?, views.map(|view| view.insert_axis(Axis(axis))).collect())
        }
    };
    check_ndarray_shape(&shape)?;
    // For each position before the axis, the elements of all arrays are consecutive.
    let outer: usize = shape[..axis].iter().product();
    let mut elements = alloc::with_capacity(shape.iter().product())?;
    let mut all: Vec<_> = views.iter().map(|view| (view.iter(), view.shape()[axis..].iter().product())).collect();
    for _ in 0..outer {
        for (own, count) in &mut all {
            elements.extend(own.by_ref().take(*count).copied());
        }
    }
    Ok(dense_array(&shape, elements))
}

#[inline]
fn joined_backward(
    upstream: AnyOperand<'_>,
    operands: &[AnyOperand<'_>],
    join: JoinKind,
    axis: i128,
) -> Result<Vec<AnyValue>> {
    let axis = narrow(axis);
    let tensors: Vec<&AnyTensor> = operands.iter().filter_map(|operand| operand.tensor()).collect();
    if tensors.len() < operands.len() {
        return parts_of(upstream, operands, join, axis);
    }
    let all = tensors.into_iter().map(zeros_of).collect::<Result<Vec<_>>>()?;
    let all: Vec<_> = all.iter().collect();
    on_upstream!([Any] upstream, g => {
        let gradients = match join {
            JoinKind::Concat => ops::concat_backward(g, axis, &all),
            JoinKind::Stack => ops::stack_backward(g, axis, &all),
        };
        let of_each = gradients?.into_iter().zip(operands);
        of_each.map(|(gradient, operand)| operand.found(Ok(gradient))).collect()
    })
}

/// Returns the parts of an upstream gradient for concatenated operands. An array receives its entire part; a tensor
/// receives its part at the entries.
fn parts_of(upstream: AnyOperand<'_>, operands: &[AnyOperand<'_>], join: JoinKind, axis: i64) -> Result<Vec<AnyValue>> {
    let Some(first) = operands.first() else { return Err(Error::NoTensor) };
    let axis = normalize_axis(i128::from(axis), first.rank() + usize::from(matches!(join, JoinKind::Stack)))?;
    let shapes: Vec<Shape> = operands.iter().map(|operand| operand.shape()).collect();
    let lengths = shapes.iter().map(|shape| &**shape);
    let expected = match join {
        JoinKind::Concat => ops::joined_shape(axis, lengths)?,
        JoinKind::Stack => ops::stacked_shape(axis, lengths)?,
    };
    let found = upstream.shape();
    if found != expected {
        return Err(Error::ShapeMismatch { what: "the upstream gradient", expected, found });
    }
    let mut start = 0;
    let part = |(operand, shape): (&AnyOperand<'_>, &Shape)| {
        let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; expected.rank()];
        let length = if let JoinKind::Concat = join { shape[axis] as isize } else { 1 };
        slices[axis] = match join {
            JoinKind::Concat => SliceInfoElem::Slice { start, end: Some(start + length), step: 1 },
            JoinKind::Stack => SliceInfoElem::Index(start),
        };
        start += length;
        let part = upstream.slice(&slices)?;
        match operand {
            AnyOperand::Array(_) => Ok(AnyOperand::from(&part).to_array()?.into()),
            tensor => tensor.any_backward(&part, Axes::none()),
        }
    };
    operands.iter().zip(&shapes).map(part).collect()
}

/// Returns the elements of an array in another shape.
fn reshaped_array(x: AnyOperand<'_>, shape: &Shape) -> Result<AnyValue> {
    let from = x.shape();
    if from.wide_size() != shape.wide_size() {
        return Err(Error::ReshapeSize { from, to: shape.clone() });
    }
    in_type!([Any] x.dtype(), T => {
        let elements = copied(&widened::<T>(x)?.dense()?.view())?;
        x.found(Ok(dense_array(shape, elements)))
    })
}

/// Returns an axis as `i64`. An axis that is out of range stays out of range.
pub(super) fn narrow(axis: i128) -> i64 {
    axis.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
