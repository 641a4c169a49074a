//! Coordinates packed into one integer key: one bit field per axis, the first axis in the highest bits.
//!
//! Keys have the row-major order of their positions. A field is as wide as the largest coordinate of its axis.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::radix::BLOCK;

pub(crate) struct Packing {
    fields: Few<BitField>,
    bits: u32,
}

struct BitField {
    shift: u32,
    mask: u64,
}

impl BitField {
    /// Returns whether the field has a bit at `from` or above.
    fn reaches(&self, from: u32) -> bool {
        u64::BITS - self.mask.leading_zeros() + self.shift > from
    }
}

/// Returns the number of bits of the largest coordinate per axis.
fn widths<I: Index, A: AsRef<[I]>>(coords: &[A]) -> Few<u32> {
    let largest = |axis: &[I]| axis.iter().fold(I::default(), |largest, &coord| largest.max(coord));
    let width = |axis: &A| {
        let axis = axis.as_ref();
        let parts = threads::map_parts(axis.len(), 300, 0, |range| largest(&axis[range]));
        u64::BITS - (largest(&parts).to_usize() as u64).leading_zeros()
    };
    coords.iter().map(width).collect()
}

/// The smallest number of entries that are packed. Fewer entries are sorted by comparison, because packing and
/// bucketing have a fixed cost. Debug builds use a smaller limit, so that tests with small inputs cover both paths.
const FEW: usize = if cfg!(debug_assertions) { 1 << 2 } else { 1 << 5 };

impl Packing {
    /// [`new`](Self::new) for sorting. Also returns `None` if there are few entries, because a comparison sort is then
    /// faster.
    pub(crate) fn of_many<I: Index, A: AsRef<[I]>>(coords: &[A], count: usize) -> Option<Self> {
        if count < FEW { None } else { Packing::new(coords) }
    }

    /// Returns fields for these coordinates; `None` if they do not fit in 64 bits.
    pub(crate) fn new<I: Index, A: AsRef<[I]>>(coords: &[A]) -> Option<Self> {
        let widths = widths(coords);
        (widths.iter().sum::<u32>() <= u64::BITS).then(|| Packing::of_widths(&widths))
    }

    /// Returns fields for all coordinates below these lengths; `None` if they do not fit in 64 bits.
    pub(crate) fn of_lengths(lengths: &[usize]) -> Option<Self> {
        let width = |length: &usize| u64::BITS - (length.saturating_sub(1) as u64).leading_zeros();
        let widths: Few<u32> = lengths.iter().map(width).collect();
        (widths.iter().sum::<u32>() <= u64::BITS).then(|| Packing::of_widths(&widths))
    }

    /// Splits the axes into groups whose coordinates fit in 64 bits. Each group has the maximum number of axes.
    pub(crate) fn groups<I: Index, A: AsRef<[I]>>(coords: &[A]) -> Vec<(Range<usize>, Self)> {
        let widths = widths(coords);
        let (mut groups, mut start) = (Vec::new(), 0);
        // Invariant: axes before `start` are in groups.
        while start < widths.len() {
            let mut bits = 0;
            let fits = |width: &&u32| {
                bits += **width;
                bits <= u64::BITS
            };
            // One axis has at most 64 bits, so a group has at least one axis and the loop ends.
            let end = start + widths[start..].iter().take_while(fits).count();
            groups.push((start..end, Packing::of_widths(&widths[start..end])));
            start = end;
        }
        groups
    }

