//! Dynamically typed operands: a tensor, its stored entries, or an array.
//!
//! Operations on them are compiled once per element type. The result of an operation is an array if the typed operation
//! returns an array.

use std::borrow::Cow;

use ndarray::{ArrayD, ArrayViewD, CowArray, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::{Index, Width};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::convert::dense_bytes;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Gradient, GroupGradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::operand::{Operand, OperandRef, Sparse, sealed};
use crate::ops::product::factor::{Factor, ProductResult};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::Pairs;
use crate::ops::product::whole::{self, Whole};
use crate::ops::reduce::ranked::Ranking;
use crate::ops::select::Select;
use crate::pattern::{AnyPattern, Format, Pattern};
use crate::plan::broadcast_match::whole_lengths;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// A tensor whose unstored positions count, or do not count.
#[derive(Clone)]
pub(crate) struct SparseView<P, T> {
    pub(crate) tensor: Tensor<P, T>,
    pub(crate) counts_gaps: bool,
}

impl<P: Pattern, T: Element> Sparse for SparseView<P, T> {
    type Pattern = P;
    type Value = T;

    fn tensor(&self) -> &Tensor<P, T> {
        &self.tensor
    }

    fn gap(&self) -> Option<T> {
        self.counts_gaps.then(|| self.tensor.fill())
    }
}

/// An array, or a chunk of one.
#[derive(Clone)]
pub(crate) struct DenseView<'a, T: Clone> {
    pub(crate) array: CowArray<'a, T, IxDyn>,
    /// The lengths of the whole array, if this is a chunk.
    pub(crate) whole: Option<Shape>,
}

impl<T: Element> DenseView<'_, T> {
    /// Returns the array as a tensor with this fill, for results that store every element of the array.
    pub(crate) fn all_stored(&self, format: Format, fill: T) -> Result<Erased<T>> {
        let shape = Shape::from(self.array.shape());
        let limit = default_limit(dense_bytes(&self.array));
        let pattern = AnyPattern::every_position(&shape, Width::of_lengths(&shape))?.in_format(format, limit)?;
        Ok(Tensor::from_valid(pattern, alloc::collect(self.array.iter().copied())?, fill))
    }
}

impl<T: Clone> DenseView<'_, T> {
    /// Returns the lengths of the array; of the whole array if this is a chunk.
    pub(crate) fn whole_lengths(&self) -> &[usize] {
        self.whole.as_deref().unwrap_or(self.array.shape())
    }
}

/// An operand of any kind.
#[derive(Clone)]
pub(crate) enum RunTimeOperand<'a, T: Clone> {
    /// A tensor, or its stored entries.
    Sparse(SparseView<AnyPattern, T>),
    /// An array.
    Array(DenseView<'a, T>),
}

/// The result of an operation on dynamically typed operands.
pub(crate) enum RunTimeResult<T> {
    Tensor(Erased<T>),
    Array(ArrayD<T>),
}

impl<T: Element> From<Erased<T>> for RunTimeOperand<'_, T> {
    fn from(tensor: Erased<T>) -> Self {
        RunTimeOperand::Sparse(SparseView { tensor, counts_gaps: true })
    }
}

impl<T: Element> From<ArrayD<T>> for RunTimeOperand<'_, T> {
    fn from(array: ArrayD<T>) -> Self {
        RunTimeOperand::Array(DenseView { array: array.into(), whole: None })
    }
}

impl<'a, T: Element> From<ArrayViewD<'a, T>> for RunTimeOperand<'a, T> {
    fn from(array: ArrayViewD<'a, T>) -> Self {
        RunTimeOperand::Array(DenseView { array: array.into(), whole: None })
    }
}

impl<T> From<Erased<T>> for RunTimeResult<T> {
    fn from(tensor: Erased<T>) -> Self {
        RunTimeResult::Tensor(tensor)
    }
}

impl<T> From<ArrayD<T>> for RunTimeResult<T> {
    fn from(array: ArrayD<T>) -> Self {
        RunTimeResult::Array(array)
    }
}

impl<T: Element> From<RunTimeOperand<'_, T>> for RunTimeResult<T> {
    fn from(operand: RunTimeOperand<'_, T>) -> Self {
        match operand {
            RunTimeOperand::Sparse(x) => RunTimeResult::Tensor(x.tensor),
            RunTimeOperand::Array(x) => RunTimeResult::Array(x.array.into_owned()),
        }
    }
}

