//! Reductions on workers: bitwise identical to the results of threads.

#[allow(dead_code)] // other tests use the rest
mod support;
#[allow(dead_code)] // other tests use the rest
#[path = "support/workers.rs"]
mod workers;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lacuna::io::{ReadOptions, scan, write};
use lacuna::lazy::{Lazy, Threads};
use lacuna::{CooTensor, Error};
use lacuna_datafusion::Cluster;
use support::{Folder, Item, Random, assert_bits, small_groups};
use workers::Worker;

/// Checks that the step runs on the workers, and results in the bits of threads.
fn check<T: Item>(cluster: &Cluster, case: &str, step: &Lazy<CooTensor<T>>) {
    // A rejected step does not fit this memory, so no step runs on threads unnoticed.
    let cluster = cluster.clone().memory(0);
    let plan = step.on(cluster.clone()).explain().unwrap();
    assert!(plan.contains("cluster: "), "{case} is not asked of workers:\n{plan}");
    let (found, expected) = (step.on(cluster).collect(), step.on(Threads).collect());
    assert_bits(&found.unwrap_or_else(|error| panic!("{case}: {error}")), &expected.unwrap(), case);
}

#[test]
fn two_workers_find_what_threads_find() {
    let (folder, random) = (Folder::new("cluster-two"), &mut Random::new(3));
    let x = support::tensor::<f64>(random, [40, 30, 7], 30, 0.5);
    let path = folder.path("x/");
    write(&path, &x, &small_groups()).unwrap();
    let x: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default()).unwrap();
    let workers = workers::workers(2, &folder.path(""));
    let cluster = workers::cluster(&workers);
    check(&cluster, "a fold", &x.nansum(0));
    check(&cluster, "a chain", &(x.abs() + 1.0).sqrt().nanmean([1, 2]));
    check(&cluster, "a median", &x.nanmedian(1));
    check(&cluster, "a median of stored", &x.stored().nanmedian([0, 2]));
}

/// Writes a tensor to a folder, and returns the scanned folder.
fn written(folder: &Folder, x: &CooTensor<f64>) -> Lazy<CooTensor<f64>> {
    let path = folder.path("x/");
    write(&path, x, &small_groups()).unwrap();
    scan(&path, &ReadOptions::default()).unwrap()
}

/// Returns the cause of an engine error after `often` attempts.
#[track_caller]
fn cause<T: std::fmt::Debug>(found: lacuna::Result<T>, often: u32) -> String {
    match found.unwrap_err() {
        Error::Engine { engine: "cluster", attempts, cause, expected: Some(_), .. } if attempts == often => cause,
        error => panic!("{error}"),
    }
}

/// All workers read the file. One worker that may not read the file is enough for an error.
#[test]
fn workers_read_below_their_roots_only() {
    let (folder, other) = (Folder::new("cluster-roots"), Folder::new("cluster-other"));
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(4), [9, 8, 7], 30, 0.5)).nansum(0);
    for roots in [[&folder, &other], [&other, &folder]] {
        let workers = roots.map(|root| Worker::start(&root.path("")));
        for _ in 0..3 {
            let cause = cause(x.on(workers::cluster(&workers).attempts(1)).collect(), 1);
            assert!(cause.contains("below the root folders of this worker"), "{cause}");
        }
    }
}

/// Workers receive the name of the file as it was requested, and resolve links themselves.
#[cfg(unix)]
#[test]
fn links_are_followed_by_workers() {
    let (folder, other) = (Folder::new("cluster-links"), Folder::new("cluster-links-other"));
    let tensor = support::tensor::<f64>(&mut Random::new(14), [9, 8, 7], 30, 0.5);
    let _ = written(&folder, &tensor);
    std::os::unix::fs::symlink(folder.path("x"), folder.path("current")).unwrap();
    let x: Lazy<CooTensor<f64>> = scan(folder.path("current"), &ReadOptions::default()).unwrap();
    check(&workers::cluster(&workers::workers(2, &folder.path(""))), "by a link", &x.nansum(0));
    let elsewhere = workers::workers(1, &other.path(""));
    let cause = cause(x.nansum(0).on(workers::cluster(&elsewhere).attempts(1)).collect(), 1);
    assert!(cause.contains("current"), "{cause}");
}

