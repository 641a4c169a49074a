//! Runs a query over the rows of a table of `f64` on DataFusion, in a given number of parts. The result is written to
//! another table: `ask clicks/ sum 4 sums.parquet`.

use lacuna::CooTensor;
use lacuna::io::{ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::Lazy;
use lacuna_datafusion::DataFusion;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, question, parts, answer] = &arguments[..] else {
        return Err("ask TABLE any|sum|nanmedian|chain PARTS ANSWER".into());
    };
    let engine = DataFusion::in_process().partitions(parts.parse()?);
    let (x, options): (Lazy<CooTensor<f64>>, _) = (scan(path, &ReadOptions::default())?, WriteOptions::default());
    let rows = match &question[..] {
        "any" => return Ok(write(answer, &x.any(1).on(engine).collect()?, &options)?),
        "sum" => x.sum(1),
        "nanmedian" => x.stored().nanmedian(1),
        "chain" => ((x.abs() * 2.0).sqrt() - x.square()).sum(1),
        other => return Err(format!("{other} is not a query").into()),
    };
    Ok(write(answer, &rows.on(engine).collect()?, &options)?)
}
