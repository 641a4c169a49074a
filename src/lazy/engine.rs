//! Engines determine where a graph is computed, and in which chunks.

use std::sync::Arc;

use super::feed::Feed;
use super::node::{ErasedValue, Node};
use super::plan::Plan;
use super::program::Program;
use super::{Lazy, Value};
use crate::base::error::{Error, Result};
use crate::base::sealed::Sealed;

/// An engine for graphs: [`Threads`], or [`Chunks`](super::Chunks) for tensors larger than memory.
///
/// The packages `lacuna-datafusion` and `lacuna-gpu` provide other engines. The trait is sealed.
pub trait Engine: Sealed {
    /// Computes the values of the outputs from the existing values.
    #[doc(hidden)]
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>>;

    /// Passes the value of the only output in chunks along its first axis, in order. By default, the value is one
    /// chunk.
    #[doc(hidden)]
    fn for_each_chunk(
        &self,
        plan: &Plan,
        slots: Vec<Option<ErasedValue>>,
        take: &mut dyn FnMut(&ErasedValue) -> Result<()>,
    ) -> Result<()> {
        self.values(plan, slots)?.iter().try_for_each(take)
    }

    #[doc(hidden)]
    fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String;

    /// Returns the largest number of bytes for values, if there is a limit.
    #[doc(hidden)]
    fn memory(&self) -> Option<u64> {
        None
    }
}

impl<E: Engine> Sealed for &E {}

/// A reference to an engine is an engine, so you can use one engine for many graphs.
impl<E: Engine> Engine for &E {
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        (**self).values(plan, slots)
    }

    fn for_each_chunk(
        &self,
        plan: &Plan,
        slots: Vec<Option<ErasedValue>>,
        take: &mut dyn FnMut(&ErasedValue) -> Result<()>,
    ) -> Result<()> {
        (**self).for_each_chunk(plan, slots, take)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
        (**self).explain(plan, slots)
    }

    fn memory(&self) -> Option<u64> {
        (**self).memory()
    }
}

/// The default engine: the threads of this machine, with all values in memory.
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::Threads;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![9.0], 0.0)?.lazy().sqrt();
/// assert_eq!(x.on(Threads).collect()?, x.collect()?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Threads;

impl Engine for Threads {
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        plan.run(slots)
    }

    fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
        plan.explain()
    }
}

/// A graph with the engine that computes it, constructed by [`Lazy::on`].
#[must_use = "nothing is computed until `collect` is called"]
#[derive(Debug, Clone)]
pub struct On<V, E> {
    pub(super) of: Lazy<V>,
    pub(super) engine: E,
}

impl<V: Value> Lazy<V> {
    /// Returns this graph with an engine.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Chunks;
    ///
    /// let x = CooTensor::new([3, 2], vec![vec![0, 1, 2], vec![1, 0, 1]], vec![4.0, 9.0, 1.0], 0.0)?;
    /// let y = x.lazy().sqrt().sum(1);
    /// assert_eq!(y.on(Chunks::memory(1 << 20)).collect()?, y.collect()?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn on<E: Engine>(&self, engine: E) -> On<V, E> {
        On { of: self.clone(), engine }
    }
}

impl<V: Value, E: Engine> On<V, E> {
    /// Computes the value of a graph without inputs.
    ///
    /// # Errors
    ///
    /// - the errors of [`Lazy::collect`];
    /// - `TooLarge`: the engine is [`Chunks`](super::Chunks), and a step needs more memory than the limit. The error
    ///   names the step.
    pub fn collect(&self) -> Result<V> {
        let none = || Error::Argument { operation: "collect", why: "there is no result".into() };
        let found = values(&self.engine, std::slice::from_ref(&self.of.node), Vec::new())?.pop();
        found.ok_or_else(none).map(super::node::downcast_owned)
    }

    /// Returns the text of [`Program::explain`], and how the engine runs the steps.
    ///
    /// # Errors
    ///
    /// - the errors of [`Lazy::check`];
    /// - `Argument`: the graph has an input.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Chunks;
    ///
    /// let x = CooTensor::new([3, 2], vec![vec![0, 1, 2], vec![1, 0, 1]], vec![4.0, 9.0, 1.0], 0.0)?;
    /// assert_eq!(x.lazy().sqrt().sum(0).on(Chunks::memory(1 << 20)).explain()?, "\
    /// %0 = constant: float64 coo [3, 2]
    /// %1 = sqrt(%0): float64 coo [3, 2], pattern of %0
    /// %2 = sum(%1, axis=0): float64 coo [2], result
    /// chunks: %2 in chunks of axis 0; %0 in chunks of axis 1
    /// ");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn explain(&self) -> Result<String> {
        let plan = Plan::rewritten(std::slice::from_ref(&self.of.node))?;
        let slots = plan.bound(Vec::new())?;
        Ok(self.engine.explain(&plan, &slots))
    }
}

impl<V> Program<V> {
    /// Computes the results for these inputs on an engine, like [`run`](Program::run).
    ///
    /// Unlike `run`, the method does not keep plans for the next run.
    ///
    /// # Errors
    ///
    /// The errors of [`run`](Program::run) and of [`On::collect`].
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Chunks, Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [3, 2]);
    /// let program = compile(&(x.abs() + 1.0).sum(1))?;
    /// let day = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 0]], vec![-3.0, 8.0], 0.0)?;
    /// assert_eq!(program.run_on(&Chunks::memory(1 << 20), [x.is(&day)])?, program.run([x.is(&day)])?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn run_on(&self, engine: &impl Engine, feeds: impl IntoIterator<Item = Feed>) -> Result<V> {
        values(engine, &self.written, feeds.into_iter().collect()).map(|found| self.read(found))
    }
}

/// Computes results on an engine, from the rewritten graph. If a step fails, the original graph is computed and reports
/// the error.
fn values(engine: &impl Engine, written: &[Arc<Node>], feeds: Vec<Feed>) -> Result<Vec<ErasedValue>> {
    let plan = Plan::rewritten(written)?;
    let found = engine.values(&plan, plan.bound(feeds.clone())?);
    match found {
        Err(error) if plan.is_rewritten() && is_of_a_step(&error) => {
            let plan = Plan::new(written)?;
            engine.values(&plan, plan.bound(feeds)?)
        }
        found => found,
    }
}

/// Returns whether the original graph may report a better error, or succeed. The result is false for errors of files,
/// of memory and of engines, because a second run would take the same time.
pub(crate) fn is_of_a_step(error: &Error) -> bool {
    match error {
        Error::Lazy { cause, .. } | Error::InRange { cause, .. } => is_of_a_step(cause),
        Error::Engine { .. } | Error::Format { .. } | Error::Io { .. } | Error::OutOfMemory { .. } => false,
        _ => true,
    }
}

impl Sealed for Threads {}
