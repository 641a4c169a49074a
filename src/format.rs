//! What `Debug` and `Display` print of a tensor.

use std::fmt;

use crate::element::Element;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

impl<P: Pattern, T: Element> fmt::Debug for Tensor<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("shape", self.shape()).field("nnz", &self.nnz()).finish()
    }
}
