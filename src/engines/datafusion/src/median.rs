//! Medians: the first pass knows all values of small groups. Of the others it tells on which side of what is not stored
//! the middle is; then each pass counts the values by 16 bits more of their keys, in the ranges where a middle is looked
//! for. At most four passes find it, and no large group's values come together.

use std::collections::BTreeMap;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::prelude::SessionContext;
use lacuna::lazy::outside::{Found, Gap, Ordered};

use crate::census::{Census, Known, Side};
use crate::map::Shared;
use crate::run::{self, Bin};
use crate::table::Entries;

/// The bits of a key that a pass adds.
const BITS: u32 = 16;

/// A number that is looked for.
#[derive(Debug, Clone)]
struct Target {
    group: usize,
    /// Which of the two in the middle it is.
    which: usize,
    side: Side,
    /// Its rank among the numbers on that side whose keys begin as its own.
    rank: u64,
    /// How its key begins, and how many numbers there are whose keys do.
    prefix: u64,
    count: u64,
}

/// What is looked for in a group, by its coordinates: sides, and how keys begin.
pub(crate) type Wanted = BTreeMap<Vec<u64>, Vec<(Side, u64)>>;

/// Of each group the keys of the two numbers in the middle, if it has a median.
pub(crate) async fn keys(
    context: &SessionContext,
    (query, extent): (&Shared, u128),
    order: &dyn Ordered,
    entries: &Entries,
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
            Some(span) => Some(span.targets(order, census, group, &mut targets)),
        };
    }
    for pass in 1..=order.words() {
        if !targets.is_empty() {
            narrow(context, query, entries, found, &mut targets, pass).await?;
        }
    }
    for target in &targets {
        let key = order.complete(target.prefix << (u64::BITS - BITS * order.words()));
        keys[target.group].get_or_insert([0; 2])[target.which] = key;
    }
    Ok(keys)
}

/// What goes out at the end of a group of so many gaps, from all that is known of it.
pub(crate) fn answer(gaps: u128, order: &dyn Ordered, state: &[u8]) -> Option<Vec<u8>> {
    let Known { census, keys } = Known::of(state)?;
    let span = Span::of(gaps, order, &census);
    let middle = match span.zip(keys) {
        Some((span, keys)) => Some(span.middle(order, keys)?),
        None => None,
    };
    Some(census.answer(middle))
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

    /// The keys in the middle, from all that are not those of what is not stored; none where these are not all.
    fn middle(&self, order: &dyn Ordered, mut keys: Vec<u64>) -> Option<[u64; 2]> {
        keys.sort_unstable();
        let mut middle = [self.level; 2];
        for (rank, key) in order.ranks(self.numbers).into_iter().zip(&mut middle) {
            let at = match rank {
                rank if rank < self.start => rank,
                rank if rank < self.end => continue,
                rank => self.start + (rank - self.end),
            };
            *key = *keys.get(usize::try_from(at).ok()?)?;
        }
        Some(middle)
    }

    /// The keys in the middle if they are those of what is not stored; others, which take the place of these, are looked
    /// for.
    fn targets(&self, order: &dyn Ordered, census: Census, group: usize, targets: &mut Vec<Target>) -> [u64; 2] {
        for (which, rank) in order.ranks(self.numbers).into_iter().enumerate() {
            let target = |side, rank: u128, count| Target { group, which, side, rank: rank as u64, prefix: 0, count };
            if rank < self.start {
                targets.push(target(Side::Below, rank, census.below));
            } else if rank >= self.end {
                targets.push(target(Side::Above, rank - self.end, census.above));
            }
        }
        [self.level; 2]
    }
}

/// Finds 16 bits more of each key.
async fn narrow(
    context: &SessionContext,
    query: &Shared,
    entries: &Entries,
    found: &[Found],
    targets: &mut [Target],
    pass: u32,
) -> Result<()> {
    let mut wanted = Wanted::new();
    for Target { group, side, prefix, .. } in &*targets {
        let of_group = wanted.entry(found[*group].coords.clone()).or_default();
        if !of_group.contains(&(*side, *prefix)) {
            of_group.push((*side, *prefix));
        }
    }
    let bins = run::bins(context, query, entries.clone(), &wanted, u64::BITS - BITS * pass).await?;
    targets.iter_mut().try_for_each(|target| {
        let coords = &found[target.group].coords;
        let start = bins.partition_point(|bin| (&bin.coords, bin.side) < (coords, target.side));
        let of_group = bins[start..].iter().take_while(|bin| (&bin.coords, bin.side) == (coords, target.side));
        let mine: Vec<&Bin> = of_group.filter(|bin| bin.key >> BITS == target.prefix).collect();
        within(&mine, target)
    })
}

/// Goes on to the bin that a target is in. There must be as many values in all as were counted before.
fn within(bins: &[&Bin], target: &mut Target) -> Result<()> {
    let all = bins.iter().try_fold(0, |all: u64, bin| all.checked_add(bin.count));
    if all != Some(target.count) {
        let why = format!("a pass counted {all:?} values where {} are", target.count);
        return Err(DataFusionError::Execution(format!("lacuna: {why}")));
    }
    let mut before = 0;
    let bin = bins.iter().find(|bin| {
        before += bin.count;
        target.rank < before
    });
    let bin = bin.ok_or_else(|| exec_datafusion_err!("lacuna: a rank is beyond all values"))?;
    (target.rank, target.prefix, target.count) = (target.rank - (before - bin.count), bin.key, bin.count);
    Ok(())
}
