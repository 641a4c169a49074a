//! Rewrites of graphs before a run. A rewritten graph computes fewer elements or has fewer steps. Its results are
//! bitwise identical.
//!
//! If a rewritten graph returns an error, the original graph runs instead and reports the error.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::call::{Arg, Call};
use super::input_ranges::of_wholes;
use super::node::{Body, Form, Node, Work, reachable};
use super::slices::{ALL, moved, slice_of, sliced};
use super::steps::takes_chunks;
use super::{lengths, scan};
use crate::base::axes::Axes;
use crate::base::shape::{self, Shape};
use crate::element::DType;
use crate::ops::{OpSpec, Split, op};

/// The results of a rewritten graph, and the rewrites as text, one per line.
pub(super) struct Rewritten {
    pub(super) results: Vec<Arc<Node>>,
    pub(super) notes: Vec<String>,
}

/// The largest number of rounds. One rewrite may enable another rewrite.
const ROUNDS: usize = 8;

/// Returns the rewritten graph of some results.
pub(super) fn rewritten(results: &[Arc<Node>]) -> Rewritten {
    let mut done = Rewritten { results: results.to_vec(), notes: Vec::new() };
    for _ in 0..ROUNDS {
        let before = done.notes.len();
        let Rewritten { results, notes } = once(&done.results);
        done.notes.extend(notes);
        done.results = results;
        if done.notes.len() == before {
            break;
        }
    }
    done
}

/// Rewrites a graph once, from inputs to results.
fn once(results: &[Arc<Node>]) -> Rewritten {
    let nodes = reachable(results, Node::is_kept);
    let slices: BTreeMap<u64, &Arc<Node>> =
        nodes.iter().filter(|node| node.is_slice()).map(|node| (node.id, node)).collect();
    let cuts = cuts(results, &nodes, &slices);
    let mut graph = RewrittenGraph { cuts, new: BTreeMap::new(), cut: BTreeMap::new(), notes: Vec::new() };
    for node in &nodes {
        let new = graph.renewed(node, &slices);
        graph.new.insert(node.id, new);
    }
    let results = results.iter().map(|node| graph.of(node)).collect();
    Rewritten { results, notes: graph.notes }
}

/// The positions of a result that later steps need.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Whole,
    /// The positions that a slice selects, by the number of the slice.
    Part(u64),
}

/// Returns the elementwise steps and read tensors whose values are needed only in one slice, with that slice.
fn cuts(results: &[Arc<Node>], nodes: &[Arc<Node>], slices: &BTreeMap<u64, &Arc<Node>>) -> BTreeMap<u64, u64> {
    let mut needed: BTreeMap<u64, Needed> = results.iter().map(|node| (node.id, Needed::Whole)).collect();
    let mut cuts = BTreeMap::new();
    for node in nodes.iter().rev().filter(|node| !node.is_kept()) {
        let mut needed_input = Needed::Whole;
        if let Some(&Needed::Part(slice)) = needed.get(&node.id)
            && (is_each(node) || is_read_in_part(node, slices.get(&slice).copied()))
        {
            cuts.insert(node.id, slice);
            needed_input = Needed::Part(slice);
        } else if node.is_slice() {
            needed_input = Needed::Part(node.id);
        }
        for input in &node.inputs {
            // If lengths broadcast, the input needs another slice. The next round moves this slice further.
            let is_alike = input.shape == node.shape || needed_input == Needed::Part(node.id);
            let needed_input = if is_alike { needed_input } else { Needed::Whole };
            let of = needed.entry(input.id).or_insert(needed_input);
            if *of != needed_input {
                *of = Needed::Whole;
            }
        }
    }
    cuts
}

/// Returns whether a slice selects only a chunk of the tensor that a node reads. If the tensor is on a device, the
/// device computes the slice.
fn is_read_in_part(node: &Node, slice: Option<&Arc<Node>>) -> bool {
    match (&node.body, slice) {
        (Body::Source(source), Some(slice)) => source.placed().is_none() && scan::is_of_part(source.as_ref(), slice),
        _ => false,
    }
}

/// Returns whether each element of a result depends only on the elements at its position. Operands may be broadcast.
fn is_each(node: &Node) -> bool {
    let Some(shape) = &node.shape else { return false };
    let fits = |input: &Shape| match node.form() {
        Form::Each => shape::broadcast(input, shape).as_ref() == Some(shape),
        Form::EachOfFirst => input == shape,
        _ => false,
    };
    let is_alike = |input: &Arc<Node>| input.kind.by_chunks().is_some() && input.shape.as_ref().is_some_and(fits);
    !node.inputs.is_empty() && node.inputs.iter().all(is_alike) && !decides_by_all(node)
}

/// Returns whether the result of a broadcasting step depends on whether an operand stores every position. A chunk does
/// not determine this for the entire operand.
pub(super) fn decides_by_all(node: &Node) -> bool {
    let is_broadcast = || node.inputs.iter().any(|input| input.shape != node.shape);
    let is_product = |op: &'static OpSpec| [&op::mul, &op::mul_nonzero, &op::div].into_iter().any(|own| op.is(own));
    node.op().is_some_and(is_product) && is_broadcast()
}

