//! Steps element by element on one pattern, computed piece by piece: a piece goes through all of them while it is in
//! the cache, and results alone are written out. A reduction of the only result takes its pieces instead.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::node::{Held, InPieces, Node};
use super::value::{ByPieces, Part, Pieces};
use crate::base::error::Result;
use crate::base::spare;
use crate::base::threads;
use crate::kernels::fed::PIECE;

/// The picoseconds that an element takes, more or less.
const PICOSECONDS: usize = 3_000;

/// Steps that are computed together.
pub(super) struct Region {
    /// Where the values from before are: the first values of a piece.
    inputs: Vec<(usize, Arc<Node>)>,
    /// In order; each gives a value more.
    steps: Vec<Member>,
    /// Which of the values others need, and where these belong.
    outputs: Vec<(usize, usize)>,
    /// The reduction of the only output, which nobody else needs, and where its value belongs.
    reduction: Option<(usize, Arc<Node>)>,
}

/// A step of a region.
struct Member {
    node: Arc<Node>,
    /// Where its value belongs.
    at: usize,
    /// Its inputs among the values of a piece.
    inputs: Vec<usize>,
    /// The values that nobody needs after it.
    freed: Vec<usize>,
}

/// The inputs of a run, in order.
struct Given<'a> {
    pieces: Vec<Box<dyn Pieces + 'a>>,
    count: usize,
    /// The pattern of the piece before, which most pieces have too.
    stencil: Mutex<Option<Held>>,
}

impl Region {
    /// Of steps in order, each with its place and those of its inputs; the places that others need; and the reduction
    /// that alone needs the only one.
    pub(super) fn new(
        steps: Vec<(usize, Arc<Node>, Vec<usize>)>,
        needed: &[usize],
        reduction: Option<(usize, Arc<Node>)>,
    ) -> Self {
        let own: BTreeSet<usize> = steps.iter().map(|(at, ..)| *at).collect();
        let mut inputs = BTreeMap::new();
        for (_, node, places) in &steps {
            let given = places.iter().zip(&node.inputs).filter(|(at, _)| !own.contains(at));
            inputs.extend(given.map(|(&at, node)| (at, Arc::clone(node))));
        }
        let inputs: Vec<(usize, Arc<Node>)> = inputs.into_iter().collect();
        let places = inputs.iter().map(|(at, _)| *at).chain(steps.iter().map(|(at, ..)| *at));
        let values: BTreeMap<usize, usize> = places.enumerate().map(|(value, at)| (at, value)).collect();
        let outputs: Vec<(usize, usize)> = needed.iter().map(|at| (values[at], *at)).collect();
        let member = |(at, node, places): (usize, Arc<Node>, Vec<usize>)| Member {
            node,
            at,
            inputs: places.iter().map(|at| values[at]).collect(),
            freed: Vec::new(),
        };
        let mut steps: Vec<Member> = steps.into_iter().map(member).collect();
        let last: BTreeMap<usize, usize> = steps
            .iter()
            .enumerate()
            .flat_map(|(user, step)| step.inputs.iter().map(move |&value| (value, user)))
            .collect();
        let kept: BTreeSet<usize> = outputs.iter().map(|(value, _)| *value).collect();
        let freed = last.into_iter().filter(|(value, _)| !kept.contains(value));
        freed.for_each(|(value, user)| steps[user].freed.push(value));
        Region { inputs, steps, outputs, reduction }
    }

