//! The driver of zips of two sparse operands of which at least one is repeated along some axes.
//!
//! No operand is repeated in memory. Each entry of the result looks up the elements of both operands by index
//! ([`BroadcastMatch`]). Time and memory are therefore proportional to the operands and the result.

use std::borrow::Cow;
use std::sync::Arc;

use super::sparse::{at_entry, fill_of, on_pattern, one_of_fills, own_fill, text, unstored};
use super::{broadcast_shape, has_other_lengths, is_repeated, rejection};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::op::Outcome;
use crate::kernels::sort;
use crate::kernels::steps::{BLOCK, Filled, LEFT, RIGHT};
use crate::kernels::zip::{
    FailedElement, FillEffect, Zip, ZipOperand, all_finite, zip_found, zip_numbers, zip_numbers_united, zip_sides,
};
use crate::ops::broadcast::{formatted, in_shape};
use crate::ops::select;
use crate::pattern::AnyPattern;
use crate::plan::broadcast_match::{
    BroadcastMatch, CommonEntries, first_unstored, is_full, is_whole_full, repeated_count, whole_lengths,
};
use crate::plan::broadcast_union::BroadcastUnion;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// Two operands, and the shape that they are broadcast to.
pub(super) struct Broadcast<'a, A, B> {
    x: SparseRef<'a, A>,
    y: SparseRef<'a, B>,
    patterns: BroadcastPatterns<'a>,
}

/// The patterns of two operands, and the shape that they are broadcast to.
struct BroadcastPatterns<'a> {
    x: &'a AnyPattern,
    y: &'a AnyPattern,
    shape: &'a Shape,
    wholes: WholeShapes<'a>,
    /// The number of bytes that both operands hold.
    held_bytes: usize,
}

/// The lengths of the whole operands that two operands are chunks of, and the shape that the wholes are broadcast to.
pub(super) struct WholeShapes<'a> {
    pub(super) left: &'a [usize],
    pub(super) right: &'a [usize],
    pub(super) shape: Shape,
}

impl<'a> WholeShapes<'a> {
    /// Returns the lengths of the whole operands, from these and from the operands themselves, which are broadcast to
    /// `shape`.
    pub(super) fn of([left, right]: [&'a [usize]; 2], own: [&'a [usize]; 2], shape: &Shape) -> Self {
        // Chunks that user code combines with other operands are described by their own shapes.
        match broadcast_shape(left, right) {
            Ok(whole) if [left, right] != own => WholeShapes { left, right, shape: whole },
            _ => WholeShapes { left: own[0], right: own[1], shape: shape.clone() },
        }
    }
}

/// The source of the elements of an operand for the entries of a result.
enum Origin {
    /// All values, in order.
    Own,
    /// The values at these indices.
    List(Arc<Vec<usize>>),
    /// The values of a repeated pattern, and the fill elsewhere.
    Repeated,
}

/// The pattern of a result, and the origins of both elements of each entry.
struct ZipPlan {
    pattern: AnyPattern,
    left: Origin,
    right: Origin,
}

/// The elements of an operand for the entries of a result.
struct MatchedElements<'a, T: Clone> {
    values: Cow<'a, [T]>,
    broadcast_match: Option<BroadcastMatch<'a>>,
}

impl<'a, T: Element> MatchedElements<'a, T> {
    fn new(tensor: SparseRef<'a, T>, origin: &Origin, pattern: &'a AnyPattern) -> Result<Self> {
        let values = match origin {
            Origin::Own => Cow::Borrowed(tensor.values()),
            Origin::List(list) => Cow::Owned(sort::gather(tensor.values(), list)?),
            Origin::Repeated => {
                let values = with_fill_last(tensor)?;
                return Ok(MatchedElements {
                    values,
                    broadcast_match: Some(BroadcastMatch::new(tensor.pattern(), pattern)?),
                });
            }
        };
        Ok(MatchedElements { values, broadcast_match: None })
    }

