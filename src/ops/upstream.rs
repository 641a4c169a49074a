//! The upstream gradient of a backward pass, in any format.

use ndarray::{ArrayBase, Data, Dimension, IxDyn};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::pattern::Pattern;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// The gradient of a result, as it comes from upstream: a sparse tensor of either format, with any pattern, fill and
/// index type of its own, or a dense array or view.
///
/// Its shape is that of the forward result, reduced axes that are kept included. The trait is sealed.
pub trait Upstream: sealed::Sealed {
    /// The type of the gradient, and of the gradient that is passed on.
    type Elem: Element;

    /// The lengths of the axes.
    fn lengths(&self) -> &[usize];

    /// The gradient of one cell, stored or not. The cell is in bounds.
    fn at(&self, cell: &[usize]) -> Self::Elem;
}

/// Refuses an upstream gradient that has not the shape of the forward result.
pub(crate) fn check_shape<U: Upstream>(upstream: &U, expected: &Shape) -> Result<()> {
    if *upstream.lengths() == **expected {
        return Ok(());
    }
    let (expected, found) = (expected.clone(), Shape::from(upstream.lengths()));
    Err(Error::ShapeMismatch { what: "the upstream gradient", expected, found })
}

/// The gradients of the cells that a result stores, in its order.
pub(crate) fn at_entries<U: Upstream, P: Pattern>(upstream: &U, result: &P) -> Vec<U::Elem> {
    let mut gradients = Vec::with_capacity(result.nnz());
    result.walk(|_, cell| {
        gradients.push(upstream.at(cell));
        true
    });
    gradients
}

impl<P: Pattern, G: Element> Upstream for Tensor<P, G> {
    type Elem = G;

    fn lengths(&self) -> &[usize] {
        self.shape()
    }

    fn at(&self, cell: &[usize]) -> G {
        self.pattern().find(cell).map_or(self.fill(), |entry| self.values()[entry])
    }
}

impl<S: Data<Elem: Element>, D: Dimension> Upstream for ArrayBase<S, D> {
    type Elem = S::Elem;

    fn lengths(&self) -> &[usize] {
        self.shape()
    }

    fn at(&self, cell: &[usize]) -> S::Elem {
        self.view().into_dyn()[IxDyn(cell)]
    }
}

mod sealed {
    pub trait Sealed {}
    impl<P, G> Sealed for super::Tensor<P, G> {}
    impl<S: ndarray::RawData, D> Sealed for super::ArrayBase<S, D> {}
}
