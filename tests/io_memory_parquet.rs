//! The memory of what reads and writes Parquet: under 64 MiB and 128 bytes for each byte of the file all at once,
//! whatever the file says; of pieces, what was asked for.

#![cfg(feature = "parquet")]

use crate::share::one_of;
use crate::{MEMORY, was_run_apart};
use lacuna::io::{Dataset, DatasetWriter, FileFormat, ReadOptions, WriteOptions, read, read_from, write_to};
use lacuna::{CooTensor, Error};
use std::path::PathBuf;

const MIB: usize = 1 << 20;

/// Returns the result of the work, and the peak of memory above the memory before.
fn measured<T>(what: &str, work: impl FnOnce() -> T) -> (T, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let found = work();
    let peak = MEMORY.peak_usage().saturating_sub(before);
    println!("{what}: {} KiB", peak >> 10);
    (found, peak)
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("lacuna-memory-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Rows of 1000 entries, from that row on.
fn rows(from: u32, count: u32, value: impl Fn(u32) -> f64) -> CooTensor<f64> {
    let entries = 1000 * count;
    let coords =
        vec![(0..entries).map(|at| from + at / 1000).collect(), (0..entries).map(|at| at % 1000 * 7).collect()];
    CooTensor::new([5000, 7000], coords, (0..entries).map(value).collect(), 0.0).unwrap()
}

fn scattered(at: u32) -> f64 {
    f64::from(at.wrapping_mul(2_654_435_761)) / 7.0
}

/// Nine row groups in three parts.
#[test]
fn pieces_take_the_memory_that_is_asked_for() {
    if was_run_apart() {
        return;
    }
    let place = Place::new("pieces");
    let folder = place.0.join("x");
    let options = WriteOptions::default().group_entries(100_000).part_entries(300_000);
    let ((), peak) = measured("written by 90 pieces", || {
        let mut writer = DatasetWriter::create(folder.join(""), &options).unwrap();
        for at in 0..90 {
            writer.push(&rows(10 * at, 10, scattered)).unwrap();
        }
        writer.finish().unwrap();
    });
    // A row group takes 2.4 MB as it waits; all entries take 14 MB.
    assert!(peak < 8 * MIB, "{peak}");
    let dataset = Dataset::open(&folder, &ReadOptions::default()).unwrap();
    for memory in [256 << 10, MIB, 8 * MIB] {
        let (found, peak) = measured(&format!("read in {memory} bytes"), || {
            dataset.pieces(memory as u64).map(|piece| piece.unwrap().nnz()).sum::<usize>()
        });
        assert_eq!(found, 900_000);
        // A page and its bytes, a footer, and the name of the place besides.
        assert!(peak < memory + 2 * MIB, "{peak} of {memory}");
    }
    let (_, peak) = measured("opened", || Dataset::open(&folder, &ReadOptions::default()).unwrap().nnz());
    assert!(peak < MIB, "{peak}");
    let (whole, peak) = measured("read", || read(&folder, &ReadOptions::default()).unwrap());
    assert_eq!(whole.nnz(), 900_000);
    assert!(peak < 64 * MIB + 128 * dataset.bytes() as usize);
}

/// A file of few bytes a million entries: what they take is refused, not found out.
#[test]
fn a_bomb_takes_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    let x = rows(0, 4000, |_| 1.0);
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Parquet, &x, &WriteOptions::default()).unwrap();
    drop(x);
    let promised = 64 * MIB + 128 * bytes.len();
    let (found, peak) = measured("a bomb", || read_from(&bytes[..], FileFormat::Parquet, &ReadOptions::default()));
    assert!(matches!(found, Err(Error::TooLarge { .. })) && 24 * 4_000_000 > promised, "{found:?}");
    assert!(peak < promised / 8, "{peak} of {promised}");
    let mut options = ReadOptions::default();
    options.max_memory = Some(1 << 30);
    let (found, _) = measured("trusted", || read_from(&bytes[..], FileFormat::Parquet, &options).unwrap().nnz());
    assert_eq!(found, 4_000_000);
    let place = Place::new("bomb");
    let path = place.0.join("x.parquet");
    std::fs::write(&path, &bytes).unwrap();
    let dataset = Dataset::open(&path, &ReadOptions::default()).unwrap();
    let (found, peak) =
        measured("in pieces", || dataset.pieces(4 << 20).map(|piece| piece.unwrap().nnz()).sum::<usize>());
    assert!(found == 4_000_000 && peak < 8 * MIB, "{peak}");
}

/// Manifests as long as they may be, of as much as they can hold.
#[test]
fn a_manifest_takes_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    let place = Place::new("manifest");
    for (what, piece) in [
        ("numbers", "1,"),
        ("texts", "\"\","),
        ("lists", "[],"),
        ("ones", "[0],"),
        ("maps", "{},"),
        ("pairs", "{\"\":0},"),
    ]
    .into_iter()
    .step_by(one_of(2))
    {
        let text = format!("{{\"parts\":[{}0]}}", piece.repeat((4 << 20) / piece.len() - 20));
        std::fs::write(place.0.join("_lacuna.json"), text).unwrap();
        let (found, peak) = measured(what, || read(&place.0, &ReadOptions::default()));
        assert!(matches!(found, Err(Error::Format { .. })), "{found:?}");
        assert!(peak < 128 * MIB, "{what}: {peak}");
    }
}
