//! DataFusion on other machines: workers at given addresses.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    ChannelResolver, DistributedExt, GetWorkerInfoRequest, SessionStateBuilderExt, WorkerResolver,
};
use futures::future::{Either, select};
use http::{HeaderMap, HeaderValue};
use lacuna::lazy::engine_api::{ErasedValue, Plan, Query};
use lacuna::{Error, Result};
use prost::Message;
use tokio::runtime::Handle;
use tonic::transport::Certificate;
use tonic::{Code, Status};
use url::Url;

use crate::access::{Access, Channels, Shared as Connections, Token, waiting};
use crate::codec::{Codec, PARTS};
use crate::engine::{Failure, RetryLimits, Runner, engine, entries, session};
use crate::fold::Seen;
use crate::map::{PlanQuery, Shared};
use crate::region::Reason;
use crate::remote::{QueryMessage, STEP, VERSION};
use crate::run::{self, Answer};
use crate::runtimes::Runtimes;
use crate::spill::Folder;
use crate::worker::{ANOTHER_TOKEN, NO_TOKEN, QUERY, hex};

/// The bytes that the description of a query for workers may take.
const MAX_DESCRIPTION: usize = 1 << 15;

/// The bytes that repeated operands may take, which are sent to workers with the plan.
const MAX_OPERAND_BYTES: usize = 1 << 20;

/// The engine that computes graphs on workers, on this machine or on other machines.
///
/// Each worker is the program `lacuna-worker`.
///
/// A query is sent to all workers that answer. If a worker dies or stops answering, the query is sent again to the
/// remaining workers, after a pause that doubles each time. The query is also sent again if an answer does not cover
/// all entries of the file. While a worker computes, the worker continues to answer, so a long computation does not
/// count as a failure.
///
/// If all attempts fail, or if the deadline passes, the query returns [`Error::Engine`]. The error names the workers
/// that did not answer, and the cause of each attempt. If a worker has another token, no token, or a certificate of
/// another authority, the query returns the error without another attempt.
///
/// The workers read the files. Each worker must have a file of the same name and content below one of the folders of
/// its option `--root`.
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
/// let cluster = Cluster::connect(["http://127.0.0.1:8080", "http://127.0.0.1:8081"])?;
/// let cluster = cluster.deadline(Duration::from_secs(60));
/// let clicks: Lazy<CooTensor<f64>> = scan("clicks.parquet", &ReadOptions::default())?;
/// let any = clicks.any(1).on(cluster).collect()?;
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

fn rejected(why: impl Into<String>) -> Error {
    Error::Argument { operation: "connect", why: why.into() }
}

