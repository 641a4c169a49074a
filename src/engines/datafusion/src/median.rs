//! Medians in several passes over the file. The first pass keeps all values of small groups; in large groups it counts
//! the numbers below and above the fill. If the middle is below or above, the next pass counts keys by their first 16
//! bits. Each further pass counts the keys that begin like the middle: by 16 more bits, or by all bits if few keys
//! begin like this. The values of a large group are never in memory together.

use std::collections::BTreeMap;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use lacuna::lazy::engine_api::{FillKey, Found, RankSearch};

use crate::bin::{Bits, PrefixSearch};
use crate::census::{Census, FillComparison, FillOrder, Saved};
use crate::run::{Bin, Passes};

/// The bits of a key that a pass adds.
const BITS: u32 = 16;

/// The largest count of keys that a pass counts by all bits. The number of bins is at most the number for 16 bits.
/// Debug builds use fewer, so that tests cover more passes.
const ALL: u64 = if cfg!(debug_assertions) { 8 } else { 1 << BITS };

/// A number that is searched.
#[derive(Debug, Clone)]
struct Target {
    group: usize,
    /// The index of the number among the two in the middle.
    which: usize,
    /// The rank among the numbers below and above the fill whose keys have the same prefix.
    rank: u64,
    /// The known leading bits of the key, and the number of keys with these bits.
    prefix: u64,
    count: u64,
}

/// The searched prefixes of keys, by the coordinates of a group.
pub(crate) type Prefixes = BTreeMap<Vec<u64>, Vec<u64>>;

/// Returns the keys of the two numbers in the middle of each group; `None` if the group does not have a median.
pub(crate) async fn keys(
    passes: &Passes<'_>,
    extent: u128,
    order: &dyn RankSearch,
    found: &[Found],
) -> Result<Vec<Option<[u64; 2]>>> {
    let (mut keys, mut targets) = (vec![None; found.len()], Vec::new());
    for (group, one) in found.iter().enumerate() {
        let (census, middle) = Census::of_answer(&one.state)
            .ok_or_else(|| exec_datafusion_err!("lacuna: an accumulator is not a count"))?;
        let unstored = extent.saturating_sub(one.count.into());
        keys[group] = match Span::of(unstored, order, &census) {
            None => None,
            Some(_) if middle.is_some() => middle,
            Some(span) => Some(span.targets(order, &census, group, &mut targets)),
        };
    }
    let (all, mut known) = (BITS * order.words(), 0);
    while known < all && !targets.is_empty() {
        let are_few = known > 0 && targets.iter().all(|target| target.count <= ALL);
        let bits = Bits { known, total: if are_few { all } else { known + BITS } };
        narrow(passes, found, &mut targets, bits).await?;
        known = bits.total;
    }
    for target in &targets {
        let key = order.complete(target.prefix << (u64::BITS - all));
        keys[target.group].get_or_insert([0; 2])[target.which] = key;
    }
    Ok(keys)
}

/// Returns the final bytes of a complete group with `unstored` unstored positions.
pub(crate) fn answer(unstored: u128, order: &dyn RankSearch, state: &[u8]) -> Option<Vec<u8>> {
    let saved = Saved::of(state)?;
    let span = Span::of(unstored, order, &saved.census);
    let middle = match span.zip(saved.keys()) {
        Some((span, keys)) => {
            let comparison = FillComparison::new(order);
            let keys: Vec<u64> = keys.collect();
            let below = keys.iter().filter(|&&key| comparison.compare(key) == FillOrder::Below).count();
            Some(span.middle(order, keys).filter(|_| below as u64 == saved.census.below)?)
        }
        None => None,
    };
    Some(saved.census.answer(middle))
}

/// The ranks of the fill in a group with a median, the number of all numbers, and the key of the fill.
struct Span {
    start: u128,
    end: u128,
    numbers: u128,
    fill_key: u64,
}

