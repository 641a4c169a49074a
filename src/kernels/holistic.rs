//! Reductions that need all values of a group at once, and gradients of reductions.

use std::fmt::Debug;
use std::ops::Range;

use crate::base::alloc;
use crate::base::few::Few;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Element, INTERLEAVED, Interleaved, RunResults};
use crate::kernels::fold::share_runs;
use crate::kernels::group::{Groups, Unstored, UnstoredByGroup};
use crate::kernels::lanes::results_of;
use crate::kernels::op::{Op, Outcome, Outcomes};
use crate::kernels::ordered::RankSearch;
use crate::kernels::passes::Pass;

/// The elements of one group of a reduction.
pub(crate) struct Group<'a, T> {
    /// The stored elements, in row-major order.
    pub(crate) stored: &'a [T],
    pub(crate) unstored: Unstored<T>,
    /// The flat index within the group of a stored element, from its index in `stored`.
    ///
    /// The group has fewer than 2<sup>128</sup> positions.
    pub(crate) position: &'a dyn Fn(usize) -> u128,
}

impl<'a, T> Group<'a, T> {
    /// Returns the number of positions that count.
    pub(crate) fn positions(&self) -> u128 {
        if self.unstored.fill.is_some() { self.unstored.extent } else { self.stored.len() as u128 }
    }

    /// Returns the flat index of a stored element in a group that is [countable](Holistic::numbers_positions).
    pub(crate) fn place(&self, within: usize) -> u64 {
        // The driver rejects groups whose positions do not fit in 64 bits.
        (self.position)(within) as u64
    }

    /// Returns a group with every position stored.
    pub(crate) fn of_slice(stored: &'a [T]) -> Self {
        Group { stored, unstored: Unstored::none(), position: &|within| within as u128 }
    }
}

/// A reduction of entire groups of values of type `T`.
pub(crate) trait Holistic<T: Element>: Op {
    /// The result of a group.
    type Out: Copy + Debug + Send + Sync;
    /// Working memory, reused from group to group.
    type Scratch;

    /// Returns whether the result depends on the positions of values in the group.
    fn needs_positions(&self) -> bool;

    /// Returns whether the result contains positions or counts of positions. If true, positions must fit in 64 bits.
    fn numbers_positions(&self) -> bool {
        self.needs_positions()
    }

    /// Returns working memory for the first group.
    fn scratch(&self) -> Self::Scratch;

    /// Returns the result of a group.
    fn of(&self, group: &Group<'_, T>, scratch: &mut Self::Scratch) -> Outcome<Self::Out>;

    /// Returns whether a fast path for runs of values exists.
    fn has_interleaved(&self) -> bool {
        false
    }

    /// Returns the results of runs of values. The fast path may leave results unknown. `position` returns the flat
    /// index of an entry in its group.
    #[inline(always)]
    fn of_interleaved(
        &self,
        _values: &[T],
        _runs: &Interleaved,
        _unstored: &Unstored<T>,
        _position: &(dyn Fn(usize) -> u128 + Sync),
        blank: Self::Out,
    ) -> RunResults<Self::Out> {
        ([blank; INTERLEAVED], [false; INTERLEAVED])
    }

    /// Returns the result of the group of all values. The values arrive in chunks, and arrive again for each pass.
    ///
    /// Returns `None` if a value could not be computed, or if the reduction needs all values at the same time.
    fn of_streamed(&self, _pass: &Pass<'_, T>, _unstored: &Unstored<T>) -> Outcome<Option<Self::Out>> {
        Ok(None)
    }

    /// Returns the search for the middle values, if they determine the result. `implicit` is the value of unstored
    /// positions.
    fn middles(&self, _implicit: Option<T>) -> Option<Box<dyn RankSearch>> {
        None
    }

    /// Returns the value of a key in the order of [`middles`](Holistic::middles).
    fn of_key(&self, _key: u64) -> Option<T> {
        None
    }

    /// Returns the result of a group of one value.
    fn of_one(&self, value: T, scratch: &mut Self::Scratch) -> Outcome<Self::Out> {
        self.of(&Group::of_slice(&[value]), scratch)
    }

    /// Returns the fill of the result of a stored view: the result of a group without entries.
    fn of_no_entry(&self) -> Outcome<Self::Out> {
        self.of(&Group::of_slice(&[]), &mut self.scratch())
    }
}

/// The gradient of a reduction. The result for a group (its *finding*) determines the gradients of its elements.
pub(crate) trait Gradient<T: Element, G: Element>: Holistic<T> {
    /// Returns the gradient of an element from the finding of its group, its position and the gradient of the output
    /// element.
    ///
    /// `None` if the gradient of the element is zero. The driver ignores the result if the gradient of the output
    /// element is zero.
    fn of_element(&self, value: T, found: &Self::Out, within: usize, gradient: G) -> Option<G>;

