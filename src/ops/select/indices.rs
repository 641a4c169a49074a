//! The arguments of a take: positions, and the mode for positions that are out of range.

use std::borrow::Cow;
use std::ops::{Bound, Range, RangeBounds, RangeInclusive};

use ndarray::{ArrayBase, ArrayD, ArrayView1, CowArray, Data, Dimension, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::Position;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::convert::{copied, dense_bytes};
use crate::kernels::gather::marked;
use crate::kernels::take::TakeMode;

/// The positions of [`take`](crate::take()), and the mode for positions out of range.
///
/// One integer converts to a `Take` of rank 0. An array, a slice, a `Vec` or a range of integers converts to a `Take`
/// of rank 1. A reference to an `ndarray` array or view of any rank and layout also converts to a `Take`. The integers
/// have any built-in type of at most 64 bits. Integers behind a reference are borrowed. A position out of range leads
/// to an error, unless you select another mode.
///
/// A slice of `bool` is a mask, which selects the positions that are `true`. The length of a mask is the number of
/// elements of the operand, or the length of the axis.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Take};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([3], vec![vec![0, 1, 2]], vec![10, 20, 30], 0)?;
/// assert_eq!(x.take([2, -1])?.values(), [30, 30]);
/// assert_eq!(x.take(1..3)?.values(), [20, 30]);
/// assert_eq!(x.take(0..=1)?.values(), [10, 20]);
/// assert_eq!(x.take(&arr2(&[[0], [2]]))?.shape(), &[2, 1][..]);
/// assert_eq!(x.take(&[true, false, true])?.values(), [10, 30]);
///
/// assert!(x.take([-1, 3, -4]).is_err());
/// assert_eq!(x.take(Take::at([-1, 3, -4]).wrap())?.values(), [30, 10, 30]);
/// assert_eq!(x.take(Take::at([-1, 3, -4]).clip())?.values(), [10, 30, 10]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "indices")]
#[doc(alias = "index")]
pub struct Take<'a, J> {
    items: Items<'a, J>,
    shape: Shape,
    /// The mode for positions that are out of range.
    pub mode: TakeMode,
}

/// The positions themselves.
#[derive(Debug, Clone)]
enum Items<'a, J> {
    Array(CowArray<'a, J, IxDyn>),
    /// Consecutive positions: the first position and their number. The positions are expanded only after a limit check.
    Range(J, usize),
    /// The marked positions, counted from the second field, which is 0.
    Mask(&'a [bool], J),
}

impl<'a, J: Position> Take<'a, J> {
    /// Returns a take of `positions`, in which a position out of range returns an error.
    pub fn at(positions: impl Into<Take<'a, J>>) -> Self {
        positions.into()
    }

    fn new(array: CowArray<'a, J, IxDyn>) -> Self {
        Take { shape: Shape::from(array.shape()), items: Items::Array(array), mode: TakeMode::Raise }
    }

    /// Returns a take of `count` positions from `first` on; none if `count` is negative.
    fn run(first: J, count: i128) -> Self {
        let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
        Take { shape: Shape::from([count]), items: Items::Range(first, count), mode: TakeMode::Raise }
    }

    /// Sets the mode in which a position out of range wraps around, modulo the length.
    pub fn wrap(self) -> Self {
        self.mode(TakeMode::Wrap)
    }

    /// Sets the mode in which a position out of range moves to the nearest position.
    ///
    /// A negative position is out of range.
    pub fn clip(self) -> Self {
        self.mode(TakeMode::Clip)
    }

    /// Sets the mode for positions that are out of range.
    pub fn mode(self, mode: TakeMode) -> Self {
        Take { mode, ..self }
    }

    /// Returns the shape of the index array.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of positions to take.
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Array(array) => array.len(),
            Items::Range(_, count) => *count,
            Items::Mask(..) => self.shape[0],
        }
    }

    /// Returns the number of positions that a mask covers.
    pub(crate) fn mask_length(&self) -> Option<usize> {
        if let Items::Mask(mask, _) = &self.items { Some(mask.len()) } else { None }
    }

    /// Returns the positions that a mask marks; they are always in range.
    pub(crate) fn of_mask(&self) -> Allocated<Option<Vec<usize>>> {
        if let Items::Mask(mask, _) = &self.items { of_mask(mask).map(Some) } else { Ok(None) }
    }

    /// Returns the first position and the number of positions, if they are consecutive and within `length`.
    pub(crate) fn range_within(&self, length: usize) -> Option<(usize, usize)> {
        let Items::Range(first, count) = self.items else { return None };
        let first = usize::try_from(first.to_i128()).ok()?;
        first.checked_add(count).filter(|&end| end <= length).map(|_| (first, count))
    }

    /// Returns whether the number of positions to take is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the items in row-major order.
    ///
    /// A range is expanded. An array that repeats its items by strides of 0 is also expanded. The expansion needs
    /// `item_bytes` per item. An expansion above the default limit for the bytes of the owner is rejected.
    pub(crate) fn items(&self, item_bytes: usize) -> Result<Cow<'_, [J]>> {
        if let Items::Array(array) = &self.items
            && let Some(items) = array.as_slice()
        {
            return Ok(Cow::Borrowed(items));
        }
        let owned = self.owned_bytes();
        if owned < self.len().saturating_mul(size_of::<J>()) {
            let bytes = self.len().saturating_mul(item_bytes);
            let what = "the expanded index array";
            guard::<u8>(what, bytes as u128, default_limit(owned), "take fewer positions at a time")?;
        }
        Ok(Cow::Owned(match &self.items {
            Items::Array(array) => copied(&array.view())?,
            Items::Range(start, count) => alloc::collect((0..*count).map(|at| start.plus(at)))?,
            Items::Mask(mask, start) => alloc::collect(of_mask(mask)?.into_iter().map(|at| start.plus(at)))?,
        }))
    }

    /// Returns the number of bytes that the owner of the items needs to hold them.
    pub(crate) fn owned_bytes(&self) -> usize {
        match &self.items {
            Items::Array(array) => dense_bytes(array),
            Items::Range(..) => 2 * size_of::<J>(),
            Items::Mask(mask, _) => mask.len().max(self.len().saturating_mul(size_of::<J>())),
        }
    }
}

