//! The workloads that other libraries are timed on, one JSON line each:
//! `cargo bench --bench compare -- --data DIR --threads N [--only PREFIX]`.
//!
//! `DIR/<dataset>` holds the arrays of a data set as `.npy` files and its shape in `meta.json`. Inputs are loaded and
//! tensors built before the clock starts, results built inside it and dropped outside. A first run warms up; its
//! result gives `check`, the sums of the plain arrays (NaN left out), so that a wrong answer cannot look fast. Its peak
//! memory goes to stderr. Written files go to the folder that `MEM_DIR` names, which had better be in memory. Arrays
//! lie where the allocator puts them; with `LACUNA_BENCH_PAGES=huge` in huge pages, as those of numpy do.

#[path = "compare/data.rs"]
mod data;
mod memory;
#[path = "compare/moves.rs"]
mod moves;
#[path = "compare/products.rs"]
mod products;
#[path = "compare/workloads.rs"]
mod workloads;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use memory::peak_of;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Loads its input from the data folder, and measures.
type Workload = Box<dyn Fn(&Path) -> Result<Figures>>;

/// What a workload took, in seconds and MiB, and the sums of its result.
struct Figures {
    times: Vec<f64>,
    check: Vec<f64>,
    peak: f64,
}

/// Runs once for `check` and the peak, then at least 5 times and for about a second, at most 15 times.
fn measure<R>(mut run: impl FnMut() -> Result<R>, check: impl FnOnce(R) -> Result<Vec<f64>>) -> Result<Figures> {
    measure_with(|| (), |()| run(), check)
}

/// [`measure`] of what consumes its input, which `prepare` makes before the clock starts.
fn measure_with<X, R>(
    prepare: impl Fn() -> X,
    mut run: impl FnMut(X) -> Result<R>,
    check: impl FnOnce(R) -> Result<Vec<f64>>,
) -> Result<Figures> {
    let input = prepare();
    let (first, peak) = peak_of(|| run(input));
    let check = check(first?)?;
    let mut times: Vec<f64> = Vec::new();
    while times.len() < 5 || (times.len() < 15 && times.iter().sum::<f64>() < 1.0) {
        let input = prepare();
        let start = Instant::now();
        let result = run(input);
        times.push(start.elapsed().as_secs_f64());
        drop(result?);
    }
    times.sort_by(f64::total_cmp);
    Ok(Figures { times, check, peak })
}

/// What the command line asks for.
struct Arguments {
    data: PathBuf,
    threads: usize,
    only: String,
}

impl Arguments {
    /// `None` where no data is named: `cargo test --benches` runs this too.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let (mut data, mut threads, mut only) = (None, 1, String::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            match word.as_str() {
                "--data" => data = Some(PathBuf::from(value()?)),
                "--threads" => threads = value()?.parse()?,
                "--only" => only = value()?,
                "--bench" => {} // what cargo bench adds
                _ => return Err(format!("unknown argument {word}").into()),
            }
        }
        Ok(data.map(|data| Arguments { data, threads, only }))
    }
}

fn print(name: &str, threads: usize, figures: &Figures) {
    let Figures { times, check, peak } = figures;
    let n = times.len();
    let median = (times[(n - 1) / 2] + times[n / 2]) / 2.0;
    let (min, max) = (times[0], times[n - 1]);
    let line = serde_json::json!({
        "workload": name, "peer": "lacuna", "threads": threads,
        "min": min, "median": median, "max": max, "n": n, "check": check,
    });
    println!("{line}");
    eprintln!("{name}: least {:.1} ms, peak {peak:.0} MiB beyond the input", min * 1e3);
}

fn main() -> Result<()> {
    let Some(Arguments { data, threads, only }) = Arguments::parse(std::env::args().skip(1))? else {
        println!("usage: cargo bench --bench compare -- --data DIR --threads N [--only PREFIX]");
        return Ok(());
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let mut failed = 0;
    for (name, workload) in workloads::all().iter().filter(|(name, _)| name.starts_with(&only)) {
        match workload(&data) {
            Ok(figures) => print(name, threads, &figures),
            Err(error) => {
                eprintln!("{name}: {error}");
                failed += 1;
            }
        }
    }
    if failed > 0 { Err(format!("{failed} workloads failed").into()) } else { Ok(()) }
}
