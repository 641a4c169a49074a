//! Elements at positions, flattened or along an axis, and their gradients by scatter-add.

mod dense;
mod functions;
mod sparse;

pub use functions::{take, take_axis, take_axis_backward, take_backward, take_into};

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use crate::axes::normalize_axis;
use crate::convert::dense_bytes;
use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::index::{Index, Position};
pub use crate::kernels::take::TakeMode;
use crate::kernels::take::{first_outside, positions};
use crate::ops::indices::Indices;
use crate::ops::upstream::Upstream;
use crate::pattern::Pattern;
use crate::shape::Shape;
use crate::tensor::Tensor;
use dense::{take_backward_dense, take_dense};
use sparse::{take_backward_sparse, take_sparse};

/// What [`take`] and [`take_axis`] take: tensors of both formats, and `ndarray` arrays and views.
///
/// In scope (it is in the [prelude](crate::prelude)), it gives arrays the methods that tensors have of their own:
///
/// ```
/// use lacuna::prelude::*;
/// use lacuna::TakeMode;
/// use ndarray::{arr1, arr2};
///
/// let dense = arr2(&[[1, 2], [3, 4]]);
/// assert_eq!(dense.take([-1, 0], TakeMode::Raise)?, arr1(&[4, 1]).into_dyn());
/// assert_eq!(dense.iter().take(1).count(), 1);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub trait TakeOp {
    /// What [`take`] and [`take_axis`] give: the same kind; for arrays, an array that owns its elements.
    type Output;
    /// What the gradients give: the same kind with the elements of the upstream gradient.
    type Gradient<G: Element>;

    /// See [`take`].
    ///
    /// # Errors
    ///
    /// Those of [`take`].
    fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self::Output>;

    /// See [`take_axis`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis`].
    fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Output>;

    /// See [`take_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_backward`].
    fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>>;

    /// See [`take_axis_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis_backward`].
    fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>>;
}

/// What is taken, whatever from.
struct Request<'a, J> {
    operation: &'static str,
    indices: Indices<'a, J>,
    /// Counted from the front; `None` takes flattened positions.
    axis: Option<usize>,
    mode: TakeMode,
    /// The shape of the result.
    shape: Shape,
}

impl<'a, J: Position> Request<'a, J> {
    fn new(
        operation: &'static str,
        x: &Shape,
        indices: Indices<'a, J>,
        axis: Option<isize>,
        mode: TakeMode,
    ) -> Result<Self> {
        let axis = axis.map(|axis| normalize_axis(axis, x.rank())).transpose()?;
        let shape = match axis {
            None => indices.shape().clone(),
            Some(axis) => [&x[..axis], indices.shape(), &x[axis + 1..]].concat().into(),
        };
        Ok(Request { operation, indices, axis, mode, shape })
    }

    /// Refuses `items` that name nothing among `size` positions.
    fn check(&self, items: &[J], size: u128) -> Result<()> {
        self.check_size(items, size)?;
        let outsider = if self.mode == TakeMode::Raise { first_outside(items, size) } else { None };
        outsider.map_or(Ok(()), |at| Err(Error::PositionOutOfRange { position: items[at].to_i128(), size, at }))
    }

    /// Refuses `items` where there is nothing to take.
    fn check_size(&self, items: &[J], size: u128) -> Result<()> {
        if size == 0 && !items.is_empty() { Err(Error::TakeFromEmpty { count: items.len() }) } else { Ok(()) }
    }

    /// The positions that the items name among `length` of them, each with `item_bytes` of work to follow.
    fn positions(&self, length: usize, item_bytes: usize) -> Result<Vec<usize>> {
        let items = self.indices.items(size_of::<J>() + size_of::<usize>() + item_bytes)?;
        self.check(&items, length as u128)?;
        Ok(positions(&items, length, self.mode)?)
    }
}

/// The same lines for each format, as each gives its own kind back.
macro_rules! impl_take {
    ($tensor:ident) => {
        impl<T: Element, I: Index> TakeOp for $tensor<T, I> {
            type Output = $tensor<T, I>;
            type Gradient<G: Element> = $tensor<G, I>;

            fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self> {
                take_sparse(self, indices.into(), None, mode)
            }

            fn take_axis<'a, J: Position>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                axis: isize,
                mode: TakeMode,
            ) -> Result<Self> {
                take_sparse(self, indices.into(), Some(axis), mode)
            }

            fn take_backward<'a, J: Position, U: Upstream>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                upstream: &U,
                mode: TakeMode,
            ) -> Result<Self::Gradient<U::Elem>> {
                take_backward_sparse(self, indices.into(), upstream, None, mode)
            }

            fn take_axis_backward<'a, J: Position, U: Upstream>(
                &self,
                indices: impl Into<Indices<'a, J>>,
                upstream: &U,
                axis: isize,
                mode: TakeMode,
            ) -> Result<Self::Gradient<U::Elem>> {
                take_backward_sparse(self, indices.into(), upstream, Some(axis), mode)
            }
        }
    };
}

impl_take!(CooTensor);
impl_take!(CsrTensor);

impl<S: Data<Elem: Element>, D: Dimension> TakeOp for ArrayBase<S, D> {
    type Output = ArrayD<S::Elem>;
    type Gradient<G: Element> = ArrayD<G>;

    fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self::Output> {
        take_dense(self.view().into_dyn(), indices.into(), None, mode)
    }

    fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Output> {
        take_dense(self.view().into_dyn(), indices.into(), Some(axis), mode)
    }

    fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>> {
        take_backward_dense(&self.shape().into(), dense_bytes(self), indices.into(), upstream, None, mode)
    }

    fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self::Gradient<U::Elem>> {
        take_backward_dense(&self.shape().into(), dense_bytes(self), indices.into(), upstream, Some(axis), mode)
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// The elements at flattened positions: see [`take`].
    ///
    /// # Errors
    ///
    /// Those of [`take`].
    pub fn take<'a, J: Position>(&self, indices: impl Into<Indices<'a, J>>, mode: TakeMode) -> Result<Self>
    where
        Self: TakeOp<Output = Self>,
    {
        TakeOp::take(self, indices, mode)
    }

    /// The slices at positions of one axis: see [`take_axis`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis`].
    pub fn take_axis<'a, J: Position>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Self>
    where
        Self: TakeOp<Output = Self>,
    {
        TakeOp::take_axis(self, indices, axis, mode)
    }

    /// The gradient of `take`: see [`take_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_backward`].
    pub fn take_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        mode: TakeMode,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: TakeOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        TakeOp::take_backward(self, indices, upstream, mode)
    }

    /// The gradient of `take_axis`: see [`take_axis_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`take_axis_backward`].
    pub fn take_axis_backward<'a, J: Position, U: Upstream>(
        &self,
        indices: impl Into<Indices<'a, J>>,
        upstream: &U,
        axis: isize,
        mode: TakeMode,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: TakeOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        TakeOp::take_axis_backward(self, indices, upstream, axis, mode)
    }
}
