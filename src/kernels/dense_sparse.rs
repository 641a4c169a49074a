//! Products of a dense operand with entries on the right: what each entry adds is scattered over the columns.

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::matrix::{Entries, Missing, Turn, first_overflow};
use crate::kernels::semiring::Semiring;

/// So many rows of the left operand go through the entries at a time.
const LANES: usize = 8;

/// The shape of a product: `count` matrices of `rows`, each row of the left operand `inner` long and of the result
/// `width`.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) count: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) width: usize,
}

/// The rows of the result of a dense operand and the entries of the right one.
pub(crate) fn of_array<T: Element, S: Semiring<T>>(
    op: S,
    left: &[T],
    right: Entries<'_, T>,
    lengths: Lengths,
    turn: Turn<'_>,
) -> Result<Vec<T>, Missing> {
    // A single row has nobody to share the entries with.
    match lengths.rows {
        1 => by_lanes::<1, _, _>(op, left, right, lengths, turn),
        _ => by_lanes::<LANES, _, _>(op, left, right, lengths, turn),
    }
}

fn by_lanes<const COUNT: usize, T: Element, S: Semiring<T>>(
    op: S,
    left: &[T],
    right: Entries<'_, T>,
    lengths: Lengths,
    turn: Turn<'_>,
) -> Result<Vec<T>, Missing> {
    let Lengths { count, rows, inner, width } = lengths;
    let mut items = alloc::zeros(count * rows * width)?;
    let mut blocks = alloc::with_capacity(count * rows.div_ceil(COUNT))?;
    for (matrix, slots) in items.chunks_exact_mut(rows * width).enumerate() {
        let numbered = slots.chunks_mut(COUNT * width).enumerate();
        blocks.extend(numbered.map(|(block, slots)| (matrix * rows + block * COUNT, slots)));
    }
    let work = blocks.len().saturating_mul(right.values.len() / 2 + inner + width);
    let places = threads::map_each(blocks.into(), work, Scratch::default, |scratch, (first, slots)| {
        let (of_left, base) = turn(first);
        let rows = left[of_left * inner..].chunks_exact(inner.max(1)).take(slots.len() / width);
        scratch.prepare(op.nothing(), rows, (COUNT, inner, width))?;
        in_wide_vectors(
            #[inline(always)]
            || scattered::<COUNT, _, _>(op, scratch, right, base),
        );
        Ok(scratch.write(op, COUNT, slots).map(|place| first * width + place))
    });
    first_overflow(places.into_iter().collect::<Allocated<_>>()?)?;
    Ok(items)
}

/// The rows of the left operand that go together, turned around, and the rows of the result, alike.
struct Scratch<T, U> {
    left: Vec<T>,
    sums: Vec<U>,
}

impl<T, U> Default for Scratch<T, U> {
    fn default() -> Self {
        Scratch { left: Vec::new(), sums: Vec::new() }
    }
}

impl<T: Element, U: Copy> Scratch<T, U> {
    fn prepare<'a>(
        &mut self,
        nothing: U,
        rows: impl Iterator<Item = &'a [T]> + Clone,
        (lanes, inner, width): (usize, usize, usize),
    ) -> Allocated<()> {
        self.left.clear();
        alloc::reserve_exact(&mut self.left, lanes * inner)?;
        self.left.resize(lanes * inner, T::ZERO);
        self.sums.clear();
        alloc::reserve_exact(&mut self.sums, lanes * width)?;
        self.sums.resize(lanes * width, nothing);
        // Lanes without a row of their own have one that is there: a semiring sees no elements but those that meet.
        for (lane, row) in rows.cycle().take(lanes).enumerate() {
            self.left.iter_mut().skip(lane).step_by(lanes).zip(row).for_each(|(slot, &element)| *slot = element);
        }
        Ok(())
    }

    /// Writes the sums out, row by row; the first place without a value.
    fn write<S: Semiring<T, Sum = U>>(&self, op: S, lanes: usize, slots: &mut [T]) -> Option<usize> {
        let (width, mut first) = (self.sums.len() / lanes, None);
        for (place, slot) in slots.iter_mut().enumerate() {
            match op.value(self.sums[place % width * lanes + place / width]) {
                Some(value) => *slot = value,
                None => first = first.or(Some(place)),
            }
        }
        first
    }
}

/// Adds what the entries of a matrix, whose first row is `base`, give with all lanes.
#[inline(always)]
fn scattered<const COUNT: usize, T: Element, S: Semiring<T>>(
    op: S,
    scratch: &mut Scratch<T, S::Sum>,
    right: Entries<'_, T>,
    base: usize,
) {
    for (row, lanes) in scratch.left.chunks_exact(COUNT).enumerate() {
        let (columns, values) = right.row(base + row);
        for (&column, &value) in columns.iter().zip(values) {
            let sums = &mut scratch.sums[column as usize * COUNT..][..COUNT];
            for (sum, &lane) in sums.iter_mut().zip(lanes) {
                *sum = op.plus(*sum, lane, value);
            }
        }
    }
}
