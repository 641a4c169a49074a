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
    let is_outer = SPARE.with_borrow(Option::is_none);
    let _scope = is_outer.then(|| {
        SPARE.set(Some(Vec::new()));
        Scope
    });
    work()
}

/// Nothing is kept when this goes.
struct Scope;

impl Drop for Scope {
    fn drop(&mut self) {
        SPARE.set(None);
    }
}

/// Keeps a vector whose items nobody reads any more.
pub(crate) fn keep<T: 'static>(items: Vec<T>) {
    SPARE.with_borrow_mut(|spare| {
        if let Some(kept) = spare.as_mut().filter(|kept| kept.len() < COUNT && size_of_val(&items[..]) <= BYTES) {
            kept.push(Box::new(items));
        }
    });
}

/// `count` items that are all still to be written.
pub(crate) fn items<T: Zeroable + 'static>(count: usize) -> Allocated<Vec<T>> {
    let found = SPARE.with_borrow_mut(|spare| {
        let kept = spare.as_mut()?;
        let fits = |items: &Box<dyn Any>| items.downcast_ref::<Vec<T>>().is_some_and(|items| items.len() >= count);
        let at = kept.iter().position(fits)?;
        kept.swap_remove(at).downcast::<Vec<T>>().ok()
    });
    match found {
        Some(mut items) => {
            items.truncate(count);
            Ok(*items)
        }
        None => alloc::zeros(count),
    }
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
            keep(vec![7u8; BYTES + 1]);
            assert_eq!(items::<u8>(1), Ok(vec![0]));
        });
        assert_eq!(items::<f32>(1), Ok(vec![0.0]));
    }
}
