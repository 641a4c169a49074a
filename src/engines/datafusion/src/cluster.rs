//! DataFusion on other machines: workers that are asked by their addresses.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    ChannelResolver, DistributedExt, GetWorkerInfoRequest, SessionStateBuilderExt, WorkerResolver,
};
use http::{HeaderMap, HeaderValue};
use lacuna::lazy::outside::{Held, Plan, Query};
use lacuna::{Error, Result};
use prost::Message;
use tonic::transport::Certificate;
use tonic::{Code, Status};
use url::Url;

use crate::access::{Access, Channels, Shared as Connections, Token, waiting};
use crate::codec::{Codec, PARTS};
use crate::elsewhere::{Asked, STEP, VERSION};
use crate::engine::{Failure, Runs, engine, entries, session};
use crate::fold::Seen;
use crate::map::{Asks, Shared};
use crate::run::{self, Answer};
use crate::which::{Reason, Region};
use crate::worker::{QUERY, hex};

/// The bytes that what a worker is told of a query may take.
const MOST: usize = 1 << 15;

/// Workers on this machine or on others as the engine of a graph: `lacuna-worker`, started on each.
///
/// A query goes to all workers that answer. Where one of them dies meanwhile, or says nothing, it is asked again of
/// those that are left; where its answer is not made of all entries of the file, too. What then still has no answer is
/// [`Error::Engine`], at the latest when the deadline has passed; and so is a worker that has another token, or a
/// certificate that another authority signed.
///
/// Files are read by the workers, each of which must find them under the same name, with the same content, below one of
/// its roots.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use lacuna::CooTensor;
/// use lacuna::io::{ReadOptions, scan};
/// use lacuna::lazy::Lazy;
/// use lacuna_datafusion::Cluster;
///
/// let cluster = Cluster::connect(["http://127.0.0.1:8080", "http://127.0.0.1:8081"])?.deadline(Duration::from_secs(60));
/// let clicks: Lazy<CooTensor<f32>> = scan("/data/clicks/", &ReadOptions::default())?;
/// let any = clicks.any([1, 2]).on(cluster).collect()?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is computed until a graph is collected on it"]
pub struct Cluster {
    workers: Vec<Url>,
    access: Access,
    partitions: usize,
    memory: u64,
    deadline: Duration,
    attempts: u32,
}

fn refused(why: impl Into<String>) -> Error {
    Error::Argument { operation: "connect", why: why.into() }
}

