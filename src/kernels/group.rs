//! Stored entries grouped by output element: the start of every reduction.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::kernels::sort;

/// Groups of entries, one per output element with a stored entry, in row-major order.
///
/// Within a group the entries keep their row-major order, which is the order of their positions in the group.
pub(crate) struct Groups {
    /// The entries, group after group. `None` if this is their stored order.
    order: Option<Vec<usize>>,
    /// The start of each group in that order, and the end of the last group.
    starts: Vec<usize>,
}

impl Groups {
    /// Returns one group of all `count` entries; no group if `count` is 0.
    pub(crate) fn of_all(count: usize) -> Self {
        let starts = if count == 0 { vec![0] } else { vec![0, count] };
        Groups { order: None, starts }
    }

    /// Returns one group per nonempty run of the offsets.
    pub(crate) fn of_offsets(offsets: Cow<'_, [usize]>) -> Allocated<Self> {
        let mut starts = alloc::owned(offsets)?;
        // An empty run has equal offsets, so `dedup` removes its start. The end of all entries stays.
        starts.dedup();
        Ok(Groups { order: None, starts })
    }

    /// Returns groups of the entries with equal coordinates on the kept axes.
    ///
    /// If the kept axes are the first axes, the entries are already in order. Otherwise the entries are sorted.
    pub(crate) fn of_coords<I: Index, A: AsRef<[I]> + Sync>(kept: &[A], count: usize) -> Allocated<Self> {
        // The sort is stable in row-major order, so entries of a group keep their order.
        let sort::SortedRuns { order, starts } = sort::row_major_runs(kept, count)?;
        Ok(Groups { order, starts })
    }

    /// Returns the number of groups.
    pub(crate) fn len(&self) -> usize {
        // `starts` has at least one item, so the difference does not wrap.
        self.starts.len() - 1
    }

    /// Returns the number of entries of a group.
    pub(crate) fn size(&self, group: usize) -> usize {
        self.range(group).len()
    }

    /// Returns the entries of a group, in row-major order.
    pub(crate) fn entries(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        self.range(group).map(|rank| self.entry_at(rank))
    }

    /// Returns the entry with index `within` in a group.
    pub(crate) fn entry(&self, group: usize, within: usize) -> usize {
        self.entry_at(self.starts[group] + within)
    }

    /// Returns the values of a group as one slice: a part of `values`, or gathered in `scratch`.
    pub(crate) fn values<'a, T: Copy>(
        &self,
        group: usize,
        values: &'a [T],
        scratch: &'a mut Vec<T>,
    ) -> Allocated<&'a [T]> {
        let range = self.range(group);
        let Some(order) = &self.order else {
            return Ok(&values[range]);
        };
        // The capacity of `scratch` is reused from group to group.
        scratch.clear();
        alloc::reserve(scratch, range.len())?;
        scratch.extend(order[range].iter().map(|&entry| values[entry]));
        Ok(scratch)
    }

    /// Returns all values, group after group.
    pub(crate) fn side_by_side<'a, T: Copy + Zeroable + Send + Sync>(
        &self,
        values: &'a [T],
    ) -> Allocated<Cow<'a, [T]>> {
        Ok(match &self.order {
            None => Cow::Borrowed(values),
            Some(order) => Cow::Owned(sort::gather(values, order)?),
        })
    }

    /// Returns values that are listed group after group in the stored order of the entries.
    pub(crate) fn in_stored_order<T: Copy>(&self, values: Vec<T>) -> Allocated<Vec<T>> {
        let (Some(order), Some(&first)) = (&self.order, values.first()) else { return Ok(values) };
        let mut stored = alloc::copies(first, values.len())?;
        order.iter().zip(values).for_each(|(&entry, value)| stored[entry] = value);
        Ok(stored)
    }

    /// Returns a function for the values of each group as a part of `values`. Returns `None` if the groups are not in
    /// stored order.
    pub(crate) fn in_order<'a, T>(&'a self, values: &'a [T]) -> Option<impl Fn(usize) -> &'a [T] + 'a> {
        self.order.is_none().then_some(move |group| &values[self.range(group)])
    }

    /// Returns the start of each group and the end of the last one. Returns `None` if the groups are not in stored
    /// order.
    pub(crate) fn offsets(&self) -> Option<&[usize]> {
        self.order.is_none().then_some(&self.starts)
    }

    /// Returns the start of each group, and the end of the last one, in the order of the groups.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Returns the first entry of each group.
    pub(crate) fn firsts(&self) -> Allocated<Vec<usize>> {
        // No group is empty, so the start of a group is the rank of an entry.
        alloc::collect((0..self.len()).map(|group| self.entry_at(self.starts[group])))
    }

    fn range(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group + 1]
    }

    fn entry_at(&self, rank: usize) -> usize {
        self.order.as_ref().map_or(rank, |order| order[rank])
    }
}

/// The unstored positions of a group.
#[derive(Clone, Copy)]
pub(crate) struct Unstored<T> {
    /// The value of the unstored positions. `None` if only stored entries count.
    pub(crate) fill: Option<T>,
    /// The number of all positions of the group, stored or not.
    pub(crate) extent: u128,
}

impl<T> Unstored<T> {
    /// Returns a value that means that only stored entries count.
    pub(crate) fn none() -> Self {
        Unstored { fill: None, extent: 0 }
    }

    /// Returns the number of unstored positions of a group with `stored` entries.
    pub(crate) fn count(&self, stored: usize) -> u128 {
        if self.fill.is_some() { self.extent.saturating_sub(stored as u128) } else { 0 }
    }

    /// Returns the number of positions that count, including `stored` entries.
    pub(crate) fn positions(&self, stored: usize) -> u128 {
        if self.fill.is_some() { self.extent } else { stored as u128 }
    }
}

/// The unstored positions of all groups.
#[derive(Clone, Copy)]
pub(crate) struct UnstoredByGroup<'a, T> {
    pub(crate) unstored: Unstored<T>,
    /// The number of all positions of each group. `None` if all groups have the same number.
    pub(crate) extents: Option<&'a [u128]>,
}

impl<T: Copy> UnstoredByGroup<'_, T> {
    /// Returns the unstored positions of a group.
    pub(crate) fn of(&self, group: usize) -> Unstored<T> {
        Unstored { extent: self.extents.map_or(self.unstored.extent, |extents| extents[group]), ..self.unstored }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_meet_in_their_cell_in_row_major_order() {
        let columns = [2u32, 0, 2, 1];
        let groups = Groups::of_coords(&[&columns], 4).unwrap();
        let gathered: Vec<Vec<usize>> = (0..groups.len()).map(|group| groups.entries(group).collect()).collect();
        assert_eq!(gathered, [vec![1], vec![3], vec![0, 2]]);
        assert_eq!(groups.firsts(), Ok(vec![1, 3, 0]));
        assert_eq!(groups.entry(2, 1), 2);
        assert_eq!(groups.values(2, &[5, 6, 7, 8], &mut vec![9]), Ok(&[5, 7][..]));
        assert_eq!(Groups::of_all(4).values(0, &[5, 6, 7, 8], &mut vec![9]), Ok(&[5, 6, 7, 8][..]));
    }

    #[test]
    fn empty_lanes_make_no_group() {
        let groups = Groups::of_offsets(Cow::Borrowed(&[0, 0, 2, 2, 5])).unwrap();
        assert_eq!((groups.len(), groups.size(0), groups.size(1)), (2, 2, 3));
        assert_eq!(Groups::of_offsets(Cow::Borrowed(&[0, 0])).unwrap().len(), 0);
        assert_eq!(Groups::of_all(0).len(), 0);
    }
}
