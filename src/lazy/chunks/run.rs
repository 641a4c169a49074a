//! Computing a graph that is laid out in ranges.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::Chunks;
use super::layout::{Layout, Leaf, Stage, Way};
use super::spill::Spill;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::lazy::node::{Held, InPieces, Node};
use crate::lazy::plan::Plan;
use crate::lazy::shares::Share;
use crate::lazy::source::{Bins, ByRanges, Deal, Source, whole};
use crate::lazy::value::Kind;

/// Of the memory, the part that a range may take as it is read: the next one is read beside it, and work takes copies.
const PART: u64 = 8;

/// The bins whose weights are known.
const BINS: usize = 1 << 20;

/// What an element that is folded takes, more or less, in picoseconds.
const PICOSECONDS: usize = 1_000;

pub(super) struct Run<'a> {
    chunks: &'a Chunks,
    plan: &'a Plan,
    layout: &'a Layout<'a>,
    slots: Vec<Option<Held>>,
    spill: Spill,
}

/// Refuses so many bytes above what is allowed.
fn check(what: &'static str, bytes: u128, limit: u64) -> Result<()> {
    let instead = "raise --max-memory (Chunks::memory), or ask for what is smaller";
    match bytes <= u128::from(limit) {
        true => Ok(()),
        false => Err(Error::TooLarge { what, bytes, limit, instead }),
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(chunks: &'a Chunks, plan: &'a Plan, layout: &'a Layout<'a>, slots: Vec<Option<Held>>) -> Self {
        Run { chunks, plan, layout, slots, spill: Spill::new(chunks.folder.clone()) }
    }

    /// The values of the outputs.
    pub(super) fn values(mut self) -> Result<Vec<Held>> {
        self.find(None)?;
        Ok(self.plan.outputs.iter().filter_map(|&at| self.slots[at].clone()).collect())
    }

    /// Gives away the value of the only output in ranges of its first axis.
    pub(super) fn pour(mut self, take: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
        let Some(&of) = self.plan.outputs.first() else { return Ok(()) };
        let Some(Way::Ranges(stage)) = self.layout.ways.get(&of).filter(|way| is_first(way)) else {
            return self.values()?.iter().try_for_each(take);
        };
        self.find(Some(of))?;
        self.walk(stage)?.try_for_each(|value| take(&value?))
    }

    /// Computes what is needed as a whole, but for one of them.
    fn find(&mut self, but: Option<usize>) -> Result<()> {
        let layout = self.layout;
        let last = last_uses(layout, self.plan);
        for (&at, way) in layout.ways.iter().filter(|(at, _)| Some(**at) != but) {
            let node = &self.plan.steps[at].node;
            let found = match way {
                Way::There => continue,
                Way::Read => self.read(at),
                Way::Whole => self.whole(at),
                Way::Ranges(stage) => self.joined(stage),
                Way::Folded(stage) => self.folded(node, stage),
            };
            self.slots[at] = Some(found.map_err(|cause| node.error(cause))?);
            last.get(&at).into_iter().flatten().for_each(|&at| self.slots[at] = None);
        }
        Ok(())
    }

    fn read(&self, at: usize) -> Result<Held> {
        let bytes = self.layout.source(at).map_or(0, |source| source.bytes());
        check("a file that is needed as a whole", bytes.into(), self.chunks.memory)?;
        self.plan.steps[at].node.run(&[])
    }

    fn whole(&self, at: usize) -> Result<Held> {
        let step = &self.plan.steps[at];
        let inputs: Vec<Held> = step.inputs.iter().filter_map(|&input| self.slots[input].clone()).collect();
        let bytes = step.inputs.iter().zip(&inputs).map(|(&at, value)| self.plan.steps[at].node.kind.bytes(value));
        check("what this step takes as a whole", bytes.map(|bytes| bytes as u128).sum(), self.chunks.memory)?;
        step.node.run(&inputs)
    }

    /// The ranges of a value, joined.
    fn joined(&self, stage: &Stage) -> Result<Held> {
        let kind = self.plan.steps[stage.of].node.kind;
        let (mut parts, mut bytes) = (Vec::new(), 0);
        for part in self.walk(stage)? {
            let part = part?;
            bytes += kind.bytes(&part) as u128;
            check("the parts of this result, and all of it", 2 * bytes, self.chunks.memory)?;
            parts.push(part);
        }
        match (&parts[..], kind.by_ranges()) {
            ([one], _) => Ok(Arc::clone(one)),
            (parts, Some(kind)) => kind.join(stage.axis, parts),
            (_, None) => Err(Error::Argument { operation: "collect", why: "its parts cannot be joined".into() }),
        }
    }

    /// What a fold makes of the ranges of its operand.
    fn folded(&self, node: &Node, stage: &Stage) -> Result<Held> {
        let (found, fill) = self.folded_beside(node, stage, None)?;
        match fill {
            // Where the first ranges have no gaps, only those behind them know what stands in the others.
            Some(fill) => self.folded_beside(node, stage, Some(fill))?.0,
            None => found,
        }
    }

    /// What a fold makes of the ranges of its operand and of this fill, or of that of the first range which stores an
    /// element; and the fill of the gaps, if it is another one.
    fn folded_beside(&self, node: &Node, stage: &Stage, fill: Option<Held>) -> Result<(Result<Held>, Option<Held>)> {
        let none = || Error::Argument { operation: node.name, why: "its operand does not come in parts".into() };
        let kind = self.plan.steps[stage.of].node.kind;
        let ranges = kind.by_ranges().ok_or_else(none)?;
        let (mut walk, mut gaps) = (self.walk(stage)?, Gaps { kind, ranges, axis: stage.axis, fill: None });
        // The first element stands for all: they are of one cell.
        let part = gaps.first_stored(&mut walk)?.ok_or_else(none)?;
        let shape = self.layout.shapes[stage.of].as_ref().ok_or_else(none)?;
        let [first, pattern] = ranges.first(&part, shape)?.ok_or_else(none)?;
        if ranges.stored(&first) == 0 {
            return Ok((node.run(&[first]), None));
        }
        let empty = fill.map_or_else(|| gaps.empty(&part), Ok)?;
        let (walk, refused) = (Mutex::new((walk, gaps)), Mutex::new(None));
        let run = |_: Range<usize>, take: &mut dyn FnMut(&Held)| {
            take(&part);
            let (walk, gaps) = &mut *walk.lock().unwrap_or_else(PoisonError::into_inner);
            let done = walk.try_for_each(|part| {
                let part = part?;
                take(&part);
                gaps.note(&part)
            });
            done.inspect_err(|error| *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone()))
        };
        let feed = InPieces {
            pattern: &pattern,
            is_poured: true,
            none: &empty,
            run: &run,
            picoseconds: PICOSECONDS,
            states: None,
        };
        let found = node.from_pieces.as_ref().and_then(|from_pieces| from_pieces(&feed)).ok_or_else(none)?;
        if let Some(error) = refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let (_, gaps) = walk.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((found, gaps.fill.filter(|fill| ranges.join(stage.axis, &[fill.clone(), empty]).is_err())))
    }

    /// The ranges of what a stage computes, one after the other.
    fn walk<'s>(&'s self, stage: &'s Stage) -> Result<Walk<'s>> {
        let bins = Bins::new(0..stage.length, BINS);
        let bins = Bins { width: bins.width.min(self.chunks.positions.max(stage.length.div_ceil(BINS << 4))), ..bins };
        let mut weights: Vec<u64> = alloc::zeros(bins.count())?;
        let mut dealt = BTreeMap::new();
        for leaf in &stage.leaves {
            let Share::Along(cut) = leaf.share else { continue };
            let own = Bins { span: cut.of(0..stage.length), width: bins.width };
            // Of a part of what is joined the stage may take nothing.
            if own.span.is_empty() {
                continue;
            }
            let source = self.layout.source(leaf.at);
            let of_leaf = match source {
                Some(source) => source.weights(cut.axis, &own)?,
                None => self.weights(leaf.at, cut.axis, &own)?,
            };
            for (bin, weight) in of_leaf.iter().enumerate() {
                let positions = own.range(bin);
                bins.add(&mut weights, cut.back(positions.start)..cut.back(positions.end), *weight);
            }
            if let Some(source) = source
                && let Some(other) = self.dealt(source.as_ref(), cut.axis, &own, &of_leaf)?
            {
                dealt.insert(leaf.slot, other);
            }
        }
        let limit = self.chunks.memory / PART;
        let (grown, ahead, is_done) = (None, None, false);
        Ok(Walk { run: self, stage, bins, weights, dealt, next: 0, limit, grown, ahead, is_done })
    }

    /// What is read, in files by ranges of an axis, unless it lies so already. Of what these hold bins are taken.
    fn dealt(&self, of: &dyn Source, axis: usize, bins: &Bins, weights: &[u64]) -> Result<Option<Box<dyn Source>>> {
        let mut within = whole(of.shape());
        within[axis] = bins.span.clone();
        let (folder, bytes) = (|| self.spill.folder(), self.chunks.memory / PART);
        of.dealt(&Deal { within: &within, axis, bins, weights, folder: &folder, bytes })
    }

    /// The bytes of each bin of a value that is there.
    fn weights(&self, at: usize, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let (Some(value), kind) = (&self.slots[at], self.plan.steps[at].node.kind) else { return Ok(Vec::new()) };
        let Some(ranges) = kind.by_ranges() else { return Ok(Vec::new()) };
        let each = kind.bytes(value).div_ceil(ranges.stored(value).max(1)) as u64;
        let mut counts = ranges.counts(value, axis, bins)?;
        counts.iter_mut().for_each(|count| *count = count.saturating_mul(each));
        Ok(counts)
    }
}