    fn number(&self, start: usize, numbers: &mut [usize]) {
        if let Some(broadcast_match) = &self.broadcast_match {
            broadcast_match.number(start, numbers);
        }
    }

    fn side<'b>(&'b self, number: &'b (dyn Fn(usize, &mut [usize]) + Sync)) -> ZipOperand<'b, T> {
        match self.broadcast_match {
            Some(_) => ZipOperand::Numbered(&self.values, number),
            None => ZipOperand::Values(Cow::Borrowed(&self.values)),
        }
    }
}

/// Returns the values, followed by the fill if a position is not stored.
fn with_fill_last<T: Element>(tensor: SparseRef<'_, T>) -> Allocated<Cow<'_, [T]>> {
    if is_full(tensor.pattern()) {
        return Ok(Cow::Borrowed(tensor.values()));
    }
    let mut values = alloc::with_capacity(tensor.nnz() + 1)?;
    values.extend_from_slice(tensor.values());
    values.push(tensor.fill());
    Ok(Cow::Owned(values))
}

/// Returns the elements of a repeated tensor for the entries of a pattern.
pub(super) fn elements_at<T: Element>(tensor: SparseRef<'_, T>, pattern: &AnyPattern) -> Result<Vec<T>> {
    let elements = MatchedElements::new(tensor, &Origin::Repeated, pattern)?;
    Ok(threads::filled(pattern.nnz(), 2000, |range, slots: &mut [T]| {
        let mut numbers = [0; BLOCK];
        for (slots, start) in slots.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
            let numbers = &mut numbers[..slots.len()];
            elements.number(start, numbers);
            slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = elements.values[*number]);
        }
    })?)
}

/// Returns the only element of a tensor, if it is stored and is repeated. The `lengths` and the shape that they are
/// broadcast to are those of the whole operand.
pub(super) fn as_number<T: Element>(tensor: SparseRef<'_, T>, lengths: &[usize], whole: &Shape) -> Option<T> {
    let is_single = lengths.iter().all(|&length| length == 1) && is_repeated(lengths, whole);
    tensor.values().first().copied().filter(|_| is_single)
}

impl<'a> BroadcastPatterns<'a> {
    fn is_left_repeated(&self) -> bool {
        is_repeated(self.wholes.left, &self.wholes.shape)
    }

    fn is_right_repeated(&self) -> bool {
        is_repeated(self.wholes.right, &self.wholes.shape)
    }

    /// Returns for each operand whether it is repeated and stores every position, so that its fill appears nowhere. If
    /// both are repeated, their fills count as they do in equal shapes.
    fn are_full(&self) -> [bool; 2] {
        match (self.is_left_repeated(), self.is_right_repeated()) {
            (true, false) => [is_whole_full(self.x), false],
            (false, true) => [false, is_whole_full(self.y)],
            _ => [false, false],
        }
    }

    /// Returns the pattern of a result without positions.
    fn nowhere(&self) -> Result<AnyPattern> {
        repeated(self.x, self.shape, self.limit())
    }

    /// Plans the entries of the operands that are kept, or the entries that both have if none is kept. If both are
    /// kept, one of them stores every position.
    fn plan(&self, keep: [bool; 2], value_bytes: usize) -> Result<ZipPlan> {
        match keep {
            [true, is_right_kept] if !is_right_kept || is_full(self.x) => self.one_side(LEFT, value_bytes),
            [_, true] => self.one_side(RIGHT, value_bytes),
            [_, false] => self.intersection(value_bytes),
        }
    }

    /// Plans the entries of one operand, repeated if necessary.
    fn one_side(&self, side: u8, value_bytes: usize) -> Result<ZipPlan> {
        let (own, _) = self.sides(side);
        self.admit(repeated_count(own, self.shape), value_bytes)?;
        let pattern = repeated(own, self.shape, self.limit())?;
        let origin = if has_other_lengths(own.shape(), self.shape) { Origin::Repeated } else { Origin::Own };
        Ok(ZipPlan::of(pattern, side, origin, Origin::Repeated))
    }

