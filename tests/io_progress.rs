//! The progress of reading and writing is reported in bytes of the file.

#![cfg(feature = "io")]

use lacuna::io::{
    AnyTensor, Compression, FileFormat, Progress, ReadOptions, WriteOptions, read, read_from, write, write_to,
};
use lacuna::{CooTensor, Triplets};
use std::sync::{Arc, Mutex};

/// A hook, and what it was told.
fn hook() -> (Option<Progress>, Arc<Mutex<Vec<u64>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    (Some(Progress::new(move |bytes| seen.lock().unwrap().push(bytes))), told)
}

/// A matrix whose files have several blocks.
fn matrix() -> AnyTensor {
    let mut triplets = Triplets::<f64, u64>::new_with_index([300, 1000]).unwrap();
    for entry in 0..30_000 {
        triplets.push(&[entry / 100, entry % 100 * 7], (entry as f64 + 1.0).sqrt()).unwrap();
    }
    let x: CooTensor<f64, u64> = triplets.coalesce(Default::default()).unwrap();
    x.into()
}

#[test]
fn every_byte_of_a_file_is_told_when_read_and_when_written() {
    let folder = std::env::temp_dir().join(format!("lacuna-progress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["x.mtx", "x.mtx.gz", "x.npy", "x.npy.gz", "x.npz"] {
        let path = folder.join(name);
        let (progress, told) = hook();
        let mut options = WriteOptions::default();
        options.progress = progress;
        write(&path, &matrix(), &options).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        let told = told.lock().unwrap().clone();
        assert!(told.len() > 1 && told.is_sorted() && told.last() == Some(&length), "{name}: {told:?} of {length}");

        let (progress, told) = hook();
        let mut options = ReadOptions::default();
        options.progress = progress;
        assert!(read(&path, &options).unwrap().same_as(&matrix()), "{name}");
        let told = told.lock().unwrap().clone();
        assert!(told.len() > 1 && told.is_sorted(), "{name}: {told:?}");
        let last = *told.last().unwrap();
        match name {
            // The table and some headers are read twice.
            "x.npz" => assert!(last >= length && last < length + (1 << 20), "{last} of {length}"),
            _ => assert_eq!(last, length, "{name}"),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Each range of a file was counted from 0, so that a bar stood at the bytes of one.
#[cfg(feature = "parquet")]
#[test]
fn ranges_of_a_file_are_told_as_one() {
    use lacuna::lazy::{Chunks, Lazy};
    let path = std::env::temp_dir().join(format!("lacuna-progress-{}.parquet", std::process::id()));
    let (progress, told) = hook();
    let (mut options, mut in_groups) = (ReadOptions::default(), WriteOptions::default());
    (options.progress, in_groups.group_entries) = (progress, Some(2_000));
    write(&path, &matrix(), &in_groups).unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    let x: Lazy<CooTensor<f64>> = lacuna::io::scan(&path, &options).unwrap();
    told.lock().unwrap().clear();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let sums = pool.install(|| x.sum(1).on(Chunks::memory(64 << 20).positions(30)).collect().unwrap());
    assert_eq!(sums.nnz(), 300);
    let told = told.lock().unwrap().clone();
    let last = *told.last().unwrap();
    assert!(told.is_sorted() && last > length / 2 && last < 4 * length, "{last} of {length}: {told:?}");
    std::fs::remove_file(path).unwrap();
}

/// A plan read the coordinates of a slice for each axis; states of norms were so large that few fitted a pass; a median
/// that is the fill was looked for in one pass more.
#[cfg(feature = "parquet")]
#[test]
fn a_plan_reads_nothing_and_a_fold_reads_once_what_it_needs_once() {
    use lacuna::lazy::{Chunks, Lazy};
    use lacuna::{Axes, Norm};
    let path = std::env::temp_dir().join(format!("lacuna-once-{}.parquet", std::process::id()));
    let (progress, told) = hook();
    let mut options = ReadOptions::default();
    options.progress = progress;
    let sparse = matrix().into_coo::<f64, u32>().unwrap().slice(ndarray::s![.., ..700]).unwrap();
    write(&path, &sparse, &WriteOptions::default()).unwrap();
    let x: Lazy<CooTensor<f64>> = lacuna::io::scan(&path, &options).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let read = |name: &str, graph: Lazy<CooTensor<f64>>| {
        let expected = graph.collect().unwrap();
        let on = graph.on(Chunks::memory(1 << 20));
        let before = told.lock().unwrap().last().copied().unwrap();
        let plan = on.explain().unwrap();
        assert_eq!(told.lock().unwrap().last(), Some(&before), "{name}: {plan}");
        let found = pool.install(|| on.collect().unwrap());
        assert!(found.same_as(&expected), "{name}: {plan}");
        told.lock().unwrap().last().unwrap() - before
    };
    let once = read("all", x.sum(Axes::all()));
    assert_eq!(read("median that is the fill", x.nanmedian(Axes::all())), once);
    assert!(read("median of what is stored", x.stored().nanmedian(Axes::all())) > once);
    let columns = read("columns", x.sum(0));
    assert_eq!(read("norms", x.norm(0)), columns);
    assert_eq!(read("norms beyond the range", (&x * 1e300).norm(Norm::over(0).one())), columns);
    read("a slice", x.slice(ndarray::s![5..50, 3..600]).sum(0));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn options_with_a_hook_are_printed() {
    let (progress, told) = hook();
    assert_eq!(format!("{progress:?}"), "Some(Progress)");
    let mut options = ReadOptions::default();
    options.progress = progress;
    assert!(format!("{options:?}").ends_with("progress: Some(Progress) }"), "{options:?}");
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn streams_are_told_too() {
    for format in FileFormat::ALL {
        let (progress, told) = hook();
        let mut options = WriteOptions::default();
        options.progress = progress;
        let mut bytes = Vec::new();
        write_to(&mut bytes, format, &matrix(), &options).unwrap();
        assert_eq!(told.lock().unwrap().last(), Some(&(bytes.len() as u64)));
        let (progress, told) = hook();
        let mut options = ReadOptions::default();
        options.progress = progress;
        read_from(&bytes[..], format, &options).unwrap();
        assert_eq!(told.lock().unwrap().last(), Some(&(bytes.len() as u64)), "{format}");
    }
}

/// A writer with room for so many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn bytes_that_were_not_written_are_not_told() {
    for format in FileFormat::ALL {
        for compression in [Compression::None, Compression::Gzip] {
            let (progress, told) = hook();
            let mut options = WriteOptions::default();
            (options.progress, options.compression) = (progress, compression);
            assert!(write_to(Full(1000), format, &matrix(), &options).is_err());
            assert_eq!(told.lock().unwrap().last(), Some(&1000), "{format}, {compression:?}");
        }
    }
}
