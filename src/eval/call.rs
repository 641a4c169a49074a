//! Calls: the arguments of each parameter, and the conversion of arguments.

use std::ops::Range;

use ndarray::{ArrayD, ArrayView1, Ix1, IxDyn, SliceInfoElem};

use super::run::{at, wrong};
use super::table::{Function, functions};
use super::value::{Placed, Value};
use super::{Argument, Fault, Id, Node, Wrong};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result as Outcome};
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::{AnyOperand, AnyTensor};
use crate::element::{DType, Element, Number};
use crate::ops::{GroupLabels, PARAMETER_MARKS, slice_of};

type Found<T> = Result<T, Fault>;

/// Returns the error for a name that is not a function, with a similar name as a hint.
pub(super) fn no_function(name: &str, at: Range<usize>) -> Wrong {
    let alike = |known: &&str| (strsim::jaro(name, known) * 1e6) as u64;
    let hint = functions().max_by_key(alike).filter(|known| strsim::jaro(name, known) > 0.8);
    let hint = hint.map_or(String::new(), |known| format!("; did you mean {known}?"));
    Wrong::new(at, format!("there is no function {name}{hint}"))
}

/// Returns the arguments of each parameter. A last parameter with the mark `*` receives all remaining arguments.
pub(super) fn placed(
    function: &Function,
    arguments: &[Argument],
    call: &Range<usize>,
    nodes: &[Node],
) -> Result<Vec<Vec<Id>>, Wrong> {
    let parameters: Vec<&str> = function.op.parameters().collect();
    let takes_more = |place: usize| parameters[place].ends_with('*');
    let mut places = vec![Vec::new(); parameters.len()];
    for (position, argument) in arguments.iter().enumerate() {
        let (place, at) = match &argument.name {
            None if arguments[..position].iter().any(|before| before.name.is_some()) => {
                let at = nodes[argument.value].at.clone();
                return Err(Wrong::new(at, "an argument without a name stands behind one with a name"));
            }
            None => {
                let place = match parameters.len().checked_sub(1) {
                    Some(last) if takes_more(last) => position.min(last),
                    _ => position,
                };
                ((place < parameters.len()).then_some(place), nodes[argument.value].at.clone())
            }
            Some((name, at)) => {
                let is_it = |parameter: &&str| parameter.trim_end_matches(PARAMETER_MARKS) == name;
                (parameters.iter().position(is_it), at.clone())
            }
        };
        let Some(place) = place else {
            return Err(Wrong::new(at, format!("the arguments of {} are {}", function.name(), function.signature())));
        };
        if !places[place].is_empty() && (argument.name.is_some() || !takes_more(place)) {
            return Err(Wrong::new(
                at,
                format!("{} is given twice", parameters[place].trim_end_matches(PARAMETER_MARKS)),
            ));
        }
        places[place].push(argument.value);
    }
    let missing = parameters.iter().zip(&places).find(|(name, place)| place.is_empty() && !name.ends_with('?'));
    match missing {
        None => Ok(places),
        Some((name, _)) => {
            let at = call.start..call.start + function.name().len();
            let name = name.trim_end_matches(PARAMETER_MARKS);
            Err(Wrong::new(at, format!("{} needs {name}; its arguments are {}", function.name(), function.signature())))
        }
    }
}

/// A call with the values of its arguments.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) at: Range<usize>,
    pub(super) values: Vec<Option<Placed>>,
}

impl Call {
    /// Returns the result of an operation, with its error at the position of the call.
    pub(super) fn done(&self, result: Outcome<impl Into<Value>>) -> Found<Value> {
        at(&self.at, result).map(Into::into)
    }

    /// Returns an argument. An absent argument is an error.
    pub(super) fn given(&self, place: usize) -> Found<&Placed> {
        match self.values.get(place).and_then(Option::as_ref) {
            Some(value) => Ok(value),
            None => wrong(&self.at, format!("{} needs more arguments", self.name)),
        }
    }

    fn maybe(&self, place: usize) -> Option<&Placed> {
        self.values.get(place).and_then(Option::as_ref)
    }

    pub(super) fn is_given(&self, place: usize) -> bool {
        self.maybe(place).is_some()
    }

