//! Buffers that are overwritten: a step of a chain writes to a buffer that an earlier step has read.
//!
//! Similarly, a chunk of a tensor reuses the buffers of an earlier chunk. New memory must be cleared before a kernel
//! can write to it. Clearing takes as long as a fast kernel. A spare buffer is not cleared.

use std::any::Any;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};

/// The number of buffers kept per chain, each of at most [`BYTES`].
const COUNT: usize = 4;
const BYTES: usize = 1 << 17;

/// The number of buffers kept for chunks: the arrays of one or two tensors.
const OF_RANGES: usize = 32;

thread_local! {
    /// The kept buffers while this thread runs [`within`] a chain, or [`ChunkBuffers::within`] a chunk.
    static SPARE: RefCell<Option<BufferPool>> = const { RefCell::new(None) };
}

/// Vectors of any type, the oldest one first.
struct BufferPool {
    buffers: Vec<SpareBuffer>,
    /// The largest number of buffers, and the largest number of bytes of each buffer and of all buffers.
    count: usize,
    each: usize,
    all: usize,
}

struct SpareBuffer {
    items: Box<dyn Any + Send>,
    bytes: usize,
}

impl BufferPool {
    fn of_a_chain() -> Self {
        BufferPool { buffers: Vec::new(), count: COUNT, each: BYTES, all: COUNT * BYTES }
    }

    fn keep<T: Send + 'static>(&mut self, items: Vec<T>) {
        let bytes = items.capacity().saturating_mul(size_of::<T>());
        if bytes > self.each.min(self.all) || bytes == 0 {
            return;
        }
        let mut left: usize = self.buffers.iter().map(|spare| spare.bytes).sum();
        // The oldest buffers are dropped.
        while self.buffers.len() >= self.count || left > self.all - bytes {
            left -= self.buffers.remove(0).bytes;
        }
        self.buffers.push(SpareBuffer { items: Box::new(items), bytes });
    }

    /// Returns the vector whose capacity is in this range and nearest to `count`, at least `count` if possible.
    fn take<T: 'static>(&mut self, count: usize, range: RangeInclusive<usize>) -> Option<Vec<T>> {
        let capacity = |spare: &SpareBuffer| spare.items.downcast_ref::<Vec<T>>().map(Vec::capacity);
        let found = self.buffers.iter().enumerate().filter_map(|(at, spare)| Some((capacity(spare)?, at)));
        let found = found.filter(|(capacity, _)| range.contains(capacity));
        let (_, at) = found.min_by_key(|&(capacity, _)| (capacity < count, capacity.abs_diff(count)))?;
        Some(*self.buffers.remove(at).items.downcast().ok()?)
    }
}

/// Runs `work` and keeps buffers of this thread until `work` ends. Nested calls keep the buffers until the outermost
/// call ends.
pub(crate) fn within<R>(work: impl FnOnce() -> R) -> R {
    let is_outer = SPARE.try_with(|spare| {
        let is_none = spare.borrow().is_none();
        spare.borrow_mut().get_or_insert_with(BufferPool::of_a_chain);
        is_none
    });
    // An eager `then_some` would create and drop a scope, which clears the kept buffers.
    let _scope = is_outer.unwrap_or(false).then(|| Scope(None));
    work()
}

/// The buffers that are kept again after this value is dropped.
struct Scope(Option<BufferPool>);

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SPARE.try_with(|spare| spare.replace(self.0.take()));
    }
}

/// Buffers of the chunks of a tensor: one set per chunk in progress.
pub(crate) struct ChunkBuffers {
    sets: Mutex<Vec<BufferPool>>,
    /// The bytes of each set.
    bytes: usize,
}

impl ChunkBuffers {
    pub(crate) fn new(bytes: u64) -> Self {
        ChunkBuffers { sets: Mutex::default(), bytes: usize::try_from(bytes).unwrap_or(usize::MAX) }
    }

    /// Runs `work`, which can reuse the buffers of earlier chunks.
    pub(crate) fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let sets = || self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let none = || BufferPool { buffers: Vec::new(), count: OF_RANGES, each: self.bytes, all: self.bytes };
        let set = sets().pop().unwrap_or_else(none);
        let before = SPARE.try_with(|spare| spare.replace(Some(set)));
        let scope = before.ok().map(Scope);
        let found = work();
        let set = SPARE.try_with(|spare| spare.take());
        drop(scope);
        sets().extend(set.ok().flatten());
        found
    }
}

/// Keeps a vector whose items are not needed any more.
pub(crate) fn keep<T: Send + 'static>(items: Vec<T>) {
    let _ = SPARE.try_with(|spare| {
        if let Some(kept) = spare.borrow_mut().as_mut() {
            kept.keep(items);
        }
    });
}

/// Returns `count` items that must all be written: old items or zeros.
pub(crate) fn items<T: Zeroable + 'static>(count: usize) -> Allocated<Vec<T>> {
    // A result keeps the capacity of its buffer, so a buffer with more than twice the needed capacity is not used.
    match taken(count, count..=count.saturating_mul(2)) {
        Some(mut items) => {
            // The capacity is sufficient, so this call does not allocate.
            items.resize_with(count, T::zeroed);
            Ok(items)
        }
        _ => alloc::zeros(count),
    }
}

