//! The engine: steps that the device takes run there, and other steps run on threads.

use std::sync::{Mutex, PoisonError};

use lacuna::lazy::Engine;
use lacuna::lazy::engine_api::{ErasedValue, OnDevice, Plan, Sealed};
use lacuna::{Error, Result};

use crate::Gpu;
use crate::context::{Words, failed, locked};
use crate::element::DeviceElement;
use crate::layout::{Reason, Taken, is_read, is_read_by_threads};
use crate::outline::without_entries;
use crate::step::Step;
use crate::tensor::{Bytes, DeviceValue, uploaded_of};
use crate::verify;

/// The values on the device of the steps of a plan.
struct Computed {
    values: Vec<Option<DeviceValue>>,
    /// Whether the device has computed each step. Its value is freed when no step reads it any more.
    is_there: Vec<bool>,
}

impl Gpu {
    /// Returns the values on the device of all steps that it takes. Threads compute a step for which the device does
    /// not have enough memory, and a step that sets its flag.
    fn run(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> Result<Computed> {
        let (steps, mut left) = (self.layout(plan, slots), Vec::new());
        loop {
            let flags = match self.0.context.zeros(plan.count() as u64) {
                Err(Error::TooLarge { .. } | Error::OutOfMemory { .. }) if !self.0.is_strict => {
                    return Ok(Computed { values: vec![None; plan.count()], is_there: vec![false; plan.count()] });
                }
                flags => flags?,
            };
            let computed = self.run_without(plan, slots, &steps, &left, &flags)?;
            let flagged = self.flagged(plan, &steps, &computed, &flags)?;
            if flagged.is_empty() {
                self.verified(plan, &steps, &computed.values)?;
                return Ok(computed);
            }
            left.extend(flagged);
        }
    }

    /// Returns the steps that have set their flags. Without those that read another one: their values were not computed
    /// from results.
    fn flagged(&self, plan: &Plan, steps: &[Taken], computed: &Computed, flags: &Words) -> Result<Vec<usize>> {
        let may_fail = |at: usize| computed.is_there[at] && steps[at].as_ref().is_ok_and(Step::may_fail);
        if !(0..steps.len()).any(may_fail) {
            return Ok(Vec::new());
        }
        let set = u32::from_bytes(&self.0.context.download(flags, 4 * steps.len())?)?;
        let mut reads_flagged = vec![false; steps.len()];
        for at in 0..steps.len() {
            reads_flagged[at] = plan.view(at).inputs().iter().any(|&input| set[input] != 0 || reads_flagged[input]);
        }
        Ok((0..steps.len()).filter(|&at| set[at] != 0 && !reads_flagged[at]).collect())
    }

    /// Compares each step with threads, if this engine does.
    fn verified(&self, plan: &Plan, steps: &[Taken], values: &[Option<DeviceValue>]) -> Result<()> {
        for (at, value) in values.iter().enumerate().filter(|_| self.0.verifies) {
            let is_step = steps[at].as_ref().is_ok_and(|step| !matches!(step, Step::Leaf));
            let operands: Option<Vec<_>> = plan.view(at).inputs().iter().map(|&input| values[input].as_ref()).collect();
            if let (true, Some(value), Some(operands)) = (is_step, value, operands) {
                verify::check(plan, at, &operands, value)?;
            }
        }
        Ok(())
    }

    /// Computes the steps, without those in `left`.
    fn run_without(
        &self,
        plan: &Plan,
        slots: &[Option<ErasedValue>],
        steps: &[Taken],
        left: &[usize],
        flags: &Words,
    ) -> Result<Computed> {
        let last_reads = last_reads(plan);
        let mut computed = Computed { values: Vec::with_capacity(plan.count()), is_there: Vec::new() };
        for (at, step) in steps.iter().enumerate() {
            let found = match step {
                Ok(step) if left.contains(&at) => self.left(plan, at, step).map(|()| None),
                _ => self.computed(plan, slots, steps, at, &computed.values, flags),
            };
            let value = match found {
                Err(Error::TooLarge { .. } | Error::OutOfMemory { .. }) if !self.0.is_strict => None,
                found => found?,
            };
            computed.is_there.push(value.is_some());
            // A step on threads reads its operands at the end.
            if value.is_some() && !self.0.verifies {
                for &input in plan.view(at).inputs() {
                    let is_read = (input + 1..=at)
                        .any(|next| !computed.is_there[next] && plan.view(next).inputs().contains(&input));
                    if last_reads[input] == at && !is_read {
                        computed.values[input] = None;
                    }
                }
            }
            computed.values.push(value);
        }
        Ok(computed)
    }

    /// Computes a step. `None` leaves it to threads.
    fn computed(
        &self,
        plan: &Plan,
        slots: &[Option<ErasedValue>],
        steps: &[Taken],
        at: usize,
        values: &[Option<DeviceValue>],
        flags: &Words,
    ) -> Result<Option<DeviceValue>> {
        let view = plan.view(at);
        match &steps[at] {
            Ok(Step::Leaf) if is_read(plan, steps, at) => match view.placed() {
                Some(placed) => Ok(self.own(placed.as_ref()).cloned()),
                None => {
                    let value = slots[at].as_ref().or(view.constant());
                    let found = value.zip(view.dtype()).and_then(|(value, dtype)| uploaded_of(self, value, dtype));
                    found.transpose()
                }
            },
            Ok(Step::Leaf) => Ok(None),
            Ok(step) => {
                let operands: Option<Vec<&DeviceValue>> =
                    view.inputs().iter().map(|&input| values[input].as_ref()).collect();
                match operands.map_or(Ok(None), |operands| step.run(plan, at, &operands, flags))? {
                    None => self.left(plan, at, step).map(|()| None),
                    value => Ok(value),
                }
            }
            Err(reason) if self.0.is_strict && !view.inputs().is_empty() => Err(match reason {
                Reason::Why(why) => failed(format!("%{at} is not computed on the device: {why}")),
                Reason::TooLarge(bytes) => self.0.context.too_large(*bytes),
            }),
            Err(_) => Ok(None),
        }
    }

    /// Rejects a step that is left to threads, if this engine does.
    fn left(&self, plan: &Plan, at: usize, step: &Step) -> Result<()> {
        if self.0.is_strict && !matches!(step, Step::Leaf) {
            return Err(failed(format!("%{at} {} is left to threads, for these values", plan.view(at).name())));
        }
        Ok(())
    }
}

/// Returns for each step the last step that reads it. Nothing reads a result last.
fn last_reads(plan: &Plan) -> Vec<usize> {
    let mut last = vec![usize::MAX; plan.count()];
    for at in 0..plan.count() {
        plan.view(at).inputs().iter().for_each(|&input| last[input] = at);
    }
    plan.results().iter().for_each(|&at| last[at] = usize::MAX);
    last
}

impl Sealed for Gpu {}

impl Gpu {
    /// Computes the results from existing values and from values on the device.
    fn finish(
        &self,
        plan: &Plan,
        mut slots: Vec<Option<ErasedValue>>,
        computed: &Computed,
    ) -> Result<Vec<ErasedValue>> {
        let is_read = |at: usize| {
            (at + 1..plan.count()).any(|next| !computed.is_there[next] && plan.view(next).inputs().contains(&at))
        };
        for (at, value) in computed.values.iter().enumerate() {
            let is_step = slots[at].is_none() && !plan.view(at).inputs().is_empty();
            if let Some(value) = value.as_ref().filter(|_| is_step && (plan.results().contains(&at) || is_read(at))) {
                slots[at] = Some(value.fetch()?);
            }
        }
        plan.finish(slots)
    }
}

/// An engine that leaves the only result of a graph on the device.
pub(crate) struct Keeper {
    gpu: Gpu,
    kept: Mutex<Option<DeviceValue>>,
}

impl Keeper {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Keeper { gpu: gpu.clone(), kept: Mutex::new(None) }
    }

