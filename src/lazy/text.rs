//! How steps are written in the language of expressions.

use ndarray::{ArrayD, SliceInfoElem};

use crate::base::axes::Axes;
use crate::base::shape::Shape;
use crate::element::{Element, Number};
use crate::pattern::Format;
use crate::tensor::erased::SparseRef;

/// How a step is written.
#[derive(Debug, Clone)]
pub(super) enum Text {
    /// Not at all.
    None,
    /// By a call for each of its results, in which `%0` stands for its first input.
    Calls(Vec<String>),
    /// As a result of its input, by number.
    Part(usize),
}

/// So many numbers are written out.
pub(super) const WRITTEN: usize = 1000;

impl Text {
    /// The call of a function, if its arguments can be written.
    pub(super) fn call(name: &str, inputs: &[&str], arguments: Option<String>) -> Self {
        arguments.map_or(Text::None, |arguments| Text::Calls(vec![call(name, inputs, &arguments)]))
    }

    /// The calls of the gradients of so many operands, which `wrt` tells apart.
    pub(super) fn gradients(name: &str, inputs: &[&str], arguments: Option<String>, count: usize) -> Self {
        let Some(arguments) = arguments else { return Text::None };
        let of = |wrt| call(name, inputs, &more(&arguments, &format!("wrt={wrt}")));
        Text::Calls((0..count).map(of).collect())
    }
}

impl Text {
    /// The result in the format of a step: what stands for an array in a text is in coordinates, as is what comes of it
    /// and another tensor.
    pub(super) fn in_format(self, format: &str) -> Self {
        match self {
            Text::Calls(calls) if format == "csr" => {
                Text::Calls(calls.iter().map(|call| format!("to_csr({call})")).collect())
            }
            text => text,
        }
    }

    /// Whether it looks at the entries of its first input alone.
    pub(super) fn is_of_stored(&self) -> bool {
        matches!(self, Text::Calls(calls) if calls.iter().any(|call| call.contains("(stored(%0)")))
    }
}

fn call(name: &str, inputs: &[&str], arguments: &str) -> String {
    let listed: Vec<&str> = inputs.iter().copied().chain(Some(arguments).filter(|all| !all.is_empty())).collect();
    format!("{name}({})", listed.join(", "))
}

/// Arguments, and one more.
fn more(arguments: &str, one: &str) -> String {
    if arguments.is_empty() { one.into() } else { format!("{arguments}, {one}") }
}

/// All inputs as a list: `[%0, %1]`.
pub(super) fn list_of(count: usize) -> String {
    list_from(0, count)
}

/// So many inputs from one on.
pub(super) fn list_from(first: usize, count: usize) -> String {
    bracketed((first..first + count).map(|input| format!("%{input}")))
}

fn bracketed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// What can be an argument in a text.
pub(super) trait Said {
    /// None where no text gives back its bits.
    fn said(&self) -> Option<String>;
}

impl<T: Element> Said for T {
    fn said(&self) -> Option<String> {
        match self.to_number() {
            Number::Integer(_) => Some(format!("{self:?}")),
            Number::Real(real) if real.is_nan() => is_canonical(*self, real).then(|| "nan".into()),
            Number::Real(_) => Some(format!("{self:?}")),
            Number::Complex(re, im) => {
                // A sum of both parts is the number where neither of them is changed by adding 0.
                let is_kept = |part: f64| part.is_finite() && part.to_bits() != (-0.0_f64).to_bits();
                (is_kept(re) && is_kept(im)).then(|| format!("{re:?} + {im:?}j"))
            }
        }
    }
}

/// Whether a NaN is the one that reading `nan` gives.
fn is_canonical<T: Element>(_: T, nan: f64) -> bool {
    let read = T::from_number(Number::Real(f64::NAN)).map(T::to_number);
    matches!(read, Some(Number::Real(read)) if read.to_bits() == nan.to_bits())
}

