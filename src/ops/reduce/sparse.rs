//! The drivers of reductions of sparse tensors, of either format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::slice;

use super::{check_countable, check_upstream, refused, refused_at};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, capped_product};
use crate::base::shape::saturating_product;
use crate::base::threads;
use crate::element::{Element, without_sign};
use crate::kernels::fold::{Fold, fold_gaps, fold_groups, fold_singly};
use crate::kernels::group::{AllGaps, Gaps, Groups};
use crate::kernels::holistic::{
    Gradient, Group, GroupGradient, Holistic, give_apart, next_of, reduce_groups, share_among_entries, share_singly,
};
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::lanes::spread as spread_lanes;
use crate::kernels::op::{Outcome, Outcomes, Refused};
use crate::kernels::output_bitmap::StoredCells;
use crate::kernels::spread::{spread_looked_up, spread_to_entries};
#[cfg(feature = "lazy")]
use crate::ops::operand::ValueStream;
use crate::ops::operand::{ErasedOperand, SparseOperand};
use crate::pattern::{AnyPattern, by_width, slices};
use crate::plan::group::{
    GroupRule, KeptCoords, ReductionPlan, extents_of, kept_cells, labels_of, of_coords, of_lanes, position_in_group,
    with_labels,
};
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// The input that a reduction reads from a sparse tensor.
pub(crate) struct Entries<'a, T> {
    pub(crate) pattern: &'a AnyPattern,
    pub(crate) values: &'a [T],
    /// The value of all other positions; `None` if unstored positions do not count.
    pub(crate) fill: Option<T>,
    /// The source of the values, if they are not stored; only folds and holistic reductions accept it.
    #[cfg(feature = "lazy")]
    pub(crate) stream: Option<ValueStream<'a, T>>,
}

impl<'a, T: Element> Entries<'a, T> {
    /// Returns the entries of an operand.
    pub(in crate::ops) fn of(x: &'a SparseOperand<'_, T>) -> Self {
        let tensor = x.sparse();
        Entries {
            pattern: tensor.pattern(),
            values: tensor.values(),
            fill: x.gap(),
            #[cfg(feature = "lazy")]
            stream: x.stream,
        }
    }
}

impl<T: Element> Entries<'_, T> {
    fn gaps(&self, reduction: &Reduction) -> Gaps<T> {
        Gaps { fill: self.fill, extent: reduction.extent() }
    }

    /// Returns the maximum number of entries. The pattern does not determine it if values come in any order.
    fn most(&self) -> u128 {
        #[cfg(feature = "lazy")]
        if self.stream.is_some_and(|stream| stream.values.is_poured()) {
            return u128::MAX;
        }
        self.pattern.nnz() as u128
    }

    /// Returns the number of positions of the groups with each label, if it makes a difference.
    fn extents(&self, reduction: &Reduction) -> Allocated<Option<Vec<u128>>> {
        if self.fill.is_some() { reduction.extents() } else { Ok(None) }
    }
}

/// Computes a fold over some axes.
pub(crate) fn fold<T: Element, F: Fold<T>>(x: &Entries<'_, T>, op: F, axes: &Axes) -> Result<Erased<F::Out>> {
    fold_by(x, op, axes, &|reduction, gaps| fold_stored(x, op, reduction, gaps))
}

/// Returns the pattern of the output elements with an entry, and their results.
type FoldStored<'a, T, U> = dyn Fn(&Reduction, &AllGaps<'_, T>) -> Result<(AnyPattern, Vec<U>)> + 'a;

/// The same for a holistic reduction, given the result of a group without entries.
type ReduceStored<'a, T, U> = dyn Fn(&Reduction, &AllGaps<'_, T>, U) -> Result<(AnyPattern, Vec<U>)> + 'a;

