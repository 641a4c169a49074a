//! The coordinate pattern: one coordinate array an axis.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::{CsrPattern, Memo, PartOf, Pattern, read, validate};
use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::index::{Index, check_axes};
use crate::base::shape::Shape;
use crate::base::spare;
use crate::base::threads;
use crate::kernels::cells::number;
use crate::kernels::sort;
use crate::kernels::take::find;

/// Where the entries of a [`CooTensor`](crate::CooTensor) are: a shape and one coordinate array an axis.
///
/// ```text
///                         entry  0  1  2
/// shape [2, 3]   . a .    axis 0 [0, 1, 1]
///                b . c    axis 1 [1, 0, 2]
/// ```
///
/// The invariants, which every constructor checks:
///
/// 1. there are as many coordinate arrays as axes, each as long as there are entries;
/// 2. every axis fits the index type: its length minus one is at most `I::MAX`;
/// 3. every coordinate is below the length of its axis;
/// 4. entries increase strictly in row-major order, so none is repeated. On rank 0 there is at most one.
///
/// The arrays are immutable and shared: a clone copies none of them.
#[must_use]
#[derive(Clone)]
pub struct CooPattern<I = u32> {
    shape: Shape,
    coords: Vec<Buffer<I>>,
    nnz: usize,
    memo: Option<Arc<Memo>>,
    part_of: Option<Arc<PartOf>>,
}

impl<I: Index> CooPattern<I> {
    /// A pattern of `nnz` entries from one coordinate array an axis.
    ///
    /// # Errors
    ///
    /// - `LengthMismatch`: the number of arrays is not the rank, or an array is not `nnz` long;
    /// - `AxisTooLong`: an axis does not fit `I`;
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
        Self::from_shared(shape.into(), nnz, coords.into_iter().map(Buffer::from).collect())
    }

    /// A pattern of arrays that may be shared already; checks what [`CooPattern::new`] checks.
    pub(crate) fn from_shared(shape: Shape, nnz: usize, coords: Vec<Buffer<I>>) -> Result<Self> {
        validate::length("the list of coordinate arrays", shape.rank(), coords.len())?;
        check_axes::<I>(&shape)?;
        for (axis, (array, &length)) in coords.iter().zip(shape.iter()).enumerate() {
            validate::length("a coordinate array", nnz, array.len())?;
            validate::in_bounds(array, axis, length)?;
        }
        if coords.is_empty() && nnz > 1 {
            let (coords, previous) = (Vec::new(), Vec::new());
            return Err(crate::Error::NotSorted { entry: 1, coords, previous });
        }
        validate::increasing(&coords_as_slices(&coords), nnz)?;
        Ok(CooPattern { shape, coords, nnz, memo: None, part_of: None })
    }

    /// A pattern whose invariants the caller has kept; debug builds check them all.
    pub(crate) fn from_valid(shape: Shape, nnz: usize, coords: Vec<Buffer<I>>) -> Self {
        #[cfg(debug_assertions)]
        if let Err(error) = Self::from_shared(shape.clone(), nnz, coords.clone()) {
            panic!("an operation built an invalid coordinate pattern: {error}");
        }
        CooPattern { shape, coords, nnz, memo: None, part_of: None }
    }

    /// A pattern that stores nothing.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `I`.
    pub fn empty(shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        let coords = vec![Buffer::default(); shape.rank()];
        Ok(CooPattern { shape, coords, nnz: 0, memo: None, part_of: None })
    }

    /// The coordinates of all entries on one axis.
    ///
    /// # Panics
    ///
    /// If there is no such axis.
    pub fn coords(&self, axis: usize) -> &[I] {
        &self.coords[axis]
    }

    /// The coordinate arrays, one an axis, shared.
    pub(crate) fn shared_coords(&self) -> &[Buffer<I>] {
        &self.coords
    }

    /// The shape and the coordinate arrays; an array that is shared with another pattern is copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: there is no memory for a copy.
    pub fn into_parts(self) -> Result<(Shape, Vec<Vec<I>>)> {
        let coords = self.coords.into_iter().map(Buffer::into_vec).collect::<Allocated<_>>()?;
        Ok((self.shape, coords))
    }

    /// The same pattern with coordinates of another type; shares the arrays where the type is the same.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `J`.
    pub fn with_index<J: Index>(&self) -> Result<CooPattern<J>> {
        check_axes::<J>(&self.shape)?;
        let coords = self.coords.iter().map(convert_indices).collect::<Allocated<_>>()?;
        Ok(CooPattern { shape: self.shape.clone(), coords, nnz: self.nnz, memo: None, part_of: None })
    }
}