impl Said for isize {
    fn said(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Said for usize {
    fn said(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Said for Vec<usize> {
    fn said(&self) -> Option<String> {
        (self.len() <= WRITTEN).then(|| format!("{self:?}"))
    }
}

impl Said for Vec<isize> {
    fn said(&self) -> Option<String> {
        (self.len() <= WRITTEN).then(|| format!("{self:?}"))
    }
}

impl Said for Vec<(usize, usize)> {
    fn said(&self) -> Option<String> {
        (self.len() <= WRITTEN).then(|| bracketed(self.iter().map(|(before, behind)| format!("[{before}, {behind}]"))))
    }
}

impl Said for Shape {
    fn said(&self) -> Option<String> {
        self.to_vec().said()
    }
}

impl Said for Axes {
    /// The axes alone: a list, or all of them.
    fn said(&self) -> Option<String> {
        match self.each() {
            None if self.count().is_none() => Some("\"all\"".into()),
            axes => axes.map(|axes| format!("{axes:?}")),
        }
    }
}

impl Said for Vec<SliceInfoElem> {
    fn said(&self) -> Option<String> {
        let parts: Option<Vec<String>> = self.iter().map(said_of_slice).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| format!("\"{}\"", parts.join(", ")))
    }
}

/// A slice as `start:stop:step`, which an expression reads as Python does.
fn said_of_slice(slice: &SliceInfoElem) -> Option<String> {
    let end_of = |end: Option<isize>| end.map_or_else(String::new, |end| end.to_string());
    match *slice {
        SliceInfoElem::Index(index) => Some(index.to_string()),
        SliceInfoElem::NewAxis => None,
        SliceInfoElem::Slice { start, end, step: 1 } => Some(format!("{start}:{}", end_of(end))),
        SliceInfoElem::Slice { start, end, step } if step > 0 => Some(format!("{start}:{}:{step}", end_of(end))),
        // Backwards it goes down from the last position to the one behind the stop.
        SliceInfoElem::Slice { start: 0, end: None, step } => Some(format!("::{step}")),
        SliceInfoElem::Slice { start, end: None, step } if start > 0 => Some(format!(":{}:{step}", start - 1)),
        SliceInfoElem::Slice { start: 0, end: Some(end), step } if end > 0 => Some(format!("{}::{step}", end - 1)),
        SliceInfoElem::Slice { start, end: Some(end), step } if start > 0 && end > 0 => {
            Some(format!("{}:{}:{step}", end - 1, start - 1))
        }
        SliceInfoElem::Slice { .. } => None,
    }
}

/// Axes of a reduction by their names, with labels of one of them.
pub(super) fn said_of_reduced(axes: &Axes) -> Option<String> {
    let mut said = match axes.count() {
        None => String::new(),
        Some(_) => format!("axis={}", Said::said(axes)?),
    };
    if axes.keeps_dims() {
        said = more(&said, "keep_dims=true");
    }
    if let Some(grouping) = axes.grouping() {
        let [axis] = axes.each()?[..] else { return None };
        let is_told = grouping.labels().iter().max().map_or(0, |greatest| greatest + 1) == grouping.count();
        let labels = grouping.labels().to_vec().said().filter(|_| is_told)?;
        let kept = if axes.keeps_dims() { ", keep_dims=true" } else { "" };
        said = format!("axis={axis}{kept}, by={labels}");
    }
    Some(said)
}

/// All arguments, if each can be written.
macro_rules! said {
    ($($argument:expr),*) => {{
        let all: Option<Vec<String>> = [$($crate::lazy::text::Said::said(&$argument)),*].into_iter().collect();
        all.map(|all| all.join(", "))
    }};
}
pub(super) use said;

/// Arguments, and one that stands there only where it is not what is left out.
pub(super) fn with_option(arguments: Option<String>, option: Option<String>) -> Option<String> {
    match option {
        Some(option) => arguments.map(|arguments| more(&arguments, &option)),
        None => arguments,
    }
}

/// A tensor with its entries.
pub(super) fn said_of_tensor<T: Element>(x: SparseRef<'_, T>) -> Option<String> {
    // The shortest entry takes two bytes.
    if x.nnz() > TEXT / 2 {
        return None;
    }
    let mut indices = Vec::with_capacity(x.nnz());
    x.for_each_entry(|coordinates, _| indices.push(format!("{coordinates:?}")));
    let indices = bracketed(indices.into_iter());
    let values: Option<Vec<String>> = x.values().iter().map(Said::said).collect();
    let format = match x.pattern().format() {
        Format::Coo => "coo",
        Format::Csr => "csr",
    };
    let (dtype, shape, fill) = (T::DTYPE, x.shape().said()?, x.fill().said()?);
    Some(format!("tensor(\"{dtype}\", \"{format}\", {shape}, {fill}, {indices}, {})", bracketed(values?.into_iter())))
}

/// An array with its elements.
pub(super) fn said_of_array<T: Element>(x: &ArrayD<T>) -> Option<String> {
    if x.len() > TEXT / 2 {
        return None;
    }
    let values: Option<Vec<String>> = x.iter().map(Said::said).collect();
    let shape = Shape::from(x.shape()).said()?;
    Some(format!("array(\"{}\", {shape}, {})", T::DTYPE, bracketed(values?.into_iter())))
}

/// The bytes that a text may have.
pub(crate) const TEXT: usize = 1 << 20;

/// A call with names in place of the numbers of inputs.
pub(super) fn filled(call: &str, name: impl Fn(usize) -> String) -> String {
    let mut parts = call.split('%');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        text += &part[..end].parse().map_or_else(|_| "%".into(), &name);
        text += &part[end..];
    }
    text
}
