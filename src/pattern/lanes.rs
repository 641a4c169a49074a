//! Traversals of the lanes of a compressed pattern, given its shape, its offsets and its columns.

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::index::{Index, Width};
use crate::base::limit::filled;
use crate::base::shape::{Shape, ravel, saturating_product, step, unravel};
use crate::kernels::coords::{AxisCoords, by_slices, of_width};
use crate::kernels::lanes::{mark_starts, spread, spread_range};

/// Returns the number of offsets: the number of lanes of `shape` plus one.
pub(super) fn offset_count(shape: &Shape) -> u128 {
    saturating_product(shape.lane_axes()).saturating_add(1)
}

pub(crate) fn zero_offsets(shape: &Shape, limit: u64) -> Result<Vec<usize>> {
    let instead = "keep the tensor in COO, or raise the limit";
    filled("the offsets of the lanes", 0, offset_count(shape), limit, instead)
}

/// Returns the offsets and the columns of `nnz` entries in row-major order, from their coordinates on each axis.
pub(super) fn from_coords(
    shape: &Shape,
    nnz: usize,
    width: Width,
    mut coords: Vec<AxisCoords>,
    limit: u64,
) -> Result<(Vec<usize>, AxisCoords)> {
    let columns = match coords.pop() {
        Some(columns) => columns,
        None => of_width!(width, I => AxisCoords::from(vec![I::default(); nnz])),
    };
    let mut offsets = zero_offsets(shape, limit)?;
    by_slices!(&coords, own => mark_lanes(&own, shape.lane_axes(), nnz, &mut offsets));
    Ok((offsets, columns))
}

/// Writes the offsets of the lanes, from the coordinates of entries on the axes of lanes.
fn mark_lanes<I: Index>(coords: &[&[I]], lane_axes: &[usize], nnz: usize, offsets: &mut [usize]) {
    if let [rows] = *coords {
        return mark_starts(offsets, nnz, |entry| rows[entry].to_usize());
    }
    let lane = |entry: usize| {
        let axes = coords.iter().zip(lane_axes);
        axes.fold(0usize, |lane, (axis, &length)| lane.wrapping_mul(length).wrapping_add(axis[entry].to_usize()))
    };
    mark_starts(offsets, nnz, lane);
}

/// Returns the coordinates of all entries on an axis of the lanes.
pub(super) fn lane_coords(shape: &Shape, offsets: &[usize], width: Width, axis: usize) -> Allocated<AxisCoords> {
    if offsets.last().is_none_or(|&nnz| nnz == 0) {
        return Ok(AxisCoords::empty(width));
    }
    // Consecutive lanes share a coordinate. The number of these lanes is the product of the lengths of the later lane
    // axes.
    let lane_axes = shape.lane_axes();
    let (length, inner) = (lane_axes[axis], lane_axes[axis + 1..].iter().product::<usize>());
    of_width!(width, I => {
        let coord = |lane| I::from_usize(if axis == 0 { lane } else { lane % length });
        spread(offsets, inner, coord).map(AxisCoords::from)
    })
}

/// Returns the coordinate of an entry on an axis of the lanes.
pub(super) fn lane_coord(shape: &Shape, offsets: &[usize], entry: usize, axis: usize) -> usize {
    let inner: usize = shape.lane_axes()[axis + 1..].iter().product();
    lane_of(offsets, entry) / inner % shape[axis]
}

/// Returns the lane that holds an entry.
fn lane_of(offsets: &[usize], entry: usize) -> usize {
    offsets.partition_point(|&offset| offset <= entry) - 1
}

/// Returns the index of the entry at `coords`. The number of coordinates must be the rank of the shape.
pub(super) fn find<I: Index>(shape: &Shape, offsets: &[usize], columns: &[I], coords: &[usize]) -> Option<usize> {
    if coords.iter().zip(shape.iter()).any(|(coord, length)| coord >= length) {
        return None;
    }
    let lane = ravel(&coords[..coords.len().saturating_sub(1)], shape.lane_axes());
    let column = coords.last().copied().unwrap_or(0);
    let own = &columns[offsets[lane]..offsets[lane + 1]];
    Some(offsets[lane] + own.binary_search_by(|index| index.to_usize().cmp(&column)).ok()?)
}

/// Returns the coordinates of an entry in `column`.
pub(super) fn coords_of(shape: &Shape, offsets: &[usize], column: usize, entry: usize) -> Vec<usize> {
    let mut coords = vec![0; shape.rank()];
    unravel(lane_of(offsets, entry), shape.lane_axes(), &mut coords);
    if let Some(last) = coords.last_mut() {
        *last = column;
    }
    coords
}

/// Visits the entries of a nonempty range with their coordinates, until `visit` returns `false`.
pub(super) fn walk<I: Index>(
    shape: &Shape,
    offsets: &[usize],
    columns: &[I],
    entries: Range<usize>,
    visit: &mut dyn FnMut(usize, &[usize]) -> bool,
) {
    let mut coords = vec![0; shape.rank()];
    let last = coords.len().saturating_sub(1);
    let first_lane = lane_of(offsets, entries.start);
    unravel(first_lane, shape.lane_axes(), &mut coords[..last]);
    for lane in first_lane..offsets.len() - 1 {
        let within = offsets[lane].max(entries.start)..offsets[lane + 1].min(entries.end);
        for (entry, index) in within.clone().zip(&columns[within]) {
            if let Some(column) = coords.last_mut() {
                *column = index.to_usize();
            }
            if !visit(entry, &coords) {
                return;
            }
        }
        if offsets[lane + 1] >= entries.end {
            return;
        }
        step(&mut coords[..last], shape.lane_axes());
    }
}

/// Writes the row-major positions of the entries from `start` on.
pub(super) fn number<I: Index>(shape: &Shape, offsets: &[usize], columns: &[I], start: usize, positions: &mut [usize]) {
    let width = shape.columns();
    spread_range(offsets, 1, start, positions, |lane| lane * width);
    positions.iter_mut().zip(&columns[start..]).for_each(|(position, column)| *position += column.to_usize());
}

/// Writes, for the entries from `start` on, the row-major index of their lanes within the lane axes among `axes`.
pub(super) fn number_lanes_within(
    shape: &Shape,
    offsets: &[usize],
    axes: &[usize],
    start: usize,
    positions: &mut [usize],
) {
    let lane_axes = shape.lane_axes();
    let of_lanes = axes.len() - usize::from(axes.last().is_some_and(|&axis| axis + 1 == shape.rank()));
    // For each axis of the lanes: the number of consecutive lanes that share a coordinate, and the length of the axis.
    let axis = |&axis: &usize| (lane_axes[axis + 1..].iter().product::<usize>(), lane_axes[axis]);
    let kept: Vec<(usize, usize)> = axes[..of_lanes].iter().map(axis).collect();
    if kept.is_empty() {
        positions.fill(0);
    } else if kept.len() == lane_axes.len() {
        spread_range(offsets, 1, start, positions, |lane| lane);
    } else {
        let within = |lane: usize| kept.iter().fold(0, |at, (inner, length)| at * length + lane / inner % length);
        spread_range(offsets, 1, start, positions, within);
    }
}

/// Converts lane indices to row-major positions with `width` columns, for the entries from `start` on.
pub(super) fn add_columns<I: Index>(columns: &[I], width: usize, start: usize, positions: &mut [usize]) {
    let columns = positions.iter_mut().zip(&columns[start..]);
    columns.for_each(|(position, column)| *position = *position * width + column.to_usize());
}