    /// Returns the result. `None` if it was computed on threads.
    pub(crate) fn kept(self) -> Option<DeviceValue> {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sealed for Keeper {}

impl Engine for Keeper {
    /// Returns a tensor without entries in the place of a result on the device.
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        let computed = self.gpu.run(plan, &slots)?;
        let value = plan.results().first().and_then(|&at| computed.values[at].as_ref());
        let Some(value) = value else { return self.gpu.finish(plan, slots, &computed) };
        let held = without_entries(value, value.pattern.shape.clone());
        *locked(&self.kept) = Some(value.clone());
        Ok(vec![held.unwrap_or_else(|| Err(failed("the device does not hold this type")))?])
    }

    fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
        self.gpu.explain(plan, slots)
    }
}

impl Engine for Gpu {
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        let computed = self.run(plan, &slots)?;
        self.finish(plan, slots, &computed)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
        let (mut text, steps) = (plan.to_text(), self.layout(plan, slots));
        let bytes = self.bytes_of_steps(plan, slots, &steps);
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let line = match step {
                Ok(Step::Leaf) if view.placed().is_some() => format!("gpu: %{at} is on {}", self.name()),
                Ok(Step::Leaf) if is_read(plan, &steps, at) => {
                    format!("gpu: %{at} is copied there, {} bytes", bytes[at].map_or(0, Bytes::all))
                }
                Ok(Step::Leaf) => continue,
                Ok(_) => format!("gpu: %{at} {}", view.name()),
                Err(_) if view.inputs().is_empty() && view.placed().is_none() => continue,
                Err(Reason::Why(why)) => format!("threads: %{at}, as {why}"),
                Err(Reason::TooLarge(bytes)) => {
                    let limit = self.0.context.max_bytes();
                    format!("threads: %{at}, as an array of {bytes} bytes exceeds the limit of {limit} bytes")
                }
            };
            text += &format!("{line}\n");
            let is_there = step.as_ref().is_ok_and(|step| !matches!(step, Step::Leaf) || view.placed().is_some());
            if is_there && (plan.results().contains(&at) || is_read_by_threads(plan, &steps, at)) {
                let count = bytes[at].map_or_else(String::new, |bytes| format!(", {} bytes", bytes.all()));
                text += &format!("gpu: %{at} is copied to memory{count}\n");
            }
        }
        text
    }
}

impl Gpu {
    /// Returns the bytes of the values whose entries are counted before the run.
    fn bytes_of_steps(&self, plan: &Plan, slots: &[Option<ErasedValue>], steps: &[Taken]) -> Vec<Option<Bytes>> {
        let mut bytes: Vec<Option<Bytes>> = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            bytes.push(match step {
                Ok(Step::Leaf) => self.bytes_of(plan, at, slots[at].as_ref()),
                Ok(step) if step.keeps_pattern() => {
                    bytes[view.inputs()[0]].zip(view.dtype()).map(|(bytes, dtype)| bytes.with_type(dtype))
                }
                _ => None,
            });
        }
        bytes
    }
}
