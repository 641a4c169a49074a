//! Reading a table as a tensor.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::description::Description;
use super::entry_buffer::{EntryBuffer, ValueBuffer, ValueSink};
use super::footer::{Chunk, Column, Footer, MAGIC, Physical, quoted, rejection};
use super::layout::{self, TableLayout};
use super::page::{PageBuffers, PageHeader, Pages};
use super::row_selection::RowSelection;
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::limit::guard;
use crate::base::recycle;
use crate::base::threads::pipeline::pipeline;
use crate::dispatch_dtype;
use crate::dynamic::{AnyTensor, Format, no_such};
use crate::io::element::FileElement;
use crate::io::finish::without_entries;
use crate::io::options::{EntryOrder, ReadOptions};
use crate::io::seekable::ReadSeek;
use crate::pattern::AnyPattern;
use crate::pattern::CoordLists;
use crate::tensor::Tensor;
use crate::tensor::triplets::Unsorted;

/// The memory that each byte of the file allows, as a multiple of the memory that a byte of text allows. In Parquet, an
/// entry may take less than one byte.
pub(super) const WORTH: u64 = 8;

/// Reads a table from a file.
pub(crate) fn read_file(mut reader: impl Read + Seek, options: &ReadOptions) -> Result<AnyTensor> {
    read(&mut reader, 0, options)
}

/// Reads a table from a stream. The stream is first read to its end, because the footer is at the end.
pub(crate) fn read_stream(reader: &mut dyn Read, options: &ReadOptions) -> Result<AnyTensor> {
    let mut magic = [0; 4];
    let mut head = Vec::new();
    Read::take(&mut *reader, 4).read_to_end(&mut head)?;
    magic[..head.len()].copy_from_slice(&head);
    // A stream may be infinite, so a stream without a table is rejected early.
    if &magic != MAGIC {
        return Err(rejection("the file does not begin with PAR1; it is not a Parquet file"));
    }
    let max_memory = options.max_memory.unwrap_or(u64::MAX);
    reader.take(max_memory.saturating_add(1)).read_to_end(&mut head)?;
    options.check_memory("the file", head.len() as u128)?;
    head.shrink_to_fit();
    let held = head.len() as u64;
    read(&mut Cursor::new(head), held, options)
}

fn read(stream: &mut dyn ReadSeek, held: u64, options: &ReadOptions) -> Result<AnyTensor> {
    let length = stream.seek(SeekFrom::End(0))?;
    let footer = Footer::read(stream, length)?;
    let layout = TableLayout::of(&footer, options)?;
    let tensor = dispatch_dtype!(layout.dtype, T => {
        let mut values = ValueBuffer::<T>::default();
        let coords = match options.only_header {
            true => None,
            false => Some(OpenedTable::new(stream, &footer, &layout, length, options).read_all(held, &mut values)?),
        };
        tensor_of(&layout.described, layout.is_lacuna, coords, values.0, options)
    }, else => Err(no_such(layout.dtype)))?;
    options.finish(tensor, Format::Coo, length.saturating_mul(WORTH))
}

/// Returns the tensor of coordinates and values; a tensor without entries if `coords` is `None`.
pub(super) fn tensor_of<T: FileElement>(
    described: &Description,
    is_lacuna: bool,
    coords: Option<CoordLists>,
    values: Vec<T>,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let (shape, fill) = (described.shape.clone(), described.fill()?.unwrap_or(T::ZERO));
    let Some(coords) = coords else { return without_entries(shape, fill) };
    let at_entries = |error: Error| match error {
        Error::OutOfMemory { .. } => error,
        error => Error::Format { place: "the entries".into(), message: error.to_string() },
    };
    let width = coords.width();
    let coords = coords.into_coords();
    if is_lacuna {
        let pattern = AnyPattern::coo(shape, values.len(), width, coords).map_err(at_entries)?;
        return Ok(Tensor::from_parts(pattern, values, fill)?.into());
    }
    let listed = Unsorted::new(shape, coords, values, fill).map_err(at_entries)?;
    Ok(listed.coalesce(options.duplicates)?.into())
}

/// A table being read.
pub(super) struct OpenedTable<'a> {
    pub(super) stream: &'a mut dyn ReadSeek,
    pub(super) footer: &'a Footer,
    pub(super) layout: &'a TableLayout,
    /// The number of bytes of the file.
    pub(super) length: u64,
    pub(super) options: &'a ReadOptions,
    /// The bytes that determine the memory limit for entries: the bytes of the file, and of the parts before it.
    pub(super) worth: u64,
    /// The number of inflated bytes so far.
    inflated: u64,
    /// The bytes of the lists of pages that were read.
    pub(super) listed: u64,
    /// The lists of pages that were read, by position and length.
    pub(super) lists: BTreeMap<(u64, u64), Arc<Vec<u8>>>,
    /// The buffers for reading and inflating, which are reused for the next page.
    bytes: Vec<u8>,
    rooms: Mutex<Vec<PageBuffers>>,
}

