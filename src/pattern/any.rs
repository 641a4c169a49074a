//! A pattern with dynamic format and width: operations on it are compiled once, in the library.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::kind::Format;
use super::memo::{Memo, PartOf};
use super::{lanes, validate};
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::{Index, Width};
use crate::base::limit::guard;
use crate::base::shape::Shape;
use crate::kernels::coords::{AxisCoords, by_slices, by_width, number, of_width};
use crate::kernels::lanes::offsets_among;
use crate::kernels::take::find;

/// A pattern of either format and width.
///
/// [`CooPattern`](super::CooPattern) and [`CsrPattern`](super::CsrPattern) are the same patterns with static types.
///
/// A copy shares the entries and does not allocate.
#[derive(Clone)]
pub struct AnyPattern {
    entries: Arc<PatternEntries>,
    memo: Option<Arc<Memo>>,
    part_of: Option<Arc<PartOf>>,
}

/// The shape and the index arrays of a pattern.
#[derive(Clone)]
struct PatternEntries {
    shape: Shape,
    nnz: usize,
    /// The width of all coordinates, also for rank 0.
    width: Width,
    arrays: Arrays,
}

/// The index arrays of both formats.
#[derive(Clone, PartialEq)]
enum Arrays {
    /// One coordinate array per axis.
    Coo(Vec<AxisCoords>),
    Csr {
        offsets: Buffer<usize>,
        columns: AxisCoords,
    },
}

/// Constructors, with and without validation of the invariants.
impl AnyPattern {
    /// Returns a coordinate pattern after checking every invariant.
    pub(crate) fn coo(shape: Shape, nnz: usize, width: Width, coords: Vec<AxisCoords>) -> Result<Self> {
        validate::length("the list of coordinate arrays", shape.rank(), coords.len())?;
        validate::fits(&shape, width)?;
        for (axis, (array, &length)) in coords.iter().zip(shape.iter()).enumerate() {
            validate::length("a coordinate array", nnz, array.len())?;
            by_width!(array, own => validate::in_bounds(own, axis, length))?;
        }
        if coords.is_empty() && nnz > 1 {
            let (coords, previous) = (Vec::new(), Vec::new());
            return Err(Error::NotSorted { entry: 1, coords, previous });
        }
        by_slices!(&coords, own => validate::increasing(&own, nnz))?;
        Ok(Self::of(shape, nnz, width, Arrays::Coo(coords)))
    }

    /// Returns a compressed pattern after checking every invariant.
    pub(crate) fn csr(shape: Shape, offsets: Buffer<usize>, columns: AxisCoords) -> Result<Self> {
        validate::fits(&shape, columns.width())?;
        let expected = lanes::offset_count(&shape);
        guard::<usize>("the offsets of the lanes", expected, u64::MAX, "keep the tensor in COO")?;
        validate::length("the offsets", expected as usize, offsets.len())?;
        validate::offsets(&offsets, columns.len())?;
        by_width!(&columns, own => {
            validate::in_bounds(own, shape.rank().saturating_sub(1), shape.columns())?;
            validate::lanes_increase(&shape, &offsets, own)?;
        });
        Ok(Self::of(shape, columns.len(), columns.width(), Arrays::Csr { offsets, columns }))
    }

    /// Returns a coordinate pattern whose invariants the caller guarantees; debug builds check all of them.
    pub(crate) fn valid_coo(shape: Shape, nnz: usize, width: Width, coords: Vec<AxisCoords>) -> Self {
        #[cfg(debug_assertions)]
        if let Err(error) = Self::coo(shape.clone(), nnz, width, coords.clone()) {
            panic!("an operation built an invalid coordinate pattern: {error}");
        }
        Self::of(shape, nnz, width, Arrays::Coo(coords))
    }

