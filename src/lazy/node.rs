//! The nodes of a graph. A node stores an operation, its inputs, and the source line that constructed the node.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ndarray::SliceInfoElem;

use super::call::Call;
use super::source::Source;
use super::value::{Kind, Value};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::DType;
use crate::kernels::partial::Reducer;
use crate::kernels::stream::States;
use crate::ops::{OpSpec, Split};

/// A value of erased type. The node of the value knows the type.
pub type ErasedValue = Arc<dyn Any + Send + Sync>;

/// Computes the value of a node from the values of its inputs.
pub(super) type Run = Arc<dyn Fn(&Node, &[ErasedValue]) -> Result<ErasedValue> + Send + Sync>;

/// Computes a reduction from chunks of its operand; `None` if the reduction needs the entire operand.
pub(super) type ReduceChunks = Arc<dyn Fn(&Node, &ChunkedInput<'_>) -> Option<Result<ErasedValue>> + Send + Sync>;

/// An operand that arrives in chunks.
#[doc(hidden)]
pub struct ChunkedInput<'a> {
    pub(super) pattern: &'a ErasedValue,
    /// True if the order and the number of values are unknown. In this case any range means all values, and `pattern`
    /// has only the first entry. The values arrive again for each request.
    pub(super) is_streamed: bool,
    /// A chunk without entries, which has the fill.
    pub(super) none: &'a ErasedValue,
    /// Passes the entries of a range in chunks.
    pub(super) run: &'a ReadChunks<'a>,
    /// The largest number of bytes for the accumulators of all output elements, if the order of values is unknown.
    pub(super) max_bytes: usize,
    /// The time to compute one element, in picoseconds.
    pub(super) picoseconds: usize,
    /// The exchange with another engine that reads the values. It replaces the chunks.
    pub(super) states: Option<States<'a>>,
}

impl<'a> ChunkedInput<'a> {
    /// Returns an operand whose entries arrive in order.
    pub(super) fn of(pattern: &'a ErasedValue, none: &'a ErasedValue, run: &'a ReadChunks<'a>) -> Self {
        ChunkedInput { pattern, is_streamed: false, none, run, max_bytes: 0, picoseconds: 0, states: None }
    }
}

/// Computes a range of entries, and passes the entries in chunks.
pub(super) type ReadChunks<'a> = dyn Fn(Range<usize>, &mut dyn FnMut(&ErasedValue)) -> Result<()> + Sync + 'a;

/// The gradient of each input; an item is `None` if the input does not have a gradient. The outer value is `None` if
/// the step does not have a gradient.
pub(super) type Gradients = Option<Vec<Option<Arc<Node>>>>;

/// The gradient rule of a closure, from the inputs and the upstream gradient.
pub(super) type Rule = Arc<dyn Fn(&[Arc<Node>], &Arc<Node>) -> Gradients + Send + Sync>;

/// Finds the typed implementations of the operations that the gradients of a step use.
pub(super) type Family = fn(&Call, &[Arc<Node>]) -> Option<StepImpl>;

/// Computes a reduction from chunks of its operand.
type ReduceChunksFn = fn(&Node, &ChunkedInput<'_>) -> Option<Result<ErasedValue>>;

/// Returns how an engine reduces values that only the engine reads, given the bytes of the fill, if unstored positions
/// count.
pub(super) type Accumulator = fn(&Call, Option<&[u8]>) -> Option<Reducer>;

/// A typed implementation of an operation.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct StepImpl {
    /// The kind of the result.
    pub(super) kind: &'static dyn Kind,
    pub(super) run: fn(&Node, &[ErasedValue]) -> Result<ErasedValue>,
    pub(super) reduce_chunks: Option<ReduceChunksFn>,
    pub(super) accumulator: Option<Accumulator>,
    pub(super) family: Option<Family>,
}

impl StepImpl {
    /// Returns an implementation that reads entire inputs, without implementations that gradients use.
    pub(super) const fn new(kind: &'static dyn Kind, run: fn(&Node, &[ErasedValue]) -> Result<ErasedValue>) -> Self {
        StepImpl { kind, run, reduce_chunks: None, accumulator: None, family: None }
    }
}

/// A step of a graph. Nodes never change, and graphs share them.
pub struct Node {
    /// The unique number of the node, larger than the numbers of its inputs.
    pub(super) id: u64,
    pub(super) name: &'static str,
    pub(super) place: &'static Location<'static>,
    pub(super) body: Body,
    pub(super) inputs: Vec<Arc<Node>>,
    /// The shape of the value, if known before a run. The shape is unknown if it depends on an input of open shape.
    pub(super) shape: Option<Shape>,
    pub(super) kind: &'static dyn Kind,
    /// The shapes of the entire operands, if the inputs are slices of these operands.
    pub(super) wholes: Option<Vec<Shape>>,
    /// The element type and the format of the value, if the kind does not define them.
    pub(super) facts: Option<Facts>,
    /// The value that [`value`](super::Lazy::value) computed.
    pub(super) found: OnceLock<ErasedValue>,
}

