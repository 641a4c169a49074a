//! Asks workers for the sums of the rows of a table of floats, and says how long it took:
//! `cluster /data/clicks http://127.0.0.1:8080 http://127.0.0.1:8081`.

use std::time::Instant;

use lacuna::CooTensor;
use lacuna::io::{ReadOptions, scan};
use lacuna::lazy::Lazy;
use lacuna_datafusion::Cluster;

fn main() -> lacuna::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "x.parquet".into());
    let cluster = Cluster::connect(arguments)?;
    let x: Lazy<CooTensor<f64>> = scan(path, &ReadOptions::default())?;
    let rest: Vec<usize> = (1..x.shape().map_or(1, <[usize]>::len)).collect();
    let sums = x.nansum(rest).on(cluster);
    print!("{}", sums.explain()?);
    let start = Instant::now();
    println!("{:?}\nin {:?}", sums.collect()?, start.elapsed());
    Ok(())
}
