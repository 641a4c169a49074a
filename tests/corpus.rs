//! Replays the inputs that the fuzzer found worth keeping, `tests/corpus/<target>`, through the checks of its targets.

#![cfg(feature = "io")]

#[path = "support/files.rs"]
mod files;

use std::fs;
use std::path::{Path, PathBuf};

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
