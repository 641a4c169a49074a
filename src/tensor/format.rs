//! The `Debug` and `Display` output of tensors, patterns and triplets. It is short for any number of entries.

use std::any::Any;
use std::fmt::{self, Debug, Display, Formatter};

use num_complex::Complex;

use crate::base::index::{Index, Width};
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::pattern::{AnyPattern, CooPattern, CsrPattern, Format, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;
use crate::tensor::triplets::Triplets;

/// Maximum number of entries that `{:?}` lists, on one line.
const FEW: usize = 6;
/// Maximum number of entries that `{:#?}` lists, one per line; also for `{}` unless the tensor is a small grid.
const MORE: usize = 20;
/// Maximum number of rows of a grid.
const GRID_ROWS: usize = 40;
/// Maximum number of columns of a grid.
const GRID_COLUMNS: usize = 20;

/// A list of entries below a headline.
struct EntryListing<F> {
    headline: String,
    count: usize,
    entry: F,
}

impl<F: Fn(usize) -> String> EntryListing<F> {
    /// Writes all entries on one line, or one entry per line if `tall`.
    fn write(&self, f: &mut Formatter<'_>, tall: bool) -> fmt::Result {
        let shown = self.count.min(if tall { MORE } else { FEW });
        f.write_str(&self.headline)?;
        let (mut separator, next) = if tall { ("\n", "\n") } else { (": ", ", ") };
        for entry in 0..shown {
            write!(f, "{separator}{}", (self.entry)(entry))?;
            separator = next;
        }
        match self.count - shown {
            0 => Ok(()),
            rest => write!(f, "{separator}… {rest} more"),
        }
    }
}

/// Returns the listing of a pattern, with the text that `value` returns for each entry.
fn listing<'a>(
    pattern: &'a AnyPattern,
    headline: String,
    value: impl Fn(usize) -> String + 'a,
) -> EntryListing<impl Fn(usize) -> String + 'a> {
    let entry = move |entry| format!("{:?}{}", pattern.coords_of(entry).unwrap_or_default(), value(entry));
    EntryListing { headline, count: pattern.nnz(), entry }
}

/// Returns the headline of a tensor.
///
/// Example: `CooTensor<f64, u32> [44, 53], 2284 stored of 2332 (97.9 %)`; `kind` is the part between `Coo` and `u32`.
fn headline(pattern: &AnyPattern, kind: &str, index: &str) -> String {
    let format = if pattern.format() == Format::Csr { "Csr" } else { "Coo" };
    let (shape, nnz) = (pattern.shape(), pattern.nnz());
    format!("{format}{kind}{index}> {shape}, {nnz} stored of {}", extent(nnz, shape.wide_size()))
}

/// Returns the number of positions and the percentage of stored positions; never `100 %` if a position is unstored.
pub(crate) fn extent(nnz: usize, size: u128) -> String {
    let percent = 100.0 * nnz as f64 / size as f64;
    match size {
        u128::MAX => "more than 10^38".into(),
        _ if nnz == 0 => size.to_string(),
        _ if nnz as u128 == size => format!("{size} (100 %)"),
        _ if percent < 0.1 => format!("{size} ({percent:.1e} %)"),
        _ => format!("{size} ({:.1} %)", percent.min(99.9)),
    }
}

/// Returns the Rust name of an element type.
fn rust_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::Int8 => "i8",
        DType::Int16 => "i16",
        DType::Int32 => "i32",
        DType::Int64 => "i64",
        DType::UInt8 => "u8",
        DType::UInt16 => "u16",
        DType::UInt32 => "u32",
        DType::UInt64 => "u64",
        DType::Float16 => "f16",
        DType::BFloat16 => "bf16",
        DType::Float32 => "f32",
        DType::Float64 => "f64",
        DType::Complex64 => "Complex<f32>",
        DType::Complex128 => "Complex<f64>",
    }
}