    /// Returns fields of the given widths. The sum of the widths must be at most 64.
    fn of_widths(widths: &[u32]) -> Self {
        let bits: u32 = widths.iter().sum();
        // `shift` decreases from the sum of all widths to 0, so fields do not overlap.
        let mut shift = bits;
        let fields = widths.iter().map(|width| {
            shift -= width;
            // A field of 0 bits at the top would have a shift of 64, which is out of range; its mask is 0.
            BitField { shift: shift.min(u64::BITS - 1), mask: u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0) }
        });
        Packing { fields: fields.collect(), bits }
    }

    /// Returns the number of bits of a key.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of bits of the last `axes` axes.
    pub(crate) fn bits_of_last(&self, axes: usize) -> u32 {
        self.fields.iter().rev().take(axes).map(|field| field.mask.count_ones()).sum()
    }

    /// Writes the keys of a range of entries; axes with all bits below `from` may be skipped.
    pub(crate) fn pack<I: Index, A: AsRef<[I]>>(&self, coords: &[A], range: Range<usize>, from: u32, keys: &mut [u64]) {
        keys.fill(0);
        // Fields do not overlap, so the axes can be combined by `|` in any order.
        for (axis, field) in coords.iter().zip(&self.fields).filter(|(_, field)| field.reaches(from)) {
            for (key, coord) in keys.iter_mut().zip(&axis.as_ref()[range.clone()]) {
                *key |= (coord.to_usize() as u64) << field.shift;
            }
        }
    }

    /// [`pack`](Self::pack) for a list of entries.
    pub(crate) fn pack_entries<I: Index, A: AsRef<[I]>>(
        &self,
        coords: &[A],
        entries: &[usize],
        from: u32,
        keys: &mut [u64],
    ) {
        keys.fill(0);
        for (axis, field) in coords.iter().zip(&self.fields).filter(|(_, field)| field.reaches(from)) {
            let axis = axis.as_ref();
            for (key, &entry) in keys.iter_mut().zip(entries) {
                *key |= (axis[entry].to_usize() as u64) << field.shift;
            }
        }
    }

    /// Writes the coordinates of `keys` into `coords`, from index `at` on.
    pub(crate) fn unpack<I: Index>(&self, keys: &[u64], coords: &mut [&mut [I]], at: usize) {
        coords.iter_mut().enumerate().for_each(|(axis, coords)| self.unpack_axis(axis, keys, &mut coords[at..]));
    }

    /// Writes the coordinates of `keys` on one axis.
    pub(crate) fn unpack_axis<I: Index>(&self, axis: usize, keys: &[u64], coords: &mut [I]) {
        let BitField { shift, mask } = self.fields[axis];
        for (coord, key) in coords.iter_mut().zip(keys) {
            *coord = I::from_usize((key >> shift & mask) as usize);
        }
    }

    /// Unpacks the coordinates of all `keys` into `coords`, one array per axis.
    pub(crate) fn unpack_all<I: Index>(&self, keys: &[u64], mut coords: Vec<Vec<I>>) -> Vec<Vec<I>> {
        let parts = threads::map_parts(keys.len(), 3000, 0, |range| range);
        let ends: Few<usize> = parts.iter().map(|range| range.end).collect();
        // `ends` increase and cover all keys, so every thread writes its own slice of each axis.
        let shares = parts.into_iter().zip(split_axes(&mut coords, &ends)).collect();
        threads::map_each(
            shares,
            keys.len(),
            || (),
            |(), (range, mut axes): (Range<usize>, Vec<&mut [I]>)| {
                let blocks = keys[range].chunks(BLOCK).zip((0..).step_by(BLOCK));
                blocks.for_each(|(keys, at)| self.unpack(keys, &mut axes, at));
            },
        );
        coords
    }

    /// Returns the position of a key.
    pub(crate) fn position(&self, key: u64) -> Vec<usize> {
        self.fields.iter().map(|field| (key >> field.shift & field.mask) as usize).collect()
    }

    /// Returns zeros for the coordinates of `count` entries.
    pub(crate) fn zeros<I: Index>(&self, count: usize) -> Allocated<Vec<Vec<I>>> {
        self.fields.iter().map(|_| alloc::zeros(count)).collect()
    }
}