    /// Returns an operand: a tensor, an array or a view of stored entries.
    pub(super) fn seen(&self, place: usize) -> Found<AnyOperand<'_>> {
        let given = self.given(place)?;
        match given.value.operand() {
            Some(operand) => Ok(operand),
            None => wrong(&given.at, format!("this is {}, and not a tensor", given.value.kind())),
        }
    }

    /// Returns a tensor or an array. A view is an error, because the function reads all elements.
    pub(super) fn whole(&self, place: usize) -> Found<AnyOperand<'_>> {
        match self.seen(place)? {
            AnyOperand::Stored(_) => {
                let at = &self.given(place)?.at;
                wrong(at, format!("{} looks at the whole tensor, not at stored(…)", self.name))
            }
            whole => Ok(whole),
        }
    }

    /// Returns a tensor, for a function that does not accept arrays.
    pub(super) fn tensor(&self, place: usize) -> Found<&AnyTensor> {
        at(&self.at, self.whole(place)?.sparse(self.name))
    }

    /// Returns a tensor or an array. A view is replaced by its tensor, because a move reads all elements.
    pub(super) fn moving(&self, place: usize) -> Found<AnyOperand<'_>> {
        Ok(self.seen(place)?.whole())
    }

    /// Returns the element type of an operand.
    pub(super) fn dtype(&self, place: usize) -> Found<DType> {
        Ok(self.seen(place)?.dtype())
    }

    /// Returns the tensors and arrays of a list.
    pub(super) fn operands(&self, place: usize) -> Found<Vec<AnyOperand<'_>>> {
        let given = self.given(place)?;
        operands_of(&given.value, &given.at)
    }

    /// Returns the operands of a list, or a single operand.
    pub(super) fn factors(&self, place: usize) -> Found<Vec<AnyOperand<'_>>> {
        let given = self.given(place)?;
        let items = match &given.value {
            Value::List(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut operands = Vec::with_capacity(items.len());
        for item in items {
            operands.push(match item.operand() {
                Some(operand) => operand,
                None => return wrong(&given.at, format!("there is {} in this list of tensors", item.kind())),
            });
        }
        Ok(operands)
    }

    /// Returns the operands of a list of lists.
    pub(super) fn rows(&self, place: usize) -> Found<Vec<Vec<AnyOperand<'_>>>> {
        let given = self.given(place)?;
        match &given.value {
            Value::List(rows) => rows.iter().map(|row| operands_of(row, &given.at)).collect(),
            other => wrong(&given.at, format!("this is {}, and not a list of rows", other.kind())),
        }
    }

    /// Returns the slices of an operand, from the text of an index.
    pub(super) fn slices(&self, place: usize, x: AnyOperand<'_>) -> Found<Vec<SliceInfoElem>> {
        if let Some(Placed { value: Value::Slices(slices), .. }) = self.maybe(place) {
            return Ok(slices.to_vec());
        }
        let text = self.text(place)?;
        let parts = super::run::parts(text).map_err(|fault| match fault {
            Fault::Wrong(inner) => Fault::Wrong(Wrong::new(self.at_of(place), inner.message)),
            fault => fault,
        })?;
        slices(&parts, &x.shape(), &self.at)
    }

    pub(super) fn at_of(&self, place: usize) -> Range<usize> {
        self.maybe(place).map_or_else(|| self.at.clone(), |given| given.at.clone())
    }

    /// Returns a number in an element type.
    pub(super) fn number(&self, place: usize, dtype: DType) -> Found<Number> {
        super::run::number_beside(self.given(place)?, dtype)
    }

    /// Returns a number as `f64`.
    pub(super) fn real(&self, place: usize) -> Found<f64> {
        let number = self.number(place, DType::Float64)?;
        Ok(number.float().unwrap_or(f64::NAN))
    }

    /// Returns the exponent of the first operand.
    pub(super) fn exponent(&self, place: usize) -> Found<f64> {
        let (given, dtype) = (self.given(place)?, self.dtype(0)?);
        match &given.value {
            Value::Number(number) => match number.in_type(dtype) {
                // Larger integers are not exponents of integers.
                Ok(exponent) if !matches!(exponent, Number::Integer(large) if i32::try_from(large).is_err()) => {
                    Ok(exponent.float().unwrap_or(f64::NAN))
                }
                _ => wrong(&given.at, format!("{} is no exponent of {dtype}", number.told())),
            },
            _ => self.number(place, dtype).map(|number| number.float().unwrap_or(f64::NAN)),
        }
    }

    /// Returns a number as `f64`, or `default` if the argument is absent.
    pub(super) fn real_or(&self, place: usize, default: f64) -> Found<f64> {
        if self.is_given(place) { self.real(place) } else { Ok(default) }
    }

    /// Returns an integer, or `default` if the argument is absent.
    pub(super) fn integer<T: TryFrom<i128>>(&self, place: usize, default: Option<T>) -> Found<T> {
        match (self.maybe(place), default) {
            (None, Some(default)) => Ok(default),
            _ => {
                let given = self.given(place)?;
                integer(&given.value, &given.at)
            }
        }
    }

    /// Returns whether an option is set.
    pub(super) fn flag(&self, place: usize) -> Found<bool> {
        let Some(given) = self.maybe(place) else { return Ok(false) };
        match &given.value {
            Value::Number(number) if number.truth().is_some() => Ok(number.truth() == Some(true)),
            other => wrong(&given.at, format!("true or false belongs here, and not {}", other.kind())),
        }
    }

    /// Returns the index of a word in `words`, or 0 if the argument is absent.
    pub(super) fn word(&self, place: usize, words: &[&str]) -> Found<usize> {
        let Some(given) = self.maybe(place) else { return Ok(0) };
        let found = match &given.value {
            Value::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        found.map_or_else(|| wrong(&given.at, format!("one of \"{}\" belongs here", words.join("\", \""))), Ok)
    }

    /// Returns a text.
    pub(super) fn text(&self, place: usize) -> Found<&str> {
        let given = self.given(place)?;
        match &given.value {
            Value::Text(text) => Ok(text),
            other => wrong(&given.at, format!("this is {}, and not a text", other.kind())),
        }
    }

    /// Returns axes, with `keep_dims` from the next argument and the group labels of one axis from the argument at
    /// `by`. An absent argument means all axes.
    pub(super) fn axes(&self, place: usize, by: usize) -> Found<Axes> {
        let axes = self.some_axes(place)?.with_keep_dims(self.flag(place + 1)?);
        let Some(given) = self.maybe(by) else { return Ok(axes) };
        let axis: isize = match self.maybe(place) {
            Some(axis) => integer(&axis.value, &axis.at)?,
            None => return wrong(&given.at, "axis=… says whose labels these are"),
        };
        let labels = self.integral(by, "labels")?.into_dimensionality::<Ix1>();
        let labels = labels.or_else(|_| wrong(&given.at, "this is a list of labels, one for each position"))?;
        let grouping = GroupLabels::of(&labels).group(axis, &self.moving(0)?.shape());
        Ok(axes.grouped(at(&given.at, grouping)?))
    }

    /// Returns axes. An absent argument means all axes.
    pub(super) fn some_axes(&self, place: usize) -> Found<Axes> {
        let Some(given) = self.maybe(place) else { return Ok(Axes::all()) };
        match &given.value {
            Value::List(items) => {
                let axes = items.iter().map(|item| integer::<isize>(item, &given.at));
                Ok(Axes::from(axes.collect::<Found<Vec<_>>>()?))
            }
            Value::Text(text) if text == "all" => Ok(Axes::all()),
            Value::Text(text) if text == "none" => Ok(Axes::none()),
            axis => Ok(Axes::from(integer::<isize>(axis, &given.at)?)),
        }
    }

    /// Returns the integers of a list, or a list of a single integer.
    pub(super) fn integers<T: TryFrom<i128>>(&self, place: usize) -> Found<Vec<T>> {
        let given = self.given(place)?;
        match &given.value {
            Value::List(items) => items.iter().map(|item| integer(item, &given.at)).collect(),
            one => Ok(vec![integer(one, &given.at)?]),
        }
    }

    /// Returns the pairs of integers of a list.
    pub(super) fn pairs(&self, place: usize) -> Found<Vec<(usize, usize)>> {
        let given = self.given(place)?;
        const REFUSED: &str = "this is a list of pairs, as in [[0, 1], [2, 0]]";
        let Value::List(items) = &given.value else { return wrong(&given.at, REFUSED) };
        let pair = |item: &Value| match item {
            Value::List(pair) if pair.len() == 2 => Ok((integer(&pair[0], &given.at)?, integer(&pair[1], &given.at)?)),
            _ => wrong(&given.at, REFUSED),
        };
        items.iter().map(pair).collect()
    }

    pub(super) fn shape(&self, place: usize) -> Found<Shape> {
        Ok(Shape::from(self.integers::<usize>(place)?))
    }

    /// Returns the numbers of a list in an element type. A number that is not a value of the type is skipped, because
    /// no element equals it.
    pub(super) fn members(&self, place: usize, dtype: DType) -> Found<Vec<Number>> {
        let given = self.given(place)?;
        let items = match &given.value {
            Value::List(items) => items.as_slice(),
            Value::Tensor(tensor) => return Ok(crate::dynamic::numbers(tensor)),
            Value::Array(array) => return at(&given.at, array.numbers()),
            one => std::slice::from_ref(one),
        };
        let mut members = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Number(number) => members.extend(number.in_type(dtype).ok()),
                other => return wrong(&given.at, format!("there is {} in this list of numbers", other.kind())),
            }
        }
        Ok(members)
    }

    /// Returns positions by their coordinates, each a list of integers. A position of a vector may also be an integer.
    pub(super) fn coordinates(&self, place: usize, rank: usize) -> Found<Vec<Vec<usize>>> {
        let (listed, place) = (self.positions(place)?, self.at_of(place));
        if listed.ndim() != 2 && (listed.ndim(), rank) != (1, 1) {
            return wrong(&place, format!("this is a list of positions, each a list of {rank} integers"));
        }
        if let [count, found] = *listed.shape()
            && (count > 0 && found != rank)
        {
            return wrong(
                &place,
                format!("each position is a list of {rank} integers, and these are lists of {found}"),
            );
        }
        let position = |row: ArrayView1<'_, i64>| row.iter().map(|&at| usize::try_from(at).ok()).collect();
        let found: Option<_> = match listed.ndim() {
            1 => listed.iter().map(|&at| usize::try_from(at).ok().map(|at| vec![at])).collect(),
            _ => listed.rows().into_iter().map(position).collect(),
        };
        found.map_or_else(|| wrong(&place, "a coordinate is 0 or more"), Ok)
    }

    /// Returns one number per position, from a list of `count` numbers or from a number for all positions.
    pub(super) fn numbers(&self, place: usize, dtype: DType, count: usize) -> Found<Vec<Number>> {
        let given = self.given(place)?;
        let of = |item: &Value| match item {
            Value::Number(number) => number.in_type(dtype).or_else(|message| wrong(&given.at, message)),
            other => wrong(&given.at, format!("there is {} in this list of numbers", other.kind())),
        };
        let numbers = match &given.value {
            Value::List(items) => items.iter().map(of).collect::<Found<Vec<_>>>()?,
            one => vec![of(one)?; count],
        };
        match numbers.len() == count {
            true => Ok(numbers),
            false => wrong(&given.at, format!("these are {} numbers for {count} positions", numbers.len())),
        }
    }

    /// Returns positions, from nested lists of integers, or from a tensor or array of integers.
    pub(super) fn positions(&self, place: usize) -> Found<ArrayD<i64>> {
        self.integral(place, "positions")
    }

    /// Returns integers, from nested lists of equal lengths, or from a tensor or array of integers.
    fn integral(&self, place: usize, what: &str) -> Found<ArrayD<i64>> {
        let given = self.given(place)?;
        match &given.value {
            Value::Tensor(_) | Value::Array(_) => {
                let operand = self.seen(place)?;
                match at(&given.at, dense_integers(operand))? {
                    Some(integers) => Ok(integers),
                    None => {
                        let (name, dtype) = (self.name, operand.dtype());
                        wrong(&given.at, format!("the {what} of {name} are integers, and not {dtype}"))
                    }
                }
            }
            listed => {
                let (mut shape, mut positions) = (Vec::new(), Vec::new());
                flatten(listed, 0, &mut shape, &mut positions, &given.at)?;
                ArrayD::from_shape_vec(IxDyn(&shape), positions)
                    .or_else(|_| wrong(&given.at, "the lists in this list differ in length"))
            }
        }
    }
}

