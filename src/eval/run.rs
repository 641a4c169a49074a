//! From nodes to a value: one node after the other, so that nothing recurses.

use std::ops::Range;

use ndarray::SliceInfoElem;

use super::literal::{Literal, constant};
use super::table::{Function, function};
use super::value::{Placed, Value};
use super::{Binary, Fault, Id, Item, Kind, Node, Unary, Wrong, call, grad, parse};
use crate::base::axes::Axes;
use crate::base::error::Error;
use crate::dynamic::{AnyOperand, AnyTensor, AnyValue, RightOperand, zip};
use crate::element::{DType, Element, Number};
use crate::tensor::coo::CooTensor;
use crate::{base::error::Result as Outcome, dispatch_dtype};

type Found<T> = Result<T, Fault>;

/// What is wrong at a place.
pub(super) fn wrong<T>(at: &Range<usize>, message: impl Into<String>) -> Found<T> {
    Err(Fault::Wrong(Wrong::new(at.clone(), message)))
}

/// The error for a name that nothing is bound to.
pub(super) fn unbound(name: &str, at: Range<usize>) -> Wrong {
    let is_function = function(name).is_some();
    let hint = if is_function { format!("; the function is called {name}(…)") } else { String::new() };
    Wrong::new(at, format!("nothing is bound to the name {name}{hint}"))
}

/// An error of an operation at a place: one of types is the expression's fault.
pub(super) fn at<T>(place: &Range<usize>, result: Outcome<T>) -> Found<T> {
    result.map_err(|error| match error {
        Error::NoOperation { .. } | Error::TypesDiffer { .. } => {
            Fault::Wrong(Wrong::new(place.clone(), error.to_string()))
        }
        Error::NoOrder { operation, dtype } => {
            Fault::Wrong(Wrong::new(place.clone(), format!("{operation} is not defined for {dtype}")))
        }
        error => Fault::Run(error),
    })
}

/// Refuses calls of what is no function, or with other arguments than it has, among the nodes from one on.
pub(super) fn check_calls(nodes: &[Node], from: Id) -> Result<(), Wrong> {
    nodes[from..].iter().try_for_each(|node| match &node.kind {
        Kind::Call(name, arguments) => {
            let start = node.at.start..node.at.start + name.len();
            let function = function(name).ok_or_else(|| call::no_function(name, start.clone()))?;
            call::placed(function, arguments, &node.at, nodes).map(|_| ())
        }
        _ => Ok(()),
    })
}

/// The parts of an index that a text says, as they stand between brackets.
pub(super) fn parts(text: &str) -> Found<Vec<call::Part>> {
    let (nodes, items) = parse::index(text).map_err(Fault::Wrong)?;
    let mut machine = Machine::new(&nodes, vec![1; nodes.len()], &|_| None);
    machine.run()?;
    machine.parts(&items)
}

/// How often each node is read for the last one.
pub(super) fn uses(nodes: &[Node]) -> Vec<usize> {
    let mut uses = vec![0; nodes.len()];
    uses.last_mut().into_iter().for_each(|last| *last = 1);
    for (id, node) in nodes.iter().enumerate().rev() {
        if uses[id] > 0 {
            grad::inputs(&node.kind).into_iter().for_each(|input| uses[input] += 1);
        }
    }
    uses
}