impl Cluster {
    /// Returns a cluster of the workers at the given addresses.
    ///
    /// An address is `http://127.0.0.1:8080`, for example. Workers on other machines need `https://…`. This function
    /// does not contact the workers. A query skips the workers that do not answer when the query starts.
    ///
    /// # Errors
    ///
    /// `Argument`: the list of addresses is empty, or an address is malformed.
    pub fn connect(addresses: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let url = |address: &str| match Url::parse(address) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/" => Ok(url),
            _ => Err(rejected(format!("{address:?} is not the address of a worker, such as http://127.0.0.1:8080"))),
        };
        let workers = addresses.into_iter().map(|address| url(address.as_ref())).collect::<Result<Vec<_>>>()?;
        if workers.is_empty() {
            return Err(rejected("there is no worker"));
        }
        let (access, deadline) = (Access::default(), Duration::from_secs(600));
        Ok(Cluster { workers, access, partitions: 4, memory: 1 << 30, deadline, attempts: 3 })
    }

    /// Sets the number of parts per worker, 4 by default.
    ///
    /// A worker runs at least one part. The number of parts is at most 1024 per worker, and at most 4096 for all
    /// workers.
    pub fn partitions(self, count: usize) -> Self {
        Cluster { partitions: count.clamp(1, 1024), ..self }
    }

    /// Sets the memory for data from workers that waits in this process.
    ///
    /// The default is 1 GiB.
    ///
    /// The minimum is 1 MiB per worker. If a step outside the workers needs a file in memory, the limit also applies to
    /// this file. The groups of an answer take additional memory. The option `--memory` of `lacuna-worker` sets the
    /// memory of a worker.
    pub fn memory(self, bytes: u64) -> Self {
        Cluster { memory: bytes, ..self }
    }

    /// Sets the time limit of a query with all its attempts, ten minutes by default.
    pub fn deadline(self, deadline: Duration) -> Self {
        Cluster { deadline, ..self }
    }

    /// Sets the largest number of attempts of a query, three by default.
    pub fn attempts(self, count: u32) -> Self {
        Cluster { attempts: count.max(1), ..self }
    }

    /// Sets the token with which the workers were started.
    ///
    /// # Errors
    ///
    /// `Argument`: the string is not a valid token.
    pub fn token(mut self, token: &str) -> Result<Self> {
        self.access.token = Some(Token::new(token).map_err(rejected)?);
        Ok(self)
    }

    /// Sets the authority that signed the certificates of the workers.
    ///
    /// `path` is a file with the certificate of the authority in the format PEM.
    ///
    /// # Errors
    ///
    /// `Io`: the file cannot be read.
    pub fn authority(mut self, path: impl AsRef<Path>) -> Result<Self> {
        self.access.authority = Some(Certificate::from_pem(std::fs::read(path)?));
        Ok(self)
    }

    /// Returns the time without any message after which a worker is considered dead. The answering threads of a worker
    /// never compute.
    fn silence(&self) -> Duration {
        (self.deadline / 8).clamp(Duration::from_millis(500), Duration::from_secs(10))
    }

    /// Returns the number of parts per worker. A shuffle has one partition per part of all workers, so the total is
    /// limited.
    fn parts(&self) -> usize {
        self.partitions.min(PARTS as usize / self.workers.len()).max(1)
    }

    /// Returns the context of a query on the given workers.
    fn context(
        &self,
        query: &Arc<Query>,
        workers: Vec<Url>,
        channels: &Arc<Channels>,
        folder: &Folder,
    ) -> std::result::Result<SessionContext, Failure> {
        let (config, runtime) = session(query, self.parts(), self.memory, folder)?;
        let waiting = waiting(usize::try_from(self.memory).unwrap_or(usize::MAX), workers.len());
        let builder = SessionStateBuilder::new().with_default_features().with_config(config);
        // A stage of one task would run in this process.
        let tasks = workers.len().max(2);
        let state = builder
            .with_runtime_env(runtime)
            .with_distributed_desired_task_count_handler(tasks)
            .with_distributed_worker_resolver(LiveWorkers(workers))
            .with_distributed_channel_resolver(Connections(Arc::clone(channels)))
            .with_distributed_user_codec(Codec(Shared::new(Arc::clone(query) as Arc<dyn PlanQuery>)))
            .with_distributed_passthrough_headers(query_headers(query)?)?
            .with_distributed_worker_connection_buffer_budget_bytes(waiting)?
            .with_distributed_max_tasks_per_stage(tasks)?
            .with_distributed_metrics_collection(false)?
            .with_distributed_planner();
        Ok(SessionContext::new_with_state(state.build()))
    }

    /// Runs an attempt until the deadline. The attempt runs on computing threads, so that a busy thread cannot delay
    /// the deadline.
    async fn within(&self, asking: Attempt, until: Option<Instant>, computing: &Handle) -> Found {
        let late = self.late(asking.channels.anew(), until);
        let cluster = self.clone();
        let attempt = computing.spawn(async move { cluster.attempt(&asking).await });
        match select(attempt, pin!(late)).await {
            Either::Left((found, _)) => found.unwrap_or_else(|error| Err(Failure::Again(error.to_string()))),
            Either::Right((silent, attempt)) => {
                attempt.abort();
                let within = self.deadline;
                let why = format!("no answer within {within:?}; set a longer deadline or start more workers");
                Err(Failure::Again(why + &silence_note(&silent)))
            }
        }
    }

    /// Waits for the deadline. Returns the workers that did not answer shortly before the deadline.
    async fn late(&self, channels: Arc<Channels>, until: Option<Instant>) -> Vec<String> {
        let Some(until) = until else { return std::future::pending().await };
        let left = || until.saturating_duration_since(Instant::now());
        tokio::time::sleep(left().saturating_sub(self.silence())).await;
        let workers = self.workers(&channels, left()).await;
        tokio::time::sleep(left()).await;
        workers.silent
    }

    /// Runs the query on the workers that answer.
    async fn attempt(&self, asking: &Attempt) -> Found {
        let Attempt { query, expected, channels, folder } = asking;
        let living = self.living(channels).await?;
        let context = self.context(query, living, channels, folder)?;
        let table = entries(query, self.parts(), self.memory);
        match run::run_query(&context, query, table, *expected).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(match of_worker(error) {
                Failure::Again(cause) => {
                    let silent = self.workers(&channels.anew(), self.silence()).await.silent;
                    Failure::Again(cause + &silence_note(&silent))
                }
                failure => failure,
            }),
        }
    }

    /// Returns the workers that answer soon. If none answers, but a busy worker still may, the check is repeated.
    async fn living(&self, channels: &Arc<Channels>) -> std::result::Result<Vec<Url>, Failure> {
        loop {
            let workers = self.workers(channels, self.silence()).await;
            if !workers.rejected.is_empty() {
                let rejected = workers.rejected.join(", ");
                return Err(Failure::Never(format!("a worker cannot be used ({rejected})")));
            }
            match workers.living.is_empty() {
                false => return Ok(workers.living),
                true if workers.are_late => tokio::time::sleep(Duration::from_millis(50)).await,
                true => {
                    let why = "start workers, or pass their addresses";
                    return Err(Failure::Again(format!("no worker answers ({}); {why}", workers.silent.join(", "))));
                }
            }
        }
    }

    /// Checks which workers answer within the time `timeout`.
    async fn workers(&self, channels: &Arc<Channels>, timeout: Duration) -> Workers {
        let check_worker = |url: &Url| channels.answering().spawn(answers(Arc::clone(channels), url.clone(), timeout));
        let check: Vec<_> = self.workers.iter().map(check_worker).collect();
        let mut workers = Workers::default();
        for (url, check) in self.workers.iter().zip(check) {
            match check.await.unwrap_or_else(|error| Err(NoAnswer::None(error.to_string()))) {
                Ok(()) => workers.living.push(url.clone()),
                Err(NoAnswer::Late) => {
                    workers.are_late = true;
                    workers.silent.push(format!("{url}: no answer"));
                }
                Err(NoAnswer::None(why)) => workers.silent.push(format!("{url}: {why}")),
                Err(NoAnswer::Rejected(why)) => workers.rejected.push(format!("{url}: {why}")),
            }
        }
        workers
    }
}

