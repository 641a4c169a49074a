//! Lazy operations: graphs that are checked, fused and run as one program (feature `lazy`).
//!
//! A [`Lazy`] is the result of an operation that is not computed yet. `x.lazy()` starts a graph with a tensor.
//! [`Lazy::input`] starts a graph with a tensor that is bound later. The operations are methods with the same names as
//! the methods of tensors. Values are computed by [`value`](Lazy::value), [`collect`](Lazy::collect) or a [`Program`].
//!
//! ```
//! use lacuna::CsrTensor;
//! use lacuna::lazy::{Lazy, compile};
//!
//! let x = Lazy::<CsrTensor<f64>>::input("x", [2, 3]);
//! let program = compile(&(x.abs() + 1.0).sqrt().sum(1))?;
//! for day in [[3.0, -8.0], [0.0, 24.0]] {
//!     let day = CsrTensor::new([2, 3], vec![0, 1, 2], vec![0, 2], day.to_vec(), 0.0)?;
//!     let eager = (day.abs()? + 1.0).sqrt()?.sum(1)?;
//!     assert_eq!(program.run([x.is(&day)])?, eager);
//! }
//! # Ok::<(), lacuna::Error>(())
//! ```
//!
//! - **Errors are carried.** A chain of operations does not need `?`. If an axis is out of range, the step carries the
//!   error with the source line of the step. [`check`](Lazy::check), [`compile`], `collect` and `value` return this
//!   error before any value is read.
//! - **Plans are reused.** A program keeps plans for the patterns of its inputs. A plan records which entries of the
//!   inputs contribute to each entry of a result. If the next run has the same patterns, this run reads only values. A
//!   plan can be reused because the pattern of most results does not depend on values.
//! - **Fusion.** Elementwise steps on one pattern run together, in chunks that fit in the cache. Values that only these
//!   steps need are not stored.
//! - **Identical results.** The results are bitwise identical to the results of the operations without a graph, for any
//!   fusion.
//! - **Gradients** are also steps: see [`gradient`](Lazy::gradient).

mod along;
#[cfg(feature = "dynamic")]
pub(crate) mod any;
mod arrays;
mod broadcast_operands;
pub(crate) mod call;
mod chunks;
mod columns;
mod custom;
mod einsum;
mod engine;
#[doc(hidden)]
pub mod engine_api;
mod entries;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) mod expression;
mod factors;
mod feed;
mod formats;
mod gradient;
mod input_ranges;
mod joins;
mod kit;
mod lengths;
mod maps;
mod moves;
mod node;
mod operators;
mod placed;
mod plan;
mod products;
mod program;
mod query;
mod ranked;
mod reductions;
mod region;
mod remote;
mod reshape;
mod rewrite;
mod rules;
mod scan;
mod selections;
mod slices;
mod softmax;
pub(crate) mod source;
mod steps;
#[cfg(feature = "parquet")]
mod stream;
mod take;
mod text;
pub(crate) mod value;
mod view;
mod write;
mod zips;

pub use arrays::LazyPattern;
pub use chunks::Chunks;
pub use einsum::einsum;
pub use engine::{Engine, On, Threads};
pub use factors::{ArrayFactor, Factor};
pub use feed::Feed;
pub use gradient::HasGradient;
pub use joins::{block, concat, stack};
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use node::placed;
#[doc(hidden)]
pub use program::compile_as_written;
pub use program::{Outputs, Program, compile};
pub use steps::{LazyStored, Steps};
pub use value::Value;
pub use zips::{Beside, BesideStored};
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use {
    lengths::{completed, moves},
    text::TEXT,
    write::HEAD,
};

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use self::call::{Arg, Call};
pub(crate) use self::node::Node;
use self::node::{Body, downcast, downcast_owned};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::op;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// A value of type `V` that is not computed yet.
///
/// The [module](crate::lazy) describes the graphs.
///
/// A clone of a `Lazy` is the same step of the same graph.
#[must_use = "nothing is computed until `value`, `collect` or a program is run"]
pub struct Lazy<V> {
    node: Arc<Node>,
    of: PhantomData<fn() -> V>,
}

impl<V> Clone for Lazy<V> {
    fn clone(&self) -> Self {
        Lazy { node: Arc::clone(&self.node), of: PhantomData }
    }
}

impl<V> fmt::Debug for Lazy<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.node.shape, self.node.rejection()) {
            (_, Some(error)) => write!(f, "Lazy(refused: {error})"),
            (Some(shape), None) => write!(f, "Lazy({}, shape {shape})", self.node.description()),
            (None, None) => write!(f, "Lazy({}, open shape)", self.node.description()),
        }
    }
}

