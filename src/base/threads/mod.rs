//! Long work is shared out over the threads that there are.
//!
//! Every helper gives the same bits at any number of threads: items are independent, and their order is kept. What
//! there is to do stands in one iterator behind a lock, which threads take from until it is empty.

#[cfg(feature = "io")]
mod pipeline;
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

#[cfg(feature = "io")]
pub(crate) use pipeline::pipeline;

/// Fewer items than this are not worth a thread, where one takes [`ITEM`]. Not optimised, as tests run, an item takes
/// more than thirty times as long.
const CHUNK: usize = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 15 };

/// The picoseconds of an item of which a [`CHUNK`] is worth a thread: a fifth of a millisecond for all of them, some
/// four times what it takes to wake a thread. What costs less says so, in the picoseconds that an item takes in a
/// cache.
const ITEM: usize = 6000;

/// What a thread has to do is cut in so many pieces, so that none waits long for another.
const PIECES: usize = 8;

/// One thread fills so many items at once.
const BLOCK: usize = 1 << 10;

/// Fewer searches than this are not worth a thread.
const SEARCHES: usize = 1 << 10;

/// So many items as take as long as `count` of so many picoseconds.
fn weighed(count: usize, picoseconds: usize) -> usize {
    match count.checked_mul(picoseconds) {
        Some(all) => all / ITEM,
        // A wide division is a call, which a small tensor would notice.
        None => (count as u128 * picoseconds as u128 / ITEM as u128).try_into().unwrap_or(usize::MAX),
    }
}

/// The items of so many picoseconds that are worth a thread.
fn chunk_of(picoseconds: usize) -> usize {
    (CHUNK * ITEM / picoseconds.max(1)).max(1)
}

/// Whether items are too few for two threads, or there are no two. A single one of a pool would only be waited for.
fn are_few(items: usize) -> bool {
    items < 2 * CHUNK || pool::width() < 2
}

/// Whether so many items, of so many `picoseconds` each, are worth the threads that there are.
pub(crate) fn are_shared(count: usize, picoseconds: usize) -> bool {
    count >= 2 * chunk_of(picoseconds) && pool::width() > 1
}

/// The next of the items that are left, which nobody else gets.
fn next_of<I: Iterator>(left: &Mutex<I>) -> Option<I::Item> {
    left.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// `f` of each item, in order, on as many threads as there are; `scratch` is made once for each of them.
///
/// Here and below `f` is a trait object: a call of it is a part of the work, and what stands around it would be compiled
/// again for each closure.
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

/// How many threads work at once.
pub(crate) fn width() -> usize {
    pool::width()
}

/// What `work` gives with a share of the threads, for one of so many works that share them.
pub(crate) fn with_share_of<R>(works: usize, work: impl FnOnce() -> R) -> R {
    pool::with_share((pool::all() / works.max(1)).max(1), work)
}

/// What `there` gives, and what `here` gives at the same time; with one thread `here` comes first.
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

/// Whether `f` says yes to a chunk of the items; chunks that nobody has begun when it does are left out.
pub(crate) fn any_chunk<T: Sync>(items: &[T], picoseconds: usize, f: impl Fn(&[T]) -> bool + Sync) -> bool {
    // The first ones are looked at here: where one of them says yes, waking the threads would take longer.
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

/// Fills the items chunk by chunk, each of which takes so many `picoseconds`; `fill` is told where its chunk starts.
fn fill_chunks<U: Send>(items: &mut [U], picoseconds: usize, fill: &(dyn Fn(usize, &mut [U]) + Sync)) {
    if !are_shared(items.len(), picoseconds) {
        return fill(0, items);
    }
    let piece = (chunk_of(picoseconds) / PIECES).max(1);
    fill_pieces(items, piece, &|| (), &|(), start, items| fill(start, items));
}

/// Fills the items in pieces of this length; `scratch` is made once for each thread.
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

/// `f` of every value, in order, which takes so many `picoseconds`.
pub(crate) fn map<T: Copy + Sync, U: Zeroable + Send>(
    values: &[T],
    picoseconds: usize,
    f: impl Fn(T) -> U + Sync,
) -> Allocated<Vec<U>> {
    let mut mapped = alloc::zeros(values.len())?;
    map_into(values, &mut mapped, picoseconds, f);
    Ok(mapped)
}

/// `f` of every index below `count`, in order, where the calls go through `work` items in all; `scratch` is made
/// once for each thread. `blank` is what stands where nothing has been written yet.
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

/// `count` items, which `fill` writes from an index on: all at once, or in pieces where `work` is worth the threads.
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
        // Blanks are still in the cache when they are overwritten.
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

/// The range of the part `number` of `parts` that the indices below `count` fall into.
fn part_of(count: usize, parts: usize, number: usize) -> Range<usize> {
    // The count may be one of pairs that nobody goes through.
    let end = |number: usize| (number as u128 * count as u128 / parts as u128) as usize;
    end(number)..end(number + 1)
}

/// `f` of the parts that the indices below `count` fall into, in order, of so many `picoseconds` each: one a
/// thread, if a part is worth the cost of `weight` items that each one has besides. The caller knows that the
/// outcome does not depend on how many they are.
pub(crate) fn map_parts<U: Send>(
    count: usize,
    picoseconds: usize,
    weight: usize,
    f: impl Fn(Range<usize>) -> U + Sync,
) -> Few<U> {
    of_parts(count, parts_worth(count, picoseconds, weight), &f)
}

/// How many parts of so many items pay, each of which has the cost of `weight` items besides: one at least.
fn parts_worth(count: usize, picoseconds: usize, weight: usize) -> usize {
    let worth = weighed(count, picoseconds) / (2 * CHUNK + 2 * weighed(weight, picoseconds));
    if worth < 2 { 1 } else { pool::width().min(worth).max(1) }
}

/// `f` of so many parts of the indices below `count`, in order.
fn of_parts<U: Send>(count: usize, parts: usize, f: &(dyn Fn(Range<usize>) -> U + Sync)) -> Few<U> {
    match parts {
        1 => Few::One([f(0..count)]),
        _ => shared((0..parts).collect(), &|| (), &|(), number| f(part_of(count, parts, number))).into(),
    }
}

/// `f` of each of the slices that `items` falls into at `ends`, with its number, in order: those of [`map_parts`],
/// which are as many as pay.
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

/// `f` of each item, in order, which together are `work` entries long; `scratch` is made once for each thread.
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

/// Sorts by `compare`, which tells all items apart, so that no order among equals is left open.
pub(crate) fn sort<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if are_few(items.len()) { items.sort_unstable_by(compare) } else { pool::sort(items, compare) }
}

/// [`split_at_ends`], each with its number.
fn numbered_slices<'a, T>(items: &'a mut [T], ends: &[usize]) -> Vec<(usize, &'a mut [T])> {
    split_at_ends(items, ends).into_iter().enumerate().collect()
}

