//! Lowering of syntax to a graph. Each function call becomes a node, and `grad(y, x, dy)` becomes the nodes of the
//! gradient.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::argument::Low;
use super::arithmetic::{binary, signed};
use super::call::placed;
use super::fault::{CallPositions, wrong};
use super::index::{IndexPart, text_of};
use super::literal::{Literal, constant};
use super::run::{EXPRESSION, step_impl};
use super::{Argument, Binary, Callee, ExpressionNode, Fault, Id, IndexItem, NodeKind, Unary, Wrong, parse};
use crate::base::axes::Axes;
use crate::base::error::Error;
use crate::lazy::Node as Step;
use crate::lazy::call::{Arg, Call};
use crate::lazy::expression::{self, Ordered};
use crate::ops::{OpSpec, ParameterKind, op};

type Found<T> = Result<T, Fault>;

/// The largest number of steps of one gradient.
const MAX_STEPS: usize = 10_000;

/// The largest number of steps that all gradients of a text visit together.
const VISITED: usize = 5_000_000;

/// An expression as a graph.
#[derive(Debug, Clone, Default)]
pub(super) struct Lowered {
    pub(super) graph: Ordered,
    /// The result of the expression, or the results of a list.
    pub(super) results: Vec<Outcome>,
    /// The positions in the text, by the numbers of the steps.
    places: HashMap<u64, CallPositions>,
    /// The names that are numbers, unless they are bound.
    pub(super) constants: Vec<String>,
}

/// A result of an expression.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// The value of the step with this index.
    Step(usize),
    Number(Literal),
}

impl Lowered {
    /// Returns the graph of the last node, which is a list of results if `has_list`. A name is an input, except a
    /// constant for which `is_bound` is false.
    pub(super) fn new(nodes: &[ExpressionNode], has_list: bool, is_bound: &dyn Fn(&str) -> bool) -> Found<Self> {
        let mut lowering = Lowering::empty(nodes, is_bound);
        for node in nodes {
            let low = lowering.lowered(node)?;
            lowering.found.push(low);
        }
        let Some((root, last)) = lowering.found.pop().zip(nodes.last()) else {
            return wrong(&(0..0), "the expression is empty");
        };
        let roots = match root {
            Low::List(items) if has_list && !items.is_empty() => items.to_vec(),
            root => vec![root],
        };
        let mut steps = Vec::new();
        let mut results = Vec::new();
        for root in roots {
            results.push(match root {
                Low::Step(step) => {
                    steps.push(step);
                    Outcome::Step(steps.len() - 1)
                }
                Low::Stored(step) => {
                    steps.push(lowering.entries(step, &last.at));
                    Outcome::Step(steps.len() - 1)
                }
                Low::Number(number) => Outcome::Number(number),
                other => return wrong(&last.at, format!("{} is not a result", other.kind())),
            });
        }
        let graph = Ordered::new(&steps);
        for result in &mut results {
            if let Outcome::Step(step) = result {
                *step = graph.results[*step];
            }
        }
        Ok(Lowered { graph, results, places: lowering.places, constants: lowering.constants })
    }

    /// Returns the positions of a step.
    pub(super) fn places(&self, step: u64) -> &CallPositions {
        static NONE: CallPositions = CallPositions { call: 0..0, arguments: Vec::new() };
        self.places.get(&step).unwrap_or(&NONE)
    }
}

pub(super) struct Lowering<'a> {
    pub(super) nodes: &'a [ExpressionNode],
    is_bound: &'a dyn Fn(&str) -> bool,
    /// The lowered nodes so far.
    pub(super) found: Vec<Low>,
    inputs: HashMap<String, Arc<Step>>,
    places: HashMap<u64, CallPositions>,
    constants: Vec<String>,
    /// The number of steps that gradients have visited so far.
    visited: usize,
    /// The number of steps of each result that has a gradient, by the number of the result.
    sizes: HashMap<u64, usize>,
}

