//! Memory for large results, in huge pages where Linux has them to give.
//!
//! A new buffer costs more in the memory that the kernel has to find and clear at the first touch than in what is
//! written there, and less in huge pages of it (`docs/decisions/0008-the-machine.md`).

use std::borrow::Cow;

use bytemuck::Zeroable;

use crate::base::machine::advise_huge_pages;

/// Smaller buffers are not worth a call: an allocator mostly hands out again what was touched before.
const WORTH_ASKING: usize = 4 << 20;

/// The machine did not give so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocError {
    pub(crate) bytes: u128,
}

/// What needs memory, if the machine gave it.
pub(crate) type Allocated<T> = Result<T, AllocError>;

impl AllocError {
    /// For `count` items of `T`.
    pub(crate) fn of<T>(count: usize) -> Self {
        AllocError { bytes: count as u128 * size_of::<T>() as u128 }
    }
}

/// An empty vector with a capacity of `count` items.
pub(crate) fn with_capacity<T>(count: usize) -> Allocated<Vec<T>> {
    let mut items = Vec::new();
    reserve_exact(&mut items, count)?;
    Ok(items)
}

/// Room for exactly so many items more.
pub(crate) fn reserve_exact<T>(items: &mut Vec<T>, count: usize) -> Allocated<()> {
    items.try_reserve_exact(count).map_err(|_| AllocError::of::<T>(items.len().saturating_add(count)))?;
    prefer_huge(items.spare_capacity_mut());
    Ok(())
}

/// Room for so many items more, and for as many as there are besides where the items must move for them: an array that
/// grows so is copied once for each item in all.
pub(crate) fn reserve<T>(items: &mut Vec<T>, count: usize) -> Allocated<()> {
    items.try_reserve(count).map_err(|_| AllocError::of::<T>(items.len().saturating_add(count)))
}

/// Puts an item behind the others, which move as [`reserve`] has it.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> Allocated<()> {
    reserve(items, 1)?;
    items.push(item);
    Ok(())
}

/// Puts copies of `more` behind the items, which [`reserve`] moves where they must be.
pub(crate) fn extend<T: Copy>(items: &mut Vec<T>, more: &[T]) -> Allocated<()> {
    reserve(items, more.len())?;
    items.extend_from_slice(more);
    Ok(())
}

/// Room for one more item in a list of at most `most`.
pub(crate) fn make_room<T>(items: &mut Vec<T>, most: usize) -> Allocated<()> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    let more = (items.len() / 2).max(1024).min(most.saturating_sub(items.len())).max(1);
    reserve_exact(items, more)
}

/// `count` items that are zero, whose memory has not been touched where the allocator gave it fresh.
pub(crate) fn zeros<T: Zeroable>(count: usize) -> Allocated<Vec<T>> {
    let items = bytemuck::allocation::try_zeroed_vec(count).map_err(|()| AllocError::of::<T>(count))?;
    prefer_huge(&items);
    Ok(items)
}

/// `count` copies of `item`.
pub(crate) fn copies<T: Copy>(item: T, count: usize) -> Allocated<Vec<T>> {
    let mut items = with_capacity(count)?;
    items.resize(count, item);
    Ok(items)
}

/// The items of an iterator that tells how many they are.
pub(crate) fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Allocated<Vec<T>> {
    let mut collected = with_capacity(items.len())?;
    collected.extend(items);
    Ok(collected)
}

/// A list to write into: this one, if it is owned.
pub(crate) fn owned<T: Copy>(list: Cow<'_, [T]>) -> Allocated<Vec<T>> {
    match list {
        Cow::Borrowed(list) => collect(list.iter().copied()),
        Cow::Owned(list) => Ok(list),
    }
}

/// Items of which nobody knows how many there are.
pub(crate) fn collect_some<T>(mut items: impl Iterator<Item = T>) -> Allocated<Vec<T>> {
    let mut collected = Vec::new();
    items.try_for_each(|item| push(&mut collected, item))?;
    Ok(collected)
}

/// [`collect`] of items that may each be refused; the first one that is ends it.
pub(crate) fn try_collect<T, E: From<AllocError>>(
    items: impl ExactSizeIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut collected = with_capacity(items.len())?;
    for item in items {
        collected.push(item?);
    }
    Ok(collected)
}

/// The items of all `lists`, in order: the list itself where there is only one.
pub(crate) fn concat<T: Copy>(mut lists: Vec<Vec<T>>) -> Allocated<Vec<T>> {
    if lists.len() == 1 {
        return Ok(lists.remove(0));
    }
    let mut all = with_capacity(lists.iter().map(Vec::len).sum())?;
    // One after the other is given back once it is copied.
    lists.into_iter().for_each(|list| all.extend_from_slice(&list));
    Ok(all)
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
        let refused = AllocError { bytes: u128::from(u64::MAX - 7) };
        assert_eq!(with_capacity::<u64>(count), Err(refused));
        assert_eq!(zeros::<u64>(count), Err(refused));
        assert_eq!(copies(1u64, count), Err(refused));
        let (mut items, refused) = (vec![7u64], AllocError { bytes: refused.bytes + 8 });
        assert_eq!(reserve_exact(&mut items, count), Err(refused));
        assert_eq!(reserve(&mut items, count), Err(refused));
        assert_eq!(items, [7]);
        assert_eq!(collect([1, 2].iter()), Ok(vec![&1, &2]));
    }
}
