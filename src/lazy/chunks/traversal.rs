//! The chunks of a stage, in order. Several chunks are computed at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Leaf, Stage};
use super::limits::{INPUT, MIN_READ, RESULT, excess};
use super::run::Run;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::recycle::ChunkBuffers;
use crate::base::threads;
use crate::lazy::input_ranges::InputRange;
use crate::lazy::node::ErasedValue;
use crate::lazy::source::{Bins, Source, whole};
use crate::lazy::value::Kind;
use crate::pattern::PartOf;

/// The largest number of bins, whose weights are known.
const BINS: usize = 1 << 20;

/// The largest number of smaller ranges into which a range is split if a result is too large. Each of these ranges can
/// be split again.
const PARTS: usize = 1 << 12;

/// The largest number of chunks that are computed at once. If there are more threads, several threads work on one
/// chunk.
const AT_ONCE: usize = 8;

/// The progress of a stage through its chunks.
pub(super) struct Traversal<'s> {
    run: &'s Run<'s>,
    stage: &'s Stage,
    bins: Bins,
    /// The bytes of the split inputs in each bin.
    weights: Vec<u64>,
    /// The repartitioned inputs, by the slots of the leaves.
    partitioned: BTreeMap<usize, Box<dyn Source>>,
    /// For each leaf that broadcasting steps test, true if the leaf stores every position. The keys are slots.
    full: BTreeMap<usize, bool>,
    /// The next bin.
    next: usize,
    /// The ranges to compute before the next bin, the last range first.
    left: Vec<Ranged>,
    /// The largest number of chunks that are computed at once.
    width: usize,
    /// The largest number of bytes of the split inputs in a chunk.
    limit: u64,
    /// A smaller limit after the result of a step was too large. The limit grows again while results fit.
    reduced_limit: u64,
    /// The largest ratio of the bytes of a result to the bytes of its input; `None` before a chunk is computed.
    grown: Option<u64>,
    /// The computed chunks that are not passed yet.
    found: VecDeque<ErasedValue>,
    /// The error that follows the computed chunks and the remaining ranges.
    failed: Option<Error>,
    /// The arrays of finished chunks, for reuse.
    chunk_buffers: Arc<ChunkBuffers>,
    /// True after all bins are processed.
    is_done: bool,
}

/// A range, and the bytes of its input.
#[derive(Clone)]
struct Ranged {
    range: Range<usize>,
    weight: u64,
}

impl<'s> Traversal<'s> {
    pub(super) fn new(run: &'s Run<'s>, stage: &'s Stage) -> Result<Self> {
        let bins = Bins::new(0..stage.length, BINS);
        let (weights, partitioned, left) = (alloc::zeros(bins.count())?, BTreeMap::new(), Vec::new());
        let width = threads::width().min(AT_ONCE);
        let input = run.budget.left() / INPUT;
        let limit = (input / width.max(2) as u64).max(input.min(MIN_READ));
        let mut walk = Traversal {
            run,
            stage,
            bins,
            weights,
            partitioned,
            full: BTreeMap::new(),
            next: 0,
            left,
            width,
            limit,
            reduced_limit: u64::MAX,
            grown: None,
            found: VecDeque::new(),
            failed: None,
            chunk_buffers: Arc::new(ChunkBuffers::new(limit)),
            is_done: false,
        };
        stage.leaves.iter().try_for_each(|leaf| walk.weigh(leaf))?;
        for leaf in stage.leaves.iter().filter(|leaf| leaf.is_requested) {
            walk.full.insert(leaf.slot, walk.is_full(leaf)?);
        }
        Ok(walk)
    }

    /// Adds the bytes of a leaf to the bins. If the leaf is not in the order of the chunks, it is repartitioned to
    /// temporary files.
    fn weigh(&mut self, leaf: &Leaf) -> Result<()> {
        let InputRange::Along(range_map) = leaf.input_range else { return Ok(()) };
        let own = Bins { span: range_map.of(0..self.stage.length), width: self.bins.width };
        // The stage may not need all operands of a concatenation.
        if own.span.is_empty() {
            return Ok(());
        }
        let (run, source) = (self.run, self.run.layout.source(leaf.at));
        let weights = match source {
            Some(source) => source.weights(range_map.axis, &own)?,
            None => run.weights(leaf.at, range_map.axis, &own)?,
        };
        for (bin, weight) in weights.iter().enumerate() {
            let positions = own.range(bin);
            self.bins.add(&mut self.weights, range_map.back(positions.start)..range_map.back(positions.end), *weight);
        }
        let Some(source) = source else { return Ok(()) };
        // A file is not repartitioned if one of its positions is too large to compute.
        if range_map.axis > 0 {
            self.check(weights.iter().copied().max().unwrap_or(0))?;
        }
        let bytes = self.limit / self.files_by_other_axes();
        let partitioned = run.partitioned(source.as_ref(), range_map.axis, &own, &weights, bytes)?;
        self.partitioned.extend(partitioned.map(|partitioned| (leaf.slot, partitioned)));
        Ok(())
    }

