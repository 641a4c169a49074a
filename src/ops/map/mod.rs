//! Elementwise operations: one function of every element, in the format that the elements came in.

mod classify;
mod isin;
#[macro_use]
mod pages;
mod functions;
mod numbers;

pub use classify::{
    isfinite, isfinite_into, isinf, isinf_into, isnan, isnan_into, isneginf, isneginf_into, isposinf, isposinf_into,
    isreal, isreal_into,
};
pub use functions::{
    acos, acos_backward, asin, asin_backward, atan, atan_backward, cbrt, cbrt_backward, ceil, cos, cos_backward, cosh,
    cosh_backward, exp, exp_backward, exp_m1, exp_m1_backward, floor, ln, ln_1p, ln_1p_backward, ln_backward, log2,
    log2_backward, log10, log10_backward, powf, powf_backward, recip, recip_backward, round, sin, sin_backward, sinh,
    sinh_backward, sqrt, sqrt_backward, tan, tan_backward, tanh, tanh_backward, trunc,
};
pub use isin::{Isin, IsinKind, isin, isin_into};
pub use numbers::{
    abs, abs_backward, clamp, clamp_backward, conj, imag, neg, neg_backward, not, powi, powi_backward, real, sign,
    square, square_backward,
};

use std::any::Any;
use std::convert::Infallible;

use ndarray::{Array, ArrayBase, Data, DataMut, Dimension, ShapeBuilder};

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::base::spare;
use crate::convert::{check_result, dense_bytes};
use crate::element::{Element, Float};
use crate::kernels::map::{Function, Map, Overflow, multiply_by_slopes};
use crate::ops::operand::{Operand, Sparse, sealed};
use crate::ops::reduce::check_upstream;
use crate::ops::reduce::dense::all_cells;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::stored::Stored;

/// The elements that are gathered at once: enough for several threads, few enough for the cache.
const PIECE: usize = 1 << 17;

/// A map that answers yes or no, and always does.
pub trait Predicate<T: Element>: Map<T, Out = bool, Fault = Infallible> {}
impl<T: Element, M: Map<T, Out = bool, Fault = Infallible>> Predicate<T> for M {}

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
    fn take_answers<M: Predicate<X::Elem>>(&mut self, x: &X, op: &M) -> Result<()>;
}

/// Refuses a result of `found` where an operation has one of `expected`.
pub(super) fn check_out_shape(found: &[usize], expected: &[usize]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch { what: "the result", expected: expected.into(), found: found.into() })
}

/// The map of a sparse tensor.
pub(super) fn sparse<T: Element, M: Map<T>>(x: SparseRef<'_, T>, gap: Option<T>, op: &M) -> Result<Erased<M::Out>> {
    let (pattern, values) = (x.pattern(), x.values());
    let mut results = spare::items(values.len())?;
    op.block(values, &mut results).map_err(|fault| {
        let overflow: Overflow = fault.into();
        does_not_fit::<M::Out>(overflow, pattern.coords_of(overflow.at))
    })?;
    Ok(Tensor::from_valid(pattern.clone(), results, fill(x, gap, op)?))
}

/// The fill of a map: that of the fill; or where what is absent does not count, the fill itself, if it has the type. A
/// fill without a result is an error only where a position holds it.
fn fill<T: Element, M: Map<T>>(x: SparseRef<'_, T>, gap: Option<T>, op: &M) -> Result<M::Out> {
    let Some(gap) = gap else {
        let kept: &dyn Any = &x.fill();
        return Ok(kept.downcast_ref().copied().unwrap_or(M::Out::ZERO));
    };
    let mut result = [M::Out::ZERO];
    match op.block(&[gap], &mut result) {
        Err(fault) if x.shape().wide_size() > x.nnz() as u128 => Err(does_not_fit::<M::Out>(fault.into(), None)),
        _ => Ok(result[0].as_implicit()),
    }
}

/// The error of a result that does not fit its type, at these coordinates or else of the fill.
fn does_not_fit<U: Element>(overflow: Overflow, coords: Option<Vec<usize>>) -> Error {
    Error::Overflow { operation: overflow.operation, coords, dtype: U::DTYPE.name() }
}

/// The gradient of a map of a sparse tensor, from those at its entries.
pub(super) fn sparse_slopes<T: Float, G: Float>(
    x: SparseRef<'_, T>,
    slope: Function<'_>,
    mut gradients: Vec<G>,
) -> Erased<G> {
    multiply_by_slopes(x.values(), &mut gradients, slope);
    Tensor::from_valid(x.pattern().clone(), gradients, G::ZERO)
}