    /// Returns a compressed pattern whose invariants the caller guarantees; debug builds check all of them.
    pub(crate) fn valid_csr(shape: Shape, offsets: Buffer<usize>, columns: AxisCoords) -> Self {
        #[cfg(debug_assertions)]
        if let Err(error) = Self::csr(shape.clone(), offsets.clone(), columns.clone()) {
            panic!("an operation built an invalid compressed pattern: {error}");
        }
        Self::of(shape, columns.len(), columns.width(), Arrays::Csr { offsets, columns })
    }

    /// Returns the coordinate pattern of all positions of an array.
    pub(crate) fn every_position(shape: &Shape, width: Width) -> Allocated<Self> {
        let count: usize = shape.iter().product();
        let mut inner = count;
        let axis = |&length: &usize| {
            inner /= length.max(1);
            let inner = inner.max(1);
            of_width!(width, I => {
                let coords = (0..count).map(|position| I::from_usize(position / inner % length));
                alloc::collect(coords).map(AxisCoords::from)
            })
        };
        let coords = shape.iter().map(axis).collect::<Allocated<_>>()?;
        Ok(Self::valid_coo(shape.clone(), count, width, coords))
    }

    fn of(shape: Shape, nnz: usize, width: Width, arrays: Arrays) -> Self {
        AnyPattern { entries: Arc::new(PatternEntries { shape, nnz, width, arrays }), memo: None, part_of: None }
    }

    /// Returns a pattern in `format`, from the coordinates of `nnz` entries in row-major order.
    ///
    /// `limit` is the maximum number of bytes for the offsets of lanes. Coordinates become wider if an axis is too long
    /// for their width.
    pub(crate) fn from_coords(
        format: Format,
        shape: Shape,
        nnz: usize,
        width: Width,
        mut coords: Vec<AxisCoords>,
        limit: u64,
    ) -> Result<Self> {
        let width = width.max(Width::of_lengths(&shape));
        for axis in coords.iter_mut().filter(|axis| axis.width() != width) {
            *axis = axis.in_width(width)?;
        }
        match format {
            Format::Coo => Ok(Self::valid_coo(shape, nnz, width, coords)),
            Format::Csr => Self::csr_of_coords(shape, nnz, width, coords, limit),
        }
    }

    /// Returns a pattern in compressed format, from the coordinates of sorted entries.
    fn csr_of_coords(shape: Shape, nnz: usize, width: Width, coords: Vec<AxisCoords>, limit: u64) -> Result<Self> {
        let (offsets, columns) = lanes::from_coords(&shape, nnz, width, coords, limit)?;
        Ok(Self::valid_csr(shape, offsets.into(), columns))
    }

    /// Returns a pattern of the same format and at least the same width, from the coordinates of sorted entries.
    pub(crate) fn of_coords(&self, shape: Shape, nnz: usize, coords: Vec<AxisCoords>, limit: u64) -> Result<Self> {
        let width = coords.first().map_or(self.width(), AxisCoords::width);
        Self::from_coords(self.format(), shape, nnz, width, coords, limit)
    }

    /// Returns a pattern of the same format from entries in lanes.
    pub(crate) fn of_lanes(&self, shape: Shape, offsets: Buffer<usize>, columns: AxisCoords) -> Result<Self> {
        Self::from_lanes(self.format(), shape, offsets, columns)
    }

    /// Returns the width that a pattern of another shape needs, if it is derived from this one.
    pub(crate) fn width_for(&self, shape: &[usize]) -> Width {
        self.width().max(Width::of_lengths(shape))
    }

    /// Returns a pattern in `format` from valid lane offsets and the column of each entry.
    pub(crate) fn from_lanes(
        format: Format,
        shape: Shape,
        offsets: Buffer<usize>,
        columns: AxisCoords,
    ) -> Result<Self> {
        let columns = columns.in_width(columns.width().max(Width::of_lengths(&shape)))?;
        let pattern = Self::valid_csr(shape, offsets, columns);
        if format == Format::Coo { pattern.to_coo() } else { Ok(pattern) }
    }
}

/// Properties and arrays.
impl AnyPattern {
    pub(crate) fn format(&self) -> Format {
        match &self.entries.arrays {
            Arrays::Coo(_) => Format::Coo,
            Arrays::Csr { .. } => Format::Csr,
        }
    }

