//! What the first pass of a median finds of each group: how many values are NaN, and how many stand below, at and above
//! what is not stored, which tells where the middle is in most sparse groups; and the keys of those that stand below and
//! above, as long as they are few, so that no pass is needed for small groups.

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

/// So many keys are kept of a group; unoptimised of far fewer, so that tests meet larger ones.
pub(crate) const FEW: usize = if cfg!(debug_assertions) { 6 } else { 1 << 10 };

/// What the keys of all groups that are known together may take: a column of states has at most 2<sup>31</sup> bytes.
const HELD: usize = 1 << 29;

/// What is known of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) census: Census,
    /// The keys below and above what is not stored, in any order; none where they are too many.
    pub(crate) keys: Option<Vec<u64>>,
}

impl Default for Known {
    fn default() -> Self {
        Known { census: Census::default(), keys: Some(Vec::new()) }
    }
}

impl Census {
    fn add(&mut self, order: &dyn Ordered, key: u64) -> Option<Side> {
        let side = Side::of(order, key);
        *match side {
            Some(Side::Below) => &mut self.below,
            Some(Side::Above) => &mut self.above,
            None if order.is_nan(key) => &mut self.nan,
            None => &mut self.level,
        } += 1;
        side
    }

    fn words(&self) -> [u64; 4] {
        [self.nan, self.below, self.level, self.above]
    }

    /// What goes out of a group at the end: the counts, and the keys in the middle, if these are known.
    pub(crate) fn answer(&self, middle: Option<[u64; 2]>) -> Vec<u8> {
        self.words().into_iter().chain(middle.into_iter().flatten()).flat_map(u64::to_le_bytes).collect()
    }

    /// Of the bytes of an [`answer`](Census::answer).
    pub(crate) fn of_answer(bytes: &[u8]) -> Option<(Census, Option<[u64; 2]>)> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let word = |at: usize| words.get(at).map(|&word| u64::from_le_bytes(word));
        let census = Census { nan: word(0)?, below: word(1)?, level: word(2)?, above: word(3)? };
        match words.len() {
            4 => Some((census, None)),
            6 => Some((census, Some([word(4)?, word(5)?]))),
            _ => None,
        }
    }

    /// Takes in what was counted elsewhere. False where that is too much.
    fn merge(&mut self, other: &Census) -> bool {
        let sum = |at: usize| self.words()[at].checked_add(other.words()[at]);
        let [Some(nan), Some(below), Some(level), Some(above)] = [0, 1, 2, 3].map(sum) else { return false };
        *self = Census { nan, below, level, above };
        true
    }
}

impl Known {
    /// Of the bytes that [`save`](Partial::save) appends.
    pub(crate) fn of(bytes: &[u8]) -> Option<Known> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let (&[nan, below, level, above], keys) = words.split_first_chunk::<4>()?;
        let [nan, below, level, above] = [nan, below, level, above].map(u64::from_le_bytes);
        let all = below.checked_add(above)?;
        let keys = match keys.len() as u64 {
            0 if all > 0 => None,
            count if count == all => Some(keys.iter().map(|&key| u64::from_le_bytes(key)).collect()),
            _ => return None,
        };
        Some(Known { census: Census { nan, below, level, above }, keys })
    }

    fn add(&mut self, order: &dyn Ordered, key: u64) {
        if self.census.add(order, key).is_some() {
            self.keep(&[key]);
        }
    }

    /// Keeps more keys, unless they are too many with those that are kept.
    fn keep(&mut self, more: &[u64]) {
        match &mut self.keys {
            Some(keys) if keys.len() + more.len() <= FEW => keys.extend(more),
            keys => *keys = None,
        }
    }

    fn merge(&mut self, other: &Known) -> bool {
        match &other.keys {
            Some(keys) => self.keep(keys),
            None => self.keys = None,
        }
        self.census.merge(&other.census)
    }

    /// The bytes that the keys take.
    fn bytes(&self) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.capacity() * size_of::<u64>())
    }
}

/// What is known of some groups.
pub(crate) struct Counts {
    query: Arc<dyn Asks>,
    groups: Vec<Known>,
    /// The bytes that all keys take.
    held: usize,
}

impl Counts {
    pub(crate) fn new(query: Arc<dyn Asks>) -> Self {
        Counts { query, groups: Vec::new(), held: 0 }
    }

    /// What `change` makes of a group; false where there is no such group.
    fn change(&mut self, group: usize, change: impl FnOnce(&mut Known) -> bool) -> bool {
        let Some(known) = self.groups.get_mut(group) else { return false };
        let before = known.bytes();
        let is_changed = change(known);
        if self.held > HELD {
            known.keys = None;
        }
        self.held = self.held + known.bytes() - before;
        is_changed
    }
}

impl Partial for Counts {
    fn again(&self) -> Box<dyn Partial> {
        Box::new(Counts::new(Arc::clone(&self.query)))
    }

    fn resize(&mut self, groups: usize) -> Result<(), lacuna::lazy::outside::AllocError> {
        self.groups.resize(groups.max(self.groups.len()), Known::default());
        Ok(())
    }

    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool {
        let query = Arc::clone(&self.query);
        let Some(order) = query.order() else { return false };
        let Some(keys) = order.keys(values).filter(|keys| keys.len() == groups.len()) else { return false };
        keys.iter().zip(groups).all(|(&key, &group)| {
            self.change(group, |known| {
                known.add(order, key);
                true
            })
        })
    }

    fn merge(&mut self, group: usize, state: &[u8]) -> bool {
        Known::of(state).is_some_and(|other| self.change(group, |known| known.merge(&other)))
    }

    fn save(&self, group: usize, bytes: &mut Vec<u8>) {
        let Some(Known { census, keys }) = self.groups.get(group) else { return };
        let words = census.words().into_iter().chain(keys.iter().flatten().copied());
        words.for_each(|word| bytes.extend(word.to_le_bytes()));
    }

    fn drop_first(&mut self, groups: usize) {
        let gone = self.groups.drain(..groups.min(self.groups.len()));
        self.held -= gone.map(|known| known.bytes()).sum::<usize>();
        self.groups.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Known>() + self.held
    }
}
