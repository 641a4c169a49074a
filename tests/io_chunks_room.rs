//! The memory of graphs over files in chunks, and the errors if a chunk needs too much.

#![cfg(feature = "parquet")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lacuna::io::{Progress, ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::{Chunks, Lazy, compile};
use lacuna::{Axes, CooTensor, Error, Result};

/// A file that is removed with this.
struct Stored(PathBuf);

impl Stored {
    fn new(name: &str, x: &CooTensor<f64>) -> Self {
        let path = std::env::temp_dir().join(format!("lacuna-test-room-{name}-{}.parquet", std::process::id()));
        let mut options = WriteOptions::default();
        options.group_entries = Some(2000);
        write(&path, x, &options).unwrap();
        Stored(path)
    }

    fn scan(&self) -> Lazy<CooTensor<f64>> {
        scan(&self.0, &ReadOptions::default()).unwrap()
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Rows of a hundred entries.
fn rows(count: u32) -> CooTensor<f64> {
    let coords = vec![(0..100 * count).map(|at| at / 100).collect(), (0..100 * count).map(|at| at % 100).collect()];
    let values = (0..100 * count).map(|at| f64::from(at) * 0.37 - 90.0).collect();
    CooTensor::new([count as usize, 100], coords, values, 0.0).unwrap()
}

/// The bytes that an error says are enough.
fn needed<T: std::fmt::Debug>(found: Result<T>) -> u64 {
    let mut error = found.unwrap_err();
    while let Error::Lazy { cause, .. } | Error::InRange { cause, .. } = error {
        error = *cause;
    }
    let Error::TooLarge { bytes, .. } = error else { panic!("{error}") };
    u64::try_from(bytes).unwrap()
}

/// A copy was read as a whole, so that a file larger than the memory had no way into another one.
#[test]
fn a_file_is_copied_in_the_memory_that_is_named() {
    let x = rows(400);
    let (file, copy) = (Stored::new("file", &x), Stored::new("copy", &rows(1)));
    let engine = Chunks::memory(100_000);
    assert!(needed(file.scan().on(engine.clone()).collect()) > 100_000);
    let copied = || {
        let x: Lazy<CooTensor<f64>> = scan(&file.0, &ReadOptions::default())?;
        x.on(engine.clone()).sink(&copy.0, &WriteOptions::default())
    };
    copied().unwrap();
    assert!(copy.scan().collect().unwrap().same_as(&x));
    // No damaged copy is read as a valid one, unless it equals the tensor.
    let bytes = fs::read(&file.0).unwrap();
    for place in (4..20).map(|part| bytes.len() * part / 24) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        fs::write(&file.0, &damaged).unwrap();
        assert!(copied().is_err() || copy.scan().collect().unwrap().same_as(&x), "byte {place}");
    }
}

/// A copy of a folder has its fill, and gaps where it has gaps.
#[test]
fn a_folder_is_copied_with_its_fill() {
    let x = rows(300).with_fill(-0.5).pad([(0, 1), (0, 2)]).unwrap();
    let base = std::env::temp_dir().join(format!("lacuna-test-room-folder-{}", std::process::id()));
    fs::create_dir_all(&base).unwrap();
    let mut options = WriteOptions::default();
    (options.group_entries, options.part_entries) = (Some(700), Some(5000));
    write(base.join("x/"), &x, &options).unwrap();
    let scanned = |name: &str| -> Lazy<CooTensor<f64>> { scan(base.join(name), &ReadOptions::default()).unwrap() };
    scanned("x/").on(Chunks::memory(100_000)).sink(base.join("y/"), &options).unwrap();
    assert!(scanned("y/").collect().unwrap().same_as(&x));
    fs::remove_dir_all(&base).unwrap();
}

/// The first row that was too heavy was told, and with its bytes the next one was refused.
#[test]
fn the_heaviest_row_is_told() {
    let counts = [100, 1000, 3000, 500];
    let rows = counts.into_iter().zip(0..).flat_map(|(count, row)| (0..count).map(move |column| (row, column)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = rows.unzip();
    let values = columns.iter().map(|&column| f64::from(column) * 0.5).collect();
    let file = Stored::new("heavy", &CooTensor::new([4, 5000], vec![rows, columns], values, 0.0).unwrap());
    let medians = |memory| file.scan().nanmedian(1).on(Chunks::memory(memory)).collect();
    let bytes = needed(medians(20_000));
    assert!(medians(bytes).unwrap().same_as(&file.scan().nanmedian(1).collect().unwrap()));
}

/// Each result had all of the memory, however many stood beside it.
#[test]
fn results_share_the_memory() {
    let file = Stored::new("share", &rows(400));
    let (one, other) = (file.scan().abs(), file.scan() * 2.0);
    // 16 bytes an entry, and as many for its parts.
    let engine = Chunks::memory(16 * 40_000 * 5 / 2);
    assert!(one.clone().on(engine.clone()).collect().is_ok() && other.clone().on(engine.clone()).collect().is_ok());
    let both = compile((&one, &other)).unwrap();
    let needed = needed(both.run_on(&engine, []));
    let (found, _) = both.run_on(&Chunks::memory(needed), []).unwrap();
    assert!(found.same_as(&rows(400).abs().unwrap()));
}

/// The bytes of those parts that were there were named, so that one error led to the next.
#[test]
fn the_bytes_that_an_error_names_are_enough() {
    let file = Stored::new("enough", &rows(400));
    let sums = file.scan().abs();
    let needed = needed(sums.clone().on(Chunks::memory(300_000)).collect());
    assert!(sums.on(Chunks::memory(needed + needed / 8)).collect().is_ok(), "{needed} bytes");
}

/// Everything was asked again of the graph as it is written, after a damaged page as after a step that is refused.
#[test]
fn a_file_that_cannot_be_read_is_read_once() {
    let file = Stored::new("once", &rows(400));
    let read = Arc::new(AtomicU64::new(0));
    let mut options = ReadOptions::default();
    let told = Arc::clone(&read);
    options.progress = Some(Progress::new(move |bytes| told.store(bytes, Relaxed)));
    let x: Lazy<CooTensor<f64>> = scan(&file.0, &options).unwrap();
    let sums = x.abs().slice(ndarray::s![1.., ..]).sum(Axes::all()).on(Chunks::memory(1 << 20));
    assert!(sums.explain().unwrap().contains("rewritten"), "{}", sums.explain().unwrap());
    let mut bytes = fs::read(&file.0).unwrap();
    // Whole pages, with their headers.
    let (at, end) = (bytes.len() * 6 / 10, bytes.len() * 8 / 10);
    bytes[at..end].fill(0xff);
    fs::write(&file.0, &bytes).unwrap();
    sums.collect().unwrap_err();
    let read = read.load(Relaxed);
    assert!(read < bytes.len() as u64 * 5 / 4, "{read} bytes of {}", bytes.len());
}

/// By the shape alone: three entries took the states of forty million columns, where there was room for these.
#[test]
fn few_entries_have_few_states() {
    let x = CooTensor::new([3, 40_000_000], vec![vec![0, 1, 2], vec![7, 7, 39_999_999]], vec![1.0, 2.0, 4.0], 0.0);
    let file = Stored::new("few", &x.unwrap());
    let sums = file.scan().sum(0).on(Chunks::memory(1 << 40));
    assert!(!sums.explain().unwrap().contains("reduces"), "{}", sums.explain().unwrap());
    assert_eq!(sums.collect().unwrap().entries().len(), 2);
}

/// The maximum reads the results of a reduction, whose column sums fit memory: the file is not repartitioned.
#[test]
fn what_is_made_of_folds_takes_their_results() {
    let file = Stored::new("folds", &rows(400));
    let on = file.scan().sum(0).max(Axes::all()).on(Chunks::memory(1 << 20));
    let told = on.explain().unwrap();
    assert!(told.contains("%1 reduces %0 in chunks of axis 0") && !told.contains("axis 1"), "{told}");
    assert!(on.collect().unwrap().same_as(&rows(400).sum(0).unwrap().max(Axes::all()).unwrap()));
}

/// All of it was written out before.
#[test]
fn positions_that_do_not_fit_are_refused_before_a_file_is_dealt_out() {
    let file = Stored::new("heavy", &rows(400));
    // There is no such folder, and none can be made.
    let on = file.scan().nanmedian(0).on(Chunks::memory(10_000).spill(&file.0));
    assert!(needed(on.collect()) > 400 * 16);
}

/// Offsets of all rows were made for one entry, whatever the memory.
#[test]
fn offsets_of_all_rows_are_asked_for() {
    let x = CooTensor::new([20_000_000, 2], vec![vec![19_999_999], vec![1]], vec![4.0], 0.0).unwrap();
    let file = Stored::new("offsets", &x);
    let needed = needed(file.scan().to_csr().sum(Axes::all()).on(Chunks::memory(1 << 20)).collect());
    assert!(needed >= 8 * 20_000_000, "{needed}");
}
