//! Elements of a dense array at given positions.
//!
//! The positions of a block of items are computed by SIMD code before the lookups. Without a branch between item and
//! lookup, many memory accesses overlap.
//!
//! SIMD gather instructions are not used. They are faster on some processors for small arrays, and slower in all other
//! cases. See `docs/speed-log.md` for benchmarks.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::alloc::{self, Allocated};
use crate::base::index::Position;
use crate::base::machine::{at_positions, in_wide_vectors};
use crate::base::threads;
use crate::element::Element;
use crate::kernels::take::TakeMode;

/// The number of items whose positions are computed at once.
const BLOCK: usize = 128;

/// The estimated picoseconds per item.
const TAKEN: usize = 800;

/// Returns the elements of `data` at the positions of `items`, and whether all items were in range.
///
/// Only with `Raise` can items be out of range. The result has an arbitrary element for such an item.
pub(crate) fn take_items<T: Element, J: Position>(
    data: &[T],
    items: &[J],
    mode: TakeMode,
) -> Allocated<(Vec<T>, bool)> {
    if threads::are_shared(items.len(), TAKEN) {
        let mut places = alloc::zeros(items.len())?;
        let inside = take_into(data, items, mode, &mut places);
        return Ok((places, inside));
    }
    // Each element is written only once, without zeroing the memory first.
    let mut taken = alloc::with_capacity(items.len())?;
    let inside = for_positions(items, data.len(), mode, |positions| taken.extend(at_positions(data, positions)));
    Ok((taken, inside))
}

/// [`take_items`] into existing slots.
pub(crate) fn take_into<T: Element, J: Position>(data: &[T], items: &[J], mode: TakeMode, places: &mut [T]) -> bool {
    let outside = AtomicBool::new(false);
    threads::chunks_into(items, places, TAKEN, |items, places| {
        // Chunks of slots and blocks of items have the same length, so each block has its slots.
        let mut places = places.chunks_mut(BLOCK);
        let inside = for_positions(items, data.len(), mode, |positions| {
            let places = places.next().unwrap_or_default();
            places.iter_mut().zip(at_positions(data, positions)).for_each(|(place, taken)| *place = taken);
        });
        if !inside {
            outside.store(true, Ordering::Relaxed);
        }
    });
    !outside.into_inner()
}

/// Calls `put` with the positions of `items` below `length`, block by block, and returns whether all items were in
/// range.
///
/// The last position replaces positions out of range.
fn for_positions<J: Position>(items: &[J], length: usize, mode: TakeMode, mut put: impl FnMut(&[usize])) -> bool {
    // An empty array does not have positions, so only an empty list of items is in range.
    let Some(last) = length.checked_sub(1) else { return items.is_empty() };
    let mut positions = [0; BLOCK];
    let mut inside = true;
    for items in items.chunks(BLOCK) {
        inside &= match mode {
            TakeMode::Raise => write_in_vectors(items, last, &mut positions, from_either_end),
            TakeMode::Clip => write_in_vectors(items, last, &mut positions, nearest),
            // The fast formula covers items near the range; a block with another item is computed again by division.
            TakeMode::Wrap => {
                write_in_vectors(items, last, &mut positions, near_around)
                    || write_positions(items, last, &mut positions, around)
            }
        };
        put(&positions[..items.len()]);
    }
    inside
}

/// [`write_positions`] with SIMD.
fn write_in_vectors<J: Position>(
    items: &[J],
    last: usize,
    positions: &mut [usize; BLOCK],
    position: impl Fn(J, i64) -> usize,
) -> bool {
    in_wide_vectors(
        #[inline(always)]
        || write_positions(items, last, positions, position),
    )
}

