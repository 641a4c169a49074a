//! Buffers that are written again: what one step of a chain has read through, a later one writes its results to.
//!
//! Memory of an allocator is cleared before a kernel may have it, which for a few thousand values takes as long as a
//! quick kernel. What lies in a spare buffer is overwritten as it is.

use std::any::Any;
use std::cell::RefCell;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};

/// So many are kept, each of at most so many bytes.
const COUNT: usize = 4;
const BYTES: usize = 1 << 17;

thread_local! {
    /// Vectors of any type, while this thread is [`within`] a chain.
    static SPARE: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
}

/// What `work` gives, in which buffers are kept for this thread: until it ends, or the work around it that keeps some.
pub(crate) fn within<R>(work: impl FnOnce() -> R) -> R {
    let is_outer = SPARE.try_with(|spare| {
        let is_none = spare.borrow().is_none();
        spare.borrow_mut().get_or_insert_default();
        is_none
    });
    // A scope that is made and dropped at once would clear what is kept.
    let _scope = is_outer.unwrap_or(false).then(|| Scope);
    work()
}

/// Nothing is kept when this goes.
struct Scope;

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SPARE.try_with(|spare| spare.take());
    }
}

/// Keeps a vector whose items nobody reads any more.
pub(crate) fn keep<T: 'static>(items: Vec<T>) {
    let bytes = items.capacity().saturating_mul(size_of::<T>());
    let _ = SPARE.try_with(|spare| {
        if let Some(kept) = spare.borrow_mut().as_mut().filter(|kept| kept.len() < COUNT && bytes <= BYTES) {
            kept.push(Box::new(items));
        }
    });
}

/// `count` items that are all still to be written.
pub(crate) fn items<T: Zeroable + 'static>(count: usize) -> Allocated<Vec<T>> {
    match SPARE.try_with(|spare| taken(spare.borrow_mut().as_mut()?, count)) {
        Ok(Some(mut items)) => {
            // The capacity is there.
            items.resize_with(count, T::zeroed);
            Ok(items)
        }
        _ => alloc::zeros(count),
    }
}

/// A vector of these with such a capacity.
fn taken<T: 'static>(kept: &mut Vec<Box<dyn Any>>, count: usize) -> Option<Vec<T>> {
    let fits = |items: &Box<dyn Any>| items.downcast_ref::<Vec<T>>().is_some_and(|items| items.capacity() >= count);
    let at = kept.iter().position(fits).filter(|_| count > 0)?;
    Some(*kept.swap_remove(at).downcast::<Vec<T>>().ok()?)
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
            // As long as it was at first, though a shorter one was asked for.
            keep(vec![5u32, 6, 7]);
            keep(items::<u32>(1).unwrap());
            assert_eq!((items::<u32>(0), items::<u32>(3)), (Ok(vec![]), Ok(vec![5, 0, 0])));
            keep(vec![7u8; BYTES + 1]);
            assert_eq!(items::<u8>(1), Ok(vec![0]));
        });
        assert_eq!(items::<f32>(1), Ok(vec![0.0]));
    }
}
