//! Failures while workers compute. The result is the right answer, or a clear error within the deadline, and no files
//! are left. `LACUNA_FAULTS` is the number of rounds.

#[allow(dead_code)] // other tests use the rest
mod support;
#[allow(dead_code)] // other tests use the rest
#[path = "support/workers.rs"]
mod workers;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use lacuna::io::{ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::Lazy;
use lacuna::{CooTensor, Error, Result};
use lacuna_datafusion::Cluster;
use support::{Folder, Random, assert_bits};
use workers::Worker;

const DEADLINE: Duration = Duration::from_secs(16);

/// A time limit that no expected event exceeds on any machine.
const LONG: Duration = Duration::from_secs(600);

/// The failure in a round.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Nothing,
    Killed,
    Stopped,
    Changed,
    Missing,
}

impl Wrong {
    fn draw(random: &mut Random) -> Wrong {
        [Wrong::Nothing, Wrong::Killed, Wrong::Stopped, Wrong::Changed, Wrong::Missing][random.below(5)]
    }

    fn happen(self, worker: &Worker, folder: &Folder, other: &CooTensor<f64>) {
        match self {
            Wrong::Nothing => {}
            Wrong::Killed => worker.signal("KILL"),
            Wrong::Stopped => worker.signal("STOP"),
            Wrong::Changed => write(folder.path("x/"), other, &options()).unwrap(),
            Wrong::Missing => fs::rename(folder.path("x"), folder.path("gone")).unwrap(),
        }
    }
}

fn options() -> WriteOptions {
    WriteOptions::default().group_entries(1000).part_entries(9000)
}

/// Checks that an answer is right, and that an error describes the failure, in time. Returns whether there is an
/// answer.
fn check(found: Result<CooTensor<f64>>, expected: &CooTensor<f64>, start: Instant, case: &str) -> bool {
    assert!(start.elapsed() < DEADLINE + Duration::from_secs(2), "{case}: {:?}", start.elapsed());
    match &found {
        Ok(found) => assert_bits(found, expected, case),
        Err(Error::Engine { cause, .. }) => {
            let is_clear =
                ["lacuna: ", "answer", "no answer within", "worker http"].iter().any(|said| cause.contains(said));
            assert!(is_clear, "{case}: {cause}")
        }
        Err(error) => assert!(error.to_string().contains("No such file"), "{case}: {error}"),
    }
    found.inspect_err(|error| println!("{case}: after {:?}: {error}", start.elapsed())).is_ok()
}

/// Returns whether a folder is empty of temporary files, except the locks of running workers.
fn is_empty(folder: &Path) -> bool {
    let is_none = |path: PathBuf| if path.is_dir() { is_empty(&path) } else { path.ends_with("lock") };
    fs::read_dir(folder).unwrap().all(|entry| is_none(entry.unwrap().path()))
}

/// Checks that a new worker removes the files of terminated workers, which no longer run.
fn check_next(folder: &Folder, spare: &Path, case: &str) {
    let mut next = Worker::with_spare(&folder.path(""), spare);
    let left: Vec<PathBuf> = fs::read_dir(spare).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.len() == 1 && is_empty(spare), "{case}: {left:?}");
    next.signal("TERM");
    next.wait();
    assert!(fs::read_dir(spare).unwrap().next().is_none(), "{case}: a worker that was asked to stop left files");
}

/// Runs a round: two queries at once, and a failure after some time. Returns the number of answered queries.
fn round(random: &mut Random, folder: &Folder, tensors: [&CooTensor<f64>; 2]) -> usize {
    write(folder.path("x/"), tensors[0], &options()).unwrap();
    let x: Lazy<CooTensor<f64>> = scan(folder.path("x/"), &ReadOptions::default()).unwrap();
    let steps = [(x.abs() + 1.0).nansum(0), x.stored().nanmedian(1)];
    let expected = steps.each_ref().map(|step| step.collect().unwrap());
    let spare = folder.path("spare");
    fs::create_dir_all(&spare).unwrap();
    let start = |_| Worker::with_spare(&folder.path(""), &spare);
    let workers: Vec<Worker> = (0..3).map(start).collect();
    let cluster = Cluster::connect(workers.iter().map(|worker| &worker.url)).unwrap();
    let cluster = cluster.partitions(2).memory(0).deadline(DEADLINE);
    let (wrong, after, hit) = (Wrong::draw(random), random.below(1500) as u64, random.below(3));
    let case = format!("{wrong:?} after {after} ms");
    let asked = |at: usize| {
        let start = Instant::now();
        check(steps[at].on(cluster.clone()).collect(), &expected[at], start, &case)
    };
    let answered = thread::scope(|scope| {
        let queries = [scope.spawn(|| asked(0)), scope.spawn(|| asked(1))];
        thread::sleep(Duration::from_millis(after));
        wrong.happen(&workers[hit], folder, tensors[1]);
        queries.map(|query| query.join().unwrap()).iter().filter(|&&is_answered| is_answered).count()
    });
    // The remaining workers answer again when the file exists; on a busy machine, not at once.
    let _ = fs::rename(folder.path("gone"), folder.path("x"));
    write(folder.path("x/"), tensors[0], &options()).unwrap();
    assert!((0..3).any(|_| asked(0)), "{case}");
    if !matches!(wrong, Wrong::Killed | Wrong::Stopped) {
        assert!(is_empty(&spare), "{case}: files are left behind");
    }
    drop(workers);
    check_next(folder, &spare, &case);
    println!("{case}: {answered} answers");
    answered
}

