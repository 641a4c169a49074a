//! A worker: a server that computes stages of plans, and reads files below its roots for them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DistributedExt, Worker, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext,
    WorkerSessionBuilder,
};
use http::HeaderMap;
use prost::Message;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::service::InterceptorLayer;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Status};
use tower::Service;
use tower::layer::layer_fn;

use crate::access::{Access, Channels, Shared as Connections, Token, waiting};
use crate::bin::BinFunction;
use crate::codec::{Codec, PARTS};
use crate::engine::{group_bytes, runtime};
use crate::fold::Fold;
use crate::map::{Map, Shared};
use crate::remote::{QueryMessage, Remote, VERSION};
use crate::roots::Roots;
use crate::runtimes::Runtimes;
use crate::spill::Folder;

/// The header with the description of a query, in hexadecimal digits.
pub(crate) const QUERY: &str = "lacuna-query";

/// The bytes that all headers of a request may take.
const HEADERS: u32 = 1 << 17;

/// The approximate number of partitions that are computed at once.
const SHARES: usize = 16;

/// The time without any message after which a connection is considered dead.
const SILENCE: Duration = Duration::from_secs(10);

/// The time that running queries have to end when a worker stops.
const CLOSING: Duration = Duration::from_millis(500);

/// The end of the path of a request that checks whether a worker is alive.
const INFO: &str = "/GetWorkerInfo";

/// The answers of a worker to a client with another token, or to a client with a token if the worker has none.
pub(crate) const ANOTHER_TOKEN: &str = "this worker has another token";
pub(crate) const NO_TOKEN: &str =
    "this worker was started without a token; start it with the token of the other workers";

/// The options of a worker.
#[doc(hidden)]
#[derive(Debug)]
pub struct WorkerOptions {
    pub listen: SocketAddr,
    pub roots: Vec<PathBuf>,
    pub memory: u64,
    pub token: Option<String>,
    /// The certificate, the key and the authority in PEM.
    ///
    /// The authority signed the certificates of all workers.
    pub tls: Option<[Vec<u8>; 3]>,
}

/// The steps that a worker computes. Other steps could read or write files, or are never planned.
const STEPS: &[&str] = &[
    "lacuna",
    "AggregateExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "NetworkCoalesceExec",
    "NetworkShuffleExec",
    "ProjectionExec",
    "RepartitionExec",
    "SamplerExec",
    "SortExec",
    "SortPreservingMergeExec",
];

fn wrong(why: &str) -> DataFusionError {
    exec_datafusion_err!("lacuna: {why}")
}

/// Builds the sessions of a worker.
#[derive(Clone)]
struct Sessions {
    roots: Roots,
    channels: Arc<Channels>,
    /// The bytes that all queries may take.
    memory: usize,
}

impl Sessions {
    fn query(&self, headers: &HeaderMap) -> Result<Shared> {
        let header = headers.get(QUERY).ok_or_else(|| wrong("the query is missing"))?;
        let bytes = unhex(header.as_bytes()).ok_or_else(|| wrong("the query is not in hexadecimal digits"))?;
        let message = QueryMessage::decode(&bytes[..]).map_err(|_| wrong("the bytes are not a query"))?;
        let path = self.roots.find(Path::new(&message.path));
        let path = path
            .ok_or_else(|| wrong(&format!("there is no {:?} below the root folders of this worker", message.path)))?;
        Ok(Shared::new(Arc::new(Remote::open(&message, &path)?)))
    }
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(&self, context: WorkerQueryContext) -> Result<SessionState> {
        let WorkerQueryContext { mut builder, headers } = context;
        let sessions = self.clone();
        // Folders are listed and files are opened, which may take long.
        let query = tokio::task::spawn_blocking(move || sessions.query(&headers)).await;
        let query = query.map_err(|_| wrong("a thread panicked"))??;
        let config = builder.config().get_or_insert_default();
        *config =
            std::mem::take(config).with_batch_size((self.memory / SHARES / group_bytes(&*query.query)).clamp(64, 8192));
        // The client does not know how much memory a worker has.
        config.set_distributed_worker_connection_buffer_budget_bytes(waiting(self.memory, SHARES))?;
        // The memory that each sort reserves. The default may exceed a small memory limit.
        let kept = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *kept = (*kept).min(self.memory / 8 / SHARES);
        let functions = [ScalarUDF::from(BinFunction::new(query.clone())), ScalarUDF::from(Map::new(query.clone()))];
        builder.scalar_functions().get_or_insert_default().extend(functions.map(Arc::new));
        let fold = Arc::new(AggregateUDF::from(Fold::new(query.clone())));
        builder.aggregate_functions().get_or_insert_default().push(fold);
        let builder = builder.with_distributed_user_codec(Codec(query));
        let builder = builder.with_distributed_channel_resolver(Connections(Arc::clone(&self.channels)));
        Ok(builder.with_distributed_worker_plan_rewrite_handler(check_plan).build())
    }
}

