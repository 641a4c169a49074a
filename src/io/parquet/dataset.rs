//! A tensor in Parquet tables whose entries are not read yet: one file, or a folder of parts.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::description::{Description, Extent};
use super::entry_buffer::{EntryBuffer, ValueBuffer};
use super::footer::{Footer, rejection};
use super::layout::TableLayout;
use super::manifest::{Manifest, TablePart};
use super::read::{OpenedTable, WORTH, tensor_of};
use super::slice::{BoundedPage, check_ranges, within};
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::dispatch_dtype;
use crate::dynamic::{AnyTensor, Format, no_such};
use crate::element::{DType, Number};
use crate::io::options::{EntryOrder, ReadOptions};
use crate::io::progress::Watched;

/// A tensor in Parquet, in one file or in a folder of parts.
///
/// Only the header of the tensor is in memory.
///
/// [`pieces`](Dataset::pieces) reads the entries in chunks within a memory limit.
/// [`DatasetWriter`](crate::io::DatasetWriter) writes such a tensor in chunks. [`read`](crate::io::read()) and
/// [`read_slice`](crate::io::read_slice) accept a folder like a file.
///
/// A folder is a tensor if it has a manifest, `_lacuna.json`. The manifest names the parts and is written last. A
/// folder without a manifest, for example because its writer was interrupted, is rejected.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{AnyTensor, Dataset, ReadOptions, WriteOptions, write};
///
/// let folder = std::env::temp_dir().join("lacuna-dataset-example");
/// let x = CooTensor::new([3, 3], vec![vec![0, 2], vec![1, 0]], vec![1.5, -2.0], 0.0)?;
/// write(folder.join(""), &x, &WriteOptions::default())?;
///
/// let dataset = Dataset::open(&folder, &ReadOptions::default())?;
/// assert_eq!((dataset.shape().to_vec(), dataset.nnz()), (vec![3, 3], 2));
/// let mut stored = 0;
/// for piece in dataset.pieces(64 << 20) {
///     stored += piece?.nnz();
/// }
/// assert_eq!(stored, 2);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset {
    root: PathBuf,
    /// True if `root` is a folder that has the parts; otherwise `root` is the only part.
    is_folder: bool,
    described: Description,
    dtype: DType,
    /// True if all bytes of the parts have checksums.
    are_checked: bool,
    parts: Vec<TablePart>,
    options: ReadOptions,
    /// The number of bytes read so far, if all reads report to one common progress.
    bytes_read: Option<Arc<AtomicU64>>,
}

