//! The positions of `take`: from `--indices` or from a file.

use std::path::Path;

use lacuna::io::{AnyTensor, FileFormat};
use lacuna::{DType, Element, Error, TakeMode, dispatch_dtype};
use ndarray::{Array1, ArrayD};

use crate::args::{InputArgs, PositionArgs};
use crate::failure::Failure;
use crate::input::{MOST_BYTES, SecondFile};
use crate::names::shown_word;
use crate::ranges::{PositionItem, PositionRun, parse_position};

/// Positions, in a type that holds all of them.
pub(crate) enum Positions {
    Signed(ArrayD<i64>),
    Unsigned(ArrayD<u64>),
}

/// Runs code on an array of positions.
macro_rules! on_positions {
    ($positions:expr, $indices:ident => $body:expr) => {
        match $positions {
            $crate::positions::Positions::Signed($indices) => $body,
            $crate::positions::Positions::Unsigned($indices) => $body,
        }
    };
}

pub(crate) use on_positions;

impl Positions {
    /// Returns the positions that the arguments name, for the tensor `x`.
    pub(crate) fn of(take: &PositionArgs, input: &InputArgs, x: &AnyTensor) -> Result<Self, Failure> {
        let of_input = |why: String| Failure::of_file(&input.file, why);
        let along = IndexRange::of(take, x).map_err(|error| of_input(error.to_string()))?;
        match (&take.indices, &take.indices_from) {
            (None, Some(path)) => of_file(path, input, &along),
            (indices, _) => {
                let items = indices.as_ref().map_or(&[][..], |indices| &indices.0);
                let runs = items.iter().map(|item| along.run(item)).collect::<Result<Vec<_>, _>>().map_err(of_input)?;
                along.typed(&runs, input.reading.max_memory).map_err(|error| of_input(error.to_string()))
            }
        }
    }
}

/// The number of elements that positions index, and the mode for positions out of range.
struct IndexRange {
    length: i128,
    mode: TakeMode,
}

impl IndexRange {
    fn of(take: &PositionArgs, x: &AnyTensor) -> lacuna::Result<Self> {
        let (shape, mode) = (x.shape(), take.mode.into());
        let length = match take.axis {
            // Sizes beyond `i128` saturate. No position of 64 bits reaches from one end to the other.
            None if shape.contains(&0) => 0,
            None => shape.iter().fold(1i128, |size, &length| size.saturating_mul(length as i128)),
            Some(axis) => {
                let rank = shape.rank();
                let from_front = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
                let length = from_front.and_then(|axis| shape.get(usize::try_from(axis).ok()?));
                *length.ok_or(Error::AxisOutOfRange { axis, rank })? as i128
            }
        };
        Ok(IndexRange { length, mode })
    }

    /// Returns the positions of an item. Positions beyond `u64` are counted from the end.
    fn run(&self, item: &PositionItem) -> Result<PositionRun, String> {
        match item {
            PositionItem::One(position) => Ok(PositionRun::one(*position)),
            PositionItem::Range(range) => {
                let run = range.on(self.length)?;
                let greatest = run.first.max(run.last());
                let shift = if greatest > i128::from(u64::MAX) { self.length } else { 0 };
                if shift > 0 && self.mode == TakeMode::Clip {
                    return Err(
                        "--mode clip does not support a range beyond 2^64, because it clips positions counted from \
                         the end to 0"
                            .into(),
                    );
                }
                Ok(PositionRun { first: run.first - shift, ..run })
            }
        }
    }

    /// Returns the positions as `i64`, otherwise as `u64`. In `u64`, negative positions are counted from the front.
    fn typed(&self, runs: &[PositionRun], max_memory: Option<u64>) -> lacuna::Result<Positions> {
        let (limit, count) =
            (max_memory.unwrap_or(MOST_BYTES), runs.iter().fold(0i128, |count, run| count.saturating_add(run.count)));
        let bytes = count.unsigned_abs().saturating_mul(size_of::<i64>() as u128);
        if bytes > u128::from(limit) {
            return Err(Error::TooLarge { what: "the positions", bytes, limit, instead: "raise --max-memory" });
        }
        let all = || runs.iter().flat_map(|run| run.positions());
        if all().all(|position| i64::try_from(position).is_ok()) {
            return Ok(Positions::Signed(array(count, all().map(|position| Ok(position as i64)))?));
        }
        let from_front = all().enumerate().map(|(at, position)| self.counted_from_front(position, at));
        Ok(Positions::Unsigned(array(count, from_front)?))
    }