/// The value of the last node.
pub(super) fn evaluate(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Found<AnyValue> {
    last(nodes, bound).and_then(|(value, at)| result(value, &at))
}

/// The values of the list that the last node is.
pub(super) fn evaluate_all(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Found<Vec<AnyValue>> {
    match last(nodes, bound)? {
        (Value::List(values), at) => values.into_iter().map(|value| result(value, &at)).collect(),
        (value, at) => Ok(vec![result(value, &at)?]),
    }
}

fn last(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Found<(Value, Range<usize>)> {
    let mut machine = Machine::new(nodes, uses(nodes), bound);
    machine.run()?;
    match (nodes.last(), machine.values.pop()) {
        (Some(last), Some(Some(value))) => Ok((value, last.at.clone())),
        _ => wrong(&(0..0), "there is no expression"),
    }
}

/// A value as the result of an expression.
fn result(value: Value, at: &Range<usize>) -> Found<AnyValue> {
    match value {
        Value::Tensor(tensor) | Value::Stored(tensor) => Ok(tensor.into()),
        Value::Array(array) => Ok(array.into()),
        Value::Number(number) => tensor_of(&number, number.dtype(), at).map(Into::into),
        other => wrong(at, format!("{} is no result", other.kind())),
    }
}

/// A number as a tensor without axes.
pub(super) fn tensor_of(number: &Literal, dtype: DType, place: &Range<usize>) -> Found<AnyTensor> {
    fn full<T: Element>(number: Number) -> Outcome<AnyTensor> {
        let fill = T::from_number(number).unwrap_or(T::ZERO);
        Ok(AnyTensor::from(CooTensor::<T, u64>::from_parts(crate::CooPattern::empty([0; 0])?, vec![], fill)?))
    }
    let value = number.in_type(dtype).or_else(|message| wrong(place, message))?;
    at(place, dispatch_dtype!(dtype, T => full::<T>(value), else => Err(crate::dynamic::no_such(dtype))))
}

pub(super) struct Machine<'a> {
    nodes: &'a [Node],
    pub(super) values: Vec<Option<Value>>,
    /// How often each value is still read.
    uses: Vec<usize>,
    bound: &'a dyn Fn(&str) -> Option<AnyValue>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(nodes: &'a [Node], uses: Vec<usize>, bound: &'a dyn Fn(&str) -> Option<AnyValue>) -> Self {
        Machine { nodes, values: Vec::with_capacity(nodes.len()), uses, bound }
    }

    /// Finds the values of all nodes that are read.
    fn run(&mut self) -> Found<()> {
        let nodes = self.nodes;
        for (id, node) in nodes.iter().enumerate() {
            let value = if self.uses[id] > 0 { Some(self.value(node)?) } else { None };
            self.values.push(value);
        }
        Ok(())
    }

    /// The value of a node before, which is kept as long as something else needs it.
    fn taken(&mut self, id: Id) -> Placed {
        let at = self.nodes[id].at.clone();
        self.uses[id] = self.uses[id].saturating_sub(1);
        let value = match self.values.get_mut(id) {
            Some(value) if self.uses[id] == 0 => value.take(),
            value => value.and_then(|value| value.clone()),
        };
        Placed { value: value.unwrap_or(Value::List(Vec::new())), at }
    }

    pub(super) fn value(&mut self, node: &Node) -> Found<Value> {
        Ok(match &node.kind {
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::Text(text.clone()),
            Kind::Name(name) => match (self.bound)(name) {
                Some(value) => value.into(),
                None => match constant(name) {
                    Some(number) => Value::Number(number),
                    None => return Err(Fault::Wrong(unbound(name, node.at.clone()))),
                },
            },
            Kind::List(items) => Value::List(items.iter().map(|&item| self.taken(item).value).collect()),
            Kind::Unary(sign, operand) => self.signed(*sign, *operand, &node.at)?,
            Kind::Binary(operator, left, right) => {
                let (left, right) = (self.taken(*left), self.taken(*right));
                binary(*operator, left, right, &node.at)?
            }
            Kind::Call(name, arguments) => self.called(name, arguments, node)?,
            Kind::Index(operand, items) => self.indexed(*operand, items, None, &node.at)?,
            Kind::Scatter(operand, items, upstream) => self.indexed(*operand, items, Some(*upstream), &node.at)?,
            Kind::Own(x, upstream) => self.own(*x, *upstream, false, &node.at)?,
            Kind::Shaped(x, upstream) => self.own(*x, *upstream, true, &node.at)?,
            Kind::Like(x, number) => self.like(*x, *number, &node.at)?,
        })
    }

    fn signed(&mut self, sign: Unary, operand: Id, place: &Range<usize>) -> Found<Value> {
        let operand = self.taken(operand);
        match (sign, &operand.value) {
            (Unary::Neg, Value::Number(number)) => match number.negated() {
                Some(number) => Ok(Value::Number(number)),
                None => wrong(place, format!("{} has no other sign", number.told())),
            },
            (Unary::Not, Value::Number(number)) => match number.truth().filter(|_| number.is_bool()) {
                Some(truth) => Ok(Value::Number(truth_of(!truth))),
                None => wrong(place, "~ is for bool, integers of a tensor, and true and false"),
            },
            (sign, value) => {
                let Some(x) = value.operand() else {
                    return wrong(&operand.at, format!("this is {}, and not a tensor", value.kind()));
                };
                at(place, if sign == Unary::Neg { x.neg() } else { x.not() }).map(Value::from)
            }
        }
    }

    /// The value of a parameter: that of its argument, or of several arguments a list.
    fn gathered(&mut self, ids: &[Id], at: &Range<usize>) -> Option<Placed> {
        match ids {
            [] => None,
            &[id] => Some(self.taken(id)),
            ids => {
                let items = ids.iter().map(|&id| self.taken(id).value).collect();
                Some(Placed { value: Value::List(items), at: at.clone() })
            }
        }
    }

    fn called(&mut self, name: &str, arguments: &[super::Argument], node: &Node) -> Found<Value> {
        let Some(function): Option<&Function> = function(name) else {
            return Err(Fault::Wrong(call::no_function(name, node.at.clone())));
        };
        let places = call::placed(function, arguments, &node.at, self.nodes).map_err(Fault::Wrong)?;
        let values = places.into_iter().map(|ids| self.gathered(&ids, &node.at)).collect();
        (function.run)(&call::Call { name: function.name(), at: node.at.clone(), values })
    }

    fn parts(&mut self, items: &[Item]) -> Found<Vec<call::Part>> {
        let part = |item: &Item| match item {
            Item::One(index) => self.end(*index).map(call::Part::One),
            Item::Slice(ends) => {
                let mut end = |id: Option<Id>| id.map(|id| self.end(id)).transpose();
                Ok(call::Part::Range([end(ends[0])?, end(ends[1])?, end(ends[2])?]))
            }
        };
        items.iter().map(part).collect()
    }

    /// What an index chooses, or for an upstream gradient of that the gradient.
    fn indexed(&mut self, operand: Id, items: &[Item], upstream: Option<Id>, place: &Range<usize>) -> Found<Value> {
        let operand = self.taken(operand);
        let parts = self.parts(items)?;
        let Some(x) = operand.value.operand() else {
            return wrong(&operand.at, format!("{} has no index", operand.value.kind()));
        };
        let slices: Vec<SliceInfoElem> = call::slices(&parts, &x.shape(), place)?;
        let found = match upstream.map(|upstream| self.whole(upstream)).transpose()? {
            None => x.slice(&slices),
            Some(upstream) => x.slice_backward(&upstream, &slices),
        };
        at(place, found).map(Value::from)
    }

    /// The tensor or array of a node before, or the tensor whose entries it is.
    fn whole(&mut self, id: Id) -> Found<AnyValue> {
        let given = self.taken(id);
        match given.value {
            Value::Tensor(tensor) | Value::Stored(tensor) => Ok(tensor.into()),
            Value::Array(array) => Ok(array.into()),
            other => wrong(&given.at, format!("this is {}, and not a tensor", other.kind())),
        }
    }

    /// The upstream gradient of an operand itself: on the pattern of a tensor, and in its type.
    fn own(&mut self, x: Id, upstream: Id, is_shaped: bool, place: &Range<usize>) -> Found<Value> {
        let (x, upstream) = (self.whole(x)?, self.whole(upstream)?);
        if !is_float(x.dtype()) {
            return wrong(place, format!("{} has no gradient; cast it to a type of floats", x.dtype()));
        }
        let upstream = if is_shaped { AnyOperand::from(&upstream).reshape(x.shape()) } else { Ok(upstream) };
        let found = upstream.and_then(|upstream| upstream.cast(x.dtype()));
        let found = found.and_then(|upstream| AnyOperand::from(&x).any_backward(&upstream, Axes::none()));
        at(place, found).map(Value::from)
    }

    /// A number everywhere, in the shape and type of an operand.
    fn like(&mut self, x: Id, number: Id, place: &Range<usize>) -> Found<Value> {
        let (x, number) = (self.whole(x)?, self.taken(number));
        let number = match &number.value {
            Value::Number(number) => number,
            // A name that stands for a number unless a tensor has it.
            bound @ (Value::Tensor(_) | Value::Array(_)) => return Ok(bound.clone()),
            _ => return wrong(&number.at, "this is no number"),
        };
        let one = tensor_of(number, x.dtype(), place)?;
        at(place, one.broadcast_to(x.shape())).map(Value::Tensor)
    }

    /// An integer of an index.
    fn end(&mut self, id: Id) -> Found<i128> {
        let end = self.taken(id);
        match &end.value {
            Value::Number(number) => match number.integer() {
                Some(integer) => Ok(integer),
                None => wrong(&end.at, format!("an index is an integer, not {}", number.told())),
            },
            other => wrong(&end.at, format!("an index is an integer, not {}", other.kind())),
        }
    }
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}

fn truth_of(truth: bool) -> Literal {
    constant(if truth { "true" } else { "false" }).unwrap_or_else(|| Number::Integer(truth.into()).into())
}

impl Binary {
    /// The operation of two tensors.
    pub(super) fn operation(self) -> &'static str {
        match self {
            Binary::Or => "bit_or",
            Binary::And => "bit_and",
            Binary::Equal => "equal",
            Binary::NotEqual => "not_equal",
            Binary::Less => "less",
            Binary::LessEqual => "less_equal",
            Binary::Greater => "greater",
            Binary::GreaterEqual => "greater_equal",
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Rem => "rem",
            Binary::MatMul => "matmul",
            Binary::Pow => "pow",
        }
    }
}

