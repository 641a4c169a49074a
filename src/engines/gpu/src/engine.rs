//! The engine: steps that the device takes run there, and other steps run on threads.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use lacuna::lazy::Engine;
use lacuna::lazy::engine_api::{Held, OnDevice, Plan, Sealed};
use lacuna::{Error, Result};

use crate::Gpu;
use crate::context::{Words, failed, locked};
use crate::element::DeviceElement;
use crate::layout::{Reason, Taken, is_read};
use crate::outline::without_entries;
use crate::step::Step;
use crate::tensor::{Bytes, DeviceValue, uploaded_of};
use crate::verify;

impl Gpu {
    /// Returns the values on the device of all steps that it takes. Threads compute a step for which the device does not
    /// have enough memory, and a step that sets its flag.
    fn run(&self, plan: &Plan, slots: &[Option<Held>]) -> Result<Vec<Option<DeviceValue>>> {
        let (steps, mut left) = (self.layout(plan, slots), Vec::new());
        loop {
            let flags = self.0.context.zeros(plan.count() as u64)?;
            let values = self.run_without(plan, slots, &steps, &left, &flags)?;
            // Later flags may be those of values that were computed from this one.
            match self.first_flag(&steps, &values, &flags)? {
                Some(at) => left.push(at),
                None => {
                    self.verified(plan, &steps, &values)?;
                    return Ok(values);
                }
            }
        }
    }

    /// Returns the first step that has set its flag.
    fn first_flag(&self, steps: &[Taken], values: &[Option<DeviceValue>], flags: &Words) -> Result<Option<usize>> {
        let may_fail = |at: usize| values[at].is_some() && steps[at].as_ref().is_ok_and(Step::may_fail);
        if !(0..steps.len()).any(may_fail) {
            return Ok(None);
        }
        let set = u32::from_bytes(&self.0.context.download(flags, 4 * steps.len())?)?;
        Ok(set.iter().position(|&flag| flag != 0))
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
        slots: &[Option<Held>],
        steps: &[Taken],
        left: &[usize],
        flags: &Words,
    ) -> Result<Vec<Option<DeviceValue>>> {
        let mut values: Vec<Option<DeviceValue>> = Vec::with_capacity(plan.count());
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let found = match step {
                Ok(Step::Leaf) if is_read(plan, steps, at) => match view.placed() {
                    Some(placed) => Ok(self.own(placed.as_ref()).cloned()),
                    None => {
                        let value = slots[at].as_ref().or(view.constant());
                        let found = value.zip(view.dtype()).and_then(|(value, dtype)| uploaded_of(self, value, dtype));
                        found.transpose()
                    }
                },
                Ok(Step::Leaf) => Ok(None),
                Ok(step) if !left.contains(&at) => {
                    let operands: Option<Vec<&DeviceValue>> =
                        view.inputs().iter().map(|&input| values[input].as_ref()).collect();
                    operands.map_or(Ok(None), |operands| step.run(plan, at, &operands, flags))
                }
                Err(reason) if self.0.is_strict && !view.inputs().is_empty() => {
                    return Err(match reason {
                        Reason::Why(why) => failed(format!("%{at} is not computed on the device: {why}")),
                        Reason::TooLarge(bytes) => self.0.context.too_large(*bytes),
                    });
                }
                _ => Ok(None),
            };
            let is_left = matches!(step, Ok(taken) if !matches!(taken, Step::Leaf)) && matches!(found, Ok(None));
            if self.0.is_strict && is_left {
                return Err(failed(format!("%{at} {} is left to threads, for these values", view.name())));
            }
            values.push(match found {
                Err(Error::TooLarge { .. } | Error::OutOfMemory { .. }) if !self.0.is_strict => None,
                found => found?,
            });
        }
        Ok(values)
    }
}

impl Sealed for Gpu {}

impl Gpu {
    /// Computes the results from existing values and from values on the device.
    fn finish(&self, plan: &Plan, mut slots: Vec<Option<Held>>, values: &[Option<DeviceValue>]) -> Result<Vec<Held>> {
        let is_read = |at: usize| {
            (at + 1..plan.count()).any(|next| values[next].is_none() && plan.view(next).inputs().contains(&at))
        };
        for (at, value) in values.iter().enumerate() {
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
    fn values(&self, plan: &Plan, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let values = self.gpu.run(plan, &slots)?;
        let value = plan.results().first().and_then(|&at| values[at].as_ref());
        let Some(value) = value else { return self.gpu.finish(plan, slots, &values) };
        let held = without_entries(value, value.pattern.shape.clone());
        *locked(&self.kept) = Some(value.clone());
        Ok(vec![held.unwrap_or_else(|| Err(failed("the device does not hold this type")))?])
    }

    fn explain(&self, plan: &Plan, slots: &[Option<Held>]) -> String {
        self.gpu.explain(plan, slots)
    }
}

impl Engine for Gpu {
    fn values(&self, plan: &Plan, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let values = self.run(plan, &slots)?;
        self.finish(plan, slots, &values)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<Held>]) -> String {
        let (mut text, steps) = (plan.told(), self.layout(plan, slots));
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let _ = match step {
                Ok(Step::Leaf) if !is_read(plan, &steps, at) => Ok(()),
                Ok(Step::Leaf) => match (view.placed(), slots[at].as_ref().or(view.constant()).zip(view.dtype())) {
                    (Some(_), _) => writeln!(text, "gpu: %{at} is on {}", self.name()),
                    (None, Some((value, dtype))) => {
                        let bytes = Bytes::of(value, dtype).map_or(0, |bytes| bytes.all);
                        writeln!(text, "gpu: %{at} is copied there, {bytes} bytes")
                    }
                    _ => Ok(()),
                },
                Ok(_) => writeln!(text, "gpu: %{at} {}", view.name()),
                Err(_) if view.inputs().is_empty() => Ok(()),
                Err(Reason::Why(why)) => writeln!(text, "threads: %{at}, as {why}"),
                Err(Reason::TooLarge(bytes)) => {
                    let limit = self.0.context.most_bytes();
                    writeln!(text, "threads: %{at}, as an array of {bytes} bytes exceeds the limit of {limit} bytes")
                }
            };
        }
        text
    }
}
