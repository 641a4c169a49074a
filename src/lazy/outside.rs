//! What an engine that is a package of its own sees of a graph. Nobody else is meant to: it changes with any version.

use std::sync::{Arc, Mutex, PoisonError};

pub use super::chunks::Spill;
pub use super::columns::ByBytes;
pub use super::elsewhere::{Folding, Told, piece, side_name, value_bytes};
pub use super::engine::sealed::Sealed;
pub use super::node::Held;
use super::node::{Body, Form, InPieces, Node};
pub use super::plan::Plan;
use super::plan::Step;
use super::reductions::stream;
use super::shares::{Share, shares};
pub use super::sides::Side;
use super::sides::{Beside, Nones, without_entries};
pub use super::source::Part;
use super::source::Source;
pub use crate::base::alloc::AllocError;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{DType, Number};
pub use crate::kernels::ordered::{Gap, Ordered};
pub use crate::kernels::partial::Partial;
use crate::ops::{States, Stream};

/// A step of a plan, as it is looked at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    plan: &'a Plan,
    step: &'a Step,
}

impl Plan {
    /// The number of steps; inputs stand before what is made of them.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// The step of that number.
    pub fn view(&self, at: usize) -> View<'_> {
        View { plan: self, step: &self.steps[at] }
    }

    /// The numbers of the results.
    pub fn results(&self) -> &[usize] {
        &self.outputs
    }

    /// The values of the results, where some values are there: what these do not need is not computed.
    pub fn finish(&self, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let (plan, slots) = self.rest(&self.outputs, slots);
        plan.run(slots)
    }

    /// The value of a step, where some values are there.
    pub fn value(&self, at: usize, slots: Vec<Option<Held>>) -> Result<Held> {
        let (plan, slots) = self.rest(&[at], slots);
        plan.run(slots)?.pop().ok_or_else(|| unlike("a step has no value"))
    }

    /// All steps in words.
    pub fn told(&self) -> String {
        self.explain()
    }
}

impl<'a> View<'a> {
    /// The name of the operation.
    pub fn name(self) -> &'static str {
        self.step.node.name
    }

    /// The call, in words.
    pub fn told(self) -> String {
        self.step.node.told()
    }

    /// The numbers of its inputs.
    pub fn inputs(self) -> &'a [usize] {
        &self.step.inputs
    }

    /// The lengths of its axes, if they are known.
    pub fn shape(self) -> Option<&'a Shape> {
        self.step.node.shape.as_ref()
    }

    /// The type of its elements, if they have one.
    pub fn dtype(self) -> Option<DType> {
        self.step.node.kind.dtype()
    }

    /// Whether it is computed element by element, on the pattern of its inputs or on another one.
    pub fn is_elementwise(self) -> bool {
        matches!(self.step.node.form(), Form::Each | Form::EachOfFirst)
    }

    /// What is read for it, if it is read.
    pub fn source(self) -> Option<Read<'a>> {
        match &self.step.node.body {
            Body::Source(source) => Some(Read(source)),
            _ => None,
        }
    }

    /// Of a fold or a median the axes of its operand that it keeps.
    pub fn kept(self) -> Option<Vec<usize>> {
        let node = &self.step.node;
        let (&[input], true, false) =
            (&self.step.inputs[..], matches!(stream(node), Stream::Fold | Stream::Middle), node.is_grouped())
        else {
            return None;
        };
        let operand = self.plan.steps[input].node.shape.as_ref()?;
        let taken = |axis| shares(node, &[operand], axis)?.shares.into_iter().next();
        let axes = (0..node.shape.as_ref()?.rank()).filter_map(taken);
        axes.map(|share| if let Share::Along(cut) = share { Some(cut.axis) } else { None }).collect()
    }
}

/// What is read in parts.
#[derive(Clone)]
pub struct Read<'a>(&'a Arc<dyn Source>);

/// The same, held by whoever reads it.
#[derive(Clone)]
pub struct Reader {
    source: Arc<dyn Source>,
    kind: &'static dyn ByBytes,
}

/// Some entries: their coordinates, axis by axis, the bytes of their values, and their hashes.
#[derive(Debug)]
pub struct Rows {
    /// The coordinates, axis by axis.
    pub coords: Vec<Vec<u64>>,
    /// The bytes of the values, side by side.
    pub values: Vec<u8>,
    /// The hash of each entry.
    pub hashes: Vec<u64>,
}

impl Read<'_> {
    /// In words.
    pub fn told(&self) -> String {
        self.0.told()
    }

    /// The bytes that it takes in memory.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// The number of its entries, and the sum of their hashes, if these are known.
    pub fn checks(&self) -> Option<(u64, u64)> {
        self.0.checks()
    }
}

impl Reader {
    pub(super) fn new(source: Arc<dyn Source>, kind: &'static dyn ByBytes) -> Self {
        Reader { source, kind }
    }

    pub(super) fn source(&self) -> &dyn Source {
        &*self.source
    }

    pub(super) fn kind(&self) -> &'static dyn ByBytes {
        self.kind
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &Shape {
        self.source.shape()
    }