impl<'a> Lowering<'a> {
    fn empty(nodes: &'a [ExpressionNode], is_bound: &'a dyn Fn(&str) -> bool) -> Self {
        Lowering {
            nodes,
            is_bound,
            found: Vec::with_capacity(nodes.len()),
            inputs: HashMap::new(),
            places: HashMap::new(),
            constants: Vec::new(),
            visited: 0,
            sizes: HashMap::new(),
        }
    }

    /// Returns the stored entries of a step as a result. Arrays do not have this step.
    fn entries(&mut self, step: Arc<Step>, at: &Range<usize>) -> Arc<Step> {
        let step = expression::called(Call::of(&op::stored, [Arg::Input(0)]), vec![step], step_impl());
        let places = CallPositions { call: at.clone(), arguments: vec![at.clone()] };
        self.places.insert(expression::number(&step), places);
        step
    }

    fn lowered(&mut self, node: &ExpressionNode) -> Found<Low> {
        let at = &node.at;
        match &node.kind {
            NodeKind::Number(number) => Ok(Low::Number(number.clone())),
            NodeKind::Text(text) => Ok(Low::Text(text.as_str().into())),
            NodeKind::Name(name) => Ok(self.name(name, at)),
            NodeKind::Same(value) => Ok(self.found[*value].clone()),
            NodeKind::List(items) => Ok(Low::List(items.iter().map(|&item| self.found[item].clone()).collect())),
            NodeKind::Unary(sign, x) => self.unary(*sign, *x, at),
            NodeKind::Binary(operator, x, y) => self.operator(*operator, *x, *y, at),
            NodeKind::Call(callee, arguments) => self.call(callee, arguments, at),
            NodeKind::Index(x, items) => self.index(*x, items, at),
        }
    }

    fn name(&mut self, name: &str, at: &Range<usize>) -> Low {
        if let Some(number) = constant(name) {
            if !self.constants.iter().any(|known| known == name) {
                self.constants.push(name.into());
            }
            if !(self.is_bound)(name) {
                return Low::Number(number);
            }
        }
        let input = self.inputs.entry(name.into()).or_insert_with(|| expression::input(name, &EXPRESSION));
        let places = CallPositions { call: at.clone(), arguments: Vec::new() };
        self.places.entry(expression::number(input)).or_insert(places);
        Low::Step(Arc::clone(input))
    }

    /// Returns the number of a node, if the node is a number.
    fn number(&self, id: Id) -> Option<&Literal> {
        if let Low::Number(number) = &self.found[id] { Some(number) } else { None }
    }

    fn unary(&mut self, sign: Unary, x: Id, at: &Range<usize>) -> Found<Low> {
        match (self.number(x), sign) {
            (Some(number), sign) => Ok(Low::Number(signed(sign, number, at)?)),
            (None, Unary::Neg) => self.step(&op::neg, &[&[x]], at),
            (None, Unary::Not) => self.step(&op::not, &[&[x]], at),
        }
    }

    fn operator(&mut self, operator: Binary, x: Id, y: Id, at: &Range<usize>) -> Found<Low> {
        let number = self.number(y);
        if let (Some(x), Some(y)) = (self.number(x), number) {
            return Ok(Low::Number(binary(operator, x, y, at)?));
        }
        let is_integer = |number: &Literal| number.integer().is_some_and(|integer| i32::try_from(integer).is_ok());
        let op = match (operator, number) {
            (Binary::Pow, Some(exponent)) if is_integer(exponent) => &op::powi,
            (Binary::Pow, Some(_)) => &op::powf,
            (operator, _) => operator.operation(),
        };
        self.step(op, &[&[x], &[y]], at)
    }

    fn call(&mut self, callee: &Callee, arguments: &[Argument], at: &Range<usize>) -> Found<Low> {
        let (function, places) = placed(callee, arguments, self.nodes).map_err(Fault::Wrong)?;
        let places: Vec<&[Id]> = places.iter().map(Vec::as_slice).collect();
        match function.op {
            op if op.is(&op::grad) => self.grad([0, 1, 2].map(|place| places[place][0]), at),
            op if op.is(&op::stored) => match &self.found[places[0][0]] {
                Low::Step(step) => Ok(Low::Stored(Arc::clone(step))),
                // An invalid argument causes an error when the step runs.
                _ => self.step(op, &places, at),
            },
            op if op.is(&op::diff) => self.diff(&places, at),
            op if op.is(&op::trace) => self.trace(&places, at),
            op if op.is(&op::block) => self.block(places[0][0], at),
            op => self.step(op, &places, at),
        }
    }