fn operands_of<'a>(list: &'a Value, at: &Range<usize>) -> Found<Vec<AnyOperand<'a>>> {
    let Value::List(items) = list else {
        return wrong(at, format!("this is {}, and not a list of tensors", list.kind()));
    };
    let operand = |item: &'a Value| match item.operand() {
        Some(operand) if !operand.is_stored() => Ok(operand),
        _ => wrong(at, format!("there is {} in this list of tensors", item.kind())),
    };
    items.iter().map(operand).collect()
}

/// Returns the elements of an operand, if they are integers.
fn dense_integers(operand: AnyOperand<'_>) -> Outcome<Option<ArrayD<i64>>> {
    if operand.dtype() == DType::Bool
        || !dispatch_dtype!(operand.dtype(), T => T::ZERO.to_integer().is_some(), else => false)
    {
        return Ok(None);
    }
    let integers = match operand {
        AnyOperand::Tensor(x) | AnyOperand::Stored(x) => AnyOperand::from(&x.clone().cast(DType::Int64)?).to_array()?,
        AnyOperand::Array(x) => x.cast(DType::Int64)?,
    };
    Ok(integers.view::<i64>().map(|integers| integers.to_owned()))
}

/// Appends the integers of nested lists. The first lists determine the shape.
fn flatten(
    value: &Value,
    depth: usize,
    shape: &mut Vec<usize>,
    positions: &mut Vec<i64>,
    at: &Range<usize>,
) -> Found<()> {
    let Value::List(items) = value else {
        if depth != shape.len() {
            return wrong(at, "the lists in this list differ in depth");
        }
        positions.push(integer(value, at)?);
        return Ok(());
    };
    if depth == shape.len() && positions.is_empty() {
        shape.push(items.len());
    } else if shape.get(depth) != Some(&items.len()) {
        return wrong(at, "the lists in this list differ in length");
    }
    items.iter().try_for_each(|item| flatten(item, depth + 1, shape, positions, at))
}

