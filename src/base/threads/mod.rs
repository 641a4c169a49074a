//! Helpers that split long work among threads.
//!
//! The results are bitwise identical for any number of threads: items are independent, and results have the order of
//! the items. The work is one iterator in a lock. Threads take items from the iterator until it is empty.

#[cfg(feature = "io")]
pub(crate) mod pipeline;
mod pool;
#[cfg(all(test, feature = "rayon"))]
mod tests;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use bytemuck::Zeroable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::few::Few;
use crate::base::machine::in_wide_vectors;

/// The smallest number of items for which another thread is started, if an item takes [`ITEM`] picoseconds.
///
/// In unoptimized builds, such as tests, an item takes more than thirty times as long.
const CHUNK: usize = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 15 };

/// The time per item, in picoseconds, for which [`CHUNK`] items are worth a thread.
///
/// A chunk then takes a fifth of a millisecond, about four times the time to wake a thread. Callers with cheaper items
/// pass the picoseconds per item, measured with items in the cache.
const ITEM: usize = 6000;

/// The number of pieces per [`CHUNK`]. Small pieces keep the wait at the end short.
const PIECES: usize = 8;

/// The number of items that one thread fills at a time.
const BLOCK: usize = 1 << 10;

/// The smallest number of searches worth a thread.
const SEARCHES: usize = 1 << 10;

/// Returns the number of items of [`ITEM`] picoseconds that take as long as `count` items of `picoseconds` each.
fn weighed(count: usize, picoseconds: usize) -> usize {
    match count.checked_mul(picoseconds) {
        Some(all) => all / ITEM,
        // A 128-bit division is a function call, which would slow down small tensors.
        None => (count as u128 * picoseconds as u128 / ITEM as u128).try_into().unwrap_or(usize::MAX),
    }
}

/// Returns the number of items of `picoseconds` that are worth a thread.
fn chunk_of(picoseconds: usize) -> usize {
    (CHUNK * ITEM / picoseconds.max(1)).max(1)
}

/// Returns whether the items are too few for two threads, or only one thread exists.
///
/// With a single pool thread, the caller would only wait for that thread.
fn are_few(items: usize) -> bool {
    items < 2 * CHUNK || pool::width() < 2
}

/// Returns whether `count` items of `picoseconds` each take long enough for several threads.
pub(crate) fn are_shared(count: usize, picoseconds: usize) -> bool {
    count >= 2 * chunk_of(picoseconds) && pool::width() > 1
}

