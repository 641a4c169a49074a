//! The positions of the inputs that a range of a result needs: one rule for each family of steps.
//!
//! A step with a rule is computed chunk by chunk: from these positions of its inputs, the step computes the range of
//! its result. The result is bitwise identical. A step without a rule needs its entire inputs.

use std::ops::Range;
use std::sync::Arc;

use super::call::{Arg, Call};
use super::lengths;
use super::node::{Held, Node, Run};
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
pub(crate) enum Share {
    /// All positions.
    Whole,
    Along(Cut),
}

/// Positions along an axis: the positions of a range, clamped to `from..to` and shifted. Both bounds may be outside the
/// range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut {
    pub(super) axis: usize,
    from: i128,
    to: i128,
    pub(super) shift: i128,
}

/// A bound beyond all positions.
const ALL: i128 = 1 << 100;

impl Share {
    pub(super) fn along(axis: usize) -> Self {
        Share::shifted(axis, 0)
    }

    /// Returns the positions of an axis, shifted by `by`.
    fn shifted(axis: usize, by: usize) -> Self {
        Share::Along(Cut { axis, from: -ALL, to: ALL, shift: by as i128 })
    }

    /// Returns all positions of an operand that is at `positions` in the result.
    fn part(axis: usize, positions: Range<usize>) -> Self {
        let [from, to] = [positions.start, positions.end].map(|position| position as i128);
        Share::Along(Cut { axis, from, to, shift: -from })
    }

    /// Returns whether an input has all positions that `length` positions of the result need. An upstream gradient may
    /// be too short, which only the step itself rejects.
    fn is_of(self, input: &Shape, length: usize) -> bool {
        match self {
            Share::Whole => true,
            Share::Along(cut) => input.get(cut.axis).is_some_and(|&own| own >= cut.of(0..length).end),
        }
    }

    /// Returns the positions that a range needs through an intermediate step, of which the range needs `step`.
    pub(super) fn through(self, step: Cut) -> Self {
        let Share::Along(own) = self else { return self };
        // If both do not overlap, the result is empty, at a position that the input has.
        let [from, to] = [step.from, step.to].map(|at| at.clamp(own.from - step.shift, own.to - step.shift));
        Share::Along(Cut { axis: own.axis, from, to, shift: own.shift + step.shift })
    }
}

impl Cut {
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

    /// Returns the positions of the range that need the input, if others do not.
    pub(super) fn part_of(self) -> Option<Range<i128>> {
        (self.to < ALL / 2).then_some(self.from.max(0)..self.to.max(0))
    }
}

/// The positions of all inputs that a range needs.
pub(crate) struct Taken {
    pub(super) shares: Vec<Share>,
    /// The implementation of the chunk, if it differs from the step itself.
    pub(super) run: Option<Run>,
    /// True if operands are broadcast. The step then depends on the shapes of the entire operands.
    is_broadcast: bool,
}

fn by_itself(shares: Vec<Share>) -> Option<Taken> {
    Some(Taken { shares, run: None, is_broadcast: false })
}

/// Returns the positions of inputs of these shapes that a range along an axis of the result needs.
pub(super) fn shares(node: &Node, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let result = node.shape.as_ref()?;
    let work = node.work()?;
    let taken = match &work.reduced {
        Some(axes) => reduced(axes, inputs, axis),
        None => of_call(node, &work.call, inputs, axis),
    };
    let mut taken =
        taken.filter(|taken| taken.shares.iter().zip(inputs).all(|(share, input)| share.is_of(input, result[axis])))?;
    if taken.is_broadcast && taken.run.is_none() {
        taken.run = of_wholes(node, inputs);
    }
    Some(taken)
}

