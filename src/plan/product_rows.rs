//! The entries of product operands by rows, with 32-bit columns, and the pattern of the result.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::{Index, Width};
use crate::base::limit::guard;
use crate::base::shape::{Shape, saturating_product, unravel};
use crate::base::threads;
use crate::kernels::lanes::mark_starts;
use crate::kernels::matrix::SparseRows;
use crate::pattern::{AnyPattern, AxisCoords, Format, by_width, of_width, zero_offsets};
use crate::plan::product::Contraction;

/// The length of an axis per entry, from which on only positions with entries are stored.
const SPARSE: usize = 8;

/// Axes up to this length are always stored in full.
const SHORT: usize = 1 << 16;

/// Returns whether an axis is so long that only positions with entries are stored.
fn is_vast(length: u128, nnz: usize) -> bool {
    length > SHORT.max(nnz.saturating_mul(SPARSE)) as u128
}

/// The entries of matrices by rows; rows are counted over all matrices.
pub(crate) struct RowEntries {
    /// The start of each row, then the total number of entries.
    pub(crate) offsets: Buffer<usize>,
    /// The index of each row, increasing; `None` if all rows are present.
    pub(crate) listed: Option<Vec<usize>>,
    /// The column of each entry, or its index in `narrowed`.
    pub(crate) columns: Buffer<u32>,
    /// The columns with entries, if only these are stored.
    pub(crate) narrowed: Option<Vec<usize>>,
}

impl RowEntries {
    pub(crate) fn rows(&self) -> SparseRows<'_> {
        SparseRows { offsets: &self.offsets, columns: &self.columns }
    }

    pub(crate) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the row index over all matrices.
    pub(crate) fn number(&self, row: usize) -> usize {
        self.listed.as_ref().map_or(row, |listed| listed[row])
    }

    /// Returns the column of an entry.
    fn column(&self, entry: usize) -> usize {
        let column = self.columns[entry] as usize;
        self.narrowed.as_ref().map_or(column, |narrowed| narrowed[column])
    }

    /// Returns the number of stored columns, given the length of the axis.
    pub(crate) fn width(&self, width: usize) -> usize {
        self.narrowed.as_ref().map_or(width, Vec::len)
    }

    /// Removes the rows without entries.
    fn list(&mut self) -> Allocated<()> {
        let starts = self.offsets.windows(2);
        let listed: Vec<usize> =
            alloc::collect_some(starts.enumerate().filter(|(_, ends)| ends[0] < ends[1]).map(|(row, _)| row))?;
        let ends = listed.iter().map(|&row| self.offsets[row + 1]);
        let mut offsets = alloc::with_capacity(listed.len() + 1)?;
        offsets.push(0);
        offsets.extend(ends);
        (self.offsets, self.listed) = (offsets.into(), Some(listed));
        Ok(())
    }

    /// Replaces each column of the left operand by the index of the stored row of the right operand with the same
    /// number.
    ///
    /// Columns are replaced only if some left columns or right rows are not stored. The right operand gets an empty
    /// last row for columns without a stored row. Rows of the left operand are not repeated.
    pub(crate) fn link(left: &mut RowEntries, right: &mut RowEntries, contraction: &Contraction) -> Result<bool> {
        if left.narrowed.is_none() && right.listed.is_none() {
            return Ok(false);
        }
        if right.listed.is_none() {
            right.list()?;
        }
        let listed = right.listed.as_deref().unwrap_or_default();
        guard::<u8>("the rows", listed.len() as u128, u32::MAX.into(), "multiply in chunks")?;
        let mut links = alloc::with_capacity(left.columns.len())?;
        for row in 0..left.count() {
            let (_, base) = contraction.row_map(left.number(row));
            links.extend(left.rows().range(row).map(|entry| {
                let place = listed.binary_search(&(base + left.column(entry)));
                place.unwrap_or(listed.len()) as u32
            }));
        }
        let mut offsets = alloc::collect(right.offsets.iter().copied())?;
        alloc::push(&mut offsets, right.columns.len())?;
        (left.columns, left.narrowed, right.offsets) = (links.into(), None, offsets.into());
        Ok(true)
    }
}

