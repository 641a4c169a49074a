//! Elementwise operations: one function for every element, with a result in the format of the operand.

mod classify;
mod isin;
pub(super) mod methods;
mod numbers;
mod powers;
mod rounding;
mod trigonometric;

pub use self::classify::{
    isfinite, isfinite_into, isinf, isinf_into, isnan, isnan_into, isneginf, isneginf_into, isposinf, isposinf_into,
    isreal, isreal_into, signbit, signbit_into,
};
pub use self::isin::{Isin, IsinKind, isin, isin_into};
pub use self::numbers::{abs, angle, clamp, conj, imag, neg, not, real, sign};
pub use self::powers::{cbrt, exp, exp_m1, exp2, ln, ln_1p, log2, log10, powf, powi, recip, sqrt, square};
pub use self::rounding::*;
pub use self::trigonometric::{acos, acosh, asin, asinh, atan, atanh, cos, cosh, sin, sinc, sinh, tan, tanh};
// Inside the crate, a gradient is called `NAME_backward`.
pub(crate) use self::{numbers::*, powers::*, trigonometric::*};

/// The gradients, by the names of their functions.
pub(super) mod grad {
    use super::{numbers, powers, trigonometric};

    mod all {
        pub use super::{numbers::*, powers::*, trigonometric::*};
    }

    macro_rules! gradients {
        (tests $tests:tt numbers $numbers:tt bits $bits:tt parts $parts:tt floats $floats:tt
         gradients [$($name:ident $backward:ident)*]) => {
            pub use self::all::{
                $($backward as $name,)* clamp_backward as clamp, powf_backward as powf, powi_backward as powi,
            };
        };
    }

    crate::__function_names! { gradients }
}

use std::any::Any;

use ndarray::{Array, ArrayBase, ArrayView, Data, DataMut, Dimension, ShapeBuilder};

use self::classify::Predicate;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::base::recycle;
use crate::base::shape::Shape;
use crate::convert::{check_result, dense_bytes, elements_of};
use crate::element::{Element, Float};
use crate::kernels::map::{Each, Function, Map, Overflow, multiply_by_slopes};
use crate::ops::OpSpec;
use crate::ops::operand::{ArrayMap, ErasedOperand, Operand, Sparse, all_elements, sealed};
use crate::ops::reduce::check_upstream;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::stored::Stored;

/// Number of elements that are gathered at a time: enough for several threads, few enough for the cache.
const PIECE: usize = 1 << 17;

/// Returns a function of few instructions, which is computed in `f64` and rounded once.
fn quick<T: Float>(op: &OpSpec, f: impl Fn(f64) -> f64 + Copy + Sync) -> Each<impl Fn(T) -> Option<T> + Copy + Sync> {
    Each::quick(op.name, move |value: T| Some(T::from_f64(f(value.to_f64()))))
}

/// An existing result that the `_into` functions on `X` write to.
///
/// For a tensor or its stored view, the existing result is a tensor of the same pattern type. For an array, the
/// existing result is an array or a mutable view, of the same dimension type and any layout. The elements are `bool`.
///
/// The previous contents of the existing result do not matter. A tensor reuses the allocation of its values if the
/// allocation is large enough and not shared with another tensor. The tensor shares its pattern with the operand, like
/// a new result.
///
/// The trait is sealed.
pub trait Answers<X: Operand>: sealed::Sealed {
    /// Writes the results of `op`.
    #[doc(hidden)]
    fn take_answers<M: Predicate<X::Elem>>(&mut self, x: &X, op: &M) -> Result<()>;
}

/// Computes a map.
pub(crate) fn apply<X: Operand, M: Map<X::Elem>>(x: &X, op: &M) -> Result<X::Mapped<M::Out>> {
    x.mapped_by_kind(|x| sparse(x.sparse(), x.implicit(), op), ArrayElements(op))
}

/// Computes the gradient of a map; `slope` is its derivative as a function of the value.
fn chain_rule<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    slope: Function<'_>,
    upstream: &U,
) -> Result<X::Mapped<U::Elem>> {
    let upstream = &upstream.erased();
    x.mapped_by_kind(|x| sparse_slopes(x.sparse(), slope, upstream), ArraySlopes { slope, upstream })
}

/// Rejects a result of shape `found` if the operation has a result of shape `expected`.
pub(super) fn check_out_shape(found: &[usize], expected: &[usize]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch { what: "the result", expected: expected.into(), found: found.into() })
}

/// Computes the map of a sparse tensor.
fn sparse<T: Element, M: Map<T>>(x: SparseRef<'_, T>, implicit: Option<T>, op: &M) -> Result<Erased<M::Out>> {
    let (pattern, values) = (x.pattern(), x.values());
    let mut results = recycle::items(values.len())?;
    op.block(values, &mut results).map_err(|fault| {
        let overflow: Overflow = fault.into();
        does_not_fit::<M::Out>(overflow, pattern.coords_of(overflow.at))
    })?;
    Ok(Tensor::from_valid(pattern.clone(), results, fill(x, implicit, op)?))
}

