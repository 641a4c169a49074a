//! Patterns: the positions of the stored entries of a tensor, without values.
//!
//! A pattern is immutable and its arrays are shared, so operations on values do not copy coordinates.

mod any;
mod coo;
mod csr;
mod kind;
mod lanes;
mod lists;
mod memo;
mod planned;
mod validate;

pub(crate) use crate::kernels::coords::{AxisCoords, CoordSlices, by_slices, by_width, of_width, slices};
pub use any::AnyPattern;
pub use coo::CooPattern;
pub use csr::CsrPattern;
pub use kind::Format;
pub(crate) use lanes::zero_offsets;
pub(crate) use lists::CoordLists;
#[cfg(feature = "io")]
pub(crate) use lists::IndexKind;
pub(crate) use memo::{Memo, PartOf};
pub(crate) use planned::{for_plan, of_plan, planned};
pub(crate) use validate::{in_bounds as validate_in_bounds, length as validate_length};

use std::fmt::Debug;
use std::ops::Range;

use crate::base::error::Result;
use crate::base::index::{Index, check_axes};
use crate::base::sealed::Sealed;
use crate::base::shape::Shape;

/// The common interface of both formats, [`CooPattern`] and [`CsrPattern`].
///
/// The trait is sealed.
///
/// Entries are numbered from 0 in row-major order in both formats.
pub trait Pattern: Clone + PartialEq + Debug + Send + Sync + 'static + Sealed {
    /// The type of the coordinates.
    type Index: Index;

    /// The format.
    const FORMAT: Format;

    /// Returns the lengths of the axes.
    fn shape(&self) -> &Shape {
        self.any().shape()
    }

    /// Returns the number of stored entries.
    fn nnz(&self) -> usize {
        self.any().nnz()
    }

    /// Returns the index of the entry at `coords`, or `None` if the position is unstored.
    ///
    /// The result is also `None` if the rank is wrong or a coordinate is out of bounds. The lookup takes O(rank · log
    /// nnz).
    fn find(&self, coords: &[usize]) -> Option<usize> {
        self.any().find(coords)
    }

    /// Returns the coordinates of an entry, or `None` if the entry does not exist.
    ///
    /// The method is the inverse of [`find`](Pattern::find). The lookup takes O(rank) in coordinate format, and
    /// O(rank + log lanes) in compressed format.
    ///
    /// ```
    /// use lacuna::{CsrPattern, Pattern};
    ///
    /// let pattern = CsrPattern::new([3, 3], vec![0, 1, 1, 3], vec![1u32, 0, 2])?;
    /// assert_eq!(pattern.coords_of(1), Some(vec![2, 0]));
    /// assert_eq!(pattern.coords_of(3), None);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    fn coords_of(&self, entry: usize) -> Option<Vec<usize>> {
        self.any().coords_of(entry)
    }

    /// Visits the entries in row-major order, until `visit` returns `false`.
    ///
    /// The arguments of `visit` are the index and the coordinates of the entry.
    fn walk(&self, visit: impl FnMut(usize, &[usize]) -> bool) {
        self.walk_range(0..self.nnz(), visit);
    }

    /// Visits a range of entries in row-major order, until `visit` returns `false`.
    ///
    /// The function works like [`walk`](Pattern::walk). Entries that do not exist are skipped.
    ///
    /// ```
    /// use lacuna::{CsrPattern, Pattern};
    ///
    /// let pattern = CsrPattern::new([3, 3], vec![0, 1, 1, 3], vec![1u32, 0, 2])?;
    /// let mut seen = Vec::new();
    /// pattern.walk_range(1..9, |entry, coords| {
    ///     seen.push((entry, coords.to_vec()));
    ///     true
    /// });
    /// assert_eq!(seen, [(1, vec![2, 0]), (2, vec![2, 2])]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    fn walk_range(&self, entries: Range<usize>, mut visit: impl FnMut(usize, &[usize]) -> bool) {
        self.any().walk_range(entries, &mut visit);
    }

    /// Returns whether both patterns share their index arrays in memory.
    ///
    /// Two patterns with equal but separate arrays do not share arrays.
    fn shares_arrays_with(&self, other: &Self) -> bool {
        self.any().shares_arrays_with(other.any())
    }

    /// Returns the number of bytes of the index arrays.
    fn index_bytes(&self) -> usize {
        self.any().index_bytes()
    }

    /// Returns the pattern without the types of its format and coordinates.
    #[doc(hidden)]
    fn any(&self) -> &AnyPattern;

    /// Converts the pattern into a pattern without the types of its format and coordinates.
    #[doc(hidden)]
    fn into_any(self) -> AnyPattern;

    /// Returns the display name of the coordinate type.
    #[doc(hidden)]
    fn index_name(&self) -> &'static str {
        Self::Index::NAME
    }

    /// Returns the typed form of a pattern that an operation computed from a pattern of this type.
    ///
    /// The format of the result is the same. Its coordinates are wider only if an axis of the result requires it.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for the type of the coordinates.
    #[doc(hidden)]
    fn from_any(any: AnyPattern) -> Result<Self>;
}

/// Returns a pattern in the width of `I`.
fn in_width_of<I: Index>(any: AnyPattern) -> Result<AnyPattern> {
    if any.width() == I::WIDTH {
        return Ok(any);
    }
    check_axes::<I>(any.shape())?;
    Ok(any.in_width(I::WIDTH)?)
}

impl<I: Index> Pattern for CooPattern<I> {
    type Index = I;

    const FORMAT: Format = Format::Coo;

    fn any(&self) -> &AnyPattern {
        self.any()
    }

    fn into_any(self) -> AnyPattern {
        self.into_any()
    }

    fn from_any(any: AnyPattern) -> Result<Self> {
        in_width_of::<I>(any).map(CooPattern::of)
    }
}

impl<I: Index> Pattern for CsrPattern<I> {
    type Index = I;

    const FORMAT: Format = Format::Csr;

    fn any(&self) -> &AnyPattern {
        self.any()
    }

    fn into_any(self) -> AnyPattern {
        self.into_any()
    }

    fn from_any(any: AnyPattern) -> Result<Self> {
        in_width_of::<I>(any).map(CsrPattern::of)
    }
}

impl Pattern for AnyPattern {
    type Index = u64;

    const FORMAT: Format = Format::Coo;

    fn any(&self) -> &AnyPattern {
        self
    }

    fn into_any(self) -> AnyPattern {
        self
    }

    fn index_name(&self) -> &'static str {
        of_width!(self.width(), I => I::NAME)
    }

    fn from_any(any: AnyPattern) -> Result<Self> {
        Ok(any)
    }
}

impl<I: Index> PartialEq for CooPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        self.any() == other.any()
    }
}

impl<I: Index> PartialEq for CsrPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        self.any() == other.any()
    }
}

impl<I> Sealed for CooPattern<I> {}
impl<I> Sealed for CsrPattern<I> {}
impl Sealed for AnyPattern {}
