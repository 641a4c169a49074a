//! From Matrix Market text to a tensor.

use std::collections::HashSet;
use std::io::BufRead;

use num_complex::Complex;

use super::banner::{Banner, Field, Layout, Symmetry};
use crate::element::DType;
use crate::error::{Error, Result};
use crate::io::any::{AnyTensor, Format};
use crate::io::element::{FileElement, parse_number};
use crate::io::lines::{Fields, Lines, at_line, quote};
use crate::io::options::{ReadOptions, wrap};
use crate::shape::{Shape, step};
use crate::triplets::Triplets;

/// Reads a Matrix Market file.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions) -> Result<AnyTensor> {
    let mut lines = Lines::new(reader);
    let banner = Banner::read(&mut lines)?;
    let (shape, declared) = banner.read_sizes(&mut lines)?;
    let body = Body { lines, banner, shape, declared, options };
    match banner.field {
        Field::Real => body.read::<f64>(number),
        Field::Pattern => body.read::<f64>(|_| Ok(1.0)),
        Field::Integer if options.dtype == Some(DType::UInt64) => body.read::<u64>(number),
        Field::Integer => body.read::<i64>(number),
        Field::Unsigned => body.read::<u64>(number),
        Field::Complex => body.read::<Complex<f64>>(|fields| Ok(Complex::new(number(fields)?, number(fields)?))),
    }
}

/// The next word as a number.
fn number<T: FileElement>(fields: &mut Fields<'_>) -> Result<T> {
    let word = fields.word("its value")?;
    T::parse_bytes(word).ok_or_else(|| {
        let (shown, dtype) = (quote(word), T::DTYPE);
        let is_number = std::str::from_utf8(word).is_ok_and(|word| parse_number(word).is_some());
        fields.error(match dtype {
            _ if is_number => format!("the value `{shown}` does not fit {dtype}"),
            DType::Int64 => format!("`{shown}` is not an int64"),
            _ => format!("`{shown}` is not a {dtype}"),
        })
    })
}

/// A value that a symmetry can mirror.
trait MatrixValue: FileElement {
    /// `-value`, if the type has it.
    fn negated(self) -> Option<Self>;

    /// The complex conjugate.
    fn conjugated(self) -> Self {
        self
    }
}

impl MatrixValue for f64 {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }
}

impl MatrixValue for i64 {
    fn negated(self) -> Option<Self> {
        self.checked_neg()
    }
}

impl MatrixValue for u64 {
    fn negated(self) -> Option<Self> {
        self.checked_neg()
    }
}

impl MatrixValue for Complex<f64> {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }

    fn conjugated(self) -> Self {
        self.conj()
    }
}

/// What follows the sizes.
struct Body<'a, R> {
    lines: Lines<R>,
    banner: Banner,
    shape: Shape,
    declared: usize,
    options: &'a ReadOptions,
}

/// What the limit on memory is said to stop.
const READ_SO_FAR: &str = "the entries read so far";

/// The entries read so far; arrays grow with the lines, whatever the header declares.
struct Entries<T> {
    coords: Vec<Vec<u64>>,
    values: Vec<T>,
    /// Lines read, without the entries that a symmetry adds.
    listed: usize,
    /// Whether an entry stands below the diagonal, and whether one stands above.
    triangles: [bool; 2],
}

impl<T> Entries<T> {
    fn new(rank: usize) -> Self {
        Entries { coords: vec![Vec::new(); rank], values: Vec::new(), listed: 0, triangles: [false; 2] }
    }

    /// The bytes that the entries take.
    fn bytes(&self) -> u128 {
        self.values.len() as u128 * (self.coords.len() * size_of::<u64>() + size_of::<T>()) as u128
    }

    fn push(&mut self, coords: impl IntoIterator<Item = u64>, value: T) {
        self.coords.iter_mut().zip(coords).for_each(|(axis, coord)| axis.push(coord));
        self.values.push(value);
    }
}

