//! Tensors and stored views as operands.

use std::any::Any;
use std::borrow::Cow;

use ndarray::ArrayViewD;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::cells::CellMap;
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Apart, Gradient, Holistic};
use crate::kernels::lookup::{Lookup, merge};
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::map;
use crate::ops::operand::{Operand, look_up, positions, repeated_axes, sealed};
use crate::ops::product::factor::{Factor, Found};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::{self, Pairs};
use crate::ops::product::softmax;
use crate::ops::product::whole::{self, Whole};
use crate::ops::reduce;
use crate::ops::reduce::fed::{self, Fed};
use crate::ops::reduce::ranked::{self, Ranking};
use crate::ops::reduce::sparse;
use crate::ops::reduce::sparse::Entries;
use crate::ops::select::{self, Select};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The operands that are sparse: a tensor, or a stored view of one.
pub(in crate::ops) trait Sparse: sealed::Sealed {
    /// The pattern.
    type Pattern: Pattern;
    /// The type of the values.
    type Value: Element;

    /// The tensor that holds the entries.
    fn tensor(&self) -> &Tensor<Self::Pattern, Self::Value>;

    /// The value of what is absent; none where that does not count.
    fn gap(&self) -> Option<Self::Value>;

    /// What reductions read.
    fn entries(&self) -> Entries<'_, Self::Pattern, Self::Value> {
        let tensor = self.tensor();
        Entries { pattern: tensor.pattern(), values: tensor.values(), fill: self.gap(), source: None }
    }
}

impl<P: Pattern, T: Element> Sparse for Tensor<P, T> {
    type Pattern = P;
    type Value = T;

    fn tensor(&self) -> &Tensor<P, T> {
        self
    }

    fn gap(&self) -> Option<T> {
        Some(self.fill())
    }
}

impl<P: Pattern, T: Element> Sparse for Stored<'_, P, T> {
    type Pattern = P;
    type Value = T;

    fn tensor(&self) -> &Tensor<P, T> {
        Stored::tensor(self)
    }

    fn gap(&self) -> Option<T> {
        None
    }
}

impl<P: Pattern, T: Element> Sparse for Fed<'_, P, T> {
    type Pattern = P;
    type Value = T;

    fn tensor(&self) -> &Tensor<P, T> {
        self.none
    }

    fn gap(&self) -> Option<T> {
        self.gap
    }

    fn entries(&self) -> Entries<'_, P, T> {
        Entries { pattern: self.pattern, values: &[], fill: self.gap, source: Some(&*self.source) }
    }
}

