//! The lengths of a tensor's axes, and sizes that cannot overflow.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The lengths of the axes of a tensor of any rank.
///
/// A shape dereferences to a slice of lengths. A shape converts from arrays, slices, `Vec`s, iterators, and tuples of
/// up to six lengths. Cloning a shape does not copy the lengths.
///
/// The number of positions can exceed every machine integer. [`checked_size`](Shape::checked_size) and
/// [`saturating_size`](Shape::saturating_size) therefore do not overflow. If an axis has length 0, the number of
/// positions is 0 for all lengths of the other axes.
///
/// # Examples
///
/// ```
/// use lacuna::Shape;
///
/// let shape = Shape::from([2, 3, 4]);
/// assert_eq!(shape.rank(), 3);
/// assert_eq!(shape.checked_size(), Some(24));
/// assert_eq!(shape[1], 3);
/// assert_eq!(shape.to_string(), "[2, 3, 4]");
/// assert_eq!(Shape::from((2, 3, 4)), shape);
///
/// let vast = Shape::from([usize::MAX; 32]);
/// assert_eq!(vast.checked_size(), None);
/// assert_eq!(vast.saturating_size(), u64::MAX);
/// ```
#[must_use]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shape(Arc<[usize]>);

impl Shape {
    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of positions, or `None` if it does not fit in `usize`.
    pub fn checked_size(&self) -> Option<usize> {
        checked_product(&self.0)
    }

    /// Returns the number of positions, or `u64::MAX` if it does not fit in `u64`.
    pub fn saturating_size(&self) -> u64 {
        u64::try_from(self.wide_size()).unwrap_or(u64::MAX)
    }

    /// Returns the number of positions, or `u128::MAX` if it does not fit in `u128`.
    pub(crate) fn wide_size(&self) -> u128 {
        saturating_product(&*self.0)
    }

    /// Returns the coordinates of a flat index, or `None` if it is out of range.
    ///
    /// Flat indices are row-major, as in `argmax`, `topk_index` and `take`.
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![5, 7], 0)?;
    /// let greatest = x.argmax(Axes::all())?.item()?;
    /// assert_eq!(x.shape().unravel(greatest), Some(vec![1, 2]));
    /// assert_eq!(x.shape().unravel(6), None);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "unravel_index")]
    pub fn unravel(&self, position: u64) -> Option<Vec<usize>> {
        let position = usize::try_from(position).ok().filter(|&position| (position as u128) < self.wide_size())?;
        let mut coords = vec![0; self.rank()];
        unravel(position, self, &mut coords);
        Some(coords)
    }

    /// Returns whether an axis has length 0, so the number of positions is 0.
    pub fn is_empty_space(&self) -> bool {
        self.0.contains(&0)
    }

    /// Returns the length of the last axis, or 1 for rank 0.
    ///
    /// This is the number of columns in CSR.
    pub fn columns(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// Returns the lengths of all axes except the last.
    ///
    /// These are the axes of the lanes in CSR.
    pub fn lane_axes(&self) -> &[usize] {
        &self.0[..self.rank().saturating_sub(1)]
    }
}

/// Returns the product of `lengths`, or `None` if it does not fit in `usize`; 0 if a length is 0.
pub(crate) fn checked_product(lengths: &[usize]) -> Option<usize> {
    if lengths.contains(&0) {
        return Some(0);
    }
    lengths.iter().try_fold(1usize, |product, &length| product.checked_mul(length))
}

/// Returns the product of `lengths`, or `u128::MAX` if it does not fit in `u128`; 0 if a length is 0.
pub(crate) fn saturating_product<'a>(lengths: impl IntoIterator<Item = &'a usize>) -> u128 {
    lengths.into_iter().fold(1, |product: u128, &length| product.saturating_mul(length as u128))
}

/// Returns the shape that two shapes broadcast to, by the rules of numpy.
///
/// Axes are aligned at the end, and an axis of length 1 is repeated. Returns `None` if two aligned lengths differ and
/// neither is 1.
pub(crate) fn broadcast(left: &[usize], right: &[usize]) -> Option<Shape> {
    let rank = left.len().max(right.len());
    let length = |lengths: &[usize], axis: usize| match (axis + lengths.len()).checked_sub(rank) {
        Some(axis) => lengths[axis],
        None => 1,
    };
    let both = |axis: usize| match (length(left, axis), length(right, axis)) {
        (1, other) => Some(other),
        (one, other) => (other == 1 || one == other).then_some(one),
    };
    (0..rank).map(both).collect()
}

