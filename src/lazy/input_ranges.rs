//! The positions of the inputs that a range of a result needs: one rule for each family of steps.
//!
//! A step with a rule is computed chunk by chunk. From these positions of its inputs, the step computes a range of its
//! result. The result is bitwise identical. A step without a rule needs its entire inputs.

use std::ops::Range;
use std::sync::Arc;

use super::call::{Arg, Call};
use super::lengths;
use super::node::{ErasedValue, Node, Run};
use super::source::ByRanges;
use super::value::Kind;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::shape::Shape;
use crate::ops::moved::Moves;
use crate::ops::{ShapeRule, Split};
use crate::pattern::PartOf;
use crate::plan::reduction::Reduction;

/// The positions of an input that a range of positions needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InputRange {
    /// All positions.
    Whole,
    Along(RangeMap),
}

/// Positions along an axis: the positions of a range, clamped to `from..to` and shifted. Both bounds may be outside the
/// range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RangeMap {
    pub(super) axis: usize,
    from: i128,
    to: i128,
    pub(super) shift: i128,
}

/// A bound beyond all positions.
const ALL: i128 = 1 << 100;

impl InputRange {
    pub(super) fn along(axis: usize) -> Self {
        InputRange::shifted(axis, 0)
    }

    /// Returns the positions of an axis, shifted by `by`.
    fn shifted(axis: usize, by: usize) -> Self {
        InputRange::Along(RangeMap { axis, from: -ALL, to: ALL, shift: by as i128 })
    }

    /// Returns all positions of an operand that is at `positions` in the result.
    fn part(axis: usize, positions: Range<usize>) -> Self {
        let [from, to] = [positions.start, positions.end].map(|position| position as i128);
        InputRange::Along(RangeMap { axis, from, to, shift: -from })
    }

    /// Returns whether an input has all positions that `length` positions of the result need. An upstream gradient may
    /// be too short. Only the step itself rejects such a gradient.
    fn is_of(self, input: &Shape, length: usize) -> bool {
        match self {
            InputRange::Whole => true,
            InputRange::Along(range_map) => {
                input.get(range_map.axis).is_some_and(|&own| own >= range_map.of(0..length).end)
            }
        }
    }

    /// Returns the positions that a range needs through an intermediate step. `step` is the positions of the
    /// intermediate step that the range needs.
    pub(super) fn through(self, step: RangeMap) -> Self {
        let InputRange::Along(own) = self else { return self };
        // If the two ranges do not overlap, the result is an empty range at an existing position of the input.
        let [from, to] = [step.from, step.to].map(|at| at.clamp(own.from - step.shift, own.to - step.shift));
        InputRange::Along(RangeMap { axis: own.axis, from, to, shift: own.shift + step.shift })
    }
}

impl RangeMap {
    /// Returns the positions that a range needs.
    pub(super) fn of(self, range: Range<usize>) -> Range<usize> {
        let moved = |position: usize| (position as i128).clamp(self.from, self.to) + self.shift;
        let [start, end] =
            [range.start, range.end].map(|position| usize::try_from(moved(position)).unwrap_or(usize::MAX));
        start..end
    }

    /// Returns the position of the range that needs this position.
    pub(super) fn back(self, position: usize) -> usize {
        usize::try_from(position as i128 - self.shift).unwrap_or(0)
    }

    /// Returns the positions of the range that need the input; `None` if all positions need it.
    pub(super) fn part_of(self) -> Option<Range<i128>> {
        (self.to < ALL / 2).then_some(self.from.max(0)..self.to.max(0))
    }
}

/// The positions of all inputs that a range needs.
pub(crate) struct StepInputs {
    pub(super) input_ranges: Vec<InputRange>,
    /// The implementation of the chunk, if it differs from the step itself.
    pub(super) run: Option<Run>,
    /// True if operands are broadcast. The step then depends on the shapes of the entire operands.
    is_broadcast: bool,
}

fn without_run(input_ranges: Vec<InputRange>) -> Option<StepInputs> {
    Some(StepInputs { input_ranges, run: None, is_broadcast: false })
}

/// Returns the positions of inputs of these shapes that a range along an axis of the result needs.
pub(super) fn input_ranges(node: &Node, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let result = node.shape.as_ref()?;
    let work = node.work()?;
    let taken = match &work.reduced {
        Some(axes) => reduced(axes, inputs, axis),
        None => of_call(node, &work.call, inputs, axis),
    };
    let mut taken = taken.filter(|taken| {
        taken.input_ranges.iter().zip(inputs).all(|(input_range, input)| input_range.is_of(input, result[axis]))
    })?;
    if taken.is_broadcast && taken.run.is_none() {
        taken.run = of_wholes(node, inputs);
    }
    Some(taken)
}

