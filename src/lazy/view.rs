//! Views of the steps of a plan, for engines in other packages.

use std::sync::Arc;

use super::broadcast_operands::unlike;
use super::call::Arg;
use super::input_ranges::{InputRange, input_ranges};
use super::lengths::moves;
use super::maps::members_of;
use super::node::{Body, ErasedValue, Form};
use super::plan::{Plan, Step};
use super::reductions::stream;
use super::source::{OnDevice, Source};
use crate::base::axes::normalize_axis;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::ops::{ShapeRule, Stream};
use crate::plan::moves::MoveStep;

/// A view of a step of a plan.
#[derive(Clone, Copy)]
pub struct View<'a> {
    plan: &'a Plan,
    step: &'a Step,
}

impl Plan {
    /// Returns the number of steps. Inputs come before the steps that use them.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Returns the step at this index.
    pub fn view(&self, at: usize) -> View<'_> {
        View { plan: self, step: &self.steps[at] }
    }

    /// Returns the indices of the results.
    pub fn results(&self) -> &[usize] {
        &self.outputs
    }

    /// Computes the values of the results from existing values.
    ///
    /// Steps that the results do not need are skipped.
    pub fn finish(&self, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        let (plan, slots) = self.rest(&self.outputs, slots);
        plan.run(slots)
    }

    /// Computes the value of a step from existing values.
    pub fn value(&self, at: usize, slots: Vec<Option<ErasedValue>>) -> Result<ErasedValue> {
        let (plan, slots) = self.rest(&[at], slots);
        plan.run(slots)?.pop().ok_or_else(|| unlike("a step has no value"))
    }

    /// Returns all steps as text.
    pub fn to_text(&self) -> String {
        self.explain()
    }
}

impl<'a> View<'a> {
    /// Returns the name of the operation.
    pub fn name(self) -> &'static str {
        self.step.node.name
    }

    /// Returns the call as text.
    pub fn to_text(self) -> String {
        self.step.node.description()
    }

    /// Returns the indices of the inputs.
    pub fn inputs(self) -> &'a [usize] {
        &self.step.inputs
    }

    /// Returns the lengths of the axes, if known.
    pub fn shape(self) -> Option<&'a Shape> {
        self.step.node.shape.as_ref()
    }

    /// Returns the element type, if there is one.
    pub fn dtype(self) -> Option<DType> {
        self.step.node.kind.dtype()
    }

    /// Returns the name of the format: `coo`, `csr` or `array`.
    pub fn format(self) -> &'static str {
        self.step.node.kind.format()
    }

    /// Returns whether the step reads only the stored entries of its operand.
    pub fn is_stored(self) -> bool {
        self.step.node.work().is_some_and(|work| work.call.is_stored())
    }

    /// Returns the value, if it exists before the run.
    pub fn constant(self) -> Option<&'a ErasedValue> {
        if let Body::Constant(value) = &self.step.node.body { Some(value) } else { None }
    }

    /// Returns the value on a device, if the step is such a value.
    pub fn placed(self) -> Option<&'a Arc<dyn OnDevice>> {
        if let Body::Source(source) = &self.step.node.body { source.placed() } else { None }
    }

    /// Returns the members of the set of `isin`, and whether the test is inverted.
    pub fn members<T: Element>(self) -> Option<(&'a [T], bool)> {
        let isin = members_of::<T>(&self.step.node.work()?.call)?;
        Some((isin.members(), isin.invert))
    }

    /// Returns the element of a parameter, if its argument is an element of this type.
    pub fn element<T: Element>(self, parameter: &str) -> Option<T> {
        self.step.node.work()?.call.element_opt(parameter)
    }

    /// Returns the positions of `take` among `size` elements.
    ///
    /// The result is `None` if a position is out of range.
    pub fn positions(self, size: usize) -> Option<Vec<usize>> {
        match self.step.node.work()?.call.named("indices") {
            Arg::Typed(data) => data.positions(size),
            _ => None,
        }
    }

    /// Returns the axis argument of a call, among `rank` axes.
    pub fn axis(self, rank: usize) -> Option<usize> {
        normalize_axis(self.step.node.work()?.call.integer("axis")?, rank).ok()
    }

    /// Returns the steps of a move of elements, each with the shape before it.
    ///
    /// The move may also be the gradient of a move.
    pub fn moves(self) -> Option<Vec<(MoveStep, Shape)>> {
        let call = &self.step.node.work()?.call.forward();
        let operand = self.plan.steps[*self.step.inputs.first()?].node.shape.as_ref()?;
        (call.op.lengths() == ShapeRule::Moved)
            .then(|| moves(call, operand).ok())?
            .map(|moves| moves.with_shapes().collect())
    }

    /// Returns which result of an input with several results the step reads.
    pub fn part(self) -> Option<usize> {
        if let Body::Part(number) = self.step.node.body { Some(number) } else { None }
    }

    /// Returns whether all options of a median or a quantile have a textual form.
    pub fn has_plain_options(self) -> bool {
        self.step.node.work().is_some_and(|work| !matches!(work.call.args().last(), Some(Arg::Typed(_))))
    }

    /// Returns the word of a parameter, or an empty text.
    pub fn word(self, parameter: &str) -> &'a str {
        self.step.node.work().map_or("", |work| work.call.word(parameter))
    }

    /// Returns the reduced axes, and whether the result keeps them with length 1.
    ///
    /// The operand is the operand of a reduction or of its gradient. The axes are in increasing order. The result is
    /// `None` for labels.
    pub fn reduced(self) -> Option<(Vec<usize>, bool)> {
        let axes = self.step.node.work()?.call.axes();
        let operand = self.plan.steps[*self.step.inputs.first()?].node.shape.as_ref()?;
        let reduced = axes.normalize(operand.rank()).ok()?;
        axes.labels().is_none().then_some((reduced, axes.keeps_dims()))
    }

    /// Returns whether the step is elementwise.
    ///
    /// The step may use the pattern of its inputs or another pattern.
    pub fn is_elementwise(self) -> bool {
        matches!(self.step.node.form(), Form::Each | Form::EachOfFirst)
    }

    /// Returns the tensor that the step reads, if the step is a read.
    pub fn source(self) -> Option<Read<'a>> {
        match &self.step.node.body {
            Body::Source(source) => Some(Read(source)),
            _ => None,
        }
    }

    /// Returns the axes that a streaming reduction or a median keeps.
    ///
    /// The result is `None` for other steps.
    pub fn kept(self) -> Option<Vec<usize>> {
        let node = &self.step.node;
        let (&[input], true, false) =
            (&self.step.inputs[..], matches!(stream(node), Stream::Fold | Stream::Middle), node.is_grouped())
        else {
            return None;
        };
        let operand = self.plan.steps[input].node.shape.as_ref()?;
        let downcast_owned = |axis| input_ranges(node, &[operand], axis)?.input_ranges.into_iter().next();
        let axes = (0..node.shape.as_ref()?.rank()).filter_map(downcast_owned);
        axes.map(|input_range| if let InputRange::Along(range_map) = input_range { Some(range_map.axis) } else { None })
            .collect()
    }
}

/// A tensor that is read in chunks.
#[derive(Clone)]
pub struct Read<'a>(&'a Arc<dyn Source>);

impl Read<'_> {
    /// Returns the tensor as text.
    pub fn to_text(&self) -> String {
        self.0.description()
    }

    /// Returns the bytes that the tensor takes in memory.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Returns the number of entries and the sum of their hashes, if known.
    pub fn checks(&self) -> Option<(u64, u64)> {
        self.0.checks()
    }
}
