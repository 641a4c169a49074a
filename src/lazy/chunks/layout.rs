//! The layout of a graph: the values that are computed in chunks, the axes of the chunks, and the values that must be
//! entirely in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use super::limits::{INPUT, STATES};
use crate::base::shape::Shape;
use crate::lazy::input_ranges::{InputRange, StepInputs, input_ranges};
use crate::lazy::node::{Body, ErasedValue};
use crate::lazy::plan::{Plan, Step, placed};
use crate::lazy::reductions::stream;
use crate::lazy::rewrite::decides_by_all;
use crate::lazy::source::Source;
use crate::ops::{OpSpec, Split, Stream, op};

/// The way in which a value that is needed entirely is obtained.
pub(super) enum Strategy {
    /// The value already exists.
    There,
    /// The value is read.
    Read,
    /// The value is computed in chunks along one of its axes, which are concatenated.
    Ranges(Stage),
    /// A reduction reads its operand in chunks along an axis that the reduction does not keep, in one or several
    /// passes.
    Folded(Stage),
    /// The value is computed from inputs that are needed entirely.
    Whole,
}

/// The largest number of shares in a stage. Each concatenation of a value with itself doubles the shares. Above this
/// limit, values are computed entirely.
const MAX_INPUT_RANGES: usize = 1 << 12;

/// The divisor of the memory for one position of an axis. If one position takes more memory, the axis should not be
/// split.
const HEAVY: u64 = 4;

/// The typical bytes of an accumulator, and of the accumulator of a sum of squares. The second number is larger,
/// because few sums of squares are exact in two floats.
const STATE: u128 = 96;
const SQUARES: u128 = 700;

/// The bytes of an output element while it is computed, and of each of its coordinates.
const CELL: u128 = 48;
const COORD: u128 = 16;

/// The largest number of passes. More passes take longer than repartitioning to temporary files.
const MAX_PASSES: u128 = 6;

/// The cost of a stage. Costs are compared by the first field that differs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// The missing positions that are needed entirely, if they may take a large fraction of the memory.
    much: u128,
    /// True if the axis has fewer than two positions.
    is_not_cut: bool,
    /// True if one position of the axis takes too much memory. All positions are assumed to take the same memory.
    is_heavy: bool,
    /// True if files are repartitioned to temporary files.
    is_partitioned: bool,
    /// The missing positions that are needed entirely, even if they take a small fraction of the memory.
    positions: u128,
}

/// The typical bytes of a stored position.
const POSITION: u128 = 24;

/// The computation of a value chunk by chunk.
pub(super) struct Stage {
    /// The steps. Inputs of the stage are steps without inputs.
    pub(super) plan: Plan,
    /// The value that is computed in chunks, and the axis.
    pub(super) of: usize,
    pub(super) axis: usize,
    pub(super) length: usize,
    pub(super) leaves: Vec<Leaf>,
}

/// An input of a stage.
pub(super) struct Leaf {
    /// The index among the steps of the stage.
    pub(super) slot: usize,
    /// The index among the steps of the graph.
    pub(super) at: usize,
    pub(super) input_range: InputRange,
    /// True if a broadcasting step tests whether the input stores every position.
    pub(super) is_requested: bool,
}

/// The accumulators take at most this multiple of the bytes of the inputs, or `MIN_STATES` bytes if this is more.
const STATES_OF_INPUT: u64 = 16;
const MIN_STATES: u64 = 16 << 20;

pub(super) struct Layout<'a> {
    plan: &'a Plan,
    /// For each step, how a chunk determines the fill of the entire result.
    fills: Vec<FillOfChunk>,
    /// The largest number of bytes for values.
    memory: u64,
    /// The largest number of bytes for the accumulators of a reduction, and for the results of all such reductions.
    pub(super) states: u64,
    is_there: Vec<bool>,
    /// For each step, true if it is a reduction that reads chunks along an axis that it does not keep. Stages of later
    /// steps start at its result.
    do_fold: Vec<bool>,
    /// The stages of these reductions, and the bytes of all their results.
    folds: BTreeMap<usize, Stage>,
    folded_bytes: u128,
    /// The output that is passed in chunks along its first axis. If its chunks are along another axis, they are
    /// concatenated first.
    streamed: Option<usize>,
    pub(super) shapes: Vec<Option<Shape>>,
    /// The values that are needed entirely, in order.
    pub(super) strategies: BTreeMap<usize, Strategy>,
}

