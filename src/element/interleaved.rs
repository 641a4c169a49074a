//! Eight runs of neighbouring values, processed in parallel by SIMD without branches.

use std::array::from_fn;
use std::ops::Range;

/// The number of runs processed together.
pub(crate) const INTERLEAVED: usize = 8;
/// The number of positions per run that are read without a bounds check.
const BLOCK: usize = 16;

/// The results of runs, and whether each result is known.
pub(crate) type RunResults<U> = ([U; INTERLEAVED], [bool; INTERLEAVED]);

/// Eight runs of values; missing runs have size 0.
#[derive(Clone, Copy, Default)]
pub struct Interleaved {
    pub(crate) starts: [usize; INTERLEAVED],
    pub(crate) sizes: [usize; INTERLEAVED],
}

impl Interleaved {
    /// Returns the indices of the values of a run.
    pub(crate) fn run(&self, run: usize) -> Range<usize> {
        self.starts[run]..self.starts[run] + self.sizes[run]
    }

    /// Calls `f` for each position with the results of `of` for the value of each run at this position.
    ///
    /// After the end of a run, the result is the `blank` of the run.
    #[inline(always)]
    pub(crate) fn for_each<T: Copy, V: Copy>(
        &self,
        values: &[T],
        of: impl Fn(T) -> V,
        blank: [V; INTERLEAVED],
        mut f: impl FnMut(usize, [V; INTERLEAVED]),
    ) {
        let longest = self.sizes.iter().fold(0, |longest, &size| longest.max(size));
        for first in (0..longest).step_by(BLOCK) {
            let copies: [[T; BLOCK]; INTERLEAVED];
            let blocks: [&[T; BLOCK]; INTERLEAVED] = match self.blocks(values, first) {
                Some(blocks) => blocks,
                None => {
                    copies = from_fn(|run| from_fn(|at| values[(self.starts[run] + first + at).min(values.len() - 1)]));
                    from_fn(|run| &copies[run])
                }
            };
            let places = 0..BLOCK.min(longest - first);
            for at in places {
                let mut found = blank;
                for run in 0..INTERLEAVED {
                    let value = of(blocks[run][at]);
                    found[run] = if first + at < self.sizes[run] { value } else { blank[run] };
                }
                f(first + at, found);
            }
        }
    }

    /// Returns a block of values per run, from a position on. The block may extend past the end of a run. Returns
    /// `None` if the block extends past the end of all values.
    #[inline(always)]
    fn blocks<'a, T>(&self, values: &'a [T], first: usize) -> Option<[&'a [T; BLOCK]; INTERLEAVED]> {
        let mut blocks = [values.first_chunk()?; INTERLEAVED];
        for (block, start) in blocks.iter_mut().zip(self.starts) {
            *block = values.get(start + first..)?.first_chunk()?;
        }
        Some(blocks)
    }
}