    /// Returns the concatenation of a list of rows. A row is joined along the last axis, and the rows along the axis
    /// before it.
    fn block(&mut self, rows: Id, at: &Range<usize>) -> Found<Low> {
        let Low::List(rows_of) = self.found[rows].clone() else {
            return wrong(&self.nodes[rows].at, format!("expected a list of rows, found {}", self.found[rows].kind()));
        };
        let mut joined = Vec::with_capacity(rows_of.len());
        for row in rows_of.iter() {
            joined.push(self.joined(row, -1, at));
        }
        Ok(self.joined(&Low::List(joined.into()), -2, at))
    }

    /// Returns the steps of a trace: the sum of a diagonal. The sum of a view counts the stored entries of the diagonal.
    fn trace(&mut self, places: &[&[Id]], at: &Range<usize>) -> Found<Low> {
        let diagonal = match (self.step(&op::diagonal, places, at)?, &self.found[places[0][0]]) {
            (Low::Step(diagonal), Low::Stored(_)) => Low::Stored(diagonal),
            (diagonal, _) => diagonal,
        };
        let mut inputs = Vec::new();
        let args = [diagonal.arg(&mut inputs), Arg::Axes(Axes::from(-1))];
        Ok(self.push(Call::of(&op::sum, args), inputs, CallPositions { call: at.clone(), arguments: Vec::new() }))
    }

    /// Returns the step of a difference. `prepend` and `append` are first joined with the operand.
    fn diff(&mut self, places: &[&[Id]], at: &Range<usize>) -> Found<Low> {
        let [x, n, axis, prepend, append] = *places else { return self.step(&op::diff, places, at) };
        let (own, all) = (x[0], [prepend, x, append].concat());
        let whole = self.found[own].clone();
        if all.len() > 1 {
            let axis = axis.first().map_or(Ok(-1), |&axis| self.end(axis))?;
            let tensor = |&id: &Id| match self.found[id].step() {
                Some(step) => Ok(Low::Step(Arc::clone(step))),
                None => wrong(&self.nodes[id].at, format!("expected a tensor, found {}", self.found[id].kind())),
            };
            let parts = all.iter().map(tensor).collect::<Found<_>>()?;
            let joined = self.joined(&Low::List(parts), axis, at);
            self.found[own] = match (&whole, joined.step()) {
                (Low::Stored(_), Some(joined)) => Low::Stored(Arc::clone(joined)),
                _ => joined,
            };
        }
        let found = self.step(&op::diff, &[x, n, axis, &[], &[]], at);
        self.found[own] = whole;
        found
    }

    fn joined(&mut self, tensors: &Low, axis: i128, at: &Range<usize>) -> Low {
        let mut inputs = Vec::new();
        let args = [tensors.arg(&mut inputs), Arg::Integer(axis)];
        self.push(Call::of(&op::concat, args), inputs, CallPositions { call: at.clone(), arguments: Vec::new() })
    }

    /// Returns the items of an index, with at most one ellipsis.
    pub(super) fn parts(&self, items: &[IndexItem]) -> Found<Vec<IndexPart>> {
        let mut ellipses =
            items.iter().filter_map(|item| if let IndexItem::Ellipsis(at) = item { Some(at) } else { None });
        match ellipses.nth(1) {
            Some(at) => wrong(at, "an index has at most one ellipsis; write : for one axis"),
            None => items.iter().map(|item| self.part(item)).collect(),
        }
    }

    fn part(&self, item: &IndexItem) -> Found<IndexPart> {
        let end = |id: &Option<Id>| id.map(|id| self.end(id)).transpose();
        Ok(match item {
            IndexItem::One(index) => IndexPart::One(self.end(*index)?),
            IndexItem::Slice([start, stop, step]) => IndexPart::Range([end(start)?, end(stop)?, end(step)?]),
            IndexItem::Ellipsis(_) => IndexPart::Ellipsis,
            IndexItem::NewAxis => IndexPart::NewAxis,
        })
    }

