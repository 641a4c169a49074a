//! What the first pass of a median finds of each group: how many values are NaN, and how many stand below, at and above
//! what is not stored. In most sparse groups that tells where the middle is.

use std::sync::Arc;

use lacuna::lazy::outside::{Gap, Ordered, Partial};

use crate::map::Asks;

/// The counts of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) nan: u64,
    pub(crate) below: u64,
    pub(crate) level: u64,
    pub(crate) above: u64,
}

/// On which side of what is not stored a number stands; below, if that is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Below,
    Above,
}

impl Side {
    /// That of a key; none of a NaN, and of what is not stored.
    pub(crate) fn of(order: &dyn Ordered, key: u64) -> Option<Side> {
        match order.gap() {
            _ if order.is_nan(key) => None,
            Gap::Level(first, last) if (first..=last).contains(&key) => None,
            Gap::Level(_, last) if key > last => Some(Side::Above),
            _ => Some(Side::Below),
        }
    }
}

impl Census {
    /// Of the bytes that [`save`](Partial::save) appends.
    pub(crate) fn of(bytes: &[u8]) -> Option<Census> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let &[nan, below, level, above] = words else { return None };
        let [nan, below, level, above] = [nan, below, level, above].map(u64::from_le_bytes);
        Some(Census { nan, below, level, above })
    }

    fn add(&mut self, order: &dyn Ordered, key: u64) {
        *match Side::of(order, key) {
            Some(Side::Below) => &mut self.below,
            Some(Side::Above) => &mut self.above,
            None if order.is_nan(key) => &mut self.nan,
            None => &mut self.level,
        } += 1;
    }

    fn words(&self) -> [u64; 4] {
        [self.nan, self.below, self.level, self.above]
    }
}

/// The counts of some groups.
pub(crate) struct Counts {
    query: Arc<dyn Asks>,
    groups: Vec<Census>,
}

impl Counts {
    pub(crate) fn new(query: Arc<dyn Asks>) -> Self {
        Counts { query, groups: Vec::new() }
    }
}

impl Partial for Counts {
    fn again(&self) -> Box<dyn Partial> {
        Box::new(Counts::new(Arc::clone(&self.query)))
    }

    fn resize(&mut self, groups: usize) -> Result<(), lacuna::lazy::outside::AllocError> {
        self.groups.resize(groups.max(self.groups.len()), Census::default());
        Ok(())
    }

    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool {
        let Some(order) = self.query.order() else { return false };
        let Some(keys) = order.keys(values).filter(|keys| keys.len() == groups.len()) else { return false };
        keys.iter()
            .zip(groups)
            .all(|(&key, &group)| self.groups.get_mut(group).map(|census| census.add(order, key)).is_some())
    }

    fn merge(&mut self, group: usize, state: &[u8]) -> bool {
        let Some((other, census)) = Census::of(state).zip(self.groups.get_mut(group)) else { return false };
        let sum = |at: usize| census.words()[at].checked_add(other.words()[at]);
        let [Some(nan), Some(below), Some(level), Some(above)] = [0, 1, 2, 3].map(sum) else { return false };
        *census = Census { nan, below, level, above };
        true
    }

    fn save(&self, group: usize, bytes: &mut Vec<u8>) {
        let words = self.groups.get(group).map(Census::words);
        words.into_iter().flatten().for_each(|word| bytes.extend(word.to_le_bytes()));
    }

    fn drop_first(&mut self, groups: usize) {
        self.groups.drain(..groups.min(self.groups.len()));
        self.groups.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Census>()
    }
}
