//! Reductions over axes, and their gradients.
//!
//! An operation is a descriptor: a [`Fold`](crate::kernels::fold::Fold) or a
//! [`Holistic`](crate::kernels::holistic::Holistic). The drivers apply the operation to operands: [`sparse`] for
//! tensors of both formats and their stored views, [`dense`] for arrays of any layout.

#[cfg(feature = "lazy")]
pub(crate) mod accumulators;
mod all;
mod any;
mod average;
mod count_nonzero;
mod cov;
pub(crate) mod dense;
mod entries;
mod extreme;
mod lanes;
mod logsumexp;
mod nanmedian;
mod norm;
mod position;
mod prod;
mod quantile;
pub(crate) mod ranked;
mod scan;
mod sort;
pub(crate) mod sparse;
#[cfg(feature = "lazy")]
mod streamed;
mod sum;
mod topk;
mod totals;
mod trace;
mod unique;
mod var;

pub use all::all;
pub use any::any;
pub use average::average;
pub use count_nonzero::count_nonzero;
#[cfg(feature = "lazy")]
pub(crate) use cov::variables_of;
pub use cov::{corrcoef, cov};
pub use extreme::{max, min, nanmax, nanmin};
pub use logsumexp::logsumexp;
pub use nanmedian::{EvenCount, MedianGradient, Nanmedian, nanmedian, nanmedian_index};
pub use norm::{Norm, NormOrder, norm};
pub use position::{argmax, argmin, nanargmax, nanargmin};
pub use prod::{nanprod, prod};
pub use quantile::{Quantile, QuantileMethod, median, nanquantile, quantile};
pub use scan::{cumprod, cumsum, nancumprod, nancumsum};
pub use sort::sort;
pub use sum::{mean, nanmean, nansum, sum};
pub use topk::{argsort, topk, topk_index};
pub use trace::trace;
pub use unique::unique;
pub use var::{Var, nanstd, nanvar, std, var};
// Inside the crate, a gradient is called `NAME_backward`.
pub(crate) use {
    any::*, average::*, extreme::*, logsumexp::*, nanmedian::*, norm::*, prod::*, quantile::*, scan::*, sort::*,
    sum::*, topk::*, trace::*, var::*,
};

/// The gradients, by the names of their functions.
pub(super) mod grad {
    pub use super::any::any_backward as any;
    pub use super::average::average_backward as average;
    pub use super::extreme::{
        max_backward as max, min_backward as min, nanmax_backward as nanmax, nanmin_backward as nanmin,
    };
    pub use super::logsumexp::logsumexp_backward as logsumexp;
    pub use super::nanmedian::nanmedian_backward as nanmedian;
    pub use super::norm::norm_backward as norm;
    pub use super::prod::{nanprod_backward as nanprod, prod_backward as prod};
    pub use super::quantile::{
        median_backward as median, nanquantile_backward as nanquantile, quantile_backward as quantile,
    };
    pub use super::scan::{
        cumprod_backward as cumprod, cumsum_backward as cumsum, nancumprod_backward as nancumprod,
        nancumsum_backward as nancumsum,
    };
    pub use super::sort::sort_backward as sort;
    pub use super::sum::{
        mean_backward as mean, nanmean_backward as nanmean, nansum_backward as nansum, sum_backward as sum,
    };
    pub use super::topk::topk_backward as topk;
    pub use super::trace::trace_backward as trace;
    pub use super::var::{
        nanstd_backward as nanstd, nanvar_backward as nanvar, std_backward as std, var_backward as var,
    };
}

use self::entries::{Entries, Fill};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::shape::{Shape, unravel};
use crate::element::Element;
use crate::kernels::fold::{Fold, fold_unstored};
use crate::kernels::group::{Unstored, UnstoredByGroup};
use crate::kernels::holistic::{Gradient, Group, GroupGradient, Holistic};
use crate::kernels::op::{FailedGroup, GroupError};
use crate::ops::operand::{ErasedOperand, ErasedResult, Operand};
use crate::pattern::AnyPattern;
use crate::plan::reduction::Reduction;
use crate::tensor::erased::Erased;

/// Computes a fold over some axes.
fn fold<X: Operand, F: Fold<X::Elem>>(x: &X, op: F, axes: &Axes) -> Result<X::Reduced<F::Out>> {
    x.by_kind(|x| fold_entries(&Entries::of(x), op, axes), |x| dense::fold(x, op, axes))
}

/// Computes a fold of the entries of a tensor.
fn fold_entries<T: Element, F: Fold<T>>(x: &Entries<'_, T>, op: F, axes: &Axes) -> Result<Erased<F::Out>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    let (unstored, extents) = (x.unstored(&reduction), x.extents(&reduction)?);
    let of = |extent| fold_unstored(op, &Unstored { extent, ..unstored });
    let fill = Fill::new(op.name(), &reduction, x.max_entries(), extents.as_deref(), &of)?;
    let (pattern, values) = fold_values(x, op, &reduction, &UnstoredByGroup { unstored, extents: extents.as_deref() })?;
    fill.complete(pattern, values, F::Out::ZERO)
}

/// Returns the output elements that hold an entry, and the results of a fold there. The values are stored, or arrive in
/// chunks.
fn fold_values<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    reduction: &Reduction,
    unstored: &UnstoredByGroup<'_, T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    #[cfg(feature = "lazy")]
    if let Some(stream) = x.stream {
        return streamed::fold(x, stream, op, reduction, &unstored.unstored);
    }
    sparse::fold(x, op, reduction, unstored)
}

/// Computes a holistic reduction over some axes.
fn holistic<X: Operand, H: Holistic<X::Elem>>(x: &X, op: H, axes: &Axes) -> Result<X::Reduced<H::Out>> {
    x.by_kind(|x| reduce_entries(&Entries::of(x), op, axes), |x| dense::holistic(x, op, axes))
}