/// How a chunk of a value determines the fill of the entire value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FillOfChunk {
    ValueFacts,
    /// The fill times factors, which is usually 0. A chunk that stores every position has the fill of its operand.
    OfFactors,
    /// The results of an array at unstored positions. A chunk that stores every position has the fill of its operand.
    ArrayKind,
}

fn is_reduction(step: &Step) -> bool {
    step.node.call().is_some_and(|call| call.op.split == Split::Over)
}

impl FillOfChunk {
    /// Returns the `FillOfChunk` of each step of a plan. The fills of existing values are known.
    fn of_steps(plan: &Plan, slots: &[Option<ErasedValue>]) -> Vec<Self> {
        let mut fills: Vec<Self> = Vec::with_capacity(plan.steps.len());
        for (step, slot) in plan.steps.iter().zip(slots) {
            let of_inputs = step.inputs.iter().map(|&input| fills[input]).max().unwrap_or(FillOfChunk::ValueFacts);
            // A reduction of such an operand reads the entire operand.
            let is_whole = of_inputs == FillOfChunk::ArrayKind && is_reduction(step);
            let is_known = slot.is_some() || is_whole;
            fills.push(if is_known { FillOfChunk::ValueFacts } else { of_inputs.max(Self::of(plan, step)) });
        }
        fills
    }

    /// Returns the `FillOfChunk` of a step whose operands have known fills. If the operands are dynamically typed, the
    /// result is an array, which does not have a fill, or is 0 at all unstored positions.
    fn of(plan: &Plan, step: &Step) -> Self {
        let Some(call) = step.node.call().filter(|call| !call.is_stored()) else { return FillOfChunk::ValueFacts };
        let arrays = step.inputs.iter().filter(|&&input| plan.steps[input].node.kind.format() == "array").count();
        let is_product = [&op::mul, &op::mul_nonzero, &op::div].into_iter().any(|own| call.op.is(own));
        match call.op.split {
            Split::Scaled => FillOfChunk::OfFactors,
            Split::Each if (1..step.inputs.len()).contains(&arrays) && is_product => FillOfChunk::OfFactors,
            Split::Each if (1..step.inputs.len()).contains(&arrays) => FillOfChunk::ArrayKind,
            _ => FillOfChunk::ValueFacts,
        }
    }
}

/// Returns the largest number of bytes for accumulators. If the inputs are small, the limit depends on their size and
/// not on their shape.
fn states_of(plan: &Plan, memory: u64, slots: &[Option<ErasedValue>]) -> u64 {
    let bytes = |(step, slot): (&Step, &Option<ErasedValue>)| match (slot, &step.node.body) {
        (Some(value), _) => step.node.kind.bytes(value) as u64,
        (None, Body::Source(source)) => source.about(),
        (None, _) => 0,
    };
    let input = plan.steps.iter().zip(slots).map(bytes).fold(0, u64::saturating_add);
    (memory / STATES).min(input.saturating_mul(STATES_OF_INPUT).max(MIN_STATES))
}

impl<'a> Layout<'a> {
    /// Returns the layout for results that are needed entirely, except an output that is passed in chunks.
    pub(super) fn new(plan: &'a Plan, memory: u64, slots: &[Option<ErasedValue>], streamed: Option<usize>) -> Self {
        let shape = |(step, slot): (&Step, &Option<ErasedValue>)| match (slot, &step.node.body) {
            (Some(value), _) => Some(step.node.kind.shape(value)),
            (None, Body::Source(source)) => Some(source.shape().clone()),
            (None, _) => step.node.shape.clone(),
        };
        let shapes = plan.steps.iter().zip(slots).map(shape).collect();
        let is_there = slots.iter().map(Option::is_some).collect();
        let (do_fold, folds, strategies) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let states = states_of(plan, memory, slots);
        let fills = FillOfChunk::of_steps(plan, slots);
        let mut layout = Layout {
            plan,
            fills,
            memory,
            states,
            is_there,
            do_fold,
            folds,
            folded_bytes: 0,
            streamed,
            shapes,
            strategies,
        };
        // The layout of a step depends on the steps before it.
        for at in 0..plan.steps.len() {
            let fold = if layout.is_there[at] { None } else { layout.fold(at) };
            layout.do_fold.push(fold.is_some());
            if let Some(stage) = fold {
                layout.folded_bytes += layout.folded_bytes_of(at);
                layout.folds.insert(at, stage);
            }
        }
        let mut needed: BTreeSet<usize> = plan.outputs.iter().copied().collect();
        // Inputs come before the steps that use them.
        while let Some(at) = needed.pop_last() {
            let strategy = layout.strategy(at);
            match &strategy {
                Strategy::There | Strategy::Read => {}
                Strategy::Ranges(stage) | Strategy::Folded(stage) => needed.extend(layout.wholes(stage)),
                Strategy::Whole => needed.extend(&plan.steps[at].inputs),
            }
            layout.strategies.insert(at, strategy);
        }
        layout
    }

