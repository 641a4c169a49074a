//! Results are bitwise identical for any number of threads, on inputs above every size at which threads are used.
//!
//! `LACUNA_REPEATS=20` repeats each number of threads 20 times.
#![cfg(feature = "rayon")]

use crate::support::ALL;
use lacuna::ndarray::s;
use lacuna::num_complex::Complex;
use lacuna::{Axes, CooTensor, Duplicates, Matmul, Norm, Pattern, Take, Tensor, Triplets, grad};
use std::sync::LazyLock;

const ENTRIES: usize = 300_000;

/// The number of triplets of [`outcome`], which exceeds the limits for a search in the order of requests, and for a
/// median on one thread.
const WRITTEN: usize = 150_000;

/// The number of triplets for results that are compared, but not recorded.
const COMPARED: usize = 75_000;

fn on<T: Send>(threads: usize, outcome: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(outcome)
}

/// Hands what `outcome` gives on pools of several sizes, each as often as was asked for, to `check`.
fn on_pools<T: Send>(outcome: impl Fn() -> T + Sync, check: impl Fn(T, usize)) {
    let repeats = std::env::var("LACUNA_REPEATS").ok().and_then(|repeats| repeats.parse().ok()).unwrap_or(1);
    let pools: &[usize] = if ALL { &[2, 3, 4, 8, 16] } else { &[5] };
    for &threads in pools {
        (0..repeats).for_each(|_| check(on(threads, &outcome), threads));
    }
}

/// The coordinates of all entries, one entry after the other, and the bits of their values.
type Bits = (Vec<u64>, Vec<u64>);

/// Returns a hash of all bits of an outcome, except the bits of NaN. The processor chooses which of two NaNs a sum
/// keeps.
fn digest(outcome: &[Bits]) -> u64 {
    let plain = |bits: &u64| if f64::from_bits(*bits).is_nan() { f64::NAN.to_bits() } else { *bits };
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    for (coords, values) in outcome {
        coords.iter().for_each(|&coord| add(coord));
        values.iter().for_each(|bits| add(plain(bits)));
    }
    hash
}

/// Numbers without a pattern, the same in every run.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 29
    }
}

/// Triplets in any order, one in ten repeated, with values whose sums depend on the order of their terms.
fn triplets(side: usize, count: usize) -> Triplets<f64> {
    let mut next = numbers(7);
    let mut triplets = Triplets::new([side, side, 5]).unwrap();
    for at in 0..count {
        let key = if at % 10 == 0 { numbers(at as u64 / 20)() } else { next() } as usize;
        let value = match next() % 50 {
            0 => f64::NAN,
            1 => -0.0,
            2 => f64::INFINITY,
            rest => 0.1 * rest as f64 * [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8][(next() % 9) as usize],
        };
        triplets.push(&[key % side, key / side % side, key % 5], value).unwrap();
    }
    triplets
}

fn bits<P: Pattern>(x: &Tensor<P, f64>) -> Bits {
    let mut all = Vec::new();
    x.for_each_entry(|coords, _| all.extend(coords.iter().map(|&coord| coord as u64)));
    (all, x.values().iter().map(|value| value.to_bits()).collect())
}

