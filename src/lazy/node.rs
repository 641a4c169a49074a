//! The nodes of a graph: what is computed, from what, and by which line of the program.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ndarray::SliceInfoElem;

use super::call::Call;
use super::shares::Shares;
use super::source::Source;
use super::value::{Kind, Value};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::ops::{OpSpec, Split, States};

/// A value whose type the node knows.
pub type Held = Arc<dyn Any + Send + Sync>;

/// Computes the value of a node from those of its inputs.
pub(super) type Run = Arc<dyn Fn(&Node, &[Held]) -> Result<Held> + Send + Sync>;

/// Computes a reduction from pieces of its operand; none where it takes the whole.
pub(super) type FromPieces = Arc<dyn Fn(&Node, &InPieces<'_>) -> Option<Result<Held>> + Send + Sync>;

/// An operand that comes in pieces.
#[doc(hidden)]
pub struct InPieces<'a> {
    pub(super) pattern: &'a Held,
    /// Whether pieces come in any order and in whatever range, each time anew, with a pattern of the first entry alone.
    pub(super) is_poured: bool,
    /// A piece without entries, which has the fill.
    pub(super) none: &'a Held,
    /// Hands over the entries of a range in pieces.
    pub(super) run: &'a Pour<'a>,
    /// The bytes that what is known of all cells may take, where they come in any order.
    pub(super) most: usize,
    /// What it takes to compute an element.
    pub(super) picoseconds: usize,
    /// What comes in place of pieces.
    pub(super) states: Option<States<'a>>,
}

/// Computes a range of entries, and gives their pieces away one after the other.
pub(super) type Pour<'a> = dyn Fn(Range<usize>, &mut dyn FnMut(&Held)) -> Result<()> + Sync + 'a;

/// The gradient of each input; none for one that has none, and none at all where the step has none.
pub(super) type Gradients = Option<Vec<Option<Arc<Node>>>>;

/// The rule of a closure, from the inputs and the upstream gradient.
pub(super) type Rule = Arc<dyn Fn(&[Arc<Node>], &Arc<Node>) -> Gradients + Send + Sync>;

/// Finds the typed implementations of the operations that gradients of a step use.
pub(super) type Family = fn(&Call, &[Arc<Node>]) -> Option<Made>;

/// Computes a reduction from pieces of its operand.
type Pieces = fn(&Node, &InPieces<'_>) -> Option<Result<Held>>;

/// A typed implementation of an operation.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Made {
    /// The kind of the result.
    pub(super) kind: &'static dyn Kind,
    pub(super) run: fn(&Node, &[Held]) -> Result<Held>,
    pub(super) pieces: Option<Pieces>,
    pub(super) family: Option<Family>,
}

/// A step of a graph. It never changes; graphs share their nodes.
pub struct Node {
    /// Increases from inputs to results.
    pub(super) id: u64,
    pub(super) name: &'static str,
    pub(super) place: &'static Location<'static>,
    pub(super) body: Body,
    pub(super) inputs: Vec<Arc<Node>>,
    /// Unknown where it depends on an input of open shape.
    pub(super) shape: Option<Shape>,
    pub(super) kind: &'static dyn Kind,
    /// The shapes of the operands, of which the inputs are parts.
    pub(super) wholes: Option<Vec<Shape>>,
    /// What [`value`](super::Lazy::value) found.
    pub(super) found: OnceLock<Held>,
}

/// A call, and how it is computed.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) call: Call,
    pub(super) run: Run,
    pub(super) form: Form,
    pub(super) family: Option<Family>,
    pub(super) from_pieces: Option<FromPieces>,
    /// Whether the pieces may be runs of its operand: its groups are such runs, as far as is known.
    pub(super) is_fed: bool,
    /// The rule of a closure.
    pub(super) rule: Option<Rule>,
    /// What a range of the result takes of the inputs, where the row of the operation does not tell.
    pub(super) shares: Option<Shares>,
    /// The text of a step of an expression.
    pub(super) text: Option<Arc<str>>,
}

/// Where the value of a node comes from.
pub(super) enum Body {
    /// It is there.
    Constant(Held),
    /// The caller binds it, of a shape with these lengths, and calls it so.
    Input { name: Arc<str>, lengths: Vec<Option<usize>> },
    /// It is read, whole or in parts.
    Source(Arc<dyn Source>),
    /// It is computed.
    Step(Box<Work>),
    /// It is one of several results of its input.
    Part(usize),
    /// There is none.
    Refused(Error),
}

/// What the result of a step has to do with its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It has a pattern of its own.
    Own,
    /// It has the pattern of the first input.
    OfFirst,
    /// It is computed element by element where all inputs have one pattern, and then has that; else one of its own.
    Each,
    /// It is computed element by element where all inputs have one pattern, and has that of the first in any case.
    EachOfFirst,
}

