//! Reductions on DataFusion: bitwise identical to the results of threads, for any number of parts.

mod support;
#[allow(dead_code)] // other tests use the rest
#[path = "support/workers.rs"]
mod workers;

use std::cell::{Cell, OnceCell};

use std::sync::atomic::{AtomicUsize, Ordering};

use lacuna::io::{ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::{Lazy, Threads};
use lacuna::{Axes, CooTensor, Error, Nanmedian, Norm};
use lacuna_datafusion::DataFusion;
use support::{Folder, Random, assert_bits, bits, small_groups};
use workers::Worker;

const PARTS: [usize; 3] = [1, 2, 8];

/// Returns the number of parts of a check, which cycles through [`PARTS`]. `tests/plans.rs` runs each plan with all
/// numbers.
fn parts() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    PARTS[COUNT.fetch_add(1, Ordering::Relaxed) % PARTS.len()]
}

fn engine(parts: usize) -> DataFusion {
    // A rejected step does not fit this memory, so no step runs on threads unnoticed.
    DataFusion::in_process().partitions(parts).memory(0)
}

/// Returns an engine with enough memory for rejected steps.
fn with_room(parts: usize) -> DataFusion {
    engine(parts).memory(1 << 26)
}

thread_local! {
    /// Two workers per test, which end with its thread.
    static WORKERS: OnceCell<Vec<Worker>> = const { OnceCell::new() };
    static CHECKS: Cell<usize> = const { Cell::new(0) };
}

/// The number of checks per check on workers, which takes much longer.
const SELDOM: usize = 31;

/// Checks that workers return the same result.
fn check_on_workers<T: support::Item>(case: &str, step: &Lazy<CooTensor<T>>) {
    CHECKS.set(CHECKS.get() + 1);
    if CHECKS.get() % SELDOM != 1 {
        return;
    }
    let found = WORKERS.with(|workers| {
        let workers = workers.get_or_init(|| workers::workers(2, &std::env::temp_dir()));
        step.on(workers::cluster(workers).memory(0)).collect()
    });
    let found = found.unwrap_or_else(|error| panic!("{case}, on workers: {error}"));
    assert_bits(&found, &step.collect().unwrap(), &format!("{case}, on workers"));
}

/// Checks that the step runs on DataFusion, and results in the bits of threads.
fn check<T: support::Item>(case: &str, step: &Lazy<CooTensor<T>>) {
    let expected = step.on(Threads).collect();
    if expected.is_ok() {
        check_on_workers(case, step);
    }
    let parts = parts();
    let plan = step.on(engine(parts)).explain().unwrap();
    if expected.is_ok() {
        assert!(plan.contains(&format!("in {parts} parts")), "{case} is not asked of DataFusion:\n{plan}");
    }
    match &expected {
        Ok(expected) => {
            assert_bits(&step.on(engine(parts)).collect().unwrap(), expected, &format!("{case}, {parts} parts"))
        }
        // If a step fails, threads read the file again and report the error.
        _ => assert_eq!(step.on(with_room(parts)).collect(), expected, "{case}, {parts} parts"),
    }
}

fn all_axes() -> Vec<Axes> {
    vec![Axes::all(), Axes::from(0), Axes::from(-1), Axes::from(1).keep_dims(), Axes::from([0, 2])]
}

/// Checks the reductions that all types have.
fn of_any_type<T: support::Item>(case: &str, x: &Lazy<CooTensor<T>>, axes: &Axes) {
    check(&format!("any of {case}"), &x.any(axes));
    check(&format!("all of {case}"), &x.all(axes));
    check(&format!("count_nonzero of {case}"), &x.count_nonzero(axes));
    check(&format!("stored count_nonzero of {case}"), &x.stored().count_nonzero(axes));
}

/// Calls `f` with scanned files of random entries, for several shapes and fills, and with a description of each file.
fn for_files<T: support::Item>(seed: u64, mut f: impl FnMut(&str, &Lazy<CooTensor<T>>)) {
    let (random, folder) = (&mut Random::new(seed), Folder::new(&format!("engine-{}", T::DTYPE.name())));
    let shapes = [[5, 4, 3], [1, 30, 2], [0, 3, 2], [3, 7, 1]];
    for (number, fill) in T::fills().into_iter().enumerate() {
        let shape = shapes[number % shapes.len()];
        let densities: &[usize] = match number {
            0 => &[0, 40, 100],
            _ => [&[40], &[100]][number % 2],
        };
        for &density in densities {
            let x = support::tensor::<T>(random, shape, density, fill);
            let path = folder.path(&format!("{number}-{density}{}", if number % 2 == 0 { "/" } else { ".parquet" }));
            write(&path, &x, &small_groups()).unwrap();
            f(&format!("{x:?}"), &scan(&path, &ReadOptions::default()).unwrap());
        }
    }
}

