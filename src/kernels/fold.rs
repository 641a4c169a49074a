//! Folds: reductions whose state after some values is all that the values after them need to know.

use crate::base::alloc::{self, Allocated};
use crate::base::index::Width;
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{ABREAST, Abreast, Element, Known, Saved};
use crate::kernels::cells::StoredCells;
use crate::kernels::coords::CoordSlices;
use crate::kernels::group::{AllGaps, Gaps, Groups};
use crate::kernels::lanes::results_of;
use crate::kernels::op::{Op, Outcome, Outcomes};

/// A fold over values of type `T`.
///
/// Merging is associative and commutative, and a step the same as merging with the state of one value: so a group may
/// be cut anywhere, and gone through in any order.
pub trait Fold<T: Element>: Op + 'static {
    /// What is known of the values so far.
    type State: Clone + Send + Sync + Saved;
    /// The result of a group.
    type Out: Element;

    /// The state of no value.
    fn start(&self) -> Self::State;

    /// Takes one more value in.
    fn step(&self, state: &mut Self::State, value: T);

    /// Takes one more value in, with no more memory than it must, though in more time.
    fn step_sparingly(&self, state: &mut Self::State, value: T) {
        self.step(state, value);
    }

    /// Takes `count` more values in, all of them `value`.
    fn repeat(&self, state: &mut Self::State, value: T, count: u128);

    /// Takes the values of another state in.
    fn merge(&self, state: &mut Self::State, other: &Self::State);

    /// The result of a group of `count` values.
    fn finish(&self, state: &Self::State, count: u128) -> Outcome<Self::Out>;

    /// The fill of the result of a stored view: what a group without entries gives.
    fn of_no_entry(&self) -> Outcome<Self::Out> {
        self.finish(&self.start(), 0)
    }

    /// Whether no value changes the state any more, so that the others need not be read.
    fn is_settled(&self, _: &Self::State) -> bool {
        false
    }

    /// The bytes that a state takes besides its place.
    fn grown(&self, _: &Self::State) -> usize {
        0
    }

    /// Takes a slice in.
    fn slice(&self, state: &mut Self::State, values: &[T]) {
        values.iter().for_each(|&value| self.step(state, value));
    }

    /// A faster way for the results of runs among values, where it tells them.
    #[inline(always)]
    fn of_abreast(&self, _values: &[T], _runs: &Abreast, _gaps: &Gaps<T>) -> Known<Self::Out> {
        ([Self::Out::ZERO; ABREAST], [false; ABREAST])
    }

    /// The results of the lanes that hold a value, in order: all of these offsets whose lane is not empty. Where one
    /// has none, its number among all lanes is told.
    fn lanes(&self, offsets: &[usize], values: &[T], gaps: &Gaps<T>, results: &mut [Self::Out]) -> Outcomes<()> {
        fold_lanes(*self, offsets, values, gaps, results)
    }

    /// A faster way for all cells that hold a value, with their coordinates, in order; of their other positions tells
    /// [`Kept::gaps`].
    fn by_coords(&self, _kept: &Kept<'_>, _values: &[T], _gaps: &Gaps<T>) -> Allocated<Option<StoredCells<Self::Out>>> {
        Ok(None)
    }
}

/// The coordinates of entries on the kept axes; there is at least one.
pub struct Kept<'a> {
    pub(crate) coords: CoordSlices<'a>,
    /// The lengths of these axes.
    pub(crate) lengths: &'a [usize],
    /// Whether the entries of a cell stand side by side: these axes lead.
    pub(crate) lead: bool,
    /// Whether entries side by side often fall into one cell: the last axis goes.
    pub(crate) in_runs: bool,
    /// The number of all positions of the cells with each label, and how many cells stand side by side with one label:
    /// where the cells differ in it.
    pub(crate) extents: Option<(&'a [u128], usize)>,
}

impl Kept<'_> {
    /// Writes the row-major numbers of the cells of the entries from `start` on.
    pub(crate) fn number(&self, start: usize, numbers: &mut [usize]) {
        self.coords.number(self.lengths, start, numbers);
    }

    /// The lengths of the axes of the cells, and the width of the coordinates there.
    pub(crate) fn cells_of_result(&self) -> (&[usize], Width) {
        (self.lengths, self.coords.width())
    }

    /// The number of cells there are.
    pub(crate) fn cells(&self) -> u128 {
        self.lengths.iter().fold(1, |cells: u128, &length| cells.saturating_mul(length as u128))
    }

    /// The gaps of a cell by its number, from those of the largest one.
    pub(crate) fn gaps<T: Copy>(&self, gaps: &Gaps<T>, cell: usize) -> Gaps<T> {
        let extent = |(extents, inner): (&[u128], usize)| extents[cell / inner % extents.len()];
        Gaps { extent: self.extents.map_or(gaps.extent, extent), ..*gaps }
    }
}

/// The state of the gaps of a group with `stored` entries.
pub(crate) fn gaps_state<T: Element, F: Fold<T>>(op: F, stored: usize, gaps: &Gaps<T>) -> F::State {
    let mut state = op.start();
    if let (Some(fill), count @ 1..) = (gaps.fill, gaps.count(stored)) {
        op.repeat(&mut state, fill, count);
    }
    state
}