/// Everything that may use threads, as one value to compare.
fn outcome(side: usize) -> Vec<Bits> {
    let x = triplets(side, WRITTEN).coalesce(Duplicates::Sum).unwrap();
    let csr = x.to_csr().unwrap();
    let as_float = |bool: bool| if bool { 1.0 } else { 0.0 };
    let mut next = numbers(3);
    let taken: Vec<i64> = (0..100_000).map(|_| next() as i64).collect();
    let set: Vec<f64> = x.values().iter().copied().step_by(700).collect();
    let upstream = CooTensor::full([side, 5], 0.3).unwrap();
    let medians = x.nanmedian(1).unwrap();
    let (values, positions) = csr.nanmedian_index(-1).unwrap();
    let scattered = grad::take(&x, &ndarray::Array1::from_elem(taken.len(), 0.1), Take::at(&taken).wrap()).unwrap();
    vec![
        bits(&x.any([0, 2]).unwrap().map_values(as_float).unwrap()),
        bits(&x.any(2).unwrap().map_values(as_float).unwrap()),
        bits(&x.permute_axes([2, 0, 1]).unwrap().any(0).unwrap().map_values(as_float).unwrap()),
        bits(&x.permute_axes([1, 0, 2]).unwrap()),
        bits(&csr.any(-1).unwrap().map_values(as_float).unwrap()),
        bits(&x.isin(&set).unwrap().map_values(as_float).unwrap()),
        bits(&x.isfinite().unwrap().map_values(as_float).unwrap()),
        bits(&medians),
        bits(&values),
        bits(&positions.map_values(|position| position as f64).unwrap()),
        bits(&x.stored().nanmedian(Axes::all()).unwrap()),
        bits(&grad::nanmedian(&x, &upstream, 0).unwrap()),
        bits(&x.take(Take::at(&taken).wrap()).unwrap()),
        bits(&x.take_axis([3, 1, 1, 0], 2).unwrap()),
        bits(&x.gather([[3, 1, 1, 0], [0, 2, 2, 1], [1, 0, 0, 1]]).unwrap()),
        bits(&scattered),
        bits(&x.permute_axes([2, 1, 0]).unwrap()),
        bits(&x.map_values(f64::sqrt).unwrap()),
        bits(&x),
    ]
}

/// Counts, which no build can tell otherwise.
fn counts(x: &CooTensor<f64>) -> Vec<Bits> {
    let as_float = |count: u64| count as f64;
    vec![
        bits(&x.count_nonzero(1).unwrap().map_values(as_float).unwrap()),
        bits(&x.to_csr().unwrap().stored().count_nonzero([0, 2]).unwrap().map_values(as_float).unwrap()),
    ]
}

/// Returns results of indexing, shape manipulation and concatenation. These operations have a part per thread.
fn moved(x: &CooTensor<f64>) -> Vec<Bits> {
    let (side, csr) = (x.shape()[0], x.to_csr().unwrap());
    let mask: Vec<bool> = (0..side).map(|row| row % 3 != 1).collect();
    let upstream = csr.tile([1, 1, 2]).unwrap();
    vec![
        bits(&x.slice(s![1..;2, ..;3, ..;-1]).unwrap()),
        bits(&csr.slice(s![1..;2, ..;3, 1..4;2]).unwrap()),
        bits(&csr.flip([0, 1]).unwrap()),
        bits(&x.roll(7, 1).unwrap()),
        bits(&grad::tile(&csr, &upstream, [1, 1, 2]).unwrap()),
        bits(&x.move_axis(2, 0).unwrap().triu(1).unwrap()),
        bits(&csr.take_axis(&mask, 0).unwrap()),
        bits(&x.take_axis(&mask, 1).unwrap()),
        bits(&x.select(|value| value > 3.0).unwrap()),
        bits(&x.filter_entries(|coords, _| coords[0] != coords[1]).unwrap()),
        bits(&lacuna::concat(1, &[&csr, &csr]).unwrap()),
        bits(&lacuna::concat(2, &[x, x]).unwrap()),
        bits(&CooTensor::random([side, side, 5], ENTRIES / 10, 5).unwrap()),
    ]
    .into_iter()
    .chain(grouped(x))
    .chain(factored(x))
    .collect()
}

