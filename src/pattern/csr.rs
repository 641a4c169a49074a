//! The compressed pattern with its coordinate type.

use std::marker::PhantomData;

use super::any::AnyPattern;
use super::coo::CooPattern;
use super::lanes::zero_offsets;
use crate::base::error::Result;
use crate::base::index::{Index, check_axes};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::kernels::coords::AxisCoords;
use crate::kernels::lanes::accumulate;

/// The pattern of a [`CsrTensor`](crate::CsrTensor): a shape, the offsets of its lanes, and columns.
///
/// Lanes are along the last axis: lane `l` contains the entries `offsets[l]..offsets[l + 1]`. The lanes of a matrix are
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
/// 3. every axis fits in the index type;
/// 4. every column is below the length of the last axis (1 for rank 0);
/// 5. columns increase strictly within a lane, so no column is repeated.
///
/// The offsets and the columns are immutable and shared, so a clone does not copy them.
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
    /// - `LengthMismatch`: the number of offsets differs from the number of lanes plus one;
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - `TooLarge`: the offsets of the shape need more bytes than memory can address;
    /// - `OffsetsStart`: the first offset is not 0;
    /// - `OffsetsDecrease`: an offset is smaller than the offset before it;
    /// - `OffsetsEnd`: the last offset differs from the number of columns;
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

    /// Returns a pattern from the lane and the column of each entry.
    ///
    /// The caller guarantees that the entries are in row-major order. If the offsets need more than `limit` bytes, the
    /// function returns an error.
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
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - `TooLarge`: the offsets of the lanes need more than 1 GiB;
    /// - `OutOfMemory`: the allocation of the offsets fails.
    pub fn empty(shape: impl Into<Shape>) -> Result<Self> {
        Self::empty_with_limit(shape, default_limit(0))
    }

    /// Returns a pattern without entries, with a limit in bytes for its offsets.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - `TooLarge`: the offsets of the lanes need more than `limit` bytes;
    /// - `OutOfMemory`: the allocation of the offsets fails.
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

    /// Returns the number of lanes: the product of all lengths except the last.
    ///
    /// For rank 0 and rank 1, there is one lane.
    pub fn lanes(&self) -> usize {
        self.offsets().len().saturating_sub(1)
    }

    /// Returns the offsets of the lanes: one per lane, and the end of the last lane.
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

    /// Returns the shape, the offsets and the columns.
    ///
    /// An array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of a copy fails.
    pub fn into_parts(self) -> Result<(Shape, Vec<usize>, Vec<I>)> {
        let (shape, offsets, columns) = self.any.into_arrays();
        let columns = columns.into_iter().next().map_or_else(|| Ok(Vec::new()), AxisCoords::into_vec)?;
        Ok((shape, offsets.unwrap_or_default().into_vec()?, columns))
    }

    /// Returns the same pattern in coordinate format.
    ///
    /// The columns are shared, and the other coordinates are computed from the lanes.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the coordinates fails.
    pub fn to_coo(&self) -> Result<CooPattern<I>> {
        self.any.to_coo().map(CooPattern::of)
    }

    /// Converts the column indices to another index type.
    ///
    /// If the width of the index type does not change, the columns are shared. The offsets are always shared.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `J`;
    /// - `OutOfMemory`: the allocation of the converted columns fails.
    pub fn with_index<J: Index>(&self) -> Result<CsrPattern<J>> {
        check_axes::<J>(self.any.shape())?;
        Ok(CsrPattern::of(self.any.in_width(J::WIDTH)?.with_memo(None).with_part_of(None)))
    }
}
