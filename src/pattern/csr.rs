//! The compressed pattern: offsets of lanes, and columns.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::coo::{convert_indices, coords_as_slices};
use super::{CooPattern, Memo, PartOf, Pattern, read, validate};
use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::{Index, check_axes};
use crate::base::limit::{default_limit, filled, guard};
use crate::base::shape::{Shape, ravel, saturating_product, step, unravel};
use crate::kernels::lanes::{accumulate, mark_starts, offsets_among, spread, spread_range};
use crate::kernels::sort;

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
    shape: Shape,
    offsets: Buffer<usize>,
    columns: Buffer<I>,
    memo: Option<Arc<Memo>>,
    part_of: Option<Arc<PartOf>>,
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
        Self::from_shared(shape.into(), offsets.into(), columns.into())
    }

    /// A pattern of arrays that may be shared already; checks what [`CsrPattern::new`] checks.
    pub(crate) fn from_shared(shape: Shape, offsets: Buffer<usize>, columns: Buffer<I>) -> Result<Self> {
        check_axes::<I>(&shape)?;
        let expected = offset_count(&shape);
        guard::<usize>("the offsets of the lanes", expected, u64::MAX, "keep the tensor in COO")?;
        validate::length("the offsets", expected as usize, offsets.len())?;
        validate::offsets(&offsets, columns.len())?;
        validate::in_bounds(&columns, shape.rank().saturating_sub(1), shape.columns())?;
        validate::lanes_increase(&shape, &offsets, &columns)?;
        Ok(CsrPattern { shape, offsets, columns, memo: None, part_of: None })
    }

    /// A pattern whose invariants the caller has kept; debug builds check them all.
    pub(crate) fn from_valid(shape: Shape, offsets: Buffer<usize>, columns: Buffer<I>) -> Self {
        #[cfg(debug_assertions)]
        if let Err(error) = Self::from_shared(shape.clone(), offsets.clone(), columns.clone()) {
            panic!("an operation built an invalid compressed pattern: {error}");
        }
        CsrPattern { shape, offsets, columns, memo: None, part_of: None }
    }

    /// A pattern from the lane of each entry, in increasing order, and its column: the offsets are counted here.
    ///
    /// The caller has kept the order; the lanes are refused where their offsets would be larger than `limit` bytes.
    pub(crate) fn from_lane_of_each(
        shape: Shape,
        lanes: impl Iterator<Item = usize>,
        columns: Buffer<I>,
        limit: u64,
    ) -> Result<Self> {
        check_axes::<I>(&shape)?;
        let mut offsets = zero_offsets(&shape, limit)?;
        lanes.for_each(|lane| offsets[lane + 1] += 1);
        accumulate(&mut offsets);
        Ok(Self::from_valid(shape, offsets.into(), columns))
    }

    /// [`from_lanes`](CsrPattern::from_lanes) where the lane of each entry is at hand.
    pub(crate) fn from_lane_of(
        shape: Shape,
        lane: impl Fn(usize) -> usize + Sync + Send,
        columns: Buffer<I>,
        limit: u64,
    ) -> Result<Self> {
        check_axes::<I>(&shape)?;
        let mut offsets = zero_offsets(&shape, limit)?;
        mark_starts(&mut offsets, columns.len(), lane);
        Ok(Self::from_valid(shape, offsets.into(), columns))
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
        Self::from_lane_of_each(shape.into(), std::iter::empty(), Buffer::default(), limit)
    }

    /// The number of lanes: the product of all axes but the last, 1 on rank 0 and 1.
    pub fn lanes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The offsets of the lanes, one more than there are lanes.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The column of each entry.
    pub fn columns(&self) -> &[I] {
        &self.columns
    }

    /// The columns of one lane.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub fn lane(&self, lane: usize) -> &[I] {
        &self.columns[self.offsets[lane]..self.offsets[lane + 1]]
    }

    /// The offsets, shared.
    pub(crate) fn shared_offsets(&self) -> &Buffer<usize> {
        &self.offsets
    }

    /// The columns, shared.
    pub(crate) fn shared_columns(&self) -> &Buffer<I> {
        &self.columns
    }

    /// The shape, the offsets and the columns; an array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: there is no memory for a copy.
    pub fn into_parts(self) -> Result<(Shape, Vec<usize>, Vec<I>)> {
        Ok((self.shape, self.offsets.into_vec()?, self.columns.into_vec()?))
    }

    /// The same pattern in coordinate format. The columns are shared; the coordinates of the lanes are written out.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: there is no memory for the coordinates.
    pub fn to_coo(&self) -> Result<CooPattern<I>> {
        let last = self.shape.rank().saturating_sub(1);
        let written = |axis: usize| {
            if axis == last { Ok(self.columns.clone()) } else { self.lane_coords(axis).map(Buffer::from) }
        };
        let coords = (0..self.shape.rank()).map(written).collect::<Allocated<_>>()?;
        Ok(CooPattern::from_valid(self.shape.clone(), self.nnz(), coords).with_part_of(self.part_of.clone()))
    }

    /// The coordinates of all entries on an axis of the lanes.
    fn lane_coords(&self, axis: usize) -> Allocated<Vec<I>> {
        if self.nnz() == 0 {
            return Ok(Vec::new());
        }
        // As many lanes as the axes behind this one have positions share a coordinate.
        let lane_axes = self.shape.lane_axes();
        let (length, inner) = (lane_axes[axis], lane_axes[axis + 1..].iter().product::<usize>());
        spread(&self.offsets, inner, |lane| I::from_usize(if axis == 0 { lane } else { lane % length }))
    }

    /// The same pattern with columns of another type; shares the arrays where the type is the same.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `J`.
    pub fn with_index<J: Index>(&self) -> Result<CsrPattern<J>> {
        check_axes::<J>(&self.shape)?;
        let columns = convert_indices(&self.columns)?;
        Ok(CsrPattern { shape: self.shape.clone(), offsets: self.offsets.clone(), columns, memo: None, part_of: None })
    }
}

