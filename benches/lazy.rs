//! Graphs beside what they stand for: `cargo bench --features lazy --bench lazy [-- ENTRIES]`, 10^7 entries without
//! one, ten a row.
//!
//! Of each chain the least microseconds of several runs: the operations one by one, the program in its first run and in
//! a later one on the same pattern, the kernels on bare arrays without a pattern, and one loop by hand. The last two
//! columns are the quotients that are promised. One thread.

#[allow(dead_code)] // other benches need more of it
mod support;

use std::hint::black_box;
use std::time::Instant;

use lacuna::lazy::{Lazy, compile};
use lacuna::{Axes, CsrTensor, Pattern, Result, Tensor};
use ndarray::{Array1, Array2, ArrayD};
use support::Numbers;

/// The entries of a row.
const WIDTH: usize = 10;
const ROUNDS: usize = 7;

type Csr = CsrTensor<f64>;
type Values = Array1<f64>;

/// A chain in each of the forms that it has.
struct Chain<'a> {
    name: &'static str,
    graph: fn(&Lazy<Csr>) -> Lazy<Csr>,
    eager: fn(&Csr) -> Result<Csr>,
    /// On bare values, `WIDTH` a row.
    kernels: fn(&Values) -> Result<ArrayD<f64>>,
    by_hand: &'a dyn Fn(&[f64]) -> Vec<f64>,
}

/// The least microseconds of several runs of each, in turns, of which short ones have more.
fn least<const N: usize>(entries: usize, runs: [&dyn Fn() -> f64; N]) -> [f64; N] {
    let mut least = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (least, run) in least.iter_mut().zip(runs) {
            for _ in 0..(1_000_000 / entries.max(1)).clamp(1, 200) {
                *least = least.min(run());
            }
        }
    }
    least
}

/// The microseconds of one run, without those of letting its result go.
fn timed<R>(run: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    let result = black_box(run());
    let took = start.elapsed().as_secs_f64() * 1e6;
    drop(result);
    took
}

fn values_of<P: Pattern>(x: &Tensor<P, f64>) -> Vec<u64> {
    x.values().iter().map(|value| value.to_bits()).collect()
}

fn print_row(chain: &Chain<'_>, x: &Csr) -> Result<()> {
    let bare = Array1::from(x.values().to_vec());
    let input = Lazy::<Csr>::input("x", x.shape());
    let graph = (chain.graph)(&input);
    let first = || {
        let program = compile(&graph).expect("the graph is right");
        timed(|| program.run([input.is(x)]))
    };
    let program = compile(&graph)?;
    let found = program.run([input.is(x)])?;
    assert_eq!(values_of(&found), values_of(&(chain.eager)(x)?), "{}", chain.name);
    let again = || timed(|| program.run([input.is(x)]));
    let (eager, kernels) = (|| timed(|| (chain.eager)(x)), || timed(|| (chain.kernels)(&bare)));
    let by_hand = || timed(|| (chain.by_hand)(black_box(x.values())));
    let [eager, first, again, kernels, by_hand] = least(x.nnz(), [&eager, &first, &again, &kernels, &by_hand]);
    println!(
        "| {} | {eager:.1} | {first:.1} | {again:.1} | {kernels:.1} | {by_hand:.1} | {:.2} | {:.2} | {:.2} |",
        chain.name,
        again / eager,
        again / kernels,
        again / by_hand
    );
    Ok(())
}

/// Rows of `WIDTH` values.
fn rows(values: &Values) -> Array2<f64> {
    let shape = (values.len() / WIDTH, WIDTH);
    values.view().into_shape_with_order(shape).expect("rows are full").to_owned()
}

/// The five steps, one by one on bare values.
fn five(x: &Values) -> Result<Values> {
    let x = lacuna::sqrt(&lacuna::add(&lacuna::abs(x)?, 1.0)?)?;
    lacuna::mul(&lacuna::recip(&x.into_dyn())?, 3.0).map(|x| x.into_dimensionality().expect("it is a vector"))
}

/// The five steps of one value.
fn five_of(x: f64) -> f64 {
    1.0 / (x.abs() + 1.0).sqrt() * 3.0
}

