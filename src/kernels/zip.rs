//! Binary elementwise operations: one function of two elements, at every position of two operands.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::base::alloc::AllocError;
use crate::base::machine::in_wide_vectors;
use crate::base::recycle;
use crate::base::threads;
use crate::element::{DType, Element};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::steps::{BLOCK, Filled, LEFT, MergePart, MergeSteps, RIGHT};

/// The effect of a fill on stored entries of the other operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillEffect {
    /// The result stores a value at the position of the entry.
    Counts,
    /// The result is the same for every element, so it is not stored at the position of the entry.
    Annihilated,
    /// The result is zero, of either sign, for every element except invalid elements. Invalid elements are elements of
    /// a product that are not finite, and divisors that are zero or NaN.
    AnnihilatedIfFinite,
}

impl FillEffect {
    /// Returns `Annihilated` if the fill makes all results the same, and `Counts` otherwise.
    pub(crate) fn annihilated_if(is_same: bool) -> Self {
        if is_same { FillEffect::Annihilated } else { FillEffect::Counts }
    }
}

/// A function of two elements, as a pointer.
pub(crate) type PairFunction<A, B, U> = fn(A, B) -> Outcome<U>;

/// A function of a left and a right element.
pub trait Zip<A: Element, B: Element>: Op {
    /// The type of the results.
    type Out: Element;

    /// Returns whether an entry without a partner contributes to the result of stored views;
    /// [`unpaired`](Zip::unpaired) returns its result.
    fn counts_unpaired(&self) -> bool {
        false
    }

    /// Returns the result of two elements; a NaN in the result is the canonical NaN.
    fn apply(&self, a: A, b: B) -> Outcome<Self::Out>;

    /// Returns the effect of the left `fill` on the entries of the right operand.
    ///
    /// `other` is the fill of the right operand, `None` if every position is stored.
    fn left_fill_effect(&self, _fill: A, _other: Option<B>) -> FillEffect {
        FillEffect::Counts
    }

    /// Returns the effect of the right `fill` on the entries of the left operand.
    fn right_fill_effect(&self, _other: Option<A>, _fill: B) -> FillEffect {
        FillEffect::Counts
    }

    /// Returns the result of a stored entry without a partner. The method is called only if
    /// [`counts_unpaired`](Zip::counts_unpaired) is true.
    fn unpaired(&self, _entry: UnpairedEntry<A, B>) -> Outcome<Self::Out> {
        Ok(Self::Out::ZERO)
    }

    /// Returns the function for elements of a float type that is narrower than the operands, if the function differs
    /// from [`apply`](Zip::apply).
    fn in_narrow_floats(&self, _dtype: DType) -> Option<PairFunction<A, B, Self::Out>> {
        None
    }

    /// Returns the integer that absorbs all elements of an integer type, given the smallest and the largest integer of
    /// the type. If the operation runs in a wider type, the type does not determine this integer.
    fn absorbing(&self, _bounds: (i128, i128)) -> Option<i128> {
        None
    }
}

/// An entry without a partner.
#[derive(Debug, Clone, Copy)]
pub enum UnpairedEntry<A, B> {
    /// An entry of the left operand.
    Left(A),
    /// An entry of the right operand.
    Right(B),
}

/// The operation with exchanged operands.
#[derive(Clone, Copy)]
pub(crate) struct Swapped<Z>(pub(crate) Z);

impl<Z: Op> Op for Swapped<Z> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl<A: Element, B: Element, Z: Zip<A, B>> Zip<B, A> for Swapped<Z> {
    type Out = Z::Out;

    fn counts_unpaired(&self) -> bool {
        self.0.counts_unpaired()
    }

    #[inline(always)]
    fn apply(&self, b: B, a: A) -> Outcome<Z::Out> {
        self.0.apply(a, b)
    }

    fn left_fill_effect(&self, fill: B, other: Option<A>) -> FillEffect {
        self.0.right_fill_effect(other, fill)
    }

    fn right_fill_effect(&self, other: Option<B>, fill: A) -> FillEffect {
        self.0.left_fill_effect(fill, other)
    }

