//! The order in which the steps of a graph run, and the steps that run together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::broadcast_operands::has_entries_of;
use super::call::Call;
use super::feed::Feed;
use super::node::{Body, ErasedValue, Form, Node, reachable};
use super::region::{FusedStep, Region};
use super::rewrite::{Rewritten, rewritten};
use crate::base::error::{Error, Result};

/// A step of a plan, with the indices of its inputs.
pub(super) struct Step {
    pub(super) node: Arc<Node>,
    pub(super) inputs: Vec<usize>,
    /// The index of the first step with the same pattern.
    pattern: usize,
    /// True if the step is elementwise on the pattern of its inputs.
    is_fused: bool,
    /// The broadcast inputs. If the operation returns exactly the entries of the other inputs, the step has their
    /// pattern. This is known only during a run.
    sides: Vec<usize>,
    /// The largest level of the inputs. The level of an input that is not computed together with this step is increased
    /// by 1.
    level: usize,
}

impl Step {
    /// Returns whether both steps can be computed together.
    fn joins(&self, other: &Step) -> bool {
        self.is_fused && other.is_fused && (self.pattern, self.level) == (other.pattern, other.level)
    }
}

/// One step, or several steps that run together.
enum Unit {
    Single(usize),
    Together(Region),
}

/// The cost of one step, or of a pass at its last step.
struct StepCost {
    time: Duration,
    bytes: usize,
}

/// The steps of a graph, and the units in the order in which they run.
#[doc(hidden)]
pub struct Plan {
    pub(super) steps: Vec<Step>,
    units: Vec<Unit>,
    pub(super) outputs: Vec<usize>,
    /// For each unit, the steps whose values are not needed after the unit.
    freed: Vec<Vec<usize>>,
    /// The rewrites of the graph, as text.
    notes: Vec<String>,
    /// The steps with broadcast operands that are known to have other entries than the other operands.
    apart: BTreeSet<u64>,
}

/// The outcome of a run.
enum RunOutcome {
    /// The values of the outputs.
    Done(Vec<ErasedValue>),
    /// Some values, and the steps that have other entries than planned.
    Apart(Vec<Option<ErasedValue>>, BTreeSet<u64>),
}

impl Plan {
    pub(super) fn new(results: &[Arc<Node>]) -> Result<Self> {
        let (steps, slots) = numbered(needed(results)?);
        Ok(Plan::of_steps(steps, results.iter().map(|node| slots[&node.id]).collect()))
    }

    /// Returns the plan of steps in order.
    pub(super) fn of_steps(steps: Vec<Step>, outputs: Vec<usize>) -> Self {
        let units = units(&steps, &outputs);
        let freed = freed(&steps, &units, &outputs);
        Plan { steps, units, outputs, freed, notes: Vec::new(), apart: BTreeSet::new() }
    }

    /// Returns the plan of the rewritten graph, or the error of a rejected step.
    pub(super) fn rewritten(written: &[Arc<Node>]) -> Result<Self> {
        needed(written)?;
        let Rewritten { results, notes } = rewritten(written);
        Ok(Plan { notes, ..Plan::new(&results)? })
    }

