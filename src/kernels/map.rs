//! Maps: one function of every element.

use crate::element::Element;

/// A function of single values of type `T`.
pub trait Map<T: Element> {
    /// The type of its results.
    type Out: Element;

    /// The results of `values`, in order, written to as many places.
    fn block(&self, values: &[T], results: &mut [Self::Out]);
}
