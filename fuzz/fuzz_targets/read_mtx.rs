//! The reader of `.mtx` on any bytes: an error, or a tensor that comes back from its own writer as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| lacuna_fuzz::files::run_target("read_mtx", data));
