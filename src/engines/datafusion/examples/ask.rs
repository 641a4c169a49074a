//! The value of an expression of `x`, a table, on DataFusion in so many parts, written to another table:
//! `ask clicks/ 'sum(x, axis=1)' 4 sums.parquet`.

use lacuna::eval::{Bound, Expression};
use lacuna::io::{ReadOptions, WriteOptions, read_header, scan_any, write};
use lacuna_datafusion::DataFusion;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, expression, parts, answer] = &arguments[..] else {
        return Err("ask TABLE EXPRESSION PARTS ANSWER".into());
    };
    let options = ReadOptions::default();
    let x = Bound::later(scan_any(path, &options)?, read_header(path, &options)?);
    let graph = Expression::parse(expression)?.graph(|name| (name == "x").then(|| x.clone()))?;
    let answered = graph.on(DataFusion::in_process().partitions(parts.parse()?)).collect()?;
    write(answer, &answered, &WriteOptions::default())?;
    Ok(())
}
