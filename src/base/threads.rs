//! The one file that knows threads: with the feature `rayon` long work is shared out, without it runs here.
//!
//! Every helper gives the same bits at any number of threads: items are independent, and their order is kept.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use bytemuck::Zeroable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::machine::in_wide_vectors;

/// Fewer items than this are not worth a thread, where one takes [`ITEM`]. Not optimised, as tests run, an item takes
/// more than thirty times as long.
#[cfg(feature = "rayon")]
const CHUNK: usize = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 15 };

/// The picoseconds of an item of which a [`CHUNK`] is worth a thread: a fifth of a millisecond for all of them, some
/// four times what it takes to wake a thread. What costs less says so, in the picoseconds that an item takes in a
/// cache.
#[cfg(feature = "rayon")]
const ITEM: usize = 6000;

/// So many items as take as long as `count` of so many picoseconds.
#[cfg(feature = "rayon")]
fn weighed(count: usize, picoseconds: usize) -> usize {
    (count as u128 * picoseconds as u128 / ITEM as u128).try_into().unwrap_or(usize::MAX)
}

/// The items of so many picoseconds that are worth a thread.
#[cfg(feature = "rayon")]
fn chunk_of(picoseconds: usize) -> usize {
    (CHUNK * ITEM / picoseconds.max(1)).max(1)
}

/// What a thread has to do is cut in so many pieces, so that none waits long for another.
#[cfg(feature = "rayon")]
const PIECES: usize = 8;

/// Whether items are too few for two threads, or there are no two. A single one of a pool would only be waited for.
#[cfg(feature = "rayon")]
fn are_few(items: usize) -> bool {
    items < 2 * CHUNK || rayon::current_num_threads() < 2
}

/// Fewer searches than this are not worth a thread.
#[cfg(feature = "rayon")]
const SEARCHES: usize = 1 << 10;

/// The items of a [`pipeline`] that a thread works on before the next ones are fetched.
#[cfg(all(feature = "rayon", feature = "io"))]
const BATCH: usize = 4;

#[cfg(feature = "rayon")]
mod imp {
    use super::*;
    use rayon::prelude::*;

    /// `f` of every value, in order, which takes so many `picoseconds`.
    pub(crate) fn map<T: Copy + Sync, U: Send>(
        values: &[T],
        picoseconds: usize,
        f: impl Fn(T) -> U + Sync + Send,
    ) -> Allocated<Vec<U>> {
        let mut mapped = alloc::with_capacity(values.len())?;
        match are_shared(values.len(), picoseconds) {
            true => {
                let least = chunk_of(picoseconds) / PIECES;
                values.par_iter().with_min_len(least).map(|&value| f(value)).collect_into_vec(&mut mapped);
            }
            false => mapped.extend(values.iter().map(|&value| f(value))),
        }
        Ok(mapped)
    }

    /// Whether `f` says yes to a chunk of the items; chunks that nobody has begun when it does are left out.
    pub(crate) fn any_chunk<T: Sync>(items: &[T], picoseconds: usize, f: impl Fn(&[T]) -> bool + Sync + Send) -> bool {
        // The first ones are looked at here: where one of them says yes, waking the threads would take longer.
        let chunk = chunk_of(picoseconds);
        let (first, rest) = items.split_at(items.len().min(2 * chunk));
        let is_short = rest.len() < chunk || rayon::current_num_threads() < 2;
        f(first) || if is_short { f(rest) } else { rest.par_chunks((chunk / PIECES).max(1)).any(f) }
    }

    /// Whether so many items, of so many `picoseconds` each, are worth the threads that there are.
    pub(crate) fn are_shared(count: usize, picoseconds: usize) -> bool {
        count >= 2 * chunk_of(picoseconds) && rayon::current_num_threads() > 1
    }

    /// Fills the items chunk by chunk, each of which takes so many `picoseconds`; `fill` is told where its chunk
    /// starts.
    pub(crate) fn fill_chunks<U: Send>(items: &mut [U], picoseconds: usize, fill: &(dyn Fn(usize, &mut [U]) + Sync)) {
        if !are_shared(items.len(), picoseconds) {
            return fill(0, items);
        }
        let piece = (chunk_of(picoseconds) / PIECES).max(1);
        items.par_chunks_mut(piece).enumerate().for_each(|(at, items)| fill(at * piece, items));
    }

