//! The engine for what does not fit memory: results are computed in ranges of one axis.
//!
//! A step that commutes with cutting ([`shares`](super::shares)) is run on a range of its operand. What does not is
//! taken whole, where that fits. Folds, and medians and variances of all elements, may take the ranges of an axis
//! that they do not keep, one after the other.

mod layout;
mod limits;
mod run;
mod spill;
mod walk;

use std::path::PathBuf;

use self::layout::Layout;
use self::run::Run;
pub use self::spill::Spill;
use super::engine::Engine;
use super::node::Held;
use super::plan::Plan;
use crate::base::error::Result;

/// The engine for what does not fit memory: a graph is computed in ranges of an axis, each of which does.
///
/// Results are those of [`Threads`](super::Threads), bit for bit, however they are cut. What is cut is what a graph
/// begins with: files of `io::scan` (feature `parquet`), tensors, and inputs. [`explain`](super::On::explain) tells
/// along which axes, and which values are needed as a whole: these must fit. The page [when it does not
/// fit](crate::documents::larger) says what takes how much.
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
    /// With so many bytes for values. The work on them takes up to 64 MiB besides and, of a file without lists of
    /// pages, a row group for each thread.
    pub fn memory(bytes: u64) -> Self {
        Chunks { memory: bytes, positions: usize::MAX, folder: None }
    }

    /// At most so many positions of an axis at once, even if more fit.
    pub fn positions(self, most: usize) -> Self {
        Chunks { positions: most.max(1), ..self }
    }

    /// The folder for temporary files; by default that of the system. They are in a folder of their own there, which is
    /// removed when the graph was computed or failed. What a process that was killed left there goes when the next one
    /// begins.
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

impl Engine for Chunks {
    fn values(&self, plan: &Plan, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let layout = Layout::new(plan, self.memory, &slots, None);
        Run::new(self, plan, &layout, slots).values()
    }

    fn pour(&self, plan: &Plan, slots: Vec<Option<Held>>, take: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
        let layout = Layout::new(plan, self.memory, &slots, plan.outputs.first().copied());
        Run::new(self, plan, &layout, slots).pour(take)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<Held>]) -> String {
        plan.explain() + &Layout::new(plan, self.memory, slots, None).told()
    }

    fn memory(&self) -> Option<u64> {
        Some(self.memory)
    }
}