/// Returns the entries of a mask for the `rows` rows of a product, in the columns of its right operand.
pub(crate) fn masked_lines(
    mask: &dyn ByRows,
    contraction: &Contraction,
    [left, right]: [&RowEntries; 2],
    rows: usize,
    limit: u64,
) -> Result<RowEntries> {
    let lines = if contraction.has_axis[1] { mask.lines(false, true, true, limit)? } else { cells(mask, contraction)? };
    if [&lines.listed, &lines.narrowed, &left.listed, &right.narrowed].iter().all(|list| list.is_none()) {
        return Ok(lines);
    }
    let (mut offsets, mut columns) = (alloc::with_capacity(rows + 1)?, alloc::with_capacity(lines.columns.len())?);
    offsets.push(0);
    for row in 0..rows {
        let number = left.number(row);
        let own = lines.listed.as_ref().map_or(Ok(number), |listed| listed.binary_search(&number));
        let entries = own.map_or(0..0, |own| lines.rows().range(own));
        columns.extend(entries.filter_map(|entry| {
            let column = lines.column(entry);
            let place = right.narrowed.as_ref().map_or(Ok(column), |narrowed| narrowed.binary_search(&column));
            place.ok().map(|place| place as u32)
        }));
        offsets.push(columns.len());
    }
    Ok(RowEntries { offsets: offsets.into(), listed: None, columns: columns.into(), narrowed: None })
}

/// Returns the entries of a pattern without column axis: each entry is a row of one column.
fn cells(mask: &dyn ByRows, contraction: &Contraction) -> Result<RowEntries> {
    guard::<u8>("the positions of the mask", contraction.shape.wide_size(), u64::MAX, "multiply in chunks")?;
    let listed = mask.places()?;
    let offsets = alloc::collect(0..listed.len() + 1)?;
    let columns = Buffer::from(alloc::zeros(listed.len())?);
    Ok(RowEntries { offsets: offsets.into(), listed: Some(listed), columns, narrowed: None })
}

/// The information about a pattern that a product needs, independent of the type of the pattern.
pub(crate) trait ByRows: Sync {
    fn shape(&self) -> &Shape;

    /// Returns the entries by rows. The last axis becomes the columns, and all other axes become the rows.
    ///
    /// With `is_column`, the only axis becomes the rows of one column. By default all rows are stored, within the
    /// limit. With `may_list`, rows without entries may be removed. With `of_result`, columns without entries may be
    /// removed.
    fn lines(&self, is_column: bool, may_list: bool, of_result: bool, limit: u64) -> Result<RowEntries>;

    fn coords(&self, entry: usize) -> Vec<usize>;

    fn has_lanes(&self) -> bool;

    /// Returns the row-major positions of the entries. The caller guarantees that they fit in `usize`.
    fn places(&self) -> Allocated<Vec<usize>>;

    /// Returns the lengths of the axes, and the lengths in memory, in which broadcast batch axes have length 1.
    fn lengths(&self) -> [&[usize]; 2] {
        [self.shape(), self.shape()]
    }
}

/// The positions of an array, all of them stored. `held` is the shape of the array in memory, if it is broadcast.
pub(crate) struct Everywhere {
    pub(crate) shape: Shape,
    pub(crate) held: Shape,
}

impl ByRows for Everywhere {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn lines(&self, is_column: bool, _: bool, _: bool, limit: u64) -> Result<RowEntries> {
        let count: usize = self.held.iter().product();
        let width = if is_column { 1 } else { self.held.columns() };
        guard::<u8>("the columns of the array", width as u128, 1 << 32, "multiply in chunks")?;
        guard::<u32>("the columns of the array", count as u128, limit, "multiply in chunks")?;
        let rows = if is_column { count } else { saturating_product(self.held.lane_axes()) as usize };
        let offsets = alloc::collect((0..rows + 1).map(|row| row * width))?;
        let columns = alloc::collect((0..count).map(|at| (at % width.max(1)) as u32))?;
        Ok(RowEntries { offsets: offsets.into(), listed: None, columns: columns.into(), narrowed: None })
    }

