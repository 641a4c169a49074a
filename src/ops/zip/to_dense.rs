//! Operations of a sparse tensor and an array whose result is an array.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use super::descriptors::{Add, Div, Mul, Sub};
use super::{broadcast_shape, dense};
use crate::base::error::Result;
use crate::base::limit::{default_limit, guard};
use crate::convert::dense_bytes;
use crate::element::{Element, Numeric};
use crate::kernels::zip::Zip;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// Computes the results at all positions, under the limit for the bytes of both operands.
pub(super) fn of_all<A: Element, B: Element, Z: Zip<A, B>>(
    x: SparseRef<'_, A>,
    array: ArrayViewD<'_, B>,
    op: Z,
) -> Result<ArrayD<Z::Out>> {
    let shape = broadcast_shape(x.shape(), array.shape())?;
    let limit = default_limit(x.stored_bytes().saturating_add(dense_bytes(&array)));
    guard::<Z::Out>("the dense result", shape.wide_size(), limit, "compute in chunks, or use x.stored()")?;
    dense::pair(x.to_erased().to_dense_with_limit(limit)?.view(), array, op)
}

/// # Arrays as results
impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns the result of [`add`](crate::add()) at each position, as an array.
    ///
    #[doc = page!(to_dense)]
    ///
    /// # Errors
    ///
    /// - the errors of [`add`](crate::add()) for two arrays;
    /// - `TooLarge`: the result exceeds both 1 GiB and 16 times the bytes of both operands.
    ///
    /// # Complexity
    ///
    /// O(positions of the result). The method constructs the dense form of this tensor.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![4.0], 0.0)?;
    /// assert_eq!(x.add_dense(&arr1(&[1.0, 2.0, 4.0]))?, arr1(&[1.0, 6.0, 4.0]).into_dyn());
    /// assert!(x.add(&arr1(&[f64::NAN, 2.0, 4.0])).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn add_dense(&self, array: &ArrayBase<impl Data<Elem = T>, impl Dimension>) -> Result<ArrayD<T>>
    where
        T: Element,
    {
        of_all(self.sparse(), array.view().into_dyn(), Add)
    }

    /// Returns the result of [`sub`](crate::sub()) at each position, as an array.
    ///
    #[doc = page!(to_dense)]
    ///
    /// # Errors
    ///
    /// - the errors of [`sub`](crate::sub()) for two arrays;
    /// - `TooLarge`: the result exceeds both 1 GiB and 16 times the bytes of both operands.
    ///
    /// # Complexity
    ///
    /// O(positions of the result). The method constructs the dense form of this tensor.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![4.0], 0.0)?;
    /// assert_eq!(x.sub_dense(&arr1(&[1.0, 2.0, 4.0]))?, arr1(&[-1.0, 2.0, -4.0]).into_dyn());
    /// assert!(x.sub(&arr1(&[f64::NAN, 2.0, 4.0])).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn sub_dense(&self, array: &ArrayBase<impl Data<Elem = T>, impl Dimension>) -> Result<ArrayD<T>>
    where
        T: Numeric,
    {
        of_all(self.sparse(), array.view().into_dyn(), Sub)
    }

    /// Returns the result of [`mul`](crate::mul()) at each position, as an array.
    ///
    #[doc = page!(to_dense)]
    ///
    /// # Errors
    ///
    /// - the errors of [`mul`](crate::mul()) for two arrays;
    /// - `TooLarge`: the result exceeds both 1 GiB and 16 times the bytes of both operands.
    ///
    /// # Complexity
    ///
    /// O(positions of the result). The method constructs the dense form of this tensor.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![4.0], 0.0)?;
    /// assert_eq!(x.mul_dense(&arr1(&[1.0, 2.0, 4.0]))?, arr1(&[0.0, 8.0, 0.0]).into_dyn());
    /// assert!(x.mul(&arr1(&[f64::NAN, 2.0, 4.0])).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn mul_dense(&self, array: &ArrayBase<impl Data<Elem = T>, impl Dimension>) -> Result<ArrayD<T>>
    where
        T: Element,
    {
        of_all(self.sparse(), array.view().into_dyn(), Mul)
    }

    /// Returns the result of [`div`](crate::div()) at each position, as an array.
    ///
    #[doc = page!(to_dense)]
    ///
    /// # Errors
    ///
    /// - the errors of [`div`](crate::div()) for two arrays;
    /// - `TooLarge`: the result exceeds both 1 GiB and 16 times the bytes of both operands.
    ///
    /// # Complexity
    ///
    /// O(positions of the result). The method constructs the dense form of this tensor.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![4.0], 0.0)?;
    /// assert_eq!(x.div_dense(&arr1(&[1.0, 2.0, 4.0]))?, arr1(&[0.0, 2.0, 0.0]).into_dyn());
    /// assert!(x.div(&arr1(&[f64::NAN, 2.0, 4.0])).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn div_dense(&self, array: &ArrayBase<impl Data<Elem = T>, impl Dimension>) -> Result<ArrayD<T>>
    where
        T: Numeric,
    {
        of_all(self.sparse(), array.view().into_dyn(), Div)
    }
}
