//! The engine: steps that the device takes run there, and other steps run on threads.

use std::fmt::Write;

use lacuna::lazy::Engine;
use lacuna::lazy::engine_api::{Held, OnDevice, Plan, Sealed};
use lacuna::{Error, Result};

use crate::Gpu;
use crate::context::failed;
use crate::element::{form_of, of_dtype};
use crate::elementwise::{Class, classified, isin};
use crate::reduce::{MOST_KEPT, Reduction};
use crate::tensor::{DeviceValue, bytes_of, is_uploaded, uploaded_of};

/// A step that the device takes.
enum Step {
    /// A value that exists before the run.
    Leaf,
    Classify(Class),
    Isin,
    Reduce(Reduction),
}

/// The reason why a step runs on threads.
type Reason = String;

impl Gpu {
    /// Returns for each step of a plan how the device computes it, or why it does not.
    fn layout(&self, plan: &Plan, slots: &[Option<Held>]) -> Vec<std::result::Result<Step, Reason>> {
        let mut steps: Vec<std::result::Result<Step, Reason>> = Vec::with_capacity(plan.count());
        for (at, slot) in slots.iter().enumerate().take(plan.count()) {
            let step = match plan.view(at).inputs() {
                [] => self.leaf(plan, at, slot.as_ref()).map(|()| Step::Leaf),
                _ if slot.is_some() => self.leaf(plan, at, slot.as_ref()).map(|()| Step::Leaf),
                &[operand] => match &steps[operand] {
                    Ok(_) => self.step(plan, at, operand),
                    Err(_) => Err(format!("%{operand} is not on the device")),
                },
                _ => Err(format!("{} is computed on threads", plan.view(at).name())),
            };
            steps.push(step);
        }
        steps
    }

    /// Returns whether the device holds a value that exists before the run.
    fn leaf(&self, plan: &Plan, at: usize, slot: Option<&Held>) -> std::result::Result<(), Reason> {
        let view = plan.view(at);
        if let Some(placed) = view.placed() {
            return self.own(placed.as_ref()).map(|_| ()).ok_or_else(|| "it is on another device".into());
        }
        let value = slot.or(view.constant()).ok_or_else(|| "it is read when it is needed".to_string())?;
        let dtype = view.dtype().ok_or_else(|| "it has no element type".to_string())?;
        match is_uploaded(value, dtype) {
            true => Ok(()),
            false => Err(format!("the device holds no {} of {dtype} with these coordinates", view.format())),
        }
    }