    /// Returns the number of files that are not in the order of the chunks, at least 1.
    fn files_by_other_axes(&self) -> u64 {
        let is_one = |leaf: &&Leaf| {
            matches!(leaf.input_range, InputRange::Along(range_map) if range_map.axis > 0)
                && self.run.layout.source(leaf.at).is_some()
        };
        self.stage.leaves.iter().filter(is_one).count().max(1) as u64
    }

    /// Returns the next ranges, which are computed at once. A remaining range is computed separately. The first range
    /// is also computed separately, because its result shows the size of results.
    fn ranges(&mut self) -> Result<Vec<Ranged>> {
        if let Some(left) = self.left.pop() {
            return Ok(vec![self.begun(left)]);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (width, reduced_limit) =
            (if self.grown.is_some() { self.width } else { 1 }, self.limit * self.width as u64);
        let (mut ranges, mut weight) = (Vec::<Ranged>::new(), 0_u64);
        while ranges.len() < width {
            match self.range() {
                None => break,
                Some(Err(error)) if ranges.is_empty() => return Err(error),
                // The ranges before the error are computed first.
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                Some(Ok(range)) if !ranges.is_empty() && weight.saturating_add(range.weight) > reduced_limit => {
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

    /// Returns the first positions of a range, up to the number that is allowed at once. For a very long axis the
    /// number is larger. The other positions are added to the remaining ranges.
    fn begun(&mut self, Ranged { range, weight }: Ranged) -> Ranged {
        let reduced_limit = self.run.chunks.positions.max(self.stage.length.div_ceil(BINS << 4));
        let end = range.end.min(range.start.saturating_add(reduced_limit));
        if end < range.end {
            self.left.push(Ranged { range: end..range.end, weight });
        }
        Ranged { range: range.start..end, weight }
    }

    /// Returns the range of the next bins that fit in the limit, at least one bin. Without bins, the first range is
    /// empty.
    fn range(&mut self) -> Option<Result<Ranged>> {
        if self.is_done {
            return None;
        }
        // The size of a result is unknown before the first result.
        let limit = self.reduced_limit.min(self.limit / self.grown.unwrap_or(4));
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

    /// Rejects a range whose weight does not fit in memory. The error reports the weight of the heaviest bin.
    fn check(&self, weight: u64) -> Result<()> {
        let what = "the smallest possible chunk, with the memory to process it,";
        let check = |weight: u64| self.run.budget.check(what, 2 * u128::from(weight));
        check(weight).or_else(|_| check(self.weights.iter().copied().fold(weight, u64::max)))
    }

    /// Returns the inputs of the steps for a range.
    fn read(&self, range: &Range<usize>) -> Result<Vec<Option<ErasedValue>>> {
        let mut slots = vec![None; self.stage.plan.steps.len()];
        for leaf in &self.stage.leaves {
            slots[leaf.slot] = Some(self.leaf(leaf, range)?);
        }
        Ok(slots)
    }

    /// Returns the value of a leaf for a range.
    fn leaf(&self, leaf: &Leaf, range: &Range<usize>) -> Result<ErasedValue> {
        let missing = || Error::Argument { operation: "collect", why: "a value is missing".into() };
        let value = || self.run.slots[leaf.at].as_ref().ok_or_else(missing);
        let InputRange::Along(range_map) = leaf.input_range else { return value().cloned() };
        let (axis, range) = (range_map.axis, range_map.of(range.clone()));
        let ranges = self.run.plan.steps[leaf.at].node.kind.by_ranges().ok_or_else(missing)?;
        let part = match (self.partitioned.get(&leaf.slot), self.run.layout.source(leaf.at)) {
            (Some(source), _) => source.read(Some((axis, range)))?,
            (None, Some(source)) => source.read(Some((axis, range)))?,
            (None, None) => ranges.slice(value()?, axis, range)?,
        };
        // Broadcasting steps test the entire value, not the chunk.
        Ok(match self.full.get(&leaf.slot) {
            Some(&is_full) => ranges.part_of(&part, Some(PartOf { lengths: None, is_full: Some(is_full) })),
            None => part,
        })
    }

    /// Returns whether a leaf stores every position.
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

    /// Restarts at the first range.
    pub(super) fn restart(&mut self) {
        (self.next, self.is_done, self.failed) = (0, false, None);
        self.left.clear();
        self.found.clear();
    }

    /// Passes computed chunks, while the next chunks are computed.
    pub(super) fn for_each_chunk(&mut self, take: &mut dyn FnMut(&ErasedValue) -> Result<()>) -> Result<()> {
        let mut found = Vec::from(std::mem::take(&mut self.found));
        if found.is_empty() {
            found = self.batch()?;
        }
        let (kind, chunk_buffers) = (self.run.plan.steps[self.stage.of].node.kind, Arc::clone(&self.chunk_buffers));
        while !found.is_empty() {
            let mut take = |value: ErasedValue| take(&value).map(|()| chunk_buffers.within(|| recycle(kind, value)));
            let (next, taken) = threads::both(|| self.batch(), || found.into_iter().try_for_each(&mut take));
            taken?;
            found = next?;
        }
        Ok(())
    }

    /// Computes the next ranges at once. The result is empty after the last range.
    fn batch(&mut self) -> Result<Vec<ErasedValue>> {
        loop {
            let ranges = self.ranges()?;
            match self.compute(&ranges) {
                found if found.is_empty() && !ranges.is_empty() => {}
                found => return Ok(found),
            }
        }
    }

    /// Computes ranges at once, up to a range that fails, or for which the result of a step is too large. A range whose
    /// result is too large is added to the remaining ranges, split if necessary. All later ranges are also added.
    fn compute(&mut self, ranges: &[Ranged]) -> Vec<ErasedValue> {
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
            self.reduced_limit = self.reduced_limit.saturating_add(self.reduced_limit / 8 + 1);
        }
        found
    }

    /// Computes the steps for a range. `works` ranges are computed at the same time. The outer error is a read error.
    fn computed(&self, range: &Range<usize>, works: u64) -> Result<Result<Vec<ErasedValue>>> {
        self.chunk_buffers.within(|| {
            let slots = self.read(range)?;
            let leaves = slots.clone();
            let found = self.run.budget.bounded(RESULT, works, || self.stage.plan.run(slots));
            for (step, leaf) in self.stage.plan.steps.iter().zip(leaves) {
                leaf.into_iter().for_each(|leaf| recycle(step.node.kind, leaf));
            }
            Ok(found)
        })
    }

    /// Returns smaller ranges, the last range first, for a range whose result is too large. If the result may fit when
    /// the range is computed separately, the range is returned unchanged. Returns `None` if the range cannot be split.
    fn parts(&mut self, error: &Error, Ranged { range, weight }: &Ranged, works: u64) -> Option<Vec<Ranged>> {
        let excess = excess(error).filter(|_| works > 1 || range.len() > 1)?.div_ceil(works.into());
        // The ranges use half of the limit, so that a range with a larger result than the other ranges also fits.
        let parts = match excess {
            ..=1 if works > 1 => 1,
            _ => usize::try_from(excess.saturating_mul(2)).unwrap_or(PARTS).clamp(2, PARTS).min(range.len()),
        };
        let (width, weight) = (range.len().div_ceil(parts), weight / parts as u64);
        self.reduced_limit = weight / works;
        let part = |start: usize| Ranged { range: start..range.end.min(start.saturating_add(width)), weight };
        Some(range.clone().step_by(width).rev().map(part).collect())
    }

    /// Returns the value of a range, if there is one.
    fn checked(&mut self, found: Option<ErasedValue>, Ranged { range, weight }: &Ranged) -> Result<ErasedValue> {
        let node = &self.run.plan.steps[self.stage.of].node;
        let missing = || Error::Argument { operation: node.name, why: "a chunk of it is invalid".into() };
        let found = found.ok_or_else(missing)?;
        let grown = node.kind.bytes(&found) as u64 / weight.max(&(1 << 16));
        self.grown = Some(self.grown.unwrap_or(1).max(grown));
        // If the length is wrong, the rule of the step has an error. Return an error instead of a wrong result.
        match node.kind.shape(&found).get(self.stage.axis) == Some(&range.len()) {
            true => Ok(node.kind.by_ranges().map_or_else(|| Arc::clone(&found), |kind| kind.part_of(&found, None))),
            false => Err(missing()),
        }
    }
}

impl Iterator for Traversal<'_> {
    type Item = Result<ErasedValue>;

    fn next(&mut self) -> Option<Result<ErasedValue>> {
        if self.found.is_empty() {
            match self.batch() {
                Ok(found) => self.found.extend(found),
                Err(error) => return Some(Err(error)),
            }
        }
        self.found.pop_front().map(Ok)
    }
}

/// Releases the arrays of a value for reuse, if the value does not have other owners.
fn recycle(kind: &'static dyn Kind, value: ErasedValue) {
    if let Some(kind) = kind.by_ranges() {
        kind.recycle(value);
    }
}

/// Returns an error together with the range of its chunk. Positions in the error count from the start of the range.
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