    /// Returns the positions at which either operand has an entry, and their number.
    fn united(&self, value_bytes: usize) -> Result<(BroadcastUnion<'_>, usize)> {
        // The counting walk visits at most twice this number of positions.
        self.admit(repeated_count(self.x, self.shape).max(repeated_count(self.y, self.shape)), value_bytes)?;
        let united = BroadcastUnion::new(self.x, self.y, self.shape)?;
        let count = united.count()?;
        self.admit(count, value_bytes)?;
        Ok((united, count as usize))
    }

    /// Plans the entries that both operands have.
    fn intersection(&self, value_bytes: usize) -> Result<ZipPlan> {
        let side = match (self.is_left_repeated(), self.is_right_repeated()) {
            (true, true) => {
                let admit = |count| self.admit(count, value_bytes);
                let CommonEntries { pattern, left, right } = CommonEntries::new(self.x, self.y, self.shape, &admit)?;
                let [left, right] = [left, right].map(|list| Origin::List(Arc::new(list)));
                return Ok(ZipPlan { pattern, left, right });
            }
            (true, false) => RIGHT,
            (false, _) => LEFT,
        };
        let (own, small) = self.sides(side);
        let own = repeated(own, self.shape, self.limit())?;
        let kept = BroadcastMatch::new(small, &own)?.matched()?;
        let origin = kept.entries.map_or(Origin::Own, Origin::List);
        Ok(ZipPlan::of(kept.pattern, side, origin, Origin::Repeated))
    }

    /// Returns the pattern at a side, and the other pattern.
    fn sides(&self, side: u8) -> (&'a AnyPattern, &'a AnyPattern) {
        if side == LEFT { (self.x, self.y) } else { (self.y, self.x) }
    }

    /// Returns the byte limit of a result, including the offsets of its lanes.
    fn limit(&self) -> u64 {
        default_limit(self.held_bytes)
    }

    /// Rejects a result of `count` entries if it is out of proportion to the operands.
    fn admit(&self, count: u128, value_bytes: usize) -> Result<()> {
        let limit = self.limit();
        let width = self.x.width().max(self.y.width());
        let each = self.shape.rank() * width.bytes() + value_bytes;
        let bytes = count.saturating_mul(each as u128);
        if bytes <= u128::from(limit) {
            return Ok(());
        }
        let instead = match self.is_left_repeated() && self.is_right_repeated() {
            true => {
                "the result has the positions of both operands; combine each operand with a tensor of that shape \
                 instead"
            }
            false => {
                "use x.stored() to store only the entries of x, or x.scale(axis, &vector) to multiply along an axis"
            }
        };
        Err(Error::TooLarge { what: "the entries of the result", bytes, limit, instead })
    }
}

impl<'a, A: Element, B: Element> Broadcast<'a, A, B> {
    /// Returns `None` if neither operand is repeated.
    pub(super) fn new(x: SparseRef<'a, A>, y: SparseRef<'a, B>, shape: &'a Shape) -> Option<Self> {
        let wholes =
            WholeShapes::of([whole_lengths(x.pattern()), whole_lengths(y.pattern())], [x.shape(), y.shape()], shape);
        let held_bytes = x.stored_bytes().saturating_add(y.stored_bytes());
        let patterns = BroadcastPatterns { x: x.pattern(), y: y.pattern(), shape, wholes, held_bytes };
        (patterns.is_left_repeated() || patterns.is_right_repeated()).then_some(Broadcast { x, y, patterns })
    }

