//! Short lists, which ask for no memory.

use std::hash::{Hash, Hasher};
use std::iter::Chain;
use std::ops::{Deref, DerefMut};
use std::{option, vec};

/// A list that holds up to two items itself: there is mostly one part where there is one thread, and tensors have few
/// axes.
#[derive(Debug, Clone)]
pub(crate) enum Few<T> {
    One([T; 1]),
    Two([T; 2]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// A list of one item.
    pub(crate) fn one(item: T) -> Self {
        Few::One([item])
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Self {
        Few::Many(items)
    }
}

impl<T> From<Few<T>> for Vec<T> {
    fn from(few: Few<T>) -> Self {
        match few {
            Few::Many(items) => items,
            few => few.into_iter().collect(),
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

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few::Many(Vec::new())
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

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return Few::default() };
        let Some(second) = items.next() else { return Few::One([first]) };
        let Some(third) = items.next() else { return Few::Two([first, second]) };
        Few::Many([first, second, third].into_iter().chain(items).collect())
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<Chain<option::IntoIter<T>, option::IntoIter<T>>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let (first, second, others) = match self {
            Few::One([first]) => (Some(first), None, Vec::new()),
            Few::Two([first, second]) => (Some(first), Some(second), Vec::new()),
            Few::Many(items) => (None, None, items),
        };
        first.into_iter().chain(second).chain(others)
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_items_come_back_in_order() {
        for count in 0..6 {
            let mut few: Few<String> = (0..count).map(|item| item.to_string()).collect();
            let items: Vec<String> = (0..count).map(|item| item.to_string()).collect();
            assert_eq!((&*few, few.iter().len()), (&items[..], count));
            assert_eq!(few.clone().into_iter().collect::<Vec<_>>(), items);
            assert!(few == items.clone().into() && few != (0..count + 1).map(|item| item.to_string()).collect());
            assert_eq!(Vec::from(few.clone()), items);
            few.iter_mut().for_each(|item| item.push('x'));
            assert!(few.into_iter().all(|item| item.ends_with('x')));
        }
        assert_eq!(Few::one(3), [3].into_iter().collect());
    }
}
