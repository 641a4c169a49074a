//! No memory: every large allocation of readers, constructors and operations is made to fail, one after the other. Each
//! time there is an error, no end of the process, and nothing stays behind. By itself `cargo test` asks less: see
//! `WAYS` and `EACH`.
//!
//! *Large* is what grows with the input: more than 64 KiB, for operations more than 4 KiB. Smaller ones, of which some
//! have no fallible form in Rust (`Arc`, `Box`, messages, the buffers of a decoder), do not fail here;
//! docs/decisions/0009 names them.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};

use lacuna::{Axes, CooTensor, CsrTensor, Duplicates, Error, Result, Triplets, grad};

#[path = "support/share.rs"]
mod share;
use share::one_of;

const LARGE: usize = (64 << 10) + 1;

/// The allocations of one test, which are counted and may fail: those of its thread and of the other thread of its
/// pool.
struct Turn {
    /// The size from which an allocation is large.
    large: AtomicUsize,
    /// The number of large allocations that still succeed, and the number of failures after them.
    given: AtomicIsize,
    refused: AtomicIsize,
    /// The bytes that are in use.
    live: AtomicIsize,
}

/// More than there are tests.
static TURNS: [Turn; 32] = [const {
    Turn {
        large: AtomicUsize::new(LARGE),
        given: AtomicIsize::new(isize::MAX),
        refused: AtomicIsize::new(0),
        live: AtomicIsize::new(0),
    }
}; 32];

thread_local! {
    /// The test that this thread works for, if it works for one.
    static TURN: Cell<Option<&'static Turn>> = const { Cell::new(None) };
    /// True while the test works. At other times the harness may start or report a test.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// Begins a test, to which so many bytes are large: from now on its thread is one of a pool of two.
fn begin(large: usize) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let turn = &TURNS[COUNT.fetch_add(1, SeqCst)];
    turn.large.store(large, SeqCst);
    TURN.set(Some(turn));
    let others = move |_| {
        TURN.set(Some(turn));
        WORKS.set(true);
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).use_current_thread().start_handler(others).build();
    // Threads and tables allocate their own memory here, and keep it.
    std::mem::forget(pool.expect("threads"));
}

struct Failing;

impl Failing {
    fn refuses(size: usize) -> bool {
        let turn = TURN.try_with(Cell::get).ok().flatten().filter(|_| WORKS.try_with(Cell::get).unwrap_or(false));
        let Some(turn) = turn.filter(|turn| size >= turn.large.load(SeqCst)) else { return false };
        let left = turn.given.fetch_sub(1, SeqCst);
        left <= 0 && left > -turn.refused.load(SeqCst)
    }

    fn count(bytes: isize) {
        if let Ok(Some(turn)) = TURN.try_with(Cell::get) {
            turn.live.fetch_add(bytes, SeqCst);
        }
    }
}

// SAFETY: all memory is the system's; what is refused is null, as the trait has it.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        Self::count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`, which is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        Self::count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::count(-(layout.size() as isize));
        // SAFETY: the pointer came from `System`, as all that these functions give do.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // No allocator fails to make a buffer smaller, and `shrink_to_fit` has no error for it.
        if size > layout.size() && Self::refuses(size) {
            return std::ptr::null_mut();
        }
        Self::count(size as isize - layout.size() as isize);
        // SAFETY: the pointer came from `System`, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static MEMORY: Failing = Failing;

/// Up to here each large allocation fails; beyond, where they come in groups that are alike, `cargo test` lets every
/// 32nd fail.
const EACH: usize = 64;

/// The numbers of failing allocations: one, or one and all after it. `cargo test` runs one of the two, chosen by the
/// name.
const WAYS: [isize; 2] = [1, isize::MAX];

/// Fails one large allocation of `make` after the other, and then each with all that come after it; there is one.
fn fail_each<A, U>(what: &str, prepare: impl Fn() -> A, make: impl Fn(A) -> Result<U>) {
    assert!(fail_all(what, prepare, make) > 0, "{what}: no large allocation was seen");
}

