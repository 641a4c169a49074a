//! A call that runs: its arguments, and the values of its inputs.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::{Array1, ArrayD, ArrayView1, Ix1, IxDyn};

use super::Fault;
use super::argument::{no_integer, number_of};
use super::fault::{CallPositions, at, wrong};
use super::index::slices_of;
use super::literal::Literal;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result as Outcome};
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue};
use crate::element::{DType, Element, Number};
use crate::lazy::call::{Arg, Call, Options};
use crate::ops::OpSpec;
use crate::plan::reduction::Reduction;

type Found<T> = Result<T, Fault>;

/// A call with the values of its inputs, and the positions of its arguments in the text.
pub(super) struct Running<'a> {
    call: Cow<'a, Call>,
    inputs: &'a [&'a AnyValue],
    places: &'a CallPositions,
}

impl<'a> Running<'a> {
    pub(super) fn new(call: &'a Call, inputs: &'a [&'a AnyValue], places: &'a CallPositions) -> Found<Self> {
        let mut running = Running { call: Cow::Borrowed(call), inputs, places };
        let bound = running.bound()?;
        running.call = bound.map_or(Cow::Borrowed(call), Cow::Owned);
        Ok(running)
    }

    /// Returns the call with the arguments that depend on the shape of the first operand: slices, and group labels.
    fn bound(&self) -> Found<Option<Call>> {
        let call = &*self.call;
        if let Arg::Text(text) = call.named("slices") {
            let slices = slices_of(text, &self.moving("x")?.shape(), self.at())?;
            return Ok(Some(call.with("slices", Arg::Slices(slices.into()))));
        }
        if matches!(call.named("by"), Arg::Absent) {
            return Ok(None);
        }
        let given = self.at_of("by");
        let labels = self.integral("by", "labels")?.into_dimensionality::<Ix1>();
        let labels = labels.or_else(|_| wrong(&given, "expected a list of labels, one per position"))?;
        let axes = call.axes();
        let Some([axis]) = axes.each() else {
            return no_integer::<isize, _>("a list", &self.at_of("axis"));
        };
        let grouped = Axes::by(*axis, &labels).with_keep_dims(axes.keeps_dims());
        at(&given, Reduction::new(&self.moving("x")?.shape(), &grouped))?;
        Ok(Some(call.with("axis", Arg::Axes(grouped)).with("by", Arg::Absent)))
    }

    /// Returns the arguments.
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// Returns the call with all arguments that depend on the values of its inputs.
    pub(super) fn into_call(self) -> Call {
        self.call.into_owned()
    }

    pub(super) fn op(&self) -> &'static OpSpec {
        self.call.op
    }

    /// Returns the position of the call in the text.
    pub(super) fn at(&self) -> &Range<usize> {
        &self.places.call
    }

    /// Returns the position of an argument in the text.
    pub(super) fn at_of(&self, parameter: &str) -> Range<usize> {
        self.op().place_of(parameter).map_or_else(|| self.at().clone(), |place| self.places.of(place))
    }

    /// Returns the result of an operation, with its error at the position of the call.
    pub(super) fn done(&self, result: Outcome<impl Into<AnyValue>>) -> Found<AnyValue> {
        at(self.at(), result).map(Into::into)
    }

    /// Returns the options of a reduction.
    pub(super) fn options<O: Options>(&self) -> O {
        O::read(&self.call)
    }

    fn arg(&self, parameter: &str) -> &Arg {
        self.call.named(parameter)
    }

    /// Returns an error for an argument.
    fn rejection<T>(&self, parameter: &str, message: impl Into<String>) -> Found<T> {
        wrong(&self.at_of(parameter), message)
    }

    pub(super) fn is_given(&self, parameter: &str) -> bool {
        !matches!(self.arg(parameter), Arg::Absent)
    }

    pub(super) fn is_stored(&self, parameter: &str) -> bool {
        matches!(self.arg(parameter), Arg::Stored(_))
    }

