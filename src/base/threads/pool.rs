//! The only file that uses rayon. Only the sort is generic, so the other functions are compiled once.
//!
//! Without the feature `rayon`, the current thread is the only one. A waiting thread may run work of another caller.
//! The byte limit of the waiting thread does not apply to this work. The thread limit of the waiting thread may apply,
//! but does not change results.

use std::cell::Cell;
use std::cmp::Ordering;

#[cfg(feature = "rayon")]
use crate::base::limit::within;

thread_local! {
    /// The maximum number of threads for the work of this thread, while several computations share the threads.
    static SHARE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Runs `work` with at most this number of threads.
pub(super) fn with_share<R>(max_threads: usize, work: impl FnOnce() -> R) -> R {
    let _before = RestoreThreads(SHARE.replace(max_threads));
    work()
}

/// The number of threads that applies again after this value is dropped.
struct RestoreThreads(usize);

impl Drop for RestoreThreads {
    fn drop(&mut self) {
        SHARE.set(self.0);
    }
}

/// Returns the number of threads.
#[cfg(feature = "rayon")]
pub(super) fn all() -> usize {
    rayon::current_num_threads()
}

/// Returns the number of threads that work at once.
#[cfg(feature = "rayon")]
pub(super) fn width() -> usize {
    all().min(SHARE.get())
}

/// Calls `work` on all threads, but on at most `max_threads`, and waits for all calls.
///
/// If the other threads are busy, the calls run one after the other. Each call processes the remaining items.
#[cfg(feature = "rayon")]
pub(super) fn on_threads(max_threads: usize, work: &(dyn Fn() + Sync)) {
    use rayon::prelude::*;
    within(None, || (0..max_threads.min(width())).into_par_iter().with_max_len(1).for_each(|_| work()));
}

/// Calls `there` on the pool, and `here` on this thread at the same time.
#[cfg(feature = "rayon")]
pub(super) fn at_once(there: &mut (dyn FnMut() + Send), here: &mut dyn FnMut()) {
    let both = || {
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| there());
            here();
        });
    };
    within(None, both);
}

/// Sorts by `compare`, with equal items in any order.
#[cfg(feature = "rayon")]
pub(super) fn sort<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    use rayon::prelude::*;
    within(None, || items.par_sort_unstable_by(compare));
}

#[cfg(not(feature = "rayon"))]
pub(super) fn all() -> usize {
    1
}

#[cfg(not(feature = "rayon"))]
pub(super) fn width() -> usize {
    1
}

#[cfg(not(feature = "rayon"))]
pub(super) fn on_threads(_: usize, work: &(dyn Fn() + Sync)) {
    work();
}

#[cfg(not(feature = "rayon"))]
pub(super) fn at_once(there: &mut (dyn FnMut() + Send), here: &mut dyn FnMut()) {
    there();
    here();
}

#[cfg(not(feature = "rayon"))]
pub(super) fn sort<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    items.sort_unstable_by(compare);
}