/// Runs code on an operand of either kind.
macro_rules! on_kind {
    ($operand:expr, $x:ident => $body:expr) => {
        match $operand {
            RunTimeOperand::Sparse($x) => $body,
            RunTimeOperand::Array(DenseView { array: $x, .. }) => $body,
        }
    };
}

impl<T: Element> RunTimeOperand<'_, T> {
    /// Returns the lengths of the operand; of the whole operand if this is a chunk.
    pub(crate) fn whole_lengths(&self) -> &[usize] {
        match self {
            RunTimeOperand::Sparse(x) => whole_lengths(x.tensor.pattern()),
            RunTimeOperand::Array(x) => x.whole_lengths(),
        }
    }

    /// Returns the operand of a product whose result stores every element of an array with each entry of `other`.
    fn stored_with(&self, other: &Self) -> Result<SparseView<AnyPattern, T>> {
        match self {
            RunTimeOperand::Sparse(x) => Ok(x.clone()),
            RunTimeOperand::Array(x) => {
                Ok(SparseView { tensor: x.all_stored(Format::Coo, T::ZERO)?, counts_gaps: other.counts_gaps() })
            }
        }
    }

    /// Returns a gradient on the pattern of the operand: an array if the operand is an array.
    fn gradient(&self, found: Erased<T>) -> Result<RunTimeResult<T>> {
        match self {
            RunTimeOperand::Sparse(_) => Ok(found.into()),
            RunTimeOperand::Array(_) => Ok(found.to_dense()?.into()),
        }
    }

    /// Returns the elements as an array, which is built if the operand is a tensor.
    pub(crate) fn dense(&self) -> Result<CowArray<'_, T, IxDyn>> {
        match self {
            RunTimeOperand::Sparse(x) => Ok(x.tensor.to_dense()?.into()),
            RunTimeOperand::Array(x) => Ok(x.array.view().into()),
        }
    }
}

impl<T: Clone> sealed::Sealed for RunTimeOperand<'_, T> {}

