//! The call of an operation: a row of the table of operations, and one argument per parameter.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::SliceInfoElem;

use super::text::{ToText, text_of_axes, text_of_items};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{Element, Number};
use crate::ops::{EvenCount, Nanmedian, Norm, NormOrder, OpSpec, Parameter, Quantile, QuantileMethod, TakeMode, Var};

/// A call of an operation on the inputs of a node.
///
/// Equal calls on the same inputs return bitwise identical results.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub(crate) op: &'static OpSpec,
    /// The arguments in the order of the parameters, then options without a textual form.
    args: Vec<Arg>,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub enum Arg {
    /// No argument. The parameter has its default.
    Absent,
    /// The input with this index.
    Input(usize),
    /// The stored entries of the input with this index.
    Stored(usize),
    List(Vec<Arg>),
    Flag(bool),
    Integer(i128),
    Real(f64),
    Word(&'static str),
    Text(Arc<str>),
    /// The arguments of `axis`, `keep_dims` and `by` together.
    Axes(Axes),
    Integers(Arc<[i128]>),
    Pairs(Arc<[(usize, usize)]>),
    Slices(Arc<[SliceInfoElem]>),
    /// Data of erased type, such as an element.
    Typed(Arc<dyn Typed>),
    /// A closure, identified by its number. A closure equals only itself.
    Own(u64),
    /// Data for the gradient of this gradient. A hint does not change the result, and does not have a textual form. All
    /// hints are equal.
    Hint(Box<Arg>),
}

/// Data of erased type in an argument.
///
/// A graph can compare these data and write their textual form.
pub trait Typed: fmt::Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;

    /// Returns whether these data and `other` are known to be bitwise identical.
    fn is_same(&self, other: &dyn Typed) -> bool;

    /// Returns the textual form, if there is one. Reading this text returns bitwise identical data.
    fn to_text(&self) -> Option<String>;

    fn number(&self) -> Option<Number> {
        None
    }

    /// Returns the shape of the elements at these positions; `None` if the data are not positions.
    fn taken_shape(&self, _of: &Shape, _axis: Option<i128>) -> Option<Result<Shape>> {
        None
    }

    /// Returns the positions among this many elements; `None` if the data are not positions, or if one is out of range.
    fn positions(&self, _size: usize) -> Option<Vec<usize>> {
        None
    }

    /// Returns the number of elements.
    fn count(&self) -> usize {
        1
    }

    /// Returns the rank of these positions.
    fn rank(&self) -> usize {
        0
    }
}

/// A single element.
#[derive(Debug)]
struct TypedElement<T>(T);

impl<T: Element> Typed for TypedElement<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        // `same` ignores the bits of a NaN. A NaN is known to have equal bits only if it has a textual form.
        let has_text = |one: T| !one.isnan() || one.to_text().is_some();
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| self.0.same(other.0) && has_text(self.0) && has_text(other.0))
    }

    fn to_text(&self) -> Option<String> {
        self.0.to_text()
    }

    fn number(&self) -> Option<Number> {
        Some(self.0.to_number())
    }
}

impl PartialEq for Arg {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Arg::Absent, Arg::Absent) => true,
            (Arg::Input(one), Arg::Input(other)) | (Arg::Stored(one), Arg::Stored(other)) => one == other,
            (Arg::List(some), Arg::List(others)) => some == others,
            (Arg::Flag(one), Arg::Flag(other)) => one == other,
            (Arg::Integer(one), Arg::Integer(other)) => one == other,
            (Arg::Real(one), Arg::Real(other)) => one.to_bits() == other.to_bits(),
            (Arg::Word(one), Arg::Word(other)) => one == other,
            (Arg::Text(one), Arg::Text(other)) => one == other,
            (Arg::Axes(one), Arg::Axes(other)) => one == other,
            (Arg::Integers(some), Arg::Integers(others)) => some == others,
            (Arg::Pairs(some), Arg::Pairs(others)) => some == others,
            (Arg::Slices(some), Arg::Slices(others)) => some == others,
            (Arg::Typed(one), Arg::Typed(other)) => Arc::ptr_eq(one, other) || one.is_same(&**other),
            (Arg::Own(one), Arg::Own(other)) => one == other,
            (Arg::Hint(_), Arg::Hint(_)) => true,
            _ => false,
        }
    }
}

