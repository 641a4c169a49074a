//! The engine for tensors larger than memory, which computes results in chunks along one axis.
//!
//! A step with a rule in [`input_ranges`](super::input_ranges) is computed chunk by chunk. Other steps need their
//! entire operands, which must fit in memory. Streaming reductions, and medians and variances of all elements, can read
//! chunks along an axis that they do not keep.

mod layout;
mod limits;
mod run;
mod spill;
mod stages;
mod traversal;

use std::path::PathBuf;

use self::layout::Layout;
use self::run::Run;
pub use self::spill::Spill;
use super::engine::Engine;
use super::node::ErasedValue;
use super::plan::Plan;
use crate::base::error::Result;
use crate::base::sealed::Sealed;

/// The engine for tensors larger than memory, which computes graphs in chunks.
///
/// Each chunk is a range of an axis and fits in memory. Results are bitwise identical to the results of
/// [`Threads`](super::Threads), for any size of the chunks.
///
/// The engine splits the data of a graph: files of `io::scan` (feature `parquet`), tensors, and program inputs.
/// [`explain`](super::On::explain) shows the axes of the chunks. `explain` also shows the values that are needed
/// entirely. These values must fit in memory. The page [`larger_than_memory`](crate::documents::larger_than_memory)
/// describes the memory use.
///
/// # Examples
///
/// ```
/// use lacuna::lazy::Chunks;
/// use lacuna::{Axes, CooTensor};
///
/// let x = CooTensor::new([4, 3], vec![vec![0, 1, 3], vec![2, 0, 2]], vec![3.0, -5.0, 4.0], 0.0)?;
/// let norm = x.lazy().square().sum(Axes::all()).sqrt();
/// let in_rows = Chunks::memory(1 << 20).positions(1);
/// assert_eq!(norm.on(in_rows).collect()?, norm.collect()?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Chunks {
    memory: u64,
    positions: usize,
    folder: Option<PathBuf>,
}

impl Chunks {
    /// Returns an engine that uses at most `bytes` bytes of memory for values.
    ///
    /// Work on values uses up to 64 MiB of additional memory. Files without a page index also use one row group per
    /// thread.
    pub fn memory(bytes: u64) -> Self {
        Chunks { memory: bytes, positions: usize::MAX, folder: None }
    }

    /// Sets the largest number of positions per chunk, even if more fit in memory.
    pub fn positions(self, most: usize) -> Self {
        Chunks { positions: most.max(1), ..self }
    }

    /// Sets the folder for temporary files.
    ///
    /// The default is the temporary folder of the system. The files are in a new subfolder, which is removed after the
    /// graph is computed or has failed. The next run that creates files in this folder removes the subfolders of
    /// interrupted processes.
    ///
    /// ```
    /// use lacuna::lazy::Chunks;
    ///
    /// let engine = Chunks::memory(1 << 30).spill("/var/tmp");
    /// # let _ = engine;
    /// ```
    pub fn spill(self, folder: impl Into<PathBuf>) -> Self {
        Chunks { folder: Some(folder.into()), ..self }
    }
}

impl Sealed for Chunks {}

impl Engine for Chunks {
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        let layout = Layout::new(plan, self.memory, &slots, None);
        Run::new(self, plan, &layout, slots).values()
    }

    fn for_each_chunk(
        &self,
        plan: &Plan,
        slots: Vec<Option<ErasedValue>>,
        take: &mut dyn FnMut(&ErasedValue) -> Result<()>,
    ) -> Result<()> {
        let layout = Layout::new(plan, self.memory, &slots, plan.outputs.first().copied());
        Run::new(self, plan, &layout, slots).for_each_chunk(take)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
        plan.explain() + &Layout::new(plan, self.memory, slots, None).to_text()
    }

    fn memory(&self) -> Option<u64> {
        Some(self.memory)
    }
}
