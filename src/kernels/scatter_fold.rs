//! Streaming reductions of values that arrive in any order, each with the flat index of its output element.
//!
//! Each pass processes the output elements whose accumulators fit in memory. The values arrive again for each pass.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::element::Element;
use crate::kernels::fold::{Fold, unstored_state};
use crate::kernels::group::Unstored;
use crate::kernels::op::Outcomes;
use crate::kernels::stream::ValueSource;

/// The largest number of adjacent values of one output element that are added one by one.
///
/// More values are added as a slice, which is faster and may take more memory.
const FEW: usize = 8;

/// The flat indices of output elements, and their results.
pub(crate) type InCells<U> = (Vec<usize>, Vec<U>);

/// The accumulators of adjacent output elements.
struct Window<S> {
    cells: Range<usize>,
    states: Vec<S>,
    counts: Vec<usize>,
    /// The bytes that the accumulators take in addition to their own size.
    grown: usize,
}

impl<S: Clone> Window<S> {
    fn new(cells: Range<usize>, start: S) -> Allocated<Self> {
        let (mut states, counts) = (Vec::new(), alloc::zeros(cells.len())?);
        alloc::reserve_exact(&mut states, cells.len())?;
        states.resize(cells.len(), start);
        Ok(Window { cells, states, counts, grown: 0 })
    }

    /// Adds values of an output element if it is in the window.
    fn take<T: Element, F: Fold<T, State = S>>(&mut self, op: F, cell: usize, values: &[T]) {
        if !self.cells.contains(&cell) {
            return;
        }
        let at = cell - self.cells.start;
        let state = &mut self.states[at];
        let before = op.grown(state);
        match values.len() {
            ..=FEW => values.iter().for_each(|&value| op.step_sparingly(state, value)),
            _ => op.slice(state, values),
        }
        // The memory of an accumulator never shrinks, so the difference does not wrap.
        self.grown += op.grown(state) - before;
        self.counts[at] += values.len();
    }

    /// Removes the second half of the output elements from the window. A later pass computes these elements.
    fn halve<T: Element, F: Fold<T, State = S>>(&mut self, op: F) {
        let kept = self.states.len().div_ceil(2);
        self.states.truncate(kept);
        self.counts.truncate(kept);
        self.cells.end = self.cells.start + kept;
        self.grown = self.states.iter().map(|state| op.grown(state)).sum();
    }

    /// Appends the output elements that received a value, and their results.
    fn finish<T: Element, F: Fold<T, State = S>>(
        self,
        op: F,
        unstored: &Unstored<T>,
        (cells, results): &mut InCells<F::Out>,
    ) -> Outcomes<()> {
        for ((cell, mut state), count) in self.cells.zip(self.states).zip(self.counts).filter(|(_, count)| *count > 0) {
            // The unstored positions of a group are added once, after all its values.
            op.merge(&mut state, &unstored_state(op, count, unstored));
            let found = op.finish(&state, unstored.positions(count)).map_err(|fault| fault.of(cell))?;
            alloc::push(cells, cell)?;
            alloc::push(results, found)?;
        }
        Ok(())
    }
}