/// The fill of the ranges that do not store all of their positions.
struct Gaps {
    kind: &'static dyn Kind,
    ranges: &'static dyn ByRanges,
    axis: usize,
    /// A part without entries, which has it.
    fill: Option<Held>,
}

impl Gaps {
    /// The first range that stores an element, or the last one.
    fn first_stored(&mut self, walk: &mut Walk<'_>) -> Result<Option<Held>> {
        let mut last = None;
        for part in walk {
            let part = last.insert(part?);
            self.note(part)?;
            if self.ranges.stored(part) > 0 {
                break;
            }
        }
        Ok(last)
    }

    /// A part of a range without entries. Along the first axis that is a window, and nothing is left to be looked at
    /// along the other one.
    fn empty(&self, part: &Held) -> Result<Held> {
        let none = self.ranges.cut(part, 0, 0..0)?;
        if self.axis == 0 { Ok(none) } else { self.ranges.cut(&none, self.axis, 0..0) }
    }

    /// Refuses a range whose gaps hold something else than those of the ranges before.
    fn note(&mut self, part: &Held) -> Result<()> {
        if self.ranges.stored(part) as u128 == self.kind.shape(part).wide_size() {
            return Ok(());
        }
        let empty = self.empty(part)?;
        match &self.fill {
            Some(fill) => self.ranges.join(self.axis, &[fill.clone(), empty]).map(drop),
            None => {
                self.fill = Some(empty);
                Ok(())
            }
        }
    }
}

