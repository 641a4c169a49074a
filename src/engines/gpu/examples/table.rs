//! Times of steps on a device, for `benches/gpu.sh`: `table ENTRIES RUNS`.
//!
//! Prints one JSON line per row: the shortest time in milliseconds, and the bytes that the step has to read and write.
//! The rows run on resident tensors, and leave their results there.

use std::time::Instant;

use lacuna::lazy::Lazy;
use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, Result, Tensor};
use lacuna_gpu::{DeviceElement, DeviceFormat, Gpu};
use ndarray::s;

/// The entries of a row.
const ROW: usize = 10;

struct Table {
    gpu: Gpu,
    runs: usize,
}

impl Table {
    /// Prints the row of a step that moves `bytes` bytes.
    fn row<P: DeviceFormat, T: DeviceElement>(
        &self,
        name: &str,
        bytes: usize,
        graph: &Lazy<Tensor<P, T>>,
    ) -> Result<()> {
        let mut least = f64::INFINITY;
        // The first run compiles kernels and groups the entries.
        for run in 0..=self.runs {
            let start = Instant::now();
            let kept = self.gpu.keep(graph)?;
            self.gpu.wait()?;
            if run > 0 {
                least = least.min(start.elapsed().as_secs_f64());
            }
            drop(kept);
        }
        println!("{{\"row\": \"{name}\", \"ms\": {:.4}, \"bytes\": {bytes}}}", 1e3 * least);
        Ok(())
    }
}

/// Returns a matrix with ten entries per row, at columns that differ from row to row.
fn matrix(entries: usize) -> Result<(CooTensor<f64>, CsrTensor<f64>)> {
    let (rows, columns) = (entries / ROW, 1000_usize);
    let column = |at: usize| ((at % ROW) * 100 + at / ROW * 7919 % 100) as u32;
    let value = |at: usize| if at.is_multiple_of(7) { 0.0 } else { (at * 7919 % 100_003) as f64 / 16.0 - 3000.0 };
    let values: Vec<f64> = (0..rows * ROW).map(value).collect();
    let own: Vec<u32> = (0..rows * ROW).map(column).collect();
    let coords = vec![(0..rows * ROW).map(|at| (at / ROW) as u32).collect(), own.clone()];
    let coo = Tensor::from_parts(CooPattern::new([rows, columns], rows * ROW, coords)?, values.clone(), 0.0)?;
    let offsets = (0..=rows).map(|row| row * ROW).collect();
    Ok((coo, Tensor::from_parts(CsrPattern::new([rows, columns], offsets, own)?, values, 0.0)?))
}

fn main() -> Result<()> {
    let argument = |at: usize, default: usize| std::env::args().nth(at).map_or(Ok(default), |word| word.parse());
    let (Ok(entries), Ok(runs)) = (argument(1, 100_000), argument(2, 5)) else {
        eprintln!("use: table ENTRIES RUNS");
        std::process::exit(2);
    };
    let gpu = Gpu::new()?.strict();
    println!("{{\"device\": {:?}, \"entries\": {entries}}}", gpu.name());
    let (coo, csr) = matrix(entries)?;
    let (values, rows) = (8 * coo.nnz(), coo.shape()[0]);
    let start = Instant::now();
    let (xd, cd) = (gpu.upload(&coo)?, gpu.upload(&csr)?);
    gpu.wait()?;
    let bytes = xd.bytes() + cd.bytes();
    println!("{{\"row\": \"upload\", \"ms\": {:.4}, \"bytes\": {bytes}}}", 1e3 * start.elapsed().as_secs_f64());
    let (x, c) = (xd.lazy(), cd.lazy());
    let positions: Vec<u64> =
        (0..1_000_000_u64.min(entries as u64)).map(|at| at * 7919 % (rows as u64 * 1000)).collect();
    let members: Vec<f64> = (0..1000).map(|at| f64::from(at) / 16.0).collect();
    let upstream = gpu.upload(&csr.any(1)?.cast::<f64>()?)?;
    let one = gpu.upload(&Tensor::from_parts(CooPattern::new([1], 1, vec![vec![0]])?, vec![f64::NAN], 0.0)?)?;
    let table = Table { gpu, runs };
    table.row("isnan of one entry", 9, &one.lazy().isnan())?;
    table.row("isfinite", values + coo.nnz(), &x.isfinite())?;
    table.row("any of CSR rows", values + 8 * rows, &c.any(1))?;
    table.row("gradient of any of CSR rows", 2 * values + 8 * rows, &c.any_gradient(&upstream.lazy(), 1))?;
    table.row("any of COO over axis 0", values + 4 * coo.nnz(), &x.any(0))?;
    table.row("any of COO over axis 1", values + 4 * coo.nnz(), &x.any(1))?;
    table.row("isin of 1000", values + coo.nnz(), &x.isin(members))?;
    table.row("greater", values + coo.nnz(), &x.greater(0.0))?;
    table.row("max of rows", values + 4 * rows, &c.max(1))?;
    table.row("sum of rows", values + 4 * rows, &c.sum(1))?;
    table.row("sum of columns", values + 4 * coo.nnz(), &x.sum(0))?;
    table.row("sum of all", values, &x.sum(vec![0, 1]))?;
    table.row("nanmedian of rows", values + 4 * rows, &c.nanmedian(1))?;
    table.row("nanmedian of all", values, &x.nanmedian(vec![0, 1]))?;
    table.row("take of 10^6", 8 * positions.len(), &x.take(positions))?;
    table.row("slice of every second row", 12 * coo.nnz(), &x.slice(s![..;2, ..]))?;
    table.row("to_csr", 8 * coo.nnz() + 4 * rows, &x.to_csr())
}
