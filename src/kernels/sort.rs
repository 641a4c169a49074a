//! Row-major order of entries, given by one coordinate array per axis.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::threads;
pub(crate) use crate::kernels::gather::gather;
use crate::kernels::gather::marked_before;
use crate::kernels::packing::Packing;
use crate::kernels::radix::{Buckets, listed};

/// Compares the positions of entries `a` and `b` in row-major order.
pub(crate) fn compare<I: Index, A: AsRef<[I]>>(coords: &[A], a: usize, b: usize) -> Ordering {
    for axis in coords {
        let axis = axis.as_ref();
        match axis[a].cmp(&axis[b]) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    Ordering::Equal
}

/// The number of entries compared together.
const BLOCK: usize = 512;

/// The estimated picoseconds per entry to mark and list it.
const MARKED: usize = 2000;

/// Returns the first entry that is not greater than the previous entry.
pub(crate) fn first_not_increasing<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Option<usize> {
    first_unmarked(coords, count, false)
}

/// Returns the first entry that is smaller than the previous entry.
pub(crate) fn first_decreasing<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Option<usize> {
    first_unmarked(coords, count, true)
}

/// Returns the first entry that is not greater than the previous entry. If `equal` is true, equal entries are accepted.
fn first_unmarked<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize, equal: bool) -> Option<usize> {
    let first_within = |range: Range<usize>| {
        let mut marks = [false; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            // The range counts comparisons: comparison `e` is between entry `e` and entry `e + 1`.
            let marks = &mut marks[..BLOCK.min(range.end - start)];
            mark_increases(coords, start + 1, equal, marks);
            if !marks.iter().fold(true, |all, &mark| all & mark) {
                return marks.iter().position(|&mark| !mark).map(|at| start + 1 + at);
            }
        }
        None
    };
    // The parts are in order, so the first result belongs to the first such entry.
    threads::map_parts(count.saturating_sub(1), 500, 0, first_within).into_iter().flatten().next()
}

/// Marks each entry from `start` on that is greater than the previous entry, or equal to it if `equal` is true.
///
/// The loop does not branch; axes are compared from last to first.
fn mark_increases<I: Index, A: AsRef<[I]>>(coords: &[A], start: usize, equal: bool, marks: &mut [bool]) {
    marks.fill(equal);
    // Invariant: `mark` is the result of comparing the axes after `axis`.
    for axis in coords.iter().rev() {
        let (before, after) = (&axis.as_ref()[start - 1..], &axis.as_ref()[start..]);
        for ((mark, before), after) in marks.iter_mut().zip(before).zip(after) {
            *mark = (before < after) | ((before == after) & *mark);
        }
    }
}

/// The row-major order of entries.
pub(crate) struct SortedRuns {
    /// The entries in this order, equal entries in input order; `None` if the entries are sorted.
    pub(crate) order: Option<Vec<usize>>,
    /// The start of each run of equal entries in this order, then the number of entries.
    pub(crate) starts: Vec<usize>,
}

/// Returns the row-major order of `count` entries, and its runs of equal entries.
pub(crate) fn row_major_runs<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<SortedRuns> {
    if first_decreasing(coords, count).is_none() {
        return Ok(SortedRuns { order: None, starts: starts_in_order(coords, count)? });
    }
    if let Some(sorted) = sort_packed(coords, count)? {
        // Equal keys are equal positions, so the sorted keys are compared as one axis.
        return Ok(SortedRuns { order: Some(sorted.items), starts: starts_in_order(&[sorted.keys], count)? });
    }
    let order = order_by_groups(coords, count)?;
    let opens = |&at: &usize| at == 0 || compare(coords, order[at - 1], order[at]).is_ne();
    // A small list is allocated at its maximum size at once.
    let mut starts = alloc::with_capacity(if count < FEW { count + 1 } else { 0 })?;
    (0..count).filter(opens).chain([count]).try_for_each(|start| alloc::push(&mut starts, start))?;
    Ok(SortedRuns { order: Some(order), starts })
}