impl Drop for Node {
    /// A chain of nodes is freed in a loop, since it may be longer than the stack is deep.
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
    /// A node of values of type `V`.
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
            found: OnceLock::new(),
        }
    }

    /// The same step, computed otherwise.
    pub(super) fn with_run(&self, run: Run) -> Self {
        let mut node = self.again(self.inputs.clone(), None);
        if let Body::Step(work) = &mut node.body {
            (work.run, work.form, work.from_pieces, work.is_fed) = (run, Form::Own, None, false);
        }
        node
    }

    /// The same step of other inputs.
    pub(super) fn again(&self, inputs: Vec<Arc<Node>>, shape: Option<Shape>) -> Self {
        let body = match &self.body {
            Body::Step(work) => Body::Step(work.clone()),
            Body::Part(number) => Body::Part(*number),
            Body::Constant(value) => Body::Constant(Arc::clone(value)),
            Body::Input { name, lengths } => Body::Input { name: Arc::clone(name), lengths: lengths.clone() },
            Body::Source(source) => Body::Source(Arc::clone(source)),
            Body::Refused(error) => Body::Refused(error.clone()),
        };
        Node {
            id: next_id(),
            name: self.name,
            place: self.place,
            body,
            inputs,
            shape,
            kind: self.kind,
            wholes: self.wholes.clone(),
            found: OnceLock::new(),
        }
    }

    /// Returns whether the value is computed from those of inputs.
    pub(super) fn is_computed(&self) -> bool {
        matches!(self.body, Body::Step(_) | Body::Part(_))
    }

    /// Returns the number of the result that a part is.
    pub(super) fn part_number(&self) -> usize {
        if let Body::Part(number) = self.body { number } else { 0 }
    }

    /// Returns whether two nodes of the same inputs have the same value, bit for bit.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let are_alike = match (&self.body, &other.body) {
            (Body::Step(one), Body::Step(other)) => one.call == other.call,
            (Body::Part(one), Body::Part(other)) => one == other,
            _ => false,
        };
        are_alike && self.wholes == other.wholes && self.kind.dtype() == other.kind.dtype()
    }

    /// Returns what computes the node, if it is a step.
    pub(super) fn work(&self) -> Option<&Work> {
        if let Body::Step(work) = &self.body { Some(work) } else { None }
    }

    /// Returns the call of a step.
    pub(super) fn call(&self) -> Option<&Call> {
        self.work().map(|work| &work.call)
    }

    /// Returns the operation of a step.
    pub(super) fn op(&self) -> Option<&'static OpSpec> {
        let work = self.work()?;
        // A step of an expression is known by its name.
        if work.text.is_some() { OpSpec::named(self.name) } else { Some(work.call.op) }
    }

    /// Returns the call of a node that was made as a step.
    pub(super) fn args(&self) -> &Call {
        self.call().expect("a step has a call")
    }

    /// Whether its value is there.
    pub(super) fn is_kept(&self) -> bool {
        self.found.get().is_some()
    }

    /// Whether it takes some positions of each axis.
    pub(super) fn is_slice(&self) -> bool {
        self.slices().is_some() && self.shape.is_some()
    }

    /// Returns the positions of each axis that a slice takes.
    pub(super) fn slices(&self) -> Option<&Arc<[SliceInfoElem]>> {
        self.call().filter(|call| call.op.split == Split::Moved).and_then(Call::slices)
    }

    /// Returns the labels by which it reduces.
    pub(super) fn is_grouped(&self) -> bool {
        self.call().is_some_and(|call| call.axes().grouping().is_some())
    }

    /// Whose gradients its rule finds.
    pub(super) fn sources(&self) -> &[Arc<Node>] {
        match (&self.body, &self.inputs[..]) {
            (Body::Part(_), [whole]) => whole.sources(),
            (_, inputs) => inputs,
        }
    }

    /// An error of this node, with the line that made it.
    pub(super) fn error(&self, cause: Error) -> Error {
        match cause {
            // The first step that fails says where.
            Error::Lazy { .. } => cause,
            cause => Error::Lazy {
                operation: self.name,
                file: self.place.file(),
                line: self.place.line(),
                cause: Box::new(cause),
            },
        }
    }

    /// Why it has no value, if that is known before it runs.
    pub(super) fn refusal(&self) -> Option<&Error> {
        match &self.body {
            Body::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// What its value has to do with its inputs.
    pub(super) fn form(&self) -> Form {
        self.work().map_or(Form::Own, |work| work.form)
    }

    /// The value, from those of the inputs.
    pub(super) fn run(&self, inputs: &[Held]) -> Result<Held> {
        match &self.body {
            Body::Constant(value) => Ok(Arc::clone(value)),
            Body::Source(source) => source.read(None).map_err(|cause| self.error(cause)),
            Body::Step(work) => (work.run)(self, inputs).map_err(|cause| self.error(cause)),
            Body::Part(number) => Ok(self.inputs[0].kind.part(&inputs[0], *number)),
            Body::Input { .. } => {
                Err(Error::Argument { operation: "run", why: format!("{} is not bound", self.told()) })
            }
            Body::Refused(error) => Err(error.clone()),
        }
    }

    /// What is printed for it: name and arguments.
    pub(super) fn told(&self) -> String {
        match &self.body {
            Body::Input { name, .. } => format!("input {name:?}"),
            Body::Constant(_) => "constant".into(),
            Body::Source(source) => source.told(),
            Body::Step(work) => work.text.as_ref().map_or_else(|| work.call.told(&input_of), |text| text.to_string()),
            Body::Part(number) => format!("{}[{number}]", self.inputs.first().map_or("part", |whole| whole.name)),
            Body::Refused(_) => self.name.into(),
        }
    }
}

/// Above that of each node before.
fn next_id() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

thread_local! {
    /// The line that all nodes belong to that are made meanwhile, if it is not the one that makes them.
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// What `make` gives, whose nodes belong to the line of the caller.
#[track_caller]
pub(crate) fn placed<R>(make: impl FnOnce() -> R) -> R {
    let before = PLACE.replace(Some(Location::caller()));
    let made = make();
    PLACE.set(before);
    made
}

/// An input in words.
fn input_of(number: usize) -> String {
    format!("%{number}")
}

/// All nodes that some need, themselves included: inputs before results. What those need that are enough by themselves
/// is left out.
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

/// The value as one of the type that its node has.
pub(crate) fn known<V: Value>(value: &Held) -> &V {
    value.downcast_ref().expect("the value has the type of its node")
}

/// The value itself, copied only if somebody else holds it too.
pub(super) fn taken<V: Value>(value: Held) -> V {
    Arc::unwrap_or_clone(value.downcast().expect("the value has the type of its node"))
}