/// Returns a value with `precision` decimals. Without a precision, the text has the fewest decimals that parse to the
/// same value.
fn shown<T: Element>(value: T, precision: Option<usize>) -> String {
    let any: &dyn Any = &value;
    match (any.downcast_ref(), any.downcast_ref(), precision) {
        (Some(&complex), ..) => shown_complex::<f32>(complex, precision),
        (_, Some(&complex), _) => shown_complex::<f64>(complex, precision),
        (.., Some(precision)) => format!("{value:.precision$?}"),
        (.., None) => format!("{value:?}"),
    }
}

/// Returns a complex value as text: `1.0-2.0j`.
fn shown_complex<F: Element + num_traits::Float>(value: Complex<F>, precision: Option<usize>) -> String {
    let sign = if value.im.is_sign_negative() { '-' } else { '+' };
    format!("{}{sign}{}j", shown(value.re, precision), shown(value.im.abs(), precision))
}

/// Returns the number of rows and columns of a grid, or `None` if the shape is too large for a grid.
fn grid_size(shape: &Shape) -> Option<(usize, usize)> {
    let size = match **shape {
        [] => (1, 1),
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        _ => return None,
    };
    ((1..=GRID_ROWS).contains(&size.0) && (1..=GRID_COLUMNS).contains(&size.1)).then_some(size)
}

/// Returns a grid of all positions: the text that `cell` returns for each entry, and a dot for each unstored position.
fn grid(pattern: &AnyPattern, (rows, columns): (usize, usize), cell: impl Fn(usize) -> String) -> String {
    let mut cells = vec![vec![String::from("."); columns]; rows];
    pattern.walk_range(0..pattern.nnz(), &mut |entry, coords| {
        let mut coords = coords.iter().rev();
        let column = coords.next().copied().unwrap_or(0);
        cells[coords.next().copied().unwrap_or(0)][column] = cell(entry);
        true
    });
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        // The padding is explicit: the width of a format string ends at 65 535, and a value may have more characters.
        let padded = row.iter().zip(&widths).map(|(cell, &width)| " ".repeat(width - cell.chars().count()) + cell);
        padded.collect::<Vec<_>>().join(" ")
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl<T: Element> SparseRef<'_, T> {
    /// Writes the stored entries below a headline that names the type of the coordinates.
    fn write_listing(self, index: &str, f: &mut Formatter<'_>, tall: bool) -> fmt::Result {
        let (kind, precision) = (format!("Tensor<{}, ", rust_name(T::DTYPE)), f.precision());
        let headline = format!("{}, fill {}", headline(self.pattern(), &kind, index), shown(self.fill(), precision));
        let value = |entry: usize| format!(" {}", shown(self.values()[entry], precision));
        listing(self.pattern(), headline, value).write(f, tall)
    }

    /// Writes the grid of all positions, or the entries if the grid would be large.
    fn write_grid(self, index: &str, f: &mut Formatter<'_>) -> fmt::Result {
        let precision = f.precision();
        let Some(size) = grid_size(self.shape()) else {
            return self.write_listing(index, f, true);
        };
        f.write_str(&grid(self.pattern(), size, |entry| shown(self.values()[entry], precision)))?;
        let all_zeros = self.fill().same(T::ZERO);
        if all_zeros { Ok(()) } else { write!(f, "\n. is {}", shown(self.fill(), precision)) }
    }
}

/// Writes a headline and the first few entries.
///
/// The output lists up to six entries on one line. `{:#?}` lists up to twenty entries, one per line.
///
/// ```
/// use lacuna::CooTensor;
///
/// let x = CooTensor::new([2, 4], vec![vec![0, 1], vec![1, 3]], vec![2.5, f64::NAN], 0.0)?;
/// let told = format!("{x:?}");
/// assert_eq!(told, "CooTensor<f64, u32> [2, 4], 2 stored of 8 (25.0 %), fill 0.0: [0, 1] 2.5, [1, 3] NaN");
/// # Ok::<(), lacuna::Error>(())
/// ```
impl<P: Pattern, T: Element> Debug for Tensor<P, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.sparse().write_listing(self.pattern().index_name(), f, f.alternate())
    }
}