/// Returns the next remaining item. No other thread receives it.
fn next_of<I: Iterator>(left: &Mutex<I>) -> Option<I::Item> {
    left.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// Returns `f` of each item, in order, computed by all threads. `scratch` is created once per thread.
///
/// Here and below `f` is a trait object, because one call of `f` does a large part of the work. A generic `f` would
/// compile the surrounding code for each closure.
fn shared<S, A: Send, U: Send>(
    items: Vec<A>,
    scratch: &(dyn Fn() -> S + Sync),
    f: &(dyn Fn(&mut S, A) -> U + Sync),
) -> Vec<U> {
    let count = items.len();
    let mut results: Vec<Option<U>> = Vec::with_capacity(count);
    for _ in 0..count {
        results.push(None);
    }
    let left = Mutex::new(items.into_iter().zip(&mut results));
    pool::on_threads(count, &|| {
        let mut own = None;
        while let Some((item, result)) = next_of(&left) {
            *result = Some(f(own.get_or_insert_with(scratch), item));
        }
    });
    drop(left);
    let mut all = Vec::with_capacity(count);
    for result in results.into_iter().flatten() {
        all.push(result);
    }
    all
}

/// Returns the number of threads that work at once.
pub(crate) fn width() -> usize {
    pool::width()
}

/// Runs `work` with its part of the threads, if `works` of them run at the same time.
pub(crate) fn with_share_of<R>(works: usize, work: impl FnOnce() -> R) -> R {
    pool::with_share((pool::all() / works.max(1)).max(1), work)
}

/// Returns the results of `there` and `here`, which run at the same time. With one thread, `here` runs first.
pub(crate) fn both<A: Send, B>(there: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    let (mut there, mut here) = (Some(there), Some(here));
    let (mut of_there, mut of_here) = (None, None);
    let mut run_there = || of_there = there.take().map(|there| there());
    let mut run_here = || of_here = here.take().map(|here| here());
    match pool::width() > 1 {
        true => pool::at_once(&mut run_there, &mut run_here),
        false => {
            run_here();
            run_there();
        }
    }
    (of_there.expect("it was called"), of_here.expect("it was called"))
}

/// Returns whether `f` is true for a chunk of the items. After the first true result, chunks that have not started are
/// skipped.
pub(crate) fn any_chunk<T: Sync>(items: &[T], picoseconds: usize, f: impl Fn(&[T]) -> bool + Sync) -> bool {
    // The first items are tested on this thread. If `f` is true for these items, waking other threads would take
    // longer.
    let chunk = chunk_of(picoseconds);
    let (first, rest) = items.split_at(items.len().min(2 * chunk));
    if f(first) {
        return true;
    }
    if rest.len() < chunk || pool::width() < 2 {
        return f(rest);
    }
    let (found, chunks) = (AtomicBool::new(false), rest.chunks((chunk / PIECES).max(1)));
    let (count, left) = (chunks.len(), Mutex::new(chunks));
    pool::on_threads(count, &|| {
        while !found.load(Relaxed)
            && let Some(chunk) = next_of(&left)
        {
            if f(chunk) {
                found.store(true, Relaxed);
            }
        }
    });
    found.into_inner()
}

/// Fills the items chunk by chunk. An item takes `picoseconds`. `fill` receives the index of the first item of its
/// chunk.
fn fill_chunks<U: Send>(items: &mut [U], picoseconds: usize, fill: &(dyn Fn(usize, &mut [U]) + Sync)) {
    if !are_shared(items.len(), picoseconds) {
        return fill(0, items);
    }
    let piece = (chunk_of(picoseconds) / PIECES).max(1);
    fill_pieces(items, piece, &|| (), &|(), start, items| fill(start, items));
}

/// Fills the items in chunks of the length `piece`. `scratch` is created once per thread.
fn fill_pieces<S, U: Send>(
    items: &mut [U],
    piece: usize,
    scratch: &(dyn Fn() -> S + Sync),
    fill: &(dyn Fn(&mut S, usize, &mut [U]) + Sync),
) {
    let pieces = items.chunks_mut(piece).enumerate();
    let (count, left) = (pieces.len(), Mutex::new(pieces));
    pool::on_threads(count, &|| {
        let mut scratch = scratch();
        while let Some((at, items)) = next_of(&left) {
            fill(&mut scratch, at * piece, items);
        }
    });
}

/// Returns `f` of every value, in order. A call takes `picoseconds`.
pub(crate) fn map<T: Copy + Sync, U: Zeroable + Send>(
    values: &[T],
    picoseconds: usize,
    f: impl Fn(T) -> U + Sync,
) -> Allocated<Vec<U>> {
    let mut mapped = alloc::zeros(values.len())?;
    map_into(values, &mut mapped, picoseconds, f);
    Ok(mapped)
}

/// Returns `f` of every index below `count`, in order. All calls together process `work` items.
///
/// `scratch` is created once per thread. `blank` fills the items before they are written.
pub(crate) fn map_heavy<S, U: Clone + Send>(
    count: usize,
    work: usize,
    blank: U,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> U + Sync,
) -> Allocated<Vec<U>> {
    heavy(count, work, blank, &scratch, &|scratch, start, items| {
        for (at, item) in items.iter_mut().enumerate() {
            *item = f(scratch, start + at);
        }
    })
}

/// Returns `count` items that `fill` writes, starting at the index that it receives. They are split into chunks if
/// `work` is worth several threads.
fn heavy<S, U: Clone + Send>(
    count: usize,
    work: usize,
    blank: U,
    scratch: &(dyn Fn() -> S + Sync),
    fill: &(dyn Fn(&mut S, usize, &mut [U]) + Sync),
) -> Allocated<Vec<U>> {
    let mut items = alloc::with_capacity(count)?;
    if count < 2 || are_few(work) {
        let mut scratch = scratch();
        // A block is small, so blank items are still in the cache when `fill` overwrites them.
        for start in (0..count).step_by(BLOCK) {
            items.resize(count.min(start + BLOCK), blank.clone());
            fill(&mut scratch, start, &mut items[start..]);
        }
        return Ok(items);
    }
    items.resize(count, blank);
    let piece = (CHUNK / (work / count).max(1)).max(1);
    fill_pieces(&mut items, piece, scratch, fill);
    Ok(items)
}

/// Splits the indices below `count` into `parts`, and returns the range of part `number`.
fn part_of(count: usize, parts: usize, number: usize) -> Range<usize> {
    // The count may be a number of pairs that are never enumerated.
    let end = |number: usize| (number as u128 * count as u128 / parts as u128) as usize;
    end(number)..end(number + 1)
}

/// Returns `f` of the parts of the indices below `count`, in order. An index takes `picoseconds`.
///
/// There is one part per thread, if each part is large compared with its additional cost of `weight` items. The caller
/// must ensure that the result does not depend on the number of parts.
pub(crate) fn map_parts<U: Send>(
    count: usize,
    picoseconds: usize,
    weight: usize,
    f: impl Fn(Range<usize>) -> U + Sync,
) -> Few<U> {
    of_parts(count, parts_worth(count, picoseconds, weight), &f)
}

/// Returns the number of parts that save time if each part costs `weight` additional items; at least 1.
fn parts_worth(count: usize, picoseconds: usize, weight: usize) -> usize {
    let worth = weighed(count, picoseconds) / (2 * CHUNK + 2 * weighed(weight, picoseconds));
    if worth < 2 { 1 } else { pool::width().min(worth).max(1) }
}

/// Returns `f` of this number of parts of the indices below `count`, in order.
fn of_parts<U: Send>(count: usize, parts: usize, f: &(dyn Fn(Range<usize>) -> U + Sync)) -> Few<U> {
    match parts {
        1 => Few::One([f(0..count)]),
        _ => shared((0..parts).collect(), &|| (), &|(), number| f(part_of(count, parts, number))).into(),
    }
}

/// Returns `f` of each slice of `items` up to the next of `ends`, with its number, in order.
///
/// The ends are the ends of the parts of [`map_parts`], so each slice is worth a thread.
pub(crate) fn map_slices<T: Send, U: Send>(
    items: &mut [T],
    ends: &[usize],
    f: impl Fn(usize, &mut [T]) -> U + Sync,
) -> Few<U> {
    of_slices(items, ends, &f)
}

fn of_slices<T: Send, U: Send>(items: &mut [T], ends: &[usize], f: &(dyn Fn(usize, &mut [T]) -> U + Sync)) -> Few<U> {
    match ends {
        &[end] => Few::One([f(0, &mut items[..end])]),
        _ => shared(numbered_slices(items, ends), &|| (), &|(), (number, slice)| f(number, slice)).into(),
    }
}

/// Returns `f` of each item, in order. All items together have `work` entries. `scratch` is created once per thread.
pub(crate) fn map_each<S, A: Send, U: Send>(
    items: Few<A>,
    work: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, A) -> U + Sync,
) -> Few<U> {
    of_each(items, work, &scratch, &f)
}