/// The arrays as slices, which the kernels take.
pub(crate) fn coords_as_slices<I>(coords: &[Buffer<I>]) -> Few<&[I]> {
    coords.iter().map(AsRef::as_ref).collect()
}

/// The same indices in another type, which the caller knows to be wide enough; shared where the type is the same.
pub(crate) fn convert_indices<I: Index, J: Index>(array: &Buffer<I>) -> Allocated<Buffer<J>> {
    let same: &dyn std::any::Any = array;
    match same.downcast_ref::<Buffer<J>>() {
        Some(same) => Ok(same.clone()),
        None => {
            let mut converted = spare::items(array.len())?;
            threads::map_into(array, &mut converted, 500, |index| J::from_usize(index.to_usize()));
            Ok(converted.into())
        }
    }
}

impl<I: Index> PartialEq for CooPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        if self.shares_arrays_with(other) {
            return true;
        }
        read(&self.memo);
        (&self.shape, self.nnz, &self.coords) == (&other.shape, other.nnz, &other.coords)
    }
}

impl<I: Index> Pattern for CooPattern<I> {
    type Index = I;

    const FORMAT: super::Format = super::Format::Coo;

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn nnz(&self) -> usize {
        self.nnz
    }

    fn find(&self, coords: &[usize]) -> Option<usize> {
        read(&self.memo);
        if coords.len() != self.shape.rank() {
            return None;
        }
        find(self.nnz, coords, |axis, entry| self.coord(entry, axis))
    }

    fn coords_of(&self, entry: usize) -> Option<Vec<usize>> {
        read(&self.memo);
        (entry < self.nnz).then(|| self.coords.iter().map(|array| array[entry].to_usize()).collect())
    }

    fn walk_range(&self, entries: Range<usize>, mut visit: impl FnMut(usize, &[usize]) -> bool) {
        read(&self.memo);
        let arrays = coords_as_slices(&self.coords);
        let mut coords = vec![0; self.shape.rank()];
        for entry in entries.start..entries.end.min(self.nnz) {
            for (coord, array) in coords.iter_mut().zip(&arrays) {
                *coord = array[entry].to_usize();
            }
            if !visit(entry, &coords) {
                return;
            }
        }
    }

    fn retain(&self, kept: &[usize]) -> Result<Self> {
        read(&self.memo);
        let coords =
            self.coords.iter().map(|array| sort::gather(array, kept).map(Buffer::from)).collect::<Allocated<_>>()?;
        Ok(CooPattern::from_valid(self.shape.clone(), kept.len(), coords))
    }

    fn shares_arrays_with(&self, other: &Self) -> bool {
        (&self.shape, self.nnz) == (&other.shape, other.nnz)
            && self.coords.iter().zip(&other.coords).all(|(a, b)| a.shares_with(b))
    }

    fn index_bytes(&self) -> usize {
        self.nnz * self.shape.rank() * size_of::<I>()
    }

    fn coord(&self, entry: usize, axis: usize) -> usize {
        read(&self.memo);
        self.coords[axis][entry].to_usize()
    }

    fn axis_coords(&self, axis: usize) -> Allocated<Cow<'_, [I]>> {
        read(&self.memo);
        Ok(Cow::Borrowed(self.coords(axis)))
    }

    fn shared_axis(&self, axis: usize) -> Allocated<Buffer<I>> {
        read(&self.memo);
        Ok(self.coords[axis].clone())
    }

    fn number(&self, start: usize, positions: &mut [usize]) {
        read(&self.memo);
        number(&coords_as_slices(&self.coords), &self.shape, start, positions);
    }

    fn number_within(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]) {
        read(&self.memo);
        let coords: Few<&[I]> = axes.iter().map(|&axis| self.coords(axis)).collect();
        number(&coords, lengths, start, positions);
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
        None
    }

    fn from_coords(shape: Shape, nnz: usize, coords: Vec<Buffer<I>>, _: u64) -> Result<Self> {
        check_axes::<I>(&shape)?;
        Ok(CooPattern::from_valid(shape, nnz, coords))
    }

    fn from_lanes(shape: Shape, offsets: Buffer<usize>, columns: Buffer<I>) -> Result<Self> {
        CsrPattern::from_lanes(shape, offsets, columns)?.to_coo()
    }
}
