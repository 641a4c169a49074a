//! Room for large results, in huge pages where Linux has them to give.
//!
//! A new buffer costs more in the pages that the kernel has to find and clear at the first touch than in what is written
//! there: copying 10^7 `f64` into one took 54 ms in pages of 4 KiB and 21 ms in pages of 2 MiB (`docs/decisions/0008`).

use crate::machine::advise_huge_pages;

/// Smaller buffers are not worth a call: an allocator mostly hands out again what was touched before.
const WORTH_ASKING: usize = 4 << 20;

/// An empty vector with room for `count` items.
pub(crate) fn room<T>(count: usize) -> Vec<T> {
    let mut room = Vec::new();
    reserve_exact(&mut room, count);
    room
}

/// Room for exactly so many items more.
pub(crate) fn reserve_exact<T>(items: &mut Vec<T>, count: usize) {
    items.reserve_exact(count);
    prefer_huge(items.spare_capacity_mut());
}

/// `count` items that are zero, whose pages have not been touched where the allocator gave fresh ones.
pub(crate) fn zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    copies(T::default(), count)
}

/// `count` copies of `item`. If that is a zero of a built-in type, the pages have not been touched as for [`zeros`].
pub(crate) fn copies<T: Copy>(item: T, count: usize) -> Vec<T> {
    let items = vec![item; count];
    prefer_huge(&items);
    items
}

/// Asks for huge pages behind a large buffer, best before its first touch; what the kernel answers makes no difference
/// to what the buffer holds.
pub(crate) fn prefer_huge<T>(buffer: &[T]) {
    if size_of_val(buffer) >= WORTH_ASKING {
        advise_huge_pages(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_all_sizes_hold_what_is_written() {
        for count in [0, 1, 1 << 10, (WORTH_ASKING / 8) - 1, WORTH_ASKING / 8, (3 << 20) + 5] {
            let mut room: Vec<u64> = room(count);
            assert!(room.is_empty() && room.capacity() >= count);
            room.extend(0..count as u64);
            assert!(room.iter().enumerate().all(|(at, &item)| item == at as u64));
            let mut zeros: Vec<u64> = zeros(count);
            assert!(zeros.len() == count && zeros.iter().all(|&item| item == 0));
            zeros.copy_from_slice(&room);
            assert_eq!(zeros, room);
        }
        assert_eq!(zeros::<()>(usize::MAX).len(), usize::MAX);
    }
}
