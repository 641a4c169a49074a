//! Reductions of values that arrive in chunks. Each chunk is reduced while it is in the cache, and is not kept.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::fold::{Fold, share_runs, unstored_state};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Group, Holistic, reduce_runs};
use crate::kernels::op::{FailedGroup, Outcomes};

/// The largest number of values in a chunk.
pub(crate) const PIECE: usize = 1 << 13;

/// The maximum length of a group whose values are copied to memory, for reductions that need all values of a group.
const LONGEST: usize = 1 << 16;

/// Values that are computed on request.
pub(crate) trait ValueSource<T>: Sync {
    /// Passes the values of a range in order, in one chunk if the range is at most [`PIECE`] long.
    ///
    /// Returns false if some values could not be computed.
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool;

    /// Returns whether the order and the number of values are unknown.
    ///
    /// If true, any range means all values. The values arrive in chunks of any length, and arrive again for each
    /// request.
    fn is_streamed(&self) -> bool {
        false
    }

    /// Passes all values in chunks of any length, each value with the flat index of its output element.
    ///
    /// The output elements are those of these axes and lengths. Returns false if some values could not be computed.
    fn feed_cells(&self, _axes: &[usize], _lengths: &[usize], _take: &mut FeedOutputs<'_, T>) -> Allocated<bool> {
        Ok(false)
    }

    /// Returns the largest number of bytes for the accumulators of all output elements.
    fn max_bytes(&self) -> usize {
        usize::MAX
    }

    /// Returns the time to compute one value, in picoseconds.
    fn picoseconds(&self) -> usize;
}

/// The data of a reduction whose values another engine reads.
#[derive(Clone, Copy)]
pub(crate) enum States<'a> {
    /// The number of values of each group, in order, and the accumulator after these values.
    Found(&'a [(u64, &'a [u8])]),
    /// The keys of the two middle values of each group, in order; `None` if a group does not have a result.
    Ranked(&'a [Option<[u64; 2]>]),
}

/// Receives values, each with the flat index of its output element.
pub(crate) type FeedOutputs<'a, T> = dyn FnMut(&[usize], &[T]) + 'a;

/// Splits adjacent nonempty groups into runs of groups. A run fits in one chunk, or is a single longer group.
fn blocks(offsets: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut first = 0;
    std::iter::from_fn(move || {
        // Invariant: the groups before `first` are in earlier runs.
        let start = *offsets[..offsets.len() - 1].get(first)?;
        // No group is empty, so a chunk has at most `PIECE` groups.
        let near = &offsets[first + 1..offsets.len().min(first + 1 + PIECE)];
        let groups = near.partition_point(|&end| end - start <= PIECE).max(1);
        first += groups;
        Some(first - groups..first)
    })
}

