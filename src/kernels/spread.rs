//! Gradients passed unchanged to the entries of their output elements.

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::{Element, without_sign};
use crate::kernels::coords::CoordSlices;
use crate::kernels::group::Groups;
use crate::kernels::lookup::Lookup;

/// Returns the gradients with the sign of zeros removed.
pub(crate) fn without_signs<G: Element>(mut gradients: Vec<G>) -> Vec<G> {
    let ends = threads::map_parts(gradients.len(), 300, 0, |part| part.end);
    threads::map_slices(&mut gradients, &ends, |_, part| part.iter_mut().for_each(|g| *g = without_sign(*g)));
    gradients
}

/// The number of entries whose output elements are computed together.
const BLOCK: usize = 512;

/// Returns, for each of `count` entries, the gradient of its group.
pub(crate) fn spread_to_entries<G: Element>(groups: &Groups, gradients: &[G], count: usize) -> Allocated<Vec<G>> {
    let mut spread = alloc::zeros(count)?;
    for (group, &gradient) in gradients.iter().enumerate() {
        // Every entry belongs to exactly one group, so no slot is written twice.
        groups.entries(group).for_each(|entry| spread[entry] = gradient);
    }
    Ok(spread)
}

/// Returns, for each of `count` entries, `of` applied to the gradient of its output element.
///
/// Output elements have row-major indices within `lengths`.
pub(crate) fn spread_looked_up<G: Element>(
    lookup: &Lookup<'_, G>,
    coords: &CoordSlices<'_>,
    lengths: &[usize],
    count: usize,
    of: fn(G) -> G,
) -> Allocated<Vec<G>> {
    threads::filled(count, 2000, |range, slots| {
        let mut numbers = [0; BLOCK];
        // Both iterators advance by `BLOCK`, so `start` is the entry of the first slot.
        for (slots, start) in slots.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
            let numbers = &mut numbers[..slots.len()];
            coords.number(lengths, start, numbers);
            slots.iter_mut().zip(numbers).for_each(|(slot, cell)| *slot = of(lookup.get(*cell)));
        }
    })
}
