//! The columns that contain a tensor, and the form of its elements in these columns.

use super::description::{Description, parsed, parts_of};
use super::footer::{Column, Footer, Meaning, Physical, quoted, rejection};
use crate::base::error::{Error, Result};
use crate::element::DType;
use crate::io::options::ReadOptions;

/// The location of a tensor in a table.
#[derive(Debug, Clone)]
pub(super) struct TableLayout {
    pub(super) described: Description,
    pub(super) dtype: DType,
    /// The column of each axis.
    pub(super) axes: Vec<usize>,
    /// The column of the values, or of the real and the imaginary parts.
    pub(super) parts: Vec<usize>,
    /// True if the table declares that it is a tensor, so that its rows must be in order.
    pub(super) is_lacuna: bool,
}

impl TableLayout {
    /// Returns the layout that a table declares, otherwise the layout that the options set.
    pub(super) fn of(footer: &Footer, options: &ReadOptions) -> Result<TableLayout> {
        let described = match (footer.key("lacuna"), footer.key("binsparse")) {
            (Some(text), _) => Some(Description::of_lacuna(&parsed(text, "lacuna")?, "lacuna")?),
            (None, Some(text)) => Some(Description::of_binsparse(text)?),
            (None, None) => None,
        };
        described.as_ref().map_or(Ok(()), |described| described.reject_fill(options))?;
        let is_lacuna = described.as_ref().is_some_and(|described| described.extent.is_some());
        let described = described.map_or_else(|| plain(options), Ok)?;
        let (axes, values) = names(described.shape.rank(), options)?;
        let axes = axes.iter().map(|name| index_column(footer, name)).collect::<Result<_>>()?;
        let (dtype, parts) = value_columns(footer, &values, described.dtype)?;
        Ok(TableLayout { described, dtype, axes, parts, is_lacuna })
    }
}

/// Returns the description in the options, for a table without a description.
fn plain(options: &ReadOptions) -> Result<Description> {
    let message = "the file does not describe a tensor; name the shape with --shape, and if the columns are not \
                   indices_0, indices_1, ... and values, name them with --names, the column of values last";
    let shape = options.shape.clone().ok_or_else(|| rejection(message))?;
    Ok(Description { shape, dtype: None, fill: None, extent: None })
}

/// Returns the names of the columns of `rank` axes, and the name of the column of the values.
pub(super) fn names(rank: usize, options: &ReadOptions) -> Result<(Vec<String>, String)> {
    let Some(names) = &options.columns else {
        return Ok(((0..rank).map(axis_name).collect(), VALUES.into()));
    };
    match names.split_last() {
        Some((values, axes)) if axes.len() == rank => Ok((axes.to_vec(), values.clone())),
        _ => {
            let message = format!("{} names, expected {rank} for the axes and one for the values", names.len());
            Err(Error::Format { place: "the names of the columns".into(), message })
        }
    }
}

/// Returns the name of the column of an axis.
pub(super) fn axis_name(axis: usize) -> String {
    format!("indices_{axis}")
}

/// The name of the column of the values.
pub(super) const VALUES: &str = "values";

/// Returns the names of the columns of the values.
pub(super) fn part_names(dtype: DType, values: &str) -> Vec<String> {
    match parts_of(dtype) {
        1 => vec![values.into()],
        _ => vec![format!("{values}.re"), format!("{values}.im")],
    }
}

fn at_column(name: &str, message: impl Into<String>) -> Error {
    Error::Format { place: format!("column {}", quoted(name)), message: message.into() }
}

/// Returns the column with the given name, which must have one value per row.
fn flat<'f>(footer: &'f Footer, name: &str) -> Result<(usize, &'f Column)> {
    let Some(number) = footer.column(name) else {
        let names: Vec<String> = footer.columns.iter().take(8).map(|column| quoted(&column.name)).collect();
        return Err(at_column(name, format!("is missing; the first columns are {}", names.join(", "))));
    };
    let column = &footer.columns[number];
    match column.repeats {
        true => Err(at_column(name, "it holds lists")),
        false => Ok((number, column)),
    }
}

fn index_column(footer: &Footer, name: &str) -> Result<usize> {
    let (number, column) = flat(footer, name)?;
    match (column.physical, column.meaning) {
        (Physical::Int32 | Physical::Int64, Meaning::Plain | Meaning::Integer { .. }) => Ok(number),
        _ => Err(at_column(name, format!("it does not hold coordinates, but {}", values_of_column(column)))),
    }
}

/// Returns whether the coordinates of a column may be negative.
pub(super) fn is_signed(column: &Column) -> bool {
    !matches!(column.meaning, Meaning::Integer { signed: false, .. })
}