impl Cluster {
    /// The workers at these addresses, as `http://127.0.0.1:8080`, or `https://…` beyond this machine. They are asked
    /// when a query runs: those that do not answer then are left out.
    ///
    /// # Errors
    ///
    /// `Argument`: there are none, or one is no address of a worker.
    pub fn connect(addresses: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let url = |address: &str| match Url::parse(address) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/" => Ok(url),
            _ => Err(refused(format!("{address:?} is no address of a worker, as http://127.0.0.1:8080"))),
        };
        let workers = addresses.into_iter().map(|address| url(address.as_ref())).collect::<Result<Vec<_>>>()?;
        if workers.is_empty() {
            return Err(refused("there is no worker"));
        }
        let (access, deadline) = (Access::default(), Duration::from_secs(600));
        Ok(Cluster { workers, access, partitions: 4, memory: 1 << 30, deadline, attempts: 3 })
    }

    /// In so many parts on each worker, if these are not more than 4096 in all: by default 4.
    pub fn partitions(self, count: usize) -> Self {
        Cluster { partitions: count.clamp(1, 1024), ..self }
    }

    /// The bytes that what workers send may take here while it waits (1 MiB for each of them at least), and that what
    /// is read for a step that no worker is asked for may take: by default 1 GiB. The groups of an answer are held
    /// beside that. What workers may take each is told where they are started.
    pub fn memory(self, bytes: u64) -> Self {
        Cluster { memory: bytes, ..self }
    }

    /// How long a fold may take with all that is asked again: by default ten minutes.
    pub fn deadline(self, deadline: Duration) -> Self {
        Cluster { deadline, ..self }
    }

    /// How often a query is asked at most: by default three times.
    pub fn attempts(self, count: u32) -> Self {
        Cluster { attempts: count.max(1), ..self }
    }

    /// The secret that the workers were started with.
    ///
    /// # Errors
    ///
    /// `Argument`: it is none.
    pub fn token(mut self, token: &str) -> Result<Self> {
        self.access.token = Some(Token::new(token).map_err(refused)?);
        Ok(self)
    }

    /// The certificate, in a file in PEM, of the authority that signed those of the workers.
    ///
    /// # Errors
    ///
    /// `Io`: the file cannot be read.
    pub fn authority(mut self, path: impl AsRef<Path>) -> Result<Self> {
        self.access.authority = Some(Certificate::from_pem(std::fs::read(path)?));
        Ok(self)
    }

    /// A worker that says nothing for so long is taken for dead.
    fn silence(&self) -> Duration {
        (self.deadline / 8).clamp(Duration::from_millis(250), Duration::from_secs(10))
    }

    /// In how many parts each of some workers works: of what goes between them there is one for each part of all.
    fn parts(&self) -> usize {
        self.partitions.min(PARTS as usize / self.workers.len()).max(1)
    }

    /// The context that a query runs in, on some workers.
    fn context(
        &self,
        query: &Arc<Query>,
        workers: Vec<Url>,
        channels: &Arc<Channels>,
    ) -> std::result::Result<SessionContext, Failure> {
        let (config, runtime) = session(query, self.parts(), self.memory)?;
        let waiting = waiting(usize::try_from(self.memory).unwrap_or(usize::MAX), workers.len());
        let builder = SessionStateBuilder::new().with_default_features().with_config(config);
        // A stage of one task would run here.
        let tasks = workers.len().max(2);
        let state = builder
            .with_runtime_env(runtime)
            .with_distributed_desired_task_count_handler(tasks)
            .with_distributed_worker_resolver(Living(workers))
            .with_distributed_channel_resolver(Connections(Arc::clone(channels)))
            .with_distributed_user_codec(Codec(Shared::new(Arc::clone(query) as Arc<dyn Asks>)))
            .with_distributed_passthrough_headers(said(query)?)?
            .with_distributed_worker_connection_buffer_budget_bytes(waiting)?
            .with_distributed_max_tasks_per_stage(tasks)?
            .with_distributed_metrics_collection(false)?
            .with_distributed_planner();
        Ok(SessionContext::new_with_state(state.build()))
    }

    /// What those workers find that answer.
    async fn attempt(&self, query: &Arc<Query>, expected: Seen) -> std::result::Result<Answer, Failure> {
        let channels = Channels::new(self.access.clone(), self.silence());
        let Workers { living, silent, refused } = self.workers(&channels).await;
        if !refused.is_empty() {
            return Err(Failure::Never(format!("a worker may not be asked ({})", refused.join(", "))));
        }
        if living.is_empty() {
            let why = "start them, or give their addresses";
            return Err(Failure::Again(format!("no worker answers ({}); {why}", silent.join(", "))));
        }
        let context = self.context(query, living, &channels)?;
        let table = entries(query, self.parts(), self.memory);
        match run::ask(&context, query, table, expected).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let failure = of_worker(error);
                // Of a connection that broke it is not told whose it was.
                let silent = self.workers(&Channels::new(self.access.clone(), self.silence())).await.silent;
                Err(match failure {
                    Failure::Again(cause) => Failure::Again(cause + &told(&silent)),
                    failure => failure,
                })
            }
        }
    }

    /// Which workers answer.
    async fn workers(&self, channels: &Arc<Channels>) -> Workers {
        let asked: Vec<_> = self
            .workers
            .iter()
            .map(|url| tokio::spawn(answers(Arc::clone(channels), url.clone(), self.silence())))
            .collect();
        let mut workers = Workers::default();
        for (url, asked) in self.workers.iter().zip(asked) {
            match asked.await.unwrap_or_else(|error| Err(Silence::None(error.to_string()))) {
                Ok(()) => workers.living.push(url.clone()),
                Err(Silence::None(why)) => workers.silent.push(format!("{url}: {why}")),
                Err(Silence::Refused(why)) => workers.refused.push(format!("{url}: {why}")),
            }
        }
        workers
    }
}

/// The workers that answer, and of the others each with its reason.
#[derive(Default)]
struct Workers {
    living: Vec<Url>,
    /// Others may answer instead.
    silent: Vec<String>,
    /// They have another token or certificate, which somebody must set right.
    refused: Vec<String>,
}

/// Why there is no answer.
enum Silence {
    None(String),
    Refused(String),
}

