//! Memory for large results, in huge pages if Linux provides them.
//!
//! At the first touch of a new buffer, the kernel finds and clears memory. This takes longer than the write. Huge pages
//! reduce this time (`docs/decisions/0008-the-machine.md`).

use std::borrow::Cow;

use bytemuck::Zeroable;

use crate::base::machine::advise_huge_pages;

/// The smallest buffer for which huge pages are requested. For smaller buffers, allocators usually reuse memory that
/// was touched before.
const WORTH_ASKING: usize = 4 << 20;

/// A failed allocation, with the number of requested bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocError {
    pub(crate) bytes: u128,
}

/// The result of a function that allocates.
pub(crate) type Allocated<T> = Result<T, AllocError>;

impl AllocError {
    /// Returns the error for `count` items of `T`.
    pub(crate) fn of<T>(count: usize) -> Self {
        AllocError { bytes: count as u128 * size_of::<T>() as u128 }
    }
}

/// Returns an empty vector with a capacity of `count` items.
pub(crate) fn with_capacity<T>(count: usize) -> Allocated<Vec<T>> {
    let mut items = Vec::new();
    reserve_exact(&mut items, count)?;
    Ok(items)
}

/// Reserves memory for exactly `count` more items.
pub(crate) fn reserve_exact<T>(items: &mut Vec<T>, count: usize) -> Allocated<()> {
    items.try_reserve_exact(count).map_err(|_| AllocError::of::<T>(items.len().saturating_add(count)))?;
    prefer_huge(items.spare_capacity_mut());
    Ok(())
}

/// Reserves memory for `count` more items. If the items must move, the capacity at least doubles.
///
/// If an array grows this way, each item is copied about once in total.
pub(crate) fn reserve<T>(items: &mut Vec<T>, count: usize) -> Allocated<()> {
    items.try_reserve(count).map_err(|_| AllocError::of::<T>(items.len().saturating_add(count)))
}

/// Appends an item. The other items move as in [`reserve`].
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> Allocated<()> {
    reserve(items, 1)?;
    items.push(item);
    Ok(())
}

/// Appends copies of `more`. The other items move as in [`reserve`].
pub(crate) fn extend<T: Copy>(items: &mut Vec<T>, more: &[T]) -> Allocated<()> {
    reserve(items, more.len())?;
    items.extend_from_slice(more);
    Ok(())
}

/// Reserves memory for one more item, in a list of at most `max_len` items.
pub(crate) fn make_room<T>(items: &mut Vec<T>, max_len: usize) -> Allocated<()> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    let more = (items.len() / 2).max(1024).min(max_len.saturating_sub(items.len())).max(1);
    reserve_exact(items, more)
}

/// Returns `count` items that are zero. Fresh memory from the allocator stays untouched.
pub(crate) fn zeros<T: Zeroable>(count: usize) -> Allocated<Vec<T>> {
    let items = bytemuck::allocation::try_zeroed_vec(count).map_err(|()| AllocError::of::<T>(count))?;
    prefer_huge(&items);
    Ok(items)
}

/// Returns `count` copies of `item`.
pub(crate) fn copies<T: Copy>(item: T, count: usize) -> Allocated<Vec<T>> {
    let mut items = with_capacity(count)?;
    items.resize(count, item);
    Ok(items)
}

/// Returns the items of an iterator of known length.
pub(crate) fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Allocated<Vec<T>> {
    let mut collected = with_capacity(items.len())?;
    collected.extend(items);
    Ok(collected)
}

/// Returns a list to write into. An owned list is not copied.
pub(crate) fn owned<T: Copy>(list: Cow<'_, [T]>) -> Allocated<Vec<T>> {
    match list {
        Cow::Borrowed(list) => collect(list.iter().copied()),
        Cow::Owned(list) => Ok(list),
    }
}

/// Returns the items of an iterator of unknown length.
pub(crate) fn collect_some<T>(mut items: impl Iterator<Item = T>) -> Allocated<Vec<T>> {
    let mut collected = Vec::new();
    items.try_for_each(|item| push(&mut collected, item))?;
    Ok(collected)
}

/// Collects fallible items like [`collect`], or returns the first error.
pub(crate) fn try_collect<T, E: From<AllocError>>(
    items: impl ExactSizeIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut collected = with_capacity(items.len())?;
    for item in items {
        collected.push(item?);
    }
    Ok(collected)
}

/// Returns the items of all `lists`, in order. A single list is not copied.
pub(crate) fn concat<T: Copy>(mut lists: Vec<Vec<T>>) -> Allocated<Vec<T>> {
    if lists.len() == 1 {
        return Ok(lists.remove(0));
    }
    let mut all = with_capacity(lists.iter().map(Vec::len).sum())?;
    // Each list is freed after it is copied.
    lists.into_iter().for_each(|list| all.extend_from_slice(&list));
    Ok(all)
}

/// Requests huge pages for a large buffer. Call the function before the first touch of the buffer.
///
/// The contents of the buffer are the same whether or not the kernel provides huge pages.
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
            let mut items: Vec<u64> = with_capacity(count).unwrap();
            assert!(items.is_empty() && items.capacity() >= count);
            items.extend(0..count as u64);
            assert!(items.iter().enumerate().all(|(at, &item)| item == at as u64));
            let mut zeros: Vec<u64> = zeros(count).unwrap();
            assert!(zeros.len() == count && zeros.iter().all(|&item| item == 0));
            zeros.copy_from_slice(&items);
            assert_eq!(zeros, items);
        }
        assert_eq!(zeros::<()>(usize::MAX).unwrap().len(), usize::MAX);
    }

    #[test]
    fn room_that_no_machine_has_is_an_error_and_keeps_what_is_there() {
        let count = usize::MAX / 8;
        let rejection = AllocError { bytes: u128::from(u64::MAX - 7) };
        assert_eq!(with_capacity::<u64>(count), Err(rejection));
        assert_eq!(zeros::<u64>(count), Err(rejection));
        assert_eq!(copies(1u64, count), Err(rejection));
        let (mut items, rejection) = (vec![7u64], AllocError { bytes: rejection.bytes + 8 });
        assert_eq!(reserve_exact(&mut items, count), Err(rejection));
        assert_eq!(reserve(&mut items, count), Err(rejection));
        assert_eq!(items, [7]);
        assert_eq!(collect([1, 2].iter()), Ok(vec![&1, &2]));
    }
}
