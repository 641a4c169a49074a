//! The compressed pattern with its coordinate type, and traversals of its lanes.

use std::marker::PhantomData;
use std::ops::Range;

use super::{AnyPattern, AxisCoords, CooPattern};
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::index::{Index, Width, check_axes};
use crate::base::limit::{default_limit, filled};
use crate::base::shape::{Shape, ravel, saturating_product, step, unravel};
use crate::kernels::coords::{by_slices, of_width};
use crate::kernels::lanes::{accumulate, mark_starts, spread, spread_range};

/// The pattern of a [`CsrTensor`](crate::CsrTensor): a shape, the offsets of its lanes, and columns.
///
/// Lanes run along the last axis: lane `l` holds the entries `offsets[l]..offsets[l + 1]`. The lanes of a matrix are
/// its rows. The lanes of a batch of matrices are the rows of all matrices, one after another. Rank 1 has one lane, and
/// rank 0 has one lane with one column.
///
/// ```text
/// shape [3, 3]   . a .    offsets [0, 1, 1, 3]
///                . . .    columns [1, 0, 2]
///                b . c
/// ```
///
/// Every constructor checks these invariants:
///
/// 1. the number of offsets is the number of lanes plus one;
/// 2. offsets start at 0, never decrease, and end at the number of entries;
/// 3. every axis fits the index type;
/// 4. every column is below the length of the last axis (1 on rank 0);
/// 5. columns increase strictly within a lane, so none is repeated.
///
/// Both arrays are immutable and shared, so a clone copies no array.
#[must_use]
#[derive(Clone)]
pub struct CsrPattern<I = u32> {
    /// The same pattern in compressed format, in the width of `I`.
    any: AnyPattern,
    index: PhantomData<I>,
}

