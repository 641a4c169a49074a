//! What is told of a tensor: as text, or as a JSON object.

use std::io::Write;

#[cfg(feature = "parquet")]
use lacuna::io::Dataset;
use lacuna::io::{AnyTensor, FileElement};
use lacuna::{Pattern, Tensor, dispatch};
use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
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
    /// The file that has the entries, if the tensor does not have them.
    #[cfg(feature = "parquet")]
    dataset: Option<&'a Dataset>,
}

/// The bytes of entries that are read at once from a file to list them.
#[cfg(feature = "parquet")]
const PIECE: u64 = 1 << 20;

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
        Summary {
            tensor,
            details: None,
            nnz: tensor.nnz(),
            #[cfg(feature = "parquet")]
            dataset: None,
        }
    }

    /// The summary of a file with this header, whose entries are read when they are listed.
    #[cfg(feature = "parquet")]
    pub(crate) fn of_dataset(header: &'a AnyTensor, dataset: &'a Dataset) -> Self {
        let nnz = usize::try_from(dataset.nnz()).unwrap_or(usize::MAX);
        Summary { nnz, dataset: Some(dataset), ..Summary::new(header) }
    }

    pub(crate) fn detailed(tensor: &'a AnyTensor) -> Self {
        Summary { details: Some(dispatch!(tensor, x => Details::of(x))), ..Summary::new(tensor) }
    }

    /// Visits tensors that have the first entries, each with the number of its entries that are among them.
    fn for_each_part<E>(
        &self,
        most: usize,
        failed: impl Fn(lacuna::Error) -> E,
        mut visit: impl FnMut(&AnyTensor, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        #[cfg(feature = "parquet")]
        if let Some(dataset) = self.dataset {
            let (mut pieces, mut left) = (dataset.pieces(PIECE), most);
            while left > 0
                && let Some(piece) = pieces.next()
            {
                let piece = piece.map_err(&failed)?;
                let count = left.min(piece.nnz());
                visit(&piece, count)?;
                left -= count;
            }
            return Ok(());
        }
        // Only a file fails.
        let _ = failed;
        visit(self.tensor, most)
    }

    /// The summary for people: a line for each fact, and the first few entries, or so many as are named, which are
    /// written one by one.
    pub(crate) fn text(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let x = self.tensor;
        let mut text = format!("shape    {}\ndtype    {}\nformat   {}\n", x.shape(), x.dtype(), x.format());
        text += &format!("stored   {} of {}\n", self.nnz, positions(x, self.nnz));
        text += &format!("fill     {}\n", dispatch!(x, x => printed(x.fill())));
        text += &self.details.as_ref().map_or(String::new(), |details| details.text(x));
        let most = listed.unwrap_or(SHOWN).min(self.nnz);
        writer.write_all(text.as_bytes())?;
        if most > 0 {
            writeln!(writer, "entries")?;
        }
        self.for_each_part(most, std::io::Error::other, |part, count| {
            dispatch!(part, part => for_each_entry(part, count, |coords, value| {
                writeln!(writer, "  {coords:?} {}", printed(value))
            }))
        })?;
        match self.nnz - most {
            0 => Ok(()),
            rest => writeln!(writer, "  … {rest} more"),
        }
    }

    /// The summary for programs, on a line, with the entries where they are few, or so many as are named.
    pub(crate) fn json(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let x = self.tensor;
        let most = listed.or((self.nnz <= MOST_VALUES).then_some(MOST_VALUES)).map(|most| most.min(self.nnz));
        let told = Told {
            format: x.format().name(),
            shape: x.shape(),
            dtype: x.dtype().name(),
            nnz: self.nnz,
            fill: dispatch!(x, x => json_value(x.fill())),
            details: self.details.as_ref().map(|details| details.told(x)),
            values: most.map(|most| Listed { summary: self, most }),
        };
        told.serialize(&mut Serializer::with_formatter(&mut writer, Spaced))?;
        writeln!(writer)
    }
}

/// The first entries, told one by one: a tensor may have more than fit memory once more.
struct Listed<'a> {
    summary: &'a Summary<'a>,
    most: usize,
}

impl Serialize for Listed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.summary.for_each_part(self.most, S::Error::custom, |part, count| {
            dispatch!(part, part => for_each_entry(part, count, |coords, value| {
                list.serialize_element(&(coords, json_value(value)))
            }))
        })?;
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
        size => {
            let all: f64 = x.shape().iter().map(|&length| length as f64).product();
            format!("{} ({})", counted(size), share(nnz as f64 / all))
        }
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
