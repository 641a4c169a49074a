//! Reductions of values that come in pieces: each is reduced while it is in the cache, and then gone.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::fold::{Fold, gaps_state, share_runs};
use crate::kernels::group::Gaps;
use crate::kernels::holistic::{Group, Holistic, reduce_runs};
use crate::kernels::op::{Outcomes, Refused};

/// So many values are a piece, at most.
pub(crate) const PIECE: usize = 1 << 13;

/// Longer groups are not gathered, where all values of a group are needed at once.
const LONGEST: usize = 1 << 16;

/// Values that are computed when somebody takes them.
pub(crate) trait Source<T>: Sync {
    /// Hands over those of a range in order: in one piece, if it is no longer than [`PIECE`]. False where some have
    /// none.
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool;

    /// Whether neither their order nor their number is known. Then any range means all of them, which come in pieces of
    /// any length, and again whenever they are asked for.
    fn is_poured(&self) -> bool {
        false
    }

    /// Hands over all values, in pieces of any length, and with each the number of the cell that it falls into, among
    /// those of these axes of these lengths. False where some have none.
    fn feed_cells(&self, _axes: &[usize], _lengths: &[usize], _take: &mut CellsAndValues<'_, T>) -> Allocated<bool> {
        Ok(false)
    }

    /// The bytes that what is known of all cells may take.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// What it takes to compute one.
    fn picoseconds(&self) -> usize;
}

/// Takes values in, and with each the number of its cell.
pub(crate) type CellsAndValues<'a, T> = dyn FnMut(&[usize], &[T]) + 'a;

/// Hands over all values of one group in pieces, each time anew. False where some have none.
pub(crate) type Pass<'a, T> = dyn Fn(&mut dyn FnMut(&[T])) -> bool + 'a;

/// Cuts groups that stand side by side, none of which is empty, into runs of them that are a piece together, or one
/// group that is longer.
fn blocks(offsets: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut first = 0;
    std::iter::from_fn(move || {
        let start = *offsets[..offsets.len() - 1].get(first)?;
        let near = &offsets[first + 1..offsets.len().min(first + 1 + PIECE)];
        let groups = near.partition_point(|&end| end - start <= PIECE).max(1);
        first += groups;
        Some(first - groups..first)
    })
}

