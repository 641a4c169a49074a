//! The reader of `.npy` on any bytes: an error, or a tensor that comes back from its own writer as it was.
#![no_main]

use lacuna::io::FileFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| lacuna_fuzz::read_and_write_back(data, FileFormat::Npy));