impl<'a> OpenedTable<'a> {
    pub(super) fn new(
        stream: &'a mut dyn ReadSeek,
        footer: &'a Footer,
        layout: &'a TableLayout,
        length: u64,
        options: &'a ReadOptions,
    ) -> Self {
        let (lists, bytes, rooms) = (BTreeMap::new(), recycle::kept(), Mutex::new(recycle::kept()));
        OpenedTable {
            stream,
            footer,
            layout,
            length,
            options,
            worth: length,
            inflated: 0,
            listed: 0,
            lists,
            bytes,
            rooms,
        }
    }
}

impl Drop for OpenedTable<'_> {
    /// Keeps the buffers for the next table, which may be another part of the same tensor.
    fn drop(&mut self) {
        recycle::keep(std::mem::take(&mut self.bytes));
        let mut rooms = std::mem::take(self.rooms.get_mut().unwrap_or_else(PoisonError::into_inner));
        rooms.retain(PageBuffers::is_small);
        rooms.truncate(ROOMS);
        recycle::keep(rooms);
    }
}

impl OpenedTable<'_> {
    /// Reads all rows. `held` other bytes are in memory at the same time.
    fn read_all(mut self, held: u64, sink: &mut dyn ValueSink) -> Result<CoordLists> {
        self.guard_rows(usize::try_from(self.footer.rows).unwrap_or(usize::MAX), sink.width(), held)?;
        let mut entries = EntryBuffer::new(&self.layout.described.shape, self.footer.rows as usize, sink);
        self.read_groups(&mut entries)?;
        Ok(entries.coords)
    }

    /// Reads all rows, appends the entries, and compares these with the facts that the table declares.
    pub(super) fn read_groups(&mut self, entries: &mut EntryBuffer<'_>) -> Result<()> {
        let before = (entries.count, entries.hash);
        for number in 0..self.footer.groups.len() {
            let every_row = 0..self.footer.groups[number].rows as usize;
            self.read_group(number, every_row.into(), SelectedBy::Number, entries)?;
        }
        let recorded = self.layout.described.extent.as_ref();
        recorded.map_or(Ok(()), |recorded| recorded.check(&entries.extent_from(before)))
    }

    /// Rejects `count` rows if they need more memory than the limit for the size of the file.
    pub(super) fn guard_rows(&self, count: usize, width: usize, held: u64) -> Result<()> {
        let order = if self.layout.is_lacuna { EntryOrder::Increasing } else { EntryOrder::Any };
        // The values and the hashes of one column of a row group are in memory at the same time.
        let max_memory = self.footer.groups.iter().map(|group| group.rows).max().unwrap_or(0);
        let held = held.saturating_add(max_memory.saturating_mul(16));
        let budget = self.options.tensor_budget(self.worth.saturating_mul(WORTH), held);
        let shape = &self.layout.described.shape;
        let coords = shape.rank() * Width::of_lengths(shape).bytes();
        self.options.guard_entries_of(width, count, coords, order, budget)
    }

    /// Reads the selected rows of a row group, and appends the entries. Rows selected by bounds are compared with the
    /// bounds.
    pub(super) fn read_group(
        &mut self,
        number: usize,
        mut picked: RowSelection,
        picked_by: SelectedBy,
        entries: &mut EntryBuffer<'_>,
    ) -> Result<()> {
        let (layout, footer) = (self.layout, self.footer);
        let picks = picked_by == SelectedBy::Bounds;
        for (axis, &column) in layout.axes.iter().enumerate() {
            let column = &footer.columns[column];
            self.read_column(number, layout.axes[axis], &picked, &mut |row, values| {
                check_signs(column, axis, entries.count + row, values)?;
                entries.put_coords(axis, row, values)
            })?;
            if picks {
                self.check_bounds(number, axis, &picked, (&entries.coords, entries.count))?;
            }
            if axis == 0
                && let Some(places) = entries.keep_first_axis()
            {
                picked = picked.at_places(&places);
            }
        }
        for (part, &column) in layout.parts.iter().enumerate() {
            self.read_column(number, column, &picked, &mut |row, values| {
                layout::narrow(layout.dtype, values).map_err(|at| {
                    let name = quoted(&footer.columns[column].name);
                    let message = format!("row {}: the value is not a value of type {}", row + at, layout.dtype);
                    Error::Format { place: format!("row group {number}, column {name}"), message }
                })?;
                entries.put_values(part, row, values)
            })?;
        }
        entries.finish_group(picked.count());
        Ok(())
    }

    /// Reads the selected rows of a column; `visit` receives the number of selected rows before its values.
    pub(super) fn read_column(
        &mut self,
        number: usize,
        column: usize,
        picked: &RowSelection,
        visit: Visit<'_>,
    ) -> Result<()> {
        let (group, column) = (&self.footer.groups[number], (&self.footer.columns[column], column));
        let chunk = group.chunks[column.1];
        let rows = group.rows as usize;
        let place = format!("row group {number}, column {}", quoted(&column.0.name));
        let are_checked = (self.footer.is_checked || self.layout.is_lacuna).then_some(self.footer.is_checked);
        let pages = Pages { column: column.0, place, codec: chunk.codec, are_checked };
        let (mut dictionary, mut seen) = (None, 0);
        for run in self.runs(&chunk, rows, picked)? {
            let bytes = self.bytes_of(&run)?;
            let walk = PageCursor { bytes: &bytes, row: run.row, rows, picked, pages: &pages };
            seen += self.read_pages(walk, &mut dictionary, visit)?;
            self.bytes = bytes;
        }
        match picked.count() {
            wanted if seen == wanted => Ok(()),
            wanted => Err(pages.rejection(format!("its pages hold {seen} of {wanted} values"))),
        }
    }

    /// Reads all pages, several at once, and returns the number of selected rows. Large pages are read one at a time.
    fn read_pages(&mut self, mut walk: PageCursor<'_>, dictionary: &mut Dictionary, visit: Visit<'_>) -> Result<usize> {
        let (pages, picked, mut seen) = (walk.pages, walk.picked, 0);
        let rooms = std::mem::take(&mut self.rooms);
        let read = |(page, dictionary): (Page<'_>, Dictionary)| {
            let mut room = rooms.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            pages.read(&page.header, page.body, dictionary.as_deref().map(Vec::as_slice), &mut room)?;
            Ok((page.rows, room))
        };
        let mut take = |read: Result<(Range<usize>, PageBuffers)>| -> Result<()> {
            let (rows, mut room) = read?;
            seen += visit_picked(picked, &rows, &mut room.values, visit)?;
            rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
            Ok(())
        };
        loop {
            let mut large = None;
            let next = || match large {
                Some(_) => Ok(None),
                None => match self.next_page(&mut walk, dictionary)? {
                    Some(page) if page.0.rows.len() > LARGE => {
                        large = Some(page);
                        Ok(None)
                    }
                    page => Ok(page),
                },
            };
            pipeline(next, read, &mut take)?;
            match large {
                Some(page) => take(read(page))?,
                None => break,
            }
        }
        self.rooms = rooms;
        Ok(seen)
    }

    /// Returns the next selected page of values, with the dictionary before the page.
    fn next_page<'b>(
        &mut self,
        walk: &mut PageCursor<'b>,
        dictionary: &mut Dictionary,
    ) -> Result<Option<(Page<'b>, Dictionary)>> {
        while let Some(page) = walk.next()? {
            guard::<u64>("the values of a page", page.rows.len() as u128, self.page_limit(), TRUSTED)?;
            if page.header.is_dictionary() && page.header.values > walk.rows as u64 {
                return Err(walk.pages.rejection("its dictionary has more values than the row group has rows"));
            }
            self.inflated = self.inflated.saturating_add(walk.pages.inflated_bytes(&page.header));
            guard::<u8>("the inflated pages", self.inflated.into(), self.inflated_limit(), TRUSTED)?;
            if !page.header.is_dictionary() {
                return Ok(Some((page, dictionary.clone())));
            }
            let mut room = PageBuffers::default();
            walk.pages.read(&page.header, page.body, None, &mut room)?;
            *dictionary = Some(Arc::new(room.values));
        }
        Ok(None)
    }

    fn inflated_limit(&self) -> u64 {
        self.options.inflated_limit(self.length)
    }

    /// Returns the bytes that the values of a page may always take, for any limit of the tensor.
    fn page_limit(&self) -> u64 {
        ReadOptions::default().tensor_limit(self.length.saturating_mul(WORTH))
    }

    fn bytes_of(&mut self, run: &PageRun) -> Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        alloc::reserve(&mut bytes, run.bytes.min(self.length) as usize)?;
        self.stream.seek(SeekFrom::Start(run.start))?;
        Read::take(&mut *self.stream, run.bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the bytes to read for the selected rows: the complete column chunk, or the pages of these rows if the
    /// file lists its pages.
    fn runs(&mut self, chunk: &Chunk, rows: usize, picked: &RowSelection) -> Result<Vec<PageRun>> {
        let whole = vec![PageRun { start: chunk.start, bytes: chunk.bytes, row: 0 }];
        if picked.count() == 0 || picked.count() == rows {
            return Ok(if picked.count() == 0 { Vec::new() } else { whole });
        }
        let Some(pages) = self.page_list(chunk, rows)? else { return Ok(whole) };
        let dictionary = PageRun { start: chunk.start, bytes: (chunk.data - chunk.start).min(chunk.bytes), row: 0 };
        let pages = pages.into_iter().filter(|page| picked.meets(&page.rows));
        let pages = pages.map(|page| PageRun { start: page.start, bytes: page.bytes, row: page.rows.start });
        let mut runs: Vec<PageRun> = Vec::new();
        for run in [dictionary].into_iter().filter(|run| run.bytes > 0).chain(pages) {
            match runs.last_mut().filter(|last| last.is_before(&run)) {
                Some(last) => last.bytes += run.bytes,
                None => alloc::push(&mut runs, run)?,
            }
        }
        Ok(runs)
    }
}