/// Writes the position of each item, `last` for items out of range, and returns whether all were in range.
///
/// This is a separate function, so that the compiler knows that its arguments do not alias. Without this knowledge the
/// loop is not vectorized.
#[inline(always)]
fn write_positions<J: Position>(
    items: &[J],
    last: usize,
    positions: &mut [usize; BLOCK],
    position: impl Fn(J, i64) -> usize,
) -> bool {
    let mut outside = false;
    for (place, &item) in positions.iter_mut().zip(items) {
        let position = position(item, last as i64 + 1);
        // The two lines do not branch. `min` keeps every lookup in bounds.
        outside |= position > last;
        *place = position.min(last);
    }
    !outside
}

/// Returns the position of an item in `-length..length`, and a position out of range for all other items.
#[inline(always)]
fn from_either_end<J: Position>(item: J, length: i64) -> usize {
    item.to_i64().map_or(usize::MAX, |item| item.wrapping_add(sign(item) & length) as usize)
}

/// Returns the nearest position below `length`.
#[inline(always)]
fn nearest<J: Position>(item: J, length: i64) -> usize {
    // `clamp` is not used, because it compiles to branches.
    item.to_i64().unwrap_or(i64::MAX).min(length - 1).max(0) as usize
}

/// Returns the nonnegative remainder by `length`.
fn around<J: Position>(item: J, length: i64) -> usize {
    match item.to_i64() {
        Some(item) => item.rem_euclid(length) as usize,
        None => item.to_i128().rem_euclid(length.into()) as usize,
    }
}

/// [`around`] without a division, for items within `2^48` times the length. The result is out of range for all other
/// items.
///
/// The quotient is rounded to an integer by adding a number above which an `f64` is always an integer. Before this
/// step, three roundings of `2^-53` change the quotient by less than 0.1. The remainder is therefore less than `length`
/// away from 0.
#[inline(always)]
fn near_around<J: Position>(item: J, length: i64) -> usize {
    const INTEGERS: f64 = 1.5 * (1_u64 << 52) as f64;
    let most = (length as u64).saturating_mul(1 << 48);
    let inverse = 1.0 / length as f64;
    let remainder = |item: i64| {
        let quotient = (item as f64 * inverse + INTEGERS).to_bits().wrapping_sub(INTEGERS.to_bits()) as i64;
        let remainder = item.wrapping_sub(quotient.wrapping_mul(length));
        // `length` is added to a negative remainder. The sign mask selects it without a branch.
        remainder.wrapping_add(sign(remainder) & length) as usize
    };
    let near = item.to_i64().filter(|item| item.unsigned_abs() <= most);
    near.map_or(usize::MAX, remainder)
}