impl<T: Element> Operand for RunTimeOperand<'_, T> {
    type Elem = T;
    type Reduced<U> = RunTimeResult<U>;
    type Mapped<U: Element> = RunTimeResult<U>;
    type Product<Y: Operand> = RunTimeResult<T>;
    type ProductWith<P: Pattern, U> = RunTimeResult<U>;

    fn lengths(&self) -> &[usize] {
        on_kind!(self, x => x.lengths())
    }

    fn element_count(&self) -> usize {
        on_kind!(self, x => x.element_count())
    }

    fn held_bytes(&self) -> usize {
        on_kind!(self, x => x.held_bytes())
    }

    fn by_map<M: Map<T>>(&self, op: &M) -> Result<RunTimeResult<M::Out>> {
        Ok(on_kind!(self, x => x.by_map(op)?.into()))
    }

    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<RunTimeResult<U::Elem>>
    where
        T: Float,
    {
        Ok(on_kind!(self, x => x.by_slopes(slope, upstream)?.into()))
    }

    fn by_fold<F: Fold<T>>(&self, op: F, axes: &Axes) -> Result<RunTimeResult<F::Out>> {
        Ok(on_kind!(self, x => x.by_fold(op, axes)?.into()))
    }

    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<RunTimeResult<U::Elem>> {
        Ok(on_kind!(self, x => x.by_spread(upstream, axes)?.into()))
    }

    fn by_holistic<H: Holistic<T>>(&self, op: H, axes: &Axes) -> Result<RunTimeResult<H::Out>> {
        Ok(on_kind!(self, x => x.by_holistic(op, axes)?.into()))
    }

    fn by_gradient<U: Operand, H: Gradient<T, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<RunTimeResult<U::Elem>> {
        Ok(on_kind!(self, x => x.by_gradient(op, upstream, axes)?.into()))
    }

    fn by_apart<U: Operand, A: GroupGradient<T, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<RunTimeResult<U::Elem>> {
        Ok(on_kind!(self, x => x.by_apart(op, upstream, axes)?.into()))
    }

    fn by_ranked<U: Plain>(
        &self,
        ranking: &Ranking,
        of: impl Fn(Option<(T, u64)>) -> U + Sync + Send,
    ) -> Result<RunTimeResult<U>>
    where
        T: Real,
    {
        Ok(on_kind!(self, x => x.by_ranked(ranking, of)?.into()))
    }

    fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<RunTimeResult<U::Elem>>
    where
        T: Real,
    {
        Ok(on_kind!(self, x => x.by_ranked_backward(ranking, upstream)?.into()))
    }

    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [T]>, Option<(T, u128)>)> {
        on_kind!(self, x => x.values_and_gaps())
    }

    fn unzip<A: Copy, B: Copy>(pairs: RunTimeResult<(A, B)>) -> Allocated<(RunTimeResult<A>, RunTimeResult<B>)> {
        Ok(match pairs {
            RunTimeResult::Tensor(pairs) => {
                let (firsts, seconds) = pairs.unzip()?;
                (firsts.into(), seconds.into())
            }
            RunTimeResult::Array(pairs) => {
                let (firsts, seconds) = <ArrayD<T> as Operand>::unzip(pairs)?;
                (firsts.into(), seconds.into())
            }
        })
    }

    fn by_select<S: Select>(&self, op: &S) -> Result<RunTimeResult<T>> {
        Ok(on_kind!(self, x => x.by_select(op)?.into()))
    }

    fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<RunTimeResult<U::Elem>> {
        Ok(on_kind!(self, x => x.by_select_backward(op, upstream)?.into()))
    }

    fn at_entries(&self, result: &AnyPattern) -> Result<Vec<T>> {
        on_kind!(self, x => x.at_entries(result))
    }

    fn zip_array<B: Element, Z: Zip<T, B>>(&self, array: ArrayViewD<'_, B>, op: Z) -> Result<RunTimeResult<Z::Out>> {
        Ok(on_kind!(self, x => x.zip_array(array, op)?.into()))
    }

    fn operand_ref(&self) -> OperandRef<'_, T> {
        on_kind!(self, x => x.operand_ref())
    }

    fn by_softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<RunTimeResult<G>>
    where
        T: Float,
    {
        Ok(on_kind!(self, x => x.by_softmax(form, axes, gradients)?.into()))
    }

    fn by_pairs(&self, other: &Self, form: Pairs) -> Result<RunTimeResult<T>>
    where
        T: Ring,
    {
        match (self, other) {
            (RunTimeOperand::Array(x), RunTimeOperand::Array(y)) => Ok(x.array.by_pairs(&y.array, form)?.into()),
            (x, y) => Ok(x.stored_with(y)?.by_pairs(&y.stored_with(x)?, form)?.into()),
        }
    }

    fn by_pairs_backward<U: Operand<Elem = T>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(RunTimeResult<T>, RunTimeResult<T>)>
    where
        T: Float,
    {
        match (self, other) {
            (RunTimeOperand::Array(x), RunTimeOperand::Array(y)) => {
                x.array.by_pairs_backward(&y.array, form, upstream).map(|(dx, dy)| (dx.into(), dy.into()))
            }
            (x, y) => {
                let (dx, dy) = x.stored_with(y)?.by_pairs_backward(&y.stored_with(x)?, form, upstream)?;
                Ok((x.gradient(dx)?, y.gradient(dy)?))
            }
        }
    }

    fn whole(&self) -> Result<Whole<T>> {
        on_kind!(self, x => x.whole())
    }

    fn of_whole(whole: Whole<T>, bytes: usize) -> Result<RunTimeResult<T>> {
        match whole {
            Whole::Array(x) => Ok(x.into()),
            entries => Ok(whole::into_tensor(entries, Format::Coo, default_limit(bytes))?.into()),
        }
    }

    fn counts_gaps(&self) -> bool {
        on_kind!(self, x => x.counts_gaps())
    }

    fn listed(&self) -> Result<Listed<'_, T>> {
        on_kind!(self, x => x.listed())
    }

    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<RunTimeResult<U>> {
        Ok(on_kind!(self, x => x.gradient_of(elements, shape)?.into()))
    }

    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
        on_kind!(self, x => x.lookup(entries))
    }

    fn factor(&self) -> Result<Factor<'_, T>> {
        on_kind!(self, x => x.factor())
    }

    fn of_found<Y: Operand<Elem = T>>(&self, found: ProductResult<T>) -> Result<RunTimeResult<T>> {
        match (self, found) {
            (RunTimeOperand::Sparse(x), ProductResult::Entries(found)) => {
                let pattern = x.tensor.pattern();
                Ok(found.into_erased(pattern.format(), pattern.width())?.into())
            }
            (_, found) => Ok(found.into_array().into()),
        }
    }

    fn of_found_with<P: Pattern>(found: ProductResult<T>) -> Result<RunTimeResult<T>> {
        match found {
            ProductResult::Array(..) => Ok(found.into_array().into()),
            ProductResult::Entries(found) => Ok(found.into_erased(P::FORMAT, <P::Index as Index>::WIDTH)?.into()),
        }
    }
}
