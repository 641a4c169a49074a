//! Medians: the first pass knows all values of small groups. Of the others it tells how many numbers stand below and
//! above what is not stored. If the middle is among these, the next pass counts them by the first 16 bits of their
//! keys, and then each pass those that begin as the middle does: by 16 bits more, or by all that are left, where few
//! begin so. No large group's values come together.

use std::collections::BTreeMap;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use lacuna::lazy::outside::{Found, Gap, Ordered};

use crate::bin::{Bits, Looks};
use crate::census::{Beside, Census, Saved, Stands};
use crate::run::{Bin, Passes};

/// The bits of a key that a pass adds.
const BITS: u32 = 16;

/// So many numbers are counted by all their bits, as they have no more bins by 16; unoptimised fewer, so that tests
/// meet more of them.
const ALL: u64 = if cfg!(debug_assertions) { 8 } else { 1 << BITS };

/// A number that is looked for.
#[derive(Debug, Clone)]
struct Target {
    group: usize,
    /// Which of the two in the middle it is.
    which: usize,
    /// Its rank among the numbers below and above what is not stored whose keys begin as its own.
    rank: u64,
    /// How its key begins, and how many numbers there are whose keys do.
    prefix: u64,
    count: u64,
}

/// What is looked for in a group, by its coordinates: how keys begin.
pub(crate) type Wanted = BTreeMap<Vec<u64>, Vec<u64>>;

/// Of each group the keys of the two numbers in the middle, if it has a median.
pub(crate) async fn keys(
    passes: &Passes<'_>,
    extent: u128,
    order: &dyn Ordered,
    found: &[Found],
) -> Result<Vec<Option<[u64; 2]>>> {
    let (mut keys, mut targets) = (vec![None; found.len()], Vec::new());
    for (group, one) in found.iter().enumerate() {
        let (census, middle) =
            Census::of_answer(&one.state).ok_or_else(|| exec_datafusion_err!("lacuna: a state is no count"))?;
        let gaps = extent.saturating_sub(one.count.into());
        keys[group] = match Span::of(gaps, order, &census) {
            None => None,
            Some(_) if middle.is_some() => middle,
            Some(span) => Some(span.targets(order, &census, group, &mut targets)),
        };
    }
    let (all, mut known) = (BITS * order.words(), 0);
    while known < all && !targets.is_empty() {
        let are_few = known > 0 && targets.iter().all(|target| target.count <= ALL);
        let bits = Bits { known, told: if are_few { all } else { known + BITS } };
        narrow(passes, found, &mut targets, bits).await?;
        known = bits.told;
    }
    for target in &targets {
        let key = order.complete(target.prefix << (u64::BITS - all));
        keys[target.group].get_or_insert([0; 2])[target.which] = key;
    }
    Ok(keys)
}

/// What goes out at the end of a group of so many gaps, from all that is known of it.
pub(crate) fn answer(gaps: u128, order: &dyn Ordered, state: &[u8]) -> Option<Vec<u8>> {
    let saved = Saved::of(state)?;
    let span = Span::of(gaps, order, &saved.census);
    let middle = match span.zip(saved.keys()) {
        Some((span, keys)) => {
            let beside = Beside::new(order);
            let keys: Vec<u64> = keys.collect();
            let below = keys.iter().filter(|&&key| beside.stands(key) == Stands::Below).count();
            Some(span.middle(order, keys).filter(|_| below as u64 == saved.census.below)?)
        }
        None => None,
    };
    Some(saved.census.answer(middle))
}

/// The ranks of what is not stored in a group that has a median, whose key it is, and the number of all numbers.
struct Span {
    start: u128,
    end: u128,
    numbers: u128,
    level: u64,
}