/// Returns an empty vector, with a capacity of at least half of `count` if such a spare vector exists.
#[cfg(feature = "parquet")]
pub(crate) fn room<T: 'static>(count: usize) -> Vec<T> {
    let mut items = taken(count, count / 2..=count.saturating_mul(2)).unwrap_or_default();
    items.clear();
    items
}

/// Returns the largest spare vector with its items, or an empty one.
#[cfg(feature = "parquet")]
pub(crate) fn kept<T: 'static>() -> Vec<T> {
    taken(usize::MAX, 1..=usize::MAX).unwrap_or_default()
}

fn taken<T: 'static>(count: usize, range: RangeInclusive<usize>) -> Option<Vec<T>> {
    let take = |spare: &RefCell<Option<BufferPool>>| spare.borrow_mut().as_mut()?.take(count, range);
    if count == 0 { None } else { SPARE.try_with(take).ok()? }
}

/// The largest ratio of the reserved entries of a list to the needed ones.
#[cfg(feature = "parquet")]
const GROWTH: usize = 64;

/// Reserves memory for `more` items: for all `max_len` items, or for a part of them if `max_len` is far more than
/// needed.
///
/// A growing list is therefore rarely copied. A wrong size in a file footer cannot reserve memory for all claimed
/// items.
#[cfg(feature = "parquet")]
pub(crate) fn reserve_up_to<T: 'static>(items: &mut Vec<T>, more: usize, max_len: usize) -> Allocated<()> {
    let wanted = items.len() + more;
    if wanted > items.capacity() {
        let mut room = max_len.max(wanted);
        while room / GROWTH >= wanted.max(1) {
            room /= GROWTH;
        }
        if items.capacity() == 0 {
            *items = self::room(room);
        }
        alloc::reserve_exact(items, room - items.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_written_again_within_a_chain_alone() {
        keep(vec![1u32, 2, 3]);
        assert_eq!(items::<u32>(2), Ok(vec![0, 0]));
        within(|| {
            keep(vec![1u32, 2, 3]);
            keep(vec![4.0f32]);
            within(|| assert_eq!(items::<f32>(1), Ok(vec![4.0])));
            keep(vec![4.0f32]);
            assert_eq!(items::<u32>(4), Ok(vec![0; 4]));
            assert_eq!(items::<u32>(2), Ok(vec![1, 2]));
            assert_eq!((items::<u32>(2), items::<f32>(1)), (Ok(vec![0, 0]), Ok(vec![4.0])));
            // A vector has its first length again after a shorter length was requested.
            keep(vec![5u32, 6, 7]);
            keep(items::<u32>(2).unwrap());
            assert_eq!((items::<u32>(0), items::<u32>(3)), (Ok(vec![]), Ok(vec![5, 6, 0])));
            // A result must not keep many times the memory that it needs.
            keep(vec![5u32, 6, 7]);
            assert_eq!((items::<u32>(1), items::<u32>(3)), (Ok(vec![0]), Ok(vec![5, 6, 7])));
            keep(vec![7u8; BYTES + 1]);
            assert_eq!(items::<u8>(1), Ok(vec![0]));
            // The oldest vector is dropped if there are too many.
            (0..=COUNT as u16).for_each(|number| keep(vec![number]));
            assert_eq!(items::<u16>(1), Ok(vec![1]));
        });
        assert_eq!(items::<f32>(1), Ok(vec![0.0]));
    }

    #[test]
    fn buffers_of_a_range_are_those_of_a_later_one() {
        let (chunk_buffers, count) = (ChunkBuffers::new(BYTES as u64 * 5), BYTES / 4);
        let numbers = |first: u64| (first..first + count as u64).collect::<Vec<u64>>();
        chunk_buffers.within(|| keep(numbers(7)));
        assert_eq!(items::<u64>(1), Ok(vec![0]));
        within(|| {
            keep(vec![5u64]);
            chunk_buffers.within(|| {
                // A buffer is not used for far fewer items, and is not returned twice.
                assert_eq!(items::<u64>(count / 3), Ok(vec![0; count / 3]));
                assert_eq!((items::<u64>(count), items::<u64>(count)), (Ok(numbers(7)), Ok(vec![0; count])));
                keep(numbers(1));
                keep(vec![0u64; count + 1]);
                assert_eq!(items::<u64>(count + 2).map(|items| items[1]), Ok(0));
                assert_eq!(items::<u64>(count), Ok(numbers(1)));
                // All buffers together stay within the allowed bytes.
                (0..3).for_each(|first| keep(numbers(first)));
                assert_eq!((items::<u64>(count), items::<u64>(count)), (Ok(numbers(1)), Ok(numbers(2))));
                assert_eq!(items::<u64>(count), Ok(vec![0; count]));
            });
            // The buffer that the thread kept before is available again.
            assert_eq!(items::<u64>(1), Ok(vec![5]));
        });
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn lists_grow_by_shares_of_what_may_come() {
        let (max_len, mut items) = (1_000_000, Vec::<u8>::new());
        let mut capacities = Vec::new();
        while items.len() < max_len {
            reserve_up_to(&mut items, 500, max_len).unwrap();
            items.resize(items.len() + 500, 0);
            capacities.push(items.capacity());
        }
        capacities.dedup();
        assert_eq!(capacities, [15_625, max_len]);
        // A footer may claim fewer items than exist.
        reserve_up_to(&mut items, 500, 10).unwrap();
        assert!(items.capacity() >= max_len + 500);
    }
}
