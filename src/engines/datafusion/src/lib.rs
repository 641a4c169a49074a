//! Engines for lazy graphs of [`lacuna`](lacuna::lazy) on [DataFusion](datafusion), for reductions of files.
//!
//! ```
//! use lacuna::CooTensor;
//! use lacuna::io::{ReadOptions, WriteOptions, scan, write};
//! use lacuna::lazy::Lazy;
//! use lacuna_datafusion::DataFusion;
//!
//! let path = std::env::temp_dir().join("lacuna-datafusion-example.parquet");
//! let readings = CooTensor::new([3, 4], vec![vec![0, 0, 2], vec![0, 3, 1]], vec![1.5, -2.0, 4.0], 0.0)?;
//! write(&path, &readings, &WriteOptions::default())?;
//!
//! let x: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default())?;
//! let sums = (x.abs() + 1.0).sqrt().sum(1).on(DataFusion::in_process()).collect()?;
//! assert_eq!(sums, (readings.abs()? + 1.0).sqrt()?.sum(1)?);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), lacuna::Error>(())
//! ```
//!
//! DataFusion computes these reductions of a [scanned](lacuna::io::scan) file or folder over some axes:
//!
//! - `any`, `all` and `count_nonzero`;
//! - `sum`, `mean` and `norm`;
//! - `min` and `max`;
//! - medians;
//! - the variants that skip NaN, such as `nansum`.
//!
//! Any elementwise operations may come between the file and the reduction. An operand of such an operation may be
//! smaller than the file. The operand is then repeated, as in `x * row` and `x / x.sum(Axes::all().keep_dims())`. The
//! result must have the entries of the file.
//!
//! All other steps of a graph run on the threads of this process. A reduction that DataFusion cannot compute also runs
//! on these threads, if the file fits in [`memory`](DataFusion::memory). [`explain`](lacuna::lazy::On::explain) lists
//! the steps on threads, and the reasons.
//!
//! Results are bitwise identical to the results of [`Threads`](lacuna::lazy::Threads), for any number of parts.
//! DataFusion groups and sorts by coordinates, and passes values as bytes to functions of lacuna. DataFusion itself
//! never compares, adds or hashes a value.
//!
//! An answer must cover all entries. lacuna compares the number of entries and the sum of their hashes with the numbers
//! in the file. If an answer differs, the query runs again. After the last attempt, the query fails.
//!
//! [`DataFusion`] runs in this process. [`Cluster`] runs the same reductions on workers, on this machine or on other
//! machines. A worker is the program `lacuna-worker`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod access;
mod bin;
mod census;
mod cluster;
mod codec;
mod engine;
mod fold;
mod map;
mod median;
mod region;
mod remote;
mod roots;
mod run;
mod runtimes;
mod spill;
mod table;
mod worker;

pub use cluster::Cluster;
pub use engine::DataFusion;
#[doc(hidden)]
pub use worker::{Place, WorkerOptions, run_worker, serve};

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
}