    /// Returns the source of a step that is a read without an existing value.
    pub(super) fn source(&self, at: usize) -> Option<&Arc<dyn Source>> {
        match &self.plan.steps[at].node.body {
            Body::Source(source) if !self.is_there[at] => Some(source),
            _ => None,
        }
    }

    fn strategy(&mut self, at: usize) -> Strategy {
        if self.is_there[at] {
            return Strategy::There;
        }
        if self.source(at).is_some() {
            return Strategy::Read;
        }
        match self.folds.remove(&at) {
            Some(stage) => Strategy::Folded(stage),
            None => self.best(at, |_| true).map_or(Strategy::Whole, Strategy::Ranges),
        }
    }

    /// Returns the stage of the operand of a reduction. The stage must cost less than computing the result in chunks,
    /// unless there is one output element.
    fn fold(&self, at: usize) -> Option<Stage> {
        let stage = self.folded(at)?;
        let is_better = |ranges: Stage| self.cost(&stage) < self.cost(&ranges);
        (self.cells(at) == 1 || self.best(at, |_| true).is_none_or(is_better)).then_some(stage)
    }

    /// Returns the bytes of the result of a reduction while it is computed, if every output element is stored.
    fn folded_bytes_of(&self, at: usize) -> u128 {
        let rank = self.shapes[at].as_ref().map_or(0, |shape| shape.rank());
        self.cells(at).saturating_mul(CELL + COORD * rank as u128)
    }

    /// Returns the approximate number of passes of a reduction. Half of the accumulator memory is reserved for growth.
    fn passes(&self, at: usize) -> u128 {
        let state = if self.plan.steps[at].node.op().is_some_and(|op| op.is(&op::norm)) { SQUARES } else { STATE };
        self.cells(at).saturating_mul(2 * state).div_ceil(self.states.max(1).into())
    }

    /// Returns the number of positions of a value.
    fn cells(&self, at: usize) -> u128 {
        self.shapes[at].as_ref().map_or(u128::MAX, Shape::wide_size)
    }

    /// Returns the stage of the operand of a reduction, if the reduction can read the operand in chunks along a reduced
    /// axis.
    fn folded(&self, at: usize) -> Option<Stage> {
        let Step { node, inputs, .. } = &self.plan.steps[at];
        let (&operand, cells) = (inputs.first()?, self.cells(at));
        let kept = if cells > 1 { self.kept(at)? } else { Vec::new() };
        let fits = match cells {
            0 => false,
            1 => stream(node) != Stream::Whole,
            _ => {
                let bytes = self.folded_bytes.saturating_add(self.folded_bytes_of(at));
                stream(node) == Stream::Fold && bytes <= self.states.into() && self.passes(at) <= MAX_PASSES
            }
        };
        // If the operand is itself such a reduction, it is needed entirely. Otherwise the operand of this reduction
        // would be split along another axis.
        let is_folded = self.do_fold.get(operand) == Some(&true);
        if !fits || node.is_grouped() || is_folded || !self.is_streamed(operand)? {
            return None;
        }
        let is_repeated = matches!(stream(node), Stream::Passes | Stream::Middle) || self.passes(at) > 1;
        let stage = self.best(operand, |axis| !kept.contains(&axis))?;
        // A product takes much longer than reading its operands.
        let is_product = |step: &Step| step.node.op().is_some_and(OpSpec::is_product) && !step.inputs.is_empty();
        let is_long = || stage.plan.steps.iter().any(is_product);
        (!is_repeated || !self.plan.outputs.contains(&operand) && !is_long()).then_some(stage)
    }

    /// Returns whether reductions can read a value in chunks along an axis. The pattern of one entry in the entire
    /// shape must fit in memory.
    fn is_streamed(&self, at: usize) -> Option<bool> {
        let ranges = self.plan.steps[at].node.kind.by_ranges()?;
        Some(ranges.is_streamed() && ranges.first_bytes(self.shapes[at].as_ref()?) <= self.states.into())
    }

