//! Graphs that are rewritten before they run, where no bit of a result changes: less is computed, or fewer steps are.
//!
//! Where a rewritten graph refuses, the graph is run as it was written, which says why.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::node::{Body, Form, Node, reachable};
use super::scan;
use super::shares::of_wholes;
use super::text::{Text, filled, said};
use super::value::Move;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::grouping::Grouping;
use crate::base::shape::{self, Shape};
use crate::element::DType;
use crate::ops::moved;

/// What makes the moves for an operand with these lengths.
pub(super) type Plan = Arc<dyn Fn(&[usize]) -> Result<moved::Moves> + Send + Sync>;

/// Makes a reduction over other axes of another step.
pub(super) type Again = Arc<dyn Fn(&Arc<Node>, Axes) -> Arc<Node> + Send + Sync>;

/// What is known of a step, by which it may be rewritten.
#[derive(Default, Clone)]
pub(super) struct Facts {
    /// It moves elements.
    pub(super) moves: Option<Plan>,
    /// It takes some positions of each axis.
    pub(super) slices: Option<Arc<Vec<SliceInfoElem>>>,
    /// It casts from a type to a type.
    pub(super) cast: Option<[DType; 2]>,
    /// It reduces by labels, of which its arguments may tell no more than a hash.
    pub(super) grouping: Option<Arc<Grouping>>,
    /// It is a reduction of which two are one, over these axes.
    pub(super) again: Option<(Axes, Again)>,
    /// It finds several gradients at once: those of the inputs with these numbers, whose shapes they have.
    pub(super) gradients_of: &'static [usize],
    /// Its operands are parts of others, by which it decides.
    pub(super) is_of_wholes: bool,
}

impl Facts {
    /// Of a reduction over axes.
    pub(super) fn over(axes: &Axes) -> Self {
        Facts { grouping: axes.grouping().cloned(), ..Facts::default() }
    }

    /// Facts of a step that takes some positions of each axis.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // the steps of expressions
    pub(super) fn of_slices(slices: Vec<SliceInfoElem>) -> Self {
        let slices = Arc::new(slices);
        let used = Arc::clone(&slices);
        let plan: Plan = Arc::new(move |lengths| moved::sliced(lengths, &**used));
        Facts { moves: Some(plan), slices: Some(slices), ..Facts::default() }
    }

    /// Of a step that finds the gradients of these inputs.
    pub(super) fn gradients_of(inputs: &'static [usize]) -> Self {
        Facts { gradients_of: inputs, ..Facts::default() }
    }
}

/// The results of a graph after it was rewritten, and what was done, a line each.
pub(super) struct Rewritten {
    pub(super) results: Vec<Arc<Node>>,
    pub(super) told: Vec<String>,
}

/// So often a graph is gone through, as one rewriting may make room for another.
const ROUNDS: usize = 8;

/// The graph of some results, rewritten.
pub(super) fn rewritten(results: &[Arc<Node>]) -> Rewritten {
    let mut done = Rewritten { results: results.to_vec(), told: Vec::new() };
    for _ in 0..ROUNDS {
        let before = done.told.len();
        let Rewritten { results, told } = once(&done.results);
        done.told.extend(told);
        done.results = results;
        if done.told.len() == before {
            break;
        }
    }
    done
}

/// Goes through a graph once, from inputs to results.
fn once(results: &[Arc<Node>]) -> Rewritten {
    let nodes = reachable(results, Node::is_kept);
    let slices: BTreeMap<u64, &Arc<Node>> =
        nodes.iter().filter(|node| node.is_slice()).map(|node| (node.id, node)).collect();
    let cuts = cuts(results, &nodes, &slices);
    let mut graph = Graph { cuts, new: BTreeMap::new(), cut: BTreeMap::new(), told: Vec::new() };
    for node in &nodes {
        let new = graph.renewed(node, &slices);
        graph.new.insert(node.id, new);
    }
    let results = results.iter().map(|node| graph.of(node)).collect();
    Rewritten { results, told: graph.told }
}

/// Which part of the result of a step is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Whole,
    /// What a slice takes, by its number.
    Part(u64),
}

/// The steps element by element of which a slice takes all that is wanted, with that slice.
fn cuts(results: &[Arc<Node>], nodes: &[Arc<Node>], slices: &BTreeMap<u64, &Arc<Node>>) -> BTreeMap<u64, u64> {
    let mut wanted: BTreeMap<u64, Wanted> = results.iter().map(|node| (node.id, Wanted::Whole)).collect();
    let mut cuts = BTreeMap::new();
    for node in nodes.iter().rev().filter(|node| !node.is_kept()) {
        let mut asked = Wanted::Whole;
        if let Some(&Wanted::Part(slice)) = wanted.get(&node.id)
            && (is_each(node) || is_read_in_part(node, slices.get(&slice).copied()))
        {
            cuts.insert(node.id, slice);
            asked = Wanted::Part(slice);
        } else if node.is_slice() {
            asked = Wanted::Part(node.id);
        }
        for input in &node.inputs {
            // Of lengths that broadcast it is another slice, which goes further in the next round.
            let is_alike = input.shape == node.shape || asked == Wanted::Part(node.id);
            let asked = if is_alike { asked } else { Wanted::Whole };
            let of = wanted.entry(input.id).or_insert(asked);
            if *of != asked {
                *of = Wanted::Whole;
            }
        }
    }
    cuts
}