/// The criterion that selected the rows to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SelectedBy {
    Number,
    /// The bounds of coordinates that the file declares for row groups and pages.
    Bounds,
}

/// Bytes of a column that hold whole pages, and the first row of these pages.
pub(super) struct PageRun {
    start: u64,
    bytes: u64,
    row: usize,
}

impl PageRun {
    /// Returns whether the other run follows directly, in the file and in rows. A dictionary before the first page of
    /// values does not have rows.
    fn is_before(&self, other: &PageRun) -> bool {
        self.start.checked_add(self.bytes) == Some(other.start)
    }
}

/// The values of a dictionary, shared by the pages after the dictionary.
type Dictionary = Option<Arc<Vec<u64>>>;

/// The number of buffers that are kept for the next part of a tensor.
const ROOMS: usize = 4;

/// The number of values above which pages are read one at a time. Several such pages at the same time would take much
/// memory.
const LARGE: usize = 1 << 16;

/// A function of values, and of the number of selected rows before these values.
pub(super) type Visit<'v> = &'v mut dyn FnMut(usize, &mut [u64]) -> Result<()>;

/// The advice for pages above their limit.
pub(super) const TRUSTED: &str = "raise --max-memory (ReadOptions::max_memory) if you trust the file";

/// A cursor over consecutive pages.
struct PageCursor<'b> {
    bytes: &'b [u8],
    row: usize,
    /// The number of rows of the row group.
    rows: usize,
    picked: &'b RowSelection,
    pages: &'b Pages<'b>,
}

