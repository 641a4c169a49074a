//! The memory of the readers of `.npz` and `.npy`: under 64 MiB and 16 bytes for each byte read, whatever the archive
//! says.

#![cfg(feature = "io")]

use crate::share::one_of;
use crate::{MEMORY, was_run_apart};
use lacuna::io::{AnyTensor, FileFormat, Format, ReadOptions, read, read_from};
use lacuna::{DType, Error, Result};
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The bytes that every reader may use.
const FLOOR: usize = 64 << 20;

/// An archive, the bytes that its members hold, and what reading may take besides 16 bytes for each of them.
struct Archive {
    bytes: Vec<u8>,
    inflated: usize,
    floor: usize,
}

impl Archive {
    /// An archive of a quarter of the entries that one takes which tells the floor from what grows with the entries:
    /// with a quarter of the floor the bound is as tight, and everything takes a quarter of the time.
    fn quarter(self) -> Self {
        Archive { floor: FLOOR / 4, ..self }
    }
}

/// Name, descr, shape and bytes of a member.
type Member<'a> = (&'a str, &'a str, String, Vec<u8>);

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn archive(members: &[Member<'_>], method: CompressionMethod) -> Archive {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut inflated = 0;
    for (name, descr, shape, data) in members {
        let member = npy(descr, shape, data);
        inflated += member.len();
        let options = SimpleFileOptions::default().compression_method(method).compression_level(match method {
            CompressionMethod::Deflated => Some(1),
            _ => None,
        });
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&member).unwrap();
    }
    Archive { bytes: zip.finish().unwrap().into_inner(), inflated, floor: FLOOR }
}

fn int64(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn int32(values: impl Iterator<Item = usize>) -> Vec<u8> {
    values.flat_map(|value| (value as i32).to_le_bytes()).collect()
}

/// A list of lengths as the member `shape`.
fn shape(lengths: &[i64]) -> Member<'static> {
    ("shape", "<i8", format!("({},)", lengths.len()), int64(lengths))
}

/// The fill that pydata always writes.
fn fill() -> Member<'static> {
    ("fill_value", "|u1", "()".into(), vec![0])
}

fn list<'a>(name: &'a str, descr: &'a str, count: usize, bytes: Vec<u8>) -> Member<'a> {
    (name, descr, format!("({count},)"), bytes)
}

fn layout(name: &str) -> Member<'static> {
    match name.len() {
        3 => ("format", "|S3", "()".into(), name.into()),
        _ => ("format", "|S4", "()".into(), name.into()),
    }
}

/// Numbers below `below` in no order.
fn scattered(count: usize, below: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| at.wrapping_mul(2_654_435_761) / 7 % below)
}

/// Returns the result of a reader, prints its time, and checks that the peak of memory stays below the promise.
fn measured(what: &str, archive: &Archive, read: impl FnOnce() -> Result<AnyTensor>) -> Result<AnyTensor> {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = Instant::now();
    let result = read();
    let (time, peak) = (start.elapsed(), MEMORY.peak_usage() - before);
    let promised = archive.floor + 16 * archive.inflated.max(archive.bytes.len());
    let told = result.as_ref().map(|x| x.nnz());
    let (mib, most) = (peak >> 20, promised >> 20);
    println!("{what}: {mib} of {most} MiB in {time:?}, archive {} bytes: {told:?}", archive.bytes.len());
    assert!(peak < promised, "{what}: {peak} bytes at the peak, {promised} promised");
    // Without optimisation it takes ten times as long.
    assert!(time < Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 }), "{what}: {time:?}");
    result
}

/// Reads an archive as a stream.
fn streamed(what: &str, archive: &Archive, options: &ReadOptions) -> Result<AnyTensor> {
    measured(what, archive, || read_from(&archive.bytes[..], FileFormat::Npz, options))
}

fn in_format(format: Format) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.format = Some(format);
    options
}

