//! Choosing and moving elements of tensors whose types are known at run time only, and their gradients.
//!
//! What is chosen is planned once for all element types; the values are gathered type by type.

use ndarray::SliceInfoElem;

use super::reduce::on_upstream;
use super::view::{in_format, on_both};
use super::widen::zeros;
use super::zip::{brought, check_types, common_format};
use super::{AnyTensor, Erased, on_type};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::{self, Operand, Select, Take, moved};
use crate::pattern::Format;
use crate::tensor::Tensor;

/// The elements that a descriptor chooses.
#[inline]
pub(crate) fn select(x: &AnyTensor, op: &moved::Moves) -> Result<AnyTensor> {
    on_type!(x, own => x.view().found(Operand::by_select(own, op)))
}

/// The gradient of [`select`].
#[inline]
fn select_backward(x: &AnyTensor, upstream: &AnyTensor, op: &moved::Moves) -> Result<AnyTensor> {
    on_type!(x, x => op.check_fill(x.clone().fill()))?;
    let zeros = zeros(x)?;
    on_upstream!(upstream, g => x.view().found(Operand::by_select_backward(&zeros, op, g)))
}

/// The list of what moves elements along axes.
macro_rules! moves {
    ($($name:ident($($arg:ident: $type:ty),*) = $moves:ident, $backward:ident;)*) => {
        on_both! {$(
            #[doc = concat!("See [`", stringify!($name), "()`](crate::", stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "()`](crate::", stringify!($name), "()).")]
            #[inline]
            pub fn $name(&self, $($arg: $type),*) -> Result<AnyTensor> {
                let x = self.view().tensor;
                select(x, &moved::$moves(x.shape(), $($arg),*)?)
            }

            #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward),
                "()`](crate::", stringify!($backward), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($backward), "()`](crate::", stringify!($backward), "()).")]
            #[inline]
            pub fn $backward(&self, upstream: &AnyTensor, $($arg: $type),*) -> Result<AnyTensor> {
                let x = self.view().tensor;
                select_backward(x, upstream, &moved::$moves(x.shape(), $($arg),*)?)
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

on_both! {
    /// The axes in another order: see [`permute_axes`](crate::CooTensor::permute_axes).
    ///
    /// # Errors
    ///
    /// Those of [`permute_axes`](crate::CooTensor::permute_axes).
    #[inline]
    pub fn permute_axes(&self, axes: &[isize]) -> Result<AnyTensor> {
        let x = self.view().tensor;
        select(x, &moved::permuted(x.shape(), axes)?)
    }

    /// The gradient of `permute_axes`.
    ///
    /// # Errors
    ///
    /// Those of [`transpose_backward`](crate::transpose_backward()), and of `permute_axes`.
    #[inline]
    pub fn permute_axes_backward(&self, upstream: &AnyTensor, axes: &[isize]) -> Result<AnyTensor> {
        let x = self.view().tensor;
        select_backward(x, upstream, &moved::permuted(x.shape(), axes)?)
    }

    /// The same entries in another shape: see [`reshape`](crate::CooTensor::reshape).
    ///
    /// # Errors
    ///
    /// Those of [`reshape`](crate::CooTensor::reshape).
    #[inline]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<AnyTensor> {
        let (view, shape) = (self.view(), shape.into());
        let format = view.tensor.format();
        let pattern = zeros(view.tensor)?.pattern().to_coo()?.reshape(shape)?;
        on_type!(view.tensor, x => {
            let reshaped = Tensor::from_shared(pattern, x.shared_values().clone(), x.fill());
            in_format(&reshaped, format, view.tensor.stored_bytes())
        })
    }

    /// The elements at flattened positions: see [`take`](crate::take()).
    ///
    /// # Errors
    ///
    /// Those of [`take`](crate::take()).
    pub fn take<'p, J: Position>(&self, positions: impl Into<Take<'p, J>>) -> Result<AnyTensor> {
        let (view, positions) = (self.view(), positions.into());
        on_type!(view.tensor, x => view.found(ops::take(x, positions)))
    }

    /// The slices at positions of one axis: see [`take_axis`](crate::take_axis()).
    ///
    /// # Errors
    ///
    /// Those of [`take_axis`](crate::take_axis()).
    pub fn take_axis<'p, J: Position>(
        &self,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let (view, positions) = (self.view(), positions.into());
        on_type!(view.tensor, x => view.found(ops::take_axis(x, positions, axis)))
    }

    /// The gradient of `take`: see [`take_backward`](crate::take_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`take_backward`](crate::take_backward()).
    pub fn take_backward<'p, J: Position>(
        &self,
        upstream: &AnyTensor,
        positions: impl Into<Take<'p, J>>,
    ) -> Result<AnyTensor> {
        let (view, positions) = (self.view(), positions.into());
        let zeros = zeros(view.tensor)?;
        on_upstream!(upstream, g => view.found(ops::take_backward(&zeros, g, positions)))
    }

    /// The gradient of `take_axis`: see [`take_axis_backward`](crate::take_axis_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`take_axis_backward`](crate::take_axis_backward()).
    pub fn take_axis_backward<'p, J: Position>(
        &self,
        upstream: &AnyTensor,
        positions: impl Into<Take<'p, J>>,
        axis: impl Position,
    ) -> Result<AnyTensor> {
        let (view, positions) = (self.view(), positions.into());
        let zeros = zeros(view.tensor)?;
        on_upstream!(upstream, g => view.found(ops::take_axis_backward(&zeros, g, positions, axis)))
    }
}

