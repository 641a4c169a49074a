//! The view of a tensor as its stored entries.

use crate::base::sealed::Sealed;
use std::fmt;

use crate::element::Element;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The entries of a sparse tensor: what is absent is absent, and not the fill.
///
/// Operations on it have the names that they have on the tensor, and count stored entries where those count positions.
/// They give a plain tensor: a group without entries is not stored, and the fill of the result is what the operation
/// gives for nothing. What chooses and moves elements, as `take` does, chooses from the whole tensor and keeps its
/// fill. As an upstream gradient it is 0 where nothing is stored. An elementwise operation changes entries only: the
/// fill of the result is that of the tensor, or the zero of the result's type where that is another.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
///
/// // 9 . .
/// // 2 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 0, 2]], vec![9.0_f64, 2.0, 4.0], 0.0)?;
/// assert_eq!(x.nanmedian(1)?.values(), [0.0, 2.0]); // of 9, 0, 0; of 2, 0, 4
/// assert_eq!(x.stored().nanmedian(1)?.values(), [9.0, 3.0]); // of 9; of 2, 4
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
    /// The tensor that this is a view of.
    pub fn tensor(&self) -> &'a Tensor<P, T> {
        self.tensor
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// A view of the stored entries alone: see [`Stored`].
    #[doc(alias = "data")]
    #[doc(alias = "masked")]
    pub fn stored(&self) -> Stored<'_, P, T> {
        Stored { tensor: self }
    }
}
