//! Row-major order of entries that are given by one coordinate array an axis.

use std::cmp::Ordering;
use std::ops::Range;

use crate::index::Index;
use crate::kernels::radix;
use crate::parallel;

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

/// The first entry that is not greater than the one before it.
pub(crate) fn first_not_increasing<I: Index, A: AsRef<[I]>>(coords: &[A], count: usize) -> Option<usize> {
    first_unmarked(coords, count, false)
}

/// The first entry that is not greater than the one before it, nor equal to it where `equal` ones will do.
fn first_unmarked<I: Index, A: AsRef<[I]>>(coords: &[A], count: usize, equal: bool) -> Option<usize> {
    let mut marks = [false; BLOCK];
    for start in (1..count).step_by(BLOCK) {
        let marks = &mut marks[..BLOCK.min(count - start)];
        mark_increases(coords, start, equal, marks);
        if !marks.iter().fold(true, |all, &mark| all & mark) {
            return marks.iter().position(|&mark| !mark).map(|at| start + at);
        }
    }
    None
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

impl Runs {
    /// The entry at a place in the order.
    pub(crate) fn entry(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place])
    }
}

/// The row-major order of `count` entries, and its runs of equal ones.
pub(crate) fn row_major_runs<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], lengths: &[usize], count: usize) -> Runs {
    if first_unmarked(coords, count, true).is_none() {
        return Runs { order: None, starts: starts_in_order(coords, count) };
    }
    if let Some(sorted) = sort_packed(coords, lengths, count, true) {
        return Runs { order: Some(sorted.order), starts: sorted.starts };
    }
    let order = compared_order(coords, count);
    let opens = |&at: &usize| at == 0 || compare(coords, order[at - 1], order[at]).is_ne();
    let starts = (0..count).filter(opens).chain([count]).collect();
    Runs { order: Some(order), starts }
}

/// The order that sorts `count` entries row-major and keeps equal ones in input order; `None` if they are so already.
pub(crate) fn row_major_order<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    lengths: &[usize],
    count: usize,
) -> Option<Vec<usize>> {
    first_unmarked(coords, count, true)?;
    let packed = sort_packed(coords, lengths, count, false).map(|sorted| sorted.order);
    Some(packed.unwrap_or_else(|| compared_order(coords, count)))
}

/// Where the runs of equal entries start, which stand in order, and where the last one ends.
fn starts_in_order<I: Index, A: AsRef<[I]>>(coords: &[A], count: usize) -> Vec<usize> {
    let mut starts = if count > 0 { vec![0] } else { Vec::new() };
    let (mut marks, mut block) = ([false; BLOCK], [0; BLOCK]);
    for start in (1..count).step_by(BLOCK) {
        let marks = &mut marks[..BLOCK.min(count - start)];
        mark_increases(coords, start, false, marks);
        let mut found = 0;
        // Written each time and kept where marked: as good as random, a branch would be foretold badly.
        for (at, &mark) in marks.iter().enumerate() {
            block[found] = start + at;
            found += usize::from(mark);
        }
        starts.extend_from_slice(&block[..found]);
    }
    starts.push(count);
    starts
}

/// Sorts by the row-major position, where all positions fit `u64`: never through a key that wraps.
fn sort_packed<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    lengths: &[usize],
    count: usize,
    with_runs: bool,
) -> Option<radix::Sorted> {
    lengths.iter().try_fold(1u64, |size, &length| size.checked_mul(length as u64))?;
    let keys = |range: Range<usize>, keys: &mut [u64]| {
        keys.fill(0);
        for (axis, &length) in coords.iter().zip(lengths) {
            for (key, coord) in keys.iter_mut().zip(&axis.as_ref()[range.clone()]) {
                *key = *key * length as u64 + coord.to_usize() as u64;
            }
        }
    };
    Some(radix::sort_by_key(count, keys, with_runs))
}

/// The order by comparing one axis after another.
fn compared_order<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    parallel::sort(&mut order, |&a, &b| compare(coords, a, b).then(a.cmp(&b)));
    order
}

/// The items of `values` in the order given.
pub(crate) fn gather<T: Copy + Send + Sync>(values: &[T], order: &[usize]) -> Vec<T> {
    parallel::map(order, |entry| values[entry])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_compared_orders_agree_and_keep_equals_in_input_order() {
        let coords: [Vec<u32>; 2] = [vec![3, 0, 3, 0, 1], vec![1, 2, 1, 0, 0]];
        for lengths in [[4, 3], [usize::MAX, usize::MAX]] {
            let order = Some(vec![3, 1, 4, 0, 2]);
            assert_eq!(row_major_order(&coords, &lengths, 5), order);
            let runs = row_major_runs(&coords, &lengths, 5);
            assert_eq!((runs.order, runs.starts), (order, vec![0, 1, 2, 3, 5]));
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
        assert_eq!(row_major_order(&[vec![0u32, 0, 1]], &[2], 3), None);
        assert_eq!(row_major_order::<u32, Vec<u32>>(&[], &[], 1), None);
        let coords: Vec<u32> = (0..3 * BLOCK as u32).map(|entry| entry / 3).collect();
        let runs = row_major_runs(&[&coords], &[BLOCK], coords.len());
        assert_eq!((runs.order, runs.starts), (None, (0..=BLOCK).map(|run| 3 * run).collect()));
        assert_eq!(row_major_runs::<u32, Vec<u32>>(&[], &[], 2).starts, [0, 2]);
        assert_eq!(row_major_runs::<u32, Vec<u32>>(&[], &[], 0).starts, [0]);
    }
}