/// The impl of [`Operand`] is the same for all, written out so that a program which hands over something else is told
/// what there is, and no private trait shows on the public page.
macro_rules! sparse_operand {
    ($operand:ty, |$x:ident, $op:ident, $axes:ident| $fold:expr, $holistic:expr) => {
        impl<P: Pattern, T: Element> Operand for $operand {
            type Elem = T;
            type Reduced<U> = Tensor<P, U>;
            type Mapped<U: Element> = Tensor<P, U>;
            type Product<Y: Operand> = Y::ProductWith<P, T>;
            type ProductWith<Q: Pattern, U> = Tensor<Q, U>;

            fn lengths(&self) -> &[usize] {
                Sparse::entries(self).pattern.shape()
            }

            fn element_count(&self) -> usize {
                self.tensor().nnz().saturating_add(1)
            }

            fn held_bytes(&self) -> usize {
                self.tensor().stored_bytes()
            }

            fn by_map<M: Map<T>>(&self, op: &M) -> Result<Tensor<P, M::Out>> {
                map::sparse(self, op)
            }

            fn by_slopes<U: Operand<Elem: Float>>(
                &self,
                slope: Function<'_>,
                upstream: &U,
            ) -> Result<Tensor<P, U::Elem>>
            where
                T: Float,
            {
                map::sparse_slopes(self, slope, upstream)
            }

            fn by_fold<F: Fold<T>>(&self, op: F, axes: &Axes) -> Result<Tensor<P, F::Out>> {
                let ($x, $op, $axes) = (self, op, axes);
                $fold
            }

            fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<Tensor<P, U::Elem>> {
                sparse::spread(self.tensor().pattern(), upstream, axes)
            }

            fn by_holistic<H: Holistic<T>>(&self, op: H, axes: &Axes) -> Result<Tensor<P, H::Out>> {
                let ($x, $op, $axes) = (self, op, axes);
                $holistic
            }

            fn by_gradient<U: Operand, H: Gradient<T, U::Elem>>(
                &self,
                op: H,
                upstream: &U,
                axes: &Axes,
            ) -> Result<Tensor<P, U::Elem>> {
                sparse::gradient(&Sparse::entries(self), op, upstream, axes)
            }

            fn by_apart<U: Operand, A: Apart<T, U::Elem>>(
                &self,
                op: A,
                upstream: &U,
                axes: &Axes,
            ) -> Result<Tensor<P, U::Elem>> {
                sparse::apart(&Sparse::entries(self), op, upstream, axes)
            }

            fn by_ranked<U: Plain>(
                &self,
                ranking: &Ranking,
                of: impl Fn(Option<(T, u64)>) -> U + Sync + Send,
            ) -> Result<Tensor<P, U>>
            where
                T: Real,
            {
                ranked::sparse(&Sparse::entries(self), self.tensor().fill(), ranking, of)
            }

            fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<Tensor<P, U::Elem>>
            where
                T: Real,
            {
                ranked::sparse_backward(&Sparse::entries(self), self.tensor().fill(), ranking, upstream)
            }

            fn values_and_gaps(&self) -> Allocated<(Cow<'_, [T]>, Option<(T, u128)>)> {
                let x = self.tensor();
                let count = x.shape().wide_size().saturating_sub(x.nnz() as u128);
                Ok((Cow::Borrowed(x.values()), self.gap().map(|fill| (fill, count))))
            }

            fn unzip<A: Copy, B: Copy>(
                pairs: Self::Reduced<(A, B)>,
            ) -> Allocated<(Self::Reduced<A>, Self::Reduced<B>)> {
                pairs.unzip()
            }

            fn by_select<S: Select>(&self, op: &S) -> Result<Tensor<P, T>> {
                select::sparse(self.tensor(), op)
            }

            fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<Tensor<P, U::Elem>> {
                select::sparse_backward(self.tensor(), op, upstream)
            }

            fn at_entries<R: Pattern>(&self, result: &R) -> Result<Vec<T>> {
                at_entries(self.tensor(), self.gap().unwrap_or(T::ZERO), result)
            }

            fn zip_array<B: Element, Z: Zip<T, B>>(
                &self,
                array: ArrayViewD<'_, B>,
                op: Z,
            ) -> Result<Tensor<P, Z::Out>> {
                crate::ops::zip::sparse::with_array(self, array, op)
            }

            fn elements_of<U: Operand>(&self, other: &U) -> Result<Vec<U::Elem>> {
                other.at_entries(self.tensor().pattern())
            }

            fn elements_beside<U: Operand>(&self, other: &U, shape: &Shape) -> Result<Vec<U::Elem>> {
                elements_beside(self.tensor().pattern(), other, shape)
            }

            type InShape<'a>
                = Tensor<P, T>
            where
                Self: 'a;

            fn in_shape(&self, shape: &Shape) -> Result<Tensor<P, T>> {
                let tensor = crate::ops::zip::sparse::in_shape(self.tensor(), shape)?;
                let (pattern, values) = (tensor.pattern().clone(), tensor.shared_values().clone());
                Ok(Tensor::from_shared(pattern, values, self.gap().unwrap_or(T::ZERO)))
            }

            fn by_softmax<G: Float>(
                &self,
                form: Softmax,
                axes: &Axes,
                gradients: Option<Vec<G>>,
            ) -> Result<Tensor<P, G>>
            where
                T: Float,
            {
                match self.gap() {
                    Some(_) => softmax::refused(form),
                    None => softmax::sparse(self.tensor(), form, axes, gradients),
                }
            }

            fn by_pairs(&self, other: &Self, form: Pairs) -> Result<Tensor<P, T>>
            where
                T: Ring,
            {
                outer::sparse(self, other, form)
            }

            fn by_pairs_backward<U: Operand<Elem = T>>(
                &self,
                other: &Self,
                form: Pairs,
                upstream: &U,
            ) -> Result<(Tensor<P, T>, Tensor<P, T>)>
            where
                T: Float,
            {
                outer::sparse_backward(self, other, form, upstream)
            }

            fn whole(&self) -> Result<Whole<T>> {
                whole::of_tensor(self.tensor())
            }

            fn of_whole(whole: Whole<T>, bytes: usize) -> Result<Tensor<P, T>> {
                whole::into_tensor(whole, default_limit(bytes))
            }

            fn counts_gaps(&self) -> bool {
                self.gap().is_some()
            }

            type Marks = Tensor<P, bool>;

            fn marks(&self) -> Result<Option<Tensor<P, bool>>> {
                let pattern = Sparse::entries(self).pattern;
                Ok(Some(Tensor::from_valid(pattern.clone(), alloc::copies(true, pattern.nnz())?, false)))
            }

            fn listed(&self) -> Result<Listed<'_, T>> {
                Ok(Listed::of_tensor(self.tensor(), self.gap()))
            }

            fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<Tensor<P, U>> {
                gradient_of(self.tensor(), elements, shape)
            }

            fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
                lookup(self.tensor(), self.gap().unwrap_or(T::ZERO), entries)
            }

            fn factor(&self) -> Result<Factor<'_, T>> {
                Ok(Factor::sparse(self.tensor(), self.gap()))
            }

            fn of_found<Y: Operand<Elem = T>>(&self, found: Found<T>) -> Result<Y::ProductWith<P, T>> {
                Y::of_found_with::<P>(found)
            }

            fn of_found_with<Q: Pattern>(found: Found<T>) -> Result<Tensor<Q, T>> {
                found.into_tensor()
            }
        }
    };
}