    /// Where the values of its steps belong.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().map(|step| step.at).chain(self.reduction.iter().map(|(at, _)| *at))
    }

    /// The values that are there, or else what computes them one after the other and takes each result.
    fn through(&self, mut values: Vec<Option<Held>>) -> Result<Vec<Option<Held>>> {
        for step in &self.steps {
            let inputs: Vec<Held> = step.inputs.iter().filter_map(|&value| values[value].clone()).collect();
            values.push(Some(step.node.run(&inputs)?));
            drop(inputs);
            step.freed.iter().for_each(|&value| self.spare(value, values[value].take()));
        }
        Ok(values)
    }

    /// Gives the memory of a step's value to a later one.
    fn spare(&self, value: usize, held: Option<Held>) {
        if let (Some(kind), Some(held)) = (self.kind(value), held) {
            kind.spare(held);
        }
    }

    /// Writes the outputs to their places.
    pub(super) fn run(&self, slots: &mut [Option<Held>]) -> Result<()> {
        if self.steps().all(|at| slots[at].is_some()) {
            return Ok(());
        }
        if let Some((at, node)) = &self.reduction
            && let Some(value) = self.reduced(node, slots)
        {
            slots[*at] = Some(value);
            return Ok(());
        }
        let found = match self.by_pieces(slots) {
            Ok(Some(found)) => found,
            // As a whole it is told where an element has no result.
            Ok(None) | Err(_) => {
                let values = self.through(self.inputs.iter().map(|(at, _)| slots[*at].clone()).collect())?;
                self.outputs.iter().map(|(value, _)| values[*value].clone()).collect()
            }
        };
        self.outputs.iter().zip(found).for_each(|((_, at), value)| slots[*at] = value);
        if let Some((at, node)) = &self.reduction {
            let operand = self.outputs.iter().filter_map(|(_, at)| slots[*at].take()).collect::<Vec<_>>();
            slots[*at] = Some(node.run(&operand)?);
        }
        Ok(())
    }

    /// The value of the reduction, from pieces of its operand; none where it takes the whole, or where an element has
    /// no result, as then the whole tells where.
    fn reduced(&self, node: &Node, slots: &[Option<Held>]) -> Option<Held> {
        let (given, pattern) = self.given(slots)?;
        let &[(value, _)] = &self.outputs[..] else { return None };
        let operand = |entries: Range<usize>| self.values(&given, entries).map(|mut values| values[value].take());
        let none = operand(0..0).ok()??;
        let run = |entries: Range<usize>, take: &mut dyn FnMut(&Held)| {
            let mut pieces = pieces_of(entries);
            spare::within(|| {
                pieces.try_for_each(|piece| {
                    let found = operand(piece)?;
                    found.iter().for_each(&mut *take);
                    self.spare(value, found);
                    Ok(())
                })
            })
        };
        let picoseconds = PICOSECONDS * self.steps.len();
        let from_pieces = node.from_pieces.as_ref()?;
        let operand = InPieces {
            pattern: &pattern,
            is_poured: false,
            none: &none,
            run: &run,
            most: 0,
            picoseconds,
            states: None,
        };
        spare::within(|| from_pieces(&operand))?.ok()
    }

    /// The outputs, if there are enough elements for more than one piece.
    fn by_pieces(&self, slots: &[Option<Held>]) -> Result<Option<Vec<Option<Held>>>> {
        let Some((given, pattern)) = self.given(slots) else { return Ok(None) };
        let none = self.values(&given, 0..0)?;
        let gather = |(value, _): &(usize, usize)| match (self.kind(*value), &none[*value]) {
            (Some(kind), Some(piece)) => kind.gather(given.count, piece).map(Some),
            _ => Ok(None),
        };
        let gathered = self.outputs.iter().map(gather).collect::<Result<Option<Vec<_>>>>()?;
        let Some(mut gathered) = gathered else { return Ok(None) };
        let ends = threads::map_parts(given.count, PICOSECONDS * self.steps.len(), 0, |part| part.end);
        let parts = transposed(gathered.iter_mut().map(|gathered| gathered.parts(&ends)).collect());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let work = starts.zip(&ends).map(|(start, &end)| start..end).zip(parts).collect();
        let done = threads::map_each(
            work,
            given.count,
            || (),
            |(), (range, mut outputs)| {
                spare::within(|| pieces_of(range).try_for_each(|piece| self.piece(&given, piece, &mut outputs)))
            },
        );
        done.into_iter().collect::<Result<()>>()?;
        Ok(Some(gathered.into_iter().map(|gathered| Some(gathered.finish(&pattern))).collect()))
    }

    /// The inputs, and their pattern, if they have so many entries that pieces pay.
    fn given<'a>(&self, slots: &'a [Option<Held>]) -> Option<(Given<'a>, Held)> {
        let (at, first) = self.inputs.first()?;
        let (kind, value) = (first.kind.by_pieces()?, slots[*at].as_ref()?);
        let count = kind.count(value);
        let piece = |(at, node): &(usize, Arc<Node>)| node.kind.by_pieces()?.pieces(slots[*at].as_ref()?);
        let pieces = self.inputs.iter().map(piece).collect::<Option<Vec<_>>>()?;
        (count > PIECE).then(|| (Given { pieces, count, stencil: Mutex::default() }, kind.pattern(value)))
    }

    /// What is known of the type of a step's value.
    fn kind(&self, value: usize) -> Option<&'static dyn ByPieces> {
        self.steps.get(value.checked_sub(self.inputs.len())?)?.node.kind.by_pieces()
    }

    /// All values of a range of entries that are still needed behind the last step.
    fn values(&self, given: &Given<'_>, range: Range<usize>) -> Result<Vec<Option<Held>>> {
        let mut stencil = given.stencil.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let inputs = given.pieces.iter().map(|pieces| pieces.piece(range.clone(), &mut stencil).map(Some));
        let inputs = inputs.collect::<Result<_>>()?;
        *given.stencil.lock().unwrap_or_else(PoisonError::into_inner) = stencil;
        self.through(inputs)
    }

    /// Takes the entries of a range through all steps.
    fn piece(&self, given: &Given<'_>, range: Range<usize>, outputs: &mut [Box<dyn Part + '_>]) -> Result<()> {
        let mut values = self.values(given, range)?;
        for (output, (value, _)) in outputs.iter_mut().zip(&self.outputs) {
            let found = values[*value].take();
            found.iter().for_each(|value| output.put(value));
            self.spare(*value, found);
        }
        Ok(())
    }
}

/// A range cut into pieces.
fn pieces_of(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(PIECE).map(move |start| start..(start + PIECE).min(range.end))
}

/// The parts of all outputs, by part.
fn transposed<'a>(outputs: Vec<Vec<Box<dyn Part + 'a>>>) -> Vec<Vec<Box<dyn Part + 'a>>> {
    let mut outputs: Vec<_> = outputs.into_iter().map(Vec::into_iter).collect();
    let count = outputs.first().map_or(0, ExactSizeIterator::len);
    (0..count).map(|_| outputs.iter_mut().filter_map(Iterator::next).collect()).collect()
}