fn integer<T: TryFrom<i128>>(value: &Value, at: &Range<usize>) -> Found<T> {
    let found = match value {
        Value::Number(number) => number.integer().and_then(|integer| T::try_from(integer).ok()),
        _ => None,
    };
    let refused = || {
        let least = if T::try_from(-1).is_ok() { "" } else { ", at least 0," };
        let found = match value {
            Value::Number(number) => number.told(),
            other => other.kind().to_string(),
        };
        wrong(at, format!("an integer{least} belongs here, and not {found}"))
    };
    found.map_or_else(refused, Ok)
}

/// An item of an index: an integer, or the integers of `start:stop:step`.
pub(super) enum Part {
    One(i128),
    Range([Option<i128>; 3]),
}

/// Returns the items of an index as text.
pub(super) fn text_of(parts: &[Part]) -> String {
    let end = |end: &Option<i128>| end.map_or_else(String::new, |end| end.to_string());
    let text = |part: &Part| match part {
        Part::One(index) => index.to_string(),
        Part::Range([start, stop, None]) => format!("{}:{}", end(start), end(stop)),
        Part::Range([start, stop, step]) => format!("{}:{}:{}", end(start), end(stop), end(step)),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the items of an index as slices, one per axis. An axis without an item is selected entirely.
pub(super) fn slices(parts: &[Part], shape: &Shape, place: &Range<usize>) -> Found<Vec<SliceInfoElem>> {
    if parts.len() > shape.rank() {
        let (rank, count) = (shape.rank(), parts.len());
        return at(place, Err(Error::RankMismatch { what: "the slice", expected: rank, found: count }));
    }
    let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
    let part = |axis: usize| match parts.get(axis) {
        None => Ok(whole),
        Some(Part::One(index)) => {
            // A position that does not fit `isize` is counted from the end.
            let length = shape[axis] as i128;
            let from_end = if *index < length { index.saturating_sub(length) } else { *index };
            match isize::try_from(*index).or_else(|_| isize::try_from(from_end)) {
                Ok(index) => Ok(SliceInfoElem::Index(index)),
                Err(_) => out_of_range(*index, axis, shape),
            }
        }
        Some(Part::Range(ends)) => range(*ends, axis, shape),
    };
    at(place, (0..shape.rank()).map(part).collect())
}

fn out_of_range<T>(index: i128, axis: usize, shape: &Shape) -> Outcome<T> {
    let index = index.clamp(isize::MIN as i128, isize::MAX as i128) as isize;
    Err(Error::SliceOutOfRange { index, axis, length: shape[axis] })
}

/// Returns the slice of `start:stop:step` as in Python, except that an end outside the axis is an error. A negative
/// step walks the range backwards from its end, as in ndarray.
fn range([start, stop, step]: [Option<i128>; 3], axis: usize, shape: &Shape) -> Outcome<SliceInfoElem> {
    let (length, step) = (shape[axis] as i128, step.unwrap_or(1));
    if let Some(end) = [start, stop].into_iter().flatten().find(|end| !(-length..=length).contains(end)) {
        return out_of_range(end, axis, shape);
    }
    if step == 0 {
        return Err(Error::ZeroStep { axis });
    }
    let from_front = |end: i128| if end < 0 { end + length } else { end };
    let (start, stop) = (start.map(from_front), stop.map(from_front));
    let (low, high) = match step > 0 {
        true => (start.unwrap_or(0), stop.unwrap_or(length)),
        // The positions from `start` down to the position after `stop`.
        false => (stop.map_or(0, |stop| stop + 1), start.map_or(length, |start| (start + 1).min(length))),
    };
    let step = step.clamp(-(isize::MAX as i128), isize::MAX as i128) as isize;
    Ok(slice_of(low.min(high) as usize..high as usize, shape[axis], step))
}