struct RewrittenGraph {
    /// The steps that are computed only for one slice, with that slice.
    cuts: BTreeMap<u64, u64>,
    /// The replacement of each step.
    new: BTreeMap<u64, Arc<Node>>,
    /// The slices of steps, by the numbers of the step and of the slice.
    cut: BTreeMap<(u64, u64), Arc<Node>>,
    notes: Vec<String>,
}

impl RewrittenGraph {
    fn of(&self, node: &Arc<Node>) -> Arc<Node> {
        self.new.get(&node.id).map_or_else(|| Arc::clone(node), Arc::clone)
    }

    /// Returns the replacement of a step whose inputs are already rewritten.
    fn renewed(&mut self, node: &Arc<Node>, slices: &BTreeMap<u64, &Arc<Node>>) -> Arc<Node> {
        if node.is_kept() {
            return Arc::clone(node);
        }
        if let Some(slice) = self.cuts.get(&node.id).and_then(|slice| slices.get(slice)) {
            return match &node.body {
                Body::Source(source) => scan::of_part(node, source, slice),
                _ => self.of_part(node, slice),
            };
        }
        if !node.is_computed() {
            return Arc::clone(node);
        }
        if node.is_slice() && self.cuts.get(&node.inputs[0].id) == Some(&node.id) {
            self.notes.push(format!("{} is moved before {}", words(node), node.inputs[0].name));
            return self.of(&node.inputs[0]);
        }
        let inputs: Vec<Arc<Node>> = node.inputs.iter().map(|input| self.of(input)).collect();
        if let [x] = &inputs[..]
            && let Some((new, notes)) = shorter(node, x)
        {
            self.notes.push(notes);
            return new;
        }
        let is_same = inputs.iter().zip(&node.inputs).all(|(new, old)| Arc::ptr_eq(new, old));
        if is_same { Arc::clone(node) } else { Arc::new(node.again(inputs, node.shape.clone())) }
    }

    /// Returns an elementwise step, computed only for the positions of a slice.
    fn of_part(&mut self, node: &Arc<Node>, slice: &Arc<Node>) -> Arc<Node> {
        let inputs = node.inputs.iter().map(|input| match self.cuts.get(&input.id) {
            Some(&cut) if cut == slice.id => self.of(input),
            _ => {
                let whole = self.of(input);
                let taken = || match (&input.shape, &node.shape) {
                    (Some(of), Some(all)) => taken(&whole, slice, of, all),
                    _ => sliced(&whole, slice),
                };
                Arc::clone(self.cut.entry((input.id, slice.id)).or_insert_with(taken))
            }
        });
        let inputs = inputs.collect();
        let mut part = node.again(inputs, slice.shape.clone());
        let wholes: Vec<&Shape> = node.inputs.iter().filter_map(|input| input.shape.as_ref()).collect();
        if wholes.iter().any(|whole| node.shape.as_ref() != Some(whole))
            && let (Some(run), Body::Step(work)) = (of_wholes(node, &wholes), &mut part.body)
        {
            work.run = run;
            // A step on small operands of the same lengths may have another result, so the two steps are not merged.
            part.wholes = Some(wholes.into_iter().cloned().collect());
        }
        Arc::new(part)
    }
}

/// Returns the slice of an operand that a slice of the result needs. The operand broadcasts to the result.
fn taken(whole: &Arc<Node>, slice: &Node, of: &Shape, all: &Shape) -> Arc<Node> {
    let Some(slices) = slice.slices().filter(|_| of != all) else { return sliced(whole, slice) };
    let own = own_slices(slices, of, all);
    match own.iter().all(|part| *part == ALL) {
        true => Arc::clone(whole),
        false => moved(whole, slice_of(own.into()), slice).unwrap_or_else(|| Arc::clone(whole)),
    }
}

/// Returns the slices of an operand from the slices of a result. Axes that the operand does not have are skipped, and
/// broadcast axes keep their only position.
fn own_slices(slices: &[SliceInfoElem], of: &Shape, all: &Shape) -> Vec<SliceInfoElem> {
    let added = all.rank() - of.rank();
    let (mut own, mut axis) = (Vec::with_capacity(slices.len()), 0);
    for &part in slices {
        if let SliceInfoElem::NewAxis = part {
            own.push(part);
            continue;
        }
        let repeats = axis >= added && of[axis - added] != all[axis];
        match (part, axis < added) {
            // Leading axes that the operand does not have are not sliced.
            (_, true) => {}
            (SliceInfoElem::Slice { .. }, _) if repeats => {
                own.push(ALL);
            }
            (SliceInfoElem::Index(_), _) if repeats => own.push(SliceInfoElem::Index(0)),
            (part, _) => own.push(part),
        }
        axis += 1;
    }
    own
}

/// Returns the text of a step with one input `x`.
fn words(node: &Node) -> String {
    match node.work() {
        Some(work) => work.call.to_text_as(node.name, &|_| "x".into()),
        None => node.description(),
    }
}

