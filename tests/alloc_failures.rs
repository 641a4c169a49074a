//! No memory: every large allocation of every reader and constructor is made to fail, one after the other. Each time
//! there is an error, no end of the process, and nothing stays behind.
//!
//! *Large* is what grows with the input: more than 64 KiB. Smaller ones, of which some have no fallible form in Rust
//! (`Arc`, `Box`, messages, the buffers of a decoder), do not fail here; docs/decisions/0009 names them.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};

use lacuna::{CooTensor, CsrTensor, Duplicates, Error, Result, Triplets};

const LARGE: usize = (64 << 10) + 1;

/// How many large allocations succeed before those that do not, and how many of these there are.
static GIVEN: AtomicIsize = AtomicIsize::new(isize::MAX);
static REFUSED: AtomicIsize = AtomicIsize::new(0);
/// The bytes that are in use.
static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Failing;

impl Failing {
    fn refuses(size: usize) -> bool {
        if size < LARGE {
            return false;
        }
        let left = GIVEN.fetch_sub(1, SeqCst);
        left <= 0 && left > -REFUSED.load(SeqCst)
    }
}

// SAFETY: all memory is the system's; what is refused is null, as the trait has it.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(layout.size() as isize, SeqCst);
        // SAFETY: the caller keeps the contract of `alloc`, which is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(layout.size() as isize, SeqCst);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: the pointer came from `System`, as all that these functions give do.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // No allocator fails to make a buffer smaller, and `shrink_to_fit` has no error for it.
        if size > layout.size() && Self::refuses(size) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add(size as isize - layout.size() as isize, SeqCst);
        // SAFETY: the pointer came from `System`, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static MEMORY: Failing = Failing;

/// Fails one large allocation of `make` after the other, and then each with all that come after it.
fn fail_each<A, U>(what: &str, prepare: impl Fn() -> A, make: impl Fn(A) -> Result<U>) {
    // What threads and tables keep for themselves is made here.
    assert!(make(prepare()).is_ok(), "{what}");
    for refused in [1, isize::MAX] {
        let count = (0..).find(|&given| is_made(what, given, refused, &prepare, &make));
        println!("{what}: {count:?} large allocations");
        assert!(count > Some(0), "{what}: no large allocation was seen");
    }
}

/// Whether it is made when `given` large allocations succeed and the next `refused` ones do not; anything but memory
/// that is missing, and anything that stays behind, is a failure of the test.
fn is_made<A, U>(
    what: &str,
    given: isize,
    refused: isize,
    prepare: impl Fn() -> A,
    make: impl Fn(A) -> Result<U>,
) -> bool {
    let live = LIVE.load(SeqCst);
    let input = prepare();
    REFUSED.store(refused, SeqCst);
    GIVEN.store(given, SeqCst);
    let made = make(input).map(drop);
    let was_refused = GIVEN.swap(isize::MAX, SeqCst) < 0;
    // Threads may keep a list of their own; nothing large.
    let left = LIVE.load(SeqCst) - live;
    assert!(left < LARGE as isize, "{what}: {left} bytes stay behind failure {given}");
    match made {
        Ok(()) => {
            assert!(!was_refused, "{what}: failure {given} went unnoticed");
            true
        }
        Err(Error::OutOfMemory { bytes }) if bytes > 0 => false,
        Err(Error::Io { kind: std::io::ErrorKind::OutOfMemory, .. }) => false,
        Err(error) => panic!("{what}, failure {given}: {error}"),
    }
}

const ENTRIES: usize = 20_000;

/// Entries without an order, a few of them twice.
fn triplets(shape: &[usize]) -> Triplets<f64> {
    let coords = shape.iter().enumerate().map(|(axis, &length)| {
        let coord = |entry: u64| (entry.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (30 - 9 * axis)) as usize % length;
        (0..ENTRIES).map(|entry| coord(entry as u64 % (ENTRIES as u64 - 5)) as u32).collect()
    });
    Triplets::from_arrays(shape, coords.collect(), (0..ENTRIES).map(|entry| entry as f64).collect()).unwrap()
}

