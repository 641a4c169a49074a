//! Reductions of a tensor whose values arrive in chunks.

use super::entries::{Entries, group_error};
use super::error_at;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::saturating_product;
use crate::element::Element;
use crate::kernels::fold::{Fold, unstored_state};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Group, Holistic};
use crate::kernels::op::Op;
use crate::kernels::partial::state_of;
use crate::kernels::scatter_fold::fold_outputs;
use crate::kernels::stream::{States, ValueSource, fold_of_chunks, fold_streamed, reduce_of_chunks};
use crate::ops::operand::ValueStream;
use crate::pattern::AnyPattern;
use crate::plan::group::{ReductionPlan, of_numbers, position_in_group};
use crate::plan::reduction::Reduction;

/// Returns the error of a reduction that does not read chunks. The caller then computes all values, and reduces the
/// computed values.
fn without_chunks<O: Op>(op: O) -> Error {
    Error::Argument { operation: op.name(), why: "its elements are not read in chunks".into() }
}

/// Returns the output elements of a reduction whose entries are consecutive.
fn cells<O: Op>(pattern: &AnyPattern, op: O, reduction: &Reduction) -> Result<ReductionPlan> {
    match reduction.takes_chunks() {
        true => ReductionPlan::new(pattern, reduction),
        false => Err(without_chunks(op)),
    }
}

/// Returns the output elements that hold an entry, and the results of a fold there.
pub(super) fn fold<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    stream: ValueStream<'_, T>,
    op: F,
    reduction: &Reduction,
    unstored: &Unstored<T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    match stream.states {
        None => of_pieces(x, stream.values, op, reduction, unstored),
        Some(States::Ranked(_)) => Err(without_chunks(op)),
        Some(States::Found(found)) => of_states(x, found, op, reduction, unstored),
    }
}

/// Returns the output elements that hold an entry, and the results of a fold there.
fn of_pieces<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    source: &dyn ValueSource<T>,
    op: F,
    reduction: &Reduction,
    unstored: &Unstored<T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    let ReductionPlan { pattern, groups } = match source.is_streamed() {
        true if saturating_product(reduction.kept_lengths()) != 1 => {
            return stream_outputs(x, source, op, reduction, unstored);
        }
        // The only entry represents the only output element, for any kept axes.
        true => ReductionPlan::new(x.pattern, reduction)?,
        false => cells(x.pattern, op, reduction)?,
    };
    let offsets = groups.offsets().ok_or_else(|| without_chunks(op))?;
    let found = match source.is_streamed() {
        true => fold_streamed(op, source, unstored).map(|found| found.map(|found| vec![found])),
        false => fold_of_chunks(op, offsets, source, unstored),
    };
    let found = found.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?;
    Ok((pattern, found.ok_or_else(|| without_chunks(op))?))
}

/// Returns the output elements of values in any order, and the results of a fold there.
fn stream_outputs<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    source: &dyn ValueSource<T>,
    op: F,
    reduction: &Reduction,
    unstored: &Unstored<T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    let lengths = reduction.kept_lengths();
    let found = fold_outputs(op, (reduction.kept(), lengths), source, unstored)
        .map_err(|failure| error_at(op.name(), failure, reduction, lengths))?;
    let (cells, values) = found.ok_or_else(|| without_chunks(op))?;
    Ok((of_numbers(x.pattern, reduction, &cells)?, values))
}

/// Returns the same for groups that were folded elsewhere; the pattern has one entry per group.
fn of_states<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    found: &[(u64, &[u8])],
    op: F,
    reduction: &Reduction,
    unstored: &Unstored<T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    let wrong =
        || Error::Argument { operation: op.name(), why: "the accumulators from other workers are invalid".into() };
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    if groups.len() != found.len() || x.pattern.nnz() != found.len() {
        return Err(wrong());
    }
    let mut values = alloc::with_capacity(found.len())?;
    for (group, &(count, state)) in found.iter().enumerate() {
        let count = usize::try_from(count).map_err(|_| wrong())?;
        let mut all = unstored_state(op, count, unstored);
        op.merge(&mut all, &state_of(op, state).ok_or_else(wrong)?);
        let value = op.finish(&all, unstored.positions(count)).map_err(|fault| fault.of(group));
        values.push(value.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?);
    }
    Ok((pattern, values))
}

/// Returns the output elements that hold an entry, and the results of a holistic reduction there.
pub(super) fn holistic<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    stream: ValueStream<'_, T>,
    op: H,
    reduction: &Reduction,
    unstored: &Unstored<T>,
    unseen: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    match stream.states {
        Some(States::Ranked(found)) => of_ranks(x, found, op, reduction, unseen),
        _ => of_groups(x, stream.values, op, reduction, unstored, unseen),
    }
}

/// Returns the output elements that hold an entry, and the results there, from the keys of the middle values, if any.
fn of_ranks<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    found: &[Option<[u64; 2]>],
    op: H,
    reduction: &Reduction,
    unseen: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    let wrong = || Error::Argument { operation: op.name(), why: "the keys from other workers are invalid".into() };
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    if groups.len() != found.len() || x.pattern.nnz() != found.len() {
        return Err(wrong());
    }
    let (mut values, mut scratch) = (alloc::copies(unseen, found.len())?, op.scratch());
    for (group, (value, keys)) in values.iter_mut().zip(found).enumerate() {
        let middle = keys.iter().flatten().map(|&key| op.of_key(key).ok_or_else(wrong)).collect::<Result<Vec<T>>>()?;
        let found = op.of(&Group::of_slice(&middle), &mut scratch).map_err(|fault| fault.of(group));
        *value = found.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?;
    }
    Ok((pattern, values))
}

/// Returns the output elements that hold an entry, and the results of a holistic reduction there.
fn of_groups<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    source: &dyn ValueSource<T>,
    op: H,
    reduction: &Reduction,
    unstored: &Unstored<T>,
    blank: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    if source.is_streamed() {
        return holistic_streamed(x, source, op, reduction, unstored);
    }
    let ReductionPlan { pattern, groups } = cells(x.pattern, op, reduction)?;
    let offsets = groups.offsets().ok_or_else(|| without_chunks(op))?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let found = reduce_of_chunks(op, offsets, source, unstored, &position, blank);
    let found = found.map_err(|failure| group_error(x.pattern, op.name(), failure, reduction, &groups))?;
    Ok((pattern, found.ok_or_else(|| without_chunks(op))?))
}

/// Returns the only output element, as the one entry of the pattern, and the result of a holistic reduction there.
fn holistic_streamed<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    source: &dyn ValueSource<T>,
    op: H,
    reduction: &Reduction,
    unstored: &Unstored<T>,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    let found = op
        .of_streamed(&|take| source.feed(0..usize::MAX, take), unstored)
        .map_err(|fault| group_error(x.pattern, op.name(), fault.of(0), reduction, &groups))?;
    Ok((pattern, vec![found.ok_or_else(|| without_chunks(op))?]))
}
