//! What of its inputs a range of an axis of a result takes: a row for each family of steps.
//!
//! A step that has such a row gives for that share of its inputs the range of its result, bit for bit: it commutes with
//! cutting. A step without one takes its inputs whole.

use std::ops::Range;
use std::sync::Arc;

use super::call::{Arg, Call};
use super::lengths;
use super::node::{Held, Node, Run};
use super::source::ByRanges;
use super::value::Kind;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::shape::{self, Shape};
use crate::ops::moved::Moves;
use crate::ops::{Lengths, Split};
use crate::pattern::PartOf;
use crate::plan::reduction::Reduction;

/// What a range of positions takes of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// All of it.
    Whole,
    Along(Cut),
}

/// The same positions of an axis, so many on; of a range those that lie from one of them to another, which may both be
/// outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut {
    pub(super) axis: usize,
    from: i128,
    to: i128,
    pub(super) shift: i128,
}

/// No position is beyond this.
const ALL: i128 = 1 << 100;

impl Share {
    pub(super) fn along(axis: usize) -> Self {
        Share::shifted(axis, 0)
    }

    /// The positions of an axis that stand so many on.
    fn shifted(axis: usize, by: usize) -> Self {
        Share::Along(Cut { axis, from: -ALL, to: ALL, shift: by as i128 })
    }

    /// All positions of an axis, which stand there in the result.
    fn part(axis: usize, positions: Range<usize>) -> Self {
        let [from, to] = [positions.start, positions.end].map(|position| position as i128);
        Share::Along(Cut { axis, from, to, shift: -from })
    }

    /// Whether an input has these positions for so many of the result. A gradient may be given one that has not: only
    /// the step itself refuses it.
    fn is_of(self, input: &Shape, length: usize) -> bool {
        match self {
            Share::Whole => true,
            Share::Along(cut) => input.get(cut.axis).is_some_and(|&own| own >= cut.of(0..length).end),
        }
    }

    /// What a range takes of this, if that is what it takes of the step between.
    pub(super) fn through(self, step: Cut) -> Self {
        let Share::Along(own) = self else { return self };
        // A part that lies beside this one is nothing, at a position that the input has.
        let [from, to] = [step.from, step.to].map(|at| at.clamp(own.from - step.shift, own.to - step.shift));
        Share::Along(Cut { axis: own.axis, from, to, shift: own.shift + step.shift })
    }
}

impl Cut {
    /// The positions that a range takes.
    pub(super) fn of(self, range: Range<usize>) -> Range<usize> {
        let moved = |position: usize| (position as i128).clamp(self.from, self.to) + self.shift;
        let [start, end] =
            [range.start, range.end].map(|position| usize::try_from(moved(position)).unwrap_or(usize::MAX));
        start..end
    }

    /// The position of a range that takes this one.
    pub(super) fn back(self, position: usize) -> usize {
        usize::try_from(position as i128 - self.shift).unwrap_or(0)
    }

    /// The positions of a range that takes some of the axis only.
    pub(super) fn part_of(self) -> Option<Range<i128>> {
        (self.to < ALL / 2).then_some(self.from.max(0)..self.to.max(0))
    }
}

/// What a range takes of all inputs.
pub(crate) struct Taken {
    pub(super) shares: Vec<Share>,
    /// What gives the range from these, if it is not the step itself.
    pub(super) run: Option<Run>,
    /// Whether operands are broadcast, so that the step decides by the shapes of the wholes.
    is_broadcast: bool,
}

/// What a range takes of all inputs, from their shapes and the axis of the result; none where these are taken whole.
pub(crate) type Shares = Arc<dyn Fn(&[&Shape], usize) -> Option<Taken> + Send + Sync>;

fn by_itself(shares: Vec<Share>) -> Option<Taken> {
    Some(Taken { shares, run: None, is_broadcast: false })
}