/// Computes a holistic reduction of an erased operand.
fn holistic_erased<T: Element, H: Holistic<T>>(
    x: &ErasedOperand<'_, T>,
    op: H,
    axes: &Axes,
) -> Result<ErasedResult<H::Out>> {
    Ok(match x {
        ErasedOperand::Sparse(x) => reduce_entries(&Entries::of(x), op, axes)?.into(),
        ErasedOperand::Array(x) => dense::holistic(&x.array.view(), op, axes)?.into(),
    })
}

/// Computes a holistic reduction of the entries of a tensor.
fn reduce_entries<T: Element, H: Holistic<T>>(x: &Entries<'_, T>, op: H, axes: &Axes) -> Result<Erased<H::Out>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    if op.numbers_positions() {
        check_countable(op.name(), &reduction)?;
    }
    let (unstored, extents) = (x.unstored(&reduction), x.extents(&reduction)?);
    let unseen = op.of_no_entry().map_err(|fault| rejection(op.name(), fault, &reduction, None))?;
    let of = |extent| match unstored.fill {
        Some(_) => op
            .of(&Group { stored: &[], unstored: Unstored { extent, ..unstored }, position: &|_| 0 }, &mut op.scratch()),
        None => Ok(unseen),
    };
    let fill = Fill::new(op.name(), &reduction, x.max_entries(), extents.as_deref(), &of)?;
    let unstored = UnstoredByGroup { unstored, extents: extents.as_deref() };
    let (pattern, values) = reduce_values(x, op, &reduction, &unstored, unseen)?;
    fill.complete(pattern, values, unseen)
}

/// Returns the output elements that hold an entry, and the results of a holistic reduction there. Values are stored, or
/// arrive in chunks.
fn reduce_values<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    op: H,
    reduction: &Reduction,
    unstored: &UnstoredByGroup<'_, T>,
    unseen: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    #[cfg(feature = "lazy")]
    if let Some(stream) = x.stream {
        return streamed::holistic(x, stream, op, reduction, &unstored.unstored, unseen);
    }
    sparse::holistic(x, op, reduction, unstored, unseen)
}

/// Computes the gradient of a holistic reduction.
fn gradient<X: Operand, U: Operand, H: Gradient<X::Elem, U::Elem>>(
    x: &X,
    op: H,
    upstream: &U,
    axes: &Axes,
) -> Result<X::Reduced<U::Elem>> {
    let upstream = &upstream.erased();
    x.by_kind(|x| sparse::gradient(&Entries::of(x), op, upstream, axes), |x| dense::gradient(x, op, upstream, axes))
}

/// Computes the gradient of a reduction in which each gradient depends on all elements of the group.
fn group_gradient<X: Operand, U: Operand, A: GroupGradient<X::Elem, U::Elem>>(
    x: &X,
    op: A,
    upstream: &U,
    axes: &Axes,
) -> Result<X::Reduced<U::Elem>> {
    let upstream = &upstream.erased();
    x.by_kind(
        |x| sparse::group_gradient(&Entries::of(x), op, upstream, axes),
        |x| dense::group_gradient(x, op, upstream, axes),
    )
}

/// Returns for each element the upstream gradient of its output element.
fn spread<X: Operand, U: Operand>(x: &X, upstream: &U, axes: &Axes) -> Result<X::Reduced<U::Elem>> {
    let upstream = &upstream.erased();
    x.by_kind(|x| sparse::spread(x.sparse().pattern(), upstream, axes), |x| dense::spread(x, upstream, axes))
}

/// Returns the error of an operation without a result in an output element, whose coordinates on the kept axes are
/// `kept`. If coordinates are missing, the error is about the fill.
fn rejection(operation: &'static str, fault: GroupError, reduction: &Reduction, kept: Option<Vec<usize>>) -> Error {
    let coords = kept.map(|kept| reduction.result_axes(kept, || 0));
    match fault {
        GroupError::Uncountable => Error::Uncountable { operation },
        GroupError::Memory(rejection) => rejection.into(),
        GroupError::Empty => match reduction.first_unused_label() {
            Some(label) => Error::Argument { operation, why: format!("no position has label {label}") },
            None => Error::EmptyGroup { operation, axis: reduction.first_empty() },
        },
        GroupError::Overflow(dtype) => Error::Overflow { operation, coords, dtype },
        GroupError::DivisionByZero => Error::DivisionByZero { operation, coords },
    }
}

/// Returns [`rejection`] for a group, from the flat index of its output element within `lengths`.
fn error_at(
    operation: &'static str,
    FailedGroup { fault, group }: FailedGroup,
    reduction: &Reduction,
    lengths: &[usize],
) -> Error {
    let mut kept = vec![0; lengths.len()];
    if !lengths.contains(&0) {
        unravel(group, lengths, &mut kept);
    }
    rejection(operation, fault, reduction, Some(kept))
}

/// Rejects groups with more positions than 64 bits can number, unless the number of groups is zero.
fn check_countable(operation: &'static str, reduction: &Reduction) -> Result<()> {
    let is_countable = reduction.extent() <= u128::from(u64::MAX) || reduction.kept_lengths().contains(&0);
    if is_countable { Ok(()) } else { Err(rejection(operation, GroupError::Uncountable, reduction, None)) }
}

/// Rejects an upstream gradient whose shape differs from the shape of the forward result.
pub(super) fn check_upstream<U: Operand>(upstream: &U, expected: &Shape) -> Result<()> {
    if *upstream.lengths() == **expected {
        return Ok(());
    }
    let (expected, found) = (expected.clone(), Shape::from(upstream.lengths()));
    Err(Error::ShapeMismatch { what: "the upstream gradient", expected, found })
}
