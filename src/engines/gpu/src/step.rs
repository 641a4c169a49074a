//! The steps that run on the device.

use std::sync::Arc;

use lacuna::lazy::engine_api::{MoveStep, Plan};
use lacuna::{Result, Shape};

use crate::context::Words;
use crate::fold::{Fold, Reduced};
use crate::map::Map;
use crate::median::Median;
use crate::moves::{Moves, converted, overlap};
use crate::outline::{Flag, Outline};
use crate::reduce::Reduction;
use crate::selection::{Choice, Selection};
use crate::spread::spread;
use crate::sum::Sum;
use crate::take;
use crate::tensor::DeviceValue;

/// A step that the device takes.
pub(crate) enum Step {
    /// A value that exists before the run.
    Leaf,
    Map(Map),
    /// A reduction to `bool`, by a bitmap of the result if the operand has enough entries.
    Marks(Reduction, Fold, Reduced),
    Fold(Fold, Reduced),
    Sum(Sum, Reduced),
    Median(Median, Reduced),
    /// Medians and their positions.
    MedianAndPosition(Median, Reduced),
    /// One result of a step with several.
    Part(usize),
    /// The gradient of `any` or of a sum.
    Spread(Reduced),
    MedianGradient(Median, Reduced),
    /// Entries that are chosen and moved.
    Selection(Selected),
    SelectionGradient(Selected),
}

/// Which entries a step chooses.
pub(crate) enum Selected {
    Moves(Moves, Vec<(MoveStep, Shape)>),
    Flattened(Vec<u64>),
    Along(usize, Vec<u64>),
    /// Whether the entries are those that the second operand stores, too.
    Overlap(bool),
    Format(&'static str),
}

impl Selected {
    /// Returns the entries that are chosen. `None` leaves the step to the threads.
    fn entries(&self, x: &DeviceValue, other: Option<&DeviceValue>, shape: &Shape) -> Result<Option<Arc<Selection>>> {
        let (gpu, of) = (&x.gpu, &x.pattern);
        let found = match self {
            // Positions that are set to zero have to be zeros.
            Selected::Moves(moves, _) if moves.has_zeros && x.is_fill_truthy() => return Ok(None),
            Selected::Moves(moves, steps) => {
                let choice = Choice::Moves(steps.clone(), shape.clone());
                of.selection(choice, || moves.selection(gpu, of, shape))
            }
            Selected::Flattened(positions) => {
                let choice = Choice::Flattened(positions.clone(), shape.clone());
                of.selection(choice, || take::flattened(gpu, of, positions, shape))
            }
            Selected::Along(_, positions) if !take::is_countable(of.nnz, positions) => return Ok(None),
            Selected::Along(axis, positions) => {
                let choice = Choice::Along(*axis, positions.clone(), shape.clone());
                of.selection(choice, || take::along(gpu, of, *axis, positions, shape))
            }
            Selected::Overlap(are_common) => {
                let Some(other) = other.filter(|other| other.pattern.shape == of.shape) else { return Ok(None) };
                let choice = Choice::Overlap(Arc::downgrade(&other.pattern), *are_common);
                of.selection(choice, || overlap(gpu, of, &other.pattern, *are_common))
            }
            Selected::Format(format) => of.selection(Choice::Format(format), || converted(gpu, of, format)),
        };
        found.map(Some)
    }
}

impl Step {
    /// Returns whether the step reads arrays in windows, so that they may be larger than a kernel reads.
    pub(crate) fn has_windows(&self) -> bool {
        match self {
            Step::Leaf | Step::Map(_) | Step::Marks(..) => true,
            Step::Fold(_, over) | Step::Sum(_, over) => over.kept.is_empty(),
            _ => false,
        }
    }

    /// Returns whether the result is on the pattern of the first operand.
    pub(crate) fn keeps_pattern(&self) -> bool {
        matches!(self, Step::Map(_) | Step::Spread(_) | Step::MedianGradient(..) | Step::SelectionGradient(_))
    }

    /// Returns whether the step sets its flag for some values.
    pub(crate) fn may_fail(&self) -> bool {
        match self {
            Step::Map(map) => map.may_fail(),
            Step::Sum(..) | Step::SelectionGradient(Selected::Flattened(_) | Selected::Along(..)) => true,
            _ => false,
        }
    }

    /// Computes the step from its operands on the device. `None` leaves the step to the threads.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        at: usize,
        operands: &[&DeviceValue],
        flags: &Words,
    ) -> Result<Option<DeviceValue>> {
        let (x, second) = (operands[0], operands.get(1).copied());
        let outline = |whole: &[usize]| Outline::of(plan, at, operands, whole, flags);
        let with = |over: &[usize], run: &dyn Fn(&Outline) -> Result<Option<DeviceValue>>| match outline(over) {
            Some(outline) => run(&outline),
            None => Ok(None),
        };
        match (self, second) {
            (Step::Leaf, _) => Ok(Some(x.clone())),
            (Step::Part(number), _) => Ok(Some(x.part(*number))),
            (Step::Selection(selected), other) => match plan.view(at).shape() {
                Some(shape) => selected.entries(x, other, shape)?.map(|entries| entries.of(x)).transpose(),
                None => Ok(None),
            },
            (Step::SelectionGradient(selected), Some(upstream)) => {
                let Some(entries) = selected.entries(x, None, &upstream.pattern.shape)? else { return Ok(None) };
                let flag = Flag { words: flags.clone(), at: at as u32 };
                entries.gradient(x, upstream, &flag).map(Some)
            }
            (Step::Map(map), _) => with(&[], &|outline| map.run(operands, outline)),
            (Step::Marks(marks, ..), _) if marks.is_dense(&x.pattern) => {
                with(&marks.reduced(&x.pattern.shape), &|outline| marks.run(x, outline))
            }
            (Step::Fold(fold, over) | Step::Marks(_, fold, over), _) => {
                with(&over.reduced, &|outline| fold.run(x, over, outline))
            }
            (Step::Sum(sum, over), _) => with(&over.reduced, &|outline| match sum.fold(x, over)? {
                Some(fold) => fold.run(x, over, outline),
                None => Ok(None),
            }),
            (Step::Median(median, over), _) => with(&over.reduced, &|outline| median.run(x, over, outline, false)),
            (Step::MedianAndPosition(median, over), _) => {
                with(&over.reduced, &|outline| median.run(x, over, outline, true))
            }
            (Step::MedianGradient(median, over), Some(upstream)) => {
                with(&[], &|outline| median.gradient(x, upstream, over, outline))
            }
            (Step::Spread(over), Some(upstream)) => with(&[], &|outline| spread(x, upstream, over, outline)),
            _ => Ok(None),
        }
    }
}
