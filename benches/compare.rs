//! The workloads that other libraries are timed on, one JSON line each:
//! `cargo bench --bench compare -- --data DIR --threads N [--only PREFIX]`.
//!
//! `DIR/<dataset>` holds the arrays of a data set as `.npy` files and its shape in `meta.json`. Inputs are loaded and
//! tensors built before the clock starts, results built inside it and dropped outside. A first run warms up; its
//! result gives `check`, the sums of the plain arrays (NaN left out), so that a wrong answer cannot look fast. Its peak
//! memory goes to stderr. Written files go to the folder that `MEM_DIR` names, which had better be in memory.

mod memory;

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read_coo, write_to};
use lacuna::{CooPattern, CooTensor, Tensor};
use memory::peak_of;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Loads its input from the data folder, and measures.
type Workload = fn(&Path) -> Result<Figures>;

/// The workloads by name.
const WORKLOADS: &[(&str, Workload)] = &[("mtx_read", mtx_read), ("mtx_write", mtx_write)];

/// What a workload took, in seconds and MiB, and the sums of its result.
struct Figures {
    times: Vec<f64>,
    check: Vec<f64>,
    peak: f64,
}

/// Runs once for `check` and the peak, then at least 5 times and for about a second, at most 15 times.
fn measure<R>(mut run: impl FnMut() -> Result<R>, check: impl FnOnce(R) -> Result<Vec<f64>>) -> Result<Figures> {
    let (first, peak) = peak_of(&mut run);
    let check = check(first?)?;
    let mut times: Vec<f64> = Vec::new();
    while times.len() < 5 || (times.len() < 15 && times.iter().sum::<f64>() < 1.0) {
        let start = Instant::now();
        let result = run();
        times.push(start.elapsed().as_secs_f64());
        drop(result?);
    }
    times.sort_by(f64::total_cmp);
    Ok(Figures { times, check, peak })
}

/// The arrays of one data set.
struct DataSet(PathBuf);

impl DataSet {
    /// An array of 8-byte elements, little-endian and in C order, however many axes it has.
    fn array<T>(&self, name: &str, descr: &str, element: fn([u8; 8]) -> T) -> Result<Vec<T>> {
        let path = self.0.join(name).with_extension("npy");
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let header = bytes.get(8..10).map_or(0, |length| 10 + usize::from(u16::from_le_bytes([length[0], length[1]])));
        let says = String::from_utf8_lossy(bytes.get(..header).unwrap_or(&[]));
        if !says.contains(&format!("'{descr}'")) || !says.contains("'fortran_order': False") {
            return Err(format!("{}: not an array of {descr} in C order", path.display()).into());
        }
        let (elements, _) = bytes[header..].as_chunks();
        Ok(elements.iter().map(|&bytes| element(bytes)).collect())
    }

    fn shape(&self) -> Result<Vec<usize>> {
        let meta: serde_json::Value = serde_json::from_str(&fs::read_to_string(self.0.join("meta.json"))?)?;
        Ok(serde_json::from_value(meta["shape"].clone())?)
    }

    /// The matrix or tensor of sorted `coords` and `values`.
    fn coo(&self) -> Result<CooTensor<f64>> {
        let values = self.array("values", "<f8", f64::from_le_bytes)?;
        let coords = self.array("coords", "<i8", i64::from_le_bytes)?;
        let coords = coords.into_iter().map(u32::try_from).collect::<std::result::Result<Vec<u32>, _>>()?;
        let axes = coords.chunks_exact(values.len().max(1)).map(<[u32]>::to_vec).collect();
        Ok(Tensor::from_parts(CooPattern::new(self.shape()?, values.len(), axes)?, values, 0.0)?)
    }
}

fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.filter(|number| !number.is_nan()).sum()
}

/// The sums of rows, columns and values.
fn matrix_sums(x: CooTensor<f64>) -> Result<Vec<f64>> {
    let axis = |axis| sum(x.coords(axis).iter().map(|&coord| f64::from(coord)));
    Ok(vec![axis(0), axis(1), sum(x.values().iter().copied())])
}

fn read_matrix(path: &Path) -> Result<CooTensor<f64>> {
    Ok(read_coo(path, &ReadOptions::default())?)
}

fn mtx_read(data: &Path) -> Result<Figures> {
    let path = data.join("mtx/matrix.mtx");
    fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    measure(|| read_matrix(&path), matrix_sums)
}

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let folder = std::env::var_os("MEM_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        Scratch(folder.join(format!("lacuna-compare-{}.mtx", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes over the same file again and again, as the others do; what is checked is the file read back.
fn mtx_write(data: &Path) -> Result<Figures> {
    let tensor = DataSet(data.join("mtx")).coo()?;
    let scratch = Scratch::new();
    let run = || {
        let file = File::create(&scratch.0)?;
        Ok(write_to(file, FileFormat::MatrixMarket, &tensor, &WriteOptions::default())?)
    };
    measure(run, |()| matrix_sums(read_matrix(&scratch.0)?))
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
    for (name, workload) in WORKLOADS.iter().filter(|(name, _)| name.starts_with(&only)) {
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