impl<I: Index> CsrPattern<I> {
    /// Returns a pattern from the offsets of its lanes and the column of each entry.
    ///
    /// # Errors
    ///
    /// - `LengthMismatch`: the number of offsets is not the number of lanes plus one;
    /// - `AxisTooLong`: an axis does not fit `I`;
    /// - `OffsetsStart`, `OffsetsDecrease`, `OffsetsEnd`: the offsets do not increase from 0 to the number of columns;
    /// - `IndexOutOfBounds`: a column is not below the length of the last axis;
    /// - `NotSorted`: the columns of a lane do not increase strictly.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CsrPattern, Pattern};
    ///
    /// let pattern = CsrPattern::new([3, 3], vec![0, 1, 1, 3], vec![1u32, 0, 2])?;
    /// assert_eq!(pattern.find(&[2, 2]), Some(2));
    /// assert_eq!(pattern.lane(0), &[1]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn new(shape: impl Into<Shape>, offsets: Vec<usize>, columns: Vec<I>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        AnyPattern::csr(shape, offsets.into(), columns.into()).map(Self::of)
    }

    /// Returns a pattern from the lane of each entry, in increasing order, and its column.
    ///
    /// The caller guarantees the order. Offsets that need more than `limit` bytes are an error.
    pub(crate) fn from_lane_of_each(
        shape: Shape,
        lanes: impl Iterator<Item = usize>,
        columns: Vec<I>,
        limit: u64,
    ) -> Result<Self> {
        check_axes::<I>(&shape)?;
        let mut offsets = zero_offsets(&shape, limit)?;
        lanes.for_each(|lane| offsets[lane + 1] += 1);
        accumulate(&mut offsets);
        Ok(Self::of(AnyPattern::valid_csr(shape, offsets.into(), columns.into())))
    }

    /// Returns the typed form of a pattern in compressed format, in the width of `I`.
    pub(super) fn of(any: AnyPattern) -> Self {
        CsrPattern { any, index: PhantomData }
    }

    /// Returns a pattern without entries.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `I`; `TooLarge`: the offsets of the lanes need more than 1 GiB.
    pub fn empty(shape: impl Into<Shape>) -> Result<Self> {
        Self::empty_with_limit(shape, default_limit(0))
    }

    /// Returns a pattern without entries, with a caller-supplied byte limit for the offsets.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `I`; `TooLarge`: the offsets of the lanes need more than `limit` bytes.
    pub fn empty_with_limit(shape: impl Into<Shape>, limit: u64) -> Result<Self> {
        Self::from_lane_of_each(shape.into(), std::iter::empty(), Vec::new(), limit)
    }

    /// Returns the pattern without its coordinate type.
    pub(crate) fn any(&self) -> &AnyPattern {
        &self.any
    }

    pub(super) fn into_any(self) -> AnyPattern {
        self.any
    }

    /// Returns the number of lanes: the product of all axes except the last, 1 for rank 0 and 1.
    pub fn lanes(&self) -> usize {
        self.offsets().len().saturating_sub(1)
    }

    /// Returns the offsets of the lanes, one more than there are lanes.
    pub fn offsets(&self) -> &[usize] {
        self.any.lane_offsets().map_or(&[], |offsets| offsets)
    }

    /// Returns the column of each entry.
    pub fn columns(&self) -> &[I] {
        self.any.arrays()[0].view()
    }

    /// Returns the columns of one lane.
    ///
    /// # Panics
    ///
    /// Panics if the lane does not exist.
    pub fn lane(&self, lane: usize) -> &[I] {
        &self.columns()[self.offsets()[lane]..self.offsets()[lane + 1]]
    }

    /// Returns the shape, the offsets and the columns; an array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of a copy failed.
    pub fn into_parts(self) -> Result<(Shape, Vec<usize>, Vec<I>)> {
        let (shape, offsets, columns) = self.any.into_arrays();
        let columns = columns.into_iter().next().map_or_else(|| Ok(Vec::new()), AxisCoords::into_vec)?;
        Ok((shape, offsets.unwrap_or_default().into_vec()?, columns))
    }

    /// Returns the same pattern in coordinate format. The columns are shared; other coordinates are computed from the
    /// lanes.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the coordinates failed.
    pub fn to_coo(&self) -> Result<CooPattern<I>> {
        self.any.to_coo().map(CooPattern::of)
    }

    /// Returns the same pattern with another coordinate type; arrays are shared if the width does not change.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `J`.
    pub fn with_index<J: Index>(&self) -> Result<CsrPattern<J>> {
        check_axes::<J>(self.any.shape())?;
        Ok(CsrPattern::of(self.any.in_width(J::WIDTH)?.with_memo(None).with_part_of(None)))
    }
}

/// Returns the number of lanes of `shape` plus one.
pub(super) fn offset_count(shape: &Shape) -> u128 {
    saturating_product(shape.lane_axes()).saturating_add(1)
}

pub(crate) fn zero_offsets(shape: &Shape, limit: u64) -> Result<Vec<usize>> {
    let instead = "keep the tensor in COO, or raise the limit";
    filled("the offsets of the lanes", 0, offset_count(shape), limit, instead)
}

/// Returns the pattern of `nnz` entries in row-major order, from their coordinates on each axis.
pub(super) fn from_coords(
    shape: Shape,
    nnz: usize,
    width: Width,
    mut coords: Vec<AxisCoords>,
    limit: u64,
) -> Result<AnyPattern> {
    let columns = match coords.pop() {
        Some(columns) => columns,
        None => of_width!(width, I => AxisCoords::from(vec![I::default(); nnz])),
    };
    let mut offsets = zero_offsets(&shape, limit)?;
    by_slices!(&coords, own => mark_lanes(&own, shape.lane_axes(), nnz, &mut offsets));
    Ok(AnyPattern::valid_csr(shape, offsets.into(), columns))
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
    // Consecutive lanes share a coordinate; their number is the product of the axes after this one.
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

/// Returns the index of the entry at `coords`, which have the rank of the shape.
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
    // For each axis of the lanes, the number of lanes that share a coordinate, and its length.
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
