//! Dot products of two rows in eight partial sums, added as a fixed tree.
//!
//! Partial sum k mod 8 receives the product at position k, in increasing order of k. Eight partial sums fill the widest
//! SIMD registers. Other orders are slower on some machines.

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Dot, Ring, Term};
use crate::kernels::panels::{Numbers, TableSize, by_panels};

const LANES: usize = 8;

/// The eight partial sums of a dot product.
#[derive(Clone, Copy)]
pub(crate) struct PartialSums<T: Ring>([T::Dot; LANES]);

impl<T: Ring> PartialSums<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        PartialSums([T::Dot::NOTHING; LANES])
    }

    /// Adds the product of two elements at a position. Positions must increase.
    ///
    /// A position may be skipped if one element is zero and the other element is finite.
    #[inline(always)]
    pub(crate) fn add(&mut self, position: usize, a: T, b: T) {
        let lane = &mut self.0[position % LANES];
        *lane = lane.plus(a, b);
    }

    /// Adds the products of two rows, from position 0 on.
    #[inline(always)]
    pub(crate) fn add_rows(&mut self, a: &[T], b: &[T]) {
        let (whole, last) = a.as_chunks::<LANES>();
        let (others, other_last) = b.as_chunks::<LANES>();
        // The local copy stays in registers during the loop.
        let mut lanes = self.0;
        for (a, b) in whole.iter().zip(others) {
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].plus(a[lane], b[lane]);
            }
        }
        self.0 = lanes;
        // The remainder starts at a multiple of 8, so its index is the index of the partial sum.
        last.iter().zip(other_last).enumerate().for_each(|(lane, (&a, &b))| self.add(lane, a, b));
    }

    /// Adds the products of `count` rows, multiplied from left to right.
    #[inline(always)]
    fn add_products<'a>(&mut self, width: usize, count: usize, row: impl Fn(usize) -> &'a [T]) {
        let whole = width / LANES * LANES;
        let mut lanes = self.0;
        for start in (0..whole).step_by(LANES) {
            let mut terms = eight_terms(&row(0)[start..]);
            for other in 1..count {
                let others = eight_terms(&row(other)[start..]);
                terms.iter_mut().zip(others).for_each(|(term, other)| *term = T::Dot::times(*term, other));
            }
            // `terms[k]` is the product of all rows at position `start + k`, so partial sum `k` receives it.
            lanes.iter_mut().zip(terms).for_each(|(lane, term)| *lane = lane.add(term));
        }
        self.0 = lanes;
        // `whole` is a multiple of 8 and fewer than 8 positions remain, so `k - whole` equals `k % 8`.
        for k in whole..width {
            let mut term = T::Dot::term(row(0)[k]);
            (1..count).for_each(|other| term = T::Dot::times(term, T::Dot::term(row(other)[k])));
            let lane = &mut self.0[k - whole];
            *lane = lane.add(term);
        }
    }

    /// Returns the sum of the partial sums, if it fits in the type.
    #[inline(always)]
    pub(crate) fn total(&self) -> Option<T> {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.join(b).join(c.join(d)).join(e.join(f).join(g.join(h))).value()
    }
}

/// Returns the first eight elements as factors, one per partial sum.
#[inline(always)]
fn eight_terms<T: Ring>(row: &[T]) -> [Term<T>; LANES] {
    let row = &row[..LANES];
    std::array::from_fn(|lane| T::Dot::term(row[lane]))
}

/// The rows of a matrix, in one slice.
#[derive(Clone, Copy)]
pub(crate) struct DenseRows<'a, T> {
    pub(crate) items: &'a [T],
    /// The length of a row.
    pub(crate) width: usize,
}

impl<'a, T> DenseRows<'a, T> {
    /// Returns a row by its index.
    #[inline(always)]
    pub(crate) fn row(&self, number: usize) -> &'a [T] {
        &self.items[number * self.width..(number + 1) * self.width]
    }
}

/// The reason why a dot product does not have a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDot {
    /// The dot product of this entry does not fit in the type.
    Overflow(usize),
    Memory(AllocError),
}

impl From<AllocError> for NoDot {
    fn from(rejection: AllocError) -> Self {
        NoDot::Memory(rejection)
    }
}

/// The number of entries whose row indices are looked up at a time.
const BLOCK: usize = 256;

/// The rows of a matrix, and the row index of each entry.
pub(crate) type Factor<'a, T> = (DenseRows<'a, T>, Numbers<'a>);