    fn unpaired(&self, entry: UnpairedEntry<B, A>) -> Outcome<Z::Out> {
        self.0.unpaired(match entry {
            UnpairedEntry::Left(b) => UnpairedEntry::Right(b),
            UnpairedEntry::Right(a) => UnpairedEntry::Left(a),
        })
    }
}

/// The operation on operands of one type, with exchanged operands if `is_swapped` is true.
#[derive(Clone, Copy)]
pub(crate) struct MaybeSwapped<Z> {
    pub(crate) op: Z,
    pub(crate) is_swapped: bool,
}

impl<Z: Op> Op for MaybeSwapped<Z> {
    fn name(&self) -> &'static str {
        self.op.name()
    }
}

impl<T: Element, Z: Zip<T, T>> Zip<T, T> for MaybeSwapped<Z> {
    type Out = Z::Out;

    fn counts_unpaired(&self) -> bool {
        self.op.counts_unpaired()
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<Z::Out> {
        if self.is_swapped { self.op.apply(b, a) } else { self.op.apply(a, b) }
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        if self.is_swapped { self.op.right_fill_effect(other, fill) } else { self.op.left_fill_effect(fill, other) }
    }

    fn right_fill_effect(&self, other: Option<T>, fill: T) -> FillEffect {
        if self.is_swapped { self.op.left_fill_effect(fill, other) } else { self.op.right_fill_effect(other, fill) }
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<Z::Out> {
        if self.is_swapped { Swapped(self.op).unpaired(entry) } else { self.op.unpaired(entry) }
    }
}

/// An element without a result, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FailedElement {
    /// The index of the element in the result.
    pub(crate) at: usize,
    pub(crate) fault: GroupError,
}

impl From<AllocError> for FailedElement {
    fn from(rejection: AllocError) -> Self {
        FailedElement { at: 0, fault: rejection.into() }
    }
}

/// One operand of a binary operation.
pub(crate) enum ZipOperand<'a, T: Clone> {
    /// One element per result.
    Values(Cow<'a, [T]>),
    /// One element for all results.
    One(T),
    /// The elements, and a function that writes the element index of each result from an index on.
    Numbered(&'a [T], &'a (dyn Fn(usize, &mut [usize]) + Sync)),
}

impl<T: Element> ZipOperand<'_, T> {
    /// Returns `count` elements from `start` on, using `block` as a buffer that belongs to this operand.
    fn block<'b>(&'b self, start: usize, count: usize, block: &'b mut Option<[T; BLOCK]>) -> &'b [T] {
        match self {
            ZipOperand::Values(values) => &values[start..start + count],
            // The buffer is filled only once, because all blocks are equal.
            ZipOperand::One(value) => &block.get_or_insert_with(|| [*value; BLOCK])[..count],
            ZipOperand::Numbered(values, number) => {
                let block = block.get_or_insert_with(|| [T::ZERO; BLOCK]);
                let mut numbers = [0; BLOCK];
                number(start, &mut numbers[..count]);
                block.iter_mut().zip(&numbers[..count]).for_each(|(slot, &number)| *slot = values[number]);
                &block[..count]
            }
        }
    }
}

/// A function that computes a block of results, compiled once per pair of types; the error is its first failure.
type Block<'a, A, B, U> = &'a (dyn Fn(&[A], &[B], &mut [U]) -> Result<(), FailedElement> + Sync);

/// Writes the results of pairs of elements: a plain loop, compiled per operation and type.
///
/// All other code is compiled only per type.
fn block<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    a: &[A],
    b: &[B],
    results: &mut [Z::Out],
) -> Result<(), FailedElement> {
    let failed = in_wide_vectors(
        #[inline(always)]
        || {
            let (op, mut failed) = (op, false);
            // `for_each` may become a separate function without SIMD, so this is a `for` loop. A failure does not stop
            // the loop, because stopping would need a branch. The value that is written for a failure is not used.
            for ((result, &a), &b) in results.iter_mut().zip(a).zip(b) {
                let outcome = op.apply(a, b);
                failed |= outcome.is_err();
                *result = outcome.unwrap_or(Z::Out::ZERO);
            }
            failed
        },
    );
    if !failed {
        return Ok(());
    }
    // The index of the first failure is searched only if there is a failure.
    let fault = |(at, (&a, &b))| op.apply(a, b).err().map(|fault| FailedElement { at, fault });
    a.iter().zip(b).enumerate().find_map(fault).map_or(Ok(()), Err)
}