/// Returns the output elements that receive a value, and their results. `None` if a value could not be computed.
pub(crate) fn fold_outputs<T: Element, F: Fold<T>>(
    op: F,
    (axes, lengths): (&[usize], &[usize]),
    source: &dyn ValueSource<T>,
    unstored: &Unstored<T>,
) -> Outcomes<Option<InCells<F::Out>>> {
    let count = lengths.iter().fold(1, |count: usize, &length| count.saturating_mul(length));
    // The other half of the memory is for growing accumulators.
    let max_bytes = source.max_bytes() / 2;
    let widest = (max_bytes / (size_of::<F::State>() + size_of::<usize>())).max(1);
    let (mut width, mut first, mut found) = (widest, 0, (Vec::new(), Vec::new()));
    while first < count {
        // Invariant: `found` has the results of all output elements before `first`, in order.
        let asked = first..count.min(first.saturating_add(width));
        let mut window = Window::new(asked.clone(), op.start())?;
        let takes_chunks = source.feed_cells(axes, lengths, &mut |cells, values| {
            let mut start = 0;
            for run in cells.chunk_by(|one, other| one == other) {
                window.take(op, run[0], &values[start..start + run.len()]);
                start += run.len();
                // At least one output element stays in the window, so each pass completes at least one element.
                if window.grown > max_bytes && window.states.len() > 1 {
                    window.halve(op);
                }
            }
        })?;
        if !takes_chunks {
            return Ok(None);
        }
        // If accumulators grew in this pass, accumulators of later output elements may also grow.
        width = if window.cells == asked { widest.min(2 * width) } else { window.cells.len() };
        first = window.cells.end;
        window.finish(op, unstored, &mut found)?;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::kernels::op::{Op, Outcome};
    use crate::kernels::stream::FeedOutputs;

    /// The sum of all values. Its accumulator allocates memory if a value is 1 or more.
    #[derive(Clone, Copy)]
    struct Growing;

    impl Op for Growing {
        fn name(&self) -> &'static str {
            "growing"
        }
    }

    impl Fold<i64> for Growing {
        type State = u128;
        type Out = i64;

        fn start(&self) -> u128 {
            0
        }

        fn step(&self, state: &mut u128, value: i64) {
            *state += value as u128;
        }

        fn repeat(&self, state: &mut u128, value: i64, count: u128) {
            *state += value as u128 * count;
        }

        fn merge(&self, state: &mut u128, other: &u128) {
            *state += other;
        }

        fn finish(&self, state: &u128, count: u128) -> Outcome<i64> {
            Ok((1000 * state + count) as i64)
        }

        fn grown(&self, state: &u128) -> usize {
            if *state > 0 { 100 } else { 0 }
        }
    }

    struct Numbers {
        cells: Vec<usize>,
        values: Vec<i64>,
        max_bytes: usize,
        passes: AtomicUsize,
    }

    impl ValueSource<i64> for Numbers {
        fn feed(&self, _: Range<usize>, _: &mut dyn FnMut(&[i64])) -> bool {
            false
        }

        fn feed_cells(&self, axes: &[usize], lengths: &[usize], take: &mut FeedOutputs<'_, i64>) -> Allocated<bool> {
            assert_eq!((axes, lengths), (&[0, 2][..], &[4, 5][..]));
            self.passes.fetch_add(1, Relaxed);
            self.cells.chunks(3).zip(self.values.chunks(3)).for_each(|(cells, values)| take(cells, values));
            Ok(true)
        }

        fn max_bytes(&self) -> usize {
            self.max_bytes
        }

        fn picoseconds(&self) -> usize {
            1
        }
    }

    #[test]
    fn cells_that_do_not_fit_are_left_to_passes_of_their_own() {
        let cells: Vec<usize> = (0..100).map(|at| at * at % 20).collect();
        let values: Vec<i64> = (0..100).map(|at| if at % 3 == 0 { 0 } else { at }).collect();
        let unstored = Unstored { fill: Some(2), extent: 50 };
        let of_cell = |cell: usize| {
            let mine: Vec<i64> =
                cells.iter().zip(&values).filter(|(at, _)| **at == cell).map(|(_, value)| *value).collect();
            let sum = mine.iter().sum::<i64>() + 2 * (50 - mine.len() as i64);
            (!mine.is_empty()).then_some((cell, 1000 * sum + 50))
        };
        let expected: InCells<i64> = (0..20).filter_map(of_cell).unzip();
        for (max_bytes, min, max) in [(usize::MAX, 1, 1), (4000, 1, 1), (700, 2, 10), (60, 10, 20), (1, 20, 20)] {
            let source =
                Numbers { cells: cells.clone(), values: values.clone(), max_bytes, passes: AtomicUsize::new(0) };
            let found = fold_outputs(Growing, (&[0, 2], &[4, 5]), &source, &unstored).ok().flatten().unwrap();
            assert_eq!(found, expected, "{max_bytes}");
            let passes = source.passes.into_inner();
            assert!((min..=max).contains(&passes), "{passes} passes in {max_bytes} bytes");
        }
    }

    /// Tests that passes become wide again after passes in which a few accumulators grow.
    #[test]
    fn passes_are_wide_again_behind_cells_that_grow() {
        let cells: Vec<usize> = (0..20).collect();
        let values: Vec<i64> = cells.iter().map(|&cell| i64::from(cell < 4)).collect();
        let source = Numbers { cells, values, max_bytes: 700, passes: AtomicUsize::new(0) };
        let unstored = Unstored { fill: Some(0), extent: 1 };
        let (found, _) = fold_outputs(Growing, (&[0, 2], &[4, 5]), &source, &unstored).ok().flatten().unwrap();
        assert_eq!((found.len(), source.passes.into_inner()), (20, 5));
    }
}