/// Writes a small tensor as a grid, otherwise a headline and up to twenty entries.
///
/// A small tensor has a rank of at most 2, 1 to 40 rows, and 1 to 20 columns. The grid has a dot for each unstored
/// position. `{:.2}` prints values with two decimals.
///
/// ```
/// use lacuna::CooTensor;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![2.5, -10.0], 0.0)?;
/// assert_eq!(x.to_string(), ". 2.5     .\n.   . -10.0");
/// assert_eq!(x.with_fill(1.0).to_string(), ". 2.5     .\n.   . -10.0\n. is 1.0");
/// # Ok::<(), lacuna::Error>(())
/// ```
impl<P: Pattern, T: Element> Display for Tensor<P, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.sparse().write_grid(self.pattern().index_name(), f)
    }
}

/// Writes a headline and the first few positions.
///
/// The output lists up to six positions on one line. `{:#?}` lists up to twenty positions, one per line.
impl<I: Index> Debug for CooPattern<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.any().write_listing(I::NAME, f, f.alternate())
    }
}

/// Writes a small pattern as a grid of crosses and dots, otherwise a list.
///
/// A small pattern has a rank of at most 2, 1 to 40 rows, and 1 to 20 columns. The list is a headline and up to twenty
/// positions, one per line.
impl<I: Index> Display for CooPattern<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.any().write_grid(I::NAME, f)
    }
}

/// Writes a headline and the first few positions.
///
/// The output lists up to six positions on one line. `{:#?}` lists up to twenty positions, one per line.
impl<I: Index> Debug for CsrPattern<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.any().write_listing(I::NAME, f, f.alternate())
    }
}

/// Writes a small pattern as a grid of crosses and dots, otherwise a list.
///
/// A small pattern has a rank of at most 2, 1 to 40 rows, and 1 to 20 columns. The list is a headline and up to twenty
/// positions, one per line.
impl<I: Index> Display for CsrPattern<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.any().write_grid(I::NAME, f)
    }
}

impl AnyPattern {
    /// Writes the positions below a headline that names the type of the coordinates.
    fn write_listing(&self, index: &str, f: &mut Formatter<'_>, tall: bool) -> fmt::Result {
        listing(self, headline(self, "Pattern<", index), |_| String::new()).write(f, tall)
    }

    /// Writes the grid of all positions, or the positions if the grid would be large.
    fn write_grid(&self, index: &str, f: &mut Formatter<'_>) -> fmt::Result {
        match grid_size(self.shape()) {
            Some(size) => f.write_str(&grid(self, size, |_| String::from("x"))),
            None => self.write_listing(index, f, true),
        }
    }
}

impl Debug for AnyPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let index = match self.width() {
            Width::U32 => u32::NAME,
            Width::U64 => u64::NAME,
        };
        self.write_listing(index, f, f.alternate())
    }
}

/// Writes a headline and the first few triplets.
///
/// The output lists up to six triplets on one line. `{:#?}` lists up to twenty triplets, one per line.
impl<T: Element, I: Index> Debug for Triplets<T, I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shape, precision) = (self.shape(), f.precision());
        let headline = format!("Triplets<{}, {}> {shape}", rust_name(T::DTYPE), I::NAME);
        let fill = shown(self.fill(), precision);
        let entry = |entry: usize| {
            let coords: Vec<usize> = (0..shape.rank()).map(|axis| self.coords(axis)[entry].to_usize()).collect();
            format!("{coords:?} {}", shown(self.values()[entry], precision))
        };
        let entry: &dyn Fn(usize) -> String = &entry;
        let headline = format!("{headline}, {} triplets, fill {fill}", self.len());
        EntryListing { headline, count: self.len(), entry }.write(f, f.alternate())
    }
}

#[cfg(test)]
mod tests {
    use crate::CooTensor;

    #[test]
    fn a_grid_of_more_decimals_than_a_width_may_have_does_not_panic() {
        let x = CooTensor::<f64, u32>::new([1, 2], vec![vec![0, 0], vec![0, 1]], vec![2.5, -10.0], 0.0).unwrap();
        let grid = format!("{x:.65535}"); // the maximum
        assert_eq!(grid, format!("2.5{} -10.{}", "0".repeat(65_534), "0".repeat(65_535)));
    }
}
