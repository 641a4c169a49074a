//! The computation of a graph in chunks, by its layout.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::layout::{Layout, Stage, Strategy};
use super::limits::{INPUT, STATES};
use super::run::Run;
use super::traversal::Traversal;
use crate::base::error::{Error, Result};
use crate::lazy::node::{ChunkedInput, ErasedValue, Node};
use crate::lazy::plan::Plan;
use crate::lazy::source::{ByRanges, Part, Source};
use crate::lazy::value::Kind;

/// The approximate picoseconds per reduced element.
const PICOSECONDS: usize = 1_000;

impl Run<'_> {
    /// Computes the values of the outputs.
    pub(super) fn values(mut self) -> Result<Vec<ErasedValue>> {
        self.find(None)?;
        Ok(self.plan.outputs.iter().filter_map(|&at| self.slots[at].clone()).collect())
    }

    /// Passes the value of the only output in chunks along its first axis.
    pub(super) fn for_each_chunk(mut self, take: &mut dyn FnMut(&ErasedValue) -> Result<()>) -> Result<()> {
        let Some(&of) = self.plan.outputs.first() else { return Ok(()) };
        let Some(Strategy::Ranges(stage)) = self.layout.strategies.get(&of).filter(|strategy| is_first(strategy))
        else {
            return match self.copied(of) {
                // The file is read in the order of its entries, so that all of its checksums are compared.
                Some(source) => source.read_part(self.piece(), &mut |piece, _| take(&piece)),
                None => self.values()?.iter().try_for_each(take),
            };
        };
        self.find(Some(of))?;
        Traversal::new(&self, stage)?.for_each_chunk(take)
    }

    /// Returns the source of a file that is passed unchanged, if the file does not fit in memory.
    fn copied(&self, of: usize) -> Option<&Arc<dyn Source>> {
        self.layout.source(of).filter(|source| source.checks().is_some() && source.bytes() > self.budget.left())
    }

    /// Returns the partition of all entries, with chunks of the usual size.
    fn piece(&self) -> Part {
        Part { number: 0, of: 1, memory: self.budget.left() / INPUT }
    }

    /// Computes the values that are needed entirely, except `but`.
    fn find(&mut self, but: Option<usize>) -> Result<()> {
        let layout = self.layout;
        let last = last_uses(layout, self.plan);
        for (&at, strategy) in layout.strategies.iter().filter(|(at, _)| Some(**at) != but) {
            let node = &self.plan.steps[at].node;
            let found = match strategy {
                Strategy::There => continue,
                Strategy::Read => self.read(at),
                Strategy::Whole => self.whole(at),
                Strategy::Ranges(stage) => self.joined(stage),
                Strategy::Folded(stage) => self.folded(node, stage),
            };
            self.slots[at] = Some(found.map_err(|cause| node.error(cause))?);
            self.budget.held = self.budget.held.saturating_add(self.bytes(at));
            for &at in last.get(&at).into_iter().flatten() {
                self.budget.held = self.budget.held.saturating_sub(self.bytes(at));
                self.slots[at] = None;
            }
        }
        Ok(())
    }

    fn read(&self, at: usize) -> Result<ErasedValue> {
        let bytes = self.layout.source(at).map_or(0, |source| source.bytes());
        self.budget.check("a file that must be in memory", bytes.into())?;
        self.plan.steps[at].node.run(&[])
    }

    fn whole(&self, at: usize) -> Result<ErasedValue> {
        let step = &self.plan.steps[at];
        let inputs: Vec<ErasedValue> = step.inputs.iter().filter_map(|&input| self.slots[input].clone()).collect();
        let were_there =
            step.inputs.iter().filter(|at| matches!(self.layout.strategies.get(at), Some(Strategy::There)));
        let bytes = were_there.map(|&at| u128::from(self.bytes(at))).sum();
        self.budget.check("the inputs of this step in memory", bytes)?;
        self.budget.bounded(1, 1, || step.node.run(&inputs))
    }

    /// Computes a value in chunks, and concatenates the chunks.
    fn joined(&self, stage: &Stage) -> Result<ErasedValue> {
        let kind = self.plan.steps[stage.of].node.kind;
        let (mut parts, mut bytes, mut done) = (Vec::new(), 0_u128, 0_u128);
        Traversal::new(self, stage)?.for_each_chunk(&mut |part| {
            bytes += 2 * kind.bytes(part) as u128;
            done += kind.shape(part).get(stage.axis).map_or(0, |&length| length as u128);
            parts.push(Arc::clone(part));
            let what = "the chunks of this result together with the result";
            // The error reports the size of the entire result, estimated from the chunks so far.
            let all = || bytes.saturating_mul(stage.length as u128) / done.max(1);
            self.budget.check(what, bytes).or_else(|_| self.budget.check(what, bytes.max(all())))
        })?;
        match (&parts[..], kind.by_ranges()) {
            ([one], _) => Ok(Arc::clone(one)),
            (parts, Some(kind)) => kind.join(stage.axis, parts),
            (_, None) => Err(Error::Argument { operation: "collect", why: "its chunks cannot be joined".into() }),
        }
    }

    /// Computes a reduction from chunks of its operand.
    fn folded(&self, node: &Node, stage: &Stage) -> Result<ErasedValue> {
        let (found, fill) = self.folded_with_fill(node, stage, None)?;
        match fill {
            // If the first chunks store every position, only later chunks know the fill of unstored positions.
            Some(fill) => {
                drop(found);
                self.folded_with_fill(node, stage, Some(fill))?.0
            }
            None => found,
        }
    }

    /// Computes a reduction from chunks of its operand. If `fill` is `None`, the fill of the first chunk with a stored
    /// element is used.
    ///
    /// Also returns the fill of unstored positions, if this fill is different.
    fn folded_with_fill(
        &self,
        node: &Node,
        stage: &Stage,
        fill: Option<ErasedValue>,
    ) -> Result<(Result<ErasedValue>, Option<ErasedValue>)> {
        let none = || Error::Argument { operation: node.name, why: "its operand is not read in chunks".into() };
        let kind = self.plan.steps[stage.of].node.kind;
        let ranges = kind.by_ranges().ok_or_else(none)?;
        let (mut walk, mut chunk_fill) =
            (Traversal::new(self, stage)?, ChunkFill { kind, ranges, axis: stage.axis, fill: None });
        // The pattern has only the first entry. The reduction finds its output elements in the chunks.
        let part = chunk_fill.first_stored(&mut walk)?.ok_or_else(none)?;
        let shape = self.layout.shapes[stage.of].as_ref().ok_or_else(none)?;
        let [first, pattern] = ranges.first(&part, shape)?.ok_or_else(none)?;
        if ranges.stored(&first) == 0 {
            return Ok((node.run(&[first]), None));
        }
        let empty = fill.map_or_else(|| chunk_fill.empty(&part), Ok)?;
        let (walk, rejection) = (Mutex::new((walk, chunk_fill, Some(part))), Mutex::new(None));
        let run = |_: Range<usize>, take: &mut dyn FnMut(&ErasedValue)| {
            let (walk, chunk_fill, first) = &mut *walk.lock().unwrap_or_else(PoisonError::into_inner);
            match first.take() {
                Some(first) => take(&first),
                None => walk.restart(),
            }
            let done = walk.for_each_chunk(&mut |part| {
                take(part);
                chunk_fill.note(part)
            });
            done.inspect_err(|error| *rejection.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone()))
        };
        let feed = ChunkedInput {
            is_streamed: true,
            max_bytes: usize::try_from(self.layout.states.min(self.budget.left() / STATES)).unwrap_or(usize::MAX),
            picoseconds: PICOSECONDS,
            ..ChunkedInput::of(&pattern, &empty, &run)
        };
        let reduce_chunks = node.work().and_then(|work| work.reduce_chunks.as_ref());
        let found = reduce_chunks.and_then(|reduce_chunks| reduce_chunks(node, &feed)).ok_or_else(none)?;
        if let Some(error) = rejection.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let (_, chunk_fill, _) = walk.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((found, chunk_fill.fill.filter(|fill| ranges.join(stage.axis, &[fill.clone(), empty]).is_err())))
    }
}