macro_rules! types {
    ($($name:ident: $type:ty, |$x:ident, $case:ident, $axes:ident| $more:block)*) => {$(
        #[test]
        fn $name() {
            let mut at = 0;
            for_files::<$type>(stringify!($name).len() as u64 + 77, |$case, $x| {
                let all = all_axes();
                // Each file is reduced over two of the axes.
                for $axes in [&all[at % all.len()], &all[(at + 2) % all.len()]] {
                    of_any_type($case, $x, $axes);
                    check(&format!("sum of {}", $case), &$x.sum($axes));
                    check(&format!("mean of {}", $case), &$x.mean($axes));
                    $more
                }
                at += 1;
            });
        }
    )*};
}

macro_rules! real {
    ($x:ident, $case:ident, $axes:ident) => {{
        check(&format!("min of {}", $case), &$x.min($axes));
        check(&format!("stored max of {}", $case), &$x.stored().max($axes));
        check(&format!("nanmedian of {}", $case), &$x.nanmedian($axes));
        check(&format!("stored median of {}", $case), &$x.stored().median($axes));
    }};
}

macro_rules! float {
    ($x:ident, $case:ident, $axes:ident) => {{
        real!($x, $case, $axes);
        check(&format!("nansum of {}", $case), &$x.nansum($axes));
        check(&format!("nanmean of {}", $case), &$x.stored().nanmean($axes));
        check(&format!("nanmax of {}", $case), &$x.nanmax($axes));
        check(&format!("norm of {}", $case), &$x.norm(Norm::over($axes)));
        check(&format!("median of {}", $case), &$x.median($axes));
        check(&format!("stored nanmedian of {}", $case), &$x.stored().nanmedian(Nanmedian::over($axes).lower()));
        check(&format!("norm 1 of {}", $case), &$x.norm(Norm::over($axes).one()));
        check(&format!("greatest of {}", $case), &$x.norm(Norm::over($axes).infinity()));
    }};
}

types! {
    of_bool: bool, |x, case, axes| { real!(x, case, axes); }
    of_i8: i8, |x, case, axes| { real!(x, case, axes); }
    of_i16: i16, |x, case, axes| { real!(x, case, axes); }
    of_i32: i32, |x, case, axes| { real!(x, case, axes); }
    of_i64: i64, |x, case, axes| { real!(x, case, axes); }
    of_u8: u8, |x, case, axes| { real!(x, case, axes); }
    of_u16: u16, |x, case, axes| { real!(x, case, axes); }
    of_u32: u32, |x, case, axes| { real!(x, case, axes); }
    of_u64: u64, |x, case, axes| { real!(x, case, axes); }
    of_f16: half::f16, |x, case, axes| { float!(x, case, axes); }
    of_bf16: half::bf16, |x, case, axes| { float!(x, case, axes); }
    of_f32: f32, |x, case, axes| { float!(x, case, axes); }
    of_f64: f64, |x, case, axes| { float!(x, case, axes); }
    of_complex_f32: num_complex::Complex<f32>, |x, case, axes| {}
    of_complex_f64: num_complex::Complex<f64>, |x, case, axes| {}
}

/// Elementwise operations before a reduction are one function of DataFusion, even if they change the type.
#[test]
fn chains_before_a_fold() {
    for_files::<f64>(5, |case, x| {
        for axes in all_axes() {
            check(&format!("roots of {case}"), &(x.abs() + 1.0).sqrt().sum(&axes));
            check(&format!("itself, three times, of {case}"), &(&(x * x) - x).nansum(&axes));
            check(&format!("NaNs of {case}"), &x.isnan().any(&axes));
            check(&format!("greater ones of {case}"), &x.square().greater(2.0).count_nonzero(&axes));
        }
    });
    for_files::<i8>(6, |case, x| {
        // Some squares overflow, with the error of threads.
        let squares = x.square().sum(1);
        assert_eq!(squares.on(with_room(2)).collect(), squares.collect(), "squares of {case}");
        check(&format!("wide ones of {case}"), &x.cast::<f32>().exp().mean([0, 1]));
    });
}

