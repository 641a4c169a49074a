//! Runs of neighbours, eight abreast: what is done at a place of all of them is done by vectors, without a branch.

use std::array::from_fn;
use std::ops::Range;

/// The runs that are looked at together.
pub(crate) const ABREAST: usize = 8;
/// The places that are read without asking where the values end.
const BLOCK: usize = 16;

/// Results of runs, and which of them are known.
pub(crate) type Known<U> = ([U; ABREAST], [bool; ABREAST]);

/// Runs among values; a size of 0 where there are fewer.
#[derive(Clone, Copy, Default)]
pub struct Abreast {
    pub(crate) starts: [usize; ABREAST],
    pub(crate) sizes: [usize; ABREAST],
}

impl Abreast {
    /// The entries of a run.
    pub(crate) fn run(&self, run: usize) -> Range<usize> {
        self.starts[run]..self.starts[run] + self.sizes[run]
    }

    /// Calls `f` with one place after the other, and what `of` makes of the value of each run there; behind the end of
    /// a run that is `blank`.
    #[inline(always)]
    pub(crate) fn for_each<T: Copy, V: Copy>(
        &self,
        values: &[T],
        of: impl Fn(T) -> V,
        blank: [V; ABREAST],
        mut f: impl FnMut(usize, [V; ABREAST]),
    ) {
        let most = self.sizes.iter().fold(0, |most, &size| most.max(size));
        for first in (0..most).step_by(BLOCK) {
            let copies: [[T; BLOCK]; ABREAST];
            let blocks: [&[T; BLOCK]; ABREAST] = match self.blocks(values, first) {
                Some(blocks) => blocks,
                None => {
                    copies = from_fn(|run| from_fn(|at| values[(self.starts[run] + first + at).min(values.len() - 1)]));
                    from_fn(|run| &copies[run])
                }
            };
            let places = 0..BLOCK.min(most - first);
            for at in places {
                let mut found = blank;
                for run in 0..ABREAST {
                    let value = of(blocks[run][at]);
                    found[run] = if first + at < self.sizes[run] { value } else { blank[run] };
                }
                f(first + at, found);
            }
        }
    }

    /// The values of each run from a place on, whether they are its own or not; none where they are too few.
    #[inline(always)]
    fn blocks<'a, T>(&self, values: &'a [T], first: usize) -> Option<[&'a [T; BLOCK]; ABREAST]> {
        let mut blocks = [values.first_chunk()?; ABREAST];
        for (block, start) in blocks.iter_mut().zip(self.starts) {
            *block = values.get(start + first..)?.first_chunk()?;
        }
        Some(blocks)
    }
}