/// What a step takes of inputs of these shapes for a range of an axis of its result.
pub(super) fn shares(node: &Node, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let result = node.shape.as_ref()?;
    let work = node.work()?;
    let taken = match &work.shares {
        Some(shares) => shares(inputs, axis),
        None => of_call(node, &work.call, inputs, axis),
    };
    let mut taken =
        taken.filter(|taken| taken.shares.iter().zip(inputs).all(|(share, input)| share.is_of(input, result[axis])))?;
    if taken.is_broadcast && taken.run.is_none() {
        taken.run = of_wholes(node, inputs);
    }
    Some(taken)
}

/// The same by the row of the operation.
fn of_call(node: &Node, call: &Call, inputs: &[&Shape], axis: usize) -> Option<Taken> {
    let along = |default| call.position("axis", default);
    let rule = match call.op.split {
        Split::Whole => return None,
        Split::Each => return each(inputs, node.shape.as_ref()?, axis),
        Split::Alike => alike(),
        Split::Over => reduced(&call.axes()),
        Split::Back => reduced_back(&call.axes()),
        Split::Along => beside(along(-1) as i128, |rank| rank),
        Split::Among => apart_from(&call.axes()),
        Split::Scaled => scaled(along(0)),
        Split::Joined => joined(along(0), call.op.lengths() == Lengths::Stacked),
        Split::Product => product(),
        Split::Contracted => {
            let rank = inputs.get(1)?.rank();
            beside(along(0) as i128, move |axes| (axes + rank).saturating_sub(2))
        }
        Split::Taken => {
            let (axis, Arg::Typed(positions)) = (call.integer("axis")?, call.named("indices")) else { return None };
            let rank = positions.rank();
            beside(axis, move |axes| (axes + rank).saturating_sub(1))
        }
        Split::Moved => {
            let call = call.clone();
            moved_by(move |lengths| lengths::moves(&call, lengths).ok(), node.inputs.first()?.kind)
        }
    };
    rule(inputs, axis)
}

/// Of a step element by element: an input that is broadcast along the axis is taken whole.
fn each(inputs: &[&Shape], result: &Shape, axis: usize) -> Option<Taken> {
    let of = |input: &&Shape| match (axis + input.rank()).checked_sub(result.rank()) {
        Some(own) if input[own] == result[axis] => Share::along(own),
        _ => Share::Whole,
    };
    let is_broadcast = inputs.iter().any(|input| *input != result);
    Some(Taken { shares: inputs.iter().map(of).collect(), run: None, is_broadcast })
}

/// Computes a part of a step of broadcast operands from parts of these.
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

/// Of a reduction: the axes that it keeps.
pub(crate) fn reduced(axes: &Axes) -> Shares {
    let axes = axes.clone();
    Arc::new(move |inputs, axis| {
        let reduction = Reduction::new(inputs.first()?, &axes).ok()?;
        by_itself(vec![Share::along(reduction.source_axis(axis)?)])
    })
}

/// Of the gradient of a reduction: the axes that are kept, and those of the upstream gradient that they become.
pub(crate) fn reduced_back(axes: &Axes) -> Shares {
    let axes = axes.clone();
    Arc::new(move |inputs, axis| {
        let reduction = Reduction::new(inputs.first()?, &axes).ok()?;
        by_itself(vec![Share::along(axis), Share::along(reduction.result_axis(axis)?)])
    })
}

/// Of a step that goes along one axis and treats all others position by position; that one of the result may stand for
/// several.
pub(crate) fn beside(along: i128, rank_of_result: impl Fn(usize) -> usize + Send + Sync + 'static) -> Shares {
    Arc::new(move |inputs, axis| {
        let rank = inputs.first()?.rank();
        let (along, rank_of_result) = (normalize_axis(along, rank).ok()?, rank_of_result(rank));
        let mine = match axis {
            before if before < along => Some(before),
            // Counted from the end.
            after => (after + rank).checked_sub(rank_of_result).filter(|&mine| mine > along),
        };
        let others = inputs[1..].iter().map(|_| Share::Whole);
        by_itself(std::iter::once(Share::along(mine?)).chain(others).collect())
    })
}