    /// The bytes of a value.
    pub fn width(&self) -> usize {
        self.kind.width()
    }

    /// Reads one part.
    pub fn read(&self, part: Part, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        self.source.share(part, &mut |value, hashes| {
            let (coords, values) = (self.kind.coords(&value)?, self.kind.values(&value).to_vec());
            take(Rows { coords, values, hashes })
        })
    }
}

/// How values are reduced.
pub enum How {
    /// By what takes them in.
    Fold(Box<dyn Partial>),
    /// By their order.
    Middle(Box<dyn Ordered>),
}

impl How {
    /// What was told of both.
    pub(super) fn of(partial: Option<Box<dyn Partial>>, order: Option<Box<dyn Ordered>>) -> Option<Self> {
        partial.map(How::Fold).or(order.map(How::Middle))
    }

    /// The fold of no group, if it is a fold.
    pub fn partial(&self) -> Option<Box<dyn Partial>> {
        if let How::Fold(partial) = self { Some(partial.again()) } else { None }
    }

    /// The order of values, if it is a median.
    pub fn order(&self) -> Option<&dyn Ordered> {
        if let How::Middle(order) = self { Some(&**order) } else { None }
    }
}

/// A fold or a median of what steps element by element make of what is read.
pub struct Query {
    fold: Arc<Node>,
    kept: Vec<usize>,
    /// The shape of what is folded.
    shape: Shape,
    reader: Reader,
    /// Operands of the steps that are repeated.
    sides: Vec<Beside>,
    /// Each with the numbers of its inputs: 0 is what is read, and behind it stand the sides.
    steps: Vec<(Arc<Node>, Vec<usize>)>,
    has_gap: bool,
    header: Held,
    /// Without entries, behind all steps.
    none: Held,
    /// How what is folded comes in as columns.
    folded: &'static dyn ByBytes,
    how: How,
}

/// What was found of a group: its coordinates on the kept axes, the number of its entries, and the state of the fold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The coordinates on the kept axes.
    pub coords: Vec<u64>,
    /// The number of its entries.
    pub count: u64,
    /// The state of the fold after these.
    pub state: Vec<u8>,
}

fn unlike(why: &str) -> Error {
    Error::Argument { operation: "on", why: why.into() }
}

impl Query {
    /// The fold of a plan with that number, the steps that its operand goes through, in order, and what is read. Other
    /// operands of these steps stand with their values in `sides`.
    ///
    /// # Errors
    ///
    /// `Argument`: a step does not give exactly the entries that are read; those of the steps.
    pub fn new(plan: &Plan, fold: usize, steps: &[usize], read: usize, sides: &[(usize, Held)]) -> Result<Self> {
        let node = |at: usize| &plan.steps[at].node;
        let bytes = |at: usize| node(at).kind.by_bytes().ok_or_else(|| unlike("it is no tensor of one element type"));
        let Body::Source(source) = &node(read).body else { return Err(unlike("it is not read")) };
        let reader = Reader { source: Arc::clone(source), kind: bytes(read)? };
        let operands = std::iter::once(read).chain(sides.iter().map(|(at, _)| *at));
        let places: Vec<usize> = operands.chain(steps.iter().copied()).collect();
        let place = |at: &usize| places.iter().position(|place| place == at);
        let of_step = |&at: &usize| {
            let inputs = plan.steps[at].inputs.iter().map(place).collect::<Option<Vec<_>>>();
            Ok((Arc::clone(node(at)), inputs.ok_or_else(|| unlike("a step has an input that is none of them"))?))
        };
        let steps = steps.iter().map(of_step).collect::<Result<Vec<_>>>()?;
        let entries = source.checks().map_or(0, |(entries, _)| entries);
        let has_gap = source.shape().wide_size() > u128::from(entries);
        let header = source.none()?;
        let mut sides = sides.iter().map(|(at, value)| Beside::new(node(*at), value)).collect::<Result<Vec<_>>>()?;
        let none = none_of(&reader, &header, has_gap, &steps, &mut sides)?;
        let folded = bytes(*places.last().unwrap_or(&read))?;
        let kept = plan.view(fold).kept().ok_or_else(|| unlike("it is no fold"))?;
        let (shape, fold) = (source.shape().clone(), Arc::clone(node(fold)));
        let how = asked(&fold, &none, folded)?;
        Ok(Query { fold, kept, shape, reader, sides, steps, has_gap, header, none, folded, how })
    }