/// Returns these positions by the row of the operation.
fn of_call(node: &Node, call: &Call, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let along = |default| call.position("axis", default) as i128;
    match call.op.split {
        Split::Whole => None,
        Split::Each => each_of(&call.are_operands(), inputs, node.shape.as_ref()?, axis),
        Split::Alike => alike(inputs, axis),
        Split::Over => reduced(&call.axes(), inputs, axis),
        Split::Back => reduced_back(&call.axes(), inputs, axis),
        Split::Along => beside(along(-1), inputs, axis, |rank| rank),
        Split::Among => apart_from(&call.axes(), inputs, axis),
        Split::Scaled => scaled(along(0), inputs, axis),
        Split::Joined => joined(along(0), call.op.lengths() == ShapeRule::Stacked, inputs, axis),
        Split::Product => product(inputs, axis),
        Split::Contracted => {
            let rank = inputs.get(1)?.rank();
            beside(along(0), inputs, axis, |axes| (axes + rank).saturating_sub(2))
        }
        Split::Taken => {
            let rank = rank_of(call.named("indices"), inputs)?;
            beside(call.integer("axis")?, inputs, axis, |axes| (axes + rank).saturating_sub(1))
        }
        Split::Moved => moved_by(&lengths::moves(call, inputs.first()?).ok()?, node.inputs.first()?.kind, axis),
    }
}

