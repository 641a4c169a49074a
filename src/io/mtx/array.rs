//! The array layout: the values of all positions, column by column.

use std::io::BufRead;

use super::banner::Symmetry;
use super::body::{MatrixBody, MatrixValue};
use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::io::entries::{FileEntries, TextFile, TextTensor};
use crate::io::fields::{Fields, LineResult};
use crate::io::lines::{LineBlock, ParsedLines, at_line};
use crate::io::options::EntryOrder;
use crate::tensor::erased::Erased;

/// Reads an array; positions whose value is the requested fill are not stored.
pub(super) fn read<R: BufRead, T: MatrixValue>(
    body: &mut MatrixBody<'_, R>,
    value: impl Fn(&mut Fields<'_>) -> LineResult<T> + Sync + Send,
) -> Result<TextFile>
where
    TextTensor: From<Erased<T>>,
{
    let unstored = if body.options.fill.is_some() { body.options.fill_in::<T>()? } else { None };
    let listed = read_values(body, value)?;
    body.lines.check_count(listed.len(), body.declared)?;
    let rows = body.shape.first().copied().unwrap_or(1);
    let array =
        Array { listed, rows, columns: body.shape.get(1).copied().unwrap_or(1), symmetry: body.banner.symmetry };
    let is_stored = |value: &T| !unstored.is_some_and(|unstored| value.same(unstored));
    let mut entries = FileEntries::<T>::new(body.shape.rank(), body.index.width);
    let stored = array.positions().filter(|&(row, column)| is_stored(&array.at(row, column))).count();
    let limit = body.options.tensor_budget(body.lines.bytes(), array.bytes());
    body.options.guard_entries::<T>(stored, body.shape.rank() * body.index.width.bytes(), EntryOrder::Dense, limit)?;
    entries.reserve_exact(stored)?;
    for (row, column) in array.positions() {
        let value = array.at(row, column);
        if is_stored(&value) {
            entries.push([row, column], value)?;
        }
    }
    entries.into_text(body.shape.clone(), body.options.duplicates, |error| error)
}

/// Reads the values in the order of the file.
fn read_values<R: BufRead, T: MatrixValue>(
    body: &mut MatrixBody<'_, R>,
    value: impl Fn(&mut Fields<'_>) -> LineResult<T> + Sync + Send,
) -> Result<Vec<T>> {
    let (declared, symmetry, options) = (body.declared, body.banner.symmetry, body.options);
    let mut listed = Vec::new();
    let mut diagonal = Diagonal::of(body.shape.first().copied().unwrap_or(1), symmetry);
    body.lines.for_each_block(
        |block| parse_values(block, symmetry, &value),
        |values: Allocated<Vec<T>>, taken| {
            let values = values?;
            taken.check_count(listed.len(), values.len(), declared)?;
            diagonal.check(listed.len(), &values, taken)?;
            alloc::extend(&mut listed, &values)?;
            options.guard_entries::<T>(listed.len(), 0, EntryOrder::Increasing, options.tensor_budget(taken.bytes, 0))
        },
    )?;
    listed.shrink_to_fit();
    Ok(listed)
}

/// The diagonal in the list of a lower triangle, column by column. Only the diagonal of a hermitian matrix can have
/// invalid values.
struct Diagonal {
    symmetry: Symmetry,
    /// The index in the list of the next diagonal value, and the number of values below it in its column.
    next: usize,
    below: Option<usize>,
}

impl Diagonal {
    fn of(rows: usize, symmetry: Symmetry) -> Self {
        let below = if symmetry == Symmetry::Hermitian { rows.checked_sub(1) } else { None };
        Diagonal { symmetry, next: 0, below }
    }

    /// Rejects an invalid diagonal value in a block; `listed` is the number of values before the block.
    fn check<T: MatrixValue>(&mut self, listed: usize, values: &[T], taken: &ParsedLines<'_>) -> Result<()> {
        while let Some(below) = self.below
            && let Some(value) = values.get(self.next - listed)
        {
            value.check_diagonal(self.symmetry).map_err(|why| at_line(taken.line_of(self.next - listed), why))?;
            self.next += below + 1;
            self.below = below.checked_sub(1);
        }
        Ok(())
    }
}

/// Parses the values of a block.
fn parse_values<T: MatrixValue>(
    block: &mut LineBlock<'_>,
    symmetry: Symmetry,
    value: impl Fn(&mut Fields<'_>) -> LineResult<T>,
) -> Allocated<Vec<T>> {
    let mut values = alloc::with_capacity(block.count_lines().min(block.len() / 2 + 1))?;
    block.for_each_line(|fields, _| {
        let value = value(fields)?;
        value.check_mirror(symmetry)?;
        fields.end()?;
        values.push(value);
        Ok(())
    });
    Ok(values)
}

/// The values of a matrix, or of its lower triangle, column by column.
struct Array<T> {
    listed: Vec<T>,
    rows: usize,
    columns: usize,
    symmetry: Symmetry,
}

impl<T: MatrixValue> Array<T> {
    /// Returns all positions in row-major order.
    fn positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        // Without columns the tensor is empty, for any number of rows in the header.
        let rows = if self.columns == 0 { 0 } else { self.rows };
        (0..rows).flat_map(|row| (0..self.columns).map(move |column| (row, column)))
    }

    fn at(&self, row: usize, column: usize) -> T {
        match self.symmetry {
            Symmetry::General => self.listed[column * self.rows + row],
            Symmetry::Skew if row == column => T::ZERO,
            symmetry if row < column => self.below(column, row).mirrored(symmetry),
            _ => self.below(row, column),
        }
    }

    /// Returns the value at a position of the lower triangle. The file of a skew-symmetric matrix does not list the
    /// diagonal.
    fn below(&self, row: usize, column: usize) -> T {
        let without_diagonal = usize::from(self.symmetry == Symmetry::Skew);
        let above = column * (column + 1) / 2 + without_diagonal * column;
        self.listed[column * self.rows + row - above - without_diagonal]
    }

    fn bytes(&self) -> u64 {
        size_of_val(&self.listed[..]) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value takes one line of at least two bytes.
    #[test]
    fn a_block_reserves_as_many_values_as_it_can_list() {
        let reserved = |text: &str| {
            let value = |fields: &mut Fields<'_>| fields.value::<f64>();
            let values = parse_values(&mut LineBlock::new(text.as_bytes(), b'%'), Symmetry::General, value).unwrap();
            (values.len(), values.capacity())
        };
        assert_eq!([reserved(&"\n".repeat(100)), reserved(&"0.125\n".repeat(100))], [(0, 51), (100, 100)]);
    }
}
