//! gzip data: any bytes behind its magic are an error or a tensor; a file inside it, in one member or in several, reads
//! as the file itself does.
#![no_main]

use flate2::Compression;
use flate2::write::GzEncoder;
use lacuna::io::{FileFormat, ReadOptions, read_from};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fn member(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a list takes every byte");
    encoder.finish().expect("a list takes every byte")
}

fuzz_target!(|data: &[u8]| {
    let options = ReadOptions::default();
    let _ = read_from([&[0x1f, 0x8b, 8], data].concat().as_slice(), None, &options);
    if data.starts_with(&[0x1f, 0x8b]) {
        return; // A file inside is inflated no second time.
    }
    let (first, second) = data.split_at(data.len() / 2);
    let inside = [member(first), member(&[]), member(second)].concat();
    let compresses_itself = [FileFormat::Npz, FileFormat::Parquet];
    for format in FileFormat::ALL.into_iter().filter(|format| !compresses_itself.contains(format)) {
        let plain = read_from(data, format, &options);
        match (plain, read_from(inside.as_slice(), format, &options)) {
            (Ok(plain), Ok(inflated)) => assert!(inflated.same_as(&plain), "{inflated:?} is not {plain:?}"),
            (plain, inflated) => assert_eq!(inflated, plain),
        }
    }
});