fn matrix() -> CooTensor<f64> {
    triplets(&[300, 400]).coalesce(Duplicates::Sum).unwrap()
}

#[test]
fn constructors() {
    let _turn = TURN.lock().unwrap();
    for shape in [&[300, 400][..], &[30, 40, 50], &[1 << 31, 1 << 31, 1 << 31]] {
        for duplicates in [Duplicates::Sum, Duplicates::Last, Duplicates::Error] {
            let make = |triplets: Triplets<f64>| match triplets.coalesce(duplicates) {
                Err(Error::Duplicate { .. }) => Ok(None),
                made => made.map(Some),
            };
            fail_each(&format!("coalesce {shape:?} by {duplicates:?}"), || triplets(shape), make);
        }
    }
    // Alike but for one: a bucket of all others is dealt once more, and threads share the work.
    let alike = || {
        let rows = [u32::MAX - 1].into_iter().chain((0..150_000).map(|entry| entry * 7 % 90_000)).collect();
        Triplets::from_arrays([1 << 32], vec![rows], vec![1.0; 150_001]).unwrap()
    };
    fail_each("coalesce, keys alike", alike, |triplets| triplets.coalesce(Duplicates::Sum));
    let push = |mut triplets: Triplets<f64>| (0..ENTRIES).try_for_each(|entry| triplets.push(&[entry], 1.0));
    fail_each("push", || Triplets::new([ENTRIES]).unwrap(), push);
    fail_each("coalesce_csr", || triplets(&[30, 40, 50]), |triplets| triplets.coalesce_csr(Duplicates::Sum));
    fail_each("to_csr", || triplets(&[9000, 40]).coalesce(Duplicates::Sum).unwrap(), |x| x.to_csr());
    fail_each("csr, nothing stored", || (), |()| CsrTensor::full([ENTRIES, 5], 1.0));
    fail_each("cast", matrix, |x| x.cast::<f32>());
    fail_each("with_index", matrix, |x| x.with_index::<u64>());
    fail_each("to_dense", matrix, |x| x.to_dense());
    let dense = || matrix().to_dense().unwrap();
    fail_each("from_dense, coo", dense, |dense| CooTensor::from_dense(&dense, 0.0));
    fail_each("from_dense, csr", dense, |dense| CsrTensor::from_dense(&dense, 0.0));
    let csr = || triplets(&[9000, 40]).coalesce_csr(Duplicates::Sum).unwrap();
    fail_each("to_paddle", csr, |x| x.to_paddle());
    fail_each("to_torch", csr, |x| x.to_torch());
    let paddle = || csr().to_paddle().unwrap();
    fail_each("from_paddle", paddle, |x| CsrTensor::<f64>::from_paddle([9000, 40], &x.crows, &x.cols, x.values));
    let torch = || csr().to_torch().unwrap();
    fail_each("from_torch", torch, |x| CsrTensor::from_torch([9000, 40], &x.crow_indices, &x.col_indices, &x.values));
    fail_each("permute_axes, coo", matrix, |x| x.permute_axes([1, 0]));
    fail_each("permute_axes, csr", csr, |x| x.permute_axes([1, 0]));
    fail_each("reshape, coo", matrix, |x| x.reshape([400, 1, 300]));
    fail_each("reshape, csr", csr, |x| x.reshape([40, 9000]));
}

#[cfg(feature = "sprs")]
#[test]
fn sprs_matrices() {
    use sprs::{CsMatI, TriMatI};
    let _turn = TURN.lock().unwrap();
    let triplets = || triplets(&[300, 400]).into_sprs().unwrap();
    fail_each("sprs triplets", triplets, |matrix: TriMatI<f64, u32>| Triplets::from_sprs(&matrix));
    let matrix = || triplets().to_csr::<u64>();
    fail_each("sprs csr", matrix, |matrix: CsMatI<f64, u32, u64>| CsrTensor::<f64, u64>::try_from(matrix));
    fail_each("sprs csc", || matrix().transpose_into(), CsrTensor::<f64, u64>::try_from);
    fail_each("sprs csc to coo", || matrix().transpose_into(), CooTensor::<f64, u64>::try_from);
}

