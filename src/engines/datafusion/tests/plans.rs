//! Every engine returns the same bits, for a corpus of plans and for random plans. The textual forms of the corpus are
//! in `tests/plans/`, and `LACUNA_WRITE_PLANS` writes them again. `LACUNA_PLANS` is the number of random plans.

#[allow(dead_code)] // other tests use the rest
mod support;
#[allow(dead_code)] // other tests use the rest
#[path = "support/workers.rs"]
mod workers;

use std::{env, fs};

use lacuna::dynamic::AnyTensor;
use lacuna::eval::Program;
use lacuna::io::{ReadOptions, scan, write};
use lacuna::lazy::{Chunks, Engine, Lazy, compile};
use lacuna::{Axes, CooTensor, Nanmedian, Norm, Result};
use lacuna_datafusion::{Cluster, DataFusion};
use support::{Folder, Random, assert_bits, small_groups};
use workers::Worker;

type X = Lazy<CooTensor<f64>>;

/// A name, and its plan.
type Plan = (&'static str, fn(&X) -> X);

const PLANS: &[Plan] = &[
    ("all", |x| x.all(0).cast()),
    ("any", |x| x.any([1, 2]).cast()),
    ("chain", |x| (x.abs() + 1.0).sqrt().nanmean([0, 1])),
    ("clamp", |x| x.clamp(-1.0, 1.0).exp().mean(2)),
    ("count", |x| x.stored().count_nonzero(-1).cast()),
    ("everything", |x| x.nansum(Axes::all())),
    ("greater", |x| x.greater(0.5).count_nonzero(1).cast()),
    ("kept", |x| x.nanmax(Axes::from(1).keep_dims())),
    ("mean", |x| x.stored().mean(0)),
    ("median", |x| x.median(2)),
    ("median_lower", |x| x.stored().nanmedian(Nanmedian::over([0, 2]).lower())),
    ("median_of_chain", |x| (x * x).nanmedian(0)),
    ("min", |x| x.nanmin([0, 1])),
    ("norm", |x| x.norm(Norm::over(2))),
    ("norm_infinity", |x| x.norm(Norm::over(0).infinity())),
    ("norm_one", |x| x.stored().norm(Norm::over([0, 1]).one())),
    ("rest_on_threads", |x| (x.nanmean(0) - x.nansum(0)).abs().sqrt().nanmedian(1)),
    ("shared", |x| (&(x * x) - x).nansum(0)),
    ("sum", |x| x.sum(0)),
];

/// A tensor, its scanned file, and the workers that read the file.
struct Bench {
    tensor: CooTensor<f64>,
    scanned: X,
    clusters: [Cluster; 2],
    // The workers and the folder are dropped with the bench, the workers first.
    _workers: Vec<Worker>,
    _folder: Folder,
}

impl Bench {
    fn new(name: &str, random: &mut Random, fill: f64) -> Bench {
        let folder = Folder::new(name);
        let tensor = support::tensor::<f64>(random, [12, 9, 5], 40, fill);
        write(folder.path("x/"), &tensor, &small_groups()).unwrap();
        let scanned = scan(folder.path("x/"), &ReadOptions::default()).unwrap();
        let workers = workers::workers(3, &folder.path(""));
        let clusters = [&workers[..1], &workers[..]].map(workers::cluster);
        Bench { tensor, scanned, clusters, _workers: workers, _folder: folder }
    }

    /// Checks that all engines return the same result.
    fn check(&self, case: &str, plan: &dyn Fn(&X) -> X) {
        let (step, expected) = (plan(&self.scanned), plan(&self.tensor.lazy()).collect());
        let same = |found: Result<CooTensor<f64>>, engine: &str| match (&found, &expected) {
            (Ok(found), Ok(expected)) => assert_bits(found, expected, &format!("{case} on {engine}")),
            (found, expected) => assert!(found.is_err() && expected.is_err(), "{case} on {engine}: {found:?}"),
        };
        same(step.collect(), "threads");
        // A median over all axes reads the entire tensor, which must fit memory.
        for memory in [1 << 14, 1 << 16, 1 << 24] {
            same(on(&step, Chunks::memory(memory)), &format!("chunks of {memory}"));
        }
        for parts in [1, 2, 8] {
            same(on_datafusion(&step, DataFusion::in_process().partitions(parts).memory(0)), &format!("{parts} parts"));
        }
        for cluster in &self.clusters {
            same(on_datafusion(&step, cluster.clone().memory(0)), &format!("{cluster:?}"));
        }
    }
}

fn on(step: &X, engine: impl Engine) -> Result<CooTensor<f64>> {
    step.on(engine).collect()
}

/// Returns the result of an engine that reads no file into memory. This ensures that no reduction of a file runs on
/// threads unnoticed.
fn on_datafusion(step: &X, engine: impl Engine + Clone) -> Result<CooTensor<f64>> {
    let plan = step.on(engine.clone()).explain().unwrap();
    assert!(!plan.contains("read into memory"), "{plan}");
    on(step, engine)
}

/// Returns the textual form of a plan, for a tensor of three axes.
fn text(plan: &dyn Fn(&X) -> X) -> String {
    compile(&plan(&Lazy::input("x", [12, 9, 5]))).unwrap().to_text().unwrap()
}

/// Parses a program, and returns its result for a tensor.
fn read_again(text: &str, x: &CooTensor<f64>) -> CooTensor<f64> {
    let program = Program::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
    let found = program.run(|_| Some(AnyTensor::from(x.with_index::<u64>().unwrap())));
    found.unwrap().remove(0).into_tensor().unwrap().into_coo().unwrap()
}

#[test]
fn a_corpus_of_plans() {
    for fill in [0.0, f64::NAN] {
        let bench = Bench::new(&format!("plans-{fill}"), &mut Random::new(31), fill);
        for (name, plan) in PLANS {
            let path = format!("{}/tests/plans/{name}.txt", env!("CARGO_MANIFEST_DIR"));
            if env::var_os("LACUNA_WRITE_PLANS").is_some() {
                fs::write(&path, text(plan)).unwrap();
            }
            let known = fs::read_to_string(&path).unwrap();
            assert_eq!(text(plan), known, "{path}");
            if let Ok(expected) = plan(&bench.tensor.lazy()).collect() {
                assert_bits(&read_again(&known, &bench.tensor), &expected, name);
            }
            bench.check(&format!("{name} of fill {fill}"), plan);
        }
    }
}

/// Returns `x` after a random elementwise operation.
fn step(random: &mut Random, x: &X) -> X {
    match random.below(10) {
        0 => x.abs(),
        1 => x + 0.1,
        2 => x * -3.0,
        3 => x.square(),
        4 => x.clamp(-2.0, 1e9),
        5 => &(x * x) - x,
        6 => x.exp(),
        7 => x.neg(),
        8 => x.cast::<f32>().cast(),
        _ => x.sqrt(),
    }
}

/// Returns a random reduction over some axes.
fn fold(random: &mut Random, x: &X) -> X {
    let axes = [Axes::all(), 0.into(), 1.into(), Axes::from(2).keep_dims(), [0, 2].into()][random.below(5)].clone();
    match random.below(9) {
        0 => x.nansum(axes),
        1 => x.stored().nanmean(axes),
        2 => x.nanmedian(axes),
        3 => x.stored().median(axes),
        4 => x.nanmax(axes),
        5 => x.norm(Norm::over(axes)),
        6 => x.any(axes).cast(),
        7 => x.isnan().count_nonzero(axes).cast(),
        _ => x.stored().nanmin(axes),
    }
}

#[test]
fn random_plans() {
    let count = env::var("LACUNA_PLANS").ok().and_then(|count| count.parse().ok()).unwrap_or(12);
    let random = &mut Random::new(u64::from(std::process::id()));
    let bench = Bench::new("plans-random", random, 0.5);
    for _ in 0..count {
        let seed = random.next();
        let plan = |x: &X| {
            let random = &mut Random::new(seed);
            let chain = (0..random.below(4)).fold(x.clone(), |x, _| step(random, &x));
            fold(random, &chain)
        };
        bench.check(&text(&plan), &plan);
    }
}