#[test]
fn a_step_without_a_result_is_told_as_threads_tell_it() {
    let folder = Folder::new("cluster-step");
    let x = CooTensor::<i8>::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![100, -5], 0).unwrap();
    write(folder.path("x.parquet"), &x, &small_groups()).unwrap();
    let x: Lazy<CooTensor<i8>> = scan(folder.path("x.parquet"), &ReadOptions::default()).unwrap();
    let (squares, workers) = (x.square().sum(1), workers::workers(1, &folder.path("")));
    let cluster = workers::cluster(&workers);
    assert_eq!(squares.on(cluster.clone()).collect(), squares.collect());
    let case = squares.on(cluster.memory(0)).collect().unwrap_err();
    assert!(matches!(case, Error::Argument { .. }) && case.to_string().contains("square"), "{case}");
}

/// The description of a query for a worker has a maximum length, which the engine checks.
#[test]
fn long_chains() {
    let folder = Folder::new("cluster-long");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(11), [9, 8, 7], 30, 0.5));
    let workers = workers::workers(2, &folder.path(""));
    let chain = |steps: usize| (0..steps).fold(x.clone(), |x, _| x + 0.1).nansum(0);
    check(&workers::cluster(&workers), "1000 steps", &chain(1000));
    let plan = chain(2000).on(workers::cluster(&workers)).explain().unwrap();
    assert!(plan.contains("is too long for workers"), "{plan}");
}

#[test]
fn those_that_are_left_answer() {
    let (folder, random) = (Folder::new("cluster-left"), &mut Random::new(5));
    let tensor = support::tensor::<f64>(random, [9, 8, 7], 30, 0.5);
    let (x, workers) = (written(&folder, &tensor), workers::workers(3, &folder.path("")));
    let cluster = workers::cluster(&workers).deadline(Duration::from_secs(20));
    check(&cluster, "all three", &x.nanmedian(0));
    workers[1].signal("KILL");
    check(&cluster, "one is dead", &x.nanmedian(0));
    workers[0].signal("STOP");
    check(&cluster, "another one is silent", &x.nansum(0));
    workers[2].signal("STOP");
    // Silent workers may be busy, so the engine waits for them.
    let (start, deadline) = (Instant::now(), Duration::from_secs(4));
    let cause = cause(x.nansum(0).on(cluster.deadline(deadline)).collect(), 1);
    assert!(cause.contains("within 4s"), "{cause}");
    assert!(start.elapsed() < deadline + Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(workers.iter().all(|worker| cause.contains(&worker.url)), "{cause}");
    workers[2].signal("CONT");
    check(&workers::cluster(&workers), "one is back", &x.nansum(0));
}

#[test]
fn a_deadline_is_one_for_all_that_is_asked_again() {
    let folder = Folder::new("cluster-deadline");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(6), [9, 8, 7], 30, 0.5)).nansum(0);
    let workers = workers::workers(1, &folder.path(""));
    let cause = cause(x.on(workers::cluster(&workers).deadline(Duration::from_millis(1))).collect(), 1);
    assert!(cause.contains("within 1ms"), "{cause}");
}

/// Workers read only the file from which the graph was constructed.
#[test]
fn a_file_that_changed_is_refused() {
    let (folder, random) = (Folder::new("cluster-changed"), &mut Random::new(7));
    let tensor = support::tensor::<f64>(random, [9, 8, 7], 30, 0.5);
    let (x, workers) = (written(&folder, &tensor), workers::workers(2, &folder.path("")));
    let cluster = workers::cluster(&workers);
    let _ = written(&folder, &(&tensor * 2.0));
    for step in [x.nansum(0), x.nanmedian(0)] {
        let cause = cause(step.on(cluster.clone()).collect(), 3);
        assert!(cause.contains("or has changed"), "{cause}");
    }
    std::fs::remove_dir_all(folder.path("x")).unwrap();
    let found = x.nansum(0).on(cluster.clone()).collect().unwrap_err();
    assert!(found.to_string().contains("No such file"), "{found}");
    let _ = written(&folder, &tensor);
    check(&cluster, "it is back", &x.nansum(0));
}

