//! Ranking of the elements of a group by value.

use std::cmp::Ordering;

use crate::base::alloc::{self, Allocated};
use crate::element::Real;
use crate::kernels::holistic::Group;

/// Compares values, with NaN after all numbers; zeros of both signs are equal.
pub(crate) fn nan_last<T: Real>(a: T, b: T) -> Ordering {
    match (a.isnan(), b.isnan()) {
        (false, false) => a.order(b),
        (a, b) => a.cmp(&b),
    }
}

/// The direction of ranking; equal elements are ordered by position.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    /// From the smallest on, with NaN after all numbers.
    Ascending,
    /// From the largest down, without NaN.
    Descending,
}

/// A ranked element: the index of a stored element in its group, or [`UNSTORED`] or [`NOTHING`].
pub(crate) type Ranked = usize;
/// An unstored position.
pub(crate) const UNSTORED: Ranked = usize::MAX - 1;
/// A slot without an element: the group has fewer elements than slots.
pub(crate) const NOTHING: Ranked = usize::MAX;

/// Writes the elements at the first ranks of a group, one per slot. If the fill is NaN, unstored positions are ignored.
pub(crate) fn rank<T: Real>(group: &Group<'_, T>, direction: Direction, ranked: &mut [Ranked]) -> Allocated<()> {
    let (stored, count) = (group.stored, ranked.len());
    let compare = |a: T, b: T| if direction == Direction::Ascending { nan_last(a, b) } else { b.order(a) };
    let before = |a: &usize, b: &usize| compare(stored[*a], stored[*b]).then(a.cmp(b));
    let counts = |at: &usize| direction == Direction::Ascending || !stored[*at].isnan();
    let mut order = alloc::with_capacity(stored.len())?;
    order.extend((0..stored.len()).filter(counts));
    // Only the first `count` stored elements can be among the first `count` ranks.
    if count > 0 && order.len() > count {
        order.select_nth_unstable_by(count - 1, before);
        order.truncate(count);
    }
    order.sort_unstable_by(before);
    let mut slots = ranked.iter_mut();
    let mut write = |entry| slots.next().map(|slot| *slot = entry);
    // Sorted order: entries before the fill, then entries equal to it and unstored positions, then the other entries.
    let unstored =
        group.unstored.fill.filter(|fill| !fill.isnan()).map(|fill| (fill, group.unstored.count(stored.len())));
    let (fill, mut unstored) = unstored.unwrap_or((T::ZERO, 0));
    let start = order.partition_point(|&at| compare(stored[at], fill).is_lt());
    let end = order.partition_point(|&at| compare(stored[at], fill).is_le());
    order[..start].iter().try_for_each(|&at| write(at));
    let mut written = 0;
    // Unstored positions and entries equal to the fill are ordered by position.
    for &at in &order[start..end] {
        // `before` is the number of unstored positions before this entry; `written` of them are in the output.
        let before = (group.position)(at) - at as u128;
        while unstored > 0 && written < before && write(UNSTORED).is_some() {
            (unstored, written) = (unstored - 1, written + 1);
        }
        write(at);
    }
    while unstored > 0 && write(UNSTORED).is_some() {
        unstored -= 1;
    }
    order[end..].iter().try_for_each(|&at| write(at));
    // Slots that no element fills are marked.
    while write(NOTHING).is_some() {}
    Ok(())
}