    pub(crate) fn width(&self) -> Width {
        self.entries.width
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.entries.shape
    }

    pub(crate) fn nnz(&self) -> usize {
        self.entries.nnz
    }

    /// Returns the coordinate arrays of a coordinate pattern, or the columns of a compressed pattern.
    pub(crate) fn arrays(&self) -> &[AxisCoords] {
        match &self.entries.arrays {
            Arrays::Coo(coords) => coords,
            Arrays::Csr { columns, .. } => std::slice::from_ref(columns),
        }
    }

    /// Returns the offsets of the lanes of a compressed pattern.
    pub(crate) fn lane_offsets(&self) -> Option<&Buffer<usize>> {
        match &self.entries.arrays {
            Arrays::Coo(_) => None,
            Arrays::Csr { offsets, .. } => Some(offsets),
        }
    }

    /// Returns the offsets and columns of a compressed pattern.
    pub(crate) fn lanes(&self) -> Option<(&Buffer<usize>, &AxisCoords)> {
        match &self.entries.arrays {
            Arrays::Coo(_) => None,
            Arrays::Csr { offsets, columns } => Some((offsets, columns)),
        }
    }

    /// Returns the shape, the offsets of a compressed pattern, and its coordinate arrays.
    pub(crate) fn into_arrays(self) -> (Shape, Option<Buffer<usize>>, Vec<AxisCoords>) {
        let PatternEntries { shape, arrays, .. } = Arc::unwrap_or_clone(self.entries);
        match arrays {
            Arrays::Coo(coords) => (shape, None, coords),
            Arrays::Csr { offsets, columns } => (shape, Some(offsets), vec![columns]),
        }
    }

    /// Returns the bytes of the index arrays.
    pub(crate) fn index_bytes(&self) -> usize {
        let coords = self.nnz() * self.width().bytes();
        match &self.entries.arrays {
            Arrays::Coo(axes) => coords * axes.len(),
            Arrays::Csr { offsets, .. } => coords + size_of_val(&**offsets),
        }
    }