/// Returns the stable order that sorts `count` entries; `None` if the entries are sorted.
pub(crate) fn row_major_order<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    count: usize,
) -> Allocated<Option<Vec<usize>>> {
    if first_decreasing(coords, count).is_none() {
        return Ok(None);
    }
    match sort_packed(coords, count)? {
        Some(sorted) => Ok(Some(sorted.items)),
        None => order_by_groups(coords, count).map(Some),
    }
}

/// Returns the start of each run of equal entries, which are sorted, then the number of entries.
pub(crate) fn starts_in_order<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Vec<usize>> {
    if threads::are_shared(count, MARKED) {
        let mut starts = marked_before(count, 1, |range, marks| {
            // The very first entry starts a run.
            let first = usize::from(range.start == 0);
            mark_increases(coords, range.start + first, false, &mut marks[first..]);
        })?;
        starts.last_mut().into_iter().for_each(|last| *last = count);
        return Ok(starts);
    }
    // Few entries use a smaller block, because initializing a large block would take longer than marking them.
    if count <= 64 {
        starts_in_blocks::<I, A, 64>(coords, count)
    } else {
        starts_in_blocks::<I, A, BLOCK>(coords, count)
    }
}

fn starts_in_blocks<I: Index, A: AsRef<[I]>, const BLOCK: usize>(coords: &[A], count: usize) -> Allocated<Vec<usize>> {
    let mut starts = alloc::with_capacity(BLOCK.min(count) + 1)?;
    starts.extend((count > 0).then_some(0));
    let (mut marks, mut block) = ([false; BLOCK], [0; BLOCK]);
    for start in (1..count).step_by(BLOCK) {
        let marks = &mut marks[..BLOCK.min(count - start)];
        mark_increases(coords, start, false, marks);
        let mut found = 0;
        // Each index is written and kept only if marked. A branch would be mispredicted, because marks are nearly
        // random.
        for (at, &mark) in marks.iter().enumerate() {
            block[found] = start + at;
            found += usize::from(mark);
        }
        alloc::reserve(&mut starts, found + 1)?;
        starts.extend_from_slice(&block[..found]);
    }
    starts.push(count);
    Ok(starts)
}

/// Returns the entries sorted by packed coordinates. Returns `None` if the coordinates do not fit in a key, or if there
/// are few entries.
fn sort_packed<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Option<Buckets<usize>>> {
    let Some(packing) = Packing::of_many(coords, count) else { return Ok(None) };
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| packing.pack(coords, range, from, keys);
    let mut buckets = Buckets::scatter(count, packing.bits(), 0, &keys, |entry| entry)?;
    buckets.sort(0)?;
    Ok(Some(buckets))
}

/// Returns the order of entries whose coordinates do not fit in one key.
pub(crate) fn order_by_groups<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Vec<usize>> {
    let mut order = alloc::collect(0..count)?;
    if count < FEW {
        sort_by_comparing(coords, &mut order);
        return Ok(order);
    }
    let groups = Packing::groups(coords);
    // Entries that agree on earlier groups of axes. The list replaces recursion, which could overflow the stack.
    let mut agreeing = vec![(0..count, &groups[..])];
    while let Some((entries, groups)) = agreeing.pop() {
        let Some((group, later)) = groups.split_first() else { continue };
        // Only ties need the next group; entries without ties are in their final order.
        for ties in sort_by_group(coords, group, &mut order[entries.clone()])? {
            alloc::push(&mut agreeing, (entries.start + ties.start..entries.start + ties.end, later))?;
        }
    }
    Ok(order)
}

/// The smallest number of entries that are sorted by groups of axes, if coordinates do not fit in one key. Fewer
/// entries are compared axis by axis.
const FEW: usize = 1 << 8;