    fn counted_from_front(&self, position: i128, at: usize) -> lacuna::Result<u64> {
        let found = match self.mode {
            _ if position >= 0 => position,
            TakeMode::Wrap => position.rem_euclid(self.length.max(1)),
            TakeMode::Clip => 0,
            TakeMode::Raise => position + self.length,
        };
        u64::try_from(found).map_err(|_| Error::PositionOutOfRange { position, size: self.length.unsigned_abs(), at })
    }
}

/// Returns a one-dimensional array of positions.
fn array<J>(count: i128, positions: impl Iterator<Item = lacuna::Result<J>>) -> lacuna::Result<ArrayD<J>> {
    let mut array = Vec::new();
    let bytes = count.unsigned_abs() * size_of::<J>() as u128;
    array.try_reserve_exact(count as usize).map_err(|_| Error::OutOfMemory { bytes })?;
    for position in positions {
        array.push(position?);
    }
    Ok(Array1::from_vec(array).into_dyn())
}

/// Reads positions from a file: a tensor of integers, or text.
fn of_file(path: &Path, input: &InputArgs, along: &IndexRange) -> Result<Positions, Failure> {
    let of_path = |why: String| Failure::of_file(path, why);
    match FileFormat::from_path(path) {
        // A `.tns` file does not state an element type, so the type is requested.
        Some(FileFormat::Tns) => {
            let read = |dtype| input.read_beside(path, Some(dtype));
            let tensor = read(DType::Int64).or_else(|refused| read(DType::UInt64).map_err(|_| refused))?;
            of_tensor(tensor).map_err(of_path)
        }
        Some(_) => of_tensor(input.read_beside(path, None)?).map_err(of_path),
        None => match input.read_tensor_or_text(path)? {
            SecondFile::Tensor(tensor) => of_tensor(tensor).map_err(of_path),
            SecondFile::Text(text) => {
                let limit = input.reading.max_memory.unwrap_or(MOST_BYTES);
                let runs = listed(&text, limit).map_err(of_path)?;
                along.typed(&runs, input.reading.max_memory).map_err(|error| of_path(error.to_string()))
            }
        },
    }
}

/// Parses the integers of a text, between blanks, commas and line breaks; a `#` begins a comment. The list takes at
/// most `limit` bytes.
fn listed(text: &str, limit: u64) -> Result<Vec<PositionRun>, String> {
    let mut runs = Vec::new();
    let most = usize::try_from(limit).unwrap_or(usize::MAX) / size_of::<PositionRun>();
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or("").split(|c: char| c == ',' || c.is_whitespace());
        for word in words.filter(|word| !word.is_empty()) {
            let why = |_| format!("line {number}: `{}` is not a 64-bit integer", shown_word(word));
            if runs.len() == most || runs.try_reserve(1).is_err() {
                return Err(format!(
                    "line {number}: more than {most} positions; raise --max-memory, or pass a .npy file"
                ));
            }
            runs.push(PositionRun::one(parse_position(word).map_err(why)?));
        }
    }
    Ok(runs)
}

/// Returns the integers of a tensor as a dense array of the same shape.
fn of_tensor(x: AnyTensor) -> Result<Positions, String> {
    let dtype = x.dtype();
    let is_integer = dispatch_dtype!(dtype, T => T::ZERO.to_integer().is_some(), else => false);
    if !is_integer || dtype == DType::Bool {
        return Err(format!("positions must be integers, found {dtype}"));
    }
    let positions = match (x.clone().cast(DType::Int64), x) {
        (Ok(AnyTensor::Int64(x)), _) => x.to_dense().map(Positions::Signed),
        (_, AnyTensor::UInt64(x)) => x.to_dense().map(Positions::Unsigned),
        (refused, _) => return Err(refused.err().map_or_else(String::new, |error| error.to_string())),
    };
    positions.map_err(|error| error.to_string())
}