/// Reduces more entries than fit a batch, in more groups than fit memory. The groups are written to temporary files.
#[test]
fn many_entries_in_little_memory() {
    let (folder, random) = (Folder::new("many"), &mut Random::new(21));
    let x = support::tensor::<f64>(random, [90, 50, 30], 40, 0.1);
    let path = folder.path("x/");
    write(&path, &x, &WriteOptions::default().group_entries(5000).part_entries(20_000)).unwrap();
    let lazy: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default()).unwrap();
    for axes in [Axes::all(), Axes::from(0), Axes::from([0, 1]), Axes::from(-1)] {
        check("sum of many", &lazy.stored().nansum(&axes));
        check("median of many", &lazy.stored().nanmedian(&axes));
        check("median among gaps", &lazy.nanmedian(&axes));
    }
    // 20 000 groups, whose accumulators take about 12 MB.
    let x = support::tensor::<f64>(random, [200, 100, 2], 80, 0.1);
    write(&path, &x, &WriteOptions::default()).unwrap();
    let x = scan::<f64, u32>(&path, &ReadOptions::default()).unwrap();
    let little = DataFusion::in_process().partitions(2).memory(0);
    for step in [x.stored().nansum(2), x.stored().nanmedian(2), x.nanmedian(0), x.stored().nanmedian(0)] {
        assert_bits(&step.on(little.clone()).collect().unwrap(), &step.collect().unwrap(), "in little memory");
    }
}

/// A tensor that stores every element.
fn full(shape: &[usize]) -> CooTensor<f64> {
    let element = |at: ndarray::IxDyn| 0.5 + (0..shape.len()).map(|axis| at[axis]).sum::<usize>() as f64;
    CooTensor::from_dense(&ndarray::Array::from_shape_fn(ndarray::IxDyn(shape), element), 0.0).unwrap()
}

/// Repeated operands are looked up for each entry: operands in memory, and operands that are reductions of the file.
#[test]
fn repeated_operands_are_looked_up() {
    let folder = Folder::new("beside");
    for (number, fill) in [0.0, f64::NAN].into_iter().enumerate() {
        let x = support::tensor::<f64>(&mut Random::new(number as u64 + 3), [5, 4, 3], 60, fill);
        let path = folder.path(&format!("{number}.parquet"));
        write(&path, &x, &small_groups()).unwrap();
        let x: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default()).unwrap();
        let (row, column, slab) = (full(&[3]), full(&[4, 1]), full(&[5, 1, 3]));
        let (mean, sums) = (x.nanmean(Axes::all().keep_dims()), x.stored().count_nonzero(Axes::all().keep_dims()));
        for axes in [Axes::all(), Axes::from(0), Axes::from([0, 2])] {
            // The first check of a thread also runs on workers.
            CHECKS.set(0);
            check("a row", &(&x * &row).nansum(&axes));
            check("a column", &(x.abs() / &column).nanmedian(&axes));
            check("a slab, twice", &(&(&x * &slab) / &slab).nansum(&axes));
            check("rows behind a row", &(&(&x * &row) * &x).any(&axes));
            CHECKS.set(0);
            check("the mean", &(&x - &mean).nanmax(&axes));
            check("greater than the mean", &x.greater(&mean).count_nonzero(&axes));
            check("quotients by a number", &(&x / &sums.cast::<f64>()).nanmean(&axes));
            check("a choice", &x.isnan().where_(&mean, &x.abs()).max(&axes));
            CHECKS.set(0);
            check("a view and a row", &x.stored().sub(row.lazy().stored()).nansum(&axes));
            check("a view and the mean", &x.stored().mul(mean.stored()).nanmedian(&axes));
        }
        match number {
            0 => rejection(&(&x + &row).nansum(0), "it stores elements where the source has none"),
            _ => check("a row added to NaN", &(&x + &row).nansum(0)),
        }
        let gaps = CooTensor::new([3], vec![vec![1]], vec![2.0], 1.0).unwrap();
        rejection(&(&x * &gaps).nansum(0), "does not store every element");
        let infinite = CooTensor::new([3], vec![vec![0, 1, 2]], vec![2.0, f64::INFINITY, 1.0], 0.0).unwrap();
        let step = (&x * &infinite).nansum(0);
        assert_eq!(bits_of(step.on(with_room(2)).collect()), bits_of(step.collect()));
    }
}

/// Returns the bits of a result, or its error, as text.
fn bits_of(found: lacuna::Result<CooTensor<f64>>) -> String {
    found.map_or_else(|error| error.to_string(), |found| format!("{:?}", bits(&found)))
}

/// The steps after a reduction run on threads, and read only what they need.
#[test]
fn the_rest_runs_on_threads() {
    let (folder, random) = (Folder::new("rest"), &mut Random::new(3));
    let x = support::tensor::<f64>(random, [6, 9, 4], 60, 0.5);
    let path = folder.path("x.parquet");
    write(&path, &x, &small_groups()).unwrap();
    let lazy: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default()).unwrap();
    let graph = (lazy.nanmean(0) - lazy.nansum(0)).abs().sqrt().nanmedian(1);
    // Only the reductions fit this memory.
    let tight = DataFusion::in_process().partitions(3).memory(1 << 20);
    let plan = graph.on(tight.clone()).explain().unwrap();
    assert!(!plan.contains("read into memory"), "{plan}");
    assert_bits(&graph.on(tight).collect().unwrap(), &graph.collect().unwrap(), &plan);
}

