//! What operations take, and how each kind of operand runs each family of operations.

use std::any::Any;
use std::borrow::Cow;

use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::{dense_array, dense_bytes};
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
use crate::ops::product::factor::{Factor, Found};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::{self, Pairs};
use crate::ops::product::softmax;
use crate::ops::product::whole::{self, Whole};
use crate::ops::reduce;
use crate::ops::reduce::ranked::{self, Ranking};
use crate::ops::reduce::sparse::Entries;
use crate::ops::reduce::{dense, sparse};
use crate::ops::select::{self, Select};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// What an operation takes: a sparse tensor of either format, its [stored view](Stored), or an `ndarray` array or view
/// of any layout. The trait is sealed.
///
/// Reductions and maps of a stored view look at entries alone; what chooses and moves elements does so with its whole
/// tensor. As an upstream gradient it is 0 where nothing is stored.
///
/// # Examples
///
/// A function over all of them:
///
/// ```
/// use lacuna::{CooTensor, Operand, any, isnan};
///
/// fn rows_with_a_gap<X: Operand<Elem = f64>>(x: &X) -> lacuna::Result<X::Reduced<bool>>
/// where
///     X::Mapped<bool>: Operand<Elem = bool, Reduced<bool> = X::Reduced<bool>>,
/// {
///     any(&isnan(x)?, -1)
/// }
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![f64::NAN, 1.0], 0.0)?;
/// assert_eq!(rows_with_a_gap(&x)?.to_dense()?, rows_with_a_gap(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of lacuna",
    label = "not a tensor, a stored view or an `ndarray` array",
    note = "operands are `CooTensor`, `CsrTensor`, `x.stored()`, and `ndarray` arrays and views, of `lacuna::Element`s",
    note = "hand over a reference to one, `&x`; a number or a `Vec` becomes an array by `ndarray::arr0` or `arr1`"
)]
pub trait Operand: Sized + sealed::Sealed {
    // The hidden methods have names that arrays have none of: those of `ndarray` are methods of what an array derefs
    // to, which a trait's of the same name would hide from whoever imports this one.

    /// The type of the elements.
    type Elem: Element;

    /// A result of another shape, with elements of type `U`: a tensor of the same format, or an array of any rank.
    type Reduced<U>;

    /// A result of the same shape, with elements of type `U`.
    type Mapped<U: Element>;

    /// A product with an operand on the right: a tensor of the format of this one if both are sparse, else an array.
    type Product<Y: Operand>;

    /// A product with a sparse operand on the left, of pattern `P`.
    #[doc(hidden)]
    type ProductWith<P: Pattern, U>;

    /// The lengths of the axes.
    fn lengths(&self) -> &[usize];

    /// How many elements an elementwise operation looks at.
    #[doc(hidden)]
    fn element_count(&self) -> usize;

    /// The bytes that it holds, what it repeats counted once.
    #[doc(hidden)]
    fn held_bytes(&self) -> usize;

    #[doc(hidden)]
    fn by_map<M: Map<Self::Elem>>(&self, op: &M) -> Result<Self::Mapped<M::Out>>;

    /// The gradient of a map whose slope at a value is that function of it.
    #[doc(hidden)]
    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<Self::Mapped<U::Elem>>
    where
        Self::Elem: Float;

    #[doc(hidden)]
    fn by_fold<F: Fold<Self::Elem>>(&self, op: F, axes: &Axes) -> Result<Self::Reduced<F::Out>>;

    /// The gradient of a fold that gives each element that of its cell.
    #[doc(hidden)]
    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<Self::Reduced<U::Elem>>;

    #[doc(hidden)]
    fn by_holistic<H: Holistic<Self::Elem>>(&self, op: H, axes: &Axes) -> Result<Self::Reduced<H::Out>>;

    #[doc(hidden)]
    fn by_gradient<U: Operand, H: Gradient<Self::Elem, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<Self::Reduced<U::Elem>>;