/// Returns the positions for an elementwise step. An input that is broadcast along the axis is needed entirely, and so are
/// other inputs than operands, such as members.
fn each_of(are_operands: &[bool], inputs: &[&Shape], result: &Shape, axis: usize) -> Option<Taken> {
    let of = |(number, input): (usize, &&Shape)| match (axis + input.rank()).checked_sub(result.rank()) {
        Some(own) if input[own] == result[axis] && are_operands.get(number) != Some(&false) => Share::along(own),
        _ => Share::Whole,
    };
    let is_broadcast = inputs.iter().any(|input| *input != result);
    Some(Taken { shares: inputs.iter().enumerate().map(of).collect(), run: None, is_broadcast })
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
    Some(Arc::new(move |node: &Node, parts: &[Held]| {
        let part = |(part, (kind, lengths)): (&Held, &(Option<&'static dyn ByRanges>, Shape))| match kind {
            Some(kind) => kind.part_of(part, Some(PartOf { lengths: Some(lengths.clone()), is_full: None })),
            None => Arc::clone(part),
        };
        let found = run(node, &parts.iter().zip(&wholes).map(part).collect::<Vec<_>>())?;
        Ok(of_result.map_or_else(|| Arc::clone(&found), |kind| kind.part_of(&found, None)))
    }))
}

/// Returns the positions for a reduction: the axes that the reduction keeps can be split.
fn reduced(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let reduction = Reduction::new(inputs.first()?, axes).ok()?;
    by_itself(vec![Share::along(reduction.source_axis(axis)?)])
}

/// Returns the positions for the gradient of a reduction. Kept axes can be split, together with the matching axes of the
/// upstream gradient.
fn reduced_back(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let reduction = Reduction::new(inputs.first()?, axes).ok()?;
    by_itself(vec![Share::along(axis), Share::along(reduction.result_axis(axis)?)])
}

/// Returns the positions for a step along one axis: all other axes can be split. In the result, any number of axes may
/// replace that axis.
fn beside(along: i128, inputs: &[&Shape], axis: usize, rank_of_result: impl Fn(usize) -> usize) -> Option<Taken> {
    let rank = inputs.first()?.rank();
    let (along, rank_of_result) = (normalize_axis(along, rank).ok()?, rank_of_result(rank));
    let mine = match axis {
        before if before < along => Some(before),
        // Axes after `along` are counted from the end.
        after => (after + rank).checked_sub(rank_of_result).filter(|&mine| mine > along),
    };
    let others = inputs[1..].iter().map(|_| Share::Whole);
    by_itself(std::iter::once(Share::along(mine?)).chain(others).collect())
}

/// Returns the positions for a step that combines positions along some axes: all other axes can be split.
fn apart_from(axes: &Axes, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let among = axes.normalize(inputs.first()?.rank()).ok()?;
    by_itself((!among.contains(&axis)).then(|| vec![Share::along(axis); inputs.len()])?)
}

/// Returns the positions for a product with one factor per position of an axis.
fn scaled(along: i128, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let along = normalize_axis(along, inputs.first()?.rank()).ok()?;
    let factors = if axis == along { Share::along(0) } else { Share::Whole };
    by_itself(vec![Share::along(axis), factors])
}

/// Returns the positions for a concatenation along an axis, or for a stack along a new axis.
fn joined(along: i128, is_new: bool, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let along = normalize_axis(along, inputs.first()?.rank() + usize::from(is_new)).ok()?;
    let mut end = 0_usize;
    let mut part = |input: &&Shape| {
        let start = end;
        end = end.checked_add(*input.get(axis)?)?;
        Some(Share::part(axis, start..end))
    };
    match (axis == along, is_new) {
        (true, true) => None,
        (true, false) => by_itself(inputs.iter().map(&mut part).collect::<Option<_>>()?),
        (false, _) => {
            let own = axis - usize::from(is_new && axis > along);
            by_itself(vec![Share::along(own); inputs.len()])
        }
    }
}

/// Returns the positions for a product of two matrices, with or without a mask. The rows of the left matrix or the
/// columns of the right matrix are split, together with the mask.
fn product(inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let [x, y, mask @ ..] = inputs else { return None };
    let both = match axis {
        0 if x.rank() == 2 && (1..=2).contains(&y.rank()) => [Share::along(0), Share::Whole],
        1 if x.rank() == 2 && y.rank() == 2 => [Share::Whole, Share::along(1)],
        _ => return None,
    };
    by_itself(both.into_iter().chain(mask.iter().map(|_| Share::along(axis))).collect())
}

/// Returns the positions for a move of elements: axes whose positions stay consecutive can be split.
fn moved_by(moves: &Moves, kind: &'static dyn Kind, axis: usize) -> Option<Taken> {
    let ((own, shift), moves) = (moves.window(axis)?, moves.clone());
    // The arguments of the call refer to the entire operand.
    let run = move |_: &Node, inputs: &[Held]| {
        kind.choose(&inputs[0], &|lengths| Ok(moves.clone().within(axis, lengths[own])))
    };
    Some(Taken { shares: vec![Share::shifted(own, shift)], run: Some(Arc::new(run)), is_broadcast: false })
}

/// Returns the positions for an elementwise step whose operands are not broadcast.
fn alike(inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let are_alike = inputs.windows(2).all(|two| two[0] == two[1]);
    by_itself(are_alike.then(|| vec![Share::along(axis); inputs.len()])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(share: Share) -> Cut {
        let Share::Along(cut) = share else { panic!("all of it") };
        cut
    }

    /// Tests slices of a concatenated operand that is itself a concatenation of two tensors.
    #[test]
    fn shares_through_shares_are_those_of_positions() {
        for part in [0..4, 4..4, 4..11] {
            for slice in [0..11, 2..9, 5..6, 10..11] {
                let own = cut(Share::part(0, part.clone()).through(cut(Share::shifted(0, slice.start))));
                (0..part.len() + 1).for_each(|inner| check(&part, &slice, own, inner));
            }
        }
    }

    fn check(part: &Range<usize>, slice: &Range<usize>, own: Cut, inner: usize) {
        let pieces = [0..inner, inner..part.len()].map(|piece| cut(Share::part(0, piece).through(own)));
        for range in (0..=slice.len()).flat_map(|start| (start..=slice.len()).map(move |end| start..end)) {
            let positions = range.clone().map(|at| at + slice.start).filter(|at| part.contains(at));
            let expected: Vec<usize> = positions.map(|at| at - part.start).collect();
            let [all, before, behind] = [own, pieces[0], pieces[1]].map(|cut| cut.of(range.clone()));
            assert!(all.end <= part.len() && before.end <= inner && behind.end <= part.len() - inner);
            assert_eq!(all.collect::<Vec<_>>(), expected, "{range:?} of {slice:?} of {part:?}");
            let both: Vec<usize> = before.chain(behind.map(|at| at + inner)).collect();
            assert_eq!(both, expected, "{range:?} of {slice:?} of {part:?}, joined at {inner}");
        }
    }
}
