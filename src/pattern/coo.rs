//! The coordinate pattern with its coordinate type.

use std::marker::PhantomData;

use super::{AnyPattern, AxisCoords};
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::index::{Index, check_axes};
use crate::base::shape::Shape;
use crate::pattern::validate;

/// The pattern of a [`CooTensor`](crate::CooTensor): a shape and one coordinate array per axis.
///
/// ```text
///                         entry  0  1  2
/// shape [2, 3]   . a .    axis 0 [0, 1, 1]
///                b . c    axis 1 [1, 0, 2]
/// ```
///
/// Every constructor checks these invariants:
///
/// 1. the number of coordinate arrays is the rank, and each array has one coordinate per entry;
/// 2. every axis fits in the index type: its length minus one is at most `I::MAX`;
/// 3. every coordinate is below the length of its axis;
/// 4. entries increase strictly in row-major order, so no position is repeated. Rank 0 has at most one entry.
///
/// The arrays are immutable and shared, so a clone does not copy arrays.
#[must_use]
#[derive(Clone)]
pub struct CooPattern<I = u32> {
    /// The same pattern in coordinate format, in the width of `I`.
    any: AnyPattern,
    index: PhantomData<I>,
}

impl<I: Index> CooPattern<I> {
    /// Returns a pattern of `nnz` entries from one coordinate array per axis.
    ///
    /// # Errors
    ///
    /// - `LengthMismatch`: the number of arrays differs from the rank, or an array is not `nnz` long;
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - `IndexOutOfBounds`: a coordinate is not below the length of its axis;
    /// - `NotSorted`: the entries do not increase strictly in row-major order.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooPattern, Pattern};
    ///
    /// let pattern = CooPattern::new([2, 3], 3, vec![vec![0u32, 1, 1], vec![1, 0, 2]])?;
    /// assert_eq!(pattern.find(&[1, 2]), Some(2));
    /// assert_eq!(pattern.find(&[1, 1]), None);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn new(shape: impl Into<Shape>, nnz: usize, coords: Vec<Vec<I>>) -> Result<Self> {
        let shape = shape.into();
        validate::length("the list of coordinate arrays", shape.rank(), coords.len())?;
        check_axes::<I>(&shape)?;
        AnyPattern::coo(shape, nnz, I::WIDTH, coords.into_iter().map(AxisCoords::from).collect()).map(Self::of)
    }

    /// Returns a pattern whose invariants the caller guarantees; debug builds check all of them.
    pub(crate) fn from_valid(shape: Shape, nnz: usize, coords: Vec<AxisCoords>) -> Self {
        Self::of(AnyPattern::valid_coo(shape, nnz, I::WIDTH, coords))
    }

    /// Returns the typed form of a pattern in coordinate format, in the width of `I`.
    pub(super) fn of(any: AnyPattern) -> Self {
        CooPattern { any, index: PhantomData }
    }

    /// Returns a pattern without entries.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for `I`.
    pub fn empty(shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        let coords = vec![AxisCoords::empty(I::WIDTH); shape.rank()];
        Ok(Self::from_valid(shape, 0, coords))
    }

    /// Returns the pattern without its coordinate type.
    pub(crate) fn any(&self) -> &AnyPattern {
        &self.any
    }

    pub(super) fn into_any(self) -> AnyPattern {
        self.any
    }

    /// Returns the coordinates of all entries on one axis.
    ///
    /// # Panics
    ///
    /// Panics if the axis does not exist.
    pub fn coords(&self, axis: usize) -> &[I] {
        self.any.arrays()[axis].view()
    }

    /// Returns the shape and the coordinate arrays.
    ///
    /// An array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of a copy fails.
    pub fn into_parts(self) -> Result<(Shape, Vec<Vec<I>>)> {
        let (shape, _, coords) = self.any.into_arrays();
        let coords = coords.into_iter().map(AxisCoords::into_vec).collect::<Allocated<_>>()?;
        Ok((shape, coords))
    }

    /// Converts the coordinates to another index type.
    ///
    /// If the width of the index type does not change, the arrays are shared.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `J`;
    /// - `OutOfMemory`: the allocation of the converted coordinates fails.
    pub fn with_index<J: Index>(&self) -> Result<CooPattern<J>> {
        check_axes::<J>(self.any.shape())?;
        Ok(CooPattern::of(self.any.in_width(J::WIDTH)?.with_memo(None).with_part_of(None)))
    }
}