    #[doc(hidden)]
    fn by_apart<U: Operand, A: Apart<Self::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<Self::Reduced<U::Elem>>;

    /// `of` the element at each rank along an axis, with its position, or of nothing.
    #[doc(hidden)]
    fn by_ranked<U: Plain>(
        &self,
        ranking: &Ranking,
        of: impl Fn(Option<(Self::Elem, u64)>) -> U + Sync + Send,
    ) -> Result<Self::Reduced<U>>
    where
        Self::Elem: Real;

    #[doc(hidden)]
    fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<Self::Reduced<U::Elem>>
    where
        Self::Elem: Real;

    /// The elements that it holds one by one, and the element that all other positions hold, with their number.
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // two things, nothing to be named
    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [Self::Elem]>, Option<(Self::Elem, u128)>)>;

    /// A result of pairs as a pair of results.
    #[doc(hidden)]
    fn unzip<A: Copy, B: Copy>(pairs: Self::Reduced<(A, B)>) -> Allocated<(Self::Reduced<A>, Self::Reduced<B>)>;

    #[doc(hidden)]
    fn by_select<S: Select>(&self, op: &S) -> Result<Self::Reduced<Self::Elem>>;

    #[doc(hidden)]
    fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<Self::Reduced<U::Elem>>;

    /// As an upstream gradient: the elements at the cells that a result of this shape stores, in its order.
    #[doc(hidden)]
    fn at_entries<P: Pattern>(&self, result: &P) -> Result<Vec<Self::Elem>>;

    /// With an array on the right.
    #[doc(hidden)]
    fn zip_array<B: Element, Z: Zip<Self::Elem, B>>(
        &self,
        array: ArrayViewD<'_, B>,
        op: Z,
    ) -> Result<Self::Reduced<Z::Out>>;

    /// The elements of another operand of this shape where this one has its own: at all entries, or everywhere.
    #[doc(hidden)]
    fn elements_of<U: Operand>(&self, other: &U) -> Result<Vec<U::Elem>>;

    /// This operand broadcast to a shape: its elements stand in that.
    #[doc(hidden)]
    type InShape<'a>: Operand<Elem = Self::Elem>
    where
        Self: 'a;

    #[doc(hidden)]
    fn in_shape(&self, shape: &Shape) -> Result<Self::InShape<'_>>;

    /// The softmax of the elements over some axes, or the gradient of it.
    #[doc(hidden)]
    fn softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<Self::Reduced<G>>
    where
        Self::Elem: Float;

    /// The products of all pairs with another operand of this kind.
    #[doc(hidden)]
    fn pairs(&self, other: &Self, form: Pairs) -> Result<Self::Reduced<Self::Elem>>
    where
        Self::Elem: Ring;

    /// The gradients of both.
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    fn pairs_backward<U: Operand<Elem = Self::Elem>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(Self::Reduced<Self::Elem>, Self::Reduced<Self::Elem>)>
    where
        Self::Elem: Float;

    /// As an operand of an einsum: without the type of its pattern.
    #[doc(hidden)]
    fn whole(&self) -> Result<Whole<Self::Elem>>;

    /// What an einsum came to, whose operands held so many bytes.
    #[doc(hidden)]
    fn of_whole(whole: Whole<Self::Elem>, bytes: usize) -> Result<Self::Reduced<Self::Elem>>;

    /// Whether positions that are not stored count: not in a stored view.
    #[doc(hidden)]
    fn counts_gaps(&self) -> bool;

    /// The elements as a product goes through them.
    #[doc(hidden)]
    fn listed(&self) -> Result<Listed<'_, Self::Elem>>;

    /// A gradient of this operand, from [as many elements](Operand::elements_of) as it has in a shape that it was
    /// broadcast to: exact sums, if it was.
    #[doc(hidden)]
    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<Self::Reduced<U>>;

    /// As an upstream gradient: the elements by their row-major number, for so many look-ups; `None` where there are
    /// too many cells for that.
    #[doc(hidden)]
    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, Self::Elem>>>;

    /// As an operand of a product.
    #[doc(hidden)]
    fn factor(&self) -> Result<Factor<'_, Self::Elem>>;

    /// What was found of this and of an operand on the right, in its type.
    #[doc(hidden)]
    fn product<Y: Operand<Elem = Self::Elem>>(&self, found: Found<Self::Elem>) -> Result<Self::Product<Y>>;

    /// What was found of a sparse operand on the left and this, in its type.
    #[doc(hidden)]
    fn product_with<P: Pattern>(found: Found<Self::Elem>) -> Result<Self::ProductWith<P, Self::Elem>>;
}

