//! Benches for daily work: `cargo bench --features lazy --bench daily [-- FILTER]`, from 10^2 entries to 10^6, with
//! `LACUNA_BENCH_MOST` up to that many (10^8 takes minutes), with `LACUNA_BENCH_SIZES=60000,70000` of those sizes.
//! Their sense is the comparison with the run before, and that small tensors do not pay for what large ones need:
//! threads, tables, maps.

mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use lacuna::ndarray::{Array1, s};
use lacuna::{Axes, CooTensor, CsrTensor, Duplicates, Pattern, Tensor, concat, grad};
use support::{Numbers, matrix, side, triplets};

/// 10^2, 10^4, ... entries, or those asked for.
fn sizes() -> Vec<usize> {
    if let Ok(sizes) = std::env::var("LACUNA_BENCH_SIZES") {
        return sizes.split(',').filter_map(|size| size.parse().ok()).collect();
    }
    let most = std::env::var("LACUNA_BENCH_MOST").ok().and_then(|most| most.parse().ok()).unwrap_or(1_000_000);
    (2..).step_by(2).map(|power| 10usize.pow(power)).take_while(move |&size| size <= most).collect()
}

/// Benches `run` on what `make` gives, size by size; nothing is made for a bench that the filter leaves out.
fn bench<X, R>(c: &mut Criterion, name: &str, make: impl Fn(usize) -> X, run: impl Fn(&X) -> R) {
    let mut group = c.benchmark_group(name);
    for size in sizes() {
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let input = make(size);
            bencher.iter_with_large_drop(|| run(black_box(&input)));
        });
    }
}

fn list(size: usize) -> Array1<f64> {
    Array1::from(Numbers(1).values(size))
}

fn elementwise(c: &mut Criterion) {
    bench(c, "isposinf", list, lacuna::isposinf);
    bench(c, "abs", list, lacuna::abs);
    bench(c, "exp", list, lacuna::exp);
    bench(c, "exp_m1", list, lacuna::exp_m1);
    bench(c, "ln_1p", list, lacuna::ln_1p);
    bench(c, "exp_backward", matrix, |x| grad::exp(x, x));
    bench(c, "isin/4", |size| (list(size), Numbers(2).values(4)), |(x, set)| lacuna::isin(x, set));
    bench(c, "isin/16", |size| (list(size), Numbers(2).values(16)), |(x, set)| lacuna::isin(x, set));
    bench(c, "isin/1000", |size| (list(size), Numbers(2).values(1000)), |(x, set)| lacuna::isin(x, set));
    bench(c, "isin/64", |size| (list(size), Numbers(2).values(64)), |(x, set)| lacuna::isin(x, set));
    let many = |size| (list(size), (0..262_144).map(|member| member as f64 + 0.5).collect::<Vec<_>>());
    bench(c, "isin/262144/none", many, |(x, set)| lacuna::isin(x, set));
    let positions = |size: usize| (0..size).map(|at| (at * 7919 % size) as i64).collect::<Array1<i64>>();
    let take = move |(x, positions): &(Array1<f64>, Array1<i64>)| lacuna::take(x, positions);
    bench(c, "take", move |size| (list(size), positions(size)), take);
    let sorted = |size: usize| (list(size), (0..size as i64).collect::<Array1<i64>>());
    bench(c, "take/sorted", sorted, take);
    let short = |size: usize| (list(1000), (0..size).map(|at| (at * 7919 % 1000) as i64).collect::<Array1<i64>>());
    bench(c, "take/of_1000", short, take);
    let places = |size| {
        let end = (side(size) * side(size)) as u64;
        let mut numbers = Numbers(3);
        (0..size / 10).map(|_| numbers.below(end) as i64).collect::<Vec<_>>()
    };
    let take = |(x, places): &(CooTensor<f64>, Vec<i64>)| x.take(places);
    bench(c, "take/sparse", move |size| (matrix(size), places(size)), take);
}

/// A matrix, and one that has half of its entries and as many others.
fn pair(size: usize) -> (CooTensor<f64>, CooTensor<f64>) {
    let (x, side) = (matrix(size), side(size) as u32);
    let mut entries: Vec<[u32; 2]> = x.coords(0).iter().zip(x.coords(1)).map(|(&row, &column)| [row, column]).collect();
    entries.iter_mut().step_by(2).for_each(|[_, column]| *column = (*column + side / 2) % side);
    entries.sort_unstable();
    entries.dedup();
    let axis = |axis: usize| entries.iter().map(|at| at[axis]).collect::<Vec<_>>();
    let values = Numbers(7).values(entries.len()).into_iter().map(|value| if value.is_nan() { 1.0 } else { value });
    let y = CooTensor::new(x.shape(), vec![axis(0), axis(1)], values.collect(), 0.0).expect("sorted and distinct");
    (x, y)
}