/// Returns the sign as a mask.
fn sign(item: i64) -> i64 {
    item >> 63
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the position of `item` by plain arithmetic; `None` for an error.
    fn expected(item: i128, length: i128, mode: TakeMode) -> Option<usize> {
        match mode {
            TakeMode::Raise => (-length..length).contains(&item).then(|| item.rem_euclid(length) as usize),
            TakeMode::Wrap => Some(item.rem_euclid(length) as usize),
            TakeMode::Clip => Some(item.clamp(0, length - 1) as usize),
        }
    }

    /// Returns items of a type at and near all values for which the computation of the position is critical.
    fn edges<J: Position + TryFrom<i128>>(length: i128) -> Vec<J> {
        let near = [0, length, length << 47, length << 48, 1 << 31, 1 << 52, 1 << 53, 1 << 63, 1 << 64].into_iter();
        let middles = [length / 2, 3 * length / 2, 7 * length, 1_000_003 * length, 12_345_678_901_234_567].into_iter();
        let both_signs = near.chain(middles).flat_map(|edge| [edge, -edge]);
        both_signs.flat_map(|edge| edge - 2..=edge + 2).filter_map(|item| J::try_from(item).ok()).collect()
    }

    fn assert_positions<J: Position + TryFrom<i128>>(length: i64) {
        for item in edges::<J>(length.into()) {
            let wide = item.to_i128();
            let of = |mode| expected(wide, length.into(), mode);
            let inside = |position: usize| Some(position).filter(|&position| position < length as usize);
            assert_eq!(inside(from_either_end(item, length)), of(TakeMode::Raise), "raise {wide} of {length}");
            assert_eq!(inside(nearest(item, length)), of(TakeMode::Clip), "clip {wide} to {length}");
            assert_eq!(inside(around(item, length)), of(TakeMode::Wrap), "wrap {wide} around {length}");
            let is_near = wide.abs() <= i128::from(length) << 48 && wide <= i64::MAX.into();
            let near = of(TakeMode::Wrap).filter(|_| is_near);
            assert_eq!(inside(near_around(item, length)), near, "wrap {wide} around {length} without division");
        }
    }

    #[test]
    fn positions_are_right_for_every_type_and_length() {
        for length in [1, 2, 3, 7, 100, (1 << 15) - 1, 1 << 20, 10_000_019, (1 << 53) + 1, i64::MAX / 8, i64::MAX] {
            assert_positions::<i8>(length);
            assert_positions::<i16>(length);
            assert_positions::<i32>(length);
            assert_positions::<i64>(length);
            assert_positions::<isize>(length);
            assert_positions::<u8>(length);
            assert_positions::<u16>(length);
            assert_positions::<u32>(length);
            assert_positions::<u64>(length);
            assert_positions::<usize>(length);
        }
    }

    /// Compares a new list and an existing list with a plain loop.
    fn assert_taken<T: Element, J: Position>(data: &[T], items: &[J], mode: TakeMode) {
        let length = data.len() as i128;
        let expected: Vec<_> = items.iter().map(|item| expected(item.to_i128(), length, mode)).collect();
        let assert = |inside: bool, places: &[T]| {
            assert_eq!(inside, !expected.contains(&None), "{mode:?}");
            let pairs = places.iter().zip(&expected);
            assert!(pairs.clone().all(|(&place, at)| at.is_none_or(|at| place == data[at])), "{mode:?}");
        };
        let (taken, inside) = take_items(data, items, mode).unwrap();
        assert_eq!(taken.len(), items.len());
        assert(inside, &taken);
        let mut places = vec![T::ZERO; items.len()];
        assert(take_into(data, items, mode, &mut places), &places);
    }

    fn assert_taken_by<J: Position + TryFrom<i128>>() {
        for length in [1, 2, 3, 100, 1000] {
            let elements = || (0..length).map(|element| element % 100);
            let items = edges::<J>(length.into());
            let inside: Vec<J> = (0..500).filter_map(|item| J::try_from(item * 7 % i128::from(length)).ok()).collect();
            let plain: Vec<f64> = elements().map(f64::from).collect();
            items.chunks(1).for_each(|one| assert_taken(&plain, one, TakeMode::Raise));
            for mode in [TakeMode::Raise, TakeMode::Wrap, TakeMode::Clip] {
                for items in [&items, &inside, &inside[..1], &[]] {
                    assert_taken(&plain, items, mode);
                    assert_taken(&elements().map(|element| element as f32).collect::<Vec<_>>(), items, mode);
                    assert_taken(&elements().map(|element| element as u8).collect::<Vec<_>>(), items, mode);
                }
            }
        }
    }

    #[test]
    fn loops_agree_on_every_type_of_items() {
        assert_taken_by::<i8>();
        assert_taken_by::<u8>();
        assert_taken_by::<i16>();
        assert_taken_by::<u16>();
        assert_taken_by::<i32>();
        assert_taken_by::<u32>();
        assert_taken_by::<i64>();
        assert_taken_by::<u64>();
        assert_taken_by::<isize>();
        assert_taken_by::<usize>();
    }

    #[test]
    fn nothing_is_taken_of_nothing() {
        for mode in [TakeMode::Raise, TakeMode::Wrap, TakeMode::Clip] {
            assert_eq!(take_items::<f64, i64>(&[], &[], mode), Ok((vec![], true)));
            assert!(take_into::<f64, i64>(&[], &[], mode, &mut []));
            assert!(!take_into(&[], &[0], mode, &mut [0.0]));
        }
    }
}
