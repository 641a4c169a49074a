//! Short lists without an allocation.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::vec;

/// A list that stores up to two items without an allocation.
///
/// With one thread, work usually has one part, and tensors have few axes. The code is compiled for each type of items.
/// It is a fifth as large as the code of `smallvec` (`docs/decisions/0021-patterns-at-run-time.md`).
#[derive(Debug, Clone)]
pub(crate) enum Few<T> {
    One([T; 1]),
    Two([T; 2]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    pub(crate) const fn new() -> Self {
        Few::Many(Vec::new())
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Few::One(items) => items.into(),
            Few::Two(items) => items.into(),
            Few::Many(items) => items,
        }
    }
}

impl<T> Few<T> {
    /// Returns `f` of each item, in order.
    pub(crate) fn map<U>(self, f: &mut dyn FnMut(T) -> U) -> Few<U> {
        match self {
            Few::One([item]) => Few::One([f(item)]),
            Few::Two([first, second]) => Few::Two([f(first), f(second)]),
            Few::Many(items) => {
                let mut mapped = Vec::with_capacity(items.len());
                for item in items {
                    mapped.push(f(item));
                }
                Few::Many(mapped)
            }
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few::new()
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::One(items) => items,
            Few::Two(items) => items,
            Few::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(items) => items,
            Few::Two(items) => items,
            Few::Many(items) => items,
        }
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T: Hash> Hash for Few<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Self {
        Few::Many(items)
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        few_of(&mut || items.next())
    }
}

/// Collects items. The function is compiled once per type of items, for any source.
fn few_of<T>(next: &mut dyn FnMut() -> Option<T>) -> Few<T> {
    let Some(first) = next() else { return Few::new() };
    let Some(second) = next() else { return Few::One([first]) };
    let Some(third) = next() else { return Few::Two([first, second]) };
    let mut all = vec![first, second, third];
    while let Some(item) = next() {
        all.push(item);
    }
    Few::Many(all)
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        match self {
            Few::One([first]) => IntoIter { first: Some(first), second: None, rest: Vec::new().into_iter() },
            Few::Two([first, second]) => {
                IntoIter { first: Some(first), second: Some(second), rest: Vec::new().into_iter() }
            }
            Few::Many(items) => IntoIter { first: None, second: None, rest: items.into_iter() },
        }
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}

/// The items of a list, one after the other.
pub(crate) struct IntoIter<T> {
    first: Option<T>,
    second: Option<T>,
    rest: vec::IntoIter<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match (self.first.take(), self.second.take()) {
            (None, None) => self.rest.next(),
            (None, second) => second,
            (first, second) => {
                self.second = second;
                first
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = usize::from(self.first.is_some()) + usize::from(self.second.is_some()) + self.rest.len();
        (count, Some(count))
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_keep_their_items_in_order() {
        for length in 0..6 {
            let few: Few<usize> = (0..length).collect();
            let expected: Vec<usize> = (0..length).collect();
            assert_eq!(*few, *expected);
            assert!(few == Few::from(expected.clone()), "a list equals one that holds its items elsewhere");
            let mut items = few.clone().into_iter();
            for left in (0..length).rev() {
                assert_eq!(items.next(), Some(length - 1 - left));
                assert_eq!(items.len(), left);
            }
            assert_eq!((items.next(), few.into_vec()), (None, expected));
        }
    }
}