fn of_each<S, A: Send, U: Send>(
    items: Few<A>,
    work: usize,
    scratch: &(dyn Fn() -> S + Sync),
    f: &(dyn Fn(&mut S, A) -> U + Sync),
) -> Few<U> {
    if items.len() < 2 || are_few(work) {
        let mut scratch = scratch();
        return items.map(&mut |item| f(&mut scratch, item));
    }
    shared(items.into_vec(), scratch, f).into()
}

/// Sorts by `compare`. Equal items must be identical, or the caller does not depend on their order.
pub(crate) fn sort<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if are_few(items.len()) { items.sort_unstable_by(compare) } else { pool::sort(items, compare) }
}

/// Returns the slices of [`split_at_ends`], each with its number.
fn numbered_slices<'a, T>(items: &'a mut [T], ends: &[usize]) -> Vec<(usize, &'a mut [T])> {
    split_at_ends(items, ends).into_iter().enumerate().collect()
}

/// Returns the slices of `items` up to each of `ends`, which do not decrease.
pub(crate) fn split_at_ends<'a, T>(mut items: &'a mut [T], ends: &[usize]) -> Few<&'a mut [T]> {
    let mut start = 0;
    let slice = |&end: &usize| {
        let (slice, rest) = std::mem::take(&mut items).split_at_mut(end - start);
        (items, start) = (rest, end);
        slice
    };
    ends.iter().map(slice).collect()
}

/// Calls `fill` to write items from the same number of values, chunk by chunk.
///
/// The code for threads only splits items into chunks, so it is compiled once per type of items. `fill` is a plain
/// loop.
pub(crate) fn chunks_into<T: Sync, U: Send>(
    values: &[T],
    items: &mut [U],
    picoseconds: usize,
    fill: impl Fn(&[T], &mut [U]) + Sync,
) {
    fill_chunks(items, picoseconds, &|start, chunk| fill(&values[start..start + chunk.len()], chunk));
}

/// Writes `f` of every value, in order, into the same number of items.
pub(crate) fn map_into<T: Copy + Sync, U: Send>(
    values: &[T],
    items: &mut [U],
    picoseconds: usize,
    f: impl Fn(T) -> U + Sync,
) {
    chunks_into(values, items, picoseconds, |values, items| {
        items.iter_mut().zip(values).for_each(|(item, &value)| *item = f(value));
    });
}