/// One more than `shape` has lanes.
fn offset_count(shape: &Shape) -> u128 {
    saturating_product(shape.lane_axes()).saturating_add(1)
}

pub(crate) fn zero_offsets(shape: &Shape, limit: u64) -> Result<Vec<usize>> {
    let instead = "keep the tensor in COO, or raise the limit";
    filled("the offsets of the lanes", 0, offset_count(shape), limit, instead)
}

impl<I: Index> PartialEq for CsrPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        if self.shares_arrays_with(other) {
            return true;
        }
        read(&self.memo);
        (&self.shape, &self.offsets, &self.columns) == (&other.shape, &other.offsets, &other.columns)
    }
}

impl<I: Index> Pattern for CsrPattern<I> {
    type Index = I;

    const FORMAT: super::Format = super::Format::Csr;

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn nnz(&self) -> usize {
        self.columns.len()
    }

    fn find(&self, coords: &[usize]) -> Option<usize> {
        read(&self.memo);
        if coords.len() != self.shape.rank() || coords.iter().zip(self.shape.iter()).any(|(c, length)| c >= length) {
            return None;
        }
        let lane = ravel(&coords[..coords.len().saturating_sub(1)], self.shape.lane_axes());
        let column = coords.last().copied().unwrap_or(0);
        let within = self.lane(lane).binary_search_by(|index| index.to_usize().cmp(&column)).ok()?;
        Some(self.offsets[lane] + within)
    }

    fn coords_of(&self, entry: usize) -> Option<Vec<usize>> {
        read(&self.memo);
        let column = self.columns.get(entry)?.to_usize();
        let lane = self.offsets.partition_point(|&offset| offset <= entry) - 1;
        let mut coords = vec![0; self.shape.rank()];
        unravel(lane, self.shape.lane_axes(), &mut coords);
        if let Some(last) = coords.last_mut() {
            *last = column;
        }
        Some(coords)
    }

    fn walk_range(&self, entries: Range<usize>, mut visit: impl FnMut(usize, &[usize]) -> bool) {
        read(&self.memo);
        let entries = entries.start..entries.end.min(self.nnz());
        if entries.is_empty() {
            return;
        }
        let (offsets, columns) = (self.offsets(), self.columns());
        let mut coords = vec![0; self.shape.rank()];
        let last = coords.len().saturating_sub(1);
        let first_lane = offsets.partition_point(|&offset| offset <= entries.start) - 1;
        unravel(first_lane, self.shape.lane_axes(), &mut coords[..last]);
        for lane in first_lane..self.lanes() {
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
            step(&mut coords[..last], self.shape.lane_axes());
        }
    }

    fn retain(&self, kept: &[usize]) -> Result<Self> {
        read(&self.memo);
        let offsets = offsets_among(kept, &self.offsets)?;
        let columns = sort::gather(&self.columns, kept)?;
        Ok(CsrPattern::from_valid(self.shape.clone(), offsets.into(), columns.into()))
    }