/// The workers that answer, and the reasons of the workers that do not.
#[derive(Default)]
struct Workers {
    living: Vec<Url>,
    /// Workers without an answer, with reasons: other workers may answer instead.
    silent: Vec<String>,
    /// True if a silent worker sent nothing at all.
    are_late: bool,
    /// Workers with another token or certificate, which a person must correct.
    rejected: Vec<String>,
}

/// The outcome of an attempt.
type Found = std::result::Result<Answer, Failure>;

/// The query of an attempt, with its connections and its folder.
struct Attempt {
    query: Arc<Query>,
    expected: Seen,
    channels: Arc<Channels>,
    folder: Arc<Folder>,
}

/// The reason for a missing answer.
enum NoAnswer {
    /// No answer has arrived yet.
    Late,
    None(String),
    Rejected(String),
}

/// Returns the headers that describe a query to workers.
fn query_headers(query: &Query) -> std::result::Result<HeaderMap, Failure> {
    let message = QueryMessage::of(query).map_err(Failure::Final)?;
    let value = HeaderValue::try_from(hex(&message.encode_to_vec()));
    let value = value.map_err(|error| Failure::Again(error.to_string()))?;
    Ok(HeaderMap::from_iter([(http::HeaderName::from_static(QUERY), value)]))
}

/// Checks that a worker answers within the time `timeout`, and has the same version.
async fn answers(channels: Arc<Channels>, url: Url, timeout: Duration) -> std::result::Result<(), NoAnswer> {
    let request = async {
        let mut worker = Connections(channels).get_worker_client_for_url(&url).await?;
        worker.get_worker_info(GetWorkerInfoRequest {}).await
    };
    match tokio::time::timeout(timeout, request).await {
        Ok(Ok(info)) if info.version == VERSION => Ok(()),
        Ok(Ok(info)) => Err(NoAnswer::None(format!("its version is {:?}, not {VERSION}", info.version))),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err(NoAnswer::Late),
    }
}