/// The fill of the chunks that have unstored positions.
struct ChunkFill {
    kind: &'static dyn Kind,
    ranges: &'static dyn ByRanges,
    axis: usize,
    /// A chunk without entries, which has the fill.
    fill: Option<ErasedValue>,
}

impl ChunkFill {
    /// Returns the first chunk that stores an element, or the last chunk.
    fn first_stored(&mut self, walk: &mut Traversal<'_>) -> Result<Option<ErasedValue>> {
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

    /// Returns a slice of a chunk without entries. The slice along the first axis is a window, so the slice along the
    /// other axis does not read entries.
    fn empty(&self, part: &ErasedValue) -> Result<ErasedValue> {
        let none = self.ranges.slice(part, 0, 0..0)?;
        if self.axis == 0 { Ok(none) } else { self.ranges.slice(&none, self.axis, 0..0) }
    }

    /// Rejects a chunk if its fill at unstored positions differs from the fill of earlier chunks.
    fn note(&mut self, part: &ErasedValue) -> Result<()> {
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

/// Returns whether a value is computed in chunks along its first axis.
fn is_first(strategy: &Strategy) -> bool {
    matches!(strategy, Strategy::Ranges(Stage { axis: 0, .. }))
}

/// Returns, for each value, the values that are not needed after it. Outputs are never included.
fn last_uses(layout: &Layout<'_>, plan: &Plan) -> BTreeMap<usize, Vec<usize>> {
    let mut last = BTreeMap::new();
    for (&at, strategy) in &layout.strategies {
        let used: Vec<usize> = match strategy {
            Strategy::There | Strategy::Read => Vec::new(),
            Strategy::Whole => plan.steps[at].inputs.clone(),
            Strategy::Ranges(stage) | Strategy::Folded(stage) => stage.leaves.iter().map(|leaf| leaf.at).collect(),
        };
        last.extend(used.into_iter().map(|used| (used, at)));
    }
    let mut freed = BTreeMap::<usize, Vec<usize>>::new();
    for (used, by) in last.into_iter().filter(|(used, _)| !plan.outputs.contains(used)) {
        freed.entry(by).or_default().push(used);
    }
    freed
}
