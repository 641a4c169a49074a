//! Holistic reductions, which must see all values of a group at once, and gradients that are shared among them.

use std::fmt::Debug;
use std::ops::Range;

use crate::base::alloc;
use crate::base::few::Few;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{ABREAST, Abreast, Element, Known};
use crate::kernels::fed::Pass;
use crate::kernels::fold::share_runs;
use crate::kernels::group::{AllGaps, Gaps, Groups};
use crate::kernels::lanes::results_of;
use crate::kernels::op::{Op, Outcome, Outcomes};
use crate::kernels::ordered::Ordered;

/// The elements of one cell of a reduction.
pub struct Group<'a, T> {
    /// The stored ones, in row-major order.
    pub(crate) stored: &'a [T],
    pub(crate) gaps: Gaps<T>,
    /// The row-major position within the group of a stored element, by its number; of groups of less than
    /// 2<sup>128</sup> positions.
    pub(crate) position: &'a dyn Fn(usize) -> u128,
}

impl<'a, T> Group<'a, T> {
    /// The number of positions that count.
    pub(crate) fn positions(&self) -> u128 {
        if self.gaps.fill.is_some() { self.gaps.extent } else { self.stored.len() as u128 }
    }

    /// The position of a stored element, in a group that is [countable](Holistic::numbers_positions).
    pub(crate) fn place(&self, within: usize) -> u64 {
        (self.position)(within) as u64
    }

    /// A group of which every position is stored.
    pub(crate) fn of_slice(stored: &'a [T]) -> Self {
        Group { stored, gaps: Gaps::none(), position: &|within| within as u128 }
    }
}

/// A reduction of whole groups of values of type `T`.
pub trait Holistic<T: Element>: Op {
    /// The result of a group.
    type Out: Copy + Debug + Send + Sync;
    /// Working memory, kept from group to group.
    type Scratch;

    /// Whether the result depends on where in its group a value stands.
    fn looks_at_positions(&self) -> bool;

    /// Whether it gives or counts positions, so that they must have a number in 64 bits.
    fn numbers_positions(&self) -> bool {
        self.looks_at_positions()
    }

    /// Working memory for the first group.
    fn scratch(&self) -> Self::Scratch;

    /// The result of a group.
    fn of(&self, group: &Group<'_, T>, scratch: &mut Self::Scratch) -> Outcome<Self::Out>;

    /// Whether there is a faster way for runs among values.
    fn has_abreast(&self) -> bool {
        false
    }

    /// The results of runs among values, where the faster way tells them; `position` is that of an entry in its group.
    #[inline(always)]
    fn of_abreast(
        &self,
        _values: &[T],
        _runs: &Abreast,
        _gaps: &Gaps<T>,
        _position: &(dyn Fn(usize) -> u128 + Sync),
        blank: Self::Out,
    ) -> Known<Self::Out> {
        ([blank; ABREAST], [false; ABREAST])
    }

    /// The result of the one group that values are which come in pieces, anew for each pass; none where a value is
    /// missing, or where all are needed at once.
    fn of_poured(&self, _pass: &Pass<'_, T>, _gaps: &Gaps<T>) -> Outcome<Option<Self::Out>> {
        Ok(None)
    }

    /// The order that it ranks by, where the numbers in the middle tell the result; the value of what is not stored.
    fn middles(&self, _gap: Option<T>) -> Option<Box<dyn Ordered>> {
        None
    }

    /// The value that has a key in that order.
    fn of_key(&self, _key: u64) -> Option<T> {
        None
    }

    /// The result of a group of one value.
    fn of_one(&self, value: T, scratch: &mut Self::Scratch) -> Outcome<Self::Out> {
        self.of(&Group::of_slice(&[value]), scratch)
    }

    /// The fill of the result of a stored view: what a group without entries gives.
    fn of_no_entry(&self) -> Outcome<Self::Out> {
        self.of(&Group::of_slice(&[]), &mut self.scratch())
    }
}

/// The gradient of a reduction: what a group finds out decides what each of its elements receives.
pub trait Gradient<T: Element, G: Element>: Holistic<T> {
    /// The gradient of an element, by the finding of its group, its position there and the gradient of the output
    /// element; none if that is zero. The driver ignores the result if the gradient of the output element is zero.
    fn of_element(&self, value: T, found: &Self::Out, within: usize, gradient: G) -> Option<G>;

