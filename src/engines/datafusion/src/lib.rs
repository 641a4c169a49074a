//! Graphs of [`lacuna`](lacuna::lazy) on [DataFusion](datafusion): folds of files, in as many parts at once as are
//! asked for.
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
//! DataFusion computes a fold (`any`, `all`, `count_nonzero`, `sum`, `mean`, `norm`, `min`, `max`, and those that leave
//! NaNs out) or a median over some axes of a [scanned](lacuna::io::scan) file or folder, with any steps element by
//! element between the two. An operand of such a step may be smaller than the file and repeated, as in `x * row` and `x
//! / x.sum(Axes::all().keep_dims())`, if the result has the entries of the file. The rest of a graph runs on the
//! threads of this process, and so does a fold that is refused, if what it reads fits [`memory`](DataFusion::memory);
//! [`explain`](lacuna::lazy::On::explain) tells which and why.
//!
//! Results are those of [`Threads`](lacuna::lazy::Threads), bit for bit, in any number of parts: DataFusion sees
//! coordinates, which it groups and sorts by, and bytes, which it hands to our functions. It compares, adds and hashes
//! no value. An answer must be made of all entries: their number and the sum of their hashes are compared with those
//! that the file tells, and an answer that differs is asked for again, then refused.
//!
//! [`DataFusion`] runs in this process. [`Cluster`] runs the same folds on workers, on this machine or on others, which
//! are the program `lacuna-worker`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod access;
mod bin;
mod census;
mod cluster;
mod codec;
mod elsewhere;
mod engine;
mod fold;
mod map;
mod median;
mod roots;
mod run;
mod runtimes;
mod spill;
mod table;
mod which;
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
