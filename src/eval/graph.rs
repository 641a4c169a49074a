//! An expression as a graph of steps, which an engine may take in parts.

use ndarray::SliceInfoElem;

use super::call::{self, Call};
use super::value::{Placed, Value};
use super::{Argument, Binary, Fault, Id, Item, Kind, Node, Unary, Wrong};
use super::{cuts, explain, grad, run, table};
use crate::base::error::Error;
use crate::base::shape::Shape;
use crate::dynamic::AnyValue;
use crate::lazy::shares::Shares;
use crate::lazy::{Lazy, OfStep};
use crate::ops::PARAMETER_MARKS;

/// The value of a name of an expression in a graph, and its header. The header of a tensor has the type, shape and fill
/// of the tensor, and need not have its entries.
///
/// ```
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::eval::{Bound, Expression};
/// use lacuna::{CooTensor, lazy::Chunks};
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![-3.0], 0.0)?.with_index::<u64>()?;
/// let header = AnyTensor::from(CooTensor::<f64>::full([2], 0.0)?.with_index::<u64>()?);
/// let value = AnyTensor::from(x).lazy(); // or the scan of a file
/// let graph = Expression::parse("abs(x) + 1")?.graph(|_| Some(Bound::later(value.clone(), header.clone())))?;
/// assert_eq!(graph.collect()?.into_tensor()?.into_coo::<f64, u64>()?.to_vec(&[])?, [1.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bound {
    value: Lazy<AnyValue>,
    header: AnyValue,
}

impl Bound {
    /// A value that is computed or read later, and its header.
    pub fn later(value: Lazy<AnyValue>, header: impl Into<AnyValue>) -> Self {
        Bound { value, header: header.into() }
    }
}

impl<V: Into<AnyValue>> From<V> for Bound {
    fn from(value: V) -> Self {
        let value = value.into();
        Bound { value: value.lazy(), header: value }
    }
}

/// The graph of the last node.
pub(super) fn graph(
    nodes: &[Node],
    bound: &dyn Fn(&str) -> Option<Bound>,
) -> std::result::Result<Lazy<AnyValue>, Fault> {
    let known = explain::known(nodes, &|name| bound(name).map(|bound| bound.header))?;
    let mut graph = Graph { nodes, known, steps: Vec::with_capacity(nodes.len()) };
    for (id, uses) in run::uses(nodes).into_iter().enumerate() {
        let step = match &nodes[id].kind {
            _ if uses == 0 => None,
            Kind::Name(name) => bound(name).map(|bound| bound.value),
            _ => (graph.is_step(id) || id + 1 == nodes.len()).then(|| graph.step(id)),
        };
        graph.steps.push(step);
    }
    let none = || Fault::Wrong(Wrong::new(0..0, "there is no expression"));
    let last = nodes.len().checked_sub(1).ok_or_else(none)?;
    let found = graph.steps.pop().flatten();
    // A name alone that is a number.
    Ok(found.unwrap_or_else(|| graph.step(last)))
}

struct Graph<'a> {
    nodes: &'a [Node],
    /// What types, shapes and fills tell of each node.
    known: Vec<Option<Value>>,
    /// The step of each node that evaluates to a tensor or an array.
    steps: Vec<Option<Lazy<AnyValue>>>,
}

/// A part of an expression: a node, and what it needs that is no step.
struct Part<'a> {
    graph: &'a Graph<'a>,
    nodes: Vec<Node>,
    /// The steps that it needs, which are called by their places here, and the parameters that they are in.
    inputs: Vec<(Id, usize)>,
}

