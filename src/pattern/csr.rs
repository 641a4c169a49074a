//! The compressed pattern with its type of coordinates, and the walks over its lanes.

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

/// Where the entries of a [`CsrTensor`](crate::CsrTensor) are: a shape, the offsets of its lanes, and columns.
///
/// All axes but the last are the *lanes*: lane `l` holds the entries `offsets[l]..offsets[l + 1]`. A matrix has its
/// rows as lanes; a batch of matrices has the rows of all its matrices, one after the other, and each matrix has as
/// many entries as it likes. Rank 1 is one lane; rank 0 is one lane with one column.
///
/// ```text
/// shape [3, 3]   . a .    offsets [0, 1, 1, 3]
///                . . .    columns [1, 0, 2]
///                b . c
/// ```
///
/// The invariants, which every constructor checks:
///
/// 1. there is one offset more than there are lanes;
/// 2. offsets start at 0, never decrease, and end at the number of entries;
/// 3. the last axis fits the index type, and so does every other one;
/// 4. every column is below the length of the last axis (1 on rank 0);
/// 5. columns increase strictly within a lane, so none is repeated.
///
/// Both arrays are immutable and shared: a clone copies neither.
#[must_use]
#[derive(Clone)]
pub struct CsrPattern<I = u32> {
    /// In compressed format, in the width of `I`.
    any: AnyPattern,
    index: PhantomData<I>,
}

impl<I: Index> CsrPattern<I> {
    /// A pattern from the offsets of its lanes and the column of each entry.
    ///
    /// # Errors
    ///
    /// - `LengthMismatch`: the offsets are not one more than the lanes;
    /// - `AxisTooLong`: an axis does not fit `I`;
    /// - `OffsetsStart`, `OffsetsDecrease`, `OffsetsEnd`: the offsets do not run from 0 to the number of columns;
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

    /// A pattern from the lane of each entry, in increasing order, and its column: the offsets are counted here.
    ///
    /// The caller has kept the order; the lanes are refused where their offsets would be larger than `limit` bytes.
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

    /// The face of a pattern in compressed format, in the width of `I`.
    pub(super) fn of(any: AnyPattern) -> Self {
        CsrPattern { any, index: PhantomData }
    }

    /// A pattern that stores nothing.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `I`; `TooLarge`: the offsets of the lanes need more than 1 GiB.
    pub fn empty(shape: impl Into<Shape>) -> Result<Self> {
        Self::empty_with_limit(shape, default_limit(0))
    }

    /// [`CsrPattern::empty`] with a byte limit of the caller's choice.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `I`; `TooLarge`: the offsets of the lanes need more than `limit` bytes.
    pub fn empty_with_limit(shape: impl Into<Shape>, limit: u64) -> Result<Self> {
        Self::from_lane_of_each(shape.into(), std::iter::empty(), Vec::new(), limit)
    }

    /// The pattern without the type of its coordinates.
    pub(crate) fn any(&self) -> &AnyPattern {
        &self.any
    }

    pub(super) fn into_any(self) -> AnyPattern {
        self.any
    }

    /// The number of lanes: the product of all axes but the last, 1 on rank 0 and 1.
    pub fn lanes(&self) -> usize {
        self.offsets().len().saturating_sub(1)
    }

    /// The offsets of the lanes, one more than there are lanes.
    pub fn offsets(&self) -> &[usize] {
        self.any.lane_offsets().map_or(&[], |offsets| offsets)
    }

    /// The column of each entry.
    pub fn columns(&self) -> &[I] {
        self.any.arrays()[0].view()
    }

    /// The columns of one lane.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub fn lane(&self, lane: usize) -> &[I] {
        &self.columns()[self.offsets()[lane]..self.offsets()[lane + 1]]
    }

    /// The shape, the offsets and the columns; an array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: there is no memory for a copy.
    pub fn into_parts(self) -> Result<(Shape, Vec<usize>, Vec<I>)> {
        let (shape, offsets, columns) = self.any.into_arrays();
        let columns = columns.into_iter().next().map_or_else(|| Ok(Vec::new()), AxisCoords::into_vec)?;
        Ok((shape, offsets.unwrap_or_default().into_vec()?, columns))
    }

    /// The same pattern in coordinate format. The columns are shared; the coordinates of the lanes are written out.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: there is no memory for the coordinates.
    pub fn to_coo(&self) -> Result<CooPattern<I>> {
        self.any.to_coo().map(CooPattern::of)
    }

    /// The same pattern with columns of another type; shares the arrays where their width is the same.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `J`.
    pub fn with_index<J: Index>(&self) -> Result<CsrPattern<J>> {
        check_axes::<J>(self.any.shape())?;
        Ok(CsrPattern::of(self.any.in_width(J::WIDTH)?.with_memo(None).with_part_of(None)))
    }
}

