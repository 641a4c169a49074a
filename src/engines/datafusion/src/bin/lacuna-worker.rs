//! The worker: `lacuna-worker --listen 127.0.0.1:8080 --root /data`.

use std::env::VarError;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use futures::future::{Either, select};
use lacuna_datafusion::{Place, WorkerOptions, run_worker, serve};

/// The environment variable with the token.
const TOKEN: &str = "LACUNA_WORKER_TOKEN";

/// The time that running queries have to finish after a stop signal.
const PATIENCE: Duration = Duration::from_secs(10);

/// Compute reductions of Parquet files for clients of `lacuna_datafusion::Cluster`.
///
/// If the address is reachable from other machines, the worker requires a token and TLS. The token is read from a file
/// or from the variable LACUNA_WORKER_TOKEN. All workers and their clients have the same token.
#[derive(Parser)]
#[command(name = "lacuna-worker", version, args_override_self = true)]
struct Options {
    /// Address to listen on. With port 0, the first line of output shows the port that the system chooses.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Folder below which the worker reads files. Repeat the option for several folders.
    #[arg(long, value_name = "FOLDER", required = true)]
    root: Vec<PathBuf>,

    /// Number of MiB above which groups are written to temporary files.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,

    /// File with the token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificate of this worker, in PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,

    /// Key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "authority")]
    key: Option<PathBuf>,

    /// Certificate of the authority that signed the certificates of all workers, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    authority: Option<PathBuf>,
}

impl Options {
    fn token(&self) -> Result<Option<String>, String> {
        match &self.token_file {
            Some(path) => {
                std::fs::read_to_string(path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => match std::env::var(TOKEN) {
                Ok(token) => Ok(Some(token)),
                Err(VarError::NotPresent) => Ok(None),
                Err(VarError::NotUnicode(_)) => Err(format!("{TOKEN} is not UTF-8")),
            },
        }
    }

    fn tls(&self) -> Result<Option<[Vec<u8>; 3]>, String> {
        let (Some(certificate), Some(key), Some(authority)) = (&self.certificate, &self.key, &self.authority) else {
            return Ok(None);
        };
        let read = |path: &PathBuf| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        Ok(Some([read(certificate)?, read(key)?, read(authority)?]))
    }

    fn run(self) -> Result<(), String> {
        let (token, tls) = (self.token()?, self.tls()?);
        let options = WorkerOptions {
            listen: self.listen,
            roots: self.root,
            memory: self.memory.saturating_mul(1 << 20),
            token,
            tls,
        };
        run_worker(|place| until_stopped(options, place))
    }
}

/// Serves until a stop signal. Then waits until queries have ended, a second signal arrives, or time is over.
async fn until_stopped(options: WorkerOptions, place: Place) -> Result<(), String> {
    let signals = || Signals::new().map_err(|error| error.to_string());
    let (mut stop, mut hurry) = (signals()?, signals()?);
    let ready = |address| println!("lacuna-worker listens on {address}");
    let served = serve(options, place, ready, async move { stop.next().await });
    let hurried = async move {
        hurry.next().await;
        let _ = tokio::time::timeout(PATIENCE, hurry.next()).await;
    };
    match select(pin!(served), pin!(hurried)).await {
        Either::Left((served, _)) => served,
        Either::Right(_) => Ok(()),
    }
}

/// The stop signals that arrive after construction.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 2]);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]))
    }

    async fn next(&mut self) {
        let [ended, broken] = &mut self.0;
        select(pin!(ended.recv()), pin!(broken.recv())).await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

fn main() -> ExitCode {
    match Options::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("lacuna-worker: {why}");
            ExitCode::FAILURE
        }
    }
}