/// Rejects a plan with unknown steps or too many partitions.
fn check_plan(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    event.plan.apply(|step: &Arc<dyn ExecutionPlan>| {
        let (name, parts) = (step.name(), step.properties().output_partitioning().partition_count());
        match STEPS.contains(&name) && parts <= PARTS as usize {
            true => Ok(TreeNodeRecursion::Continue),
            false => Err(wrong(&format!("a worker does not compute {name} in {parts} parts"))),
        }
    })?;
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

impl WorkerOptions {
    fn check(&self) -> std::result::Result<Access, String> {
        let token = self.token.as_deref().map(Token::new).transpose()?;
        if !self.listen.ip().is_loopback() && (token.is_none() || self.tls.is_none()) {
            return Err(format!("{}: a worker that other machines can reach requires a token and TLS", self.listen));
        }
        let authority = self.tls.as_ref().map(|[.., authority]| tonic::transport::Certificate::from_pem(authority));
        Ok(Access { token, authority })
    }

    /// Constructs the worker; must be called on an answering thread.
    fn worker(&self, access: Access, place: &Place) -> std::result::Result<Worker, DataFusionError> {
        let roots = Roots::new(&self.roots)?;
        let memory = usize::try_from(self.memory).unwrap_or(usize::MAX);
        let runtime = runtime(memory, place.folder.disk()).build()?;
        let channels = Channels::new(access, SILENCE, Handle::current());
        let sessions = Sessions { roots, channels, memory };
        Ok(Worker::from_session_builder(sessions).with_runtime_env(Arc::new(runtime)).with_version(VERSION))
    }
}

/// The threads on which a worker computes, and the folder for its temporary files.
#[doc(hidden)]
pub struct Place {
    computing: Handle,
    folder: Arc<Folder>,
}

/// Runs a worker on answering threads until `work` ends.
///
/// Then computations are abandoned, and temporary files are removed.
///
/// # Errors
///
/// A message: the error of `work`, or that threads could not be started.
#[doc(hidden)]
pub fn run_worker<W>(work: impl FnOnce(Place) -> W) -> std::result::Result<(), String>
where
    W: Future<Output = std::result::Result<(), String>>,
{
    let runtimes = Runtimes::new(None).map_err(|error| error.to_string())?;
    let folder = Arc::new(Folder::new());
    let place = Place { computing: runtimes.computing.handle().clone(), folder: Arc::clone(&folder) };
    let served = runtimes.answering.block_on(work(place));
    runtimes.close(CLOSING);
    folder.remove();
    served
}

/// Runs a worker until `stop` completes. `ready` receives the address.
///
/// # Errors
///
/// A message: the address is not available, a root is not a folder, or a certificate is invalid.
#[doc(hidden)]
pub async fn serve(
    options: WorkerOptions,
    place: Place,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> std::result::Result<(), String> {
    let access = options.check()?;
    let token = access.token.clone();
    let worker = options.worker(access, &place).map_err(|error| error.to_string())?;
    let incoming = TcpIncoming::bind(options.listen).map_err(|error| format!("{}: {error}", options.listen))?;
    let incoming = incoming.with_nodelay(Some(true));
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(SILENCE / 2))
        .http2_keepalive_timeout(Some(SILENCE / 2))
        .http2_max_header_list_size(Some(HEADERS));
    if let Some([certificate, key, _]) = &options.tls {
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        server = server.tls_config(tls).map_err(|error| error.to_string())?;
    }
    ready(incoming.local_addr().map_err(|error| error.to_string())?);
    let computing = place.computing.clone();
    let mut server = server
        .layer(InterceptorLayer::new(move |request: Request<()>| admitted(token.as_ref(), request)))
        .layer(layer_fn(move |inner| SplitService { inner, computing: computing.clone() }));
    let served = server.add_service(worker.into_worker_server()).serve_with_incoming_shutdown(incoming, stop).await;
    served.map_err(|error| error.to_string())
}

/// A service that answers health checks on answering threads, and other requests on computing threads.
#[derive(Clone)]
struct SplitService<S> {
    inner: S,
    computing: Handle,
}

impl<S> Service<http::Request<Body>> for SplitService<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<S::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let is_info = request.uri().path().ends_with(INFO);
        let answer = self.inner.call(request);
        if is_info {
            return Box::pin(answer);
        }
        // If the client disconnects, the set is dropped, which ends the task.
        let mut task = JoinSet::new();
        task.spawn_on(answer, &self.computing);
        Box::pin(async move {
            let ended = || Ok(Status::internal("a thread panicked").into_http());
            task.join_next().await.and_then(|answer| answer.ok()).unwrap_or_else(ended)
        })
    }
}