/// Sorts entries by comparison, axis by axis; equal entries stay in input order.
fn sort_by_comparing<I: Index, A: AsRef<[I]>>(coords: &[A], entries: &mut [usize]) {
    entries.sort_unstable_by(|&a, &b| compare(coords, a, b).then(a.cmp(&b)));
}

/// Sorts entries, given in input order, by the keys of a group of axes.
///
/// Returns the ranges of entries that agree on the group, to be sorted by the next group.
fn sort_by_group<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    (axes, packing): &(Range<usize>, Packing),
    entries: &mut [usize],
) -> Allocated<Vec<Range<usize>>> {
    if entries.len() < FEW {
        // The comparison covers all later axes, so no ties remain to be sorted.
        sort_by_comparing(&coords[axes.start..], entries);
        return Ok(Vec::new());
    }
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| {
        packing.pack_entries(&coords[axes.clone()], &entries[range], from, keys);
    };
    let mut buckets = Buckets::scatter(entries.len(), packing.bits(), 0, &keys, listed(entries))?;
    buckets.sort(0)?;
    entries.copy_from_slice(&buckets.items);
    ties(&buckets.keys)
}

/// Returns the ranges of equal keys, for sorted keys, with more than one entry.
fn ties(keys: &[u64]) -> Allocated<Vec<Range<usize>>> {
    let (mut ties, mut end) = (Vec::new(), 0);
    for run in keys.chunk_by(|a, b| a == b) {
        end += run.len();
        if run.len() > 1 {
            alloc::push(&mut ties, end - run.len()..end)?;
        }
    }
    Ok(ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_compared_orders_agree_and_keep_equals_in_input_order() {
        let small: [Vec<u64>; 2] = [vec![3, 0, 3, 0, 1], vec![1, 2, 1, 0, 0]];
        let large = small.clone().map(|axis| axis.into_iter().map(|coord| coord << 60).collect::<Vec<_>>());
        for coords in [small, large] {
            let order = vec![3, 1, 4, 0, 2];
            assert_eq!(row_major_order(&coords, 5), Ok(Some(order.clone())));
            let runs = row_major_runs(&coords, 5).unwrap();
            assert_eq!((runs.order.as_ref(), runs.starts), (Some(&order), vec![0, 1, 2, 3, 5]));
        }
    }

    #[test]
    fn the_first_entry_out_of_order_is_found_in_any_block() {
        let count = 3 * BLOCK;
        for wrong in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1, count - 1] {
            for after in [0, 5] {
                let mut coords = [vec![0u32; count], (0..count as u32).map(|entry| entry + 9).collect()];
                assert_eq!(first_not_increasing(&coords, count), None);
                coords[1][wrong] = coords[1][wrong - 1].saturating_sub(after);
                assert_eq!(first_not_increasing(&coords, count), Some(wrong));
                coords[0][wrong..].fill(1);
                assert_eq!(first_not_increasing(&coords, count), None);
            }
        }
        assert_eq!(first_not_increasing::<u32, Vec<u32>>(&[], 2), Some(1));
    }

    #[test]
    fn sorted_entries_need_no_order() {
        assert_eq!(row_major_order(&[vec![0u32, 0, 1]], 3), Ok(None));
        assert_eq!(row_major_order::<u32, Vec<u32>>(&[], 1), Ok(None));
        let coords: Vec<u32> = (0..3 * BLOCK as u32).map(|entry| entry / 3).collect();
        let runs = row_major_runs(&[&coords], coords.len()).unwrap();
        assert_eq!((runs.order, runs.starts), (None, (0..=BLOCK).map(|run| 3 * run).collect()));
        assert_eq!(row_major_runs::<u32, Vec<u32>>(&[], 2).unwrap().starts, [0, 2]);
        assert_eq!(row_major_runs::<u32, Vec<u32>>(&[], 0).unwrap().starts, [0]);
    }
}
