//! Iteration over the stored entries of a tensor. The coordinates are returned without an allocation.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::Deref;

use crate::element::Element;
use crate::pattern::{AnyPattern, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// Number of coordinates that are stored inline, without an allocation.
const INLINE: usize = 8;

/// Number of entries whose coordinates are decoded at a time.
const BLOCK: usize = 128;

/// The coordinates of an entry, one per axis, as [`Tensor::iter`] returns them.
///
/// The coordinates dereference to a slice: `coords[0]`, `coords.to_vec()`, and `&coords` as a `&[usize]`. You can
/// compare them with arrays, slices and `Vec`s, and use them as keys of a map. Up to 8 coordinates are stored without
/// an allocation.
///
/// ```
/// use lacuna::CooTensor;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![1.5, -2.0], 0.0)?;
/// for (coords, value) in &x {
///     assert_eq!(x.get(&coords)?, value);
///     assert!(coords[1] > coords[0]);
/// }
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone)]
pub struct Coords {
    rank: usize,
    few: [usize; INLINE],
    /// All coordinates, if there are more than [`INLINE`].
    many: Option<Box<[usize]>>,
}

impl Coords {
    #[inline]
    fn new(coords: &[usize]) -> Self {
        let mut few = [0; INLINE];
        // A loop over the axes is faster than a block copy: the processor would wait for the block copy before it reads
        // an axis.
        few.iter_mut().zip(coords).for_each(|(few, &coord)| *few = coord);
        let many = (coords.len() > INLINE).then(|| coords.into());
        Coords { rank: coords.len(), few, many }
    }
}

impl Deref for Coords {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match &self.many {
            Some(many) => many,
            None => &self.few[..self.rank],
        }
    }
}

impl AsRef<[usize]> for Coords {
    fn as_ref(&self) -> &[usize] {
        self
    }
}

impl fmt::Debug for Coords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Eq for Coords {}

impl PartialEq for Coords {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq<[usize]> for Coords {
    fn eq(&self, other: &[usize]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Coords {
    fn eq(&self, other: &[usize; N]) -> bool {
        **self == *other
    }
}

impl PartialEq<Vec<usize>> for Coords {
    fn eq(&self, other: &Vec<usize>) -> bool {
        **self == **other
    }
}

impl Hash for Coords {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// The progress of an iterator: the next entry, and the decoded coordinates around it.
#[derive(Clone, Default)]
struct EntryCursor {
    entry: usize,
    /// The coordinates of the [`BLOCK`] that contains the entry, one entry after the other. Decoding consecutive
    /// entries is fast; decoding a single entry is slow.
    block: Vec<usize>,
}

impl EntryCursor {
    #[inline]
    fn step<T: Element>(&mut self, tensor: SparseRef<'_, T>) -> Option<(Coords, T)> {
        let value = *tensor.values().get(self.entry)?;
        let (rank, within) = (tensor.rank(), self.entry % BLOCK);
        if within == 0 {
            self.look_up(tensor.pattern());
        }
        self.entry += 1;
        Some((Coords::new(&self.block[within * rank..(within + 1) * rank]), value))
    }

    /// Returns the size hint of an iterator over `nnz` entries.
    fn left(&self, nnz: usize) -> (usize, Option<usize>) {
        let left = nnz - self.entry;
        (left, Some(left))
    }

    #[inline(never)]
    fn look_up(&mut self, pattern: &AnyPattern) {
        self.block.clear();
        pattern.walk_range(self.entry..self.entry + BLOCK, &mut |_, coords| {
            self.block.extend_from_slice(coords);
            true
        });
    }
}

/// An iterator over the stored entries as `(coordinates, value)`.
///
/// [`Tensor::iter`] returns this iterator. The entries are in row-major order.
#[must_use]
#[derive(Clone)]
pub struct Entries<'a, P, T> {
    tensor: &'a Tensor<P, T>,
    walk: EntryCursor,
}

/// An owning iterator over the stored entries of a tensor.
///
/// `into_iter` of a tensor returns this iterator. [`Entries`] borrows the tensor instead.
#[must_use]
#[derive(Clone)]
pub struct IntoEntries<P, T> {
    tensor: Tensor<P, T>,
    walk: EntryCursor,
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns an iterator over the stored entries as `(coordinates, value)`.
    ///
    /// The entries are in row-major order. The loop `for (coords, value) in &x` also uses this iterator. The
    /// coordinates dereference to a slice. For up to eight axes, the coordinates do not need an allocation.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![5, -6], 0)?;
    /// let negative: Vec<_> = x.iter().filter(|(_, value)| *value < 0).map(|(coords, _)| coords).collect();
    /// assert_eq!(negative, [[1, 0]]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn iter(&self) -> Entries<'_, P, T> {
        Entries { tensor: self, walk: EntryCursor::default() }
    }
}

impl<P: Pattern, T: Element> Iterator for Entries<'_, P, T> {
    type Item = (Coords, T);

    #[inline]
    fn next(&mut self) -> Option<(Coords, T)> {
        self.walk.step(self.tensor.sparse())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.walk.left(self.tensor.nnz())
    }
}

impl<P: Pattern, T: Element> fmt::Debug for Entries<'_, P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<P: Pattern, T: Element> ExactSizeIterator for Entries<'_, P, T> {}
impl<P: Pattern, T: Element> FusedIterator for Entries<'_, P, T> {}

impl<P: Pattern, T: Element> Iterator for IntoEntries<P, T> {
    type Item = (Coords, T);

    #[inline]
    fn next(&mut self) -> Option<(Coords, T)> {
        self.walk.step(self.tensor.sparse())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.walk.left(self.tensor.nnz())
    }
}

impl<P: Pattern, T: Element> fmt::Debug for IntoEntries<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<P: Pattern, T: Element> ExactSizeIterator for IntoEntries<P, T> {}
impl<P: Pattern, T: Element> FusedIterator for IntoEntries<P, T> {}

impl<'a, P: Pattern, T: Element> IntoIterator for &'a Tensor<P, T> {
    type Item = (Coords, T);
    type IntoIter = Entries<'a, P, T>;

    fn into_iter(self) -> Entries<'a, P, T> {
        self.iter()
    }
}

impl<P: Pattern, T: Element> IntoIterator for Tensor<P, T> {
    type Item = (Coords, T);
    type IntoIter = IntoEntries<P, T>;

    fn into_iter(self) -> IntoEntries<P, T> {
        IntoEntries { tensor: self, walk: EntryCursor::default() }
    }
}