/// A name that leads each process to its own working folder, as if each process ran on a separate machine.
#[cfg(target_os = "linux")]
const OWN: &str = "/proc/self/cwd/x.parquet";

/// Three machines: this process, a worker with the same file, and two workers with another file.
#[cfg(target_os = "linux")]
struct Machines {
    folder: Folder,
    workers: [Worker; 3],
}

#[cfg(target_os = "linux")]
impl Machines {
    fn new() -> Self {
        let folder = Folder::new("cluster-stale");
        ["here", "same", "stale"].iter().for_each(|name| std::fs::create_dir(folder.path(name)).unwrap());
        std::env::set_current_dir(folder.path("here")).unwrap();
        let workers = ["same", "stale", "stale"].map(|name| Worker::within(&folder.path(""), &folder.path(name)));
        Machines { folder, workers }
    }

    fn file(&self, machine: &str) -> PathBuf {
        self.folder.path(machine).join("x.parquet")
    }

    /// Checks that nothing is computed if a worker has `other` instead of `x`. The error names the difference and the
    /// worker.
    fn check<T: Item + lacuna::Real<Median = f64>>(
        &self,
        what: &str,
        x: &CooTensor<impl Item>,
        other: &CooTensor<impl Item>,
    ) {
        ["here", "same"].iter().for_each(|name| write(self.file(name), x, &small_groups()).unwrap());
        write(self.file("stale"), other, &small_groups()).unwrap();
        self.check_files::<T>(what);
    }

    fn check_files<T: Item + lacuna::Real<Median = f64>>(&self, what: &str) {
        let x: Lazy<CooTensor<T>> = scan(OWN, &ReadOptions::default()).unwrap();
        let [same, stale, twin] = &self.workers;
        check(&Cluster::connect([&same.url]).unwrap(), what, &x.nanmedian(1));
        for workers in [vec![stale], vec![same, stale], vec![stale, same], vec![stale, twin]] {
            let cluster = Cluster::connect(workers.iter().map(|worker| &worker.url)).unwrap().attempts(1).memory(0);
            let median = x.nanmedian(1).on(cluster.clone()).collect().map(|_| ());
            for cause in [median, x.stored().any(0).on(cluster).collect().map(|_| ())].map(|found| cause(found, 1)) {
                let is_named = [stale, twin].iter().any(|worker| cause.contains(&worker.url));
                assert!(cause.contains(what) && is_named && !cause.contains(&same.url), "{what}: {cause}");
            }
        }
    }
}

