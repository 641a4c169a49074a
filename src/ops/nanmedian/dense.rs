//! The medians of dense arrays, one lane after the other.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::{NanmedianBackwardOptions, NanmedianOp, NanmedianOptions, gradient_of_one};
use crate::axes::Axes;
use crate::convert::{dense_array, dense_bytes};
use crate::element::{Element, Float, Real};
use crate::error::Result;
use crate::kernels::median::{Gaps, Group, give, median_of_lane};
use crate::kernels::select::Sieve;
use crate::ops::dense::{Order, Place, check_lane, check_result, give_back, map_lanes};
use crate::ops::reduce::Reduction;
use crate::ops::upstream::{Upstream, check_shape};
use crate::shape::Shape;

/// One lane, of which every position is stored.
fn whole_lane<T: Real>(stored: &[T]) -> Group<'_, T> {
    Group { stored, gaps: Gaps::none(), position: &|within| within as u64 }
}

impl<T: Real, S: Data<Elem = T>, D: Dimension> NanmedianOp for ArrayBase<S, D> {
    type Output = ArrayD<T::Median>;
    type Positions = ArrayD<u64>;
    type Gradient<G: Element> = ArrayD<G>;

    fn nanmedian_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Self::Output> {
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes.into())?;
        check_lane(self, &reduction)?;
        map_lanes(self.view().into_dyn(), &reduction, Order::Any, Sieve::new, |sieve, lane| {
            median_of_lane(lane, options.even, sieve)
        })
    }

    fn nanmedian_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<(Self::Output, Self::Positions)> {
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes.into())?;
        check_lane(self, &reduction)?;
        let found = map_lanes(self.view().into_dyn(), &reduction, Order::RowMajor, Sieve::new, |sieve, lane| {
            whole_lane(lane).median_and_position(options.even, sieve)
        })?;
        Ok((found.mapv(|(median, _)| median), found.mapv(|(_, position)| position)))
    }

    fn nanmedian_backward_with<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
        options: NanmedianBackwardOptions,
    ) -> Result<Self::Gradient<U::Elem>> {
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes.into())?;
        check_shape(upstream, &reduction.result_shape())?;
        if self.is_empty() {
            return Ok(dense_array(&Shape::from(self.shape()), Vec::new()));
        }
        check_lane(self, &reduction)?;
        if reduction.extent() == 1 {
            // Each element is its own median: shares, larger than small elements and gradients, need not be kept.
            let shape = Shape::from(self.shape());
            check_result::<U::Elem>(&shape, dense_bytes(self))?;
            let received = upstream.in_order().zip(self).map(|(gradient, value)| gradient_of_one(gradient, *value));
            return Ok(dense_array(&shape, received.collect()));
        }
        let view = self.view().into_dyn();
        let shares = map_lanes(view.clone(), &reduction, Order::RowMajor, Sieve::new, |sieve, lane| {
            whole_lane(lane).shares(options.even, options.rule, sieve)
        })?;
        let shares = shares.as_slice().expect("a new array lies in order");
        let gradients: Vec<_> = upstream.in_order().take(shares.len()).collect();
        give_back(view, &reduction, |row, items, Place { cell, within, is_lane }| match is_lane {
            true => give(row, items, |at| (&shares[cell], within + at, gradients[cell])),
            false => give(row, items, |at| (&shares[cell + at], within, gradients[cell + at])),
        })
    }
}