    /// What is read.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The axes that the fold keeps.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    pub(super) fn fold(&self) -> &Node {
        &self.fold
    }

    /// The operands of the steps that are repeated: an engine looks their elements up.
    pub fn sides(&self) -> Vec<Side> {
        self.sides.iter().map(Beside::side).collect()
    }

    /// The types of these, and the bytes of the fills of pieces of them.
    pub(super) fn said_of_sides(&self) -> Vec<(DType, Vec<u8>)> {
        self.sides.iter().map(Beside::dtype_and_fill).collect()
    }

    /// The steps before the fold, each with the numbers of its inputs: 0 is what is read, and behind it stand the sides.
    pub(super) fn steps(&self) -> &[(Arc<Node>, Vec<usize>)] {
        &self.steps
    }

    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// Whether there are steps before the fold.
    pub fn is_mapped(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The bytes of a value behind the steps.
    pub fn width(&self) -> usize {
        self.folded.width()
    }

    /// The element type and the fill behind the steps.
    pub fn mapped(&self) -> (DType, Number) {
        (self.folded.dtype(), self.folded.fill(&self.none))
    }

    /// Runs the steps on the bytes of values, and on those of the elements of each side that meet them.
    pub fn map(&self, values: &[u8], sides: &[&[u8]]) -> Result<Vec<u8>> {
        let mut pieces = vec![self.reader.kind.piece(&self.header, values, self.has_gap)?];
        for (beside, bytes) in self.sides.iter().zip(sides) {
            pieces.push(beside.piece(bytes, self.has_gap)?);
        }
        Ok(self.folded.values(&through(&self.steps, pieces)?).to_vec())
    }

    /// The fold of no group, if it is a fold.
    pub fn partial(&self) -> Option<Box<dyn Partial>> {
        self.how.partial()
    }

    /// The order of values, if it is a median.
    pub fn order(&self) -> Option<&dyn Ordered> {
        self.how.order()
    }

    /// The value of the fold, from all groups that have entries, by their coordinates in row-major order.
    pub fn finish(&self, found: &[Found]) -> Result<Held> {
        let states: Vec<(u64, &[u8])> = found.iter().map(|group| (group.count, &group.state[..])).collect();
        self.finish_of(found, States::Found(&states))
    }

    /// The value of the median, from the same groups, and for each the keys of the two numbers in the middle, if it has
    /// a median.
    pub fn finish_ranked(&self, found: &[Found], keys: &[Option<[u64; 2]>]) -> Result<Held> {
        self.finish_of(found, States::Ranked(keys))
    }

    fn finish_of(&self, found: &[Found], states: States<'_>) -> Result<Held> {
        let mut coords = vec![vec![0; found.len()]; self.shape.rank()];
        for (at, &axis) in self.kept.iter().enumerate() {
            let of_axis = found.iter().map(|group| group.coords.get(at).copied().unwrap_or(u64::MAX));
            coords[axis] = of_axis.collect();
        }
        let pattern = self.folded.pattern(&self.shape, found.len(), &coords)?;
        of_states(&self.fold, &pattern, &self.none, states)
            .unwrap_or_else(|| Err(unlike("it is no fold")))
            .map_err(|cause| self.fold.error(cause))
    }
}

/// Runs the steps on no entries, which gives the fill behind them. Refuses steps with other entries than the file.
fn none_of(
    reader: &Reader,
    header: &Held,
    has_gap: bool,
    steps: &[(Arc<Node>, Vec<usize>)],
    sides: &mut [Beside],
) -> Result<Held> {
    let mut values: Nones = vec![Some((reader.kind, reader.kind.piece(header, &[], has_gap)?))];
    values.extend(sides.iter().map(|_| None));
    let steps = steps.iter().map(|(node, inputs)| (&**node, &inputs[..]));
    let values = without_entries(steps, values, (1, sides), (reader.source.shape(), has_gap))?;
    values.into_iter().next_back().flatten().map(|(_, none)| none).ok_or_else(|| unlike("there is nothing"))
}

/// Runs some steps on pieces of their inputs.
fn through(steps: &[(Arc<Node>, Vec<usize>)], mut values: Vec<Held>) -> Result<Held> {
    for (node, inputs) in steps {
        let inputs: Vec<Held> = inputs.iter().map(|&input| Arc::clone(&values[input])).collect();
        values.push(node.run(&inputs)?);
    }
    values.pop().ok_or_else(|| unlike("there is nothing"))
}

/// How a step reduces values.
fn asked(fold: &Node, none: &Held, kind: &dyn ByBytes) -> Result<How> {
    let pattern = kind.pattern(&Shape::from([0]), 0, &[Vec::new()])?;
    let (partial, order) = (Mutex::new(None), Mutex::new(None));
    // It is refused, after it told how it folds, or ranks.
    let states = if stream(fold) == Stream::Middle { States::Order(&order) } else { States::Asked(&partial) };
    let _ = of_states(fold, &pattern, none, states);
    let partial = partial.into_inner().unwrap_or_else(PoisonError::into_inner);
    let order = order.into_inner().unwrap_or_else(PoisonError::into_inner);
    How::of(partial, order).ok_or_else(|| unlike("it is no fold"))
}

fn of_states(fold: &Node, pattern: &Held, none: &Held, states: States<'_>) -> Option<Result<Held>> {
    let run = |_: std::ops::Range<usize>, _: &mut dyn FnMut(&Held)| Ok(());
    let pieces = InPieces { pattern, is_poured: false, none, run: &run, most: 0, picoseconds: 0, states: Some(states) };
    fold.work()?.from_pieces.as_ref()?(fold, &pieces)
}
