//! Where the stored entries of a tensor are: the index structure without values, and all its invariants.
//!
//! A pattern is immutable and its arrays are shared, so an operation that only looks at values copies no coordinate.

mod any;
mod coo;
mod csr;
mod kind;
mod lists;
mod memo;
mod validate;

pub(crate) use crate::kernels::coords::{AxisCoords, CoordSlices, by_slices, by_width, of_width, slices};
pub use any::AnyPattern;
pub use coo::CooPattern;
pub use csr::CsrPattern;
pub(crate) use csr::zero_offsets;
pub use kind::Format;
pub(crate) use lists::CoordLists;
#[cfg(feature = "io")]
pub(crate) use lists::IndexKind;
pub(crate) use memo::{Memo, PartOf, for_plan, of_plan, planned};
pub(crate) use validate::{in_bounds as validate_in_bounds, length as validate_length};

use std::fmt::Debug;
use std::ops::Range;

use crate::base::error::Result;
use crate::base::index::{Index, check_axes};
use crate::base::shape::Shape;

/// What the two formats have in common: [`CooPattern`] and [`CsrPattern`]. The trait is sealed.
///
/// Entries are numbered from 0 in row-major order, in both formats alike.
pub trait Pattern: Clone + PartialEq + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The type of the coordinates.
    type Index: Index;

    /// The format.
    const FORMAT: Format;

    /// The lengths of the axes.
    fn shape(&self) -> &Shape {
        self.any().shape()
    }

    /// The number of stored entries.
    fn nnz(&self) -> usize {
        self.any().nnz()
    }

    /// The number of the entry at `coords`, if one is stored there.
    ///
    /// Anything that is no position of the tensor (a wrong rank, a coordinate out of bounds) holds no entry.
    /// O(rank · log nnz).
    fn find(&self, coords: &[usize]) -> Option<usize> {
        self.any().find(coords)
    }

    /// The coordinates of entry number `entry`, if there are as many entries: what [`find`](Pattern::find) undoes.
    ///
    /// O(rank) in coordinate format, O(rank + log lanes) in compressed format.
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

    /// Calls `visit` with the number and the coordinates of each entry, in row-major order, until it says `false`.
    fn walk(&self, visit: impl FnMut(usize, &[usize]) -> bool) {
        self.walk_range(0..self.nnz(), visit);
    }

    /// [`walk`](Pattern::walk) over the entries of a range of numbers; those that do not exist are left out.
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

    /// Whether the two share their index arrays: the same memory, not only equal contents.
    fn shares_arrays_with(&self, other: &Self) -> bool {
        self.any().shares_arrays_with(other.any())
    }

    /// The bytes that the index arrays take.
    fn index_bytes(&self) -> usize {
        self.any().index_bytes()
    }

    /// The pattern without the types of its format and its coordinates.
    #[doc(hidden)]
    fn any(&self) -> &AnyPattern;

    /// The pattern itself without these types.
    #[doc(hidden)]
    fn into_any(self) -> AnyPattern;

    /// The name of the type of the coordinates, for people.
    #[doc(hidden)]
    fn index_name(&self) -> &'static str {
        Self::Index::NAME
    }

    /// The typed face of a pattern, which an operation has made of one of this type: its format is this one, and its
    /// coordinates are wider only where an axis of the result needs it.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit the type of the coordinates.
    #[doc(hidden)]
    fn from_any(any: AnyPattern) -> Result<Self>;
}

/// A pattern in the width of `I`.
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

/// Faces of the same pattern are equal where it is.
macro_rules! equal_faces {
    ($($face:ident),*) => {$(
        impl<I: Index> PartialEq for $face<I> {
            fn eq(&self, other: &Self) -> bool {
                self.any() == other.any()
            }
        }
    )*};
}

equal_faces!(CooPattern, CsrPattern);

mod sealed {
    use super::{AnyPattern, CooPattern, CsrPattern};

    pub trait Sealed {}
    impl<I> Sealed for CooPattern<I> {}
    impl<I> Sealed for CsrPattern<I> {}
    impl Sealed for AnyPattern {}
}