/// Splits the arrays at `ends`; each part has one slice per axis.
pub(crate) fn split_axes<'a, I>(coords: &'a mut [Vec<I>], ends: &[usize]) -> Few<Vec<&'a mut [I]>> {
    let mut pieces: Few<Vec<_>> = ends.iter().map(|_| Vec::with_capacity(coords.len())).collect();
    for axis in coords {
        pieces.iter_mut().zip(threads::split_at_ends(axis, ends)).for_each(|(piece, slice)| piece.push(slice));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(coords: &[Vec<u64>], bits: Option<u32>) {
        let packing = Packing::new(coords);
        assert_eq!(packing.as_ref().map(Packing::bits), bits);
        let Some(packing) = packing else { return };
        let count = coords[0].len();
        let mut keys = vec![9; count];
        packing.pack(coords, 0..count, 0, &mut keys);
        for from in 1..packing.bits() {
            let mut top = vec![9; count];
            packing.pack(coords, 0..count, from, &mut top);
            assert!(top.iter().zip(&keys).all(|(top, key)| top >> from == key >> from));
        }
        assert_eq!(packing.unpack_all::<u64>(&keys, packing.zeros(count).unwrap()), coords);
        for (entry, &key) in keys.iter().enumerate() {
            assert_eq!(packing.position(key), coords.iter().map(|axis| axis[entry] as usize).collect::<Vec<_>>());
            let smaller =
                |other: &usize| coords.iter().map(|axis| axis[*other]).lt(coords.iter().map(|axis| axis[entry]));
            assert_eq!((0..count).filter(smaller).count(), keys.iter().filter(|&&other| other < key).count());
        }
    }

    #[test]
    fn keys_have_the_order_of_positions_and_give_them_back() {
        check(&[vec![3, 0, 3, 1], vec![0, 7, 8, 1], vec![1, 0, 0, 0]], Some(2 + 4 + 1));
        check(&[vec![0, 0], vec![u64::MAX, 5]], Some(64));
        check(&[vec![u64::MAX, 5], vec![0, 0]], Some(64));
        check(&[vec![u64::MAX, 5], vec![0, 1]], None);
        check(&[vec![0, 0], vec![0, 0]], Some(0));
        check(&[vec![], vec![]], Some(0));
        check(
            &[(0..5 * BLOCK as u64 / 2).collect(), (0..5 * BLOCK as u64 / 2).map(|entry| entry % 7).collect()],
            Some(15),
        );
    }

    #[test]
    fn groups_hold_as_many_axes_as_fit_a_key() {
        let groups = |widths: &[u32]| -> Vec<Range<usize>> {
            let coords: Vec<Vec<u64>> =
                widths.iter().map(|&width| vec![u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0)]).collect();
            let groups = Packing::groups(&coords);
            for (axes, packing) in &groups {
                let (mut keys, mut named) = ([9], [9]);
                packing.pack(&coords[axes.clone()], 0..1, 0, &mut keys);
                packing.pack_entries(&coords[axes.clone()], &[0], 0, &mut named);
                let position: Vec<u64> = packing.position(keys[0]).into_iter().map(|coord| coord as u64).collect();
                assert_eq!((named, position), (keys, coords[axes.clone()].concat()));
            }
            groups.into_iter().map(|(axes, _)| axes).collect()
        };
        assert_eq!(groups(&[20, 20, 25, 24, 40]), [0..2, 2..4, 4..5]);
        assert_eq!(groups(&[20, 20, 24, 24, 40]), [0..3, 3..5]);
        assert_eq!(groups(&[64, 64, 0, 1, 64]), [0..1, 1..3, 3..4, 4..5]);
        assert_eq!(groups(&[0, 64, 0, 0]), [Range { start: 0, end: 4 }]);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn the_last_axes_have_the_lowest_bits() {
        let packing = Packing::new(&[vec![9u32], vec![0], vec![3]]).unwrap();
        assert_eq!([0, 1, 2, 3].map(|axes| packing.bits_of_last(axes)), [0, 2, 2, 6]);
    }
}
