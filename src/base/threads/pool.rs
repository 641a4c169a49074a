//! The one file that knows rayon, and nothing in it but the sort is generic: what it stamps is stamped once. Without
//! the feature there is one thread, this one.
//!
//! A thread that waits may be given work of somebody else, which the limits of its own do not bind; its share of the
//! threads may, which changes no result.

use std::cell::Cell;
use std::cmp::Ordering;

#[cfg(feature = "rayon")]
use crate::base::limit::within;

thread_local! {
    /// The most threads for what this one works on, where several such works share them.
    static SHARE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// What `work` gives with at most so many threads.
pub(super) fn with_share<R>(most: usize, work: impl FnOnce() -> R) -> R {
    let _before = Before(SHARE.replace(most));
    work()
}

/// The share that holds again when this goes.
struct Before(usize);

impl Drop for Before {
    fn drop(&mut self) {
        SHARE.set(self.0);
    }
}

/// How many threads there are.
#[cfg(feature = "rayon")]
pub(super) fn all() -> usize {
    rayon::current_num_threads()
}

/// How many threads work at once.
#[cfg(feature = "rayon")]
pub(super) fn width() -> usize {
    all().min(SHARE.get())
}

/// Calls `work` on as many threads as there are, `most` at most, and waits for all.
///
/// Where the others are busy the calls come one after the other: each takes what it finds left to do.
#[cfg(feature = "rayon")]
pub(super) fn on_threads(most: usize, work: &(dyn Fn() + Sync)) {
    use rayon::prelude::*;
    within(None, || (0..most.min(width())).into_par_iter().with_max_len(1).for_each(|_| work()));
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

/// Sorts by `compare`, which tells all items apart, so that no order among equals is left open.
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