    /// Writes the gradients of a row of elements over zeros.
    #[inline]
    fn write_gradients(&self, values: &[T], received: &mut [G], inputs: &GradientInputs<'_, Self::Out, G>) {
        let items = values.iter().zip(received);
        match *inputs {
            GradientInputs::InGroup { found, gradient, within } => {
                for (at, (&value, received)) in items.enumerate() {
                    // `None` keeps the zero in the slot.
                    if let Some(own) = self.of_element(value, found, within + at, gradient) {
                        *received = own;
                    }
                }
            }
            GradientInputs::AcrossGroups { found, gradients, within } => {
                for ((&value, received), (found, &gradient)) in items.zip(found.iter().zip(gradients)) {
                    if let Some(own) = self.of_element(value, found, within, gradient) {
                        *received = own;
                    }
                }
            }
        }
    }
}

/// The inputs of a gradient for a row of elements.
///
/// Each element has the finding of its group, its position in the group and the gradient of the output element. The
/// position of a stored element counts only stored elements.
pub(crate) enum GradientInputs<'a, O, G> {
    /// All elements are adjacent in one group, from the position `within` on.
    InGroup { found: &'a O, gradient: G, within: usize },
    /// Each element is at the same position of its own group.
    AcrossGroups { found: &'a [O], gradients: &'a [G], within: usize },
}

impl<'a, O, G: Copy> GradientInputs<'a, O, G> {
    /// Returns the finding, the position and the gradient of an element.
    pub(crate) fn at(&self, at: usize) -> (&'a O, usize, G) {
        match *self {
            GradientInputs::InGroup { found, gradient, within } => (found, within + at, gradient),
            GradientInputs::AcrossGroups { found, gradients, within } => (&found[at], within, gradients[at]),
        }
    }
}

/// The gathered values of a group that are not adjacent, and the working memory of the reduction.
struct GroupScratch<T, S> {
    group: Vec<T>,
    own: S,
}

/// Returns a function that reduces one group.
fn reducer<T: Element, H: Holistic<T>>(
    op: H,
    groups: &Groups,
    values: &[T],
    unstored: &UnstoredByGroup<'_, T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> impl Fn(&mut GroupScratch<T, H::Scratch>, usize) -> Outcomes<H::Out> + Sync + Send {
    move |scratch, group| {
        // `values` copies the group to the scratch only if its entries are not adjacent.
        let stored = groups.values(group, values, &mut scratch.group)?;
        let position = |within: usize| position(groups.entry(group, within));
        op.of(&Group { stored, unstored: unstored.of(group), position: &position }, &mut scratch.own)
            .map_err(|fault| fault.of(group))
    }
}

/// Returns the results of all groups. `position` returns the flat index of an entry in its group. `blank` is an
/// arbitrary result that fills the list before the results are written.
pub(crate) fn reduce_groups<T: Element, H: Holistic<T>>(
    op: H,
    groups: &Groups,
    values: &[T],
    unstored: &UnstoredByGroup<'_, T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Vec<H::Out>> {
    let scratch = || GroupScratch { group: Vec::new(), own: op.scratch() };
    let of_groups = reducer(op, groups, values, unstored, position);
    // The fast path needs adjacent groups in stored order, all of one size.
    if let (true, Some(offsets), None) = (op.has_interleaved(), groups.offsets(), unstored.extents) {
        return reduce_all_runs(op, offsets, values, &unstored.unstored, position, blank);
    }
    threads::try_map_heavy(groups.len(), values.len(), blank, scratch, of_groups)
}

/// Returns the results of adjacent nonempty groups, split among threads. `blank` is an arbitrary result that fills the
/// list first.
pub(crate) fn reduce_all_runs<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    unstored: &Unstored<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Vec<H::Out>> {
    let mut results = alloc::copies(blank, offsets.len() - 1)?;
    let reduce =
        |offsets: &[usize], results: &mut [H::Out]| reduce_runs(op, offsets, values, unstored, position, results);
    share_runs(offsets, &mut results, &reduce)?;
    Ok(results)
}

/// Computes the results of adjacent nonempty groups.
pub(crate) fn reduce_runs<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    unstored: &Unstored<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    results: &mut [H::Out],
) -> Outcomes<()> {
    // The first slot serves as `blank`. If there are no slots, there are no groups.
    let Some(&blank) = results.first() else { return Ok(()) };
    // `one` computes only long runs and runs with an unknown result.
    let one = |group: usize, entries: Range<usize>| {
        let within = |within: usize| position(entries.start + within);
        let stored = &values[entries.clone()];
        op.of(&Group { stored, unstored: *unstored, position: &within }, &mut op.scratch())
            .map_err(|fault| fault.of(group))
    };
    in_wide_vectors(
        #[inline(always)]
        || {
            results_of(
                offsets,
                results,
                #[inline(always)]
                |runs| op.of_interleaved(values, runs, unstored, position, blank),
                one,
            )
        },
    )
}

