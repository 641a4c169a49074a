//! Lists of coordinates that grow entry by entry, and become wider if a coordinate requires it.

#[cfg(feature = "parquet")]
use std::ops::Range;

use super::AxisCoords;
use crate::base::alloc::{self, Allocated};
#[cfg(feature = "io")]
use crate::base::error::Result;
#[cfg(feature = "io")]
use crate::base::index::check_axes;
use crate::base::index::{Index, Width};
#[cfg(feature = "parquet")]
use crate::base::recycle;
#[cfg(feature = "io")]
use crate::base::shape::Shape;
#[cfg(feature = "io")]
use crate::kernels::sort;

/// One coordinate array per axis, all of the same width.
#[derive(Debug)]
pub(crate) enum CoordLists {
    U32(Vec<Vec<u32>>),
    U64(Vec<Vec<u64>>),
}

/// Runs code on lists of either width.
macro_rules! by_lists {
    ($lists:expr, $own:ident => $body:expr) => {
        match $lists {
            CoordLists::U32($own) => $body,
            CoordLists::U64($own) => $body,
        }
    };
}

impl CoordLists {
    /// Returns empty lists. They become wider if a coordinate requires it.
    pub(crate) fn new(rank: usize, width: Width) -> Self {
        match width {
            Width::U32 => CoordLists::U32(vec![Vec::new(); rank]),
            Width::U64 => CoordLists::U64(vec![Vec::new(); rank]),
        }
    }

    /// Returns empty lists with capacity for `entries` entries.
    pub(crate) fn with_capacity(rank: usize, width: Width, entries: usize) -> Allocated<Self> {
        let mut lists = Self::new(rank, width);
        lists.reserve_exact(entries)?;
        Ok(lists)
    }

    pub(crate) fn rank(&self) -> usize {
        by_lists!(self, own => own.len())
    }

    /// Reserves capacity for exactly `count` more entries.
    pub(crate) fn reserve_exact(&mut self, count: usize) -> Allocated<()> {
        by_lists!(self, own => own.iter_mut().try_for_each(|axis| alloc::reserve_exact(axis, count)))
    }

    /// Appends a coordinate on one axis.
    #[inline]
    pub(crate) fn push(&mut self, axis: usize, coord: usize) -> Allocated<()> {
        match self {
            CoordLists::U32(own) if coord as u64 <= <u32 as Index>::MAX => alloc::push(&mut own[axis], coord as u32),
            CoordLists::U64(own) => alloc::push(&mut own[axis], coord as u64),
            CoordLists::U32(_) => {
                self.widen()?;
                self.push(axis, coord)
            }
        }
    }

    /// Appends the coordinates of an entry.
    pub(crate) fn push_all(&mut self, coords: &[usize]) -> Allocated<()> {
        coords.iter().enumerate().try_for_each(|(axis, &coord)| self.push(axis, coord))
    }

    /// Converts the lists to 64 bits and keeps their capacity.
    #[cold]
    fn widen(&mut self) -> Allocated<()> {
        let CoordLists::U32(own) = self else { return Ok(()) };
        let widened = own.iter().map(|axis| {
            let mut wide = alloc::with_capacity(axis.capacity())?;
            wide.extend(axis.iter().map(|&coord| u64::from(coord)));
            Ok(wide)
        });
        *self = CoordLists::U64(widened.collect::<Allocated<_>>()?);
        Ok(())
    }

    /// Returns the arrays in the form of a pattern, without spare capacity.
    pub(crate) fn into_coords(self) -> Vec<AxisCoords> {
        fn shrunk<I: Index>(mut axis: Vec<I>) -> AxisCoords {
            axis.shrink_to_fit();
            axis.into()
        }
        by_lists!(self, own => own.into_iter().map(shrunk).collect())
    }
}

/// Methods for file readers.
#[cfg(feature = "io")]
impl CoordLists {
    pub(crate) fn width(&self) -> Width {
        match self {
            CoordLists::U32(_) => Width::U32,
            CoordLists::U64(_) => Width::U64,
        }
    }

    pub(crate) fn at(&self, axis: usize, entry: usize) -> usize {
        by_lists!(self, own => own[axis][entry].to_usize())
    }

