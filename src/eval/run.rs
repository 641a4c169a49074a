//! Evaluation of graphs, step by step and without recursion.

use std::ops::Range;
use std::sync::Arc;

use super::literal::{Literal, constant};
use super::lower::{Lowered, Outcome, Places};
use super::table::function;
use super::value::{Placed, Value};
use super::{Binary, Fault, Id, Kind, Node, Unary, Wrong, call, parse};
use crate::base::axes::Axes;
use crate::base::error::Error;
use crate::dynamic::{AnyOperand, AnyTensor, AnyValue, RightOperand, zip};
use crate::element::{DType, Element, Number};
use crate::lazy::any::OfAny;
use crate::lazy::call::{Arg, Call as Step};
use crate::lazy::expression::{self, Held, Made, Ordered};
use crate::ops::{OpSpec, op};
use crate::tensor::coo::CooTensor;
use crate::{base::error::Result as Checked, dispatch_dtype};

type Found<T> = Result<T, Fault>;

/// Returns an error at a position.
pub(super) fn wrong<T>(at: &Range<usize>, message: impl Into<String>) -> Found<T> {
    Err(Fault::Wrong(Wrong::new(at.clone(), message)))
}

/// Returns the error for a name that is not bound.
pub(super) fn unbound(name: &str, at: Range<usize>) -> Wrong {
    let is_function = function(name).is_some();
    let hint = if is_function { format!("; the function is called {name}(…)") } else { String::new() };
    Wrong::new(at, format!("nothing is bound to the name {name}{hint}"))
}