fn of_mask(mask: &[bool]) -> Allocated<Vec<usize>> {
    marked(mask.len(), |range, marks| marks.copy_from_slice(&mask[range]))
}

impl<J: Position> From<J> for Take<'_, J> {
    fn from(item: J) -> Self {
        Take::new(ndarray::arr0(item).into_dyn().into())
    }
}

impl<J: Position, const N: usize> From<[J; N]> for Take<'_, J> {
    fn from(items: [J; N]) -> Self {
        Take::from(items.to_vec())
    }
}

impl<J: Position> From<Range<J>> for Take<'_, J> {
    fn from(items: Range<J>) -> Self {
        Take::run(items.start, items.end.to_i128() - items.start.to_i128())
    }
}

impl<J: Position> From<RangeInclusive<J>> for Take<'_, J> {
    fn from(items: RangeInclusive<J>) -> Self {
        // An exhausted range has an excluded end bound.
        let last = match items.end_bound() {
            Bound::Included(last) => last.to_i128(),
            _ => items.start().to_i128() - 1,
        };
        Take::run(*items.start(), last - items.start().to_i128() + 1)
    }
}

impl<'a, J: Position, const N: usize> From<&'a [J; N]> for Take<'a, J> {
    fn from(items: &'a [J; N]) -> Self {
        Take::from(items.as_slice())
    }
}

impl<'a, J: Position> From<&'a [J]> for Take<'a, J> {
    fn from(items: &'a [J]) -> Self {
        Take::new(ArrayView1::from(items).into_dyn().into())
    }
}

impl<J: Position> From<Vec<J>> for Take<'_, J> {
    fn from(items: Vec<J>) -> Self {
        Take::new(ArrayD::from(ndarray::Array1::from(items).into_dyn()).into())
    }
}

impl<'a, J: Position> From<&'a Vec<J>> for Take<'a, J> {
    fn from(items: &'a Vec<J>) -> Self {
        Take::from(items.as_slice())
    }
}

impl<J: Position, D: Dimension> From<ndarray::Array<J, D>> for Take<'_, J> {
    fn from(items: ndarray::Array<J, D>) -> Self {
        Take::new(items.into_dyn().into())
    }
}

impl<'a, J: Position, S: Data<Elem = J>, D: Dimension> From<&'a ArrayBase<S, D>> for Take<'a, J> {
    fn from(items: &'a ArrayBase<S, D>) -> Self {
        Take::new(items.view().into_dyn().into())
    }
}

impl<'a> From<&'a [bool]> for Take<'a, usize> {
    fn from(mask: &'a [bool]) -> Self {
        let count = mask.iter().map(|&mark| usize::from(mark)).sum();
        Take { shape: Shape::from([count]), items: Items::Mask(mask, 0), mode: TakeMode::Raise }
    }
}

impl<'a> From<&'a Vec<bool>> for Take<'a, usize> {
    fn from(mask: &'a Vec<bool>) -> Self {
        Take::from(mask.as_slice())
    }
}

impl<'a, const N: usize> From<&'a [bool; N]> for Take<'a, usize> {
    fn from(mask: &'a [bool; N]) -> Self {
        Take::from(mask.as_slice())
    }
}

impl<'a, J: Position> From<&'a Take<'_, J>> for Take<'a, J> {
    fn from(take: &'a Take<'_, J>) -> Self {
        let items = match &take.items {
            Items::Array(array) => Items::Array(array.view().into()),
            &Items::Range(start, count) => Items::Range(start, count),
            &Items::Mask(mask, start) => Items::Mask(mask, start),
        };
        Take { shape: take.shape.clone(), items, mode: take.mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;

    #[test]
    fn contiguous_items_are_borrowed() {
        let items = ndarray::arr2(&[[1, 2], [3, 4]]);
        assert!(matches!(Take::from(&items).items(8), Ok(Cow::Borrowed(_))));
        let transposed = items.t();
        assert_eq!(*Take::from(&transposed).items(8).unwrap(), [1, 3, 2, 4]);
    }

    #[test]
    fn repeated_items_cost_their_owner_nothing_and_are_refused() {
        let one = ndarray::arr0(5i64);
        let vast = one.broadcast(1 << 40).unwrap();
        assert_eq!(dense_bytes(&vast), 8);
        assert!(matches!(Take::from(&vast).items(8), Err(Error::TooLarge { bytes, .. }) if bytes == 1 << 43));
        assert_eq!(Take::from(&one.broadcast(3).unwrap()).items(8).unwrap().len(), 3);
    }

    /// Index arrays of any layout are accepted. Only arrays that repeat their items are compared with the limit.
    #[test]
    fn index_arrays_of_any_layout_that_repeat_nothing_are_taken_as_they_are() {
        let array = ndarray::arr2(&[[1u16, 2, 3], [4, 5, 6]]);
        let vast = 1 << 40;
        let transposed = array.t();
        assert_eq!(*Take::from(&transposed).items(vast).unwrap(), [1, 4, 2, 5, 3, 6]);
        let one = ndarray::arr0(1u16);
        assert!(Take::from(&one.broadcast((2, 3)).unwrap()).items(vast).is_err());
        assert!(Take::from(&one.broadcast((2, 3)).unwrap()).items(8).is_ok());
    }
}
