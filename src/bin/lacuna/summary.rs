//! Summaries of tensors: as text, or as a JSON object.

use std::io::Write;

use lacuna::dynamic::AnyOperand;
#[cfg(feature = "parquet")]
use lacuna::io::Dataset;
use lacuna::io::{AnyTensor, FileElement};
use lacuna::{Element, Pattern, Shape, Tensor, dispatch, dispatch_dtype};
use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::details::{Details, DetailsJson};
use crate::values::{Json, Printed, counted};

/// The largest number of entries that the JSON object lists by default.
const MOST_VALUES: usize = 1000;

/// The number of entries that the text lists by default.
const SHOWN: usize = 10;

/// The summary of a tensor or an array, with details for `info`.
pub(crate) struct Summary<'a> {
    of: AnyOperand<'a>,
    details: Option<Details>,
    /// The number of entries.
    nnz: usize,
    /// The file that has the entries, if the tensor does not have the entries.
    #[cfg(feature = "parquet")]
    dataset: Option<&'a Dataset>,
}

/// The bytes of entries that are read from a file at once to list the entries.
#[cfg(feature = "parquet")]
const PIECE: u64 = 1 << 20;

/// The summary as a JSON object.
#[derive(Serialize)]
struct SummaryJson<'a> {
    format: String,
    shape: &'a [usize],
    dtype: &'static str,
    nnz: usize,
    fill: Json,
    #[serde(flatten)]
    details: Option<DetailsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<FirstEntries<'a>>,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(of: AnyOperand<'a>) -> Self {
        let nnz = match of {
            AnyOperand::Tensor(tensor) | AnyOperand::Stored(tensor) => tensor.nnz(),
            AnyOperand::Array(array) => array.len(),
        };
        Summary {
            of,
            details: None,
            nnz,
            #[cfg(feature = "parquet")]
            dataset: None,
        }
    }

    /// Returns the summary of a file with this header, whose entries are read when they are listed.
    #[cfg(feature = "parquet")]
    pub(crate) fn of_dataset(header: &'a AnyTensor, dataset: &'a Dataset) -> Self {
        let nnz = usize::try_from(dataset.nnz()).unwrap_or(usize::MAX);
        Summary { nnz, dataset: Some(dataset), ..Summary::new(header.into()) }
    }

    pub(crate) fn detailed(tensor: &'a AnyTensor) -> Self {
        Summary { details: Some(dispatch!(tensor, x => Details::of(x))), ..Summary::new(tensor.into()) }
    }

    /// Visits the first entries, or the first elements of an array.
    fn for_each_entry<E>(
        &self,
        most: usize,
        failed: impl Fn(lacuna::Error) -> E,
        mut visit: impl FnMut(&[usize], &dyn Printed) -> Result<(), E>,
    ) -> Result<(), E> {
        #[cfg(feature = "parquet")]
        if let Some(dataset) = self.dataset {
            let (mut pieces, mut left) = (dataset.pieces(PIECE), most);
            while left > 0
                && let Some(piece) = pieces.next()
            {
                let piece = piece.map_err(&failed)?;
                let count = left.min(piece.nnz());
                dispatch!(&piece, piece => for_each_entry(piece, count, &mut visit))?;
                left -= count;
            }
            return Ok(());
        }
        // Only reading a file can fail.
        let _ = failed;
        match self.of {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => dispatch!(x, x => for_each_entry(x, most, &mut visit)),
            AnyOperand::Array(x) => dispatch_dtype!(x.dtype(), T => {
                let elements = x.view::<T>().into_iter().flat_map(|view| view.into_iter());
                let mut coords = vec![0; x.shape().len()];
                for &element in elements.take(most) {
                    visit(&coords, &element)?;
                    advance(&mut coords, x.shape());
                }
                Ok(())
            }, else => Ok(())),
        }
    }

    /// Returns the name of the format.
    fn format(&self) -> String {
        self.of.tensor().map_or("dense".into(), |x| x.format().to_string())
    }

    /// Returns a view of the details, if the summary has details of a tensor.
    fn of_details<R>(&self, of: impl FnOnce(&Details, &AnyTensor) -> R) -> Option<R> {
        Some(of(self.details.as_ref()?, self.of.tensor()?))
    }

    /// Returns the fill; for an array, 0.
    fn fill(&self) -> Box<dyn Printed> {
        match self.of {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => dispatch!(x, x => Box::new(x.fill())),
            AnyOperand::Array(x) => dispatch_dtype!(x.dtype(), T => Box::new(T::ZERO), else => Box::new(0u8)),
        }
    }

    /// Writes the summary as text: a line per fact, then the first few entries, or `listed` entries. Entries are
    /// written one at a time.
    pub(crate) fn text(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let shape = self.of.shape();
        let mut text = format!("shape    {shape}\ndtype    {}\nformat   {}\n", self.of.dtype(), self.format());
        text += &format!("stored   {} of {}\n", self.nnz, positions(&shape, self.nnz));
        text += &format!("fill     {}\n", self.fill().text());
        text += &self.of_details(|details, x| details.text(x)).unwrap_or_default();
        let most = listed.unwrap_or(SHOWN).min(self.nnz);
        writer.write_all(text.as_bytes())?;
        // A tensor of rank 0 has one element, which is the fill if it is not stored.
        if shape.is_empty() && self.nnz == 0 {
            return writeln!(writer, "value    {}", self.fill().text());
        }
        if most > 0 {
            writeln!(writer, "entries")?;
        }
        self.for_each_entry(most, std::io::Error::other, |coords, value| {
            writeln!(writer, "  {coords:?} {}", value.text())
        })?;
        match self.nnz - most {
            0 => Ok(()),
            rest => writeln!(writer, "  … {rest} more"),
        }
    }

    /// Writes the summary as a JSON object on one line, with all entries if they are few, or with `listed` entries.
    pub(crate) fn json(&self, listed: Option<usize>, mut writer: impl Write) -> std::io::Result<()> {
        let shape = self.of.shape();
        let most = listed.or((self.nnz <= MOST_VALUES).then_some(MOST_VALUES)).map(|most| most.min(self.nnz));
        let summary = SummaryJson {
            format: self.format().to_lowercase(),
            shape: &shape,
            dtype: self.of.dtype().name(),
            nnz: self.nnz,
            fill: self.fill().json(),
            details: self.of_details(|details, x| details.json(x)),
            values: most.map(|most| FirstEntries { summary: self, most }),
        };
        summary.serialize(&mut Serializer::with_formatter(&mut writer, Spaced))?;
        writeln!(writer)
    }
}

