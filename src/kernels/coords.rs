//! Coordinates on one axis, in 32 or 64 bits. The width is dynamic.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::few::Few;
use crate::base::index::{Index, Width};
use crate::base::recycle;
use crate::base::threads::{self, split_at_ends};
use crate::kernels::sort;

/// The coordinates of entries on one axis. A clone shares the array.
#[derive(Clone)]
pub(crate) enum AxisCoords {
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

/// Runs code on coordinates of either width. The code is compiled twice.
macro_rules! by_width {
    ($coords:expr, $own:ident => $body:expr) => {
        match $coords {
            $crate::kernels::coords::AxisCoords::U32($own) => $body,
            $crate::kernels::coords::AxisCoords::U64($own) => $body,
        }
    };
}

/// Runs code on the arrays of several axes, as slices of their width.
macro_rules! by_slices {
    ($axes:expr, $own:ident => $body:expr) => {
        match $crate::kernels::coords::slices($axes) {
            $crate::kernels::coords::CoordSlices::U32($own) => $body,
            $crate::kernels::coords::CoordSlices::U64($own) => $body,
        }
    };
}

/// Runs code with `$I` as the coordinate type of a width.
macro_rules! of_width {
    ($width:expr, $I:ident => $body:expr) => {
        match $width {
            $crate::base::index::Width::U32 => {
                type $I = u32;
                $body
            }
            $crate::base::index::Width::U64 => {
                type $I = u64;
                $body
            }
        }
    };
}

pub(crate) use {by_slices, by_width, of_width};

/// The arrays of several axes, in the form that kernels accept.
pub(crate) enum CoordSlices<'a> {
    U32(Few<&'a [u32]>),
    U64(Few<&'a [u64]>),
}

/// Writable coordinates on one axis, of either width.
pub(crate) enum AxisCoordsMut<'a> {
    U32(&'a mut [u32]),
    U64(&'a mut [u64]),
}

impl CoordSlices<'_> {
    pub(crate) fn width(&self) -> Width {
        match self {
            CoordSlices::U32(_) => Width::U32,
            CoordSlices::U64(_) => Width::U64,
        }
    }

    /// Writes the flat indices within `lengths` of the entries from `start` on.
    pub(crate) fn number(&self, lengths: &[usize], start: usize, numbers: &mut [usize]) {
        match self {
            CoordSlices::U32(axes) => number(axes, lengths, start, numbers),
            CoordSlices::U64(axes) => number(axes, lengths, start, numbers),
        }
    }
}

/// Returns the arrays of axes of one width as slices. An empty list counts as 32 bits wide.
pub(crate) fn slices(axes: &[AxisCoords]) -> CoordSlices<'_> {
    // All axes have the width of the first axis. `view` checks each axis.
    match axes.first().map_or(Width::U32, AxisCoords::width) {
        Width::U32 => CoordSlices::U32(axes.iter().map(AxisCoords::view).collect()),
        Width::U64 => CoordSlices::U64(axes.iter().map(AxisCoords::view).collect()),
    }
}

impl AxisCoords {
    pub(crate) fn width(&self) -> Width {
        match self {
            AxisCoords::U32(_) => Width::U32,
            AxisCoords::U64(_) => Width::U64,
        }
    }

    /// Returns an empty list of coordinates.
    pub(crate) fn empty(width: Width) -> Self {
        of_width!(width, I => AxisCoords::from(Vec::<I>::new()))
    }

    /// Returns `count` coordinates that are 0.
    pub(crate) fn zeros(count: usize, width: Width) -> Allocated<Self> {
        of_width!(width, I => alloc::zeros::<I>(count).map(AxisCoords::from))
    }

    /// Returns each coordinate times a factor, plus the coordinate of another array. Both arrays must have the same
    /// width, and the results must fit in this width.
    pub(crate) fn times_plus(self, factor: usize, other: &Self) -> Allocated<Self> {
        of_width!(self.width(), I => {
            // `into_vec` copies a shared array, so other owners keep their coordinates.
            let mut own = self.into_vec::<I>()?;
            let both = own.iter_mut().zip(other.view::<I>());
            // The results fit in the width that the caller chose, so `from_usize` does not truncate.
            both.for_each(|(own, other)| *own = I::from_usize(own.to_usize() * factor + other.to_usize()));
            Ok(own.into())
        })
    }

    pub(crate) fn len(&self) -> usize {
        by_width!(self, own => own.len())
    }

    /// Returns the coordinate of an existing entry.
    pub(crate) fn at(&self, entry: usize) -> usize {
        by_width!(self, own => own[entry].to_usize())
    }

    /// Returns the coordinates as `I`. `I` must have their width.
    pub(crate) fn view<I: Index>(&self) -> &[I] {
        assert_eq!(self.width(), I::WIDTH, "coordinates are read in the width in which they are stored");
        // `I` has the same size as the stored type, so the cast changes neither length nor order.
        by_width!(self, own => bytemuck::cast_slice(own))
    }

    /// Returns the coordinates as a vector of `I`. `I` must have their width. Copies the array if it has other owners
    /// or is a window.
    pub(crate) fn into_vec<I: Index>(self) -> Allocated<Vec<I>> {
        assert_eq!(self.width(), I::WIDTH, "coordinates are read in the width in which they are stored");
        // `I` has the same size and alignment as the stored type, so the cast keeps the allocation.
        by_width!(self, own => own.into_vec().map(bytemuck::cast_vec))
    }