/// Products with factors by rows, and softmax.
fn factored(x: &CooTensor<f64>) -> Vec<Bits> {
    use ndarray::Array2;
    let (side, x) = (x.shape()[0], x.clone().with_fill(0.0));
    let x = x.map_values(|value| if value.is_finite() { value } else { 0.5 }).unwrap();
    let csr = x.to_csr().unwrap();
    let factor = |rows: usize| Array2::from_shape_fn((rows, 9), |(row, k)| 0.1 * (1 + row * 7 % 13 + k) as f64);
    let (a, b, c) = (factor(side), factor(side), factor(5));
    let array = |array: ndarray::ArrayD<f64>| (Vec::new(), array.iter().map(|value| value.to_bits()).collect());
    let matrix = x.take_axis(0, 2).unwrap();
    let (_, of_l, of_r) = grad::sddmm(&matrix.stored(), &a, &b, &matrix).unwrap();
    let (dx, _) = lacuna::grad::mttkrp(&csr, 1, &[&a, &c], &b).unwrap();
    let small = matrix.slice(s![..40, ..]).unwrap();
    vec![
        bits(&matrix.stored().sddmm(&a, &b).unwrap()),
        array(of_l),
        array(small.cov(0, 1).unwrap()),
        array(
            small
                .to_dense()
                .unwrap()
                .view()
                .into_dimensionality::<ndarray::Ix2>()
                .map(|x| lacuna::corrcoef(&x, 0))
                .unwrap()
                .unwrap(),
        ),
        array(of_r),
        array(lacuna::mttkrp(&x, 0, &[&b, &c]).unwrap()),
        array(lacuna::mttkrp(&csr, 2, &[&a, &b]).unwrap()),
        bits(&dx),
        bits(&csr.stored().softmax([1, 2]).unwrap()),
        bits(&x.stored().log_softmax(0).unwrap()),
        bits(&lacuna::outer(&small, &small.slice(s![..2, ..]).unwrap()).unwrap()),
        bits(&lacuna::einsum("ijk,ljk->il", &[&csr.slice(s![..60, .., ..]).unwrap(); 2]).unwrap()),
    ]
}

/// Reductions by label, and ranks.
fn grouped(x: &CooTensor<f64>) -> Vec<Bits> {
    let labels: Vec<usize> = (0..x.shape()[1]).map(|column| column * 7 % 13 % 11).collect();
    let (stored, csr) = (x.stored(), x.to_csr().unwrap());
    vec![
        bits(&x.sum(Axes::by(1, &labels)).unwrap()),
        bits(&csr.max(Axes::by(1, &labels).and(0)).unwrap()),
        bits(&stored.nanmedian(Axes::by(1, &labels).and(2)).unwrap()),
        bits(&x.topk(2, 2).unwrap()),
        bits(&csr.stored().topk(3, 0).unwrap()),
        bits(&x.sort(1).unwrap()),
        bits(&csr.stored().sort(0).unwrap()),
        bits(&x.diff(1, 1).unwrap()),
        bits(&x.trace(1).unwrap()),
        bits(&x.average(&[0.1, 0.3, -0.7, 2.0, 0.05], 2).unwrap()),
        bits(&stored.cumsum(1).unwrap()),
        bits(&csr.stored().cumprod(0).unwrap()),
    ]
}

/// Functions of elements, which are the same bits on every machine.
fn functions() -> Vec<Bits> {
    let x = triplets(90, ENTRIES).coalesce(Duplicates::Sum).unwrap();
    let upstream = x.stored().sign().unwrap();
    vec![
        bits(&x.stored().exp_m1().unwrap()),
        bits(&x.abs().unwrap().ln_1p().unwrap()),
        bits(&x.stored().sin().unwrap()),
        bits(&x.stored().powf(0.3).unwrap()),
        bits(&x.stored().round().unwrap()),
        bits(&grad::tanh(&x, &upstream).unwrap()),
    ]
}

/// Functions of complex numbers, and of floats beside, which are the same bits on every machine.
fn functions_of_complex_numbers() -> Vec<Bits> {
    let x = triplets(90, ENTRIES / 8).coalesce(Duplicates::Sum).unwrap();
    let z = x.map_values(|value| Complex::new(value, 1.0 - 0.5 * value)).unwrap();
    let z = z.stored();
    let of_complex = [z.exp(), z.ln(), z.sqrt(), z.square(), z.recip(), z.sign(), z.pow(Complex::new(0.3, -1.0))];
    let parts = of_complex.map(|z| z.and_then(|z| Ok([bits(&z.real()?), bits(&z.imag()?)])).unwrap());
    let of_floats = [z.angle(), x.stored().sinc(), x.nextafter(1.0), grad::sinc(&x, &x.stored().sign().unwrap())];
    parts.into_iter().flatten().chain(of_floats.map(|y| bits(&y.unwrap()))).collect()
}

