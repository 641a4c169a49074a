//! The elements of a group in the order of their values.

use std::cmp::Ordering;

use crate::base::alloc::{self, Allocated};
use crate::element::Real;
use crate::kernels::holistic::Group;

/// The order of values with NaN behind all others; zeros of both signs are equal.
pub(crate) fn nan_last<T: Real>(a: T, b: T) -> Ordering {
    match (a.isnan(), b.isnan()) {
        (false, false) => a.order(b),
        (a, b) => a.cmp(&b),
    }
}

/// In which order elements are ranked; of equal ones the first position comes first.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    /// From the least on, with NaN behind all others.
    Ascending,
    /// From the greatest down, without the NaNs.
    Descending,
}

/// What has a rank: the number of a stored element of its group, or one of these.
pub(crate) type Ranked = usize;
/// A position that is not stored.
pub(crate) const GAP: Ranked = usize::MAX - 1;
/// Nothing: there are fewer elements.
pub(crate) const NOTHING: Ranked = usize::MAX;

/// Writes what has the first ranks of a group, as many as there are slots. Gaps are numbers, or do not count.
pub(crate) fn rank<T: Real>(group: &Group<'_, T>, direction: Direction, ranked: &mut [Ranked]) -> Allocated<()> {
    let (stored, count) = (group.stored, ranked.len());
    let compare = |a: T, b: T| if direction == Direction::Ascending { nan_last(a, b) } else { b.order(a) };
    let before = |a: &usize, b: &usize| compare(stored[*a], stored[*b]).then(a.cmp(b));
    let counts = |at: &usize| direction == Direction::Ascending || !stored[*at].isnan();
    let mut order = alloc::with_capacity(stored.len())?;
    order.extend((0..stored.len()).filter(counts));
    if count > 0 && order.len() > count {
        order.select_nth_unstable_by(count - 1, before);
        order.truncate(count);
    }
    order.sort_unstable_by(before);
    let mut slots = ranked.iter_mut();
    let mut write = |entry| slots.next().map(|slot| *slot = entry);
    let gaps = group.gaps.fill.filter(|fill| !fill.isnan()).map(|fill| (fill, group.gaps.count(stored.len())));
    let (fill, mut gaps) = gaps.unwrap_or((T::ZERO, 0));
    let start = order.partition_point(|&at| compare(stored[at], fill).is_lt());
    let end = order.partition_point(|&at| compare(stored[at], fill).is_le());
    order[..start].iter().try_for_each(|&at| write(at));
    let mut written = 0;
    // Gaps and entries that are equal to them stand in the order of their positions.
    for &at in &order[start..end] {
        let before = (group.position)(at) - at as u128;
        while gaps > 0 && written < before && write(GAP).is_some() {
            (gaps, written) = (gaps - 1, written + 1);
        }
        write(at);
    }
    while gaps > 0 && write(GAP).is_some() {
        gaps -= 1;
    }
    order[end..].iter().try_for_each(|&at| write(at));
    while write(NOTHING).is_some() {}
    Ok(())
}
