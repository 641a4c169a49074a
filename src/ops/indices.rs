//! The positions to take: an index array of any integer type, rank and layout.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayD, ArrayView1, CowArray, Data, Dimension, IxDyn};

use crate::convert::dense_bytes;
use crate::error::Result;
use crate::index::Position;
use crate::limit::{default_limit, guard};
use crate::shape::Shape;

/// An index array: the positions that [`take`](crate::take()) takes, in a shape that its result gets.
///
/// Made from one integer (rank 0), from an array, a slice or a `Vec` of them (rank 1), or from a reference to an
/// `ndarray` array or view of any rank and layout; borrowed wherever it can be. The integers are of any built-in type
/// up to 64 bits. The functions that take indices accept anything that converts, so `x.take([0, -1], mode)` reads as
/// it should.
///
/// # Examples
///
/// ```
/// use lacuna::Indices;
/// use ndarray::arr2;
///
/// assert_eq!(*Indices::from(-1).shape(), []);
/// assert_eq!(*Indices::from([0u8, 7]).shape(), [2]);
/// assert_eq!(*Indices::from(&arr2(&[[0], [-1], [2]])).shape(), [3, 1]);
/// ```
#[derive(Debug, Clone)]
pub struct Indices<'a, J> {
    array: CowArray<'a, J, IxDyn>,
    shape: Shape,
}

impl<'a, J: Position> Indices<'a, J> {
    fn new(array: CowArray<'a, J, IxDyn>) -> Self {
        Indices { shape: Shape::from(array.shape()), array }
    }

    /// The shape of the index array.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of positions to take.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Whether there is nothing to take.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// The items in row-major order.
    ///
    /// An array that repeats its items by strides of 0 is refused where its owner has not a sixteenth of the memory
    /// that the items take when they are written out, with `item_bytes` of work for each.
    pub(crate) fn items(&self, item_bytes: usize) -> Result<Cow<'_, [J]>> {
        if let Some(items) = self.array.as_slice() {
            return Ok(Cow::Borrowed(items));
        }
        let owned = self.owned_bytes();
        if owned < self.len().saturating_mul(size_of::<J>()) {
            let bytes = self.len().saturating_mul(item_bytes);
            let what = "the index array written out";
            guard::<u8>(what, bytes as u128, default_limit(owned), "take fewer at a time")?;
        }
        Ok(Cow::Owned(self.array.iter().copied().collect()))
    }

    /// The bytes that the owner of the items has at least to have, and at most needs to have.
    pub(crate) fn owned_bytes(&self) -> usize {
        dense_bytes(&self.array)
    }
}

impl<J: Position> From<J> for Indices<'_, J> {
    fn from(item: J) -> Self {
        Indices::new(ndarray::arr0(item).into_dyn().into())
    }
}

impl<J: Position, const N: usize> From<[J; N]> for Indices<'_, J> {
    fn from(items: [J; N]) -> Self {
        Indices::from(items.to_vec())
    }
}

impl<'a, J: Position, const N: usize> From<&'a [J; N]> for Indices<'a, J> {
    fn from(items: &'a [J; N]) -> Self {
        Indices::from(items.as_slice())
    }
}

impl<'a, J: Position> From<&'a [J]> for Indices<'a, J> {
    fn from(items: &'a [J]) -> Self {
        Indices::new(ArrayView1::from(items).into_dyn().into())
    }
}

impl<J: Position> From<Vec<J>> for Indices<'_, J> {
    fn from(items: Vec<J>) -> Self {
        Indices::new(ArrayD::from(ndarray::Array1::from(items).into_dyn()).into())
    }
}

impl<'a, J: Position> From<&'a Vec<J>> for Indices<'a, J> {
    fn from(items: &'a Vec<J>) -> Self {
        Indices::from(items.as_slice())
    }
}

impl<'a, J: Position, S: Data<Elem = J>, D: Dimension> From<&'a ArrayBase<S, D>> for Indices<'a, J> {
    fn from(items: &'a ArrayBase<S, D>) -> Self {
        Indices::new(items.view().into_dyn().into())
    }
}

impl<'a, J: Position> From<&'a Indices<'_, J>> for Indices<'a, J> {
    fn from(indices: &'a Indices<'_, J>) -> Self {
        Indices { shape: indices.shape.clone(), array: indices.array.view().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn contiguous_items_are_borrowed() {
        let items = ndarray::arr2(&[[1, 2], [3, 4]]);
        assert!(matches!(Indices::from(&items).items(8), Ok(Cow::Borrowed(_))));
        let transposed = items.t();
        assert_eq!(*Indices::from(&transposed).items(8).unwrap(), [1, 3, 2, 4]);
    }

    #[test]
    fn repeated_items_cost_their_owner_nothing_and_are_refused() {
        let one = ndarray::arr0(5i64);
        let vast = one.broadcast(1 << 40).unwrap();
        assert_eq!(dense_bytes(&vast), 8);
        assert!(matches!(Indices::from(&vast).items(8), Err(Error::TooLarge { bytes, .. }) if bytes == 1 << 43));
        assert_eq!(Indices::from(&one.broadcast(3).unwrap()).items(8).unwrap().len(), 3);
    }

    /// The transposed index array was refused where its copy was not: only what repeats its items may be out of proportion.
    #[test]
    fn index_arrays_of_any_layout_that_repeat_nothing_are_taken_as_they_are() {
        let array = ndarray::arr2(&[[1u16, 2, 3], [4, 5, 6]]);
        let vast = 1 << 40;
        let transposed = array.t();
        assert_eq!(*Indices::from(&transposed).items(vast).unwrap(), [1, 4, 2, 5, 3, 6]);
        let one = ndarray::arr0(1u16);
        assert!(Indices::from(&one.broadcast((2, 3)).unwrap()).items(vast).is_err());
        assert!(Indices::from(&one.broadcast((2, 3)).unwrap()).items(8).is_ok());
    }
}