    /// Returns the coordinates of an entry on all axes.
    pub(crate) fn coords(&self, entry: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.rank()).map(move |axis| self.at(axis, entry))
    }

    pub(crate) fn len(&self, axis: usize) -> usize {
        by_lists!(self, own => own[axis].len())
    }

    /// Returns the last coordinate on an axis.
    pub(crate) fn last(&self, axis: usize) -> Option<usize> {
        by_lists!(self, own => own[axis].last().map(|coord| coord.to_usize()))
    }

    /// Appends a coordinate on an axis with at most `max_len` coordinates; the capacity never exceeds `max_len`.
    pub(crate) fn push_up_to(&mut self, axis: usize, coord: usize, max_len: usize) -> Allocated<()> {
        by_lists!(self, own => alloc::make_room(&mut own[axis], max_len))?;
        self.push(axis, coord)
    }

    #[cfg(test)]
    pub(crate) fn capacity_on(&self, axis: usize) -> usize {
        by_lists!(self, own => own[axis].capacity())
    }

    /// Appends the entries of other lists.
    pub(crate) fn append(&mut self, mut others: CoordLists) -> Allocated<()> {
        match self.width().max(others.width()) {
            Width::U64 => self.widen().and(others.widen())?,
            Width::U32 => {}
        }
        match (self, &others) {
            (CoordLists::U32(own), CoordLists::U32(others)) => extend_all(own, others),
            (CoordLists::U64(own), CoordLists::U64(others)) => extend_all(own, others),
            _ => unreachable!("both were converted to one width"),
        }
    }

    /// Appends coordinates on an axis; [`reserve`](CoordLists::reserve) must be called before.
    #[cfg(feature = "parquet")]
    pub(crate) fn extend(&mut self, axis: usize, coords: &[u64]) -> Allocated<()> {
        let fits = |&coord: &u64| coord <= <u32 as Index>::MAX;
        if self.width() == Width::U32 && !coords.iter().fold(true, |all, coord| all & fits(coord)) {
            self.widen()?;
        }
        match self {
            CoordLists::U32(own) => own[axis].extend(coords.iter().map(|&coord| coord as u32)),
            CoordLists::U64(own) => own[axis].extend_from_slice(coords),
        }
        Ok(())
    }

    /// Reserves capacity for `more` coordinates on an axis.
    #[cfg(feature = "parquet")]
    pub(crate) fn reserve(&mut self, axis: usize, more: usize, max_len: usize) -> Allocated<()> {
        by_lists!(self, own => recycle::reserve_up_to(&mut own[axis], more, max_len))
    }

    /// Returns the entries from `from` on, from the first to the last entry that is inside the range on an axis.
    #[cfg(feature = "parquet")]
    pub(crate) fn inside(&self, axis: usize, from: usize, range: &Range<usize>) -> Range<usize> {
        by_lists!(self, own => inside(&own[axis][from..], range))
    }

    /// On one axis, removes all entries from `from` on, except the kept entries.
    #[cfg(feature = "parquet")]
    pub(crate) fn retain_range(&mut self, axis: usize, from: usize, kept: &Range<usize>) {
        by_lists!(self, own => {
            own[axis].truncate(from + kept.end);
            own[axis].drain(from..from + kept.start);
        });
    }

    /// Makes the coordinates of an axis relative to `range.start`, and returns whether all are inside the range.
    ///
    /// Coordinates outside the range become larger than all coordinates inside the range.
    #[cfg(feature = "parquet")]
    pub(crate) fn count_from(&mut self, axis: usize, range: &Range<usize>) -> bool {
        fn shift<I: Index>(coords: &mut [I], range: &Range<usize>) -> bool {
            coords.iter_mut().fold(true, |all, coord| {
                let at = coord.to_usize().wrapping_sub(range.start);
                *coord = I::from_usize(at.min(I::MAX as usize));
                all & (at < range.len())
            })
        }
        by_lists!(self, own => shift(&mut own[axis], range))
    }

    /// Replaces the coordinates of an entry by the coordinates of another entry.
    #[cfg(feature = "parquet")]
    pub(crate) fn overwrite(&mut self, entry: usize, by: usize) {
        by_lists!(self, own => own.iter_mut().for_each(|axis| axis[entry] = axis[by]));
    }

    /// Returns the first coordinate, among some entries, that is outside of the bounds.
    #[cfg(feature = "parquet")]
    pub(crate) fn first_outside(&self, axis: usize, entries: Range<usize>, (min, max): (u64, u64)) -> Option<u64> {
        let is_out = |coord: &u64| !(min..=max).contains(coord);
        by_lists!(self, own => own[axis][entries].iter().map(|coord| coord.to_usize() as u64).find(is_out))
    }

    /// Returns whether the first `count` entries increase strictly in row-major order.
    pub(crate) fn increase(&self, count: usize) -> bool {
        by_lists!(self, own => sort::first_not_increasing(own, count).is_none())
    }

    /// Returns the smallest shape that contains all entries.
    pub(crate) fn bounding_shape(&self) -> Shape {
        fn length<I: Index>(axis: &[I]) -> usize {
            axis.iter().max().map_or(0, |coord| coord.to_usize().saturating_add(1))
        }
        by_lists!(self, own => own.iter().map(|axis| length(axis)).collect())
    }
}

#[cfg(feature = "parquet")]
fn inside<I: Index>(coords: &[I], range: &Range<usize>) -> Range<usize> {
    let is_in = |coord: &I| range.contains(&coord.to_usize());
    let first = coords.iter().position(is_in).unwrap_or(coords.len());
    first..coords.iter().rposition(is_in).map_or(first, |last| last + 1)
}

#[cfg(feature = "io")]
fn extend_all<I: Copy>(own: &mut [Vec<I>], others: &[Vec<I>]) -> Allocated<()> {
    own.iter_mut().zip(others).try_for_each(|(axis, others)| alloc::extend(axis, others))
}

/// The coordinates that a reader must produce.
#[cfg(feature = "io")]
#[derive(Clone, Copy)]
pub(crate) struct IndexKind {
    /// The minimum width.
    pub(crate) width: Width,
    /// The maximum length of an axis.
    pub(crate) longest: usize,
    /// Rejects a shape with an axis that is too long.
    pub(crate) check: fn(&Shape) -> Result<()>,
}

#[cfg(feature = "io")]
impl IndexKind {
    /// Returns the requirement for coordinates of type `I`.
    pub(crate) fn of<I: Index>() -> Self {
        IndexKind { width: I::WIDTH, longest: (I::MAX as usize).saturating_add(1), check: check_axes::<I> }
    }

    /// Returns the requirement for coordinates that are as narrow as possible.
    pub(crate) fn narrowest() -> Self {
        IndexKind { width: Width::U32, ..Self::of::<u64>() }
    }

    /// Returns the width for a shape.
    pub(crate) fn for_shape(self, shape: &[usize]) -> Width {
        self.width.max(Width::of_lengths(shape))
    }
}