/// Computes the fill of a map: the result for the fill. If unstored positions do not count, the fill is kept, or is
/// zero if the result has another type. If the function does not have a result for the fill, this is an error only if
/// an unstored position exists.
fn fill<T: Element, M: Map<T>>(x: SparseRef<'_, T>, implicit: Option<T>, op: &M) -> Result<M::Out> {
    let Some(implicit) = implicit else {
        let kept: &dyn Any = &x.fill();
        return Ok(kept.downcast_ref().copied().unwrap_or(M::Out::ZERO));
    };
    let mut result = [M::Out::ZERO];
    match op.block(&[implicit], &mut result) {
        Err(fault) if x.shape().wide_size() > x.nnz() as u128 => Err(does_not_fit::<M::Out>(fault.into(), None)),
        _ => Ok(result[0].as_implicit()),
    }
}

/// Returns the error of a result that does not fit its type: at `coords`, or of the fill if there are none.
fn does_not_fit<U: Element>(overflow: Overflow, coords: Option<Vec<usize>>) -> Error {
    Error::Overflow { operation: overflow.operation, coords, dtype: U::DTYPE.name() }
}

/// Computes the gradient of a map of a sparse tensor.
fn sparse_slopes<T: Float, G: Float>(
    x: SparseRef<'_, T>,
    slope: Function<'_>,
    upstream: &ErasedOperand<'_, G>,
) -> Result<Erased<G>> {
    check_upstream(upstream, x.shape())?;
    let mut gradients = upstream.at_entries(x.pattern())?;
    multiply_by_slopes(x.values(), &mut gradients, slope);
    Ok(Tensor::from_valid(x.pattern().clone(), gradients, G::ZERO))
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

/// Writes the map of a sparse tensor into an existing tensor.
fn sparse_into<X: Sparse, M: Predicate<X::Value>>(x: &X, op: &M, out: &mut Tensor<X::Pattern, bool>) -> Result<()> {
    check_out_shape(out.shape(), x.pattern().shape())?;
    let operand = x.sparse_operand();
    let tensor = operand.sparse();
    let Ok(()) = op.block(tensor.values(), out.reuse(x.pattern().clone(), fill(tensor, operand.implicit(), op)?)?);
    Ok(())
}

/// The map of an array.
struct ArrayElements<'a, M>(&'a M);

impl<T: Element, M: Map<T>> ArrayMap<T, M::Out> for ArrayElements<'_, M> {
    fn of<D: Dimension>(self, x: ArrayView<'_, T, D>) -> Result<Array<M::Out, D>> {
        dense(x, self.0)
    }
}

/// The gradient of a map of an array.
struct ArraySlopes<'a, G: Clone> {
    slope: Function<'a>,
    upstream: &'a ErasedOperand<'a, G>,
}

impl<T: Float, G: Float> ArrayMap<T, G> for ArraySlopes<'_, G> {
    fn of<D: Dimension>(self, x: ArrayView<'_, T, D>) -> Result<Array<G, D>> {
        dense_slopes(x, self.slope, self.upstream)
    }
}

/// Computes the map of an array.
fn dense<T: Element, D: Dimension, M: Map<T>>(x: ArrayView<'_, T, D>, op: &M) -> Result<Array<M::Out, D>> {
    guard::<M::Out>(
        "the dense result",
        x.len() as u128,
        default_limit(dense_bytes(&x)),
        "compute before broadcasting the array",
    )?;
    let mut results = alloc::zeros(x.len())?;
    let (mapped, columns_first) = match (x.as_slice(), x.t().to_slice()) {
        (Some(rows), _) => (op.block(rows, &mut results), false),
        (None, Some(columns)) => (op.block(columns, &mut results), true),
        (None, None) => (map_gathered(x.iter().copied(), results.iter_mut(), op)?, false),
    };
    mapped.map_err(|fault| {
        // The error names the first position in row-major order, for any layout.
        let has_none = |&(_, &value): &(_, &T)| op.block(&[value], &mut [M::Out::ZERO]).is_err();
        let first = x.view().into_dyn().indexed_iter().find(has_none).map(|(at, _)| at.slice().to_vec());
        does_not_fit::<M::Out>(fault.into(), first)
    })?;
    Ok(Array::from_shape_vec(x.raw_dim().set_f(columns_first), results).expect("one result for each position"))
}

/// Computes the gradient of a map of an array.
fn dense_slopes<T: Float, D: Dimension, G: Float>(
    x: ArrayView<'_, T, D>,
    slope: Function<'_>,
    upstream: &ErasedOperand<'_, G>,
) -> Result<Array<G, D>> {
    let shape = Shape::from(x.shape());
    check_upstream(upstream, &shape)?;
    check_result::<G>(&shape, dense_bytes(&x))?;
    let mut gradients = if x.is_empty() { Vec::new() } else { alloc::owned(all_elements(upstream)?)? };
    multiply_by_slopes(&elements_of(&x)?, &mut gradients, slope);
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

/// Computes a map in chunks, for elements or results that are not contiguous.
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