    /// Writes the gradients of a row of elements over zeros.
    #[inline]
    fn give(&self, values: &[T], received: &mut [G], given: &Given<'_, Self::Out, G>) {
        let items = values.iter().zip(received);
        match *given {
            Given::InGroup { found, gradient, within } => {
                for (at, (&value, received)) in items.enumerate() {
                    if let Some(own) = self.of_element(value, found, within + at, gradient) {
                        *received = own;
                    }
                }
            }
            Given::AcrossGroups { found, gradients, within } => {
                for ((&value, received), (found, &gradient)) in items.zip(found.iter().zip(gradients)) {
                    if let Some(own) = self.of_element(value, found, within, gradient) {
                        *received = own;
                    }
                }
            }
        }
    }
}

/// The inputs of a gradient for a row of elements. Each element has the finding of its group, its position in the group
/// (among the stored elements, if it is stored) and the gradient of the output element.
pub enum Given<'a, O, G> {
    /// All elements are in one group, one after the other from the position `within` on.
    InGroup { found: &'a O, gradient: G, within: usize },
    /// Each element is at the same position of a group of its own.
    AcrossGroups { found: &'a [O], gradients: &'a [G], within: usize },
}

impl<'a, O, G: Copy> Given<'a, O, G> {
    /// The finding, the position and the gradient of an element.
    pub(crate) fn at(&self, at: usize) -> (&'a O, usize, G) {
        match *self {
            Given::InGroup { found, gradient, within } => (found, within + at, gradient),
            Given::AcrossGroups { found, gradients, within } => (&found[at], within, gradients[at]),
        }
    }
}

/// The values of a group that are not side by side, and the working memory of the reduction.
struct Scratch<T, S> {
    group: Vec<T>,
    own: S,
}

/// What reduces one group after the other.
fn reducer<T: Element, H: Holistic<T>>(
    op: H,
    groups: &Groups,
    values: &[T],
    gaps: &AllGaps<'_, T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> impl Fn(&mut Scratch<T, H::Scratch>, usize) -> Outcomes<H::Out> + Sync + Send {
    move |scratch, group| {
        let stored = groups.values(group, values, &mut scratch.group)?;
        let position = |within: usize| position(groups.entry(group, within));
        op.of(&Group { stored, gaps: gaps.of(group), position: &position }, &mut scratch.own)
            .map_err(|fault| fault.of(group))
    }
}

/// The results of all groups; `position` is that of an entry in its group, `blank` any result.
pub(crate) fn reduce_groups<T: Element, H: Holistic<T>>(
    op: H,
    groups: &Groups,
    values: &[T],
    gaps: &AllGaps<'_, T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Vec<H::Out>> {
    let scratch = || Scratch { group: Vec::new(), own: op.scratch() };
    let of_groups = reducer(op, groups, values, gaps, position);
    if let (true, Some(offsets), None) = (op.has_abreast(), groups.offsets(), gaps.extents) {
        return reduce_all_runs(op, offsets, values, &gaps.gaps, position, blank);
    }
    threads::try_map_heavy(groups.len(), values.len(), blank, scratch, of_groups)
}

/// The results of groups that stand side by side, none of which is empty, shared out; `blank` is any result.
pub(crate) fn reduce_all_runs<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Vec<H::Out>> {
    let mut results = alloc::copies(blank, offsets.len() - 1)?;
    let reduce = |offsets: &[usize], results: &mut [H::Out]| reduce_runs(op, offsets, values, gaps, position, results);
    share_runs(offsets, &mut results, &reduce)?;
    Ok(results)
}

/// The results of groups that stand side by side, none of which is empty.
pub(crate) fn reduce_runs<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    results: &mut [H::Out],
) -> Outcomes<()> {
    let Some(&blank) = results.first() else { return Ok(()) };
    let one = |group: usize, entries: Range<usize>| {
        let within = |within: usize| position(entries.start + within);
        let stored = &values[entries.clone()];
        op.of(&Group { stored, gaps: *gaps, position: &within }, &mut op.scratch()).map_err(|fault| fault.of(group))
    };
    in_wide_vectors(
        #[inline(always)]
        || {
            results_of(
                offsets,
                results,
                #[inline(always)]
                |runs| op.of_abreast(values, runs, gaps, position, blank),
                one,
            )
        },
    )
}

