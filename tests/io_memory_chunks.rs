//! The memory of graphs over files eight times as large as what they may take.

#![cfg(feature = "parquet")]

use std::path::Path;

use crate::{ALONE, MEMORY};
#[cfg(feature = "cli")]
use lacuna::eval::{Bound, Expression};
use lacuna::io::{DatasetWriter, ReadOptions, WriteOptions, scan};
#[cfg(feature = "cli")]
use lacuna::io::{read_header, scan_any};
use lacuna::lazy::{Chunks, Lazy, On, concat};
use lacuna::{Axes, CooTensor};

const BUDGET: usize = 4 << 20;
const ROWS: usize = 1200;
const COLUMNS: usize = 4200;

/// Every other position, so that the entries alone take eight times the budget: in memory they had 16 bytes each.
fn write_large(path: &Path) {
    let mut writer = DatasetWriter::create(path, &WriteOptions::default()).unwrap();
    for rows in (0..ROWS as u32).collect::<Vec<_>>().chunks(50) {
        let cells = rows.iter().flat_map(|&row| (row % 2..COLUMNS as u32).step_by(2).map(move |column| (row, column)));
        let (rows, columns): (Vec<u32>, Vec<u32>) = cells.unzip();
        let values = columns.iter().map(|&column| f64::from(column) * 0.37 + 0.001).collect();
        writer.push(&CooTensor::new([ROWS, COLUMNS], vec![rows, columns], values, 0.0).unwrap()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn chunks_take_the_memory_that_is_promised() {
    let _alone = ALONE.lock();
    let folder = std::env::temp_dir().join(format!("lacuna-test-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    write_large(&folder.join("x.parquet"));
    const { assert!(ROWS * COLUMNS / 2 * 16 >= 8 * BUDGET) };
    let engine = Chunks::memory(BUDGET as u64).spill(&folder);
    let peak_of = |name: &str, run: &dyn Fn(Lazy<CooTensor<f64>>)| {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let x = scan(folder.join("x.parquet"), &ReadOptions::default()).unwrap();
        let start = std::time::Instant::now();
        run(x);
        let peak = MEMORY.peak_usage() - before;
        println!("{name}: {} MiB at the peak in {:?}", peak >> 20, start.elapsed());
        peak
    };
    let promised = BUDGET + (64 << 20);
    let measured = |name: &str, graph: fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>| {
        let sink = |on: On<_, Chunks>| on.sink(folder.join("y.parquet"), &WriteOptions::default()).unwrap();
        let peak = peak_of(name, &|x| sink(graph(&x).on(engine.clone())));
        assert!(peak < promised, "{name}: {peak} bytes at the peak");
    };
    let whole = peak_of("in memory", &|x| drop((x.abs() + 1.0).sqrt().collect().unwrap()));
    assert!(whole > promised, "{whole} bytes for all of it are no test");
    measured("chain", |x| (x.abs() + 1.0).sqrt());
    measured("joined rows", |x| concat(0, &[x.clone(), x.abs()]));
    measured("columns, dealt out", |x| x.sum(0));
    measured("medians of columns, dealt out", |x| x.nanmedian(0));
    measured("all", |x| x.square().sum(Axes::all()));
    let left = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    assert!(left.into_iter().all(|path| path.is_file()), "a folder is left");
    #[cfg(feature = "cli")]
    {
        let peak = peak_of("expression", &|_| {
            let (path, options) = (folder.join("x.parquet"), ReadOptions::default());
            let file = Bound::later(scan_any(&path, &options).unwrap(), read_header(&path, &options).unwrap());
            let sum = Expression::parse("sum(x * x)").unwrap().graph(|_| Some(file.clone())).unwrap();
            drop(sum.on(engine.clone()).collect().unwrap());
        });
        assert!(peak < promised, "expression: {peak} bytes at the peak");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
