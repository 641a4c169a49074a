//! Every fuzz target in one program, which is compiled in half the time that all of them take one by one:
//! `LACUNA_FUZZ` names the one that runs.

#![no_main]
// The targets are programs of their own (`no_main`).
#![allow(unused_attributes)]

extern crate libfuzzer_sys as fuzzer;
extern crate self as libfuzzer_sys;

use std::sync::LazyLock;

pub use fuzzer::Corpus;

mod targets;
pub(crate) use targets::fuzz_target;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("LACUNA_FUZZ").expect("LACUNA_FUZZ names a target");
    let found = targets::TARGETS.iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("no target is called {name}")).1
});

fuzzer::fuzz_target!(|data: &[u8]| RUN(data));
