//! Which values of a graph come in ranges, along which axes, and which are needed as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use super::limits::{INPUT, STATES};
use crate::base::shape::Shape;
use crate::lazy::node::{Body, Held};
use crate::lazy::plan::{Plan, Step, placed};
use crate::lazy::reductions::stream;
use crate::lazy::rewrite::decides_by_all;
use crate::lazy::shares::{Share, Taken, shares};
use crate::lazy::source::Source;
use crate::ops::{OpSpec, Stream, op};

/// How a value that is needed as a whole comes to be.
pub(super) enum Way {
    /// It is there.
    There,
    /// It is read.
    Read,
    /// In ranges of one of its axes, which are joined.
    Ranges(Stage),
    /// It takes all elements of its operand, which comes in ranges of an axis that it does not keep, once or again.
    Folded(Stage),
    /// From inputs that are needed as a whole themselves.
    Whole,
}

/// Where values are joined with themselves, shares of one are twice as many each time: behind so many what is left is
/// computed as a whole.
const MOST_SHARES: usize = 1 << 12;

/// The part of the memory that a position of an axis takes which is not to be cut into ranges.
const HEAVY: u64 = 4;

/// What the state of a cell takes, mostly, and that of a sum of squares, few of which are exact in two floats.
const STATE: u128 = 96;
const SQUARES: u128 = 700;

/// What a cell of the result takes, while it is made, with each of its axes.
const CELL: u128 = 48;
const COORD: u128 = 16;

/// More passes take longer than dealing out.
const MOST_PASSES: u128 = 6;

/// What speaks against a stage, what counts most first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// The positions that are needed as a whole, and are not there, where these may take a large part of the memory.
    much: u128,
    /// The axis has no two ranges.
    is_not_cut: bool,
    /// A position of the axis takes too much, if all take the same.
    is_heavy: bool,
    /// Files are written out in another order.
    is_dealt: bool,
    /// The positions that are needed as a whole, also where these take a small part of the memory.
    positions: u128,
}

/// What a position takes, mostly, where it is stored.
const POSITION: u128 = 24;

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
    /// Whether a step that repeats it looks at whether it stores every position.
    pub(super) is_asked: bool,
}

/// What is read and what is there takes so many times as much in states of cells, at most, or this.
const STATES_OF_INPUT: u64 = 16;
const LEAST_STATES: u64 = 16 << 20;

pub(super) struct Layout<'a> {
    plan: &'a Plan,
    /// The bytes that values may take.
    memory: u64,
    /// Of these, what the states of a fold may take at once, and the results of all folds.
    pub(super) states: u64,
    is_there: Vec<bool>,
    /// Which reductions rather take ranges of an axis that they do not keep: what stands behind them is cut there.
    do_fold: Vec<bool>,
    /// What takes these ranges, and the bytes that all results of these reductions take.
    folds: BTreeMap<usize, Stage>,
    folded_bytes: u128,
    /// What is given away range by range of its first axis, and joined if it comes in others.
    poured: Option<usize>,
    pub(super) shapes: Vec<Option<Shape>>,
    /// Of what is needed as a whole, in order.
    pub(super) ways: BTreeMap<usize, Way>,
}

/// What the states of folds may take of the memory: of few entries no more than these are worth, whatever the shape.
fn states_of(plan: &Plan, memory: u64, slots: &[Option<Held>]) -> u64 {
    let bytes = |(step, slot): (&Step, &Option<Held>)| match (slot, &step.node.body) {
        (Some(value), _) => step.node.kind.bytes(value) as u64,
        (None, Body::Source(source)) => source.about(),
        (None, _) => 0,
    };
    let input = plan.steps.iter().zip(slots).map(bytes).fold(0, u64::saturating_add);
    (memory / STATES).min(input.saturating_mul(STATES_OF_INPUT).max(LEAST_STATES))
}

