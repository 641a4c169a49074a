//! Arguments of calls: lowered nodes, converted by the kind of the parameter.

use std::ops::Range;
use std::sync::Arc;

use super::Fault;
use super::fault::wrong;
use super::literal::Literal;
use crate::base::axes::Axes;
use crate::element::{DType, Number};
use crate::lazy::Node as Step;
use crate::lazy::call::Arg;
use crate::ops::ParameterKind;

type Found<T> = Result<T, Fault>;

/// A lowered node of the syntax, which is cheap to clone.
#[derive(Clone)]
pub(super) enum Low {
    Step(Arc<Step>),
    /// The stored entries of a step.
    Stored(Arc<Step>),
    Number(Literal),
    Text(Arc<str>),
    List(Arc<[Low]>),
}

impl Low {
    /// Returns the kind of the node, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Low::Step(_) => "a tensor",
            Low::Stored(_) => "the entries of a tensor",
            Low::Number(_) => "a number",
            Low::Text(_) => "a string",
            Low::List(_) => "a list",
        }
    }

    /// Returns the step, if the node is a step or a view of its stored entries.
    pub(super) fn step(&self) -> Option<&Arc<Step>> {
        if let Low::Step(step) | Low::Stored(step) = self { Some(step) } else { None }
    }

    /// Returns the node as an operand, or as data.
    pub(super) fn arg(&self, inputs: &mut Vec<Arc<Step>>) -> Arg {
        match self {
            Low::Step(step) => {
                inputs.push(Arc::clone(step));
                Arg::Input(inputs.len() - 1)
            }
            Low::Stored(step) => {
                inputs.push(Arc::clone(step));
                Arg::Stored(inputs.len() - 1)
            }
            Low::Number(number) => number.clone().into(),
            Low::Text(text) => Arg::Text(Arc::clone(text)),
            Low::List(items) => Arg::List(items.iter().map(|item| item.arg(inputs)).collect()),
        }
    }

    /// Returns the node as the argument of a parameter of this kind.
    pub(super) fn of_kind(&self, kind: ParameterKind, inputs: &mut Vec<Arc<Step>>, at: &Range<usize>) -> Found<Arg> {
        Ok(match kind {
            ParameterKind::Axes => Arg::Axes(self.axes(at)?),
            ParameterKind::Integer => Arg::Integer(self.integer::<isize>(at)?),
            ParameterKind::Count => Arg::Integer(self.integer::<u64>(at)?),
            ParameterKind::Integers => Arg::Integers(self.integers::<isize>(at)?.into()),
            ParameterKind::Counts => Arg::Integers(self.integers::<usize>(at)?.into()),
            ParameterKind::Lengths => Arg::Integers(self.lengths(at)?.into()),
            ParameterKind::Pairs => Arg::Pairs(self.pairs(at)?.into()),
            ParameterKind::Flag => Arg::Flag(self.flag(at)?),
            ParameterKind::Word(words) => Arg::Word(self.word(words, at)?),
            ParameterKind::Text | ParameterKind::Slices => Arg::Text(self.text(at)?.into()),
            ParameterKind::Real => Arg::Real(self.real(at)?),
            ParameterKind::Order => self.order(at)?,
            ParameterKind::Number => match self {
                Low::Number(number) => number.clone().into(),
                other => return wrong(at, format!("expected a number, found {}", other.kind())),
            },
            ParameterKind::Operand | ParameterKind::Choice | ParameterKind::Data | ParameterKind::Closure => {
                self.arg(inputs)
            }
        })
    }

    /// Returns one axis or several axes.
    fn axes(&self, at: &Range<usize>) -> Found<Axes> {
        match self {
            Low::Text(text) if &**text == "all" => Ok(Axes::all()),
            Low::Text(text) if &**text == "none" => Ok(Axes::none()),
            Low::List(items) => {
                let axes = items.iter().map(|item| item.integer::<isize>(at).map(|axis| axis as isize));
                Ok(Axes::from(axes.collect::<Found<Vec<_>>>()?))
            }
            axis => Ok(Axes::from(axis.integer::<isize>(at)? as isize)),
        }
    }

    /// Returns an integer in the range of type `T`.
    pub(super) fn integer<T: TryFrom<i128>>(&self, at: &Range<usize>) -> Found<i128> {
        match self {
            Low::Number(number) => match number.integer().filter(|&integer| T::try_from(integer).is_ok()) {
                Some(integer) => Ok(integer),
                None => no_integer::<T, i128>(&number.source_text(), at),
            },
            other => no_integer::<T, i128>(other.kind(), at),
        }
    }

    /// Returns the integers of a list, or a list of a single integer.
    fn integers<T: TryFrom<i128>>(&self, at: &Range<usize>) -> Found<Vec<i128>> {
        match self {
            Low::List(items) => items.iter().map(|item| item.integer::<T>(at)).collect(),
            one => Ok(vec![one.integer::<T>(at)?]),
        }
    }

    /// Returns the lengths of a shape, of which one may be -1.
    fn lengths(&self, at: &Range<usize>) -> Found<Vec<i128>> {
        let lengths = self.integers::<i128>(at)?;
        let mut others = lengths.iter().filter(|&&length| usize::try_from(length).is_err());
        match (others.next(), others.next()) {
            (None, _) | (Some(-1), None) => Ok(lengths),
            (Some(-1), Some(-1)) => wrong(at, "only one length may be -1"),
            (Some(-1), Some(other)) | (Some(other), _) => {
                wrong(at, format!("expected integers of at least 0, or -1 once, found {other}"))
            }
        }
    }

    /// Returns the pairs of integers of a list.
    fn pairs(&self, at: &Range<usize>) -> Found<Vec<(usize, usize)>> {
        let pair = |item: &Low| match item {
            Low::List(pair) if pair.len() == 2 => {
                Ok((pair[0].integer::<usize>(at)? as usize, pair[1].integer::<usize>(at)? as usize))
            }
            _ => no_pairs(at),
        };
        match self {
            Low::List(items) => items.iter().map(pair).collect(),
            _ => no_pairs(at),
        }
    }

    /// Returns whether an option is set.
    fn flag(&self, at: &Range<usize>) -> Found<bool> {
        match self {
            Low::Number(number) if number.truth().is_some() => Ok(number.truth() == Some(true)),
            other => wrong(at, format!("expected true or false, found {}", other.kind())),
        }
    }

    /// Returns one of the words.
    fn word(&self, words: &[&'static str], at: &Range<usize>) -> Found<&'static str> {
        let found = match self {
            Low::Text(text) => words.iter().copied().find(|word| *word == &**text),
            _ => None,
        };
        found.map_or_else(|| wrong(at, format!("expected one of \"{}\"", words.join("\", \""))), Ok)
    }

    fn text(&self, at: &Range<usize>) -> Found<&str> {
        match self {
            Low::Text(text) => Ok(text),
            other => wrong(at, format!("expected a string, found {}", other.kind())),
        }
    }

    fn real(&self, at: &Range<usize>) -> Found<f64> {
        match self {
            Low::Number(number) => match number.in_type(DType::Float64) {
                Ok(number) => Ok(number.float().unwrap_or(f64::NAN)),
                Err(message) => wrong(at, message),
            },
            other => wrong(at, format!("expected a number, found {}", other.kind())),
        }
    }

    /// Returns the order of a norm. The order 2 is the default.
    fn order(&self, at: &Range<usize>) -> Found<Arg> {
        match self.real(at)? {
            1.0 => Ok(Arg::Integer(1)),
            2.0 => Ok(Arg::Absent),
            f64::INFINITY => Ok(Arg::Real(f64::INFINITY)),
            other => wrong(at, format!("ord must be 1, 2 or inf, found {other}")),
        }
    }
}

fn no_pairs<T>(at: &Range<usize>) -> Found<T> {
    wrong(at, "expected a list of pairs, such as [[0, 1], [2, 0]]")
}

/// Returns the error for an argument that is not an integer in the range of type `T`.
pub(super) fn no_integer<T: TryFrom<i128>, R>(found: &str, at: &Range<usize>) -> Found<R> {
    let min = if T::try_from(-1).is_ok() { "" } else { " of at least 0" };
    wrong(at, format!("expected an integer{min}, found {found}"))
}

/// Returns an argument as a number, if it is a number.
pub(super) fn number_of(arg: &Arg) -> Option<Literal> {
    match arg {
        Arg::Typed(data) => match data.as_any().downcast_ref::<Literal>() {
            Some(number) => Some(number.clone()),
            None => data.number().map(Literal::from),
        },
        Arg::Integer(integer) => Some(Number::Integer(*integer).into()),
        Arg::Real(real) => Some((*real).into()),
        Arg::Flag(flag) => Some(Literal::from(*flag)),
        _ => None,
    }
}