/// Everything that a result depends on is compared, including the metadata of the file, its fill and its types.
#[cfg(target_os = "linux")]
#[test]
fn a_stale_file_of_a_worker_is_an_error() {
    let (machines, none) = (Machines::new(), f64::from_bits(f64::NAN.to_bits() | 1));
    let x = CooTensor::new([2, 5], vec![vec![0, 0, 1], vec![1, 3, 2]], vec![1.5, -2.0, 4.0], 0.0).unwrap();
    let of = |shape: [usize; 2], columns: Vec<u32>, values: Vec<f64>| {
        CooTensor::new(shape, vec![vec![0, 0, 1], columns], values, 0.0).unwrap()
    };
    for fill in [7.0, -0.0, f64::NAN] {
        machines.check::<f64>("its fill is", &x, &x.clone().with_fill(fill));
    }
    machines.check::<f64>("its description differs", &x.clone().with_fill(f64::NAN), &x.clone().with_fill(none));
    machines.check::<f64>("its shape is", &x, &of([3, 5], vec![1, 3, 2], vec![1.5, -2.0, 4.0]));
    machines.check::<f64>("its shape is", &x, &of([2, 6], vec![1, 3, 2], vec![1.5, -2.0, 4.0]));
    machines.check::<f64>("hashes", &x, &of([2, 5], vec![1, 4, 2], vec![1.5, -2.0, 4.0]));
    machines.check::<f64>("hashes", &x, &of([2, 5], vec![1, 3, 2], vec![1.5, -2.5, 4.0]));
    let fewer = CooTensor::new([2, 5], vec![vec![0, 1], vec![1, 2]], vec![1.5, 4.0], 0.0).unwrap();
    machines.check::<f64>("its number of entries is", &x, &fewer);
    let zero = of([2, 5], vec![1, 3, 2], vec![1.5, 0.0, 4.0]);
    machines.check::<f64>("hashes", &zero, &of([2, 5], vec![1, 3, 2], vec![1.5, -0.0, 4.0]));
    // Both tensors have the same bits.
    let bytes = CooTensor::<u8>::new([2, 5], vec![vec![0, 0, 1], vec![1, 3, 2]], vec![1, 200, 4], 0).unwrap();
    let signed = CooTensor::<i8>::new([2, 5], vec![vec![0, 0, 1], vec![1, 3, 2]], vec![1, -56, 4], 0).unwrap();
    machines.check::<i16>("its element type is", &bytes, &signed);
    // A later version of the format.
    ["here", "same"].iter().for_each(|name| write(machines.file(name), &x, &small_groups()).unwrap());
    let mut later = std::fs::read(machines.file("here")).unwrap();
    let said = b"\"version\":1";
    let at = later.windows(said.len()).position(|window| window == said).unwrap();
    later[at + said.len() - 1] = b'2';
    // A file without checksums: their magic bytes are overwritten.
    let marks: Vec<usize> = (0..later.len()).filter(|&at| later[at..].starts_with(b"\xfe\xff\x03\x0elacuna")).collect();
    let of_footer = (0..later.len()).rfind(|&at| later[at..].starts_with(b"lacuna"));
    marks.into_iter().map(|at| at + 4).chain(of_footer).for_each(|at| later[at] = b'L');
    std::fs::write(machines.file("stale"), later).unwrap();
    machines.check_files::<f64>("its version is not 1");
    std::env::set_current_dir("/").unwrap();
}

/// The error for a damaged value names the part that has the value.
#[test]
fn a_damaged_value_is_told_with_its_part() {
    let folder = Folder::new("cluster-damaged");
    let x = support::tensor::<f64>(&mut Random::new(16), [9, 8, 7], 30, 0.5);
    let plain = small_groups().compression(lacuna::io::Compression::None);
    write(folder.path("x/"), &x, &plain).unwrap();
    let lazy: Lazy<CooTensor<f64>> = scan(folder.path("x/"), &ReadOptions::default()).unwrap();
    let value = x.values()[50].to_le_bytes();
    let part = damage(&folder.path("x"), &value);
    let workers = workers::workers(2, &folder.path(""));
    for (count, often) in [(1, 1), (2, 1), (2, 3)] {
        let cluster = workers::cluster(&workers[..count]).attempts(often).memory(0);
        for step in [lazy.nansum(0), lazy.abs().nanmedian(1)] {
            let cause = cause(step.on(cluster.clone()).collect(), often);
            assert!(cause.contains(&part) && cause.contains("damaged"), "{cause}");
            assert!(workers[..count].iter().any(|worker| cause.contains(&worker.url)), "{cause}");
        }
    }
    let case = lazy.nansum(0).on(lacuna_datafusion::DataFusion::in_process().memory(0)).collect().unwrap_err();
    assert!(case.to_string().contains(&part) && case.to_string().contains("damaged"), "{case}");
}

/// Flips a bit of the first value with these bytes in the parts of a folder. Returns the name of the part.
fn damage(folder: &std::path::Path, value: &[u8]) -> String {
    for part in std::fs::read_dir(folder).unwrap().map(|part| part.unwrap()) {
        let mut bytes = std::fs::read(part.path()).unwrap();
        if let Some(at) = bytes.windows(value.len()).position(|window| window == value) {
            bytes[at + 1] ^= 4;
            std::fs::write(part.path(), bytes).unwrap();
            return part.file_name().into_string().unwrap();
        }
    }
    panic!("no part has the value")
}

