//! The memory of medians of arrays that repeat what they hold.

#![cfg(feature = "rayon")]

use lacuna::prelude::*;
use ndarray::{Axis, arr0};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One number broadcast to lanes of 4 MiB each: at first every thread copied a lane of its own, so that 8 bytes took
/// 2.1 GB where lanes of 512 MiB met 4 threads, whatever the limit of a single lane said.
#[test]
fn lanes_longer_than_the_array_are_copied_once_and_not_once_a_thread() {
    const LANE: usize = 1 << 19;
    let one = arr0(1.5);
    let view = one.broadcast((24, LANE)).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let medians = pool.install(|| view.nanmedian(1)).unwrap();
    let peak = MEMORY.peak_usage() - before;
    assert!(medians.iter().all(|&median| median == 1.5) && medians.len_of(Axis(0)) == 24);
    assert!(peak < 2 * LANE * size_of::<f64>(), "{peak} bytes at the peak");
}
