//! The ranges of what a stage computes, one after the other.

use std::collections::BTreeMap;
use std::ops::Range;

use super::layout::{Leaf, Stage};
use super::limits::{INPUT, RESULT, bounded, check_part, excess};
use super::run::Run;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::lazy::node::Held;
use crate::lazy::shares::Share;
use crate::lazy::source::{Bins, Source};

/// The bins whose weights are known.
const BINS: usize = 1 << 20;

/// A range that is too much for a step is computed in at most so many, and each of these in as many again.
const PARTS: usize = 1 << 12;

/// A stage on its way through the ranges.
pub(super) struct Walk<'s> {
    run: &'s Run<'s>,
    stage: &'s Stage,
    bins: Bins,
    /// The bytes that each bin takes of what is cut.
    weights: Vec<u64>,
    /// What was written out in another order, by the slots of the leaves.
    dealt: BTreeMap<usize, Box<dyn Source>>,
    /// The bin that comes next.
    next: usize,
    /// Ranges that come before that, and what they weigh, the last one first.
    left: Vec<(Range<usize>, u64)>,
    /// The bytes that what is cut may take at once.
    limit: u64,
    /// The same, where a step would have made too much of more; it grows again with ranges of which none does.
    most: u64,
    /// How many times as many bytes a result took, once there is one.
    grown: Option<u64>,
    /// The range that comes next, if it was read already.
    ahead: Option<Result<Ready>>,
    /// Whether there are no more ranges.
    is_done: bool,
}

/// A range that was read, and what that weighs.
struct Ready {
    range: Range<usize>,
    weight: u64,
    slots: Vec<Option<Held>>,
}

impl<'s> Walk<'s> {
    pub(super) fn new(run: &'s Run<'s>, stage: &'s Stage) -> Result<Self> {
        let bins = Bins::new(0..stage.length, BINS);
        let least = stage.length.div_ceil(BINS << 4);
        let bins = Bins { width: bins.width.min(run.chunks.positions.max(least)), ..bins };
        let (weights, dealt, left) = (alloc::zeros(bins.count())?, BTreeMap::new(), Vec::new());
        let (limit, most) = (run.chunks.memory / INPUT, u64::MAX);
        let (grown, ahead, is_done) = (None, None, false);
        let mut walk = Walk { run, stage, bins, weights, dealt, next: 0, left, limit, most, grown, ahead, is_done };
        stage.leaves.iter().try_for_each(|leaf| walk.weigh(leaf))?;
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
        let dealt = run.dealt(source.as_ref(), cut.axis, &own, &weights)?;
        self.dealt.extend(dealt.map(|dealt| (leaf.slot, dealt)));
        Ok(())
    }

    /// The next range that is left, or the next bins that fit, one at least, and what they weigh. The first range may
    /// have no bin.
    fn range(&mut self) -> Option<Result<(Range<usize>, u64)>> {
        if let Some(left) = self.left.pop() {
            return Some(Ok(left));
        }
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
        let what = "what stands at a few positions of the axis that is cut, and work on it,";
        let checked = check_part(what, weight.into(), 2, self.run.chunks.memory);
        Some(checked.map(|()| (first..end, weight)))
    }

    /// What the steps begin with for a range.
    fn read(&self, (range, weight): (Range<usize>, u64)) -> Result<Ready> {
        let mut slots = vec![None; self.stage.plan.steps.len()];
        for leaf in &self.stage.leaves {
            slots[leaf.slot] = Some(self.leaf(leaf, &range)?);
        }
        Ok(Ready { range, weight, slots })
    }

    /// The value of a leaf for a range.
    fn leaf(&self, leaf: &Leaf, range: &Range<usize>) -> Result<Held> {
        let missing = || Error::Argument { operation: "collect", why: "a value is missing".into() };
        let value = || self.run.slots[leaf.at].as_ref().ok_or_else(missing);
        let Share::Along(cut) = leaf.share else { return value().cloned() };
        let (axis, range) = (cut.axis, cut.of(range.clone()));
        match (self.dealt.get(&leaf.slot), self.run.layout.source(leaf.at)) {
            (Some(source), _) => source.read(Some((axis, range))),
            (None, Some(source)) => source.read(Some((axis, range))),
            (None, None) => {
                let kind = self.run.plan.steps[leaf.at].node.kind.by_ranges().ok_or_else(missing)?;
                kind.cut(value()?, axis, range)
            }
        }
    }

    /// The value of a range; none where that is left in parts. Where there are several threads, the next range is read
    /// while it is computed: not so the second one, which a result tells the size of.
    fn value(&mut self, ready: Ready) -> Result<Option<Held>> {
        let Ready { range, weight, slots } = ready;
        let reads_ahead = self.grown.is_some() && threads::are_several();
        let next = if reads_ahead { self.range() } else { None };
        let read = || next.map(|range| range.and_then(|range| self.read(range)));
        let run = || bounded(RESULT, self.run.chunks.memory, || self.stage.plan.run(slots));
        let (ahead, found) = threads::both(read, run);
        self.ahead = ahead;
        let found = match found {
            Err(error) if self.is_left(&error, &range, weight)? => return Ok(None),
            found => found.map_err(|error| within(error, self.stage, &range))?.pop(),
        };
        if self.left.is_empty() {
            self.most = self.most.saturating_add(self.most / 8 + 1);
        }
        self.checked(found, &range, weight).map(Some)
    }

    /// Leaves a range of which a step would make too much to be computed in parts, before those that come next.
    fn is_left(&mut self, error: &Error, range: &Range<usize>, weight: u64) -> Result<bool> {
        let Some(excess) = excess(error).filter(|_| range.len() > 1) else { return Ok(false) };
        if let Some(ahead) = self.ahead.take() {
            let Ready { range, weight, .. } = ahead?;
            self.left.push((range, weight));
        }
        // Half of what is allowed, so that one of more than the others has room.
        let parts = usize::try_from(excess.saturating_mul(2)).unwrap_or(PARTS).clamp(2, PARTS).min(range.len());
        let (width, weight) = (range.len().div_ceil(parts), weight / parts as u64);
        let starts = range.clone().step_by(width).rev();
        self.left.extend(starts.map(|start| (start..range.end.min(start.saturating_add(width)), weight)));
        self.most = weight;
        Ok(true)
    }

    /// The value of a range, if it is one.
    fn checked(&mut self, found: Option<Held>, range: &Range<usize>, weight: u64) -> Result<Held> {
        let node = &self.run.plan.steps[self.stage.of].node;
        let missing = || Error::Argument { operation: node.name, why: "a range of it is not what it should be".into() };
        let found = found.ok_or_else(missing)?;
        let grown = node.kind.bytes(&found) as u64 / weight.max(1 << 16);
        self.grown = Some(self.grown.unwrap_or(1).max(grown));
        // What was said of the step would be wrong: better no answer than that.
        match node.kind.shape(&found).get(self.stage.axis) == Some(&range.len()) {
            true => Ok(found),
            false => Err(missing()),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Held>;

    fn next(&mut self) -> Option<Result<Held>> {
        loop {
            let ready = match self.ahead.take() {
                Some(ready) => ready,
                None => self.range()?.and_then(|range| self.read(range)),
            };
            let found = ready.and_then(|ready| self.value(ready));
            if found.is_err() {
                (self.ahead, self.is_done) = (None, true);
                self.left.clear();
            }
            if let Some(found) = found.transpose() {
                return Some(found);
            }
        }
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