impl<P: Pattern, T: Element> Answers<Tensor<P, T>> for Tensor<P, bool> {
    fn take_answers<M: Predicate<T>>(&mut self, x: &Tensor<P, T>, op: &M) -> Result<()> {
        sparse_into(x, op, self)
    }
}

impl<P: Pattern, T: Element> Answers<Stored<'_, P, T>> for Tensor<P, bool> {
    fn take_answers<M: Predicate<T>>(&mut self, x: &Stored<'_, P, T>, op: &M) -> Result<()> {
        sparse_into(x, op, self)
    }
}

/// The map of a sparse tensor, into a tensor that is there already.
fn sparse_into<X: Sparse, M: Predicate<X::Value>>(x: &X, op: &M, out: &mut Tensor<X::Pattern, bool>) -> Result<()> {
    check_out_shape(out.shape(), x.tensor().shape())?;
    let (x, gap) = (x.tensor(), x.gap());
    let Ok(()) = op.block(x.values(), out.reuse(x.pattern().clone(), fill(x.sparse(), gap, op)?)?);
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
    let (mapped, columns_first) = match (x.as_slice(), x.t().to_slice()) {
        (Some(rows), _) => (op.block(rows, &mut results), false),
        (None, Some(columns)) => (op.block(columns, &mut results), true),
        (None, None) => (map_gathered(x.iter().copied(), results.iter_mut(), op)?, false),
    };
    mapped.map_err(|fault| {
        // The first one in row-major order, whatever the layout.
        let has_none = |&(_, &value): &(_, &S::Elem)| op.block(&[value], &mut [M::Out::ZERO]).is_err();
        let first = x.view().into_dyn().indexed_iter().find(has_none).map(|(at, _)| at.slice().to_vec());
        does_not_fit::<M::Out>(fault.into(), first)
    })?;
    Ok(Array::from_shape_vec(x.raw_dim().set_f(columns_first), results).expect("one result for each position"))
}

/// The gradient of a map of an array.
pub(super) fn dense_slopes<S: Data<Elem: Float>, D: Dimension, U: Operand<Elem: Float>>(
    x: &ArrayBase<S, D>,
    slope: Function<'_>,
    upstream: &U,
) -> Result<Array<U::Elem, D>> {
    let shape = Shape::from(x.shape());
    check_upstream(upstream, &shape)?;
    check_result::<U::Elem>(&shape, dense_bytes(x))?;
    let mut gradients = if x.is_empty() { Vec::new() } else { alloc::owned(all_cells(upstream)?)? };
    match x.as_slice() {
        Some(values) => multiply_by_slopes(values, &mut gradients, slope),
        None => multiply_by_slopes(&alloc::collect(x.iter().copied())?, &mut gradients, slope),
    }
    Ok(Array::from_shape_vec(x.raw_dim(), gradients).expect("one gradient for each position"))
}

impl<S, O, D> Answers<ArrayBase<S, D>> for ArrayBase<O, D>
where
    S: Data<Elem: Element>,
    O: DataMut<Elem = bool>,
    D: Dimension,
{
    fn take_answers<M: Predicate<S::Elem>>(&mut self, x: &ArrayBase<S, D>, op: &M) -> Result<()> {
        check_out_shape(self.shape(), x.shape())?;
        if let (Some(rows), Some(answers)) = (x.as_slice(), self.as_slice_mut()) {
            let Ok(()) = op.block(rows, answers);
        } else if let (Some(columns), Some(answers)) =
            (x.t().to_slice(), self.view_mut().reversed_axes().as_slice_mut())
        {
            let Ok(()) = op.block(columns, answers);
        } else {
            let Ok(()) = map_gathered(x.iter().copied(), self.iter_mut(), op)?;
        }
        Ok(())
    }
}

/// The map of elements that do not lie in one slice, or whose results do not: piece by piece.
fn map_gathered<'a, T: Element, M: Map<T>>(
    mut elements: impl ExactSizeIterator<Item = T>,
    mut results: impl Iterator<Item = &'a mut M::Out>,
    op: &M,
) -> Allocated<std::result::Result<(), M::Fault>> {
    let mut piece = alloc::with_capacity(elements.len().min(PIECE))?;
    let mut mapped = alloc::zeros(elements.len().min(PIECE))?;
    while elements.len() > 0 {
        piece.clear();
        piece.extend(elements.by_ref().take(PIECE));
        let mapped = &mut mapped[..piece.len()];
        if let Err(fault) = op.block(&piece, mapped) {
            return Ok(Err(fault));
        }
        mapped.iter().zip(&mut results).for_each(|(&from, to)| *to = from);
    }
    Ok(Ok(()))
}
