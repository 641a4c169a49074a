//! The ranges of what a stage computes: in order, some of them at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Leaf, Stage};
use super::limits::{INPUT, LEAST_READ, RESULT, excess};
use super::run::Run;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::spare::Spares;
use crate::base::threads;
use crate::lazy::node::Held;
use crate::lazy::shares::Share;
use crate::lazy::source::{Bins, Source, whole};
use crate::lazy::value::Kind;
use crate::pattern::PartOf;

/// The bins whose weights are known.
const BINS: usize = 1 << 20;

/// A range that is too much for a step is computed in at most so many, and each of these in as many again.
const PARTS: usize = 1 << 12;

/// Ranges that are computed at once, at most: of more threads several work on one.
const AT_ONCE: usize = 8;

/// A stage on its way through the ranges.
pub(super) struct Walk<'s> {
    run: &'s Run<'s>,
    stage: &'s Stage,
    bins: Bins,
    /// The bytes that each bin takes of what is cut.
    weights: Vec<u64>,
    /// What was written out in another order, by the slots of the leaves.
    dealt: BTreeMap<usize, Box<dyn Source>>,
    /// Which of the leaves that steps repeat store every position, by their slots.
    full: BTreeMap<usize, bool>,
    /// The bin that comes next.
    next: usize,
    /// Ranges that come before that, the last one first.
    left: Vec<Ranged>,
    /// How many ranges are computed at once.
    width: usize,
    /// The bytes that a range of what is cut may take.
    limit: u64,
    /// The same, where a step would have made too much of more; it grows again with ranges of which none does.
    most: u64,
    /// How many times as many bytes a result took, once there is one.
    grown: Option<u64>,
    /// What was computed and nobody has taken yet.
    found: VecDeque<Held>,
    /// What went wrong behind that and behind what is left.
    failed: Option<Error>,
    /// The arrays of ranges that are done, for those that come.
    spares: Arc<Spares>,
    /// Whether there are no more ranges.
    is_done: bool,
}

/// A range, and what it weighs.
#[derive(Clone)]
struct Ranged {
    range: Range<usize>,
    weight: u64,
}

impl<'s> Walk<'s> {
    pub(super) fn new(run: &'s Run<'s>, stage: &'s Stage) -> Result<Self> {
        let bins = Bins::new(0..stage.length, BINS);
        let (weights, dealt, left) = (alloc::zeros(bins.count())?, BTreeMap::new(), Vec::new());
        let width = threads::width().min(AT_ONCE);
        let input = run.room.left() / INPUT;
        let limit = (input / width.max(2) as u64).max(input.min(LEAST_READ));
        let mut walk = Walk {
            run,
            stage,
            bins,
            weights,
            dealt,
            full: BTreeMap::new(),
            next: 0,
            left,
            width,
            limit,
            most: u64::MAX,
            grown: None,
            found: VecDeque::new(),
            failed: None,
            spares: Arc::new(Spares::new(limit)),
            is_done: false,
        };
        stage.leaves.iter().try_for_each(|leaf| walk.weigh(leaf))?;
        for leaf in stage.leaves.iter().filter(|leaf| leaf.is_asked) {
            walk.full.insert(leaf.slot, walk.is_full(leaf)?);
        }
        Ok(walk)
    }

    /// Adds what the bins take of a leaf, and deals that out where it does not lie in the order of the ranges.
    fn weigh(&mut self, leaf: &Leaf) -> Result<()> {
        let Share::Along(cut) = leaf.share else { return Ok(()) };
        let own = Bins { span: cut.of(0..self.stage.length), width: self.bins.width };
        // Of a part of what is joined the stage may take nothing.
        if own.span.is_empty() {
            return Ok(());
        }
        let (run, source) = (self.run, self.run.layout.source(leaf.at));
        let weights = match source {
            Some(source) => source.weights(cut.axis, &own)?,
            None => run.weights(leaf.at, cut.axis, &own)?,
        };
        for (bin, weight) in weights.iter().enumerate() {
            let positions = own.range(bin);
            self.bins.add(&mut self.weights, cut.back(positions.start)..cut.back(positions.end), *weight);
        }
        let Some(source) = source else { return Ok(()) };
        // Nothing is written out that cannot be worked on.
        if cut.axis > 0 {
            self.check(weights.iter().copied().max().unwrap_or(0))?;
        }
        let bytes = self.limit / self.files_by_other_axes();
        let dealt = run.dealt(source.as_ref(), cut.axis, &own, &weights, bytes)?;
        self.dealt.extend(dealt.map(|dealt| (leaf.slot, dealt)));
        Ok(())
    }

