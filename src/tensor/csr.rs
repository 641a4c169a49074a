//! The compressed-row format.

use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::CsrPattern;
use crate::tensor::Tensor;

/// A sparse tensor in compressed-row format, of any rank.
///
/// The tensor has the offsets of its lanes, the columns, the values, and a fill. The lanes are along the last axis, and
/// the coordinates on all other axes identify a lane. A matrix, a batch of matrices and a tensor of higher rank
/// therefore have the same type. Each matrix of a batch may have a different number of entries. [`CsrPattern`]
/// documents the invariants, with a picture. [`Tensor`] documents everything that is common to both formats.
///
/// # Examples
///
/// ```
/// use lacuna::CsrTensor;
///
/// // . 2 .
/// // 3 . 4
/// let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 3.0, 4.0], 0.0)?;
/// assert_eq!(x.lane_values(1), [3.0, 4.0]);
/// assert_eq!(x.to_dense()?, ndarray::arr2(&[[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "CSR")]
#[doc(alias = "csr_array")]
#[doc(alias = "csr_matrix")]
#[doc(alias = "sparse_csr_tensor")]
#[doc(alias = "GCXS")]
#[doc(alias = "CsMat")]
pub type CsrTensor<T, I = u32> = Tensor<CsrPattern<I>, T>;

impl<T: Element> Tensor<CsrPattern<u32>, T> {
    /// Constructs a tensor from offsets of lanes, columns, values, and a fill.
    ///
    /// There is one column and one value per entry.
    ///
    /// For an index type other than `u32`, build the [`CsrPattern`] and use [`from_parts`](Tensor::from_parts).
    ///
    /// # Errors
    ///
    /// - the errors of [`CsrPattern::new`];
    /// - `LengthMismatch`: the number of values differs from the number of columns.
    pub fn new(
        shape: impl Into<Shape>,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
        fill: T,
    ) -> Result<Self> {
        Tensor::from_parts(CsrPattern::new(shape, offsets, columns)?, values, fill)
    }

    /// Constructs a tensor without entries: every position has the value `fill`.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `u32`;
    /// - `TooLarge`: the offsets of the lanes need more than 1 GiB;
    /// - `OutOfMemory`: the allocation of the offsets fails.
    #[doc(alias = "zeros")]
    pub fn full(shape: impl Into<Shape>, fill: T) -> Result<Self> {
        Ok(Tensor::from_valid(CsrPattern::empty(shape)?, Vec::new(), fill))
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Returns the number of lanes: the product of all lengths except the last.
    ///
    /// For rank 0 and rank 1, there is one lane.
    pub fn lanes(&self) -> usize {
        self.pattern().lanes()
    }

    /// Returns the offsets of the lanes: one per lane, and the end of the last lane.
    #[doc(alias = "indptr")]
    #[doc(alias = "crow_indices")]
    #[doc(alias = "crows")]
    pub fn offsets(&self) -> &[usize] {
        self.pattern().offsets()
    }

    /// Returns the column of each entry.
    #[doc(alias = "indices")]
    #[doc(alias = "col_indices")]
    #[doc(alias = "cols")]
    pub fn columns(&self) -> &[I] {
        self.pattern().columns()
    }

    /// Returns the stored values of one lane.
    ///
    /// # Panics
    ///
    /// Panics if the lane does not exist.
    pub fn lane_values(&self, lane: usize) -> &[T] {
        &self.values()[self.offsets()[lane]..self.offsets()[lane + 1]]
    }

    /// Converts the column indices to another index type.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `J`;
    /// - `OutOfMemory`: the allocation of the converted columns fails.
    pub fn with_index<J: Index>(&self) -> Result<CsrTensor<T, J>> {
        Ok(Tensor::from_shared(self.pattern().with_index()?, self.shared_values().clone(), self.fill()))
    }
}
