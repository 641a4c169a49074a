//! Replays the inputs that the fuzzer found worth keeping, `tests/corpus/<target>`, through the checks of its targets.

#![cfg(feature = "io")]

#[allow(unreachable_pub)] // the fuzz targets reach it
#[path = "support/files.rs"]
mod files;

use std::fs;
use std::path::{Path, PathBuf};

use lacuna::Error;
use lacuna::io::{FileFormat, ReadOptions, read_from};

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    inputs
}

#[test]
fn every_input_of_the_corpus_passes_the_checks_of_its_target() {
    for (target, ..) in files::TARGETS {
        let inputs = corpus(target);
        assert!(inputs.len() >= 20, "{target} has {} inputs", inputs.len());
        for input in &inputs {
            println!("{}", input.display()); // the one that fails is the last one
            files::run_target(target, &fs::read(input).unwrap());
        }
    }
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
