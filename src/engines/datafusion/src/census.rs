//! The first pass of a median: counts of NaN and of numbers below, at and above the fill, per group. In most sparse
//! groups the counts locate the middle. Small groups also keep the keys of numbers below and above the fill, so one
//! pass is enough.

use std::sync::Arc;

use lacuna::lazy::engine_api::{FillKey, Partial, RankSearch};

use crate::map::PlanQuery;

/// The counts of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) nan: u64,
    pub(crate) below: u64,
    pub(crate) equal: u64,
    pub(crate) above: u64,
}

/// The position of a value relative to the fill. If the fill is not a number, every number is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillOrder {
    Nan,
    Below,
    Equal,
    Above,
}

/// An order, and the position of the fill in that order.
pub(crate) struct FillComparison<'a> {
    order: &'a dyn RankSearch,
    fill_key: FillKey,
}

impl<'a> FillComparison<'a> {
    pub(crate) fn new(order: &'a dyn RankSearch) -> Self {
        FillComparison { order, fill_key: order.fill_key() }
    }

    pub(crate) fn compare(&self, key: u64) -> FillOrder {
        match self.fill_key {
            _ if self.order.is_nan(key) => FillOrder::Nan,
            FillKey::Number(first, last) if (first..=last).contains(&key) => FillOrder::Equal,
            FillKey::Number(_, last) if key > last => FillOrder::Above,
            _ => FillOrder::Below,
        }
    }

    /// Returns whether a key is a number below or above the fill.
    pub(crate) fn differs(&self, key: u64) -> bool {
        matches!(self.compare(key), FillOrder::Below | FillOrder::Above)
    }
}

/// The maximum number of keys that a group keeps. Debug builds keep far fewer, so that tests cover larger groups.
pub(crate) const FEW: usize = if cfg!(debug_assertions) { 6 } else { 1 << 12 };

/// The counts of a group, and the keys of a small group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupCensus {
    census: Census,
    /// The keys below and above the fill, in any order; `None` if there are more than [`FEW`].
    keys: Option<Vec<u64>>,
}

impl Default for GroupCensus {
    fn default() -> Self {
        GroupCensus { census: Census::default(), keys: Some(Vec::new()) }
    }
}

/// The counts and keys of a group in the bytes that stages exchange.
pub(crate) struct Saved<'a> {
    pub(crate) census: Census,
    keys: Option<&'a [[u8; 8]]>,
}

impl<'a> Saved<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let (&[nan, below, equal, above], keys) = words.split_first_chunk::<4>()?;
        let [nan, below, equal, above] = [nan, below, equal, above].map(u64::from_le_bytes);
        let all = below.checked_add(above)?;
        let keys = match keys.len() as u64 {
            0 if all > 0 => None,
            count if count == all => Some(keys),
            _ => return None,
        };
        Some(Saved { census: Census { nan, below, equal, above }, keys })
    }

    /// Returns the keys below and above the fill, if they are known.
    pub(crate) fn keys(&self) -> Option<impl ExactSizeIterator<Item = u64> + 'a> {
        self.keys.map(|keys| keys.iter().map(|&key| u64::from_le_bytes(key)))
    }
}

impl Census {
    /// Returns how many numbers are below or above the fill.
    pub(crate) fn others(&self) -> u64 {
        self.below.saturating_add(self.above)
    }

    fn add(&mut self, compare: FillOrder) {
        *match compare {
            FillOrder::Nan => &mut self.nan,
            FillOrder::Below => &mut self.below,
            FillOrder::Equal => &mut self.equal,
            FillOrder::Above => &mut self.above,
        } += 1;
    }

    fn words(&self) -> [u64; 4] {
        [self.nan, self.below, self.equal, self.above]
    }

    /// Returns the final bytes of a group: the counts, and the keys in the middle if they are known.
    pub(crate) fn answer(&self, middle: Option<[u64; 2]>) -> Vec<u8> {
        self.words().into_iter().chain(middle.into_iter().flatten()).flat_map(u64::to_le_bytes).collect()
    }