fn binary(operator: Binary, left: Placed, right: Placed, place: &Range<usize>) -> Found<Value> {
    match (&left.value, &right.value, operator) {
        (Value::Number(a), Value::Number(b), _) => numbers(operator, a, b, place),
        (_, Value::Number(exponent), Binary::Pow) => call::power(&left, exponent, &right.at, place),
        _ => zipped(operator.operation(), &left, &right, place),
    }
}

/// An elementwise operation of two operands, one of which is a tensor.
pub(super) fn zipped(operation: &'static str, left: &Placed, right: &Placed, place: &Range<usize>) -> Found<Value> {
    let result = match (left.value.operand(), right.value.operand()) {
        (Some(x), Some(y)) => zip(operation, x, RightOperand::Operand(y), false),
        (Some(x), None) => zip(operation, x, RightOperand::Number(number_beside(right, x.dtype())?), false),
        (None, Some(y)) => zip(operation, y, RightOperand::Number(number_beside(left, y.dtype())?), true),
        (None, None) => {
            let at_fault = if matches!(left.value, Value::Number(_)) { right } else { left };
            return wrong(&at_fault.at, format!("this is {}, and not a tensor", at_fault.value.kind()));
        }
    };
    at(place, result).map(Value::from)
}

/// The number that stands beside a tensor, in its element type.
pub(super) fn number_beside(number: &Placed, dtype: DType) -> Found<Number> {
    match &number.value {
        Value::Number(literal) => literal.in_type(dtype).or_else(|message| wrong(&number.at, message)),
        other => wrong(&number.at, format!("a number belongs here, and not {}", other.kind())),
    }
}

