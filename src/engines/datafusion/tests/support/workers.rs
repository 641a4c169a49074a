//! Workers as processes of this machine, which end with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lacuna_datafusion::Cluster;

/// A worker process.
pub struct Worker {
    process: Child,
    pub url: String,
}

impl Worker {
    /// Starts a worker that reads below a folder.
    pub fn start(root: &Path) -> Worker {
        Worker::with(root, &[], "http")
    }

    /// Starts a worker with the given options.
    pub fn with(root: &Path, options: &[&str], scheme: &str) -> Worker {
        Worker::of(command(root).args(options), scheme)
    }

    /// Starts a worker that reads below `root`, and has the working folder `folder`.
    pub fn within(root: &Path, folder: &Path) -> Worker {
        Worker::of(command(root).current_dir(folder), "http")
    }

    /// Starts a worker with little memory, which writes temporary files to `folder`.
    pub fn with_spare(root: &Path, folder: &Path) -> Worker {
        Worker::of(command(root).args(["--memory", "16"]).env("TMPDIR", folder), "http")
    }

    /// Starts such a worker, whose files may have at most a kilobyte. Longer writes fail, as on a full disk.
    pub fn with_full_disk(root: &Path, folder: &Path) -> Worker {
        let worker = command(root);
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]).arg(worker.get_program());
        shell.args(worker.get_args()).args(["--memory", "16"]).env("TMPDIR", folder);
        Worker::of(shell.env_remove("LACUNA_WORKER_TOKEN"), "http")
    }

    fn of(command: &mut Command, scheme: &str) -> Worker {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap();
        Worker { url: format!("{scheme}://{address}"), process }
    }

    /// Sends a signal, such as `KILL` or `STOP`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.process.id().to_string()).status().unwrap();
        assert!(sent.success(), "kill -{name}");
    }

    /// Waits until the process has ended.
    pub fn wait(&mut self) {
        let _ = self.process.wait();
    }

    /// Returns whether the process ends within the time `timeout`.
    pub fn ends_within(&mut self, timeout: Duration) -> bool {
        let start = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            if start.elapsed() > timeout {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the command of a worker, which listens on a port that the system chooses.
pub fn command(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lacuna-worker"));
    command.args(["--listen", "127.0.0.1:0", "--root"]).arg(root).env_remove("LACUNA_WORKER_TOKEN");
    command
}

/// Starts `count` workers.
pub fn workers(count: usize, root: &Path) -> Vec<Worker> {
    (0..count).map(|_| Worker::start(root)).collect()
}

pub fn cluster(workers: &[Worker]) -> Cluster {
    Cluster::connect(workers.iter().map(|worker| &worker.url)).unwrap().partitions(2)
}