/// The element type and the format of a dynamically typed value, if they are known before a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) dtype: DType,
    pub(crate) format: Option<&'static str>,
}

/// A call and its implementation.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) call: Call,
    pub(super) run: Run,
    pub(super) form: Form,
    pub(super) family: Option<Family>,
    pub(super) reduce_chunks: Option<ReduceChunks>,
    pub(super) accumulator: Option<Accumulator>,
    /// True if the operand may arrive in chunks of consecutive entries. This requires that the entries of every group
    /// are known to be consecutive.
    pub(super) takes_chunks: bool,
    /// The gradient rule of a closure.
    pub(super) rule: Option<Rule>,
    /// The axes that the closure reduces. It computes each position of the other axes independently.
    pub(super) reduced: Option<Axes>,
}

/// The origin of the value of a node.
#[derive(Clone)]
pub(super) enum Body {
    /// An existing value.
    Constant(ErasedValue),
    /// An input that the caller binds by name. A length of `None` allows any length.
    Input { name: Arc<str>, lengths: Vec<Option<usize>> },
    /// A tensor that is read, entirely or in chunks.
    Source(Arc<dyn Source>),
    /// A computed value.
    Step(Box<Work>),
    /// One of several results of the input, by index.
    Part(usize),
    /// No value, because the step was rejected.
    Invalid(Error),
}

/// The relation between the pattern of a result and the patterns of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The result has its own pattern.
    Own,
    /// The result has the pattern of the first input.
    OfFirst,
    /// If all inputs share one pattern, the operation is elementwise and the result has that pattern. Otherwise the
    /// result has its own pattern.
    Each,
    /// If all inputs share one pattern, the operation is elementwise. The result always has the pattern of the first
    /// input.
    EachOfFirst,
}

impl Drop for Node {
    /// Frees the inputs in a loop, because recursion on a long chain of nodes could overflow the stack.
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.inputs);
        while let Some(node) = left.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                left.append(&mut node.inputs);
            }
        }
    }
}

impl Node {
    /// Returns a node with values of type `V`.
    #[track_caller]
    pub(super) fn new<V: Value>(name: &'static str, body: Body, shape: Option<Shape>) -> Self {
        Node::of_kind(V::KIND, name, body, shape)
    }

    #[track_caller]
    pub(super) fn of_kind(kind: &'static dyn Kind, name: &'static str, body: Body, shape: Option<Shape>) -> Self {
        Node {
            id: next_id(),
            name,
            place: match PLACE.get() {
                Some(place) => place,
                None => Location::caller(),
            },
            body,
            inputs: Vec::new(),
            shape,
            kind,
            wholes: None,
            facts: None,
            found: OnceLock::new(),
        }
    }

    /// Returns this step with another implementation. The result has its own pattern, and the operand is not read in
    /// chunks.
    pub(super) fn with_run(&self, run: Run) -> Self {
        let mut node = self.again(self.inputs.clone(), None);
        if let Body::Step(work) = &mut node.body {
            (work.run, work.form, work.reduce_chunks, work.takes_chunks) = (run, Form::Own, None, false);
        }
        node
    }

    /// Returns this step with other inputs and another shape.
    pub(super) fn again(&self, inputs: Vec<Arc<Node>>, shape: Option<Shape>) -> Self {
        let mut node = Node::of_kind(self.kind, self.name, self.body.clone(), shape);
        (node.place, node.inputs, node.facts) = (self.place, inputs, self.facts);
        node.wholes.clone_from(&self.wholes);
        node
    }

    /// Returns whether the value is computed from the values of inputs.
    pub(super) fn is_computed(&self) -> bool {
        matches!(self.body, Body::Step(_) | Body::Part(_))
    }

    /// Returns the index of the result that this node selects, 0 for other nodes.
    pub(super) fn part_number(&self) -> usize {
        if let Body::Part(number) = self.body { number } else { 0 }
    }

