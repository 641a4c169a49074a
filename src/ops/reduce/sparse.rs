//! The drivers of reductions of sparse tensors, of either format.

use std::slice;

use super::entries::{Entries, each_extent, entry_error, group_error};
use super::{check_countable, check_upstream, error_at, rejection};
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::capped_product;
use crate::base::threads;
use crate::element::{Element, without_sign};
use crate::kernels::fold::{Fold, fold_groups, fold_singly};
use crate::kernels::group::{Groups, UnstoredByGroup};
use crate::kernels::holistic::{
    Gradient, Group, GroupGradient, Holistic, group_gradients, next_of, reduce_groups, share_among_entries,
    share_singly,
};
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::lanes::spread as spread_lanes;
use crate::kernels::op::{FailedGroup, Outcomes};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::spread::{spread_looked_up, spread_to_entries};
use crate::ops::operand::ErasedOperand;
use crate::pattern::{AnyPattern, slices};
use crate::plan::group::{GroupRule, KeptCoords, ReductionPlan, kept_outputs, of_coords, of_lanes, position_in_group};
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// Returns the output elements that hold an entry, and the results there.
pub(super) fn fold<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    reduction: &Reduction,
    unstored: &UnstoredByGroup<'_, T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    if reduction.is_elementwise() {
        let values =
            fold_singly(op, x.values).map_err(|failure| entry_error(x.pattern, op.name(), failure, reduction))?;
        return Ok((x.pattern.clone(), values));
    }
    let kept;
    let group_rule = if x.pattern.memo().is_some() {
        kept = KeptCoords::of(x.pattern, reduction)?;
        kept.group_rule(x.pattern, reduction)?
    } else {
        GroupRule::new(x.pattern, reduction)?
    };
    if let Some((pattern, values)) = fold_faster(x, op, reduction, unstored, &group_rule)? {
        return Ok((kept_outputs(x.pattern, reduction, pattern)?, values));
    }
    let ReductionPlan { pattern, groups } = match x.pattern.memo() {
        Some(_) => ReductionPlan::new(x.pattern, reduction)?,
        None => ReductionPlan::of(x.pattern, reduction, group_rule)?,
    };
    let extents = each_extent(&pattern, reduction, unstored.extents)?;
    let values = fold_groups(op, &groups, x.values, &UnstoredByGroup { extents: extents.as_deref(), ..*unstored });
    Ok((pattern, values.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?))
}

/// Computes the same as [`fold`], for a fold with a faster method than groups.
fn fold_faster<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    reduction: &Reduction,
    &UnstoredByGroup { ref unstored, extents }: &UnstoredByGroup<'_, T>,
    group_rule: &GroupRule<'_>,
) -> Result<Option<(AnyPattern, Vec<F::Out>)>> {
    let coords = match group_rule {
        GroupRule::Lanes(offsets) => {
            let reduce = |first: usize, offsets: &[usize], results: &mut [F::Out]| {
                op.lanes(offsets, x.values, unstored, results).map_err(|failure| {
                    let failure = FailedGroup { group: first + failure.group, ..failure };
                    error_at(op.name(), failure, reduction, reduction.kept_lengths())
                })
            };
            return of_lanes(x.pattern, offsets, reduction, &reduce).map(Some);
        }
        GroupRule::Coords(coords) if coords.is_empty() => return Ok(None),
        GroupRule::Coords(coords) => slices(coords),
    };
    let (lengths, lead, in_runs) = (reduction.kept_lengths(), reduction.keeps_leading(), reduction.reduces_last());
    let inner = || reduction.place_of_labels().map_or(1, |place| capped_product(&lengths[place + 1..]));
    let extents = extents.map(|extents| (extents, inner()));
    let kept = KeptAxes { coords, lengths, lead, in_runs, extents };
    let Some(StoredOutputs { coords, results }) = op.by_coords(&kept, x.values, unstored)? else { return Ok(None) };
    Ok(Some((of_coords(x.pattern, reduction, coords, results.len())?, results)))
}

/// Returns the output elements that hold an entry, and the results there.
pub(super) fn holistic<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    op: H,
    reduction: &Reduction,
    unstored: &UnstoredByGroup<'_, T>,
    unseen: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    if reduction.is_elementwise() {
        let of_one = |scratch: &mut H::Scratch, entry: usize| {
            op.of_one(x.values[entry], scratch).map_err(|fault| fault.of(entry))
        };
        let values = threads::try_map_heavy(x.values.len(), x.values.len(), unseen, || op.scratch(), of_one);
        return Ok((
            x.pattern.clone(),
            values.map_err(|failure| entry_error(x.pattern, op.name(), failure, reduction))?,
        ));
    }
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let extents = each_extent(&pattern, reduction, unstored.extents)?;
    let unstored = UnstoredByGroup { extents: extents.as_deref(), ..*unstored };
    let values = reduce_groups(op, &groups, x.values, &unstored, &position, unseen);
    Ok((pattern, values.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?))
}