/// Whether a slice takes a part of what a node reads.
fn is_read_in_part(node: &Node, slice: Option<&Arc<Node>>) -> bool {
    match (&node.body, slice) {
        (Body::Source(source), Some(slice)) => scan::is_of_part(source.as_ref(), slice),
        _ => false,
    }
}

/// Whether a step gives each element of its result from those at the same place, of lengths that may broadcast.
fn is_each(node: &Node) -> bool {
    let Some(shape) = &node.shape else { return false };
    let fits = |input: &Shape| match node.form() {
        Form::Each => shape::broadcast(input, shape).as_ref() == Some(shape),
        Form::EachOfFirst => input == shape,
        _ => false,
    };
    let is_alike = |input: &Arc<Node>| input.kind.by_pieces().is_some() && input.shape.as_ref().is_some_and(fits);
    !node.inputs.is_empty() && node.inputs.iter().all(is_alike) && !decides_by_all(node)
}

/// Whether a step of operands of different shapes looks at whether one stores every position, which a part of it does not
/// tell.
pub(super) fn decides_by_all(node: &Node) -> bool {
    let is_broadcast = || node.inputs.iter().any(|input| input.shape != node.shape);
    matches!(node.name, "mul" | "mul_nonzero" | "div") && is_broadcast()
}

struct Graph {
    /// The steps that are computed of a part alone, with the slice that takes it.
    cuts: BTreeMap<u64, u64>,
    /// What stands for each step.
    new: BTreeMap<u64, Arc<Node>>,
    /// What a slice takes of a step, by the numbers of both.
    cut: BTreeMap<(u64, u64), Arc<Node>>,
    told: Vec<String>,
}

impl Graph {
    fn of(&self, node: &Arc<Node>) -> Arc<Node> {
        self.new.get(&node.id).map_or_else(|| Arc::clone(node), Arc::clone)
    }

    /// What stands for a step whose inputs have been gone through.
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
        if !matches!(node.body, Body::Step { .. }) {
            return Arc::clone(node);
        }
        if node.is_slice() && self.cuts.get(&node.inputs[0].id) == Some(&node.id) {
            self.told.push(format!("{} is before {}", words(node), node.inputs[0].name));
            return self.of(&node.inputs[0]);
        }
        let inputs: Vec<Arc<Node>> = node.inputs.iter().map(|input| self.of(input)).collect();
        if let [x] = &inputs[..]
            && let Some((new, told)) = shorter(node, x)
        {
            self.told.push(told);
            return new;
        }
        let is_same = inputs.iter().zip(&node.inputs).all(|(new, old)| Arc::ptr_eq(new, old));
        if is_same { Arc::clone(node) } else { Arc::new(node.again(inputs, node.shape.clone())) }
    }

    /// A step element by element of the part that a slice takes.
    fn of_part(&mut self, node: &Arc<Node>, slice: &Arc<Node>) -> Arc<Node> {
        let inputs = node.inputs.iter().map(|input| match self.cuts.get(&input.id) {
            Some(&cut) if cut == slice.id => self.of(input),
            _ => {
                let whole = self.of(input);
                let taken = || match (&input.shape, &node.shape) {
                    (Some(of), Some(all)) => taken(&whole, slice, of, all),
                    _ => whole.kind.moved(&whole, Move::of(slice)).unwrap_or_else(|| Arc::clone(&whole)),
                };
                Arc::clone(self.cut.entry((input.id, slice.id)).or_insert_with(taken))
            }
        });
        let inputs = inputs.collect();
        let mut part = node.again(inputs, slice.shape.clone());
        let wholes: Vec<&Shape> = node.inputs.iter().filter_map(|input| input.shape.as_ref()).collect();
        if wholes.iter().any(|whole| node.shape.as_ref() != Some(whole))
            && let (Some(run), form) = (of_wholes(node, &wholes), node.form())
        {
            part.body = Body::Step { run, form };
            part.facts.is_of_wholes = true;
            // A step of operands of these lengths decides by their own.
            part.arguments = format!("{} of {wholes:?}", part.arguments);
        }
        Arc::new(part)
    }
}