    fn coords(&self, entry: usize) -> Vec<usize> {
        let mut coords = vec![0; self.held.rank()];
        unravel(entry, &self.held, &mut coords);
        coords
    }

    fn has_lanes(&self) -> bool {
        true
    }

    fn places(&self) -> Allocated<Vec<usize>> {
        alloc::collect(0..self.held.iter().product())
    }

    fn lengths(&self) -> [&[usize]; 2] {
        [&self.shape, &self.held]
    }
}

impl ByRows for AnyPattern {
    fn shape(&self) -> &Shape {
        self.shape()
    }

    fn lines(&self, is_column: bool, may_list: bool, of_result: bool, limit: u64) -> Result<RowEntries> {
        if is_column { as_column(self, may_list, limit) } else { as_rows(self, may_list, of_result, limit) }
    }

    fn coords(&self, entry: usize) -> Vec<usize> {
        self.coords_of(entry).unwrap_or_default()
    }

    fn has_lanes(&self) -> bool {
        self.format() == Format::Csr
    }

    fn places(&self) -> Allocated<Vec<usize>> {
        let mut places = alloc::zeros(self.nnz())?;
        self.number(0, &mut places);
        Ok(places)
    }
}

fn as_column(pattern: &AnyPattern, may_list: bool, limit: u64) -> Result<RowEntries> {
    let (length, coords) = (pattern.shape()[0], pattern.axis(0)?);
    let columns = Buffer::from(alloc::zeros(coords.len())?);
    if may_list && is_vast(length as u128, coords.len()) {
        let offsets = alloc::collect(0..coords.len() + 1)?.into();
        return Ok(RowEntries { offsets, listed: Some(coords.to_usizes()?), columns, narrowed: None });
    }
    let mut offsets = zero_offsets(&[length, 1].into(), limit)?;
    by_width!(&coords, own => mark_starts(&mut offsets, own.len(), |entry| own[entry].to_usize()));
    Ok(RowEntries { offsets: offsets.into(), listed: None, columns, narrowed: None })
}

fn as_rows(pattern: &AnyPattern, may_list: bool, of_result: bool, limit: u64) -> Result<RowEntries> {
    let (shape, nnz) = (pattern.shape(), pattern.nnz());
    let coords = pattern.axis(shape.rank() - 1)?;
    let is_long = shape.columns() as u128 > 1 << 32 || of_result && is_vast(shape.columns() as u128, nnz);
    let (columns, narrowed) = if is_long { narrow(&coords)? } else { (coords.to_u32()?, None) };
    let rows = saturating_product(shape.lane_axes());
    let (offsets, listed) = match pattern.lane_offsets() {
        Some(offsets) => (offsets.clone(), None),
        None if may_list && is_vast(rows, nnz) => list_rows(pattern, rows)?,
        None => {
            let lanes = pattern.in_format(Format::Csr, limit)?;
            (lanes.lane_offsets().cloned().unwrap_or_default(), None)
        }
    };
    Ok(RowEntries { offsets, listed, columns, narrowed })
}

/// Returns the columns with entries, and for each entry the index of its column among these columns.
fn narrow(coords: &AxisCoords) -> Result<(Buffer<u32>, Option<Vec<usize>>)> {
    let mut narrowed = coords.to_usizes()?;
    threads::sort(&mut narrowed, usize::cmp);
    narrowed.dedup();
    guard::<u8>("the columns", narrowed.len() as u128, u32::MAX.into(), "multiply in chunks")?;
    let place = |column: usize| narrowed.partition_point(|&other| other < column) as u32;
    let places = by_width!(coords, own => threads::map(own, 50_000, |coord| place(coord.to_usize())))?;
    Ok((places.into(), Some(narrowed)))
}