/// An operation of two numbers, which are exact as long as they are integers.
fn numbers(operator: Binary, left: &Literal, right: &Literal, place: &Range<usize>) -> Found<Value> {
    let found = match (left.integer(), right.integer()) {
        (Some(a), Some(b)) => of_integers(operator, a, b),
        _ => of_reals(operator, left.number(), right.number()),
    };
    match found {
        Some(found) => Ok(Value::Number(found)),
        None => wrong(place, "these two numbers have no such result"),
    }
}

fn of_integers(operator: Binary, a: i128, b: i128) -> Option<Literal> {
    let integer = match operator {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Rem => a.checked_rem(b),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        // What integers are to each other, reals of them are not always.
        Binary::Equal => return Some(truth_of(a == b)),
        Binary::NotEqual => return Some(truth_of(a != b)),
        Binary::Less => return Some(truth_of(a < b)),
        Binary::LessEqual => return Some(truth_of(a <= b)),
        Binary::Greater => return Some(truth_of(a > b)),
        Binary::GreaterEqual => return Some(truth_of(a >= b)),
        Binary::Pow if b < 0 => return of_reals(operator, Number::Integer(a), Number::Integer(b)),
        Binary::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        Binary::Div if b == 0 => None,
        Binary::Div | Binary::MatMul => return of_reals(operator, Number::Integer(a), Number::Integer(b)),
    };
    integer.map(|integer| Number::Integer(integer).into())
}

fn of_reals(operator: Binary, a: Number, b: Number) -> Option<Literal> {
    let (Some(x), Some(y)) = (real(a), real(b)) else { return of_complex(operator, a, b) };
    let number = match operator {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Rem => x % y,
        Binary::Pow => crate::element::math::pow(x, y),
        Binary::Equal => return Some(truth_of(x == y)),
        Binary::NotEqual => return Some(truth_of(x != y)),
        Binary::Less => return Some(truth_of(x < y)),
        Binary::LessEqual => return Some(truth_of(x <= y)),
        Binary::Greater => return Some(truth_of(x > y)),
        Binary::GreaterEqual => return Some(truth_of(x >= y)),
        Binary::And => return Some(truth_of(bool::from_number(a)? & bool::from_number(b)?)),
        Binary::Or => return Some(truth_of(bool::from_number(a)? | bool::from_number(b)?)),
        Binary::MatMul => return None,
    };
    Some(number.into())
}

/// A number that has one part.
fn real(number: Number) -> Option<f64> {
    if let Number::Complex(..) = number { None } else { number.float() }
}

fn of_complex(operator: Binary, a: Number, b: Number) -> Option<Literal> {
    let parts = |number| match number {
        Number::Complex(re, im) => (re, im),
        real => (real.float().unwrap_or(f64::NAN), 0.0),
    };
    let ((a, b), (c, d)) = (parts(a), parts(b));
    let (re, im) = match operator {
        Binary::Add => (a + c, b + d),
        Binary::Sub => (a - c, b - d),
        Binary::Mul => (a * c - b * d, a * d + b * c),
        Binary::Equal => return Some(truth_of(a == c && b == d)),
        Binary::NotEqual => return Some(truth_of(a != c || b != d)),
        _ => return None,
    };
    Some(Number::Complex(re, im).into())
}