    /// Returns whether the graph differs from the requested graph.
    pub(super) fn is_rewritten(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Runs the original graph after the rewritten graph returned `error`. Errors of the original graph name the
    /// requested step, and positions in its entire operand.
    pub(super) fn as_written(&self, written: &[Arc<Node>], feeds: Vec<Feed>, error: Error) -> Result<Vec<ErasedValue>> {
        if self.notes.is_empty() {
            return Err(error);
        }
        let plan = Plan::new(written)?;
        plan.run(plan.bound(feeds)?)
    }

    /// Returns the values that exist before a run: constants, inputs, and kept values.
    pub(super) fn bound(&self, feeds: Vec<Feed>) -> Result<Vec<Option<ErasedValue>>> {
        let mut slots: Vec<Option<ErasedValue>> = vec![None; self.steps.len()];
        let rejection = |why: String| Err(Error::Argument { operation: "run", why });
        for feed in feeds {
            let Some(at) = self.steps.iter().position(|step| step.node.id == feed.node.id) else {
                let text = feed.node.description();
                return rejection(format!("{text} is not an input of this program; its results do not depend on it"));
            };
            let node = &self.steps[at].node;
            let Body::Input { lengths, .. } = &node.body else {
                return rejection(format!("{} is not an input", node.description()));
            };
            if slots[at].is_some() {
                return rejection(format!("{} is bound twice", node.description()));
            }
            check_lengths(node, lengths, &feed.value)?;
            slots[at] = Some(feed.value);
        }
        for (slot, step) in slots.iter_mut().zip(&self.steps) {
            match &step.node.body {
                Body::Constant(value) => *slot = Some(Arc::clone(value)),
                Body::Input { .. } if slot.is_none() => {
                    return rejection(format!(
                        "{} is not bound; pass its value to Program::run with is()",
                        step.node.description()
                    ));
                }
                _ => {}
            }
            if let Some(found) = step.node.found.get() {
                *slot = Some(Arc::clone(found));
            }
        }
        Ok(slots)
    }

    /// Computes the values of the outputs.
    pub(super) fn run(&self, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        match self.run_units(slots, |unit, slots| self.run_unit(unit, slots))? {
            RunOutcome::Done(found) => Ok(found),
            RunOutcome::Apart(slots, apart) => {
                let (plan, slots) = self.rest_of(&self.outputs, slots, apart);
                plan.run(slots)
            }
        }
    }

    /// Runs the plan, and returns the text of [`explain`](Plan::explain) with costs. Each single step, and each pass at
    /// its last step, shows the time and the bytes of the result.
    pub(super) fn analyzed(&self, slots: Vec<Option<ErasedValue>>) -> Result<String> {
        let (mut took, mut peak, given) = (BTreeMap::new(), 0, slots.clone());
        let ran = self.run_units(slots, |unit, slots| {
            let start = Instant::now();
            let apart = self.run_unit(unit, slots)?;
            let time = start.elapsed();
            let last = match unit {
                Unit::Single(at) => Some(*at),
                Unit::Together(region) => region.steps().max(),
            };
            took.extend(last.map(|at| (at, StepCost { time, bytes: self.bytes(slots, at) })));
            peak = peak.max((0..slots.len()).fold(0, |sum: usize, at| sum.saturating_add(self.bytes(slots, at))));
            Ok(apart)
        })?;
        if let RunOutcome::Apart(_, apart) = ran {
            return self.planned_again(apart).analyzed(given);
        }
        Ok(format!("{}peak memory: {peak} bytes, including shared inputs and patterns\n", self.explained(&took)))
    }

    /// Returns the bytes of a value, 0 if the value does not exist yet.
    fn bytes(&self, slots: &[Option<ErasedValue>], at: usize) -> usize {
        slots[at].as_ref().map_or(0, |value| self.steps[at].node.kind.bytes(value))
    }

    /// Computes the values of the outputs. `run_unit` runs each unit.
    fn run_units(
        &self,
        mut slots: Vec<Option<ErasedValue>>,
        mut run_unit: impl FnMut(&Unit, &mut [Option<ErasedValue>]) -> Result<BTreeSet<u64>>,
    ) -> Result<RunOutcome> {
        for (slot, step) in slots.iter_mut().zip(&self.steps) {
            if let (None, Body::Source(_)) = (&slot, &step.node.body) {
                *slot = Some(step.node.run(&[])?);
            }
        }
        for (unit, freed) in self.units.iter().zip(&self.freed) {
            match unit {
                Unit::Single(at) if slots[*at].is_some() => {}
                unit => {
                    let apart = run_unit(unit, &mut slots)?;
                    if !apart.is_empty() {
                        return Ok(RunOutcome::Apart(slots, apart));
                    }
                }
            }
            freed.iter().for_each(|&at| slots[at] = None);
        }
        Ok(RunOutcome::Done(self.outputs.iter().filter_map(|&at| slots[at].clone()).collect()))
    }

    /// Computes the values of a unit. Returns the steps that have other entries than planned.
    fn run_unit(&self, unit: &Unit, slots: &mut [Option<ErasedValue>]) -> Result<BTreeSet<u64>> {
        match unit {
            Unit::Single(at) => {
                let step = &self.steps[*at];
                let inputs: Vec<ErasedValue> = step.inputs.iter().filter_map(|&input| slots[input].clone()).collect();
                let found = step.node.run(&inputs)?;
                let whole = step.inputs.iter().position(|input| !step.sides.contains(input));
                let is_apart =
                    !step.sides.is_empty() && whole.is_some_and(|at| !has_entries_of(&step.node, &found, at, &inputs));
                slots[*at] = Some(found);
                Ok(is_apart.then_some(step.node.id).into_iter().collect())
            }
            Unit::Together(region) => region.run(slots),
        }
    }

    /// Returns the plan in which these steps are no longer computed on the pattern of an input.
    fn planned_again(&self, apart: BTreeSet<u64>) -> Self {
        let none = vec![None; self.steps.len()];
        Plan { notes: self.notes.clone(), ..self.rest_of(&self.outputs, none, apart).0 }
    }

    /// Returns the plan of the steps that some outputs still need, and the existing values in the order of that plan.
    pub(super) fn rest(&self, outputs: &[usize], slots: Vec<Option<ErasedValue>>) -> (Self, Vec<Option<ErasedValue>>) {
        self.rest_of(outputs, slots, BTreeSet::new())
    }

    /// Returns [`rest`](Self::rest) for the case that the steps in `apart` also have other entries than planned.
    fn rest_of(
        &self,
        outputs: &[usize],
        slots: Vec<Option<ErasedValue>>,
        mut apart: BTreeSet<u64>,
    ) -> (Self, Vec<Option<ErasedValue>>) {
        apart.extend(&self.apart);
        let mut is_needed = vec![false; self.steps.len()];
        outputs.iter().for_each(|&at| is_needed[at] = true);
        // Inputs come before the steps that use them.
        for at in (0..self.steps.len()).rev().filter(|&at| slots[at].is_none()) {
            let inputs = self.steps[at].inputs.iter().filter(|_| is_needed[at]).copied().collect::<Vec<_>>();
            inputs.into_iter().for_each(|input| is_needed[input] = true);
        }
        let (mut steps, mut left, mut places) = (Vec::new(), Vec::new(), vec![0; self.steps.len()]);
        for (at, slot) in slots.into_iter().enumerate().filter(|(at, _)| is_needed[*at]) {
            let Step { node, inputs, .. } = &self.steps[at];
            let inputs = if slot.is_some() { Vec::new() } else { inputs.iter().map(|&input| places[input]).collect() };
            places[at] = steps.len();
            let step = placed(&steps, Arc::clone(node), inputs, !apart.contains(&node.id));
            steps.push(step);
            left.push(slot);
        }
        (Plan { apart, ..Plan::of_steps(steps, outputs.iter().map(|&at| places[at]).collect()) }, left)
    }

    pub(super) fn explain(&self) -> String {
        self.explained(&BTreeMap::new())
    }

    /// Returns the steps as text, with the cost of some steps.
    fn explained<'a>(&'a self, took: &BTreeMap<usize, StepCost>) -> String {
        let mut text = String::new();
        let mut passes = BTreeMap::new();
        let region = |unit: &'a Unit| if let Unit::Together(region) = unit { Some(region) } else { None };
        for (pass, region) in self.units.iter().filter_map(region).enumerate() {
            passes.extend(region.steps().map(|at| (at, pass + 1)));
        }
        for (at, step) in self.steps.iter().enumerate() {
            let _ = write!(text, "%{at} = {}: {}", self.call(step), step.node.facts());
            if step.pattern != at {
                let _ = write!(text, ", pattern of %{}", step.pattern);
            }
            if !step.sides.is_empty() {
                text.push_str(" unless it has other entries");
            }
            if self.outputs.contains(&at) {
                text.push_str(", result");
            }
            if let Some(pass) = passes.get(&at) {
                let _ = write!(text, " [fused: pass {pass}]");
            }
            if let Some(StepCost { time, bytes }) = took.get(&at) {
                let _ = write!(text, " [{:.3} ms, {bytes} bytes]", time.as_secs_f64() * 1e3);
            }
            text.push('\n');
        }
        self.notes.iter().for_each(|notes| {
            let _ = writeln!(text, "rewritten: {notes}");
        });
        text
    }

