//! Programs: graphs that run many times on new values.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use super::feed::Feed;
use super::node::{ErasedValue, Node, downcast_owned};
use super::plan::Plan;
use super::{Lazy, Value};
use crate::base::error::{Error, Result};

/// The results that a program is compiled for.
///
/// The results are one lazy value `&y`, an array `[a, b]`, a slice `&list[..]`, or a tuple of up to eight such results.
/// An example of a tuple is `(&loss, gradients)`.
pub trait Outputs {
    /// The values of the results.
    type Values;

    #[doc(hidden)]
    fn nodes(&self) -> Vec<Arc<Node>>;

    #[doc(hidden)]
    fn reader(&self) -> Reader<Self::Values>;
}

/// Takes the values of the results from the values that a run computed, in order.
#[doc(hidden)]
pub(super) type Reader<V> = Box<dyn Fn(&mut vec::IntoIter<ErasedValue>) -> V + Send + Sync>;

impl<V: Value> Outputs for &Lazy<V> {
    type Values = V;

    fn nodes(&self) -> Vec<Arc<Node>> {
        vec![Arc::clone(&self.node)]
    }

    fn reader(&self) -> Reader<V> {
        Box::new(next)
    }
}

/// Returns the next value, copied only if the value has other owners. Panics if no value is left.
fn next<V: Value>(found: &mut vec::IntoIter<ErasedValue>) -> V {
    downcast_owned(found.next().expect("a program finds a value of each output"))
}

impl<V: Value, const N: usize> Outputs for [Lazy<V>; N] {
    type Values = [V; N];

    fn nodes(&self) -> Vec<Arc<Node>> {
        self.iter().map(|result| Arc::clone(&result.node)).collect()
    }

    fn reader(&self) -> Reader<[V; N]> {
        Box::new(|found| std::array::from_fn(|_| next(found)))
    }
}

impl<V: Value> Outputs for &[Lazy<V>] {
    type Values = Vec<V>;

    fn nodes(&self) -> Vec<Arc<Node>> {
        self.iter().map(|result| Arc::clone(&result.node)).collect()
    }

    fn reader(&self) -> Reader<Vec<V>> {
        let count = self.len();
        Box::new(move |found| (0..count).map(|_| next(found)).collect())
    }
}

macro_rules! outputs {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Outputs<Values: 'static>),*> Outputs for ($($name,)*) {
            type Values = ($($name::Values,)*);

            fn nodes(&self) -> Vec<Arc<Node>> {
                [$(self.$at.nodes()),*].concat()
            }

            fn reader(&self) -> Reader<Self::Values> {
                let readers = ($(self.$at.reader(),)*);
                Box::new(move |found| ($((readers.$at)(found),)*))
            }
        }
    };
}

outputs!(A 0, B 1);
outputs!(A 0, B 1, C 2);
outputs!(A 0, B 1, C 2, D 3);
outputs!(A 0, B 1, C 2, D 3, E 4);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
outputs!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// A graph that is checked once and runs many times on new inputs.
///
/// [`compile`] returns a program. A program keeps plans for the patterns of its inputs. A plan records which entries of
/// the inputs contribute to each entry of a result. If the next run has the same patterns, the program reuses the
/// plans, and does not read coordinates. Plans are kept for reductions, binary operations, shape manipulation, and the
/// gradients of these operations.
#[must_use = "a program does nothing until it is run"]
pub struct Program<V> {
    pub(super) plan: Plan,
    /// The requested results, before rewriting.
    pub(super) written: Vec<Arc<Node>>,
    /// The patterns of inputs and constants in the previous run, by slot. These patterns keep plans.
    before: Mutex<BTreeMap<usize, ErasedValue>>,
    reader: Reader<V>,
}

/// Compiles a graph for one or several results.
///
/// The graph is checked, and its steps are ordered. Steps that no result needs are skipped, and common subexpressions
/// are computed once.
///
/// # Errors
///
/// `Lazy`: the shapes show that a step cannot have a value. The error names the source line of the step.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::{Lazy, compile};
///
/// let x = Lazy::<CooTensor<f64>>::input("x", [2, 2]);
/// let scaled = x.abs() * 10.0;
/// let program = compile((&scaled, &scaled.max(0)))?;
/// let values = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![-4.0, 3.0], 0.0)?;
/// let (scaled, greatest) = program.run([x.is(&values)])?;
/// assert_eq!((scaled.values(), greatest.values()), (&[40.0, 30.0][..], &[40.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn compile<O: Outputs>(outputs: O) -> Result<Program<O::Values>> {
    let written = outputs.nodes();
    let plan = Plan::rewritten(&written)?;
    Ok(Program { plan, written, before: Mutex::default(), reader: outputs.reader() })
}

/// Compiles a graph without rewriting it, for tests that compare both programs.
#[doc(hidden)]
pub fn compile_as_written<O: Outputs>(outputs: O) -> Result<Program<O::Values>> {
    let written = outputs.nodes();
    Ok(Program { plan: Plan::new(&written)?, written, before: Mutex::default(), reader: outputs.reader() })
}

/// Computes the value of one node. Neither plans nor values are kept.
pub(super) fn once(node: &Arc<Node>) -> Result<ErasedValue> {
    let written = std::slice::from_ref(node);
    let plan = Plan::rewritten(written)?;
    let found = plan.run(plan.bound(Vec::new())?);
    found
        .or_else(|error| plan.as_written(written, Vec::new(), error))?
        .pop()
        .ok_or(Error::Argument { operation: "collect", why: "there is no result".into() })
}