impl Dataset {
    /// Opens the file or the folder at `path`.
    ///
    /// The options set the element type, the required shape, the names of the columns, the memory limit, and the
    /// callback for the progress.
    ///
    /// # Errors
    ///
    /// - `Io`: the file or folder cannot be read;
    /// - `Format`: the file is not Parquet, or the manifest is invalid;
    /// - `Format`: the file does not describe a tensor, so the order of its rows is unknown. To convert such a file,
    ///   use [`read`](crate::io::read()) and [`write`](crate::io::write());
    /// - `Format`: the options set a fill;
    /// - `ShapeMismatch`: the shape differs from the shape in the options.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Dataset> {
        let path = path.as_ref();
        let dataset = if path.is_dir() { Dataset::of_folder(path, options) } else { Dataset::of_file(path, options) };
        let dataset = dataset.map_err(|error| error.in_file(path))?;
        options.check_shape(dataset.shape())?;
        Ok(dataset)
    }

    fn of_folder(root: &Path, options: &ReadOptions) -> Result<Dataset> {
        let Manifest { described, are_checked, parts } = Manifest::read(root)?;
        described.reject_fill(options)?;
        let dtype = described.dtype.unwrap_or(DType::Bool);
        // An invalid fill is rejected here, before the fill is used.
        dispatch_dtype!(dtype, T => described.fill::<T>()?.map(|_| ()), else => return Err(no_such(dtype)));
        Ok(Dataset {
            root: root.into(),
            is_folder: true,
            described,
            dtype,
            are_checked,
            parts,
            options: options.clone(),
            bytes_read: None,
        })
    }

    fn of_file(path: &Path, options: &ReadOptions) -> Result<Dataset> {
        let Opened { layout, length, footer, .. } = Opened::new(File::open(path)?, options, &options.progress, None)?;
        let TableLayout { described, dtype, is_lacuna, .. } = layout;
        let extent = described.extent.clone().filter(|_| is_lacuna).ok_or_else(|| {
            rejection("the file does not describe a tensor or the order of its rows; convert it first")
        })?;
        dispatch_dtype!(dtype, T => described.fill::<T>()?.map(|_| ()), else => return Err(no_such(dtype)));
        extent.check_rows(footer.rows)?;
        let parts = vec![TablePart { file: String::new(), bytes: length, extent }];
        Ok(Dataset {
            root: path.into(),
            is_folder: false,
            described,
            dtype,
            are_checked: footer.is_checked,
            parts,
            options: options.clone(),
            bytes_read: None,
        })
    }

    /// Returns the same dataset. All its later reads report to one common progress.
    pub(crate) fn with_common_progress(self) -> Dataset {
        Dataset { bytes_read: Some(Arc::default()), ..self }
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &Shape {
        &self.described.shape
    }

    /// Returns the element type of the chunks.
    ///
    /// The element type is the type in the options, or the type of the files if the options do not set a type.
    pub fn dtype(&self) -> DType {
        self.options.dtype.unwrap_or(self.dtype)
    }

    /// Returns the format of tensors that are read: the requested format, otherwise COO.
    pub(crate) fn format(&self) -> Format {
        self.options.format.unwrap_or(Format::Coo)
    }

    /// Returns the element type of the files.
    pub(super) fn own_dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the fill: the value of every unstored position.
    ///
    /// # Errors
    ///
    /// `Cast`: the fill cannot be converted to the element type in the options.
    pub fn fill(&self) -> Result<Number> {
        Ok(self.header()?.fill())
    }

    /// Returns the number of stored entries.
    pub fn nnz(&self) -> u64 {
        self.described.extent.as_ref().map_or(0, |extent| extent.entries)
    }

    /// Returns whether checksums cover all bytes, so that damage is always detected.
    pub(crate) fn are_checked(&self) -> bool {
        self.are_checked
    }

    /// Returns the number of stored entries, and the sum of their hashes.
    pub(crate) fn checks(&self) -> Option<(u64, u64)> {
        self.described.extent.as_ref().map(|extent| (extent.entries, extent.hash))
    }

    /// Returns the element type of the files, and the checksum of all facts that they state about the tensor.
    pub(crate) fn fingerprint(&self) -> (DType, String) {
        (self.dtype, self.described.checksum())
    }

    /// Returns the tensor without its entries: shape, element type and fill.
    ///
    /// # Errors
    ///
    /// The errors of [`fill`](Dataset::fill).
    pub fn header(&self) -> Result<AnyTensor> {
        let header = dispatch_dtype!(self.dtype, T => {
            tensor_of::<T>(&self.described, true, None, Vec::new(), &self.options)
        }, else => Err(no_such(self.dtype)))?;
        header.cast(self.dtype())
    }

    /// Returns the number of bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |bytes, part| bytes.saturating_add(part.bytes))
    }

    /// Reads the tensor, as [`read`](crate::io::read()) of the path does.
    pub(crate) fn read(&self) -> Result<AnyTensor> {
        if self.options.only_header {
            return self.finish(self.header()?);
        }
        let tensor = dispatch_dtype!(self.dtype, T => {
            let mut values = ValueBuffer::<T>::default();
            self.guard_all(size_of::<T>())?;
            let mut entries = EntryBuffer::new(self.shape(), self.nnz() as usize, &mut values);
            self.each_part(|_| true, |table| table.read_groups(&mut entries))?;
            let coords = entries.coords;
            tensor_of(&self.described, true, Some(coords), values.0, &self.options)
        }, else => Err(no_such(self.dtype)))?;
        self.finish(tensor)
    }

    /// Reads a slice, as [`read_slice`](crate::io::read_slice) of the path does.
    pub(crate) fn read_slice(&self, ranges: &[Range<usize>]) -> Result<AnyTensor> {
        check_ranges(self.shape(), ranges)?;
        let shape = ranges.iter().map(Range::len).collect();
        let described = Description { shape, ..self.described.clone() };
        let tensor = dispatch_dtype!(self.dtype, T => {
            let mut values = ValueBuffer::<T>::default();
            let mut entries = EntryBuffer::of_box(self.shape(), ranges, &mut values);
            self.each_part(|part| part.extent.meets(ranges), |table| table.read_box(ranges, &mut entries))?;
            let (coords, values) = within(self.shape(), ranges, entries.coords, values.0);
            tensor_of(&described, true, Some(coords), values, &self.options)
        }, else => Err(no_such(self.dtype)))?;
        self.finish(tensor)
    }

    fn finish(&self, tensor: AnyTensor) -> Result<AnyTensor> {
        let options = ReadOptions { shape: None, ..self.options.clone() };
        options.finish(tensor, Format::Coo, self.bytes().saturating_mul(WORTH))
    }

    /// Rejects the entries of all parts if they need more memory than the limit for the size of the files.
    fn guard_all(&self, width: usize) -> Result<()> {
        let count = usize::try_from(self.nnz()).unwrap_or(usize::MAX);
        let budget = self.options.tensor_budget(self.bytes().saturating_mul(WORTH), 0);
        self.options.guard_entries_of(
            width,
            count,
            self.shape().rank() * Width::of_lengths(self.shape()).bytes(),
            EntryOrder::Increasing,
            budget,
        )
    }

    /// Calls `visit` with the smallest and largest coordinate on axis 0, and the number of entries, of each page that
    /// may have entries in `rows`. The lists of pages have these facts, so entries are not read. If the list of a row
    /// group is missing or out of order, its coordinates are read, and each entry counts as a page.
    pub(crate) fn for_each_page(&self, rows: &Range<usize>, mut visit: impl FnMut([u64; 2], u64)) -> Result<()> {
        let mut ranges: Vec<Range<usize>> = self.shape().iter().map(|&length| 0..length).collect();
        ranges[0] = rows.clone();
        let mut end = 0;
        self.each_part(
            |part| part.extent.meets(&ranges),
            |table| {
                for number in 0..table.footer.groups.len() {
                    let pages = table.pages_along(number, 0)?;
                    match pages.filter(|pages| are_in_order(pages, &mut end)) {
                        Some(pages) => pages.into_iter().for_each(|(bounds, entries)| visit(bounds, entries)),
                        None => {
                            let all = (0..table.footer.groups[number].rows as usize).into();
                            table.read_axis(number, 0, &all, &mut |_, coord| {
                                visit([coord; 2], 1);
                                Ok(())
                            })?;
                        }
                    }
                }
                Ok(())
            },
        )
    }

    /// Calls `visit` with the coordinate on an axis of each entry in a box. Pages outside the box are not read.
    pub(crate) fn for_each_coord(
        &self,
        axis: usize,
        ranges: &[Range<usize>],
        mut visit: impl FnMut(u64),
    ) -> Result<()> {
        let is_cut = |&other: &usize| other != axis && ranges[other].len() < self.shape()[other];
        let others: Vec<usize> = (0..ranges.len()).filter(is_cut).collect();
        let is_in = |coord: u64| usize::try_from(coord).is_ok_and(|coord| ranges[axis].contains(&coord));
        self.each_part(
            |part| part.extent.meets(ranges),
            |table| {
                let picked = table.picked(ranges)?.into_iter().enumerate();
                for (number, picked) in picked.filter(|(_, picked)| !picked.is_empty()) {
                    let picked = picked.into_iter().collect();
                    let kept = table.rows_within(number, &others, ranges, &picked)?;
                    table.read_axis(number, axis, &picked, &mut |row, coord| {
                        if is_in(coord) && kept.get(row).is_none_or(|&is_kept| is_kept) {
                            visit(coord);
                        }
                        Ok(())
                    })?;
                }
                Ok(())
            },
        )
    }

    /// Returns the path of the file or the folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Reads from each selected part, in order.
    fn each_part(
        &self,
        is_requested: impl Fn(&TablePart) -> bool,
        mut read: impl FnMut(&mut OpenedTable<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut bytes_read, mut worth) = (0, 0);
        for (number, part) in self.parts.iter().enumerate().filter(|(_, part)| is_requested(part)) {
            let mut opened = self.open_part(number, bytes_read)?;
            let mut table = opened.table(&self.options);
            worth += part.bytes;
            table.worth = worth;
            read(&mut table).map_err(|error| self.in_part(number, error))?;
            drop(table);
            bytes_read = opened.stream.bytes();
        }
        Ok(())
    }

    /// Opens a part, and rejects a part that differs from its description in the manifest. `bytes_read` is the number
    /// of bytes read from other parts.
    pub(super) fn open_part(&self, number: usize, bytes_read: u64) -> Result<Opened<'_>> {
        let opened = self.opened(&self.parts[number], bytes_read);
        opened.map_err(|error| self.in_part(number, error))
    }

    fn opened(&self, part: &TablePart, bytes_read: u64) -> Result<Opened<'_>> {
        let changed = |what: &str| Error::Format { place: "the part".into(), message: what.into() };
        let path = if self.is_folder { self.root.join(&part.file) } else { self.root.clone() };
        // A link may point outside the folder, and opening a pipe may block.
        if self.is_folder && !fs::symlink_metadata(&path)?.is_file() {
            return Err(changed("it is not a regular file"));
        }
        let mut opened = Opened::new(
            File::open(path)?,
            &ReadOptions::default(),
            &self.options.progress,
            self.bytes_read.as_deref(),
        )?;
        opened.stream.start_at(bytes_read);
        if opened.length != part.bytes {
            return Err(changed(&format!("it has {} bytes, but the manifest lists {}", opened.length, part.bytes)));
        }
        if self.are_checked && !opened.footer.is_checked {
            return Err(changed("it does not have the checksums in the manifest; it was changed"));
        }
        let fingerprint = Description { extent: Some(part.extent.clone()), ..self.described.clone() };
        if opened.layout.described != fingerprint {
            return Err(changed("its description differs from the manifest; it was changed"));
        }
        // Memory limits use the declared entries, but reading uses the rows, so both numbers must be equal.
        part.extent.check_rows(opened.footer.rows)?;
        Ok(opened)
    }

    /// Adds the name of a part to an error.
    pub(super) fn in_part(&self, number: usize, error: Error) -> Error {
        let file = &self.parts[number].file;
        match error {
            Error::Format { place, message } if self.is_folder => {
                Error::Format { place: format!("{file}: {place}"), message }
            }
            error if self.is_folder => error.in_file(&self.root.join(file)),
            error => error.in_file(&self.root),
        }
    }

    pub(super) fn parts(&self) -> &[TablePart] {
        &self.parts
    }

    pub(super) fn described(&self) -> &Description {
        &self.described
    }

    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }
}

