//! What is told of a tensor: as text, or as a JSON object.

use std::io::Write;

use lacuna::io::{AnyTensor, FileElement};
use lacuna::{Pattern, Tensor, dispatch};
use serde::Serialize;
use serde::ser::SerializeSeq;
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
    /// How many entries there are.
    nnz: usize,
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
    values: Option<Listed<'a>>,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(tensor: &'a AnyTensor) -> Self {
        Summary { tensor, details: None, nnz: tensor.nnz() }
    }

    /// Of a tensor whose entries are left out, so many of them.
    #[cfg(feature = "parquet")]
    pub(crate) fn of_header(tensor: &'a AnyTensor, nnz: u64) -> Self {
        Summary { tensor, details: None, nnz: usize::try_from(nnz).unwrap_or(usize::MAX) }
    }

    pub(crate) fn detailed(tensor: &'a AnyTensor) -> Self {
        Summary { tensor, details: Some(dispatch!(tensor, x => Details::of(x))), nnz: tensor.nnz() }
    }

    /// The summary for people: a line for each fact, and the first few entries, or so many as are named, which are
    /// written one by one.
    pub(crate) fn text(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let x = self.tensor;
        let mut text = format!("shape    {}\ndtype    {}\nformat   {}\n", x.shape(), x.dtype(), x.format());
        text += &format!("stored   {} of {}\n", self.nnz, positions(x, self.nnz));
        text += &format!("fill     {}\n", dispatch!(x, x => printed(x.fill())));
        text += &self.details.as_ref().map_or(String::new(), |details| details.text(x));
        let most = listed.unwrap_or(SHOWN).min(x.nnz());
        writer.write_all(text.as_bytes())?;
        if most > 0 {
            writeln!(writer, "entries")?;
        }
        dispatch!(x, x => for_each_entry(x, most, |coords, value| {
            writeln!(writer, "  {coords:?} {}", printed(value))
        }))?;
        match self.nnz - most {
            0 => Ok(()),
            rest => writeln!(writer, "  … {rest} more"),
        }
    }

    /// The summary for programs, on a line, with the entries where they are few, or so many as are named.
    pub(crate) fn json(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let x = self.tensor;
        let most = listed.or((self.nnz <= MOST_VALUES).then_some(MOST_VALUES)).filter(|_| self.nnz == x.nnz());
        let told = Told {
            format: x.format().name(),
            shape: x.shape(),
            dtype: x.dtype().name(),
            nnz: self.nnz,
            fill: dispatch!(x, x => json_value(x.fill())),
            details: self.details.as_ref().map(|details| details.told(x)),
            values: most.map(|most| Listed { tensor: x, most }),
        };
        told.serialize(&mut Serializer::with_formatter(&mut writer, Spaced))?;
        writeln!(writer)
    }
}

/// The first entries, told one by one: a tensor may have more than fit memory once more.
struct Listed<'a> {
    tensor: &'a AnyTensor,
    most: usize,
}

impl Serialize for Listed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        dispatch!(self.tensor, x => for_each_entry(x, self.most, |coords, value| {
            list.serialize_element(&(coords, json_value(value)))
        }))?;
        list.end()
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
fn positions(x: &AnyTensor, nnz: usize) -> String {
    match x.shape().checked_size() {
        Some(0) => "0".into(),
        Some(size) if nnz != x.nnz() => format!("{size} ({})", share(nnz as f64 / size as f64)),
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

/// Visits the first entries until one visit fails.
fn for_each_entry<P: Pattern, T: FileElement, E>(
    x: &Tensor<P, T>,
    most: usize,
    mut visit: impl FnMut(&[usize], T) -> Result<(), E>,
) -> Result<(), E> {
    let mut visited = Ok(());
    x.pattern().walk_range(0..most, |entry, coords| {
        visited = visit(coords, x.values()[entry]);
        visited.is_ok()
    });
    visited
}
