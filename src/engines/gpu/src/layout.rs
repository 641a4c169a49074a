//! Which steps of a plan run on the device.

use std::sync::Arc;

use lacuna::lazy::engine_api::{ErasedValue, OnDevice, Plan, View};

use crate::Gpu;
use crate::context::MAX_ITEMS;
use crate::element::form_of;
use crate::fold::{Fold, Reduced};
use crate::map::Map;
use crate::median::Median;
use crate::moves::Moves;
use crate::reduce::{MAX_KEPT, Reduction};
use crate::step::{Selected, Step};
use crate::sum::Sum;
use crate::tensor::{Bytes, DeviceValue, addresses};

/// The reason why a step runs on threads.
#[derive(Clone)]
pub(crate) enum Reason {
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

/// The numbers that name a pattern in a plan: equal names are one pattern.
type Name = Vec<usize>;

/// Returns the name of a pattern that only this step has.
fn new_name(at: usize) -> Name {
    vec![usize::MAX - 1, at]
}

/// A step that the device takes, or the reason why not.
pub(crate) type Taken = std::result::Result<Step, Reason>;

/// Returns the positions of `take` or `take_axis` from a tensor with these lengths.
fn positions(view: View<'_>, shape: &[usize]) -> std::result::Result<Selected, Reason> {
    let (axis, size) = match view.axis(shape.len()) {
        Some(axis) => (Some(axis), Some(shape[axis])),
        None => (None, shape.iter().try_fold(1_usize, |size, &length| size.checked_mul(length))),
    };
    let size = size.ok_or("its operand has 2^64 positions")?;
    let positions = view.positions(size).ok_or("its positions are checked on threads")?;
    if positions.len() as u64 >= MAX_ITEMS {
        return Err("it has 2^31 positions".into());
    }
    let positions = positions.into_iter().map(|position| position as u64).collect();
    Ok(match axis {
        Some(axis) => Selected::Along(axis, positions),
        None => Selected::Flattened(positions),
    })
}

/// Returns which entries a step or its gradient chooses. `None` if it does not choose entries.
fn selected(view: View<'_>, name: &str, shape: &[usize]) -> std::result::Result<Option<Selected>, Reason> {
    Ok(Some(match name {
        "to_coo" => Selected::Format("coo"),
        "to_csr" => Selected::Format("csr"),
        "mask" | "without" => Selected::Overlap(name == "mask"),
        "take" | "take_axis" => positions(view, shape)?,
        _ => match view.moves() {
            Some(steps) => match Moves::new(shape.len(), &steps) {
                Some(moves) => Selected::Moves(moves, steps),
                None => return Err(format!("{name} repeats elements, or its numbers do not fit the device").into()),
            },
            None => return Ok(None),
        },
    }))
}

/// Returns whether a step that the device takes reads a value.
pub(crate) fn is_read(plan: &Plan, steps: &[Taken], at: usize) -> bool {
    let takes = |next: usize| steps[next].as_ref().is_ok_and(|step| !matches!(step, Step::Leaf));
    (at + 1..plan.count()).any(|next| takes(next) && plan.view(next).inputs().contains(&at))
}

/// Returns whether a step that threads compute reads a value.
pub(crate) fn is_read_by_threads(plan: &Plan, steps: &[Taken], at: usize) -> bool {
    (at + 1..plan.count()).any(|next| steps[next].is_err() && plan.view(next).inputs().contains(&at))
}

impl Gpu {
    /// Returns for each step of a plan how the device computes it, or why it does not.
    pub(crate) fn layout(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> Vec<Taken> {
        let mut steps: Vec<Taken> = Vec::with_capacity(plan.count());
        let mut names: Vec<Name> = Vec::with_capacity(plan.count());
        // The bytes of the largest array of each value, where they are known.
        let mut bytes: Vec<Option<u64>> = Vec::with_capacity(plan.count());
        for (at, slot) in slots.iter().enumerate().take(plan.count()) {
            let inputs = plan.view(at).inputs();
            let missing = inputs.iter().find_map(|&input| steps[input].as_ref().err().map(|reason| (input, reason)));
            let step = match missing {
                _ if inputs.is_empty() || slot.is_some() => self.leaf(plan, at, slot.as_ref()).map(|()| Step::Leaf),
                Some((_, Reason::TooLarge(bytes))) => Err(Reason::TooLarge(*bytes)),
                Some((input, Reason::Why(_))) => Err(format!("%{input} is not on the device").into()),
                None => self.step(plan, at),
            };
            let widest = inputs.iter().filter_map(|&input| bytes[input]).max();
            let step = match (step, widest) {
                (Ok(step), Some(widest)) if !step.has_windows() && widest > self.0.context.max_bytes() => {
                    Err(Reason::TooLarge(widest))
                }
                (step, _) => step,
            };
            let step = match step {
                Ok(Step::Map(_)) if inputs.iter().any(|&input| names[input] != names[inputs[0]]) => {
                    Err("its operands have different patterns".into())
                }
                step => step,
            };
            names.push(self.name_of_pattern(plan, at, slot.as_ref(), &step, &names));
            bytes.push(match &step {
                Ok(Step::Leaf) => self.bytes_of(plan, at, slot.as_ref()).map(|bytes| bytes.largest),
                Ok(Step::Map(_)) => widest,
                _ => None,
            });
            steps.push(step);
        }
        steps
    }

    /// Returns the name of the pattern of a step.
    fn name_of_pattern(
        &self,
        plan: &Plan,
        at: usize,
        slot: Option<&ErasedValue>,
        step: &Taken,
        names: &[Name],
    ) -> Name {
        let view = plan.view(at);
        match step {
            Ok(step) if step.keeps_pattern() || matches!(step, Step::Part(_)) => names[view.inputs()[0]].clone(),
            Ok(Step::Fold(_, over) | Step::Sum(_, over) | Step::Median(_, over) | Step::MedianAndPosition(_, over)) => {
                let own = [usize::MAX, usize::from(over.keeps_dims), over.kept.len()];
                [&names[view.inputs()[0]][..], &own, &over.kept].concat()
            }
            Ok(Step::Leaf) => match (view.placed(), slot.or(view.constant()).zip(view.dtype())) {
                (Some(placed), _) => self.own(placed.as_ref()).map(|value| vec![Arc::as_ptr(&value.pattern) as usize]),
                (None, Some((value, dtype))) => addresses(value, dtype),
                (None, None) => None,
            }
            .unwrap_or_else(|| new_name(at)),
            _ => new_name(at),
        }
    }

    /// Returns whether the device holds a value that exists before the run.
    fn leaf(&self, plan: &Plan, at: usize, slot: Option<&ErasedValue>) -> std::result::Result<(), Reason> {
        let view = plan.view(at);
        if let Some(placed) = view.placed() {
            return self.own(placed.as_ref()).map(|_| ()).ok_or_else(|| "it is on another device".into());
        }
        let value = slot.or(view.constant()).ok_or("it is read when it is needed")?;
        let dtype = view.dtype().ok_or("it does not have an element type")?;
        match Bytes::of(value, dtype) {
            Some(bytes) if bytes.nnz >= MAX_ITEMS => Err("the device numbers fewer than 2^31 entries".into()),
            Some(bytes) if bytes.largest > self.0.context.max_array_bytes() => Err(Reason::TooLarge(bytes.largest)),
            Some(_) => Ok(()),
            None => Err(format!("the device holds no {} of {dtype} with these coordinates", view.format()).into()),
        }
    }

    /// Returns the bytes of a value that exists before the run.
    pub(crate) fn bytes_of(&self, plan: &Plan, at: usize, slot: Option<&ErasedValue>) -> Option<Bytes> {
        let view = plan.view(at);
        match view.placed() {
            Some(placed) => self.own(placed.as_ref()).map(Bytes::of_device),
            None => Bytes::of(slot.or(view.constant())?, view.dtype()?),
        }
    }

    /// Returns a value on this device.
    pub(crate) fn own<'a>(&self, placed: &'a dyn OnDevice) -> Option<&'a DeviceValue> {
        let placed: &dyn std::any::Any = placed;
        placed.downcast_ref::<DeviceValue>().filter(|value| value.gpu.is_same(self))
    }