/// Computes a fold over some axes; `stored` returns the output elements that hold an entry, and the results there.
pub(super) fn fold_by<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    axes: &Axes,
    stored: &FoldStored<'_, T, F::Out>,
) -> Result<Erased<F::Out>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    let (gaps, extents) = (x.gaps(&reduction), x.extents(&reduction)?);
    let of = |extent| fold_gaps(op, &Gaps { extent, ..gaps });
    let fill = Fill::new(op.name(), &reduction, x.most(), extents.as_deref(), &of)?;
    let (pattern, values) = stored(&reduction, &AllGaps { gaps, extents: extents.as_deref() })?;
    fill.complete(pattern, values, F::Out::ZERO)
}

/// The fill of the result of a reduction, which matters only if an output element holds it.
struct Fill<'a, U> {
    operation: &'static str,
    reduction: &'a Reduction,
    cells: u128,
    result: Outcome<U>,
    /// The number of positions of the groups with each label, if they differ; `of` computes the result of a number of
    /// unstored positions.
    extents: Option<&'a [u128]>,
    of: &'a dyn Fn(u128) -> Outcome<U>,
}

impl<'a, U: Copy + Debug> Fill<'a, U> {
    /// Returns the fill for at most `entries` entries. Rejects at once a missing fill that an output element must hold.
    fn new(
        operation: &'static str,
        reduction: &'a Reduction,
        entries: u128,
        extents: Option<&'a [u128]>,
        of: &'a dyn Fn(u128) -> Outcome<U>,
    ) -> Result<Self> {
        let cells = saturating_product(reduction.kept_lengths());
        match of(reduction.extent()) {
            Err(fault) if extents.is_none() && cells > entries => Err(refused(operation, fault, reduction, None)),
            result => Ok(Fill { operation, reduction, cells, result, extents, of }),
        }
    }

    /// Returns the result, from the output elements that hold an entry. The output elements of unused labels are stored
    /// too, unless unstored positions have the same result for every label.
    fn complete(self, pattern: AnyPattern, values: Vec<U>, unseen: U) -> Result<Erased<U>> {
        let unused = self.unused()?;
        let fill = self.beside(&pattern, unseen)?;
        let Some((labels, nothing)) = unused else { return Ok(Tensor::assemble(pattern, values, fill)) };
        let (pattern, order) = with_labels(&pattern, self.reduction, &labels, size_of::<U>())?;
        let stored = values.len();
        let value = |&cell: &usize| if cell < stored { values[cell] } else { nothing };
        Ok(Tensor::assemble(pattern, alloc::collect(order.iter().map(value))?, fill))
    }

    /// Returns the unused labels and the result there, unless unstored positions have this result for all other labels.
    fn unused(&self) -> Result<Option<(Vec<usize>, U)>> {
        let Some(extents) = self.extents else { return Ok(None) };
        let labels = alloc::collect_some((0..extents.len()).filter(|&label| extents[label] == 0))?;
        if labels.is_empty() || self.cells == 0 {
            return Ok(None);
        }
        let refused = |fault| refused(self.operation, fault, self.reduction, None);
        let nothing = (self.of)(0).map_err(refused)?;
        let is_same = self.of_all(extents).is_some_and(|all| is_same(all, nothing));
        Ok((!is_same).then_some((labels, nothing)))
    }

    /// Returns the fill for the unstored output elements. If no output element holds the fill, it is the value that one
    /// would hold. This gives a chunk of a tensor the fill of the whole tensor. It is `unseen` if there is no such
    /// value.
    fn beside(&self, stored: &AnyPattern, unseen: U) -> Result<U> {
        if let Some(extents) = self.extents {
            return Ok(self.of_labels(extents, stored)?.or_else(|| self.of_all(extents)).unwrap_or(unseen));
        }
        match self.result {
            Err(fault) if self.cells > stored.nnz() as u128 => {
                Err(refused(self.operation, fault, self.reduction, None))
            }
            result => Ok(result.unwrap_or(unseen)),
        }
    }