/// Returns the results of `count` pairs.
pub(crate) fn zip_sides<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    a: &ZipOperand<'_, A>,
    b: &ZipOperand<'_, B>,
    count: usize,
) -> Result<Vec<Z::Out>, FailedElement> {
    blocks_of_sides(a, b, count, &|a, b, results| block(op, a, b, results))
}

fn blocks_of_sides<A: Element, B: Element, U: Element>(
    a: &ZipOperand<'_, A>,
    b: &ZipOperand<'_, B>,
    count: usize,
    block: Block<'_, A, B, U>,
) -> Result<Vec<U>, FailedElement> {
    let first = AtomicUsize::new(usize::MAX);
    let mut results = recycle::items(count)?;
    threads::fill_parts(&mut results, 700, |range, results: &mut [U]| {
        let (mut of_a, mut of_b) = (None, None);
        for (results, start) in results.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
            let (a, b) = (a.block(start, results.len(), &mut of_a), b.block(start, results.len(), &mut of_b));
            if let Err(failed) = block(a, b, results) {
                // Each part stops at its first failure, so the minimum over all parts is the first failure of the
                // result.
                first.fetch_min(start + failed.at, Relaxed);
                return;
            }
        }
    });
    match first.into_inner() {
        usize::MAX => Ok(results),
        // The pair is computed again to find the reason of the failure.
        at => {
            let (mut of_a, mut of_b) = (None, None);
            block(a.block(at, 1, &mut of_a), b.block(at, 1, &mut of_b), &mut [U::ZERO])
                .map_err(|failed| FailedElement { at, ..failed })
                .map(|()| results)
        }
    }
}

/// Returns the results at the kept steps.
pub(crate) fn zip_steps<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    steps: &MergeSteps,
    lists: &Filled<'_, A, B>,
) -> Result<Vec<Z::Out>, FailedElement> {
    blocks_of_steps(steps, lists, &|a, b, results| block(op, a, b, results))
}

fn blocks_of_steps<A: Element, B: Element, U: Element>(
    steps: &MergeSteps,
    lists: &Filled<'_, A, B>,
    block: Block<'_, A, B, U>,
) -> Result<Vec<U>, FailedElement> {
    let ((left, a), (right, b)) = (lists.left, lists.right);
    steps.fill(|part: &MergePart, start, results: &mut [U]| {
        let (mut of_a, mut of_b) = ([A::ZERO; BLOCK], [B::ZERO; BLOCK]);
        let mut lists = Filled { left: (&left[part.left.clone()], a), right: (&right[part.right.clone()], b) };
        let mut done = 0;
        // Invariant: `done` results of this part are written, and `lists` starts at the first entry not yet read.
        for steps_of_block in part.steps.chunks(BLOCK) {
            let count = lists.expand(steps_of_block, steps.keep, &mut of_a, &mut of_b);
            block(&of_a[..count], &of_b[..count], &mut results[done..done + count])
                .map_err(|failed| FailedElement { at: start + done + failed.at, ..failed })?;
            done += count;
        }
        Ok(())
    })
}

/// Appends the results of the elements at the given indices; the fill replaces elements at indices out of range.
pub(crate) fn zip_numbers<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    lists: &Filled<'_, A, B>,
    (left, right): (&[usize], &[usize]),
    results: &mut Vec<Z::Out>,
) -> Result<(), FailedElement> {
    let (mut of_a, mut of_b) = ([A::ZERO; BLOCK], [B::ZERO; BLOCK]);
    // The caller passes at most `BLOCK` indices.
    let (start, count) = (results.len(), left.len());
    let ((a, fill_a), (b, fill_b)) = (lists.left, lists.right);
    of_a.iter_mut().zip(left).for_each(|(slot, &number)| *slot = a.get(number).copied().unwrap_or(fill_a));
    of_b.iter_mut().zip(right).for_each(|(slot, &number)| *slot = b.get(number).copied().unwrap_or(fill_b));
    results.resize(start + count, Z::Out::ZERO);
    block(op, &of_a[..count], &of_b[..count], &mut results[start..])
        .map_err(|failed| FailedElement { at: start + failed.at, ..failed })
}