/// Each step that does not run on DataFusion has a reason.
#[test]
fn what_is_refused_has_a_reason_and_runs_if_it_fits() {
    let (folder, random) = (Folder::new("refused"), &mut Random::new(9));
    let x = support::tensor::<f64>(random, [6, 9, 4], 60, 0.5);
    let [one, two] = ["one.parquet", "two.parquet"].map(|name| folder.path(name));
    write(&one, &x, &WriteOptions::default()).unwrap();
    write(&two, &x, &WriteOptions::default()).unwrap();
    let read = |path| scan::<f64, u32>(path, &ReadOptions::default()).unwrap();
    let (x_one, x_two) = (read(&one), read(&two));
    rejection(&x_one.var(0), "it is not a reduction over entire axes or a median");
    rejection(&x_one.sum(Axes::by(0, &[0, 1, 0, 1, 1, 0])), "it is not a reduction over entire axes");
    rejection(&x_one.sum(Axes::none()), "it does not reduce an axis");
    rejection(&(&x_one + &x_two).sum(0), "it reads two files");
    rejection(&x_one.transpose().sum(0), "transpose is not elementwise on one pattern");
    rejection(&x.lazy().sum(0), "it reads a tensor in memory");
    let tight = DataFusion::in_process().memory(100);
    let error = x_one.var(0).on(tight).collect().unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 100, .. }), "{error}");
}

fn rejection<T: support::Item>(step: &Lazy<CooTensor<T>>, why: &str) {
    let plan = step.on(engine(2)).explain().unwrap();
    assert!(plan.contains(why) && !plan.contains("in 2 parts"), "{why}:\n{plan}");
    assert_bits(&step.on(with_room(2)).collect().unwrap(), &step.collect().unwrap(), why);
}

/// A file that changed after the scan is an error, and not reduced in part.
#[test]
fn a_damaged_file_is_an_error() {
    let (folder, random) = (Folder::new("damaged"), &mut Random::new(11));
    let x = support::tensor::<i32>(random, [20, 20, 20], 50, 0);
    let path = folder.path("x.parquet");
    write(&path, &x, &small_groups().compression(lacuna::io::Compression::None)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let lazy = scan::<i32, u32>(&path, &ReadOptions::default()).unwrap();
    let expected = bits(&lazy.sum(0).collect().unwrap());
    let mut rejection = 0;
    for _ in 0..60 {
        let (mut damaged, at) = (bytes.clone(), random.below(bytes.len() - 8));
        damaged[at] ^= 1 << random.below(8);
        std::fs::write(&path, damaged).unwrap();
        match lazy.sum(0).on(engine(4)).collect() {
            Ok(found) => assert_eq!(bits(&found), expected, "byte {at}"),
            Err(_) => rejection += 1,
        }
    }
    // Most bytes do not affect the result, such as page indexes and statistics.
    assert!(rejection > 10, "{rejection}");
}

/// A call from a tokio runtime does not panic.
#[test]
fn it_runs_within_a_runtime() {
    let (folder, random) = (Folder::new("runtime"), &mut Random::new(13));
    let x = support::tensor::<i32>(random, [4, 4, 4], 50, 0);
    let path = folder.path("x.parquet");
    write(&path, &x, &WriteOptions::default()).unwrap();
    let sum = scan::<i32, u32>(&path, &ReadOptions::default()).unwrap().sum(0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(async { sum.on(engine(2)).collect() }).unwrap(), x.sum(0).unwrap());
}

/// `sink` writes the result that `collect` returns.
#[test]
fn a_result_is_written() {
    let (folder, random) = (Folder::new("sink"), &mut Random::new(17));
    let x = support::tensor::<f32>(random, [7, 5, 3], 50, f32::NAN);
    let [from, to] = ["x.parquet", "y.parquet"].map(|name| folder.path(name));
    write(&from, &x, &WriteOptions::default()).unwrap();
    let sums = scan::<f32, u32>(&from, &ReadOptions::default()).unwrap().stored().nansum(1);
    sums.on(engine(2)).sink(&to, &WriteOptions::default()).unwrap();
    let back = scan::<f32, u32>(&to, &ReadOptions::default()).unwrap().collect().unwrap();
    assert_bits(&back, &sums.collect().unwrap(), "sums");
}