/// Coordinates of type `descr`, scattered over a shape of such axes, and `data` of one byte or eight.
fn coo(rank: usize, nnz: usize, length: usize, descr: &'static str, data: &'static str) -> Vec<Member<'static>> {
    let width = descr[2..].parse::<usize>().unwrap();
    let mut coords = Vec::with_capacity(rank * nnz * width);
    for axis in 0..rank {
        for coord in scattered(nnz, length + axis) {
            coords.extend_from_slice(&(coord % length).to_le_bytes()[..width]);
        }
    }
    let values = nnz * data[2..].parse::<usize>().unwrap();
    vec![
        layout("coo"),
        shape(&vec![length as i64; rank]),
        fill(),
        ("coords", descr, format!("({rank}, {nnz})"), coords),
        list("data", data, nnz, (0..values).map(|at| (at % 251) as u8).collect()),
    ]
}

/// A compressed matrix of so many lanes with entries scattered over `columns`.
fn compressed(name: &str, lanes: usize, columns: usize, nnz: usize) -> Vec<Member<'static>> {
    let lengths = if name == "csc" { [columns as i64, lanes as i64] } else { [lanes as i64, columns as i64] };
    vec![
        layout(name),
        shape(&lengths),
        list("indptr", "<i4", lanes + 1, int32((0..=lanes).map(|lane| lane * nnz / lanes))),
        list("indices", "<i4", nnz, int32(scattered(nnz, columns))),
        list("data", "<f8", nnz, vec![0x3f; 8 * nnz]),
    ]
}

/// An N-d tensor compressed over its last axis, with linear indices and data of such widths.
fn gcxs(rank: usize, nnz: usize, indices: usize, data: usize) -> Vec<Member<'static>> {
    let mut lengths = vec![1; rank];
    (lengths[0], lengths[rank - 1]) = (100, 200);
    let linear = scattered(nnz, 100).flat_map(|index| index.to_le_bytes()[..indices].to_vec()).collect();
    vec![
        layout("gcxs"),
        fill(),
        shape(&lengths),
        list("compressed_axes", "<i8", 1, int64(&[(rank - 1) as i64])),
        list("indptr", "<i8", 201, int64(&Vec::from_iter((0..=200).map(|lane| lane * nnz as i64 / 200)))),
        list("indices", if indices == 1 { "|u1" } else { "<i4" }, nnz, linear),
        list("data", if data == 1 { "|u1" } else { "<f8" }, nnz, vec![1; data * nnz]),
    ]
}

fn ordinary() {
    use CompressionMethod::{Deflated, Stored};
    let cases = [
        ("coo", archive(&coo(2, 312_500, 1 << 18, "<i4", "<f8"), Stored), Format::Coo),
        ("coo of rank 3", archive(&coo(3, 175_000, 1 << 8, "<i8", "<f8"), Deflated), Format::Coo),
        ("csr", archive(&compressed("csr", 25_000, 1 << 18, 400_000), Deflated), Format::Coo),
        ("csc", archive(&compressed("csc", 25_000, 1 << 18, 400_000), Stored), Format::Csr),
        ("gcxs", archive(&gcxs(3, 400_000, 4, 8), Stored), Format::Coo),
    ];
    for (what, archive, format) in cases {
        assert!(streamed(&format!("{what} as {format}"), &archive.quarter(), &in_format(format)).is_ok());
    }
}

