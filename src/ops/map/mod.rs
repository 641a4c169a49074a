//! Elementwise operations: one function of every element, in the format that the elements came in.

mod classify;
mod isin;

pub use classify::{
    isfinite, isfinite_into, isinf, isinf_into, isnan, isnan_into, isneginf, isneginf_into, isposinf, isposinf_into,
    isreal, isreal_into,
};
pub use isin::{Isin, IsinKind, isin, isin_into};

use std::any::Any;

use ndarray::{Array, ArrayBase, Data, DataMut, Dimension, ShapeBuilder};

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::convert::dense_bytes;
use crate::element::Element;
use crate::kernels::map::Map;
use crate::ops::operand::{Operand, Sparse, sealed};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The elements that are gathered at once: enough for several threads, few enough for the cache.
const PIECE: usize = 1 << 17;

/// What the `_into` forms of the elementwise operations on `X` fill: for a tensor or its stored view a tensor of its
/// pattern type, for an array an array or a mutable view of its dimension type and any layout. Its elements are `bool`.
///
/// What it held before makes no difference. Of a tensor the allocation of the values is reused, and grows if it is too
/// short; the pattern is shared with `X`, as that of a new result would be.
///
/// The trait is sealed.
pub trait Answers<X: Operand>: sealed::Sealed {
    /// Takes the results of `op`.
    #[doc(hidden)]
    fn take_answers<M: Map<X::Elem, Out = bool>>(&mut self, x: &X, op: &M) -> Result<()>;
}

/// Refuses a result of `found` where an operation has one of `expected`.
pub(super) fn check_out_shape(found: &[usize], expected: &[usize]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch { what: "the result", expected: expected.into(), found: found.into() })
}

/// The map of a sparse tensor.
pub(super) fn sparse<X: Sparse, M: Map<X::Value>>(x: &X, op: &M) -> Result<Tensor<X::Pattern, M::Out>> {
    let mut results = alloc::zeros(x.tensor().nnz())?;
    op.block(x.tensor().values(), &mut results);
    Ok(Tensor::from_valid(x.tensor().pattern().clone(), results, fill(x, op)))
}

/// The fill of a map: that of the fill; or where what is absent does not count, the fill itself, if it has the type.
fn fill<X: Sparse, M: Map<X::Value>>(x: &X, op: &M) -> M::Out {
    let Some(gap) = x.gap() else {
        let kept: &dyn Any = &x.tensor().fill();
        return kept.downcast_ref().copied().unwrap_or(M::Out::ZERO);
    };
    let mut result = [M::Out::ZERO];
    op.block(&[gap], &mut result);
    result[0].as_implicit()
}

impl<P: Pattern, T: Element> Answers<Tensor<P, T>> for Tensor<P, bool> {
    fn take_answers<M: Map<T, Out = bool>>(&mut self, x: &Tensor<P, T>, op: &M) -> Result<()> {
        sparse_into(x, op, self)
    }
}

impl<P: Pattern, T: Element> Answers<Stored<'_, P, T>> for Tensor<P, bool> {
    fn take_answers<M: Map<T, Out = bool>>(&mut self, x: &Stored<'_, P, T>, op: &M) -> Result<()> {
        sparse_into(x, op, self)
    }
}

/// The map of a sparse tensor, into a tensor that is there already.
fn sparse_into<X: Sparse, M: Map<X::Value, Out = bool>>(
    x: &X,
    op: &M,
    out: &mut Tensor<X::Pattern, bool>,
) -> Result<()> {
    check_out_shape(out.shape(), x.tensor().shape())?;
    op.block(x.tensor().values(), out.reuse(x.tensor().pattern().clone(), fill(x, op))?);
    Ok(())
}

/// The map of an array.
pub(super) fn dense<S: Data<Elem: Element>, D: Dimension, M: Map<S::Elem>>(
    x: &ArrayBase<S, D>,
    op: &M,
) -> Result<Array<M::Out, D>> {
    guard::<M::Out>(
        "the dense result",
        x.len() as u128,
        default_limit(dense_bytes(x)),
        "ask the array that was broadcast",
    )?;
    let mut results = alloc::zeros(x.len())?;
    let columns_first = match (x.as_slice(), x.t().to_slice()) {
        (Some(rows), _) => {
            op.block(rows, &mut results);
            false
        }
        (None, Some(columns)) => {
            op.block(columns, &mut results);
            true
        }
        (None, None) => {
            map_gathered(x.iter().copied(), results.iter_mut(), op)?;
            false
        }
    };
    Ok(Array::from_shape_vec(x.raw_dim().set_f(columns_first), results).expect("one result for each position"))
}

impl<S, O, D> Answers<ArrayBase<S, D>> for ArrayBase<O, D>
where
    S: Data<Elem: Element>,
    O: DataMut<Elem = bool>,
    D: Dimension,
{
    fn take_answers<M: Map<S::Elem, Out = bool>>(&mut self, x: &ArrayBase<S, D>, op: &M) -> Result<()> {
        check_out_shape(self.shape(), x.shape())?;
        if let (Some(rows), Some(answers)) = (x.as_slice(), self.as_slice_mut()) {
            op.block(rows, answers);
        } else if let (Some(columns), Some(answers)) =
            (x.t().to_slice(), self.view_mut().reversed_axes().as_slice_mut())
        {
            op.block(columns, answers);
        } else {
            map_gathered(x.iter().copied(), self.iter_mut(), op)?;
        }
        Ok(())
    }
}

/// The map of elements that do not lie in one slice, or whose results do not: piece by piece.
fn map_gathered<'a, T: Element, M: Map<T>>(
    mut elements: impl ExactSizeIterator<Item = T>,
    mut results: impl Iterator<Item = &'a mut M::Out>,
    op: &M,
) -> Result<()> {
    let mut piece = alloc::with_capacity(elements.len().min(PIECE))?;
    let mut mapped = alloc::zeros(elements.len().min(PIECE))?;
    while elements.len() > 0 {
        piece.clear();
        piece.extend(elements.by_ref().take(PIECE));
        let mapped = &mut mapped[..piece.len()];
        op.block(&piece, mapped);
        mapped.iter().zip(&mut results).for_each(|(&from, to)| *to = from);
    }
    Ok(())
}