fn five_steps<X: lacuna::lazy::Steps<Elem = f64, Of<f64> = X>>(x: &Lazy<X>) -> Lazy<X> {
    (x.abs() + 1.0).sqrt().recip() * 3.0
}

fn five_eager(x: &Csr) -> Result<Csr> {
    x.abs()?.add(1.0)?.sqrt()?.recip()?.mul(3.0)
}

fn chains() -> Vec<Chain<'static>> {
    vec![
        Chain {
            name: "isfinite, abs + 1, sqrt, nanmedian",
            graph: |x| x.isfinite().where_(&(x.abs() + 1.0).sqrt(), x).stored().nanmedian(1),
            eager: |x| lacuna::where_(&x.isfinite()?, &x.abs()?.add(1.0)?.sqrt()?, x)?.stored().nanmedian(1),
            kernels: |x| {
                let roots = lacuna::sqrt(&lacuna::add(&lacuna::abs(x)?, 1.0)?)?;
                let chosen = lacuna::where_(&lacuna::isfinite(x)?, &roots, x)?.into_dimensionality();
                lacuna::nanmedian(&rows(&chosen.expect("it is a vector")), 1)
            },
            by_hand: &|x| {
                let one = |x: f64| if x.is_finite() { (x.abs() + 1.0).sqrt() } else { x };
                let chosen = Array1::from_iter(x.iter().map(|&x| one(x)));
                lacuna::nanmedian(&rows(&chosen), 1).expect("there is memory").into_raw_vec_and_offset().0
            },
        },
        Chain {
            name: "five steps",
            graph: five_steps,
            eager: five_eager,
            kernels: |x| five(x).map(Array1::into_dyn),
            by_hand: &|x| x.iter().map(|&x| five_of(x)).collect(),
        },
        Chain {
            name: "five steps, sum of rows",
            graph: |x| five_steps(x).stored().sum(1),
            eager: |x| five_eager(x)?.stored().sum(1),
            kernels: |x| lacuna::sum(&rows(&five(x)?), 1),
            by_hand: &|x| x.chunks(WIDTH).map(|row| row.iter().map(|&x| five_of(x)).sum()).collect(),
        },
        Chain {
            name: "five steps, sum",
            graph: |x| five_steps(x).stored().sum(Axes::all()),
            eager: |x| five_eager(x)?.stored().sum(Axes::all()),
            kernels: |x| lacuna::sum(&five(x)?, Axes::all()),
            by_hand: &|x| vec![x.iter().map(|&x| five_of(x)).sum()],
        },
        Chain {
            name: "five steps, max",
            graph: |x| five_steps(x).stored().max(Axes::all()),
            eager: |x| five_eager(x)?.stored().max(Axes::all()),
            kernels: |x| lacuna::max(&five(x)?, Axes::all()),
            by_hand: &|x| vec![x.iter().map(|&x| five_of(x)).fold(f64::NEG_INFINITY, f64::max)],
        },
    ]
}

/// A matrix of full rows in a wide shape: its columns are anywhere.
fn matrix(entries: usize, value: fn(&mut Numbers) -> f64) -> Result<Csr> {
    let rows = (entries / WIDTH).max(1);
    let offsets = (0..=rows).map(|row| row * WIDTH).collect();
    let mut numbers = Numbers(7);
    let columns = (0..rows * WIDTH).map(|at| (at % WIDTH * 100) as u32 + numbers.below(100) as u32).collect();
    let values = (0..rows * WIDTH).map(|_| value(&mut numbers)).collect();
    CsrTensor::new([rows, WIDTH * 100], offsets, columns, values, 0.0)
}

fn main() -> Result<()> {
    let entries = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(10_000_000);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("no thread can be started");
    let with_nans = matrix(entries, Numbers::value)?;
    let finite = matrix(entries, |numbers| (numbers.below(1 << 40) as f64 - 1e12) / 1e10)?;
    println!("| chain | eager | first run | second run | kernels | by hand | to eager | to kernels | to by hand |");
    println!("| --- |{}", " --- |".repeat(8));
    pool.install(|| {
        chains().iter().try_for_each(|chain| {
            let x = if chain.name.contains("isfinite") { &with_nans } else { &finite };
            print_row(chain, x)
        })
    })
}
