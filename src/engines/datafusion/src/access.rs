//! Access to workers: the shared token, and TLS connections.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use tokio::runtime::Handle;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tower::ServiceExt;
use url::{Host, Url};

/// The minimum length of a token: shorter tokens could be guessed.
const SHORTEST: usize = 16;

/// A secret that workers and their clients share.
#[derive(Clone)]
pub(crate) struct Token(HeaderValue);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Parses a token; blanks at the ends of the text are ignored.
    pub(crate) fn new(text: &str) -> std::result::Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "a token must have at least {SHORTEST} ASCII letters, digits or punctuation characters, and no spaces"
            ));
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        Ok(Token(value))
    }

    /// Returns whether a given token is this token. The time does not depend on how many bytes match.
    pub(crate) fn is(&self, given: Option<&[u8]>) -> bool {
        let (own, given) = (self.0.as_bytes(), given.unwrap_or_default());
        own.len() == given.len() && own.iter().zip(given).fold(0, |unlike, (one, other)| unlike | (one ^ other)) == 0
    }
}

/// The token and the certificate authority for connections to workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    pub(crate) token: Option<Token>,
    /// The authority that signed the certificates of workers.
    pub(crate) authority: Option<Certificate>,
}

impl Access {
    /// Rejects an address outside this machine without token and TLS.
    pub(crate) fn check(&self, url: &Url) -> std::result::Result<(), String> {
        match url.scheme() {
            "https" if self.authority.is_none() => Err(format!("{url}: https requires the certificate authority")),
            "http" if !is_loopback(url) => Err(format!("{url}: workers on other machines require https")),
            "https" if !is_loopback(url) && self.token.is_none() => Err(format!("{url}: a token is missing")),
            "http" | "https" => Ok(()),
            _ => Err(format!("{url}: addresses must begin with http:// or https://")),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Returns the receive buffer per connection in bytes. All buffers together take a quarter of the memory, but each has
/// 1 MiB to 64 MiB.
pub(crate) fn waiting(memory: usize, connections: usize) -> usize {
    (memory / 4 / connections.max(1)).clamp(1 << 20, 64 << 20)
}

/// Connections to workers, one per worker.
pub(crate) struct Channels {
    access: Access,
    /// The time without any message after which a worker is considered dead.
    silence: Duration,
    /// The runtime of the connections, whose threads do not compute.
    answering: Handle,
    open: Mutex<Vec<(Url, BoxCloneSyncChannel)>>,
}

impl Channels {
    pub(crate) fn new(access: Access, silence: Duration, answering: Handle) -> Arc<Self> {
        Arc::new(Channels { access, silence, answering, open: Mutex::new(Vec::new()) })
    }

    /// Returns new connections to the same workers.
    pub(crate) fn anew(&self) -> Arc<Self> {
        Channels::new(self.access.clone(), self.silence, self.answering.clone())
    }

    /// Returns the runtime of the connections.
    pub(crate) fn answering(&self) -> &Handle {
        &self.answering
    }

    /// Returns the connection to a worker, and opens a new connection on first use.
    fn channel(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, channel)) = open.iter().find(|(known, _)| known == url) {
            return Ok(channel.clone());
        }
        let channel = self.connect(url)?;
        open.push((url.clone(), channel.clone()));
        Ok(channel)
    }

    fn connect(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        self.access.check(url).map_err(DataFusionError::Execution)?;
        let external = |error: tonic::transport::Error| DataFusionError::External(Box::new(error));
        let mut endpoint = Endpoint::from_shared(url.to_string()).map_err(external)?;
        if let ("https", Some(authority)) = (url.scheme(), &self.access.authority) {
            let tls = ClientTlsConfig::new().ca_certificate(authority.clone());
            endpoint = endpoint.tls_config(tls).map_err(external)?;
        }
        let endpoint = endpoint.connect_timeout(self.silence).tcp_nodelay(true).keep_alive_while_idle(true);
        // The worker is pinged after a quarter of the time, and has three quarters to answer.
        let quarter = self.silence / 4;
        let endpoint = endpoint.http2_keep_alive_interval(quarter).keep_alive_timeout(self.silence - quarter);
        // The tasks of a connection run on the runtime in which the connection is created.
        let _within = self.answering.enter();
        Ok(self.signed(endpoint.connect_lazy()))
    }

    /// Returns a connection that sends the token with each request.
    fn signed(&self, channel: Channel) -> BoxCloneSyncChannel {
        let token = self.access.token.clone();
        BoxCloneSyncChannel::new(channel.map_request(move |mut request: http::Request<tonic::body::Body>| {
            if let Some(Token(value)) = &token {
                request.headers_mut().insert(AUTHORIZATION, value.clone());
            }
            request
        }))
    }
}

/// A handle on shared connections, which a session can own.
pub(crate) struct Shared(pub(crate) Arc<Channels>);

#[async_trait]
impl ChannelResolver for Shared {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let inner = create_worker_client(self.0.channel(url)?);
        Ok(Box::new(Named { inner, url: url.clone() }))
    }
}

/// A connection to a worker that adds the worker's name to errors.
struct Named {
    inner: Box<dyn WorkerChannel>,
    url: Url,
}

/// An error of a worker.
#[derive(Debug)]
struct WorkerError(Url, DataFusionError);

/// The beginning of an error message that names a worker.
const OF_WORKER: &str = "worker http";

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}: {}", self.0.as_str().trim_end_matches('/'), self.1.find_root().message())
    }
}

impl std::error::Error for WorkerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.1)
    }
}

/// Adds the name of the worker to an error. An error that already names a worker is unchanged: it comes from another
/// worker.
fn named(url: &Url, error: DataFusionError) -> DataFusionError {
    match error.message().contains(OF_WORKER) {
        true => error,
        false => DataFusionError::External(Box::new(WorkerError(url.clone(), error))),
    }
}

/// Returns a stream whose errors name the worker.
fn named_stream<T: 'static>(url: &Url, stream: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
    let url = url.clone();
    Box::pin(stream.map_err(move |error| named(&url, error)))
}

#[async_trait]
impl WorkerChannel for Named {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let found = self.inner.coordinator_channel(headers, request, messages, metrics, context).await;
        found.map(|stream| named_stream(&self.url, stream)).map_err(|error| named(&self.url, error))
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let found = self.inner.execute_task(headers, request, metrics, context).await;
        let found = found.map_err(|error| named(&self.url, error))?;
        Ok(found.into_iter().map(|stream| named_stream(&self.url, stream)).collect())
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_a_memory() {
        for (memory, connections, mib) in [(0, 3, 1), (1 << 30, 16, 16), (1 << 30, 1, 64), (usize::MAX, 0, 64)] {
            assert_eq!(waiting(memory, connections), mib << 20, "{connections} of {memory}");
        }
    }
}
