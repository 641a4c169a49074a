//! Reductions of a tensor that is read, for engines in other packages.

use std::sync::Arc;

use super::broadcast_operands::{BroadcastOperand, Nones, Side, unlike, without_entries};
use super::columns::ByBytes;
use super::node::{Body, ChunkedInput, ErasedValue, Node};
use super::plan::Plan;
use super::source::{Part, Source};
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{DType, Number};
use crate::kernels::ordered::RankSearch;
use crate::kernels::partial::{Partial, Reducer};
use crate::kernels::stream::States;

/// An owned reader of a tensor that is read in chunks.
#[derive(Clone)]
pub struct Reader {
    source: Arc<dyn Source>,
    kind: &'static dyn ByBytes,
}

/// A chunk of entries: coordinates axis by axis, values as bytes, and hashes.
#[derive(Debug)]
pub struct Rows {
    /// The coordinates, axis by axis.
    pub coords: Vec<Vec<u64>>,
    /// The bytes of the values, in order.
    pub values: Vec<u8>,
    /// The hash of each entry.
    pub hashes: Vec<u64>,
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

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &Shape {
        self.source.shape()
    }

    /// Returns the bytes per value.
    pub fn width(&self) -> usize {
        self.kind.width()
    }

    /// Reads one partition, and passes its entries in chunks.
    pub fn read(&self, part: Part, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        self.source.read_part(part, &mut |value, hashes| {
            let (coords, values) = (self.kind.coords(&value)?, self.kind.values(&value).to_vec());
            take(Rows { coords, values, hashes })
        })
    }
}

/// A reduction of a tensor that is read, after elementwise steps.
///
/// The reduction is a streaming reduction or a median.
pub struct Query {
    fold: Arc<Node>,
    kept: Vec<usize>,
    /// The shape of the reduced operand.
    shape: Shape,
    reader: Reader,
    /// The broadcast operands of the steps.
    sides: Vec<BroadcastOperand>,
    /// The steps, each with the indices of its inputs. Index 0 is the tensor that is read; broadcast operands follow,
    /// then steps.
    steps: Vec<(Arc<Node>, Vec<usize>)>,
    has_unstored: bool,
    header: ErasedValue,
    /// A chunk without entries, after all steps.
    none: ErasedValue,
    /// The column functions of the reduced operand.
    folded: &'static dyn ByBytes,
    reducer: Reducer,
}

/// The result of a group.
///
/// The result has the coordinates on the kept axes, the number of entries, and the accumulator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The coordinates on the kept axes.
    pub coords: Vec<u64>,
    /// The number of entries.
    pub count: u64,
    /// The accumulator after these entries.
    pub state: Vec<u8>,
}

impl Query {
    /// Returns the query of the reduction `fold` of a plan.
    ///
    /// `steps` are the steps before the reduction, in order, and `read` is the tensor that they read. `sides` are the
    /// other operands of these steps, with their values.
    ///
    /// # Errors
    ///
    /// `Argument`: the entries of a step are not exactly the entries that are read. Errors of the steps are also
    /// returned.
    pub fn new(plan: &Plan, fold: usize, steps: &[usize], read: usize, sides: &[(usize, ErasedValue)]) -> Result<Self> {
        let node = |at: usize| &plan.steps[at].node;
        let bytes =
            |at: usize| node(at).kind.by_bytes().ok_or_else(|| unlike("it is not a tensor of one element type"));
        let Body::Source(source) = &node(read).body else { return Err(unlike("it is not read")) };
        let reader = Reader { source: Arc::clone(source), kind: bytes(read)? };
        let operands = std::iter::once(read).chain(sides.iter().map(|(at, _)| *at));
        let places: Vec<usize> = operands.chain(steps.iter().copied()).collect();
        let place = |at: &usize| places.iter().position(|place| place == at);
        let of_step = |&at: &usize| {
            let inputs = plan.steps[at].inputs.iter().map(place).collect::<Option<Vec<_>>>();
            Ok((Arc::clone(node(at)), inputs.ok_or_else(|| unlike("a step has an unknown input"))?))
        };
        let steps = steps.iter().map(of_step).collect::<Result<Vec<_>>>()?;
        let entries = source.checks().map_or(0, |(entries, _)| entries);
        let has_unstored = source.shape().wide_size() > u128::from(entries);
        let header = source.none()?;
        let mut sides =
            sides.iter().map(|(at, value)| BroadcastOperand::new(node(*at), value)).collect::<Result<Vec<_>>>()?;
        let none = none_of(&reader, &header, has_unstored, &steps, &mut sides)?;
        let folded = bytes(*places.last().unwrap_or(&read))?;
        let kept = plan.view(fold).kept().ok_or_else(|| unlike("it is not a reduction"))?;
        let (shape, fold) = (source.shape().clone(), Arc::clone(node(fold)));
        let reducer = reducer(&fold, &none, folded)?;
        Ok(Query { fold, kept, shape, reader, sides, steps, has_unstored, header, none, folded, reducer })
    }

