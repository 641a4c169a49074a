//! Reordering or repeating the positions of one axis.

use std::ops::Range;

use super::axis::{AxisOrder, StepLimits};
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::{Index, capped_product};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::lanes::accumulate;
use crate::pattern::{AnyPattern, AxisCoords, by_width, zero_offsets};
use crate::plan::selection::{Selected, Sources};
use crate::plan::take::runs_of;

/// Returns entry indices in a new order, and their coordinates on the axis in this order.
///
/// The entries of a run agree on all axes before the axis, and their coordinates on the axis do not decrease.
fn ordered(
    coords: &AxisCoords,
    runs: &[usize],
    length: usize,
    order: AxisOrder,
    count: usize,
) -> Allocated<(Vec<usize>, AxisCoords)> {
    by_width!(coords, own => {
        let OrderedEntries { sources, coords } = OrderedEntries::new(own, runs, length, order, count)?;
        Ok((sources, coords.into()))
    })
}

/// Entries in a new order, with their new coordinates on one axis.
struct OrderedEntries<I> {
    sources: Vec<usize>,
    coords: Vec<I>,
}

impl<I: Index> OrderedEntries<I> {
    fn new(coords: &[I], runs: &[usize], length: usize, order: AxisOrder, count: usize) -> Allocated<Self> {
        let mut ordered =
            OrderedEntries { sources: alloc::with_capacity(count)?, coords: alloc::with_capacity(count)? };
        // Empty runs are skipped, because the number of repetitions may be too large to loop over.
        for run in runs.windows(2).map(|ends| ends[0]..ends[1]).filter(|run| !run.is_empty()) {
            match order {
                AxisOrder::Reverse => ordered.reverse(coords, run, length),
                AxisOrder::Rotate(places) => {
                    let split = run.start + coords[run.clone()].partition_point(|at| at.to_usize() < length - places);
                    ordered.put(coords, split..run.end, |at| at - (length - places));
                    ordered.put(coords, run.start..split, |at| at + places);
                }
                AxisOrder::Tile(times) => {
                    (0..times).for_each(|time| ordered.put(coords, run.clone(), |at| time * length + at));
                }
                AxisOrder::Each(times) => ordered.each(coords, run, times),
            }
        }
        Ok(ordered)
    }

    fn put(&mut self, coords: &[I], entries: Range<usize>, place: impl Fn(usize) -> usize) {
        self.coords.extend(coords[entries.clone()].iter().map(|at| I::from_usize(place(at.to_usize()))));
        self.sources.extend(entries);
    }

    fn reverse(&mut self, coords: &[I], run: Range<usize>, length: usize) {
        let mut end = run.end;
        for equal in coords[run].chunk_by(|a, b| a == b).rev() {
            self.put(coords, end - equal.len()..end, |at| length - 1 - at);
            end -= equal.len();
        }
    }

    fn each(&mut self, coords: &[I], run: Range<usize>, times: usize) {
        let mut start = run.start;
        for equal in coords[run].chunk_by(|a, b| a == b) {
            (0..times).for_each(|time| self.put(coords, start..start + equal.len(), |at| at * times + time));
            start += equal.len();
        }
    }
}

/// Reorders one axis of coordinates.
pub(super) fn order_coords(
    x: &AnyPattern,
    axis: usize,
    order: AxisOrder,
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let width = x.width_for(shape);
    let count = room.admit(x.nnz(), order.times(), shape.rank() * width.bytes())?;
    let axes = (0..shape.rank()).map(|at| x.axis(at)?.in_width(width)).collect::<Allocated<Vec<_>>>()?;
    let runs = runs_of(&axes[..axis], x.nnz())?;
    let (sources, moved) = ordered(&axes[axis], &runs, x.shape()[axis], order, count)?;
    let sources = Sources::List(sources);
    let coords = axes.iter().enumerate().map(|(at, coords)| match at < axis && order.times() == 1 {
        // Reordering does not change the coordinates on earlier axes, because only entries that agree on these axes are
        // exchanged.
        true => Ok(coords.clone()),
        false if at == axis => Ok(moved.clone()),
        false => sources.of_coords(coords),
    });
    let coords = coords.collect::<Allocated<_>>()?;
    Ok(Selected { pattern: x.of_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Reorders the last axis within each lane.
pub(super) fn order_columns(
    x: &AnyPattern,
    offsets: &Buffer<usize>,
    order: AxisOrder,
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let width = x.width_for(shape);
    let count = room.admit(x.nnz(), order.times(), width.bytes())?;
    let columns = x.axis(shape.rank() - 1)?.in_width(width)?;
    let (sources, columns) = ordered(&columns, offsets, x.shape().columns(), order, count)?;
    let offsets = match order.times() {
        1 => offsets.clone(),
        times => threads::map(offsets, 500, |offset| offset * times)?.into(),
    };
    let pattern = x.of_lanes(shape.clone(), offsets, columns)?;
    Ok(Selected { pattern, sources: Sources::List(sources) })
}

/// Reorders an axis of the lanes by moving entire lanes.
pub(super) fn order_lanes(
    x: &AnyPattern,
    offsets: &[usize],
    axis: usize,
    order: AxisOrder,
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    room.admit(x.nnz(), order.times(), x.width_for(shape).bytes())?;
    let mut ends = zero_offsets(shape, room.limit)?;
    let mut starts = alloc::with_capacity(ends.len() - 1)?;
    let lane_axes = x.shape().lane_axes();
    let (length, inner) = (lane_axes[axis], capped_product(&lane_axes[axis + 1..]));
    // Without lanes, the number of blocks may not fit in `usize`.
    let blocks = if ends.len() == 1 { 0 } else { lane_axes[..axis].iter().product() };
    for block in 0..blocks {
        for at in 0..shape[axis] {
            let first = (block * length + order.source(at, length)) * inner;
            for lane in offsets[first..=first + inner].windows(2) {
                starts.push(lane[0]);
                ends[starts.len()] = lane[1] - lane[0];
            }
        }
    }
    accumulate(&mut ends);
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    let columns = sources.of_coords(&x.axis(shape.rank() - 1)?)?;
    Ok(Selected { pattern: x.of_lanes(shape.clone(), ends, columns)?, sources })
}
