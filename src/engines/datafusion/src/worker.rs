//! A worker: a server that computes stages of plans, and reads files below its roots for them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
use lacuna::lazy::outside::Spill;
use prost::Message;
use tonic::service::InterceptorLayer;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Status};

use crate::access::{Access, Channels, Shared as Connections, Token, waiting};
use crate::bin::BinOf;
use crate::codec::{Codec, PARTS};
use crate::elsewhere::{Asked, Elsewhere, VERSION};
use crate::engine::{group_bytes, runtime};
use crate::fold::Fold;
use crate::map::{Map, Shared};
use crate::roots::Roots;
use crate::spill;

/// The header by which a worker is told of the query that a plan is of, in hexadecimal digits.
pub(crate) const QUERY: &str = "lacuna-query";

/// The bytes that all headers of a request may take.
const HEADERS: u32 = 1 << 17;

/// So many parts of queries are computed at once, more or less.
const SHARES: usize = 16;

/// A connection that says nothing for so long is taken for dead.
const SILENCE: Duration = Duration::from_secs(10);

/// What a worker is started with.
#[doc(hidden)]
#[derive(Debug)]
pub struct WorkerOptions {
    pub listen: SocketAddr,
    pub roots: Vec<PathBuf>,
    pub memory: u64,
    pub token: Option<String>,
    /// Certificate and key, and the authority that signed those of all workers, as PEM.
    pub tls: Option<[Vec<u8>; 3]>,
}

/// What a worker may compute. What is none of these would read or write files, or else is nothing that we plan.
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

/// Makes the sessions of a worker.
#[derive(Clone)]
struct Sessions {
    roots: Roots,
    channels: Arc<Channels>,
    /// The bytes that all queries may take.
    memory: usize,
    /// The folder of files stays as long as the worker.
    _spill: Arc<Spill>,
}

impl Sessions {
    fn query(&self, headers: &HeaderMap) -> Result<Shared> {
        let header = headers.get(QUERY).ok_or_else(|| wrong("no query is told"))?;
        let bytes = unhex(header.as_bytes()).ok_or_else(|| wrong("a query is told in other digits"))?;
        let asked = Asked::decode(&bytes[..]).map_err(|_| wrong("bytes are no query"))?;
        let path = self.roots.find(Path::new(&asked.path));
        let path = path.ok_or_else(|| wrong(&format!("there is no {:?} below the roots of a worker", asked.path)))?;
        Ok(Shared::new(Arc::new(Elsewhere::open(&asked, &path)?)))
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
        // Whoever asks does not say how much memory a worker has.
        config.set_distributed_worker_connection_buffer_budget_bytes(waiting(self.memory, SHARES))?;
        // What each sort keeps for itself; by default a small memory has no room for it.
        let kept = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *kept = (*kept).min(self.memory / 8 / SHARES);
        let functions = [ScalarUDF::from(BinOf::new(query.clone())), ScalarUDF::from(Map::new(query.clone()))];
        builder.scalar_functions().get_or_insert_default().extend(functions.map(Arc::new));
        let fold = Arc::new(AggregateUDF::from(Fold::new(query.clone())));
        builder.aggregate_functions().get_or_insert_default().push(fold);
        let builder = builder.with_distributed_user_codec(Codec(query));
        let builder = builder.with_distributed_channel_resolver(Connections(Arc::clone(&self.channels)));
        Ok(builder.with_distributed_worker_plan_rewrite_handler(known).build())
    }
}

/// A plan of steps that are known, in no more parts than are bearable.
fn known(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
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
            return Err(format!("{}: beyond this machine a worker listens with a token and TLS only", self.listen));
        }
        let authority = self.tls.as_ref().map(|[.., authority]| tonic::transport::Certificate::from_pem(authority));
        Ok(Access { token, authority })
    }

    fn worker(&self, access: Access) -> std::result::Result<Worker, DataFusionError> {
        let roots = Roots::new(&self.roots)?;
        let memory = usize::try_from(self.memory).unwrap_or(usize::MAX);
        let (spill, disk) = spill::folder();
        let runtime = runtime(memory, disk).build()?;
        let sessions = Sessions { roots, channels: Channels::new(access, SILENCE), memory, _spill: spill };
        Ok(Worker::from_session_builder(sessions).with_runtime_env(Arc::new(runtime)).with_version(VERSION))
    }
}

/// Runs a worker until `stop` is there. `ready` is told the address.
///
/// # Errors
///
/// In words: it may not listen there, a root is no folder, a certificate is none.
#[doc(hidden)]
pub async fn serve(
    options: WorkerOptions,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> std::result::Result<(), String> {
    let access = options.check()?;
    let token = access.token.clone();
    let worker = options.worker(access).map_err(|error| error.to_string())?;
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
    let mut server = server.layer(InterceptorLayer::new(move |request: Request<()>| admitted(token.as_ref(), request)));
    let served = server.add_service(worker.into_worker_server()).serve_with_incoming_shutdown(incoming, stop).await;
    served.map_err(|error| error.to_string())
}

/// A request that shows the token, if one is asked for.
#[allow(clippy::result_large_err)] // the type is tonic's
fn admitted(token: Option<&Token>, request: Request<()>) -> std::result::Result<Request<()>, Status> {
    let given = request.metadata().get("authorization").map(|value| value.as_encoded_bytes());
    match token.is_none_or(|token| token.is(given)) {
        true => Ok(request),
        false => Err(Status::unauthenticated("the token of this worker is another one")),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Schema;
    use datafusion::physical_plan::Partitioning;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::prelude::SessionConfig;

    use super::*;

    #[test]
    fn a_plan_of_other_steps_is_refused() {
        let empty: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
        let plan = Arc::new(CoalescePartitionsExec::new(empty));
        let refused = known(WorkerPlanRewriteEvent { plan, session_config: &SessionConfig::new() });
        assert!(refused.is_err_and(|error| error.to_string().contains("does not compute EmptyExec")));
    }

    #[test]
    fn a_plan_of_too_many_parts_is_refused() -> Result<()> {
        let one: Arc<dyn ExecutionPlan> =
            Arc::new(CoalescePartitionsExec::new(Arc::new(EmptyExec::new(Arc::new(Schema::empty())))));
        let parted = |parts| RepartitionExec::try_new(Arc::clone(&one), Partitioning::RoundRobinBatch(parts));
        for (parts, said) in [(PARTS as usize, "EmptyExec"), (PARTS as usize + 1, "RepartitionExec")] {
            let plan = Arc::new(parted(parts)?);
            let refused = known(WorkerPlanRewriteEvent { plan, session_config: &SessionConfig::new() });
            assert!(refused.is_err_and(|error| error.to_string().contains(said)), "{parts}");
        }
        Ok(())
    }

    #[test]
    fn digits_are_bytes_again() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(hex(&bytes).as_bytes()), Some(bytes));
        assert_eq!([unhex(b"0"), unhex(b"0g"), unhex(b" 1"), unhex(b"+1")], [const { None }; 4]);
    }
}