/// A page, the bytes after its header, and its rows.
struct Page<'b> {
    header: PageHeader,
    body: &'b [u8],
    rows: Range<usize>,
}

impl<'b> PageCursor<'b> {
    /// Returns the next page that has selected rows, or does not have rows at all.
    fn next(&mut self) -> Result<Option<Page<'b>>> {
        while !self.bytes.is_empty() {
            let page = self.next_of_all()?;
            if page.rows.is_empty() || self.picked.meets(&page.rows) {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn next_of_all(&mut self) -> Result<Page<'b>> {
        let Some((header, length)) = PageHeader::read(self.bytes) else {
            return Err(self.pages.rejection("the header of a page is truncated or invalid"));
        };
        self.pages.check_header(&header)?;
        let rest = &self.bytes[length..];
        let split = usize::try_from(header.bytes).ok().and_then(|bytes| rest.split_at_checked(bytes));
        let Some((body, rest)) = split else {
            return Err(self.pages.rejection(format!("a page of {} bytes is truncated", header.bytes)));
        };
        let end = header.data_values().saturating_add(self.row as u64);
        if end > self.rows as u64 {
            return Err(self.pages.rejection(format!("its pages hold more than {} values", self.rows)));
        }
        let rows = self.row..end as usize;
        (self.bytes, self.row) = (rest, rows.end);
        Ok(Page { header, body, rows })
    }
}

/// Calls `visit` with the values of the selected rows of a page, and returns the number of these rows.
fn visit_picked(picked: &RowSelection, page: &Range<usize>, values: &mut [u64], visit: Visit<'_>) -> Result<usize> {
    let mut seen = 0;
    for (number, rows) in picked.within(page) {
        seen += rows.len();
        visit(number, &mut values[rows.start - page.start..rows.end - page.start])?;
    }
    Ok(seen)
}

/// Rejects negative coordinates.
fn check_signs(column: &Column, axis: usize, entry: usize, values: &[u64]) -> Result<()> {
    let is_wide = column.physical == Physical::Int64;
    let sign = if is_wide { 1 << 63 } else { 1 << 31 };
    match values.iter().position(|value| value & sign != 0) {
        Some(at) if layout::is_signed(column) => {
            let index = if is_wide { values[at] as i64 } else { i64::from(values[at] as i32) };
            Err(Error::NegativeIndex { index, axis, entry: entry + at })
        }
        _ => Ok(()),
    }
}