/// Sums, extremes and variances, each of which is the same bits on every machine.
fn reductions() -> Vec<Bits> {
    let x = triplets(90, ENTRIES).coalesce(Duplicates::Sum).unwrap();
    let csr = x.to_csr().unwrap();
    vec![
        bits(&x.sum([0, 1]).unwrap()),
        bits(&x.sum(2).unwrap()),
        bits(&csr.mean(-1).unwrap()),
        bits(&x.max(0).unwrap()),
        bits(&x.stored().var(1).unwrap()),
        bits(&x.argmin(2).unwrap().map_values(|position| position as f64).unwrap()),
    ]
}

/// Products, quantiles and norms, each of which is the same bits on every machine.
fn more_reductions() -> Vec<Bits> {
    let x = triplets(90, ENTRIES).coalesce(Duplicates::Sum).unwrap();
    let csr = x.to_csr().unwrap();
    let upstream = CooTensor::full([90, 5], 0.3).unwrap();
    let tamed = |value: f64| if value.is_finite() && value != 0.0 { 1.0 + 1e-3 / value } else { 0.9 };
    let nearly_one = x.map_values(tamed).unwrap().with_fill(0.97);
    vec![
        bits(&nearly_one.prod([0, 1]).unwrap()),
        bits(&nearly_one.to_csr().unwrap().stored().prod(-1).unwrap()),
        bits(&grad::prod(&nearly_one, &upstream, 0).unwrap()),
        bits(&x.nanquantile(0.9, [0, 1]).unwrap()),
        bits(&csr.stored().quantile(0.1, 0).unwrap()),
        bits(&grad::nanquantile(&x, &upstream, 0.9, 1).unwrap()),
        bits(&csr.norm(2).unwrap()),
        bits(&x.stored().norm(Norm::over(0).one()).unwrap()),
    ]
}

/// Returns results of indexing, shape manipulation and concatenation, and of reductions to one element.
fn chosen_and_joined() -> Vec<Bits> {
    let x = triplets(90, ENTRIES).coalesce(Duplicates::Sum).unwrap();
    let (csr, matrix) = (x.to_csr().unwrap(), x.reshape([8100, 5]).unwrap().to_csr().unwrap());
    let rows: Vec<bool> = (0..8100).map(|row| row % 7 != 3).collect();
    let greatest = |position: u64| position as f64;
    vec![
        bits(&x.max(Axes::all()).unwrap()),
        bits(&csr.stored().nanmin(Axes::all()).unwrap()),
        bits(&x.argmax(Axes::all()).unwrap().map_values(greatest).unwrap()),
        bits(&csr.stored().nanargmin(Axes::all()).unwrap().map_values(greatest).unwrap()),
        bits(&x.nanvar(Axes::all()).unwrap()),
        bits(&csr.stored().std(Axes::all()).unwrap()),
        bits(&lacuna::concat(0, &[&x, &x]).unwrap()),
        bits(&lacuna::concat(0, &[&csr, &csr]).unwrap()),
        bits(&lacuna::concat(2, &[&csr, &csr]).unwrap()),
        bits(&lacuna::stack(0, &[&csr, &csr]).unwrap()),
        bits(&csr.slice(s![..;2, 1..80, ..]).unwrap()),
        bits(&csr.slice(s![.., 3..60;3, ..;-2]).unwrap()),
        bits(&matrix.slice(s![.., 1..3]).unwrap()),
        bits(&matrix.take_axis(&rows[..], 0).unwrap()),
        bits(&csr.select(|value| value > 0.0).unwrap()),
    ]
}

#[test]
fn what_is_moved_is_the_same_at_any_number_of_threads() {
    let one = on(1, chosen_and_joined);
    on_pools(chosen_and_joined, |many, threads| {
        let differs = many.iter().zip(&one).position(|(many, one)| many != one);
        assert_eq!(differs, None, "{threads} threads");
    });
}