/// Returns these positions by the row of the operation.
fn of_call(node: &Node, call: &Call, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let along = |default| call.position("axis", default) as i128;
    match call.op.split {
        Split::Whole => None,
        Split::Each => each_of(&call.are_operands(), inputs, node.shape.as_ref()?, axis),
        Split::Alike => same_shape(inputs, axis),
        Split::Over => reduced(&call.axes(), inputs, axis),
        Split::Back => reduced_back(&call.axes(), inputs, axis),
        Split::Along => {
            // An upstream gradient is split together with the operand.
            let first = split_other_axes(along(-1), inputs, axis, |rank| rank)?.input_ranges[0];
            without_run(vec![first; inputs.len()])
        }
        Split::Among => apart_from(&call.axes(), inputs, axis),
        Split::Scaled => scaled(along(0), inputs, axis),
        Split::Joined => joined(along(0), call.op.lengths() == ShapeRule::Stacked, inputs, axis),
        Split::Product => product(inputs, axis),
        Split::Contracted => {
            let rank = inputs.get(1)?.rank();
            split_other_axes(along(0), inputs, axis, |axes| (axes + rank).saturating_sub(2))
        }
        Split::Taken => {
            let rank = rank_of(call.named("indices"), inputs)?;
            split_other_axes(call.integer("axis")?, inputs, axis, |axes| (axes + rank).saturating_sub(1))
        }
        Split::Moved => moved_by(&lengths::moves(call, inputs.first()?).ok()?, node.inputs.first()?.kind, axis),
    }
}

/// Returns the positions for an elementwise step. Inputs that are broadcast along the axis are needed entirely. Inputs
/// that are not operands, such as members, are also needed entirely.
fn each_of(are_operands: &[bool], inputs: &[&Shape], result: &Shape, axis: usize) -> Option<StepInputs> {
    let of = |(number, input): (usize, &&Shape)| match (axis + input.rank()).checked_sub(result.rank()) {
        Some(own) if input[own] == result[axis] && are_operands.get(number) != Some(&false) => InputRange::along(own),
        _ => InputRange::Whole,
    };
    let is_broadcast = inputs.iter().any(|input| *input != result);
    Some(StepInputs { input_ranges: inputs.iter().enumerate().map(of).collect(), run: None, is_broadcast })
}

/// Returns the rank of positions.
fn rank_of(positions: &Arg, inputs: &[&Shape]) -> Option<usize> {
    match positions {
        Arg::Typed(positions) => Some(positions.rank()),
        Arg::Input(input) => inputs.get(*input).map(|shape| shape.rank()),
        Arg::List(items) => Some(1 + items.first().map_or(0, |item| rank_of(item, inputs).unwrap_or(0))),
        _ => None,
    }
}