    /// Combines all elements of two tensors, or of two stored views.
    pub(super) fn zip<Z: Zip<A, B>>(&self, counts_unstored: bool, op: Z) -> Result<Erased<Z::Out>> {
        let BroadcastPatterns { shape, wholes, .. } = &self.patterns;
        if let Some(number) = as_number(self.y, wholes.right, &wholes.shape) {
            let wide = in_shape(self.x, shape)?;
            let x = wide.sparse();
            let unstored_result = counts_unstored.then(|| op.apply(x.fill(), number));
            let own = own_fill(x.fill());
            return on_pattern(
                op,
                x.pattern(),
                &ZipOperand::Values(x.values().into()),
                &ZipOperand::One(number),
                unstored_result,
                own,
            );
        }
        if let Some(number) = as_number(self.x, wholes.left, &wholes.shape) {
            let wide = in_shape(self.y, shape)?;
            let y = wide.sparse();
            let unstored_result = counts_unstored.then(|| op.apply(number, y.fill()));
            let own = own_fill(y.fill());
            return on_pattern(
                op,
                y.pattern(),
                &ZipOperand::One(number),
                &ZipOperand::Values(y.values().into()),
                unstored_result,
                own,
            );
        }
        if counts_unstored { self.whole(op) } else { self.stored(op) }
    }

    /// Computes the result of two tensors.
    fn whole<Z: Zip<A, B>>(&self, op: Z) -> Result<Erased<Z::Out>> {
        let (x, y, [is_x_full, is_y_full]) = (self.x, self.y, self.patterns.are_full());
        let of_right = match is_x_full {
            true => FillEffect::Counts,
            false => op.left_fill_effect(x.fill(), (!is_y_full).then(|| y.fill())),
        };
        let of_left = match is_y_full {
            true => FillEffect::Counts,
            false => op.right_fill_effect((!is_x_full).then(|| x.fill()), y.fill()),
        };
        let fill = self.fill(op, [of_left, of_right], [is_x_full, is_y_full]);
        if let Ok(expected) = fill {
            self.check_left_out(op, [of_left, of_right], expected.as_implicit())?;
        }
        if self.patterns.shape.wide_size() == 0 {
            let pattern = self.patterns.nowhere()?;
            let fill = fill_of(op, fill, &pattern)?;
            return Ok(Tensor::from_valid(pattern, Vec::new(), fill));
        }
        let plan = match [of_left, of_right].map(|rule| rule == FillEffect::Counts) {
            [true, true] if !is_full(x.pattern()) && !is_full(y.pattern()) => {
                let lists = Filled { left: (x.values(), x.fill()), right: (y.values(), y.fill()) };
                let (pattern, values) = self.united(|numbers, results| zip_numbers(op, &lists, numbers, results))?;
                let fill = fill_of(op, fill, &pattern)?;
                let values = values.map_err(|failed| at_entry(op.name(), failed, &pattern))?;
                return Ok(Tensor::from_valid(pattern, values, fill));
            }
            keep => self.patterns.plan(keep, size_of::<Z::Out>())?,
        };
        let fill = fill_of(op, fill, &plan.pattern)?;
        let values = self.values(op, &plan)?.map_err(|failed| at_entry(op.name(), failed, &plan.pattern))?;
        Ok(Tensor::from_valid(plan.pattern, values, fill))
    }

    /// Computes the value of unstored positions. If an operand stores every position, its elements replace its fill.
    /// The fill of the other operand then absorbs all elements that are skipped.
    fn fill<Z: Zip<A, B>>(
        &self,
        op: Z,
        [of_left, of_right]: [FillEffect; 2],
        [x_full, y_full]: [bool; 2],
    ) -> Outcome<Z::Out> {
        let (x, y) = (self.x, self.y);
        match (of_left, of_right) {
            (_, FillEffect::AnnihilatedIfFinite) if y_full => Ok(Z::Out::ZERO),
            (FillEffect::AnnihilatedIfFinite, _) if x_full => Ok(Z::Out::ZERO),
            (_, FillEffect::Annihilated) if y_full => {
                op.apply(x.fill(), y.values().first().copied().unwrap_or(y.fill()))
            }
            (FillEffect::Annihilated, _) if x_full => {
                op.apply(x.values().first().copied().unwrap_or(x.fill()), y.fill())
            }
            _ => op.apply(x.fill(), y.fill()),
        }
    }

