//! The threads of a client or a worker. Some threads only compute, and others only answer. So a process that computes
//! for long is not considered dead.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// The number of answering threads. With two, a large message on one connection does not delay other connections.
const ANSWERING: usize = 2;

/// The runtimes for answering and for computing.
pub(crate) struct Runtimes {
    /// The runtime of all connections.
    pub(crate) answering: Runtime,
    pub(crate) computing: Runtime,
}

impl Runtimes {
    /// Starts both runtimes, with `computing` computing threads, by default one per core.
    pub(crate) fn new(computing: Option<usize>) -> io::Result<Self> {
        let (mut answers, mut computes) = (Builder::new_multi_thread(), Builder::new_multi_thread());
        if let Some(threads) = computing {
            computes.worker_threads(threads);
        }
        let answering = answers.worker_threads(ANSWERING).thread_name("lacuna-answers").enable_all().build()?;
        Ok(Runtimes { answering, computing: computes.thread_name("lacuna-computes").enable_all().build()? })
    }

    /// Shuts down both runtimes. Waits at most the time `timeout` for each, and abandons computations that take longer.
    pub(crate) fn close(self, timeout: Duration) {
        self.computing.shutdown_timeout(timeout);
        self.answering.shutdown_timeout(timeout);
    }
}
