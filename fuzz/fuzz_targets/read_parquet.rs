//! The reader of `.parquet` on any bytes: an error, or a tensor that comes back from its own writer as it was; also as
//! a table that says nothing of itself, piece by piece, and as changes to the manifest of a folder.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    lacuna_fuzz::files::run_target("read_parquet", data);
    lacuna_fuzz::files::read_plain_table(data);
    lacuna_fuzz::files::read_table_in_pieces(data);
    lacuna_fuzz::files::read_folder(data);
});
