//! The memory of what is taken along an axis and of windows, of medians of arrays that repeat what they hold, and of
//! those that hold little but NaN; of operations with a repeated operand.

use crate::{MEMORY, was_run_apart};
use lacuna::lazy::{Lazy, compile};
use lacuna::ndarray::{Array1, ArrayD, arr0, s};
#[cfg(feature = "rayon")]
use lacuna::ndarray::{ArrayView2, Axis};
use lacuna::prelude::*;
use lacuna::{Error, grad};

/// The peak of memory of `run`, beyond what was there before.
fn peak_of<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = run();
    (result, MEMORY.peak_usage() - before)
}

/// Returns a row of `count` entries.
fn row(count: u32) -> CooTensor<u8> {
    let coords = vec![vec![0; count as usize], (0..count).collect()];
    CooTensor::new([1, count as usize], coords, vec![1; count as usize], 0).unwrap()
}

/// Lists grew until the limit was reached, and only then was the take refused: 1 GiB for nothing.
#[test]
fn a_take_that_is_too_large_is_refused_before_its_lists_are_made() {
    if was_run_apart() {
        return;
    }
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
    if was_run_apart() {
        return;
    }
    // With one entry more than a power of two, a list that doubles would take twice the memory.
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
    if was_run_apart() {
        return;
    }
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

/// The medians of the rows by eight threads, and the peak of memory beyond what was there before.
#[cfg(feature = "rayon")]
fn medians_and_peak(view: &ArrayView2<'_, f64>) -> (Vec<f64>, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let (medians, peak) = peak_of(|| pool.install(|| view.nanmedian(1)).unwrap());
    (medians.into_raw_vec_and_offset().0, peak)
}

/// Numbers broadcast to lanes of 512 KiB each: at first every thread copied a lane of its own, so that 8 bytes took
/// 2.1 GB where lanes of 512 MiB met 4 threads, whatever the limit of a single lane said. Of equal lanes only
/// one is gone through, so these differ.
#[test]
#[cfg(feature = "rayon")]
fn lanes_longer_than_the_array_are_copied_once_and_not_once_a_thread() {
    const LANE: usize = 1 << 16;
    if was_run_apart() {
        return;
    }
    let numbers = Array1::from_iter((0..24).map(f64::from));
    let column = numbers.view().insert_axis(Axis(1));
    let (medians, peak) = medians_and_peak(&column.broadcast((24, LANE)).unwrap());
    assert_eq!(medians, numbers.to_vec());
    assert!(peak < 3 * LANE * size_of::<f64>(), "{peak} bytes at the peak");
}

/// Room for every value was made before NaN was left out: 763 MiB for 10^8 of them.
#[test]
#[cfg(feature = "rayon")]
fn room_is_made_for_the_numbers_of_a_lane_alone() {
    if was_run_apart() {
        return;
    }
    let mut values = Array1::from_elem(1 << 20, f64::NAN);
    values[77_777] = 2.0;
    let (medians, peak) = medians_and_peak(&values.view().insert_axis(Axis(0)));
    assert_eq!(medians, [2.0]);
    assert!(peak < 1 << 20, "{peak} bytes at the peak");
}

/// Groups of one element take only the bytes of their gradients, although the weights of a group take more than 16
/// bytes per element.
#[test]
fn groups_of_one_small_element_take_no_more_than_their_gradients() {
    const COUNT: usize = 1 << 20;
    if was_run_apart() {
        return;
    }
    let (x, upstream) = (arr0(3u8), arr0(0.5f32));
    let (x, upstream) = (x.broadcast(COUNT).unwrap(), upstream.broadcast(COUNT).unwrap());
    let (dx, peak) = peak_of(|| grad::nanmedian(&x, &upstream, Axes::none()).unwrap());
    assert!(dx.len() == COUNT && dx.iter().all(|&gradient| gradient == 0.5));
    assert!(peak < COUNT * size_of::<f32>() + (64 << 10), "{peak} bytes at the peak");
}

/// A chain of ten steps element by element: what it leaves behind is all that it takes, beside pieces in the cache.
#[test]
fn a_chain_of_ten_lazy_steps_takes_one_buffer() {
    if was_run_apart() {
        return;
    }
    let count = 1 << 20;
    let values: Vec<f64> = (0..count).map(|at| f64::from(at) / 7.0).collect();
    let day: CooTensor<f64> = CooTensor::new([count as usize], vec![(0..count).collect()], values, 0.0).unwrap();
    let x = Lazy::<CooTensor<f64>>::input("x", [count as usize]);
    let chain = ((((x.abs() + 1.0).sqrt() * 3.0).ln() - 0.5).tanh() / 2.0).square().exp().neg();
    let program = compile(&chain).unwrap();
    let buffer = 8 * count as usize;
    let is_one = |peak: usize| (buffer..buffer + buffer / 4).contains(&peak);
    for run in 0..2 {
        let (found, peak) = peak_of(|| program.run([x.is(&day)]).unwrap());
        assert!(found.shares_pattern_with(&day));
        assert!(is_one(peak), "run {run}: {peak} bytes at the peak, {buffer} in a result");
    }
    let day = Array1::from(day.values().to_vec()).into_dyn();
    let x = Lazy::<ArrayD<f64>>::input("x", [count as usize]);
    let chain = ((((x.abs() + 1.0).sqrt() * 3.0).ln() - 0.5).tanh() / 2.0).square().exp().neg();
    let feeds = [x.is(&day)];
    let (found, peak) = peak_of(|| compile(&chain).unwrap().run(feeds).unwrap());
    assert!(is_one(peak), "{peak} bytes at the peak, {buffer} in an array of {}", found.len());
}

/// Nothing but the result and, for each thread, a row of sums: no list of the pairs that meet.
#[test]
fn a_product_of_tensors_takes_its_result_and_rows_of_sums() {
    if was_run_apart() {
        return;
    }
    let (length, each) = (4000_u32, 12_u32);
    let mut triplets = lacuna::Triplets::new([length as usize, length as usize]).unwrap();
    for (row, at) in (0..length).flat_map(|row| (0..each).map(move |at| (row, at))) {
        // Many of them meet: half of the columns are among a hundred.
        let column = if at % 2 == 0 { (row + at * 9) % 100 } else { (row * 37 + at * at * 331) % length };
        triplets.push(&[row as usize, column as usize], 0.5 + f64::from(at)).unwrap();
    }
    let x = triplets.coalesce(lacuna::Duplicates::Sum).unwrap().to_csr().unwrap();
    let (product, peak) = peak_of(|| x.matmul(&x).unwrap());
    let result = product.nnz() * (4 + 8) + (product.shape()[0] + 1) * 8;
    let meet = x.nnz() * each as usize;
    assert!(meet * 10 > product.nnz() * 11, "{meet} pairs, {} entries", product.nnz());
    let sums = 16 * length as usize * 10;
    assert!(peak < result + result / 16 + sums, "{peak} bytes at the peak, {result} of the result");
}

/// A matrix of so many rows and columns with an entry in one column of `every`.
fn grid(length: u32, every: u32) -> CooTensor<f64> {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for row in 0..length {
        let here = (row % every..length).step_by(every as usize);
        rows.extend(std::iter::repeat_n(row, here.len()));
        columns.extend(here);
    }
    let values = (0..rows.len()).map(|entry| (entry % 7) as f64 + 1.0).collect();
    CooTensor::new([length as usize; 2], vec![rows, columns], values, 0.0).unwrap()
}

/// A row and a column that store every second position.
fn gappy(length: u32) -> [CooTensor<f64>; 2] {
    let places: Vec<u32> = (0..length).step_by(2).collect();
    let values: Vec<f64> = places.iter().map(|&place| f64::from(place) + 1.0).collect();
    let row = CooTensor::new([length as usize], vec![places.clone()], values.clone(), 0.0).unwrap();
    let zeros = vec![0; places.len()];
    [row, CooTensor::new([length as usize, 1], vec![places, zeros], values, 0.0).unwrap()]
}

/// An operand with gaps was repeated beside the other one, and merged with it.
#[test]
fn a_union_with_a_repeated_operand_asks_for_the_result_alone() {
    if was_run_apart() {
        return;
    }
    let (x, [row, column]) = (grid(1000, 100), gappy(1000));
    let (a, b, c) = (x.to_csr().unwrap(), row.to_csr().unwrap(), column.to_csr().unwrap());
    // The coordinates of the rows of a CSR operand are written out.
    for (name, (nnz, peak), each, beside) in [
        ("coo, row", peak_of(|| x.add(&row).unwrap().nnz()), 16, 0),
        ("coo, column", peak_of(|| column.sub(&x).unwrap().nnz()), 16, 0),
        ("coo, both", peak_of(|| row.add(&column).unwrap().nnz()), 16, 0),
        ("csr, row", peak_of(|| a.add(&b).unwrap().nnz()), 12, 4 * a.nnz()),
        ("csr, column", peak_of(|| c.add(&a).unwrap().nnz()), 12, 4 * a.nnz()),
        ("coo, stored", peak_of(|| row.stored().add(column.stored()).unwrap().nnz()), 16, 0),
    ] {
        assert!(nnz > 500_000, "{name}: {nnz}");
        assert!(peak < nnz * each + beside + (64 << 10), "{name}: {peak} bytes at the peak for {nnz} entries");
    }
}

/// The elements of an operand were written out for every position of the result.
#[test]
fn the_gradient_of_a_repeated_operand_goes_piece_by_piece() {
    if was_run_apart() {
        return;
    }
    let (x, [row, column]) = (grid(2000, 100), gappy(2000));
    let upstream = lacuna::ndarray::Array2::from_shape_fn((2000, 2000), |(row, column)| (row % 3 + column % 5) as f64);
    let sparse = CooTensor::full([2000, 2000], 1.5).unwrap();
    let holds = |of_row: bool| x.less(0.0).map(|never| if of_row { never } else { never.not().unwrap() }).unwrap();
    for (name, run) in [
        ("row", &(|| grad::mul(&x, &row, &upstream).map(drop)) as &dyn Fn() -> lacuna::Result<()>),
        ("column", &|| grad::mul(&column, &x, &upstream).map(drop)),
        ("array", &|| grad::mul(&x, &Array1::from_elem(2000, 2.0), &upstream).map(drop)),
        ("both, upstream of a fill", &|| grad::mul(&row, &column, &sparse).map(drop)),
        ("views", &|| grad::add(&x.stored(), &row.stored(), &upstream).map(drop)),
        ("chosen", &|| grad::where_(&holds(false), &row, &column, &upstream).map(drop)),
        ("not chosen", &|| grad::where_(&holds(true), &row, &column, &upstream).map(drop)),
    ] {
        let (found, peak) = peak_of(run);
        found.unwrap();
        // A piece has 2^18 positions: two coordinates, a number, and five elements of each; the array has 32 MB.
        assert!(peak < 20 << 20, "{name}: {peak} bytes at the peak");
    }
}
