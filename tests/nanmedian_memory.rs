//! The memory of medians of arrays that repeat what they hold, and of those that hold little but NaN.

#![cfg(feature = "rayon")]

use crate::{ALONE, MEMORY};
use lacuna::Axes;
use lacuna::prelude::*;
use ndarray::{Array1, ArrayView2, Axis, arr0};

/// The medians of the rows by eight threads, and the peak of memory beyond what was there before.
fn medians_and_peak(view: &ArrayView2<'_, f64>) -> (Vec<f64>, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let medians = pool.install(|| view.nanmedian(1)).unwrap();
    let peak = MEMORY.peak_usage() - before;
    (medians.into_raw_vec_and_offset().0, peak)
}

/// Numbers broadcast to lanes of 512 KiB each: at first every thread copied a lane of its own, so that 8 bytes took
/// 2.1 GB where lanes of 512 MiB met 4 threads, whatever the limit of a single lane said. Of equal lanes only
/// one is gone through, so these differ.
#[test]
fn lanes_longer_than_the_array_are_copied_once_and_not_once_a_thread() {
    const LANE: usize = 1 << 16;
    let _alone = ALONE.lock();
    let numbers = Array1::from_iter((0..24).map(f64::from));
    let column = numbers.view().insert_axis(Axis(1));
    let (medians, peak) = medians_and_peak(&column.broadcast((24, LANE)).unwrap());
    assert_eq!(medians, numbers.to_vec());
    assert!(peak < 3 * LANE * size_of::<f64>(), "{peak} bytes at the peak");
}

/// Room for every value was made before NaN was left out: 763 MiB for 10^8 of them.
#[test]
fn room_is_made_for_the_numbers_of_a_lane_alone() {
    let _alone = ALONE.lock();
    let mut values = Array1::from_elem(1 << 20, f64::NAN);
    values[77_777] = 2.0;
    let (medians, peak) = medians_and_peak(&values.view().insert_axis(Axis(0)));
    assert_eq!(medians, [2.0]);
    assert!(peak < 1 << 20, "{peak} bytes at the peak");
}

/// What groups keep for each of their elements' shares is larger than 16 bytes: 45 million single `u8` were refused, by
/// the bytes of what the user never sees.
#[test]
fn groups_of_one_small_element_take_no_more_than_their_gradients() {
    const COUNT: usize = 1 << 20;
    let _alone = ALONE.lock();
    let (x, upstream) = (arr0(3u8), arr0(0.5f32));
    let (x, upstream) = (x.broadcast(COUNT).unwrap(), upstream.broadcast(COUNT).unwrap());
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let dx = x.nanmedian_backward(&upstream, Axes::none()).unwrap();
    let peak = MEMORY.peak_usage() - before;
    assert!(dx.len() == COUNT && dx.iter().all(|&gradient| gradient == 0.5));
    assert!(peak < COUNT * size_of::<f32>() + (64 << 10), "{peak} bytes at the peak");
}
