//! Which values of a graph come in ranges, along which axes, and which are needed as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use crate::base::shape::Shape;
use crate::lazy::node::{Body, Held};
use crate::lazy::plan::{Plan, Step, placed};
use crate::lazy::reductions::is_fold;
use crate::lazy::shares::{Share, Taken, shares};
use crate::lazy::source::Source;

/// How a value that is needed as a whole comes to be.
pub(super) enum Way {
    /// It is there.
    There,
    /// It is read.
    Read,
    /// In ranges of one of its axes, which are joined.
    Ranges(Stage),
    /// It folds all elements of its operand, which comes in ranges.
    Folded(Stage),
    /// From inputs that are needed as a whole themselves.
    Whole,
}

/// Where values are joined with themselves, shares of one are twice as many each time: behind so many what is left is
/// computed as a whole.
const MOST_SHARES: usize = 1 << 12;

/// What computes a value range by range.
pub(super) struct Stage {
    /// Its steps, and in the place of what is cut or taken whole steps without inputs.
    pub(super) plan: Plan,
    /// What comes in ranges, and the axis.
    pub(super) of: usize,
    pub(super) axis: usize,
    pub(super) length: usize,
    pub(super) leaves: Vec<Leaf>,
}

/// What a stage begins with.
pub(super) struct Leaf {
    /// Its place among the steps of the stage.
    pub(super) slot: usize,
    /// Its place in the graph.
    pub(super) at: usize,
    pub(super) share: Share,
}

pub(super) struct Layout<'a> {
    plan: &'a Plan,
    is_there: Vec<bool>,
    /// What is given away range by range of its first axis, and joined if it comes in others.
    poured: Option<usize>,
    pub(super) shapes: Vec<Option<Shape>>,
    /// Of what is needed as a whole, in order.
    pub(super) ways: BTreeMap<usize, Way>,
}

impl<'a> Layout<'a> {
    /// For results that are needed as a whole, but for one that is given away range by range.
    pub(super) fn new(plan: &'a Plan, slots: &[Option<Held>], poured: Option<usize>) -> Self {
        let shape = |(step, slot): (&Step, &Option<Held>)| match (slot, &step.node.body) {
            (Some(value), _) => Some(step.node.kind.shape(value)),
            (None, Body::Source(source)) => Some(source.shape().clone()),
            (None, _) => step.node.shape.clone(),
        };
        let shapes = plan.steps.iter().zip(slots).map(shape).collect();
        let is_there = slots.iter().map(Option::is_some).collect();
        let mut layout = Layout { plan, is_there, poured, shapes, ways: BTreeMap::new() };
        let mut needed: BTreeSet<usize> = plan.outputs.iter().copied().collect();
        // Inputs stand before what is made of them.
        while let Some(at) = needed.pop_last() {
            let way = layout.way(at);
            match &way {
                Way::There | Way::Read => {}
                Way::Ranges(stage) | Way::Folded(stage) => needed.extend(layout.wholes(stage)),
                Way::Whole => needed.extend(&plan.steps[at].inputs),
            }
            layout.ways.insert(at, way);
        }
        layout
    }

    /// What is read in parts, if that is one.
    pub(super) fn source(&self, at: usize) -> Option<&Arc<dyn Source>> {
        match &self.plan.steps[at].node.body {
            Body::Source(source) if !self.is_there[at] => Some(source),
            _ => None,
        }
    }

    fn way(&self, at: usize) -> Way {
        let step = &self.plan.steps[at];
        if self.is_there[at] {
            return Way::There;
        }
        if self.source(at).is_some() {
            return Way::Read;
        }
        let is_one_cell = self.shapes[at].as_ref().is_some_and(|shape| shape.wide_size() == 1);
        if let (true, true, Some(&operand)) =
            (is_one_cell, is_fold(&step.node) && step.node.is_fed, step.inputs.first())
            && self.plan.steps[operand].node.kind.by_ranges().is_some_and(|kind| kind.is_poured())
            && let Some(stage) = self.best(operand)
        {
            return Way::Folded(stage);
        }
        self.best(at).map_or(Way::Whole, Way::Ranges)
    }

    /// The stage that computes a value in ranges of the axis for which the least is needed as a whole.
    fn best(&self, of: usize) -> Option<Stage> {
        let step = &self.plan.steps[of];
        step.node.kind.by_ranges()?;
        let rank = self.shapes[of].as_ref()?.rank();
        let is_leaf = self.is_there[of] || self.source(of).is_some();
        let axes = (0..rank).filter(|&axis| is_leaf || self.shares(of, axis).is_some());
        axes.map(|axis| self.stage(of, axis)).min_by_key(|stage| self.cost(stage))
    }