/// Of a step that leaves positions along these axes to each other, and treats all others one by one.
pub(crate) fn apart_from(axes: &Axes) -> Shares {
    let axes = axes.clone();
    Arc::new(move |inputs, axis| {
        let among = axes.normalize(inputs.first()?.rank()).ok()?;
        by_itself((!among.contains(&axis)).then(|| vec![Share::along(axis); inputs.len()])?)
    })
}

/// Of a product with a number for each position of an axis.
pub(crate) fn scaled(along: isize) -> Shares {
    Arc::new(move |inputs, axis| {
        let along = normalize_axis(along as i128, inputs.first()?.rank()).ok()?;
        let factors = if axis == along { Share::along(0) } else { Share::Whole };
        by_itself(vec![Share::along(axis), factors])
    })
}

/// Of tensors one behind the other along an axis, or side by side on a new one.
pub(crate) fn joined(along: isize, is_new: bool) -> Shares {
    Arc::new(move |inputs, axis| {
        let along = normalize_axis(along as i128, inputs.first()?.rank() + usize::from(is_new)).ok()?;
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
    })
}

/// Of a product of two matrices, at a mask or not: rows of the left one, or columns of the right one, and those of the
/// mask.
pub(crate) fn product() -> Shares {
    Arc::new(|inputs, axis| {
        let [x, y, mask @ ..] = inputs else { return None };
        let both = match axis {
            0 if x.rank() == 2 && (1..=2).contains(&y.rank()) => [Share::along(0), Share::Whole],
            1 if x.rank() == 2 && y.rank() == 2 => [Share::Whole, Share::along(1)],
            _ => return None,
        };
        by_itself(both.into_iter().chain(mask.iter().map(|_| Share::along(axis))).collect())
    })
}

/// Of a move, which lengths tell: the axes whose positions stay beside each other.
pub(crate) fn moved_by(
    plan: impl Fn(&[usize]) -> Option<Moves> + Send + Sync + 'static,
    kind: &'static dyn Kind,
) -> Shares {
    Arc::new(move |inputs, axis| {
        let moves = plan(inputs.first()?)?;
        let (own, shift) = moves.window(axis)?;
        // Its arguments name positions of the whole.
        let run = move |_: &Node, inputs: &[Held]| {
            kind.choose(&inputs[0], &|lengths| Ok(moves.clone().within(axis, lengths[own])))
        };
        Some(Taken { shares: vec![Share::shifted(own, shift)], run: Some(Arc::new(run)), is_broadcast: false })
    })
}

/// The chunks of an elementwise step. Some of its inputs are split; the others are parameters, which are not.
#[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // the steps of expressions
pub(crate) fn each_of(is_operand: Vec<bool>) -> Shares {
    Arc::new(move |inputs, axis| {
        let mut operands = inputs.iter().zip(&is_operand).filter(|(_, is_operand)| **is_operand);
        let (first, _) = operands.next()?;
        // A slice of the step has the shape of slices of the inputs.
        let result = operands.try_fold(Shape::clone(first), |shape, (other, _)| shape::broadcast(&shape, other))?;
        let mut taken = each(inputs, &result, axis)?;
        taken.shares.iter_mut().zip(&is_operand).filter(|(_, is_operand)| !**is_operand).for_each(|(share, _)| {
            *share = Share::Whole;
        });
        Some(taken)
    })
}

/// Of a step element by element of operands that are not broadcast.
#[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // the steps of expressions
pub(crate) fn alike() -> Shares {
    Arc::new(|inputs, axis| {
        let are_alike = inputs.windows(2).all(|two| two[0] == two[1]);
        by_itself(are_alike.then(|| vec![Share::along(axis); inputs.len()])?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(share: Share) -> Cut {
        let Share::Along(cut) = share else { panic!("all of it") };
        cut
    }

    /// Ranges of a slice of a part of what is joined, and of two pieces that the part is joined of.
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