/// The failures are those of one test at a time.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(feature = "io")]
mod files {
    use super::*;
    use lacuna::DType;
    use lacuna::io::{AnyTensor, Compression, FileFormat, Format, ReadOptions, WriteOptions, read_from, write_to};

    fn file(format: FileFormat, x: impl Into<AnyTensor>, compression: Compression) -> Vec<u8> {
        let mut options = WriteOptions::default();
        options.compression = compression;
        let mut bytes = Vec::new();
        write_to(&mut bytes, format, &x.into(), &options).unwrap();
        bytes
    }

    fn wide() -> CooTensor<f64, u64> {
        matrix().with_index().unwrap()
    }

    fn fail_reading(what: &str, format: FileFormat, bytes: &[u8], options: &ReadOptions) {
        fail_each(what, || (), |()| read_from(bytes, format, options));
    }

    fn fail_reading_text(what: &str, text: &str) {
        fail_reading(what, FileFormat::MatrixMarket, text.as_bytes(), &ReadOptions::default());
    }

    #[test]
    fn readers() {
        let _turn = TURN.lock().unwrap();
        let mut narrow = ReadOptions::default();
        (narrow.dtype, narrow.format) = (Some(DType::Float32), Some(Format::Csr));
        for options in [ReadOptions::default(), narrow] {
            for format in FileFormat::ALL {
                let bytes = file(format, wide(), Compression::None);
                fail_reading(&format!("{format}"), format, &bytes, &options);
                let bytes = file(format, wide(), Compression::Gzip);
                fail_reading(&format!("{format}, compressed"), format, &bytes, &options);
            }
            let bytes = file(FileFormat::Npz, wide().to_csr().unwrap(), Compression::None);
            fail_reading("npz, csr", FileFormat::Npz, &bytes, &options);
            let mut as_coo = options.clone();
            as_coo.format = Some(Format::Coo);
            fail_reading("npz, csr to coo", FileFormat::Npz, &bytes, &as_coo);
            let cube = wide().reshape([20, 15, 400]).unwrap();
            for x in [AnyTensor::from(cube.clone()), cube.to_csr().unwrap().into()] {
                fail_reading("npz, rank 3", FileFormat::Npz, &file(FileFormat::Npz, x, Compression::None), &options);
            }
        }
    }

    #[test]
    fn matrix_market() {
        let _turn = TURN.lock().unwrap();
        let entries = |line: fn(usize) -> String| (1..=ENTRIES).map(line).collect::<String>();
        let coordinate = |kind: &str, line: fn(usize) -> String| {
            format!("%%MatrixMarket matrix coordinate {kind}\n{0} {0} {ENTRIES}\n{1}", 2 * ENTRIES, entries(line))
        };
        let backwards = coordinate("real general", |at| format!("{} {at} 0.5\n", ENTRIES + 1 - at));
        fail_reading_text("backwards", &backwards);
        let triangles = |at: usize| match at % 2 {
            0 => format!("{at} {} 1.5\n", at + 5),
            _ => format!("{} {at} 1.5\n", at + 5),
        };
        fail_reading_text("symmetric", &coordinate("real symmetric", triangles));
        fail_reading_text("complex", &coordinate("complex general", |at| format!("{at} 1 2 3\n")));
        let array = format!("%%MatrixMarket matrix array integer general\n{ENTRIES} 1\n{}", "7\n".repeat(ENTRIES));
        fail_reading_text("array", &array);
        let comment = format!("%%MatrixMarket matrix array real general\n%{}\n1 1\n7\n", " ".repeat(900_000));
        fail_reading_text("a long comment", &comment);
    }
}
