//! The memory of what is taken along an axis, and of windows.

use crate::{ALONE, MEMORY};
use lacuna::ndarray::{Array1, s};
use lacuna::{CooTensor, CsrTensor, Error};

/// The peak of memory of `run`, beyond what was there before.
fn peak_of<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = run();
    (result, MEMORY.peak_usage() - before)
}

/// One row of so many entries.
fn row(count: u32) -> CooTensor<u8> {
    let coords = vec![vec![0; count as usize], (0..count).collect()];
    CooTensor::new([1, count as usize], coords, vec![1; count as usize], 0).unwrap()
}

/// Lists grew until the limit was reached, and only then was the take refused: 1 GiB for nothing.
#[test]
fn a_take_that_is_too_large_is_refused_before_its_lists_are_made() {
    let _alone = ALONE.lock();
    let (x, often) = (row(1 << 16), vec![0u8; 1 << 15]);
    let turned = x.transpose().unwrap();
    for (name, take) in [
        ("coo", &(|| x.take_axis(&often, 0).map(drop)) as &dyn Fn() -> lacuna::Result<()>),
        ("coo, last axis", &|| turned.take_axis(&often, 1).map(drop)),
        ("csr", &|| turned.to_csr()?.take_axis(&often, 1).map(drop)),
    ] {
        let (refused, peak) = peak_of(take);
        assert!(matches!(refused, Err(Error::TooLarge { .. })), "{name}: {refused:?}");
        assert!(peak < 4 << 20, "{name}: {peak} bytes at the peak");
    }
}

/// Lists that grow by doubling were up to twice as long as what was charged for them.
#[test]
fn the_lists_of_a_take_are_as_long_as_they_have_to_be() {
    let _alone = ALONE.lock();
    // One entry more than a power of two, which a list that doubles has twice the memory for.
    let (x, often) = (row((1 << 12) + 1), vec![0u8; 1 << 7]);
    let entries = often.len() * x.nnz();
    let (taken, peak) = peak_of(|| x.take_axis(&often, 0).unwrap());
    assert_eq!(taken.nnz(), entries);
    // Coordinates, a value, and two numbers in lists.
    let charged = entries * (2 * 4 + 1 + 2 * 8);
    assert!(peak < charged + charged / 8, "{peak} bytes at the peak, {charged} charged");
}

/// No copy of values: O(1) for rows from the first one on, coordinates or offsets alone for others.
#[test]
fn windows_take_no_memory() {
    let _alone = ALONE.lock();
    let (rows, each) = (1000u32, 1000u32);
    let coords = vec![
        (0..rows * each).map(|entry| entry / each).collect::<Vec<_>>(),
        (0..rows * each).map(|entry| entry % each).collect(),
    ];
    let values = Array1::linspace(0.0, 1.0, (rows * each) as usize).to_vec();
    let x = CooTensor::new([rows as usize, each as usize], coords, values, 0.0).unwrap();
    let csr: CsrTensor<f64> = x.to_csr().unwrap();
    let little = 64 << 10;
    assert!(peak_of(|| x.slice(s![..500, ..]).unwrap()).1 < little);
    assert!(peak_of(|| x.slice(s![7, ..]).unwrap()).1 < little);
    assert!(peak_of(|| x.take_axis(0..500, 0).unwrap()).1 < little);
    assert!(peak_of(|| csr.slice(s![200..700, ..]).unwrap()).1 < little);
    let (_, peak) = peak_of(|| x.slice(s![200..700, ..]).unwrap());
    assert!(peak < 500_000 * 4 + little, "{peak} bytes for coordinates of 500,000 entries");
}