    /// Returns the value of all unstored output elements, if it is the same for all labels in use.
    fn of_labels(&self, extents: &[u128], stored: &AnyPattern) -> Result<Option<U>> {
        let mut first: Option<(usize, U)> = None;
        for label in labels_with_gaps(self.reduction, extents, stored)? {
            let refused = |fault| refused(self.operation, fault, self.reduction, None);
            let found = (self.of)(extents[label]).map_err(refused)?;
            let (at, expected) = *first.get_or_insert((label, found));
            if !is_same(expected, found) {
                let [expected, found] = [expected, found].map(|fill| format!("{fill:?}"));
                let [first, at] = [at, label].map(|label| place_of(self.reduction, label));
                return Err(Error::FillVaries { operation: self.operation, expected, first, found, at });
            }
        }
        Ok(first.map(|(_, found)| found))
    }

    /// Returns the result of unstored positions, if it is the same for each number of them.
    fn of_all(&self, extents: &[u128]) -> Option<U> {
        let extents: BTreeSet<_> = extents.iter().filter(|&&extent| extent > 0).collect();
        let mut results = extents.into_iter().map(|&extent| (self.of)(extent).ok());
        let first = results.next()??;
        results.all(|found| found.is_some_and(|found| is_same(found, first))).then_some(first)
    }
}

/// Returns whether two results are one value. The debug strings distinguish signs of zero, but not NaNs.
fn is_same<U: Debug>(a: U, b: U) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// Returns the first label for each number of positions, among labels in use with an unstored output element.
fn labels_with_gaps(reduction: &Reduction, extents: &[u128], stored: &AnyPattern) -> Allocated<Vec<usize>> {
    let place = reduction.place_of_labels().unwrap_or(0);
    let others = reduction.kept_lengths().iter().enumerate().filter(|(at, _)| *at != place);
    let cells = saturating_product(others.map(|(_, length)| length));
    let mut counts: Vec<usize> = alloc::zeros(extents.len())?;
    by_width!(&labels_of(stored, reduction)?, labels => {
        labels.iter().for_each(|label| counts[label.to_usize()] += 1);
    });
    let mut labels = BTreeMap::new();
    for label in (0..extents.len()).filter(|&label| extents[label] > 0 && cells > counts[label] as u128) {
        labels.entry(extents[label]).or_insert(label);
    }
    let mut labels: Vec<usize> = labels.into_values().collect();
    labels.sort_unstable();
    Ok(labels)
}

/// Returns the output elements with a label as a string.
fn place_of(reduction: &Reduction, label: usize) -> String {
    let place = reduction.place_of_labels();
    let word = |at| if Some(at) == place { label.to_string() } else { "..".into() };
    let words = (0..reduction.kept().len()).map(word);
    format!("[{}]", reduction.result_axes(words, || "0".into()).join(", "))
}

/// Returns the output elements that hold an entry, and the results there.
fn fold_stored<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    reduction: &Reduction,
    gaps: &AllGaps<'_, T>,
) -> Result<(AnyPattern, Vec<F::Out>)> {
    if reduction.is_elementwise() {
        let values =
            fold_singly(op, x.values).map_err(|refusal| refused_entry(x.pattern, op.name(), refusal, reduction))?;
        return Ok((x.pattern.clone(), values));
    }
    let kept;
    let meeting = if x.pattern.memo().is_some() {
        kept = KeptCoords::of(x.pattern, reduction)?;
        kept.meeting(x.pattern, reduction)?
    } else {
        GroupRule::new(x.pattern, reduction)?
    };
    if let Some((pattern, values)) = fold_faster(x, op, reduction, gaps, &meeting)? {
        return Ok((kept_cells(x.pattern, reduction, pattern)?, values));
    }
    let ReductionPlan { pattern, groups } = match x.pattern.memo() {
        Some(_) => ReductionPlan::new(x.pattern, reduction)?,
        None => ReductionPlan::of(x.pattern, reduction, meeting)?,
    };
    let extents = each_extent(&pattern, reduction, gaps.extents)?;
    let values = fold_groups(op, &groups, x.values, &AllGaps { extents: extents.as_deref(), ..*gaps });
    Ok((pattern, values.map_err(|refusal| refused_group(x.pattern, op.name(), refusal, reduction, &groups))?))
}

