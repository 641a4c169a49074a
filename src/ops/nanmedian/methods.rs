//! The medians as methods of tensors.

use super::{MedianAndPosition, NanmedianBackwardOptions, NanmedianOp, NanmedianOptions, NanmedianStoredOp};
use crate::axes::Axes;
use crate::element::{Float, Real};
use crate::error::Result;
use crate::ops::upstream::Upstream;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

impl<P: Pattern, T: Real> Tensor<P, T> {
    /// The median over axes without the NaNs: see [`nanmedian`](crate::nanmedian()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`](crate::nanmedian()).
    pub fn nanmedian(&self, axes: impl Into<Axes>) -> Result<Tensor<P, T::Median>>
    where
        Self: NanmedianOp<Output = Tensor<P, T::Median>>,
    {
        NanmedianOp::nanmedian(self, axes)
    }

    /// The same with options: see [`nanmedian_with`](crate::nanmedian_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`](crate::nanmedian()).
    pub fn nanmedian_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Tensor<P, T::Median>>
    where
        Self: NanmedianOp<Output = Tensor<P, T::Median>>,
    {
        NanmedianOp::nanmedian_with(self, axes, options)
    }

    /// The median and its position: see [`nanmedian_index`](crate::nanmedian_index()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`](crate::nanmedian_index()).
    pub fn nanmedian_index(&self, axes: impl Into<Axes>) -> Result<MedianAndPosition<P, T>>
    where
        Self: NanmedianOp<Output = Tensor<P, T::Median>, Positions = Tensor<P, u64>>,
    {
        NanmedianOp::nanmedian_index(self, axes)
    }

    /// The same with options: see [`nanmedian_index_with`](crate::nanmedian_index_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`](crate::nanmedian_index()).
    pub fn nanmedian_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<MedianAndPosition<P, T>>
    where
        Self: NanmedianOp<Output = Tensor<P, T::Median>, Positions = Tensor<P, u64>>,
    {
        NanmedianOp::nanmedian_index_with(self, axes, options)
    }

    /// The gradient of the median: see [`nanmedian_backward`](crate::nanmedian_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
    pub fn nanmedian_backward<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: NanmedianOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        NanmedianOp::nanmedian_backward(self, upstream, axes)
    }

    /// The same with options: see [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
    pub fn nanmedian_backward_with<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
        options: NanmedianBackwardOptions,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: NanmedianOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        NanmedianOp::nanmedian_backward_with(self, upstream, axes, options)
    }

    /// The median of the stored entries over axes without the NaNs: see
    /// [`nanmedian_stored`](crate::nanmedian_stored()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`](crate::nanmedian()).
    pub fn nanmedian_stored(&self, axes: impl Into<Axes>) -> Result<Tensor<P, T::Median>>
    where
        Self: NanmedianStoredOp<Output = Tensor<P, T::Median>>,
    {
        NanmedianStoredOp::nanmedian_stored(self, axes)
    }

    /// The same with options: see [`nanmedian_stored_with`](crate::nanmedian_stored_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`](crate::nanmedian()).
    pub fn nanmedian_stored_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<Tensor<P, T::Median>>
    where
        Self: NanmedianStoredOp<Output = Tensor<P, T::Median>>,
    {
        NanmedianStoredOp::nanmedian_stored_with(self, axes, options)
    }

    /// The median of the stored entries and its position: see
    /// [`nanmedian_stored_index`](crate::nanmedian_stored_index()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`](crate::nanmedian_index()).
    pub fn nanmedian_stored_index(&self, axes: impl Into<Axes>) -> Result<MedianAndPosition<P, T>>
    where
        Self: NanmedianStoredOp<Output = Tensor<P, T::Median>, Positions = Tensor<P, u64>>,
    {
        NanmedianStoredOp::nanmedian_stored_index(self, axes)
    }

    /// The same with options: see [`nanmedian_stored_index_with`](crate::nanmedian_stored_index_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`](crate::nanmedian_index()).
    pub fn nanmedian_stored_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<MedianAndPosition<P, T>>
    where
        Self: NanmedianStoredOp<Output = Tensor<P, T::Median>, Positions = Tensor<P, u64>>,
    {
        NanmedianStoredOp::nanmedian_stored_index_with(self, axes, options)
    }

    /// The gradient of the median of the stored entries: see
    /// [`nanmedian_stored_backward`](crate::nanmedian_stored_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
    pub fn nanmedian_stored_backward<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: NanmedianStoredOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        NanmedianStoredOp::nanmedian_stored_backward(self, upstream, axes)
    }

    /// The same with options: see [`nanmedian_stored_backward_with`](crate::nanmedian_stored_backward_with()).
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
    pub fn nanmedian_stored_backward_with<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
        options: NanmedianBackwardOptions,
    ) -> Result<Tensor<P, U::Elem>>
    where
        Self: NanmedianStoredOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        NanmedianStoredOp::nanmedian_stored_backward_with(self, upstream, axes, options)
    }
}