    /// Parses the bytes of an [`answer`](Census::answer).
    pub(crate) fn of_answer(bytes: &[u8]) -> Option<(Census, Option<[u64; 2]>)> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let word = |at: usize| words.get(at).map(|&word| u64::from_le_bytes(word));
        let census = Census { nan: word(0)?, below: word(1)?, equal: word(2)?, above: word(3)? };
        match words.len() {
            4 => Some((census, None)),
            6 => Some((census, Some([word(4)?, word(5)?]))),
            _ => None,
        }
    }

    /// Adds the counts of another part. Returns false on overflow.
    fn merge(&mut self, other: &Census) -> bool {
        let sum = |at: usize| self.words()[at].checked_add(other.words()[at]);
        let [Some(nan), Some(below), Some(equal), Some(above)] = [0, 1, 2, 3].map(sum) else { return false };
        *self = Census { nan, below, equal, above };
        true
    }
}

impl GroupCensus {
    fn add(&mut self, comparison: &FillComparison<'_>, keys: &[u64]) {
        keys.iter().for_each(|&key| self.census.add(comparison.compare(key)));
        match &mut self.keys {
            Some(kept) if self.census.others() <= FEW as u64 => {
                kept.extend(keys.iter().copied().filter(|&key| comparison.differs(key)));
            }
            kept => *kept = None,
        }
    }

    fn merge(&mut self, state: &[u8]) -> bool {
        let Some(other) = Saved::of(state) else { return false };
        let is_merged = self.census.merge(&other.census);
        match (&mut self.keys, other.keys()) {
            (Some(kept), Some(keys)) if self.census.others() <= FEW as u64 => kept.extend(keys),
            (kept, _) => *kept = None,
        }
        is_merged
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        let keys = self.keys.as_deref().unwrap_or_default();
        bytes.reserve(size_of_val(&self.census.words()) + size_of_val(keys));
        self.census.words().iter().chain(keys).for_each(|word| bytes.extend(word.to_le_bytes()));
    }

    /// Returns the bytes that the keys take.
    fn bytes(&self) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.capacity() * size_of::<u64>())
    }
}

/// The counts and keys of several groups.
pub(crate) struct Counts {
    query: Arc<dyn PlanQuery>,
    groups: Vec<GroupCensus>,
    /// The bytes that all keys take.
    held: usize,
}

impl Counts {
    pub(crate) fn new(query: Arc<dyn PlanQuery>) -> Self {
        Counts { query, groups: Vec::new(), held: 0 }
    }

    /// Applies `change` to a group; returns `None` if the group does not exist.
    fn change<R>(&mut self, group: usize, change: impl FnOnce(&mut GroupCensus) -> R) -> Option<R> {
        let group_census = self.groups.get_mut(group)?;
        let before = group_census.bytes();
        let result = change(group_census);
        self.held = self.held + group_census.bytes() - before;
        Some(result)
    }
}

impl Partial for Counts {
    fn again(&self) -> Box<dyn Partial> {
        Box::new(Counts::new(Arc::clone(&self.query)))
    }

    fn resize(&mut self, groups: usize) -> Result<(), lacuna::lazy::engine_api::AllocError> {
        self.groups.resize(groups.max(self.groups.len()), GroupCensus::default());
        Ok(())
    }

    fn add(&mut self, values: &[u8], groups: &[usize]) -> bool {
        let query = Arc::clone(&self.query);
        let Some(order) = query.order() else { return false };
        let Some(keys) = order.keys(values).filter(|keys| keys.len() == groups.len()) else { return false };
        let (comparison, mut start) = (FillComparison::new(order), 0);
        groups.chunk_by(|one, other| one == other).all(|run| {
            let taken = &keys[start..start + run.len()];
            start += run.len();
            self.change(run[0], |group_census| group_census.add(&comparison, taken)).is_some()
        })
    }

    fn merge(&mut self, group: usize, state: &[u8]) -> bool {
        self.change(group, |group_census| group_census.merge(state)) == Some(true)
    }

    fn take(&mut self, group: usize, bytes: &mut Vec<u8>) {
        if let Some(group_census) = self.change(group, std::mem::take) {
            group_census.save(bytes);
        }
    }

    fn drop_first(&mut self, groups: usize) {
        let gone = self.groups.drain(..groups.min(self.groups.len()));
        self.held -= gone.map(|group_census| group_census.bytes()).sum::<usize>();
        self.groups.shrink_to_fit();
    }

    /// Counts keys twice: emitting copies the keys into a column, whose size is not reported otherwise.
    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<GroupCensus>() + 2 * self.held
    }
}
