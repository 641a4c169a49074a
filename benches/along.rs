//! Functions along an axis and at positions, beside plain loops over the same values: `cargo bench --bench along`.
//!
//! Each line has the name of a case, and the nanoseconds per stored value of lacuna and of the loop. A loop writes
//! what lacuna writes, without its checks: sums are rounded at each step, and nothing tests for NaN. All run on one
//! thread. `benches/along.py` adds numpy.

#[allow(dead_code)] // another bench uses the rest
mod support;

use std::hint::black_box;
use std::time::Instant;

use lacuna::ndarray::{Array2, ArrayD, Axis};
use lacuna::{CsrTensor, cumprod, cumsum, diff, gather, sort, take_along_axis};
use support::{Numbers, matrix};

/// Returns the nanoseconds per value of the median of at least five runs.
fn nanoseconds<R>(values: usize, mut run: impl FnMut() -> R) -> f64 {
    let mut times = Vec::new();
    black_box(run());
    while times.len() < 5 || times.iter().sum::<f64>() < 0.5 {
        let start = Instant::now();
        let result = black_box(run());
        times.push(start.elapsed().as_secs_f64());
        drop(result);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] * 1e9 / values as f64
}

fn report<R, S>(name: &str, values: usize, ours: impl FnMut() -> R, plain: impl FnMut() -> S) {
    let (ours, plain) = (nanoseconds(values, ours), nanoseconds(values, plain));
    println!("{name} {ours:.2} {plain:.2}");
}

/// Applies a loop to each lane of a copy of the values.
fn in_lanes(values: &[f64], offsets: impl Iterator<Item = usize>, lane: impl Fn(&mut [f64])) -> Vec<f64> {
    let mut found = values.to_vec();
    let mut from = 0;
    for to in offsets {
        lane(&mut found[from..to]);
        from = to;
    }
    found
}

fn running(lane: &mut [f64], step: impl Fn(f64, f64) -> f64) {
    (1..lane.len()).for_each(|at| lane[at] = step(lane[at - 1], lane[at]));
}

/// Merges, row by row, the entries that are subtracted with those that are subtracted from.
fn neighbours(x: &CsrTensor<f64>) -> (Vec<u32>, Vec<f64>) {
    let last = x.shape()[1] as u32 - 1;
    let (mut columns, mut values) = (Vec::with_capacity(2 * x.nnz()), Vec::with_capacity(2 * x.nnz()));
    for row in x.offsets().windows(2) {
        let (of_row, found) = (&x.columns()[row[0]..row[1]], &x.values()[row[0]..row[1]]);
        let mut upper = usize::from(of_row.first() == Some(&0));
        for (&column, &value) in of_row.iter().zip(found) {
            while upper < of_row.len() && of_row[upper] - 1 < column {
                columns.push(of_row[upper] - 1);
                values.push(found[upper]);
                upper += 1;
            }
            let is_pair = upper < of_row.len() && of_row[upper] - 1 == column;
            if column < last {
                columns.push(column);
                values.push(if is_pair { found[upper] } else { 0.0 } - value);
            }
            upper += usize::from(is_pair);
        }
    }
    (columns, values)
}

fn sparse(entries: usize) {
    let x = matrix(entries).map_values(|value| if value.is_nan() { 1.0 } else { value / 1e9 }).expect("a map");
    let x: CsrTensor<f64> = x.to_csr().expect("a matrix");
    let (nnz, view, size) = (x.nnz(), x.stored(), format!("{entries}"));
    let ends = || x.offsets()[1..].iter().copied();
    report(
        &format!("cumsum/csr/{size}"),
        nnz,
        || view.cumsum(1),
        || in_lanes(x.values(), ends(), |lane| running(lane, |a, b| a + b)),
    );
    report(
        &format!("cumprod/csr/{size}"),
        nnz,
        || view.cumprod(1),
        || in_lanes(x.values(), ends(), |lane| running(lane, |a, b| a * b)),
    );
    let by_value = |lane: &mut [f64]| lane.sort_by(f64::total_cmp);
    report(&format!("sort/csr/{size}"), nnz, || view.sort(1), || in_lanes(x.values(), ends(), by_value));
    report(&format!("sort/csr, whole/{size}"), nnz, || x.sort(1), || in_lanes(x.values(), ends(), by_value));
    report(&format!("diff/csr, stored/{size}"), nnz, || view.diff(1, 1), || neighbours(&x));
}

/// Lanes of an array along its last axis.
fn dense(lanes: usize, length: usize) {
    let mut numbers = Numbers(5);
    let x: ArrayD<f64> = Array2::from_shape_fn((lanes, length), |_| numbers.below(1 << 40) as f64 / 1e6).into_dyn();
    let (count, size) = (x.len(), format!("{lanes}x{length}"));
    let values = x.as_slice().expect("contiguous");
    let ends = || (1..=lanes).map(|lane| lane * length);
    report(
        &format!("cumsum/array/{size}"),
        count,
        || cumsum(&x, 1),
        || in_lanes(values, ends(), |lane| running(lane, |a, b| a + b)),
    );
    report(
        &format!("cumprod/array/{size}"),
        count,
        || cumprod(&x, 1),
        || in_lanes(values, ends(), |lane| running(lane, |a, b| a * b)),
    );
    report(
        &format!("sort/array/{size}"),
        count,
        || sort(&x, 1),
        || in_lanes(values, ends(), |lane| lane.sort_by(f64::total_cmp)),
    );
    report(
        &format!("diff/array/{size}"),
        count,
        || diff(&x, 1, 1),
        || {
            let rows = values.chunks_exact(length);
            rows.flat_map(|row| row.windows(2).map(|pair| pair[1] - pair[0])).collect::<Vec<f64>>()
        },
    );
    let lists: Vec<Vec<i64>> =
        [lanes, length].map(|end| (0..count).map(|_| numbers.below(end as u64) as i64).collect()).into();
    report(
        &format!("gather/array/{size}"),
        count,
        || gather(&x, &lists),
        || {
            let at = |(&row, &column): (&i64, &i64)| values[row as usize * length + column as usize];
            lists[0].iter().zip(&lists[1]).map(at).collect::<Vec<f64>>()
        },
    );
    let order = ArrayD::from_shape_vec(x.raw_dim(), lists[1].clone()).expect("the shape of x");
    report(
        &format!("take_along_axis/array/{size}"),
        count,
        || take_along_axis(&x, &order, 1),
        || {
            let lanes = order.axis_iter(Axis(0)).zip(values.chunks_exact(length));
            let of_lane = lanes.map(|(order, lane)| order.iter().map(|&at| lane[at as usize]).collect::<Vec<f64>>());
            of_lane.collect::<Vec<_>>().concat()
        },
    );
}

fn main() {
    // `cargo test --benches` runs this too.
    if !std::env::args().any(|word| word == "--bench") {
        return sparse(100);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        [10_000, 1_000_000, 10_000_000].into_iter().for_each(sparse);
        [(100_000, 10), (1_000, 1_000), (1, 1_000_000)].into_iter().for_each(|(lanes, length)| dense(lanes, length));
    });
}
