//! What all elementwise operations share: one function of every element, in the format that the elements came in.

use ndarray::{Array, ArrayBase, Data, Dimension, ShapeBuilder};

use crate::convert::dense_bytes;
use crate::element::Element;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The elements that are gathered at once: enough for several threads, few enough for the cache.
const PIECE: usize = 1 << 17;

/// What elementwise operations take: tensors of both formats, and `ndarray` arrays and views of any layout.
///
/// The result of an array holds one element for each of its positions; a view that was broadcast to more than memory
/// holds cannot be given one, and the operations that return no `Result` then abort, as `ndarray`'s `mapv` does.
///
/// The trait is sealed. Its operations are functions of the crate, methods of [`Tensor`], and for arrays methods of
/// the traits in the [prelude](crate::prelude).
pub trait Elementwise: sealed::Sealed {
    /// The type of the elements.
    type Elem: Element;
    /// The same kind with elements of another type: the same pattern, or the same shape and dimension type.
    type Mapped<U: Element>;

    /// The number of elements that are worked on: the stored entries and the fill, or all elements of an array.
    #[doc(hidden)]
    fn element_count(&self) -> usize;

    /// The bytes of memory behind them; a broadcast array has no more than what it repeats.
    #[doc(hidden)]
    fn held_bytes(&self) -> usize;

    /// `f` of all elements, slice by slice: it gives one item for each that it is given, and looks at each alone.
    ///
    /// Slices, so that the loops of an operation are compiled once for a type of elements, not once for a format.
    #[doc(hidden)]
    fn map_slices<U: Element>(&self, f: impl Fn(&[Self::Elem]) -> Vec<U>) -> Self::Mapped<U>;
}

impl<P: Pattern, T: Element> Elementwise for Tensor<P, T> {
    type Elem = T;
    type Mapped<U: Element> = Tensor<P, U>;

    fn element_count(&self) -> usize {
        self.nnz().saturating_add(1)
    }

    fn held_bytes(&self) -> usize {
        self.stored_bytes()
    }

    fn map_slices<U: Element>(&self, f: impl Fn(&[T]) -> Vec<U>) -> Tensor<P, U> {
        let fill = f(&[self.fill()])[0];
        Tensor::from_valid(self.pattern().clone(), f(self.values()), fill)
    }
}

impl<S: Data<Elem: Element>, D: Dimension> Elementwise for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Mapped<U: Element> = Array<U, D>;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn held_bytes(&self) -> usize {
        dense_bytes(self)
    }

    fn map_slices<U: Element>(&self, f: impl Fn(&[S::Elem]) -> Vec<U>) -> Array<U, D> {
        let (items, columns_first) = match (self.as_slice(), self.t().to_slice()) {
            (Some(rows), _) => (f(rows), false),
            (None, Some(columns)) => (f(columns), true),
            (None, None) => (map_gathered(self.iter().copied(), f), false),
        };
        Array::from_shape_vec(self.raw_dim().set_f(columns_first), items).expect("one item for each position")
    }
}

/// `f` of elements that do not lie in one slice, gathered piece by piece.
fn map_gathered<T: Element, U>(mut elements: impl ExactSizeIterator<Item = T>, f: impl Fn(&[T]) -> Vec<U>) -> Vec<U> {
    let mut mapped = Vec::with_capacity(elements.len());
    let mut piece = Vec::with_capacity(elements.len().min(PIECE));
    while elements.len() > 0 {
        piece.clear();
        piece.extend(elements.by_ref().take(PIECE));
        mapped.extend(f(&piece));
    }
    mapped
}

mod sealed {
    pub trait Sealed {}
    impl<P, T> Sealed for super::Tensor<P, T> {}
    impl<S: ndarray::RawData, D> Sealed for super::ArrayBase<S, D> {}
}
