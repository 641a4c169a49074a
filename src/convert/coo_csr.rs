//! Conversions between the coordinate and the compressed format. Every entry is kept; unchanged arrays are shared.

use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::element::Element;
use crate::pattern::{CooPattern, CsrPattern, Format, Pattern};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;

impl<I: Index> CooPattern<I> {
    /// Returns the same pattern in compressed format, with a memory limit in bytes.
    ///
    /// The columns are shared. The offsets are computed from the other coordinates.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: the offsets of the lanes need more than `limit` bytes;
    /// - `OutOfMemory`: the allocation of the offsets fails.
    pub fn to_csr_with_limit(&self, limit: u64) -> Result<CsrPattern<I>> {
        CsrPattern::from_any(self.any().in_format(Format::Csr, limit)?)
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Returns the same tensor in compressed format.
    ///
    /// All entries are kept. The two tensors share the columns, and share the values until one of them is changed.
    ///
    /// All axes except the last become lanes. Each lane needs an offset, even if it is empty. A sparse tensor with very
    /// long leading axes therefore cannot be converted.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: the offsets need more than the larger of 1 GiB and 16 times the bytes of this tensor;
    /// - `OutOfMemory`: the allocation of the offsets fails.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank + lanes), where *nnz* is the number of stored entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let coo = CooTensor::new([3, 3], vec![vec![0, 2, 2], vec![1, 0, 2]], vec![7, 8, 9], 0)?;
    /// let csr = coo.to_csr()?;
    /// assert_eq!(csr.offsets(), [0, 1, 1, 3]);
    /// assert_eq!(csr.to_coo()?, coo);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "tocsr")]
    #[doc(alias = "to_sparse_csr")]
    pub fn to_csr(&self) -> Result<CsrTensor<T, I>> {
        self.to_csr_with_limit(default_limit(self.stored_bytes()))
    }

    /// Returns the tensor in compressed format, with a memory limit in bytes.
    ///
    /// This method returns the same result as [`to_csr`](Tensor::to_csr), but accepts another limit for the offsets.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: the offsets need more than `limit` bytes;
    /// - `OutOfMemory`: the allocation of the offsets fails.
    pub fn to_csr_with_limit(&self, limit: u64) -> Result<CsrTensor<T, I>> {
        let pattern = self.pattern().to_csr_with_limit(limit)?;
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }

    /// Converts the tensor to compressed format; the values are moved.
    ///
    /// This method returns the same result as [`to_csr`](Tensor::to_csr), but consumes the tensor. If no other tensor
    /// shares the values, the result can be changed without a copy.
    ///
    /// # Errors
    ///
    /// The errors of [`to_csr`](Tensor::to_csr). After an error, the tensor is dropped. To keep the tensor, first check
    /// the conversion with [`CooPattern::to_csr_with_limit`].
    pub fn into_csr(self) -> Result<CsrTensor<T, I>> {
        self.to_csr()
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Returns the same tensor in coordinate format.
    ///
    /// All entries are kept. The two tensors share the columns, and share the values until one of them is changed.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the coordinates of the lanes fails.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank + lanes), where *nnz* is the number of stored entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let csr = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![7, 8, 9], 0)?;
    /// let coo = csr.to_coo()?;
    /// assert_eq!(coo.coords(0), [0, 1, 1]);
    /// assert_eq!(coo.to_dense()?, csr.to_dense()?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "tocoo")]
    #[doc(alias = "to_sparse_coo")]
    pub fn to_coo(&self) -> Result<CooTensor<T, I>> {
        Ok(Tensor::from_shared(self.pattern().to_coo()?, self.shared_values().clone(), self.fill()))
    }

    /// Converts the tensor to coordinate format; the values are moved.
    ///
    /// This method returns the same result as [`to_coo`](Tensor::to_coo), but consumes the tensor. If no other tensor
    /// shares the values, the result can be changed without a copy.
    ///
    /// # Errors
    ///
    /// The errors of [`to_coo`](Tensor::to_coo).
    pub fn into_coo(self) -> Result<CooTensor<T, I>> {
        self.to_coo()
    }
}

impl<T: Element, I: Index> TryFrom<CooTensor<T, I>> for CsrTensor<T, I> {
    type Error = crate::Error;

    fn try_from(tensor: CooTensor<T, I>) -> Result<Self> {
        tensor.into_csr()
    }
}

impl<T: Element, I: Index> TryFrom<CsrTensor<T, I>> for CooTensor<T, I> {
    type Error = crate::Error;

    fn try_from(tensor: CsrTensor<T, I>) -> Result<Self> {
        tensor.into_coo()
    }
}