sparse_operand!(
    Tensor<P, T>,
    |x, op, axes| sparse::fold(&Sparse::entries(x), op, axes),
    sparse::holistic(&Sparse::entries(x), op, axes)
);
sparse_operand!(
    Stored<'_, P, T>,
    |x, op, axes| sparse::fold(&Sparse::entries(x), op, axes),
    sparse::holistic(&Sparse::entries(x), op, axes)
);
sparse_operand!(Fed<'_, P, T>, |x, op, axes| fed::fold(x, op, axes), fed::ranked(x, op, axes));

/// The elements of an operand that is broadcast to the shape of a pattern, at its entries.
fn elements_beside<P: Pattern, U: Operand>(pattern: &P, other: &U, shape: &Shape) -> Result<Vec<U::Elem>> {
    let added = shape.rank() - other.lengths().len();
    let with_rank: Shape = std::iter::repeat_n(1, added).chain(other.lengths().iter().copied()).collect();
    let repeated: Vec<usize> = (0..shape.rank()).filter(|&axis| with_rank[axis] != shape[axis]).collect();
    let other = other.in_shape(&with_rank)?;
    if repeated.is_empty() {
        return other.at_entries(pattern);
    }
    sparse::at_entries_of(pattern, &other, &Axes::from(repeated).with_keep_dims(true), |element| element)
}

/// A gradient of a tensor, from the elements at its entries in a shape that it was broadcast to.
fn gradient_of<P: Pattern, T: Element, U: Float>(
    x: &Tensor<P, T>,
    elements: Vec<U>,
    shape: &Shape,
) -> Result<Tensor<P, U>> {
    let elements = if x.shape() == shape {
        elements
    } else if shape.is_empty_space() {
        alloc::zeros(x.nnz())?
    } else {
        let broadcast =
            Tensor::from_valid(crate::ops::zip::sparse::in_shape(x, shape)?.pattern().clone(), elements, U::ZERO);
        reduce::sum(&broadcast.stored(), repeated_axes(x.shape(), shape))?.into_parts()?.1
    };
    Ok(Tensor::from_valid(x.pattern().clone(), elements, U::ZERO))
}

/// A search costs as much as so many steps of a merge.
const STEPS_PER_SEARCH: usize = 16;

/// The elements at the cells that `result` stores, `fill` where this tensor stores none.
fn at_entries<P: Pattern, T: Element, R: Pattern>(tensor: &Tensor<P, T>, fill: T, result: &R) -> Result<Vec<T>> {
    let same: &dyn Any = tensor.pattern();
    if same.downcast_ref() == Some(result) {
        return Ok(threads::map(tensor.values(), 300, |gradient| gradient)?);
    }
    if tensor.shape().checked_size().is_none() || result.nnz() < tensor.nnz() / STEPS_PER_SEARCH {
        let at = |cell: &[usize]| tensor.pattern().find(cell).map_or(fill, |entry| tensor.values()[entry]);
        return Ok(look_up(result, at)?);
    }
    Ok(merge(&positions(result)?, &positions(tensor.pattern())?, tensor.values(), fill)?)
}

/// The elements by the row-major number of the cell, `fill` where the tensor stores none.
fn lookup<P: Pattern, T: Element>(tensor: &Tensor<P, T>, fill: T, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
    let cells = tensor.shape().checked_size().filter(|&cells| CellMap::pays(cells as u128, entries));
    let number = |start, numbers: &mut [usize]| tensor.pattern().number(start, numbers);
    cells.map(|cells| Lookup::new(cells, entries, tensor.values(), fill, number)).transpose()
}
