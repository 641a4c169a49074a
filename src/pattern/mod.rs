//! Where the stored entries of a tensor are: the index structure without values, and all its invariants.
//!
//! A pattern is immutable and its arrays are shared, so an operation that only looks at values copies no coordinate.

mod any;
mod coo;
mod csr;
mod kind;
mod memo;
mod validate;

pub(crate) use any::AnyPattern;
pub use coo::CooPattern;
pub(crate) use coo::{convert_indices, coords_as_slices};
pub use csr::CsrPattern;
pub(crate) use csr::zero_offsets;
pub use kind::Format;
pub(crate) use memo::{Memo, PartOf, for_plan, of_plan, planned};
pub(crate) use validate::{in_bounds as validate_in_bounds, length as validate_length};

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::Index;
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
    fn shape(&self) -> &Shape;

    /// The number of stored entries.
    fn nnz(&self) -> usize;

    /// The number of the entry at `coords`, if one is stored there.
    ///
    /// Anything that is no position of the tensor (a wrong rank, a coordinate out of bounds) holds no entry.
    /// O(rank · log nnz).
    fn find(&self, coords: &[usize]) -> Option<usize>;

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
    fn coords_of(&self, entry: usize) -> Option<Vec<usize>>;

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
    fn walk_range(&self, entries: Range<usize>, visit: impl FnMut(usize, &[usize]) -> bool);

    /// The pattern of some of the entries, by their numbers in increasing order.
    #[doc(hidden)]
    fn retain(&self, kept: &[usize]) -> Result<Self>;

    /// Whether the two share their index arrays: the same memory, not only equal contents.
    fn shares_arrays_with(&self, other: &Self) -> bool;

    /// The bytes that the index arrays take.
    fn index_bytes(&self) -> usize;

    /// The coordinate of an entry on one axis; both exist.
    #[doc(hidden)]
    fn coord(&self, entry: usize, axis: usize) -> usize;

    /// The coordinates of all entries on one axis, written out where the format does not hold them.
    #[doc(hidden)]
    fn axis_coords(&self, axis: usize) -> Allocated<Cow<'_, [Self::Index]>>;

    /// [`axis_coords`](Pattern::axis_coords) as an array that is shared where the format holds it.
    #[doc(hidden)]
    fn shared_axis(&self, axis: usize) -> Allocated<Buffer<Self::Index>>;

    /// Writes the row-major positions of the entries from `start` on; the caller knows that they fit.
    #[doc(hidden)]
    fn number(&self, start: usize, positions: &mut [usize]);

    /// Writes the row-major positions of the entries from `start` on within some axes, in increasing order, as if these
    /// had the `lengths`; the caller knows that they fit.
    #[doc(hidden)]
    fn number_within(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]);

    /// The plans that were made for it, if they are kept.
    #[doc(hidden)]
    fn memo(&self) -> Option<&Arc<Memo>>;

    /// The same pattern, whose plans are kept there.
    #[doc(hidden)]
    fn with_memo(self, memo: Option<Arc<Memo>>) -> Self;

    /// The whole that it is a part of, for the operation that is computed in parts.
    #[doc(hidden)]
    fn part_of(&self) -> Option<&Arc<PartOf>>;

    /// The same pattern as a part of that whole.
    #[doc(hidden)]
    fn with_part_of(self, part_of: Option<Arc<PartOf>>) -> Self;

    /// The offsets of the lanes, in a format that has them.
    #[doc(hidden)]
    fn lane_offsets(&self) -> Option<&Buffer<usize>>;

    /// The pattern of `nnz` entries in row-major order, by the coordinates on each axis; `limit` bounds what the format
    /// needs beside them.
    #[doc(hidden)]
    fn from_coords(shape: Shape, nnz: usize, coords: Vec<Buffer<Self::Index>>, limit: u64) -> Result<Self>;

    /// The pattern of entries in lanes, by the offsets of the lanes and the column of each entry; both are valid.
    #[doc(hidden)]
    fn from_lanes(shape: Shape, offsets: Buffer<usize>, columns: Buffer<Self::Index>) -> Result<Self>;
}

/// Counts that somebody reads coordinates, where plans are kept.
#[inline(always)]
fn read(memo: &Option<Arc<Memo>>) {
    if let Some(memo) = memo {
        memo.read();
    }
}

mod sealed {
    use super::{AnyPattern, CooPattern, CsrPattern};

    pub trait Sealed {}
    impl<I> Sealed for CooPattern<I> {}
    impl<I> Sealed for CsrPattern<I> {}
    impl Sealed for AnyPattern {}
}
