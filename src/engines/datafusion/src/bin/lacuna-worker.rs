//! The worker: `lacuna-worker --listen 127.0.0.1:8080 --root /data`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use lacuna_datafusion::{WorkerOptions, serve};

/// The variable with the token.
const TOKEN: &str = "LACUNA_WORKER_TOKEN";

/// Computes folds of Parquet files for programs that ask for them by `lacuna_datafusion::Cluster`.
///
/// Beyond the loopback addresses it listens with a token and TLS only. The token is read from a file or from the
/// variable LACUNA_WORKER_TOKEN, and is the same for all workers and for who asks them.
#[derive(Parser)]
#[command(name = "lacuna-worker", version, args_override_self = true)]
struct Options {
    /// The address; with port 0 the system chooses the port, which the first line of the output tells.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// A folder below which files may be read; may be given several times.
    #[arg(long, value_name = "FOLDER", required = true)]
    root: Vec<PathBuf>,

    /// The MiB that groups may take before they are written to temporary files.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,

    /// A file with the token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// The certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,

    /// Its key, in PEM.
    #[arg(long, value_name = "FILE", requires = "authority")]
    key: Option<PathBuf>,

    /// The certificate of the authority that signed those of all workers, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    authority: Option<PathBuf>,
}

impl Options {
    fn token(&self) -> Result<Option<String>, String> {
        match &self.token_file {
            Some(path) => {
                std::fs::read_to_string(path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => Ok(std::env::var(TOKEN).ok()),
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
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let ready = |address| println!("lacuna-worker listens on {address}");
        threads.map_err(|error| error.to_string())?.block_on(async {
            let stop = asked_to_stop().map_err(|error| error.to_string())?;
            serve(options, ready, stop).await
        })
    }
}

/// What is ready once somebody asks this program to stop, from now on: then it takes its files with it.
#[cfg(unix)]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    use std::task::{Context, Poll};
    use tokio::signal::unix::{SignalKind, signal};
    let (mut ended, mut broken) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let either = move |context: &mut Context<'_>| match (ended.poll_recv(context), broken.poll_recv(context)) {
        (Poll::Pending, Poll::Pending) => Poll::Pending,
        _ => Poll::Ready(()),
    };
    Ok(std::future::poll_fn(either))
}

#[cfg(not(unix))]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
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