    /// Returns the axes of its operand that a reduction keeps; `None` if the axes are not known.
    fn kept(&self, at: usize) -> Option<Vec<usize>> {
        let shape = self.shapes[*self.plan.steps[at].inputs.first()?].as_ref()?;
        let kept = (0..self.shapes[at].as_ref()?.rank()).filter_map(|axis| {
            match self.input_ranges(at, axis)?.input_ranges[..] {
                [InputRange::Along(range_map)] => Some(range_map.axis),
                _ => None,
            }
        });
        let kept: Vec<usize> = kept.collect();
        let cells = kept.iter().fold(1, |cells: u128, &axis| cells.saturating_mul(shape[axis] as u128));
        (cells == self.cells(at)).then_some(kept)
    }

    /// Returns the stage with the lowest cost that computes a value in chunks along one of some axes.
    fn best(&self, of: usize, is_requested: impl Fn(usize) -> bool) -> Option<Stage> {
        let step = &self.plan.steps[of];
        step.node.kind.by_ranges()?;
        let rank = self.shapes[of].as_ref()?.rank();
        let is_leaf = self.is_there[of] || self.source(of).is_some();
        let axes = (0..rank).filter(|&axis| is_requested(axis) && (is_leaf || self.input_ranges(of, axis).is_some()));
        axes.map(|axis| self.stage(of, axis)).min_by_key(|stage| self.cost(stage))
    }

    /// Returns the cost of a stage.
    fn cost(&self, stage: &Stage) -> Cost {
        let whole = self.wholes(stage).into_iter().filter(|&at| !self.is_there[at]);
        let joined = if self.is_joined(stage) { self.cells(stage.of) } else { 0 };
        let positions = whole.fold(joined, |sum: u128, at| sum.saturating_add(self.cells(at)));
        let cuts = stage.leaves.iter().filter_map(|leaf| match leaf.input_range {
            InputRange::Along(range_map) => Some((range_map.axis, self.source(leaf.at)?)),
            InputRange::Whole => None,
        });
        let each = |axis: usize, source: &dyn Source| source.about() / source.shape()[axis].max(1) as u64;
        Cost {
            much: if positions.saturating_mul(POSITION) > (self.memory / INPUT).into() { positions } else { 0 },
            is_not_cut: stage.length < 2,
            is_heavy: cuts.clone().any(|(axis, source)| each(axis, &**source) > self.memory / HEAVY),
            is_partitioned: cuts.clone().any(|(axis, _)| axis > 0),
            positions,
        }
    }

    /// Returns whether the output is concatenated before it is passed. This is necessary if its chunks are not along
    /// the first axis.
    fn is_joined(&self, stage: &Stage) -> bool {
        let has_ranges = || self.shapes[stage.of].as_ref().is_some_and(|shape| shape.first() > Some(&1));
        self.streamed == Some(stage.of) && stage.axis > 0 && has_ranges()
    }

    /// Returns the values that a stage needs entirely. Values that exist before they are split are included.
    fn wholes(&self, stage: &Stage) -> Vec<usize> {
        let is_whole = |leaf: &&Leaf| leaf.input_range == InputRange::Whole || self.source(leaf.at).is_none();
        stage.leaves.iter().filter(is_whole).map(|leaf| leaf.at).collect()
    }

    /// Returns the positions of the inputs of a step that a range of an axis needs.
    fn input_ranges(&self, at: usize, axis: usize) -> Option<StepInputs> {
        let step = &self.plan.steps[at];
        if step.inputs.is_empty() || self.needs_fill(at) {
            return None;
        }
        let shapes = step.inputs.iter().map(|&input| self.shapes[input].as_ref()).collect::<Option<Vec<_>>>()?;
        let can_be_cut = |input: &usize| self.plan.steps[*input].node.kind.by_ranges().is_some();
        step.inputs.iter().all(can_be_cut).then(|| input_ranges(&step.node, &shapes, axis))?
    }

    /// Returns whether a reduction needs the fill of its entire operand, which chunks may not know. The fill of the
    /// operand determines the fill of the result, and whether the result stores labels without positions.
    fn needs_fill(&self, at: usize) -> bool {
        let step @ Step { node, inputs, .. } = &self.plan.steps[at];
        is_reduction(step)
            && inputs.first().is_some_and(|&operand| match self.fills[operand] {
                FillOfChunk::ValueFacts => false,
                FillOfChunk::OfFactors => node.is_grouped(),
                FillOfChunk::ArrayKind => true,
            })
    }