impl<V> Program<V> {
    /// Computes the results for these inputs, which are bound by [`Lazy::is`].
    ///
    /// # Errors
    ///
    /// - `Argument`: an input is not bound, or is bound twice.
    /// - `Argument`: a bound step is not an input of this program.
    /// - `Argument`: a value does not have the declared shape of the input.
    /// - `Lazy`: a step failed. The error names the source line of the step.
    ///
    /// ```
    /// use lacuna::CsrTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CsrTensor<f64>>::input("x", [None, Some(2)]);
    /// let program = compile((&x.sum(0), &x.max(1)))?;
    /// for rows in 1..4 {
    ///     let day = CsrTensor::new([rows, 2], (0..=rows).collect(), vec![1; rows], vec![2.5; rows], 0.0)?;
    ///     let (sums, greatest) = program.run([x.is(&day)])?;
    ///     assert_eq!((sums, greatest), (day.sum(0)?, day.max(1)?));
    /// }
    /// let refused = program.run([x.is(&CsrTensor::full([2, 3], 0.0)?)]).unwrap_err().to_string();
    /// assert_eq!(refused, "run: input \"x\" has shape [any, 2], but is bound to shape [2, 3]");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn run(&self, feeds: impl IntoIterator<Item = Feed>) -> Result<V> {
        let feeds: Vec<Feed> = feeds.into_iter().collect();
        let mut slots = self.plan.bound(feeds.clone())?;
        self.remember(&mut slots);
        // The returned values do not keep plans.
        let outputs = self.plan.outputs.iter().map(|&at| self.plan.steps[at].node.kind);
        let found = self.plan.run(slots).or_else(|error| self.plan.as_written(&self.written, feeds, error))?;
        let found: Vec<ErasedValue> = outputs.zip(found).map(|(kind, value)| kind.forget(&value)).collect();
        Ok(self.read(found))
    }

    /// Returns the computed values in the form that the caller requested.
    pub(super) fn read(&self, found: Vec<ErasedValue>) -> V {
        (self.reader)(&mut found.into_iter())
    }

    /// Puts the values on patterns that keep plans. If a pattern equals the pattern of the previous run, the plans of
    /// the previous run are reused.
    fn remember(&self, slots: &mut [Option<ErasedValue>]) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, slot) in slots.iter_mut().enumerate() {
            let Some(value) = slot else { continue };
            let kind = self.plan.steps[at].node.kind;
            let kept = kind.remember(value, before.get(&at));
            before.extend(kind.by_chunks().map(|kind| (at, kind.pattern(&kept))));
            *slot = Some(kept);
        }
    }

    /// Returns how often the runs on the current patterns have read coordinates.
    ///
    /// The count includes reads of the coordinates of inputs, and reads of the coordinates of plans. If an input has
    /// another pattern in a run, the count of this input starts again. A count of 0 means that no coordinates were
    /// read.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [2, 2]);
    /// let program = compile(&x.abs().sum(0))?;
    /// let day = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![-4.0, 3.0], 0.0)?;
    /// program.run([x.is(&day)])?;
    /// let planned = program.coordinate_reads();
    /// program.run([x.is(&(&day * 2.0))])?;
    /// assert_eq!(program.coordinate_reads(), planned); // other values on the same pattern
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn coordinate_reads(&self) -> u64 {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.iter().map(|(at, value)| self.plan.steps[*at].node.kind.reads(value)).sum()
    }

    /// Returns the steps as text, one per line.
    ///
    /// A line shows the inputs, the type and the shape of a step. The line also shows whether the step shares the
    /// pattern of an earlier step, and whether it runs in a fused pass.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [20, 30]);
    /// let program = compile(&(x.abs() + 1.0).sqrt().sum(1))?;
    /// assert_eq!(program.explain(), "\
    /// %0 = input \"x\": float64 coo [20, 30]
    /// %1 = abs(%0): float64 coo [20, 30], pattern of %0 [fused: pass 1]
    /// %2 = add(%1, 1.0): float64 coo [20, 30], pattern of %0 [fused: pass 1]
    /// %3 = sqrt(%2): float64 coo [20, 30], pattern of %0 [fused: pass 1]
    /// %4 = sum(%3, axis=1): float64 coo [20], result [fused: pass 1]
    /// ");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        self.plan.explain()
    }

    /// Runs the program, and returns the text of [`explain`](Program::explain) with costs.
    ///
    /// Each step shows its time and the bytes of its result. A pass of several steps shows the time and the bytes at
    /// its last step. After the steps, the text shows the largest number of bytes in memory at the same time, and the
    /// number of coordinate reads.
    ///
    /// A second call with the same patterns reuses the plans of the first call. The second call therefore shows the
    /// cost of a run with existing plans.
    ///
    /// # Errors
    ///
    /// The errors of [`run`](Program::run). An error of a rewritten step is also returned if the original steps would
    /// succeed.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [2, 2]);
    /// let program = compile(&(x.abs() + 1.0).nanmedian(1))?;
    /// let day = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![-4.0, 3.0], 0.0)?;
    /// assert!(program.explain_analyze([x.is(&day)])?.contains(" ms, "));
    /// let again = program.explain_analyze([x.is(&(&day * 2.0))])?;
    /// let last = "coordinates: not read, because the patterns are those of the previous run";
    /// assert_eq!(again.lines().last(), Some(last));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn explain_analyze(&self, feeds: impl IntoIterator<Item = Feed>) -> Result<String> {
        let mut slots = self.plan.bound(feeds.into_iter().collect())?;
        self.remember(&mut slots);
        let before = self.coordinate_reads();
        let text = self.plan.analyzed(slots)?;
        Ok(match self.coordinate_reads().saturating_sub(before) {
            0 => text + "coordinates: not read, because the patterns are those of the previous run\n",
            reads => format!("{text}coordinates: read {reads} times\n"),
        })
    }
}