/// Returns whether the bounds of pages are in increasing order and not below `end`, the largest bound so far. Without
/// this check, each page of a hostile file could have the bounds of the entire axis.
fn are_in_order(pages: &[BoundedPage], end: &mut u64) -> bool {
    let all = pages.iter().flat_map(|(bounds, _)| bounds);
    let in_order = std::iter::once(&*end).chain(all).is_sorted();
    *end = pages.last().map_or(*end, |([_, max], _)| (*max).max(*end));
    in_order
}

impl Extent {
    /// Returns whether some entry may be in the box.
    pub(super) fn meets(&self, ranges: &[Range<usize>]) -> bool {
        let Some((first, last)) = &self.ends else { return false };
        for ((&first, &last), range) in first.iter().zip(last).zip(ranges) {
            if last < range.start as u64 || first >= range.end as u64 {
                return false;
            }
            // If the first and last coordinates differ on one axis, the coordinates on later axes are not bounded.
            if first != last {
                break;
            }
        }
        true
    }
}

/// An open table, with the facts in its footer.
pub(super) struct Opened<'o> {
    pub(super) stream: Watched<'o, File>,
    pub(super) footer: Footer,
    pub(super) layout: TableLayout,
    pub(super) length: u64,
}

impl<'o> Opened<'o> {
    fn new(
        file: File,
        options: &ReadOptions,
        progress: &'o Option<crate::io::Progress>,
        all: Option<&'o AtomicU64>,
    ) -> Result<Self> {
        let mut stream = Watched::new(file, progress);
        stream.count_in(all);
        let length = stream.seek(SeekFrom::End(0))?;
        let footer = Footer::read(&mut stream, length)?;
        let layout = TableLayout::of(&footer, options)?;
        Ok(Opened { stream, footer, layout, length })
    }