    /// Returns whether both patterns share their index arrays in memory. Equal contents are not enough.
    pub(crate) fn shares_arrays_with(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.entries, &other.entries) {
            return true;
        }
        let arrays = match (&self.entries.arrays, &other.entries.arrays) {
            (Arrays::Coo(one), Arrays::Coo(other)) => one.iter().zip(other).all(|(a, b)| a.shares_with(b)),
            (Arrays::Csr { offsets, columns }, Arrays::Csr { offsets: others, columns: of_other }) => {
                offsets.shares_with(others) && columns.shares_with(of_other)
            }
            _ => false,
        };
        arrays && (self.shape(), self.nnz(), self.width()) == (other.shape(), other.nnz(), other.width())
    }

    /// Returns the coordinates of all entries on one axis, computed if the format does not store them.
    pub(crate) fn axis(&self, axis: usize) -> Allocated<AxisCoords> {
        self.read();
        match &self.entries.arrays {
            Arrays::Coo(coords) => Ok(coords[axis].clone()),
            Arrays::Csr { columns, .. } if axis + 1 == self.shape().rank() => Ok(columns.clone()),
            Arrays::Csr { offsets, .. } => lanes::lane_coords(self.shape(), offsets, self.width(), axis),
        }
    }

    /// Returns the coordinates of all entries on every axis.
    pub(crate) fn axes(&self) -> Allocated<Vec<AxisCoords>> {
        (0..self.shape().rank()).map(|axis| self.axis(axis)).collect()
    }

    /// Returns the coordinates of all entries on every axis; borrowed if the format stores them.
    pub(crate) fn borrowed_axes(&self) -> Allocated<Cow<'_, [AxisCoords]>> {
        match &self.entries.arrays {
            Arrays::Coo(coords) => {
                self.read();
                Ok(Cow::Borrowed(coords))
            }
            Arrays::Csr { .. } => self.axes().map(Cow::Owned),
        }
    }

    /// Returns the coordinate of an entry on an axis; both must exist.
    pub(crate) fn coord(&self, entry: usize, axis: usize) -> usize {
        self.read();
        match &self.entries.arrays {
            Arrays::Coo(coords) => coords[axis].at(entry),
            Arrays::Csr { columns, .. } if axis + 1 == self.shape().rank() => columns.at(entry),
            Arrays::Csr { offsets, .. } => lanes::lane_coord(self.shape(), offsets, entry, axis),
        }
    }

    /// Returns the index of the entry at `coords`, or `None` if the position is unstored.
    pub(crate) fn find(&self, coords: &[usize]) -> Option<usize> {
        self.read();
        match &self.entries.arrays {
            _ if coords.len() != self.shape().rank() => None,
            Arrays::Coo(axes) => find(self.nnz(), coords, |axis, entry| axes[axis].at(entry)),
            Arrays::Csr { offsets, columns } => {
                by_width!(columns, own => lanes::find(self.shape(), offsets, own, coords))
            }
        }
    }

    /// Returns the coordinates of an entry, or `None` if it does not exist.
    pub(crate) fn coords_of(&self, entry: usize) -> Option<Vec<usize>> {
        self.read();
        match &self.entries.arrays {
            _ if entry >= self.nnz() => None,
            Arrays::Coo(axes) => Some(axes.iter().map(|axis| axis.at(entry)).collect()),
            Arrays::Csr { offsets, columns } => Some(lanes::coords_of(self.shape(), offsets, columns.at(entry), entry)),
        }
    }

    /// Calls `visit` with the index and the coordinates of each entry of a range, in row-major order, until `visit`
    /// returns `false`.
    ///
    /// Entries that do not exist are skipped.
    pub(crate) fn walk_range(&self, entries: Range<usize>, visit: &mut dyn FnMut(usize, &[usize]) -> bool) {
        self.read();
        let entries = entries.start..entries.end.min(self.nnz());
        match &self.entries.arrays {
            _ if entries.is_empty() => {}
            Arrays::Coo(axes) => by_slices!(axes, own => walk(&own, entries, visit)),
            Arrays::Csr { offsets, columns } => {
                by_width!(columns, own => lanes::walk(self.shape(), offsets, own, entries, visit));
            }
        }
    }

    /// Writes the row-major positions of the entries from `start` on. The caller guarantees that they fit in `usize`.
    pub(crate) fn number(&self, start: usize, positions: &mut [usize]) {
        self.read();
        match &self.entries.arrays {
            Arrays::Coo(axes) => by_slices!(axes, own => number(&own, self.shape(), start, positions)),
            Arrays::Csr { offsets, columns } => {
                by_width!(columns, own => lanes::number(self.shape(), offsets, own, start, positions));
            }
        }
    }

    /// Writes the row-major positions within some axes, for the entries from `start` on.
    ///
    /// The axes are in increasing order. `lengths` replace the lengths of these axes. The caller guarantees that
    /// positions fit in `usize`.
    pub(crate) fn number_within(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]) {
        self.read();
        match &self.entries.arrays {
            Arrays::Coo(coords) => {
                by_slices!(coords, own => {
                    let kept: Few<_> = axes.iter().map(|&axis| own[axis]).collect();
                    number(&kept, lengths, start, positions);
                });
            }
            Arrays::Csr { offsets, columns } => {
                lanes::number_lanes_within(self.shape(), offsets, axes, start, positions);
                if axes.last().is_some_and(|&axis| axis + 1 == self.shape().rank()) {
                    by_width!(columns, own => lanes::add_columns(own, lengths[axes.len() - 1], start, positions));
                }
            }
        }
    }
}

/// Visits the entries of coordinate arrays.
fn walk<I: Index>(axes: &[&[I]], entries: Range<usize>, visit: &mut dyn FnMut(usize, &[usize]) -> bool) {
    let mut coords = vec![0; axes.len()];
    for entry in entries {
        for (coord, axis) in coords.iter_mut().zip(axes) {
            *coord = axis[entry].to_usize();
        }
        if !visit(entry, &coords) {
            return;
        }
    }
}