/// Returns for each of `count` entries the sum of products of one row per factor, multiplied from left to right.
///
/// There are at least two factors, all of the same width. The error is the first entry whose dot product does not fit
/// in the type.
pub(crate) fn dots<T: Ring>(count: usize, factors: &[Factor<'_, T>]) -> Result<Vec<T>, NoDot> {
    let width = factors.first().map_or(0, |(rows, _)| rows.width);
    let picoseconds = width.saturating_mul(125 * factors.len()).saturating_add(5000);
    let mut found = alloc::zeros(count)?;
    let ends = threads::map_parts(count, picoseconds, 0, |part| part.end);
    let start = |part: usize| part.checked_sub(1).map_or(0, |before| ends[before]);
    let parts = threads::map_slices(&mut found, &ends, |part, found| dots_of_part(factors, start(part), found));
    // The parts are in order, so the first error belongs to the first entry that fails.
    parts.into_iter().collect::<Result<(), NoDot>>()?;
    Ok(found)
}

/// Returns [`dots`] without the products in which the element of factor `upstream`, a gradient, is zero.
///
/// A product with a zero gradient is skipped even if the other elements are not finite.
pub(crate) fn dots_without_zeros<T: Ring>(
    count: usize,
    factors: &[Factor<'_, T>],
    upstream: usize,
) -> Result<Vec<T>, NoDot> {
    let width = factors.first().map_or(0, |(rows, _)| rows.width);
    let work = count.saturating_mul(width);
    threads::try_map_heavy(
        count,
        work,
        T::ZERO,
        || vec![0; factors.len()],
        |numbers, entry| {
            let looked_up = factors.iter().zip(numbers.iter_mut());
            looked_up.for_each(|((_, number), slot)| number(entry, std::slice::from_mut(slot)));
            let item = |factor: usize, k: usize| factors[factor].0.row(numbers[factor])[k];
            // Positions increase, so each partial sum receives its terms in the same order as in `dots`.
            let mut dot = PartialSums::<T>::new();
            for k in (0..width).filter(|&k| item(upstream, k).is_truthy()) {
                let others = (1..factors.len()).map(|factor| T::Dot::term(item(factor, k)));
                let lane = &mut dot.0[k % LANES];
                *lane = lane.add(others.fold(T::Dot::term(item(0, k)), T::Dot::times));
            }
            dot.total().ok_or(NoDot::Overflow(entry))
        },
    )
}

/// Computes the dot products of entries from `start` on, in the faster order.
fn dots_of_part<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Result<(), NoDot> {
    if dots_by_panels(factors, start, found)? {
        return Ok(());
    }
    // This path also runs after an overflow in the panels, to find the first entry that fails.
    dots_in_order(factors, start, found).map_or(Ok(()), |at| Err(NoDot::Overflow(at)))
}

/// Computes the dot products of entries from `start` on. Returns the first entry whose dot product does not fit in the
/// type.
fn dots_in_order<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Option<usize> {
    let mut numbers = vec![0; factors.len() * BLOCK];
    found.chunks_mut(BLOCK).zip((start..).step_by(BLOCK)).find_map(|(found, start)| {
        // `numbers` holds `BLOCK` row indices per factor, of which `found.len()` are valid.
        for ((_, number), numbers) in factors.iter().zip(numbers.chunks_mut(BLOCK)) {
            number(start, &mut numbers[..found.len()]);
        }
        dots_of_block(factors, &numbers, found).map(|at| start + at)
    })
}

/// Computes the dot products of entries from `start` on, panel by panel of the second factor.
///
/// Returns false if panels would not save time, or if a dot product does not fit in the type.
fn dots_by_panels<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Allocated<bool> {
    let &[(of_left, left), (rows, right)] = factors else { return Ok(false) };
    if u32::try_from(of_left.items.len()).is_err() {
        // The row indices may not fit in 32 bits.
        return Ok(false);
    }
    let table = TableSize { rows: rows.items.len() / rows.width.max(1), bytes_of_row: rows.width * size_of::<T>() };
    let lookups = by_panels(start, found.len(), [left, right], table)?;
    let (mut numbers, mut block) = ([0; 2 * BLOCK], [T::ZERO; BLOCK]);
    let all_fit = lookups.chunks(BLOCK).all(|lookups| {
        for (at, &[_, left, right]) in lookups.iter().enumerate() {
            (numbers[at], numbers[BLOCK + at]) = (left as usize, right as usize);
        }
        let all_fit = dots_of_block(factors, &numbers, &mut block[..lookups.len()]).is_none();
        // Each entry is written once, so the order of panels does not change the result.
        lookups.iter().zip(&block).for_each(|([entry, ..], &dot)| found[*entry as usize] = dot);
        all_fit
    });
    Ok(all_fit && !lookups.is_empty())
}

/// Computes dot products of rows by their indices, one block per factor. Returns the first dot product that does not
/// fit in the type.
fn dots_of_block<T: Ring>(factors: &[Factor<'_, T>], numbers: &[usize], found: &mut [T]) -> Option<usize> {
    in_wide_vectors(
        #[inline(always)]
        || {
            for (at, found) in found.iter_mut().enumerate() {
                let row = |factor: usize| factors[factor].0.row(numbers[factor * BLOCK + at]);
                let mut dot = PartialSums::new();
                match factors.len() {
                    2 => dot.add_rows(row(0), row(1)),
                    // A constant count lets the compiler unroll the loop over factors.
                    3 => dot.add_products(row(0).len(), 3, row),
                    count => dot.add_products(row(0).len(), count, row),
                }
                match dot.total() {
                    Some(total) => *found = total,
                    None => return Some(at),
                }
            }
            None
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns terms of very different sizes, so each order of summation has a different sum.
    fn terms(count: usize) -> Vec<f64> {
        (0..count).map(|at| [1e16, 1.0, -1e16, 3.0, 1e-3][at % 5] * (1.0 + at as f64)).collect()
    }

    #[test]
    fn lanes_are_by_position_and_joined_as_a_tree() {
        for count in [0, 1, 7, 8, 9, 31, 64, 65] {
            let (a, b) = (terms(count), vec![1.0; count]);
            let mut lanes = [0.0; 8];
            (0..count).for_each(|k| lanes[k % 8] += a[k]);
            let l = lanes;
            let expected = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
            let (mut whole, mut single) = (PartialSums::new(), PartialSums::new());
            whole.add_rows(&a, &b);
            for of_all in 1..5 {
                let mut products = PartialSums::new();
                products.add_products(count, of_all, |row| if row == 0 { &a } else { &b });
                assert_eq!(products.total(), Some(expected), "{count}");
            }
            (0..count).for_each(|k| single.add(k, a[k], b[k]));
            assert_eq!([whole.total(), single.total()], [Some(expected); 2], "{count}");
        }
    }

    #[test]
    fn the_first_dot_that_does_not_fit_is_told() {
        let l = DenseRows { items: &[1i8, 2, 100, 100], width: 2 };
        let number = |start: usize, numbers: &mut [usize]| {
            numbers.iter_mut().zip(start..).for_each(|(number, entry)| *number = usize::from(entry > 300));
        };
        assert_eq!(dots(300, &[(l, &number), (l, &number)]), Ok(vec![5; 300]));
        assert_eq!(dots(300, &[(l, &number as _); 3]), Ok(vec![9; 300]));
        assert_eq!(dots(900, &[(l, &number), (l, &number)]), Err(NoDot::Overflow(301)));
    }

    /// Each of 400 entries looks up one of 40 rows, in reverse order.
    #[test]
    fn panels_give_the_same_dots() {
        let (left, mut right) = (terms(64), terms(40 * 64));
        let (l, here) = (DenseRows { items: &left, width: 64 }, |_: usize, numbers: &mut [usize]| numbers.fill(0));
        let back = |start: usize, numbers: &mut [usize]| {
            numbers.iter_mut().zip(start..).for_each(|(number, entry)| *number = 39 - entry % 40);
        };
        right.reverse();
        let r = DenseRows { items: &right, width: 64 };
        let factors: [Factor<'_, f64>; 2] = [(l, &here), (r, &back)];
        let (mut by_panels, mut in_order) = (vec![0.0; 400], vec![1.0; 400]);
        assert_eq!(dots_by_panels(&factors, 7, &mut by_panels), Ok(true));
        assert_eq!(dots_in_order(&factors, 7, &mut in_order), None);
        assert_eq!(by_panels, in_order);

        let bytes: Vec<i8> = (0..40 * 64).map(|at| if at / 64 == 5 { 100 } else { 0 }).collect();
        let r = DenseRows { items: &bytes, width: 64 };
        assert_eq!(dots(400, &[(r, &back), (r, &back)]), Err(NoDot::Overflow(34)));
    }
}