/// Returns the innermost cause of an error.
fn reason(error: &DataFusionError) -> NoAnswer {
    let (mut error, mut is_rejected): (&dyn std::error::Error, _) = (error, false);
    while let Some(inner) = error.source() {
        error = inner;
        let status = error.downcast_ref::<Status>();
        is_rejected |= status.is_some_and(|status| status.code() == Code::Unauthenticated);
    }
    let why = error.to_string();
    let is_late = ["timed out", "deadline has elapsed"].iter().any(|late| why.contains(late));
    match is_rejected || is_rejection(&why) {
        true => NoAnswer::Rejected(why),
        false if is_late => NoAnswer::Late,
        false => NoAnswer::None(why),
    }
}

/// Returns whether a worker has another token, or a certificate of an unknown authority. Errors of the TLS library are
/// not typed here, and errors of workers arrive as text.
fn is_rejection(why: &str) -> bool {
    ["invalid peer certificate", ANOTHER_TOKEN, NO_TOKEN].iter().any(|rejection| why.contains(rejection))
}

fn silence_note(silent: &[String]) -> String {
    match silent {
        [] => String::new(),
        silent => format!("; no answer from {}", silent.join(", ")),
    }
}

/// Classifies the error of a worker or a connection. A step that fails also fails on other workers, and rejected
/// credentials stay rejected.
fn of_worker(error: DataFusionError) -> Failure {
    match Failure::from(error) {
        Failure::Again(cause) if is_rejection(&cause) => Failure::Never(cause),
        Failure::Again(cause) if cause.contains(STEP) => {
            let why = cause.split_once(STEP).map_or(cause.clone(), |(_, why)| why.into());
            Failure::Final(Error::Argument { operation: "on", why })
        }
        failure => failure,
    }
}

/// The workers that answered.
struct LiveWorkers(Vec<Url>);

impl WorkerResolver for LiveWorkers {
    fn get_urls(&self) -> std::result::Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

impl Runner for Cluster {
    const NAME: &'static str = "cluster";

    fn memory(&self) -> u64 {
        self.memory
    }

    fn takes(&self, query: &Query) -> std::result::Result<(), Reason> {
        let message = QueryMessage::of(query).map_err(|error| Reason(error.to_string()))?;
        if query.sides().iter().map(|side| side.bytes().len()).sum::<usize>() > MAX_OPERAND_BYTES {
            return Err(Reason(format!("its operands in memory take more than {MAX_OPERAND_BYTES} bytes")));
        }
        match message.encoded_len() <= MAX_DESCRIPTION {
            true => Ok(()),
            false => Err(Reason("the textual form of its steps is too long for workers".into())),
        }
    }

    fn description(&self) -> String {
        format!("on {} workers in {} parts each", self.workers.len(), self.parts())
    }

    fn retry_limits(&self) -> RetryLimits {
        let pause = (self.deadline / 64).clamp(Duration::from_millis(50), Duration::from_secs(1));
        RetryLimits { attempts: self.attempts, until: Instant::now().checked_add(self.deadline), pause }
    }

    fn run_query(&self, query: &Arc<Query>, expected: Seen, until: Option<Instant>) -> Found {
        for url in &self.workers {
            self.access.check(url).map_err(Failure::Never)?;
        }
        let work = || {
            let runtimes = Runtimes::new(Some(2)).map_err(|error| Failure::Again(error.to_string()))?;
            let channels = Channels::new(self.access.clone(), self.silence(), runtimes.answering.handle().clone());
            let folder = Arc::new(Folder::new());
            let asking = Attempt { query: Arc::clone(query), expected, channels, folder: Arc::clone(&folder) };
            let found = runtimes.answering.block_on(self.within(asking, until, runtimes.computing.handle()));
            // Hanging connections are abandoned after this time.
            runtimes.close(Duration::from_millis(300));
            folder.remove();
            found
        };
        let found = std::thread::scope(|scope| scope.spawn(work).join());
        found.unwrap_or_else(|_| Err(Failure::Again("a thread panicked".into())))
    }
}

engine!(Cluster);

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers reject a step with more than 4096 parts.
    #[test]
    fn many_workers_work_in_fewer_parts() -> Result<()> {
        for (workers, parts) in [(1, 1024), (4, 1024), (5, 819), (5000, 1)] {
            let cluster = Cluster::connect(std::iter::repeat_n("http://localhost", workers))?.partitions(4000);
            assert_eq!(cluster.parts(), parts, "{workers} workers");
        }
        Ok(())
    }
}