/// The digests were written down once: see [`every_build_gives_the_same_bits`].
#[test]
fn every_machine_gives_the_same_functions_and_sums() {
    for (run, expected) in [
        (functions as fn() -> Vec<Bits>, 0x14b_3497_8a88_e572),
        (functions_of_complex_numbers, 0x712c_f9dc_8a71_3e19),
        (reductions, 0x3501_b2a1_d155_4b2c),
        (more_reductions, 0x50bf_870b_cfc2_3ff6),
    ] {
        let one = on(1, run);
        on_pools(run, |many, threads| assert!(many == one, "{threads} threads"));
        assert_eq!(digest(&one), expected);
    }
}

/// The first of several that overflow, whichever thread finds it.
#[test]
fn every_number_of_threads_gives_the_same_error() {
    const LONG: usize = 3_000_000;
    let mut values = vec![7i32; LONG];
    [2_999_999, 700_001, 1_600_000].into_iter().for_each(|at| values[at] = i32::MIN);
    let x = CooTensor::new([LONG], vec![(0..LONG as u32).collect()], values, 0).unwrap();
    let refused = || x.abs().unwrap_err().to_string();
    on_pools(refused, |error, _| {
        assert_eq!(error, "abs at [700001] does not fit int32; cast the operand first, for example to float64");
    });
}

/// Two operands, half of whose entries they have in common, and what is scaled.
fn zips(side: usize) -> Vec<Bits> {
    let x = triplets(side, COMPARED).coalesce(Duplicates::Sum).unwrap();
    let kept: Vec<i64> = (0..side as i64).filter(|row| row % 2 == 0).collect();
    let moved = x.permute_axes([1, 0, 2]).unwrap();
    let rows = x.take_axis(&kept, 0).unwrap();
    let rows =
        CooTensor::new(x.shape(), (0..3).map(|axis| rows.coords(axis).to_vec()).collect(), rows.values().to_vec(), 0.0);
    let y = rows.unwrap().add(&moved).unwrap();
    let factors: Vec<f64> = (0..side).map(|row| 0.1 * row as f64).collect();
    let (csr_x, csr_y) = (x.to_csr().unwrap(), y.to_csr().unwrap());
    vec![
        bits(&y),
        bits(&(&csr_x - &csr_y)),
        bits(&(x.stored() * &y)),
        bits(&(csr_x.stored() + &csr_y)),
        bits(&(&x * 0.1)),
        bits(&csr_x.stored().scale(0, &factors).unwrap()),
        bits(&x.stored().without(y.pattern()).unwrap()),
        bits(&lacuna::where_(&x.less(&y).unwrap(), &x, &y).unwrap()),
    ]
}

#[test]
fn zips_are_the_same_at_every_number_of_threads() {
    let one = SIDES.map(|side| on(1, || zips(side)));
    for (side, one) in SIDES.into_iter().zip(&one) {
        on_pools(|| zips(side), |many, threads| assert!(many == *one, "side {side}, {threads} threads"));
    }
}