    /// `f` of every index below `count`, in order, where the calls go through `work` items in all; `scratch` is made
    /// once for each share of the work.
    pub(crate) fn map_heavy<S, U: Send>(
        count: usize,
        work: usize,
        scratch: impl Fn() -> S + Sync + Send,
        f: impl Fn(&mut S, usize) -> U + Sync + Send,
    ) -> Allocated<Vec<U>> {
        if count < 2 || are_few(work) {
            let mut scratch = scratch();
            return alloc::collect((0..count).map(|index| f(&mut scratch, index)));
        }
        let mut mapped = alloc::with_capacity(count)?;
        let share = (CHUNK / (work / count).max(1)).max(1);
        (0..count).into_par_iter().with_min_len(share).map_init(scratch, f).collect_into_vec(&mut mapped);
        Ok(mapped)
    }

    /// `f` of the parts that the indices below `count` fall into, in order, of so many `picoseconds` each: one a
    /// thread, if a part is worth the cost of `weight` items that each one has besides. The caller knows that the
    /// outcome does not depend on how many they are.
    pub(crate) fn map_parts<U: Send>(
        count: usize,
        picoseconds: usize,
        weight: usize,
        f: impl Fn(Range<usize>) -> U + Sync + Send,
    ) -> Vec<U> {
        let worth = weighed(count, picoseconds) / (2 * CHUNK + 2 * weighed(weight, picoseconds));
        let parts = rayon::current_num_threads().min(worth).max(1);
        let part = |number: usize| f(number * count / parts..(number + 1) * count / parts);
        if parts == 1 { vec![part(0)] } else { (0..parts).into_par_iter().map(part).collect() }
    }

    /// `f` of each of the slices that `items` falls into at `ends`, with its number, in order: those of [`map_parts`],
    /// which are as many as pay.
    pub(crate) fn map_slices<T: Send, U: Send>(
        items: &mut [T],
        ends: &[usize],
        f: impl Fn(usize, &mut [T]) -> U + Sync + Send,
    ) -> Vec<U> {
        let slices = split_at_ends(items, ends);
        let numbered = |(number, slice): (usize, &mut [T])| f(number, slice);
        match slices.len() < 2 {
            true => slices.into_iter().enumerate().map(numbered).collect(),
            false => slices.into_par_iter().enumerate().map(numbered).collect(),
        }
    }

    /// `f` of each item, in order, which together are `work` entries long; `scratch` is made once for each share of
    /// them.
    pub(crate) fn map_each<S, A: Send, U: Send>(
        items: Vec<A>,
        work: usize,
        scratch: impl Fn() -> S + Sync + Send,
        f: impl Fn(&mut S, A) -> U + Sync + Send,
    ) -> Vec<U> {
        if items.len() < 2 || are_few(work) {
            let mut scratch = scratch();
            return items.into_iter().map(|item| f(&mut scratch, item)).collect();
        }
        items.into_par_iter().map_init(scratch, f).collect()
    }

    /// The lists that `f` gives of the parts that the indices below `count` fall into, where an index is a search; in
    /// order, and more parts than threads, as some may take longer.
    pub(crate) fn search_parts<U: Send>(
        count: usize,
        f: impl Fn(Range<usize>) -> Allocated<Vec<U>> + Sync + Send,
    ) -> Vec<Allocated<Vec<U>>> {
        let parts = (8 * rayon::current_num_threads()).min(count / SEARCHES).max(1);
        let part = |number: usize| f(number * count / parts..(number + 1) * count / parts);
        if parts == 1 { vec![part(0)] } else { (0..parts).into_par_iter().map(part).collect() }
    }

