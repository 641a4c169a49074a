//! Sorting of entries into row-major order, together with their values.

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::index::Width;
use crate::element::{RawSlice, RawVec, by_raw};
use crate::kernels::gather::{Plain, gather};
use crate::kernels::packing::Packing;
use crate::kernels::radix::{Buckets, listed};
use crate::kernels::sort::{first_decreasing, order_by_groups, row_major_order};
use crate::pattern::{AxisCoords, CoordSlices, by_slices, of_width, slices};

/// Returns the stable row-major order of `count` entries; `None` if they are sorted.
pub(crate) fn order_of(coords: &[AxisCoords], count: usize) -> Allocated<Option<Vec<usize>>> {
    by_slices!(coords, own => row_major_order(&own, count))
}

/// Returns whether the entries are in row-major order; duplicates are allowed.
pub(crate) fn is_in_order(coords: &[AxisCoords], count: usize) -> bool {
    is_sorted(&slices(coords), count)
}

fn is_sorted(axes: &CoordSlices<'_>, count: usize) -> bool {
    match axes {
        CoordSlices::U32(own) => first_decreasing(own, count).is_none(),
        CoordSlices::U64(own) => first_decreasing(own, count).is_none(),
    }
}

/// Sorted entries, and the items moved together with them.
pub(crate) type Sorted<V> = (Vec<AxisCoords>, V);

/// Returns the entries in row-major order with their values; `None` if they are sorted.
///
/// Entries that agree on all axes except the `settled` last ones are already in order.
pub(crate) fn row_major(
    coords: &[AxisCoords],
    settled: usize,
    values: RawSlice<'_>,
) -> Allocated<Option<Sorted<RawVec>>> {
    by_raw!(values, own => Ok(sorted_with(coords, settled, own)?.map(|(coords, values)| (coords, values.into()))))
}

/// [`row_major`] for items of any type.
pub(crate) fn sorted_with<T: Plain>(
    coords: &[AxisCoords],
    settled: usize,
    items: &[T],
) -> Allocated<Option<Sorted<Vec<T>>>> {
    let axes = slices(coords);
    if is_sorted(&axes, items.len()) {
        return Ok(None);
    }
    let Some(packing) = packing_of(&axes, items.len()) else {
        let order = by_slices!(coords, own => order_by_groups(&own, items.len()))?;
        let coords = coords.iter().map(|axis| axis.gather(&order)).collect::<Allocated<_>>()?;
        return Ok(Some((coords, gather(items, &order)?)));
    };
    let keys = |range: Range<usize>, from: u32, keys: &mut [u64]| pack(&packing, &axes, range, from, keys);
    let mut sorted = Buckets::scatter(items.len(), packing.bits(), 0, &keys, listed(items))?;
    sorted.sort(packing.bits_of_last(settled))?;
    Ok(Some((unpacked(&packing, &sorted.keys, coords[0].width())?, sorted.items)))
}

/// Returns the packing of coordinates into 64-bit keys. Returns `None` if the coordinates do not fit in a key, or if
/// there are few entries.
fn packing_of(axes: &CoordSlices<'_>, count: usize) -> Option<Packing> {
    match axes {
        CoordSlices::U32(own) => Packing::of_many(own, count),
        CoordSlices::U64(own) => Packing::of_many(own, count),
    }
}

/// Writes the keys of a range of entries.
fn pack(packing: &Packing, axes: &CoordSlices<'_>, range: Range<usize>, from: u32, keys: &mut [u64]) {
    match axes {
        CoordSlices::U32(own) => packing.pack(own, range, from, keys),
        CoordSlices::U64(own) => packing.pack(own, range, from, keys),
    }
}

/// Returns the coordinates of keys.
fn unpacked(packing: &Packing, keys: &[u64], width: Width) -> Allocated<Vec<AxisCoords>> {
    of_width!(width, I => {
        let coords = packing.unpack_all::<I>(keys, packing.zeros(keys.len())?);
        Ok(coords.into_iter().map(AxisCoords::from).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    #[test]
    fn packed_and_compared_entries_are_moved_with_their_values() {
        let small: [Vec<u64>; 2] = [vec![3, 0, 3, 0, 1], vec![1, 2, 1, 0, 0]];
        let large = small.clone().map(|axis| axis.into_iter().map(|coord| coord << 60).collect::<Vec<_>>());
        for coords in [small, large] {
            let coords = coords.map(AxisCoords::from);
            let order = order_of(&coords, 5).unwrap().unwrap();
            let (sorted, values) = row_major(&coords, 0, RawSlice::U8(&[5, 6, 7, 8, 9])).unwrap().unwrap();
            assert_eq!(u8::from_raw(values), [8, 6, 9, 5, 7]);
            let gathered = coords.iter().map(|axis| axis.gather(&order).unwrap());
            assert!(gathered.zip(&sorted).all(|(gathered, sorted)| gathered == *sorted));
        }
    }
}
