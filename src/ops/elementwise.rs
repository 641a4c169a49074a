//! What all elementwise operations share: one function of every element, in the format that the elements came in.

use ndarray::{Array, ArrayBase, Data, Dimension, ShapeBuilder};

use crate::element::Element;
use crate::parallel;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What elementwise operations take: tensors of both formats, and `ndarray` arrays and views of any layout.
///
/// The trait is sealed. Its operations are functions of the crate, methods of [`Tensor`], and for arrays methods of
/// the traits in the [prelude](crate::prelude).
pub trait Elementwise: sealed::Sealed {
    /// The type of the elements.
    type Elem: Element;
    /// The same kind with elements of another type: the same pattern, or the same shape and dimension type.
    type Mapped<U: Element>;

    /// The number of elements that are worked on: the stored entries and the fill, or all elements of an array.
    fn element_count(&self) -> usize;

    /// `f` of every element; of a sparse tensor that is every stored value, and once the fill.
    ///
    /// ```
    /// use lacuna::Elementwise;
    /// use ndarray::arr2;
    ///
    /// let dense = arr2(&[[1, 2], [3, 4]]);
    /// assert_eq!(dense.map_elements(|element| element > 2), arr2(&[[false, false], [true, true]]));
    /// ```
    fn map_elements<U: Element>(&self, f: impl Fn(Self::Elem) -> U + Send + Sync) -> Self::Mapped<U>;
}

impl<P: Pattern, T: Element> Elementwise for Tensor<P, T> {
    type Elem = T;
    type Mapped<U: Element> = Tensor<P, U>;

    fn element_count(&self) -> usize {
        self.nnz().saturating_add(1)
    }

    fn map_elements<U: Element>(&self, f: impl Fn(T) -> U + Send + Sync) -> Tensor<P, U> {
        self.map_values(f)
    }
}

impl<S: Data<Elem: Element>, D: Dimension> Elementwise for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Mapped<U: Element> = Array<U, D>;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn map_elements<U: Element>(&self, f: impl Fn(S::Elem) -> U + Send + Sync) -> Array<U, D> {
        let (items, columns_first) = match self.as_slice() {
            Some(items) => (Some(items), false),
            None => (self.t().to_slice(), true),
        };
        match items {
            Some(items) => Array::from_shape_vec(self.raw_dim().set_f(columns_first), parallel::map(items, f))
                .expect("one item for each position"),
            None => self.mapv(f),
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl<P, T> Sealed for super::Tensor<P, T> {}
    impl<S: ndarray::RawData, D> Sealed for super::ArrayBase<S, D> {}
}