    pub(super) fn table<'a>(&'a mut self, options: &'a ReadOptions) -> OpenedTable<'a> {
        OpenedTable::new(&mut self.stream, &self.footer, &self.layout, self.length, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{WriteOptions, write};
    use crate::tensor::coo::CooTensor;

    /// Tests that the bounds of a page contain all its entries, that pages are in order, and that pages outside the
    /// rows are skipped.
    #[test]
    fn pages_tell_where_entries_stand() {
        let path = std::env::temp_dir().join(format!("lacuna-pages-{}.parquet", std::process::id()));
        let (count, rows) = (100_000u32, 3_000usize);
        let coords = vec![(0..count).map(|at| at / 40).collect(), (0..count).map(|at| at % 40).collect()];
        let x = CooTensor::new([rows, 40], coords, vec![1f32; count as usize], 0.0).unwrap();
        write(&path, &x, &WriteOptions::default().group_entries(60_000)).unwrap();
        let dataset = Dataset::open(&path, &ReadOptions::default()).unwrap();
        let pages = |rows: Range<usize>| {
            let mut pages = Vec::new();
            dataset.for_each_page(&rows, |bounds, entries| pages.push((bounds, entries))).unwrap();
            pages
        };
        let all = pages(0..rows);
        assert!(all.len() > 4 && all.iter().map(|(_, entries)| entries).sum::<u64>() == u64::from(count), "{all:?}");
        let mut first = 0;
        for &([min, max], entries) in &all {
            assert_eq!((min, max), (first / 40, (first + entries - 1) / 40));
            first += entries;
        }
        assert_eq!((pages(2_500..rows), pages(0..1)), (Vec::new(), all));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn bounds_that_are_not_in_order_are_not_used() {
        let mut end = 0;
        assert!(are_in_order(&[([0, 3], 5), ([3, 9], 1)], &mut end) && end == 9);
        assert!(are_in_order(&[], &mut end) && are_in_order(&[([9, 9], 1)], &mut end) && end == 9);
        assert!(!are_in_order(&[([8, 9], 1)], &mut end) && !are_in_order(&[([12, 11], 1)], &mut end));
        assert!(!are_in_order(&[([10, u64::MAX], 1), ([10, u64::MAX], 1)], &mut end) && end == u64::MAX);
    }
}
