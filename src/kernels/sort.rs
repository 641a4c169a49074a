//! Row-major order of entries that are given by one coordinate array an axis.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::index::Index;
use crate::base::threads;
pub(crate) use crate::kernels::gather::gather;
use crate::kernels::gather::marked_before;
use crate::kernels::packing::Packing;
use crate::kernels::radix::{Buckets, listed};

/// How entry `a` stands to entry `b` in row-major order.
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

/// The entries whose order is looked at together.
const BLOCK: usize = 512;

/// The picoseconds that an entry takes to be marked and listed.
const MARKED: usize = 2000;

/// The first entry that is not greater than the one before it.
pub(crate) fn first_not_increasing<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Option<usize> {
    first_unmarked(coords, count, false)
}

/// The first entry that is less than the one before it.
pub(crate) fn first_decreasing<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Option<usize> {
    first_unmarked(coords, count, true)
}

/// The first entry that is not greater than the one before it, nor equal to it where `equal` ones will do.
fn first_unmarked<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize, equal: bool) -> Option<usize> {
    let first_within = |range: Range<usize>| {
        let mut marks = [false; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            // An entry of the range stands at `start` or behind it: the one that is compared with the first is the
            // next.
            let marks = &mut marks[..BLOCK.min(range.end - start)];
            mark_increases(coords, start + 1, equal, marks);
            if !marks.iter().fold(true, |all, &mark| all & mark) {
                return marks.iter().position(|&mark| !mark).map(|at| start + 1 + at);
            }
        }
        None
    };
    threads::map_parts(count.saturating_sub(1), 500, 0, first_within).into_iter().flatten().next()
}

/// Whether each entry from `start` on is greater than the one before it, or `equal` to it where that is to be marked
/// as well: without branches, from the last axis up.
fn mark_increases<I: Index, A: AsRef<[I]>>(coords: &[A], start: usize, equal: bool, marks: &mut [bool]) {
    marks.fill(equal);
    for axis in coords.iter().rev() {
        let (before, after) = (&axis.as_ref()[start - 1..], &axis.as_ref()[start..]);
        for ((mark, before), after) in marks.iter_mut().zip(before).zip(after) {
            *mark = (before < after) | ((before == after) & *mark);
        }
    }
}

/// Entries in row-major order.
pub(crate) struct Runs {
    /// The entries in that order, equal ones in input order; `None` where that is how they come.
    pub(crate) order: Option<Vec<usize>>,
    /// Where each run of equal ones starts in it, and where the last one ends.
    pub(crate) starts: Vec<usize>,
}

/// The row-major order of `count` entries, and its runs of equal ones.
pub(crate) fn row_major_runs<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Runs> {
    if first_decreasing(coords, count).is_none() {
        return Ok(Runs { order: None, starts: starts_in_order(coords, count)? });
    }
    if let Some(sorted) = sort_packed(coords, count)? {
        return Ok(Runs { order: Some(sorted.items), starts: starts_in_order(&[sorted.keys], count)? });
    }
    let order = order_by_groups(coords, count)?;
    let opens = |&at: &usize| at == 0 || compare(coords, order[at - 1], order[at]).is_ne();
    // Few get what they may need at once.
    let mut starts = alloc::with_capacity(if count < FEW { count + 1 } else { 0 })?;
    (0..count).filter(opens).chain([count]).try_for_each(|start| alloc::push(&mut starts, start))?;
    Ok(Runs { order: Some(order), starts })
}

/// The order that sorts `count` entries row-major and keeps equal ones in input order; `None` if they are so already.
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

/// Where the runs of equal entries start, which stand in order, and where the last one ends.
pub(crate) fn starts_in_order<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Vec<usize>> {
    if threads::are_shared(count, MARKED) {
        let mut starts = marked_before(count, 1, |range, marks| {
            // The very first entry opens a run.
            let first = usize::from(range.start == 0);
            mark_increases(coords, range.start + first, false, &mut marks[first..]);
        })?;
        starts.last_mut().into_iter().for_each(|last| *last = count);
        return Ok(starts);
    }
    // Zeros for a whole block would take longer than a small one.
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
        // Written each time and kept where marked: as good as random, a branch would be mispredicted.
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

/// The entries sorted by packed coordinates, if those fit a key and there is more than a few of them.
fn sort_packed<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Option<Buckets<usize>>> {
    let Some(packing) = Packing::of_many(coords, count) else { return Ok(None) };
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| packing.pack(coords, range, from, keys);
    let mut buckets = Buckets::deal(count, packing.bits(), 0, &keys, |entry| entry)?;
    buckets.sort(0)?;
    Ok(Some(buckets))
}

/// The order of entries whose coordinates do not fit one key.
pub(crate) fn order_by_groups<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Allocated<Vec<usize>> {
    let mut order = alloc::collect(0..count)?;
    if count < FEW {
        sort_by_comparing(coords, &mut order);
        return Ok(order);
    }
    let groups = Packing::groups(coords);
    // Entries that agree up to a group of axes; kept here, as there may be more groups than calls fit a stack.
    let mut agreeing = vec![(0..count, &groups[..])];
    while let Some((entries, groups)) = agreeing.pop() {
        let Some((group, later)) = groups.split_first() else { continue };
        for ties in sort_by_group(coords, group, &mut order[entries.clone()])? {
            alloc::push(&mut agreeing, (entries.start + ties.start..entries.start + ties.end, later))?;
        }
    }
    Ok(order)
}

/// Fewer entries than this are compared by one axis after another, if they do not fit one key.
const FEW: usize = 1 << 8;

/// Sorts entries by one axis after another, equal ones as they came.
fn sort_by_comparing<I: Index, A: AsRef<[I]>>(coords: &[A], entries: &mut [usize]) {
    entries.sort_unstable_by(|&a, &b| compare(coords, a, b).then(a.cmp(&b)));
}

/// Sorts entries, which come in input order, by the keys of a group of axes; where those are that agree there, to be
/// sorted by the next one.
fn sort_by_group<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    (axes, packing): &(Range<usize>, Packing),
    entries: &mut [usize],
) -> Allocated<Vec<Range<usize>>> {
    if entries.len() < FEW {
        sort_by_comparing(&coords[axes.start..], entries);
        return Ok(Vec::new());
    }
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| {
        packing.pack_entries(&coords[axes.clone()], &entries[range], from, keys);
    };
    let mut buckets = Buckets::deal(entries.len(), packing.bits(), 0, &keys, listed(entries))?;
    buckets.sort(0)?;
    entries.copy_from_slice(&buckets.items);
    ties(&buckets.keys)
}

/// Where keys that are in order have company.
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