/// The result of a group of which nothing is stored: a fill, whose zero has no sign.
pub(crate) fn fold_gaps<T: Element, F: Fold<T>>(op: F, gaps: &Gaps<T>) -> Outcome<F::Out> {
    match gaps.fill {
        Some(_) => op.finish(&gaps_state(op, 0, gaps), gaps.positions(0)).map(F::Out::as_implicit),
        None => op.of_no_entry(),
    }
}

/// The result of a group of `size` entries, which `add` takes in: they are left out where the gaps settle the result.
fn fold_group<T: Element, F: Fold<T>>(
    op: F,
    size: usize,
    gaps: &Gaps<T>,
    add: impl FnOnce(&mut F::State),
) -> Outcome<F::Out> {
    let mut state = gaps_state(op, size, gaps);
    if !op.is_settled(&state) {
        add(&mut state);
    }
    op.finish(&state, gaps.positions(size))
}

/// The results of all groups, if each has one.
pub(crate) fn fold_groups<T: Element, F: Fold<T>>(
    op: F,
    groups: &Groups,
    values: &[T],
    gaps: &AllGaps<'_, T>,
) -> Outcomes<Vec<F::Out>> {
    if gaps.extents.is_none() {
        // Side by side short groups are reduced together, which pays for the copy.
        return fold_runs(op, groups.starts(), &groups.side_by_side(values)?, &gaps.gaps);
    }
    threads::try_map_heavy(
        groups.len(),
        values.len(),
        F::Out::ZERO,
        || (),
        |(), group| {
            let gathered = groups.entries(group).map(|entry| values[entry]);
            let add = |state: &mut F::State| fold_until_settled(op, state, gathered);
            fold_group(op, groups.size(group), &gaps.of(group), add).map_err(|fault| fault.of(group))
        },
    )
}

/// The results of groups that stand side by side, none of which is empty.
pub(crate) fn fold_runs<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
) -> Outcomes<Vec<F::Out>> {
    let mut results = alloc::zeros(offsets.len() - 1)?;
    share_runs(offsets, &mut results, &|offsets, results| op.lanes(offsets, values, gaps, results))?;
    Ok(results)
}

/// Reduces the runs between some offsets into a place for each.
pub(crate) type ReduceRuns<'a, U> = dyn Fn(&[usize], &mut [U]) -> Outcomes<()> + Sync + 'a;

/// Shares out groups that stand side by side, none of which is empty: `reduce` is given the offsets of some, and a
/// place for each.
pub(crate) fn share_runs<U: Send>(offsets: &[usize], results: &mut [U], reduce: &ReduceRuns<'_, U>) -> Outcomes<()> {
    let ends = ends_of_parts(&offsets[..=results.len()]);
    let done = threads::map_slices(results, &ends, |part, results| {
        let first = ends[part] - results.len();
        reduce(&offsets[first..=ends[part]], results).map_err(|refusal| refusal.fault.of(first + refusal.group))
    });
    done.into_iter().collect()
}

/// The runs at which the parts end that pay.
fn ends_of_parts(offsets: &[usize]) -> Vec<usize> {
    let count = offsets.len() - 1;
    let parts = threads::map_parts(offsets[count] - offsets[0], PICOSECONDS, 0, |part| part.end);
    let mut ends: Vec<usize> =
        parts.iter().map(|&end| offsets[..count].partition_point(|&start| start < end)).collect();
    ends.dedup();
    ends
}

/// The picoseconds that an entry of a run takes.
const PICOSECONDS: usize = 1000;

/// The results of lanes that hold a value, one after the other.
pub(crate) fn fold_lanes<T: Element, F: Fold<T>>(
    op: F,
    offsets: &[usize],
    values: &[T],
    gaps: &Gaps<T>,
    results: &mut [F::Out],
) -> Outcomes<()> {
    in_wide_vectors(
        #[inline(always)]
        || {
            results_of(
                offsets,
                results,
                #[inline(always)]
                |runs| op.of_abreast(values, runs, gaps),
                |lane, entries| fold_lane(op, &values[entries], gaps).map_err(|fault| fault.of(lane)),
            )
        },
    )
}

/// The result of a lane, out of line of the faster way.
fn fold_lane<T: Element, F: Fold<T>>(op: F, values: &[T], gaps: &Gaps<T>) -> Outcome<F::Out> {
    fold_group(op, values.len(), gaps, |state| op.slice(state, values))
}

/// The results of groups of one value each.
pub(crate) fn fold_singly<T: Element, F: Fold<T>>(op: F, values: &[T]) -> Outcomes<Vec<F::Out>> {
    let finished = |(): &mut (), entry: usize| {
        let mut state = op.start();
        op.step(&mut state, values[entry]);
        op.finish(&state, 1).map_err(|fault| fault.of(entry))
    };
    threads::try_map_heavy(values.len(), values.len(), F::Out::ZERO, || (), finished)
}

/// Takes some values in, those left out that cannot change the state.
pub(crate) fn fold_until_settled<T: Element, F: Fold<T>>(
    op: F,
    state: &mut F::State,
    values: impl IntoIterator<Item = T>,
) {
    for value in values {
        op.step(state, value);
        if op.is_settled(state) {
            break;
        }
    }
}