/// Returns the indices of the rows with entries, out of `rows` rows.
fn list_rows(pattern: &AnyPattern, rows: u128) -> Result<(Buffer<usize>, Option<Vec<usize>>)> {
    guard::<u8>("the row numbers", rows, u64::MAX, "multiply fewer matrices at once")?;
    let lengths = pattern.shape().lane_axes();
    let axes: Vec<usize> = (0..lengths.len()).collect();
    let mut numbers = alloc::zeros(pattern.nnz())?;
    pattern.number_within(&axes, lengths, 0, &mut numbers);
    let (mut offsets, mut listed) = (Vec::new(), Vec::new());
    for (entry, &number) in numbers.iter().enumerate() {
        if listed.last() != Some(&number) {
            alloc::push(&mut listed, number)?;
            alloc::push(&mut offsets, entry)?;
        }
    }
    alloc::push(&mut offsets, numbers.len())?;
    Ok((offsets.into(), Some(listed)))
}

/// The pattern of a product by rows, with the stored rows and columns of the operands.
pub(crate) struct ProductRows {
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) listed: Option<Vec<usize>>,
    pub(crate) narrowed: Option<Vec<usize>>,
}

impl ProductRows {
    /// Returns the coordinates of an entry.
    pub(crate) fn coords(&self, entry: usize, contraction: &Contraction) -> Vec<usize> {
        let row = self.offsets.partition_point(|&offset| offset <= entry) - 1;
        let column = self.columns[entry] as usize;
        let column = self.narrowed.as_ref().map_or(column, |narrowed| narrowed[column]);
        contraction.coords(self.listed.as_ref().map_or(row, |listed| listed[row]), column)
    }

    /// Returns the row-major positions of the entries. The caller guarantees that they fit in `usize`.
    pub(crate) fn positions(&self, width: usize) -> impl Iterator<Item = usize> {
        (0..self.offsets.len() - 1).flat_map(move |row| {
            let number = self.listed.as_ref().map_or(row, |listed| listed[row]);
            self.columns[self.offsets[row]..self.offsets[row + 1]].iter().map(move |&column| {
                let column = column as usize;
                number * width + self.narrowed.as_ref().map_or(column, |narrowed| narrowed[column])
            })
        })
    }

    /// Returns the pattern in the format of `like`, with at least its width. The pattern is built by lanes if the left
    /// operand has lanes.
    pub(crate) fn pattern(
        self,
        like: (Format, Width),
        contraction: &Contraction,
        has_lanes: bool,
        limit: u64,
    ) -> Result<AnyPattern> {
        let shape = contraction.shape.clone();
        let (format, width) = (like.0, like.1.max(Width::of_lengths(&shape)));
        let nnz = self.columns.len();
        if has_lanes && contraction.has_axis[1] && self.listed.is_none() {
            let ProductRows { offsets, columns, narrowed, .. } = self;
            return AnyPattern::from_lanes(
                format,
                shape,
                offsets.into(),
                indices(width, columns, narrowed.as_deref())?,
            );
        }
        let mut coords = of_width!(width, I => self.row_coords::<I>(contraction)?);
        if contraction.has_axis[1] {
            coords.push(indices(width, self.columns, self.narrowed.as_deref())?);
        }
        AnyPattern::from_coords(format, shape, nnz, width, coords, limit)
    }

    /// Returns the coordinates of the entries on all axes except the column axis.
    fn row_coords<I: Index>(&self, contraction: &Contraction) -> Allocated<Vec<AxisCoords>> {
        let rank = contraction.batch.rank() + usize::from(contraction.has_axis[0]);
        let nnz = self.columns.len();
        let mut axes = (0..rank).map(|_| alloc::with_capacity(nnz)).collect::<Allocated<Vec<Vec<I>>>>()?;
        for (row, ends) in self.offsets.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
            let coords = contraction.coords(self.listed.as_ref().map_or(row, |listed| listed[row]), 0);
            for (axis, coord) in axes.iter_mut().zip(coords) {
                axis.resize(ends[1], I::from_usize(coord));
            }
        }
        Ok(axes.into_iter().map(AxisCoords::from).collect())
    }
}

/// Returns the columns in the given width.
fn indices(width: Width, columns: Vec<u32>, narrowed: Option<&[usize]>) -> Allocated<AxisCoords> {
    match narrowed {
        Some(narrowed) => of_width!(width, I => {
            threads::map(&columns, 1500, |column| I::from_usize(narrowed[column as usize])).map(AxisCoords::from)
        }),
        None => AxisCoords::from(columns).in_width(width),
    }
}