/// The operands that are sparse: a tensor, or a stored view of one.
pub(super) trait Sparse: sealed::Sealed {
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
        Entries { pattern: self.tensor().pattern(), values: self.tensor().values(), fill: self.gap() }
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

/// The impl of [`Operand`] is the same for both, written out so that a program which hands over something else is told
/// what there is, and no private trait shows on the public page.
macro_rules! sparse_operand {
    ($operand:ty) => {
        impl<P: Pattern, T: Element> Operand for $operand {
            type Elem = T;
            type Reduced<U> = Tensor<P, U>;
            type Mapped<U: Element> = Tensor<P, U>;
            type Product<Y: Operand> = Y::ProductWith<P, T>;
            type ProductWith<Q: Pattern, U> = Tensor<Q, U>;

            fn lengths(&self) -> &[usize] {
                self.tensor().shape()
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
                sparse::fold(&Sparse::entries(self), op, axes)
            }

            fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<Tensor<P, U::Elem>> {
                sparse::spread(self.tensor().pattern(), upstream, axes)
            }

            fn by_holistic<H: Holistic<T>>(&self, op: H, axes: &Axes) -> Result<Tensor<P, H::Out>> {
                sparse::holistic(&Sparse::entries(self), op, axes)
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
                super::zip::sparse::with_array(self, array, op)
            }

            fn elements_of<U: Operand>(&self, other: &U) -> Result<Vec<U::Elem>> {
                other.at_entries(self.tensor().pattern())
            }

            type InShape<'a>
                = Tensor<P, T>
            where
                Self: 'a;

            fn in_shape(&self, shape: &Shape) -> Result<Tensor<P, T>> {
                let tensor = super::zip::sparse::in_shape(self.tensor(), shape)?;
                let (pattern, values) = (tensor.pattern().clone(), tensor.shared_values().clone());
                Ok(Tensor::from_shared(pattern, values, self.gap().unwrap_or(T::ZERO)))
            }

            fn softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<Tensor<P, G>>
            where
                T: Float,
            {
                match self.gap() {
                    Some(_) => softmax::refused(form),
                    None => softmax::sparse(self.tensor(), form, axes, gradients),
                }
            }

            fn pairs(&self, other: &Self, form: Pairs) -> Result<Tensor<P, T>>
            where
                T: Ring,
            {
                outer::sparse(self, other, form)
            }

            fn pairs_backward<U: Operand<Elem = T>>(
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

            fn product<Y: Operand<Elem = T>>(&self, found: Found<T>) -> Result<Y::ProductWith<P, T>> {
                Y::product_with::<P>(found)
            }

            fn product_with<Q: Pattern>(found: Found<T>) -> Result<Tensor<Q, T>> {
                found.into_tensor()
            }
        }
    };
}

sparse_operand!(Tensor<P, T>);
sparse_operand!(Stored<'_, P, T>);

impl<S: Data<Elem: Element>, D: Dimension> Operand for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Reduced<U> = ArrayD<U>;
    type Mapped<U: Element> = Array<U, D>;
    type Product<Y: Operand> = ArrayD<S::Elem>;
    type ProductWith<P: Pattern, U> = ArrayD<U>;

    fn lengths(&self) -> &[usize] {
        self.shape()
    }

    fn element_count(&self) -> usize {
        self.len()
    }

    fn held_bytes(&self) -> usize {
        dense_bytes(self)
    }

    fn by_map<M: Map<S::Elem>>(&self, op: &M) -> Result<Array<M::Out, D>> {
        map::dense(self, op)
    }

    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<Array<U::Elem, D>>
    where
        S::Elem: Float,
    {
        map::dense_slopes(self, slope, upstream)
    }

    fn by_fold<F: Fold<S::Elem>>(&self, op: F, axes: &Axes) -> Result<ArrayD<F::Out>> {
        dense::fold(self, op, axes)
    }

    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<ArrayD<U::Elem>> {
        dense::spread(self, upstream, axes)
    }

    fn by_holistic<H: Holistic<S::Elem>>(&self, op: H, axes: &Axes) -> Result<ArrayD<H::Out>> {
        dense::holistic(self, op, axes)
    }

    fn by_gradient<U: Operand, H: Gradient<S::Elem, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<ArrayD<U::Elem>> {
        dense::gradient(self, op, upstream, axes)
    }

    fn by_apart<U: Operand, A: Apart<S::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<ArrayD<U::Elem>> {
        dense::apart(self, op, upstream, axes)
    }

    fn by_ranked<U: Plain>(
        &self,
        ranking: &Ranking,
        of: impl Fn(Option<(S::Elem, u64)>) -> U + Sync + Send,
    ) -> Result<ArrayD<U>>
    where
        S::Elem: Real,
    {
        ranked::dense(self.view().into_dyn(), ranking, of)
    }

    fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<ArrayD<U::Elem>>
    where
        S::Elem: Real,
    {
        ranked::dense_backward(self.view().into_dyn(), ranking, upstream)
    }

    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [S::Elem]>, Option<(S::Elem, u128)>)> {
        let elements = self.as_slice_memory_order().map(|elements| Ok(Cow::Borrowed(elements)));
        Ok((elements.unwrap_or_else(|| alloc::collect(self.iter().copied()).map(Cow::Owned))?, None))
    }

    fn unzip<A: Copy, B: Copy>(pairs: ArrayD<(A, B)>) -> Allocated<(ArrayD<A>, ArrayD<B>)> {
        let firsts = alloc::collect(pairs.iter().map(|pair| pair.0))?;
        let seconds = alloc::collect(pairs.iter().map(|pair| pair.1))?;
        let shape = pairs.shape().into();
        Ok((dense_array(&shape, firsts), dense_array(&shape, seconds)))
    }

    fn by_select<C: Select>(&self, op: &C) -> Result<ArrayD<S::Elem>> {
        op.dense(self.view().into_dyn())
    }

    fn by_select_backward<C: Select, U: Operand>(&self, op: &C, upstream: &U) -> Result<ArrayD<U::Elem>> {
        select::dense_backward(&self.shape().into(), dense_bytes(self), op, upstream)
    }

    fn at_entries<R: Pattern>(&self, result: &R) -> Result<Vec<S::Elem>> {
        match self.as_slice() {
            Some(gradients) => Ok(threads::map(&positions(result)?, 1500, |cell| gradients[cell])?),
            None => {
                let view = self.view().into_dyn();
                Ok(look_up(result, |cell| view[IxDyn(cell)])?)
            }
        }
    }

    fn zip_array<B: Element, Z: Zip<S::Elem, B>>(&self, array: ArrayViewD<'_, B>, op: Z) -> Result<ArrayD<Z::Out>> {
        super::zip::dense::pair(self.view().into_dyn(), array, op)
    }

    fn elements_of<U: Operand>(&self, other: &U) -> Result<Vec<U::Elem>> {
        let cells = dense::all_cells(other)?;
        Ok(alloc::collect(cells.iter().copied())?)
    }

    type InShape<'a>
        = ArrayViewD<'a, S::Elem>
    where
        Self: 'a;

    fn in_shape(&self, shape: &Shape) -> Result<ArrayViewD<'_, S::Elem>> {
        Ok(self.broadcast(IxDyn(shape)).expect("the shape is one that this broadcasts to"))
    }