impl Span {
    /// That of a group of so many gaps; none if it has no median.
    fn of(gaps: u128, order: &dyn Ordered, census: &Census) -> Option<Span> {
        let (unstored, level) = match order.gap() {
            Gap::Level(first, _) => (gaps, first),
            Gap::Nan if gaps > 0 && !order.skips_nan() => return None,
            Gap::Nan | Gap::Absent => (0, 0),
        };
        if census.nan > 0 && !order.skips_nan() {
            return None;
        }
        let start = u128::from(census.below);
        let end = (start + u128::from(census.level)).saturating_add(unstored);
        let numbers = end.saturating_add(census.above.into());
        (numbers > 0).then_some(Span { start, end, numbers, level })
    }

    /// The ranks in the middle among the numbers below and above what is not stored; none of one that is not there.
    fn apart(&self, order: &dyn Ordered) -> [Option<u128>; 2] {
        order.ranks(self.numbers).map(|rank| match rank {
            rank if rank < self.start => Some(rank),
            rank if rank < self.end => None,
            rank => Some(self.start + (rank - self.end)),
        })
    }

    /// The keys in the middle, from all of the numbers below and above; none where these are not all.
    fn middle(&self, order: &dyn Ordered, mut keys: Vec<u64>) -> Option<[u64; 2]> {
        let mut middle = [self.level; 2];
        for (rank, key) in self.apart(order).into_iter().zip(&mut middle) {
            if let Some(rank) = rank {
                let at = usize::try_from(rank).ok().filter(|&at| at < keys.len())?;
                *key = *keys.select_nth_unstable(at).1;
            }
        }
        Some(middle)
    }

    /// The keys in the middle if they are those of what is not stored; others, which take the place of these, are
    /// looked for.
    fn targets(&self, order: &dyn Ordered, census: &Census, group: usize, targets: &mut Vec<Target>) -> [u64; 2] {
        for (which, rank) in self.apart(order).into_iter().enumerate() {
            let target = |rank| Target { group, which, rank: rank as u64, prefix: 0, count: census.apart() };
            targets.extend(rank.map(target));
        }
        [self.level; 2]
    }
}

/// Finds more bits of each key. Targets are in the order of their groups.
async fn narrow(passes: &Passes<'_>, found: &[Found], targets: &mut [Target], bits: Bits) -> Result<()> {
    let mut wanted = Wanted::new();
    for Target { group, prefix, .. } in &*targets {
        let of_group = wanted.entry(found[*group].coords.clone()).or_default();
        if !of_group.contains(prefix) {
            of_group.push(*prefix);
        }
    }
    let looks = Looks { wanted, bits };
    let mut groups = targets.chunk_by_mut(|one, other| one.group == other.group);
    let mut take = |coords: &[u64], bins: &[Bin]| {
        let of_group = groups.next().filter(|targets| found[targets[0].group].coords == coords);
        let of_group = of_group.ok_or_else(|| missing("a pass met other groups than those that are looked at"))?;
        of_group.iter_mut().try_for_each(|target| within(bins, bits, target))
    };
    passes.bins(&looks, &mut take).await?;
    groups.next().map_or(Ok(()), |_| Err(missing("a pass met nothing of a group")))
}

fn missing(what: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {what}")
}

/// Goes on to the bin that a target is in. There must be as many values in all as were counted before, or else other
/// entries were read.
fn within(bins: &[Bin], bits: Bits, target: &mut Target) -> Result<()> {
    let mine = || bins.iter().filter(|bin| bits.prefix(bin.key) == target.prefix);
    let all = mine().try_fold(0, |all: u64, bin| all.checked_add(bin.count));
    if all != Some(target.count) {
        return Err(missing(&format!("a pass counted {all:?} values where {} are", target.count)));
    }
    let mut before = 0;
    let bin = mine().find(|bin| {
        before += bin.count;
        target.rank < before
    });
    let &Bin { key, count } = bin.ok_or_else(|| missing("a rank is beyond all values"))?;
    (target.rank, target.prefix, target.count) = (target.rank - (before - count), key, count);
    Ok(())
}
