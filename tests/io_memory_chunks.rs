//! The memory of graphs over files eight times as large as what they may take.

#![cfg(feature = "parquet")]

use std::path::{Path, PathBuf};

use crate::{MEMORY, was_run_apart};
#[cfg(feature = "cli")]
use lacuna::eval::{Bound, Expression};
use lacuna::io::{DatasetWriter, ReadOptions, WriteOptions, scan};
#[cfg(feature = "cli")]
use lacuna::io::{read_header, scan_any};
use lacuna::lazy::{Chunks, Lazy, On, concat};
use lacuna::{Axes, CooTensor};

const BUDGET: usize = 1 << 18;
/// The bytes in addition to the budget. The promise is 64 MiB; this test allows less, so that its file may be smaller.
const BESIDE: usize = 8 << 20;
/// One thread takes less, both of the whole file and of its chunks.
const BESIDE_ALONE: usize = 6 << 20;
const ROWS: usize = 205;
const COLUMNS: usize = 2100;

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

/// The bytes above those that are there before which `run` takes at once.
fn peak_of(name: &str, run: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = std::time::Instant::now();
    run();
    let peak = MEMORY.peak_usage() - before;
    println!("{name}: {} MiB at the peak in {:?}", peak >> 20, start.elapsed());
    peak
}

/// A folder of its own.
fn new_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lacuna-test-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn chunks_take_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    let folder = new_folder("memory");
    write_large(&folder.join("x.parquet"));
    const { assert!(ROWS * COLUMNS / 2 * 16 >= 8 * BUDGET) };
    let engine = Chunks::memory(BUDGET as u64).spill(&folder);
    let peak_of = |name: &str, run: &dyn Fn(Lazy<CooTensor<f64>>)| {
        peak_of(name, || run(scan(folder.join("x.parquet"), &ReadOptions::default()).unwrap()))
    };
    let alone = cfg!(not(feature = "rayon")) || rayon::current_num_threads() == 1;
    let promised = BUDGET + if alone { BESIDE_ALONE } else { BESIDE };
    let measured = |name: &str, graph: fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>| {
        let sink = |on: On<_, Chunks>| on.sink(folder.join("y.parquet"), &WriteOptions::default()).unwrap();
        let peak = peak_of(name, &|x| sink(graph(&x).on(engine.clone())));
        assert!(peak < promised, "{name}: {peak} bytes at the peak");
    };
    let whole = peak_of("in memory", &|x| drop((x.abs() + 1.0).sqrt().collect().unwrap()));
    assert!(whole > promised, "{whole} bytes for all of it are no test");
    measured("chain", |x| (x.abs() + 1.0).sqrt());
    measured("joined rows", |x| concat(0, &[x.clone(), x.abs()]));
    measured("columns, partitioned out", |x| x.sum(0));
    measured("medians of columns, partitioned out", |x| x.nanmedian(0));
    // As many states as may be: a quarter of the memory is for their results.
    let by_cells: fn(&Lazy<_>) -> Lazy<_> = |x| x.slice(ndarray::s![.., ..975]).sum(0);
    let x = scan(folder.join("x.parquet"), &ReadOptions::default()).unwrap();
    assert!(by_cells(&x).on(engine.clone()).explain().unwrap().contains(" reduces "));
    measured("columns, by cells", by_cells);
    measured("copied", |x| x.clone());
    measured("columns of NaNs, by cells", |x| (x.slice(ndarray::s![.., 100..500]) * f64::NAN).mean(0));
    measured("all", |x| x.square().sum(Axes::all()));
    measured("median of all", |x| x.nanmedian(Axes::all()));
    measured("variance of what is stored", |x| x.abs().stored().var(Axes::all()));
    let left = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    assert!(left.into_iter().all(|path| path.is_file()), "a folder is left");
    #[cfg(feature = "cli")]
    for text in ["sum(x * x)", "sum(sqrt(abs(x) * 2) - square(x), axis=1)"] {
        let peak = peak_of(text, &|_| {
            let (path, options) = (folder.join("x.parquet"), ReadOptions::default());
            let file = Bound::later(scan_any(&path, &options).unwrap(), read_header(&path, &options).unwrap());
            let sum = Expression::parse(text).unwrap().graph(|_| Some(file.clone())).unwrap();
            drop(sum.on(engine.clone()).collect().unwrap());
        });
        assert!(peak < promised, "{text}: {peak} bytes at the peak");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file of so few entries is one range, of which a step made all of the result at once.
#[test]
fn steps_that_make_more_entries_than_they_take_keep_to_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    let folder = new_folder("grown");
    let (column, row) = (folder.join("column.parquet"), folder.join("row.parquet"));
    let write_ones = |path: &Path, shape: [usize; 2]| {
        let coords = |length: usize| (0..2000).map(|at| at.min(length as u32 - 1)).collect();
        let x = CooTensor::new(shape, shape.map(coords).to_vec(), vec![1.0; 2000], 0.0).unwrap();
        lacuna::io::write(path, &x, &WriteOptions::default()).unwrap();
    };
    write_ones(&column, [2000, 1]);
    write_ones(&row, [1, 2000]);
    let scanned = |path: &Path| scan::<f64, u32>(path, &ReadOptions::default()).unwrap();
    let engine = || Chunks::memory(BUDGET as u64).spill(&folder);
    let measured = |name: &str, graph: &dyn Fn(Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>| {
        let sums = |x| assert_eq!(x, CooTensor::new([1], vec![vec![0]], vec![1e6], 0.0).unwrap());
        let sum = |x: Lazy<CooTensor<f64>>| x.sum(1).sum(Axes::all().keep_dims());
        let peak = peak_of(name, || sums(sum(graph(scanned(&column))).on(engine()).collect().unwrap()));
        assert!(peak < BUDGET + BESIDE, "{name}: {peak} bytes at the peak");
    };
    measured("repeated", &|x| x.repeat(500, 1));
    measured("tiled", &|x| x.tile([1, 500]));
    measured("broadcast", &|x| x.broadcast_to([2000, 500]));
    measured("beside a row", &|x| x.slice(ndarray::s![..250, ..]) + scanned(&row) - 0.0);
    let peak = peak_of("written beside a row", || {
        let sum = scanned(&column).slice(ndarray::s![..250, ..]) + scanned(&row);
        sum.on(engine()).sink(folder.join("y.parquet"), &WriteOptions::default()).unwrap();
    });
    assert!(peak < BUDGET + BESIDE, "written: {peak} bytes at the peak");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A row group waited for 2^20 entries, of all of their coordinates.
#[test]
fn row_groups_of_many_axes_keep_to_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    let (folder, count) = (new_folder("groups"), 60_000);
    let mut lengths = vec![1; 60];
    lengths[0] = count;
    let mut coords = vec![vec![0; count]; 60];
    coords[0] = (0..count as u32).collect();
    let x = CooTensor::new(lengths, coords, vec![0.5; count], 0.0).unwrap().lazy();
    const { assert!(60_000 * 60 * 4 > BUDGET + BESIDE) };
    let path = folder.join("y.parquet");
    let on = x.abs().on(Chunks::memory(BUDGET as u64));
    let peak = peak_of("groups of 60 axes", || on.sink(&path, &WriteOptions::default()).unwrap());
    assert!(peak < BUDGET + BESIDE, "{peak} bytes at the peak");
    assert_eq!(lacuna::io::Dataset::open(&path, &ReadOptions::default()).unwrap().nnz(), count as u64);
    std::fs::remove_dir_all(&folder).unwrap();
}