    /// Returns the kind of an argument, for errors.
    pub(super) fn kind(&self, arg: &Arg) -> &'static str {
        match arg {
            Arg::Input(input) if matches!(self.inputs[*input], AnyValue::Array(_)) => "an array",
            Arg::Input(_) => "a tensor",
            Arg::Stored(_) => "the entries of a tensor",
            Arg::Word(_) | Arg::Text(_) => "a string",
            Arg::List(_) | Arg::Integers(_) | Arg::Pairs(_) | Arg::Axes(_) => "a list",
            Arg::Slices(_) => "an index",
            _ => "a number",
        }
    }

    /// Returns an argument as an operand, if it is an operand.
    fn operand(&self, arg: &Arg, parameter: &str) -> Found<Option<AnyOperand<'a>>> {
        match arg {
            Arg::Input(input) => Ok(Some(AnyOperand::from(self.inputs[*input]))),
            Arg::Stored(input) => {
                let x = at(&self.at_of(parameter), AnyOperand::from(self.inputs[*input]).sparse("stored"))?;
                Ok(Some(AnyOperand::Stored(x)))
            }
            _ => Ok(None),
        }
    }

    /// Returns an operand, or `None` for a number.
    pub(super) fn maybe(&self, parameter: &str) -> Found<Option<AnyOperand<'a>>> {
        self.operand(self.arg(parameter), parameter)
    }

    /// Returns an operand: a tensor, an array or a view of stored entries.
    pub(super) fn seen(&self, parameter: &str) -> Found<AnyOperand<'a>> {
        match self.maybe(parameter)? {
            Some(operand) => Ok(operand),
            None if !self.is_given(parameter) => wrong(self.at(), format!("{} needs more arguments", self.op().name)),
            None => self.rejection(parameter, format!("expected a tensor, found {}", self.kind(self.arg(parameter)))),
        }
    }

    /// Returns a tensor or an array. Rejects a view, because the function reads all elements.
    pub(super) fn whole(&self, parameter: &str) -> Found<AnyOperand<'a>> {
        match self.seen(parameter)? {
            AnyOperand::Stored(_) => {
                let message = format!("{} does not accept stored(…); pass the tensor", self.op().name);
                self.rejection(parameter, message)
            }
            whole => Ok(whole),
        }
    }

    /// Returns a tensor, for a function that does not accept arrays.
    pub(super) fn tensor(&self, parameter: &str) -> Found<&'a AnyTensor> {
        at(self.at(), self.whole(parameter)?.sparse(self.op().name))
    }

    /// Returns a tensor or an array. A view is replaced by its tensor, because a move reads all elements.
    pub(super) fn moving(&self, parameter: &str) -> Found<AnyOperand<'a>> {
        Ok(self.seen(parameter)?.whole())
    }

    /// Returns the tensors and arrays of a list.
    pub(super) fn operands(&self, parameter: &str) -> Found<Vec<AnyOperand<'a>>> {
        let Arg::List(items) = self.arg(parameter) else {
            let kind = self.kind(self.arg(parameter));
            return self.rejection(parameter, format!("expected a list of tensors, found {kind}"));
        };
        let operands = self.of_list(items, parameter)?;
        match items.iter().find(|item| matches!(item, Arg::Stored(_))) {
            Some(item) => {
                self.rejection(parameter, format!("expected only tensors in this list, found {}", self.kind(item)))
            }
            None => Ok(operands),
        }
    }

    /// Returns the operands of a list, or a single operand.
    pub(super) fn factors(&self, parameter: &str) -> Found<Vec<AnyOperand<'a>>> {
        match self.arg(parameter) {
            Arg::List(items) => self.of_list(items, parameter),
            one => self.of_list(std::slice::from_ref(one), parameter),
        }
    }

    fn of_list(&self, items: &[Arg], parameter: &str) -> Found<Vec<AnyOperand<'a>>> {
        let operand = |item| match self.operand(item, parameter)? {
            Some(operand) => Ok(operand),
            None => self.rejection(parameter, format!("expected only tensors in this list, found {}", self.kind(item))),
        };
        items.iter().map(operand).collect()
    }

    /// Returns an argument as a number, if it is a number.
    pub(super) fn literal(&self, parameter: &str) -> Option<Literal> {
        number_of(self.arg(parameter))
    }

    /// Returns a number.
    pub(super) fn number_opt(&self, parameter: &str) -> Found<Literal> {
        match self.literal(parameter) {
            Some(number) => Ok(number),
            None => self.rejection(parameter, format!("expected a number, found {}", self.kind(self.arg(parameter)))),
        }
    }

    /// Returns a number in an element type.
    pub(super) fn number(&self, parameter: &str, dtype: DType) -> Found<Number> {
        match self.literal(parameter) {
            Some(number) => number.in_type(dtype).or_else(|message| self.rejection(parameter, message)),
            None => {
                let kind = self.kind(self.arg(parameter));
                self.rejection(parameter, format!("expected a number, found {kind}"))
            }
        }
    }

    /// Returns a number as `f64`.
    pub(super) fn real(&self, parameter: &str) -> Found<f64> {
        Ok(self.number(parameter, DType::Float64)?.float().unwrap_or(f64::NAN))
    }

    /// Returns a number as `f64`, or `default` if the argument is absent.
    pub(super) fn real_or(&self, parameter: &str, default: f64) -> Found<f64> {
        if self.is_given(parameter) { self.real(parameter) } else { Ok(default) }
    }

    /// Returns the exponent of the first operand.
    pub(super) fn exponent(&self) -> Found<f64> {
        let dtype = self.seen("x")?.dtype();
        let Some(number) = self.literal("exponent") else { return self.real("exponent") };
        match number.in_type(dtype) {
            // Larger integers are not exponents of integers.
            Ok(exponent) if !matches!(exponent, Number::Integer(large) if i32::try_from(large).is_err()) => {
                Ok(exponent.float().unwrap_or(f64::NAN))
            }
            _ => self.rejection("exponent", format!("{} is not a valid exponent for {dtype}", number.source_text())),
        }
    }

    /// Returns a number that is an integer in the range of type `T`.
    pub(super) fn integer<T: TryFrom<i128>>(&self, parameter: &str) -> Found<T> {
        let number = self.literal(parameter);
        match number.as_ref().and_then(|number| T::try_from(number.integer()?).ok()) {
            Some(integer) => Ok(integer),
            None => {
                let found =
                    number.map_or_else(|| self.kind(self.arg(parameter)).to_string(), |number| number.source_text());
                no_integer::<T, T>(&found, &self.at_of(parameter))
            }
        }
    }

    /// Returns a count, or 0 if the argument is absent.
    pub(super) fn count(&self, parameter: &str) -> usize {
        self.call.count(parameter)
    }

    /// Returns an axis or another position. The default is -1.
    pub(super) fn last_axis(&self) -> isize {
        self.call.position("axis", -1)
    }

    /// Returns an axis or another position. The default is 0.
    pub(super) fn position(&self, parameter: &str) -> isize {
        self.call.position(parameter, 0)
    }

    /// Returns the numbers of a list in an element type. A number that is not a value of the type is skipped, because
    /// no element equals it.
    pub(super) fn members(&self, dtype: DType) -> Found<Vec<Number>> {
        let items = match self.arg("members") {
            Arg::List(items) => items.as_slice(),
            Arg::Input(input) => match self.inputs[*input] {
                AnyValue::Tensor(tensor) => return Ok(crate::dynamic::numbers(tensor)),
                AnyValue::Array(array) => return at(&self.at_of("members"), array.numbers()),
            },
            one => std::slice::from_ref(one),
        };
        let mut members = Vec::with_capacity(items.len());
        for item in items {
            match number_of(item) {
                Some(number) => members.extend(number.in_type(dtype).ok()),
                None => {
                    return self.rejection(
                        "members",
                        format!("expected only numbers in this list, found {}", self.kind(item)),
                    );
                }
            }
        }
        Ok(members)
    }

    /// Returns positions by their coordinates, each a list of integers. A position of a vector may also be an integer.
    pub(super) fn coordinates(&self, parameter: &str, rank: usize) -> Found<Vec<Vec<usize>>> {
        let listed = self.positions(parameter)?;
        if listed.ndim() != 2 && (listed.ndim(), rank) != (1, 1) {
            return self.rejection(parameter, format!("expected a list of positions, each a list of {rank} integers"));
        }
        if let [count, found] = *listed.shape()
            && (count > 0 && found != rank)
        {
            let message = format!("each position must be a list of {rank} integers, found lists of {found}");
            return self.rejection(parameter, message);
        }
        let position = |row: ArrayView1<'_, i64>| row.iter().map(|&at| usize::try_from(at).ok()).collect();
        let found: Option<_> = match listed.ndim() {
            1 => listed.iter().map(|&at| usize::try_from(at).ok().map(|at| vec![at])).collect(),
            _ => listed.rows().into_iter().map(position).collect(),
        };
        found.map_or_else(|| self.rejection(parameter, "coordinates must not be negative"), Ok)
    }

    /// Returns one number per position, from a list of `count` numbers or from a number for all positions.
    pub(super) fn numbers(&self, parameter: &str, dtype: DType, count: usize) -> Found<Vec<Number>> {
        let of = |item: &Arg| match number_of(item) {
            Some(number) => number.in_type(dtype).or_else(|message| self.rejection(parameter, message)),
            None => self.rejection(parameter, format!("expected only numbers in this list, found {}", self.kind(item))),
        };
        let numbers = match self.arg(parameter) {
            Arg::List(items) => items.iter().map(of).collect::<Found<Vec<_>>>()?,
            one => vec![of(one)?; count],
        };
        match numbers.len() == count {
            true => Ok(numbers),
            false => self.rejection(parameter, format!("found {} numbers for {count} positions", numbers.len())),
        }
    }

    /// Returns the items of a list. Rejects any other argument.
    pub(super) fn list(&self, parameter: &str) -> Found<&[Arg]> {
        match self.arg(parameter) {
            Arg::List(items) => Ok(items),
            other => self.rejection(parameter, format!("expected a list of numbers, found {}", self.kind(other))),
        }
    }

    /// Returns positions, from nested lists of integers, or from a tensor or array of integers.
    pub(super) fn positions(&self, parameter: &str) -> Found<ArrayD<i64>> {
        self.integral(parameter, "positions")
    }

    /// Returns the positions of a take. A mask marks positions of the axis.
    pub(super) fn taken(&self) -> Found<ArrayD<i64>> {
        let given = self.at_of("indices");
        let Some((found, marked)) = self.mask("indices", &given)?.filter(|_| self.is_given("axis")) else {
            return self.positions("indices");
        };
        let shape = self.moving("x")?.shape();
        let expected = shape[at(self.at(), normalize_axis(self.position("axis") as i128, shape.rank()))?];
        match found == expected {
            true => Ok(marked.into_dyn()),
            false => at(&given, Err(Error::LengthMismatch { what: "the mask", expected, found })),
        }
    }

    /// Returns the length and the marked positions of a mask: a list of `true` and `false`, or a tensor or array of
    /// `bool`.
    fn mask(&self, parameter: &str, given: &Range<usize>) -> Found<Option<(usize, Array1<i64>)>> {
        let value = match self.arg(parameter) {
            Arg::List(items) if !items.is_empty() => {
                let truths = items.iter().map(|item| number_of(item).filter(Literal::is_bool)?.truth());
                let truths: Option<Vec<bool>> = truths.collect();
                return Ok(truths.map(|truths| (truths.len(), marked(truths.into_iter()))));
            }
            Arg::Input(input) if self.inputs[*input].dtype() == DType::Bool => self.inputs[*input],
            _ => return Ok(None),
        };
        let [length] = value.shape()[..] else {
            let (name, rank) = (self.op().name, value.shape().rank());
            return wrong(
                given,
                format!("a mask of {name} must have rank 1, found {rank}; select(x, mask) keeps the shape"),
            );
        };
        let marked = match value {
            // A tensor that is mostly false does not become an array.
            AnyValue::Tensor(mask) if mask.fill() == Number::Integer(0) => {
                at(given, mask.nonzero().and_then(|positions| positions.cast(DType::Int64)))?
            }
            mask => {
                let mask = at(given, AnyOperand::from(mask).to_array())?;
                AnyArray::from(marked(mask.view::<bool>().into_iter().flatten().copied()).into_dyn())
            }
        };
        let positions = marked.view::<i64>().into_iter().flatten().copied().collect();
        Ok(Some((length, positions)))
    }

    /// Returns the positions on each axis, from a list with one item per axis, or from the rows of a tensor or array.
    pub(super) fn lists(&self, parameter: &str) -> Found<Vec<ArrayD<i64>>> {
        let given = self.at_of(parameter);
        match self.arg(parameter) {
            Arg::List(items) => items.iter().map(|item| self.integral_of(item, "positions", &given)).collect(),
            _ => match self.positions(parameter)? {
                one if one.ndim() == 0 => self.rejection(parameter, "expected a list of positions for each axis"),
                rows => Ok(rows.outer_iter().map(|row| row.to_owned()).collect()),
            },
        }
    }

    /// Returns the integers of a parameter.
    fn integral(&self, parameter: &str, what: &str) -> Found<ArrayD<i64>> {
        self.integral_of(self.arg(parameter), what, &self.at_of(parameter))
    }

    /// Returns integers, from nested lists of equal lengths, or from a tensor or array of integers.
    fn integral_of(&self, arg: &Arg, what: &str, given: &Range<usize>) -> Found<ArrayD<i64>> {
        if let Arg::Input(input) = arg {
            let operand = AnyOperand::from(self.inputs[*input]);
            return match at(given, dense_integers(operand))? {
                Some(integers) => Ok(integers),
                None => {
                    let (name, dtype) = (self.op().name, operand.dtype());
                    wrong(given, format!("the {what} of {name} must be integers, found {dtype}"))
                }
            };
        }
        let (mut shape, mut positions) = (Vec::new(), Vec::new());
        self.flatten(arg, 0, &mut shape, &mut positions, given)?;
        ArrayD::from_shape_vec(IxDyn(&shape), positions).or_else(|_| wrong(given, "the nested lists differ in length"))
    }

    /// Appends the integers of nested lists. The first lists determine the shape.
    fn flatten(
        &self,
        value: &Arg,
        depth: usize,
        shape: &mut Vec<usize>,
        positions: &mut Vec<i64>,
        at: &Range<usize>,
    ) -> Found<()> {
        let Arg::List(items) = value else {
            if depth != shape.len() {
                return wrong(at, "the nested lists differ in depth");
            }
            let number = number_of(value);
            match number.as_ref().and_then(|number| i64::try_from(number.integer()?).ok()) {
                Some(integer) => positions.push(integer),
                None => {
                    let found = number.map_or_else(|| self.kind(value).to_string(), |number| number.source_text());
                    return no_integer::<i64, ()>(&found, at);
                }
            }
            return Ok(());
        };
        if depth == shape.len() && positions.is_empty() {
            shape.push(items.len());
        } else if shape.get(depth) != Some(&items.len()) {
            return wrong(at, "the nested lists differ in length");
        }
        items.iter().try_for_each(|item| self.flatten(item, depth + 1, shape, positions, at))
    }

    /// Returns the shape in the argument `shape`.
    pub(super) fn shape(&self) -> Shape {
        self.call.shape()
    }

    /// Returns the element type in the argument `dtype`.
    pub(super) fn dtype(&self) -> Found<DType> {
        let name = self.call.word("dtype");
        match DType::from_name(name) {
            Some(dtype) => Ok(dtype),
            None => self.rejection("dtype", format!("unknown element type {name}")),
        }
    }
}

/// Returns the positions of the marks that are true.
fn marked(marks: impl Iterator<Item = bool>) -> Array1<i64> {
    marks.enumerate().filter_map(|(position, is_marked)| is_marked.then_some(position as i64)).collect()
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
