//! The compressed-row format.

use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::CsrPattern;
use crate::tensor::Tensor;

/// A sparse tensor in compressed-row format, of any rank: offsets of its lanes, columns, values, and a fill.
///
/// All axes but the last are the lanes, so a matrix, a batch of matrices (each with its own number of entries) and
/// higher ranks are one type; the [`CsrPattern`] has the invariants and the picture. Everything that does not change
/// with the format is documented at [`Tensor`].
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
    /// A tensor from the offsets of its lanes, the column and the value of each entry, and the fill of all other
    /// positions.
    ///
    /// For another index type than `u32` build the [`CsrPattern`] and use [`from_parts`](Tensor::from_parts).
    ///
    /// # Errors
    ///
    /// Those of [`CsrPattern::new`], and `LengthMismatch` where there are not as many values as columns.
    pub fn new(
        shape: impl Into<Shape>,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
        fill: T,
    ) -> Result<Self> {
        Tensor::from_parts(CsrPattern::new(shape, offsets, columns)?, values, fill)
    }

    /// A tensor that stores nothing: every position holds `fill`.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `u32`; `TooLarge`: the offsets of the lanes need more than 1 GiB.
    #[doc(alias = "zeros")]
    pub fn full(shape: impl Into<Shape>, fill: T) -> Result<Self> {
        Ok(Tensor::from_valid(CsrPattern::empty(shape)?, Vec::new(), fill))
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// The number of lanes: the product of all axes but the last, 1 on rank 0 and 1.
    pub fn lanes(&self) -> usize {
        self.pattern().lanes()
    }

    /// The offsets of the lanes, one more than there are lanes.
    #[doc(alias = "indptr")]
    #[doc(alias = "crow_indices")]
    #[doc(alias = "crows")]
    pub fn offsets(&self) -> &[usize] {
        self.pattern().offsets()
    }

    /// The column of each entry.
    #[doc(alias = "indices")]
    #[doc(alias = "col_indices")]
    #[doc(alias = "cols")]
    pub fn columns(&self) -> &[I] {
        self.pattern().columns()
    }

    /// The stored values of one lane.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub fn lane_values(&self, lane: usize) -> &[T] {
        &self.values()[self.offsets()[lane]..self.offsets()[lane + 1]]
    }

    /// The same tensor with columns of another type.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis does not fit `J`.
    pub fn with_index<J: Index>(&self) -> Result<CsrTensor<T, J>> {
        Ok(Tensor::from_shared(self.pattern().with_index()?, self.shared_values().clone(), self.fill()))
    }
}