impl Hash for Arg {
    /// Equal arguments have equal hashes. Data of an element type is hashed only by its count and its number.
    fn hash<H: Hasher>(&self, state: &mut H) {
        mem::discriminant(self).hash(state);
        match self {
            Arg::Absent | Arg::Hint(_) => {}
            Arg::Input(number) | Arg::Stored(number) => number.hash(state),
            Arg::List(items) => items.hash(state),
            Arg::Flag(flag) => flag.hash(state),
            Arg::Integer(integer) => integer.hash(state),
            Arg::Real(real) => real.to_bits().hash(state),
            Arg::Word(word) => word.hash(state),
            Arg::Text(text) => text.hash(state),
            Arg::Axes(axes) => axes.each().hash(state),
            Arg::Integers(integers) => integers.hash(state),
            Arg::Pairs(pairs) => pairs.hash(state),
            Arg::Slices(slices) => slices.hash(state),
            Arg::Typed(data) => {
                data.count().hash(state);
                data.number().and_then(Number::float).map(f64::to_bits).hash(state);
            }
            Arg::Own(number) => number.hash(state),
        }
    }
}

impl Arg {
    /// Returns an element as an argument.
    pub(crate) fn element<T: Element>(element: T) -> Self {
        Arg::Typed(Arc::new(TypedElement(element)))
    }