fn of_two(c: &mut Criterion) {
    let csr = |size| {
        let (x, y) = pair(size);
        (x.into_csr().expect("few rows"), y.into_csr().expect("few rows"))
    };
    bench(c, "add/coo/half", pair, |(x, y)| x.add(y));
    bench(c, "add/csr/half", csr, |(x, y)| x.add(y));
    bench(c, "add/coo/same", |size| (matrix(size), matrix(size)), |(x, y)| x.add(y));
    bench(c, "mul/coo/half/stored", pair, |(x, y)| x.stored().mul(y));
    bench(c, "mul/number", matrix, |x| x.mul(2.0));
    let scaled = |size| (matrix(size).into_csr().expect("few rows"), Numbers(8).values(side(size)));
    bench(c, "scale/csr/0/stored", scaled, |(x, factors)| x.stored().scale(0, factors));
}

/// A square matrix with ten entries in each row and column, its sums and means, and a vector without zeros.
struct Rows {
    x: CooTensor<f64>,
    v: CooTensor<f64>,
    factors: Array1<f64>,
    row_sums: CooTensor<f64>,
    column_means: CooTensor<f64>,
    mean: CooTensor<f64>,
}

fn rows(size: usize) -> Rows {
    let side = side(size).max(10);
    let columns = |row: usize| {
        let mut columns: Vec<u32> = (0..10).map(|k| ((row * 7919 + k * (side / 10)) % side) as u32).collect();
        columns.sort_unstable();
        columns
    };
    let coords = vec![
        (0..side).flat_map(|row| [row as u32; 10]).collect::<Vec<_>>(),
        (0..side).flat_map(columns).collect::<Vec<_>>(),
    ];
    let mut numbers = Numbers(46);
    let mut positive = |count: usize| (0..count).map(|_| 0.5 + numbers.below(1000) as f64).collect::<Vec<_>>();
    let x = CooTensor::new([side, side], coords, positive(10 * side), 0.0).expect("sorted and distinct");
    let factors = positive(side);
    let v = CooTensor::new([side], vec![(0..side as u32).collect()], factors.clone(), 0.0).expect("all positions");
    let row_sums = x.sum(Axes::from(1).keep_dims()).expect("floats have sums");
    let column_means = x.mean(0).expect("floats have means");
    let mean = x.mean(Axes::all()).expect("floats have means");
    Rows { x, v, factors: factors.into(), row_sums, column_means, mean }
}

fn rows_with_a_matrix(c: &mut Criterion) {
    bench(c, "row/scale", rows, |rows| rows.x.scale(1, &rows.factors));
    bench(c, "row/mul", rows, |rows| rows.x.mul(&rows.v));
    bench(c, "row/div_row_sums", rows, |rows| rows.x.div(&rows.row_sums));
    bench(c, "row/stored_sub_column_means", rows, |rows| rows.x.stored().sub(&rows.column_means));
    bench(c, "row/greater_number", rows, |rows| rows.x.greater(&rows.mean));
    let gradient = |rows: &Rows| grad::mul(&rows.x, &rows.v, &rows.x);
    bench(c, "row/mul_backward", rows, gradient);
    let steps = |rows: &Rows| rows.x.abs()?.mul(&rows.v)?.sqrt()?.neg()?.exp();
    bench(c, "row/chain_of_steps", rows, steps);
    bench(c, "row/chain_in_a_graph", rows, |rows| (rows.x.lazy().abs() * &rows.v).sqrt().neg().exp().collect());
}