/// [`map_into`] for tests of a few instructions without branches, in SIMD.
pub(crate) fn test_into<T: Copy + Sync>(
    values: &[T],
    answers: &mut [bool],
    picoseconds: usize,
    f: impl Fn(T) -> bool + Copy + Sync,
) {
    chunks_into(values, answers, picoseconds, |values, answers| {
        in_wide_vectors(
            #[inline(always)]
            || {
                // The local copy stays in registers. Without the copy, the contents of `f` would be read again after
                // each answer.
                let test = f;
                // A `for_each` may become a separate function without SIMD.
                for (answer, &value) in answers.iter_mut().zip(values) {
                    *answer = test(value);
                }
            },
        );
    });
}

/// [`map_into`] for a function that may fail for a value, in a few instructions of SIMD.
///
/// Returns the first value without a result, which is the same for any number of threads.
pub(crate) fn try_map_into<T: Copy + Sync, U: Zeroable + Send>(
    values: &[T],
    items: &mut [U],
    picoseconds: usize,
    f: impl Fn(T) -> Option<U> + Copy + Sync,
) -> Option<usize> {
    let first = AtomicUsize::new(usize::MAX);
    fill_chunks(items, picoseconds, &|start, items| {
        let values = &values[start..start + items.len()];
        let all_have_one = in_wide_vectors(
            #[inline(always)]
            || {
                let (f, mut all_have_one) = (f, true);
                for (item, &value) in items.iter_mut().zip(values) {
                    let result = f(value);
                    all_have_one &= result.is_some();
                    *item = result.unwrap_or(U::zeroed());
                }
                all_have_one
            },
        );
        if !all_have_one && let Some(at) = values.iter().position(|&value| f(value).is_none()) {
            first.fetch_min(start + at, Relaxed);
        }
    });
    Some(first.into_inner()).filter(|&at| at < usize::MAX)
}

/// Returns `count` items of `picoseconds` each. `fill` receives each part of them as zeros, with its range.
pub(crate) fn filled<T: Zeroable + Send>(
    count: usize,
    picoseconds: usize,
    fill: impl Fn(Range<usize>, &mut [T]) + Sync + Send,
) -> Allocated<Vec<T>> {
    let mut items = alloc::zeros(count)?;
    fill_parts(&mut items, picoseconds, fill);
    Ok(items)
}

/// [`filled`] for existing items.
pub(crate) fn fill_parts<T: Send>(
    items: &mut [T],
    picoseconds: usize,
    fill: impl Fn(Range<usize>, &mut [T]) + Sync + Send,
) {
    if parts_worth(items.len(), picoseconds, 0) == 1 {
        return fill(0..items.len(), items);
    }
    let ends = map_parts(items.len(), picoseconds, 0, |part| part.end);
    map_slices(items, &ends, |part, slots| fill(ends[part] - slots.len()..ends[part], slots));
}

/// [`map_heavy`] for a function that may fail. Returns the first error, which is the same for any number of threads.
///
/// After an error, `blank` fills the failed and skipped items of a list that is not returned.
pub(crate) fn try_map_heavy<S, U: Clone + Send + Sync, E: From<AllocError> + Send>(
    count: usize,
    work: usize,
    blank: U,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize) -> Result<U, E> + Sync + Send,
) -> Result<Vec<U>, E> {
    // The list has items instead of results, because a result would be larger than an item.
    let failed = FirstFailure { first: AtomicUsize::new(usize::MAX), error: Mutex::new(None) };
    let mapped = heavy(count, work, blank, &scratch, &|scratch, start, items| {
        // Chunks after the first failed index are skipped.
        if start > failed.first.load(Relaxed) {
            return;
        }
        for (at, item) in items.iter_mut().enumerate() {
            match f(scratch, start + at) {
                Ok(result) => *item = result,
                Err(error) => return failed.note(start + at, error),
            }
        }
    })?;
    match failed.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(mapped),
        Some(error) => Err(error),
    }
}

/// The first failed index, and its error.
struct FirstFailure<E> {
    first: AtomicUsize,
    error: Mutex<Option<E>>,
}

impl<E> FirstFailure<E> {
    fn note(&self, index: usize, error: E) {
        let mut noted = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if index <= self.first.fetch_min(index, Relaxed) {
            *noted = Some(error);
        }
    }
}

/// Returns the results that `f` has for the indices below `count`, in order. One call is one search.
///
/// `scratch` is created once per part.
pub(crate) fn filter_map_range<S, U: Copy + Send>(
    count: usize,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize) -> Option<U> + Sync + Send,
) -> Allocated<Vec<U>> {
    let found = |part: Range<usize>| {
        let mut scratch = scratch();
        alloc::collect_some(part.filter_map(|index| f(&mut scratch, index)))
    };
    // There are more parts than threads, since some parts may take longer.
    let parts = of_parts(count, (PIECES * pool::width()).min(count / SEARCHES).max(1), &found);
    alloc::concat(parts.into_iter().collect::<Allocated<_>>()?)
}