/// Returns the gradients of all entries from `gradients`, one per group. `position` returns the flat index of an entry
/// in its group.
pub(crate) fn share_among_entries<T: Element, G: Element, H: Gradient<T, G>>(
    op: H,
    groups: &Groups,
    values: &[T],
    unstored: &UnstoredByGroup<'_, T>,
    gradients: &[G],
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> Outcomes<Vec<G>> {
    let mut received = alloc::zeros(values.len())?;
    // In stored order the entries of a group are adjacent, so one pass computes the finding and writes the gradients.
    if let Some(values_of) = groups.in_order(values) {
        let found = reducer(op, groups, values, unstored, position);
        let scratch = || GroupScratch { group: Vec::new(), own: op.scratch() };
        gradients_in_order(groups, &mut received, scratch, |scratch, group, received| {
            let found = found(scratch, group)?;
            // A gradient of zero leaves the zeros of `received`.
            if gradients[group].is_truthy() {
                op.write_gradients(
                    values_of(group),
                    received,
                    &GradientInputs::InGroup { found: &found, gradient: gradients[group], within: 0 },
                );
            }
            Ok(())
        })?;
        return Ok(received);
    }
    // In any other order all groups are reduced first, and their gradients are scattered to the entries.
    let found = reduce_groups(op, groups, values, unstored, position, op.of_no_entry().map_err(|fault| fault.of(0))?)?;
    for (group, (found, gradient)) in found.iter().zip(gradients).enumerate() {
        if !gradient.is_truthy() {
            continue;
        }
        // Each entry is in one group, so each slot is written at most once.
        for (within, entry) in groups.entries(group).enumerate() {
            if let Some(own) = op.of_element(values[entry], found, within, *gradient) {
                received[entry] = own;
            }
        }
    }
    Ok(received)
}

/// Calls `write_gradients` with the slots of the entries of each group, group after group.
fn gradients_in_order<S, G: Send>(
    groups: &Groups,
    received: &mut [G],
    scratch: impl Fn() -> S + Sync + Send,
    write_gradients: impl Fn(&mut S, usize, &mut [G]) -> Outcomes<()> + Sync + Send,
) -> Outcomes<()> {
    let (parts, ends) = parts_of(groups.starts(), received.len());
    let inputs = threads::map_slices(received, &ends, |part, mut received| {
        let mut scratch = scratch();
        // Invariant: `received` starts at the slots of `group`.
        for group in parts[part].clone() {
            let (own, others) = std::mem::take(&mut received).split_at_mut(groups.size(group));
            write_gradients(&mut scratch, group, own)?;
            received = others;
        }
        Ok(())
    });
    inputs.into_iter().collect()
}

/// Returns chunks of the groups, each with enough work for a thread, and the entry at which each chunk ends.
fn parts_of(starts: &[usize], entries: usize) -> (Few<Range<usize>>, Vec<usize>) {
    // A part ends at the first group that starts at or after the end of the part, so groups are not split.
    let group_from = |entry: usize| starts.partition_point(|&start| start < entry);
    let parts = threads::map_parts(entries, 5000, 0, |part| group_from(part.start)..group_from(part.end));
    let ends = parts.iter().map(|part| starts[part.end]).collect();
    (parts, ends)
}

/// A gradient in which the elements of a group depend on all other elements of the group.
pub(crate) trait GroupGradient<T: Element, G: Element>: Op {
    /// Writes the gradients of the stored elements of a group. The group has a stored element, and `gradient` is not
    /// zero.
    fn write_gradients(&self, group: &Group<'_, T>, gradient: G, received: &mut [G]) -> Outcome<()>;
}

/// Returns the gradients of all entries from `gradients`, one per group. `position` returns the flat index of an entry
/// in its group.
pub(crate) fn group_gradients<T: Element, G: Element, A: GroupGradient<T, G>>(
    op: A,
    groups: &Groups,
    values: &[T],
    unstored: &UnstoredByGroup<'_, T>,
    gradients: &[G],
    position: &(dyn Fn(usize) -> u128 + Sync),
) -> Outcomes<Vec<G>> {
    let mut received = alloc::zeros(values.len())?;
    gradients_in_order(groups, &mut received, Vec::new, |gathered, group, received| {
        if !gradients[group].is_truthy() {
            return Ok(());
        }
        let stored = groups.values(group, values, gathered)?;
        let position = |within: usize| position(groups.entry(group, within));
        let group_of = Group { stored, unstored: unstored.of(group), position: &position };
        op.write_gradients(&group_of, gradients[group], received).map_err(|fault| fault.of(group))
    })?;
    if groups.offsets().is_some() {
        return Ok(received);
    }
    // `received` is in the order of the groups. Each entry is in one group, so every slot is written once.
    let mut in_place = alloc::zeros(values.len())?;
    let entries = (0..groups.len()).flat_map(|group| groups.entries(group));
    entries.zip(received).for_each(|(entry, received)| in_place[entry] = received);
    Ok(in_place)
}

/// Sets the gradients of elements to +0.0 if the gradient of the output element is zero.
pub(crate) fn clear_zero_gradients<G: Element>(gradients: &[G], received: &mut [G]) {
    let zeros = received.iter_mut().zip(gradients).filter(|(_, gradient)| !gradient.is_truthy());
    zeros.for_each(|(received, _)| *received = G::ZERO);
}

/// Returns the gradients of elements that are groups of one element. `read` writes the next elements.
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
        // `found` has room for a block, so `push` does not allocate.
        found.clear();
        for &value in elements.iter() {
            found.push(op.of_one(value, &mut scratch).map_err(|fault| fault.of(0))?);
        }
        let mut received = [G::ZERO; BLOCK];
        let received = &mut received[..gradients.len()];
        op.write_gradients(elements, received, &GradientInputs::AcrossGroups { found: &found, gradients, within: 0 });
        // `write_gradients` also computes elements whose output element has a gradient of zero. These results are now
        // replaced by zeros.
        clear_zero_gradients(gradients, received);
        gradients.copy_from_slice(received);
    }
    Ok(gradients)
}

/// Returns a function that writes the next values.
pub(crate) fn next_of<T: Copy>(mut values: impl Iterator<Item = T>) -> impl FnMut(&mut [T]) {
    move |elements| elements.iter_mut().zip(&mut values).for_each(|(element, value)| *element = value)
}