    /// Returns the coordinates in another width, in which all coordinates must fit. Shares the array if the width is
    /// equal.
    pub(crate) fn in_width(&self, width: Width) -> Allocated<AxisCoords> {
        if self.width() == width {
            return Ok(self.clone());
        }
        by_width!(self, own => of_width!(width, I => {
            // The items may have old contents. `map_into` writes each item.
            let mut converted = recycle::items::<I>(own.len())?;
            threads::map_into(own, &mut converted, 500, |coord| I::from_usize(coord.to_usize()));
            Ok(converted.into())
        }))
    }

    /// Returns `of` each coordinate. The results must fit in the width.
    pub(crate) fn map(
        &self,
        width: Width,
        picoseconds: usize,
        of: impl Fn(usize) -> usize + Sync,
    ) -> Allocated<AxisCoords> {
        by_width!(self, own => of_width!(width, I => {
            threads::map(own, picoseconds, |coord| I::from_usize(of(coord.to_usize()))).map(AxisCoords::from)
        }))
    }

    /// Returns a copy of the coordinates as `usize`.
    pub(crate) fn to_usizes(&self) -> Allocated<Vec<usize>> {
        by_width!(self, own => threads::map(own, 500, |coord| coord.to_usize()))
    }

    /// Returns the coordinates in 32 bits. All coordinates must fit in 32 bits. Shares the array if its width is 32
    /// bits.
    pub(crate) fn to_u32(&self) -> Allocated<Buffer<u32>> {
        match self.in_width(Width::U32)? {
            AxisCoords::U32(coords) => Ok(coords),
            AxisCoords::U64(_) => unreachable!("they were converted to 32 bits"),
        }
    }

    /// Returns a window of the same memory.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        by_width!(self, own => own.slice(range).into())
    }

    /// Returns the entries whose coordinates on this axis and on another axis of the same width are equal.
    pub(crate) fn equal_entries(&self, other: &Self) -> Allocated<Vec<usize>> {
        of_width!(self.width(), I => {
            // Entries are tested in order, so the list increases.
            let pairs = self.view::<I>().iter().zip(other.view::<I>()).enumerate();
            alloc::collect_some(pairs.filter(|(_, (own, other))| own == other).map(|(entry, _)| entry))
        })
    }

    /// Splits the array at `ends` for writing. Copies a shared array first.
    pub(crate) fn split_mut(&mut self, ends: &[usize]) -> Allocated<Few<AxisCoordsMut<'_>>> {
        // `make_mut` leaves one owner, so the parts are disjoint and writable.
        Ok(match self {
            AxisCoords::U32(own) => split_at_ends(own.make_mut()?, ends).into_iter().map(AxisCoordsMut::U32).collect(),
            AxisCoords::U64(own) => split_at_ends(own.make_mut()?, ends).into_iter().map(AxisCoordsMut::U64).collect(),
        })
    }

    /// Returns only the first `count` coordinates.
    pub(crate) fn truncated(self, count: usize) -> Allocated<AxisCoords> {
        if self.len() == count {
            return Ok(self);
        }
        by_width!(self, own => {
            let mut own = own.into_vec()?;
            own.truncate(count);
            Ok(own.into())
        })
    }

    /// Returns the coordinates of entries in the given order.
    pub(crate) fn gather(&self, order: &[usize]) -> Allocated<AxisCoords> {
        by_width!(self, own => sort::gather(own, order).map(AxisCoords::from))
    }

    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (AxisCoords::U32(one), AxisCoords::U32(other)) => one.shares_with(other),
            (AxisCoords::U64(one), AxisCoords::U64(other)) => one.shares_with(other),
            _ => false,
        }
    }

    /// Keeps the array for [reuse](recycle), if the array is not shared.
    pub(crate) fn recycle(self) {
        by_width!(self, own => own.recycle());
    }
}

/// Coordinates of different widths are equal if their numbers are equal.
impl PartialEq for AxisCoords {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (AxisCoords::U32(one), AxisCoords::U32(other)) => one == other,
            (AxisCoords::U64(one), AxisCoords::U64(other)) => one == other,
            (AxisCoords::U32(narrow), AxisCoords::U64(wide)) | (AxisCoords::U64(wide), AxisCoords::U32(narrow)) => {
                // The `u32` coordinates are widened, so a `u64` above the range of `u32` is never equal.
                narrow.len() == wide.len() && narrow.iter().zip(wide.iter()).all(|(&a, &b)| u64::from(a) == b)
            }
        }
    }
}

impl From<Buffer<u32>> for AxisCoords {
    fn from(coords: Buffer<u32>) -> Self {
        AxisCoords::U32(coords)
    }
}

impl From<Buffer<u64>> for AxisCoords {
    fn from(coords: Buffer<u64>) -> Self {
        AxisCoords::U64(coords)
    }
}

impl<I: Index> From<Vec<I>> for AxisCoords {
    fn from(coords: Vec<I>) -> Self {
        // `I` has the size and alignment of the stored type, so the cast keeps the allocation.
        match I::WIDTH {
            Width::U32 => AxisCoords::U32(bytemuck::cast_vec::<I, u32>(coords).into()),
            Width::U64 => AxisCoords::U64(bytemuck::cast_vec::<I, u64>(coords).into()),
        }
    }
}

/// Writes the flat indices within `lengths` of the entries from `start` on.
pub(crate) fn number<I: Index>(coords: &[&[I]], lengths: &[usize], start: usize, numbers: &mut [usize]) {
    let Some((first, others)) = coords.split_first() else { return numbers.fill(0) };
    numbers.iter_mut().zip(&first[start..]).for_each(|(number, coord)| *number = coord.to_usize());
    // Invariant: `numbers` holds the flat indices within the axes before this one.
    for (axis, length) in others.iter().zip(lengths.iter().skip(1)) {
        for (number, coord) in numbers.iter_mut().zip(&axis[start..]) {
            *number = *number * length + coord.to_usize();
        }
    }
}