impl Span {
    /// Returns the span of a group with `unstored` unstored positions; `None` if the group does not have a median.
    fn of(unstored: u128, order: &dyn RankSearch, census: &Census) -> Option<Span> {
        let (fill_count, fill_key) = match order.fill_key() {
            FillKey::Number(first, _) => (unstored, first),
            FillKey::Nan if unstored > 0 && !order.skips_nan() => return None,
            FillKey::Nan | FillKey::Absent => (0, 0),
        };
        if census.nan > 0 && !order.skips_nan() {
            return None;
        }
        let start = u128::from(census.below);
        let end = (start + u128::from(census.equal)).saturating_add(fill_count);
        let numbers = end.saturating_add(census.above.into());
        (numbers > 0).then_some(Span { start, end, numbers, fill_key })
    }

    /// Returns the ranks of the middle among the numbers below and above the fill; `None` if the middle is the fill.
    fn others(&self, order: &dyn RankSearch) -> [Option<u128>; 2] {
        order.ranks(self.numbers).map(|rank| match rank {
            rank if rank < self.start => Some(rank),
            rank if rank < self.end => None,
            rank => Some(self.start + (rank - self.end)),
        })
    }

    /// Returns the keys in the middle, given all keys below and above the fill; `None` if keys are missing.
    fn middle(&self, order: &dyn RankSearch, mut keys: Vec<u64>) -> Option<[u64; 2]> {
        let mut middle = [self.fill_key; 2];
        for (rank, key) in self.others(order).into_iter().zip(&mut middle) {
            if let Some(rank) = rank {
                let at = usize::try_from(rank).ok().filter(|&at| at < keys.len())?;
                *key = *keys.select_nth_unstable(at).1;
            }
        }
        Some(middle)
    }

    /// Returns the key of the fill for both numbers in the middle. Numbers other than the fill become targets, whose
    /// keys replace the returned keys.
    fn targets(&self, order: &dyn RankSearch, census: &Census, group: usize, targets: &mut Vec<Target>) -> [u64; 2] {
        for (which, rank) in self.others(order).into_iter().enumerate() {
            let target = |rank| Target { group, which, rank: rank as u64, prefix: 0, count: census.others() };
            targets.extend(rank.map(target));
        }
        [self.fill_key; 2]
    }
}

/// Finds more bits of each key. Targets are in the order of their groups.
async fn narrow(passes: &Passes<'_>, found: &[Found], targets: &mut [Target], bits: Bits) -> Result<()> {
    let mut prefixes = Prefixes::new();
    for Target { group, prefix, .. } in &*targets {
        let of_group = prefixes.entry(found[*group].coords.clone()).or_default();
        if !of_group.contains(prefix) {
            of_group.push(*prefix);
        }
    }
    let search = PrefixSearch { groups: prefixes, bits };
    let mut groups = targets.chunk_by_mut(|one, other| one.group == other.group);
    let mut take = |coords: &[u64], bins: &[Bin]| {
        let of_group = groups.next().filter(|targets| found[targets[0].group].coords == coords);
        let of_group = of_group.ok_or_else(|| missing("a pass found other groups than expected"))?;
        of_group.iter_mut().try_for_each(|target| within(bins, bits, target))
    };
    passes.bins(&search, &mut take).await?;
    groups.next().map_or(Ok(()), |_| Err(missing("a pass found no values of a group")))
}

fn missing(what: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {what}")
}

/// Moves a target to the bin that contains it. The total must equal the earlier count; otherwise other entries were
/// read.
fn within(bins: &[Bin], bits: Bits, target: &mut Target) -> Result<()> {
    let of_target = || bins.iter().filter(|bin| bits.prefix(bin.key) == target.prefix);
    let all = of_target().try_fold(0, |all: u64, bin| all.checked_add(bin.count));
    if all != Some(target.count) {
        return Err(missing(&format!("a pass counted {all:?} values, expected {}", target.count)));
    }
    let mut before = 0;
    let bin = of_target().find(|bin| {
        before += bin.count;
        target.rank < before
    });
    let &Bin { key, count } = bin.ok_or_else(|| missing("a rank exceeds the number of values"))?;
    (target.rank, target.prefix, target.count) = (target.rank - (before - count), key, count);
    Ok(())
}
