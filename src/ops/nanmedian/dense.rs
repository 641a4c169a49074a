//! The medians of dense arrays, one lane after the other.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::{NanmedianBackwardOptions, NanmedianOp, NanmedianOptions};
use crate::axes::Axes;
use crate::element::{Element, Float, Real};
use crate::error::Result;
use crate::kernels::median::{Gaps, Group, median_of_numbers};
use crate::ops::dense::{check_lane, map_lanes, reduce_lanes};
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
        let mut numbers = Vec::with_capacity(self.len().min(reduction.extent() as usize));
        reduce_lanes(self.view().into_dyn(), &reduction, |lane| {
            numbers.clear();
            numbers.extend(lane.filter(|element| !element.isnan()));
            median_of_numbers(&mut numbers, options.even)
        })
    }

    fn nanmedian_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<(Self::Output, Self::Positions)> {
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes.into())?;
        check_lane(self, &reduction)?;
        let (mut elements, mut room) = (Vec::new(), Vec::new());
        let found = reduce_lanes(self.view().into_dyn(), &reduction, |lane| {
            elements.clear();
            elements.extend(lane);
            whole_lane(&elements).median_and_position(options.even, &mut room)
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
        check_lane(self, &reduction)?;
        let mut room = Vec::new();
        map_lanes(self.view().into_dyn(), &reduction, |cell, lane| {
            let shares = whole_lane(lane).shares(upstream.at(cell), options.even, options.rule, &mut room);
            move |within, value| shares.of(within, value)
        })
    }
}