    /// Returns how the device computes a step.
    fn step(&self, plan: &Plan, at: usize) -> Taken {
        let view = plan.view(at);
        let elsewhere = || Reason::Why(format!("{} is computed on threads", view.name()));
        if let Some(number) = view.part() {
            return Ok(Step::Part(number));
        }
        let dtypes: Option<Vec<_>> = view.inputs().iter().map(|&input| plan.view(input).dtype()).collect();
        let dtypes = dtypes.ok_or_else(elsewhere)?;
        if dtypes.iter().any(|&dtype| form_of(dtype).is_none()) {
            return Err(elsewhere());
        }
        let shape = plan.view(view.inputs()[0]).shape();
        if let Some(shape) = shape {
            let (name, is_gradient) = match view.name().strip_suffix("_backward") {
                Some(name) => (name, true),
                None => (view.name(), false),
            };
            // The gradients of masks drop the signs of zeros.
            let is_chosen = !(is_gradient && matches!(name, "mask" | "without"));
            if let Some(selected) = is_chosen.then(|| selected(view, name, shape)).transpose()?.flatten() {
                let upstream = view.inputs().get(1).filter(|_| is_gradient).map(|&input| plan.view(input).shape());
                let result = upstream.unwrap_or(view.shape()).ok_or("the lengths of its result are not known")?;
                self.check_selection(shape, result)?;
                return Ok(if is_gradient { Step::SelectionGradient(selected) } else { Step::Selection(selected) });
            }
        }
        if let Some(map) = Map::of(view, &dtypes) {
            return Ok(Step::Map(map));
        }
        match self.reduction(plan, at)? {
            Some(step) => Ok(step),
            None => Err(elsewhere()),
        }
    }