    /// Returns a step as a call of its inputs.
    fn call(&self, step: &Step) -> String {
        if !step.node.is_computed() {
            return step.node.description();
        }
        if step.inputs.is_empty() {
            return format!("kept value of {}", step.node.description());
        }
        let input = |number: usize| step.inputs.get(number).map_or_else(String::new, |input| format!("%{input}"));
        match &step.node.body {
            Body::Step(work) => work.call.to_text_as(step.node.name, &input),
            _ => format!("part({}, {})", input(0), step.node.part_number()),
        }
    }
}

/// Returns the nodes that some results need, or the error of a rejected step.
fn needed(results: &[Arc<Node>]) -> Result<Vec<Arc<Node>>> {
    let nodes = reachable(results, Node::is_kept);
    match nodes.iter().find_map(|node| node.rejection()) {
        Some(error) => Err(error.clone()),
        None => Ok(nodes),
    }
}

/// Rejects a value that does not have the lengths of its input.
fn check_lengths(node: &Node, lengths: &[Option<usize>], value: &ErasedValue) -> Result<()> {
    let found = node.kind.shape(value);
    let fits = found.rank() == lengths.len()
        && found.iter().zip(lengths).all(|(found, given)| given.is_none_or(|given| given == *found));
    if fits {
        return Ok(());
    }
    let words = lengths.iter().map(|length| length.map_or("any".into(), |length| length.to_string()));
    let why = format!(
        "{} has shape [{}], but is bound to shape {found}",
        node.description(),
        words.collect::<Vec<_>>().join(", ")
    );
    Err(Error::Argument { operation: "run", why })
}