#[test]
fn a_token_is_asked_for() {
    let folder = Folder::new("cluster-token");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(8), [9, 8, 7], 30, 0.5)).nansum(0);
    let (path, token) = (folder.path("token"), "correct-horse-battery");
    std::fs::write(&path, format!("{token}\n")).unwrap();
    let workers = [(); 2].map(|()| Worker::with(&folder.path(""), &["--token-file", path.to_str().unwrap()], "http"));
    let cluster = workers::cluster(&workers);
    check(&cluster.clone().token(token).unwrap(), "with the token", &x);
    for cluster in [cluster.clone(), cluster.clone().token("correct-horse-batterx").unwrap()] {
        let cause = cause(x.on(cluster).collect(), 1);
        assert!(cause.contains("this worker has another token"), "{cause}");
    }
    assert!(cluster.clone().token("short").unwrap_err().to_string().contains("16"));
    assert!(!format!("{:?}", cluster.token(token)).contains(token));
}

/// No other worker answers instead, because a person must correct the token.
#[test]
fn another_token_of_one_worker_is_an_error() {
    let folder = Folder::new("cluster-tokens");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(15), [9, 8, 7], 30, 0.5)).nansum(0);
    let workers = ["correct-horse-battery", "incorrect-horse-battery"].map(|token| {
        let path = folder.path(token);
        std::fs::write(&path, token).unwrap();
        Worker::with(&folder.path(""), &["--token-file", path.to_str().unwrap()], "http")
    });
    let cluster = workers::cluster(&workers).token("correct-horse-battery").unwrap();
    let cause = cause(x.on(cluster).collect(), 1);
    assert!(cause.contains(&workers[1].url) && !cause.contains(&workers[0].url), "{cause}");
}

/// Such a worker could receive queries, but other workers would reject its requests.
#[test]
fn a_worker_without_the_token_of_the_others_is_an_error() {
    let folder = Folder::new("cluster-no-token");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(18), [9, 8, 7], 30, 0.5)).nansum(0);
    let (path, token) = (folder.path("token"), "correct-horse-battery");
    std::fs::write(&path, token).unwrap();
    let with = Worker::with(&folder.path(""), &["--token-file", path.to_str().unwrap()], "http");
    let workers = [with, Worker::start(&folder.path(""))];
    let cause = cause(x.on(workers::cluster(&workers).token(token).unwrap()).collect(), 1);
    assert!(cause.contains("without a token"), "{cause}");
    assert!(cause.contains(&workers[1].url) && !cause.contains(&workers[0].url), "{cause}");
}

/// A variable that cannot be read is an error, and does not count as a missing token.
#[cfg(unix)]
#[test]
fn a_token_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let token = std::ffi::OsStr::from_bytes(b"correct-horse-\xff-battery");
    let mut command = workers::command(&std::env::temp_dir());
    // Without a token a worker does not listen on this address.
    let done = command.args(["--listen", "0.0.0.0:0"]).env("LACUNA_WORKER_TOKEN", token).output().unwrap();
    let case = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && case.contains("LACUNA_WORKER_TOKEN is not UTF-8"), "{case}");
}

/// A worker waits for a silent connection as it waits for queries, until a second signal.
#[test]
fn a_worker_ends_at_the_second_signal() {
    let folder = Folder::new("cluster-signals");
    let spare = folder.path("spare");
    std::fs::create_dir(&spare).unwrap();
    let mut worker = Worker::with_spare(&folder.path(""), &spare);
    let _open = std::net::TcpStream::connect(worker.url.trim_start_matches("http://")).unwrap();
    assert!(!worker.ends_within(Duration::from_millis(200)), "nobody asked it to");
    worker.signal("TERM");
    assert!(!worker.ends_within(Duration::from_millis(500)), "it does not wait");
    worker.signal("TERM");
    // Without the second signal, the worker waits for ten seconds.
    assert!(worker.ends_within(Duration::from_secs(9)), "it waits");
    assert!(std::fs::read_dir(&spare).unwrap().next().is_none(), "its folder is left");
}