/// [`fail_each`], and about how many large allocations there are.
fn fail_all<A, U>(what: &str, prepare: impl Fn() -> A, make: impl Fn(A) -> Result<U>) -> isize {
    // Threads and tables allocate their own memory here.
    assert!(make(prepare()).is_ok(), "{what}");
    let way = what.bytes().map(usize::from).sum::<usize>() % one_of(2);
    let mut count = 0;
    for refused in WAYS.into_iter().skip(way).step_by(one_of(2)) {
        let mut turns = (0..EACH).chain((EACH..).step_by(one_of(32))).map(|given| given as isize);
        count = turns.find(|&given| is_made(what, given, refused, &prepare, &make)).unwrap_or(0);
        println!("{what}: {count} large allocations");
    }
    count
}

/// Returns whether `make` succeeds if `given` large allocations succeed and the next `refused` allocations fail. Any
/// other error fails the test, and so does memory that stays allocated.
fn is_made<A, U>(
    what: &str,
    given: isize,
    refused: isize,
    prepare: impl Fn() -> A,
    make: impl Fn(A) -> Result<U>,
) -> bool {
    let turn = TURN.get().expect("the test has begun");
    let live = turn.live.load(SeqCst);
    let input = prepare();
    turn.refused.store(refused, SeqCst);
    turn.given.store(given, SeqCst);
    WORKS.set(true);
    let made = make(input).map(drop);
    WORKS.set(false);
    let was_refused = turn.given.swap(isize::MAX, SeqCst) < 0;
    // Threads may keep a list of their own; nothing large.
    let left = turn.live.load(SeqCst) - live;
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
    begin(LARGE);
    for shape in [&[300, 400][..], &[30, 40, 50], &[1 << 31, 1 << 31, 1 << 31]] {
        for duplicates in [Duplicates::Sum, Duplicates::Last, Duplicates::Error] {
            let make = |triplets: Triplets<f64>| match triplets.coalesce(duplicates) {
                Err(Error::Duplicate { .. }) => Ok(None),
                made => made.map(Some),
            };
            fail_each(&format!("coalesce {shape:?} by {duplicates:?}"), || triplets(shape), make);
        }
    }
    // Alike but for one: a bucket of all others is partitioned once more, and threads share the work.
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
    begin(LARGE);
    let triplets = || triplets(&[300, 400]).into_sprs().unwrap();
    fail_each("sprs triplets", triplets, |matrix: TriMatI<f64, u32>| Triplets::from_sprs(&matrix));
    let matrix = || triplets().to_csr::<u64>();
    fail_each("sprs csr", matrix, |matrix: CsMatI<f64, u32, u64>| CsrTensor::<f64, u64>::try_from(matrix));
    fail_each("sprs csc", || matrix().transpose_into(), CsrTensor::<f64, u64>::try_from);
    fail_each("sprs csc to coo", || matrix().transpose_into(), CooTensor::<f64, u64>::try_from);
}

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
        begin(LARGE);
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
    fn tables() {
        begin(LARGE);
        use lacuna::io::{CsvColumns, Labelled, read_csv_from};
        let mut text = "a,b,v\n".to_string();
        (0..30_000).for_each(|at| text += &format!("row {},{},{at}\n", at * 7 % 20_011, at % 9_000));
        let columns = CsvColumns::new(["a", "b"]).value("v");
        let read = |()| -> Result<Labelled<f64>> { read_csv_from(text.as_bytes(), &columns, &ReadOptions::default()) };
        fail_each("csv", || (), read);
    }

    #[test]
    fn matrix_market() {
        begin(LARGE);
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

/// Every operation, of both formats and of arrays in two layouts.
mod operations {
    use super::*;
    use lacuna::{Isin, IsinKind, Matmul, Nanmedian, Operand, Pattern, Take, Tensor};
    use ndarray::{ArrayD, Axis, s};

    /// Enough entries for two threads.
    const MANY: usize = 140_000;

    /// The size from which a list is large: an item for some of the groups, which are fewer than the entries.
    const LIST: usize = (4 << 10) + 1;

    fn coo(shape: &[usize], count: usize) -> CooTensor<f64> {
        let size = shape.iter().product::<usize>();
        assert!(count <= size);
        let position = |entry: usize| entry * (size / count);
        let axis = |axis: usize| {
            let inner = shape[axis + 1..].iter().product::<usize>();
            (0..count).map(|entry| (position(entry) / inner % shape[axis]) as u32).collect()
        };
        let value = |entry: usize| if entry % 11 == 3 { f64::NAN } else { (entry * 7919 % 1000) as f64 - 300.0 };
        CooTensor::new(shape, (0..shape.len()).map(axis).collect(), (0..count).map(value).collect(), 0.0).unwrap()
    }

    /// Fails the allocations of reductions that need memory for each group, entry or element.
    fn reductions<X: Operand<Elem = f64>>(what: &str, x: &X, axes: &[&[isize]])
    where
        X::Reduced<f64>: Operand<Elem = f64>,
    {
        for &axes in axes {
            let fail = |name: &str, run: &dyn Fn() -> Result<()>| {
                fail_all(&format!("{name} of {what} over {axes:?}"), || (), |()| run());
            };
            let keep = || Nanmedian::over(axes).keep_dims();
            let upstream = lacuna::nanmedian(x, axes).unwrap();
            fail("any", &|| lacuna::any(x, axes).map(drop));
            fail("count_nonzero", &|| lacuna::count_nonzero(x, axes).map(drop));
            fail("nanmedian", &|| lacuna::nanmedian(x, keep()).map(drop));
            fail("nanmedian_index", &|| lacuna::nanmedian_index(x, keep().lower()).map(drop));
            fail("any_backward", &|| lacuna::grad::any(x, &upstream, axes).map(drop));
            fail("nanmedian_backward", &|| lacuna::grad::nanmedian(x, &upstream, axes).map(drop));
            let first = || Nanmedian::over(axes).first();
            fail("nanmedian_backward, first", &|| lacuna::grad::nanmedian(x, &upstream, first()).map(drop));
        }
    }

    fn sparse_reductions<P: Pattern>(what: &str, x: &Tensor<P, f64>, axes: &[&[isize]]) {
        reductions(what, x, axes);
        reductions(&format!("{what}, stored"), &x.stored(), axes);
    }

    const BACKWARDS: ndarray::Slice = ndarray::Slice { start: 0, end: None, step: -1 };

    const AXES: [&[isize]; 5] = [&[], &[0], &[-1], &[0, 2], &[1]];

    #[test]
    fn reductions_of_coo() {
        begin(LIST);
        sparse_reductions("coo", &coo(&[60, 50, 40], 10_000), &AXES);
        reductions("long coo", &coo(&[3000, 2, 70], MANY), &AXES[1..3]);
        sparse_reductions("wide coo", &coo(&[1 << 31, 1 << 30], 10_000), &[&[0]]);
    }

    #[test]
    fn reductions_of_csr() {
        begin(LIST);
        sparse_reductions("csr", &coo(&[60, 50, 4], 10_000).to_csr().unwrap(), &AXES);
        reductions("long csr", &coo(&[3000, 20, 7], MANY).to_csr().unwrap(), &AXES[1..2]);
    }

    #[test]
    fn reductions_of_arrays() {
        begin(LIST);
        let array = |shape: [usize; 3]| coo(&shape, shape.iter().product()).to_dense().unwrap();
        let short = array([30, 25, 20]);
        reductions("array", &short, &AXES);
        reductions("array, columns first", &short.view().reversed_axes(), &AXES[..3]);
        reductions("array, backwards", &short.slice_axis(Axis(2), BACKWARDS), &AXES);
        reductions("long array", &array([100, 20, 70]), &AXES[4..]);
        reductions("deep array, backwards", &array([1, 1, MANY]).slice_axis(Axis(2), BACKWARDS), &AXES[2..3]);
    }

    /// Gradients whose layout and pattern are not those of the result.
    #[test]
    fn upstream_gradients() {
        begin(LIST);
        let x = coo(&[60, 50, 4], 10_000);
        let lane = lacuna::nanmedian(&x, -1).unwrap();
        let dense = lane.to_dense().unwrap();
        let turned = lane.permute_axes([1, 0]).unwrap().to_dense().unwrap();
        let sparse = lane.prune().unwrap();
        let thin = coo(&[60, 50], 40);
        fn both<X: Operand<Elem = f64>, U: Operand<Elem = f64>>(what: &str, x: &X, upstream: &U) {
            fail_all(&format!("any_backward, {what}"), || (), |()| lacuna::grad::any(x, upstream, -1).map(drop));
            fail_all(
                &format!("nanmedian_backward, {what}"),
                || (),
                |()| lacuna::grad::nanmedian(x, upstream, -1).map(drop),
            );
        }
        fn all<X: Operand<Elem = f64>>(
            what: &str,
            x: &X,
            [dense, turned]: [&ArrayD<f64>; 2],
            sparse: [&CooTensor<f64>; 2],
        ) {
            both(&format!("{what}, of an array"), x, dense);
            both(&format!("{what}, of a turned array"), x, &turned.t());
            for upstream in sparse {
                both(&format!("{what}, of coo"), x, upstream);
                both(&format!("{what}, of csr"), x, &upstream.to_csr().unwrap());
            }
        }
        all("coo", &x, [&dense, &turned], [&sparse, &thin]);
        all("csr", &x.to_csr().unwrap(), [&dense, &turned], [&sparse, &thin]);
        let filled = coo(&[60, 40, 5], 12_000);
        let (lane, thin) = (lacuna::nanmedian(&filled, -1).unwrap(), coo(&[60, 40], 20));
        let dense = lane.to_dense().unwrap();
        all("an array", &filled.to_dense().unwrap(), [&dense, &dense.t().to_owned()], [&lane, &thin]);
    }

    /// Fails the allocations of operations that join two patterns, or combine a tensor with an array.
    #[test]
    fn zips() {
        begin(LIST);
        fn of_two<P: Pattern>(what: &str, x: &Tensor<P, f64>, y: &Tensor<P, f64>, mean: &CooTensor<f64>) {
            let fail = |name: &str, run: &dyn Fn() -> Result<()>| {
                fail_each(&format!("{name} of {what}"), || (), |()| run());
            };
            let (array, lane) = (x.to_dense().unwrap(), mean.to_dense().unwrap());
            let turned = array.t().as_standard_layout().into_owned();
            fail("add", &|| x.add(y).map(drop));
            fail("less", &|| x.less(y).map(drop));
            fail("add, stored", &|| x.stored().add(y).map(drop));
            fail("mul, stored", &|| x.stored().mul(y).map(drop));
            fail("mul by a number", &|| x.mul(2.0).map(drop));
            fail("mul by an array", &|| x.stored().mul(&array).map(drop));
            fail("mul by a turned array", &|| x.stored().mul(&turned.t()).map(drop));
            fail("mul of two arrays", &|| lacuna::mul(&array, &turned.t()).map(drop));
            fail("mul by lanes", &|| x.stored().mul(&lane).map(drop));
            fail("where_", &|| lacuna::where_(&x.less(y)?, x, y).map(drop));
            fail("without", &|| x.stored().without(y.pattern()).map(drop));
            fail("mul_backward", &|| grad::mul(x, y, &array).map(drop));
            fail("div_backward", &|| grad::div(x, y, &array).map(drop));
        }
        let (x, y) = (coo(&[60, 50, 4], 10_000), coo(&[60, 50, 4], 4_000));
        let mean = coo(&[60, 50, 1], 3_000);
        of_two("coo", &x, &y, &mean);
        of_two("csr", &x.to_csr().unwrap(), &y.to_csr().unwrap(), &mean);
        fail_each("a broadcast", || (), |()| x.add(&mean).map(drop));
        // Coordinates that fit no key, and enough entries for two threads.
        let wide = |count| {
            let axes = coo(&[60, 50, 4], count).with_index::<u64>().unwrap();
            let coords = (0..3).map(|axis| axes.coords(axis).to_vec()).collect();
            let pattern = lacuna::CooPattern::new([1 << 40, 1 << 40, 1 << 40], count, coords).unwrap();
            Tensor::from_parts(pattern, axes.values().to_vec(), 0.0).unwrap()
        };
        let (long, other) = (wide(6_000), wide(2_000));
        fail_each("add of wide coo", || (), |()| long.stored().add(&other).map(drop));
        let (long, other) = (coo(&[3000, 20, 7], MANY), coo(&[3000, 20, 7], MANY / 2));
        fail_each("add of long coo", || (), |()| long.add(&other).map(drop));
    }

    /// Products of all kinds of operands, and what is made of dense factors.
    #[test]
    fn products() {
        begin(LIST);
        fn of_matrices<P: Pattern>(what: &str, x: &Tensor<P, f64>, y: &Tensor<P, f64>) {
            let fail = |name: &str, run: &dyn Fn() -> Result<()>| {
                fail_each(&format!("{name} of {what}"), || (), |()| run());
            };
            let (array, other) = (x.to_dense().unwrap(), y.to_dense().unwrap());
            let near = x.matmul(y).unwrap().tril(0).unwrap();
            let wide = ndarray::Array2::from_elem((60, 50), 1.5);
            let upstream = ndarray::Array2::from_elem((60, 60), 0.5);
            fail("matmul", &|| x.matmul(y).map(drop));
            fail("matmul with an array", &|| x.matmul(&other).map(drop));
            fail("matmul with a turned array", &|| x.matmul(&wide.t()).map(drop));
            fail("matmul of an array", &|| lacuna::matmul(&array, y).map(drop));
            fail("matmul of arrays", &|| lacuna::matmul(&array, &other).map(drop));
            fail("matmul on a mask", &|| x.matmul_with(y, near.pattern()).map(drop));
            fail("matmul without a mask", &|| {
                x.matmul_with(&other, Matmul::min_plus().without(near.pattern())).map(drop)
            });
            fail("matmul_backward", &|| grad::matmul(x, y, &upstream).map(drop));
            fail("matmul_backward of arrays", &|| lacuna::grad::matmul(&array, y, &near).map(drop));
            fail("einsum", &|| lacuna::einsum("ij,kj,ik->k", &[x, x, &near]).map(drop));
            fail("einsum_backward", &|| lacuna::grad::einsum("ij,jk->i", &[x, y], &upstream.row(0)).map(drop));
            fail("outer", &|| lacuna::outer(&x.slice(s![0, ..])?, &y.slice(s![..3, ..])?).map(drop));
            fail("kron", &|| lacuna::kron(&x.slice(s![..1, ..])?, &y.slice(s![..3, ..])?).map(drop));
            fail("ttm", &|| lacuna::ttm(x, &wide, 1).map(drop));
            fail("mttkrp", &|| lacuna::mttkrp(x, 0, &[&wide.t()]).map(drop));
            fail("softmax", &|| x.stored().softmax(0).map(drop));
            fail("sddmm", &|| x.stored().sddmm(&wide.slice(s![.., ..20]), &wide.slice(s![..50, ..20])).map(drop));
        }
        let finite = |x: CooTensor<f64>| x.map_values(|value| if value.is_finite() { value } else { 1.0 }).unwrap();
        let (x, y) = (finite(coo(&[60, 50], 2_000)), finite(coo(&[50, 60], 2_000)));
        of_matrices("coo", &x, &y);
        of_matrices("csr", &x.to_csr().unwrap(), &y.to_csr().unwrap());
    }

    /// Fails the allocations of operations that rank, group by labels, or order entire groups.
    #[test]
    fn groups() {
        begin(LIST);
        fn of_groups<P: Pattern>(what: &str, x: &Tensor<P, f64>, matrix: &Tensor<P, f64>) {
            let fail = |name: &str, run: &dyn Fn() -> Result<()>| {
                fail_all(&format!("{name} of {what}"), || (), |()| run());
            };
            let labels: Vec<usize> = (0..x.shape()[1]).map(|at| at % 7).collect();
            let factors: Vec<f64> = labels.iter().map(|&label| label as f64 + 1.0).collect();
            let sums = x.sum(1).unwrap();
            let weights = x.sum([0, 2]).unwrap().to_dense().unwrap();
            fail("prod", &|| x.prod(1).map(drop));
            fail("prod_backward", &|| grad::prod(x, &sums, 1).map(drop));
            fail("norm", &|| x.norm(0).map(drop));
            fail("norm_backward", &|| grad::norm(x, &sums, 1).map(drop));
            fail("median", &|| x.median(1).map(drop));
            fail("quantile", &|| x.quantile(0.3, 0).map(drop));
            fail("quantile_backward", &|| grad::quantile(x, &sums, 0.3, 1).map(drop));
            fail("topk_index", &|| x.stored().topk_index(3, 1).map(drop));
            fail("topk_backward", &|| grad::topk(x, &x.topk(3, 1)?, 3, 1).map(drop));
            fail("argsort", &|| x.stored().argsort(1).map(drop));
            fail("sort", &|| x.sort(1).map(drop));
            fail("sort, stored", &|| x.stored().sort(0).map(drop));
            fail("sort_backward", &|| grad::sort(&x.stored(), x, 1).map(drop));
            fail("diff", &|| x.diff(1, 1).map(drop));
            fail("average", &|| x.average(&weights, 1).map(drop));
            fail("cov", &|| matrix.cov(0, 1).map(drop));
            fail("corrcoef", &|| matrix.corrcoef(0).map(drop));
            fail("trace", &|| x.trace(0).map(drop));
            fail("trace_backward", &|| grad::trace(x, &x.trace(0)?, 0).map(drop));
            fail("cumsum", &|| x.stored().cumsum(0).map(drop));
            fail("cumprod_backward", &|| grad::cumprod(&x.stored(), x, 1).map(drop));
            fail("unique", &|| x.unique().map(drop));
            fail("group_by", &|| x.sum(Axes::by(1, &labels)).map(drop));
            fail("group_by, quantile", &|| x.quantile(0.3, Axes::by(1, &labels)).map(drop));
            fail("pow", &|| x.pow(x).map(drop));
            fail("is_close", &|| x.is_close(x, lacuna::Tolerance::default()).map(drop));
            fail("allclose", &|| x.allclose(x, lacuna::Tolerance::default()).map(drop));
            fail("scale", &|| x.scale(1, &factors).map(drop));
            fail("scale by a tensor", &|| x.scale(0, &sums.sum(1)?).map(drop));
        }
        let x = coo(&[60, 50, 40], 10_000);
        let matrix = x.reshape([60, 2_000]).unwrap();
        of_groups("coo", &x, &matrix);
        of_groups("csr", &x.to_csr().unwrap(), &matrix.to_csr().unwrap());
    }

    fn maps<X: Operand<Elem = f64>>(what: &str, x: &X) {
        let fail = |name: &str, run: &dyn Fn() -> Result<()>| fail_all(&format!("{name} of {what}"), || (), |()| run());
        fail("isnan", &|| lacuna::isnan(x).map(drop));
        fail("isreal", &|| lacuna::isreal(x).map(drop));
        fail("exp", &|| lacuna::exp(x).map(drop));
        fail("abs", &|| lacuna::abs(x).map(drop));
        fail("exp_backward", &|| lacuna::grad::exp(x, x).map(drop));
        let members: Vec<f64> = (0..30_000).map(|member| f64::from(member * 7 % 20_011)).collect();
        for kind in [IsinKind::Auto, IsinKind::Hash, IsinKind::Sort] {
            fail(&format!("isin by {kind:?}"), &|| lacuna::isin(x, Isin::of(&members).kind(kind)).map(drop));
        }
    }

    #[test]
    fn maps_of_all() {
        begin(LIST);
        let x = coo(&[600, 20, 12], MANY);
        maps("coo", &x);
        maps("csr", &x.to_csr().unwrap());
        maps("a stored view", &x.stored());
        let dense = x.to_dense().unwrap();
        maps("array", &dense);
        maps("array, backwards", &dense.slice_axis(Axis(2), BACKWARDS));
        let numbers = ndarray::Array1::from_iter((0..100_000).map(|at| at * 37 % 1_000_003));
        let members: Vec<i32> = (0..200_000).map(|member| member * 5).collect();
        for kind in [IsinKind::Auto, IsinKind::Table, IsinKind::Hash, IsinKind::Sort] {
            let ask = |()| lacuna::isin(&numbers, Isin::of(&members).kind(kind));
            fail_all(&format!("isin of integers by {kind:?}"), || (), ask);
        }
        let crowd: Vec<u64> = (0..400_000).map(|member| member * 6_700_417).collect();
        fail_all("isin, many members", || ndarray::Array1::from_elem(100_000, 0), |x| lacuna::isin(&x, &crowd));
    }

    fn takes<X: Operand<Elem = f64>>(what: &str, x: &X, rank: isize)
    where
        X::Reduced<f64>: Operand<Elem = f64>,
    {
        let fail = |name: &str, run: &dyn Fn() -> Result<()>| fail_all(&format!("{name} of {what}"), || (), |()| run());
        let size = x.lengths().iter().product::<usize>() as i64;
        let listed: Vec<i64> = (0..5_000).map(|item| item * 7919 % size).collect();
        let apart = ndarray::Array1::from_iter((0..9_000).map(|item| item * 7919 % size));
        let apart = apart.slice(ndarray::s![..;-2]);
        let upstream = lacuna::take(x, &listed).unwrap();
        let dense = ndarray::Array1::from_elem(listed.len(), 1.0);
        fail("take", &|| lacuna::take(x, &listed).map(drop));
        fail("take, wrapped", &|| lacuna::take(x, Take::at(&listed).wrap()).map(drop));
        fail("take of a view", &|| lacuna::take(x, &apart).map(drop));
        fail("take_backward", &|| lacuna::grad::take(x, &upstream, &listed).map(drop));
        fail("take_backward, dense", &|| lacuna::grad::take(x, &dense, &listed).map(drop));
        let lists: Vec<Vec<i64>> =
            x.lengths().iter().map(|&length| (0..90).map(|item| item * 7 % length as i64).collect()).collect();
        let upstream = lacuna::gather(x, &lists).unwrap();
        fail("gather", &|| lacuna::gather(x, &lists).map(drop));
        let mut ends = x.lengths().to_vec();
        ends[0] = 1;
        let ends = ndarray::Array::from_elem(ends, -1i64);
        fail("take_along_axis", &|| lacuna::take_along_axis(x, &ends, 0).map(drop));
        fail("gather_backward", &|| lacuna::grad::gather(x, &upstream, &lists).map(drop));
        for axis in 0..rank {
            let length = x.lengths()[axis as usize] as i64;
            let listed: Vec<i64> = (0..length.max(90)).map(|item| item * 7 % length).collect();
            let upstream = lacuna::take_axis(x, &listed, axis).unwrap();
            fail(&format!("take_axis {axis}"), &|| lacuna::take_axis(x, &listed, axis).map(drop));
            let backward = || lacuna::grad::take_axis(x, &upstream, &listed, axis).map(drop);
            fail(&format!("take_axis_backward {axis}"), &backward);
        }
    }

    fn moves<P: Pattern>(what: &str, x: &Tensor<P, f64>) {
        let fail = |name: &str, run: &dyn Fn() -> Result<()>| fail_all(&format!("{name} of {what}"), || (), |()| run());
        let slices = ndarray::s![1..;2, ..;-3, ..;2];
        let mask: Vec<bool> = (0..x.shape()[1]).map(|at| at % 3 > 0).collect();
        fail("slice", &|| x.slice(slices).map(drop));
        fail("slice_backward", &|| grad::slice(x, &x.slice(slices)?, slices).map(drop));
        fail("a row", &|| x.slice(ndarray::s![1.., .., ..]).map(drop));
        fail("flip", &|| x.flip([0, 1, 2]).map(drop));
        fail("roll", &|| x.roll(3, 1)?.roll(1, 2).map(drop));
        fail("pad", &|| x.pad([(1, 2), (3, 4), (5, 6)]).map(drop));
        fail("tile", &|| x.tile([2, 1, 2])?.repeat(2, 0).map(drop));
        fail("tile_backward", &|| grad::tile(x, &x.tile([2, 1, 2])?, [2, 1, 2]).map(drop));
        fail("transpose", &|| x.transpose().map(drop));
        fail("expand_dims", &|| x.expand_dims([0, -1])?.squeeze(-1).map(drop));
        fail("triu", &|| x.triu(2)?.diagonal(3).map(drop));
        fail("mask", &|| x.take_axis(&mask, 1).map(drop));
        fail("select", &|| x.select(|value| value > 0.0).map(drop));
        fail("filter_entries", &|| x.filter_entries(|coords, _| coords[2] > 5).map(drop));
        fail("nonzero", &|| x.nonzero().map(drop));
        fail("with_entries", &|| x.with_entries([([0, 1, 2], 1.0)]).map(drop));
        for axis in 0..3 {
            fail("concat", &|| lacuna::concat(axis, &[x, x]).map(drop));
            fail("concat_backward", &|| lacuna::grad::concat(&lacuna::concat(axis, &[x, x])?, axis, &[x, x]).map(drop));
        }
    }

    #[test]
    fn moves_of_both() {
        begin(LIST);
        let x = coo(&[60, 50, 40], 10_000);
        moves("coo", &x);
        moves("csr", &x.to_csr().unwrap());
        let long = coo(&[20_000, 20_000], MANY);
        let slices = ndarray::s![..;2, ..10_000];
        fail_each("slice of long coo", || (), |()| long.slice(slices));
        fail_each("slice of long csr", || long.to_csr().unwrap(), |x| x.slice(slices));
        fail_each("random", || (), |()| CooTensor::random([5000, 5000], MANY, 1));
        fail_each("eye", || (), |()| CsrTensor::<f64>::eye(ENTRIES));
        let dense = coo(&[30, 25, 20], 15_000).to_dense().unwrap();
        fail_each("flip of an array", || (), |()| lacuna::flip(&dense, 1));
        fail_each("flip_backward of an array", || (), |()| lacuna::grad::flip(&dense, &dense, 1));
    }

    #[test]
    fn takes_of_coo() {
        begin(LIST);
        takes("coo", &coo(&[60, 50, 40], 10_000), 3);
        takes("long matrix", &coo(&[20_000, 20_000], MANY), 1);
    }

    #[test]
    fn takes_of_csr() {
        begin(LIST);
        takes("csr", &coo(&[60, 50, 40], 10_000).to_csr().unwrap(), 3);
        takes("csr matrix", &coo(&[300, 80], 10_000).to_csr().unwrap(), 2);
        takes("long csr matrix", &coo(&[20_000, 20_000], MANY).to_csr().unwrap(), 1);
    }

    #[test]
    fn takes_of_arrays() {
        begin(LIST);
        let dense = coo(&[30, 25, 20], 15_000).to_dense().unwrap();
        takes("array", &dense, 3);
        takes("array, backwards", &dense.slice_axis(Axis(2), BACKWARDS), 3);
        let few: Vec<usize> = (0..2_000).collect();
        let backwards = dense.slice_axis(Axis(0), BACKWARDS);
        fail_all("take of few", || (), |()| lacuna::take(&backwards, &few));
    }

    fn tensors<P: Pattern>(what: &str, x: &Tensor<P, f64>) {
        let fail = |name: &str, run: &dyn Fn() -> Result<()>| fail_all(&format!("{name} of {what}"), || (), |()| run());
        let gaps = x.map_values(|value| if value > 0.0 { value } else { 0.0 }).unwrap();
        let ones = x.map_values(|_| 1.0).unwrap();
        fail("prune", &|| gaps.prune().map(drop));
        fail("map_values", &|| x.map_values(|value| value > 0.0).map(drop));
        fail("map_entries", &|| x.map_entries(|_, value| value + 1.0).map(drop));
        fail("cast", &|| ones.cast::<u8>().map(drop));
        fail("to_dense", &|| x.to_dense().map(drop));
        fail("triplets", &|| Triplets::try_from(x).map(drop));
    }

    #[test]
    fn tensors_of_both() {
        begin(LIST);
        let x = coo(&[60, 50, 40], 10_000);
        let csr = x.to_csr().unwrap();
        tensors("coo", &x);
        tensors("csr", &csr);
        fail_each("to_csr", || (), |()| x.to_csr());
        fail_each("into_csr", || x.clone(), |x| x.into_csr());
        fail_each("to_coo", || (), |()| csr.to_coo());
        fail_each("reshape", || (), |()| x.reshape([40, 60, 50]));
        fail_each("reshape of csr", || (), |()| csr.reshape([40, 60, 50]));
        fail_each("permute_axes", || (), |()| x.permute_axes([2, 0, 1]));
        fail_each("permute_axes of csr", || (), |()| csr.permute_axes([2, 0, 1]));
        fail_each("from_dense", || x.to_dense().unwrap(), |dense| CooTensor::from_dense(&dense.t(), 0.0));
        fail_each("from_dense, csr", || x.to_dense().unwrap(), |dense| CsrTensor::from_dense(&dense.t(), 0.0));
    }
}