    /// How many files do not lie in the order of the ranges, one at least.
    fn files_by_other_axes(&self) -> u64 {
        let is_one = |leaf: &&Leaf| {
            matches!(leaf.share, Share::Along(cut) if cut.axis > 0) && self.run.layout.source(leaf.at).is_some()
        };
        self.stage.leaves.iter().filter(is_one).count().max(1) as u64
    }

    /// The ranges that come next and are computed at once. One that is left is computed alone, and so is the first one,
    /// which tells how large results are.
    fn ranges(&mut self) -> Result<Vec<Ranged>> {
        if let Some(left) = self.left.pop() {
            return Ok(vec![self.begun(left)]);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (width, most) = (if self.grown.is_some() { self.width } else { 1 }, self.limit * self.width as u64);
        let (mut ranges, mut weight) = (Vec::<Ranged>::new(), 0_u64);
        while ranges.len() < width {
            match self.range() {
                None => break,
                Some(Err(error)) if ranges.is_empty() => return Err(error),
                // Those before it come first.
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                Some(Ok(range)) if !ranges.is_empty() && weight.saturating_add(range.weight) > most => {
                    self.left.push(range);
                    break;
                }
                Some(Ok(range)) => {
                    weight = weight.saturating_add(range.weight);
                    ranges.push(self.begun(range));
                    if !self.left.is_empty() {
                        break;
                    }
                }
            }
        }
        Ok(ranges)
    }

    /// As many positions of a range as are allowed at once, or a few more of a very long axis; those behind are left.
    fn begun(&mut self, Ranged { range, weight }: Ranged) -> Ranged {
        let most = self.run.chunks.positions.max(self.stage.length.div_ceil(BINS << 4));
        let end = range.end.min(range.start.saturating_add(most));
        if end < range.end {
            self.left.push(Ranged { range: end..range.end, weight });
        }
        Ranged { range: range.start..end, weight }
    }

    /// The next bins that fit, one at least. The first range may have no bin.
    fn range(&mut self) -> Option<Result<Ranged>> {
        if self.is_done {
            return None;
        }
        // Nothing is known of a result before the first one.
        let limit = self.most.min(self.limit / self.grown.unwrap_or(4));
        let first = self.bins.range(self.next).start;
        let (mut end, mut weight) = (first, 0_u64);
        while self.next < self.weights.len() {
            let (sum, bin) = (weight.saturating_add(self.weights[self.next]), self.bins.range(self.next));
            if end > first && (sum > limit || bin.end - first > self.run.chunks.positions) {
                break;
            }
            (self.next, end, weight) = (self.next + 1, bin.end, sum);
        }
        self.is_done = self.next >= self.weights.len();
        Some(self.check(weight).map(|()| Ranged { range: first..end, weight }))
    }

    /// Refuses what one range weighs above a part of the memory, with what the heaviest one takes.
    fn check(&self, weight: u64) -> Result<()> {
        let what = "what stands at a few positions of the axis that is cut, and work on it,";
        let check = |weight: u64| self.run.room.check(what, 2 * u128::from(weight));
        check(weight).or_else(|_| check(self.weights.iter().copied().fold(weight, u64::max)))
    }

    /// What the steps begin with for a range.
    fn read(&self, range: &Range<usize>) -> Result<Vec<Option<Held>>> {
        let mut slots = vec![None; self.stage.plan.steps.len()];
        for leaf in &self.stage.leaves {
            slots[leaf.slot] = Some(self.leaf(leaf, range)?);
        }
        Ok(slots)
    }

    /// The value of a leaf for a range.
    fn leaf(&self, leaf: &Leaf, range: &Range<usize>) -> Result<Held> {
        let missing = || Error::Argument { operation: "collect", why: "a value is missing".into() };
        let value = || self.run.slots[leaf.at].as_ref().ok_or_else(missing);
        let Share::Along(cut) = leaf.share else { return value().cloned() };
        let (axis, range) = (cut.axis, cut.of(range.clone()));
        let ranges = self.run.plan.steps[leaf.at].node.kind.by_ranges().ok_or_else(missing)?;
        let part = match (self.dealt.get(&leaf.slot), self.run.layout.source(leaf.at)) {
            (Some(source), _) => source.read(Some((axis, range)))?,
            (None, Some(source)) => source.read(Some((axis, range)))?,
            (None, None) => ranges.cut(value()?, axis, range)?,
        };
        // Steps that repeat it look at all of it, and not at the range.
        Ok(match self.full.get(&leaf.slot) {
            Some(&is_full) => ranges.part_of(&part, Some(PartOf { lengths: None, is_full: Some(is_full) })),
            None => part,
        })
    }

    /// Whether a leaf stores every position.
    fn is_full(&self, leaf: &Leaf) -> Result<bool> {
        let node = &self.run.plan.steps[leaf.at].node;
        let (stored, lengths) = match (self.run.layout.source(leaf.at), &self.run.slots[leaf.at]) {
            (Some(source), _) => (u128::from(source.stored_in(&whole(source.shape()))?), source.shape().clone()),
            (None, Some(value)) => {
                let stored = node.kind.by_ranges().map_or(0, |ranges| ranges.stored(value));
                (stored as u128, node.kind.shape(value))
            }
            (None, None) => return Ok(false),
        };
        Ok(stored == lengths.wide_size())
    }

    /// Goes back to the first range.
    pub(super) fn restart(&mut self) {
        (self.next, self.is_done, self.failed) = (0, false, None);
        self.left.clear();
        self.found.clear();
    }

    /// Gives away what is computed, while what comes next is.
    pub(super) fn pour(&mut self, take: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
        let mut found = Vec::from(std::mem::take(&mut self.found));
        if found.is_empty() {
            found = self.batch()?;
        }
        let (kind, spares) = (self.run.plan.steps[self.stage.of].node.kind, Arc::clone(&self.spares));
        while !found.is_empty() {
            let mut take = |value: Held| take(&value).map(|()| spares.within(|| spare(kind, value)));
            let (next, taken) = threads::both(|| self.batch(), || found.into_iter().try_for_each(&mut take));
            taken?;
            found = next?;
        }
        Ok(())
    }

    /// What is computed at once of the ranges that come next; nothing where there are no more.
    fn batch(&mut self) -> Result<Vec<Held>> {
        loop {
            let ranges = self.ranges()?;
            match self.compute(&ranges) {
                found if found.is_empty() && !ranges.is_empty() => {}
                found => return Ok(found),
            }
        }
    }

    /// Computes ranges at once, up to one that fails, or of which a step would make too much: that is left, in parts if
    /// it must be, and so are those behind it.
    fn compute(&mut self, ranges: &[Ranged]) -> Vec<Held> {
        let works = ranges.len();
        let computed = threads::map_each(
            ranges.iter().collect(),
            usize::MAX,
            || (),
            |(), next| threads::with_share_of(works, || self.computed(&next.range, works as u64)),
        );
        let mut found = Vec::with_capacity(works);
        for (at, (next, computed)) in ranges.iter().zip(computed).enumerate() {
            let value = match computed {
                Ok(Err(error)) => match self.parts(&error, next, works as u64) {
                    Some(parts) => {
                        self.left.extend(ranges[at + 1..].iter().rev().cloned());
                        self.left.extend(parts);
                        return found;
                    }
                    None => Err(within(error, self.stage, &next.range)),
                },
                Ok(Ok(values)) => self.checked(values.into_iter().next_back(), next),
                Err(error) => Err(error),
            };
            match value {
                Ok(value) => found.push(value),
                Err(error) => {
                    (self.left, self.failed, self.is_done) = (Vec::new(), Some(error), true);
                    return found;
                }
            }
        }
        if self.left.is_empty() {
            self.most = self.most.saturating_add(self.most / 8 + 1);
        }
        found
    }

    /// What the steps make of a range, which is one of so many that are computed at once; the outer error is one of
    /// reading.
    fn computed(&self, range: &Range<usize>, works: u64) -> Result<Result<Vec<Held>>> {
        self.spares.within(|| {
            let slots = self.read(range)?;
            let leaves = slots.clone();
            let found = self.run.room.bounded(RESULT, works, || self.stage.plan.run(slots));
            for (step, leaf) in self.stage.plan.steps.iter().zip(leaves) {
                leaf.into_iter().for_each(|leaf| spare(step.node.kind, leaf));
            }
            Ok(found)
        })
    }

    /// The parts of a range of which a step would make too much, the last one first: the range itself, where it may
    /// make that alone. None where it cannot be cut.
    fn parts(&mut self, error: &Error, Ranged { range, weight }: &Ranged, works: u64) -> Option<Vec<Ranged>> {
        let excess = excess(error).filter(|_| works > 1 || range.len() > 1)?.div_ceil(works.into());
        // Half of what is allowed, so that one of more than the others has room.
        let parts = match excess {
            ..=1 if works > 1 => 1,
            _ => usize::try_from(excess.saturating_mul(2)).unwrap_or(PARTS).clamp(2, PARTS).min(range.len()),
        };
        let (width, weight) = (range.len().div_ceil(parts), weight / parts as u64);
        self.most = weight / works;
        let part = |start: usize| Ranged { range: start..range.end.min(start.saturating_add(width)), weight };
        Some(range.clone().step_by(width).rev().map(part).collect())
    }

    /// The value of a range, if it is one.
    fn checked(&mut self, found: Option<Held>, Ranged { range, weight }: &Ranged) -> Result<Held> {
        let node = &self.run.plan.steps[self.stage.of].node;
        let missing = || Error::Argument { operation: node.name, why: "a range of it is not what it should be".into() };
        let found = found.ok_or_else(missing)?;
        let grown = node.kind.bytes(&found) as u64 / weight.max(&(1 << 16));
        self.grown = Some(self.grown.unwrap_or(1).max(grown));
        // What was said of the step would be wrong: better no answer than that.
        match node.kind.shape(&found).get(self.stage.axis) == Some(&range.len()) {
            true => Ok(node.kind.by_ranges().map_or_else(|| Arc::clone(&found), |kind| kind.part_of(&found, None))),
            false => Err(missing()),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Held>;

    fn next(&mut self) -> Option<Result<Held>> {
        if self.found.is_empty() {
            match self.batch() {
                Ok(found) => self.found.extend(found),
                Err(error) => return Some(Err(error)),
            }
        }
        self.found.pop_front().map(Ok)
    }
}

/// Gives the arrays of a value away to be written again, if nobody else owns them.
fn spare(kind: &'static dyn Kind, value: Held) {
    if let Some(kind) = kind.by_ranges() {
        kind.spare(value);
    }
}

/// An error within a range, which counts positions from the start of that.
fn within(error: Error, stage: &Stage, range: &Range<usize>) -> Error {
    if range.len() == stage.length {
        return error;
    }
    let within = |cause: Box<Error>| Error::InRange { cause, axis: stage.axis, start: range.start, end: range.end };
    match error {
        Error::Lazy { operation, file, line, cause } => {
            Error::Lazy { operation, file, line, cause: Box::new(within(cause)) }
        }
        other => within(Box::new(other)),
    }
}