impl Part<'_> {
    /// The node that an operand becomes.
    fn operand(&mut self, id: Id, parameter: usize) -> Id {
        let (node, known) = (&self.graph.nodes[id], &self.graph.known[id]);
        let kind = match (known, self.graph.steps[id].is_some()) {
            (_, true) => {
                self.inputs.push((id, parameter));
                Kind::Name((self.inputs.len() - 1).to_string())
            }
            (Some(Value::Number(number)), _) => Kind::Number(number.clone()),
            _ => grad::with_inputs(&node.kind, &mut |input| self.operand(input, parameter)),
        };
        self.nodes.push(Node { kind, at: node.at.clone() });
        self.nodes.len() - 1
    }

    /// The node itself, whose operands are in the order of its parameters.
    fn root(&mut self, id: Id) {
        let node = &self.graph.nodes[id];
        let kind = match (&node.kind, self.graph.places(id)) {
            (Kind::Call(name, _), Some(places)) => Kind::Call(name.clone(), self.arguments(name, &places)),
            (kind, _) => {
                let mut parameter = 0..;
                grad::with_inputs(kind, &mut |input| self.operand(input, parameter.next().unwrap_or(0)))
            }
        };
        self.nodes.push(Node { kind, at: node.at.clone() });
    }

    fn arguments(&mut self, name: &str, places: &[Vec<Id>]) -> Vec<Argument> {
        let names = table::function(name).into_iter().flat_map(|function| function.op.parameters());
        let (mut arguments, mut is_next) = (Vec::new(), true);
        for ((parameter, name), ids) in names.enumerate().zip(places) {
            let name = name.trim_end_matches(PARAMETER_MARKS).to_string();
            for &id in ids {
                let value = self.operand(id, parameter);
                arguments.push(Argument { name: (!is_next).then(|| (name.clone(), 0..0)), value });
            }
            is_next &= !ids.is_empty();
        }
        arguments
    }
}

