//! Computes the sums of the rows of a table of floats on workers, and prints the time: `cluster clicks.parquet
//! http://127.0.0.1:8080 http://127.0.0.1:8081`. Without workers, writes a table of random entries: `cluster
//! clicks.parquet`.

use std::time::Instant;

use lacuna::CooTensor;
use lacuna::io::{ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::Lazy;
use lacuna_datafusion::Cluster;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("cluster TABLE [WORKER...]")?;
    let workers: Vec<String> = arguments.collect();
    if workers.is_empty() {
        let clicks: CooTensor<f64> = CooTensor::random([1000, 1000], 100_000, 1)?;
        return Ok(write(path, &clicks, &WriteOptions::default())?);
    }
    let x: Lazy<CooTensor<f64>> = scan(path, &ReadOptions::default())?;
    let rest: Vec<usize> = (1..x.shape().map_or(1, <[usize]>::len)).collect();
    let sums = x.nansum(rest).on(Cluster::connect(workers)?);
    print!("{}", sums.explain()?);
    let start = Instant::now();
    println!("{:?}\nin {:?}", sums.collect()?, start.elapsed());
    Ok(())
}