/// What a slice of a result takes of an operand whose lengths broadcast to those of the result.
fn taken(whole: &Arc<Node>, slice: &Node, of: &Shape, all: &Shape) -> Arc<Node> {
    let moved = |by: Move| whole.kind.moved(whole, by).unwrap_or_else(|| Arc::clone(whole));
    let Some(slices) = slice.facts.slices.as_ref().filter(|_| of != all) else { return moved(Move::of(slice)) };
    let own = own_slices(slices, of, all);
    let is_whole = |part: &SliceInfoElem| *part == SliceInfoElem::Slice { start: 0, end: None, step: 1 };
    match own.iter().all(is_whole) {
        true => Arc::clone(whole),
        false => moved(Move::sliced(own, slice.place)),
    }
}

/// Of slices of a result those of an operand: an axis that it has not is not cut, and one that it repeats along keeps
/// its only position.
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
            // Axes that are missing at the front stay so, whether those of the result go or not.
            (_, true) => {}
            (SliceInfoElem::Slice { .. }, _) if repeats => {
                own.push(SliceInfoElem::Slice { start: 0, end: None, step: 1 });
            }
            (SliceInfoElem::Index(_), _) if repeats => own.push(SliceInfoElem::Index(0)),
            (part, _) => own.push(part),
        }
        axis += 1;
    }
    own
}

/// A step of one input in words.
fn words(node: &Node) -> String {
    match &node.text {
        Text::Calls(calls) if calls.len() == 1 => filled(&calls[0], |_| "x".into()),
        _ => node.told(),
    }
}

/// What is the same as a step of `x`, with fewer steps, and what was done.
fn shorter(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    uncast(node, x).or_else(|| permuted(node, x)).or_else(|| folded(node, x))
}

/// A cast to the same type, or there and back, changes nothing.
fn uncast(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let [from, to] = node.facts.cast?;
    if from == to {
        return Some((Arc::clone(x), format!("{} is left out: it is of that type", words(node))));
    }
    let before = x.facts.cast.filter(|_| !x.is_kept())?;
    let is_back = before == [to, from] && holds(from, to);
    is_back.then(|| (Arc::clone(&x.inputs[0]), format!("{} and {} are left out", words(x), words(node))))
}

/// Whether a type has all values of another one of integers, so that they come back as they were.
fn holds(wide: DType, narrow: DType) -> bool {
    // The bits of the magnitude, and whether there is a sign; of floats those that all integers up to there have.
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

/// The order that a move puts axes in, if it does nothing else.
fn order_of(node: &Node, x: &Node) -> Option<Vec<usize>> {
    node.facts.moves.as_ref()?(x.shape.as_ref()?).ok()?.permutation()
}

/// Two moves that put axes in another order are one, or none.
fn permuted(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let inner = x.inputs.first().filter(|_| !x.is_kept())?;
    let (first, then) = (order_of(x, inner)?, order_of(node, x)?);
    let axes: Vec<usize> = then.iter().map(|&axis| first[axis]).collect();
    if axes.iter().copied().eq(0..axes.len()) {
        return Some((Arc::clone(inner), format!("{} and {} are left out", words(x), words(node))));
    }
    let order: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
    let one = Move {
        name: "permute_axes",
        arguments: format!("{axes:?}"),
        text: Text::call("permute_axes", &["%0"], said!(axes)),
        plan: Arc::new(move |lengths| moved::permuted(lengths, &order)),
        slices: None,
        place: node.place,
    };
    let told = format!("{} and {} are permute_axes({axes:?})", words(x), words(node));
    Some((inner.kind.moved(inner, one)?, told))
}

/// Two reductions of one kind are one over the axes of both.
fn folded(node: &Node, x: &Arc<Node>) -> Option<(Arc<Node>, String)> {
    let ((outer, _), (inner, again)) = (node.facts.again.as_ref()?, x.facts.again.as_ref().filter(|_| !x.is_kept())?);
    let of = x.inputs.first()?;
    // What is stored of a result is not what is stored of the operand, but where both look at the same.
    let is_alike = node.name == x.name && node.text.is_of_stored() == x.text.is_of_stored();
    if !is_alike || outer.keeps_dims() != inner.keeps_dims() || outer.grouping().or(inner.grouping()).is_some() {
        return None;
    }
    let (of_inner, rank) = (inner.normalize(of.shape.as_ref()?.rank()).ok()?, of.shape.as_ref()?.rank());
    let left: Vec<usize> = (0..rank).filter(|axis| inner.keeps_dims() || !of_inner.contains(axis)).collect();
    let of_outer = outer.normalize(left.len()).ok()?.into_iter().map(|axis| left[axis]);
    let mut axes: Vec<usize> = of_outer.chain(of_inner.iter().copied()).collect();
    axes.sort_unstable();
    axes.dedup();
    let told = format!("{} of {} is over {axes:?}", words(node), words(x));
    Some((again(of, Axes::from(axes).with_keep_dims(inner.keeps_dims())), told))
}