    fn softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<ArrayD<G>>
    where
        S::Elem: Float,
    {
        softmax::dense(self.view().into_dyn(), form, axes, gradients)
    }

    fn pairs(&self, other: &Self, form: Pairs) -> Result<ArrayD<S::Elem>>
    where
        S::Elem: Ring,
    {
        outer::dense(self.view().into_dyn(), other.view().into_dyn(), form)
    }

    fn pairs_backward<U: Operand<Elem = S::Elem>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(ArrayD<S::Elem>, ArrayD<S::Elem>)>
    where
        S::Elem: Float,
    {
        outer::dense_backward(self.view().into_dyn(), other.view().into_dyn(), form, upstream)
    }

    fn whole(&self) -> Result<Whole<S::Elem>> {
        let listed = self.listed()?;
        let elements = alloc::owned(listed.values)?;
        Ok(Whole::Array(dense_array(&self.shape().into(), elements)))
    }

    fn of_whole(whole: Whole<S::Elem>, _: usize) -> Result<ArrayD<S::Elem>> {
        Ok(whole::into_array(whole))
    }

    fn counts_gaps(&self) -> bool {
        true
    }

    fn listed(&self) -> Result<Listed<'_, S::Elem>> {
        Listed::of_array(self)
    }

    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<ArrayD<U>> {
        let array = dense_array(shape, elements);
        if *self.shape() == **shape {
            return Ok(array);
        }
        let sums = reduce::sum(&array, repeated_axes(self.shape(), shape))?;
        Ok(dense_array(&self.shape().into(), alloc::collect(sums.iter().copied())?))
    }

    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, S::Elem>>> {
        Ok(match self.as_slice() {
            Some(gradients) => Some(Lookup::Whole(Cow::Borrowed(gradients))),
            None if self.len() <= entries => Some(Lookup::Whole(Cow::Owned(alloc::collect(self.iter().copied())?))),
            None => None,
        })
    }

    fn factor(&self) -> Result<Factor<'_, S::Elem>> {
        Factor::array(self.view().into_dyn())
    }

    fn product<Y: Operand<Elem = S::Elem>>(&self, found: Found<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }

    fn product_with<P: Pattern>(found: Found<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }
}