/// Returns the steps, with common subexpressions merged, and the index of the step of each node.
pub(super) fn numbered(nodes: Vec<Arc<Node>>) -> (Vec<Step>, BTreeMap<u64, usize>) {
    let (mut steps, mut slots) = (Vec::<Step>::new(), BTreeMap::new());
    // The steps of each operation with the same inputs, and a hash of their arguments.
    let mut known: BTreeMap<(&str, Vec<usize>, u64), Vec<usize>> = BTreeMap::new();
    for node in nodes {
        // A kept value does not need its inputs.
        let is_kept = node.found.get().is_some();
        let inputs: Vec<usize> = node.inputs.iter().filter(|_| !is_kept).map(|input| slots[&input.id]).collect();
        let mut at = steps.len();
        if node.is_computed() && !is_kept {
            let alike = known.entry((node.name, inputs.clone(), hash_of(&node))).or_default();
            match alike.iter().find(|&&at| steps[at].node.is_same(&node)) {
                Some(&before) => at = before,
                None => alike.push(at),
            }
        }
        slots.insert(node.id, at);
        if at == steps.len() {
            let step = placed(&steps, node, inputs, true);
            steps.push(step);
        }
    }
    (steps, slots)
}

/// Returns a hash of the arguments of a step.
fn hash_of(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.call().map(Call::args).hash(&mut hasher);
    hasher.finish()
}

/// Returns the step of a node that follows these steps. If `with_sides`, a step with broadcast operands is planned on
/// the pattern of its other operands.
pub(super) fn placed(steps: &[Step], node: Arc<Node>, inputs: Vec<usize>, with_sides: bool) -> Step {
    let of_first = inputs.first().map(|&first| steps[first].pattern);
    let is_one = of_first.is_some_and(|pattern| inputs.iter().all(|&input| steps[input].pattern == pattern));
    let mut is_fused = is_one && matches!(node.form(), Form::Each | Form::EachOfFirst);
    let mut pattern = match node.form() {
        Form::OfFirst | Form::EachOfFirst => of_first,
        Form::Each => of_first.filter(|_| is_one),
        Form::Own => None,
    };
    let mut sides = Vec::new();
    if let Some((of_wholes, repeated)) = broadcast_operands(steps, &node, &inputs).filter(|_| with_sides && !is_fused) {
        (pattern, sides, is_fused) = (Some(of_wholes), repeated, true);
    }
    let level = inputs.iter().map(|&input| {
        let joins = is_fused && steps[input].is_fused && !sides.contains(&input);
        steps[input].level + usize::from(!joins)
    });
    let level = level.max().unwrap_or(0);
    Step { pattern: pattern.unwrap_or(steps.len()), level, is_fused, sides, node, inputs }
}

/// Returns the pattern of the operands that have the shape of an elementwise result, and the other operands, which are
/// broadcast.
///
/// Returns `None` if an operand is not a tensor, if the patterns differ, or if no operand is broadcast.
fn broadcast_operands(steps: &[Step], node: &Node, inputs: &[usize]) -> Option<(usize, Vec<usize>)> {
    let shape = node.shape.as_ref().filter(|_| node.form() == Form::Each && node.wholes.is_none())?;
    let is_tensor = |node: &Node| node.shape.is_some() && node.kind.by_bytes().is_some();
    if !is_tensor(node) || !inputs.iter().all(|&input| is_tensor(&steps[input].node)) {
        return None;
    }
    let is_whole = |input: &usize| steps[*input].node.shape.as_ref() == Some(shape);
    let (wholes, sides): (Vec<usize>, Vec<usize>) = inputs.iter().partition(|input| is_whole(input));
    let pattern = steps[*wholes.first()?].pattern;
    let is_one = wholes.iter().all(|&whole| steps[whole].pattern == pattern);
    (is_one && !sides.is_empty()).then_some((pattern, sides))
}