    /// Rejects a skipped entry whose result with the fill of the other operand differs from the fill of the result.
    fn check_left_out<Z: Zip<A, B>>(
        &self,
        op: Z,
        [of_left, of_right]: [FillEffect; 2],
        expected: Z::Out,
    ) -> Result<()> {
        let (x, y) = (self.x, self.y);
        let gives_fill = |outcome: Outcome<Z::Out>| outcome.is_ok_and(|found| found.as_implicit().same(expected));
        let left = match of_left {
            FillEffect::AnnihilatedIfFinite => {
                let is_wrong = |&value: &A| !gives_fill(op.apply(value, y.fill()));
                self.first_alone((x, self.patterns.is_left_repeated()), y.pattern(), is_wrong)
            }
            _ => None,
        };
        let right = match of_right {
            FillEffect::AnnihilatedIfFinite => {
                let is_wrong = |&value: &B| !gives_fill(op.apply(x.fill(), value));
                self.first_alone((y, self.patterns.is_right_repeated()), x.pattern(), is_wrong)
            }
            _ => None,
        };
        let (coords, a, b, is_left_stored) = match (left, right) {
            (None, None) => return Ok(()),
            (Some((coords, entry)), other) if other.as_ref().is_none_or(|(at, _)| coords < *at) => {
                (coords, x.values()[entry], y.fill(), true)
            }
            (_, Some((coords, entry))) => (coords, x.fill(), y.values()[entry], false),
            (Some((coords, entry)), None) => (coords, x.values()[entry], y.fill(), true),
        };
        Err(match op.apply(a, b) {
            Err(fault) => rejection(op.name(), fault, Some(coords)),
            Ok(_) => {
                let (left, right) = if is_left_stored { (text(a), unstored(b)) } else { (unstored(a), text(b)) };
                Error::NonFinite { operation: op.name(), left, right, coords }
            }
        })
    }