/// Coordinates that widen four times: read within the promise, or refused.
fn narrow() {
    let mut options = ReadOptions::default();
    options.duplicates = lacuna::Duplicates::First;
    let read = |what, archive: &Archive, options: &ReadOptions| streamed(what, archive, options).is_ok();
    let stored = |members: &[Member<'_>]| archive(members, CompressionMethod::Stored);
    // The reader rejects this archive for its size, so that no smaller archive does.
    if one_of(2) == 1 {
        assert!(!read("rank 1 of |u1", &stored(&coo(1, 12_000_000, 100, "|u1", "|u1")), &options));
    }
    assert!(read("rank 2 of |u1", &stored(&coo(2, 1_500_000, 100, "|u1", "|u1")).quarter(), &options));
    assert!(read("rank 16 of |u1", &stored(&coo(16, 150_000, 100, "|u1", "|u1")).quarter(), &options));
    assert!(!read("gcxs of rank 40", &stored(&gcxs(40, 1_000_000, 1, 1)).quarter(), &options));
    options.dtype = Some(DType::Complex128);
    assert!(read("as complex128", &stored(&coo(2, 750_000, 100, "|u1", "|u1")).quarter(), &options));
}

fn bombs_and_lies() {
    let deflated = CompressionMethod::Deflated;
    let claimed = |claim: &str, data: &str, mib: usize| {
        let (coords, data) =
            (("coords", "|u1", claim.into(), vec![0; mib << 20]), ("data", "|u1", data.into(), vec![]));
        archive(&[layout("coo"), fill(), shape(&[3]), coords, data], deflated)
    };
    let values = archive(
        &[
            shape(&[]),
            fill(),
            ("coords", "|u1", "(0, 73400320)".into(), vec![]),
            list("data", "|u1", 70 << 20, vec![1; 70 << 20]),
        ],
        deflated,
    );
    let far = "(1000000000000000000,)".to_string();
    let no_values = [
        shape(&[]),
        fill(),
        ("coords", "|u1", "(0, 1000000000000000000)".into(), vec![]),
        ("data", "<f8", far, vec![0; 1 << 20]),
    ];
    let bomb_of_names = {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for at in 0..60_000 {
            zip.start_file(format!("{at}"), SimpleFileOptions::default()).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        Archive { inflated: bytes.len(), bytes, floor: FLOOR }
    };
    let mut long_shape = coo(2, 1000, 100, "|u1", "|u1");
    long_shape[1] = list("shape", "|u1", 70 << 20, vec![1; 70 << 20]);
    let hostile = [
        ("a bomb of coordinates", claimed("(1, 73400320)", "(73400320,)", 70)),
        ("a bomb of values", values),
        ("10^18 coordinates", claimed("(1, 1000000000000000000)", "(1000000000000000000,)", 1)),
        ("10^18 values", archive(&no_values, deflated)),
        ("2^64 coordinates", claimed("(1, 18446744073709551615)", "(18446744073709551615,)", 1)),
        ("a product that wraps", claimed("(4294967296, 4294967296)", "(0,)", 1)),
        ("coordinates that are not there", claimed("(1, 8000000)", "(8000000,)", 1)),
        ("many members", bomb_of_names),
        ("a shape of 70 MiB", archive(&long_shape, deflated)),
    ];
    for (what, mut archive) in hostile {
        // No more is read than that, whatever the members hold.
        archive.inflated = if what == "a bomb of values" { 64 << 20 } else { 1 << 20 };
        let error = streamed(what, &archive, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. } | Error::Format { .. }), "{what}: {error:?}");
    }
}

fn cut() {
    let whole = archive(&coo(2, 312_500, 1 << 18, "<i4", "<f8"), CompressionMethod::Deflated);
    for part in [1, 500, 900, 999] {
        let bytes = whole.bytes[..whole.bytes.len() / 1000 * part].to_vec();
        let archive = Archive { inflated: bytes.len(), bytes, floor: FLOOR };
        assert!(streamed("cut", &archive, &ReadOptions::default()).is_err());
    }
}

/// A file is not held in memory, as a stream is.
fn from_a_path() {
    let archive = archive(&coo(2, 312_500, 1 << 18, "<i4", "<f8"), CompressionMethod::Stored).quarter();
    let path = std::env::temp_dir().join(format!("lacuna-memory-{}.npz", std::process::id()));
    std::fs::write(&path, &archive.bytes).unwrap();
    let result = measured("from a path", &archive, || read(&path, &ReadOptions::default()));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(result.unwrap().nnz(), 312_500);
}

/// A dense array whose elements are all stored, eight bytes a coordinate for one of the file.
fn dense() {
    for fortran in [false, true] {
        let mut bytes = npy("|u1", "(1000, 750)", &[7; 750_000]);
        if fortran {
            let at = bytes.windows(5).position(|word| word == b"False").unwrap();
            bytes[at..at + 5].copy_from_slice(b"True ");
        }
        let archive = Archive { inflated: bytes.len(), bytes, floor: FLOOR }.quarter();
        let read = || read_from(&archive.bytes[..], FileFormat::Npy, &ReadOptions::default());
        let result = measured(&format!("dense, Fortran order {fortran}"), &archive, read);
        assert_eq!(result.unwrap().nnz(), 750_000);
    }
}

#[test]
fn memory_stays_in_proportion_to_what_was_read() {
    if was_run_apart() {
        return;
    }
    ordinary();
    narrow();
    bombs_and_lies();
    cut();
    from_a_path();
    dense();
}
