//! Dots of two rows, summed in eight lanes: the k-th product goes to lane k mod 8, in the order of k, and the lanes are
//! added as a tree of fixed form. Eight lanes fill the widest vectors, and no other order is as fast on all machines.

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::{Dot, Ring, Term};
use crate::kernels::panels::{Numbers, Table, by_panels};

const LANES: usize = 8;

/// A dot on its way.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<T: Ring>([T::Dot; LANES]);

impl<T: Ring> Lanes<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Lanes([T::Dot::NOTHING; LANES])
    }

    /// Adds the product of what two rows hold at a position; positions come in increasing order, and one where a row
    /// holds zero and the other a finite value may be left out.
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
        let mut lanes = self.0;
        for (a, b) in whole.iter().zip(others) {
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].plus(a[lane], b[lane]);
            }
        }
        self.0 = lanes;
        last.iter().zip(other_last).enumerate().for_each(|(lane, (&a, &b))| self.add(lane, a, b));
    }

    /// Adds the products of `count` rows, from left to right.
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
            lanes.iter_mut().zip(terms).for_each(|(lane, term)| *lane = lane.add(term));
        }
        self.0 = lanes;
        for k in whole..width {
            let mut term = T::Dot::term(row(0)[k]);
            (1..count).for_each(|other| term = T::Dot::times(term, T::Dot::term(row(other)[k])));
            let lane = &mut self.0[k - whole];
            *lane = lane.add(term);
        }
    }

    /// The sum of the lanes, if it fits the type.
    #[inline(always)]
    pub(crate) fn total(&self) -> Option<T> {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.join(b).join(c.join(d)).join(e.join(f).join(g.join(h))).value()
    }
}

/// The first of some elements as factors, one for each lane.
#[inline(always)]
fn eight_terms<T: Ring>(row: &[T]) -> [Term<T>; LANES] {
    let row = &row[..LANES];
    std::array::from_fn(|lane| T::Dot::term(row[lane]))
}

/// The rows of a matrix, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) items: &'a [T],
    /// The length of a row.
    pub(crate) width: usize,
}

impl<'a, T> Rows<'a, T> {
    /// A row by its number.
    #[inline(always)]
    pub(crate) fn row(&self, number: usize) -> &'a [T] {
        &self.items[number * self.width..(number + 1) * self.width]
    }
}

/// What has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDot {
    /// The dot of that entry does not fit the type.
    Overflow(usize),
    Memory(AllocError),
}

impl From<AllocError> for NoDot {
    fn from(refused: AllocError) -> Self {
        NoDot::Memory(refused)
    }
}

/// So many entries are numbered at a time.
const BLOCK: usize = 256;

/// The rows of a matrix, and which of them an entry stands for.
pub(crate) type Factor<'a, T> = (Rows<'a, T>, Numbers<'a>);

/// The dots of a row of each factor, two or more of one width, for each of `count` entries: the sum of their products
/// from left to right; the first one that does not fit is told.
pub(crate) fn dots<T: Ring>(count: usize, factors: &[Factor<'_, T>]) -> Result<Vec<T>, NoDot> {
    let width = factors.first().map_or(0, |(rows, _)| rows.width);
    let picoseconds = width.saturating_mul(125 * factors.len()).saturating_add(5000);
    let mut found = alloc::zeros(count)?;
    let ends = threads::map_parts(count, picoseconds, 0, |part| part.end);
    let start = |part: usize| part.checked_sub(1).map_or(0, |before| ends[before]);
    let parts = threads::map_slices(&mut found, &ends, |part, found| dots_of_part(factors, start(part), found));
    parts.into_iter().collect::<Result<(), NoDot>>()?;
    Ok(found)
}

/// [`dots`] without the products in which an element of the factor `upstream`, a gradient, is zero: what meets it may
/// not be finite.
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
            let mut dot = Lanes::<T>::new();
            for k in (0..width).filter(|&k| item(upstream, k).is_truthy()) {
                let others = (1..factors.len()).map(|factor| T::Dot::term(item(factor, k)));
                let lane = &mut dot.0[k % LANES];
                *lane = lane.add(others.fold(T::Dot::term(item(0, k)), T::Dot::times));
            }
            dot.total().ok_or(NoDot::Overflow(entry))
        },
    )
}

/// The dots of entries from `start` on, in the order that takes less time.
fn dots_of_part<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Result<(), NoDot> {
    if dots_by_panels(factors, start, found)? {
        return Ok(());
    }
    dots_in_order(factors, start, found).map_or(Ok(()), |at| Err(NoDot::Overflow(at)))
}