impl AnyTensor {
    /// Tensors of one element type, one behind the other on an axis: see [`concat()`](crate::concat()).
    ///
    /// Of tensors in different formats the result is in coordinates.
    ///
    /// # Errors
    ///
    /// Those of [`concat()`](crate::concat()); `NoOperation`: the element types differ.
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
        joined("concat", tensors, Join::Concat, axis.to_i128())
    }

    /// Tensors of one shape and element type on a new axis: see [`stack`](crate::stack()).
    ///
    /// # Errors
    ///
    /// Those of [`stack`](crate::stack()); `NoOperation`: the element types differ.
    #[inline]
    pub fn stack(axis: impl Position, tensors: &[&AnyTensor]) -> Result<AnyTensor> {
        joined("stack", tensors, Join::Stack, axis.to_i128())
    }

    /// The gradient of `concat` for each tensor: see [`concat_backward`](crate::concat_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`concat_backward`](crate::concat_backward()).
    #[inline]
    pub fn concat_backward(
        upstream: &AnyTensor,
        axis: impl Position,
        tensors: &[&AnyTensor],
    ) -> Result<Vec<AnyTensor>> {
        joined_backward(upstream, tensors, Join::Concat, axis.to_i128())
    }

    /// The gradient of `stack` for each tensor: see [`stack_backward`](crate::stack_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`stack_backward`](crate::stack_backward()).
    #[inline]
    pub fn stack_backward(upstream: &AnyTensor, axis: impl Position, tensors: &[&AnyTensor]) -> Result<Vec<AnyTensor>> {
        joined_backward(upstream, tensors, Join::Stack, axis.to_i128())
    }

    /// One of two elements, by a condition of type `bool`: see [`where_`](crate::where_()).
    ///
    /// # Errors
    ///
    /// Those of [`where_`](crate::where_()); `NoOperation`: the condition is not `bool`; `TypesDiffer`: the element
    /// types differ.
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
    #[inline]
    pub fn where_(&self, yes: &AnyTensor, no: &AnyTensor) -> Result<AnyTensor> {
        check_types("where_", &[yes, no])?;
        let AnyTensor::Bool(condition) = self else {
            let instead = "the condition is bool";
            return Err(super::widen::not_for("where_", self, instead));
        };
        let format = common_format(&[self, yes, no]);
        let condition = brought(condition, format)?;
        on_type!(yes, own => {
            let (one, other) = (brought(own, format)?, same_type(own, no, format)?);
            let bytes = yes.stored_bytes().saturating_add(no.stored_bytes()).saturating_add(self.stored_bytes());
            in_format(&ops::where_(&condition, &one, &other)?, format, bytes)
        })
    }
}

on_both! {
    /// The stored entries that stand where `mask` has one: see [`Stored::mask`](crate::Stored::mask).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::mask`](crate::Stored::mask).
    #[inline]
    pub fn mask(&self, mask: &AnyTensor) -> Result<AnyTensor> {
        let (view, mask) = (self.view(), zeros(mask)?);
        on_type!(view.tensor, x => view.found(x.clone().stored().mask(mask.pattern())))
    }

    /// The stored entries that stand where `mask` has none: see [`Stored::without`](crate::Stored::without).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::without`](crate::Stored::without).
    #[inline]
    pub fn without(&self, mask: &AnyTensor) -> Result<AnyTensor> {
        let (view, mask) = (self.view(), zeros(mask)?);
        on_type!(view.tensor, x => view.found(x.clone().stored().without(mask.pattern())))
    }
}

/// How tensors become one.
#[derive(Clone, Copy)]
enum Join {
    Concat,
    Stack,
}

#[inline]
fn joined(operation: &'static str, tensors: &[&AnyTensor], join: Join, axis: i128) -> Result<AnyTensor> {
    check_types(operation, tensors)?;
    let Some(first) = tensors.first() else {
        return Err(Error::NoTensor);
    };
    let (format, axis) = (common_format(tensors), narrow(axis));
    let bytes = tensors.iter().fold(0usize, |bytes, tensor| bytes.saturating_add(tensor.stored_bytes()));
    on_type!(first, own => {
        let all = tensors.iter().map(|tensor| same_type(own, tensor, format)).collect::<Result<Vec<_>>>()?;
        let all: Vec<_> = all.iter().collect();
        let result = match join {
            Join::Concat => ops::concat(axis, &all),
            Join::Stack => ops::stack(axis, &all),
        };
        in_format(&result?, format, bytes)
    })
}

#[inline]
fn joined_backward(upstream: &AnyTensor, tensors: &[&AnyTensor], join: Join, axis: i128) -> Result<Vec<AnyTensor>> {
    let (all, axis) = (tensors.iter().map(|tensor| zeros(tensor)).collect::<Result<Vec<_>>>()?, narrow(axis));
    let all: Vec<_> = all.iter().collect();
    on_upstream!(upstream, g => {
        let gradients = match join {
            Join::Concat => ops::concat_backward(g, axis, &all),
            Join::Stack => ops::stack_backward(g, axis, &all),
        };
        let of_each = gradients?.into_iter().zip(tensors);
        of_each.map(|(gradient, tensor)| tensor.view().found(Ok(gradient))).collect()
    })
}

/// An axis, of which one out of range stays so.
pub(super) fn narrow(axis: i128) -> i64 {
    axis.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// A tensor that is known to have the element type of another one, in a format.
fn same_type<T: Element>(_: &Erased<T>, x: &AnyTensor, format: Format) -> Result<Erased<T>> {
    on_type!(x, x => brought(&super::retyped(&mut Some(x.clone())), format))
}