/// Appends the results of stored entries at the given indices: of a pair, or of one entry without a partner.
pub(crate) fn zip_numbers_united<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    (a, b): (&[A], &[B]),
    (left, right): (&[usize], &[usize]),
    results: &mut Vec<Z::Out>,
) -> Result<(), FailedElement> {
    for (&left, &right) in left.iter().zip(right) {
        let outcome = united(op, a.get(left), b.get(right));
        results.push(outcome.map_err(|fault| FailedElement { at: results.len(), fault })?);
    }
    Ok(())
}

/// Returns the results of `count` stored entries of one operand, each with its partner in the other operand, if any.
///
/// `find` writes the index of the partner; an index out of range means that the entry does not have a partner.
pub(crate) fn zip_found<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    count: usize,
    find: &(dyn Fn(usize, &mut [usize]) + Sync),
    (a, b): (&[A], &[B]),
    is_left: bool,
) -> Result<Vec<Z::Out>, FailedElement> {
    let result = |entry: usize, number: usize| match is_left {
        true => united(op, a.get(entry), b.get(number)),
        false => united(op, a.get(number), b.get(entry)),
    };
    let first = AtomicUsize::new(usize::MAX);
    let mut results = recycle::items(count)?;
    threads::fill_parts(&mut results, 2000, |range, results: &mut [Z::Out]| {
        let mut numbers = [0; BLOCK];
        for (results, start) in results.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
            let numbers = &mut numbers[..results.len()];
            find(start, numbers);
            for (further, (slot, &number)) in results.iter_mut().zip(&*numbers).enumerate() {
                let Ok(found) = result(start + further, number) else {
                    // The minimum over all parts is the first failure, for any number of parts.
                    first.fetch_min(start + further, Relaxed);
                    return;
                };
                *slot = found;
            }
        }
    });
    match first.into_inner() {
        usize::MAX => Ok(results),
        // The pair is computed again to find the reason of the failure.
        at => {
            let mut number = [0];
            find(at, &mut number);
            result(at, number[0]).map_err(|fault| FailedElement { at, fault }).map(|_| results)
        }
    }
}

/// Returns the result of a pair of stored entries, or of one entry without a partner.
fn united<A: Element, B: Element, Z: Zip<A, B>>(op: Z, a: Option<&A>, b: Option<&B>) -> Outcome<Z::Out> {
    match (a, b) {
        (Some(&a), Some(&b)) => op.apply(a, b),
        (Some(&a), None) => op.unpaired(UnpairedEntry::Left(a)),
        (None, Some(&b)) => op.unpaired(UnpairedEntry::Right(b)),
        (None, None) => Ok(Z::Out::ZERO),
    }
}

/// Returns the results of stored entries of both operands: of pairs, and of entries without a partner.
pub(crate) fn zip_united<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    steps: &MergeSteps,
    a: &[A],
    b: &[B],
) -> Result<Vec<Z::Out>, FailedElement> {
    steps.fill(|part: &MergePart, start, results: &mut [Z::Out]| {
        let (mut a, mut b) = (a[part.left.clone()].iter(), b[part.right.clone()].iter());
        // Every step has a result, because union operations keep all steps.
        for (at, (result, &step)) in results.iter_mut().zip(&part.steps).enumerate() {
            let a = if step & LEFT != 0 { a.next() } else { None };
            let b = if step & RIGHT != 0 { b.next() } else { None };
            *result = united(op, a, b).map_err(|fault| FailedElement { at: start + at, fault })?;
        }
        Ok(())
    })
}

/// Returns whether all values are finite.
pub(crate) fn all_finite<T: Element>(values: &[T]) -> bool {
    let is_finite = |values: &[T]| {
        in_wide_vectors(
            #[inline(always)]
            || {
                // The loop does not branch, so it can use SIMD; chunks allow an early exit.
                let mut all = true;
                for value in values {
                    all &= value.isfinite();
                }
                all
            },
        )
    };
    !threads::any_chunk(values, 300, |chunk| !chunk.chunks(BLOCK).all(is_finite))
}