/// Returns the type of the values, which must be the declared type, and the columns of the values.
fn value_columns(footer: &Footer, values: &str, recorded: Option<DType>) -> Result<(DType, Vec<usize>)> {
    let complex = part_names(DType::Complex128, values);
    let is_complex = footer.column(values).is_none() && footer.column(&complex[0]).is_some();
    let names = if is_complex { complex } else { vec![values.to_string()] };
    let columns = names.iter().map(|name| flat(footer, name)).collect::<Result<Vec<_>>>()?;
    let types = columns.iter().map(|(_, column)| dtype_of(column).ok_or(column)).collect::<Vec<_>>();
    let found = match types[..] {
        [Ok(dtype)] => dtype,
        [Ok(DType::Float32), Ok(DType::Float32)] => DType::Complex64,
        [Ok(DType::Float64), Ok(DType::Float64)] => DType::Complex128,
        [Err(column), ..] | [_, Err(column)] => return Err(at_column(&column.name, values_of_column(column))),
        _ => return Err(at_column(values, "its two parts do not have the same float type")),
    };
    let dtype = match (recorded, found) {
        (None, found) => found,
        // Parquet does not have bfloat16, so bfloat16 is stored in 32 bits.
        (Some(DType::BFloat16), DType::Float32) => DType::BFloat16,
        (Some(recorded), found) if recorded == found => found,
        (Some(recorded), found) => {
            return Err(at_column(values, format!("it holds {found}, but its description says {recorded}")));
        }
    };
    Ok((dtype, columns.iter().map(|(number, _)| *number).collect()))
}

/// Returns the element type that the column implies if the table does not have a description.
fn dtype_of(column: &Column) -> Option<DType> {
    Some(match (column.physical, column.meaning) {
        (Physical::Boolean, Meaning::Plain) => DType::Bool,
        (Physical::Int32, Meaning::Integer { bits: 8, signed: true }) => DType::Int8,
        (Physical::Int32, Meaning::Integer { bits: 16, signed: true }) => DType::Int16,
        (Physical::Int32, Meaning::Plain | Meaning::Integer { bits: 32, signed: true }) => DType::Int32,
        (Physical::Int64, Meaning::Plain | Meaning::Integer { bits: 64, signed: true }) => DType::Int64,
        (Physical::Int32, Meaning::Integer { bits: 8, signed: false }) => DType::UInt8,
        (Physical::Int32, Meaning::Integer { bits: 16, signed: false }) => DType::UInt16,
        (Physical::Int32, Meaning::Integer { bits: 32, signed: false }) => DType::UInt32,
        (Physical::Int64, Meaning::Integer { bits: 64, signed: false }) => DType::UInt64,
        (Physical::Float, Meaning::Plain) => DType::Float32,
        (Physical::Double, Meaning::Plain) => DType::Float64,
        (Physical::Bytes(2), Meaning::Half) => DType::Float16,
        _ => return None,
    })
}

/// Describes the values of a column, for errors.
fn values_of_column(column: &Column) -> String {
    match (column.physical, column.meaning) {
        (_, Meaning::Other(name)) => format!("its values are {name}"),
        (Physical::Other(name), _) => format!("its values are {name}"),
        (physical, meaning) => format!("its values are {physical:?}, {meaning:?}"),
    }
}

/// Converts the values of a column to an element type, in its own width. Returns the index of the first invalid value,
/// if any.
pub(super) fn narrow(dtype: DType, values: &mut [u64]) -> std::result::Result<(), usize> {
    let signed = |value: u64| i64::from(value as u32 as i32);
    let rejection = match dtype {
        DType::Int8 => values.iter().position(|&value| i8::try_from(signed(value)).is_err()),
        DType::Int16 => values.iter().position(|&value| i16::try_from(signed(value)).is_err()),
        DType::UInt8 => values.iter().position(|&value| value > u64::from(u8::MAX)),
        DType::UInt16 => values.iter().position(|&value| value > u64::from(u16::MAX)),
        DType::BFloat16 => {
            let rejection = values.iter().position(|&value| value & 0xffff != 0);
            values.iter_mut().for_each(|value| *value >>= 16);
            rejection
        }
        _ => None,
    };
    let mask = match dtype {
        DType::Int8 => u64::from(u8::MAX),
        DType::Int16 => u64::from(u16::MAX),
        _ => return rejection.map_or(Ok(()), Err),
    };
    values.iter_mut().for_each(|value| *value &= mask);
    rejection.map_or(Ok(()), Err)
}