    /// Returns whether two nodes with the same inputs have bitwise identical values.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let are_alike = match (&self.body, &other.body) {
            (Body::Step(one), Body::Step(other)) => one.call == other.call,
            (Body::Part(one), Body::Part(other)) => one == other,
            _ => false,
        };
        are_alike && self.wholes == other.wholes && self.kind.dtype() == other.kind.dtype()
    }

    /// Returns the call and its implementation, if the node is a step.
    pub(super) fn work(&self) -> Option<&Work> {
        if let Body::Step(work) = &self.body { Some(work) } else { None }
    }

    /// Returns the call, if the node is a step.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.work().map(|work| &work.call)
    }

    /// Returns the operation, if the node is a step.
    pub(super) fn op(&self) -> Option<&'static OpSpec> {
        self.call().map(|call| call.op)
    }

    /// Returns the call of a step. Panics for other nodes.
    pub(crate) fn args(&self) -> &Call {
        self.call().expect("a step has a call")
    }

    /// Returns whether the value is already computed and kept.
    pub(super) fn is_kept(&self) -> bool {
        self.found.get().is_some()
    }

    /// Returns whether the node is a slice of known shape.
    pub(super) fn is_slice(&self) -> bool {
        self.slices().is_some() && self.shape.is_some()
    }

    /// Returns the slice of each axis, if the node is a slice.
    pub(super) fn slices(&self) -> Option<&Arc<[SliceInfoElem]>> {
        self.call().filter(|call| call.op.split == Split::Moved).and_then(Call::slices)
    }

    /// Returns whether the step reduces by group labels.
    pub(super) fn is_grouped(&self) -> bool {
        self.call().is_some_and(|call| call.axes().labels().is_some())
    }

    /// Returns the inputs whose gradients the rule computes. One of several results has the inputs of its step.
    pub(super) fn sources(&self) -> &[Arc<Node>] {
        match (&self.body, &self.inputs[..]) {
            (Body::Part(_), [whole]) => whole.sources(),
            (_, inputs) => inputs,
        }
    }

    /// Returns the error of this node, with the source line that constructed the node.
    pub(super) fn error(&self, cause: Error) -> Error {
        match cause {
            // The error already names the first step that failed.
            Error::Lazy { .. } => cause,
            cause => Error::Lazy {
                operation: self.name,
                file: self.place.file(),
                line: self.place.line(),
                cause: Box::new(cause),
            },
        }
    }

    /// Returns the error of a node that was rejected before a run.
    pub(super) fn rejection(&self) -> Option<&Error> {
        match &self.body {
            Body::Invalid(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the relation between the pattern of the value and the patterns of the inputs.
    pub(super) fn form(&self) -> Form {
        self.work().map_or(Form::Own, |work| work.form)
    }

    /// Computes the value from the values of the inputs.
    pub(super) fn run(&self, inputs: &[ErasedValue]) -> Result<ErasedValue> {
        match &self.body {
            Body::Constant(value) => Ok(Arc::clone(value)),
            Body::Source(source) => source.read(None).map_err(|cause| self.error(cause)),
            Body::Step(work) => (work.run)(self, inputs).map_err(|cause| self.error(cause)),
            Body::Part(number) => Ok(self.inputs[0].kind.part(&inputs[0], *number)),
            Body::Input { .. } => {
                Err(Error::Argument { operation: "run", why: format!("{} is not bound", self.description()) })
            }
            Body::Invalid(error) => Err(error.clone()),
        }
    }

    /// Returns the known facts as text: element type, format and shape.
    pub(super) fn facts(&self) -> String {
        let format = self.kind.format();
        let description = match (self.facts, self.kind.dtype()) {
            (Some(Facts { dtype, format }), _) => {
                format!("{dtype}{}", format.map_or(String::new(), |it| format!(" {it}")))
            }
            (None, Some(dtype)) => format!("{dtype} {format}"),
            (None, None) if self.shape.is_none() && self.kind.is_dynamic() => return "open".into(),
            (None, None) => format.into(),
        };
        match &self.shape {
            Some(shape) => format!("{description} {shape}"),
            None => format!("{description} open shape"),
        }
    }

    /// Returns the text for messages: the name and the arguments.
    pub(super) fn description(&self) -> String {
        match &self.body {
            Body::Input { name, .. } => format!("input {name:?}"),
            Body::Constant(_) => "constant".into(),
            Body::Source(source) => source.description(),
            Body::Step(work) => work.call.to_text_as(self.name, &input_of),
            Body::Part(number) => format!("part({}, {number})", self.inputs.first().map_or("", |whole| whole.name)),
            Body::Invalid(_) => self.name.into(),
        }
    }
}

/// Returns the number of a new node, larger than the numbers of all earlier nodes.
fn next_id() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

thread_local! {
    /// The source line of all new nodes, if it is set. Otherwise a node has the line that calls its constructor.
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Returns the result of `make`. All nodes that `make` constructs have the source line that calls this function.
#[track_caller]
pub(crate) fn placed<R>(make: impl FnOnce() -> R) -> R {
    let before = PLACE.replace(Some(Location::caller()));
    let result = make();
    PLACE.set(before);
    result
}

/// Returns the text of an input.
fn input_of(number: usize) -> String {
    format!("%{number}")
}

/// Returns some nodes and all nodes that they need, with inputs before results. The inputs of nodes that satisfy
/// `is_enough` are skipped.
pub(super) fn reachable(of: &[Arc<Node>], is_enough: impl Fn(&Node) -> bool) -> Vec<Arc<Node>> {
    let mut seen = std::collections::BTreeMap::new();
    let mut left: Vec<Arc<Node>> = of.to_vec();
    while let Some(node) = left.pop() {
        if seen.contains_key(&node.id) {
            continue;
        }
        left.extend(node.inputs.iter().filter(|_| !is_enough(&node)).cloned());
        seen.insert(node.id, node);
    }
    seen.into_values().collect()
}

/// Returns the value as the type of its node. Panics for another type.
pub(crate) fn downcast<V: Value>(value: &ErasedValue) -> &V {
    value.downcast_ref().expect("the value has the type of its node")
}

/// Returns the owned value, copied only if the value has other owners. Panics for another type.
pub(super) fn downcast_owned<V: Value>(value: ErasedValue) -> V {
    Arc::unwrap_or_clone(value.downcast().expect("the value has the type of its node"))
}