/// Moves `coords` to the next position of `lengths` in row-major order. After the last position all coordinates are 0
/// again.
pub(crate) fn step(coords: &mut [usize], lengths: &[usize]) {
    for (coord, &length) in coords.iter_mut().zip(lengths).rev() {
        *coord += 1;
        if *coord < length {
            return;
        }
        *coord = 0;
    }
}

/// Writes the coordinates of a flat index `position` within `lengths` into `coords`.
pub(crate) fn unravel(mut position: usize, lengths: &[usize], coords: &mut [usize]) {
    for (coord, &length) in coords.iter_mut().zip(lengths).rev() {
        *coord = position % length;
        position /= length;
    }
}

/// Returns the flat index of `coords` within `lengths`. The caller must ensure that the index fits in `usize`.
pub(crate) fn ravel(coords: &[usize], lengths: &[usize]) -> usize {
    coords.iter().zip(lengths).fold(0, |position, (&coord, &length)| position * length + coord)
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq<[usize]> for Shape {
    fn eq(&self, other: &[usize]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        **self == *other
    }
}

/// Allows `assert_eq!(x.shape(), [2, 3])`, as for an array.
impl<const N: usize> PartialEq<[usize; N]> for &Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        ***self == *other
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(lengths: [usize; N]) -> Self {
        Shape(Arc::from(lengths))
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(lengths: &[usize; N]) -> Self {
        Shape(Arc::from(&lengths[..]))
    }
}

macro_rules! from_tuples {
    ($(($($length:ident)*)),*) => {$(
        impl From<($(from_tuples!(@ $length),)*)> for Shape {
            fn from(($($length,)*): ($(from_tuples!(@ $length),)*)) -> Self {
                Shape::from([$($length),*])
            }
        }
    )*};
    (@ $length:ident) => { usize };
}

from_tuples!((a), (a b), (a b c), (a b c d), (a b c d e), (a b c d e f));

impl From<&[usize]> for Shape {
    fn from(lengths: &[usize]) -> Self {
        Shape(Arc::from(lengths))
    }
}

impl From<&Vec<usize>> for Shape {
    fn from(lengths: &Vec<usize>) -> Self {
        Shape::from(lengths.as_slice())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(lengths: Vec<usize>) -> Self {
        Shape(Arc::from(lengths))
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<It: IntoIterator<Item = usize>>(lengths: It) -> Self {
        Shape(lengths.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_axis_makes_the_size_zero_whatever_the_others_are() {
        assert_eq!(Shape::from([usize::MAX, usize::MAX, 0]).checked_size(), Some(0));
        assert_eq!(Shape::from([0, usize::MAX, usize::MAX]).saturating_size(), 0);
    }

    /// Nearly every other test expects a shape to equal an array. This test expects different shapes.
    #[test]
    fn shapes_are_equal_to_arrays_of_their_lengths_only() {
        let [shape, same, other] = [[2, 3], [2, 3], [2, 4]].map(Shape::from);
        assert!(shape == [2, 3] && shape == [2, 3][..] && shape == same);
        assert!(shape != [2, 4] && shape != [2, 4][..] && shape != other);
        assert!(shape != [2, 3, 1] && shape != [2] && Shape::from([]) != [1]);
        assert_eq!(format!("{shape:?} {shape}"), "[2, 3] [2, 3]");
    }

    #[test]
    fn shapes_are_broadcast_from_the_end() {
        let broadcast = |left: &[usize], right: &[usize]| broadcast(left, right).map(|shape| shape.to_vec());
        assert_eq!(broadcast(&[2, 1, 4], &[3, 1]), Some(vec![2, 3, 4]));
        assert_eq!(broadcast(&[], &[3, 0]), Some(vec![3, 0]));
        assert_eq!(broadcast(&[1], &[0]), Some(vec![0]));
        assert_eq!(broadcast(&[2], &[3]), None);
        assert_eq!(broadcast(&[0], &[3]), None);
    }

    #[test]
    fn unravel_undoes_ravel_and_step_goes_on() {
        let lengths = [2, 3, 4];
        let mut coords = [0; 3];
        let mut stepped = [0; 3];
        for position in 0..24 {
            unravel(position, &lengths, &mut coords);
            assert_eq!(coords, stepped);
            assert_eq!(ravel(&coords, &lengths), position);
            step(&mut stepped, &lengths);
        }
        assert_eq!(stepped, [0; 3]);
    }
}