    /// Returns the stage that computes a value in chunks along an axis.
    fn stage(&self, of: usize, axis: usize) -> Stage {
        let (mut left, mut met) = (BTreeSet::from([(of, InputRange::along(axis))]), Vec::new());
        // Operands of steps that test whether they store every position. These operands are computed entirely before
        // the stage.
        let mut requested = BTreeSet::new();
        // The loop goes from the result to the inputs. Inputs come before the steps that use them, so all users of a
        // step come first.
        while let Some((at, input_range)) = left.pop_last() {
            let does_fold = at != of && self.do_fold.get(at) == Some(&true);
            let is_leaf = self.is_there[at] || self.source(at).is_some() || does_fold || requested.contains(&at);
            requested.extend(self.requested_by(at));
            let inputs = match input_range {
                InputRange::Along(range_map) if !is_leaf && met.len() < MAX_INPUT_RANGES => {
                    self.input_ranges(at, range_map.axis).map(|taken| {
                        let input_ranges =
                            taken.input_ranges.into_iter().map(|input_range| input_range.through(range_map));
                        (self.plan.steps[at].inputs.iter().copied().zip(input_ranges).collect::<Vec<_>>(), taken.run)
                    })
                }
                _ => None,
            };
            left.extend(inputs.iter().flat_map(|(inputs, _)| inputs));
            met.push(((at, input_range), inputs));
        }
        let (mut steps, mut slots, mut leaves) = (Vec::new(), BTreeMap::new(), Vec::new());
        for ((at, input_range), inputs) in met.into_iter().rev() {
            slots.insert((at, input_range), steps.len());
            let node = &self.plan.steps[at].node;
            if inputs.is_none() {
                leaves.push(Leaf { slot: steps.len(), at, input_range, is_requested: requested.contains(&at) });
            }
            let (inputs, run) = inputs.unwrap_or_default();
            let node = run.map_or_else(|| Arc::clone(node), |run| Arc::new(node.with_run(run)));
            let places = inputs.iter().map(|input| slots[input]).collect();
            // The entire tensors determine the patterns of chunks, so steps are not planned on the pattern of one
            // operand.
            let step = placed(&steps, node, places, false);
            steps.push(step);
        }
        let length = self.shapes[of].as_ref().map_or(0, |shape| shape[axis]);
        let outputs = vec![steps.len() - 1];
        Stage { plan: Plan::of_steps(steps, outputs), of, axis, length, leaves }
    }

    /// Returns the broadcast inputs of a step that tests whether they store every position.
    fn requested_by(&self, at: usize) -> impl Iterator<Item = usize> {
        let Step { node, inputs, .. } = &self.plan.steps[at];
        let is_requested = decides_by_all(node);
        let is_repeated = move |input: &&usize| is_requested && self.shapes[**input] != self.shapes[at];
        inputs.iter().filter(is_repeated).copied()
    }

    /// Returns the stages as text.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for (at, strategy) in &self.strategies {
            let _ = match strategy {
                Strategy::There => Ok(()),
                Strategy::Read => writeln!(text, "chunks: %{at} is read into memory"),
                Strategy::Whole => writeln!(text, "chunks: %{at} from its entire inputs"),
                Strategy::Ranges(stage) => {
                    writeln!(text, "chunks: %{at} in chunks of axis {}{}", stage.axis, of(stage))
                }
                Strategy::Folded(stage) => {
                    let (of_operand, axis) = (stage.of, stage.axis);
                    writeln!(text, "chunks: %{at} reduces %{of_operand} in chunks of axis {axis}{}", of(stage))
                }
            };
        }
        text
    }
}

/// Returns the inputs of a stage as text.
fn of(stage: &Stage) -> String {
    let leaf = |leaf: &Leaf| match leaf.input_range {
        InputRange::Whole => format!("; %{} in memory", leaf.at),
        InputRange::Along(range_map) => {
            let range = format!("; %{} in chunks of axis {}", leaf.at, range_map.axis);
            match (range_map.part_of(), range_map.shift) {
                (Some(part), _) => format!("{range}, positions {} to {}", part.start, part.end),
                (None, 0) => range,
                (None, shift) => format!("{range}, from position {shift}"),
            }
        }
    };
    stage.leaves.iter().map(leaf).collect()
}