/// Whether a value comes in ranges of its first axis.
fn is_first(way: &Way) -> bool {
    matches!(way, Way::Ranges(Stage { axis: 0, .. }))
}

/// What nobody needs any more after a value is found, by that; never an output, nor what was there.
fn last_uses(layout: &Layout<'_>, plan: &Plan) -> BTreeMap<usize, Vec<usize>> {
    let mut last = BTreeMap::new();
    for (&at, way) in &layout.ways {
        let used: Vec<usize> = match way {
            Way::There | Way::Read => Vec::new(),
            Way::Whole => plan.steps[at].inputs.clone(),
            Way::Ranges(stage) | Way::Folded(stage) => stage.leaves.iter().map(|leaf| leaf.at).collect(),
        };
        last.extend(used.into_iter().map(|used| (used, at)));
    }
    let mut freed = BTreeMap::<usize, Vec<usize>>::new();
    for (used, by) in last.into_iter().filter(|(used, _)| !plan.outputs.contains(used)) {
        freed.entry(by).or_default().push(used);
    }
    freed
}

/// A stage on its way through the ranges.
struct Walk<'s> {
    run: &'s Run<'s>,
    stage: &'s Stage,
    bins: Bins,
    /// The bytes that each bin takes of what is cut.
    weights: Vec<u64>,
    /// What was written out in another order, by the slots of the leaves.
    dealt: BTreeMap<usize, Box<dyn Source>>,
    /// The bin that comes next.
    next: usize,
    /// The bytes that what is cut may take at once.
    limit: u64,
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

impl Walk<'_> {
    /// The next bins that fit, one at least, and what they weigh. The first range may have no bin.
    fn range(&mut self) -> Option<Result<(Range<usize>, u64)>> {
        if self.is_done {
            return None;
        }
        // Nothing is known of a result before the first one.
        let limit = self.limit / self.grown.unwrap_or(4);
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
        let most = self.run.chunks.memory / 2;
        let checked = check("what stands at a few positions of the axis that is cut", weight.into(), most);
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

    /// The value of a range. Where there are several threads, the next range is read while it is computed: not so the
    /// second one, which a result tells the size of.
    fn value(&mut self, ready: Ready) -> Result<Held> {
        let Ready { range, weight, slots } = ready;
        let reads_ahead = self.grown.is_some() && threads::are_several();
        let next = if reads_ahead { self.range() } else { None };
        let read = || next.map(|range| range.and_then(|range| self.read(range)));
        let (ahead, found) = threads::both(read, || self.stage.plan.run(slots));
        self.ahead = ahead;
        let found = found.map_err(|error| within(error, self.stage, &range))?.pop();
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
        let ready = match self.ahead.take() {
            Some(ready) => ready,
            None => self.range()?.and_then(|range| self.read(range)),
        };
        let found = ready.and_then(|ready| self.value(ready));
        if found.is_err() {
            (self.ahead, self.is_done) = (None, true);
        }
        Some(found)
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