/// The first entries, serialized one at a time. A second copy of all entries may exceed memory.
struct FirstEntries<'a> {
    summary: &'a Summary<'a>,
    most: usize,
}

impl Serialize for FirstEntries<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.summary.for_each_entry(self.most, S::Error::custom, |coords, value| {
            list.serialize_element(&(coords, value.json()))
        })?;
        list.end()
    }
}

/// A formatter that writes a blank after each comma and colon.
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

/// Advances coordinates to the next position in row-major order.
fn advance(coords: &mut [usize], lengths: &[usize]) {
    for (coord, &length) in coords.iter_mut().zip(lengths).rev() {
        *coord += 1;
        if *coord < length {
            return;
        }
        *coord = 0;
    }
}

/// Formats the number of positions, with the share of stored entries.
fn positions(shape: &Shape, nnz: usize) -> String {
    match shape.checked_size() {
        Some(0) => "0".into(),
        size => {
            let all: f64 = shape.iter().map(|&length| length as f64).product();
            format!("{} ({})", counted(size), share(nnz as f64 / all))
        }
    }
}

/// Formats a fraction in percent. Only 0 and 1 are shown as 0 % and 100 %.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 | 100.0 => format!("{percent} %"),
        _ if percent < 0.1 => format!("{percent:.1e} %"),
        _ => format!("{:.1} %", percent.min(99.9)),
    }
}

/// Visits the first entries, until one visit fails.
fn for_each_entry<P: Pattern, T: FileElement, E>(
    x: &Tensor<P, T>,
    most: usize,
    visit: &mut impl FnMut(&[usize], &dyn Printed) -> Result<(), E>,
) -> Result<(), E> {
    let mut visited = Ok(());
    x.pattern().walk_range(0..most, |entry, coords| {
        visited = visit(coords, &x.values()[entry]);
        visited.is_ok()
    });
    visited
}
