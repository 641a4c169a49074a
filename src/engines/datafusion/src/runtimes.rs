//! The threads of a process that asks workers, or is one: some compute, and others, which never do, answer. So nobody
//! who computes for long is taken for dead.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// The threads that answer: a large message on one connection does not hold up those on others.
const ANSWERING: usize = 2;

/// Two runtimes.
pub(crate) struct Runtimes {
    /// Has all connections.
    pub(crate) answering: Runtime,
    pub(crate) computing: Runtime,
}

impl Runtimes {
    /// So many threads compute, or as many as there are cores.
    pub(crate) fn new(computing: Option<usize>) -> io::Result<Self> {
        let (mut answers, mut computes) = (Builder::new_multi_thread(), Builder::new_multi_thread());
        if let Some(threads) = computing {
            computes.worker_threads(threads);
        }
        let answering = answers.worker_threads(ANSWERING).thread_name("lacuna-answers").enable_all().build()?;
        Ok(Runtimes { answering, computing: computes.thread_name("lacuna-computes").enable_all().build()? })
    }

    /// Ends what can end so soon. What still computes is not waited for.
    pub(crate) fn close(self, soon: Duration) {
        self.computing.shutdown_timeout(soon);
        self.answering.shutdown_timeout(soon);
    }
}
