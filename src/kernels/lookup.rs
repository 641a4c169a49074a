//! Lookups of gradients by the flat indices of output elements.

use std::borrow::Cow;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::bits::BITS;

/// The gradients of the output elements, for lookups in any order.
pub(crate) enum Lookup<'a, G: Element> {
    /// One gradient per output element.
    Whole(Cow<'a, [G]>),
    /// The gradients of the stored output elements, and one gradient for all other elements.
    Stored { marks: Vec<Marks>, gradients: &'a [G], fill: G },
}

/// Marks of 64 output elements: the stored ones, and the number of stored elements before them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    stored: u64,
    before: usize,
}

impl<'a, G: Element> Lookup<'a, G> {
    /// Returns the gradients of `cells` output elements, for `entries` lookups.
    ///
    /// `number` writes the flat indices of the stored output elements from a position on. The indices increase.
    ///
    /// If there are at most as many output elements as entries, each element has its own gradient. A lookup is then one
    /// memory access instead of two.
    pub(crate) fn new(
        cells: usize,
        entries: usize,
        gradients: &'a [G],
        fill: G,
        number: impl Fn(usize, &mut [usize]),
    ) -> Allocated<Self> {
        if gradients.len() == cells {
            return Ok(Lookup::Whole(Cow::Borrowed(gradients)));
        }
        if cells <= entries {
            // The fill is usually zero, and new memory is already zero.
            let mut whole = if fill.same(G::ZERO) { alloc::zeros(cells)? } else { alloc::copies(fill, cells)? };
            for_each_number(gradients, number, |cell, &gradient| whole[cell] = gradient);
            return Ok(Lookup::Whole(Cow::Owned(whole)));
        }
        let mut marks = alloc::copies(Marks::default(), cells.div_ceil(BITS))?;
        for_each_number(gradients, number, |cell, _| marks[cell / BITS].stored |= 1 << (cell % BITS));
        // Invariant: `before` is the number of stored output elements in all words before `mark`.
        let mut before = 0;
        for mark in &mut marks {
            mark.before = before;
            before += mark.stored.count_ones() as usize;
        }
        Ok(Lookup::Stored { marks, gradients, fill })
    }

    /// Returns the gradient of an output element.
    pub(crate) fn get(&self, cell: usize) -> G {
        match self {
            Lookup::Whole(gradients) => gradients[cell],
            Lookup::Stored { marks, gradients, fill } => {
                let Marks { stored, before } = marks[cell / BITS];
                // The shift moves the bit of `cell` to the top and discards the bits after it. The number of remaining
                // ones is the number of stored elements in this word up to `cell`.
                let up_to = stored << (BITS - 1 - cell % BITS);
                if up_to >> (BITS - 1) == 0 { *fill } else { gradients[before + up_to.count_ones() as usize - 1] }
            }
        }
    }
}

/// Calls `visit` with the flat index of the output element of each item.
fn for_each_number<T>(items: &[T], number: impl Fn(usize, &mut [usize]), mut visit: impl FnMut(usize, &T)) {
    let mut numbers = [0; 512];
    for (items, start) in items.chunks(numbers.len()).zip((0..).step_by(numbers.len())) {
        let numbers = &mut numbers[..items.len()];
        number(start, numbers);
        numbers.iter().zip(items).for_each(|(&cell, item)| visit(cell, item));
    }
}

/// Returns the gradients of `cells` among the `stored` ones, both in increasing order, and `fill` for all other
/// elements.
pub(crate) fn merge<G: Copy + Zeroable + Send + Sync>(
    cells: &[usize],
    stored: &[usize],
    gradients: &[G],
    fill: G,
) -> Allocated<Vec<G>> {
    threads::filled(cells.len(), 3000, |range, slots| {
        let cells = &cells[range];
        let mut at = cells.first().map_or(0, |first| stored.partition_point(|position| position < first));
        // Invariant: all positions in `stored[..at]` are before `cell`. Each thread starts with a search.
        for (slot, cell) in slots.iter_mut().zip(cells) {
            at += stored[at..].iter().take_while(|position| *position < cell).count();
            *slot = if stored.get(at) == Some(cell) { gradients[at] } else { fill };
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_and_merges_find_what_is_stored_and_the_fill_elsewhere() {
        for (cells, step) in [(1, 1), (64, 1), (200, 3), (1000, 7), (1000, 1), (5000, 300)] {
            let stored: Vec<usize> = (step / 2..cells).step_by(step).collect();
            let gradients: Vec<u32> = stored.iter().map(|&cell| cell as u32 + 5).collect();
            let expected = |cell: usize| stored.binary_search(&cell).map_or(1, |_| cell as u32 + 5);
            for entries in [0, cells - 1, cells, 2 * cells] {
                let lookup = Lookup::new(cells, entries, &gradients, 1, |start, numbers| {
                    numbers.copy_from_slice(&stored[start..start + numbers.len()]);
                })
                .unwrap();
                (0..cells).for_each(|cell| assert_eq!(lookup.get(cell), expected(cell)));
            }
            for wanted in [1, 2, 5] {
                let wanted: Vec<usize> = (0..cells).step_by(wanted).collect();
                let found = merge(&wanted, &stored, &gradients, 1);
                assert_eq!(found, Ok(wanted.iter().map(|&cell| expected(cell)).collect()));
            }
        }
        assert_eq!(merge(&[3, 9], &[], &[], 4u8), Ok(vec![4, 4]));
        assert_eq!(merge(&[], &[1], &[4u8], 0), Ok(vec![]));
    }

    #[test]
    fn long_merges_are_shared_out() {
        let cells: Vec<usize> = (0..200_000).map(|cell| 2 * cell).collect();
        let stored: Vec<usize> = (0..130_000).map(|cell| 3 * cell).collect();
        let found = merge(&cells, &stored, &stored, 1);
        let expected = |&cell: &usize| if cell % 3 == 0 && cell < 390_000 { cell } else { 1 };
        assert_eq!(found, Ok(cells.iter().map(expected).collect()));
    }
}
