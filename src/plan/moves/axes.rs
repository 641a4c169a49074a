//! Padding, permutation, insertion and removal of axes, and diagonals of the last two axes.

use super::axis::{StepLimits, diagonal_offset, shifted};
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::{Shape, ravel};
use crate::kernels::gather::marked;
use crate::kernels::lanes::accumulate;
use crate::pattern::{AnyPattern, AxisCoords, by_slices, zero_offsets};
use crate::plan::row_major::sorted_with;
use crate::plan::selection::{Selected, Sources};

/// Pads each axis: inserts lanes without entries, and shifts columns.
pub(super) fn pad_lanes(
    x: &AnyPattern,
    offsets: &Buffer<usize>,
    before: &[usize],
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let Some((&columns_before, lanes_before)) = before.split_last() else { return Ok(Selected::same(x.clone())) };
    let lane_axes = x.shape().lane_axes();
    let offsets = match lane_axes == shape.lane_axes() {
        true => offsets.clone(),
        false => {
            let mut ends = zero_offsets(shape, room.limit)?;
            let mut at = lanes_before.to_vec();
            for lane in offsets.windows(2) {
                ends[ravel(&at, shape.lane_axes()) + 1] = lane[1] - lane[0];
                step_from(&mut at, lanes_before, lane_axes);
            }
            accumulate(&mut ends);
            ends.into()
        }
    };
    let columns = shifted(&x.axis(lanes_before.len())?.in_width(x.width_for(shape))?, columns_before)?;
    Ok(Selected::same(x.of_lanes(shape.clone(), offsets, columns)?))
}

/// Advances `coords` to the next position of the box that starts at `first` and has the given `lengths`.
fn step_from(coords: &mut [usize], first: &[usize], lengths: &[usize]) {
    for ((coord, first), length) in coords.iter_mut().zip(first).zip(lengths).rev() {
        *coord += 1;
        if *coord < first + length {
            return;
        }
        *coord = *first;
    }
}

/// Permutes the axes, and removes or inserts axes of length 1.
pub(super) fn other_axes(x: &AnyPattern, axes: &[Option<usize>], shape: &Shape, room: StepLimits) -> Result<Selected> {
    let long = axes.iter().flatten().filter(|&&axis| x.shape()[axis] != 1);
    let is_sorted = long.is_sorted();
    if let (Some(offsets), true) = (x.lane_offsets(), is_sorted)
        && axes.last().is_some_and(|&last| last.is_some_and(|last| last + 1 == x.shape().rank()))
    {
        let columns = x.axis(x.shape().rank() - 1)?;
        return Ok(Selected::same(x.of_lanes(shape.clone(), offsets.clone(), columns)?));
    }
    let zeros = AxisCoords::zeros(if axes.contains(&None) { x.nnz() } else { 0 }, x.width())?;
    let coords = axes.iter().map(|axis| axis.map_or_else(|| Ok(zeros.clone()), |axis| x.axis(axis)));
    let settled = if is_sorted { axes.len() } else { settled(axes) };
    in_order(x, coords.collect::<Allocated<_>>()?, x.nnz(), settled, shape, room)
}

/// Returns the number of last axes on which entries are already in order, if they agree on all other axes.
pub(crate) fn settled(axes: &[Option<usize>]) -> usize {
    axes.windows(2).rev().take_while(|pair| pair[0] < pair[1]).count() + 1
}

/// Returns the pattern of `count` entries with these coordinates, in the format of `x`.
///
/// Entries are sorted, unless `settled` is the number of all axes. Entries that agree on all axes before the `settled`
/// last ones are already in order.
fn in_order(
    x: &AnyPattern,
    coords: Vec<AxisCoords>,
    count: usize,
    settled: usize,
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let sorted = match settled == coords.len() {
        true => None,
        false => sorted_with(&coords, settled, &alloc::collect(0..count)?)?,
    };
    let (coords, sources) = match sorted {
        None => (coords, Sources::Same),
        Some((coords, order)) => (coords, Sources::List(order)),
    };
    Ok(Selected { pattern: x.of_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Returns the entries whose `column - row`, on the last two axes, is between the bounds.
fn in_band(x: &AnyPattern, min: i128, max: i128) -> Result<Vec<usize>> {
    let rank = x.shape().rank();
    let axes = [x.axis(rank - 2)?, x.axis(rank - 1)?];
    Ok(by_slices!(&axes, own => in_band_of(own[0], own[1], min, max))?)
}

fn in_band_of<I: Index>(rows: &[I], columns: &[I], min: i128, max: i128) -> Allocated<Vec<usize>> {
    marked(rows.len(), |range, marks| {
        let pairs = rows[range.clone()].iter().zip(&columns[range]);
        for (mark, (row, column)) in marks.iter_mut().zip(pairs) {
            let diagonal_offset = diagonal_offset(row.to_usize(), column.to_usize());
            *mark &= (min <= diagonal_offset) & (diagonal_offset <= max);
        }
    })
}

pub(super) fn band(x: &AnyPattern, min: i128, max: i128) -> Result<Selected> {
    let kept = in_band(x, min, max)?;
    match kept.len() == x.nnz() {
        true => Ok(Selected::same(x.clone())),
        false => Ok(Selected { pattern: x.retain(&kept)?, sources: Sources::List(kept) }),
    }
}

pub(super) fn diagonal(x: &AnyPattern, offset: i128, shape: &Shape, room: StepLimits) -> Result<Selected> {
    let kept = in_band(x, offset, offset)?;
    let rank = x.shape().rank();
    let sources = Sources::List(kept);
    // The smaller of the two coordinates is the position on the diagonal.
    let last = if offset < 0 { rank - 1 } else { rank - 2 };
    let axes = (0..rank - 2).chain([last]).map(|axis| sources.of_coords(&x.axis(axis)?));
    let (axes, count) = (axes.collect::<Allocated<Vec<_>>>()?, sources.len(x.nnz()));
    // Positions on the diagonal increase with the rows.
    in_order(x, axes, count, rank - 1, shape, room)?.then_of(sources, x.nnz())
}