    /// Returns an integer of an index.
    fn end(&self, id: Id) -> Found<i128> {
        match &self.found[id] {
            Low::Number(number) => match number.integer() {
                Some(integer) => Ok(integer),
                None => {
                    wrong(&self.nodes[id].at, format!("expected an integer as index, found {}", number.source_text()))
                }
            },
            other => wrong(&self.nodes[id].at, format!("expected an integer as index, found {}", other.kind())),
        }
    }

    /// Returns the step of an operation, from the nodes of each parameter.
    fn step(&mut self, op: &'static OpSpec, places: &[&[Id]], at: &Range<usize>) -> Found<Low> {
        let (mut inputs, mut args, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
        for (parameter, ids) in op.parameters().zip(places) {
            args.push(match **ids {
                [] => Arg::Absent,
                [id] => match (parameter.kind, &self.found[id]) {
                    (ParameterKind::Slices, Low::Text(text)) => Arg::Text(canonical(text, &self.nodes[id].at)?.into()),
                    (kind, low) => low.of_kind(kind, &mut inputs, &self.nodes[id].at)?,
                },
                ref ids => Arg::List(ids.iter().map(|&id| self.found[id].arg(&mut inputs)).collect()),
            });
            arguments.push(if let [id] = **ids { self.nodes[id].at.clone() } else { at.clone() });
        }
        let places = CallPositions { call: at.clone(), arguments };
        with_kept_axes(op, &mut args, &places)?;
        Ok(self.push(Call::of(op, args), inputs, places))
    }

    pub(super) fn push(&mut self, call: Call, inputs: Vec<Arc<Step>>, places: CallPositions) -> Low {
        let step = expression::called(call, inputs, step_impl());
        self.places.insert(expression::number(&step), places);
        Low::Step(step)
    }

    /// Returns the gradient of a part of the expression with respect to a name.
    fn grad(&mut self, [y, x, upstream]: [Id; 3], at: &Range<usize>) -> Found<Low> {
        match self.nodes[x].kind {
            NodeKind::Name(_) => {}
            NodeKind::Same(_) => return wrong(&self.nodes[x].at, "the second argument of grad must be an operand"),
            _ => return wrong(&self.nodes[x].at, "the second argument of grad must be a name"),
        }
        if let (Low::Number(_), Some(by)) = (&self.found[y], self.found[x].step()) {
            // A number does not depend on a tensor.
            let Some(zeros) = expression::no_gradient(by, step_impl()) else {
                return wrong(at, "this is not differentiable");
            };
            keep_place(&mut self.places, &zeros, at);
            return Ok(Low::Step(zeros));
        }
        let tensor = |id: Id| match self.found[id].step() {
            Some(step) => Ok(Arc::clone(step)),
            None => wrong(&self.nodes[id].at, format!("expected a tensor, found {}", self.found[id].kind())),
        };
        let (of, by) = (tensor(y)?, tensor(x)?);
        let upstream = match &self.found[upstream] {
            Low::Number(number) => {
                let call = Call::of(&op::number_like, [Arg::Input(0), number.clone().into()]);
                expression::called(call, vec![Arc::clone(&of)], step_impl())
            }
            _ => tensor(upstream)?,
        };
        let size = || expression::numbers(&of, &|_| false).len();
        self.visited += *self.sizes.entry(expression::number(&of)).or_insert_with(size);
        if self.visited > VISITED {
            return wrong(at, format!("the gradients up to this one visit more than {VISITED} steps"));
        }
        let zero = || expression::no_gradient(&by, step_impl());
        let places = &mut self.places;
        keep_place(places, &upstream, at);
        // A step of a gradient has the position of the operation whose gradient it computes.
        let mut keep = |step: &Arc<Step>, gradient: &Arc<Step>| {
            let place = places.get(&expression::number(step)).map_or_else(|| at.clone(), |places| places.call.clone());
            keep_place(places, gradient, &place);
        };
        let found = match expression::gradient(&of, &upstream, &by, &mut keep) {
            Ok(found) => found.or_else(zero),
            Err(rejection) => return Err(Fault::Wrong(self.without_gradient(&rejection.step, &rejection.error, at))),
        };
        let Some(found) = found else { return wrong(at, "this is not differentiable") };
        let count = expression::numbers(&found, &|_| false).len();
        self.visited += count;
        if count > MAX_STEPS {
            return wrong(at, format!("this gradient has more than {MAX_STEPS} steps"));
        }
        keep_place(&mut self.places, &found, at);
        Ok(Low::Step(found))
    }

    /// Returns the error of a step without a gradient, at the position of the step.
    fn without_gradient(&self, step: &Step, error: &Error, at: &Range<usize>) -> Wrong {
        let mut cause = error;
        while let Error::Lazy { cause: inner, .. } = cause {
            cause = inner;
        }
        let place = self.places.get(&expression::number(step)).map_or_else(|| at.clone(), |places| places.call.clone());
        match cause {
            Error::NoGradient { operation } => {
                let semiring = step.call().and_then(|call| call.text_of("semiring"));
                let over =
                    semiring.map_or_else(String::new, |semiring| format!(" over {}", semiring.trim_matches('"')));
                Wrong::new(place, format!("{}{over} is not differentiable", operation.trim_end_matches('_')))
            }
            other => Wrong::new(place, other.to_string()),
        }
    }
}

/// Moves the argument `keep_dims` into the axes. Labels require one axis.
fn with_kept_axes(op: &'static OpSpec, args: &mut [Arg], places: &CallPositions) -> Found<()> {
    let (Some(axis), Some(keep_dims)) = (op.place_of("axis"), op.place_of("keep_dims")) else { return Ok(()) };
    if let Some(by) = op.place_of("by").filter(|&by| !matches!(args[by], Arg::Absent))
        && let Arg::Absent = args[axis]
    {
        return wrong(&places.of(by), "labels require axis=…");
    }
    if let Arg::Flag(keeps) = std::mem::replace(&mut args[keep_dims], Arg::Absent) {
        let axes = if let Arg::Axes(axes) = &args[axis] { axes.clone() } else { Axes::all() };
        args[axis] = Arg::Axes(axes.with_keep_dims(keeps));
    }
    Ok(())
}

/// Sets the position of a step, and of all earlier steps that do not have a position.
fn keep_place(places: &mut HashMap<u64, CallPositions>, step: &Arc<Step>, place: &Range<usize>) {
    for number in expression::numbers(step, &|number| places.contains_key(&number)) {
        places.insert(number, CallPositions { call: place.clone(), arguments: Vec::new() });
    }
}

/// Returns the text of an index whose ends are integers, from a text whose ends are expressions.
fn canonical(text: &str, at: &Range<usize>) -> Found<String> {
    let moved = |fault: Fault| match fault {
        Fault::Wrong(inner) => Fault::Wrong(Wrong::new(at.clone(), inner.message)),
        fault => fault,
    };
    let (nodes, items) = parse::index(text).map_err(Fault::Wrong).map_err(moved)?;
    let mut lowering = Lowering::empty(&nodes, &|_| false);
    for node in &nodes {
        let low = lowering.lowered(node).map_err(moved)?;
        lowering.found.push(low);
    }
    lowering.parts(&items).map(|parts| text_of(&parts)).map_err(moved)
}

impl Binary {
    /// Returns the operation of the operator on tensors.
    fn operation(self) -> &'static OpSpec {
        match self {
            Binary::Or => &op::bit_or,
            Binary::And => &op::bit_and,
            Binary::Equal => &op::equal,
            Binary::NotEqual => &op::not_equal,
            Binary::Less => &op::less,
            Binary::LessEqual => &op::less_equal,
            Binary::Greater => &op::greater,
            Binary::GreaterEqual => &op::greater_equal,
            Binary::Add => &op::add,
            Binary::Sub => &op::sub,
            Binary::Mul => &op::mul,
            Binary::Div => &op::div,
            Binary::DivFloor => &op::div_floor,
            Binary::Rem => &op::rem,
            Binary::MatMul => &op::matmul,
            Binary::Pow => &op::pow,
        }
    }
}