/// The lengths of the axes of an input.
///
/// `None` means that the length is known only when the input is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths(Vec<Option<usize>>);

impl<const N: usize> From<[usize; N]> for Lengths {
    fn from(lengths: [usize; N]) -> Self {
        Lengths(lengths.map(Some).to_vec())
    }
}

impl<const N: usize> From<[Option<usize>; N]> for Lengths {
    fn from(lengths: [Option<usize>; N]) -> Self {
        Lengths(lengths.to_vec())
    }
}

impl From<&[usize]> for Lengths {
    fn from(lengths: &[usize]) -> Self {
        Lengths(lengths.iter().copied().map(Some).collect())
    }
}

impl From<Vec<Option<usize>>> for Lengths {
    fn from(lengths: Vec<Option<usize>>) -> Self {
        Lengths(lengths)
    }
}

impl From<&Shape> for Lengths {
    fn from(shape: &Shape) -> Self {
        Lengths(shape.iter().map(|&length| Some(length)).collect())
    }
}

impl<V: Value> Lazy<V> {
    fn of(node: Arc<Node>) -> Self {
        Lazy { node, of: PhantomData }
    }

    /// Returns an input, which [`is`](Lazy::is) binds to a value for each run.
    ///
    /// A length of `None` allows any length. Error messages and [`Program::to_text`] show the name.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<i64>>::input("x", [None, Some(2)]);
    /// let program = compile(&x.sum(0))?;
    /// let rows = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 1]], vec![4, 5], 0)?;
    /// assert_eq!(program.run([x.is(&rows)])?.to_vec(&[])?, [0, 9]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn input(name: impl Into<String>, lengths: impl Into<Lengths>) -> Self {
        let Lengths(lengths) = lengths.into();
        let shape = lengths.iter().copied().collect::<Option<Vec<usize>>>().map(Shape::from);
        let body = Body::Input { name: name.into().into(), lengths };
        Lazy::of(Arc::new(Node::new::<V>("input", body, shape)))
    }

    /// Returns a value that is read when a run needs it.
    #[track_caller]
    pub(crate) fn from_source(name: &'static str, source: Arc<dyn source::Source>) -> Self {
        let shape = Some(source.shape().clone());
        Lazy::of(Arc::new(Node::new::<V>(name, Body::Source(source), shape)))
    }

    /// Returns a step that reduces some axes, and computes each position of the other axes independently.
    #[track_caller]
    pub(crate) fn over(
        &self,
        name: &'static str,
        axes: crate::base::axes::Axes,
        f: impl Fn(&V) -> Result<V> + Send + Sync + 'static,
    ) -> Self {
        let of = axes.clone();
        let shape = |[shape]: [&Shape; 1]| Ok(Some(crate::plan::reduction::Reduction::new(shape, &of)?.result_shape()));
        let call = Call::of(&op::custom, [Arg::Input(0), Arg::own()]);
        let step = Lazy::own_step(name, call, [&self.node], shape, move |inputs| f(downcast(&inputs[0])));
        step.with_work(|work| work.reduced = Some(axes))
    }

    /// Binds this input to a value, for one [`Program::run`].
    ///
    /// The run returns an error if this step is not an input of the program, or if the value does not have the declared
    /// shape.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let [x, y] = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [2]));
    /// let program = compile(&(&x * &y))?;
    /// let day = CooTensor::new([2], vec![vec![1]], vec![3.0], 0.0)?;
    /// assert_eq!(program.run([x.is(&day), y.is(&day)])?.to_vec(&[])?, [0.0, 9.0]);
    /// let missing = program.run([x.is(&day)]).unwrap_err().to_string();
    /// assert_eq!(missing, "run: input \"y\" is not bound; pass its value to Program::run with is()");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn is(&self, value: &V) -> Feed {
        Feed { node: Arc::clone(&self.node), value: Arc::new(value.clone()) }
    }

    /// Returns a step with an existing value.
    #[track_caller]
    pub(crate) fn constant(value: V) -> Self {
        let value: node::ErasedValue = Arc::new(value);
        let shape = Some(V::KIND.shape(&value));
        Lazy::of(Arc::new(Node::new::<V>("constant", Body::Constant(value), shape)))
    }

    /// Returns the lengths of the axes, if they are known before a run.
    ///
    /// The lengths are unknown if they depend on an input of open shape, or on values.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [2, 3, 4]);
    /// assert_eq!(x.sum([0, 2]).shape().unwrap(), &[3]);
    /// ```
    pub fn shape(&self) -> Option<&[usize]> {
        self.node.shape.as_deref()
    }

    /// Returns an error if the shapes show that a step cannot have a value.
    ///
    /// # Errors
    ///
    /// `Lazy`: the error of the first such step, with the source line of the step.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [2, 3]);
    /// let error = x.sum(2).sqrt().check().unwrap_err().to_string();
    /// assert!(error.starts_with("sum at "), "{error}");
    /// assert!(error.ends_with("axis 2 is out of range for rank 2"), "{error}");
    /// ```
    pub fn check(&self) -> Result<()> {
        self.node.rejection().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Computes the value of a graph without inputs.
    ///
    /// Each call computes the value again. [`value`](Lazy::value) keeps the value.
    ///
    /// # Errors
    ///
    /// - `Lazy`: a step failed. The error names the source line of the step.
    /// - `Argument`: the graph has an input.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![-4.0, 9.0], 0.0)?;
    /// assert_eq!(x.lazy().abs().sqrt().sum(1).collect()?, x.abs()?.sqrt()?.sum(1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn collect(&self) -> Result<V> {
        program::once(&self.node).map(downcast_owned)
    }

    /// Computes the value on the first call, and keeps it for later calls.
    ///
    /// Graphs that continue from this step also use the kept value.
    ///
    /// # Errors
    ///
    /// The errors of [`collect`](Lazy::collect).
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![-4.0, 9.0], 0.0)?;
    /// let mut y = x.lazy();
    /// while y.max(Axes::all()).value()?.item()? > 1.0 {
    ///     y = y * 0.5;
    /// }
    /// assert_eq!(y.value()?.values(), [-0.25, 0.5625]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn value(&self) -> Result<&V> {
        if self.node.found.get().is_none() {
            let value = program::once(&self.node)?;
            // If another thread has already set the value, that value is bitwise identical.
            let _ = self.node.found.set(value);
        }
        Ok(self.node.found.get().map(downcast::<V>).expect("it was found"))
    }

    /// Returns the steps as text, one per line: see [`Program::explain`].
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Lazy::check).
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [None, Some(3)]);
    /// assert_eq!((1.0 - x.abs()).explain()?, "\
    /// %0 = input \"x\": float64 coo open shape
    /// %1 = abs(%0): float64 coo open shape, pattern of %0 [fused: pass 1]
    /// %2 = zeros_like(%1): float64 coo open shape, pattern of %0 [fused: pass 1]
    /// %3 = add(%2, 1.0): float64 coo open shape, pattern of %0 [fused: pass 1]
    /// %4 = sub(%3, %1): float64 coo open shape, pattern of %0, result [fused: pass 1]
    /// ");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn explain(&self) -> Result<String> {
        Ok(compile(self)?.explain())
    }

    /// Returns a step that carries the error of its arguments or of an input.
    fn invalid(mut node: Node, cause: Error) -> Self {
        node.body = Body::Invalid(node.error(cause));
        node.shape = None;
        Lazy::of(Arc::new(node))
    }
}