    /// Returns a value on this device.
    fn own<'a>(&self, placed: &'a dyn OnDevice) -> Option<&'a DeviceValue> {
        let placed: &dyn std::any::Any = placed;
        placed.downcast_ref::<DeviceValue>().filter(|value| value.gpu.is_same(self))
    }

    /// Returns how the device computes a step of one operand.
    fn step(&self, plan: &Plan, at: usize, operand: usize) -> std::result::Result<Step, Reason> {
        let (view, x) = (plan.view(at), plan.view(operand));
        let elsewhere = || format!("{} is computed on threads", view.name());
        let form = x.dtype().and_then(form_of).ok_or_else(elsewhere)?;
        if let Some(class) = Class::of(view.name()) {
            return if form.is_float { Ok(Step::Classify(class)) } else { Err(elsewhere()) };
        }
        match view.name() {
            "isin" => Ok(Step::Isin),
            "any" | "all" => self.reduction(plan, at, operand).map(Step::Reduce),
            _ => Err(elsewhere()),
        }
    }

    fn reduction(&self, plan: &Plan, at: usize, operand: usize) -> std::result::Result<Reduction, Reason> {
        let (view, x) = (plan.view(at), plan.view(operand));
        let shape = x.shape().ok_or_else(|| "the lengths of its operand are not known".to_string())?;
        let kept = view.kept().ok_or_else(|| "labels are reduced on threads".to_string())?;
        if view.shape().is_none_or(|found| found.rank() != kept.len()) {
            return Err("axes that are kept with a length of 1 are computed on threads".into());
        }
        let reduction = Reduction { is_all: view.name() == "all", kept, counts_gaps: !view.is_stored() };
        let context = &self.0.context;
        if x.format() == "csr" {
            let is_last = shape.rank() > 1 && reduction.kept.iter().copied().eq(0..shape.rank() - 1);
            let lanes = shape.lane_axes().iter().try_fold(1_usize, |lanes, &length| lanes.checked_mul(length));
            let fits =
                lanes.is_some_and(|lanes| 4 * (lanes as u64 + 1) <= context.most_bytes() && lanes < u32::MAX as usize);
            return match (is_last, fits) {
                (true, true) => Ok(reduction),
                (false, _) => Err("CSR is reduced over its last axis there, and over others on threads".into()),
                (true, false) => Err("it has too many lanes".into()),
            };
        }
        // The kernels read an array per kept axis beside five others.
        let most = MOST_KEPT.min(context.most_arrays().saturating_sub(5));
        match reduction.cells(shape, context.most_bytes()) {
            _ if reduction.kept.len() > most => Err(format!("more than {most} axes are kept")),
            Some(_) => Ok(reduction),
            None => Err("a bitmap of the result does not fit the device".into()),
        }
    }

    /// Computes a step, from its operand on the device.
    fn computed(&self, plan: &Plan, at: usize, step: &Step, x: &DeviceValue) -> Result<DeviceValue> {
        let view = plan.view(at);
        let found = of_dtype!(x.dtype, T => match step {
            Step::Leaf => Ok(x.clone()),
            Step::Classify(class) => classified::<T>(x, *class, !view.is_stored()),
            Step::Reduce(reduction) => reduction.of::<T>(x),
            Step::Isin => match view.members::<T>() {
                Some((members, invert)) => isin(x, members, invert, !view.is_stored()),
                None => Err(failed("the set has another type")),
            },
        });
        found.unwrap_or_else(|| Err(failed("the device does not hold this type")))
    }

    /// Returns the values on the device of all steps that it takes. A step for which the device has no room is left to
    /// the threads.
    fn run(&self, plan: &Plan, slots: &[Option<Held>]) -> Result<Vec<Option<DeviceValue>>> {
        let steps = self.layout(plan, slots);
        let takes = |at: usize| matches!(&steps[at], Ok(Step::Classify(_) | Step::Isin | Step::Reduce(_)));
        let is_read = |at: usize| (at + 1..plan.count()).any(|next| takes(next) && plan.view(next).inputs() == [at]);
        let mut values: Vec<Option<DeviceValue>> = Vec::with_capacity(plan.count());
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let found = match step {
                Ok(Step::Leaf) if is_read(at) => match view.placed() {
                    Some(placed) => Ok(self.own(placed.as_ref()).cloned()),
                    None => {
                        let value = slots[at].as_ref().or(view.constant());
                        let found = value.zip(view.dtype()).and_then(|(value, dtype)| uploaded_of(self, value, dtype));
                        found.transpose()
                    }
                },
                Ok(Step::Leaf) => Ok(None),
                Ok(step) => match &values[view.inputs()[0]] {
                    Some(x) => self.computed(plan, at, step, x).map(Some),
                    None => Ok(None),
                },
                Err(why) if self.0.is_strict && !view.inputs().is_empty() => {
                    return Err(failed(format!("%{at} is not computed on the device: {why}")));
                }
                Err(_) => Ok(None),
            };
            values.push(match found {
                Err(Error::TooLarge { .. } | Error::OutOfMemory { .. }) if !self.0.is_strict => None,
                found => found?,
            });
        }
        Ok(values)
    }
}

impl Sealed for Gpu {}

impl Engine for Gpu {
    fn values(&self, plan: &Plan, mut slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let values = self.run(plan, &slots)?;
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

    fn for_each_chunk(
        &self,
        plan: &Plan,
        slots: Vec<Option<Held>>,
        take: &mut dyn FnMut(&Held) -> Result<()>,
    ) -> Result<()> {
        self.values(plan, slots)?.iter().try_for_each(take)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<Held>]) -> String {
        let (mut text, steps) = (plan.told(), self.layout(plan, slots));
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let _ = match step {
                Ok(Step::Leaf) => match (view.placed(), slots[at].as_ref().or(view.constant()).zip(view.dtype())) {
                    (Some(_), _) => writeln!(text, "gpu: %{at} is on {}", self.name()),
                    (None, Some((value, dtype))) => {
                        writeln!(text, "gpu: %{at} is copied there, {} bytes", bytes_of(value, dtype))
                    }
                    _ => Ok(()),
                },
                Ok(_) => writeln!(text, "gpu: %{at} {}", view.name()),
                Err(_) if view.inputs().is_empty() => Ok(()),
                Err(why) => writeln!(text, "threads: %{at}, as {why}"),
            };
        }
        text
    }
}
