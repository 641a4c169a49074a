//! The state of a run in chunks: the layout, the values that are held, and the remaining memory.

use super::Chunks;
use super::layout::Layout;
use super::limits::MemoryBudget;
use super::spill::Spill;
use crate::base::error::Result;
use crate::lazy::node::ErasedValue;
use crate::lazy::plan::Plan;
use crate::lazy::source::{Bins, PartitionRequest, Source, whole};

/// A run of a plan, with the values that it holds.
pub(super) struct Run<'a> {
    pub(super) chunks: &'a Chunks,
    pub(super) plan: &'a Plan,
    pub(super) layout: &'a Layout<'a>,
    pub(super) slots: Vec<Option<ErasedValue>>,
    pub(super) budget: MemoryBudget,
    spill: Spill,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        chunks: &'a Chunks,
        plan: &'a Plan,
        layout: &'a Layout<'a>,
        slots: Vec<Option<ErasedValue>>,
    ) -> Self {
        let budget = MemoryBudget { memory: chunks.memory, held: 0 };
        Run { chunks, plan, layout, slots, budget, spill: Spill::new(chunks.folder.clone()) }
    }

    /// Returns the bytes of a value, 0 if the value is not held.
    pub(super) fn bytes(&self, at: usize) -> u64 {
        self.slots[at].as_ref().map_or(0, |value| self.plan.steps[at].node.kind.bytes(value) as u64)
    }

    /// Repartitions a source to temporary files by ranges of an axis, each of at most `bytes` bytes. Returns `None` if
    /// the source is already in this order.
    ///
    /// The files contain only the entries of the bins.
    pub(super) fn partitioned(
        &self,
        of: &dyn Source,
        axis: usize,
        bins: &Bins,
        weights: &[u64],
        bytes: u64,
    ) -> Result<Option<Box<dyn Source>>> {
        let mut within = whole(of.shape());
        within[axis] = bins.span.clone();
        let folder = || self.spill.folder();
        of.partitioned(&PartitionRequest { within: &within, axis, bins, weights, folder: &folder, bytes })
    }

    /// Returns the bytes of each bin of an existing value.
    pub(super) fn weights(&self, at: usize, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let (Some(value), kind) = (&self.slots[at], self.plan.steps[at].node.kind) else { return Ok(Vec::new()) };
        let Some(ranges) = kind.by_ranges() else { return Ok(Vec::new()) };
        let each = kind.bytes(value).div_ceil(ranges.stored(value).max(1)) as u64;
        let mut counts = ranges.counts(value, axis, bins)?;
        counts.iter_mut().for_each(|count| *count = count.saturating_mul(each));
        Ok(counts)
    }
}
