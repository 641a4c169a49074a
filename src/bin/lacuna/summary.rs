//! What is told of a tensor: as text, or as a JSON object.

use std::io::Write;

use lacuna::io::{AnyTensor, FileElement};
use lacuna::{Pattern, Tensor, dispatch};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::details::{Details, DetailsTold};
use crate::values::{Json, json_value, printed};

/// The most entries that the JSON object lists unasked.
const MOST_VALUES: usize = 1000;

/// The entries that the text lists unasked.
const SHOWN: usize = 10;

/// A tensor to be told, with more about it for `info`.
pub(crate) struct Summary<'a> {
    tensor: &'a AnyTensor,
    details: Option<Details>,
}

/// The summary for programs.
#[derive(Serialize)]
struct Told<'a> {
    format: &'static str,
    shape: &'a [usize],
    dtype: &'static str,
    nnz: usize,
    fill: Json,
    #[serde(flatten)]
    details: Option<DetailsTold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<(Vec<usize>, Json)>>,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(tensor: &'a AnyTensor) -> Self {
        Summary { tensor, details: None }
    }

    pub(crate) fn detailed(tensor: &'a AnyTensor) -> Self {
        Summary { tensor, details: Some(dispatch!(tensor, x => Details::of(x))) }
    }

    /// The summary for people: a line for each fact, and the first few entries, or so many as are named.
    pub(crate) fn text(&self, listed: Option<usize>) -> String {
        let x = self.tensor;
        let mut text = format!("shape    {}\ndtype    {}\nformat   {}\n", x.shape(), x.dtype(), x.format());
        text += &format!("stored   {} of {}\n", x.nnz(), positions(x));
        text += &format!("fill     {}\n", dispatch!(x, x => printed(x.fill())));
        text += &self.details.as_ref().map_or(String::new(), |details| details.text(x));
        let entries = dispatch!(x, x => entries(x, listed.unwrap_or(SHOWN), printed));
        if !entries.is_empty() {
            text += "entries\n";
        }
        for (coords, value) in &entries {
            text += &format!("  {coords:?} {value}\n");
        }
        match x.nnz() - entries.len() {
            0 => text,
            rest => text + &format!("  … {rest} more\n"),
        }
    }

    /// The summary for programs, on a line, with the entries where they are few, or so many as are named.
    pub(crate) fn json(&self, listed: Option<usize>) -> serde_json::Result<String> {
        let x = self.tensor;
        let most = listed.or((x.nnz() <= MOST_VALUES).then_some(MOST_VALUES));
        let told = Told {
            format: x.format().name(),
            shape: x.shape(),
            dtype: x.dtype().name(),
            nnz: x.nnz(),
            fill: dispatch!(x, x => json_value(x.fill())),
            details: self.details.as_ref().map(|details| details.told(x)),
            values: most.map(|most| dispatch!(x, x => entries(x, most, json_value))),
        };
        let mut line = Vec::new();
        told.serialize(&mut Serializer::with_formatter(&mut line, Spaced))?;
        Ok(String::from_utf8_lossy(&line).into_owned() + "\n")
    }
}

/// A blank behind each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

/// The number of positions, in words.
fn positions(x: &AnyTensor) -> String {
    match x.shape().checked_size() {
        Some(0) => "0".into(),
        size => format!("{} ({})", counted(size), share(x.density())),
    }
}

/// A number of positions or lanes, if a machine counts so many.
pub(crate) fn counted(count: Option<usize>) -> String {
    count.map_or("2^64 or more".into(), |count| count.to_string())
}

/// A share in percent; never all of it, or nothing, where that is not so.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 | 100.0 => format!("{percent} %"),
        _ if percent < 0.1 => format!("{percent:.1e} %"),
        _ => format!("{:.1} %", percent.min(99.9)),
    }
}

/// The first entries, as coordinates and what `told` makes of the value.
fn entries<P: Pattern, T: FileElement, U>(x: &Tensor<P, T>, most: usize, told: fn(T) -> U) -> Vec<(Vec<usize>, U)> {
    let mut entries = Vec::new();
    x.pattern().walk(|entry, coords| {
        if entry < most {
            entries.push((coords.to_vec(), told(x.values()[entry])));
        }
        entry + 1 < most
    });
    entries
}