/// Returns an equivalent of a step of `x` with fewer steps, and the text of the rewrite.
fn shorter(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    uncast(node, x).or_else(|| permuted(node, x)).or_else(|| folded(node, x))
}

/// Returns the source and target types, if a step is a cast.
fn cast_of(node: &Node, x: &Node) -> Option<[DType; 2]> {
    let is_cast = node.op()?.is(&op::cast);
    Some([x.kind.dtype()?, node.kind.dtype()?]).filter(|_| is_cast)
}

/// Removes a cast to the same type, or a cast to a wider type and back.
fn uncast(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let [from, to] = cast_of(node, x)?;
    if from == to {
        return Some((Arc::clone(x), format!("{} is removed: the type does not change", words(node))));
    }
    let before = cast_of(x, x.inputs.first()?).filter(|_| !x.is_kept())?;
    let is_back = before == [to, from] && holds(from, to);
    is_back.then(|| (Arc::clone(&x.inputs[0]), format!("{} and {} are removed", words(x), words(node))))
}

/// Returns whether all values of an integer type fit in another type, so that a cast to this type and back keeps every
/// value.
fn holds(wide: DType, narrow: DType) -> bool {
    // The bits of the magnitude, and whether the type is signed. For floats, the number of bits for which all integers
    // are exact.
    let of = |dtype| {
        Some(match dtype {
            DType::Bool => (1, false),
            DType::Int8 => (7, true),
            DType::Int16 => (15, true),
            DType::Int32 => (31, true),
            DType::Int64 => (63, true),
            DType::UInt8 => (8, false),
            DType::UInt16 => (16, false),
            DType::UInt32 => (32, false),
            DType::UInt64 => (64, false),
            _ => return None,
        })
    };
    let wide = match wide {
        DType::Float32 => Some((24, true)),
        DType::Float64 => Some((53, true)),
        wide => of(wide),
    };
    matches!((wide, of(narrow)), (Some((wide, signed)), Some((bits, sign))) if bits <= wide && (signed || !sign))
}

/// Returns the order of the axes, if a move only reorders axes.
fn order_of(node: &Node, x: &Node) -> Option<Vec<usize>> {
    let call = node.call().filter(|call| call.op.split == Split::Moved)?;
    lengths::moves(call, x.shape.as_ref()?).ok()?.permutation()
}

/// Merges two reorderings of axes into one, or removes both.
fn permuted(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let inner = x.inputs.first().filter(|_| !x.is_kept())?;
    let (first, then) = (order_of(x, inner)?, order_of(node, x)?);
    let axes: Vec<usize> = then.iter().map(|&axis| first[axis]).collect();
    if axes.iter().copied().eq(0..axes.len()) {
        return Some((Arc::clone(inner), format!("{} and {} are removed", words(x), words(node))));
    }
    let order: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
    let one = Call::of(&op::permute_axes, [Arg::Input(0), Arg::integers(&order)]);
    let notes = format!("{} and {} are merged into permute_axes({axes:?})", words(x), words(node));
    Some((moved(inner, one, node)?, notes))
}

/// Merges two `any` or two `all` reductions into one reduction over the axes of both.
fn folded(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let is_one = |op: &'static OpSpec| op.is(&op::any) || op.is(&op::all);
    let (outer_call, work) = (node.call().filter(|call| is_one(call.op))?, x.work().filter(|_| !x.is_kept())?);
    let (outer, inner, of) = (outer_call.axes(), work.call.axes(), x.inputs.first()?);
    // The two steps must both reduce all elements, or both reduce only stored entries. The stored entries of result and
    // operand differ.
    let is_alike = outer_call.op == work.call.op && outer_call.is_stored() == work.call.is_stored();
    if !is_alike || outer.keeps_dims() != inner.keeps_dims() || outer.labels().or(inner.labels()).is_some() {
        return None;
    }
    let (of_inner, rank) = (inner.normalize(of.shape.as_ref()?.rank()).ok()?, of.shape.as_ref()?.rank());
    let left: Vec<usize> = (0..rank).filter(|axis| inner.keeps_dims() || !of_inner.contains(axis)).collect();
    let of_outer = outer.normalize(left.len()).ok()?.into_iter().map(|axis| left[axis]);
    let mut axes: Vec<usize> = of_outer.chain(of_inner.iter().copied()).collect();
    axes.sort_unstable();
    axes.dedup();
    let notes = format!("{} of {} is merged over {axes:?}", words(node), words(x));
    let call = work.call.with("axis", Arg::Axes(Axes::from(axes).with_keep_dims(inner.keeps_dims())));
    let shape = lengths::of_call(&call, &[of.shape.as_ref()?]);
    let again = Work { takes_chunks: takes_chunks(&call, of.shape.as_ref()), call, ..work.clone() };
    let mut again = again.node(x.name, x.kind, vec![Arc::clone(of)], shape);
    again.place = node.place;
    Some((Arc::new(again), notes))
}