    /// Returns the first position of the result at which this operand has an entry with `is_wrong` and the other
    /// operand does not have an entry. Also returns the index of the entry.
    fn first_alone<T: Element>(
        &self,
        (tensor, is_repeated): (SparseRef<'_, T>, bool),
        other: &AnyPattern,
        is_wrong: impl Fn(&T) -> bool,
    ) -> Option<(Vec<usize>, usize)> {
        if !is_repeated && all_finite(tensor.values()) {
            return None;
        }
        let wrong = tensor.values().iter().enumerate().filter(|(_, value)| is_wrong(value));
        let unpaired = |(entry, _)| {
            first_unstored(tensor.pattern(), entry, other, self.patterns.shape).map(|coords| (coords, entry))
        };
        wrong.filter_map(unpaired).min()
    }

    /// Returns the positions at which either operand has an entry, and the results there. `append` appends the results
    /// of the entries with the given indices.
    fn united<U: Element>(
        &self,
        mut append: impl FnMut((&[usize], &[usize]), &mut Vec<U>) -> std::result::Result<(), FailedElement>,
    ) -> Result<(AnyPattern, std::result::Result<Vec<U>, FailedElement>)> {
        let (united, count) = self.patterns.united(size_of::<U>())?;
        let (mut values, mut outcome) = (alloc::with_capacity(count)?, Ok(()));
        let pattern = united.pattern(count, self.patterns.limit(), &mut |left, right| {
            if outcome.is_ok() {
                outcome = append((left, right), &mut values);
            }
        })?;
        Ok((pattern, outcome.map(|()| values)))
    }

    /// Computes the results at the entries of a plan.
    fn values<Z: Zip<A, B>>(&self, op: Z, plan: &ZipPlan) -> Result<std::result::Result<Vec<Z::Out>, FailedElement>> {
        let left = MatchedElements::new(self.x, &plan.left, &plan.pattern)?;
        let right = MatchedElements::new(self.y, &plan.right, &plan.pattern)?;
        let of_left = |start: usize, numbers: &mut [usize]| left.number(start, numbers);
        let of_right = |start: usize, numbers: &mut [usize]| right.number(start, numbers);
        Ok(zip_sides(op, &left.side(&of_left), &right.side(&of_right), plan.pattern.nnz()))
    }

    /// Computes the result of two stored views.
    fn stored<Z: Zip<A, B>>(&self, op: Z) -> Result<Erased<Z::Out>> {
        let (own_left, own_right) = (own_fill(self.x.fill()), own_fill(self.y.fill()));
        let fill = match (self.patterns.is_left_repeated(), self.patterns.is_right_repeated()) {
            (true, true) => one_of_fills(op, self.x.fill(), self.y.fill())?,
            (true, false) => own_right.unwrap_or(Z::Out::ZERO),
            (false, _) => own_left.unwrap_or(Z::Out::ZERO),
        };
        if self.patterns.shape.wide_size() == 0 {
            return Ok(Tensor::from_valid(self.patterns.nowhere()?, Vec::new(), fill));
        }
        let plan = match (op.counts_unpaired(), self.patterns.is_left_repeated(), self.patterns.is_right_repeated()) {
            (false, ..) => self.patterns.intersection(size_of::<Z::Out>())?,
            (true, true, true) => {
                let lists = (self.x.values(), self.y.values());
                let (pattern, values) =
                    self.united(|numbers, results| zip_numbers_united(op, lists, numbers, results))?;
                let values = values.map_err(|failed| at_entry(op.name(), failed, &pattern))?;
                return Ok(Tensor::from_valid(pattern, values, fill));
            }
            (true, false, _) if !is_full(self.y.pattern()) => return self.moved(LEFT, op, fill),
            (true, true, false) if !is_full(self.x.pattern()) => return self.moved(RIGHT, op, fill),
            (true, false, _) => self.patterns.one_side(LEFT, size_of::<Z::Out>())?,
            (true, true, false) => self.patterns.one_side(RIGHT, size_of::<Z::Out>())?,
        };
        let values = self.values(op, &plan)?.map_err(|failed| at_entry(op.name(), failed, &plan.pattern))?;
        Ok(Tensor::from_valid(plan.pattern, values, fill))
    }

    /// Computes the results at the entries of one side; the result of an entry without a partner is [`Zip::unpaired`].
    fn moved<Z: Zip<A, B>>(&self, side: u8, op: Z, fill: Z::Out) -> Result<Erased<Z::Out>> {
        let (own, small) = self.patterns.sides(side);
        let pattern = repeated(own, self.patterns.shape, self.patterns.limit())?;
        let broadcast_match = BroadcastMatch::new(small, &pattern)?;
        let find = |start: usize, numbers: &mut [usize]| broadcast_match.number(start, numbers);
        let lists = (self.x.values(), self.y.values());
        let values = zip_found(op, pattern.nnz(), &find, lists, side == LEFT);
        let values = values.map_err(|failed| at_entry(op.name(), failed, &pattern))?;
        Ok(Tensor::from_valid(pattern, values, fill))
    }
}

impl ZipPlan {
    /// Returns a plan from the origin of the operand at a side, and the origin of the other operand.
    fn of(pattern: AnyPattern, side: u8, own: Origin, other: Origin) -> Self {
        match side {
            LEFT => ZipPlan { pattern, left: own, right: other },
            _ => ZipPlan { pattern, left: other, right: own },
        }
    }
}

/// Returns a pattern repeated to a shape that it broadcasts to, in its own format.
fn repeated(pattern: &AnyPattern, shape: &Shape, limit: u64) -> Result<AnyPattern> {
    formatted(&select::repeated(pattern, shape, limit)?, pattern.format(), limit)
}
