//! The engine: steps that the device takes run there, and other steps run on threads.

use std::fmt::Write;

use lacuna::lazy::Engine;
use lacuna::lazy::engine_api::{Held, OnDevice, Plan, Sealed};
use lacuna::{Error, Result};

use crate::Gpu;
use crate::context::{MOST_ITEMS, failed};
use crate::element::{form_of, of_dtype};
use crate::elementwise::{Class, classified, isin};
use crate::reduce::{MOST_KEPT, Reduction};
use crate::tensor::{Bytes, DeviceValue, uploaded_of};

/// A step that the device takes.
enum Step {
    /// A value that exists before the run.
    Leaf,
    Classify(Class),
    Isin,
    Reduce(Reduction),
}

/// The reason why a step runs on threads.
#[derive(Clone)]
enum Reason {
    Why(String),
    /// An array of so many bytes is too large for the device.
    TooLarge(u64),
}

impl From<String> for Reason {
    fn from(why: String) -> Self {
        Reason::Why(why)
    }
}

impl From<&str> for Reason {
    fn from(why: &str) -> Self {
        Reason::Why(why.into())
    }
}

/// A step that the device takes, or the reason why not.
type Taken = std::result::Result<Step, Reason>;

/// Returns whether a step that the device takes reads a value.
fn is_read(plan: &Plan, steps: &[Taken], at: usize) -> bool {
    let takes = |next: usize| matches!(&steps[next], Ok(Step::Classify(_) | Step::Isin | Step::Reduce(_)));
    (at + 1..plan.count()).any(|next| takes(next) && plan.view(next).inputs() == [at])
}

impl Gpu {
    /// Returns for each step of a plan how the device computes it, or why it does not.
    fn layout(&self, plan: &Plan, slots: &[Option<Held>]) -> Vec<Taken> {
        let mut steps: Vec<Taken> = Vec::with_capacity(plan.count());
        for (at, slot) in slots.iter().enumerate().take(plan.count()) {
            let step = match plan.view(at).inputs() {
                [] => self.leaf(plan, at, slot.as_ref()).map(|()| Step::Leaf),
                _ if slot.is_some() => self.leaf(plan, at, slot.as_ref()).map(|()| Step::Leaf),
                &[operand] => match &steps[operand] {
                    Ok(_) => self.step(plan, at, operand),
                    Err(Reason::TooLarge(bytes)) => Err(Reason::TooLarge(*bytes)),
                    Err(Reason::Why(_)) => Err(format!("%{operand} is not on the device").into()),
                },
                _ => Err(format!("{} is computed on threads", plan.view(at).name()).into()),
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
        let value = slot.or(view.constant()).ok_or("it is read when it is needed")?;
        let dtype = view.dtype().ok_or("it does not have an element type")?;
        match Bytes::of(value, dtype) {
            Some(bytes) if bytes.largest as u64 > self.0.context.most_bytes() => {
                Err(Reason::TooLarge(bytes.largest as u64))
            }
            Some(_) => Ok(()),
            None => Err(format!("the device holds no {} of {dtype} with these coordinates", view.format()).into()),
        }
    }

    /// Returns a value on this device.
    fn own<'a>(&self, placed: &'a dyn OnDevice) -> Option<&'a DeviceValue> {
        let placed: &dyn std::any::Any = placed;
        placed.downcast_ref::<DeviceValue>().filter(|value| value.gpu.is_same(self))
    }

    /// Returns how the device computes a step of one operand.
    fn step(&self, plan: &Plan, at: usize, operand: usize) -> Taken {
        let (view, x) = (plan.view(at), plan.view(operand));
        let elsewhere = || Reason::Why(format!("{} is computed on threads", view.name()));
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
        let shape = x.shape().ok_or("the lengths of its operand are not known")?;
        let kept = view.kept().ok_or("labels are reduced on threads")?;
        if view.shape().is_none_or(|found| found.rank() != kept.len()) {
            return Err("axes that are kept with a length of 1 are computed on threads".into());
        }
        let reduction = Reduction { is_all: view.name() == "all", kept, counts_gaps: !view.is_stored() };
        let context = &self.0.context;
        if x.format() == "csr" {
            let is_last = shape.rank() > 1 && reduction.kept.iter().copied().eq(0..shape.rank() - 1);
            let lanes = shape.lane_axes().iter().try_fold(1_usize, |lanes, &length| lanes.checked_mul(length));
            let fits = lanes
                .is_some_and(|lanes| 4 * (lanes as u64 + 1) <= context.most_bytes() && (lanes as u64) < MOST_ITEMS);
            return match (is_last, fits) {
                (true, true) => Ok(reduction),
                (false, _) => Err("CSR is reduced over its last axis there, and over others on threads".into()),
                (true, false) => Err("it has too many lanes".into()),
            };
        }
        // A kernel has five arrays, and one per kept axis.
        let most = MOST_KEPT.min(context.most_arrays().saturating_sub(5));
        match reduction.cells(shape, context.most_bytes()) {
            _ if reduction.kept.len() > most => Err(format!("more than {most} axes are kept").into()),
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
        let mut values: Vec<Option<DeviceValue>> = Vec::with_capacity(plan.count());
        for (at, step) in steps.iter().enumerate() {
            let view = plan.view(at);
            let found = match step {
                Ok(Step::Leaf) if is_read(plan, &steps, at) => match view.placed() {
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
                Err(reason) if self.0.is_strict && !view.inputs().is_empty() => {
                    return Err(match reason {
                        Reason::Why(why) => failed(format!("%{at} is not computed on the device: {why}")),
                        Reason::TooLarge(bytes) => self.0.context.too_large(*bytes),
                    });
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