    /// Hands each item that `next` gives through `work` to `take`, in order, until one of them fails.
    ///
    /// `next` and `take` run here, where reading and writing belong, and `work` on the pool at the same time: while
    /// one batch is worked on, the results before it are taken and the items after it are fetched.
    #[cfg(feature = "io")]
    pub(crate) fn pipeline<A: Send, B: Send, E>(
        next: impl FnMut() -> Result<Option<A>, E>,
        work: impl Fn(A) -> B + Sync + Send,
        mut take: impl FnMut(B) -> Result<(), E>,
    ) -> Result<(), E> {
        let width = rayon::current_num_threads();
        let mut source = Source { next, failed: None };
        let mut batch = source.fetch(if width == 1 { 1 } else { BATCH * width });
        if batch.len() < 2 {
            return source.one_by_one(batch, work, take);
        }
        let mut results = Vec::new();
        while !batch.is_empty() || !results.is_empty() {
            let mut worked = Vec::new();
            let (taken, fetched) = rayon::in_place_scope(|scope| {
                scope.spawn(|_| worked = batch.into_par_iter().with_max_len(1).map(&work).collect());
                let taken = results.drain(..).try_for_each(&mut take);
                (taken, source.fetch(BATCH * width))
            });
            taken?;
            (results, batch) = (worked, fetched);
        }
        source.failed.map_or(Ok(()), Err)
    }

    /// Where the items of a [`pipeline`] come from; what goes wrong there is kept until those before it are through.
    #[cfg(feature = "io")]
    struct Source<F, E> {
        next: F,
        failed: Option<E>,
    }

    #[cfg(feature = "io")]
    impl<A, E, F: FnMut() -> Result<Option<A>, E>> Source<F, E> {
        /// Up to `count` items.
        fn fetch(&mut self, count: usize) -> Vec<A> {
            let mut items = Vec::new();
            while items.len() < count && self.failed.is_none() {
                match (self.next)() {
                    Ok(Some(item)) => items.push(item),
                    Ok(None) => break,
                    Err(error) => self.failed = Some(error),
                }
            }
            items
        }

        /// The pipeline without threads: for one thread, and for a single item.
        fn one_by_one<B>(
            mut self,
            mut items: Vec<A>,
            work: impl Fn(A) -> B,
            mut take: impl FnMut(B) -> Result<(), E>,
        ) -> Result<(), E> {
            while let Some(item) = items.pop() {
                take(work(item))?;
                items = self.fetch(1);
            }
            self.failed.map_or(Ok(()), Err)
        }
    }

    /// Sorts by `compare`, which tells all items apart, so that no order among equals is left open.
    pub(crate) fn sort<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        if are_few(items.len()) { items.sort_unstable_by(compare) } else { items.par_sort_unstable_by(compare) }
    }
}

#[cfg(not(feature = "rayon"))]
mod imp {
    use super::*;

    /// `f` of every value, in order.
    pub(crate) fn map<T: Copy, U>(values: &[T], _: usize, f: impl Fn(T) -> U) -> Allocated<Vec<U>> {
        alloc::collect(values.iter().map(|&value| f(value)))
    }

    /// No items are shared.
    pub(crate) fn are_shared(_: usize, _: usize) -> bool {
        false
    }

    /// Fills the items, which are one chunk.
    pub(crate) fn fill_chunks<U>(items: &mut [U], _: usize, fill: &(dyn Fn(usize, &mut [U]) + Sync)) {
        fill(0, items);
    }

    /// `f` of every index below `count`, in order, with one `scratch` for all.
    pub(crate) fn map_heavy<S, U>(
        count: usize,
        _: usize,
        scratch: impl Fn() -> S,
        f: impl Fn(&mut S, usize) -> U,
    ) -> Allocated<Vec<U>> {
        let mut scratch = scratch();
        alloc::collect((0..count).map(|index| f(&mut scratch, index)))
    }

    /// `f` of all indices below `count`, as one part.
    pub(crate) fn map_parts<U>(count: usize, _: usize, _: usize, f: impl Fn(Range<usize>) -> U) -> Vec<U> {
        vec![f(0..count)]
    }

    /// `f` of each of the slices that `items` falls into at `ends`, with its number, in order.
    pub(crate) fn map_slices<T, U>(items: &mut [T], ends: &[usize], f: impl Fn(usize, &mut [T]) -> U) -> Vec<U> {
        split_at_ends(items, ends).into_iter().enumerate().map(|(number, slice)| f(number, slice)).collect()
    }

    /// Whether `f` says yes to the items.
    pub(crate) fn any_chunk<T>(items: &[T], _: usize, f: impl Fn(&[T]) -> bool) -> bool {
        f(items)
    }