    /// Returns a new argument for a closure.
    pub(crate) fn own() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Arg::Own(COUNT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn integers(integers: &[isize]) -> Self {
        Arg::Integers(integers.iter().map(|&integer| integer as i128).collect())
    }

    pub(crate) fn counts(counts: &[usize]) -> Self {
        Arg::Integers(counts.iter().map(|&count| count as i128).collect())
    }

    /// Returns the index of the input, if the argument is an input or a view of its stored entries.
    pub(crate) fn input(&self) -> Option<usize> {
        match self {
            Arg::Input(input) | Arg::Stored(input) => Some(*input),
            _ => None,
        }
    }

    /// Returns the indices of all inputs in the argument.
    pub(crate) fn inputs(&self) -> Vec<usize> {
        match self {
            Arg::Input(input) | Arg::Stored(input) => vec![*input],
            Arg::List(items) => items.iter().flat_map(Arg::inputs).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the integers of a list, without the negative integers.
    pub(crate) fn as_counts(&self) -> Vec<usize> {
        match self {
            Arg::Integers(integers) => integers.iter().filter_map(|&count| usize::try_from(count).ok()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the argument in the syntax of expressions, if it has a textual form.
    fn to_text(&self, input: &dyn Fn(usize) -> String) -> Option<String> {
        match self {
            Arg::Absent | Arg::Own(_) | Arg::Hint(_) => None,
            Arg::Input(number) => Some(input(*number)),
            Arg::Stored(number) => Some(format!("stored({})", input(*number))),
            Arg::List(items) => text_of_items(items.iter().map(|item| item.to_text(input))),
            Arg::Flag(flag) => Some(flag.to_string()),
            Arg::Integer(integer) => Some(integer.to_string()),
            Arg::Real(real) => real.to_text(),
            Arg::Word(word) => Some(format!("\"{word}\"")),
            Arg::Text(text) => {
                let quote = if text.contains('"') { '\'' } else { '"' };
                Some(format!("{quote}{text}{quote}"))
            }
            Arg::Axes(axes) => Some(text_of_axes(axes, "")?.concat()),
            Arg::Integers(integers) => integers.to_text(),
            Arg::Pairs(pairs) => pairs.to_text(),
            Arg::Slices(slices) => slices.to_text(),
            Arg::Typed(data) => data.to_text(),
        }
    }
}

impl Call {
    /// Returns the call of an operation. Absent arguments at the end may be omitted.
    pub(crate) fn of(op: &'static OpSpec, args: impl IntoIterator<Item = Arg>) -> Self {
        let mut args: Vec<Arg> = args.into_iter().collect();
        while let Some(Arg::Absent) = args.last() {
            args.pop();
        }
        Call { op, args }
    }

    /// Returns the arguments, without absent arguments at the end.
    pub(crate) fn args(&self) -> &[Arg] {
        &self.args
    }

    /// Returns the argument of the parameter with this index.
    pub(crate) fn arg(&self, place: usize) -> &Arg {
        self.args.get(place).unwrap_or(&Arg::Absent)
    }

    /// Returns the argument of a parameter; absent if the operation does not have the parameter.
    pub(crate) fn named(&self, parameter: &str) -> &Arg {
        self.op.place_of(parameter).map_or(&Arg::Absent, |place| self.arg(place))
    }

    /// Returns whether the operation reads only the stored entries of its first operand.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self.args.first(), Some(Arg::Stored(_)))
    }

    pub(crate) fn axes(&self) -> Axes {
        let axes = self.args.iter().find_map(|arg| if let Arg::Axes(axes) = arg { Some(axes) } else { None });
        axes.cloned().unwrap_or_else(Axes::all)
    }

    pub(crate) fn integer(&self, parameter: &str) -> Option<i128> {
        if let Some(Number::Integer(integer)) = self.number(parameter) { Some(integer) } else { None }
    }

    /// Returns the index of the operand whose gradient the call computes.
    pub(crate) fn wrt(&self) -> Option<usize> {
        self.integer("wrt").and_then(|number| usize::try_from(number).ok())
    }

    /// Returns an integer, such as an axis, clamped to `isize`. Returns `default` if the argument is not an integer.
    pub(crate) fn position(&self, parameter: &str, default: isize) -> isize {
        self.integer(parameter).map_or(default, |position| {
            isize::try_from(position).unwrap_or(if position < 0 { isize::MIN } else { isize::MAX })
        })
    }

    pub(crate) fn count(&self, parameter: &str) -> usize {
        self.integer(parameter).map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Returns the order of a difference. The default is 1.
    pub(crate) fn order(&self) -> usize {
        if self.integer("n").is_some() { self.count("n") } else { 1 }
    }

    /// Returns the textual form of the argument of a parameter, if there is one.
    pub(crate) fn text_of(&self, parameter: &str) -> Option<String> {
        self.named(parameter).to_text(&|_| String::new())
    }

    pub(crate) fn real(&self, parameter: &str) -> Option<f64> {
        if let Arg::Real(real) = self.named(parameter) { Some(*real) } else { None }
    }

    pub(crate) fn flag(&self, parameter: &str) -> bool {
        matches!(self.named(parameter), Arg::Flag(true))
    }

    /// Returns for each input whether an elementwise operation reads it element by element.
    pub(crate) fn are_operands(&self) -> Vec<bool> {
        let operands = self.op.operands();
        let of = |(place, arg): (usize, &Arg)| arg.inputs().into_iter().map(move |_| place < operands);
        self.args.iter().enumerate().flat_map(of).collect()
    }

    pub(crate) fn word(&self, parameter: &str) -> &str {
        match self.named(parameter) {
            Arg::Word(word) => word,
            Arg::Text(text) => text,
            _ => "",
        }
    }

    pub(crate) fn integers<J: TryFrom<i128>>(&self, parameter: &str) -> Vec<J> {
        match self.named(parameter) {
            Arg::Integers(integers) => integers.iter().filter_map(|&integer| J::try_from(integer).ok()).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.integers::<usize>("shape").into()
    }

    pub(crate) fn slices(&self) -> Option<&Arc<[SliceInfoElem]>> {
        self.args.iter().find_map(|arg| if let Arg::Slices(slices) = arg { Some(slices) } else { None })
    }

    /// Returns an element of the type with which the call was constructed. Panics for another type.
    pub(crate) fn element<T: Element>(&self, parameter: &str) -> T {
        self.element_opt(parameter).expect("an element of this type")
    }

    /// Returns an element, if the argument is an element of this type.
    pub(crate) fn element_opt<T: Element>(&self, parameter: &str) -> Option<T> {
        self.data::<TypedElement<T>>(parameter).map(|element| element.0)
    }

    /// Returns the data of a parameter, if it has this type.
    pub(crate) fn data<D: 'static>(&self, parameter: &str) -> Option<&D> {
        if let Arg::Typed(data) = self.named(parameter) { data.as_any().downcast_ref() } else { None }
    }

    /// Returns the call of the operation whose gradient this call computes.
    pub(crate) fn forward(&self) -> Self {
        let forward = self.op.forward().unwrap_or(self.op);
        Call::of(forward, forward.names().map(|name| self.named(name).clone()))
    }

    /// Returns an argument as a number, if it is a number.
    pub(crate) fn number(&self, parameter: &str) -> Option<Number> {
        match self.named(parameter) {
            Arg::Typed(data) => data.number(),
            Arg::Integer(integer) => Some(Number::Integer(*integer)),
            Arg::Real(real) => Some(Number::Real(*real)),
            _ => None,
        }
    }

    /// Returns the hint for the gradient of this gradient.
    pub(crate) fn hint(&self) -> Option<&Arg> {
        self.args.iter().find_map(|arg| if let Arg::Hint(hint) = arg { Some(&**hint) } else { None })
    }

    /// Returns this call with another argument.
    pub(crate) fn with(&self, parameter: &str, arg: Arg) -> Self {
        let place = self.op.place_of(parameter).expect("a parameter of the operation");
        let mut args = self.args.clone();
        args.resize(args.len().max(place + 1), Arg::Absent);
        args[place] = arg;
        Call::of(self.op, args)
    }

    /// Returns this call without a textual form.
    pub(crate) fn without_text(mut self) -> Self {
        self.args.resize(self.op.names().count(), Arg::Absent);
        self.args.push(Arg::Flag(true));
        self
    }

    /// Returns the indices of the inputs, in the order of the arguments.
    pub(crate) fn inputs(&self) -> Vec<usize> {
        self.args.iter().flat_map(Arg::inputs).collect()
    }

    /// Returns the call in the syntax of expressions, or `None` if an argument does not have a textual form. `part`
    /// selects one of several results, with the name of a function or with the argument `wrt`.
    pub(crate) fn to_text(&self, part: Option<usize>, input: &dyn Fn(usize) -> String) -> Option<String> {
        if self.args.iter().skip(self.op.parameters().count()).any(|arg| !matches!(arg, Arg::Hint(_))) {
            return None;
        }
        let mut to_text = Vec::new();
        for (arg, Parameter { name, is_optional, .. }) in self.args.iter().zip(self.op.parameters()) {
            match arg {
                Arg::Absent => {}
                Arg::Axes(axes) if is_optional => to_text.extend(text_of_axes(axes, name)?),
                arg if is_optional => to_text.push(format!("{name}={}", arg.to_text(input)?)),
                arg => to_text.push(arg.to_text(input)?),
            }
        }
        let name = match (part, self.op.results()) {
            (Some(part), Some(names)) => names[part.min(1)],
            (Some(part), None) => {
                to_text.push(format!("wrt={part}"));
                self.op.name
            }
            (None, _) => self.op.name,
        };
        Some(format!("{name}({})", to_text.join(", ")))
    }

    /// Returns the call as text for messages, under the name of a method. An argument without a textual form is `…`.
    pub(crate) fn to_text_as(&self, name: &str, input: &dyn Fn(usize) -> String) -> String {
        let arg_text = |arg: &Arg| match arg {
            Arg::Absent | Arg::Hint(_) => None,
            Arg::Own(number) => Some(format!("#{number}")),
            Arg::Axes(axes) => Some(arg.to_text(input).unwrap_or_else(|| format!("{axes:?}"))),
            arg => Some(arg.to_text(input).unwrap_or_else(|| "…".into())),
        };
        self.to_text(None, input).unwrap_or_else(|| {
            format!("{name}({})", self.args.iter().filter_map(arg_text).collect::<Vec<_>>().join(", "))
        })
    }
}

/// Options of an operation, as arguments of a call.
pub(crate) trait Options: Clone + Send + Sync + 'static {
    /// Returns the arguments from `axis` on.
    fn args(&self) -> Vec<Arg>;

    fn read(call: &Call) -> Self;
}

impl Options for Axes {
    fn args(&self) -> Vec<Arg> {
        vec![Arg::Axes(self.clone())]
    }

    fn read(call: &Call) -> Self {
        call.axes()
    }
}

/// Returns the arguments of axes, of one parameter after `keep_dims`, and of options without a textual form.
fn args_of(axes: &Axes, option: Arg, hidden: Arg) -> Vec<Arg> {
    vec![Arg::Axes(axes.clone()), Arg::Absent, option, Arg::Absent, hidden]
}

impl Options for Var {
    fn args(&self) -> Vec<Arg> {
        let ddof = if self.ddof == 0 { Arg::Absent } else { Arg::Integer(self.ddof.into()) };
        args_of(&self.axes, ddof, Arg::Absent)
    }

    fn read(call: &Call) -> Self {
        Var::over(call.axes()).ddof(call.integer("ddof").map_or(0, |ddof| ddof as u64))
    }
}

impl Options for Norm {
    fn args(&self) -> Vec<Arg> {
        let order = match self.order {
            NormOrder::One => Arg::Integer(1),
            NormOrder::Two => Arg::Absent,
            NormOrder::Infinity => Arg::Real(f64::INFINITY),
        };
        args_of(&self.axes, order, Arg::Absent)
    }

    fn read(call: &Call) -> Self {
        match (call.named("ord"), Norm::over(call.axes())) {
            (Arg::Integer(1), norm) => norm.one(),
            (Arg::Real(_), norm) => norm.infinity(),
            (_, norm) => norm,
        }
    }
}

impl Options for Nanmedian {
    fn args(&self) -> Vec<Arg> {
        let even = if self.even == EvenCount::Lower { Arg::Word("lower") } else { Arg::Absent };
        let is_plain = self.rule == Nanmedian::over(self.axes.clone()).rule && !self.spread_nan;
        args_of(&self.axes, even, hidden(self, is_plain))
    }

    fn read(call: &Call) -> Self {
        let options = Nanmedian::over(call.axes());
        hidden_of(call).unwrap_or(if call.word("even") == "lower" { options.lower() } else { options })
    }
}

/// The names of the methods of a quantile. The default is not named in a call.
const METHODS: [(QuantileMethod, &str); 4] = [
    (QuantileMethod::Lower, "lower"),
    (QuantileMethod::Higher, "higher"),
    (QuantileMethod::Midpoint, "midpoint"),
    (QuantileMethod::Nearest, "nearest"),
];

impl Options for Quantile {
    fn args(&self) -> Vec<Arg> {
        let method = METHODS.iter().find(|(method, _)| *method == self.method);
        let method = method.map_or(Arg::Absent, |(_, word)| Arg::Word(word));
        args_of(&self.axes, method, hidden(self, self.rule == Quantile::over(self.axes.clone()).rule))
    }

    fn read(call: &Call) -> Self {
        let method = METHODS.iter().find(|(_, word)| *word == call.word("method"));
        let method = method.map_or(QuantileMethod::Linear, |(method, _)| *method);
        hidden_of(call).unwrap_or_else(|| Quantile::over(call.axes()).method(method))
    }
}

/// Options without a textual form.
#[derive(Debug, PartialEq)]
struct Hidden<O>(O);

impl<O: PartialEq + fmt::Debug + Send + Sync + 'static> Typed for Hidden<O> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn to_text(&self) -> Option<String> {
        None
    }
}

fn hidden<O: Clone + PartialEq + fmt::Debug + Send + Sync + 'static>(options: &O, is_plain: bool) -> Arg {
    if is_plain { Arg::Absent } else { Arg::Typed(Arc::new(Hidden(options.clone()))) }
}

fn hidden_of<O: Clone + 'static>(call: &Call) -> Option<O> {
    let data = call.args().last().and_then(|arg| if let Arg::Typed(data) = arg { Some(data) } else { None })?;
    data.as_any().downcast_ref::<Hidden<O>>().map(|Hidden(options)| options.clone())
}

/// Returns the argument for the mode of positions that are out of range.
pub(crate) fn word_of_mode(mode: TakeMode) -> Arg {
    match mode {
        TakeMode::Raise => Arg::Absent,
        TakeMode::Wrap => Arg::Word("wrap"),
        TakeMode::Clip => Arg::Word("clip"),
    }
}
