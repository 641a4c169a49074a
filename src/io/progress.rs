//! Progress of reading and writing, for callers that request it.

use std::fmt;
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::base::error::Error;

/// A callback that receives the number of bytes read or written so far.
///
/// For a compressed file, compressed bytes are counted, so you can compare the count with the length of the file. Bytes
/// that are read twice count twice, for example the directory and the headers of an `.npz`.
///
/// The reader or writer calls the callback after each read or write of a block of bytes, and waits until the callback
/// returns. The size of a block depends on the format. When a text file is read, a block has at most 64 KiB. The bytes
/// of all chunks that [`Chunks`](crate::lazy::Chunks) reads are counted together. Several threads may call the callback
/// at the same time, so a smaller number can follow a larger number.
///
/// # Examples
///
/// ```
/// use lacuna::io::{FileFormat, Progress, ReadOptions, read_from};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let text = "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 0.5\n";
/// let seen = Arc::new(AtomicU64::new(0));
/// let options = ReadOptions::default().progress(Progress::new({
///     let seen = Arc::clone(&seen);
///     move |bytes| seen.store(bytes, Ordering::Relaxed)
/// }));
/// read_from(text.as_bytes(), FileFormat::MatrixMarket, &options)?;
/// assert_eq!(seen.load(Ordering::Relaxed), text.len() as u64);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(u64) + Send + Sync>);

impl Progress {
    /// Constructs the callback from a function that receives the number of bytes so far.
    pub fn new(tell: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Progress(Arc::new(tell))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// A reader or writer that counts its bytes and reports the count.
///
/// A writer fails only once: the first error is kept, and later bytes are accepted and discarded. An encoder that
/// writes again when it is dropped therefore does not fail again.
pub(crate) struct Watched<'a, S> {
    stream: S,
    bytes: u64,
    progress: &'a Option<Progress>,
    /// The total of several streams, which is reported instead of `bytes`.
    all: Option<&'a AtomicU64>,
    failure: Option<Error>,
}

impl<'a, S> Watched<'a, S> {
    pub(crate) fn new(stream: S, progress: &'a Option<Progress>) -> Self {
        Watched { stream, bytes: 0, progress, all: None, failure: None }
    }

    /// Returns the error of writing, if any.
    pub(crate) fn failure(self) -> Option<Error> {
        self.failure
    }

    /// Continues counting from `bytes`, the bytes of earlier files.
    #[cfg(feature = "parquet")]
    pub(crate) fn start_at(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Counts further bytes together with other streams.
    #[cfg(feature = "parquet")]
    pub(crate) fn count_in(&mut self, all: Option<&'a AtomicU64>) {
        self.all = all;
    }

    /// Returns the number of bytes so far.
    #[cfg(feature = "parquet")]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn count(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if let Some(Progress(tell)) = self.progress {
            tell(self.all.map_or(self.bytes, |all| all.fetch_add(bytes as u64, Relaxed) + bytes as u64));
        }
    }

    /// Runs one write operation, unless an earlier operation failed.
    fn attempt<T>(&mut self, skipped: T, step: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        if self.failure.is_some() {
            return Ok(skipped);
        }
        step(&mut self.stream).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => std::io::Error::from(self.failure.insert(error.into()).clone()),
        })
    }
}

impl<S: Read> Read for Watched<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.stream.read(buffer)?;
        self.count(count);
        Ok(count)
    }
}

impl<S: Seek> Seek for Watched<'_, S> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.stream.seek(to)
    }
}

impl<S: Write> Write for Watched<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.attempt(bytes.len(), |stream| stream.write(bytes))?;
        if self.failure.is_none() {
            self.count(count);
        }
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.attempt((), Write::flush)
    }
}