/// Returns the result of an operation. An error of element types becomes an error of the expression, at this position.
pub(super) fn at<T>(place: &Range<usize>, result: Checked<T>) -> Found<T> {
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

/// Returns an error if a call has an unknown function or wrong arguments, among the nodes from index `from` on.
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

/// Returns the items of an index, from the text between its brackets.
pub(super) fn parts(text: &str) -> Found<Vec<call::Part>> {
    let (nodes, items) = parse::index(text).map_err(Fault::Wrong)?;
    super::lower::parts(&nodes, &items)
}

/// Computes the values of the results of a graph.
pub(super) fn evaluate(lowered: &Lowered, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Found<Vec<AnyValue>> {
    let Ordered { steps, .. } = &lowered.graph;
    let mut uses = vec![0_usize; steps.len()];
    steps.iter().flat_map(|step| &step.inputs).for_each(|&input| uses[input] += 1);
    let mut is_result = vec![false; steps.len()];
    lowered.results.iter().for_each(|result| {
        if let Outcome::Step(step) = result {
            is_result[*step] = true;
        }
    });
    let mut values: Vec<Option<AnyValue>> = Vec::with_capacity(steps.len());
    for step in steps {
        let places = lowered.places(step.number());
        let value = match (step.name(), step.call()) {
            (Some(name), _) => bound(name).ok_or_else(|| Fault::Wrong(unbound(name, places.call.clone())))?,
            (None, Some(call)) => {
                let inputs: Vec<&AnyValue> = step.inputs.iter().filter_map(|&at| values[at].as_ref()).collect();
                result(called(call, &inputs, places)?, &places.call)?
            }
            (None, None) => return wrong(&places.call, "this has no value"),
        };
        values.push(Some(value));
        for &input in &step.inputs {
            uses[input] -= 1;
            if uses[input] == 0 && !is_result[input] {
                values[input] = None;
            }
        }
    }
    let value = |outcome: &Outcome| match outcome {
        Outcome::Step(at) => values[*at].clone().ok_or(Fault::Run(Error::NoTensor)),
        Outcome::Number(number) => tensor_of(number, number.dtype(), &(0..0)).map(Into::into),
    };
    lowered.results.iter().map(value).collect()
}

/// The kind of the values of expressions: gradients use the functions of expressions.
pub(super) static EXPRESSION: OfAny =
    OfAny { kit: |call| has(call.op).then(made), element: |number| Some(Literal::from(number).into()) };

/// Returns the implementation of a step of an expression.
pub(super) fn made() -> Made {
    expression::made(&EXPRESSION, |node, inputs| {
        let inputs: Vec<&AnyValue> = inputs.iter().map(expression::known).collect();
        run_call(node.args(), &inputs).map(|found| Arc::new(found) as Held)
    })
}

/// Returns the value of a call of a graph.
fn run_call(call: &Step, inputs: &[&AnyValue]) -> Checked<AnyValue> {
    let found = called(call, inputs, &Places::default()).and_then(|value| result(value, &(0..0)));
    found.map_err(|fault| match fault {
        Fault::Run(error) => error,
        // If types depend on values, a type error is an error of the step.
        Fault::Wrong(wrong) => Error::Argument { operation: call.op.name, why: wrong.message().to_string() },
    })
}

/// Returns whether expressions can compute an operation.
fn has(op: &'static OpSpec) -> bool {
    function(op.name).is_some() || op.is(&op::gradient_of) || op.is(&op::number_like)
}

/// Computes the value of a call, from the values of its inputs.
pub(super) fn called(call: &Step, inputs: &[&AnyValue], places: &Places) -> Found<Value> {
    let mut values = Vec::with_capacity(call.args().len());
    for (at, arg) in call.args().iter().enumerate() {
        let place = places.of(at);
        let value = value_of(arg, inputs, &place)?;
        values.push(value.map(|value| Placed { value, at: place }));
    }
    called_on(call.op, values, &places.call)
}

/// Computes the value of a call, from the values of its arguments.
pub(super) fn called_on(op: &'static OpSpec, values: Vec<Option<Placed>>, at: &Range<usize>) -> Found<Value> {
    let call = call::Call { name: op.name, at: at.clone(), values };
    match op {
        op if op.is(&op::gradient_of) => gradient_of(&call),
        op if op.is(&op::number_like) => number_like(&call),
        op => match function(op.name) {
            Some(function) => (function.run)(&call),
            None => Err(Fault::Wrong(call::no_function(op.name, at.clone()))),
        },
    }
}

/// Returns an argument as a value; `None` if the argument is absent.
pub(super) fn value_of(arg: &Arg, inputs: &[&AnyValue], place: &Range<usize>) -> Found<Option<Value>> {
    let integer = |integer: i128| Value::Number(Number::Integer(integer).into());
    Ok(Some(match arg {
        Arg::Absent | Arg::Hint(_) | Arg::Own(_) => return Ok(None),
        Arg::Input(input) => inputs[*input].clone().into(),
        Arg::Stored(input) => {
            let x = at(place, AnyOperand::from(inputs[*input]).sparse("stored"))?;
            Value::Stored(x.clone())
        }
        Arg::List(items) => {
            let item = |item: &Arg| value_of(item, inputs, place).map(|value| value.unwrap_or(Value::List(Vec::new())));
            Value::List(items.iter().map(item).collect::<Found<_>>()?)
        }
        Arg::Flag(flag) => Value::Number(truth_of(*flag)),
        Arg::Integer(value) => integer(*value),
        Arg::Real(real) => Value::Number((*real).into()),
        Arg::Word(word) => Value::Text((*word).into()),
        Arg::Text(text) => Value::Text(text.to_string()),
        Arg::Integers(integers) => Value::List(integers.iter().map(|&value| integer(value)).collect()),
        Arg::Axes(axes) => match axes.each() {
            Some(axes) => Value::List(axes.iter().map(|&axis| integer(axis as i128)).collect()),
            None => Value::Text("all".into()),
        },
        Arg::Typed(data) => match data.as_any().downcast_ref::<Literal>() {
            Some(number) => Value::Number(number.clone()),
            None => match data.number() {
                Some(number) => Value::Number(number.into()),
                None => return wrong(place, "this is no argument of an expression"),
            },
        },
        Arg::Slices(slices) => Value::Slices(Arc::clone(slices)),
        Arg::Pairs(_) => return wrong(place, "this is no argument of an expression"),
    }))
}

/// Returns the gradient of an operand with respect to itself: the upstream gradient on the pattern and in the element
/// type of the operand.
fn gradient_of(call: &call::Call) -> Found<Value> {
    let (x, upstream) = (call.moving(0)?.to_value(), call.moving(1)?.to_value());
    if !is_float(x.dtype()) {
        return wrong(&call.at, format!("{} has no gradient; cast it to a type of floats", x.dtype()));
    }
    let found = upstream.cast(x.dtype());
    call.done(found.and_then(|upstream| AnyOperand::from(&x).any_backward(&upstream, Axes::none())))
}

/// Returns a number as a tensor, with the shape and the element type of an operand.
fn number_like(call: &call::Call) -> Found<Value> {
    let (x, given) = (call.moving(0)?.to_value(), call.given(1)?);
    let Value::Number(number) = &given.value else { return wrong(&given.at, "this is no number") };
    let one = tensor_of(number, x.dtype(), &call.at)?;
    call.done(one.broadcast_to(x.shape()))
}

/// Returns a number with the other sign, or the other truth value.
pub(super) fn signed(sign: Unary, operand: &Placed, place: &Range<usize>) -> Found<Value> {
    match (sign, &operand.value) {
        (Unary::Neg, Value::Number(number)) => match number.negated() {
            Some(number) => Ok(Value::Number(number)),
            None => wrong(place, format!("{} has no other sign", number.told())),
        },
        (Unary::Not, Value::Number(number)) => match number.truth().filter(|_| number.is_bool()) {
            Some(truth) => Ok(Value::Number(truth_of(!truth))),
            None => wrong(place, "~ is for bool, integers of a tensor, and true and false"),
        },
        (_, value) => wrong(&operand.at, format!("this is {}, and not a number", value.kind())),
    }
}

/// Returns a value as the result of an expression. A text or a list is an error.
pub(super) fn result(value: Value, at: &Range<usize>) -> Found<AnyValue> {
    match value {
        Value::Tensor(tensor) | Value::Stored(tensor) => Ok(tensor.into()),
        Value::Array(array) => Ok(array.into()),
        Value::Number(number) => tensor_of(&number, number.dtype(), at).map(Into::into),
        other => wrong(at, format!("{} is no result", other.kind())),
    }
}

/// Returns a number as a tensor of rank 0.
pub(super) fn tensor_of(number: &Literal, dtype: DType, place: &Range<usize>) -> Found<AnyTensor> {
    fn full<T: Element>(number: Number) -> Checked<AnyTensor> {
        let fill = T::from_number(number).unwrap_or(T::ZERO);
        Ok(AnyTensor::from(CooTensor::<T, u64>::from_parts(crate::CooPattern::empty([0; 0])?, vec![], fill)?))
    }
    let value = number.in_type(dtype).or_else(|message| wrong(place, message))?;
    at(place, dispatch_dtype!(dtype, T => full::<T>(value), else => Err(crate::dynamic::no_such(dtype))))
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}

fn truth_of(truth: bool) -> Literal {
    constant(if truth { "true" } else { "false" }).unwrap_or_else(|| Number::Integer(truth.into()).into())
}

impl Binary {
    /// Returns the operation of the operator on tensors.
    pub(super) fn operation(self) -> &'static OpSpec {
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
            Binary::Rem => &op::rem,
            Binary::MatMul => &op::matmul,
            Binary::Pow => &op::pow,
        }
    }
}

/// Computes an operator on two numbers.
pub(super) fn binary(operator: Binary, left: &Placed, right: &Placed, place: &Range<usize>) -> Found<Value> {
    match (&left.value, &right.value) {
        (Value::Number(a), Value::Number(b)) => numbers(operator, a, b, place),
        (Value::Number(_), other) | (other, _) => wrong(place, format!("this is {}, and not a number", other.kind())),
    }
}

/// Computes a binary operation. At least one operand must be a tensor or an array.
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

/// Returns a number in the element type of the other operand.
pub(super) fn number_beside(number: &Placed, dtype: DType) -> Found<Number> {
    match &number.value {
        Value::Number(literal) => literal.in_type(dtype).or_else(|message| wrong(&number.at, message)),
        other => wrong(&number.at, format!("a number belongs here, and not {}", other.kind())),
    }
}

/// Computes an operator on two numbers. Integers are computed exactly.
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
        // Integers are compared exactly, because different integers may round to equal reals.
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

/// Returns a number as `f64`, if it is not complex.
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