/// Accepts a request with the token of this worker. A worker without a token rejects any token: other workers would
/// reject its requests.
#[allow(clippy::result_large_err)] // the type is tonic's
fn admitted(token: Option<&Token>, request: Request<()>) -> std::result::Result<Request<()>, Status> {
    let given = request.metadata().get("authorization").map(|value| value.as_encoded_bytes());
    match (token, given) {
        (None, Some(_)) => Err(Status::unauthenticated(NO_TOKEN)),
        (Some(token), given) if !token.is(given) => Err(Status::unauthenticated(ANOTHER_TOKEN)),
        _ => Ok(request),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::thread::{self, JoinHandle};

    use datafusion::arrow::datatypes::Schema;
    use datafusion::physical_plan::Partitioning;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::prelude::SessionConfig;
    use futures::FutureExt;
    use futures::channel::oneshot::{self, Sender};
    use lacuna::CooTensor;
    use lacuna::io::{ReadOptions, WriteOptions, scan, write};
    use lacuna::lazy::Lazy;

    use super::*;
    use crate::cluster::Cluster;

    #[test]
    fn a_plan_of_other_steps_is_refused() {
        let empty: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
        let plan = Arc::new(CoalescePartitionsExec::new(empty));
        let rejection = check_plan(WorkerPlanRewriteEvent { plan, session_config: &SessionConfig::new() });
        assert!(rejection.is_err_and(|error| error.to_string().contains("does not compute EmptyExec")));
    }

    #[test]
    fn a_plan_of_too_many_parts_is_refused() -> Result<()> {
        let one: Arc<dyn ExecutionPlan> =
            Arc::new(CoalescePartitionsExec::new(Arc::new(EmptyExec::new(Arc::new(Schema::empty())))));
        let parted = |parts| RepartitionExec::try_new(Arc::clone(&one), Partitioning::RoundRobinBatch(parts));
        for (parts, said) in [(PARTS as usize, "EmptyExec"), (PARTS as usize + 1, "RepartitionExec")] {
            let plan = Arc::new(parted(parts)?);
            let rejection = check_plan(WorkerPlanRewriteEvent { plan, session_config: &SessionConfig::new() });
            assert!(rejection.is_err_and(|error| error.to_string().contains(said)), "{parts}");
        }
        Ok(())
    }

    /// A worker within this process.
    struct Serving {
        thread: JoinHandle<std::result::Result<(), String>>,
        stop: Sender<()>,
        url: String,
        computing: Handle,
    }

    impl Serving {
        fn start(root: &Path) -> Serving {
            let ((stop, stopped), (ready_sender, ready_receiver)) = (oneshot::channel(), channel());
            let (listen, roots) = (SocketAddr::from(([127, 0, 0, 1], 0)), vec![root.to_path_buf()]);
            let options = WorkerOptions { listen, roots, memory: 1 << 26, token: None, tls: None };
            let work = move |place: Place| {
                let computing = place.computing.clone();
                let ready = move |address| drop(ready_sender.send((address, computing)));
                serve(options, place, ready, stopped.map(|_| ()))
            };
            let thread = thread::spawn(|| run_worker(work));
            let (address, computing) = ready_receiver.recv().expect("a worker");
            Serving { thread, stop, url: format!("http://{address}"), computing }
        }

        /// Keeps all computing threads busy until the flag is set.
        fn compute_until(&self, is_done: &Arc<AtomicBool>) {
            for _ in 0..self.computing.metrics().num_workers() {
                let is_done = Arc::clone(is_done);
                self.computing.spawn(async move {
                    while !is_done.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
            }
        }

        fn end(self) {
            let _ = self.stop.send(());
            assert_eq!(self.thread.join().expect("its end"), Ok(()));
        }
    }

    /// Writes a tensor to a file. Returns the folder, the tensor, and the scanned file.
    fn written(name: &str) -> lacuna::Result<(PathBuf, CooTensor<f64>, Lazy<CooTensor<f64>>)> {
        let folder = std::env::temp_dir().join(format!("lacuna-datafusion-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -5.0], 0.0)?;
        write(folder.join("x.parquet"), &x, &WriteOptions::default())?;
        let lazy = scan(folder.join("x.parquet"), &ReadOptions::default())?;
        Ok((folder, x, lazy))
    }

    /// The computing threads are busy for longer than a worker may be silent, and the worker still answers.
    #[test]
    fn a_worker_that_computes_is_not_taken_for_dead() -> lacuna::Result<()> {
        let (folder, x, lazy) = written("busy")?;
        let (workers, is_done) = ([(); 2].map(|()| Serving::start(&folder)), Arc::new(AtomicBool::new(false)));
        let cluster = Cluster::connect(workers.iter().map(|worker| &worker.url))?;
        let cluster = cluster.deadline(Duration::from_secs(16)).attempts(1).memory(0);
        workers.iter().for_each(|worker| worker.compute_until(&is_done));
        let found = thread::scope(|scope| {
            let query = scope.spawn(|| lazy.sum(1).on(cluster).collect());
            // A worker may be silent for two seconds.
            thread::sleep(Duration::from_secs(5));
            let is_waiting = !query.is_finished();
            is_done.store(true, Ordering::Relaxed);
            query.join().map(|found| (is_waiting, found))
        });
        assert_eq!(found.expect("an answer"), (true, Ok(x.sum(1)?)));
        workers.into_iter().for_each(Serving::end);
        Ok(std::fs::remove_dir_all(&folder)?)
    }

    /// One worker does not answer, and another computes until the deadline: only the first is named.
    #[test]
    fn at_the_deadline_it_is_told_who_did_not_answer() -> lacuna::Result<()> {
        let (folder, _, lazy) = written("late")?;
        let (worker, is_done) = (Serving::start(&folder), Arc::new(AtomicBool::new(false)));
        // The listener accepts connections, but never answers.
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let silent = format!("http://{}", listener.local_addr()?);
        let cluster = Cluster::connect([&silent, &worker.url])?.deadline(Duration::from_secs(4)).memory(0);
        worker.compute_until(&is_done);
        let found = lazy.sum(1).on(cluster).collect();
        is_done.store(true, Ordering::Relaxed);
        let Err(lacuna::Error::Engine { attempts: 1, cause, .. }) = found else { panic!("{found:?}") };
        assert!(cause.contains("no answer within 4s") && cause.contains(&silent), "{cause}");
        assert!(!cause.contains(&worker.url), "{cause}");
        worker.end();
        Ok(std::fs::remove_dir_all(&folder)?)
    }

    #[test]
    fn digits_are_bytes_again() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(hex(&bytes).as_bytes()), Some(bytes));
        assert_eq!([unhex(b"0"), unhex(b"0g"), unhex(b" 1"), unhex(b"+1")], [const { None }; 4]);
    }
}