    /// What speaks against a stage: positions that are needed as a whole and not there; an axis that cannot be cut;
    /// files to be written out in another order.
    fn cost(&self, stage: &Stage) -> (u128, bool, bool) {
        let whole = self.wholes(stage).into_iter().filter(|&at| !self.is_there[at]);
        let size = |at: usize| self.shapes[at].as_ref().map_or(u128::MAX, Shape::wide_size);
        let is_dealt =
            |leaf: &Leaf| self.source(leaf.at).is_some() && matches!(leaf.share, Share::Along(cut) if cut.axis > 0);
        let joined = if self.is_joined(stage) { size(stage.of) } else { 0 };
        let positions = whole.fold(joined, |sum: u128, at| sum.saturating_add(size(at)));
        (positions, stage.length < 2, stage.leaves.iter().any(is_dealt))
    }

    /// Whether what could be given away range by range is put together before, as its ranges are of another axis.
    fn is_joined(&self, stage: &Stage) -> bool {
        let has_ranges = || self.shapes[stage.of].as_ref().is_some_and(|shape| shape.first() > Some(&1));
        self.poured == Some(stage.of) && stage.axis > 0 && has_ranges()
    }

    /// What a stage needs as a whole: also what is cut only once it is there.
    fn wholes(&self, stage: &Stage) -> Vec<usize> {
        let is_whole = |leaf: &&Leaf| leaf.share == Share::Whole || self.source(leaf.at).is_none();
        stage.leaves.iter().filter(is_whole).map(|leaf| leaf.at).collect()
    }

    /// What a step takes of its inputs for a range of an axis.
    fn shares(&self, at: usize, axis: usize) -> Option<Taken> {
        let step = &self.plan.steps[at];
        if step.inputs.is_empty() {
            return None;
        }
        let shapes = step.inputs.iter().map(|&input| self.shapes[input].as_ref()).collect::<Option<Vec<_>>>()?;
        let can_be_cut = |input: &usize| self.plan.steps[*input].node.kind.by_ranges().is_some();
        step.inputs.iter().all(can_be_cut).then(|| shares(&step.node, &shapes, axis))?
    }

    /// The steps that give a range of an axis.
    fn stage(&self, of: usize, axis: usize) -> Stage {
        let (mut left, mut met) = (BTreeSet::from([(of, Share::along(axis))]), Vec::new());
        // From the result on: inputs stand before what is made of them, so that all that ask for one come first.
        while let Some((at, share)) = left.pop_last() {
            let is_leaf = self.is_there[at] || self.source(at).is_some();
            let inputs = match share {
                Share::Along(cut) if !is_leaf && met.len() < MOST_SHARES => self.shares(at, cut.axis).map(|taken| {
                    let shares = taken.shares.into_iter().map(|share| share.through(cut));
                    (self.plan.steps[at].inputs.iter().copied().zip(shares).collect::<Vec<_>>(), taken.run)
                }),
                _ => None,
            };
            left.extend(inputs.iter().flat_map(|(inputs, _)| inputs));
            met.push(((at, share), inputs));
        }
        let (mut steps, mut slots, mut leaves) = (Vec::new(), BTreeMap::new(), Vec::new());
        for ((at, share), inputs) in met.into_iter().rev() {
            slots.insert((at, share), steps.len());
            let node = &self.plan.steps[at].node;
            if inputs.is_none() {
                leaves.push(Leaf { slot: steps.len(), at, share });
            }
            let (inputs, run) = inputs.unwrap_or_default();
            let node = run.map_or_else(|| Arc::clone(node), |run| Arc::new(node.with_run(run)));
            let places = inputs.iter().map(|input| slots[input]).collect();
            let step = placed(&steps, node, places);
            steps.push(step);
        }
        let length = self.shapes[of].as_ref().map_or(0, |shape| shape[axis]);
        let outputs = vec![steps.len() - 1];
        Stage { plan: Plan::of_steps(steps, outputs), of, axis, length, leaves }
    }

    /// The stages in words.
    pub(super) fn told(&self) -> String {
        let mut text = String::new();
        for (at, way) in &self.ways {
            let _ = match way {
                Way::There => Ok(()),
                Way::Read => writeln!(text, "chunks: %{at} is read whole"),
                Way::Whole => writeln!(text, "chunks: %{at} from all of its inputs"),
                Way::Ranges(stage) => writeln!(text, "chunks: %{at} in ranges of axis {}{}", stage.axis, of(stage)),
                Way::Folded(stage) => {
                    let (of_operand, axis) = (stage.of, stage.axis);
                    writeln!(text, "chunks: %{at} folds %{of_operand} in ranges of axis {axis}{}", of(stage))
                }
            };
        }
        text
    }
}

/// What a stage begins with, in words.
fn of(stage: &Stage) -> String {
    let leaf = |leaf: &Leaf| match leaf.share {
        Share::Whole => format!("; %{} whole", leaf.at),
        Share::Along(cut) => {
            let range = format!("; %{} in ranges of axis {}", leaf.at, cut.axis);
            match (cut.part_of(), cut.shift) {
                (Some(part), _) => format!("{range} for {} to {}", part.start, part.end),
                (None, 0) => range,
                (None, shift) => format!("{range} from {shift} on"),
            }
        }
    };
    stage.leaves.iter().map(leaf).collect()
}