/// The slices that `items` falls into: up to each of `ends`, which do not decrease and end at the last one.
pub(crate) fn split_at_ends<'a, T>(mut items: &'a mut [T], ends: &[usize]) -> Few<&'a mut [T]> {
    let mut start = 0;
    let slice = |&end: &usize| {
        let (slice, rest) = std::mem::take(&mut items).split_at_mut(end - start);
        (items, start) = (rest, end);
        slice
    };
    ends.iter().map(slice).collect()
}

/// Lets `fill` write items from as many values, chunk by chunk.
///
/// The threads see chunks of items only, so their code is compiled once for a type of items, and `fill` is a plain
/// loop.
pub(crate) fn chunks_into<T: Sync, U: Send>(
    values: &[T],
    items: &mut [U],
    picoseconds: usize,
    fill: impl Fn(&[T], &mut [U]) + Sync,
) {
    fill_chunks(items, picoseconds, &|start, chunk| fill(&values[start..start + chunk.len()], chunk));
}

/// `f` of every value, in order, into as many items.
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

/// [`map_into`] for tests of a few instructions and without branches, by wide vectors.
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
                // What `f` holds would be read again after each answer if it stayed where it is.
                let test = f;
                // Not `for_each`, which may become a function of its own, without the vectors.
                for (answer, &value) in answers.iter_mut().zip(values) {
                    *answer = test(value);
                }
            },
        );
    });
}

/// [`map_into`] of what may have no result, in a few instructions by wide vectors: the first value that has none, at
/// any number of threads.
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

/// `count` items of so many `picoseconds`, of which `fill` is given one part after the other to write, with their
/// range: they are zero first.
pub(crate) fn filled<T: Zeroable + Send>(
    count: usize,
    picoseconds: usize,
    fill: impl Fn(Range<usize>, &mut [T]) + Sync + Send,
) -> Allocated<Vec<T>> {
    let mut items = alloc::zeros(count)?;
    fill_parts(&mut items, picoseconds, fill);
    Ok(items)
}

/// [`filled`] of items that are there.
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

/// [`map_heavy`] of what may fail: the error of the first that does, at any number of threads. `blank` stands in the
/// place of what failed and what was left out for it, in a list that nobody sees.
pub(crate) fn try_map_heavy<S, U: Clone + Send + Sync, E: From<AllocError> + Send>(
    count: usize,
    work: usize,
    blank: U,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize) -> Result<U, E> + Sync + Send,
) -> Result<Vec<U>, E> {
    // Not a list of results, each of which is larger than what is asked for.
    let failed = Failed { first: AtomicUsize::new(usize::MAX), error: Mutex::new(None) };
    let mapped = heavy(count, work, blank, &scratch, &|scratch, start, items| {
        // Behind the first that failed nothing is asked for.
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

/// The first index that failed, and its error.
struct Failed<E> {
    first: AtomicUsize,
    error: Mutex<Option<E>>,
}

impl<E> Failed<E> {
    fn note(&self, index: usize, error: E) {
        let mut noted = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if index <= self.first.fetch_min(index, Relaxed) {
            *noted = Some(error);
        }
    }
}

/// What `f` has to give of every index below `count`, in order, where one call is a search; `scratch` is made once for
/// each share of them.
pub(crate) fn filter_map_range<S, U: Copy + Send>(
    count: usize,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize) -> Option<U> + Sync + Send,
) -> Allocated<Vec<U>> {
    let found = |part: Range<usize>| {
        let mut scratch = scratch();
        alloc::collect_some(part.filter_map(|index| f(&mut scratch, index)))
    };
    // More parts than threads, as some may take longer.
    let parts = of_parts(count, (PIECES * pool::width()).min(count / SEARCHES).max(1), &found);
    alloc::concat(parts.into_iter().collect::<Allocated<_>>()?)
}