/// Computes the gradient of a holistic reduction.
pub(crate) fn gradient<T: Element, G: Element, H: Gradient<T, G>>(
    x: &Entries<'_, T>,
    op: H,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<Erased<G>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    if op.numbers_positions() {
        check_countable(op.name(), &reduction)?;
    }
    check_upstream(upstream, &reduction.result_shape())?;
    let values = if reduction.is_elementwise() {
        share_singly(op, &mut next_of(x.values.iter().copied()), upstream.at_entries(x.pattern)?)
            .map_err(|failure| entry_error(x.pattern, op.name(), failure, &reduction))?
    } else {
        by_groups(x, op.name(), upstream, &reduction, &|groups, unstored, gradients, position| {
            share_among_entries(op, groups, x.values, unstored, gradients, position)
        })?
    };
    Ok(Tensor::from_valid(x.pattern.clone(), values, G::ZERO))
}

/// A function that computes the gradients of the entries. Its arguments are the groups, their unstored positions, their
/// gradients, and a function for the position of an entry in its group.
type GradientsFn<'a, T, G> =
    dyn Fn(&Groups, &UnstoredByGroup<'_, T>, &[G], &(dyn Fn(usize) -> u128 + Sync)) -> Outcomes<Vec<G>> + 'a;

/// Computes the gradients of the entries by `write_gradients`, from the gradients of the groups.
fn by_groups<T: Element, G: Element>(
    x: &Entries<'_, T>,
    operation: &'static str,
    upstream: &ErasedOperand<'_, G>,
    reduction: &Reduction,
    write_gradients: &GradientsFn<'_, T, G>,
) -> Result<Vec<G>> {
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let extents = each_extent(&pattern, reduction, x.extents(reduction)?.as_deref())?;
    let unstored = UnstoredByGroup { unstored: x.unstored(reduction), extents: extents.as_deref() };
    let gradients = upstream.at_entries(&pattern)?;
    write_gradients(&groups, &unstored, &gradients, &position)
        .map_err(|failure| group_error(x.pattern, operation, failure, reduction, &groups))
}

/// Computes the gradient of a reduction in which each gradient depends on all elements of the group.
pub(crate) fn group_gradient<T: Element, G: Element, A: GroupGradient<T, G>>(
    x: &Entries<'_, T>,
    op: A,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<Erased<G>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    check_upstream(upstream, &reduction.result_shape())?;
    let values = if reduction.is_elementwise() {
        let mut received = upstream.at_entries(x.pattern)?;
        let mut singly = x.values.iter().zip(&mut received);
        singly
            .try_for_each(|(&value, received)| match received.is_truthy() {
                true => op.write_gradients(&Group::of_slice(&[value]), *received, slice::from_mut(received)),
                false => {
                    *received = G::ZERO;
                    Ok(())
                }
            })
            .map_err(|fault| rejection(op.name(), fault, &reduction, None))?;
        received
    } else {
        by_groups(x, op.name(), upstream, &reduction, &|groups, unstored, gradients, position| {
            group_gradients(op, groups, x.values, unstored, gradients, position)
        })?
    };
    Ok(Tensor::from_valid(x.pattern.clone(), values, G::ZERO))
}

/// Returns for each entry the upstream gradient of its output element, unchanged except for the sign of zero.
pub(crate) fn spread<G: Element>(
    pattern: &AnyPattern,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<Erased<G>> {
    let values = at_entries_of(pattern, upstream, axes, without_sign)?;
    Ok(Tensor::from_valid(pattern.clone(), values, G::ZERO))
}

/// Applies `of` to the upstream element that each entry belongs to.
pub(crate) fn at_entries_of<G: Element>(
    pattern: &AnyPattern,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
    of: fn(G) -> G,
) -> Result<Vec<G>> {
    let reduction = Reduction::new(pattern.shape(), axes)?;
    check_upstream(upstream, &reduction.result_shape())?;
    let each = |elements: Vec<G>| threads::map(&elements, 300, of);
    Ok(if reduction.is_elementwise() {
        each(upstream.at_entries(pattern)?)?
    } else {
        let of_cells = |cells: ReductionPlan| -> Result<_> {
            let gradients = each(upstream.at_entries(&cells.pattern)?)?;
            Ok(spread_to_entries(&cells.groups, &gradients, pattern.nnz())?)
        };
        if pattern.memo().is_some() {
            of_cells(ReductionPlan::new(pattern, &reduction)?)?
        } else {
            let group_rule = GroupRule::new(pattern, &reduction)?;
            match spread_by_lookup(pattern, upstream, &reduction, &group_rule, of)? {
                Some(values) => values,
                None => of_cells(ReductionPlan::of(pattern, &reduction, group_rule)?)?,
            }
        }
    })
}

/// Computes [`spread`] by lookups if there are few output elements; this avoids grouping the entries.
fn spread_by_lookup<G: Element>(
    pattern: &AnyPattern,
    upstream: &ErasedOperand<'_, G>,
    reduction: &Reduction,
    group_rule: &GroupRule<'_>,
    of: fn(G) -> G,
) -> Allocated<Option<Vec<G>>> {
    let questions = if let GroupRule::Lanes(offsets) = group_rule { offsets.len() } else { pattern.nnz() };
    let Some(lookup) = upstream.lookup(questions)? else { return Ok(None) };
    match group_rule {
        GroupRule::Lanes(offsets) => spread_lanes(offsets, 1, |lane| of(lookup.get(lane))),
        GroupRule::Coords(coords) => {
            spread_looked_up(&lookup, &slices(coords), reduction.kept_lengths(), pattern.nnz(), of)
        }
    }
    .map(Some)
}
