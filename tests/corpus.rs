//! Replays the inputs that the fuzzer found worth keeping, `tests/corpus/<target>.zip`, through the fuzz targets
//! themselves. The fuzzer wants them as files: `unpack` and `pack`, which run when they are asked for, turn one into
//! the other.
//!
//! The targets are modules here. They name two crates that `cargo test` does not build, what they share and the
//! fuzzer's: for them this test is both, and its `fuzz_target!` makes a function of what the fuzzer makes a program of.

#![cfg(all(feature = "cli", feature = "io", feature = "parquet", feature = "serde", feature = "sprs"))]
// The targets are programs of their own (`no_main`), and reach what they share from another crate.
#![allow(unused_attributes, unreachable_pub)]

extern crate self as lacuna_fuzz;
extern crate self as libfuzzer_sys;

#[path = "../fuzz/src/lib.rs"]
mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use lacuna::Error;
use lacuna::io::{FileFormat, ReadOptions, read_from};
pub use shared::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Stands for the crate of the fuzzer.
mod fuzzer {
    macro_rules! fuzz_target {
        (|$data:ident: &[u8]| $body:expr) => {
            pub fn target($data: &[u8]) {
                $body
            }
        };
        (|$input:ident: $type:ty| $body:expr) => {
            pub fn target(data: &[u8]) {
                if let Ok($input) =
                    <$type as arbitrary::Arbitrary>::arbitrary_take_rest(arbitrary::Unstructured::new(data))
                {
                    $body
                }
            }
        };
    }
    pub(crate) use fuzz_target;
}
pub(crate) use fuzzer::fuzz_target;

/// A module and a test for each target.
macro_rules! replay {
    ($($target:ident)*) => {
        #[path = "../fuzz/fuzz_targets"]
        mod targets {
            $(pub mod $target;)*
        }
        const TARGETS: &[&str] = &[$(stringify!($target)),*];
        mod every_input_passes {
            $(
                #[test]
                fn $target() {
                    super::replay(stringify!($target), super::targets::$target::target);
                }
            )*
        }
    };
}

replay! {
    batched choose classify conversions coo_new csr_new einsum eval fold group isin lazy map matmul nanmedian program
    read_csv read_gz read_mtx read_npy read_npz read_parquet read_tns serde sprs take take_axis triplets zip
}

fn replay(target: &str, run: fn(&[u8])) {
    let inputs = inputs_of(target);
    assert!(inputs.len() >= 20, "{target} has {} inputs", inputs.len());
    for (name, input) in &inputs {
        println!("{target}/{name}"); // the one that fails is the last one
        run(input);
    }
}

fn archive_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/corpus/{target}.zip"))
}

/// The inputs of a target, by name.
fn inputs_of(target: &str) -> BTreeMap<String, Vec<u8>> {
    let mut archive = ZipArchive::new(File::open(archive_of(target)).unwrap()).unwrap();
    let count = archive.len();
    let input = |at| {
        let mut member = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (member.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(input).collect()
}

/// The folder that `LACUNA_CORPUS` names, with a folder for each target in it.
fn unpacked() -> PathBuf {
    std::env::var_os("LACUNA_CORPUS").expect("LACUNA_CORPUS names a folder").into()
}

#[test]
#[ignore = "writes a file for each input into the folder that LACUNA_CORPUS names"]
fn unpack() {
    for target in TARGETS {
        let folder = unpacked().join(target);
        fs::create_dir_all(&folder).unwrap();
        for (name, input) in inputs_of(target) {
            fs::write(folder.join(name), input).unwrap();
        }
    }
}

/// Targets that have no folder there stay as they are. The same files make the same archive.
#[test]
#[ignore = "packs the inputs in the folder that LACUNA_CORPUS names"]
fn pack() {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for target in TARGETS.iter().filter(|target| unpacked().join(target).is_dir()) {
        let mut archive = ZipWriter::new(File::create(archive_of(target)).unwrap());
        for file in files_in(&unpacked().join(target)) {
            archive.start_file(file.file_name().unwrap().to_str().unwrap(), options).unwrap();
            archive.write_all(&fs::read(file).unwrap()).unwrap();
        }
        archive.finish().unwrap();
    }
}

/// The files of a folder, by name.
fn files_in(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let found: Vec<_> = files_in(&folder).into_iter().map(|file| file.with_extension("")).collect();
    assert_eq!(found.iter().map(|file| file.file_name().unwrap()).collect::<Vec<_>>(), TARGETS);
}

/// Found by read_tns: the shape [0] was taken for one that the entries tell, and without entries nothing tells it.
#[test]
fn a_tns_file_without_entries_keeps_a_shape_of_zeros() {
    files::run_target("read_tns", b"1\n0\n");
    files::run_target("read_tns", b"# shape: 0 0\n");
}

/// Found by read_tns: another shape, from a comment or the caller, took the place of the header's, and its rank too.
#[test]
fn the_header_of_a_tns_dialect_is_not_overruled() {
    files::run_target("read_tns", b"# shape: \nsptensor\n3\n5 3 4\n0\n1 1 1 2\n1 1 1 3\n");
    files::run_target("read_tns", b"# shape: 5\n2\n5 4\n1 1 2\n1 3 2\n");
    let read = |header: &str, shape: &[usize]| {
        let mut options = ReadOptions::default();
        options.shape = Some(shape.into());
        read_from(format!("{header}1 1 2.5\n2 1 3.5\n").as_bytes(), FileFormat::Tns, &options)
    };
    for header in ["sptensor\n2\n5 4\n2\n", "2\n5 4\n"] {
        assert_eq!(read(header, &[5, 4]).unwrap().nnz(), 2);
        for shape in [&[5, 5][..], &[5, 4, 1]] {
            assert!(matches!(read(header, shape), Err(Error::ShapeMismatch { .. })), "{header} {shape:?}");
        }
        for shape in [&[][..], &[5]] {
            read(header, shape).unwrap_err();
        }
    }
}