/// What every entry receives from `gradients`, one for each group; `position` is that of an entry in its group.
pub(crate) fn share_among_entries<T: Element, G: Element, H: Gradient<T, G>>(
    op: H,
    groups: &Groups,
    values: &[T],
    gaps: &AllGaps<'_, T>,
    gradients: &[G],
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> Outcomes<Vec<G>> {
    let mut received = alloc::zeros(values.len())?;
    if let Some(values_of) = groups.in_order(values) {
        let found = reducer(op, groups, values, gaps, position);
        let scratch = || Scratch { group: Vec::new(), own: op.scratch() };
        give_in_order(groups, &mut received, scratch, |scratch, group, received| {
            let found = found(scratch, group)?;
            if gradients[group].is_truthy() {
                op.give(
                    values_of(group),
                    received,
                    &Given::InGroup { found: &found, gradient: gradients[group], within: 0 },
                );
            }
            Ok(())
        })?;
        return Ok(received);
    }
    let found = reduce_groups(op, groups, values, gaps, position, op.of_no_entry().map_err(|fault| fault.of(0))?)?;
    for (group, (found, gradient)) in found.iter().zip(gradients).enumerate() {
        if !gradient.is_truthy() {
            continue;
        }
        for (within, entry) in groups.entries(group).enumerate() {
            if let Some(own) = op.of_element(values[entry], found, within, *gradient) {
                received[entry] = own;
            }
        }
    }
    Ok(received)
}

/// Calls `give` with the places of the entries of every group, group after group.
fn give_in_order<S, G: Send>(
    groups: &Groups,
    received: &mut [G],
    scratch: impl Fn() -> S + Sync + Send,
    give: impl Fn(&mut S, usize, &mut [G]) -> Outcomes<()> + Sync + Send,
) -> Outcomes<()> {
    let (parts, ends) = parts_of(groups.starts(), received.len());
    let given = threads::map_slices(received, &ends, |part, mut received| {
        let mut scratch = scratch();
        for group in parts[part].clone() {
            let (own, others) = std::mem::take(&mut received).split_at_mut(groups.size(group));
            give(&mut scratch, group, own)?;
            received = others;
        }
        Ok(())
    });
    given.into_iter().collect()
}

/// The groups in parts that pay, and the entries at which these end.
fn parts_of(starts: &[usize], entries: usize) -> (Few<Range<usize>>, Vec<usize>) {
    let group_from = |entry: usize| starts.partition_point(|&start| start < entry);
    let parts = threads::map_parts(entries, 5000, 0, |part| group_from(part.start)..group_from(part.end));
    let ends = parts.iter().map(|part| starts[part.end]).collect();
    (parts, ends)
}

/// A gradient of which what an element receives depends on all others of its group.
pub trait Apart<T: Element, G: Element>: Op {
    /// Writes what the stored elements of a group, of which there is one, receive of its gradient, which is not zero.
    fn give(&self, group: &Group<'_, T>, gradient: G, received: &mut [G]) -> Outcome<()>;
}

/// What every entry receives of `gradients`, one for each group; `position` is that of an entry in its group.
pub(crate) fn give_apart<T: Element, G: Element, A: Apart<T, G>>(
    op: A,
    groups: &Groups,
    values: &[T],
    gaps: &AllGaps<'_, T>,
    gradients: &[G],
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> Outcomes<Vec<G>> {
    let mut received = alloc::zeros(values.len())?;
    give_in_order(groups, &mut received, Vec::new, |gathered, group, received| {
        if !gradients[group].is_truthy() {
            return Ok(());
        }
        let stored = groups.values(group, values, gathered)?;
        let position = |within: usize| position(groups.entry(group, within));
        let group_of = Group { stored, gaps: gaps.of(group), position: &position };
        op.give(&group_of, gradients[group], received).map_err(|fault| fault.of(group))
    })?;
    if groups.offsets().is_some() {
        return Ok(received);
    }
    let mut in_place = alloc::zeros(values.len())?;
    let entries = (0..groups.len()).flat_map(|group| groups.entries(group));
    entries.zip(received).for_each(|(entry, received)| in_place[entry] = received);
    Ok(in_place)
}

/// Makes +0.0 of what elements received of gradients of zero.
pub(crate) fn give_nothing_of_zeros<G: Element>(gradients: &[G], received: &mut [G]) {
    let zeros = received.iter_mut().zip(gradients).filter(|(_, gradient)| !gradient.is_truthy());
    zeros.for_each(|(received, _)| *received = G::ZERO);
}

/// The gradients of elements that are groups of one element each. `read` writes the next elements.
pub(crate) fn share_singly<T: Element, G: Element, H: Gradient<T, G>>(
    op: H,
    read: &mut dyn FnMut(&mut [T]),
    mut gradients: Vec<G>,
) -> Outcomes<Vec<G>> {
    const BLOCK: usize = 256;
    let mut scratch = op.scratch();
    let (mut elements, mut found) = ([T::ZERO; BLOCK], alloc::with_capacity(BLOCK.min(gradients.len()))?);
    for gradients in gradients.chunks_mut(BLOCK) {
        let elements = &mut elements[..gradients.len()];
        read(elements);
        found.clear();
        for &value in elements.iter() {
            found.push(op.of_one(value, &mut scratch).map_err(|fault| fault.of(0))?);
        }
        let mut received = [G::ZERO; BLOCK];
        let received = &mut received[..gradients.len()];
        op.give(elements, received, &Given::AcrossGroups { found: &found, gradients, within: 0 });
        give_nothing_of_zeros(gradients, received);
        gradients.copy_from_slice(received);
    }
    Ok(gradients)
}

/// Writes the next of these values.
pub(crate) fn next_of<T: Copy>(mut values: impl Iterator<Item = T>) -> impl FnMut(&mut [T]) {
    move |elements| elements.iter_mut().zip(&mut values).for_each(|(element, value)| *element = value)
}
