//! Gradients looked up by the row-major numbers of their cells.

use std::borrow::Cow;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::bits::BITS;

/// The gradients of the cells of a result, for look-ups in any order.
pub enum Lookup<'a, G: Element> {
    /// One for each cell.
    Whole(Cow<'a, [G]>),
    /// Those of the cells that are stored, and one for all others.
    Stored { marks: Vec<Marks>, gradients: &'a [G], fill: G },
}

/// Sixty-four cells: those that are stored, and how many are before them.
#[derive(Clone, Copy, Default)]
pub struct Marks {
    stored: u64,
    before: usize,
}

impl<'a, G: Element> Lookup<'a, G> {
    /// The gradients among so many cells, for as many look-ups as there are `entries`. `number` writes the
    /// numbers of the cells from one place on, which increase.
    ///
    /// As long as there are no more cells than entries, each has a gradient: one access to memory a look-up, not two.
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
            // Zeros, as they mostly are, need not be written.
            let mut whole = if fill.same(G::ZERO) { alloc::zeros(cells)? } else { alloc::copies(fill, cells)? };
            for_each_number(gradients, number, |cell, &gradient| whole[cell] = gradient);
            return Ok(Lookup::Whole(Cow::Owned(whole)));
        }
        let mut marks = alloc::copies(Marks::default(), cells.div_ceil(BITS))?;
        for_each_number(gradients, number, |cell, _| marks[cell / BITS].stored |= 1 << (cell % BITS));
        let mut before = 0;
        for mark in &mut marks {
            mark.before = before;
            before += mark.stored.count_ones() as usize;
        }
        Ok(Lookup::Stored { marks, gradients, fill })
    }

    /// The gradient of a cell.
    pub(crate) fn get(&self, cell: usize) -> G {
        match self {
            Lookup::Whole(gradients) => gradients[cell],
            Lookup::Stored { marks, gradients, fill } => {
                let Marks { stored, before } = marks[cell / BITS];
                let up_to = stored << (BITS - 1 - cell % BITS);
                if up_to >> (BITS - 1) == 0 { *fill } else { gradients[before + up_to.count_ones() as usize - 1] }
            }
        }
    }
}

/// Calls `visit` with the number of the cell of each item.
fn for_each_number<T>(items: &[T], number: impl Fn(usize, &mut [usize]), mut visit: impl FnMut(usize, &T)) {
    let mut numbers = [0; 512];
    for (items, start) in items.chunks(numbers.len()).zip((0..).step_by(numbers.len())) {
        let numbers = &mut numbers[..items.len()];
        number(start, numbers);
        numbers.iter().zip(items).for_each(|(&cell, item)| visit(cell, item));
    }
}

/// The gradients of `cells` among those `stored`, both in increasing order; `fill` for those that are not.
pub(crate) fn merge<G: Copy + Zeroable + Send + Sync>(
    cells: &[usize],
    stored: &[usize],
    gradients: &[G],
    fill: G,
) -> Allocated<Vec<G>> {
    threads::filled(cells.len(), 3000, |range, slots| {
        let cells = &cells[range];
        let mut at = cells.first().map_or(0, |first| stored.partition_point(|position| position < first));
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
