//! Replays the inputs that the fuzzer found worth keeping, `tests/corpus/<target>.zip`, through the fuzz targets
//! themselves. `.ci/run` leaves that to the fuzzer, where there is one.
//!
//! The targets are modules here. They name two crates that `cargo test` does not build, what they share and the
//! fuzzer's: for them this test is both.

#![cfg(all(feature = "cli", feature = "io", feature = "parquet", feature = "serde", feature = "sprs"))]
// The targets are programs of their own (`no_main`), and reach what they share from another crate.
#![allow(unused_attributes, unreachable_pub)]

extern crate self as lacuna_fuzz;
extern crate self as libfuzzer_sys;

#[path = "../fuzz/src/lib.rs"]
mod shared;
#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use shared::*;
pub(crate) use targets::{for_all_targets, fuzz_target};
use zip::ZipArchive;

/// A test for each target.
macro_rules! tests {
    ($($target:ident)*) => {
        mod every_input_passes {
            $(
                #[test]
                fn $target() {
                    super::replay(stringify!($target));
                }
            )*
        }
    };
}
for_all_targets!(tests);

fn replay(target: &str) {
    let (_, run) = targets::TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let inputs = inputs_of(target);
    assert!(inputs.len() >= 20, "{target} has {} inputs", inputs.len());
    for (name, input) in &inputs {
        println!("{target}/{name}"); // the one that fails is the last one
        run(input);
    }
}

/// The inputs of a target, with their names.
fn inputs_of(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/corpus/{target}.zip"));
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let count = archive.len();
    let input = |at| {
        let mut member = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (member.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(input).collect()
}

#[test]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let files = folder.read_dir().unwrap().map(|file| file.unwrap().path().with_extension(""));
    let mut found: Vec<_> = files.map(|file| file.file_name().unwrap().to_owned()).collect();
    found.sort();
    assert!(found.iter().eq(targets::TARGETS.iter().map(|(name, _)| name)), "{found:?}");
}
