//! The textual form of steps, in the syntax of expressions.

use ndarray::{ArrayD, SliceInfoElem};

use crate::base::axes::Axes;
use crate::element::{Element, Number};
use crate::pattern::Format;
use crate::tensor::erased::SparseRef;

/// The largest number of items in a list with a textual form.
pub(super) const WRITTEN: usize = 1000;

pub(super) fn bracketed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Returns the textual form of a list of items, if each item has a textual form.
pub(super) fn text_of_items(items: impl Iterator<Item = Option<String>>) -> Option<String> {
    Some(bracketed(items.collect::<Option<Vec<_>>>()?.into_iter()))
}

/// Returns the textual form of elements, if there is one and there are not too many elements.
pub(super) fn text_of_list<T: Element>(elements: &[T]) -> Option<String> {
    if elements.len() <= WRITTEN { text_of_items(elements.iter().map(ToText::to_text)) } else { None }
}

/// An argument that may have a textual form.
pub(super) trait ToText {
    /// Returns the textual form; `None` if no text is read back as bitwise identical data.
    fn to_text(&self) -> Option<String>;
}

impl<T: Element> ToText for T {
    fn to_text(&self) -> Option<String> {
        match self.to_number() {
            Number::Integer(_) => Some(format!("{self:?}")),
            Number::Real(real) if real.is_nan() => is_canonical(*self, real).then(|| "nan".into()),
            Number::Real(_) => Some(format!("{self:?}")),
            Number::Complex(re, im) => {
                // The sum of both parts is the number if adding 0 does not change either part.
                let is_kept = |part: f64| part.is_finite() && part.to_bits() != (-0.0_f64).to_bits();
                (is_kept(re) && is_kept(im)).then(|| format!("{re:?} + {im:?}j"))
            }
        }
    }
}

/// Returns whether a NaN is bitwise identical to the NaN that the text `nan` is read as.
fn is_canonical<T: Element>(_: T, nan: f64) -> bool {
    let read = T::from_number(Number::Real(f64::NAN)).map(T::to_number);
    matches!(read, Some(Number::Real(read)) if read.to_bits() == nan.to_bits())
}

impl ToText for [i128] {
    fn to_text(&self) -> Option<String> {
        (self.len() <= WRITTEN).then(|| format!("{self:?}"))
    }
}

impl ToText for [(usize, usize)] {
    fn to_text(&self) -> Option<String> {
        (self.len() <= WRITTEN).then(|| bracketed(self.iter().map(|(before, behind)| format!("[{before}, {behind}]"))))
    }
}

impl ToText for [SliceInfoElem] {
    fn to_text(&self) -> Option<String> {
        let parts: Option<Vec<String>> = self.iter().map(text_of_slice).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| format!("\"{}\"", parts.join(", ")))
    }
}

/// Returns a slice as `start:stop:step`, which an expression reads as in Python.
fn text_of_slice(slice: &SliceInfoElem) -> Option<String> {
    let end_of = |end: Option<isize>| end.map_or_else(String::new, |end| end.to_string());
    match *slice {
        SliceInfoElem::Index(index) => Some(index.to_string()),
        SliceInfoElem::NewAxis => Some("None".into()),
        SliceInfoElem::Slice { start, end, step: 1 } => Some(format!("{start}:{}", end_of(end))),
        SliceInfoElem::Slice { start, end, step } if step > 0 => Some(format!("{start}:{}:{step}", end_of(end))),
        // A negative step runs from the last position down to the position after the stop.
        SliceInfoElem::Slice { start: 0, end: None, step } => Some(format!("::{step}")),
        SliceInfoElem::Slice { start, end: None, step } if start > 0 => Some(format!(":{}:{step}", start - 1)),
        SliceInfoElem::Slice { start: 0, end: Some(end), step } if end > 0 => Some(format!("{}::{step}", end - 1)),
        SliceInfoElem::Slice { start, end: Some(end), step } if start > 0 && end > 0 => {
            Some(format!("{}:{}:{step}", end - 1, start - 1))
        }
        SliceInfoElem::Slice { .. } => None,
    }
}

/// Returns axes as the arguments `name`, `keep_dims` and `by`, or `None` if they do not have a textual form. If `name`
/// is not empty and all axes are reduced, the argument is omitted.
pub(super) fn text_of_axes(axes: &Axes, name: &str) -> Option<Vec<String>> {
    let named = |text: String| if name.is_empty() { text } else { format!("{name}={text}") };
    let mut to_text = Vec::new();
    match (axes.each(), axes.labels()) {
        (None, None) if axes.count().is_none() => to_text.extend(name.is_empty().then(|| "\"all\"".into())),
        (Some([axis]), _) => to_text.push(named(axis.to_string())),
        (Some(axes), None) => to_text.push(named(format!("{axes:?}"))),
        _ => return None,
    }
    if axes.keeps_dims() {
        to_text.push("keep_dims=true".into());
    }
    if let Some(labels) = axes.labels() {
        let grouping = labels.grouping()?;
        let has_text = grouping.labels().iter().max().map_or(0, |max| max + 1) == grouping.count();
        let labels = Some(grouping.labels()).filter(|labels| has_text && labels.len() <= WRITTEN)?;
        to_text.push(format!("by={labels:?}"));
    }
    Some(to_text)
}

/// Returns the textual form of a tensor with its entries, if there is one.
pub(super) fn text_of_tensor<T: Element>(x: SparseRef<'_, T>) -> Option<String> {
    // The shortest entry has two bytes.
    if x.nnz() > TEXT / 2 {
        return None;
    }
    let mut indices = Vec::with_capacity(x.nnz());
    x.for_each_entry(|coordinates, _| indices.push(format!("{coordinates:?}")));
    let indices = bracketed(indices.into_iter());
    let values = text_of_items(x.values().iter().map(ToText::to_text));
    let format = match x.pattern().format() {
        Format::Coo => "coo",
        Format::Csr => "csr",
    };
    let (dtype, shape) = (T::DTYPE, bracketed(x.shape().iter().map(usize::to_string)));
    let fill = x.fill().to_text()?;
    Some(format!("tensor(\"{dtype}\", \"{format}\", {shape}, {fill}, {indices}, {})", values?))
}

/// Returns the textual form of an array with its elements, if there is one.
pub(super) fn text_of_array<T: Element>(x: &ArrayD<T>) -> Option<String> {
    if x.len() > TEXT / 2 {
        return None;
    }
    let (values, shape) =
        (text_of_items(x.iter().map(ToText::to_text))?, bracketed(x.shape().iter().map(usize::to_string)));
    Some(format!("array(\"{}\", {shape}, {values})", T::DTYPE))
}

/// The largest number of bytes in the text of a program.
pub(crate) const TEXT: usize = 1 << 20;