/// What groups that stand side by side give, block by block; none where a value is missing. `reduce` is given where the
/// groups of a block start and end, and places for their results, and tells whether there were all values.
fn by_blocks<U: Send>(
    offsets: &[usize],
    mut results: Vec<U>,
    reduce: impl Fn(&[usize], &mut [U]) -> Outcomes<bool> + Sync,
) -> Outcomes<Option<Vec<U>>> {
    let is_fed = AtomicBool::new(true);
    share_runs(offsets, &mut results, &|offsets, results| {
        for groups in blocks(offsets).take_while(|_| is_fed.load(Ordering::Relaxed)) {
            let of_block = reduce(&offsets[groups.start..=groups.end], &mut results[groups.clone()]);
            let shifted = |refusal: Refused| Refused { group: groups.start + refusal.group, ..refusal };
            is_fed.fetch_and(of_block.map_err(shifted)?, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(is_fed.into_inner().then_some(results))
}

/// The same offsets within the values of a block.
fn within(offsets: &[usize]) -> Vec<usize> {
    offsets.iter().map(|offset| offset - offsets[0]).collect()
}

/// The results of groups that stand side by side, none of which is empty; none where a value is missing.
pub(crate) fn fold_fed<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    source: &dyn Source<T>,
    gaps: &Gaps<T>,
) -> Outcomes<Option<Vec<F::Out>>> {
    by_blocks(offsets, alloc::zeros(offsets.len() - 1)?, |offsets, results| {
        let entries = offsets[0]..offsets[offsets.len() - 1];
        if let ([result], true) = (&mut *results, entries.len() > PIECE) {
            let found = fold_long(op, entries, source, gaps)?;
            *result = found.unwrap_or(*result);
            return Ok(found.is_some());
        }
        let (starts, mut done) = (within(offsets), Ok(()));
        let is_fed = source.feed(entries, &mut |values| done = op.lanes(&starts, values, gaps, results));
        done.map(|()| is_fed)
    })
}

/// The result of the one group that all values are, in whatever pieces; none where a value is missing.
pub(crate) fn fold_poured<T: Element, F: Fold<T>>(
    op: F,
    source: &dyn Source<T>,
    gaps: &Gaps<T>,
) -> Outcomes<Option<F::Out>> {
    let (mut state, mut count) = (op.start(), 0);
    let is_fed = source.feed(0..usize::MAX, &mut |values| {
        count += values.len();
        let parts = threads::map_parts(values.len(), source.picoseconds(), 0, |part| {
            let mut state = op.start();
            op.slice(&mut state, &values[part]);
            state
        });
        parts.iter().for_each(|part| op.merge(&mut state, part));
    });
    op.merge(&mut state, &gaps_state(op, count, gaps));
    let found = op.finish(&state, gaps.positions(count)).map_err(|fault| fault.of(0))?;
    Ok(is_fed.then_some(found))
}

/// The result of one group, each thread having a part of it.
fn fold_long<T: Element, F: Fold<T>>(
    op: F,
    entries: Range<usize>,
    source: &dyn Source<T>,
    gaps: &Gaps<T>,
) -> Outcomes<Option<F::Out>> {
    let parts = threads::map_parts(entries.len(), source.picoseconds(), 0, |part| {
        let (mut state, part) = (op.start(), entries.start + part.start..entries.start + part.end);
        source.feed(part, &mut |values| op.slice(&mut state, values)).then_some(state)
    });
    let mut state = gaps_state(op, entries.len(), gaps);
    for part in parts {
        let Some(part) = part else { return Ok(None) };
        op.merge(&mut state, &part);
    }
    op.finish(&state, gaps.positions(entries.len())).map(Some).map_err(|fault| fault.of(0))
}

/// The results of groups that stand side by side, none of which is empty, of which all values are needed at once; none
/// where a value is missing, or a group is too long. `position` is that of an entry in its group, `blank` any result.
pub(crate) fn reduce_fed<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    source: &dyn Source<T>,
    gaps: &Gaps<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Option<Vec<H::Out>>> {
    if offsets.windows(2).any(|ends| ends[1] - ends[0] > LONGEST) {
        return Ok(None);
    }
    by_blocks(offsets, alloc::copies(blank, offsets.len() - 1)?, |offsets, results| {
        let (start, starts) = (offsets[0], within(offsets));
        let position = |entry: usize| position(start + entry);
        let reduce = |values: &[T], results: &mut [H::Out]| match op.has_abreast() {
            true => reduce_runs(op, &starts, values, gaps, &position, results),
            false => reduce_each(op, &starts, values, gaps, &position, results),
        };
        let entries = start..offsets[offsets.len() - 1];
        let (mut gathered, mut done) = (Vec::new(), Ok(()));
        if entries.len() <= PIECE {
            let is_fed = source.feed(entries, &mut |values| done = reduce(values, results));
            return done.map(|()| is_fed);
        }
        alloc::reserve(&mut gathered, entries.len())?;
        let is_fed = source.feed(entries, &mut |values| gathered.extend_from_slice(values));
        if is_fed {
            reduce(&gathered, results)?;
        }
        Ok(is_fed)
    })
}

/// The results of groups one by one.
fn reduce_each<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
    position: &dyn Fn(usize) -> u128,
    results: &mut [H::Out],
) -> Outcomes<()> {
    let mut scratch = op.scratch();
    for (group, (ends, result)) in offsets.windows(2).zip(results).enumerate() {
        let position = |within: usize| position(ends[0] + within);
        let group_of = Group { stored: &values[ends[0]..ends[1]], gaps: *gaps, position: &position };
        *result = op.of(&group_of, &mut scratch).map_err(|fault| fault.of(group))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_pieces_or_one_long_group() {
        let cut = |offsets: &[usize]| blocks(offsets).map(|groups| [groups.start, groups.end]).collect::<Vec<_>>();
        assert!(cut(&[0]).is_empty());
        assert_eq!(cut(&[3, 5]), [[0, 1]]);
        assert_eq!(cut(&[0, PIECE]), [[0, 1]]);
        assert_eq!(cut(&[0, PIECE - 1, PIECE, PIECE + 1]), [[0, 2], [2, 3]]);
        assert_eq!(cut(&[7, 8, 9 + PIECE, 9 + 3 * PIECE, 10 + 3 * PIECE]), [[0, 1], [1, 2], [2, 3], [3, 4]]);
        let ones: Vec<usize> = (0..=2 * PIECE + 1).collect();
        assert_eq!(cut(&ones), [[0, PIECE], [PIECE, 2 * PIECE], [2 * PIECE, 2 * PIECE + 1]]);
    }
}