/// Returns the implementation of a chunk of a step with broadcast operands, from chunks of the operands.
pub(super) fn of_wholes(node: &Node, inputs: &[&Shape]) -> Option<Run> {
    let (run, of_result) = (Arc::clone(&node.work()?.run), node.kind.by_ranges());
    let whole = |(input, lengths): (&Arc<Node>, &&Shape)| (input.kind.by_ranges(), Shape::clone(lengths));
    let wholes: Vec<_> = node.inputs.iter().zip(inputs).map(whole).collect();
    Some(Arc::new(move |node: &Node, parts: &[ErasedValue]| {
        let part = |(part, (kind, lengths)): (&ErasedValue, &(Option<&'static dyn ByRanges>, Shape))| match kind {
            Some(kind) => kind.part_of(part, Some(PartOf { lengths: Some(lengths.clone()), is_full: None })),
            None => Arc::clone(part),
        };
        let found = run(node, &parts.iter().zip(&wholes).map(part).collect::<Vec<_>>())?;
        Ok(of_result.map_or_else(|| Arc::clone(&found), |kind| kind.part_of(&found, None)))
    }))
}

/// Returns the positions for a reduction: the axes that the reduction keeps can be split.
fn reduced(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let reduction = Reduction::new(inputs.first()?, axes).ok()?;
    without_run(vec![InputRange::along(reduction.source_axis(axis)?)])
}

/// Returns the positions for the gradient of a reduction. Kept axes can be split, together with the matching axes of
/// the upstream gradient.
fn reduced_back(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let reduction = Reduction::new(inputs.first()?, axes).ok()?;
    without_run(vec![InputRange::along(axis), InputRange::along(reduction.result_axis(axis)?)])
}

/// Returns the positions for a step along one axis: all other axes can be split. In the result, any number of axes may
/// replace that axis.
fn split_other_axes(
    along: i128,
    inputs: &[&Shape],
    axis: usize,
    rank_of_result: impl Fn(usize) -> usize,
) -> Option<StepInputs> {
    let rank = inputs.first()?.rank();
    let (along, rank_of_result) = (normalize_axis(along, rank).ok()?, rank_of_result(rank));
    let own = match axis {
        before if before < along => Some(before),
        // Axes after `along` are counted from the end.
        after => (after + rank).checked_sub(rank_of_result).filter(|&own| own > along),
    };
    let others = inputs[1..].iter().map(|_| InputRange::Whole);
    without_run(std::iter::once(InputRange::along(own?)).chain(others).collect())
}

/// Returns the positions for a step that combines positions along some axes: all other axes can be split.
fn apart_from(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let among = axes.normalize(inputs.first()?.rank()).ok()?;
    without_run((!among.contains(&axis)).then(|| vec![InputRange::along(axis); inputs.len()])?)
}

/// Returns the positions for a product with one factor per position of an axis.
fn scaled(along: i128, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let along = normalize_axis(along, inputs.first()?.rank()).ok()?;
    let factors = if axis == along { InputRange::along(0) } else { InputRange::Whole };
    without_run(vec![InputRange::along(axis), factors])
}

/// Returns the positions for a concatenation along an axis, or for a stack along a new axis.
fn joined(along: i128, is_new: bool, inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let along = normalize_axis(along, inputs.first()?.rank() + usize::from(is_new)).ok()?;
    let mut end = 0_usize;
    let mut part = |input: &&Shape| {
        let start = end;
        end = end.checked_add(*input.get(axis)?)?;
        Some(InputRange::part(axis, start..end))
    };
    match (axis == along, is_new) {
        (true, true) => None,
        (true, false) => without_run(inputs.iter().map(&mut part).collect::<Option<_>>()?),
        (false, _) => {
            let own = axis - usize::from(is_new && axis > along);
            without_run(vec![InputRange::along(own); inputs.len()])
        }
    }
}

/// Returns the positions for a product of two matrices, with or without a mask. The rows of the left matrix or the
/// columns of the right matrix are split, together with the mask.
fn product(inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let [x, y, mask @ ..] = inputs else { return None };
    let both = match axis {
        0 if x.rank() == 2 && (1..=2).contains(&y.rank()) => [InputRange::along(0), InputRange::Whole],
        1 if x.rank() == 2 && y.rank() == 2 => [InputRange::Whole, InputRange::along(1)],
        _ => return None,
    };
    without_run(both.into_iter().chain(mask.iter().map(|_| InputRange::along(axis))).collect())
}

/// Returns the positions for a move of elements: axes whose positions stay consecutive can be split.
fn moved_by(moves: &Moves, kind: &'static dyn Kind, axis: usize) -> Option<StepInputs> {
    let ((own, shift), moves) = (moves.window(axis)?, moves.clone());
    // The arguments of the call refer to the entire operand.
    let run = move |_: &Node, inputs: &[ErasedValue]| {
        kind.choose(&inputs[0], &|lengths| Ok(moves.clone().within(axis, lengths[own])))
    };
    Some(StepInputs {
        input_ranges: vec![InputRange::shifted(own, shift)],
        run: Some(Arc::new(run)),
        is_broadcast: false,
    })
}

/// Returns the positions for an elementwise step whose operands are not broadcast.
fn same_shape(inputs: &[&Shape], axis: usize) -> Option<StepInputs> {
    let have_same_shape = inputs.windows(2).all(|two| two[0] == two[1]);
    without_run(have_same_shape.then(|| vec![InputRange::along(axis); inputs.len()])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_map(input_range: InputRange) -> RangeMap {
        let InputRange::Along(range_map) = input_range else { panic!("all of it") };
        range_map
    }

    /// Tests slices of a concatenated operand that is itself a concatenation of two tensors.
    #[test]
    fn shares_through_shares_are_those_of_positions() {
        for part in [0..4, 4..4, 4..11] {
            for slice in [0..11, 2..9, 5..6, 10..11] {
                let own = range_map(
                    InputRange::part(0, part.clone()).through(range_map(InputRange::shifted(0, slice.start))),
                );
                (0..part.len() + 1).for_each(|inner| check(&part, &slice, own, inner));
            }
        }
    }

    fn check(part: &Range<usize>, slice: &Range<usize>, own: RangeMap, inner: usize) {
        let pieces = [0..inner, inner..part.len()].map(|piece| range_map(InputRange::part(0, piece).through(own)));
        for range in (0..=slice.len()).flat_map(|start| (start..=slice.len()).map(move |end| start..end)) {
            let positions = range.clone().map(|at| at + slice.start).filter(|at| part.contains(at));
            let expected: Vec<usize> = positions.map(|at| at - part.start).collect();
            let [all, before, behind] = [own, pieces[0], pieces[1]].map(|range_map| range_map.of(range.clone()));
            assert!(all.end <= part.len() && before.end <= inner && behind.end <= part.len() - inner);
            assert_eq!(all.collect::<Vec<_>>(), expected, "{range:?} of {slice:?} of {part:?}");
            let both: Vec<usize> = before.chain(behind.map(|at| at + inner)).collect();
            assert_eq!(both, expected, "{range:?} of {slice:?} of {part:?}, joined at {inner}");
        }
    }
}
