//! Evaluation of graphs, step by step and without recursion.

use std::ops::Range;
use std::sync::Arc;

use super::call::{self, no_function};
use super::literal::Literal;
use super::lower::{Lowered, Outcome, Places};
use super::running::Running;
use super::table::function;
use super::{Binary, Fault, Id, Kind, Node, Unary, Wrong};
use crate::base::axes::Axes;
use crate::base::error::Error;
use crate::dynamic::{AnyOperand, AnyTensor, AnyValue};
use crate::element::{DType, Element, Number};
use crate::lazy::any::OfAny;
use crate::lazy::call::Call;
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
                called(call, &inputs, places)?
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
fn run_call(call: &Call, inputs: &[&AnyValue]) -> Checked<AnyValue> {
    called(call, inputs, &Places::default()).map_err(|fault| match fault {
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
pub(super) fn called(call: &Call, inputs: &[&AnyValue], places: &Places) -> Found<AnyValue> {
    let running = Running::new(call, inputs, places)?;
    match call.op {
        op if op.is(&op::gradient_of) => gradient_of(&running),
        op if op.is(&op::number_like) => number_like(&running),
        op => match function(op.name) {
            Some(function) => (function.run)(&running),
            None => Err(Fault::Wrong(no_function(op.name, places.call.clone()))),
        },
    }
}

/// Returns the gradient of an operand with respect to itself: the upstream gradient on the pattern and in the element
/// type of the operand.
fn gradient_of(call: &Running<'_>) -> Found<AnyValue> {
    let (x, upstream) = (call.moving("x")?.to_value(), call.moving("upstream")?.to_value());
    if !is_float(x.dtype()) {
        return wrong(call.at(), format!("{} has no gradient; cast it to a type of floats", x.dtype()));
    }
    let found = upstream.cast(x.dtype());
    call.done(found.and_then(|upstream| AnyOperand::from(&x).any_backward(&upstream, Axes::none())))
}

/// Returns a number as a tensor, with the shape and the element type of an operand.
fn number_like(call: &Running<'_>) -> Found<AnyValue> {
    let x = call.moving("x")?;
    let one = tensor_of(&call.given_number("number")?, x.dtype(), call.at())?;
    call.done(one.broadcast_to(x.shape()))
}

/// Returns a number with the other sign, or the other truth value.
pub(super) fn signed(sign: Unary, number: &Literal, place: &Range<usize>) -> Found<Literal> {
    match sign {
        Unary::Neg => match number.negated() {
            Some(number) => Ok(number),
            None => wrong(place, format!("{} has no other sign", number.told())),
        },
        Unary::Not => match number.truth().filter(|_| number.is_bool()) {
            Some(truth) => Ok(Literal::from(!truth)),
            None => wrong(place, "~ is for bool, integers of a tensor, and true and false"),
        },
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

/// Computes an operator on two numbers. Integers are computed exactly.
pub(super) fn binary(operator: Binary, left: &Literal, right: &Literal, place: &Range<usize>) -> Found<Literal> {
    let found = match (left.integer(), right.integer()) {
        (Some(a), Some(b)) => of_integers(operator, a, b),
        _ => of_reals(operator, left.number(), right.number()),
    };
    match found {
        Some(found) => Ok(found),
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
        Binary::Equal => return Some(Literal::from(a == b)),
        Binary::NotEqual => return Some(Literal::from(a != b)),
        Binary::Less => return Some(Literal::from(a < b)),
        Binary::LessEqual => return Some(Literal::from(a <= b)),
        Binary::Greater => return Some(Literal::from(a > b)),
        Binary::GreaterEqual => return Some(Literal::from(a >= b)),
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
        Binary::Equal => return Some(Literal::from(x == y)),
        Binary::NotEqual => return Some(Literal::from(x != y)),
        Binary::Less => return Some(Literal::from(x < y)),
        Binary::LessEqual => return Some(Literal::from(x <= y)),
        Binary::Greater => return Some(Literal::from(x > y)),
        Binary::GreaterEqual => return Some(Literal::from(x >= y)),
        Binary::And => return Some(Literal::from(bool::from_number(a)? & bool::from_number(b)?)),
        Binary::Or => return Some(Literal::from(bool::from_number(a)? | bool::from_number(b)?)),
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
        Binary::Equal => return Some(Literal::from(a == c && b == d)),
        Binary::NotEqual => return Some(Literal::from(a != c || b != d)),
        _ => return None,
    };
    Some(Number::Complex(re, im).into())
}