/// Returns the units in the order of their levels.
fn units(steps: &[Step], outputs: &[usize]) -> Vec<Unit> {
    let mut order: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].node.is_computed()).collect();
    order.sort_by_key(|&at| (steps[at].level, steps[at].pattern, steps[at].is_fused, at));
    let runs: Vec<&[usize]> = order.chunk_by(|&one, &other| steps[one].joins(&steps[other])).collect();
    let mut run_of = vec![usize::MAX; steps.len()];
    runs.iter().enumerate().for_each(|(number, run)| run.iter().for_each(|&at| run_of[at] = number));
    let mut is_needed = vec![false; steps.len()];
    outputs.iter().for_each(|&at| is_needed[at] = true);
    for (user, step) in steps.iter().enumerate() {
        let outside = step.inputs.iter().filter(|&&input| run_of[input] != run_of[user]);
        outside.for_each(|&input| is_needed[input] = true);
    }
    let reduced = reduced(steps, outputs, &runs, &is_needed);
    let is_reduced: BTreeSet<usize> = reduced.values().copied().collect();
    let unit = |(number, run): (usize, &&[usize])| match (*run, reduced.get(&number)) {
        ([at], _) if is_reduced.contains(at) => None,
        (&[at], None) => Some(Unit::Single(at)),
        (run, reduction) => {
            let member = |&at: &usize| {
                let Step { node, inputs, sides, .. } = &steps[at];
                FusedStep { at, node: Arc::clone(node), inputs: inputs.clone(), sides: sides.clone() }
            };
            let nodes = run.iter().map(member).collect();
            let needed: Vec<usize> = run.iter().copied().filter(|&at| is_needed[at]).collect();
            let reduction = reduction.map(|&at| (at, Arc::clone(&steps[at].node)));
            Some(Unit::Together(Region::new(nodes, &needed, reduction)))
        }
    };
    runs.iter().enumerate().filter_map(unit).collect()
}

/// Returns the reductions that are the only user of the only result of a run, by the index of the run.
fn reduced(steps: &[Step], outputs: &[usize], runs: &[&[usize]], is_needed: &[bool]) -> BTreeMap<usize, usize> {
    let mut readers = vec![0; steps.len()];
    outputs.iter().chain(steps.iter().flat_map(|step| &step.inputs)).for_each(|&at| readers[at] += 1);
    let is_read_once = |at: usize| readers[at] == 1 && !outputs.contains(&at);
    let mut only = BTreeMap::new();
    for (number, run) in runs.iter().enumerate().filter(|(_, run)| run.iter().all(|&at| steps[at].is_fused)) {
        let mut needed = run.iter().copied().filter(|&at| is_needed[at]);
        if let (Some(at), None) = (needed.next(), needed.next())
            && is_read_once(at)
        {
            only.insert(at, number);
        }
    }
    let reductions = (0..steps.len()).filter(|&at| steps[at].node.work().is_some_and(|work| work.takes_chunks));
    reductions.filter_map(|at| Some((*only.get(steps[at].inputs.first()?)?, at))).collect()
}

/// Returns, for each unit, the steps that are last used in the unit.
fn freed(steps: &[Step], units: &[Unit], outputs: &[usize]) -> Vec<Vec<usize>> {
    let mut last = vec![None; steps.len()];
    for (number, unit) in units.iter().enumerate() {
        let members: Vec<usize> = match unit {
            Unit::Single(at) => vec![*at],
            Unit::Together(region) => region.steps().collect(),
        };
        for at in members {
            steps[at].inputs.iter().for_each(|&input| last[input] = Some(number));
        }
    }
    let mut freed = vec![Vec::new(); units.len()];
    for (at, last) in last.into_iter().enumerate() {
        if let Some(unit) = last.filter(|_| !outputs.contains(&at)) {
            freed[unit].push(at);
        }
    }
    freed
}