impl<A: Value, B: Value> Lazy<(A, B)> {
    /// Returns the two results of this step as separate steps.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 2]], vec![5.0, 2.0, 3.0], 0.0)?;
    /// let (best, place) = x.lazy().stored().topk_index(1, 1).parts();
    /// assert_eq!((best.collect()?, place.collect()?), x.stored().topk_index(1, 1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn parts(&self) -> (Lazy<A>, Lazy<B>) {
        (self.part(0), self.part(1))
    }

    #[track_caller]
    fn part<V: Value>(&self, number: usize) -> Lazy<V> {
        let call = self.node.call().filter(|call| call.op.forward().is_some());
        let operand = call.and_then(|call| rules::operands(call).get(number).copied());
        let input = operand.and_then(|operand| self.node.inputs.get(operand));
        match (rules::part(&self.node, number, input), self.node.rejection()) {
            (Some(node), None) => Lazy::of(node),
            (_, error) => {
                let error = error.cloned().unwrap_or(Error::NoTensor);
                Lazy::invalid(Node::new::<V>("part", Body::Invalid(error.clone()), None), error)
            }
        }
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Starts a lazy graph with this tensor: see [`lazy`](crate::lazy).
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![-4.0, 9.0], 0.0)?;
    /// let y = (x.lazy().abs() * 2.0 + 1.0).mean(0);
    /// assert_eq!(y.collect()?, (x.abs()? * 2.0 + 1.0).mean(0)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn lazy(&self) -> Lazy<Self> {
        Lazy::constant(self.clone())
    }
}