/// Returns the results of adjacent groups, computed block by block. `None` if a value could not be computed.
///
/// `reduce` receives the offsets of a block and slots for its results. It returns whether all values were computed.
fn by_blocks<U: Send>(
    offsets: &[usize],
    mut results: Vec<U>,
    reduce: impl Fn(&[usize], &mut [U]) -> Outcomes<bool> + Sync,
) -> Outcomes<Option<Vec<U>>> {
    let takes_chunks = AtomicBool::new(true);
    share_runs(offsets, &mut results, &|offsets, results| {
        // After a failure all results are discarded, so the remaining blocks are skipped.
        for groups in blocks(offsets).take_while(|_| takes_chunks.load(Ordering::Relaxed)) {
            let of_block = reduce(&offsets[groups.start..=groups.end], &mut results[groups.clone()]);
            // The group index in an error counts from the first group of the block.
            let shifted = |failure: FailedGroup| FailedGroup { group: groups.start + failure.group, ..failure };
            takes_chunks.fetch_and(of_block.map_err(shifted)?, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(takes_chunks.into_inner().then_some(results))
}

/// Returns the offsets within the values of a block.
fn within(offsets: &[usize]) -> Vec<usize> {
    offsets.iter().map(|offset| offset - offsets[0]).collect()
}

/// Returns the results of adjacent nonempty groups. `None` if a value could not be computed.
pub(crate) fn fold_of_chunks<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    source: &dyn ValueSource<T>,
    unstored: &Unstored<T>,
) -> Outcomes<Option<Vec<F::Out>>> {
    by_blocks(offsets, alloc::zeros(offsets.len() - 1)?, |offsets, results| {
        let entries = offsets[0]..offsets[offsets.len() - 1];
        // A block longer than `PIECE` is a single group, so it has one slot.
        if let ([result], true) = (&mut *results, entries.len() > PIECE) {
            let found = fold_long(op, entries, source, unstored)?;
            *result = found.unwrap_or(*result);
            return Ok(found.is_some());
        }
        let (starts, mut done) = (within(offsets), Ok(()));
        // The range is at most `PIECE` long, so the closure is called once with all values of the block.
        let takes_chunks = source.feed(entries, &mut |values| done = op.lanes(&starts, values, unstored, results));
        done.map(|()| takes_chunks)
    })
}

/// Returns the result of the group of all values, in chunks of any length. `None` if a value could not be computed.
pub(crate) fn fold_streamed<T: Element, F: Fold<T>>(
    op: F,
    source: &dyn ValueSource<T>,
    unstored: &Unstored<T>,
) -> Outcomes<Option<F::Out>> {
    let (mut state, mut count) = (op.start(), 0);
    // The source ignores the range. `count` is exact only after the pass.
    let takes_chunks = source.feed(0..usize::MAX, &mut |values| {
        count += values.len();
        let parts = threads::map_parts(values.len(), source.picoseconds(), 0, |part| {
            let mut state = op.start();
            op.slice(&mut state, &values[part]);
            state
        });
        // Merging is associative and commutative, so the result does not depend on the number of parts.
        parts.iter().for_each(|part| op.merge(&mut state, part));
    });
    if !takes_chunks {
        // An accumulator with only some of the values must not report an error.
        return Ok(None);
    }
    op.merge(&mut state, &unstored_state(op, count, unstored));
    op.finish(&state, unstored.positions(count)).map(Some).map_err(|fault| fault.of(0))
}

/// Returns the result of one group, whose parts are computed by several threads.
fn fold_long<T: Element, F: Fold<T>>(
    op: F,
    entries: Range<usize>,
    source: &dyn ValueSource<T>,
    unstored: &Unstored<T>,
) -> Outcomes<Option<F::Out>> {
    let parts = threads::map_parts(entries.len(), source.picoseconds(), 0, |part| {
        let (mut state, part) = (op.start(), entries.start + part.start..entries.start + part.end);
        source.feed(part, &mut |values| op.slice(&mut state, values)).then_some(state)
    });
    // The accumulator starts with the unstored positions. The order of merging does not matter.
    let mut state = unstored_state(op, entries.len(), unstored);
    for part in parts {
        let Some(part) = part else { return Ok(None) };
        op.merge(&mut state, &part);
    }
    op.finish(&state, unstored.positions(entries.len())).map(Some).map_err(|fault| fault.of(0))
}

/// Returns the results of adjacent nonempty groups, for reductions that need all values of a group at once.
///
/// `None` if a value could not be computed, or if a group is too long. `position` returns the position of an entry in
/// its group; `blank` is an arbitrary result that fills the list first.
pub(crate) fn reduce_of_chunks<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    source: &dyn ValueSource<T>,
    unstored: &Unstored<T>,
    position: &(dyn Fn(usize) -> u128 + Sync),
    blank: H::Out,
) -> Outcomes<Option<Vec<H::Out>>> {
    if offsets.windows(2).any(|ends| ends[1] - ends[0] > LONGEST) {
        return Ok(None);
    }
    by_blocks(offsets, alloc::copies(blank, offsets.len() - 1)?, |offsets, results| {
        let (start, starts) = (offsets[0], within(offsets));
        // `starts` counts entries from the start of the block. The outer `position` counts them from the first entry.
        let position = |entry: usize| position(start + entry);
        let reduce = |values: &[T], results: &mut [H::Out]| match op.has_interleaved() {
            true => reduce_runs(op, &starts, values, unstored, &position, results),
            false => reduce_each(op, &starts, values, unstored, &position, results),
        };
        let entries = start..offsets[offsets.len() - 1];
        let (mut gathered, mut done) = (Vec::new(), Ok(()));
        // One call of the closure has all values of the block, so no copy is needed.
        if entries.len() <= PIECE {
            let takes_chunks = source.feed(entries, &mut |values| done = reduce(values, results));
            return done.map(|()| takes_chunks);
        }
        // The block is one group of at most `LONGEST` values, so the copy stays small.
        alloc::reserve(&mut gathered, entries.len())?;
        let takes_chunks = source.feed(entries, &mut |values| gathered.extend_from_slice(values));
        if takes_chunks {
            reduce(&gathered, results)?;
        }
        Ok(takes_chunks)
    })
}

/// Computes the results of groups one by one.
fn reduce_each<T: Element, H: Holistic<T>>(
    op: H,
    offsets: &[usize],
    values: &[T],
    unstored: &Unstored<T>,
    position: &dyn Fn(usize) -> u128,
    results: &mut [H::Out],
) -> Outcomes<()> {
    let mut scratch = op.scratch();
    for (group, (ends, result)) in offsets.windows(2).zip(results).enumerate() {
        let position = |within: usize| position(ends[0] + within);
        let group_of = Group { stored: &values[ends[0]..ends[1]], unstored: *unstored, position: &position };
        *result = op.of(&group_of, &mut scratch).map_err(|fault| fault.of(group))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::op::{GroupError, Op, Outcome};

    /// A test reduction that counts values, and fails for an empty group.
    #[derive(Clone, Copy)]
    struct Counted;

    impl Op for Counted {
        fn name(&self) -> &'static str {
            "counted"
        }
    }

    impl Fold<u8> for Counted {
        type State = u128;
        type Out = u64;

        fn start(&self) -> u128 {
            0
        }

        fn step(&self, state: &mut u128, _: u8) {
            *state += 1;
        }

        fn repeat(&self, state: &mut u128, _: u8, count: u128) {
            *state += count;
        }

        fn merge(&self, state: &mut u128, other: &u128) {
            *state += other;
        }

        fn finish(&self, &state: &u128, _: u128) -> Outcome<u64> {
            if state == 0 { Err(GroupError::Empty) } else { Ok(state as u64) }
        }
    }

    /// A source of this number of values. `false` means that a value could not be computed.
    struct Zeros(usize, bool);

    impl ValueSource<u8> for Zeros {
        fn feed(&self, _: Range<usize>, take: &mut dyn FnMut(&[u8])) -> bool {
            take(&vec![0; self.0]);
            self.1
        }

        fn picoseconds(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_source_that_fails_has_no_result_and_no_fault_of_its_first_values() {
        let found = |source| fold_streamed(Counted, &source, &Unstored::none());
        assert_eq!(found(Zeros(3, true)), Ok(Some(3)));
        assert_eq!(found(Zeros(0, true)), Err(GroupError::Empty.of(0)));
        assert_eq!(found(Zeros(3, false)), Ok(None));
        assert_eq!(found(Zeros(0, false)), Ok(None));
    }

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