fn reductions(c: &mut Criterion) {
    let csr = |size| matrix(size).into_csr().expect("few rows");
    bench(c, "any/coo/0", matrix, |x| x.any(0));
    bench(c, "any/coo/1", matrix, |x| x.any(1));
    bench(c, "any/csr/1", csr, |x: &CsrTensor<f64>| x.any(1));
    let of_rows = |rows: usize, every: usize| {
        let stored = |row: usize| row / every + 1;
        let offsets = [0].into_iter().chain((0..rows).map(stored)).collect::<Vec<_>>();
        let count = offsets[rows];
        let columns = (0..count).map(|entry| (entry % 7) as u32).collect();
        CsrTensor::new([rows, 7], offsets, columns, Numbers(5).values(count), 0.0).expect("one entry a row at most")
    };
    bench(c, "any/csr/rows_of_one", move |size| of_rows(size, 1), |x| x.any(1));
    bench(c, "any/csr/mostly_empty", move |size| of_rows(3 * size, 10), |x| x.any(1));
    let with_upstream = |axis: isize| {
        move |size| {
            let x = matrix(size);
            let upstream =
                x.any(axis).and_then(|any| any.map_values(|any| if any { 0.5 } else { 0.0 })).expect("it is there");
            (x, upstream)
        }
    };
    bench(c, "any_backward/coo/0", with_upstream(0), |(x, upstream)| grad::any(x, upstream, 0));
    bench(c, "any_backward/coo/1", with_upstream(1), |(x, upstream)| grad::any(x, upstream, 1));
    bench(c, "nanmedian/coo/0", matrix, |x| x.nanmedian(0));
    bench(c, "nanmedian/coo/1", matrix, |x| x.nanmedian(1));
    bench(c, "nanmedian/dense/all", list, |x| lacuna::nanmedian(x, Axes::all()));
    let of_each = |every: usize| {
        move |size| {
            let thinned = list(size).into_iter().enumerate();
            thinned.map(|(at, value)| if at % every == 0 { value } else { f64::NAN }).collect()
        }
    };
    bench(c, "nanmedian/dense/rare", of_each(37), |x: &Array1<f64>| lacuna::nanmedian(x, Axes::all()));
    bench(c, "nanmedian/dense/rarest", of_each(usize::MAX), |x: &Array1<f64>| lacuna::nanmedian(x, Axes::all()));
}

/// What chooses and moves, of both formats.
fn moves<P: Pattern>(c: &mut Criterion, format: &str, of: impl Fn(CooTensor<f64>) -> Tensor<P, f64> + Copy) {
    let make = move |size| of(matrix(size));
    let middle = |x: &Tensor<P, f64>, axis: usize| x.shape()[axis] / 5..x.shape()[axis] / 10 * 7;
    bench(c, &format!("slice/rows/{format}"), make, move |x| x.slice(s![middle(x, 0), ..]));
    bench(c, &format!("slice/columns/{format}"), make, move |x| x.slice(s![.., middle(x, 1)]));
    bench(c, &format!("slice/steps/{format}"), make, |x| x.slice(s![..;3, ..;2]));
    bench(c, &format!("slice/reversed/{format}"), make, |x| x.slice(s![..;-1, ..]));
    bench(c, &format!("roll/{format}"), make, |x| x.roll(3, 0));
    let masked = move |size| {
        let (x, mut numbers) = (make(size), Numbers(6));
        let mask: Vec<bool> = (0..x.shape()[0]).map(|_| numbers.below(2) == 0).collect();
        (x, mask)
    };
    bench(c, &format!("mask/rows/{format}"), masked, |(x, mask)| x.take_axis(mask, 0));
    bench(c, &format!("concat/0/{format}"), make, |x| concat(0, &[x, x]));
    bench(c, &format!("concat/1/{format}"), make, |x| concat(1, &[x, x]));
    bench(c, &format!("select/{format}"), make, |x| x.select(|value| value > 1.0));
    bench(c, &format!("transpose/{format}"), make, |x| x.transpose());
}

fn orders(c: &mut Criterion) {
    moves(c, "coo", |x| x);
    moves(c, "csr", |x| x.into_csr().expect("few rows"));
    bench(c, "permute_axes", matrix, |x| x.permute_axes([1, 0]));
    bench(c, "to_csr", matrix, |x| x.to_csr());
    bench(c, "to_coo", |size| matrix(size).into_csr().expect("few rows"), |x| x.to_coo());
    let mut group = c.benchmark_group("coalesce");
    for size in sizes() {
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let (side, mut numbers) = (side(size), Numbers(4));
            let keys: Vec<u64> = (0..size).map(|_| numbers.below((side * side) as u64)).collect();
            let input = triplets(side, &keys);
            let run = |triplets: lacuna::Triplets<f64>| triplets.coalesce(Duplicates::Sum);
            bencher.iter_batched(|| input.clone(), run, BatchSize::LargeInput);
        });
    }
}

fn main() {
    let short = Duration::from_millis(500);
    let mut criterion =
        Criterion::default().sample_size(20).warm_up_time(short).measurement_time(short).configure_from_args();
    elementwise(&mut criterion);
    of_two(&mut criterion);
    rows_with_a_matrix(&mut criterion);
    reductions(&mut criterion);
    orders(&mut criterion);
    criterion.final_summary();
}