/// Products of all kinds of operands, and gradients, of a matrix with a few rows that hold most of its entries.
fn products() -> Vec<Bits> {
    let mut next = numbers(17);
    let mut triplets = Triplets::new([900, 700]).unwrap();
    for at in 0..30_000_usize {
        let row = if at % 2 == 0 { next() % 3 * 299 } else { next() % 900 } as usize;
        triplets.push(&[row, next() as usize % 700], 0.1 * (next() % 1000) as f64 - 30.0).unwrap();
    }
    let x = triplets.coalesce(Duplicates::First).unwrap();
    let (csr, turned) = (x.to_csr().unwrap(), x.transpose().unwrap());
    let dense = ndarray::Array2::from_shape_fn((700, 21), |(i, j)| (i * 31 + j) as f64 * 0.3 - 900.0);
    let upstream = ndarray::Array2::from_shape_fn((900, 21), |(i, j)| (i + 7 * j) as f64 * 0.7);
    let bits_of = |x: &ndarray::ArrayD<f64>| (Vec::new(), x.iter().map(|value| value.to_bits()).collect());
    let near = x.matmul(&turned).unwrap().tril(2).unwrap().triu(-300).unwrap();
    let (dx, dy) = grad::matmul(&csr, &dense, &upstream).unwrap();
    vec![
        bits(&x.matmul(&turned).unwrap()),
        bits(&csr.matmul(&turned.to_csr().unwrap()).unwrap()),
        bits(&csr.matmul_with(&turned, near.pattern()).unwrap()),
        bits(&x.matmul_with(&turned, Matmul::min_plus().without(near.pattern())).unwrap()),
        bits_of(&csr.matmul_with(&dense, Matmul::any_second()).unwrap()),
        bits_of(&lacuna::matmul(&dense.column(0), &turned).unwrap()),
        bits_of(&csr.matmul(&dense).unwrap()),
        bits_of(&lacuna::matmul(&dense.t(), &turned).unwrap()),
        bits_of(&lacuna::matmul(&dense.t(), &dense).unwrap()),
        bits(&dx),
        bits_of(&dy),
    ]
}

#[test]
fn products_are_the_same_at_every_number_of_threads() {
    let one = on(1, products);
    on_pools(products, |many, threads| assert!(many == one, "{threads} threads"));
}

/// A tensor whose cells are few beside its entries, so that they are mapped, part by part.
fn mapped() -> (Vec<Vec<usize>>, Vec<bool>) {
    let mut next = numbers(11);
    let columns: Vec<u32> = (0..ENTRIES).map(|entry| (entry % 300 * 13) as u32).collect();
    let mut coords = [(0..ENTRIES as u32).map(|entry| entry / 300).collect(), columns];
    coords[1].chunks_mut(300).for_each(<[u32]>::sort_unstable);
    let values: Vec<f64> = (0..ENTRIES).map(|_| if next().is_multiple_of(900) { 1.0 } else { 0.0 }).collect();
    let x = CooTensor::new([1000, 3900], coords.to_vec(), values, 0.0).unwrap();
    let any = x.any(0).unwrap();
    (any.iter().map(|(coords, _)| coords.to_vec()).collect(), any.values().to_vec())
}

#[test]
fn mapped_cells_are_the_same_at_every_number_of_threads() {
    let one = on(1, mapped);
    assert_eq!(one.0.len(), 300);
    assert!(one.1.contains(&true) && one.1.contains(&false));
    on_pools(mapped, |many, threads| assert!(many == one, "{threads} threads"));
}

/// Both where coordinates are packed and counted, and where they are packed and sorted. Squared, the second one is the
/// number of rows in CSR, more than there are entries.
const SIDES: [usize; 2] = [90, 1000];

/// The outcomes of both sides on a single thread, and the counts.
static ONE: LazyLock<[[Vec<Bits>; 3]; 2]> = LazyLock::new(|| SIDES.map(|side| on(1, || both(side))));

fn both(side: usize) -> [Vec<Bits>; 3] {
    let x = triplets(side, COMPARED).coalesce(Duplicates::Sum).unwrap();
    [outcome(side), counts(&x), moved(&x)]
}

#[test]
fn every_number_of_threads_gives_the_same_bits() {
    for (side, one) in SIDES.into_iter().zip(&*ONE) {
        on_pools(
            || both(side),
            |many, threads| {
                for (at, (one, many)) in one.iter().flatten().zip(many.iter().flatten()).enumerate() {
                    assert!(one == many, "outcome {at} with side {side} differs between 1 and {threads} threads");
                }
            },
        );
    }
}

/// The bits of a debug build and of a release build, and of every run: the numbers were written down once.
#[test]
fn every_build_gives_the_same_bits() {
    let written = [0x1a33_e938_4870_dc7e, 0x9bb8_4eeb_d112_9fcb];
    assert_eq!(ONE.each_ref().map(|[outcome, ..]| digest(outcome)), written);
}
