//! The upstream gradient of a backward pass, in any format.

use ndarray::{ArrayBase, Data, Dimension, IxDyn};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::pattern::Pattern;
use crate::shape::{Shape, ravel};
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

    /// The gradients of all cells, stored or not, in row-major order. Faster than as many look-ups, but for those who
    /// know that there are not too many: it goes on to the end of a dense array.
    fn in_order(&self) -> impl Iterator<Item = Self::Elem>;
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

    fn in_order(&self) -> impl Iterator<Item = G> {
        let mut cells = Vec::with_capacity(self.nnz());
        self.for_each_entry(|cell, gradient| cells.push((ravel(cell, self.shape()), gradient)));
        let mut stored = cells.into_iter().peekable();
        (0..self.shape().checked_size().unwrap_or(0))
            .map(move |at| stored.next_if(|&(cell, _)| cell == at).map_or(self.fill(), |(_, gradient)| gradient))
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

    fn in_order(&self) -> impl Iterator<Item = S::Elem> {
        self.iter().copied()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<P, G> Sealed for super::Tensor<P, G> {}
    impl<S: ndarray::RawData, D> Sealed for super::ArrayBase<S, D> {}
}
