//! The nodes of a graph: what is computed, from what, and by which line of the program.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::rewrite::Facts;
use super::shares::Shares;
use super::source::Source;
use super::text::Text;
use super::value::{Kind, Value};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::ops::States;

/// A value whose type the node knows.
pub type Held = Arc<dyn Any + Send + Sync>;

/// What computes the value of a node from those of its inputs.
pub(super) type Run = Arc<dyn Fn(&[Held]) -> Result<Held> + Send + Sync>;

/// What computes the value of a reduction from pieces of its operand; none where it takes the whole.
pub(super) type FromPieces = Arc<dyn Fn(&InPieces<'_>) -> Option<Result<Held>> + Send + Sync>;

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

/// The gradient of each input; none for one that has none, and none at all where the elements are no floats.
pub(super) type Rule = Box<dyn Fn(Asked<'_>) -> Option<Vec<Option<Arc<Node>>>> + Send + Sync>;

/// Whose gradients are asked for.
pub(super) struct Asked<'a> {
    pub(super) inputs: &'a [Arc<Node>],
    /// The gradient of the result.
    pub(super) upstream: &'a Arc<Node>,
}

/// A step of a graph. It never changes; graphs share their nodes.
pub struct Node {
    /// Increases from inputs to results.
    pub(super) id: u64,
    pub(super) name: &'static str,
    /// The arguments in words, which tell two steps of one name apart.
    pub(super) arguments: String,
    pub(super) text: Text,
    pub(super) facts: Facts,
    pub(super) place: &'static Location<'static>,
    pub(super) body: Body,
    pub(super) inputs: Vec<Arc<Node>>,
    /// Unknown where it depends on an input of open shape.
    pub(super) shape: Option<Shape>,
    pub(super) kind: &'static dyn Kind,
    pub(super) rule: Option<Rule>,
    /// Whose gradients the rule finds; its inputs, if there are none.
    pub(super) of: Vec<Arc<Node>>,
    pub(super) from_pieces: Option<FromPieces>,
    /// Whether the pieces may be runs of its operand: its groups are such runs, as far as is known.
    pub(super) is_fed: bool,
    /// What a range of its result takes of its inputs, where the form does not tell.
    pub(super) shares: Option<Shares>,
    /// What [`value`](super::Lazy::value) found.
    pub(super) found: OnceLock<Held>,
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
    Step { run: Run, form: Form },
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
        left.append(&mut self.of);
        while let Some(node) = left.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                left.append(&mut node.inputs);
                left.append(&mut node.of);
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

    /// A step, and where it has no shape one with that error.
    #[track_caller]
    pub(super) fn step(
        kind: &'static dyn Kind,
        name: &'static str,
        arguments: String,
        inputs: Vec<Arc<Node>>,
        form: Form,
        shape: Result<Option<Shape>>,
        run: Run,
    ) -> Self {
        let mut node = Node::of_kind(kind, name, Body::Step { run, form }, None);
        node.arguments = arguments;
        match shape {
            Ok(shape) => (node.shape, node.inputs) = (shape, inputs),
            Err(cause) => node.body = Body::Refused(node.error(cause)),
        }
        node
    }

    #[track_caller]
    fn of_kind(kind: &'static dyn Kind, name: &'static str, body: Body, shape: Option<Shape>) -> Self {
        Node {
            id: next_id(),
            name,
            arguments: String::new(),
            text: Text::None,
            facts: Facts::default(),
            place: match PLACE.get() {
                Some(place) => place,
                None => Location::caller(),
            },
            body,
            inputs: Vec::new(),
            shape,
            kind,
            rule: None,
            of: Vec::new(),
            from_pieces: None,
            is_fed: false,
            shares: None,
            found: OnceLock::new(),
        }
    }

    /// The same step, computed otherwise.
    pub(super) fn with_run(&self, run: Run) -> Self {
        let mut node = self.again(self.inputs.clone(), None);
        (node.body, node.from_pieces, node.is_fed) = (Body::Step { run, form: Form::Own }, None, false);
        node
    }

    /// The same step of other inputs, of which no gradient is asked.
    pub(super) fn again(&self, inputs: Vec<Arc<Node>>, shape: Option<Shape>) -> Self {
        let body = match &self.body {
            Body::Step { run, form } => Body::Step { run: Arc::clone(run), form: *form },
            Body::Constant(value) => Body::Constant(Arc::clone(value)),
            Body::Input { name, lengths } => Body::Input { name: Arc::clone(name), lengths: lengths.clone() },
            Body::Source(source) => Body::Source(Arc::clone(source)),
            Body::Refused(error) => Body::Refused(error.clone()),
        };
        Node {
            id: next_id(),
            name: self.name,
            arguments: self.arguments.clone(),
            text: self.text.clone(),
            facts: self.facts.clone(),
            place: self.place,
            body,
            inputs,
            shape,
            kind: self.kind,
            rule: None,
            of: Vec::new(),
            from_pieces: self.from_pieces.clone(),
            is_fed: self.is_fed,
            shares: self.shares.clone(),
            found: OnceLock::new(),
        }
    }

    /// Whether its value is there.
    pub(super) fn is_kept(&self) -> bool {
        self.found.get().is_some()
    }

    /// Whether it takes some positions of each axis.
    pub(super) fn is_slice(&self) -> bool {
        self.facts.slices.is_some() && self.shape.is_some()
    }

    /// Whose gradients its rule finds.
    pub(super) fn sources(&self) -> &[Arc<Node>] {
        if self.of.is_empty() { &self.inputs } else { &self.of }
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

    /// Its shape, if that is known; the error of a step that is refused.
    pub(super) fn known_shape(&self) -> Result<Option<&Shape>> {
        self.refusal().map_or(Ok(self.shape.as_ref()), |error| Err(error.clone()))
    }

    /// What its value has to do with its inputs.
    pub(super) fn form(&self) -> Form {
        match self.body {
            Body::Step { form, .. } => form,
            _ => Form::Own,
        }
    }

    /// The value, from those of the inputs.
    pub(super) fn run(&self, inputs: &[Held]) -> Result<Held> {
        match &self.body {
            Body::Constant(value) => Ok(Arc::clone(value)),
            Body::Source(source) => source.read(None).map_err(|cause| self.error(cause)),
            Body::Step { run, .. } => run(inputs).map_err(|cause| self.error(cause)),
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
            _ => format!("{}({})", self.name, self.arguments),
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

/// Words of an argument that are not told twice, so that no two steps with it are taken for one.
pub(super) fn unlike() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("#{}", COUNT.fetch_add(1, Ordering::Relaxed))
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