    /// `f` of each item, in order, with one `scratch` for all.
    pub(crate) fn map_each<S, A, U>(
        items: Vec<A>,
        _: usize,
        scratch: impl Fn() -> S,
        f: impl Fn(&mut S, A) -> U,
    ) -> Vec<U> {
        let mut scratch = scratch();
        items.into_iter().map(|item| f(&mut scratch, item)).collect()
    }

    /// The list that `f` gives of all indices below `count`, as one part.
    pub(crate) fn search_parts<U>(
        count: usize,
        f: impl Fn(Range<usize>) -> Allocated<Vec<U>>,
    ) -> Vec<Allocated<Vec<U>>> {
        vec![f(0..count)]
    }

    /// Hands each item that `next` gives through `work` to `take`, in order, until one of them fails.
    #[cfg(feature = "io")]
    pub(crate) fn pipeline<A, B, E>(
        mut next: impl FnMut() -> Result<Option<A>, E>,
        work: impl Fn(A) -> B,
        mut take: impl FnMut(B) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(item) = next()? {
            take(work(item))?;
        }
        Ok(())
    }

    /// Sorts by `compare`, which tells all items apart, so that no order among equals is left open.
    pub(crate) fn sort<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
        items.sort_unstable_by(compare);
    }
}

/// The slices that `items` falls into: up to each of `ends`, which do not decrease and end at the last one.
pub(crate) fn split_at_ends<'a, T>(mut items: &'a mut [T], ends: &[usize]) -> Vec<&'a mut [T]> {
    let mut start = 0;
    let next = |&end: &usize| {
        let (slice, rest) = std::mem::take(&mut items).split_at_mut(end - start);
        (items, start) = (rest, end);
        slice
    };
    ends.iter().map(next).collect()
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
    imp::fill_chunks(items, picoseconds, &|start, chunk| fill(&values[start..start + chunk.len()], chunk));
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

/// [`map_into`] of what may have no result, in a few instructions by wide vectors: the first value that has none, at any
/// number of threads.
pub(crate) fn try_map_into<T: Copy + Sync, U: Zeroable + Send>(
    values: &[T],
    items: &mut [U],
    picoseconds: usize,
    f: impl Fn(T) -> Option<U> + Copy + Sync,
) -> Option<usize> {
    let first = AtomicUsize::new(usize::MAX);
    imp::fill_chunks(items, picoseconds, &|start, items| {
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
    let ends = imp::map_parts(count, picoseconds, 0, |part| part.end);
    imp::map_slices(&mut items, &ends, |part, slots| fill(ends[part] - slots.len()..ends[part], slots));
    Ok(items)
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
    let (first, failed) = (AtomicUsize::new(usize::MAX), Mutex::new(None));
    let mapped = map_heavy(count, work, scratch, |scratch, index| {
        // Behind the first that failed nothing is asked for.
        if index > first.load(Relaxed) {
            return blank.clone();
        }
        f(scratch, index).unwrap_or_else(|error| {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if index <= first.fetch_min(index, Relaxed) {
                *failed = Some(error);
            }
            blank.clone()
        })
    })?;
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(mapped), Err)
}

/// What `f` has to give of every index below `count`, in order, where one call is a search; `scratch` is made once for
/// each share of them.
pub(crate) fn filter_map_range<S, U: Copy + Send>(
    count: usize,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize) -> Option<U> + Sync + Send,
) -> Allocated<Vec<U>> {
    let parts = imp::search_parts(count, |part| {
        let mut scratch = scratch();
        alloc::collect_some(part.filter_map(|index| f(&mut scratch, index)))
    });
    alloc::concat(parts.into_iter().collect::<Allocated<_>>()?)
}

#[cfg(feature = "io")]
pub(crate) use imp::pipeline;
pub(crate) use imp::{any_chunk, are_shared, map, map_each, map_heavy, map_parts, map_slices, sort};