impl<'a> Layout<'a> {
    /// For results that are needed as a whole, but for one that is given away range by range.
    pub(super) fn new(plan: &'a Plan, memory: u64, slots: &[Option<Held>], poured: Option<usize>) -> Self {
        let shape = |(step, slot): (&Step, &Option<Held>)| match (slot, &step.node.body) {
            (Some(value), _) => Some(step.node.kind.shape(value)),
            (None, Body::Source(source)) => Some(source.shape().clone()),
            (None, _) => step.node.shape.clone(),
        };
        let shapes = plan.steps.iter().zip(slots).map(shape).collect();
        let is_there = slots.iter().map(Option::is_some).collect();
        let (do_fold, folds, ways) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let states = states_of(plan, memory, slots);
        let mut layout =
            Layout { plan, memory, states, is_there, do_fold, folds, folded_bytes: 0, poured, shapes, ways };
        // Of a step this asks for those before it.
        for at in 0..plan.steps.len() {
            let fold = if layout.is_there[at] { None } else { layout.fold(at) };
            layout.do_fold.push(fold.is_some());
            if let Some(stage) = fold {
                layout.folded_bytes += layout.folded_bytes_of(at);
                layout.folds.insert(at, stage);
            }
        }
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

    fn way(&mut self, at: usize) -> Way {
        if self.is_there[at] {
            return Way::There;
        }
        if self.source(at).is_some() {
            return Way::Read;
        }
        match self.folds.remove(&at) {
            Some(stage) => Way::Folded(stage),
            None => self.best(at, |_| true).map_or(Way::Whole, Way::Ranges),
        }
    }

    /// The stage of the operand of a reduction that rather takes it in ranges of an axis which it does not keep than is
    /// computed in ranges itself.
    fn fold(&self, at: usize) -> Option<Stage> {
        let stage = self.folded(at)?;
        let is_better = |ranges: Stage| self.cost(&stage) < self.cost(&ranges);
        (self.cells(at) == 1 || self.best(at, |_| true).is_none_or(is_better)).then_some(stage)
    }

    /// The bytes that the result of a reduction takes while it is made, if each of its cells holds an entry.
    fn folded_bytes_of(&self, at: usize) -> u128 {
        let rank = self.shapes[at].as_ref().map_or(0, |shape| shape.rank());
        self.cells(at).saturating_mul(CELL + COORD * rank as u128)
    }

    /// In how many passes the cells of a fold are found, more or less: half of the states' memory is for what grows.
    fn passes(&self, at: usize) -> u128 {
        let state = if self.plan.steps[at].node.op().is_some_and(|op| op.is(&op::norm)) { SQUARES } else { STATE };
        self.cells(at).saturating_mul(2 * state).div_ceil(self.states.max(1).into())
    }

    /// The number of positions of a value.
    fn cells(&self, at: usize) -> u128 {
        self.shapes[at].as_ref().map_or(u128::MAX, Shape::wide_size)
    }

    /// The stage of the operand of a reduction that may take it in ranges of an axis which it does not keep.
    fn folded(&self, at: usize) -> Option<Stage> {
        let Step { node, inputs, .. } = &self.plan.steps[at];
        let (&operand, cells) = (inputs.first()?, self.cells(at));
        let kept = if cells > 1 { self.kept(at)? } else { Vec::new() };
        let fits = match cells {
            0 => false,
            1 => stream(node) != Stream::Whole,
            _ => {
                let bytes = self.folded_bytes.saturating_add(self.folded_bytes_of(at));
                stream(node) == Stream::Fold && bytes <= self.states.into() && self.passes(at) <= MOST_PASSES
            }
        };
        // What is folded itself is needed as a whole: its own operand would come in ranges of another axis else.
        let is_folded = self.do_fold.get(operand) == Some(&true);
        if !fits || node.is_grouped() || is_folded || !self.is_poured(operand)? {
            return None;
        }
        let is_repeated = matches!(stream(node), Stream::Passes | Stream::Middle) || self.passes(at) > 1;
        let stage = self.best(operand, |axis| !kept.contains(&axis))?;
        // A product takes much longer than reading its operands.
        let is_product = |step: &Step| step.node.op().is_some_and(OpSpec::is_product) && !step.inputs.is_empty();
        let is_long = || stage.plan.steps.iter().any(is_product);
        (!is_repeated || !self.plan.outputs.contains(&operand) && !is_long()).then_some(stage)
    }

    /// Whether reductions take a value range by range, beside the pattern of one of its entries in all of its shape.
    fn is_poured(&self, at: usize) -> Option<bool> {
        let ranges = self.plan.steps[at].node.kind.by_ranges()?;
        Some(ranges.is_poured() && ranges.first_bytes(self.shapes[at].as_ref()?) <= self.states.into())
    }

    /// The axes of its operand that a reduction keeps; none where these are not known.
    fn kept(&self, at: usize) -> Option<Vec<usize>> {
        let shape = self.shapes[*self.plan.steps[at].inputs.first()?].as_ref()?;
        let kept = (0..self.shapes[at].as_ref()?.rank()).filter_map(|axis| match self.shares(at, axis)?.shares[..] {
            [Share::Along(cut)] => Some(cut.axis),
            _ => None,
        });
        let kept: Vec<usize> = kept.collect();
        let cells = kept.iter().fold(1, |cells: u128, &axis| cells.saturating_mul(shape[axis] as u128));
        (cells == self.cells(at)).then_some(kept)
    }

    /// The stage that computes a value in ranges of the axis, among some, that the least speaks against.
    fn best(&self, of: usize, is_asked: impl Fn(usize) -> bool) -> Option<Stage> {
        let step = &self.plan.steps[of];
        step.node.kind.by_ranges()?;
        let rank = self.shapes[of].as_ref()?.rank();
        let is_leaf = self.is_there[of] || self.source(of).is_some();
        let axes = (0..rank).filter(|&axis| is_asked(axis) && (is_leaf || self.shares(of, axis).is_some()));
        axes.map(|axis| self.stage(of, axis)).min_by_key(|stage| self.cost(stage))
    }

    /// What speaks against a stage.
    fn cost(&self, stage: &Stage) -> Cost {
        let whole = self.wholes(stage).into_iter().filter(|&at| !self.is_there[at]);
        let joined = if self.is_joined(stage) { self.cells(stage.of) } else { 0 };
        let positions = whole.fold(joined, |sum: u128, at| sum.saturating_add(self.cells(at)));
        let cuts = stage.leaves.iter().filter_map(|leaf| match leaf.share {
            Share::Along(cut) => Some((cut.axis, self.source(leaf.at)?)),
            Share::Whole => None,
        });
        let each = |axis: usize, source: &dyn Source| source.about() / source.shape()[axis].max(1) as u64;
        Cost {
            much: if positions.saturating_mul(POSITION) > (self.memory / INPUT).into() { positions } else { 0 },
            is_not_cut: stage.length < 2,
            is_heavy: cuts.clone().any(|(axis, source)| each(axis, &**source) > self.memory / HEAVY),
            is_dealt: cuts.clone().any(|(axis, _)| axis > 0),
            positions,
        }
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
        // Operands that a step asks whether they store every position: they are computed as a whole before.
        let mut asked = BTreeSet::new();
        // From the result on: inputs stand before what is made of them, so that all that ask for one come first.
        while let Some((at, share)) = left.pop_last() {
            let does_fold = at != of && self.do_fold.get(at) == Some(&true);
            let is_leaf = self.is_there[at] || self.source(at).is_some() || does_fold || asked.contains(&at);
            asked.extend(self.asked_of(at));
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
                leaves.push(Leaf { slot: steps.len(), at, share, is_asked: asked.contains(&at) });
            }
            let (inputs, run) = inputs.unwrap_or_default();
            let node = run.map_or_else(|| Arc::clone(node), |run| Arc::new(node.with_run(run)));
            let places = inputs.iter().map(|input| slots[input]).collect();
            // Ranges are decided by the tensors that they are parts of.
            let step = placed(&steps, node, places, false);
            steps.push(step);
        }
        let length = self.shapes[of].as_ref().map_or(0, |shape| shape[axis]);
        let outputs = vec![steps.len() - 1];
        Stage { plan: Plan::of_steps(steps, outputs), of, axis, length, leaves }
    }

    /// The inputs of a step that it repeats, if it looks at whether one of these stores every position.
    fn asked_of(&self, at: usize) -> impl Iterator<Item = usize> {
        let Step { node, inputs, .. } = &self.plan.steps[at];
        let is_asked = decides_by_all(node);
        let is_repeated = move |input: &&usize| is_asked && self.shapes[**input] != self.shapes[at];
        inputs.iter().filter(is_repeated).copied()
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
