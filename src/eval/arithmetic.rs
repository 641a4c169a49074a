//! Numbers of expressions: arithmetic, and tensors of one number.

use std::ops::Range;

use super::fault::{at, wrong};
use super::literal::Literal;
use super::{Binary, Fault, Unary};
use crate::base::error::Result as Checked;
use crate::dispatch_dtype;
use crate::dynamic::AnyTensor;
use crate::element::{DType, Element, Number};
use crate::tensor::coo::CooTensor;

type Found<T> = Result<T, Fault>;

/// Returns a number as a tensor of rank 0.
pub(super) fn tensor_of(number: &Literal, dtype: DType, place: &Range<usize>) -> Found<AnyTensor> {
    fn full<T: Element>(number: Number) -> Checked<AnyTensor> {
        let fill = T::from_number(number).unwrap_or(T::ZERO);
        Ok(AnyTensor::from(CooTensor::<T, u64>::from_parts(crate::CooPattern::empty([0; 0])?, vec![], fill)?))
    }
    let value = number.in_type(dtype).or_else(|message| wrong(place, message))?;
    at(place, dispatch_dtype!(dtype, T => full::<T>(value), else => Err(crate::dynamic::no_such(dtype))))
}

/// Returns the negated number, or the negated truth value.
pub(super) fn signed(sign: Unary, number: &Literal, place: &Range<usize>) -> Found<Literal> {
    match sign {
        Unary::Neg => match number.negated() {
            Some(number) => Ok(number),
            None => wrong(place, format!("{} cannot be negated", number.source_text())),
        },
        Unary::Not => match number.truth().filter(|_| number.is_bool()) {
            Some(truth) => Ok(Literal::from(!truth)),
            None => wrong(place, "~ requires a tensor of bool or integers, or true or false"),
        },
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
        None => wrong(place, "the operator does not have a result for these two numbers"),
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
        // The remainder does not overflow if the quotient does not.
        Binary::DivFloor => a.checked_div(b).map(|quotient| quotient - i128::from(a % b != 0 && (a < 0) != (b < 0))),
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
        Binary::DivFloor => crate::element::math::div_floor(x, y),
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
