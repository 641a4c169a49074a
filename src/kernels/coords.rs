//! Coordinates on one axis, in 32 or 64 bits: which of the two is known at run time.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::few::Few;
use crate::base::index::{Index, Width};
use crate::base::spare;
use crate::base::threads::{self, split_at_ends};
use crate::kernels::cells::number;
use crate::kernels::sort;

/// The coordinates of entries on one axis. A clone shares the array.
#[derive(Clone)]
pub(crate) enum AxisCoords {
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

/// Runs code on coordinates of either width: the code is compiled twice.
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

/// Runs code with `$I` as the type of coordinates of a width.
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

/// The arrays of several axes, as kernels take them.
pub(crate) enum CoordSlices<'a> {
    U32(Few<&'a [u32]>),
    U64(Few<&'a [u64]>),
}

/// Coordinates on one axis that are written, of either width.
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

    /// Writes the row-major numbers within `lengths` of the entries from `start` on.
    pub(crate) fn number(&self, lengths: &[usize], start: usize, numbers: &mut [usize]) {
        match self {
            CoordSlices::U32(axes) => number(axes, lengths, start, numbers),
            CoordSlices::U64(axes) => number(axes, lengths, start, numbers),
        }
    }
}

/// The arrays of axes of one width as slices; those of no axis count as 32 bits wide.
pub(crate) fn slices(axes: &[AxisCoords]) -> CoordSlices<'_> {
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

    /// Coordinates of no entry.
    pub(crate) fn empty(width: Width) -> Self {
        of_width!(width, I => AxisCoords::from(Vec::<I>::new()))
    }

    /// The coordinate 0 of so many entries.
    pub(crate) fn zeros(count: usize, width: Width) -> Allocated<Self> {
        of_width!(width, I => alloc::zeros::<I>(count).map(AxisCoords::from))
    }

    /// Each coordinate times a factor, plus the one of another array of the same width, which holds the results.
    pub(crate) fn times_plus(self, factor: usize, other: &Self) -> Allocated<Self> {
        of_width!(self.width(), I => {
            let mut own = self.into_vec::<I>()?;
            let both = own.iter_mut().zip(other.view::<I>());
            both.for_each(|(own, other)| *own = I::from_usize(own.to_usize() * factor + other.to_usize()));
            Ok(own.into())
        })
    }

    pub(crate) fn len(&self) -> usize {
        by_width!(self, own => own.len())
    }

    /// The coordinate of an entry that exists.
    pub(crate) fn at(&self, entry: usize) -> usize {
        by_width!(self, own => own[entry].to_usize())
    }

    /// The coordinates as `I`, which has their width.
    pub(crate) fn view<I: Index>(&self) -> &[I] {
        assert_eq!(self.width(), I::WIDTH, "coordinates are read in the width in which they are held");
        by_width!(self, own => bytemuck::cast_slice(own))
    }

    /// The coordinates as a vector of `I`, which has their width; without a copy where they have one owner.
    pub(crate) fn into_vec<I: Index>(self) -> Allocated<Vec<I>> {
        assert_eq!(self.width(), I::WIDTH, "coordinates are read in the width in which they are held");
        by_width!(self, own => own.into_vec().map(bytemuck::cast_vec))
    }

    /// The coordinates in another width, which holds them all; shared where it is the same.
    pub(crate) fn in_width(&self, width: Width) -> Allocated<AxisCoords> {
        if self.width() == width {
            return Ok(self.clone());
        }
        by_width!(self, own => of_width!(width, I => {
            let mut converted = spare::items::<I>(own.len())?;
            threads::map_into(own, &mut converted, 500, |coord| I::from_usize(coord.to_usize()));
            Ok(converted.into())
        }))
    }

    /// What `of` makes of each coordinate, in a width that holds that.
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

    /// The coordinates as numbers in memory of their own.
    pub(crate) fn to_usizes(&self) -> Allocated<Vec<usize>> {
        by_width!(self, own => threads::map(own, 500, |coord| coord.to_usize()))
    }

    /// The coordinates in 32 bits, which hold them all; shared where these are theirs.
    pub(crate) fn to_u32(&self) -> Allocated<Buffer<u32>> {
        match self.in_width(Width::U32)? {
            AxisCoords::U32(coords) => Ok(coords),
            AxisCoords::U64(_) => unreachable!("they were brought to 32 bits"),
        }
    }

    /// A window of the same memory.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        by_width!(self, own => own.slice(range).into())
    }

    /// The entries that have the same coordinate here and on another axis, of the same width.
    pub(crate) fn equal_entries(&self, other: &Self) -> Allocated<Vec<usize>> {
        of_width!(self.width(), I => {
            let pairs = self.view::<I>().iter().zip(other.view::<I>()).enumerate();
            alloc::collect_some(pairs.filter(|(_, (own, other))| own == other).map(|(entry, _)| entry))
        })
    }

    /// The array cut at `ends`, to be written; a shared one is copied first.
    pub(crate) fn split_mut(&mut self, ends: &[usize]) -> Allocated<Few<AxisCoordsMut<'_>>> {
        Ok(match self {
            AxisCoords::U32(own) => split_at_ends(own.make_mut()?, ends).into_iter().map(AxisCoordsMut::U32).collect(),
            AxisCoords::U64(own) => split_at_ends(own.make_mut()?, ends).into_iter().map(AxisCoordsMut::U64).collect(),
        })
    }

    /// Only so many of the first coordinates.
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

    /// The coordinates of entries in the order given.
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

    /// Gives the array away to be [written again](spare), if nobody else owns it.
    pub(crate) fn spare(self) {
        by_width!(self, own => own.spare());
    }
}

/// Coordinates of different widths are equal where their numbers are.
impl PartialEq for AxisCoords {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (AxisCoords::U32(one), AxisCoords::U32(other)) => one == other,
            (AxisCoords::U64(one), AxisCoords::U64(other)) => one == other,
            (AxisCoords::U32(narrow), AxisCoords::U64(wide)) | (AxisCoords::U64(wide), AxisCoords::U32(narrow)) => {
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
        match I::WIDTH {
            Width::U32 => AxisCoords::U32(bytemuck::cast_vec::<I, u32>(coords).into()),
            Width::U64 => AxisCoords::U64(bytemuck::cast_vec::<I, u64>(coords).into()),
        }
    }
}