/// One more than `shape` has lanes.
pub(super) fn offset_count(shape: &Shape) -> u128 {
    saturating_product(shape.lane_axes()).saturating_add(1)
}

pub(crate) fn zero_offsets(shape: &Shape, limit: u64) -> Result<Vec<usize>> {
    let instead = "keep the tensor in COO, or raise the limit";
    filled("the offsets of the lanes", 0, offset_count(shape), limit, instead)
}

/// The pattern of `nnz` entries in row-major order, by their coordinates on each axis.
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

/// Writes the offsets of the lanes that entries have by their coordinates on the axes of lanes.
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

/// The coordinates of all entries on an axis of the lanes.
pub(super) fn lane_coords(shape: &Shape, offsets: &[usize], width: Width, axis: usize) -> Allocated<AxisCoords> {
    if offsets.last().is_none_or(|&nnz| nnz == 0) {
        return Ok(AxisCoords::empty(width));
    }
    // As many lanes as the axes behind this one have positions share a coordinate.
    let lane_axes = shape.lane_axes();
    let (length, inner) = (lane_axes[axis], lane_axes[axis + 1..].iter().product::<usize>());
    of_width!(width, I => {
        let coord = |lane| I::from_usize(if axis == 0 { lane } else { lane % length });
        spread(offsets, inner, coord).map(AxisCoords::from)
    })
}

/// The coordinate of an entry on an axis of the lanes.
pub(super) fn lane_coord(shape: &Shape, offsets: &[usize], entry: usize, axis: usize) -> usize {
    let inner: usize = shape.lane_axes()[axis + 1..].iter().product();
    lane_of(offsets, entry) / inner % shape[axis]
}

/// The lane that holds an entry.
fn lane_of(offsets: &[usize], entry: usize) -> usize {
    offsets.partition_point(|&offset| offset <= entry) - 1
}

/// The number of the entry at `coords`, of the rank of the shape.
pub(super) fn find<I: Index>(shape: &Shape, offsets: &[usize], columns: &[I], coords: &[usize]) -> Option<usize> {
    if coords.iter().zip(shape.iter()).any(|(coord, length)| coord >= length) {
        return None;
    }
    let lane = ravel(&coords[..coords.len().saturating_sub(1)], shape.lane_axes());
    let column = coords.last().copied().unwrap_or(0);
    let own = &columns[offsets[lane]..offsets[lane + 1]];
    Some(offsets[lane] + own.binary_search_by(|index| index.to_usize().cmp(&column)).ok()?)
}

/// The coordinates of an entry that stands in `column`.
pub(super) fn coords_of(shape: &Shape, offsets: &[usize], column: usize, entry: usize) -> Vec<usize> {
    let mut coords = vec![0; shape.rank()];
    unravel(lane_of(offsets, entry), shape.lane_axes(), &mut coords);
    if let Some(last) = coords.last_mut() {
        *last = column;
    }
    coords
}

/// The entries of a range that is not empty, with their coordinates, until `visit` says `false`.
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

/// Writes the row-major numbers that the lanes of the entries from `start` on have within those of `axes` that are
/// axes of lanes.
pub(super) fn number_lanes_within(
    shape: &Shape,
    offsets: &[usize],
    axes: &[usize],
    start: usize,
    positions: &mut [usize],
) {
    let lane_axes = shape.lane_axes();
    let of_lanes = axes.len() - usize::from(axes.last().is_some_and(|&axis| axis + 1 == shape.rank()));
    // Of each axis of the lanes how many lanes share a coordinate, and its length.
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

/// Makes of the numbers of lanes those of columns of so many, for the entries from `start` on.
pub(super) fn add_columns<I: Index>(columns: &[I], width: usize, start: usize, positions: &mut [usize]) {
    let columns = positions.iter_mut().zip(&columns[start..]);
    columns.for_each(|(position, column)| *position = *position * width + column.to_usize());
}