/// Conversions, and patterns of selected entries.
impl AnyPattern {
    /// Returns the same entries in `format`, or an error if the offsets need more than `limit` bytes.
    pub(crate) fn in_format(&self, format: Format, limit: u64) -> Result<Self> {
        match (self.format(), format) {
            (Format::Csr, Format::Coo) => self.to_coo(),
            (Format::Coo, Format::Csr) => {
                let coords = self.arrays().to_vec();
                let csr = Self::csr_of_coords(self.shape().clone(), self.nnz(), self.width(), coords, limit)?;
                Ok(csr.with_part_of(self.part_of.clone()))
            }
            _ => Ok(self.clone()),
        }
    }

    /// Returns the same entries in coordinate format. The columns are shared; other coordinates are computed from the
    /// lanes.
    pub(crate) fn to_coo(&self) -> Result<Self> {
        let coords = self.axes()?;
        Ok(Self::valid_coo(self.shape().clone(), self.nnz(), self.width(), coords).with_part_of(self.part_of.clone()))
    }

    /// Returns the same pattern with coordinates of another width. The width must be large enough for all axes.
    ///
    /// Arrays are shared if the width does not change.
    pub(crate) fn in_width(&self, width: Width) -> Allocated<Self> {
        if width == self.width() {
            return Ok(self.clone());
        }
        let arrays = match &self.entries.arrays {
            Arrays::Coo(axes) => Arrays::Coo(axes.iter().map(|axis| axis.in_width(width)).collect::<Allocated<_>>()?),
            Arrays::Csr { offsets, columns } => {
                Arrays::Csr { offsets: offsets.clone(), columns: columns.in_width(width)? }
            }
        };
        let other = Self::of(self.shape().clone(), self.nnz(), width, arrays);
        Ok(other.with_part_of(self.part_of.clone()))
    }

    /// Returns the pattern of selected entries, given by their increasing indices.
    pub(crate) fn retain(&self, kept: &[usize]) -> Result<Self> {
        self.read();
        let (shape, gathered) = (self.shape().clone(), |axis: &AxisCoords| axis.gather(kept));
        match &self.entries.arrays {
            Arrays::Coo(axes) => {
                let axes = axes.iter().map(gathered).collect::<Allocated<_>>()?;
                Ok(Self::valid_coo(shape, kept.len(), self.width(), axes))
            }
            Arrays::Csr { offsets, columns } => {
                Ok(Self::valid_csr(shape, offsets_among(kept, offsets)?.into(), gathered(columns)?))
            }
        }
    }

    /// Returns the same pattern with this memo for its plans.
    pub(crate) fn with_memo(self, memo: Option<Arc<Memo>>) -> Self {
        Self { memo, ..self }
    }

    /// Returns the memo, which keeps the plans of the pattern.
    pub(crate) fn memo(&self) -> Option<&Arc<Memo>> {
        self.memo.as_ref()
    }

    /// Returns the same pattern, marked as a chunk of an entire tensor.
    pub(crate) fn with_part_of(self, part_of: Option<Arc<PartOf>>) -> Self {
        Self { part_of, ..self }
    }

    /// Returns the facts about the entire tensor, for an operation that is computed in chunks.
    pub(crate) fn part_of(&self) -> Option<&Arc<PartOf>> {
        self.part_of.as_ref()
    }

    /// Counts a read of coordinates, if plans are kept.
    #[inline(always)]
    fn read(&self) {
        if let Some(memo) = &self.memo {
            memo.read();
        }
    }
}

impl PartialEq for AnyPattern {
    fn eq(&self, other: &Self) -> bool {
        if self.shares_arrays_with(other) {
            return true;
        }
        self.read();
        (self.shape(), self.nnz(), &self.entries.arrays) == (other.shape(), other.nnz(), &other.entries.arrays)
    }
}