    /// Returns how the device computes a reduction, or the gradient of one.
    fn reduction(&self, plan: &Plan, at: usize) -> std::result::Result<Option<Step>, Reason> {
        let view = plan.view(at);
        let (name, operand) = (view.name(), plan.view(view.inputs()[0]));
        let Some(form) = operand.dtype().and_then(form_of) else { return Ok(None) };
        let (fold, sum) = (Fold::of(name, form), Sum::of(name));
        let is_median =
            matches!(name, "median" | "nanmedian" | "nanmedian_index" | "median_backward" | "nanmedian_backward");
        let is_spread = matches!(name, "any_backward" | "sum_backward");
        if fold.is_none() && sum.is_none() && !is_median && !is_spread {
            return Ok(None);
        }
        let shape = operand.shape().ok_or("the lengths of its operand are not known")?;
        let (reduced, keeps_dims) = view.reduced().ok_or("labels are reduced on threads")?;
        let kept: Vec<usize> = (0..shape.rank()).filter(|axis| !reduced.contains(axis)).collect();
        let over = Reduced { kept, reduced, keeps_dims, counts_unstored: !view.is_stored() };
        self.check(shape, &over)?;
        let counts = over.counts_unstored && (is_median || matches!(name, "mean" | "nanmean"));
        if counts && over.extent(shape).is_none_or(|extent| extent > u32::MAX.into()) {
            return Err("a group has 2^32 positions or more".into());
        }
        if let ("any" | "all", false) = (name, keeps_dims) {
            let kept = over.kept.clone();
            let marks = Reduction { is_all: name == "all", kept, counts_unstored: over.counts_unstored };
            if let Some(fold) = Fold::of(name, form).filter(|_| self.has_marks(shape, operand.format(), &marks)) {
                return Ok(Some(Step::Marks(marks, fold, over)));
            }
        }
        Ok(Some(match (fold, sum) {
            (Some(fold), _) => Step::Fold(fold, over),
            (_, Some(sum)) => Step::Sum(sum, over),
            _ if is_spread => Step::Spread(over),
            _ => {
                let (skips_nan, is_lower) = (name.starts_with("nan"), view.word("even") == "lower");
                let median = Median { skips_nan, is_lower };
                match name {
                    "nanmedian_index" => Step::MedianAndPosition(median, over),
                    "median" | "nanmedian" => Step::Median(median, over),
                    _ if view.has_plain_options() => Step::MedianGradient(median, over),
                    _ => return Err("its rule of equal elements is computed on threads".into()),
                }
            }
        }))
    }

    /// Checks that a kernel can read all coordinates: it has one array per axis, and two more.
    fn check_rank(&self, shape: &[usize]) -> std::result::Result<(), Reason> {
        let most = MAX_KEPT.min(self.0.context.max_arrays().saturating_sub(2));
        if shape.len() > most { Err(format!("it has more than {most} axes").into()) } else { Ok(()) }
    }

    /// Checks that kernels can number the positions of an operand and of a result.
    fn check_selection(&self, operand: &[usize], result: &[usize]) -> std::result::Result<(), Reason> {
        for shape in [operand, result] {
            self.check_rank(shape)?;
            let is_numbered = shape.iter().try_fold(1_u64, |size, &length| size.checked_mul(length as u64)).is_some();
            if !is_numbered || shape.iter().any(|&length| length as u64 > 1 << 32) {
                return Err("it has 2^64 positions, or coordinates of 64 bits".into());
            }
        }
        Ok(())
    }

    /// Checks that kernels can group the entries of a tensor.
    fn check(&self, shape: &[usize], over: &Reduced) -> std::result::Result<(), Reason> {
        self.check_rank(shape)?;
        let cells = |axes: &[usize]| axes.iter().try_fold(1_u64, |cells, &axis| cells.checked_mul(shape[axis] as u64));
        match (cells(&over.kept), cells(&over.reduced)) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err("the result or a group has 2^64 positions".into()),
        }
    }

    /// Returns whether a bitmap of the result fits the device. CSR is reduced so over its last axis.
    fn has_marks(&self, shape: &[usize], format: &str, reduction: &Reduction) -> bool {
        let context = &self.0.context;
        if format == "csr" {
            let is_last = shape.len() > 1 && reduction.kept.iter().copied().eq(0..shape.len() - 1);
            let lengths = &shape[..shape.len().saturating_sub(1)];
            let lanes = lengths.iter().try_fold(1_u64, |lanes, &length| lanes.checked_mul(length as u64));
            return is_last && lanes.is_some_and(|lanes| 4 * (lanes + 1) <= context.max_bytes() && lanes < MAX_ITEMS);
        }
        // A kernel has five arrays, and one per kept axis.
        let most = MAX_KEPT.min(context.max_arrays().saturating_sub(5));
        reduction.kept.len() <= most && reduction.cells(shape, context.max_bytes()).is_some()
    }
}