/// The axes of `shape` along which an operand with these lengths repeats itself.
fn repeated_axes(lengths: &[usize], shape: &Shape) -> Vec<usize> {
    let added = shape.rank() - lengths.len();
    (0..shape.rank()).filter(|&axis| axis < added || lengths[axis - added] != shape[axis]).collect()
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
            Tensor::from_valid(super::zip::sparse::in_shape(x, shape)?.pattern().clone(), elements, U::ZERO);
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

/// The row-major positions of the entries; the caller knows that they fit.
fn positions<P: Pattern>(pattern: &P) -> Allocated<Vec<usize>> {
    threads::filled(pattern.nnz(), 1000, |range, positions| pattern.number(range.start, positions))
}

/// A look-up for each cell that `result` stores.
fn look_up<G: Element, P: Pattern>(result: &P, gradient: impl Fn(&[usize]) -> G) -> Allocated<Vec<G>> {
    let mut gradients = alloc::with_capacity(result.nnz())?;
    result.walk(|_, cell| {
        gradients.push(gradient(cell));
        true
    });
    Ok(gradients)
}

pub(super) mod sealed {
    use crate::tensor::Tensor;
    use crate::tensor::stored::Stored;

    pub trait Sealed {}
    impl<P, T> Sealed for Tensor<P, T> {}
    impl<P, T> Sealed for Stored<'_, P, T> {}
    impl<S: ndarray::RawData, D> Sealed for ndarray::ArrayBase<S, D> {}
    impl<X> Sealed for crate::ops::reduce::GroupBy<'_, X> {}
}
