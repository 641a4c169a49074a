//! Shared arrays, which hold values and coordinates.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::base::alloc::{self, Allocated};
use crate::base::recycle;
use crate::element::Element;

/// A range of an array that may have several owners.
///
/// Cloning or slicing a buffer does not copy items. A writer first copies the range if the array has other owners. The
/// buffer dereferences to a slice. Loops must bind the slice once, because each access through the buffer checks the
/// range.
pub(crate) struct Buffer<T> {
    items: Arc<Vec<T>>,
    /// The range of the buffer, always inside the items.
    range: Range<usize>,
}

impl<T> Buffer<T> {
    /// Returns a window of the same memory. Panics like a slice if the range is outside the buffer.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let length = self[range.clone()].len();
        let start = self.range.start + range.start;
        Buffer { items: Arc::clone(&self.items), range: start..start + length }
    }

    /// Returns whether both buffers share the same memory. Equal contents are not enough.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.items, &other.items) && self.range == other.range
    }

    fn is_whole(&self) -> bool {
        self.range.len() == self.items.len()
    }
}

impl<T: Send + 'static> Buffer<T> {
    /// Keeps the array for [reuse](recycle), if the array is not shared.
    pub(crate) fn recycle(self) {
        if let Ok(items) = Arc::try_unwrap(self.items) {
            recycle::keep(items);
        }
    }
}

impl<T: Copy> Buffer<T> {
    /// Returns the items as a vector. Copies the items if the array has other owners, or if the buffer is only a part
    /// of the array.
    pub(crate) fn into_vec(mut self) -> Allocated<Vec<T>> {
        if self.is_whole() {
            match Arc::try_unwrap(self.items) {
                Ok(items) => return Ok(items),
                Err(shared) => self.items = shared,
            }
        }
        self.copied()
    }

    fn copied(&self) -> Allocated<Vec<T>> {
        alloc::collect(self.iter().copied())
    }

    /// Returns the items for writing in place. Copies the range first if the array has other owners.
    pub(crate) fn make_mut(&mut self) -> Allocated<&mut [T]> {
        if Arc::get_mut(&mut self.items).is_none() {
            *self = Buffer::from(self.copied()?);
        }
        Ok(&mut Arc::make_mut(&mut self.items)[self.range.clone()])
    }
}

impl<T: Element> Buffer<T> {
    /// Returns `count` items that the caller must write. Reuses this array if it is not shared.
    ///
    /// After an error the buffer is unchanged.
    pub(crate) fn reuse(&mut self, count: usize) -> Allocated<&mut [T]> {
        match Arc::get_mut(&mut self.items) {
            Some(items) => {
                alloc::reserve_exact(items, count.saturating_sub(items.len()))?;
                items.resize(count, T::ZERO);
                self.range = 0..count;
            }
            None => *self = Buffer::from(alloc::zeros(count)?),
        }
        self.make_mut()
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[self.range.clone()]
    }
}

impl<T> AsRef<[T]> for Buffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Self {
        Buffer { range: 0..items.len(), items: Arc::new(items) }
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer::from(Vec::new())
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { items: Arc::clone(&self.items), range: self.range.clone() }
    }
}

/// Compares buffers of items that equal themselves, so buffers with the same memory are equal. Floats, which may be
/// NaN, are compared as slices.
impl<T: Eq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shares_with(other) || **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Buffer<u32> {
        Buffer::from(vec![0, 1, 2, 3, 4, 5])
    }

    #[test]
    fn a_window_is_the_same_memory() {
        let all = numbers();
        let window = all.slice(1..5);
        assert_eq!(*window, [1, 2, 3, 4]);
        assert!(std::ptr::eq(&window[0], &all[1]));
        let inner = window.slice(1..3);
        assert_eq!(*inner, [2, 3]);
        assert!(std::ptr::eq(&inner[0], &all[2]) && inner.shares_with(&all.slice(2..4)));
        assert!(!inner.shares_with(&window) && !inner.shares_with(&all.slice(2..5)) && !all.shares_with(&numbers()));
        assert!(window.slice(4..4).is_empty() && all.slice(6..6).is_empty() && Buffer::<u32>::default().is_empty());
        assert_eq!((&inner, format!("{inner:?}")), (&Buffer::from(vec![2, 3]), "[2, 3]".into()));
        assert_ne!(inner, Buffer::from(vec![2, 4]));
    }

    /// The array continues after the window. Items there are not part of the window.
    #[test]
    #[should_panic(expected = "out of range")]
    fn no_window_reaches_out_of_its_buffer() {
        drop(numbers().slice(1..3).slice(0..3));
    }

    #[test]
    fn who_writes_takes_a_copy_unless_it_is_alone() {
        let (mut one, other) = (numbers(), numbers());
        let at = one.as_ptr();
        one.make_mut().unwrap()[0] = 9;
        assert_eq!((one[0], one.as_ptr()), (9, at));
        let mut window = other.slice(2..4);
        window.make_mut().unwrap().copy_from_slice(&[8, 9]);
        assert_eq!((&*window, &*other), (&[8, 9][..], &[0, 1, 2, 3, 4, 5][..]));
        let mut alone = other.slice(3..5);
        drop(other);
        let at = alone.as_ptr();
        alone.make_mut().unwrap()[1] = 7;
        assert_eq!((&*alone, alone.as_ptr()), (&[3, 7][..], at));
    }

    #[test]
    fn a_vector_is_handed_out_without_a_copy_by_its_only_owner() {
        let all = numbers();
        let at = all.as_ptr();
        let window = all.slice(4..6);
        assert_eq!(window.into_vec(), Ok(vec![4, 5]));
        let second = all.clone();
        let (copy, own) = (second.into_vec().unwrap(), all.into_vec().unwrap());
        assert!(copy.as_ptr() != at && own.as_ptr() == at);
    }

    #[test]
    fn room_is_used_again_by_its_only_owner() {
        let mut all = numbers();
        let at = all.as_ptr();
        assert_eq!(all.reuse(4).unwrap().len(), 4);
        assert_eq!(all.reuse(6).unwrap().as_ptr(), at);
        let mut window = all.slice(2..3);
        window.reuse(2).unwrap().fill(7);
        assert_eq!((all.len(), window.shares_with(&all.slice(0..2))), (6, false));
        drop(all);
        assert!(window.reuse(usize::MAX / 4).is_err());
        assert_eq!(*window, [7, 7]);
    }
}
