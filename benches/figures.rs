//! Time and peak memory of each operation on a large COO tensor: `cargo bench --bench figures [-- ENTRIES]`.
//!
//! Shows that nothing is quadratic and nothing builds the dense array, whose bytes are printed beside. Peak memory is
//! that of the process beyond input (Linux only, from `/proc/self`), the result included.

mod memory;

use std::hint::black_box;
use std::time::Instant;

use lacuna::{Axes, CooTensor, TakeMode};
use memory::peak_of;

/// Numbers without a pattern, the same in every run (Weyl sequence, mixed).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }
}

/// A square matrix with about ten entries a row, one value in 16 of them zero, one in 64 NaN.
fn matrix(entries: usize) -> CooTensor<f64> {
    let side = entries / 10;
    let mut numbers = Numbers(42);
    let mut keys: Vec<u64> = (0..entries).map(|_| numbers.next() % (side as u64 * side as u64)).collect();
    keys.sort_unstable();
    keys.dedup();
    let coords = [|key: u64, side: u64| key / side, |key, side| key % side];
    let coords = coords.map(|coord| keys.iter().map(|&key| coord(key, side as u64) as u32).collect());
    let value = |number: u64| match number % 64 {
        0 => f64::NAN,
        1..4 => 0.0,
        rest => (rest as f64 - 32.0) * (number >> 32) as f64,
    };
    let values = keys.iter().map(|_| value(numbers.next())).collect();
    CooTensor::new([side, side], coords.into(), values, 0.0).expect("the keys are sorted and distinct")
}

/// The least time of three runs, and the memory of the first one beyond what was there before.
fn measure<R>(name: &str, mut run: impl FnMut() -> R) {
    let mut timed = || {
        let start = Instant::now();
        (black_box(run()), start.elapsed().as_secs_f64())
    };
    let ((_, first), peak) = peak_of(&mut timed);
    let least = first.min(timed().1).min(timed().1);
    println!("| {name} | {:.1} | {peak:.0} |", least * 1e3);
}

fn main() {
    let entries = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(10_000_000);
    let x = matrix(entries);
    let csr = x.to_csr().expect("a tenth as many rows as entries");
    let input = x.stored_bytes() as f64 / (1 << 20) as f64;
    let dense: f64 = x.shape().iter().map(|&length| length as f64).product::<f64>() * 8.0 / (1u64 << 30) as f64;
    println!("shape {}, {} entries, {input:.0} MiB as COO, {dense:.0} GiB as a dense array\n", x.shape(), x.nnz());
    println!("| operation | ms | peak MiB |\n| --- | --- | --- |");

    let set: Vec<f64> = x.values().iter().copied().step_by(x.nnz() / 1000).collect();
    let mut numbers = Numbers(7);
    let taken: Vec<i64> = (0..1_000_000).map(|_| (numbers.next() >> 24) as i64).collect();
    let upstream = x.any(0).expect("axis 0 is there").map_values(|any| if any { 0.5 } else { 0.0 });

    measure("isposinf", || x.isposinf());
    measure("isin, 1000 test elements", || x.isin(&set));
    measure("any, axis 0", || x.any(0));
    measure("any, axis 1", || x.any(1));
    measure("any, axis 1, CSR", || csr.any(1));
    measure("any, all", || x.any(Axes::all()));
    measure("any_backward, axis 0", || x.any_backward(&upstream, 0));
    measure("nanmedian, axis 0", || x.nanmedian(0));
    measure("nanmedian, axis 1", || x.nanmedian(1));
    measure("nanmedian, all", || x.nanmedian(Axes::all()));
    measure("nanmedian_stored, axis 1", || x.nanmedian_stored(1));
    measure("nanmedian_stored, all", || x.nanmedian_stored(Axes::all()));
    measure("take, 10^6 positions, wrap", || x.take(&taken, TakeMode::Wrap));
    measure("to_csr", || x.to_csr());
    measure("permute_axes, 1 0", || x.permute_axes([1, 0]));
}