/// Returns the number of positions of each output element, from the number for each label.
fn each_extent(cells: &AnyPattern, reduction: &Reduction, extents: Option<&[u128]>) -> Allocated<Option<Vec<u128>>> {
    extents.map(|extents| extents_of(cells, reduction, extents)).transpose()
}

/// Returns the error of a group of entries without a result.
pub(super) fn refused_group(
    pattern: &AnyPattern,
    operation: &'static str,
    refusal: Refused,
    reduction: &Reduction,
    groups: &Groups,
) -> Error {
    let entry = if refusal.group < groups.len() { groups.entry(refusal.group, 0) } else { 0 };
    refused_entry(pattern, operation, Refused { group: entry, ..refusal }, reduction)
}

/// Returns the error of the output element that an entry belongs to, which does not have a result.
fn refused_entry(
    pattern: &AnyPattern,
    operation: &'static str,
    Refused { fault, group: entry }: Refused,
    reduction: &Reduction,
) -> Error {
    let kept = reduction.kept().iter().map(|&axis| reduction.kept_coord(axis, pattern.coord(entry, axis)));
    refused(operation, fault, reduction, (entry < pattern.nnz()).then(|| kept.collect()))
}

/// Computes the same as [`fold_stored`], for a fold with a faster method than groups.
fn fold_faster<T: Element, F: Fold<T>>(
    x: &Entries<'_, T>,
    op: F,
    reduction: &Reduction,
    &AllGaps { ref gaps, extents }: &AllGaps<'_, T>,
    meeting: &GroupRule<'_>,
) -> Result<Option<(AnyPattern, Vec<F::Out>)>> {
    let coords = match meeting {
        GroupRule::Lanes(offsets) => {
            let reduce = |first: usize, offsets: &[usize], results: &mut [F::Out]| {
                op.lanes(offsets, x.values, gaps, results).map_err(|refusal| {
                    let refusal = Refused { group: first + refusal.group, ..refusal };
                    refused_at(op.name(), refusal, reduction, reduction.kept_lengths())
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
    let Some(StoredCells { coords, results }) = op.by_coords(&kept, x.values, gaps)? else { return Ok(None) };
    Ok(Some((of_coords(x.pattern, reduction, coords, results.len())?, results)))
}

/// Computes a holistic reduction over some axes.
pub(crate) fn holistic<T: Element, H: Holistic<T>>(x: &Entries<'_, T>, op: H, axes: &Axes) -> Result<Erased<H::Out>> {
    holistic_by(x, op, axes, &|reduction, gaps, unseen| holistic_stored(x, op, reduction, gaps, unseen))
}

/// Computes a holistic reduction over some axes; `stored` returns the output elements that hold an entry, and the
/// results there.
pub(super) fn holistic_by<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    op: H,
    axes: &Axes,
    stored: &ReduceStored<'_, T, H::Out>,
) -> Result<Erased<H::Out>> {
    let reduction = Reduction::new(x.pattern.shape(), axes)?;
    if op.numbers_positions() {
        check_countable(op.name(), &reduction)?;
    }
    let (gaps, extents) = (x.gaps(&reduction), x.extents(&reduction)?);
    let unseen = op.of_no_entry().map_err(|fault| refused(op.name(), fault, &reduction, None))?;
    let of = |extent| match gaps.fill {
        Some(_) => op.of(&Group { stored: &[], gaps: Gaps { extent, ..gaps }, position: &|_| 0 }, &mut op.scratch()),
        None => Ok(unseen),
    };
    let fill = Fill::new(op.name(), &reduction, x.most(), extents.as_deref(), &of)?;
    let (pattern, values) = stored(&reduction, &AllGaps { gaps, extents: extents.as_deref() }, unseen)?;
    fill.complete(pattern, values, unseen)
}

/// Returns the output elements that hold an entry, and the results there.
fn holistic_stored<T: Element, H: Holistic<T>>(
    x: &Entries<'_, T>,
    op: H,
    reduction: &Reduction,
    gaps: &AllGaps<'_, T>,
    unseen: H::Out,
) -> Result<(AnyPattern, Vec<H::Out>)> {
    if reduction.is_elementwise() {
        let of_one = |scratch: &mut H::Scratch, entry: usize| {
            op.of_one(x.values[entry], scratch).map_err(|fault| fault.of(entry))
        };
        let values = threads::try_map_heavy(x.values.len(), x.values.len(), unseen, || op.scratch(), of_one);
        return Ok((
            x.pattern.clone(),
            values.map_err(|refusal| refused_entry(x.pattern, op.name(), refusal, reduction))?,
        ));
    }
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let extents = each_extent(&pattern, reduction, gaps.extents)?;
    let gaps = AllGaps { extents: extents.as_deref(), ..*gaps };
    let values = reduce_groups(op, &groups, x.values, &gaps, &position, unseen);
    Ok((pattern, values.map_err(|refusal| refused_group(x.pattern, op.name(), refusal, reduction, &groups))?))
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
            .map_err(|refusal| refused_entry(x.pattern, op.name(), refusal, &reduction))?
    } else {
        by_groups(x, op.name(), upstream, &reduction, &|groups, gaps, gradients, position| {
            share_among_entries(op, groups, x.values, gaps, gradients, position)
        })?
    };
    Ok(Tensor::from_valid(x.pattern.clone(), values, G::ZERO))
}

/// A function that computes the gradients of the entries. Its arguments are the groups, their unstored positions, their
/// gradients, and a function for the position of an entry in its group.
type Give<'a, T, G> = dyn Fn(&Groups, &AllGaps<'_, T>, &[G], &(dyn Fn(usize) -> u128 + Sync)) -> Outcomes<Vec<G>> + 'a;

/// Computes the gradients of the entries by `give`, from the gradients of the groups.
fn by_groups<T: Element, G: Element>(
    x: &Entries<'_, T>,
    operation: &'static str,
    upstream: &ErasedOperand<'_, G>,
    reduction: &Reduction,
    give: &Give<'_, T, G>,
) -> Result<Vec<G>> {
    let ReductionPlan { pattern, groups } = ReductionPlan::new(x.pattern, reduction)?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let extents = each_extent(&pattern, reduction, x.extents(reduction)?.as_deref())?;
    let gaps = AllGaps { gaps: x.gaps(reduction), extents: extents.as_deref() };
    let gradients = upstream.at_entries(&pattern)?;
    give(&groups, &gaps, &gradients, &position)
        .map_err(|refusal| refused_group(x.pattern, operation, refusal, reduction, &groups))
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
                true => op.give(&Group::of_slice(&[value]), *received, slice::from_mut(received)),
                false => {
                    *received = G::ZERO;
                    Ok(())
                }
            })
            .map_err(|fault| refused(op.name(), fault, &reduction, None))?;
        received
    } else {
        by_groups(x, op.name(), upstream, &reduction, &|groups, gaps, gradients, position| {
            give_apart(op, groups, x.values, gaps, gradients, position)
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
            let meeting = GroupRule::new(pattern, &reduction)?;
            match spread_by_lookup(pattern, upstream, &reduction, &meeting, of)? {
                Some(values) => values,
                None => of_cells(ReductionPlan::of(pattern, &reduction, meeting)?)?,
            }
        }
    })
}

/// Computes [`spread`] by lookups if there are few output elements; this avoids grouping the entries.
fn spread_by_lookup<G: Element>(
    pattern: &AnyPattern,
    upstream: &ErasedOperand<'_, G>,
    reduction: &Reduction,
    meeting: &GroupRule<'_>,
    of: fn(G) -> G,
) -> Allocated<Option<Vec<G>>> {
    let questions = if let GroupRule::Lanes(offsets) = meeting { offsets.len() } else { pattern.nnz() };
    let Some(lookup) = upstream.lookup(questions)? else { return Ok(None) };
    match meeting {
        GroupRule::Lanes(offsets) => spread_lanes(offsets, 1, |lane| of(lookup.get(lane))),
        GroupRule::Coords(coords) => {
            spread_looked_up(&lookup, &slices(coords), reduction.kept_lengths(), pattern.nnz(), of)
        }
    }
    .map(Some)
}