/// Returns sums of more groups than fit the memory of workers, and a folder for the files of the groups.
fn sums_of_many(folder: &Folder) -> (Lazy<CooTensor<f64>>, PathBuf) {
    let x = support::tensor::<f64>(&mut Random::new(37), [300, 200, 2], 80, 0.5);
    write(folder.path("x/"), &x, &WriteOptions::default()).unwrap();
    let x: Lazy<CooTensor<f64>> = scan(folder.path("x/"), &ReadOptions::default()).unwrap();
    let spare = folder.path("spare");
    fs::create_dir_all(&spare).unwrap();
    (x.stored().nansum(2), spare)
}

/// Waits until a folder is empty. Remaining files are a failure.
fn wait_until_empty(folder: &Path) {
    let start = Instant::now();
    while !is_empty(folder) {
        assert!(start.elapsed() < LONG, "files are left");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Groups that do not fit the memory of workers are written to files, which are removed in the end.
#[test]
fn files_of_groups_come_and_go() {
    let folder = Folder::new("faults-files");
    let (step, spare) = sums_of_many(&folder);
    let workers = [(); 2].map(|()| Worker::with_spare(&folder.path(""), &spare));
    let cluster = workers::cluster(&workers).memory(0);
    let mut have_come = false;
    let found = thread::scope(|scope| {
        let query = scope.spawn(|| step.on(cluster).collect());
        while !query.is_finished() {
            have_come |= !is_empty(&spare);
            thread::sleep(Duration::from_millis(1));
        }
        query.join().unwrap()
    });
    assert_bits(&found.unwrap(), &step.collect().unwrap(), "with files");
    assert!(have_come, "there were no files");
    wait_until_empty(&spare);
}

/// If the disk of a worker is full, the error says so, and no written file remains.
#[test]
fn a_full_disk_is_a_clear_error() {
    let folder = Folder::new("faults-disk");
    let (step, spare) = sums_of_many(&folder);
    let workers = [(); 2].map(|()| Worker::with_full_disk(&folder.path(""), &spare));
    let found = step.on(workers::cluster(&workers).memory(0).deadline(LONG)).collect();
    let Err(Error::Engine { cause, .. }) = found else { panic!("{found:?}") };
    assert!(cause.contains("File too large"), "{cause}");
    wait_until_empty(&spare);
}

/// A worker that receives a stop signal leaves no files. One worker has answered; the other receives two signals while
/// it writes.
#[test]
fn a_worker_that_is_asked_to_stop_leaves_nothing() {
    for (name, signal) in [("faults-term", "TERM"), ("faults-int", "INT")] {
        let folder = Folder::new(name);
        let (step, spare) = sums_of_many(&folder);
        let mut workers = [(); 2].map(|()| Worker::with_spare(&folder.path(""), &spare));
        let cluster = workers::cluster(&workers).memory(0);
        assert!(step.on(cluster.clone()).collect().is_ok());
        workers[0].signal(signal);
        workers[0].wait();
        assert_eq!(fs::read_dir(&spare).unwrap().count(), 1, "{signal}: its folder is left");
        thread::scope(|scope| {
            let query = scope.spawn(|| step.on(cluster.attempts(1)).collect());
            while is_empty(&spare) && !query.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            assert!(!query.is_finished(), "{signal}: there were no files");
            workers[1].signal(signal);
            workers[1].signal(signal);
            workers[1].wait();
        });
        assert_eq!(fs::read_dir(&spare).unwrap().count(), 0, "{signal}: its files are left");
    }
}

#[test]
fn the_right_answer_or_a_clear_error() {
    let rounds = env::var("LACUNA_FAULTS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let (folder, random) = (Folder::new("faults"), &mut Random::new(u64::from(std::process::id())));
    let x = support::tensor::<f64>(random, [60, 50, 20], 50, 0.5);
    let other = &x * 2.0;
    let answered: usize = (0..rounds).map(|_| round(random, &folder, [&x, &other])).sum();
    println!("{answered} of {} queries were answered", 2 * rounds);
}
