//! Tensors and stored views as operands.

use std::borrow::Cow;

use ndarray::ArrayViewD;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Gradient, GroupGradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::map;
use crate::ops::operand::erased::lookup;
use crate::ops::operand::{Operand, OperandRef, repeated_axes, sealed};
use crate::ops::product::factor::{Factor, ProductResult};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::{self, Pairs};
use crate::ops::product::softmax;
use crate::ops::product::whole::{self, Whole};
use crate::ops::reduce::fed::{self, Fed};
use crate::ops::reduce::ranked::{self, Ranking};
use crate::ops::reduce::sparse;
use crate::ops::reduce::sparse::Entries;
use crate::ops::reduce::{self, check_upstream};
use crate::ops::select::{self, Select};
use crate::ops::zip::sparse::in_shape;
use crate::pattern::{AnyPattern, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::stored::Stored;

/// A sparse operand: a tensor, or a stored view of a tensor.
pub(in crate::ops) trait Sparse: sealed::Sealed {
    /// The pattern.
    type Pattern: Pattern;
    /// The type of the values.
    type Value: Element;

    /// The tensor that holds the entries.
    fn tensor(&self) -> &Tensor<Self::Pattern, Self::Value>;

    /// Returns the value of unstored positions; `None` if they do not count.
    fn gap(&self) -> Option<Self::Value>;

    /// Returns the entries that reductions read.
    fn entries(&self) -> Entries<'_, Self::Value> {
        let tensor = self.tensor();
        Entries { pattern: tensor.pattern().any(), values: tensor.values(), fill: self.gap(), source: None }
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

    fn entries(&self) -> Entries<'_, T> {
        Entries { pattern: self.pattern.any(), values: &[], fill: self.gap, source: Some(&*self.source) }
    }
}

