//! The descriptor of operations that select and move elements.

use ndarray::{ArrayD, ArrayViewD};

use super::moves::Moves;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::AnyPattern;
use crate::plan::moves::StepLimits;
use crate::plan::selection::Selected;

/// An operation that selects and moves elements of an operand of known shape.
pub(crate) trait Select {
    /// The shape of the result.
    fn shape(&self) -> &Shape;

    /// Returns the number of bytes of its own arguments; repeated items count once.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Rejects a fill that the result cannot have.
    fn check_fill<T: Element>(&self, _: T) -> Result<()> {
        Ok(())
    }

    /// Returns the moves of the operation, which identify its stored plan; `None` if positions are selected one by one.
    fn moves(&self) -> Option<&Moves> {
        None
    }

    /// Returns the pattern of the result and the sources of its entries; both must fit in `room`.
    fn plan(&self, x: &AnyPattern, room: StepLimits) -> Result<Selected>;

    /// Returns the result for an array.
    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>>;

    /// Returns the sums of the gradients for an array of shape `x`. The inner error is the first position whose sum
    /// does not fit the element type.
    fn dense_sums<G: Element>(&self, x: &Shape, gradients: &[G]) -> Result<std::result::Result<Vec<G>, usize>>;
}
