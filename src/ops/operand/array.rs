//! `ndarray` arrays and views as operands.

use std::borrow::Cow;

use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::convert::{dense_array, dense_bytes};
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Gradient, GroupGradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::map;
use crate::ops::operand::{Operand, OperandRef, repeated_axes};
use crate::ops::product::factor::{Factor, ProductResult};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::{self, Pairs};
use crate::ops::product::softmax;
use crate::ops::product::whole::{self, Whole};
use crate::ops::reduce;
use crate::ops::reduce::dense;
use crate::ops::reduce::ranked::{self, Ranking};
use crate::ops::select::{self, Select};
use crate::pattern::{AnyPattern, Pattern};

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
        dense::fold(&self.view().into_dyn(), op, axes)
    }

    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<ArrayD<U::Elem>> {
        dense::spread(&self.view().into_dyn(), upstream, axes)
    }

    fn by_holistic<H: Holistic<S::Elem>>(&self, op: H, axes: &Axes) -> Result<ArrayD<H::Out>> {
        dense::holistic(&self.view().into_dyn(), op, axes)
    }

    fn by_gradient<U: Operand, H: Gradient<S::Elem, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<ArrayD<U::Elem>> {
        dense::gradient(&self.view().into_dyn(), op, upstream, axes)
    }

    fn by_apart<U: Operand, A: GroupGradient<S::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<ArrayD<U::Elem>> {
        dense::apart(&self.view().into_dyn(), op, upstream, axes)
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

    fn at_entries(&self, result: &AnyPattern) -> Result<Vec<S::Elem>> {
        self.operand_ref().at_entries(result)
    }

    fn zip_array<B: Element, Z: Zip<S::Elem, B>>(&self, array: ArrayViewD<'_, B>, op: Z) -> Result<ArrayD<Z::Out>> {
        crate::ops::zip::dense::pair(self.view().into_dyn(), array, op)
    }

    fn operand_ref(&self) -> OperandRef<'_, S::Elem> {
        OperandRef::of_array(self.view().into_dyn())
    }

    fn by_softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<ArrayD<G>>
    where
        S::Elem: Float,
    {
        softmax::dense(self.view().into_dyn(), form, axes, gradients)
    }

    fn by_pairs(&self, other: &Self, form: Pairs) -> Result<ArrayD<S::Elem>>
    where
        S::Elem: Ring,
    {
        outer::dense(self.view().into_dyn(), other.view().into_dyn(), form)
    }

    fn by_pairs_backward<U: Operand<Elem = S::Elem>>(
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

    fn of_found<Y: Operand<Elem = S::Elem>>(&self, found: ProductResult<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }

    fn of_found_with<P: Pattern>(found: ProductResult<S::Elem>) -> Result<ArrayD<S::Elem>> {
        Ok(found.into_array())
    }
}