impl Graph<'_> {
    /// Whether a node that is read evaluates to a tensor or an array.
    fn is_step(&self, id: Id) -> bool {
        match (&self.known[id], &self.nodes[id].kind) {
            (Some(known), _) => matches!(known, Value::Tensor(_) | Value::Array(_)),
            (None, Kind::Call(name, _)) => name != "stored",
            (None, kind) => !matches!(kind, Kind::Number(_) | Kind::Text(_) | Kind::Name(_) | Kind::List(_)),
        }
    }

    /// The arguments of each parameter of a call.
    fn places(&self, id: Id) -> Option<Vec<Vec<Id>>> {
        let node = &self.nodes[id];
        let Kind::Call(name, arguments) = &node.kind else { return None };
        call::placed(table::function(name)?, arguments, &node.at, self.nodes).ok()
    }

    fn shape(&self, id: Id) -> Option<Shape> {
        self.known[id].as_ref().and_then(Value::operand).map(|operand| operand.shape())
    }

    /// The step that a node is.
    fn step(&self, id: Id) -> Lazy<AnyValue> {
        let mut part = Part { graph: self, nodes: Vec::new(), inputs: Vec::new() };
        part.root(id);
        let Part { nodes, inputs, .. } = part;
        let steps: Vec<&Lazy<AnyValue>> = inputs.iter().filter_map(|(id, _)| self.steps[*id].as_ref()).collect();
        let (name, call) = (name_of(&self.nodes[id].kind), self.call(id));
        let shape = self.shape(id).or_else(|| cuts::shape_of(call.as_ref()?));
        let parameters = inputs.iter().map(|(_, parameter)| *parameter).collect::<Vec<_>>();
        let shares = shape.as_ref().and_then(|_| self.shares(id, &parameters));
        let is_each = !inputs.is_empty() && self.is_each(id, &parameters);
        let slices = if parameters == [0] { self.slices(id) } else { None };
        let told = explain::call(&nodes, |name| name.parse::<usize>().ok().map(|at| format!("%{at}")));
        let run = move |inputs: &[&AnyValue]| {
            let bound = |name: &str| inputs.get(name.parse::<usize>().ok()?).map(|&x| x.clone());
            run::evaluate(&nodes, &bound).map_err(|fault| of_run(name, fault))
        };
        let step = Lazy::step_of((name, told), &steps, OfStep { shape, shares, is_each, slices }, run);
        match call.and_then(|call| cuts::fold(&call)) {
            Some(fold) => step.folding(fold),
            None => step,
        }
    }

    /// What a range of the result of a node takes of its inputs, which are in these parameters.
    fn shares(&self, id: Id, parameters: &[usize]) -> Option<Shares> {
        let node = &self.nodes[id];
        match &node.kind {
            Kind::Binary(Binary::MatMul, ..) => cuts::product(parameters),
            Kind::Unary(..) | Kind::Binary(..) => Some(cuts::each(2, parameters)),
            Kind::Own(..) | Kind::Like(..) => Some(crate::lazy::shares::alike()),
            Kind::Index(..) => cuts::sliced(parameters, self.slices(id)?),
            Kind::Call(..) => cuts::of_call(&self.call(id)?, parameters),
            _ => None,
        }
    }

    /// The positions of each axis that a node takes of its operand, if it is a slice.
    fn slices(&self, id: Id) -> Option<Vec<SliceInfoElem>> {
        let node = &self.nodes[id];
        let Kind::Index(x, items) = &node.kind else { return None };
        let parts = items.iter().map(|item| self.part(item)).collect::<Option<Vec<_>>>()?;
        call::slices(&parts, &self.shape(*x)?, &node.at).ok()
    }

    /// Whether a node with inputs in these parameters goes element by element, and keeps their pattern if it is one.
    fn is_each(&self, id: Id, parameters: &[usize]) -> bool {
        match &self.nodes[id].kind {
            Kind::Unary(..) => true,
            Kind::Binary(operator, ..) => *operator != Binary::MatMul,
            Kind::Call(name, _) => table::function(name).is_some_and(|call| cuts::is_each(call.op, parameters)),
            _ => false,
        }
    }

    /// A call with what is known of its arguments.
    fn call(&self, id: Id) -> Option<Call> {
        let node = &self.nodes[id];
        let Kind::Call(name, _) = &node.kind else { return None };
        let value = |ids: &Vec<Id>| self.value(ids).map(|value| Placed { value, at: node.at.clone() });
        let values = self.places(id)?.iter().map(value).collect();
        Some(Call { name: table::function(name)?.name(), at: node.at.clone(), values })
    }

    /// What is known of the arguments of a parameter.
    fn value(&self, ids: &[Id]) -> Option<Value> {
        match ids {
            [] => None,
            &[id] => self.known[id].clone(),
            ids => ids.iter().map(|&id| self.known[id].clone()).collect::<Option<_>>().map(Value::List),
        }
    }

    fn part(&self, item: &Item) -> Option<call::Part> {
        let end = |id: Id| match &self.known[id] {
            Some(Value::Number(number)) => number.integer(),
            _ => None,
        };
        Some(match item {
            Item::One(id) => call::Part::One(end(*id)?),
            Item::Slice(ends) => {
                let ends = ends.map(|id| id.map(|id| end(id).ok_or(())).transpose());
                let [Ok(start), Ok(stop), Ok(step)] = ends else { return None };
                call::Part::Range([start, stop, step])
            }
        })
    }
}

/// What a step is called.
fn name_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Call(name, _) => table::function(name).map_or("call", |function| function.name()),
        Kind::Unary(Unary::Neg, _) => "neg",
        Kind::Unary(Unary::Not, _) => "not",
        Kind::Binary(operator, ..) => operator.operation(),
        Kind::Index(..) => "slice",
        Kind::Scatter(..) => "slice_backward",
        Kind::Own(..) | Kind::Shaped(..) => "gradient_of",
        Kind::Like(..) => "full_like",
        Kind::Number(_) | Kind::Text(_) | Kind::Name(_) | Kind::List(_) => "value",
    }
}

/// What is wrong with types that only values tell is an error of the step.
fn of_run(operation: &'static str, fault: Fault) -> Error {
    match fault {
        Fault::Run(error) => error,
        Fault::Wrong(wrong) => Error::Argument { operation, why: wrong.message().to_string() },
    }
}
