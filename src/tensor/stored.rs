//! The stored view of a tensor.

use crate::base::sealed::Sealed;
use std::fmt;

use crate::element::Element;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The stored view of a tensor: only stored entries, without the fill.
///
/// The view has the operations of the tensor, under the same names. Operations on the view use only stored entries
/// instead of all positions, and return a plain tensor. In a reduction, a group without entries is not stored. The fill
/// of the result is the result of the operation for an empty group. Indexing and shape manipulation, such as `take`,
/// select from the entire tensor and keep its fill. If a stored view is an upstream gradient, the gradient is 0 at
/// unstored positions. An elementwise operation changes only entries, and the result keeps the fill of the tensor. If
/// the elements of the result have another type, the fill of the result is the zero of this type.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
///
/// // 9 . .
/// // 2 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 0, 2]], vec![9.0_f64, 2.0, 4.0], 0.0)?;
/// assert_eq!(x.nanmedian(1)?.values(), [0.0, 2.0]); // medians of 9, 0, 0 and of 2, 0, 4
/// assert_eq!(x.stored().nanmedian(1)?.values(), [9.0, 3.0]); // medians of 9 and of 2, 4
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "masked")]
#[doc(alias = "numpy.ma")]
#[must_use]
pub struct Stored<'a, P, T> {
    tensor: &'a Tensor<P, T>,
}

impl<P, T> Sealed for Stored<'_, P, T> {}

impl<P, T> Clone for Stored<'_, P, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, T> Copy for Stored<'_, P, T> {}

impl<P: Pattern, T: Element> fmt::Debug for Stored<'_, P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stored").field(self.tensor).finish()
    }
}

impl<'a, P: Pattern, T: Element> Stored<'a, P, T> {
    /// Returns the tensor of this view.
    pub fn tensor(&self) -> &'a Tensor<P, T> {
        self.tensor
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns the stored view. Its operations use only stored entries.
    ///
    /// See [`Stored`].
    #[doc(alias = "data")]
    #[doc(alias = "masked")]
    pub fn stored(&self) -> Stored<'_, P, T> {
        Stored { tensor: self }
    }
}