#[cfg(test)]
#[cfg(feature = "rayon")]
mod tests {
    use super::*;
    use std::collections::HashSet;
    #[cfg(feature = "io")]
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Condvar, Mutex};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    /// The threads that have come by, and the milliseconds that they will still wait for a second one.
    struct Meeting {
        met: Mutex<(HashSet<ThreadId>, u64)>,
        changed: Condvar,
    }

    impl Meeting {
        fn wait(&self) -> usize {
            self.wait_for(u64::MAX)
        }

        /// Waits so many milliseconds at most; how many threads have met.
        fn wait_for(&self, most: u64) -> usize {
            let mut met = self.met.lock().unwrap();
            met.0.insert(thread::current().id());
            self.changed.notify_all();
            let most = most.min(met.1);
            met.1 -= most;
            let waited = self.changed.wait_timeout_while(met, Duration::from_millis(most), |met| met.0.len() < 2);
            waited.unwrap().0.0.len()
        }
    }

    type Work = Box<dyn FnOnce(&Meeting) + Send>;

    /// How many of two threads do the work.
    fn threads_of(work: Work, patience: u64) -> usize {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let meeting = Meeting { met: Mutex::new((HashSet::new(), patience)), changed: Condvar::new() };
        pool.install(|| work(&meeting));
        meeting.met.into_inner().unwrap().0.len()
    }

    /// Every helper at work on items, `count` in all.
    fn calls(count: usize) -> Vec<(&'static str, Work)> {
        let items = vec![0u8; count];
        let mut slots = vec![0; count];
        let parts = items.clone();
        // rayon itself sorts up to 2,000 on one thread.
        let sorted = if count < 2 * CHUNK { count } else { count + 4_000 };
        let mut numbers: Vec<u64> = (0..sorted as u64).map(|item| item * 0x9E37_79B9 % 0x1_0000_0001).collect();
        let searches = count / CHUNK * SEARCHES + count % CHUNK % SEARCHES;
        let pieces = count.div_ceil(CHUNK);
        vec![
            ("map", Box::new(move |meeting| drop(map(&items, ITEM, |_| meeting.wait())))),
            (
                "fill_chunks",
                Box::new(move |meeting| imp::fill_chunks(&mut slots, ITEM, &|_, slots| slots[0] = meeting.wait())),
            ),
            ("map_heavy", Box::new(move |meeting| drop(map_heavy(pieces, count, || (), |_, _| meeting.wait())))),
            (
                "filled",
                Box::new(move |meeting| {
                    let fill = |_, slots: &mut [u8]| slots[0] = meeting.wait() as u8;
                    drop(filled(2 * parts.len(), ITEM, fill));
                }),
            ),
            ("map_each", Box::new(move |meeting| drop(map_each(vec![0; pieces], count, || (), |_, _| meeting.wait())))),
            (
                "filter_map_range",
                Box::new(move |meeting| drop(filter_map_range(searches, || (), |_, _| Some(meeting.wait())))),
            ),
            (
                "sort",
                Box::new(move |meeting| {
                    sort(&mut numbers, |one, other| {
                        // Numbers are compared once with each other before they are shared.
                        meeting.wait_for(u64::from(one % 30 == 0));
                        one.cmp(other)
                    });
                }),
            ),
        ]
    }

    #[test]
    fn work_of_two_chunks_and_more_is_shared() {
        for (name, work) in calls(2 * CHUNK).into_iter().chain(calls(3 * CHUNK)) {
            assert_eq!(threads_of(work, 20_000), 2, "{name}");
        }
    }

    #[test]
    fn shorter_work_stays_on_its_thread() {
        assert!(are_few(2 * CHUNK - 1));
        for (name, work) in calls(2 * CHUNK - 1) {
            assert_eq!(threads_of(work, 20), 1, "{name}");
        }
    }

    #[test]
    fn one_piece_of_work_stays_on_its_thread() {
        let long = 8 * CHUNK;
        let pieces: [Work; 2] = [
            Box::new(move |meeting| drop(map_heavy(1, long, || (), |_, _| meeting.wait()))),
            Box::new(move |meeting| drop(map_each(vec![0], long, || (), |_, _| meeting.wait()))),
        ];
        pieces.into_iter().for_each(|work| assert_eq!(threads_of(work, 20), 1));
    }

    #[test]
    fn chunks_are_shared_after_the_first_two_if_these_say_no() {
        let items = vec![0u8; 8 * CHUNK];
        let seen = Mutex::new(Vec::new());
        assert!(any_chunk(&items, ITEM, |chunk| {
            seen.lock().unwrap().push((chunk.len(), thread::current().id()));
            true
        }));
        assert_eq!(*seen.lock().unwrap(), [(2 * CHUNK, thread::current().id())]);
        let shared: Work = Box::new(move |meeting| {
            any_chunk(&items, ITEM, |chunk| {
                if chunk.len() < 2 * CHUNK {
                    meeting.wait();
                }
                false
            });
        });
        assert_eq!(threads_of(shared, 20_000), 2);
    }

    #[test]
    fn small_pieces_of_work_are_shared_a_chunk_at_a_time() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let shares = AtomicUsize::new(0);
        let scratch = || {
            shares.fetch_add(1, Relaxed);
        };
        pool.install(|| map_heavy(2 * CHUNK, 2 * CHUNK, scratch, |_, _| ())).unwrap();
        assert_eq!(shares.into_inner(), 2);
    }

    /// How many items were fetched and how many were worked on when the first result is taken.
    #[cfg(feature = "io")]
    fn ahead(threads: usize, count: usize) -> (usize, usize) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (fetched, worked, mut first) = (AtomicUsize::new(0), AtomicUsize::new(0), None);
        let next = || Ok((fetched.fetch_add(1, Relaxed) < count).then_some(()));
        let work = |()| {
            worked.fetch_add(1, Relaxed);
        };
        let taken = pool.install(|| {
            pipeline(next, work, |()| {
                first.get_or_insert((fetched.load(Relaxed), worked.load(Relaxed)));
                Ok::<_, Infallible>(())
            })
        });
        assert_eq!((taken, worked.into_inner()), (Ok(()), count));
        first.unwrap()
    }

    #[cfg(feature = "io")]
    #[test]
    fn a_pipeline_is_two_batches_ahead_of_what_is_taken() {
        let (fetched, worked) = ahead(3, 100);
        assert!(fetched == 2 * BATCH * 3 && worked >= BATCH * 3, "{fetched}, {worked}");
        // Both are worked on at once; the end of the items was seen twice.
        assert_eq!(ahead(3, 2), (4, 2));
        assert_eq!(ahead(3, 1), (2, 1));
        assert_eq!(ahead(1, 100), (1, 1));
    }

    #[test]
    fn the_first_that_fails_is_the_error_at_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let failing = |fails: &(dyn Fn(usize) -> bool + Sync)| {
                let f = |(): &mut (), at: usize| if fails(at) { Err(AllocError::of::<u8>(at)) } else { Ok(at) };
                pool.install(|| try_map_heavy(40 * CHUNK, 40 * CHUNK, 0, || (), f))
            };
            for _ in 0..20 {
                assert_eq!(failing(&|at| at % 1000 == 77 && at > 5000), Err(AllocError::of::<u8>(5077)));
                assert_eq!(failing(&|at| at == 39 * CHUNK), Err(AllocError::of::<u8>(39 * CHUNK)));
            }
            assert_eq!(failing(&|_| false), Ok((0..40 * CHUNK).collect()));
        }
    }

    #[test]
    fn parts_are_as_many_as_pay_for_themselves() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let parts = |count, weight| pool.install(|| map_parts(count, ITEM, weight, |part| part));
        assert_eq!(parts(0, 0).len(), 1);
        assert_eq!(parts(4 * CHUNK - 1, 0).len(), 1);
        assert_eq!(parts(4 * CHUNK, 0), [0..2 * CHUNK, 2 * CHUNK..4 * CHUNK]);
        assert_eq!(parts(60 * CHUNK, 0), [0..20 * CHUNK, 20 * CHUNK..40 * CHUNK, 40 * CHUNK..60 * CHUNK]);
        // Each part costs as much as `weight` items more.
        assert_eq!(parts(12 * CHUNK - 1, 2 * CHUNK).len(), 1);
        assert_eq!(parts(12 * CHUNK, 2 * CHUNK).len(), 2);
        // And cheap items have to be more.
        let cheap = |count| pool.install(|| map_parts(count, ITEM / 100, 0, |part| part)).len();
        assert_eq!([cheap(400 * CHUNK - 1), cheap(400 * CHUNK), cheap(600 * CHUNK)], [1, 2, 3]);
    }
}
