//! The coordinate format.

use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::CooPattern;
use crate::tensor::Tensor;

/// A sparse tensor in coordinate format, of any rank from 0 up.
///
/// The tensor has one coordinate array per axis, the values, and a fill. The entries are always canonical: their
/// coordinates are in bounds, increase strictly in row-major order, and are never repeated. [`CooPattern`] documents
/// the invariants. For unsorted or repeated input, use [`Triplets`](crate::Triplets). [`Tensor`] documents everything
/// that is common to both formats.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// assert_eq!(x.nnz(), 3);
/// assert_eq!(x.to_dense()?, ndarray::arr2(&[[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "COO")]
#[doc(alias = "coo_array")]
#[doc(alias = "coo_matrix")]
#[doc(alias = "sparse_coo_tensor")]
pub type CooTensor<T, I = u32> = Tensor<CooPattern<I>, T>;

impl<T: Element> Tensor<CooPattern<u32>, T> {
    /// Constructs a tensor from one coordinate array per axis, the values, and a fill.
    ///
    /// The entries must be in row-major order without repetition. [`Triplets`](crate::Triplets) accepts any order. For
    /// an index type other than `u32`, build the [`CooPattern`] and use [`from_parts`](Tensor::from_parts).
    ///
    /// # Errors
    ///
    /// The errors of [`CooPattern::new`], with the number of values as the number of entries.
    pub fn new(shape: impl Into<Shape>, coords: Vec<Vec<u32>>, values: Vec<T>, fill: T) -> Result<Self> {
        let pattern = CooPattern::new(shape, values.len(), coords)?;
        Ok(Tensor::from_valid(pattern, values, fill))
    }

    /// Constructs a tensor without entries: every position has the value `fill`.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for `u32`.
    #[doc(alias = "zeros")]
    pub fn full(shape: impl Into<Shape>, fill: T) -> Result<Self> {
        Ok(Tensor::from_valid(CooPattern::empty(shape)?, Vec::new(), fill))
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Returns the coordinates of all entries on one axis.
    ///
    /// # Panics
    ///
    /// Panics if the axis does not exist.
    #[doc(alias = "indices")]
    #[doc(alias = "row")]
    #[doc(alias = "col")]
    pub fn coords(&self, axis: usize) -> &[I] {
        self.pattern().coords(axis)
    }

    /// Converts the coordinates to another index type.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `J`;
    /// - `OutOfMemory`: the allocation of the converted coordinates fails.
    pub fn with_index<J: Index>(&self) -> Result<CooTensor<T, J>> {
        Ok(Tensor::from_shared(self.pattern().with_index()?, self.shared_values().clone(), self.fill()))
    }
}