impl<R: BufRead> Body<'_, R> {
    fn read<T: MatrixValue>(mut self, value: impl Fn(&mut Fields<'_>) -> Result<T>) -> Result<AnyTensor> {
        let mut entries = Entries::new(self.shape.rank());
        match self.banner.layout {
            Layout::Coordinate => self.read_coordinates(&mut entries, value)?,
            Layout::Array => self.read_array(&mut entries, value)?,
        }
        if entries.listed < self.declared {
            let message = format!("{} entries are declared, the file ends after {}", self.declared, entries.listed);
            return Err(at_line(self.lines.line(), message));
        }
        entries.check_triangles()?;
        entries.mirror(self.banner.symmetry);
        let triplets = Triplets::from_arrays_with_index(self.shape, entries.coords, entries.values)?;
        let tensor = wrap(triplets.coalesce(self.options.duplicates)?);
        self.options.finish(tensor, Format::Coo, self.lines.bytes())
    }

    fn read_coordinates<T: MatrixValue>(
        &mut self,
        entries: &mut Entries<T>,
        value: impl Fn(&mut Fields<'_>) -> Result<T>,
    ) -> Result<()> {
        let (shape, declared, symmetry, options) = (&self.shape, self.declared, self.banner.symmetry, self.options);
        let mut coords = vec![0; shape.rank()];
        self.lines.for_each_entry(|mut fields| {
            check_declared(entries.listed, declared, &fields)?;
            for (axis, (coord, &length)) in coords.iter_mut().zip(shape.iter()).enumerate() {
                *coord = fields.index(axis_name(axis), length)?;
            }
            let value = value(&mut fields)?;
            fields.end()?;
            entries.listed += 1;
            entries.push_listed(&coords, value, symmetry, &fields)?;
            options.check_memory(READ_SO_FAR, entries.bytes())
        })
    }

    /// Reads an array: column by column, the first axis fastest; below the diagonal only where there is a symmetry.
    fn read_array<T: MatrixValue>(
        &mut self,
        entries: &mut Entries<T>,
        value: impl Fn(&mut Fields<'_>) -> Result<T>,
    ) -> Result<()> {
        let unstored = match &self.options.fill {
            Some(_) => self.options.fill_in::<T>()?,
            None => None,
        };
        let (declared, symmetry, options) = (self.declared, self.banner.symmetry, self.options);
        // What is mirrored into another value stays: that one is not the fill.
        let left_out = unstored.filter(|_| !matches!(symmetry, Symmetry::Skew | Symmetry::Hermitian));
        let lengths: Vec<usize> = self.shape.iter().rev().copied().collect();
        let mut position = first_position(lengths.len(), symmetry);
        self.lines.for_each_entry(|mut fields| {
            check_declared(entries.listed, declared, &fields)?;
            let value = value(&mut fields)?;
            fields.end()?;
            entries.listed += 1;
            if !left_out.is_some_and(|fill| value.same(fill)) {
                let coords: Vec<u64> = position.iter().rev().map(|&coord| coord as u64).collect();
                entries.push_listed(&coords, value, symmetry, &fields)?;
                options.check_memory(READ_SO_FAR, entries.bytes())?;
            }
            next_position(&mut position, &lengths, symmetry);
            Ok(())
        })?;
        let diagonal = symmetry == Symmetry::Skew && !unstored.is_some_and(|unstored| T::ZERO.same(unstored));
        if diagonal && entries.listed == declared {
            self.push_zero_diagonal(entries);
        }
        Ok(())
    }

    /// The diagonal that a skew-symmetric array leaves out, because it is zero: at most one entry more than was read.
    fn push_zero_diagonal<T: MatrixValue>(&self, entries: &mut Entries<T>) {
        for index in 0..self.shape[0] as u64 {
            entries.push([index, index], T::ZERO);
        }
    }
}

impl<T: MatrixValue> Entries<T> {
    /// Takes in one entry of the file, if the symmetry allows it.
    fn push_listed(&mut self, coords: &[u64], value: T, symmetry: Symmetry, fields: &Fields<'_>) -> Result<()> {
        if let (&[row, column], true) = (coords, symmetry != Symmetry::General) {
            self.triangles[0] |= row > column;
            self.triangles[1] |= row < column;
            if symmetry == Symmetry::Skew && row == column && value.is_truthy() {
                return Err(fields.error("the diagonal of a skew-symmetric matrix is zero"));
            }
            if symmetry == Symmetry::Skew && value.negated().is_none() {
                return Err(
                    fields.error(format!("{} cannot be mirrored: its negative does not fit", value.to_number()))
                );
            }
        }
        self.push(coords.iter().copied(), value);
        Ok(())
    }

    /// Refuses a symmetric file that names a pair in both triangles: its entries would be counted twice.
    fn check_triangles(&self) -> Result<()> {
        if self.triangles != [true, true] {
            return Ok(());
        }
        let pairs = || self.coords[0].iter().copied().zip(self.coords[1].iter().copied());
        let above: HashSet<(u64, u64)> = pairs().filter(|(row, column)| row < column).collect();
        match pairs().find(|&(row, column)| row > column && above.contains(&(column, row))) {
            None => Ok(()),
            Some((row, column)) => Err(Error::Format {
                place: format!("entry ({}, {})", row + 1, column + 1),
                message: "the file is symmetric, and names the mirror image of this entry too".into(),
            }),
        }
    }

    /// Adds the mirror image of every entry that is not on the diagonal.
    fn mirror(&mut self, symmetry: Symmetry) {
        if symmetry == Symmetry::General {
            return;
        }
        for entry in 0..self.values.len() {
            let (row, column, value) = (self.coords[0][entry], self.coords[1][entry], self.values[entry]);
            if row != column {
                let mirrored = match symmetry {
                    Symmetry::Skew => value.negated().unwrap_or(value),
                    Symmetry::Hermitian => value.conjugated(),
                    _ => value,
                };
                self.push([column, row], mirrored);
            }
        }
    }
}

/// What an axis is called.
fn axis_name(axis: usize) -> &'static str {
    ["row", "column"].get(axis).unwrap_or(&"index")
}

/// Refuses an entry beyond those that the header declares.
fn check_declared(listed: usize, declared: usize, fields: &Fields<'_>) -> Result<()> {
    if listed < declared {
        return Ok(());
    }
    Err(fields.error(format!("one entry too many: {declared} are declared")))
}

/// Where an array begins, as column and row (the axes reversed).
fn first_position(rank: usize, symmetry: Symmetry) -> Vec<usize> {
    let mut position = vec![0; rank];
    if symmetry == Symmetry::Skew {
        position[1] = 1;
    }
    position
}

/// The next position of an array: down the column, from the diagonal (or below it) where there is a symmetry.
fn next_position(position: &mut [usize], lengths: &[usize], symmetry: Symmetry) {
    step(position, lengths);
    let skipped = match symmetry {
        Symmetry::General => return,
        Symmetry::Symmetric | Symmetry::Hermitian => 0,
        Symmetry::Skew => 1,
    };
    if position[1] == 0 {
        position[1] = position[0] + skipped;
    }
}
