//! The upstream gradient of a backward pass, in any format.

use std::any::Any;
use std::borrow::Cow;

use ndarray::{ArrayBase, Data, Dimension, IxDyn};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::kernels::cells::CellMap;
use crate::kernels::lookup::{Table, merge};
use crate::pages::{self, Granted};
use crate::parallel;
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

    /// The gradients of the cells that a result stores, in its order; the result has the shape of this.
    #[doc(hidden)]
    fn at_entries<P: Pattern>(&self, result: &P) -> Result<Vec<Self::Elem>>;

    /// The gradients by the row-major number of the cell, for so many look-ups; `None` where there are too many cells.
    #[doc(hidden)]
    fn table(&self, entries: usize) -> Option<Table<'_, Self::Elem>>;

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
pub(crate) fn at_entries<U: Upstream, P: Pattern>(upstream: &U, result: &P) -> Result<Vec<U::Elem>> {
    upstream.at_entries(result)
}

/// The row-major positions of the entries; the caller knows that they fit.
fn positions<P: Pattern>(pattern: &P) -> Granted<Vec<usize>> {
    parallel::filled(pattern.nnz(), |range, positions| pattern.number(range.start, positions))
}

/// A look-up for each cell that `result` stores.
fn look_up<G: Element, P: Pattern>(result: &P, gradient: impl Fn(&[usize]) -> G) -> Granted<Vec<G>> {
    let mut gradients = pages::room(result.nnz())?;
    result.walk(|_, cell| {
        gradients.push(gradient(cell));
        true
    });
    Ok(gradients)
}

/// A search costs as much as so many steps of a merge.
const STEPS_PER_SEARCH: usize = 16;

impl<P: Pattern, G: Element> Upstream for Tensor<P, G> {
    type Elem = G;

    fn lengths(&self) -> &[usize] {
        self.shape()
    }

    fn at(&self, cell: &[usize]) -> G {
        self.pattern().find(cell).map_or(self.fill(), |entry| self.values()[entry])
    }

    fn at_entries<R: Pattern>(&self, result: &R) -> Result<Vec<G>> {
        let same: &dyn Any = self.pattern();
        if same.downcast_ref() == Some(result) {
            return Ok(parallel::map(self.values(), |gradient| gradient)?);
        }
        if self.shape().checked_size().is_none() || result.nnz() < self.nnz() / STEPS_PER_SEARCH {
            return Ok(look_up(result, |cell| self.at(cell))?);
        }
        Ok(merge(&positions(result)?, &positions(self.pattern())?, self.values(), self.fill())?)
    }

    fn table(&self, entries: usize) -> Option<Table<'_, G>> {
        let cells = self.shape().checked_size().filter(|&cells| CellMap::pays(cells as u128, entries))?;
        let number = |start, numbers: &mut [usize]| self.pattern().number(start, numbers);
        Some(Table::new(cells, entries, self.values(), self.fill(), number))
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

    fn at_entries<R: Pattern>(&self, result: &R) -> Result<Vec<S::Elem>> {
        match self.as_slice() {
            Some(gradients) => Ok(parallel::map(&positions(result)?, |cell| gradients[cell])?),
            None => {
                let view = self.view().into_dyn();
                Ok(look_up(result, |cell| view[cell])?)
            }
        }
    }

    fn table(&self, entries: usize) -> Option<Table<'_, S::Elem>> {
        match self.as_slice() {
            Some(gradients) => Some(Table::Whole(Cow::Borrowed(gradients))),
            None if self.len() <= entries => Some(Table::Whole(Cow::Owned(self.iter().copied().collect()))),
            None => None,
        }
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
