//! Tests of the number of threads that do the work, and of the parts of each thread.

use super::*;
#[cfg(feature = "io")]
use crate::base::threads::pipeline::pipeline;
use std::collections::HashSet;
#[cfg(feature = "io")]
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// The threads that have arrived, and the remaining milliseconds to wait for a second one.
struct Rendezvous {
    met: Mutex<(HashSet<ThreadId>, u64)>,
    changed: Condvar,
}

impl Rendezvous {
    fn wait(&self) -> usize {
        self.wait_for(u64::MAX)
    }

    /// Waits at most this number of milliseconds. Returns the number of threads that have met.
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

type Work = Box<dyn FnOnce(&Rendezvous) + Send>;

/// Returns how many of two threads do the work.
fn threads_of(work: Work, patience: u64) -> usize {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let meeting = Rendezvous { met: Mutex::new((HashSet::new(), patience)), changed: Condvar::new() };
    pool.install(|| work(&meeting));
    meeting.met.into_inner().unwrap().0.len()
}

/// Returns every helper with work on `count` items in all.
fn calls(count: usize) -> Vec<(&'static str, Work)> {
    let items = vec![0u8; count];
    let mut slots = vec![0; count];
    let parts = items.clone();
    // rayon sorts up to 2,000 items on one thread.
    let sorted = if count < 2 * CHUNK { count } else { count + 4_000 };
    let mut numbers: Vec<u64> = (0..sorted as u64).map(|item| item * 0x9E37_79B9 % 0x1_0000_0001).collect();
    let searches = count / CHUNK * SEARCHES + count % CHUNK % SEARCHES;
    let pieces = count.div_ceil(CHUNK);
    vec![
        ("map", Box::new(move |meeting| drop(map(&items, ITEM, |_| meeting.wait())))),
        ("fill_chunks", Box::new(move |meeting| fill_chunks(&mut slots, ITEM, &|_, slots| slots[0] = meeting.wait()))),
        ("map_heavy", Box::new(move |meeting| drop(map_heavy(pieces, count, 0, || (), |_, _| meeting.wait())))),
        (
            "filled",
            Box::new(move |meeting| {
                let fill = |_, slots: &mut [u8]| slots[0] = meeting.wait() as u8;
                drop(filled(2 * parts.len(), ITEM, fill));
            }),
        ),
        (
            "map_each",
            Box::new(move |meeting| drop(map_each(vec![0; pieces].into(), count, || (), |_, _| meeting.wait()))),
        ),
        (
            "filter_map_range",
            Box::new(move |meeting| drop(filter_map_range(searches, || (), |_, _| Some(meeting.wait())))),
        ),
        (
            "sort",
            Box::new(move |meeting| {
                sort(&mut numbers, |one, other| {
                    // The first comparisons run on one thread, before the numbers are split.
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
        Box::new(move |meeting| drop(map_heavy(1, long, 0, || (), |_, _| meeting.wait()))),
        Box::new(move |meeting| drop(map_each(Few::One([0]), long, || (), |_, _| meeting.wait()))),
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
    pool.install(|| map_heavy(2 * CHUNK, 2 * CHUNK, (), scratch, |_, _| ())).unwrap();
    assert_eq!(shares.into_inner(), 2);
}

/// Returns the number of items fetched and the number processed when the first result is taken.
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
    assert!(fetched == 2 * pipeline::BATCH * 3 && worked >= pipeline::BATCH * 3, "{fetched}, {worked}");
    // Both items are processed at the same time. The counts include two calls that return the end of the items.
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
    assert_eq!(parts(4 * CHUNK, 0)[..], [0..2 * CHUNK, 2 * CHUNK..4 * CHUNK]);
    assert_eq!(parts(60 * CHUNK, 0)[..], [0..20 * CHUNK, 20 * CHUNK..40 * CHUNK, 40 * CHUNK..60 * CHUNK]);
    // Each part has the additional cost of `weight` items.
    assert_eq!(parts(12 * CHUNK - 1, 2 * CHUNK).len(), 1);
    assert_eq!(parts(12 * CHUNK, 2 * CHUNK).len(), 2);
    // Cheap items must be more numerous.
    let cheap = |count| pool.install(|| map_parts(count, ITEM / 100, 0, |part| part)).len();
    assert_eq!([cheap(400 * CHUNK - 1), cheap(400 * CHUNK), cheap(600 * CHUNK)], [1, 2, 3]);
}