/// Implements [`Operand`] for one sparse type. A blanket implementation would show a private trait on the public page.
/// It would also keep the compiler from listing the operand types in errors.
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
                Tensor::from_erased(map::sparse(self.tensor().sparse(), self.gap(), op)?)
            }

            fn by_slopes<U: Operand<Elem: Float>>(
                &self,
                slope: Function<'_>,
                upstream: &U,
            ) -> Result<Tensor<P, U::Elem>>
            where
                T: Float,
            {
                check_upstream(upstream, self.tensor().shape())?;
                let gradients = upstream.at_entries(self.tensor().pattern().any())?;
                Tensor::from_erased(map::sparse_slopes(self.tensor().sparse(), slope, gradients))
            }

            fn by_fold<F: Fold<T>>(&self, op: F, axes: &Axes) -> Result<Tensor<P, F::Out>> {
                let ($x, $op, $axes) = (self, op, axes);
                Tensor::from_erased($fold?)
            }

            fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<Tensor<P, U::Elem>> {
                Tensor::from_erased(sparse::spread(self.tensor().pattern().any(), upstream, axes)?)
            }

            fn by_holistic<H: Holistic<T>>(&self, op: H, axes: &Axes) -> Result<Tensor<P, H::Out>> {
                let ($x, $op, $axes) = (self, op, axes);
                Tensor::from_erased($holistic?)
            }

            fn by_gradient<U: Operand, H: Gradient<T, U::Elem>>(
                &self,
                op: H,
                upstream: &U,
                axes: &Axes,
            ) -> Result<Tensor<P, U::Elem>> {
                Tensor::from_erased(sparse::gradient(&Sparse::entries(self), op, upstream, axes)?)
            }

            fn by_apart<U: Operand, A: GroupGradient<T, U::Elem>>(
                &self,
                op: A,
                upstream: &U,
                axes: &Axes,
            ) -> Result<Tensor<P, U::Elem>> {
                Tensor::from_erased(sparse::apart(&Sparse::entries(self), op, upstream, axes)?)
            }

            fn by_ranked<U: Plain>(
                &self,
                ranking: &Ranking,
                of: impl Fn(Option<(T, u64)>) -> U + Sync + Send,
            ) -> Result<Tensor<P, U>>
            where
                T: Real,
            {
                ranking.check_index::<P::Index>()?;
                Tensor::from_erased(ranked::sparse(&Sparse::entries(self), self.tensor().fill(), ranking, of)?)
            }

            fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<Tensor<P, U::Elem>>
            where
                T: Real,
            {
                ranking.check_index::<P::Index>()?;
                let (x, own) = (Sparse::entries(self), self.tensor().fill());
                Tensor::from_erased(ranked::sparse_backward(&x, own, ranking, upstream)?)
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

            fn at_entries(&self, result: &AnyPattern) -> Result<Vec<T>> {
                self.operand_ref().at_entries(result)
            }

            fn zip_array<B: Element, Z: Zip<T, B>>(
                &self,
                array: ArrayViewD<'_, B>,
                op: Z,
            ) -> Result<Tensor<P, Z::Out>> {
                crate::ops::zip::sparse::with_array(self, array, op)
            }

            fn operand_ref(&self) -> OperandRef<'_, T> {
                OperandRef::of_tensor(self.tensor().sparse(), self.gap())
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
                    None => Tensor::from_erased(softmax::sparse(self.tensor().sparse(), form, axes, gradients)?),
                }
            }

            fn by_pairs(&self, other: &Self, form: Pairs) -> Result<Tensor<P, T>>
            where
                T: Ring,
            {
                let [x, y] = [self, other].map(|of| (of.tensor().sparse(), of.gap()));
                Tensor::from_erased(outer::sparse(x, y, form)?)
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
                let [x, y] = [self, other].map(|of| (of.tensor().sparse(), of.gap()));
                let (dx, dy) = outer::sparse_backward(x, y, form, upstream)?;
                Ok((Tensor::from_erased(dx)?, Tensor::from_erased(dy)?))
            }

            fn whole(&self) -> Result<Whole<T>> {
                whole::of_tensor(self.tensor().sparse())
            }

            fn of_whole(whole: Whole<T>, bytes: usize) -> Result<Tensor<P, T>> {
                Tensor::from_erased(whole::into_tensor(whole, P::FORMAT, default_limit(bytes))?)
            }

            fn counts_gaps(&self) -> bool {
                self.gap().is_some()
            }

            fn listed(&self) -> Result<Listed<'_, T>> {
                Ok(Listed::of_tensor(self.tensor().sparse(), self.gap()))
            }

            fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<Tensor<P, U>> {
                Tensor::from_erased(gradient_of(self.tensor().sparse(), elements, shape)?)
            }

            fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
                lookup(self.tensor().sparse(), self.gap().unwrap_or(T::ZERO), entries)
            }

            fn factor(&self) -> Result<Factor<'_, T>> {
                Ok(Factor::sparse(self.tensor().sparse(), self.gap()))
            }

            fn of_found<Y: Operand<Elem = T>>(&self, found: ProductResult<T>) -> Result<Y::ProductWith<P, T>> {
                Y::of_found_with::<P>(found)
            }

            fn of_found_with<Q: Pattern>(found: ProductResult<T>) -> Result<Tensor<Q, T>> {
                Tensor::from_erased(found.into_erased(Q::FORMAT, <Q::Index as Index>::WIDTH)?)
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
#[cfg(feature = "dynamic")]
sparse_operand!(
    super::SparseView<P, T>,
    |x, op, axes| sparse::fold(&Sparse::entries(x), op, axes),
    sparse::holistic(&Sparse::entries(x), op, axes)
);
sparse_operand!(
    Fed<'_, P, T>,
    |x, op, axes| fed::fold(&Sparse::entries(x), x.states, op, axes),
    fed::ranked(&Sparse::entries(x), x.states, op, axes)
);

/// Returns a gradient of a tensor, from the elements at its entries in a shape that it was broadcast to.
fn gradient_of<T: Element, U: Float>(x: SparseRef<'_, T>, elements: Vec<U>, shape: &Shape) -> Result<Erased<U>> {
    let elements = if x.shape() == shape {
        elements
    } else if shape.is_empty_space() {
        alloc::zeros(x.nnz())?
    } else {
        let wide = in_shape(x, shape)?;
        let broadcast = Tensor::from_valid(wide.sparse().pattern().clone(), elements, U::ZERO);
        reduce::sum(&broadcast.stored(), repeated_axes(x.shape(), shape))?.into_parts()?.1
    };
    Ok(Tensor::from_valid(x.pattern().clone(), elements, U::ZERO))
}