/// The dots of entries from `start` on; the first one that does not fit.
fn dots_in_order<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Option<usize> {
    let mut numbers = vec![0; factors.len() * BLOCK];
    found.chunks_mut(BLOCK).zip((start..).step_by(BLOCK)).find_map(|(found, start)| {
        for ((_, number), numbers) in factors.iter().zip(numbers.chunks_mut(BLOCK)) {
            number(start, &mut numbers[..found.len()]);
        }
        dots_of_block(factors, &numbers, found).map(|at| start + at)
    })
}

/// The dots of entries from `start` on, panel by panel of the second factor; false where this is not worth its time or
/// not all is found.
fn dots_by_panels<T: Ring>(factors: &[Factor<'_, T>], start: usize, found: &mut [T]) -> Allocated<bool> {
    let &[(of_left, left), (rows, right)] = factors else { return Ok(false) };
    if u32::try_from(of_left.items.len()).is_err() {
        // The numbers of its rows may not fit.
        return Ok(false);
    }
    let table = Table { rows: rows.items.len() / rows.width.max(1), bytes_of_row: rows.width * size_of::<T>() };
    let lookups = by_panels(start, found.len(), [left, right], table)?;
    let (mut numbers, mut block) = ([0; 2 * BLOCK], [T::ZERO; BLOCK]);
    let all_fit = lookups.chunks(BLOCK).all(|lookups| {
        for (at, &[_, left, right]) in lookups.iter().enumerate() {
            (numbers[at], numbers[BLOCK + at]) = (left as usize, right as usize);
        }
        let all_fit = dots_of_block(factors, &numbers, &mut block[..lookups.len()]).is_none();
        lookups.iter().zip(&block).for_each(|([entry, ..], &dot)| found[*entry as usize] = dot);
        all_fit
    });
    Ok(all_fit && !lookups.is_empty())
}

/// The dots of rows by their numbers, a block of them for each factor; the first one that does not fit.
fn dots_of_block<T: Ring>(factors: &[Factor<'_, T>], numbers: &[usize], found: &mut [T]) -> Option<usize> {
    in_wide_vectors(
        #[inline(always)]
        || {
            for (at, found) in found.iter_mut().enumerate() {
                let row = |factor: usize| factors[factor].0.row(numbers[factor * BLOCK + at]);
                let mut dot = Lanes::new();
                match factors.len() {
                    2 => dot.add_rows(row(0), row(1)),
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

    /// The terms differ so much in size that every order has a sum of its own.
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
            let (mut whole, mut single) = (Lanes::new(), Lanes::new());
            whole.add_rows(&a, &b);
            for of_all in 1..5 {
                let mut products = Lanes::new();
                products.add_products(count, of_all, |row| if row == 0 { &a } else { &b });
                assert_eq!(products.total(), Some(expected), "{count}");
            }
            (0..count).for_each(|k| single.add(k, a[k], b[k]));
            assert_eq!([whole.total(), single.total()], [Some(expected); 2], "{count}");
        }
    }

    #[test]
    fn the_first_dot_that_does_not_fit_is_told() {
        let l = Rows { items: &[1i8, 2, 100, 100], width: 2 };
        let number = |start: usize, numbers: &mut [usize]| {
            numbers.iter_mut().zip(start..).for_each(|(number, entry)| *number = usize::from(entry > 300));
        };
        assert_eq!(dots(300, &[(l, &number), (l, &number)]), Ok(vec![5; 300]));
        assert_eq!(dots(300, &[(l, &number as _); 3]), Ok(vec![9; 300]));
        assert_eq!(dots(900, &[(l, &number), (l, &number)]), Err(NoDot::Overflow(301)));
    }

    /// A table of 40 rows that each of 400 entries looks one up in, backwards.
    #[test]
    fn panels_give_the_same_dots() {
        let (left, mut right) = (terms(64), terms(40 * 64));
        let (l, here) = (Rows { items: &left, width: 64 }, |_: usize, numbers: &mut [usize]| numbers.fill(0));
        let back = |start: usize, numbers: &mut [usize]| {
            numbers.iter_mut().zip(start..).for_each(|(number, entry)| *number = 39 - entry % 40);
        };
        right.reverse();
        let r = Rows { items: &right, width: 64 };
        let factors: [Factor<'_, f64>; 2] = [(l, &here), (r, &back)];
        let (mut by_panels, mut in_order) = (vec![0.0; 400], vec![1.0; 400]);
        assert_eq!(dots_by_panels(&factors, 7, &mut by_panels), Ok(true));
        assert_eq!(dots_in_order(&factors, 7, &mut in_order), None);
        assert_eq!(by_panels, in_order);

        let bytes: Vec<i8> = (0..40 * 64).map(|at| if at / 64 == 5 { 100 } else { 0 }).collect();
        let r = Rows { items: &bytes, width: 64 };
        assert_eq!(dots(400, &[(r, &back), (r, &back)]), Err(NoDot::Overflow(34)));
    }
}
