//! Elementwise steps on one pattern, computed in chunks. A chunk passes through all steps while it is in the cache, and
//! only results are written to memory. A reduction of the only result reads the chunks instead.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::broadcast_operands::{BroadcastOperand, Nones, has_entries_of, without_entries};
use super::node::{ChunkedInput, ErasedValue, Node};
use super::value::{ByChunks, Chunked, ValueWriter};
use crate::base::error::Result;
use crate::base::recycle;
use crate::base::threads;
use crate::kernels::stream::PIECE;

/// The approximate picoseconds per element and step.
const PICOSECONDS: usize = 3_000;

/// Steps that are computed together.
pub(super) struct Region {
    /// The slots of the inputs, which are the first values of a chunk.
    inputs: Vec<(usize, Arc<Node>)>,
    /// The slots of the broadcast operands, which are the next values of a chunk.
    sides: Vec<(usize, Arc<Node>)>,
    /// The steps in order. Each step adds one value.
    steps: Vec<Member>,
    /// The values that other units of the plan need, and their slots.
    outputs: Vec<(usize, usize)>,
    /// The reduction that is the only user of the only output, and its slot.
    reduction: Option<(usize, Arc<Node>)>,
}

/// A step to compute with others, with the slots of its inputs and of its broadcast operands.
pub(super) struct FusedStep {
    pub(super) at: usize,
    pub(super) node: Arc<Node>,
    pub(super) inputs: Vec<usize>,
    pub(super) sides: Vec<usize>,
}

/// A step of a region.
struct Member {
    node: Arc<Node>,
    /// The slot of the value.
    at: usize,
    /// The indices of the inputs among the values of a chunk.
    inputs: Vec<usize>,
    /// The values that are not needed after this step.
    freed: Vec<usize>,
    /// If an input is broadcast, the index of an input that is not broadcast.
    whole: Option<usize>,
}

/// The pattern that the inputs of a run share, and the broadcast operands.
struct Setting {
    pattern: ErasedValue,
    count: usize,
    sides: Vec<BroadcastOperand>,
}

/// The inputs of a run, in order.
struct RegionInputs<'a> {
    pieces: Vec<Box<dyn Chunked + 'a>>,
    count: usize,
    /// The pattern of the previous chunk. Most chunks have the same pattern.
    stencil: Mutex<Option<ErasedValue>>,
}

impl Region {
    /// Returns the region of some steps in order. `needed` are the slots that other units need. `reduction` is the only
    /// user of the only such slot.
    pub(super) fn new(steps: Vec<FusedStep>, needed: &[usize], reduction: Option<(usize, Arc<Node>)>) -> Self {
        let own: BTreeSet<usize> = steps.iter().map(|step| step.at).collect();
        let (mut inputs, mut sides) = (BTreeMap::new(), BTreeMap::new());
        for step in &steps {
            for (at, node) in step.inputs.iter().zip(&step.node.inputs).filter(|(at, _)| !own.contains(at)) {
                let target = if step.sides.contains(at) { &mut sides } else { &mut inputs };
                target.insert(*at, Arc::clone(node));
            }
        }
        let inputs: Vec<(usize, Arc<Node>)> = inputs.into_iter().collect();
        let sides: Vec<(usize, Arc<Node>)> = sides.into_iter().collect();
        let places = inputs.iter().chain(&sides).map(|(at, _)| *at).chain(steps.iter().map(|step| step.at));
        let values: BTreeMap<usize, usize> = places.enumerate().map(|(value, at)| (at, value)).collect();
        let outputs: Vec<(usize, usize)> = needed.iter().map(|at| (values[at], *at)).collect();
        let member = |FusedStep { at, node, inputs, sides }: FusedStep| {
            let whole = inputs.iter().position(|input| !sides.contains(input)).filter(|_| !sides.is_empty());
            Member { node, at, inputs: inputs.iter().map(|at| values[at]).collect(), freed: Vec::new(), whole }
        };
        let mut steps: Vec<Member> = steps.into_iter().map(member).collect();
        let last: BTreeMap<usize, usize> = steps
            .iter()
            .enumerate()
            .flat_map(|(user, step)| step.inputs.iter().map(move |&value| (value, user)))
            .collect();
        let kept: BTreeSet<usize> = outputs.iter().map(|(value, _)| *value).collect();
        let freed = last.into_iter().filter(|(value, _)| !kept.contains(value));
        freed.for_each(|(value, user)| steps[user].freed.push(value));
        Region { inputs, sides, steps, outputs, reduction }
    }

