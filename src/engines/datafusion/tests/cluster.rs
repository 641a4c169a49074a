//! Folds on workers: bit for bit the answers of threads.

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

/// The step runs on the workers, and gives what threads give.
fn check<T: Item>(cluster: &Cluster, told: &str, step: &Lazy<CooTensor<T>>) {
    // What is refused does not fit: so nothing runs on threads unseen.
    let cluster = cluster.clone().memory(0);
    let plan = step.on(cluster.clone()).explain().unwrap();
    assert!(plan.contains("cluster: "), "{told} is not asked of workers:\n{plan}");
    let (found, expected) = (step.on(cluster).collect(), step.on(Threads).collect());
    assert_bits(&found.unwrap_or_else(|error| panic!("{told}: {error}")), &expected.unwrap(), told);
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

/// A file with the rows, and what is read of it.
fn written(folder: &Folder, x: &CooTensor<f64>) -> Lazy<CooTensor<f64>> {
    let path = folder.path("x/");
    write(&path, x, &small_groups()).unwrap();
    scan(&path, &ReadOptions::default()).unwrap()
}

/// An error of the engine, asked so often; its cause.
#[track_caller]
fn cause<T: std::fmt::Debug>(found: lacuna::Result<T>, often: u32) -> String {
    match found.unwrap_err() {
        Error::Engine { engine: "cluster", attempts, cause, expected: Some(_), .. } if attempts == often => cause,
        error => panic!("{error}"),
    }
}

/// All of them read: one that may not is enough for an error.
#[test]
fn workers_read_below_their_roots_only() {
    let (folder, other) = (Folder::new("cluster-roots"), Folder::new("cluster-other"));
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(4), [9, 8, 7], 30, 0.5)).nansum(0);
    for roots in [[&folder, &other], [&other, &folder]] {
        let workers = roots.map(|root| Worker::start(&root.path("")));
        for _ in 0..3 {
            let cause = cause(x.on(workers::cluster(&workers).attempts(1)).collect(), 1);
            assert!(cause.contains("below the roots of a worker"), "{cause}");
        }
    }
}

/// Workers are told the name that the file was asked for by, and see for themselves where it leads.
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
    let told = squares.on(cluster.memory(0)).collect().unwrap_err();
    assert!(matches!(told, Error::Argument { .. }) && told.to_string().contains("square"), "{told}");
}

/// What a worker is told of a query has a bound, which the engine knows.
#[test]
fn long_chains() {
    let folder = Folder::new("cluster-long");
    let x = written(&folder, &support::tensor::<f64>(&mut Random::new(11), [9, 8, 7], 30, 0.5));
    let workers = workers::workers(2, &folder.path(""));
    let chain = |steps: usize| (0..steps).fold(x.clone(), |x, _| x + 0.1).nansum(0);
    check(&workers::cluster(&workers), "1000 steps", &chain(1000));
    let plan = chain(2000).on(workers::cluster(&workers)).explain().unwrap();
    assert!(plan.contains("too long a text for workers"), "{plan}");
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
    let (start, deadline) = (Instant::now(), Duration::from_secs(4));
    let cause = cause(x.nansum(0).on(cluster.deadline(deadline)).collect(), 3);
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

/// What is read is what the graph was made of, or nothing.
#[test]
fn a_file_that_changed_is_refused() {
    let (folder, random) = (Folder::new("cluster-changed"), &mut Random::new(7));
    let tensor = support::tensor::<f64>(random, [9, 8, 7], 30, 0.5);
    let (x, workers) = (written(&folder, &tensor), workers::workers(2, &folder.path("")));
    let cluster = workers::cluster(&workers);
    let _ = written(&folder, &(&tensor * 2.0));
    for step in [x.nansum(0), x.nanmedian(0)] {
        let cause = cause(step.on(cluster.clone()).collect(), 3);
        assert!(cause.contains("has changed since"), "{cause}");
    }
    std::fs::remove_dir_all(folder.path("x")).unwrap();
    let found = x.nansum(0).on(cluster.clone()).collect().unwrap_err();
    assert!(found.to_string().contains("No such file"), "{found}");
    let _ = written(&folder, &tensor);
    check(&cluster, "it is back", &x.nansum(0));
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
        assert!(cause.contains("the token of this worker is another one"), "{cause}");
    }
    assert!(cluster.clone().token("short").unwrap_err().to_string().contains("16"));
    assert!(!format!("{:?}", cluster.token(token)).contains(token));
}

/// No other worker answers instead: somebody must set it right.
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

/// A variable that cannot be read does not stand for no token.
#[cfg(unix)]
#[test]
fn a_token_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let token = std::ffi::OsStr::from_bytes(b"correct-horse-\xff-battery");
    let mut command = workers::command(&std::env::temp_dir());
    // Without a token it does not listen there.
    let done = command.args(["--listen", "0.0.0.0:0"]).env("LACUNA_WORKER_TOKEN", token).output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && told.contains("LACUNA_WORKER_TOKEN holds is no UTF-8"), "{told}");
}

/// One who says nothing is waited for, as queries are: until a second signal.
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
    assert!(worker.ends_within(Duration::from_secs(5)), "it waits");
    assert!(std::fs::read_dir(&spare).unwrap().next().is_none(), "its folder is left");
}

/// Beyond this machine nothing goes without a token and TLS.
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
    assert!(failed(&["--listen", "0.0.0.0:0"]).contains("with a token and TLS only"));
    assert!(failed(&["--listen", "127.0.0.1:0", "--root", "/none/there"]).contains("No such file"));
    for (address, why) in [("http://192.0.2.1:1", "by https"), ("https://192.0.2.1:1", "authority")] {
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
        // It listens everywhere, and is asked here.
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

/// An authority, and the options of a worker whose certificate it signed.
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
