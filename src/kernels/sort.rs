//! Row-major order of entries that are given by one coordinate array an axis.

use std::cmp::Ordering;

use crate::index::Index;
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
    let mut increases = [false; BLOCK];
    for start in (1..count).step_by(BLOCK) {
        let increases = &mut increases[..BLOCK.min(count - start)];
        mark_increases(coords, start, increases);
        if !increases.iter().fold(true, |all, &increase| all & increase) {
            return increases.iter().position(|&increase| !increase).map(|at| start + at);
        }
    }
    None
}

/// Whether each entry from `start` on is greater than the one before it: without branches, from the last axis up.
fn mark_increases<I: Index, A: AsRef<[I]>>(coords: &[A], start: usize, increases: &mut [bool]) {
    increases.fill(false);
    for axis in coords.iter().rev() {
        let (before, after) = (&axis.as_ref()[start - 1..], &axis.as_ref()[start..]);
        for ((increase, before), after) in increases.iter_mut().zip(before).zip(after) {
            *increase = (before < after) | ((before == after) & *increase);
        }
    }
}

/// The order that sorts `count` entries row-major and keeps equal ones in input order; `None` if they are so already.
///
/// Coordinates are packed into one `u64` a position where `lengths` allow it, so that a comparison is one
/// instruction; axes whose product overflows are compared one by one, and never through a key that wraps.
pub(crate) fn row_major_order<I: Index, A: AsRef<[I]> + Sync>(
    coords: &[A],
    lengths: &[usize],
    count: usize,
) -> Option<Vec<usize>> {
    if (1..count).all(|entry| compare(coords, entry - 1, entry) != Ordering::Greater) {
        return None;
    }
    match packed_keys(coords, lengths, count) {
        Some((keys, size)) => Some(order_of_keys(&keys, size)),
        None => {
            let mut order: Vec<usize> = (0..count).collect();
            parallel::sort(&mut order, |&a, &b| compare(coords, a, b).then(a.cmp(&b)));
            Some(order)
        }
    }
}

/// The row-major positions of the entries and the number of positions, where that fits `u64`.
fn packed_keys<I: Index, A: AsRef<[I]>>(coords: &[A], lengths: &[usize], count: usize) -> Option<(Vec<u64>, u64)> {
    let size = lengths.iter().try_fold(1u64, |size, &length| size.checked_mul(length as u64))?;
    let mut keys = vec![0u64; count];
    for (axis, &length) in coords.iter().zip(lengths) {
        for (key, coord) in keys.iter_mut().zip(axis.as_ref()) {
            *key = *key * length as u64 + coord.to_usize() as u64;
        }
    }
    Some((keys, size))
}

/// The order that sorts `keys`, all below `size`, and keeps equal ones in input order.
///
/// Up to two positions a key, counting beats comparing.
fn order_of_keys(keys: &[u64], size: u64) -> Vec<usize> {
    if size / 2 <= keys.len() as u64 {
        return counting_order(keys, size as usize);
    }
    let mut tagged: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
    parallel::sort(&mut tagged, Ord::cmp);
    tagged.into_iter().map(|(_, entry)| entry).collect()
}

/// The stable order of `keys` below `size`: counts each key, then deals the entries out.
fn counting_order(keys: &[u64], size: usize) -> Vec<usize> {
    let mut next = vec![0; size + 1];
    keys.iter().for_each(|&key| next[key as usize + 1] += 1);
    (1..=size).for_each(|key| next[key] += next[key - 1]);
    let mut order = vec![0; keys.len()];
    for (entry, &key) in keys.iter().enumerate() {
        order[next[key as usize]] = entry;
        next[key as usize] += 1;
    }
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
    fn counted_packed_and_compared_orders_agree_and_keep_equals_in_input_order() {
        let coords: [Vec<u32>; 2] = [vec![3, 0, 3, 0, 1], vec![1, 2, 1, 0, 0]];
        let counted = row_major_order(&coords, &[4, 3], 5);
        let packed = row_major_order(&coords, &[40, 30], 5);
        let compared = row_major_order(&coords, &[usize::MAX, usize::MAX], 5);
        assert_eq!(counted, Some(vec![3, 1, 4, 0, 2]));
        assert_eq!(counted, packed);
        assert_eq!(counted, compared);
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
    }
}