    /// Returns the slots of all steps.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().map(|step| step.at).chain(self.reduction.iter().map(|(at, _)| *at))
    }

    /// Returns the values of the inputs and of all steps, except freed values. Calls `see` with each step, its value
    /// and its inputs.
    fn through(
        &self,
        mut values: Vec<Option<ErasedValue>>,
        mut see: impl FnMut(&Member, &ErasedValue, &[ErasedValue]),
    ) -> Result<Vec<Option<ErasedValue>>> {
        for step in &self.steps {
            let inputs: Vec<ErasedValue> = step.inputs.iter().filter_map(|&value| values[value].clone()).collect();
            let found = step.node.run(&inputs)?;
            see(step, &found, &inputs);
            values.push(Some(found));
            drop(inputs);
            step.freed.iter().for_each(|&value| self.recycle(value, values[value].take()));
        }
        Ok(values)
    }

    /// Releases the memory of a value for a later value.
    fn recycle(&self, value: usize, held: Option<ErasedValue>) {
        if let (Some(kind), Some(held)) = (self.kind(value), held) {
            kind.recycle(held);
        }
    }

    /// Computes the outputs into their slots. Returns the steps with broadcast operands that have other entries than
    /// planned.
    pub(super) fn run(&self, slots: &mut [Option<ErasedValue>]) -> Result<BTreeSet<u64>> {
        let mut apart = BTreeSet::new();
        if self.steps().all(|at| slots[at].is_some()) {
            return Ok(apart);
        }
        let setting = self.setting(slots);
        if let (Some((at, node)), Some(setting)) = (&self.reduction, &setting)
            && let Some(value) = self.reduced(node, slots, setting)
        {
            slots[*at] = Some(value);
            return Ok(apart);
        }
        let found = match setting.map(|setting| self.by_chunks(slots, &setting)) {
            Some(Ok(Some(found))) => found,
            // If an element does not have a result, a run on entire values reports its position.
            _ => {
                let run_inputs = self.inputs.iter().chain(&self.sides).map(|(at, _)| slots[*at].clone()).collect();
                let values = self.through(run_inputs, |step, found, inputs| {
                    let is_apart = step.whole.is_some_and(|at| !has_entries_of(&step.node, found, at, inputs));
                    apart.extend(is_apart.then_some(step.node.id));
                })?;
                self.outputs.iter().map(|(value, _)| values[*value].clone()).collect()
            }
        };
        self.outputs.iter().zip(found).for_each(|((_, at), value)| slots[*at] = value);
        if let Some((at, node)) = &self.reduction {
            let operand = self.outputs.iter().filter_map(|(_, at)| slots[*at].take()).collect::<Vec<_>>();
            slots[*at] = Some(node.run(&operand)?);
        }
        Ok(apart)
    }

    /// Returns the setting, if there are enough entries for chunks, and all steps have exactly these entries.
    fn setting(&self, slots: &[Option<ErasedValue>]) -> Option<Setting> {
        let (at, first) = self.inputs.first()?;
        let (kind, value) = (first.kind.by_chunks()?, slots[*at].as_ref()?);
        let count = kind.count(value);
        if count <= PIECE {
            return None;
        }
        let sides = if self.sides.is_empty() { Vec::new() } else { self.fitting(slots, first, value)? };
        Some(Setting { pattern: kind.pattern(value), count, sides })
    }

    /// Returns the broadcast operands, if each step has exactly the entries of the inputs.
    fn fitting(
        &self,
        slots: &[Option<ErasedValue>],
        first: &Node,
        value: &ErasedValue,
    ) -> Option<Vec<BroadcastOperand>> {
        let side = |(at, node): &(usize, Arc<Node>)| BroadcastOperand::new(node, slots[*at].as_ref()?).ok();
        let mut sides = self.sides.iter().map(side).collect::<Option<Vec<_>>>()?;
        let mut stencil = None;
        let none = |(at, node): &(usize, Arc<Node>)| {
            let none = node.kind.by_chunks()?.pieces(slots[*at].as_ref()?)?.piece(0..0, &mut stencil).ok()?;
            Some(Some((node.kind.by_bytes()?, none)))
        };
        let mut values = self.inputs.iter().map(none).collect::<Option<Nones>>()?;
        values.extend(sides.iter().map(|_| None));
        let shape = first.kind.shape(value);
        let has_unstored = shape.wide_size() > first.kind.by_chunks()?.count(value) as u128;
        let steps = self.steps.iter().map(|step| (&*step.node, &step.inputs[..]));
        without_entries(steps, values, (self.inputs.len(), &mut sides), (&shape, has_unstored)).ok()?;
        Some(sides)
    }

    /// Returns the value of the reduction, computed from chunks of its operand.
    ///
    /// Returns `None` if the reduction needs the entire operand, or if an element does not have a result. In the second
    /// case, a run on the entire operand reports the position.
    fn reduced(&self, node: &Node, slots: &[Option<ErasedValue>], setting: &Setting) -> Option<ErasedValue> {
        let run_inputs = self.run_inputs(slots, setting)?;
        let &[(value, _)] = &self.outputs[..] else { return None };
        let operand = |entries: Range<usize>| self.values(&run_inputs, entries).map(|mut values| values[value].take());
        let none = operand(0..0).ok()??;
        let run = |entries: Range<usize>, take: &mut dyn FnMut(&ErasedValue)| {
            let mut pieces = pieces_of(entries);
            recycle::within(|| {
                pieces.try_for_each(|piece| {
                    let found = operand(piece)?;
                    found.iter().for_each(&mut *take);
                    self.recycle(value, found);
                    Ok(())
                })
            })
        };
        let picoseconds = PICOSECONDS * self.steps.len();
        let reduce_chunks = node.work()?.reduce_chunks.as_ref()?;
        let operand = ChunkedInput { picoseconds, ..ChunkedInput::of(&setting.pattern, &none, &run) };
        recycle::within(|| reduce_chunks(node, &operand))?.ok()
    }

    /// Computes the outputs in chunks; `None` if an input does not support chunks.
    fn by_chunks(&self, slots: &[Option<ErasedValue>], setting: &Setting) -> Result<Option<Vec<Option<ErasedValue>>>> {
        let Some(run_inputs) = self.run_inputs(slots, setting) else { return Ok(None) };
        let none = self.values(&run_inputs, 0..0)?;
        let gather = |(value, _): &(usize, usize)| match (self.kind(*value), &none[*value]) {
            (Some(kind), Some(piece)) => kind.gather(run_inputs.count, piece).map(Some),
            _ => Ok(None),
        };
        let gathered = self.outputs.iter().map(gather).collect::<Result<Option<Vec<_>>>>()?;
        let Some(mut gathered) = gathered else { return Ok(None) };
        let ends = threads::map_parts(run_inputs.count, PICOSECONDS * self.steps.len(), 0, |part| part.end);
        let parts = transposed(gathered.iter_mut().map(|gathered| gathered.parts(&ends)).collect());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let work = starts.zip(&ends).map(|(start, &end)| start..end).zip(parts).collect();
        let done = threads::map_each(
            work,
            run_inputs.count,
            || (),
            |(), (range, mut outputs)| {
                recycle::within(|| pieces_of(range).try_for_each(|piece| self.piece(&run_inputs, piece, &mut outputs)))
            },
        );
        done.into_iter().collect::<Result<()>>()?;
        Ok(Some(gathered.into_iter().map(|gathered| Some(gathered.finish(&setting.pattern))).collect()))
    }

    /// Returns the inputs, and the elements of the broadcast operands at their entries.
    fn run_inputs<'a>(&self, slots: &'a [Option<ErasedValue>], setting: &'a Setting) -> Option<RegionInputs<'a>> {
        let piece = |(at, node): &(usize, Arc<Node>)| node.kind.by_chunks()?.pieces(slots[*at].as_ref()?);
        let broadcast = |((_, node), side): (&(usize, Arc<Node>), &'a BroadcastOperand)| {
            node.kind.by_chunks()?.broadcast(&side.value, &setting.pattern, side.none.as_ref()?).ok()?
        };
        let pieces = self.inputs.iter().map(piece).chain(self.sides.iter().zip(&setting.sides).map(broadcast));
        Some(RegionInputs { pieces: pieces.collect::<Option<_>>()?, count: setting.count, stencil: Mutex::default() })
    }

    /// Returns the chunk functions of the value of a step.
    fn kind(&self, value: usize) -> Option<&'static dyn ByChunks> {
        self.steps.get(value.checked_sub(self.inputs.len() + self.sides.len())?)?.node.kind.by_chunks()
    }

    /// Returns the values of a range of entries that are still needed after the last step.
    fn values(&self, run_inputs: &RegionInputs<'_>, range: Range<usize>) -> Result<Vec<Option<ErasedValue>>> {
        let mut stencil = run_inputs.stencil.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let inputs = run_inputs.pieces.iter().map(|pieces| pieces.piece(range.clone(), &mut stencil).map(Some));
        let inputs = inputs.collect::<Result<_>>()?;
        *run_inputs.stencil.lock().unwrap_or_else(PoisonError::into_inner) = stencil;
        self.through(inputs, |_, _, _| ())
    }

    /// Computes a range of entries through all steps, and writes the outputs.
    fn piece(
        &self,
        run_inputs: &RegionInputs<'_>,
        range: Range<usize>,
        outputs: &mut [Box<dyn ValueWriter + '_>],
    ) -> Result<()> {
        let mut values = self.values(run_inputs, range)?;
        for (output, (value, _)) in outputs.iter_mut().zip(&self.outputs) {
            let found = values[*value].take();
            found.iter().for_each(|value| output.put(value));
            self.recycle(*value, found);
        }
        Ok(())
    }
}

/// Splits a range into chunks.
fn pieces_of(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(PIECE).map(move |start| start..(start + PIECE).min(range.end))
}

/// Regroups the runs of all outputs by run.
fn transposed<'a>(outputs: Vec<Vec<Box<dyn ValueWriter + 'a>>>) -> Vec<Vec<Box<dyn ValueWriter + 'a>>> {
    let mut outputs: Vec<_> = outputs.into_iter().map(Vec::into_iter).collect();
    let count = outputs.first().map_or(0, ExactSizeIterator::len);
    (0..count).map(|_| outputs.iter_mut().filter_map(Iterator::next).collect()).collect()
}