/// Runs the commands of the README with other ports and the programs of this profile.
#[test]
fn the_commands_of_the_readme() {
    let folder = Folder::new("cluster-readme");
    let readme = include_str!("../README.md");
    let block = readme.split("```sh commands\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let programs = std::env::current_exe().unwrap();
    let programs = programs.ancestors().nth(2).unwrap();
    if !programs.join("examples/cluster").exists() {
        return eprintln!("left out: `cargo test` builds the examples, and `cargo test --test cluster` does not");
    }
    let free = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    let mut commands = block.replace("target/release", programs.to_str().unwrap());
    commands = commands.replace(":8080", &format!(":{}", free[0])).replace(":8081", &format!(":{}", free[1]));
    let (built, typed) = commands.split_once('\n').unwrap();
    assert!(built.starts_with("cargo build --release"), "{built}");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-euc", typed]).current_dir(folder.path("")).env_remove("LACUNA_WORKER_TOKEN");
    let done = shell.output().unwrap();
    let case = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && case.contains("cluster: ") && case.contains("in "), "{case}{done:?}");
}

/// Connections beyond this machine need a token and TLS.
#[test]
fn beyond_this_machine() {
    let folder = Folder::new("cluster-beyond");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(9), [9, 8, 7], 30, 0.5)).nansum(0);
    let failed = |options: &[&str]| {
        let mut command = workers::command(&folder.path(""));
        let done = command.args(options).env("LACUNA_WORKER_TOKEN", "correct-horse-battery").output().unwrap();
        assert!(!done.status.success());
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(failed(&["--listen", "0.0.0.0:0"]).contains("requires a token and TLS"));
    assert!(failed(&["--listen", "127.0.0.1:0", "--root", "/none/there"]).contains("No such file"));
    for (address, why) in [("http://192.0.2.1:1", "require https"), ("https://192.0.2.1:1", "authority")] {
        let error = x.on(Cluster::connect([address]).unwrap()).collect().unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    for address in ["", "127.0.0.1:8080", "ftp://a", "http://a/b"] {
        assert!(Cluster::connect([address]).is_err(), "{address:?}");
    }
    assert!(Cluster::connect([""; 0]).is_err());
}

#[test]
fn tls() {
    let folder = Folder::new("cluster-tls");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(10), [9, 8, 7], 30, 0.5)).nansum(0);
    let [one, other] = ["one", "other"].map(|name| signed(&folder, name));
    let workers = [&one, &one, &other].map(|(_, options)| {
        // The worker listens on all addresses. The client uses the address of this machine.
        let options = ["--listen", "0.0.0.0:0"].into_iter().chain(options.iter().map(String::as_str));
        let mut worker = Worker::with(&folder.path(""), &options.collect::<Vec<_>>(), "https");
        worker.url = worker.url.replace("0.0.0.0", "localhost");
        worker
    });
    let of = |workers| workers::cluster(workers).token("correct-horse-battery").unwrap();
    let cluster = of(&workers[..2]).deadline(Duration::from_secs(20));
    check(&cluster.clone().authority(&one.0).unwrap(), "by TLS", &x);
    for cluster in [cluster.clone().authority(&other.0).unwrap(), of(&workers).authority(&one.0).unwrap()] {
        let cause = cause(x.on(cluster).collect(), 1);
        assert!(cause.contains("certificate"), "{cause}");
    }
    assert!(x.on(cluster).collect().unwrap_err().to_string().contains("authority"));
}

/// Returns the file of an authority, and the options of a worker whose certificate the authority signed.
fn signed(folder: &Folder, name: &str) -> (PathBuf, Vec<String>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, key);
    let key = rcgen::KeyPair::generate().unwrap();
    let signed = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&key, &issuer).unwrap();
    let file = |kind: &str, text: &str| {
        let path = folder.path(&format!("{name}.{kind}"));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let path = file("authority", &certificate);
    let (pem, key) = (file("certificate", &signed.pem()), file("key", &key.serialize_pem()));
    let token = file("token", "correct-horse-battery");
    let options = [["--authority", &path], ["--certificate", &pem], ["--key", &key], ["--token-file", &token]];
    (path.clone().into(), options.concat().into_iter().map(String::from).collect())
}