    fn shares_arrays_with(&self, other: &Self) -> bool {
        self.shape == other.shape
            && self.offsets.shares_with(&other.offsets)
            && self.columns.shares_with(&other.columns)
    }

    fn index_bytes(&self) -> usize {
        size_of_val(self.offsets()) + size_of_val(self.columns())
    }

    fn coord(&self, entry: usize, axis: usize) -> usize {
        read(&self.memo);
        if axis + 1 == self.shape.rank() {
            return self.columns[entry].to_usize();
        }
        let inner: usize = self.shape.lane_axes()[axis + 1..].iter().product();
        (self.offsets.partition_point(|&offset| offset <= entry) - 1) / inner % self.shape[axis]
    }

    fn axis_coords(&self, axis: usize) -> Allocated<Cow<'_, [I]>> {
        read(&self.memo);
        match axis + 1 == self.shape.rank() {
            true => Ok(Cow::Borrowed(&self.columns)),
            false => self.lane_coords(axis).map(Cow::Owned),
        }
    }

    fn shared_axis(&self, axis: usize) -> Allocated<Buffer<I>> {
        read(&self.memo);
        match axis + 1 == self.shape.rank() {
            true => Ok(self.columns.clone()),
            false => self.lane_coords(axis).map(Buffer::from),
        }
    }

    fn number(&self, start: usize, positions: &mut [usize]) {
        read(&self.memo);
        let (width, columns) = (self.shape.columns(), &self.columns[start..]);
        spread_range(&self.offsets, 1, start, positions, |lane| lane * width);
        positions.iter_mut().zip(columns).for_each(|(position, column)| *position += column.to_usize());
    }

    fn number_within(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]) {
        read(&self.memo);
        let lane_axes = self.shape.lane_axes();
        let of_lanes = axes.len() - usize::from(axes.last().is_some_and(|&axis| axis + 1 == self.shape.rank()));
        // Of each axis of the lanes how many lanes share a coordinate, and its length.
        let axis = |&axis: &usize| (lane_axes[axis + 1..].iter().product::<usize>(), lane_axes[axis]);
        let kept: Vec<(usize, usize)> = axes[..of_lanes].iter().map(axis).collect();
        if kept.is_empty() {
            positions.fill(0);
        } else if kept.len() == lane_axes.len() {
            spread_range(&self.offsets, 1, start, positions, |lane| lane);
        } else {
            let within = |lane: usize| kept.iter().fold(0, |at, (inner, length)| at * length + lane / inner % length);
            spread_range(&self.offsets, 1, start, positions, within);
        }
        if let Some(width) = lengths.get(of_lanes) {
            let columns = positions.iter_mut().zip(&self.columns[start..]);
            columns.for_each(|(position, column)| *position = *position * width + column.to_usize());
        }
    }

    fn memo(&self) -> Option<&Arc<Memo>> {
        self.memo.as_ref()
    }

    fn with_memo(self, memo: Option<Arc<Memo>>) -> Self {
        Self { memo, ..self }
    }

    fn part_of(&self) -> Option<&Arc<PartOf>> {
        self.part_of.as_ref()
    }

    fn with_part_of(self, part_of: Option<Arc<PartOf>>) -> Self {
        Self { part_of, ..self }
    }

    fn lane_offsets(&self) -> Option<&Buffer<usize>> {
        Some(&self.offsets)
    }

    fn from_coords(shape: Shape, nnz: usize, mut coords: Vec<Buffer<I>>, limit: u64) -> Result<Self> {
        let columns = coords.pop().unwrap_or_else(|| vec![I::default(); nnz].into());
        let coords = coords_as_slices(&coords);
        if let [rows] = coords[..] {
            return CsrPattern::from_lane_of(shape.clone(), |entry| rows[entry].to_usize(), columns, limit);
        }
        let lane_axes = shape.lane_axes();
        let lane = |entry: usize| {
            let axes = coords.iter().zip(lane_axes);
            axes.fold(0usize, |lane, (axis, &length)| lane.wrapping_mul(length).wrapping_add(axis[entry].to_usize()))
        };
        CsrPattern::from_lane_of(shape.clone(), lane, columns, limit)
    }

    fn from_lanes(shape: Shape, offsets: Buffer<usize>, columns: Buffer<I>) -> Result<Self> {
        check_axes::<I>(&shape)?;
        Ok(Self::from_valid(shape, offsets, columns))
    }
}