/// What workers are told of a query.
fn said(query: &Query) -> std::result::Result<HeaderMap, Failure> {
    let asked = Asked::of(query).map_err(Failure::Final)?;
    let said = HeaderValue::try_from(hex(&asked.encode_to_vec()));
    let said = said.map_err(|error| Failure::Again(error.to_string()))?;
    Ok(HeaderMap::from_iter([(http::HeaderName::from_static(QUERY), said)]))
}

/// Whether a worker answers soon, and is of this version.
async fn answers(channels: Arc<Channels>, url: Url, soon: Duration) -> std::result::Result<(), Silence> {
    let asked = async {
        let mut worker = Connections(channels).get_worker_client_for_url(&url).await?;
        worker.get_worker_info(GetWorkerInfoRequest {}).await
    };
    match tokio::time::timeout(soon, asked).await {
        Ok(Ok(info)) if info.version == VERSION => Ok(()),
        Ok(Ok(info)) => Err(Silence::None(format!("it is of version {:?}, not {VERSION}", info.version))),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err(Silence::None("silence".into())),
    }
}

/// The innermost reason of an error.
fn reason(error: &DataFusionError) -> Silence {
    let (mut error, mut is_refused): (&dyn std::error::Error, _) = (error, false);
    while let Some(inner) = error.source() {
        error = inner;
        let status = error.downcast_ref::<Status>();
        is_refused |= status.is_some_and(|status| status.code() == Code::Unauthenticated);
    }
    let why = error.to_string();
    // So the library for TLS begins, whose errors have no type here.
    match is_refused || why.starts_with("invalid peer certificate") {
        true => Silence::Refused(why),
        false => Silence::None(why),
    }
}

fn told(silent: &[String]) -> String {
    match silent {
        [] => String::new(),
        silent => format!("; no answer from {}", silent.join(", ")),
    }
}

/// What went wrong on a worker, or on the way: a step that has no result has none elsewhere.
fn of_worker(error: DataFusionError) -> Failure {
    match Failure::from(error) {
        Failure::Again(cause) if cause.contains(STEP) => {
            let why = cause.split_once(STEP).map_or(cause.clone(), |(_, why)| why.into());
            Failure::Final(Error::Argument { operation: "on", why })
        }
        failure => failure,
    }
}

/// The workers that answered.
struct Living(Vec<Url>);

impl WorkerResolver for Living {
    fn get_urls(&self) -> std::result::Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

impl Runs for Cluster {
    const NAME: &'static str = "cluster";

    fn memory(&self) -> u64 {
        self.memory
    }

    fn takes(&self, region: &Region) -> std::result::Result<(), Reason> {
        let asked = Asked::of(&region.query).map_err(|error| Reason(error.to_string()))?;
        match asked.encoded_len() <= MOST {
            true => Ok(()),
            false => Err(Reason("its steps are too long a text for workers".into())),
        }
    }

    fn told(&self) -> String {
        format!("on {} workers in {} parts each", self.workers.len(), self.parts())
    }

    fn patience(&self) -> (u32, Option<Instant>) {
        (self.attempts, Instant::now().checked_add(self.deadline))
    }

    fn ask(&self, query: &Arc<Query>, expected: Seen, until: Option<Instant>) -> std::result::Result<Answer, Failure> {
        for url in &self.workers {
            self.access.check(url).map_err(Failure::Never)?;
        }
        let left = until.map_or(self.deadline, |until| until.saturating_duration_since(Instant::now()));
        let work = || {
            let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let threads = threads.map_err(|error| Failure::Again(error.to_string()))?;
            let found = threads.block_on(async { tokio::time::timeout(left, self.attempt(query, expected)).await });
            // What hangs is not waited for; what does not, takes its files with it.
            threads.shutdown_timeout(Duration::from_millis(300));
            found.unwrap_or_else(|_| {
                Err(Failure::Again(format!(
                    "nothing came within {:?}; a longer deadline or more workers help",
                    self.deadline
                )))
            })
        };
        let found = std::thread::scope(|scope| scope.spawn(work).join());
        found.unwrap_or_else(|_| Err(Failure::Again("a thread panicked".into())))
    }
}

engine!(Cluster);

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers refuse a step of more parts.
    #[test]
    fn many_workers_work_in_fewer_parts() -> Result<()> {
        for (workers, parts) in [(1, 1024), (4, 1024), (5, 819), (5000, 1)] {
            let cluster = Cluster::connect(std::iter::repeat_n("http://localhost", workers))?.partitions(4000);
            assert_eq!(cluster.parts(), parts, "{workers} workers");
        }
        Ok(())
    }
}
