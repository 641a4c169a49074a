//! The reader of `.npz` on any bytes: an error, or a tensor that comes back from its own writer as it was.
//! The bytes are an archive, or describe the members of one.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| lacuna_fuzz::files::run_target("read_npz", data));