    /// Returns the reader of the tensor that is read.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the axes that the reduction keeps.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    pub(super) fn fold(&self) -> &Node {
        &self.fold
    }

    /// Returns the broadcast operands of the steps, for lookups by an engine.
    pub fn sides(&self) -> Vec<Side> {
        self.sides.iter().map(BroadcastOperand::side).collect()
    }

    /// Returns the types of the broadcast operands, and the bytes of the fills of their chunks.
    pub(super) fn side_types(&self) -> Vec<(DType, Vec<u8>)> {
        self.sides.iter().map(BroadcastOperand::dtype_and_fill).collect()
    }

    /// Returns the steps before the reduction, each with the indices of its inputs. Index 0 is the tensor that is read;
    /// broadcast operands follow, then steps.
    pub(super) fn steps(&self) -> &[(Arc<Node>, Vec<usize>)] {
        &self.steps
    }

    pub(super) fn has_unstored(&self) -> bool {
        self.has_unstored
    }

    /// Returns whether there are steps before the reduction.
    pub fn is_mapped(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the bytes per value after the steps.
    pub fn width(&self) -> usize {
        self.folded.width()
    }

    /// Returns the element type and the fill after the steps.
    pub fn mapped(&self) -> (DType, Number) {
        (self.folded.dtype(), self.folded.fill(&self.none))
    }

    /// Runs the steps on values given as bytes.
    ///
    /// `sides` are the elements of each broadcast operand at the same entries.
    pub fn map(&self, values: &[u8], sides: &[&[u8]]) -> Result<Vec<u8>> {
        let mut pieces = vec![self.reader.kind.piece(&self.header, values, self.has_unstored)?];
        for (operand, bytes) in self.sides.iter().zip(sides) {
            pieces.push(operand.piece(bytes, self.has_unstored)?);
        }
        Ok(self.folded.values(&through(&self.steps, pieces)?).to_vec())
    }

    /// Returns the accumulator without groups; `None` for a median.
    pub fn partial(&self) -> Option<Box<dyn Partial>> {
        self.reducer.partial()
    }

    /// Returns the order of the values, if the reduction is a median.
    pub fn order(&self) -> Option<&dyn RankSearch> {
        self.reducer.order()
    }

    /// Returns the value of the reduction.
    ///
    /// `found` are all groups with entries, by coordinates in row-major order.
    pub fn finish(&self, found: &[Found]) -> Result<ErasedValue> {
        let states: Vec<(u64, &[u8])> = found.iter().map(|group| (group.count, &group.state[..])).collect();
        self.finish_of(found, States::Found(&states))
    }

    /// Returns the value of the median, from the same groups as [`finish`](Self::finish).
    ///
    /// `keys` are the keys of the two middle values of each group; `None` if a group does not have a median.
    pub fn finish_ranked(&self, found: &[Found], keys: &[Option<[u64; 2]>]) -> Result<ErasedValue> {
        self.finish_of(found, States::Ranked(keys))
    }

    fn finish_of(&self, found: &[Found], states: States<'_>) -> Result<ErasedValue> {
        let mut coords = vec![vec![0; found.len()]; self.shape.rank()];
        for (at, &axis) in self.kept.iter().enumerate() {
            let of_axis = found.iter().map(|group| group.coords.get(at).copied().unwrap_or(u64::MAX));
            coords[axis] = of_axis.collect();
        }
        let pattern = self.folded.pattern(&self.shape, found.len(), &coords)?;
        of_states(&self.fold, &pattern, &self.none, states)
            .unwrap_or_else(|| Err(unlike("it is not a reduction")))
            .map_err(|cause| self.fold.error(cause))
    }
}

/// Runs the steps on no entries, which returns the fill after the steps. Rejects steps whose entries differ from the
/// entries of the file.
fn none_of(
    reader: &Reader,
    header: &ErasedValue,
    has_unstored: bool,
    steps: &[(Arc<Node>, Vec<usize>)],
    sides: &mut [BroadcastOperand],
) -> Result<ErasedValue> {
    let mut values: Nones = vec![Some((reader.kind, reader.kind.piece(header, &[], has_unstored)?))];
    values.extend(sides.iter().map(|_| None));
    let steps = steps.iter().map(|(node, inputs)| (&**node, &inputs[..]));
    let values = without_entries(steps, values, (1, sides), (reader.source.shape(), has_unstored))?;
    values.into_iter().next_back().flatten().map(|(_, none)| none).ok_or_else(|| unlike("there is no value"))
}

/// Runs some steps on chunks of their inputs.
fn through(steps: &[(Arc<Node>, Vec<usize>)], mut values: Vec<ErasedValue>) -> Result<ErasedValue> {
    for (node, inputs) in steps {
        let inputs: Vec<ErasedValue> = inputs.iter().map(|&input| Arc::clone(&values[input])).collect();
        values.push(node.run(&inputs)?);
    }
    values.pop().ok_or_else(|| unlike("there is no value"))
}

/// Returns how a step reduces values.
fn reducer(fold: &Node, none: &ErasedValue, kind: &dyn ByBytes) -> Result<Reducer> {
    let accumulator = fold.work().and_then(|work| work.accumulator).ok_or_else(|| unlike("it is not a reduction"))?;
    let implicit = (!fold.args().is_stored()).then(|| kind.fill_bytes(none));
    accumulator(fold.args(), implicit.as_deref()).ok_or_else(|| unlike("it is not a reduction"))
}

fn of_states(
    fold: &Node,
    pattern: &ErasedValue,
    none: &ErasedValue,
    states: States<'_>,
) -> Option<Result<ErasedValue>> {
    let run = |_: std::ops::Range<usize>, _: &mut dyn FnMut(&ErasedValue)| Ok(());
    let pieces = ChunkedInput { states: Some(states), ..ChunkedInput::of(pattern, none, &run) };
    fold.work()?.reduce_chunks.as_ref()?(fold, &pieces)
}
